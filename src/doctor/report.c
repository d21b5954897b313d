/* SPDX-License-Identifier: MIT */
/* What the doctor found, for people and for programs. The keys are part of the interface. */
#include "doctor/native.h"
#include "report/suggestion.h"

enum { FIELD_WIDTH = 16, LINE_WIDTH = 96 };

/* ---- For people -------------------------------------------------------------------------- */

void report_field(struct page *p, const char *name)
{
	page_text(p, "  ");
	page_printf(p, "%-*s", FIELD_WIDTH, name);
}

static void title(struct page *p, const char *text)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "%s", text);
	page_line(p);
}

/* Words, broken into lines of at most LINE_WIDTH that begin in column `indent`. */
static void wrapped(struct page *p, size_t indent, struct str text)
{
	size_t column = indent;

	while (text.len) {
		struct str word = str_first(text, str_find(text, ' '));

		if (column > indent && column + 1 + word.len > LINE_WIDTH) {
			page_line(p);
			page_printf(p, "%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			page_text(p, " ");
			column++;
		}
		page_str(p, word);
		column += word.len;
		text = str_from(text, word.len + 1);
	}
	page_line(p);
}

static void print_host(struct page *p, const struct host_facts *h)
{
	page_style(p, STYLE_TITLE, "host");
	page_line(p);
	report_field(p, "kernel");
	page_str(p, h->release);
	page_text(p, " ");
	page_str(p, h->machine);
	if (h->wsl)
		page_printf(p, ", WSL%d", h->wsl);
	page_line(p);
	report_field(p, "user");
	page_text(p, h->is_root ? "root\n" : "ordinary\n");
	native_print_host(p, h);
}

static const char *verdict_name(enum probed verdict)
{
	static const char *const texts[] = { [VERDICT_HELD] = "held",
					     [VERDICT_BROKEN] = "broken",
					     [VERDICT_LACKING] = "lacking",
					     [VERDICT_UNTESTED] = "untested" };

	return texts[verdict];
}

static enum style verdict_style(enum probed verdict)
{
	switch (verdict) {
	case VERDICT_HELD:
		return STYLE_GOOD;
	case VERDICT_BROKEN:
		return STYLE_BAD;
	case VERDICT_LACKING:
	case VERDICT_UNTESTED:
		break;
	}
	return STYLE_CAREFUL;
}

static void print_check(struct page *p, enum guarantee g, const struct checked *c)
{
	const char *attempt = doctor_attempt(g);

	report_field(p, guarantee_name(g));
	page_style(p, verdict_style(c->verdict), "%-9s", verdict_name(c->verdict));
	if (c->verdict != VERDICT_HELD)
		wrapped(p, 2 + FIELD_WIDTH + 9, c->reason.text);
	else
		page_printf(p, "tried inside and outside: %s\n", attempt ? attempt : "");
}

/* Nothing was tried, so nothing is known; told from what does not work. */
static const char *describe_failure(const struct examined *x)
{
	return x->checks[0].verdict == VERDICT_UNTESTED ? "was not tried" : "does not work here";
}

static void print_backend(struct page *p, const struct examined *x)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "backend %s  ", x->backend->name);
	if (x->works) {
		page_style(p, STYLE_GOOD, "works");
		page_printf(p, "  (%llu.%llu ms with the probe)\n",
			    (unsigned long long)(x->duration_us / 1000),
			    (unsigned long long)(x->duration_us % 1000 / 100));
	} else {
		page_style(p, STYLE_BAD, "%s", describe_failure(x));
		page_text(p, "\n  ");
		wrapped(p, 2, x->reason.text);
		return;
	}
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		print_check(p, (enum guarantee)g, &x->checks[g]);
}

static void print_advice(struct page *p, const struct diagnosis *d)
{
	if (d->advice.count)
		title(p, "advice");
	for (size_t i = 0; i < d->advice.count; i++) {
		const struct advice *advice = &d->advice.items[i];

		page_text(p, "  ");
		page_style(p, advice->is_needed ? STYLE_BAD : STYLE_CAREFUL, "%-9s",
			   advice->is_needed ? "needed" : "better");
		wrapped(p, 11, advice->what);
		page_printf(p, "%11s", "");
		page_style(p, STYLE_FAINT, "fix: ");
		wrapped(p, 16, advice->fix);
	}
}

/* As 'cordon setup --check' has it. */
static void print_agents(struct page *p, const struct diagnosis *d)
{
	if (d->agents.count)
		title(p, "agents");
	for (size_t i = 0; i < d->agents.count; i++) {
		const struct agent_checked *c = &d->agents.items[i];
		bool is_ok = c->is_proven && !c->problems.count;

		page_printf(p, "  %s (%s)  ", c->title, c->scope);
		page_style(p,
			   !is_ok   ? STYLE_BAD
			   : c->gap ? STYLE_CAREFUL
				    : STYLE_GOOD,
			   "%s",
			   !is_ok   ? "not as it was set up"
			   : c->gap ? "in part"
				    : "ok");
		page_line(p);
		for (size_t k = 0; k < c->problems.count; k++) {
			page_text(p, "    problem: ");
			wrapped(p, 13, c->problems.items[k]);
		}
		if (c->gap) {
			page_text(p, "    not covered: ");
			wrapped(p, 17, str_of(c->gap));
		}
	}
}

static void print_cleaned(struct page *p, const struct diagnosis *d)
{
	if (!d->has_cleaned)
		return;
	title(p, "cleaned");
	for (size_t i = 0; i < d->removed.count; i++) {
		page_text(p, "  removed  ");
		page_str(p, d->removed.items[i]);
		page_line(p);
	}
	for (size_t i = 0; i < d->kept.count; i++) {
		page_text(p, "  in use   ");
		page_str(p, d->kept.items[i]);
		page_line(p);
	}
	if (!d->removed.count)
		page_text(p, "  nothing was left behind\n");
	if (d->clean_is_incomplete)
		page_text(p, "  not everything could be searched: there may be more\n");
}

static void print_usual(struct page *p, const struct tried_default *u)
{
	page_line(p);
	if (!u->profile.len) {
		page_style(p, STYLE_BAD, "No policy can be made: ");
		wrapped(p, 0, u->reason.text);
		return;
	}
	page_text(p, "The profile '");
	page_str(p, u->profile);
	if (u->is_enforced) {
		page_style(p, STYLE_GOOD, "' can be enforced here");
		page_printf(p, ", by %s", u->backend);
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			if (u->lost & GUARANTEE_BIT(g))
				page_style(p, STYLE_CAREFUL, ", without %s (accepted)",
					   guarantee_name((enum guarantee)g));
		page_text(p, ".\n");
		return;
	}
	page_style(p, STYLE_BAD, "' can't be enforced here");
	page_text(p, ":\n  ");
	wrapped(p, 2, u->reason.text);
}

void doctor_print_text(struct page *p, const void *data)
{
	const struct diagnosis *d = data;

	if (p->is_brief) {
		page_text(p, d->usual.is_enforced ? d->usual.backend : "none");
		page_line(p);
		return;
	}
	print_host(p, &d->host);
	for (size_t i = 0; i < d->backends.count; i++)
		print_backend(p, &d->backends.items[i]);
	print_agents(p, d);
	print_advice(p, d);
	print_cleaned(p, d);
	print_usual(p, &d->usual);
}

/* ---- For programs --------------------------------------------------------------------------- */

static void json_guarantees(struct json_writer *w, const char *key, guarantee_set set)
{
	json_key(w, key);
	json_begin_array(w);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (set & GUARANTEE_BIT(g))
			json_add_text(w, guarantee_name((enum guarantee)g));
	json_end_array(w);
}

void report_maybe(struct json_writer *w, const char *key, struct str value)
{
	if (value.len)
		json_str(w, key, value);
	else
		json_text(w, key, NULL);
}

static void json_reason(struct json_writer *w, const struct reason *reason)
{
	json_text(w, "cause", reason->cause == CAUSE_OK ? NULL : cause_name(reason->cause));
	report_maybe(w, "reason", reason->text);
}

void report_switch(struct json_writer *w, const char *key, int64_t value)
{
	if (value == FACT_UNKNOWN)
		json_text(w, key, NULL);
	else
		json_bool(w, key, value != 0);
}

static void json_host(struct json_writer *w, const struct host_facts *h)
{
	json_key(w, "host");
	json_begin_object(w);
	json_str(w, "kernel", h->release);
	json_str(w, "machine", h->machine);
	json_bool(w, "root", h->is_root);
	json_bool(w, "nested", h->is_nested);
	json_text(w, "around", h->around ? h->around->name : NULL);
	if (h->open_files == FACT_UNKNOWN)
		json_text(w, "open_files", NULL);
	else
		json_int(w, "open_files", h->open_files);
	native_json_host(w, h);
	json_key(w, "git");
	json_begin_object(w);
	json_bool(w, "found", h->has_git);
	report_maybe(w, "bare_repository", h->bare_repository);
	json_end_object(w);
	json_end_object(w);
}

static void json_check(struct json_writer *w, enum guarantee g, const struct checked *c)
{
	json_begin_object(w);
	json_text(w, "name", guarantee_name(g));
	json_text(w, "state", verdict_name(c->verdict));
	json_text(w, "probe", doctor_attempt(g));
	json_reason(w, &c->reason);
	json_end_object(w);
}

static void json_backends(struct json_writer *w, const struct diagnosis *d)
{
	json_key(w, "backends");
	json_begin_array(w);
	for (size_t i = 0; i < d->backends.count; i++) {
		const struct examined *x = &d->backends.items[i];

		json_begin_object(w);
		json_text(w, "name", x->backend->name);
		json_bool(w, "works", x->works);
		json_reason(w, &x->reason);
		json_int(w, "duration_us", (int64_t)x->duration_us);
		json_guarantees(w, "held", x->held);
		json_key(w, "guarantees");
		json_begin_array(w);
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			json_check(w, (enum guarantee)g, &x->checks[g]);
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_usual(struct json_writer *w, const struct tried_default *u)
{
	json_key(w, "default");
	json_begin_object(w);
	report_maybe(w, "profile", u->profile);
	json_bool(w, "enforced", u->is_enforced);
	json_text(w, "backend", u->backend);
	json_reason(w, &u->reason);
	json_guarantees(w, "needed", u->needed);
	json_guarantees(w, "lost", u->lost);
	json_end_object(w);
}

static void json_agents(struct json_writer *w, const struct diagnosis *d)
{
	json_key(w, "agents");
	json_begin_array(w);
	for (size_t i = 0; i < d->agents.count; i++) {
		const struct agent_checked *c = &d->agents.items[i];

		json_begin_object(w);
		json_text(w, "name", c->name);
		json_text(w, "scope", c->scope);
		json_bool(w, "covered", c->is_proven && !c->problems.count && !c->gap);
		json_text(w, "gap", c->gap);
		json_strs(w, "problems", c->problems.items, c->problems.count);
		json_end_object(w);
	}
	json_end_array(w);
}

void doctor_print_json(struct json_writer *w, const void *data)
{
	const struct diagnosis *d = data;

	json_begin_object(w);
	json_bool(w, "ok", d->usual.is_enforced);
	json_usual(w, &d->usual);
	json_host(w, &d->host);
	json_backends(w, d);
	json_agents(w, d);
	json_key(w, "advice");
	json_begin_array(w);
	for (size_t i = 0; i < d->advice.count; i++) {
		json_begin_object(w);
		json_text(w, "id", d->advice.items[i].id);
		json_bool(w, "needed", d->advice.items[i].is_needed);
		json_str(w, "what", d->advice.items[i].what);
		json_key(w, "suggestions");
		json_begin_array(w);
		json_suggestion(w, &(struct suggestion){ .scope = "host",
							 .argv = d->advice.items[i].argv,
							 .text = d->advice.items[i].fix });
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "cleaned");
	if (d->has_cleaned) {
		json_begin_object(w);
		json_strs(w, "removed", d->removed.items, d->removed.count);
		json_strs(w, "in_use", d->kept.items, d->kept.count);
		json_bool(w, "incomplete", d->clean_is_incomplete);
		json_end_object(w);
	} else {
		json_add_null(w);
	}
	json_end_object(w);
}
