/* SPDX-License-Identifier: MIT */
/* Reads from the kernel what backends need to know about this host. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backend/host.h"
#include "doctor/doctor.h"
#include "os/cgroup.h"
#include "os/fd.h"
#include "os/landlock.h"
#include "os/mountinfo.h"
#include "os/os.h"

#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000U
#endif

enum {
	MOUNTS_MAX_BYTES = 16 << 20,
	FILTER_NEW_LISTENER = 8,
	FILTER_WAIT_KILLABLE = 32,
};

static int64_t read_number(const char *path)
{
	char text[64];
	char *end;
	int64_t number;

	if (os_read_small(path, text, sizeof(text)) <= 0)
		return FACT_UNKNOWN;
	number = strtoll(text, &end, 10);
	return end == text || number < 0 ? FACT_UNKNOWN : number;
}

static int read_line(struct arena *a, const char *path, struct str *out, struct err *e)
{
	char text[512];
	ssize_t n = os_read_small(path, text, sizeof(text));
	struct str line = { text, n > 0 ? (size_t)n : 0 };

	return arena_copy(a, str_first(line, str_find(line, '\n')), out, e);
}

/* ---- mountinfo -------------------------------------------------------------------------- */

bool doctor_proc_is_covered(struct str mountinfo)
{
	struct str line, point, type;

	while (str_next_line(&mountinfo, &line)) {
		mountinfo_split(line, &point, &type);
		/* This automount point is empty until it is used, and hides nothing. */
		if (str_has_prefix(point, STR("/proc/")) &&
		    !str_is(point, "/proc/sys/fs/binfmt_misc"))
			return true;
	}
	return false;
}

bool doctor_has_root_mount(struct str mountinfo)
{
	struct str line, point, type;

	while (str_next_line(&mountinfo, &line)) {
		mountinfo_split(line, &point, &type);
		if (str_is(point, "/"))
			return true;
	}
	return false;
}

static bool is_same_file(const char *one, const char *other, bool *is_known)
{
	struct stat a, b;

	*is_known = stat(one, &a) == 0 && stat(other, &b) == 0;
	return *is_known && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Whether this process is in PID 1's mount namespace with another root. Only root can tell. */
static bool has_other_root_than_init(void)
{
	bool is_known;

	if (!is_same_file("/proc/self/ns/mnt", "/proc/1/ns/mnt", &is_known))
		return false;
	return !is_same_file("/", "/proc/1/root/.", &is_known) && is_known;
}

/* Reads a file of /proc, which has no size. False if it can't be read. */
static bool read_all(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char part[4096];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0)
		buf_add(out, (struct str){ part, (size_t)n });
	if (fd >= 0)
		close(fd);
	return n == 0 && out->failed == ERR_OK;
}

static int look_at_mounts(struct arena *a, struct host_facts *f, struct err *e)
{
	scoped_buf mounts = BUF_INIT(MOUNTS_MAX_BYTES);
	scoped_buf own = BUF_INIT(MOUNTS_MAX_BYTES);
	char group[OS_CGROUP_BYTES];
	struct str file;

	if (!read_all("/proc/self/mountinfo", &mounts) || !read_all("/proc/self/cgroup", &own))
		return 0;
	f->is_proc_covered = doctor_proc_is_covered(buf_str(&mounts));
	f->is_chroot = !doctor_has_root_mount(buf_str(&mounts)) || has_other_root_than_init();
	f->has_cgroup2 = os_cgroup_own(buf_str(&mounts), buf_str(&own), group, sizeof(group));
	if (!f->has_cgroup2)
		return 0;
	if (arena_copy(a, str_of(group), &f->cgroup, e) < 0)
		return err_result(e);
	if (arena_printf(a, &file, e, "%s/cgroup.procs", f->cgroup.p) < 0)
		return err_result(e);
	f->is_cgroup_ours = access(file.p, W_OK) == 0 && access(f->cgroup.p, W_OK) == 0;
	if (arena_printf(a, &file, e, "%s/cgroup.controllers", f->cgroup.p) < 0)
		return err_result(e);
	return read_line(a, file.p, &f->cgroup_controllers, e);
}

/* ---- Landlock and seccomp ------------------------------------------------------------------ */

static void ask_landlock(struct host_facts *f)
{
	int abi = os_landlock_abi();

	f->landlock_abi = MAX_OF(abi, 0);
	f->landlock_error = abi < 0 ? -abi : 0;
}

/* EFAULT: the kernel knew the flags and then tried to read the filter, which is NULL. */
static bool knows_flags(unsigned long flags)
{
	return syscall(SYS_seccomp, (unsigned long)SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 &&
	       errno == EFAULT;
}

static void ask_seccomp(struct host_facts *f)
{
	uint32_t notify = SECCOMP_RET_USER_NOTIF;

	f->has_filter = knows_flags(0);
	f->has_notify =
		knows_flags(FILTER_NEW_LISTENER) &&
		syscall(SYS_seccomp, (unsigned long)SECCOMP_GET_ACTION_AVAIL, 0UL, &notify) == 0;
	f->has_wait_killable = knows_flags(FILTER_NEW_LISTENER | FILTER_WAIT_KILLABLE);
}

/*
 * Whether the kernel lists unix sockets (sock_diag), which Cordon needs to know the sockets that a
 * command has bound. The list is often a module; asking for it loads the module.
 */
static bool lists_unix_sockets(void)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req what;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.what = { .sdiag_family = AF_UNIX },
	};
	struct nlmsghdr answer = { .nlmsg_type = NLMSG_ERROR };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	scoped_fd fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd >= 0 &&
	       sendto(fd, &request, sizeof(request), MSG_DONTWAIT, (struct sockaddr *)&kernel,
		      sizeof(kernel)) == (ssize_t)sizeof(request) &&
	       recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) >= (ssize_t)sizeof(answer) &&
	       answer.nlmsg_type != NLMSG_ERROR;
}

static int64_t ask_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > INT64_MAX)
		return FACT_UNKNOWN;
	return (int64_t)limit.rlim_cur;
}

static bool is_nested(void)
{
	const char *mark = os_environment_find(os_environment(), "CORDON_SANDBOX");

	return mark && strcmp(mark, "none") != 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2;
}

int doctor_look(struct arena *a, struct host_facts *out, struct err *e)
{
	struct host_facts f = { .is_root = geteuid() == 0,
				.is_nested = is_nested(),
				.around = os_outer_sandbox_find() };
	struct utsname name;

	if (uname(&name) < 0)
		return FAIL_SYS(e, errno, "can't ask for the kernel's name");
	if (read_line(a, "/proc/sys/kernel/osrelease", &f.release, e) < 0)
		return err_result(e);
	if (!f.release.len && arena_copy(a, str_of(name.release), &f.release, e) < 0)
		return err_result(e);
	if (backend_is_wsl1(f.release))
		f.wsl = 1;
	else if (backend_is_wsl2(f.release))
		f.wsl = 2;
	f.has_proc = access("/proc/self/fd", F_OK) == 0;
	f.open_files = ask_open_files();
	f.max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces");
	f.limit = host_find_limit();
	f.userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
	f.apparmor_userns = read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	ask_landlock(&f);
	ask_seccomp(&f);
	f.lists_sockets = lists_unix_sockets();
	if (arena_copy(a, str_of(name.machine), &f.machine, e) < 0 ||
	    read_line(a, HOST_APPARMOR_LABEL, &f.apparmor_label, e) < 0 ||
	    read_line(a, "/sys/kernel/security/lsm", &f.lsm, e) < 0 || look_at_mounts(a, &f, e) < 0)
		return err_result(e);
	f.bare_repository = STR_EMPTY;
	*out = f;
	return 0;
}
