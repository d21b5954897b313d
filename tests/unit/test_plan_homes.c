/* SPDX-License-Identifier: MIT */
/* A home is no workspace (plan/homes.c). */
#include "test.h"

#include "plan_lists.h"

static const char files[] = "d /repo\nd /home/me/ws\nd /home/you\nd /data/me\nl /link -> /data/me\n"
			    "d /tmp\nl /loop -> /loop\nf /home/me/.bashrc\n";

/* Whether a run in `cwd` is refused because of a home, before anything is searched. */
static bool is_refused(struct world *w, const char *cwd)
{
	w->cwd = cwd;
	if (world_plan(w))
		return false;
	CHECK_INT(w->e.code, ERR_POLICY);
	CHECK(strstr(w->e.text, "--add-write"));
	return true;
}

TEST(a_workspace_that_is_the_home_or_above_it_is_refused)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	CHECK(is_refused(&w, "/home/me"));
	CHECK(is_refused(&w, "/home"));
	CHECK(is_refused(&w, "/"));
	CHECK(!is_refused(&w, "/home/me/ws"));
	CHECK(!is_refused(&w, "/home/you"));
	CHECK(!is_refused(&w, "/repo"));
	CHECK(!is_refused(&w, "/tmp"));
}

TEST(a_home_may_be_the_workspace_if_it_is_only_read)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	CHECK(!is_refused(&w, "/home/me"));
	CHECK(!is_refused(&w, "/"));
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/repo' = 'write'\n"
		 "':workspace_roots' = { 'src' = 'write' }\n";
	w.profile = "dev";
	CHECK(!is_refused(&w, "/home/me"));
	w.user = WORKSPACE("") "'~' = 'deny'\n";
	CHECK(!is_refused(&w, "/home/me"));
	/* The same path twice: what may be written of both counts (P7). */
	w.user = WORKSPACE("") "'~' = 'read'\n";
	CHECK(is_refused(&w, "/home/me"));
}

TEST(an_entry_that_names_a_path_opens_it)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = "dev";
	w.user = WORKSPACE("") "'~' = 'write'\n";
	CHECK(!is_refused(&w, "/home/me"));
	CHECK(is_refused(&w, "/home"));
	w.user = WORKSPACE("") "'/home' = 'write'\n";
	CHECK(!is_refused(&w, "/home/me"));
	CHECK(!is_refused(&w, "/home"));
	w.user = WORKSPACE("") "'/home' = 'write'\n'~' = 'read'\n";
	CHECK(is_refused(&w, "/home/me"));
	w.user = WORKSPACE("") "'/' = 'write'\n";
	CHECK(!is_refused(&w, "/"));
	/* A token names no path. */
	w.user = "[permissions.dev.filesystem]\n':root' = 'write'\n";
	CHECK(is_refused(&w, "/"));
	CHECK(is_refused(&w, "/home/me"));
	CHECK(!is_refused(&w, "/repo"));
}

TEST(a_configured_root_is_no_entry)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = "dev";
	w.user = WORKSPACE("workspace_roots = { '~' = true }");
	CHECK(is_refused(&w, "/repo"));
	w.user = WORKSPACE("workspace_roots = { '~/ws' = true }");
	CHECK(!is_refused(&w, "/repo"));
}

TEST(narrowing_layers_do_not_lift_the_refusal)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	w.project = "[filesystem]\n'/home/me' = 'read'\n";
	CHECK(is_refused(&w, "/home/me"));
	w.project = "[filesystem]\n'/home/me' = 'write'\n";
	CHECK(is_refused(&w, "/home/me"));
	w.project = NULL;
	w.requirements = "[filesystem]\n'/home/me' = 'read'\n";
	CHECK(is_refused(&w, "/home/me"));
}

TEST(a_home_that_is_a_link_is_what_it_leads_to)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	w.home = "/link";
	CHECK(is_refused(&w, "/data/me"));
	CHECK(is_refused(&w, "/data"));
	CHECK(!is_refused(&w, "/home/me"));
	w.home = "/loop";
	CHECK(!is_refused(&w, "/data/me"));
	CHECK(is_refused(&w, "/"));
	w.home = "/gone/far/away";
	CHECK(!is_refused(&w, "/repo"));
	fake_host_add(&w.host, "d /gone\n");
	CHECK(is_refused(&w, "/gone"));
}

TEST(without_a_home_no_workspace_is_opened)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.home = "";
	CHECK(!is_refused(&w, "/repo"));
	w.profile = ":workspace";
	CHECK(is_refused(&w, "/repo"));
	CHECK_INT(w.e.cause, CAUSE_HOME_UNKNOWN);
	w.profile = "dev";
	w.user = WORKSPACE("") "'/repo' = 'write'\n";
	CHECK(!is_refused(&w, "/repo"));
}

TEST(every_home_is_refused)
{
	static const struct str homes[] = { STR_INIT("/nobody/here"), STR_INIT("/home/you") };
	scoped_world w;

	world_init(&w, files, "/home/you");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	w.in.places.homes = homes;
	w.in.places.home_count = 2;
	CHECK(!plan_build(&w.a, &w.in, &w.e));
	CHECK_INT(w.e.cause, CAUSE_HOME_AS_WORKSPACE);
	CHECK(strstr(w.e.text, "/home/you"));
	err_clear(&w.e);
	w.in.allows_home = true;
	CHECK(plan_build(&w.a, &w.in, &w.e) != NULL);
}

TEST(nothing_is_searched_in_a_home)
{
	scoped_world w;
	size_t calls;

	world_init(&w, files, "/repo");
	w.profile = "dev";
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n"
		 "':workspace_roots' = { '.' = 'write', '**/x' = 'deny' }\n";
	CHECK(is_refused(&w, "/home/me"));
	calls = w.host.calls;
	for (int i = 0; i < 100; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "d /home/me/d%d\n", i);
		fake_host_add(&w.host, line);
	}
	w.host.calls = 0;
	CHECK(is_refused(&w, "/home/me"));
	CHECK_INT(w.host.calls, calls);
}
