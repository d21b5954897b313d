/* SPDX-License-Identifier: MIT */
/*
 * Errors: a code, a cause and the context around it, in a struct that the
 * caller owns and that needs no heap.
 *
 * Every fallible function returns 0 or -ERR_*, takes `struct err *e` last, and
 * writes neither its results nor anything else on failure. `e` is never NULL.
 * A constructor may return NULL instead. Each level may put its own context
 * before the text with err_wrap(); the code stays that of the first failure.
 */
#pragma once

#include <stdint.h>

#include "base/macros.h"
#include "base/origin.h"
#include "base/str.h"

/* The numbers are those of CORDON_E_* in cordon.h: append, never renumber. */
enum err_code {
	ERR_OK = 0,
	ERR_NOMEM = 1,
	ERR_SYNTAX = 2, /* malformed input */
	ERR_POLICY = 3, /* the policy is not valid */
	ERR_LIMIT = 4,
	ERR_SYS = 5,	/* a call of the operating system failed */
	ERR_WEAKER = 6, /* the host can't enforce what the policy asks */
	ERR_INTERNAL = 7,
	ERR_ARGUMENT = 8,
	ERR_NOTFOUND = 9,
	ERR_CANCELLED = 10, /* by the caller */
};

/*
 * The place in a file that is at fault, as the text begins with it. No pointer:
 * an error outlives the arena that the name of the file was in.
 */
struct err_place {
	size_t file_bytes, bytes; /* of "FILE" and of "FILE:LINE:COLUMN: "; 0: no place */
	uint32_t line, column;
};

struct err {
	enum err_code code;
	int32_t os_error; /* errno or GetLastError(); 0 unless ERR_SYS */
	const char *at;	  /* "file.c:123" of the first failure */
	struct err_place place;
	char text[2048]; /* the place, outer context, cause last */
};

#define ERR_INIT                                                                               \
	{                                                                                      \
		.code = ERR_OK, .os_error = 0, .at = NULL, .place = { .bytes = 0 }, .text = "" \
	}
#define ERR_HERE __FILE__ ":" STRINGIFY(__LINE__)

/*
 * Record a failure and give -code, in sight of the compiler and the analyzers:
 * they then know that the caller's results were not written.
 */
#define FAIL(e, code, ...) (err_fail_at((e), ERR_HERE, (code), 0, __VA_ARGS__), err_negative(code))
#define FAIL_SYS(e, oserr, ...) \
	(err_fail_at((e), ERR_HERE, ERR_SYS, (oserr), __VA_ARGS__), err_negative(ERR_SYS))
#define FAIL_AT(e, code, origin, ...) \
	(err_fail_place((e), ERR_HERE, (code), (origin), __VA_ARGS__), err_negative(code))
#define FAIL_NULL(e, code, ...) (err_fail_at((e), ERR_HERE, (code), 0, __VA_ARGS__), NULL)

static inline int err_negative(enum err_code code)
{
	return 0 - (int)code;
}

/*
 * FAIL_SYS appends the text of `os_error`. A text that does not fit is cut at a
 * whole UTF-8 character and ends in "...".
 */
void err_fail_at(struct err *e, const char *at, enum err_code code, int32_t os_error,
		 const char *fmt, ...) PRINTF_LIKE(5, 6) NONNULL;

/*
 * FAIL_AT puts "FILE:LINE:COLUMN: " before the text, unless `origin` names no
 * file. Of a name over ERR_FILE_BYTES only the end is shown: the reason has to fit.
 */
enum { ERR_FILE_BYTES = 400 };
void err_fail_place(struct err *e, const char *at, enum err_code code, struct origin origin,
		    const char *fmt, ...) PRINTF_LIKE(5, 6) NONNULL;

/* The -code of a failure that was recorded, for passing it on. */
static inline int err_result(const struct err *e)
{
	int result = -(int)e->code;

	return result < 0 ? result : -(int)ERR_INTERNAL;
}

/* Puts "context: " before the text, behind the place, and gives err_result(). */
#define err_wrap(e, ...) (err_wrap_text((e), __VA_ARGS__), err_result(e))
void err_wrap_text(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3) NONNULL;

/* Says where a failure was that does not say it yet, and gives err_result(). */
int err_wrap_place(struct err *e, struct origin origin) NONNULL;

/* The file of e->place as the text names it, "" without one; and the text without its place. */
struct str err_file(const struct err *e) NONNULL;
struct str err_message(const struct err *e) NONNULL;

/* Forgets a failure, for the rare caller that goes on after one. */
void err_clear(struct err *e) NONNULL;
