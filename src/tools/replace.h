/* SPDX-License-Identifier: MIT */
/*
 * Changing a file: a new one is written beside it and renamed over it, so that who looks sees the old
 * file or the new one, also after kill -9. Mode, owner, extended attributes and ACLs are kept; set-ID
 * bits and file capabilities are dropped, as write() drops them. Where the policy does not let the
 * directory be written, the file is written in place, which is not atomic.
 *
 *	edit_begin()	locks against other edits there, opens, compares if_version
 *	edit_stage()	writes the new file beside it (or finds that it has to be written in place)
 *	edit_commit()	renames; after it the change is there
 *	edit_end()	undoes what was staged and not committed, unlocks; always call it
 *
 * A patch stages all of its files before it commits the first.
 *
 * The temporary file bears a mark (its name, and a lock that it holds while it is written), by which
 * the next edit in the directory, or `cordon doctor --clean`, removes one that a killed process left.
 */
#pragma once

#include "tools/open.h"

enum {
	EDIT_MAX_BYTES = 64 << 20, /* of a file that is changed */
	EDIT_VERSION_BYTES = 64,   /* of a version as text, NUL included */
};

#define EDIT_TEMPORARY ".cordon-edit-"

struct edit {
	struct opened at;		  /* at.fd -1: the file is missing */
	struct str content;		  /* of the file as it is, in call->a; "" */
	char version[EDIT_VERSION_BYTES]; /* of that; "": it is missing */
	int lock;			  /* the directory; -1 */
	int staged;			  /* -1: nothing */
	char temporary[48];		  /* its name; "" */
	struct str new_content;
	bool in_place; /* no atomic way is there */
	bool deletes;
	bool is_committed;
};

#define EDIT_NONE                                                              \
	{                                                                      \
		.at = OPENED_NONE, .lock = -1, .staged = -1, .in_place = false \
	}
#define scoped_edit SCOPED(edit_end) struct edit

/*
 * `if_version` "": not compared; else REFUSAL_CONFLICT when it is another one. The lock is waited for a
 * second at most.
 */
int edit_begin(struct call *call, struct str path, struct str if_version, struct edit *out,
	       struct err *e) MUST_CHECK NONNULL;
/* Makes missing parents. `content` must be good until edit_commit(). */
int edit_stage(struct call *call, struct edit *edit, struct str content, struct err *e)
	MUST_CHECK NONNULL;
/* In place of edit_stage(): the file is to go. */
int edit_stage_delete(struct call *call, struct edit *edit, struct err *e) MUST_CHECK NONNULL;
/* REFUSAL_CONFLICT when the file is not the one any more that edit_begin() read. */
int edit_commit(struct call *call, struct edit *edit, struct err *e) MUST_CHECK NONNULL;
/*
 * After a commit: puts the old content back, for a patch of which a later file failed. Call it before
 * edit_end().
 */
int edit_undo(struct call *call, struct edit *edit, struct err *e) MUST_CHECK NONNULL;
void edit_end(struct edit *edit) NONNULL;

/* The version of a content, as read_file gives it. */
void edit_version(struct str content, char out[EDIT_VERSION_BYTES]) NONNULL;
