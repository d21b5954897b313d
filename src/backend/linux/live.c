/* SPDX-License-Identifier: MIT */
/* What is granted while the command runs, and the calls that wait for it; see backend.h. */
#include "backend/linux/supervisor.h"

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

/* ---- Paths ---------------------------------------------------------------------------------- */

bool supervisor_can_open(const struct supervisor *s)
{
	(void)s;
	return false;
}

static int fail_opening(struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
			  "this sandbox can't open paths while the command runs");
}

int supervisor_open_path(struct supervisor *s, const struct plan *plan, struct str path,
			 struct err *e)
{
	(void)s, (void)plan, (void)path;
	return fail_opening(e);
}

int supervisor_close_path(struct supervisor *s, const struct plan *plan, struct str path,
			  struct buf *writers, struct err *e)
{
	(void)s, (void)plan, (void)path, (void)writers;
	return fail_opening(e);
}

/* ---- From start to stop --------------------------------------------------------------------- */

int live_start(struct supervisor *s, struct err *e)
{
	const struct hold_events events = { .user = s, .hold = on_hold, .unhold = on_unhold };

	if (!s->in.holds)
		return 0;
	return holds_start(s->a, &s->engine, s->in.denials, &events, &s->holds, e);
}

void live_stop(struct supervisor *s)
{
	if (s->holds)
		holds_stop(s->holds);
	s->holds = NULL;
}
