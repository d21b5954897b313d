/* SPDX-License-Identifier: MIT */
#include "mcp/uri.h"

#include "test.h"

static const char *path_of(const char *uri)
{
	static struct arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str path, copy;
	static char text[200];

	(void)snprintf(text, sizeof(text), "none");
	if (uri_file_path(&a, str_of(uri), &path, &e) == 0 && arena_copy(&a, path, &copy, &e) == 0)
		(void)snprintf(text, sizeof(text), "%s", copy.p);
	arena_done(&a);
	return text;
}

TEST(a_file_address_names_a_path)
{
	CHECK_STR(path_of("file:///home/me"), "/home/me");
	CHECK_STR(path_of("FILE:///"), "/");
	CHECK_STR(path_of("file://localhost/a%20b%2Fc"), "/a b/c");
	CHECK_STR(path_of("file:///%ff"), "/\xff");
}

TEST(other_addresses_name_none)
{
	static const char *const bad[] = { "",
					   "file:",
					   "file://",
					   "file:a",
					   "http:///a",
					   "file://other/a",
					   "file:///a%00b",
					   "file:///a%",
					   "file:///a%2",
					   "file:///a%zz",
					   "file:///a?b",
					   "file:///a#b",
					   "file://../a",
					   "/home/me",
					   "file:/a" };

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK_STR(path_of(bad[i]), "none");
}
