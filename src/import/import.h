/* SPDX-License-Identifier: MIT */
/*
 * The permissions of other tools as a policy of Cordon. Pure: texts in, a text out.
 *
 * SECURITY: the policy never allows what the original does not. Where a meaning is unclear it is the narrower
 * one; an allow that can't be said is left out and noted, and a deny that can't be said is an error.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/origin.h"
#include "base/str.h"

enum import_format {
	IMPORT_CLAUDE,
	IMPORT_CODEX,
	IMPORT_GEMINI,
	IMPORT_OPENCODE,
	IMPORT_SRT,
	IMPORT_FORMAT_COUNT
};

/* "claude", … */
const char *import_format_name(enum import_format format) RETURNS_NONNULL;
bool import_format_find(struct str name, enum import_format *out) NONNULL;

struct import_file {
	const char *name; /* as messages have it */
	struct str path;  /* absolute and plain: some formats mean something by the place */
	struct str text;
};

/* What a path leads to on this host. */
struct import_place {
	struct str real; /* without links; the path itself where nothing is there */
	bool is_file;	 /* something else than a directory, so nothing can be below it */
};

struct import_host {
	struct str home;      /* plain; "" when it is not known */
	struct str temporary; /* $TMPDIR if it is absolute, plain; else "" */
	struct str directory; /* what relative paths begin at, plain */
	/* NULL: nothing is known of the host. */
	int (*look)(void *user, struct arena *a, struct str path, struct import_place *out,
		    struct err *e);
	void *user;
};

/* Something that has no counterpart, or less of one. */
struct import_note {
	struct origin origin; /* .file NULL when it is of no place in a file */
	struct str text;      /* as it came: not escaped */
};

struct imported {
	struct str profile; /* its name */
	struct str text;    /* TOML */
	struct str
		directory; /* the only one in which its relative paths hold; "": it holds in every one */
	VEC(struct import_note) notes;
};

/*
 * The files are layers, the lowest first; of srt there is only one. ERR_SYNTAX, ERR_POLICY (the original would
 * refuse it, or a deny can't be said), ERR_ARGUMENT, ERR_LIMIT, ERR_NOMEM.
 */
int import_translate(struct arena *a, enum import_format format, const struct import_file *files,
		     size_t count, const struct import_host *host, struct imported *out,
		     struct err *e) MUST_CHECK NONNULL;
