/* SPDX-License-Identifier: MIT */
/* The decider at the terminal, on a terminal that is made up. */
#include "approve/decide_tty.h"

#include "test.h"

struct world {
	struct loop loop;
	struct decide_tty *d;
	const struct decider *decider;
	struct buf shown;
	bool is_in_front, is_lent, is_taken;
	unsigned discards, given_back, lent;
	bool has_input; /* typed, and not read yet */
	uint64_t answered[8];
	struct answer answers[8];
	char subjects[8][64];
	size_t count;
	uint64_t asks_again; /* from within the answer */
};

static enum prompt_lent lend(void *self)
{
	struct world *w = self;

	w->is_lent = w->is_in_front && !w->is_taken;
	w->lent++;
	if (w->is_taken)
		return PROMPT_TAKEN;
	return w->is_lent ? PROMPT_LENT : PROMPT_BEHIND;
}

static void give_back(void *self)
{
	struct world *w = self;

	CHECK(w->is_lent);
	w->is_lent = false;
	w->given_back++;
}

static void write_text(void *self, struct str text)
{
	struct world *w = self;

	buf_add(&w->shown, text);
}

static bool discard(void *self)
{
	struct world *w = self;
	bool had_input = w->has_input;

	w->discards++;
	w->has_input = false;
	return had_input;
}

static void find_size(void *self, size_t *columns, size_t *rows)
{
	(void)self;
	*columns = 80;
	*rows = 24;
}

static bool begin_ask(struct world *w, uint64_t id)
{
	char subject[] = "/opt/tool";
	struct ask ask = { .id = id,
			   .kind = ASK_WRITE,
			   .operation = OPERATION_CREATE,
			   .subject = str_of(subject),
			   .offers = { { .grant = { ASK_WRITE, str_of(subject), false },
					 .scopes = SCOPE_BIT(SCOPE_ONCE) | SCOPE_BIT(SCOPE_RUN) } },
			   .offer_count = 1 };
	bool is_asked = w->decider->ask(w->decider->self, &ask, 60000);

	/* It has to have copies. */
	memset(subject, 'x', sizeof(subject) - 1);
	return is_asked;
}

static void take_answer(void *user, uint64_t id, const struct answer *answer)
{
	struct world *w = user;
	uint64_t next = w->asks_again;

	REQUIRE(w->count < COUNT_OF(w->answered));
	w->answered[w->count] = id;
	(void)snprintf(w->subjects[w->count], sizeof(w->subjects[0]), "%.*s",
		       (int)answer->grant.subject.len,
		       answer->grant.subject.p ? answer->grant.subject.p : "");
	w->answers[w->count++] = *answer;
	w->asks_again = 0;
	if (next)
		CHECK(begin_ask(w, next));
}

static void init(struct world *w)
{
	struct err e = ERR_INIT;
	const struct decide_tty_options options = { .loop = &w->loop,
						    .terminal = { .lend = lend,
								  .give_back = give_back,
								  .write = write_text,
								  .discard = discard,
								  .size = find_size,
								  .self = w },
						    .answer = take_answer,
						    .user = w };

	*w = (struct world){ .is_in_front = true, .shown = BUF_INIT(1 << 20) };
	CHECK_INT(loop_init(&w->loop, &e), 0);
	CHECK_INT(decide_tty_new(&options, &w->d, &e), 0);
	w->decider = decide_tty_decider(w->d);
}

static void done(struct world *w)
{
	decide_tty_free(w->d);
	loop_done(&w->loop);
	buf_done(&w->shown);
}

static void type(struct world *w, const char *text)
{
	decide_tty_take(w->d, str_of(text));
}

static void wait_ms(struct world *w, uint64_t ms)
{
	uint64_t until = loop_now() + ms;
	struct err e = ERR_INIT;

	while (loop_now() < until)
		CHECK_INT(loop_step(&w->loop, (int)(until - loop_now()), &e), 0);
}

/* What an answer leads to comes in the next step. */
static void step(struct world *w)
{
	struct err e = ERR_INIT;

	CHECK_INT(loop_step(&w->loop, 50, &e), 0);
}

static size_t count_shown(struct world *w, const char *text)
{
	size_t count = 0;

	buf_add_char(&w->shown, '\0');
	for (const char *at = w->shown.p; (at = strstr(at, text)); at++)
		count++;
	w->shown.len--;
	return count;
}

static bool has_shown(struct world *w, const char *text)
{
	bool has;

	buf_add_char(&w->shown, '\0');
	has = strstr(w->shown.p, text) != NULL;
	w->shown.len--;
	return has;
}

enum { SETTLED_MS = 320 };

TEST(a_line_with_one_word_is_the_answer)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 7));
	CHECK(w.is_lent && has_shown(&w, "/opt/tool"));
	wait_ms(&w, SETTLED_MS);
	CHECK(w.discards >= 2);
	type(&w, "ru");
	CHECK_INT(w.count, 0);
	type(&w, "m\x7fn\r");
	REQUIRE(w.count == 1);
	CHECK(w.answered[0] == 7 && w.answers[0].is_allow && w.answers[0].scope == SCOPE_RUN);
	CHECK_STR(w.subjects[0], "/opt/tool");
	step(&w);
	CHECK(!w.is_lent && w.given_back == 1);
	done(&w);
}

TEST(what_is_typed_early_is_discarded)
{
	struct world w;

	init(&w);
	type(&w, "run\r");
	CHECK(begin_ask(&w, 1));
	type(&w, "run\r");
	wait_ms(&w, 150);
	type(&w, "run\r");
	CHECK_INT(w.count, 0);
	/* It went on until then: nobody has read the question before. */
	wait_ms(&w, 200);
	type(&w, "run\r");
	CHECK_INT(w.count, 0);
	wait_ms(&w, SETTLED_MS);
	type(&w, "once\r");
	REQUIRE(w.count == 1);
	CHECK(w.answers[0].scope == SCOPE_ONCE);
	done(&w);
}

TEST(who_types_on_answers_nothing)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1));
	for (size_t i = 0; i < 8; i++) {
		type(&w, i % 2 ? "n\r" : "ru");
		wait_ms(&w, 100);
	}
	CHECK_INT(w.count, 0);
	/* Neither does what nobody had time to read until the wait was over. */
	wait_ms(&w, 150);
	w.has_input = true;
	wait_ms(&w, 100);
	CHECK(!w.has_input);
	type(&w, "run\r");
	CHECK_INT(w.count, 0);
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(what_a_terminal_sends_by_itself_never_answers)
{
	static const char *const replies[] = {
		"\x1b]11;rgb:0000/0000/0000\x1b\\run\r",
		"\x1b[?1;2c\rrun\r",
		"\x1b[24;80R\nrun\n",
		"\x1b]lrun\r\x1b\\",
		"\x05run\r",
		"\x9brun\r",
	};
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1));
	for (size_t i = 0; i < COUNT_OF(replies); i++) {
		wait_ms(&w, SETTLED_MS);
		type(&w, "r");
		type(&w, replies[i]);
		CHECK_INT(w.count, 0);
		/* The rest of it comes a moment later. */
		type(&w, "run\r");
		CHECK_INT(w.count, 0);
	}
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(a_reply_in_parts_is_none_however_long_it_takes)
{
	static const char *const ends[] = { "\x1b\\", "\a", "\x18", "\x03" };
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1));
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		wait_ms(&w, SETTLED_MS);
		type(&w, "\x1b");
		type(&w, "]l");
		for (int k = 0; k < 3; k++) {
			wait_ms(&w, SETTLED_MS);
			type(&w, "run\r");
		}
		type(&w, ends[i]);
		type(&w, "run\r");
		CHECK_INT(w.count, 0);
	}
	/* A key that begins nothing. */
	wait_ms(&w, SETTLED_MS);
	type(&w, "\x1b");
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(anything_else_is_told_and_the_question_stands)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1));
	wait_ms(&w, SETTLED_MS);
	/* What follows a line that is no answer was not typed to the new question. */
	type(&w, "yes\rrun\r");
	CHECK(w.count == 0 && has_shown(&w, "deny or denyall; the question stands"));
	CHECK_INT(count_shown(&w, "may this be done"), 1);
	wait_ms(&w, SETTLED_MS);
	type(&w, "a line that is much longer than any answer could ever be\r");
	CHECK_INT(w.count, 0);
	wait_ms(&w, SETTLED_MS);
	type(&w, "garbage\x15run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(control_c_denies)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1));
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\003");
	REQUIRE(w.count == 1);
	step(&w);
	CHECK(!w.answers[0].is_allow && !w.answers[0].denies_rest && !w.is_lent);
	done(&w);
}

TEST(requests_queue_and_each_has_its_own_wait)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1) && begin_ask(&w, 2));
	w.asks_again = 3;
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\rrun\rrun\r");
	REQUIRE(w.count == 1);
	CHECK(w.answered[0] == 1 && w.is_lent);
	wait_ms(&w, SETTLED_MS);
	type(&w, "deny\r");
	REQUIRE(w.count == 2);
	CHECK(w.answered[1] == 2 && !w.answers[1].is_allow);
	wait_ms(&w, SETTLED_MS);
	type(&w, "denyall\r");
	REQUIRE(w.count == 3);
	step(&w);
	CHECK(w.answered[2] == 3 && w.answers[2].denies_rest && w.given_back == 1);
	done(&w);
}

/* By one answer, one deadline, or the end of the run. */
TEST(what_ends_at_once_is_not_shown_one_by_one)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1) && begin_ask(&w, 2) && begin_ask(&w, 3) && begin_ask(&w, 4));
	for (uint64_t id = 1; id <= 3; id++)
		w.decider->withdraw(w.decider->self, id);
	CHECK_INT(count_shown(&w, "may this be done"), 1);
	step(&w);
	CHECK_INT(count_shown(&w, "may this be done"), 2);
	CHECK(w.is_lent && w.lent == 1);
	CHECK(begin_ask(&w, 5));
	w.decider->withdraw(w.decider->self, 4);
	w.decider->withdraw(w.decider->self, 5);
	w.decider->stop(w.decider->self);
	step(&w);
	CHECK_INT(count_shown(&w, "may this be done"), 2);
	CHECK(!w.is_lent && w.given_back == 1 && w.count == 0);
	done(&w);
}

TEST(a_withdrawn_question_goes_and_the_next_comes)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1) && begin_ask(&w, 2) && begin_ask(&w, 3));
	wait_ms(&w, SETTLED_MS);
	w.decider->withdraw(w.decider->self, 2);
	type(&w, "ru");
	w.decider->withdraw(w.decider->self, 1);
	w.decider->withdraw(w.decider->self, 99);
	step(&w);
	type(&w, "n\r");
	CHECK_INT(w.count, 0);
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	REQUIRE(w.count == 1);
	step(&w);
	CHECK(w.answered[0] == 3 && !w.is_lent);
	/* Nothing waits: nothing is taken. */
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(in_the_background_it_waits)
{
	struct world w;

	init(&w);
	w.is_in_front = false;
	CHECK(begin_ask(&w, 1));
	CHECK(!w.is_lent && has_shown(&w, "(fg)") && !has_shown(&w, "/opt/tool"));
	type(&w, "run\r");
	w.is_in_front = true;
	decide_tty_wake(w.d);
	CHECK(w.is_lent && has_shown(&w, "/opt/tool"));
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(while_another_run_asks_it_waits_and_writes_nothing)
{
	struct world w;

	init(&w);
	w.is_taken = true;
	CHECK(begin_ask(&w, 1));
	CHECK(!w.is_lent && w.lent == 1 && !w.shown.len);
	decide_tty_wake(w.d);
	CHECK(!w.is_lent && w.lent == 2 && !w.shown.len);
	type(&w, "run\r");
	w.is_taken = false;
	decide_tty_wake(w.d);
	CHECK(w.is_lent && has_shown(&w, "/opt/tool") && !has_shown(&w, "(fg)"));
	CHECK_INT(w.count, 0);
	wait_ms(&w, SETTLED_MS);
	type(&w, "run\r");
	CHECK_INT(w.count, 1);
	done(&w);
}

TEST(without_its_terminal_all_is_denied)
{
	struct world w;

	init(&w);
	CHECK(begin_ask(&w, 1) && begin_ask(&w, 2));
	decide_tty_hang_up(w.d);
	REQUIRE(w.count == 2);
	CHECK(!w.answers[0].is_allow && !w.answers[1].is_allow);
	CHECK(!begin_ask(&w, 3));
	done(&w);
}
