/* SPDX-License-Identifier: MIT */
/* See program.h. There is no execveat(): the file is executed by the path that its descriptor has. */
#include "os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/posix/native.h"
#include "os/posix/spawned.h"

int os_program_open(const char *path, char *start, size_t room)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	start[0] = '\0';
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0) {
		fd_close(&fd);
		return -EACCES;
	}
	n = pread(fd, start, room - 1, 0);
	start[n > 0 ? n : 0] = '\0';
	return fd;
}

/* ---- The program, until its exec -------------------------------------------------------------------- */

/* Each is copied out of the way first: one of them may lie where another has to go. */
static bool place_descriptors(const struct os_program *p)
{
	int away[3];

	for (int i = 0; i < 3; i++) {
		away[i] = fcntl(p->stdio[i], F_DUPFD_CLOEXEC, 3);
		if (away[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(away[i], i) < 0)
			return false;
	return os_close_all_but((int[]){ 0, 1, 2 }, 3);
}

static _Noreturn void become(const struct os_program *p, const char *path)
{
	if (setpgid(0, 0) == 0 && place_descriptors(p)) {
		spawned_reset_signals();
		(void)execve(path, (char *const *)(uintptr_t)p->argv,
			     (char *const *)(uintptr_t)p->environment);
	}
	_exit(OS_PROGRAM_NOT_EXECUTED);
}

/* ---- The helper ------------------------------------------------------------------------------------- */

/* Until the program ends, somebody wants it to, or the parent has ended. */
static void wait_for_end(pid_t program, int parent)
{
	struct kevent changes[3], event;
	int queue = kqueue();

	EV_SET(&changes[0], program, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	EV_SET(&changes[1], parent, EVFILT_READ, EV_ADD, 0, 0, NULL);
	EV_SET(&changes[2], SIGTERM, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
	/* A program that has ended already is ESRCH. */
	while (queue >= 0 && kevent(queue, changes, 3, &event, 1, NULL) < 0 && errno == EINTR)
		;
}

static void run_helper(void *arg, int parent)
{
	const struct os_program *p = arg;
	char path[PATH_MAX_BYTES];
	ssize_t n = native_fd_path(p->file, path, sizeof(path) - 1);
	int status;
	pid_t pid;

	if (n <= 0)
		_exit(OS_PROGRAM_NOT_EXECUTED);
	path[n] = '\0';
	/* If the caller ignores it, the program's status would be lost. */
	(void)signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid == 0)
		become(p, path);
	if (pid < 0)
		_exit(OS_PROGRAM_NOT_EXECUTED);
	(void)setpgid(pid, pid);
	/* So that only the program holds the ends of its pipes. */
	fd_done(&p->file);
	for (int i = 0; i < 3; i++)
		fd_done(&p->stdio[i]);
	wait_for_end(pid, parent);
	/* The pid is still its own, because nobody has reaped it. */
	(void)kill(-pid, SIGKILL);
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			_exit(OS_PROGRAM_NOT_EXECUTED);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
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
