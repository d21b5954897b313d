/* SPDX-License-Identifier: MIT */
/* Reads escapes and classes of a pattern. */
#include "base/regex_parse.h"
#include "base/unicode.h"
#include "base/utf8.h"

static int hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind "\x", "\u" or "\U": `digits` of them, or any number in braces. */
static int parse_hex(struct regex_parser *p, int digits, uint32_t *out, struct err *e)
{
	bool is_braced = regex_take(p, "{");
	uint32_t value = 0;
	int count = 0;

	while (p->at < p->text.len && (is_braced || count < digits)) {
		int digit = hex_value(p->text.p[p->at]);

		if (digit < 0)
			break;
		value = MIN_OF(value * 16 + (uint32_t)digit, 0x1000000u);
		count++;
		p->at++;
	}
	if (is_braced ? !regex_take(p, "}") || count == 0 : count != digits)
		return regex_wrong(p, e, "hexadecimal digits are missing");
	if (value > REGEX_LAST || (value >= 0xd800 && value <= 0xdfff))
		return regex_wrong(p, e, "there is no such character");
	*out = value;
	return 0;
}

int regex_parse_escaped(struct regex_parser *p, uint32_t *out, struct err *e)
{
	static const char letters[] = "aftnrv";
	static const char meanings[] = "\a\f\t\n\r\v";
	const char *found;
	char c;

	if (++p->at >= p->text.len)
		return regex_wrong(p, e, "it ends with a lone '\\'");
	c = p->text.p[p->at];
	found = memchr(letters, c, sizeof(letters) - 1);
	if (ascii_is_digit(c))
		return regex_wrong(p, e, "back-references are not supported");
	if (c == 'x' || c == 'u' || c == 'U') {
		p->at++;
		return parse_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, out, e);
	}
	if (!found && (ascii_is_alpha(c) || c == '<' || c == '>' || (unsigned char)c >= 0x80))
		return regex_wrong(p, e, "there is no such escape");
	p->at++;
	*out = found ? (unsigned char)meanings[found - letters] : (unsigned char)c;
	return 0;
}

/* Adds `more`, or all but that. */
static int join(struct regex_parser *p, regex_ranges *r, regex_ranges *more, bool is_negated,
		struct err *e)
{
	if (is_negated && (regex_ranges_sort(p->a, more, e) < 0 ||
			   regex_ranges_negate(p->a, more, REGEX_LAST, e) < 0))
		return err_result(e);
	return regex_ranges_join(p->a, r, more, e);
}

int regex_parse_property(struct regex_parser *p, regex_ranges *r, struct err *e)
{
	bool is_negated = p->text.p[p->at + 1] == 'P';
	struct str rest = str_from(p->text, p->at + 2), name;
	regex_ranges more = { 0 };
	uint32_t categories, first, last;
	size_t at = 0;

	p->at += 2;
	if (regex_take(p, "{")) {
		rest = str_from(rest, 1);
		name = str_first(rest, str_find(rest, '}'));
		if (name.len == rest.len)
			return regex_wrong(p, e, "'}' is missing");
		p->at += name.len + 1;
		if (name.len && name.p[0] == '^') {
			is_negated = !is_negated;
			name = str_from(name, 1);
		}
	} else {
		name = str_first(rest, 1);
		p->at += name.len;
	}
	categories = name.len ? unicode_find_categories(name) : 0;
	if (!categories)
		return regex_wrong(p, e,
				   "of Unicode only general categories are known, "
				   "such as \\p{L} or \\p{Lu}");
	while (unicode_next_run(categories, &at, &first, &last))
		if (regex_ranges_add(p->a, &more, first, last, e) < 0)
			return err_result(e);
	if (p->flags & REGEX_FLAG_CASELESS && regex_ranges_fold(p->a, &more, true, e) < 0)
		return err_result(e);
	return join(p, r, &more, is_negated, e);
}

struct posix_class {
	const char *name;
	const char *pairs; /* first and last of each range */
};

static const struct posix_class posix_classes[] = {
	{ "alnum", "09AZaz" },	 { "alpha", "AZaz" },	 { "ascii", NULL },
	{ "blank", "\t\t  " },	 { "cntrl", NULL },	 { "digit", "09" },
	{ "graph", "!~" },	 { "lower", "az" },	 { "print", " ~" },
	{ "punct", "!/:@[`{~" }, { "space", "\t\r  " },	 { "upper", "AZ" },
	{ "word", "09AZ__az" },	 { "xdigit", "09AFaf" },
};

static int add_posix(struct regex_parser *p, const struct posix_class *class, regex_ranges *r,
		     struct err *e)
{
	if (!class->pairs) {
		bool is_all = class->name[0] == 'a';

		if (regex_ranges_add(p->a, r, 0, is_all ? 0x7f : 0x1f, e) < 0)
			return err_result(e);
		return regex_ranges_add(p->a, r, 0x7f, 0x7f, e);
	}
	for (const char *pair = class->pairs; *pair; pair += 2)
		if (regex_ranges_add(p->a, r, (unsigned char)pair[0], (unsigned char)pair[1], e) <
		    0)
			return err_result(e);
	return 0;
}

/* At "[:": whether it is "[:name:]". What is no such thing is a class within the class. */
static int parse_posix(struct regex_parser *p, regex_ranges *r, bool *is_one, struct err *e)
{
	struct str rest = str_from(p->text, p->at + 2);
	bool is_negated = rest.len && rest.p[0] == '^';
	struct str name = str_from(rest, is_negated);
	size_t colon = str_find(name, ':');

	*is_one = false;
	if (colon + 1 >= name.len || name.p[colon + 1] != ']')
		return 0;
	name = str_first(name, colon);
	for (size_t i = 0; i < COUNT_OF(posix_classes); i++) {
		regex_ranges more = { 0 };

		if (!str_is(name, posix_classes[i].name))
			continue;
		*is_one = true;
		p->at += 2 + is_negated + name.len + 2;
		if (add_posix(p, &posix_classes[i], &more, e) < 0 ||
		    (p->flags & REGEX_FLAG_CASELESS &&
		     regex_ranges_fold(p->a, &more, p->flags & REGEX_FLAG_UNICODE, e) < 0))
			return err_result(e);
		return join(p, r, &more, is_negated, e);
	}
	return 0;
}

/* A character of a class, escaped or not. */
static int parse_member(struct regex_parser *p, uint32_t *out, struct err *e)
{
	if (p->text.p[p->at] == '\\')
		return regex_parse_escaped(p, out, e);
	(void)utf8_next(p->text, &p->at, out);
	return 0;
}

static char peek(const struct regex_parser *p, size_t ahead)
{
	return p->at + ahead < p->text.len ? p->text.p[p->at + ahead] : '\0';
}

/* A character or a range of them. */
static int parse_range(struct regex_parser *p, regex_ranges *r, struct err *e)
{
	regex_ranges more = { 0 };
	uint32_t first, last;

	if (parse_member(p, &first, e) < 0)
		return err_result(e);
	last = first;
	regex_skip_blanks(p);
	if (peek(p, 0) == '-' && peek(p, 1) != ']' && peek(p, 1) != '-' && peek(p, 1)) {
		p->at++;
		regex_skip_blanks(p);
		if (p->at == p->text.len)
			return regex_wrong(p, e, "a class is not closed: ']' is missing");
		if (peek(p, 0) == '[' ||
		    (peek(p, 0) == '\\' && peek(p, 1) && memchr("wWdDsSpP", peek(p, 1), 8)))
			return regex_wrong(p, e, "a range ends with a character, not with a class");
		if (parse_member(p, &last, e) < 0)
			return err_result(e);
	}
	if (last < first)
		return regex_wrong(p, e, "a range's end is before its beginning");
	if (regex_ranges_add(p->a, &more, first, last, e) < 0 ||
	    (p->flags & REGEX_FLAG_CASELESS &&
	     regex_ranges_fold(p->a, &more, p->flags & REGEX_FLAG_UNICODE, e) < 0))
		return err_result(e);
	return regex_ranges_join(p->a, r, &more, e);
}

static int parse_brackets(struct regex_parser *p, regex_ranges *out, struct err *e);

static int parse_item(struct regex_parser *p, regex_ranges *r, struct err *e)
{
	char c = peek(p, 0), letter = peek(p, 1);
	regex_ranges more = { 0 };
	bool is_one;

	if (c == '[') {
		if (letter == ':') {
			if (parse_posix(p, r, &is_one, e) < 0)
				return err_result(e);
			if (is_one)
				return 0;
		}
		if (parse_brackets(p, &more, e) < 0)
			return err_result(e);
		return regex_ranges_join(p->a, r, &more, e);
	}
	if (c == '\\' && (letter == 'p' || letter == 'P'))
		return regex_parse_property(p, r, e);
	if (c == '\\' && letter && memchr("wWdDsS", letter, 6)) {
		size_t class = letter == 'w' || letter == 'W'	? 0
			       : letter == 'd' || letter == 'D' ? 1
								: 2;

		p->at += 2;
		if (regex_add_perl(p->a, &more, (enum regex_perl) class,
				   p->flags & REGEX_FLAG_UNICODE, e) < 0)
			return err_result(e);
		if (join(p, r, &more, letter < 'a', e) < 0)
			return err_result(e);
		regex_skip_blanks(p);
		if (peek(p, 0) == '-' && peek(p, 1) != ']' && peek(p, 1) != '-')
			return regex_wrong(p, e,
					   "a range begins with a character, not with a class");
		return 0;
	}
	return parse_range(p, r, e);
}

/* left && right, left -- right, left ~~ right; both are sorted by then. */
static int combine(struct regex_parser *p, char operation, regex_ranges *left, regex_ranges *right,
		   struct err *e)
{
	regex_ranges both = *left, not_both;

	if (regex_ranges_sort(p->a, left, e) < 0 || regex_ranges_sort(p->a, right, e) < 0)
		return err_result(e);
	if (operation == '-') {
		if (regex_ranges_negate(p->a, right, REGEX_LAST, e) < 0)
			return err_result(e);
		return regex_ranges_meet(p->a, left, right, e);
	}
	both = *left;
	if (regex_ranges_meet(p->a, &both, right, e) < 0)
		return err_result(e);
	if (operation == '&') {
		*left = both;
		return 0;
	}
	not_both = both;
	if (regex_ranges_negate(p->a, &not_both, REGEX_LAST, e) < 0 ||
	    regex_ranges_join(p->a, left, right, e) < 0 || regex_ranges_sort(p->a, left, e) < 0)
		return err_result(e);
	return regex_ranges_meet(p->a, left, &not_both, e);
}

/* Items up to ']' or an operator, which it steps over and gives; '\0' for ']'. */
static int parse_items(struct regex_parser *p, regex_ranges *r, char *operation, struct err *e)
{
	for (;;) {
		regex_skip_blanks(p);
		if (p->at == p->text.len)
			return regex_wrong(
				p, e, "a class is not closed: ']' is missing, or write \"\\[\"");
		*operation = '\0';
		if (regex_take(p, "]"))
			return 0;
		if (peek(p, 0) == peek(p, 1) && memchr("&-~", peek(p, 0), 3)) {
			*operation = peek(p, 0);
			p->at += 2;
			return 0;
		}
		if (parse_item(p, r, e) < 0)
			return err_result(e);
	}
}

static int parse_brackets(struct regex_parser *p, regex_ranges *out, struct err *e)
{
	regex_ranges left = { 0 };
	bool is_negated, is_first = true;
	char operation = '\0';

	if (++p->depth > REGEX_MAX_DEPTH)
		return FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern is nested over %d levels deep",
				  REGEX_MAX_DEPTH);
	p->at++;
	regex_skip_blanks(p);
	is_negated = regex_take(p, "^");
	regex_skip_blanks(p);
	/* First, a ']' is a member, and so are any number of '-'. */
	while (peek(p, 0) == '-' && peek(p, 1) != '\0') {
		p->at++;
		is_first = false;
		if (regex_ranges_add(p->a, &left, '-', '-', e) < 0)
			return err_result(e);
	}
	if (is_first && peek(p, 0) == ']' && parse_range(p, &left, e) < 0)
		return err_result(e);
	do {
		regex_ranges right = { 0 };
		char before = operation;

		if (parse_items(p, before ? &right : &left, &operation, e) < 0 ||
		    (before && combine(p, before, &left, &right, e) < 0))
			return err_result(e);
	} while (operation);
	if (regex_ranges_sort(p->a, &left, e) < 0 ||
	    (is_negated && regex_ranges_negate(p->a, &left, REGEX_LAST, e) < 0))
		return err_result(e);
	p->depth--;
	*out = left;
	return 0;
}

struct regex_node *regex_parse_class(struct regex_parser *p, struct err *e)
{
	regex_ranges r = { 0 };

	return parse_brackets(p, &r, e) < 0 ? NULL : regex_new_class(p, &r, e);
}
