/* SPDX-License-Identifier: MIT */
/* Tests of src/backend/linux/clean.c: what the search says of what it could not see. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "scratch.h"
#include "test.h"

enum { DEPTH = 40, FEW = 24 };

static bool is_cut(rlim_t descriptors)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const struct str root = str_of(scratch_top);
	const struct plan plan = { .rules.count = 0 };
	struct cleaning cleaning = { .is_incomplete = false };
	struct err e = ERR_INIT;
	struct rlimit before, limit;

	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit = (struct rlimit){ descriptors, before.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK_INT(backend_clean(&a, &plan, &root, 1, &cleaning, &e), 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	return cleaning.is_incomplete;
}

TEST(a_directory_that_can_t_be_opened_makes_the_search_partial)
{
	char path[2 * DEPTH + 1] = "";

	for (size_t i = 0; i < DEPTH; i++) {
		path[2 * i] = 'd';
		REQUIRE(mkdir(path, 0700) == 0);
		path[2 * i + 1] = '/';
	}
	CHECK(!is_cut(FEW + DEPTH));
	CHECK(is_cut(FEW));
}

TEST(what_is_no_directory_hides_nothing)
{
	scratch_put("file", "text");
	REQUIRE(symlink("nowhere", "link") == 0);
	CHECK(!is_cut(FEW + DEPTH));
}
