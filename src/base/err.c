/* SPDX-License-Identifier: MIT */
/* See err.h. Formats into fixed space only, so that it works when memory is gone. */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error_name.h"
#include "base/utf8.h"

/* Marks a cut text, at a whole UTF-8 character: an error is shown to people. */
static void mark_cut(char *text, size_t size)
{
	static const char dots[] = "...";
	size_t at = size - sizeof(dots);

	while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	memcpy(text + at, dots, sizeof(dots));
}

/*
 * The text is in English and the same in every thread, whatever the program did to its locale. No
 * lock is taken: another thread may have held it when this process was forked.
 */
static const char *os_text(int32_t os_error)
{
#ifdef HAS_STRERRORDESC_NP
	const char *text = strerrordesc_np(os_error);
#elif defined(HAS_STRERROR_L)
	/* The "C" locale is part of the library: nothing is allocated, nothing to free. */
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	const char *text = plain ? strerror_l(os_error, plain) : NULL;
#else
	const char *text = strerror(os_error); /* never translated where there is no other */

	/* The library of Windows knows few of the numbers in its own <errno.h>. */
	if (text && strcmp(text, "Unknown error") == 0)
		text = error_name(os_error);
#endif

	return text ? text : "the reason is not known";
}

static void fail(struct err *e, const char *at, enum cause cause, int32_t os_error, const char *fmt,
		 va_list args) PRINTF_LIKE(5, 0);

static void fail(struct err *e, const char *at, enum cause cause, int32_t os_error, const char *fmt,
		 va_list args)
{
	int n;

	e->code = cause_code(cause);
	e->cause = cause;
	e->os_error = os_error;
	e->at = at;
	e->place = (struct err_place){ .bytes = 0 };
	e->line_count = 0;
	n = vsnprintf(e->text, sizeof(e->text), fmt, args);
	if (n >= 0 && (size_t)n < sizeof(e->text) && e->code == ERR_SYS && os_error) {
		size_t room = sizeof(e->text) - (size_t)n;
		int m = snprintf(e->text + n, room, ": %s", os_text(os_error));

		n = m < 0 ? m : n + m;
	}
	if (n < 0)
		mark_cut(e->text, sizeof("...")); /* never an error without a text */
	else if ((size_t)n >= sizeof(e->text))
		mark_cut(e->text, sizeof(e->text));
}

/* The cause of an errno value that means the same wherever it comes from. */
static enum cause cause_of_number(int32_t os_error)
{
	switch (os_error) {
	case EMFILE:
	case ENFILE:
		return CAUSE_OPEN_FILES;
	case EFBIG:
		return CAUSE_FILE_SIZE;
	default:
		return CAUSE_SYS;
	}
}

void err_fail_at(struct err *e, const char *at, enum err_code code, int32_t os_error,
		 const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(e, at, code == ERR_SYS ? cause_of_number(os_error) : cause_of_code(code), os_error,
	     fmt, args);
	va_end(args);
}

void err_fail_cause(struct err *e, const char *at, enum cause cause, int32_t os_error,
		    const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(e, at, cause, os_error, fmt, args);
	va_end(args);
}

void err_fail_start(struct err *e, const char *at, int32_t os_error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail(e, at, os_error == EAGAIN ? CAUSE_PROCESS_LIMIT : cause_of_number(os_error), os_error,
	     fmt, args);
	va_end(args);
}

/* "FILE:LINE:COLUMN: " into `out`, which it always fits. */
enum { PLACE_BYTES = ERR_FILE_BYTES + sizeof("...:4294967295:4294967295: ") };

static struct err_place print_place(struct origin origin, char *out)
{
	struct str file = str_of(origin.file);
	bool is_cut = file.len > ERR_FILE_BYTES;
	int file_bytes;
	int bytes;

	if (is_cut)
		file = str_from(file, file.len - ERR_FILE_BYTES);
	while (is_cut && file.len && ((unsigned char)file.p[0] & 0xC0) == 0x80)
		file = str_from(file, 1);
	file_bytes = snprintf(out, PLACE_BYTES, "%s%s", is_cut ? "..." : "", file.p);
	/* An option has no lines. */
	if (origin.line)
		bytes = snprintf(out, PLACE_BYTES, "%s%s:%" PRIu32 ":%" PRIu32 ": ",
				 is_cut ? "..." : "", file.p, origin.line, origin.column);
	else
		bytes = snprintf(out, PLACE_BYTES, "%s%s: ", is_cut ? "..." : "", file.p);
	if (file_bytes <= 0 || bytes <= file_bytes) {
		out[0] = '\0';
		return (struct err_place){ .bytes = 0 };
	}
	return (struct err_place){ .file_bytes = (size_t)file_bytes,
				   .bytes = (size_t)bytes,
				   .line = origin.line,
				   .column = origin.column };
}

void err_fail_place(struct err *e, const char *at, enum cause cause, struct origin origin,
		    const char *fmt, ...)
{
	char text[sizeof(e->text)];
	char place_text[PLACE_BYTES] = "";
	struct err_place place = { .bytes = 0 };
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (origin.file)
		place = print_place(origin, place_text);
	err_fail_cause(e, at, cause, 0, "%s%s", place_text, text);
	e->place = place;
}

/* Inserts `n` bytes into the text at `at`. The caller has checked that they fit. */
static void insert(struct err *e, size_t at, const char *bytes, size_t n)
{
	memmove(e->text + at + n, e->text + at, strlen(e->text + at) + 1);
	memcpy(e->text + at, bytes, n);
	for (size_t i = 0; i < e->line_count; i++)
		e->lines[i] = (uint16_t)(e->lines[i] + n);
}

void err_wrap_text(struct err *e, const char *fmt, ...)
{
	char outer[sizeof(e->text)] = "";
	size_t rest = strlen(e->text);
	size_t room;
	size_t used;
	va_list args;
	int n;

	/* The text of the failure is worth more than the context around it, so it stays whole. */
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
	memcpy(outer + used, ": ", 2);
	insert(e, e->place.bytes, outer, used + 2);
}

int err_wrap_place(struct err *e, struct origin origin)
{
	char place_text[PLACE_BYTES] = "";
	struct err_place place;

	if (!origin.file || e->place.bytes)
		return err_result(e);
	place = print_place(origin, place_text);
	if (place.bytes + strlen(e->text) >= sizeof(e->text)) {
		mark_cut(e->text, sizeof(e->text) - place.bytes);
		while (e->line_count && e->lines[e->line_count - 1] > strlen(e->text))
			e->line_count--;
	}
	insert(e, 0, place_text, place.bytes);
	e->place = place;
	return err_result(e);
}

struct str err_file(const struct err *e)
{
	return (struct str){ e->text, e->place.file_bytes };
}

struct str err_message(const struct err *e)
{
	return str_of(e->text + e->place.bytes);
}

static const char line_separator[] = "; ";

void err_add_line(struct err *e, const char *fmt, ...)
{
	size_t used = strlen(e->text);
	size_t room = sizeof(e->text) - used;
	size_t separator = sizeof(line_separator) - 1;
	va_list args;
	int n;

	if (e->line_count == ERR_MAX_LINES || room <= separator + 1)
		return;
	va_start(args, fmt);
	n = vsnprintf(e->text + used + separator, room - separator, fmt, args);
	va_end(args);
	if (n <= 0 || (size_t)n >= room - separator) {
		e->text[used] = '\0';
		return;
	}
	memcpy(e->text + used, line_separator, separator);
	e->lines[e->line_count++] = (uint16_t)used;
}

struct str err_line(const struct err *e, size_t number)
{
	size_t from = number ? e->lines[number - 1] + sizeof(line_separator) - 1 : 0;
	size_t to = number < e->line_count ? e->lines[number] : strlen(e->text);

	return (struct str){ e->text + from, to - from };
}

const char *err_print(const struct err *e, char *out, size_t size)
{
	static const char indent[] = "\n  ";
	size_t used = 0;

	out[0] = '\0';
	/* utf8_show() needs some space. */
	for (size_t i = 0; i <= e->line_count && used + 16 < size; i++) {
		if (i > 0) {
			memcpy(out + used, indent, sizeof(indent));
			used += sizeof(indent) - 1;
		}
		(void)utf8_show(err_line(e, i), out + used, size - used);
		used += strlen(out + used);
	}
	return out;
}

void err_clear(struct err *e)
{
	*e = (struct err)ERR_INIT;
}
