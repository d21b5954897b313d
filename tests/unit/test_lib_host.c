/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/host.c. */
#include "lib/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib.h"
#include "os/linux/mark.h"
#include "scratch.h"
#include "test.h"

static enum host_type look(const struct host *host, const char *path)
{
	struct err e = ERR_INIT;
	struct host_file file = { .type = HOST_OTHER };

	CHECK_INT(host->look(host->user, str_of(path), &file, &e), 0);
	return file.type;
}

static int count_one(void *arg, struct str name, enum host_type type, struct err *e)
{
	(void)name;
	(void)type;
	(void)e;
	++*(int *)arg;
	return 0;
}

static int count(const struct host *host, const char *path)
{
	struct err e = ERR_INIT;
	int n = 0;

	CHECK_INT(host->list(host->user, str_of(path), count_one, &n, &e), 0);
	return n;
}

TEST(a_view_remembers_and_then_keeps_still)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct host_view view;
	struct host host = host_view_init(&view, &a);
	scoped_buf text = BUF_INIT(100);
	struct err e = ERR_INIT;

	REQUIRE(mkdir("d", 0700) == 0);
	scratch_put("d/a", "text");
	CHECK_INT(look(&host, "d/a"), HOST_FILE);
	CHECK_INT(look(&host, "d/b"), HOST_MISSING);
	CHECK_INT(count(&host, "d"), 1);
	CHECK_INT(host.read_file(host.user, STR("d/a"), &text, &e), 0);
	host_view_freeze(&view);

	scratch_put("d/b", "");
	scratch_put("d/c", "");
	CHECK_INT(look(&host, "d/b"), HOST_MISSING);
	CHECK_INT(look(&host, "d/c"), HOST_FILE); /* nobody asked before */
	CHECK_INT(count(&host, "d"), 1);
	REQUIRE(unlink("d/a") == 0);
	CHECK_INT(host.read_file(host.user, STR("d/a"), &text, &e), 0);
	CHECK(str_is(buf_str(&text), "texttext"));
	CHECK_INT(look(&host_now, "d/a"), HOST_MISSING);
	CHECK_INT(count(&host_now, "d"), 2);
}

TEST(a_placeholder_is_not_there)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct host_view view;
	struct host host = host_view_init(&view, &a);
	struct host_file file = { .inode = 1 };
	struct err e = ERR_INIT;

	REQUIRE(mkdir("p", 0700) == 0 && mkdir("p/.git", MARK_DIR_MODE) == 0);
	REQUIRE(mkdir("p/own", 0755) == 0);
	CHECK_INT(look(&host, "p/.git"), HOST_MISSING);
	CHECK_INT(look(&host, "p/own"), HOST_DIR);
	CHECK(host.look(host.user, STR("p/.git"), &file, &e) == 0 && file.inode == 0);
	CHECK_INT(count(&host, "p"), 2); /* a listing has it */
	REQUIRE(chmod("p/.git", 0755) == 0);
	CHECK_INT(look(&host, "p/.git"), HOST_MISSING); /* as remembered */
	CHECK_INT(look(&host_now, "p/.git"), HOST_DIR);
}

TEST(a_huge_directory_is_passed_on_but_not_kept)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	struct host_view view;
	struct host host = host_view_init(&view, &a);
	char name[64];

	REQUIRE(mkdir("huge", 0700) == 0);
	for (int i = 0; i < 30000; i++) {
		(void)snprintf(name, sizeof(name), "huge/a-rather-long-name-%d", i);
		scratch_put(name, "");
	}
	CHECK_INT(count(&host, "huge"), 30000);
	CHECK(a.used_bytes < (4 << 20));
	CHECK_INT(count(&host, "huge"), 30000);
}
