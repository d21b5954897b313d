/* SPDX-License-Identifier: MIT */
/*
 * The id of a request that can't be read as a whole: too long, too deep, not JSON. Without it the
 * client could not tell which of its requests was refused, and would wait. Pure, fed in pieces, and
 * only ever used for the answer that refuses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SALVAGE_ID_BYTES = 128 };

struct salvage {
	uint32_t depth;
	bool is_none; /* no object, or not even like one */
	bool in_string, is_escaped, in_value;
	bool has_method, takes_id; /* the value that comes is the id */
	char key[8];
	size_t key_bytes;	   /* over its size: another key */
	char id[SALVAGE_ID_BYTES]; /* as it is written, quotes included */
	size_t id_bytes;
	uint32_t ids;
};

void salvage_init(struct salvage *s) NONNULL;
void salvage_feed(struct salvage *s, struct str bytes) NONNULL;

/*
 * The id as it is written in JSON, of something that has one and a method, each at the top; "" if
 * there is none, or more than one.
 */
struct str salvage_id(const struct salvage *s) NONNULL;
