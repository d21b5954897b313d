/* SPDX-License-Identifier: MIT */
/*
 * Accounts, files, firewall and filters of a Windows, as win_elevated/machine.h wants them.
 *
 *	machine.c	the table, the directory with its files, the lock
 *	accounts.c	accounts, their group, rights, logon
 *	firewall.c	rules of the firewall (COM)
 *	wfp.c		filters of the Windows Filtering Platform
 *	wfp_ids.h	the identifiers that mingw-w64 lacks, and Cordon's own
 */
#pragma once

#include <wchar.h>

#include "backend/win_elevated/machine.h"

/* What the table's functions get. */
struct win32_machine {
	struct arena *a;
	wchar_t directory[512];
	void *lock; /* a HANDLE; NULL: not held */
	bool has_com;
};

/* machine_account_names and the group, as Windows takes them. */
enum { WIN32_NAME = 32 };
void win32_name(const char *name, wchar_t out[WIN32_NAME]);

/* A SID as text. False: it is none. */
bool win32_sid_text(void *sid, char out[MACHINE_SID_BYTES]) NONNULL;

/* A security descriptor (owner, group, DACL) as text in its usual form. ERR_SYS. */
int win32_sddl(struct arena *a, void *descriptor, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * One at a time: a run, setup or uninstall. A run may not make the lock, only take it. NULL: CAUSE_RUNS_GO_ON,
 * ERR_SYS. SECURITY: the accounts' group is the same for all policies, so what one run has opened to it must be
 * gone before another one begins.
 */
void *win32_lock(const wchar_t *directory, bool is_run, struct err *e) MUST_CHECK NONNULL;

/* accounts.c */
int win32_look_group(void *state, struct group_seen *out, struct err *e);
int win32_add_group(void *state, struct err *e);
int win32_remove_group(void *state, struct err *e);
int win32_look_account(void *state, enum machine_account which, struct account_seen *out,
		       struct err *e);
int win32_add_account(void *state, enum machine_account which, const char *password, struct err *e);
int win32_set_password(void *state, enum machine_account which, const char *password,
		       struct err *e);
int win32_set_usual(void *state, enum machine_account which, struct err *e);
int win32_add_member(void *state, enum machine_account which, bool of_users, struct err *e);
int win32_look_rights(void *state, enum machine_account which, bool *are_denied, struct err *e);
int win32_deny_rights(void *state, enum machine_account which, bool denies, struct err *e);
int win32_set_hidden(void *state, enum machine_account which, bool hides, struct err *e);
int win32_remove_account(void *state, enum machine_account which, struct err *e);
int win32_check_logon(void *state, enum machine_account which, const char *password,
		      const char *sid, struct err *e);

/* firewall.c */
int win32_list_rules(void *state, struct arena *a, block_list *out, struct err *e);
int win32_add_rule(void *state, const struct windows_block *rule, const struct machine_users *users,
		   struct err *e);
int win32_remove_rules(void *state, struct str name, struct err *e);

/* wfp.c */
int win32_list_filters(void *state, struct arena *a, block_list *out, struct err *e);
int win32_set_filters(void *state, const struct windows_block *filters, size_t count,
		      const struct machine_users *users, struct err *e);
