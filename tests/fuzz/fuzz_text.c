/* SPDX-License-Identifier: MIT */
/*
 * A file of any encoding. What is text is decoded as iconv() decodes it, and is the same bytes when it is encoded
 * again. What can be encoded at all is read as the same text.
 */
#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "tools/text.h"

enum { LIMIT_BYTES = 64 << 20, MOST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

/* False: iconv() says that it is broken. */
static bool convert(const char *from, struct str in, char *out, size_t *length)
{
	iconv_t to = iconv_open("UTF-8", from);
	char *at = (char *)(uintptr_t)in.p, *end = out;
	size_t left = in.len, room = (size_t)4 * MOST;
	size_t r;

	demand(to != (iconv_t)-1);
	r = iconv(to, &at, &left, &end, &room);
	demand(iconv_close(to) == 0);
	*length = (size_t)(end - out);
	return r == 0 && left == 0;
}

static const char *const names[] = { [TEXT_UTF8] = "UTF-8",
				     [TEXT_UTF16LE] = "UTF-16LE",
				     [TEXT_UTF16BE] = "UTF-16BE",
				     [TEXT_LATIN1] = "ISO-8859-1" };

static void compare_with_iconv(struct str bytes, const struct text *t)
{
	static char expected[4 * MOST];
	size_t bom = !t->has_bom ? 0 : t->encoding == TEXT_UTF8 ? 3 : 2;
	size_t length;

	demand(convert(names[t->encoding], str_from(bytes, bom), expected, &length));
	demand(str_eq(t->utf8, (struct str){ expected, length }));
}

/* A BOM or a NUL that is lacking: else nothing but what iconv() refuses too may be called binary UTF-16. */
static void check_binary(struct str bytes)
{
	static char ignored[4 * MOST];
	bool is_big = str_has_prefix(bytes, STR("\xfe\xff"));
	size_t length;

	if (!is_big && !str_has_prefix(bytes, STR("\xff\xfe")))
		return;
	if (convert(names[is_big ? TEXT_UTF16BE : TEXT_UTF16LE], str_from(bytes, 2), ignored,
		    &length))
		demand(str_has_nul((struct str){ ignored, length }));
}

static void check_eol(struct arena *a, struct str utf8)
{
	struct err e = ERR_INIT;
	struct str lf, crlf, back;

	demand(text_set_eol(a, utf8, TEXT_LF, &lf, &e) == 0);
	demand(text_set_eol(a, lf, TEXT_CRLF, &crlf, &e) == 0);
	demand(text_set_eol(a, crlf, TEXT_LF, &back, &e) == 0);
	demand(str_eq(lf, back) || str_find(lf, '\r') < lf.len);
	if (text_find_eol(utf8) == TEXT_LF)
		demand(str_eq(lf, utf8));
}

/* As write_file does: any text into a file of any encoding. */
static void check_other(struct arena *a, struct str utf8, enum text_encoding encoding, bool has_bom)
{
	const struct text wanted = { .utf8 = utf8, .encoding = encoding, .has_bom = has_bom };
	struct err e = ERR_INIT;
	bool is_binary;
	struct text again;
	struct str bytes;
	uint32_t bad;

	demand(text_encode(a, &wanted, &bytes, &bad, &e) == 0);
	if (bad) {
		demand(encoding == TEXT_LATIN1);
		return;
	}
	demand(text_decode(a, bytes, &again, &is_binary, &e) == 0 && !is_binary);
	demand(str_eq(again.utf8, utf8));
	/* What is ASCII is the same in UTF-8. */
	demand(again.encoding == encoding ||
	       (encoding == TEXT_LATIN1 && again.encoding == TEXT_UTF8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT(LIMIT_BYTES);
	struct str bytes = { (const char *)data, size < MOST ? size : MOST };
	struct err e = ERR_INIT;
	bool is_binary;
	struct text t;
	struct str again;
	uint32_t bad;

	demand(text_decode(&a, bytes, &t, &is_binary, &e) == 0);
	if (is_binary) {
		check_binary(bytes);
	} else {
		demand(utf8_check(t.utf8) == t.utf8.len && !str_has_nul(t.utf8));
		compare_with_iconv(bytes, &t);
		demand(text_encode(&a, &t, &again, &bad, &e) == 0 && !bad && str_eq(again, bytes));
		check_eol(&a, t.utf8);
		check_other(&a, t.utf8, TEXT_UTF16LE, true);
		check_other(&a, t.utf8, TEXT_UTF16BE, true);
		check_other(&a, t.utf8, TEXT_LATIN1, false);
		check_other(&a, t.utf8, TEXT_UTF8, true);
	}
	arena_done(&a);
	return 0;
}
