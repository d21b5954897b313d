/* SPDX-License-Identifier: MIT */
/* See inside.h. */
#include "linux/notify/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "linux/notify/connector.h"
#include "linux/notify/inside_client.h"
#include "os/fd.h"
#include "os/fd_pass.h"

/* ---- Which calls are meant ------------------------------------------------------------------ */

bool inside_is_meant(const struct inside *in, const struct engine_call *call)
{
	enum { BYTES = offsetof(struct sockaddr_un, sun_path) + sizeof(INSIDE_SOCKET) };
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	size_t size = (size_t)call->args[2];

	/* The NUL may be missing, if nothing follows. */
	if (size < BYTES - 1 || size > sizeof(address))
		return false;
	return engine_read(in->engine, call, call->args[1], &address,
			   MIN_OF(size, (size_t)BYTES)) == 0 &&
	       address.sun_family == AF_UNIX &&
	       memcmp(address.sun_path, INSIDE_SOCKET, sizeof(INSIDE_SOCKET)) == 0;
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static struct inside_client *find_room(struct inside *in)
{
	for (size_t i = 0; in->clients && i < INSIDE_MAX_CLIENTS; i++)
		if (in->clients[i].state == CLIENT_NONE)
			return &in->clients[i];
	return NULL;
}

static size_t count_used(const struct inside *in)
{
	size_t used = in->pending_count;

	for (size_t i = 0; in->clients && i < INSIDE_MAX_CLIENTS; i++)
		used += in->clients[i].state != CLIENT_NONE;
	return used;
}

/* 0, or -errno as the kernel would have it. */
static int check_socket(const struct engine_call *call)
{
	char path[CALLER_PATH_BYTES];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", call->pid, (int)call->args[0]);
	if ((int)call->args[0] < 0 || stat(path, &st) < 0)
		return -EBADF;
	return S_ISSOCK(st.st_mode) ? 0 : -ENOTSOCK;
}

/* Most commands never ask. */
static int make_room(struct inside *in)
{
	struct err ignored = ERR_INIT;

	in->pending = arena_array(in->arena, INSIDE_MAX_CLIENTS, sizeof(*in->pending), &ignored);
	if (in->pending)
		in->clients =
			arena_array(in->arena, INSIDE_MAX_CLIENTS, sizeof(*in->clients), &ignored);
	return in->clients ? 0 : -ENOMEM;
}

enum engine_answer inside_connect(struct inside *in, const struct engine_call *call, int64_t *value)
{
	*value = check_socket(call);
	if (*value == 0 && !in->clients)
		*value = make_room(in);
	if (*value < 0)
		return ENGINE_RETURN;
	if (count_used(in) >= INSIDE_MAX_CLIENTS) {
		in->counts.turned_away++;
		*value = -EAGAIN;
		return ENGINE_RETURN;
	}
	if (!in->events->order_pair(in->events->user)) {
		*value = -ECONNREFUSED;
		return ENGINE_RETURN;
	}
	in->pending[in->pending_count++] = *call;
	return ENGINE_LATER;
}

/* The flags of the caller's descriptor; -1: they can't be read. */
static long read_flags(const struct engine_call *call)
{
	char name[CALLER_PATH_BYTES], text[256];
	struct str rest, line;
	scoped_fd fd = -1;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", (int)call->args[0]);
	fd = caller_open(call->pid, name, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	rest = str_of(text);
	while (str_next_line(&rest, &line))
		if (str_has_prefix(line, STR("flags:")))
			return strtol(line.p + strlen("flags:"), NULL, 8);
	return -1;
}

/* Who has connected. 0 or -errno. */
static int identify(const struct inside *in, const struct engine_call *call,
		    struct inside_client *c, int *pidfd)
{
	struct caller_status status;

	if (!caller_read_status(call->pid, &status))
		return -ESRCH;
	*pidfd = (int)syscall(SYS_pidfd_open, status.process, 0);
	if (*pidfd < 0)
		return -errno;
	c->pid = status.process;
	c->inner_pid = status.inner_process;
	/* SECURITY: if the caller has ended, all of this may be another's. */
	return engine_is_waiting(in->engine, call->id) ? 0 : -ESRCH;
}

static int prepare(int ours, int theirs, long flags)
{
	if (flags < 0)
		return -EBADF;
	if (fcntl(ours, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    (flags & O_NONBLOCK && fcntl(theirs, F_SETFL, O_RDWR | O_NONBLOCK) < 0))
		return -errno;
	return fd_pass_ask_sender(ours);
}

/* 0 or -errno; `ours` is taken over in any case. */
static int serve(struct inside *in, const struct engine_call *call, int ours, int theirs)
{
	struct inside_client *c = find_room(in);
	scoped_fd socket = ours, pidfd = -1;
	long flags = read_flags(call);
	struct err ignored = ERR_INIT;
	int r;

	if (!c)
		return -EAGAIN;
	*c = (struct inside_client){ .owner = in };
	r = identify(in, call, c, &pidfd);
	if (r == 0)
		r = prepare(ours, theirs, flags);
	if (r == 0 && inside_client_start(c, ours, pidfd, &ignored) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	/* cppcheck-suppress [redundantInitialization,unreadVariable]; a return closes what they hold */
	socket = pidfd = -1;
	r = engine_replace_fd(in->engine, call, theirs, (int)call->args[0],
			      (flags & O_CLOEXEC) ? O_CLOEXEC : 0);
	if (r < 0)
		inside_client_end(c);
	return r;
}

void inside_take_pair(struct inside *in, const int *ends)
{
	struct engine_call call;
	int r = -ECONNREFUSED;

	if (in->pending_count == 0) {
		if (ends)
			connector_close_all(ends, 2);
		return;
	}
	call = in->pending[0];
	in->pending_count--;
	memmove(in->pending, in->pending + 1, in->pending_count * sizeof(call));
	if (ends) {
		r = serve(in, &call, ends[0], ends[1]);
		/* The command has the other copy, or nobody has ever used it. */
		(void)close(ends[1]);
	}
	in->counts.connected += r == 0;
	in->counts.turned_away += r != 0;
	engine_reply(in->engine, call.id, r);
}

/* ---- Answering, and the end --------------------------------------------------------------------- */

void inside_answer(struct inside *in, uint64_t id, struct str json, bool goes_on)
{
	for (size_t i = 0; in->clients && id && i < INSIDE_MAX_CLIENTS; i++) {
		struct inside_client *c = &in->clients[i];

		if (c->request != id || (c->state != CLIENT_WAITS && !c->is_served))
			continue;
		inside_client_answer(c, json, goes_on);
		return;
	}
}

static void close_left(struct inside *in)
{
	int fds[INSIDE_MAX_CLIENTS];
	size_t count = 0;

	for (size_t i = 0; in->clients && i < INSIDE_MAX_CLIENTS; i++) {
		fds[count] = inside_client_take_left(&in->clients[i]);
		count += fds[count] >= 0;
	}
	connector_close_all(fds, count);
}

static int close_due(void *user, struct err *e)
{
	struct inside *in = user;

	(void)e;
	close_left(in);
	loop_set_timer(in->engine->loop, &in->closing, 0);
	return 0;
}

int inside_start(struct arena *a, struct engine *engine, const struct sandbox *sandbox,
		 const struct inside_events *events, struct inside **out, struct err *e)
{
	struct inside *in = ARENA_NEW(a, struct inside, e);

	if (!in || loop_prepare_timers(engine->loop, e) < 0)
		return err_result(e);
	in->arena = a;
	in->engine = engine;
	in->sandbox = sandbox;
	in->events = events;
	in->closing = (struct timer){ .due = close_due, .user = in };
	*out = in;
	return 0;
}

void inside_stop(struct inside *in)
{
	loop_drop_timer(in->engine->loop, &in->closing);
	for (size_t i = 0; in->clients && i < INSIDE_MAX_CLIENTS; i++)
		inside_client_end(&in->clients[i]);
	loop_drop_timer(in->engine->loop, &in->closing);
	close_left(in);
	in->pending_count = 0;
}

const struct inside_counts *inside_counts(const struct inside *in)
{
	return &in->counts;
}
