/* SPDX-License-Identifier: MIT */
/*
 * See graft.h. This runs in the masker, inside the sandbox's mount namespace. No path is looked up
 * twice: what is opened without following a link, and is what the plan was made from, is what is
 * cloned and what the clone is mounted on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/live/graft.h"
#include "os/fd.h"
#include "os/fd_pass.h"

/* From <fcntl.h> and <sys/mount.h>; not every C library has them. */
enum { EMPTY_PATH = 0x1000, NO_FOLLOW = 0x100, RECURSIVE = 0x8000, DETACH = 2, MS_IS_RDONLY = 1 };

static int set_attributes(int dir, const char *path, uint64_t set, uint64_t clear)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear };
	unsigned flags = path[0] ? NO_FOLLOW : EMPTY_PATH;

	return (int)syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof(attr));
}

static int close_mount(int fd)
{
	return set_attributes(fd, "", MOUNT_ATTR_RDONLY, 0);
}

static int open_mount(int fd)
{
	return set_attributes(fd, "", 0, MOUNT_ATTR_RDONLY);
}

static int move(int tree, int place)
{
	return (int)syscall(SYS_move_mount, tree, "", place, "",
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static int look(int fd, struct statx *st)
{
	return (int)syscall(SYS_statx, fd, "", EMPTY_PATH | AT_STATX_DONT_SYNC,
			    STATX_TYPE | STATX_INO | STATX_MNT_ID, st);
}

/* -1 with errno; ESTALE: it is not what the plan was made from. */
static int open_place(int dir, const struct graft_order *order)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	const char *path = order->path[0] ? order->path : ".";
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || !order->inode)
		return fd;
	if (fstat(fd, &st) == 0 && st.st_dev == order->device && st.st_ino == order->inode)
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/* A copy of what is at `place`, mounted nowhere, its top read-only. */
static int clone_read_only(int place)
{
	struct statx st;
	unsigned flags = EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	int tree;

	if (look(place, &st) < 0)
		return -1;
	if (S_ISDIR(st.stx_mode))
		flags |= RECURSIVE;
	tree = (int)syscall(SYS_open_tree, place, "", flags);
	if (tree >= 0 && close_mount(tree) < 0) {
		close(tree);
		return -1;
	}
	return tree;
}

static bool keep(struct grafts *g, int fd, enum graft_role role, uint32_t pin)
{
	const size_t room = role <= GRAFT_BELOW ? (size_t)GRAFT_MAX_OPEN : COUNT_OF(g->mounts);

	if (g->count >= room) {
		errno = E2BIG;
		return false;
	}
	g->mounts[g->count++] =
		(struct graft_mount){ .number = g->number, .pin = pin, .fd = fd, .role = role };
	return true;
}

static void forget(struct grafts *g, uint32_t number)
{
	for (size_t i = g->count; i > 0; i--) {
		if (g->mounts[i - 1].number != number || g->mounts[i - 1].role == GRAFT_A_COVER)
			continue;
		close(g->mounts[i - 1].fd);
		g->mounts[i - 1] = g->mounts[--g->count];
	}
}

/* ---- A graft --------------------------------------------------------------------------------- */

static bool is_mount_root(int fd)
{
	struct statx st;

	return look(fd, &st) == 0 && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

static bool is_read_only(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_flags & MS_IS_RDONLY);
}

/* A mount that is writable by another grant is covered now, and only here somebody still knows it. */
static void keep_below(struct grafts *g, int place)
{
	if (is_mount_root(place) && !is_read_only(place) && keep(g, place, GRAFT_BELOW, 0))
		return;
	close(place);
}

/* Mounts a read-only copy of what is at the order's path on it; keeps it unless it only narrows. */
static int mount_copy(struct grafts *g, const struct graft_order *order, bool is_kept,
		      enum graft_role role)
{
	int place = open_place(g->root, order);
	int tree = place < 0 ? -1 : clone_read_only(place);
	int error = 0;

	if (tree >= 0 && is_kept && g->count + 2 > GRAFT_MAX_OPEN)
		error = E2BIG;
	else if (tree < 0 || move(tree, place) < 0)
		error = errno;
	if (!error && is_kept) {
		(void)keep(g, tree, role, order->pin); /* there is room */
		keep_below(g, place);
		return tree;
	}
	fd_done(&place);
	fd_done(&tree);
	errno = error;
	return error ? -1 : 0;
}

static int begin(struct grafts *g, const struct graft_order *order)
{
	g->number = order->number;
	g->top = mount_copy(g, order, true, GRAFT_TOP);
	return g->top < 0 ? -1 : 0;
}

/* Whether a read-only mount is there already: the graft is a copy of what was around it. */
static bool is_narrow(const struct grafts *g, const struct graft_order *order)
{
	int place = open_place(g->root, order);
	bool is_there = place >= 0 && is_mount_root(place) && is_read_only(place);

	fd_done(&place);
	return is_there;
}

static int narrow(struct grafts *g, const struct graft_order *order, bool is_pin)
{
	if (!is_pin && is_narrow(g, order))
		return 0;
	if (mount_copy(g, order, is_pin, GRAFT_A_PIN) >= 0)
		return 0;
	/* A nested repository (P9) that is gone needs no protection. */
	if (order->may_vanish &&
	    (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ESTALE))
		return 0;
	return -1;
}

static int hide(struct grafts *g, const struct graft_order *order)
{
	if (g->mask(g->user, order->path))
		return 0;
	errno = EIO;
	return -1;
}

/* SECURITY: all that narrows stands. The pins first: they are below what is still read-only. */
static int open_all(struct grafts *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->mounts[i].number == g->number && g->mounts[i].role == GRAFT_A_PIN &&
		    open_mount(g->mounts[i].fd) < 0)
			return -1;
	return open_mount(g->top);
}

/* Whatever was mounted below goes with the top. */
static bool undo(struct grafts *g)
{
	bool is_undone = true;

	/* SECURITY: first of all, also what some may have been opened of it. */
	for (size_t i = 0; i < g->count; i++)
		if (g->mounts[i].number == g->number && g->mounts[i].role <= GRAFT_A_PIN)
			is_undone &= close_mount(g->mounts[i].fd) == 0;
	if (g->top >= 0) {
		if (fchdir(g->top) == 0)
			is_undone &= syscall(SYS_umount2, ".", DETACH) == 0;
		else
			is_undone &= errno == ENOTDIR; /* a file: its read-only copy may stay */
		is_undone &= chdir("/") == 0;
		forget(g, g->number);
	}
	g->top = -1;
	return is_undone;
}

/* ---- Closing it ------------------------------------------------------------------------------ */

static int find_top(const struct grafts *g, uint32_t number)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->mounts[i].number == number && g->mounts[i].role == GRAFT_TOP)
			return g->mounts[i].fd;
	errno = ENOENT;
	return -1;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/*
 * Whether somebody on the host has removed what a mount is on: then the kernel has detached it everywhere.
 * SECURITY: what was renamed and then detached could still be written to.
 */
static bool is_removed(int mount)
{
	struct stat st;

	return close_mount(mount) < 0 && errno == EINVAL && fstat(mount, &st) == 0 &&
	       st.st_nlink == 0;
}

/* Another grant above it may have copied it, and then the path shows that copy. */
static int mount_cover(struct grafts *g, const struct graft_order *order)
{
	int place;

	g->number = order->number;
	g->top = find_top(g, order->number);
	if (g->top < 0)
		return -1;
	g->seen = open_place(g->root, order);
	if (g->seen >= 0 && !is_same_file(g->seen, g->top))
		fd_close(&g->seen);
	g->is_gone = g->seen < 0 && is_removed(g->top);
	if (g->is_gone)
		return 0;
	/* SECURITY: who is in it gets past the cover. */
	if (g->seen >= 0 && !keep(g, g->seen, GRAFT_SEEN, 0)) {
		fd_close(&g->seen);
		errno = E2BIG;
		return -1;
	}
	place = g->seen >= 0 ? g->seen : g->top;
	g->cover = clone_read_only(place);
	return g->cover < 0 ? -1 : move(g->cover, place);
}

static bool part_is_gone(const struct grafts *g, const struct graft_order *order)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct graft_mount *m = &g->mounts[i];

		if (m->number == order->part && m->pin == order->pin && m->role <= GRAFT_A_PIN)
			return is_removed(m->fd);
	}
	return false;
}

/*
 * What is at the path in a tree becomes read-only; one that is being written to, later. A tree that need
 * not have it may have been made before, or after.
 */
static int shut_in(struct grafts *g, int dir, const struct graft_order *order, bool must_have)
{
	int fd = open_place(dir, order);
	int error = fd < 0 || close_mount(fd) < 0 ? errno : 0;

	if (error == EBUSY && keep(g, fd, GRAFT_BUSY, 0))
		return 0;
	if (error == EBUSY)
		error = E2BIG;
	fd_done(&fd);
	/* It is not there, or no mount is on it (any more). */
	if ((error == ENOENT || error == ENOTDIR || error == ELOOP || error == EINVAL) &&
	    (!must_have || part_is_gone(g, order)))
		return 0;
	errno = error;
	return error ? -1 : 0;
}

static bool is_tree(const struct graft_mount *m)
{
	return m->role != GRAFT_A_PIN && m->role != GRAFT_BUSY;
}

/* In the trees of a graft that nobody sees any more, but somebody may be in. */
static int shut_in_trees(struct grafts *g, const struct graft_order *order)
{
	const size_t count = g->count; /* it adds some */

	for (size_t i = 0; i < count; i++) {
		const struct graft_mount *m = &g->mounts[i];

		if (m->number == order->number && is_tree(m) && m->fd != g->cover &&
		    shut_in(g, m->fd, order, false) < 0)
			return -1;
	}
	return 0;
}

/*
 * In the cover, which is a copy of the graft with all mounts below it (the kernel changes them only when it
 * is mounted); and in the graft, because who has a directory of it open gets past the cover.
 */
static int shut(struct grafts *g, const struct graft_order *order)
{
	if (order->kind == GRAFT_SHUT_IN)
		return shut_in_trees(g, order);
	if (g->is_gone)
		return 0;
	g->keeps_cover |= order->kind == GRAFT_SHUT_UNDER;
	if (order->kind == GRAFT_SHUT && shut_in(g, g->cover, order, true) < 0)
		return -1;
	if (shut_in(g, g->seen >= 0 ? g->seen : g->top, order, true) < 0)
		return -1;
	return shut_in_trees(g, order);
}

/* How many can't be read-only yet; -1: one never will be. */
static int close_all(struct grafts *g, uint32_t number)
{
	int busy = 0;

	for (size_t i = 0; i < g->count; i++) {
		int fd = g->mounts[i].fd;

		if (g->mounts[i].number != number || close_mount(fd) == 0)
			continue;
		if (errno == EBUSY)
			busy++;
		else if (errno != EINVAL || !is_removed(fd))
			return -1;
	}
	if (busy == 0)
		forget(g, number);
	return busy;
}

/* The cover may hold what can be closed only later. */
static int end_cover(struct grafts *g)
{
	if (g->keeps_cover && g->cover >= 0) {
		if (!keep(g, g->cover, GRAFT_A_COVER, 0))
			return -1;
		g->cover = -1;
	}
	return 0;
}

static int retry(struct grafts *g, uint32_t number)
{
	int busy = close_all(g, number);

	g->answer.busy = busy > 0 ? (uint32_t)busy : 0;
	return busy < 0 ? -1 : 0;
}

/* ---- Orders ----------------------------------------------------------------------------------- */

static bool give_answer(struct grafts *g, int fd)
{
	struct graft_answer answer = g->answer;
	int r;

	answer.serial = ++g->serial;
	g->answer = (struct graft_answer){ .os_error = 0 };
	g->step = 0;
	g->top = g->seen = -1;
	g->is_gone = g->keeps_cover = false;
	fd_close(&g->cover);
	if (fd < 0)
		return fd_pass_tell(g->channel, &answer, sizeof(answer), 0) ==
		       (ssize_t)sizeof(answer);
	r = fd_pass_send(g->channel, &answer, sizeof(answer), &fd, 1, 0);
	close(fd);
	return r == 0;
}

static int detach(struct grafts *g, const struct graft_order *order)
{
	int place = open_place(g->root, order);
	int tree = place < 0 ? -1 : clone_read_only(place);

	fd_done(&place);
	if (tree >= 0 && open_mount(tree) < 0)
		fd_close(&tree);
	return tree;
}

static int carry_out(struct grafts *g, const struct graft_order *order)
{
	switch ((enum graft_order_kind)order->kind) {
	case GRAFT_BEGIN:
		return begin(g, order);
	case GRAFT_NARROW:
		return narrow(g, order, false);
	case GRAFT_PIN:
		return narrow(g, order, true);
	case GRAFT_HIDE:
		return hide(g, order);
	case GRAFT_OPEN:
		return open_all(g);
	case GRAFT_COVER:
		return mount_cover(g, order);
	case GRAFT_SHUT:
	case GRAFT_SHUT_UNDER:
	case GRAFT_SHUT_IN:
		return shut(g, order);
	case GRAFT_CLOSE:
		return end_cover(g) < 0 ? -1 : retry(g, g->number);
	case GRAFT_RETRY:
		return retry(g, order->number);
	case GRAFT_SYNC:
	case GRAFT_NONE:
	case GRAFT_DETACH:
		break;
	}
	return 0;
}

static void note_failure(struct grafts *g, const struct graft_order *order)
{
	g->answer.os_error = errno ? errno : EIO;
	g->answer.step = g->step;
	g->answer.kind = order->kind;
}

static void note_mount(struct grafts *g)
{
	struct statx st;

	if (g->top >= 0 && look(g->top, &st) == 0)
		g->answer.mount = st.stx_mnt_id;
}

bool grafts_follow(struct grafts *g, const struct graft_order *order)
{
	int fd = -1;

	errno = 0;
	/* What follows a failure is left out, up to the end of the transaction. */
	if (g->answer.os_error == 0 && order->kind == GRAFT_DETACH) {
		fd = detach(g, order);
		if (fd < 0)
			note_failure(g, order);
	} else if (g->answer.os_error == 0 && carry_out(g, order) < 0) {
		note_failure(g, order);
	}
	g->step++;
	if (!graft_is_answered(order->kind))
		return true;
	if (order->kind == GRAFT_OPEN && g->answer.os_error && !undo(g))
		g->answer.kind = GRAFT_NONE;
	note_mount(g);
	return give_answer(g, fd);
}

void grafts_init(struct grafts *g, int root, int channel)
{
	g->root = root;
	g->channel = channel;
	g->count = 0;
	g->top = g->seen = g->cover = -1;
	g->is_gone = g->keeps_cover = false;
	g->step = g->number = g->serial = 0;
	g->answer = (struct graft_answer){ .os_error = 0 };
}
