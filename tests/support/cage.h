/* SPDX-License-Identifier: MIT */
/*
 * A process in user, mount, network and pid namespaces of its own, without
 * capabilities, whose calls of some numbers are answered by the test: what
 * src/linux/ looks after, without a backend. Works for any user.
 *
 *	static int inside(void)
 *	{
 *		INSIDE(connect(...) == 0);
 *		return 0;
 *	}
 *	cage_start(&c, &(struct cage_options){ .inside = inside, .asks = SYS_connect });
 *	... start who answers on c.listener ...
 *	cage_go(&c);
 *	CHECK_INT(cage_wait(&c, &loop), 0);
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/loop.h"

struct cage_options {
	int (*inside)(void);	     /* 0 when all is well; see INSIDE */
	int (*before_network)(void); /* in the new mount namespace, still in the host's network */
	int (*with_capabilities)(void); /* in all namespaces */
	int asks;			/* the number that is answered by the test */
	bool is_free;			/* no filter: the control */
};

/* What both sides see. */
struct cage_shared {
	_Atomic int line, error; /* of the INSIDE that failed */
	_Atomic int pid;	 /* of the process inside, as the test sees it */
	_Atomic int step;
	_Atomic int numbers[64];
};

struct cage {
	pid_t outer;
	int outer_pidfd, listener, diag, channel;
	struct watcher watcher;
	bool has_ended;
};

enum { CAGE_TIMEOUT_MS = 60000 };

static struct cage_shared *shared;

#define INSIDE(cond)                             \
	do {                                     \
		if (!(cond)) {                   \
			shared->error = errno;   \
			shared->line = __LINE__; \
			return 1;                \
		}                                \
	} while (0)

__attribute__((constructor)) static void cage_share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		_exit(1);
}

static int cage_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return ok ? 0 : -1;
}

static int cage_enter(unsigned uid, unsigned gid)
{
	char map[64];

	INSIDE(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	(void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	INSIDE(cage_write("/proc/self/uid_map", map) == 0);
	INSIDE(cage_write("/proc/self/setgroups", "deny") == 0);
	(void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	INSIDE(cage_write("/proc/self/gid_map", map) == 0);
	INSIDE(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	return 0;
}

static int cage_raise_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	INSIDE(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0);
	close(fd);
	return 0;
}

static int cage_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	INSIDE(syscall(SYS_capset, &header, none) == 0);
	INSIDE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	/* Dropping them made it undumpable, as an execve() then undoes. */
	INSIDE(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	return 0;
}

static int cage_install_filter(int asks)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)asks, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(insns) / sizeof(insns[0]), .filter = insns };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &program);
}

/* Hands two descriptors over (or none) with a byte. */
static int cage_send(int channel, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .room = { 0 } };
	char byte = 'r';
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						  .cmsg_type = SCM_RIGHTS,
						  .cmsg_len = CMSG_LEN(count * sizeof(int)) };
		memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	}
	INSIDE(sendmsg(channel, &message, 0) == 1);
	return 0;
}

static bool cage_receive(struct cage *c)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .room = { 0 } };
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fds[2] = { -1, -1 };

	if (recvmsg(c->channel, &message, MSG_CMSG_CLOEXEC) != 1)
		return false;
	if (message.msg_controllen)
		memcpy(fds, CMSG_DATA(&control.align), sizeof(fds));
	c->listener = fds[0];
	c->diag = fds[1];
	return true;
}

/* PID 1 of the cage. */
static int cage_inner(const struct cage_options *o, int channel)
{
	int fds[2];
	char go;

	INSIDE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	while (!shared->pid)
		(void)usleep(100);
	if (cage_raise_loopback() || (o->with_capabilities && o->with_capabilities()))
		return 1;
	fds[1] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	INSIDE(fds[1] >= 0);
	if (cage_drop_capabilities())
		return 1;
	if (!o->is_free) {
		fds[0] = cage_install_filter(o->asks);
		INSIDE(fds[0] >= 0);
	}
	if (cage_send(channel, fds, o->is_free ? 0 : 2))
		return 1;
	if (!o->is_free)
		close(fds[0]);
	close(fds[1]);
	INSIDE(read(channel, &go, 1) == 1);
	close(channel);
	return o->inside();
}

static int cage_outer(const struct cage_options *o, int channel)
{
	unsigned uid = getuid(), gid = getgid();
	int status;
	pid_t pid;

	INSIDE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	if (cage_enter(uid, gid) || (o->before_network && o->before_network()))
		return 1;
	INSIDE(unshare(CLONE_NEWNET | CLONE_NEWPID) == 0);
	pid = fork();
	INSIDE(pid >= 0);
	if (pid == 0)
		_exit(cage_inner(o, channel));
	close(channel);
	shared->pid = pid;
	INSIDE(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static void cage_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int cage_on_end(void *user, uint32_t events, struct err *e)
{
	struct cage *c = user;

	(void)events;
	(void)e;
	c->has_ended = true;
	return 0;
}

static void cage_tell(int status)
{
	if (shared->line)
		printf("# inside: line %d failed: %s\n", shared->line, strerror(shared->error));
	else if (status)
		printf("# inside: ended with %d\n", status);
}

/* Stands and waits for cage_go(); false, and said why, when it can't be had. */
static bool cage_start(struct cage *c, const struct cage_options *o)
{
	int pair[2];

	*c = (struct cage){ .outer_pidfd = -1, .listener = -1, .diag = -1, .channel = -1 };
	memset(shared, 0, sizeof(*shared));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	(void)fflush(stdout);
	c->outer = fork();
	if (c->outer == 0) {
		close(pair[0]);
		_exit(cage_outer(o, pair[1]));
	}
	close(pair[1]);
	c->channel = pair[0];
	if (c->outer < 0)
		return false;
	c->outer_pidfd = (int)syscall(SYS_pidfd_open, c->outer, 0);
	c->watcher = (struct watcher){ .fd = c->outer_pidfd, .ready = cage_on_end, .user = c };
	if (cage_receive(c))
		return true;
	cage_tell(-1);
	return false;
}

static void cage_go(const struct cage *c)
{
	(void)!write(c->channel, "g", 1);
}

/* Steps the loop until the cage has ended: its status, or -1 when that takes too long. */
static int cage_wait(struct cage *c, struct loop *loop)
{
	uint64_t until = loop_now() + CAGE_TIMEOUT_MS;
	struct err e = ERR_INIT;
	int status = -1;

	if (loop_add(loop, &c->watcher, LOOP_IN, &e) < 0)
		return -1;
	while (!c->has_ended && loop_now() < until)
		if (loop_step(loop, 1000, &e) < 0) {
			printf("# %s\n", e.text);
			break;
		}
	loop_remove(loop, &c->watcher);
	if (!c->has_ended)
		kill(c->outer, SIGKILL);
	waitpid(c->outer, &status, 0);
	status = c->has_ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	c->outer = 0;
	cage_tell(status);
	return status;
}

static void cage_done(struct cage *c)
{
	if (c->outer > 0) {
		kill(c->outer, SIGKILL);
		waitpid(c->outer, NULL, 0);
	}
	cage_close(&c->outer_pidfd);
	cage_close(&c->listener);
	cage_close(&c->diag);
	cage_close(&c->channel);
}
