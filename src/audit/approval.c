/* SPDX-License-Identifier: MIT */
/* The lines of approvals.jsonl; see audit.h. */
#include "audit/audit.h"
#include "base/json.h"
#include "base/utf8.h"
#include "os/times.h"

enum { TEXT_MOST_BYTES = 1024, WORDS_MOST = 16 };

/* Of one line: how much of a text that the command chose fits. */
struct line {
	struct json_writer w;
	size_t most;
};

static void add_text(struct line *l, const char *key, struct str text)
{
	scoped_buf shown = BUF_INIT((size_t)8 * TEXT_MOST_BYTES);
	struct str part = str_first(text, MIN_OF(text.len, l->most));

	if (key)
		json_key(&l->w, key);
	if (!text.len && key) {
		json_add_null(&l->w);
		return;
	}
	utf8_add_shown(&shown, part);
	if (part.len < text.len)
		buf_add_text(&shown, "...");
	json_add_str(&l->w, buf_str(&shown));
}

static void add_number(struct line *l, const char *key, uint64_t n)
{
	json_key(&l->w, key);
	json_add_int(&l->w, (int64_t)MIN_OF(n, (uint64_t)INT64_MAX));
}

static void add_number_or_null(struct line *l, const char *key, uint64_t n)
{
	json_key(&l->w, key);
	if (n)
		json_add_int(&l->w, (int64_t)MIN_OF(n, (uint64_t)INT64_MAX));
	else
		json_add_null(&l->w);
}

static void begin(struct line *l, const struct audit_approvals *of, const char *event)
{
	struct timespec now;

	os_take_start(&now);
	json_begin_object(&l->w);
	audit_add_time(&l->w, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	add_text(l, "run", of->run);
	add_text(l, "session", of->session);
	json_key(&l->w, "event");
	json_add_text(&l->w, event);
}

static void add_words(struct line *l, const struct ask *ask)
{
	json_key(&l->w, "argv");
	json_begin_array(&l->w);
	for (size_t i = 0; i < MIN_OF(ask->argv_count, (size_t)WORDS_MOST); i++)
		add_text(l, NULL, ask->argv[i]);
	if (ask->argv_count > WORDS_MOST)
		json_add_text(&l->w, "...");
	json_end_array(&l->w);
}

static void add_grant(struct line *l, const struct answer *answer)
{
	json_key(&l->w, "grant");
	if (!answer->is_allow) {
		json_add_null(&l->w);
		return;
	}
	json_begin_object(&l->w);
	json_key(&l->w, "kind");
	json_add_text(&l->w, ask_kind_name(answer->grant.kind));
	add_text(l, "subject", answer->grant.subject);
	json_key(&l->w, "dir");
	json_add_bool(&l->w, answer->grant.is_dir);
	json_end_object(&l->w);
}

static void print_answer(struct line *l, const struct audit_approvals *of, const struct ask *ask,
			 const struct answer *answer)
{
	bool is_minutes = answer->is_allow && answer->scope == SCOPE_MINUTES;

	begin(l, of, "answer");
	add_number(l, "id", ask->id);
	add_text(l, "kind", str_of(ask_kind_name(ask->kind)));
	add_text(l, "operation", str_of(operation_name(ask->operation)));
	add_text(l, "subject", ask->subject);
	add_text(l, "named", ask->named);
	add_text(l, "program", ask->program);
	add_number_or_null(l, "pid", ask->pid > 0 ? (uint64_t)ask->pid : 0);
	add_words(l, ask);
	add_text(l, "cwd", ask->cwd);
	add_text(l, "rule", ask->rule);
	add_text(l, "file", ask->origin.file ? str_of(ask->origin.file) : STR_EMPTY);
	add_number_or_null(l, "line", ask->origin.line);
	add_text(l, "reason", ask->reason);
	add_text(l, "decision", answer->is_allow ? STR("allow") : STR("deny"));
	add_text(l, "scope",
		 answer->is_allow ? str_of(grant_scope_name(answer->scope)) : STR_EMPTY);
	add_number_or_null(l, "minutes", is_minutes ? answer->minutes : 0);
	add_grant(l, answer);
	add_text(l, "by", str_of(answer->by));
	add_text(l, "message", answer->message);
	json_end_object(&l->w);
}

/* Long texts are cut until the line fits. */
int audit_add_answer(struct audit *audit, const struct audit_approvals *of, const struct ask *ask,
		     const struct answer *answer, struct err *e)
{
	for (size_t most = TEXT_MOST_BYTES;; most /= 4) {
		UNINITIALIZED char text[AUDIT_LINE_BYTES];
		struct buf out = BUF_OVER(text);
		struct line l = { .w = JSON_LINE_INIT(&out), .most = most };

		print_answer(&l, of, ask, answer);
		if (out.failed == ERR_LIMIT && most > 16)
			continue;
		return buf_check(&out, e) < 0 ? err_result(e)
					      : audit_add_line(audit, buf_str(&out), e);
	}
}

static void print_escalation(struct line *l, const struct audit_approvals *of,
			     const struct audit_escalation *x)
{
	begin(l, of, x->has_ended ? "escalated" : "escalation");
	add_number(l, "id", x->id);
	add_text(l, "kind", str_of(ask_kind_name(ASK_ESCALATE)));
	json_key(&l->w, "argv");
	json_begin_array(&l->w);
	for (size_t i = 0; x->argv[i] && i < ASK_MAX_ARGV; i++)
		add_text(l, NULL, str_of(x->argv[i]));
	json_end_array(&l->w);
	add_text(l, "program", x->program);
	add_text(l, "profile", x->profile);
	add_text(l, "cwd", x->cwd);
	add_text(l, "file", x->rule.file ? str_of(x->rule.file) : STR_EMPTY);
	add_number_or_null(l, "line", x->rule.line);
	add_text(l, "reason", x->reason);
	add_text(l, "decision", x->is_allow ? STR("allow") : STR("deny"));
	add_text(l, "by", str_of(x->by));
	add_text(l, "message", x->message);
	json_key(&l->w, "status");
	if (x->has_ended)
		json_add_int(&l->w, x->status);
	else
		json_add_null(&l->w);
	json_end_object(&l->w);
}

int audit_add_escalation(struct audit *audit, const struct audit_approvals *of,
			 const struct audit_escalation *x, struct err *e)
{
	for (size_t most = TEXT_MOST_BYTES;; most /= 4) {
		UNINITIALIZED char text[AUDIT_LINE_BYTES];
		struct buf out = BUF_OVER(text);
		struct line l = { .w = JSON_LINE_INIT(&out), .most = most };

		print_escalation(&l, of, x);
		if (out.failed == ERR_LIMIT && most > 4)
			continue;
		return buf_check(&out, e) < 0 ? err_result(e)
					      : audit_add_line(audit, buf_str(&out), e);
	}
}

int audit_add_rejected(struct audit *audit, const struct audit_approvals *of, uint64_t id,
		       const char *why, struct err *e)
{
	UNINITIALIZED char text[AUDIT_LINE_BYTES];
	struct buf out = BUF_OVER(text);
	struct line l = { .w = JSON_LINE_INIT(&out), .most = TEXT_MOST_BYTES };

	begin(&l, of, "rejected");
	add_number_or_null(&l, "id", id);
	add_text(&l, "why", str_of(why));
	json_end_object(&l.w);
	return buf_check(&out, e) < 0 ? err_result(e) : audit_add_line(audit, buf_str(&out), e);
}

int audit_add_run(struct audit *audit, const struct audit_approvals *of,
		  const struct audit_run_sums *sums, struct err *e)
{
	UNINITIALIZED char text[AUDIT_LINE_BYTES];
	struct buf out = BUF_OVER(text);
	struct line l = { .w = JSON_LINE_INIT(&out), .most = TEXT_MOST_BYTES };

	begin(&l, of, "run");
#define ADD_SUM(name) add_number(&l, #name, sums->name);
	AUDIT_RUN_SUMS(ADD_SUM)
#undef ADD_SUM
	json_end_object(&l.w);
	return buf_check(&out, e) < 0 ? err_result(e) : audit_add_line(audit, buf_str(&out), e);
}

int audit_add_tool(struct audit *audit, const struct audit_approvals *of, const char *tool,
		   const struct audit_tool_sums *sums, struct err *e)
{
	UNINITIALIZED char text[AUDIT_LINE_BYTES];
	struct buf out = BUF_OVER(text);
	struct line l = { .w = JSON_LINE_INIT(&out), .most = TEXT_MOST_BYTES };

	begin(&l, of, "tool");
	add_text(&l, "tool", str_of(tool));
#define ADD_SUM(name) add_number(&l, #name, sums->name);
	AUDIT_TOOL_SUMS(ADD_SUM)
#undef ADD_SUM
	json_end_object(&l.w);
	return buf_check(&out, e) < 0 ? err_result(e) : audit_add_line(audit, buf_str(&out), e);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static struct str get_text(const struct json *object, const char *name)
{
	const struct json *v = json_find(object, name);

	return v && v->type == JSON_STRING ? v->string : STR_EMPTY;
}

static uint64_t get_number(const struct json *object, const char *name)
{
	const struct json *v = json_find(object, name);

	return v && v->type == JSON_INT && v->integer > 0 ? (uint64_t)v->integer : 0;
}

int audit_parse_approval(struct arena *a, struct str line, struct audit_approval *out,
			 struct err *e)
{
	const struct json *o = json_parse(a, line, e);
	struct audit_approval x = { .text = line };

	if (!o)
		return err_result(e);
	x.time = get_text(o, "time");
	x.run = get_text(o, "run");
	x.event = get_text(o, "event");
	x.kind = get_text(o, "kind");
	x.by = get_text(o, "by");
	x.is_allow = str_is(get_text(o, "decision"), "allow");
#define GET_SUM(name) x.sums.name = get_number(o, #name);
	AUDIT_RUN_SUMS(GET_SUM)
#undef GET_SUM
	x.tool = get_text(o, "tool");
#define GET_SUM(name) x.tool_sums.name = get_number(o, #name);
	AUDIT_TOOL_SUMS(GET_SUM)
#undef GET_SUM
	if (!x.event.len || !audit_parse_time(x.time, &x.time_ms))
		return FAIL(e, ERR_SYNTAX, "this is no line of a log of approvals");
	*out = x;
	return 0;
}
