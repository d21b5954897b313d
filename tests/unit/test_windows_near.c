/* SPDX-License-Identifier: MIT */
/* The few files that matter to a restricted token give the same entries as all of them. */
#include "backend/windows/acl_apply.h"
#include "backend/windows/near.h"
#include "backend/windows/sid.h"
#include "test.h"
#include "world.h"

static const char files[] = "d /C:/Windows/System32\n"
			    "f /C:/Users/me/.ssh/id\n"
			    "f /C:/Users/me/repo/.git/config\n"
			    "f /C:/Users/me/repo/.git/hooks/pre\n"
			    "f /C:/Users/me/repo/docs/a\n"
			    "f /C:/Users/me/repo/src/deep/er/b\n"
			    "d /C:/Users/me/repo/.vscode\n"
			    "l /C:/Users/me/repo/link -> docs\n"
			    "d /D:/other/x\n";

static const char *const policies[] = {
	"default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n",
	"default_permissions = 'p'\n[permissions.p]\nextends = ':read-only'\n",
	"default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n"
	"[permissions.p.filesystem]\n'/C:/Users/me/repo/docs' = 'read'\n"
	"'/C:/Users/me/repo/src/deep/er' = 'read'\n'/C:/Users/me/repo/later/on' = 'read'\n",
	"default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\ngit = 'commit'\n",
};

static bool is_same(const struct windows_lowering *a, const struct windows_lowering *b)
{
	bool same = a->acl.count == b->acl.count && a->is_refused == b->is_refused &&
		    a->capabilities.count == b->capabilities.count;

	for (size_t i = 0; same && i < a->acl.count; i++) {
		const struct windows_ace *x = &a->acl.items[i], *y = &b->acl.items[i];

		same = str_eq(x->path, y->path) && str_eq(x->sid, y->sid) &&
		       x->is_deny == y->is_deny && x->access == y->access &&
		       x->inherits == y->inherits;
	}
	return same;
}

static bool start(struct world *w, const char *policy)
{
	world_init(w, files, "/C:/Users/me/repo");
	w->home = "/C:/Users/me";
	w->user = policy;
	return world_plan(w);
}

TEST(the_files_near_a_plan_give_the_entries_of_all_files)
{
	for (size_t i = 0; i < COUNT_OF(policies); i++) {
		struct windows_lowering all, few;
		struct plan near;
		scoped_world w;
		size_t calls, calls_near;

		REQUIRE(start(&w, policies[i]));
		calls = w.host.calls;
		REQUIRE(win_token_lower(&w.a, w.plan, 0, &all, &w.e) == 0);
		calls = w.host.calls - calls;
		REQUIRE(windows_near(&w.a, w.plan, &near, &w.e) == 0);
		calls_near = w.host.calls;
		REQUIRE(win_token_lower(&w.a, &near, 0, &few, &w.e) == 0);
		calls_near = w.host.calls - calls_near;
		CHECK(is_same(&all, &few));
		CHECK(!all.is_refused && (i == 1 || all.acl.count > 0));
		printf("# policy %zu: %zu entries, %zu calls of the host for all, %zu for those "
		       "near\n",
		       i, all.acl.count, calls, calls_near);
	}
}

TEST(what_a_run_does_here_is_what_is_lowered_near_the_plan)
{
	struct windows_lowering all, here;
	scoped_world w;

	REQUIRE(start(&w, policies[2]));
	REQUIRE(win_token_lower(&w.a, w.plan, LAUNCH_PROXY_PORT, &all, &w.e) == 0);
	REQUIRE(win_token_lower_here(&w.a, w.plan, &here, &w.e) == 0);
	CHECK(is_same(&all, &here) && !here.is_refused);
	REQUIRE(win_elevated_lower_here(&w.a, w.plan, &here, &w.e) == 0);
	CHECK(!here.is_refused && here.acl.count > all.acl.count);
	CHECK_STR(here.identity, "offline");
}

TEST(what_no_run_can_apply_is_refused_here_and_lowered_of_an_imagined_host)
{
	static const struct {
		const char *policy;
		enum guarantee refused;
		const char *reason;
	} cases[] = {
		{ "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n"
		  "[permissions.p.filesystem]\n'/C:/Users/me/.ssh' = 'deny'\n",
		  G_FS_READ,
		  "not everything may be read, and closing files for reading is not built in this "
		  "version" },
		{ "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n"
		  "[permissions.p.network]\nenabled = true\ndomains = { 'a.example' = 'allow' }\n",
		  G_NET_MANAGED, "a proxy for an account of its own is not built in this version" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct windows_lowering all, here;
		scoped_world w;

		REQUIRE(start(&w, cases[i].policy));
		REQUIRE(win_elevated_lower(&w.a, w.plan, LAUNCH_PROXY_PORT, &all, &w.e) == 0);
		CHECK(!all.is_refused && all.acl.count > 0);
		REQUIRE(win_elevated_lower_here(&w.a, w.plan, &here, &w.e) == 0);
		REQUIRE(here.is_refused);
		CHECK_INT(here.refused, cases[i].refused);
		CHECK_STR(here.reason.p, cases[i].reason);
		CHECK_INT(here.acl.count, 0);
	}
}

TEST(entries_are_put_together_by_object_parents_and_denies_first)
{
	const struct windows_acl_names nobody = { .group = STR_EMPTY };
	struct windows_acl_request request;
	struct windows_lowering lowered;
	scoped_world w;
	size_t aces = 0;
	bool has_file = false;

	REQUIRE(start(&w, policies[2]));
	REQUIRE(win_token_lower(&w.a, w.plan, 0, &lowered, &w.e) == 0);
	REQUIRE(windows_acl_bind(&w.a, &lowered, w.plan, &nobody, &request, &w.e) == 0);
	for (size_t i = 0; i < request.count; i++) {
		const struct windows_acl_place *place = &request.places[i];

		CHECK(i == 0 || str_cmp(request.places[i - 1].path, place->path) < 0);
		has_file = has_file || place->is_made_as_file;
		aces += place->count;
		for (size_t j = 0; j < place->count; j++) {
			CHECK(sid_is_capability(place->aces[j].sid));
			CHECK(j == 0 || place->aces[j - 1].is_deny || !place->aces[j].is_deny);
		}
	}
	CHECK_INT(aces, lowered.acl.count);
	CHECK(has_file && aces > 10);
	/* A name that stands for nothing is no entry that could be left out. */
	lowered.acl.items[0].sid = STR("group");
	CHECK(windows_acl_bind(&w.a, &lowered, w.plan, &nobody, &request, &w.e) == -ERR_INTERNAL);
}
