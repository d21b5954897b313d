/* SPDX-License-Identifier: MIT */
/*
 * Meet (P1): narrowing layers give the same answers in any order, however often
 * they are repeated, and never more than each of them alone.
 */
#include "../unit/test.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16, MAX_STACK = 4 };

/* Answers for all probes, in order. */
struct answers {
	signed char paths[256], hosts[64];
	bool is_refused; /* such a policy can't be enforced on this host (P8) */
};

/* The stacks that have to agree: positions of A, B and C above the profile. */
static const char *const same[] = {
	"ABC", "ACB", "BAC", "BCA", "CAB", "CBA", "AABC", "ABCA", "BABC"
};

/* `policy` with the layers that `stack` names above the profile. */
static struct policy restack(struct world *w, const struct policy *policy, const char *stack)
{
	struct policy p = *policy;
	size_t count = strlen(stack);

	p.layers.items = arena_array(&w->a, count + 1, sizeof(struct layer), &w->e);
	if (!p.layers.items)
		exit(99);
	p.layers.items[0] = policy->layers.items[0];
	for (size_t i = 0; i < count; i++)
		p.layers.items[i + 1] = policy->layers.items[1 + stack[i] - 'A'];
	p.layers.count = p.layers.room = count + 1;
	return p;
}

static struct answers answer(struct world *w, const struct policy *policy, const char *stack)
{
	struct policy p = restack(w, policy, stack);
	struct answers got = { .is_refused = false };

	w->in.policy = &p;
	w->in.own = w->own;
	w->in.own_count = w->own_count;
	w->in.host = &w->host.host;
	w->plan = plan_build(&w->a, &w->in, &w->e);
	got.is_refused = !w->plan;
	for (size_t i = 0; w->plan && gen_paths[i]; i++)
		got.paths[i] = (signed char)world_access(w, gen_paths[i]);
	for (size_t i = 0; w->plan && gen_hosts[i]; i++)
		got.hosts[i] = (signed char)world_host(w, gen_hosts[i]).decision;
	w->in.policy = NULL; /* it goes away here, and the plan is not asked again */
	w->plan = NULL;
	return got;
}

/* The first probe at which `a` differs from `b`, or exceeds it when `only_above`; or NULL. */
static const char *find_difference(const struct answers *a, const struct answers *b,
				   bool only_above)
{
	for (size_t i = 0; gen_paths[i]; i++)
		if (only_above ? a->paths[i] > b->paths[i] : a->paths[i] != b->paths[i])
			return gen_paths[i];
	for (size_t i = 0; gen_hosts[i]; i++)
		if (only_above ? a->hosts[i] > b->hosts[i] : a->hosts[i] != b->hosts[i])
			return gen_hosts[i];
	return NULL;
}

static bool report(size_t n, const char *stack, const char *where, const char *profile,
		   const char *const *layers)
{
	printf("# case %zu: the stack %s at %s\n", n, stack, where);
	test_print_str("profile", profile);
	for (size_t i = 0; i < 3; i++)
		test_print_str("layer", layers[i]);
	return test_check(false, __FILE__, __LINE__, "meet is commutative and idempotent");
}

/* A policy with three narrowing layers, the second and third taken from policies of their own. */
static bool compile_three(struct world *w, struct world *other, const char *const *texts,
			  struct policy *out)
{
	struct layer *layers = calloc(4, sizeof(*layers));

	if (!layers)
		exit(99);
	w->project = texts[0];
	w->requirements = texts[1];
	other->user = w->user;
	other->project = texts[2];
	if (!world_policy(w) || !world_policy(other) || w->policy->layers.count != 3 ||
	    other->policy->layers.count != 2) {
		free(layers);
		return false;
	}
	memcpy(layers, w->policy->layers.items, 3 * sizeof(*layers));
	layers[3] = other->policy->layers.items[1];
	*out = *w->policy;
	out->layers.items = layers;
	out->layers.count = 4;
	return true;
}

static bool check_case(size_t n, struct world *w, const struct policy *p, const char *const *texts)
{
	static const char *const alone[] = { "", "A", "B", "C", "AB", "BC" };
	struct answers all = answer(w, p, same[0]);

	for (size_t i = 1; i < COUNT_OF(same); i++) {
		struct answers got = answer(w, p, same[i]);
		const char *where = find_difference(&all, &got, false);

		if (where || got.is_refused != all.is_refused)
			return report(n, same[i], where ? where : "all", w->user, texts);
	}
	for (size_t i = 0; i < COUNT_OF(alone) && !all.is_refused; i++) {
		struct answers got = answer(w, p, alone[i]);
		const char *where = find_difference(&all, &got, true);

		if (where && !got.is_refused)
			return report(n, alone[i], where, w->user, texts);
	}
	return true;
}

TEST(layers_meet_in_any_order_and_number)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(500), tried = 0;
	scoped_buf profile = BUF_INIT(TEXT_BYTES);
	struct buf layers[3] = { BUF_INIT(TEXT_BYTES), BUF_INIT(TEXT_BYTES), BUF_INIT(TEXT_BYTES) };
	bool goes_on = true;
	scoped_world w;
	scoped_world other;

	gen_world(&w);
	gen_world(&other);
	for (size_t n = 0; n < cases && goes_on; n++) {
		const char *texts[3];
		struct policy p;

		buf_clear(&profile);
		g.b = &profile;
		gen_profile(&g);
		w.user = buf_str(&profile).p;
		for (size_t i = 0; i < 3; i++) {
			buf_clear(&layers[i]);
			g.b = &layers[i];
			gen_narrowing(&g);
			texts[i] = buf_str(&layers[i]).p;
		}
		if (!compile_three(&w, &other, texts, &p))
			continue;
		tried++;
		goes_on = check_case(n, &w, &p, texts);
		free(p.layers.items);
	}
	for (size_t i = 0; i < 3; i++)
		buf_done(&layers[i]);
	printf("# %zu of %zu cases compared\n", tried, cases);
	/* Of few cases, as with sanitizers, it may be less than the usual four of seven. */
	CHECK(!goes_on || tried > cases / 3);
}
