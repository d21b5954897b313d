/* SPDX-License-Identifier: MIT */
/* Parses heads. Nothing here may be lenient: nobody checks again what this lets through. */
#include "proxy/http/head.h"

#include "base/base64.h"
#include "base/hostname.h"

enum {
	IS_TOKEN = 1,  /* of methods and field names */
	IS_VALUE = 2,  /* of field values and reason phrases */
	IS_TARGET = 4, /* of request targets: no space, no fragment */
};

#define T (IS_TOKEN | IS_VALUE | IS_TARGET)
#define P (IS_VALUE | IS_TARGET)
#define V (IS_VALUE)

/*
 * Paths and values contain bytes over 0x7f in practice, whatever the standards say. They mean
 * nothing here.
 */
static const uint8_t classes[256] = {
	['\t'] = V, [' '] = V,		 ['!'] = T, ['"'] = P,	['#'] = V | IS_TOKEN,
	['$'] = T,  ['%'] = T,		 ['&'] = T, ['\''] = T, ['('] = P,
	[')'] = P,  ['*'] = T,		 ['+'] = T, [','] = P,	['-'] = T,
	['.'] = T,  ['/'] = P,		 ['0'] = T, ['1'] = T,	['2'] = T,
	['3'] = T,  ['4'] = T,		 ['5'] = T, ['6'] = T,	['7'] = T,
	['8'] = T,  ['9'] = T,		 [':'] = P, [';'] = P,	['<'] = P,
	['='] = P,  ['>'] = P,		 ['?'] = P, ['@'] = P,	['A' ... 'Z'] = T,
	['['] = P,  ['\\'] = P,		 [']'] = P, ['^'] = T,	['_'] = T,
	['`'] = T,  ['a' ... 'z'] = T,	 ['{'] = P, ['|'] = T,	['}'] = P,
	['~'] = T,  [0x80 ... 0xff] = P,
};

#undef T
#undef P
#undef V

/* How many bytes at the beginning belong to that class. */
static size_t span(struct str s, unsigned class)
{
	size_t i = 0;

	while (i < s.len && (classes[(unsigned char)s.p[i]] & class))
		i++;
	return i;
}

static bool fail(struct http_fault *fault, unsigned status, const char *text)
{
	*fault = (struct http_fault){ status, text };
	return false;
}

bool http_method_is(struct str method, const char *name)
{
	return str_is(method, name);
}

bool http_has_odd_body(const struct http_request *r)
{
	return (r->fields.is_chunked || r->fields.length > 0) &&
	       !http_method_is(r->method, "POST") && !http_method_is(r->method, "PUT") &&
	       !http_method_is(r->method, "PATCH");
}

bool http_token_is(struct str token, const char *lower)
{
	size_t i = 0;

	for (; i < token.len && lower[i]; i++)
		if (ascii_lower(token.p[i]) != lower[i])
			return false;
	return i == token.len && lower[i] == '\0';
}

static bool same_token(struct str a, struct str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct str trim(struct str s)
{
	while (s.len > 0 && is_space(s.p[0]))
		s = str_from(s, 1);
	while (s.len > 0 && is_space(s.p[s.len - 1]))
		s.len--;
	return s;
}

/* The next element of a comma-separated list, trimmed; `rest` moves on. */
static struct str next_part(struct str *rest)
{
	struct str part = str_first(*rest, str_find(*rest, ','));

	*rest = str_from(*rest, part.len + 1);
	return trim(part);
}

/* ---- Where it ends -------------------------------------------------------------------- */

size_t http_empty_line(struct str text)
{
	struct str line = STR("\r\n"), begin = str_first(text, line.len);

	return str_has_prefix(line, begin) ? begin.len : 0;
}

size_t http_head_end(struct str text, size_t *seen, struct http_fault *fault)
{
	struct str head = str_first(text, HTTP_MAX_HEAD_BYTES);

	*fault = (struct http_fault){ 0, NULL };
	if (text.len > 0 && span(str_first(text, 1), IS_TOKEN) == 0) {
		(void)fail(fault, 400, "this is no HTTP");
		return 0;
	}
	for (size_t at = *seen; at < head.len; *seen = ++at) {
		at += str_find(str_from(head, at), '\n');
		if (at == head.len)
			break;
		/* The first byte belongs to a token, so there is one before this one. */
		if (head.p[at - 1] != '\r') {
			(void)fail(fault, 400, "a line ends without a carriage return");
			return 0;
		}
		if (at >= 2 && head.p[at - 2] == '\n')
			return at + 1;
	}
	*seen = head.len;
	if (head.len == HTTP_MAX_HEAD_BYTES)
		(void)fail(fault, 431, "the head is longer than 32 KiB");
	return 0;
}

/* ---- Fields --------------------------------------------------------------------------- */

struct known {
	struct str name; /* lower case */
	enum http_name id;
	bool is_hop; /* or written anew */
};

static const struct known known[] = {
	{ STR_INIT("te"), HTTP_TE, true },
	{ STR_INIT("host"), HTTP_HOST, true },
	{ STR_INIT("accept"), HTTP_ACCEPT, false },
	{ STR_INIT("expect"), HTTP_EXPECT, true },
	{ STR_INIT("trailer"), HTTP_TRAILER, true },
	{ STR_INIT("upgrade"), HTTP_UPGRADE, true },
	{ STR_INIT("connection"), HTTP_CONNECTION, true },
	{ STR_INIT("keep-alive"), HTTP_KEEP_ALIVE, true },
	{ STR_INIT("content-length"), HTTP_CONTENT_LENGTH, true },
	{ STR_INIT("proxy-connection"), HTTP_PROXY_CONNECTION, true },
	{ STR_INIT("transfer-encoding"), HTTP_TRANSFER_ENCODING, true },
	{ STR_INIT("proxy-authenticate"), HTTP_PROXY_AUTHENTICATE, true },
	{ STR_INIT("proxy-authorization"), HTTP_PROXY_AUTHORIZATION, true },
	{ STR_INIT("proxy-authentication-info"), HTTP_PROXY_AUTHENTICATION_INFO, true },
};

static void recognise(struct http_field *field, struct str name)
{
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (known[i].name.len == name.len && same_token(known[i].name, name)) {
			field->name = (uint8_t)known[i].id;
			field->is_hop = known[i].is_hop;
			return;
		}
}

static struct str field_name(const struct http_fields *f, const struct http_field *field)
{
	return (struct str){ f->head.p + field->at, field->name_len };
}

static struct str field_value(const struct http_fields *f, const struct http_field *field)
{
	return (struct str){ f->head.p + field->value_at, field->value_len };
}

/* Parses "Name: value" without its line end; `at` is its position in the head. */
static bool read_line(struct http_fields *f, size_t at, struct str line, struct http_fault *fault)
{
	struct str name = str_first(line, span(line, IS_TOKEN));
	struct str value = str_from(line, name.len + 1);
	struct http_field *field = &f->list[f->count];

	if (is_space(line.p[0]))
		return fail(fault, 400, "a field goes on over several lines");
	if (name.len == line.len || line.p[name.len] != ':')
		return fail(fault, 400, "a field's name has bytes in it that no name has");
	if (name.len == 0)
		return fail(fault, 400, "a field has no name");
	if (span(value, IS_VALUE) < value.len)
		return fail(fault, 400, "a field's value has control characters in it");
	value = trim(value);
	*field = (struct http_field){
		.at = (uint16_t)at,
		.name_len = (uint16_t)name.len,
		.value_at = (uint16_t)(value.p - f->head.p),
		.value_len = (uint16_t)value.len,
		.end = (uint16_t)(at + line.len + 2),
	};
	recognise(field, name);
	f->count++;
	return true;
}

static bool read_lines(struct http_fields *f, size_t at, struct http_fault *fault)
{
	for (;;) {
		struct str rest = str_from(f->head, at);
		struct str line = str_first(rest, str_find(rest, '\n'));

		if (line.len <= 1) /* the CR of the empty line */
			return true;
		line.len--;
		if (f->count == HTTP_MAX_FIELDS)
			return fail(fault, 431, "the head has more than 128 fields");
		if (!read_line(f, at, line, fault))
			return false;
		at += line.len + 2;
	}
}

/* Decimal digits only, and at most what a signed 64-bit number holds. */
static bool read_length(struct str s, uint64_t *out)
{
	uint64_t n = 0;

	if (s.len == 0 || s.len > 19)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!ascii_is_digit(s.p[i]))
			return false;
		n = n * 10 + (uint64_t)(s.p[i] - '0');
	}
	*out = n;
	return n <= INT64_MAX;
}

static bool take_length(struct http_fields *f, struct str value, struct http_fault *fault)
{
	uint64_t length;

	if (!read_length(value, &length))
		return fail(fault, 400, "Content-Length is no number");
	if (f->has_length && f->length != length)
		return fail(fault, 400, "two Content-Length fields say different things");
	f->has_length = true;
	f->length = length;
	return true;
}

static bool take_encoding(struct http_fields *f, struct str value, struct http_fault *fault)
{
	if (f->is_chunked)
		return fail(fault, 400, "Transfer-Encoding is there more than once");
	if (!http_token_is(value, "chunked"))
		return fail(fault, 501, "a Transfer-Encoding other than chunked is not supported");
	f->is_chunked = true;
	return true;
}

/* Fields that concern only this connection are not forwarded. */
static void drop_listed(struct http_fields *f, struct str token)
{
	for (size_t i = 0; i < f->count; i++)
		if (same_token(field_name(f, &f->list[i]), token))
			f->list[i].is_hop = true;
}

struct connection {
	size_t tokens;
	bool upgrades, is_websocket;
};

static bool take_connection(struct http_fields *f, struct str value, struct connection *c,
			    struct http_fault *fault)
{
	while (value.len > 0) {
		struct str token = next_part(&value);

		if (token.len == 0)
			continue;
		if (span(token, IS_TOKEN) < token.len)
			return fail(fault, 400, "Connection is no list of names");
		if (++c->tokens > HTTP_MAX_TOKENS)
			return fail(fault, 431, "Connection lists more than 64 names");
		if (http_token_is(token, "close"))
			f->says_close = true;
		else if (http_token_is(token, "keep-alive"))
			f->says_keep_alive = true;
		else if (http_token_is(token, "upgrade"))
			c->upgrades = true;
		else
			drop_listed(f, token);
	}
	return true;
}

static bool take_once(bool *has, struct str *to, struct str value, const char *twice,
		      struct http_fault *fault)
{
	if (*has)
		return fail(fault, 400, twice);
	*has = true;
	*to = value;
	return true;
}

struct counts {
	struct connection connection;
	bool has_authorization, has_upgrade, has_expect;
};

static bool take_field(struct http_fields *f, const struct http_field *field, struct counts *c,
		       struct http_fault *fault)
{
	struct str value = field_value(f, field), ignored;

	switch ((enum http_name)field->name) {
	case HTTP_CONTENT_LENGTH:
		return take_length(f, value, fault);
	case HTTP_TRANSFER_ENCODING:
		return take_encoding(f, value, fault);
	case HTTP_CONNECTION:
	case HTTP_PROXY_CONNECTION:
		return take_connection(f, value, &c->connection, fault);
	case HTTP_HOST:
		return take_once(&f->has_host, &f->host, value, "Host is there more than once",
				 fault);
	case HTTP_PROXY_AUTHORIZATION:
		return take_once(&c->has_authorization, &f->proxy_authorization, value,
				 "Proxy-Authorization is there more than once", fault);
	case HTTP_UPGRADE:
		c->connection.is_websocket = !c->has_upgrade && http_token_is(value, "websocket");
		c->has_upgrade = true;
		return true;
	case HTTP_EXPECT:
		if (!http_token_is(value, "100-continue"))
			return fail(fault, 417,
				    "Expect asks for something other than 100-continue");
		f->expects_continue = true;
		return take_once(&c->has_expect, &ignored, value, "Expect is there more than once",
				 fault);
	case HTTP_ACCEPT:
		f->has_accept = true;
		f->accept = value;
		return true;
	case HTTP_OTHER:
	case HTTP_KEEP_ALIVE:
	case HTTP_PROXY_AUTHENTICATE:
	case HTTP_PROXY_AUTHENTICATION_INFO:
	case HTTP_TE:
	case HTTP_TRAILER:
		return true;
	}
	return true;
}

static bool read_fields(struct http_fields *f, size_t at, struct http_fault *fault)
{
	struct counts c = { .has_expect = false };

	if (!read_lines(f, at, fault))
		return false;
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].name != HTTP_OTHER && !take_field(f, &f->list[i], &c, fault))
			return false;
	if (f->has_length && f->is_chunked)
		return fail(fault, 400, "Content-Length and Transfer-Encoding are both there");
	f->is_websocket = c.connection.upgrades && c.connection.is_websocket;
	return true;
}

/* Clears all but the list, which is long and written before it is read. */
static void begin_fields(struct http_fields *f, struct str head)
{
	f->head = head;
	f->count = 0;
	f->has_length = f->is_chunked = false;
	f->length = 0;
	f->says_close = f->says_keep_alive = false;
	f->is_websocket = f->expects_continue = false;
	f->has_host = f->has_accept = false;
	f->host = f->accept = f->proxy_authorization = STR_EMPTY;
}

/* ---- Requests ------------------------------------------------------------------------- */

/* "HTTP/1.1" */
static bool read_version(struct str s, bool *is_1_0, struct http_fault *fault)
{
	if (str_is(s, "HTTP/1.1") || str_is(s, "HTTP/1.0")) {
		*is_1_0 = s.p[7] == '0';
		return true;
	}
	if (s.len >= 6 && str_has_prefix(s, STR("HTTP/")) && ascii_is_digit(s.p[5]) &&
	    span(s, IS_VALUE) == s.len)
		return fail(fault, 505, "this is neither HTTP/1.1 nor HTTP/1.0");
	return fail(fault, 400, "the first line does not end in an HTTP version");
}

/* "http://AUTHORITY/PATH" */
static bool read_absolute(struct str target, struct http_request *r, struct http_fault *fault)
{
	struct str scheme = str_first(target, str_find(target, ':'));
	struct str rest = str_from(target, scheme.len + 1);
	size_t end = 0;

	if (http_token_is(scheme, "https") || http_token_is(scheme, "wss"))
		return fail(fault, 400, "https goes through a proxy by CONNECT only");
	if (!http_token_is(scheme, "http") && !http_token_is(scheme, "ws"))
		return fail(fault, 400, "the target is no http:// address");
	if (!str_has_prefix(rest, STR("//")))
		return fail(fault, 400, "the target has no host");
	rest = str_from(rest, 2);
	while (end < rest.len && rest.p[end] != '/' && rest.p[end] != '?')
		end++;
	r->form = HTTP_ABSOLUTE;
	r->authority = str_first(rest, end);
	r->path = str_from(rest, end);
	if (r->authority.len == 0)
		return fail(fault, 400, "the target has no host");
	return true;
}

static bool read_target(struct str target, struct http_request *r, struct http_fault *fault)
{
	if (str_find(target, '#') < target.len)
		return fail(fault, 400, "the target has a fragment");
	if (target.len == 0 || span(target, IS_TARGET) < target.len)
		return fail(fault, 400, "the target has bytes in it that no target has");
	if (http_method_is(r->method, "CONNECT")) {
		r->form = HTTP_AUTHORITY;
		r->authority = target;
		r->path = STR_EMPTY;
		return true;
	}
	if (target.p[0] != '/' && !str_is(target, "*"))
		return read_absolute(target, r, fault);
	r->form = target.p[0] == '/' ? HTTP_ORIGIN : HTTP_ASTERISK;
	r->authority = STR_EMPTY; /* the Host field's, once that is parsed */
	r->path = target;
	if (r->form == HTTP_ASTERISK && !http_method_is(r->method, "OPTIONS"))
		return fail(fault, 400, "only OPTIONS may ask for *");
	return true;
}

/* "METHOD TARGET VERSION", single spaces. */
static bool read_request_line(struct str line, struct http_request *r, struct http_fault *fault)
{
	size_t first = str_find(line, ' ');
	struct str rest = str_from(line, first + 1);
	size_t second = str_find(rest, ' ');

	r->method = str_first(line, first);
	if (first == 0 || span(r->method, IS_TOKEN) < first)
		return fail(fault, 400, "the first line does not begin with a method");
	if (first > HTTP_MAX_METHOD_BYTES)
		return fail(fault, 400, "the method is longer than 32 bytes");
	if (second == rest.len)
		return fail(fault, 400, "the first line has no HTTP version");
	return read_version(str_from(rest, second + 1), &r->is_1_0, fault) &&
	       read_target(str_first(rest, second), r, fault);
}

/* Checks the fields of a request together. */
static bool check_request(struct http_request *r, struct http_fault *fault)
{
	const struct http_fields *f = &r->fields;

	if (!f->has_host && !(r->is_1_0 && r->form != HTTP_ORIGIN && r->form != HTTP_ASTERISK))
		return fail(fault, 400, "there is no Host field");
	if (f->is_chunked && r->is_1_0)
		return fail(fault, 400, "HTTP/1.0 has no Transfer-Encoding");
	if (r->form == HTTP_AUTHORITY && (f->is_chunked || f->length > 0))
		return fail(fault, 400, "CONNECT has no body");
	if (r->form == HTTP_ORIGIN || r->form == HTTP_ASTERISK)
		r->authority = f->host;
	return true;
}

/* The first line without its end, which http_head_end() has checked. */
static struct str first_line(struct str head)
{
	return str_first(head, str_find(head, '\n') - 1);
}

bool http_request_parse(struct str head, struct http_request *out, struct http_fault *fault)
{
	struct str line = first_line(head);

	begin_fields(&out->fields, head);
	return read_request_line(line, out, fault) &&
	       read_fields(&out->fields, line.len + 2, fault) && check_request(out, fault);
}

/* ---- Whom it is for --------------------------------------------------------------------- */

/* Parses "HOST" or "HOST:PORT"; without a port, `port` stays as it is. */
static bool split_authority(struct str text, struct str *host, uint16_t *port,
			    struct http_fault *fault)
{
	size_t colon = hostname_port_offset(text);

	if (str_find(text, '@') < text.len)
		return fail(fault, 400, "the target has a user in it");
	*host = str_first(text, colon);
	if (str_find(*host, ':') < host->len && host->p[0] != '[')
		return fail(fault, 400, "an IPv6 address needs brackets");
	if (colon < text.len && !hostname_port_number(str_from(text, colon + 1), port))
		return fail(fault, 400, "the port is no number from 1 to 65535");
	return true;
}

/* Also for HTTP/1.0, which does not require a Host: a request that names two hosts is refused. */
static bool host_matches(const struct http_request *r, const struct target *t)
{
	struct http_fault ignored;
	struct target said;
	uint16_t port = r->form == HTTP_AUTHORITY ? t->port : 80;
	struct str host;
	char why[128];

	if (!r->fields.has_host || str_eq(r->fields.host, r->authority))
		return true;
	return split_authority(r->fields.host, &host, &port, &ignored) &&
	       target_parse(&said, host, port, why, sizeof(why)) && target_is_same(&said, t);
}

bool http_request_target(const struct http_request *r, struct target *out, struct http_fault *fault,
			 char *detail, size_t detail_bytes)
{
	uint16_t port = r->form == HTTP_AUTHORITY ? 0 : 80;
	struct str host;

	if (!split_authority(r->authority, &host, &port, fault))
		return false;
	if (port == 0)
		return fail(fault, 400, "CONNECT needs a port");
	if (!target_parse(out, host, port, detail, detail_bytes))
		return fail(fault, 400, detail);
	if (!host_matches(r, out))
		return fail(fault, 400, "Host is not the target's");
	return true;
}

/* ---- Responses ---------------------------------------------------------------------------- */

bool http_response_may_begin(struct str text)
{
	struct str begin = STR("HTTP/1.");

	return str_has_prefix(begin, str_first(text, begin.len));
}

/* "HTTP/1.1 200 OK"; the reason phrase may be missing, with or without its space. */
static bool read_status_line(struct str line, struct http_response *r, struct http_fault *fault)
{
	struct str rest = str_from(line, 8);

	if (!read_version(str_first(line, 8), &r->is_1_0, fault))
		return false;
	if (rest.len < 4 || rest.p[0] != ' ' || rest.p[1] < '1' || rest.p[1] > '9' ||
	    !ascii_is_digit(rest.p[2]) || !ascii_is_digit(rest.p[3]) ||
	    (rest.len > 4 && rest.p[4] != ' '))
		return fail(fault, 502, "the first line has no status");
	r->status = (unsigned)(rest.p[1] - '0') * 100 + (unsigned)(rest.p[2] - '0') * 10 +
		    (unsigned)(rest.p[3] - '0');
	r->reason = str_from(rest, 5);
	if (span(r->reason, IS_VALUE) < r->reason.len)
		return fail(fault, 502, "the first line has control characters in it");
	return true;
}

bool http_response_parse(struct str head, struct http_response *out, struct http_fault *fault)
{
	struct str line = first_line(head);

	begin_fields(&out->fields, head);
	if (!read_status_line(line, out, fault) || !read_fields(&out->fields, line.len + 2, fault))
		return false;
	if (out->fields.is_chunked && out->is_1_0)
		return fail(fault, 502, "HTTP/1.0 has no Transfer-Encoding");
	return true;
}

bool http_wants_json(const struct http_fields *f)
{
	struct str word = STR("json");

	if (!f->has_accept)
		return true;
	for (size_t i = 0; i + word.len <= f->accept.len; i++)
		if (same_token((struct str){ f->accept.p + i, word.len }, word))
			return true;
	return false;
}

/* ---- Proxy-Authorization -------------------------------------------------------------------- */

bool http_password(const struct http_fields *f, char *room, size_t room_bytes, struct str *out)
{
	struct str value = f->proxy_authorization;
	size_t len;

	if (value.len < 6 || !http_token_is(str_first(value, 5), "basic") || value.p[5] != ' ' ||
	    !base64_decode(trim(str_from(value, 6)), room, room_bytes, &len))
		return false;
	*out = (struct str){ room, len };
	*out = str_from(*out, str_find(*out, ':') + 1);
	return str_find((struct str){ room, len }, ':') < len;
}
