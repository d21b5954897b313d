/* SPDX-License-Identifier: MIT */
/*
 * Lines from a decider, and the same bytes as a name in a request. Whatever it sends, nothing wider
 * than an offer is granted, each request is answered once, and a grant that was read is written so
 * that it is read again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "approve/broker.h"
#include "approve/message.h"
#include "base/json.h"
#include "base/utf8.h"

enum { LIMIT_BYTES = 16 << 20, REQUESTS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

struct fuzzed {
	struct ask asks[REQUESTS];
	unsigned answers[REQUESTS];
};

/* Requests 1 to 4: a file, a directory, a host, a socket. */
static void make_asks(struct ask *asks)
{
	static const struct grant grants[REQUESTS] = {
		{ .kind = ASK_WRITE, .subject = STR_INIT("/opt/x/f") },
		{ .kind = ASK_WRITE, .subject = STR_INIT("/opt/x"), .is_dir = true },
		{ .kind = ASK_CONNECT, .subject = STR_INIT("a.com:443") },
		{ .kind = ASK_UNIX_SOCKET, .subject = STR_INIT("/run/x") },
	};

	for (size_t i = 0; i < REQUESTS; i++) {
		asks[i] = (struct ask){ .id = i + 1,
					.kind = grants[i].kind,
					.subject = grants[i].subject,
					.named = STR_EMPTY,
					.program = STR_EMPTY,
					.cwd = STR_EMPTY,
					.rule = STR_EMPTY,
					.reason = STR_EMPTY,
					.offers = { { .grant = grants[i], .scopes = 0x1f } },
					.offer_count = 1 };
	}
}

static bool ask_nobody(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	(void)self;
	(void)ask;
	(void)deadline_ms;
	return true;
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	struct fuzzed *f = user;

	demand(id >= 1 && id <= REQUESTS);
	demand(++f->answers[id - 1] == 1);
	/* What another was granted may be wider. */
	if (answer->is_allow && str_is(str_of(answer->by), "fd"))
		demand(grant_covers(&f->asks[id - 1].offers[0].grant, &answer->grant));
}

static void check_grant(struct arena *a, const struct grant *grant)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);
	struct err e = ERR_INIT;
	struct answer again;
	uint64_t id;

	if (utf8_check(grant->subject) < grant->subject.len)
		return;
	json_begin_object(&w);
	json_key(&w, "id");
	json_add_int(&w, 1);
	json_key(&w, "decision");
	json_add_text(&w, "allow");
	json_key(&w, "grant");
	message_add_grant(&w, grant);
	json_end_object(&w);
	demand(buf_check(&text, &e) == 0);
	if (text.len > MESSAGE_MAX_ANSWER)
		return;
	demand(message_parse_answer(a, buf_str(&text), &id, &again, &e) == 0);
	demand(grant_covers(grant, &again.grant) && grant_covers(&again.grant, grant));
}

static void feed(struct broker *b, struct str line, uint64_t now)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	struct answer answer;
	uint64_t id;

	if (message_parse_answer(&a, line, &id, &answer, &e) < 0) {
		demand(e.text[0] != '\0');
		broker_reject(b, id, e.text);
		return;
	}
	if (answer.is_allow && !answer.is_narrowest)
		check_grant(&a, &answer.grant);
	broker_decide(b, id, &answer, now);
}

/* Any bytes as a name make one line of UTF-8. */
static void check_request(const struct ask *like, struct str name)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct message_run run = { .run = STR("r"), .session = name };
	struct ask ask = *like;

	ask.subject = ask.named = ask.reason = name;
	ask.argv = &name;
	ask.argv_count = 1;
	message_add_request(&text, &run, &ask, 1);
	if (text.failed)
		return;
	demand(utf8_check(buf_str(&text)) == text.len);
	demand(str_find(buf_str(&text), '\n') == text.len - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct fuzzed f = { .answers = { 0 } };
	struct decider decider = { .by = "fd", .ask = ask_nobody };
	struct broker_options options = { .decider = &decider,
					  .scopes = 0x1f,
					  .events = { .user = &f, .answered = answered } };
	struct err e = ERR_INIT;
	struct broker *b;
	struct str line;
	uint64_t now = 1;

	if (broker_new(&options, &b, &e) < 0)
		return 0;
	make_asks(f.asks);
	check_request(&f.asks[0], input);
	for (size_t i = 0; i < REQUESTS; i++) {
		struct answer out;

		demand(broker_ask(b, &f.asks[i], now, &out) == 1);
	}
	while (str_next_line(&input, &line))
		feed(b, line, ++now);
	broker_tick(b, now + BROKER_DEADLINE_MS);
	demand(broker_waiting(b) == 0);
	for (size_t i = 0; i < REQUESTS; i++)
		demand(f.answers[i] == 1);
	broker_free(b);
	return 0;
}
