/* SPDX-License-Identifier: MIT */
/* Attempts at the kernel: mounts, namespaces, dangerous calls, foreign system-call tables. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* sys/mount.h and linux/mount.h can't both be had with every libc. */
enum { BIND = 4096, REMOUNT = 32, RDONLY = 1, PRIVATE = 1 << 18, REC = 16384 };

static long mount_call(const char *from, const char *to, const char *type, unsigned long flags)
{
	return syscall(SYS_mount, from, to, type, flags, NULL);
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int result = fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;

	if (fd >= 0)
		(void)close(fd);
	return result;
}

/* This user and group, as they were outside, are root in its new user namespace. */
static int map_as_root(unsigned uid, unsigned gid)
{
	char map[64];
	int result;

	if (write_file("/proc/self/setgroups", "deny") < 0)
		return -EUSERS;
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	result = write_file("/proc/self/uid_map", map);
	if (result < 0)
		return result;
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map);
}

static int try_map_as_root(char **a)
{
	unsigned uid = getuid(), gid = getgid();

	(void)a;
	return unshare(CLONE_NEWUSER) < 0 ? -errno : map_as_root(uid, gid);
}

/*
 * Prefix: the attempt in new user and mount namespaces, with all capabilities in
 * them. For a control: what the attempt comes to when nothing stops a user from
 * getting there, and no mount of it reaches the host. Root without capabilities has
 * no number there, and the capabilities all the same.
 */
static int try_as_ns_root(char **a)
{
	unsigned uid = getuid(), gid = getgid();
	int result;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	result = map_as_root(uid, gid);
	if (result < 0 && (uid != 0 || result != -EPERM))
		return -EUSERS;
	if (mount_call(NULL, "/", NULL, PRIVATE | REC) < 0)
		return -errno;
	return run_attempt(a);
}

/* The rest in a user namespace of its own in which nobody has a number: root may have no other. */
static int try_unowned(char **a)
{
	return unshare(CLONE_NEWUSER) < 0 ? -errno : run_attempt(a);
}

/* By clone() and clone3() instead of unshare(). The kernel looks at the low 32 bits only. */
static int try_clone_userns(char **a)
{
	uint64_t high = strcmp(a[0], "high") == 0 ? 0xdeadbeef00000000U : 0;
	long child;
	int status = 0;

	child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD | high, 0, 0, 0, 0);
	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(0);
	return outcome(waitpid((pid_t)child, &status, 0));
}

static int try_clone3_userns(char **a)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long child;
	int status = 0;

	(void)a;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0)
		return -errno;
	if (child == 0)
		_exit(0);
	return outcome(waitpid((pid_t)child, &status, 0));
}

static int try_unshare(char **a)
{
	static const struct {
		const char *name;
		int flag;
	} spaces[] = { { "user", CLONE_NEWUSER },     { "mnt", CLONE_NEWNS },
		       { "pid", CLONE_NEWPID },	      { "net", CLONE_NEWNET },
		       { "ipc", CLONE_NEWIPC },	      { "uts", CLONE_NEWUTS },
		       { "cgroup", CLONE_NEWCGROUP }, { "time", 0x80 } };

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (strcmp(spaces[i].name, a[0]) == 0)
			return outcome(unshare(spaces[i].flag));
	return -EDOM;
}

static int try_setns(char **a)
{
	return outcome(setns(must_open(a[0], O_RDONLY), 0));
}

static int try_setns_pidfd(char **a)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)number(a[0]), 0);

	return fd < 0 ? -errno : outcome(setns((int)fd, CLONE_NEWNS));
}

static int try_mount_tmpfs(char **a)
{
	return outcome(mount_call("none", a[0], "tmpfs", 0));
}

static int try_mount_bind(char **a)
{
	return outcome(mount_call(a[0], a[1], NULL, BIND));
}

static int try_mount_proc(char **a)
{
	return outcome(mount_call("proc", a[0], "proc", 0));
}

static int try_remount(char **a)
{
	return outcome(mount_call(NULL, a[0], NULL, REMOUNT | BIND));
}

static int try_umount(char **a)
{
	return outcome(syscall(SYS_umount2, a[0], 2 /* MNT_DETACH */));
}

static int try_open_tree(char **a)
{
	return outcome(syscall(SYS_open_tree, AT_FDCWD, a[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static int try_move_mount(char **a)
{
	int fd = (int)syscall(SYS_open_tree, AT_FDCWD, a[0], OPEN_TREE_CLONE);

	if (fd < 0)
		return -errno;
	return outcome(syscall(SYS_move_mount, fd, "", AT_FDCWD, a[1], MOVE_MOUNT_F_EMPTY_PATH));
}

/* Binds a[0] at a[1] without what is mounted below it, and reads a[1]/a[2]: what is under a mask. */
static int try_bind_peek(char **a)
{
	char path[4096];

	if (mount_call(a[0], a[1], NULL, BIND) < 0)
		return -errno;
	(void)snprintf(path, sizeof(path), "%s/%s", a[1], a[2]);
	return outcome(open(path, O_RDONLY | O_CLOEXEC));
}

static int try_fsopen(char **a)
{
	return outcome(syscall(SYS_fsopen, a[0], 0));
}

static int try_mount_setattr(char **a)
{
	struct {
		uint64_t set, clear, propagation, userns;
	} attr = { .clear = 1 /* MOUNT_ATTR_RDONLY */ };

	return outcome(syscall(SYS_mount_setattr, AT_FDCWD, a[0], 0, &attr, sizeof(attr)));
}

static int try_pivot_root(char **a)
{
	if (chdir(a[0]) < 0)
		return -errno;
	return outcome(syscall(SYS_pivot_root, ".", "."));
}

/*
 * Renames a[1] in a[0] to a[2] from a namespace in which, if that can be had, nothing of the
 * old root is mounted any more. Nobody has to be mapped there: the files are who they were.
 */
static int try_forget_root(char **a)
{
	int dir = must_open(a[0], O_RDONLY | O_DIRECTORY);

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	if (mount_call(NULL, "/", NULL, PRIVATE | REC) < 0 ||
	    mount_call("/usr", "/usr", NULL, BIND | REC) < 0 || chdir("/usr") < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0)
		return -errno;
	if (syscall(SYS_umount2, ".", 2 /* MNT_DETACH */) < 0)
		(void)syscall(SYS_umount2, ".", 0);
	return outcome(renameat(dir, a[1], dir, a[2]));
}

static int try_chroot(char **a)
{
	return outcome(chroot(a[0]));
}

static int try_handle(char **a)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + 128];
	} h = { .handle = { .handle_bytes = 128 } };
	int mount_id, fd;

	if (name_to_handle_at(AT_FDCWD, a[0], &h.handle, &mount_id, 0) < 0)
		return -errno;
	fd = open_by_handle_at(must_open(a[1], O_RDONLY), &h.handle, O_RDONLY | O_CLOEXEC);
	return outcome(fd);
}

/* ---- Calls that say by their error whether the kernel was reached ------------ */

static int try_bpf(char **a)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY };

	(void)a;
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int try_perf(char **a)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.exclude_hv = 1 };

	(void)a;
	return outcome(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int try_userfaultfd(char **a)
{
	(void)a;
	return outcome(syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */));
}

/* Nothing is loaded: no segment is given, and the flags are none that exist. */
static int try_kexec(char **a)
{
	(void)a;
	return outcome(syscall(SYS_kexec_load, 0UL, 0UL, NULL, ~0UL));
}

static int try_module_load(char **a)
{
	(void)a;
	return outcome(syscall(SYS_finit_module, -1, "", 0));
}

static int try_module_unload(char **a)
{
	(void)a;
	return outcome(syscall(SYS_delete_module, "no_such_module_here", O_NONBLOCK));
}

static int try_swapoff(char **a)
{
	(void)a;
	return outcome(syscall(SYS_swapoff, "/no/such/swap"));
}

static int try_acct(char **a)
{
	(void)a;
	return outcome(syscall(SYS_acct, "/no/such/file"));
}

static int try_quotactl(char **a)
{
	(void)a;
	return outcome(
		syscall(SYS_quotactl, 0x800001 /* Q_SYNC */ << 8, "/no/such/device", 0, NULL));
}

static int try_syslog(char **a)
{
	char text[64];

	(void)a;
	return outcome(syscall(SYS_syslog, 3 /* READ_ALL */, text, sizeof(text)));
}

static int try_fanotify(char **a)
{
	(void)a;
	return outcome(syscall(SYS_fanotify_init, 0 /* FAN_CLASS_NOTIF */, O_RDONLY));
}

/* Wrong magic numbers: the kernel refuses it, after it looked at the capability. */
static int try_reboot(char **a)
{
	(void)a;
	return outcome(syscall(SYS_reboot, 1, 2, 3, NULL));
}

static int try_sethostname(char **a)
{
	struct utsname names;

	(void)a;
	if (uname(&names) < 0)
		return -errno;
	return outcome(sethostname(names.nodename, strlen(names.nodename)));
}

static int try_settime(char **a)
{
	(void)a;
	/* Not a time: EINVAL where it is looked at. */
	return outcome(syscall(SYS_clock_settime, 0, &(struct timespec){ .tv_nsec = -1 }));
}

#ifdef SYS_iopl
static int try_iopl(char **a)
{
	(void)a;
	return outcome(syscall(SYS_iopl, 3));
}
#endif

static int try_process_vm(char **a)
{
	char from[4] = "abc", to[4] = "";
	struct iovec local = { to, 4 }, remote = { from, 4 };

	(void)a;
	return outcome(syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0));
}

static int try_seccomp_listener(char **a)
{
	struct {
		uint16_t code;
		uint8_t yes, no;
		uint32_t k;
	} allow = { 6, 0, 0, 0x7fff0000 };
	struct {
		uint16_t count;
		void *insns;
	} program = { 1, &allow };

	(void)a;
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return outcome(syscall(SYS_seccomp, 1, 8 /* NEW_LISTENER */, &program));
}

static int try_call_unknown(char **a)
{
	return outcome(syscall(number(a[0]), 0, 0, 0, 0, 0, 0));
}

#ifdef __x86_64__
static int try_x32(char **a)
{
	(void)a;
	return outcome(syscall(0x40000000L + SYS_getpid));
}

static int try_int80(char **a)
{
	long result;

	(void)a;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
	return result > 0 ? 0 : -ENOSYS;
}
#endif

/* ---- What the command has been left with ------------------------------------ */

static int try_status(char **a)
{
	static char text[8192];
	char *line;
	ssize_t length = read(must_open("/proc/self/status", O_RDONLY), text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	line = strstr(text, a[0]);
	if (line == NULL)
		return -ENODATA;
	line += strlen(a[0]) + 1;
	line += strspn(line, " \t");
	say("%.*s", (int)strcspn(line, "\n"), line);
	return 0;
}

static int try_limit(char **a)
{
	(void)a;
	say("%ld", sysconf(_SC_OPEN_MAX));
	return 0;
}

/* ---- The terminal ------------------------------------------------------------ */

static int try_ioctl_tty(char **a)
{
	/* The kernel takes the low 32 bits only, so a filter that compares all is fooled. */
	unsigned long high = strcmp(a[1], "high") == 0 ? 0xdeadbeef00000000UL : 0;
	unsigned long request = (unsigned long)number(a[0]) | high;
	char bytes[64] = "x"; /* what is typed, or room for what is told */

	return outcome(syscall(SYS_ioctl, 0, request, bytes));
}

/* Started again at once: else what is told here could not be printed. */
static int try_stop_output(char **a)
{
	int result = outcome(tcflow(0, TCOOFF));

	(void)a;
	return tcflow(0, TCOON) < 0 ? -errno : result;
}

static int try_open_tty(char **a)
{
	char name[256];
	ssize_t length;

	(void)a;
	length = readlink("/proc/self/fd/0", name, sizeof(name) - 1);
	(void)must_open("/dev/tty", O_RDWR);
	say("%.*s", (int)(length > 0 ? length : 0), name);
	return 0;
}

const struct attempt system_attempts[] = {
	{ "as-ns-root", -1, try_as_ns_root },
	{ "unowned", -1, try_unowned },
	{ "clone-userns", 1, try_clone_userns },
	{ "clone3-userns", 0, try_clone3_userns },
	{ "map-as-root", 0, try_map_as_root },
	{ "unshare", 1, try_unshare },
	{ "setns", 1, try_setns },
	{ "setns-pidfd", 1, try_setns_pidfd },
	{ "mount-tmpfs", 1, try_mount_tmpfs },
	{ "mount-bind", 2, try_mount_bind },
	{ "mount-proc", 1, try_mount_proc },
	{ "remount", 1, try_remount },
	{ "umount", 1, try_umount },
	{ "open-tree", 1, try_open_tree },
	{ "move-mount", 2, try_move_mount },
	{ "bind-peek", 3, try_bind_peek },
	{ "fsopen", 1, try_fsopen },
	{ "mount-setattr", 1, try_mount_setattr },
	{ "pivot-root", 1, try_pivot_root },
	{ "forget-root", 3, try_forget_root },
	{ "chroot", 1, try_chroot },
	{ "handle", 2, try_handle },
	{ "bpf", 0, try_bpf },
	{ "perf", 0, try_perf },
	{ "userfaultfd", 0, try_userfaultfd },
	{ "kexec", 0, try_kexec },
	{ "module-load", 0, try_module_load },
	{ "module-unload", 0, try_module_unload },
	{ "swapoff", 0, try_swapoff },
	{ "acct", 0, try_acct },
	{ "quotactl", 0, try_quotactl },
	{ "syslog", 0, try_syslog },
	{ "fanotify", 0, try_fanotify },
	{ "reboot", 0, try_reboot },
	{ "sethostname", 0, try_sethostname },
	{ "settime", 0, try_settime },
#ifdef SYS_iopl
	{ "iopl", 0, try_iopl },
#endif
	{ "process-vm", 0, try_process_vm },
	{ "seccomp-listener", 0, try_seccomp_listener },
	{ "call", 1, try_call_unknown },
#ifdef __x86_64__
	{ "x32", 0, try_x32 },
	{ "int80", 0, try_int80 },
#endif
	{ "status", 1, try_status },
	{ "limit", 0, try_limit },
	{ "ioctl-tty", 2, try_ioctl_tty },
	{ "stop-output", 0, try_stop_output },
	{ "open-tty", 0, try_open_tty },
	{ NULL, 0, NULL },
};
