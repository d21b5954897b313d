/* SPDX-License-Identifier: MIT */
/*
 * Applying a patch to files: what the tool apply_patch and `cordon apply-patch` have in common. Files
 * are opened by open.h and changed by replace.h alone.
 */
#pragma once

#include "patch/patch.h"
#include "tools/call.h"

enum { PATCH_MAX_ATOMIC_FILES = 10000 };

struct patch_request {
	struct str text;
	bool is_atomic; /* all files or none: what was changed is put back when a later one fails */
	bool is_dry_run; /* says what would be done */
};

enum patch_change { PATCH_ADDED, PATCH_MODIFIED, PATCH_DELETED, PATCH_MOVED };

/* One file that was changed, or would be. */
struct patched {
	enum patch_change change;
	struct str path; /* as the patch has it; of a move the new one */
	struct str from; /* of a move: the old one */
	bool in_place;	 /* not atomic */
};

struct patch_outcome {
	VEC(struct patched) files; /* in the order of the patch; also after a failure */
	/* Of a failure: where in the patch, "" if it is about the whole; and the lines that the file lacks. */
	struct str place;
	struct str missing_lines; /* each ends in a newline */
	bool was_undone;	  /* what --atomic had changed is as it was */
};

/*
 * 0, or refused or failed as call.h says; then `out` tells what was done before. CAUSE_PATCH_* is
 * turned into a refusal, whose message is what apply_patch programs print.
 */
int patch_files(struct call *call, const struct patch_request *request, struct patch_outcome *out,
		struct err *e) MUST_CHECK NONNULL;

/* "Success. Updated the following files:" and a line for each: added, then modified, then deleted. */
void patch_print_summary(const struct patch_outcome *outcome, bool is_dry_run, struct buf *out)
	NONNULL;

/* The array "files" and the flags, as members of the object that is written. */
void patch_print_json(const struct patch_outcome *outcome, const struct patch_request *request,
		      struct json_writer *w) NONNULL;
