/* SPDX-License-Identifier: MIT */
/* What a system call tries to do to which path; see naming.h. */
#include <fcntl.h>
#include <sys/syscall.h>

#include "linux/notify/naming.h"

/* Newer than the headers of some systems; the numbers are the same everywhere. */
enum { CALL_FCHMODAT2 = 452, CALL_SETXATTRAT = 463, CALL_REMOVEXATTRAT = 466 };

/* How the arguments of a call are laid out. */
enum shape {
	SHAPE_OPEN,    /* path, flags */
	SHAPE_OPENAT,  /* dir, path, flags */
	SHAPE_CREAT,   /* path */
	SHAPE_PATH,    /* path */
	SHAPE_PATH_AT, /* dir, path */
	SHAPE_SECOND,  /* something, path */
	SHAPE_THIRD,   /* something, dir, path */
	SHAPE_FOURTH,  /* something, something, dir, path */
	SHAPE_TWO,     /* path, path */
	SHAPE_TWO_AT,  /* dir, path, dir, path */
	SHAPE_UNLINK,  /* dir, path, flags */
};

enum {
	FOLLOWS = 1 << 0,
	CREATES = 1 << 1, /* and so must not be there yet */
	FLAGS_2 = 1 << 2, /* argument 2 has AT_SYMLINK_NOFOLLOW */
	FLAGS_3 = 1 << 3,
	FLAGS_4 = 1 << 4,
};

static const struct call {
	int32_t number;
	enum shape shape;
	enum operation operation;
	unsigned how;
} calls[] = {
	{ SYS_openat, SHAPE_OPENAT, OPERATION_OPEN_WRITE, 0 },
	{ SYS_unlinkat, SHAPE_UNLINK, OPERATION_UNLINK, 0 },
	{ SYS_mkdirat, SHAPE_PATH_AT, OPERATION_MKDIR, CREATES },
	{ SYS_mknodat, SHAPE_PATH_AT, OPERATION_MKNOD, CREATES },
	{ SYS_symlinkat, SHAPE_THIRD, OPERATION_SYMLINK, CREATES },
	{ SYS_linkat, SHAPE_FOURTH, OPERATION_LINK, CREATES },
#ifdef SYS_renameat
	{ SYS_renameat, SHAPE_TWO_AT, OPERATION_RENAME, 0 },
#endif
	{ SYS_renameat2, SHAPE_TWO_AT, OPERATION_RENAME, 0 },
	{ SYS_fchmodat, SHAPE_PATH_AT, OPERATION_CHMOD, FOLLOWS },
	{ CALL_FCHMODAT2, SHAPE_PATH_AT, OPERATION_CHMOD, FOLLOWS | FLAGS_3 },
	{ SYS_fchownat, SHAPE_PATH_AT, OPERATION_CHOWN, FOLLOWS | FLAGS_4 },
	{ SYS_utimensat, SHAPE_PATH_AT, OPERATION_UTIME, FOLLOWS | FLAGS_3 },
	{ SYS_setxattr, SHAPE_PATH, OPERATION_XATTR, FOLLOWS },
	{ SYS_lsetxattr, SHAPE_PATH, OPERATION_XATTR, 0 },
	{ CALL_SETXATTRAT, SHAPE_PATH_AT, OPERATION_XATTR, FOLLOWS | FLAGS_2 },
	{ SYS_removexattr, SHAPE_PATH, OPERATION_XATTR, FOLLOWS },
	{ SYS_lremovexattr, SHAPE_PATH, OPERATION_XATTR, 0 },
	{ CALL_REMOVEXATTRAT, SHAPE_PATH_AT, OPERATION_XATTR, FOLLOWS | FLAGS_2 },
	{ SYS_truncate, SHAPE_PATH, OPERATION_TRUNCATE, FOLLOWS },
	{ SYS_execve, SHAPE_PATH, OPERATION_EXEC, FOLLOWS },
	{ SYS_execveat, SHAPE_PATH_AT, OPERATION_EXEC, FOLLOWS | FLAGS_4 },
#ifdef SYS_open /* newer architectures have only the calls above */
	{ SYS_open, SHAPE_OPEN, OPERATION_OPEN_WRITE, 0 },
	{ SYS_creat, SHAPE_CREAT, OPERATION_OPEN_WRITE, 0 },
	{ SYS_unlink, SHAPE_PATH, OPERATION_UNLINK, 0 },
	{ SYS_rmdir, SHAPE_PATH, OPERATION_RMDIR, 0 },
	{ SYS_mkdir, SHAPE_PATH, OPERATION_MKDIR, CREATES },
	{ SYS_mknod, SHAPE_PATH, OPERATION_MKNOD, CREATES },
	{ SYS_symlink, SHAPE_SECOND, OPERATION_SYMLINK, CREATES },
	{ SYS_link, SHAPE_SECOND, OPERATION_LINK, CREATES },
	{ SYS_rename, SHAPE_TWO, OPERATION_RENAME, 0 },
	{ SYS_chmod, SHAPE_PATH, OPERATION_CHMOD, FOLLOWS },
	{ SYS_chown, SHAPE_PATH, OPERATION_CHOWN, FOLLOWS },
	{ SYS_lchown, SHAPE_PATH, OPERATION_CHOWN, 0 },
	{ SYS_utime, SHAPE_PATH, OPERATION_UTIME, FOLLOWS },
	{ SYS_utimes, SHAPE_PATH, OPERATION_UTIME, FOLLOWS },
	{ SYS_futimesat, SHAPE_PATH_AT, OPERATION_UTIME, FOLLOWS },
#endif
};

static const struct call *find_call(int32_t number)
{
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* The same rule as the filter's: whoever truncates or creates writes. */
static bool is_for_writing(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_TRUNC | O_CREAT);
}

static int read_open(struct naming_target *t, int flags)
{
	const int tmpfile = O_TMPFILE & ~O_DIRECTORY;

	/* It opens nothing that could be read or written. */
	if (flags & O_PATH)
		return 0;
	t->operation = is_for_writing(flags) ? OPERATION_OPEN_WRITE : OPERATION_READ;
	t->truncates = flags & O_TRUNC;
	t->only_creates = (flags & O_ACCMODE) == O_RDONLY && !t->truncates;
	t->is_unnamed = flags & tmpfile;
	t->may_create = flags & O_CREAT || t->is_unnamed;
	t->is_exclusive = (flags & O_CREAT) && (flags & O_EXCL);
	t->follows = !(flags & O_NOFOLLOW) && !t->is_exclusive;
	if (t->is_unnamed || t->is_exclusive)
		t->operation = OPERATION_CREATE;
	return 1;
}

static unsigned flag_argument(unsigned how)
{
	if (how & FLAGS_2)
		return 2;
	return how & FLAGS_3 ? 3 : 4;
}

/* Whether a link at the end is followed, as the flags of the call say. */
static bool does_follow(const struct call *c, const uint64_t *args)
{
	if (!(c->how & FOLLOWS))
		return false;
	return !(c->how & (FLAGS_2 | FLAGS_3 | FLAGS_4)) ||
	       !(args[flag_argument(c->how)] & AT_SYMLINK_NOFOLLOW);
}

static void set_place(struct naming_target *t, uint64_t dir, uint64_t address)
{
	t->dir = (int)dir;
	t->address = address;
}

int naming_read_call(const struct engine_call *call,
		     struct naming_target targets[NAMING_MAX_TARGETS])
{
	const struct call *c = find_call(call->number);
	const uint64_t here = (uint64_t)(int64_t)AT_FDCWD;
	const uint64_t *args = call->args;
	struct naming_target *t = &targets[0];

	if (!c)
		return -1;
	*t = (struct naming_target){ .operation = c->operation,
				     .follows = does_follow(c, args),
				     .may_create = c->how & CREATES,
				     .is_exclusive = c->how & CREATES };
	switch (c->shape) {
	case SHAPE_OPEN:
		set_place(t, here, args[0]);
		return read_open(t, (int)args[1]);
	case SHAPE_OPENAT:
		set_place(t, args[0], args[1]);
		return read_open(t, (int)args[2]);
	case SHAPE_CREAT:
		set_place(t, here, args[0]);
		return read_open(t, O_CREAT | O_WRONLY | O_TRUNC);
	case SHAPE_PATH:
		set_place(t, here, args[0]);
		return 1;
	case SHAPE_UNLINK:
		if (args[2] & AT_REMOVEDIR)
			t->operation = OPERATION_RMDIR;
		set_place(t, args[0], args[1]);
		return 1;
	case SHAPE_PATH_AT:
		set_place(t, args[0], args[1]);
		return 1;
	case SHAPE_SECOND:
		set_place(t, here, args[1]);
		return 1;
	case SHAPE_THIRD:
		set_place(t, args[1], args[2]);
		return 1;
	case SHAPE_FOURTH:
		set_place(t, args[2], args[3]);
		return 1;
	case SHAPE_TWO:
		set_place(t, here, args[0]);
		targets[1] = *t;
		targets[1].may_create = true;
		set_place(&targets[1], here, args[1]);
		return 2;
	case SHAPE_TWO_AT:
		set_place(t, args[0], args[1]);
		targets[1] = *t;
		targets[1].may_create = true;
		set_place(&targets[1], args[2], args[3]);
		return 2;
	}
	return -1;
}

bool naming_read_source(const struct engine_call *call, struct naming_target *out)
{
	const uint64_t *args = call->args;

	*out = (struct naming_target){ .operation = OPERATION_LINK };
	if (call->number == SYS_linkat) {
		set_place(out, args[0], args[1]);
		out->follows = args[4] & AT_SYMLINK_FOLLOW;
		return !(args[4] & AT_EMPTY_PATH);
	}
#ifdef SYS_link
	set_place(out, (uint64_t)(int64_t)AT_FDCWD, args[0]);
	return call->number == SYS_link;
#else
	return false;
#endif
}
