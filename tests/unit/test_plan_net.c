/* SPDX-License-Identifier: MIT */
/* Tests of plan/net.c and plan/net_table.c: rules P12 to P15. */
#include "plan/net.h"

#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'dev'\n[permissions.dev.network]\n"

static const char host_text[] = "d /repo\nd /home/me\n";

/* The answer for each host of a NULL-terminated list, as "allow deny ask …". */
static const char *answers(struct world *w, const char *const *hosts)
{
	static char text[1024];

	text[0] = '\0';
	for (; *hosts; hosts++) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
			       decision_name(world_host(w, *hosts).decision));
	}
	return text;
}

#define ANSWERS(w, ...) answers((w), (const char *const[]){ __VA_ARGS__, NULL })

/* A world with that `network`, or a failed check. */
static bool start(struct world *w, const char *network)
{
	world_init(w, host_text, "/repo");
	w->user = network;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

TEST(absent_or_disabled_network_is_off)
{
	static const char *const texts[] = {
		"default_permissions = 'dev'\n[permissions.dev]\n",
		PROFILE,
		PROFILE "enabled = false\n",
		PROFILE "enabled = false\ndomains = { 'a.com' = 'allow' }\n",
		PROFILE "domains = { 'a.com' = 'allow' }\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_world w;

		REQUIRE(start(&w, texts[i]));
		CHECK_INT(net_mode(w.plan->net), NET_OFF);
		CHECK_STR(ANSWERS(&w, "a.com", "127.0.0.1", "8.8.8.8"), "deny deny deny");
		CHECK_INT(world_host(&w, "a.com").reason, NET_REASON_OFF);
	}
}

TEST(enabled_alone_is_full)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n"));
	CHECK_INT(net_mode(w.plan->net), NET_FULL);
	CHECK_STR(ANSWERS(&w, "a.com", "127.0.0.1", "localhost"), "allow allow allow");
	CHECK_INT(world_host(&w, "a.com").reason, NET_REASON_FULL);
	CHECK_INT(world_host(&w, "a.com").origin.line, 3);
	CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/x"), STR("/home/me")).decision,
		  DECISION_ALLOW);
}

TEST(any_other_key_makes_it_managed)
{
	static const char *const keys[] = {
		"domains = {}\n",
		"mode = 'full'\n",
		"allow_local_binding = false\n",
		"unix_sockets = {}\n",
	};

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		char text[256];
		scoped_world w;

		(void)snprintf(text, sizeof(text), PROFILE "enabled = true\n%s", keys[i]);
		REQUIRE(start(&w, text));
		CHECK_INT(net_mode(w.plan->net), NET_MANAGED);
		CHECK_STR(ANSWERS(&w, "a.com"), "deny");
		CHECK_INT(world_host(&w, "a.com").reason, NET_REASON_UNMATCHED);
	}
}

TEST(patterns_cover_what_p13_says)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'exact.com' = 'allow'\n'*.sub.com' = 'allow'\n"
				  "'**.both.com' = 'allow'\n"));
	CHECK_STR(ANSWERS(&w, "exact.com", "a.exact.com", "xexact.com"), "allow deny deny");
	CHECK_STR(ANSWERS(&w, "sub.com", "a.sub.com", "b.a.sub.com"), "deny allow allow");
	CHECK_STR(ANSWERS(&w, "both.com", "a.both.com", "xboth.com"), "allow allow deny");
	CHECK_STR(ANSWERS(&w, "EXACT.com.", "8.8.8.8"), "allow deny");
}

TEST(deny_beats_allow_whatever_is_more_specific)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'*' = 'allow'\n'a.evil.com' = 'allow'\n'**.evil.com' = 'deny'\n"
				  "'8.8.0.0/16' = 'deny'\n'8.8.8.8' = 'allow'\n"));
	CHECK_STR(ANSWERS(&w, "evil.com", "a.evil.com", "good.com"), "deny deny allow");
	CHECK_STR(ANSWERS(&w, "8.8.8.8", "8.9.8.8"), "deny allow");
	CHECK_INT(world_host(&w, "a.evil.com").origin.line, 7);
}

TEST(deny_of_an_ipv4_block_holds_for_addresses_that_carry_it)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'*' = 'allow'\n'8.8.8.0/24' = 'deny'\n"));
	CHECK_STR(ANSWERS(&w, "8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
		  "deny deny deny deny");
	CHECK_STR(ANSWERS(&w, "8.8.4.4", "64:ff9b::808:404"), "allow allow");
}

TEST(private_addresses_need_an_allow_of_their_own)
{
	static const char *const hosts[] = {
		"127.0.0.1",	   "10.1.2.3",	     "169.254.169.254",
		"192.168.1.1",	   "100.64.0.1",     "0.0.0.0",
		"224.0.0.1",	   "192.0.2.1",	     "::1",
		"fe80::1",	   "fd00::1",	     "ff02::1",
		"::ffff:10.0.0.1", "64:ff9b::a00:1",
	};
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\nallow_local_binding = true\n"
				  "domains = { '*' = 'allow' }\n"));
	CHECK_STR(ANSWERS(&w, "a.com", "8.8.8.8", "2606:4700::1"), "allow allow allow");
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		CHECK_STR(ANSWERS(&w, hosts[i]), "deny");
		CHECK_INT(world_host(&w, hosts[i]).reason, NET_REASON_PRIVATE);
	}
}

TEST(private_guard_is_lifted_by_an_address_or_a_block)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'10.0.0.0/8' = 'allow'\n'127.0.0.1:8080' = 'allow'\n"
				  "'10.9.0.0/16' = 'deny'\n"));
	CHECK_STR(ANSWERS(&w, "10.1.2.3", "10.9.1.1", "11.0.0.1"), "allow deny deny");
	CHECK_STR(ANSWERS(&w, "127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1"), "allow deny deny");
}

TEST(private_guard_is_never_asked_about)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.has_decider = true;
	w.user = PROFILE "enabled = true\nmode = 'full'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(ANSWERS(&w, "a.com", "8.8.8.8", "10.0.0.1", "localhost"), "ask ask deny deny");
}

TEST(localhost_needs_the_name_and_the_address)
{
	static const struct {
		const char *domains, *want;
	} rows[] = {
		{ "'*' = 'allow'", "deny deny" },
		{ "'localhost' = 'allow'", "deny deny" },
		{ "'127.0.0.1' = 'allow'", "deny deny" },
		{ "'localhost' = 'allow', '127.0.0.1' = 'allow'", "allow deny" },
		{ "'localhost' = 'allow', '::1' = 'allow'", "allow deny" },
		{ "'**.localhost' = 'allow', '127.0.0.0/8' = 'allow'", "deny deny" },
		{ "'a.localhost' = 'allow', '127.0.0.0/8' = 'allow'", "deny allow" },
		{ "'localhost' = 'allow', '127.0.0.1:80' = 'allow'", "deny deny" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[512];
		scoped_world w;

		(void)snprintf(text, sizeof(text), PROFILE "enabled = true\ndomains = { %s }\n",
			       rows[i].domains);
		REQUIRE(start(&w, text));
		CHECK_STR(ANSWERS(&w, "localhost", "a.localhost"), rows[i].want);
	}
}

TEST(other_names_of_loopback_are_guarded_like_localhost)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\ndomains = { '*' = 'allow' }\n"));
	CHECK_STR(ANSWERS(&w, "localhost.localdomain", "ip6-localhost", "ip6-loopback",
			  "LOCALHOST6.localdomain6."),
		  "deny deny deny deny");
	CHECK_STR(ANSWERS(&w, "localhost.example.com", "ip6-localhost.example.com"), "allow allow");
	CHECK_STR(ANSWERS(&w, "2606:4700::5efe:127.0.0.1", "2606:4700::5efe:8.8.8.8"),
		  "deny allow");
}

TEST(ip6_localhost_opens_as_localhost_does)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n"
				  "domains = { 'ip6-localhost' = 'allow', '::1' = 'allow' }\n"));
	CHECK_STR(ANSWERS(&w, "ip6-localhost", "ip6-loopback"), "allow deny");
}

TEST(ports_are_part_of_a_rule)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'a.com:443' = 'allow'\n'b.com' = 'allow'\n'b.com:22' = 'deny'\n"
				  "'c.com:8000-8999' = 'allow'\n"));
	CHECK_STR(ANSWERS(&w, "a.com:443", "a.com:80", "a.com"), "allow deny deny");
	CHECK_STR(ANSWERS(&w, "b.com:443", "b.com:22", "b.com"), "allow deny deny");
	CHECK_STR(ANSWERS(&w, "c.com:7999", "c.com:8000", "c.com:8999", "c.com:9000"),
		  "deny allow allow deny");
}

TEST(unknown_port_is_open_only_when_every_port_is)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE
		"enabled = true\n[permissions.dev.network.domains]\n"
		"'*' = 'allow'\n'a.com:80' = 'deny'\n'*.b.com:1-9' = 'deny'\n"
		"'8.8.0.0/16:53' = 'deny'\n'10.0.0.0/8' = 'allow'\n'10.0.0.1:22' = 'deny'\n";
	w.project = "[network]\ndomains = { 'c.com:25' = 'deny' }\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(ANSWERS(&w, "a.com", "x.b.com", "c.com", "d.com"), "deny deny deny allow");
	CHECK_STR(ANSWERS(&w, "8.8.8.8", "8.9.8.8", "10.0.0.1", "10.0.0.2"),
		  "deny allow deny allow");
	CHECK_STR(ANSWERS(&w, "64:ff9b::808:808"), "deny");
	CHECK_STR(ANSWERS(&w, "a.com:443", "x.b.com:10", "c.com:26", "8.8.8.8:54"),
		  "allow allow allow allow");
	CHECK_STR(world_host(&w, "a.com").rule->domain.text.p, "a.com:80");
}

TEST(most_specific_rule_is_named)
{
	static const struct {
		const char *host, *rule;
	} rows[] = {
		{ "b.a.com", "b.a.com" },
		{ "c.a.com", "*.a.com" },
		{ "a.com", "**.a.com" },
		{ "x.b.a.com", "*.a.com" },
		{ "other.org", "*" },
		{ "b.a.com:443", "b.a.com:443" },
		{ "b.a.com:450", "b.a.com:400-500" },
		{ "8.8.8.8", "8.8.8.8" },
		{ "8.8.8.9", "8.8.8.0/24" },
		{ "9.9.9.9", "*" },
	};
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'*' = 'allow'\n'**.a.com' = 'allow'\n'*.a.com' = 'allow'\n"
				  "'b.a.com' = 'allow'\n'b.a.com:400-500' = 'allow'\n"
				  "'b.a.com:443' = 'allow'\n'8.0.0.0/8' = 'allow'\n"
				  "'8.8.8.0/24' = 'allow'\n'8.8.8.8' = 'allow'\n"));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct net_verdict v = world_host(&w, rows[i].host);

		REQUIRE(v.rule);
		CHECK_STR(v.rule->domain.text.p, rows[i].rule);
	}
}

TEST(dialled_address_is_judged_again)
{
	scoped_world w;
	struct ip ip;

	REQUIRE(start(&w, PROFILE "enabled = true\n[permissions.dev.network.domains]\n"
				  "'a.com' = 'allow'\n'10.1.0.0/16' = 'allow'\n"
				  "'9.9.9.0/24' = 'deny'\n'127.0.0.1:80' = 'allow'\n"));
#define DIAL(text, port) \
	(ip_parse(STR(text), &ip) ? net_resolve_address(w.plan->net, &ip, (port)).decision : 9)
	CHECK_INT(DIAL("8.8.8.8", 443), DECISION_ALLOW);
	CHECK_INT(DIAL("9.9.9.9", 443), DECISION_DENY);
	CHECK_INT(DIAL("64:ff9b::909:909", 443), DECISION_DENY);
	CHECK_INT(DIAL("10.0.0.1", 443), DECISION_DENY);
	CHECK_INT(DIAL("10.1.0.1", 443), DECISION_ALLOW);
	CHECK_INT(DIAL("127.0.0.1", 80), DECISION_ALLOW);
	CHECK_INT(DIAL("127.0.0.1", 81), DECISION_DENY);
	CHECK_INT(DIAL("::1", 80), DECISION_DENY);
#undef DIAL
}

TEST(narrowing_layers_only_lower)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE "enabled = true\ndomains = { '**.a.com' = 'allow' }\n";
	w.project = "[network]\ndomains = { 'x.a.com' = 'deny', 'b.com' = 'allow' }\n";
	w.requirements = "[network]\ndomains = { 'y.a.com' = 'deny' }\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(ANSWERS(&w, "a.com", "x.a.com", "y.a.com", "b.com"), "allow deny deny deny");
	CHECK_STR(world_host(&w, "x.a.com").origin.file, "project.toml");
	CHECK_STR(world_host(&w, "y.a.com").origin.file, "requirements.toml");
	CHECK_INT(world_host(&w, "y.a.com").layer, 2);
}

TEST(narrowing_layers_can_switch_off_and_limit)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE "enabled = true\n";
	w.project = "[network]\nmode = 'limited'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(net_mode(w.plan->net), NET_MANAGED);
	CHECK(net_is_limited(w.plan->net));
	CHECK_STR(ANSWERS(&w, "a.com", "10.0.0.1"), "allow allow");
	CHECK(net_method_passes(w.plan->net, STR("HEAD")));
	CHECK(!net_method_passes(w.plan->net, STR("POST")));

	w.project = "[network]\nenabled = false\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(net_mode(w.plan->net), NET_OFF);
	CHECK_STR(ANSWERS(&w, "a.com"), "deny");
	CHECK_STR(world_host(&w, "a.com").origin.file, "project.toml");
}

TEST(limited_lets_three_methods_pass)
{
	static const char *const refused[] = { "POST", "PUT", "get", "CONNECT", "", "TRACE" };
	scoped_world w;

	REQUIRE(start(&w, PROFILE "enabled = true\nmode = 'limited'\n"));
	CHECK(net_is_limited(w.plan->net));
	CHECK(net_method_passes(w.plan->net, STR("GET")));
	CHECK(net_method_passes(w.plan->net, STR("OPTIONS")));
	for (size_t i = 0; i < COUNT_OF(refused); i++)
		CHECK(!net_method_passes(w.plan->net, str_of(refused[i])));
	w.user = PROFILE "enabled = true\nmode = 'full'\n";
	REQUIRE(world_plan(&w));
	CHECK(net_method_passes(w.plan->net, STR("POST")));
	CHECK(net_method_passes(w.plan->net, STR("")));
}

TEST(sockets_are_open_only_by_name)
{
	scoped_world w;
	struct str home = STR("/home/me");

	REQUIRE(start(&w,
		      PROFILE "enabled = true\n[permissions.dev.network.unix_sockets]\n"
			      "'/run/x.sock' = 'allow'\n'~/s' = 'allow'\n'/run/no' = 'deny'\n"));
#define SOCKET(path) net_resolve_socket(w.plan->net, STR(path), home).decision
	CHECK_INT(SOCKET("/run/x.sock"), DECISION_ALLOW);
	CHECK_INT(SOCKET("/home/me/s"), DECISION_ALLOW);
	CHECK_INT(SOCKET("/run/no"), DECISION_DENY);
	CHECK_INT(SOCKET("/run/x.sock/y"), DECISION_DENY);
	CHECK_INT(SOCKET("/run"), DECISION_DENY);
	CHECK_INT(SOCKET("/s"), DECISION_DENY);
	w.project = "[network]\nunix_sockets = { '/run/x.sock' = 'deny' }\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(SOCKET("/run/x.sock"), DECISION_DENY);
	CHECK_INT(SOCKET("/home/me/s"), DECISION_ALLOW);
#undef SOCKET
}

/* The grants of P18, as hosts. */
static struct permissions grant_hosts(struct world *w, const char *const *hosts, size_t count)
{
	struct permissions p = { .network = false };

	for (size_t i = 0; i < count; i++) {
		struct domain *d = VEC_PUSH(&w->a, &p.hosts, &w->e);

		if (!d || domain_parse(&w->a, str_of(hosts[i]), d, &w->e) < 0)
			exit(99);
	}
	return p;
}

TEST(grants_add_hosts_and_lift_no_deny)
{
	static const char *const hosts[] = { "a.com", "evil.com", "*", "10.0.0.0/8" };
	struct world kept; /* the grants outlive the policies */
	scoped_world w;
	struct permissions grants;

	world_init(&kept, host_text, "/repo");
	grants = grant_hosts(&kept, hosts, 1);
	world_init(&w, host_text, "/repo");
	w.grants = &grants;
	w.user = PROFILE "enabled = false\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(net_mode(w.plan->net), NET_MANAGED);
	CHECK_STR(ANSWERS(&w, "a.com", "b.com"), "allow deny");
	w.has_decider = true;
	REQUIRE(world_plan(&w));
	CHECK_STR(ANSWERS(&w, "b.com"), "deny");

	grants = grant_hosts(&kept, hosts, COUNT_OF(hosts));
	w.user = PROFILE "enabled = true\ndomains = { 'evil.com' = 'deny' }\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(ANSWERS(&w, "a.com", "b.com", "evil.com"), "allow allow deny");
	CHECK_STR(ANSWERS(&w, "10.0.0.1", "127.0.0.1", "localhost"), "allow deny deny");
	world_done(&kept);
}

TEST(unsandboxed_allows_everything)
{
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.profile = ":danger-full-access";
	REQUIRE(world_plan(&w));
	CHECK_INT(net_mode(w.plan->net), NET_FULL);
	CHECK_INT(world_host(&w, "10.0.0.1").reason, NET_REASON_UNSANDBOXED);
}

TEST(trace_has_the_deciding_rule_first_and_the_others_after_it)
{
	struct hostname host;
	struct net_verdict v;
	net_trace trace = { .count = 0 };
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE "enabled = true\n[permissions.dev.network.domains]\n'*' = 'allow'\n"
			 "'a.com' = 'allow'\n'a.com:22' = 'allow'\n'b.com' = 'deny'\n";
	w.project = "[network]\ndomains = { 'a.com' = 'deny', '*.a.com' = 'deny' }\n";
	REQUIRE(world_plan(&w));
	REQUIRE(hostname_parse(&w.a, STR("a.com"), &host, &w.e) == 0);
	REQUIRE(net_trace_host(&w.a, w.plan->net, &host, 0, &v, &trace, &w.e) == 0);
	CHECK_INT(v.decision, DECISION_DENY);
	REQUIRE(trace.count == 4);
	CHECK_INT(trace.items[0].layer, 1);
	CHECK_STR(trace.items[1].rule->domain.text.p, "a.com");
	CHECK_STR(trace.items[2].rule->domain.text.p, "*");
	CHECK_STR(trace.items[3].rule->domain.text.p, "a.com:22");
}

/* ---- Against a matcher that tries every rule ---------------------------- */

static bool covers(const struct domain *d, const struct hostname *host, uint16_t port)
{
	struct domain asked = domain_of_host(host, port);

	return domain_is_within(&asked, d);
}

/* The ports that random rules speak of, and one that none of them does. */
enum { RULE_PORTS = 9 };

static enum decision slow_port_answer(const struct net_rules *net, const struct hostname *host,
				      uint16_t port)
{
	bool is_private = host->is_ip && !ip_is_public(&host->ip);
	bool is_allowed = false;

	for (size_t i = 0; i < net->rules.count; i++) {
		const struct net_rule *rule = &net->rules.items[i];

		if (!covers(&rule->domain, host, port))
			continue;
		if (!rule->is_allow)
			return DECISION_DENY;
		is_allowed |= !is_private || rule->domain.kind == DOMAIN_BLOCK;
	}
	return is_allowed ? DECISION_ALLOW : DECISION_DENY;
}

/* Whether some allow is for every port. */
static bool has_whole_allow(const struct net_rules *net, const struct hostname *host)
{
	for (size_t i = 0; i < net->rules.count; i++)
		if (net->rules.items[i].is_allow && covers(&net->rules.items[i].domain, host, 0))
			return true;
	return false;
}

static enum decision slow_answer(const struct net_rules *net, const struct hostname *host,
				 uint16_t port)
{
	if (port)
		return slow_port_answer(net, host, port);
	for (unsigned i = 1; i <= RULE_PORTS; i++)
		if (slow_port_answer(net, host, (uint16_t)i) == DECISION_DENY)
			return DECISION_DENY;
	return has_whole_allow(net, host) ? DECISION_ALLOW : DECISION_DENY;
}

static const char *const labels[] = { "a", "b", "ab", "c" };
static const char *const addresses[] = { "8.8.8.8",	 "8.8.4.4",  "9.8.8.8",
					 "10.0.0.1",	 "10.1.0.1", "2606:4700::1",
					 "2606:4700::2", "fd00::1",  "::1" };
static const char *const blocks[] = { "8.0.0.0/8",   "8.8.0.0/16",  "8.8.8.8",	      "10.0.0.0/8",
				      "10.0.0.0/31", "::/0",	    "2606:4700::/32", "fd00::/8",
				      "0.0.0.0/0",   "2606:4700::1" };

static size_t add_name(char *text, size_t size, uint64_t *seed)
{
	size_t used = 0, count = 1 + test_random(seed) % 3;

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s.",
					 labels[test_random(seed) % COUNT_OF(labels)]);
	return used + (size_t)snprintf(text + used, size - used, "com");
}

static void random_pattern(char *text, size_t size, uint64_t *seed)
{
	static const char *const stars[] = { "", "*.", "**." };
	bool is_block = test_random(seed) % 3 == 0;
	size_t used = 0;

	if (is_block) {
		const char *block = blocks[test_random(seed) % COUNT_OF(blocks)];
		bool v6 = strchr(block, ':') != NULL;

		used = (size_t)snprintf(text, size, "%s%s%s", v6 ? "[" : "", block, v6 ? "]" : "");
	} else {
		used = (size_t)snprintf(text, size, "%s", stars[test_random(seed) % 3]);
		used += add_name(text + used, size - used, seed);
	}
	if (test_random(seed) % 3 == 0)
		(void)snprintf(text + used, size - used, ":%d-%d", 1 + (int)(test_random(seed) % 4),
			       4 + (int)(test_random(seed) % 4));
}

static void random_rules(struct world *w, struct net_rules *net, uint64_t *seed)
{
	size_t count = test_random(seed) % 12;

	net->rules.count = 0;
	for (size_t i = 0; i < count; i++) {
		char text[128];
		struct net_rule *rule = VEC_PUSH(&w->a, &net->rules, &w->e);

		random_pattern(text, sizeof(text), seed);
		if (!rule || domain_parse(&w->a, str_of(text), &rule->domain, &w->e) < 0)
			exit(99);
		rule->is_allow = test_random(seed) % 3 > 0;
	}
}

TEST(index_agrees_with_trying_every_rule)
{
	uint64_t seed = test_seed();
	size_t cases = test_cases(3000);
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE "enabled = true\nmode = 'full'\n";
	for (size_t n = 0; n < cases; n++) {
		const struct net *net;

		REQUIRE(world_policy(&w));
		random_rules(&w, &w.policy->layers.items[0].net, &seed);
		net = net_build(&w.a, w.policy, false, &w.e);
		REQUIRE(net);
		for (size_t i = 0; i < 20; i++) {
			char text[128];
			struct hostname host;
			uint16_t port = (uint16_t)(test_random(&seed) % RULE_PORTS);

			(void)add_name(text, sizeof(text), &seed);
			if (test_random(&seed) % 2)
				(void)snprintf(text, sizeof(text), "%s",
					       addresses[test_random(&seed) % COUNT_OF(addresses)]);
			REQUIRE(hostname_parse(&w.a, str_of(text), &host, &w.e) == 0);
			enum decision got = net_resolve(net, &host, port).decision;

			if (!CHECK_INT(got,
				       slow_answer(&w.policy->layers.items[0].net, &host, port))) {
				printf("# case %zu, %s port %u\n", n, text, port);
				return;
			}
		}
	}
}

TEST(ten_thousand_rules_are_fast)
{
	scoped_world w;
	struct hostname host;
	const struct net *net;
	struct net_rules *rules;
	clock_t start_time;

	world_init(&w, host_text, "/repo");
	w.user = PROFILE "enabled = true\nmode = 'full'\n";
	REQUIRE(world_policy(&w));
	rules = &w.policy->layers.items[0].net;
	for (unsigned i = 0; i < 10000; i++) {
		struct net_rule *rule = VEC_PUSH(&w.a, &rules->rules, &w.e);
		char text[64];

		if (i % 2)
			(void)snprintf(text, sizeof(text), "h%u.example.com", i);
		else
			(void)snprintf(text, sizeof(text), "11.%u.%u.0/24", i / 256, i % 256);
		REQUIRE(rule && domain_parse(&w.a, str_of(text), &rule->domain, &w.e) == 0);
		rule->is_allow = true;
	}
	net = net_build(&w.a, w.policy, false, &w.e);
	REQUIRE(net && hostname_parse(&w.a, STR("h9999.example.com"), &host, &w.e) == 0);
	start_time = clock();
	for (unsigned i = 0; i < 100000; i++)
		if (net_resolve(net, &host, 443).decision != DECISION_ALLOW)
			test_failed = true;
	CHECK((double)(clock() - start_time) / CLOCKS_PER_SEC < 5.0);
}

TEST(a_grant_of_a_socket_opens_it_alone_and_lifts_no_deny)
{
	static const char *const texts[] = {
		PROFILE
		"enabled = true\n[permissions.dev.network.unix_sockets]\n'/run/no' = 'deny'\n",
		PROFILE
		"enabled = false\n[permissions.dev.network.unix_sockets]\n'/run/no' = 'deny'\n",
	};
	struct str granted[] = { STR("/run/x"), STR("/run/no"), STR("/run/project") };
	struct permissions grants = { .sockets = { granted, 3, 3 } };

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct str home = STR("/home/me");
		scoped_world w;

		world_init(&w, host_text, "/repo");
		w.user = texts[i];
		w.project = "[network]\nunix_sockets = { '/run/project' = 'deny' }\n";
		REQUIRE(world_plan(&w));
		CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/x"), home).decision,
			  DECISION_DENY);
		w.grants = &grants;
		REQUIRE(world_plan(&w));
		CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/x"), home).decision,
			  DECISION_ALLOW);
		CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/x/y"), home).decision,
			  DECISION_DENY);
		CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/no"), home).decision,
			  DECISION_DENY);
		CHECK_INT(net_resolve_socket(w.plan->net, STR("/run/project"), home).decision,
			  DECISION_DENY);
		CHECK_INT(world_host(&w, "a.com").decision, DECISION_DENY);
		CHECK_INT(net_mode(w.plan->net), NET_MANAGED);
	}
}
