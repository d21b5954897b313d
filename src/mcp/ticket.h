/* SPDX-License-Identifier: MIT */
/*
 * `requestState` of the revision 2026-07-28: a question leaves with the answer to a call, and the
 * client repeats the call with what was decided. The server keeps what it asked; the ticket only says
 * which question is meant, and nobody can make one. Pure.
 *
 * SECURITY: it binds tool, exact arguments, policy, questions with their offers, and an expiry. Who
 * presents it accepts it, once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sha256.h"

enum { TICKET_BYTES = 160 }; /* and more than any has */

struct ticket_key {
	unsigned char bytes[SHA256_BYTES]; /* of this process, random */
};

struct ticket {
	uint64_t number; /* of the question; never used twice */
	uint64_t expires_ms;
};

/* What it is bound to: all as they were when the question was asked. */
struct ticket_subject {
	struct str tool, arguments, policy, questions;
};

/* Into a buffer of TICKET_BYTES. */
void ticket_print(const struct ticket_key *key, const struct ticket *ticket,
		  const struct ticket_subject *subject, struct buf *out) NONNULL;

/* What it claims to be. False: it is none. Nothing is believed before ticket_is_ours(). */
bool ticket_parse(struct str text, struct ticket *out) MUST_CHECK NONNULL;

/* Whether this process made that very text for that subject. */
bool ticket_is_ours(const struct ticket_key *key, struct str text, const struct ticket *ticket,
		    const struct ticket_subject *subject) NONNULL;
