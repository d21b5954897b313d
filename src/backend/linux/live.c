/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait while somebody is asked (P18), and those that the opener performs; see backend.h.
 * grants.c opens and closes the paths.
 */
#include <errno.h>
#include <fcntl.h>

#include "backend/linux/supervisor.h"
#include "linux/live/perform.h"
#include "os/fd_leave.h"

/* ---- Holding ------------------------------------------------------------------------------- */

static bool on_hold(void *user, const struct hold_offer *offer)
{
	const struct supervisor *s = user;
	const struct held_call call = { .id = offer->id,
					.attempt = offer->attempt,
					.argv = offer->argv,
					.argv_count = offer->argv_count,
					.cwd = offer->cwd,
					.can_once = offer->can_once };

	return s->in.events.hold && s->in.events.hold(s->in.events.user, &call);
}

static void on_unhold(void *user, uint64_t id)
{
	const struct supervisor *s = user;

	if (s->in.events.unhold)
		s->in.events.unhold(s->in.events.user, id);
}

void supervisor_release(struct supervisor *s, uint64_t id, enum release how)
{
	static const enum hold_answer answers[] = {
		[RELEASE_REFUSE] = HOLD_REFUSE, [RELEASE_GO_ON] = HOLD_GO_ON, [RELEASE_ONCE] = HOLD_ONCE
	};

	if (s->holds)
		holds_release(s->holds, id, answers[how]);
}

/* ---- Performing ------------------------------------------------------------------------------ */

/* A writable clone of the directory that holds the file, mounted nowhere; -1: it can't be had. */
static int clone_directory(struct supervisor *s, const struct performed *call)
{
	const struct str path = { call->at[0].path, call->at[0].len };
	struct err e = ERR_INIT;
	struct graft_answer answer;
	struct masker *masker;
	int fd = -1;

	if (grants_use_masker(s, &masker, &e) < 0 ||
	    graft_order(masker, GRAFT_DETACH, 0, path_parent(path), &e) < 0 ||
	    graft_wait(masker, &answer, &fd, &e) < 0)
		return -1;
	return fd;
}

static int on_perform(void *user, const struct performed *call, bool is_once)
{
	struct supervisor *s = user;
	struct err e = ERR_INIT;
	int dir = -1;
	int r;

	if (!s->can_open || grants_use_opener(s, &e) < 0)
		return -EROFS;
	if (is_once)
		dir = clone_directory(s, call);
	if (is_once && dir < 0)
		return -EROFS;
	r = perform(&s->live.opener, call, dir);
	/* Who closes a clone last waits until the kernel has freed its mounts. */
	if (dir >= 0)
		(void)fd_leave(&dir);
	return r;
}

void live_take_result(void *user, const struct opener_order *order, int result, int fd)
{
	struct supervisor *s = user;
	const struct engine_call call = { .id = order->call };
	const int flags = (order->flags & O_CLOEXEC) ? O_CLOEXEC : 0;
	int64_t value = result;

	/* The run ends. */
	if (!s->can_open)
		return;
	if (fd >= 0 && engine_give_fd(&s->engine, &call, fd, flags, &value) == ENGINE_LATER)
		return;
	engine_reply(&s->engine, order->call, value);
}

/* ---- From start to stop --------------------------------------------------------------------- */

/*
 * In a namespace of its own making the command could keep mounts that were closed, so with
 * isolation.userns no path is opened.
 */
bool live_may_open(const struct supervisor *s)
{
	return s->in.holds && s->in.is_sandboxed && !s->in.plan->policy->profile->allows_userns;
}

bool supervisor_can_open(const struct supervisor *s)
{
	return s->can_open;
}

const struct naming_performer *live_performer(const struct supervisor *s)
{
	return s->holds ? &s->live.performer : NULL;
}

int live_start(struct supervisor *s, struct err *e)
{
	const struct hold_events events = { .user = s, .hold = on_hold, .unhold = on_unhold };

	if (!s->in.holds)
		return 0;
	s->live.plan = s->in.plan;
	s->live.performer = (struct naming_performer){ .user = s, .perform = on_perform };
	grants_init(s);
	return holds_start(s->a, &s->engine, s->in.denials, &events, &s->holds, e);
}

void live_stop(struct supervisor *s)
{
	s->can_open = false;
	grants_stop(s);
	if (s->holds)
		holds_stop(s->holds);
	s->holds = NULL;
}

void live_reap(struct supervisor *s)
{
	grants_reap(s);
}
