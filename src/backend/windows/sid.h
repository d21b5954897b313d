/* SPDX-License-Identifier: MIT */
/*
 * Security identifiers (SIDs), as text and as the bytes that access lists and tokens have. Pure.
 *
 * A *capability SID* is one that Cordon makes: S-1-5-21-A-B-C-w-x-y-z, where A, B and C are fixed and
 * the rest is a digest. Windows gives accounts the form S-1-5-21 with four numbers behind it, a domain
 * and an account, so with seven no account, group or service has it, on any machine. What it is
 * granted counts only for tokens that Cordon has put it into. The fixed part lets an entry be recognised as Cordon's
 * even where no journal tells of it.
 */
#pragma once

#include "base/arena.h"
#include "base/sha256.h"

enum { SID_MAX_PARTS = 15, SID_MAX_BYTES = 8 + 4 * SID_MAX_PARTS };

/* The length of the SID at the start of `bytes`; 0 if there is none. Length and number of parts agree. */
size_t sid_length(struct str bytes) PURE;

/* "S-1-5-32-544" as bytes, which are its only spelling. ERR_SYNTAX. */
int sid_parse(struct arena *a, struct str text, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* The other way, for bytes that are a SID. */
int sid_print(struct arena *a, struct str sid, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* The capability SID, as text, that a digest stands for. */
int sid_of_capability(struct arena *a, const unsigned char digest[SHA256_BYTES], struct str *out,
		      struct err *e) MUST_CHECK NONNULL;

/* Whether these bytes are a capability SID. */
bool sid_is_capability(struct str sid) PURE;
