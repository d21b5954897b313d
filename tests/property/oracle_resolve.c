/* SPDX-License-Identifier: MIT */
/*
 * The resolver against P7, P9 and P18 written down naively: all policies of up
 * to three entries over a small tree, with a deny glob or with one thing more (an
 * entry of a narrowing layer, a grant or a cap), those of up to two also with
 * both, each asked about every path of the tree and a missing child of each.
 *
 * The naive answer shares no code with src/: it cuts paths into components and
 * tries every entry against every prefix.
 */
#include "plan/index.h"

#include "../unit/test.h"

#include "base/path.h"

/* The tree: siblings whose names are prefixes of each other, and ones that sort around '/'. */
static const char *const tree[] = { "/",    "/a",     "/a.b", "/ab",   "/b",
				    "/a/a", "/a/a/b", "/a/b", "/a/b/a" };
enum { TREE = COUNT_OF(tree), QUERIES = 2 * TREE, ENTRIES = TREE * 3, MAX_PARTS = 8 };

static const struct {
	const char *dir, *pattern;
} globs[] = {
	{ "/", "**/b" },       { "/", "*" },   { "/", "a/*" },	{ "/", "**" },
	{ "/", "a/**/{b,x}" }, { "/a", "**" }, { "/a", "*/b" }, { "/a/a", "b" },
};

/* ---- The naive answer --------------------------------------------------- */

struct parts {
	char name[MAX_PARTS][16];
	size_t count;
};

static struct parts cut(const char *path)
{
	struct parts p = { .count = 0 };
	size_t n = 0;

	for (const char *c = path; *c; c++) {
		if (*c != '/')
			p.name[p.count][n++] = *c;
		if (n && (c[1] == '/' || !c[1])) {
			p.name[p.count++][n] = '\0';
			n = 0;
		}
	}
	return p;
}

static bool is_prefix(const struct parts *shorter, const struct parts *longer)
{
	if (shorter->count > longer->count)
		return false;
	for (size_t i = 0; i < shorter->count; i++)
		if (strcmp(shorter->name[i], longer->name[i]) != 0)
			return false;
	return true;
}

/* One component; of P6 only what the patterns above use: '*' alone, a name, {b,x}. */
static bool name_matches(const char *pattern, const char *name)
{
	if (strcmp(pattern, "*") == 0)
		return true;
	if (strcmp(pattern, "{b,x}") == 0)
		return strcmp(name, "b") == 0 || strcmp(name, "x") == 0;
	return strcmp(pattern, name) == 0;
}

/* Whether the pattern's parts from `p` on match the path's from `n` to `end`. */
static bool glob_matches(const struct parts *pattern, size_t p, const struct parts *path, size_t n,
			 size_t end)
{
	if (p == pattern->count)
		return n == end;
	if (strcmp(pattern->name[p], "**") == 0)
		return glob_matches(pattern, p + 1, path, n, end) ||
		       (n < end && glob_matches(pattern, p, path, n + 1, end));
	return n < end && name_matches(pattern->name[p], path->name[n]) &&
	       glob_matches(pattern, p + 1, path, n + 1, end);
}

struct thing {
	enum rule_kind kind;
	uint32_t layer;
	enum access access;
	uint32_t lift_depth;
	bool is_explicit, is_shelf;
	uint32_t secret, lifts;
	struct parts path;
	struct parts pattern; /* of a glob */
	const struct glob *matcher;
};

struct stated {
	struct thing things[12];
	size_t count;
	uint32_t layers;
};

/* P7: whether an entry for the first `end` components of `path` lifts that secret. */
static bool naive_is_opened(const struct stated *s, const struct thing *secret,
			    const struct parts *path, size_t end)
{
	for (size_t i = 0; secret->secret && i < s->count; i++) {
		const struct thing *t = &s->things[i];

		if (t->kind == RULE_ENTRY && t->layer == 0 && t->path.count == end &&
		    is_prefix(&t->path, path) && t->lifts >= secret->secret)
			return true;
	}
	return false;
}

/* P7 for one layer: the access, or -1 when nothing covers the path. `components`: of the winner. */
static int naive_layer(const struct stated *s, uint32_t layer, const struct parts *path,
		       int *components)
{
	static const int strength[] = { [ACCESS_DENY] = 2, [ACCESS_WRITE] = 1, [ACCESS_READ] = 0 };
	int winner = -1;

	*components = -1;
	for (size_t i = 0; i < s->count; i++) {
		const struct thing *t = &s->things[i];

		if ((t->kind != RULE_ENTRY && t->kind != RULE_GLOB) || t->layer != layer ||
		    !is_prefix(&t->path, path))
			continue;
		for (size_t end = t->path.count; end <= path->count; end++) {
			bool is_entry = t->kind == RULE_ENTRY ? end == t->path.count
							      : glob_matches(&t->pattern, 0, path,
									     t->path.count, end);

			if (!is_entry || naive_is_opened(s, t, path, end))
				continue;
			if ((int)end > *components ||
			    ((int)end == *components && strength[t->access] > strength[winner])) {
				*components = (int)end;
				winner = (int)t->access;
			}
		}
	}
	return winner;
}

static int naive_grants(const struct stated *s, const struct parts *path, int base, int components)
{
	int access = base < 0 ? (int)ACCESS_DENY : base;

	for (size_t i = 0; i < s->count; i++) {
		const struct thing *t = &s->things[i];
		int depth = (int)t->path.count;

		if (t->kind != RULE_GRANT || !is_prefix(&t->path, path) || depth < components)
			continue;
		if (depth == components && base == (int)ACCESS_DENY)
			continue;
		access = MAX_OF(access, (int)t->access);
	}
	return access;
}

static bool naive_is_lifted(const struct stated *s, const struct thing *cap,
			    const struct parts *path)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct thing *t = &s->things[i];

		if (t->kind == RULE_ENTRY && t->layer == 0 && t->access == ACCESS_WRITE &&
		    t->is_explicit && is_prefix(&t->path, path) &&
		    t->path.count >= cap->lift_depth && cap->lift_depth != CAP_FIXED)
			return true;
	}
	return false;
}

/* P10: whether a git directory that stands on the shelf is at or above `path`. */
static bool naive_is_off_shelf(const struct stated *s, const struct thing *cap,
			       const struct parts *path)
{
	for (size_t i = 0; cap->is_shelf && i < s->count; i++) {
		const struct thing *t = &s->things[i];

		if ((t->kind == RULE_GIT || t->kind == RULE_PROTECTED) &&
		    t->access == ACCESS_WRITE && t->path.count > cap->path.count &&
		    is_prefix(&cap->path, &t->path) && is_prefix(&t->path, path))
			return true;
	}
	return false;
}

static enum access naive_answer(const struct stated *s, const struct parts *path, uint32_t layers)
{
	int components;
	int base = naive_layer(s, 0, path, &components);
	int access = naive_grants(s, path, base, components);

	for (uint32_t layer = 1; layer < layers; layer++) {
		int other = naive_layer(s, layer, path, &components);

		if (other >= 0)
			access = MIN_OF(access, other);
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct thing *t = &s->things[i];

		if (t->kind == RULE_PROTECTED && is_prefix(&t->path, path) &&
		    !naive_is_lifted(s, t, path) && !naive_is_off_shelf(s, t, path))
			access = MIN_OF(access, (int)t->access);
	}
	return (enum access)access;
}

/* ---- All policies ------------------------------------------------------- */

static struct {
	struct parts tree[TREE];
	struct parts patterns[COUNT_OF(globs)];
	struct parts dirs[COUNT_OF(globs)];
	const struct glob *matchers[COUNT_OF(globs)];
	char query[QUERIES][32];
	struct parts query_parts[QUERIES];
	struct arena arena;
	size_t policies, compared, wrong;
	bool leaves_out; /* each entry in turn */
} world = { .arena = ARENA_INIT(1 << 20) };

static bool prepare(struct err *e)
{
	world.policies = world.compared = world.wrong = 0;
	world.leaves_out = false;
	arena_done(&world.arena);
	for (size_t i = 0; i < TREE; i++) {
		world.tree[i] = cut(tree[i]);
		(void)snprintf(world.query[2 * i], sizeof(world.query[0]), "%s", tree[i]);
		(void)snprintf(world.query[2 * i + 1], sizeof(world.query[0]), "%s/x",
			       i == 0 ? "" : tree[i]);
	}
	for (size_t i = 0; i < QUERIES; i++)
		world.query_parts[i] = cut(world.query[i]);
	for (size_t i = 0; i < COUNT_OF(globs); i++) {
		world.patterns[i] = cut(globs[i].pattern);
		world.dirs[i] = cut(globs[i].dir);
		world.matchers[i] = glob_parse(&world.arena, str_of(globs[i].pattern), e);
		if (!world.matchers[i])
			return false;
	}
	return true;
}

static struct thing make_entry(size_t number, uint32_t layer)
{
	return (struct thing){ .kind = RULE_ENTRY,
			       .layer = layer,
			       .access = (enum access)(number % 3),
			       .is_explicit = true,
			       .path = world.tree[number / 3] };
}

static struct thing make_glob(size_t g)
{
	return (struct thing){ .kind = RULE_GLOB,
			       .access = ACCESS_DENY,
			       .path = world.dirs[g],
			       .pattern = world.patterns[g],
			       .matcher = world.matchers[g] };
}

static const char *path_text(const struct parts *p)
{
	for (size_t i = 0; i < TREE; i++)
		if (world.tree[i].count == p->count && is_prefix(&world.tree[i], p))
			return tree[i];
	return "?";
}

static struct rule make_rule(const struct thing *t)
{
	return (struct rule){ .kind = t->kind,
			      .access = t->access,
			      .layer = t->layer,
			      .lift_depth = t->lift_depth,
			      .is_explicit = t->is_explicit,
			      .is_shelf = t->is_shelf,
			      .secret = t->secret,
			      .lifts = t->lifts,
			      .depth = (uint32_t)t->path.count,
			      .path = str_of(path_text(&t->path)),
			      .matcher = t->matcher };
}

static void print_case(const struct stated *s, const char *path)
{
	printf("# at %s:\n", path);
	for (size_t i = 0; i < s->count; i++)
		printf("#   kind %d layer %u %s = %d (lift %u)\n", (int)s->things[i].kind,
		       s->things[i].layer, path_text(&s->things[i].path), (int)s->things[i].access,
		       s->things[i].lift_depth);
}

static void compare_paths(const struct stated *s, const struct index *x)
{
	for (size_t i = 0; i < QUERIES && world.wrong < 5; i++) {
		struct verdict v = index_answer(x, str_of(world.query[i]));
		enum access want = naive_answer(s, &world.query_parts[i], s->layers);
		bool same = v.access == want && v.rule && v.rule->access == v.access;

		if (same && s->layers > 1)
			same = index_resolve_below(x, str_of(world.query[i]), s->layers - 1)
				       .access ==
			       naive_answer(s, &world.query_parts[i], s->layers - 1);
		world.compared++;
		if (same)
			continue;
		world.wrong++;
		printf("# got %d, want %d ", (int)v.access, (int)want);
		print_case(s, world.query[i]);
	}
}

/* The answer at the path of each entry of the profile, as if it were not there. */
static void compare_without(const struct stated *s, const struct index *x, const struct rule *rules)
{
	for (size_t i = 0; i < s->count && world.wrong < 5; i++) {
		struct stated rest = { .layers = 1 };
		enum access got, want;

		if (s->things[i].kind != RULE_ENTRY || s->things[i].layer > 0)
			continue;
		for (size_t k = 0; k < s->count; k++)
			if (k != i)
				rest.things[rest.count++] = s->things[k];
		got = index_resolve_without(x, &rules[i]).access;
		want = naive_answer(&rest, &s->things[i].path, 1);
		world.compared++;
		if (got == want)
			continue;
		world.wrong++;
		printf("# without the thing %zu: got %d, want %d ", i, (int)got, (int)want);
		print_case(s, path_text(&s->things[i].path));
	}
}

static void compare(const struct stated *s)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct layer layers[4] = { { .kind = LAYER_PROFILE } };
	struct profile profile = { .is_unsandboxed = false };
	struct policy policy = { .profile = &profile,
				 .layers = { .items = layers, .count = s->layers } };
	struct rule rules[COUNT_OF(s->things)];
	struct err e = ERR_INIT;
	const struct index *x;

	for (size_t i = 0; i < s->count; i++)
		rules[i] = make_rule(&s->things[i]);
	x = index_build(&a, &policy, rules, s->count, &e);
	world.policies++;
	if (!x) {
		printf("# %s\n", e.text);
		world.wrong++;
		return;
	}
	compare_paths(s, x);
	if (world.leaves_out)
		compare_without(s, x, rules);
}

static void add(struct stated *s, struct thing t)
{
	s->things[s->count++] = t;
	s->layers = MAX_OF(s->layers, t.layer + 1);
}

/* The policy as it is, and with each single thing more. */
static void with_extras(const struct stated *base)
{
	for (size_t n = 0; n < ENTRIES; n++) {
		static const uint32_t lifts[] = { 0, 1, 2, CAP_FIXED };
		struct thing t = make_entry(n, 1);
		struct stated s = *base;

		add(&s, t);
		compare(&s);
		t.layer = 0;
		for (size_t l = 0; t.access != ACCESS_WRITE && l < COUNT_OF(lifts); l++) {
			s = *base;
			t.kind = RULE_PROTECTED;
			t.lift_depth = lifts[l];
			add(&s, t);
			compare(&s);
		}
		if (t.access == ACCESS_DENY)
			continue;
		s = *base;
		t.kind = RULE_GRANT;
		t.lift_depth = 0;
		add(&s, t);
		compare(&s);
	}
}

static void with_globs(const struct stated *base, bool extras)
{
	compare(base);
	if (extras)
		with_extras(base);
	for (size_t g = 0; g < COUNT_OF(globs); g++) {
		struct stated s = *base;

		add(&s, make_glob(g));
		compare(&s);
		if (extras)
			with_extras(&s);
	}
}

TEST(every_small_policy_answers_as_the_text_says)
{
	struct err e = ERR_INIT;
	struct stated none = { .layers = 1 };

	REQUIRE(prepare(&e));
	with_globs(&none, true);
	for (size_t i = 0; i < ENTRIES && world.wrong < 5; i++) {
		struct stated one = none;

		add(&one, make_entry(i, 0));
		with_globs(&one, true);
		for (size_t j = i + 1; j < ENTRIES && world.wrong < 5; j++) {
			struct stated two = one;

			add(&two, make_entry(j, 0));
			with_globs(&two, true);
			for (size_t k = j + 1; k < ENTRIES && world.wrong < 5; k++) {
				struct stated three = two;

				add(&three, make_entry(k, 0));
				with_globs(&three, false);
				with_extras(&three);
			}
		}
	}
	printf("# %zu policies, %zu answers compared\n", world.policies, world.compared);
	CHECK_INT(world.wrong, 0);
	CHECK(world.policies > 100000);
}

/* A git directory on a shelf. */
static struct thing make_git_dir(size_t at)
{
	return (struct thing){ .kind = RULE_GIT, .access = ACCESS_WRITE, .path = world.tree[at] };
}

static struct thing make_shelf(size_t at, uint32_t lift_depth)
{
	return (struct thing){ .kind = RULE_PROTECTED,
			       .access = ACCESS_READ,
			       .lift_depth = lift_depth,
			       .is_shelf = true,
			       .path = world.tree[at] };
}

TEST(every_two_shelves_with_a_git_directory_answer_as_the_text_says)
{
	struct err e = ERR_INIT;

	REQUIRE(prepare(&e));
	for (size_t n = 0; n < (size_t)ENTRIES * TREE * TREE * TREE && world.wrong < 5; n++) {
		struct stated s = { .layers = 1 };
		struct thing cap = make_shelf(n / ENTRIES % TREE, 2);

		add(&s, (struct thing){ .kind = RULE_ENTRY, .access = ACCESS_WRITE });
		add(&s, make_entry(n % ENTRIES, 0));
		add(&s, make_git_dir(n / ENTRIES / TREE % TREE));
		add(&s, make_shelf(n / ENTRIES / TREE / TREE, CAP_FIXED));
		compare(&s);
		add(&s, cap);
		compare(&s);
		cap.is_shelf = false;
		add(&s, cap);
		compare(&s);
	}
	CHECK_INT(world.wrong, 0);
	CHECK(world.policies > 10000);
}

/* Of a layer that is not the profile's nothing is lifted, and nothing there lifts. */
static void make_secret(struct thing *t, uint32_t secret, uint32_t lifts)
{
	bool is_deny = t->access == ACCESS_DENY;

	t->secret = t->layer == 0 && is_deny ? secret : 0;
	t->lifts = t->layer == 0 && !is_deny && t->kind == RULE_ENTRY && t->is_explicit ? lifts : 0;
}

TEST(every_secret_that_an_entry_names_answers_as_the_text_says)
{
	struct err e = ERR_INIT;

	REQUIRE(prepare(&e));
	world.leaves_out = true;
	for (size_t n = 0; n < (size_t)ENTRIES * ENTRIES * TREE * (COUNT_OF(globs) + 1); n++) {
		struct stated s = { .layers = 1 };
		struct thing first = make_entry(n % ENTRIES, 0);
		struct thing second = make_entry(n / ENTRIES % ENTRIES, 0);
		struct thing secret = make_entry(n / ENTRIES / ENTRIES % TREE * 3, 0);
		size_t g = n / ENTRIES / ENTRIES / TREE;

		if (world.wrong >= 5)
			break;
		make_secret(&first, 0, FS_LAYER_USER);
		make_secret(&second, 0, n % 2 ? FS_LAYER_USER : FS_LAYER_SYSTEM);
		make_secret(&secret, FS_LAYER_USER, 0);
		add(&s, first);
		add(&s, second);
		add(&s, secret);
		if (g < COUNT_OF(globs)) {
			struct thing glob = make_glob(g);

			make_secret(&glob, FS_LAYER_USER, 0);
			add(&s, glob);
		}
		compare(&s);
	}
	CHECK_INT(world.wrong, 0);
	CHECK(world.policies > 50000);
}

static struct thing make_random(uint64_t *state)
{
	static const enum rule_kind kinds[] = { RULE_ENTRY,	RULE_ENTRY, RULE_ENTRY, RULE_GLOB,
						RULE_PROTECTED, RULE_GRANT, RULE_GIT };
	struct thing t = make_entry(test_random(state) % ENTRIES, 0);
	enum rule_kind kind = kinds[test_random(state) % COUNT_OF(kinds)];

	if (kind == RULE_GLOB)
		t = make_glob(test_random(state) % COUNT_OF(globs));
	if (kind == RULE_GIT)
		return make_git_dir(test_random(state) % TREE);
	if (kind == RULE_ENTRY || kind == RULE_GLOB)
		t.layer = (uint32_t)(test_random(state) % 3);
	if (kind == RULE_PROTECTED)
		t.lift_depth = (uint32_t)(test_random(state) % 4);
	if (kind == RULE_PROTECTED && t.lift_depth == 3)
		t.lift_depth = CAP_FIXED;
	t.is_shelf = kind == RULE_PROTECTED && t.access < ACCESS_WRITE && test_random(state) % 2;
	t.is_explicit = test_random(state) % 3 > 0;
	t.kind = kind;
	if (kind == RULE_ENTRY || kind == RULE_GLOB)
		make_secret(&t, (uint32_t)(test_random(state) % 5),
			    (uint32_t)(test_random(state) % 4));
	return t;
}

/* What the exhaustive test can't afford: several layers, globs, grants and caps at once. */
TEST(random_policies_answer_as_the_text_says)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(100000);
	struct err e = ERR_INIT;

	REQUIRE(prepare(&e));
	world.leaves_out = true;
	for (size_t i = 0; i < cases && world.wrong < 5; i++) {
		struct stated s = { .layers = 1 };

		for (size_t n = test_random(&state) % COUNT_OF(s.things); n > 0; n--)
			add(&s, make_random(&state));
		compare(&s);
	}
	CHECK_INT(world.wrong, 0);
}
