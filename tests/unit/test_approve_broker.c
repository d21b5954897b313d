/* SPDX-License-Identifier: MIT */
/* What becomes of a request, with a decider that the test answers for and a clock that it sets. */
#include "approve/broker.h"
#include "test.h"

enum { MAX_LOG = 8192, SECOND = 1000, MINUTE = 60 * SECOND };

/* What happened, one letter and an id each: "a7 A7 d8" */
struct side {
	struct broker *b;
	char log[MAX_LOG];
	struct answer last; /* as told; its strings are gone */
	char grant[256], by[32], message[256];
	size_t asked;
	bool refuses;			  /* ask() gives false */
	const struct answer *at_once;	  /* what ask() answers before it returns */
	const struct answer *in_withdraw; /* what withdraw() answers */
	uint64_t withdraws_in_answered;
	uint64_t now;
};

static void note(struct side *s, const char *what, uint64_t id)
{
	size_t used = strlen(s->log);

	snprintf(s->log + used, sizeof(s->log) - used, "%s%s%" PRIu64, used ? " " : "", what, id);
}

static void copy(char *to, size_t size, struct str from)
{
	snprintf(to, size, "%.*s", (int)from.len, from.p);
}

static void keep_answer(struct side *s, const struct answer *answer)
{
	s->last = *answer;
	copy(s->grant, sizeof(s->grant), answer->grant.subject);
	copy(s->message, sizeof(s->message), answer->message);
	copy(s->by, sizeof(s->by), str_of(answer->by));
}

static bool side_ask(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	struct side *s = self;

	(void)deadline_ms;
	s->asked++;
	note(s, "?", ask->id);
	if (s->at_once)
		broker_decide(s->b, ask->id, s->at_once, s->now);
	return !s->refuses;
}

static void side_withdraw(void *self, uint64_t id)
{
	struct side *s = self;

	note(s, "w", id);
	if (s->in_withdraw)
		broker_decide(s->b, id, s->in_withdraw, s->now);
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	struct side *s = user;

	keep_answer(s, answer);
	note(s, answer->is_allow ? "+" : "-", id);
	if (s->withdraws_in_answered)
		broker_withdraw(s->b, s->withdraws_in_answered, s->now);
}

static void rejected(void *user, uint64_t id, const char *why)
{
	(void)why;
	note(user, "!", id);
}

static void expired(void *user, const struct grant *grant)
{
	struct side *s = user;

	copy(s->grant, sizeof(s->grant), grant->subject);
	note(s, "x", 0);
}

static void lost(void *user, const char *why)
{
	(void)why;
	note(user, "L", 0);
}

enum { ALL_SCOPES = (1 << (SCOPE_ALWAYS + 1)) - 1 };

static struct decider decider = { .by = "tty", .ask = side_ask, .withdraw = side_withdraw };

static struct broker *start(struct side *s, bool has_decider)
{
	struct broker_options options = {
		.decider = has_decider ? &decider : NULL,
		.scopes = ALL_SCOPES,
		.events = { .user = s,
			    .answered = answered,
			    .rejected = rejected,
			    .expired = expired,
			    .lost = lost },
	};
	struct err e = ERR_INIT;

	*s = (struct side){ .now = 1000 };
	decider.self = s;
	if (broker_new(&options, &s->b, &e) < 0)
		abort();
	return s->b;
}

/* A request to write below that directory, with the file itself as the narrowest offer. */
static struct ask writes(uint64_t id, const char *file, const char *dir)
{
	struct ask ask = {
		.id = id,
		.kind = ASK_WRITE,
		.operation = OPERATION_OPEN_WRITE,
		.subject = str_of(file),
		.named = STR_EMPTY,
		.program = STR("/usr/bin/tee"),
		.cwd = STR_EMPTY,
		.rule = STR_EMPTY,
		.reason = STR_EMPTY,
		.offers = { { .grant = { .kind = ASK_WRITE, .subject = str_of(file) },
			      .scopes = ALL_SCOPES },
			    { .grant = { .kind = ASK_WRITE, .subject = str_of(dir), .is_dir = true },
			      .scopes = ALL_SCOPES & ~SCOPE_BIT(SCOPE_ONCE) } },
		.offer_count = 2,
	};

	return ask;
}

static struct ask creates(uint64_t id, const char *file, const char *dir)
{
	struct ask ask = writes(id, file, dir);

	ask.operation = OPERATION_CREATE;
	ask.offers[0] = ask.offers[1];
	ask.offers[0].scopes = ALL_SCOPES;
	ask.offer_count = 1;
	return ask;
}

static struct answer allow(enum grant_scope scope, const char *path, bool is_dir)
{
	struct answer answer = { .is_allow = true, .scope = scope, .message = STR_EMPTY };

	if (path)
		answer.grant = (struct grant){ .kind = ASK_WRITE,
					       .subject = str_of(path),
					       .is_dir = is_dir };
	else
		answer.is_narrowest = true;
	return answer;
}

static struct answer deny(const char *message)
{
	return (struct answer){ .message = str_of(message) };
}

static int ask(struct side *s, const struct ask *what)
{
	struct answer out = { .by = "" };
	int r = broker_ask(s->b, what, s->now, &out);

	if (r == 0)
		keep_answer(s, &out);
	return r;
}

static void decide(struct side *s, uint64_t id, struct answer answer)
{
	broker_decide(s->b, id, &answer, s->now);
}

TEST(without_a_decider_a_request_is_denied_at_once)
{
	struct side s;
	struct broker *b = start(&s, false);
	struct ask a = writes(1, "/x/f", "/x");

	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	CHECK_STR(s.by, "nobody");
	CHECK_INT(broker_next_ms(b), 0);
	CHECK_INT(broker_counts(b)->denied, 1);
	broker_free(b);
}

TEST(the_decider_is_asked_and_its_answer_told)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	CHECK_INT(ask(&s, &a), 1);
	CHECK_INT(broker_waiting(b), 1);
	decide(&s, 1, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 +1");
	CHECK_STR(s.grant, "/x/f");
	CHECK_STR(s.by, "tty");
	CHECK_INT(s.last.scope, SCOPE_RUN);
	CHECK_INT(broker_waiting(b), 0);
	broker_free(b);
}

TEST(an_answer_before_ask_returns_is_given_back)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct answer yes = allow(SCOPE_RUN, "/x", true);

	s.at_once = &yes;
	CHECK_INT(ask(&s, &a), 0);
	CHECK_STR(s.log, "?1");
	CHECK(s.last.is_allow);
	CHECK_STR(s.grant, "/x");
	broker_free(b);
}

TEST(equal_requests_that_wait_are_asked_once)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask same = writes(2, "/x/f", "/x");
	struct ask other = writes(3, "/x/g", "/x");

	ask(&s, &a);
	ask(&s, &same);
	ask(&s, &other);
	CHECK_STR(s.log, "?1 ?3");
	CHECK_INT(broker_waiting(b), 3);
	decide(&s, 1, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 ?3 +1 +2");
	decide(&s, 3, deny(""));
	CHECK_STR(s.log, "?1 ?3 +1 +2 -3");
	broker_free(b);
}

TEST(who_is_to_be_asked_alone_shares_no_question_but_every_grant)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask parked = writes(1, "/x/f", "/x");
	struct ask a = writes(2, "/x/f", "/x");
	struct ask same = writes(3, "/x/f", "/x");
	struct ask alone = writes(4, "/x/f", "/x");

	parked.is_alone = alone.is_alone = true;
	ask(&s, &parked);
	ask(&s, &a);
	ask(&s, &same);
	ask(&s, &alone);
	CHECK_STR(s.log, "?1 ?2 ?4");
	decide(&s, 4, allow(SCOPE_ONCE, NULL, false));
	CHECK_STR(s.log, "?1 ?2 ?4 +4");
	decide(&s, 2, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 ?2 ?4 +4 +2 +3 w1 +1");
	CHECK_INT(broker_waiting(b), 0);
	broker_free(b);
}

TEST(a_grant_also_answers_the_others_that_it_covers)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask other = writes(2, "/x/g", "/x");
	struct ask outside = writes(3, "/xy/g", "/xy");

	ask(&s, &a);
	ask(&s, &other);
	ask(&s, &outside);
	decide(&s, 1, allow(SCOPE_RUN, "/x", true));
	CHECK_STR(s.log, "?1 ?2 ?3 +1 w2 +2");
	CHECK_STR(s.by, "cache");
	CHECK_STR(s.grant, "/x");
	CHECK_INT(broker_waiting(b), 1);
	broker_free(b);
}

TEST(once_is_for_the_one_that_was_shown)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = creates(1, "/x/f", "/x");
	struct ask other = creates(2, "/x/g", "/x");

	ask(&s, &a);
	ask(&s, &other);
	CHECK_STR(s.log, "?1");
	decide(&s, 1, allow(SCOPE_ONCE, NULL, false));
	CHECK_STR(s.log, "?1 +1 ?2");
	CHECK_INT(s.last.scope, SCOPE_ONCE);
	decide(&s, 2, allow(SCOPE_ONCE, NULL, false));
	CHECK_STR(s.log, "?1 +1 ?2 +2");
	/* And it is asked for again. */
	a.id = 3;
	CHECK_INT(ask(&s, &a), 1);
	broker_free(b);
}

TEST(once_for_one_that_has_gone_allows_nothing)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = creates(1, "/x/f", "/x");
	struct ask other = creates(2, "/x/g", "/x");

	ask(&s, &a);
	ask(&s, &other);
	broker_withdraw(b, 1, s.now);
	CHECK_STR(s.log, "?1");
	decide(&s, 1, allow(SCOPE_ONCE, NULL, false));
	CHECK_STR(s.log, "?1 !1 ?2");
	CHECK_INT(broker_counts(b)->allowed, 0);
	decide(&s, 2, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 !1 ?2 +2");
	broker_free(b);
}

TEST(what_was_granted_is_not_asked_again_until_it_is_forgotten)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct grant x = { .kind = ASK_WRITE, .subject = STR("/x"), .is_dir = true };

	ask(&s, &a);
	decide(&s, 1, allow(SCOPE_SESSION, "/x", true));
	a = writes(2, "/x/deep/g", "/x/deep");
	CHECK_INT(ask(&s, &a), 0);
	CHECK(s.last.is_allow);
	CHECK_STR(s.by, "cache");
	CHECK_STR(s.grant, "/x");
	CHECK_INT(broker_counts(b)->cache_hits, 1);
	a = writes(3, "/xx/g", "/xx");
	CHECK_INT(ask(&s, &a), 1);
	CHECK(broker_holds(b, &x, s.now));
	broker_forget(b, &x);
	CHECK(!broker_holds(b, &x, s.now));
	a = writes(4, "/x/deep/g", "/x/deep");
	CHECK_INT(ask(&s, &a), 1);
	broker_free(b);
}

TEST(what_lasts_from_before_is_granted_without_asking)
{
	struct side s;
	struct broker *b = start(&s, false);
	struct ask a = writes(1, "/x/f", "/x");
	struct grant x = { .kind = ASK_WRITE, .subject = STR("/x"), .is_dir = true };

	CHECK(broker_remember(b, &x, SCOPE_ALWAYS));
	CHECK_INT(ask(&s, &a), 0);
	CHECK(s.last.is_allow);
	CHECK_INT(s.last.scope, SCOPE_ALWAYS);
	a = writes(2, "/y/f", "/y");
	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	broker_free(b);
}

TEST(a_deny_holds_for_the_run)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	ask(&s, &a);
	decide(&s, 1, deny("use the staging directory"));
	a.id = 2;
	a.program = STR("/usr/bin/cp");
	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	CHECK_STR(s.by, "cache");
	CHECK_STR(s.message, "use the staging directory");
	CHECK_INT(s.asked, 1);
	/* Another file is another request; and what is granted for it ends the deny of the first. */
	a = writes(3, "/x/g", "/x");
	CHECK_INT(ask(&s, &a), 1);
	decide(&s, 3, allow(SCOPE_RUN, "/x", true));
	a = writes(4, "/x/f", "/x");
	CHECK_INT(ask(&s, &a), 0);
	CHECK(s.last.is_allow);
	broker_free(b);
}

TEST(deny_rest_denies_all_that_waits_and_all_that_comes)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask other = writes(2, "/y/f", "/y");
	struct grant z = { .kind = ASK_WRITE, .subject = STR("/z"), .is_dir = true };
	struct answer all = deny("stop");

	CHECK(broker_remember(b, &z, SCOPE_SESSION));
	all.denies_rest = true;
	ask(&s, &a);
	ask(&s, &other);
	decide(&s, 1, all);
	CHECK_STR(s.log, "?1 ?2 -1 w2 -2");
	a = writes(3, "/z/f", "/z");
	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	CHECK_STR(s.message, "stop");
	broker_free(b);
}

TEST(answers_that_do_not_fit_change_nothing)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct answer odd = allow(SCOPE_RUN, "/x", true);

	a.offers[0].scopes = SCOPE_BIT(SCOPE_ONCE);
	a.offers[1].scopes = SCOPE_BIT(SCOPE_RUN) | SCOPE_BIT(SCOPE_MINUTES);
	ask(&s, &a);
	decide(&s, 9, allow(SCOPE_RUN, "/x", true));
	decide(&s, 1, allow(SCOPE_RUN, "/", true));
	decide(&s, 1, allow(SCOPE_RUN, "/xy", true));
	decide(&s, 1, allow(SCOPE_RUN, "/x/../etc", true));
	decide(&s, 1, allow(SCOPE_SESSION, NULL, false));
	decide(&s, 1, allow(SCOPE_ONCE, "/x", true));
	decide(&s, 1, allow(SCOPE_MINUTES, "/x", true));
	odd.scope = (enum grant_scope)17;
	decide(&s, 1, odd);
	odd = allow(SCOPE_RUN, "/x", true);
	odd.grant.kind = ASK_UNIX_SOCKET;
	decide(&s, 1, odd);
	odd.grant.kind = (enum ask_kind)9;
	decide(&s, 1, odd);
	CHECK_STR(s.log, "?1 !9 !1 !1 !1 !1 !1 !1 !1 !1 !1");
	CHECK_INT(broker_counts(b)->wrong, 10);
	CHECK_INT(broker_waiting(b), 1);
	decide(&s, 1, allow(SCOPE_RUN, "/x/sub", true));
	CHECK_STR(s.grant, "/x/sub");
	decide(&s, 1, allow(SCOPE_RUN, "/x", true));
	CHECK_INT(broker_counts(b)->late, 1);
	CHECK_INT(broker_counts(b)->allowed, 1);
	broker_free(b);
}

TEST(without_a_grant_the_narrowest_offer_is_meant_that_has_the_scope)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = creates(1, "/x/f", "/x"), other = creates(2, "/x/g", "/x");
	struct offer file = { { .kind = ASK_WRITE, .subject = STR("/x/f") },
			      SCOPE_BIT(SCOPE_ONCE) };

	a.offers[1] = a.offers[0];
	a.offers[0] = file;
	a.offer_count = 2;
	other.offers[1] = other.offers[0];
	other.offers[0] = file;
	other.offers[0].grant.subject = STR("/x/g");
	other.offer_count = 2;
	ask(&s, &a);
	/* The offers that are for one call alone don't make it another request. */
	ask(&s, &other);
	CHECK_STR(s.log, "?1");
	decide(&s, 1, allow(SCOPE_ONCE, NULL, false));
	CHECK_STR(s.log, "?1 +1 ?2");
	CHECK_STR(s.grant, "/x/f");
	decide(&s, 2, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.grant, "/x");
	broker_free(b);
}

TEST(scopes_that_the_run_does_not_have_are_not_offered)
{
	struct side s;
	struct broker_options options = {
		.decider = &decider,
		.scopes = SCOPE_BIT(SCOPE_RUN),
		.events = { .user = &s, .answered = answered, .rejected = rejected }
	};
	struct ask a = writes(1, "/x/f", "/x");
	struct err e = ERR_INIT;

	start(&s, true);
	broker_free(s.b);
	REQUIRE(broker_new(&options, &s.b, &e) == 0);
	a.offers[0].scopes = SCOPE_BIT(SCOPE_ONCE);
	ask(&s, &a);
	decide(&s, 1, allow(SCOPE_ALWAYS, "/x", true));
	CHECK_STR(s.log, "?1 !1");
	decide(&s, 1, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 !1 +1");
	CHECK_STR(s.grant, "/x");
	broker_free(s.b);
}

TEST(sixty_four_wrong_answers_in_a_row_lose_the_decider)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	ask(&s, &a);
	for (unsigned i = 1; i < BROKER_MAX_WRONG; i++)
		broker_reject(b, 0, "no JSON");
	decide(&s, 1, deny(""));
	a = writes(2, "/y/f", "/y");
	CHECK_INT(ask(&s, &a), 1);
	for (unsigned i = 1; i < BROKER_MAX_WRONG; i++)
		broker_reject(b, 0, "no JSON");
	CHECK_INT(broker_waiting(b), 1);
	broker_reject(b, 0, "no JSON");
	CHECK_INT(broker_waiting(b), 0);
	CHECK_STR(s.by, "nobody");
	CHECK(strstr(s.log, "-2 L0") != NULL);
	a = writes(3, "/z/f", "/z");
	CHECK_INT(ask(&s, &a), 0);
	broker_free(b);
}

TEST(late_answers_do_not_count_as_wrong)
{
	struct side s;
	struct broker *b = start(&s, true);

	for (uint64_t i = 1; i <= 200; i++) {
		struct ask a = writes(i, "/x/f", "/x");

		REQUIRE(ask(&s, &a) == 1);
		broker_withdraw(b, i, s.now);
	}
	for (uint64_t i = 1; i <= 200; i++)
		decide(&s, i, allow(SCOPE_RUN, "/x", true));
	CHECK_INT(broker_counts(b)->late, 200);
	CHECK_INT(broker_counts(b)->withdrawn, 200);
	CHECK_INT(broker_counts(b)->wrong, 0);
	struct ask a = writes(201, "/x/f", "/x");
	CHECK_INT(ask(&s, &a), 1);
	broker_free(b);
}

TEST(a_deadline_denies)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	ask(&s, &a);
	CHECK_INT(broker_next_ms(b), s.now + BROKER_DEADLINE_MS);
	broker_tick(b, s.now + BROKER_DEADLINE_MS - 1);
	CHECK_STR(s.log, "?1");
	s.now += BROKER_DEADLINE_MS;
	broker_tick(b, s.now);
	CHECK_STR(s.log, "?1 w1 -1");
	CHECK_STR(s.by, "deadline");
	CHECK_INT(broker_next_ms(b), 0);
	decide(&s, 1, allow(SCOPE_RUN, "/x", true));
	CHECK_STR(s.log, "?1 w1 -1 !1");
	a.id = 2;
	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	CHECK_INT(broker_counts(b)->held_ms, BROKER_DEADLINE_MS);
	CHECK_INT(broker_extension_ms(b, s.now + MINUTE), BROKER_DEADLINE_MS);
	broker_free(b);
}

TEST(an_answer_to_what_is_withdrawn_comes_too_late)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x"), other = writes(2, "/y/f", "/y");
	struct answer yes = allow(SCOPE_RUN, NULL, false), rest = deny("");

	s.in_withdraw = &yes;
	ask(&s, &a);
	s.now += BROKER_DEADLINE_MS;
	broker_tick(b, s.now);
	CHECK_STR(s.log, "?1 w1 !1 -1");
	CHECK_STR(s.by, "deadline");
	/* The same where one answer is for all. */
	a = writes(3, "/z/f", "/z");
	ask(&s, &a);
	ask(&s, &other);
	rest.denies_rest = true;
	decide(&s, 3, rest);
	CHECK_STR(s.log, "?1 w1 !1 -1 ?3 ?2 -3 w2 !2 -2");
	CHECK_INT(broker_counts(b)->allowed, 0);
	CHECK_INT(broker_counts(b)->late, 2);
	CHECK_INT(broker_waiting(b), 0);
	broker_free(b);
}

TEST(held_time_is_counted_once_and_extends_by_one_deadline_at_most)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask other = writes(2, "/y/f", "/y");

	CHECK_INT(broker_extension_ms(b, s.now), 0);
	ask(&s, &a);
	s.now += SECOND;
	ask(&s, &other);
	CHECK_INT(broker_extension_ms(b, s.now + SECOND), 2 * SECOND);
	s.now += SECOND;
	decide(&s, 1, deny(""));
	decide(&s, 2, deny(""));
	s.now += MINUTE;
	broker_tick(b, s.now);
	CHECK_INT(broker_counts(b)->held_ms, 2 * SECOND);
	CHECK_INT(broker_extension_ms(b, s.now), 2 * SECOND);
	broker_free(b);
}

TEST(a_grant_for_minutes_expires)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct answer yes = allow(SCOPE_MINUTES, "/x", true);

	yes.minutes = 10081;
	ask(&s, &a);
	decide(&s, 1, yes);
	yes.minutes = 10;
	decide(&s, 1, yes);
	CHECK_STR(s.log, "?1 !1 +1");
	CHECK_INT(broker_next_ms(b), s.now + 10 * MINUTE);
	s.now += 9 * MINUTE;
	a.id = 2;
	CHECK_INT(ask(&s, &a), 0);
	CHECK(s.last.is_allow);
	CHECK_INT(s.last.minutes, 1);
	CHECK(broker_holds(b, &yes.grant, s.now));
	s.now += MINUTE;
	/* Before anybody has heard of it. */
	CHECK(!broker_holds(b, &yes.grant, s.now));
	broker_tick(b, s.now);
	CHECK_STR(s.log, "?1 !1 +1 x0");
	CHECK_STR(s.grant, "/x");
	a.id = 3;
	CHECK_INT(ask(&s, &a), 1);
	broker_free(b);
}

TEST(the_rate_denies_and_does_not_hold_for_the_run)
{
	struct side s;
	struct broker *b = start(&s, true);
	char paths[BROKER_PER_MINUTE + 1][32];

	for (uint64_t i = 0; i <= BROKER_PER_MINUTE; i++) {
		struct ask a;

		snprintf(paths[i], sizeof(paths[i]), "/x/%u", (unsigned)i);
		a = writes(i + 1, paths[i], "/x");
		CHECK_INT(ask(&s, &a), i < BROKER_PER_MINUTE);
	}
	CHECK_STR(s.by, "limit");
	CHECK_INT(broker_counts(b)->limited, 1);
	struct ask joins = writes(9000, paths[0], "/x");
	CHECK_INT(ask(&s, &joins), 1);
	s.now += MINUTE;
	struct ask a = writes(9001, paths[BROKER_PER_MINUTE], "/x");
	CHECK_INT(ask(&s, &a), 1);
	broker_free(b);
}

TEST(what_waits_is_bounded)
{
	struct side s;
	struct broker *b = start(&s, true);

	for (uint64_t i = 1; i <= BROKER_MAX_WAITING; i++) {
		struct ask a = writes(i, "/x/f", "/x");

		REQUIRE(ask(&s, &a) == 1);
	}
	struct ask a = writes(BROKER_MAX_WAITING + 1, "/x/f", "/x");
	CHECK_INT(ask(&s, &a), 0);
	CHECK_STR(s.by, "limit");
	CHECK_INT(s.asked, 1);
	s.log[0] = '\0';
	decide(&s, 1, deny(""));
	CHECK_INT(broker_waiting(b), 0);
	CHECK_INT(broker_counts(b)->denied, BROKER_MAX_WAITING + 1);
	broker_free(b);
}

TEST(requests_that_are_too_large_are_denied)
{
	static char long_name[ASK_MAX_BYTES + 1];
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	memset(long_name, 'x', sizeof(long_name) - 1);
	a.reason = str_of(long_name);
	CHECK_INT(ask(&s, &a), 0);
	CHECK_STR(s.by, "limit");
	a.reason = STR_EMPTY;
	a.argv_count = ASK_MAX_ARGV + 1;
	CHECK_INT(ask(&s, &a), 0);
	a.argv_count = 0;
	a.id = 0;
	CHECK_INT(ask(&s, &a), 0);
	a.id = 1;
	CHECK_INT(ask(&s, &a), 1);
	/* An id that waits is not taken twice. */
	a.offers[0].grant.subject = STR("/x/g");
	CHECK_INT(ask(&s, &a), 0);
	broker_free(b);
}

TEST(what_the_last_one_waits_for_is_withdrawn)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask same = writes(2, "/x/f", "/x");

	ask(&s, &a);
	ask(&s, &same);
	broker_withdraw(b, 1, s.now);
	broker_withdraw(b, 1, s.now);
	broker_withdraw(b, 77, s.now);
	CHECK_STR(s.log, "?1");
	broker_withdraw(b, 2, s.now);
	CHECK_STR(s.log, "?1 w1");
	CHECK_INT(broker_waiting(b), 0);
	CHECK_INT(broker_counts(b)->withdrawn, 2);
	broker_free(b);
}

TEST(a_lost_decider_denies_what_waits_and_what_comes)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask other = writes(2, "/y/f", "/y");

	ask(&s, &a);
	ask(&s, &other);
	broker_lose_decider(b, s.now);
	CHECK_STR(s.log, "?1 ?2 -1 -2 L0");
	CHECK_STR(s.by, "nobody");
	a.id = 3;
	CHECK_INT(ask(&s, &a), 0);
	broker_lose_decider(b, s.now);
	CHECK_STR(s.log, "?1 ?2 -1 -2 L0");
	broker_free(b);
}

TEST(a_decider_that_can_not_be_asked_is_lost)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");

	s.refuses = true;
	CHECK_INT(ask(&s, &a), 0);
	CHECK(!s.last.is_allow);
	CHECK_STR(s.by, "nobody");
	CHECK_STR(s.log, "?1 L0");
	a.id = 2;
	CHECK_INT(ask(&s, &a), 0);
	CHECK_INT(s.asked, 1);
	broker_free(b);
}

TEST(a_caller_may_go_while_another_is_told)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = writes(1, "/x/f", "/x");
	struct ask same = writes(2, "/x/f", "/x");
	struct ask other = writes(3, "/x/g", "/x");

	ask(&s, &a);
	ask(&s, &same);
	ask(&s, &other);
	s.withdraws_in_answered = 3;
	decide(&s, 1, allow(SCOPE_RUN, NULL, false));
	CHECK_STR(s.log, "?1 ?3 +1 w3 +2");
	CHECK_INT(broker_waiting(b), 0);
	broker_free(b);
}

TEST(many_answers_of_once_at_once_need_no_stack)
{
	struct side s;
	struct broker *b = start(&s, true);
	struct answer once = allow(SCOPE_ONCE, NULL, false);

	for (uint64_t i = 1; i <= 500; i++) {
		struct ask a = creates(i, "/x/f", "/x");

		REQUIRE(ask(&s, &a) == 1);
	}
	s.at_once = &once;
	decide(&s, 1, once);
	CHECK_INT(broker_waiting(b), 0);
	CHECK_INT(broker_counts(b)->allowed, 500);
	CHECK_INT(s.asked, 500);
	broker_free(b);
}

TEST(an_escalation_is_granted_for_its_own_command_alone)
{
	struct str argv[] = { STR("git"), STR("push") }, other[] = { STR("git"), STR("pull") };
	struct side s;
	struct broker *b = start(&s, true);
	struct ask a = { .id = 1,
			 .kind = ASK_ESCALATE,
			 .argv = argv,
			 .argv_count = 2,
			 .subject = STR_EMPTY,
			 .named = STR_EMPTY,
			 .program = STR_EMPTY,
			 .cwd = STR("/repo"),
			 .rule = STR_EMPTY,
			 .reason = STR_EMPTY,
			 .offers = { { .grant = { .kind = ASK_ESCALATE, .subject = STR_EMPTY },
				       .scopes = ALL_SCOPES } },
			 .offer_count = 1 };

	ask(&s, &a);
	decide(&s, 1, allow(SCOPE_RUN, NULL, false));
	a.id = 2;
	CHECK_INT(ask(&s, &a), 0);
	CHECK(s.last.is_allow);
	a.id = 3;
	a.cwd = STR("/repo/sub");
	CHECK_INT(ask(&s, &a), 1);
	a.id = 4;
	a.cwd = STR("/repo");
	a.argv = other;
	CHECK_INT(ask(&s, &a), 1);
	CHECK_STR(s.log, "?1 +1 ?3 ?4");
	broker_free(b);
}
