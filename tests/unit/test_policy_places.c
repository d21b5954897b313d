/* SPDX-License-Identifier: MIT */
/* What the anchors of P5 stand for. */
#include "policy/places.h"

#include "../support/policy_text.h"
#include "test.h"

static const struct str roots[] = { STR_INIT("/proj"), STR_INIT("/lib") };
static const struct places places = {
	.cwd = STR_INIT("/proj"),
	.home = STR_INIT("/home/me"),
	.tmpdir = STR_INIT("/var/tmp/x"),
	.roots = roots,
	.root_count = 2,
};

/* The one entry of a profile, spread out. */
static int expand(struct outcome *o, const char *entry, const struct places *p, place_list *out)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[permissions.dev.filesystem]\n%s", entry);
	*o = compile_dev(text);
	*out = (place_list){ 0 };
	if (!o->policy || o->policy->profile->fs.count != 1)
		return -1;
	return places_expand(&o->a, p, &o->policy->profile->fs.items[0], out, &o->e);
}

static bool is_place(const char *entry, const char *path, const char *glob, bool is_optional)
{
	scoped_outcome o;
	place_list list;

	if (expand(&o, entry, &places, &list) < 0 || list.count != 1) {
		printf("#   %s: %zu %s\n", entry, list.count, o.e.text);
		return false;
	}
	return str_is(list.items[0].path, path) && str_is(list.items[0].glob, glob) &&
	       !list.items[0].matcher == !glob[0] && list.items[0].is_optional == is_optional;
}

TEST(each_anchor_has_its_place)
{
	CHECK(is_place("'/a/b' = 'read'", "/a/b", "", false));
	CHECK(is_place("'/' = 'read'", "/", "", false));
	CHECK(is_place("'/a/*.c' = 'deny'", "/a", "*.c", false));
	CHECK(is_place("'~' = 'read'", "/home/me", "", false));
	CHECK(is_place("'~/x' = 'read'", "/home/me/x", "", false));
	CHECK(is_place("':root' = 'read'", "/", "", false));
	CHECK(is_place("':root' = { etc = 'read' }", "/etc", "", false));
	CHECK(is_place("':tmpdir' = 'write'", "/var/tmp/x", "", false));
	CHECK(is_place("':slash_tmp' = 'write'", "/tmp", "", true));
	CHECK(is_place("':slash_tmp' = { a = 'deny' }", "/tmp/a", "", false));
	CHECK(is_place("':slash_tmp' = { '*' = 'deny' }", "/tmp", "*", false));
}

TEST(workspace_roots_are_many)
{
	scoped_outcome o;
	place_list list;

	REQUIRE(expand(&o, "':workspace_roots' = { 'a/*.x' = 'deny' }", &places, &list) == 0);
	REQUIRE(list.count == 2);
	CHECK(str_is(list.items[0].path, "/proj/a"));
	CHECK(str_is(list.items[1].path, "/lib/a"));
	CHECK(str_is(list.items[1].glob, "*.x"));
	CHECK(glob_match(list.items[1].matcher, STR("b.x")));
}

TEST(minimal_is_what_a_program_needs_to_start)
{
	scoped_outcome o;
	place_list list;
	bool has_usr = false;

	REQUIRE(expand(&o, "':minimal' = 'read'", &places, &list) == 0);
	for (size_t i = 0; i < list.count; i++) {
		has_usr |= str_is(list.items[i].path, "/usr");
		CHECK(list.items[i].is_optional);
	}
	CHECK(has_usr);
}

TEST(secrets_are_in_the_home_and_in_every_root)
{
	scoped_outcome o;
	place_list list;
	size_t keys = 0;
	size_t globs = 0;

	REQUIRE(expand(&o, "':secrets' = 'deny'", &places, &list) == 0);
	for (size_t i = 0; i < list.count; i++) {
		keys += str_is(list.items[i].path, "/home/me/.ssh");
		globs += str_is(list.items[i].path, "/lib") && list.items[i].matcher &&
			 glob_match(list.items[i].matcher, STR("a/.env"));
		CHECK(!list.items[i].matcher ||
		      !glob_match(list.items[i].matcher, STR("a/.env.example")));
	}
	CHECK_INT(keys, 1);
	CHECK_INT(globs, 1);
}

TEST(without_tmpdir_only_what_makes_writable_is_dropped)
{
	struct places none = places;
	scoped_outcome a, b, c, d;
	place_list list;

	none.tmpdir = STR_EMPTY;
	REQUIRE(expand(&a, "':tmpdir' = 'write'", &none, &list) == 0);
	CHECK_INT(list.count, 0);
	CHECK_INT(expand(&b, "':tmpdir' = 'read'", &none, &list), -ERR_POLICY);
	CHECK(strstr(b.e.text, "config.toml:2:1: ':tmpdir' = \"read\" is about $TMPDIR"));
	CHECK_INT(expand(&c, "':tmpdir' = 'deny'", &none, &list), -ERR_POLICY);
	CHECK_INT(expand(&d, "':tmpdir' = { '*.key' = 'deny' }", &none, &list), -ERR_POLICY);
}

TEST(without_a_home_only_what_makes_writable_is_dropped)
{
	struct places none = places;
	scoped_outcome a, b, c, d;
	place_list list;

	none.home = STR_EMPTY;
	CHECK_INT(expand(&a, "'~/x' = 'write'", &none, &list), 0);
	CHECK_INT(list.count, 0);
	CHECK_INT(expand(&b, "'~/x' = 'deny'", &none, &list), -ERR_POLICY);
	CHECK_INT(b.e.cause, CAUSE_HOME_UNKNOWN);
	CHECK(strstr(b.e.text, "config.toml:2:1: '~/x' = \"deny\" is about the home directory"));
	CHECK_INT(expand(&c, "':secrets' = 'deny'", &none, &list), -ERR_POLICY);
	CHECK_INT(expand(&d, "'~/x' = 'read'", &none, &list), -ERR_POLICY);
}

TEST(roots_stand_for_paths)
{
	scoped_outcome o = compile_dev("[permissions.dev]\nworkspace_roots = { '/a' = true, "
				       "'~/b' = true, 'c' = true, '.' = true }");
	static const char *const want[] = { "/a", "/home/me/b", "/proj/c", "/proj" };
	struct places none = places;
	struct str path;

	REQUIRE(o.policy && o.policy->profile->roots.count == 4);
	for (size_t i = 0; i < 4; i++) {
		REQUIRE(places_root(&o.a, &places, &o.policy->profile->roots.items[i], &path,
				    &o.e) == 0);
		CHECK(str_is(path, want[i]));
	}
	none.home = STR_EMPTY;
	CHECK_INT(places_root(&o.a, &none, &o.policy->profile->roots.items[1], &path, &o.e),
		  -ERR_POLICY);
}

TEST(a_path_too_long_when_joined_is_a_limit)
{
	static char home[4000];
	struct places far = places;
	scoped_outcome o;
	place_list list;

	for (size_t i = 0; i < sizeof(home); i++)
		home[i] = i % 2 ? 'a' : '/';
	far.home = (struct str){ home, sizeof(home) };
	CHECK_INT(expand(&o,
			 "'~/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
			 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' = 'deny'",
			 &far, &list),
		  -ERR_LIMIT);
	CHECK(strstr(o.e.text, "config.toml:2:1: "));
}

TEST(a_person_is_told_from_a_service)
{
	static const struct {
		uint64_t uid;
		const char *home;
		bool is_persons;
	} cases[] = {
		{ 0, "/root", true },
		{ 1000, "/home/a", true },
		{ 1000, "/srv/a", true },
		{ 1000, "/var/home/a", true },
		{ 70000, "/data/a", true },
		{ 501, "/home/b", true },
		{ 501, "/home", false },
		{ 501, "/srv/b", false },
		{ 2, "/bin", false },
		{ 3, "/dev", false },
		{ 33, "/var/www", false },
		{ 105, "/var/lib/x", false },
		{ 65534, "/nonexistent", false },
		{ 30001, "/var/empty", false },
		{ 1001, "/usr/local/x", false },
		{ 1001, "/etcetera", true },
		{ 1002, "/run/x", false },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(places_is_persons(cases[i].uid, str_of(cases[i].home)),
			  cases[i].is_persons);
}
