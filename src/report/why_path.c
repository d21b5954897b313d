/* SPDX-License-Identifier: MIT */
/* cordon_why_path(): the answer for a path, and everything that led to it. */
#include "lib/lib.h"
#include "report/inside.h"
#include "report/report.h"
#include "report/rules.h"
#include "report/suggestion.h"
#include "report/why_socket.h"

struct why_path {
	const struct cordon_policy *policy;
	struct str asked; /* as it was written */
	struct located located;
	struct verdict verdict;
	rule_trace trace;
	struct inside inside;
	struct why_socket socket;
	uint32_t ask;
	enum access wanted; /* of the change, or more where that much can't be had alone */
	struct lazy_change *lazy;
};

/*
 * Where a deny stands inside something writable, taking it out may be the only
 * edit: then what is asked for comes with more.
 */
static const struct change *find_change(const struct why_path *y, enum access *wanted)
{
	const struct cordon_policy *policy = y->policy;
	struct lazy_change *lazy = y->lazy;
	struct err e = ERR_INIT;

	if (!lazy->is_known && y->inside.ignores[y->wanted]) {
		lazy->wanted = (uint32_t)y->wanted;
		lazy->change =
			(struct change){ .why_not = STR("no entry changes what is there inside") };
		lazy->is_known = true;
	}
	if (!lazy->is_known) {
		int status = plan_suggest_path(lazy->a, &policy->plan_inputs, policy->plan,
					       y->located.path, y->wanted, &lazy->change, &e);

		lazy->wanted = (uint32_t)y->wanted;
		if (status == 0 && !lazy->change.is_possible && y->wanted == ACCESS_READ &&
		    y->verdict.access == ACCESS_DENY) {
			struct change more;

			status = plan_suggest_path(lazy->a, &policy->plan_inputs, policy->plan,
						   y->located.path, ACCESS_WRITE, &more, &e);
			if (status == 0 && more.is_possible) {
				lazy->change = more;
				lazy->wanted = ACCESS_WRITE;
			}
		}
		if (!lazy_change_set(lazy, status, &e))
			return NULL;
	}
	*wanted = (enum access)lazy->wanted;
	return &lazy->change;
}

/* A socket is there to be connected to: unless something else is asked, that is the question. */
static bool is_about_connecting(const struct why_path *y)
{
	return y->socket.is_one && !y->ask && y->verdict.access != ACCESS_DENY;
}

static bool is_yes(const struct why_path *y)
{
	if (is_about_connecting(y))
		return y->socket.verdict.decision == DECISION_ALLOW;
	return (uint32_t)y->verdict.access >= y->ask;
}

/* The other answer: more when it is refused, less when it is allowed. */
static enum access other_answer(enum access access, uint32_t ask)
{
	if (ask)
		return (uint32_t)access >= ask ? (enum access)(ask - 1) : (enum access)ask;
	switch (access) {
	case ACCESS_DENY:
		return ACCESS_READ;
	case ACCESS_READ:
		return ACCESS_WRITE;
	case ACCESS_WRITE:
		break;
	}
	return ACCESS_READ;
}

/* What -q prints. */
static const char *brief_answer(const struct why_path *y)
{
	if (is_about_connecting(y))
		return decision_name(y->socket.verdict.decision);
	if (y->ask)
		return is_yes(y) ? "yes" : "no";
	return access_name(y->verdict.access);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct why_path *y = data;
	const struct plan *plan = y->policy->plan;
	enum access wanted = y->wanted;
	const struct change *change = is_about_connecting(y) ? NULL : find_change(y, &wanted);

	json_begin_object(w);
	json_text(w, "kind", "path");
	json_str(w, "asked", y->asked);
	json_str(w, "path", y->located.path);
	json_text(w, "type", host_type_name(y->located.type));
	json_str_or_null(w, "via_link", y->located.via_link);
	json_bool(w, "crossed_links", y->located.crossed_links);
	json_text(w, "access", access_name(y->verdict.access));
	json_str_or_null(w, "inside", y->inside.text);
	if (y->ask) {
		json_text(w, "question", access_name((enum access)y->ask));
		json_bool(w, "answer", is_yes(y));
	}
	json_str(w, "profile", plan->policy->profile->name);
	json_key(w, "rule");
	json_rule(w, plan, y->verdict.rule);
	json_key(w, "lost");
	json_begin_array(w);
	for (size_t i = 0; i < y->trace.count; i++)
		if (y->trace.items[i] != y->verdict.rule)
			json_rule(w, plan, y->trace.items[i]);
	json_end_array(w);
	why_socket_json(w, &y->socket, plan, y->located.path);
	if (is_about_connecting(y)) {
		why_socket_json_suggestions(w, &y->socket);
	} else {
		json_wanted(w, change, access_name(wanted));
		json_key(w, "suggestions");
		json_begin_array(w);
		json_config_suggestion(w, change);
		json_end_array(w);
	}
	json_notes(w, y->policy, true);
	json_end_object(w);
}

static int answer(cordon_report *report, const cordon_policy *policy, struct str path, uint32_t ask,
		  struct err *e)
{
	struct arena *a = &report->arena;
	struct why_path *y = ARENA_NEW(a, struct why_path, e);
	struct str subject;

	if (!y || arena_copy(a, path, &y->asked, e) < 0 ||
	    load_subject(a, policy, y->asked, &subject, e) < 0 ||
	    load_reach(a, policy, subject, &y->located, e) < 0 ||
	    plan_trace(a, policy->plan, y->located.path, &y->verdict, &y->trace, e) < 0 ||
	    inside_find(a, policy->plan, y->located.path, &y->verdict, &y->inside, e) < 0)
		return err_result(e);
	if (why_socket_find(a, policy, &y->located, &y->socket, e) < 0)
		return err_result(e);
	y->policy = policy;
	y->ask = ask;
	y->wanted = other_answer(y->verdict.access, ask);
	y->lazy = ARENA_NEW(a, struct lazy_change, e);
	if (!y->lazy)
		return err_result(e);
	y->lazy->a = a;
	report->error_count = !is_yes(y) ||
			      (y->verdict.access == ACCESS_DENY && !is_about_connecting(y));
	report->policy = load_share(policy);
	report->home = policy->plan_inputs.places.home;
	report->data = y;
	report->render = why_render;
	report->brief = brief_answer(y);
	report->schema = "why/1";
	report->describe = print_json;
	return 0;
}

int cordon_why_path(const cordon_policy *policy, const char *path, size_t length, uint32_t ask,
		    cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!policy || !path || !report || ask > CORDON_ASK_WRITE)
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_why_path was called with a NULL or an unknown question");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (answer(r, policy, (struct str){ path, length }, ask, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
