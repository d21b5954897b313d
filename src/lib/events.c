/* SPDX-License-Identifier: MIT */
/*
 * --events: what happens in a run as lines of JSON, while it happens. A line is written with one
 * call before the run goes on, so a reader that does not read stops the run.
 */
#include "base/path.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "os/append.h"
#include "os/fd.h"

enum { LINE_MAX_BYTES = 8 << 20, FD_MAX = 1 << 20 };

/* The number that the text is, or -1: then it is a file. */
static int find_number(const char *text)
{
	int number = 0;

	for (const char *p = text; *p; p++) {
		if (!ascii_is_digit(*p) || number > FD_MAX)
			return -1;
		number = number * 10 + (*p - '0');
	}
	return text[0] ? number : -1;
}

static int take_descriptor(struct arena *a, const cordon_policy *policy, int number,
			   struct events *out, struct err *e)
{
	char room[PATH_MAX_BYTES];
	struct str path;

	if (number <= 2)
		return FAIL(e, ERR_ARGUMENT,
			    "--events %d: the command writes to the standard streams itself; use a "
			    "descriptor above 2, or a file",
			    number);
	if (os_append_take(number, &out->fd, e) < 0)
		return err_wrap(e, "--events");
	path = os_append_path(out->fd, room, sizeof(room));
	return path.len ? asked_check_log(a, policy, "--events", path, e) : 0;
}

static int open_file(struct arena *a, const cordon_policy *policy, const char *file,
		     struct events *out, struct err *e)
{
	char shown[256];
	struct str path;

	if (!file[0])
		return FAIL(e, ERR_ARGUMENT, "--events needs a file name or a descriptor");
	if (strcmp(file, "-") == 0)
		return FAIL(e, ERR_ARGUMENT,
			    "--events can't write to the standard output; './-' is a file of that "
			    "name");
	if (inputs_absolute(a, file, &path, e) < 0)
		return err_wrap(e, "--events");
	if (asked_check_log(a, policy, "--events", path, e) < 0)
		return err_result(e);
	if (os_append_open(path, &out->fd, e) < 0)
		return err_wrap(e, "--events '%s'", utf8_show(path, shown, sizeof(shown)));
	return 0;
}

int events_open(struct arena *a, const cordon_policy *policy, const char *where, struct events *out,
		struct err *e)
{
	int number = where ? find_number(where) : -1;
	int status = 0;

	*out = (struct events){ .fd = -1 };
	if (!where)
		return 0;
	status = number >= 0 ? take_descriptor(a, policy, number, out, e)
			     : open_file(a, policy, where, out, e);
	if (status < 0)
		events_close(out);
	return status;
}

void events_close(struct events *events)
{
	fd_close(&events->fd);
}

/* A stream that breaks is told of once; the run goes on. */
static void write_line(struct events *events, struct callbacks *callbacks, const struct buf *line)
{
	struct err e = ERR_INIT;
	int status;

	if (buf_check(line, &e) < 0) {
		callbacks_warn(callbacks, "an event is too long for --events and is left out");
		return;
	}
	status = os_append(events->fd, buf_str(line));
	if (status == 0)
		return;
	(void)FAIL_SYS(&e, -status, "can't write to --events, so no more events are written");
	callbacks_warn(callbacks, e.text);
	events_close(events);
}

void events_tell_start(struct events *events, cordon_result *result)
{
	scoped_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (events->fd < 0)
		return;
	event_print_start(&line, result);
	write_line(events, &result->callbacks, &line);
}

void events_tell_denial(struct events *events, struct callbacks *callbacks, struct str run,
			const struct denial *denial)
{
	scoped_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (events->fd < 0)
		return;
	event_print_denial(&line, run, denial);
	write_line(events, callbacks, &line);
}

void events_tell_request(struct events *events, struct callbacks *callbacks, struct str run,
			 const struct ask *ask, uint64_t deadline_ms)
{
	scoped_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (events->fd < 0)
		return;
	event_print_request(&line, run, ask, deadline_ms);
	write_line(events, callbacks, &line);
}

void events_tell_answer(struct events *events, struct callbacks *callbacks, struct str run,
			const struct ask *ask, const struct answer *answer)
{
	scoped_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (events->fd < 0)
		return;
	event_print_answer(&line, run, ask, answer);
	write_line(events, callbacks, &line);
}

void events_tell_end(struct events *events, cordon_result *result, const struct err *failure)
{
	scoped_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (events->fd < 0)
		return;
	event_print_end(&line, result, failure);
	write_line(events, &result->callbacks, &line);
	events_close(events);
}
