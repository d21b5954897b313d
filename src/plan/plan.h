/* SPDX-License-Identifier: MIT */
/*
 * The plan: what an effective policy means on one host. Pure; the host's files come through host.h.
 * Rules P6-P16, P20, P25.
 *
 * Theory of operation
 * -------------------
 * plan_build() turns every entry of the policy into a *rule* at a canonical path (symlinks
 * resolved, P8). It adds the rules that nobody wrote: protected metadata (P9), git (P10), missing
 * paths (P11), Cordon's own files (P25). Then it indexes all rules by path. One function,
 * plan_resolve(), answers for a path. `why`, `explain`, the file tools, every backend's lowering
 * and the tests use that function and no other (P20). It works like this:
 *
 *  1. In each layer, of the entries that are a component-wise prefix of the
 *     path, the one with the most components wins; in a tie deny beats write, and
 *     write beats read. A deny glob is a deny entry at each prefix that it
 *     matches. A deny of ":secrets" does not count where an entry lifts it. The
 *     profile layer denies every path that none of its entries covers; a narrowing
 *     layer leaves such a path alone.
 *  2. A grant (P18) raises the profile layer's answer if its path is at least as
 *     deep as the winner's and the winner is not a deny at the same depth. A
 *     grant never lowers the answer.
 *  3. The answer is the least of all layers' answers.
 *  4. A *cap* (RULE_PROTECTED, RULE_GIT, RULE_MISSING, RULE_OWN) whose path is a
 *     prefix lowers the answer to its access and never raises it. An explicit write
 *     entry of the profile layer lifts a cap if the entry is itself a prefix of the
 *     path and has at least `lift_depth` components (P9). Grants, narrowing layers
 *     and keys that name no path (":workspace_roots", ":tmpdir") lift nothing. A cap
 *     with lift_depth CAP_FIXED can't be lifted. A *shelf* is a directory that
 *     contains git directories (P10); its cap ends at a cap below it that leaves "write".
 *
 * So the answer is constant between rules: it changes only at the path of a rule, and where a glob
 * matches. `regions` is that flattened form, parents before children: it is what a backend has to
 * enforce.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "plan/host.h"
#include "policy/guarantee.h"
#include "policy/places.h"
#include "policy/policy.h"

enum rule_kind {
	RULE_ENTRY,	  /* written in a layer or on the command line */
	RULE_GLOB,	  /* a deny glob */
	RULE_GRANT,	  /* P18 */
	RULE_PROTECTED,	  /* P9 */
	RULE_GIT,	  /* P10 */
	RULE_MISSING,	  /* P11 */
	RULE_OWN,	  /* P25 */
	RULE_UNCOVERED,	  /* no entry: deny (P7) */
	RULE_UNSANDBOXED, /* :danger-full-access: everything */
};

#define CAP_FIXED UINT32_MAX

struct rule {
	enum rule_kind kind;
	/* access that it gives (entries, grants) or the most that it leaves (caps) */
	enum access access;
	uint32_t layer;	     /* index into policy->layers; 0 for caps and grants */
	uint32_t lift_depth; /* caps only */
	uint32_t depth;	     /* components of `path` */
	bool is_explicit;    /* an entry that lifts caps, because its key names the path (P9) */
	/*
	 * P7: an explicit entry lifts a deny of ":secrets" at the same path, if it comes from the
	 * same layer of P1 or a higher one, and never if it comes from a project. Both are enum
	 * fs_layer:
	 */
	uint32_t secret; /* the least that lifts this deny; 0: it is not a deny of ":secrets" */
	uint32_t lifts;	 /* the most that this entry lifts; 0: nothing */
	bool is_shelf;	 /* a cap that ends where a git directory starts (P10) */
	/* a cap in a nested repository (P9): the run goes on if it is removed from outside */
	bool is_nested;
	struct str path; /* canonical; of a glob the directory where it starts */
	struct str glob; /* "" for all other rules */
	const struct glob *matcher;
	struct str key;	      /* as written, or the name that is protected: ".git" */
	struct str note;      /* for people: why a cap exists; "" for entries */
	struct origin origin; /* .file is NULL for rules that nobody wrote */
};

struct verdict {
	enum access access;
	const struct rule *rule; /* the rule that decided; never NULL */
};

/*
 * All rules that apply to a path: the deciding one first, then the others in the order in which
 * they lost.
 */
typedef VEC(const struct rule *) rule_trace;

/*
 * A part of the tree with one answer: `path` and everything below it, except deeper regions and
 * names that a glob matches.
 */
struct region {
	struct str path;
	enum access access;
	const struct rule *rule;
	enum host_type type; /* HOST_MISSING: it needs a placeholder (see below) or was left out */
};

/* P8: a directory between a writable root and a narrower path below it. */
struct pin {
	struct str path;
	struct str because; /* the narrower path */
	bool is_nested;	    /* only nested repositories need it (P9) */
};

/* P8: a symlink that has to be protected as a link, together with its target. */
struct link {
	struct str path;   /* of the link itself; its directories are canonical */
	struct str target; /* canonical */
	const struct rule *rule;
};

/* P11: what occupies a path so that it can't be created. */
enum placeholder_kind { PLACEHOLDER_DIR, PLACEHOLDER_FILE, PLACEHOLDER_SOCKET };
struct placeholder {
	struct str path; /* the first missing component */
	enum placeholder_kind kind;
	struct str content; /* of a file */
	bool may_go;	    /* the run goes on if it is removed from outside; see missing.c */
	const struct rule *rule;
};

/* P6: a name that existed when the plan was made and that a glob denies. */
struct masked {
	struct str path;
	enum host_type type;
	const struct rule *rule;
};

/*
 * P9: a directory that the profile and the grants make writable. A narrowing layer may have made it
 * read-only; its metadata stays protected.
 */
struct writable_root {
	struct str path;
	const struct rule *rule;
};

/* A git directory that P9 or P10 found; the report after a run uses it. */
struct git_dir {
	struct str path;       /* canonical git directory */
	struct str common_dir; /* the same, unless a linked worktree */
	struct str worktree;   /* "" for a bare one */
	bool is_nested;	       /* it lies in the workspace, and no other repository leads to it */
};

struct need {
	enum guarantee guarantee;
	const struct rule *rule; /* that needs it, or NULL */
	struct str because;	 /* in words */
};

/*
 * What the user should know, each said once, in this order: entries that were skipped (P11),
 * widenings that were cut (P2), what the watch of P6 means.
 */
struct note {
	bool is_warning;
	struct origin origin;
	struct str text;
};

struct index;	  /* index.h */
struct net;	  /* net.h */
struct rule_site; /* builder.h */

struct plan {
	const struct policy *policy;
	const struct host *host; /* the host that it was made for */
	struct places places;	 /* roots canonical */
	VEC(struct rule) rules;
	const struct rule_site *sites; /* of the rules, for plan_grant(); NULL: not known */
	VEC(struct str) left_out; /* canonical: where entries and grants lead that are no rules */
	const struct index *index;
	VEC(struct region) regions;
	VEC(struct pin) pins;
	VEC(struct link) links;
	VEC(struct placeholder) placeholders;
	VEC(struct masked) masked;
	VEC(struct str) lifted; /* links that only ":secrets" denies, and P7 leaves open; by path */
	VEC(struct writable_root) roots;
	VEC(struct git_dir) git_dirs;
	VEC(struct need) needs;
	VEC(struct note) notes;
	guarantee_set needs_set;
	const struct net *net;
	bool is_unsandboxed;
};

/* P25: one of Cordon's own files or directories, or what else no entry and no grant opens. */
struct own_file {
	struct str path;
	enum access access; /* ACCESS_READ, or ACCESS_DENY for session secrets */
	const char *what;   /* "your configuration", "the audit log" */
};

struct plan_inputs {
	const struct policy *policy;
	struct places places; /* lexical, except that the cwd is canonical */
	const struct own_file *own;
	size_t own_count;
	bool has_decider; /* P13: whether the answer "ask" exists */
	bool allows_home; /* nothing will run, so a home as the workspace is not refused (P5) */
	const struct host *host;
};

/* ERR_POLICY (a link that can't be protected, a loop), ERR_LIMIT, ERR_SYS from the host, ERR_NOMEM. */
struct plan *plan_build(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The rules and the index alone, for callers that only use plan_resolve() and plan_trace(). `net`,
 * `regions` and everything made from them are left out. It refuses the same policies, since the
 * missing parts refuse none.
 */
struct plan *plan_build_answers(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The answers with one more entry of the profile at `path` (canonical), which lowers the access
 * there. Such an entry makes no root, opens no other path and lifts nothing. So the rules of all
 * passes stay valid, and the files need not be examined again.
 */
struct plan *plan_narrow(struct arena *a, const struct plan *p, struct str path, enum access access,
			 struct err *e) MUST_CHECK NONNULL;

/*
 * The plan of `in`, whose policy is that of `p` with one more grant, the last: the same as plan_build()
 * makes, but only files at that grant and below it are looked at, and most of `p` is shared with it.
 * Where a grant changes more than what is there, this calls plan_build(). The notes are those of `p`.
 */
struct plan *plan_grant(struct arena *a, const struct plan *p, const struct plan_inputs *in,
			struct err *e) MUST_CHECK NONNULL;

/*
 * The same for plan_resolve() alone, and only for paths that the grant covers and that lie in no git
 * directory: it need not search for repositories.
 */
struct plan *plan_grant_answers(struct arena *a, const struct plan *p, const struct plan_inputs *in,
				struct err *e) MUST_CHECK NONNULL;

/*
 * "sha256:…" of the policy without its grants, the workspace and its roots, the home and $TMPDIR: where two
 * are equal, both plans allow the same, but for grants. ERR_NOMEM, ERR_LIMIT.
 */
int plan_digest(struct arena *a, const struct plan *p, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The answer of P7 with P9, P10, P11 and P25 for `path`, which is plain and canonical
 * (plan_locate() makes it so). Never fails, allocates nothing.
 */
struct verdict plan_resolve(const struct plan *p, struct str path) NONNULL;

/*
 * Whether the command could change what lies at `path`, or replace it: it may write there, or in a
 * directory above it. `may_write` says whether the permissions of the host leave a path to this user.
 */
bool plan_may_replace(const struct plan *p, struct str path, bool (*may_write)(const char *path))
	NONNULL;

/* The same answer, with every rule that contributed to it. */
int plan_trace(struct arena *a, const struct plan *p, struct str path, struct verdict *out,
	       rule_trace *trace, struct err *e) MUST_CHECK;

/*
 * Explains why an entry changes no answer, in words that follow its key. "" if it does change one,
 * and for a rule that is not an entry which names a path. Only the profile's layer counts.
 * ERR_NOMEM, ERR_LIMIT.
 */
int plan_explain_redundant(struct arena *a, const struct plan *p, const struct rule *rule,
			   struct str *out, struct err *e) MUST_CHECK NONNULL;

/* A path as someone asks about it. */
struct located {
	struct str path;	      /* canonical, its missing rest lexical */
	enum host_type type;	      /* of what is there */
	struct str via_link;	      /* the final link, if one was followed, or "" */
	bool crossed_links;	      /* some directory on the way was a link */
	const struct met_link *links; /* all that were followed, in order (builder.h) */
	size_t link_count;
};

/*
 * Makes `path` absolute against the working directory and resolves it as the
 * kernel would (P8). `~` is not special here. ERR_POLICY for a loop of links.
 */
int plan_locate(struct arena *a, const struct plan_inputs *in, struct str path, struct located *out,
		struct err *e) MUST_CHECK NONNULL;

/*
 * The same for a path that the command uses. A link in a denied directory does not exist for it, so
 * the path ends at that link, wherever it leads on the host.
 */
int plan_reach(struct arena *a, const struct plan *p, const struct plan_inputs *in, struct str path,
	       struct located *out, struct err *e) MUST_CHECK NONNULL;

/*
 * P19: whether converting the plan's policy to a mode and back changes no answer. If it does,
 * `*why_not` says where. `*mode` is the mode in either case.
 */
int plan_round_trips(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		     bool *round_trips, struct mode *mode, struct str *why_not, struct err *e)
	MUST_CHECK NONNULL;
