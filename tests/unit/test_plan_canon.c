/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "fake_host.h"
#include "plan/builder.h"
#include "test.h"

static const char files[] = "d /repo/src\n"
			    "f /repo/a\n"
			    "l /repo/rel -> src\n"
			    "l /repo/abs -> /other/dir\n"
			    "l /repo/up -> src/../a\n"
			    "l /repo/through -> abs/../x\n"
			    "l /repo/chain -> rel\n"
			    "l /repo/dangling -> gone/deep\n"
			    "l /repo/loop -> loop2\n"
			    "l /repo/loop2 -> loop\n"
			    "d /other/dir\n"
			    "f /other/x\n"
			    "o /other/sock\n"
			    "h /closed\n";

struct fixture {
	struct arena a;
	struct fake_host host;
	struct canon c;
	met_links links;
	struct err e;
};

static void fixture_done(struct fixture *f)
{
	arena_done(&f->a);
	fake_host_done(&f->host);
}

#define scoped_fixture SCOPED(fixture_done) struct fixture

static void start(struct fixture *f)
{
	*f = (struct fixture){ .a = ARENA_INIT(1 << 20), .e = ERR_INIT };
	fake_host_init(&f->host, files);
}

static int resolve(struct fixture *f, const char *path, bool follow_last)
{
	f->links.count = 0;
	err_clear(&f->e);
	return canon_resolve(&f->a, &f->host.host, str_of(path), follow_last, &f->c, &f->links,
			     &f->e);
}

#define CHECK_CANON(f, asked, want, want_type)             \
	do {                                               \
		CHECK_INT(resolve((f), (asked), true), 0); \
		CHECK_STR((f)->c.path.p, (want));          \
		CHECK_INT((f)->c.type, (want_type));       \
	} while (0)

TEST(a_path_without_links_stays_as_it_is)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/", "/", HOST_DIR);
	CHECK_CANON(&f, "/repo/src", "/repo/src", HOST_DIR);
	CHECK_CANON(&f, "/repo/a", "/repo/a", HOST_FILE);
	CHECK_CANON(&f, "/other/sock", "/other/sock", HOST_OTHER);
	CHECK_INT(f.c.missing_from, 0);
	CHECK(!f.c.crossed_links);
	CHECK_INT(f.links.count, 0);
}

TEST(links_are_followed_and_listed)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/repo/rel", "/repo/src", HOST_DIR);
	CHECK_CANON(&f, "/repo/abs", "/other/dir", HOST_DIR);
	CHECK_CANON(&f, "/repo/chain", "/repo/src", HOST_DIR);
	CHECK(f.c.crossed_links);
	REQUIRE(f.links.count == 2);
	CHECK_STR(f.links.items[0].path.p, "/repo/chain");
	CHECK_STR(f.links.items[0].target.p, "/repo/src");
	CHECK_STR(f.links.items[1].path.p, "/repo/rel");
	CHECK_STR(f.links.items[1].target.p, "/repo/src");
}

TEST(a_link_on_the_way_has_its_own_target)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/repo/abs/new/file", "/other/dir/new/file", HOST_MISSING);
	REQUIRE(f.links.count == 1);
	CHECK_STR(f.links.items[0].path.p, "/repo/abs");
	CHECK_STR(f.links.items[0].target.p, "/other/dir");
	CHECK_INT(f.c.missing_from, strlen("/other/dir/new"));
}

TEST(dot_dot_in_a_link_is_physical)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/repo/up", "/repo/a", HOST_FILE);
	CHECK_CANON(&f, "/repo/through", "/other/x", HOST_FILE);
}

TEST(the_last_link_is_left_alone_on_demand)
{
	scoped_fixture f;

	start(&f);
	CHECK_INT(resolve(&f, "/repo/rel", false), 0);
	CHECK_STR(f.c.path.p, "/repo/rel");
	CHECK_INT(f.c.type, HOST_LINK);
	CHECK_INT(resolve(&f, "/repo/abs/dir", false), 0);
	CHECK_STR(f.c.path.p, "/other/dir/dir");
}

TEST(a_missing_path_is_resolved_lexically)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/nowhere/a/b", "/nowhere/a/b", HOST_MISSING);
	CHECK_INT(f.c.missing_from, strlen("/nowhere"));
	CHECK_CANON(&f, "/repo/dangling", "/repo/gone/deep", HOST_MISSING);
	CHECK_INT(f.c.missing_from, strlen("/repo/gone"));
	CHECK_CANON(&f, "/repo/a/b/c", "/repo/a/b/c", HOST_MISSING);
	CHECK_INT(f.c.missing_from, strlen("/repo/a/b"));
}

TEST(dot_dot_returns_from_what_is_missing)
{
	scoped_fixture f;

	start(&f);
	fake_host_add(&f.host,
		      "l /repo/odd -> nope/deep/../../src\nl /repo/odd2 -> nope/../nope/x\n");
	CHECK_CANON(&f, "/repo/odd", "/repo/src", HOST_DIR);
	CHECK_INT(f.c.missing_from, 0);
	CHECK_CANON(&f, "/repo/odd2", "/repo/nope/x", HOST_MISSING);
	CHECK_INT(f.c.missing_from, strlen("/repo/nope"));
}

TEST(a_hidden_path_is_resolved_lexically)
{
	scoped_fixture f;

	start(&f);
	CHECK_CANON(&f, "/closed", "/closed", HOST_DIR);
	CHECK_CANON(&f, "/closed/a/b", "/closed/a/b", HOST_HIDDEN);
	CHECK_INT(f.c.missing_from, 0);
}

TEST(a_loop_is_an_error_that_names_it)
{
	scoped_fixture f;

	start(&f);
	CHECK_INT(resolve(&f, "/repo/loop/x", true), -ERR_POLICY);
	CHECK(strstr(f.e.text, "/repo/loop") != NULL);
	CHECK_INT(f.e.cause, CAUSE_LINK_LOOP);
}

TEST(forty_links_are_followed_and_no_more)
{
	scoped_fixture f;
	char line[64];

	start(&f);
	for (int i = 1; i <= 41; i++) {
		(void)snprintf(line, sizeof(line), "l /n/%d -> %d\n", i, i - 1);
		fake_host_add(&f.host, line);
	}
	fake_host_add(&f.host, "f /n/0\n");
	CHECK_CANON(&f, "/n/40", "/n/0", HOST_FILE);
	CHECK_INT(resolve(&f, "/n/41", true), -ERR_POLICY);
}

TEST(a_path_that_no_kernel_takes_is_an_error)
{
	scoped_fixture f;
	char path[5000] = "/";

	start(&f);
	memset(path + 1, 'x', 256);
	CHECK_INT(resolve(&f, path, true), -ERR_LIMIT);
	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? 'x' : '/';
	CHECK_INT(resolve(&f, path, true), -ERR_LIMIT);
}

TEST(siblings_cost_one_look_each)
{
	scoped_fixture f;
	struct builder b = { .a = &f.a };
	struct canon c;

	start(&f);
	fake_host_add(&f.host, "f /x/y/z/1\nf /x/y/z/2\nl /x/link -> y/z\n");
	b.host = &f.host.host;
	b.cache = canon_cache_new(&f.a, &f.e);
	REQUIRE(b.cache);
	CHECK_INT(builder_canon(&b, STR("/x/y/z/1"), true, &c, NULL, &f.e), 0);
	CHECK_INT(f.host.calls, 4);
	CHECK_INT(builder_canon(&b, STR("/x/y/z/2"), true, &c, NULL, &f.e), 0);
	CHECK_INT(f.host.calls, 5);
	CHECK_INT(builder_canon(&b, STR("/x/link/3"), true, &c, NULL, &f.e), 0);
	CHECK_STR(c.path.p, "/x/y/z/3");
	CHECK_INT(c.type, HOST_MISSING);
	CHECK_INT(f.host.calls, 8); /* the link, its text, and the missing file */
}

TEST(the_memory_gives_the_same_as_looking)
{
	static const char *const paths[] = { "/repo/through", "/repo/rel", "/repo/rel/x",
					     "/repo/abs/y",   "/closed/x", "/repo/dangling",
					     "/repo/a/b",     "/other/x",  "/repo/up" };
	scoped_fixture f;
	struct builder b = { .a = &f.a };

	start(&f);
	b.host = &f.host.host;
	b.cache = canon_cache_new(&f.a, &f.e);
	REQUIRE(b.cache);
	for (size_t i = 0; i < 3 * COUNT_OF(paths); i++) {
		const char *path = paths[i * 5 % COUNT_OF(paths)];
		struct canon c;

		CHECK_INT(resolve(&f, path, true), 0);
		CHECK_INT(builder_canon(&b, str_of(path), true, &c, NULL, &f.e), 0);
		CHECK_STR(c.path.p, f.c.path.p);
		CHECK_INT(c.type, f.c.type);
		CHECK_INT(c.missing_from, f.c.missing_from);
	}
}

TEST(a_failing_host_is_reported)
{
	scoped_fixture f;
	size_t calls;

	start(&f);
	CHECK_INT(resolve(&f, "/repo/through", true), 0);
	calls = f.host.calls;
	for (size_t i = 1; i <= calls; i++) {
		f.host.calls = 0;
		f.host.fail_at = i;
		CHECK_INT(resolve(&f, "/repo/through", true), -ERR_SYS);
		CHECK(strstr(f.e.text, "/repo/through: ") == f.e.text);
	}
}

static struct located locate(struct fixture *f, const char *path)
{
	struct located at = { .type = HOST_MISSING };

	err_clear(&f->e);
	CHECK_INT(canon_locate(&f->a, &f->host.host, STR("/repo"), str_of(path), &at, &f->e), 0);
	return at;
}

TEST(a_path_asked_about_is_taken_from_the_working_directory)
{
	scoped_fixture f;
	struct located at;

	start(&f);
	CHECK_STR(locate(&f, "a").path.p, "/repo/a");
	CHECK_STR(locate(&f, ".").path.p, "/repo");
	CHECK_STR(locate(&f, "./src//new/").path.p, "/repo/src/new");
	CHECK_STR(locate(&f, "../other").path.p, "/other");
	CHECK_STR(locate(&f, "../../../..").path.p, "/");
	CHECK_STR(locate(&f, "abs/../x").path.p, "/other/x");
	at = locate(&f, "rel");
	CHECK_STR(at.path.p, "/repo/src");
	CHECK_STR(at.via_link.p, "/repo/rel");
	CHECK(!at.crossed_links);
	at = locate(&f, "abs/y");
	CHECK_STR(at.path.p, "/other/dir/y");
	CHECK_STR(at.via_link.p, "");
	CHECK(at.crossed_links);
}

TEST(a_path_asked_about_must_be_one)
{
	scoped_fixture f;
	struct located at;

	start(&f);
	CHECK_INT(canon_locate(&f.a, &f.host.host, STR("/"), STR("a\0b"), &at, &f.e), -ERR_SYNTAX);
	CHECK_INT(canon_locate(&f.a, &f.host.host, STR("/"), STR_EMPTY, &at, &f.e), -ERR_SYNTAX);
	CHECK_INT(canon_locate(&f.a, &f.host.host, STR("/repo"), STR("loop"), &at, &f.e),
		  -ERR_POLICY);
}
