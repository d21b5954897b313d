/* SPDX-License-Identifier: MIT */
/*
 * Walks a tree for list_files and search_files, in the worker: by descriptors, each directory opened
 * below the one before, so a directory that is swapped for a link in the meantime is an error and no
 * way out. No link is followed, nothing but directories is opened here, and no other file system is
 * entered. What the policy denies is not shown, whether it exists or not, and neither are placeholders (P11).
 *
 * Names come in the order of their bytes, a directory before what is in it. What git ignores is left
 * out: .gitignore files from the top of the repository down, and its info/exclude. A repository
 * within another begins anew. Other users' settings (core.excludesFile) and links are not followed.
 */
#pragma once

#include "base/regex.h"
#include "os/fd.h"
#include "tools/open.h"

enum {
	WALK_MAX_DEPTH = 256, /* below the start; each takes a descriptor */
	WALK_PASS = 2,	      /* of `each`: not into this directory */
};

/* How long a call may still take. patience_ask() is a regex_watch. */
struct patience {
	struct call *call;
	uint64_t until_ms;
	bool is_over; /* and not cancelled */
};
void patience_begin(struct patience *p, struct call *call, uint64_t timeout_ms) NONNULL;
int patience_ask(void *patience, struct err *e) MUST_CHECK NONNULL;

struct walk_entry {
	struct str path;  /* canonical */
	struct str below; /* relative to the start */
	const char *name; /* its last component */
	enum file_type type;
	bool is_ignored;
	int directory; /* that it is in */
	size_t depth;  /* 1: in the start itself */
};

struct tree_walk {
	struct call *call;
	struct patience *patience;
	bool has_ignored; /* what git ignores is shown too */
	size_t max_depth; /* 0: any */
	/* 0; 1: enough; WALK_PASS; below 0 as call.h says. */
	int (*each)(void *user, const struct walk_entry *entry, struct err *e);
	void *user;
	/* What came of it. */
	uint64_t ignored;      /* entries that were left out */
	uint64_t other_system; /* directories that were not entered */
	uint64_t too_deep, unreadable, skipped_rules;
};

/* 0, what `each` returned, or below 0. `start` was opened for OPEN_LIST. */
int walk_tree(struct tree_walk *w, const struct opened *start, struct err *e) MUST_CHECK NONNULL;

/* call_result(), but what was too large for a walk is a refusal. */
int walk_failed(struct call *call, struct err *e) MUST_CHECK NONNULL;

/* Reads a file from its beginning, at most `room` bytes. -errno. */
int walk_read(int fd, void *out, uint64_t room, size_t *length) MUST_CHECK NONNULL;

/* Adds a string in which bytes that are not UTF-8 are U+FFFD: clients refuse anything else. */
void walk_add_str(struct json_writer *w, struct str s) NONNULL;

/* Adds the member "notes", and the same for the model. */
void walk_add_notes(const struct tree_walk *w, const struct str *more, size_t count)
	__attribute__((nonnull(1)));

/*
 * Whether git ignores `path` (canonical, existing or not): a pattern matches it or a directory that it
 * is in, and git does not track it. A path in no repository is not ignored.
 */
int walk_is_ignored(struct arena *a, const struct scope *s, struct str path, bool *out,
		    struct err *e) MUST_CHECK NONNULL;
