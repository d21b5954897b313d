/* SPDX-License-Identifier: MIT */
/* Tests of src/linux/placeholder/placeholder.c, with real processes that come and go. */
#include "linux/placeholder/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "os/os.h"
#include "placeholder_plan.h"
#include "scratch.h"
#include "test.h"

static int hold(struct arena *a, const struct placeholder_plan *w, struct placeholders *out)
{
	struct err e = ERR_INIT;
	int r = placeholder_plan_take(a, w, out, &e);

	if (r < 0)
		printf("# %s\n", e.text);
	return r;
}

/* Held and released again by this process: what the next run does. */
static int hold_and_release(const struct placeholder_plan *w)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	int r = hold(&a, w, &held);

	if (r == 0)
		placeholders_release(&held);
	return r;
}

/* ---- What is there --------------------------------------------------------- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool is_marked(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && mark_of(&st) == MARK_SET;
}

static bool is_held_there(const struct held *h)
{
	struct stat st;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): hold() has made it. */
	return lstat(h->path, &st) == 0 && st.st_dev == h->device && st.st_ino == h->inode &&
	       mark_of(&st) == MARK_SET;
}

static int count_open(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (directory && readdir(directory))
		count++;
	if (directory)
		(void)closedir(directory);
	return count;
}

/* As an ordinary user, also where the tests are root's: 0, or what failed; 77 when it can't be. */
static int as_ordinary_user(int (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(77);
		_exit(body());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 78;
	return WEXITSTATUS(status);
}

/* ---- One run ------------------------------------------------------------------ */

TEST(what_is_held_stands_marked_and_goes_with_the_release)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct stat st, around;
	int before = count_open();

	REQUIRE(mkdir("one", 0750) == 0 && chmod("one", 0750) == 0);
	placeholder_plan_add(&w, "one/.git", NULL);
	placeholder_plan_add(&w, "one/commondir", ".");
	placeholder_plan_add(&w, "one/config.worktree", "");
	REQUIRE(hold(&a, &w, &held) == 0);
	CHECK_INT(held.count, 3);
	for (size_t i = 0; i < held.count; i++)
		CHECK(held.items[i].fd >= 0 && is_held_there(&held.items[i]) &&
		      held.items[i].wanted == &w.items[i] &&
		      !strcmp(held.items[i].path, w.paths[i]));
	CHECK(lstat("one/.git", &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 07777) == 0750);
	CHECK(lstat("one/commondir", &st) == 0 && st.st_size == 1 && (st.st_mode & 07777) == 0640);
	CHECK(lstat("one/config.worktree", &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0);
	CHECK(lstat("one", &around) == 0 && around.st_uid == st.st_uid);
	placeholders_release(&held);
	CHECK(rmdir("one") == 0);
	CHECK_INT(count_open(), before);
	placeholders_release(&held); /* a second time does nothing */
	CHECK_INT(count_open(), before);
}

static bool is_socket(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && mark_of(&st) == MARK_SET;
}

/* What the lock of sockets is on: .cordon's placeholder, a .cordon that is there, or neither. */
static void hold_sockets(const char *dir, const char *own)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 }, again = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	int before = count_open();
	char path[100];

	if (own) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, own);
		placeholder_plan_add(&w, path, NULL);
	}
	(void)snprintf(path, sizeof(path), "%s/.mcp.json", dir);
	placeholder_plan_add_socket(&w, path);
	(void)snprintf(path, sizeof(path), "%s/.hg", dir);
	placeholder_plan_add_socket(&w, path);
	REQUIRE(hold(&a, &w, &held) == 0);
	for (size_t i = 0; i < held.count; i++)
		CHECK(held.items[i].is_there && is_held_there(&held.items[i]));
	CHECK(is_socket(path));
	/* What two hold goes with the last. */
	REQUIRE(hold(&a, &w, &again) == 0);
	placeholders_release(&held);
	CHECK(is_socket(path));
	placeholders_reclaim(&held);
	CHECK(is_socket(path));
	placeholders_release(&again);
	CHECK(!is_there(path));
	CHECK_INT(count_open(), before);
}

TEST(sockets_are_held_by_the_lock_beside_or_around_them)
{
	REQUIRE(mkdir("socket", 0700) == 0);
	hold_sockets("socket", ".cordon");
	CHECK(rmdir("socket") == 0 && mkdir("socket", 0700) == 0);
	hold_sockets("socket", NULL);
	CHECK(rmdir("socket") == 0 && mkdir("socket", 0700) == 0);
	REQUIRE(mkdir("socket/.cordon", 0700) == 0);
	hold_sockets("socket", NULL);
	CHECK(rmdir("socket/.cordon") == 0 && symlink("nowhere", "socket/.cordon") == 0);
	hold_sockets("socket", NULL);
	CHECK(unlink("socket/.cordon") == 0 && rmdir("socket") == 0);
}

TEST(what_takes_the_place_of_a_socket_is_never_removed)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	int fd;

	REQUIRE(mkdir("taken", 0700) == 0);
	placeholder_plan_add(&w, "taken/.cordon", NULL);
	placeholder_plan_add_socket(&w, "taken/.mcp.json");
	placeholder_plan_add_socket(&w, "taken/.hg");
	REQUIRE(hold(&a, &w, &held) == 0);
	fd = open("taken/new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && close(fd) == 0 && rename("taken/new", "taken/.mcp.json") == 0);
	REQUIRE(unlink("taken/.hg") == 0 && mkdir("taken/.hg", 0700) == 0);
	placeholders_release(&held);
	CHECK(unlink("taken/.mcp.json") == 0 && rmdir("taken/.hg") == 0 && rmdir("taken") == 0);
}

TEST(sockets_go_with_a_directory_that_was_renamed)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("before", 0700) == 0);
	placeholder_plan_add(&w, "before/.cordon", NULL);
	placeholder_plan_add_socket(&w, "before/.mcp.json");
	REQUIRE(hold(&a, &w, &held) == 0);
	REQUIRE(rename("before", "after") == 0 && mkdir("before", 0700) == 0);
	placeholders_release(&held);
	CHECK(rmdir("after") == 0 && rmdir("before") == 0);
}

TEST(a_socket_that_a_killed_run_left_is_taken_over_and_removed)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("left", 0700) == 0);
	REQUIRE(mknod("left/.mcp.json", S_IFSOCK | MARK_SOCKET_MODE, 0) == 0);
	REQUIRE(mknod("left/.cordon-removed", S_IFSOCK | MARK_SOCKET_MODE, 0) == 0);
	placeholder_plan_add_socket(&w, "left/.mcp.json");
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(rmdir("left") == 0);
	/* Of one whose plan wants a directory there. */
	REQUIRE(mkdir("left", 0700) == 0);
	REQUIRE(mknod("left/.hg", S_IFSOCK | MARK_SOCKET_MODE, 0) == 0);
	w = (struct placeholder_plan){ .plan.rules.count = 0 };
	placeholder_plan_add(&w, "left/.hg", NULL);
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(rmdir("left") == 0);
	/* Someone's own. */
	REQUIRE(mkdir("left", 0700) == 0);
	REQUIRE(mknod("left/.hg", S_IFSOCK | 0600, 0) == 0);
	w = (struct placeholder_plan){ .plan.rules.count = 0 };
	placeholder_plan_add_socket(&w, "left/.hg");
	CHECK_INT(hold_and_release(&w), -(int)ERR_POLICY);
	CHECK(unlink("left/.hg") == 0 && rmdir("left") == 0);
}

/* A command may put something where placeholders go when they are removed. */
TEST(nothing_keeps_sockets_from_being_removed)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct stat st;

	REQUIRE(mkdir("kept", 0700) == 0 && mkdir("kept/.cordon-removed", 0700) == 0);
	placeholder_plan_add_socket(&w, "kept/.mcp.json");
	placeholder_plan_add_socket(&w, "kept/.hg");
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(lstat("kept/.mcp.json", &st) < 0 && lstat("kept/.hg", &st) < 0);
	CHECK(rmdir("kept/.cordon-removed") == 0 && rmdir("kept") == 0);
}

TEST(the_first_missing_component_of_a_deep_path_is_enough)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("deep", 0700) == 0 && mkdir("deep/a b", 0700) == 0);
	placeholder_plan_add(&w, "deep/a b/missing\xff", NULL);
	REQUIRE(hold(&a, &w, &held) == 0);
	CHECK(is_there("deep/a b/missing\xff"));
	placeholders_release(&held);
	CHECK(rmdir("deep/a b") == 0);
}

TEST(a_plan_without_placeholders_is_held_at_no_cost)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	int before = count_open();

	CHECK_INT(hold(&a, &w, &held), 0);
	CHECK_INT(held.count, 0);
	placeholders_release(&held);
	CHECK_INT(count_open(), before);
}

TEST(it_goes_also_when_what_is_above_was_renamed)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("here", 0700) == 0);
	placeholder_plan_add(&w, "here/.git", NULL);
	REQUIRE(hold(&a, &w, &held) == 0 && rename("here", "there") == 0);
	placeholders_release(&held);
	CHECK(rmdir("there") == 0);
}

/* ---- What is someone's own ------------------------------------------------------ */

static int refused_code(const char *name, const char *content)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct err e = ERR_INIT;
	int r;

	placeholder_plan_add(&w, "own/first", NULL);
	placeholder_plan_add(&w, name, content);
	r = placeholder_plan_take(&a, &w, &held, &e);
	if (r == 0)
		placeholders_release(&held);
	else
		CHECK(strstr(e.text, name) != NULL);
	CHECK(!is_there("own/first")); /* what was made before the failure is gone */
	return -r;
}

TEST(what_appeared_since_the_plan_is_refused_and_left_alone)
{
	int before = count_open();

	REQUIRE(mkdir("own", 0700) == 0);
	REQUIRE(mkdir("own/empty", 0700) == 0 && mkdir("own/full", 0700) == 0);
	REQUIRE(mkfifo("own/fifo", 0600) == 0 && symlink("empty", "own/link") == 0);
	scratch_put("own/full/x", "");
	scratch_put("own/file", "");
	CHECK_INT(refused_code("own/empty", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/full", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/fifo", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/link", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/file", ""), ERR_POLICY);
	CHECK_INT(refused_code("own/link/below", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/file/below", NULL), ERR_POLICY);
	CHECK_INT(refused_code("own/gone/below", NULL), ERR_SYS);
	CHECK_INT(refused_code("own/control", NULL), 0);
	CHECK(is_there("own/empty") && is_there("own/full/x") && is_there("own/file") &&
	      is_there("own/fifo") && is_there("own/link"));
	CHECK_INT(count_open(), before);
}

TEST(a_mark_on_what_holds_something_counts_for_nothing)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = MARK_SECONDS, .tv_nsec = MARK_NANOSECONDS } };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct err e = ERR_INIT;
	struct os_file file;

	REQUIRE(mkdir("forged", 0700) == 0 && mkdir("forged/dir", 0700) == 0);
	scratch_put("forged/dir/x", "");
	scratch_put("forged/file", "123");
	scratch_put("forged/two", "1");
	REQUIRE(link("forged/two", "forged/names") == 0);
	REQUIRE(utimensat(AT_FDCWD, "forged/dir", times, 0) == 0 &&
		utimensat(AT_FDCWD, "forged/file", times, 0) == 0 &&
		utimensat(AT_FDCWD, "forged/two", times, 0) == 0);
	CHECK(os_look(STR("forged/dir"), &file, &e) == 0 && !file.is_placeholder);
	CHECK(os_look(STR("forged/file"), &file, &e) == 0 && !file.is_placeholder);
	CHECK(os_look(STR("forged/two"), &file, &e) == 0 && !file.is_placeholder);
	placeholder_plan_add(&w, "forged/dir", NULL);
	CHECK_INT(hold_and_release(&w), -ERR_POLICY);
	w.plan.placeholders.count = 0;
	placeholder_plan_add(&w, "forged/file", ".");
	CHECK_INT(hold_and_release(&w), -ERR_POLICY);
	CHECK(is_there("forged/dir/x") && is_there("forged/file"));
}

TEST(what_was_used_or_replaced_meanwhile_stays)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("used", 0700) == 0);
	placeholder_plan_add(&w, "used/filled", NULL);
	placeholder_plan_add(&w, "used/emptied", NULL);
	placeholder_plan_add(&w, "used/replaced", NULL);
	placeholder_plan_add(&w, "used/written", "");
	placeholder_plan_add(&w, "used/moved", NULL);
	placeholder_plan_add(&w, "used/control", NULL);
	REQUIRE(hold(&a, &w, &held) == 0);
	scratch_put("used/filled/x", "");
	scratch_put("used/emptied/x", "");
	scratch_put("used/written", "x");
	REQUIRE(unlink("used/emptied/x") == 0);
	REQUIRE(rmdir("used/replaced") == 0 && mkdir("used/replaced", 0700) == 0);
	REQUIRE(rename("used/moved", "used/mine") == 0);
	placeholders_release(&held);
	CHECK(is_there("used/filled/x") && is_there("used/emptied") && is_there("used/replaced") &&
	      is_there("used/written") && is_there("used/mine"));
	CHECK(!is_there("used/control"));
}

TEST(an_empty_directory_of_the_users_own_is_no_placeholder)
{
	struct err e = ERR_INIT;
	struct os_file file;

	REQUIRE(mkdir("plain", 0700) == 0 && mkdir("plain/.git", 0755) == 0);
	CHECK(os_look(STR("plain/.git"), &file, &e) == 0 && file.type == OS_DIR &&
	      !file.is_placeholder);
}

/* ---- Where nothing can be made ---------------------------------------------------- */

static int hold_in_closed_directory(void)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	placeholder_plan_add(&w, "closed/.git", NULL);
	placeholder_plan_add(&w, "closed/commondir", ".");
	placeholder_plan_add(&w, "closed/open/.git", NULL);
	if (hold(&a, &w, &held) < 0)
		return 1;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): hold() has made them. */
	if (held.items[0].fd != -1 || held.items[0].inode || held.items[1].fd != -1)
		return 2;
	if (held.items[2].fd < 0 || !is_held_there(&held.items[2]))
		return 3;
	placeholders_release(&held);
	return is_there("closed/open/.git") ? 4 : 0;
}

TEST(where_this_user_can_make_nothing_nothing_is_made)
{
	int r;

	REQUIRE(mkdir("closed", 0700) == 0 && mkdir("closed/open", 0700) == 0);
	REQUIRE(chmod(".", 0711) == 0 && chmod("closed/open", 0777) == 0 &&
		chmod("closed", 0555) == 0);
	r = as_ordinary_user(hold_in_closed_directory);
	REQUIRE(chmod("closed", 0700) == 0);
	if (r == 77)
		SKIP("this root can't become another user");
	/* A directory of the user's own could be opened again by the command: that is refused. */
	CHECK((r == 0) == (geteuid() == 0));
	CHECK(!is_there("closed/.git"));
}

/* What a nested repository goes without, and what not. */
static int hold_in_nested(void)
{
	static const struct rule nested = { .is_nested = true };
	static const struct {
		const char *path;
		int result;
	} tries[] = { { "nested/sealed/commondir", -ERR_POLICY },
		      { "nested/there", 0 },
		      { "nested/link/commondir", 0 },
		      { "nested/gone/commondir", 0 },
		      { "nested/held", -ERR_POLICY } };
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholder_plan other = { .plan.rules.count = 0 };
	struct placeholders held = { .count = 0 };
	int wrong = 0;

	if (mkdir("nested", 0700) < 0 || mkdir("nested/sealed", 0500) < 0 ||
	    mkdir("nested/there", 0700) < 0 || symlink("sealed", "nested/link") < 0)
		return 1;
	placeholder_plan_add(&other, "nested/held", NULL);
	if (hold(&a, &other, &held) < 0)
		return 2;
	for (size_t i = 0; i < COUNT_OF(tries); i++) {
		struct placeholder_plan w = { .plan.rules.count = 0 };

		placeholder_plan_add(&w, tries[i].path, ".");
		w.items[0].rule = &nested;
		if (hold_and_release(&w) != tries[i].result)
			wrong = 10 + (int)i;
	}
	placeholders_release(&held);
	return wrong;
}

TEST(a_nested_repository_goes_without_only_where_it_is_not_what_it_was)
{
	int r;

	REQUIRE(chmod(".", 0777) == 0);
	r = as_ordinary_user(hold_in_nested);
	if (r == 77)
		SKIP("this root can't become another user");
	CHECK_INT(r, 0);
}

static int share_with_root(void)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct err e = ERR_INIT;
	struct os_file file;

	placeholder_plan_add(&w, "theirs/.git", NULL);
	if (os_look(w.items[0].path, &file, &e) < 0 || !file.is_placeholder)
		return 1;
	return hold(&a, &w, &held) < 0 || !is_held_there(&held.items[0]) ? 2 : 0;
}

TEST(what_root_made_in_a_users_directory_is_that_users)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct stat st;
	int r;

	if (geteuid() != 0)
		SKIP("not root");
	REQUIRE(chmod(".", 0711) == 0 && mkdir("theirs", 0700) == 0);
	REQUIRE(chown("theirs", 65534, 65534) == 0);
	placeholder_plan_add(&w, "theirs/.git", NULL);
	REQUIRE(hold(&a, &w, &held) == 0);
	CHECK(lstat("theirs/.git", &st) == 0 && st.st_uid == 65534 && (st.st_mode & 07777) == 0700);
	r = as_ordinary_user(share_with_root);
	placeholders_release(&held);
	CHECK(!is_there("theirs/.git"));
	if (r == 77)
		SKIP("this root can't become another user");
	CHECK_INT(r, 0);
}

static int hold_what_root_makes(void)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	placeholder_plan_add(&w, "roots/.git", NULL);
	return hold(&a, &w, &held) < 0 || !is_held_there(&held.items[0]);
}

/* Root's run, which goes on with what it made a little later, until `end` is closed. */
static void finish_late(int end)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	char byte;

	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	placeholder_plan_add(&w, "roots/.git", NULL);
	if (hold(&a, &w, &held) < 0)
		_exit(1);
	(void)!read(end, &byte, 1);
	placeholders_release(&held);
	_exit(0);
}

TEST(what_root_is_still_making_is_waited_for)
{
	int end[2], r, status;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("not root");
	REQUIRE(chmod(".", 0711) == 0 && mkdir("roots", 0755) == 0 && pipe(end) == 0);
	REQUIRE(chmod("roots", 0777) == 0 && mkdir("roots/.git", 0700) == 0 &&
		chmod("roots/.git", MARK_DIR_MODE) == 0);
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		finish_late(end[0]);
	}
	r = as_ordinary_user(hold_what_root_makes);
	(void)close(end[0]);
	(void)close(end[1]);
	REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	if (r == 77)
		SKIP("this root can't become another user");
	CHECK_INT(r, 0);
}

static int hold_nothing_of_roots(void)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };

	placeholder_plan_add(&w, "roots-own/.git", NULL);
	placeholder_plan_add_socket(&w, "roots-own/.mcp.json");
	return hold(&a, &w, &held) < 0 || held.items[0].is_there || held.items[1].is_there;
}

/* They come and go with root's run, and nothing can be made there meanwhile or afterwards. */
TEST(what_root_holds_where_only_root_may_write_is_roots_matter)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	int r;

	if (geteuid() != 0)
		SKIP("not root");
	REQUIRE(chmod(".", 0711) == 0 && mkdir("roots-own", 0755) == 0);
	placeholder_plan_add(&w, "roots-own/.git", NULL);
	placeholder_plan_add_socket(&w, "roots-own/.mcp.json");
	REQUIRE(hold(&a, &w, &held) == 0);
	r = as_ordinary_user(hold_nothing_of_roots);
	placeholders_release(&held);
	CHECK(rmdir("roots-own") == 0);
	if (r == 77)
		SKIP("this root can't become another user");
	CHECK_INT(r, 0);
}

/* ---- Several runs -------------------------------------------------------------------- */

TEST(what_two_hold_goes_with_the_last)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders first, second;
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct err e = ERR_INIT;
	struct os_file file;

	REQUIRE(mkdir("two", 0700) == 0);
	placeholder_plan_add(&w, "two/.git", NULL);
	placeholder_plan_add(&w, "two/commondir", ".");
	REQUIRE(hold(&a, &w, &first) == 0);
	CHECK(os_look(STR("two/.git"), &file, &e) == 0 && file.is_placeholder);
	CHECK(os_look(STR("two/commondir"), &file, &e) == 0 && file.is_placeholder);
	REQUIRE(hold(&a, &w, &second) == 0);
	CHECK(first.items[0].inode == second.items[0].inode);
	placeholders_release(&first);
	CHECK(is_held_there(&second.items[0]) && is_held_there(&second.items[1]));
	placeholders_release(&second);
	CHECK(rmdir("two") == 0);
}

TEST(two_plans_that_want_different_things_do_not_share)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholders held = { .count = 0 };
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct placeholder_plan other = { .plan.rules.count = 0 };

	REQUIRE(mkdir("kinds", 0700) == 0);
	placeholder_plan_add(&w, "kinds/config", "");
	placeholder_plan_add(&other, "kinds/config", NULL);
	REQUIRE(hold(&a, &w, &held) == 0);
	CHECK_INT(hold_and_release(&other), -ERR_POLICY);
	CHECK(is_held_there(&held.items[0]));
	placeholders_release(&held);
	CHECK_INT(hold_and_release(&other), 0);
	CHECK(rmdir("kinds") == 0);
}

/* Ends without releasing, as by SIGKILL. */
static void hold_and_die(const struct placeholder_plan *w)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct arena a = ARENA_INIT(1 << 20);
		struct placeholders held;

		(void)!hold(&a, w, &held);
		(void)raise(SIGKILL);
	}
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
}

TEST(what_a_killed_run_left_is_taken_over_by_the_next)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct placeholder_plan other = { .plan.rules.count = 0 };

	REQUIRE(mkdir("killed", 0700) == 0);
	placeholder_plan_add(&w, "killed/.git", NULL);
	placeholder_plan_add(&w, "killed/config", ".");
	placeholder_plan_add(&other, "killed/.git", "");
	placeholder_plan_add(&other, "killed/config", "");
	hold_and_die(&w);
	CHECK(is_marked("killed/.git") && is_marked("killed/config"));
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(!is_there("killed/.git") && !is_there("killed/config"));
	hold_and_die(&w);
	CHECK_INT(hold_and_release(&other), 0); /* also by one that needs something else there */
	CHECK(rmdir("killed") == 0);
}

TEST(what_a_run_left_that_was_killed_while_it_made_it_is_taken_over_too)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct err e = ERR_INIT;
	struct os_file file;
	int fd;

	REQUIRE(mkdir("born", 0700) == 0 && mkdir("born/.git", MARK_DIR_MODE) == 0);
	fd = open("born/commondir", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, MARK_FILE_MODE);
	REQUIRE(fd >= 0 && close(fd) == 0);
	placeholder_plan_add(&w, "born/.git", NULL);
	placeholder_plan_add(&w, "born/commondir", ".");
	CHECK(os_look(STR("born/.git"), &file, &e) == 0 && file.is_placeholder);
	CHECK(os_look(STR("born/commondir"), &file, &e) == 0 && file.is_placeholder);
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(rmdir("born") == 0);
}

TEST(who_can_not_get_the_lock_gives_up_in_the_end)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	int fd;

	REQUIRE(mkdir("stuck", 0700) == 0 && mkdir("stuck/.git", MARK_DIR_MODE) == 0);
	fd = open("stuck/.git", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0);
	placeholder_plan_add(&w, "stuck/.git", NULL);
	CHECK_INT(hold_and_release(&w), -ERR_SYS);
	CHECK(close(fd) == 0);
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(rmdir("stuck") == 0);
}

/* ---- Many that come and go --------------------------------------------------------------- */

enum { CROWD_MS = 700 };

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)us * 1000 }, NULL);
}

/* Exit code: 0, or what went wrong; the number of rounds goes to `rounds`. */
/* NOLINTNEXTLINE(readability-non-const-parameter): they are counted in it. */
static int come_and_go(const struct placeholder_plan *w, uint64_t seed, uint64_t until,
		       uint32_t *rounds)
{
	while (now_us() < until) {
		struct arena a = ARENA_INIT(1 << 20);
		struct placeholders held;
		uint64_t looks = test_random(&seed) % 4;

		if (hold(&a, w, &held) < 0)
			return 1;
		for (uint64_t i = 0; i <= looks; i++) {
			for (size_t k = 0; k < held.count; k++)
				if (!held.items[k].is_there || !is_held_there(&held.items[k]))
					return 2;
			if (i < looks)
				sleep_us(test_random(&seed) % 300);
		}
		placeholders_release(&held);
		arena_done(&a);
		__atomic_add_fetch(rounds, 1, __ATOMIC_RELAXED);
		if (test_random(&seed) % 2)
			sleep_us(test_random(&seed) % 300);
	}
	return 0;
}

/* What someone else who makes a plan sees: nothing, or a placeholder, and no moment between. */
static int look_on(const struct placeholder_plan *w, uint64_t until)
{
	while (now_us() < until)
		for (size_t i = 0; i < w->plan.placeholders.count; i++) {
			struct err e = ERR_INIT;
			struct os_file file;

			if (os_look(w->items[i].path, &file, &e) < 0)
				return 3;
			if (file.type != OS_MISSING && !file.is_placeholder)
				return 4;
		}
	return 0;
}

static void crowd(const char *dir, const struct placeholder_plan *w, int count)
{
	uint64_t seed = test_seed();
	uint64_t until = now_us() + (uint64_t)CROWD_MS * 1000;
	uint32_t *rounds = mmap(NULL, sizeof(*rounds), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[9];

	REQUIRE(rounds != MAP_FAILED && (size_t)count < COUNT_OF(pids));
	for (int i = 0; i <= count; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(i == count ? look_on(w, until)
					 : come_and_go(w, seed + (uint64_t)i, until, rounds));
	}
	for (int i = 0; i <= count; i++) {
		int status = 0;

		CHECK(pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i]);
		CHECK_INT(status, 0);
	}
	printf("# %d processes held and released %u times\n", count, *rounds);
	CHECK(*rounds > (uint32_t)count);
	CHECK(rmdir(dir) == 0); /* nothing is left */
	(void)munmap(rounds, sizeof(*rounds));
}

TEST(two_that_come_and_go_never_lose_what_they_hold)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("pair", 0700) == 0);
	placeholder_plan_add(&w, "pair/.git", NULL);
	crowd("pair", &w, 2);
}

TEST(eight_that_come_and_go_never_lose_what_they_hold)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("crowd", 0700) == 0);
	placeholder_plan_add(&w, "crowd/.git", NULL);
	placeholder_plan_add(&w, "crowd/commondir", ".");
	placeholder_plan_add(&w, "crowd/.cordon", NULL);
	placeholder_plan_add_socket(&w, "crowd/.mcp.json");
	placeholder_plan_add_socket(&w, "crowd/.hg");
	crowd("crowd", &w, 8);
}

TEST(runs_killed_at_any_moment_leave_what_the_next_removes)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	uint64_t seed = test_seed();
	uint64_t until = now_us() + (uint64_t)CROWD_MS * 1000;
	uint32_t kills = 0;

	REQUIRE(mkdir("shot", 0700) == 0);
	placeholder_plan_add(&w, "shot/.git", NULL);
	placeholder_plan_add(&w, "shot/commondir", ".");
	placeholder_plan_add(&w, "shot/.cordon", NULL);
	placeholder_plan_add_socket(&w, "shot/.mcp.json");
	placeholder_plan_add_socket(&w, "shot/.hg");
	while (now_us() < until) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			uint32_t rounds = 0;

			_exit(come_and_go(&w, seed, UINT64_MAX, &rounds));
		}
		REQUIRE(pid > 0);
		sleep_us(test_random(&seed) % 1000);
		REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
		REQUIRE(WIFSIGNALED(status));
		if (test_random(&seed) % 4 == 0) {
			REQUIRE(hold_and_release(&w) == 0);
			REQUIRE(!is_there("shot/.git") && !is_there("shot/commondir") &&
				!is_there("shot/.mcp.json") && !is_there("shot/.hg"));
		}
		kills++;
	}
	CHECK_INT(hold_and_release(&w), 0);
	CHECK(rmdir("shot") == 0);
	printf("# killed %u\n", kills);
}
