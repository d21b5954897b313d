/* SPDX-License-Identifier: MIT */
/* Ends a run that loses a placeholder or a mount; see guard.h. */
#include "linux/placeholder/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"

/*
 * Checking one mount takes two or three microseconds. If there are more than fit in a period, the
 * next period continues with the rest. So this costs less than one percent of a CPU, and a loss is
 * noticed one period later for each 300 mounts.
 */
enum { GUARD_PERIOD_MS = 100, GUARD_LOOKS = 300 };

enum { TASK_IS_EXITING = 4 }; /* PF_EXITING, in the flags of /proc/PID/stat */

/* ---- Placeholders -------------------------------------------------------------- */

static int check_held(const struct held *held, struct err *e)
{
	struct stat st;
	scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	if (!held->is_there || held->wanted->may_go ||
	    (lstat(held->path, &st) == 0 && st.st_dev == held->device && st.st_ino == held->inode))
		return 0;
	utf8_add_shown(&shown, held->wanted->path);
	return FAIL_CAUSE(e, CAUSE_PROTECTION_LOST,
			  "another program removed the placeholder '%s' that kept the command from "
			  "creating it; the run was ended",
			  buf_str(&shown).p);
}

/* ---- Mounts that narrow ---------------------------------------------------------- */

enum cover { COVER_STANDS, COVER_OPEN, COVER_MISSING, COVER_UNKNOWN };

/*
 * Checks for a mount, not for the inode: inode numbers are reused, and an inode may come back without
 * the mount on it.
 */
static enum cover find_cover(const struct sandbox *s, const char *path)
{
	struct statx st;

	if (syscall(SYS_statx, s->root, path + 1, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE,
		    &st) == 0)
		return (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) ? COVER_STANDS : COVER_OPEN;
	/* If this process can't search a directory on the way, neither can the command. */
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? COVER_MISSING
								     : COVER_UNKNOWN;
}

enum life { LIFE_RUNS, LIFE_ENDS, LIFE_UNKNOWN };

static enum life find_life(pid_t pid)
{
	char name[64], text[1024];
	scoped_fd fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	/* Behind the name, which may hold anything, come the state and five numbers. */
	at = strrchr(text, ')');
	for (int i = 0; at && i < 7; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return LIFE_UNKNOWN;
	return strtoul(at, NULL, 10) & TASK_IS_EXITING ? LIFE_ENDS : LIFE_RUNS;
}

/*
 * Whether the mounts are gone because the sandbox is ending: the kernel unmounts them when PID 1, the
 * last process, exits, which may be just before its end shows. If /proc hides PID 1, wait for it.
 */
static bool is_ending(const struct sandbox *s)
{
	struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };
	enum life life = find_life(s->pid);

	return life == LIFE_ENDS || poll(&ended, 1, life == LIFE_UNKNOWN ? GUARD_PERIOD_MS : 0) > 0;
}

static int check_narrowed(const struct sandbox *s, const struct narrowed *n, struct err *e)
{
	enum cover cover = find_cover(s, n->path);
	scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	if (cover == COVER_STANDS || cover == COVER_UNKNOWN ||
	    (cover == COVER_MISSING && n->may_go))
		return 0;
	if (is_ending(s))
		return 0;
	utf8_add_shown(&shown, str_of(n->path));
	return FAIL_CAUSE(e, CAUSE_PROTECTION_LOST,
			  "another program replaced or removed '%s', and with it the mount that "
			  "protected it; the run was ended",
			  buf_str(&shown).p);
}

static int look_at_narrowed(const struct guard *g, struct guarded *part, struct err *e)
{
	const struct narrowed_list *list = part->narrowed;

	for (size_t i = 0; i < list->count && i < GUARD_LOOKS; i++) {
		if (check_narrowed(g->sandbox, &list->items[part->next], e) < 0)
			return err_result(e);
		part->next = (part->next + 1) % list->count;
	}
	return 0;
}

/* ---- The guard --------------------------------------------------------------------- */

static int look(void *user, struct err *e)
{
	struct guard *g = user;

	for (struct guarded *part = g->parts; part; part = part->after) {
		for (size_t i = 0; i < part->held->count; i++)
			if (check_held(&part->held->items[i], e) < 0)
				return err_result(e);
		if (look_at_narrowed(g, part, e) < 0)
			return err_result(e);
	}
	loop_set_timer(g->loop, &g->timer, g->parts ? loop_now() + GUARD_PERIOD_MS : 0);
	return 0;
}

int guard_add(struct guard *g, struct guarded *part, struct err *e)
{
	if (part->held->count == 0 && part->narrowed->count == 0)
		return 0;
	if (loop_prepare_timers(g->loop, e) < 0)
		return err_result(e);
	part->next = 0;
	part->after = g->parts;
	g->parts = part;
	if (g->timer.at_ms == 0)
		loop_set_timer(g->loop, &g->timer, loop_now() + GUARD_PERIOD_MS);
	return 0;
}

void guard_drop(struct guard *g, const struct guarded *part)
{
	for (struct guarded **at = &g->parts; *at; at = &(*at)->after) {
		if (*at != part)
			continue;
		*at = part->after;
		return;
	}
}

int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held,
		const struct sandbox *sandbox, struct err *e)
{
	*g = (struct guard){ .loop = loop,
			     .timer = { .due = look, .user = g },
			     .first = { .held = held, .narrowed = &sandbox->narrowed },
			     .sandbox = sandbox };
	return guard_add(g, &g->first, e);
}

void guard_stop(struct guard *g)
{
	if (g->loop)
		loop_drop_timer(g->loop, &g->timer);
	g->loop = NULL;
	g->parts = NULL;
}
