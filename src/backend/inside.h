/* SPDX-License-Identifier: MIT */
/*
 * What a process inside a sandbox asks for by itself (`cordon request`), as the supervisor tells the
 * session. docs/approvals.md describes the messages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/*
 * Where the command connects to in order to ask (P22). No file is ever there: the supervisor answers
 * the connect() itself, and so knows which process each connection belongs to.
 */
#define INSIDE_SOCKET "/proc/cordon/ask"

enum inside_kind {
	INSIDE_HELLO, /* which run is this? */
	INSIDE_WRITE,
	INSIDE_CONNECT,
	INSIDE_UNIX_SOCKET,
	INSIDE_ESCALATE, /* a command is to be run outside */
	INSIDE_SIGNAL,	 /* for the command that runs outside: not a request of its own */
	INSIDE_REFUSED,	 /* what was refused, that nobody has been told of yet? */
};

/*
 * What a command is run outside with: the caller's standard streams and its directory. Whoever is told
 * of them takes them over, and gives them to supervisor_close_taken() in the end.
 */
struct inside_taken {
	int stdio[3];
	int cwd; /* O_PATH, the host's */
	/*
	 * Of a stream that was opened for reading through a mount that is not read-only: who has it
	 * could open the file again for writing. So the command has to be allowed to write it. "": there
	 * is nothing to look at.
	 */
	struct str reopens[3];
	bool has_terminal; /* one of them is the run's own terminal */
	/* Of the directory, which is the host's at that path as well. */
	struct str path;
	uint64_t device, inode;
};

/* What a process inside asks for, in its own words. Everything is borrowed. */
struct inside_request {
	uint64_t id; /* never used twice in a run, not 0; of no other kind of request */
	enum inside_kind kind;
	/* WRITE, UNIX_SOCKET: the canonical path, which may not exist. CONNECT: NAME[:PORT]. */
	struct str subject;
	struct str named;	/* the path as the program wrote it */
	struct str run;		/* the run that it believes to be in; "": it does not say */
	struct str reason;	/* "": none is given */
	struct str program;	/* its path inside; "": not known */
	int32_t pid;		/* inside */
	const struct str *argv; /* the program's own */
	size_t argv_count;
	struct str cwd; /* "": not known */

	/* ESCALATE: */
	const struct str *command; /* its words; at least one */
	size_t command_count;
	struct str file;  /* what is to be executed, where it is not the first word; "" */
	bool is_optional; /* a shell asks about each command: one without a rule runs inside */
	const struct inside_taken *taken; /* NULL: they can't be had, and `refused` says why */
	const char *refused;
	/* SIGNAL; `id` is that of the ESCALATE. */
	int signal;
};
