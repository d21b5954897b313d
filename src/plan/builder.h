/* SPDX-License-Identifier: MIT */
/*
 * How plan_build() works: a series of passes over one struct, in the order below, each in its own
 * file. A pass may read what earlier passes made.
 */
#pragma once

#include "base/name_tree.h"
#include "base/utf8.h"
#include "plan/plan.h"

/* A path that is safe to print. The text is valid until the end of the enclosing block. */
enum { SHOWN_BYTES = 512 };
#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* A path made canonical against the host (P8). */
struct canon {
	struct str path;     /* links resolved; from the first missing component on, lexical */
	enum host_type type; /* of the whole path; HOST_MISSING when any part is */
	size_t missing_from; /* length of the prefix of `path` that ends with the first missing
				component; 0 when all is there */
	bool crossed_links;
};

/* A symlink that was followed while an entry's path was made canonical. */
struct met_link {
	struct str path;   /* of the link, its directories canonical */
	struct str target; /* canonical */
};
typedef VEC(struct met_link) met_links;

/* What is known of the path of a rule, besides what the rule says. */
struct rule_site {
	enum host_type type;
	size_t missing_from;
	const struct met_link *links; /* met on the way to it */
	size_t link_count;
	struct str root; /* of a cap: the writable root whose metadata it protects, or "" */
};

/* Positions in plan->rules. */
typedef VEC(uint32_t) rule_numbers;

/*
 * Directories that earlier look-ups passed through, so that many entries in one directory do not
 * look up its parents again and again.
 */
struct canon_cache;

/*
 * P6: every answer tries all globs whose start directory lies on the way to the path. So their cost
 * is their number times the number of entries, unlike that of entries.
 */
enum { PLAN_MAX_GLOBS = 4096 };

struct builder {
	struct arena *a;
	const struct plan_inputs *in;
	const struct host *host;
	struct plan *plan;
	struct canon_cache *cache;   /* may be NULL: builder_canon() then works without a cache */
	VEC(struct rule_site) sites; /* of each rule of plan->rules, at the same position */
	/*
	 * plan->rules moves as it grows. Until the last rule is added, these hold the positions of
	 * the rules of plan->masked, ->roots, ->placeholders and ->links; pass_links() turns them
	 * into pointers.
	 */
	rule_numbers masked_rules, root_rules, placeholder_rules, link_rules;
	bool skips_nested;	  /* repositories that nothing leads to are not searched for */
	size_t glob_count;	  /* globs among the rules: at most PLAN_MAX_GLOBS */
	struct name_node *listed; /* by path: directories that were listed (dir_list.h) */
	size_t listed_room;	  /* how many more directories may be remembered */
	size_t listed_subdirs;	  /* how many subdirectories they have */
};

/*
 * canon.c: if `follow_last` is false, a link at the very end is not followed, and the type may be
 * HOST_LINK. `links` may be NULL; the links that were followed are appended in order. ERR_POLICY
 * after 40 links, ERR_LIMIT for a path that no kernel would accept.
 */
int canon_resolve(struct arena *a, const struct host *host, struct str path, bool follow_last,
		  struct canon *out, met_links *links, struct err *e) MUST_CHECK;

/* host_refuse_lock() for the builder's host. */
int builder_refuse_lock(struct builder *b, struct str path, const char *what, struct err *e)
	MUST_CHECK NONNULL;

struct canon_cache *canon_cache_new(struct arena *a, struct err *e) MUST_CHECK NONNULL;

/*
 * The same through the builder's cache. `path` must live as long as the arena: the cache refers to
 * it, and out->path is `path` itself if that is canonical. Also CAUSE_PATH_LOCKED if a lock
 * (host_find_lock()) hides the rest of the path.
 */
int builder_canon(struct builder *b, struct str path, bool follow_last, struct canon *out,
		  met_links *links, struct err *e) MUST_CHECK;

/*
 * The same for callers that can do without the result: for a loop of links it returns 0 and sets
 * `*leads` to false.
 */
int builder_canon_if(struct builder *b, struct str path, bool follow_last, struct canon *out,
		     met_links *links, bool *leads, struct err *e) MUST_CHECK;

/* Does the work of plan_locate() for a path relative to `cwd` (plain and canonical). */
int canon_locate(struct arena *a, const struct host *host, struct str cwd, struct str path,
		 struct located *out, struct err *e) MUST_CHECK NONNULL;

/*
 * entries.c: adds a rule and its site, and sets rule->depth. Returns NULL on failure. The rules
 * move when they outgrow their room: the returned pointer stays good for reading, but after later
 * additions it is no longer the address of the rule in plan->rules.
 */
struct rule *builder_add(struct builder *b, const struct rule *rule, const struct rule_site *site,
			 struct err *e) MUST_CHECK NONNULL;
int builder_note(struct builder *b, bool is_warning, struct origin origin, struct err *e,
		 const char *fmt, ...) MUST_CHECK PRINTF_LIKE(5, 6);

/* plan.c: a builder of an empty plan. */
int builder_init(struct builder *b, struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/* entries.c: adds a grant of the policy. It adds no rule where the path is missing or leads through a link. */
int builder_add_grant(struct builder *b, const struct fs_entry *grant, struct err *e)
	MUST_CHECK NONNULL;

/* The passes, in this order. (Between them plan->index is rebuilt where a pass needs answers.) */
int pass_entries(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* entries.c: P5, P8, P18, P11 skips */
int pass_homes(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* homes.c: refuses a home as the workspace (P5) */
int pass_masked(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* masked.c: scans for P6; adds denies for targets of matching links */
int pass_roots(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* roots.c: writable roots of P9 */
int pass_git(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* git.c: P9's git directories, P10 */
int pass_protect(struct builder *b, struct err *e) MUST_CHECK NONNULL;	 /* protect.c: P9's names */
int pass_own_files(struct builder *b, struct err *e) MUST_CHECK NONNULL; /* own_files.c: P25 */
int pass_missing(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* missing.c: P11 caps and placeholders */
int pass_index(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* index.c: the final index; a pass that needs answers before calls it too */
int pass_links(struct builder *b, struct err *e) MUST_CHECK NONNULL; /* pins.c: P8's links */
int pass_regions(struct builder *b, struct err *e)
	MUST_CHECK NONNULL; /* regions.c; also P2's cut widenings */
int pass_pins(struct builder *b, struct err *e) MUST_CHECK NONNULL;  /* pins.c: P8's pins */
int pass_needs(struct builder *b, struct err *e) MUST_CHECK NONNULL; /* needs.c: P16 */
