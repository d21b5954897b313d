/* SPDX-License-Identifier: MIT */
/* The log of approvals, added up: for `cordon audit --summary` and, as Prometheus text, --metrics. */
#include "base/utf8.h"
#include "lib/lib.h"
#include "report/audit.h"
#include "report/report.h"
#include "session/session.h"

enum { SCRATCH_BYTES = 1 << 18 };

/* ---- Adding up ------------------------------------------------------------------------ */

static void add(uint64_t *sum, uint64_t n)
{
	*sum = n > (uint64_t)INT64_MAX - *sum ? (uint64_t)INT64_MAX : *sum + n;
}

static int add_answer(struct arena *a, struct audit_asked *asked, const struct audit_approval *x,
		      struct err *e)
{
	struct audit_answers *found = NULL;

	for (size_t i = 0; i < asked->answers.count && !found; i++) {
		struct audit_answers *known = &asked->answers.items[i];

		if (known->is_allow == x->is_allow && str_eq(known->kind, x->kind) &&
		    str_eq(known->by, x->by))
			found = known;
	}
	if (!found) {
		found = VEC_PUSH(a, &asked->answers, e);
		if (!found || arena_copy(a, x->kind, &found->kind, e) < 0 ||
		    arena_copy(a, x->by, &found->by, e) < 0)
			return err_result(e);
		found->is_allow = x->is_allow;
	}
	add(&found->count, 1);
	add(x->is_allow ? &asked->allowed : &asked->denied, 1);
	return 0;
}

static int add_tool(struct arena *a, struct audit_asked *asked, const struct audit_approval *x,
		    struct err *e)
{
	struct audit_tool *found = NULL;

	for (size_t i = 0; i < asked->tools.count && !found; i++)
		if (str_eq(asked->tools.items[i].name, x->tool))
			found = &asked->tools.items[i];
	if (!found) {
		found = VEC_PUSH(a, &asked->tools, e);
		if (!found || arena_copy(a, x->tool, &found->name, e) < 0)
			return err_result(e);
	}
#define ADD_SUM(name) add(&found->sums.name, x->tool_sums.name);
	AUDIT_TOOL_SUMS(ADD_SUM)
#undef ADD_SUM
	return 0;
}

static int add_line(struct arena *a, struct audit_asked *asked, const struct audit_approval *x,
		    struct err *e)
{
	if (str_is(x->event, "tool"))
		return add_tool(a, asked, x, e);
	asked->lines++;
	if (str_is(x->event, "answer"))
		return add_answer(a, asked, x, e);
	if (str_is(x->event, "escalation"))
		add(x->is_allow ? &asked->escalated : &asked->not_escalated, 1);
	if (str_is(x->event, "rejected"))
		add(&asked->rejected, 1);
	if (!str_is(x->event, "run"))
		return 0;
	add(&asked->runs, 1);
#define ADD_SUM(name) add(&asked->sums.name, x->sums.name);
	AUDIT_RUN_SUMS(ADD_SUM)
#undef ADD_SUM
	return 0;
}

static bool is_wanted(const struct cordon_audit *audit, const struct audit_approval *x)
{
	bool is_of_run = audit->run.len == 0 || str_eq(audit->run, x->run) ||
			 str_eq(audit->run, str_first(x->run, audit->run.len));

	return is_of_run && x->time_ms >= audit->since_ms &&
	       (!audit->only_denied || (str_is(x->event, "answer") && !x->is_allow));
}

int audit_add_up_asked(struct arena *a, struct cordon_audit *audit, struct audit_asked *out,
		       struct err *e)
{
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	struct audit_reader *reader = NULL;
	struct str line;
	int r;

	*out = (struct audit_asked){ .lines = 0 };
	if (!audit->approvals.len)
		return 0;
	if (audit_reader_open(a, audit->approvals, &reader, e) < 0) {
		if (e->cause != CAUSE_LOG_NOT_FOUND)
			return err_result(e);
		err_clear(e);
		return 0;
	}
	while ((r = audit_reader_next(reader, &line, e)) == 1) {
		struct err why = ERR_INIT;
		struct audit_approval x;

		arena_done(&scratch);
		scratch = (struct arena)ARENA_INIT(SCRATCH_BYTES);
		if (audit_parse_approval(&scratch, line, &x, &why) < 0)
			out->broken++;
		else if (is_wanted(audit, &x) && add_line(a, out, &x, e) < 0)
			r = -1;
		if (r < 0)
			break;
	}
	audit_reader_close(reader);
	return r < 0 ? err_result(e) : 0;
}

/* ---- Text ---------------------------------------------------------------------------- */

static void print_tools(struct page *p, const struct audit_asked *asked)
{
	if (!asked->tools.count)
		return;
	page_line(p);
	page_style(p, STYLE_TITLE, "tools");
	page_line(p);
	for (size_t i = 0; i < asked->tools.count; i++) {
		const struct audit_tool *x = &asked->tools.items[i];

		page_text(p, "  ");
		page_str(p, x->name);
		page_printf(p, ": %llu called, %llu done, %llu failed, %llu refused; ",
			    (unsigned long long)x->sums.calls, (unsigned long long)x->sums.hits,
			    (unsigned long long)x->sums.misses,
			    (unsigned long long)x->sums.denials);
		page_printf(p, "%llu asked about, %llu granted\n",
			    (unsigned long long)x->sums.elevations_asked,
			    (unsigned long long)x->sums.elevations_granted);
	}
}

void audit_print_asked(struct page *p, const struct audit_asked *asked)
{
	const struct audit_run_sums *sums = &asked->sums;

	if (!p->is_brief)
		print_tools(p, asked);
	if (!asked->lines || p->is_brief)
		return;
	page_line(p);
	page_style(p, STYLE_TITLE, "asked about");
	page_line(p);
	for (size_t i = 0; i < asked->answers.count; i++) {
		const struct audit_answers *x = &asked->answers.items[i];

		page_printf(p, "  %llu ", (unsigned long long)x->count);
		page_style(p, x->is_allow ? STYLE_GOOD : STYLE_BAD,
			   x->is_allow ? "allowed" : "denied");
		page_text(p, ": ");
		page_str(p, x->kind);
		page_text(p, ", by ");
		page_str(p, x->by);
		page_line(p);
	}
	if (asked->escalated || asked->not_escalated)
		page_printf(p, "  %llu %s run outside the sandbox that asked, %llu denied\n",
			    (unsigned long long)asked->escalated,
			    asked->escalated == 1 ? "command was" : "commands were",
			    (unsigned long long)asked->not_escalated);
	page_printf(p,
		    "  in %llu %s: %llu answered from earlier decisions, %llu new, %llu over the "
		    "limit of %d a minute, %llu.%03llu s waited; %llu refused in all, asked about "
		    "or not\n",
		    (unsigned long long)asked->runs, asked->runs == 1 ? "run" : "runs",
		    (unsigned long long)sums->cache_hits, (unsigned long long)sums->cache_misses,
		    (unsigned long long)sums->limited, BROKER_PER_MINUTE,
		    (unsigned long long)(sums->held_ms / 1000),
		    (unsigned long long)(sums->held_ms % 1000),
		    (unsigned long long)(sums->denials_path + sums->denials_host +
					 sums->denials_unix_socket));
}

/* ---- JSON ---------------------------------------------------------------------------- */

void audit_json_asked(struct json_writer *w, const struct audit_asked *asked)
{
	json_key(w, "approvals");
	json_begin_object(w);
	json_number(w, "runs", asked->runs);
	json_number(w, "requests", asked->allowed + asked->denied);
	json_number(w, "allowed", asked->allowed);
	json_number(w, "denied", asked->denied);
	json_number(w, "escalated", asked->escalated);
	json_number(w, "not_escalated", asked->not_escalated);
	json_number(w, "rejected", asked->rejected);
	json_number(w, "cache_hits", asked->sums.cache_hits);
	json_number(w, "cache_misses", asked->sums.cache_misses);
	json_number(w, "limited", asked->sums.limited);
	json_number(w, "held_ms", asked->sums.held_ms);
	json_key(w, "denials");
	json_begin_object(w);
	json_number(w, "path", asked->sums.denials_path);
	json_number(w, "host", asked->sums.denials_host);
	json_number(w, "unix_socket", asked->sums.denials_unix_socket);
	json_end_object(w);
	json_key(w, "answers");
	json_begin_array(w);
	for (size_t i = 0; i < asked->answers.count; i++) {
		const struct audit_answers *x = &asked->answers.items[i];

		json_begin_object(w);
		json_str(w, "kind", x->kind);
		json_text(w, "decision", x->is_allow ? "allow" : "deny");
		json_str(w, "by", x->by);
		json_number(w, "count", x->count);
		json_end_object(w);
	}
	json_end_array(w);
	json_number(w, "broken", asked->broken);
	json_end_object(w);
	json_key(w, "tools");
	json_begin_array(w);
	for (size_t i = 0; i < asked->tools.count; i++) {
		const struct audit_tool *x = &asked->tools.items[i];

		json_begin_object(w);
		json_str(w, "tool", x->name);
#define ADD_NUMBER(name) json_number(w, #name, x->sums.name);
		AUDIT_TOOL_SUMS(ADD_NUMBER)
#undef ADD_NUMBER
		json_end_object(w);
	}
	json_end_array(w);
}

/* ---- Prometheus ---------------------------------------------------------------------- */

static void begin(struct buf *out, const char *name, const char *help)
{
	buf_printf(out, "# HELP cordon_%s %s\n# TYPE cordon_%s counter\n", name, help, name);
}

static void add_one(struct buf *out, const char *name, const char *help, uint64_t n)
{
	begin(out, name, help);
	buf_printf(out, "cordon_%s %llu\n", name, (unsigned long long)n);
}

/* What a log says may be anything; in a label only a word is left as it is. */
static void add_label(struct buf *out, struct str value)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.p[i];
		bool is_plain = ascii_is_digit(c) || (c >= 'a' && c <= 'z') ||
				(c >= 'A' && c <= 'Z') || c == '_' || c == '-';

		buf_add_char(out, is_plain ? c : '_');
	}
}

static void add_kind(struct buf *out, const char *kind, uint64_t n)
{
	buf_printf(out, "cordon_denials_total{kind=\"%s\"} %llu\n", kind, (unsigned long long)n);
}

static void add_tool_count(struct buf *out, const struct audit_tool *x, const char *name,
			   const char *label, uint64_t n)
{
	buf_printf(out, "cordon_tool_%s_total{tool=\"", name);
	add_label(out, x->name);
	buf_printf(out, "\",%s\"} %llu\n", label, (unsigned long long)n);
}

static void add_tools(struct buf *out, const struct audit_asked *asked)
{
	begin(out, "tool_calls_total", "Calls of tools, by what came of them.");
	for (size_t i = 0; i < asked->tools.count; i++) {
		const struct audit_tool *x = &asked->tools.items[i];

		add_tool_count(out, x, "calls", "result=\"hit", x->sums.hits);
		add_tool_count(out, x, "calls", "result=\"miss", x->sums.misses);
		add_tool_count(out, x, "calls", "result=\"denial", x->sums.denials);
	}
	begin(out, "tool_elevations_total", "Questions that calls of tools led to, and grants.");
	for (size_t i = 0; i < asked->tools.count; i++) {
		const struct audit_tool *x = &asked->tools.items[i];

		add_tool_count(out, x, "elevations", "event=\"asked", x->sums.elevations_asked);
		add_tool_count(out, x, "elevations", "event=\"granted", x->sums.elevations_granted);
	}
}

void audit_print_metrics(struct buf *out, const struct audit_asked *asked,
			 const int64_t decisions[AUDIT_INVALID + 1])
{
	const struct audit_run_sums *sums = &asked->sums;

	add_one(out, "runs_total", "Runs in which somebody could be asked.", asked->runs);
	begin(out, "denials_total", "Accesses that were refused in those runs.");
	add_kind(out, "path", sums->denials_path);
	add_kind(out, "host", sums->denials_host);
	add_kind(out, "unix_socket", sums->denials_unix_socket);
	begin(out, "requests_total", "Requests for an approval, by their answer.");
	for (size_t i = 0; i < asked->answers.count; i++) {
		const struct audit_answers *x = &asked->answers.items[i];

		buf_add_text(out, "cordon_requests_total{kind=\"");
		add_label(out, x->kind);
		buf_printf(out, "\",decision=\"%s\",by=\"", x->is_allow ? "allow" : "deny");
		add_label(out, x->by);
		buf_printf(out, "\"} %llu\n", (unsigned long long)x->count);
	}
	add_one(out, "grants_total", "Requests that were granted.", asked->allowed);
	add_one(out, "escalations_total", "Commands that were run outside.", asked->escalated);
	add_one(out, "escalations_denied_total", "Commands that were not.", asked->not_escalated);
	add_one(out, "cache_hits_total", "Requests whose answer was known.", sums->cache_hits);
	add_one(out, "cache_misses_total", "Requests whose answer was not known.",
		sums->cache_misses);
	add_one(out, "requests_limited_total", "Requests denied because there were too many.",
		sums->limited);
	add_one(out, "answers_rejected_total", "Answers that changed nothing.", asked->rejected);
	begin(out, "held_seconds_total", "Time in which something waited for an answer.");
	buf_printf(out, "cordon_held_seconds_total %llu.%03llu\n",
		   (unsigned long long)(sums->held_ms / 1000),
		   (unsigned long long)(sums->held_ms % 1000));
	add_tools(out, asked);
	begin(out, "network_decisions_total", "Decisions of the proxy.");
	for (int i = AUDIT_ALLOW; i <= AUDIT_INVALID; i++)
		buf_printf(out, "cordon_network_decisions_total{decision=\"%s\"} %lld\n",
			   audit_decision_name((enum audit_decision)i), (long long)decisions[i]);
}
