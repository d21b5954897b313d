/* SPDX-License-Identifier: MIT */
/*
 * The masker; see masker.h. A mask is a file or directory of mode 000 on a read-only file system
 * that holds nothing else. The masker keeps it in its own mount namespace: before Linux 6.15 a
 * process can clone only mounts of its own namespace, and in the sandbox's the command would see it.
 */
#include "linux/placeholder/masker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "linux/live/graft.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

/* What the process knows. */
struct job {
	int channel, root, user_ns, mount_ns, own_ns;
	int spare[2]; /* a mask for a file, one for a directory, ready to be attached; or -1 */
	struct masker_counts *counts;
	struct grafts grafts;
};

enum { MASK_TRIES = 4 };
enum { UMOUNT_LAZILY = 2 }; /* MNT_DETACH; its header can't be had beside linux/mount.h */

static const char *const mask_names[] = { "file", "directory" };

/* The answer to the start: the step that failed and why, or 0. */
struct answer {
	int32_t step, os_error;
};
static const char *const steps[] = { "",
				     "join its user namespace",
				     "make a mount namespace",
				     "make a mask",
				     "keep the mask",
				     "join its mount namespace",
				     "clone the mask" };
enum step {
	STEP_NONE,
	STEP_JOIN_USER,
	STEP_OWN_NAMESPACE,
	STEP_MAKE,
	STEP_KEEP,
	STEP_JOIN_MOUNTS,
	STEP_CLONE,
};

/* ---- In the process ---------------------------------------------------------- */

/* Both masks, on a file system that is mounted nowhere yet. */
static int make_masks(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int top = -1;

	if (context >= 0 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		top = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (top >= 0 &&
	    (mknodat(top, mask_names[0], S_IFREG, 0) < 0 || mkdirat(top, mask_names[1], 0) < 0 ||
	     syscall(SYS_mount_setattr, top, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0))
		fd_close(&top);
	fd_close(&context);
	return top;
}

/* Leaves only `top` in the masker's namespace, so that the masker keeps no other mount busy. */
static int keep_masks(struct job *j, int top)
{
	if (syscall(SYS_move_mount, top, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    fchdir(top) < 0)
		return -1;
	j->own_ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (j->own_ns < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return -1;
	return (int)syscall(SYS_umount2, ".", UMOUNT_LAZILY);
}

/* Clones the masks that are missing; the masker is back in the sandbox afterwards. */
static int fill_spares(struct job *j)
{
	int status = 0;

	if (j->spare[0] >= 0 && j->spare[1] >= 0)
		return 0;
	if (setns(j->own_ns, CLONE_NEWNS) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(mask_names); i++) {
		if (j->spare[i] < 0)
			j->spare[i] = (int)syscall(SYS_open_tree, AT_FDCWD, mask_names[i],
						   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (j->spare[i] < 0)
			status = -1;
	}
	return setns(j->mount_ns, CLONE_NEWNS) < 0 ? -1 : status;
}

static enum step prepare(struct job *j)
{
	int top;

	if (setns(j->user_ns, CLONE_NEWUSER) < 0)
		return STEP_JOIN_USER;
	os_wake_with_parent();
	if (unshare(CLONE_NEWNS) < 0)
		return STEP_OWN_NAMESPACE;
	top = make_masks();
	if (top < 0)
		return STEP_MAKE;
	if (keep_masks(j, top) < 0)
		return STEP_KEEP;
	close(top);
	if (setns(j->mount_ns, CLONE_NEWNS) < 0)
		return STEP_JOIN_MOUNTS;
	return fill_spares(j) < 0 ? STEP_CLONE : STEP_NONE;
}

static bool is_mount_root(const struct statx *st)
{
	return (st->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
	       (st->stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

enum cover { COVER_STANDS, COVER_GONE, COVER_AGAIN, COVER_FAILED };

static enum cover attach(struct job *j, int at, uint32_t mode)
{
	int *mask = &j->spare[S_ISDIR(mode)];

	if (syscall(SYS_move_mount, *mask, "", at, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return errno == ENOENT ? COVER_AGAIN : COVER_FAILED; /* ENOENT: just removed */
	atomic_fetch_add(&j->counts->masked, 1);
	fd_close(mask);
	return COVER_AGAIN;
}

static enum cover cover(struct job *j, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	struct statx st;
	enum cover result;
	int at = (int)syscall(SYS_openat2, j->root, path, &how, sizeof(how));

	/* ELOOP: the path leads through a link now, so the denied name is gone. */
	if (at < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? COVER_GONE
									     : COVER_FAILED;
	if (syscall(SYS_statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
		result = COVER_FAILED;
	else if (is_mount_root(&st))
		result = COVER_STANDS;
	else
		result = attach(j, at, st.stx_mode);
	close(at);
	return result;
}

/*
 * SECURITY: a mask moves with the file that it covers. If the command renames the file between the
 * lookup and the mount, whatever it puts in its place would stay readable. So look again until
 * the path is covered, or nothing is left there.
 */
static bool mask(void *user, const char *path)
{
	struct job *j = user;
	enum cover result = COVER_AGAIN;

	for (int i = 0; result == COVER_AGAIN && i < MASK_TRIES; i++)
		result = fill_spares(j) < 0 ? COVER_FAILED : cover(j, path);
	return result == COVER_STANDS || result == COVER_GONE;
}

static void carry_out(struct job *j, const char *path)
{
	if (!mask(j, path))
		atomic_fetch_add(&j->counts->missed, 1);
	(void)fill_spares(j); /* the next order waits the shorter */
	atomic_fetch_add(&j->counts->done, 1);
}

/* The next order. False: there are no more. */
static bool receive(const struct job *j, struct graft_order *out)
{
	const size_t fixed = offsetof(struct graft_order, path);
	ssize_t n;

	do
		n = recv(j->channel, out, sizeof(*out) - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)fixed)
		return false;
	out->path[(size_t)n - fixed] = '\0';
	return true;
}

static void run(void *arg, int parent)
{
	struct job *j = arg;
	struct answer answer = { .step = (int32_t)prepare(j) };
	UNINITIALIZED struct graft_order order;

	if (answer.step != STEP_NONE)
		answer.os_error = errno;
	if (fd_pass_tell(j->channel, &answer, sizeof(answer), 0) < 0 || answer.step != STEP_NONE)
		_exit(1);
	grafts_init(&j->grafts, j->root, j->channel);
	j->grafts.mask = mask;
	j->grafts.user = j;
	while (os_await_parent(j->channel, parent) && receive(j, &order)) {
		if (order.kind == GRAFT_NONE)
			carry_out(j, order.path);
		else if (!grafts_follow(&j->grafts, &order))
			break;
	}
	_exit(0);
}

/* ---- In this process ------------------------------------------------------------ */

bool masker_is_covered(int dir, const char *name)
{
	struct statx st;

	return syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st) == 0 &&
	       is_mount_root(&st);
}

static int start_process(struct masker *m, struct job *j, struct err *e)
{
	const int kept[] = { j->channel, j->root, j->user_ns, j->mount_ns };

	if (os_fork_helper(&(struct os_helper){ .name = "cordon-masker",
						.run = run,
						.is_detached = true,
						.arg = j,
						.kept = kept,
						.kept_count = COUNT_OF(kept) },
			   &m->pidfd) < 0)
		return FAIL_START(e, errno, "can't start a process");
	return 0;
}

static int await_start(const struct masker *m, struct err *e)
{
	struct answer answer = { .step = STEP_NONE };
	ssize_t n;

	do
		n = recv(m->channel, &answer, sizeof(answer), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(answer))
		return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
				  "the process that covers names in the sandbox was killed");
	if (answer.step != STEP_NONE)
		return FAIL_SYS(e, answer.os_error, "can't cover names in the sandbox: can't %s",
				steps[answer.step]);
	if (fcntl(m->channel, F_SETFL, O_NONBLOCK) < 0)
		return FAIL_SYS(e, errno, "can't set up a channel");
	return 0;
}

int masker_start(struct masker *m, const struct sandbox *sandbox, struct err *e)
{
	struct masker started = MASKER_NONE;
	struct job job = { .root = sandbox->root,
			   .user_ns = sandbox->user_ns,
			   .mount_ns = sandbox->mount_ns,
			   .own_ns = -1,
			   .spare = { -1, -1 } };
	uint64_t ignored;
	int pair[2];
	int r;

	started.counts = mmap(NULL, sizeof(*started.counts), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (started.counts == MAP_FAILED)
		return FAIL_SYS(e, errno, "can't share memory with a process");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = FAIL_SYS(e, errno, "can't make a channel");
	} else {
		started.channel = pair[0];
		job.channel = pair[1];
		job.counts = started.counts;
		r = start_process(&started, &job, e);
		close(pair[1]);
		if (r == 0)
			r = await_start(&started, e);
	}
	if (r < 0)
		masker_stop(&started, &ignored, &ignored);
	else
		*m = started;
	return r;
}

int masker_order(struct masker *m, struct str path, struct err *e)
{
	UNINITIALIZED struct graft_order order;
	const size_t fixed = offsetof(struct graft_order, path);
	ssize_t n;

	memset(&order, 0, fixed);
	path = str_from(path, 1); /* from the sandbox's root on */
	if (path.len >= sizeof(order.path))
		return FAIL(e, ERR_INTERNAL, "a path is too long to be covered");
	memcpy(order.path, path.p, path.len);
	do
		n = fd_pass_tell(m->channel, &order, fixed + path.len, 0);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	if (errno == EAGAIN)
		return 0;
	return FAIL_SYS(e, errno, "the process that covers names in the sandbox ended");
}

void masker_stop(struct masker *m, uint64_t *masked, uint64_t *missed)
{
	*masked = *missed = 0;
	fd_close(&m->channel);
	if (m->pidfd >= 0) {
		os_kill(m->pidfd, SIGKILL);
		os_reap(m->pidfd);
	}
	fd_close(&m->pidfd);
	if (!m->counts)
		return;
	*masked = atomic_load(&m->counts->masked);
	*missed = atomic_load(&m->counts->missed);
	munmap(m->counts, sizeof(*m->counts));
	m->counts = NULL;
}
