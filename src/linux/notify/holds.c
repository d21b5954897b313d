/* SPDX-License-Identifier: MIT */
/*
 * See holds.h. While something is held, a timer looks for callers that are gone: the kernel tells
 * nobody. A signal that the caller handles does not interrupt a call that was received (Linux 5.19),
 * so the same timer ends calls whose thread has a signal that asks it to end.
 */
#include "linux/notify/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "linux/notify/caller.h"
#include "os/fd.h"

enum {
	LOOK_MS = 100,
	LOOKS = 128, /* at a time: each takes some 20 microseconds */
	ARGV_MAX_BYTES = 32 << 10,
	ARGV_MAX = 256,
};

struct held_one {
	uint64_t id;
	uint32_t round;
	struct engine_call call;
	struct hold_owner owner;
	struct denial attempt; /* its texts are behind this struct */
	bool is_asking;	       /* hold() has not returned yet */
	bool is_answered;      /* from within it */
	enum hold_answer answer;
};

/* ---- What is kept of a call ---------------------------------------------------------------- */

enum { TEXTS = 8 };

static void list_texts(struct denial *d, struct str *out[TEXTS])
{
	out[0] = &d->subject;
	out[1] = &d->named;
	out[2] = &d->opens;
	out[3] = &d->executable;
	out[4] = &d->rule;
	out[5] = &d->way_out;
	out[6] = &d->value;
	out[7] = &d->program;
}

static struct held_one *make(const struct engine_call *call, const struct denial *attempt,
			     const struct hold_owner *owner)
{
	struct err e = ERR_INIT;
	struct denial copy = *attempt;
	struct str *texts[TEXTS];
	size_t bytes = sizeof(struct held_one);
	struct held_one *one;
	char *at;

	list_texts(&copy, texts);
	for (size_t i = 0; i < TEXTS; i++)
		bytes += texts[i]->len + 1;
	one = mem_new(bytes, &e);
	if (!one)
		return NULL;
	one->call = *call;
	one->owner = *owner;
	one->attempt = copy;
	list_texts(&one->attempt, texts);
	at = (char *)(one + 1);
	for (size_t i = 0; i < TEXTS; i++) {
		size_t len = texts[i]->len;

		memcpy(at, texts[i]->p ? texts[i]->p : "", len);
		*texts[i] = (struct str){ at, len };
		at += len + 1; /* the block is zeroed */
	}
	return one;
}

static struct held_one *find(const struct holds *h, uint64_t id)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->items[i]->id == id)
			return h->items[i];
	return NULL;
}

static void take_out(struct holds *h, const struct held_one *one)
{
	for (size_t i = 0; i < h->count; i++) {
		if (h->items[i] != one)
			continue;
		h->items[i] = h->items[--h->count];
		return;
	}
}

/* ---- What the caller is -------------------------------------------------------------------- */

struct described {
	struct str argv[ARGV_MAX];
	size_t argv_count;
	char words[ARGV_MAX_BYTES];
	char cwd[PATH_MAX_BYTES];
	size_t cwd_len;
};

static void read_words(int32_t pid, struct described *out)
{
	scoped_fd fd = caller_open(pid, "cmdline", O_RDONLY);
	size_t got = 0, at = 0;

	while (fd >= 0 && got < sizeof(out->words)) {
		ssize_t n = read(fd, out->words + got, sizeof(out->words) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	while (at < got && out->argv_count < ARGV_MAX) {
		struct str rest = { out->words + at, got - at };
		struct str word = str_first(rest, str_find(rest, '\0'));

		out->argv[out->argv_count++] = word;
		at += word.len + 1;
	}
}

static void read_cwd(int32_t pid, struct described *out)
{
	char link[CALLER_PATH_BYTES];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	n = readlink(link, out->cwd, sizeof(out->cwd));
	out->cwd_len = n > 0 && (size_t)n < sizeof(out->cwd) ? (size_t)n : 0;
}

static bool ask(struct holds *h, const struct held_one *one, bool can_once)
{
	UNINITIALIZED struct described caller;
	struct hold_offer offer = { .id = one->id, .attempt = &one->attempt, .can_once = can_once };

	caller.argv_count = caller.cwd_len = 0;
	read_words(one->call.pid, &caller);
	read_cwd(one->call.pid, &caller);
	/* If the caller has ended, nothing of what was read may be its own. */
	if (!engine_is_waiting(h->engine, one->call.id))
		return false;
	offer.argv = caller.argv;
	offer.argv_count = caller.argv_count;
	offer.cwd = (struct str){ caller.cwd, caller.cwd_len };
	return h->events.hold(h->events.user, &offer);
}

/* ---- Holding and releasing ------------------------------------------------------------------ */

/* `one` is not in the table any more. */
static void answer(struct holds *h, struct held_one *one, enum hold_answer how)
{
	const uint64_t call = h->again_call;
	const uint32_t round = h->again_round;

	if (how == HOLD_REFUSE)
		denials_add(h->denials, &one->attempt);
	h->again_call = one->call.id;
	h->again_round = one->round + 1;
	one->owner.released(one->owner.user, &one->call, &one->attempt, how);
	h->again_call = call;
	h->again_round = round;
	mem_free(one);
}

bool holds_offer(struct holds *h, const struct engine_call *call, const struct denial *attempt,
		 bool can_once, const struct hold_owner *owner)
{
	const uint32_t round = call->id == h->again_call ? h->again_round : 0;
	struct held_one *one;
	bool is_held;

	if (h->count >= HOLDS_MAX || round >= HOLDS_MAX_ROUNDS)
		return false;
	one = make(call, attempt, owner);
	if (!one)
		return false;
	one->id = ++h->last_id;
	one->round = round;
	one->is_asking = true;
	h->items[h->count++] = one;
	is_held = ask(h, one, can_once);
	one->is_asking = false;
	if (is_held && !one->is_answered) {
		if (h->timer.at_ms == 0)
			loop_set_timer(h->engine->loop, &h->timer, loop_now() + LOOK_MS);
		return true;
	}
	take_out(h, one);
	if (is_held)
		answer(h, one, one->answer);
	else
		mem_free(one);
	return is_held;
}

void holds_release(struct holds *h, uint64_t id, enum hold_answer how)
{
	struct held_one *one = find(h, id);

	if (!one)
		return;
	if (one->is_asking) {
		one->is_answered = true;
		one->answer = how;
		return;
	}
	take_out(h, one);
	answer(h, one, how);
}

/* ---- Callers that are gone ------------------------------------------------------------------- */

static bool is_over(struct holds *h, const struct held_one *one)
{
	if (!engine_is_waiting(h->engine, one->call.id))
		return true;
	if (!caller_is_asked_to_end(one->call.pid) || !engine_is_waiting(h->engine, one->call.id))
		return false;
	engine_reply(h->engine, one->call.id, -EINTR);
	return true;
}

static int look(void *user, struct err *e)
{
	struct holds *h = user;

	(void)e;
	for (size_t i = MIN_OF(h->count, (size_t)LOOKS); i > 0 && h->count > 0; i--) {
		struct held_one *one = h->items[h->next = h->next % h->count];

		h->next++;
		if (one->is_asking || !is_over(h, one))
			continue;
		h->next--;
		take_out(h, one);
		h->events.unhold(h->events.user, one->id);
		mem_free(one);
	}
	loop_set_timer(h->engine->loop, &h->timer, h->count ? loop_now() + LOOK_MS : 0);
	return 0;
}

/* ---- From start to stop ----------------------------------------------------------------------- */

int holds_start(struct arena *a, struct engine *engine, struct denials *denials,
		const struct hold_events *events, struct holds **out, struct err *e)
{
	struct holds *h = ARENA_NEW(a, struct holds, e);

	if (!h || loop_prepare_timers(engine->loop, e) < 0)
		return err_result(e);
	h->engine = engine;
	h->denials = denials;
	h->events = *events;
	h->timer = (struct timer){ .due = look, .user = h };
	*out = h;
	return 0;
}

void holds_stop(struct holds *h)
{
	loop_drop_timer(h->engine->loop, &h->timer);
	while (h->count)
		mem_free(h->items[--h->count]);
}
