/* SPDX-License-Identifier: MIT */
/*
 * See ignore.h. What a pattern means is written in gitignore(5); where that is silent, git's
 * wildmatch decides: an unclosed '[' or a '\' at the end matches nothing, and a "**" right behind
 * the literal beginning of a pattern is one behind a '/'.
 *
 * A directory's path gets a NUL at its end before it is matched, which no wildcard matches, so that
 * patterns for directories alone are ordinary ones.
 */
#include "tools/ignore.h"

#include "base/path.h"
#include "base/regex_internal.h"

enum { MAX_STATES = 4 << 20 };

struct reader {
	struct regex_tree *tree;
	struct str text;    /* the pattern */
	size_t at, literal; /* how much of it is no wildcard */
	bool is_impossible; /* it matches nothing */
	struct regex_node *cat;
};

static int add_set(struct reader *r, const struct regex_set *set, int32_t min, int32_t max,
		   struct err *e)
{
	struct regex_node *node = set ? regex_node_set(r->tree->a, set, e) : NULL;

	if (node && (min != 1 || max != 1))
		node = regex_node_repeat(r->tree->a, node, min, max, e);
	return node && regex_node_add(r->cat, node, e) == 0 ? 0 : err_result(e);
}

static int add_byte(struct reader *r, char c, int32_t min, struct err *e)
{
	return add_set(r, regex_set_one(&r->tree->sets, (unsigned char)c, e), min, 1, e);
}

/* All bytes of a path, or all but '/'. */
static const struct regex_set *get_any(struct reader *r, bool has_slash, struct err *e)
{
	regex_ranges any = { 0 };

	if (has_slash ? regex_ranges_add(r->tree->a, &any, 1, REGEX_BYTE_LAST, e) < 0
		      : regex_ranges_add(r->tree->a, &any, 1, '/' - 1, e) < 0 ||
				regex_ranges_add(r->tree->a, &any, '/' + 1, REGEX_BYTE_LAST, e) < 0)
		return NULL;
	return regex_set_new(&r->tree->sets, &any, e);
}

static char peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->text.len ? r->text.p[r->at + ahead] : '\0';
}

/* "(?:any*" and a slash, ")?" */
static int add_directories(struct reader *r, struct err *e)
{
	struct regex_node *outer = r->cat, *some;

	r->cat = regex_node_new(r->tree->a, REGEX_CAT, e);
	if (!r->cat || add_set(r, get_any(r, true, e), 0, REGEX_MANY, e) < 0 ||
	    add_byte(r, '/', 1, e) < 0)
		return err_result(e);
	some = regex_node_repeat(r->tree->a, r->cat, 0, 1, e);
	r->cat = outer;
	return some && regex_node_add(outer, some, e) == 0 ? 0 : err_result(e);
}

static int read_stars(struct reader *r, struct err *e)
{
	size_t start = r->at;
	bool is_own;

	while (peek(r, 0) == '*')
		r->at++;
	is_own = r->at - start > 1 &&
		 (start == 0 || r->text.p[start - 1] == '/' || start == r->literal);
	if (is_own && peek(r, 0) == '/') {
		r->at++;
		return add_directories(r, e);
	}
	is_own = is_own && (r->at == r->text.len || (peek(r, 0) == '\\' && peek(r, 1) == '/'));
	return add_set(r, get_any(r, is_own, e), 0, REGEX_MANY, e);
}

/* What git's own tables have; of spaces it knows four. */
static const struct {
	const char *name, *pairs;
} classes[] = {
	{ "alnum", "09AZaz" }, { "alpha", "AZaz" },	{ "blank", "\t\t  " },
	{ "digit", "09" },     { "graph", "!~" },	{ "lower", "az" },
	{ "print", " ~" },     { "punct", "!/:@[`{~" }, { "space", "\t\n\r\r  " },
	{ "upper", "AZ" },     { "xdigit", "09AFaf" },	{ "cntrl", "\x01\x1f\x7f\x7f" },
};

/* At "[:" in a class: whether it is a name, which is then read. */
static int read_name(struct reader *r, regex_ranges *set, bool *is_name, struct err *e)
{
	struct str rest = str_from(r->text, r->at + 2);
	size_t end = str_find(rest, ']');
	struct str name = str_first(rest, end ? end - 1 : 0);

	*is_name = false;
	if (end == rest.len) {
		r->is_impossible = true;
		return 0;
	}
	if (end == 0 || rest.p[end - 1] != ':')
		return 0;
	*is_name = true;
	r->at += 2 + end;
	for (size_t i = 0; i < COUNT_OF(classes); i++) {
		if (!str_is(name, classes[i].name))
			continue;
		for (const char *pair = classes[i].pairs; *pair; pair += 2)
			if (regex_ranges_add(r->tree->a, set, (unsigned char)pair[0],
					     (unsigned char)pair[1], e) < 0)
				return err_result(e);
		return 0;
	}
	r->is_impossible = true;
	return 0;
}

/* The members of a class, up to its ']', as git's wildmatch goes through them. */
static int read_members(struct reader *r, regex_ranges *set, struct err *e)
{
	unsigned char before = 0;

	do {
		unsigned char c = (unsigned char)peek(r, 0);
		bool is_name = false;

		if (!c) {
			r->is_impossible = true;
			return 0;
		}
		if (c == '-' && before && peek(r, 1) && peek(r, 1) != ']') {
			r->at++;
			if (peek(r, 0) == '\\')
				r->at++;
			c = (unsigned char)peek(r, 0);
			if (c && c >= before && regex_ranges_add(r->tree->a, set, before, c, e) < 0)
				return err_result(e);
			r->is_impossible |= !c;
			before = 0;
			continue;
		}
		if (c == '[' && peek(r, 1) == ':' && read_name(r, set, &is_name, e) < 0)
			return err_result(e);
		if (r->is_impossible)
			return 0;
		if (is_name) {
			before = 0;
			continue;
		}
		if (c == '\\') {
			r->at++;
			c = (unsigned char)peek(r, 0);
		}
		r->is_impossible |= !c;
		if (regex_ranges_add(r->tree->a, set, c, c, e) < 0)
			return err_result(e);
		before = c;
	} while (r->at++, peek(r, 0) != ']' && !r->is_impossible);
	return 0;
}

static int read_class(struct reader *r, struct err *e)
{
	regex_ranges set = { 0 }, others = { 0 };
	bool is_negated;

	r->at++;
	is_negated = peek(r, 0) == '!' || peek(r, 0) == '^';
	r->at += is_negated;
	if (read_members(r, &set, e) < 0)
		return err_result(e);
	if (r->is_impossible)
		return 0;
	r->at++;
	if (regex_ranges_sort(r->tree->a, &set, e) < 0 ||
	    (is_negated && regex_ranges_negate(r->tree->a, &set, REGEX_BYTE_LAST, e) < 0) ||
	    regex_ranges_add(r->tree->a, &others, 1, '/' - 1, e) < 0 ||
	    regex_ranges_add(r->tree->a, &others, '/' + 1, REGEX_BYTE_LAST, e) < 0 ||
	    regex_ranges_meet(r->tree->a, &set, &others, e) < 0)
		return err_result(e);
	return add_set(r, regex_set_new(&r->tree->sets, &set, e), 1, 1, e);
}

static int read_pattern(struct reader *r, struct err *e)
{
	while (r->at < r->text.len && !r->is_impossible) {
		char c = r->text.p[r->at];
		int status;

		if (c == '*') {
			status = read_stars(r, e);
		} else if (c == '[') {
			status = read_class(r, e);
		} else if (c == '?') {
			r->at++;
			status = add_set(r, get_any(r, false, e), 1, 1, e);
		} else {
			r->at += c == '\\';
			r->is_impossible |= r->at == r->text.len;
			status = r->is_impossible ? 0 : add_byte(r, r->text.p[r->at++], 1, e);
		}
		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- Lines ---- */

struct line {
	struct str pattern;
	bool is_negated, is_for_directories, has_slash;
};

/* Spaces at the end count only when a '\' is before them. */
static struct str trim(struct str line)
{
	size_t spaces = line.len, i;

	for (i = 0; i < line.len; i++) {
		if (line.p[i] == ' ') {
			spaces = MIN_OF(spaces, i);
			continue;
		}
		spaces = line.len;
		if (line.p[i] == '\\' && ++i == line.len)
			return line;
	}
	return str_first(line, spaces);
}

/* False: it has no pattern. */
static bool read_line(struct str text, struct line *out)
{
	*out = (struct line){ .pattern = STR_EMPTY };
	if (!text.len || text.p[0] == '#')
		return false;
	if (text.p[text.len - 1] == '\r')
		text.len--;
	text = trim(str_first(text, str_find(text, '\0')));
	if (text.len && text.p[0] == '!') {
		out->is_negated = true;
		text = str_from(text, 1);
	}
	if (text.len && text.p[text.len - 1] == '/') {
		out->is_for_directories = true;
		text.len--;
	}
	out->has_slash = str_find(text, '/') < text.len;
	out->pattern = text;
	return text.len > 0;
}

static size_t count_literal(struct str pattern)
{
	size_t n = 0;

	while (n < pattern.len && !memchr("*?[\\", pattern.p[n], 4))
		n++;
	return n;
}

/* The tree of a line; NULL without a failure in `e` when it matches nothing. */
static int make_line(struct regex_tree *tree, const struct line *line, size_t number,
		     struct regex_node **out, struct err *e)
{
	struct reader r = { .tree = tree, .text = line->pattern };
	struct regex_node *accept;

	*out = NULL;
	if (line->has_slash && r.text.p[0] == '/')
		r.text = str_from(r.text, 1);
	r.literal = count_literal(r.text);
	r.cat = regex_node_new(tree->a, REGEX_CAT, e);
	if (!r.cat || read_pattern(&r, e) < 0)
		return err_result(e);
	if (r.is_impossible)
		return 0;
	accept = regex_node_new(tree->a, REGEX_ACCEPT, e);
	if (!accept || add_byte(&r, '\0', line->is_for_directories, e) < 0 ||
	    regex_node_add(r.cat, accept, e) < 0)
		return err_result(e);
	accept->min = (int32_t)number;
	*out = r.cat;
	return 0;
}

struct lines {
	struct regex_tree tree;
	struct regex_node **nodes;
	size_t count;
};

/* An automaton of these lines. The last one is the first that is tried. */
static int compile(struct lines *l, const struct regex_watch *watch, struct regex_matcher **out,
		   struct err *e)
{
	const struct regex *re;

	if (!l->count)
		return 0;
	l->tree.root = regex_node_new(l->tree.a, REGEX_ALT, e);
	if (!l->tree.root)
		return err_result(e);
	for (size_t i = l->count; i-- > 0;)
		if (regex_node_add(l->tree.root, l->nodes[i], e) < 0)
			return err_result(e);
	re = regex_compile(&l->tree, 0, true, MAX_STATES, e);
	if (!re)
		return err_result(e);
	*out = regex_matcher_new(re, watch, e);
	return *out ? 0 : err_result(e);
}

int ignore_rules_init(struct arena *a, struct str text, const struct regex_watch *watch,
		      struct ignore_rules *out, struct err *e)
{
	struct lines names = { .tree = { .a = a, .sets = { .a = a } } };
	struct lines paths = { .tree = { .a = a, .sets = { .a = a } } };
	size_t number = 0, room = 1;
	struct str line;
	bool *is_negated;

	*out = (struct ignore_rules)IGNORE_NONE;
	if (text.len > IGNORE_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "an ignore file is larger than 1 MiB");
	if (str_has_prefix(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	for (size_t i = 0; i < text.len; i++)
		room += text.p[i] == '\n';
	names.nodes = arena_array(a, room, sizeof(*names.nodes), e);
	paths.nodes = arena_array(a, room, sizeof(*paths.nodes), e);
	is_negated = arena_array(a, room, sizeof(*is_negated), e);
	if (!names.nodes || !paths.nodes || !is_negated)
		return err_result(e);
	for (; str_next_line(&text, &line); number++) {
		struct regex_node *node;
		struct lines *to;
		struct line read;

		if (!read_line(line, &read))
			continue;
		to = read.has_slash ? &paths : &names;
		if (make_line(&to->tree, &read, number, &node, e) < 0)
			return err_result(e);
		is_negated[number] = read.is_negated;
		if (node)
			to->nodes[to->count++] = node;
	}
	out->is_negated = is_negated;
	if (compile(&names, watch, &out->names, e) == 0 &&
	    compile(&paths, watch, &out->paths, e) == 0)
		return 0;
	ignore_rules_done(out);
	return err_result(e);
}

void ignore_rules_done(struct ignore_rules *r)
{
	regex_matcher_free(r->names);
	regex_matcher_free(r->paths);
	r->names = r->paths = NULL;
}

int ignore_rules_ask(const struct ignore_rules *r, struct str path, bool is_directory,
		     enum ignore_answer *out, struct err *e)
{
	int more = is_directory ? '\0' : -1;
	int64_t name = -1, whole = -1;

	*out = IGNORE_SILENT;
	if (r->names && regex_which(r->names, path_name(path), more, &name, e) < 0)
		return err_result(e);
	if (r->paths && regex_which(r->paths, path, more, &whole, e) < 0)
		return err_result(e);
	whole = MAX_OF(whole, name);
	if (whole >= 0)
		*out = r->is_negated[whole] ? IGNORE_NO : IGNORE_YES;
	return 0;
}
