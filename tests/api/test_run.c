/* SPDX-License-Identifier: MIT */
/* Runs through libcordon: statuses, output, time, and what a host keeps for itself. */
#include "host.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

/* `name` is declared here. NOLINTBEGIN(bugprone-macro-parentheses) */
#define EACH_BACKEND(name) \
	for (const char *const *each = both_backends, *name = *each; *each; name = *++each)
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- Statuses (P24) ------------------------------------------------------------------- */

static int status_of(const char *backend, const char *script)
{
	cordon_result *result = run_script(backend, script);
	int status = result ? cordon_result_status(result) : -1;

	cordon_result_free(result);
	return status;
}

TEST(the_status_is_the_commands_own)
{
	EACH_BACKEND(backend)
	{
		CHECK_INT(status_of(backend, "exit 0"), 0);
		CHECK_INT(status_of(backend, "exit 3"), 3);
		CHECK_INT(status_of(backend, "exit 125"), 125);
		CHECK_INT(status_of(backend, "exit 255"), 255);
	}
}

TEST(a_signal_that_killed_it_is_told)
{
	EACH_BACKEND(backend)
	{
		cordon_result *result = run_script(backend, "kill -SEGV $$");

		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 128 + SIGSEGV);
		CHECK_INT(cordon_result_signal(result), SIGSEGV);
		CHECK_INT(cordon_result_timed_out(result), 0);
		CHECK_INT(cordon_result_cancelled(result), 0);
		CHECK_STR(cordon_result_backend(result), backend);
		cordon_result_free(result);
	}
}

TEST(what_can_not_be_executed_is_a_result_with_a_warning)
{
	scratch_put("no_program", "#!/bin/sh\n");
	EACH_BACKEND(backend)
	{
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "");
		ask.words[0] = "no-such-program-anywhere";
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 127);
		CHECK(has_warning(result, "'no-such-program-anywhere' was not found in PATH"));
		CHECK(strstr(cordon_report_json(cordon_result_report(result)),
			     "\"started\": false") != NULL);
		cordon_result_free(result);
		ask.words[0] = "./no_program";
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 126);
		CHECK(has_warning(result, "'./no_program' can't be executed"));
		cordon_result_free(result);
		ask.words[0] = "./no_program/below";
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 127);
		cordon_result_free(result);
	}
}

TEST(a_file_without_an_interpreter_line_is_run_by_the_shell)
{
	scratch_put("plain_script", "echo \"plain $1\"\n");
	REQUIRE(chmod("plain_script", 0755) == 0);
	EACH_BACKEND(backend)
	{
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "");
		ask.words[0] = "./plain_script";
		ask.words[1] = "word";
		ask.words[2] = NULL;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "plain word\n");
		cordon_result_free(result);
	}
}

/* ---- Output ------------------------------------------------------------------------------ */

TEST(both_streams_are_kept_apart)
{
	EACH_BACKEND(backend)
	{
		cordon_result *result =
			run_script(backend, "echo out; echo err >&2; printf 'a\\0b'");
		size_t length = 0;

		REQUIRE(result);
		CHECK(memcmp(cordon_result_output(result, CORDON_STREAM_STDOUT, &length),
			     "out\na\0b", 8) == 0);
		CHECK_INT(length, 7);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDERR, &length), "err\n");
		CHECK_INT(cordon_result_truncated(result, CORDON_STREAM_STDOUT), 0);
		CHECK_STR(cordon_result_output(result, 3, &length), "");
		CHECK_INT(length, 0);
		cordon_result_free(result);
	}
}

enum { LARGE = 8 << 20 };

TEST(large_output_on_both_pipes_does_not_block)
{
	EACH_BACKEND(backend)
	{
		cordon_result *result = run_script(backend, "head -c 8388608 /dev/zero & "
							    "head -c 8388608 /dev/zero >&2; wait");
		size_t out = 0;
		size_t err = 0;

		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 0);
		(void)cordon_result_output(result, CORDON_STREAM_STDOUT, &out);
		(void)cordon_result_output(result, CORDON_STREAM_STDERR, &err);
		CHECK_INT(out, LARGE);
		CHECK_INT(err, LARGE);
		cordon_result_free(result);
	}
}

TEST(what_does_not_fit_is_cut_and_said_to_be)
{
	EACH_BACKEND(backend)
	{
		struct ask ask;
		cordon_result *result;
		size_t length = 0;

		ask_script(&ask, backend, "head -c 300000 /dev/zero; echo short >&2");
		ask.run.capture_limit = 1000;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 0);
		(void)cordon_result_output(result, CORDON_STREAM_STDOUT, &length);
		CHECK_INT(length, 1000);
		CHECK_INT(cordon_result_truncated(result, CORDON_STREAM_STDOUT), 1);
		CHECK_INT(cordon_result_truncated(result, CORDON_STREAM_STDERR), 0);
		cordon_result_free(result);
	}
}

struct heard {
	size_t bytes[3];
	int done;
	int status;
};

static void hear_output(void *user, uint32_t stream, const char *bytes, size_t length)
{
	struct heard *heard = user;

	CHECK(length > 0 && bytes != NULL);
	heard->bytes[stream] += length;
}

static void hear_end(void *user, const cordon_result *result)
{
	struct heard *heard = user;

	heard->done++;
	heard->status = cordon_result_status(result);
}

TEST(callbacks_hear_everything_and_then_the_end)
{
	EACH_BACKEND(backend)
	{
		struct heard heard = { .done = 0 };
		struct ask ask;
		cordon_result *result;
		size_t length = 9;

		ask_script(&ask, backend, "head -c 100000 /dev/zero; echo err >&2; exit 4");
		ask.run.flags = CORDON_RUN_NO_STDIN;
		ask.run.on_output = hear_output;
		ask.run.on_done = hear_end;
		ask.run.run_user = &heard;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(heard.bytes[1], 100000);
		CHECK_INT(heard.bytes[2], 4);
		CHECK_INT(heard.done, 1);
		CHECK_INT(heard.status, 4);
		/* Nobody asked to keep it. */
		(void)cordon_result_output(result, CORDON_STREAM_STDOUT, &length);
		CHECK_INT(length, 0);
		cordon_result_free(result);
	}
}

/* In a process of its own, whose stdout is `out` and whose exit status is what `run` gives. */
static int in_child(int (*run)(const char *backend), const char *backend, int out)
{
	int status = -1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (out >= 0 && (dup2(out, 1) < 0 || (out > 2 && close(out) < 0)))
			_exit(99);
		_exit(run(backend));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		printf("# the child ended with %#x\n", (unsigned)status);
		return -1;
	}
	return WEXITSTATUS(status);
}

static int mirror_run(const char *backend)
{
	struct ask ask;
	cordon_result *result;
	size_t length = 0;

	ask_script(&ask, backend, "head -c 200000 /dev/zero | tr '\\0' x");
	ask.run.flags |= CORDON_RUN_MIRROR;
	result = run_it(&ask);
	if (!result)
		return 90;
	(void)cordon_result_output(result, CORDON_STREAM_STDOUT, &length);
	return length == 200000 && cordon_result_status(result) == 0 ? 0 : 91;
}

TEST(a_mirror_passes_on_what_is_captured)
{
	EACH_BACKEND(backend)
	{
		int file = open("mirrored", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		struct stat st;

		REQUIRE(file >= 0);
		CHECK_INT(in_child(mirror_run, backend, file), 0);
		CHECK(fstat(file, &st) == 0);
		CHECK_INT(st.st_size, 200000);
		close(file);
	}
}

/* Reads slowly, and counts. */
static void *read_slowly(void *user)
{
	static char bytes[4096];
	intptr_t total = 0;
	ssize_t n;

	while ((n = read(*(int *)user, bytes, sizeof(bytes))) > 0) {
		const struct timespec pause = { .tv_nsec = 200000 };

		total += n;
		nanosleep(&pause, NULL);
	}
	return (void *)total;
}

TEST(a_slow_reader_of_the_mirror_gets_everything)
{
	EACH_BACKEND(backend)
	{
		int ends[2];
		pthread_t reader;
		void *total = NULL;

		REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
		REQUIRE(pthread_create(&reader, NULL, read_slowly, &ends[0]) == 0);
		CHECK_INT(in_child(mirror_run, backend, ends[1]), 0);
		close(ends[1]);
		REQUIRE(pthread_join(reader, &total) == 0);
		CHECK_INT((intptr_t)total, 200000);
		close(ends[0]);
	}
}

/* Writes for ever to a mirror that nobody reads, and has to end by its time limit. */
static int stuck_run(const char *backend)
{
	struct ask ask;
	cordon_result *result;

	ask_script(&ask, backend,
		   "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done");
	ask.run.flags |= CORDON_RUN_MIRROR;
	ask.run.timeout_ms = 300;
	result = run_it(&ask);
	return result ? cordon_result_status(result) : 90;
}

TEST(a_mirror_that_nobody_reads_does_not_outlive_the_time_limit)
{
	EACH_BACKEND(backend)
	{
		uint64_t started = now_ms();
		int ends[2];

		REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
		CHECK_INT(in_child(stuck_run, backend, ends[1]), 124);
		CHECK(now_ms() - started < 8000);
		close(ends[0]);
		close(ends[1]);
	}
}

TEST(a_mirror_that_was_closed_does_not_kill_the_host)
{
	EACH_BACKEND(backend)
	{
		int ends[2];

		REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
		close(ends[0]);
		CHECK_INT(in_child(mirror_run, backend, ends[1]), 0);
		close(ends[1]);
	}
}

static int only_mirror_run(const char *backend)
{
	struct heard heard = { .done = 0 };
	struct ask ask;
	cordon_result *result;

	ask_script(&ask, backend, "exec yes");
	ask.run.flags = CORDON_RUN_NO_STDIN | CORDON_RUN_MIRROR;
	ask.run.timeout_ms = 20000;
	ask.run.run_user = &heard;
	result = run_it(&ask);
	return result ? cordon_result_signal(result) : 90;
}

TEST(without_a_reader_the_command_learns_it_as_ever)
{
	EACH_BACKEND(backend)
	{
		int ends[2];

		REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
		close(ends[0]);
		CHECK_INT(in_child(only_mirror_run, backend, ends[1]), SIGPIPE);
		close(ends[1]);
	}
}

TEST(what_a_command_leaves_running_does_not_hold_the_result_back)
{
	EACH_BACKEND(backend)
	{
		uint64_t started = now_ms();
		cordon_result *result = run_script(backend, "sleep 20 & echo done");

		REQUIRE(result);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "done\n");
		CHECK(now_ms() - started < 5000);
		cordon_result_free(result);
	}
}

/* ---- stdin --------------------------------------------------------------------------------- */

static int cat_run(const char *backend)
{
	struct ask ask;
	cordon_result *result;

	ask_script(&ask, backend, "cat");
	ask.run.flags = CORDON_RUN_CAPTURE;
	result = run_it(&ask);
	return result && strcmp(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
				"typed\n") == 0
		       ? 0
		       : 91;
}

static int cat_file_run(const char *backend)
{
	int file = open("typed", O_RDONLY | O_CLOEXEC);

	return file < 0 || dup2(file, 0) < 0 ? 92 : cat_run(backend);
}

static int closed_run(const char *backend)
{
	cordon_result *result;
	bool is_right;

	close(0);
	close(1);
	close(2);
	result = run_script(backend, "cat; echo x >&3; echo ok");
	is_right = result &&
		   strcmp(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "ok\n") == 0;
	cordon_result_free(result);
	/* And again without any pipe: all three are the command's /dev/null. */
	if (is_right) {
		struct ask ask;

		ask_script(&ask, backend, "cat && echo x && echo y >&2");
		ask.run.flags = 0;
		result = run_it(&ask);
		is_right = result && cordon_result_status(result) == 0;
		cordon_result_free(result);
		/* Nor is anything passed on to whatever has their numbers by then. */
		ask.run.flags = CORDON_RUN_CAPTURE | CORDON_RUN_MIRROR;
		result = run_it(&ask);
		is_right = is_right && result &&
			   strcmp(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
				  "x\n") == 0;
		cordon_result_free(result);
	}
	return is_right && fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 ? 0 : 91;
}

TEST(stdin_is_the_hosts_own_or_empty)
{
	scratch_put("typed", "typed\n");
	EACH_BACKEND(backend)
	{
		cordon_result *result = run_script(backend, "cat; echo end");

		REQUIRE(result);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "end\n");
		cordon_result_free(result);
		CHECK_INT(in_child(cat_file_run, backend, -1), 0);
	}
}

TEST(closed_standard_streams_become_empty_ones)
{
	EACH_BACKEND(backend)
	CHECK_INT(in_child(closed_run, backend, -1), 0);
}

/* ---- Time, signals, cancelling ----------------------------------------------------------------- */

TEST(time_runs_out)
{
	EACH_BACKEND(backend)
	{
		uint64_t started = now_ms();
		struct ask ask;
		cordon_result *result;

		ask_script(&ask, backend, "echo before; sleep 20; echo after");
		ask.run.timeout_ms = 200;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 124);
		CHECK_INT(cordon_result_timed_out(result), 1);
		CHECK_INT(cordon_result_signal(result), SIGTERM);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "before\n");
		CHECK(strstr(cordon_report_json(cordon_result_report(result)),
			     "\"limit\": \"timeout\"") != NULL);
		CHECK(now_ms() - started < 1900);
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
		ask.run.timeout_ms = 200;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 124);
		CHECK_INT(cordon_result_signal(result), SIGKILL);
		CHECK(now_ms() - started >= 2000);
		CHECK(now_ms() - started < 6000);
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
		cordon_run_handle *run = start_script(backend, "sleep 0.2; echo x; exit 6");
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
						      "trap 'echo hup; exit 9' HUP; "
						      "echo ready; while :; do sleep 0.05; done");
		cordon_result *result = NULL;

		REQUIRE(run);
		/* Not before it listens: its first words are heard by then. */
		for (int i = 0; i < 20; i++)
			(void)cordon_poll(run, 50, NULL);
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
		uint64_t started = now_ms();
		cordon_run_handle *run =
			start_script(backend, "trap '' TERM; (sleep 20; touch left) & sleep 20");
		cordon_result *result = NULL;

		REQUIRE(run);
		(void)cordon_poll(run, 100, NULL);
		cordon_cancel(run);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		REQUIRE(result);
		CHECK_INT(cordon_result_cancelled(result), 1);
		CHECK_INT(cordon_result_signal(result), SIGKILL);
		CHECK_INT(cordon_result_status(result), 128 + SIGKILL);
		CHECK(now_ms() - started < 2000);
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
	CHECK_INT(in_child(cat_run, "none", -1) >= 0, 1);
	CHECK_INT(children_heard, 1);
	CHECK(sigaction(SIGCHLD, &before, &mine) == 0 && mine.sa_handler == hear_child);
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

TEST(a_killed_host_takes_the_command_along)
{
	EACH_BACKEND(backend)
	{
		off_t before;
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
		for (int i = 0; i < 500 && size_of("ticks") < 3; i++)
			pause_ms(20);
		CHECK(size_of("ticks") >= 3);
		CHECK(kill(host, SIGKILL) == 0);
		CHECK(waitpid(host, NULL, 0) == host);
		pause_ms(1000);
		before = size_of("ticks");
		pause_ms(300);
		CHECK_INT(size_of("ticks"), before);
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
		uint64_t started = now_ms();
		pid_t children[4];
		int status;

		REQUIRE(run);
		/* Who cleans up, and the first process of the sandbox. */
		if (find_children(children, 4) != 2) {
			cordon_cancel(run);
			(void)cordon_wait(run, NULL, NULL);
			SKIP("the kernel does not list children");
		}
		CHECK(kill(children[which], SIGKILL) == 0);
		status = cordon_wait(run, &result, NULL);
		CHECK(now_ms() - started < 2000);
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
		CHECK(has_warning(result, "killed from outside"));
		cordon_result_free(result);
	}
}

/* ---- Denials --------------------------------------------------------------------------------------- */

TEST(what_was_refused_is_counted_and_named)
{
	static const char script[] = "python3 -c 'import socket\n"
				     "for i in range(3):\n"
				     "    s = socket.socket(socket.AF_UNIX)\n"
				     "    try: s.connect(\"host.sock\")\n"
				     "    except PermissionError: print(\"refused\")\n"
				     "    else: print(\"connected\")'";
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "host.sock" };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cordon_result *result;
	const char *json;
	struct ask ask;

	REQUIRE(bind(server, (const struct sockaddr *)&address, sizeof(address)) == 0);
	REQUIRE(listen(server, 8) == 0);
	if (status_of("none", "python3 -c 1") != 0)
		SKIP("no python3");
	result = run_script("none", script);
	REQUIRE(result);
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
		  "connected\nconnected\nconnected\n");
	cordon_result_free(result);
	ask_script(&ask, "native", script);
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
		  "refused\nrefused\nrefused\n");
	CHECK_INT(cordon_result_status(result), 0);
	CHECK_INT(cordon_result_denial_count(result), 3);
	CHECK(has_warning(result, "3 attempts were refused"));
	json = cordon_report_json(cordon_result_report(result));
	CHECK(strstr(json, "host.sock\"") && strstr(json, "\"count\": 3"));
	CHECK(strstr(cordon_report_text(cordon_result_report(result), 0), "host.sock") != NULL);
	cordon_result_free(result);
	ask.run.flags |= CORDON_RUN_QUIET;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_INT(cordon_result_denial_count(result), 3);
	CHECK_INT(cordon_result_warning_count(result), 0);
	cordon_result_free(result);
	close(server);
}
