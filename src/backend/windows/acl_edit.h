/* SPDX-License-Identifier: MIT */
/*
 * Edits of a discretionary access list (DACL), on its bytes ([MS-DTYP] 2.4.5). Pure.
 *
 * What others have put into a list stays as it is, byte by byte and in its order. Ours go where the canonical
 * order wants them:
 *
 *	denies of the object, its allows, what it inherits: from the nearest directory first
 *
 * A list that is malformed, not in that order, or has entries of a kind that is not known gets nothing
 * added: where ours would count in it can't be told. From such a list ours can still be removed,
 * unless it is malformed.
 */
#pragma once

#include "backend/windows/windows.h"

enum { ACL_MAX_BYTES = 65532 }; /* its own size field has 16 bits, in steps of 4 */

enum acl_flag {
	ACL_TO_FILES = 0x01,
	ACL_TO_DIRS = 0x02,
	ACL_NOT_FURTHER = 0x04,
	ACL_ONLY_BELOW = 0x08,
	ACL_INHERITED = 0x10,
};

/* One of our entries: an ordinary allow or deny. */
struct acl_ace {
	struct str sid; /* as bytes (sid.h) */
	uint32_t mask;
	uint8_t flags; /* enum acl_flag */
	bool is_deny;
};

/* The rights that an entry of the lowering stands for (docs/platforms.md). */
uint32_t acl_mask(bool is_deny, enum windows_access access);

/* The same entry as an object in that directory inherits it. */
struct acl_ace acl_inherit(struct acl_ace ace, bool is_dir);

/*
 * `list` with those of `aces` that it does not have yet. `list` is the whole DACL; "" stands for one that is
 * not there (a NULL DACL, which allows everybody everything), and is refused. CAUSE_ACL_UNUSUAL: malformed, or out
 * of order; ERR_LIMIT: too long.
 */
struct acl_addition {
	const struct acl_ace *aces;
	size_t count;
	/* Whose entries are ours: foreign denies stay ahead of what we add, ours need not. */
	const struct str *own;
	size_t own_count;
};
int acl_add(struct arena *a, struct str list, const struct acl_addition *in, struct str *out,
	    struct err *e) MUST_CHECK NONNULL;

/* `list` without any entry for one of these SIDs. Entries of unknown kinds stay. CAUSE_ACL_UNUSUAL: malformed. */
int acl_remove(struct arena *a, struct str list, const struct str *sids, size_t count,
	       struct str *out, struct err *e) MUST_CHECK NONNULL;

/* Whether it is well-formed, in canonical order, and has each of `aces`. */
bool acl_has_all(struct str list, const struct acl_ace *aces, size_t count);

/* Whether any entry is for one of these SIDs; malformed: true. */
bool acl_names_any(struct str list, const struct str *sids, size_t count);
