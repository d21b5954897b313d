/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/command_line.c: the tables agree with the option structs of cordon.h. */
#include <string.h>

#include "lib/command_line.h"
#include "test.h"

/* How often the members of a struct are in the table, by their place. */
struct coverage {
	unsigned char load[sizeof(struct cordon_load_options) / 8];
	unsigned char run[sizeof(struct cordon_run_options) / 8];
};

static void cover(struct coverage *c)
{
	for (size_t i = 0; i < option_member_count; i++) {
		const struct option_value *value = &option_members[i];
		unsigned char *slots = value->in == IN_load ? c->load : c->run;

		if (!value->member)
			continue;
		slots[value->offset / 8]++;
		if (value->kind == VALUE_LIST)
			slots[value->offset / 8 + 1]++;
	}
}

TEST(every_member_of_the_structs_is_in_the_table_once)
{
	struct coverage c;

	memset(&c, 0, sizeof(c));
	cover(&c);
	c.load[offsetof(struct cordon_load_options, size) / 8]++;
	c.run[offsetof(struct cordon_run_options, size) / 8]++;
	c.run[offsetof(struct cordon_run_options, load) / 8]++;
	for (size_t i = 0; i < sizeof(c.load); i++)
		CHECK_INT(c.load[i], 1);
	for (size_t i = 0; i < sizeof(c.run); i++)
		CHECK_INT(c.run[i], 1);
	CHECK_INT(sizeof(struct cordon_load_options) % 8, 0);
	CHECK_INT(sizeof(struct cordon_run_options) % 8, 0);
}

TEST(no_two_options_have_the_same_name)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		for (size_t j = i + 1; j < OPTION_COUNT; j++) {
			CHECK(!options[i].name || !options[j].name ||
			      strcmp(options[i].name, options[j].name) != 0);
			CHECK(!options[i].letter || options[i].letter != options[j].letter);
		}
}

TEST(a_group_stands_together)
{
	for (size_t i = 1; i < OPTION_COUNT; i++)
		CHECK(options[i].group == options[i - 1].group ||
		      options[i].group == options[i - 1].group + 1);
}

TEST(an_option_has_an_argument_when_its_value_needs_one)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		bool is_switch = options[i].value.kind == VALUE_FLAG ||
				 options[i].value.kind == VALUE_OWN_SWITCH;

		CHECK((options[i].argument == NULL) == is_switch);
	}
}
