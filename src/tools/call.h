/* SPDX-License-Identifier: MIT */
/*
 * A call as the implementation of a tool sees it, in the worker. It reads call->arguments, opens files
 * by open.h, changes them by replace.h, and says what came of it:
 *
 *	buf_add_text(&call->text, …)		for the model
 *	json_key(&call->json, "entries"); …	members of structuredContent; its object is begun
 *
 * What refuses, or fails, returns a number below 0: call->refusal says why if it is CALL_REFUSED, and
 * `e` if it is -ERR_*. So `if (x(call, …, e) < 0) return call_result(call, e);` passes both on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "tools/scope.h"
#include "tools/tool.h"

enum {
	CALL_REFUSED = -1000,
	CALL_MAX_BYTES = 256 << 20, /* of the memory of one */
};

struct refusal {
	bool is_set;
	enum tool_refusal_kind kind;
	struct str message; /* one line, fit to be shown */
	struct str rule;    /* of a violation; "" */
	/* What would allow it; "": nothing, or it is no violation of P7. */
	struct str grant_path;
	/* Of a violation: where it is, and what is there of it: the path, or a directory above. */
	struct str path, opens;
	enum access wanted;
	bool keeps_members; /* what was added to `json` stays: an answer in part */
};

struct call {
	struct arena *a; /* of this call */
	const struct scope *scope;
	const struct json *arguments; /* an object; names and types fit the table */
	const char *tool;	      /* its name; NULL: there is none */
	struct buf text;
	struct json_writer json;
	struct buf structured; /* what `json` writes */
	struct refusal refusal;
	/*
	 * Who can't wait for another process asks by the first; by the second it learns that it has to, and
	 * that nothing was changed.
	 */
	bool must_not_wait, would_wait;
	int passed; /* a descriptor that goes out with the answer; -1: none */
	/* May be NULL: in a unit test, or `cordon apply-patch`. */
	void *user;
	/* Whether nobody wants the answer any more; cheap. */
	bool (*is_cancelled)(void *user);
	/* For a slow tool: how far it is; `total` 0: not known. */
	void (*progress)(void *user, uint64_t done, uint64_t total, struct str message);
};

typedef int tool_fn(struct call *call, struct err *e);

/* One for each tool that the worker does. */
tool_fn tool_read_file, tool_write_file, tool_replace_in_file, tool_delete_file, tool_list_files,
	tool_search_files, tool_apply_patch, tool_open_file, tool_check_path;

/* Prepares a call; its buffers are freed by call_done(). */
void call_init(struct call *call, struct arena *a, const struct scope *scope,
	       const struct json *arguments) NONNULL;
void call_done(struct call *call) NONNULL;

/*
 * Ends it: the object is closed, or it is the refusal's; `call->text` and `call->structured` are the
 * answer. `r` is what the tool returned. -ERR_* if there is no answer.
 */
int call_finish(struct call *call, int r, struct tool_result *out, struct err *e)
	MUST_CHECK NONNULL;

/* Records a refusal and returns CALL_REFUSED. The text is escaped for display. */
int call_refuse(struct call *call, enum tool_refusal_kind kind, const char *fmt, ...)
	PRINTF_LIKE(3, 4) NONNULL;

/* "needs": which permission would let it go on, for who asks people by another way than the broker. */
void call_add_need(struct json_writer *w, const char *capability, const char *blocked,
		   struct str path) NONNULL;

/* A violation of P7, or of a guard, at a canonical path; names the rule. `wanted` is what was needed. */
int call_violates(struct call *call, struct str path, enum access wanted, struct err *e) NONNULL;

static inline int call_result(const struct call *call, const struct err *e)
{
	return call->refusal.is_set ? CALL_REFUSED : err_result(e);
}

static inline bool call_is_cancelled(const struct call *call)
{
	return call->is_cancelled && call->is_cancelled(call->user);
}

/*
 * The members of call->arguments. A missing one leaves `*out` as it is; one of the wrong type, or out of
 * range, is REFUSAL_INVALID.
 */
int call_get_str(struct call *call, const char *name, struct str *out) MUST_CHECK NONNULL;
int call_get_bool(struct call *call, const char *name, bool *out) MUST_CHECK NONNULL;
int call_get_int(struct call *call, const char *name, int64_t least, int64_t most, int64_t *out)
	MUST_CHECK NONNULL;
