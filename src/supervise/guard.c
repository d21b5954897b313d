/* SPDX-License-Identifier: MIT */
/* Ends a run whose placeholders are taken away; see guard.h. */
#include "supervise/guard.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"

static int check(const struct held *held, struct err *e)
{
	struct stat st;
	scoped_buf shown = BUF_INIT(4 * PATH_MAX_BYTES);

	if (held->fd < 0 ||
	    (lstat(held->path, &st) == 0 && st.st_dev == held->device && st.st_ino == held->inode))
		return 0;
	utf8_add_shown(&shown, held->wanted->path);
	return FAIL(
		e, ERR_POLICY,
		"'%s' was removed by another program while it kept the command from creating it: "
		"the run was ended",
		buf_str(&shown).p);
}

/* Whether an event may be about it; the command removes files of its own all the time. */
static bool is_about(const struct held *held, const struct inotify_event *event)
{
	return event->len == 0 || str_is(path_name(held->wanted->path), event->name);
}

static int look(void *user, uint32_t events, struct err *e)
{
	const struct guard *g = user;
	_Alignas(struct inotify_event) char room[16 << 10];
	ssize_t n = read(g->watcher.fd, room, sizeof(room));

	(void)events;
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(room + at);

		for (size_t i = 0; i < g->held->count; i++)
			if (is_about(&g->held->items[i], event) && check(&g->held->items[i], e) < 0)
				return err_result(e);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	return 0;
}

/* A directory that is watched already is not watched twice: the kernel sees to that. */
static int watch_parent(const struct guard *g, const struct held *held, struct err *e)
{
	struct str parent = path_parent(held->wanted->path);
	char path[PATH_MAX_BYTES];

	if (held->fd < 0)
		return 0;
	memcpy(path, parent.p, parent.len);
	path[parent.len] = '\0';
	if (inotify_add_watch(g->watcher.fd, path,
			      IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF | IN_ONLYDIR) < 0)
		return FAIL_SYS(e, errno, "can't watch '%s'", path);
	/* It may have gone before. */
	return check(held, e);
}

int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held, struct err *e)
{
	*g = (struct guard){ .watcher = { .fd = -1, .ready = look, .user = g },
			     .loop = loop,
			     .held = held };
	if (held->count == 0)
		return 0;
	g->watcher.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (g->watcher.fd < 0)
		return FAIL_SYS(e, errno, "can't watch for what is removed");
	for (size_t i = 0; i < held->count; i++)
		if (watch_parent(g, &held->items[i], e) < 0)
			return err_result(e);
	return loop_add(loop, &g->watcher, LOOP_IN, e);
}

void guard_stop(struct guard *g)
{
	if (g->watcher.fd < 0)
		return;
	loop_remove(g->loop, &g->watcher);
	close(g->watcher.fd);
	g->watcher.fd = -1;
}
