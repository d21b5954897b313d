/* SPDX-License-Identifier: MIT */
/* See opener.h. */
#include "linux/live/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

struct answer {
	uint64_t call;
	int32_t result; /* or -errno */
	uint32_t flags;
	uint32_t has_fd; /* one comes with it */
};

enum { OPEN_TRIES = 4, SEND_MS = 1000, END_MS = 1000 };

/* ---- In the process --------------------------------------------------------------------------- */

struct job {
	int channel, root, user_ns, mount_ns;
	int own; /* /proc/self/fd */
	int dir; /* that came with the order, or -1 */
};

static const char *path_of(const struct opener_order *o)
{
	return o->texts;
}

static const char *other_of(const struct opener_order *o)
{
	return o->texts + o->path_bytes;
}

static int look_up(const struct job *j, const char *path, uint64_t flags, uint64_t mode)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.mode = mode,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	int start = j->root;

	if (j->dir >= 0) {
		start = j->dir;
		how.resolve |= RESOLVE_NO_XDEV;
	}
	return (int)syscall(SYS_openat2, start, path, &how, sizeof(how));
}

/* The directory of `path`, opened, and the name in it. */
static int look_up_dir(const struct job *j, const char *path, const char **name)
{
	UNINITIALIZED char dir[PATH_MAX_BYTES];
	const char *slash = strrchr(path, '/');

	*name = slash ? slash + 1 : path;
	if (!slash)
		return look_up(j, ".", O_PATH | O_DIRECTORY, 0);
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	return look_up(j, dir, O_PATH | O_DIRECTORY, 0);
}

struct number {
	char text[16];
};

static const char *name_of(int fd, struct number *out)
{
	char *at = out->text + sizeof(out->text) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + fd % 10);
	while ((fd /= 10) > 0);
	return at;
}

static int type_error(mode_t mode)
{
	if (S_ISLNK(mode))
		return ELOOP;
	if (S_ISDIR(mode))
		return EISDIR;
	return S_ISSOCK(mode) ? ENXIO : EACCES;
}

static int clear_nonblock(int fd, int flags)
{
	int has = (flags & O_NONBLOCK) ? 0 : fcntl(fd, F_GETFL);
	int error;

	if (flags & O_NONBLOCK || (has >= 0 && fcntl(fd, F_SETFL, has & ~O_NONBLOCK) == 0))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/*
 * SECURITY: opens what was looked at, and only a regular file: opening a FIFO or a device would
 * already reach somebody on the host.
 */
static int open_found(const struct job *j, int found, int flags)
{
	struct number number;
	struct stat st;

	if (fstat(found, &st) < 0)
		return -errno;
	if (flags & O_EXCL)
		return -EEXIST;
	if (!S_ISREG(st.st_mode))
		return -type_error(st.st_mode);
	flags &= ~(O_CREAT | O_NOFOLLOW);
	/* Who holds a lease on it must not hold up all other calls: the caller hears EAGAIN. */
	found = openat(j->own, name_of(found, &number), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return found < 0 ? -errno : clear_nonblock(found, flags);
}

static int open_file(const struct job *j, const struct opener_order *o)
{
	const int flags = (int)o->flags;
	int fd = -1;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		fd = look_up(j, path_of(o), (uint64_t)flags, o->mode);
	for (int i = 0; (flags & O_TMPFILE) != O_TMPFILE && i < OPEN_TRIES; i++) {
		int found = look_up(j, path_of(o), O_PATH | O_NOFOLLOW, 0);

		if (found >= 0) {
			fd = open_found(j, found, flags);
			close(found);
			return fd;
		}
		if (errno != ENOENT || !(flags & O_CREAT))
			break;
		fd = look_up(j, path_of(o), (uint64_t)(flags | O_EXCL | O_NOFOLLOW | O_NOCTTY),
			     o->mode);
		if (fd >= 0 || errno != EEXIST || flags & O_EXCL)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Of the files that this process makes larger; the signal about it is blocked here. */
static int limit_length(uint64_t bytes)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0)
		return -1;
	limit.rlim_cur = MIN_OF((rlim_t)bytes, limit.rlim_max);
	return (int)syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &limit, NULL);
}

static int truncate_file(const struct job *j, const struct opener_order *o)
{
	int found = look_up(j, path_of(o), O_PATH | O_NOFOLLOW, 0);
	int fd = found < 0 ? -errno : open_found(j, found, O_WRONLY);
	int r = fd;

	fd_done(&found);
	if (fd < 0)
		return r;
	r = limit_length(o->max_length) < 0 || ftruncate(fd, o->length) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* What changes a name in its directory. */
static int change_name(const struct job *j, const struct opener_order *o)
{
	const char *name, *other = NULL;
	int dir = look_up_dir(j, path_of(o), &name);
	int to = -1;
	int r = -1;

	if (dir >= 0 && (o->act == OPENER_RENAME || o->act == OPENER_LINK))
		to = look_up_dir(j, other_of(o), &other);
	if (dir < 0 || (other && to < 0))
		r = -1;
	else if (o->act == OPENER_MKDIR)
		r = mkdirat(dir, name, o->mode & 01777);
	else if (o->act == OPENER_MKNOD)
		r = mknodat(dir, name, o->mode & (S_IFMT | 01777), 0);
	else if (o->act == OPENER_SYMLINK)
		r = symlinkat(other_of(o), dir, name);
	else if (o->act == OPENER_UNLINK)
		r = unlinkat(dir, name, 0);
	else if (o->act == OPENER_RMDIR)
		r = unlinkat(dir, name, AT_REMOVEDIR);
	else if (o->act == OPENER_RENAME)
		r = (int)syscall(SYS_renameat2, dir, name, to, other, o->flags);
	else if (o->act == OPENER_LINK)
		r = linkat(to, other, dir, name, 0);
	r = r < 0 ? -errno : 0;
	fd_done(&dir);
	fd_done(&to);
	return r;
}

static int change_metadata(const struct job *j, const struct opener_order *o)
{
	struct number number;
	int found = look_up(j, path_of(o), O_PATH | O_NOFOLLOW, 0);
	struct stat st;
	int r = found < 0 ? -1 : fstat(found, &st);

	if (r == 0 && o->act == OPENER_UTIME) {
		r = utimensat(found, "", o->times, AT_EMPTY_PATH);
	} else if (r == 0 && S_ISLNK(st.st_mode)) {
		r = -1;
		errno = EOPNOTSUPP;
	} else if (r == 0) {
		r = fchmodat(j->own, name_of(found, &number), o->mode & 01777, 0);
	}
	r = r < 0 ? -errno : 0;
	fd_done(&found);
	return r;
}

static int perform(const struct job *j, const struct opener_order *o)
{
	(void)umask(o->mask & 0777);
	switch ((enum opener_act)o->act) {
	case OPENER_OPEN:
		return open_file(j, o);
	case OPENER_TRUNCATE:
		return truncate_file(j, o);
	case OPENER_CHMOD:
	case OPENER_UTIME:
		return change_metadata(j, o);
	case OPENER_MKDIR:
	case OPENER_MKNOD:
	case OPENER_SYMLINK:
	case OPENER_LINK:
	case OPENER_UNLINK:
	case OPENER_RMDIR:
	case OPENER_RENAME:
		return change_name(j, o);
	}
	return -EPERM;
}

static bool give_answer(const struct job *j, const struct opener_order *o, int result)
{
	struct answer answer = { .call = o->call, .result = result, .flags = o->flags };
	int r;

	if (o->act != OPENER_OPEN || result < 0)
		return fd_pass_tell(j->channel, &answer, sizeof(answer), 0) ==
		       (ssize_t)sizeof(answer);
	answer.result = 0;
	answer.has_fd = 1;
	r = fd_pass_send(j->channel, &answer, sizeof(answer), &result, 1, 0);
	close(result);
	return r == 0;
}

/* SECURITY: the order of these: the rights go last, and for good. */
static bool join(const struct job *j)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { .effective = 0 } };

	if (setns(j->user_ns, CLONE_NEWUSER) < 0)
		return false;
	os_wake_with_parent();
	return setns(j->mount_ns, CLONE_NEWNS) == 0 &&
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
	       syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static void run(void *arg, int parent)
{
	struct job *j = arg;
	UNINITIALIZED struct opener_order order;
	int32_t error = 0;

	j->own = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (j->own < 0 || !join(j))
		error = errno;
	if (fd_pass_tell(j->channel, &error, sizeof(error), 0) < 0 || error)
		_exit(1);
	while (os_await_parent(j->channel, parent)) {
		size_t count = 1;
		ssize_t n = fd_pass_receive(j->channel, &order, sizeof(order), &j->dir, &count);

		if (n < (ssize_t)offsetof(struct opener_order, texts))
			break;
		if (count == 0)
			j->dir = -1;
		if ((order.has_dir != 0) != (j->dir >= 0) ||
		    !give_answer(j, &order, perform(j, &order)))
			break;
		fd_done(&j->dir);
		j->dir = -1;
	}
	_exit(0);
}

/* ---- In this process --------------------------------------------------------------------------- */

static int on_answer(void *user, uint32_t events, struct err *e)
{
	struct opener *o = user;
	struct opener_order order = { .act = OPENER_OPEN };
	struct answer answer;
	size_t count = 1;
	int fd = -1;
	ssize_t n = fd_pass_receive(o->answers.fd, &answer, sizeof(answer), &fd, &count);

	(void)events;
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	/* SECURITY: callers wait for it, and nobody would answer them. */
	if (n != (ssize_t)sizeof(answer))
		return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
				  "the process that opens files in the sandbox was killed");
	o->is_stuck = false;
	order.call = answer.call;
	order.flags = answer.flags;
	if (count == 0)
		fd = -1;
	/* SECURITY: this process has no room for it. An open never succeeds without a descriptor. */
	if (answer.has_fd && fd < 0)
		answer.result = -EMFILE;
	o->done(o->user, &order, answer.result, fd);
	fd_done(&fd);
	return 0;
}

static int await_start(int channel, struct err *e)
{
	int32_t error = 0;
	ssize_t n;

	do
		n = recv(channel, &error, sizeof(error), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(error))
		return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
				  "the process that opens files in the sandbox was killed");
	if (error)
		return FAIL_SYS(e, error, "can't join the sandbox to open files");
	if (fcntl(channel, F_SETFL, O_NONBLOCK) < 0)
		return FAIL_SYS(e, errno, "can't set up a channel");
	return 0;
}

int opener_start(struct opener *o, struct loop *loop, const struct sandbox *sandbox, struct err *e)
{
	struct job job = { .root = sandbox->root,
			   .user_ns = sandbox->user_ns,
			   .mount_ns = sandbox->mount_ns,
			   .own = -1,
			   .dir = -1 };
	int kept[] = { -1, job.root, job.user_ns, job.mount_ns };
	int pair[2], r = 0;

	if (o->pidfd >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_SYS(e, errno, "can't make a channel");
	job.channel = kept[0] = pair[1];
	if (os_fork_helper(&(struct os_helper){ .name = "cordon-opener",
						.run = run,
						.is_detached = true,
						.arg = &job,
						.kept = kept,
						.kept_count = COUNT_OF(kept) },
			   &o->pidfd) < 0)
		r = FAIL_START(e, errno, "can't start a process");
	close(pair[1]);
	o->loop = loop;
	o->answers =
		(struct watcher){ .fd = pair[0], .ready = on_answer, .user = o, .is_urgent = true };
	if (r == 0)
		r = await_start(pair[0], e);
	if (r == 0)
		r = loop_add(loop, &o->answers, LOOP_IN, e);
	if (r < 0)
		opener_stop(o);
	return r;
}

void opener_stop(struct opener *o)
{
	struct pollfd ended = { .fd = o->pidfd, .events = POLLIN };

	if (o->loop)
		loop_remove(o->loop, &o->answers);
	fd_close(&o->answers.fd);
	if (o->pidfd >= 0) {
		os_kill(o->pidfd, SIGKILL);
		/* One that hangs in a file system can't die before that answers. */
		if (poll(&ended, 1, END_MS) > 0)
			os_reap(o->pidfd);
	}
	fd_close(&o->pidfd);
}

bool opener_set_paths(struct opener_order *order, struct str path, struct str other)
{
	if (path.len >= PATH_MAX_BYTES || other.len >= PATH_MAX_BYTES)
		return false;
	memcpy(order->texts, path.p, path.len);
	order->texts[path.len] = '\0';
	order->path_bytes = (uint32_t)path.len + 1;
	if (other.len)
		memcpy(order->texts + order->path_bytes, other.p, other.len);
	order->texts[order->path_bytes + other.len] = '\0';
	order->other_bytes = (uint32_t)other.len + 1;
	return true;
}

int opener_ask(struct opener *o, const struct opener_order *order, int dir)
{
	const uint64_t until = loop_now() + SEND_MS;
	const size_t bytes =
		offsetof(struct opener_order, texts) + order->path_bytes + order->other_bytes;
	UNINITIALIZED struct opener_order copy;

	memcpy(&copy, order, bytes);
	/* It hangs, on a file system that does not answer: don't wait for each call anew. */
	while (!o->is_stuck) {
		struct pollfd ready = { .fd = o->answers.fd, .events = POLLIN | POLLOUT };
		struct err e = ERR_INIT;
		ssize_t n = dir >= 0 ? fd_pass_send(o->answers.fd, &copy, bytes, &dir, 1, 0)
				     : fd_pass_tell(o->answers.fd, &copy, bytes, 0);

		if (n < 0 && dir < 0)
			n = -errno;
		if (n >= 0)
			return 0;
		if (n != -EAGAIN && n != -EINTR)
			return (int)n;
		o->is_stuck = loop_now() >= until;
		/* With many calls at once it waits until somebody reads its answers. */
		if (poll(&ready, 1, 10) > 0 && (ready.revents & POLLIN) &&
		    on_answer(o, LOOP_IN, &e) < 0)
			return -EIO;
	}
	return -EIO;
}
