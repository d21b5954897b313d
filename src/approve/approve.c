/* SPDX-License-Identifier: MIT */
/* The names of kinds and scopes, and what one grant has of another. */
#include "approve/approve.h"

#include "base/path.h"

struct row {
	const char *name, *words;
};

static const struct row kinds[] = {
#define ASK_KIND_ROW(id, name, words) { name, words },
	ASK_KINDS(ASK_KIND_ROW)
#undef ASK_KIND_ROW
};

static const struct row scopes[] = {
#define GRANT_SCOPE_ROW(id, name, words) { name, words },
	GRANT_SCOPES(GRANT_SCOPE_ROW)
#undef GRANT_SCOPE_ROW
};

/* COUNT_OF(rows) when there is none. */
static size_t find_row(const struct row *rows, size_t count, struct str name)
{
	size_t i = 0;

	while (i < count && !str_is(name, rows[i].name))
		i++;
	return i;
}

const char *ask_kind_name(enum ask_kind kind)
{
	return kinds[kind].name;
}

const char *ask_kind_words(enum ask_kind kind)
{
	return kinds[kind].words;
}

bool ask_kind_parse(struct str name, enum ask_kind *out)
{
	size_t i = find_row(kinds, COUNT_OF(kinds), name);

	if (i == COUNT_OF(kinds))
		return false;
	*out = (enum ask_kind)i;
	return true;
}

const char *grant_scope_name(enum grant_scope scope)
{
	return scopes[scope].name;
}

const char *grant_scope_words(enum grant_scope scope)
{
	return scopes[scope].words;
}

bool grant_scope_parse(struct str name, enum grant_scope *out)
{
	size_t i = find_row(scopes, COUNT_OF(scopes), name);

	if (i == COUNT_OF(scopes))
		return false;
	*out = (enum grant_scope)i;
	return true;
}

bool grant_lasting_parse(struct str text, enum grant_scope *out, uint32_t *minutes)
{
	size_t colon = str_find(text, ':');
	struct str number = str_from(text, MIN_OF(colon + 1, text.len));
	uint32_t n = 0;

	*minutes = 0;
	if (!grant_scope_parse(str_first(text, colon), out) ||
	    (*out == SCOPE_MINUTES) != (colon < text.len))
		return false;
	if (*out != SCOPE_MINUTES)
		return true;
	if (!number.len || number.len > 5 || number.p[0] == '0')
		return false;
	for (size_t i = 0; i < number.len; i++) {
		if (!ascii_is_digit(number.p[i]))
			return false;
		n = n * 10 + (uint32_t)(number.p[i] - '0');
	}
	*minutes = n;
	return n <= ASK_MAX_MINUTES;
}

static bool path_covers(const struct grant *wide, const struct grant *narrow)
{
	if (wide->is_dir)
		return path_is_under(narrow->subject, wide->subject);
	return !narrow->is_dir && str_eq(wide->subject, narrow->subject);
}

/* The host of "HOST:PORT" without brackets, and ":PORT", "" for every port. */
static struct str split_host(struct str subject, struct str *port)
{
	size_t at = hostname_port_offset(subject);
	struct str host = str_first(subject, at);

	*port = str_from(subject, at);
	if (host.len > 2 && host.p[0] == '[' && host.p[host.len - 1] == ']')
		host = str_from(str_first(host, host.len - 1), 1);
	return host;
}

static bool host_covers(const struct grant *wide, const struct grant *narrow)
{
	struct str wide_port, narrow_port;
	struct str wide_host = split_host(wide->subject, &wide_port);
	struct str narrow_host = split_host(narrow->subject, &narrow_port);

	return str_eq(wide_host, narrow_host) && (!wide_port.len || str_eq(wide_port, narrow_port));
}

bool grant_covers(const struct grant *wide, const struct grant *narrow)
{
	if (wide->kind != narrow->kind)
		return false;
	switch (wide->kind) {
	case ASK_WRITE:
		return path_covers(wide, narrow);
	case ASK_CONNECT:
		return host_covers(wide, narrow);
	case ASK_UNIX_SOCKET:
	case ASK_ESCALATE:
		return str_eq(wide->subject, narrow->subject);
	}
	return false;
}

static bool is_plain(struct str path)
{
	struct str rest = str_from(path, 1);

	if (!path_is_absolute(path) || path.len >= PATH_MAX_BYTES || str_has_nul(path))
		return false;
	while (rest.len) {
		size_t end = str_find(rest, '/');
		struct str name = str_first(rest, end);

		if (!name.len || str_is(name, ".") || str_is(name, "..") || end + 1 == rest.len)
			return false;
		rest = str_from(rest, end + 1);
	}
	return true;
}

static bool is_host(struct str subject)
{
	size_t at = hostname_port_offset(subject);
	uint16_t port;

	return at > 0 && !str_has_nul(subject) &&
	       (at == subject.len || hostname_port_number(str_from(subject, at + 1), &port));
}

bool grant_is_well_formed(const struct grant *grant)
{
	switch (grant->kind) {
	case ASK_WRITE:
	case ASK_UNIX_SOCKET:
		return is_plain(grant->subject);
	case ASK_CONNECT:
		return is_host(grant->subject);
	case ASK_ESCALATE:
		return !grant->subject.len;
	}
	return false;
}

int grant_of_host(struct arena *a, const struct hostname *host, uint16_t port, struct grant *out,
		  struct err *e)
{
	bool has_brackets = port && host->is_ip && !ip_is_v4(&host->ip);
	scoped_buf text = BUF_INIT(512);
	struct str subject;

	buf_add_text(&text, has_brackets ? "[" : "");
	buf_add(&text, host->name);
	buf_add_text(&text, has_brackets ? "]" : "");
	if (port)
		buf_printf(&text, ":%u", (unsigned)port);
	if (buf_check(&text, e) < 0 || arena_copy(a, buf_str(&text), &subject, e) < 0)
		return err_result(e);
	*out = (struct grant){ .kind = ASK_CONNECT, .subject = subject };
	return 0;
}
