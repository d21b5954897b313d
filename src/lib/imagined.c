/* SPDX-License-Identifier: MIT */
/* See host.h: the host as it would be with what is to be made. */
#include "base/path.h"
#include "lib/host.h"

static const struct imagined *find(const struct imagined_host *h, struct str path)
{
	for (size_t i = 0; i < h->count; i++)
		if (path_is_under(h->items[i].path, path))
			return &h->items[i];
	return NULL;
}

/* SECURITY: what is there counts for more, a link above all. */
static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	const struct imagined_host *h = user;
	const struct imagined *made;

	if (h->below.look(h->below.user, path, out, e) < 0)
		return err_result(e);
	made = out->type == HOST_MISSING ? find(h, path) : NULL;
	if (made)
		*out = (struct host_file){ .type = made->is_file && str_eq(made->path, path)
							   ? HOST_FILE
							   : HOST_DIR };
	return 0;
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct imagined_host *h = user;

	return h->below.read_link(h->below.user, path, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct imagined_host *h = user;

	return h->below.read_file(h->below.user, path, out, e);
}

/* Without the imagined names: listings are for links, and these are none. */
static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct imagined_host *h = user;
	struct host_file file;

	if (find(h, path)) {
		if (h->below.look(h->below.user, path, &file, e) < 0)
			return err_result(e);
		if (file.type == HOST_MISSING)
			return 0;
	}
	return h->below.list(h->below.user, path, each, arg, e);
}

static bool recall(void *user, struct str path, struct host_listing *out)
{
	const struct imagined_host *h = user;

	return host_recall(&h->below, path, out);
}

struct host imagined_host_init(struct imagined_host *h, const struct host *below,
			       const struct imagined *items, size_t count)
{
	struct host host = *below;

	*h = (struct imagined_host){ .below = *below, .items = items, .count = count };
	host.user = h;
	host.look = look;
	host.read_link = read_link;
	host.read_file = read_file;
	host.list = list;
	host.recall = recall;
	return host;
}
