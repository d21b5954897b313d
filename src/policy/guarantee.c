/* SPDX-License-Identifier: MIT */
/* The names of the guarantees; the list itself is in the header. */
#include "policy/guarantee.h"

#include <stddef.h>

const char *const guarantee_names[] = {
#define GUARANTEE_NAME(name, text, meaning) text,
	GUARANTEES(GUARANTEE_NAME)
#undef GUARANTEE_NAME
		NULL,
};

static const char *const meanings[] = {
#define GUARANTEE_MEANING(name, text, meaning) meaning,
	GUARANTEES(GUARANTEE_MEANING)
#undef GUARANTEE_MEANING
};

_Static_assert(GUARANTEE_COUNT <= 8 * sizeof(guarantee_set), "one bit for each guarantee");

const char *guarantee_name(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? guarantee_names[g] : "?";
}

const char *guarantee_meaning(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? meanings[g] : "?";
}
