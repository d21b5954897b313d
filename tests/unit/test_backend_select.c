/* SPDX-License-Identifier: MIT */
/* P16: which backend, and what is said when there is none. */
#include "../support/world.h"
#include "backend/backend.h"
#include "test.h"

static struct named listed[] = { { .name = STR_INIT("native") },
				 { .name = STR_INIT("seatbelt") },
				 { .name = STR_INIT("none") } };
static const names usual = { .items = listed, .count = 3 };

struct choice {
	const struct backend *backend;
	guarantee_set lost;
	struct backend_search search;
	struct err e;
};

static struct choice choose(struct world *w, const char *forced, guarantee_set accepted)
{
	struct choice c = { .e = ERR_INIT };

	if (backend_begin(&w->a, w->plan, &usual, forced, accepted, &c.search, &c.e) < 0 ||
	    backend_next(&c.search, &c.backend, &c.lost, &c.e) < 0)
		c.backend = NULL;
	return c;
}

/* Whether a line below the headline begins with `start` and contains `part`. */
static bool has_line(const struct err *e, const char *start, const char *part)
{
	for (size_t i = 1; i <= e->line_count; i++) {
		struct str line = err_line(e, i);
		char text[1024];

		(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(line));
		if (str_has_prefix(line, str_of(start)) && strstr(text, part))
			return true;
	}
	return false;
}

/* The candidate's launch fails with `why`; asks for the next one. */
static void go_on(struct choice *c, const char *why)
{
	(void)FAIL_CAUSE(&c->e, CAUSE_NAMESPACES_OFF, "%s", why);
	err_add_line(&c->e, "turn it on");
	if (backend_fell_short(&c->search, c->backend, &c->e) < 0 ||
	    backend_next(&c->search, &c->backend, &c->lost, &c->e) < 0)
		c->backend = NULL;
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
		 "[permissions.dev.limits]\nmemory = '1GB'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	c = choose(&w, NULL, 0);
	CHECK(c.backend == NULL);
	CHECK_INT(c.e.cause, CAUSE_GUARANTEE_MISSING);
	CHECK_INT(c.search.attempts.count, 2);
	CHECK_INT(c.search.attempts.items[0].lacks,
		  GUARANTEE_BIT(G_DENY_FUTURE) | GUARANTEE_BIT(G_LIMITS));
	CHECK(c.search.attempts.items[1].is_unknown);
	/* The list below the headline: missing, tried, what to do. */
	CHECK(has_line(&c.e, "missing: deny_future", "user.toml:5"));
	CHECK(has_line(&c.e, "missing: limits", "user.toml"));
	CHECK(has_line(&c.e, "tried native: deny_future: ", ""));
	CHECK(has_line(&c.e, "tried seatbelt: ", ""));
	CHECK(has_line(&c.e, "for deny_future: ", "globs"));
	CHECK(has_line(&c.e, "to run without them, with native",
		       "--accept-missing deny_future --accept-missing limits"));
}

TEST(a_reason_is_said_once_and_every_line_is_short)
{
	static struct named three[] = { { .name = STR_INIT("native") },
					{ .name = STR_INIT("bwrap") },
					{ .name = STR_INIT("landlock") } };
	const names order = { .items = three, .count = 3 };
	struct choice c = { .e = ERR_INIT };
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.user = "[permissions.dev]\nextends = ':workspace'\n"
		 "[permissions.dev.limits]\nmemory = '1G'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	REQUIRE(backend_begin(&w.a, w.plan, &order, NULL, 0, &c.search, &c.e) == 0);
	CHECK_INT(backend_next(&c.search, &c.backend, &c.lost, &c.e), -ERR_WEAKER);
	CHECK(has_line(&c.e, "tried native: limits: ", "cgroup"));
	CHECK(has_line(&c.e, "tried bwrap: ", "the same"));
	/* What would lack more than anybody accepts is named, not explained. */
	CHECK(has_line(&c.e, "tried landlock: lacks ", "limits"));
	for (size_t i = 0; i <= c.e.line_count; i++)
		CHECK(err_line(&c.e, i).len < 180);
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
	struct choice c = { .e = ERR_INIT };
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	REQUIRE(backend_begin(&w.a, w.plan, &only_none, NULL, ~(guarantee_set)0, &c.search, &c.e) ==
		0);
	CHECK_INT(backend_next(&c.search, &c.backend, &c.lost, &c.e), -ERR_WEAKER);
	CHECK(c.backend == NULL);
	CHECK_INT(c.e.cause, CAUSE_GUARANTEE_MISSING);
	CHECK_INT(c.search.attempts.count, 0);
}

TEST(a_forced_backend_is_the_only_one_tried)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK(choose(&w, "native", 0).backend != NULL);
	c = choose(&w, "seatbelt", 0);
	CHECK_INT(c.e.cause, CAUSE_BACKEND_UNAVAILABLE);
	c = choose(&w, "nothing", 0);
	CHECK_INT(c.e.cause, CAUSE_UNKNOWN_BACKEND);
}

TEST(what_this_host_does_not_let_is_named_when_none_is_left)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	c = choose(&w, NULL, 0);
	REQUIRE(c.backend);
	go_on(&c, "the native backend can't do it");
	CHECK(c.backend == NULL);
	/* The cause is that of the backend which gives everything, where it works. */
	CHECK_INT(c.e.cause, CAUSE_NAMESPACES_OFF);
	CHECK(has_line(&c.e, "tried native: ", "can't do it"));
	CHECK(has_line(&c.e, "native: turn it on", ""));
	CHECK(has_line(&c.e, "tried seatbelt: ", ""));
	CHECK_INT(c.e.line_count, 3);
}

TEST(of_a_forced_one_only_its_own_words_are_said)
{
	scoped_world w;
	struct choice c;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	c = choose(&w, "native", 0);
	REQUIRE(c.backend);
	go_on(&c, "the native backend can't do it");
	CHECK(c.backend == NULL);
	CHECK_INT(c.e.cause, CAUSE_NAMESPACES_OFF);
	CHECK_STR(c.e.text, "the native backend can't do it; turn it on");
	CHECK_INT(c.e.line_count, 1);
}

TEST(those_before_the_one_that_runs_are_named)
{
	static struct named late[] = { { .name = STR_INIT("seatbelt") },
				       { .name = STR_INIT("native") } };
	const names order = { .items = late, .count = 2 };
	scoped_buf said = BUF_INIT(1000);
	struct choice c = { .e = ERR_INIT };
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	REQUIRE(backend_begin(&w.a, w.plan, &order, NULL, 0, &c.search, &c.e) == 0);
	REQUIRE(backend_next(&c.search, &c.backend, &c.lost, &c.e) == 0);
	CHECK_STR(c.backend->name, "native");
	backend_say_attempts(&c.search, &said);
	CHECK_STR(buf_str(&said).p, "seatbelt: not in this version");
}

TEST(the_first_wsl_is_known_by_its_release)
{
	CHECK(backend_is_wsl1(STR("4.4.0-19041-Microsoft\n")));
	CHECK(backend_is_wsl1(STR("4.4.0-43-Microsoft")));
	CHECK(backend_is_wsl1(STR("4.4.0-22621-microsoft")));
	CHECK(!backend_is_wsl1(STR("4.19.84-microsoft-standard\n")));
	CHECK(!backend_is_wsl1(STR("5.15.90.1-microsoft-standard-WSL2\n")));
	CHECK(!backend_is_wsl1(STR("6.6.0-Microsoft-custom-wsl2+")));
	CHECK(!backend_is_wsl1(STR("6.1.0-44-amd64\n")));
	CHECK(!backend_is_wsl1(STR("6.1.0-microsof")));
	CHECK(!backend_is_wsl1(STR("")));
}

/* A plan that only needs what every one of them has, but for what Landlock can't. */
static struct named all_three[] = { { .name = STR_INIT("landlock") },
				    { .name = STR_INIT("native") },
				    { .name = STR_INIT("bwrap") } };

TEST(each_is_tried_in_its_turn_until_none_is_left)
{
	const names order = { .items = all_three, .count = 3 };
	struct choice c = { .e = ERR_INIT };
	scoped_buf said = BUF_INIT(1 << 16);
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	REQUIRE(backend_begin(&w.a, w.plan, &order, NULL, 0, &c.search, &c.e) == 0);
	/* Landlock is passed over for what it lacks, without being launched. */
	REQUIRE(backend_next(&c.search, &c.backend, &c.lost, &c.e) == 0);
	CHECK_STR(c.backend->name, "native");
	go_on(&c, "the native backend can't: A");
	REQUIRE(c.backend);
	CHECK_STR(c.backend->name, "bwrap");
	CHECK_INT(c.lost, 0);
	backend_say_attempts(&c.search, &said);
	CHECK(str_has_prefix(buf_str(&said), STR("landlock: fs_carve: ")));
	CHECK(str_has_suffix(buf_str(&said),
			     STR("; native: the native backend can't: A; turn it on")));
	go_on(&c, "the bwrap backend can't: B");
	CHECK(c.backend == NULL);
	CHECK_INT(c.e.code, ERR_WEAKER);
	CHECK(has_line(&c.e, "tried native: ", "can't: A"));
	CHECK(has_line(&c.e, "tried bwrap: ", "can't: B"));
	/* What is left to do. */
	CHECK(has_line(&c.e, "to run without them, with landlock", "--accept-missing fs_carve"));
}

TEST(what_is_accepted_makes_a_weaker_one_a_candidate)
{
	const names order = { .items = all_three, .count = 3 };
	struct choice c = { .e = ERR_INIT };
	guarantee_set lacks;
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	lacks = w.plan->needs_set & ~backend_find(STR("landlock"))->gives(w.plan);
	CHECK(lacks & GUARANTEE_BIT(G_FS_CARVE));
	REQUIRE(backend_begin(&w.a, w.plan, &order, NULL, lacks, &c.search, &c.e) == 0);
	REQUIRE(backend_next(&c.search, &c.backend, &c.lost, &c.e) == 0);
	CHECK_STR(c.backend->name, "landlock");
	CHECK_INT(c.lost, lacks);
	/* Who comes after it loses nothing. */
	go_on(&c, "the landlock backend can't");
	REQUIRE(c.backend);
	CHECK_STR(c.backend->name, "native");
	CHECK_INT(c.lost, 0);
}
