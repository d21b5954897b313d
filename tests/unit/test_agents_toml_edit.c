/* SPDX-License-Identifier: MIT */
#include "agents/toml_edit.h"
#include "test.h"

enum { ROOM = 8 << 20 };

static const char *set(struct arena *a, const char *text)
{
	static struct err e;
	struct str out;

	err_clear(&e);
	if (toml_edit_set(a, "f", str_of(text), "features", "shell", STR("false"), &out, &e) < 0)
		return e.text;
	return out.p;
}

#define CHECK_EDIT(text, wanted)                   \
	do {                                       \
		scoped_arena a = ARENA_INIT(ROOM); \
		CHECK_STR(set(&a, text), wanted);  \
	} while (0)

TEST(a_key_is_added_where_its_table_is)
{
	CHECK_EDIT("", "[features]\nshell = false\n");
	CHECK_EDIT("a = 1 # one", "a = 1 # one\n\n[features]\nshell = false\n");
	CHECK_EDIT("[features] # f\nx = 1\n\n[b]\n",
		   "[features] # f\nshell = false\nx = 1\n\n[b]\n");
	CHECK_EDIT("[features]", "[features]\nshell = false\n");
	CHECK_EDIT("[features.sub]\nx = 1\n",
		   "[features.sub]\nx = 1\n\n[features]\nshell = false\n");
	CHECK_EDIT("features.x = true\n[b]\n", "features.shell = false\nfeatures.x = true\n[b]\n");
	CHECK_EDIT("features = { x = 1 } # c\n", "features = { shell = false, x = 1 } # c\n");
	CHECK_EDIT("features = {}\n", "features = { shell = false }\n");
	CHECK_EDIT("a = 1\r\n[features]\r\nx = 1\r\n",
		   "a = 1\r\n[features]\r\nshell = false\r\nx = 1\r\n");
	CHECK_EDIT("t = '''\n[features]\n'''\n",
		   "t = '''\n[features]\n'''\n\n[features]\nshell = false\n");
}

TEST(a_word_is_replaced)
{
	CHECK_EDIT("[features]\nshell = true # on\n", "[features]\nshell = false # on\n");
	CHECK_EDIT("features = {y=1,\"shell\"=true}", "features = {y=1,\"shell\"=false}");
	CHECK_EDIT("features.shell=true", "features.shell=false");
	CHECK_EDIT("[features]\nshell   = false # off\n", "[features]\nshell   = false # off\n");
}

TEST(what_it_can_not_change_without_a_loss_is_refused)
{
	static const char *const texts[] = { "features = 1", "[features]\nshell = \"x\"",
					     "[features.shell]\nx = 1", "[features",
					     "[[features]]\nx = 1" };

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_arena a = ARENA_INIT(ROOM);
		struct err e = ERR_INIT;
		struct str out;

		if (!CHECK(toml_edit_set(&a, "f", str_of(texts[i]), "features", "shell",
					 STR("false"), &out, &e) < 0))
			printf("#   %s\n", texts[i]);
	}
}

/* What the text is without features.shell = false, which was set to `was`; or the error. */
static const char *undo(struct arena *a, const char *text, const char *was)
{
	static struct err e;
	struct str out;

	err_clear(&e);
	if (toml_edit_undo(a, str_of(text), str_of(was), "features", "shell", STR("false"), &out,
			   &e) < 0)
		return e.text;
	return out.p;
}

#define CHECK_UNDO(text, was, wanted)                   \
	do {                                            \
		scoped_arena a = ARENA_INIT(ROOM);      \
		CHECK_STR(undo(&a, text, was), wanted); \
	} while (0)

TEST(a_key_is_taken_out_and_all_else_stays)
{
	CHECK_UNDO("[features]\nshell = false\n", "", "");
	CHECK_UNDO("a = 1\n\n[features]\nshell = false\n\n[b]\n", "a = 1\n", "a = 1\n\n[b]\n");
	CHECK_UNDO("[features]\nshell = false\nx = 1\n", "", "[features]\nx = 1\n");
	CHECK_UNDO("[features]\r\nshell = false # why\r\nx = 1\r\n", "",
		   "[features]\r\n# why\r\nx = 1\r\n");
	CHECK_UNDO("[features] # f\nshell = false\n", "[features] # f\n", "[features] # f\n");
	CHECK_UNDO("features.shell = false\nfeatures.x = 1\n", "features.x = 1\n",
		   "features.x = 1\n");
	CHECK_UNDO("[features]\nshell = false # on\ny = 1\n", "[features]\nshell = true # on\n",
		   "[features]\nshell = true # on\ny = 1\n");
}

TEST(a_key_that_is_gone_stays_gone_and_what_is_not_safe_is_refused)
{
	CHECK_UNDO("a = 2\n", "a = 1\n", "a = 2\n");
	CHECK_UNDO("[features]\nx = 1\n", "", "[features]\nx = 1\n");
	CHECK_UNDO("[features]\nshell = true\n", "", "it has another value");
	CHECK_UNDO("features = { shell = false, x = 1 }\n", "", "it shares its line with others");
}
