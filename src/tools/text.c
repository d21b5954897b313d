/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "tools/text.h"

#include "base/buf.h"
#include "base/utf8.h"

#define BOM_UTF8    STR("\xef\xbb\xbf")
#define BOM_UTF16LE STR("\xff\xfe")
#define BOM_UTF16BE STR("\xfe\xff")

enum { TEXT_MAX_BYTES = 256 << 20 };

const char *text_encoding_name(enum text_encoding encoding)
{
	static const char *const texts[] = { [TEXT_UTF8] = "utf-8",
					     [TEXT_UTF16LE] = "utf-16le",
					     [TEXT_UTF16BE] = "utf-16be",
					     [TEXT_LATIN1] = "latin-1" };

	return texts[encoding];
}

const char *text_eol_name(enum text_eol eol)
{
	static const char *const texts[] = {
		[TEXT_NO_EOL] = "none", [TEXT_LF] = "lf", [TEXT_CRLF] = "crlf", [TEXT_MIXED] = "mixed"
	};

	return texts[eol];
}

enum text_eol text_find_eol(struct str utf8)
{
	bool has_lf = false, has_crlf = false;
	struct str rest = utf8;

	while (rest.len && !(has_lf && has_crlf)) {
		size_t at = str_find(rest, '\n');

		if (at == rest.len)
			break;
		if (at > 0 && rest.p[at - 1] == '\r')
			has_crlf = true;
		else
			has_lf = true;
		rest = str_from(rest, at + 1);
	}
	if (has_lf && has_crlf)
		return TEXT_MIXED;
	return has_crlf ? TEXT_CRLF : has_lf ? TEXT_LF : TEXT_NO_EOL;
}

/* ---- Decoding ---------------------------------------------------------------------------------- */

static uint32_t get16(const char *p, bool is_big)
{
	unsigned first = (unsigned char)p[0], second = (unsigned char)p[1];

	return is_big ? first << 8 | second : second << 8 | first;
}

/* False: it is broken. */
static bool decode_utf16(struct str bytes, bool is_big, struct buf *out)
{
	size_t at = 0;

	if (bytes.len % 2)
		return false;
	while (at < bytes.len) {
		uint32_t c = get16(bytes.p + at, is_big);
		char text[4];
		size_t len;

		at += 2;
		if (c >= 0xd800 && c < 0xdc00 && at < bytes.len) {
			uint32_t low = get16(bytes.p + at, is_big);

			if (low < 0xdc00 || low > 0xdfff)
				return false;
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			at += 2;
		}
		if (c == 0 || !utf8_put(c, text, &len))
			return false;
		buf_add(out, (struct str){ text, len });
	}
	return true;
}

/* What stands in texts besides what is printed. */
static bool is_text_control(unsigned char c)
{
	return c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '\b' ||
	       c == 0x1b;
}

static bool is_latin1_text(uint32_t c)
{
	return c >= 0x20 || is_text_control((unsigned char)c);
}

static bool decode_latin1(struct str bytes, struct buf *out)
{
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.p[i];
		char text[4];
		size_t len;

		if (!is_latin1_text(c) || !utf8_put(c, text, &len))
			return false;
		buf_add(out, (struct str){ text, len });
	}
	return true;
}

int text_decode(struct arena *a, struct str bytes, struct text *out, bool *is_binary, struct err *e)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct text t = { .encoding = TEXT_UTF8, .utf8 = bytes };

	*is_binary = false;
	if (str_has_prefix(bytes, BOM_UTF16LE) || str_has_prefix(bytes, BOM_UTF16BE)) {
		t.has_bom = true;
		t.encoding = bytes.p[0] == '\xfe' ? TEXT_UTF16BE : TEXT_UTF16LE;
		*is_binary = !decode_utf16(str_from(bytes, 2), t.encoding == TEXT_UTF16BE, &text);
	} else if (str_has_nul(bytes)) {
		*is_binary = true;
	} else {
		t.has_bom = str_has_prefix(bytes, BOM_UTF8);
		t.utf8 = str_from(bytes, t.has_bom ? BOM_UTF8.len : 0);
		if (utf8_check(t.utf8) < t.utf8.len) {
			t.has_bom = false;
			t.encoding = TEXT_LATIN1;
			*is_binary = !decode_latin1(bytes, &text);
		}
	}
	if (buf_check(&text, e) < 0)
		return err_result(e);
	if (*is_binary)
		return 0;
	if (t.encoding != TEXT_UTF8 && arena_copy(a, buf_str(&text), &t.utf8, e) < 0)
		return err_result(e);
	t.eol = text_find_eol(t.utf8);
	*out = t;
	return 0;
}

/* ---- Encoding ---------------------------------------------------------------------------------- */

static void put16(struct buf *out, uint32_t unit, bool is_big)
{
	char high = (char)(unit >> 8), low = (char)(unit & 0xff);

	buf_add_char(out, is_big ? high : low);
	buf_add_char(out, is_big ? low : high);
}

static void put_utf16(struct buf *out, uint32_t c, bool is_big)
{
	if (c < 0x10000) {
		put16(out, c, is_big);
		return;
	}
	put16(out, 0xd800 + ((c - 0x10000) >> 10), is_big);
	put16(out, 0xdc00 + ((c - 0x10000) & 0x3ff), is_big);
}

static uint32_t find_non_ascii(struct str utf8)
{
	size_t at = 0;
	uint32_t c;

	while (at < utf8.len && utf8_next(utf8, &at, &c))
		if (c >= 0x80)
			return c;
	return 0;
}

/* Whether text_decode() would not take these bytes for Latin-1. What is ASCII is the same in both. */
static bool is_taken_for_unicode(struct str latin1)
{
	if (str_has_prefix(latin1, BOM_UTF16LE) || str_has_prefix(latin1, BOM_UTF16BE))
		return true;
	for (size_t i = 0; i < latin1.len; i++)
		if ((unsigned char)latin1.p[i] >= 0x80)
			return utf8_check(latin1) == latin1.len;
	return false;
}

int text_encode(struct arena *a, const struct text *text, struct str *out, uint32_t *bad,
		struct err *e)
{
	bool is_big = text->encoding == TEXT_UTF16BE;
	scoped_buf bytes = BUF_INIT(TEXT_MAX_BYTES);
	size_t at = 0;
	uint32_t c;

	*bad = 0;
	if (text->encoding == TEXT_UTF8) {
		if (text->has_bom)
			buf_add(&bytes, BOM_UTF8);
		buf_add(&bytes, text->utf8);
	} else if (text->encoding != TEXT_LATIN1) {
		put_utf16(&bytes, 0xfeff, is_big);
	}
	while (text->encoding != TEXT_UTF8 && at < text->utf8.len) {
		if (!utf8_next(text->utf8, &at, &c))
			return FAIL(e, ERR_SYNTAX, "the text is not UTF-8");
		if (text->encoding != TEXT_LATIN1) {
			put_utf16(&bytes, c, is_big);
		} else if (c <= 0xff && is_latin1_text(c)) {
			buf_add_char(&bytes, (char)c);
		} else {
			*bad = c;
			return 0;
		}
	}
	/* Else the next one who reads it gets another text. */
	if (text->encoding == TEXT_LATIN1 && bytes.failed == ERR_OK &&
	    is_taken_for_unicode(buf_str(&bytes))) {
		*bad = find_non_ascii(text->utf8);
		return 0;
	}
	return buf_check(&bytes, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&bytes), out, e);
}

int text_set_eol(struct arena *a, struct str utf8, enum text_eol eol, struct str *out,
		 struct err *e)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct str rest = utf8;

	while (rest.len) {
		size_t at = str_find(rest, '\n');
		bool has_cr = at > 0 && at < rest.len && rest.p[at - 1] == '\r';

		buf_add(&text, str_first(rest, has_cr ? at - 1 : at));
		if (at < rest.len)
			buf_add(&text, eol == TEXT_CRLF ? STR("\r\n") : STR("\n"));
		rest = str_from(rest, at + 1);
	}
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}
