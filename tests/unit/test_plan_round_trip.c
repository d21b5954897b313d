/* SPDX-License-Identifier: MIT */
/* Tests of plan/round_trip.c: rule P19. */
#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"
#define FS  "[permissions.dev.filesystem]\n"

static const char host_text[] =
	"d /repo/.git\nd /repo/docs\nd /other\nd /home/me\nd /tmp/t\nd /usr\n";

struct result {
	bool round_trips;
	struct mode mode;
	struct str why_not;
};

static bool ask(struct world *w, struct result *r)
{
	if (world_plan(w) && plan_round_trips(&w->a, &w->in, w->plan, &r->round_trips, &r->mode,
					      &r->why_not, &w->e) == 0) {
		CHECK(r->round_trips == (r->why_not.len == 0));
		return true;
	}
	printf("# %s\n", w->e.text);
	return false;
}

TEST(built_in_profiles_round_trip)
{
	static const struct {
		const char *profile;
		enum mode_kind kind;
	} rows[] = {
		{ ":read-only", MODE_READ_ONLY },
		{ ":workspace", MODE_WORKSPACE_WRITE },
		{ ":danger-full-access", MODE_FULL_ACCESS },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct result r;
		scoped_world w;

		world_init(&w, host_text, "/repo");
		w.profile = rows[i].profile;
		w.tmpdir = "/tmp/t";
		REQUIRE(ask(&w, &r));
		CHECK_STR(r.why_not.p, "");
		CHECK_INT(r.mode.kind, rows[i].kind);
		CHECK_INT(r.mode.writable_roots.count, 0);
		CHECK_INT(r.mode.network_access, rows[i].kind == MODE_FULL_ACCESS);
	}
}

TEST(policies_that_a_mode_can_express_round_trip)
{
	static const char *const texts[] = {
		DEV FS "'/' = 'read'\n'/repo' = 'write'\n",
		DEV FS "':root' = 'read'\n':workspace_roots' = 'write'\n'/other' = 'write'\n",
		DEV "workspace_roots = { '/other' = true }\n" FS
		    "':root' = 'read'\n':workspace_roots' = 'write'\n",
		DEV "network = { enabled = true }\n" FS "':root' = 'read'\n",
		DEV FS "':root' = 'read'\n':workspace_roots' = 'write'\n'/tmp' = 'write'\n",
		DEV FS "':root' = 'read'\n':workspace_roots' = 'write'\n':slash_tmp' = 'write'\n",
		DEV FS "':root' = 'read'\n'/usr' = 'read'\n'/missing' = 'read'\n",
		/* A root of its own: its write entry lifts the protection in the mode too. */
		DEV FS "'/' = 'read'\n'/repo' = 'write'\n'/repo/.git' = 'write'\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct result r;
		scoped_world w;

		world_init(&w, host_text, "/repo");
		w.user = texts[i];
		REQUIRE(ask(&w, &r));
		if (!CHECK_STR(r.why_not.p, ""))
			printf("# text %zu\n", i);
	}
}

TEST(the_mode_names_roots_and_exclusions)
{
	struct result r;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.tmpdir = "/tmp/t";
	w.user = DEV "network = { enabled = true }\n" FS
		     "':root' = 'read'\n':workspace_roots' = 'write'\n'/other' = 'write'\n"
		     "':slash_tmp' = 'write'\n";
	REQUIRE(ask(&w, &r));
	CHECK_STR(r.why_not.p, "");
	CHECK_INT(r.mode.kind, MODE_WORKSPACE_WRITE);
	CHECK(r.mode.network_access);
	CHECK(!r.mode.exclude_slash_tmp);
	REQUIRE(r.mode.writable_roots.count == 1);
	CHECK_STR(r.mode.writable_roots.items[0].p, "/other");
}

TEST(policies_that_no_mode_can_express_do_not_round_trip)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ DEV FS "'/' = 'read'\n'~' = 'deny'\n",
		  "/home/me is deny, and would be read in the mode read-only" },
		{ DEV FS "'/' = 'read'\n'/repo' = 'write'\n'/repo/docs' = 'read'\n",
		  "/repo/docs is read, and would be write in the mode workspace-write" },
		{ DEV FS "'/' = 'read'\n'/repo/**/.env' = 'deny'\n",
		  "no mode has the glob /repo/**/.env" },
		{ DEV FS "'/' = 'read'\n'/other' = 'write'\n",
		  "/other is writable and the workspace /repo is not" },
		{ DEV FS "'/repo' = 'read'\n",
		  "/ is deny, and would be read in the mode read-only" },
		{ DEV "git = 'write'\n" FS "'/' = 'read'\n'/repo' = 'write'\n", NULL },
		{ DEV "network = { enabled = true, mode = 'full' }\n" FS "'/' = 'read'\n",
		  "no mode has a managed network" },
		{ DEV "tmp = 'private'\n" FS "'/' = 'read'\n", "no mode has a private /tmp" },
		{ DEV "protect = ['docs']\n" FS "'/' = 'read'\n'/repo' = 'write'\n",
		  "/repo/docs is read, and would be write in the mode workspace-write" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct result r;
		scoped_world w;

		world_init(&w, host_text, "/repo");
		w.user = rows[i].text;
		REQUIRE(ask(&w, &r));
		CHECK(!r.round_trips);
		if (rows[i].why)
			CHECK_STR(r.why_not.p, rows[i].why);
	}
}

TEST(projects_and_requirements_that_narrow_do_not_round_trip)
{
	struct result r;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	w.profile = ":workspace";
	w.project = "[filesystem]\n'/repo/docs' = 'read'\n";
	REQUIRE(ask(&w, &r));
	CHECK(!r.round_trips);
	w.project = "[filesystem]\n'/repo/docs' = 'write'\n";
	REQUIRE(ask(&w, &r));
	CHECK(r.round_trips);
	w.requirements = "[filesystem]\n'/usr' = 'deny'\n";
	REQUIRE(ask(&w, &r));
	CHECK(!r.round_trips);
}

TEST(own_files_do_not_stand_in_the_way)
{
	static const struct own_file own[] = {
		{ STR_INIT("/repo/own"), ACCESS_READ, "the audit log" },
		{ STR_INIT("/home/me/secret"), ACCESS_DENY, "a secret" },
	};
	struct result r;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	fake_host_add(&w.host, "f /repo/own\nf /home/me/secret\n");
	w.profile = ":workspace";
	w.own = own;
	w.own_count = COUNT_OF(own);
	REQUIRE(ask(&w, &r));
	CHECK_STR(r.why_not.p, "");
}
