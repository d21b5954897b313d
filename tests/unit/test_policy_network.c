/* SPDX-License-Identifier: MIT */
/* `network` (P12-P15) in a profile, and what of Codex's keys is taken. */
#include "../support/policy_text.h"
#include "test.h"

#define NET(keys) "[permissions.dev.network]\n" keys "\n"

static int access_with(const char *user)
{
	scoped_outcome o = compile_dev(user);

	if (!o.policy)
		printf("#   %s\n", o.e.text);
	return o.policy ? (int)o.policy->profile->net.access : -1;
}

TEST(no_network_unless_it_is_enabled)
{
	CHECK_INT(access_with("[permissions.dev]"), NET_OFF);
	CHECK_INT(access_with(NET("")), NET_OFF);
	CHECK_INT(access_with(NET("enabled = false")), NET_OFF);
	CHECK_INT(access_with(NET("domains = { 'a.b' = 'allow' }")), NET_OFF);
	CHECK_INT(access_with(NET("enabled = false\nmode = 'full'")), NET_OFF);
}

TEST(enabled_alone_is_the_full_network)
{
	CHECK_INT(access_with(NET("enabled = true")), NET_FULL);
}

TEST(any_other_key_makes_it_managed)
{
	CHECK_INT(access_with(NET("enabled = true\nmode = 'full'")), NET_MANAGED);
	CHECK_INT(access_with(NET("enabled = true\ndomains = {}")), NET_MANAGED);
	CHECK_INT(access_with(NET("enabled = true\nunix_sockets = {}")), NET_MANAGED);
	CHECK_INT(access_with(NET("enabled = true\nallow_local_binding = false")), NET_MANAGED);
	CHECK_INT(access_with(NET("enabled = true\nproxy_url = 'http://x'")), NET_MANAGED);
	CHECK_INT(access_with(NET("enabled = true\n"
				  "dangerously_allow_all_unix_sockets = false")),
		  NET_MANAGED);
}

TEST(a_parents_key_makes_it_managed_too)
{
	CHECK_INT(access_with("[permissions.base.network.domains]\n'a.b' = 'deny'\n"
			      "[permissions.dev]\nextends = 'base'\nnetwork.enabled = true"),
		  NET_MANAGED);
}

TEST(all_keys_are_taken)
{
	scoped_outcome o =
		compile_dev(NET("enabled = true\n"
				"mode = 'limited'\n"
				"allow_local_binding = true\n"
				"allow_upstream_proxy = false\n"
				"domains = { 'A.B.' = 'allow', '10.0.0.0/8' = 'deny' }\n"
				"unix_sockets = { '/run//x' = 'allow', '~/s' = 'deny' }"));
	const struct net_rules *net;

	REQUIRE(o.policy);
	net = &o.policy->profile->net;
	CHECK(net->is_limited);
	CHECK_INT(net->limited_origin.line, 3);
	CHECK(net->allows_local_binding);
	CHECK(!net->allows_upstream_proxy);
	REQUIRE(net->rules.count == 2 && net->sockets.count == 2);
	CHECK_STR(net->rules.items[0].domain.text.p, "a.b");
	CHECK(net->rules.items[0].is_allow);
	CHECK_INT(net->rules.items[1].domain.kind, DOMAIN_BLOCK);
	CHECK(!net->rules.items[1].is_allow);
	CHECK_STR(net->sockets.items[0].path.p, "/run/x");
	CHECK(net->sockets.items[0].is_allow && !net->sockets.items[0].below_home);
	CHECK_STR(net->sockets.items[1].path.p, "s");
	CHECK(net->sockets.items[1].below_home);
}

TEST(a_block_that_opens_more_than_it_seems_is_warned_about)
{
	static const char *const quiet[] = { "10.0.0.0/8",   "127.0.0.0/8", "127.0.0.1",
					     "8.0.0.0/8",    "fc00::/7",    "fd00::/8",
					     "::1",	     "2000::/3",    "169.254.0.0/16",
					     "172.16.0.0/12" };
	static const struct {
		const char *block, *opened;
	} loud[] = {
		{ "0.0.0.0/0",
		  "the allow of '0.0.0.0/0' opens 127.0.0.0/8 (this machine), "
		  "169.254.0.0/16 (link-local, cloud metadata), 10.0.0.0/8 (private)" },
		{ "::/0", "::1 (this machine), fe80::/10 (link-local), fc00::/7 (private) too" },
		{ "::ffff:0:0/96", "127.0.0.0/8" },
		{ "0.0.0.0/1", "opens 127.0.0.0/8 (this machine), 10.0.0.0/8 (private), 100.64" },
		{ "172.0.0.0/8", "opens 172.16.0.0/12 (private) too" },
		{ "0.0.0.0/0:443", "169.254.0.0/16" },
	};
	char text[256];

	for (size_t i = 0; i < COUNT_OF(quiet); i++) {
		(void)snprintf(text, sizeof(text), NET("enabled = true\ndomains.'%s' = 'allow'"),
			       quiet[i]);
		scoped_outcome o = compile_dev(text);

		CHECK(o.policy && o.policy->warnings.count == 0);
	}
	for (size_t i = 0; i < COUNT_OF(loud); i++) {
		(void)snprintf(text, sizeof(text), NET("enabled = true\ndomains.'%s' = 'allow'"),
			       loud[i].block);
		scoped_outcome o = compile_dev(text);

		CHECK(has_warning(&o, loud[i].opened));
	}
	scoped_outcome o = compile_dev(NET("enabled = true\ndomains = { '0.0.0.0/0' = 'deny' }"));

	CHECK(o.policy && o.policy->warnings.count == 0);
}

TEST(requirements_that_allow_would_restrict_nothing)
{
	struct texts t = { .user = NET("enabled = true"), .profile = "dev" };

	t.requirements = "[network.domains]\n'a.b' = 'allow'";
	CHECK(is_refused_texts(&t, "requirements.toml:2:1: the allow of 'a.b' would restrict"));
	t.requirements = "[network.domains]\n'*' = 'allow'\n'c.d' = 'deny'";
	CHECK(is_refused_texts(&t, "requirements.toml:2:1: the allow of '*' would restrict"));
	t.requirements = "[network.unix_sockets]\n'/s' = 'allow'";
	CHECK(is_refused_texts(&t, "requirements.toml:2:1: the allow of '/s' would restrict"));
	t.requirements = "[network.domains]\n'a.b' = 'deny'";
	scoped_outcome o = compile_texts(&t);

	CHECK(o.policy && o.policy->warnings.count == 0);
}

TEST(defaults_are_the_careful_ones)
{
	scoped_outcome o = compile_dev(NET("enabled = true"));

	REQUIRE(o.policy);
	CHECK(!o.policy->profile->net.is_limited);
	CHECK(!o.policy->profile->net.allows_local_binding);
	CHECK(o.policy->profile->net.allows_upstream_proxy);
}

TEST(bad_values_are_refused)
{
	CHECK(is_refused(NET("mode = 'limitd'"), "2:8: 'network.mode' can't be \"limitd\""));
	CHECK(is_refused(NET("domains = { 'a.b' = 'read' }"),
			 "it has to be \"deny\" or \"allow\""));
	CHECK(is_refused(NET("domains = { 'http://a.b' = 'allow' }"), "config.toml:2:13: "));
	CHECK(is_refused(NET("domains = { '*' = 'deny' }"), "'*' can only be allowed"));
	CHECK(is_refused(
		NET("unix_sockets = { 'x.sock' = 'allow' }"),
		"2:18: the socket 'x.sock' has to be a path that starts with '/' or '~/'"));
	CHECK(is_refused(NET("unix_sockets = { '/run/../x' = 'allow' }"), "'.' or '..' component"));
}

TEST(domains_in_two_spellings_are_duplicates)
{
	CHECK(is_refused("[permissions.dev.network.domains]\n'a.b' = 'deny'\n'A.B.' = 'allow'",
			 "config.toml:3:1: 'a.b' in 'domains' is already set on line 2"));
	CHECK(is_refused("[permissions.dev.network.unix_sockets]\n'/a' = 'deny'\n'//a' = 'allow'",
			 "3:1: '/a' in 'unix_sockets' is already set on line 2"));
}

TEST(a_childs_domain_replaces_its_parents_in_any_spelling)
{
	scoped_outcome o = compile_dev("[permissions.base.network]\nenabled = true\n"
				       "domains = { 'Example.com' = 'deny', 'x.y' = 'deny' }\n"
				       "[permissions.dev]\nextends = 'base'\n"
				       "network.domains = { 'example.COM.' = 'allow' }\n");

	REQUIRE(o.policy);
	REQUIRE(o.policy->profile->net.rules.count == 2);
	CHECK(o.policy->profile->net.rules.items[0].is_allow);
	CHECK_INT(o.policy->profile->net.rules.items[0].origin.line, 6);
}

TEST(keys_of_codex_that_do_nothing_here_are_said_to_be_ignored)
{
	scoped_outcome o = compile_dev(NET("enabled = true\nproxy_url = 'http://127.0.0.1:3128'\n"
					   "socks_url = 'http://127.0.0.1:8081'\n"
					   "enable_socks5 = true\nenable_socks5_udp = false"));

	CHECK(has_warning(&o, "'network.proxy_url' is ignored"));
	CHECK(has_warning(&o, "'network.socks_url' is ignored"));
	CHECK(has_warning(&o, "'network.enable_socks5' is ignored"));
	CHECK(has_warning(&o, "'network.enable_socks5_udp' is ignored"));
}

TEST(keys_of_codex_that_would_widen_are_refused)
{
	static const char *const refused[] = {
		NET("dangerously_allow_all_unix_sockets = true"),
		NET("dangerously_allow_non_loopback_proxy = true"),
		NET("dangerously_allow_plaintext_credential_injection = true"),
		NET("mitm = { hooks = [] }"),
		NET("mitm = true"),
		NET("mitm = false"),
	};
	scoped_outcome off = compile_dev(NET("dangerously_allow_all_unix_sockets = false"));

	for (size_t i = 0; i < COUNT_OF(refused); i++)
		CHECK(fails_with(&(struct texts){ .user = refused[i] }, CAUSE_BAD_VALUE,
				 "config.toml:2:1: "));
	CHECK(off.policy != NULL);
}

TEST(keys_without_enabled_are_warned_of)
{
	scoped_outcome off =
		compile_dev("[permissions.dev.network]\ndomains = { 'a.com' = 'allow' }");
	scoped_outcome on = compile_dev(
		"[permissions.dev.network]\nenabled = true\ndomains = { 'a.com' = 'allow' }");
	scoped_outcome said = compile_dev(
		"[permissions.dev.network]\nenabled = false\ndomains = { 'a.com' = 'allow' }");

	CHECK(has_warning(&off, "'network.domains' has no effect: there is no 'enabled = true'"));
	CHECK(on.policy && on.policy->warnings.count == 0);
	CHECK(said.policy && said.policy->warnings.count == 0);
}

/* A built-in parent says that it is off; that is not what the user has said. */
TEST(keys_over_a_built_in_parent_without_enabled_are_warned_of)
{
	static const char user[] = "[permissions.dev]\nextends = ':workspace'\n"
				   "[permissions.dev.network]\ndomains = { 'a.com' = 'allow' }\n"
				   "[permissions.plain]\nextends = ':workspace'\n";
	const struct texts managed = { .user = user, .profile = "dev", .network = "managed" };
	const struct texts plain = { .user = user, .profile = "plain" };
	scoped_outcome off = compile_dev(user);
	scoped_outcome by_option = compile_texts(&managed);
	scoped_outcome silent = compile_texts(&plain);

	CHECK(has_warning(&off, "'network.domains' has no effect: there is no 'enabled = true'"));
	CHECK(by_option.policy && by_option.policy->warnings.count == 0);
	CHECK(silent.policy && silent.policy->warnings.count == 0);
}

TEST(a_name_with_dots_has_to_be_quoted)
{
	const struct texts t = { .overrides = { "permissions.dev.network.domains.a.com=allow" } };

	CHECK(is_refused_texts(&t, "'a' in 'domains' is a table; quote a name with dots"));
}

/* The network of the whole stack: the least of its layers. */
static int least_network(const struct texts *t)
{
	scoped_outcome o = compile_texts(t);
	int least = NET_FULL;

	if (!o.policy) {
		printf("#   %s\n", o.e.text);
		return -1;
	}
	for (size_t i = 0; i < o.policy->layers.count; i++) {
		const struct layer *layer = &o.policy->layers.items[i];

		if (layer->has_net && layer->net.access == NET_OFF)
			return NET_OFF;
		if (layer->has_net && layer->net.access == NET_MANAGED)
			least = NET_MANAGED;
	}
	return least;
}

TEST(the_command_line_replaces_what_the_profile_says_of_the_network)
{
	struct texts t = { .user = NET("enabled = true\ndomains = { 'a.b' = 'allow' }"),
			   .profile = "dev" };

	CHECK_INT(least_network(&t), NET_MANAGED);
	t.network = "full";
	CHECK_INT(least_network(&t), NET_FULL);
	t.network = "off";
	CHECK_INT(least_network(&t), NET_OFF);
}

TEST(what_narrows_still_narrows_the_network_of_the_command_line)
{
	struct texts t = { .user = "[permissions.dev]", .profile = "dev", .network = "full" };

	CHECK_INT(least_network(&t), NET_FULL);
	t.project = "[network]\nenabled = false\n";
	CHECK_INT(least_network(&t), NET_OFF);
	t.project = NULL;
	t.requirements = "[network]\ndomains = { 'a.b' = 'deny' }\n";
	CHECK_INT(least_network(&t), NET_MANAGED);
}

TEST(without_a_sandbox_the_network_can_not_be_kept_off)
{
	struct texts t = { .profile = ":danger-full-access", .network = "full" };

	CHECK_INT(least_network(&t), NET_FULL);
	t.network = "off";
	CHECK(is_refused_texts(&t, "the network could not be kept off"));
}
