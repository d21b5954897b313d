/* SPDX-License-Identifier: MIT */
/* Runs through libcordon: statuses, streams, denials. Their life is in test_run_life.c. */
#include "host.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

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
			     "\"executed\": false") != NULL);
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

struct nested {
	cordon_run_handle *run;
	int polled, waited, signalled;
};

static void call_back(void *user, uint32_t stream, const char *bytes, size_t length)
{
	struct nested *n = user;
	cordon_result *result = NULL;

	(void)stream;
	(void)bytes;
	(void)length;
	n->polled = cordon_poll(n->run, 0, NULL);
	n->waited = cordon_wait(n->run, &result, NULL);
	n->signalled = cordon_signal(n->run, SIGTERM, NULL);
}

TEST(callbacks_can_not_wait_for_their_own_run)
{
	EACH_BACKEND(backend)
	{
		struct nested nested = { .polled = 9 };
		cordon_result *result = NULL;
		struct ask ask;

		ask_script(&ask, backend, "echo begun; exec sleep 60");
		ask.run.on_output = call_back;
		ask.run.run_user = &nested;
		REQUIRE(cordon_start(NULL, &ask.run, &nested.run, NULL) == 0);
		CHECK_INT(cordon_wait(nested.run, &result, NULL), 0);
		CHECK_INT(nested.polled, -CORDON_E_ARGUMENT);
		CHECK_INT(nested.waited, -CORDON_E_ARGUMENT);
		CHECK_INT(nested.signalled, 0);
		CHECK_INT(cordon_result_signal(result), SIGTERM);
		cordon_result_free(result);
	}
}

TEST(a_signal_to_a_run_that_has_ended_names_the_cause)
{
	EACH_BACKEND(backend)
	{
		cordon_run_handle *run = NULL;
		cordon_result *result = NULL;
		cordon_error *error = NULL;
		struct ask ask;

		ask_script(&ask, backend, "exit 3");
		REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
		while (cordon_poll(run, 1000, NULL) == 0)
			continue;
		CHECK_INT(cordon_signal(run, SIGTERM, &error), -CORDON_E_ARGUMENT);
		CHECK_STR(cordon_error_cause(error), "run_ended");
		cordon_error_free(error);
		CHECK_INT(cordon_wait(run, &result, NULL), 0);
		CHECK_INT(cordon_result_status(result), 3);
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
		CHECK(now_ms() - started < 15000);
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

/* The empty stdin gets the number of the stream that is closed. */
static int closed_stderr_run(const char *backend)
{
	struct ask ask;
	cordon_result *result;
	size_t length = 0;
	bool is_right;

	close(2);
	ask_script(&ask, backend, "sleep 0.1; head -c 100000 /dev/zero | tr '\\0' y >&2");
	ask.run.flags = CORDON_RUN_CAPTURE | CORDON_RUN_MIRROR | CORDON_RUN_NO_STDIN;
	ask.run.timeout_ms = 20000;
	result = run_it(&ask);
	if (result)
		(void)cordon_result_output(result, CORDON_STREAM_STDERR, &length);
	is_right = result && length == 100000 && cordon_result_status(result) == 0;
	cordon_result_free(result);
	return is_right && fcntl(2, F_GETFD) < 0 ? 0 : 91;
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
	{
		CHECK_INT(in_child(closed_run, backend, -1), 0);
		CHECK_INT(in_child(closed_stderr_run, backend, -1), 0);
	}
}

/* ---- Denials --------------------------------------------------------------------------------------- */

static void check_denial(const struct cordon_denial *denial)
{
	REQUIRE(denial);
	CHECK_INT(denial->size, sizeof(*denial));
	CHECK_STR(denial->kind, "unix_socket");
	CHECK_STR(denial->operation, "unix-connect");
	CHECK(strstr(denial->subject, "/host.sock") != NULL);
	CHECK(denial->rule && denial->program && denial->pid > 0);
	CHECK(denial->count >= 1 && denial->last_ms >= denial->first_ms && !denial->is_guess);
}

static void count_denial(void *user, const struct cordon_denial *denial)
{
	int *told = user;

	++*told;
	check_denial(denial);
}

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
	int told = 0;

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
	ask.run.on_denial = count_denial;
	ask.run.run_user = &told;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL),
		  "refused\nrefused\nrefused\n");
	/* Told once, counted three times. */
	CHECK_INT(told, 1);
	check_denial(cordon_result_denial(result, 0));
	CHECK(!cordon_result_denial(result, 1));
	CHECK_INT(cordon_result_status(result), 0);
	CHECK_INT(cordon_result_denial_count(result), 3);
	/* It coped with them, so nobody is told. */
	CHECK_INT(cordon_result_warning_count(result), 0);
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

/* A run of `script` that is denied "secret"; the first denial, or "". */
static const char *find_guess(struct ask *ask, const char *script, uint64_t flags)
{
	static const char *const denied[] = { "secret" };
	static char text[256];
	const struct cordon_denial *denial;
	cordon_result *result;

	ask_script(ask, "native", script);
	ask->load.deny = denied;
	ask->load.deny_count = 1;
	ask->run.flags = flags | CORDON_RUN_NO_STDIN;
	result = run_it(ask);
	if (!result)
		return "no result";
	denial = cordon_result_denial(result, 0);
	(void)snprintf(text, sizeof(text), "%" PRIu64, cordon_result_denial_count(result));
	if (denial)
		(void)snprintf(text, sizeof(text), "%s %s %d%s", denial->operation,
			       strrchr(denial->subject, '/'), (int)denial->os_error,
			       denial->is_guess ? " guess"
			       : denial->pid	? " seen"
						: "");
	cordon_result_free(result);
	return text;
}

TEST(a_refused_read_that_was_not_seen_is_guessed)
{
	const uint64_t seen = CORDON_RUN_CAPTURE | CORDON_RUN_LOG_DENIALS;
	char guessed[64], named[64];
	struct ask ask;

	scratch_put("secret", "text\n");
	scratch_put("other", "text\n");
	(void)snprintf(guessed, sizeof(guessed), "read /secret %d guess", EACCES);
	(void)snprintf(named, sizeof(named), "read /secret %d seen", EACCES);
	CHECK_STR(find_guess(&ask, "cat secret", CORDON_RUN_CAPTURE), guessed);
	CHECK_STR(find_guess(&ask, "cat secret 2>&1; exit 3", CORDON_RUN_CAPTURE), guessed);
	CHECK_STR(find_guess(&ask, "cat secret", seen), named);
	/* Allowed; it has coped with it; nobody has its output. */
	CHECK_STR(find_guess(&ask, "cat other && exit 3", CORDON_RUN_CAPTURE), "0");
	CHECK_STR(find_guess(&ask, "cat secret; exit 0", CORDON_RUN_CAPTURE), "0");
	CHECK_STR(find_guess(&ask, "cat secret 2>/dev/null", CORDON_RUN_CAPTURE), "0");
	CHECK_STR(find_guess(&ask, "cat secret 2>/dev/null", 0), "0");
}
