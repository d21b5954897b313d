/* SPDX-License-Identifier: MIT */
/*
 * forbid WHAT... -- COMMAND...: runs a command under a filter as hosts have one that do not
 * mean to run sandboxes: what is named is refused, as a container's default profile or an
 * old kernel would. All it starts inherits that.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SYS_MOVE_MOUNT = 429, /* the mount API stands together, the same on every machine */
	SYS_FSOPEN = 430,
	SYS_FSMOUNT = 432,
	SYS_OPEN_TREE = 428,
	SYS_CLONE3 = 435,
	SYS_CLOSE_RANGE = 436,
	SYS_MOUNT_SETATTR = 442,
	SYS_LANDLOCK_CREATE_RULESET = 444,
	NAMESPACES = 0x7e020080, /* every CLONE_NEW* flag */
	MAX_LENGTH = 200,
};

struct refusal {
	const char *what;
	long call;
	int error;
	uint32_t flags; /* only where one of these is in the first argument; 0: always */
	uint32_t but;	/* not where the first argument is this; 0: always */
};

static const struct refusal refusals[] = {
	{ "clone3", SYS_CLONE3, ENOSYS, 0, 0 },
	{ "namespaces", SYS_clone, EPERM, NAMESPACES, 0 },
	{ "namespaces", SYS_unshare, EPERM, 0, 0 },
	{ "namespaces", SYS_setns, EPERM, 0, 0 },
	{ "mounts", SYS_mount, EPERM, 0, 0 },
	{ "mounts", SYS_umount2, EPERM, 0, 0 },
	{ "mounts", SYS_pivot_root, EPERM, 0, 0 },
	{ "mounts", SYS_OPEN_TREE, EPERM, 0, 0 },
	{ "mounts", SYS_MOVE_MOUNT, EPERM, 0, 0 },
	{ "mounts", SYS_FSOPEN, EPERM, 0, 0 },
	{ "mounts", SYS_FSMOUNT, EPERM, 0, 0 },
	{ "mounts", SYS_MOUNT_SETATTR, EPERM, 0, 0 },
	/* The new calls as a kernel before 5.2 answers them. */
	{ "mount-api", SYS_OPEN_TREE, ENOSYS, 0, 0 },
	{ "mount-api", SYS_MOVE_MOUNT, ENOSYS, 0, 0 },
	{ "mount-api", SYS_FSOPEN, ENOSYS, 0, 0 },
	{ "mount-api", SYS_FSMOUNT, ENOSYS, 0, 0 },
	{ "mount-api", SYS_MOUNT_SETATTR, ENOSYS, 0, 0 },
	{ "close-range", SYS_CLOSE_RANGE, EPERM, 0, 0 },
	{ "landlock", SYS_LANDLOCK_CREATE_RULESET, ENOSYS, 0, 0 },
	{ "landlock-at-boot", SYS_LANDLOCK_CREATE_RULESET, EOPNOTSUPP, 0, 0 },
	{ "landlock-calls", SYS_LANDLOCK_CREATE_RULESET, EPERM, 0, 0 },
	/* The filter of codex's sandbox (0.169), but for ptrace and io_uring: against networks. */
	{ "codex", SYS_connect, EPERM, 0, 0 },
	{ "codex", SYS_accept, EPERM, 0, 0 },
	{ "codex", SYS_accept4, EPERM, 0, 0 },
	{ "codex", SYS_bind, EPERM, 0, 0 },
	{ "codex", SYS_listen, EPERM, 0, 0 },
	{ "codex", SYS_getpeername, EPERM, 0, 0 },
	{ "codex", SYS_getsockname, EPERM, 0, 0 },
	{ "codex", SYS_shutdown, EPERM, 0, 0 },
	{ "codex", SYS_sendto, EPERM, 0, 0 },
	{ "codex", SYS_sendmmsg, EPERM, 0, 0 },
	{ "codex", SYS_recvmmsg, EPERM, 0, 0 },
	{ "codex", SYS_getsockopt, EPERM, 0, 0 },
	{ "codex", SYS_setsockopt, EPERM, 0, 0 },
	{ "codex", SYS_socket, EPERM, 0, AF_UNIX },
};

struct program {
	struct sock_filter code[MAX_LENGTH];
	unsigned short length;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	if (p->length < MAX_LENGTH)
		p->code[p->length++] = (struct sock_filter){ code, yes, no, k };
}

static void add_refusal(struct program *p, const struct refusal *r)
{
	uint32_t number = offsetof(struct seccomp_data, nr);
	uint32_t flags = offsetof(struct seccomp_data, args); /* little-endian: the low half */

	add(p, BPF_LD | BPF_W | BPF_ABS, number, 0, 0);
	add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->call, 0, r->flags || r->but ? 3 : 1);
	if (r->flags) {
		add(p, BPF_LD | BPF_W | BPF_ABS, flags, 0, 0);
		add(p, BPF_JMP | BPF_JSET | BPF_K, r->flags, 0, 1);
	} else if (r->but) {
		add(p, BPF_LD | BPF_W | BPF_ABS, flags, 0, 0);
		add(p, BPF_JMP | BPF_JEQ | BPF_K, r->but, 1, 0);
	}
	add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)r->error, 0, 0);
}

int main(int argc, char **argv)
{
	struct program p = { .length = 0 };
	struct sock_fprog filter = { .filter = p.code };
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		unsigned short before = p.length;

		for (size_t n = 0; n < sizeof(refusals) / sizeof(refusals[0]); n++)
			if (strcmp(refusals[n].what, argv[i]) == 0)
				add_refusal(&p, &refusals[n]);
		if (p.length == before) {
			(void)fprintf(stderr, "forbid: what is '%s'?\n", argv[i]);
			return 99;
		}
	}
	if (i + 1 >= argc || p.length >= MAX_LENGTH) {
		(void)fprintf(stderr, "usage: forbid WHAT... -- COMMAND...\n");
		return 99;
	}
	add(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	filter.len = p.length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("forbid: the filter");
		return 99;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 99;
}
