/* SPDX-License-Identifier: MIT */
/*
 * Reads a pattern into a tree. It goes as deep as the groups of the pattern do, which
 * REGEX_MAX_DEPTH limits. Classes are read by regex_class.c.
 */
#include "base/regex_parse.h"

#include "base/utf8.h"

struct regex_node *regex_node_new(struct arena *a, enum regex_kind kind, struct err *e)
{
	struct regex_node *node = ARENA_NEW(a, struct regex_node, e);

	if (!node)
		return NULL;
	node->kind = (uint8_t)kind;
	node->may_be_empty = kind == REGEX_EMPTY || kind == REGEX_LOOK || kind == REGEX_CAT ||
			     kind == REGEX_ACCEPT;
	return node;
}

struct regex_node *regex_node_set(struct arena *a, const struct regex_set *set, struct err *e)
{
	struct regex_node *node = regex_node_new(a, REGEX_SET, e);

	if (node)
		node->set = set;
	return node;
}

int regex_node_add(struct regex_node *parent, struct regex_node *child, struct err *e)
{
	if (child->depth >= REGEX_MAX_DEPTH)
		return FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern is nested over %d levels deep",
				  REGEX_MAX_DEPTH);
	parent->depth = MAX_OF(parent->depth, (uint16_t)(child->depth + 1));
	if (parent->kind == REGEX_ALT)
		parent->may_be_empty |= child->may_be_empty;
	else if (parent->kind == REGEX_CAT)
		parent->may_be_empty &= child->may_be_empty;
	child->previous = parent->last;
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
	return 0;
}

struct regex_node *regex_node_repeat(struct arena *a, struct regex_node *child, int32_t min,
				     int32_t max, struct err *e)
{
	struct regex_node *node = regex_node_new(a, REGEX_REPEAT, e);

	if (!node || regex_node_add(node, child, e) < 0)
		return NULL;
	node->min = min;
	node->max = max;
	node->may_be_empty = min == 0 || child->may_be_empty;
	return node;
}

int regex_wrong(const struct regex_parser *p, struct err *e, const char *what)
{
	char shown[200];

	(void)FAIL_CAUSE(e, CAUSE_REGEX_SYNTAX, "the pattern is not valid: %s", what);
	err_add_line(e, "at character %zu of %s", p->at + 1,
		     utf8_show(p->text, shown, sizeof(shown)));
	return err_result(e);
}

static bool is_at(const struct regex_parser *p, const char *text)
{
	return str_has_prefix(str_from(p->text, p->at), str_of(text));
}

/* Steps over `text` if it is next. */
bool regex_take(struct regex_parser *p, const char *text)
{
	if (!is_at(p, text))
		return false;
	p->at += strlen(text);
	return true;
}

void regex_skip_blanks(struct regex_parser *p)
{
	if (!(p->flags & REGEX_FLAG_SPACED))
		return;
	while (p->at < p->text.len) {
		char c = p->text.p[p->at];

		if (c == '#')
			p->at += str_find(str_from(p->text, p->at), '\n');
		else if (c == ' ' || (c >= '\t' && c <= '\r'))
			p->at++;
		else
			break;
	}
}

/* The set of a character, with its other cases if case does not matter. */
static struct regex_node *new_character(struct regex_parser *p, uint32_t c, struct err *e)
{
	const struct regex_set *set;
	regex_ranges r = { 0 };

	if (c == '\n' && p->options & REGEX_LINES) {
		(void)regex_wrong(p, e, "a newline can't match, because lines are searched");
		return NULL;
	}
	if (!(p->flags & REGEX_FLAG_CASELESS)) {
		set = regex_set_one(&p->tree->sets, c, e);
	} else {
		if (regex_ranges_add(p->a, &r, c, c, e) < 0 ||
		    regex_ranges_fold(p->a, &r, p->flags & REGEX_FLAG_UNICODE, e) < 0)
			return NULL;
		set = regex_set_new(&p->tree->sets, &r, e);
	}
	return set ? regex_node_set(p->a, set, e) : NULL;
}

struct regex_node *regex_new_class(struct regex_parser *p, regex_ranges *r, struct err *e)
{
	static const struct regex_range newline = { '\n', '\n' };
	const struct regex_set *set;

	if (p->options & REGEX_LINES && regex_ranges_have(r, '\n')) {
		regex_ranges others = { 0 };

		if (regex_ranges_add(p->a, &others, newline.first, newline.last, e) < 0 ||
		    regex_ranges_negate(p->a, &others, REGEX_INVALID, e) < 0 ||
		    regex_ranges_sort(p->a, r, e) < 0 || regex_ranges_meet(p->a, r, &others, e) < 0)
			return NULL;
	}
	set = regex_set_new(&p->tree->sets, r, e);
	return set ? regex_node_set(p->a, set, e) : NULL;
}

static struct regex_node *new_look(struct regex_parser *p, enum regex_look look, struct err *e)
{
	struct regex_node *node = regex_node_new(p->a, REGEX_LOOK, e);

	if (!(p->flags & REGEX_FLAG_UNICODE) && look >= REGEX_BORDER && look <= REGEX_WORD_END)
		look += REGEX_ASCII_BORDER - REGEX_BORDER;
	if (node)
		node->look = (uint8_t)look;
	return node;
}

/* '$': in lines, a '\r' before the end belongs to it. */
static struct regex_node *new_end(struct regex_parser *p, struct err *e)
{
	struct regex_node *cat, *cr, *node;

	if (!(p->flags & REGEX_FLAG_MULTILINE))
		return new_look(p, REGEX_TEXT_END, e);
	node = new_look(p, REGEX_LINE_END, e);
	if (!node || !(p->options & REGEX_LINES))
		return node;
	cat = regex_node_new(p->a, REGEX_CAT, e);
	cr = new_character(p, '\r', e);
	cr = cr ? regex_node_repeat(p->a, cr, 0, 1, e) : NULL;
	if (!cat || !cr || regex_node_add(cat, cr, e) < 0 || regex_node_add(cat, node, e) < 0)
		return NULL;
	cr->is_lazy = true;
	return cat;
}

static struct regex_node *new_any(struct regex_parser *p, struct err *e)
{
	const struct regex_set **cache = &p->any[(p->flags & REGEX_FLAG_DOT_NEWLINE) != 0];
	struct regex_node *node;
	regex_ranges r = { 0 };

	if (*cache)
		return regex_node_set(p->a, *cache, e);
	if (regex_ranges_add(p->a, &r, '\n', '\n', e) < 0)
		return NULL;
	if (p->flags & REGEX_FLAG_DOT_NEWLINE)
		r.count = 0;
	if (regex_ranges_negate(p->a, &r, REGEX_LAST, e) < 0)
		return NULL;
	node = regex_new_class(p, &r, e);
	if (node)
		*cache = node->set;
	return node;
}

/* \d and the like outside of brackets: made once for each. */
static struct regex_node *new_perl(struct regex_parser *p, char letter, struct err *e)
{
	size_t at = letter == 'w' || letter == 'W' ? 0 : letter == 'd' || letter == 'D' ? 1 : 2;
	bool is_negated = letter < 'a', is_unicode = p->flags & REGEX_FLAG_UNICODE;
	const struct regex_set **cache = &p->perl[4 * at + 2 * is_negated + is_unicode];
	struct regex_node *node;
	regex_ranges r = { 0 };

	if (*cache)
		return regex_node_set(p->a, *cache, e);
	if (regex_add_perl(p->a, &r, (enum regex_perl)at, is_unicode, e) < 0 ||
	    regex_ranges_sort(p->a, &r, e) < 0 ||
	    (is_negated && regex_ranges_negate(p->a, &r, REGEX_LAST, e) < 0))
		return NULL;
	node = regex_new_class(p, &r, e);
	if (node)
		*cache = node->set;
	return node;
}

static struct regex_node *parse_escape(struct regex_parser *p, struct err *e)
{
	static const struct {
		const char *text;
		enum regex_look look;
	} looks[] = {
		{ "\\b{start}", REGEX_WORD_BEGIN },
		{ "\\b{end}", REGEX_WORD_END },
		{ "\\b", REGEX_BORDER },
		{ "\\B", REGEX_NO_BORDER },
		{ "\\<", REGEX_WORD_BEGIN },
		{ "\\>", REGEX_WORD_END },
		{ "\\A", REGEX_TEXT_BEGIN },
		{ "\\z", REGEX_TEXT_END },
	};
	char letter = p->at + 1 < p->text.len ? p->text.p[p->at + 1] : '\0';
	regex_ranges r = { 0 };
	uint32_t c;

	for (size_t i = 0; i < COUNT_OF(looks); i++)
		if (regex_take(p, looks[i].text))
			return new_look(p, looks[i].look, e);
	if (letter && memchr("wWdDsS", letter, 6)) {
		p->at += 2;
		return new_perl(p, letter, e);
	}
	if (letter == 'p' || letter == 'P') {
		if (regex_parse_property(p, &r, e) < 0)
			return NULL;
		return regex_new_class(p, &r, e);
	}
	if (regex_parse_escaped(p, &c, e) < 0)
		return NULL;
	return new_character(p, c, e);
}

/* The flags of "(?flags)" or "(?flags:", up to what ends them. */
static int parse_flags(struct regex_parser *p, struct err *e)
{
	static const char letters[] = "imsUux";
	bool is_off = false, is_any = false;

	for (; p->at < p->text.len; p->at++) {
		char c = p->text.p[p->at];
		const char *found = memchr(letters, c, sizeof(letters) - 1);

		if (c == ')' || c == ':')
			return is_any || c == ':' ? 0 : regex_wrong(p, e, "\"(?)\" sets no flag");
		if (c == '-' && !is_off) {
			is_off = true;
			is_any = false;
			continue;
		}
		if (!found)
			break;
		is_any = true;
		if (is_off)
			p->flags &= ~(1u << (found - letters));
		else
			p->flags |= 1u << (found - letters);
	}
	if (is_at(p, "=") || is_at(p, "!") || is_at(p, "<=") || is_at(p, "<!"))
		return regex_wrong(p, e, "look-around is not supported");
	return regex_wrong(p, e,
			   "after \"(?\" comes ':', a name (\"P<name>\") or flags of \"imsUux\"");
}

/* "name>" of a group; nothing asks for the names, but a wrong one is a slip. */
static int parse_name(struct regex_parser *p, struct err *e)
{
	struct str rest = str_from(p->text, p->at);
	struct str name = str_first(rest, str_find(rest, '>'));
	struct str *slot;

	if (name.len == rest.len || name.len == 0 || ascii_is_digit(name.p[0]))
		return regex_wrong(p, e, "a group's name is letters, digits and '_', then '>'");
	for (size_t i = 0; i < name.len; i++)
		if (!ascii_is_alpha(name.p[i]) && !ascii_is_digit(name.p[i]) && name.p[i] != '_' &&
		    name.p[i] != '.' && name.p[i] != '[' && name.p[i] != ']')
			return regex_wrong(p, e,
					   "a group's name has a character that it can't have");
	for (size_t i = 0; i < p->names.count; i++)
		if (str_eq(p->names.items[i], name))
			return regex_wrong(p, e, "two groups have the same name");
	slot = VEC_PUSH(p->a, &p->names, e);
	if (!slot)
		return err_result(e);
	*slot = name;
	p->at += name.len + 1;
	return 0;
}

static struct regex_node *parse_alternatives(struct regex_parser *p, struct err *e);

/* Behind '('. A group that only sets flags is empty, and can't be repeated. */
static struct regex_node *parse_group(struct regex_parser *p, bool *is_flags, struct err *e)
{
	unsigned outer = p->flags;
	struct regex_node *inner;

	if (regex_take(p, "?P<") ||
	    (is_at(p, "?<") && !is_at(p, "?<=") && !is_at(p, "?<!") && regex_take(p, "?<"))) {
		if (parse_name(p, e) < 0)
			return NULL;
	} else if (regex_take(p, "?")) {
		if (parse_flags(p, e) < 0)
			return NULL;
		if (regex_take(p, ")")) {
			*is_flags = true;
			return regex_node_new(p->a, REGEX_EMPTY, e);
		}
		p->at++;
	}
	if (++p->depth > REGEX_MAX_DEPTH) {
		(void)FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern is nested over %d levels deep",
				 REGEX_MAX_DEPTH);
		return NULL;
	}
	inner = parse_alternatives(p, e);
	p->depth--;
	p->flags = outer;
	if (!inner)
		return NULL;
	if (!regex_take(p, ")")) {
		(void)regex_wrong(p, e, "a group is not closed: ')' is missing, or write \"\\(\"");
		return NULL;
	}
	return inner;
}

static bool parse_number(struct regex_parser *p, int32_t *out)
{
	bool is_any = false;
	int32_t value = 0;

	regex_skip_blanks(p);
	for (; p->at < p->text.len && ascii_is_digit(p->text.p[p->at]); p->at++) {
		value = MIN_OF(10 * value + (p->text.p[p->at] - '0'), 1000000);
		is_any = true;
	}
	regex_skip_blanks(p);
	if (is_any)
		*out = value;
	return is_any;
}

/* "{n}", "{n,}" or "{n,m}", at the brace. */
static int parse_counts(struct regex_parser *p, int32_t *min, int32_t *max, struct err *e)
{
	p->at++;
	if (!parse_number(p, min))
		return regex_wrong(p, e,
				   "'{' must be followed by a number; for a brace, write \"\\{\"");
	*max = *min;
	if (regex_take(p, ",") && !parse_number(p, max))
		*max = REGEX_MANY;
	if (!regex_take(p, "}"))
		return regex_wrong(p, e, "a repetition is \"{n}\", \"{n,}\" or \"{n,m}\"");
	if (*max != REGEX_MANY && *max < *min)
		return regex_wrong(p, e, "a repetition's end is below its beginning");
	return 0;
}

/* Puts the repetitions that follow around `node`. */
static struct regex_node *parse_repeats(struct regex_parser *p, struct regex_node *node,
					struct err *e)
{
	for (;;) {
		int32_t min = 0, max = REGEX_MANY;

		regex_skip_blanks(p);
		if (regex_take(p, "+")) {
			min = 1;
		} else if (regex_take(p, "?")) {
			max = 1;
		} else if (is_at(p, "{")) {
			if (parse_counts(p, &min, &max, e) < 0)
				return NULL;
		} else if (!regex_take(p, "*")) {
			return node;
		}
		node = regex_node_repeat(p->a, node, min, max, e);
		if (!node)
			return NULL;
		node->is_lazy = regex_take(p, "?") != ((p->flags & REGEX_FLAG_SWAPPED) != 0);
	}
}

static struct regex_node *parse_atom(struct regex_parser *p, bool *is_flags, struct err *e)
{
	uint32_t c;

	switch (p->text.p[p->at]) {
	case '(':
		p->at++;
		return parse_group(p, is_flags, e);
	case '[':
		return regex_parse_class(p, e);
	case '\\':
		return parse_escape(p, e);
	case '.':
		p->at++;
		return new_any(p, e);
	case '^':
		p->at++;
		return new_look(
			p, p->flags & REGEX_FLAG_MULTILINE ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN,
			e);
	case '$':
		p->at++;
		return new_end(p, e);
	case '*':
	case '+':
	case '?':
	case '{':
		(void)regex_wrong(p, e,
				  "there is nothing before it that could be repeated; "
				  "for the character itself, write a '\\' before it");
		return NULL;
	default:
		(void)utf8_next(p->text, &p->at, &c);
		return new_character(p, c, e);
	}
}

static struct regex_node *parse_sequence(struct regex_parser *p, struct err *e)
{
	struct regex_node *cat = regex_node_new(p->a, REGEX_CAT, e);

	if (!cat)
		return NULL;
	for (;;) {
		struct regex_node *node;
		bool is_flags = false;

		regex_skip_blanks(p);
		if (p->at == p->text.len || is_at(p, "|") || is_at(p, ")"))
			break;
		node = parse_atom(p, &is_flags, e);
		if (node && !is_flags)
			node = parse_repeats(p, node, e);
		if (!node || regex_node_add(cat, node, e) < 0)
			return NULL;
	}
	return cat->first && !cat->first->next ? cat->first : cat;
}

static struct regex_node *parse_alternatives(struct regex_parser *p, struct err *e)
{
	struct regex_node *first = parse_sequence(p, e), *alt;

	if (!first || !is_at(p, "|"))
		return first;
	alt = regex_node_new(p->a, REGEX_ALT, e);
	if (!alt)
		return NULL;
	/* A node that is the only one of its sequence never had neighbours. */
	first->previous = first->next = NULL;
	if (regex_node_add(alt, first, e) < 0)
		return NULL;
	while (regex_take(p, "|")) {
		struct regex_node *other = parse_sequence(p, e);

		if (!other)
			return NULL;
		other->previous = other->next = NULL;
		if (regex_node_add(alt, other, e) < 0)
			return NULL;
	}
	return alt;
}

static int parse_literal(struct regex_parser *p, struct err *e)
{
	struct regex_node *cat = regex_node_new(p->a, REGEX_CAT, e);

	p->tree->root = cat;
	while (cat && p->at < p->text.len) {
		struct regex_node *node;
		uint32_t c;

		(void)utf8_next(p->text, &p->at, &c);
		node = new_character(p, c, e);
		if (!node || regex_node_add(cat, node, e) < 0)
			return err_result(e);
	}
	return cat ? 0 : err_result(e);
}

int regex_parse_tree(struct regex_tree *tree, struct str pattern, unsigned flags, struct err *e)
{
	struct regex_parser p = { .a = tree->a, .tree = tree, .text = pattern, .options = flags };

	p.flags = REGEX_FLAG_UNICODE;
	if (flags & REGEX_IGNORE_CASE)
		p.flags |= REGEX_FLAG_CASELESS;
	if (flags & REGEX_LINES)
		p.flags |= REGEX_FLAG_MULTILINE;
	if (pattern.len > REGEX_MAX_BYTES)
		return FAIL_CAUSE(e, CAUSE_REGEX_LIMIT,
				  "the pattern is %zu bytes long, the limit is %d", pattern.len,
				  REGEX_MAX_BYTES);
	p.at = utf8_check(pattern);
	if (p.at < pattern.len)
		return regex_wrong(&p, e, "it is not valid UTF-8");
	p.at = 0;
	if (flags & REGEX_LITERAL)
		return parse_literal(&p, e);
	tree->root = parse_alternatives(&p, e);
	if (!tree->root)
		return err_result(e);
	if (p.at < pattern.len)
		return regex_wrong(&p, e, "there is no group that ')' closes; write \"\\)\"");
	return 0;
}
