/* SPDX-License-Identifier: MIT */
/*
 * Live grants: the policy of the run is always its own with those that are open now. Each change
 * makes a plan of all of it, as `cordon run` would have made with those grants, and tells the
 * supervisor. The plans stay until the run is over, because denials name their rules.
 */
#include <stdio.h>

#include "approve/offers.h"
#include "base/name_tree.h"
#include "base/path.h"
#include "base/utf8.h"
#include "session/run.h"

enum { PLAN_MAX_BYTES = 512 << 20 };

const struct plan *live_plan(const struct session *s)
{
	const struct plan *plan = s->approvals.live.now.plan;

	return plan ? plan : s->in.plan;
}

const struct plan_inputs *live_inputs(const struct session *s)
{
	const struct live *live = &s->approvals.live;

	if (!s->approvals.is_on)
		return s->in.plan_inputs;
	return live->now.plan ? &live->now.inputs : &s->approvals.inputs;
}

bool live_was_open(const struct session *s, struct str path)
{
	const struct live *live = &s->approvals.live;

	for (size_t i = 0; i < live->opened.count; i++)
		if (path_is_under(path, live->opened.items[i]) ||
		    path_is_under(live->opened.items[i], path))
			return true;
	return false;
}

const str_list *session_opened(const struct session *s)
{
	return &s->approvals.live.opened;
}

int live_note_opened(struct session *s, struct str path, struct err *e)
{
	struct live *live = &s->approvals.live;
	struct str *added;

	for (size_t i = 0; i < live->opened.count; i++)
		if (str_eq(live->opened.items[i], path))
			return 0;
	added = VEC_PUSH(s->a, &live->opened, e);
	return added ? arena_copy(s->a, path, added, e) : err_result(e);
}

static struct live_grant *find(struct live *live, const struct grant *grant)
{
	for (size_t i = 0; i < live->count; i++) {
		const struct grant *open = &live->grants[i].grant;

		if (open->kind == grant->kind && open->is_dir == grant->is_dir &&
		    str_eq(open->subject, grant->subject))
			return &live->grants[i];
	}
	return NULL;
}

/* Whether others open it already. SECURITY: a wider one does not reach below a narrower entry (P7). */
static bool is_covered(const struct session *s, const struct grant *grant)
{
	const struct live *live = &s->approvals.live;

	for (size_t i = 0; i < live->count; i++)
		if (grant_covers(&live->grants[i].grant, grant))
			return plan_resolve(live_plan(s), grant->subject).access == ACCESS_WRITE;
	return false;
}

/* ---- Plans -------------------------------------------------------------------------------- */

/*
 * The files around what is granted as they are now; all else as the run has seen it. While a plan
 * is made each is looked at once: the passes ask for the same ones again and again.
 */
struct live_host {
	const struct host *seen, *now;
	struct name_node *const *missing; /* below what is open (live->missing) */
	struct str path;
	struct arena *a; /* of what is known; NULL: nothing is remembered any more */
	struct name_node *known;
	struct known_file *newest;
	struct host host;
};

struct known_file {
	struct name_node by_path; /* first, so that one can be cast to the other */
	struct known_file *older;
	struct host_file file;
};

static const struct host *pick(const struct live_host *h, struct str path)
{
	return path_is_under(path, h->path) || path_is_under(h->path, path) ? h->now : h->seen;
}

static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	struct live_host *h = user;
	const struct host *host = pick(h, path);
	struct known_file *known;

	known = h->a ? (struct known_file *)(void *)name_tree_find(h->known, path) : NULL;
	if (known) {
		*out = known->file;
		return 0;
	}
	if (h->a && host == h->seen && name_tree_find(*h->missing, path)) {
		*out = (struct host_file){ .type = HOST_MISSING };
		return 0;
	}
	if (host->look(host->user, path, out, e) < 0)
		return err_result(e);
	if (!h->a)
		return 0;
	known = ARENA_NEW(h->a, struct known_file, e);
	if (!known || arena_copy(h->a, path, &known->by_path.name, e) < 0)
		return err_result(e);
	known->file = *out;
	known->older = h->newest;
	h->newest = known;
	name_tree_add(&h->known, &known->by_path);
	return 0;
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct host *host = pick(user, path);

	return host->read_link(host->user, path, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct host *host = pick(user, path);

	return host->read_file(host->user, path, out, e);
}

static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct host *host = pick(user, path);

	return host->list(host->user, path, each, arg, e);
}

static bool recall(void *user, struct str path, struct host_listing *out)
{
	return host_recall(pick(user, path), path, out);
}

/*
 * What was missing below `h->path` when that was opened: most of it has a placeholder now, and to find
 * out that it is one takes several system calls for each name, in every plan that is made later.
 *
 * SECURITY: only for plans that change something elsewhere. What overlaps this path is looked at
 * again (pick()), and once anything is closed, everything is.
 */
static void remember_missing(struct live *live, struct live_host *h)
{
	struct known_file *known = h->newest;

	h->known = NULL; /* a node is in one tree only */
	for (; known; known = known->older)
		if (known->file.type == HOST_MISSING &&
		    path_is_under(known->by_path.name, h->path) &&
		    !name_tree_find(live->missing, known->by_path.name))
			name_tree_add(&live->missing, &known->by_path);
	h->newest = NULL;
}

/*
 * The policy of the run with all paths that are open now. The broker knows the hosts and sockets: each
 * connection is looked up there, so a rule for one would end the questions and outlive the grant.
 */
static int add_grants(struct session *s, struct arena *a, const struct policy **out, struct err *e)
{
	static const struct origin origin = { .file = "an approval" };
	const struct live *live = &s->approvals.live;
	struct grant *grants = arena_array(a, live->count + 1, sizeof(*grants), e);
	size_t count = 0;

	if (!grants)
		return err_result(e);
	for (size_t i = 0; i < live->count; i++)
		if (live->grants[i].grant.kind == ASK_WRITE)
			grants[count++] = live->grants[i].grant;
	return offers_add_grants(a, s->approvals.inputs.policy, grants, count, origin, out, e);
}

int live_look(const struct session *s, struct arena *a, struct str path, struct live_host **out,
	      struct err *e)
{
	struct live_host *h = ARENA_NEW(a, struct live_host, e);

	if (!h || arena_copy(a, path, &h->path, e) < 0)
		return err_result(e);
	h->seen = s->in.plan_inputs->host;
	h->now = s->in.approvals->host_now;
	h->missing = &s->approvals.live.missing;
	h->a = a;
	h->host = (struct host){ .user = h,
				 .look = look,
				 .read_link = read_link,
				 .read_file = read_file,
				 .list = list,
				 .recall = recall };
	*out = h;
	return 0;
}

const struct host *live_host(const struct live_host *h)
{
	return &h->host;
}

/* `is_open`: one more path than in the plan in force. */
static int build(struct session *s, struct arena *a, struct live_host *around, bool is_open,
		 struct live_plan *out, struct err *e)
{
	out->inputs = s->approvals.inputs;
	if (add_grants(s, a, &out->inputs.policy, e) < 0)
		return err_result(e);
	out->inputs.host = &around->host;
	out->plan = is_open ? plan_grant(a, live_plan(s), &out->inputs, e)
			    : plan_build(a, &out->inputs, e);
	/* Later questions are about the files as they are then. */
	around->a = NULL;
	return out->plan ? 0 : err_result(e);
}

static int check_access(const struct plan *plan, struct str path, enum access least, struct err *e)
{
	char shown[512];

	if (plan_resolve(plan, path).access >= least)
		return 0;
	return FAIL(e, ERR_POLICY, "the policy denies '%s' also with this grant",
		    utf8_show(path, shown, sizeof(shown)));
}

/*
 * Makes the plan of what is open now, which has to give `least` at the path, and lets `tell` make it
 * count.
 */
static int change(struct session *s, struct str path, enum access least,
		  int (*tell)(struct session *s, const struct plan *plan, struct live_host *around,
			      struct buf *writers, struct err *e),
		  struct buf *writers, struct err *e)
{
	struct live *live = &s->approvals.live;
	struct live_host *around;
	struct live_plan made;
	struct arena *a;

	if (live->plan_count == LIVE_CHANGES_MAX)
		return FAIL(e, ERR_LIMIT, "the grants of this run have changed %d times",
			    LIVE_CHANGES_MAX);
	if (!live->plans) {
		live->plans = arena_array(s->a, LIVE_CHANGES_MAX, sizeof(*live->plans), e);
		if (!live->plans)
			return err_result(e);
	}
	a = &live->plans[live->plan_count];
	*a = (struct arena)ARENA_INIT(PLAN_MAX_BYTES);
	if (live_look(s, a, path, &around, e) < 0 ||
	    build(s, a, around, least == ACCESS_WRITE, &made, e) < 0 ||
	    check_access(made.plan, path, least, e) < 0) {
		arena_done(a);
		return err_result(e);
	}
	/* Also one that fails may be used until the run has ended. */
	live->plan_count++;
	if (tell(s, made.plan, around, writers, e) < 0)
		return err_result(e);
	live->now = made;
	return 0;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int tell_open(struct session *s, const struct plan *plan, struct live_host *around,
		     struct buf *writers, struct err *e)
{
	(void)writers;
	if (live_note_opened(s, around->path, e) < 0 ||
	    supervisor_open_path(s->supervisor, plan, around->path, e) < 0)
		return err_result(e);
	remember_missing(&s->approvals.live, around);
	return 0;
}

/* The strings of the answer are gone when the broker goes on. */
static int push(struct session *s, const struct grant *grant, enum grant_scope scope, struct err *e)
{
	struct live *live = &s->approvals.live;
	struct live_grant *added;

	if (live->count == LIVE_GRANTS_MAX)
		return FAIL(e, ERR_LIMIT, "more than %d grants are open", LIVE_GRANTS_MAX);
	if (!live->grants) {
		live->grants = arena_array(s->a, LIVE_GRANTS_MAX, sizeof(*live->grants), e);
		if (!live->grants)
			return err_result(e);
	}
	added = &live->grants[live->count];
	*added = (struct live_grant){ .grant = *grant, .scope = scope };
	if (arena_copy(s->a, grant->subject, &added->grant.subject, e) < 0)
		return err_result(e);
	live->count++;
	return 0;
}

/*
 * What an answer names within an offer may be anything. `is_planned`: the plan with it is made next,
 * and change() asks that whether the policy lets it in.
 */
static int check(struct session *s, const struct grant *grant, bool is_planned, struct err *e)
{
	scoped_arena a = ARENA_INIT(PLAN_MAX_BYTES);
	struct plan_inputs in = *live_inputs(s);
	const char *why_not = NULL;
	struct live_host *around;

	if (grant->kind == ASK_WRITE && offers_is_denied(live_plan(s), grant->subject))
		return FAIL(e, ERR_POLICY, "an entry denies it");
	if (live_look(s, &a, grant->subject, &around, e) < 0)
		return err_result(e);
	in.host = &around->host;
	if ((is_planned ? offers_check_path : offers_check)(&a, &in, grant, &why_not, e) < 0)
		return err_result(e);
	return why_not ? FAIL(e, ERR_POLICY, "%s", why_not) : 0;
}

int live_open(struct session *s, const struct grant *grant, enum grant_scope scope, struct err *e)
{
	struct live *live = &s->approvals.live;
	bool is_planned = grant->kind == ASK_WRITE && !s->approvals.is_after &&
			  !is_covered(s, grant);
	struct live_grant *open = find(live, grant);
	int status = 0;

	if (open) {
		bool is_same = open->scope == scope;

		open->scope = scope;
		return is_same;
	}
	if (check(s, grant, is_planned, e) < 0 || push(s, grant, scope, e) < 0)
		return err_result(e);
	if (s->approvals.is_after)
		return 0;
	if (grant->kind == ASK_UNIX_SOCKET)
		status = supervisor_open_socket(s->supervisor, grant->subject, e);
	else if (is_planned)
		status = change(s, grant->subject, ACCESS_WRITE, tell_open, NULL, e);
	if (status < 0)
		live->count--;
	return status;
}

void live_set_scope(struct session *s, const struct grant *grant, enum grant_scope scope)
{
	struct live_grant *open = find(&s->approvals.live, grant);

	if (open)
		open->scope = scope;
}

/* ---- Closing -------------------------------------------------------------------------------- */

static int tell_close(struct session *s, const struct plan *plan, struct live_host *around,
		      struct buf *writers, struct err *e)
{
	return supervisor_close_path(s->supervisor, plan, around->path, writers, e);
}

/* What lies below what was closed, and is open by itself. */
static int open_below(struct session *s, struct str path, struct err *e)
{
	const struct live *live = &s->approvals.live;

	for (size_t i = 0; i < live->count; i++) {
		const struct grant *grant = &live->grants[i].grant;

		if (grant->kind == ASK_WRITE && path_is_under(grant->subject, path) &&
		    supervisor_open_path(s->supervisor, live_plan(s), grant->subject, e) < 0)
			return err_result(e);
	}
	return 0;
}

int live_close(struct session *s, const struct grant *grant, struct buf *writers, struct err *e)
{
	struct live *live = &s->approvals.live;
	struct live_grant *open = find(live, grant);
	struct live_grant closed;

	if (!open)
		return 0;
	live->missing = NULL; /* what was a placeholder may be a file soon */
	closed = *open;
	*open = live->grants[--live->count];
	/* The sandbox is gone; it would have counted for another run. */
	if (!run_is_alive(s->state))
		return 0;
	if (grant->kind == ASK_UNIX_SOCKET)
		supervisor_close_socket(s->supervisor, closed.grant.subject);
	if (grant->kind != ASK_WRITE)
		return 0;
	if (change(s, closed.grant.subject, ACCESS_DENY, tell_close, writers, e) < 0)
		return err_wrap(e, "a grant could not be taken back");
	return open_below(s, closed.grant.subject, e);
}

void live_done(struct live *live)
{
	for (size_t i = 0; i < live->plan_count; i++)
		arena_done(&live->plans[i]);
	live->plan_count = 0;
	live->now = (struct live_plan){ .plan = NULL };
}
