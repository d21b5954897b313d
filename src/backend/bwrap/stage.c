/* SPDX-License-Identifier: MIT */
/*
 * The inner stage: PID 1 of a sandbox that bwrap has made. It verifies what bwrap did, drops all
 * privileges, and starts the command.
 */
#include "backend/bwrap/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"
#include "backend/devices.h"
#include "os/child.h"
#include "os/fd_pass.h"
#include "os/os.h"

enum {
	JOB_MAX_BYTES = 64 << 20,
	ARENA_MAX_BYTES = 64 << 20,
	TMPFS = 0x01021994,
	PROC = 0x9fa0,
	READ_ONLY = 1,		 /* ST_RDONLY */
	RECURSIVE = 0x8000,	 /* AT_RECURSIVE */
	PRIVATE_MOUNT = 1 << 18, /* MS_PRIVATE */
	OLD_NOSUID = 2,		 /* MS_NOSUID and so on, and the same in statfs() */
	OLD_NODEV = 4,
	OLD_NOEXEC = 8,
	OLD_REMOUNT = 32,
	OLD_BIND = 4096,
	STATUS_FAILED = 125,
};

/* ---- What it was told --------------------------------------------------------------- */

static char *map_job(size_t *bytes)
{
	struct stat st;
	char *map;

	if (fstat(BWRAP_FD_JOB, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > JOB_MAX_BYTES)
		return NULL;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, BWRAP_FD_JOB, 0);
	*bytes = (size_t)st.st_size;
	return map == MAP_FAILED ? NULL : map;
}

static bool read_job(struct arena *a, struct bwrap_job *job)
{
	struct err e = ERR_INIT;
	size_t bytes = 0;
	char *map = map_job(&bytes);

	if (!map || bwrap_job_unpack(a, map, bytes, job, &e) < 0)
		return false;
	for (int i = 0; i < 3; i++)
		job->inner.stdio[i] = BWRAP_FD_STDIO + i;
	job->inner.channel = BWRAP_FD_CHANNEL;
	job->inner.host = BWRAP_FD_HOST;
	job->inner.unix_diag = job->inner.root = job->inner.ruleset = job->inner.terminal = -1;
	return true;
}

/* ---- What bwrap was to do ------------------------------------------------------------- */

static void check_number(const struct bwrap_job *job)
{
	errno = 0;
	if (getpid() != 1)
		inner_fail(&job->inner, BWRAP_NAMESPACES, BWRAP_NAMESPACE_COUNT);
}

/* The parent usually does this, while PID 1 is busy. */
static void check_namespaces(const struct bwrap_job *job)
{
	char path[64];
	struct stat st;

	for (size_t i = 0; i < BWRAP_NAMESPACE_COUNT; i++) {
		if (!job->namespaces[i])
			continue;
		snprintf(path, sizeof(path), "/proc/self/ns/%s", bwrap_namespaces[i]);
		if (stat(path, &st) < 0)
			inner_fail(&job->inner, BWRAP_NAMESPACES, i);
		errno = 0;
		if (st.st_ino == job->namespaces[i])
			inner_fail(&job->inner, BWRAP_NAMESPACES, i);
	}
}

/* Whether any mount still receives mounts that are made on the host. */
static bool has_masters(void)
{
	char room[4096 + 1];
	size_t kept = 0;
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	bool found = fd < 0;
	ssize_t n = 0;

	while (!found && (n = read(fd, room + kept, sizeof(room) - 1 - kept)) > 0) {
		size_t len = kept + (size_t)n;

		room[len] = '\0';
		found = strstr(room, " master:") || strstr(room, " shared:");
		/* The word may span two reads. */
		kept = MIN_OF(len, (size_t)16);
		memmove(room, room + len - kept, kept);
	}
	if (fd >= 0)
		close(fd);
	return found || n < 0;
}

/*
 * SECURITY: bwrap leaves its mounts as slaves of the host's. Without this a file system that is
 * mounted on the host later would appear inside, writable.
 */
static void part_from_host(const struct bwrap_job *job)
{
	struct mount_attr attr = { .propagation = PRIVATE_MOUNT };

	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", RECURSIVE, &attr, sizeof(attr)) == 0)
		return;
	if (has_masters())
		inner_fail(&job->inner, BWRAP_PRIVATE, 0);
}

/* For kernels before 5.12, and hosts that forbid the new calls. */
static bool close_mount_as_of_old(const char *path)
{
	const unsigned long kept = OLD_NOSUID | OLD_NODEV | OLD_NOEXEC;
	struct statfs fs;

	return statfs(path, &fs) == 0 &&
	       syscall(SYS_mount, NULL, path, NULL,
		       OLD_REMOUNT | OLD_BIND | READ_ONLY | ((unsigned long)fs.f_flags & kept),
		       NULL) == 0;
}

static bool close_mount(const char *path)
{
	struct mount_attr closed = { .attr_set = MOUNT_ATTR_RDONLY };

	if (syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &closed, sizeof(closed)) == 0)
		return true;
	return errno != ENOENT && errno != EINVAL && close_mount_as_of_old(path);
}

/*
 * SECURITY: the device nodes are the host's own. Without a read-only mount the command could change
 * their mode, owner and times.
 */
static void close_devices(const struct bwrap_job *job)
{
	static const char *const devices[] = { HOST_DEVICES, "/dev/console" };

	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		if (close_mount(devices[i]))
			continue;
		/* It is missing, or not a mount: then it lies in the read-only /dev. */
		if (errno != ENOENT && errno != EINVAL)
			inner_fail(&job->inner, BWRAP_DEVICES, i);
	}
}

static void check_proc(const struct bwrap_job *job)
{
	struct statfs fs;
	char self[8] = "";

	if (statfs("/proc", &fs) < 0)
		inner_fail(&job->inner, BWRAP_PROC, 0);
	errno = 0;
	if (fs.f_type != PROC)
		inner_fail(&job->inner, BWRAP_PROC, 1);
	if (!job->has_own_proc)
		return;
	if (readlink("/proc/self", self, sizeof(self) - 1) != 1 || self[0] != '1')
		inner_fail(&job->inner, BWRAP_PROC, 2);
}

struct seen {
	uint64_t device, inode;
	uint32_t mode;
	bool is_mount, is_read_only, is_tmpfs;
};

/*
 * Without following any link, wherever it is in the path (P8). RESOLVE_NO_SYMLINKS
 * would refuse one at the end as well, unless O_PATH and O_NOFOLLOW are there.
 */
static int open_place(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static bool look(const char *path, struct seen *out)
{
	int fd = open_place(path);
	struct statx st;
	struct statfs fs;
	bool is_seen;

	if (fd < 0)
		return false;
	is_seen = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0 &&
		  fstatfs(fd, &fs) == 0;
	close(fd);
	if (!is_seen)
		return false;
	*out = (struct seen){ .device = makedev(st.stx_dev_major, st.stx_dev_minor),
			      .inode = st.stx_ino,
			      .mode = st.stx_mode,
			      .is_mount = (st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
					  (st.stx_attributes & STATX_ATTR_MOUNT_ROOT),
			      .is_read_only = fs.f_flags & READ_ONLY,
			      .is_tmpfs = fs.f_type == TMPFS };
	return true;
}

/* Mounts the link onto itself, read-only, so that it can't be replaced. */
static void keep_link(const struct bwrap_job *job, size_t i)
{
	const struct bwrap_place *place = &job->places.items[i];
	struct mount_attr closed = { .attr_set = MOUNT_ATTR_RDONLY };
	int tree, at = open_place(place->path);
	struct stat st;

	if (at < 0)
		inner_fail(&job->inner, BWRAP_PLACE, i);
	errno = 0;
	if (fstat(at, &st) < 0 || st.st_dev != place->device || st.st_ino != place->inode)
		inner_fail(&job->inner, BWRAP_CHANGED, i);
	tree = (int)syscall(SYS_open_tree, at, "",
			    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &closed, sizeof(closed)) < 0 ||
	    syscall(SYS_move_mount, tree, "", at, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		inner_fail(&job->inner, BWRAP_LINK, i);
	close(tree);
	close(at);
}

/*
 * SECURITY: being the root of a mount proves that bwrap's mount is here, and not where a link led
 * for a moment. The inode alone would also match where nothing is mounted, and so protected.
 */
static void check_place(const struct bwrap_job *job, size_t i)
{
	const struct bwrap_place *place = &job->places.items[i];
	bool is_self = place->kind == PLACE_SELF || place->kind == PLACE_LINK;
	struct seen seen;
	bool is_same;

	if (place->kind == PLACE_LINK)
		keep_link(job, i);
	if (!look(place->path, &seen)) {
		if (errno == ENOENT && place->may_be_missing)
			return;
		inner_fail(&job->inner, BWRAP_PLACE, i);
	}
	errno = 0;
	is_same = seen.device == place->device && seen.inode == place->inode;
	if (!seen.is_mount)
		inner_fail(&job->inner, BWRAP_UNCOVERED, i);
	if (is_self && place->is_checked && !is_same)
		inner_fail(&job->inner, BWRAP_CHANGED, i);
	if (!is_self && (!seen.is_tmpfs || (place->is_checked && is_same)))
		inner_fail(&job->inner, BWRAP_UNCOVERED, i);
	if (place->kind == PLACE_MASK && (seen.mode & 07777) != 0)
		inner_fail(&job->inner, BWRAP_UNCOVERED, i);
	if (place->is_read_only && !seen.is_read_only)
		inner_fail(&job->inner, BWRAP_WRITABLE, i);
}

/*
 * Tells the parent that this process leads its own group, so that the parent can hand over the
 * terminal while this process checks the rest.
 */
static void tell_it_stands(const struct bwrap_job *job)
{
	const struct init_message stands = { .kind = INIT_READY };

	if (fd_pass_tell(job->inner.channel, &stands, sizeof(stands), 0) < 0)
		_exit(1);
}

static void await_go(const struct bwrap_job *job)
{
	struct init_order go;

	if (!init_wait(job->inner.channel, job->inner.host, INIT_GO, &go))
		_exit(0);
	if (go.value == BWRAP_GO_LOOK)
		check_namespaces(job);
}

static void check_all(const struct bwrap_job *job)
{
	if (!job->is_masked_later)
		tell_it_stands(job);
	check_number(job);
	check_proc(job);
	part_from_host(job);
	close_devices(job);
	/* The parent makes the masks that bwrap does not make, before this process checks. */
	if (job->is_masked_later) {
		tell_it_stands(job);
		await_go(job);
	}
	for (size_t i = 0; i < job->places.count; i++)
		check_place(job, i);
}

/* ---- The rest of PID 1 ----------------------------------------------------------------- */

static void tidy(struct bwrap_job *job)
{
	const int kept[] = { job->inner.stdio[0], job->inner.stdio[1], job->inner.stdio[2],
			     job->inner.channel, job->inner.host };
	uint64_t all = UINT64_MAX;

	if (!os_close_all_but(kept, COUNT_OF(kept)))
		inner_fail(&job->inner, INNER_FORK, 4);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	inner_leave_group(&job->inner);
	/* exec has reset handlers. SIGCHLD must arrive, whatever bwrap did with it. */
	(void)signal(SIGCHLD, SIG_DFL);
	job->inner.signals.ignores_children = job->ignores_children;
}

/* Before the capabilities for it are dropped. */
static void take_place(struct inner_job *inner)
{
	/* Otherwise bwrap has set up the network. */
	if (inner->network.is_managed)
		inner_make_network(inner);
	else
		inner_hear_names(inner);
	if (inner->asks_connect) {
		/* Through it the supervisor asks which unix sockets were bound inside. */
		inner->unix_diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (inner->unix_diag < 0)
			inner_fail(inner, BWRAP_NETWORK, 0);
	}
	if (chdir(inner->directory) < 0)
		inner_fail(inner, INNER_DIRECTORY, 0);
	inner->root = open("/", O_PATH | O_CLOEXEC);
	if (inner->root < 0)
		inner_fail(inner, BWRAP_PLACE, 0);
}

int bwrap_stage_main(int argc, char **argv)
{
	scoped_arena a = ARENA_INIT(ARENA_MAX_BYTES);
	struct bwrap_job job = { .inner = { .channel = BWRAP_FD_CHANNEL } };
	struct inner_job *inner = &job.inner;
	int listener;
	pid_t command;

	(void)argv;
	if (argc < 1 || fcntl(BWRAP_FD_CHANNEL, F_GETFD) < 0)
		return STATUS_FAILED;
	if (!read_job(&a, &job) || os_find_arguments(&inner->own_words) < 0) {
		errno = 0;
		inner_fail(inner, BWRAP_JOB, 0);
	}
	tidy(&job);
	check_all(&job);
	take_place(inner);
	inner_prepare_landlock(inner);
	inner_drop_capabilities(inner);
	inner_hide_self(inner);
	inner_reopen_streams(inner);
	inner_open_terminal(inner);
	inner_take_terminal(inner);
	inner_enter_landlock(inner);
	listener = inner_lock_filter(inner);
	/* The order has usually arrived long before. */
	if (!job.is_masked_later)
		await_go(&job);
	inner_tell_ready(inner, listener);
	command = inner_start_command(inner);
	inner_keep_ties(inner);
	init_run(&(struct init_ties){ inner->channel, inner->host, inner->terminal }, command);
}
