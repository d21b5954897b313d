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
};
