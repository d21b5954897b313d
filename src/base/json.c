/* SPDX-License-Identifier: MIT */
/* Reading JSON; see json.h. Reads forward, once; recursion ends at JSON_MAX_DEPTH. */
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/name_tree.h"
#include "base/real.h"
#include "base/utf8.h"

struct parser {
	struct str text;
	size_t at;
	size_t line_start;
	uint32_t line;
	struct arena *out;
	struct arena *work;  /* the names of objects under construction */
	struct buf *scratch; /* the string being read */
	bool has_place;	     /* the error text says where */
	bool keeps_bytes;    /* half surrogates stand for stray bytes */
	struct err *e;
};

static int fail(struct parser *p, size_t at, enum err_code code, const char *fmt, ...)
	PRINTF_LIKE(4, 5) NONNULL;

/* Fails with "LINE:COLUMN: " of the byte at `at`. */
static int fail(struct parser *p, size_t at, enum err_code code, const char *fmt, ...)
{
	struct origin origin = origin_find(NULL, p->text, at);
	char reason[500];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	p->has_place = true;
	return FAIL(p->e, code, "%u:%u: %s", (unsigned)origin.line, (unsigned)origin.column,
		    reason);
}

/* The byte at the current place, or 0 at the end: no NUL gets this far. */
static char peek(const struct parser *p)
{
	return p->at < p->text.len ? p->text.p[p->at] : '\0';
}

static int fail_found(struct parser *p, const char *expected)
{
	struct str rest = str_from(p->text, p->at);
	char shown[16];
	size_t len = 0;
	uint32_t c;

	if (rest.len == 0)
		return fail(p, p->at, ERR_SYNTAX, "expected %s, found the end of the text",
			    expected);
	if (!utf8_next(rest, &len, &c))
		len = 1;
	return fail(p, p->at, ERR_SYNTAX, "expected %s, found '%s'", expected,
		    utf8_show(str_first(rest, len), shown, sizeof(shown)));
}

static void skip_space(struct parser *p)
{
	for (;; p->at++) {
		char c = peek(p);

		if (c == '\n') {
			p->line++;
			p->line_start = p->at + 1;
		} else if (c != ' ' && c != '\t' && c != '\r') {
			return;
		}
	}
}

/* Four hexadecimal digits; false when they are not there. */
static bool read_unit(struct parser *p, uint32_t *out)
{
	uint32_t unit = 0;

	for (size_t i = 0; i < 4; i++, p->at++) {
		char c = ascii_lower(peek(p));

		if (ascii_is_digit(c))
			unit = unit << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			unit = unit << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*out = unit;
	return true;
}

/* \uXXXX, or a pair of them for a character over U+FFFF; `at` is on the first digit. */
static int read_unicode(struct parser *p)
{
	size_t start = p->at - 2;
	char bytes[4];
	uint32_t low;
	uint32_t c;
	size_t len;

	if (!read_unit(p, &c))
		return fail(p, start, ERR_SYNTAX, "\\u must be followed by 4 hexadecimal digits");
	if (c >= 0xD800 && c <= 0xDBFF && str_has_prefix(str_from(p->text, p->at), STR("\\u"))) {
		p->at += 2;
		if (!read_unit(p, &low))
			return fail(p, start, ERR_SYNTAX,
				    "\\u must be followed by 4 hexadecimal digits");
		if (low >= 0xDC00 && low <= 0xDFFF)
			c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
	}
	if (c == 0)
		return fail(p, start, ERR_SYNTAX, "\\u0000 is not allowed");
	if (p->keeps_bytes && c >= 0xDC80 && c <= 0xDCFF) {
		buf_add_char(p->scratch, (char)(c & 0xFF));
		return 0;
	}
	if (!utf8_put(c, bytes, &len))
		return fail(p, start, ERR_SYNTAX, "\\u%04X is half of a surrogate pair",
			    (unsigned)c);
	buf_add(p->scratch, (struct str){ bytes, len });
	return 0;
}

static int read_escape(struct parser *p)
{
	static const char names[] = "btnfr\"\\/";
	static const char values[] = "\b\t\n\f\r\"\\/";
	size_t start = p->at++;
	char c = peek(p);
	const char *name = c ? strchr(names, c) : NULL;

	p->at++;
	if (name) {
		buf_add_char(p->scratch, values[name - names]);
		return 0;
	}
	if (c == 'u')
		return read_unicode(p);
	return fail(p, start, ERR_SYNTAX,
		    "a backslash must begin one of \\b \\t \\n \\f \\r \\\" \\\\ \\/ \\uXXXX");
}

static int read_string(struct parser *p, struct str *out)
{
	size_t start = p->at++;
	int r;

	buf_clear(p->scratch);
	while (peek(p) != '"') {
		char c = peek(p);

		if (p->at == p->text.len)
			return fail(p, start, ERR_SYNTAX, "a string must be closed with \"");
		if ((unsigned char)c < 0x20)
			return fail(p, p->at, ERR_SYNTAX,
				    "a control character (0x%02X) in a string must be escaped, as "
				    "\\u%04X",
				    (unsigned)c, (unsigned)c);
		if (c == '\\') {
			r = read_escape(p);
			if (r < 0)
				return r;
			continue;
		}
		buf_add_char(p->scratch, c);
		p->at++;
	}
	p->at++;
	r = buf_check(p->scratch, p->e);
	if (r < 0)
		return r;
	return arena_copy(p->out, buf_str(p->scratch), out, p->e);
}

static size_t skip_digits(struct parser *p)
{
	size_t start = p->at;

	while (ascii_is_digit(peek(p)))
		p->at++;
	return p->at - start;
}

/* [.digits][e[+-]digits]: true in `*is_real` when either is there. */
static int skip_fraction(struct parser *p, bool *is_real)
{
	*is_real = false;
	if (peek(p) == '.') {
		p->at++;
		*is_real = true;
		if (skip_digits(p) == 0)
			return fail_found(p, "a digit after the point");
	}
	if (peek(p) == 'e' || peek(p) == 'E') {
		p->at++;
		*is_real = true;
		if (peek(p) == '+' || peek(p) == '-')
			p->at++;
		if (skip_digits(p) == 0)
			return fail_found(p, "a digit in the exponent");
	}
	return 0;
}

static int read_integer(struct parser *p, struct str digits, bool is_negative, struct json *out)
{
	uint64_t limit = (uint64_t)INT64_MAX + is_negative;
	uint64_t n = 0;

	for (size_t i = 0; i < digits.len; i++) {
		uint64_t value = (uint64_t)(digits.p[i] - '0');

		if (n > (limit - value) / 10)
			return fail(p, p->at - digits.len - is_negative, ERR_SYNTAX,
				    "an integer must lie between -9223372036854775808 and "
				    "9223372036854775807");
		n = n * 10 + value;
	}
	out->type = JSON_INT;
	/* -2^63 has no positive twin: negate it as unsigned. */
	out->integer = (int64_t)(is_negative ? ~n + 1 : n);
	return 0;
}

static int read_number(struct parser *p, struct json *out)
{
	bool is_negative = peek(p) == '-';
	size_t start = p->at;
	size_t first;
	size_t whole;
	bool is_real;
	int r;

	p->at += is_negative;
	first = p->at;
	whole = skip_digits(p);
	if (whole == 0)
		return fail_found(p, is_negative ? "a digit after -" : "a value");
	if (whole > 1 && p->text.p[first] == '0')
		return fail(p, start, ERR_SYNTAX, "a number can't begin with a zero");
	r = skip_fraction(p, &is_real);
	if (r < 0)
		return r;
	if (!is_real)
		return read_integer(p, (struct str){ p->text.p + first, whole }, is_negative, out);
	out->type = JSON_REAL;
	out->real = real_parse((struct str){ p->text.p + start, p->at - start });
	if (!__builtin_isfinite(out->real))
		return fail(p, start, ERR_SYNTAX, "the number is too large");
	return 0;
}

static int read_value(struct parser *p, uint32_t depth, struct json *out);

/* What follows an item: true in `*more` for a comma, false for `close`. */
static int read_separator(struct parser *p, char close, bool *more)
{
	skip_space(p);
	*more = peek(p) == ',';
	if (!*more && peek(p) != close)
		return fail_found(p, close == ']' ? ", or ] in an array" : ", or } in an object");
	p->at++;
	return 0;
}

static int read_array(struct parser *p, uint32_t depth, struct json *out)
{
	VEC(struct json) items = { .items = NULL };
	bool more;

	p->at++;
	skip_space(p);
	more = peek(p) != ']';
	if (!more)
		p->at++;
	while (more) {
		struct json *item = VEC_PUSH(p->out, &items, p->e);
		int r;

		if (!item)
			return err_result(p->e);
		skip_space(p);
		r = read_value(p, depth, item);
		if (r == 0)
			r = read_separator(p, ']', &more);
		if (r < 0)
			return r;
	}
	out->type = JSON_ARRAY;
	out->array.items = items.items;
	out->array.count = items.count;
	return 0;
}

static int fail_twice(struct parser *p, size_t at, struct str name)
{
	char shown[128];

	return fail(p, at, ERR_SYNTAX, "the object has two members called '%s'",
		    utf8_show(name, shown, sizeof(shown)));
}

/* A name that the object does not have yet. */
static int read_name(struct parser *p, struct name_node **names, struct str *out)
{
	size_t start = p->at;
	struct name_node *node;
	int r;

	if (peek(p) != '"')
		return fail_found(p, "a name in double quotes");
	r = read_string(p, out);
	if (r < 0)
		return r;
	if (name_tree_find(*names, *out))
		return fail_twice(p, start, *out);
	node = ARENA_NEW(p->work, struct name_node, p->e);
	if (!node)
		return err_result(p->e);
	node->name = *out;
	name_tree_add(names, node);
	return 0;
}

static int read_member(struct parser *p, uint32_t depth, struct name_node **names,
		       struct json_member *out)
{
	int r;

	skip_space(p);
	r = read_name(p, names, &out->name);
	if (r < 0)
		return r;
	skip_space(p);
	if (peek(p) != ':')
		return fail_found(p, ": after the name");
	p->at++;
	skip_space(p);
	return read_value(p, depth, &out->value);
}

static int read_object(struct parser *p, uint32_t depth, struct json *out)
{
	VEC(struct json_member) items = { .items = NULL };
	struct name_node *names = NULL;
	bool more;

	p->at++;
	skip_space(p);
	more = peek(p) != '}';
	if (!more)
		p->at++;
	while (more) {
		struct json_member *member = VEC_PUSH(p->out, &items, p->e);
		int r;

		if (!member)
			return err_result(p->e);
		r = read_member(p, depth, &names, member);
		if (r == 0)
			r = read_separator(p, '}', &more);
		if (r < 0)
			return r;
	}
	out->type = JSON_OBJECT;
	out->object.items = items.items;
	out->object.count = items.count;
	return 0;
}

static bool read_word(struct parser *p, const char *word)
{
	if (!str_has_prefix(str_from(p->text, p->at), str_of(word)))
		return false;
	p->at += strlen(word);
	return true;
}

/* `depth` counts the arrays and objects around the value. */
static int read_value(struct parser *p, uint32_t depth, struct json *out)
{
	char c = peek(p);

	out->line = p->line;
	out->column = (uint32_t)(p->at - p->line_start) + 1;
	if ((c == '[' || c == '{') && depth == JSON_MAX_DEPTH)
		return fail(p, p->at, ERR_LIMIT,
			    "arrays and objects are nested more than %d levels deep",
			    JSON_MAX_DEPTH);
	if (c == '{')
		return read_object(p, depth + 1, out);
	if (c == '[')
		return read_array(p, depth + 1, out);
	if (c == '"') {
		out->type = JSON_STRING;
		return read_string(p, &out->string);
	}
	if (read_word(p, "null")) {
		out->type = JSON_NULL;
	} else if (read_word(p, "true")) {
		out->type = JSON_BOOL;
		out->boolean = true;
	} else if (read_word(p, "false")) {
		out->type = JSON_BOOL;
		out->boolean = false;
	} else {
		return read_number(p, out);
	}
	return 0;
}

/* Checks the whole text once, so that later code need not. */
static int check_bytes(struct parser *p)
{
	size_t bad = utf8_check(p->text);
	size_t nul = str_find(p->text, '\0');

	if (p->text.len >= UINT32_MAX)
		return fail(p, 0, ERR_LIMIT, "the text is larger than 4 GiB");
	if (nul < p->text.len && nul < bad)
		return fail(p, nul, ERR_SYNTAX, "a NUL byte is not allowed");
	if (bad < p->text.len)
		return fail(p, bad, ERR_SYNTAX, "byte 0x%02X is not UTF-8 text",
			    (unsigned)(unsigned char)p->text.p[bad]);
	return 0;
}

static int read_text(struct parser *p, struct json *out)
{
	int r = check_bytes(p);

	if (r < 0)
		return r;
	skip_space(p);
	r = read_value(p, 0, out);
	if (r < 0)
		return r;
	skip_space(p);
	return p->at == p->text.len ? 0 : fail_found(p, "the end of the text");
}

static struct json *parse_json(struct arena *a, struct str text, bool keeps_bytes, struct err *e)
{
	scoped_arena work = ARENA_INIT(a->limit_bytes);
	scoped_buf scratch = BUF_INIT(text.len);
	struct parser p = {
		.text = text, .line = 1, .out = a, .work = &work, .scratch = &scratch, .e = e
	};
	struct json *out = ARENA_NEW(a, struct json, e);

	p.keeps_bytes = keeps_bytes;
	if (out && read_text(&p, out) == 0)
		return out;
	if (!p.has_place)
		(void)err_wrap(e, "%u:%zu", (unsigned)p.line, p.at - p.line_start + 1);
	return NULL;
}

struct json *json_parse(struct arena *a, struct str text, struct err *e)
{
	return parse_json(a, text, false, e);
}

struct json *json_parse_paths(struct arena *a, struct str text, struct err *e)
{
	return parse_json(a, text, true, e);
}

const struct json *json_find(const struct json *object, const char *name)
{
	if (object->type != JSON_OBJECT)
		return NULL;
	for (size_t i = 0; i < object->object.count; i++)
		if (str_is(object->object.items[i].name, name))
			return &object->object.items[i].value;
	return NULL;
}
