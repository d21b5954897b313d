/* SPDX-License-Identifier: MIT */
/* The table of keys: every row is decoded, printed, compared and narrowed. */
#include "../support/policy_text.h"
#include "policy/keys.h"
#include "test.h"

/* A value that is not the default, for each key that has functions of its own or checks names. */
static const char *const samples[KEY_COUNT] = {
	[KEY_WORKSPACE_ROOTS] = "{ '/a' = true }",
	[KEY_FILESYSTEM] = "{ '/a' = 'read' }",
	[KEY_NETWORK] = "{ enabled = true }",
	[KEY_DOMAINS] = "{ 'a.example' = 'deny' }",
	[KEY_UNIX_SOCKETS] = "{ '/run/a' = 'deny' }",
	[KEY_SET] = "{ A = 'b' }",
	[KEY_FEATURES] = "{ a = true }",
	[KEY_SHELL] = "'/bin/sh'",
	[KEY_APPROVE] = "[{ write = '/a', answer = 'deny' }]",
	[KEY_EXEC] = "[{ argv = ['a'], decision = 'deny' }]",
	[KEY_PROTECT] = "['.x']",
	[KEY_UNPROTECT] = "['.vscode']",
	[KEY_ALLOW] = "['none']",
	[KEY_DEFAULT_PERMISSIONS] = "':workspace'",
	[KEY_EXTENDS] = "':workspace'",
	[KEY_PERMISSIONS] = "{ a = {} }",
	[KEY_TRUST] = "{}",
	[KEY_ENABLED] = "true",
	[KEY_BACKENDS] = "['bwrap']",
	[KEY_ACCEPT_MISSING] = "['ipc']",
	[KEY_LINUX] = "{}",
	[KEY_FILES_WRITABLE] = "['src/**']",
};

/* The same for every key that may be set; "" for one that is refused. */
static void add_sample(struct buf *b, const struct key *k)
{
	const char *own = samples[k - policy_keys];

	if (own) {
		buf_add_text(b, own);
		return;
	}
	switch (k->kind) {
	case KIND_BOOL:
		buf_add_text(b, k->is_true ? "false" : "true");
		break;
	case KIND_CHOICE:
		buf_printf(b, "'%s'", k->words[1]);
		break;
	case KIND_STRING:
		buf_add_text(b, "'x'");
		break;
	case KIND_PATTERNS:
		buf_add_text(b, "['A*']");
		break;
	case KIND_LIMIT:
		buf_add_text(b, "7");
		break;
	case KIND_SUBTABLE:
		buf_add_text(b, "{}");
		break;
	case KIND_IGNORED:
		buf_add_text(b, k->types & (1 << TOML_BOOLEAN) ? "true" : "'x'");
		break;
	case KIND_REFUSED:
		buf_add_text(b, "false");
		break;
	case KIND_NAMES:
	case KIND_WORDS:
	case KIND_OWN:
	case KIND_SETTING:
	case KIND_LOADED:
		printf("#   '%s' needs a sample in this test\n", k->name);
		CHECK(own);
		break;
	}
}

/* "BEFORE network.mode = 'limited'" */
static void set_key(struct buf *b, const char *before, const struct key *k)
{
	buf_printf(b, "%s%s%s = ", before, key_table_prefix(k->table), k->name);
	add_sample(b, k);
	buf_add_char(b, '\n');
}

static bool is_of_profile(const struct key *k)
{
	return !key_is_setting(k) && (k->files & IN_USER);
}

/* Whether a profile holds a value for it, which can be printed and compared. */
static bool has_value(const struct key *k)
{
	return is_of_profile(k) && k->kind != KIND_SUBTABLE && k->kind != KIND_LOADED &&
	       k->kind != KIND_IGNORED && k->kind != KIND_REFUSED;
}

TEST(every_row_is_whole)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];
		size_t length = strlen(k->meaning);

		CHECK(key_find(k->table, str_of(k->name)) == k);
		CHECK(k->types != 0 && k->files != 0);
		CHECK(length > 1 && k->meaning[length - 1] == '.');
	}
	for (int i = 0; i < LIMIT_COUNT; i++)
		CHECK(limit_name((enum limit)i)[0] != '\0');
}

TEST(every_value_is_decoded_compared_and_printed)
{
	scoped_outcome plain = compile_dev("[permissions.dev]");

	REQUIRE(plain.policy);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];
		scoped_buf user = BUF_INIT(1 << 10);
		scoped_buf printed = BUF_INIT(1 << 16);

		if (!has_value(k))
			continue;
		set_key(&user, "[permissions.dev]\n", k);
		scoped_outcome o = compile_dev(user.p);
		if (!o.policy)
			printf("#   %s: %s\n", k->name, o.e.text);
		REQUIRE(o.policy);
		if (profile_equal(plain.policy->profile, o.policy->profile))
			printf("#   '%s' is not compared\n", k->name);
		CHECK(!profile_equal(plain.policy->profile, o.policy->profile));
		CHECK(!profile_equal(o.policy->profile, plain.policy->profile));
		profile_print(&printed, o.policy->profile);
		CHECK(strstr(printed.p, k->name) != NULL);
		scoped_outcome again = compile_dev(printed.p);
		REQUIRE(again.policy);
		if (!profile_equal(again.policy->profile, o.policy->profile))
			printf("#   '%s' is not printed: %s\n", k->name, printed.p);
		CHECK(profile_equal(again.policy->profile, o.policy->profile));
	}
}

TEST(every_word_of_a_choice_is_its_own_value)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		for (unsigned j = 0; k->kind == KIND_CHOICE && k->words[j]; j++) {
			scoped_buf user = BUF_INIT(1 << 10);

			buf_printf(&user, "%s%s%s = '%s'\n",
				   key_is_setting(k) ? "permissions.dev = {}\n"
						     : "[permissions.dev]\n",
				   key_table_prefix(k->table), k->name, k->words[j]);
			scoped_outcome o = compile_dev(user.p);
			REQUIRE(o.policy);
			CHECK_INT(key_is_setting(k) ? key_value(k, &o.policy->settings)
						    : key_value(k, o.policy->profile),
				  j);
		}
	}
}

/* What comes of a key in one of the files. */
static struct outcome put_into(const struct key *k, enum key_files file, struct buf *b)
{
	bool is_narrow = file == IN_PROJECT || file == IN_REQUIREMENTS;

	buf_add_text(b, "\n");
	set_key(b, !is_narrow && !key_is_setting(k) ? "[permissions.dev]\n" : "", k);
	return compile_texts(
		&(struct texts){ .system = file == IN_SYSTEM ? b->p : NULL,
				 .user = file == IN_USER ? b->p : NULL,
				 .project = file == IN_PROJECT ? b->p : NULL,
				 .requirements = file == IN_REQUIREMENTS ? b->p : NULL });
}

TEST(a_key_stands_only_in_the_files_of_its_row)
{
	static const enum key_files files[] = { IN_SYSTEM, IN_USER, IN_PROJECT, IN_REQUIREMENTS };

	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		for (size_t j = 0; j < COUNT_OF(files) && k->kind != KIND_REFUSED; j++) {
			scoped_buf text = BUF_INIT(1 << 10);
			scoped_outcome o = put_into(k, files[j], &text);
			bool is_allowed = (k->files & (int)files[j]) != 0;

			if (is_allowed != (o.policy != NULL))
				printf("#   %s in file %d: %s\n", k->name, files[j], o.e.text);
			CHECK_INT(o.policy != NULL, is_allowed);
			if (!is_allowed)
				CHECK(o.e.cause == CAUSE_KEY_NOT_ALLOWED_HERE ||
				      o.e.cause == CAUSE_UNKNOWN_KEY);
		}
	}
}

static bool fits_kind(const struct key *k)
{
	switch (k->meet) {
	case MEET_NEVER:
		return (k->files & (IN_PROJECT | IN_REQUIREMENTS)) == 0;
	case MEET_FALSE:
		return k->kind == KIND_BOOL;
	case MEET_LATER:
		return k->kind == KIND_CHOICE;
	case MEET_LOWER:
		return k->kind == KIND_LIMIT;
	case MEET_UNION:
		return k->kind == KIND_NAMES;
	case MEET_ROWS:
		return k->kind == KIND_SUBTABLE || k == &policy_keys[KEY_NETWORK];
	case MEET_OWN:
		return k->kind == KIND_OWN || k->kind == KIND_LOADED;
	case MEET_NO_VALUE:
		return k->kind == KIND_IGNORED || k->kind == KIND_REFUSED;
	}
	return false;
}

/* test_plan_narrowing shows what each of them does to a plan. */
TEST(a_key_that_a_project_may_set_says_how_it_narrows)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (!fits_kind(k))
			printf("#   '%s' can't narrow like that\n", k->name);
		CHECK(fits_kind(k));
		if (k->kind != KIND_SUBTABLE)
			continue;
		for (size_t j = 0; j < KEY_COUNT; j++)
			if (policy_keys[j].table == k->subtable)
				CHECK_INT(policy_keys[j].files, k->files);
	}
}

TEST(a_project_can_lower_every_limit_and_raise_none)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		for (unsigned by = 6; k->kind == KIND_LIMIT && by <= 8; by += 2) {
			scoped_buf user = BUF_INIT(1 << 10);
			scoped_buf project = BUF_INIT(1 << 10);
			struct texts t = { .profile = "dev" };
			uint64_t factor = k->unit == UNIT_TIME ? 1000 : 1;

			set_key(&user, "[permissions.dev]\n", k);
			buf_printf(&project, "limits.%s = %u", k->name, by);
			t.user = user.p;
			t.project = project.p;
			scoped_outcome o = compile_texts(&t);
			REQUIRE(o.policy);
			CHECK_INT(*(const uint64_t *)key_field(k, o.policy->profile),
				  MIN_OF(by, 7u) * factor);
		}
	}
}
