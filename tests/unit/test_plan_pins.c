/* SPDX-License-Identifier: MIT */
/* Pins and links, P8 (plan/pins.c, plan/links.c). */
#include "test.h"

#include "base/path.h"
#include "plan_lists.h"

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

TEST(every_directory_between_is_pinned_parents_first)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nd /repo/a/b/c\nf /repo/a/b/d/e/f\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/a/b/c' = 'deny'\n'/repo/a/b/d/e/f' = 'read'\n"));
	CHECK(find_pin(&w, "/repo/a"));
	CHECK(find_pin(&w, "/repo/a/b"));
	CHECK(find_pin(&w, "/repo/a/b/d"));
	REQUIRE(find_pin(&w, "/repo/a/b/d/e"));
	CHECK(str_is(find_pin(&w, "/repo/a/b/d/e")->because, "/repo/a/b/d/e/f"));
	CHECK(!find_pin(&w, "/repo"));
	CHECK(!find_pin(&w, "/"));
	CHECK(!find_pin(&w, "/repo/a/b/c"));
	CHECK_INT(w.plan->pins.count, 4);
	for (size_t i = 1; i < w.plan->pins.count; i++)
		CHECK(path_cmp(w.plan->pins.items[i - 1].path, w.plan->pins.items[i].path) < 0);
}

TEST(directories_that_are_not_writable_need_no_pin)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nd /srv/a/b\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/srv/a/b' = 'deny'\n"));
	CHECK_INT(w.plan->pins.count, 0);
}

TEST(a_write_entry_inside_a_writable_area_is_pinned_like_the_rest)
{
	scoped_world w;

	world_init(&w, "d /src/x/repo/.git\n", "/src/x/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/src' = 'write'\n"));
	/* Or /src/x/repo could be renamed, and another with a .git put in its place. */
	CHECK(find_pin(&w, "/src/x"));
	CHECK(find_pin(&w, "/src/x/repo"));
	CHECK(!find_pin(&w, "/src"));
}

TEST(a_reopened_area_starts_anew)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nd /repo/a/b/c/d/e/f\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/a/b' = 'read'\n'/repo/a/b/c/d' = 'write'\n"
				       "'/repo/a/b/c/d/e/f' = 'deny'\n"));
	CHECK(find_pin(&w, "/repo/a"));
	CHECK(!find_pin(&w, "/repo/a/b/c"));
	CHECK(find_pin(&w, "/repo/a/b/c/d/e"));
	CHECK_INT(w.plan->pins.count, 2);
}

TEST(links_to_narrower_paths_are_kept_where_they_could_be_replaced)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nl /repo/x/way -> /data\nf /data/key\nl /srv -> /data\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/x/way/key' = 'deny'\n'/srv/other' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/data/key"), ACCESS_DENY);
	REQUIRE(find_link(&w, "/repo/x/way"));
	CHECK(str_is(find_link(&w, "/repo/x/way")->target, "/data"));
	CHECK(is_of_plan(&w, find_link(&w, "/repo/x/way")->rule));
	CHECK(find_pin(&w, "/repo/x"));
	CHECK(!find_link(&w, "/srv"));
	CHECK_INT(w.plan->links.count, 1);
}

TEST(links_to_writable_paths_are_left_alone)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nl /repo/out -> /data\nl /out -> /data\nd /data\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/out' = 'write'\n"));
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_WRITE);
	CHECK(!find_link(&w, "/out"));
	CHECK(!find_link(&w, "/repo/out"));
}

TEST(pointers_are_good_however_many_rules_there_are)
{
	static char user[64 << 10];
	size_t len;
	scoped_world w;

	world_init(&w, "d /repo/.git\nf /repo/x.key\nl /repo/l.key -> /data\nf /data\n", "/repo");
	len = (size_t)snprintf(user, sizeof(user), "%s'/repo/*.key' = 'deny'\n", WORKSPACE(""));
	for (int i = 0; i < 1000; i++)
		len += (size_t)snprintf(user + len, sizeof(user) - len, "'/repo/%d/x' = 'deny'\n",
					i);
	REQUIRE(plan(&w, user));
	for (size_t i = 0; i < w.plan->masked.count; i++)
		CHECK(is_of_plan(&w, w.plan->masked.items[i].rule));
	for (size_t i = 0; i < w.plan->links.count; i++)
		CHECK(is_of_plan(&w, w.plan->links.items[i].rule));
	for (size_t i = 0; i < w.plan->roots.count; i++)
		CHECK(is_of_plan(&w, w.plan->roots.items[i].rule));
	CHECK(w.plan->placeholders.count >= 1000);
	for (size_t i = 0; i < w.plan->placeholders.count; i++) {
		const struct placeholder *p = &w.plan->placeholders.items[i];

		CHECK(is_of_plan(&w, p->rule) && path_is_under(p->rule->path, p->path));
	}
}
