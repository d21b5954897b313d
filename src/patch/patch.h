/* SPDX-License-Identifier: MIT */
/*
 * Patches in the format that coding agents write ("*** Begin Patch"), as text: what a patch says,
 * and what it makes of a file's contents. Nothing here opens a file or believes a path.
 *
 * A patch consists of hunks, one for each file: add, delete, or update, which may also move. An
 * update consists of chunks: a block of old lines, and what replaces it. A chunk has no line
 * numbers: its old lines are looked for from the end of the chunk before it on.
 *
 * Patches are hostile input. Memory is at most a small multiple of patch and file, and time is
 * bounded by an allowance that all hunks of a patch share (struct patch_allowance).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
	PATCH_MAX_BYTES = 10 << 20,
	PATCH_MAX_HUNKS = 100000,	 /* and as many chunks */
	PATCH_MAX_FILE_BYTES = 64 << 20, /* of a file that is updated, and of what it becomes */
	PATCH_MAX_FILE_LINES = 2 << 20,
};

/* What parsing takes at most, and updating one file; for arenas. */
#define PATCH_PARSE_ARENA_BYTES	 ((size_t)64 << 20)
#define PATCH_UPDATE_ARENA_BYTES ((size_t)256 << 20)

enum patch_kind {
	PATCH_ADD,
	PATCH_DELETE,
	PATCH_UPDATE,
};

/* Where in the patch something is; counted from 1. */
struct patch_place {
	uint32_t line, hunk;
	uint32_t chunk; /* 0: none */
};

struct patch_chunk {
	struct patch_place place;
	struct str context; /* of "@@ CONTEXT": a line that comes before the old lines */
	struct str body;    /* its lines, each with its mark (' ', '+', '-'), as they stand */
	uint32_t old_count, new_count; /* lines that it looks for, and that it leaves */
	bool has_context;
	bool is_at_end; /* "*** End of File": the old lines are the last of the file */
};

struct patch_hunk {
	struct patch_place place;
	enum patch_kind kind;
	struct str path;		 /* never empty, without a NUL; else as the patch has it */
	struct str to;			 /* an update that moves: the new path; else empty */
	struct str body;		 /* PATCH_ADD: the lines, each behind a '+' */
	size_t first_chunk, chunk_count; /* PATCH_UPDATE */
};

struct patch {
	VEC(struct patch_hunk) hunks;
	VEC(struct patch_chunk) chunks;
};

/*
 * Reads a whole patch; `out` borrows from `text`. White space around it, and around the lines that
 * mark something, is ignored, as is a shell's here-document (<<EOF) around it. A CR before an LF is
 * not part of a line. CAUSE_PATCH_SYNTAX, also for a patch without hunks or one that is not UTF-8;
 * CAUSE_PATCH_LIMIT. The text of an error names the line.
 */
int patch_parse(struct arena *a, struct str text, struct patch *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * How much work a whole patch may still make: about one unit for each byte of a file that is
 * updated, and for each line or 32 bytes that are compared.
 */
struct patch_allowance {
	uint64_t left;
};
#define PATCH_ALLOWANCE_INIT                \
	{                                   \
		.left = (UINT64_C(1) << 30) \
	}

/* The contents of the file that a PATCH_ADD makes. CAUSE_NOMEM, ERR_LIMIT by `out`. */
int patch_add_text(const struct patch_hunk *hunk, struct buf *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * What a PATCH_UPDATE makes of `text`, UTF-8 or any bytes. Lines end as they did (LF, CRLF or CR);
 * a new line ends as the file's first does. The last line is given an end. A BOM at the start stays.
 *
 * Old lines are looked for four times: as they are, without white space at their ends, without it
 * at either side, and with dashes, quotes and blanks of all kinds taken for the ASCII ones. The
 * first place counts. CAUSE_PATCH_MISMATCH: a line or a block is not there; CAUSE_PATCH_LIMIT.
 */
int patch_update_text(const struct patch *patch, const struct patch_hunk *hunk, struct str text,
		      struct patch_allowance *allowance, struct buf *out, struct err *e)
	MUST_CHECK NONNULL;

/* Takes the next line from the body of a hunk or chunk, without its end. */
bool patch_next_line(struct str *body, struct str *out) NONNULL;
