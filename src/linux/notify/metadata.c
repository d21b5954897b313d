/* SPDX-License-Identifier: MIT */
/* Changes metadata on a caller's behalf; see metadata.h. */
#include "linux/notify/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/mem.h"
#include "base/path.h"
#include "linux/notify/caller.h"
#include "linux/notify/rights.h"
#include "linux/notify/stream.h"
#include "linux/notify/unix_lookup.h"
#include "os/fd.h"

/* Newer than the headers of some systems; the numbers are the same everywhere. */
enum { CALL_FCHMODAT2 = 452, CALL_SETXATTRAT = 463, CALL_REMOVEXATTRAT = 466 };

enum { ABI_TRUNCATE = 3 }; /* of Landlock (Linux 6.2) */

enum { ATTRIBUTE_MAX_BYTES = 64 << 10, NAME_ROOM = 256 };

enum change_kind { MODE, OWNER, TIMES, SET_ATTRIBUTE, REMOVE_ATTRIBUTE, LENGTH, FLAGS };

/* One call, with all that it points to copied. */
struct change {
	enum change_kind kind;
	int dir;	   /* a descriptor of the caller's, or AT_FDCWD */
	bool is_dir;	   /* `dir` itself is meant */
	uint64_t path;	   /* else its address */
	uint64_t at_flags; /* AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH */
	int named;	   /* the descriptor of the caller's that the path names, or -1 */
	bool is_foreign;   /* of LENGTH: no mount of the caller's leads to it */

	mode_t mode;
	uid_t user;
	gid_t group;
	struct timespec times[2];
	char name[NAME_ROOM];
	char *value; /* of an attribute, on the heap */
	size_t value_bytes;
	int value_flags;
	int64_t length;
	unsigned request; /* of FLAGS */
	union {
		int flags;
		struct fsxattr extended;
	} file;
};

/* What may be written: a directory, not whatever has its name. */
struct root {
	const char *path;
	dev_t device;
	ino_t inode;
};

struct metadata {
	struct engine *engine;
	VEC(struct root) roots;
	bool has_mounts;	     /* which decide, but for the streams: there are no roots */
	bool is_truncation_governed; /* by Landlock */
	const struct streams *streams;
};

/* ---- What is asked for -------------------------------------------------------------- */

struct reader {
	const struct engine *engine;
	const struct engine_call *call;
	struct change *out;
};

static int copy(const struct reader *r, uint64_t address, void *to, size_t size)
{
	return engine_read(r->engine, r->call, address, to, size);
}

static void set_now(struct change *out)
{
	out->times[0].tv_nsec = out->times[1].tv_nsec = UTIME_NOW;
}

static int read_timespecs(const struct reader *r, uint64_t address)
{
	if (!address) {
		set_now(r->out);
		return 0;
	}
	return copy(r, address, r->out->times, sizeof(r->out->times));
}

#ifdef SYS_utime /* newer architectures have utimensat() alone */
static int read_timevals(const struct reader *r, uint64_t address)
{
	struct timeval times[2];
	int status;

	if (!address) {
		set_now(r->out);
		return 0;
	}
	status = copy(r, address, times, sizeof(times));
	if (status < 0)
		return status;
	for (int i = 0; i < 2; i++) {
		/* UTIME_NOW and UTIME_OMIT must not come about. */
		if (times[i].tv_usec < 0 || times[i].tv_usec >= 1000000)
			return -EINVAL;
		r->out->times[i].tv_sec = times[i].tv_sec;
		r->out->times[i].tv_nsec = (long)times[i].tv_usec * 1000;
	}
	return 0;
}

static int read_utimbuf(const struct reader *r, uint64_t address)
{
	struct utimbuf times;
	int status;

	if (!address) {
		set_now(r->out);
		return 0;
	}
	status = copy(r, address, &times, sizeof(times));
	if (status < 0)
		return status;
	r->out->times[0] = (struct timespec){ .tv_sec = times.actime };
	r->out->times[1] = (struct timespec){ .tv_sec = times.modtime };
	return 0;
}
#endif

static int read_name(const struct reader *r, uint64_t address)
{
	int status = engine_read_text(r->engine, r->call, address, r->out->name, NAME_ROOM);

	if (status == 0 && !r->out->name[0])
		status = -ERANGE;
	return status == -ENAMETOOLONG ? -ERANGE : status;
}

static int read_value(const struct reader *r, uint64_t address, uint64_t size, uint64_t flags)
{
	struct err e = ERR_INIT;

	r->out->value_flags = (int)flags;
	if (size > ATTRIBUTE_MAX_BYTES)
		return -E2BIG;
	r->out->value = mem_new(MAX_OF(size, (uint64_t)1), &e);
	if (!r->out->value)
		return -ENOMEM;
	r->out->value_bytes = (size_t)size;
	return copy(r, address, r->out->value, (size_t)size);
}

/* struct xattr_args of Linux 6.13. */
static int read_value_at(const struct reader *r, uint64_t address, uint64_t size)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args;
	int status;

	if (size != sizeof(args))
		return size < sizeof(args) ? -EINVAL : -E2BIG;
	status = copy(r, address, &args, sizeof(args));
	return status < 0 ? status : read_value(r, args.value, args.size, args.flags);
}

static int read_request(const struct reader *r, uint64_t address)
{
	struct change *out = r->out;

	out->request = (unsigned)r->call->args[1];
	if (out->request == FS_IOC_SETFLAGS)
		return copy(r, address, &out->file.flags, sizeof(out->file.flags));
	if (out->request == FS_IOC_FSSETXATTR)
		return copy(r, address, &out->file.extended, sizeof(out->file.extended));
	return -EPERM;
}

static void set_path(struct change *out, uint64_t path, uint64_t at_flags)
{
	out->dir = AT_FDCWD;
	out->path = path;
	out->at_flags = at_flags;
}

static void set_path_at(struct change *out, uint64_t dir, uint64_t path, uint64_t at_flags)
{
	out->dir = (int)dir;
	out->path = path;
	out->at_flags = at_flags;
}

static void set_descriptor(struct change *out, uint64_t fd)
{
	out->dir = (int)fd;
	out->is_dir = true;
}

static int read_mode(const struct reader *r)
{
	const uint64_t *a = r->call->args;
	struct change *out = r->out;

	out->kind = MODE;
	switch (r->call->number) {
#ifdef SYS_chmod
	case SYS_chmod:
		set_path(out, a[0], 0);
		out->mode = a[1] & 07777;
		return 0;
#endif
	case SYS_fchmod:
		set_descriptor(out, a[0]);
		out->mode = a[1] & 07777;
		return 0;
	case SYS_fchmodat:
		set_path_at(out, a[0], a[1], 0);
		out->mode = a[2] & 07777;
		return 0;
	default: /* fchmodat2 */
		set_path_at(out, a[0], a[1], a[3]);
		out->mode = a[2] & 07777;
		return 0;
	}
}

static int read_owner(const struct reader *r)
{
	const uint64_t *a = r->call->args;
	struct change *out = r->out;
	bool has_dir = r->call->number == SYS_fchownat;

	out->kind = OWNER;
	out->user = (uid_t)a[has_dir ? 2 : 1];
	out->group = (gid_t)a[has_dir ? 3 : 2];
	switch (r->call->number) {
#ifdef SYS_chown
	case SYS_chown:
		set_path(out, a[0], 0);
		return 0;
	case SYS_lchown:
		set_path(out, a[0], AT_SYMLINK_NOFOLLOW);
		return 0;
#endif
	case SYS_fchown:
		set_descriptor(out, a[0]);
		return 0;
	default: /* fchownat */
		set_path_at(out, a[0], a[1], a[4]);
		return 0;
	}
}

static int read_times(const struct reader *r)
{
	const uint64_t *a = r->call->args;
	struct change *out = r->out;

	out->kind = TIMES;
	switch (r->call->number) {
#ifdef SYS_utime
	case SYS_utime:
		set_path(out, a[0], 0);
		return read_utimbuf(r, a[1]);
	case SYS_utimes:
		set_path(out, a[0], 0);
		return read_timevals(r, a[1]);
	case SYS_futimesat:
		set_path_at(out, a[0], a[1], 0);
		out->is_dir = !a[1];
		return read_timevals(r, a[2]);
#endif
	default: /* utimensat, which without a path is futimens() */
		set_path_at(out, a[0], a[1], a[3]);
		out->is_dir = !a[1];
		return read_timespecs(r, a[2]);
	}
}

static int read_set_attribute(const struct reader *r)
{
	const uint64_t *a = r->call->args;
	struct change *out = r->out;
	bool is_at = r->call->number == CALL_SETXATTRAT;
	int status = read_name(r, a[is_at ? 3 : 1]);

	out->kind = SET_ATTRIBUTE;
	if (status < 0)
		return status;
	if (is_at) {
		set_path_at(out, a[0], a[1], a[2]);
		return read_value_at(r, a[4], a[5]);
	}
	if (r->call->number == SYS_fsetxattr)
		set_descriptor(out, a[0]);
	else
		set_path(out, a[0], r->call->number == SYS_lsetxattr ? AT_SYMLINK_NOFOLLOW : 0);
	return read_value(r, a[2], a[3], a[4]);
}

static int read_remove_attribute(const struct reader *r)
{
	const uint64_t *a = r->call->args;
	struct change *out = r->out;
	bool is_at = r->call->number == CALL_REMOVEXATTRAT;

	out->kind = REMOVE_ATTRIBUTE;
	if (is_at)
		set_path_at(out, a[0], a[1], a[2]);
	else if (r->call->number == SYS_fremovexattr)
		set_descriptor(out, a[0]);
	else
		set_path(out, a[0], r->call->number == SYS_lremovexattr ? AT_SYMLINK_NOFOLLOW : 0);
	return read_name(r, a[is_at ? 3 : 1]);
}

static int read_length(const struct reader *r)
{
	r->out->kind = LENGTH;
	set_path(r->out, r->call->args[0], 0);
	r->out->length = (int64_t)r->call->args[1];
	return r->out->length < 0 ? -EINVAL : 0;
}

static int read_flags(const struct reader *r)
{
	r->out->kind = FLAGS;
	set_descriptor(r->out, r->call->args[0]);
	return read_request(r, r->call->args[2]);
}

/* ---- Which file ------------------------------------------------------------------------ */

/*
 * SECURITY: a descriptor from outside, and everything below it, is on a mount of the host's. Landlock
 * keeps the command from truncating files there, but not this process, which acts for it.
 */
static bool is_foreign(const struct lookup *l, int file)
{
	struct stream_file found, own;
	scoped_fd again = -1;

	/* From its root nothing leads out. */
	if (l->start < 0)
		return false;
	again = lookup_again(l, file);
	return again < 0 || stream_look(file, &found) < 0 || stream_look(again, &own) < 0 ||
	       !stream_is_same(&found, &own);
}

/* An O_PATH descriptor of the inode that is meant, or -errno. */
static int find_file(const struct metadata *m, const struct engine_call *call,
		     struct change *change)
{
	const uint64_t known = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
	UNINITIALIZED char path[PATH_MAX_BYTES];
	struct lookup lookup;
	struct rights rights;
	int r = 0, fd = -1;

	path[0] = '\0';
	if ((uint32_t)change->at_flags & ~known)
		return -EINVAL;
	if (change->is_dir && change->dir < 0)
		return -EBADF;
	if (!change->is_dir)
		r = engine_read_text(m->engine, call, change->path, path, sizeof(path));
	if (r < 0)
		return r;
	if (!path[0] && !change->is_dir && !(change->at_flags & AT_EMPTY_PATH))
		return -ENOENT;
	change->named = lookup_own_descriptor(path);
	r = lookup_init_at(&lookup, m->engine, call, change->dir, path);
	lookup.nofollow = change->at_flags & AT_SYMLINK_NOFOLLOW;
	if (r == 0)
		r = rights_drop(&rights);
	if (r == 0) {
		fd = lookup_find(&lookup);
		if (fd >= 0 && change->kind == LENGTH && m->has_mounts)
			change->is_foreign = is_foreign(&lookup, fd);
		rights_restore(&rights);
	}
	lookup_done(&lookup);
	return r < 0 ? r : fd;
}

/* SECURITY: Landlock allows the inode, not its path. A directory put in its place is not writable. */
static bool is_in_place(const struct root *root)
{
	struct stat st;

	return lstat(root->path, &st) == 0 && st.st_dev == root->device && st.st_ino == root->inode;
}

/* Where it lies is what Landlock would look at for a write. */
static bool is_writable(const struct metadata *m, int file)
{
	UNINITIALIZED char place[PATH_MAX_BYTES];
	char link[CALLER_PATH_BYTES];
	struct str path;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", file);
	n = readlink(link, place, sizeof(place));
	/* One that fills the room may have been cut. */
	if (n <= 0 || (size_t)n == sizeof(place) || place[0] != '/')
		return false;
	path = (struct str){ place, (size_t)n };
	for (size_t i = 0; i < m->roots.count; i++)
		if (path_is_under(path, str_of(m->roots.items[i].path)) &&
		    is_in_place(&m->roots.items[i]))
			return true;
	return false;
}

/* SECURITY: a stream is on the host's mount, which is not read-only, so check it here. */
static int check_stream(const struct metadata *m, int file, enum change_kind kind)
{
	struct stream_file it;
	int r = stream_look(file, &it);

	if (r < 0)
		return r;
	if (streams_find(m->streams, &it) == STREAM_FREE)
		return 0;
	/* By its path; through the descriptor one that is not for appending can be cut. */
	return kind == LENGTH ? -EACCES : -EPERM;
}

/*
 * What is made inside belongs to the same user outside, so a set-id file would be a real one. Of
 * a directory the group's bit says whose what is made in it will be.
 */
static int check_mode(int file, mode_t mode)
{
	struct stat st;

	if (mode & S_ISUID)
		return -EPERM;
	if (!(mode & S_ISGID))
		return 0;
	if (fstat(file, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -EPERM;
}

static int check_change(const struct metadata *m, int file, const struct change *change)
{
	if (!m->has_mounts && !is_writable(m, file))
		return -EPERM;
	if (change->kind == MODE && check_mode(file, change->mode) < 0)
		return -EPERM;
	return check_stream(m, file, change->kind);
}

/* ---- The change ------------------------------------------------------------------------- */

/* Of the caller's own limit, which is not this process's. */
static int check_length(int32_t pid, int64_t length)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, pid, RLIMIT_FSIZE, NULL, &limit) < 0)
		return -errno;
	return (uint64_t)length > limit.rlim_cur ? -EFBIG : 0;
}

static long change_flags(int fd, struct change *change)
{
	return syscall(SYS_ioctl, fd, change->request, &change->file);
}

/* With the caller's rights. `own` is its own descriptor where that is needed (needs_own()). */
static int make_change(int file, int own, struct change *change)
{
	char link[CALLER_PATH_BYTES];
	long r = -1;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", file);
	switch (change->kind) {
	case MODE:
		r = chmod(link, change->mode);
		break;
	case OWNER:
		r = fchownat(file, "", change->user, change->group, AT_EMPTY_PATH);
		break;
	case TIMES:
		r = utimensat(AT_FDCWD, link, change->times, 0);
		break;
	case SET_ATTRIBUTE:
		r = setxattr(link, change->name, change->value, change->value_bytes,
			     change->value_flags);
		break;
	case REMOVE_ATTRIBUTE:
		r = removexattr(link, change->name);
		break;
	case LENGTH:
		r = own < 0 ? truncate(link, (off_t)change->length)
			    : ftruncate(own, (off_t)change->length);
		break;
	case FLAGS:
		r = change_flags(own, change);
		break;
	}
	return r < 0 ? -errno : 0;
}

static bool is_plain(int fd, const struct stat *same)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
	       (!same || (st.st_dev == same->st_dev && st.st_ino == same->st_ino));
}

/* A request needs it, and a file that the caller has for writing and nothing else of. */
static bool needs_own(const struct change *change)
{
	return change->kind == FLAGS || change->is_foreign;
}

static bool is_for_writing(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
}

/*
 * Takes the caller's descriptor. SECURITY: only of a regular file or directory: closing another kind
 * could block the supervisor.
 */
static int take_own(const struct metadata *m, const struct engine_call *call, int number, int file)
{
	struct stat st;
	int fd;

	if (fstat(file, &st) < 0 || !is_plain(file, NULL))
		return -ENOTTY;
	fd = engine_take_fd(m->engine, call, number);
	if (fd >= 0 && !is_plain(fd, &st)) {
		(void)close(fd);
		return -EBADF;
	}
	return fd;
}

static int find_own(const struct metadata *m, const struct engine_call *call,
		    const struct change *change, int file)
{
	bool is_request = change->kind == FLAGS;
	int fd;

	if (!is_request && change->named < 0)
		return -EACCES;
	fd = take_own(m, call, is_request ? change->dir : change->named, file);
	if (fd >= 0 && !is_request && !is_for_writing(fd)) {
		(void)close(fd);
		return -EACCES;
	}
	return fd == -ENOTTY && !is_request ? -EINVAL : fd;
}

static int change_file(const struct metadata *m, const struct engine_call *call,
		       struct change *change)
{
	scoped_fd file = find_file(m, call, change);
	scoped_fd own = -1;
	struct rights rights;
	int r = 0;

	if (file < 0)
		return file;
	r = check_change(m, file, change);
	if (r == 0 && change->kind == LENGTH)
		r = check_length(call->pid, change->length);
	if (r == 0 && needs_own(change)) {
		own = find_own(m, call, change, file);
		/* SECURITY: the descriptor may have the same inode on another mount: a stream's. */
		r = own < 0 ? own : check_stream(m, own, change->kind);
	}
	if (r == 0 && !engine_is_waiting(m->engine, call->id))
		r = -ESRCH;
	if (r == 0)
		r = rights_drop(&rights);
	if (r < 0)
		return r;
	r = make_change(file, own, change);
	rights_restore(&rights);
	return r;
}

/* ---- The handlers -------------------------------------------------------------------------- */

static const struct call {
	int32_t number;
	int (*read)(const struct reader *r);
} calls[] = {
#ifdef SYS_chmod
	{ SYS_chmod, read_mode },
	{ SYS_chown, read_owner },
	{ SYS_lchown, read_owner },
	{ SYS_utime, read_times },
	{ SYS_utimes, read_times },
	{ SYS_futimesat, read_times },
#endif
	{ SYS_fchmod, read_mode },
	{ SYS_fchmodat, read_mode },
	{ CALL_FCHMODAT2, read_mode },
	{ SYS_fchown, read_owner },
	{ SYS_fchownat, read_owner },
	{ SYS_utimensat, read_times },
	{ SYS_setxattr, read_set_attribute },
	{ SYS_lsetxattr, read_set_attribute },
	{ SYS_fsetxattr, read_set_attribute },
	{ CALL_SETXATTRAT, read_set_attribute },
	{ SYS_removexattr, read_remove_attribute },
	{ SYS_lremovexattr, read_remove_attribute },
	{ SYS_fremovexattr, read_remove_attribute },
	{ CALL_REMOVEXATTRAT, read_remove_attribute },
	{ SYS_truncate, read_length },
	{ SYS_ioctl, read_flags },
};

_Static_assert(COUNT_OF(calls) + 10 < ENGINE_MAX_HANDLERS, "room for all, and for those of others");

static bool sets_id_bits(const struct engine_call *call)
{
	switch (call->number) {
#ifdef SYS_chmod
	case SYS_chmod:
#endif
	case SYS_fchmod:
		return call->args[1] & (S_ISUID | S_ISGID);
	case SYS_fchmodat:
	case CALL_FCHMODAT2:
		return call->args[2] & (S_ISUID | S_ISGID);
	default:
		return false;
	}
}

/*
 * Whether this call needs a check. If not, the filter has notified of it only so that a refusal can be
 * named (naming.h). SECURITY: the mode is in a register, which nobody can change meanwhile.
 */
static bool is_checked(const struct metadata *m, const struct engine_call *call)
{
	const enum stream_kind most = streams_most(m->streams);

	if (call->number == SYS_truncate)
		return most == STREAM_APPENDED || (!m->has_mounts && !m->is_truncation_governed);
	if (most != STREAM_FREE)
		return true;
	return !m->has_mounts || sets_id_bits(call);
}

static enum engine_answer on_call(void *user, struct engine *engine, const struct engine_call *call,
				  int64_t *value)
{
	const struct metadata *m = user;
	struct change change = { .dir = AT_FDCWD };
	const struct reader reader = { .engine = engine, .call = call, .out = &change };
	int r = -EPERM;

	if (!is_checked(m, call))
		return ENGINE_CONTINUE;
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (calls[i].number == call->number)
			r = calls[i].read(&reader);
	*value = r < 0 ? r : change_file(m, call, &change);
	mem_free(change.value);
	return ENGINE_RETURN;
}

static int add_roots(struct arena *a, struct metadata *m, const char *const *paths, struct err *e)
{
	for (; *paths; paths++) {
		struct root *root;
		struct stat st;

		/* What is not there any more nothing is below. */
		if (lstat(*paths, &st) < 0)
			continue;
		root = VEC_PUSH(a, &m->roots, e);
		if (!root)
			return err_result(e);
		*root = (struct root){ *paths, st.st_dev, st.st_ino };
	}
	return 0;
}

int metadata_start(struct arena *a, struct engine *engine, const struct sandbox *sandbox,
		   struct err *e)
{
	struct metadata *m = ARENA_NEW(a, struct metadata, e);

	if (!m)
		return err_result(e);
	*m = (struct metadata){ .engine = engine,
				.has_mounts = !sandbox->has_no_namespaces && !sandbox->writable,
				.is_truncation_governed = sandbox->landlock_abi >= ABI_TRUNCATE,
				.streams = &sandbox->streams };
	if (sandbox->writable && add_roots(a, m, sandbox->writable, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		const struct engine_handler handler = { .number = calls[i].number,
							.call = on_call,
							.user = m };

		engine_handle(engine, &handler);
	}
	return 0;
}
