/* SPDX-License-Identifier: MIT */
/*
 * What the process gives up before it reads the first untrusted byte.
 *
 * lock_begin(): every descriptor but the channel, its terminal, its privileges, and the arguments
 * and environment of the program that it was forked from. lock_finish(), once all its own
 * descriptors are open: the file system except for the resolver's files, and every system call that
 * it does not need. A call that is not in the list kills it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter/bpf.h"
#include "os/arguments.h"
#include "os/fd.h"
#include "os/landlock.h"
#include "proxy/server.h"

/* ---- First --------------------------------------------------------------------------------------- */

static bool keep_only_channel(int *channel)
{
	int was = *channel;

	*channel = LOCK_CHANNEL;
	if (was != LOCK_CHANNEL && dup2(was, LOCK_CHANNEL) < 0)
		return false;
	return syscall(SYS_close_range, LOCK_CHANNEL + 1, UINT32_MAX, 0) == 0;
}

/*
 * Erases the arguments and environment of the program, where the kernel shows them. They may hold
 * tokens, which a process that reads untrusted bytes must not have.
 */
static bool wipe_words(void)
{
	struct os_arguments words;
	int r = os_find_arguments(&words);

	if (r == 0)
		memset(words.from, 0, words.bytes);
	return r != -EINVAL; /* otherwise there is no /proc here */
}

static bool raise_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return false;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/*
 * Low ports of the sandbox's network still work: they are a right of the owner of its user
 * namespace.
 */
static bool drop_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { .effective = 0 }, { .effective = 0 } };

	return syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

int lock_begin(int *channel, const char **at)
{
	(void)setsid();
	(void)prctl(PR_SET_NAME, "cordon-proxy");
	*at = "close what is not its own";
	if (!keep_only_channel(channel))
		return -errno;
	*at = "forget the environment";
	if (!wipe_words())
		return -EIO;
	*at = "open many descriptors";
	if (!raise_descriptors())
		return -errno;
	*at = "drop its rights";
	if (chdir("/") < 0 || !drop_rights())
		return -errno;
	return 0;
}

/* ---- Files ------------------------------------------------------------------------------------------ */

/* As the newest struct landlock_ruleset_attr; the system's header may be older. */
struct ruleset {
	uint64_t files, ports, scopes;
};

enum {
	SCOPE_ABSTRACT = 1,
	SCOPE_SIGNAL = 2,
	FILES_READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
};

/* All file access rights of each Landlock ABI. */
static uint64_t files_known(long abi)
{
	static const unsigned bits[] = { 0, 13, 14, 15, 15, 16 };

	return (UINT64_C(1) << bits[MIN_OF(abi, (long)COUNT_OF(bits) - 1)]) - 1;
}

static bool allow_below(int ruleset, const char *path, uint64_t rights)
{
	scoped_fd fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

	/* A file that does not exist need not be readable. */
	return fd < 0 ||
	       syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

/* Besides /etc, the directories that the resolver's files often link to. */
static bool allow_names(int ruleset)
{
	static const char *const directories[] = { "/etc", "/run/systemd/resolve",
						   "/run/resolvconf", "/run/NetworkManager" };
	static const char *const files[] = { "/etc/resolv.conf", "/etc/hosts" };

	/*
	 * SECURITY: if the proxy runs as root, do not allow all of /etc: a proxy that was taken
	 * over could read the secrets there. So a proxy of root does not notice when one of the
	 * files is replaced, and keeps what it read before.
	 */
	for (size_t i = geteuid() == 0 ? 1 : 0; i < COUNT_OF(directories); i++)
		if (!allow_below(ruleset, directories[i], FILES_READ))
			return false;
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (!allow_below(ruleset, files[i], LANDLOCK_ACCESS_FS_READ_FILE))
			return false;
	return true;
}

static bool wall_off_files(void)
{
	int abi = os_landlock_abi();
	struct ruleset rules = { .scopes = SCOPE_ABSTRACT | SCOPE_SIGNAL };
	scoped_fd ruleset = -1;

	/* Without Landlock the filter of system calls still forbids all writing. */
	if (abi <= 0)
		return true;
	rules.files = files_known(abi);
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules,
			       abi >= 6	  ? sizeof(rules)
			       : abi >= 4 ? 2 * sizeof(uint64_t)
					  : sizeof(uint64_t),
			       0);
	if (ruleset < 0)
		return false;
	return allow_names(ruleset) && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

/* ---- System calls -------------------------------------------------------------------------------------- */

enum { MAX_INSNS = 256 };

/*
 * With any arguments. None of these reaches another process or its memory. Of files they show only
 * when one changed, which the proxy needs to reread the resolver's files.
 */
static const uint16_t calls[] = {
	SYS_read,	    SYS_write,
	SYS_readv,	    SYS_writev,
	SYS_recvfrom,	    SYS_sendto,
	SYS_recvmsg,	    SYS_sendmsg,
	SYS_recvmmsg,	    SYS_sendmmsg,
	SYS_close,	    SYS_epoll_ctl,
	SYS_epoll_pwait,    SYS_accept4,
	SYS_connect,	    SYS_bind,
	SYS_listen,	    SYS_getsockname,
	SYS_getpeername,    SYS_getsockopt,
	SYS_setsockopt,	    SYS_shutdown,
	SYS_splice,	    SYS_pipe2,
	SYS_clock_gettime,  SYS_timerfd_settime,
	SYS_ppoll,	    SYS_fstat,
	SYS_lseek,	    SYS_pread64,
	SYS_getrandom,	    SYS_madvise,
	SYS_rt_sigreturn,   SYS_restart_syscall,
	SYS_exit,	    SYS_exit_group,
	SYS_rt_sigprocmask, SYS_newfstatat,
	SYS_statx,
/* System calls that newer architectures do not have. */
#ifdef SYS_epoll_wait
	SYS_epoll_wait,	    SYS_poll,
	SYS_stat,
#endif
};

static const uint32_t fcntl_commands[] = { F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_SETPIPE_SZ };
static const uint32_t families[] = { AF_INET, AF_INET6 };

static uint32_t argument(unsigned i)
{
	return (uint32_t)(offsetof(struct seccomp_data, args) + i * sizeof(uint64_t));
}

/* Returns `yes` if the loaded value is one of these. */
static bpf_label one_of(struct bpf *b, const uint32_t *values, size_t count, bpf_label yes,
			bpf_label no)
{
	for (size_t i = 0; i < count; i++)
		no = bpf_test(b, BPF_EQUAL, values[i], yes, no);
	return no;
}

static bpf_label check_arguments(struct bpf *b, bpf_label allow, bpf_label kill, bpf_label next)
{
	const uint32_t writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
	bpf_label refuse = bpf_return(b, SECCOMP_RET_ERRNO | ENODEV);
	bpf_label opens = bpf_load(b, argument(2), bpf_test(b, BPF_ANY_BIT, writing, kill, allow));
#ifdef SYS_open
	bpf_label old_opens =
		bpf_load(b, argument(1), bpf_test(b, BPF_ANY_BIT, writing, kill, allow));
#endif
	bpf_label controls = bpf_load(
		b, argument(1), one_of(b, fcntl_commands, COUNT_OF(fcntl_commands), allow, kill));
	bpf_label sockets =
		bpf_load(b, argument(0), one_of(b, families, COUNT_OF(families), allow, kill));

	next = bpf_test(b, BPF_EQUAL, SYS_openat, opens, next);
#ifdef SYS_open
	next = bpf_test(b, BPF_EQUAL, SYS_open, old_opens, next);
#endif
	/* A query for an interface's number fails, as if there were no interfaces. */
	next = bpf_test(b, BPF_EQUAL, SYS_ioctl, refuse, next);
	next = bpf_test(b, BPF_EQUAL, SYS_fcntl, controls, next);
	return bpf_test(b, BPF_EQUAL, SYS_socket, sockets, next);
}

static void build_filter(struct bpf *b)
{
	static const uint32_t arch[] = {
		[FILTER_X86_64] = AUDIT_ARCH_X86_64, [FILTER_AARCH64] = AUDIT_ARCH_AARCH64
	};
	bpf_label allow = bpf_return(b, SECCOMP_RET_ALLOW);
	bpf_label kill = bpf_return(b, SECCOMP_RET_KILL_PROCESS);
	bpf_label next = check_arguments(b, allow, kill, kill);

	for (size_t i = COUNT_OF(calls); i-- > 0;)
		next = bpf_test(b, BPF_EQUAL, calls[i], allow, next);
	next = bpf_load(b, offsetof(struct seccomp_data, nr), next);
	next = bpf_test(b, BPF_EQUAL, arch[filter_this_arch], next, kill);
	(void)bpf_load(b, offsetof(struct seccomp_data, arch), next);
}

static bool filter_calls(void)
{
	struct bpf_insn room[MAX_INSNS];
	struct bpf b = { .room = room, .size = MAX_INSNS };
	struct sock_fprog program;

	build_filter(&b);
	if (b.is_full) {
		errno = E2BIG;
		return false;
	}
	program = (struct sock_fprog){ .len = (unsigned short)b.count,
				       .filter = (struct sock_filter *)(void *)(room + (b.size -
											b.count)) };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

int lock_finish(const char **at)
{
	*at = "give up the file system";
	if (!wall_off_files())
		return -errno;
	*at = "filter its system calls";
	return filter_calls() ? 0 : -errno;
}
