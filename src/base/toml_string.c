/* SPDX-License-Identifier: MIT */
/* The four kinds of TOML strings; see toml_parser.h. */
#include <stdio.h>

#include "base/toml_parser.h"
#include "base/utf8.h"

static int digit_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX and \UXXXXXXXX, with `at` on the first digit. */
static int read_unicode(struct toml_parser *p, size_t digits)
{
	size_t start = p->at - 2;
	char bytes[4];
	size_t len;
	uint32_t c = 0;

	for (size_t i = 0; i < digits; i++, p->at++) {
		int value = digit_value(toml_peek(p));

		if (value < 0)
			return toml_fail(p, start, ERR_SYNTAX,
					 "\\%c must be followed by %zu hexadecimal digits",
					 digits == 4 ? 'u' : 'U', digits);
		c = c << 4 | (uint32_t)value;
	}
	if (!utf8_put(c, bytes, &len))
		return toml_fail(p, start, ERR_SYNTAX, "U+%04X is not a Unicode character",
				 (unsigned)c);
	buf_add(p->scratch, (struct str){ bytes, len });
	return 0;
}

/*
 * A backslash at the end of a line: the break and all space after it go. False
 * when this is not one.
 */
static bool skip_line_end(struct toml_parser *p)
{
	size_t start = p->at;

	p->at++;
	toml_skip_blanks(p);
	if (!toml_skip_newline(p)) {
		p->at = start;
		return false;
	}
	do
		toml_skip_blanks(p);
	while (toml_skip_newline(p));
	return true;
}

static int read_escape(struct toml_parser *p, bool is_multiline)
{
	static const char names[] = "btnfr\"\\";
	static const char values[] = "\b\t\n\f\r\"\\";
	size_t start = p->at;
	const char *name;
	char c;

	if (is_multiline && skip_line_end(p))
		return 0;
	p->at++;
	c = toml_peek(p);
	name = c ? strchr(names, c) : NULL;
	if (name) {
		buf_add_char(p->scratch, values[name - names]);
		p->at++;
		return 0;
	}
	if (c != 'u' && c != 'U')
		return toml_fail(
			p, start, ERR_SYNTAX,
			"a backslash must begin one of \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX "
			"\\UXXXXXXXX; write \\\\ for a backslash, or use '...'");
	p->at++;
	return read_unicode(p, c == 'u' ? 4 : 8);
}

/* One byte that stands for itself. All is known to be UTF-8, so bytes will do. */
static int read_plain(struct toml_parser *p)
{
	unsigned char c = (unsigned char)toml_peek(p);

	if ((c < 0x20 && c != '\t') || c == 0x7F)
		return toml_fail(
			p, p->at, ERR_SYNTAX,
			"a control character (0x%02X) in a string must be escaped, as \\u%04X "
			"between double quotes",
			(unsigned)c, (unsigned)c);
	buf_add_char(p->scratch, (char)c);
	p->at++;
	return 0;
}

/* Reads bytes that stand for themselves in every kind of string. Most strings have nothing else. */
static void read_plain_run(struct toml_parser *p)
{
	struct str rest = str_from(p->text, p->at);
	size_t len = 0;

	while (len < rest.len) {
		unsigned char c = (unsigned char)rest.p[len];

		if (c < 0x20 || c == 0x7F || c == '"' || c == '\'' || c == '\\')
			break;
		len++;
	}
	buf_add(p->scratch, str_first(rest, len));
	p->at += len;
}

static int read_line(struct toml_parser *p, char quote)
{
	size_t start = p->at++;

	for (;;) {
		char c;
		int r;

		read_plain_run(p);
		c = toml_peek(p);
		if (c == quote)
			break;
		if (p->at == p->text.len || c == '\n' || toml_has_prefix(p, "\r\n"))
			return toml_fail(p, start, ERR_SYNTAX,
					 "a string must be closed with %c on the line it begins on",
					 quote);
		r = c == '\\' && quote == '"' ? read_escape(p, false) : read_plain(p);
		if (r < 0)
			return r;
	}
	p->at++;
	return 0;
}

/*
 * Up to two quotes may stand right before the three that close, so `""""x"""""`
 * is `"x""`. True when the string has ended.
 */
static bool read_quotes(struct toml_parser *p, char quote)
{
	size_t run = 0;
	size_t content;

	while (run < 5 && p->at + run < p->text.len && p->text.p[p->at + run] == quote)
		run++;
	content = run >= 3 ? run - 3 : run;
	buf_add(p->scratch, (struct str){ p->text.p + p->at, content });
	p->at += run;
	return run >= 3;
}

static int read_lines(struct toml_parser *p, char quote)
{
	struct origin start = toml_here(p);

	p->at += 3;
	(void)toml_skip_newline(p); /* the one right after the quotes is not content */
	for (;;) {
		char c = toml_peek(p);
		int r = 0;

		if (p->at == p->text.len)
			return toml_fail(
				p, p->at, ERR_SYNTAX,
				"the string that begins at line %u must be closed with %c%c%c",
				(unsigned)start.line, quote, quote, quote);
		if (c == quote) {
			if (read_quotes(p, quote))
				return 0;
		} else if (toml_skip_newline(p)) {
			/* the same on every platform, or digests would differ */
			buf_add_char(p->scratch, '\n');
		} else {
			r = c == '\\' && quote == '"' ? read_escape(p, true) : read_plain(p);
		}
		if (r < 0)
			return r;
	}
}

int toml_read_string(struct toml_parser *p, bool is_key, struct str *out)
{
	char quote = toml_peek(p);
	char three[4] = { quote, quote, quote, '\0' };
	int r;

	buf_clear(p->scratch);
	if (!toml_has_prefix(p, three))
		r = read_line(p, quote);
	else if (is_key)
		r = toml_fail(p, p->at, ERR_SYNTAX, "a key can't be a multi-line string");
	else
		r = read_lines(p, quote);
	if (r < 0)
		return r;
	r = buf_check(p->scratch, p->e);
	if (r < 0)
		return r;
	return arena_copy(p->out, buf_str(p->scratch), out, p->e);
}
