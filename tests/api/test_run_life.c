/* SPDX-License-Identifier: MIT */
/* Runs through libcordon: time, steps, threads, ends, and what a host keeps for itself. */
#include "host.h"

#include <pthread.h>

/* ---- Time, signals, cancelling ----------------------------------------------------------------- */

/* By then a command has begun, also where it has sanitizers around it and others beside it. */
enum { BEGUN_MS = 1000 };

TEST(time_runs_out)
{
	EACH_BACKEND(backend)
	{
		uint64_t started = now_ms();
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "echo before; sleep 20; echo after");
		ask.run.timeout_ms = BEGUN_MS;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 124);
		CHECK_INT(cordon_result_timed_out(result), 1);
		CHECK_INT(cordon_result_signal(result), SIGTERM);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "before\n");
		CHECK(strstr(cordon_report_json(cordon_result_report(result)),
			     "\"limit\": \"timeout\"") != NULL);
		CHECK(now_ms() - started < 15000);
		cordon_result_free(result);
	}
}

TEST(who_does_not_end_in_time_is_killed)
{
	EACH_BACKEND(backend)
	{
		uint64_t started = now_ms();
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "trap '' TERM; while :; do sleep 1; done");
		ask.run.timeout_ms = BEGUN_MS;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 124);
		CHECK_INT(cordon_result_signal(result), SIGKILL);
		CHECK(now_ms() - started >= BEGUN_MS + 2000);
		CHECK(now_ms() - started < 20000);
		cordon_result_free(result);
	}
}

TEST(a_limit_of_the_policy_ends_a_run_too)
{
	EACH_BACKEND(backend)
	{
		const char *overrides[] = { "permissions.dev.extends=:workspace",
					    "permissions.dev.limits.timeout=100ms" };
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "sleep 20");
		ask.load.mode = NULL;
		ask.load.profile = "dev";
		ask.load.overrides = overrides;
		ask.load.override_count = 2;
		ask.run.timeout_ms = 60000;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 124);
		cordon_result_free(result);
	}
}

TEST(limits_without_a_control_group_hold)
{
	EACH_BACKEND(backend)
	{
		const char *overrides[] = { "permissions.dev.extends=:workspace",
					    "permissions.dev.limits.file_size=4096",
					    "permissions.dev.limits.open_files=64",
					    "permissions.dev.limits.cpu_time=1s" };
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "ulimit -n; exec head -c 9000 /dev/zero >large");
		ask.load.mode = NULL;
		ask.load.profile = "dev";
		ask.load.overrides = overrides;
		ask.load.override_count = 4;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_signal(result), SIGXFSZ);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "64\n");
		CHECK(strstr(cordon_report_json(cordon_result_report(result)),
			     "\"limit\": \"file_size\"") != NULL);
		cordon_result_free(result);
		ask.words[2] = "while :; do :; done";
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_signal(result), SIGXCPU);
		CHECK(strstr(cordon_report_json(cordon_result_report(result)),
			     "\"limit\": \"cpu_time\"") != NULL);
		cordon_result_free(result);
	}
}

static cordon_run_handle *start_script(const char *backend, const char *script)
{
	struct ask ask;
	cordon_run_handle *run = NULL;
	cordon_error *error = NULL;

	ask_script(&ask, backend, script);
	if (cordon_start(NULL, &ask.run, &run, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
		return NULL;
	}
	/* What was borrowed is gone. */
	memset(&ask, 0xff, sizeof(ask));
	return run;
}

TEST(a_run_goes_in_steps)
{
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run = start_script(backend, "sleep 0.6; echo x; exit 6");
		cordon_result *result = NULL;
		int status = 0;
		int steps = 0;

		REQUIRE(run);
		CHECK_INT(cordon_poll(run, 0, NULL), 0);
		while (status == 0 && steps++ < 1000) {
			struct pollfd wait = { .fd = cordon_run_descriptor(run), .events = POLLIN };

			REQUIRE(wait.fd >= 0);
			CHECK_INT(poll(&wait, 1, 10000), 1);
			status = cordon_poll(run, 0, NULL);
		}
		CHECK_INT(status, 1);
		CHECK_INT(cordon_poll(run, -1, NULL), 1);
		CHECK_INT(cordon_signal(run, SIGTERM, NULL), -CORDON_E_ARGUMENT);
		cordon_cancel(run);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 6);
		CHECK_INT(cordon_result_cancelled(result), 0);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "x\n");
		cordon_result_free(result);
	}
}

TEST(the_descriptor_tells_when_time_runs_out)
{
	EACH_BACKEND(backend)
	{
		struct pollfd wait = { .events = POLLIN };
		struct ask ask;
		cordon_run_handle *run = NULL;
		cordon_result *result = NULL;

		ask_script(&ask, backend, "sleep 20");
		ask.run.timeout_ms = 200;
		REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
		do {
			wait.fd = cordon_run_descriptor(run);
			CHECK_INT(poll(&wait, 1, 5000), 1);
		} while (cordon_poll(run, 0, NULL) == 0);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		CHECK_INT(cordon_result_status(result), 124);
		cordon_result_free(result);
	}
}

TEST(signals_reach_the_command)
{
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run = start_script(backend,
						      "trap 'echo hup; exit 9' HUP; echo ready; "
						      ": >listens; while :; do sleep 0.05; done");
		cordon_result *result = NULL;

		REQUIRE(run);
		/* Not before it listens. */
		for (int i = 0; i < 600 && access("listens", F_OK) < 0; i++)
			(void)cordon_poll(run, 50, NULL);
		CHECK(unlink("listens") == 0);
		CHECK_INT(cordon_signal(run, 0, NULL), -CORDON_E_ARGUMENT);
		CHECK_INT(cordon_signal(run, 1000, NULL), -CORDON_E_ARGUMENT);
		CHECK_INT(cordon_signal(run, SIGHUP, NULL), 0);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 9);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "ready\nhup\n");
		cordon_result_free(result);
	}
}

TEST(cancelling_ends_everything_at_once)
{
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run =
			start_script(backend, "trap '' TERM; (sleep 20; touch left) & sleep 20");
		cordon_result *result = NULL;
		uint64_t cancelled;

		REQUIRE(run);
		(void)cordon_poll(run, 100, NULL);
		cancelled = now_ms();
		cordon_cancel(run);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		REQUIRE(result);
		CHECK_INT(cordon_result_cancelled(result), 1);
		CHECK_INT(cordon_result_signal(result), SIGKILL);
		CHECK_INT(cordon_result_status(result), 128 + SIGKILL);
		CHECK(now_ms() - cancelled < 2000);
		CHECK(access("left", F_OK) < 0);
		cordon_result_free(result);
	}
}

/* ---- What is the host's ---------------------------------------------------------------------- */

static volatile sig_atomic_t children_heard;

static void hear_child(int number)
{
	(void)number;
	children_heard = children_heard + 1;
}

TEST(the_hosts_children_are_its_own)
{
	struct sigaction mine = { .sa_handler = hear_child };
	struct sigaction before;
	pid_t child;
	int status;

	REQUIRE(sigaction(SIGCHLD, &mine, &before) == 0);
	children_heard = 0;
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run = start_script(backend, "sleep 0.1 & exit 0");
		cordon_result *result = NULL;

		REQUIRE(run);
		CHECK_INT(waitpid(-1, &status, WNOHANG), -1);
		CHECK_INT(errno, ECHILD);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		CHECK_INT(waitpid(-1, &status, WNOHANG), -1);
		cordon_result_free(result);
	}
	CHECK_INT(children_heard, 0);
	/* The handler works, and is still in place. */
	child = fork();
	if (child == 0)
		_exit(0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(children_heard, 1);
	CHECK(sigaction(SIGCHLD, &before, &mine) == 0 && mine.sa_handler == hear_child);
}

/* Whoever waits for the command has to hear of its end all the same. */
TEST(a_host_that_wants_no_zombies_gets_the_status)
{
	const struct sigaction ways[] = { { .sa_handler = SIG_IGN },
					  { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct sigaction before;

		REQUIRE(sigaction(SIGCHLD, &ways[i], &before) == 0);
		EACH_BACKEND(backend)
		{
			struct ask ask;
			cordon_result *result;

			ask_script(&ask, backend, "sh -c 'exit 3'; exit $(($? + 1))");
			ask.run.timeout_ms = 5000;
			result = run_it(&ask);
			REQUIRE(result);
			CHECK_INT(cordon_result_status(result), 4);
			cordon_result_free(result);
		}
		CHECK(sigaction(SIGCHLD, &before, NULL) == 0);
	}
}

static bool leaves_no_zombie(void)
{
	siginfo_t info;

	/* Also those that no signal tells of. */
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0 && errno == ECHILD;
}

TEST(nothing_is_left_open_or_unwaited)
{
	int before;

	/* The first run may open what stays, as the C library does. */
	cordon_result_free(run_script("none", "true"));
	before = count_descriptors();
	EACH_BACKEND(backend)
	{
		for (int i = 0; i < 5; i++) {
			struct ask ask;
			cordon_result *result;

			cordon_result_free(run_script(backend, "echo x; exit 1"));
			ask_script(&ask, backend, "sleep 20");
			ask.run.timeout_ms = 50;
			cordon_result_free(run_it(&ask));
			ask.words[0] = "no-such-program";
			cordon_result_free(run_it(&ask));
			ask.load.directory = "/nonexistent";
			CHECK_INT(cordon_run(NULL, &ask.run, &result, NULL), -CORDON_E_SYS);
		}
		CHECK_INT(count_descriptors(), before);
		CHECK(leaves_no_zombie());
	}
}

TEST(the_hosts_descriptors_stay_its_own)
{
	int secret = open("/etc/passwd", O_RDONLY);
	cordon_result *result;
	char script[64];

	REQUIRE(secret >= 0);
	(void)snprintf(script, sizeof(script), "cat <&%d", secret);
	result = run_script("native", script);
	REQUIRE(result);
	CHECK(cordon_result_status(result) != 0);
	cordon_result_free(result);
	/* Without a sandbox it is handed on, as execve() does it. */
	result = run_script("none", script);
	REQUIRE(result);
	CHECK_INT(cordon_result_status(result), 0);
	cordon_result_free(result);
	close(secret);
}

/* ---- Threads ------------------------------------------------------------------------------------ */

enum { THREADS = 8, RUNS = 4 };

struct worker {
	pthread_t thread;
	const char *backend;
	int number;
	int wrong;
};

static void *work(void *user)
{
	struct worker *worker = user;

	for (int i = 0; i < RUNS; i++) {
		struct ask ask;
		char script[160];
		char expected[64];
		cordon_result *result = NULL;
		size_t length = 0;

		(void)snprintf(script, sizeof(script),
			       "echo %d %d; head -c 300000 /dev/zero >&2; exit %d", worker->number,
			       i, worker->number);
		(void)snprintf(expected, sizeof(expected), "%d %d\n", worker->number, i);
		ask_script(&ask, worker->backend, script);
		if (cordon_run(NULL, &ask.run, &result, NULL) < 0) {
			worker->wrong++;
			continue;
		}
		(void)cordon_result_output(result, CORDON_STREAM_STDERR, &length);
		worker->wrong += cordon_result_status(result) != worker->number ||
				 length != 300000 ||
				 strcmp(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
					expected) != 0;
		cordon_result_free(result);
	}
	return NULL;
}

TEST(many_threads_run_at_once)
{
	int before = count_descriptors();

	EACH_BACKEND(backend)
	{
		struct worker workers[THREADS];

		for (int i = 0; i < THREADS; i++) {
			workers[i] = (struct worker){ .backend = backend, .number = i };
			REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
		}
		for (int i = 0; i < THREADS; i++) {
			REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
			CHECK_INT(workers[i].wrong, 0);
		}
		CHECK_INT(count_descriptors(), before);
		CHECK(leaves_no_zombie());
	}
}

static void *wait_in_thread(void *run)
{
	(void)cordon_wait(run, NULL, NULL);
	return NULL;
}

TEST(what_a_cancelled_thread_has_waited_for_can_be_ended)
{
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run = start_script(backend, "exec sleep 60");
		cordon_result *result = NULL;
		pthread_t thread;

		REQUIRE(run);
		REQUIRE(pthread_create(&thread, NULL, wait_in_thread, run) == 0);
		(void)usleep(100 * 1000);
		CHECK_INT(pthread_cancel(thread), 0);
		CHECK_INT(pthread_join(thread, NULL), 0);
		cordon_cancel(run);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		CHECK(cordon_result_cancelled(result));
		cordon_result_free(result);
		CHECK(leaves_no_zombie());
	}
}

/* And waits until the sandbox has heard all that it is told at its start. */
static void *start_in_thread(void *ask)
{
	cordon_run_handle *run = NULL;

	if (cordon_start(NULL, &((struct ask *)ask)->run, &run, NULL) < 0)
		return NULL;
	(void)usleep(200 * 1000);
	return run;
}

/* To the kernel each thread is a parent of its own. */
TEST(a_run_outlives_the_thread_that_has_started_it)
{
	EACH_BACKEND(backend)
	{
		for (uint64_t flags = 0; flags <= CORDON_RUN_FOREGROUND;
		     flags += CORDON_RUN_FOREGROUND) {
			cordon_result *result = NULL;
			pthread_t thread;
			struct ask ask;
			void *run = NULL;

			ask_script(&ask, backend, "sleep 0.5; exit 7");
			ask.run.flags |= flags;
			REQUIRE(pthread_create(&thread, NULL, start_in_thread, &ask) == 0);
			REQUIRE(pthread_join(thread, &run) == 0 && run);
			CHECK_INT(cordon_wait(run, &result, NULL), 0);
			CHECK_INT(cordon_result_status(result), 7);
			cordon_result_free(result);
		}
	}
}

/* ---- The end of the host ------------------------------------------------------------------------- */

static off_t size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? st.st_size : -1;
}

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* What it forks has copies of the channels of its runs, and nothing to do with them. */
static pid_t fork_idler(void)
{
	pid_t idler = fork();

	if (idler != 0)
		return idler;
	pause_ms(20000);
	_exit(0);
}

TEST(a_killed_host_that_has_forked_takes_the_command_along)
{
	struct ask ask;
	int ends[2];
	pid_t host, idler = 0;
	off_t before;

	(void)unlink("ticks");
	(void)fflush(stdout);
	REQUIRE(pipe(ends) == 0);
	host = fork();
	if (host == 0) {
		cordon_run_handle *run = NULL;

		ask_script(&ask, "native", "while :; do echo >>ticks; sleep 0.02; done");
		if (cordon_start(NULL, &ask.run, &run, NULL) < 0)
			_exit(1);
		idler = fork_idler();
		_exit(write(ends[1], &idler, sizeof(idler)) < 0 ||
		      cordon_wait(run, NULL, NULL) < 0);
	}
	REQUIRE(host > 0 && read(ends[0], &idler, sizeof(idler)) == (ssize_t)sizeof(idler));
	for (int i = 0; i < 500 && size_of("ticks") < 3; i++)
		pause_ms(20);
	CHECK(size_of("ticks") >= 3);
	/* What must not be created there is held, and let go with the run. */
	CHECK(access(".codex", F_OK) == 0);
	CHECK(kill(host, SIGKILL) == 0);
	CHECK(waitpid(host, NULL, 0) == host);
	for (int i = 0; i < 100 && access(".codex", F_OK) == 0; i++)
		pause_ms(20);
	CHECK(access(".codex", F_OK) < 0);
	before = size_of("ticks");
	pause_ms(300);
	CHECK_INT(size_of("ticks"), before);
	/* It was there all the time. */
	CHECK(idler > 0 && kill(idler, SIGKILL) == 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* That the command, which adds to "ticks", does so no more when its host is killed. */
static void check_dies_with(pid_t host, off_t enough)
{
	off_t before;

	for (int i = 0; i < 500 && size_of("ticks") < enough; i++)
		pause_ms(20);
	CHECK(size_of("ticks") >= enough);
	CHECK(kill(host, SIGKILL) == 0);
	CHECK(waitpid(host, NULL, 0) == host);
	pause_ms(1000);
	before = size_of("ticks");
	pause_ms(300);
	CHECK_INT(size_of("ticks"), before);
}

/* Starts what has PID 1 say much, hears nothing of it, forks, and tells whom. */
static _Noreturn void be_deaf_host(const char *backend, int told)
{
	static const char *const accepted[] = { "proc", "tree_death", NULL };
	int ticks = open("ticks", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	cordon_run_handle *run = NULL;
	struct ask ask;
	pid_t idler;

	/* Nothing is held, so that there is nobody to clean up, who would end PID 1, too. */
	ask_script(&ask, backend, "(while :; do kill -STOP $$; kill -CONT $$; echo; done) & wait");
	ask.load.mode = "read-only";
	ask.run.flags = CORDON_RUN_NO_STDIN;
	if (strcmp(backend, "landlock") == 0)
		ask.run.accept_missing = accepted;
	if (dup2(ticks, 1) < 0 || cordon_start(NULL, &ask.run, &run, NULL) < 0)
		_exit(1);
	idler = fork_idler();
	if (write(told, &idler, sizeof(idler)) != (ssize_t)sizeof(idler))
		_exit(1);
	pause_ms(20000);
	_exit(0);
}

/* Its channel is full by then, and what it waits for is that somebody reads. */
TEST(a_killed_host_that_did_not_listen_takes_the_command_along)
{
	static const char *const backends[] = { "native", "landlock" };

	for (int i = 0; i < 2; i++) {
		pid_t host, idler = 0;
		int ends[2];

		(void)unlink("ticks");
		(void)fflush(stdout);
		REQUIRE(pipe(ends) == 0);
		host = fork();
		if (host == 0)
			be_deaf_host(backends[i], ends[1]);
		(void)close(ends[1]);
		REQUIRE(host > 0 && read(ends[0], &idler, sizeof(idler)) == (ssize_t)sizeof(idler));
		check_dies_with(host, 5000);
		CHECK(idler > 0 && kill(idler, SIGKILL) == 0);
		(void)close(ends[0]);
	}
}

TEST(a_killed_host_takes_the_command_along)
{
	EACH_BACKEND(backend)
	{
		pid_t host;

		(void)unlink("ticks");
		(void)fflush(stdout);
		host = fork();
		if (host == 0) {
			cordon_result_free(
				run_script(backend, "trap '' HUP TERM; "
						    "while :; do echo >>ticks; sleep 0.02; done"));
			_exit(0);
		}
		REQUIRE(host > 0);
		check_dies_with(host, 3);
	}
}

/* The children of this thread, oldest first; 0 when the kernel does not tell. */
static int find_children(pid_t *out, int room)
{
	char text[256] = "";
	char *at = text;
	FILE *file = fopen("/proc/thread-self/children", "r");
	int count = 0;

	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	(void)fclose(file);
	while (count < room && *at && *at != '\n') {
		out[count] = (pid_t)strtol(at, &at, 10);
		if (out[count] <= 0)
			break;
		count++;
		while (*at == ' ')
			at++;
	}
	return count;
}

TEST(parts_of_a_run_that_are_killed_from_outside_end_it)
{
	for (int which = 0; which < 2; which++) {
		cordon_run_handle *run = start_script("native", "sleep 20");
		cordon_result *result = NULL;
		pid_t children[4];
		uint64_t killed;
		int status;

		REQUIRE(run);
		/* Who cleans up, and the first process of the sandbox. */
		if (find_children(children, 4) != 2) {
			cordon_cancel(run);
			(void)cordon_wait(run, NULL, NULL);
			SKIP("the kernel does not list children");
		}
		killed = now_ms();
		CHECK(kill(children[which], SIGKILL) == 0);
		status = cordon_wait(run, &result, NULL);
		CHECK(now_ms() - killed < 5000);
		CHECK(leaves_no_zombie());
		if (which == 0) {
			/* Nobody would have removed the placeholders: that is no run as it was asked for. */
			CHECK_INT(status, -CORDON_E_SYS);
			CHECK(access(".codex", F_OK) < 0);
			continue;
		}
		CHECK_INT(status, 0);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 128 + SIGKILL);
		CHECK(has_warning(result, "killed by another process"));
		cordon_result_free(result);
	}
}
