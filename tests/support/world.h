/* SPDX-License-Identifier: MIT */
/*
 * A whole way through policy/ and plan/ for tests: texts of layers and a made-up
 * host in, a policy and a plan out, by the same calls that the program makes.
 *
 *	scoped_world w;
 *	world_init(&w, "d /repo\nd /home/me\n", "/repo");
 *	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n";
 *	w.profile = "dev";
 *	REQUIRE(world_plan(&w));
 *	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_READ);
 */
#pragma once

#include "fake_host.h"
#include "plan/net.h"
#include "plan/plan.h"
#include "policy/policy.h"

enum { WORLD_ROOTS = 8 };

struct world {
	struct arena a; /* of the last policy and plan */
	struct fake_host host;
	/* To be set before world_plan(); NULL is none. */
	const char *user, *system, *requirements, *project;
	const char *profile;	      /* as -P has it */
	const struct fs_entry *extra; /* as --add-read and the like have it */
	size_t extra_count;
	const struct permissions *grants;
	bool has_decider;
	bool trusts_project; /* the user layer then lists the project with its digest */
	const char *cwd, *home, *tmpdir;
	const struct own_file *own;
	size_t own_count;
	/* Out. */
	struct policy *policy;
	struct plan_inputs in;
	struct plan *plan;
	struct err e; /* of the last failure */
	struct project projects[1];
	struct str roots[WORLD_ROOTS];
};

#define scoped_world SCOPED(world_done) struct world

/* The home is /home/me, $TMPDIR not set. */
void world_init(struct world *w, const char *host, const char *cwd) NONNULL;
void world_done(struct world *w) NONNULL;

/* Each forgets what the last one made. On failure w->e says why. */
bool world_policy(struct world *w) NONNULL;
bool world_plan(struct world *w) NONNULL;

enum access world_access(const struct world *w, const char *path) NONNULL;

/* The answer for "HOST", "HOST:PORT" and so on; a host that does not parse ends the program. */
struct net_verdict world_host(struct world *w, const char *host) NONNULL;
