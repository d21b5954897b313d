/* SPDX-License-Identifier: MIT */
/* The keys of a profile and `extends` (P4), environment (P21) and limits (P23). */
#include "../support/policy_text.h"
#include "test.h"

#define DEV(keys) "[permissions.dev]\n" keys "\n"

TEST(the_built_in_profiles_are_those_of_the_table)
{
	scoped_outcome read = compile_texts(&(struct texts){ .profile = ":read-only" });
	scoped_outcome work = compile_texts(&(struct texts){ .profile = ":workspace" });
	scoped_outcome full = compile_texts(&(struct texts){ .profile = ":danger-full-access" });

	REQUIRE(read.policy && work.policy && full.policy);
	CHECK_INT(read.policy->profile->fs.count, 1);
	CHECK_INT(access_of(&read.policy->profile->fs, ":root"), ACCESS_READ);
	CHECK_INT(read.policy->profile->net.access, NET_OFF);
	CHECK(!read.policy->profile->is_unsandboxed);
	CHECK_INT(work.policy->profile->fs.count, 4);
	CHECK_INT(access_of(&work.policy->profile->fs, ":root"), ACCESS_READ);
	CHECK_INT(access_of(&work.policy->profile->fs, ":workspace_roots"), ACCESS_WRITE);
	CHECK_INT(access_of(&work.policy->profile->fs, ":slash_tmp"), ACCESS_WRITE);
	CHECK_INT(access_of(&work.policy->profile->fs, ":tmpdir"), ACCESS_WRITE);
	CHECK_INT(work.policy->profile->net.access, NET_OFF);
	CHECK(full.policy->profile->is_unsandboxed);
	CHECK_INT(full.policy->profile->net.access, NET_FULL);
}

TEST(an_empty_profile_allows_nothing)
{
	scoped_outcome o = compile_dev(DEV(""));

	REQUIRE(o.policy);
	CHECK_INT(o.policy->profile->fs.count, 0);
	CHECK_INT(o.policy->profile->net.access, NET_OFF);
	CHECK(o.policy->profile->isolates_ipc && o.policy->profile->isolates_proc);
	CHECK(!o.policy->profile->allows_userns);
	CHECK_INT(o.policy->profile->git, GIT_READ);
	CHECK_INT(o.policy->profile->env.inherit, ENV_ALL);
}

TEST(reserved_and_empty_names_are_refused)
{
	CHECK(is_refused("[permissions.':mine']", "config.toml:1:14: the profile ':mine' can't be "
						  "defined"));
	CHECK(is_refused("[permissions.':workspace']\ngit = 'write'", "are built in"));
	CHECK(is_refused("[permissions.'']", "can't be empty"));
	CHECK(is_refused_texts(
		&(struct texts){ .overrides = { "permissions.':workspace'.git='write'" } },
		"are built in"));
}

TEST(the_scalar_keys_are_taken)
{
	scoped_outcome o = compile_dev(DEV("description = 'd'\ngit = 'commit'\ntmp = 'private'\n"
					   "globs = 'strict'\nnested = 'report'\nprotect = ['.hg', "
					   "'.svn']\n"
					   "isolation = { ipc = false, userns = true }"));
	const struct profile *p;

	REQUIRE(o.policy);
	p = o.policy->profile;
	CHECK_STR(p->description.p, "d");
	CHECK_INT(p->git, GIT_COMMIT);
	CHECK(p->tmp_is_private && p->globs_are_strict && p->nested_is_open);
	CHECK(!p->isolates_ipc && p->isolates_proc && p->allows_userns);
	CHECK_INT(p->protect.count, 2);
}

TEST(bad_scalars_are_refused)
{
	CHECK(is_refused(DEV("git = 'comit'"),
			 "2:7: 'git' can't be \"comit\"; it has to be \"read\", "
			 "\"commit\" or \"write\"; did you mean 'commit'?"));
	CHECK(is_refused(DEV("tmp = 'own'"), "'tmp' can't be \"own\""));
	CHECK(is_refused(DEV("globs = 'watch'"), "'globs' can't be"));
	CHECK(is_refused(DEV("nested = 'open'"), "'nested' can't be"));
	CHECK(is_refused(DEV("isolation = { ipc = 1 }"), "is an integer"));
}

TEST(protected_names_are_single_names)
{
	CHECK(is_refused(DEV("protect = ['a/b']"), "2:12: 'a/b' can't be protected"));
	CHECK(is_refused(DEV("protect = ['.']"), "can't be protected"));
	CHECK(is_refused(DEV("protect = ['..']"), "can't be protected"));
	CHECK(is_refused(DEV("protect = ['']"), "can't be protected"));
	CHECK(is_refused(DEV("protect = [\"a\\u0000\"]"), "can't be protected"));
	CHECK(is_refused(DEV("protect = [1]"), "is an integer"));
}

TEST(workspace_roots_are_absolute_at_home_or_below_the_working_directory)
{
	scoped_outcome o =
		compile_dev(DEV("[permissions.dev.workspace_roots]\n'/a//b/' = true\n"
				"'~/c' = true\n'd/e' = true\n'.' = true\n'/off' = false"));
	const struct root *roots;
	size_t count;

	REQUIRE(o.policy);
	REQUIRE(profile_doc_roots(&o.a, o.doc, &roots, &count, &o.e) == 0);
	REQUIRE(count == 4 && o.policy->profile->roots.count == 4);
	CHECK_INT(roots[0].anchor, FS_ABSOLUTE);
	CHECK_STR(roots[0].path.p, "/a/b");
	CHECK_INT(roots[1].anchor, FS_HOME);
	CHECK_STR(roots[1].path.p, "c");
	CHECK_INT(roots[2].anchor, FS_WORKSPACE_ROOTS);
	CHECK_STR(roots[2].path.p, "d/e");
	CHECK_INT(roots[3].path.len, 0);
}

TEST(a_child_can_remove_a_root)
{
	scoped_outcome o =
		compile_dev("[permissions.base.workspace_roots]\n'/a' = true\n'/b' = true\n"
			    "[permissions.dev]\nextends = 'base'\n"
			    "workspace_roots = { '/a/' = false }");

	REQUIRE(o.policy);
	REQUIRE(o.policy->profile->roots.count == 1);
	CHECK_STR(o.policy->profile->roots.items[0].path.p, "/b");
}

TEST(bad_roots_are_refused)
{
	CHECK(is_refused(DEV("workspace_roots = { '../x' = true }"), "'.' or '..' component"));
	CHECK(is_refused(DEV("workspace_roots = { '' = true }"), "has to be a path"));
	CHECK(is_refused(DEV("workspace_roots = { ':root' = true }"), "has to be a path"));
	CHECK(is_refused(DEV("workspace_roots = { '~me' = true }"), "has to be a path"));
	CHECK(is_refused(DEV("workspace_roots = { '/a' = 'x' }"), "is a string"));
	CHECK(is_refused(DEV("workspace_roots = { '/a' = true, '/a/' = false }"), "already set"));
}

TEST(a_child_inherits_all_but_description_and_extends)
{
	scoped_outcome o = compile_dev("[permissions.base]\nextends = ':workspace'\n"
				       "description = 'base'\ngit = 'commit'\nlimits.timeout = 5\n"
				       "[permissions.dev]\nextends = 'base'\nlimits.memory = 6\n");
	const struct profile *p;

	REQUIRE(o.policy);
	p = o.policy->profile;
	CHECK_STR(p->name.p, "dev");
	CHECK_INT(p->description.len, 0);
	CHECK_INT(p->git, GIT_COMMIT);
	CHECK_INT(p->fs.count, 4);
	CHECK_INT(p->limits.value[LIMIT_TIMEOUT], 5000);
	CHECK_INT(p->limits.value[LIMIT_MEMORY], 6);
}

TEST(bad_parents_are_refused)
{
	CHECK(is_refused("[permissions.a]\nextends = 'b'\n[permissions.b]\nextends = 'c'\n"
			 "[permissions.c]\nextends = 'b'\n",
			 "profiles extend each other in a circle: b -> c -> b"));
	CHECK(is_refused("[permissions.a]\nextends = 'a'",
			 "2:11: profile 'a' extends itself; name another, such as \":workspace\""));
	CHECK(is_refused(
		"[permissions.a]\nextends = ':workspac'",
		"config.toml:2:11: 'extends' names the profile ':workspac', which does not "
		"exist; did you mean ':workspace'?"));
	CHECK(is_refused("[permissions.a]\nextends = ':danger-full-access'",
			 "2:11: ':danger-full-access' can't be extended"));
	CHECK(is_refused("[permissions.a]\nextends = ''", "names the profile ''"));
}

TEST(a_long_chain_of_parents_is_a_limit)
{
	char text[4096] = "";
	size_t used = 0;

	for (int i = 0; i < 40; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "[permissions.p%d]\nextends = 'p%d'\n", i, i + 1);
	(void)snprintf(text + used, sizeof(text) - used, "[permissions.p40]\n");
	scoped_outcome o = compile_texts(&(struct texts){ .user = text });
	CHECK_INT(o.e.code, ERR_LIMIT);
	CHECK(strstr(o.e.text, "config.toml:"));
}

/* ---- Environment -------------------------------------------------------- */

static bool passes(const char *environment, const char *name)
{
	char text[512];

	(void)snprintf(text, sizeof(text), DEV("environment = %s"), environment);
	scoped_outcome o = compile_dev(text);
	if (!o.policy)
		printf("#   %s\n", o.e.text);
	return o.policy && environment_passes(&o.policy->profile->env, str_of(name), false);
}

TEST(by_default_all_pass_but_names_that_look_secret)
{
	CHECK(passes("{}", "PATH"));
	CHECK(passes("{}", "KEYBOARD"));
	CHECK(passes("{}", "MONKEY"));
	CHECK(!passes("{}", "GITHUB_TOKEN"));
	CHECK(!passes("{}", "github_token"));
	CHECK(!passes("{}", "MY_SECRET_X"));
	CHECK(!passes("{}", "PGPASSWORD"));
	CHECK(!passes("{}", "GOOGLE_CREDENTIALS"));
	CHECK(!passes("{}", "SSH_KEY"));
	CHECK(!passes("{}", "OPENAI_API_KEY_2"));
	CHECK(!passes("{}", "a/b/TOKEN"));
	CHECK(!passes("{}", ""));
}

TEST(include_brings_back_and_exclude_takes_more)
{
	CHECK(passes("{ include = ['GITHUB_*'] }", "GITHUB_TOKEN"));
	CHECK(!passes("{ include = ['GITHUB_*'] }", "NPM_TOKEN"));
	CHECK(!passes("{ exclude = ['aws_*'] }", "AWS_REGION"));
	CHECK(!passes("{ exclude = ['*'] }", "a/b"));
	CHECK(passes("{ exclude = ['AWS_*'], include = ['AWS_REGION'] }", "AWS_REGION"));
	CHECK(!passes("{ exclude = ['AWS_*'], include = ['AWS_REGION'] }", "AWS_PROFILE"));
	CHECK(!passes("{ exclude = ['A?[0-9]'] }", "Ab3"));
}

TEST(letters_outside_ascii_have_two_cases_too)
{
	CHECK(!passes("{ exclude = ['\303\204rger*'] }", "\303\244RGER_1"));
	CHECK(!passes("{ exclude = ['\303\244rger*'] }", "\303\204rger_1"));
	CHECK(passes("{ inherit = 'none', include = ['\303\204*'] }", "\303\244x"));
	CHECK(passes("{ exclude = ['\303\204rger*'] }", "\303\226rger_1"));
	/* Not by the table: the long s is no s. */
	CHECK(passes("{ exclude = ['s*'] }", "\305\277x"));
}

TEST(the_core_is_found_in_any_case_where_names_fold)
{
	scoped_outcome o = compile_dev(DEV("environment.inherit = 'core'"));
	const struct environment *env;

	REQUIRE(o.policy);
	env = &o.policy->profile->env;
	CHECK(environment_passes(env, STR("Path"), true));
	CHECK(!environment_passes(env, STR("Path"), false));
	CHECK(!environment_passes(env, STR("Paths"), true));
	CHECK(!environment_passes(env, STR("Pat"), true));
}

TEST(names_are_those_of_one_variable_by_case_alone)
{
	CHECK(variable_is(STR("Path"), STR("PATH"), true));
	CHECK(!variable_is(STR("Path"), STR("PATH"), false));
	CHECK(variable_is(STR("a\303\244b"), STR("A\303\204B"), true));
	CHECK(!variable_is(STR("a\303\244b"), STR("A\303\204B"), false));
	CHECK(!variable_is(STR("PATH"), STR("PATHS"), true));
	CHECK(!variable_is(STR("PATH"), STR("PAT\303\204"), true));
	CHECK(!variable_is(STR("\305\277"), STR("s"), true));
	CHECK(!variable_is(STR("\342\204\252"), STR("k"), true));
}

TEST(core_and_none_inherit_less)
{
	CHECK(passes("{ inherit = 'core' }", "PATH"));
	CHECK(passes("{ inherit = 'core' }", "TERM"));
	CHECK(!passes("{ inherit = 'core' }", "EDITOR"));
	CHECK(!passes("{ inherit = 'core', exclude = ['TERM'] }", "TERM"));
	CHECK(passes("{ inherit = 'core', include = ['EDITOR'] }", "EDITOR"));
	CHECK(!passes("{ inherit = 'none' }", "PATH"));
	CHECK(passes("{ inherit = 'none', include = ['PATH'] }", "PATH"));
}

TEST(a_name_too_long_to_judge_is_withheld)
{
	char name[2000];

	memset(name, 'A', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK(!passes("{ include = ['*'] }", name));
}

TEST(variables_can_be_set)
{
	scoped_outcome o = compile_dev(DEV("environment.set = { A = 'b', GITHUB_TOKEN = '' }"));

	REQUIRE(o.policy);
	REQUIRE(o.policy->profile->env.set.count == 2);
	CHECK_STR(o.policy->profile->env.set.items[0].value.p, "b");
	CHECK_INT(o.policy->profile->env.set.items[1].value.len, 0);
}

TEST(bad_environments_are_refused)
{
	CHECK(is_refused(DEV("environment.inherit = 'some'"), "'environment.inherit' can't be"));
	CHECK(is_refused(DEV("environment.set = { '' = 'x' }"), "can't be the name of a variable"));
	CHECK(is_refused(DEV("environment.set = { 'a=b' = 'x' }"), "can't be the name"));
	CHECK(is_refused(DEV("environment.set = { a = \"b\\u0000\" }"), "contains a NUL"));
	CHECK(is_refused(DEV("environment.set = { a = 1 }"), "is an integer"));
	CHECK(is_refused(DEV("environment.set = { codex_sandbox = 'x' }"), "can't be set"));
	CHECK(is_refused(DEV("environment.set = { CORDON_SANDBOX = 'x' }"),
			 "2:21: 'CORDON_SANDBOX' "
			 "can't be set"));
	CHECK(is_refused(DEV("environment.set = { cordon_x = 'x' }"), "can't be set"));
	CHECK(is_refused(DEV("environment.set = { CODEX_SANDBOX = 'x' }"), "can't be set"));
	CHECK(is_refused(DEV("environment.exclude = ['a=b']"), "matches no variable"));
	CHECK(is_refused(DEV("environment.include = ['']"), "matches no variable"));
	CHECK(is_refused(DEV("environment.include = ['a\\']"), "config.toml:2:24: "));
	CHECK(is_refused(DEV("environment.include = [1]"), "is an integer"));
}

/* ---- Limits ------------------------------------------------------------- */

static uint64_t limit(const char *text, enum limit which)
{
	char user[256];

	(void)snprintf(user, sizeof(user), DEV("limits = { %s }"), text);
	scoped_outcome o = compile_dev(user);
	if (!o.policy)
		printf("#   %s\n", o.e.text);
	return o.policy ? o.policy->profile->limits.value[which] : 0;
}

TEST(limits_are_numbers_with_or_without_a_unit)
{
	CHECK_INT(limit("timeout = 90", LIMIT_TIMEOUT), 90000);
	CHECK_INT(limit("timeout = '90'", LIMIT_TIMEOUT), 90000);
	CHECK_INT(limit("timeout = '250ms'", LIMIT_TIMEOUT), 250);
	CHECK_INT(limit("timeout = '90s'", LIMIT_TIMEOUT), 90000);
	CHECK_INT(limit("cpu_time = '5m'", LIMIT_CPU_TIME), 300000);
	CHECK_INT(limit("cpu_time = '1h'", LIMIT_CPU_TIME), 3600000);
	CHECK_INT(limit("memory = 1000", LIMIT_MEMORY), 1000);
	CHECK_INT(limit("memory = '512MiB'", LIMIT_MEMORY), 512 << 20);
	CHECK_INT(limit("memory = '2GB'", LIMIT_MEMORY), 2000000000);
	CHECK_INT(limit("file_size = '64k'", LIMIT_FILE_SIZE), 65536);
	CHECK_INT(limit("file_size = '64kB'", LIMIT_FILE_SIZE), 64000);
	CHECK_INT(limit("processes = 7", LIMIT_PROCESSES), 7);
	CHECK_INT(limit("open_files = 8", LIMIT_OPEN_FILES), 8);
}

TEST(limits_of_each_process_are_told_from_those_of_a_run)
{
	static const struct {
		const char *text;
		const char *found;
	} cases[] = { { "limits = { timeout = '1s', memory = '1G', processes = 9 }", NULL },
		      { "limits.file_size = '1M'", "file_size" },
		      { "limits.open_files = 9", "open_files" },
		      { "limits.cpu_time = '1s'", "cpu_time" } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[256];
		const char *found;

		(void)snprintf(text, sizeof(text), DEV("%s"), cases[i].text);
		scoped_outcome o = compile_dev(text);

		REQUIRE(o.policy);
		found = limit_of_processes(&o.policy->profile->limits);
		CHECK_STR(found ? found : "none", cases[i].found ? cases[i].found : "none");
	}
}

TEST(bad_limits_are_refused)
{
	CHECK(is_refused(DEV("limits.timeout = 0"), "2:18: 'limits.timeout' has to be at least 1"));
	CHECK(is_refused(DEV("limits.timeout = -5"), "has to be at least 1"));
	CHECK(is_refused(DEV("limits.timeout = '0s'"), "has to be at least 1"));
	CHECK(is_refused(DEV("limits.timeout = '5 minutes'"), "can't be \"5 minutes\""));
	CHECK(is_refused(DEV("limits.timeout = '5MiB'"), "\"250ms\", \"90s\""));
	CHECK(is_refused(DEV("limits.memory = '4g'"), "did you mean \"4G\"?"));
	CHECK(is_refused(DEV("limits.memory = '4gb'"), "did you mean \"4GB\"?"));
	CHECK(is_refused(DEV("limits.memory = '4mib'"), "did you mean \"4MiB\"?"));
	CHECK(is_refused(DEV("limits.timeout = '4H'"), "did you mean \"4h\"?"));
	CHECK(is_refused(DEV("limits.memory = '5s'"), "\"64k\", \"512MiB\""));
	CHECK(is_refused(DEV("limits.memory = ''"), "can't be \"\""));
	CHECK(is_refused(DEV("limits.memory = '-1k'"), "can't be \"-1k\""));
	CHECK(is_refused(DEV("limits.memory = '99999999999999999999'"), "is too large"));
	CHECK(is_refused(DEV("limits.memory = '9000000000000T'"), "is too large"));
	CHECK(is_refused(DEV("limits.timeout = 9223372036854775807"), "is too large"));
	CHECK(is_refused(DEV("limits.processes = '5'"), "is a string"));
}

TEST(names_of_limits_are_their_keys)
{
	CHECK_STR(limit_name(LIMIT_TIMEOUT), "timeout");
	CHECK_STR(limit_name(LIMIT_CPU_TIME), "cpu_time");
}
