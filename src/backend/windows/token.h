/* SPDX-License-Identifier: MIT */
/*
 * The restricted token of a command (windows.h), and the proof that it restricts. A system may accept every call and
 * do nothing (Wine does), so nothing is believed that was not read back, and at last files are opened with it.
 */
#pragma once

#include "backend/windows/acl_apply.h"

struct token_request {
	void *base; /* a primary token; NULL: that of this process */
	/* As bytes. The logon SID of the base comes behind them. */
	const struct str *restricting;
	size_t count;
};

/*
 * DISABLE_MAX_PRIVILEGE, LUA_TOKEN, WRITE_RESTRICTED. What the command makes that has no directory to inherit from (pipes,
 * events, processes) is open to the account, to its restricting SIDs and to the system. A HANDLE, which the caller
 * closes. CAUSE_WITHOUT_EFFECT: it is not what was asked for; ERR_SYS.
 */
int token_new(struct arena *a, const struct token_request *in, void **out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Opens files with the token: two that are made for this in `directory` (a path in Cordon's form, where no policy gives write
 * access), one that only the account may write and one that `capability` may write, too; and every place of `request`. What the entries
 * deny has to be denied, and what nothing denies must not be. CAUSE_WITHOUT_EFFECT names what was not.
 */
struct token_trial {
	void *token;
	struct str directory;
	struct str capability; /* as bytes; one of the token's restricting SIDs */
	const struct windows_acl_request *request;
};
int token_try(const struct token_trial *in, struct err *e) MUST_CHECK NONNULL;
