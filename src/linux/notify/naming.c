/* SPDX-License-Identifier: MIT */
/* Whether a call is about to be refused by the policy, and by which rule; see naming.h. */
#include "linux/notify/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/live/perform.h"
#include "linux/notify/caller.h"
#include "linux/notify/rights.h"
#include "os/fd.h"

struct namer {
	struct engine *engine;
	struct naming_paths paths;
	const struct sandbox *sandbox;
	const struct plan *plan; /* with what was granted meanwhile */
	const struct plan *base; /* that the sandbox was made from */
	const struct naming_performer *performer;
	struct denials *denials;
	struct holds *holds; /* NULL: nothing is held */
	struct hold_owner owner;
	ino_t mount_ns; /* of the sandbox, if callers may have another one; 0: they can't */
};

/* What is at a path, as the sandbox shows it. */
struct found {
	bool exists;
	mode_t mode;
	bool is_mount_point;
	bool is_read_only; /* the mount that the operation would change */
	uint64_t mount;
};

struct attempt {
	const struct engine_call *call;
	const struct naming_target *target;
	const struct naming_path *at;
	struct str path;
	struct verdict verdict;
	enum operation operation;
};

/* ---- The sandbox's view ------------------------------------------------------------------ */

static bool is_read_only(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_flags & ST_RDONLY;
}

static bool changes_directory(enum operation operation)
{
	return operation_change(operation) >= CHANGE_ADD;
}

static bool is_removal(enum operation operation)
{
	return operation_change(operation) == CHANGE_REMOVE;
}

static bool is_reading(enum operation operation)
{
	return operation == OPERATION_READ || operation == OPERATION_EXEC;
}

static void copy_parent(struct str path, char out[PATH_MAX_BYTES])
{
	struct str parent = path_parent(path);

	memcpy(out, parent.p, parent.len);
	out[parent.len] = '\0';
}

static void look_at(int fd, struct found *out)
{
	const unsigned mask = STATX_TYPE | STATX_MODE | STATX_MNT_ID;
	struct statx st;

	out->exists = syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &st) ==
		      0;
	if (!out->exists)
		return;
	out->mode = st.stx_mode;
	out->mount = st.stx_mnt_id;
	out->is_mount_point = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* False if not even its directory is there. */
static bool look(const struct namer *n, const struct attempt *t, struct found *out)
{
	UNINITIALIZED char parent[PATH_MAX_BYTES];
	scoped_fd file = naming_open_inside(n->sandbox, t->path.p);
	scoped_fd dir = -1;

	*out = (struct found){ .exists = false };
	if (file >= 0)
		look_at(file, out);
	if (out->exists && (t->target->is_unnamed || !changes_directory(t->operation))) {
		out->is_read_only = is_read_only(file);
		return true;
	}
	copy_parent(t->path, parent);
	dir = naming_open_inside(n->sandbox, parent);
	if (dir < 0)
		return false;
	out->is_read_only = is_read_only(dir);
	return true;
}

static const struct placeholder *find_placeholder(const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < plan->placeholders.count; i++)
		if (str_eq(plan->placeholders.items[i].path, path))
			return &plan->placeholders.items[i];
	return NULL;
}

static bool is_pin(const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < plan->pins.count; i++)
		if (str_eq(plan->pins.items[i].path, path))
			return true;
	return false;
}

/* ---- The host's view ---------------------------------------------------------------------- */

static bool has_access(const char *path, int mode)
{
	/* Effective rights: access() would give root back what rights_drop() took. */
	return syscall(SYS_faccessat2, AT_FDCWD, path, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW) ==
		       0 ||
	       errno == ENOSYS;
}

/* In a directory like /tmp only owners remove a file. */
static bool may_remove(const char *dir, const char *path)
{
	struct stat d, f;
	uid_t own = geteuid();

	if (lstat(dir, &d) < 0 || !(d.st_mode & S_ISVTX) || d.st_uid == own)
		return true;
	return lstat(path, &f) < 0 || f.st_uid == own;
}

static bool is_owner(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Whether the user's own rights on the host would allow it. What they refuse is not the policy's. */
static bool host_allows_now(struct str path, enum operation operation)
{
	UNINITIALIZED char parent[PATH_MAX_BYTES];

	copy_parent(path, parent);
	if (changes_directory(operation))
		return has_access(parent, W_OK | X_OK) &&
		       (!is_removal(operation) || may_remove(parent, path.p));
	if (operation == OPERATION_CHMOD || operation == OPERATION_CHOWN)
		return is_owner(path.p);
	if (operation == OPERATION_UTIME && is_owner(path.p))
		return true;
	if (operation == OPERATION_EXEC)
		return has_access(path.p, X_OK);
	return has_access(path.p, operation == OPERATION_READ ? R_OK : W_OK);
}

static bool host_allows(struct str path, enum operation operation, bool is_unnamed)
{
	struct rights rights;
	bool is_allowed;

	if (rights_drop(&rights) < 0)
		return true;
	is_allowed = is_unnamed ? has_access(path.p, W_OK | X_OK)
				: host_allows_now(path, operation);
	rights_restore(&rights);
	return is_allowed;
}

/* ---- Whether it is refused ----------------------------------------------------------------- */

/* The error of a special file that is opened for writing; 0: it opens. */
static int special_error(const struct namer *n, const struct attempt *t, mode_t mode)
{
	if (S_ISFIFO(mode) && n->sandbox->landlock_abi)
		return EACCES;
	return S_ISSOCK(mode) && find_placeholder(n->plan, t->path) ? ENXIO : 0;
}

/* The error that a write gets where the policy allows reading; 0: the kernel says something else. */
static int write_error(const struct namer *n, struct attempt *t, const struct found *f)
{
	if (f->exists && t->target->is_exclusive)
		return find_placeholder(n->plan, t->path) ? EEXIST : 0;
	if (!f->exists && !t->target->may_create && !is_removal(t->operation))
		return 0;
	if (f->exists && (t->target->only_creates || t->target->is_unnamed != S_ISDIR(f->mode)) &&
	    (t->operation == OPERATION_OPEN_WRITE || t->operation == OPERATION_TRUNCATE ||
	     t->target->is_unnamed))
		return 0;
	if (f->exists && t->operation == OPERATION_OPEN_WRITE) {
		if (S_ISCHR(f->mode) || S_ISBLK(f->mode))
			return 0;
		if (!S_ISREG(f->mode))
			return special_error(n, t, f->mode);
	}
	/* Landlock is asked last. */
	if (n->sandbox->has_no_namespaces && !f->exists && !t->target->may_create)
		return 0;
	if (n->sandbox->has_no_namespaces)
		return operation_change(t->operation) == CHANGE_METADATA ? EPERM : EACCES;
	if (f->is_read_only)
		return EROFS;
	return is_removal(t->operation) && f->exists && f->is_mount_point &&
			       naming_fits(t->operation, S_ISDIR(f->mode))
		       ? EBUSY
		       : 0;
}

/* Where the sandbox has a fresh directory, whatever the host has there. */
static bool is_in_own_tmp(const struct plan *plan, struct str path)
{
	for (size_t i = 0; plan->policy->profile->tmp_is_private && i < PLACES_TMP_COUNT; i++) {
		struct str tmp = places_tmp(&plan->places, i);

		if (tmp.len && path_is_under(path, tmp))
			return true;
	}
	return false;
}

/* What is there can't be seen from inside, and the file that a program creates is not there yet. */
static int denied_error(const struct namer *n, struct attempt *t)
{
	struct stat st;
	bool is_missing = lstat(t->path.p, &st) < 0 && errno == ENOENT;
	int os_error;

	if (t->operation == OPERATION_OPEN_WRITE && t->target->may_create && is_missing)
		t->operation = OPERATION_CREATE;
	if (is_in_own_tmp(n->plan, t->path))
		return 0;
	os_error = naming_denied_error(n->sandbox, t->path, t->target);
	/* What exists on the host, too, exists without the policy. */
	return os_error == EEXIST && !is_missing && !find_placeholder(n->plan, t->path) ? 0
											: os_error;
}

/* A path may be written by an entry of its own, and its name still belongs to a directory that may not. */
static bool is_in_closed_directory(const struct namer *n, struct attempt *t)
{
	struct verdict above;

	if (!changes_directory(t->operation) || t->target->is_unnamed || t->path.len <= 1 ||
	    !str_eq(t->verdict.rule->path, t->path))
		return false;
	above = plan_resolve(n->plan, path_parent(t->path));
	if (above.access >= ACCESS_WRITE)
		return false;
	t->verdict = above;
	return true;
}

/* The error that the call is about to get because of the policy; 0: none. */
static int find_error(const struct namer *n, struct attempt *t)
{
	const bool is_read = is_reading(t->operation);
	const enum access needed = is_read ? ACCESS_READ : ACCESS_WRITE;
	struct found found;

	/* A pin is a directory. */
	if (t->verdict.access >= needed && is_removal(t->operation) && is_pin(n->plan, t->path))
		return naming_fits(t->operation, true) ? EBUSY : 0;
	if (t->verdict.access >= needed && !is_in_closed_directory(n, t))
		return 0;
	if (t->verdict.access == ACCESS_DENY)
		return denied_error(n, t);
	if (!look(n, t, &found))
		return 0;
	if (t->operation == OPERATION_OPEN_WRITE && !found.exists)
		t->operation = OPERATION_CREATE;
	return write_error(n, t, &found);
}

/* ---- Recording it --------------------------------------------------------------------------- */

static struct str read_executable(int32_t pid, char out[PATH_MAX_BYTES])
{
	char link[CALLER_PATH_BYTES];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	len = readlink(link, out, PATH_MAX_BYTES);
	return (struct str){ out, len > 0 && len < PATH_MAX_BYTES ? (size_t)len : 0 };
}

/* The texts of a denial. */
struct described {
	struct denial denial;
	char executable[PATH_MAX_BYTES];
	char program[CALLER_NAME_BYTES];
};

/* False: the caller has gone. */
static bool describe(const struct namer *n, const struct attempt *t, int os_error,
		     struct described *out)
{
	struct caller_status status = { .process = 0 };

	out->denial =
		(struct denial){ .kind = DENIAL_PATH,
				 .operation = t->operation,
				 .subject = t->path,
				 .named = str_of(t->at->named),
				 .opens = changes_directory(t->operation) && !t->target->is_unnamed
						  ? path_parent(t->path)
						  : t->path,
				 .by = t->verdict.rule,
				 .os_error = os_error,
				 .origin = t->verdict.rule->origin };
	out->denial.executable = read_executable(t->call->pid, out->executable);
	caller_read_name(t->call->pid, out->program);
	if (caller_read_status(t->call->pid, &status))
		out->denial.pid = status.inner_process;
	out->denial.program = str_of(out->program);
	/* If the caller has ended, nothing of what was read may be its own. */
	return engine_is_waiting(n->engine, t->call->id);
}

/* ---- Holding it ------------------------------------------------------------------------------- */

/*
 * Whether somebody may be asked (P18): the profile itself gives less than writing, by what it says or
 * leaves out. What denies reading, what protects (P9, P10, P11, P25) and what a narrowing layer
 * says is not for a decider to lift. That a grant is wide enough, and not too wide, the session
 * finds out.
 */
static bool is_askable(const struct namer *n, const struct attempt *t, int os_error)
{
	const struct rule *rule = t->verdict.rule;

	return n->holds && !is_reading(t->operation) && os_error == EROFS &&
	       t->verdict.access == ACCESS_READ && rule->layer == 0 &&
	       (rule->kind == RULE_ENTRY || rule->kind == RULE_GRANT);
}

/* A rename between mounts fails with EXDEV whatever the policy says, and programs then copy. */
static bool crosses_mounts(const struct namer *n, const struct naming_path at[2])
{
	UNINITIALIZED char parent[PATH_MAX_BYTES];
	struct found found[2];

	for (int i = 0; i < 2; i++) {
		scoped_fd dir = -1;

		copy_parent((struct str){ at[i].path, at[i].len }, parent);
		dir = naming_open_inside(n->sandbox, parent);
		found[i] = (struct found){ .exists = false };
		if (dir >= 0)
			look_at(dir, &found[i]);
	}
	return found[0].mount != found[1].mount;
}

/* A file that is opened or created can be had without opening more than this one call needs. */
static bool can_once(const struct namer *n, const struct attempt *t)
{
	return n->performer && !t->target->is_unnamed &&
	       (t->operation == OPERATION_OPEN_WRITE || t->operation == OPERATION_CREATE);
}

enum judged { JUDGED_FREE, JUDGED_REFUSED, JUDGED_HELD };

/* One call, while it is judged. */
struct judging {
	const struct engine_call *call;
	struct naming_target targets[NAMING_MAX_TARGETS];
	struct naming_path at[NAMING_MAX_TARGETS];
	int count;
};

static void attempt_init(struct attempt *t, const struct namer *n, const struct judging *j, int i)
{
	*t = (struct attempt){ .call = j->call,
			       .target = &j->targets[i],
			       .at = &j->at[i],
			       .path = { j->at[i].path, j->at[i].len },
			       .operation = j->targets[i].operation };
	t->verdict = plan_resolve(n->plan, t->path);
}

/* Landlock is asked about a rename only if there is something to rename. */
static bool is_there(const struct namer *n, const struct naming_path *at)
{
	scoped_fd fd = naming_open_inside(n->sandbox, at->path);

	return fd >= 0;
}

/*
 * A file does not replace a directory, nor a directory a file. The kernel finds that before it sees that
 * one of them is a mount point. Two that exchange places may differ.
 */
static bool kinds_differ(const struct namer *n, const struct judging *j)
{
	struct found found[2] = { { .exists = false }, { .exists = false } };

	if (j->call->number == SYS_renameat2 && j->call->args[4] & RENAME_EXCHANGE)
		return false;
	for (int i = 0; i < 2; i++) {
		scoped_fd fd = naming_open_inside(n->sandbox, j->at[i].path);

		if (fd >= 0)
			look_at(fd, &found[i]);
	}
	return found[0].exists && found[1].exists &&
	       S_ISDIR(found[0].mode) != S_ISDIR(found[1].mode);
}

/* Of a rename: of its other path. */
static bool host_allows_other(const struct judging *j, int i)
{
	const struct str path = { j->at[i].path, j->at[i].len };

	return host_allows(path, j->targets[i].operation, false);
}

/*
 * The path of a rename whose directory is not even found, because it is denied: that fails before
 * anything else. -1: none.
 */
static int find_closed(const struct namer *n, const struct judging *j)
{
	for (int i = 0; i < j->count; i++) {
		const struct str path = { j->at[i].path, j->at[i].len };

		if (plan_resolve(n->plan, path_parent(path)).access == ACCESS_DENY &&
		    naming_is_closed(n->sandbox, path))
			return i;
	}
	return -1;
}

static enum judged judge(const struct namer *n, const struct judging *j, int i)
{
	struct attempt t;
	UNINITIALIZED struct described d;
	int os_error;

	attempt_init(&t, n, j, i);
	if (i == 1 && n->sandbox->has_no_namespaces && !is_there(n, &j->at[0]))
		return JUDGED_FREE;
	os_error = find_error(n, &t);
	if (!os_error || !host_allows(t.path, t.operation, t.target->is_unnamed) ||
	    (j->count == 2 && !host_allows_other(j, !i)))
		return JUDGED_FREE;
	if (j->count == 2 && os_error == EBUSY && kinds_differ(n, j))
		return JUDGED_FREE;
	if (!describe(n, &t, os_error, &d))
		return JUDGED_REFUSED;
	if (is_askable(n, &t, os_error) &&
	    holds_offer(n->holds, j->call, &d.denial, can_once(n, &t), &n->owner))
		return JUDGED_HELD;
	denials_add(n->denials, &d.denial);
	return JUDGED_REFUSED;
}

/* ---- What is granted and the kernel can't do -------------------------------------------------- */

static bool is_granted(const struct namer *n, const struct judging *j)
{
	bool is_grant = false;

	for (int i = 0; i < j->count; i++) {
		const struct str path = { j->at[i].path, j->at[i].len };

		if (is_reading(j->targets[i].operation) ||
		    plan_resolve(n->plan, path).access != ACCESS_WRITE)
			return false;
		is_grant |= plan_resolve(n->base, path).access != ACCESS_WRITE;
	}
	return is_grant;
}

/* A mount namespace that the command made shows other files at the same paths. */
static bool is_elsewhere(const struct namer *n, int32_t pid)
{
	char path[CALLER_PATH_BYTES];
	struct stat st;

	if (!n->mount_ns)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return stat(path, &st) < 0 || st.st_ino != n->mount_ns;
}

/* False: it is not known what the call leads to. */
static bool read_call(struct namer *n, const struct engine_call *call, struct judging *j)
{
	j->call = call;
	if (is_elsewhere(n, call->pid))
		return false;
	for (int i = 0; i < j->count; i++)
		if (!naming_find_path(&n->paths, call, &j->targets[i], &j->at[i]))
			return false;
	return true;
}

/* What was remembered of directories may be out of date, and then another file would be changed. */
static bool look_anew(struct namer *n, struct judging *j)
{
	bool is_found;

	n->paths.looks_anew = true;
	is_found = read_call(n, j->call, j);
	if (is_found && j->targets[0].operation == OPERATION_LINK)
		is_found = naming_read_source(j->call, &j->targets[1]) &&
			   naming_find_path(&n->paths, j->call, &j->targets[1], &j->at[1]);
	n->paths.looks_anew = false;
	return is_found;
}

/* False: the call has to continue. */
static bool perform_call(struct namer *n, struct judging *j, bool is_once)
{
	const struct performed performed = { .engine = n->engine,
					     .call = j->call,
					     .targets = j->targets,
					     .at = j->at,
					     .count = j->count };
	int r;

	if (!is_once && (!is_granted(n, j) || !perform_is_needed(&performed) || !look_anew(n, j) ||
			 !is_granted(n, j)))
		return false;
	r = n->performer->perform(n->performer->user, &performed, is_once);
	if (r == -EAGAIN)
		return false;
	if (r < 0)
		engine_reply(n->engine, j->call->id, r);
	return true;
}

static enum engine_observed on_call(void *user, const struct engine_call *call)
{
	struct namer *n = user;
	UNINITIALIZED struct judging j;
	enum judged judged = JUDGED_FREE;
	int closed = -1;

	j.count = naming_read_call(call, j.targets);
	if (j.count < 0)
		return OBSERVED_NOT;
	if (!read_call(n, call, &j))
		return OBSERVED;
	if (j.count == 2)
		closed = find_closed(n, &j);
	if (j.count == 2 && closed < 0 && crosses_mounts(n, j.at))
		return OBSERVED;
	/* The first refusal is the one that the caller hears of. */
	for (int i = MAX_OF(closed, 0); judged == JUDGED_FREE && i < j.count; i++)
		judged = judge(n, &j, i);
	if (judged == JUDGED_FREE && n->plan != n->base && j.count > 0 &&
	    perform_call(n, &j, false))
		return OBSERVED_LATER;
	return judged == JUDGED_HELD ? OBSERVED_LATER : OBSERVED;
}

/*
 * SECURITY: the command may have changed the path meanwhile. What was allowed once is what was asked for,
 * and only if that is still refused for a reason that may be lifted.
 */
static bool perform_once(struct namer *n, const struct engine_call *call,
			 const struct denial *asked)
{
	UNINITIALIZED struct judging j;
	struct attempt t;

	j.call = call;
	j.count = naming_read_call(call, j.targets);
	if (j.count != 1 || !look_anew(n, &j))
		return false;
	attempt_init(&t, n, &j, 0);
	return str_eq(t.path, asked->subject) && is_askable(n, &t, find_error(n, &t)) &&
	       can_once(n, &t) && perform_call(n, &j, true);
}

/* The answer is in: the kernel refuses the call, or it is judged again by what is granted now. */
static void released(void *user, const struct engine_call *call, const struct denial *asked,
		     enum hold_answer how)
{
	struct namer *n = user;

	if (how == HOLD_ONCE && perform_once(n, call, asked))
		return;
	if (how == HOLD_REFUSE || on_call(n, call) != OBSERVED_LATER)
		engine_go_on(n->engine, call);
}

static ino_t find_mount_ns(const struct sandbox *sandbox)
{
	char path[CALLER_PATH_BYTES];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)sandbox->pid);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

void naming_set_plan(struct namer *n, const struct plan *plan)
{
	n->plan = n->paths.plan = plan;
}

void naming_stop(struct namer *n)
{
	fd_close(&n->paths.descriptors);
}

int naming_start(struct arena *a, const struct naming_request *in, struct namer **out,
		 struct err *e)
{
	struct namer *n = ARENA_NEW(a, struct namer, e);

	if (!n)
		return err_result(e);
	*n = (struct namer){ .engine = in->engine,
			     .paths = { .sandbox = in->sandbox, .descriptors = -1 },
			     .sandbox = in->sandbox,
			     .denials = in->denials,
			     .holds = in->holds,
			     .base = in->plan,
			     .performer = in->performer,
			     .owner = { .user = n, .released = released } };
	naming_set_plan(n, in->plan);
	if (in->plan->policy->profile->allows_userns)
		n->mount_ns = find_mount_ns(in->sandbox);
	engine_observe(in->engine, on_call, n);
	*out = n;
	return 0;
}
