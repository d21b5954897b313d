/* SPDX-License-Identifier: MIT */
/*
 * Signals that are sent to this process are meant for the command. They are
 * blocked and read from a descriptor, so that one which comes before the command
 * runs is not lost, and none comes in the middle of anything. A command that has
 * the terminal gets the terminal's signals by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/posix/signal_fd.h"

static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
				 SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH };

bool signals_hold(struct signals *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT_OF(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	signals->sent = 0;
	signals->typed = 0;
	signals->fd = signal_fd_open(&set);
	/* SECURITY: a command that sets TOSTOP on the terminal could have a warning stop this process. */
	sigaddset(&set, SIGTTOU);
	/* What can't be written is an error that is told: a reader that is gone, `ulimit -f`. */
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	return signals->fd >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

/*
 * SECURITY: a command that shares the stream can fill it. Who waits until somebody reads has to
 * be ended by what is meant to end it; the sandbox ends with this process.
 */
void signals_await_room(int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	sigset_t set, before;

	if (poll(&room, 1, 0) != 0)
		return;
	sigemptyset(&set);
	for (size_t i = 0; i < COUNT_OF(ending); i++)
		sigaddset(&set, ending[i]);
	if (sigprocmask(SIG_UNBLOCK, &set, &before) < 0)
		return;
	while (poll(&room, 1, -1) < 0 && errno == EINTR)
		;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Of those that end a process, which this one has got and does not ignore. */
static void find_deadly(sigset_t *out)
{
	struct sigaction now;
	sigset_t pending;

	sigemptyset(out);
	if (sigpending(&pending) < 0)
		return;
	for (size_t i = 0; i < COUNT_OF(ending); i++)
		if (sigismember(&pending, ending[i]) == 1 &&
		    sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(out, ending[i]);
}

/* Ctrl-Z: there is nothing yet that would have to be stopped first. */
static void stop_if_asked(void)
{
	sigset_t one;
	sigset_t before;

	sigemptyset(&one);
	sigaddset(&one, SIGTSTP);
	/* One that is pending stops this process here. */
	if (sigprocmask(SIG_UNBLOCK, &one, &before) == 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

bool signals_end_the_start(void)
{
	sigset_t deadly;

	stop_if_asked();
	find_deadly(&deadly);
	for (size_t i = 0; i < COUNT_OF(ending); i++)
		if (sigismember(&deadly, ending[i]) == 1)
			return true;
	return false;
}

void signals_die_of_them(void)
{
	sigset_t deadly;

	find_deadly(&deadly);
	forbid_core(); /* of SIGQUIT there is no core to look at */
	(void)sigprocmask(SIG_UNBLOCK, &deadly, NULL);
}

bool signals_await(const struct signals *signals, int descriptor)
{
	struct pollfd fds[] = {
		{ .fd = signals->fd, .events = POLLIN },
		{ .fd = descriptor, .events = POLLIN },
	};

	return poll(fds, COUNT_OF(fds), -1) >= 0 || errno == EINTR;
}

void signals_pass_on(struct signals *signals, cordon_run_handle *run)
{
	bool is_typed;
	int number;

	while (signal_fd_take(signals->fd, &number, &is_typed)) {
		if (is_typed)
			signals->typed |= UINT64_C(1) << number;
		else
			signals->sent |= UINT64_C(1) << number;
		/* A command that has just ended needs none any more. */
		(void)cordon_signal(run, is_typed ? -number : number, NULL);
	}
}

void signals_end_likewise(const struct signals *signals, int number, bool had_terminal)
{
	uint64_t bit = UINT64_C(1) << number;
	bool was_typed = (signals->typed & bit) || (had_terminal && !(signals->sent & bit));
	sigset_t set;

	/*
	 * A shell that runs a loop ends it at Ctrl-C only when it sees that what it
	 * ran died of that.
	 */
	if (!was_typed || (number != SIGINT && number != SIGQUIT))
		return;
	forbid_core(); /* the core is the command's, not this process's */
	sigemptyset(&set);
	sigaddset(&set, number);
	if (signal(number, SIG_DFL) == SIG_ERR || raise(number) != 0)
		return;
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- For who waits for a command that runs elsewhere ----------------------------------------- */

/* What arrives is a byte in this pipe, which cordon_escalate() reads. */
static int signal_pipe[2] = { -1, -1 };

static void note_signal(int number)
{
	const unsigned char byte = (unsigned char)number;
	int kept = errno;

	/* When it is full, as many signals wait already. */
	while (write(signal_pipe[1], &byte, 1) < 0 && errno == EINTR)
		;
	errno = kept;
}

int signals_as_bytes(void)
{
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };

	int null = 0;

	/* What the caller has closed is empty outside as well, and not this pipe. */
	while (null >= 0 && null <= STDERR_FILENO)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		(void)close(null);
	if (pipe(signal_pipe) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC) < 0 ||
		    fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK) < 0)
			return -1;
	for (size_t i = 0; i < COUNT_OF(passed_on); i++) {
		struct sigaction before;

		/* What is ignored stays so; what stops this process does not stop what runs outside. */
		if (passed_on[i] == SIGTSTP || passed_on[i] == SIGCONT)
			continue;
		if (sigaction(passed_on[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(passed_on[i], &action, NULL);
	}
	return signal_pipe[0];
}
