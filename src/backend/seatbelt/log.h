/* SPDX-License-Identifier: MIT */
/*
 * What the system's log says of refused accesses, as denials of a run. Pure; backend/macos/log.c reads
 * the log.
 *
 * The kernel writes "Sandbox: NAME(PID) deny(1) OPERATION SUBJECT". The command chooses the name of its
 * program and the paths that it tries, line feeds and whole false messages included. So only the form in
 * which each entry is one line of JSON is read; an entry counts if the kernel wrote it; and a message
 * that can be read in two ways is not read at all. What the command can do with that is to hide what it
 * was refused: never to have it said of another process, or under another operation.
 */
#pragma once

#include "backend/denials.h"
#include "plan/plan.h"

enum {
	SEATBELT_NAME_BYTES = 32, /* the kernel keeps no more of a program's name */
	SEATBELT_LINE_BYTES = 64 << 10,
};

struct seatbelt_refusal {
	struct str program;
	int32_t pid;
	uint64_t count;	      /* the log may count equal ones */
	struct str operation; /* "file-write-create" */
	struct str subject;   /* a path, an address, a service; may be empty */
};

enum seatbelt_line {
	SEATBELT_OTHER, /* of something else */
	SEATBELT_REFUSAL,
	SEATBELT_UNCLEAR, /* of a refusal, but nobody can tell which */
};

/* One line of `log stream --style ndjson`, without its end. Texts are in `a`. */
enum seatbelt_line seatbelt_read_line(struct arena *a, struct str line,
				      struct seatbelt_refusal *out) NONNULL;

/*
 * As a denial, with the rule that the plan answers. It borrows from both. False: it is about nothing that
 * a run names (services, signals, what listens).
 */
bool seatbelt_find_denial(const struct plan *plan, const struct seatbelt_refusal *refusal,
			  struct denial *out) NONNULL;
