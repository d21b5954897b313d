/* SPDX-License-Identifier: MIT */
/*
 * What a process inside writes to the socket of `cordon request`: frames of a length (4 bytes,
 * little endian) and as many bytes of JSON. Pure.
 *
 * SECURITY: everything here was written by what the policy confines. An odd message is refused as a
 * whole; nothing in it is believed, or guessed.
 */
#pragma once

#include <stdbool.h>

#include "backend/inside.h"
#include "base/arena.h"
#include "base/err.h"

enum {
	INSIDE_LENGTH_BYTES = 4,
	INSIDE_MESSAGE_MAX = 64 << 10,
	INSIDE_TEXT_MAX = 4096, /* bytes of a subject or a reason */
	INSIDE_MAX_WORDS = 256, /* of a command */
};

struct inside_message {
	enum inside_kind kind;
	struct str subject, run, reason;
	/* ESCALATE */
	const struct str *command;
	size_t command_count;
	struct str file; /* "": the first word */
	bool is_optional;
	int signal; /* SIGNAL: 1 to 64 */
};

/* The length of a frame; 0: it is none that may be sent. */
size_t inside_read_length(const unsigned char bytes[INSIDE_LENGTH_BYTES]) NONNULL;
void inside_write_length(unsigned char out[INSIDE_LENGTH_BYTES], size_t length) NONNULL;

/* All in `a`. ERR_SYNTAX, ERR_LIMIT, ERR_NOMEM. */
int inside_parse(struct arena *a, struct str text, struct inside_message *out, struct err *e)
	MUST_CHECK NONNULL;
