/* SPDX-License-Identifier: MIT */
/* The key `approve`: what a rule may hold, and what is wrong with one. */
#include "../support/policy_text.h"
#include "test.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"

TEST(rules_are_read_in_the_order_of_the_file)
{
	scoped_outcome o = compile_texts(&(struct texts){
		.user = DEV
		"[[approve]]\nwrite = '~/.cache/**'\nanswer = 'allow'\nscope = 'session'\n"
		"[[approve]]\nhost = '*.Example.com:443'\nanswer = 'deny'\n"
		"profile = ':workspace'\n"
		"[[approve]]\nsocket = '/run/x.sock'\nanswer = 'ask'\n" });

	REQUIRE(o.policy);
	const struct settings *s = &o.policy->settings;
	REQUIRE(s->approve.count == 3);
	CHECK_INT(s->approve.items[0].subject, APPROVE_WRITE);
	CHECK(s->approve.items[0].below_home && s->approve.items[0].matcher);
	CHECK(str_is(s->approve.items[0].path, ".cache"));
	CHECK_INT(s->approve.items[0].scope, APPROVE_SESSION);
	CHECK_INT(s->approve.items[0].origin.line, 3);
	CHECK_INT(s->approve.items[1].subject, APPROVE_HOST);
	CHECK(str_is(s->approve.items[1].domain.name, "example.com"));
	CHECK_INT(s->approve.items[1].answer, APPROVE_DENY);
	CHECK(str_is(s->approve.items[1].profile.name, ":workspace"));
	CHECK_INT(s->approve.items[2].answer, APPROVE_ASK);
	CHECK(!s->approve.items[2].matcher);
	CHECK(str_is(s->approve.items[2].path, "/run/x.sock"));
}

TEST(a_rule_with_a_mistake_is_an_error)
{
#define R "[[approve]]\n"
	CHECK(is_refused(DEV R "writes = '/a'\nanswer = 'deny'\n", "did you mean 'write'?"));
	CHECK(is_refused(DEV R "writes = '/a'\nanswer = 'deny'\n", ":4:1: unknown key 'writes'"));
	CHECK(is_refused(DEV R "answer = 'deny'\n", "'write', 'host' or 'socket'"));
	CHECK(is_refused(DEV R "write = '/a'\nhost = 'a.com'\nanswer = 'deny'\n",
			 "'write' and 'host' can't be in one rule"));
	CHECK(is_refused(DEV R "write = '/a'\n", "has no 'answer'"));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = 'alow'\n", "did you mean 'allow'?"));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = true\n",
			 "'answer' in 'approve' is a boolean"));
	CHECK(is_refused(DEV R "write = 7\nanswer = 'deny'\n",
			 "'write' in 'approve' is an integer"));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = 'deny'\nscope = 'run'\n",
			 "'scope' in 'approve' belongs to an \"allow\""));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = 'allow'\nscope = 'always'\n",
			 "'scope' in 'approve' can't be \"always\""));
	CHECK(is_refused(DEV R "write = 'a'\nanswer = 'deny'\n", "the path 'a' is relative"));
	CHECK(is_refused(DEV R "write = '/a/../b'\nanswer = 'deny'\n", "'.' or '..'"));
	CHECK(is_refused(DEV R "write = ':workspace_roots'\nanswer = 'allow'\n",
			 "can't be used in"));
	CHECK(is_refused(DEV R "host = 'a b'\nanswer = 'deny'\n", ":4:8: "));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = 'deny'\nprofile = 'devv'\n", "devv"));
	CHECK(is_refused(DEV R "write = '/a'\nanswer = 'deny'\nprofile = ''\n", "is empty"));
	CHECK(is_refused("approve.write = '/a'\n", "it has to be an array: [[approve]]"));
}

TEST(only_the_users_own_file_may_hold_rules)
{
	static const char rule[] = "[[approve]]\nwrite = '/a'\nanswer = 'allow'\n";
	scoped_outcome system = compile_texts(&(struct texts){ .user = DEV, .system = rule });
	scoped_outcome project = compile_texts(&(struct texts){ .user = DEV, .project = rule });
	scoped_outcome required =
		compile_texts(&(struct texts){ .user = DEV, .requirements = rule });

	CHECK(!system.policy && strstr(system.e.text, "only the user's own configuration"));
	CHECK(!project.policy);
	CHECK(!required.policy);
}
