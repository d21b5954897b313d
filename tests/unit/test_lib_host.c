/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/host.c and of the places in texts (src/lib/report.c). */
#include "lib/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib.h"
#include "lib/report.h"
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

static void check_place(const char *text, const char *file, unsigned line, const char *message)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct origin where;
	struct str rest;

	REQUIRE(where_split(&a, str_of(text), &where, &rest, &e) == 0);
	CHECK_STR(where.file, file);
	CHECK_INT(where.line, line);
	CHECK(str_is(rest, message));
}

TEST(places_are_found_in_texts)
{
	check_place("/a/b.toml:3:14: wrong", "/a/b.toml", 3, "wrong");
	check_place("a project: /a b:c.toml:3:14: x: y", "/a b:c.toml", 3, "x: y");
	check_place("--config:1:1: no", "--config", 1, "no");
	check_place("no place here", NULL, 0, "no place here");
	check_place("x:1: only a line", NULL, 0, "x:1: only a line");
	check_place("12:30:45", NULL, 0, "12:30:45");
	check_place("", NULL, 0, "");
	check_place(":", NULL, 0, ":");
}
