/* SPDX-License-Identifier: MIT */
/*
 * Paths that are opened and closed while the command runs; linux/live/graft.h says how it is done.
 *
 * Each grant has a mount of its own, also where another grant covers it already: so every grant can be
 * taken back by itself, in any order. One that is taken back while another covers it stays
 * (GRANT_DORMANT), and is closed with that other one.
 *
 * SECURITY: when it is not known what stands, the run ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/linux/supervisor.h"
#include "backend/mounts/lower.h"
#include "base/utf8.h"
#include "linux/live/writers.h"

enum {
	MAX_GRANTS = 256,
	LOWERED_MAX_BYTES = 256 << 20,
	RETRY_MS = 100,
};

static bool is_below(struct str path, struct str dir)
{
	return path.len > dir.len && path_is_under(path, dir);
}

/* ---- The processes that it takes -------------------------------------------------------------- */

static int own_masker_is_gone(void *user, uint32_t events, struct err *e)
{
	(void)user, (void)events;
	return FAIL_CAUSE(e, CAUSE_SANDBOX_KILLED,
			  "the process that mounts in the sandbox was killed");
}

int grants_use_masker(struct supervisor *s, struct masker **out, struct err *e)
{
	struct live *live = &s->live;

	if (s->watch)
		return watch_use_masker(s->watch, out, e);
	if (live->own.channel < 0) {
		if (masker_start(&live->own, &s->sandbox, e) < 0)
			return err_result(e);
		live->own_gone.fd = live->own.channel;
		if (loop_add(s->in.loop, &live->own_gone, 0, e) < 0)
			return err_result(e);
	}
	*out = &live->own;
	return 0;
}

int grants_use_opener(struct supervisor *s, struct err *e)
{
	s->live.opener.done = live_take_result;
	s->live.opener.user = s;
	return opener_start(&s->live.opener, s->in.loop, &s->sandbox, e);
}

/* SECURITY: as the warden of the run: without it nobody would remove them. */
static int warden_is_gone(void *user, uint32_t events, struct err *e)
{
	struct grafted *g = user;

	(void)events;
	loop_remove(g->supervisor->in.loop, &g->warden_gone);
	return FAIL_SYS(e, ECHILD, "the process that cleans up after the run was killed");
}

/* ---- Failing ----------------------------------------------------------------------------------- */

static int is_broken(void *user, struct err *e)
{
	(void)user;
	return FAIL_SYS(e, EIO,
			"a path that was opened while the command runs is in an unknown state; "
			"the run was ended");
}

/* SECURITY: nobody knows what the command may write now, so nothing is done for it any more. */
static int end_run(struct supervisor *s, struct err *e)
{
	s->can_open = false;
	loop_remove(s->in.loop, &s->engine.watcher);
	(void)supervisor_kill(s);
	loop_set_timer(s->in.loop, &s->live.broken, loop_now());
	return err_result(e);
}

static int fail_step(struct str path, const struct graft_answer *answer, struct err *e)
{
	scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	utf8_add_shown(&shown, path);
	if (answer->os_error == ESTALE || answer->os_error == ELOOP || answer->os_error == EXDEV)
		return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
				  "'%s' is no longer what the policy was compiled from",
				  buf_str(&shown).p);
	if (answer->os_error == EPERM && answer->kind == GRAFT_OPEN)
		return FAIL(e, ERR_POLICY,
			    "'%s' is on a file system that the host mounts read-only",
			    buf_str(&shown).p);
	if (answer->os_error == E2BIG)
		return FAIL(e, ERR_LIMIT, "too many paths were opened while the command runs");
	return FAIL_SYS(e, answer->os_error, "can't open '%s' in the sandbox", buf_str(&shown).p);
}

/* ---- What is narrower below it ---------------------------------------------------------------- */

/* A grant on its way. */
struct opening {
	struct supervisor *s;
	struct grafted *g;
	struct masker *masker;
	struct arena a; /* of the mounts */
	struct mounts mounts;
	const struct plan *plan;
	size_t narrowed;
	VEC(struct str) steps; /* the path of each order */
	struct str *reopened;  /* still to be sent, the shortest first; "" once one was sent */
	size_t reopened_count;
};

static bool is_held_by(const struct placeholders *held, struct str path)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->items[i].is_there && str_eq(held->items[i].wanted->path, path))
			return true;
	return false;
}

static bool is_held(const struct supervisor *s, struct str path)
{
	if (is_held_by(&s->held, path))
		return true;
	for (size_t i = 0; i < s->live.grants.count; i++)
		if (is_held_by(&s->live.grants.items[i]->held, path))
			return true;
	return false;
}

/* Makes the placeholders that only this grant needs. */
static int hold_missing(struct opening *o, struct err *e)
{
	const struct plan *plan = o->plan;
	struct grafted *g = o->g;
	struct placeholder *items =
		arena_array(o->s->a, plan->placeholders.count + 1, sizeof(*items), e);
	struct placeholder_list wanted = { .items = items };

	if (!items)
		return err_result(e);
	for (size_t i = 0; i < plan->placeholders.count; i++) {
		const struct placeholder *one = &plan->placeholders.items[i];

		if (is_below(one->path, g->path) && !is_held(o->s, one->path))
			items[wanted.count++] = *one;
	}
	if (wanted.count == 0)
		return 0;
	if (warden_hold(&g->warden, o->s->a, wanted, &g->held, e) < 0 ||
	    warden_watch(&g->warden, o->s->sandbox.pidfd, e) < 0)
		return err_result(e);
	g->warden_gone =
		(struct watcher){ .fd = g->warden.pidfd, .ready = warden_is_gone, .user = g };
	return g->warden.pidfd < 0 ? 0 : loop_add(o->s->in.loop, &g->warden_gone, LOOP_IN, e);
}

static int add_held(struct opening *o, struct placeholders *all, const struct placeholders *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (is_below(held->items[i].wanted->path, o->g->path))
			all->items[all->count++] = held->items[i];
	return 0;
}

static int gather_held(struct opening *o, struct placeholders *out, struct err *e)
{
	const struct supervisor *s = o->s;
	size_t count = s->held.count;

	for (size_t i = 0; i < s->live.grants.count; i++)
		count += s->live.grants.items[i]->held.count;
	*out = (struct placeholders){ .items = arena_array(&o->a, count + 1, sizeof(*out->items),
							   e) };
	if (!out->items)
		return err_result(e);
	(void)add_held(o, out, &s->held);
	for (size_t i = 0; i < s->live.grants.count; i++)
		(void)add_held(o, out, &s->live.grants.items[i]->held);
	return 0;
}

/* The same lowering as before the start: what it wants below the path is what has to stand there. */
static int lower(struct opening *o, struct err *e)
{
	const kernel_mounts none = { .items = NULL };
	struct placeholders held;
	const struct launch launch = { .plan = o->plan, .host = o->plan->host, .held = &held };

	return gather_held(o, &held, e) < 0 ? err_result(e)
					    : lower_mounts(&o->a, &launch, &none, &o->mounts, e);
}

/* ---- The graft --------------------------------------------------------------------------------- */

static int send(struct opening *o, const struct graft_order *order, struct str path, struct err *e)
{
	struct str *step = VEC_PUSH(&o->a, &o->steps, e);

	if (!step)
		return err_result(e);
	*step = path;
	return graft_send(o->masker, order, path, e);
}

static int send_pin(struct opening *o, struct graft_order *order, struct str path, struct err *e)
{
	struct str *pin = VEC_PUSH(o->s->a, &o->g->pins, e);

	if (!pin || arena_copy(o->s->a, path, pin, e) < 0)
		return err_result(e);
	order->pin = (uint32_t)o->g->pins.count;
	return send(o, order, *pin, e);
}

static int note_narrowed(struct opening *o, struct narrowed *items, const struct mount_op *op,
			 struct err *e)
{
	struct str path;

	if (!op->is_narrower)
		return 0;
	if (arena_copy(o->s->a, str_of(op->path), &path, e) < 0)
		return err_result(e);
	items[o->g->narrowed.count++] = (struct narrowed){ .path = path.p, .may_go = op->may_go };
	return 0;
}

static enum graft_order_kind kind_of(const struct mount_op *op)
{
	if (op->kind == MOUNT_MASK || op->kind == MOUNT_SKELETON)
		return GRAFT_HIDE;
	if (op->kind == MOUNT_SELF && op->access == ACCESS_WRITE)
		return op->is_pin ? GRAFT_PIN : GRAFT_NONE; /* without a pin it stands already */
	return GRAFT_NARROW;
}

static int send_one(struct opening *o, struct narrowed *items, const struct mount_op *op,
		    struct err *e)
{
	struct graft_order order = { .kind = kind_of(op),
				     .number = o->g->number,
				     .device = op->is_checked ? op->device : 0,
				     .inode = op->is_checked ? op->inode : 0,
				     .may_vanish = op->may_vanish };

	if (order.kind == GRAFT_NONE)
		return 0;
	if (note_narrowed(o, items, op, e) < 0)
		return err_result(e);
	if (order.kind == GRAFT_PIN)
		return send_pin(o, &order, str_of(op->path), e);
	return send(o, &order, str_of(op->path), e);
}

static int send_begin(struct opening *o, struct err *e)
{
	const struct host *host = o->plan->host;
	struct graft_order order = { .kind = GRAFT_BEGIN, .number = o->g->number };
	struct host_file file;

	if (host->look(host->user, o->g->path, &file, e) < 0)
		return err_result(e);
	if (file.type != HOST_DIR && file.type != HOST_FILE)
		return FAIL(e, ERR_POLICY, "only files and directories that exist can be opened");
	order.device = file.device;
	order.inode = file.inode;
	return send(o, &order, o->g->path, e);
}

static int compare_lengths(const void *a, const void *b)
{
	const struct str *x = a, *y = b;

	return (x->len > y->len) - (x->len < y->len);
}

static bool is_closed(const struct grafted *g)
{
	return g->state == GRANT_CLOSING || g->state == GRANT_CLOSED;
}

static void add_reopened(struct opening *o, struct str path, struct str *paths, size_t *count)
{
	bool is_wanted = is_below(path, o->g->path) &&
			 plan_resolve(o->plan, path).access == ACCESS_WRITE;

	for (size_t i = 0; is_wanted && i < *count; i++)
		is_wanted = !str_eq(paths[i], path);
	if (is_wanted)
		paths[(*count)++] = path;
}

/*
 * Covers of grants that were closed, and what became read-only with them, are in the copy. Where the plan
 * says so now it is writable again, on a mount of its own.
 */
static int find_reopened(struct opening *o, struct err *e)
{
	size_t room = 0;

	for (size_t i = 0; i < o->s->live.grants.count; i++)
		room += 1 + o->s->live.grants.items[i]->pins.count;
	o->reopened = arena_array(&o->a, room + 1, sizeof(*o->reopened), e);
	if (!o->reopened)
		return err_result(e);
	for (size_t i = 0; i < o->s->live.grants.count; i++) {
		const struct grafted *g = o->s->live.grants.items[i];

		if (!is_closed(g))
			continue;
		add_reopened(o, g->path, o->reopened, &o->reopened_count);
		for (size_t k = 0; k < g->pins.count; k++)
			add_reopened(o, g->pins.items[k], o->reopened, &o->reopened_count);
	}
	qsort(o->reopened, o->reopened_count, sizeof(*o->reopened), compare_lengths);
	return 0;
}

/*
 * Those at `path` and above it, before what narrows there; "": all that are left. A mount above one has to stand before it,
 * because it would cover it with a copy that stays read-only.
 */
static int send_reopened(struct opening *o, struct str path, struct err *e)
{
	struct graft_order order = { .kind = GRAFT_PIN, .number = o->g->number, .may_vanish = 1 };

	for (size_t i = 0; i < o->reopened_count; i++) {
		const struct str one = o->reopened[i];

		if (!one.len || (path.len && !path_is_under(path, one)))
			continue;
		o->reopened[i] = STR_EMPTY;
		if (send_pin(o, &order, one, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* A transaction that was begun has to be ended, whatever happened. */
static int send_all(struct opening *o, struct err *e)
{
	struct narrowed *items = arena_array(o->s->a, o->mounts.ops.count + 1, sizeof(*items), e);

	if (!items)
		return err_result(e);
	o->g->narrowed.items = items;
	if (find_reopened(o, e) < 0 || send_begin(o, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < o->mounts.ops.count; i++) {
		const struct mount_op *op = &o->mounts.ops.items[i];
		const struct str path = str_of(op->path);

		/* What lies in something made for the sandbox was there from the start. */
		if (is_below(path, o->g->path) && !op->is_in_made &&
		    (send_reopened(o, path, e) < 0 || send_one(o, items, op, e) < 0))
			return end_run(o->s, e);
	}
	if (send_reopened(o, STR_EMPTY, e) < 0)
		return end_run(o->s, e);
	return graft_order(o->masker, GRAFT_OPEN, o->g->number, o->g->path, e) < 0
		       ? end_run(o->s, e)
		       : 0;
}

static int graft(struct opening *o, struct err *e)
{
	struct graft_answer answer;
	struct str path = o->g->path;
	int fd;

	if (send_all(o, e) < 0)
		return err_result(e);
	if (graft_wait(o->masker, &answer, &fd, e) < 0)
		return end_run(o->s, e);
	o->g->mount = answer.mount;
	if (answer.os_error == 0)
		return 0;
	if (answer.step < o->steps.count)
		path = o->steps.items[answer.step];
	(void)fail_step(path, &answer, e);
	return answer.kind == GRAFT_NONE ? end_run(o->s, e) : err_result(e);
}

/* ---- Opening ------------------------------------------------------------------------------------ */

/* What a glob denies is masked before a held call goes on. */
static int mask_below(struct opening *o, struct err *e)
{
	struct graft_answer answer;
	int fd;

	if (!o->s->watch)
		return 0;
	if (watch_look_again(o->s->watch, o->plan, o->g->path, e) < 0 ||
	    graft_order(o->masker, GRAFT_SYNC, 0, STR_EMPTY, e) < 0)
		return err_result(e);
	return graft_wait(o->masker, &answer, &fd, e);
}

static struct grafted *find_open(const struct supervisor *s, struct str path)
{
	for (size_t i = s->live.grants.count; i > 0; i--) {
		struct grafted *g = s->live.grants.items[i - 1];

		if (g->state == GRANT_OPEN && str_eq(g->path, path))
			return g;
	}
	return NULL;
}

static void set_plan(struct supervisor *s, const struct plan *plan)
{
	s->live.plan = plan;
	if (s->namer)
		naming_set_plan(s->namer, plan);
}

static void let_go(struct supervisor *s, struct grafted *g)
{
	loop_remove(s->in.loop, &g->warden_gone);
	warden_finish(&g->warden, &g->held);
	g->held.count = 0;
}

/* ---- Closing ------------------------------------------------------------------------------------- */

/* Whether it is closed together with `g`. */
static bool goes_with(const struct grafted *other, const struct grafted *g)
{
	return other == g || (other->state == GRANT_DORMANT && path_is_under(other->path, g->path));
}

/* A grant that is being closed. */
struct closing {
	const struct supervisor *s;
	struct masker *masker;
	const struct grafted *g;
	const struct plan *plan; /* without it */
};

/* SECURITY: copies that other grants have made of it, and that are covered by now, as well. */
static int shut_copies(const struct closing *c, const struct graft_order *order, struct str path,
		       struct err *e)
{
	struct graft_order in = *order;

	in.kind = GRAFT_SHUT_IN;
	for (size_t i = 0; i < c->s->live.grants.count; i++) {
		const struct grafted *other = c->s->live.grants.items[i];

		in.number = other->number;
		if (other != c->g && is_below(path, other->path) &&
		    graft_send(c->masker, &in, path_below(path, other->path), e) < 0)
			return err_result(e);
	}
	return 0;
}

/* One mount of `part`: its top (0) or a pin. */
static int shut(const struct closing *c, const struct grafted *part, size_t pin, struct err *e)
{
	const struct str path = pin ? part->pins.items[pin - 1] : part->path;
	const bool stays_open = plan_resolve(c->plan, path).access == ACCESS_WRITE;
	const struct graft_order order = { .kind = stays_open ? GRAFT_SHUT_UNDER : GRAFT_SHUT,
					   .number = c->g->number,
					   .part = part->number,
					   .pin = (uint32_t)pin };

	if (is_below(path, c->g->path) &&
	    graft_send(c->masker, &order, path_below(path, c->g->path), e) < 0)
		return err_result(e);
	return stays_open ? 0 : shut_copies(c, &order, path, e);
}

static int shut_all(const struct closing *c, const struct grafted *part, struct err *e)
{
	for (size_t i = 0; i <= part->pins.count; i++)
		if (shut(c, part, i, e) < 0)
			return err_result(e);
	return 0;
}

static void set_closed(struct supervisor *s, struct grafted *g, uint32_t busy)
{
	g->state = busy ? GRANT_CLOSING : GRANT_CLOSED;
	if (g->state == GRANT_CLOSED)
		guard_drop(&s->guard, &g->guarded);
}

/* Makes its mounts read-only, which may have to be tried again. */
static int retry(struct supervisor *s, struct masker *m, struct grafted *g, struct err *e)
{
	struct graft_answer answer;
	int fd;

	if (graft_order(m, GRAFT_RETRY, g->number, STR_EMPTY, e) < 0 ||
	    graft_wait(m, &answer, &fd, e) < 0)
		return err_result(e);
	if (answer.os_error)
		return FAIL_SYS(e, answer.os_error, "can't close a path in the sandbox");
	set_closed(s, g, answer.busy);
	return 0;
}

static int retry_all(void *user, struct err *e)
{
	struct supervisor *s = user;
	struct masker *m;
	bool is_left = false;

	if (grants_use_masker(s, &m, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < s->live.grants.count; i++) {
		struct grafted *g = s->live.grants.items[i];

		if (g->state != GRANT_CLOSING)
			continue;
		if (retry(s, m, g, e) < 0)
			return end_run(s, e);
		is_left |= g->state == GRANT_CLOSING;
	}
	loop_set_timer(s->in.loop, &s->live.closing, is_left ? loop_now() + RETRY_MS : 0);
	return 0;
}

static int cover(const struct closing *c, struct err *e)
{
	const struct supervisor *s = c->s;
	const struct grafted *g = c->g;
	struct graft_answer answer;
	int fd;

	if (graft_order(c->masker, GRAFT_COVER, g->number, g->path, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < s->live.grants.count; i++) {
		const struct grafted *part = s->live.grants.items[i];

		if ((part->state == GRANT_OPEN || part->state == GRANT_DORMANT) &&
		    path_is_under(part->path, g->path) && shut_all(c, part, e) < 0)
			return err_result(e);
	}
	if (graft_order(c->masker, GRAFT_CLOSE, g->number, STR_EMPTY, e) < 0 ||
	    graft_wait(c->masker, &answer, &fd, e) < 0)
		return err_result(e);
	if (answer.os_error)
		return fail_step(g->path, &answer, e);
	return 0;
}

/* Whoever takes back an inner grant while an outer one is open need not say so. */
static void give_back_below(struct supervisor *s, const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < s->live.grants.count; i++) {
		struct grafted *g = s->live.grants.items[i];

		if (g->state == GRANT_OPEN && path_is_under(g->path, path) &&
		    plan_resolve(plan, g->path).access != ACCESS_WRITE)
			g->state = GRANT_DORMANT;
	}
}

static int take_back(struct supervisor *s, struct grafted *g, const struct plan *plan,
		     struct err *e)
{
	struct closing closing = { .s = s, .g = g, .plan = plan };

	if (plan_resolve(plan, g->path).access == ACCESS_WRITE) {
		g->state = GRANT_DORMANT;
		return 0;
	}
	give_back_below(s, plan, g->path);
	if (grants_use_masker(s, &closing.masker, e) < 0 || cover(&closing, e) < 0)
		return end_run(s, e);
	for (size_t i = 0; i < s->live.grants.count; i++)
		if (goes_with(s->live.grants.items[i], g))
			s->live.grants.items[i]->state = GRANT_CLOSING;
	return retry_all(s, e);
}

int supervisor_close_path(struct supervisor *s, const struct plan *plan, struct str path,
			  struct buf *writers, struct err *e)
{
	struct grafted *g = find_open(s, path);

	set_plan(s, plan);
	if (!g)
		return 0;
	if (take_back(s, g, plan, e) < 0)
		return err_result(e);
	if (g->state == GRANT_CLOSING)
		writers_find(s->sandbox.mount_ns, path, writers);
	return 0;
}

/* ---- Opening it ---------------------------------------------------------------------------------- */

static int make(struct opening *o, struct err *e)
{
	struct supervisor *s = o->s;

	return grants_use_masker(s, &o->masker, e) < 0 || grants_use_opener(s, e) < 0 ||
			       hold_missing(o, e) < 0 || lower(o, e) < 0 || graft(o, e) < 0
		       ? err_result(e)
		       : 0;
}

/* It stands. What fails now is undone as if it had been taken back. */
static int complete(struct opening *o, struct err *e)
{
	struct supervisor *s = o->s;
	struct err late = ERR_INIT;

	o->g->state = GRANT_OPEN;
	if (guard_add(&s->guard, &o->g->guarded, e) == 0 && mask_below(o, e) == 0)
		return 0;
	if (s->watch)
		watch_set_plan(s->watch, s->live.plan);
	(void)take_back(s, o->g, s->live.plan, &late);
	err_clear(&late);
	return err_result(e);
}

/* Unless the run ends: then the mounts may stand, and what keeps names from appearing stays as long. */
static void drop(struct supervisor *s, struct grafted *g)
{
	if (!s->can_open)
		return;
	let_go(s, g);
	s->live.grants.count--;
}

static struct grafted *add_grant(struct supervisor *s, struct str path, struct err *e)
{
	struct grafted *g = ARENA_NEW(s->a, struct grafted, e);
	struct grafted **added;

	if (!g || arena_copy(s->a, path, &g->path, e) < 0)
		return NULL;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	added = VEC_PUSH(s->a, &s->live.grants, e);
	if (!added)
		return NULL;
	*added = g;
	g->supervisor = s;
	g->number = (uint32_t)s->live.grants.count;
	g->warden = (struct warden)WARDEN_NONE;
	g->warden_gone.fd = -1;
	g->guarded = (struct guarded){ .held = &g->held, .narrowed = &g->narrowed };
	return g;
}

int supervisor_open_path(struct supervisor *s, const struct plan *plan, struct str path,
			 struct err *e)
{
	struct opening o = { .s = s, .a = ARENA_INIT(LOWERED_MAX_BYTES), .plan = plan };
	int r;

	if (!s->can_open)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "this sandbox can't open paths while the command runs");
	if (find_open(s, path)) {
		set_plan(s, plan);
		return 0;
	}
	if (s->live.grants.count >= MAX_GRANTS)
		return FAIL(e, ERR_LIMIT,
			    "no more than %d paths can be opened while the command runs",
			    (int)MAX_GRANTS);
	o.g = add_grant(s, path, e);
	if (!o.g)
		return err_result(e);
	r = make(&o, e);
	arena_done(&o.a);
	if (r < 0)
		drop(s, o.g);
	else
		r = complete(&o, e);
	if (r == 0)
		set_plan(s, plan);
	return r;
}

/* ---- From start to stop -------------------------------------------------------------------------- */

void grants_init(struct supervisor *s)
{
	s->live.own_gone = (struct watcher){ .fd = -1, .ready = own_masker_is_gone, .user = s };
	s->live.closing = (struct timer){ .due = retry_all, .user = s };
	s->live.broken = (struct timer){ .due = is_broken, .user = s };
}

void grants_stop(struct supervisor *s)
{
	uint64_t ignored;

	loop_drop_timer(s->in.loop, &s->live.closing);
	loop_drop_timer(s->in.loop, &s->live.broken);
	loop_remove(s->in.loop, &s->live.own_gone);
	masker_stop(&s->live.own, &ignored, &ignored);
	opener_stop(&s->live.opener);
	for (size_t i = 0; i < s->live.grants.count; i++) {
		struct grafted *g = s->live.grants.items[i];

		loop_remove(s->in.loop, &g->warden_gone);
		warden_release(&g->warden, &g->held);
	}
}

void grants_reap(struct supervisor *s)
{
	for (size_t i = 0; i < s->live.grants.count; i++)
		warden_finish(&s->live.grants.items[i]->warden, &s->live.grants.items[i]->held);
}
