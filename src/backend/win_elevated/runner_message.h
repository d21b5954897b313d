/* SPDX-License-Identifier: MIT */
/*
 * What Cordon and its runner say to each other. The runner is this program, started as one of the accounts that only
 * commands have (machine.h), because nobody but such a process may give a command that account's token. Pure.
 *
 *	Cordon -> runner	START (once, first), KILL
 *	runner -> Cordon	HELLO (once, first), then STARTED or FAILED, then EXITED
 *
 * A frame is the number of bytes behind the first four, the version and the type, all little endian, and then what the
 * type has: numbers of 4 or 8 bytes, texts with their length in front, lists with their count in front.
 *
 * SECURITY: the runner's side is exposed to whatever else runs as that account, so all is checked: a version
 * or a type that is not known, a frame that is too large, a list that is too long, a text with a NUL, a byte too
 * much. The first of these ends the connection. Both programs are the same file, so there is one version.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum { RUNNER_VERSION = 1, RUNNER_MAX_BYTES = 1 << 20, RUNNER_HEADER_BYTES = 8 };
enum { RUNNER_MAX_WORDS = 8192, RUNNER_MAX_SIDS = 128, RUNNER_TEXT_BYTES = 512 };

enum runner_type {
	RUNNER_START = 1,
	RUNNER_KILL = 2,
	RUNNER_HELLO = 16,
	RUNNER_STARTED = 17,
	RUNNER_FAILED = 18,
	RUNNER_EXITED = 19,
};

/* What failed. */
enum runner_stage {
	RUNNER_STAGE_MESSAGE = 1, /* a message is not valid */
	RUNNER_STAGE_TOKEN,	  /* the token could not be restricted, or is not */
	RUNNER_STAGE_CHECK,	  /* something is open that should be closed */
	RUNNER_STAGE_COMMAND,	  /* the command could not be executed */
	RUNNER_STAGE_COUNT
};

struct runner_list {
	const char **items; /* NULL behind the last */
	size_t count;
};

struct runner_start {
	const char *program;   /* its file */
	const char *directory; /* where it starts */
	struct runner_list argv, environment;
	struct runner_list sids; /* that restrict its token, as text; "logon" is the runner's own */
	uint64_t stdio[3];	 /* handles in the runner; 0: none */
	uint64_t job;		 /* likewise; the command is in it before it runs */
	/* Ports of the loopback that somebody listens on, and that it must not reach; 0: none. */
	uint32_t closed_v4, closed_v6;
};

struct runner_message {
	enum runner_type type;
	struct runner_start start;
	uint32_t process; /* HELLO: the runner's; STARTED: the command's */
	uint32_t status;  /* EXITED */
	enum runner_stage stage;
	uint32_t os_error; /* FAILED: of Windows; 0: none */
	char text[RUNNER_TEXT_BYTES];
};

/* Adds a frame. ERR_LIMIT, ERR_SYNTAX: the message can't be said. */
int runner_print(const struct runner_message *m, struct buf *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Takes the first frame of `bytes`; `*used` is how many it had, 0 if it is not complete yet. Texts are copied
 * into the arena. ERR_SYNTAX, ERR_LIMIT: the connection has to end.
 */
int runner_parse(struct arena *a, struct str bytes, struct runner_message *out, size_t *used,
		 struct err *e) MUST_CHECK NONNULL;

/* Whether Cordon may say it; else the runner. */
bool runner_is_order(enum runner_type type) PURE;
