/* SPDX-License-Identifier: MIT */
/*
 * What a refused client reads: what was refused, which rule refuses it, and how to allow it. Names,
 * methods and details come from inside the sandbox. So all text goes through utf8_add_shown() or
 * the JSON writer; no control character can end a header or control a terminal.
 */
#include "proxy/decide.h"

#include <errno.h>

#include "base/json.h"
#include "base/utf8.h"

enum { BODY_BYTES = REFUSAL_ANSWER_BYTES - 512, SHOWN_BYTES = 200 };

const char *refusal_code(enum proxy_reason reason)
{
	return proxy_reason_code(reason);
}

unsigned refusal_status(enum proxy_reason reason)
{
	if (proxy_is_denial(reason))
		return 403;
	if (reason == PROXY_BAD_REQUEST)
		return 400;
	if (reason == PROXY_BAD_TOKEN)
		return 407;
	if (reason == PROXY_FAILED_RESOURCES)
		return 503;
	return reason == PROXY_FAILED_TIMEOUT ? 504 : 502;
}

static const char *status_phrase(unsigned status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden by Cordon"; /* some clients show this and not the body */
	case 407:
		return "Proxy Authentication Required";
	case 417:
		return "Expectation Failed";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Gateway";
	}
}

uint8_t refusal_socks_reply(enum proxy_reason reason)
{
	if (proxy_is_denial(reason) || reason == PROXY_BAD_TOKEN)
		return 2; /* connection not allowed by ruleset */
	if (reason == PROXY_FAILED_UNREACHABLE)
		/* network unreachable, so that clients don't show it as a failed look-up */
		return 3;
	if (reason == PROXY_FAILED_LOOKUP)
		return 4; /* host unreachable, which clients show as "can't resolve" */
	if (reason == PROXY_FAILED_REFUSED)
		return 5;
	return reason == PROXY_FAILED_TIMEOUT ? 6 : 1;
}

int refusal_errno(enum proxy_reason reason)
{
	if (reason == PROXY_ALLOWED)
		return 0;
	if (reason == PROXY_FAILED_LOOKUP || reason == PROXY_FAILED_UNREACHABLE)
		return EHOSTUNREACH;
	if (reason == PROXY_FAILED_TIMEOUT)
		return ETIMEDOUT;
	if (reason == PROXY_FAILED_RESOURCES)
		return ENOBUFS;
	if (reason == PROXY_FAILED_REFUSED || reason == PROXY_FAILED_UPSTREAM ||
	    reason == PROXY_FAILED_RESPONSE)
		return ECONNREFUSED;
	return EACCES;
}

/* ---- Pieces of the text --------------------------------------------------------------- */

static void add_shown(struct buf *b, struct str text)
{
	char shown[SHOWN_BYTES];

	buf_add_text(b, utf8_show(text, shown, sizeof(shown)));
}

/* Writes the host as a rule names it; IPv6 in brackets if a port follows. */
static void add_host(struct buf *b, const struct target *t, bool with_port)
{
	bool brackets = with_port && t->is_ip && !ip_is_v4(&t->ip);

	if (brackets)
		buf_add_char(b, '[');
	add_shown(b, str_of(t->name));
	if (brackets)
		buf_add_char(b, ']');
	if (with_port)
		buf_printf(b, ":%u", (unsigned)t->port);
}

static void add_what(struct buf *b, const struct refusal *r)
{
	if (r->target)
		add_host(b, r->target, r->target->port != 0);
	else
		buf_add_text(b, "the request");
}

static void add_place(struct buf *b, const struct judgement *j)
{
	char shown[PROXY_FILE_BYTES];

	if (!j->rule_file[0])
		return;
	buf_printf(b, " (%s", utf8_show(str_of(j->rule_file), shown, sizeof(shown)));
	if (j->rule_line)
		buf_printf(b, ":%u", (unsigned)j->rule_line);
	buf_add_char(b, ')');
}

/* Quotes a pattern. A line of a file (mode = "limited") has its own quotes. */
static void add_rule(struct buf *b, const struct judgement *j)
{
	const char *quote;

	if (!j || !j->rule[0])
		return;
	quote = strchr(j->rule, '"') ? "" : "\"";
	buf_printf(b, " %s", quote);
	add_shown(b, str_of(j->rule));
	buf_add_text(b, quote);
	add_place(b, j);
}

/* ---- How to allow it --------------------------------------------------------------------- */

/* The value for a rule: has the port only if it is not a usual one. */
static void add_pattern(struct buf *b, const struct refusal *r)
{
	const struct target *t = r->target;
	bool with_port = t->port != 0 && t->port != 80 && t->port != 443;

	if (!r->address) {
		add_host(b, t, with_port);
		return;
	}
	if (with_port && !ip_is_v4(r->address))
		buf_add_char(b, '[');
	ip_print(b, r->address);
	if (with_port && !ip_is_v4(r->address))
		buf_add_char(b, ']');
	if (with_port)
		buf_printf(b, ":%u", (unsigned)t->port);
}

static void add_entry(struct buf *b, const struct rule_place *place)
{
	buf_printf(b, "%s\"", place->prefix);
}

static void add_allow_host(struct buf *b, const struct refusal *r)
{
	/* P13: a rule for a loopback name must also name these two addresses. */
	bool needs_both = r->reason == PROXY_DENIED_PRIVATE && !r->address && !r->target->is_ip;
	const struct rule_place *place = r->judgement ? r->judgement->place : NULL;

	buf_add_text(b, "--allow-host ");
	add_pattern(b, r);
	if (needs_both)
		buf_add_text(b, " --allow-host 127.0.0.1 --allow-host ::1");
	if (!place || !place->words[0])
		return;
	buf_add_text(b, ", or ");
	add_entry(b, place);
	add_pattern(b, r);
	buf_add_text(b, "\" = \"allow\"");
	if (needs_both) {
		buf_add_text(b, ", ");
		add_entry(b, place);
		buf_add_text(b, "127.0.0.1\" = \"allow\" and ");
		add_entry(b, place);
		buf_add_text(b, "::1\" = \"allow\"");
	}
	buf_add_text(b, place->words);
}

/* "" if nothing would allow it. */
static void add_way(struct buf *b, const struct refusal *r)
{
	const struct judgement *j = r->judgement;

	switch ((uint32_t)r->reason) {
	case PROXY_DENIED_RULE:
		buf_add_text(b, "take away the deny rule");
		add_rule(b, j);
		break;
	case PROXY_DENIED_METHOD:
	case PROXY_DENIED_TUNNEL:
		buf_add_text(b, "mode = \"full\"");
		if (j && j->rule[0])
			buf_add_text(b, " in place of");
		add_rule(b, j);
		break;
	case PROXY_DENIED_PRIVATE:
	case PROXY_DENIED_UNLISTED:
	case PROXY_DENIED_ASKED:
	case PROXY_DENIED_HELLO:
		if (j && j->reason == PROXY_DENIED_RULE) {
			buf_add_text(b, "take away the deny rule");
			add_rule(b, j);
		} else if (r->target) {
			add_allow_host(b, r);
		}
		break;
	default:
		break;
	}
}

/* ---- Why ------------------------------------------------------------------------------------ */

static void add_private(struct buf *b, const struct refusal *r)
{
	if (r->address) {
		buf_add_text(b, " resolves to ");
		ip_print(b, r->address);
		buf_add_text(b, ", which is not a public address and has no rule of its own");
	} else if (r->target && !r->target->is_ip) {
		buf_add_text(b, " is this host itself, which needs rules for name and address");
	} else {
		buf_add_text(b, " is not a public address and has no rule of its own");
	}
}

static void add_denial(struct buf *b, const struct refusal *r)
{
	const struct judgement *j = r->judgement;

	switch ((uint32_t)r->reason) {
	case PROXY_DENIED_RULE:
		if (r->address) {
			buf_add_text(b, " resolves to ");
			ip_print(b, r->address);
			buf_add_text(b, ", which");
		}
		buf_add_text(b, " is denied by the rule");
		add_rule(b, j);
		break;
	case PROXY_DENIED_PRIVATE:
		add_private(b, r);
		break;
	case PROXY_DENIED_ASKED:
		buf_add_text(b, " was not approved");
		break;
	case PROXY_DENIED_METHOD:
		buf_add_text(b, " may not be sent ");
		add_shown(b, r->method);
		buf_add_text(b, ": only GET, HEAD and OPTIONS pass with");
		add_rule(b, j);
		break;
	case PROXY_DENIED_TUNNEL:
		buf_add_text(b, " may not be tunnelled to: what is inside can't be seen, with");
		add_rule(b, j);
		break;
	case PROXY_DENIED_HELLO:
		buf_add_text(b, ", the server name in the TLS hello, is not allowed");
		if (j && j->reason == PROXY_DENIED_RULE) {
			buf_add_text(b, " by the rule");
			add_rule(b, j);
		}
		break;
	default:
		buf_add_text(b, " is not allowed by any rule");
		if (j && j->profile[0]) {
			buf_add_text(b, " of profile ");
			add_shown(b, str_of(j->profile));
		}
		if (j)
			add_place(b, j);
		break;
	}
}

/* Three failures, which a person mends in three ways. */
static const char *lookup_words(int os_error)
{
	if (os_error == ENOENT)
		return " is allowed, but there is no such name (DNS)";
	if (os_error == ENODATA)
		return " is allowed, but the name has no address (DNS)";
	if (os_error == EAGAIN || os_error == ETIMEDOUT)
		return " is allowed, but the name servers of this host do not answer for it (DNS)";
	return " is allowed, but the name could not be resolved (DNS)";
}

static const char *failure_words(const struct refusal *r)
{
	switch ((uint32_t)r->reason) {
	case PROXY_FAILED_LOOKUP:
		return lookup_words(r->os_error);
	case PROXY_FAILED_REFUSED:
		return " is allowed, but refused the connection: nothing listens there";
	case PROXY_FAILED_UNREACHABLE:
		return " is allowed, but could not be reached";
	case PROXY_FAILED_TIMEOUT:
		return " is allowed, but did not answer in time";
	case PROXY_FAILED_UPSTREAM:
		return " is allowed, but the upstream proxy did not connect to it";
	case PROXY_FAILED_RESPONSE:
		return " is allowed, but what it answered is no valid HTTP";
	case PROXY_FAILED_RESOURCES:
		if (r->os_error == EADDRINUSE)
			return " is allowed, but on that port the command itself listens, at "
			       "every address";
		return ": the proxy has no room for it now; try again";
	case PROXY_BAD_TOKEN:
		return " needs the token of this proxy, as the password of proxy authentication";
	default:
		return " is malformed and was not passed on";
	}
}

void refusal_why(const struct refusal *r, struct buf *out)
{
	/* The request itself is malformed, wherever it was to go. */
	if (r->reason == PROXY_BAD_REQUEST)
		buf_add_text(out, "the request");
	else
		add_what(out, r);
	if (proxy_is_denial(r->reason))
		add_denial(out, r);
	else
		buf_add_text(out, failure_words(r));
	/* Errnos end below 200, HTTP statuses begin there. */
	if (r->reason == PROXY_FAILED_UPSTREAM && r->os_error >= 200)
		buf_printf(out, " (its status: %d)", r->os_error);
}

void refusal_way(const struct refusal *r, struct buf *out)
{
	add_way(out, r);
}

bool refusal_allow_host(const struct refusal *r, struct buf *out)
{
	bool is_by_name = r->reason == PROXY_DENIED_UNLISTED || r->reason == PROXY_DENIED_ASKED ||
			  r->reason == PROXY_DENIED_HELLO;
	bool is_by_address = r->reason == PROXY_DENIED_PRIVATE && r->target &&
			     (r->address || r->target->is_ip);

	if (!r->target || (!is_by_name && !is_by_address) ||
	    (r->judgement && r->judgement->reason == PROXY_DENIED_RULE))
		return false;
	add_pattern(out, r);
	return out->failed == ERR_OK;
}

void refusal_text(const struct refusal *r, struct buf *out)
{
	char text[REFUSAL_TEXT_BYTES], way[REFUSAL_TEXT_BYTES / 2];
	struct buf b = BUF_OVER(text), w = BUF_OVER(way);

	buf_add_text(&b, proxy_is_denial(r->reason) ? "blocked: " : "failed: ");
	refusal_why(r, &b);
	if (r->detail.len) {
		buf_add_text(&b, ": ");
		add_shown(&b, r->detail);
	}
	add_way(&w, r);
	if (w.len && w.failed == ERR_OK) {
		buf_add_text(&b, "; to allow it: ");
		buf_add(&b, buf_str(&w));
	}
	/* If the text is cut, at a whole character, it loses how to allow it, and not why. */
	size_t room = out->max - out->len;
	while (room < b.len && room > 0 && ((unsigned char)b.p[room] & 0xC0) == 0x80)
		room--;
	buf_add(out, str_first(buf_str(&b), room));
}

/* ---- The whole answer ------------------------------------------------------------------------- */

static const char *status_word(enum proxy_reason reason)
{
	if (proxy_is_denial(reason))
		return "blocked";
	return reason >= PROXY_BAD_REQUEST ? "invalid" : "failed";
}

static void add_place_members(struct json_writer *w, const struct judgement *j)
{
	json_key(w, "rule");
	if (!j || !j->rule[0])
		json_add_null(w);
	else
		json_add_text(w, j->rule);
	json_key(w, "file");
	if (!j || !j->rule_file[0])
		json_add_null(w);
	else
		json_add_text(w, j->rule_file);
	json_key(w, "line");
	if (!j || !j->rule_line)
		json_add_null(w);
	else
		json_add_int(w, j->rule_line);
}

static void add_json(struct buf *out, const struct refusal *r, struct str message)
{
	struct json_writer w = JSON_LINE_INIT(out);
	char way[REFUSAL_TEXT_BYTES / 2];
	struct buf allow = BUF_OVER(way);

	add_way(&allow, r);
	json_begin_object(&w);
	json_key(&w, "status");
	json_add_text(&w, status_word(r->reason));
	json_key(&w, "host");
	if (r->target)
		json_add_text(&w, r->target->name);
	else
		json_add_null(&w);
	json_key(&w, "port");
	if (r->target && r->target->port)
		json_add_int(&w, r->target->port);
	else
		json_add_null(&w);
	json_key(&w, "reason");
	json_add_text(&w, proxy_reason_name(r->reason));
	json_key(&w, "code");
	json_add_text(&w, refusal_code(r->reason));
	add_place_members(&w, r->judgement);
	json_key(&w, "message");
	json_add_str(&w, message);
	json_key(&w, "allow");
	if (allow.len && allow.failed == ERR_OK)
		json_add_str(&w, buf_str(&allow));
	else
		json_add_null(&w);
	json_end_object(&w);
}

void refusal_answer(const struct refusal *r, bool wants_json, bool is_head, bool closes,
		    struct buf *out)
{
	unsigned status = r->status ? r->status : refusal_status(r->reason);
	char text[REFUSAL_TEXT_BYTES];
	UNINITIALIZED char body_text[BODY_BYTES];
	struct buf message = BUF_OVER(text), body = BUF_OVER(body_text);

	refusal_text(r, &message);
	if (wants_json)
		add_json(&body, r, buf_str(&message));
	/* Escapes can make a JSON text very long; then the answer is text. */
	if (!wants_json || body.failed != ERR_OK) {
		wants_json = false;
		buf_clear(&body);
		buf_add(&body, buf_str(&message));
		buf_add_char(&body, '\n');
	}
	buf_printf(out, "HTTP/1.1 %u %s\r\nx-proxy-error: %s\r\n", status, status_phrase(status),
		   refusal_code(r->reason));
	if (status == 407)
		buf_add_text(out, "proxy-authenticate: Basic realm=\"cordon\"\r\n");
	buf_printf(out, "content-type: %s\r\ncache-control: no-store\r\ncontent-length: %zu\r\n",
		   wants_json ? "application/json" : "text/plain; charset=utf-8", body.len);
	if (closes)
		buf_add_text(out, "connection: close\r\n");
	buf_add_text(out, "\r\n");
	if (!is_head)
		buf_add(out, buf_str(&body));
}
