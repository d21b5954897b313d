/* SPDX-License-Identifier: MIT */
/* Cordon's own files, P25 (plan/own_files.c). */
#include "test.h"

#include "plan_lists.h"

static const struct own_file own[] = {
	{ STR_INIT("/home/me/.config/cordon"), ACCESS_READ, "your configuration" },
	{ STR_INIT("/home/me/.local/state/cordon/secrets"), ACCESS_DENY, "session secrets" },
};

static const char user[] = "[permissions.dev.filesystem]\n'~' = 'write'\n"
			   "'~/.config/cordon' = 'write'\n";

TEST(nothing_lifts_the_cap_on_own_files)
{
	scoped_world w;

	world_init(&w,
		   "f /home/me/.config/cordon/config.toml\n"
		   "f /home/me/.local/state/cordon/secrets/1\nd /repo\n",
		   "/repo");
	w.user = user;
	w.profile = "dev";
	w.own = own;
	w.own_count = COUNT_OF(own);
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.config/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/home/me/.config/cordon/config.toml"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/home/me/.local/state/cordon/secrets/1"), ACCESS_DENY);
	CHECK(find_pin(&w, "/home/me/.config"));
	CHECK(find_pin(&w, "/home/me/.local/state/cordon"));
}

TEST(own_files_that_do_not_exist_cannot_be_made)
{
	scoped_world w;

	world_init(&w, "d /home/me/.config\nd /repo\n", "/repo");
	w.user = user;
	w.profile = "dev";
	w.own = own;
	w.own_count = COUNT_OF(own);
	REQUIRE(world_plan(&w));
	CHECK(find_placeholder(&w, "/home/me/.config/cordon"));
	CHECK(find_placeholder(&w, "/home/me/.local"));
	CHECK_INT(world_access(&w, "/home/me/.local/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/home/me/.local/state/cordon/secrets"), ACCESS_DENY);
}

TEST(links_on_the_way_are_kept)
{
	scoped_world w;

	world_init(&w,
		   "l /home/me/.config -> /data/config\nf /data/config/cordon/config.toml\n"
		   "d /repo\n",
		   "/repo");
	w.user = "[permissions.dev.filesystem]\n'~' = 'write'\n'/data' = 'write'\n";
	w.profile = "dev";
	w.own = own;
	w.own_count = 1;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/data/config/cordon/config.toml"), ACCESS_READ);
	REQUIRE(find_link(&w, "/home/me/.config"));
	CHECK(str_is(find_link(&w, "/home/me/.config")->target, "/data/config"));
	CHECK(find_pin(&w, "/data/config"));
}
