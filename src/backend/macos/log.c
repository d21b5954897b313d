/* SPDX-License-Identifier: MIT */
/*
 * Refused accesses of a run, from the system's log: /usr/bin/log streams what the kernel says of all
 * sandboxes of the host, and what is about the run's processes becomes its denials. The lines are read by
 * pure code (seatbelt/log.h). It confines nothing: without it a run loses names, nothing else.
 */
#include <errno.h>
#include <unistd.h>

#include "backend/macos/macos.h"
#include "backend/seatbelt/log.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/program.h"
#include "os/socket.h"
#include "os/streams.h"

/* SECURITY: never looked for in PATH. */
static const char tool[] = "/usr/bin/log";

static const char *const arguments[] = {
	"log", "stream", "--style", "ndjson", "--predicate",
	/* SECURITY: the lines are looked at again; see seatbelt/log.c. */
	"processID == 0 AND senderImagePath ENDSWITH \"/Sandbox\" AND eventMessage CONTAINS \" "
	"deny\"",
	NULL
};

enum {
	MAX_PID = 1 << 17, /* macOS has 99,999 */
	LATE_BYTES = 256 << 10,
	SCRATCH_BYTES = 512 << 10,
	READY_MS = 3000, /* it says first what it filters by */
	QUIET_MS = 400,	 /* entries come late, but together */
	REST_MS = 2000,
};

struct log_reader {
	struct log_request in;
	struct watcher output;
	int helper;
	bool is_settled;
	struct buf line;
	struct buf late; /* lines about processes that are not known (yet) */
	uint64_t unclear;
	uint8_t processes[MAX_PID / 8];
};

/* ---- Which processes are the run's ------------------------------------------------------------------ */

void log_add_process(struct log_reader *l, int32_t pid)
{
	if (pid > 0 && pid < MAX_PID)
		l->processes[pid / 8] |= (uint8_t)(1u << (pid % 8));
}

static bool is_ours(const struct log_reader *l, int32_t pid)
{
	return pid > 0 && pid < MAX_PID && (l->processes[pid / 8] >> (pid % 8) & 1);
}

/* ---- Lines --------------------------------------------------------------------------------------------- */

static void take_line(struct log_reader *l, struct str line, bool is_last)
{
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	struct seatbelt_refusal refusal;
	struct denial denial;

	switch (seatbelt_read_line(&scratch, line, &refusal)) {
	case SEATBELT_OTHER:
		return;
	case SEATBELT_UNCLEAR:
		l->unclear++;
		return;
	case SEATBELT_REFUSAL:
		break;
	}
	if (is_ours(l, refusal.pid)) {
		if (seatbelt_find_denial(l->in.plan, &refusal, &denial))
			denials_add(l->in.denials, &denial);
		return;
	}
	/* The log may be faster than the monitor. */
	if (is_last)
		return;
	buf_add(&l->late, line);
	buf_add_char(&l->late, '\n');
	if (l->late.failed != ERR_OK)
		buf_clear(&l->late);
}

static void take_bytes(struct log_reader *l, struct str bytes)
{
	while (bytes.len) {
		size_t end = str_find(bytes, '\n');

		buf_add(&l->line, str_first(bytes, end));
		if (end == bytes.len)
			return;
		/* One that has no room is too long for a refusal, and is dropped whole. */
		if (l->line.failed == ERR_OK)
			take_line(l, buf_str(&l->line), false);
		else
			l->unclear++;
		buf_clear(&l->line);
		bytes = str_from(bytes, end + 1);
	}
}

/* False: there is nothing more to come. */
static bool read_some(struct log_reader *l)
{
	char bytes[16 << 10];
	ssize_t n = os_read_output(l->output.fd, bytes, sizeof(bytes));

	if (n > 0)
		take_bytes(l, (struct str){ bytes, (size_t)n });
	return n > 0 || n == -EAGAIN || n == -EINTR;
}

static int output_is_ready(void *user, uint32_t events, struct err *e)
{
	struct log_reader *l = user;

	(void)events;
	(void)e;
	if (read_some(l))
		return 0;
	loop_remove(l->in.loop, &l->output);
	l->in.warn(l->in.user, "/usr/bin/log has ended: what is refused from now on is not named");
	return 0;
}

/* ---- Its life --------------------------------------------------------------------------------------------- */

static int start_program(struct log_reader *l, struct err *e)
{
	static const char *const nothing[] = { NULL };
	char start[4];
	scoped_fd null = os_open_null(), file = -1, written = -1;
	struct os_program program = { .argv = arguments, .environment = nothing };
	int r;

	if (macos_check_tool(tool, "--log-denials", e) < 0)
		return err_result(e);
	file = os_program_open(tool, start, sizeof(start));
	if (file < 0)
		return FAIL_SYS(e, -file, "can't open %s", tool);
	r = null < 0 ? null : os_open_output(&l->output.fd, &written);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a pipe");
	program.file = file;
	program.stdio[0] = program.stdio[2] = null;
	program.stdio[1] = written;
	r = os_program_start(&program, &l->helper);
	return r < 0 ? FAIL_START(e, -r, "can't start %s", tool) : 0;
}

static void end_program(struct log_reader *l)
{
	if (l->helper >= 0) {
		os_program_kill(l->helper);
		(void)os_reap(l->helper);
		fd_close(&l->helper);
	}
	fd_close(&l->output.fd);
}

/* It has seen the log's end before the command runs, or says at once why it can't (not an administrator). */
static int await_first(struct log_reader *l, struct err *e)
{
	if (!socket_wait(l->output.fd, false, READY_MS))
		return FAIL_SYS(e, ETIMEDOUT, "%s says nothing", tool);
	if (!read_some(l))
		return FAIL_SYS(e, EPERM, "%s has ended (it serves administrators alone)", tool);
	return 0;
}

int log_start(struct arena *a, const struct log_request *in, struct log_reader **out, struct err *e)
{
	struct log_reader *l = ARENA_NEW(a, struct log_reader, e);

	if (!l)
		return err_result(e);
	*l = (struct log_reader){ .in = *in,
				  .helper = -1,
				  .line = BUF_INIT(SEATBELT_LINE_BYTES + 1),
				  .late = BUF_INIT(LATE_BYTES) };
	l->output = (struct watcher){ .fd = -1, .ready = output_is_ready, .user = l };
	if (start_program(l, e) < 0 || await_first(l, e) < 0 ||
	    loop_add(in->loop, &l->output, LOOP_IN, e) < 0) {
		log_finish(l);
		return err_result(e);
	}
	*out = l;
	return 0;
}

void log_settle(struct log_reader *l)
{
	uint64_t end_ms = loop_now() + REST_MS;
	struct str rest, line;

	if (l->is_settled)
		return;
	l->is_settled = true;
	while (l->output.is_added && loop_now() < end_ms &&
	       socket_wait(l->output.fd, false, QUIET_MS) && read_some(l))
		;
	rest = buf_str(&l->late);
	while (str_next_line(&rest, &line))
		take_line(l, line, true);
	buf_clear(&l->late);
}

void log_finish(struct log_reader *l)
{
	log_settle(l);
	loop_remove(l->in.loop, &l->output);
	end_program(l);
	if (l->unclear)
		l->in.warn(l->in.user,
			   "the log has refusals that can be read in more than one way, or "
			   "not at all: they are not named");
	l->unclear = 0;
	buf_done(&l->line);
	buf_done(&l->late);
}
