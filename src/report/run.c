/* SPDX-License-Identifier: MIT */
/* A run in words, for people and for programs. The keys are part of the interface. */
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"
#include "lib/run.h"
#include "plan/net.h"
#include "report/explain.h"

enum {
	FIELD_WIDTH = 12,
	SHOWN_MAX = 20, /* of one kind on a page; the others are counted */
};

/* ---- For people ------------------------------------------------------------------------- */

static void field(struct page *p, const char *name)
{
	page_style(p, STYLE_TITLE, "%-*s", FIELD_WIDTH, name);
}

/* Where it is not where the command is. */
static void print_workspace(struct page *p, const struct places *places)
{
	if (str_eq(places_workspace(places), places->cwd))
		return;
	field(p, "workspace");
	page_str(p, places_workspace(places));
	page_line(p);
}

static void title(struct page *p, const char *text)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "%s", text);
	page_line(p);
}

static void print_guarantees(struct page *p, const char *name, guarantee_set set)
{
	bool is_first = true;

	if (!set)
		return;
	field(p, name);
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (!(set & GUARANTEE_BIT(g)))
			continue;
		page_text(p, is_first ? "" : ", ");
		page_text(p, guarantee_name((enum guarantee)g));
		is_first = false;
	}
	page_line(p);
}

/* What the command has, not what the policy says: a loss may be between the two. */
bool run_has_managed(const struct run_subject *subject)
{
	const struct outcome *o = subject->outcome;

	return !o->network_is_off && o->is_sandboxed &&
	       net_mode(subject->policy->plan->net) == NET_MANAGED &&
	       !(o->lost & GUARANTEE_BIT(G_NET_MANAGED));
}

static const char *network_name(const struct run_subject *subject)
{
	if (subject->outcome->network_is_off)
		return net_access_name(NET_OFF);
	return net_access_name(run_has_managed(subject) ? NET_MANAGED : NET_FULL);
}

size_t run_placeholder_count(const struct run_subject *subject)
{
	const struct outcome *o = subject->outcome;

	if (!o->is_sandboxed || (o->lost & GUARANTEE_BIT(G_PROTECT_MISSING)))
		return 0;
	return subject->policy->plan->placeholders.count;
}

static void print_withheld(struct page *p, const struct child_environment *env)
{
	field(p, "environment");
	page_printf(p, "%zu passed on, %zu set, %zu withheld", env->inherited,
		    env->count - env->inherited, env->withheld.count);
	for (size_t i = 0; i < env->withheld.count && i < SHOWN_MAX; i++) {
		page_text(p, i ? ", " : ": ");
		page_str(p, env->withheld.items[i]);
	}
	page_text(p, env->withheld.count > SHOWN_MAX ? ", ...\n" : "\n");
}

void run_print_subject(struct page *p, const struct run_subject *subject)
{
	const struct outcome *o = subject->outcome;

	field(p, "command");
	for (size_t i = 0; subject->argv[i]; i++) {
		page_text(p, i ? " " : "");
		page_word(p, str_of(subject->argv[i]));
	}
	page_line(p);
	field(p, "directory");
	page_str(p, subject->policy->plan_inputs.places.cwd);
	page_line(p);
	print_workspace(p, &subject->policy->plan_inputs.places);
	field(p, "profile");
	page_str(p, subject->policy->policy->profile->name);
	page_line(p);
	field(p, "backend");
	page_text(p, o->backend->name);
	if (!o->is_sandboxed)
		page_style(p, STYLE_BAD, "  no sandbox: the command can do all that you can");
	page_line(p);
	print_guarantees(p, "guarantees", o->is_sandboxed ? o->needed & ~o->lost : 0);
	print_guarantees(p, "lost", o->lost);
	field(p, "network");
	page_text(p, network_name(subject));
	page_line(p);
	print_withheld(p, &o->environment);
}

static void print_ending(struct page *p, const struct outcome *o)
{
	field(p, "status");
	page_style(p, o->status == 0 ? STYLE_GOOD : STYLE_BAD, "%d", o->status);
	if (o->exec_error)
		page_text(p, "  it could not be executed");
	if (o->signal)
		page_printf(p, "  killed by signal %d", o->signal);
	if (o->limit)
		page_printf(p, "  by the limit %s", o->limit);
	if (o->was_cancelled)
		page_text(p, "  cancelled");
	page_line(p);
	field(p, "used");
	page_printf(p, "%llu.%03llu s, of the processor %llu.%03llu s, %llu KiB\n",
		    (unsigned long long)(o->duration_ms / 1000),
		    (unsigned long long)(o->duration_ms % 1000),
		    (unsigned long long)(o->cpu_ms / 1000), (unsigned long long)(o->cpu_ms % 1000),
		    (unsigned long long)o->max_rss_kib);
	if (o->was_watched) {
		field(p, "globs");
		page_printf(p, "%llu directories watched, %llu names masked after they appeared",
			    (unsigned long long)o->watch.directories,
			    (unsigned long long)o->watch.masked);
		if (o->watch.missed)
			page_style(p, STYLE_BAD, ", %llu missed",
				   (unsigned long long)o->watch.missed);
		page_line(p);
	}
}

static void print_sums(struct page *p, const struct traffic_sums *sums)
{
	page_printf(p, "%llu allowed, %llu refused, %llu failed, %llu bytes out, %llu in",
		    (unsigned long long)sums->allowed, (unsigned long long)sums->denied,
		    (unsigned long long)sums->failed, (unsigned long long)sums->bytes_up,
		    (unsigned long long)sums->bytes_down);
}

static void print_traffic(struct page *p, const struct outcome *o)
{
	const struct traffic *t = &o->traffic;

	if (!o->network_is_managed || !t->hosts.count)
		return;
	title(p, "through the proxy");
	for (size_t i = 0; i < t->hosts.count && i < SHOWN_MAX; i++) {
		const struct traffic_host *host = &t->hosts.items[i];

		page_text(p, "  ");
		page_str(p, host->name);
		if (host->port)
			page_printf(p, " port %u", (unsigned)host->port);
		page_text(p, ": ");
		print_sums(p, &host->sums);
		if (host->reason && !proxy_is_denial(host->reason))
			page_printf(p, " (%s)", proxy_reason_name(host->reason));
		page_line(p);
	}
	page_text(p, t->hosts.count > SHOWN_MAX || t->unlisted ? "  and others; in all "
							       : "  in all ");
	print_sums(p, &t->sums);
	page_line(p);
}

static void print_git(struct page *p, const struct git_findings *git)
{
	if (git->items.count)
		title(p, "left behind for git");
	for (size_t i = 0; i < git->items.count; i++) {
		const struct git_finding *found = &git->items.items[i];

		page_text(p, found->kind == GIT_FOUND_UNWRITTEN ? "  missing  "
			     : found->is_new			? "  new      "
								: "  changed  ");
		page_str(p, found->path);
		page_printf(p, "  %s\n", git_finding_meaning(found->kind));
	}
	if (git->is_incomplete)
		page_text(p,
			  "\nthe search for git repositories stopped early: there may be more\n");
}

static void print_names(struct page *p, const changed_name_list *list)
{
	if (list->count)
		title(p, "left behind for agents and other programs");
	for (size_t i = 0; i < list->count; i++) {
		page_text(p, list->items[i].is_new ? "  new      " : "  changed  ");
		page_str(p, list->items[i].path);
		page_printf(p, "  %s\n", list->items[i].reason);
	}
}

void run_print_text(struct page *p, const void *data)
{
	const cordon_result *r = data;
	const struct outcome *o = result_outcome(r);
	const struct run_subject subject = { r->policy, o, r->argv };

	if (p->is_brief) {
		page_printf(p, "%d\n", o->status);
		return;
	}
	run_print_subject(p, &subject);
	print_ending(p, o);
	print_traffic(p, o);
	denials_print(p, &o->denials);
	approvals_print(p, &o->approvals);
	escalations_print(p, o);
	print_names(p, &o->names);
	print_git(p, &o->git);
	if (r->callbacks.warnings.count)
		title(p, "warnings");
	for (size_t i = 0; i < r->callbacks.warnings.count; i++) {
		page_text(p, "  ");
		page_str(p, r->callbacks.warnings.items[i]);
		page_line(p);
	}
}

/* ---- For programs ------------------------------------------------------------------------- */

void json_time(struct json_writer *w, const char *key, struct timespec time)
{
	char text[64] = "";
	struct tm tm;
	size_t n = gmtime_r(&time.tv_sec, &tm) ? strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

	(void)snprintf(text + n, sizeof(text) - n, ".%03ldZ", time.tv_nsec / 1000000);
	json_text(w, key, text);
}

static void json_guarantees(struct json_writer *w, const char *key, guarantee_set set)
{
	json_key(w, key);
	json_begin_array(w);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (set & GUARANTEE_BIT(g))
			json_add_text(w, guarantee_name((enum guarantee)g));
	json_end_array(w);
}

static bool is_protected(const struct rule *rule)
{
	return rule->kind == RULE_PROTECTED || rule->kind == RULE_GIT || rule->kind == RULE_OWN;
}

static void json_files(struct json_writer *w, const struct run_subject *subject)
{
	const struct plan *plan = subject->policy->plan;
	size_t count = run_placeholder_count(subject);

	json_key(w, "placeholders");
	json_begin_array(w);
	for (size_t i = 0; i < count; i++)
		json_add_str(w, plan->placeholders.items[i].path);
	json_end_array(w);
	json_key(w, "protected");
	json_begin_array(w);
	for (size_t i = 0; i < plan->regions.count; i++)
		if (is_protected(plan->regions.items[i].rule))
			json_add_str(w, plan->regions.items[i].path);
	json_end_array(w);
	json_number(w, "masked", plan->masked.count);
}

static void json_passed_over(struct json_writer *w, const struct outcome *o)
{
	json_key(w, "passed_over");
	json_begin_array(w);
	for (size_t i = 0; i < o->passed_over_count; i++) {
		json_begin_object(w);
		json_str(w, "name", o->passed_over[i].name);
		json_text(w, "cause", cause_name(o->passed_over[i].cause));
		json_str(w, "reason", o->passed_over[i].reason);
		json_end_object(w);
	}
	json_end_array(w);
}

void run_json_subject(struct json_writer *w, const struct run_subject *subject)
{
	const struct outcome *o = subject->outcome;

	json_key(w, "command");
	json_begin_array(w);
	for (size_t i = 0; subject->argv[i]; i++)
		json_add_str(w, str_of(subject->argv[i]));
	json_end_array(w);
	json_str(w, "directory", subject->policy->plan_inputs.places.cwd);
	json_str(w, "workspace", places_workspace(&subject->policy->plan_inputs.places));
	json_str(w, "profile", subject->policy->policy->profile->name);
	json_text(w, "backend", o->backend->name);
	json_passed_over(w, o);
	json_bool(w, "sandboxed", o->is_sandboxed);
	json_key(w, "guarantees");
	json_begin_object(w);
	json_guarantees(w, "needed", o->needed);
	json_guarantees(w, "given", o->given);
	json_guarantees(w, "lost", o->lost);
	json_end_object(w);
	json_text(w, "network", network_name(subject));
	json_key(w, "environment");
	json_begin_object(w);
	json_number(w, "passed", o->environment.inherited);
	json_number(w, "set", o->environment.count - o->environment.inherited);
	json_number(w, "withheld", o->environment.withheld.count);
	json_strs(w, "names", o->environment.withheld.items, o->environment.withheld.count);
	json_end_object(w);
	json_files(w, subject);
}

static void json_ending(struct json_writer *w, const struct outcome *o)
{
	json_bool(w, "executed", o->has_started);
	json_str_or_null(w, "exec_cause",
			 o->exec_error ? str_of(cause_name(o->exec_cause)) : STR_EMPTY);
	json_int(w, "status", o->status);
	json_int_or_null(w, "signal", o->signal);
	json_bool(w, "timed_out", o->timed_out);
	json_bool(w, "cancelled", o->was_cancelled);
	json_text(w, "limit", o->limit);
	json_number(w, "duration_ms", o->duration_ms);
	json_number(w, "cpu_ms", o->cpu_ms);
	json_number(w, "max_rss_kib", o->max_rss_kib);
	json_number(w, "landlock_abi", o->landlock_abi);
	json_key(w, "watch");
	if (!o->was_watched) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_number(w, "directories", o->watch.directories);
	json_number(w, "masked", o->watch.masked);
	json_number(w, "missed", o->watch.missed);
	json_end_object(w);
}

static void json_sums(struct json_writer *w, const struct traffic_sums *sums)
{
	json_number(w, "allowed", sums->allowed);
	json_number(w, "denied", sums->denied);
	json_number(w, "failed", sums->failed);
	json_number(w, "bytes_up", sums->bytes_up);
	json_number(w, "bytes_down", sums->bytes_down);
}

static void json_host(struct json_writer *w, const struct traffic_host *host)
{
	json_begin_object(w);
	json_str(w, "host", host->name);
	json_int_or_null(w, "port", host->port);
	json_sums(w, &host->sums);
	json_text(w, "reason", host->reason ? proxy_reason_name(host->reason) : NULL);
	json_end_object(w);
}

static void json_traffic(struct json_writer *w, const struct outcome *o)
{
	json_key(w, "traffic");
	if (!o->network_is_managed) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_sums(w, &o->traffic.sums);
	json_number(w, "unlisted", o->traffic.unlisted);
	json_key(w, "hosts");
	json_begin_array(w);
	for (size_t i = 0; i < o->traffic.hosts.count; i++)
		json_host(w, &o->traffic.hosts.items[i]);
	json_end_array(w);
	json_end_object(w);
}

static void json_git(struct json_writer *w, const struct outcome *o)
{
	json_key(w, "git");
	json_begin_object(w);
	json_bool(w, "looked", o->has_looked);
	json_bool(w, "incomplete", o->git.is_incomplete);
	json_key(w, "findings");
	json_begin_array(w);
	for (size_t i = 0; i < o->git.items.count; i++) {
		const struct git_finding *found = &o->git.items.items[i];

		json_begin_object(w);
		json_text(w, "kind", git_finding_name(found->kind));
		json_str(w, "path", found->path);
		json_bool(w, "new", found->is_new);
		json_text(w, "meaning", git_finding_meaning(found->kind));
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

static void json_names(struct json_writer *w, const changed_name_list *list)
{
	json_key(w, "names");
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++) {
		json_begin_object(w);
		json_str(w, "path", list->items[i].path);
		json_bool(w, "new", list->items[i].is_new);
		json_text(w, "reason", list->items[i].reason);
		json_end_object(w);
	}
	json_end_array(w);
}

void run_print_json(struct json_writer *w, const void *data)
{
	const cordon_result *r = data;
	const struct outcome *o = result_outcome(r);
	const struct run_subject subject = { r->policy, o, r->argv };

	json_begin_object(w);
	json_str(w, "run", o->run_id);
	json_time(w, "started", o->started);
	run_json_subject(w, &subject);
	json_ending(w, o);
	json_traffic(w, o);
	denials_print_json(w, r->policy, o);
	approvals_print_json(w, &o->approvals);
	escalations_print_json(w, o);
	json_names(w, &o->names);
	json_git(w, o);
	json_strs(w, "warnings", r->callbacks.warnings.items, r->callbacks.warnings.count);
	json_end_object(w);
}
