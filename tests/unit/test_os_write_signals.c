/* SPDX-License-Identifier: MIT */
/* Tests of os/write_signals.h. That a signal ends this program is the failure of most of them. */
#include "os/write_signals.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* The errno of a write to a pipe that nobody reads, or 0. */
static int write_to_nobody(void)
{
	int ends[2];
	int error = 0;

	if (pipe(ends) < 0)
		return -1;
	close(ends[0]);
	if (write(ends[1], "x", 1) < 0)
		error = errno;
	close(ends[1]);
	return error;
}

static int write_too_much(void)
{
	static const struct rlimit nothing = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };
	struct rlimit before;
	FILE *file = tmpfile();
	int error = 0;

	if (!file || getrlimit(RLIMIT_FSIZE, &before) < 0 || setrlimit(RLIMIT_FSIZE, &nothing) < 0)
		return -1;
	if (write(fileno(file), "x", 1) < 0)
		error = errno;
	(void)setrlimit(RLIMIT_FSIZE, &before);
	(void)fclose(file);
	return error;
}

static bool is_pending(int number)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

TEST(what_can_not_be_written_is_an_error_and_no_signal)
{
	struct os_write_signals signals;

	os_write_signals_block(&signals);
	CHECK_INT(write_to_nobody(), EPIPE);
	CHECK_INT(write_too_much(), EFBIG);
	errno = ENOENT;
	os_write_signals_restore(&signals);
	CHECK_INT(errno, ENOENT);
	CHECK(!is_pending(SIGPIPE));
	CHECK(!is_pending(SIGXFSZ));
}

/* The control: what ends a process that does not ask for signals. */
TEST(without_it_either_ends_the_process)
{
	int (*const ways[])(void) = { write_to_nobody, write_too_much };
	const int signals[] = { SIGPIPE, SIGXFSZ };

	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			static const struct rlimit no_core;

			(void)setrlimit(RLIMIT_CORE, &no_core);
			(void)signal(signals[i], SIG_DFL);
			(void)ways[i]();
			_exit(0);
		}
		REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status));
		CHECK_INT(WTERMSIG(status), signals[i]);
	}
}

TEST(a_signal_that_was_pending_before_stays)
{
	struct os_write_signals signals;
	sigset_t set, before;
	int taken = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	REQUIRE(sigprocmask(SIG_BLOCK, &set, &before) == 0);
	(void)raise(SIGPIPE);
	os_write_signals_block(&signals);
	CHECK_INT(write_to_nobody(), EPIPE);
	os_write_signals_restore(&signals);
	CHECK(is_pending(SIGPIPE));
	CHECK_INT(sigwait(&set, &taken), 0);
	CHECK_INT(taken, SIGPIPE);
	CHECK_INT(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}
