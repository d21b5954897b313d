/* SPDX-License-Identifier: MIT */
/* What a launch into namespaces asks of this host and this process; see host.h. */
#include "backend/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "os/os.h"
#include "os/outer_sandbox.h"

/* ---- Identities ------------------------------------------------------------------ */

static int write_file(pid_t pid, const char *name, struct str text)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text.p, text.len);
	if (n != (ssize_t)text.len)
		n = n < 0 ? -errno : -EIO;
	close(fd);
	return n < 0 ? (int)n : 0;
}

/* Adds every id of this user namespace ("inside outside count" lines), mapped to itself. */
static void add_all(struct buf *out, const char *map)
{
	char text[4096];
	const char *at = text;

	if (os_read_small(map, text, sizeof(text)) <= 0)
		return;
	while (*at) {
		unsigned long first, count;
		char *end;

		first = strtoul(at, &end, 10);
		(void)strtoul(end, &end, 10);
		count = strtoul(end, &end, 10);
		if (count == 0)
			return;
		buf_printf(out, "%lu %lu %lu\n", first, first, count);
		at = *end == '\n' ? end + 1 : end;
	}
}

/* 0 or -errno. Out of memory is -ENOMEM, because the kernel rejects an empty map as invalid. */
static int map_all(pid_t pid, const char *name, const char *own_map)
{
	scoped_buf text = BUF_INIT(8192);

	add_all(&text, own_map);
	if (text.failed == ERR_NOMEM)
		return -ENOMEM;
	return text.len > 0 && text.failed == ERR_OK ? write_file(pid, name, buf_str(&text))
						     : -EPERM;
}

static int map(pid_t pid, const char *name, const char *own_map, unsigned id, bool is_root)
{
	int r = is_root ? map_all(pid, name, own_map) : -EPERM;
	char line[32];

	/* Root without the capability to map other ids maps only itself, as an ordinary user does. */
	if (r == -EPERM) {
		(void)snprintf(line, sizeof(line), "%u %u 1\n", id, id);
		r = write_file(pid, name, str_of(line));
	}
	return r;
}

/* Whether /proc shows the pid namespace of this process. */
static bool is_own_proc(void)
{
	char link[32];
	ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	return strtol(link, NULL, 10) == (long)getpid();
}

int host_check_proc(const char *backend, struct err *e)
{
	if (is_own_proc())
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_PROC_FOREIGN,
			 "the %s backend can't work: the mounted /proc belongs to another pid "
			 "namespace",
			 backend);
	err_add_line(e, "mount one of this pid namespace, for example with unshare --mount-proc");
	return err_result(e);
}

int host_map_identities(const char *backend, pid_t pid, struct err *e)
{
	bool is_root = geteuid() == 0;
	int r = 0;

	/* An ordinary user may map a group only after giving up setgroups(). */
	if (!is_root)
		r = write_file(pid, "setgroups", STR("deny"));
	if (r == 0)
		r = map(pid, "uid_map", "/proc/self/uid_map", geteuid(), is_root);
	if (r == 0)
		r = map(pid, "gid_map", "/proc/self/gid_map", getegid(), is_root);
	if (r == -ENOMEM)
		return FAIL(e, ERR_NOMEM, "out of memory");
	if (r < 0 && host_check_proc(backend, e) < 0)
		return err_result(e);
	/* A container, or the user, may have mounted /proc read-only. */
	if (r == -EROFS && !os_outer_sandbox_find()) {
		(void)FAIL_CAUSE(e, CAUSE_PROC_READ_ONLY,
				 "the %s backend can't map this user into its namespaces: /proc is "
				 "mounted read-only",
				 backend);
		err_add_line(e, "mount a writable /proc");
		return err_result(e);
	}
	if (r == -EPERM && is_root && !host_find_limit() && !os_outer_sandbox_find()) {
		(void)FAIL_CAUSE(e, CAUSE_NAMESPACE_RIGHTS,
				 "the %s backend can't map root into a user namespace: root lacks "
				 "the capabilities here, as in a container or another sandbox",
				 backend);
		err_add_line(e, "run cordon outside of it, or as an ordinary user");
		return err_result(e);
	}
	if (r == -EPERM || r == -EACCES || r == -EROFS)
		return host_fail_rights(backend, "map this user into its namespaces", -r, e);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't map this user into the sandbox's user namespace");
	return 0;
}

int host_open_namespaces(pid_t pid, int *user_ns, int *mount_ns, struct err *e)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	*user_ns = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	*mount_ns = open(path, O_RDONLY | O_CLOEXEC);
	if (*user_ns < 0 || *mount_ns < 0)
		return FAIL_SYS(e, errno, "can't open the namespaces of the sandbox");
	return 0;
}

/* ---- Why not ---------------------------------------------------------------------- */

/* Whether a switch of the kernel's is set to `value`. */
static bool is_set_to(const char *path, char value)
{
	char text[32];

	return os_read_small(path, text, sizeof(text)) > 0 && text[0] == value &&
	       (text[1] == '\n' || text[1] == '\0');
}

const struct host_limit *host_find_limit(void)
{
#define LIMIT(name)                                                                            \
	{                                                                                      \
		"/proc/sys/user/max_" name "_namespaces", "user.max_" name "_namespaces is 0", \
			"sysctl -w user.max_" name "_namespaces=15000"                         \
	}
	static const struct host_limit limits[] = {
		LIMIT("user"), LIMIT("mnt"), LIMIT("pid"),    LIMIT("net"),
		LIMIT("ipc"),  LIMIT("uts"), LIMIT("cgroup"),
	};
#undef LIMIT

	for (size_t i = 0; i < COUNT_OF(limits); i++)
		if (is_set_to(limits[i].path, '0'))
			return &limits[i];
	return NULL;
}

/* A cause in words, and what to do about it. */
struct reason {
	char what[240];
	char fix[240]; /* "": nothing is known */
};

/* Whether a sysctl of this host turns namespaces off; then `out` says which. */
static bool find_switch(struct reason *out)
{
	const struct host_limit *limit = host_find_limit();

	if (limit) {
		(void)snprintf(out->what, sizeof(out->what), "%s", limit->what);
		(void)snprintf(out->fix, sizeof(out->fix), "as root: %s", limit->fix);
		return true;
	}
	/* Root needs no unprivileged namespaces. */
	if (geteuid() == 0 || !is_set_to("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return false;
	(void)snprintf(out->what, sizeof(out->what), "kernel.unprivileged_userns_clone is 0");
	(void)snprintf(out->fix, sizeof(out->fix),
		       "as root: sysctl -w kernel.unprivileged_userns_clone=1");
	return true;
}

/* The profile by which AppArmor may forbid it to this process, to be shown; false: none. */
static bool find_profile(int os_error, char *shown, size_t room)
{
	char text[256];
	struct str label;

	if ((os_error != EPERM && os_error != EACCES) ||
	    os_read_small(HOST_APPARMOR_LABEL, text, sizeof(text)) <= 0)
		return false;
	label = str_first(str_of(text), str_find(str_of(text), '\n'));
	(void)utf8_show(label, shown, room);
	/* One in these modes forbids nothing. */
	return !str_eq(label, STR("unconfined")) && !str_has_suffix(label, STR(" (unconfined)")) &&
	       !str_has_suffix(label, STR(" (complain)"));
}

/* The cause of `os_error`; `otherwise` when nothing more is known. */
static enum cause find_cause(int os_error, enum cause otherwise, struct reason *out)
{
	const char *container = os_outer_container();
	const char *what, *fix = "";
	enum cause cause = otherwise;

	/* AppArmor restricts users without CAP_SYS_ADMIN only. */
	if (geteuid() != 0 &&
	    is_set_to("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1')) {
		cause = CAUSE_APPARMOR_USERNS;
		what = "AppArmor restricts user namespaces";
		fix = "as root, put Cordon's profile to /etc/apparmor.d/cordon and run "
		      "apparmor_parser -r /etc/apparmor.d/cordon, or: sysctl "
		      "kernel.apparmor_restrict_unprivileged_userns=0";
	} else if (os_error == ENOSPC || os_error == EUSERS) {
		cause = CAUSE_NAMESPACES_EXHAUSTED;
		what = "there are too many namespaces, or they are nested too deep "
		       "(user.max_*_namespaces)";
	} else if (os_error == EINVAL) {
		cause = CAUSE_NAMESPACES_UNSUPPORTED;
		what = "this kernel lacks one of user, mount, pid, network, ipc, uts or cgroup "
		       "namespaces";
	} else {
		what = NULL;
		fix = "in a container, allow user namespaces (for example --security-opt "
		      "seccomp=unconfined), or run cordon outside of it";
	}
	if (what)
		(void)snprintf(out->what, sizeof(out->what), "%s", what);
	else
		(void)snprintf(out->what, sizeof(out->what),
			       "the kernel or %s container around this process forbids it",
			       container ? container : "a");
	(void)snprintf(out->fix, sizeof(out->fix), "%s", fix);
	return cause;
}

/* If another program's sandbox forbids it, no sysctl helps; choose.c says what does. */
static bool fail_around(const char *backend, const char *doing, int os_error, struct err *e)
{
	const struct os_outer_sandbox *around = os_outer_sandbox_find();

	if (!around)
		return false;
	err_fail_cause(e, ERR_HERE, CAUSE_INSIDE_SANDBOX, os_error,
		       "the %s backend can't %s: the sandbox of %s forbids it", backend, doing,
		       around->name);
	return true;
}

/* Running out of something does not mean that it is forbidden. */
static bool is_shortage(int os_error)
{
	return os_error == EMFILE || os_error == ENFILE || os_error == ENOMEM || os_error == EAGAIN;
}

static int fail_refused(const char *backend, const char *doing, int os_error, enum cause otherwise,
			struct err *e)
{
	struct reason reason = { .what = "", .fix = "" };
	enum cause cause = CAUSE_NAMESPACES_OFF;
	char profile[100];

	if (fail_around(backend, doing, os_error, e))
		return err_result(e);
	if (find_switch(&reason)) {
		/* `reason` is set. */
	} else if (find_profile(os_error, profile, sizeof(profile))) {
		cause = CAUSE_APPARMOR_PROFILE;
		(void)snprintf(reason.what, sizeof(reason.what),
			       "AppArmor's profile '%s', or a container, forbids it", profile);
		(void)snprintf(reason.fix, sizeof(reason.fix),
			       "as root, let that profile change to Cordon's "
			       "(/etc/apparmor.d/cordon); in a container: --security-opt "
			       "apparmor=unconfined --security-opt seccomp=unconfined");
	} else {
		cause = find_cause(os_error, otherwise, &reason);
	}
	err_fail_cause(e, ERR_HERE, cause, os_error, "the %s backend can't %s: %s", backend, doing,
		       reason.what);
	if (reason.fix[0])
		err_add_line(e, "%s", reason.fix);
	return err_result(e);
}

int host_fail_namespaces(const char *backend, int os_error, struct err *e)
{
	if (is_shortage(os_error))
		return FAIL_START(e, os_error, "can't start a sandbox");
	return fail_refused(backend, "make its namespaces", os_error, CAUSE_NAMESPACES_FORBIDDEN,
			    e);
}

int host_fail_rights(const char *backend, const char *doing, int os_error, struct err *e)
{
	return fail_refused(backend, doing, os_error, CAUSE_NAMESPACE_RIGHTS, e);
}

int host_fail_proc(const char *backend, int os_error, struct err *e)
{
	if (is_shortage(os_error))
		return FAIL_SYS(e, os_error, "can't mount a /proc");
	if (fail_around(backend, "mount a /proc of its own", os_error, e))
		return err_result(e);
	err_fail_cause(e, ERR_HERE, CAUSE_PROC_MOUNT_REFUSED, os_error,
		       "the %s backend can't mount a /proc of its own: %s", backend,
		       os_error == EPERM ? "the host's /proc is partly covered, as in a container"
					 : "the kernel refused");
	if (os_error == EPERM)
		err_add_line(e, "run the container with an unmasked /proc, for example "
				"--security-opt systempaths=unconfined");
	return err_result(e);
}
