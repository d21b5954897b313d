/* SPDX-License-Identifier: MIT */
/* SPDX-License-Identifier: MIT */
/*
 * Changing a file: a new one is written beside it and takes its place in one step, so that who looks sees
 * the old file or the new one, also after kill -9. Mode, owner, extended attributes and ACLs are kept;
 * set-ID bits and file capabilities are dropped, as write() drops them. Where that can't be had (the
 * policy does not let the directory be written, or the owner can't be kept), the file is written in place,
 * which is not atomic.
 *
 *	edit_begin()	locks against other edits in the directory, opens, compares if_version
 *	edit_stage()	says what is to be there; makes missing directories
 *	edit_commit()	after it the change is there
 *	edit_undo()	after a commit: puts the old content back
 *	edit_end()	unlocks; always call it
 *
 * A patch stages all of its files before it commits the first. It may hold edits of many files of one
 * directory at once: those of one process that have the same directory share its lock, if each but the
 * first is begun with `beside` set to the first.
 *
 * The new file has a name by which the next edit in the directory, or `cordon doctor --clean`, knows one
 * that a killed process left. There is at most one in a directory.
 */
#pragma once

#include "tools/open.h"

enum {
	EDIT_MAX_BYTES = 64 << 20, /* of a file that is changed */
	EDIT_VERSION_BYTES = 128,  /* of a version as text, NUL included */
};

struct edit {
	struct call *call;
	struct opened at;   /* at.fd -1: the file is missing */
	struct str content; /* of the file as it is, in call->a; "" */
	const struct edit *beside;
	int lock; /* the directory; -1: none */
	struct str new_content;
	bool in_place; /* no atomic way is there */
	bool is_staged, deletes, is_committed, made_file;
};

#define EDIT_NONE                             \
	{                                     \
		.at = OPENED_NONE, .lock = -1 \
	}
#define scoped_edit SCOPED(edit_end) struct edit

/*
 * `*out` is EDIT_NONE, perhaps with `beside`. `if_version` "": not compared; else REFUSAL_CONFLICT when it
 * is another one. The lock is waited for a second at most.
 */
int edit_begin(struct call *call, struct str path, struct str if_version, struct edit *out,
	       struct err *e) MUST_CHECK NONNULL;
/* `content` must be good until edit_commit(). Finds out whether it may be written, as far as it can. */
int edit_stage(struct edit *edit, struct str content, struct err *e) MUST_CHECK NONNULL;
/* In place of edit_stage(): the file is to go. REFUSAL_NOT_FOUND. */
int edit_stage_delete(struct edit *edit, struct err *e) MUST_CHECK NONNULL;
/* REFUSAL_CONFLICT when the file is not the one any more that edit_begin() read. */
int edit_commit(struct edit *edit, struct err *e) MUST_CHECK NONNULL;
int edit_undo(struct edit *edit, struct err *e) MUST_CHECK NONNULL;
void edit_end(const struct edit *edit) NONNULL;

/*
 * The version of a file with these facts, as read_file gives it: it changes with every write. If the
 * file was changed so lately that another write might not change its times, the content counts too.
 */
void edit_version(const struct file_facts *facts, struct str content, char out[EDIT_VERSION_BYTES])
	NONNULL;
bool edit_is_version(const struct file_facts *facts, struct str content, struct str version)
	NONNULL;
