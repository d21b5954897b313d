/* SPDX-License-Identifier: MIT */
/* What PID 1 gives up for itself and for the command, for good. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/native/native.h"

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter), "the kernel's layout");

void native_drop_capabilities(const struct native_job *job)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { .effective = 0 } };

	/* That the user is root gives nothing back on exec. */
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
		  0, 0, 0) < 0)
		native_fail(job, NATIVE_CAPABILITIES, 0);
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	/* EINVAL ends the list; anything else did not drop. */
	if (errno != EINVAL)
		native_fail(job, NATIVE_CAPABILITIES, 1);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		native_fail(job, NATIVE_CAPABILITIES, 2);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		native_fail(job, NATIVE_CAPABILITIES, 3);
}

/* ---- Landlock ---------------------------------------------------------------- */

/*
 * The second wall. It knows no "narrower inside wider", so it repeats only the
 * outer lines: nothing is written outside what is writable. It also holds where
 * mounts do not: a fifo or a standard stream that came from outside could be
 * opened for writing through a read-only mount.
 */
enum {
	LL_EXECUTE = 1 << 0,
	LL_WRITE_FILE = 1 << 1,
	LL_READ_FILE = 1 << 2,
	LL_READ_DIR = 1 << 3,
	LL_ALL_V1 = (1 << 13) - 1,
	LL_REFER = 1 << 13,	/* ABI 2 */
	LL_TRUNCATE = 1 << 14,	/* ABI 3 */
	LL_IOCTL_DEV = 1 << 15, /* ABI 5 */
	LL_SCOPE_ABSTRACT = 1 << 0,
	LL_SCOPE_SIGNAL = 1 << 1,

	LL_READ = LL_EXECUTE | LL_READ_FILE | LL_READ_DIR | LL_IOCTL_DEV,
	LL_FILE = LL_EXECUTE | LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE | LL_IOCTL_DEV,
};

/* struct landlock_ruleset_attr of ABI 6; older kernels take its beginning. */
struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

struct wall {
	const struct native_job *job;
	int ruleset;
	uint64_t handled;
};

static uint64_t handled_rights(uint32_t abi)
{
	uint64_t rights = LL_ALL_V1;

	if (abi >= 2)
		rights |= LL_REFER;
	if (abi >= 3)
		rights |= LL_TRUNCATE;
	if (abi >= 5)
		rights |= LL_IOCTL_DEV;
	return rights;
}

static void allow_fd(const struct wall *w, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		native_fail(w->job, NATIVE_LANDLOCK, 1);
	/* Rights that only directories have are refused for files. */
	if (!S_ISDIR(st.st_mode))
		rights &= LL_FILE;
	rule.allowed_access = rights & w->handled;
	/* EBADFD: a file of the kernel's own (memfd), of which Landlock takes no notice. */
	if (syscall(SYS_landlock_add_rule, w->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 &&
	    errno != EBADFD)
		native_fail(w->job, NATIVE_LANDLOCK, 2);
}

static void allow_path(const struct wall *w, const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	/* What the policy hides is not to be opened here either. */
	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return;
	if (fd < 0)
		native_fail(w->job, NATIVE_LANDLOCK, 3);
	allow_fd(w, fd, rights);
	close(fd);
}

/* A stream that was handed in may be opened again as it was given (/dev/stdout). */
static void allow_stdio(const struct wall *w)
{
	for (int i = 0; i < 3; i++) {
		int flags = fcntl(w->job->stdio[i], F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(w->job->stdio[i], &st) < 0)
			native_fail(w->job, NATIVE_LANDLOCK, 4);
		if ((flags & O_ACCMODE) != O_RDONLY && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
			allow_fd(w, w->job->stdio[i], LL_FILE);
	}
}

static void allow_files(const struct wall *w)
{
	const struct mounts *mounts = w->job->mounts;
	uint64_t all = w->handled;

	allow_path(w, "/", mounts->ops.items[0].access == ACCESS_WRITE ? all : LL_READ);
	allow_path(w, "/proc", LL_READ | LL_WRITE_FILE | LL_TRUNCATE);
	allow_path(w, "/dev", LL_READ | LL_FILE);
	allow_path(w, "/dev/pts", LL_READ | LL_FILE);
	allow_path(w, "/dev/shm", all);
	if (w->job->has_mqueue)
		allow_path(w, "/dev/mqueue", all);
	for (size_t i = 1; i < mounts->ops.count; i++) {
		const struct mount_op *op = &mounts->ops.items[i];

		if (!op->is_pin && (op->kind == MOUNT_FRESH ||
				    (op->kind == MOUNT_SELF && op->access == ACCESS_WRITE)))
			allow_path(w, op->path, all);
	}
	allow_stdio(w);
}

/* Where the kernel has none, or none that helps, the report says so. */
void native_lock_landlock(const struct native_job *job)
{
	uint32_t abi = job->landlock_abi;
	struct ruleset_attr attr = { .handled_fs = handled_rights(abi) };
	struct wall wall = { .job = job };
	size_t size = sizeof(attr);

	/* It forbids all mounts, and so can't be where the profile allows them. */
	if (job->allows_mounts)
		attr.handled_fs = 0;
	if (abi == 0 || (job->allows_mounts && abi < 6))
		return;
	if (abi >= 6)
		attr.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
	else
		size = abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	wall.handled = attr.handled_fs;
	wall.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (wall.ruleset < 0)
		native_fail(job, NATIVE_LANDLOCK, 5);
	if (wall.handled)
		allow_files(&wall);
	if (syscall(SYS_landlock_restrict_self, wall.ruleset, 0) < 0)
		native_fail(job, NATIVE_LANDLOCK, 6);
	close(wall.ruleset);
}

/* ---- seccomp ------------------------------------------------------------------ */

/* Since 5.19; without it a signal makes a call that is being answered look failed. */
#define WAIT_KILLABLE_RECV (1UL << 5)

int native_lock_filter(const struct native_job *job)
{
	struct sock_fprog program = { .len = (unsigned short)job->filter.count,
				      .filter = (struct sock_filter *)(void *)job->filter.insns };
	unsigned long flags = 0;
	long r;

	if (job->asks_connect)
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV;
	r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (r < 0 && errno == EINVAL && flags)
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags & ~WAIT_KILLABLE_RECV,
			    &program);
	if (r < 0)
		native_fail(job, NATIVE_FILTER, 0);
	return job->asks_connect ? (int)r : -1;
}
