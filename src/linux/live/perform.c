/* SPDX-License-Identifier: MIT */
/*
 * See perform.h. What the opener can't do continues, and the kernel decides. SECURITY: so does a call
 * or a flag that is not known here: nothing is guessed.
 */
#include "linux/live/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/notify/caller.h"

enum { CALL_FCHMODAT2 = 452 }; /* newer than the headers of some systems */

/* From <linux/fs.h>, which not every C library bears beside its own headers. */
enum { NO_REPLACE = 1, EXCHANGE = 2 };

/* Of an open: what the opener may be told. Others change nothing that it could do. */
enum {
	OPEN_KEPT = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_DSYNC |
		    O_SYNC | O_DIRECT | O_LARGEFILE | O_NOATIME | O_NOFOLLOW | O_CLOEXEC |
		    O_TMPFILE,
};

static bool is_open(const struct naming_target *t)
{
	return t->operation == OPERATION_OPEN_WRITE || t->operation == OPERATION_CREATE;
}

bool perform_is_needed(const struct performed *p)
{
	/* Landlock forbids these. */
	if (is_open(&p->targets[0]) || p->targets[0].operation == OPERATION_TRUNCATE)
		return true;
	/* Relative to a directory that may have been opened before the grant. */
	for (int i = 0; i < p->count; i++)
		if (p->at[i].named[0] != '/')
			return true;
	return false;
}

/* A path that names a directory by how it is written: the kernel has words of its own for that. */
static bool is_as_directory(const char *named)
{
	size_t len = strlen(named);

	return named[len - 1] == '/' || strcmp(named, ".") == 0 ||
	       (len >= 2 && strcmp(named + len - 2, "/.") == 0);
}

static int set_open(struct opener_order *o, const struct engine_call *call)
{
	const uint64_t *a = call->args;
	int flags;

	if (call->number == SYS_openat) {
		flags = (int)a[2];
		o->mode = (uint32_t)a[3];
#ifdef SYS_open
	} else if (call->number == SYS_open) {
		flags = (int)a[1];
		o->mode = (uint32_t)a[2];
	} else if (call->number == SYS_creat) {
		flags = O_CREAT | O_WRONLY | O_TRUNC;
		o->mode = (uint32_t)a[1];
#endif
	} else {
		return -EAGAIN;
	}
	if ((flags & O_TMPFILE) != O_TMPFILE && flags & O_DIRECTORY)
		return -EAGAIN;
	o->act = OPENER_OPEN;
	o->flags = (uint32_t)(flags & OPEN_KEPT);
	if ((flags & (O_CREAT | O_TMPFILE)) == 0)
		o->mode = 0;
	o->mode &= 01777;
	return 0;
}

/* What calls with a mode or flags have where. */
static const struct layout {
	int32_t number;
	int mode, flags;     /* which argument; 0: none */
	uint32_t understood; /* of the flags */
} layouts[] = {
	{ SYS_mkdirat, 2, 0, 0 },
	{ SYS_mknodat, 2, 0, 0 },
	{ SYS_fchmodat, 2, 0, 0 },
	{ CALL_FCHMODAT2, 2, 3, AT_SYMLINK_NOFOLLOW },
	{ SYS_utimensat, 0, 3, AT_SYMLINK_NOFOLLOW },
	{ SYS_unlinkat, 0, 2, AT_REMOVEDIR },
	{ SYS_linkat, 0, 4, AT_SYMLINK_FOLLOW },
	{ SYS_renameat2, 0, 4, NO_REPLACE | EXCHANGE },
	{ SYS_symlinkat, 0, 0, 0 },
	{ SYS_truncate, 0, 0, 0 },
#ifdef SYS_renameat
	{ SYS_renameat, 0, 0, 0 },
#endif
#ifdef SYS_open
	{ SYS_mkdir, 1, 0, 0 },
	{ SYS_mknod, 1, 0, 0 },
	{ SYS_chmod, 1, 0, 0 },
	{ SYS_unlink, 0, 0, 0 },
	{ SYS_rmdir, 0, 0, 0 },
	{ SYS_symlink, 0, 0, 0 },
	{ SYS_link, 0, 0, 0 },
	{ SYS_rename, 0, 0, 0 },
#endif
};

/* NULL: the call is not known, or has a flag that is not. */
static const struct layout *find_layout(const struct engine_call *call)
{
	for (size_t i = 0; i < COUNT_OF(layouts); i++) {
		const struct layout *l = &layouts[i];

		if (l->number == call->number)
			return l->flags && (uint32_t)call->args[l->flags] & ~l->understood ? NULL
											   : l;
	}
	return NULL;
}

static int set_mode(struct opener_order *o, const struct performed *p, enum opener_act act)
{
	const struct layout *l = find_layout(p->call);

	if (!l || !l->mode)
		return -EAGAIN;
	o->act = act;
	o->mode = (uint32_t)p->call->args[l->mode];
	/* Set-group-ID is judged by a handler (metadata.c). */
	if (act == OPENER_CHMOD && o->mode & (S_ISUID | S_ISGID))
		return -EAGAIN;
	if (act != OPENER_MKNOD)
		return 0;
	if ((o->mode & S_IFMT) == 0)
		o->mode |= S_IFREG;
	return S_ISREG(o->mode) || S_ISFIFO(o->mode) || S_ISSOCK(o->mode) ? 0 : -EAGAIN;
}

static int set_times(struct opener_order *o, const struct performed *p)
{
	const struct timespec now = { .tv_nsec = UTIME_NOW };

	o->act = OPENER_UTIME;
	o->times[0] = o->times[1] = now;
	if (p->call->number != SYS_utimensat)
		return -EAGAIN;
	return p->call->args[2] == 0 ? 0
				     : engine_read(p->engine, p->call, p->call->args[2], o->times,
						   sizeof(o->times));
}

static int set_length(struct opener_order *o, const struct performed *p)
{
	struct rlimit limit;

	o->act = OPENER_TRUNCATE;
	o->length = (int64_t)p->call->args[1];
	if (o->length < 0)
		return -EINVAL;
	/* The caller's own, as for any file that it makes larger. */
	if (syscall(SYS_prlimit64, p->call->pid, RLIMIT_FSIZE, NULL, &limit) < 0)
		return -EAGAIN;
	o->max_length = limit.rlim_cur;
	return 0;
}

static int set_act(struct opener_order *o, const struct performed *p)
{
	const struct naming_target *t = &p->targets[0];

	if (is_open(t))
		return set_open(o, p->call);
	if (!find_layout(p->call))
		return -EAGAIN;
	o->act = OPENER_UNLINK;
	if (t->operation == OPERATION_UNLINK)
		return 0;
	o->act = OPENER_RMDIR;
	if (t->operation == OPERATION_RMDIR)
		return 0;
	if (t->operation == OPERATION_MKDIR)
		return set_mode(o, p, OPENER_MKDIR);
	if (t->operation == OPERATION_MKNOD)
		return set_mode(o, p, OPENER_MKNOD);
	if (t->operation == OPERATION_CHMOD)
		return set_mode(o, p, OPENER_CHMOD);
	if (t->operation == OPERATION_UTIME)
		return set_times(o, p);
	if (t->operation == OPERATION_TRUNCATE)
		return set_length(o, p);
	o->act = OPENER_RENAME;
	o->flags = p->call->number == SYS_renameat2 ? (uint32_t)p->call->args[4] : 0;
	if (t->operation == OPERATION_RENAME && p->count == 2)
		return 0;
	o->act = OPENER_LINK;
	if (t->operation == OPERATION_LINK)
		return 0;
	o->act = OPENER_SYMLINK;
	return t->operation == OPERATION_SYMLINK ? 0 : -EAGAIN;
}

static struct str below_root(const struct naming_path *at)
{
	return str_from((struct str){ at->path, at->len }, 1);
}

static int set_texts(struct opener_order *o, const struct performed *p, bool has_dir)
{
	UNINITIALIZED char text[PATH_MAX_BYTES];
	struct str path = below_root(&p->at[0]);
	struct str other = STR_EMPTY;
	int r;

	if (has_dir)
		path = path_name((struct str){ p->at[0].path, p->at[0].len });
	if (o->act == OPENER_RENAME || o->act == OPENER_LINK)
		other = below_root(&p->at[1]);
	if (o->act == OPENER_SYMLINK) {
		r = engine_read_text(p->engine, p->call, p->call->args[0], text, sizeof(text));
		if (r < 0)
			return r;
		other = str_of(text);
	}
	return opener_set_paths(o, path, other) ? 0 : -ENAMETOOLONG;
}

int perform(struct opener *o, const struct performed *p, int dir)
{
	UNINITIALIZED struct opener_order order;
	struct caller_status status;
	int r;

	memset(&order, 0, offsetof(struct opener_order, texts));
	order.call = p->call->id;
	order.has_dir = dir >= 0;
	for (int i = 0; i < p->count; i++)
		if (is_as_directory(p->at[i].named) && !p->targets[i].is_unnamed &&
		    p->targets[i].operation != OPERATION_MKDIR)
			return -EAGAIN;
	r = set_act(&order, p);
	if (r == 0)
		r = set_texts(&order, p, dir >= 0);
	if (r < 0)
		return r;
	if (!caller_read_status(p->call->pid, &status) ||
	    !engine_is_waiting(p->engine, p->call->id))
		return -ESRCH;
	order.mask = status.umask;
	return opener_ask(o, &order, dir);
}
