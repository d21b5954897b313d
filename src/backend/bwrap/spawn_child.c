/* SPDX-License-Identifier: MIT */
/*
 * bwrap until its exec, and the helper that kills it. Both are forked from what may be a threaded
 * program, so they make only async-signal-safe calls. The helper blocks all signals.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"
#include "os/child.h"
#include "os/fd_pass.h"

enum { STATUS_NO_ROOM = 126, STATUS_NO_EXEC = 127, DEATH_MS = 5000 };

/* ---- bwrap -------------------------------------------------------------------------- */

/* Raises the limit of open files. The inner stage restores it for the command. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

/* Moves a descriptor that lies at `place`, and is needed later, to a number above all places. */
static bool make_way(const struct bwrap_spawn *spawn, int place, int *program)
{
	int count = (int)spawn->count;
	int moved = -1;

	for (int k = place + 1; k <= count; k++) {
		int *other = k < count ? &spawn->fds[k] : program;

		if (*other != place)
			continue;
		if (moved < 0)
			moved = fcntl(place, F_DUPFD_CLOEXEC, count);
		if (moved < 0)
			return false;
		*other = moved;
	}
	return true;
}

static bool is_used_later(const struct bwrap_spawn *spawn, size_t place, int program)
{
	for (size_t k = place + 1; k < spawn->count; k++)
		if (spawn->fds[k] == spawn->fds[place])
			return true;
	return spawn->fds[place] == program;
}

/* One at a time: there may be few free descriptors. */
static bool place_descriptors(const struct bwrap_spawn *spawn, int *program)
{
	int count = (int)spawn->count;

	for (int i = 0; i < count; i++) {
		int *fd = &spawn->fds[i];

		/* dup2() to itself would not clear close-on-exec. */
		if (*fd == i && (fcntl(i, F_SETFD, 0) < 0 || !make_way(spawn, i, program)))
			return false;
		if (*fd == i)
			continue;
		if (!make_way(spawn, i, program) || dup2(*fd, i) < 0)
			return false;
		if (!is_used_later(spawn, (size_t)i, *program))
			close(*fd);
	}
	return true;
}

static _Noreturn void execute_bwrap(const struct bwrap_spawn *spawn)
{
	static const char *const environment[] = { NULL };
	int program = spawn->program;

	allow_descriptors();
	/* `program` lies behind the others. */
	if (!os_close_all_but(spawn->fds, spawn->count + 1) || !place_descriptors(spawn, &program))
		_exit(STATUS_NO_ROOM);
	syscall(SYS_execveat, program, "", spawn->argv, environment, AT_EMPTY_PATH);
	_exit(STATUS_NO_EXEC);
}

_Noreturn void bwrap_become(const struct bwrap_spawn *spawn)
{
	(void)signal(SIGCHLD, SIG_DFL);
	if (setpgid(0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	execute_bwrap(spawn);
}

/* ---- The helper ------------------------------------------------------------------------ */

struct watch {
	int life, children; /* a socket, a signalfd; -1: no more */
	int bwrap;	    /* its pidfd */
	bool has_bwrap_ended;
	int host;  /* the pidfd of who forked this process */
	int first; /* the pidfd of PID 1, once it is told; -1 */
	char word; /* the last one: enum bwrap_word */
	pid_t group;
	bool is_apart; /* from the group */
};

/* Children that end need not be reaped; SIGCHLD still comes. */
static void let_children_go(void)
{
	const struct sigaction gone = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	(void)sigaction(SIGCHLD, &gone, NULL);
}

/* Reaps those that had ended before. */
static bool has_children(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0);
	return pid == 0;
}

/*
 * SECURITY: the number of a group that has ended may belong to another group, which would be killed.
 * This process's own number is in use while it lives. bwrap's may be freed if the parent ignores
 * SIGCHLD, so the group is signalled by pidfd. Kernels before 6.9 can't do that; there the number
 * would have to be reused within microseconds.
 */
static void kill_group(const struct watch *w)
{
	const unsigned whole_group = 1U << 2; /* PIDFD_SIGNAL_PROCESS_GROUP */

	if (!w->is_apart ||
	    (syscall(SYS_pidfd_send_signal, w->bwrap, SIGKILL, NULL, whole_group) < 0 &&
	     errno == EINVAL))
		kill(-w->group, SIGKILL);
}

static void end_all(const struct watch *w)
{
	struct pollfd first = { .fd = w->first, .events = POLLIN };

	/* PID 1 leaves the group before it starts the command. */
	if (w->first >= 0)
		os_kill(w->first, SIGKILL);
	/* This process is in the group: reap first, because killing the group ends it, too. */
	if (!w->is_apart && w->word != BWRAP_WORD_FIRST &&
	    (poll(&first, 1, DEATH_MS) < 0 || !has_children()))
		return;
	kill_group(w);
}

/*
 * bwrap has ended. Until PID 1 runs, a process may wait for bwrap for ever, so kill the group. Later
 * a real bwrap leaves no process, and killing its own group would end this process for nothing.
 */
static void end_group(const struct watch *w)
{
	if (w->word == BWRAP_WORD_FIRST || w->is_apart)
		kill_group(w);
}

static void obey(struct watch *w)
{
	size_t count = 1;

	/* The first message brings PID 1's pidfd; without it the message counts as the end. */
	if (fd_pass_receive(w->life, &w->word, 1, &w->first, &count) <= 0 || w->first < 0) {
		end_all(w);
		w->life = -1;
	} else if (w->word != BWRAP_WORD_FIRST) {
		/* PID 1, its child, becomes a child of the nearest subreaper. */
		os_kill(w->bwrap, SIGKILL);
	}
}

static _Noreturn void watch(struct watch *w)
{
	struct signalfd_siginfo ignored;

	while (!w->has_bwrap_ended || has_children()) {
		struct pollfd wait[] = { { .fd = w->life, .events = POLLIN },
					 { .fd = w->children, .events = POLLIN },
					 { .fd = w->has_bwrap_ended ? -1 : w->bwrap,
					   .events = POLLIN },
					 { .fd = w->host, .events = POLLIN } };

		if (poll(wait, COUNT_OF(wait), -1) < 0 && errno != EINTR)
			break;
		while (read(w->children, &ignored, sizeof(ignored)) > 0)
			;
		if (wait[0].revents)
			obey(w);
		if (wait[2].revents) {
			end_group(w);
			w->has_bwrap_ended = true;
		}
		/* A process that the host forked may hold a copy of the other end of `life`. */
		if (wait[3].revents) {
			end_all(w);
			w->life = w->host = -1;
		}
	}
	_exit(0);
}

/* Starts bwrap as a child. This process also adopts bwrap's orphans. */
static void start_bwrap(const struct bwrap_spawn *spawn, struct watch *w)
{
	pid_t bwrap;

	(void)signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	/*
	 * bwrap and its children share a group that has this process's number, which the parent
	 * knows; PID 1 leaves it. The group is not the host's, so that whoever kills the host's
	 * group does not kill this process.
	 */
	if (setpgid(0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): to wait is meant. */
	bwrap = vfork();
	if (bwrap == 0) {
		/* NOLINTBEGIN(clang-analyzer-unix.Vfork): it leaves alone what is used here. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		execute_bwrap(spawn);
		/* NOLINTEND(clang-analyzer-unix.Vfork) */
	}
	if (bwrap < 0)
		_exit(STATUS_NO_ROOM);
	/* Tells await_exec() that bwrap was executed. This process sends nothing else. */
	(void)fd_pass_tell(w->life, "", 1, 0);
	w->bwrap = (int)syscall(SYS_pidfd_open, bwrap, 0);
	if (w->bwrap < 0) {
		end_all(w);
		_exit(STATUS_NO_ROOM);
	}
	let_children_go();
}

_Noreturn void bwrap_helper(const struct bwrap_spawn *spawn, int host)
{
	struct watch w = { .life = spawn->life,
			   .first = -1,
			   .word = BWRAP_WORD_FIRST,
			   .bwrap = spawn->bwrap,
			   .host = host,
			   .group = spawn->bwrap < 0 ? getpid() : spawn->group,
			   .is_apart = spawn->bwrap >= 0 };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	w.children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w.children < 0) {
		if (w.bwrap >= 0)
			end_all(&w);
		_exit(STATUS_NO_ROOM);
	}
	if (w.bwrap < 0)
		start_bwrap(spawn, &w);
	if (!os_close_all_but((int[]){ w.life, w.children, w.bwrap, w.host }, 4)) {
		end_all(&w);
		_exit(STATUS_NO_ROOM);
	}
	watch(&w);
}
