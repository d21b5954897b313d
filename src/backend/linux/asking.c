/* SPDX-License-Identifier: MIT */
/*
 * What the command asks for: connections to the host's sockets, which are held (linux/notify/holds.h),
 * and what a process inside requests by itself (linux/notify/inside.h).
 */
#include <unistd.h>

#include "backend/linux/supervisor.h"
#include "linux/notify/connector.h"

/* ---- Connections to sockets ------------------------------------------------------------------ */

static void on_released(void *user, const struct engine_call *call, const struct denial *asked,
			enum hold_answer how)
{
	static const enum connect_release answers[] = {
		[HOLD_REFUSE] = CONNECT_REFUSE, [HOLD_GO_ON] = CONNECT_GO_ON, [HOLD_ONCE] = CONNECT_ONCE
	};
	const struct supervisor *s = user;

	(void)asked;
	(void)unix_connect_release(s->connects, call->id, answers[how]);
}

/* That its caller has gone is noticed by who holds it. */
static bool on_hold(void *user, const struct engine_call *call, const struct denial *attempt)
{
	const struct supervisor *s = user;
	const struct hold_owner owner = { .user = user, .released = on_released };

	return holds_offer(s->holds, call, attempt, true, &owner);
}

int supervisor_open_socket(struct supervisor *s, struct str path, struct err *e)
{
	return unix_sockets_open(s->a, &s->sockets, path, e);
}

void supervisor_close_socket(struct supervisor *s, struct str path)
{
	unix_sockets_close(&s->sockets, path);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void on_request(void *user, const struct inside_request *request)
{
	const struct supervisor *s = user;

	s->in.events.request(s->in.events.user, request);
}

static void on_unrequest(void *user, uint64_t id)
{
	const struct supervisor *s = user;

	s->in.events.unrequest(s->in.events.user, id);
}

static bool order_pair(void *user)
{
	return supervisor_order(user, INIT_MAKE_PAIR, 0);
}

void asking_take_pair(struct supervisor *s, const int *fds, size_t count)
{
	if (s->inside)
		inside_take_pair(s->inside, count == 2 ? fds : NULL);
	for (size_t i = 0; i < count && (count != 2 || !s->inside); i++)
		(void)close(fds[i]);
}

void supervisor_answer_request(struct supervisor *s, uint64_t id, struct str json, bool goes_on)
{
	if (s->inside)
		inside_answer(s->inside, id, json, goes_on);
}

void supervisor_close_taken(const struct inside_taken *taken)
{
	const int fds[] = { taken->stdio[0], taken->stdio[1], taken->stdio[2], taken->cwd };

	connector_close_all(fds, COUNT_OF(fds));
}

/* ---- From start to stop ------------------------------------------------------------------------ */

int asking_start(struct supervisor *s, struct err *e)
{
	s->asker = (struct connect_asker){ .hold = on_hold, .user = s };
	s->inside_events = (struct inside_events){ .user = s,
						   .request = on_request,
						   .unrequest = on_unrequest,
						   .order_pair = order_pair };
	if (s->holds)
		unix_connect_ask(s->connects, &s->asker);
	if (!s->in.events.request)
		return 0;
	if (inside_start(s->a, &s->engine, &s->sandbox, &s->inside_events, &s->inside, e) < 0)
		return err_result(e);
	unix_connect_serve(s->connects, s->inside);
	return 0;
}

void asking_stop(struct supervisor *s)
{
	if (s->inside)
		inside_stop(s->inside);
}
