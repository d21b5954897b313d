/* SPDX-License-Identifier: MIT */
/*
 * The grants that outlive a run (P18): approvals.toml beside the user's configuration, and one file
 * for each session. Both are TOML of the same form:
 *
 *	# Approvals that last; 'cordon approvals' lists and ends them. Only Cordon writes this file.
 *	version = 1
 *	session = "work"		only a session's, with
 *	uid = 1000			these two
 *
 *	[[grant]]
 *	id = "1f0c94a2b7de"
 *	kind = "write"			or "connect", "unix_socket"
 *	subject = "/opt/x"		or subject_hex, if it is not UTF-8
 *	dir = true			only if it is a directory
 *	profile = "dev"
 *	workspace = "/home/me/p"	only a session's (or workspace_hex), with
 *	policy = "sha256:…"		this one
 *	date = 2026-11-18T19:42:06Z
 *	by = "tty"
 *
 *	# end
 *
 * The last line tells a whole file from a torn one. A file is used as a whole or not at all, and one
 * that can't be used is never written to.
 *
 * SECURITY: what is in a file that passes os_kept_read() was written by this user, perhaps by hand.
 * So each entry is checked here as if it came from anywhere; that it opens no home and nothing of
 * Cordon's is up to whoever puts it in force (lib/approvals.c), who knows where those are.
 */
#pragma once

#include "approve/approve.h"
#include "base/buf.h"
#include "base/err.h"
#include "os/kept_file.h"

enum {
	STORE_VERSION = 1,
	STORE_MAX_BYTES = 4 << 20,
	STORE_MAX_GRANTS = 4096,
	STORE_ID_BYTES = 12,
	STORE_MAX_SESSION = 64,
};

struct stored_grant {
	struct str id; /* STORE_ID_BYTES hexadecimal digits */
	struct grant grant;
	struct str profile;	      /* for which it was given */
	struct str workspace, policy; /* of a session's: canonical, "sha256:…"; else "" */
	struct str date;	      /* "2026-11-18T19:42:06Z" */
	struct str by;		      /* who decided: "tty", "cmd", … */
	struct origin origin;	      /* of its [[grant]] */
};

struct store {
	struct os_kept file;
	struct str session;		 /* its name; "" for approvals.toml */
	struct os_kept_stamp stamp;	 /* of what was read; all zeros: there is no file */
	VEC(struct stored_grant) grants; /* in the order of the file */
};

/* Whether a session can have that name. */
bool store_is_session_name(struct str name) PURE;

/*
 * What is to be read. Of approvals.toml, `user_file` is the user's configuration at its default place. A session
 * may have any name: CAUSE_SESSION_NAME.
 */
int store_locate_always(struct arena *a, struct str user_file, struct store *out, struct err *e)
	MUST_CHECK NONNULL;
int store_locate_session(struct arena *a, struct str state_directory, struct str name,
			 struct store *out, struct err *e) MUST_CHECK NONNULL;
/* The directory of all sessions' files. */
int store_sessions_directory(struct arena *a, struct str state_directory, struct str *out,
			     struct err *e) MUST_CHECK NONNULL;

/*
 * Reads it into `store`, which was located. A missing file has no grants. CAUSE_FILE_UNTRUSTED,
 * CAUSE_APPROVALS_DAMAGED, CAUSE_APPROVALS_NEWER.
 */
int store_read(struct arena *a, struct store *store, struct err *e) MUST_CHECK NONNULL;

/* Whether the file is another than when it was read, because of anyone. One system call. */
bool store_changed(const struct store *store) NONNULL;

/*
 * Adds a grant, of which `id`, `date` and `origin` are set here; `*id` is in `a`. What is there
 * already is not added again. Returns when it is on the disk; waits for other writers. `store` is not changed:
 * store_changed() is true of it afterwards. An escalation can't be kept (ERR_ARGUMENT).
 */
int store_add(struct arena *a, const struct store *store, const struct stored_grant *grant,
	      struct str *id, struct err *e) MUST_CHECK NONNULL;

/* Removes those grants; ids that are not there are passed over. `*count`: how many there were. */
int store_revoke(const struct store *store, const struct str *ids, size_t id_count, size_t *count,
		 struct err *e) MUST_CHECK NONNULL;

/* Removes all; the file stays. */
int store_clear(const struct store *store, size_t *count, struct err *e) MUST_CHECK NONNULL;

/* For fuzzers and tests: the text of a file of `store`, and back; pure. */
int store_parse(struct arena *a, struct store *store, struct str text, struct err *e)
	MUST_CHECK NONNULL;
void store_print(struct buf *out, const struct store *store) NONNULL;
