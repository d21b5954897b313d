/* SPDX-License-Identifier: MIT */
/* The key `exec`: what a rule may hold, and what is wrong with one. */
#include "../support/policy_text.h"
#include "test.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n[permissions.push]\n"

TEST(rules_are_read_in_the_order_of_the_file)
{
	scoped_outcome o = compile_texts(&(struct texts){
		.user = DEV
		"[[exec]]\nargv = ['git', 'push', 'origin']\ndecision = 'allow'\nrun = 'push'\n"
		"[[exec]]\nargv = ['/usr/bin/gh', '...']\ndecision = 'ask'\ncwd = '~/src'\n"
		"run = ':danger-full-access'\nprofile = 'dev'\n"
		"[[exec]]\nargv = ['sh', '...']\ndecision = 'deny'\n" });

	REQUIRE(o.policy);
	const struct settings *s = &o.policy->settings;
	REQUIRE(s->exec.count == 3);
	CHECK_INT(s->exec.items[0].decision, EXEC_ALLOW);
	CHECK_INT(s->exec.items[0].argv.count, 3);
	CHECK(!s->exec.items[0].takes_more && !s->exec.items[0].has_cwd);
	CHECK(str_is(s->exec.items[0].run.name, "push"));
	CHECK_INT(s->exec.items[0].origin.line, 4);
	CHECK_INT(s->exec.items[1].decision, EXEC_ASK);
	CHECK_INT(s->exec.items[1].argv.count, 1);
	CHECK(s->exec.items[1].takes_more && s->exec.items[1].cwd_below_home);
	CHECK(exec_rule_is_unsandboxed(&s->exec.items[1]));
	CHECK(str_is(s->exec.items[1].profile.name, "dev"));
	CHECK_INT(s->exec.items[2].decision, EXEC_DENY);
	CHECK(!s->exec.items[2].run.name.len);
}

TEST(any_arguments_without_a_sandbox_can_only_be_asked_about)
{
#define ANY "[[exec]]\nargv = ['git', 'push', '...']\n"
	CHECK(is_refused(DEV ANY "decision = 'allow'\nrun = ':danger-full-access'\n",
			 "can't allow a command without a sandbox"));
	scoped_outcome sandboxed = compile_texts(
		&(struct texts){ .user = DEV ANY "decision = 'allow'\nrun = 'push'\n" });
	scoped_outcome asked = compile_texts(&(struct texts){
		.user = DEV ANY "decision = 'ask'\nrun = ':danger-full-access'\n" });
	scoped_outcome whole = compile_texts(&(struct texts){
		.user = DEV "[[exec]]\nargv = ['git', 'push']\ndecision = 'allow'\n"
			    "run = ':danger-full-access'\n" });

	CHECK(sandboxed.policy != NULL);
	CHECK(asked.policy != NULL);
	CHECK(whole.policy != NULL);
}

TEST(a_rule_with_a_mistake_is_an_error)
{
#define R "[[exec]]\nargv = ['git', 'push']\n"
	CHECK(is_refused(DEV "[[exec]]\ndecision = 'deny'\n", "has no 'argv'"));
	CHECK(is_refused(DEV "[[exec]]\nargv = []\ndecision = 'deny'\n", "1 to 256 words"));
	CHECK(is_refused(DEV "[[exec]]\nargv = 'git push'\ndecision = 'deny'\n", "is a string"));
	CHECK(is_refused(DEV "[[exec]]\nargv = ['git', 1]\ndecision = 'deny'\n", "is an integer"));
	CHECK(is_refused(DEV "[[exec]]\nargv = ['...']\ndecision = 'deny'\n", "name a program"));
	CHECK(is_refused(DEV "[[exec]]\nargv = ['']\ndecision = 'deny'\n", "name a program"));
	CHECK(is_refused(DEV "[[exec]]\nargv = ['bin/git']\ndecision = 'deny'\n", "relative path"));
	CHECK(is_refused(DEV "[[exec]]\nargv = ['git', '...', 'x']\ndecision = 'deny'\n",
			 "the last word"));
	CHECK(is_refused(DEV R, "has no 'decision'"));
	CHECK(is_refused(DEV R "decision = 'alow'\n", "did you mean 'allow'?"));
	CHECK(is_refused(DEV R "decision = 'allow'\n", "has no 'run'"));
	CHECK(is_refused(DEV R "decision = 'ask'\n", "has no 'run'"));
	CHECK(is_refused(DEV R "decision = 'deny'\nrun = 'push'\n", "belongs to an \"allow\""));
	CHECK(is_refused(DEV R "decision = 'allow'\nrun = 'pusch'\n", "pusch"));
	CHECK(is_refused(DEV R "decision = 'allow'\nrun = ''\n", "is empty"));
	CHECK(is_refused(DEV R "decision = 'deny'\nprofile = 'devv'\n", "devv"));
	CHECK(is_refused(DEV R "decision = 'deny'\ncwd = ':root'\n", "one directory"));
	CHECK(is_refused(DEV R "decision = 'deny'\ncwd = 'sub'\n", "relative"));
	CHECK(is_refused(DEV R "decision = 'deny'\ncwd = '/a/**'\n", "one directory"));
	CHECK(is_refused(DEV R "decision = 'deny'\nwd = '/a'\n", "did you mean 'cwd'?"));
	CHECK(is_refused("exec.argv = ['a']\n", "it has to be an array: [[exec]]"));
}

TEST(only_the_users_own_file_may_hold_rules)
{
	static const char rule[] =
		"[[exec]]\nargv = ['git']\ndecision = 'allow'\nrun = ':workspace'\n";
	scoped_outcome system = compile_texts(&(struct texts){ .user = DEV, .system = rule });
	scoped_outcome project = compile_texts(&(struct texts){ .user = DEV, .project = rule });
	scoped_outcome required =
		compile_texts(&(struct texts){ .user = DEV, .requirements = rule });

	CHECK(!system.policy && strstr(system.e.text, "only the user's own configuration"));
	CHECK(!project.policy);
	CHECK(!required.policy);
}
