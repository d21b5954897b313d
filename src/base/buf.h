/* SPDX-License-Identifier: MIT */
/*
 * A growing byte buffer that can't be made without a maximum.
 *
 * The first failure (no memory, over the maximum) sticks: later appends do nothing, and buf_check()
 * reports it. So a text can be built by many small calls with one check at the end, and an
 * incomplete text is never used.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct buf {
	char *p; /* always NUL-terminated once anything was added */
	size_t len;
	size_t room;
	size_t max;
	enum err_code failed; /* ERR_OK, ERR_NOMEM or ERR_LIMIT */
};

#define BUF_INIT(maximum)                                                          \
	{                                                                          \
		.p = NULL, .len = 0, .room = 0, .max = (maximum), .failed = ERR_OK \
	}

/*
 * A buffer in an array of characters, which never allocates (ERR_LIMIT). Don't pass it to
 * buf_done().
 */
#define BUF_OVER(array)                                                                  \
	{                                                                                \
		.p = (array), .len = 0, .room = sizeof(array), .max = sizeof(array) - 1, \
		.failed = ERR_OK                                                         \
	}

#define scoped_buf SCOPED(buf_done) struct buf

void buf_done(struct buf *b) NONNULL;
void buf_clear(struct buf *b) NONNULL; /* empties it and forgets a failure; keeps the memory */

void buf_add(struct buf *b, struct str s) NONNULL;
void buf_add_char(struct buf *b, char c) NONNULL;
void buf_add_text(struct buf *b, const char *text) NONNULL;
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3) NONNULL;

/* 0, or the failure that stuck. */
int buf_check(const struct buf *b, struct err *e) MUST_CHECK NONNULL;

static inline struct str buf_str(const struct buf *b)
{
	return (struct str){ b->p ? b->p : "", b->len };
}
