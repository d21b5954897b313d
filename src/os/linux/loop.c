/* SPDX-License-Identifier: MIT */
/* The event loop over epoll. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/loop.h"
#include "os/timers.h"

/* Polling instead of sleeping: see stay_awake(). */
enum {
	AWAKE_NS = 50 * 1000,
	QUICK_NS = 200 * 1000, /* for a wait that slept: being woken takes time itself */
	FEW_EVENTS = 2,	       /* with more events than this, other processes need the processor */
	FIRST_TRY = 16,	       /* the score at which the loop tries it */
	LAST_TRY = 1024,
	OF_ANSWER = 1, /* what a wait is worth */
	OF_STREAM = -1,
	IN_VAIN = -4,
	BEST_SCORE = 64,
};

static int run_timers(void *user, uint32_t events, struct err *e);

int loop_init(struct loop *l, struct err *e)
{
	*l = (struct loop){ .queue = epoll_create1(EPOLL_CLOEXEC),
			    .clock = { .fd = -1, .ready = run_timers, .user = l } };
	if (l->queue < 0)
		return FAIL_SYS(e, errno, "can't make an event loop");
	return 0;
}

void loop_done(struct loop *l)
{
	/* A loop that was never initialised is all zeros. */
	if (l->clock.is_added)
		fd_close(&l->clock.fd);
	fd_close(&l->queue);
}

int loop_descriptor(const struct loop *l)
{
	return l->queue;
}

static int control(struct loop *l, int op, struct watcher *w, uint32_t events, struct err *e)
{
	struct epoll_event event = { .data.ptr = w };

	if (events & LOOP_IN)
		event.events |= EPOLLIN;
	if (events & LOOP_OUT)
		event.events |= EPOLLOUT;
	if (epoll_ctl(l->queue, op, w->fd, &event) < 0)
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

void loop_forget(struct loop *l, struct watcher *w)
{
	timers_forget(l, w);
}

void loop_remove(struct loop *l, struct watcher *w)
{
	if (w->is_added)
		epoll_ctl(l->queue, EPOLL_CTL_DEL, w->fd, NULL);
	timers_forget(l, w);
}

void native_set_clock(struct loop *l, uint64_t at_ms)
{
	const struct itimerspec in = { .it_value = { .tv_sec = (time_t)(at_ms / 1000),
						     .tv_nsec = (long)(at_ms % 1000) * 1000000 } };

	(void)timerfd_settime(l->clock.fd, TFD_TIMER_ABSTIME, &in, NULL);
}

int loop_prepare_timers(struct loop *l, struct err *e)
{
	if (l->clock.is_added)
		return 0;
	l->clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->clock.fd < 0)
		return FAIL_SYS(e, errno, "can't make a timer");
	return loop_add(l, &l->clock, LOOP_IN, e);
}

static int run_timers(void *user, uint32_t events, struct err *e)
{
	struct loop *l = user;
	uint64_t times;

	(void)events;
	(void)!read(l->clock.fd, &times, sizeof(times));
	return timers_run(l, e);
}

static int hand_out(struct loop *l, const struct epoll_event *events, int count, bool urgent,
		    struct err *e)
{
	for (int i = 0; i < count; i++) {
		struct watcher *w = l->fetched[i];
		uint32_t told = 0;

		if (!w || w->is_urgent != urgent)
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

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void loop_hurry(struct loop *l)
{
	l->hurries = true;
	l->tries_after = FIRST_TRY;
}

/*
 * Whether to poll in the next wait. Polling begins when enough waits were short. If it does not pay
 * off, because the others have no other processor, the loop tries it less and less often.
 */
static void judge_wait(struct loop *l, int worth)
{
	l->score = MIN_OF(l->score + worth, (int)LAST_TRY);
	l->score = MAX_OF(l->score, 0);
	if (l->is_awake) {
		l->score = MIN_OF(l->score, (int)BEST_SCORE);
		l->is_awake = l->score > 0;
		if (l->score == BEST_SCORE)
			l->tries_after = FIRST_TRY;
		else if (l->score <= 0)
			l->tries_after = MIN_OF(l->tries_after * 2, (int)LAST_TRY);
	} else if (l->score >= l->tries_after) {
		l->is_awake = true;
		l->score = -IN_VAIN;
	}
}

/* Gives up after AWAKE_NS and returns 0. */
static int stay_awake(const struct loop *l, struct epoll_event *events, uint64_t since_ns)
{
	int count;

	do
		count = epoll_wait(l->queue, events, LOOP_MAX_FETCHED, 0);
	while (count == 0 && now_ns() - since_ns < AWAKE_NS);
	return count;
}

/*
 * Scores the last wait. With questions and answers the events come from different descriptors, and
 * somebody waits for each. A stream comes from one descriptor, and nobody waits for each part.
 */
static int worth_of(struct loop *l, const struct epoll_event *events, int count, uint64_t took_ns)
{
	const void *before = l->last;

	l->last = count > 0 ? events[0].data.ptr : NULL;
	if (count <= 0 || count > FEW_EVENTS || took_ns > (l->is_awake ? AWAKE_NS : QUICK_NS))
		return IN_VAIN;
	return l->last == before ? OF_STREAM : OF_ANSWER;
}

static int fetch(struct loop *l, struct epoll_event *events, int timeout_ms)
{
	uint64_t since_ns;
	int count = 0;

	if (!l->hurries || timeout_ms == 0)
		return epoll_wait(l->queue, events, LOOP_MAX_FETCHED, timeout_ms);
	since_ns = now_ns();
	if (l->is_awake)
		count = stay_awake(l, events, since_ns);
	if (count == 0)
		count = epoll_wait(l->queue, events, LOOP_MAX_FETCHED, timeout_ms);
	judge_wait(l, worth_of(l, events, count, now_ns() - since_ns));
	return count;
}

int loop_step(struct loop *l, int timeout_ms, struct err *e)
{
	struct epoll_event events[LOOP_MAX_FETCHED];
	int count = fetch(l, events, timeout_ms);
	int status;

	l->step++;
	if (count < 0 && errno != EINTR)
		return FAIL_SYS(e, errno, "can't wait for events");
	for (int i = 0; i < count; i++)
		l->fetched[i] = events[i].data.ptr;
	status = hand_out(l, events, count, true, e);
	if (status == 0)
		status = hand_out(l, events, count, false, e);
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		l->fetched[i] = NULL;
	return status;
}
