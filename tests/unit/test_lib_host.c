/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/host.c. */
#include "lib/host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib.h"
#include "os/linux/mark.h"
#include "os/os.h"
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
	CHECK_INT(look(host_now(), "d/a"), HOST_MISSING);
	CHECK_INT(count(host_now(), "d"), 2);
}

/* Where the file system counts them. */
TEST(a_directory_without_directories_is_known)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct host_view view;
	struct host host = host_view_init(&view, &a);
	struct err e = ERR_INIT;
	struct host_file file;

	REQUIRE(mkdir("above", 0700) == 0 && mkdir("above/below", 0700) == 0);
	scratch_put("above/below/file", "");
	CHECK_INT(host.look(host.user, STR("above"), &file, &e), 0);
	CHECK(!file.has_no_dirs);
	CHECK_INT(host.look(host.user, STR("above/below"), &file, &e), 0);
	CHECK(file.has_no_dirs == os_links_count_dirs(STR("above")));
	CHECK_INT(host.look(host.user, STR("above/below/file"), &file, &e), 0);
	CHECK(!file.has_no_dirs);
	/* Their links may say anything. */
	CHECK(!os_links_count_dirs(STR("/proc")) && !os_links_count_dirs(STR("missing")));
	CHECK_INT(host_now()->look(host_now()->user, STR("above/below"), &file, &e), 0);
	CHECK(!file.has_no_dirs);
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
	CHECK_INT(look(host_now(), "p/.git"), HOST_DIR);
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

/* Of a directory that was changed just now nothing is remembered, so it may take a while. */
static bool recalls(struct arena *a, const char *path, struct host_listing *out)
{
	for (int i = 0; i < 2000; i++) {
		struct host_view *view = ARENA_NEW(a, struct host_view, &(struct err)ERR_INIT);
		struct host host;

		if (!view)
			return false;
		host = host_view_init(view, a);
		(void)count(&host, path);
		host_view_freeze(view);
		if (host_recall(&host, str_of(path), out))
			return true;
		usleep(10000);
	}
	return false;
}

static bool is_same(const char *path, const struct host_listing *known)
{
	struct stamp now;

	return os_look_stamp(AT_FDCWD, path, &now) && stamp_eq(&known->stamp, &now);
}

TEST(what_was_listed_holds_until_a_name_is_changed)
{
	scoped_arena a = ARENA_INIT(1 << 22);
	struct host_listing known;

	REQUIRE(mkdir("old", 0700) == 0 && mkdir("old/sub", 0700) == 0);
	scratch_put("old/file", "");
	REQUIRE(recalls(&a, "old", &known));
	CHECK_INT(known.count, 2);
	CHECK(is_same("old", &known));
	scratch_put("old/file", "other text");
	scratch_put("old/sub/file", "");
	CHECK(is_same("old", &known));
	scratch_put("old/more", "");
	CHECK(!is_same("old", &known));
	REQUIRE(recalls(&a, "old", &known));
	CHECK_INT(known.count, 3);
	REQUIRE(unlink("old/more") == 0);
	CHECK(!is_same("old", &known));
	REQUIRE(recalls(&a, "old", &known));
	REQUIRE(rename("old/file", "old/FILE") == 0);
	CHECK(!is_same("old", &known));
}

/* A whole path can be exchanged and put back: what was away shows it. */
TEST(what_was_moved_away_and_back_is_another)
{
	scoped_arena a = ARENA_INIT(1 << 22);
	struct host_listing known;

	REQUIRE(mkdir("here", 0700) == 0 && mkdir("here/sub", 0700) == 0);
	REQUIRE(recalls(&a, "here", &known));
	REQUIRE(rename("here", "away") == 0);
	CHECK(!is_same("here", &known));
	REQUIRE(mkdir("here", 0700) == 0);
	CHECK(!is_same("here", &known));
	REQUIRE(rmdir("here") == 0 && rename("away", "here") == 0);
	CHECK(!is_same("here", &known));
}

/* SECURITY: two changes within a tick of the file system's clock have the same time. */
TEST(a_time_that_may_come_again_is_none)
{
	scoped_arena a = ARENA_INIT(1 << 22);

	REQUIRE(mkdir("busy", 0700) == 0);
	for (int i = 0; i < 300; i++) {
		struct host_view view;
		struct host host = host_view_init(&view, &a);
		struct host_listing known;

		REQUIRE(rename("busy", "busier") == 0 && rename("busier", "busy") == 0);
		CHECK_INT(count(&host, "busy"), 0);
		scratch_put("busy/x", "");
		CHECK(!host_recall(&host, STR("busy"), &known) || !is_same("busy", &known));
		REQUIRE(unlink("busy/x") == 0);
	}
}
