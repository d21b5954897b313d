/* SPDX-License-Identifier: MIT */
/*
 * The tokens of a glob. Classes are found first, then braces among what is left,
 * so that "[{]" is a class and "{[,],x}" has two alternatives. What is not
 * closed becomes ordinary bytes.
 */
#include "base/glob.h"
#include "base/glob_internal.h"

struct scan {
	struct str pattern;
	struct glob_tokens *out;
	uint16_t *open; /* tokens of the groups that are open, innermost last */
	uint16_t *last; /* the newest comma of each, or its opening */
	size_t depth;
	size_t unclosed_end; /* a '[' before this offset is known to be unclosed */
};

static struct glob_token *add(struct scan *s, enum glob_token_type type)
{
	struct glob_token *token = &s->out->list[s->out->count++];

	token->type = (uint8_t)type;
	return token;
}

static void add_byte(struct scan *s, char c)
{
	struct glob_token *token = add(s, c == '/' ? GLOB_SLASH : GLOB_BYTE);

	token->byte = (uint8_t)c;
}

/* Three stars are one already; any more would only cost time. */
static void add_star(struct scan *s)
{
	const struct glob_token *end = s->out->list + s->out->count;

	if (s->out->count < 3 || end[-1].type != GLOB_STAR || end[-2].type != GLOB_STAR ||
	    end[-3].type != GLOB_STAR)
		add(s, GLOB_STAR);
}

/* One member of a class at `*at`, its escape removed; false where the class can't go on. */
static bool class_member(struct str p, size_t *at, unsigned char *out)
{
	if (*at < p.len && p.p[*at] == '\\')
		(*at)++;
	if (*at >= p.len || p.p[*at] == '/')
		return false;
	*out = (unsigned char)p.p[(*at)++];
	return true;
}

static void class_add(struct glob_class *class, unsigned first, unsigned last)
{
	for (unsigned c = first; c <= last; c++)
		class->words[c >> 6] |= (uint64_t)1 << (c & 63);
}

/* The class that starts with the '[' at `*at`; false, and nothing moved, when it is not closed. */
static bool scan_class(struct scan *s, size_t *at)
{
	struct glob_class class = { { 0 } };
	struct str p = s->pattern;
	size_t i = *at + 1;
	bool negated = i < p.len && (p.p[i] == '!' || p.p[i] == '^');
	struct glob_token *token;
	size_t start;

	if (*at < s->unclosed_end)
		return false;
	i += negated;
	for (start = i; i >= p.len || p.p[i] != ']' || i == start;) {
		unsigned char first, last;

		if (!class_member(p, &i, &first)) {
			s->unclosed_end = i;
			return false;
		}
		last = first;
		if (i + 1 < p.len && p.p[i] == '-' && p.p[i + 1] != ']') {
			i++;
			if (!class_member(p, &i, &last)) {
				s->unclosed_end = i;
				return false;
			}
		}
		class_add(&class, first, last);
	}
	for (size_t w = 0; negated && w < COUNT_OF(class.words); w++)
		class.words[w] = ~class.words[w];
	class.words['/' >> 6] &= ~((uint64_t)1 << ('/' & 63));

	token = add(s, GLOB_CLASS);
	token->link = (uint16_t)s->out->class_count;
	s->out->classes[s->out->class_count++] = class;
	*at = i + 1;
	return true;
}

/* '{', ',' and '}', each a byte until it is known to belong to a group that closes. */
static void scan_brace(struct scan *s, char c)
{
	uint16_t here = (uint16_t)s->out->count;

	if (c == '{') {
		add(s, GLOB_OPEN)->byte = '{';
		s->open[s->depth] = here;
		s->last[s->depth++] = here;
	} else if (s->depth == 0) {
		add_byte(s, c);
	} else if (c == ',') {
		add(s, GLOB_COMMA)->byte = ',';
		s->out->list[s->last[s->depth - 1]].link = here;
		s->last[s->depth - 1] = here;
	} else {
		add(s, GLOB_CLOSE);
		s->out->list[s->last[--s->depth]].link = here;
	}
}

/* The groups that never closed: their brace and commas are what they look like. */
static void undo_open_groups(struct scan *s)
{
	while (s->depth > 0) {
		size_t at = s->open[--s->depth];

		do {
			struct glob_token *token = &s->out->list[at];

			at = token->link;
			token->type = GLOB_BYTE;
			token->link = 0;
		} while (at);
	}
}

static int scan_all(struct scan *s, struct err *e)
{
	struct str p = s->pattern;

	for (size_t i = 0; i < p.len;) {
		char c = p.p[i];

		if (c == '[' && scan_class(s, &i))
			continue;
		i++;
		if (c == '\\') {
			if (i == p.len)
				return FAIL(e, ERR_SYNTAX, "the pattern ends in a lone '\\'");
			add_byte(s, p.p[i++]);
		} else if (c == '{' || c == ',' || c == '}') {
			scan_brace(s, c);
		} else if (c == '*') {
			add_star(s);
		} else if (c == '?') {
			add(s, GLOB_ANY);
		} else {
			add_byte(s, c);
		}
	}
	undo_open_groups(s);
	add(s, GLOB_END);
	return 0;
}

static size_t count_byte(struct str s, char c)
{
	size_t count = 0;

	for (size_t i = 0; i < s.len; i++)
		count += s.p[i] == c;
	return count;
}

int glob_tokenize(struct arena *a, struct str pattern, struct glob_tokens *out, struct err *e)
{
	struct glob_tokens tokens = { 0 };
	struct scan s = { .pattern = pattern, .out = &tokens };
	size_t braces = count_byte(pattern, '{');

	if (pattern.len > GLOB_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "the pattern has %zu bytes, the limit is %d", pattern.len,
			    GLOB_MAX_BYTES);
	if (str_has_nul(pattern))
		return FAIL(e, ERR_SYNTAX, "the pattern holds a NUL byte");
	tokens.list = arena_array(a, pattern.len + 1, sizeof(*tokens.list), e);
	if (!tokens.list)
		return err_result(e);
	tokens.classes = arena_array(a, count_byte(pattern, '['), sizeof(*tokens.classes), e);
	if (!tokens.classes)
		return err_result(e);
	s.open = arena_array(a, braces * 2, sizeof(*s.open), e);
	if (!s.open)
		return err_result(e);
	s.last = s.open + braces;
	if (scan_all(&s, e) < 0)
		return err_result(e);
	*out = tokens;
	return 0;
}
