/* SPDX-License-Identifier: MIT */
#include "base/cause.h"

struct cause_entry {
	enum err_code code;
	const char *name, *meaning;
};

static const struct cause_entry causes[CAUSE_COUNT] = {
#define OF_CODE(id, number, name, cause, meaning) [CAUSE_##id] = { ERR_##id, (cause), (meaning) },
	ERR_CODES(OF_CODE)
#undef OF_CODE
#define OF_CAUSE(id, code, name, meaning) [CAUSE_##id] = { ERR_##code, (name), (meaning) },
		CAUSES(OF_CAUSE)
#undef OF_CAUSE
};

static const char *const code_names[] = {
#define CODE_NAME(id, number, name, cause, meaning) [ERR_##id] = (name),
	ERR_CODES(CODE_NAME)
#undef CODE_NAME
};

static const struct cause_entry *find(enum cause cause)
{
	return &causes[(unsigned)cause < CAUSE_COUNT ? cause : CAUSE_INTERNAL];
}

enum err_code cause_code(enum cause cause)
{
	return find(cause)->code;
}

enum cause cause_of_code(enum err_code code)
{
	return (unsigned)code < COUNT_OF(code_names) ? (enum cause)code : CAUSE_INTERNAL;
}

const char *cause_name(enum cause cause)
{
	return find(cause)->name;
}

const char *cause_meaning(enum cause cause)
{
	return find(cause)->meaning;
}

const char *err_code_name(enum err_code code)
{
	return code_names[(unsigned)code < COUNT_OF(code_names) ? code : ERR_INTERNAL];
}
