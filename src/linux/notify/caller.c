/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID of a thread whose system call is being answered. */
#include "linux/notify/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "os/fd.h"

enum { STATUS_MAX_BYTES = 8192 }; /* about 1,500 but for lists of processors and groups */

int caller_open(int32_t pid, const char *name, int flags)
{
	char path[CALLER_PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
}

static struct str read_text(int32_t pid, const char *name, char *out, size_t size)
{
	scoped_fd fd = caller_open(pid, name, O_RDONLY);
	size_t got = 0;

	while (fd >= 0 && got < size) {
		ssize_t n = read(fd, out + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return (struct str){ out, got };
}

static uint64_t read_number(struct str digits, unsigned base)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.len; i++) {
		char c = ascii_lower(digits.p[i]);
		unsigned digit;

		if (ascii_is_digit(c))
			digit = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			break;
		value = value * base + digit;
	}
	return value;
}

/* The last number of a line: "NSpid:	4711	12	1". */
static struct str last_word(struct str line)
{
	size_t from = line.len;

	while (from > 0 && line.p[from - 1] != '\t' && line.p[from - 1] != ' ')
		from--;
	return str_from(line, from);
}

/*
 * Of "NStgid:	4711	12	1" the 12: the first is this process's own count, the next the
 * sandbox's. Further ones are of namespaces that the command has made, in which any is a 1.
 */
static struct str inner_word(struct str line)
{
	struct str rest = str_from(line, str_find(line, '\t') + 1);
	struct str next = str_from(rest, str_find(rest, '\t') + 1);

	return next.len ? str_first(next, str_find(next, '\t')) : rest;
}

bool caller_read_status(int32_t pid, struct caller_status *out)
{
	UNINITIALIZED char text[STATUS_MAX_BYTES];
	struct str rest = read_text(pid, "status", text, sizeof(text));
	uint64_t blocked = 0, ignored = 0;

	*out = (struct caller_status){ .process = 0 };
	while (rest.len) {
		struct str line = str_first(rest, str_find(rest, '\n'));
		struct str key = str_first(line, str_find(line, ':'));
		struct str word = last_word(line);

		rest = str_from(rest, line.len + 1);
		if (str_is(key, "Umask"))
			out->umask = (uint32_t)read_number(word, 8);
		else if (str_is(key, "Tgid"))
			out->process = (int32_t)read_number(word, 10);
		else if (str_is(key, "NStgid"))
			out->inner_process = (int32_t)read_number(inner_word(line), 10);
		else if (str_is(key, "Threads"))
			out->threads = read_number(word, 10);
		else if (str_is(key, "SigPnd"))
			out->thread_signals = read_number(word, 16);
		else if (str_is(key, "ShdPnd"))
			out->process_signals = read_number(word, 16);
		else if (str_is(key, "SigBlk"))
			blocked = read_number(word, 16);
		else if (str_is(key, "SigIgn"))
			ignored = read_number(word, 16);
	}
	out->thread_signals &= ~(blocked | ignored);
	out->process_signals &= ~(blocked | ignored);
	return out->process > 0;
}

void caller_read_name(int32_t pid, char out[CALLER_NAME_BYTES])
{
	struct str name = read_text(pid, "comm", out, CALLER_NAME_BYTES - 1);

	out[str_find(name, '\n')] = '\0';
}

bool caller_has_signal(int32_t pid)
{
	struct caller_status status;

	if (!caller_read_status(pid, &status))
		return false;
	/* One for the process may be taken by any of its threads. */
	return status.thread_signals || (status.threads == 1 && status.process_signals);
}

bool caller_is_asked_to_end(int32_t pid)
{
	const uint64_t ends = UINT64_C(1) << (SIGINT - 1) | UINT64_C(1) << (SIGTERM - 1) |
			      UINT64_C(1) << (SIGHUP - 1) | UINT64_C(1) << (SIGQUIT - 1);
	struct caller_status status;

	return caller_read_status(pid, &status) &&
	       ((status.thread_signals | status.process_signals) & ends);
}
