/* SPDX-License-Identifier: MIT */
/* See err.h. Formats into fixed space only, so that it works when memory is gone. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks a cut text, at a whole UTF-8 character: an error is shown to people. */
static void mark_cut(char *text, size_t size)
{
	static const char dots[] = "...";
	size_t at = size - sizeof(dots);

	while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	memcpy(text + at, dots, sizeof(dots));
}

void err_fail_at(struct err *e, const char *at, enum err_code code, int32_t os_error,
		 const char *fmt, ...)
{
	va_list args;
	int n;

	e->code = code;
	e->os_error = os_error;
	e->at = at;
	va_start(args, fmt);
	n = vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(e->text) && code == ERR_SYS) {
		size_t room = sizeof(e->text) - (size_t)n;
		int m = snprintf(e->text + n, room, ": %s", strerror(os_error));

		n = m < 0 ? m : n + m;
	}
	if (n < 0)
		mark_cut(e->text, sizeof("...")); /* never an error without a text */
	else if ((size_t)n >= sizeof(e->text))
		mark_cut(e->text, sizeof(e->text));
}

void err_wrap_text(struct err *e, const char *fmt, ...)
{
	char outer[sizeof(e->text)] = "";
	size_t rest = strlen(e->text);
	size_t room;
	size_t used;
	va_list args;
	int n;

	/* The cause says more than the context around it: the cause stays whole. */
	if (rest + sizeof("...: ") > sizeof(e->text))
		return;
	room = sizeof(e->text) - rest - 2;
	va_start(args, fmt);
	n = vsnprintf(outer, room, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= room)
		mark_cut(outer, room);
	used = strlen(outer);
	memmove(e->text + used + 2, e->text, rest + 1);
	memcpy(e->text, outer, used);
	memcpy(e->text + used, ": ", 2);
}

void err_clear(struct err *e)
{
	*e = (struct err)ERR_INIT;
}

const char *err_code_text(enum err_code code)
{
	switch (code) {
#define ERR_TEXT(name, number, text) \
	case ERR_##name:             \
		return text;
		ERR_CODES(ERR_TEXT)
#undef ERR_TEXT
	}
	return "unknown error";
}
