/* SPDX-License-Identifier: MIT */
/* Tests of session/denials.c: denials in words, and what would allow them. */
#include "backend/denials.h"

#include <errno.h>

#include "base/error_name.h"
#include "plan/suggest.h"
#include "session/session.h"
#include "test.h"
#include "world.h"

static const char host_text[] = "d /repo/.vscode\nd /home/me/.cache\nf /home/me/.bashrc\n"
				"d /opt/app/bin\nf /opt/app/conf\nd /tmp\n";

static bool start(struct world *w, struct outcome *o)
{
	world_init(w, host_text, "/repo");
	w->user = "default_permissions = 'dev'\n[permissions.dev.filesystem]\n"
		  "'/' = 'read'\n':workspace_roots' = 'write'\n";
	*o = (struct outcome){ .status = 1 };
	denials_init(&o->denials);
	return world_plan(w);
}

static struct denial *refuse(struct world *w, struct outcome *o, enum operation operation,
			     const char *subject, const char *opens)
{
	denials_add(&o->denials,
		    &(struct denial){ .kind = DENIAL_PATH,
				      .operation = operation,
				      .subject = str_of(subject),
				      .opens = str_of(opens),
				      .by = plan_resolve(w->plan, str_of(subject)).rule,
				      .os_error = EROFS,
				      .program = STR("make") });
	return &o->denials.items.items[o->denials.items.count - 1];
}

static const char *sentence_of(const struct denial *denial)
{
	static char text[4096];
	struct buf b = BUF_OVER(text);

	memset(text, 0, sizeof(text));
	denial_add_sentence(&b, denial);
	return text;
}

TEST(sentence_names_program_operation_path_rule_and_place)
{
	scoped_world w;
	struct outcome o;
	struct denial *denial;

	REQUIRE(start(&w, &o));
	denial = refuse(&w, &o, OPERATION_CREATE, "/opt/app/bin/tool", "/opt/app/bin");
	CHECK_STR(sentence_of(denial), "make was not allowed to create '/opt/app/bin/tool' "
				       "(\"/\" = \"read\", user.toml:3)");
	denial = refuse(&w, &o, OPERATION_CREATE, "/opt/app/bin/tool", "/opt/app/bin");
	CHECK_INT(o.denials.items.count, 1);
	CHECK(strstr(sentence_of(denial), ", 2 times"));
	denial = refuse(&w, &o, OPERATION_MKDIR, "/repo/.vscode", "/repo/.vscode");
	CHECK(strstr(sentence_of(denial), "(\".vscode\" is protected)"));
	CHECK(strstr(sentence_of(denial), "create the directory '/repo/.vscode'"));
	denials_done(&o.denials);
}

TEST(names_from_inside_are_escaped)
{
	scoped_world w;
	struct outcome o;
	struct denial *denial;

	REQUIRE(start(&w, &o));
	denial = refuse(&w, &o, OPERATION_UNLINK, "/opt/\033[2J\nx", "/opt");
	denial->program = STR("e\033l");
	CHECK(!strchr(sentence_of(denial), '\033') && !strchr(sentence_of(denial), '\n'));
	CHECK(str_has_prefix(str_of(sentence_of(denial)),
			     STR("e\\x1bl was not allowed to remove")));
	denials_done(&o.denials);
}

TEST(unknown_programs_and_guesses_are_worded)
{
	scoped_world w;
	struct outcome o;
	struct denial *denial;

	REQUIRE(start(&w, &o));
	denial = refuse(&w, &o, OPERATION_OPEN_WRITE, "/opt/app/conf", "/opt/app/conf");
	denial->program = STR_EMPTY;
	denial->is_guess = true;
	CHECK(str_has_prefix(str_of(sentence_of(denial)),
			     STR("the command was probably not allowed to open for writing '")));
	denials_done(&o.denials);
}

TEST(each_denial_gets_the_option_that_is_enough)
{
	scoped_world w;
	struct outcome o;
	const struct denial *d;

	REQUIRE(start(&w, &o));
	(void)refuse(&w, &o, OPERATION_CREATE, "/opt/app/bin/a", "/opt/app/bin");
	(void)refuse(&w, &o, OPERATION_CREATE, "/opt/app/bin/b", "/opt/app/bin");
	(void)refuse(&w, &o, OPERATION_OPEN_WRITE, "/opt/app/conf", "/opt/app/conf");
	(void)refuse(&w, &o, OPERATION_MKDIR, "/repo/.mcp.json", "/repo");
	outcome_find_ways(&w.a, &o, &w.in, w.plan, 3);
	d = o.denials.items.items;
	CHECK_STR(d[0].option, "--add-write");
	CHECK_STR(d[0].value.p, "/opt/app/bin");
	CHECK_STR(d[0].way_out.p, "--add-write /opt/app/bin");
	CHECK_STR(d[1].way_out.p, "--add-write /opt/app/bin");
	CHECK_STR(d[2].way_out.p, "--add-write /opt/app/conf");
	CHECK(!d[3].option);
	outcome_find_ways(&w.a, &o, &w.in, w.plan, 10);
	CHECK_STR(o.denials.items.items[3].way_out.p, "--unprotect .mcp.json");
	denials_done(&o.denials);
}

TEST(home_is_never_opened_but_a_file_in_it_is)
{
	scoped_world w;
	struct outcome o;
	const struct denial *d;

	REQUIRE(start(&w, &o));
	(void)refuse(&w, &o, OPERATION_CREATE, "/home/me/.new", "/home/me");
	(void)refuse(&w, &o, OPERATION_RENAME, "/home/me/.bashrc", "/home/me");
	(void)refuse(&w, &o, OPERATION_OPEN_WRITE, "/home/me/.bashrc", "/home/me");
	(void)refuse(&w, &o, OPERATION_CHMOD, "/home/me", "/home/me");
	(void)refuse(&w, &o, OPERATION_MKDIR, "/new", "/");
	outcome_find_ways(&w.a, &o, &w.in, w.plan, 10);
	d = o.denials.items.items;
	CHECK(!d[0].option && !d[1].option && !d[3].option && !d[4].option);
	CHECK_STR(d[2].way_out.p, "--add-write /home/me/.bashrc");
	denials_done(&o.denials);
}

TEST(words_of_a_shell_are_quoted)
{
	scoped_world w;
	struct outcome o;

	REQUIRE(start(&w, &o));
	world_done(&w);
	world_init(&w, "d /repo\nd /home/me\nd /opt/it's\n", "/repo");
	w.user = "default_permissions = 'dev'\n[permissions.dev.filesystem]\n'/' = 'read'\n";
	REQUIRE(world_plan(&w));
	(void)refuse(&w, &o, OPERATION_CREATE, "/opt/it's/x", "/opt/it's");
	outcome_find_ways(&w.a, &o, &w.in, w.plan, 1);
	CHECK_STR(o.denials.items.items[0].value.p, "/opt/it's");
	CHECK_STR(o.denials.items.items[0].way_out.p, "--add-write '/opt/it'\\''s'");
	denials_done(&o.denials);
}

TEST(errors_have_names)
{
	CHECK_STR(error_name(EROFS), "EROFS");
	CHECK_STR(error_name(EACCES), "EACCES");
	CHECK_STR(error_name(EBUSY), "EBUSY");
	CHECK(!error_name(0));
}
