/* SPDX-License-Identifier: MIT */
/*
 * The event loop. Sockets are polled (WSAPoll). Everything else is a HANDLE that a thread of the system's pool waits for;
 * it wakes the poll by a datagram that a socket of ours sends to itself.
 */
#include "os/loop.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "os/timers.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/net.h"

enum { MAX_WATCHED = 1 << 16 };

struct entry {
	struct watcher *watcher;
	uint32_t events;
	HANDLE wait;	    /* of the pool; NULL: nobody waits */
	_Atomic bool fired; /* by the pool's thread: what was waited for has come */
	SOCKET wake;
};

struct queue {
	struct entry **entries;
	WSAPOLLFD *polled; /* as many, and the socket that wakes */
	size_t count, room;
	size_t first; /* who is asked first, so that nobody is forgotten */
	SOCKET wake;
};

static struct queue *queue_of(const struct loop *l)
{
	return handle_object(l->queue);
}

/* ---- Waking --------------------------------------------------------------------------------------------- */

/*
 * SECURITY: it hears itself alone. Were somebody else's datagram let in, the loop would look once in
 * vain.
 */
static SOCKET open_wake(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET };
	int size = sizeof(own);
	u_long on = 1;
	SOCKET s = WSASocketW(AF_INET, SOCK_DGRAM, 0, NULL, 0,
			      WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);

	if (s == INVALID_SOCKET)
		return s;
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(s, (struct sockaddr *)&own, size) == 0 &&
	    getsockname(s, (struct sockaddr *)&own, &size) == 0 &&
	    connect(s, (struct sockaddr *)&own, size) == 0 &&
	    ioctlsocket(s, (long)FIONBIO, &on) == 0)
		return s;
	(void)closesocket(s);
	return INVALID_SOCKET;
}

static void CALLBACK has_fired(void *user, BOOLEAN is_timeout)
{
	struct entry *entry = user;

	(void)is_timeout;
	atomic_store(&entry->fired, true);
	(void)send(entry->wake, "", 1, 0);
}

static void stop_waiting(struct entry *entry)
{
	/* Returns when the thread is done with the entry. */
	if (entry->wait)
		(void)UnregisterWaitEx(entry->wait, INVALID_HANDLE_VALUE);
	entry->wait = NULL;
	atomic_store(&entry->fired, false);
}

/* ---- Making and changing it ----------------------------------------------------------------------------------- */

static void free_queue(void *object)
{
	struct queue *q = object;

	for (size_t i = 0; i < q->count; i++) {
		stop_waiting(q->entries[i]);
		mem_free(q->entries[i]);
	}
	if (q->wake != INVALID_SOCKET)
		(void)closesocket(q->wake);
	mem_free(q->entries);
	mem_free(q->polled);
	mem_free(q);
}

static int run_timers(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return timers_run(user, e);
}

int loop_init(struct loop *l, struct err *e)
{
	struct queue *q = NULL;
	int r = net_start();

	*l = (struct loop){ .queue = -1, .clock = { .fd = -1, .ready = run_timers, .user = l } };
	if (r < 0)
		return FAIL_SYS(e, -r, "can't use the network of Windows");
	q = mem_new(sizeof(*q), e);
	if (!q)
		return err_result(e);
	q->wake = open_wake();
	if (q->wake == INVALID_SOCKET) {
		r = FAIL_WINDOWS(e, (uint32_t)WSAGetLastError(), "can't make an event loop");
		free_queue(q);
		return r;
	}
	l->queue = handle_add_object(q, free_queue);
	return l->queue < 0 ? FAIL_SYS(e, errno, "can't make an event loop") : 0;
}

void loop_done(struct loop *l)
{
	handle_close(l->queue);
	l->queue = -1;
}

/* Nothing that this loop waits for could be given to another. */
int loop_descriptor(const struct loop *l)
{
	(void)l;
	return -1;
}

static struct entry *find(const struct queue *q, const struct watcher *w, size_t *at)
{
	for (*at = 0; q && *at < q->count; ++*at)
		if (q->entries[*at]->watcher == w)
			return q->entries[*at];
	return NULL;
}

static int make_room(struct queue *q, struct err *e)
{
	size_t room = q->room ? 2 * q->room : 16;
	void *entries = q->entries, *polled = q->polled;

	if (q->count < q->room)
		return 0;
	if (q->count >= MAX_WATCHED)
		return FAIL(e, ERR_LIMIT, "an event loop watches at most %d descriptors",
			    MAX_WATCHED);
	if (mem_resize(&polled, (room + 1) * sizeof(*q->polled), e) < 0)
		return err_result(e);
	q->polled = polled;
	if (mem_resize(&entries, room * sizeof(*q->entries), e) < 0)
		return err_result(e);
	q->entries = entries;
	q->room = room;
	return 0;
}

int loop_add(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	struct queue *q = queue_of(l);
	struct entry *entry;

	if (handle_kind(w->fd) == HANDLE_NONE)
		return FAIL_SYS(e, EBADF, "can't wait for descriptor %d", w->fd);
	if (make_room(q, e) < 0)
		return err_result(e);
	entry = mem_new(sizeof(*entry), e);
	if (!entry)
		return err_result(e);
	entry->watcher = w;
	entry->events = events;
	entry->wake = q->wake;
	q->entries[q->count++] = entry;
	w->is_added = true;
	return 0;
}

int loop_change(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
{
	size_t at;
	struct entry *entry = find(queue_of(l), w, &at);

	if (!entry)
		return FAIL_SYS(e, ENOENT, "can't wait for descriptor %d", w->fd);
	if (entry->events != events)
		stop_waiting(entry);
	entry->events = events;
	return 0;
}

static void take_out(struct loop *l, const struct watcher *w)
{
	struct queue *q = queue_of(l);
	size_t at;
	struct entry *entry = find(q, w, &at);

	if (!entry)
		return;
	stop_waiting(entry);
	mem_free(entry);
	q->entries[at] = q->entries[--q->count];
}

void loop_remove(struct loop *l, struct watcher *w)
{
	if (w->is_added)
		take_out(l, w);
	timers_forget(l, w);
}

/* No kernel removes it here. */
void loop_forget(struct loop *l, struct watcher *w)
{
	loop_remove(l, w);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------- */

/* loop_step() looks at `armed_ms`. */
void native_set_clock(struct loop *l, uint64_t at_ms)
{
	(void)l;
	(void)at_ms;
}

int loop_prepare_timers(struct loop *l, struct err *e)
{
	(void)e;
	l->clock.is_added = true;
	return 0;
}

uint64_t loop_now(void)
{
	LARGE_INTEGER ticks, per_second;

	(void)QueryPerformanceFrequency(&per_second);
	(void)QueryPerformanceCounter(&ticks);
	return (uint64_t)(ticks.QuadPart / per_second.QuadPart * 1000 +
			  ticks.QuadPart % per_second.QuadPart * 1000 / per_second.QuadPart);
}

void loop_hurry(struct loop *l)
{
	l->hurries = false;
}

/* ---- A step ----------------------------------------------------------------------------------------------------------- */

static uint32_t told_by(SHORT events)
{
	uint32_t told = 0;

	if (events & (POLLRDNORM | POLLHUP))
		told |= LOOP_IN;
	if (events & POLLWRNORM)
		told |= LOOP_OUT;
	if (events & (POLLHUP | POLLERR | POLLNVAL))
		told |= LOOP_GONE;
	return told;
}

static SHORT asked_by(uint32_t events)
{
	return (SHORT)((events & LOOP_IN ? POLLRDNORM : 0) | (events & LOOP_OUT ? POLLWRNORM : 0));
}

/* What of its events has come; of what is no socket. */
static uint32_t look(const struct entry *entry)
{
	HANDLE what = handle_wait(entry->watcher->fd, entry->events & LOOP_OUT);

	if (!what || WaitForSingleObject(what, 0) == WAIT_OBJECT_0)
		return entry->events;
	return 0;
}

/* A thread of the pool waits for it, unless one does already. */
static bool have_waited_for(struct entry *entry)
{
	HANDLE what;

	if (entry->wait && !atomic_load(&entry->fired))
		return true;
	stop_waiting(entry);
	what = handle_wait(entry->watcher->fd, entry->events & LOOP_OUT);
	return what && RegisterWaitForSingleObject(&entry->wait, what, has_fired, entry, INFINITE,
						   WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD);
}

static bool is_socket(const struct entry *entry)
{
	return handle_kind(entry->watcher->fd) == HANDLE_SOCKET;
}

/* Polls the sockets, and what wakes; false: that failed. */
static bool poll_sockets(struct queue *q, int timeout_ms)
{
	ULONG count = 0;
	char byte;

	for (size_t i = 0; i < q->count; i++)
		if (is_socket(q->entries[i]))
			q->polled[count++] = (WSAPOLLFD){
				.fd = handle_socket(q->entries[i]->watcher->fd),
				.events = asked_by(q->entries[i]->events),
			};
	q->polled[count++] = (WSAPOLLFD){ .fd = q->wake, .events = POLLRDNORM };
	if (WSAPoll(q->polled, count, timeout_ms) == SOCKET_ERROR)
		return false;
	while (recv(q->wake, &byte, sizeof(byte), 0) > 0)
		;
	return true;
}

/* What is ready now goes into l->fetched and `told`. */
static int gather(struct loop *l, struct queue *q, uint32_t *told)
{
	size_t socket = 0;
	int found = 0;

	/* In the order in which they were polled. */
	for (size_t i = 0; i < q->count; i++) {
		struct entry *entry = q->entries[(q->first + i) % q->count];
		uint32_t events = is_socket(entry) ? 0 : look(entry);

		if (events && found < LOOP_MAX_FETCHED) {
			l->fetched[found] = entry->watcher;
			told[found++] = events;
		}
	}
	for (size_t i = 0; i < q->count && found < LOOP_MAX_FETCHED; i++) {
		uint32_t events;

		if (!is_socket(q->entries[i]))
			continue;
		events = told_by(q->polled[socket++].revents);
		if (events) {
			l->fetched[found] = q->entries[i]->watcher;
			told[found++] = events;
		}
	}
	if (found == LOOP_MAX_FETCHED)
		q->first++;
	return found;
}

static int hand_out(struct loop *l, const uint32_t *told, int count, bool urgent, struct err *e)
{
	for (int i = 0; i < count; i++) {
		struct watcher *w = l->fetched[i];

		if (!w || w->is_urgent != urgent)
			continue;
		l->fetched[i] = NULL;
		if (w->ready(w->user, told[i], e) < 0)
			return err_result(e);
	}
	return 0;
}

static int time_left(const struct loop *l, int timeout_ms)
{
	uint64_t now = loop_now(), left;

	if (!l->armed_ms || !l->clock.is_added)
		return timeout_ms;
	left = l->armed_ms > now ? l->armed_ms - now : 0;
	if (timeout_ms >= 0 && left > (uint64_t)timeout_ms)
		return timeout_ms;
	return (int)MIN_OF(left, (uint64_t)INT32_MAX);
}

static int wait_for_any(struct loop *l, struct queue *q, uint32_t *told, int timeout_ms)
{
	int found;

	if (q->room == 0 && make_room(q, &(struct err)ERR_INIT) < 0)
		return -ENOMEM;
	if (!poll_sockets(q, 0))
		return -error_number((uint32_t)WSAGetLastError());
	found = gather(l, q, told);
	if (found || timeout_ms == 0)
		return found;
	for (size_t i = 0; i < q->count; i++)
		/* What nobody can wait for is looked at again soon. */
		if (!is_socket(q->entries[i]) && q->entries[i]->events &&
		    !have_waited_for(q->entries[i]))
			timeout_ms = 10;
	if (!poll_sockets(q, timeout_ms))
		return -error_number((uint32_t)WSAGetLastError());
	return gather(l, q, told);
}

int loop_step(struct loop *l, int timeout_ms, struct err *e)
{
	uint32_t told[LOOP_MAX_FETCHED];
	int count = wait_for_any(l, queue_of(l), told, time_left(l, timeout_ms));
	int status = 0;

	l->step++;
	if (count < 0)
		return FAIL_SYS(e, -count, "can't wait for events");
	status = hand_out(l, told, count, true, e);
	if (status == 0 && l->armed_ms && l->armed_ms <= loop_now())
		status = timers_run(l, e);
	if (status == 0)
		status = hand_out(l, told, count, false, e);
	for (size_t i = 0; i < LOOP_MAX_FETCHED; i++)
		l->fetched[i] = NULL;
	return status;
}
