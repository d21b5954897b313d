/* SPDX-License-Identifier: MIT */
/* See stream.h. */
#include "linux/notify/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "linux/notify/rights.h"
#include "linux/notify/unix_lookup.h"
#include "os/child.h"
#include "os/fd.h"

/* ---- Which file ------------------------------------------------------------------------ */

/* As it is known here: none of this changes, and the server of a network file system may be away. */
static int look(int fd, struct stream_file *out, mode_t *mode)
{
	const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
	struct statx st;

	if (syscall(SYS_statx, fd, "", flags, STATX_TYPE | STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	*out = (struct stream_file){ .device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
				     .inode = st.stx_ino,
				     .mount = st.stx_mnt_id };
	*mode = st.stx_mode;
	return 0;
}

int stream_look(int fd, struct stream_file *out)
{
	mode_t mode;

	return look(fd, out, &mode);
}

bool stream_is_same(const struct stream_file *a, const struct stream_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->mount == b->mount;
}

enum stream_kind streams_find(const struct streams *s, const struct stream_file *file)
{
	enum stream_kind kind = STREAM_FREE;

	for (size_t i = 0; i < COUNT_OF(s->items); i++)
		if (s->items[i].kind > kind && stream_is_same(&s->items[i].file, file))
			kind = s->items[i].kind;
	return kind;
}

enum stream_kind streams_most(const struct streams *s)
{
	enum stream_kind kind = STREAM_FREE;

	for (size_t i = 0; i < COUNT_OF(s->items); i++)
		kind = MAX_OF(kind, s->items[i].kind);
	return kind;
}

/* ---- The caller's descriptor ------------------------------------------------------------- */

/* What a descriptor of the caller's is now: O_PATH, which opens no device and waits for nobody. */
static int look_at(const struct engine *engine, const struct engine_call *call, int fd,
		   struct stream_file *file, mode_t *mode)
{
	char name[CALLER_PATH_BYTES];
	scoped_fd found = -1;
	int r;

	(void)snprintf(name, sizeof(name), "fd/%d", fd);
	found = fd < 0 ? -1 : caller_open(call->pid, name, O_PATH);
	if (found < 0)
		return -EBADF;
	r = look(found, file, mode);
	if (r == 0 && !engine_is_waiting(engine, call->id))
		r = -ESRCH;
	return r;
}

/* SECURITY: by now the command may have put another file at this number; compare again. */
static int take(const struct engine *engine, const struct engine_call *call, int fd,
		const struct stream_file *seen)
{
	int taken = engine_take_fd(engine, call, fd);
	struct stream_file file;

	if (taken < 0)
		return taken;
	if (stream_look(taken, &file) == 0 && stream_is_same(&file, seen))
		return taken;
	(void)close(taken);
	return -EBADF;
}

/* ---- Length -------------------------------------------------------------------------------- */

static int set_length(int fd, int64_t length)
{
	struct rights rights;
	int r = rights_drop(&rights);

	if (r < 0)
		return r;
	/* Landlock allowed the caller to open it for writing, so truncating is allowed, too. */
	r = ftruncate(fd, (off_t)length) < 0 ? -errno : 0;
	rights_restore(&rights);
	return r;
}

/* Of the caller's own limit, which is not this process's. */
static int check_limit(int32_t pid, int64_t length)
{
	struct rlimit limit;

	if (length < 0)
		return -EINVAL;
	if (syscall(SYS_prlimit64, pid, RLIMIT_FSIZE, NULL, &limit) < 0)
		return -errno;
	return (uint64_t)length > limit.rlim_cur ? -EFBIG : 0;
}

static int change_length(const struct streams *s, const struct engine *engine,
			 const struct engine_call *call)
{
	int fd = (int)call->args[0];
	int64_t length = (int64_t)call->args[1];
	scoped_fd taken = -1;
	struct stream_file file;
	mode_t mode;
	int r = look_at(engine, call, fd, &file, &mode);

	if (r == 0 && streams_find(s, &file) == STREAM_APPENDED)
		r = -EPERM;
	/* SECURITY: only a regular file: closing another kind here could block the supervisor. */
	if (r == 0 && !S_ISREG(mode))
		r = -EINVAL;
	if (r == 0)
		r = check_limit(call->pid, length);
	if (r < 0)
		return r;
	taken = take(engine, call, fd, &file);
	return taken < 0 ? taken : set_length(taken, length);
}

static enum engine_answer on_length(void *user, struct engine *engine,
				    const struct engine_call *call, int64_t *value)
{
	*value = change_length(user, engine, call);
	return ENGINE_RETURN;
}

/* ---- Flags --------------------------------------------------------------------------------- */

struct flagging {
	const struct engine *engine;
	const struct engine_call *call;
	const struct stream_file *file;
};

static int set_flags(const struct flagging *f)
{
	scoped_fd taken = take(f->engine, f->call, (int)f->call->args[0], f->file);
	struct rights rights;
	int r = taken < 0 ? taken : rights_drop(&rights);

	if (r < 0)
		return r;
	r = fcntl(taken, F_SETFL, (int)f->call->args[2]) < 0 ? -errno : 0;
	rights_restore(&rights);
	return r;
}

/* The end of this process closes the socket; SO_LINGER does not delay that. */
static void set_flags_of_socket(void *arg)
{
	const struct flagging *f = arg;
	int taken = take(f->engine, f->call, (int)f->call->args[0], f->file);
	int r = taken < 0 ? taken : 0;

	if (r == 0 && fcntl(taken, F_SETFL, (int)f->call->args[2]) < 0)
		r = -errno;
	_exit(-r);
}

/* SECURITY: the last close of a socket may block (SO_LINGER); it must not block the supervisor. */
static int set_flags_elsewhere(struct flagging *f)
{
	int pidfd = -1, status;

	if (os_fork(0, set_flags_of_socket, f, &pidfd) < 0)
		return -errno;
	status = os_reap(pidfd);
	(void)close(pidfd);
	return status < 0 || status > 127 ? -EPERM : -status;
}

static int change_flags(const struct streams *s, const struct engine *engine,
			const struct engine_call *call)
{
	struct stream_file file;
	struct flagging flagging = { .engine = engine, .call = call, .file = &file };
	mode_t mode;
	int r = look_at(engine, call, (int)call->args[0], &file, &mode);

	if (r < 0)
		return r;
	if (streams_find(s, &file) == STREAM_APPENDED)
		return -EPERM;
	return S_ISSOCK(mode) ? set_flags_elsewhere(&flagging) : set_flags(&flagging);
}

static enum engine_answer on_flags(void *user, struct engine *engine,
				   const struct engine_call *call, int64_t *value)
{
	*value = change_flags(user, engine, call);
	return ENGINE_RETURN;
}

/* ---- Opening ------------------------------------------------------------------------------- */

struct opening {
	uint64_t path;
	int flags;
};

static struct opening read_opening(const struct engine_call *call)
{
	const uint64_t *a = call->args;

#ifdef SYS_open
	if (call->number == SYS_open)
		return (struct opening){ a[0], (int)a[1] };
	if (call->number == SYS_creat)
		return (struct opening){ a[0], O_CREAT | O_WRONLY | O_TRUNC };
#endif
	return (struct opening){ a[1], (int)a[2] };
}

/* The caller's descriptor that a path names, or -1. */
static int find_named(const struct engine *engine, const struct engine_call *call,
		      const struct opening *o)
{
	const int access = o->flags & O_ACCMODE;
	char path[CALLER_PATH_BYTES];

	if (o->flags & (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_EXCL))
		return -1;
	/* Opens for reading are notified so that refusals can be named; Landlock refuses this one. */
	if (access != O_WRONLY && access != O_RDWR)
		return -1;
	if (engine_read_text(engine, call, o->path, path, sizeof(path)) < 0)
		return -1;
	return lookup_own_descriptor(path);
}

/*
 * SECURITY: the kernel opens everything but streams, and reads the path again. If the command has
 * changed the path to a stream's meanwhile, the open fails: Landlock has no rule for that file.
 */
static enum engine_answer on_open(void *user, struct engine *engine, const struct engine_call *call,
				  int64_t *value)
{
	const struct streams *s = user;
	const struct opening opening = read_opening(call);
	int fd = find_named(engine, call, &opening);
	scoped_fd taken = -1;
	struct stream_file file;
	mode_t mode;

	if (fd < 0 || look_at(engine, call, fd, &file, &mode) < 0 ||
	    streams_find(s, &file) != STREAM_APPENDED)
		return ENGINE_CONTINUE;
	taken = take(engine, call, fd, &file);
	*value = taken;
	if (taken < 0)
		return ENGINE_RETURN;
	return engine_give_fd(engine, call, taken, opening.flags & O_CLOEXEC, value);
}

void streams_start(struct engine *engine, const struct streams *streams)
{
	/* Handlers do not change what they are given. */
	void *user = (void *)(uintptr_t)streams;
	const struct engine_handler handlers[] = {
		{ SYS_ftruncate, on_length, user }, { SYS_fcntl, on_flags, user },
		{ SYS_openat, on_open, user },
#ifdef SYS_open
		{ SYS_open, on_open, user },	    { SYS_creat, on_open, user },
#endif
	};

	/* Otherwise opens are notified only so that refusals can be named (naming.h). */
	if (streams_most(streams) != STREAM_APPENDED)
		return;
	for (size_t i = 0; i < COUNT_OF(handlers); i++)
		engine_handle(engine, &handlers[i]);
}
