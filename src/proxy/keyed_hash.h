/* SPDX-License-Identifier: MIT */
/*
 * A hash of bytes under a key that nobody outside knows (SipHash-1-3), for tables whose
 * keys a client chooses: it can't choose such that all fall into one place.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct hash_key {
	uint64_t words[2];
};

/* ERR_SYS when the system has no random numbers. */
int hash_key_make(struct hash_key *out, struct err *e) MUST_CHECK NONNULL;

uint64_t keyed_hash(const struct hash_key *key, struct str bytes) NONNULL;
