/* SPDX-License-Identifier: MIT */
/*
 * The text of a journal (acl_apply.h): a record a line, each with a digest in front.
 *
 *	DIGEST object ID SID,SID,... PATH	this object, and all below, may have entries for these SIDs
 *	DIGEST made PATH			this path was missing, and is about to be made
 *	DIGEST kept PATH			what is there by now is somebody else's, whatever was made earlier
 *
 * A line whose digest is wrong was torn by a crash. What it announces has not happened, because nothing is
 * changed before its record is on the disk, so it is left out. Pure.
 */
#pragma once

#include "backend/windows/acl_apply.h"

enum acl_record_kind { ACL_OBJECT, ACL_MADE, ACL_KEPT };
struct acl_record {
	enum acl_record_kind kind;
	struct str path;
	unsigned char id[ACL_ID_BYTES]; /* of an object */
	VEC(struct str) sids;		/* as bytes */
};
typedef VEC(struct acl_record) acl_records;

enum { ACL_JOURNAL_MAX_BYTES = 64 << 20 };

/* Begins a line of its own, whatever is in front of it. */
int acl_record_print(const struct acl_record *record, struct buf *out, struct err *e)
	MUST_CHECK NONNULL;

int acl_journal_parse(struct arena *a, struct str text, acl_records *out, struct err *e)
	MUST_CHECK NONNULL;

/* The records of a journal of this system. */
int acl_journal_load(struct arena *a, const struct acl_system *system, struct str name,
		     acl_records *out, struct err *e) MUST_CHECK NONNULL;

/* ---- Journals of all runs ----------------------------------------------------------------------- */

struct acl_held_journal {
	struct acl_journal journal; /* handle NULL: of a run that goes on */
	acl_records records;
};

/* All that there are; those of no run are held by this process until acl_journals_close(). */
struct acl_journals {
	const struct acl_system *system;
	VEC(struct acl_held_journal) items;
};
int acl_journals_open(struct arena *a, const struct acl_system *system, struct acl_journals *out,
		      struct err *e) MUST_CHECK NONNULL;
void acl_journals_close(struct acl_journals *all) NONNULL;

/* Whether a run that goes on has this SID, or this path. */
bool acl_journals_hold_sid(const struct acl_journals *all, struct str sid) NONNULL;
bool acl_journals_hold_path(const struct acl_journals *all, struct str path) NONNULL;

/* Whether one that goes on has something of what `records` say was made. */
bool acl_journals_hold_made(const struct acl_journals *all, const acl_records *records) NONNULL;

bool acl_has_sid(const struct acl_record *record, struct str sid) NONNULL;

/*
 * Removes what `records` say was made, deepest first, as far as it is empty, is still the same, and no run that
 * goes on has it. Adds to `*removed`.
 */
int acl_remove_made(const struct acl_journals *all, const acl_records *records, size_t *removed,
		    struct err *e) MUST_CHECK NONNULL;
