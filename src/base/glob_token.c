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
	size_t at;	     /* where the token being read starts */
	uint32_t *from;	     /* where each token starts, or NULL */
};

static struct glob_token *add(struct scan *s, enum glob_token_type type)
{
	struct glob_token *token = &s->out->list[s->out->count++];

	if (s->from)
		s->from[s->out->count - 1] = (uint32_t)s->at;
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
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is one for each '{'. */
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

		s->at = i;
		if (c == '[' && scan_class(s, &i))
			continue;
		i++;
		if (c == '\\') {
			if (i == p.len)
				return FAIL_CAUSE(e, CAUSE_GLOB_SYNTAX,
						  "the pattern ends in a lone '\\'");
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
	s->at = p.len;
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

static int scan_init(struct scan *s, struct arena *a, struct str pattern, struct glob_tokens *out,
		     struct err *e)
{
	size_t braces = count_byte(pattern, '{');

	*s = (struct scan){ .pattern = pattern, .out = out };
	/* The links between tokens have 16 bits. */
	if (pattern.len >= UINT16_MAX)
		return FAIL_CAUSE(e, CAUSE_GLOB_LIMIT,
				  "the pattern has %zu bytes, which is too long", pattern.len);
	if (str_has_nul(pattern))
		return FAIL_CAUSE(e, CAUSE_GLOB_SYNTAX, "the pattern contains a NUL byte");
	out->list = arena_array(a, pattern.len + 1, sizeof(*out->list), e);
	if (!out->list)
		return err_result(e);
	out->classes = arena_array(a, count_byte(pattern, '['), sizeof(*out->classes), e);
	if (!out->classes)
		return err_result(e);
	s->open = arena_array(a, braces * 2, sizeof(*s->open), e);
	if (!s->open)
		return err_result(e);
	s->last = s->open + braces;
	return 0;
}

/*
 * Components that are "**" again and again mean no more than one, and cost a
 * state each: what a pattern repeats is dropped. No class can hold a '/', so
 * whatever stands between slashes here is a component.
 */
static int drop_repeats(struct arena *a, struct str pattern, struct str *out, struct err *e)
{
	static const struct str twice = STR_INIT("**/**/");
	size_t used = 0;
	char *text;

	if (pattern.len < twice.len) {
		*out = pattern;
		return 0;
	}
	text = arena_alloc(a, pattern.len + 1, e);
	if (!text)
		return err_result(e);
	for (size_t i = 0; i < pattern.len;) {
		bool begins = i == 0 || pattern.p[i - 1] == '/';

		if (begins && str_has_prefix(str_from(pattern, i), twice))
			i += 3;
		else
			text[used++] = pattern.p[i++];
	}
	*out = (struct str){ text, used };
	return 0;
}

int glob_tokenize(struct arena *a, struct str pattern, struct glob_tokens *out, struct err *e)
{
	struct glob_tokens tokens = { 0 };
	struct scan s;

	if (pattern.len > GLOB_MAX_BYTES)
		return FAIL_CAUSE(e, CAUSE_GLOB_LIMIT, "the pattern has %zu bytes, the limit is %d",
				  pattern.len, GLOB_MAX_BYTES);
	if (drop_repeats(a, pattern, &pattern, e) < 0 ||
	    scan_init(&s, a, pattern, &tokens, e) < 0 || scan_all(&s, e) < 0)
		return err_result(e);
	*out = tokens;
	return 0;
}

/* ---- Spelling ------------------------------------------------------------------- */

static bool is_special(char c)
{
	return glob_is_special((struct str){ &c, 1 });
}

int glob_escape(struct arena *a, struct str literal, struct str *out, struct err *e)
{
	size_t len = 0;
	char *text;

	if (!glob_is_special(literal)) {
		*out = literal;
		return 0;
	}
	text = arena_alloc(a, 2 * literal.len + 1, e);
	if (!text)
		return err_result(e);
	for (size_t i = 0; i < literal.len; i++) {
		if (is_special(literal.p[i]))
			text[len++] = '\\';
		text[len++] = literal.p[i];
	}
	text[len] = '\0';
	*out = (struct str){ text, len };
	return 0;
}

/* The literal that all of `t` is; false when any of it is more than a byte. */
static bool spell_literal(const struct glob_tokens *t, char *text, size_t *len)
{
	*len = 0;
	for (const struct glob_token *token = t->list; token->type != GLOB_END; token++) {
		if (token->type != GLOB_BYTE && token->type != GLOB_SLASH)
			return false;
		text[(*len)++] = (char)token->byte;
	}
	return true;
}

/* The tokens as a pattern in which every byte that could be taken for more is escaped. */
static size_t spell_pattern(const struct scan *s, char *text)
{
	const struct glob_token *token = s->out->list;
	size_t depth = 0;
	size_t len = 0;

	for (size_t i = 0; token[i].type != GLOB_END; i++) {
		struct str source =
			str_first(str_from(s->pattern, s->from[i]), s->from[i + 1] - s->from[i]);
		char c = (char)token[i].byte;

		if (token[i].type == GLOB_BYTE || token[i].type == GLOB_SLASH) {
			/* Inside a group, a comma or an end that is a byte was escaped. */
			if (is_special(c) || (depth > 0 && (c == ',' || c == '}')))
				text[len++] = '\\';
			text[len++] = c;
			continue;
		}
		depth += token[i].type == GLOB_OPEN;
		depth -= token[i].type == GLOB_CLOSE;
		/* Stars that were left out as too many are no tokens, and not copied either. */
		if (token[i].type == GLOB_STAR)
			source = str_first(source, 1);
		memcpy(text + len, source.p, source.len);
		len += source.len;
	}
	return len;
}

int glob_spell(struct arena *a, struct str pattern, struct glob_spelling *out, struct err *e)
{
	struct glob_tokens tokens = { 0 };
	struct glob_spelling found = { .literal = pattern, .pattern = pattern, .is_literal = true };
	struct scan s;
	char *text;

	if (!glob_is_special(pattern)) {
		*out = found;
		return 0;
	}
	if (scan_init(&s, a, pattern, &tokens, e) < 0)
		return err_result(e);
	s.from = arena_array(a, pattern.len + 1, sizeof(*s.from), e);
	text = arena_alloc(a, 2 * pattern.len + 1, e);
	if (!s.from || !text || scan_all(&s, e) < 0)
		return err_result(e);
	found.is_literal = spell_literal(&tokens, text, &found.literal.len);
	if (found.is_literal) {
		found.literal.p = text;
		if (glob_escape(a, found.literal, &found.pattern, e) < 0)
			return err_result(e);
	} else {
		found.literal = STR_EMPTY;
		found.pattern = (struct str){ text, spell_pattern(&s, text) };
	}
	*out = found;
	return 0;
}

/* ---- Slips ---------------------------------------------------------------------- */

/* What stands for one or more bytes of a name, so that stars beside it are within one. */
static bool is_in_name(const struct glob_token *token)
{
	return token->type == GLOB_BYTE || token->type == GLOB_ANY || token->type == GLOB_CLASS;
}

/* Two stars or more from `i` on that are no component by themselves. */
static bool is_stars_slip(const struct glob_token *token, size_t i)
{
	size_t end = i;

	if (i > 0 && token[i - 1].type == GLOB_STAR)
		return false;
	while (token[end].type == GLOB_STAR)
		end++;
	if (end < i + 2)
		return false;
	return end > i + 2 || is_in_name(&token[end]) || (i > 0 && is_in_name(&token[i - 1]));
}

static enum glob_slip slip_at(const struct scan *s, size_t i)
{
	const struct glob_token *token = s->out->list;
	char written = s->pattern.p[s->from[i]];

	if (token[i].type == GLOB_STAR && is_stars_slip(token, i))
		return GLOB_SLIP_STARS;
	if (token[i].type != GLOB_BYTE)
		return GLOB_NO_SLIP;
	/* What is escaped was written with a '\\' first. */
	return written == '[' ? GLOB_SLIP_CLASS : written == '{' ? GLOB_SLIP_GROUP : GLOB_NO_SLIP;
}

int glob_find_slip(struct arena *a, struct str pattern, enum glob_slip *out, size_t *at,
		   struct err *e)
{
	struct glob_tokens tokens = { 0 };
	enum glob_slip found = GLOB_NO_SLIP;
	struct scan s;
	size_t i;

	*out = GLOB_NO_SLIP;
	if (!glob_is_special(pattern))
		return 0;
	if (scan_init(&s, a, pattern, &tokens, e) < 0)
		return err_result(e);
	s.from = arena_array(a, pattern.len + 1, sizeof(*s.from), e);
	if (!s.from || scan_all(&s, e) < 0)
		return err_result(e);
	for (i = 0; tokens.list[i].type != GLOB_END; i++) {
		found = slip_at(&s, i);
		if (found != GLOB_NO_SLIP)
			break;
	}
	*out = found;
	*at = s.from[i];
	return 0;
}
