/* SPDX-License-Identifier: MIT */
/*
 * See warden.h. The warden reads fixed messages from the channel:
 *
 *	WARDEN_WATCH	the pidfd of the sandbox comes with it
 *	WARDEN_FINISH	the sandbox is gone: an orderly end
 *
 * and ends with the channel. SECURITY: without WARDEN_FINISH and without a pidfd
 * the other process died while the sandbox was being made. That ends by itself
 * (its own channel has ended too), so it is given a moment before what protects
 * the host from it goes.
 */
#include "supervise/warden.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WARDEN_WATCH = 1,
	WARDEN_FINISH,
};

enum {
	DEATH_MS = 5000, /* of the sandbox, and of the warden */
	UNSEEN_MS = 50,	 /* a sandbox that the warden was not told of */
};

union one_fd {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* Readable means ended. */
static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd poll = { .fd = pidfd, .events = POLLIN };
	struct timespec time = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L };

	return syscall(SYS_ppoll, &poll, 1, &time, NULL, 0) == 1;
}

/* ---- The warden itself ---------------------------------------------------------- */

/* The lowest descriptor from `from` on that the warden needs; INT32_MAX: none. */
static int next_kept(int from, int channel, const struct placeholders *held)
{
	int next = channel >= from ? channel : INT32_MAX;

	for (size_t i = 0; i < held->count; i++)
		if (held->items[i].fd >= from && held->items[i].fd < next)
			next = held->items[i].fd;
	return next;
}

/* Pipes above all: someone may wait for their end. */
static bool close_others(int channel, const struct placeholders *held)
{
	int from = 0;

	while (from < INT32_MAX) {
		int next = next_kept(from, channel, held);

		if (next > from && syscall(SYS_close_range, from, next - 1, 0) < 0)
			return false;
		from = next == INT32_MAX ? next : next + 1;
	}
	return true;
}

/* The descriptor that came with a message, or -1. */
static int received_fd(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* Until the channel ends. The raw call: a thread can't be cancelled in it. */
static void listen_until_end(int channel, int *sandbox, bool *is_orderly)
{
	for (;;) {
		unsigned char kind = 0;
		struct iovec data = { &kind, sizeof(kind) };
		union one_fd control = { .space = { 0 } };
		struct msghdr message = { .msg_iov = &data,
					  .msg_iovlen = 1,
					  .msg_control = control.space,
					  .msg_controllen = sizeof(control.space) };
		long n = syscall(SYS_recvmsg, channel, &message, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (kind == WARDEN_WATCH)
			*sandbox = received_fd(&message);
		*is_orderly = kind == WARDEN_FINISH;
	}
}

static _Noreturn void warden_run(int channel, struct placeholders *held)
{
	int sandbox = -1;
	bool is_orderly = false;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "cordon-warden");
	(void)prctl(PR_SET_DUMPABLE, 0); /* it has a copy of this process's memory */
	if (chdir("/") < 0 || !close_others(channel, held)) {
		for (;;) /* seen as a dead warden */
			syscall(SYS_exit_group, 1);
	}
	listen_until_end(channel, &sandbox, &is_orderly);
	if (sandbox >= 0) {
		syscall(SYS_pidfd_send_signal, sandbox, SIGKILL, NULL, 0);
		(void)has_ended(sandbox, DEATH_MS);
	} else if (!is_orderly) {
		(void)syscall(SYS_ppoll, NULL, 0,
			      &(struct timespec){ .tv_nsec = UNSEEN_MS * 1000000L }, NULL, 0);
	}
	placeholders_release(held);
	for (;;)
		syscall(SYS_exit_group, 0);
}

/* ---- Its other end ---------------------------------------------------------------- */

static bool holds_any(const struct placeholders *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->items[i].fd >= 0)
			return true;
	return false;
}

/*
 * With all signals blocked, so that no handler of this program ever runs in the
 * warden; the raw call blocks those that the C library keeps to itself too.
 */
static pid_t fork_warden(int channel, struct placeholders *held, int *pidfd)
{
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uintptr_t)pidfd };
	uint64_t all = UINT64_MAX;
	uint64_t before = 0;
	long pid;
	int saved;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		warden_run(channel, held);
	saved = errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	errno = saved;
	return (pid_t)pid;
}

int warden_start(struct warden *w, struct placeholders *held, struct err *e)
{
	struct warden started = WARDEN_NONE;
	int ends[2];
	int r = 0;

	if (!holds_any(held)) {
		*w = started;
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return FAIL_SYS(e, errno, "can't make a channel to the warden");
	started.channel = ends[0];
	started.pid = fork_warden(ends[1], held, &started.pidfd);
	if (started.pid < 0)
		r = FAIL_SYS(e, errno, "can't start the warden");
	(void)close(ends[1]);
	if (r < 0)
		(void)close(ends[0]);
	else
		*w = started;
	return r;
}

int warden_watch(struct warden *w, int sandbox_pidfd, struct err *e)
{
	unsigned char kind = WARDEN_WATCH;
	struct iovec data = { &kind, sizeof(kind) };
	union one_fd control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };

	if (w->pid == 0)
		return 0;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &sandbox_pidfd, sizeof(sandbox_pidfd));
	if (sendmsg(w->channel, &message, MSG_NOSIGNAL) < 0)
		return FAIL_SYS(e, errno, "can't reach the warden");
	return 0;
}

/* One that was stopped would let this process wait for ever. */
static void reap(const struct warden *w)
{
	siginfo_t info;

	if (!has_ended(w->pidfd, DEATH_MS + 1000))
		syscall(SYS_pidfd_send_signal, w->pidfd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)w->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
		;
}

void warden_finish(struct warden *w, struct placeholders *held)
{
	unsigned char kind = WARDEN_FINISH;

	if (w->pid != 0) {
		(void)send(w->channel, &kind, sizeof(kind), MSG_NOSIGNAL);
		(void)close(w->channel);
		reap(w);
		(void)close(w->pidfd);
		*w = (struct warden)WARDEN_NONE;
	}
	/* What the warden removed is not there to be removed again. */
	placeholders_release(held);
}
