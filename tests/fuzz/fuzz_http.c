/* SPDX-License-Identifier: MIT */
/*
 * What a client or a server sends: a head and its body, in steps whose size the first
 * byte chooses. What is refused says why, in words that a terminal may see. What is
 * passed on is one message: read again it has the same method, target and framing, and
 * ends where it ended; nothing of the connection is left in it; and how it came in
 * pieces makes no difference.
 */
#include <stdint.h>
#include <stdlib.h>

#include "proxy/http/body.h"

enum { ROOM = 2 * HTTP_MAX_HEAD_BYTES, MAX_INPUT = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_fault(const struct http_fault *fault)
{
	demand(fault->status >= 400 && fault->status < 600);
	demand(fault->text && fault->text[0] != '\0');
	for (const char *c = fault->text; *c; c++)
		demand((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* The head's length, found in steps and at once; 0 without one. */
static size_t find_head(struct str text, size_t step)
{
	struct http_fault fault, at_once;
	size_t seen = 0, again = 0, len = 0, whole;

	whole = http_head_end(text, &again, &at_once);
	for (size_t have = 0; have < text.len && len == 0;) {
		have = MIN_OF(have + step, text.len);
		len = http_head_end(str_first(text, have), &seen, &fault);
		if (fault.text) {
			check_fault(&fault);
			break;
		}
	}
	demand(len == whole);
	demand(len <= HTTP_MAX_HEAD_BYTES);
	return len;
}

static void check_fields(const struct http_fields *f, bool is_request)
{
	for (size_t i = 0; i < f->count; i++) {
		enum http_name name = (enum http_name)f->list[i].name;

		demand(name == HTTP_OTHER || name == HTTP_ACCEPT || name == HTTP_CONTENT_LENGTH ||
		       name == HTTP_CONNECTION || name == HTTP_UPGRADE ||
		       name == HTTP_TRANSFER_ENCODING ||
		       (is_request && (name == HTTP_HOST || name == HTTP_EXPECT)));
	}
	demand(f->proxy_authorization.len == 0);
}

/* What is passed on of a body, all at once or in steps; its length, and how it ended. */
struct passed {
	char *text;
	size_t len, used;
	bool is_good;
	struct http_body body;
};

static struct passed pass(struct http_body b, struct str text, size_t step)
{
	struct passed p = { .text = malloc(text.len + 1), .is_good = true };
	char *part = malloc(text.len + 1);
	struct http_fault fault = { 0, NULL };

	demand(p.text && part);
	while (p.is_good && p.used < text.len && !b.is_whole) {
		size_t n = MIN_OF(step, text.len - p.used), used, kept;

		memcpy(part, text.p + p.used, n);
		p.is_good = http_body_take(&b, part, n, &used, &kept, &fault);
		demand(kept <= used && used <= n && (used == n || b.is_whole || !p.is_good));
		memcpy(p.text + p.len, part, kept);
		p.len += kept;
		p.used += used;
	}
	if (!p.is_good)
		check_fault(&fault);
	free(part);
	p.body = b;
	return p;
}

static void check_body(struct http_body b, struct str text, size_t step)
{
	struct passed one = pass(b, text, text.len + 1), steps = pass(b, text, step);
	struct passed again = pass(b, (struct str){ one.text, one.len }, step);
	struct http_body bare = b;
	struct passed raw;

	demand(one.len == steps.len && memcmp(one.text, steps.text, one.len) == 0);
	demand(one.is_good == steps.is_good && one.used == steps.used);
	demand(one.body.is_whole == steps.body.is_whole && one.body.bytes == steps.body.bytes);
	/* What goes on is the same message to whoever reads it by the same rules. */
	demand(again.is_good && again.len == one.len && again.used == one.len);
	demand(memcmp(again.text, one.text, one.len) == 0);
	demand(again.body.is_whole == one.body.is_whole && again.body.bytes == one.body.bytes);
	bare.is_bare = true;
	raw = pass(bare, text, step);
	demand(raw.is_good == one.is_good && raw.body.bytes == one.body.bytes);
	demand(raw.len == raw.body.bytes || b.kind == HTTP_NO_BODY);
	free(one.text);
	free(steps.text);
	free(again.text);
	free(raw.text);
}

static bool same_body(const struct http_body *a, const struct http_body *b)
{
	return a->kind == b->kind && a->left == b->left && a->is_whole == b->is_whole;
}

static char written[ROOM + HTTP_ADDED_BYTES];

static void check_request(struct str text, size_t len, size_t step)
{
	static struct http_request r, again;
	struct http_fault fault = { 0, NULL };
	struct target t, same;
	struct buf out = BUF_OVER(written);
	struct http_body body, body_again;
	size_t seen = 0;
	char detail[128];

	if (!http_request_parse(str_first(text, len), &r, &fault) ||
	    !http_request_target(&r, &t, &fault, detail, sizeof(detail))) {
		check_fault(&fault);
		return;
	}
	if (r.form == HTTP_AUTHORITY)
		return;
	http_request_write(&r, &t, r.fields.is_websocket, &out);
	demand(out.failed == ERR_OK && out.len <= len + HTTP_ADDED_BYTES);
	if (out.len > HTTP_MAX_HEAD_BYTES)
		return;
	demand(http_head_end(buf_str(&out), &seen, &fault) == out.len);
	if (!http_request_parse(buf_str(&out), &again, &fault)) {
		/* What is added may be one field too many. */
		demand(fault.status == 431);
		return;
	}
	demand(http_request_target(&again, &same, &fault, detail, sizeof(detail)));
	demand(str_eq(r.method, again.method) && !again.is_1_0);
	demand(t.port == same.port && strcmp(t.name, same.name) == 0 && t.is_ip == same.is_ip);
	demand(again.form == HTTP_ORIGIN || again.form == HTTP_ASTERISK);
	demand(again.fields.says_close == (http_has_odd_body(&r) && !r.fields.is_websocket));
	demand(!again.fields.says_keep_alive);
	demand(again.fields.is_websocket == r.fields.is_websocket);
	check_fields(&again.fields, true);
	body = http_request_body(&r);
	body_again = http_request_body(&again);
	demand(same_body(&body, &body_again));
	check_body(body, str_from(text, len), step);
}

static void check_response(struct str text, size_t len, size_t step, bool is_to_head)
{
	static struct http_response r, again;
	struct http_fault fault = { 0, NULL };
	struct buf out = BUF_OVER(written);
	struct http_body body, body_again;
	struct http_answer how = { .keeps = true, .has_length = true };
	size_t seen = 0;

	if (!http_response_may_begin(text))
		return;
	if (!http_response_parse(str_first(text, len), &r, &fault)) {
		check_fault(&fault);
		return;
	}
	body = http_response_body(&r, is_to_head);
	how.is_chunked = body.kind == HTTP_CHUNKED;
	http_response_write(&r, &how, &out);
	demand(out.failed == ERR_OK && out.len <= len + HTTP_ADDED_BYTES);
	if (out.len > HTTP_MAX_HEAD_BYTES)
		return;
	demand(http_response_may_begin(buf_str(&out)));
	demand(http_head_end(buf_str(&out), &seen, &fault) == out.len);
	if (!http_response_parse(buf_str(&out), &again, &fault)) {
		demand(fault.status == 431);
		return;
	}
	demand(again.status == r.status && !again.is_1_0);
	check_fields(&again.fields, false);
	body_again = http_response_body(&again, is_to_head);
	demand(same_body(&body, &body_again));
	check_body(body, str_from(text, len), step);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data + 1, size - 1 };
	size_t step, len;

	if (size < 1 || size > MAX_INPUT)
		return 0;
	step = (size_t)(data[0] & 0x7f) + 1;
	len = http_empty_line(text);
	demand(len <= 2 && (len < 2 || find_head(text, step) == 0));
	if (len == 2)
		text = str_from(text, 2);
	len = find_head(text, step);
	if (len > 0) {
		check_request(text, len, step);
		check_response(text, len, step, data[0] & 0x80);
	}
	return 0;
}
