/* SPDX-License-Identifier: MIT */
/*
 * Errors: a code and a cause for programs, a text for people, in a struct that the
 * caller owns and that needs no heap.
 *
 * Every fallible function returns 0 or -ERR_*, takes `struct err *e` last, and
 * writes neither its results nor anything else on failure. `e` is never NULL.
 * A constructor may return NULL instead. Each level may put its own context
 * before the text with err_wrap(); code and cause stay those of the first failure.
 */
#pragma once

#include <stdint.h>

#include "base/cause.h"
#include "base/macros.h"
#include "base/origin.h"
#include "base/str.h"

/*
 * The place in a file that is at fault. The text begins with it. This has no pointer, because an
 * error outlives the arena with the file's name.
 */
struct err_place {
	size_t file_bytes, bytes; /* of "FILE" and of "FILE:LINE:COLUMN: "; 0: no place */
	uint32_t line, column;
};

/* An error has at most this many lines below its headline. */
enum { ERR_MAX_LINES = 24 };

struct err {
	enum err_code code;
	enum cause cause;
	int32_t os_error; /* errno or GetLastError(); 0 unless ERR_SYS */
	const char *at;	  /* "file.c:123" of the first failure */
	struct err_place place;
	/* Where in the text a "; " begins that people see as a new line; see err_add_line(). */
	uint16_t lines[ERR_MAX_LINES];
	uint16_t line_count;
	char text[2048]; /* the place, outer context, what failed, and then the lines */
};

#define ERR_INIT               \
	{                      \
		.code = ERR_OK \
	}
#define ERR_HERE __FILE__ ":" STRINGIFY(__LINE__)

/*
 * Records a failure and returns -code, in a form that the compiler and the analyzers see through:
 * they know that the caller's results were not written.
 *
 * FAIL_CAUSE takes a CAUSE_*, which implies the code. The others set the generic cause of the code.
 * FAIL_SYS is an exception: some numbers have a cause of their own (EMFILE: CAUSE_OPEN_FILES).
 * FAIL_START is for a process that could not be started, where EAGAIN means CAUSE_PROCESS_LIMIT.
 */
#define FAIL(e, code, ...) (err_fail_at((e), ERR_HERE, (code), 0, __VA_ARGS__), err_negative(code))
#define FAIL_CAUSE(e, cause, ...)                                \
	(err_fail_cause((e), ERR_HERE, (cause), 0, __VA_ARGS__), \
	 err_negative((enum err_code)CODE_OF_##cause))
#define FAIL_SYS(e, oserr, ...) \
	(err_fail_at((e), ERR_HERE, ERR_SYS, (oserr), __VA_ARGS__), err_negative(ERR_SYS))
#define FAIL_SYS_CAUSE(e, cause, oserr, ...)                           \
	(err_fail_cause((e), ERR_HERE, (cause), (oserr), __VA_ARGS__), \
	 err_negative((enum err_code)CODE_OF_##cause))
#define FAIL_START(e, oserr, ...) \
	(err_fail_start((e), ERR_HERE, (oserr), __VA_ARGS__), err_negative(ERR_SYS))
#define FAIL_AT(e, code, origin, ...)                                               \
	(err_fail_place((e), ERR_HERE, cause_of_code(code), (origin), __VA_ARGS__), \
	 err_negative(code))
#define FAIL_CAUSE_AT(e, cause, origin, ...)                            \
	(err_fail_place((e), ERR_HERE, (cause), (origin), __VA_ARGS__), \
	 err_negative((enum err_code)CODE_OF_##cause))
#define FAIL_NULL(e, code, ...) (err_fail_at((e), ERR_HERE, (code), 0, __VA_ARGS__), NULL)

static inline int err_negative(enum err_code code)
{
	return 0 - (int)code;
}

/*
 * For ERR_SYS they append the text of `os_error`. A text that does not fit is cut at a
 * whole UTF-8 character and ends in "...".
 */
void err_fail_at(struct err *e, const char *at, enum err_code code, int32_t os_error,
		 const char *fmt, ...) PRINTF_LIKE(5, 6) NONNULL;
void err_fail_cause(struct err *e, const char *at, enum cause cause, int32_t os_error,
		    const char *fmt, ...) PRINTF_LIKE(5, 6) NONNULL;
void err_fail_start(struct err *e, const char *at, int32_t os_error, const char *fmt, ...)
	PRINTF_LIKE(4, 5) NONNULL;

/*
 * FAIL_AT puts "FILE:LINE:COLUMN: " before the text, unless `origin` names no file. Of a name over
 * ERR_FILE_BYTES only the end is shown, to leave room for the reason.
 */
enum { ERR_FILE_BYTES = 400 };
void err_fail_place(struct err *e, const char *at, enum cause cause, struct origin origin,
		    const char *fmt, ...) PRINTF_LIKE(5, 6) NONNULL;

/* The -code of a recorded failure, for passing it on. */
static inline int err_result(const struct err *e)
{
	int result = -(int)e->code;

	return result < 0 ? result : -(int)ERR_INTERNAL;
}

/* Puts "context: " before the text, behind the place, and gives err_result(). */
#define err_wrap(e, ...) (err_wrap_text((e), __VA_ARGS__), err_result(e))
void err_wrap_text(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3) NONNULL;

/* Adds the place to a failure that has none yet, and gives err_result(). */
int err_wrap_place(struct err *e, struct origin origin) NONNULL;

/* The file of e->place as the text names it, "" without one; and the text without its place. */
struct str err_file(const struct err *e) NONNULL;
struct str err_message(const struct err *e) NONNULL;

/*
 * Adds a line below the headline, for a list of what is missing or what to do. In `text` it is one
 * more "; LINE", so that an error can be quoted; err_print() shows it as a line of its own. A line
 * that does not fit is left out.
 */
void err_add_line(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3) NONNULL;

/* The headline with its place (0), or a line below it (1 to line_count). */
struct str err_line(const struct err *e, size_t number) NONNULL;

/*
 * The whole text for people, with control characters escaped: nothing that a file or a path holds
 * can forge a line. Cut like the text. Returns `out`.
 */
const char *err_print(const struct err *e, char *out, size_t size) NONNULL;

/* Forgets a failure, for the rare caller that continues after one. */
void err_clear(struct err *e) NONNULL;
