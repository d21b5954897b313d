/* SPDX-License-Identifier: MIT */
/* Starting the probe, or any program, and reading what it prints. */
#pragma once

#include <errno.h>

#include "../unit/test.h"

#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/handle.h"
#include "os/windows/job.h"
#include "os/windows/process.h"
#include "os/windows/text.h"

/* The path of a program that the build has put into a variable, as Windows writes it. */
TEST_MAY_BE_UNUSED static const char *program_of(const char *variable)
{
	static char paths[2][PATH_MAX_BYTES];
	static int next;
	const char *given = os_environment_find(os_environment(), variable);
	char *path = paths[next++ % 2];

	/* Z: is the root of what is around Wine. */
	if (!given)
		return "";
	(void)snprintf(path, PATH_MAX_BYTES, given[0] == '/' ? "Z:%s" : "%s", given);
	return path;
}

struct child {
	struct process process;
	int out; /* what it prints, with its errors */
};

TEST_MAY_BE_UNUSED static int open_null(void)
{
	HANDLE null = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE,
				  FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);

	return handle_add(HANDLE_FILE, null);
}

TEST_MAY_BE_UNUSED static bool child_start(struct process_start *how, struct child *out)
{
	struct err e = ERR_INIT;
	int theirs = -1, null = open_null();
	bool is_started = pipe_ends(true, &out->out, &theirs) == 0;

	how->stdio[0] = how->stdio[0] ? how->stdio[0] : null;
	how->stdio[1] = how->stdio[2] = theirs;
	out->process = (struct process)PROCESS_NONE;
	if (is_started && process_start(how, &out->process, &e) < 0) {
		printf("# %s\n", e.text);
		is_started = false;
	}
	handle_close(theirs);
	handle_close(null);
	return is_started;
}

/* All that it prints, cut at `room`, then its status. */
TEST_MAY_BE_UNUSED static uint32_t child_finish(struct child *c, char *text, size_t room)
{
	uint32_t status = UINT32_MAX;
	size_t len = 0;
	long long n;

	do {
		n = pipe_read(c->out, text + len, room - 1 - len);
		if (n == -EAGAIN)
			(void)WaitForSingleObject(handle_wait(c->out, false), 10000);
		else if (n > 0)
			len += (size_t)n;
	} while ((n > 0 || n == -EAGAIN) && len < room - 1);
	text[len] = '\0';
	(void)WaitForSingleObject(c->process.handle, 30000);
	(void)process_status(c->process.handle, &status);
	handle_close(c->out);
	process_done(&c->process);
	return status;
}

TEST_MAY_BE_UNUSED static uint32_t run_words(const char *program, const char *const *argv,
					     char *text, size_t room)
{
	struct process_start how = { .program = program, .argv = argv };
	struct child c;

	text[0] = '\0';
	return child_start(&how, &c) ? child_finish(&c, text, room) : UINT32_MAX;
}
