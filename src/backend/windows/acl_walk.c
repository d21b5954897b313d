/* SPDX-License-Identifier: MIT */
/* See acl_walk.h. */
#include "backend/windows/acl_walk.h"

/* ---- One object ---------------------------------------------------------------------------------- */

static int read_list(const struct acl_walk *walk, const struct acl_object *object, struct arena *a,
		     struct acl_list *out, struct err *e)
{
	return walk->system->read_acl(walk->system->user, object, a, out, e);
}

static bool is_same_list(const struct acl_list *a, const struct acl_list *b)
{
	return str_eq(a->bytes, b->bytes) && a->is_protected == b->is_protected &&
	       a->control == b->control;
}

/* Writes `to`, and looks whether that is what is there then. */
static int write_list(struct acl_walk *walk, const struct acl_object *object, struct arena *a,
		      const struct acl_list *to, struct err *e)
{
	struct acl_list now;

	walk->changed++;
	if (walk->system->write_acl(walk->system->user, object, to, e) < 0 ||
	    read_list(walk, object, a, &now, e) < 0)
		return err_result(e);
	if (is_same_list(&now, to))
		return 0;
	return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
			  "what was written into its access list is not what is there now");
}

/* The SIDs of ours that the list does not name yet. */
static int list_new(struct arena *a, const struct acl_walk *walk, struct str list, struct str **out,
		    size_t *count, struct err *e)
{
	struct str *sids = arena_array(a, walk->own_count + 1, sizeof(*sids), e);

	if (!sids)
		return err_result(e);
	*count = 0;
	for (size_t i = 0; i < walk->own_count; i++)
		if (!acl_names_any(list, &walk->own[i], 1))
			sids[(*count)++] = walk->own[i];
	*out = sids;
	return 0;
}

/* After a failure: what this change has brought goes, as far as it is there at all. Keeps the error. */
static void undo(struct acl_walk *walk, const struct acl_object *object, struct arena *a,
		 const struct str *sids, size_t count)
{
	struct err ignored = ERR_INIT;
	struct acl_list now;

	if (read_list(walk, object, a, &now, &ignored) == 0 && now.bytes.len &&
	    acl_remove(a, now.bytes, sids, count, &now.bytes, &ignored) == 0)
		(void)write_list(walk, object, a, &now, &ignored);
}

/* True: its list inherits, so what is below may, too. */
static int add_to(struct acl_walk *walk, const struct acl_object *object,
		  const struct acl_ace *aces, size_t count, bool is_inherited, bool *goes_on,
		  struct err *e)
{
	const struct acl_addition in = {
		.aces = aces, .count = count, .own = walk->own, .own_count = walk->own_count
	};
	scoped_arena a = ARENA_INIT(ACL_SCRATCH_BYTES);
	struct acl_list before, after;
	struct str *fresh = NULL;
	size_t fresh_count = 0;

	*goes_on = false;
	if (read_list(walk, object, &a, &before, e) < 0)
		return err_result(e);
	if (is_inherited && before.is_protected)
		return 0;
	after = before;
	if (acl_add(&a, before.bytes, &in, &after.bytes, e) < 0)
		return err_result(e);
	*goes_on = true;
	if (acl_has_all(before.bytes, aces, count))
		return 0;
	if (list_new(&a, walk, before.bytes, &fresh, &fresh_count, e) < 0)
		return err_result(e);
	if (write_list(walk, object, &a, &after, e) == 0)
		return 0;
	undo(walk, object, &a, fresh, fresh_count);
	return err_result(e);
}

/* ---- All below ------------------------------------------------------------------------------------ */

/* A directory on the way down. */
struct level {
	struct acl_walk *walk;
	const struct acl_object *dir;
	const struct acl_ace *aces; /* what is inherited; NULL: entries are taken out */
	size_t count, depth;
	struct err *first; /* the first failure of taking out */
};

static int go_below(struct level *level, struct err *e);

/* A list that can't be read or extended: without a deny to add, that keeps the command from writing. */
static bool may_skip(const struct level *level, const struct err *e)
{
	for (size_t i = 0; i < level->count; i++)
		if (level->aces[i].is_deny)
			return false;
	return e->cause == CAUSE_ACL_UNUSUAL || e->cause == CAUSE_ACL_CLOSED;
}

static int add_child(struct level *level, const struct acl_object *child, struct err *e)
{
	const bool is_dir = child->is_dir && !child->is_link;
	scoped_arena a = ARENA_INIT(ACL_SCRATCH_BYTES);
	struct acl_ace *aces = arena_array(&a, level->count, sizeof(*aces), e);
	struct level below = { .walk = level->walk,
			       .dir = child,
			       .aces = level->aces,
			       .count = level->count,
			       .depth = level->depth + 1 };
	bool goes_on;

	if (!aces)
		return err_result(e);
	for (size_t i = 0; i < level->count; i++)
		aces[i] = acl_inherit(level->aces[i], is_dir);
	if (add_to(level->walk, child, aces, level->count, true, &goes_on, e) < 0)
		return err_result(e);
	return goes_on && is_dir ? go_below(&below, e) : 0;
}

static int remove_from(struct acl_walk *walk, const struct acl_object *object, struct err *e)
{
	scoped_arena a = ARENA_INIT(ACL_SCRATCH_BYTES);
	struct acl_list list;

	if (read_list(walk, object, &a, &list, e) < 0)
		return err_result(e);
	if (!list.bytes.len || !acl_names_any(list.bytes, walk->own, walk->own_count))
		return 0;
	if (acl_remove(&a, list.bytes, walk->own, walk->own_count, &list.bytes, e) < 0)
		return err_result(e);
	return write_list(walk, object, &a, &list, e);
}

static void keep_first(struct level *level, struct err *e)
{
	if (!level->first->code)
		*level->first = *e;
	err_clear(e);
}

static int remove_child(struct level *level, const struct acl_object *child, struct err *e)
{
	struct level below = {
		.walk = level->walk, .dir = child, .depth = level->depth + 1, .first = level->first
	};

	if (remove_from(level->walk, child, e) < 0)
		keep_first(level, e);
	return child->is_dir && !child->is_link ? go_below(&below, e) : 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most ACL_MAX_DEPTH */
static int visit(void *arg, struct str name, struct err *e)
{
	struct level *level = arg;
	const struct acl_system *system = level->walk->system;
	struct acl_object child = { .handle = NULL };
	int r;

	if (++level->walk->objects > ACL_MAX_OBJECTS)
		return FAIL(e, ERR_LIMIT, "there are more than %d files below it", ACL_MAX_OBJECTS);
	r = system->open_in(system->user, level->dir, name, &child, e);
	if (r == 0 && child.handle) {
		r = level->aces ? add_child(level, &child, e) : remove_child(level, &child, e);
		system->close(system->user, &child);
	}
	if (r < 0 && !level->aces) {
		keep_first(level, e);
		return 0;
	}
	if (r < 0 && may_skip(level, e)) {
		err_clear(e);
		level->walk->skipped++;
		return 0;
	}
	return r < 0 ? err_wrap(e, "%.*s", STR_ARG(name)) : 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most ACL_MAX_DEPTH */
static int go_below(struct level *level, struct err *e)
{
	const struct acl_system *system = level->walk->system;

	if (level->depth > ACL_MAX_DEPTH)
		return FAIL(e, ERR_LIMIT, "there are more than %d directories in each other",
			    ACL_MAX_DEPTH);
	return system->list(system->user, level->dir, visit, level, e);
}

int acl_walk_add(struct acl_walk *walk, const struct acl_object *object, const struct acl_ace *aces,
		 size_t count, struct err *e)
{
	scoped_arena a = ARENA_INIT(ACL_SCRATCH_BYTES);
	struct acl_ace *passed_on = arena_array(&a, count + 1, sizeof(*passed_on), e);
	struct level level = { .walk = walk, .dir = object, .aces = passed_on, .depth = 1 };
	bool ignored;

	if (!passed_on || add_to(walk, object, aces, count, false, &ignored, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		if (aces[i].flags & (ACL_TO_FILES | ACL_TO_DIRS))
			passed_on[level.count++] = aces[i];
	return level.count && object->is_dir && !object->is_link ? go_below(&level, e) : 0;
}

int acl_walk_remove(struct acl_walk *walk, const struct acl_object *object, struct err *e)
{
	struct err first = ERR_INIT;
	struct level level = { .walk = walk, .dir = object, .depth = 1, .first = &first };

	if (remove_from(walk, object, e) < 0)
		keep_first(&level, e);
	if (object->is_dir && !object->is_link && go_below(&level, e) < 0)
		keep_first(&level, e);
	*e = first;
	return e->code ? err_result(e) : 0;
}
