/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "os/windows/text.h"

#include <errno.h>
#include <stdint.h>

#include "base/utf8.h"

enum {
	SURROGATE = 0xD800,
	LOW_SURROGATE = 0xDC00,
	SURROGATES_END = 0xE000,
	BEYOND_BMP = 0x10000,
	SURROGATE_BITS = 10,
	SURROGATE_MASK = (1 << SURROGATE_BITS) - 1,
};

static bool is_high(uint32_t c)
{
	return c >= SURROGATE && c < LOW_SURROGATE;
}

static bool is_low(uint32_t c)
{
	return c >= LOW_SURROGATE && c < SURROGATES_END;
}

/* A character, or a surrogate that stands alone in three bytes. */
static bool next_of_wtf8(struct str s, size_t *at, uint32_t *out)
{
	const unsigned char *p = (const unsigned char *)s.p + *at;

	if (utf8_next(s, at, out))
		return true;
	if (s.len - *at < 3 || p[0] != 0xED || (p[1] & 0xE0) != 0xA0 || (p[2] & 0xC0) != 0x80)
		return false;
	*out = SURROGATE | (uint32_t)(p[1] & 0x1F) << 6 | (p[2] & 0x3F);
	*at += 3;
	return true;
}

static int fail(int number)
{
	errno = number;
	return -1;
}

int wide_text(struct str text, wchar_t *out, size_t room)
{
	bool was_high = false;
	size_t n = 0;

	for (size_t at = 0; at < text.len;) {
		uint32_t c;

		if (!next_of_wtf8(text, &at, &c))
			return fail(EILSEQ);
		/* Two halves next to each other would come back as one character of other bytes. */
		if (was_high && is_low(c))
			return fail(EILSEQ);
		was_high = is_high(c);
		if (c == 0)
			return fail(EINVAL);
		if (room - n < (c >= BEYOND_BMP ? 3 : 2))
			return fail(ENAMETOOLONG);
		if (c >= BEYOND_BMP) {
			c -= BEYOND_BMP;
			out[n++] = (wchar_t)(SURROGATE | c >> SURROGATE_BITS);
			c = LOW_SURROGATE | (c & SURROGATE_MASK);
		}
		out[n++] = (wchar_t)c;
	}
	if (room == 0)
		return fail(ENAMETOOLONG);
	out[n] = L'\0';
	return (int)n;
}

/* UTF-8, and the three bytes that it would have for a surrogate. */
static size_t put_wtf8(uint32_t c, char out[4])
{
	size_t n;

	if (utf8_put(c, out, &n))
		return n;
	out[0] = (char)0xED;
	out[1] = (char)(0x80 | (c >> 6 & 0x3F));
	out[2] = (char)(0x80 | (c & 0x3F));
	return 3;
}

int narrow_text(const wchar_t *text, size_t len, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		uint32_t c = text[i];
		char bytes[4];
		size_t count;

		if (is_high(c) && i + 1 < len && is_low(text[i + 1]))
			c = BEYOND_BMP + ((c & SURROGATE_MASK) << SURROGATE_BITS) +
			    (text[++i] & (uint32_t)SURROGATE_MASK);
		if (c == 0)
			return fail(EINVAL);
		count = put_wtf8(c, bytes);
		if (room - n <= count)
			return fail(ENAMETOOLONG);
		for (size_t b = 0; b < count; b++)
			out[n++] = bytes[b];
	}
	if (room == 0)
		return fail(ENAMETOOLONG);
	out[n] = '\0';
	return (int)n;
}

int wide_copy(struct arena *a, struct str text, wchar_t **out, struct err *e)
{
	wchar_t *wide = arena_array(a, text.len + 1, sizeof(*wide), e);
	char shown[200];

	if (!wide)
		return err_result(e);
	if (wide_text(text, wide, text.len + 1) < 0)
		return FAIL(e, ERR_SYNTAX, "'%s' is not UTF-8, so Windows has no text like it",
			    utf8_show(text, shown, sizeof(shown)));
	*out = wide;
	return 0;
}

int narrow_copy(struct arena *a, const wchar_t *text, size_t len, struct str *out, struct err *e)
{
	enum { MOST = 3 }; /* bytes of one unit of UTF-16 */
	char *narrow = arena_array(a, len + 1, MOST, e);
	int n;

	if (!narrow)
		return err_result(e);
	n = narrow_text(text, len, narrow, (len + 1) * MOST);
	if (n < 0)
		return FAIL(e, ERR_SYNTAX, "a text of Windows has a NUL in it");
	*out = (struct str){ narrow, (size_t)n };
	return 0;
}

/* Steps over "/" of "/C:", or over "\\?\"; false if no drive follows. */
static bool find_drive(struct str *path)
{
	if (str_has_prefix(*path, STR("\\\\?\\")))
		*path = str_from(*path, 4);
	else if (path->len > 0 && path->p[0] == '/')
		*path = str_from(*path, 1);
	return path->len >= 2 && ascii_is_alpha(path->p[0]) && path->p[1] == ':' &&
	       (path->len == 2 || path->p[2] == '/' || path->p[2] == '\\');
}

int wide_plain_path(struct str path, wchar_t out[WIDE_PATH])
{
	int n;

	if (!find_drive(&path))
		return fail(EINVAL);
	n = wide_text(path, out, WIDE_PATH - 1);
	if (n < 0)
		return -1;
	for (wchar_t *c = out; *c; c++)
		if (*c == L'/')
			*c = L'\\';
	/* "C:" is the drive's working directory, "C:\" its root. */
	if (n == 2)
		out[n++] = L'\\';
	else if (n > 3 && out[n - 1] == L'\\')
		n--;
	out[n] = L'\0';
	return n;
}

int wide_path(struct str path, wchar_t out[WIDE_PATH])
{
	static const wchar_t exact[] = L"\\\\?\\";
	enum { EXACT = COUNT_OF(exact) - 1 };
	int n = wide_plain_path(path, out);

	if (n < 0)
		return -1;
	if ((size_t)n + EXACT >= WIDE_PATH)
		return fail(ENAMETOOLONG);
	memmove(out + EXACT, out, ((size_t)n + 1) * sizeof(*out));
	memcpy(out, exact, EXACT * sizeof(*out));
	return n + EXACT;
}

int narrow_path(const wchar_t *path, size_t len, char out[PATH_MAX_BYTES])
{
	int n;

	if (len >= 4 && wmemcmp(path, L"\\\\?\\", 4) == 0) {
		path += 4;
		len -= 4;
	}
	if (len < 2 || path[1] != L':' || path[0] > 'z' || !ascii_is_alpha((char)path[0]))
		return fail(EINVAL);
	n = narrow_text(path, len, out + 1, PATH_MAX_BYTES - 1);
	if (n < 0)
		return -1;
	out[0] = '/';
	if (out[1] >= 'a')
		out[1] = (char)(out[1] - 'a' + 'A');
	for (char *c = out; *c; c++)
		if (*c == '\\')
			*c = '/';
	if (n > 2 && out[n] == '/')
		out[n--] = '\0';
	return n + 1;
}
