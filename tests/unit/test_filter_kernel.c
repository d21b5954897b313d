/* SPDX-License-Identifier: MIT */
/*
 * The filter in the kernel: a child takes it and tries what it refuses. The same
 * attempt without it (the control) has to end otherwise, else it would show
 * nothing; where a kernel refuses by itself, that is said.
 */
#include "filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "scratch.h"
#include "test.h"

#define GARBAGE 0xdeadbeef00000000u

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct sock_filter) &&
		       offsetof(struct bpf_insn, jump_true) == offsetof(struct sock_filter, jt) &&
		       offsetof(struct bpf_insn, jump_false) == offsetof(struct sock_filter, jf) &&
		       offsetof(struct bpf_insn, k) == offsetof(struct sock_filter, k),
	       "struct bpf_insn is struct sock_filter");

/* Of an attempt that did not end: the process was killed with SIGSYS, or by something else. */
enum { KILLED = 1000, LOST = 1001 };

/* 0, or what errno was. */
typedef int attempt_function(void);

static int result(long value)
{
	return value < 0 ? errno : 0;
}

/* The descriptor for NEW_LISTENER, else 0; -1 on failure. */
static int install(const struct filter_options *given, unsigned flags)
{
	struct filter_options options = *given;
	struct arena a = ARENA_INIT(1u << 20);
	struct err e = ERR_INIT;
	struct filter f;
	struct sock_fprog program;
	long installed;

	options.arch = filter_this_arch;
	if (filter_build(&a, &options, &f, &e) < 0)
		return -1;
	program = (struct sock_fprog){ .len = (unsigned short)f.count, .filter = (void *)f.insns };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	installed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	arena_done(&a);
	return (int)installed;
}

/* How the attempt ends in a child, under a filter with these options or, NULL, without. */
static int try(attempt_function *attempt, const struct filter_options *options)
{
	int ends[2], answer = LOST, status = 0;
	pid_t child;

	(void)fflush(stdout);
	if (pipe(ends) < 0 || (child = fork()) < 0)
		return LOST;
	if (child == 0) {
		int told = options && install(options, 0) < 0 ? LOST : attempt();

		_exit(write(ends[1], &told, sizeof(told)) == sizeof(told) ? 0 : 1);
	}
	(void)close(ends[1]);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		answer = LOST;
	(void)close(ends[0]);
	if (waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGSYS)
		answer = KILLED;
	return answer;
}

/* ---- What goes on as before ----------------------------------------------------- */

static void *add_one(void *number)
{
	++*(int *)number;
	return NULL;
}

static int make_thread(void)
{
	pthread_t thread;
	int number = 0, failed = pthread_create(&thread, NULL, add_one, &number);

	if (failed || pthread_join(thread, NULL) != 0)
		return failed ? failed : LOST;
	return number == 1 ? 0 : LOST;
}

static int spawn_program(void)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	char *const environment[] = { NULL };
	int status = 0, failed;
	pid_t child;

	failed = posix_spawnp(&child, "true", NULL, NULL, argv, environment);
	if (failed)
		return failed;
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : LOST;
}

static int use_files(void)
{
	char text[8] = "";
	int fd = open("made", O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "text", 4) != 4 || pread(fd, text, 8, 0) != 4)
		return LOST;
	(void)close(fd);
	if (chmod("made", 0755) < 0 || rename("made", "moved") < 0 || unlink("moved") < 0)
		return errno;
	fd = open(".", O_RDONLY | O_DIRECTORY);
	return fd < 0 ? errno : result(close(fd));
}

static int use_sockets(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) < 0 ||
	    socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socket(AF_INET, SOCK_STREAM, 0) < 0 ||
	    socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP) < 0 ||
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) < 0)
		return errno;
	return 0;
}

static int read_and_set_harmless_personality(void)
{
	int now = personality(0xffffffff);

	return now < 0 ? errno : result(personality((unsigned)now | ADDR_NO_RANDOMIZE));
}

static int trace_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return LOST;
	if (ptrace(PTRACE_CONT, child, NULL, NULL) < 0 || waitpid(child, &status, 0) != child)
		return LOST;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : LOST;
}

static int get_pid(void)
{
	return result(syscall(SYS_getpid));
}

static int ask_own_limit(void)
{
	uint64_t limit[2];

	return result(syscall(SYS_prlimit64, getpid(), 0 /* RLIMIT_CPU */, NULL, limit));
}

TEST(ordinary_programs_notice_nothing)
{
	static attempt_function *const attempts[] = {
		get_pid,     make_thread,   spawn_program,
		use_files,   use_sockets,   read_and_set_harmless_personality,
		trace_child, ask_own_limit,
	};

	for (unsigned n = 0; n < 8; n++) {
		const struct filter_options options = {
			.reaches_host = n & 1,
			.allows_userns = n & 2,
			.keeps_mounts = n & 4,
		};

		for (size_t i = 0; i < COUNT_OF(attempts); i++) {
			CHECK_INT(try(attempts[i], &options), 0);
			CHECK_INT(try(attempts[i], NULL), 0);
		}
	}
}

/* ---- What is refused ---------------------------------------------------------------- */

static int read_own_memory(void)
{
	char from = 'x', to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	return result(syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0));
}

/* Changes nothing: it is the host's own outside. */
static int ask_limit_of_pid_1(void)
{
	uint64_t limit[2];

	return result(syscall(SYS_prlimit64, GARBAGE | 1, 0 /* RLIMIT_CPU */, NULL, limit));
}

static int ask_keyring(void)
{
	return result(syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -4 /* of the user */, 0));
}

static int unshare_user(void)
{
	return result(unshare(CLONE_NEWUSER));
}

static int clone_into_user_namespace(void)
{
	int status;
	long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		_exit(0);
	return child < 0 ? errno : result(waitpid((pid_t)child, &status, 0));
}

static int clone_with_struct(void)
{
	return result(syscall(SYS_clone3, NULL, 0));
}

static int enter_namespace(void)
{
	return result(syscall(SYS_setns, -1, 0));
}

static int stop_the_kernel_at_pages(void)
{
	return result(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* user mode only */));
}

static int make_ring(void)
{
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int pick_mount(void)
{
	return result(syscall(SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC));
}

static int mount_nothing(void)
{
	return result(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
}

static int unmount_nothing(void)
{
	return result(syscall(SYS_umount2, "", 0));
}

static int measure(void)
{
	return result(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int open_by_handle(void)
{
	return result(syscall(SYS_open_by_handle_at, -1, NULL, 0));
}

static int take_descriptor(void)
{
	return result(syscall(SYS_pidfd_getfd, -1, 0, 0));
}

static int make_readable_executable(void)
{
	return result(syscall(SYS_personality, 0x400000));
}

static int read_kernel_log(void)
{
	return result(syscall(SYS_syslog, 10 /* size of the buffer */, NULL, 0));
}

static int type_into_terminal(void)
{
	return result(syscall(SYS_ioctl, -1, TIOCSTI, "x"));
}

static int type_into_terminal_with_garbage(void)
{
	return result(syscall(SYS_ioctl, -1, GARBAGE | TIOCSTI, "x"));
}

static int take_lease(void)
{
	return result(syscall(SYS_fcntl, -1, F_SETLEASE, F_RDLCK));
}

static int paste_into_console(void)
{
	return result(syscall(SYS_ioctl, -1, TIOCLINUX, "x"));
}

static int make_unix_datagram(void)
{
	return result(socket(AF_UNIX, SOCK_DGRAM, 0));
}

static int make_unix_datagram_with_garbage(void)
{
	return result(syscall(SYS_socket, GARBAGE | AF_UNIX, GARBAGE | SOCK_DGRAM, 0));
}

static int make_unix_raw(void)
{
	return result(socket(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int make_datagram_pair(void)
{
	int pair[2];

	return result(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
}

static int make_generic_netlink(void)
{
	return result(socket(AF_NETLINK, SOCK_RAW, 16));
}

static int make_crypto_socket(void)
{
	return result(socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0));
}

static int make_vm_socket(void)
{
	return result(socket(40 /* AF_VSOCK */, SOCK_STREAM, 0));
}

static int call_of_the_future(void)
{
	return result(syscall(600));
}

/* 0 for `control`: it works; any other value is an errno. -1: differs between hosts. */
static const struct refused {
	const char *name;
	attempt_function *attempt;
	int control, filtered;
} refused[] = {
	{ "process_vm_readv", read_own_memory, 0, EPERM },
	{ "prlimit64(1)", ask_limit_of_pid_1, -1, EPERM },
	{ "keyctl", ask_keyring, -1, ENOSYS },
	{ "unshare(user)", unshare_user, -1, EPERM },
	{ "clone(user)", clone_into_user_namespace, -1, EPERM },
	{ "clone3", clone_with_struct, EINVAL, ENOSYS },
	{ "setns", enter_namespace, EBADF, EPERM },
	{ "userfaultfd", stop_the_kernel_at_pages, -1, EPERM },
	{ "io_uring_setup", make_ring, -1, ENOSYS },
	{ "open_tree", pick_mount, 0, EPERM },
	{ "mount", mount_nothing, EFAULT, EPERM },
	{ "umount2", unmount_nothing, -1, EPERM },
	{ "perf_event_open", measure, -1, EPERM },
	{ "open_by_handle_at", open_by_handle, -1, EPERM },
	{ "pidfd_getfd", take_descriptor, EBADF, EPERM },
	{ "personality(read implies execute)", make_readable_executable, 0, EPERM },
	{ "syslog", read_kernel_log, -1, EPERM },
	{ "ioctl(TIOCSTI)", type_into_terminal, EBADF, EPERM },
	{ "ioctl(garbage | TIOCSTI)", type_into_terminal_with_garbage, EBADF, EPERM },
	{ "ioctl(TIOCLINUX)", paste_into_console, EBADF, EPERM },
	{ "fcntl(F_SETLEASE)", take_lease, EBADF, EPERM },
	{ "unix datagram", make_unix_datagram, 0, ESOCKTNOSUPPORT },
	{ "unix datagram with garbage", make_unix_datagram_with_garbage, 0, ESOCKTNOSUPPORT },
	{ "unix raw", make_unix_raw, 0, ESOCKTNOSUPPORT },
	{ "unix datagram pair", make_datagram_pair, 0, ESOCKTNOSUPPORT },
	{ "generic netlink", make_generic_netlink, 0, EPROTONOSUPPORT },
	{ "AF_ALG", make_crypto_socket, -1, EAFNOSUPPORT },
	{ "AF_VSOCK", make_vm_socket, -1, EAFNOSUPPORT },
	{ "number 600", call_of_the_future, ENOSYS, ENOSYS },
};

TEST(what_is_refused_is_refused_by_the_kernel)
{
	const struct filter_options options = { .arch = filter_this_arch };

	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		const struct refused *r = &refused[i];
		int control = try(r->attempt, NULL);

		if (!CHECK_INT(try(r->attempt, &options), r->filtered) ||
		    !CHECK_INT(control, r->control < 0 ? control : r->control))
			printf("#   %s\n", r->name);
		if (control == r->filtered)
			printf("# %s: without the filter this host says the same\n", r->name);
	}
}

TEST(a_profile_may_allow_user_namespaces)
{
	const struct filter_options options = { .allows_userns = true };

	CHECK_INT(try(unshare_user, &options), try(unshare_user, NULL));
	CHECK_INT(try(clone_into_user_namespace, &options), try(clone_into_user_namespace, NULL));
	CHECK_INT(try(mount_nothing, &options), EFAULT);
	CHECK_INT(try(clone_with_struct, &options), ENOSYS);
	CHECK_INT(try(read_own_memory, &options), EPERM);
}

TEST(a_reachable_host_may_be_sent_datagrams)
{
	const struct filter_options options = { .reaches_host = true };

	CHECK_INT(try(make_unix_datagram, &options), 0);
	CHECK_INT(try(make_datagram_pair, &options), 0);
	CHECK_INT(try(make_generic_netlink, &options), EPROTONOSUPPORT);
}

/* ---- Set-id files ----------------------------------------------------------------------- */

static int set_id_by_chmod(void)
{
	scratch_put("plain", "");
	return result(chmod("plain", 04755));
}

static int set_id_by_fchmod(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	return result(fchmod(fd, 04755));
}

static int set_group_id(void)
{
	return result(chmod(".", 02755));
}

static int set_id_by_open(void)
{
	(void)unlink("created");
	return result(open("created", O_CREAT | O_WRONLY, 04755));
}

static int set_id_by_temporary_file(void)
{
	return result(open(".", O_TMPFILE | O_WRONLY, 04755));
}

static int set_id_by_mknod(void)
{
	(void)unlink("node");
	return result(mknod("node", S_IFREG | 06755, 0));
}

static int open_with_struct(void)
{
	const uint64_t how[3] = { O_RDONLY | O_DIRECTORY, 0, 0 };

	return result(syscall(SYS_openat2, AT_FDCWD, ".", how, sizeof(how)));
}

static int open_with_mode_that_does_not_count(void)
{
	return result(syscall(SYS_openat, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 07777));
}

TEST(nobody_can_make_set_id_files)
{
	static const struct {
		attempt_function *attempt;
		int filtered;
	} cases[] = {
		{ set_id_by_chmod, EPERM },
		{ set_id_by_fchmod, EPERM },
		/* To be asked about, and there is nobody here to ask. */
		{ set_group_id, ENOSYS },
		{ set_id_by_open, EPERM },
		{ set_id_by_temporary_file, EPERM },
		{ set_id_by_mknod, EPERM },
		{ open_with_struct, ENOSYS },
		{ open_with_mode_that_does_not_count, 0 },
	};
	const struct filter_options options = { .asks_connect = false };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_INT(try(cases[i].attempt, &options), cases[i].filtered);
		CHECK_INT(try(cases[i].attempt, NULL), 0);
	}
}

/* ---- connect ------------------------------------------------------------------------------ */

static int connect_to_nobody(void)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "nobody" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return result(connect(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int answer_one_connect(int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp answer = { .error = -EXDEV };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0 || call.data.nr != SYS_connect)
		return LOST;
	answer.id = call.id;
	return result(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer));
}

/* In a child that takes the filter with its listener and answers its own child. */
static int connect_and_be_answered(void)
{
	const struct filter_options options = { .asks_connect = true };
	int listener = install(&options, SECCOMP_FILTER_FLAG_NEW_LISTENER), status = 0;
	pid_t child = listener < 0 ? -1 : fork();

	if (child == 0)
		_exit(connect_to_nobody());
	if (child < 0 || answer_one_connect(listener) != 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status))
		return LOST;
	return WEXITSTATUS(status);
}

TEST(connect_is_answered_by_who_listens)
{
	CHECK_INT(try(connect_and_be_answered, NULL), EXDEV);
	CHECK_INT(try(connect_to_nobody, NULL), ENOENT);
	CHECK_INT(try(connect_to_nobody, &(struct filter_options){ .asks_connect = false }),
		  ENOENT);
}

/* ---- Other numbers of the same processor --------------------------------------------------- */

#ifdef __x86_64__

static int call_x32(void)
{
	return result(syscall(0x40000000 + 39));
}

/* getpid() of i386. Kernels that can't do that end the process with another signal. */
static int call_i386(void)
{
	long number = 20;

	__asm__ volatile("int $0x80" : "+a"(number) : : "r8", "r9", "r10", "r11", "memory");
	return number > 0 ? 0 : (int)-number;
}

TEST(x32_and_i386_are_killed)
{
	const struct filter_options options = { .arch = FILTER_X86_64 };
	int i386 = try(call_i386, NULL);

	CHECK_INT(try(call_x32, &options), KILLED);
	CHECK(try(call_x32, NULL) != KILLED);
	if (i386 != 0)
		printf("# this kernel runs no i386 calls\n");
	CHECK_INT(try(call_i386, &options), i386 == LOST ? LOST : KILLED);
}

static int be_traced(void)
{
	const struct filter_options options = { .arch = FILTER_X86_64 };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0 ||
	    install(&options, 0) < 0)
		return LOST;
	return syscall(SYS_getuid) == 4711 ? 0 : LOST;
}

/* At the entry of getuid: number -1, result 4711. Whether it was that call. */
static bool cancel_getuid(pid_t child)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, child, NULL, &regs) < 0 || regs.orig_rax != SYS_getuid)
		return false;
	regs.orig_rax = UINT64_MAX;
	regs.rax = 4711;
	return ptrace(PTRACE_SETREGS, child, NULL, &regs) == 0;
}

/* proot, rr and strace's fault injection work this way. */
TEST(a_tracer_may_cancel_a_call)
{
	bool cancelled = false;
	int status = 0;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(be_traced() == 0 ? 0 : 1);
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	while (WIFSTOPPED(status)) {
		if (!cancelled)
			cancelled = cancel_getuid(child);
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) < 0 ||
		    waitpid(child, &status, 0) != child)
			break;
	}
	CHECK(cancelled);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
}

#endif
