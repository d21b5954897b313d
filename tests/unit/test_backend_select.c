/* SPDX-License-Identifier: MIT */
/* P16: which backend, and what is said when there is none. */
#include "../support/world.h"
#include "backend/backend.h"
#include "test.h"

static struct named listed[] = { { .name = STR_INIT("native") },
				 { .name = STR_INIT("bwrap") },
				 { .name = STR_INIT("none") } };
static const names usual = { .items = listed, .count = 3 };

struct choice {
	const struct backend *backend;
	guarantee_set lost;
	struct err e;
};

static struct choice choose(const struct world *w, const char *forced, guarantee_set accepted)
{
	struct choice c = { .e = ERR_INIT };

	if (backend_select(w->plan, &usual, forced, accepted, &c.backend, &c.lost, &c.e) < 0)
		c.backend = NULL;
	return c;
}

TEST(backends_are_found_by_name)
{
	CHECK(backend_find(STR("native")) == backends[0]);
	CHECK_STR(backend_find(STR("none"))->name, "none");
	CHECK(backend_find(STR("nativ")) == NULL);
	CHECK(backend_find(STR("")) == NULL);
}

TEST(the_first_that_gives_all_is_taken)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	c = choose(&w, NULL, 0);
	REQUIRE(c.backend);
	CHECK_STR(c.backend->name, "native");
	CHECK_INT(c.lost, 0);
}

TEST(a_gap_is_named_with_its_rule_and_the_way_out)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.user = "[permissions.dev]\nextends = ':workspace'\nglobs = 'strict'\n"
		 "[permissions.dev.filesystem]\n'/repo/**/*.pem' = 'deny'\n"
		 "[permissions.dev.network]\nenabled = true\ndomains = { 'a.b' = 'allow' }\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	c = choose(&w, NULL, 0);
	CHECK(c.backend == NULL);
	CHECK_INT(c.e.code, ERR_WEAKER);
	CHECK(strstr(c.e.text, "deny_future (") && strstr(c.e.text, "user.toml:5"));
	CHECK(strstr(c.e.text, "net_managed (") && strstr(c.e.text, "--network off or full"));
	CHECK(strstr(c.e.text, "tried native: deny_future: ") != NULL);
	CHECK(strstr(c.e.text, "bwrap: not in this version") != NULL);
	CHECK(strstr(c.e.text, "--accept-missing deny_future --accept-missing net_managed"));
}

TEST(an_accepted_gap_is_told_and_another_is_not_accepted)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.user = "[permissions.dev]\nextends = ':workspace'\n"
		 "[permissions.dev.limits]\nmemory = '1G'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(choose(&w, NULL, GUARANTEE_BIT(G_IPC)).backend == NULL);
	c = choose(&w, NULL, GUARANTEE_BIT(G_LIMITS) | GUARANTEE_BIT(G_IPC));
	REQUIRE(c.backend);
	/* What is given is not lost, accepted or not. */
	CHECK_INT(c.lost, GUARANTEE_BIT(G_LIMITS));
}

TEST(what_is_no_sandbox_is_never_chosen)
{
	const names only_none = { .items = &listed[2], .count = 1 };
	const struct backend *chosen = NULL;
	guarantee_set lost = 0;
	struct err e = ERR_INIT;
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK_INT(backend_select(w.plan, &only_none, NULL, ~(guarantee_set)0, &chosen, &lost, &e),
		  -ERR_WEAKER);
	CHECK(chosen == NULL);
}

TEST(a_forced_backend_is_the_only_one_tried)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK(choose(&w, "native", 0).backend != NULL);
	c = choose(&w, "landlock", 0);
	CHECK_INT(c.e.code, ERR_WEAKER);
	CHECK(strstr(c.e.text, "'landlock' is not in this version") != NULL);
	c = choose(&w, "nothing", 0);
	CHECK_INT(c.e.code, ERR_ARGUMENT);
}
