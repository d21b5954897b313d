/* SPDX-License-Identifier: MIT */
/* The life of the monitor; see macos.h. It was forked without exec, with all signals blocked. */
#include <errno.h>
#include <libproc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/event.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "os/child.h"
#include "os/fd_pass.h"

enum {
	MAX_TRACKED = 4096,
	EVENTS_AT_ONCE = 32,
	TELL_TRIES = 1000,
	TELL_PAUSE_NS = 1000000,
	CLOCK_IDENT = 1,
	KILL_ROUNDS = 64,
	/* How sandbox-exec ends (sysexits.h) when it did not execute anything. */
	PROFILE_REFUSED = 65,
	EXEC_REFUSED = 71,
};

struct monitor {
	const struct monitor_job *job;
	int queue, parent;
	pid_t command;
	bool was_executed; /* sandbox-exec has become the command */
	/* What the command has started, and its descendants, while they live. */
	pid_t tracked[MAX_TRACKED];
	size_t count;
};

static void tell(const struct monitor *m, const struct monitor_message *message)
{
	const struct timespec pause = { .tv_nsec = TELL_PAUSE_NS };

	for (int i = 0; i < TELL_TRIES; i++) {
		if (fd_pass_tell(m->job->channel, message, sizeof(*message), 0) >= 0 ||
		    errno != EAGAIN)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static bool add_event(const struct monitor *m, uintptr_t ident, int filter, uint32_t notes,
		      intptr_t data)
{
	struct kevent change;
	int flags = filter == EVFILT_TIMER ? EV_ADD | EV_ONESHOT : EV_ADD;

	EV_SET(&change, ident, (int16_t)filter, (uint16_t)flags, notes, data, NULL);
	return kevent(m->queue, &change, 1, NULL, 0, NULL) == 0;
}

/* Without waiting: a parent that has stopped must not keep this process from its clock. */
static void tell_started(const struct monitor *m, pid_t pid)
{
	const struct monitor_message message = { .kind = MESSAGE_STARTED, .value = pid };

	(void)fd_pass_tell(m->job->channel, &message, sizeof(message), FD_PASS_NO_WAIT);
}

/* ---- What the command has started ------------------------------------------------------------------- */

static bool is_tracked(const struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->tracked[i] == pid)
			return true;
	return pid == m->command;
}

static void forget(struct monitor *m, pid_t pid)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->tracked[i] == pid)
			m->tracked[i--] = m->tracked[--m->count];
}

/* True: some are new. One that forks and ends before it is looked for is not found. */
static bool track_children(struct monitor *m, pid_t of)
{
	pid_t children[256];
	int n = proc_listchildpids(of, children, (int)sizeof(children));
	bool found = false;

	for (int i = 0; i < n && i < (int)COUNT_OF(children); i++) {
		if (children[i] <= 1 || is_tracked(m, children[i]) || m->count == MAX_TRACKED ||
		    !add_event(m, (uintptr_t)children[i], EVFILT_PROC, NOTE_FORK | NOTE_EXIT, 0))
			continue;
		m->tracked[m->count++] = children[i];
		found = true;
		if (m->job->tells_processes)
			tell_started(m, children[i]);
	}
	return found;
}

static void track(struct monitor *m)
{
	bool found = track_children(m, m->command);

	while (found) {
		found = false;
		for (size_t i = 0; i < m->count; i++)
			found |= track_children(m, m->tracked[i]);
	}
}

static void kill_tracked(struct monitor *m, int number)
{
	for (size_t i = 0; i < m->count; i++)
		(void)kill(m->tracked[i], number);
}

/* Until nothing new is found: what is killed can't start anything any more. */
static void kill_rest(struct monitor *m)
{
	for (int round = 0; round < KILL_ROUNDS; round++) {
		size_t before = m->count;

		track(m);
		(void)kill(-m->command, SIGKILL);
		kill_tracked(m, SIGKILL);
		if (m->count == before)
			return;
	}
}

/* ---- Its end ------------------------------------------------------------------------------------------ */

static uint64_t milliseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

static void tell_end(const struct monitor *m, int status, const struct rusage *usage)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	struct monitor_message message = {
		.kind = MESSAGE_ENDED,
		.value = status,
		.cpu_ms = milliseconds(usage->ru_utime) + milliseconds(usage->ru_stime),
		.max_rss_kib = (uint64_t)usage->ru_maxrss / 1024,
	};

	/* sandbox-exec itself has ended, and has said why. */
	if (m->job->is_sandboxed && !m->was_executed &&
	    (code == PROFILE_REFUSED || code == EXEC_REFUSED))
		message = (struct monitor_message){ .kind = MESSAGE_NOT_EXECUTED,
						    .os_error = code == EXEC_REFUSED ? EACCES
										     : EINVAL };
	tell(m, &message);
}

static _Noreturn void finish(struct monitor *m, int status, const struct rusage *usage)
{
	/* Without a sandbox what it left running goes on, as it would without Cordon. */
	if (m->job->is_sandboxed)
		kill_rest(m);
	tell_end(m, status, usage);
	_exit(0);
}

static _Noreturn void kill_all(struct monitor *m)
{
	struct rusage usage;
	int status;

	track(m);
	(void)kill(m->command, SIGKILL);
	kill_rest(m);
	while (wait4(m->command, &status, 0, &usage) < 0)
		if (errno != EINTR)
			_exit(1);
	finish(m, status, &usage);
}

static void look_at_command(struct monitor *m)
{
	struct rusage usage;
	int status;

	while (wait4(m->command, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) > 0) {
		struct monitor_message message = { .kind = MESSAGE_CONTINUED };

		if (WIFEXITED(status) || WIFSIGNALED(status))
			finish(m, status, &usage);
		if (WIFSTOPPED(status))
			message = (struct monitor_message){ .kind = MESSAGE_STOPPED,
							    .value = WSTOPSIG(status) };
		tell(m, &message);
	}
}

/* ---- While it runs -------------------------------------------------------------------------------------- */

static void send_signal(struct monitor *m, const struct monitor_order *order)
{
	if (order->target == TO_ALL)
		kill_tracked(m, order->value);
	(void)kill(order->target == TO_COMMAND ? m->command : -m->command, order->value);
}

static void obey(struct monitor *m)
{
	struct monitor_order order;

	while (fd_pass_hear(m->job->channel, &order, sizeof(order)) == (ssize_t)sizeof(order)) {
		switch ((enum monitor_order_kind)order.kind) {
		case ORDER_GO:
			(void)kill(m->command, SIGCONT);
			break;
		case ORDER_SIGNAL:
			send_signal(m, &order);
			break;
		case ORDER_END_LATER:
			/* SECURITY: without its clock the run could go on for ever. */
			if (!add_event(m, CLOCK_IDENT, EVFILT_TIMER, 0, (intptr_t)order.after_ms))
				kill_all(m);
			break;
		case ORDER_KILL:
			kill_all(m);
		}
	}
}

static void take(struct monitor *m, const struct kevent *event)
{
	pid_t pid = (pid_t)event->ident;

	if (event->filter == EVFILT_TIMER ||
	    (event->filter == EVFILT_SIGNAL && event->ident == SIGTERM) ||
	    (event->filter == EVFILT_READ && (int)event->ident == m->parent))
		kill_all(m);
	if (event->filter == EVFILT_READ)
		obey(m);
	if (event->filter != EVFILT_PROC)
		return;
	if (pid == m->command && (event->fflags & NOTE_EXEC))
		m->was_executed = true;
	if (event->fflags & NOTE_FORK)
		track(m);
	if (pid != m->command && (event->fflags & NOTE_EXIT))
		forget(m, pid);
}

/* The first that can be executed; else why not. */
static bool spawn(struct monitor *m)
{
	const struct monitor_job *job = m->job;
	struct monitor_message failed = { .kind = MESSAGE_NOT_EXECUTED, .os_error = job->os_error };

	for (uint32_t i = 0; job->programs[i]; i++) {
		int r = posix_spawn(&m->command, job->programs[i], &job->actions, &job->attributes,
				    (char *const *)(uintptr_t)job->argv,
				    (char *const *)(uintptr_t)job->environment);

		if (r == 0)
			return true;
		failed.os_error = r;
		failed.index = i;
		if (r != ENOENT && r != ENOTDIR && r != EACCES)
			break;
	}
	tell(m, &failed);
	return false;
}

static bool watch_all(const struct monitor *m)
{
	return add_event(m, (uintptr_t)m->command, EVFILT_PROC, NOTE_EXIT | NOTE_EXEC | NOTE_FORK,
			 0) &&
	       add_event(m, (uintptr_t)m->job->channel, EVFILT_READ, 0, 0) &&
	       add_event(m, (uintptr_t)m->parent, EVFILT_READ, 0, 0) &&
	       add_event(m, SIGCHLD, EVFILT_SIGNAL, 0, 0) &&
	       add_event(m, SIGTERM, EVFILT_SIGNAL, 0, 0);
}

void monitor_run(void *arg, int parent)
{
	static struct monitor m; /* zeros */
	int kept[2];

	m.job = arg;
	m.parent = parent;
	m.queue = kqueue();
	kept[0] = m.job->channel;
	kept[1] = parent;
	(void)signal(SIGCHLD, SIG_DFL);
	/* The terminal's signals are for the command's group, whose parent has to be in its session. */
	if (m.queue < 0 || setpgid(0, 0) < 0)
		_exit(1);
	if (!spawn(&m))
		_exit(0);
	if (!watch_all(&m) || !os_close_all_but((int[]){ kept[0], kept[1], m.queue }, 3)) {
		(void)kill(m.command, SIGKILL);
		_exit(1);
	}
	tell(&m, &(struct monitor_message){ .kind = MESSAGE_READY, .value = m.command });
	for (;;) {
		struct kevent events[EVENTS_AT_ONCE];
		int n = kevent(m.queue, NULL, 0, events, EVENTS_AT_ONCE, NULL);

		if (n < 0 && errno != EINTR)
			kill_all(&m);
		for (int i = 0; i < n; i++)
			take(&m, &events[i]);
		look_at_command(&m);
	}
}
