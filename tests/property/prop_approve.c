/* SPDX-License-Identifier: MIT */
/*
 * Approvals (P18): whatever is asked for, answered, revoked and has expired over a random policy, what
 * is live is the base with what was requested and granted, and after the last revoke exactly the
 * base. Offers, broker and the policy with live grants work here as in a run; the oracle intersects
 * the offers of each request with what its answer granted, and forgets it by its own clock.
 */
#include "../unit/test.h"
#include "approve/broker.h"
#include "approve/offers.h"
#include "base/path.h"
#include "gen.h"

enum {
	TEXT_BYTES = 1 << 16,
	MAX_ASKS = 64,
	MAX_GIVEN = 256,
	STEPS = 24,
	MINUTE_MS = 60 * 1000,
};

/* An answer that was taken. */
struct given {
	struct permissions requested, granted;
	struct grant grant;
	uint64_t ends_ms; /* 0: never */
	bool is_over;
};

struct sim {
	struct gen g;
	struct arena a;
	struct world base, oracle;
	struct broker *b;
	const struct plan *plan; /* the live one */
	struct plan_inputs in;	 /* the same */
	struct grant live[MAX_GIVEN];
	size_t live_count;
	struct given given[MAX_GIVEN];
	size_t given_count;
	struct ask asks[MAX_ASKS]; /* number i has the id i + 1 */
	size_t ask_count;
	uint64_t waiting[MAX_ASKS];
	size_t waiting_count;
	struct answer sent; /* what the decider says just now */
	uint64_t now;
	size_t granted, refused, rejected;
	struct err e;
};

static void demand(bool ok, const char *what, const struct err *e)
{
	if (ok)
		return;
	printf("# %s: %s\n", what, e->text);
	exit(99);
}

/* ---- The session ----------------------------------------------------------------------------- */

static bool is_same(const struct grant *a, const struct grant *b)
{
	return grant_covers(a, b) && grant_covers(b, a);
}

static void make_live(struct sim *s)
{
	s->in = s->base.in;
	demand(offers_add_grants(&s->a, s->base.policy, s->live, s->live_count,
				 (struct origin){ .file = "approved" }, &s->in.policy, &s->e) == 0,
	       "grants", &s->e);
	s->plan = plan_build(&s->a, &s->in, &s->e);
	demand(s->plan != NULL, "the live plan", &s->e);
}

static void end_live(struct sim *s, const struct grant *grant)
{
	for (size_t i = 0; i < s->live_count;) {
		if (is_same(&s->live[i], grant))
			s->live[i] = s->live[--s->live_count];
		else
			i++;
	}
	make_live(s);
}

static struct str copy_text(struct sim *s, struct str text)
{
	struct str copy = STR_EMPTY;

	demand(arena_copy(&s->a, text, &copy, &s->e) == 0, "a text", &s->e);
	return copy;
}

/*
 * The session asks the whole plan in place of the trial of a path. Both have to say the same of
 * every grant.
 */
static void check_without_trial(struct sim *s, const struct grant *grant, bool is_let_in)
{
	struct plan_inputs in = s->in;
	const struct plan *plan = NULL;
	const char *why_not;

	if (grant->kind != ASK_WRITE)
		return;
	demand(offers_check_path(&s->a, &s->in, grant, &why_not, &s->e) == 0, "a path", &s->e);
	if (!why_not) {
		demand(offers_add_grants(&s->a, s->in.policy, grant, 1,
					 (struct origin){ .file = "approved" }, &in.policy,
					 &s->e) == 0,
		       "a grant", &s->e);
		plan = plan_build(&s->a, &in, &s->e);
		demand(plan || s->e.code == ERR_POLICY, "a plan with it", &s->e);
		err_clear(&s->e);
	}
	demand(is_let_in == (plan && plan_resolve(plan, grant->subject).access == ACCESS_WRITE),
	       "the trial and the plan differ", &s->e);
}

/* False: the session does not make it live. */
static bool add_live(struct sim *s, const struct grant *told)
{
	struct grant grant = *told;
	const char *why_not;

	for (size_t i = 0; i < s->live_count; i++) {
		if (is_same(&s->live[i], &grant))
			return true;
	}
	grant.subject = copy_text(s, grant.subject);
	demand(offers_check(&s->a, &s->in, &grant, &why_not, &s->e) == 0, "a check", &s->e);
	check_without_trial(s, &grant, !why_not);
	if (why_not || s->live_count == MAX_GIVEN) {
		broker_forget(s->b, &grant);
		return false;
	}
	s->live[s->live_count++] = grant;
	make_live(s);
	return true;
}

/* ---- The oracle ------------------------------------------------------------------------------ */

static void add_permission(struct sim *s, const struct grant *grant, struct permissions *out)
{
	if (grant->kind == ASK_WRITE) {
		struct permission *p = VEC_PUSH(&s->a, &out->paths, &s->e);

		demand(p != NULL, "a permission", &s->e);
		*p = (struct permission){ grant->subject, ACCESS_WRITE };
	} else {
		struct domain *d = VEC_PUSH(&s->a, &out->hosts, &s->e);

		demand(d && domain_parse(&s->a, grant->subject, d, &s->e) == 0, "a host", &s->e);
	}
}

static void remember(struct sim *s, const struct ask *ask, const struct grant *grant,
		     const struct answer *sent)
{
	struct given *given = &s->given[s->given_count++];

	*given = (struct given){ .grant = *grant };
	given->grant.subject = copy_text(s, grant->subject);
	for (size_t i = 0; i < ask->offer_count; i++)
		add_permission(s, &ask->offers[i].grant, &given->requested);
	add_permission(s, &given->grant, &given->granted);
	if (sent->scope == SCOPE_MINUTES)
		given->ends_ms = s->now + (uint64_t)sent->minutes * MINUTE_MS;
}

/* A grant lasts as long as the longest of what was said about it. */
static bool is_in_force(const struct sim *s, const struct given *given)
{
	for (size_t i = 0; i < s->given_count; i++) {
		const struct given *other = &s->given[i];

		if (!other->is_over && is_same(&other->grant, &given->grant) &&
		    (!other->ends_ms || other->ends_ms > s->now))
			return true;
	}
	return false;
}

static void forget(struct sim *s, const struct grant *grant)
{
	for (size_t i = 0; i < s->given_count; i++) {
		if (is_same(&s->given[i].grant, grant))
			s->given[i].is_over = true;
	}
}

static void let_expire(struct sim *s)
{
	bool is_over[MAX_GIVEN];

	for (size_t i = 0; i < s->given_count; i++)
		is_over[i] = !is_in_force(s, &s->given[i]);
	for (size_t i = 0; i < s->given_count; i++)
		s->given[i].is_over |= is_over[i];
}

/* Base + (requested with granted), by P18 alone. */
static void plan_oracle(struct sim *s, struct permissions *sum)
{
	*sum = (struct permissions){ .network = false };
	for (size_t i = 0; i < s->given_count; i++) {
		const struct given *given = &s->given[i];
		struct permissions both;

		if (given->is_over)
			continue;
		demand(permissions_intersect(&s->a, &given->requested, &given->granted, &both,
					     &s->e) == 0,
		       "an intersection", &s->e);
		for (size_t k = 0; k < both.paths.count; k++) {
			struct permission *p = VEC_PUSH(&s->a, &sum->paths, &s->e);

			demand(p != NULL, "a path", &s->e);
			*p = both.paths.items[k];
		}
		for (size_t k = 0; k < both.hosts.count; k++) {
			struct domain *d = VEC_PUSH(&s->a, &sum->hosts, &s->e);

			demand(d != NULL, "a host", &s->e);
			*d = both.hosts.items[k];
		}
	}
	s->oracle.grants = sum;
	demand(world_plan(&s->oracle), "the oracle's plan", &s->oracle.e);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void stop_waiting(struct sim *s, uint64_t id)
{
	for (size_t i = 0; i < s->waiting_count; i++) {
		if (s->waiting[i] == id)
			s->waiting[i--] = s->waiting[--s->waiting_count];
	}
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	struct sim *s = user;
	const struct ask *ask = &s->asks[id - 1];
	bool is_said = str_is(str_of(answer->by), "tty");

	stop_waiting(s, id);
	s->granted += answer->is_allow;
	s->refused += !answer->is_allow;
	if (!answer->is_allow || answer->scope == SCOPE_ONCE || s->given_count == MAX_GIVEN)
		return;
	if (add_live(s, &answer->grant) && is_said)
		remember(s, ask, s->sent.is_narrowest ? &answer->grant : &s->sent.grant, &s->sent);
}

static void expired(void *user, const struct grant *grant)
{
	end_live(user, grant);
}

static void rejected(void *user, uint64_t id, const char *why)
{
	struct sim *s = user;

	(void)id;
	(void)why;
	s->rejected++;
}

static bool ask_decider(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	struct sim *s = self;

	(void)deadline_ms;
	s->waiting[s->waiting_count++] = ask->id;
	return true;
}

static void withdraw(void *self, uint64_t id)
{
	stop_waiting(self, id);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void ask_for_path(struct sim *s, struct ask *ask)
{
	static const enum operation operations[] = { OPERATION_OPEN_WRITE, OPERATION_CREATE,
						     OPERATION_RENAME, OPERATION_CHMOD };
	enum operation operation = operations[gen_next(&s->g) % COUNT_OF(operations)];
	struct attempt_needs needs = { .subject = str_of(gen_pick(&s->g, gen_paths)),
				       .access = ACCESS_WRITE };
	struct located located;

	if (plan_locate(&s->a, &s->in, needs.subject, &located, &s->e) < 0) {
		err_clear(&s->e);
		return;
	}
	needs.subject = needs.opens = located.path;
	if (operation == OPERATION_CREATE || operation == OPERATION_RENAME)
		needs.opens = path_parent(located.path);
	ask->kind = ASK_WRITE;
	ask->subject = needs.subject;
	demand(offers_for_path(&s->a, &s->in, s->plan, &needs, operation, gen_chance(&s->g, 2), ask,
			       &s->e) == 0,
	       "offers", &s->e);
}

static void ask_for_host(struct sim *s, struct ask *ask)
{
	struct hostname host;
	uint16_t port;

	ask->kind = ASK_CONNECT;
	demand(hostname_parse_port(&s->a, str_of(gen_pick(&s->g, gen_hosts)), &host, &port,
				   &s->e) == 0,
	       "a host", &s->e);
	demand(offers_for_host(&s->a, &s->in, &host, port, gen_chance(&s->g, 2), ask, &s->e) == 0,
	       "offers", &s->e);
}

static void request(struct sim *s)
{
	struct ask *ask = &s->asks[s->ask_count];
	struct answer answer;

	if (s->ask_count == MAX_ASKS)
		return;
	*ask = (struct ask){ .id = s->ask_count + 1,
			     .named = STR_EMPTY,
			     .program = STR_EMPTY,
			     .cwd = STR_EMPTY,
			     .rule = STR_EMPTY,
			     .reason = STR_EMPTY };
	if (gen_chance(&s->g, 4))
		ask_for_host(s, ask);
	else
		ask_for_path(s, ask);
	if (!ask->offer_count)
		return;
	s->ask_count++;
	if (broker_ask(s->b, ask, s->now, &answer) == 0)
		answered(s, ask->id, &answer);
}

/* Within an offer, one of them, or anything at all. */
static struct grant pick_grant(struct sim *s, const struct ask *ask)
{
	const struct offer *offer = &ask->offers[gen_next(&s->g) % ask->offer_count];
	struct grant grant = offer->grant;

	if (ask->kind != ASK_WRITE || gen_chance(&s->g, 2))
		return grant;
	grant.subject = str_of(gen_pick(&s->g, gen_paths));
	grant.is_dir = gen_chance(&s->g, 2);
	return grant;
}

static void answer(struct sim *s)
{
	uint64_t id;

	if (!s->waiting_count)
		return;
	id = s->waiting[gen_next(&s->g) % s->waiting_count];
	s->sent =
		(struct answer){ .is_allow = !gen_chance(&s->g, 4),
				 .scope = (enum grant_scope)(gen_next(&s->g) % (SCOPE_ALWAYS + 1)),
				 .minutes = (uint32_t)(gen_next(&s->g) % 4),
				 .is_narrowest = gen_chance(&s->g, 4),
				 .grant = pick_grant(s, &s->asks[id - 1]),
				 .message = STR_EMPTY };
	broker_decide(s->b, id, &s->sent, s->now);
}

static void revoke(struct sim *s)
{
	struct grant grant;

	if (!s->live_count)
		return;
	grant = s->live[gen_next(&s->g) % s->live_count];
	broker_forget(s->b, &grant);
	forget(s, &grant);
	end_live(s, &grant);
}

static void wait(struct sim *s)
{
	s->now += gen_next(&s->g) % (2 * MINUTE_MS);
	broker_tick(s->b, s->now);
	let_expire(s);
}

static void step(struct sim *s)
{
	switch (gen_next(&s->g) % 8) {
	case 0:
	case 1:
	case 2:
		request(s);
		break;
	case 3:
	case 4:
	case 5:
		answer(s);
		break;
	case 6:
		revoke(s);
		break;
	default:
		wait(s);
		break;
	}
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static struct net_verdict resolve_host(struct sim *s, const struct plan *plan, const char *text)
{
	struct hostname host;
	uint16_t port;

	demand(hostname_parse_port(&s->a, str_of(text), &host, &port, &s->e) == 0, "a host", &s->e);
	return net_resolve(plan->net, &host, port);
}

/* What is different, or NULL. */
static const char *compare(struct sim *s, const struct world *want)
{
	for (const char *const *path = gen_paths; *path; path++) {
		if (plan_resolve(s->plan, str_of(*path)).access != world_access(want, *path))
			return *path;
	}
	for (const char *const *host = gen_hosts; *host; host++) {
		if (resolve_host(s, s->plan, *host).decision !=
		    resolve_host(s, want->plan, *host).decision)
			return *host;
	}
	return NULL;
}

static bool is_too_wide(const struct sim *s)
{
	for (size_t i = 0; i < s->live_count; i++) {
		const struct grant *grant = &s->live[i];

		if (grant->kind != ASK_WRITE)
			continue;
		if (path_is_under(STR("/home/me"), grant->subject))
			return true;
		for (size_t k = 0; k < gen_own_count; k++) {
			if (path_is_under(gen_own[k].path, grant->subject))
				return true;
		}
	}
	return false;
}

static bool check(struct sim *s, size_t n, const struct world *want, const char *when)
{
	const char *different = compare(s, want);

	if (!different && !is_too_wide(s))
		return true;
	printf("# case %zu, %s: %s\n", n, when, different ? different : "a grant is too wide");
	for (size_t i = 0; i < s->live_count; i++)
		printf("# live %s %.*s\n", ask_kind_name(s->live[i].kind),
		       STR_ARG(s->live[i].subject));
	test_print_str("profile", s->base.user);
	test_print_str("project", s->base.project);
	return test_check(false, __FILE__, __LINE__, when);
}

static bool run_case(struct sim *s, size_t n)
{
	struct decider decider = {
		.by = "tty", .ask = ask_decider, .withdraw = withdraw, .self = s
	};
	struct broker_options options = { .decider = &decider,
					  .scopes = (1 << (SCOPE_ALWAYS + 1)) - 1,
					  .events = { .user = s,
						      .answered = answered,
						      .rejected = rejected,
						      .expired = expired } };
	struct permissions sum;
	bool ok = true;

	s->live_count = s->given_count = s->ask_count = s->waiting_count = 0;
	s->now = 1;
	demand(broker_new(&options, &s->b, &s->e) == 0, "a broker", &s->e);
	make_live(s);
	for (size_t i = 0; i < STEPS && ok; i++) {
		step(s);
		if (i % 6 < 5)
			continue;
		plan_oracle(s, &sum);
		ok = check(s, n, &s->oracle, "what is live is not what was requested and granted");
	}
	while (s->live_count && ok)
		revoke(s);
	ok = ok && check(s, n, &s->base, "after the last revoke it is not the base");
	broker_free(s->b);
	return ok;
}

TEST(what_is_live_is_what_was_requested_and_granted)
{
	struct sim *s = calloc(1, sizeof(*s));
	size_t cases = test_cases(400), tried = 0;
	scoped_buf profile = BUF_INIT(TEXT_BYTES);
	scoped_buf project = BUF_INIT(TEXT_BYTES);

	REQUIRE(s);
	s->g.state = test_seed();
	gen_world(&s->base);
	gen_world(&s->oracle);
	for (size_t n = 0; n < cases; n++) {
		buf_clear(&profile);
		buf_clear(&project);
		s->g.b = &profile;
		gen_profile(&s->g);
		s->g.b = &project;
		gen_narrowing(&s->g);
		s->base.user = s->oracle.user = buf_str(&profile).p;
		s->base.project = s->oracle.project = gen_chance(&s->g, 2) ? buf_str(&project).p
									   : NULL;
		s->a = (struct arena)ARENA_INIT(256 << 20);
		if (world_plan(&s->base) && !s->base.plan->is_unsandboxed) {
			tried++;
			if (!run_case(s, n))
				n = cases;
		}
		arena_done(&s->a);
	}
	printf("# %zu of %zu policies, %zu answers that grant, %zu that deny, %zu rejected\n",
	       tried, cases, s->granted, s->refused, s->rejected);
	CHECK(tried > cases / 2);
	CHECK(s->granted > cases / 4);
	world_done(&s->base);
	world_done(&s->oracle);
	free(s);
}
