/* SPDX-License-Identifier: MIT */
/*
 * What `cordon setup` changes: files are read, what is to be there is worked out, and then all is done, after
 * the journal has on disk what was there before.
 */
#pragma once

#include "agents/agents.h"
#include "base/arena.h"
#include "base/json.h"
#include "os/settings_file.h"

enum {
	CHANGE_MAX_BYTES = 4 << 20, /* of one file */
	CHANGE_MAX_FILES = 16,
	JOURNAL_MAX_BYTES = 64 << 20,
	JOURNAL_MAX_MADE = 8,
};

struct change {
	struct os_settings was;
	struct str text; /* that is to be there */
	bool removes;	 /* nothing is to be there */
	bool may_stay;	 /* an undo leaves it if somebody has changed it since */
	uint32_t mode;	 /* of a new file */
	struct str sets; /* "env.X", for a person; "": the whole file */
};

struct change_list {
	struct change *items;
	size_t count, room;
};

/* The change of that file; NULL: there is none. */
struct change *change_find(const struct change_list *list, struct str path) NONNULL;
bool change_is_needed(const struct change *change) NONNULL;

/* Does one. */
int change_apply(const struct change *change, struct err *e) MUST_CHECK NONNULL;

/* ---- journal.c ------------------------------------------------------------------------------------ */

/* What a file was before the first setup. */
struct entry {
	struct str path;
	bool was_there, may_stay;
	uint32_t mode;
	struct str text;
	struct str
		made[JOURNAL_MAX_MADE]; /* SHA-256 of what setup has put there, the latest first; "" */
};

struct journal {
	struct os_settings file;
	VEC(struct entry) entries;
	VEC(struct str) directories; /* that setup has made, the outermost first */
	bool is_unproven; /* no command that went the way was inside since the last change */
};

/* A missing file is an empty journal. */
int journal_read(struct arena *a, struct str path, struct journal *out, struct err *e)
	MUST_CHECK NONNULL;
/* Adds what the changes will change, and the directories that are missing for them. */
int journal_add(struct arena *a, struct journal *j, const struct change_list *list, struct err *e)
	MUST_CHECK NONNULL;
int journal_write(struct arena *a, struct journal *j, struct err *e) MUST_CHECK NONNULL;
/* Whether `text` is what setup has put there. */
bool journal_made(const struct entry *entry, struct str text) NONNULL;
int journal_remove(const struct journal *j, struct err *e) MUST_CHECK NONNULL;
