/* SPDX-License-Identifier: MIT */
/*
 * Records connections while they are open. A record is normally sent at the end of a connection; if
 * the proxy is killed, that end never comes. So each exchange with a server is in a list while
 * bytes may flow, oldest first. After a second in the list it gets a record as "open". Most are
 * gone by then and have one record; for them the list costs a few pointers, and the timer fires at
 * most a few times a second.
 */
#include "proxy/server.h"

enum {
	LASTING_MS = 1000,
	PAUSE_MS = 250, /* between two looks */
	RETRY_MS = 20,	/* while the parent has to read first */
};

static void take_out(struct open_records *all, struct exchange *x)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		all->first = x->next;
	if (x->next)
		x->next->previous = x->previous;
	else
		all->last = x->previous;
	x->next = x->previous = NULL;
	x->client = NULL;
}

static int look(void *user, struct err *e)
{
	struct server *s = user;
	struct open_records *all = &s->open_records;
	uint64_t now = loop_now(), next_ms = now + PAUSE_MS;

	(void)e;
	while (all->first && all->first->open_ms + LASTING_MS <= now) {
		struct exchange *x = all->first;

		/* A refusal gets its own record. */
		if (!x->is_final && !exchange_tell_open(x)) {
			next_ms = now + RETRY_MS;
			break;
		}
		take_out(all, x);
	}
	if (all->first)
		loop_set_timer(&s->loop, &all->timer,
			       MAX_OF(next_ms, all->first->open_ms + LASTING_MS));
	return 0;
}

void open_records_add(struct client *c)
{
	struct open_records *all = &c->server->open_records;
	struct exchange *x = c->exchange;

	if (x->client || x->record.connection)
		return;
	x->client = c;
	x->open_ms = loop_now();
	x->next = NULL;
	x->previous = all->last;
	if (all->last)
		all->last->next = x;
	else
		all->first = x;
	all->last = x;
	if (all->timer.at_ms)
		return;
	all->timer.due = look;
	all->timer.user = c->server;
	loop_set_timer(&c->server->loop, &all->timer, x->open_ms + LASTING_MS);
}

void open_records_remove(struct server *s, struct exchange *x)
{
	if (x->client)
		take_out(&s->open_records, x);
}
