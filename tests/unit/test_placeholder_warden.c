/* SPDX-License-Identifier: MIT */
/* Tests of src/linux/placeholder/warden.c: who is killed when, and what is left then. */
#include "linux/placeholder/warden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "placeholder_plan.h"
#include "scratch.h"
#include "test.h"

enum {
	SOON_MS = 10000, /* P11 says a second; a loaded machine may take longer */
	KILLING_MS = 1000,
};

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

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Whether `dir` is empty, or is so soon, and then removes it. */
static bool is_left_empty(const char *dir)
{
	uint64_t until = now_us() + (uint64_t)SOON_MS * 1000;

	while (rmdir(dir) < 0) {
		if (now_us() > until)
			return false;
		sleep_us(1000);
	}
	return true;
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

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool has_ended(int pidfd, int wait_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, wait_ms) == 1;
}

static void want_three(struct placeholder_plan *w, const char *dir)
{
	char name[100];

	(void)snprintf(name, sizeof(name), "%s/.git", dir);
	placeholder_plan_add(w, name, NULL);
	(void)snprintf(name, sizeof(name), "%s/commondir", dir);
	placeholder_plan_add(w, name, ".");
	(void)snprintf(name, sizeof(name), "%s/.codex", dir);
	placeholder_plan_add(w, name, NULL);
	if (mkdir(dir, 0700) < 0)
		perror(dir);
}

/* ---- A run, as the session makes it ------------------------------------------ */

struct run {
	struct arena a;
	struct placeholders held;
	struct warden warden;
	pid_t sandbox;
	int sandbox_pidfd;
};

#define RUN_INIT                                                              \
	{                                                                     \
		.a = ARENA_INIT(1 << 20), .warden = WARDEN_NONE, .sandbox = 0 \
	}

static bool run_start(struct run *run, const struct placeholder_plan *w)
{
	struct err e = ERR_INIT;

	if (warden_hold(&run->warden, &run->a, placeholders_of(&w->plan), &run->held, &e) == 0)
		return true;
	printf("# %s\n", e.text);
	return false;
}

/*
 * What stands for a sandbox has to be killed by the warden. Before that knows of
 * it, it ends by itself with the process that made it, as a real one does.
 */
static _Noreturn void be_sandbox(int channel)
{
	char told;

	if (read(channel, &told, 1) != 1)
		_exit(0);
	syscall(SYS_close_range, 0U, ~0U, 0U);
	for (;;)
		pause();
}

static bool run_launch(struct run *run)
{
	struct err e = ERR_INIT;
	int ends[2];
	bool is_watched;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	run->sandbox = fork();
	if (run->sandbox == 0) {
		(void)close(ends[1]);
		be_sandbox(ends[0]);
	}
	run->sandbox_pidfd = open_pidfd(run->sandbox);
	is_watched = run->sandbox > 0 && run->sandbox_pidfd >= 0 &&
		     warden_watch(&run->warden, run->sandbox_pidfd, &e) == 0 &&
		     write(ends[1], "", 1) == 1;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return is_watched;
}

static void run_end(struct run *run)
{
	if (run->sandbox > 0) {
		(void)kill(run->sandbox, SIGKILL);
		(void)waitpid(run->sandbox, NULL, 0);
		(void)close(run->sandbox_pidfd);
		run->sandbox = 0;
	}
	warden_finish(&run->warden, &run->held);
	arena_done(&run->a);
}

/* ---- The orderly end ------------------------------------------------------------ */

TEST(a_run_that_ends_leaves_nothing)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	int before = count_open();

	want_three(&w, "orderly");
	REQUIRE(run_start(&run, &w) && run_launch(&run));
	CHECK(is_there("orderly/.git") && is_there("orderly/commondir") &&
	      is_there("orderly/.codex"));
	CHECK(run.warden.pid > 0 && !has_ended(run.warden.pidfd, 0));
	run_end(&run);
	CHECK(rmdir("orderly") == 0); /* at once */
	CHECK_INT(run.warden.pid, 0);
	CHECK_INT(count_open(), before);
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
}

TEST(an_order_that_is_not_whole_ends_the_warden_and_leaves_the_rest_to_its_parent)
{
	for (int i = 0; i < 2; i++) {
		struct placeholder_plan w = { .plan.rules.count = 0 };
		static const char many[4096];
		struct run run = RUN_INIT;

		want_three(&w, "half");
		REQUIRE(run_start(&run, &w) && run_launch(&run));
		CHECK(send(run.warden.channel, many, i == 0 ? 3 : sizeof(many), 0) > 0);
		CHECK(has_ended(run.warden.pidfd, SOON_MS));
		CHECK(is_there("half/.git"));
		run_end(&run);
		CHECK(rmdir("half") == 0);
	}
}

TEST(more_locks_than_one_message_takes_are_shared)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	char name[20];

	REQUIRE(mkdir("many", 0700) == 0);
	for (int i = 0; i < MAX_WANTED; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i);
		placeholder_plan_add(&w, name, NULL);
	}
	REQUIRE(run_start(&run, &w));
	CHECK(is_there("many/0") && is_there("many/99"));
	CHECK(close(run.warden.channel) == 0); /* as if this process were dead */
	for (size_t i = 0; i < run.held.count; i++)
		CHECK(close(run.held.items[i].fd) == 0 && (run.held.items[i].fd = -1));
	CHECK(has_ended(run.warden.pidfd, SOON_MS));
	CHECK(rmdir("many") == 0);
	run.warden.channel = -1;
	run_end(&run);
}

TEST(without_placeholders_there_is_no_warden)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	struct err e = ERR_INIT;
	int before = count_open();

	REQUIRE(run_start(&run, &w));
	CHECK_INT(run.warden.pid, 0);
	CHECK_INT(run.warden.pidfd, -1);
	CHECK_INT(warden_watch(&run.warden, 0, &e), 0);
	run_end(&run);
	CHECK_INT(count_open(), before);
}

TEST(a_failure_leaves_no_warden_and_nothing_else)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	int before = count_open();

	want_three(&w, "failing");
	REQUIRE(mkdir("failing/.codex", 0700) == 0);
	CHECK(!run_start(&run, &w));
	arena_done(&run.a);
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD);
	CHECK(rmdir("failing/.codex") == 0 && rmdir("failing") == 0);
	CHECK_INT(count_open(), before);
}

TEST(wardens_of_one_program_do_not_wait_for_each_other)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run first = RUN_INIT;
	struct run second = RUN_INIT;
	uint64_t start;

	want_three(&w, "beside");
	REQUIRE(run_start(&first, &w) && run_launch(&first));
	REQUIRE(run_start(&second, &w) && run_launch(&second));
	start = now_us();
	run_end(&first);
	CHECK(now_us() - start < (uint64_t)SOON_MS * 1000);
	CHECK(is_there("beside/.git") && is_there("beside/commondir"));
	run_end(&second);
	CHECK(rmdir("beside") == 0);
}

TEST(a_stopped_warden_does_not_stop_the_end)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;

	want_three(&w, "stopped");
	placeholder_plan_add(&w, "stopped/.cordon", NULL);
	placeholder_plan_add_socket(&w, "stopped/.mcp.json");
	placeholder_plan_add_socket(&w, "stopped/.hg");
	REQUIRE(run_start(&run, &w) && kill(run.warden.pid, SIGSTOP) == 0);
	run_end(&run);
	CHECK(rmdir("stopped") == 0);
}

/* ---- What others notice of it ------------------------------------------------------ */

static volatile sig_atomic_t signals_seen;

static void note_signal(int number)
{
	(void)number;
	signals_seen++;
}

/* Field `number` of /proc/PID/stat, counted behind the name. */
static long stat_field(pid_t pid, int number)
{
	char path[40], line[500] = "";
	const char *at;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	at = strrchr(line, ')');
	for (int i = 0; at && i < number; i++)
		at = strchr(at + 1, ' ');
	return at ? strtol(at, NULL, 10) : -1;
}

TEST(signals_do_not_reach_the_warden_nor_does_it_send_any)
{
	static const int sent[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGTSTP };
	struct sigaction noting = { .sa_handler = note_signal };
	struct sigaction before;
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;

	want_three(&w, "signals");
	REQUIRE(sigaction(SIGCHLD, &noting, &before) == 0);
	REQUIRE(run_start(&run, &w));
	for (int i = 0; i < SOON_MS && stat_field(run.warden.pid, 4) != run.warden.pid; i++)
		sleep_us(1000);
	CHECK_INT(stat_field(run.warden.pid, 4), run.warden.pid); /* a session of its own */
	for (size_t i = 0; i < COUNT_OF(sent); i++)
		CHECK(kill(run.warden.pid, sent[i]) == 0);
	CHECK(!has_ended(run.warden.pidfd, 20));
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	run_end(&run);
	CHECK_INT(signals_seen, 0);
	CHECK(sigaction(SIGCHLD, &before, NULL) == 0);
	CHECK(rmdir("signals") == 0);
}

TEST(the_warden_keeps_no_pipe_and_no_directory_of_the_caller)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	char link[100] = "", path[40];
	int ends[2];
	struct pollfd p;

	want_three(&w, "pipes");
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	REQUIRE(dup2(ends[1], 200) == 200);
	REQUIRE(run_start(&run, &w));
	REQUIRE(close(ends[1]) == 0 && close(200) == 0);
	p = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	CHECK_INT(poll(&p, 1, SOON_MS), 1);
	CHECK(p.revents & POLLHUP);
	CHECK(close(ends[0]) == 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)run.warden.pid);
	if (readlink(path, link, sizeof(link) - 1) > 0)
		CHECK_STR(link, "/");
	else
		CHECK_INT(errno, EACCES); /* not dumpable: even its user may not look */
	run_end(&run);
	CHECK(rmdir("pipes") == 0);
}

/* ---- Who is killed -------------------------------------------------------------------- */

/* A run in a process of its own, stopped when all of it stands. */
struct parts {
	pid_t warden, sandbox;
};

struct victim {
	pid_t pid;
	struct parts its;
	int warden_pidfd, sandbox_pidfd;
};

static bool victim_start(struct victim *v, const struct placeholder_plan *w, bool launches)
{
	int ends[2];
	bool has_told;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	v->pid = fork();
	if (v->pid == 0) {
		struct run run = RUN_INIT;
		struct parts parts;

		if (!run_start(&run, w) || (launches && !run_launch(&run)))
			_exit(1);
		parts = (struct parts){ run.warden.pid, run.sandbox };
		if (write(ends[1], &parts, sizeof(parts)) != sizeof(parts))
			_exit(2);
		for (;;)
			pause();
	}
	has_told = read(ends[0], &v->its, sizeof(v->its)) == sizeof(v->its);
	(void)close(ends[0]);
	(void)close(ends[1]);
	v->warden_pidfd = has_told ? open_pidfd(v->its.warden) : -1;
	v->sandbox_pidfd = has_told && launches ? open_pidfd(v->its.sandbox) : -1;
	return has_told && v->warden_pidfd >= 0 && (!launches || v->sandbox_pidfd >= 0);
}

static void victim_done(struct victim *v)
{
	CHECK(waitpid(v->pid, NULL, 0) == v->pid);
	(void)close(v->warden_pidfd);
	if (v->sandbox_pidfd >= 0)
		(void)close(v->sandbox_pidfd);
}

TEST(when_the_program_is_killed_the_sandbox_dies_and_nothing_is_left)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct victim v;

	want_three(&w, "killed");
	REQUIRE(victim_start(&v, &w, true));
	CHECK(!has_ended(v.sandbox_pidfd, 50) && is_there("killed/.git"));
	REQUIRE(kill(v.pid, SIGKILL) == 0);
	CHECK(has_ended(v.sandbox_pidfd, SOON_MS));
	CHECK(has_ended(v.warden_pidfd, SOON_MS));
	CHECK(rmdir("killed") == 0);
	victim_done(&v);
}

TEST(what_the_user_put_in_meanwhile_stays)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct victim v;

	want_three(&w, "used");
	REQUIRE(victim_start(&v, &w, true));
	scratch_put("used/.git/HEAD", "");
	REQUIRE(kill(v.pid, SIGKILL) == 0);
	CHECK(has_ended(v.warden_pidfd, SOON_MS));
	CHECK(is_there("used/.git/HEAD") && !is_there("used/.codex"));
	victim_done(&v);
}

TEST(when_it_is_killed_before_there_is_a_sandbox_nothing_is_left_either)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct victim v;

	want_three(&w, "early");
	REQUIRE(victim_start(&v, &w, false));
	REQUIRE(kill(v.pid, SIGKILL) == 0);
	CHECK(is_left_empty("early"));
	victim_done(&v);
}

TEST(a_run_beside_one_that_is_killed_keeps_its_placeholders)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	struct victim v;

	want_three(&w, "neighbour");
	REQUIRE(victim_start(&v, &w, true) && run_start(&run, &w));
	REQUIRE(kill(v.pid, SIGKILL) == 0);
	CHECK(has_ended(v.warden_pidfd, SOON_MS));
	CHECK(is_there("neighbour/.git") && is_there("neighbour/commondir"));
	run_end(&run);
	CHECK(rmdir("neighbour") == 0);
	victim_done(&v);
}

TEST(the_warden_keeps_the_locks_until_the_sandbox_is_dead)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	struct victim v;

	if (geteuid() != 0)
		SKIP("only root can trace a warden");
	want_three(&w, "dying");
	REQUIRE(victim_start(&v, &w, true) && run_start(&run, &w));
	/* One that is only stopped is woken by the death of its parent. */
	REQUIRE(ptrace(PTRACE_SEIZE, v.its.warden, NULL, NULL) == 0 &&
		ptrace(PTRACE_INTERRUPT, v.its.warden, NULL, NULL) == 0 &&
		waitpid(v.its.warden, NULL, __WALL) == v.its.warden && kill(v.pid, SIGKILL) == 0);
	victim_done(&v);
	run_end(&run);
	CHECK(is_there("dying/.git") && is_there("dying/commondir")); /* its sandbox still runs */
	REQUIRE(ptrace(PTRACE_DETACH, v.its.warden, NULL, NULL) == 0);
	CHECK(is_left_empty("dying"));
}

/* It has been born, has got ready, and waits. */
static bool is_asleep(pid_t pid)
{
	uint64_t until = now_us() + (uint64_t)SOON_MS * 1000;
	char path[64], line[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	while (now_us() < until) {
		FILE *file = fopen(path, "r");

		while (file && fgets(line, sizeof(line), file) && strncmp(line, "State:", 6) != 0)
			;
		if (file)
			(void)fclose(file);
		if (strstr(line, "(sleeping)"))
			return true;
		sleep_us(1000);
	}
	return false;
}

TEST(a_warden_that_is_stopped_is_woken)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct victim v;

	want_three(&w, "stopped");
	REQUIRE(victim_start(&v, &w, true));
	REQUIRE(is_asleep(v.its.warden));
	REQUIRE(kill(v.its.warden, SIGSTOP) == 0 && kill(v.pid, SIGKILL) == 0);
	CHECK(is_left_empty("stopped"));
	victim_done(&v);
}

TEST(when_the_warden_is_killed_it_shows_and_the_program_cleans_up)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	struct err e = ERR_INIT;

	want_three(&w, "unguarded");
	REQUIRE(run_start(&run, &w));
	REQUIRE(kill(run.warden.pid, SIGKILL) == 0);
	CHECK(has_ended(run.warden.pidfd, SOON_MS));
	CHECK_INT(warden_watch(&run.warden, 0, &e), -ERR_SYS);
	CHECK(is_there("unguarded/.git"));
	run_end(&run);
	CHECK(rmdir("unguarded") == 0);
}

TEST(when_all_are_killed_the_next_run_cleans_up)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	struct run run = RUN_INIT;
	struct victim v;

	want_three(&w, "all");
	placeholder_plan_add(&w, "all/.cordon", NULL);
	placeholder_plan_add_socket(&w, "all/.mcp.json");
	placeholder_plan_add_socket(&w, "all/.hg");
	REQUIRE(victim_start(&v, &w, true));
	REQUIRE(kill(v.its.warden, SIGKILL) == 0 && kill(v.pid, SIGKILL) == 0 &&
		kill(v.its.sandbox, SIGKILL) == 0);
	REQUIRE(has_ended(v.warden_pidfd, SOON_MS) && has_ended(v.sandbox_pidfd, SOON_MS));
	victim_done(&v);
	CHECK(is_there("all/.git") && is_there("all/commondir"));
	REQUIRE(run_start(&run, &w));
	run_end(&run);
	CHECK(rmdir("all") == 0);
}

TEST(a_run_killed_at_any_moment_leaves_nothing)
{
	struct placeholder_plan w = { .plan.rules.count = 0 };
	uint64_t seed = test_seed();
	uint64_t until = now_us() + (uint64_t)KILLING_MS * 1000;
	unsigned kills = 0;

	want_three(&w, "moment");
	placeholder_plan_add(&w, "moment/.cordon", NULL);
	placeholder_plan_add_socket(&w, "moment/.mcp.json");
	placeholder_plan_add_socket(&w, "moment/.hg");
	while (now_us() < until) {
		pid_t pid = fork();

		if (pid == 0) {
			for (;;) {
				struct run run = RUN_INIT;

				if (!run_start(&run, &w) || !run_launch(&run))
					_exit(1);
				run_end(&run);
			}
		}
		REQUIRE(pid > 0);
		sleep_us(test_random(&seed) % 3000);
		REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
		REQUIRE(is_left_empty("moment"));
		REQUIRE(mkdir("moment", 0700) == 0);
		kills++;
	}
	printf("# killed %u\n", kills);
	CHECK(kills > 5);
	CHECK(rmdir("moment") == 0);
}

/* ---- What it costs ------------------------------------------------------------------------ */

static int compare_times(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

TEST(the_cost_is_told)
{
	enum { ROUNDS = 101 };
	static uint64_t starts[ROUNDS], ends[ROUNDS];
	struct placeholder_plan w = { .plan.rules.count = 0 };

	REQUIRE(mkdir("cost", 0700) == 0);
	placeholder_plan_add(&w, "cost/.git", NULL);
	placeholder_plan_add(&w, "cost/.codex", NULL);
	placeholder_plan_add(&w, "cost/.agents", NULL);
	placeholder_plan_add(&w, "cost/.cordon", NULL);
	placeholder_plan_add(&w, "cost/commondir", NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct run run = RUN_INIT;
		uint64_t start = now_us();

		REQUIRE(run_start(&run, &w));
		starts[i] = now_us() - start;
		sleep_us(200);
		start = now_us();
		run_end(&run);
		ends[i] = now_us() - start;
	}
	qsort(starts, ROUNDS, sizeof(starts[0]), compare_times);
	qsort(ends, ROUNDS, sizeof(ends[0]), compare_times);
	printf("# five placeholders and a warden: %" PRIu64 " us to start, %" PRIu64
	       " us to end (medians of %d)\n",
	       starts[ROUNDS / 2], ends[ROUNDS / 2], ROUNDS);
	/* Others use the machine, too: the quickest counts. */
	CHECK(starts[0] < 20000 && rmdir("cost") == 0);
}
