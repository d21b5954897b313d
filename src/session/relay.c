/* SPDX-License-Identifier: MIT */
/* See relay.h. */
#include "session/relay.h"

#include <errno.h>

#include "os/fd.h"
#include "os/pty.h"
#include "os/signals.h"
#include "os/streams.h"
#include "session/run.h"
#include "session/terminal_filter.h"
#include "session/terminal_modes.h"

enum {
	CHUNK_BYTES = 16 << 10,
	CHUNKS_BEFORE = 4, /* a pty holds no more */
	SAY_MAX_BYTES = 256 << 10,
	SEQUENCE_BYTES = 256, /* that an incomplete one may still take, before it is broken off */
	REPAINT_MS = 50,      /* between two sizes: a program should see each of them */
	AGAIN_MS = 50,	      /* until it is looked whether another run still asks */
	MIN_COLUMNS = 20,
	MIN_ROWS = 5,
};

/* What was read at one end and is not written at the other yet. */
struct flow {
	size_t sent, length;
	char bytes[CHUNK_BYTES + FILTER_HELD_BYTES + 1]; /* a buffer keeps one for a NUL */
};

struct relay {
	struct session *s;
	struct decide_tty *asker;
	struct watcher user; /* the user's terminal, opened anew; fd -1: it has hung up */
	struct watcher pty;  /* the master */
	uint32_t user_events, pty_events; /* that are waited for */
	struct os_pty ends;
	struct flow typed, shown;
	struct buf say; /* the decider's and what surrounds it: goes before `shown` */
	size_t said;
	struct terminal_modes modes;
	struct terminal_filter filter;
	char read[CHUNK_BYTES];			/* of the command's, before the filter */
	struct terminal_attributes cooked, raw; /* the user's terminal without and with the relay */
	struct terminal_attributes at_first;	/* of the command's terminal */
	bool is_raw;
	bool is_in_front; /* what is typed is the command's */
	bool wants_front; /* when this process is in the foreground */
	bool is_held;	  /* the command was stopped and does not go on yet */
	bool is_lent;	  /* to the decider */
	int lock;	  /* os_tty_open_lock(); -1: none can be had, and nobody else is seen */
	bool is_alone;	  /* has the lock, because it asks */
	bool is_shut_out; /* another run asks there */
	struct timer again;
	bool has_typed_stop;
	bool skips; /* the rest of a sequence that was broken off */
	struct timer repaint;
	bool is_broken; /* writing has shown that the terminal is gone */
	struct timer broken;
};

/* ---- Other runs at the same terminal ------------------------------------------------------------ */

/*
 * SECURITY: several runs of one pipeline have the same terminal. While one asks there, the commands of the
 * others can't write over its question, nor does another relay read what is typed as the answer.
 */
static void wait_until_free(struct relay *r)
{
	r->is_shut_out = true;
	loop_set_timer(&r->s->loop, &r->again, loop_now() + AGAIN_MS);
}

static void stop_waiting(struct relay *r)
{
	if (r->is_shut_out)
		loop_drop_timer(&r->s->loop, &r->again);
	r->is_shut_out = false;
}

/* Nobody else asks now; true if that can't be known. */
static bool may_relay(struct relay *r)
{
	if (r->lock < 0 || r->is_alone)
		return true;
	if (!os_tty_lock(r->lock, false)) {
		wait_until_free(r);
		return false;
	}
	os_tty_unlock(r->lock);
	stop_waiting(r);
	return true;
}

/* Waits for nobody: who writes at this moment is done when it is tried again. */
static bool shut_out_others(struct relay *r)
{
	r->is_alone = r->lock < 0 || os_tty_lock(r->lock, true);
	if (r->is_alone)
		stop_waiting(r);
	else
		wait_until_free(r);
	return r->is_alone;
}

static void let_others_in(struct relay *r)
{
	if (r->is_alone && r->lock >= 0)
		os_tty_unlock(r->lock);
	r->is_alone = false;
}

/* ---- The user's terminal ---------------------------------------------------------------------- */

static bool is_pending(const struct flow *f)
{
	return f->sent < f->length;
}

static void sync_size(struct relay *r)
{
	struct os_tty_size size;

	if (r->user.fd >= 0 && r->ends.master >= 0 && os_tty_get_size(r->user.fd, &size))
		os_tty_set_size(r->ends.master, &size);
}

/* Again, if a shell has set the terminal while this process was stopped. */
static void make_raw(struct relay *r)
{
	struct terminal_attributes now;

	if (r->user.fd < 0 || os_tty_get(r->user.fd, &now) < 0)
		return;
	if (!r->is_raw || !os_tty_are_equal(&now, &r->raw)) {
		r->cooked = r->raw = now;
		os_tty_make_raw(&r->raw);
	}
	r->is_raw = os_tty_set(r->user.fd, &r->raw) == 0;
}

static void make_cooked(struct relay *r)
{
	struct terminal_attributes now;

	if (r->user.fd < 0 || !r->is_raw)
		return;
	r->is_raw = false;
	/* What somebody else has set since is theirs. */
	if (os_tty_get(r->user.fd, &now) == 0 && os_tty_are_equal(&now, &r->raw))
		(void)os_tty_set(r->user.fd, &r->cooked);
}

static void go_to_front(struct relay *r)
{
	make_raw(r);
	sync_size(r);
	r->is_in_front = true;
	r->s->outcome.had_terminal = true;
	supervisor_set_front(r->s->supervisor, true);
}

static void go_behind(struct relay *r)
{
	make_cooked(r);
	if (!r->is_in_front)
		return;
	r->is_in_front = false;
	supervisor_set_front(r->s->supervisor, false);
}

/* ---- What is waited for ------------------------------------------------------------------------- */

static uint32_t wanted_of_user(const struct relay *r)
{
	uint32_t events = 0;
	bool is_read = r->is_lent || (r->is_in_front && !r->is_held && !is_pending(&r->typed));

	if (r->is_shut_out)
		return 0;
	if (r->is_raw && is_read)
		events |= LOOP_IN;
	if (r->said < r->say.len || (!r->is_lent && is_pending(&r->shown)))
		events |= LOOP_OUT;
	return events;
}

static uint32_t wanted_of_pty(const struct relay *r)
{
	uint32_t events = 0;

	if (r->is_lent || r->is_shut_out)
		return 0;
	if (!is_pending(&r->shown) && r->said == r->say.len)
		events |= LOOP_IN;
	if (is_pending(&r->typed))
		events |= LOOP_OUT;
	return events;
}

static int watch(struct relay *r, struct watcher *w, uint32_t *now, uint32_t wanted, struct err *e)
{
	if (w->fd < 0 || *now == wanted)
		return 0;
	/* Nothing is waited for, so that a terminal that has hung up is noticed nevertheless. */
	*now = wanted;
	if (w->is_added)
		return loop_change(&r->s->loop, w, wanted, e);
	return loop_add(&r->s->loop, w, wanted, e);
}

static int settle(struct relay *r, struct err *e)
{
	if (watch(r, &r->user, &r->user_events, wanted_of_user(r), e) < 0)
		return err_result(e);
	return watch(r, &r->pty, &r->pty_events, wanted_of_pty(r), e);
}

/* From where no error can be told; the loop would tell it soon. */
static void settle_silently(struct relay *r)
{
	struct err e = ERR_INIT;

	if (r->user.is_added && settle(r, &e) < 0)
		(void)supervisor_kill(r->s->supervisor);
}

/*
 * The user's terminal is gone. The command's is gone with it, as it would be without a relay: who
 * has it in the foreground gets SIGHUP, and reading ends.
 */
static void hang_up(struct relay *r)
{
	loop_drop_timer(&r->s->loop, &r->broken);
	loop_drop_timer(&r->s->loop, &r->again);
	loop_remove(&r->s->loop, &r->user);
	loop_remove(&r->s->loop, &r->pty);
	let_others_in(r);
	fd_close(&r->lock);
	fd_close(&r->user.fd);
	os_pty_close(&r->ends);
	r->pty.fd = -1;
	r->is_raw = r->is_shut_out = false;
	r->shown.sent = r->shown.length = 0;
	r->typed.sent = r->typed.length = 0;
	r->said = r->say.len;
	if (r->asker)
		decide_tty_hang_up(r->asker);
}

static int is_found_broken(void *user, struct err *e)
{
	struct relay *r = user;

	(void)e;
	if (r->user.fd >= 0)
		hang_up(r);
	return 0;
}

static bool is_gone(const struct relay *r)
{
	return r->user.fd < 0 || r->is_broken;
}

/* ---- From the command to the user ------------------------------------------------------------- */

/*
 * False: there is no room now, or no terminal. The loop tells the decider of that, because it may be
 * who writes, in the midst of a question.
 */
static bool write_user(struct relay *r, const char *bytes, size_t count, size_t *written)
{
	ssize_t n = is_gone(r) ? -EIO : os_tty_write(r->user.fd, bytes, count);

	*written = n > 0 ? (size_t)n : 0;
	if (n < 0 && n != -EAGAIN && !is_gone(r)) {
		r->is_broken = true;
		loop_set_next_step(&r->s->loop, &r->broken);
	}
	return n > 0;
}

static bool flush_said(struct relay *r)
{
	size_t n = 0;

	while (r->said < r->say.len && write_user(r, r->say.p + r->said, r->say.len - r->said, &n))
		r->said += n;
	if (r->said < r->say.len)
		return false;
	buf_clear(&r->say);
	r->said = 0;
	return true;
}

static void skip(struct relay *r)
{
	while (r->skips && is_pending(&r->shown)) {
		r->skips = modes_is_skipping(&r->modes);
		if (r->skips)
			modes_feed(&r->modes, (struct str){ r->shown.bytes + r->shown.sent++, 1 });
	}
}

/* At most `limit` bytes. */
static bool flush_shown(struct relay *r, size_t limit)
{
	size_t n = 0;

	skip(r);
	while (is_pending(&r->shown) && limit > 0) {
		const char *from = r->shown.bytes + r->shown.sent;

		if (!write_user(r, from, MIN_OF(limit, r->shown.length - r->shown.sent), &n))
			return false;
		modes_feed(&r->modes, (struct str){ from, n });
		r->shown.sent += n;
		limit -= n;
	}
	return true;
}

/* False: there is nothing to read now. */
static bool read_pty(struct relay *r)
{
	struct buf shown = BUF_OVER(r->shown.bytes);
	ssize_t n;

	if (r->ends.master < 0 || is_pending(&r->shown))
		return false;
	n = os_tty_read(r->ends.master, r->read, sizeof(r->read));
	if (n <= 0)
		return false;
	filter_pass(&r->filter, (struct str){ r->read, (size_t)n }, &shown);
	r->shown.sent = 0;
	r->shown.length = shown.len;
	return true;
}

static void show(struct relay *r)
{
	if (may_relay(r) && flush_said(r) && !r->is_lent)
		(void)flush_shown(r, SIZE_MAX);
}

/* ---- From the user to the command ------------------------------------------------------------- */

static void flush_typed(struct relay *r)
{
	while (is_pending(&r->typed) && r->ends.master >= 0) {
		ssize_t n = os_tty_write(r->ends.master, r->typed.bytes + r->typed.sent,
					 r->typed.length - r->typed.sent);

		if (n <= 0)
			return;
		r->typed.sent += (size_t)n;
	}
}

static void note_stop_key(struct relay *r)
{
	struct terminal_attributes now;

	if (os_tty_get(r->ends.slave, &now) < 0)
		return;
	for (size_t i = 0; i < r->typed.length; i++)
		r->has_typed_stop |= os_tty_is_stop_key(&now, r->typed.bytes[i]);
}

static void read_user(struct relay *r)
{
	char bytes[1024];
	ssize_t n;

	if ((!r->is_lent && is_pending(&r->typed)) || !may_relay(r))
		return;
	n = os_tty_read(r->user.fd, bytes, sizeof(bytes));
	if (n == 0 || (n == -EIO && terminal_is_ours(&r->s->terminal))) {
		hang_up(r);
	} else if (n == -EIO) {
		/* Somebody has put this process into the background. */
		go_behind(r);
	} else if (n > 0 && r->is_lent) {
		decide_tty_take(r->asker, (struct str){ bytes, (size_t)n });
	} else if (n > 0) {
		memcpy(r->typed.bytes, bytes, (size_t)n);
		r->typed.sent = 0;
		r->typed.length = (size_t)n;
		note_stop_key(r);
		flush_typed(r);
	}
}

/* ---- The loop -------------------------------------------------------------------------------- */

static int user_is_ready(void *user, uint32_t events, struct err *e)
{
	struct relay *r = user;

	if (events & LOOP_OUT)
		show(r);
	if ((events & LOOP_IN) && r->user.fd >= 0)
		read_user(r);
	else if ((events & LOOP_GONE) && r->user.fd >= 0)
		hang_up(r);
	return settle(r, e);
}

static int pty_is_ready(void *user, uint32_t events, struct err *e)
{
	struct relay *r = user;

	if (events & LOOP_OUT)
		flush_typed(r);
	if ((events & LOOP_IN) && !r->is_lent && may_relay(r) && read_pty(r))
		show(r);
	return settle(r, e);
}

static int repaint_is_due(void *user, struct err *e)
{
	(void)e;
	sync_size(user);
	return 0;
}

/* A program that paints the whole window does so again when the size has changed. */
static void have_it_painted(struct relay *r)
{
	struct os_tty_size size;
	struct err e = ERR_INIT;

	if (r->user.fd < 0 || r->ends.master < 0 || !os_tty_get_size(r->user.fd, &size))
		return;
	size.rows = (unsigned short)(size.rows > 1 ? size.rows - 1 : size.rows + 1);
	if (loop_prepare_timers(&r->s->loop, &e) < 0)
		return;
	os_tty_set_size(r->ends.master, &size);
	loop_set_timer(&r->s->loop, &r->repaint, loop_now() + REPAINT_MS);
}

/* ---- For the decider -------------------------------------------------------------------------- */

/* What the command has written before it asked; a command that never ends writing can't delay that. */
static void show_what_was_before(struct relay *r)
{
	for (int i = 0; i < CHUNKS_BEFORE; i++) {
		show(r);
		if (is_pending(&r->shown) || !read_pty(r))
			return;
	}
	show(r);
}

/* A sequence that the command has begun would swallow what follows. */
static void finish_sequence(struct relay *r)
{
	for (size_t i = 0; i < SEQUENCE_BYTES && !modes_is_at_rest(&r->modes); i++)
		if ((!is_pending(&r->shown) && !read_pty(r)) || !flush_shown(r, 1))
			break;
	r->skips = modes_is_skipping(&r->modes);
}

static enum prompt_lent lend(void *self)
{
	struct relay *r = self;

	if (r->is_lent)
		return PROMPT_LENT;
	if (r->user.fd < 0 || !terminal_is_ours(&r->s->terminal))
		return PROMPT_BEHIND;
	if (!shut_out_others(r)) {
		settle_silently(r);
		return PROMPT_TAKEN;
	}
	show_what_was_before(r);
	finish_sequence(r);
	if (is_gone(r)) {
		let_others_in(r);
		return PROMPT_BEHIND;
	}
	make_raw(r);
	r->is_lent = true;
	modes_add_plain(&r->modes, &r->say);
	settle_silently(r);
	return PROMPT_LENT;
}

static void give_back(void *self)
{
	struct relay *r = self;

	if (!r->is_lent)
		return;
	r->is_lent = false;
	modes_add_back(&r->modes, &r->say);
	if (!r->is_in_front)
		make_cooked(r);
	have_it_painted(r);
	show(r);
	let_others_in(r);
	settle_silently(r);
}

static void say(void *self, struct str text)
{
	struct relay *r = self;

	if (is_gone(r))
		return;
	buf_add(&r->say, text);
	/* More than anybody will read is lost. */
	if (r->say.failed != ERR_OK) {
		buf_clear(&r->say);
		r->said = 0;
	}
	if (may_relay(r))
		(void)flush_said(r);
	settle_silently(r);
}

static bool discard(void *self)
{
	struct relay *r = self;

	return r->user.fd >= 0 && os_tty_discard(r->user.fd);
}

static void find_size(void *self, size_t *columns, size_t *rows)
{
	struct relay *r = self;
	struct os_tty_size size = { .rows = 24, .columns = 80 };

	if (r->user.fd >= 0)
		(void)os_tty_get_size(r->user.fd, &size);
	*columns = size.columns ? MAX_OF((size_t)size.columns, (size_t)MIN_COLUMNS) : 80;
	*rows = size.rows ? MAX_OF((size_t)size.rows, (size_t)MIN_ROWS) : 24;
}

struct prompt_terminal relay_lend(struct relay *r)
{
	return (struct prompt_terminal){ .lend = lend,
					 .give_back = give_back,
					 .write = say,
					 .discard = discard,
					 .size = find_size,
					 .self = r };
}

void relay_serve(struct relay *r, struct decide_tty *asker)
{
	r->asker = asker;
}

/* ---- Stop and go ------------------------------------------------------------------------------ */

void relay_stop(struct relay *r, int number)
{
	bool wants_terminal = number == os_signals.tty_input || number == os_signals.tty_output;
	bool is_typed = r->has_typed_stop && number == os_signals.typed_stop;

	r->is_held = true;
	r->has_typed_stop = false;
	if (wants_terminal)
		r->wants_front = true;
	/* Brought to the foreground without being told, as fg does with a running job. */
	if (!wants_terminal || !terminal_is_ours(&r->s->terminal)) {
		go_behind(r);
		/* Who has the terminal meanwhile is not to wait for this. */
		let_others_in(r);
		terminal_stop_self(number, is_typed);
	}
	relay_look(r);
}

void relay_continued(struct relay *r)
{
	r->is_held = false;
	settle_silently(r);
}

void relay_look(struct relay *r)
{
	sync_size(r);
	if (r->user.fd < 0 || !r->user.is_added)
		return;
	if (terminal_is_ours(&r->s->terminal) &&
	    (r->is_lent && !r->is_alone ? shut_out_others(r) : may_relay(r))) {
		if (r->wants_front)
			go_to_front(r);
		else if (r->is_lent)
			make_raw(r);
		if (r->asker)
			decide_tty_wake(r->asker);
	}
	settle_silently(r);
}

static int again_is_due(void *user, struct err *e)
{
	struct relay *r = user;

	(void)e;
	/* In the background others are looked for again when it writes. */
	r->is_shut_out = false;
	show(r);
	if (!r->is_shut_out)
		relay_look(r);
	settle_silently(r);
	return 0;
}

/* ---- Begin and end ---------------------------------------------------------------------------- */

static int fail_no_terminal(const char *why, struct err *e)
{
	(void)FAIL_CAUSE(e, CAUSE_NO_TERMINAL, "--ask tty can't ask: %s", why);
	err_add_line(e, "start it at a terminal, in the foreground, or let a program decide: --ask "
			"cmd:PROGRAM");
	return err_result(e);
}

static int make_pty(struct relay *r, struct err *e)
{
	struct os_tty_size size;
	int code = os_pty_open(&r->ends);

	if (code < 0)
		return FAIL_SYS(e, -code, "can't make a terminal for the command");
	r->pty.fd = r->ends.master;
	code = os_tty_get(r->user.fd, &r->cooked);
	r->at_first = r->cooked;
	if (code == 0)
		code = os_tty_set(r->ends.slave, &r->cooked);
	if (code < 0)
		return FAIL_SYS(e, -code, "can't set up the command's terminal");
	if (os_tty_get_size(r->user.fd, &size))
		os_tty_set_size(r->ends.master, &size);
	return 0;
}

static void replace_streams(struct relay *r)
{
	struct session *s = r->s;

	for (int i = 0; i < 3; i++) {
		if (!os_tty_is(s->stdio[i], r->user.fd))
			continue;
		if (s->owns_stdio[i])
			fd_done(&s->stdio[i]);
		s->owns_stdio[i] = false;
		s->stdio[i] = r->ends.slave;
	}
}

/* SECURITY: what the command writes there does not go through here, and is not held back. */
static void warn_of_pipes(const struct session *s)
{
	static const char *const streams[] = { [1] = "output", [2] = "error" };

	for (int i = 1; s->in.approvals && i < 3; i++) {
		if (!os_leads_to_program(s->stdio[i]))
			continue;
		session_warn(
			&s->in,
			"--ask tty: standard %s is a pipe or a socket; if what reads it writes "
			"to this terminal (as 'tee' does), the command can write over a "
			"question",
			streams[i]);
		return;
	}
}

int relay_open(struct session *s, struct relay **out, struct err *e)
{
	struct relay *r;

	/* It stops with the command, and sets the terminal: only a command itself may. */
	if (!s->in.is_foreground)
		return FAIL(e, ERR_ARGUMENT,
			    "only a program that runs in the foreground (CORDON_RUN_FOREGROUND) "
			    "can ask at the terminal");
	r = ARENA_NEW(s->a, struct relay, e);
	if (!r)
		return err_result(e);
	*r = (struct relay){ .s = s,
			     .user = { .ready = user_is_ready, .user = r },
			     .pty = { .fd = -1, .ready = pty_is_ready, .user = r },
			     .lock = -1,
			     .ends = OS_PTY_NONE,
			     .say = BUF_INIT(SAY_MAX_BYTES),
			     .repaint = { .due = repaint_is_due, .user = r },
			     .broken = { .due = is_found_broken, .user = r },
			     .again = { .due = again_is_due, .user = r } };
	modes_init(&r->modes);
	filter_init(&r->filter);
	r->user.fd = os_tty_open();
	if (r->user.fd < 0 || s->terminal.fd < 0) {
		relay_close(r);
		return fail_no_terminal("there is no terminal", e);
	}
	if (!terminal_is_ours(&s->terminal)) {
		relay_close(r);
		return fail_no_terminal("cordon is not in the foreground of its terminal", e);
	}
	/*
	 * In a pipeline each of several relays would read what is typed. Without what it reads from
	 * the terminal the command gets it when it is stopped for want of it.
	 */
	r->wants_front = os_tty_is(s->stdio[0], r->user.fd) &&
			 terminal_is_given_at_once(&s->terminal, s->stdio[1]);
	if (make_pty(r, e) < 0) {
		relay_close(r);
		return err_result(e);
	}
	/* Without it (a terminal of another user's, say) other runs can't be seen. */
	r->lock = MAX_OF(os_tty_open_lock(r->user.fd, s->terminal.path), -1);
	replace_streams(r);
	warn_of_pipes(s);
	*out = r;
	return 0;
}

const char *relay_path(const struct relay *r)
{
	return r->ends.path;
}

bool relay_starts_in_front(const struct relay *r)
{
	return r->wants_front;
}

int relay_begin(struct relay *r, struct err *e)
{
	if (r->user.fd < 0)
		return 0;
	r->user_events = r->pty_events = UINT32_MAX;
	if (loop_prepare_timers(&r->s->loop, e) < 0 || settle(r, e) < 0)
		return err_result(e);
	if (r->wants_front && terminal_is_ours(&r->s->terminal) && may_relay(r))
		go_to_front(r);
	return settle(r, e);
}

bool relay_is_drained(struct relay *r)
{
	if (is_gone(r))
		return true;
	give_back(r);
	if (!may_relay(r)) {
		settle_silently(r);
		return false;
	}
	do
		show(r);
	while (!is_gone(r) && r->said == r->say.len && !is_pending(&r->shown) && read_pty(r));
	settle_silently(r);
	return is_gone(r) || (r->said == r->say.len && !is_pending(&r->shown));
}

/* What a command that ended well has set stays, as with stty. */
static void take_over_attributes(struct relay *r)
{
	struct terminal_attributes now;

	if (r->is_raw && r->s->outcome.signal == 0 && !r->s->was_killed && r->ends.slave >= 0 &&
	    os_tty_get(r->ends.slave, &now) == 0 && !os_tty_are_equal(&now, &r->at_first))
		r->cooked = now;
}

void relay_close(struct relay *r)
{
	if (!r)
		return;
	give_back(r);
	take_over_attributes(r);
	make_cooked(r);
	loop_drop_timer(&r->s->loop, &r->repaint);
	loop_drop_timer(&r->s->loop, &r->broken);
	loop_drop_timer(&r->s->loop, &r->again);
	loop_remove(&r->s->loop, &r->user);
	loop_remove(&r->s->loop, &r->pty);
	let_others_in(r);
	fd_close(&r->lock);
	fd_close(&r->user.fd);
	os_pty_close(&r->ends);
	r->pty.fd = -1;
	buf_done(&r->say);
}
