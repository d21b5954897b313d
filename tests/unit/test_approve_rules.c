/* SPDX-License-Identifier: MIT */
/* [[approve]]: what a rule allows, denies and leaves to somebody. */
#include "approve/broker.h"
#include "approve/rules.h"
#include "plan/plan.h"
#include "test.h"
#include "world.h"

enum { ALL_SCOPES = (1 << (SCOPE_ALWAYS + 1)) - 1 };

#define DEV   "default_permissions = 'dev'\n[permissions.dev]\n[permissions.other]\n"
#define ALLOW "answer = 'allow'\n"
#define ASK   "answer = 'ask'\n"
#define DENY  "answer = 'deny'\n"
#define RULE  "[[approve]]\n"

static const char host_text[] =
	"d /repo\nd /home/me/.cache/pip\nd /data/x\nl /link -> /data\nd /opt\n";

/* "allow 1 session", "deny 2" with the offers in which something is denied, "ask 0", "none 0" */
static const char *judge(const char *rules, const struct ask *ask)
{
	static const char *const words[] = { "none", "allow", "ask", "deny" };
	static char text[128];
	const struct approve_rules *compiled;
	struct ruling ruling;
	scoped_buf user = BUF_INIT(1 << 16);
	scoped_world w;

	world_init(&w, host_text, "/repo");
	buf_printf(&user, "%s%s", DEV, rules);
	w.user = user.p;
	if (!world_plan(&w) || approve_rules_new(&w.a, &w.in, &compiled, &w.e) < 0) {
		(void)snprintf(text, sizeof(text), "%.120s", w.e.text);
		return text;
	}
	approve_rules_judge(compiled, ask, &ruling);
	if (ruling.answer == RULED_ALLOW)
		(void)snprintf(text, sizeof(text), "allow %zu %s", ruling.offer,
			       grant_scope_name(ruling.scope));
	else
		(void)snprintf(text, sizeof(text), "%s %u", words[ruling.answer],
			       (unsigned)ruling.denied_offers);
	return text;
}

static const char *path(const char *rules, const char *file, const char *dir)
{
	struct ask ask = {
		.kind = ASK_WRITE,
		.subject = str_of(file),
		.offers = { { { ASK_WRITE, str_of(file), false }, ALL_SCOPES },
			    { { ASK_WRITE, str_of(dir), true },
			      ALL_SCOPES & ~SCOPE_BIT(SCOPE_ONCE) } },
		.offer_count = 2,
	};

	return judge(rules, &ask);
}

static const char *host(const char *rules, const char *with_port, const char *without)
{
	struct ask ask = {
		.kind = ASK_CONNECT,
		.subject = str_of(with_port),
		.offers = { { { ASK_CONNECT, str_of(with_port), false }, ALL_SCOPES },
			    { { ASK_CONNECT, str_of(without), false }, ALL_SCOPES } },
		.offer_count = 2,
	};

	return judge(rules, &ask);
}

static const char *unix_socket(const char *rules, const char *at)
{
	struct ask ask = { .kind = ASK_UNIX_SOCKET,
			   .subject = str_of(at),
			   .offers = { { { ASK_UNIX_SOCKET, str_of(at), false }, ALL_SCOPES } },
			   .offer_count = 1 };

	return judge(rules, &ask);
}

TEST(an_allow_is_for_the_narrowest_offer_that_it_covers)
{
	CHECK_STR(
		path(RULE "write = '~/.cache/**'\n" ALLOW, "/home/me/.cache/f", "/home/me/.cache"),
		"allow 0 run");
	CHECK_STR(path(RULE "write = '~/.cache'\n" ALLOW, "/home/me/.cache/f", "/home/me/.cache"),
		  "allow 0 run");
	CHECK_STR(path(RULE "write = '/opt/*.log'\n" ALLOW, "/opt/a.log", "/opt"), "allow 0 run");
	CHECK_STR(path(RULE "write = '/opt/*.log'\n" ALLOW, "/opt/a.txt", "/opt"), "none 0");
	CHECK_STR(path(RULE "write = '/opt'\n" ALLOW, "/optics/a", "/optics"), "none 0");
	CHECK_STR(path(RULE "write = '/opt/x'\n" ALLOW, "/opt/y", "/opt"), "none 0");
}

TEST(an_allow_that_covers_only_a_part_of_the_directory_is_not_for_it)
{
	struct ask ask = { .kind = ASK_WRITE,
			   .subject = STR("/opt/x/new"),
			   .offers = { { { ASK_WRITE, STR("/opt/x"), true }, ALL_SCOPES } },
			   .offer_count = 1 };

	CHECK_STR(judge(RULE "write = '/opt/x/new'\n" ALLOW, &ask), "none 0");
	CHECK_STR(judge(RULE "write = '/opt/x/*'\n" ALLOW, &ask), "none 0");
	CHECK_STR(judge(RULE "write = '/opt/x/**'\n" ALLOW, &ask), "allow 0 run");
	CHECK_STR(judge(RULE "write = '/opt/*'\n" ALLOW, &ask), "allow 0 run");
}

TEST(a_deny_wins_over_an_ask_and_an_ask_over_an_allow)
{
#define ALL_OPT RULE "write = '/opt/**'\n"
	CHECK_STR(path(ALL_OPT ALLOW, "/opt/f", "/opt"), "allow 0 run");
	CHECK_STR(path(ALL_OPT ALLOW ALL_OPT ASK, "/opt/f", "/opt"), "ask 0");
	CHECK_STR(path(ALL_OPT ALLOW ALL_OPT DENY ALL_OPT ASK, "/opt/f", "/opt"), "deny 3");
	CHECK_STR(path(ALL_OPT DENY, "/srv/f", "/srv"), "none 0");
}

TEST(what_is_denied_in_a_directory_closes_it)
{
	/* The file may be had, the directory only for this one call. */
	CHECK_STR(path(ALL_OPT ALLOW RULE "write = '/opt/secret'\n" DENY, "/opt/f", "/opt"),
		  "allow 0 run");
	CHECK_STR(path(RULE "write = '/opt/secret'\n" DENY, "/opt/f", "/opt"), "none 2");
	CHECK_STR(path(RULE "write = '/**/*.key'\n" DENY, "/opt/f", "/opt"), "none 2");
	CHECK_STR(path(RULE "write = '/**/*.key'\n" DENY, "/opt/f.key", "/opt"), "deny 3");
	CHECK_STR(path(RULE "write = '/srv/*.key'\n" DENY, "/opt/f", "/opt"), "none 0");
}

TEST(an_ask_in_a_directory_keeps_it_from_being_allowed)
{
	struct ask ask = { .kind = ASK_WRITE,
			   .subject = STR("/opt/new"),
			   .offers = { { { ASK_WRITE, STR("/opt"), true }, ALL_SCOPES } },
			   .offer_count = 1 };

	CHECK_STR(judge(ALL_OPT ALLOW RULE "write = '/opt/secret'\n" ASK, &ask), "none 0");
	CHECK_STR(judge(ALL_OPT ALLOW "scope = 'once'\n" RULE "write = '/opt/secret'\n" ASK, &ask),
		  "allow 0 once");
}

TEST(a_scope_is_given_only_where_it_can_be_had)
{
	CHECK_STR(path(ALL_OPT ALLOW "scope = 'once'\n", "/opt/f", "/opt"), "allow 0 once");
	CHECK_STR(path(ALL_OPT ALLOW "scope = 'session'\n", "/opt/f", "/opt"), "allow 0 session");

	struct ask ask = { .kind = ASK_WRITE,
			   .subject = STR("/opt/new"),
			   .offers = { { { ASK_WRITE, STR("/opt"), true }, SCOPE_BIT(SCOPE_RUN) } },
			   .offer_count = 1 };
	CHECK_STR(judge(ALL_OPT ALLOW "scope = 'session'\n", &ask), "allow 0 run");
	CHECK_STR(judge(ALL_OPT ALLOW "scope = 'once'\n", &ask), "none 0");
}

TEST(a_rule_is_for_its_profile)
{
	CHECK_STR(path(ALL_OPT ALLOW "profile = 'dev'\n", "/opt/f", "/opt"), "allow 0 run");
	CHECK_STR(path(ALL_OPT ALLOW "profile = 'other'\n", "/opt/f", "/opt"), "none 0");
	CHECK_STR(path(ALL_OPT ALLOW "profile = ':workspace'\n", "/opt/f", "/opt"), "none 0");
}

TEST(a_deny_follows_links_and_an_allow_does_not)
{
	CHECK_STR(path(RULE "write = '/link/**'\n" DENY, "/data/x/f", "/data/x"), "deny 3");
	CHECK_STR(path(RULE "write = '/link/**'\n" ASK, "/data/x/f", "/data/x"), "ask 0");
	CHECK_STR(path(RULE "write = '/link/**'\n" ALLOW, "/data/x/f", "/data/x"), "none 0");
	CHECK_STR(path(RULE "write = '/data/**'\n" ALLOW, "/data/x/f", "/data/x"), "allow 0 run");
}

TEST(hosts_are_matched_as_in_domains)
{
#define HOSTS(pattern) RULE "host = '" pattern "'\n"
	CHECK_STR(host(HOSTS("*.a.com:443") ALLOW, "x.a.com:443", "x.a.com"), "allow 0 run");
	CHECK_STR(host(HOSTS("*.a.com:443") ALLOW, "x.a.com:80", "x.a.com"), "none 0");
	CHECK_STR(host(HOSTS("*.a.com") ALLOW, "a.com:80", "a.com"), "none 0");
	CHECK_STR(host(HOSTS("*") ALLOW, "a.com:80", "a.com"), "allow 0 run");
	CHECK_STR(host(HOSTS("a.com:80") DENY, "a.com:80", "a.com"), "deny 3");
	/* Another port: that one may be had, but not every port. */
	CHECK_STR(host(HOSTS("a.com:80") DENY, "a.com:443", "a.com"), "none 2");
	CHECK_STR(host(HOSTS("8.8.8.0/24") DENY, "8.8.8.8:53", "8.8.8.8"), "deny 3");
	CHECK_STR(host(HOSTS("8.8.8.0/24") DENY, "[64:ff9b::808:808]:53", "64:ff9b::808:808"),
		  "deny 3");
	CHECK_STR(host(HOSTS("8.8.8.0/24") ALLOW, "[64:ff9b::808:808]:53", "64:ff9b::808:808"),
		  "none 0");
}

TEST(sockets_are_matched_by_their_path)
{
#define SOCKETS(pattern) RULE "socket = '" pattern "'\n"
	CHECK_STR(
		unix_socket(SOCKETS("/run/user/*/pulse/native") ALLOW, "/run/user/1/pulse/native"),
		"allow 0 run");
	CHECK_STR(unix_socket(SOCKETS("/run/docker.sock") DENY, "/run/docker.sock"), "deny 1");
	CHECK_STR(unix_socket(SOCKETS("/run/docker.sock") DENY, "/run/other.sock"), "none 0");
	CHECK_STR(unix_socket(RULE "write = '/run/**'\n" ALLOW, "/run/x"), "none 0");
}

TEST(an_escalation_is_never_answered_by_a_rule)
{
	struct ask ask = { .kind = ASK_ESCALATE,
			   .subject = STR_EMPTY,
			   .offers = { { { ASK_ESCALATE, STR_EMPTY, false }, ALL_SCOPES } },
			   .offer_count = 1 };

	CHECK_STR(judge(RULE "write = '/**'\n" ALLOW HOSTS("*") ALLOW, &ask), "none 0");
}

TEST(where_only_once_can_be_had_an_allow_for_longer_is_enough)
{
	struct ask ask = {
		.kind = ASK_WRITE,
		.subject = STR("/opt/x/new"),
		.offers = { { { ASK_WRITE, STR("/opt/x/new"), false }, SCOPE_BIT(SCOPE_ONCE) },
			    { { ASK_WRITE, STR("/opt/x"), true }, SCOPE_BIT(SCOPE_RUN) } },
		.offer_count = 2,
	};

	/* What lasts is better, if the rule covers it. */
	CHECK_STR(judge(RULE "write = '/opt/x/**'\n" ALLOW, &ask), "allow 1 run");
	CHECK_STR(judge(RULE "write = '/opt/x/new'\n" ALLOW, &ask), "allow 0 once");
	CHECK_STR(judge(RULE "write = '/opt/x/new'\n" ALLOW "scope = 'session'\n", &ask),
		  "allow 0 once");
	CHECK_STR(judge(RULE "write = '/opt/x/other'\n" ALLOW, &ask), "none 0");
	CHECK_STR(
		judge(RULE "write = '/opt/x/new'\n" ALLOW RULE "write = '/opt/x/new'\n" DENY, &ask),
		"deny 3");
}

static bool is_too_wide(const char *pattern)
{
	scoped_buf user = BUF_INIT(1 << 16);
	scoped_world w;
	bool is_wide;

	world_init(&w, host_text, "/repo");
	buf_printf(&user, "%s" RULE "write = '%s'\n" ALLOW, DEV, pattern);
	w.user = user.p;
	if (!world_plan(&w)) {
		CHECK(false);
		return false;
	}
	is_wide = approve_rules_check(&w.a, &w.in, &w.e) < 0;
	CHECK(!is_wide || (w.e.cause == CAUSE_APPROVAL_TOO_WIDE && w.e.place.line == 4));
	return is_wide;
}

TEST(an_allow_covers_no_home_and_nothing_above_one)
{
	static const char *const wide[] = { "/",	"/**",	   "/*",       "~",
					    "~/**",	"~/*",	   "~/.*",     "/home",
					    "/home/**", "/home/*", "/home/me", "/home/me/**" };
	static const char *const narrow[] = {
		"~/.cache",	     "~/.cache/**", "/home/me/.cache/**",
		"/home/*/.cache/**", "~/*.log",	    "~/.profile",
		"/opt/**",	     "/homes"
	};

	for (size_t i = 0; i < COUNT_OF(wide); i++)
		if (!is_too_wide(wide[i])) {
			fprintf(stderr, "# '%s'\n", wide[i]);
			CHECK(false);
		}
	for (size_t i = 0; i < COUNT_OF(narrow); i++)
		if (is_too_wide(narrow[i])) {
			fprintf(stderr, "# '%s'\n", narrow[i]);
			CHECK(false);
		}
}

/* ---- In the broker ---------------------------------------------------------------------------- */

struct seen {
	char log[256]; /* "rule+ tty? tty-" */
	struct ask asked;
};

static void note(struct seen *seen, const char *by, const char *what)
{
	size_t used = strlen(seen->log);

	(void)snprintf(seen->log + used, sizeof(seen->log) - used, "%s%s%s", used ? " " : "", by,
		       what);
}

static bool see_ask(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	struct seen *seen = self;

	(void)deadline_ms;
	seen->asked = *ask;
	note(seen, "tty", "?");
	return true;
}

static void see_decision(void *user, const struct ask *ask, const struct answer *answer)
{
	(void)ask;
	note(user, answer->by, answer->is_allow ? "+" : "-");
}

static struct ask write_request(uint64_t id, const char *file, const char *dir)
{
	return (struct ask){
		.id = id,
		.kind = ASK_WRITE,
		.subject = str_of(file),
		.named = STR_EMPTY,
		.program = STR_EMPTY,
		.cwd = STR_EMPTY,
		.rule = STR_EMPTY,
		.reason = STR_EMPTY,
		.offers = { { { ASK_WRITE, str_of(file), false }, ALL_SCOPES },
			    { { ASK_WRITE, str_of(dir), true }, ALL_SCOPES } },
		.offer_count = 2,
	};
}

TEST(the_broker_asks_the_rules_before_it_asks_somebody)
{
	struct seen seen = { .log = "" };
	struct decider decider = { .by = "tty", .ask = see_ask, .self = &seen };
	struct broker_options options = { .decider = &decider,
					  .scopes = ALL_SCOPES,
					  .events = { .user = &seen, .decided = see_decision } };
	const struct grant opt = { .kind = ASK_WRITE, .subject = STR("/opt"), .is_dir = true };
	struct answer answer = { .is_allow = true, .grant = opt, .scope = SCOPE_RUN };
	struct broker *b;
	struct ask ask;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.user = DEV RULE "write = '/opt/secret'\n" DENY RULE "write = '/data/**'\n" ALLOW;
	REQUIRE(world_plan(&w));
	REQUIRE(approve_rules_new(&w.a, &w.in, &options.rules, &w.e) == 0);
	REQUIRE(broker_new(&options, &b, &w.e) == 0);

	ask = write_request(1, "/data/x/f", "/data/x");
	CHECK_INT(broker_ask(b, &ask, 1, &answer), 0);
	CHECK(str_is(answer.grant.subject, "/data/x/f") && answer.scope == SCOPE_RUN);
	ask = write_request(2, "/opt/secret", "/opt");
	CHECK_INT(broker_ask(b, &ask, 1, &answer), 0);
	CHECK(strstr(answer.message.p, "user.toml:4") != NULL);
	CHECK_STR(seen.log, "rule+ rule-");

	/* In /opt a rule denies something: it can be had for one call alone. */
	ask = write_request(3, "/opt/f", "/opt");
	CHECK_INT(broker_ask(b, &ask, 1, &answer), 1);
	CHECK_INT(seen.asked.offer_count, 2);
	CHECK_INT(seen.asked.offers[0].scopes, ALL_SCOPES);
	CHECK_INT(seen.asked.offers[1].scopes, SCOPE_BIT(SCOPE_ONCE));
	answer = (struct answer){
		.is_allow = true, .grant = opt, .scope = SCOPE_RUN, .message = STR_EMPTY
	};
	broker_decide(b, 3, &answer, 2);
	CHECK_INT(broker_counts(b)->wrong, 1);
	answer = (struct answer){ .message = STR("no"), .grant = { .subject = STR_EMPTY } };
	broker_decide(b, 3, &answer, 2);
	/* The deny holds, though the offers that were asked about are not those that come. */
	ask = write_request(4, "/opt/f", "/opt");
	CHECK_INT(broker_ask(b, &ask, 3, &answer), 0);
	CHECK_STR(seen.log, "rule+ rule- tty? tty- cache-");
	broker_free(b);
}
