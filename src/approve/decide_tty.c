/* SPDX-License-Identifier: MIT */
/* See decide_tty.h. */
#include "approve/decide_tty.h"

#include "approve/question.h"
#include "base/mem.h"

enum {
	/* What was typed before, and what a terminal answers to a program, comes until then. */
	SETTLE_MS = 300,
	ITEM_MAX_BYTES = 256 << 10,
	TEXT_MAX_BYTES = 128 << 10,
	KEPT_WORDS = 32,
	KEPT_BYTES = 4096,
};

enum key { KEY_INTERRUPT = 3, KEY_BACKSPACE = 8, KEY_KILL_LINE = 21, KEY_DELETE = 127 };

/* A string that a terminal sends in reply; keys send none. */
enum reply { NO_REPLY, REPLY_ESCAPE, REPLY_STRING };

/* One request, with copies of its strings. */
struct item {
	struct item *next;
	struct arena a;
	struct ask ask;
	uint64_t ends_ms;
};

struct decide_tty {
	struct decide_tty_options options;
	struct decider decider;
	struct item *first, **last; /* the first is the one that is asked */
	bool is_lent;		    /* the terminal */
	bool is_shown;		    /* the first */
	bool has_told;		    /* in the background that there is a question */
	bool has_hung_up;
	bool is_open; /* what is typed counts */
	struct timer opens;
	struct timer next; /* shows the next question */
	char line[QUESTION_MAX_ANSWER];
	size_t length;
	bool is_garbled; /* the line holds what was not taken */
	enum reply reply;
};

/* ---- Requests --------------------------------------------------------------------------------- */

/* What is only shown need not be whole. */
static int copy_shown(struct arena *a, struct str *s, struct err *e)
{
	return arena_copy(a, str_first(*s, KEPT_BYTES), s, e);
}

static int copy_words(struct arena *a, struct ask *ask, struct err *e)
{
	struct str *words = arena_array(a, KEPT_WORDS, sizeof(*words), e);

	if (!words)
		return err_result(e);
	for (size_t i = 0; i < ask->argv_count && i < KEPT_WORDS; i++)
		if (arena_copy(a, str_first(ask->argv[i], KEPT_BYTES), &words[i], e) < 0)
			return err_result(e);
	/* Those that are left out are counted, not shown. */
	ask->argv = words;
	return 0;
}

static int copy_origin(struct arena *a, struct ask *ask, struct err *e)
{
	struct str file;

	if (!ask->origin.file)
		return 0;
	if (arena_copy(a, str_of(ask->origin.file), &file, e) < 0)
		return err_result(e);
	ask->origin.file = file.p;
	return 0;
}

static int copy_ask(struct arena *a, struct ask *ask, struct err *e)
{
	struct str *const shown[] = { &ask->subject, &ask->named, &ask->program,
				      &ask->cwd,     &ask->rule,  &ask->reason };

	for (size_t i = 0; i < COUNT_OF(shown); i++)
		if (copy_shown(a, shown[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < ask->offer_count; i++)
		if (arena_copy(a, ask->offers[i].grant.subject, &ask->offers[i].grant.subject, e) <
		    0)
			return err_result(e);
	return copy_words(a, ask, e) < 0 ? err_result(e) : copy_origin(a, ask, e);
}

static void free_item(struct item *item)
{
	arena_done(&item->a);
	mem_free(item);
}

static struct item *new_item(const struct ask *ask, uint64_t ends_ms)
{
	struct err e = ERR_INIT;
	struct item *item = mem_new(sizeof(*item), &e);

	if (!item)
		return NULL;
	*item = (struct item){ .a = ARENA_INIT(ITEM_MAX_BYTES), .ask = *ask, .ends_ms = ends_ms };
	if (copy_ask(&item->a, &item->ask, &e) < 0) {
		free_item(item);
		return NULL;
	}
	return item;
}

static void unlink_item(struct decide_tty *d, struct item **at)
{
	struct item *item = *at;

	if (item == d->first)
		d->is_shown = d->has_told = false;
	*at = item->next;
	if (d->last == &item->next)
		d->last = at;
}

/* ---- The terminal ------------------------------------------------------------------------------- */

/* The terminal is raw: nothing adds the return to an end of line. */
static void write_text(const struct decide_tty *d, struct str text)
{
	const struct prompt_terminal *t = &d->options.terminal;
	scoped_buf out = BUF_INIT((size_t)2 * TEXT_MAX_BYTES);
	struct str line;

	while (str_find(text, '\n') < text.len && str_next_line(&text, &line)) {
		buf_add(&out, line);
		buf_add_text(&out, "\r\n");
	}
	buf_add(&out, text);
	if (out.failed == ERR_OK)
		t->write(t->self, buf_str(&out));
}

/* True: there was something. */
static bool discard(const struct decide_tty *d)
{
	return d->options.terminal.discard(d->options.terminal.self);
}

/* From now on for a while nothing that is typed counts. */
static void settle(struct decide_tty *d)
{
	d->length = 0;
	d->is_garbled = false;
	d->is_open = false;
	loop_set_timer(d->options.loop, &d->opens, loop_now() + SETTLE_MS);
}

static void write_prompt(const struct decide_tty *d)
{
	/* At the begin of a line, which is empty from there on. */
	write_text(d, STR("\r\033[K> "));
}

/*
 * SECURITY: a reply may come in parts, however slowly, and its text can be the command's: all of it
 * is no answer.
 */
static void watch_reply(struct decide_tty *d, char c)
{
	bool is_begin = c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_';
	bool is_end = c == '\a' || c == '\x18' || c == '\x1a' || (unsigned char)c == KEY_INTERRUPT;

	if (c == '\x1b')
		d->reply = REPLY_ESCAPE;
	else if (d->reply == REPLY_ESCAPE)
		d->reply = is_begin ? REPLY_STRING : NO_REPLY;
	else if (is_end)
		d->reply = NO_REPLY;
}

static void watch_replies(struct decide_tty *d, struct str typed)
{
	for (size_t i = 0; i < typed.len; i++)
		watch_reply(d, typed.p[i]);
}

/* What came meanwhile and was not read is discarded as well, and is as if it had been read. */
static int open_is_due(void *user, struct err *e)
{
	struct decide_tty *d = user;

	(void)e;
	/* The end of a reply has to be read, to be seen. */
	if (d->is_shown && (d->reply == REPLY_STRING || discard(d))) {
		settle(d);
	} else {
		d->reply = NO_REPLY;
		d->is_open = true;
	}
	return 0;
}

static void show(struct decide_tty *d)
{
	const struct prompt_terminal *t = &d->options.terminal;
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	uint64_t now = loop_now();
	struct question_look look = { .has_colour = d->options.has_colour,
				      .left_ms = d->first->ends_ms > now ? d->first->ends_ms - now
									 : 0,
				      .show_entry = d->options.show_entry,
				      .user = d->options.user };

	t->size(t->self, &look.columns, &look.rows);
	question_add(&text, &d->first->ask, &look);
	if (text.failed == ERR_OK)
		write_text(d, buf_str(&text));
	write_prompt(d);
	(void)discard(d);
	settle(d);
	d->is_shown = true;
}

static void tell_it_waits(struct decide_tty *d)
{
	const struct prompt_terminal *t = &d->options.terminal;

	if (d->has_told)
		return;
	d->has_told = true;
	t->write(t->self,
		 STR("\r\ncordon: a question waits; bring cordon to the foreground (fg) to "
		     "answer it\r\n"));
}

static void give_back(struct decide_tty *d)
{
	const struct prompt_terminal *t = &d->options.terminal;

	if (!d->is_lent)
		return;
	d->is_lent = false;
	t->give_back(t->self);
}

/* The next question, if there is one. */
static void go_on(struct decide_tty *d)
{
	const struct prompt_terminal *t = &d->options.terminal;
	enum prompt_lent lent = PROMPT_LENT;

	if (!d->first)
		give_back(d);
	if (!d->first || d->is_shown || d->has_hung_up)
		return;
	if (!d->is_lent)
		lent = t->lend(t->self);
	d->is_lent = lent == PROMPT_LENT;
	if (d->is_lent)
		show(d);
	else if (lent == PROMPT_BEHIND && !d->has_hung_up)
		tell_it_waits(d);
}

static int next_is_due(void *user, struct err *e)
{
	(void)e;
	go_on(user);
	return 0;
}

/* Many may end at once, by one answer or one deadline: only what is left then is shown. */
static void go_on_later(struct decide_tty *d)
{
	loop_set_next_step(d->options.loop, &d->next);
}

/* ---- Answers ------------------------------------------------------------------------------------ */

static void answer_first(struct decide_tty *d, const struct answer *answer)
{
	struct item *item = d->first;
	scoped_buf text = BUF_INIT(1024);

	question_add_outcome(&text, answer);
	if (d->is_lent && text.failed == ERR_OK)
		write_text(d, buf_str(&text));
	/* Before anybody is told: that may lead to the next request. */
	unlink_item(d, &d->first);
	d->options.answer(d->options.user, item->ask.id, answer);
	free_item(item);
}

static void deny_first(struct decide_tty *d)
{
	const struct answer deny = { .message = STR_EMPTY, .by = "tty" };

	answer_first(d, &deny);
}

/* True: it was an answer, and what was typed after it is none. */
static bool take_line(struct decide_tty *d)
{
	scoped_buf why = BUF_INIT(1024);
	struct answer answer;
	bool is_answer;

	write_text(d, STR("\n"));
	is_answer = !d->is_garbled && question_parse((struct str){ d->line, d->length },
						     &d->first->ask, &answer, &why);
	if (is_answer) {
		answer_first(d, &answer);
		go_on_later(d);
		return true;
	}
	if (d->is_garbled)
		question_explain(&d->first->ask, &why);
	if (d->length || d->is_garbled) {
		buf_add_text(&why, "; the question stands\n");
		write_text(d, STR("cordon: "));
		write_text(d, buf_str(&why));
		write_prompt(d);
		(void)discard(d);
		settle(d);
		return true;
	}
	write_prompt(d);
	return false;
}

static void take_printable(struct decide_tty *d, char c)
{
	if (d->length == sizeof(d->line)) {
		d->is_garbled = true;
		return;
	}
	d->line[d->length++] = c;
	write_text(d, (struct str){ &c, 1 });
}

/* False: the rest of what was read is not taken. */
static bool take_key(struct decide_tty *d, char c)
{
	unsigned char byte = (unsigned char)c;

	if (c == '\r' || c == '\n')
		return !take_line(d);
	if (byte == KEY_INTERRUPT) {
		write_text(d, STR("^C\n"));
		deny_first(d);
		go_on_later(d);
		return false;
	}
	if (byte == KEY_BACKSPACE || byte == KEY_DELETE) {
		if (d->length) {
			d->length--;
			write_text(d, STR("\b \b"));
		}
	} else if (byte == KEY_KILL_LINE) {
		d->length = 0;
		d->is_garbled = false;
		write_prompt(d);
	} else if (byte >= ' ' && byte < KEY_DELETE) {
		take_printable(d, c);
	} else {
		/*
		 * A key of no letter, or a terminal that answers a program: SECURITY: nothing of
		 * what comes with it is an answer.
		 */
		settle(d);
		write_prompt(d);
		return false;
	}
	return true;
}

void decide_tty_take(struct decide_tty *d, struct str typed)
{
	if (!d->is_shown)
		return;
	/*
	 * SECURITY: who goes on typing has not read the question. However long that takes, what
	 * they type is no answer.
	 */
	if (!d->is_open) {
		watch_replies(d, typed);
		settle(d);
		return;
	}
	for (size_t i = 0; i < typed.len; i++)
		if (!take_key(d, typed.p[i])) {
			watch_replies(d, str_from(typed, i));
			return;
		}
}

void decide_tty_wake(struct decide_tty *d)
{
	/* It was stopped while it asked: the question may be out of sight. */
	if (d->is_shown && d->is_lent) {
		write_text(d, STR("\n"));
		show(d);
		return;
	}
	go_on(d);
}

void decide_tty_hang_up(struct decide_tty *d)
{
	d->has_hung_up = true;
	d->is_lent = false;
	while (d->first)
		deny_first(d);
}

/* ---- The decider -------------------------------------------------------------------------------- */

static bool ask(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	static const struct answer deny = { .message = STR_INIT(""), .by = "tty" };
	struct decide_tty *d = self;
	struct item *item;

	if (d->has_hung_up)
		return false;
	item = new_item(ask, loop_now() + deadline_ms);
	if (!item) {
		d->options.answer(d->options.user, ask->id, &deny);
		return true;
	}
	*d->last = item;
	d->last = &item->next;
	go_on(d);
	return true;
}

static void withdraw(void *self, uint64_t id)
{
	struct decide_tty *d = self;
	struct item **at = &d->first;
	struct item *item;
	bool was_shown;

	while (*at && (*at)->ask.id != id)
		at = &(*at)->next;
	item = *at;
	if (!item)
		return;
	was_shown = d->is_shown && item == d->first;
	if (was_shown)
		write_text(d, loop_now() >= item->ends_ms
				      ? STR("\ncordon: denied: no answer came\n")
				      : STR("\ncordon: it is no longer asked\n"));
	unlink_item(d, at);
	free_item(item);
	go_on_later(d);
}

static void stop(void *self)
{
	struct decide_tty *d = self;

	while (d->first) {
		struct item *item = d->first;

		unlink_item(d, &d->first);
		free_item(item);
	}
	give_back(d);
	loop_drop_timer(d->options.loop, &d->opens);
	loop_drop_timer(d->options.loop, &d->next);
}

int decide_tty_new(const struct decide_tty_options *options, struct decide_tty **out, struct err *e)
{
	struct decide_tty *d;

	if (loop_prepare_timers(options->loop, e) < 0)
		return err_result(e);
	d = mem_new(sizeof(*d), e);
	if (!d)
		return err_result(e);
	*d = (struct decide_tty){ .options = *options,
				  .decider = { .by = "tty",
					       .ask = ask,
					       .withdraw = withdraw,
					       .stop = stop,
					       .self = d },
				  .last = &d->first,
				  .opens = { .due = open_is_due, .user = d },
				  .next = { .due = next_is_due, .user = d } };
	*out = d;
	return 0;
}

void decide_tty_free(struct decide_tty *d)
{
	if (!d)
		return;
	stop(d);
	mem_free(d);
}

const struct decider *decide_tty_decider(const struct decide_tty *d)
{
	return &d->decider;
}
