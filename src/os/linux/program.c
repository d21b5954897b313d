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

#include "os/child.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/posix/spawned.h"

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

static void become(void *arg)
{
	const struct start *start = arg;
	const struct os_program *p = start->program;
	int file;

	/* Should the helper be killed, nobody else would end this process. */
	if (syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != start->helper || setpgid(0, 0) < 0 || !place_descriptors(p, &file))
		_exit(OS_PROGRAM_NOT_EXECUTED);
	spawned_reset_signals();
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
