/* SPDX-License-Identifier: MIT */
/* --publish, --host-port and --audit: what a run adds to a managed network besides hosts. */
#include <stdio.h>

#include "base/path.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "os/os.h"
#include "plan/net.h"

enum { PORT_MAX = 65535 };

static bool parse_port(struct str text, uint16_t *out)
{
	uint32_t port = 0;

	if (text.len == 0 || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(text.p[i] - '0');
	}
	*out = (uint16_t)port;
	return port > 0 && port <= PORT_MAX;
}

/* Splits at the last ':'; false without one. */
static bool split_last(struct str *head, struct str *tail)
{
	size_t at = head->len;

	while (at > 0 && head->p[at - 1] != ':')
		at--;
	if (at == 0)
		return false;
	*tail = str_from(*head, at);
	*head = str_first(*head, at - 1);
	return true;
}

static bool parse_address(struct str text, struct ip *out)
{
	bool has_brackets = text.len > 2 && text.p[0] == '[' && text.p[text.len - 1] == ']';

	if (has_brackets)
		text = str_first(str_from(text, 1), text.len - 2);
	return ip_parse(text, out) && has_brackets != ip_is_v4(out);
}

static bool parse_publication(struct str text, struct publication *out)
{
	struct str address = text;
	struct str port;
	struct str host_port;

	if (!split_last(&address, &port) || !parse_port(port, &out->port))
		return false;
	if (split_last(&address, &host_port))
		return parse_port(host_port, &out->host_port) &&
		       parse_address(address, &out->address);
	return parse_port(address, &out->host_port) && ip_parse(STR("127.0.0.1"), &out->address);
}

/* Whether the proxy listens on `port` in the sandbox. */
static bool is_proxy_port(uint16_t port)
{
	return port == LAUNCH_PROXY_PORT || port == LAUNCH_NAMES_PORT;
}

/* An array with an item of `bytes` for each of `words`, and their number. */
static void *make_list(struct arena *a, const char *const *words, const char *option, size_t bytes,
		       size_t *count, struct err *e)
{
	for (*count = 0; words && words[*count]; ++*count)
		if (*count == SESSION_MAX_PORTS)
			return FAIL_NULL(e, ERR_LIMIT, "%s is given more than %d times", option,
					 SESSION_MAX_PORTS);
	return arena_array(a, *count + 1, bytes, e);
}

static int read_published(struct arena *a, const char *const *words, struct session_request *out,
			  struct err *e)
{
	struct publication *list =
		make_list(a, words, "--publish", sizeof(*list), &out->published_count, e);
	char shown[64];

	if (!list)
		return err_result(e);
	for (size_t i = 0; i < out->published_count; i++)
		if (!parse_publication(str_of(words[i]), &list[i]))
			return FAIL(
				e, ERR_ARGUMENT,
				"--publish '%s' must be [ADDRESS:]HOSTPORT:PORT, like 8080:80 or "
				"[::1]:8080:80",
				utf8_show(str_of(words[i]), shown, sizeof(shown)));
	out->published = list;
	return 0;
}

static int read_host_ports(struct arena *a, const char *const *words, struct session_request *out,
			   struct err *e)
{
	uint16_t *list =
		make_list(a, words, "--host-port", sizeof(*list), &out->host_port_count, e);
	char shown[64];

	if (!list)
		return err_result(e);
	for (size_t i = 0; i < out->host_port_count; i++) {
		if (!parse_port(str_of(words[i]), &list[i]))
			return FAIL(e, ERR_ARGUMENT, "--host-port '%s' must be a port from 1 to %d",
				    utf8_show(str_of(words[i]), shown, sizeof(shown)), PORT_MAX);
		if (is_proxy_port(list[i]))
			return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
					  "--host-port %u: the proxy listens on this port in the "
					  "sandbox",
					  (unsigned)list[i]);
	}
	out->host_ports = list;
	return 0;
}

/* The command can't listen on these ports; publishing a --host-port would make a loop. */
static int check_published(const struct session_request *in, struct err *e)
{
	for (size_t i = 0; i < in->published_count; i++) {
		unsigned port = in->published[i].port;
		bool is_hosts = false;

		for (size_t j = 0; j < in->host_port_count; j++)
			is_hosts |= in->host_ports[j] == port;
		if (is_hosts || is_proxy_port(in->published[i].port))
			return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
					  "--publish: in the sandbox, port %u belongs to %s", port,
					  is_hosts ? "the host (--host-port)" : "the proxy");
	}
	return 0;
}

static int check_managed(const struct cordon_run_options *run, const cordon_policy *policy,
			 const struct session_request *in, struct err *e)
{
	const char *option = in->published_count ? "--publish" : "--host-port";

	if (!in->published_count && !in->host_port_count && !run->decide_host)
		return 0;
	if (net_mode(policy->plan->net) == NET_MANAGED)
		return 0;
	/* decide_host is never called then, which is no error. */
	if (!in->published_count && !in->host_port_count)
		return 0;
	if (net_mode(policy->plan->net) == NET_OFF) {
		(void)FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				 "%s needs a managed network, but this run's network is off",
				 option);
		err_add_line(e, "a project or the requirements turn it off");
		return err_result(e);
	}
	(void)FAIL_CAUSE(e, CAUSE_OPTION_USELESS,
			 "%s needs a managed network, but this run's network is full", option);
	err_add_line(e, "the command shares the ports of this host: leave %s out", option);
	return err_result(e);
}

/*
 * Connections to a --host-port don't pass the rules for hosts, so check here, once, that no rule
 * denies the port and that the network is not limited (P14).
 */
static int check_host_ports(const struct session_request *in, const struct net *net, struct err *e)
{
	static const struct ip loopbacks[] = { { { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
					       { { [15] = 1 } } };

	if (in->host_port_count && net_is_limited(net))
		return FAIL(e, ERR_POLICY,
			    "--host-port can't be used with mode = \"limited\": Cordon can't "
			    "inspect the "
			    "requests to a port of the host");
	for (size_t i = 0; i < in->host_port_count; i++)
		for (size_t j = 0; j < COUNT_OF(loopbacks); j++) {
			struct net_verdict v =
				net_resolve_address(net, &loopbacks[j], in->host_ports[i]);

			if (v.decision == DECISION_DENY && v.rule)
				return FAIL(e, ERR_POLICY,
					    "--host-port %u: the rule \"%.*s\" denies it (%s:%u)",
					    (unsigned)in->host_ports[i],
					    STR_ARG(v.rule->domain.text),
					    v.origin.file ? v.origin.file : "a rule of this run",
					    v.origin.line);
		}
	return 0;
}

int asked_check_log(struct arena *a, const cordon_policy *policy, const char *option,
		    struct str path, struct err *e)
{
	struct located located;
	struct str directory = path_parent(path);
	char shown[256];

	if (policy->plan->is_unsandboxed)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (load_locate(a, policy, i ? directory : path, &located, e) < 0)
			return err_wrap(e, "%s", option);
		if (plan_resolve(policy->plan, located.path).access != ACCESS_WRITE)
			continue;
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "%s '%s': the command may write there; choose a file that "
				  "it can't change",
				  option, utf8_show(path, shown, sizeof(shown)));
	}
	return 0;
}

static int read_audit(struct arena *a, const char *file, const cordon_policy *policy,
		      struct session_request *out, struct err *e)
{
	if (!file)
		return 0;
	if (!file[0])
		return FAIL(e, ERR_ARGUMENT, "--audit needs a file name");
	if (strcmp(file, "-") == 0)
		return FAIL(e, ERR_ARGUMENT,
			    "--audit can't write to the standard output; './-' is a file of that "
			    "name");
	if (inputs_absolute(a, file, &out->audit_file, e) < 0)
		return err_wrap(e, "--audit");
	return asked_check_log(a, policy, "--audit", out->audit_file, e);
}

/* ---- Options without effect -------------------------------------------------------- */

/* The proxy writes the log, and only a managed network has a proxy. */
static int warn_of_audit(struct arena *a, const struct cordon_run_options *run,
			 enum net_access mode, struct err *e)
{
	const struct origin origin = { .file = "--audit" };
	struct str text;

	if (!run->audit_file || mode == NET_MANAGED)
		return 0;
	if (arena_printf(
		    a, &text, e,
		    "nothing will be logged: the network of this run is %s, and only a managed "
		    "network has a log (use --allow-host PATTERN or --network managed)",
		    mode == NET_OFF ? "off" : "full") < 0)
		return err_result(e);
	return load_warn(run->load, origin, text, e);
}

static bool is_loopback(const struct domain *d)
{
	if (d->kind == DOMAIN_BLOCK)
		return ip_is_loopback(&d->block.first) &&
		       d->block.bits >= (ip_is_v4(&d->block.first) ? 96 + 8 : 128);
	return d->kind != DOMAIN_ANY && hostname_is_localhost(d->name);
}

/* Whether a name is allowed that may resolve to this host, which needs its address allowed (P13). */
static bool allows_names(const struct net_rules *net)
{
	for (size_t i = 0; i < net->rules.count; i++)
		if (net->rules.items[i].is_allow &&
		    net->rules.items[i].domain.kind != DOMAIN_BLOCK &&
		    !is_loopback(&net->rules.items[i].domain))
			return true;
	return false;
}

static bool is_host_port(const struct session_request *in, const struct domain *d)
{
	for (size_t i = 0; i < in->host_port_count; i++)
		if (in->host_ports[i] >= d->port_first && in->host_ports[i] <= d->port_last)
			return true;
	return false;
}

static int warn_of_rule(struct arena *a, const struct cordon_run_options *run,
			const struct net_rule *rule, const char *meaning, struct err *e)
{
	const struct domain *d = &rule->domain;
	char port[16] = "PORT";
	struct str text;

	if (d->port_first && d->port_first == d->port_last)
		(void)snprintf(port, sizeof(port), "%u", (unsigned)d->port_first);
	if (arena_printf(a, &text, e,
			 "in the sandbox, '%.*s' is the sandbox itself, %s; --host-port %s "
			 "connects that port to this host",
			 STR_ARG(d->text), meaning, port) < 0)
		return err_result(e);
	return load_warn(run->load, rule->origin, text, e);
}

/* Programs never ask the proxy for loopback, so no denial would ever show the mistake. */
static int warn_of_loopback(struct arena *a, const struct cordon_run_options *run,
			    const cordon_policy *policy, const struct session_request *in,
			    struct err *e)
{
	const struct net_rules *net = &policy->policy->layers.items[0].net;
	bool has_names = allows_names(net);

	for (size_t i = 0; i < net->rules.count; i++) {
		const struct net_rule *rule = &net->rules.items[i];
		bool may_count = has_names && rule->domain.kind == DOMAIN_BLOCK;

		if (!rule->is_allow || !is_loopback(&rule->domain) ||
		    is_host_port(in, &rule->domain))
			continue;
		/* A rule in a file may be meant for other runs. */
		if (may_count && rule->origin.line)
			continue;
		if (warn_of_rule(a, run, rule,
				 may_count ? "so this rule only affects names that resolve to it"
					   : "so this rule opens nothing on this host",
				 e) < 0)
			return err_result(e);
	}
	return 0;
}

static int warn_of_useless(struct arena *a, const struct cordon_run_options *run,
			   const cordon_policy *policy, const struct session_request *in,
			   struct err *e)
{
	enum net_access mode = net_mode(policy->plan->net);

	if (warn_of_audit(a, run, policy->plan->is_unsandboxed ? NET_FULL : mode, e) < 0)
		return err_result(e);
	return mode == NET_MANAGED ? warn_of_loopback(a, run, policy, in, e) : 0;
}

int asked_network(struct arena *a, const struct cordon_run_options *run,
		  const cordon_policy *policy, struct session_request *out, struct err *e)
{
	out->state_directory = policy->inputs.state_dir;
	if (read_published(a, run->publish, out, e) < 0 ||
	    read_host_ports(a, run->host_ports, out, e) < 0 || check_published(out, e) < 0 ||
	    check_managed(run, policy, out, e) < 0 ||
	    check_host_ports(out, policy->plan->net, e) < 0)
		return err_result(e);
	if (read_audit(a, run->audit_file, policy, out, e) < 0)
		return err_result(e);
	return warn_of_useless(a, run, policy, out, e);
}
