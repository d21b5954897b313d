/* SPDX-License-Identifier: MIT */
/* The tables of command_line.h as values. */
#include "lib/command_line.h"

#define MEMBER(kind, in, name)                                                        \
	{                                                                             \
		kind, IN_##in, offsetof(struct cordon_##in##_options, name), 0, #name \
	}
#define TEXT(in, name)	  MEMBER(VALUE_TEXT, in, name)
#define LIST(in, name)	  MEMBER(VALUE_LIST, in, name)
#define WORDS(in, name)	  MEMBER(VALUE_WORDS, in, name)
#define FEATURE(in, name) MEMBER(VALUE_FEATURE, in, name)
#define TIME(in, name)	  MEMBER(VALUE_TIME, in, name)
#define VALUE(in, name)	  MEMBER(VALUE_COPIED, in, name)
#define FLAG(in, bit)                                                                         \
	{                                                                                     \
		VALUE_FLAG, IN_##in, offsetof(struct cordon_##in##_options, flags), bit, NULL \
	}
#define OWN_TEXT                       \
	{                              \
		.kind = VALUE_OWN_TEXT \
	}
#define OWN_WORDS                       \
	{                               \
		.kind = VALUE_OWN_WORDS \
	}
#define OWN_SWITCH                       \
	{                                \
		.kind = VALUE_OWN_SWITCH \
	}

const struct option options[OPTION_COUNT] = {
#define OPTION_ROW(id, group, commands, value, letter, name, argument, completion, help) \
	{ GROUP_##group, commands, value, letter, name, argument, help },
	OPTIONS(OPTION_ROW)
};

const struct option_value option_members[] = {
#define OPTION_VALUE(id, group, commands, value, letter, name, argument, completion, help) value,
	OPTIONS(OPTION_VALUE)
#define MEMBER_VALUE(value) value,
		API_MEMBERS(MEMBER_VALUE)
};
const size_t option_member_count = sizeof(option_members) / sizeof(option_members[0]);
