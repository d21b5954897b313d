/* SPDX-License-Identifier: MIT */
/* See uri.h. */
#include "mcp/uri.h"

#include "base/utf8.h"

enum { SHOWN_BYTES = 80, MAX_BYTES = 32 << 10 };

static int hex_digit(char c)
{
	c = ascii_lower(c);
	if (ascii_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path behind "file://" and the host, which has to be this one; "": it is none. */
static struct str find_path(struct str uri)
{
	static const char scheme[] = "file://";
	size_t n = sizeof(scheme) - 1;
	struct str rest, host;

	if (uri.len < n)
		return STR_EMPTY;
	for (size_t i = 0; i < n; i++)
		if (ascii_lower(uri.p[i]) != scheme[i])
			return STR_EMPTY;
	rest = str_from(uri, n);
	host = str_first(rest, str_find(rest, '/'));
	return host.len == 0 || str_is(host, "localhost") ? str_from(rest, host.len) : STR_EMPTY;
}

static bool decode(struct str in, char *out, size_t *len)
{
	size_t n = 0;

	for (size_t i = 0; i < in.len; i++) {
		char c = in.p[i];

		if (c == '?' || c == '#')
			return false;
		if (c == '%') {
			int high = i + 1 < in.len ? hex_digit(in.p[i + 1]) : -1;
			int low = i + 2 < in.len ? hex_digit(in.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (c == '\0')
			return false;
		out[n++] = c;
	}
	*len = n;
	return n > 0;
}

int uri_file_path(struct arena *a, struct str uri, struct str *out, struct err *e)
{
	struct str path = find_path(uri);
	char shown[SHOWN_BYTES];
	char *bytes;
	size_t len = 0;

	if (uri.len > MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "an address is longer than %d bytes", MAX_BYTES);
	bytes = arena_array(a, path.len + 1, 1, e);
	if (!bytes)
		return err_result(e);
	if (!decode(path, bytes, &len))
		return FAIL(e, ERR_SYNTAX, "'%s' is no file:// address of this machine",
			    utf8_show(uri, shown, sizeof(shown)));
	*out = (struct str){ bytes, len };
	return 0;
}
