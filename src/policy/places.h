/* SPDX-License-Identifier: MIT */
/*
 * What the symbolic anchors of P5 stand for. The values are facts about the
 * host, handed in by the caller.
 */
#pragma once

#include "base/arena.h"
#include "policy/policy.h"

/* The kind of system whose places are meant. */
enum places_system { PLACES_LINUX, PLACES_MACOS, PLACES_WINDOWS };

struct places {
	enum places_system system;
	struct str cwd;	      /* plain and canonical */
	struct str workspace; /* plain and canonical; "": the cwd */
	struct str home;      /* plain; "" when not known */
	/* Besides `home`: all that a workspace must not be, plain (P5). */
	const struct str *homes;
	size_t home_count;
	struct str tmpdir; /* $TMPDIR when absolute, plain; else "" */
	const struct str *
		roots; /* workspace roots, plain: the workspace first, then configured, then granted */
	size_t root_count;
	const struct str *minimal; /* of :minimal on Windows */
	size_t minimal_count;
};

static inline struct str places_workspace(const struct places *p)
{
	return p->workspace.len ? p->workspace : p->cwd;
}

enum { PLACES_TMP_COUNT = 2 };

/* The i-th directory that tmp = "private" replaces by an empty one; "" for none. */
static inline struct str places_tmp(const struct places *p, size_t i)
{
	if (i > 0)
		return p->tmpdir;
	return p->system == PLACES_WINDOWS ? STR_EMPTY : STR("/tmp");
}

/* One path or glob that an entry stands for. */
struct place {
	struct str path; /* plain, lexical */
	struct str glob; /* below path; "" for none */
	const struct glob *matcher;
	bool is_optional; /* :minimal, :secrets, :slash_tmp: not there is nothing to note */
};

typedef VEC(struct place) place_list;

/*
 * Appends what `entry` stands for to `out`: one per workspace root, all of
 * :minimal's directories, all of :secrets' names. Where the home or $TMPDIR is
 * not known, an entry that makes it writable stands for nothing, and any other is
 * ERR_POLICY (P3).
 */
int places_expand(struct arena *a, const struct places *p, const struct fs_entry *entry,
		  place_list *out, struct err *e) MUST_CHECK NONNULL;

/* What a configured workspace root stands for. */
int places_root(struct arena *a, const struct places *p, const struct root *root, struct str *out,
		struct err *e) MUST_CHECK NONNULL;

/*
 * Whether `home`, absolute, of another user of that number is a person's: then root's workspace
 * is not to be it either.
 */
bool places_is_persons(uint64_t uid, struct str home);

/* The lists behind :minimal and :secrets, for `cordon profiles`; NULL-terminated. */
extern const char *const places_minimal[]; /* of Linux */
extern const char *const places_minimal_macos[];
/* Where %SystemRoot%, %ProgramFiles%, %ProgramFiles(x86)% and %ProgramData% usually are. */
extern const char *const places_minimal_windows[];
extern const char *const places_secret_paths[];		/* below home */
extern const char *const places_secret_paths_windows[]; /* there besides */
extern const char *const places_secret_globs[];		/* below each workspace root */
