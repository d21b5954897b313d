/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor of macOS tells the session, by messages as its monitor sends them. It is built here
 * without the rest of that system: no process is started, and no log is read.
 */
#include <errno.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "os/fd_pass.h"
#include "os/loop.h"
#include "test.h"

/* ---- In place of backend/macos/log.c ---------------------------------------------------------------- */

int log_start(struct arena *a, const struct log_request *in, struct log_reader **out, struct err *e)
{
	(void)a;
	(void)in;
	(void)out;
	return FAIL(e, ERR_SYS, "there is no log here");
}

void log_add_process(struct log_reader *l, int32_t pid)
{
	(void)l;
	(void)pid;
}

void log_settle(struct log_reader *l)
{
	(void)l;
}

void log_finish(struct log_reader *l)
{
	(void)l;
}

/* ---- A run ------------------------------------------------------------------------------------------- */

enum { NOBODY = 0x7ffffffe }; /* no process has that number */

static char heard[8]; /* n: not executed, e: ended, g: gone */
static int os_error;
static struct sandbox made;

static void hear(char what)
{
	size_t len = strlen(heard);

	if (len + 1 < sizeof(heard))
		heard[len] = what;
}

static void not_executed(void *user, const struct command_failure *why)
{
	(void)user;
	hear('n');
	os_error = why->os_error;
}

static void ended(void *user, const struct command_end *end)
{
	(void)user;
	hear('e');
	CHECK_INT(end->signal, 0);
}

static void gone(void *user)
{
	(void)user;
	hear('g');
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	(void)a;
	(void)in;
	(void)e;
	*out = made;
	return 0;
}

/* The monitor has sent `message`, unless that is NULL, and has ended. */
static const char *run(struct sandbox sandbox, const struct monitor_message *message)
{
	static const struct backend backend = { .name = "none", .launch = launch };
	static const struct launch nothing;
	scoped_arena a = ARENA_INIT(1 << 20);
	struct supervisor_request request = {
		.events = { .not_executed = not_executed, .ended = ended, .gone = gone }
	};
	struct err e = ERR_INIT;
	struct loop loop;
	struct supervisor *s;
	guarantee_set lost;
	int channel[2], monitor[2];

	memset(heard, 0, sizeof(heard));
	os_error = 0;
	if (fd_pass_open(channel, FD_PASS_NO_WAIT) < 0 || pipe(monitor) < 0 ||
	    loop_init(&loop, &e) < 0)
		return "no run";
	made = sandbox;
	made.channel = channel[0];
	made.monitor = monitor[0];
	if (message)
		CHECK_INT(fd_pass_tell(channel[1], message, sizeof(*message), 0),
			  (ssize_t)sizeof(*message));
	(void)close(channel[1]);
	(void)close(monitor[1]);
	request.loop = &loop;
	if (supervisor_new(&a, &request, &s, &e) < 0 ||
	    supervisor_launch(s, &backend, &nothing, &lost, &e) < 0 || supervisor_attach(s, &e) < 0)
		return "no supervisor";
	for (int i = 0; i < 10 && !strchr(heard, 'g'); i++)
		if (loop_step(&loop, 1000, &e) < 0)
			return "the loop fails";
	supervisor_let_go(s);
	loop_done(&loop);
	(void)close(channel[0]);
	(void)close(monitor[0]);
	return heard;
}

TEST(a_command_that_was_never_executed_has_ended_and_was_not_killed)
{
	const struct sandbox none = { .failure = { .os_error = ENOENT } };
	const struct sandbox some = { .command = NOBODY };
	const struct monitor_message refused = { .kind = MESSAGE_NOT_EXECUTED, .os_error = EACCES };

	/* Known before the sandbox was handed over; and, when sandbox-exec says so, after it. */
	CHECK_STR(run(none, NULL), "neg");
	CHECK_INT(os_error, ENOENT);
	CHECK_STR(run(some, &refused), "neg");
	CHECK_INT(os_error, EACCES);
}

TEST(a_command_that_ran_ends_once_and_one_whose_monitor_is_killed_never)
{
	const struct sandbox some = { .command = NOBODY };
	const struct monitor_message end = { .kind = MESSAGE_ENDED };

	CHECK_STR(run(some, &end), "eg");
	CHECK_STR(run(some, NULL), "g");
}
