/* SPDX-License-Identifier: MIT */
/* Modes (P19) are the built-in profiles with switches. */
#include "../support/policy_text.h"
#include "test.h"

TEST(names_parse_and_print)
{
	enum mode_kind kind;

	REQUIRE(mode_kind_parse(STR("read-only"), &kind));
	CHECK_STR(mode_kind_name(kind), "read-only");
	REQUIRE(mode_kind_parse(STR("workspace-write"), &kind));
	CHECK_STR(mode_kind_name(kind), "workspace-write");
	REQUIRE(mode_kind_parse(STR("danger-full-access"), &kind));
	CHECK_STR(mode_kind_name(kind), "danger-full-access");
	CHECK(!mode_kind_parse(STR("Read-Only"), &kind));
	CHECK(!mode_kind_parse(STR(""), &kind));
}

TEST(a_plain_mode_is_its_built_in_profile)
{
	static const char *const built_in[] = { ":read-only", ":workspace", ":danger-full-access" };

	for (size_t i = 0; i < COUNT_OF(built_in); i++) {
		scoped_outcome o = compile_texts(&(struct texts){ .profile = built_in[i] });
		struct mode mode = { .kind = (enum mode_kind)i };
		const struct profile *p = mode_profile(&o.a, &mode, &o.e);

		REQUIRE(o.policy && p);
		CHECK(profile_equal(p, o.policy->profile));
	}
}

TEST(switches_are_obeyed)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str roots[] = { STR("/data//x"), STR("/opt") };
	struct mode mode = { .kind = MODE_WORKSPACE_WRITE,
			     .network_access = true,
			     .exclude_tmpdir_env_var = true,
			     .exclude_slash_tmp = true,
			     .writable_roots = { roots, 2, 2 } };
	struct err e = ERR_INIT;
	const struct profile *p = mode_profile(&a, &mode, &e);

	REQUIRE(p);
	CHECK_INT(p->net.access, NET_FULL);
	CHECK_INT(p->fs.count, 4);
	CHECK_INT(access_of(&p->fs, "/data/x"), ACCESS_WRITE);
	CHECK_INT(access_of(&p->fs, "/opt"), ACCESS_WRITE);
	CHECK_INT(access_of(&p->fs, ":tmpdir"), -1);
	CHECK_INT(access_of(&p->fs, ":slash_tmp"), -1);
}

/* That plan/round_trip.c may take a short way rests on it. */
TEST(a_policy_that_is_a_mode_is_known_as_one)
{
	static const struct {
		const char *user, *profile;
		bool is_read_only, is_workspace;
	} rows[] = {
		{ "", ":read-only", true, false },
		{ "", ":workspace", false, true },
		{ "", ":danger-full-access", false, false },
		{ "[permissions.x]\nextends = ':read-only'\n", "x", true, false },
		{ "[permissions.x]\nextends = ':workspace'\n", "x", false, true },
		{ "[permissions.x]\nextends = ':workspace'\ngit = 'commit'\n", "x", false, false },
		{ "[permissions.x]\nextends = ':workspace'\nprotect = ['a']\n", "x", false, false },
		{ "[permissions.x]\nextends = ':workspace'\nworkspace_roots = { '/o' = true }\n",
		  "x", false, false },
		{ "[permissions.x]\nextends = ':read-only'\nfilesystem = { '/o' = 'deny' }\n", "x",
		  false, false },
		{ "[permissions.x]\nextends = ':workspace'\nfilesystem = { ':tmpdir' = 'deny' }\n",
		  "x", false, false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		scoped_outcome o = compile_texts(
			&(struct texts){ .user = rows[i].user, .profile = rows[i].profile });
		struct mode read_only = { .kind = MODE_READ_ONLY };
		struct mode workspace = { .kind = MODE_WORKSPACE_WRITE };

		REQUIRE(o.policy);
		if (!CHECK_INT(mode_is_exact(&read_only, o.policy), rows[i].is_read_only) ||
		    !CHECK_INT(mode_is_exact(&workspace, o.policy), rows[i].is_workspace))
			printf("# row %zu\n", i);
		workspace.exclude_slash_tmp = true;
		CHECK(!mode_is_exact(&workspace, o.policy));
	}
}

TEST(bad_modes_are_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str root = STR("data");
	struct mode mode = { .kind = MODE_WORKSPACE_WRITE, .writable_roots = { &root, 1, 1 } };
	struct err e = ERR_INIT;

	CHECK(mode_profile(&a, &mode, &e) == NULL);
	CHECK_INT(e.code, ERR_ARGUMENT);
	mode.kind = MODE_READ_ONLY;
	root = STR("/data");
	err_clear(&e);
	CHECK(mode_profile(&a, &mode, &e) == NULL);
	CHECK_INT(e.code, ERR_ARGUMENT);
}
