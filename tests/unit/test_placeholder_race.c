/* SPDX-License-Identifier: MIT */
/*
 * Tests of src/linux/placeholder/placeholder.c: a program on the host does something just between
 * two steps of making a placeholder. The steps are system calls; this file has its own of their
 * names, which let the program act.
 */
#include "linux/placeholder/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "placeholder_plan.h"
#include "scratch.h"
#include "test.h"

/* The moments, each just after that step. */
enum moment { CREATED, LOCKED, MARKED, GIVEN_ITS_MODE, MOMENTS };

/* What the program does with the placeholder. */
enum act { REMOVE, REPLACE_BY_FULL, REPLACE_BY_EMPTY, REPLACE_BY_FILE, FILL, FILL_AND_EMPTY, ACTS };

static const char *const moment_names[] = { "created", "locked", "marked", "given its mode" };
static const char *const act_names[] = { "removed",
					 "replaced by a repository",
					 "replaced by an empty directory",
					 "replaced by a file",
					 "used",
					 "used for a moment" };

static struct {
	bool is_armed;
	bool is_kept_out; /* it is not root, and the directory has no mode yet */
	enum moment moment;
	enum act act;
} host;

static void remove_it(void)
{
	/* The lock of a socket comes before the socket. */
	if (unlink("race/it") < 0 && rmdir("race/it") < 0 && errno != ENOENT)
		perror("race/it");
}

/* Into the directory, or instead of the content of the file; a socket can't be used. */
static void fill(void)
{
	struct stat st;

	if (lstat("race/it", &st) == 0 && S_ISDIR(st.st_mode)) {
		host.is_kept_out = access("race/it", W_OK | X_OK) < 0;
		if (!host.is_kept_out)
			scratch_put("race/it/config", "theirs");
	} else if (S_ISREG(st.st_mode))
		scratch_put("race/it", "theirs");
}

static void act(void)
{
	switch (host.act) {
	case REMOVE:
		remove_it();
		break;
	case REPLACE_BY_FULL:
		remove_it();
		(void)!mkdir("race/it", 0755);
		fill();
		break;
	case REPLACE_BY_EMPTY:
		remove_it();
		(void)!mkdir("race/it", 0755);
		break;
	case REPLACE_BY_FILE:
		remove_it();
		scratch_put("race/it", "theirs");
		break;
	case FILL:
		fill();
		break;
	case FILL_AND_EMPTY:
	case ACTS:
	default:
		fill();
		(void)unlink("race/it/config");
	}
}

static void pass(enum moment moment)
{
	int saved = errno;

	if (host.is_armed && host.moment == moment) {
		host.is_armed = false;
		act();
	}
	errno = saved;
}

/* ---- The steps ------------------------------------------------------------------- */

int mkdirat(int dir, const char *name, mode_t mode)
{
	int r = (int)syscall(SYS_mkdirat, dir, name, mode);

	if (r == 0)
		pass(CREATED);
	return r;
}

int mknodat(int dir, const char *name, mode_t mode, dev_t device)
{
	int r = (int)syscall(SYS_mknodat, dir, name, mode, (unsigned)device);

	if (r == 0)
		pass(CREATED);
	return r;
}

int flock(int fd, int operation)
{
	int r = (int)syscall(SYS_flock, fd, operation);

	pass(LOCKED);
	return r;
}

int futimens(int fd, const struct timespec times[2])
{
	int r = (int)syscall(SYS_utimensat, fd, NULL, times, 0);

	pass(MARKED);
	return r;
}

int fchmod(int fd, mode_t mode)
{
	int r = (int)syscall(SYS_fchmod, fd, mode);

	pass(GIVEN_ITS_MODE);
	return r;
}

/* ---- Tests ------------------------------------------------------------------------ */

static const struct rule nested = { .is_nested = true };

static void want(struct placeholder_plan *w, enum placeholder_kind kind, bool is_nested)
{
	placeholder_plan_add(w, "race/it", kind == PLACEHOLDER_FILE ? "." : NULL);
	w->items[0].kind = kind;
	w->items[0].rule = is_nested ? &nested : NULL;
}

/* What the program has made is there, and as it made it. */
static bool is_theirs_left(void)
{
	char text[10] = "";
	const char *file = host.act == REPLACE_BY_FILE ? "race/it" : "race/it/config";
	struct stat st;
	int fd;

	if (host.is_kept_out || host.act == REMOVE || host.act == REPLACE_BY_EMPTY ||
	    host.act == FILL_AND_EMPTY)
		return true;
	if (host.act == FILL && lstat("race/it", &st) == 0 && S_ISREG(st.st_mode))
		file = "race/it";
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return false;
	close(fd);
	return strcmp(text, "theirs") == 0;
}

static void clean(void)
{
	(void)unlink("race/it/config");
	(void)(unlink("race/it") < 0 && rmdir("race/it") < 0);
	CHECK(rmdir("race") == 0);
}

/* Held where it can be, else refused for what is there now; never for a reason that is not so. */
static void try(enum placeholder_kind kind, bool is_nested)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct placeholders held = { .count = 0 };
	struct err e = ERR_INIT;
	bool is_done;
	int r;

	REQUIRE(mkdir("race", 0755) == 0);
	want(&w, kind, is_nested);
	host.is_armed = true;
	host.is_kept_out = false;
	r = placeholder_plan_take(&a, &w, &held, &e);
	is_done = !host.is_armed;
	host.is_armed = false;
	if (r == 0 && is_nested)
		CHECK(held.items[0].is_there || host.act != REMOVE);
	if (r == 0)
		placeholders_release(&held);
	if (!CHECK(r == 0 || (!is_nested && host.act != REMOVE && e.code == ERR_POLICY)) ||
	    !CHECK(!is_done || kind == PLACEHOLDER_SOCKET || is_theirs_left()))
		printf("# a %s, %s when it was %s: %s\n",
		       kind == PLACEHOLDER_DIR	  ? "directory"
		       : kind == PLACEHOLDER_FILE ? "file"
						  : "socket",
		       act_names[host.act], moment_names[host.moment], e.text);
	clean();
}

static void try_all(enum placeholder_kind kind)
{
	for (int moment = 0; moment < MOMENTS; moment++)
		for (int act_number = 0; act_number < ACTS; act_number++) {
			host.moment = (enum moment)moment;
			host.act = (enum act)act_number;
			try(kind, false);
			try(kind, true);
		}
}

TEST(a_directory_is_made_whatever_the_host_does_meanwhile)
{
	try_all(PLACEHOLDER_DIR);
}

TEST(a_file_is_made_whatever_the_host_does_meanwhile)
{
	try_all(PLACEHOLDER_FILE);
}

TEST(a_socket_is_made_whatever_the_host_does_meanwhile)
{
	try_all(PLACEHOLDER_SOCKET);
}
