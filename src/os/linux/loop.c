/* SPDX-License-Identifier: MIT */
/* The event loop over epoll. */
#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "os/loop.h"

int loop_init(struct loop *l, struct err *e)
{
	*l = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
	if (l->epoll < 0)
		return FAIL_SYS(e, errno, "can't make an event loop");
	return 0;
}

void loop_done(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = -1;
}

static int control(struct loop *l, int op, struct watcher *w, uint32_t events, struct err *e)
{
	struct epoll_event event = { .data.ptr = w };

	if (events & LOOP_IN)
		event.events |= EPOLLIN;
	if (events & LOOP_OUT)
		event.events |= EPOLLOUT;
	if (epoll_ctl(l->epoll, op, w->fd, &event) < 0)
		return FAIL_SYS(e, errno, "can't wait for descriptor %d", w->fd);
	return 0;
}

int loop_add(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	if (control(l, EPOLL_CTL_ADD, w, events, e) < 0)
		return err_result(e);
	w->is_added = true;
	return 0;
}

int loop_change(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	return control(l, EPOLL_CTL_MOD, w, events, e);
}

void loop_remove(struct loop *l, struct watcher *w)
{
	if (!w->is_added)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->is_added = false;
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		if (l->fetched[i] == w)
			l->fetched[i] = NULL;
}

void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_ms)
{
	t->at_ms = at_ms;
	if (t->is_added)
		return;
	t->next = l->timers;
	l->timers = t;
	t->is_added = true;
}

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The wait until the first timer, when that is sooner than `timeout_ms`. */
static int wait_ms(const struct loop *l, int timeout_ms)
{
	uint64_t now = loop_now();

	for (const struct timer *t = l->timers; t; t = t->next) {
		uint64_t left = t->at_ms > now ? t->at_ms - now : 0;

		if (t->at_ms == 0)
			continue;
		left = MIN_OF(left, (uint64_t)INT32_MAX);
		if (timeout_ms < 0 || left < (uint64_t)timeout_ms)
			timeout_ms = (int)left;
	}
	return timeout_ms;
}

static int run_timers(struct loop *l, struct err *e)
{
	uint64_t now = loop_now();

	for (struct timer *t = l->timers; t; t = t->next) {
		if (t->at_ms == 0 || t->at_ms > now)
			continue;
		t->at_ms = 0;
		if (t->due(t->user, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int hand_out(struct loop *l, const struct epoll_event *events, int count, struct err *e)
{
	for (int i = 0; i < count; i++) {
		struct watcher *w = l->fetched[i];
		uint32_t told = 0;

		if (!w)
			continue;
		l->fetched[i] = NULL;
		if (events[i].events & EPOLLIN)
			told |= LOOP_IN;
		if (events[i].events & EPOLLOUT)
			told |= LOOP_OUT;
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			told |= LOOP_GONE;
		if (w->ready(w->user, told, e) < 0)
			return err_result(e);
	}
	return 0;
}

int loop_step(struct loop *l, int timeout_ms, struct err *e)
{
	struct epoll_event events[LOOP_MAX_FETCHED];
	int count = epoll_wait(l->epoll, events, LOOP_MAX_FETCHED, wait_ms(l, timeout_ms));
	int status;

	if (count < 0 && errno != EINTR)
		return FAIL_SYS(e, errno, "can't wait for events");
	for (int i = 0; i < count; i++)
		l->fetched[i] = events[i].data.ptr;
	status = hand_out(l, events, count, e);
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		l->fetched[i] = NULL;
	return status < 0 ? status : run_timers(l, e);
}
