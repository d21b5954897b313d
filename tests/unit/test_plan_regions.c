/* SPDX-License-Identifier: MIT */
#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"
#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'p'\n[permissions.p.filesystem]\n"

/* "/ read, /repo write" */
static const char *regions_text(struct world *w)
{
	struct str text = STR("");

	for (size_t i = 0; i < w->plan->regions.count; i++) {
		const struct region *r = &w->plan->regions.items[i];

		if (arena_printf(&w->a, &text, &w->e, "%s%s%s %s", text.p, i ? ", " : "", r->path.p,
				 access_name(r->access)) < 0)
			return NULL;
	}
	return text.p;
}

TEST(a_region_is_where_the_answer_changes)
{
	scoped_world w;

	world_init(&w, "d /repo/docs/in\nd /repo/src\nd /etc\n", "/repo");
	w.user = PROFILE "'/' = 'read'\n'/etc' = 'read'\n'/repo/docs/in' = 'write'\n"
			 "'/repo/docs' = 'read'\n'/repo/src' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK(strncmp(regions_text(&w), "/ read, /repo/docs/in write", 26) == 0);
}

TEST(uncovered_is_a_region_too)
{
	scoped_world w;

	world_init(&w, "d /usr/secret\nd /repo\n", "/repo");
	w.user = PROFILE "'/usr' = 'read'\n'/usr/secret' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(regions_text(&w), "/ deny, /usr read, /usr/secret deny");
	CHECK_INT(w.plan->regions.items[0].rule->kind, RULE_UNCOVERED);
	CHECK_INT(w.plan->regions.items[1].type, HOST_DIR);
}

TEST(an_entry_below_a_glob_match_is_a_region_of_its_own)
{
	scoped_world w;

	world_init(&w, "d /repo/nm/ok\n", "/other");
	w.user = PROFILE "'/repo' = 'read'\n'/repo/**/nm' = 'deny'\n'/repo/nm/ok' = 'read'\n"
			 "'/repo/nm/ok/in' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(regions_text(&w), "/ deny, /repo read, /repo/nm/ok read");
}

TEST(a_widening_that_was_cut_is_reported)
{
	scoped_world w;
	const struct note *note;

	world_init(&w, "d /repo/src\nd /data\n", "/repo");
	w.user = PROFILE "'/' = 'read'\n'/repo' = 'write'\n";
	w.project = "[filesystem]\n'/repo/src' = 'read'\n'/data' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/data"), ACCESS_READ);
	REQUIRE(w.plan->notes.count == 1);
	note = &w.plan->notes.items[0];
	CHECK(note->is_warning);
	CHECK_STR(note->origin.file, "project.toml");
	CHECK_INT(note->origin.line, 3);
	CHECK(strstr(note->text.p, "\"write\" at /data") != NULL);
	CHECK(strstr(note->text.p, "gets \"read\"") != NULL);
	CHECK(strstr(note->text.p, "\"/repo\" = \"sha256:") != NULL);
	w.trusts_project = true;
	REQUIRE(world_plan(&w));
	CHECK_INT(w.plan->notes.count, 0);
	CHECK_INT(world_access(&w, "/data"), ACCESS_WRITE);
}

/* ---- The property ------------------------------------------------------- */

static const char *const steps[] = { "", "/a", "/ab", "/a/a", "/a/b", "/a/b/a", "/b" };
enum { PATHS = COUNT_OF(steps) * COUNT_OF(steps), MAX_RULES = 8 };

static void make_path(char *out, size_t room, size_t i)
{
	(void)snprintf(out, room, "%s%s", steps[i % COUNT_OF(steps)], steps[i / COUNT_OF(steps)]);
	if (!out[0])
		(void)snprintf(out, room, "/");
}

static struct rule make_rule(uint64_t *state, char (*text)[64])
{
	static const enum rule_kind kinds[] = { RULE_ENTRY, RULE_ENTRY, RULE_GRANT,
						RULE_PROTECTED };
	enum rule_kind kind = kinds[test_random(state) % COUNT_OF(kinds)];

	make_path(*text, sizeof(*text), test_random(state) % PATHS);
	return (struct rule){ .kind = kind,
			      .access = (enum access)(test_random(state) % 3),
			      .layer = kind == RULE_ENTRY ? (uint32_t)(test_random(state) % 2) : 0,
			      .lift_depth = (uint32_t)(test_random(state) % 5),
			      .is_explicit = test_random(state) % 2 > 0,
			      .path = str_of(*text) };
}

/* The answer of the last region, in order, that the path lies under is the deepest one's. */
static enum access region_access(const struct plan *p, struct str path)
{
	enum access access = ACCESS_DENY;

	for (size_t i = 0; i < p->regions.count; i++)
		if (path_is_under(path, p->regions.items[i].path))
			access = p->regions.items[i].access;
	return access;
}

static void check_policy(uint64_t *state)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct layer layers[2] = { { .kind = LAYER_PROFILE }, { .kind = LAYER_REQUIREMENTS } };
	struct profile profile = { .is_unsandboxed = false };
	struct policy policy = { .profile = &profile,
				 .layers = { .items = layers, .count = COUNT_OF(layers) } };
	struct plan plan = { .policy = &policy };
	const struct host host = { .folds = false };
	struct builder b = { .a = &a, .plan = &plan, .host = &host };
	struct rule_site site = { .type = HOST_DIR };
	struct err e = ERR_INIT;
	char text[MAX_RULES][64];

	for (size_t n = test_random(state) % (MAX_RULES + 1); n > 0; n--) {
		struct rule rule = make_rule(state, &text[n - 1]);

		REQUIRE(builder_add(&b, &rule, &site, &e));
	}
	REQUIRE(pass_index(&b, &e) == 0 && pass_regions(&b, &e) == 0);
	CHECK_STR(plan.regions.items[0].path.p, "/");
	for (size_t i = 1; i < plan.regions.count; i++) {
		const struct region *r = &plan.regions.items[i];

		CHECK(path_cmp(r[-1].path, r->path) < 0);
		CHECK(region_access(&plan, path_parent(r->path)) != r->access);
	}
	for (size_t i = 0; i < PATHS; i++) {
		char path[64];

		make_path(path, sizeof(path), i);
		CHECK_INT(region_access(&plan, str_of(path)),
			  plan_resolve(&plan, str_of(path)).access);
	}
}

TEST(regions_give_the_same_answers_as_the_rules)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(5000);

	for (size_t i = 0; i < cases && !test_failed; i++)
		check_policy(&state);
}
