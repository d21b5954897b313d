/* SPDX-License-Identifier: MIT */
/* See buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { ROOM_FIRST = 64 };

void buf_done(struct buf *b)
{
	mem_free(b->p);
	b->p = NULL;
	b->len = 0;
	b->room = 0;
	b->failed = ERR_OK;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = ERR_OK;
	if (b->p)
		b->p[0] = '\0';
}

static bool grow(struct buf *b, size_t more)
{
	struct err ignored = ERR_INIT; /* the code is all that sticks */
	size_t room = b->room ? b->room : ROOM_FIRST;
	void *block = b->p;

	while (room - b->len <= more && room <= SIZE_MAX / 2)
		room *= 2;
	/* Doubling may overshoot the maximum; what is needed never does. */
	room = MAX_OF(MIN_OF(room, b->max + 1), b->len + more + 1);
	if (mem_resize(&block, room, &ignored) < 0) {
		b->failed = ERR_NOMEM;
		return false;
	}
	b->p = block;
	b->room = room;
	return true;
}

/* Makes room for `more` bytes and the NUL behind them. */
static bool reserve(struct buf *b, size_t more)
{
	if (b->failed != ERR_OK)
		return false;
	if (b->len > b->max || more > b->max - b->len || b->max == SIZE_MAX) {
		b->failed = ERR_LIMIT;
		return false;
	}
	if (b->p && b->room - b->len > more)
		return true;
	/* On its own, so that adding a character does not clear a whole struct err. */
	return grow(b, more);
}

/*
 * Most of what is added is short. musl's memcpy() begins with an instruction that takes longer than
 * such a copy does.
 */
static void copy(char *to, const char *from, size_t n)
{
	enum { SHORT_BYTES = 96, WORD = sizeof(uint64_t) };
	size_t i = 0;

	if (n > SHORT_BYTES) {
		memcpy(to, from, n);
		return;
	}
	for (; n - i >= WORD; i += WORD) {
		uint64_t word;

		memcpy(&word, from + i, WORD);
		memcpy(to + i, &word, WORD);
	}
	for (; i < n; i++)
		to[i] = from[i];
}

void buf_add(struct buf *b, struct str s)
{
	if (!reserve(b, s.len))
		return;
	if (s.len)
		copy(b->p + b->len, s.p, s.len);
	b->len += s.len;
	b->p[b->len] = '\0';
}

void buf_add_char(struct buf *b, char c)
{
	if (!reserve(b, 1))
		return;
	b->p[b->len++] = c;
	b->p[b->len] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, str_of(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0) {
		if (b->failed == ERR_OK)
			b->failed = ERR_LIMIT; /* over INT_MAX: no caller prints that */
		return;
	}
	if (!reserve(b, (size_t)n))
		return;
	va_start(args, fmt);
	(void)vsnprintf(b->p + b->len, (size_t)n + 1, fmt, args);
	va_end(args);
	b->len += (size_t)n;
}

int buf_check(const struct buf *b, struct err *e)
{
	if (b->failed == ERR_OK)
		return 0;
	if (b->failed == ERR_NOMEM)
		return FAIL(e, ERR_NOMEM, "out of memory while building a text");
	return FAIL(e, b->failed, "a text is larger than its limit of %zu bytes", b->max);
}
