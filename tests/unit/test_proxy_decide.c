/* SPDX-License-Identifier: MIT */
/* Tests of proxy/decide.c and proxy/refusal.c: P13 and P14 in the proxy, and its words. */
#include "proxy/decide.h"

#include <errno.h>

#include "base/json.h"
#include "base/utf8.h"
#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"

static const char host_text[] = "d /repo\nd /home/me\n";

static struct rules *rules;
static struct judgement judged;

static bool start(struct world *w, const char *text, bool has_decider)
{
	struct rule_place place;

	world_init(w, host_text, "/repo");
	w->user = text;
	if (world_plan(w) && rule_place_find(&place, w->plan->policy, &w->e) == 0 &&
	    rules_make(&rules, w->plan, &place, has_decider, &w->e) == 0)
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

static struct target target(const char *host, uint16_t port)
{
	struct target t = { .port = 0 };
	char why[256];

	if (!target_parse(&t, str_of(host), port, why, sizeof(why)))
		printf("# %s: %s\n", host, why);
	return t;
}

static enum proxy_reason judge(const char *host, uint16_t port)
{
	struct target t = target(host, port);

	rules_judge(rules, &t, &judged);
	return judged.reason;
}

static enum proxy_reason judge_address(const char *text, uint16_t port)
{
	struct ip ip = { { 0 } };

	CHECK(ip_parse(str_of(text), &ip));
	rules_judge_address(rules, &ip, port, &judged);
	return judged.reason;
}

static bool may_look_up(const char *host)
{
	struct target t = target(host, 0);

	return rules_may_look_up(rules, &t);
}

static int add(bool is_allow, const char *pattern)
{
	struct err e = ERR_INIT;

	return rules_add(rules, is_allow, str_of(pattern), &e);
}

TEST(targets_are_in_normal_form)
{
	struct target t;
	char why[64];

	t = target("EXAMPLE.com.", 443);
	CHECK_STR(t.name, "example.com");
	CHECK(!t.is_ip);
	t = target("[2001:DB8:0::1%eth0]", 443);
	CHECK_STR(t.name, "2001:db8::1");
	CHECK(t.is_ip);
	t = target("::ffff:10.0.0.1", 443);
	CHECK_STR(t.name, "10.0.0.1");
	t = target("m\xc3\xbcnchen.de", 80);
	CHECK_STR(t.name, "xn--mnchen-3ya.de");
	CHECK(!target_parse(&t, STR("0x7f.1"), 80, why, sizeof(why)));
	CHECK(strlen(why) > 0 && strlen(why) < sizeof(why));
	CHECK(!target_parse(&t, STR("a\0b"), 80, why, sizeof(why)));
	CHECK(!target_parse(&t, STR("a\r\nb"), 80, why, sizeof(why)));
	CHECK(!strchr(why, '\r') && !strchr(why, '\n'));
	CHECK(!target_parse(&t, STR(""), 80, why, 0));
	/* Why is cut at a whole character. */
	for (size_t room = 1; room <= sizeof(why); room++) {
		CHECK(!target_parse(&t, STR("\xc3\xbc\xc3\xbc\xc3\xbc \xc3\xbc\xc3\xbc"), 80, why,
				    room));
		CHECK(strlen(why) < room && utf8_check(str_of(why)) == strlen(why));
	}
}

TEST(targets_are_the_same_by_name_and_port)
{
	struct target a = target("A.com", 80), b = target("a.com.", 80), c = target("a.com", 81);
	struct target d = target("b.com", 80);

	CHECK(target_is_same(&a, &b));
	CHECK(!target_is_same(&a, &c));
	CHECK(!target_is_same(&a, &d));
}

TEST(judgements_name_the_rule_and_its_place)
{
	scoped_world w;

	REQUIRE(start(&w,
		      PROFILE "[permissions.dev.network.domains]\n'*.a.com' = 'allow'\n"
			      "'evil.a.com:443' = 'deny'\n",
		      false));
	CHECK_INT(judge("www.a.com", 443), PROXY_ALLOWED);
	CHECK_INT(judged.decision, DECISION_ALLOW);
	CHECK_STR(judged.rule, "*.a.com");
	CHECK_INT(judged.rule_line, 5);
	CHECK(judged.rule_file[0] != '\0');
	CHECK_STR(judged.profile, "dev");
	CHECK_INT(judge("evil.a.com", 443), PROXY_DENIED_RULE);
	CHECK_STR(judged.rule, "evil.a.com:443");
	CHECK_INT(judged.rule_line, 6);
	CHECK_INT(judge("evil.a.com", 80), PROXY_ALLOWED);
	CHECK_INT(judge("b.com", 443), PROXY_DENIED_UNLISTED);
	CHECK_INT(judged.decision, DECISION_DENY);
	CHECK_STR(judged.rule, "");
	CHECK_INT(judge("10.0.0.1", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(judge("localhost", 443), PROXY_DENIED_PRIVATE);
	rules_done(rules);
}

TEST(the_address_dialled_is_looked_at_again)
{
	scoped_world w;

	REQUIRE(start(&w,
		      PROFILE "domains = { 'a.com' = 'allow', '10.1.0.0/16:80' = 'allow', "
			      "'93.0.0.0/8' = 'deny' }\n",
		      false));
	CHECK_INT(judge_address("192.0.32.1", 443), PROXY_ALLOWED);
	CHECK_INT(judge_address("10.1.2.3", 80), PROXY_ALLOWED);
	CHECK_INT(judge_address("10.1.2.3", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(judge_address("127.0.0.1", 80), PROXY_DENIED_PRIVATE);
	CHECK_INT(judge_address("169.254.169.254", 80), PROXY_DENIED_PRIVATE);
	CHECK_INT(judge_address("64:ff9b::a01:203", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(judge_address("93.184.216.34", 443), PROXY_DENIED_RULE);
	CHECK_STR(judged.rule, "93.0.0.0/8");
	rules_done(rules);
}

TEST(somebody_is_asked_only_where_there_is_a_decider)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = { 'b.com' = 'deny' }\n", true));
	CHECK_INT(judge("a.com", 443), PROXY_DENIED_UNLISTED);
	CHECK_INT(judged.decision, DECISION_ASK);
	CHECK(!may_look_up("a.com")); /* the name would be out before anybody said yes */
	CHECK_INT(judge("b.com", 443), PROXY_DENIED_RULE);
	CHECK_INT(judged.decision, DECISION_DENY);
	CHECK_INT(judge("127.0.0.1", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(judged.decision, DECISION_DENY);
	rules_done(rules);
}

TEST(live_rules_count_from_the_next_question_on)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = { 'a.com' = 'allow' }\n", false));
	CHECK_INT(judge("b.com", 443), PROXY_DENIED_UNLISTED);
	CHECK_INT(rules_added(rules), 0);
	CHECK_INT(add(true, "B.com."), 0);
	CHECK_INT(rules_added(rules), 1);
	CHECK_INT(judge("b.com", 443), PROXY_ALLOWED);
	CHECK_STR(judged.rule, "b.com");
	CHECK_STR(judged.rule_file, "added while running");
	CHECK_INT(judge("a.com", 443), PROXY_ALLOWED);
	CHECK_INT(add(false, "a.com"), 0);
	CHECK_INT(judge("a.com", 443), PROXY_DENIED_RULE);
	/* A deny is not lifted by an allow that comes later. */
	CHECK_INT(add(true, "a.com"), 0);
	CHECK_INT(judge("a.com", 443), PROXY_DENIED_RULE);
	CHECK_INT(add(true, "*"), 0);
	CHECK_INT(judge("c.com", 443), PROXY_ALLOWED);
	CHECK_INT(judge("127.0.0.1", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(add(true, "127.0.0.1:443"), 0);
	CHECK_INT(judge("127.0.0.1", 443), PROXY_ALLOWED);
	CHECK_INT(judge_address("127.0.0.1", 443), PROXY_ALLOWED);
	CHECK_INT(add(false, "93.0.0.0/8"), 0);
	CHECK_INT(judge_address("93.184.216.34", 443), PROXY_DENIED_RULE);
	rules_done(rules);
}

/* Full by the profile, managed by what narrows it: a live deny must not be lost there. */
TEST(a_live_deny_counts_over_a_full_network)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE, false));
	CHECK_INT(judge("a.com", 443), PROXY_ALLOWED);
	CHECK_INT(add(false, "a.com"), 0);
	CHECK_INT(judge("a.com", 443), PROXY_DENIED_RULE);
	CHECK_INT(judge("b.com", 443), PROXY_ALLOWED);
	rules_done(rules);
}

TEST(bad_live_rules_change_nothing)
{
	struct err e = ERR_INIT;
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = { 'a.com' = 'allow' }\n", false));
	CHECK_INT(add(true, "http://x.com/"), -ERR_SYNTAX);
	CHECK_INT(add(true, ""), -ERR_SYNTAX);
	CHECK_INT(add(true, "a b"), -ERR_SYNTAX);
	CHECK_INT(add(false, "*"), -ERR_SYNTAX);
	CHECK_INT(judge("a.com", 443), PROXY_ALLOWED);
	CHECK_INT(judge("b.com", 443), PROXY_DENIED_UNLISTED);
	/* The same again takes no room; others do until there is none. */
	for (int i = 0; i < 3000; i++)
		CHECK_INT(add(true, "same.com"), 0);
	int added = 0;
	for (; added < 3000; added++) {
		char pattern[300];

		(void)snprintf(pattern, sizeof(pattern), "n%d.%0200d.com", added, 0);
		/* A label has 63 bytes at most. */
		for (size_t i = 60; i < strlen(pattern) - 4; i += 60)
			pattern[i] = '.';
		if (rules_add(rules, true, str_of(pattern), &e) < 0)
			break;
	}
	CHECK_INT(added, 1023);
	CHECK_INT(e.code, ERR_LIMIT);
	CHECK_INT(judge("same.com", 443), PROXY_ALLOWED);
	CHECK_INT(add(false, "same.com"), 0);
	CHECK_INT(judge("same.com", 443), PROXY_DENIED_RULE);
	rules_done(rules);
}

TEST(a_name_is_looked_up_when_some_port_of_it_passes)
{
	scoped_world w;

	REQUIRE(start(&w,
		      PROFILE "domains = { 'a.com:8080' = 'allow', "
			      "'b.com' = 'allow', 'b.com:1-8000' = 'deny', 'c.com' = 'deny', "
			      "'*.d.com:22-25' = 'allow', 'x.d.com:22-24' = 'deny', "
			      "'y.d.com:20-30' = 'deny', "
			      "'z.com:8000-9000' = 'allow', 'z.com:9000' = 'deny' }\n",
		      false));
	CHECK(may_look_up("a.com"));
	CHECK(may_look_up("b.com"));
	CHECK(!may_look_up("c.com"));
	CHECK(may_look_up("w.d.com"));
	CHECK(may_look_up("x.d.com"));
	CHECK(!may_look_up("y.d.com"));
	CHECK(may_look_up("z.com"));
	CHECK(!may_look_up("d.com"));
	CHECK(!may_look_up("e.com"));
	CHECK_INT(add(true, "e.com:7"), 0);
	CHECK(may_look_up("e.com"));
	rules_done(rules);
}

TEST(limited_mode_names_the_line_that_says_so)
{
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = { 'a.com' = 'allow' }\nmode = 'limited'\n", false));
	CHECK(rules_are_limited(rules));
	CHECK(rules_pass_method(rules, STR("GET")));
	CHECK(!rules_pass_method(rules, STR("POST")));
	rules_judge_method(rules, STR("POST"), &judged);
	CHECK_INT(judged.reason, PROXY_DENIED_METHOD);
	CHECK_INT(judged.rule_line, 5);
	rules_judge_method(rules, STR(""), &judged);
	CHECK_INT(judged.reason, PROXY_DENIED_TUNNEL);
	rules_judge_method(rules, STR("HEAD"), &judged);
	CHECK_INT(judged.reason, PROXY_ALLOWED);
	rules_done(rules);
}

/* ---- Words --------------------------------------------------------------------------- */

static char text[REFUSAL_ANSWER_BYTES];

static const char *words(struct refusal r)
{
	struct buf b = BUF_OVER(text);

	r.judgement = &judged;
	refusal_text(&r, &b);
	return text;
}

TEST(refusals_say_what_why_and_how_to_allow_it)
{
	struct target t;
	struct ip ip;
	scoped_world w;

	REQUIRE(start(&w,
		      PROFILE "[permissions.dev.network.domains]\n'a.com' = 'allow'\n"
			      "'**.evil.com' = 'deny'\n",
		      false));
	t = target("b.com", 443);
	rules_judge(rules, &t, &judged);
	CHECK_STR(words((struct refusal){ .reason = judged.reason, .target = &t }),
		  "blocked: b.com:443 is not allowed by any rule of profile dev; to allow it: "
		  "--allow-host b.com, or \"b.com\" = \"allow\" in "
		  "[permissions.dev.network.domains] at user.toml:4");
	t = target("2001:4860::1", 8443);
	rules_judge(rules, &t, &judged);
	CHECK_STR(
		words((struct refusal){ .reason = judged.reason, .target = &t }),
		"blocked: [2001:4860::1]:8443 is not allowed by any rule of profile dev; to allow "
		"it: --allow-host [2001:4860::1]:8443, or \"[2001:4860::1]:8443\" = \"allow\" in "
		"[permissions.dev.network.domains] at user.toml:4");
	t = target("x.evil.com", 443);
	rules_judge(rules, &t, &judged);
	(void)snprintf(judged.rule_file, sizeof(judged.rule_file), "/c.toml");
	CHECK_STR(words((struct refusal){ .reason = judged.reason, .target = &t }),
		  "blocked: x.evil.com:443 is denied by the rule \"**.evil.com\" (/c.toml:6); "
		  "to allow it: take away the deny rule \"**.evil.com\" (/c.toml:6)");
	t = target("a.com", 443);
	REQUIRE(ip_parse(STR("10.0.0.7"), &ip));
	rules_judge_address(rules, &ip, 443, &judged);
	CHECK_STR(words((struct refusal){ .reason = judged.reason, .target = &t, .address = &ip }),
		  "blocked: a.com:443 resolves to 10.0.0.7, which is not a public address and has "
		  "no rule of its own; to allow it: --allow-host 10.0.0.7, or \"10.0.0.7\" = "
		  "\"allow\" in [permissions.dev.network.domains] at user.toml:4");
	CHECK_STR(words((struct refusal){ .reason = PROXY_FAILED_LOOKUP, .target = &t }),
		  "failed: a.com:443 is allowed, but the name could not be resolved (DNS)");
	CHECK_STR(words((struct refusal){
			  .reason = PROXY_FAILED_LOOKUP, .target = &t, .os_error = ENOENT }),
		  "failed: a.com:443 is allowed, but there is no such name (DNS)");
	CHECK_STR(words((struct refusal){
			  .reason = PROXY_FAILED_UPSTREAM, .target = &t, .os_error = 407 }),
		  "failed: a.com:443 is allowed, but the upstream proxy did not connect to it (its "
		  "status: 407)");
	CHECK_STR(words((struct refusal){ .reason = PROXY_BAD_REQUEST,
					  .target = &t,
					  .detail = STR("two lengths") }),
		  "failed: the request is malformed and was not passed on: two lengths");
	rules_done(rules);
}

/* A table can't be opened twice, and one in {} or of dotted keys not at all. */
TEST(the_line_that_is_told_fits_into_the_file)
{
	static const struct {
		const char *config, *said;
	} cases[] = {
		{ PROFILE "domains = { 'a.com' = 'allow' }\n",
		  ", or \"b.com\" = \"allow\" inside domains = { ... } at user.toml:4" },
		{ PROFILE "domains.'a.com' = 'allow'\n",
		  ", or domains.\"b.com\" = \"allow\" below user.toml:4" },
		{ PROFILE "mode = 'full'\n",
		  ", or \"b.com\" = \"allow\" in [permissions.dev.network.domains], a new "
		  "table of user.toml" },
		{ "default_permissions = 'dev'\n[permissions.dev]\n"
		  "network = { enabled = true, mode = 'full' }\n",
		  ", or domains.\"b.com\" = \"allow\" inside network = { ... } at user.toml:3" },
	};
	struct target t = target("b.com", 443);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_world w;
		const char *said;

		REQUIRE(start(&w, cases[i].config, false));
		rules_judge(rules, &t, &judged);
		said = strstr(words((struct refusal){ .reason = judged.reason, .target = &t }),
			      ", or ");
		CHECK_STR(said ? said : "nothing", cases[i].said);
		rules_done(rules);
	}
}

TEST(what_limits_is_quoted_once_and_named_with_its_line)
{
	struct target t = target("a.com", 443);
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = { 'a.com' = 'allow' }\nmode = 'limited'\n", false));
	rules_judge_method(rules, STR("POST"), &judged);
	CHECK_STR(words((struct refusal){
			  .reason = judged.reason, .target = &t, .method = STR("POST") }),
		  "blocked: a.com:443 may not be sent POST: only GET, HEAD and OPTIONS pass with "
		  "mode = \"limited\" (user.toml:5); to allow it: mode = \"full\" in place of "
		  "mode = \"limited\" (user.toml:5)");
	rules_done(rules);
}

/* What the words say is tried: with that rule the same host is allowed. */
TEST(the_way_that_is_told_works)
{
	static const struct {
		const char *host;
		uint16_t port;
	} cases[] = {
		{ "b.com", 22 },      { "b.com", 443 },	     { "2001:4860::1", 8443 },
		{ "10.0.0.1", 5432 }, { "10.0.0.1", 80 },    { "::1", 443 },
		{ "fd00::1", 9000 },  { "localhost", 8080 },
	};
	scoped_world w;

	REQUIRE(start(&w, PROFILE "domains = {}\n", false));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct target t = target(cases[i].host, cases[i].port);
		const char *at, *option = "--allow-host ";

		rules_judge(rules, &t, &judged);
		CHECK_INT(judged.decision, DECISION_DENY);
		at = words((struct refusal){ .reason = judged.reason, .target = &t });
		while ((at = strstr(at, option))) {
			at += strlen(option);
			char pattern[300];
			(void)snprintf(pattern, sizeof(pattern), "%.*s", (int)strcspn(at, " ,"),
				       at);
			CHECK_INT(add(true, pattern), 0);
		}
		rules_judge(rules, &t, &judged);
		CHECK_INT(judged.decision, DECISION_ALLOW);
	}
	rules_done(rules);
}

TEST(nothing_from_inside_ends_a_line)
{
	struct target t = { .port = 80 };
	struct refusal r = {
		.reason = PROXY_DENIED_METHOD,
		.target = &t,
		.judgement = &judged,
		.method = STR("GE\r\nx-evil: 1\r\n\r\n\x1b[2J"),
		.detail = STR("a\r\nb\x7f\xff\xe2\x80\xae"),
	};

	judged = (struct judgement){ .decision = DECISION_DENY, .rule = "a\r\nb", .rule_line = 3 };
	(void)snprintf(t.name, sizeof(t.name), "a\r\nb\x1b[0m");
	(void)snprintf(judged.rule_file, sizeof(judged.rule_file), "x\ny");
	(void)snprintf(judged.profile, sizeof(judged.profile), "p\rq");
	for (unsigned reason = PROXY_DENIED_RULE; reason <= PROXY_BAD_TOKEN; reason++)
		for (unsigned json = 0; json < 2; json++) {
			struct buf b = BUF_OVER(text);
			const char *body, *c;

			r.reason = (enum proxy_reason)reason;
			refusal_answer(&r, json, false, false, &b);
			CHECK_INT(b.failed, ERR_OK);
			body = strstr(text, "\r\n\r\n");
			REQUIRE(body);
			CHECK(!strstr(text, "x-evil: 1\r\n"));
			for (c = body + 4; c[0] && c[1]; c++)
				REQUIRE((unsigned char)*c >= 0x20 && *c != 0x7f);
			CHECK_INT(*c, '\n');
		}
}

static struct str body_of(const struct buf *b)
{
	const char *end = strstr(b->p, "\r\n\r\n");

	return end ? str_from(buf_str(b), (size_t)(end + 4 - b->p)) : STR_EMPTY;
}

TEST(answers_have_their_length_and_parse)
{
	struct target t = target("b.com", 443);
	struct refusal r = { .reason = PROXY_DENIED_UNLISTED, .target = &t };
	struct buf b = BUF_OVER(text);
	scoped_arena a = ARENA_INIT(1 << 16);
	struct err e = ERR_INIT;
	const struct json *json;
	char length[64];

	refusal_answer(&r, true, false, true, &b);
	CHECK(strstr(text, "HTTP/1.1 403 Forbidden by Cordon\r\n") == text);
	CHECK(strstr(text, "\r\nx-proxy-error: blocked-by-allowlist\r\n"));
	CHECK(strstr(text, "\r\nconnection: close\r\n"));
	(void)snprintf(length, sizeof(length), "\r\ncontent-length: %zu\r\n", body_of(&b).len);
	CHECK(strstr(text, length));
	json = json_parse(&a, body_of(&b), &e);
	REQUIRE(json);
	CHECK(str_is(json_find(json, "status")->string, "blocked"));
	CHECK(str_is(json_find(json, "host")->string, "b.com"));
	CHECK_INT(json_find(json, "port")->integer, 443);
	CHECK(str_is(json_find(json, "reason")->string, "unlisted"));
	CHECK(str_is(json_find(json, "code")->string, "blocked-by-allowlist"));
	CHECK(str_is(json_find(json, "allow")->string, "--allow-host b.com"));
	CHECK_INT(json_find(json, "rule")->type, JSON_NULL);
	/* Without the body the length is that of the body. */
	buf_clear(&b);
	refusal_answer(&r, true, true, false, &b);
	CHECK_INT(body_of(&b).len, 0);
	CHECK(strstr(text, length));
	CHECK(!strstr(text, "connection: close"));
}

TEST(the_longest_of_everything_fits)
{
	struct target t = { .port = 65535 };
	static char method[4096];
	struct refusal r = { .target = &t, .judgement = &judged };
	static const char fill[] = { 'x', '"', '\\', '\n', '\xff' };

	for (size_t i = 0; i < COUNT_OF(fill); i++) {
		memset(t.name, fill[i], sizeof(t.name) - 1);
		memset(judged.rule, fill[i], sizeof(judged.rule) - 1);
		memset(judged.rule_file, fill[i], sizeof(judged.rule_file) - 1);
		memset(judged.profile, fill[i], sizeof(judged.profile) - 1);
		memset(method, fill[i], sizeof(method));
		r.method = r.detail = (struct str){ method, sizeof(method) };
		for (unsigned reason = PROXY_DENIED_RULE; reason <= PROXY_BAD_TOKEN; reason++) {
			struct buf b = BUF_OVER(text);

			r.reason = (enum proxy_reason)reason;
			refusal_answer(&r, true, false, true, &b);
			CHECK_INT(b.failed, ERR_OK);
		}
	}
}

TEST(policy_network_and_client_have_different_answers)
{
	CHECK_INT(refusal_status(PROXY_DENIED_PRIVATE), 403);
	CHECK_INT(refusal_status(PROXY_FAILED_LOOKUP), 502);
	CHECK_INT(refusal_status(PROXY_FAILED_TIMEOUT), 504);
	CHECK_INT(refusal_status(PROXY_FAILED_RESOURCES), 503);
	CHECK_INT(refusal_status(PROXY_BAD_REQUEST), 400);
	CHECK_INT(refusal_status(PROXY_BAD_TOKEN), 407);
	CHECK_INT(refusal_socks_reply(PROXY_DENIED_UNLISTED), 2);
	CHECK_INT(refusal_socks_reply(PROXY_FAILED_LOOKUP), 4);
	CHECK_INT(refusal_socks_reply(PROXY_FAILED_REFUSED), 5);
	CHECK_INT(refusal_socks_reply(PROXY_FAILED_UNREACHABLE), 3);
	CHECK_INT(refusal_socks_reply(PROXY_FAILED_TIMEOUT), 6);
	CHECK_INT(refusal_errno(PROXY_DENIED_RULE), EACCES);
	CHECK_INT(refusal_errno(PROXY_FAILED_REFUSED), ECONNREFUSED);
	CHECK_INT(refusal_errno(PROXY_FAILED_TIMEOUT), ETIMEDOUT);
	CHECK_STR(refusal_code(PROXY_DENIED_RULE), "blocked-by-denylist");
	CHECK_STR(refusal_code(PROXY_FAILED_LOOKUP), "dns-failure");
	CHECK_STR(proxy_reason_name(200), "?");
	CHECK_STR(proxy_protocol_name(200), "?");
}
