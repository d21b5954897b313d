/* SPDX-License-Identifier: MIT */
/*
 * The plan: what an effective policy means on one host. Pure; the host's files
 * come through host.h. Rules P6-P16, P20, P25.
 *
 * Theory of operation
 * -------------------
 * plan_build() turns every entry of the policy into a *rule* at a canonical path
 * (symlinks resolved, P8), adds the rules that nobody wrote (protected metadata
 * P9, git P10, what is missing P11, Cordon's own files P25), and indexes them
 * all by path. There is one function that answers for a path,
 * plan_resolve(). `why`, `explain`, the file tools, every backend's lowering and
 * the tests use that function and no other (P20). It works so:
 *
 *  1. In each layer, of the entries that are a component-wise prefix of the
 *     path, the one with the most components wins; a tie goes deny > write >
 *     read. A deny glob is a deny entry at each prefix that it matches. What
 *     ":secrets" denies at a path does not count where an entry lifts it. The
 *     profile layer denies what none of its entries covers; a narrowing layer
 *     has no opinion there.
 *  2. A grant (P18) raises the profile layer's answer when its path is at least
 *     as deep as the winner's and the winner is not a deny at the very same
 *     depth. A grant never lowers.
 *  3. The answer is the least of all layers.
 *  4. A *cap* (RULE_PROTECTED, RULE_GIT, RULE_MISSING, RULE_OWN) whose path is a
 *     prefix lowers the answer to its access, never raises it. A cap is lifted
 *     when the profile layer has an explicit write entry, itself a prefix of the
 *     path, with at least `lift_depth` components (P9); grants, narrowing layers
 *     and keys that name no path (":workspace_roots", ":tmpdir") lift nothing.
 *     lift_depth CAP_FIXED can't be lifted. The cap on a *shelf*, a directory that
 *     keeps git directories (P10), ends at a cap below it that leaves "write".
 *
 * The answer is therefore constant between rules: it changes only at the path
 * of a rule, and where a glob matches. `regions` is that flattened form, parents
 * before children: what a backend has to make true.
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
	enum access access;  /* given (entries, grants) or left at most (caps) */
	uint32_t layer;	     /* index into policy->layers; 0 for caps and grants */
	uint32_t lift_depth; /* caps only */
	uint32_t depth;	     /* components of `path` */
	bool is_explicit;    /* an entry that lifts caps: its key names the path (P9) */
	/*
	 * P7: what ":secrets" denies is lifted by an explicit entry at the very path, of the
	 * same layer of P1 or a higher one, never of a project. Both are enum fs_voice:
	 */
	uint32_t secret; /* what it takes to lift this one; 0: it is none */
	uint32_t lifts;	 /* what this one lifts, up to; 0: nothing */
	bool is_shelf;	 /* a cap that ends where a git directory starts (P10) */
	bool is_nested;	 /* a cap in a nested repository (P9): that it goes ends no run */
	struct str path; /* canonical; of a glob the directory it starts from */
	struct str glob; /* "" when it is none */
	const struct glob *matcher;
	struct str key;	      /* as written, or what is protected: ".git" */
	struct str note;      /* for people: why a cap is there, "" for entries */
	struct origin origin; /* .file is NULL for rules that nobody wrote */
};

struct verdict {
	enum access access;
	const struct rule *rule; /* the one that decided; never NULL */
};

/* All rules that apply to a path, the deciding one first, then as they lost. */
typedef VEC(const struct rule *) rule_trace;

/* A stretch of the tree with one answer: `path` and all below, but for deeper regions and globs. */
struct region {
	struct str path;
	enum access access;
	const struct rule *rule;
	enum host_type type; /* HOST_MISSING: needs a placeholder (see below) or was left out */
};

/* P8: a directory between a writable root and a narrower path below it. */
struct pin {
	struct str path;
	struct str because; /* the narrower path */
	bool is_nested;	    /* there for nested repositories alone (P9) */
};

/* P8: a symlink that has to be protected as a link, together with its target. */
struct link {
	struct str path;   /* of the link itself; its directories are canonical */
	struct str target; /* canonical */
	const struct rule *rule;
};

/* P11: what has to stand at a path so that it can't be created. */
enum placeholder_kind { PLACEHOLDER_DIR, PLACEHOLDER_FILE, PLACEHOLDER_SOCKET };
struct placeholder {
	struct str path; /* the first missing component */
	enum placeholder_kind kind;
	struct str content; /* of a file */
	bool may_go;	    /* see missing.c: that it goes ends no run */
	const struct rule *rule;
};

/* P6: a name that existed when the plan was made and is denied by a glob. */
struct masked {
	struct str path;
	enum host_type type;
	const struct rule *rule;
};

/*
 * P9: what the profile and the grants allow to be written, as a root. A narrowing
 * layer may have made it read-only; what is protected in it stays so.
 */
struct writable_root {
	struct str path;
	const struct rule *rule;
};

/* A git directory that P9/P10 found; for the report after a run. */
struct git_dir {
	struct str path;       /* canonical git directory */
	struct str common_dir; /* the same, unless a linked worktree */
	struct str worktree;   /* "" for a bare one */
	bool is_nested;	       /* it lies in the workspace, and nothing else leads there */
};

struct need {
	enum guarantee guarantee;
	const struct rule *rule; /* that needs it, or NULL */
	struct str because;	 /* in words */
};

/* Said once, in order: entries skipped (P11), widenings cut (P2), what the watch of P6 means. */
struct note {
	bool is_warning;
	struct origin origin;
	struct str text;
};

struct index; /* index.h */
struct net;   /* net.h */

struct plan {
	const struct policy *policy;
	const struct host *host; /* that it was made for */
	struct places places;	 /* roots canonical */
	VEC(struct rule) rules;
	const struct index *index;
	VEC(struct region) regions;
	VEC(struct pin) pins;
	VEC(struct link) links;
	VEC(struct placeholder) placeholders;
	VEC(struct masked) masked;
	VEC(struct writable_root) roots;
	VEC(struct git_dir) git_dirs;
	VEC(struct need) needs;
	VEC(struct note) notes;
	guarantee_set needs_set;
	const struct net *net;
	bool is_unsandboxed;
};

/* P25: a file or directory of Cordon's own. */
struct own_file {
	struct str path;
	enum access access; /* ACCESS_READ, or ACCESS_DENY for session secrets */
	const char *what;   /* "your configuration", "the audit log" */
};

struct plan_inputs {
	const struct policy *policy;
	struct places places; /* lexical; the cwd canonical */
	const struct own_file *own;
	size_t own_count;
	bool has_decider;  /* P13: whether "ask" exists */
	bool spares_homes; /* nothing is to be run: a home as the workspace is not refused (P5) */
	const struct host *host;
};

/* ERR_POLICY (a link that can't be protected, a loop), ERR_LIMIT, ERR_SYS from the host, ERR_NOMEM. */
struct plan *plan_build(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The rules and the index alone, for who only asks plan_resolve() and
 * plan_trace(): `net`, `regions` and all that is made of them are left out.
 * Refuses the same policies, since what is left out refuses none.
 */
struct plan *plan_build_answers(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The answers with one more entry of the profile at `path`, canonical, which
 * lowers what is said there. Such an entry makes no root, opens no way to
 * another path and lifts nothing, so the rules of all passes stay what they are,
 * and the files need not be looked at again.
 */
struct plan *plan_narrow(struct arena *a, const struct plan *p, struct str path, enum access access,
			 struct err *e) MUST_CHECK NONNULL;

/*
 * The answer of P7 with P9, P10, P11, P25 for `path`, which is plain and
 * canonical (plan_locate() makes it so). Never fails, allocates nothing.
 */
struct verdict plan_resolve(const struct plan *p, struct str path) NONNULL;

/* The same answer, with every rule that had a say. */
int plan_trace(struct arena *a, const struct plan *p, struct str path, struct verdict *out,
	       rule_trace *trace, struct err *e) MUST_CHECK;

/*
 * Why an entry changes no answer, in words that follow its key; "" when it does, and for a rule
 * that is no entry which names a path. Of the profile alone. ERR_NOMEM, ERR_LIMIT.
 */
int plan_find_vain(struct arena *a, const struct plan *p, const struct rule *rule, struct str *out,
		   struct err *e) MUST_CHECK NONNULL;

/* A path as someone asks about it. */
struct located {
	struct str path;     /* canonical, its missing rest lexical */
	enum host_type type; /* of what lies there */
	struct str via_link; /* the final link that was followed, or "" */
	bool crossed_links;  /* some directory on the way was a link */
};

/*
 * Makes `path` absolute against the working directory and resolves it as the
 * kernel would (P8). `~` is not special here. ERR_POLICY for a loop of links.
 */
int plan_locate(struct arena *a, const struct plan_inputs *in, struct str path, struct located *out,
		struct err *e) MUST_CHECK NONNULL;

/*
 * P19: whether converting the plan's policy to a mode and back changes no
 * answer. When it does, `*why_not` says where. `*mode` is the mode either way.
 */
int plan_round_trips(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		     bool *round_trips, struct mode *mode, struct str *why_not, struct err *e)
	MUST_CHECK NONNULL;
