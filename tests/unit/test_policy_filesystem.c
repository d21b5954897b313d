/* SPDX-License-Identifier: MIT */
/* Entries of `filesystem` (P5, P6): keys, scopes, globs, and how they merge. */
#include "../support/policy_text.h"
#include "test.h"

#define FS(entries) "[permissions.dev.filesystem]\n" entries "\n"

/* The one entry of a profile that has just that. */
static bool is_entry(const char *entry, enum fs_anchor anchor, const char *path, const char *glob,
		     enum access access)
{
	char text[512];
	const struct fs_entry *got;

	(void)snprintf(text, sizeof(text), FS("%s"), entry);
	scoped_outcome o = compile_dev(text);
	if (!o.policy || o.policy->profile->fs.count != 1) {
		printf("#   %s: %s\n", entry, o.e.text);
		return false;
	}
	got = &o.policy->profile->fs.items[0];
	if (got->anchor == anchor && str_is(got->path, path) && str_is(got->glob, glob) &&
	    got->access == access && !got->matcher == !glob[0])
		return true;
	printf("#   %s: anchor %d path '%s' glob '%.*s' access %d\n", entry, (int)got->anchor,
	       got->path.p, STR_ARG(got->glob), (int)got->access);
	return false;
}

TEST(every_kind_of_key_is_taken)
{
	CHECK(is_entry("'/' = 'read'", FS_ABSOLUTE, "/", "", ACCESS_READ));
	CHECK(is_entry("'/a/b' = 'write'", FS_ABSOLUTE, "/a/b", "", ACCESS_WRITE));
	CHECK(is_entry("'~' = 'deny'", FS_HOME, "", "", ACCESS_DENY));
	CHECK(is_entry("'~/x/y' = 'none'", FS_HOME, "x/y", "", ACCESS_DENY));
	CHECK(is_entry("':root' = 'read'", FS_ROOT, "", "", ACCESS_READ));
	CHECK(is_entry("':minimal' = 'read'", FS_MINIMAL, "", "", ACCESS_READ));
	CHECK(is_entry("':workspace_roots' = 'write'", FS_WORKSPACE_ROOTS, "", "", ACCESS_WRITE));
	CHECK(is_entry("':project_roots' = 'write'", FS_WORKSPACE_ROOTS, "", "", ACCESS_WRITE));
	CHECK(is_entry("':tmpdir' = 'write'", FS_TMPDIR, "", "", ACCESS_WRITE));
	CHECK(is_entry("':slash_tmp' = 'write'", FS_SLASH_TMP, "", "", ACCESS_WRITE));
	CHECK(is_entry("':secrets' = 'deny'", FS_SECRETS, "", "", ACCESS_DENY));
}

TEST(slashes_are_tidied)
{
	CHECK(is_entry("'//a///b//' = 'read'", FS_ABSOLUTE, "/a/b", "", ACCESS_READ));
	CHECK(is_entry("'~//x/' = 'read'", FS_HOME, "x", "", ACCESS_READ));
	CHECK(is_entry("'//' = 'read'", FS_ABSOLUTE, "/", "", ACCESS_READ));
}

TEST(tables_scope_subpaths)
{
	CHECK(is_entry("'/a' = { 'b/c' = 'read' }", FS_ABSOLUTE, "/a/b/c", "", ACCESS_READ));
	CHECK(is_entry("'/' = { 'b' = 'read' }", FS_ABSOLUTE, "/b", "", ACCESS_READ));
	CHECK(is_entry("'~' = { 'b' = 'read' }", FS_HOME, "b", "", ACCESS_READ));
	CHECK(is_entry("'~/a' = { '.' = 'read' }", FS_HOME, "a", "", ACCESS_READ));
	CHECK(is_entry("':root' = { etc = 'deny' }", FS_ROOT, "etc", "", ACCESS_DENY));
	CHECK(is_entry("':workspace_roots' = { docs = 'read' }", FS_WORKSPACE_ROOTS, "docs", "",
		       ACCESS_READ));
	CHECK(is_entry("':tmpdir' = { x = 'read' }", FS_TMPDIR, "x", "", ACCESS_READ));
	CHECK(is_entry("':slash_tmp' = { x = 'read' }", FS_SLASH_TMP, "x", "", ACCESS_READ));
	CHECK(is_entry("':minimal' = { '.' = 'read' }", FS_MINIMAL, "", "", ACCESS_READ));
}

TEST(a_scoped_entry_is_named_as_written)
{
	scoped_outcome o = compile_dev(FS("'/a' = { 'b' = 'read', '.' = 'write' }"));

	CHECK(find_entry(&o, "/a → b") != NULL);
	CHECK(find_entry(&o, "/a") != NULL);
}

TEST(anchors_of_many_paths_have_no_subpaths)
{
	CHECK(is_refused(FS("':minimal' = { usr = 'read' }"), "2:16: ':minimal' stands for many"));
	CHECK(is_refused(FS("':secrets' = { x = 'deny' }"), "':secrets' stands for many paths"));
}

TEST(secrets_can_only_be_denied)
{
	CHECK(is_refused(FS("':secrets' = 'read'"),
			 "config.toml:2:1: ':secrets' can only be denied"));
	CHECK(is_refused(FS("':secrets' = 'write'"), "':secrets' can only be denied"));
}

TEST(an_entry_that_says_nothing_is_refused)
{
	CHECK(is_refused(FS("':secrets' = {}"),
			 "config.toml:2:14: the table of ':secrets' is empty"));
	CHECK(is_refused(FS("'/x' = {}"), "the table of '/x' is empty"));
	CHECK(is_refused(FS("':unknown' = {}"), "the table of ':unknown' is empty"));
	CHECK(is_refused("[permissions.dev.filesystem.':secrets']\n", "':secrets' is empty"));
	CHECK(is_entry("':secrets' = { '.' = 'deny' }", FS_SECRETS, "", "", ACCESS_DENY));
}

TEST(bad_keys_are_refused_with_their_place)
{
	CHECK(is_refused(FS("'a/b' = 'read'"), "config.toml:2:1: the path 'a/b' is relative"));
	CHECK(is_refused(FS("'./vendor' = 'read'"), "{ \"vendor\" = ... }"));
	CHECK(is_refused(FS("'../x' = 'read'"), "{ \"sub/path\" = ... }"));
	CHECK(is_refused(FS("'' = 'read'"), "an empty key is not a path"));
	CHECK(is_refused(FS("'~me/x' = 'read'"), "names the home of another user"));
	CHECK(is_refused(FS("'$HOME/x/y' = 'read'"), "are not expanded; write \"~/x/y\""));
	CHECK(is_refused(FS("'${HOME}/x' = 'read'"), "are not expanded; write \"~/x\""));
	CHECK(is_refused(FS("'$TMPDIR/x' = 'read'"), "variables are not expanded; write the path"));
	CHECK(is_refused(FS("'C:\\x' = 'read'"), "is a Windows path"));
	CHECK(is_refused(FS("'/a/../b' = 'read'"), "has a '.' or '..' component"));
	CHECK(is_refused(FS("'/./a' = 'deny'"), "has a '.' or '..' component"));
	CHECK(is_refused(FS("'/a/\\.\\./b' = 'deny'"), "has a '.' or '..' component"));
	CHECK(is_refused(FS("\"/a\\u0000b\" = 'read'"), "contains a NUL"));
	CHECK(is_refused(FS("'/a\\' = 'deny'"), "escapes nothing"));
	CHECK(is_refused(FS("'/a\\/b' = 'deny'"), "escapes nothing"));
}

TEST(bad_subpaths_are_refused)
{
	CHECK(is_refused(FS("'/a' = { 'b/' = 'read' }"), "has an empty component"));
	CHECK(is_refused(FS("'/a' = { '/b' = 'read' }"),
			 "the absolute path '/b' can't be inside a table; write it as an entry of "
			 "its own, or \"b\" for what is below the key"));
	CHECK(is_refused(FS("'/a' = { '/' = 'read' }"), "has an empty component"));
	CHECK(is_refused(FS("'/a' = { 'b//c' = 'read' }"), "has an empty component"));
	CHECK(is_refused(FS("'/a' = { '' = 'read' }"), "has an empty component"));
	CHECK(is_refused(FS("'/a' = { '..' = 'read' }"), "has a '.' or '..' component"));
	CHECK(is_refused(FS("'/a' = { 'b/./c' = 'read' }"), "has a '.' or '..' component"));
}

TEST(bad_access_is_refused)
{
	CHECK(is_refused(FS("'/a' = 'raed'"),
			 "2:8: the access can't be \"raed\"; it has to be "
			 "\"deny\", \"read\" or \"write\"; did you mean 'read'?"));
}

TEST(a_path_that_no_kernel_takes_is_a_limit)
{
	static char text[3 * 4096];
	int used = snprintf(text, sizeof(text), "[permissions.dev.filesystem]\n'");

	for (int i = 0; i < 2100; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "/a");
	(void)snprintf(text + used, sizeof(text) - (size_t)used, "' = 'read'\n");
	scoped_outcome o = compile_dev(text);
	CHECK_INT(o.e.code, ERR_LIMIT);
	CHECK(strstr(o.e.text, "config.toml:2:1: a path of 4200 bytes is too long"));
}

TEST(a_name_that_no_kernel_takes_is_a_limit)
{
	char name[300];
	char text[400];

	memset(name, 'n', sizeof(name));
	(void)snprintf(text, sizeof(text), FS("'/%.*s' = 'read'"), 256, name);
	scoped_outcome o = compile_dev(text);
	CHECK_INT(o.e.code, ERR_LIMIT);
}

TEST(a_glob_may_deny)
{
	CHECK(is_entry("'/a/b/*.c' = 'deny'", FS_ABSOLUTE, "/a/b", "*.c", ACCESS_DENY));
	CHECK(is_entry("'/*' = 'deny'", FS_ABSOLUTE, "/", "*", ACCESS_DENY));
	CHECK(is_entry("'~/**/.env' = 'deny'", FS_HOME, "", "**/.env", ACCESS_DENY));
	CHECK(is_entry("':workspace_roots' = { 'a/{b,c/d}' = 'none' }", FS_WORKSPACE_ROOTS, "a",
		       "{b,c/d}", ACCESS_DENY));
	CHECK(is_entry("'/a/*' = { 'x' = 'deny' }", FS_ABSOLUTE, "/a", "*/x", ACCESS_DENY));
	CHECK(is_entry("'/a/x/**' = 'deny'", FS_ABSOLUTE, "/a/x", "**", ACCESS_DENY));
}

TEST(a_glob_may_not_allow_except_a_subtree)
{
	CHECK(is_entry("'/a/**' = 'write'", FS_ABSOLUTE, "/a", "", ACCESS_WRITE));
	CHECK(is_entry("'/**' = 'read'", FS_ABSOLUTE, "/", "", ACCESS_READ));
	CHECK(is_entry("'~/**' = 'read'", FS_HOME, "", "", ACCESS_READ));
	CHECK(is_entry("':workspace_roots' = { '**' = 'read' }", FS_WORKSPACE_ROOTS, "", "",
		       ACCESS_READ));
	CHECK(is_entry("':workspace_roots' = { 'a/**/**' = 'read' }", FS_WORKSPACE_ROOTS, "a", "",
		       ACCESS_READ));
	CHECK(is_refused(FS("'/a/*' = 'read'"), "config.toml:2:1: '/a/*' is a glob"));
	CHECK(is_refused(FS("'/a/**/b' = 'write'"), "a glob may only deny"));
	CHECK(is_refused(FS("'/a/*' = { b = 'write' }"), "a glob may only deny"));
	CHECK(is_refused(FS("'/a/[b]' = 'write'"), "put a '\\' before each"));
	CHECK(is_refused(FS("'/a/{b}' = 'write'"), "a glob may only deny"));
}

TEST(what_only_looks_like_a_glob_is_a_literal_path)
{
	static const char *const odd[] = { "a]b", "a]", "]", "c}", "}", "{c", "[b", "a,b", "a}{" };
	static const char *const modes[] = { "deny", "read", "write" };

	for (size_t i = 0; i < COUNT_OF(odd); i++)
		for (enum access access = ACCESS_DENY; access <= ACCESS_WRITE; access++) {
			char text[64], path[16];

			(void)snprintf(text, sizeof(text), "'/x/%s' = '%s'", odd[i], modes[access]);
			(void)snprintf(path, sizeof(path), "/x/%s", odd[i]);
			CHECK(is_entry(text, FS_ABSOLUTE, path, "", access));
			(void)snprintf(text, sizeof(text), "'/x' = { '%s' = '%s' }", odd[i],
				       modes[access]);
			CHECK(is_entry(text, FS_ABSOLUTE, path, "", access));
		}
}

/* The warnings about the one entry of a profile; P6 decides what it means all the same. */
static bool warns_of(const char *entry, const char *part)
{
	char text[256];

	(void)snprintf(text, sizeof(text), FS("%s"), entry);
	scoped_outcome o = compile_dev(text);
	if (part && has_warning(&o, part) && o.policy->warnings.count == 1 &&
	    o.policy->warnings.items[0].origin.line == 2)
		return true;
	if (!part && o.policy && o.policy->warnings.count == 0)
		return true;
	printf("#   %s: %s\n", entry,
	       o.policy && o.policy->warnings.count ? o.policy->warnings.items[0].text.p
						    : o.e.text);
	return false;
}

TEST(a_glob_that_matches_less_than_it_seems_to_is_warned_of)
{
	CHECK(warns_of("':workspace_roots' = { '**.key' = 'deny' }",
		       "in '**.key' the '**' means '*': it is special only as a whole component; "
		       "did you mean \"**/*.key\"?"));
	CHECK(warns_of("'/a/**.key' = 'deny'", "did you mean \"/a/**/*.key\"?"));
	CHECK(warns_of("'/a/x**' = 'deny'", "did you mean \"/a/x/**\"?"));
	CHECK(warns_of("'/a/x**/y' = 'deny'", "did you mean \"/a/x/**/y\"?"));
	CHECK(warns_of("'/a/***' = 'deny'", "did you mean \"/a/**\"?"));
	CHECK(warns_of("'/a/x**y' = 'deny'", "component; write '*' to say so"));
	CHECK(warns_of("'/a/{**.key,b}' = 'deny'", "write '*' to say so"));
	CHECK(warns_of("'/a/[ab' = 'deny'",
		       "in '/a/[ab' the '[' is never closed, so it stands for itself; write '\\[' "
		       "to say so"));
	CHECK(warns_of("':workspace_roots' = { 'src/{a,b' = 'deny' }",
		       "the '{' is never closed, so it stands for itself; write '\\{' to say so"));
	CHECK(warns_of("'/a/[ab' = 'write'", "the '[' is never closed"));
}

TEST(a_glob_that_means_what_it_says_is_not_warned_of)
{
	static const char *const good[] = { "**/*.key", "**",	     "x/**",  "a/**/b", "[ab]",
					    "{a,b}",	"{**,x}/y",  "\\[ab", "\\{a",	"[*][*]",
					    "*a*",	"{a/,}**/b", "a]",    "b}" };

	for (size_t i = 0; i < COUNT_OF(good); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "'/r' = { '%s' = 'deny' }", good[i]);
		CHECK(warns_of(text, NULL));
	}
}

TEST(a_slip_of_a_project_or_the_requirements_is_warned_of)
{
	struct texts t = { .user = "[permissions.dev]\n",
			   .profile = "dev",
			   .project = "[filesystem]\n'/p/**.key' = 'deny'\n",
			   .requirements = "[filesystem]\n'/r/[x' = 'deny'\n" };
	scoped_outcome o = compile_texts(&t);

	CHECK(has_warning(&o, "\"/p/**/*.key\"?"));
	CHECK(has_warning(&o, "in '/r/[x' the '['"));
}

TEST(a_brace_of_a_key_is_not_closed_by_its_subpath)
{
	CHECK(is_entry("'/x{' = { 'b}' = 'deny' }", FS_ABSOLUTE, "/x{/b}", "", ACCESS_DENY));
	CHECK(is_entry("'/x{' = { 'b}' = 'write' }", FS_ABSOLUTE, "/x{/b}", "", ACCESS_WRITE));
	CHECK(is_entry("'/*{' = { 'b}' = 'deny' }", FS_ABSOLUTE, "/", "*\\{/b}", ACCESS_DENY));
	CHECK(is_entry("'/{x,y}' = { 'b}' = 'deny' }", FS_ABSOLUTE, "/", "{x,y}/b}", ACCESS_DENY));
}

TEST(an_escaped_key_is_a_literal_path)
{
	CHECK(is_entry("'/a/\\*b' = 'write'", FS_ABSOLUTE, "/a/*b", "", ACCESS_WRITE));
	CHECK(is_entry("'/a/\\[x\\]' = 'deny'", FS_ABSOLUTE, "/a/[x]", "", ACCESS_DENY));
	CHECK(is_entry("'/a\\\\b' = 'read'", FS_ABSOLUTE, "/a\\b", "", ACCESS_READ));
	CHECK(is_entry("'/a/\\b' = 'read'", FS_ABSOLUTE, "/a/b", "", ACCESS_READ));
}

TEST(an_unknown_token_is_dropped_where_it_would_allow)
{
	scoped_outcome o = compile_dev(FS("':tmpdr' = 'write'\n':new' = { x = 'read' }"));

	REQUIRE(o.policy);
	CHECK_INT(o.policy->profile->fs.count, 0);
	CHECK(has_warning(&o, "unknown token ':tmpdr', which has no effect; did you mean "
			      "':tmpdir'?"));
	CHECK(has_warning(&o, "unknown token ':new'"));
}

TEST(an_unknown_token_is_an_error_where_it_would_deny)
{
	CHECK(is_refused(FS("':tmpdr' = 'deny'"),
			 "config.toml:2:1: unknown token ':tmpdr', so what it denies would "
			 "stay open; did you mean ':tmpdir'?"));
	CHECK(is_refused(FS("':new' = { a = 'read', b = 'none' }"), "2:24: unknown token ':new'"));
}

TEST(keys_that_mean_the_same_are_duplicates)
{
	CHECK(is_refused(FS("'/a' = 'read'\n'/a/' = 'deny'"),
			 "config.toml:3:1: '/a' in 'filesystem' is already set on line 2"));
	CHECK(is_refused(FS("':workspace_roots' = 'read'\n':project_roots' = 'deny'"),
			 "is already set on line 2"));
	CHECK(is_refused(FS("'/a' = 'read'\n'/a/**' = 'write'"), "is already set on line 2"));
	CHECK(is_refused(FS("'/a' = { b = 'read', '\\b' = 'deny' }"), "is already set on line 2"));
	CHECK(is_refused(FS("'/a' = 'read'\n'/a' = 'read'"), "3:1"));
}

TEST(a_child_adds_to_the_key_of_its_parent)
{
	scoped_outcome o = compile_dev("[permissions.base.filesystem]\n"
				       "':workspace_roots' = 'write'\n"
				       "'/x' = { '.' = 'read', secret = 'deny' }\n"
				       "'/g/*' = 'deny'\n"
				       "[permissions.dev]\nextends = 'base'\n"
				       "[permissions.dev.filesystem]\n"
				       "':project_roots' = { docs = 'read' }\n"
				       "'/x/' = 'write'\n"
				       "'/g' = 'read'\n");

	REQUIRE(o.policy);
	CHECK_INT(o.policy->profile->fs.count, 6);
	CHECK_INT(access_of(&o.policy->profile->fs, ":workspace_roots"), ACCESS_WRITE);
	CHECK_INT(access_of(&o.policy->profile->fs, ":workspace_roots → docs"), ACCESS_READ);
	CHECK_INT(access_of(&o.policy->profile->fs, "/x"), ACCESS_WRITE);
	CHECK_INT(access_of(&o.policy->profile->fs, "/x → secret"), ACCESS_DENY);
	CHECK_INT(access_of(&o.policy->profile->fs, "/g/*"), ACCESS_DENY);
}

TEST(the_scan_depth_of_codex_is_ignored_with_a_word)
{
	scoped_outcome o = compile_dev(FS("glob_scan_max_depth = 3\n':root' = 'read'"));

	REQUIRE(o.policy);
	CHECK(has_warning(&o, "'glob_scan_max_depth' is ignored"));
	CHECK_INT(o.policy->profile->fs.count, 1);
	CHECK(is_refused(FS("glob_scan_max_depth = 0"), "has to be at least 1"));
	CHECK(is_refused(FS("glob_scan_max_depth = 'x'"), "is a string"));
}

TEST(extra_entries_join_the_profile)
{
	struct texts t = { .extra = { .anchor = FS_ABSOLUTE,
				      .path = STR_INIT("/opt/*"),
				      .glob = STR_INIT(""),
				      .access = ACCESS_WRITE,
				      .key = STR_INIT("/opt/*") } };
	scoped_outcome o = compile_texts(&t);

	REQUIRE(o.policy);
	CHECK_INT(o.policy->profile->fs.count, 2);
	CHECK_INT(o.policy->layers.items[0].fs.count, 2);
}
