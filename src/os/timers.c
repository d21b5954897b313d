/* SPDX-License-Identifier: MIT */
/* The timers of a loop, and what it has fetched; see loop.h. */
#include "os/timers.h"

void timers_forget(struct loop *l, struct watcher *w)
{
	if (!w->is_added)
		return;
	w->is_added = false;
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		if (l->fetched[i] == w)
			l->fetched[i] = NULL;
}

/*
 * Sets the clock to the first timer; at once for one that is due. If that timer is removed, the
 * clock fires once in vain. Most timers are removed before they are due, and a system call for
 * each would cost more.
 */
static void set_clock(struct loop *l)
{
	uint64_t first = 0;

	for (const struct timer *t = l->timers; t; t = t->next)
		if (t->at_ms && (!first || t->at_ms < first))
			first = t->at_ms;
	if (first == 0 || (l->armed_ms && l->armed_ms <= first) || !l->clock.is_added)
		return;
	native_set_clock(l, first);
	l->armed_ms = first;
}

void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_ms)
{
	t->at_ms = at_ms;
	if (!t->is_added) {
		t->next = l->timers;
		l->timers = t;
		t->is_added = true;
	}
	set_clock(l);
}

void loop_set_next_step(struct loop *l, struct timer *t)
{
	t->not_in_step = l->step;
	loop_set_timer(l, t, loop_now());
}

void loop_drop_timer(struct loop *l, struct timer *t)
{
	for (struct timer **at = &l->timers; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	t->is_added = false;
	t->at_ms = 0;
	if (l->next_due == t)
		l->next_due = t->next;
	set_clock(l);
}

int timers_run(struct loop *l, struct err *e)
{
	uint64_t now = loop_now();

	l->armed_ms = 0;
	/* What is due may drop any timer: loop_drop_timer() moves `next_due` on. */
	for (struct timer *t = l->timers; t; t = l->next_due) {
		l->next_due = t->next;
		if (t->at_ms == 0 || t->at_ms > now || t->not_in_step == l->step)
			continue;
		t->at_ms = 0;
		if (t->due(t->user, e) < 0)
			return err_result(e);
	}
	set_clock(l);
	return 0;
}
