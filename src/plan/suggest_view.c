/* SPDX-License-Identifier: MIT */
/* The host as it would be with one more directory; see suggest_edit.h. */
#include "base/path.h"
#include "plan/suggest_edit.h"

/* Whether `path` is one of the imagined directories. */
static bool is_made_up(const struct suggest_host_view *v, struct str path)
{
	return path.len >= v->missing_from && path_is_under(v->path, path);
}

static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	const struct suggest_host_view *v = user;

	if (!is_made_up(v, path))
		return v->below->look(v->below->user, path, out, e);
	*out = (struct host_file){ .type = HOST_DIR };
	return 0;
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct suggest_host_view *v = user;

	return v->below->read_link(v->below->user, path, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct suggest_host_view *v = user;

	return v->below->read_file(v->below->user, path, out, e);
}

/*
 * Listings leave the imagined directories out: globs list a directory to find links, and these are
 * none. Otherwise every glob would walk down to the deepest of them.
 */
static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct suggest_host_view *v = user;

	return is_made_up(v, path) ? 0 : v->below->list(v->below->user, path, each, arg, e);
}

void suggest_host_view_init(struct suggest_host_view *v, const struct host *below, struct str path,
			    size_t missing_from)
{
	*v = (struct suggest_host_view){
		.host = { .user = v,
			  .look = look,
			  .read_link = read_link,
			  .read_file = read_file,
			  .list = list },
		.below = below,
		.path = path,
		.missing_from = missing_from,
	};
}
