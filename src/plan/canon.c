/* SPDX-License-Identifier: MIT */
/*
 * Makes paths canonical (P8): a walk along the components, as the kernel does it, that asks the
 * host about each and follows links. From the first component that can't be entered (missing,
 * hidden, not a directory) the rest is taken as text. If a ".." leads back out of that rest, the
 * walk asks the host again; only the text of a link, or a path that someone asks about, has any.
 */
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"

enum { CANON_MAX_LINKS = 40 }; /* what Linux follows in one path */

/* A directory that a walk passed through; never a link. */
struct canon_dir {
	struct name_node node; /* in the parent's `children` */
	struct name_node *children;
	struct canon_dir *parent; /* the root is its own parent */
};

/* A text that is being walked: the path itself at the bottom, the texts of links above it. */
struct frame {
	struct str text;
	size_t at;
	size_t link; /* index into walk.links */
};

/* The large parts of a walk's state. Clearing them for every path would cost more than the walk. */
struct space {
	struct frame frames[1 + CANON_MAX_LINKS];
	char path[PATH_MAX_BYTES];
};

struct canon_cache {
	struct canon_dir root;
	struct space space; /* one walk at a time */
};

struct canon_cache *canon_cache_new(struct arena *a, struct err *e)
{
	struct canon_cache *cache = ARENA_NEW(a, struct canon_cache, e);

	if (cache)
		cache->root.parent = &cache->root;
	return cache;
}

struct walk {
	struct arena *a;
	const struct host *host;
	struct canon_cache *cache; /* or NULL */
	struct canon_dir *dir;	   /* the last directory entered, if there is a cache */
	bool follow_last;
	bool refuses_locks;
	bool has_final_link; /* the path itself ended in a link: links->items[final_link] */
	bool crossed_links;  /* another link was followed */
	size_t final_link;
	size_t link_count;
	met_links *links;     /* or NULL */
	struct frame *frames; /* of a struct space */
	size_t frame_count;
	size_t stop_len; /* length of the prefix of `path` that can't be entered; 0: all can */
	enum host_type stop_type;
	size_t len; /* "" stands for "/" */
	char *path; /* of a struct space */
};

static struct str walk_path(const struct walk *w)
{
	return w->len ? (struct str){ w->path, w->len } : STR("/");
}

static bool has_more(const struct walk *w)
{
	for (size_t i = w->frame_count; i > 0; i--) {
		const struct frame *f = &w->frames[i - 1];
		struct str name;
		size_t at = f->at;

		if (path_next(f->text, &at, &name))
			return true;
	}
	return false;
}

static int append_name(struct walk *w, struct str name, struct err *e)
{
	if (name.len > PATH_MAX_COMPONENT)
		return FAIL_CAUSE(e, CAUSE_PATH_LIMIT,
				  "a path component is %zu bytes long, the limit is %d", name.len,
				  PATH_MAX_COMPONENT);
	if (name.len + 2 > PATH_MAX_BYTES - w->len)
		return FAIL_CAUSE(e, CAUSE_PATH_LIMIT, "a path is longer than %d bytes",
				  PATH_MAX_BYTES - 1);
	w->path[w->len++] = '/';
	memcpy(w->path + w->len, name.p, name.len);
	w->len += name.len;
	return 0;
}

static void go_up(struct walk *w)
{
	/* ".." of C:\ is C:\. */
	if (w->host->has_drives && w->len && !memchr(w->path + 1, '/', w->len - 1))
		return;
	w->len = path_parent(walk_path(w)).len;
	if (w->len == 1)
		w->len = 0;
	if (!w->stop_len)
		w->dir = w->cache ? w->dir->parent : NULL;
	else if (w->len < w->stop_len)
		w->stop_len = 0;
}

/* Remembers a directory only if something below it is looked up: leaves would fill the memory. */
static int enter(struct walk *w, struct str name, struct err *e)
{
	struct canon_dir *child;

	if (!w->cache || !has_more(w))
		return 0;
	child = ARENA_NEW(w->a, struct canon_dir, e);
	if (!child)
		return err_result(e);
	child->node.name = name;
	child->parent = w->dir;
	name_tree_add(&w->dir->children, &child->node);
	w->dir = child;
	return 0;
}

static int record_link(struct walk *w, struct str link, struct err *e)
{
	struct met_link *met;
	struct str path;
	int r;

	if (w->frame_count == 1 && !has_more(w)) {
		w->has_final_link = true;
		w->final_link = w->links ? w->links->count : 0;
	} else {
		w->crossed_links = true;
	}
	if (!w->links)
		return 0;
	r = arena_copy(w->a, link, &path, e);
	if (r < 0)
		return r;
	met = VEC_PUSH(w->a, w->links, e);
	if (!met)
		return err_result(e);
	*met = (struct met_link){ .path = path, .target = path };
	return 0;
}

/* The last component of w->path is a link: continues with its text instead. */
static int follow(struct walk *w, struct err *e)
{
	scoped_buf text = BUF_INIT(PATH_MAX_BYTES);
	struct frame next = { .link = w->links ? w->links->count : 0 };
	int r;

	if (w->link_count++ == CANON_MAX_LINKS)
		return FAIL_CAUSE(e, CAUSE_LINK_LOOP,
				  "more than %d symbolic links in a row, the last is %.*s",
				  CANON_MAX_LINKS, STR_ARG(walk_path(w)));
	r = w->host->read_link(w->host->user, walk_path(w), &text, e);
	if (r < 0)
		return r;
	r = arena_copy(w->a, buf_str(&text), &next.text, e);
	if (r < 0)
		return r;
	r = record_link(w, walk_path(w), e);
	if (r < 0)
		return r;
	w->frames[w->frame_count++] = next;
	if (path_is_absolute(next.text)) {
		w->len = 0;
		w->dir = w->cache ? &w->cache->root : NULL;
	} else {
		w->len = path_parent(walk_path(w)).len;
		w->len = w->len == 1 ? 0 : w->len;
	}
	return 0;
}

int host_find_lock(const struct host *host, struct str path, struct str *out, struct err *e)
{
	struct host_file file;
	int r = host->look(host->user, path, &file, e);

	while (r == 0 && file.type == HOST_HIDDEN && path.len > 1) {
		path = path_parent(path);
		r = host->look(host->user, path, &file, e);
	}
	if (r == 0)
		*out = file.is_locked ? path : STR_EMPTY;
	return r;
}

int host_refuse_lock(const struct host *host, struct str path, const char *what, struct err *e)
{
	struct str lock = STR_EMPTY;
	int r = host_find_lock(host, path, &lock, e);

	if (r < 0 || lock.len == 0)
		return r;
	(void)FAIL_CAUSE(e, CAUSE_PATH_LOCKED,
			 "%s is yours, but its mode keeps you out, so Cordon can't find %s",
			 SHOWN(lock), what);
	err_add_line(e, "the command could change the mode, so this can't be ignored");
	err_add_line(e, "run 'chmod u+rX %s', or remove the entry or the directory", SHOWN(lock));
	return err_result(e);
}

int builder_refuse_lock(struct builder *b, struct str path, const char *what, struct err *e)
{
	return host_refuse_lock(b->host, path, what, e);
}

static int step(struct walk *w, struct str name, struct err *e)
{
	struct name_node *known;
	struct host_file found;
	int r;

	if (str_is(name, "."))
		return 0;
	if (str_is(name, "..")) {
		go_up(w);
		return 0;
	}
	r = append_name(w, name, e);
	if (r < 0 || w->stop_len)
		return r;
	known = w->cache ? name_tree_find(w->dir->children, name) : NULL;
	if (known) {
		w->dir = (struct canon_dir *)(void *)known;
		return 0;
	}
	r = w->host->look(w->host->user, walk_path(w), &found, e);
	if (r < 0)
		return r;
	if (found.name.len && !str_eq(found.name, name)) {
		w->len -= name.len + 1;
		name = found.name;
		r = append_name(w, name, e);
		if (r < 0)
			return r;
		known = w->cache ? name_tree_find(w->dir->children, name) : NULL;
		if (known) {
			w->dir = (struct canon_dir *)(void *)known;
			return 0;
		}
	}
	if (found.type == HOST_DIR)
		return enter(w, name, e);
	if (found.type == HOST_LINK && (w->follow_last || w->frame_count > 1 || has_more(w)))
		return follow(w, e);
	w->stop_len = w->len;
	w->stop_type = found.type;
	if (found.type == HOST_HIDDEN && w->refuses_locks)
		return host_refuse_lock(w->host, walk_path(w), "what this path leads to", e);
	return 0;
}

/* Leaves the texts that were walked to their end; the target of each link is then known. */
static int leave_frames(struct walk *w, struct err *e)
{
	while (w->frame_count > 0) {
		struct frame *top = &w->frames[w->frame_count - 1];
		struct str name;
		size_t at = top->at;
		int r;

		if (path_next(top->text, &at, &name))
			return 0;
		w->frame_count--;
		if (w->frame_count == 0 || !w->links)
			continue;
		r = arena_copy(w->a, walk_path(w), &w->links->items[top->link].target, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int walk_text(struct walk *w, struct str text, struct err *e)
{
	int r;

	w->frames[0] = (struct frame){ .text = text };
	w->frame_count = 1;
	for (;;) {
		struct frame *top;
		struct str name;

		r = leave_frames(w, e);
		if (r < 0 || w->frame_count == 0)
			return r;
		top = &w->frames[w->frame_count - 1];
		if (path_next(top->text, &top->at, &name))
			r = step(w, name, e);
		if (r < 0)
			return r;
	}
}

static enum host_type walk_type(const struct walk *w)
{
	if (!w->stop_len)
		return HOST_DIR;
	if (w->stop_len == w->len)
		return w->stop_type;
	return w->stop_type == HOST_HIDDEN ? HOST_HIDDEN : HOST_MISSING;
}

/*
 * Where the first missing component ends. If a file is in the way, that is the component after it.
 */
static size_t missing_from(const struct walk *w)
{
	struct str name;
	size_t at = w->stop_len;

	if (walk_type(w) != HOST_MISSING)
		return 0;
	if (w->stop_type != HOST_MISSING)
		(void)path_next(walk_path(w), &at, &name);
	return at;
}

static int resolve(struct walk *w, struct str path, struct canon *out, struct err *e)
{
	struct canon result;
	int r = walk_text(w, path, e);

	if (r < 0)
		return err_wrap(e, "%.*s", STR_ARG(path));
	result = (struct canon){ .path = path,
				 .type = walk_type(w),
				 .missing_from = missing_from(w),
				 .crossed_links = w->link_count > 0 };
	if (!w->cache || !str_eq(walk_path(w), path)) {
		r = arena_copy(w->a, walk_path(w), &result.path, e);
		if (r < 0)
			return r;
	}
	*out = result;
	return 0;
}

int canon_resolve(struct arena *a, const struct host *host, struct str path, bool follow_last,
		  struct canon *out, met_links *links, struct err *e)
{
	struct space space;
	struct walk w = { .a = a,
			  .host = host,
			  .follow_last = follow_last,
			  .links = links,
			  .frames = space.frames,
			  .path = space.path };

	return resolve(&w, path, out, e);
}

int builder_canon(struct builder *b, struct str path, bool follow_last, struct canon *out,
		  met_links *links, struct err *e)
{
	UNINITIALIZED struct space space;
	/* cppcheck-suppress uninitvar; room to write to, never read before */
	struct space *used = b->cache ? &b->cache->space : &space;
	struct walk w = { .a = b->a,
			  .host = b->host,
			  .cache = b->cache,
			  .dir = b->cache ? &b->cache->root : NULL,
			  .follow_last = follow_last,
			  .refuses_locks = true,
			  .links = links,
			  .frames = used->frames,
			  .path = used->path };

	return resolve(&w, path, out, e);
}

int builder_canon_if(struct builder *b, struct str path, bool follow_last, struct canon *out,
		     met_links *links, bool *leads, struct err *e)
{
	int r = builder_canon(b, path, follow_last, out, links, e);

	*leads = r == 0;
	if (r < 0 && e->cause == CAUSE_LINK_LOOP) {
		err_clear(e);
		return 0;
	}
	return r;
}

int canon_locate(struct arena *a, const struct host *host, struct str cwd, struct str path,
		 struct located *out, struct err *e)
{
	met_links links = { .items = NULL };
	struct space space;
	struct walk w = { .a = a,
			  .host = host,
			  .follow_last = true,
			  .links = &links,
			  .frames = space.frames,
			  .path = space.path };
	struct located result = { .via_link = STR_EMPTY };
	int r;

	if (str_has_nul(path))
		return FAIL(e, ERR_SYNTAX, "a path contains a NUL byte");
	if (path.len == 0)
		return FAIL(e, ERR_SYNTAX, "a path is empty");
	if (!path_is_absolute(path) && cwd.len > 1) {
		if (cwd.len >= sizeof(space.path))
			return FAIL_CAUSE(e, CAUSE_PATH_LIMIT,
					  "the working directory's path is too long");
		memcpy(w.path, cwd.p, cwd.len);
		w.len = cwd.len;
	}
	r = walk_text(&w, path, e);
	if (r < 0)
		return err_wrap(e, "%.*s", STR_ARG(path));
	r = arena_copy(a, walk_path(&w), &result.path, e);
	if (r < 0)
		return r;
	result.type = walk_type(&w);
	result.crossed_links = w.crossed_links;
	if (w.has_final_link)
		result.via_link = links.items[w.final_link].path;
	result.links = links.items;
	result.link_count = links.count;
	*out = result;
	return 0;
}
