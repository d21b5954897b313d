/* SPDX-License-Identifier: MIT */
/*
 * What Cordon and its runner say to each other. The runner is this program, started as one of the accounts that only
 * commands have (machine.h), because nobody but such a process may give a command that account's token. Pure.
 *
 *	runner -> Cordon	HELLO
 *	Cordon -> runner	START
 *	runner -> Cordon	STARTED: the command exists, waits, and is in Cordon's job; or FAILED
 *
 * Then Cordon takes the handles of the command out of the runner and closes the pipes, and the runner ends.
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
enum {
	RUNNER_MAX_WORDS = 8192,
	RUNNER_MAX_SIDS = 128,
	RUNNER_CANARIES = 3,
	RUNNER_TEXT_BYTES = 512
};

enum runner_type {
	RUNNER_START = 1,
	RUNNER_HELLO = 16,
	RUNNER_STARTED = 17,
	RUNNER_FAILED = 18,
};

/* What failed. */
enum runner_stage {
	RUNNER_STAGE_MESSAGE = 1, /* a message is not valid */
	RUNNER_STAGE_TOKEN,   /* the token could not be restricted, or is not; or there is no job */
	RUNNER_STAGE_CHECK,   /* something is open that should be closed */
	RUNNER_STAGE_COMMAND, /* the command could not be executed */
	RUNNER_STAGE_COUNT
};

struct runner_list {
	const char **items; /* NULL behind the last */
	size_t count;
};

struct runner_start {
	const char *directory;	     /* where it starts */
	struct runner_list programs; /* the first of these files that can be executed is */
	struct runner_list argv, environment;
	struct runner_list sids; /* that restrict its token, as text; "logon" is the runner's own */
	uint64_t stdio[3];	 /* handles in the runner; 0: none */
	/* Files, in this order: to be written by none of those SIDs; to be read by none; to be read and written. */
	struct runner_list canaries;
	/* Ports of the loopback that somebody listens on, and that it must not reach; 0: none. */
	uint32_t closed_v4, closed_v6;
};

struct runner_message {
	enum runner_type type;
	struct runner_start start;
	uint32_t process;	 /* HELLO: the runner's; STARTED: the command's */
	uint64_t handle, thread; /* STARTED: the command's, in the runner */
	enum runner_stage stage;
	uint32_t os_error; /* FAILED: an errno, or an error of Windows; 0: none */
	uint32_t index;	   /* FAILED: the program that it is about */
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

/* The second word of the runner's command line. The third is the name of its pipes. */
#define RUNNER_NAME "cordon-runner"

/* On Windows alone: what the runner does; its exit status. */
int runner_main(int argc, char **argv);

/* Whether Cordon may say it; else the runner. */
bool runner_is_order(enum runner_type type) PURE;
