/* SPDX-License-Identifier: MIT */
/* The first process of a sandbox, until the command runs; see inner.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/inner/inner.h"
#include "os/child.h"
#include "os/fd_pass.h"

_Noreturn void inner_fail(const struct inner_job *job, uint32_t stage, size_t index)
{
	inner_fail_with(job, stage, index, errno);
}

_Noreturn void inner_fail_with(const struct inner_job *job, uint32_t stage, size_t index,
			       int os_error)
{
	struct init_message message = {
		.kind = INIT_FAILED, .stage = stage, .index = (uint32_t)index, .os_error = os_error
	};

	/* If this fails, the supervisor is gone and nobody needs the report. */
	fd_pass_tell(job->channel, &message, sizeof(message), 0);
	_exit(1);
}

/* ---- Descriptors --------------------------------------------------------------- */

void inner_raise_open_files(struct inner_job *job)
{
	struct rlimit most;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &job->open_files) < 0)
		inner_fail(job, INNER_LIMITS, 0);
	most = (struct rlimit){ job->open_files.rlim_max, job->open_files.rlim_max };
	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, NULL) < 0)
		inner_fail(job, INNER_LIMITS, 1);
}

void inner_keep_ties(struct inner_job *job)
{
	const int kept[] = { job->channel, job->host, job->terminal };

	if (!os_close_all_but(kept, COUNT_OF(kept)))
		inner_fail(job, INNER_FORK, 3);
}

/* ---- What others see of this process -------------------------------------------- */

void inner_hide_self(const struct inner_job *job)
{
	static const char shown[] = "cordon";

	memset(job->own_words.from, 0, job->own_words.bytes);
	/* What `ps` shows as its arguments. */
	if (job->own_words.bytes >= sizeof(shown))
		memcpy(job->own_words.from, shown, sizeof(shown));
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		inner_fail(job, INNER_CAPABILITIES, 4);
	prctl(PR_SET_NAME, shown, 0, 0, 0);
}

/* Opens the stream's own file again, for appending only. */
static int open_to_append(int stream)
{
	char path[sizeof(INNER_OWN_DESCRIPTORS) + 16] = INNER_OWN_DESCRIPTORS "/";
	size_t len = sizeof(INNER_OWN_DESCRIPTORS);
	int unit = 1;

	while (stream / unit >= 10)
		unit *= 10;
	for (; unit > 0; unit /= 10)
		path[len++] = (char)('0' + stream / unit % 10);
	return open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
}

/*
 * The same file at the same offset, through the sandbox's own mount. SECURITY: somebody may have
 * put a fifo there since; without O_NONBLOCK that would block the start for ever.
 */
static int open_again(const struct inner_job *job, int i)
{
	off_t at = lseek(job->stdio[i], 0, SEEK_CUR);
	int flags = fcntl(job->stdio[i], F_GETFL);
	bool appends = job->streams.items[i].kind == STREAM_APPENDED;
	int fd = appends ? open_to_append(job->stdio[i])
			 : open(job->reopened[i],
				(flags & O_ACCMODE) | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct stat given, found;

	if (moved < 0 || fstat(job->stdio[i], &given) < 0 || fstat(moved, &found) < 0)
		return -1;
	if (given.st_dev != found.st_dev || given.st_ino != found.st_ino) {
		errno = ESTALE;
		return -1;
	}
	/* A terminal has no offset. */
	if (fcntl(moved, F_SETFL, flags) < 0 || (at >= 0 && lseek(moved, at, SEEK_SET) < 0))
		return -1;
	return moved;
}

void inner_leave_group(const struct inner_job *job)
{
	if ((job->own_terminal || job->leaves_session ? setsid() : setpgid(0, 0)) < 0)
		inner_fail(job, INNER_GROUP, 0);
}

void inner_open_terminal(struct inner_job *job)
{
	int fd;

	if (!job->own_terminal)
		return;
	fd = open(job->own_terminal, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	/* The command's streams will lie below. */
	job->terminal = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (job->terminal < 0)
		inner_fail(job, INNER_STREAM, 3);
	close(fd);
}

void inner_take_terminal(const struct inner_job *job)
{
	if (job->own_terminal && !command_control_terminal(job->terminal))
		inner_fail(job, INNER_GROUP, 1);
}

void inner_reopen_streams(struct inner_job *job)
{
	for (int i = 0; i < 3; i++) {
		if (!job->reopened[i])
			continue;
		job->stdio[i] = open_again(job, i);
		if (job->stdio[i] < 0)
			inner_fail(job, INNER_STREAM, (size_t)i);
	}
}

/* ---- Limits --------------------------------------------------------------------- */

/* Whether fork() works with RLIMIT_NPROC set to `most`. */
static bool can_fork(const struct inner_job *job, uint64_t most)
{
	struct rlimit before, now;
	pid_t pid;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &before) < 0)
		inner_fail(job, INNER_LIMITS, 2);
	now = (struct rlimit){ MIN_OF((rlim_t)most, before.rlim_max), before.rlim_max };
	if (syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &now, NULL) < 0)
		inner_fail(job, INNER_LIMITS, 3);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): it does nothing else. */
	pid = vfork();
	if (pid == 0)
		_exit(0);
	if (pid < 0 && errno != EAGAIN)
		inner_fail(job, INNER_LIMITS, 4);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &before, NULL) < 0)
		inner_fail(job, INNER_LIMITS, 5);
	return pid > 0;
}

/*
 * SECURITY: try the process limit before relying on it. The kernel exempts a user who is root
 * outside the namespace, which can't be seen from inside, so a fork bomb would not be stopped; and
 * before Linux 5.14 it also counts the user's processes outside.
 */
static void prove_limits(const struct inner_job *job)
{
	if (!job->limits_processes)
		return;
	/* The process that made the mounts counts until it is reaped. */
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
	if (can_fork(job, 1))
		inner_fail(job, INNER_LIMITS, INNER_NOT_COUNTED);
	/* This process, the new one, and the masker. */
	if (!can_fork(job, 3))
		inner_fail(job, INNER_LIMITS, INNER_COUNTED_ELSEWHERE);
}

void inner_tell_ready(struct inner_job *job, int listener)
{
	uint32_t lacks = job->network.lacks |
			 (job->has_listener && listener < 0 ? SANDBOX_LACKS_LISTENER : 0U);
	struct init_message message = { .kind = INIT_READY, .value = (int32_t)lacks };
	struct init_order order;
	int fds[INNER_MAX_FDS] = { job->root };
	size_t count = 1;
	int r;

	prove_limits(job);
	/* The parent knows which of them to expect from the job. */
	if (job->unix_diag >= 0)
		fds[count++] = job->unix_diag;
	if (listener >= 0)
		fds[count++] = listener;
	for (int i = 0; i < 3; i++)
		if (job->reopened[i])
			fds[count++] = job->stdio[i];
	for (size_t i = 0; i < job->network.socket_count; i++)
		fds[count++] = job->network.sockets[i];
	r = fd_pass_send(job->channel, &message, sizeof(message), fds, count, 0);
	if (r < 0) {
		errno = -r;
		inner_fail(job, INNER_TELL, 0);
	}
	/* Any other order, or the end of the channel, cancels the run before the command starts. */
	if (job->waits && !init_wait(job->channel, job->host, INIT_START, &order))
		_exit(0);
}

/* ---- The command ------------------------------------------------------------ */

static _Noreturn void tell_exec_failed(const struct inner_job *job, struct command_failure failure)
{
	struct init_message message = { .kind = INIT_EXEC_FAILED,
					.os_error = failure.os_error,
					.index = failure.index,
					.value = failure.is_closed };

	fd_pass_tell(job->channel, &message, sizeof(message), 0);
	_exit(127);
}

_Noreturn void inner_become_command(struct inner_job *job)
{
	/* Limits come last: the set-up may need more. */
	if (!command_enter_terminal(job->terminal, job->starts_behind) ||
	    !command_place_stdio(job->stdio) ||
	    syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0 ||
	    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &job->open_files, NULL) < 0 ||
	    !command_set_limits(&job->limits))
		tell_exec_failed(job, (struct command_failure){ .os_error = errno,
								.index = COMMAND_NO_PROGRAM });
	command_reset_signals(job->signals);
	tell_exec_failed(job, command_execute(&job->words));
}

/* vfork(): no memory is copied that exec would discard. This process waits until the exec. */
pid_t inner_start_command(struct inner_job *job)
{
	pid_t command;

	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): to wait is meant. */
	command = vfork();
	if (command < 0)
		inner_fail(job, INNER_FORK, 0);
	if (command == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): it leaves alone what is used here. */
		inner_become_command(job);
	return command;
}
