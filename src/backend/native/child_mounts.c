/* SPDX-License-Identifier: MIT */
/*
 * The mounts of a sandbox, made by PID 1 in its own namespace.
 *
 * The order matters. First PID 1 opens what the sandbox shows of the host, as descriptors, while
 * nothing covers it yet. Then it makes the whole tree read-only. Then it mounts everything in its
 * place, parents before children; it opens each place without following a link and compares it
 * with the inode that the plan was made from.
 *
 * Everything that is made (masks, /dev, skeletons, a private /tmp) comes from one tmpfs, the
 * *box*: one file system is cheaper than five. It is mounted at /proc until the new /proc covers
 * it, because unmounting it would cost more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/devices.h"
#include "backend/native/native.h"

/* From <fcntl.h> and <sys/mount.h>; not every C library has them. */
enum {
	EMPTY_PATH = 0x1000,
	NO_FOLLOW = 0x100,
	RECURSIVE = 0x8000,
	DETACH = 2,
	PRIVATE_MOUNT = 1 << 18,
};

static int attr_set(int fd, const char *path, unsigned flags, uint64_t set, uint64_t clear,
		    uint64_t propagation)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear, .propagation = propagation };

	return (int)syscall(SYS_mount_setattr, fd, path, flags, &attr, sizeof(attr));
}

/* A copy of the mounts at `path`, not in the tree yet. */
static int tree_clone(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path,
			    flags | NO_FOLLOW | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static int tree_move(int tree, int dir, const char *path)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH);

	return (int)syscall(SYS_move_mount, tree, "", dir, path, flags);
}

/* A new file system, not in the tree yet. */
static int new_mount(const char *type, const char *const *options, unsigned attributes)
{
	int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int tree = -1;
	int saved;

	if (context < 0)
		return -1;
	for (; options && options[0]; options += 2)
		if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options[0], options[1], 0) <
		    0)
			goto out;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
out:
	saved = errno;
	close(context);
	errno = saved;
	return tree;
}

/* Without following any link, wherever it is in the path (P8). */
static int open_place(int root, const char *below)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, below, &how, sizeof(how));
}

/* Whether `fd` is what the plan was made from. */
static bool is_as_planned(int fd, const struct mount_op *op)
{
	struct stat st;

	if (!op->is_checked)
		return true;
	return fstat(fd, &st) == 0 && st.st_dev == op->device && st.st_ino == op->inode;
}

/* ---- What is opened before the tree becomes read-only ----------------------- */

static bool is_device(const struct mount_op *op)
{
	return strncmp(op->path, "/dev/", 5) == 0;
}

/*
 * Whether it is harmless that `op`'s place is gone: it belongs to a nested repository, which another
 * program may remove or replace at any time (P9).
 *
 * SECURITY: such an operation only narrows access, so leaving it out shows the command nothing else.
 */
static bool has_vanished(const struct mount_op *op)
{
	return op->may_vanish && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

static void open_source(struct native_job *job, size_t i)
{
	const struct mount_op *op = &job->mounts->ops.items[i];
	int place = open_place(job->root, op->below);
	unsigned recursive = op->type == HOST_DIR ? RECURSIVE : 0;

	if (place < 0 && has_vanished(op))
		return;
	if (place < 0)
		native_fail(job, NATIVE_SOURCE, i);
	if (!is_as_planned(place, op)) {
		close(place);
		if (op->may_vanish)
			return;
		errno = 0;
		native_fail(job, NATIVE_SOURCE_CHANGED, i);
	}
	job->sources[i] = tree_clone(place, "", EMPTY_PATH | recursive);
	if (job->sources[i] < 0 && !has_vanished(op))
		native_fail(job, NATIVE_SOURCE, i);
	close(place);
	if (job->sources[i] < 0)
		return;
	if (op->access != ACCESS_WRITE &&
	    attr_set(job->sources[i], "", EMPTY_PATH | recursive, MOUNT_ATTR_RDONLY, 0, 0) < 0)
		native_fail(job, NATIVE_SOURCE_ACCESS, i);
}

static void open_sources(struct native_job *job, bool devices)
{
	for (size_t i = 1; i < job->mounts->ops.count; i++) {
		const struct mount_op *op = &job->mounts->ops.items[i];

		if (op->kind == MOUNT_SELF && is_device(op) == devices)
			open_source(job, i);
	}
}

/*
 * SECURITY: the device node is the host's own. Without a read-only mount the command could change
 * its mode, owner and times. Writing to the device still works.
 */
static int clone_device(const char *path)
{
	int tree = tree_clone(AT_FDCWD, path, 0);

	if (tree >= 0 && attr_set(tree, "", EMPTY_PATH, MOUNT_ATTR_RDONLY, 0, 0) < 0)
		return -1;
	return tree;
}

static const char *const devices[DEVICE_COUNT] = { HOST_DEVICES };

void native_open_sources(struct native_job *job)
{
	job->root = open("/", O_PATH | O_CLOEXEC);
	if (job->root < 0)
		native_fail(job, NATIVE_PRIVATE, 0);
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		job->devices[i] = clone_device(devices[i]);
		if (job->devices[i] < 0 && errno != ENOENT)
			native_fail(job, NATIVE_DEVICES, i);
	}
	job->console = -1;
	if (job->terminal_path)
		job->console = clone_device(job->terminal_path);
	open_sources(job, true);
	if (attr_set(AT_FDCWD, "/", RECURSIVE, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID, 0,
		     PRIVATE_MOUNT) < 0)
		native_fail(job, NATIVE_PRIVATE, 0);
	open_sources(job, false);
}

/* ---- The box ---------------------------------------------------------------- */

#define BOX_MASK_DIR  "mask_dir"
#define BOX_MASK_FILE "mask_file"
#define BOX_EMPTY     "empty"

static int make_file(int dir, const char *path, mode_t mode)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return -1;
	return close(fd);
}

/*
 * A placeholder holds only this file. Without it `git clean` and `git stash -u` would try to remove
 * the directory, and fail because it is a mount.
 */
static int make_empty(const struct native_job *job)
{
	static const char ignore_all[] = "*\n";
	size_t i = 0;
	int fd;

	while (i < job->mounts->ops.count && job->mounts->ops.items[i].kind != MOUNT_EMPTY)
		i++;
	/* A file with content costs more to make and to free than all the others together. */
	if (i == job->mounts->ops.count)
		return 0;
	if (mkdirat(job->box, BOX_EMPTY, 0755) < 0)
		return -1;
	fd = openat(job->box, BOX_EMPTY "/.gitignore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0444);
	if (fd < 0 || write(fd, ignore_all, sizeof(ignore_all) - 1) < 0)
		return -1;
	return close(fd);
}

static void make_box(struct native_job *job)
{
	static const char *const options[] = { "mode", "0755", NULL };

	job->box = new_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (job->box < 0 || tree_move(job->box, AT_FDCWD, "/proc") < 0 ||
	    mkdirat(job->box, BOX_MASK_DIR, 0) < 0 || make_file(job->box, BOX_MASK_FILE, 0) < 0 ||
	    make_empty(job) < 0)
		native_fail(job, NATIVE_BOX, 0);
}

static void make_dev(struct native_job *job)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", MADE_DEV "/fd" },
		{ "/proc/self/fd/0", MADE_DEV "/stdin" },
		{ "/proc/self/fd/1", MADE_DEV "/stdout" },
		{ "/proc/self/fd/2", MADE_DEV "/stderr" },
		{ "pts/ptmx", MADE_DEV "/ptmx" },
		{ "/proc/kcore", MADE_DEV "/core" },
	};

	if (mkdirat(job->box, MADE_DEV, 0755) < 0 || mkdirat(job->box, MADE_DEV "/pts", 0755) < 0 ||
	    mkdirat(job->box, MADE_DEV "/shm", 01777) < 0 ||
	    mkdirat(job->box, MADE_DEV "/mqueue", 01777) < 0)
		native_fail(job, NATIVE_DEV, 0);
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (symlinkat(links[i][0], job->box, links[i][1]) < 0)
			native_fail(job, NATIVE_DEV, i);
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		/* "/dev/null" lies at MADE_DEV "/null" in the box. */
		if (job->devices[i] >= 0 && make_file(job->box, devices[i] + 1, 0) < 0)
			native_fail(job, NATIVE_DEV, i);
	}
	if (job->console >= 0 && make_file(job->box, MADE_DEV "/console", 0) < 0)
		native_fail(job, NATIVE_DEV, 0);
}

static bool is_in_dev(const struct made *made)
{
	return strncmp(made->path, MADE_DEV "/", sizeof(MADE_DEV)) == 0;
}

static void make_things(struct native_job *job)
{
	for (size_t i = 0; i < job->mounts->made.count; i++) {
		const struct made *made = &job->mounts->made.items[i];
		int r;

		if (made->type == HOST_DIR)
			r = mkdirat(job->box, made->path, made->mode);
		else if (made->type == HOST_LINK)
			r = symlinkat(made->target, job->box, made->path);
		else
			r = make_file(job->box, made->path, made->mode);
		/* The policy may name a device that every /dev has. */
		if (r < 0 && !(errno == EEXIST && is_in_dev(made)))
			native_fail(job, NATIVE_MADE, i);
	}
}

/* Opens what stays writable before the box becomes read-only. */
static void take_writable(struct native_job *job)
{
	job->shm = tree_clone(job->box, MADE_DEV "/shm", 0);
	if (job->shm < 0)
		native_fail(job, NATIVE_DEV, 0);
	for (size_t i = 1; i < job->mounts->ops.count; i++) {
		const struct mount_op *op = &job->mounts->ops.items[i];

		if (op->kind != MOUNT_FRESH)
			continue;
		job->sources[i] = tree_clone(job->box, op->made, 0);
		if (job->sources[i] < 0)
			native_fail(job, NATIVE_SOURCE, i);
	}
}

/* ---- Making the tree read-only ----------------------------------------------- */

static void close_tree(struct native_job *job)
{
	const struct mount_op *top = &job->mounts->ops.items[0];
	int r;

	if (top->kind == MOUNT_SELF && top->access == ACCESS_WRITE)
		r = attr_set(job->box, "", EMPTY_PATH, MOUNT_ATTR_RDONLY, 0, 0);
	else
		r = attr_set(AT_FDCWD, "/", RECURSIVE, MOUNT_ATTR_RDONLY, 0, 0);
	if (r < 0)
		native_fail(job, NATIVE_CLOSE_TREE, 0);
	if (top->kind == MOUNT_SELF)
		return;
	/* The command sees nothing of the host's root: mount another one over it. */
	close(job->root);
	job->root = tree_clone(job->box, top->kind == MOUNT_SKELETON ? top->made : BOX_MASK_DIR, 0);
	if (job->root < 0 || tree_move(job->root, AT_FDCWD, "/") < 0)
		native_fail(job, NATIVE_ROOT, 0);
}

/* SECURITY: from these files root, even without capabilities, could read the host's memory. */
static void hide_memory(const struct native_job *job)
{
	static const char *const files[] = { "proc/kcore", "proc/kpagecount", "proc/kpageflags",
					     "proc/kpagecgroup" };

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		/* Open the place first: freeing an unused mount waits for an RCU grace period. */
		int place = openat(job->root, files[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
		int tree;

		if (place < 0 && errno == ENOENT)
			continue;
		tree = place < 0 ? -1 : tree_clone(job->box, BOX_MASK_FILE, 0);
		if (tree < 0 || tree_move(tree, place, "") < 0)
			native_fail(job, NATIVE_PROC, 4);
		close(tree);
		close(place);
	}
}

/*
 * Mounts /proc. The parts through which root could change the host are read-only, for ordinary
 * users too, so that all sandboxes look alike. Copies of a read-only mount are read-only, so /proc
 * itself becomes writable only when the copies are in place.
 */
static void mount_proc(struct native_job *job, int proc)
{
	static const char *const closed[] = {
		"proc/sys",  "proc/sysrq-trigger", "proc/irq",	"proc/bus",	"proc/fs",
		"proc/acpi", "proc/scsi",	   "proc/mtrr", "proc/pressure"
	};

	if (tree_move(proc, job->root, "proc") < 0)
		native_fail(job, NATIVE_PROC, 1);
	for (size_t i = 0; i < COUNT_OF(closed); i++) {
		int tree = tree_clone(job->root, closed[i], 0);

		if (tree < 0 && errno == ENOENT)
			continue;
		if (tree < 0 || tree_move(tree, job->root, closed[i]) < 0)
			native_fail(job, NATIVE_PROC, 2);
		close(tree);
	}
	if (job->is_root)
		hide_memory(job);
	if (attr_set(proc, "", EMPTY_PATH, 0, MOUNT_ATTR_RDONLY, 0) < 0)
		native_fail(job, NATIVE_PROC, 3);
	close(proc);
}

static void mount_dev(struct native_job *job)
{
	static const char *const pts_options[] = { "ptmxmode", "0666", "mode", "0620", NULL };
	int dev = tree_clone(job->box, MADE_DEV, 0);
	int pts, mqueue;

	if (dev < 0 || tree_move(dev, job->root, "dev") < 0)
		native_fail(job, NATIVE_DEV, 1);
	close(dev);
	if (tree_move(job->shm, job->root, "dev/shm") < 0)
		native_fail(job, NATIVE_DEV, 2);
	close(job->shm);
	for (size_t i = 0; i < DEVICE_COUNT; i++) {
		if (job->devices[i] >= 0 &&
		    tree_move(job->devices[i], job->root, devices[i] + 1) < 0)
			native_fail(job, NATIVE_DEV, 3);
		close(job->devices[i]);
	}
	if (job->console >= 0 && tree_move(job->console, job->root, "dev/console") < 0)
		native_fail(job, NATIVE_DEV, 4);
	pts = new_mount("devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (pts < 0 || tree_move(pts, job->root, "dev/pts") < 0)
		native_fail(job, NATIVE_DEV, 5);
	close(pts);
	if (!job->has_own_ipc)
		return;
	/* Landlock applies the rules for this mount to message queues, even without a path. */
	mqueue =
		new_mount("mqueue", NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mqueue < 0 && errno == ENODEV)
		return;
	if (mqueue < 0 || tree_move(mqueue, job->root, "dev/mqueue") < 0)
		native_fail(job, NATIVE_DEV, 6);
	close(mqueue);
}

/* SECURITY: with a writable "/", root could change the kernel's settings through /sys. */
static void close_sys(struct native_job *job)
{
	int tree;

	if (job->mounts->ops.items[0].kind != MOUNT_SELF ||
	    job->mounts->ops.items[0].access != ACCESS_WRITE)
		return;
	tree = tree_clone(job->root, "sys", RECURSIVE);
	if (tree < 0 && errno == ENOENT)
		return;
	if (tree < 0 || attr_set(tree, "", EMPTY_PATH | RECURSIVE, MOUNT_ATTR_RDONLY, 0, 0) < 0 ||
	    tree_move(tree, job->root, "sys") < 0)
		native_fail(job, NATIVE_CLOSE_TREE, 1);
	close(tree);
}

/* ---- Mounting everything in its place ---------------------------------------- */

/* A clone of the made file or directory that `op` mounts. */
static int take_made(const struct native_job *job, const struct mount_op *op)
{
	if (op->kind == MOUNT_SKELETON)
		return tree_clone(job->box, op->made, 0);
	if (op->kind == MOUNT_EMPTY)
		return tree_clone(job->box, BOX_EMPTY, 0);
	return tree_clone(job->box, op->type == HOST_DIR ? BOX_MASK_DIR : BOX_MASK_FILE, 0);
}

static void attach(struct native_job *job, size_t i)
{
	const struct mount_op *op = &job->mounts->ops.items[i];
	int tree = job->sources[i];
	int place;
	bool is_planned;

	if (tree < 0 && op->may_vanish && op->kind == MOUNT_SELF)
		return; /* open_source() did not find it */
	place = open_place(job->root, op->below);
	/* Inside the new /proc and /dev it may not exist; then there is nothing to narrow. */
	if (place < 0 && errno == ENOENT && !op->is_checked)
		return;
	if (place < 0 && !has_vanished(op))
		native_fail(job, NATIVE_TARGET, i);
	is_planned = place >= 0 && (op->is_in_made || is_as_planned(place, op));
	if (!is_planned && !op->may_vanish) {
		errno = 0;
		native_fail(job, NATIVE_SOURCE_CHANGED, i);
	}
	if (is_planned && tree < 0) {
		tree = take_made(job, op);
		if (tree < 0)
			native_fail(job, NATIVE_ATTACH, i);
	}
	if (is_planned && tree_move(tree, place, "") < 0 && !has_vanished(op))
		native_fail(job, NATIVE_ATTACH, i);
	close(tree);
	close(place);
}

/* Where the host's root is hidden, nothing of it stays reachable. */
static void enter_root(struct native_job *job)
{
	if (job->mounts->ops.items[0].kind != MOUNT_SELF &&
	    (fchdir(job->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	     syscall(SYS_umount2, ".", DETACH) < 0))
		native_fail(job, NATIVE_ROOT, 1);
	if (chdir("/") < 0)
		native_fail(job, NATIVE_ROOT, 2);
}

void native_mount_all(struct native_job *job)
{
	/* The kernel allows a new /proc only while the host's is still visible. */
	int proc = new_mount("proc", NULL,
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
				     MOUNT_ATTR_RDONLY);

	if (proc < 0)
		native_fail(job, NATIVE_PROC, 0);
	make_box(job);
	make_dev(job);
	make_things(job);
	take_writable(job);
	close_tree(job);
	mount_proc(job, proc);
	mount_dev(job);
	close_sys(job);
	for (size_t i = 1; i < job->mounts->ops.count; i++)
		attach(job, i);
	enter_root(job);
}
