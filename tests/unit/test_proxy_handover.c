/* SPDX-License-Identifier: MIT */
/* Tests of proxy/handover.c: what was handed over answers as what was decided. */
#include "proxy/handover.h"

#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"
#define DOMAINS "[permissions.dev.network.domains]\n"

enum { MOST = 1 << 20 };

static const char host_text[] = "d /repo\nd /home/me\n";

static const struct {
	const char *user, *requirements, *project;
	bool has_decider;
} policies[] = {
	{ .user = PROFILE },
	{ .user = PROFILE DOMAINS "'*' = 'allow'\n'*.a.test' = 'deny'\n'10.0.0.0/8:80' = 'allow'\n",
	  .has_decider = true },
	{ .user = PROFILE "mode = 'limited'\nallow_upstream_proxy = false\n" DOMAINS
			  "'**.a.test' = 'allow'\n'b.test:8000-8100' = 'allow'\n"
			  "'2001:db8::/32' = 'allow'\n'localhost' = 'allow'\n",
	  .requirements = "[network.domains]\n'evil.a.test' = 'deny'\n" },
	{ .user = PROFILE DOMAINS "'**.a.test' = 'allow'\n",
	  .requirements = "[network]\nenabled = false\n" },
	{ .user = PROFILE DOMAINS "'**.a.test' = 'allow'\n'b.test' = 'allow'\n",
	  .project = "[network.domains]\n'www.a.test' = 'deny'\n" },
	{ .user = "default_permissions = ':danger-full-access'\n" },
};

static const char *const hosts[] = { "a.test",	  "www.a.test", "evil.a.test", "b.test",
				     "localhost", "10.0.0.1",	"2001:db8::1", "8.8.8.8" };
static const uint16_t ports[] = { 0, 80, 443, 8050 };
static const char *const environment[] = { "PATH=/bin", "HTTPS_PROXY=http://p.test:1",
					   "no_proxy=", NULL };

static struct rules *make_rules(const struct proxy_options *o, const struct rule_place *place)
{
	struct rules *rules = NULL;
	struct err e = ERR_INIT;

	if (rules_make(&rules, o->plan, place, o->has_decider, &e) < 0)
		printf("# %s\n", e.text);
	return rules;
}

static void compare(const struct judgement *a, const struct judgement *b)
{
	CHECK_INT(a->decision, b->decision);
	CHECK_INT(a->reason, b->reason);
	CHECK_STR(a->rule, b->rule);
	CHECK_STR(a->rule_file, b->rule_file);
	CHECK_INT(a->rule_line, b->rule_line);
	CHECK_STR(a->profile, b->profile);
}

static void compare_host(const struct rules *a, const struct rules *b, const char *host,
			 uint16_t port)
{
	struct judgement of_a, of_b;
	struct target t;
	char why[128];

	CHECK(target_parse(&t, str_of(host), port, why, sizeof(why)));
	rules_judge(a, &t, &of_a);
	rules_judge(b, &t, &of_b);
	compare(&of_a, &of_b);
	CHECK_INT(rules_may_look_up(a, &t), rules_may_look_up(b, &t));
	if (!t.is_ip)
		return;
	rules_judge_address(a, &t.ip, port, &of_a);
	rules_judge_address(b, &t.ip, port, &of_b);
	compare(&of_a, &of_b);
}

static void compare_methods(const struct rules *a, const struct rules *b)
{
	static const char *const methods[] = { "GET", "POST", "" };

	CHECK_INT(rules_are_limited(a), rules_are_limited(b));
	for (size_t i = 0; i < COUNT_OF(methods); i++) {
		struct judgement of_a, of_b;

		rules_judge_method(a, str_of(methods[i]), &of_a);
		rules_judge_method(b, str_of(methods[i]), &of_b);
		compare(&of_a, &of_b);
	}
}

static bool begin(struct world *w, size_t i)
{
	world_init(w, host_text, "/repo");
	w->user = policies[i].user;
	w->requirements = policies[i].requirements;
	w->project = policies[i].project;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

static bool print(struct world *w, size_t i, struct rule_place *place, struct buf *out)
{
	const struct proxy_options options = {
		.plan = w->plan,
		.has_decider = policies[i].has_decider,
		.token = i % 2 ? "a-token-of-some-length" : NULL,
		.environment = environment,
		.limits = PROXY_LIMITS_DEFAULT,
	};

	return rule_place_find(place, w->plan->policy, &w->e) == 0 &&
	       handover_print(&options, place, out, &w->e) == 0;
}

TEST(what_was_handed_over_answers_as_what_was_decided)
{
	for (size_t i = 0; i < COUNT_OF(policies); i++) {
		scoped_world w;
		scoped_buf bytes = BUF_INIT(MOST);
		scoped_arena a = ARENA_INIT(MOST);
		struct rule_place place, read_place;
		struct proxy_options was, is;
		struct rules *decided, *handed;

		REQUIRE(begin(&w, i));
		REQUIRE(print(&w, i, &place, &bytes));
		REQUIRE(handover_parse(&a, buf_str(&bytes), &is, &read_place, &w.e) == 0);
		was = (struct proxy_options){ .plan = w.plan,
					      .has_decider = policies[i].has_decider };
		CHECK(policies[i].requirements || policies[i].project
			      ? w.plan->policy->layers.count > 1
			      : w.plan->policy->layers.count == 1);
		CHECK_INT(is.has_decider, was.has_decider);
		CHECK_STR(read_place.prefix, place.prefix);
		CHECK_STR(read_place.words, place.words);
		CHECK_INT(net_mode(is.plan->net), net_mode(was.plan->net));
		CHECK_INT(net_allows_upstream_proxy(is.plan->net),
			  net_allows_upstream_proxy(was.plan->net));
		decided = make_rules(&was, &place);
		handed = make_rules(&is, &read_place);
		REQUIRE(decided && handed);
		for (size_t h = 0; h < COUNT_OF(hosts) * COUNT_OF(ports); h++)
			compare_host(decided, handed, hosts[h % COUNT_OF(hosts)],
				     ports[h / COUNT_OF(hosts)]);
		compare_methods(decided, handed);
		rules_done(decided);
		rules_done(handed);
	}
}

TEST(of_the_environment_only_what_names_proxies_is_handed_over)
{
	scoped_world w;
	scoped_buf bytes = BUF_INIT(MOST);
	scoped_arena a = ARENA_INIT(MOST);
	struct rule_place place;
	struct proxy_options is;

	REQUIRE(begin(&w, 1));
	REQUIRE(print(&w, 1, &place, &bytes));
	REQUIRE(handover_parse(&a, buf_str(&bytes), &is, &place, &w.e) == 0);
	CHECK_STR(is.token, "a-token-of-some-length");
	CHECK_STR(is.environment[0], environment[1]);
	CHECK_STR(is.environment[1], environment[2]);
	CHECK(!is.environment[2]);
	CHECK_INT(is.limits.connections, 16384);
	CHECK_INT(is.limits.ask_ms, 60000);
}

TEST(what_is_cut_or_too_long_is_refused)
{
	scoped_world w;
	scoped_buf bytes = BUF_INIT(MOST);
	struct rule_place place;
	struct str whole;

	REQUIRE(begin(&w, 2));
	REQUIRE(print(&w, 2, &place, &bytes));
	whole = buf_str(&bytes);
	for (size_t len = 0; len < whole.len; len++) {
		scoped_arena a = ARENA_INIT(MOST);
		struct err e = ERR_INIT;
		struct proxy_options is;

		CHECK(handover_parse(&a, str_first(whole, len), &is, &place, &e) < 0);
	}
	buf_add_char(&bytes, 'x');
	{
		scoped_arena a = ARENA_INIT(MOST);
		struct err e = ERR_INIT;
		struct proxy_options is;

		CHECK(handover_parse(&a, buf_str(&bytes), &is, &place, &e) < 0);
	}
}

/* Whatever becomes of it: sanitizers look on. */
TEST(another_byte_anywhere_breaks_nothing)
{
	scoped_world w;
	scoped_buf bytes = BUF_INIT(MOST);
	struct rule_place place;

	REQUIRE(begin(&w, 1));
	REQUIRE(print(&w, 1, &place, &bytes));
	for (size_t at = 0; at < bytes.len; at++) {
		scoped_arena a = ARENA_INIT(MOST);
		struct err e = ERR_INIT;
		struct proxy_options is;
		char was = bytes.p[at];

		bytes.p[at] = (char)0xff;
		(void)!handover_parse(&a, buf_str(&bytes), &is, &place, &e);
		bytes.p[at] = was;
	}
	CHECK(bytes.len > 500);
}
