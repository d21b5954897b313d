/* SPDX-License-Identifier: MIT */
/* See why_socket.h. */
#include "report/why_socket.h"

#include "base/path.h"
#include "base/shell.h"
#include "os/os.h"

/* The path of an entry of unix_sockets as the run resolves it; "" when there is no such. */
static int spell(struct arena *a, const struct cordon_policy *policy,
		 const struct net_socket *socket, struct str *out, struct err *e)
{
	struct str home = policy->plan_inputs.places.home;

	*out = socket->path;
	if (!socket->below_home)
		return 0;
	if (!home.len) {
		*out = STR_EMPTY;
		return 0;
	}
	return path_join(a, home, socket->path, out, e);
}

/* An entry may name it by way of a link, as /var/run does. A deny wins. */
static int judge_others(struct arena *a, struct why_socket *y, const struct net_rules *said,
			struct err *e)
{
	const struct cordon_policy *policy = y->policy;

	for (size_t i = 0; i < said->sockets.count; i++) {
		struct located there;
		struct net_verdict v;
		struct str path;

		if (spell(a, policy, &said->sockets.items[i], &path, e) < 0)
			return err_result(e);
		if (!path.len || str_eq(path, y->path))
			continue;
		if (load_locate(a, policy, path, &there, e) < 0) {
			if (e->code == ERR_NOMEM)
				return err_result(e);
			err_clear(e); /* it leads nowhere */
			continue;
		}
		if (!str_eq(there.path, y->path))
			continue;
		v = net_resolve_socket(policy->plan->net, path, policy->plan_inputs.places.home);
		if (v.reason == NET_REASON_RULE &&
		    (y->verdict.reason != NET_REASON_RULE || v.decision == DECISION_DENY))
			y->verdict = v;
	}
	return 0;
}

int why_socket_find(struct arena *a, const struct cordon_policy *policy,
		    const struct located *located, struct why_socket *out, struct err *e)
{
	const struct policy *p = policy->policy;
	struct os_file file;

	*out = (struct why_socket){ .policy = policy, .path = located->path };
	if (located->type != HOST_OTHER)
		return 0;
	if (policy->inputs.view) {
		const struct view_file *seen = view_find(policy->inputs.view, located->path);

		out->is_one = seen && seen->kind == VIEW_SOCKET;
	} else {
		if (os_look(located->path, &file, e) < 0)
			return err_result(e);
		out->is_one = file.is_socket;
	}
	if (!out->is_one)
		return 0;
	out->verdict = net_resolve_socket(policy->plan->net, located->path,
					  policy->plan_inputs.places.home);
	for (size_t i = 0; i < p->layers.count; i++)
		if (judge_others(a, out, &p->layers.items[i].net, e) < 0)
			return err_result(e);
	out->lazy = ARENA_NEW(a, struct lazy_change, e);
	if (!out->lazy)
		return err_result(e);
	out->lazy->a = a;
	return 0;
}

static bool is_allowed(const struct why_socket *y)
{
	return y->verdict.decision == DECISION_ALLOW;
}

static enum decision other_answer(const struct why_socket *y)
{
	return is_allowed(y) ? DECISION_DENY : DECISION_ALLOW;
}

static const struct change *find_change(const struct why_socket *y)
{
	struct err e = ERR_INIT;
	int status;

	if (y->lazy->is_known)
		return &y->lazy->change;
	status = plan_suggest_socket(y->lazy->a, &y->policy->plan_inputs, y->policy->plan, y->path,
				     other_answer(y), &y->lazy->change, &e);
	/* Where the network opens all of them, one is closed as a file. */
	if (status == 0 && !y->lazy->change.is_possible && is_allowed(y))
		status = plan_suggest_path(y->lazy->a, &y->policy->plan_inputs, y->policy->plan,
					   y->path, ACCESS_DENY, &y->lazy->change, &e);
	return lazy_change_set(y->lazy, status, &e);
}

static const char *reason_name(enum net_reason reason)
{
	switch (reason) {
	case NET_REASON_OFF:
		return "network off";
	case NET_REASON_FULL:
		return "network full";
	case NET_REASON_RULE:
		return "unix_sockets";
	case NET_REASON_UNSANDBOXED:
		return "(no sandbox)";
	case NET_REASON_UNMATCHED:
	case NET_REASON_PRIVATE:
		break;
	}
	return "(no entry)";
}

static const char *reason_text(enum net_reason reason)
{
	switch (reason) {
	case NET_REASON_OFF:
		return "no socket of the host can be reached";
	case NET_REASON_FULL:
		return "every socket of the host can be reached";
	case NET_REASON_RULE:
		return "";
	case NET_REASON_UNSANDBOXED:
		return "this profile has no sandbox";
	case NET_REASON_UNMATCHED:
	case NET_REASON_PRIVATE:
		break;
	}
	return "no entry of unix_sockets names it";
}

/* Whether --allow-socket, for one run, would allow it: not over a deny, nor over a layer above. */
static bool has_option(const struct why_socket *y)
{
	return !is_allowed(y) && y->verdict.layer == 0 &&
	       (y->verdict.reason == NET_REASON_OFF || y->verdict.reason == NET_REASON_UNMATCHED);
}

/* Whether it is --network off of this very call, or --full-auto: no file has a say then. */
static bool is_off_by_option(const struct why_socket *y)
{
	const char *file = y->verdict.origin.file;

	return y->verdict.reason == NET_REASON_OFF && file && file[0] == '-';
}

void why_socket_json(struct json_writer *w, const struct why_socket *y, const struct plan *plan,
		     struct str path)
{
	const struct policy *policy = plan->policy;

	json_key(w, "connect");
	if (!y->is_one) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_text(w, "decision", decision_name(y->verdict.decision));
	json_text(w, "kind", reason_name(y->verdict.reason));
	json_text(w, "key", reason_name(y->verdict.reason));
	json_text(w, "note", reason_text(y->verdict.reason));
	json_key(w, "layer");
	if (y->verdict.origin.file && y->verdict.layer < policy->layers.count)
		json_add_str(w, policy->layers.items[y->verdict.layer].name);
	else
		json_add_null(w);
	json_origin(w, &y->verdict.origin);
	json_str(w, "path", path);
	json_end_object(w);
}

void why_socket_json_suggestions(struct json_writer *w, const struct why_socket *y)
{
	const char *const argv[] = { "--allow-socket", y->path.p, NULL };
	static const struct change none = { .is_possible = false };
	const struct change *change = has_option(y) && is_off_by_option(y) ? &none : find_change(y);
	scoped_buf text = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	json_wanted(w, change, decision_name(other_answer(y)));
	json_key(w, "suggestions");
	json_begin_array(w);
	if (has_option(y)) {
		buf_add_text(&text, "--allow-socket ");
		shell_add_word(&text, y->path);
		if (is_off_by_option(y))
			buf_add_text(&text, ", without --network off");
		if (text.failed != ERR_OK)
			json_fail(w, text.failed);
		json_suggestion(w, &(struct suggestion){
					   .scope = "run", .argv = argv, .text = buf_str(&text) });
	}
	json_config_suggestion(w, change);
	json_end_array(w);
}
