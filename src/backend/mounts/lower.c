/* SPDX-License-Identifier: MIT */
/* plan -> mount operations; see lower.h. */
#include "backend/mounts/lower.h"

#include <stdlib.h>

#include "base/path.h"
#include "base/utf8.h"

/* What one of the plan's lists asks to have mounted at a path. */
struct mount_request {
	struct str path;
	enum mount_kind kind;
	enum access access;
	enum host_type type;
	uint32_t rank; /* of several requests for one path, the lowest wins */
	bool is_pin;
	bool is_nested; /* of a nested repository (P9) */
	const struct held *held;
	struct str because;
};

/* A directory that can be traversed but not listed. */
enum { MODE_PASS = 0111 };

enum { RANK_KERNEL_MOUNT, RANK_HELD, RANK_MASKED, RANK_FRESH, RANK_REGION, RANK_LINK, RANK_PIN };

struct lowering {
	struct arena *a;
	const struct launch *in;
	struct mounts *out;
	VEC(struct mount_request) requests;
};

static int add_request(struct lowering *l, struct mount_request request, struct err *e)
{
	struct mount_request *added = VEC_PUSH(l->a, &l->requests, e);

	if (!added)
		return err_result(e);
	*added = request;
	return 0;
}

static bool is_under(struct str path, const char *dir)
{
	return path_is_under(path, str_of(dir));
}

static int request_regions(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->in->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];
		bool is_deny = region->access == ACCESS_DENY;

		if (region->type == HOST_MISSING || region->type == HOST_HIDDEN)
			continue;
		r = add_request(l,
				(struct mount_request){ .path = region->path,
							.kind = is_deny ? MOUNT_MASK : MOUNT_SELF,
							.access = region->access,
							.type = region->type,
							.rank = RANK_REGION,
							.is_nested = region->rule->is_nested,
							.because = region->rule->key },
				e);
	}
	return r;
}

static int request_masked(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->in->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->masked.count; i++) {
		const struct masked *masked = &plan->masked.items[i];

		r = add_request(l,
				(struct mount_request){ .path = masked->path,
							.kind = MOUNT_MASK,
							.type = masked->type,
							.rank = RANK_MASKED,
							.because = masked->rule->key },
				e);
	}
	return r;
}

/*
 * P11: covers the placeholder with a directory that holds only a .gitignore, so that git ignores it.
 * In git's own directory the placeholder itself is shown, because git would take the .gitignore for
 * a file of its own.
 */
static int request_held(struct lowering *l, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->in->held->count; i++) {
		const struct held *held = &l->in->held->items[i];
		bool is_dir = held->kind == PLACEHOLDER_DIR;
		bool is_shown = !is_dir || held->wanted->rule->kind == RULE_GIT;
		enum access access = plan_resolve(l->in->plan, held->wanted->path).access;
		struct mount_request request = { .path = held->wanted->path,
						 .kind = is_shown ? MOUNT_SELF : MOUNT_EMPTY,
						 .access = ACCESS_READ,
						 .type = is_dir ? HOST_DIR
							 : held->kind == PLACEHOLDER_FILE
								 ? HOST_FILE
								 : HOST_OTHER,
						 .rank = RANK_HELD,
						 .held = held,
						 .is_nested = held->wanted->rule->is_nested,
						 .because = held->wanted->rule->key };

		if (access == ACCESS_DENY)
			request.kind = MOUNT_MASK;
		if (held->is_there)
			r = add_request(l, request, e);
	}
	return r;
}

static int request_links_and_pins(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->in->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < plan->links.count; i++)
		r = add_request(
			l,
			(struct mount_request){ .path = plan->links.items[i].path,
						.kind = MOUNT_SELF,
						.access = ACCESS_READ,
						.type = HOST_LINK,
						.rank = RANK_LINK,
						.is_nested = plan->links.items[i].rule->is_nested,
						.because = plan->links.items[i].rule->key },
			e);
	for (size_t i = 0; r == 0 && i < plan->pins.count; i++)
		r = add_request(l,
				(struct mount_request){ .path = plan->pins.items[i].path,
							.kind = MOUNT_SELF,
							.access = ACCESS_WRITE,
							.type = HOST_DIR,
							.rank = RANK_PIN,
							.is_pin = true,
							.is_nested = plan->pins.items[i].is_nested,
							.because = plan->pins.items[i].because },
				e);
	return r;
}

/* A workspace below a private /tmp stays visible. */
static int request_roots_below(struct lowering *l, struct str fresh, struct err *e)
{
	const struct places *places = &l->in->plan->places;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places->root_count; i++) {
		struct str root = places->roots[i];
		enum access access = plan_resolve(l->in->plan, root).access;

		if (access == ACCESS_DENY || !path_is_under(root, fresh) || str_eq(root, fresh))
			continue;
		r = add_request(l,
				(struct mount_request){ .path = root,
							.kind = MOUNT_SELF,
							.access = access,
							.type = HOST_DIR,
							.rank = RANK_REGION,
							.because = STR("workspace") },
				e);
	}
	return r;
}

static int request_private_tmp(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->in->plan;
	int r = 0;

	if (!plan->policy->profile->tmp_is_private)
		return 0;
	for (size_t i = 0; r == 0 && i < PLACES_TMP_COUNT; i++) {
		struct str tmp = places_tmp(&plan->places, i);
		struct host_file file;

		if (tmp.len == 0)
			continue;
		r = l->in->host->look(l->in->host->user, tmp, &file, e);
		if (r == 0 && file.type == HOST_DIR)
			r = add_request(
				l,
				(struct mount_request){ .path = tmp,
							.kind = MOUNT_FRESH,
							.type = HOST_DIR,
							.rank = RANK_FRESH,
							.because = STR("tmp = \"private\"") },
				e);
		if (r == 0 && file.type == HOST_DIR)
			r = request_roots_below(l, tmp, e);
	}
	return r;
}

static int compare_requests(const void *a, const void *b)
{
	const struct mount_request *x = a, *y = b;
	int c = path_cmp(x->path, y->path);

	return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* ---- From requests to operations ------------------------------------------- */

/* The operation that covers `path`: the nearest one so far, at it or above it. */
static size_t find_cover(const struct mounts *m, const size_t *stack, size_t *depth,
			 struct str path)
{
	while (*depth > 1 && !path_is_under(path, str_of(m->ops.items[stack[*depth - 1]].path)))
		(*depth)--;
	return stack[*depth - 1];
}

static int add_made(struct lowering *l, struct str path, enum host_type type, uint32_t mode,
		    const char *target, struct err *e)
{
	struct made *made;

	for (size_t i = l->out->made.count; i-- > 0;)
		if (str_is(path, l->out->made.items[i].path))
			return 0;
	made = VEC_PUSH(l->a, &l->out->made, e);
	if (!made)
		return err_result(e);
	*made = (struct made){ .path = path.p, .type = type, .mode = mode, .target = target };
	return 0;
}

static bool covers_with_mask(const struct mount_op *op)
{
	return op->kind == MOUNT_MASK || op->kind == MOUNT_SKELETON;
}

/* Whether mount points below it have to be made. */
static bool is_made(const struct mount_op *op)
{
	return covers_with_mask(op) || op->kind == MOUNT_FRESH;
}

/* Makes a directory for `op` to show. */
static int name_made(struct lowering *l, struct mount_op *op, struct err *e)
{
	struct str name;

	uint32_t mode = op->kind == MOUNT_FRESH ? 01777 : MODE_PASS;

	if (arena_printf(l->a, &name, e, "m%zu", l->out->made.count) < 0 ||
	    add_made(l, name, HOST_DIR, mode, NULL, e) < 0)
		return err_result(e);
	op->made = name.p;
	return 0;
}

/* Makes the directories that lead to `path` through what covers it. */
static int open_way(struct lowering *l, struct mount_op *cover, struct str path,
		    enum host_type type, struct err *e)
{
	struct str rest = path_below(path, str_of(cover->path));
	uint32_t mode = cover->kind == MOUNT_FRESH || cover->kind == MOUNT_SELF ? 0755 : MODE_PASS;
	struct str name, made;
	size_t at = 0;

	if (cover->type != HOST_DIR)
		return FAIL(e, ERR_INTERNAL, "%s lies below %s, which is no directory", path.p,
			    cover->path);
	if (cover->kind == MOUNT_MASK) {
		cover->kind = MOUNT_SKELETON;
		if (name_made(l, cover, e) < 0)
			return err_result(e);
	}
	while (path_next(rest, &at, &name)) {
		bool is_last = at == rest.len;

		bool is_file = is_last && type != HOST_DIR;

		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): what is made is named. */
		if (arena_printf(l->a, &made, e, "%s/%.*s", cover->made, (int)at, rest.p) < 0 ||
		    add_made(l, made, is_file ? HOST_FILE : HOST_DIR, is_file ? 0 : mode, NULL, e) <
			    0)
			return err_result(e);
	}
	return 0;
}

/*
 * Whether a request changes anything below `cover`. In /proc, /sys and /dev, which the sandbox
 * makes anew, only narrowing counts, and in /dev also devices that are opened by name.
 */
static bool is_needed(const struct mount_request *request, const struct mount_op *cover)
{
	if (covers_with_mask(cover) && request->kind == MOUNT_MASK)
		return false;
	/* Below something fresh or empty the host's files are not visible unless a rule names them. */
	if (cover->kind == MOUNT_EMPTY)
		return false;
	if (cover->kind == MOUNT_FRESH)
		return request->rank == RANK_REGION && request->kind == MOUNT_SELF;
	if (request->kind != MOUNT_SELF)
		return true;
	if (is_under(request->path, "/proc") || is_under(request->path, "/sys") ||
	    str_is(request->path, "/dev"))
		return false;
	/* A read-only mount does not keep anyone from writing to a device. */
	if (is_under(request->path, "/dev"))
		return request->access == ACCESS_WRITE;
	if (request->is_pin || request->type == HOST_LINK)
		return cover->kind == MOUNT_SELF;
	return cover->kind != MOUNT_SELF || cover->access != request->access || request->held;
}

static int fill_inode(struct lowering *l, const struct mount_request *request, struct mount_op *op,
		      struct err *e)
{
	struct host_file file;

	if (request->held) {
		op->device = request->held->device;
		op->inode = request->held->inode;
		op->is_checked = true;
		return 0;
	}
	/* The sandbox has another instance of these file systems, with other inodes. */
	if (is_under(request->path, "/proc") ||
	    (is_under(request->path, "/dev") && request->kind != MOUNT_SELF))
		return 0;
	if (l->in->host->look(l->in->host->user, request->path, &file, e) < 0)
		return err_result(e);
	if (file.type != request->type)
		return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
				  "'%s' changed while the policy was compiled; try again",
				  op->path);
	op->device = file.device;
	op->inode = file.inode;
	op->is_checked = true;
	return 0;
}

/*
 * Whether the guard has to watch this mount. It watches placeholders separately, and the glob watch
 * masks a name that a glob denies again.
 */
static bool is_narrower(const struct lowering *l, const struct mount_request *request,
			const struct mount_op *op)
{
	struct verdict v = plan_resolve(l->in->plan, request->path);

	if (op->is_in_made || !op->is_checked || request->held)
		return false;
	/* A nested repository may be removed or replaced outside without ending the run (P9). */
	if (v.rule->is_nested)
		return false;
	if (request->rank == RANK_MASKED && v.access == ACCESS_DENY && v.rule->kind == RULE_GLOB)
		return false;
	return op->kind != MOUNT_SELF || op->access != ACCESS_WRITE;
}

/* Programs outside add and remove linked worktrees, and so .git/worktrees and what is in it. */
static bool may_go(const struct lowering *l, struct str path)
{
	const struct rule *rule = plan_resolve(l->in->plan, path).rule;
	struct str name;
	size_t at = 0;

	if (rule->kind != RULE_GIT)
		return false;
	while (path_next(path, &at, &name))
		if (str_is(name, "worktrees"))
			return true;
	return false;
}

static int add_op(struct lowering *l, const struct mount_request *request, struct mount_op *cover,
		  struct err *e)
{
	struct mount_op op = { .kind = request->kind,
			       .access = request->access,
			       .type = request->type,
			       .is_pin = request->is_pin,
			       .may_vanish = request->is_nested,
			       .because = request->because };
	struct mount_op *added;
	struct str path;

	if (arena_copy(l->a, request->path, &path, e) < 0)
		return err_result(e);
	op.path = path.p;
	op.below = path.p + 1;
	if (fill_inode(l, request, &op, e) < 0)
		return err_result(e);
	if (op.kind == MOUNT_SELF && is_under(path, "/dev")) {
		/* A device that the policy names is mounted into the sandbox's own /dev. */
		struct mount_op dev = {
			.kind = MOUNT_SELF, .type = HOST_DIR, .path = "/dev", .made = MADE_DEV
		};

		op.is_in_made = true;
		if (open_way(l, &dev, path, request->type, e) < 0)
			return err_result(e);
	} else if (cover && is_made(cover)) {
		op.is_in_made = true;
		if (open_way(l, cover, path, request->type, e) < 0)
			return err_result(e);
	}
	if (op.kind == MOUNT_FRESH && name_made(l, &op, e) < 0)
		return err_result(e);
	op.is_narrower = cover && is_narrower(l, request, &op);
	op.may_go = op.is_narrower && may_go(l, path);
	added = VEC_PUSH(l->a, &l->out->ops, e);
	if (!added)
		return err_result(e);
	*added = op;
	return 0;
}

static int make_ops(struct lowering *l, struct err *e)
{
	size_t *stack = arena_array(l->a, l->requests.count + 1, sizeof(*stack), e);
	size_t depth = 0;

	if (!stack)
		return err_result(e);
	for (size_t i = 0; i < l->requests.count; i++) {
		const struct mount_request *request = &l->requests.items[i];
		struct mount_op *cover = NULL;

		if (i > 0 && str_eq(request->path, l->requests.items[i - 1].path))
			continue;
		if (depth > 0) {
			cover = &l->out->ops.items[find_cover(l->out, stack, &depth, request->path)];
			if (!is_needed(request, cover))
				continue;
		}
		if (add_op(l, request, cover, e) < 0)
			return err_result(e);
		stack[depth++] = l->out->ops.count - 1;
	}
	return 0;
}

/* ---- A root that is denied ------------------------------------------------- */

struct root_links {
	struct lowering *l;
	const char *root; /* the name of its skeleton */
};

/* "/bin -> usr/bin": without these links no script would find its interpreter. */
static int add_root_link(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct root_links *links = arg;
	struct lowering *l = links->l;
	scoped_buf text = BUF_INIT(PATH_MAX_BYTES);
	struct str from, path, target;

	if (type != HOST_LINK)
		return 0;
	if (path_join(l->a, STR("/"), name, &from, e) < 0 ||
	    arena_printf(l->a, &path, e, "%s/%.*s", links->root, (int)name.len, name.p) < 0)
		return err_result(e);
	if (l->in->host->read_link(l->in->host->user, from, &text, e) < 0)
		return err_result(e);
	if (arena_copy(l->a, buf_str(&text), &target, e) < 0)
		return err_result(e);
	return add_made(l, path, HOST_LINK, 0, target.p, e);
}

/* Makes mount points and links in a root that shows nothing of the host's. */
static int furnish_root(struct lowering *l, struct err *e)
{
	struct mount_op *root = &l->out->ops.items[0];
	struct root_links links = { .l = l };

	if (!covers_with_mask(root))
		return 0;
	if (open_way(l, root, STR("/proc"), HOST_DIR, e) < 0 ||
	    open_way(l, root, STR("/dev"), HOST_DIR, e) < 0)
		return err_result(e);
	links.root = root->made;
	return l->in->host->list(l->in->host->user, STR("/"), add_root_link, &links, e);
}

/*
 * These have the first rank: no policy entry opens them.
 *
 * SECURITY: a mount below a directory that this user has closed (chmod 0) can't be seen now, but the
 * command runs as the same user and could open the directory, so the run is refused. A directory
 * that another user has closed is closed to the command, too.
 */
static int request_kernel_mounts(struct lowering *l, const kernel_mounts *kernel, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < kernel->count; i++) {
		struct host_file file;

		r = l->in->host->look(l->in->host->user, kernel->items[i], &file, e);
		if (r == 0 && (file.type == HOST_DIR || file.type == HOST_FILE))
			r = add_request(l,
					(struct mount_request){ .path = kernel->items[i],
								.kind = MOUNT_MASK,
								.type = file.type,
								.rank = RANK_KERNEL_MOUNT,
								.because = STR("a kernel mount") },
					e);
		if (r == 0 && file.type == HOST_HIDDEN)
			r = host_refuse_lock(l->in->host, kernel->items[i],
					     "the view of the kernel that is mounted there", e);
	}
	return r;
}

int lower_mounts(struct arena *a, const struct launch *in, const kernel_mounts *kernel,
		 struct mounts *out, struct err *e)
{
	struct lowering l = { .a = a, .in = in, .out = out };

	*out = (struct mounts){ .ops = { .items = NULL } };
	if (request_kernel_mounts(&l, kernel, e) < 0 || request_regions(&l, e) < 0 ||
	    request_masked(&l, e) < 0 || request_held(&l, e) < 0 ||
	    request_links_and_pins(&l, e) < 0 || request_private_tmp(&l, e) < 0)
		return err_result(e);
	if (l.requests.count > 0)
		qsort(l.requests.items, l.requests.count, sizeof(l.requests.items[0]),
		      compare_requests);
	if (l.requests.count == 0 || !str_is(l.requests.items[0].path, "/"))
		return FAIL(e, ERR_INTERNAL, "the plan has no rule for the root directory");
	if (make_ops(&l, e) < 0)
		return err_result(e);
	return furnish_root(&l, e);
}

/* ---- Landlock ------------------------------------------------------------------ */

static int add_rule(struct arena *a, struct landlock_rules *landlock, struct landlock_rule rule,
		    struct err *e)
{
	struct landlock_rule *added = VEC_PUSH(a, &landlock->rules, e);

	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

int lower_landlock(struct arena *a, const struct mounts *mounts, bool opens_paths,
		   struct landlock_rules *out, struct err *e)
{
	const enum landlock_access closed = opens_paths ? LANDLOCK_MAY_ARRANGE : LANDLOCK_MAY_READ;
	const struct mount_op *top = &mounts->ops.items[0];
	bool is_open = top->kind == MOUNT_SELF && top->access == ACCESS_WRITE;
	const struct landlock_rule always[] = {
		{ .path = "/", .kind = is_open ? LANDLOCK_MAY_WRITE : closed },
		{ .path = "/proc", .kind = LANDLOCK_MAY_USE, .is_made = true },
		{ .path = "/dev", .kind = LANDLOCK_MAY_USE, .is_made = true },
		{ .path = "/dev/pts", .kind = LANDLOCK_MAY_USE, .is_made = true },
		{ .path = "/dev/shm", .kind = LANDLOCK_MAY_WRITE, .is_made = true },
		{ .path = "/dev/mqueue", .kind = LANDLOCK_MAY_WRITE, .is_made = true },
	};
	int r = 0;

	out->shows_root = top->kind == MOUNT_SELF;
	for (size_t i = 0; r == 0 && i < COUNT_OF(always); i++)
		r = add_rule(a, out, always[i], e);
	for (size_t i = 1; r == 0 && i < mounts->ops.count; i++) {
		const struct mount_op *op = &mounts->ops.items[i];
		bool is_fresh = op->kind == MOUNT_FRESH;

		if (!op->is_pin &&
		    (is_fresh || (op->kind == MOUNT_SELF && op->access == ACCESS_WRITE)))
			r = add_rule(a, out,
				     (struct landlock_rule){ .path = op->path,
							     .kind = LANDLOCK_MAY_WRITE,
							     .is_made = is_fresh },
				     e);
	}
	return r;
}

/* ---- What the guard watches ------------------------------------------------------ */

int lower_narrowed(struct arena *a, const struct mounts *mounts, struct narrowed_list *out,
		   struct err *e)
{
	struct narrowed *items = arena_array(a, mounts->ops.count, sizeof(*items), e);

	if (!items)
		return err_result(e);
	*out = (struct narrowed_list){ .items = items };
	for (size_t i = 0; i < mounts->ops.count; i++) {
		const struct mount_op *op = &mounts->ops.items[i];

		if (op->is_narrower)
			items[out->count++] =
				(struct narrowed){ .path = op->path, .may_go = op->may_go };
	}
	return 0;
}

bool lower_has_writable(const struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->ops.count; i++)
		if (mounts->ops.items[i].kind == MOUNT_SELF &&
		    mounts->ops.items[i].access == ACCESS_WRITE)
			return true;
	return false;
}

void lower_describe(const struct mount_op *op, struct buf *out)
{
	static const char *const kinds[] = { [MOUNT_SELF] = "",
					     [MOUNT_MASK] = "hide",
					     [MOUNT_EMPTY] = "keep empty",
					     [MOUNT_SKELETON] = "hide but for what follows",
					     [MOUNT_FRESH] = "start empty" };
	const char *kind = kinds[op->kind];

	if (op->kind == MOUNT_SELF)
		kind = op->is_pin		    ? "keep in place"
		       : op->type == HOST_LINK	    ? "keep the link"
		       : op->access == ACCESS_WRITE ? "writable"
						    : "read-only";
	buf_printf(out, "%s ", kind);
	utf8_add_shown(out, str_of(op->path));
	if (op->because.len > 0) {
		buf_add_text(out, "  (");
		utf8_add_shown(out, op->because);
		buf_add_text(out, ")");
	}
}
