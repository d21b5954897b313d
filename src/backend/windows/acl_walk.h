/* SPDX-License-Identifier: MIT */
/*
 * Goes through an object and all that is below it, through handles, and never through a link or junction.
 * Each list is read, changed, written and read back, one after the other.
 */
#pragma once

#include "backend/windows/acl_apply.h"

enum {
	ACL_SCRATCH_BYTES =
		16 << 20, /* for the lists of one object, or the names of one directory */
	ACL_MAX_DEPTH = 512,
	ACL_MAX_OBJECTS = 4 << 20,
};

struct acl_walk {
	const struct acl_system *system;
	const struct str *own; /* the SIDs that are ours */
	size_t own_count;
	/* Results. */
	size_t objects, changed;
	size_t skipped; /* could not be given an allow, so the command can't write them */
};

/*
 * Adds `aces` to the object, and what is inherited of them to all that is below it and inherits. On failure
 * nothing is added to the object that it failed at.
 */
int acl_walk_add(struct acl_walk *walk, const struct acl_object *object, const struct acl_ace *aces,
		 size_t count, struct err *e) MUST_CHECK NONNULL;

/*
 * Takes all entries for the SIDs out of the object and of all that is below. Goes on after a failure, and reports the
 * first.
 */
int acl_walk_remove(struct acl_walk *walk, const struct acl_object *object, struct err *e)
	MUST_CHECK NONNULL;
