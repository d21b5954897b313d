/* SPDX-License-Identifier: MIT */
/* Ends a run whose placeholders are taken away; see guard.h. */
#include "supervise/guard.h"

#include <sys/stat.h>

#include "base/path.h"
#include "base/utf8.h"

enum { GUARD_PERIOD_MS = 100 };

static int check(const struct held *held, struct err *e)
{
	struct stat st;
	scoped_buf shown = BUF_INIT(4 * PATH_MAX_BYTES);

	if (held->fd < 0 || held->wanted->may_go ||
	    (lstat(held->path, &st) == 0 && st.st_dev == held->device && st.st_ino == held->inode))
		return 0;
	utf8_add_shown(&shown, held->wanted->path);
	return FAIL(
		e, ERR_POLICY,
		"'%s' was removed by another program while it kept the command from creating it: "
		"the run was ended",
		buf_str(&shown).p);
}

static int look(void *user, struct err *e)
{
	struct guard *g = user;

	for (size_t i = 0; i < g->held->count; i++)
		if (check(&g->held->items[i], e) < 0)
			return err_result(e);
	loop_set_timer(g->loop, &g->timer, loop_now() + GUARD_PERIOD_MS);
	return 0;
}

int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held, struct err *e)
{
	*g = (struct guard){ .timer = { .due = look, .user = g }, .held = held };
	if (held->count == 0)
		return 0;
	if (loop_prepare_timers(loop, e) < 0)
		return err_result(e);
	g->loop = loop;
	loop_set_timer(loop, &g->timer, loop_now() + GUARD_PERIOD_MS);
	return 0;
}

void guard_stop(struct guard *g)
{
	if (g->loop)
		loop_drop_timer(g->loop, &g->timer);
	g->loop = NULL;
}
