/* SPDX-License-Identifier: MIT */
/* The sandbox of one run on Linux; see supervisor.h, and backend.h for what it promises. */
#include "backend/linux/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/notify/metadata.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

const bool supervisor_takes_requests = true;

/* ---- Making it ---------------------------------------------------------------------------- */

/* To the kernel a parent is one thread. Only the first is known to end with the process. */
static bool is_first_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

/* Reserve the supervisor's descriptors first, so that no command starts that can't be supervised. */
static int reserve(struct supervisor *s, struct err *e)
{
	for (int i = 0; i < SPARE_COUNT; i++) {
		s->spare[i] = fcntl(loop_descriptor(s->in.loop), F_DUPFD_CLOEXEC, 0);
		if (s->spare[i] < 0)
			return FAIL_SYS(e, errno, "can't supervise a command");
	}
	return 0;
}

static void release(struct supervisor *s)
{
	for (int i = 0; i < SPARE_COUNT; i++)
		fd_close(&s->spare[i]);
}

int supervisor_new(struct arena *a, const struct supervisor_request *in, struct supervisor **out,
		   struct err *e)
{
	struct supervisor *s = ARENA_NEW(a, struct supervisor, e);

	if (!s)
		return err_result(e);
	*s = (struct supervisor){ .a = a,
				  .in = *in,
				  .sandbox = SANDBOX_NONE,
				  .warden = WARDEN_NONE,
				  .live = LIVE_NONE,
				  .sockets = UNIX_SOCKETS_NONE,
				  .proxy = { .send = in->events.tell_proxy,
					     .user = in->events.user,
					     .host_ports = in->host_ports,
					     .host_port_count = in->host_port_count },
				  .ends_with_parent = in->is_foreground && is_first_thread(),
				  .group = OS_CGROUP_NONE,
				  .spare = { -1, -1, -1 },
				  .dying = -1 };
	events_init(s);
	if (supervisor_choose_naming(s, &s->result.naming, e) < 0)
		return err_result(e);
	if ((in->is_sandboxed && unix_sockets_find(a, in->plan, &s->sockets, e) < 0) ||
	    reserve(s, e) < 0) {
		release(s);
		unix_sockets_done(&s->sockets);
		return err_result(e);
	}
	*out = s;
	return 0;
}

/* ---- Launching ------------------------------------------------------------------------------ */

/* Anew for each backend that is tried: not every one has a use for them. */
static int hold(struct supervisor *s, bool is_wanted, struct err *e)
{
	if (is_wanted == s->has_held)
		return 0;
	s->has_held = is_wanted;
	if (is_wanted) {
		if (warden_hold(&s->warden, s->a, placeholders_of(s->in.plan), &s->held, e) < 0)
			return err_result(e);
	} else {
		/* A backend that can't cover them would only lose the run when one goes. */
		warden_finish(&s->warden, &s->held);
		s->held = (struct placeholders){ .items = NULL };
	}
	s->result.placeholder_count = s->held.count;
	return 0;
}

static int hold_late(struct supervisor *s, struct err *e)
{
	return hold(s, true, e);
}

static int hold_nothing(struct supervisor *s, struct err *e)
{
	return hold(s, false, e);
}

/* So few that there may be no room for what the sandbox hands over. */
static bool are_descriptors_few(void)
{
	enum { ENOUGH = 64 };
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < ENOUGH;
}

/* Whether something has to be in place before the command is executed. */
static bool must_wait(const struct supervisor *s)
{
	return (s->in.is_sandboxed && (watch_is_needed(s->in.plan) || are_descriptors_few())) ||
	       s->is_managed || s->group.dir >= 0;
}

int supervisor_prepare(struct supervisor *s, const struct supervisor_attempt *attempt,
		       struct launch *launch, struct err *e)
{
	bool is_wanted = s->in.is_sandboxed && !(attempt->lost & GUARANTEE_BIT(G_PROTECT_MISSING));

	s->is_managed = launch->network != NULL;
	if (limits_prepare(s, attempt, e) < 0)
		return err_result(e);
	if ((!attempt->backend->holds_late || attempt->holds_now) && hold(s, is_wanted, e) < 0)
		return err_result(e);
	launch->held = &s->held;
	launch->hold = is_wanted ? hold_late : hold_nothing;
	launch->holder = s;
	launch->adopts = s->ends_with_parent;
	launch->waits = must_wait(s);
	launch->processes = limits_processes(s, attempt);
	launch->naming = s->result.naming;
	launch->opens_paths = live_may_open(s);
	names_prepare(s, attempt->network_is_off, launch);
	return 0;
}

/* While it is not known, the terminal is passed to nobody (linux/notify/inside_take.c). */
static void note_terminal(struct sandbox *sandbox, const struct launch *launch)
{
	struct stat st;

	if (!launch->owns_terminal || stat(launch->terminal_path, &st) < 0)
		return;
	sandbox->terminal_device = st.st_dev;
	sandbox->terminal_inode = st.st_ino;
}

int supervisor_launch(struct supervisor *s, const struct backend *backend,
		      const struct launch *launch, guarantee_set *lost, struct err *e)
{
	if (backend->launch(s->a, launch, &s->sandbox, e) < 0)
		return err_result(e);
	note_terminal(&s->sandbox, launch);
	release(s);
	*lost = s->sandbox.lost;
	return 0;
}

int backend_describe(const struct backend *b, struct arena *a, const struct launch *in,
		     struct buf *out, struct err *e)
{
	const struct placeholders none = { .items = NULL };
	struct launch launch = *in;

	if (!launch.held)
		launch.held = &none;
	return b->describe(a, &launch, out, e);
}

/* ---- Attaching and starting ----------------------------------------------------------------- */

static int start_engine(struct supervisor *s, struct err *e)
{
	int listener = s->sandbox.listener;

	if (listener < 0)
		return 0;
	s->sandbox.listener = -1;
	if (engine_start(&s->engine, s->in.loop, listener, e) < 0)
		return err_result(e);
	if (live_start(s, e) < 0)
		return err_result(e);
	s->connects = unix_connect_start(s->a, &s->engine, &s->sandbox, &s->sockets,
					 s->is_managed ? &s->proxy : NULL, s->in.denials, e);
	if (!s->connects || asking_start(s, e) < 0 ||
	    metadata_start(s->a, &s->engine, &s->sandbox, e) < 0)
		return err_result(e);
	streams_start(&s->engine, &s->sandbox.streams);
	if (s->result.naming == NAMING_OFF)
		return 0;
	return naming_start(s->a,
			    &(struct naming_request){ .engine = &s->engine,
						      .sandbox = &s->sandbox,
						      .plan = s->in.plan,
						      .denials = s->in.denials,
						      .holds = live_may_open(s) ? s->holds : NULL,
						      .performer = live_performer(s) },
			    &s->namer, e);
}

static void tell_lacks(const struct supervisor *s)
{
	const struct supervisor_events *events = &s->in.events;

	if (s->in.is_sandboxed && s->sandbox.landlock_abi == 0)
		events->warn(events->user,
			     "the profile allows user namespaces, so Landlock can't be a second "
			     "barrier: the command can write to named pipes of the host");
	if (s->is_managed && s->sandbox.network_lacks & SANDBOX_LACKS_IPV6)
		events->trace(events->user, "network: the kernel has no IPv6");
	if (s->is_managed && s->sandbox.network_lacks & SANDBOX_LACKS_RULES)
		events->trace(events->user, "network: the kernel has no routing rules: datagrams "
					    "are lost instead of refused at once");
}

int supervisor_attach(struct supervisor *s, struct err *e)
{
	s->result.landlock_abi = s->sandbox.landlock_abi;
	tell_lacks(s);
	if (events_attach(s, e) < 0 || start_engine(s, e) < 0)
		return err_result(e);
	if (s->in.is_sandboxed && watch_start(s->a, s->in.loop, &s->sandbox, s->in.plan,
					      s->in.progress, &s->watch, e) < 0)
		return err_result(e);
	s->result.was_watched = s->watch != NULL;
	s->can_open = live_may_open(s) && s->sandbox.user_ns >= 0 && s->sandbox.mount_ns >= 0;
	return guard_start(&s->guard, s->in.loop, &s->held, &s->sandbox, e);
}

int supervisor_give_sockets(struct supervisor *s,
			    int (*give)(void *user, enum proxy_role role, uint16_t port, int fd,
					struct err *e),
			    void *user, struct err *e)
{
	struct sandbox *sandbox = &s->sandbox;

	for (size_t i = 0; i < sandbox->socket_count; i++)
		if (give(user, sandbox->sockets[i].role, sandbox->sockets[i].port,
			 sandbox->sockets[i].fd, e) < 0)
			return err_result(e);
	/* They are the proxy's alone: what it closes is closed. */
	while (sandbox->socket_count)
		fd_close(&sandbox->sockets[--sandbox->socket_count].fd);
	return 0;
}

int supervisor_start(struct supervisor *s, int terminal, struct err *e)
{
	if (names_begin(s, e) < 0 || limits_begin(s, e) < 0)
		return err_result(e);
	if (s->sandbox.waits && terminal >= 0)
		os_set_foreground(terminal, s->sandbox.pid);
	if (sandbox_start(&s->sandbox, e) < 0)
		return err_result(e);
	/* PID 1 that has a helper is not a child of this process yet. */
	return s->sandbox.helper < 0 ? supervisor_tie_to_parent(s, e) : 0;
}

/* ---- While it runs --------------------------------------------------------------------------- */

static bool send_order(const struct supervisor *s, const struct init_order *order)
{
	return fd_pass_tell(s->sandbox.channel, order, sizeof(*order), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(*order);
}

bool supervisor_order(const struct supervisor *s, enum init_order_kind kind, int value)
{
	const struct init_order order = { .kind = kind, .value = value };

	return send_order(s, &order);
}

/* That PID 1 has ended already shows when the loop goes on. */
static bool is_closed(int os_error)
{
	return os_error == EPIPE || os_error == ECONNRESET;
}

int supervisor_tie_to_parent(const struct supervisor *s, struct err *e)
{
	if (!s->ends_with_parent || !s->in.is_sandboxed || s->sandbox.has_no_namespaces)
		return 0;
	if (supervisor_order(s, INIT_END_WITH_PARENT, 0) || is_closed(errno))
		return 0;
	return FAIL_SYS(e, errno, "can't tell the sandbox which process it belongs to");
}

int supervisor_end_later(struct supervisor *s, uint64_t ms, struct err *e)
{
	const struct init_order order = { .kind = INIT_END_LATER, .after_ms = ms };

	if (send_order(s, &order) || is_closed(errno))
		return 0;
	return FAIL_SYS(e, errno, "can't tell the sandbox how long it may run");
}

int supervisor_signal(struct supervisor *s, enum supervisor_target target, int number)
{
	static const enum init_order_kind kinds[] = {
		[TO_COMMAND] = INIT_SIGNAL, [TO_GROUP] = INIT_SIGNAL_GROUP, [TO_ALL] = INIT_SIGNAL_ALL
	};

	if (supervisor_order(s, kinds[target], number))
		return 0;
	return is_closed(errno) ? -ESRCH : -errno;
}

void supervisor_set_front(struct supervisor *s, bool is_in_front)
{
	(void)supervisor_order(s, INIT_SET_FRONT, is_in_front);
}

int64_t supervisor_group(const struct supervisor *s)
{
	return s->sandbox.pid;
}

bool supervisor_is_gone(const struct supervisor *s)
{
	struct pollfd gone = { .fd = s->sandbox.pidfd, .events = POLLIN };

	return poll(&gone, 1, 0) > 0;
}

bool supervisor_ask_sockets(struct supervisor *s, int family)
{
	return supervisor_order(s, INIT_MAKE_SOCKETS, family);
}

void supervisor_answer_connect(struct supervisor *s, uint64_t id, int os_error)
{
	if (s->connects)
		unix_connect_answer(s->connects, id, os_error);
}

/* ---- Ending ---------------------------------------------------------------------------------- */

bool supervisor_kill(struct supervisor *s)
{
	if (s->sandbox.pidfd < 0)
		return false;
	/* The channel may be full. It ends behind what is in it, and PID 1 kills all at its end. */
	if (!supervisor_order(s, INIT_KILL, 0))
		(void)shutdown(s->sandbox.channel, SHUT_WR);
	/*
	 * PID 1 takes all with it, also when it can't listen. Without a pid namespace its death
	 * would end nothing else: there it has to listen, and must not be stopped.
	 */
	os_kill(s->sandbox.pidfd,
		s->in.is_sandboxed && !s->sandbox.has_no_namespaces ? SIGKILL : SIGCONT);
	return true;
}

void supervisor_wait(struct supervisor *s)
{
	sandbox_reap(&s->sandbox, s->sandbox.pidfd);
}

/*
 * A stream that the command had anew has an offset of its own: the caller goes on
 * where the command has left it, as after any other.
 */
static void move_streams(const struct supervisor *s)
{
	for (int i = 0; i < 3; i++) {
		int fd = s->sandbox.reopened[i];
		struct stat own, had;
		off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);

		if (at >= 0 && fstat(i, &own) == 0 && fstat(fd, &had) == 0 &&
		    own.st_dev == had.st_dev && own.st_ino == had.st_ino)
			(void)lseek(i, at, SEEK_SET);
	}
}

static void stop_watch(struct supervisor *s)
{
	struct watch_summary sum;

	if (!s->watch)
		return;
	sum = watch_stop(s->watch);
	s->result.watch = (struct watch_counts){ .directories = sum.directories,
						 .masked = sum.masked,
						 .missed = sum.missed };
}

void supervisor_let_go(struct supervisor *s)
{
	if (s->is_let_go)
		return;
	s->is_let_go = true;
	release(s);
	/* The helper ends meanwhile. */
	fd_close(&s->sandbox.helper_life);
	stop_watch(s);
	guard_stop(&s->guard);
	/* Early: the disk may take its time to let a directory go. */
	warden_release(&s->warden, &s->held);
	live_stop(s);
	if (s->connects)
		unix_connect_stop(s->connects);
	asking_stop(s);
	if (s->engine.loop) {
		s->result.calls_answered = s->engine.handled;
		engine_stop(&s->engine);
	}
	if (s->namer)
		naming_stop(s->namer);
	unix_sockets_done(&s->sockets);
	events_detach(s);
	names_end(s);
	move_streams(s);
	s->dying = s->sandbox.pidfd;
	s->sandbox.pidfd = -1;
	sandbox_close(&s->sandbox);
}

/* Last of all: by now they are as good as gone. */
void supervisor_reap(struct supervisor *s)
{
	sandbox_reap(&s->sandbox, s->dying);
	fd_close(&s->dying);
	warden_finish(&s->warden, &s->held);
	live_reap(s);
	sandbox_done(&s->sandbox);
	limits_end(s);
}

const struct supervision *supervisor_result(const struct supervisor *s)
{
	return &s->result;
}
