/* SPDX-License-Identifier: MIT */
/* Tests of src/os/linux on a tree of real files. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "scratch.h"
#include "test.h"

static void make_link(const char *target, const char *name)
{
	if (symlink(target, name) < 0)
		perror(name);
}

static int read_code(const char *name, size_t max_bytes)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str text = STR_EMPTY;
	struct os_seen seen = { .is_there = false };
	int r = os_read_file(&a, str_of(name), max_bytes, &text, &seen, &e);

	return r < 0 ? -r : seen.is_there ? 0 : 100;
}

TEST(a_file_is_read_whole_and_bounded)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str text = STR_EMPTY;
	struct os_seen seen = { .is_there = false };

	scratch_put("five", "12345");
	REQUIRE(os_read_file(&a, STR("five"), 5, &text, &seen, &e) == 0);
	CHECK(seen.is_there && str_is(text, "12345") && text.p[5] == '\0');
	CHECK_INT(read_code("five", 4), ERR_LIMIT);
	CHECK_INT(read_code("nothing", 10), 100);
	CHECK_INT(read_code("five/below", 10), ERR_POLICY);
}

TEST(what_is_no_file_is_refused_without_waiting)
{
	REQUIRE(mkfifo("fifo", 0600) == 0 && mkdir("dir", 0700) == 0);
	REQUIRE(symlink("loop", "loop") == 0);
	CHECK_INT(read_code("fifo", 10), ERR_POLICY);
	CHECK_INT(read_code("dir", 10), ERR_POLICY);
	CHECK_INT(read_code("/dev/zero", 10), ERR_POLICY);
	CHECK_INT(read_code("/dev/null", 10), 0);
	CHECK_INT(read_code("loop", 10), ERR_SYS);
}

TEST(only_where_nothing_lies_a_file_is_missing)
{
	REQUIRE(mkdir("m", 0700) == 0 && mkdir("m/dir", 0700) == 0);
	scratch_put("m/file", "x");
	make_link("gone", "m/dangling");
	make_link("dangling", "m/twice");
	make_link("dir", "m/way");
	make_link("file/x", "m/through_file");
	CHECK_INT(read_code("m/none", 10), 100);
	CHECK_INT(read_code("m/none/none", 10), 100);
	CHECK_INT(read_code("m/dir/none", 10), 100);
	CHECK_INT(read_code("m/way/none/none", 10), 100);
	CHECK_INT(read_code("m/dangling", 10), ERR_POLICY);
	CHECK_INT(read_code("m/dangling/none", 10), ERR_POLICY);
	CHECK_INT(read_code("m/twice", 10), ERR_POLICY);
	CHECK_INT(read_code("m/through_file", 10), ERR_POLICY);
	CHECK_INT(read_code("m/file/none", 10), ERR_POLICY);
	CHECK_INT(read_code("m/file/none/none", 10), ERR_POLICY);
	CHECK_INT(read_code("m/file", 10), 0);
}

TEST(a_path_with_a_nul_or_too_long_is_refused)
{
	struct err e = ERR_INIT;
	struct os_file file;
	char longest[PATH_MAX_BYTES + 1];

	CHECK_INT(os_look((struct str){ "a\0b", 3 }, &file, &e), -ERR_SYNTAX);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_INT(os_look(str_of(longest), &file, &e), -ERR_LIMIT);
	CHECK(strlen(e.text) < 700);
}

static int beneath_code(const char *below)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str text = STR_EMPTY;
	struct os_seen seen = { .is_there = false };
	int r = os_read_file_beneath(&a, str_of(scratch_top), str_of(below), 100, &text, &seen, &e);

	return r < 0 ? -r : seen.is_there ? 0 : 100;
}

static void make_beneath(void)
{
	if (mkdir("b", 0700) < 0 || mkdir("b/in", 0700) < 0)
		return;
	scratch_put("b/in/file", "x");
	make_link("in", "b/inside");
	make_link("/etc", "b/outside");
	make_link("../../etc", "b/up");
	make_link("/etc/passwd", "b/in/passwd");
	make_link("round", "b/round");
}

TEST(links_are_followed_only_inside)
{
	make_beneath();
	CHECK_INT(beneath_code("b/in/file"), 0);
	CHECK_INT(beneath_code("b/inside/file"), 0);
	CHECK_INT(beneath_code("b/nothing/file"), 100);
	CHECK_INT(beneath_code("b/in/nothing"), 100);
	CHECK_INT(beneath_code("b/inside/nothing"), 100);
	make_link("gone", "b/dangling");
	CHECK_INT(beneath_code("b/dangling"), ERR_POLICY);
	CHECK_INT(beneath_code("b/dangling/file"), ERR_POLICY);
	CHECK_INT(beneath_code("b/in/file/file"), ERR_POLICY);
	CHECK_INT(beneath_code("b/outside/passwd"), ERR_POLICY);
	CHECK_INT(beneath_code("b/in/passwd"), ERR_POLICY);
	CHECK_INT(beneath_code("b/round"), ERR_POLICY);
}

/* The kernel as it was before openat2(). */
static bool forbid_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT_OF(code), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(without_openat2_every_link_is_refused_and_none_is_missed)
{
	int status = 0;
	pid_t pid;

	make_beneath();
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		if (!forbid_openat2())
			_exit(77);
		_exit(beneath_code("b/in/file") != 0 ||
		      beneath_code("b/inside/file") != ERR_POLICY ||
		      beneath_code("b/nothing/file") != 100 ||
		      beneath_code("b/in/nothing") != 100 ||
		      beneath_code("b/outside/passwd") != ERR_POLICY ||
		      beneath_code("b/in/passwd") != ERR_POLICY ||
		      beneath_code("b/round") != ERR_POLICY || beneath_code("b/in") != ERR_POLICY);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("seccomp filters are not to be had here");
	CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(types_are_told_apart)
{
	struct err e = ERR_INIT;
	struct os_file file;

	scratch_put("plain", "");
	make_link("plain", "link");
	CHECK(os_look(STR("plain"), &file, &e) == 0 && file.type == OS_FILE && file.inode);
	CHECK(os_look(STR("link"), &file, &e) == 0 && file.type == OS_LINK);
	CHECK(os_look(STR("/"), &file, &e) == 0 && file.type == OS_DIR);
	CHECK(os_look(STR("/dev/null"), &file, &e) == 0 && file.type == OS_OTHER);
	CHECK(os_look(STR("plain/x"), &file, &e) == 0 && file.type == OS_MISSING && !file.inode);
}

static bool look_placeholder(const char *path, enum os_type type)
{
	struct err e = ERR_INIT;
	struct os_file file = { .type = OS_MISSING };

	CHECK_INT(os_look(str_of(path), &file, &e), 0);
	CHECK_INT(file.type, type);
	return file.is_placeholder;
}

static void set_time(const char *path, long seconds, long nanoseconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = seconds, .tv_nsec = nanoseconds } };

	CHECK(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0);
}

TEST(a_placeholder_is_known_by_its_time)
{
	REQUIRE(mkdir("times", 0700) == 0 && mkdir("times/d", 0755) == 0);
	scratch_put("times/f", ".");
	make_link("d", "times/link");
	CHECK(!look_placeholder("times/d", OS_DIR) && !look_placeholder("times/f", OS_FILE));
	set_time("times/d", MARK_SECONDS, MARK_NANOSECONDS);
	set_time("times/f", MARK_SECONDS, MARK_NANOSECONDS);
	set_time("times/link", MARK_SECONDS, MARK_NANOSECONDS);
	CHECK(look_placeholder("times/d", OS_DIR) && look_placeholder("times/f", OS_FILE));
	CHECK(!look_placeholder("times/link", OS_LINK));
	set_time("times/d", MARK_SECONDS, 0); /* where only seconds are kept */
	CHECK(look_placeholder("times/d", OS_DIR));
	set_time("times/d", MARK_SECONDS, 1);
	CHECK(!look_placeholder("times/d", OS_DIR));
	set_time("times/d", MARK_SECONDS + 1, MARK_NANOSECONDS);
	CHECK(!look_placeholder("times/d", OS_DIR));
	scratch_put("times/f", "...");
	set_time("times/f", MARK_SECONDS, MARK_NANOSECONDS);
	CHECK(!look_placeholder("times/f", OS_FILE));
}

TEST(a_placeholder_is_known_from_the_moment_it_is_made)
{
	static const mode_t masks[] = { 0, 022, 077 };
	mode_t before = umask(0);

	REQUIRE(mkdir("births", 02755) == 0); /* hands its group on */
	for (size_t i = 0; i < COUNT_OF(masks); i++) {
		int fd;

		(void)umask(masks[i]);
		REQUIRE(mkdir("births/d", MARK_DIR_MODE) == 0);
		fd = open("births/f", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, MARK_FILE_MODE);
		REQUIRE(fd >= 0 && close(fd) == 0);
		CHECK(look_placeholder("births/d", OS_DIR));
		CHECK(look_placeholder("births/f", OS_FILE));
		REQUIRE(rmdir("births/d") == 0 && unlink("births/f") == 0);
	}
	(void)umask(before);
	REQUIRE(mkdir("births/tmp", 0700) == 0 && chmod("births/tmp", 01777) == 0);
	CHECK(!look_placeholder("births/tmp", OS_DIR));
}

TEST(what_holds_something_is_no_placeholder)
{
	REQUIRE(mkdir("filled", 0700) == 0 && mkdir("filled/d", 0755) == 0);
	scratch_put("filled/d/x", "");
	set_time("filled/d", MARK_SECONDS, MARK_NANOSECONDS);
	CHECK(!look_placeholder("filled/d", OS_DIR));
	REQUIRE(chmod("filled/d", MARK_DIR_MODE) == 0);
	CHECK(!look_placeholder("filled/d", OS_DIR));
	REQUIRE(chmod("filled/d", 0700) == 0 && unlink("filled/d/x") == 0);
	CHECK(!look_placeholder("filled/d", OS_DIR)); /* touched: someone's own from now on */
}

/* What this user could open by chmod, and what it could not. Root sees all: so not as root. */
static int look_at_locks(void)
{
	struct err e = ERR_INIT;
	struct os_file file;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return 77;
	if (mkdir("locks/closed", 0000) < 0 || mkdir("locks/unlisted", 0300) < 0 ||
	    mkdir("locks/open", 0700) < 0)
		return 1;
	if (os_look(STR("locks/closed"), &file, &e) < 0 || file.type != OS_DIR || !file.is_locked)
		return 2;
	if (os_look(STR("locks/closed/x"), &file, &e) < 0 || file.type != OS_HIDDEN)
		return 3;
	if (os_look(STR("locks/unlisted"), &file, &e) < 0 || !file.is_locked)
		return 4;
	if (os_look(STR("locks/unlisted/x"), &file, &e) < 0 || file.type != OS_MISSING)
		return 5;
	if (os_look(STR("locks/open"), &file, &e) < 0 || file.is_locked)
		return 6;
	if (os_look(STR("/"), &file, &e) < 0 || file.is_locked)
		return 7;
	return 0;
}

TEST(what_the_owner_closed_is_told_apart)
{
	int status = 0;
	pid_t pid;

	REQUIRE(mkdir("locks", 0700) == 0);
	REQUIRE(chmod(".", 0711) == 0 && chmod("locks", 0777) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		_exit(look_at_locks());
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	(void)chmod("locks/closed", 0700);
	(void)chmod("locks/unlisted", 0700);
	if (WEXITSTATUS(status) == 77)
		SKIP("this root can't become another user");
	CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(a_link_is_read)
{
	struct err e = ERR_INIT;
	scoped_buf text = BUF_INIT(100);
	scoped_buf small = BUF_INIT(2);

	make_link("some/where", "pointer");
	CHECK_INT(os_read_link(STR("pointer"), &text, &e), 0);
	CHECK(str_is(buf_str(&text), "some/where"));
	CHECK_INT(os_read_link(STR("pointer"), &small, &e), -ERR_LIMIT);
	CHECK_INT(os_read_link(STR("/"), &text, &e), -ERR_SYS);
}

static int count_names(void *arg, struct str name, enum os_type type, struct err *e)
{
	int *count = arg;

	(void)e;
	CHECK(!str_is(name, ".") && !str_is(name, ".."));
	CHECK(str_is(name, "f") ? type == OS_FILE : type == OS_DIR);
	return ++*count == 5 ? 5 : 0;
}

TEST(a_directory_is_listed)
{
	struct err e = ERR_INIT;
	int count = 0;

	REQUIRE(mkdir("list", 0700) == 0 && mkdir("list/d", 0700) == 0);
	scratch_put("list/f", "");
	CHECK_INT(os_list(STR("list"), count_names, &count, &e), 0);
	CHECK_INT(count, 2);
	count = 4;
	CHECK_INT(os_list(STR("list"), count_names, &count, &e), 5);
	CHECK_INT(os_list(STR("nothing"), count_names, &count, &e), -ERR_SYS);
}

TEST(a_file_is_created_whole_or_not_at_all)
{
	struct err e = ERR_INIT;
	struct stat st;

	CHECK_INT(os_create_file(STR("new/er/file"), STR("text"), false, &e), 0);
	CHECK(stat("new/er/file", &st) == 0 && st.st_size == 4 && (st.st_mode & 0777) == 0600);
	CHECK(stat("new", &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK_INT(os_create_file(STR("new/er/file"), STR("other"), false, &e), -ERR_SYS);
	CHECK_INT(e.os_error, EEXIST);
	CHECK_INT(os_create_file(STR("new/er/file"), STR("other"), true, &e), 0);
	CHECK(stat("new/er/file", &st) == 0 && st.st_size == 5);
	CHECK(stat("new/er/file.new0", &st) < 0);
	CHECK_INT(os_create_file(STR("/proc/nothing"), STR(""), false, &e), -ERR_SYS);
}

/* That a signal ends this program is how it would fail. */
TEST(a_file_that_may_not_be_so_large_is_not_created)
{
	static const struct rlimit little = { .rlim_cur = 3, .rlim_max = RLIM_INFINITY };
	struct err e = ERR_INIT;
	struct rlimit before;
	struct stat st;
	int r;

	REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK_INT(os_create_file(STR("large"), STR("first"), false, &e), 0);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
	r = os_create_file(STR("large"), STR("other text"), true, &e);
	(void)setrlimit(RLIMIT_FSIZE, &before);
	CHECK_INT(r, -ERR_SYS);
	CHECK_INT(e.os_error, EFBIG);
	CHECK(stat("large", &st) == 0 && st.st_size == 5);
	CHECK(stat("large.new0", &st) < 0);
}

struct users {
	char text[400];
	int stops_after;
};

static int add_user(void *arg, uint64_t uid, struct str home, struct err *e)
{
	struct users *seen = arg;
	size_t used = strlen(seen->text);

	(void)e;
	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%llu=%.*s ",
		       (unsigned long long)uid, STR_ARG(home));
	return seen->stops_after && --seen->stops_after == 0 ? 3 : 0;
}

TEST(users_are_listed_with_their_homes)
{
	struct err e = ERR_INIT;
	struct users seen = { "", 0 };

	scratch_put("users", "x:x:99999999999:0::/wrong:\nshort:line\nhim::7:0:a:/his:/sh\n"
			     "n:x:-1:0::/minus:\nme::7:0:a:/my/home\nlast:x:4294967295");
	CHECK_INT(os_list_users(STR("users"), add_user, &seen, &e), 0);
	CHECK_STR(seen.text, "7=/his 7=/my/home 4294967295= ");
	seen.text[0] = '\0';
	seen.stops_after = 1;
	CHECK_INT(os_list_users(STR("users"), add_user, &seen, &e), 3);
	CHECK_STR(seen.text, "7=/his ");
	scratch_put("users", "a:b:c:d\n\n:::");
	seen.text[0] = '\0';
	CHECK_INT(os_list_users(STR("users"), add_user, &seen, &e), 0);
	CHECK_INT(os_list_users(STR("nothing"), add_user, &seen, &e), 0);
	CHECK_STR(seen.text, "");
}

TEST(the_environment_is_searched_by_whole_names)
{
	const char *const list[] = { "HOMEX=1", "HOME", "HOME=2", "HOME=3", NULL };

	CHECK_STR(os_environment_find(list, "HOME"), "2");
	CHECK(os_environment_find(list, "HOM") == NULL);
	CHECK(os_environment_find(NULL, "HOME") == NULL);
}

TEST(this_process_is_found)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct str path;

	CHECK(os_working_directory(&a, &path, &e) == 0 && str_is(path, scratch_top));
	CHECK(os_canonical_directory(&a, STR("./b/.."), &path, &e) == 0 &&
	      str_is(path, scratch_top));
	CHECK_INT(os_canonical_directory(&a, STR("plain"), &path, &e), -ERR_SYS);
	CHECK_INT(os_canonical_directory(&a, STR("nothing"), &path, &e), -ERR_SYS);
	CHECK(os_program_path(&a, &path, &e) == 0 && str_has_suffix(path, STR("test_os_files")));
}
