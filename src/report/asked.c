/* SPDX-License-Identifier: MIT */
/* What was asked during a run, and answered, in its report. The keys are part of the interface. */
#include "lib/run.h"
#include "report/explain.h"

/* ---- For people ------------------------------------------------------------------------- */

static void print_one(struct page *p, const struct approval *x)
{
	page_text(p, "  ");
	page_style(p, x->is_allow ? STYLE_GOOD : STYLE_BAD, x->is_allow ? "yes  " : "no   ");
	page_printf(p, "%s ", ask_kind_words(x->kind));
	page_str(p, x->subject);
	if (x->is_allow && !str_eq(x->grant.subject, x->subject)) {
		page_text(p, ": ");
		page_str(p, x->grant.subject);
	}
	if (x->is_allow && x->scope == SCOPE_MINUTES)
		page_printf(p, ", for %u minutes", (unsigned)x->minutes);
	else if (x->is_allow)
		page_printf(p, ", %s", grant_scope_words(x->scope));
	page_printf(p, " (by %s)", x->by);
	if (x->count > 1)
		page_printf(p, ", %llu times", (unsigned long long)x->count);
	page_line(p);
}

void approvals_print(struct page *p, const struct approval_sums *sums)
{
	if (!sums->was_asking || !sums->counts.requests)
		return;
	page_line(p);
	page_style(p, STYLE_TITLE, "asked");
	page_line(p);
	for (size_t i = 0; i < sums->answers.count; i++)
		print_one(p, &sums->answers.items[i]);
	if (sums->unlisted)
		page_printf(p, "  and %llu more\n", (unsigned long long)sums->unlisted);
}

/* ---- For programs ------------------------------------------------------------------------- */

void grant_print_json(struct json_writer *w, const char *key, const struct grant *grant)
{
	json_key(w, key);
	if (!grant) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_text(w, "kind", ask_kind_name(grant->kind));
	if (grant->kind == ASK_CONNECT)
		json_str(w, "host", grant->subject);
	else if (grant->kind != ASK_ESCALATE)
		json_str(w, "path", grant->subject);
	if (grant->kind == ASK_WRITE)
		json_bool(w, "dir", grant->is_dir);
	json_end_object(w);
}

static void json_scope(struct json_writer *w, const struct approval *x)
{
	json_text(w, "scope", x->is_allow ? grant_scope_name(x->scope) : NULL);
	json_int_or_null(w, "minutes", x->is_allow && x->scope == SCOPE_MINUTES ? x->minutes : 0);
}

static void json_answer(struct json_writer *w, const struct approval *x)
{
	json_begin_object(w);
	json_text(w, "kind", ask_kind_name(x->kind));
	json_text(w, "operation", operation_name(x->operation));
	json_str(w, "subject", x->subject);
	json_str_or_null(w, "program", x->program);
	json_text(w, "decision", x->is_allow ? "allow" : "deny");
	json_scope(w, x);
	grant_print_json(w, "grant", x->is_allow ? &x->grant : NULL);
	json_text(w, "by", x->by);
	json_str_or_null(w, "message", x->message);
	json_number(w, "count", x->count);
	json_end_object(w);
}

static bool is_first_grant(const struct approval_sums *sums, size_t at)
{
	const struct approval *x = &sums->answers.items[at];

	if (!x->is_allow || x->scope == SCOPE_ONCE)
		return false;
	for (size_t i = 0; i < at; i++) {
		const struct approval *before = &sums->answers.items[i];

		if (before->is_allow && before->scope == x->scope &&
		    before->grant.kind == x->grant.kind &&
		    str_eq(before->grant.subject, x->grant.subject))
			return false;
	}
	return true;
}

/* What the run was given for longer than one call, each once. */
static void json_grants(struct json_writer *w, const struct approval_sums *sums)
{
	json_key(w, "grants");
	json_begin_array(w);
	for (size_t i = 0; i < sums->answers.count; i++) {
		const struct approval *x = &sums->answers.items[i];

		if (!is_first_grant(sums, i))
			continue;
		json_begin_object(w);
		grant_print_json(w, "grant", &x->grant);
		json_scope(w, x);
		json_text(w, "by", x->by);
		json_end_object(w);
	}
	json_end_array(w);
}

void approvals_print_json(struct json_writer *w, const struct approval_sums *sums)
{
	const struct broker_counts *counts = &sums->counts;

	json_key(w, "approvals");
	if (!sums->was_asking) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_str_or_null(w, "session", sums->session);
	json_number(w, "requests", counts->requests);
	json_number(w, "allowed", counts->allowed);
	json_number(w, "denied", counts->denied);
	json_number(w, "cache_hits", counts->cache_hits);
	json_number(w, "cache_misses", counts->cache_misses);
	json_number(w, "limited", counts->limited);
	json_number(w, "late", counts->late);
	json_number(w, "wrong", counts->wrong);
	json_number(w, "held_ms", counts->held_ms);
	json_grants(w, sums);
	json_key(w, "answers");
	json_begin_array(w);
	for (size_t i = 0; i < sums->answers.count; i++)
		json_answer(w, &sums->answers.items[i]);
	json_end_array(w);
	json_number(w, "answers_unlisted", sums->unlisted);
	json_end_object(w);
}

/* ---- What was run outside ---------------------------------------------------------------------- */

void escalations_print(struct page *p, const struct outcome *o)
{
	for (size_t i = 0; i < o->escalated.count; i++) {
		const struct escalated *x = &o->escalated.items[i];

		page_printf(p, "%-14s", i ? "" : "outside");
		page_style(p, x->is_allow ? STYLE_GOOD : STYLE_BAD,
			   x->is_allow ? "allowed" : "denied");
		page_text(p, ": ");
		page_str(p, x->command);
		page_printf(p, ", by %s", x->by);
		if (x->profile.len) {
			page_text(p, ", profile ");
			page_str(p, x->profile);
		}
		if (x->status >= 0)
			page_printf(p, ", status %d", x->status);
		page_line(p);
	}
}

void escalations_print_json(struct json_writer *w, const struct outcome *o)
{
	json_key(w, "escalations");
	json_begin_array(w);
	for (size_t i = 0; i < o->escalated.count; i++) {
		const struct escalated *x = &o->escalated.items[i];

		json_begin_object(w);
		json_str(w, "command", x->command);
		json_text(w, "decision", x->is_allow ? "allow" : "deny");
		json_text(w, "by", x->by);
		json_str_or_null(w, "profile", x->profile);
		json_str_or_null(w, "message", x->message);
		json_str_or_null(w, "file", x->file);
		json_int_or_null(w, "line", x->line);
		json_key(w, "status");
		if (x->status >= 0)
			json_add_int(w, x->status);
		else
			json_add_null(w);
		json_end_object(w);
	}
	json_end_array(w);
	json_number(w, "escalations_unlisted", o->escalated_unlisted);
}
