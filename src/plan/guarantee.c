/* SPDX-License-Identifier: MIT */
/* The names of the guarantees; the list itself is in the header. */
#include "plan/guarantee.h"

static const struct {
	const char *name, *meaning;
} guarantees[] = {
#define GUARANTEE_TEXT(name, text, meaning) { text, meaning },
	GUARANTEES(GUARANTEE_TEXT)
#undef GUARANTEE_TEXT
};

_Static_assert(COUNT_OF(guarantees) == GUARANTEE_COUNT, "one text for each guarantee");
_Static_assert(GUARANTEE_COUNT <= 8 * sizeof(guarantee_set), "one bit for each guarantee");

const char *guarantee_name(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? guarantees[g].name : "?";
}

const char *guarantee_meaning(enum guarantee g)
{
	return g < GUARANTEE_COUNT ? guarantees[g].meaning : "?";
}

bool guarantee_find(struct str name, enum guarantee *out)
{
	for (unsigned i = 0; i < GUARANTEE_COUNT; i++) {
		if (str_is(name, guarantees[i].name)) {
			*out = (enum guarantee)i;
			return true;
		}
	}
	return false;
}
