/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "test.h"

/* path_plain for C strings; "" for a failure, with its code in `*code`. */
static const char *plain(struct arena *a, const char *base, const char *path, int *code)
{
	struct err e = ERR_INIT;
	struct str out = STR_EMPTY;

	*code = path_plain(a, str_of(base), str_of(path), &out, &e);
	return *code == 0 ? out.p : "";
}

TEST(paths_become_plain)
{
	static const struct {
		const char *base, *path, *want;
	} cases[] = {
		{ "/", "/", "/" },
		{ "/", "//", "/" },
		{ "/", "/a", "/a" },
		{ "/", "/a/", "/a" },
		{ "/", "/a//b///", "/a/b" },
		{ "/", "/a/./b/.", "/a/b" },
		{ "/", "/a/../b", "/b" },
		{ "/", "/..", "/" },
		{ "/", "/../../a", "/a" },
		{ "/", "/a/b/../../..", "/" },
		{ "/", "/...", "/..." },
		{ "/", "/a/..b/.c", "/a/..b/.c" },
		{ "/w", "a", "/w/a" },
		{ "/w", ".", "/w" },
		{ "/w", "", "/w" },
		{ "/w/x", "..", "/w" },
		{ "/w/x", "../../../a", "/a" },
		{ "/w", "./", "/w" },
		{ "/", "a b\n", "/a b\n" },
		{ "/w", "/abs", "/abs" },
		{ "/w", "\xff\xfe", "/w/\xff\xfe" },
	};
	scoped_arena a = ARENA_INIT(1 << 20);
	int code;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_STR(plain(&a, cases[i].base, cases[i].path, &code), cases[i].want);
		CHECK_INT(code, 0);
	}
}

TEST(making_a_path_plain_twice_changes_nothing)
{
	static const char *const paths[] = { "/a/./b", "/../x", "/a//", "/" };
	scoped_arena a = ARENA_INIT(1 << 20);
	int code;

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		const char *once = plain(&a, "/", paths[i], &code);

		CHECK_STR(plain(&a, "/other", once, &code), once);
	}
}

TEST(a_nul_in_a_path_is_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str out = STR("before");

	CHECK_INT(path_plain(&a, STR("/"), (struct str){ "/a\0b", 4 }, &out, &e), -ERR_SYNTAX);
	CHECK(strstr(e.text, "NUL") != NULL);
	CHECK(str_is(out, "before"));
}

TEST(a_component_may_have_255_bytes_and_no_more)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	char path[400] = "/";
	int code;

	memset(path + 1, 'n', 255);
	CHECK_STR(plain(&a, "/", path, &code), path);
	path[256] = 'n';
	CHECK_STR(plain(&a, "/", path, &code), "");
	CHECK_INT(code, -ERR_LIMIT);
	memcpy(path + 257, "/..", 4);
	CHECK_STR(plain(&a, "/", path, &code), "");
	CHECK_INT(code, -ERR_LIMIT);
}

TEST(a_path_may_have_4095_bytes_and_no_more)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	char path[5000];
	int code;

	for (size_t i = 0; i < 4095; i++)
		path[i] = i % 200 == 0 ? '/' : 'x';
	path[4095] = '\0';
	CHECK_STR(plain(&a, "/", path, &code), path);
	path[4095] = 'x';
	path[4096] = '\0';
	CHECK_STR(plain(&a, "/", path, &code), "");
	CHECK_INT(code, -ERR_LIMIT);
	path[4090] = '\0';
	CHECK_STR(plain(&a, "/long/base", path + 1, &code), "");
	CHECK_INT(code, -ERR_LIMIT);
}

TEST(a_long_text_of_nothing_but_dots_is_still_a_short_path)
{
	static char path[100001];
	scoped_arena a = ARENA_INIT(1 << 20);
	int code;

	for (size_t i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "/.", 2);
	CHECK_STR(plain(&a, "/", path, &code), "/");
}

TEST(joining_adds_below)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str out = STR_EMPTY;

	CHECK_INT(path_join(&a, STR("/"), STR("a/b"), &out, &e), 0);
	CHECK_STR(out.p, "/a/b");
	CHECK_INT(path_join(&a, STR("/x"), STR("y"), &out, &e), 0);
	CHECK_STR(out.p, "/x/y");
	CHECK_INT(path_join(&a, STR("/x"), STR(""), &out, &e), 0);
	CHECK_STR(out.p, "/x");
	CHECK_INT(path_join(&a, STR("/"), STR(""), &out, &e), 0);
	CHECK_STR(out.p, "/");
}

TEST(joining_past_the_limit_is_refused)
{
	static char name[201];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str path = STR("/");
	int r = 0;

	memset(name, 'n', 200);
	for (int i = 0; i < 30 && r == 0; i++)
		r = path_join(&a, path, str_of(name), &path, &e);
	CHECK_INT(r, -ERR_LIMIT);
	CHECK(path.len < PATH_MAX_BYTES);
}

TEST(under_means_whole_components)
{
	CHECK(path_is_under(STR("/a"), STR("/a")));
	CHECK(path_is_under(STR("/a/b"), STR("/a")));
	CHECK(!path_is_under(STR("/ab"), STR("/a")));
	CHECK(!path_is_under(STR("/a"), STR("/a/b")));
	CHECK(path_is_under(STR("/"), STR("/")));
	CHECK(path_is_under(STR("/x"), STR("/")));
	CHECK(!path_is_under(STR("/"), STR("/x")));
}

TEST(path_below_gives_no_leading_slash)
{
	CHECK(str_is(path_below(STR("/a/b/c"), STR("/a")), "b/c"));
	CHECK(str_is(path_below(STR("/a"), STR("/a")), ""));
	CHECK(str_is(path_below(STR("/a"), STR("/")), "a"));
	CHECK(str_is(path_below(STR("/"), STR("/")), ""));
}

TEST(depth_parent_and_name_agree)
{
	CHECK_INT(path_depth(STR("/")), 0);
	CHECK_INT(path_depth(STR("/a/b")), 2);
	CHECK(str_is(path_parent(STR("/a/b")), "/a"));
	CHECK(str_is(path_parent(STR("/a")), "/"));
	CHECK(str_is(path_parent(STR("/")), "/"));
	CHECK(str_is(path_name(STR("/a/b")), "b"));
	CHECK(str_is(path_name(STR("/a")), "a"));
	CHECK(str_is(path_name(STR("/")), ""));
}

TEST(kernel_trees_are_three_whole_paths)
{
	CHECK(path_is_kernel_tree(STR("/proc")) && path_is_kernel_tree(STR("/sys")) &&
	      path_is_kernel_tree(STR("/dev")));
	CHECK(!path_is_kernel_tree(STR("/")) && !path_is_kernel_tree(STR("/proc/1")) &&
	      !path_is_kernel_tree(STR("/repo/dev")) && !path_is_kernel_tree(STR("/devel")));
}

TEST(absolute_begins_with_a_slash)
{
	CHECK(path_is_absolute(STR("/a")));
	CHECK(!path_is_absolute(STR("a")));
	CHECK(!path_is_absolute(STR("")));
}

TEST(stepping_gives_names_and_prefixes)
{
	struct str path = STR("/ab/c");
	struct str name = STR_EMPTY;
	size_t at = 0;

	CHECK(path_next(path, &at, &name));
	CHECK(str_is(name, "ab"));
	CHECK(str_is(str_first(path, at), "/ab"));
	CHECK(path_next(path, &at, &name));
	CHECK(str_is(name, "c"));
	CHECK(str_is(str_first(path, at), "/ab/c"));
	CHECK(!path_next(path, &at, &name));
	at = 0;
	CHECK(path_next(STR("x/y"), &at, &name));
	CHECK(str_is(name, "x"));
	at = 0;
	CHECK(!path_next(STR("/"), &at, &name));
}

TEST(a_path_sorts_right_before_all_below_it)
{
	static const char *const sorted[] = { "/",   "/a",   "/a/b",   "/a/b/c", "/a/z",
					      "/a!", "/a-b", "/a-b/c", "/ab",	 "/b" };

	for (size_t i = 0; i < COUNT_OF(sorted); i++)
		for (size_t j = 0; j < COUNT_OF(sorted); j++) {
			int want = (i > j) - (i < j);
			int got = path_cmp(str_of(sorted[i]), str_of(sorted[j]));

			CHECK_INT((got > 0) - (got < 0), want);
		}
	CHECK(path_cmp(STR("/\xff"), STR("/a")) > 0);
}
