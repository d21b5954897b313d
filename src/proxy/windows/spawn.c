/* SPDX-License-Identifier: MIT */
/*
 * See spawn.h. Windows can't copy a process. Cordon starts its own program again, with a pipe as its standard input and
 * nothing else: through it come the channel, the rules and the token (handover.h), then its end. So no word of a command
 * line and no variable has a secret, and no file is read anew. The process says one byte when it has taken the channel; only then
 * may this one close its copy of that end, which would hide the other's end.
 */
#include "proxy/spawn.h"

#include <errno.h>

#include "os/arguments.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/socket.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/fd_pass.h"
#include "os/windows/handle.h"
#include "os/windows/process.h"
#include "proxy/handover.h"
#include "proxy/server.h"
#include "proxy/windows/spawned.h"

enum { BEGIN_MS = 15000, PIECE = 16 << 10 };

/* What comes first. */
struct preface {
	struct fd_pass_socket channel;
	uint64_t parent;
};

/* ---- The parent ----------------------------------------------------------------------------------------- */

struct start {
	struct process process;
	int ends[2];	  /* of the channel; [1] is the proxy's */
	int ours, theirs; /* of the pipe */
	uint64_t deadline;
};

static void wipe(struct buf *b)
{
	if (b->p)
		os_wipe(b->p, b->len);
	buf_done(b);
}

static int fail_ended(struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_PROXY_ENDED, "the proxy's process ended before it had begun");
}

static int await_pipe(const struct start *s, struct err *e)
{
	HANDLE handles[] = { handle_wait(s->ours, true), s->process.handle };
	uint64_t now = GetTickCount64();
	DWORD r;

	if (now >= s->deadline)
		return FAIL_SYS(e, ETIMEDOUT, "the proxy's process did not begin in time");
	r = WaitForMultipleObjects(2, handles, FALSE, (DWORD)(s->deadline - now));
	return r == WAIT_OBJECT_0 + 1 ? fail_ended(e) : 0;
}

static int write_all(const struct start *s, struct str bytes, struct err *e)
{
	while (bytes.len > 0) {
		long long n = pipe_write(s->ours, bytes.p, MIN_OF(bytes.len, (size_t)PIECE));

		if (n > 0)
			bytes = str_from(bytes, (size_t)n);
		else if (n != -EAGAIN)
			return fail_ended(e);
		else if (await_pipe(s, e) < 0)
			return err_result(e);
	}
	/* Closing the pipe would take back a write that is under way. */
	return await_pipe(s, e);
}

/* Its byte, which says that it has taken the channel. */
static int await_begin(const struct start *s, struct err *e)
{
	char byte;

	while (GetTickCount64() < s->deadline) {
		if (socket_wait(s->ends[0], false, 20))
			return socket_receive(s->ends[0], &byte, 1) == 1 ? 0 : fail_ended(e);
		if (WaitForSingleObject(s->process.handle, 0) == WAIT_OBJECT_0 &&
		    !socket_wait(s->ends[0], false, 0))
			return fail_ended(e);
	}
	return FAIL_SYS(e, ETIMEDOUT, "the proxy's process did not begin in time");
}

static int hand_over(struct start *s, struct str options, struct err *e)
{
	struct preface first = { .parent = GetCurrentProcessId() };
	int r = fd_pass_copy(s->ends[1], s->process.id, &first.channel);

	if (r < 0)
		return FAIL_SYS(e, -r, "can't give the proxy its channel");
	fd_pass_set_process(s->ends[0], s->process.id);
	if (write_all(s, (struct str){ (const char *)&first, sizeof(first) }, e) < 0 ||
	    write_all(s, options, e) < 0)
		return err_result(e);
	fd_close(&s->ours);
	return await_begin(s, e);
}

/* It needs to be found by the libraries of Windows, and nothing else. */
static int make_environment(struct arena *a, const char *out[2], struct err *e)
{
	const char *root = os_environment_find(os_environment(), "SystemRoot");
	struct str text;

	out[0] = out[1] = NULL;
	if (!root)
		return 0;
	if (arena_printf(a, &text, e, "SystemRoot=%s", root) < 0)
		return err_result(e);
	out[0] = text.p;
	return 0;
}

static int start_process(struct start *s, struct err *e)
{
	scoped_arena a = ARENA_INIT(256 << 10);
	const char *environment[2];
	struct str program;
	int r;

	if (os_program_path(&a, &program, e) < 0 || make_environment(&a, environment, e) < 0)
		return err_result(e);
	r = pipe_ends(false, &s->ours, &s->theirs);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't make the pipe of the proxy");
	r = process_start(
		&(struct process_start){
			.program = program.p,
			.argv = (const char *const[]){ program.p, SPAWNED_NAME, NULL },
			.environment = environment,
			.stdio = { s->theirs, -1, -1 },
			.is_hidden = true },
		&s->process, e);
	fd_close(&s->theirs);
	return r < 0 ? err_wrap(e, "can't start the proxy") : 0;
}

static int spawn(struct start *s, struct str options, struct proxy *p, struct err *e)
{
	struct proxy made = PROXY_NONE;
	int r = fd_pass_open(s->ends, FD_PASS_NO_WAIT);

	if (r < 0)
		return FAIL_SYS(e, -r, "can't make the channel of the proxy");
	if (start_process(s, e) < 0 || hand_over(s, options, e) < 0)
		return err_result(e);
	made.pid = (pid_t)s->process.id;
	made.pidfd = handle_add(HANDLE_PROCESS, s->process.handle);
	/* It is taken over, also on failure. */
	s->process.handle = NULL;
	if (made.pidfd < 0)
		return FAIL_SYS(e, EMFILE, "can't watch the proxy");
	made.channel = s->ends[0];
	s->ends[0] = -1;
	*p = made;
	return 0;
}

static void clean_up(struct start *s)
{
	if (s->process.handle)
		(void)TerminateProcess(s->process.handle, 1);
	process_done(&s->process);
	fd_close(&s->ends[0]);
	fd_close(&s->ends[1]);
	fd_close(&s->ours);
	fd_close(&s->theirs);
}

int proxy_spawn(struct proxy *p, const struct proxy_options *options,
		const struct rule_place *place, struct err *e)
{
	struct start s = { .process = PROCESS_NONE, .ends = { -1, -1 }, .ours = -1, .theirs = -1 };
	struct buf bytes = BUF_INIT(HANDOVER_MAX_BYTES);
	int r;

	/* SECURITY: what a command sends may take the proxy over; it must not get more by that than the command has. */
	if (!options->may_be_unconfined) {
		(void)FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				 "a run with a managed network is not built for Windows in this "
				 "version: the proxy can't confine itself here");
		err_add_line(e, "use --network off or full, or run programs beside 'cordon proxy'");
		return err_result(e);
	}
	if (!os_can_be_inner()) {
		(void)FAIL_CAUSE(
			e, CAUSE_OTHER_PLATFORM,
			"can't start the proxy: on Windows it is this program, started again");
		err_add_line(e,
			     "call cordon_inner_main() first in main(), or run the command cordon");
		return err_result(e);
	}
	s.deadline = GetTickCount64() + BEGIN_MS;
	r = handover_print(options, place, &bytes, e);
	if (r == 0)
		r = spawn(&s, buf_str(&bytes), p, e);
	clean_up(&s);
	wipe(&bytes);
	return r;
}

/* ---- The process ---------------------------------------------------------------------------------------- */

static int read_all(struct buf *out, struct err *e)
{
	HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
	char piece[PIECE];
	DWORD n = 0;

	while (ReadFile(input, piece, sizeof(piece), &n, NULL) && n > 0)
		buf_add(out, (struct str){ piece, n });
	os_wipe(piece, sizeof(piece));
	(void)CloseHandle(input);
	(void)SetStdHandle(STD_INPUT_HANDLE, NULL);
	return buf_check(out, e);
}

/* Whoever starts it by hand: there is nobody to tell why it ends. */
int spawned_main(void)
{
	static struct rule_place place;
	struct buf bytes = BUF_INIT(HANDOVER_MAX_BYTES + sizeof(struct preface));
	struct arena a = ARENA_INIT((size_t)4 * HANDOVER_MAX_BYTES);
	struct proxy_options options;
	struct preface first;
	struct err e = ERR_INIT;
	int channel;

	if (read_all(&bytes, &e) < 0 || bytes.len < sizeof(first))
		return 1;
	memcpy(&first, bytes.p, sizeof(first));
	channel = fd_pass_take(&first.channel);
	if (channel < 0 || socket_send(channel, "b", 1) != 1 ||
	    handover_parse(&a, str_from(buf_str(&bytes), sizeof(first)), &options, &place, &e) < 0)
		return 1;
	server_run(&options, &place, channel, (pid_t)first.parent);
}
