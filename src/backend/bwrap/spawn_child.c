/* SPDX-License-Identifier: MIT */
/*
 * bwrap until its exec, and the helper that ends it: forked without exec from what may
 * be a threaded program, so async-signal-safe calls alone. It hears no signal.
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

/* As many as may be: the command gets the limit back from the inner stage. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

/* One is there several times, or lies in the place of another, which then moves up. */
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

/* There may be little room: one at a time. */
static bool place_descriptors(const struct bwrap_spawn *spawn, int *program)
{
	int count = (int)spawn->count;

	for (int i = 0; i < count; i++) {
		int *fd = &spawn->fds[i];

		/* dup2() to itself would leave it to be closed on exec. */
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
	(void)os_close_all_but(spawn->fds, spawn->count + 1);
	if (!place_descriptors(spawn, &program))
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

/* Whoever ends is gone at once and nobody has to reap him; that he has ended is still told. */
static void let_children_go(void)
{
	const struct sigaction gone = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	(void)sigaction(SIGCHLD, &gone, NULL);
}

/* Who had ended before that is reaped. */
static bool has_children(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	while (pid > 0);
	return pid == 0;
}

/*
 * SECURITY: the number of a group that has ended may be another's. That of this process is not
 * freed; bwrap's is by a parent who ignores SIGCHLD, so the kernel is asked to go by the pidfd.
 * Before 6.9 it can't: then nobody else may have got the number in the moment since.
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

	/* It has left the group by the time that anything of the command's is there. */
	if (w->first >= 0)
		os_kill(w->first, SIGKILL);
	/* Who is in the group itself is there to reap it, before all that may be left. */
	if (!w->is_apart && w->word != BWRAP_WORD_FIRST &&
	    (poll(&first, 1, DEATH_MS) < 0 || !has_children()))
		return;
	kill_group(w);
}

/*
 * Who waits for a word of bwrap's has nobody to end it without bwrap. When PID 1 stands nobody
 * does: what is left is none of a true bwrap's, and not worth that this process ends itself.
 */
static void end_group(const struct watch *w)
{
	if (w->word == BWRAP_WORD_FIRST || w->is_apart)
		kill_group(w);
}

static void obey(struct watch *w)
{
	size_t count = 1;

	/* The first word brings it; one that did not is as good as none. */
	if (fd_pass_receive(w->life, &w->word, 1, &w->first, &count) <= 0 || w->first < 0) {
		end_all(w);
		w->life = -1;
	} else if (w->word != BWRAP_WORD_FIRST) {
		/* Its child PID 1 becomes this process's, or the next one's. */
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
		/* What it has forked may have a copy of the other end of `life`. */
		if (wait[3].revents) {
			end_all(w);
			w->life = w->host = -1;
		}
	}
	_exit(0);
}

/* What this process started and what falls to it is waited for here. */
static void start_bwrap(const struct bwrap_spawn *spawn, struct watch *w)
{
	pid_t bwrap;

	(void)signal(SIGCHLD, SIG_DFL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	/*
	 * bwrap and what it starts are a group that can be killed by the number of this
	 * process, which the parent knows; PID 1 leaves it when it stands. This process stays in
	 * it: who kills the group of the host must not have killed it as well.
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
	/* All that is ever said on it by this process, and nobody reads it: bwrap is on its way. */
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
	(void)os_close_all_but((int[]){ w.life, w.children, w.bwrap, w.host }, 4);
	watch(&w);
}
