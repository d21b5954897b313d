/* SPDX-License-Identifier: MIT */
/*
 * A hash under a secret random key (SipHash-1-3), for tables whose keys a client chooses. A client
 * that knew the hash could choose keys that all collide.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct hash_key {
	uint64_t words[2];
};

/* ERR_SYS if the system has no random numbers. */
int hash_key_make(struct hash_key *out, struct err *e) MUST_CHECK NONNULL;

uint64_t keyed_hash(const struct hash_key *key, struct str bytes) NONNULL;
