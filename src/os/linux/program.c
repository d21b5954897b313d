/* SPDX-License-Identifier: MIT */
/* See program.h. What runs after the fork makes async-signal-safe calls only. */
#include "os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/os.h"

/* ---- Trust ---------------------------------------------------------------------------------- */

/*
 * Of one component of the path, which is not a link. `below` is the component below it, NULL for the last.
 *
 * SECURITY: in a directory with the sticky bit, such as /tmp, others can neither rename nor remove what
 * this user and root own. A file there could be another name (a hard link) that somebody else has
 * chosen; a directory can't.
 */
static const char *distrust_owner(const struct stat *st, const struct stat *below)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	if (!(st->st_mode & (S_IWGRP | S_IWOTH)))
		return NULL;
	if (below && S_ISDIR(below->st_mode) && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
		return NULL;
	return "can be written by others";
}

const char *os_distrust_path(const char *path, char *where, size_t room)
{
	char part[PATH_MAX_BYTES];
	size_t len = strlen(path);
	struct stat below, *child = NULL;
	const char *why = NULL;

	if (len >= sizeof(part) || path[0] != '/')
		return "has no usable path";
	memcpy(part, path, len + 1);
	while (!why) {
		struct stat st;

		if (lstat(part, &st) < 0)
			why = "can't be looked at";
		else
			why = distrust_owner(&st, child);
		below = st;
		child = &below;
		if (why)
			(void)utf8_show(str_of(part), where, room);
		if (why || strcmp(part, "/") == 0)
			break;
		while (len > 1 && part[len - 1] != '/')
			len--;
		len = len > 1 ? len - 1 : len;
		part[len] = '\0';
	}
	return why;
}

bool os_may_write(const char *path)
{
	struct stat st;

	/* SECURITY: who owns it can give itself that permission at any time. */
	return access(path, W_OK) == 0 ||
	       (errno == EACCES && lstat(path, &st) == 0 && st.st_uid == geteuid());
}

int os_program_open(const char *path, char *start, size_t room)
{
	char name[64];
	struct stat st;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	start[0] = '\0';
	if (fd < 0)
		return -errno;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || access(name, X_OK) < 0) {
		fd_close(&fd);
		return -EACCES;
	}
	(void)os_read_small(name, start, room);
	return fd;
}

/* ---- The program, until its exec -------------------------------------------------------------- */

enum { SCRIPT_FD = 3 };

struct start {
	const struct os_program *program;
	pid_t helper;
};

/* Each is copied out of the way first: one of them may lie where another has to go. */
static bool place_descriptors(const struct os_program *p, int *file)
{
	int away[3];

	*file = fcntl(p->file, F_DUPFD_CLOEXEC, SCRIPT_FD + 1);
	if (*file < 0)
		return false;
	for (int i = 0; i < 3; i++) {
		away[i] = fcntl(p->stdio[i], F_DUPFD_CLOEXEC, SCRIPT_FD + 1);
		if (away[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(away[i], i) < 0)
			return false;
	/* The kernel refuses to start an interpreter for a file that will be closed. */
	if (p->is_script)
		*file = dup2(*file, SCRIPT_FD);
	return *file >= 0 && os_close_all_but((int[]){ 0, 1, 2, *file }, 4);
}

/* Handlers and the mask are the caller's own. What it ignores, but for SIGPIPE, stays so (nohup). */
static void reset_signals(void)
{
	sigset_t none;

	for (int n = 1; n < NSIG; n++) {
		struct sigaction action;

		if (sigaction(n, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		    (action.sa_handler != SIG_IGN || n == SIGPIPE || n == SIGCHLD))
			(void)signal(n, SIG_DFL);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become(void *arg)
{
	const struct start *start = arg;
	const struct os_program *p = start->program;
	int file;

	/* Should the helper be killed, nobody else would end this process. */
	if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != start->helper || setpgid(0, 0) < 0 || !place_descriptors(p, &file))
		_exit(OS_PROGRAM_NOT_EXECUTED);
	reset_signals();
	(void)syscall(SYS_execveat, file, "", p->argv, p->environment, AT_EMPTY_PATH);
	_exit(OS_PROGRAM_NOT_EXECUTED);
}

/* ---- The helper ------------------------------------------------------------------------------- */

/* Until the program ends, somebody wants it to, or the parent has ended. */
static void wait_for_end(int program, int parent)
{
	const uint64_t terminate = UINT64_C(1) << (SIGTERM - 1);
	struct pollfd wait[3] = { { .fd = program, .events = POLLIN },
				  { .fd = parent, .events = POLLIN },
				  { .events = POLLIN } };

	/* SIGTERM is blocked, as all signals are in a helper. Without the descriptor: end at once. */
	wait[2].fd = (int)syscall(SYS_signalfd4, -1, &terminate, sizeof(terminate), SFD_CLOEXEC);
	while (wait[2].fd >= 0 && syscall(SYS_ppoll, wait, COUNT_OF(wait), NULL, NULL, 0) < 0)
		if (errno != EINTR)
			break;
}

static void run_helper(void *arg, int parent)
{
	const struct os_program *p = arg;
	struct start start = { .program = p, .helper = getpid() };
	int ended = -1;
	pid_t pid;

	/* If the caller ignores it, the program's status would be lost. */
	(void)signal(SIGCHLD, SIG_DFL);
	pid = os_vfork(become, &start, &ended);
	if (pid < 0)
		_exit(OS_PROGRAM_NOT_EXECUTED);
	/* So that only the program holds the ends of its pipes. */
	fd_done(&p->file);
	for (int i = 0; i < 3; i++)
		fd_done(&p->stdio[i]);
	wait_for_end(ended, parent);
	/* The pid is still its own, because nobody has reaped it. */
	(void)kill(-pid, SIGKILL);
	os_kill(ended, SIGKILL);
	_exit(os_reap(ended));
}

int os_program_start(const struct os_program *program, int *helper)
{
	const int kept[] = { program->file, program->stdio[0], program->stdio[1],
			     program->stdio[2] };
	const struct os_helper job = { .name = "cordon-starter",
				       .run = run_helper,
				       .arg = (void *)(uintptr_t)program,
				       .kept = kept,
				       .kept_count = COUNT_OF(kept),
				       .is_detached = true };

	return os_fork_helper(&job, helper) < 0 ? -errno : 0;
}

void os_program_kill(int helper)
{
	os_kill(helper, SIGTERM);
}
