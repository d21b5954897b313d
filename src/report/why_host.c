/* SPDX-License-Identifier: MIT */
/* cordon_why_host(): the answer for a host, and everything that led to it. */
#include <stdio.h>

#include "base/hostname.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "plan/net.h"
#include "report/report.h"
#include "report/rules.h"
#include "report/suggestion.h"

struct why_host {
	const struct cordon_policy *policy;
	struct str asked;
	struct hostname host;
	uint16_t port;	  /* 0: none named */
	bool is_file_too; /* the working directory has one of this name */
	struct net_verdict verdict;
	net_trace trace;
	enum decision wanted; /* of the change */
	struct lazy_change *lazy;
};

static const struct change *find_change(const struct why_host *y)
{
	struct lazy_change *lazy = y->lazy;
	struct err e = ERR_INIT;
	int status;

	if (lazy->is_known)
		return &lazy->change;
	status = plan_suggest_host(lazy->a, &y->policy->plan_inputs, y->policy->plan, &y->host,
				   y->port, y->wanted, &lazy->change, &e);
	return lazy_change_set(lazy, status, &e);
}

/* Whether the options of this very call make the network what it is: no file has a say then. */
static bool is_by_option(const struct why_host *y)
{
	const char *file = y->policy->policy->profile->net.access_origin.file;

	return file && file[0] == '-';
}

/* Whether --allow-host, for one run, would allow it. */
static bool has_option(const struct why_host *y)
{
	const struct net_verdict *v = &y->verdict;

	return y->wanted == DECISION_ALLOW && v->layer == 0 &&
	       (v->reason == NET_REASON_OFF || v->reason == NET_REASON_UNMATCHED ||
		v->reason == NET_REASON_PRIVATE);
}

static bool is_loopback(const struct hostname *host)
{
	return host->is_ip ? ip_is_loopback(&host->ip) : hostname_is_localhost(host->name);
}

/* What lets a run reach it; loopback is never asked of the proxy, so no rule does. */
static const char *find_option(const struct why_host *y)
{
	return is_loopback(&y->host) ? "--host-port" : "--allow-host";
}

/* Its value; "PORT" stands for one that the question does not name. */
static void add_value(struct buf *b, const struct why_host *y)
{
	bool has_brackets = y->port && y->host.is_ip && !ip_is_v4(&y->host.ip);

	if (is_loopback(&y->host)) {
		if (y->port)
			buf_printf(b, "%u", (unsigned)y->port);
		else
			buf_add_text(b, "PORT");
		return;
	}
	buf_printf(b, has_brackets ? "[%.*s]" : "%.*s", STR_ARG(y->host.name));
	if (y->port)
		buf_printf(b, ":%u", (unsigned)y->port);
}

static void add_option(struct buf *b, const struct why_host *y)
{
	buf_printf(b, "%s ", find_option(y));
	add_value(b, y);
	if (y->verdict.reason == NET_REASON_OFF && is_by_option(y))
		buf_add_text(b, ", without --network off");
}

static void json_suggestions(struct json_writer *w, const struct why_host *y)
{
	static const struct change none = { .is_possible = false };
	/* Where an option decides, no file has a say. */
	const struct change *change = has_option(y) && is_by_option(y) ? &none : find_change(y);
	char text[512], value[512];
	struct buf t = BUF_OVER(text), v = BUF_OVER(value);

	add_option(&t, y);
	add_value(&v, y);
	json_wanted(w, change, decision_name(y->wanted));
	json_key(w, "suggestions");
	json_begin_array(w);
	if (has_option(y)) {
		const char *const argv[] = { find_option(y), buf_str(&v).p, NULL };
		bool is_whole = y->port || !is_loopback(&y->host);

		json_suggestion(w, &(struct suggestion){ .scope = "run",
							 .argv = is_whole ? argv : NULL,
							 .text = buf_str(&t) });
	}
	json_config_suggestion(w, change);
	json_end_array(w);
}

/* What a rule alone does not tell of a run; or NULL. */
static const char *find_caveat(const struct why_host *y)
{
	const struct net *net = y->policy->plan->net;

	if (y->verdict.reason == NET_REASON_FULL || y->verdict.reason == NET_REASON_UNSANDBOXED)
		return NULL;
	if (is_loopback(&y->host))
		return "inside of a run, loopback is the command's own, whatever the rules say: "
		       "--host-port PORT makes one of its ports this host's";
	if (y->verdict.decision == DECISION_ALLOW && net_is_limited(net))
		return "the mode is limited: GET, HEAD and OPTIONS over plain HTTP, and no TLS";
	return NULL;
}

static const char *reason_name(enum net_reason reason)
{
	static const char *const texts[] = {
		[NET_REASON_OFF] = "off",
		[NET_REASON_FULL] = "full",
		[NET_REASON_RULE] = "rule",
		[NET_REASON_PRIVATE] = "private",
		[NET_REASON_UNMATCHED] = "unmatched",
		[NET_REASON_UNSANDBOXED] = "unsandboxed",
	};

	return texts[reason];
}

static struct str verdict_label(const struct net_verdict *v)
{
	switch (v->reason) {
	case NET_REASON_OFF:
		return STR("network off");
	case NET_REASON_FULL:
		return STR("network full");
	case NET_REASON_PRIVATE:
		return STR("private guard");
	case NET_REASON_UNMATCHED:
		return STR("(no entry)");
	case NET_REASON_UNSANDBOXED:
		return STR("(no sandbox)");
	case NET_REASON_RULE:
		break;
	}
	return v->rule ? v->rule->domain.text : STR("(rule)");
}

static const char *verdict_reason(const struct net_verdict *v)
{
	switch (v->reason) {
	case NET_REASON_OFF:
		return "no host can be reached";
	case NET_REASON_FULL:
		return "every host can be reached";
	case NET_REASON_PRIVATE:
		return "a non-public address needs an entry of its own";
	case NET_REASON_UNMATCHED:
		return "no entry allows it";
	case NET_REASON_UNSANDBOXED:
		return "this profile has no sandbox";
	case NET_REASON_RULE:
		break;
	}
	return "";
}

/* A rule that had a say and is for some ports only, where the question named none; or NULL. */
static const struct net_rule *find_port_rule(const struct why_host *y, size_t at)
{
	const struct net_rule *rule = y->trace.items[at].rule;

	return !y->port && rule && rule->domain.port_first > 0 ? rule : NULL;
}

static void json_ports(struct json_writer *w, const struct why_host *y)
{
	json_key(w, "ports");
	json_begin_array(w);
	for (size_t i = 0; i < y->trace.count; i++) {
		const struct net_rule *rule = find_port_rule(y, i);

		if (!rule)
			continue;
		json_begin_object(w);
		json_int(w, "first", rule->domain.port_first);
		json_int(w, "last", rule->domain.port_last);
		json_text(w, "decision", rule->is_allow ? "allow" : "deny");
		json_str(w, "pattern", rule->domain.text);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_verdict(struct json_writer *w, const struct why_host *y,
			 const struct net_verdict *v)
{
	const struct policy *policy = y->policy->policy;

	json_begin_object(w);
	json_text(w, "kind", reason_name(v->reason));
	json_text(w, "decision", decision_name(v->decision));
	json_key(w, "pattern");
	if (v->rule)
		json_add_str(w, v->rule->domain.text);
	else
		json_add_null(w);
	json_str(w, "key", verdict_label(v));
	json_text(w, "note", verdict_reason(v));
	json_key(w, "layer");
	if (v->origin.file && v->layer < policy->layers.count)
		json_add_str(w, policy->layers.items[v->layer].name);
	else
		json_add_null(w);
	json_origin(w, &v->origin);
	json_end_object(w);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct why_host *y = data;

	json_begin_object(w);
	json_text(w, "kind", "host");
	json_str(w, "asked", y->asked);
	json_str(w, "host", y->host.name);
	json_int_or_null(w, "port", y->port);
	json_text(w, "decision", decision_name(y->verdict.decision));
	json_bool(w, "loopback", is_loopback(&y->host));
	json_bool(w, "is_file_too", y->is_file_too);
	json_ports(w, y);
	json_str(w, "profile", y->policy->policy->profile->name);
	json_key(w, "rule");
	json_verdict(w, y, &y->verdict);
	json_key(w, "lost");
	json_begin_array(w);
	for (size_t i = 1; i < y->trace.count; i++)
		json_verdict(w, y, &y->trace.items[i]);
	json_end_array(w);
	json_suggestions(w, y);
	json_text(w, "caveat", find_caveat(y));
	json_notes(w, y->policy, true);
	json_end_object(w);
}

/* A name without a slash is taken for a host, which may not be what was meant. */
static int find_file(struct arena *a, struct why_host *y, struct err *e)
{
	struct located located;

	if (load_locate(a, y->policy, y->asked, &located, e) < 0) {
		/* A loop of links is a file too; a name that can't be one is none. */
		y->is_file_too = e->code == ERR_POLICY;
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		return 0;
	}
	y->is_file_too = located.type != HOST_MISSING;
	return 0;
}

/* One host, and not what people write beside it, or a pattern. */
static int parse_asked(struct arena *a, struct why_host *y, struct err *e)
{
	struct err as_pattern = ERR_INIT;
	struct domain pattern;
	char shown[128], why[sizeof(e->text)], text[256] = "";
	struct buf hint = BUF_OVER(text);

	if (hostname_parse_port(a, y->asked, &y->host, &y->port, e) == 0)
		return 0;
	if (e->code != ERR_SYNTAX || !y->asked.len)
		return err_result(e);
	(void)utf8_show(y->asked, shown, sizeof(shown));
	if (domain_parse_plain(a, y->asked, &pattern, &as_pattern) == 0)
		return FAIL(e, ERR_SYNTAX,
			    "'%s' is a pattern, and the answer is for one host and port: name one "
			    "that it stands for",
			    shown);
	(void)snprintf(why, sizeof(why), "%s", e->text);
	/* Where a pattern was likely meant, the hint would be one too. */
	if (str_find(y->asked, '*') == y->asked.len && y->asked.p[0] != '.')
		domain_add_hint(&hint, y->asked);
	if (domain_scheme_end(y->asked) < y->asked.len)
		(void)snprintf(why, sizeof(why), "'%s': write the host only, not a URL", shown);
	return FAIL(e, ERR_SYNTAX, "%s%s", why, hint.failed == ERR_OK ? text : "");
}

static int answer(cordon_report *report, const cordon_policy *policy, struct str host,
		  struct err *e)
{
	struct arena *a = &report->arena;
	struct why_host *y = ARENA_NEW(a, struct why_host, e);

	if (!y || arena_copy(a, host, &y->asked, e) < 0 || parse_asked(a, y, e) < 0 ||
	    net_trace_host(a, policy->plan->net, &y->host, y->port, &y->verdict, &y->trace, e) < 0)
		return err_result(e);
	y->policy = policy;
	if (find_file(a, y, e) < 0)
		return err_result(e);
	y->wanted = y->verdict.decision == DECISION_ALLOW ? DECISION_DENY : DECISION_ALLOW;
	y->lazy = ARENA_NEW(a, struct lazy_change, e);
	if (!y->lazy)
		return err_result(e);
	y->lazy->a = a;
	report->error_count = y->verdict.decision != DECISION_ALLOW;
	report->policy = load_share(policy);
	report->home = policy->plan_inputs.places.home;
	report->data = y;
	report->render = why_render;
	report->brief = decision_name(y->verdict.decision);
	report->schema = "why/1";
	report->describe = print_json;
	return 0;
}

int cordon_why_host(const cordon_policy *policy, const char *host, size_t length,
		    cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!policy || !host || !report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_why_host was called with a NULL");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (answer(r, policy, (struct str){ host, length }, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
