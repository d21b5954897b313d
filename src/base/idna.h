/* SPDX-License-Identifier: MIT */
/*
 * One label of an internationalised name (IDNA2008: RFC 5890 to 5893), from text
 * to its A-label. Upper case and full-width letters are mapped, which RFC 5895
 * and UTS 46 both do; nothing else is: where programs could disagree on which
 * name a text means, the text is refused.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum {
	IDNA_MAX_LABEL = 63, /* RFC 1035, 2.3.4 */
};

struct idna_label {
	char text[IDNA_MAX_LABEL + 1]; /* lower case, ASCII */
	size_t len;
	bool rtl;     /* has a character that is written from right to left */
	bool bidi_ok; /* keeps the rule of RFC 5893, which binds all labels once one is rtl */
};

/* ERR_SYNTAX with the reason; the text doesn't name the label. */
int idna_label_parse(struct str text, struct idna_label *out, struct err *e) MUST_CHECK NONNULL;

/* RFC 3492. False when the result does not fit or the input is not Punycode. */
bool punycode_encode(const uint32_t *in, size_t count, char *out, size_t room, size_t *len) NONNULL;
bool punycode_decode(struct str in, uint32_t *out, size_t room, size_t *count) NONNULL;
