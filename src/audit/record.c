/* SPDX-License-Identifier: MIT */
/* See audit.h. */
#include "audit/audit.h"

#include <time.h>

#include "base/json.h"
#include "base/utf8.h"

/* ---- Writing -------------------------------------------------------------------------- */

static const char *const decisions[] = {
	[AUDIT_ALLOW] = "allow",
	[AUDIT_DENY] = "deny",
	[AUDIT_FAILED] = "failed",
	[AUDIT_INVALID] = "invalid",
};

const char *audit_decision_name(enum audit_decision d)
{
	return decisions[d];
}

static enum audit_decision decision_of(uint32_t reason)
{
	if (reason == PROXY_ALLOWED)
		return AUDIT_ALLOW;
	if (proxy_is_denial(reason))
		return AUDIT_DENY;
	return reason >= PROXY_BAD_REQUEST ? AUDIT_INVALID : AUDIT_FAILED;
}

/* What a field holds: it came over a channel, so its end is looked for, not trusted. */
#define FIELD(array) field((array), sizeof(array))
static struct str field(const char *text, size_t size)
{
	return (struct str){ text, strnlen(text, size) };
}

/*
 * Bytes that are no UTF-8 are shown as such: as JSON has no way to say them, what reads
 * the log strictly would refuse the line.
 */
static void add_text(struct json_writer *w, const char *key, struct str text)
{
	char shown[4 * PROXY_FILE_BYTES + 8];
	struct buf b = BUF_OVER(shown);

	json_key(w, key);
	if (text.len == 0) {
		json_add_null(w);
		return;
	}
	if (utf8_check(text) == text.len) {
		json_add_str(w, text);
		return;
	}
	utf8_add_shown(&b, text);
	json_add_str(w, buf_str(&b));
}

static void add_number(struct json_writer *w, const char *key, uint64_t n)
{
	json_key(w, key);
	json_add_int(w, (int64_t)MIN_OF(n, (uint64_t)INT64_MAX));
}

static void add_number_or_null(struct json_writer *w, const char *key, uint64_t n)
{
	if (n) {
		add_number(w, key, n);
		return;
	}
	json_key(w, key);
	json_add_null(w);
}

void audit_add_time(struct json_writer *w, uint64_t ms)
{
	time_t seconds = (time_t)MIN_OF(ms / 1000, (uint64_t)253402300799); /* the year 9999 */
	struct tm tm;
	char text[64];

	(void)gmtime_r(&seconds, &tm);
	(void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900,
		       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		       (unsigned)(ms % 1000));
	json_key(w, "time");
	json_add_text(w, text);
}

static void add_address(struct json_writer *w, const struct proxy_record *r)
{
	char text[64];
	struct buf b = BUF_OVER(text);

	if (r->has_address)
		ip_print(&b, &r->address);
	add_text(w, "address", buf_str(&b));
}

void audit_print(struct buf *out, struct str run, const struct proxy_record *r)
{
	struct json_writer w = JSON_LINE_INIT(out);

	json_begin_object(&w);
	audit_add_time(&w, r->started_ms);
	add_text(&w, "run", run);
	add_number_or_null(&w, "pid", r->pid > 0 ? (uint64_t)r->pid : 0);
	add_text(&w, "program", FIELD(r->program));
	add_text(&w, "protocol", str_of(proxy_protocol_name(r->protocol)));
	add_text(&w, "host", FIELD(r->host));
	add_number_or_null(&w, "port", r->port);
	add_address(&w, r);
	add_text(&w, "method", FIELD(r->method));
	add_text(&w, "decision", str_of(audit_decision_name(decision_of(r->reason))));
	add_text(&w, "reason", str_of(proxy_reason_name(r->reason)));
	add_text(&w, "code", str_of(proxy_reason_code(r->reason)));
	add_text(&w, "rule", FIELD(r->rule));
	add_text(&w, "file", FIELD(r->rule_file));
	add_number_or_null(&w, "line", r->rule_line);
	add_number(&w, "bytes_up", r->bytes_up);
	add_number(&w, "bytes_down", r->bytes_down);
	add_number(&w, "duration_ms", r->duration_ms);
	add_number(&w, "count", r->count || r->is_open ? r->count : 1);
	add_number_or_null(&w, "connection", r->connection);
	json_key(&w, "open");
	json_add_bool(&w, r->is_open);
	json_end_object(&w);
}

/* ---- Times ------------------------------------------------------------------------------ */

static bool take_number(struct str *text, size_t digits, unsigned most, unsigned *out)
{
	*out = 0;
	if (text->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!ascii_is_digit(text->p[i]))
			return false;
		*out = *out * 10 + (unsigned)(text->p[i] - '0');
	}
	*text = str_from(*text, digits);
	return *out <= most;
}

static bool take_char(struct str *text, char c)
{
	if (text->len == 0 || text->p[0] != c)
		return false;
	*text = str_from(*text, 1);
	return true;
}

/* Days from 1970-01-01 to that date of the Gregorian calendar. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
	/* Years that begin in March end with the day that comes and goes. */
	int64_t y = (int64_t)year - (month <= 2);
	unsigned from_march = (month + 9) % 12;
	int64_t days = 365 * y + y / 4 - y / 100 + y / 400;

	return days + (153 * from_march + 2) / 5 + day - 1 - 719468;
}

/* "T03:04:05", with or without milliseconds, then "Z". */
static bool take_clock(struct str *text, uint64_t *ms)
{
	unsigned hour, minute, second, fraction = 0;

	if (!take_char(text, 'T') || !take_number(text, 2, 23, &hour) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &minute) || !take_char(text, ':') ||
	    !take_number(text, 2, 60, &second))
		return false;
	if (take_char(text, '.') && !take_number(text, 3, 999, &fraction))
		return false;
	*ms = ((hour * 60ull + minute) * 60 + second) * 1000 + fraction;
	return take_char(text, 'Z');
}

bool audit_parse_time(struct str text, uint64_t *out)
{
	unsigned year, month, day;
	uint64_t clock = 0;

	if (!take_number(&text, 4, 9999, &year) || !take_char(&text, '-') ||
	    !take_number(&text, 2, 12, &month) || !take_char(&text, '-') ||
	    !take_number(&text, 2, 31, &day) || year < 1970 || month == 0 || day == 0)
		return false;
	if (text.len > 0 && !take_clock(&text, &clock))
		return false;
	*out = (uint64_t)days_of(year, month, day) * 86400000 + clock;
	return text.len == 0;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int get_text(const struct json *object, const char *name, struct str *out, struct err *e)
{
	const struct json *v = json_find(object, name);

	*out = STR_EMPTY;
	if (v && v->type == JSON_STRING)
		*out = v->string;
	else if (!v || v->type != JSON_NULL)
		return FAIL(e, ERR_SYNTAX, "\"%s\" is not a text", name);
	return 0;
}

static int get_number(const struct json *object, const char *name, int64_t *out, struct err *e)
{
	const struct json *v = json_find(object, name);

	*out = 0;
	if (v && v->type == JSON_INT && v->integer >= 0)
		*out = v->integer;
	else if (!v || v->type != JSON_NULL)
		return FAIL(e, ERR_SYNTAX, "\"%s\" is not a number", name);
	return 0;
}

static int get_decision(const struct json *object, enum audit_decision *out, struct err *e)
{
	struct str name;

	if (get_text(object, "decision", &name, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(decisions); i++)
		if (str_is(name, decisions[i])) {
			*out = (enum audit_decision)i;
			return 0;
		}
	return FAIL(e, ERR_SYNTAX, "\"decision\" is none");
}

/* Lines of before there were connections that are told of twice have neither. */
static int get_connection(const struct json *object, struct audit_entry *out, struct err *e)
{
	const struct json *is_open = json_find(object, "open");

	if (!is_open)
		return 0;
	if (is_open->type != JSON_BOOL)
		return FAIL(e, ERR_SYNTAX, "\"open\" is not true or false");
	out->is_open = is_open->boolean;
	return get_number(object, "connection", &out->connection, e);
}

int audit_parse(struct arena *a, struct str line, struct audit_entry *out, struct err *e)
{
	const struct json *o = json_parse(a, line, e);
	struct audit_entry x = { .text = line };

	if (!o)
		return err_result(e);
	if (get_text(o, "time", &x.time, e) < 0 || get_text(o, "run", &x.run, e) < 0 ||
	    get_number(o, "pid", &x.pid, e) < 0 || get_text(o, "program", &x.program, e) < 0 ||
	    get_text(o, "protocol", &x.protocol, e) < 0 || get_text(o, "host", &x.host, e) < 0 ||
	    get_number(o, "port", &x.port, e) < 0 || get_text(o, "address", &x.address, e) < 0 ||
	    get_text(o, "method", &x.method, e) < 0 || get_decision(o, &x.decision, e) < 0 ||
	    get_text(o, "reason", &x.reason, e) < 0 || get_text(o, "code", &x.code, e) < 0 ||
	    get_text(o, "rule", &x.rule, e) < 0 || get_text(o, "file", &x.file, e) < 0 ||
	    get_number(o, "line", &x.line, e) < 0 ||
	    get_number(o, "bytes_up", &x.bytes_up, e) < 0 ||
	    get_number(o, "bytes_down", &x.bytes_down, e) < 0 ||
	    get_number(o, "duration_ms", &x.duration_ms, e) < 0 ||
	    get_number(o, "count", &x.count, e) < 0 || get_connection(o, &x, e) < 0)
		return err_result(e);
	if (!audit_parse_time(x.time, &x.time_ms))
		return FAIL(e, ERR_SYNTAX, "\"time\" is not a time");
	*out = x;
	return 0;
}
