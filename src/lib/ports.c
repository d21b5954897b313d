/* SPDX-License-Identifier: MIT */
/* What a run adds to a managed network besides rules for hosts: ports both ways, and the log. */
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

/* Of those inside. */
static bool is_proxys(uint16_t port)
{
	return port == LAUNCH_PROXY_PORT || port == LAUNCH_NAMES_PORT;
}

static int count_ports(const char *const *words, const char *option, size_t *out, struct err *e)
{
	*out = 0;
	while (words && words[*out])
		if (++*out > SESSION_MAX_PORTS)
			return FAIL(e, ERR_LIMIT, "more than %d of %s", SESSION_MAX_PORTS, option);
	return 0;
}

static int read_published(struct arena *a, const char *const *words, struct session_request *out,
			  struct err *e)
{
	struct publication *list;
	size_t count;
	char shown[64];

	if (count_ports(words, "--publish", &count, e) < 0)
		return err_result(e);
	list = arena_array(a, count + 1, sizeof(*list), e);
	if (!list)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		if (!parse_publication(str_of(words[i]), &list[i]))
			return FAIL(
				e, ERR_ARGUMENT,
				"--publish '%s' is not [ADDRESS:]HOSTPORT:PORT, like 8080:80 or "
				"0.0.0.0:8080:80, with an IPv6 address in brackets",
				utf8_show(str_of(words[i]), shown, sizeof(shown)));
	out->published = list;
	out->published_count = count;
	return 0;
}

static int read_host_ports(struct arena *a, const char *const *words, struct session_request *out,
			   struct err *e)
{
	uint16_t *list;
	size_t count;
	char shown[64];

	if (count_ports(words, "--host-port", &count, e) < 0)
		return err_result(e);
	list = arena_array(a, count + 1, sizeof(*list), e);
	if (!list)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		if (!parse_port(str_of(words[i]), &list[i]))
			return FAIL(e, ERR_ARGUMENT, "--host-port '%s' is no port from 1 to %d",
				    utf8_show(str_of(words[i]), shown, sizeof(shown)), PORT_MAX);
		if (is_proxys(list[i]))
			return FAIL(e, ERR_ARGUMENT,
				    "--host-port %u is taken inside: the proxy listens there",
				    (unsigned)list[i]);
	}
	out->host_ports = list;
	out->host_port_count = count;
	return 0;
}

/* Inside somebody else has these ports: through a host's port it would come back for ever. */
static int check_published(const struct session_request *in, struct err *e)
{
	for (size_t i = 0; i < in->published_count; i++) {
		unsigned port = in->published[i].port;
		bool is_hosts = false;

		for (size_t j = 0; j < in->host_port_count; j++)
			is_hosts |= in->host_ports[j] == port;
		if (is_hosts || is_proxys(in->published[i].port))
			return FAIL(e, ERR_ARGUMENT,
				    "--publish: port %u inside is %s, not the command's", port,
				    is_hosts ? "the host's (--host-port)" : "that of the proxy");
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
	/* Where nothing is neither allowed nor denied, nobody is asked. */
	if (!in->published_count && !in->host_port_count)
		return 0;
	return FAIL(e, ERR_ARGUMENT, "%s needs a managed network, and that of this run is %s; %s",
		    option, net_mode(policy->plan->net) == NET_OFF ? "off" : "full",
		    net_mode(policy->plan->net) == NET_OFF
			    ? "a project or the requirements keep it so"
			    : "the host's ports are those of the command");
}

/*
 * A host's port is opened by its number, and so nobody is asked for it at each connection. What
 * denies it, or what can't be seen into (P14), holds nevertheless.
 */
static int check_host_ports(const struct session_request *in, const struct net *net, struct err *e)
{
	static const struct ip loopbacks[] = { { { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
					       { { [15] = 1 } } };

	if (in->host_port_count && net_is_limited(net))
		return FAIL(
			e, ERR_POLICY,
			"--host-port: the network is limited (P14), and what goes through a port "
			"of the host's can't be seen");
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

/* SECURITY: P25, the log is what tells of the command. */
static int check_audit(struct arena *a, const cordon_policy *policy, struct str path, struct err *e)
{
	struct located located;
	struct str directory = path_parent(path);
	char shown[256];

	for (int i = 0; i < 2; i++) {
		if (load_locate(a, policy, i ? directory : path, &located, e) < 0)
			return err_wrap(e, "--audit");
		if (plan_resolve(policy->plan, located.path).access != ACCESS_WRITE)
			continue;
		return FAIL(e, ERR_ARGUMENT,
			    "--audit '%s': the command could write there; name a file that it "
			    "can't write",
			    utf8_show(path, shown, sizeof(shown)));
	}
	return 0;
}

static int read_audit(struct arena *a, const char *file, const cordon_policy *policy,
		      struct session_request *out, struct err *e)
{
	if (!file)
		return 0;
	if (!file[0])
		return FAIL(e, ERR_ARGUMENT, "--audit names no file");
	if (strcmp(file, "-") == 0)
		return FAIL(
			e, ERR_ARGUMENT,
			"--audit: the log is a file, which several runs can write; './-' is one "
			"of that name");
	if (inputs_absolute(a, file, &out->audit_file, e) < 0)
		return err_wrap(e, "--audit");
	if (policy->plan->is_unsandboxed)
		return 0;
	return check_audit(a, policy, out->audit_file, e);
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
	return read_audit(a, run->audit_file, policy, out, e);
}
