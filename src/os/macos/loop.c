/* SPDX-License-Identifier: MIT */
/* The event loop over kqueue. */
#include "os/loop.h"

#include <errno.h>
#include <stdint.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/timers.h"

/* The one EVFILT_TIMER; no descriptor stands behind it. */
enum { CLOCK_IDENT = 1, NS_PER_MS = 1000000 };

static int run_timers(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return timers_run(user, e);
}

int loop_init(struct loop *l, struct err *e)
{
	*l = (struct loop){ .queue = kqueue(),
			    .clock = { .fd = -1, .ready = run_timers, .user = l } };
	if (l->queue < 0)
		return FAIL_SYS(e, errno, "can't make an event loop");
	return 0;
}

void loop_done(struct loop *l)
{
	fd_close(&l->queue);
}

int loop_descriptor(const struct loop *l)
{
	return l->queue;
}

static int set_filter(const struct loop *l, struct watcher *w, int filter, int flags)
{
	/* Of more bytes than any queue has room for only the end is told, and that once (EV_CLEAR). */
	bool only_end = filter == EVFILT_READ && (flags & EV_CLEAR);
	struct kevent change;

	EV_SET(&change, w->fd, (int16_t)filter, (uint16_t)flags, only_end ? NOTE_LOWAT : 0,
	       only_end ? INT32_MAX : 0, w);
	return kevent(l->queue, &change, 1, NULL, 0, NULL) < 0 ? -errno : 0;
}

/* Each direction is a filter of its own; deleting one that is not there is no failure. */
static int set_filters(const struct loop *l, struct watcher *w, uint32_t events)
{
	/* Adding again need not change how it was added. */
	int r = set_filter(l, w, EVFILT_READ, EV_DELETE);

	if (events & LOOP_IN)
		r = set_filter(l, w, EVFILT_READ, EV_ADD);
	else if (events & LOOP_GONE)
		(void)set_filter(l, w, EVFILT_READ, EV_ADD | EV_CLEAR);
	if (r == 0 || r == -ENOENT)
		r = set_filter(l, w, EVFILT_WRITE, events & LOOP_OUT ? EV_ADD : EV_DELETE);
	/* What can't be written to refuses the question already. */
	return r == -ENOENT || (r == -EINVAL && !(events & LOOP_OUT)) ? 0 : r;
}

int loop_add(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	if (loop_change(l, w, events, e) < 0)
		return err_result(e);
	w->is_added = true;
	return 0;
}

int loop_change(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	int r = set_filters(l, w, events);

	return r < 0 ? FAIL_SYS(e, -r, "can't wait for descriptor %d", w->fd) : 0;
}

void loop_forget(struct loop *l, struct watcher *w)
{
	timers_forget(l, w);
}

void loop_remove(struct loop *l, struct watcher *w)
{
	if (w->is_added)
		(void)set_filters(l, w, 0);
	timers_forget(l, w);
}

void native_set_clock(struct loop *l, uint64_t at_ms)
{
	uint64_t now = loop_now();
	struct kevent change;

	EV_SET(&change, CLOCK_IDENT, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0,
	       (intptr_t)(at_ms > now ? at_ms - now : 0), &l->clock);
	(void)kevent(l->queue, &change, 1, NULL, 0, NULL);
}

int loop_prepare_timers(struct loop *l, struct err *e)
{
	(void)e;
	l->clock.is_added = true;
	return 0;
}

/* Sleeping and being woken is all that this system has. */
void loop_hurry(struct loop *l)
{
	l->hurries = false;
}

static uint32_t told_by(const struct kevent *event)
{
	/* Half closed is not gone: the other end may still read. */
	if (event->filter == EVFILT_READ && (event->flags & EV_CLEAR))
		return (event->flags & EV_EOF) && event->fflags ? LOOP_GONE : 0;
	if (event->flags & EV_ERROR)
		return LOOP_GONE;
	/* At the end reading says so; who writes has nobody to read it any more. */
	if (event->filter == EVFILT_WRITE)
		return event->flags & EV_EOF ? LOOP_OUT | LOOP_GONE : LOOP_OUT;
	return LOOP_IN;
}

/* Both directions of one descriptor are told at once: the first call might remove the watcher. */
static int gather(struct loop *l, const struct kevent *events, int count, uint32_t *told)
{
	int found = 0;

	for (int i = 0; i < count; i++) {
		int at = 0;

		while (at < found && l->fetched[at] != events[i].udata)
			at++;
		if (at == found) {
			l->fetched[found] = events[i].udata;
			told[found++] = 0;
		}
		told[at] |= told_by(&events[i]);
	}
	return found;
}

static int hand_out(struct loop *l, const uint32_t *told, int count, bool urgent, struct err *e)
{
	for (int i = 0; i < count; i++) {
		struct watcher *w = l->fetched[i];

		if (!w || w->is_urgent != urgent)
			continue;
		l->fetched[i] = NULL;
		if (told[i] && w->ready(w->user, told[i], e) < 0)
			return err_result(e);
	}
	return 0;
}

int loop_step(struct loop *l, int timeout_ms, struct err *e)
{
	const struct timespec wait = { .tv_sec = timeout_ms / 1000,
				       .tv_nsec = (long)(timeout_ms % 1000) * NS_PER_MS };
	struct kevent events[LOOP_MAX_FETCHED];
	uint32_t told[LOOP_MAX_FETCHED];
	int count =
		kevent(l->queue, NULL, 0, events, LOOP_MAX_FETCHED, timeout_ms < 0 ? NULL : &wait);
	int status;

	l->step++;
	if (count < 0 && errno != EINTR)
		return FAIL_SYS(e, errno, "can't wait for events");
	count = gather(l, events, count, told);
	status = hand_out(l, told, count, true, e);
	if (status == 0)
		status = hand_out(l, told, count, false, e);
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		l->fetched[i] = NULL;
	return status;
}
