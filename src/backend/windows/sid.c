/* SPDX-License-Identifier: MIT */
/* See sid.h; the bytes are those of [MS-DTYP] 2.4.2. */
#include "backend/windows/sid.h"
#include "base/buf.h"

enum { AUTHORITY_BYTES = 6, HEAD_BYTES = 2 + AUTHORITY_BYTES, DIGEST_PARTS = 4 };

/* Behind S-1-5: the start of the SHA-256 of "Cordon capability". */
static const uint32_t marker[] = { 21, 0xd8c3bc36, 0x43d86aad, 0x1d9650c6 };

static uint32_t get32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put32(char *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(unsigned char)(value >> 8 * i);
}

size_t sid_length(struct str bytes)
{
	size_t parts, length;

	if (bytes.len < HEAD_BYTES || bytes.p[0] != 1)
		return 0;
	parts = (unsigned char)bytes.p[1];
	length = HEAD_BYTES + 4 * parts;
	return parts <= SID_MAX_PARTS && length <= bytes.len ? length : 0;
}

/* A decimal number without zeros before it, and the '-' behind it. */
static bool take_number(struct str *text, uint64_t most, uint64_t *out)
{
	uint64_t value = 0;
	size_t at = 0;

	while (at < text->len && ascii_is_digit(text->p[at])) {
		value = value * 10 + (uint64_t)(text->p[at] - '0');
		if (value > most)
			return false;
		at++;
	}
	if (at == 0 || (at > 1 && text->p[0] == '0') || (at < text->len && text->p[at] != '-') ||
	    at + 1 == text->len)
		return false;
	*text = str_from(*text, at + 1);
	*out = value;
	return true;
}

/* The length, or 0. */
static size_t read_text(struct str text, char out[SID_MAX_BYTES])
{
	uint64_t number;
	size_t parts = 0;

	if (!str_has_prefix(text, STR("S-1-")))
		return 0;
	text = str_from(text, 4);
	if (!take_number(&text, UINT32_MAX, &number))
		return 0;
	out[0] = 1;
	out[2] = out[3] = 0;
	for (int i = 0; i < 4; i++)
		out[4 + i] = (char)(unsigned char)(number >> 8 * (3 - i));
	while (text.len) {
		if (parts == SID_MAX_PARTS || !take_number(&text, UINT32_MAX, &number))
			return 0;
		put32(out + HEAD_BYTES + 4 * parts++, (uint32_t)number);
	}
	out[1] = (char)parts;
	return parts ? HEAD_BYTES + 4 * parts : 0;
}

int sid_parse(struct arena *a, struct str text, struct str *out, struct err *e)
{
	char bytes[SID_MAX_BYTES];
	size_t length = read_text(text, bytes);

	if (!length)
		return FAIL(e, ERR_SYNTAX, "'%.*s' is no SID", STR_ARG(text));
	return arena_copy(a, (struct str){ bytes, length }, out, e);
}

int sid_print(struct arena *a, struct str sid, struct str *out, struct err *e)
{
	char room[16 + 11 * SID_MAX_PARTS];
	struct buf text = BUF_OVER(room);
	uint64_t authority = 0;

	if (!sid_length(sid))
		return FAIL(e, ERR_SYNTAX, "these bytes are no SID");
	for (int i = 0; i < AUTHORITY_BYTES; i++)
		authority = authority << 8 | (unsigned char)sid.p[2 + i];
	buf_printf(&text, "S-1-%llu", (unsigned long long)authority);
	for (size_t at = HEAD_BYTES; at < sid_length(sid); at += 4)
		buf_printf(&text, "-%u", (unsigned)get32(sid.p + at));
	if (buf_check(&text, e) < 0)
		return err_result(e);
	return arena_copy(a, buf_str(&text), out, e);
}

int sid_of_capability(struct arena *a, const unsigned char digest[SHA256_BYTES], struct str *out,
		      struct err *e)
{
	uint32_t parts[DIGEST_PARTS];

	for (size_t i = 0; i < DIGEST_PARTS; i++)
		parts[i] = (uint32_t)digest[4 * i] << 24 | (uint32_t)digest[4 * i + 1] << 16 |
			   (uint32_t)digest[4 * i + 2] << 8 | digest[4 * i + 3];
	return arena_printf(a, out, e, "S-1-5-%u-%u-%u-%u-%u-%u-%u-%u", (unsigned)marker[0],
			    (unsigned)marker[1], (unsigned)marker[2], (unsigned)marker[3],
			    (unsigned)parts[0], (unsigned)parts[1], (unsigned)parts[2],
			    (unsigned)parts[3]);
}

bool sid_is_capability(struct str sid)
{
	static const char head[] = { 1, COUNT_OF(marker) + DIGEST_PARTS, 0, 0, 0, 0, 0, 5 };

	if (sid_length(sid) != HEAD_BYTES + 4 * (COUNT_OF(marker) + DIGEST_PARTS) ||
	    sid.len != sid_length(sid) || memcmp(sid.p, head, sizeof(head)) != 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(marker); i++)
		if (get32(sid.p + HEAD_BYTES + 4 * i) != marker[i])
			return false;
	return true;
}
