/* SPDX-License-Identifier: MIT */
/* profile_print() and profile_equal(): what is printed means the same when read again. */
#include "../support/policy_text.h"
#include "test.h"

/* Prints the profile 'dev' and reads it again. */
static bool survives(const char *user)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_outcome first = compile_dev(user);

	if (!first.policy) {
		printf("#   %s\n", first.e.text);
		return false;
	}
	profile_print(&text, first.policy->profile);
	scoped_outcome second = compile_dev(buf_str(&text).p);
	if (second.policy && profile_equal(first.policy->profile, second.policy->profile))
		return true;
	printf("#   %s\n# printed as:\n%s\n", second.e.text, text.p);
	return false;
}

TEST(every_key_survives_printing)
{
	CHECK(survives("[permissions.dev]"));
	CHECK(survives(
		"[permissions.dev]\nextends = ':workspace'\ndescription = \"a\\n\\\"b\"\n"
		"git = 'write'\ntmp = 'private'\nglobs = 'strict'\nprotect = ['.hg', 'a b']\n"
		"isolation = { ipc = false, proc = false, userns = true }\n"
		"workspace_roots = { '/a' = true, '~/b' = true, 'c d' = true, '.' = true }\n"
		"limits = { timeout = '250ms', memory = '1T', processes = 4, file_size = 5, "
		"open_files = 6, cpu_time = '1h' }\n"
		"environment = { inherit = 'core', exclude = ['A*'], include = ['b'], "
		"set = { x = \"\\u0001\" } }\n"));
	CHECK(survives("[permissions.dev]\nenvironment.set = { x = 'y' }"));
}

TEST(every_network_survives_printing)
{
	CHECK(survives("[permissions.dev]\nnetwork.enabled = true"));
	CHECK(survives("[permissions.dev]\nnetwork = { enabled = true, mode = 'full' }"));
	CHECK(survives("[permissions.dev]\nnetwork = { enabled = false, mode = 'limited' }"));
	CHECK(survives("[permissions.dev.network]\nenabled = true\nallow_local_binding = true\n"
		       "allow_upstream_proxy = false\n"
		       "domains = { '*' = 'allow', '*.a.b:443' = 'deny', '[::1]:1-2' = 'allow', "
		       "'10.0.0.0/8' = 'deny', 'fd00::/8' = 'allow', 'bücher.example' = 'allow' }\n"
		       "unix_sockets = { '/run/a b' = 'allow', '~/x' = 'deny', '~' = 'deny' }"));
	CHECK(survives("[permissions.dev.network]\ndomains = { 'a.b' = 'allow' }"));
}

TEST(odd_paths_survive_printing)
{
	CHECK(survives(
		"[permissions.dev.filesystem]\n"
		"'/' = 'read'\n'~' = 'read'\n'/a\"b' = 'read'\n'/a\\*b' = 'read'\n"
		"'/a\\\\b' = 'deny'\n'/**/x' = 'deny'\n'/a/**' = 'deny'\n'/é/ü*' = 'deny'\n"
		"\"/\\u0001\\n\" = 'write'\n'/q/\\[a]*' = 'deny'\n'~/{a/b,c}' = 'deny'\n"
		"':root' = { '.' = 'read', 'a*' = 'deny', '\\*' = 'read' }\n"
		"':workspace_roots' = { 'x y' = 'deny' }\n':secrets' = 'deny'\n"
		"':minimal' = 'read'\n':slash_tmp' = { '**/s' = 'deny' }\n':tmpdir' = 'deny'"));
}

TEST(entries_for_one_path_survive_printing)
{
	CHECK(survives("[permissions.dev.filesystem]\n'/a/b' = 'write'\n'/a' = { b = 'deny' }\n"
		       "'/' = { 'a/b' = 'read' }\n'/c/d' = 'read'\n'/c' = { d = 'write' }"));
}

TEST(the_winner_of_a_tie_is_printed)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_outcome o = compile_dev("[permissions.dev.filesystem]\n'/a/b' = 'write'\n"
				       "'/a' = { b = 'deny' }\n'/c/d' = 'read'\n"
				       "'/c' = { d = 'write' }");

	REQUIRE(o.policy);
	profile_print(&text, o.policy->profile);
	CHECK(strstr(text.p, "\"/a/b\" = \"deny\"") != NULL);
	CHECK(strstr(text.p, "\"/a/b\" = \"write\"") == NULL);
	CHECK(strstr(text.p, "\"/c/d\" = \"write\"") != NULL);
}

TEST(a_path_that_is_not_utf8_becomes_a_comment)
{
	struct texts t = { .extra = { .anchor = FS_ABSOLUTE,
				      .path = STR_INIT("/a\xff"),
				      .glob = STR_INIT(""),
				      .access = ACCESS_WRITE,
				      .key = STR_INIT("/a") } };
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	profile_print(&text, o.policy->profile);
	CHECK(strstr(text.p, "# /a\\xff = \"write\"") != NULL);
}

TEST(a_built_in_profile_is_printed_without_its_colon)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_outcome o = compile_texts(&(struct texts){ .profile = ":workspace" });

	REQUIRE(o.policy);
	profile_print(&text, o.policy->profile);
	CHECK(strncmp(text.p, "[permissions.workspace]\n", 24) == 0);
	scoped_outcome again =
		compile_texts(&(struct texts){ .user = text.p, .profile = "workspace" });
	REQUIRE(again.policy);
	CHECK(profile_equal(o.policy->profile, again.policy->profile));
}

TEST(full_access_says_that_it_is_none)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_outcome o = compile_texts(&(struct texts){ .profile = ":danger-full-access" });

	REQUIRE(o.policy);
	profile_print(&text, o.policy->profile);
	CHECK(strncmp(text.p, "# This runs without a sandbox", 29) == 0);
}

/* Whether two texts make equal profiles. */
static bool same(const char *one, const char *two)
{
	scoped_outcome a = compile_dev(one);
	scoped_outcome b = compile_dev(two);

	if (!a.policy || !b.policy) {
		printf("#   %s %s\n", a.e.text, b.e.text);
		return false;
	}
	return profile_equal(a.policy->profile, b.policy->profile) &&
	       profile_equal(b.policy->profile, a.policy->profile);
}

TEST(order_does_not_matter)
{
	CHECK(same("[permissions.dev.filesystem]\n'/a' = 'read'\n'/b' = 'deny'",
		   "[permissions.dev.filesystem]\n'/b' = 'none'\n'/a/' = 'read'"));
	CHECK(same("[permissions.dev.network.domains]\n'a.b' = 'deny'\n'c.d' = 'allow'",
		   "[permissions.dev.network.domains]\n'C.d' = 'allow'\n'a.b' = 'deny'"));
	CHECK(same("[permissions.dev]\nworkspace_roots = { '/a' = true, b = true }",
		   "[permissions.dev]\nworkspace_roots = { b = true, '/a' = true }"));
}

TEST(every_difference_is_seen)
{
	static const char *const texts[] = {
		"",
		"description = 'x'",
		"git = 'commit'",
		"tmp = 'private'",
		"globs = 'strict'",
		"protect = ['a']",
		"protect = ['b']",
		"isolation.ipc = false",
		"isolation.proc = false",
		"isolation.userns = true",
		"workspace_roots = { '/a' = true }",
		"workspace_roots = { '/b' = true }",
		"filesystem = { '/a' = 'read' }",
		"filesystem = { '/a' = 'write' }",
		"filesystem = { '~/a' = 'write' }",
		"filesystem = { '/a/*' = 'deny' }",
		"network = { enabled = true }",
		"network = { enabled = true, mode = 'full' }",
		"network = { enabled = true, mode = 'limited' }",
		"network = { enabled = true, allow_local_binding = true }",
		"network = { enabled = true, allow_upstream_proxy = false }",
		"network = { domains = { 'a.b' = 'allow' } }",
		"network = { domains = { 'a.b' = 'deny' } }",
		"network = { unix_sockets = { '/a' = 'allow' } }",
		"network = { unix_sockets = { '/a' = 'deny' } }",
		"network = { unix_sockets = { '~/a' = 'allow' } }",
		"environment = { inherit = 'core' }",
		"environment = { exclude = ['a'] }",
		"environment = { exclude = ['b'] }",
		"environment = { include = ['a'] }",
		"environment = { set = { a = 'b' } }",
		"environment = { set = { a = 'c' } }",
		"environment = { set = { b = 'c' } }",
		"limits = { timeout = 1 }",
		"limits = { timeout = 2 }",
		"limits = { cpu_time = 1 }",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		for (size_t j = 0; j < COUNT_OF(texts); j++) {
			char one[256], two[256];

			(void)snprintf(one, sizeof(one), "[permissions.dev]\n%s", texts[i]);
			(void)snprintf(two, sizeof(two), "[permissions.dev]\n%s", texts[j]);
			if (!CHECK(same(one, two) == (i == j)))
				printf("#   %s / %s\n", texts[i], texts[j]);
		}
	}
}
