/* SPDX-License-Identifier: MIT */
/* Writes heads that are forwarded: what was understood, without the fields of one connection. */
#include "proxy/http/head.h"

/* Copies all fields between two that are dropped in one piece. */
static void add_fields(const struct http_fields *f, struct buf *out)
{
	for (size_t i = 0; i < f->count; i++) {
		size_t from = f->list[i].at;

		if (f->list[i].is_hop)
			continue;
		while (i + 1 < f->count && !f->list[i + 1].is_hop)
			i++;
		buf_add(out, (struct str){ f->head.p + from, f->list[i].end - from });
	}
}

static void add_number(struct buf *out, uint64_t n)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	buf_add(out, (struct str){ digits + at, sizeof(digits) - at });
}

static void add_length(struct buf *out, uint64_t length)
{
	buf_add(out, STR("Content-Length: "));
	add_number(out, length);
	buf_add(out, STR("\r\n"));
}

static void add_host(struct buf *out, const struct target *t)
{
	bool is_v6 = t->is_ip && !ip_is_v4(&t->ip);

	buf_add(out, is_v6 ? STR("Host: [") : STR("Host: "));
	buf_add_text(out, t->name);
	if (is_v6)
		buf_add_char(out, ']');
	if (t->port != 80) {
		buf_add_char(out, ':');
		add_number(out, t->port);
	}
	buf_add(out, STR("\r\n"));
}

/* Origin-form. "http://host" and "http://host?a" become "/"; for OPTIONS the first becomes "*". */
static void add_path(struct buf *out, const struct http_request *r)
{
	if (r->path.len == 0 && http_method_is(r->method, "OPTIONS"))
		buf_add_char(out, '*');
	else if (r->path.len == 0 || r->path.p[0] == '?')
		buf_add_char(out, '/');
	buf_add(out, r->path);
}

void http_request_write(const struct http_request *r, const struct target *t, bool upgrades,
			struct buf *out)
{
	buf_add(out, r->method);
	buf_add_char(out, ' ');
	add_path(out, r);
	buf_add(out, STR(" HTTP/1.1\r\n"));
	add_host(out, t);
	add_fields(&r->fields, out);
	if (r->fields.is_chunked)
		buf_add(out, STR("Transfer-Encoding: chunked\r\n"));
	else if (r->fields.has_length)
		add_length(out, r->fields.length);
	/* HTTP/1.0 does not have it, and the client would not wait for the answer. */
	if (r->fields.expects_continue && !r->is_1_0)
		buf_add(out, STR("Expect: 100-continue\r\n"));
	if (upgrades)
		buf_add(out, STR("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
	else if (http_has_odd_body(r))
		buf_add(out, STR("Connection: close\r\n"));
	buf_add(out, STR("\r\n"));
}

void http_response_write(const struct http_response *r, const struct http_answer *how,
			 struct buf *out)
{
	buf_add(out, STR("HTTP/1.1 "));
	add_number(out, r->status);
	buf_add_char(out, ' ');
	buf_add(out, r->reason);
	buf_add(out, STR("\r\n"));
	add_fields(&r->fields, out);
	if (how->is_chunked)
		buf_add(out, STR("Transfer-Encoding: chunked\r\n"));
	else if (how->has_length && r->fields.has_length)
		add_length(out, r->fields.length);
	if (how->is_websocket)
		buf_add(out, STR("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
	else if (!how->keeps)
		buf_add(out, STR("Connection: close\r\n"));
	else if (how->is_to_1_0)
		buf_add(out, STR("Connection: keep-alive\r\n"));
	buf_add(out, STR("\r\n"));
}
