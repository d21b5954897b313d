/* SPDX-License-Identifier: MIT */
/*
 * What is known of the characters of host names, in tables that
 * scripts/gen_idna_table.py makes. Each is sorted, so that it can be searched.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The classes of RFC 5893; in the lower bits of `kind`. */
enum {
	IDNA_L,
	IDNA_R, /* and AL, which the rule treats alike */
	IDNA_AN,
	IDNA_EN,
	IDNA_NSM,
	IDNA_OTHER, /* ES, CS, ET, ON, BN */
	IDNA_BIDI = 7,
	IDNA_MARK = 8, /* general category M: can't be the first of a label */
};

/* Allowed (PVALID of RFC 5892): every `step`th from `first` to `last`. */
struct idna_run {
	uint32_t first, last;
	uint8_t step;
	uint8_t kind;
	uint8_t combining; /* canonical combining class */
};

/* Upper case and width variants of one allowed character: `first` stands for `to`, and so on. */
struct idna_fold {
	uint32_t first, last;
	uint32_t step;
	uint32_t to;
};

/* Two allowed characters that NFC writes as one; sorted by `second`, then `first`. */
struct idna_pair {
	uint32_t second, first;
	uint32_t both;
};

extern const struct idna_run idna_allowed[];
extern const struct idna_fold idna_folds[];
extern const struct idna_pair idna_pairs[];
extern const size_t idna_allowed_count, idna_folds_count, idna_pairs_count;
