/* SPDX-License-Identifier: MIT */
/* [[exec]]: which command a rule is about. */
#include "approve/exec_rules.h"
#include "plan/plan.h"
#include "test.h"
#include "world.h"

#define DEV   "default_permissions = 'dev'\n[permissions.dev]\n[permissions.other]\n"
#define ALLOW "decision = 'allow'\nrun = 'other'\n"
#define ASK   "decision = 'ask'\nrun = 'other'\n"
#define DENY  "decision = 'deny'\n"
#define PUSH  "[[exec]]\nargv = ['git', 'push', 'origin']\n"

/* "git" is on PATH, "sh" and "ls" are one file, "evil" lies where the command may write. */
static int find(void *user, struct arena *a, struct str name, struct str *out, struct err *e)
{
	static const char *const files[][2] = { { "git", "/usr/bin/git" },
						{ "/usr/bin/git", "/usr/bin/git" },
						{ "sh", "/bin/busybox" },
						{ "ls", "/bin/busybox" },
						{ "/opt/git", "/opt/git" } };

	(void)user;
	(void)a;
	(void)e;
	*out = STR_EMPTY;
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (str_is(name, files[i][0]))
			*out = str_of(files[i][1]);
	return 0;
}

/* "allow", "none", "elsewhere", or why there are no rules; `words` behind blanks. */
static const char *judge(const char *rules, const char *program, const char *words, const char *cwd)
{
	static const struct str roots[] = { STR("/repo"), STR("/second") };
	static char text[128];
	const struct exec_finder finder = { .find = find };
	const struct exec_rules *compiled;
	struct str argv[16], rest = str_of(words);
	struct exec_command command = { .program = str_of(program),
					.argv = argv,
					.cwd = str_of(cwd) };
	struct exec_ruling ruling;
	scoped_buf user = BUF_INIT(1 << 16);
	scoped_world w;

	while (rest.len && command.argv_count < COUNT_OF(argv)) {
		struct str word = str_first(rest, str_find(rest, ' '));

		argv[command.argv_count++] = word;
		rest = str_from(rest, MIN_OF(word.len + 1, rest.len));
	}
	world_init(&w, "d /repo/sub\nd /second\nd /home/me/src\n", "/repo");
	buf_printf(&user, "%s%s", DEV, rules);
	w.user = user.p;
	if (!world_plan(&w) ||
	    exec_rules_new(&w.a, &w.in, roots, COUNT_OF(roots), &compiled, &w.e) < 0 ||
	    exec_rules_judge(compiled, &command, &finder, &ruling, &w.e) < 0) {
		(void)snprintf(text, sizeof(text), "%.120s", w.e.text);
		return text;
	}
	if (!ruling.rule)
		return ruling.elsewhere ? "elsewhere" : "none";
	return exec_decision_name(ruling.rule->decision);
}

TEST(a_rule_matches_the_whole_command)
{
	const char *r = PUSH ALLOW;

	CHECK_STR(judge(r, "/usr/bin/git", "git push origin", "/repo"), "allow");
	CHECK_STR(judge(r, "/usr/bin/git", "/usr/bin/git push origin", "/repo"), "allow");
	CHECK_STR(judge(r, "/usr/bin/git", "git push", "/repo"), "none");
	CHECK_STR(judge(r, "/usr/bin/git", "git push origin --receive-pack=x", "/repo"), "none");
	CHECK_STR(judge(r, "/usr/bin/git", "git --exec-path=/tmp push origin", "/repo"), "none");
	CHECK_STR(judge(r, "/usr/bin/git", "git push originx", "/repo"), "none");
	CHECK_STR(judge(r, "/usr/bin/git", "git", "/repo"), "none");
}

TEST(three_dots_stand_for_any_arguments_and_for_none)
{
	const char *r = "[[exec]]\nargv = ['git', 'push', '...']\n" ASK;

	CHECK_STR(judge(r, "/usr/bin/git", "git push", "/repo"), "ask");
	CHECK_STR(judge(r, "/usr/bin/git", "git push a b c", "/repo"), "ask");
	CHECK_STR(judge(r, "/usr/bin/git", "git pull", "/repo"), "none");
	CHECK_STR(judge(r, "/usr/bin/git", "git", "/repo"), "none");
}

TEST(a_program_is_the_file_that_its_name_is_found_to_be)
{
	CHECK_STR(judge(PUSH ALLOW, "/opt/git", "/opt/git push origin", "/repo"), "none");
	CHECK_STR(judge(PUSH ALLOW, "/repo/git", "git push origin", "/repo"), "none");
	CHECK_STR(judge("[[exec]]\nargv = ['/opt/git']\n" ALLOW, "/opt/git", "/opt/git", "/repo"),
		  "allow");
	CHECK_STR(judge("[[exec]]\nargv = ['/opt/git']\n" ALLOW, "/usr/bin/git", "git", "/repo"),
		  "none");
	CHECK_STR(judge("[[exec]]\nargv = ['gone']\n" ALLOW, "", "gone", "/repo"), "none");
}

TEST(one_file_with_two_names_is_two_programs)
{
	const char *r = "[[exec]]\nargv = ['ls']\n" ALLOW;

	CHECK_STR(judge(r, "/bin/busybox", "ls", "/repo"), "allow");
	CHECK_STR(judge(r, "/bin/busybox", "sh", "/repo"), "none");
}

TEST(a_rule_holds_in_a_workspace_root_and_not_below_it)
{
	CHECK_STR(judge(PUSH ALLOW, "/usr/bin/git", "git push origin", "/second"), "allow");
	CHECK_STR(judge(PUSH ALLOW, "/usr/bin/git", "git push origin", "/repo/sub"), "elsewhere");
	CHECK_STR(judge(PUSH ALLOW, "/usr/bin/git", "git push origin", "/"), "elsewhere");
}

TEST(a_rule_with_a_directory_holds_there_alone)
{
	const char *r = PUSH ALLOW "cwd = '/repo/sub'\n";

	CHECK_STR(judge(r, "/usr/bin/git", "git push origin", "/repo/sub"), "allow");
	CHECK_STR(judge(r, "/usr/bin/git", "git push origin", "/repo"), "elsewhere");
	CHECK_STR(judge(r, "/usr/bin/git", "git push origin", "/repo/sub/x"), "elsewhere");
	CHECK_STR(judge(PUSH ALLOW "cwd = '~/src'\n", "/usr/bin/git", "git push origin",
			"/home/me/src"),
		  "allow");
}

TEST(a_deny_wins_over_an_ask_and_that_over_an_allow)
{
	CHECK_STR(judge(PUSH ALLOW PUSH ASK, "/usr/bin/git", "git push origin", "/repo"), "ask");
	CHECK_STR(judge(PUSH ASK PUSH ALLOW, "/usr/bin/git", "git push origin", "/repo"), "ask");
	CHECK_STR(judge(PUSH ALLOW PUSH DENY PUSH ASK, "/usr/bin/git", "git push origin", "/repo"),
		  "deny");
	/* Wherever it stands. */
	CHECK_STR(judge(PUSH DENY, "/usr/bin/git", "git push origin", "/repo/sub"), "deny");
}

TEST(a_rule_of_another_profile_does_not_count)
{
	CHECK_STR(
		judge(PUSH ALLOW "profile = 'other'\n", "/usr/bin/git", "git push origin", "/repo"),
		"none");
	CHECK_STR(judge(PUSH ALLOW "profile = 'dev'\n", "/usr/bin/git", "git push origin", "/repo"),
		  "allow");
}
