/* SPDX-License-Identifier: MIT */
/*
 * The entries of a lowering, in the access lists of this machine, and out of them again.
 *
 * Entries for a capability SID give nothing to anybody without a token of Cordon's, so they stay after a run, until
 * `cordon windows cleanup` takes out exactly them. No descriptor is ever written back as it was earlier:
 * each change reads the list, changes our entries in it and writes it, under a lock that all processes of Cordon on
 * the machine share.
 *
 * Windows keeps what an object inherits in the object itself, and the calls differ: SetNamedSecurityInfo() and
 * SetSecurityInfo() pass a new entry on to all that is below, and while they do, they compute all that is
 * inherited there anew, also the entries of others. SetKernelObjectSecurity() changes the one object alone. So Cordon uses
 * the latter and passes its entries on by itself, to each object below whose list is not protected, through handles,
 * never through a link or junction. What is made later inherits them from Windows.
 *
 * Each run has a *journal*: a file that it holds locked while it goes on, so the lock ends with the process. A record
 * of what will be changed is on the disk before the change. Whatever was interrupted, cleanup finds in a journal which
 * objects may have which of our entries. It takes out no SID that a run which goes on has in its journal.
 *
 * All this reaches the system through struct acl_system, which a test replaces; acl_files.c and acl_state.c are
 * the real one.
 */
#pragma once

#include "backend/windows/acl_edit.h"

/* ---- The system --------------------------------------------------------------------------------- */

enum { ACL_ID_BYTES = 24 }; /* of the volume and of the file on it */

struct acl_object {
	void *handle; /* NULL: there is nothing */
	bool is_dir;
	bool is_link; /* a reparse point: never entered */
	unsigned char id[ACL_ID_BYTES];
};

struct acl_list {
	struct str bytes; /* "": a NULL DACL */
	bool is_protected;
	uint32_t control; /* what else belongs to it, for the system */
};

struct acl_journal {
	void *handle; /* NULL: another process holds it */
	struct str name;
};

/*
 * Paths are Cordon's own form (base/windows_path.h). open() fails with CAUSE_FILE_CHANGED if a component of
 * the path is a link by now, or the object has another name there. CAUSE_ACL_CLOSED: the user may not read
 * or change that list.
 */
struct acl_system {
	void *user;
	/* One process on the machine at a time. ERR_SYS: it can't be had in reasonable time. */
	int (*lock)(void *user, struct err *e);
	void (*unlock)(void *user);

	int (*open)(void *user, struct str path, struct acl_object *out, struct err *e);
	/* By its name in a directory that is open. */
	int (*open_in)(void *user, const struct acl_object *dir, struct str name,
		       struct acl_object *out, struct err *e);
	/* Wherever it is by now on the volume of `path`. */
	int (*open_id)(void *user, struct str path, const unsigned char *id, struct acl_object *out,
		       struct err *e);
	void (*close)(void *user, struct acl_object *object);
	/* Something new, an empty directory or file; fails if there is something. */
	int (*make)(void *user, struct str path, bool is_dir, struct err *e);
	/* Whether it is a file without content or a directory without names. */
	int (*look_empty)(void *user, const struct acl_object *object, bool *is_empty,
			  struct err *e);
	/* Only if it is empty; the handle stays open. */
	int (*discard)(void *user, const struct acl_object *object, struct err *e);
	int (*list)(void *user, const struct acl_object *dir,
		    int (*each)(void *arg, struct str name, struct err *e), void *arg,
		    struct err *e);
	int (*read_acl)(void *user, const struct acl_object *object, struct arena *a,
			struct acl_list *out, struct err *e);
	/* Changes the DACL alone: no owner, no group, no SACL, nothing below. */
	int (*write_acl)(void *user, const struct acl_object *object, const struct acl_list *list,
			 struct err *e);

	/* A new journal, or an existing one by its name, held by this process. */
	int (*journal_new)(void *user, struct arena *a, struct acl_journal *out, struct err *e);
	int (*journal_take)(void *user, struct str name, struct acl_journal *out, struct err *e);
	/* On the disk when it returns. */
	int (*journal_add)(void *user, const struct acl_journal *j, struct str text, struct err *e);
	/* Also of a journal that another process holds. */
	int (*journal_read)(void *user, struct str name, struct buf *out, struct err *e);
	int (*journal_remove)(void *user, const struct acl_journal *j, struct err *e);
	void (*journal_close)(void *user, struct acl_journal *j);
	int (*journal_list)(void *user, int (*each)(void *arg, struct str name, struct err *e),
			    void *arg, struct err *e);
};

/* %LOCALAPPDATA%\cordon, as Windows has it for this user and not as a variable says, in Cordon's form. */
int acl_state_find(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* The files of this machine; `state` is the directory of Cordon's state. */
int acl_system_open(struct arena *a, struct str state, struct acl_system *out, struct err *e)
	MUST_CHECK NONNULL;
void acl_system_close(struct acl_system *system) NONNULL;

/* ---- A run ---------------------------------------------------------------------------------------- */

struct windows_acl_ace {
	struct str sid; /* as bytes */
	bool is_deny, inherits;
	enum windows_access access;
};

/* One object with all its entries. */
struct windows_acl_place {
	struct str path;
	bool is_made_as_file; /* if it is missing: a file, else a directory */
	const struct windows_acl_ace *aces;
	size_t count;
};

struct windows_acl_request {
	const struct windows_acl_place *places;
	size_t count;
};

/* What the names in a lowering stand for, beyond its capabilities; as bytes. */
struct windows_acl_names {
	struct str group; /* "": there is none (win_token) */
};

/*
 * The entries of a lowering, by object, those above first. ERR_INTERNAL: a SID has a name that stands
 * for nothing here.
 */
int windows_acl_bind(struct arena *a, const struct windows_lowering *in, const struct plan *plan,
		     const struct windows_acl_names *known, struct windows_acl_request *out,
		     struct err *e) MUST_CHECK NONNULL;

/*
 * Makes what is missing, adds the entries, passes them on, and reads them back. On failure what this call added to
 * the list that it failed at is taken out again, and what it made goes; cleanup takes out the rest. `*out` holds the run's lock until windows_acl_end().
 *
 * CAUSE_ACL_UNUSUAL, CAUSE_WITHOUT_EFFECT (what was written is not what is there), CAUSE_FILE_CHANGED.
 */
struct windows_acl_run;
int windows_acl_apply(struct arena *a, const struct acl_system *system,
		      const struct windows_acl_request *in, struct windows_acl_run **out,
		      struct err *e) MUST_CHECK NONNULL;

/* Whether all entries of the request are still in the lists of its objects; CAUSE_WITHOUT_EFFECT. */
int windows_acl_check(struct windows_acl_run *run, const struct windows_acl_request *in,
		      struct err *e) MUST_CHECK NONNULL;

/*
 * The end of a run: what was made because it was missing goes, unless something was put there or another
 * run needs it; the entries stay. Gives the lock back in any case.
 */
int windows_acl_end(struct windows_acl_run *run, struct err *e) MUST_CHECK NONNULL;

/* ---- Afterwards ------------------------------------------------------------------------------------ */

struct windows_acl_record {
	struct str path, sid; /* sid as text */
	bool is_held;	      /* by a run that goes on */
};

/* Every SID of every object that a journal names. */
int windows_acl_list(struct arena *a, const struct acl_system *system,
		     int (*each)(void *arg, const struct windows_acl_record *record, struct err *e),
		     void *arg, struct err *e) MUST_CHECK __attribute__((nonnull(1, 2, 3, 5)));

struct windows_acl_cleanup {
	size_t changed; /* objects whose list lost entries */
	size_t removed; /* placeholders that are gone */
	size_t held;	/* records that stay because a run goes on */
	size_t lost;	/* records whose object is nowhere to be found any more */
};

/* Takes out exactly our entries, but for those of runs that go on. Can be repeated after any failure. */
int windows_acl_cleanup(struct arena *a, const struct acl_system *system,
			struct windows_acl_cleanup *out, struct err *e) MUST_CHECK NONNULL;
