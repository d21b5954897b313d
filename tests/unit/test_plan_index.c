/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "plan/index.h"
#include "test.h"

enum { MAX_RULES = 16 };

struct fixture {
	struct arena a;
	struct layer layers[INDEX_MAX_LAYERS + 1];
	struct profile profile;
	struct policy policy;
	struct rule rules[MAX_RULES];
	size_t count;
	const struct index *x;
	struct err e;
};

static void fixture_done(struct fixture *f)
{
	arena_done(&f->a);
}

#define scoped_fixture SCOPED(fixture_done) struct fixture

static void start(struct fixture *f)
{
	*f = (struct fixture){ .a = ARENA_INIT(1 << 24), .e = ERR_INIT };
	f->policy.profile = &f->profile;
	f->policy.layers.items = f->layers;
	f->policy.layers.count = 1;
}

static struct rule *add(struct fixture *f, enum rule_kind kind, const char *path,
			enum access access)
{
	struct rule *rule = &f->rules[f->count++];

	*rule = (struct rule){ .kind = kind,
			       .access = access,
			       .path = str_of(path),
			       .depth = (uint32_t)path_depth(str_of(path)) };
	return rule;
}

static void add_glob(struct fixture *f, const char *dir, const char *pattern)
{
	struct rule *rule = add(f, RULE_GLOB, dir, ACCESS_DENY);

	rule->glob = str_of(pattern);
	rule->matcher = glob_parse(&f->a, rule->glob, &f->e);
	CHECK(rule->matcher != NULL);
}

static bool build(struct fixture *f)
{
	f->x = index_build(&f->a, &f->policy, f->rules, f->count, &f->e);
	return f->x != NULL;
}

static enum access ask(const struct fixture *f, const char *path)
{
	return index_answer(f->x, str_of(path)).access;
}

TEST(the_table_of_p7_holds_for_nested_entries)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/repo", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/repo/a", ACCESS_DENY);
	add(&f, RULE_ENTRY, "/repo/a/b", ACCESS_WRITE);
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/repo/a/x"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/repo/a/b/x"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/usr/bin/ls"), ACCESS_DENY);
	CHECK_INT(index_answer(f.x, STR("/usr")).rule->kind, RULE_UNCOVERED);
}

TEST(the_table_of_p7_holds_for_globs)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/", ACCESS_READ);
	add(&f, RULE_ENTRY, "/repo", ACCESS_WRITE);
	add_glob(&f, "/repo", "**/.env");
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/etc/passwd"), ACCESS_READ);
	CHECK_INT(ask(&f, "/repo/.env"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/repo/a/.env"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/repo/a/.env/below"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/repo/a/.env.md"), ACCESS_WRITE);
}

TEST(prefixes_are_of_components_not_bytes)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/a/b", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a/b/c/d", ACCESS_WRITE);
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/a"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/a/bc"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/a/b"), ACCESS_READ);
	CHECK_INT(ask(&f, "/a/b/c"), ACCESS_READ);
	CHECK_INT(ask(&f, "/a/b/c/dd"), ACCESS_READ);
	CHECK_INT(ask(&f, "/a/b/c/d"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/a/b/c/d/e/f"), ACCESS_WRITE);
}

TEST(a_tie_goes_deny_write_read)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/x", ACCESS_READ);
	add(&f, RULE_ENTRY, "/x", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/y", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/y", ACCESS_DENY);
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/x/1"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/y/1"), ACCESS_DENY);
}

TEST(the_lowest_layer_decides_unless_a_higher_one_lowers)
{
	scoped_fixture f;

	start(&f);
	f.policy.layers.count = 2;
	add(&f, RULE_ENTRY, "/", ACCESS_READ);
	add(&f, RULE_ENTRY, "/", ACCESS_READ)->layer = 1;
	add(&f, RULE_ENTRY, "/secret", ACCESS_DENY)->layer = 1;
	add(&f, RULE_ENTRY, "/wide", ACCESS_WRITE)->layer = 1;
	REQUIRE(build(&f));
	CHECK(index_answer(f.x, STR("/a")).rule == &f.rules[0]);
	CHECK(index_answer(f.x, STR("/secret")).rule == &f.rules[2]);
	CHECK(index_answer(f.x, STR("/wide")).rule == &f.rules[0]);
	CHECK_INT(ask(&f, "/wide"), ACCESS_READ);
	CHECK_INT(index_resolve_below(f.x, STR("/secret"), 1).access, ACCESS_READ);
}

TEST(a_grant_raises_but_not_over_a_deny_at_its_path_or_below)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a/no", ACCESS_DENY);
	add(&f, RULE_ENTRY, "/b", ACCESS_DENY);
	add(&f, RULE_GRANT, "/a", ACCESS_WRITE);
	add(&f, RULE_GRANT, "/b", ACCESS_WRITE);
	add(&f, RULE_GRANT, "/b/in", ACCESS_WRITE);
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/a/x"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/a/no/x"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/b"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/b/in"), ACCESS_WRITE);
}

TEST(a_cap_lowers_until_it_is_lifted)
{
	scoped_fixture f;

	start(&f);
	add(&f, RULE_ENTRY, "/r", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/r/.git/lfs", ACCESS_WRITE)->is_explicit = true;
	add(&f, RULE_PROTECTED, "/r/.git", ACCESS_READ)->lift_depth = 2;
	add(&f, RULE_OWN, "/r/.git/lfs/own", ACCESS_READ)->lift_depth = CAP_FIXED;
	add(&f, RULE_ENTRY, "/r/.git/tmp", ACCESS_WRITE);
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/r/x"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/r/.git/config"), ACCESS_READ);
	CHECK_INT(ask(&f, "/r/.git/lfs/x"), ACCESS_WRITE);
	CHECK_INT(ask(&f, "/r/.git/lfs/own"), ACCESS_READ);
	CHECK_INT(ask(&f, "/r/.git/tmp/x"), ACCESS_READ);
	CHECK(index_answer(f.x, STR("/r/.git")).rule == &f.rules[2]);
}

TEST(a_trace_has_the_deciding_rule_first_then_the_most_specific)
{
	scoped_fixture f;
	rule_trace trace = { .items = NULL };
	struct verdict v;

	start(&f);
	add(&f, RULE_ENTRY, "/", ACCESS_READ);
	add(&f, RULE_ENTRY, "/r", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/r/.git/x/y", ACCESS_READ);
	add(&f, RULE_PROTECTED, "/r/.git", ACCESS_DENY)->lift_depth = CAP_FIXED;
	add_glob(&f, "/", "r/.git/*");
	add(&f, RULE_ENTRY, "/elsewhere", ACCESS_READ);
	REQUIRE(build(&f));
	CHECK_INT(index_resolve(f.x, STR("/r/.git/x/y"), &v, &f.a, &trace, &f.e), 0);
	REQUIRE(trace.count == 5);
	CHECK(v.rule == &f.rules[3]);
	CHECK(trace.items[0] == &f.rules[3]);
	CHECK(trace.items[1] == &f.rules[2]);
	CHECK(trace.items[2] == &f.rules[4]);
	CHECK(trace.items[3] == &f.rules[1]);
	CHECK(trace.items[4] == &f.rules[0]);
	CHECK_INT(index_resolve(f.x, STR("/elsewhere"), &v, &f.a, &trace, &f.e), 0);
	CHECK_INT(trace.count, 2);
}

TEST(without_a_sandbox_everything_is_writable)
{
	scoped_fixture f;

	start(&f);
	f.profile.is_unsandboxed = true;
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/etc/passwd"), ACCESS_WRITE);
	CHECK_INT(index_answer(f.x, STR("/")).rule->kind, RULE_UNSANDBOXED);
}

TEST(sixty_four_layers_and_no_more)
{
	scoped_fixture f;

	start(&f);
	f.policy.layers.count = INDEX_MAX_LAYERS;
	add(&f, RULE_ENTRY, "/", ACCESS_WRITE);
	add(&f, RULE_ENTRY, "/x", ACCESS_DENY)->layer = INDEX_MAX_LAYERS - 1;
	REQUIRE(build(&f));
	CHECK_INT(ask(&f, "/x"), ACCESS_DENY);
	f.policy.layers.count++;
	CHECK(!build(&f));
	CHECK_INT(f.e.code, ERR_LIMIT);
}

/* Names that share their first bytes, and more of them than eight bytes tell apart. */
static void make_name(char *out, size_t room, size_t i)
{
	static const char *const stems[] = { "prefix", "prefix-that-is-long-", "", "a" };

	(void)snprintf(out, room, "/wide/%s%zu", stems[i % COUNT_OF(stems)], i * 7919 % 100003);
}

TEST(every_name_of_a_wide_directory_is_found)
{
	enum { NAMES = 5000 };
	static struct rule rules[NAMES];
	static char text[NAMES][64];
	scoped_fixture f;

	start(&f);
	for (size_t i = 0; i < NAMES; i++) {
		make_name(text[i], sizeof(text[i]), i);
		rules[i] = (struct rule){ .kind = RULE_ENTRY,
					  .access = ACCESS_READ,
					  .path = str_of(text[i]),
					  .depth = 2 };
	}
	f.x = index_build(&f.a, &f.policy, rules, NAMES, &f.e);
	REQUIRE(f.x);
	for (size_t i = 0; i < NAMES; i++) {
		char other[80];

		CHECK(index_answer(f.x, rules[i].path).rule == &rules[i]);
		(void)snprintf(other, sizeof(other), "%s/below", text[i]);
		CHECK(index_answer(f.x, str_of(other)).rule == &rules[i]);
		(void)snprintf(other, sizeof(other), "%sx", text[i]);
		CHECK_INT(ask(&f, other), ACCESS_DENY);
	}
	CHECK_INT(ask(&f, "/wide"), ACCESS_DENY);
	CHECK_INT(ask(&f, "/wide/p"), ACCESS_DENY);
}

TEST(places_are_distinct_and_in_order)
{
	static const char *const want[] = { "/a", "/a/b", "/a-b", "/ab" };
	scoped_fixture f;
	const uint32_t *places;
	size_t count, rules;

	start(&f);
	add(&f, RULE_ENTRY, "/ab", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a-b", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a/b", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a", ACCESS_READ);
	add(&f, RULE_ENTRY, "/a", ACCESS_DENY);
	REQUIRE(build(&f));
	places = index_places(f.x, &count);
	REQUIRE(count == COUNT_OF(want));
	for (size_t i = 0; i < count; i++)
		CHECK_STR(f.rules[places[i]].path.p, want[i]);
	(void)index_rules_at(f.x, 0, &rules);
	CHECK_INT(rules, 2);
}
