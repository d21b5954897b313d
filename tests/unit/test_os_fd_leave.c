/* SPDX-License-Identifier: MIT */
/* Tests of os/fd_leave.h with the kernel as it is. */
#include "os/fd_leave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "test.h"

/* The kernel closes what every program on the machine has left, one after the other. */
enum { PATIENCE_MS = 100000, PLACES = 8, TRIES = 15, DIRS = 64 };

/* The names of places are those of a network namespace, and runs of other tests take them too. */
__attribute__((constructor)) static void have_names_of_ones_own(void)
{
	if (unshare(geteuid() == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0)
		printf("# the names of places are shared with other programs\n");
}

static bool has_ended(int reading, int patience_ms)
{
	struct pollfd wait = { .fd = reading, .events = POLLIN };

	return poll(&wait, 1, patience_ms) == 1 && (wait.revents & POLLHUP);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

TEST(what_is_left_is_closed_by_nobody_of_ours)
{
	int ends[2], number, next;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	number = ends[1];
	next = dup(ends[1]);
	close(next);
	(void)fd_leave(&ends[1]);
	CHECK_INT(ends[1], -1);
	CHECK(!is_open(number) && !is_open(next));
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	CHECK(has_ended(ends[0], PATIENCE_MS));
	close(ends[0]);
}

/* It counts for its user until it is closed. */
TEST(as_many_as_you_like_can_be_left_one_after_the_other)
{
	for (int i = 0; i < 300; i++) {
		int fd = inotify_init1(IN_CLOEXEC);

		REQUIRE(fd >= 0 && inotify_add_watch(fd, "/", IN_CREATE) > 0);
		(void)fd_leave(&fd);
	}
}

static bool take_place(int number, int *fd)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "cordon-closes-%u-%d",
			 (unsigned)geteuid(), number);

	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < PATIENCE_MS; i++) {
		if (bind(*fd, (const struct sockaddr *)&name,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

TEST(without_a_place_it_is_closed_at_once)
{
	int taken[PLACES], ends[2];

	for (int i = 0; i < PLACES; i++)
		REQUIRE(take_place(i, &taken[i]));
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	CHECK(!fd_leave(&ends[1]));
	CHECK(has_ended(ends[0], 0));
	for (int i = 0; i < PLACES; i++)
		close(taken[i]);
	close(ends[0]);
}

TEST(without_descriptors_it_is_closed_at_once)
{
	struct rlimit before, none;
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = before;
	none.rlim_cur = (rlim_t)ends[1] + 1;
	REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(!fd_leave(&ends[1]));
	CHECK_INT(ends[1], -1);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(has_ended(ends[0], 0));
	close(ends[0]);
}

/* ---- That it does not wait ------------------------------------------------------------ */

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int watch_dirs(const char *top)
{
	int fd = inotify_init1(IN_CLOEXEC);
	char path[200];

	for (int i = 0; i < DIRS; i++) {
		(void)snprintf(path, sizeof(path), "%s/%d", top, i);
		if (inotify_add_watch(fd, path, IN_CREATE) < 0)
			return -1;
	}
	return fd;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median, in microseconds, of those that were really left, or of those that were closed. */
static double time_end(const char *top, bool is_left)
{
	double took[TRIES];
	int refused = 0;

	for (int i = 0; i < TRIES;) {
		int fd = watch_dirs(top);
		double begin = now_us();

		if (fd < 0)
			return -1;
		if (!is_left)
			fd_close(&fd);
		else if (!fd_leave(&fd)) {
			/* Others have all places, for as long as theirs take. */
			if (++refused > PATIENCE_MS)
				return -1;
			(void)usleep(1000);
			continue;
		}
		took[i++] = now_us() - begin;
	}
	qsort(took, TRIES, sizeof(took[0]), compare);
	return took[TRIES / 2];
}

/* Whether the kernel collects sockets in a worker of its own. */
static bool is_new_enough(void)
{
	struct utsname name;
	char *end;
	long major;

	if (uname(&name) < 0)
		return false;
	major = strtol(name.release, &end, 10);
	return major > 6 || (major == 6 && strtol(end + 1, NULL, 10) >= 9);
}

TEST(nobody_waits_for_the_end_of_an_inotify_instance)
{
	char top[] = "/tmp/cordon-test-XXXXXX", path[sizeof(top) + 20];
	double left, closed;

	REQUIRE(mkdtemp(top));
	for (int i = 0; i < DIRS; i++) {
		(void)snprintf(path, sizeof(path), "%s/%d", top, i);
		REQUIRE(mkdir(path, 0700) == 0);
	}
	closed = time_end(top, false);
	left = time_end(top, true);
	for (int i = 0; i < DIRS; i++) {
		(void)snprintf(path, sizeof(path), "%s/%d", top, i);
		CHECK(rmdir(path) == 0);
	}
	CHECK(rmdir(top) == 0);
	printf("# %.0f us to close it, %.0f to leave it\n", closed, left);
	if (!is_new_enough() || closed < 2000)
		SKIP("this kernel is older than 6.9, or does not wait");
	CHECK(left > 0 && left < closed / 4);
}
