/* SPDX-License-Identifier: MIT */
/*
 * The broker when memory runs out: each of its allocations is made to fail, one after the other. What
 * it can't keep it denies or asks again; every request gets one answer, and nothing is granted that
 * nobody granted.
 */
#include <stdlib.h>

#include "../unit/test.h"
#include "approve/broker.h"
#include "failing_malloc.h"

enum { REQUESTS = 8 };

struct side {
	struct broker *b;
	unsigned answers[REQUESTS + 1];
	size_t allowed;
	bool answers_at_once;
};

static struct answer allow_dir(void)
{
	return (struct answer){ .is_allow = true,
				.scope = SCOPE_RUN,
				.grant = { .kind = ASK_WRITE, .subject = STR("/x"), .is_dir = true },
				.message = STR("yes") };
}

static bool side_ask(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	struct side *s = self;
	struct answer yes = allow_dir();

	(void)deadline_ms;
	if (s->answers_at_once)
		broker_decide(s->b, ask->id, &yes, 3);
	return true;
}

static void count(struct side *s, uint64_t id, const struct answer *answer)
{
	s->answers[id]++;
	s->allowed += answer->is_allow;
	if (answer->is_allow)
		CHECK(str_is(answer->grant.subject, "/x"));
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	count(user, id, answer);
}

static void request(struct side *s, uint64_t id, const char *file, const char *dir)
{
	struct ask ask = {
		.id = id,
		.kind = ASK_WRITE,
		.subject = str_of(file),
		.named = STR_EMPTY,
		.program = STR_EMPTY,
		.cwd = STR_EMPTY,
		.rule = STR_EMPTY,
		.reason = STR_EMPTY,
		.offers = { { { ASK_WRITE, str_of(file), false }, SCOPE_BIT(SCOPE_RUN) },
			    { { ASK_WRITE, str_of(dir), true }, SCOPE_BIT(SCOPE_RUN) } },
		.offer_count = 2,
	};
	struct answer out;

	if (broker_ask(s->b, &ask, 2, &out) == 0)
		count(s, id, &out);
}

/* Equal requests, a deny, a grant that is also another's, an answer at once, a deadline. */
static bool run_once(struct side *s)
{
	struct decider decider = { .by = "callback", .ask = side_ask, .self = s };
	struct broker_options options = { .decider = &decider,
					  .scopes = SCOPE_BIT(SCOPE_RUN),
					  .events = { .user = s, .answered = answered } };
	struct answer no = { .message = STR("no"), .grant = { .subject = STR_EMPTY } };
	struct answer yes = allow_dir();
	struct err e = ERR_INIT;

	if (broker_new(&options, &s->b, &e) < 0) {
		CHECK_INT(e.code, ERR_NOMEM);
		return false;
	}
	request(s, 1, "/x/f", "/x");
	request(s, 2, "/x/f", "/x");
	request(s, 3, "/x/g", "/x");
	request(s, 4, "/y/f", "/y");
	broker_decide(s->b, 4, &no, 2);
	request(s, 5, "/y/f", "/y");
	broker_decide(s->b, 1, &yes, 3);
	request(s, 6, "/x/deep/f", "/x/deep");
	request(s, 7, "/z/f", "/z");
	broker_forget(s->b, &yes.grant);
	s->answers_at_once = true;
	request(s, 8, "/x/h", "/x");
	broker_tick(s->b, 4 + BROKER_DEADLINE_MS);
	CHECK_INT(broker_waiting(s->b), 0);
	broker_free(s->b);
	return true;
}

TEST(every_request_gets_one_answer_when_memory_runs_out)
{
	size_t all;

	for (failing = 1;; failing++) {
		struct side s = { .b = NULL };

		allocations = 0;
		if (run_once(&s)) {
			for (size_t i = 1; i <= REQUESTS; i++)
				CHECK_INT(s.answers[i], 1);
			CHECK(s.allowed <= 5);
		}
		all = allocations;
		if (failing > all) {
			CHECK_INT(s.allowed, 5);
			break;
		}
	}
	printf("# %zu allocations\n", all);
	CHECK(all > 8);
}
