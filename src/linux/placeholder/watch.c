/* SPDX-License-Identifier: MIT */
/*
 * Watching for names that a glob denies; see watch.h.
 *
 * All paths are relative to the sandbox's root, so that they mean what they mean inside: masks are
 * empty, and /tmp may be private. A directory is watched first and listed second, so that nothing is
 * missed between. Directories are found in *rounds*, from the starts down: one round at the
 * beginning, and one whenever the kernel has dropped events. Only a limited part of the work is done
 * at a time, so that the event loop does not stall.
 */
#include "linux/placeholder/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/path.h"
#include "base/utf8.h"
#include "linux/placeholder/masker.h"
#include "os/fd.h"
#include "os/fd_leave.h"
#include "os/times.h"

enum {
	MAX_DIRS = 200000,
	MAX_BYTES = 256 << 20, /* of their paths */
	MAX_WASTE = 1 << 20,   /* of paths that are no longer used, before all starts anew */
	STEPS_AT_A_TIME = 512, /* about a millisecond */
	LISTED_BYTES = 32 << 10,
	SHOWN_BYTES = 512,
};

/* A directory that is watched; its place in the list is its number. */
struct dir {
	struct str path; /* "" when there is none of that number */
	uint64_t round;	 /* in which it was listed */
};

/* One that is to be watched, and listed unless it was in that round or a later one. */
struct pending {
	struct str path;
	uint64_t round;
};

struct starting {
	const struct rule *rule; /* a glob */
};

/* As getdents64() has it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

struct watch {
	struct loop *loop;
	const struct plan *plan;
	const struct sandbox *sandbox;
	VEC(struct starting) globs;
	VEC(struct str) starts;
	struct watcher events, orders;
	struct timer more;
	struct masker masker;
	bool is_running;  /* the start is over: what fails now is missed */
	bool has_dropped; /* the kernel has dropped events */
	bool is_full;	  /* the masker is behind */
	uint64_t round;
	uint64_t directories, missed;

	struct arena arena; /* of what follows */
	VEC(struct dir) dirs;
	VEC(struct pending) pending;
	size_t wasted;

	int anchor; /* of the first round: a directory that was opened, to reach those below it; or -1 */
	struct str anchor_path;

	int listed; /* the directory that is listed now, or -1 */
	struct pending listed_as;
	size_t entries_at, entries_end;
	size_t events_at, events_end;
	bool events_turn;
	size_t order_len; /* of `order`, which could not be sent yet */
	char order[PATH_MAX_BYTES];
	_Alignas(struct entry) char entries[LISTED_BYTES];
	_Alignas(struct inotify_event) char event_bytes[LISTED_BYTES];
};

#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* ---- What to look at ----------------------------------------------------------- */

/* Whether a glob may match below the directory, or starts there. */
static bool is_of_interest(const struct watch *w, struct str path)
{
	for (size_t i = 0; i < w->globs.count; i++) {
		const struct rule *glob = w->globs.items[i].rule;

		if (path_is_under(glob->path, path))
			return true;
		if (path_is_under(path, glob->path) &&
		    glob_may_match_below(glob->matcher, path_below(path, glob->path)))
			return true;
	}
	return false;
}

/* 0 terminates it; "." for the root itself. */
static const char *below_root(struct str path, char out[PATH_MAX_BYTES])
{
	if (path.len <= 1)
		return ".";
	memcpy(out, path.p + 1, path.len - 1);
	out[path.len - 1] = '\0';
	return out;
}

/* -1 with errno. No link is followed: a path with one in it has another answer. */
static int open_dir(const struct watch *w, struct str path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	UNINITIALIZED char name[PATH_MAX_BYTES];

	return (int)syscall(SYS_openat2, w->sandbox->root, below_root(path, name), &how,
			    sizeof(how));
}

static bool is_covered(const struct watch *w, struct str path)
{
	UNINITIALIZED char name[PATH_MAX_BYTES];

	return masker_is_covered(w->sandbox->root, below_root(path, name));
}

static int add_start(struct arena *a, struct watch *w, struct str path, struct err *e)
{
	struct str *start;

	for (size_t i = 0; i < w->starts.count; i++)
		if (str_eq(w->starts.items[i], path))
			return 0;
	start = VEC_PUSH(a, &w->starts, e);
	if (!start)
		return err_result(e);
	*start = path;
	return 0;
}

/*
 * The directory that a glob starts from may be made later, or be replaced: so
 * those above it count too, up to one that is a mount and stays what it is.
 */
static int add_glob(struct arena *a, struct watch *w, const struct rule *rule, struct err *e)
{
	struct starting *glob = VEC_PUSH(a, &w->globs, e);
	struct str path = rule->path;

	if (!glob)
		return err_result(e);
	glob->rule = rule;
	for (;;) {
		if (add_start(a, w, path, e) < 0)
			return err_result(e);
		if (path.len <= 1 || is_covered(w, path))
			return 0;
		path = path_parent(path);
	}
}

/* What is open inside something denied can't be found from above: that lists nothing. */
static int add_regions(struct arena *a, struct watch *w, struct err *e)
{
	for (size_t i = 0; i < w->plan->regions.count; i++) {
		const struct region *region = &w->plan->regions.items[i];

		if (region->access == ACCESS_DENY || region->type != HOST_DIR ||
		    !is_of_interest(w, region->path) || path_is_kernel_tree(region->path))
			continue;
		if (add_start(a, w, region->path, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- Watching directories ------------------------------------------------------ */

/* At the start a failure ends the run; later it only counts as missed. */
static int give_up(struct watch *w, int status, struct err *e)
{
	if (!w->is_running)
		return status;
	err_clear(e);
	w->missed++;
	return 0;
}

static int add_pending(struct watch *w, struct str path, uint64_t round, struct err *e)
{
	struct str copy;
	struct pending *pending;

	if (arena_copy(&w->arena, path, &copy, e) < 0)
		return give_up(w, err_result(e), e);
	pending = VEC_PUSH(&w->arena, &w->pending, e);
	if (!pending)
		return give_up(w, err_result(e), e);
	*pending = (struct pending){ copy, round };
	return 0;
}

/* The type bits of what is there now; 0 if nothing is. */
static mode_t look_type(const struct watch *w, struct str path)
{
	UNINITIALIZED char name[PATH_MAX_BYTES];
	struct stat st;

	if (fstatat(w->sandbox->root, below_root(path, name), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mode & S_IFMT;
}

/*
 * P7: the plan leaves some links open that a glob denies by their name.
 *
 * SECURITY: only a link stays open there, whichever link: its target has its own access. If
 * something else takes its place, that is masked.
 */
static bool is_lifted_link(const struct watch *w, struct str path)
{
	size_t from = 0;
	size_t to = w->plan->lifted.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int c = path_cmp(w->plan->lifted.items[middle], path);

		if (c == 0)
			return look_type(w, path) == S_IFLNK;
		if (c < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

/* A name in a directory; its own directories are listed again when they were before `round`. */
static int check_name(struct watch *w, struct str dir, const char *name, uint8_t type,
		      uint64_t round, struct err *e)
{
	struct str path = { w->order, 0 };
	size_t len = dir.len == 1 ? 0 : dir.len;
	size_t name_len = strlen(name);
	struct verdict v;

	if (len + 1 + name_len >= sizeof(w->order))
		return give_up(w, FAIL(e, ERR_LIMIT, "the path of %s is too long", SHOWN(dir)), e);
	memcpy(w->order, dir.p, len);
	w->order[len] = '/';
	memcpy(w->order + len + 1, name, name_len);
	path.len = len + 1 + name_len;
	v = plan_resolve(w->plan, path);
	if (v.access == ACCESS_DENY && v.rule->kind == RULE_GLOB) {
		if (!is_lifted_link(w, path) && !is_covered(w, path))
			w->order_len = path.len;
		return 0;
	}
	if ((type != DT_DIR && type != DT_UNKNOWN) || path_is_kernel_tree(path) ||
	    !is_of_interest(w, path))
		return 0;
	return type == DT_DIR || look_type(w, path) == S_IFDIR ? add_pending(w, path, round, e) : 0;
}

static int start_round(struct watch *w, struct err *e)
{
	w->has_dropped = false;
	w->round++;
	for (size_t i = w->starts.count; i > 0; i--)
		if (add_pending(w, w->starts.items[i - 1], w->round, e) < 0)
			return err_result(e);
	return 0;
}

static int fail_watch(struct str path, int error, struct err *e)
{
	if (error == ENOSPC)
		return FAIL_SYS_CAUSE(
			e, CAUSE_WATCH_LIMIT, error,
			"can't watch %s for names that a glob denies: this user has as "
			"many watches as fs.inotify.max_user_watches allows; raise it, or "
			"let the glob start at a narrower directory",
			SHOWN(path));
	return FAIL_SYS(e, error, "can't watch %s for names that a glob denies", SHOWN(path));
}

/*
 * The directory of the number that the kernel gave its watch; NULL with an error. `below` is its
 * path from `fd` on, with a slash before it, or "".
 */
static struct dir *watch_below(struct watch *w, int fd, const char *below, struct str path,
			       struct err *e)
{
	UNINITIALIZED char name[PATH_MAX_BYTES];
	int number;

	if (snprintf(name, sizeof(name), "/proc/self/fd/%d%s", fd, below) >= (int)sizeof(name)) {
		(void)fail_watch(path, ENAMETOOLONG, e);
		return NULL;
	}
	number = inotify_add_watch(w->events.fd, name,
				   IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK |
					   (*below ? IN_DONT_FOLLOW : 0));
	if (number < 0) {
		(void)fail_watch(path, errno, e);
		return NULL;
	}
	while (w->dirs.count <= (size_t)number) {
		const struct dir *added = VEC_PUSH(&w->arena, &w->dirs, e);

		if (!added)
			return NULL;
	}
	return &w->dirs.items[number];
}

/*
 * Whether the plan has listed it and it has not changed since. It is watched already, so nothing
 * comes between.
 */
static bool is_known(const struct watch *w, int fd, struct str path, struct host_listing *known)
{
	struct stamp now;

	return host_recall(w->plan->host, path, known) && os_look_stamp(fd, "", &now) &&
	       stamp_eq(&known->stamp, &now);
}

/* Of these the plan has judged every name: only the way down is left. */
static int add_known(struct watch *w, struct pending of, const struct host_listing *known,
		     struct err *e)
{
	for (size_t i = 0; i < known->count; i++)
		if (known->items[i].type == HOST_DIR &&
		    check_name(w, of.path, known->items[i].name.p, DT_DIR, of.round, e) < 0)
			return err_result(e);
	return 0;
}

/* Watches it, and begins to list it when that is still to be done. */
static int take(struct watch *w, int fd, struct pending next, struct err *e)
{
	struct host_listing known;
	struct dir *dir;

	if (w->directories >= MAX_DIRS)
		return FAIL(e, ERR_LIMIT,
			    "a glob may match in more than %d directories, too many to be "
			    "watched: let it start at a narrower directory",
			    (int)MAX_DIRS);
	dir = watch_below(w, fd, "", next.path, e);
	if (!dir)
		return err_result(e);
	if (dir->path.len == 0)
		w->directories++;
	else if (str_eq(dir->path, next.path) && dir->round >= next.round) {
		w->wasted += next.path.len;
		return 0;
	} else {
		w->wasted += dir->path.len;
	}
	dir->path = next.path;
	dir->round = MAX_OF(next.round, dir->round);
	if (!w->is_running && is_known(w, fd, next.path, &known))
		return add_known(w, next, &known, e);
	w->listed = fd;
	w->listed_as = next;
	w->entries_at = w->entries_end = 0;
	return 0;
}

/*
 * The same without opening it, in the first round, if the plan has listed it and a directory above it is
 * open; then sets `*status`.
 *
 * SECURITY: a command could swap in another directory just while the watch is added. All directories
 * above it, up to the open one, are watched already: putting the right one back raises an event, and it
 * is listed again from there.
 */
static bool take_known(struct watch *w, struct pending next, int *status, struct err *e)
{
	struct host_listing known;
	const char *below;
	struct stamp now;
	struct dir *dir;

	if (w->is_running || w->anchor < 0 || next.path.len <= w->anchor_path.len + 1 ||
	    !path_is_under(next.path, w->anchor_path) || w->anchor_path.len <= 1 ||
	    w->directories >= MAX_DIRS || !host_recall(w->plan->host, next.path, &known))
		return false;
	below = next.path.p + w->anchor_path.len;
	dir = watch_below(w, w->anchor, below, next.path, e);
	if (!dir)
		err_clear(e); /* it is said when it is opened */
	if (!dir || dir->path.len > 0 || !os_look_stamp(w->anchor, below + 1, &now) ||
	    !stamp_eq(&known.stamp, &now))
		return false;
	w->directories++;
	dir->path = next.path;
	dir->round = next.round;
	*status = add_known(w, next, &known, e);
	return true;
}

/* Those below `fd` are found from there, until there is one that does not lie below it. */
static void set_anchor(struct watch *w, int fd, struct str path)
{
	if (w->is_running || (w->anchor >= 0 && path_is_under(path, w->anchor_path)))
		return;
	fd_close(&w->anchor);
	w->anchor = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	w->anchor_path = path;
}

/*
 * A denied directory that is visible was made for the sandbox: a mask, or part of a skeleton that leads
 * to something open, which has its own start. Nothing new appears in it, and masking it would hide what
 * is open below.
 */
static int open_next(struct watch *w, struct err *e)
{
	struct pending next = w->pending.items[--w->pending.count];
	int fd = -1;
	int r = 0;

	errno = ENOENT;
	if (plan_resolve(w->plan, next.path).access != ACCESS_DENY) {
		if (take_known(w, next, &r, e))
			return r < 0 ? give_up(w, r, e) : 0;
		fd = open_dir(w, next.path);
	}
	if (fd >= 0) {
		set_anchor(w, fd, next.path);
		r = take(w, fd, next, e);
	} else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
		   (errno == EACCES && !w->is_running)) /* the plan has said so */
		w->wasted += next.path.len;
	else
		r = fail_watch(next.path, errno, e);
	if (fd >= 0 && w->listed != fd)
		close(fd);
	return r < 0 ? give_up(w, r, e) : 0;
}

/* ---- Taking what is told ------------------------------------------------------------ */

static int take_event(struct watch *w, struct err *e)
{
	const struct inotify_event *event = (const void *)(w->event_bytes + w->events_at);
	struct dir *dir = NULL;

	w->events_at += sizeof(*event) + event->len;
	if (event->mask & IN_Q_OVERFLOW) {
		w->missed++;
		w->has_dropped = true;
	}
	if (event->wd >= 0 && (size_t)event->wd < w->dirs.count)
		dir = &w->dirs.items[event->wd];
	if (!dir || dir->path.len == 0)
		return 0;
	if (event->mask & IN_IGNORED) {
		w->wasted += dir->path.len;
		w->directories--;
		dir->path = STR_EMPTY;
		return 0;
	}
	if (!(event->mask & (IN_CREATE | IN_MOVED_TO)) || event->len == 0)
		return 0;
	/* What was moved has new paths all the way down. */
	if ((event->mask & (IN_MOVED_TO | IN_ISDIR)) == (IN_MOVED_TO | IN_ISDIR))
		w->round++;
	return check_name(w, dir->path, event->name, (event->mask & IN_ISDIR) ? DT_DIR : DT_REG,
			  (event->mask & IN_MOVED_TO) ? w->round : 0, e);
}

static int take_entry(struct watch *w, struct err *e)
{
	const struct entry *entry = (const void *)(w->entries + w->entries_at);

	if (w->entries_at == w->entries_end) {
		long n = syscall(SYS_getdents64, w->listed, w->entries, sizeof(w->entries));

		w->entries_at = 0;
		w->entries_end = n > 0 ? (size_t)n : 0;
		if (n > 0)
			return 0;
		close(w->listed);
		w->listed = -1;
		return n == 0 || errno == ENOENT /* removed */ ? 0
							       : give_up(w,
									 fail_watch(
										 w->listed_as.path,
										 errno, e),
									 e);
	}
	w->entries_at += entry->bytes;
	if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
		return 0;
	return check_name(w, w->listed_as.path, entry->name, entry->type, w->listed_as.round, e);
}

/* ---- Doing what there is to do ----------------------------------------------------- */

static int read_events(struct watch *w, struct err *e)
{
	ssize_t n = read(w->events.fd, w->event_bytes, sizeof(w->event_bytes));

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return FAIL_SYS(e, errno, "can't read what has changed in directories");
	w->events_at = 0;
	w->events_end = n > 0 ? (size_t)n : 0;
	return 0;
}

enum { STEP_IDLE, STEP_DONE, STEP_FULL };

/* Most runs need no masker at all, so it is started with the first order. */
static int need_masker(struct watch *w, struct err *e)
{
	if (w->masker.channel >= 0)
		return 0;
	if (masker_start(&w->masker, w->sandbox, e) < 0)
		return err_result(e);
	w->orders.fd = w->masker.channel;
	return loop_add(w->loop, &w->orders, 0, e);
}

static int send_order(struct watch *w, struct err *e)
{
	int r;

	if (need_masker(w, e) < 0)
		return err_result(e);
	r = masker_order(&w->masker, (struct str){ w->order, w->order_len }, e);
	if (r > 0)
		w->order_len = 0;
	return r < 0 ? r : r == 0 ? STEP_FULL : STEP_DONE;
}

/* One thing; events and lists take turns, so that a flood of the one does not stop the other. */
static int step(struct watch *w, struct err *e)
{
	bool has_events = w->events_at < w->events_end;
	bool has_dirs = w->listed >= 0 || w->pending.count > 0;
	int r;

	if (w->order_len > 0)
		return send_order(w, e);
	if (!has_events && !has_dirs && !w->has_dropped)
		return STEP_IDLE;
	w->events_turn = !w->events_turn;
	if (has_events && (w->events_turn || !has_dirs))
		r = take_event(w, e);
	else if (w->listed >= 0)
		r = take_entry(w, e);
	else if (has_dirs)
		r = open_next(w, e);
	else
		r = start_round(w, e);
	return r < 0 ? r : STEP_DONE;
}

static void stop_listing(struct watch *w)
{
	if (w->listed >= 0)
		close(w->listed);
	w->listed = -1;
}

/* Forgets all directories, and with them the room that those took which are gone. */
static int start_anew(struct watch *w, struct err *e)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0)
		return give_up(w, FAIL_SYS(e, errno, "can't watch directories"), e);
	loop_remove(w->loop, &w->events);
	(void)fd_leave(&w->events.fd);
	w->events.fd = fd;
	stop_listing(w);
	arena_done(&w->arena);
	w->dirs.items = NULL;
	w->pending.items = NULL;
	w->dirs.count = w->dirs.room = w->pending.count = w->pending.room = 0;
	w->wasted = 0;
	w->directories = 0;
	w->events_at = w->events_end = 0;
	if (loop_add(w->loop, &w->events, LOOP_IN, e) < 0)
		return err_result(e);
	return start_round(w, e);
}

/* While the masker's channel is full, leave events in the kernel's queue. */
static int set_full(struct watch *w, bool is_full, struct err *e)
{
	if (is_full == w->is_full)
		return 0;
	w->is_full = is_full;
	if (loop_change(w->loop, &w->orders, is_full ? LOOP_OUT : 0, e) < 0)
		return err_result(e);
	return loop_change(w->loop, &w->events, is_full ? 0 : LOOP_IN, e);
}

static int run_some(struct watch *w, struct err *e)
{
	int r = STEP_DONE;

	if (w->events_at == w->events_end && read_events(w, e) < 0)
		return err_result(e);
	for (int i = 0; r == STEP_DONE && i < STEPS_AT_A_TIME; i++)
		r = step(w, e);
	if (r == STEP_IDLE && w->wasted > MAX_WASTE) {
		if (start_anew(w, e) < 0)
			return err_result(e);
		r = STEP_DONE;
	}
	if (r < 0)
		return r;
	if (set_full(w, r == STEP_FULL, e) < 0)
		return err_result(e);
	loop_set_timer(w->loop, &w->more, r == STEP_DONE ? loop_now() : 0);
	return 0;
}

static int on_events(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return run_some(user, e);
}

static int on_more(void *user, struct err *e)
{
	return run_some(user, e);
}

static int on_orders(void *user, uint32_t events, struct err *e)
{
	if (events & LOOP_GONE)
		return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
				  "the process that covers names in the sandbox was killed");
	return run_some(user, e);
}

/* ---- From start to stop -------------------------------------------------------------- */

/* The first round, to its end. */
static int run_all(struct watch *w, const struct progress *progress, struct err *e)
{
	int r = start_round(w, e);

	for (r = r < 0 ? r : STEP_DONE; r > STEP_IDLE; r = r < 0 ? r : step(w, e)) {
		struct pollfd ready = { .fd = w->masker.channel, .events = POLLOUT };

		if (w->listed < 0 && w->pending.count > 0 &&
		    progress_tell(progress, w->pending.items[w->pending.count - 1].path, e) < 0)
			r = err_result(e);
		if (r == STEP_FULL && poll(&ready, 1, -1) < 0 && errno != EINTR)
			r = FAIL_SYS(e, errno, "can't wait for a process");
	}
	return r;
}

static int fail_instance(int error, struct err *e)
{
	if (error == EMFILE)
		return FAIL_SYS(e, error,
				"can't watch for names that a glob denies: this process has no "
				"descriptors left, or this user as many watchers as "
				"fs.inotify.max_user_instances allows; raise it");
	return FAIL_SYS(e, error, "can't watch for names that a glob denies");
}

static int set_up(struct arena *a, struct watch *w, const struct progress *progress, struct err *e)
{
	for (size_t i = 0; i < w->plan->rules.count; i++) {
		const struct rule *rule = &w->plan->rules.items[i];

		if (rule->kind == RULE_GLOB && add_glob(a, w, rule, e) < 0)
			return err_result(e);
	}
	if (add_regions(a, w, e) < 0)
		return err_result(e);
	w->events.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->events.fd < 0)
		return fail_instance(errno, e);
	if (run_all(w, progress, e) < 0)
		return err_result(e);
	fd_close(&w->anchor);
	w->is_running = true;
	return loop_add(w->loop, &w->events, LOOP_IN, e);
}

/* ---- For grants ------------------------------------------------------------------------ */

int watch_use_masker(struct watch *w, struct masker **out, struct err *e)
{
	if (need_masker(w, e) < 0)
		return err_result(e);
	*out = &w->masker;
	return 0;
}

enum { AGAIN_MS = 2000 }; /* meanwhile nobody else is answered */

static int look_again(struct watch *w, struct str path, struct err *e)
{
	const uint64_t until = loop_now() + AGAIN_MS;
	const uint64_t missed = w->missed;
	int r = STEP_DONE;

	if (!is_of_interest(w, path) || look_type(w, path) != S_IFDIR)
		return 0;
	if (add_pending(w, path, ++w->round, e) < 0)
		return err_result(e);
	while (r > STEP_IDLE) {
		struct pollfd ready = { .fd = w->masker.channel, .events = POLLOUT };

		if (r == STEP_FULL)
			(void)poll(&ready, 1, 100);
		if (loop_now() > until)
			return FAIL_SYS(e, ETIMEDOUT,
					"can't look for names that a glob denies in %s",
					SHOWN(path));
		r = step(w, e);
	}
	if (r < 0)
		return r;
	if (w->missed != missed)
		return FAIL_SYS(e, EIO, "can't look for names that a glob denies in %s",
				SHOWN(path));
	return 0;
}

int watch_look_again(struct watch *w, const struct plan *plan, struct str path, struct err *e)
{
	const struct plan *before = w->plan;

	w->plan = plan;
	if (look_again(w, path, e) == 0)
		return 0;
	w->plan = before; /* nobody keeps a plan that failed */
	return err_result(e);
}

void watch_set_plan(struct watch *w, const struct plan *plan)
{
	w->plan = plan;
}

bool watch_is_needed(const struct plan *plan)
{
	for (size_t i = 0; !plan->is_unsandboxed && i < plan->rules.count; i++)
		if (plan->rules.items[i].kind == RULE_GLOB)
			return true;
	return false;
}

int watch_start(struct arena *a, struct loop *loop, const struct sandbox *sandbox,
		const struct plan *plan, const struct progress *progress, struct watch **out,
		struct err *e)
{
	struct watch *w;
	int r;

	if (!watch_is_needed(plan)) {
		*out = NULL;
		return 0;
	}
	if (sandbox->user_ns < 0 || sandbox->mount_ns < 0 || sandbox->root < 0)
		return FAIL(e, ERR_INTERNAL, "the sandbox can't be joined, and globs need it");
	w = ARENA_NEW(a, struct watch, e);
	if (!w)
		return err_result(e);
	w->loop = loop;
	w->plan = plan;
	w->sandbox = sandbox;
	w->events = (struct watcher){ .fd = -1, .ready = on_events, .user = w };
	w->orders = (struct watcher){ .fd = -1, .ready = on_orders, .user = w };
	w->more = (struct timer){ .due = on_more, .user = w };
	w->masker = (struct masker)MASKER_NONE;
	w->arena = (struct arena)ARENA_INIT(MAX_BYTES);
	w->listed = w->anchor = -1;
	r = loop_prepare_timers(loop, e);
	if (r == 0)
		r = set_up(a, w, progress, e);
	if (r < 0)
		(void)watch_stop(w);
	else
		*out = w;
	return r;
}

struct watch_summary watch_stop(struct watch *w)
{
	struct watch_summary sum = { .directories = w->directories };

	loop_remove(w->loop, &w->events);
	loop_remove(w->loop, &w->orders);
	loop_drop_timer(w->loop, &w->more);
	stop_listing(w);
	fd_close(&w->anchor);
	if (w->events.fd >= 0)
		(void)fd_leave(&w->events.fd);
	masker_stop(&w->masker, &sum.masked, &sum.missed);
	sum.missed += w->missed;
	arena_done(&w->arena);
	return sum;
}
