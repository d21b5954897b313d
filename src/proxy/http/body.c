/* SPDX-License-Identifier: MIT */
/* Body framing: RFC 9112, 6.3 and 7.1, without what the RFC tolerates. */
#include "proxy/http/body.h"

enum state {
	CHUNK_SIZE, /* its digits; `line` says how many there were */
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_BEGIN, /* of a line: a name, or the CR of the last one */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF,
};

enum { MAX_SIZE_DIGITS = 16 };

struct http_body http_request_body(const struct http_request *r)
{
	const struct http_fields *f = &r->fields;

	if (f->is_chunked)
		return (struct http_body){ .kind = HTTP_CHUNKED };
	if (f->length > 0)
		return (struct http_body){ .kind = HTTP_SIZED, .left = f->length };
	return (struct http_body){ .kind = HTTP_NO_BODY, .is_whole = true };
}

struct http_body http_response_body(const struct http_response *r, bool is_to_head)
{
	const struct http_fields *f = &r->fields;

	if (is_to_head || r->status < 200 || r->status == 204 || r->status == 304 ||
	    (f->has_length && f->length == 0))
		return (struct http_body){ .kind = HTTP_NO_BODY, .is_whole = true };
	if (f->is_chunked)
		return (struct http_body){ .kind = HTTP_CHUNKED };
	if (f->has_length)
		return (struct http_body){ .kind = HTTP_SIZED, .left = f->length };
	return (struct http_body){ .kind = HTTP_UNTIL_CLOSE };
}

static bool fail(struct http_fault *fault, const char *text)
{
	*fault = (struct http_fault){ 400, text };
	return false;
}

static int hex_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_value(char c)
{
	unsigned char u = (unsigned char)c;

	return u == '\t' || (u >= ' ' && u != 0x7f);
}

static bool is_token(char c)
{
	return ascii_is_digit(c) || ascii_is_alpha(c) ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

/*
 * The filter's position: what it has read, and where it moves what it keeps. A byte is kept when it
 * is read or never, so the kept bytes can't overtake the read ones.
 */
struct filter {
	char *p;
	size_t used, kept;
};

static void keep(struct http_body *b, struct filter *f, char c)
{
	if (!b->is_bare)
		f->p[f->kept++] = c;
}

static bool take_size(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	int digit = hex_digit(c);

	if (digit >= 0) {
		if (++b->line > MAX_SIZE_DIGITS || b->left > (uint64_t)INT64_MAX >> 4)
			return fail(fault, "the size of a chunk is too large");
		b->left = b->left << 4 | (uint64_t)digit;
		keep(b, f, c);
		return true;
	}
	if (b->line == 0 || (c != ';' && c != '\r'))
		return fail(fault, "the size of a chunk is no number");
	if (c == '\r')
		keep(b, f, c);
	b->state = c == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
	return true;
}

static bool take_extension(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	if (c == '\r') {
		keep(b, f, c);
		b->state = CHUNK_SIZE_LF;
		return true;
	}
	if (!is_value(c))
		return fail(fault, "the extension of a chunk has control characters in it");
	if (++b->line > HTTP_MAX_CHUNK_LINE)
		return fail(fault, "the extension of a chunk is too long");
	return true;
}

static bool take_size_end(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	if (c != '\n')
		return fail(fault, "the size of a chunk is followed by a bare carriage return");
	keep(b, f, c);
	b->line = 0;
	b->state = b->left > 0 ? CHUNK_DATA : TRAILER_BEGIN;
	return true;
}

static bool take_data_end(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	if (c != (b->state == CHUNK_DATA_CR ? '\r' : '\n'))
		return fail(fault, "the data of a chunk is longer than its size");
	keep(b, f, c);
	b->state = b->state == CHUNK_DATA_CR ? CHUNK_DATA_LF : CHUNK_SIZE;
	return true;
}

/* Checked as strictly as header fields, and dropped. */
static bool take_trailer(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	if (++b->line > HTTP_MAX_TRAILERS)
		return fail(fault, "the trailers are too long");
	if (b->state == TRAILER_VALUE) {
		if (c == '\r')
			b->state = TRAILER_LF;
		else if (!is_value(c))
			return fail(fault, "a trailer has control characters in it");
		return true;
	}
	if (b->state == TRAILER_BEGIN && c == '\r') {
		keep(b, f, c);
		b->state = LAST_LF;
		return true;
	}
	if (b->state == TRAILER_NAME && c == ':') {
		b->state = TRAILER_VALUE;
		return true;
	}
	if (!is_token(c))
		return fail(fault, "a trailer has no proper name");
	b->state = TRAILER_NAME;
	return true;
}

static bool take_trailer_end(struct http_body *b, struct filter *f, char c,
			     struct http_fault *fault)
{
	if (c != '\n')
		return fail(fault, "a trailer has a bare carriage return in it");
	if (b->state == LAST_LF) {
		keep(b, f, c);
		b->is_whole = true;
	}
	b->state = TRAILER_BEGIN;
	return true;
}

static bool take_byte(struct http_body *b, struct filter *f, char c, struct http_fault *fault)
{
	switch ((enum state)b->state) {
	case CHUNK_SIZE:
		return take_size(b, f, c, fault);
	case CHUNK_EXTENSION:
		return take_extension(b, f, c, fault);
	case CHUNK_SIZE_LF:
		return take_size_end(b, f, c, fault);
	case CHUNK_DATA:
		return fail(fault, "internal error"); /* taken in one piece */
	case CHUNK_DATA_CR:
	case CHUNK_DATA_LF:
		return take_data_end(b, f, c, fault);
	case TRAILER_BEGIN:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return take_trailer(b, f, c, fault);
	case TRAILER_LF:
	case LAST_LF:
		return take_trailer_end(b, f, c, fault);
	}
	return fail(fault, "internal error");
}

/* Plain data stays where it is, and moves only if something before it was removed. */
static void take_plain(struct http_body *b, struct filter *f, size_t len)
{
	if (f->kept < f->used)
		memmove(f->p + f->kept, f->p + f->used, len);
	f->kept += len;
	f->used += len;
	http_body_skip(b, len);
}

bool http_body_take(struct http_body *b, char *p, size_t len, size_t *used, size_t *kept,
		    struct http_fault *fault)
{
	struct filter f = { .p = p, .used = 0, .kept = 0 };
	bool is_good = true;

	while (is_good && f.used < len && !b->is_whole) {
		uint64_t plain = MIN_OF(http_body_plain(b), (uint64_t)(len - f.used));

		if (plain > 0)
			take_plain(b, &f, (size_t)plain);
		else
			is_good = take_byte(b, &f, p[f.used++], fault);
	}
	*used = f.used;
	*kept = f.kept;
	return is_good;
}

uint64_t http_body_plain(const struct http_body *b)
{
	switch ((enum http_body_kind)b->kind) {
	case HTTP_NO_BODY:
		return 0;
	case HTTP_SIZED:
		return b->left;
	case HTTP_CHUNKED:
		return b->state == CHUNK_DATA ? b->left : 0;
	case HTTP_UNTIL_CLOSE:
		return UINT64_MAX;
	}
	return 0;
}

void http_body_skip(struct http_body *b, uint64_t bytes)
{
	b->bytes += bytes;
	if (b->kind == HTTP_UNTIL_CLOSE)
		return;
	b->left -= bytes;
	if (b->left > 0)
		return;
	if (b->kind == HTTP_SIZED)
		b->is_whole = true;
	else
		b->state = CHUNK_DATA_CR;
}
