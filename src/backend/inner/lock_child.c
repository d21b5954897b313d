/* SPDX-License-Identifier: MIT */
/*
 * Privileges that the first process gives up for good, for itself and for the command. Another
 * process may share this memory, errno included. So calls that may fail here without harm are raw
 * calls, which return the error.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/inner/inner.h"
#include "os/linux/raw_call.h"

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter), "the kernel's layout");

/* SECURITY: without these bits a user who is root would get all capabilities back on exec. */
static void lock_bits(const struct inner_job *job)
{
	long r = 0;

	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			  SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED,
		  0, 0, 0) < 0)
		inner_fail(job, INNER_CAPABILITIES, 0);
	/*
	 * EINVAL ends the list; any other error means that one was not dropped. Ask first: bwrap has
	 * dropped most already, and asking is cheaper than a change of credentials.
	 */
	for (long cap = 0; r >= 0; cap++) {
		r = raw_call(SYS_prctl, PR_CAPBSET_READ, cap, 0, 0);
		if (r > 0)
			r = raw_call(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0);
	}
	if (r != -EINVAL)
		inner_fail(job, INNER_CAPABILITIES, 1);
}

void inner_drop_capabilities(const struct inner_job *job)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2], none[2] = { { .effective = 0 } };

	if (syscall(SYS_capget, &header, has) < 0)
		inner_fail(job, INNER_CAPABILITIES, 5);
	/*
	 * Without a user namespace an ordinary user can't lock the bits, and need not: with
	 * no_new_privs exec grants nothing that was not permitted before.
	 */
	if (has[0].effective & (1U << CAP_SETPCAP))
		lock_bits(job);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		inner_fail(job, INNER_CAPABILITIES, 2);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		inner_fail(job, INNER_CAPABILITIES, 3);
}

/* ---- Landlock ---------------------------------------------------------------- */

/*
 * A second barrier beside the mounts. Landlock can't narrow access inside a subtree that it has
 * opened, so it only repeats the outermost rule: nothing is written outside what is writable. It
 * also works where mounts do not: without it a fifo, or a standard stream from outside, could be
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
	/*
	 * ABI 9: to connect to a socket by its path, unless it was bound inside. The
	 * headers here are older; these numbers are the kernel's, include/uapi/linux/landlock.h.
	 */
	LL_RESOLVE_UNIX = 1 << 16,
	LL_NET_TCP = 3 << 0, /* ABI 4: bind and connect */
	LL_NET_UDP = 3 << 2, /* ABI 10: bind; connect and send */
	LL_SCOPE_ABSTRACT = 1 << 0,
	LL_SCOPE_SIGNAL = 1 << 1,

	LL_LOOK = LL_EXECUTE | LL_READ_FILE | LL_READ_DIR,
	LL_READ = LL_LOOK | LL_IOCTL_DEV,
	LL_FILE = LL_EXECUTE | LL_READ_FILE | LL_WRITE_FILE | LL_TRUNCATE | LL_IOCTL_DEV,
	/* Nor truncating: a stream of the caller's is on a mount of the host's. */
	LL_ARRANGE = (LL_ALL_V1 & ~LL_WRITE_FILE) | LL_REFER | LL_IOCTL_DEV,
	LL_OUTPUT = LL_WRITE_FILE | LL_TRUNCATE | LL_IOCTL_DEV,
};

/* struct landlock_ruleset_attr of ABI 6; older kernels take its beginning. */
struct ruleset_attr {
	uint64_t handled_fs, handled_net, scoped;
};

static uint64_t handled_rights(const struct landlock_rules *landlock)
{
	uint64_t rights = LL_ALL_V1;

	if (landlock->scopes_only)
		return 0;
	if (landlock->abi >= 2)
		rights |= LL_REFER;
	if (landlock->abi >= 3)
		rights |= LL_TRUNCATE;
	if (landlock->abi >= 5)
		rights |= LL_IOCTL_DEV;
	if (landlock->abi >= 9 && landlock->refuses_network)
		rights |= LL_RESOLVE_UNIX;
	return rights;
}

/* No rule is ever added for ports, so Landlock refuses all of them. */
static uint64_t handled_ports(const struct landlock_rules *landlock)
{
	if (!landlock->refuses_network || landlock->abi < 4)
		return 0;
	return landlock->abi < 10 ? LL_NET_TCP : LL_NET_TCP | LL_NET_UDP;
}

static bool note(struct init_message *why, enum inner_stage stage, size_t index)
{
	*why = (struct init_message){
		.kind = INIT_FAILED, .stage = stage, .index = (uint32_t)index, .os_error = errno
	};
	return false;
}

static bool allow_fd(const struct inner_job *job, int fd, uint64_t rights, struct init_message *why)
{
	struct landlock_path_beneath_attr rule = {
		.parent_fd = fd, .allowed_access = rights & handled_rights(&job->landlock)
	};
	const long kind = LANDLOCK_RULE_PATH_BENEATH;
	long r = syscall(SYS_landlock_add_rule, job->ruleset, kind, &rule, 0);

	/* EINVAL: it is a file, for which the kernel takes no rights of directories. */
	if (r < 0 && errno == EINVAL) {
		rule.allowed_access &= LL_FILE;
		r = syscall(SYS_landlock_add_rule, job->ruleset, kind, &rule, 0);
	}
	return r == 0 || note(why, INNER_LANDLOCK, 2);
}

static bool is_same(const struct landlock_rule *rule, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == rule->device && st.st_ino == rule->inode;
}

static bool allow_path(const struct inner_job *job, const struct landlock_rule *rule,
		       struct init_message *why)
{
	static const uint64_t rights[] = {
		[LANDLOCK_MAY_LIST] = LL_READ_DIR,
		[LANDLOCK_MAY_LOOK] = LL_LOOK,
		[LANDLOCK_MAY_READ] = LL_READ,
		[LANDLOCK_MAY_USE] = LL_READ | LL_FILE,
		[LANDLOCK_MAY_ARRANGE] = LL_ARRANGE,
		/* SECURITY: a socket in a writable directory may be the host's; don't open it. */
		[LANDLOCK_MAY_WRITE] = ~(uint64_t)LL_RESOLVE_UNIX,
	};
	/* The raw call: some C libraries make two system calls of open(). */
	int fd = (int)syscall(SYS_openat, AT_FDCWD, rule->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_done;

	/* It is missing, or the policy hides it: then no rule is needed. */
	if (fd < 0 && !rule->is_checked && (errno == ENOENT || errno == EACCES))
		return true;
	if (fd < 0 && !rule->is_checked)
		return note(why, INNER_LANDLOCK, 3);
	if (rule->is_checked && (fd < 0 || !is_same(rule, fd)))
		is_done = note(why, INNER_CHANGED, (size_t)(rule - job->landlock.rules.items));
	else
		is_done = allow_fd(job, fd, rights[rule->kind], why);
	if (fd >= 0)
		close(fd);
	return is_done;
}

/*
 * Lets the command open an inherited stream again as it was given (/dev/stdout). SECURITY: a stream
 * that is only for writing may be a log that the policy denies, so reading it is not granted.
 */
static bool allow_stdio(const struct inner_job *job, struct init_message *why)
{
	for (int i = 0; i < 3; i++) {
		int flags = fcntl(job->stdio[i], F_GETFL);
		struct stat st;

		if (flags < 0 || fstat(job->stdio[i], &st) < 0)
			return note(why, INNER_LANDLOCK, 4);
		if ((flags & O_ACCMODE) == O_RDONLY ||
		    (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)))
			continue;
		/*
		 * SECURITY: opened again without O_APPEND, the file could be overwritten. The
		 * supervisor gives whoever opens it this stream instead.
		 */
		if (job->streams.items[i].kind == STREAM_APPENDED)
			continue;
		/* EBADFD: a memfd or the like, which Landlock does not govern. */
		if (!allow_fd(job, job->stdio[i],
			      (flags & O_ACCMODE) == O_WRONLY ? LL_OUTPUT : LL_FILE, why) &&
		    why->os_error != EBADFD)
			return false;
	}
	return true;
}

static bool make_ruleset(struct inner_job *job, struct init_message *why)
{
	const struct landlock_rules *landlock = &job->landlock;
	struct ruleset_attr attr = { .handled_fs = handled_rights(landlock),
				     .handled_net = handled_ports(landlock) };
	size_t size = sizeof(attr);

	if (landlock->abi >= 6)
		attr.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
	else
		size = landlock->abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	job->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return job->ruleset >= 0 || note(why, INNER_LANDLOCK, 5);
}

bool inner_make_ruleset(struct inner_job *job, struct init_message *why)
{
	const struct landlock_rules *landlock = &job->landlock;

	job->ruleset = -1;
	if (landlock->abi == 0 || (landlock->scopes_only && landlock->abi < 6))
		return true;
	if (!make_ruleset(job, why))
		return false;
	if (landlock->scopes_only)
		return true;
	for (size_t i = 0; i < landlock->rules.count; i++)
		if (!allow_path(job, &landlock->rules.items[i], why))
			return false;
	return allow_stdio(job, why);
}

void inner_prepare_landlock(struct inner_job *job)
{
	struct init_message why;

	if (inner_make_ruleset(job, &why))
		return;
	errno = why.os_error;
	inner_fail(job, why.stage, why.index);
}

void inner_enter_landlock(struct inner_job *job)
{
	if (job->ruleset < 0)
		return;
	if (syscall(SYS_landlock_restrict_self, job->ruleset, 0) < 0)
		inner_fail(job, INNER_LANDLOCK, 6);
	close(job->ruleset);
	job->ruleset = -1;
}

/* A Landlock layer forbids moving files between directories unless a rule allows it. */
static bool allow_moves(int ruleset, int root)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = root, .allowed_access = LL_REFER };
	const long kind = LANDLOCK_RULE_PATH_BENEATH;

	return syscall(SYS_landlock_add_rule, ruleset, kind, &rule, 0) == 0;
}

bool inner_scope_signals(const struct inner_job *job)
{
	struct ruleset_attr attr = { .handled_fs = LL_REFER, .scoped = LL_SCOPE_SIGNAL };
	int ruleset;

	if (job->landlock.abi < 6)
		return false;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0 || !allow_moves(ruleset, job->root) ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		inner_fail(job, INNER_LANDLOCK, 8);
	close(ruleset);
	/* SECURITY: if the scope did not work, kill(-1) would kill all of the user's processes. */
	return kill(getppid(), 0) < 0 && errno == EPERM;
}

/* ---- seccomp ------------------------------------------------------------------ */

/* Since Linux 5.19. Without it a signal interrupts a call that the supervisor is answering. */
#define WAIT_KILLABLE_RECV (1L << 5)

int inner_lock_filter(const struct inner_job *job)
{
	struct sock_fprog program = { .len = (unsigned short)job->filter.count,
				      .filter = (struct sock_filter *)(void *)job->filter.insns };
	long flags = 0;
	long r;

	if (job->has_listener)
		flags = (long)SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV;
	r = raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, (long)&program, 0);
	if (r == -EINVAL && flags)
		r = raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags & ~WAIT_KILLABLE_RECV,
			     (long)&program, 0);
	/* EBUSY: an outer supervisor has the listener. Notified calls then return ENOSYS. */
	if (r == -EBUSY && flags && !job->needs_listener)
		flags = 0, r = raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0);
	if (r < 0) {
		errno = (int)-r;
		inner_fail(job, INNER_FILTER, 0);
	}
	return flags ? (int)r : -1;
}
