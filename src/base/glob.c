/* SPDX-License-Identifier: MIT */
/*
 * Globs: the functions of glob.h, and the short ways for the patterns that
 * people write.
 *
 * Almost every pattern is, after its few alternatives are written out, of the
 * form head / ** / tail / ** with any part left out. Such a shape is compared
 * component by component. What has another form goes to the automaton of
 * glob_nfa.c, which can do all; tests/property/oracle_glob.c holds both against
 * a plain matcher.
 */
#include "base/glob.h"

#include "base/fold.h"
#include "base/glob_internal.h"

enum {
	MAX_SHAPES = 16,
	MAX_CHOICES = 16,	 /* groups of braces that one way comes through */
	MAX_SHAPE_TOKENS = 1024, /* of all shapes of a pattern */
};

enum part_kind {
	PART_LITERAL,
	PART_PREFIX, /* text* */
	PART_SUFFIX, /* *text */
	PART_TOKENS,
};

/* One component of a pattern. */
struct part {
	enum part_kind kind;
	struct str text; /* unless PART_TOKENS */
	const struct glob_token *tokens;
	size_t token_count;
};

struct shape {
	const struct part *head, *tail;
	size_t head_count, tail_count;
	bool floats;  /* any number of components between head and tail */
	bool below;   /* and what is below a match matches too; tail_count > 0 */
	bool is_name; /* only the name counts: a "**", then one component */
};

struct glob {
	const struct glob_nfa *nfa;
	const struct glob_class *classes;
	const struct shape *shapes;
	size_t shape_count; /* 0: only the automaton will do */
	bool has_empty;
	bool folds; /* paths are folded first (fold.h); the pattern is already */
};

/* Parsing */

/* The walk through all ways to choose alternatives; the last choice varies fastest. */
struct expand {
	const struct glob_token *in;
	struct glob_token *out; /* or NULL: only counts */
	size_t used;
	size_t chosen[MAX_CHOICES]; /* of each group that the way comes through */
	size_t offered[MAX_CHOICES];
	size_t choices;
};

/* The start of the alternative to take in the group at `at`; 0 when there is too much to choose. */
static size_t choose(struct expand *x, size_t at, size_t nth)
{
	if (nth == MAX_CHOICES)
		return 0;
	if (nth == x->choices) {
		x->chosen[nth] = 0;
		x->offered[nth] = 1;
		for (size_t i = x->in[at].link; x->in[i].type == GLOB_COMMA; i = x->in[i].link)
			x->offered[nth]++;
		x->choices++;
	}
	for (size_t i = x->chosen[nth]; i > 0; i--)
		at = x->in[at].link;
	return at + 1;
}

/* Writes the tokens of one way, without braces; false when there is no room. */
static bool expand_one(struct expand *x)
{
	size_t nth = 0;

	for (size_t at = 0; x->in[at].type != GLOB_END;) {
		switch ((enum glob_token_type)x->in[at].type) {
		case GLOB_OPEN:
			at = choose(x, at, nth++);
			if (at == 0)
				return false;
			break;
		case GLOB_COMMA: /* the end of the alternative taken */
			at = x->in[at].link;
			break;
		case GLOB_CLOSE:
			at++;
			break;
		case GLOB_BYTE:
		case GLOB_ANY:
		case GLOB_CLASS:
		case GLOB_STAR:
		case GLOB_SLASH:
		case GLOB_END:
		default:
			if (x->used == MAX_SHAPE_TOKENS)
				return false;
			if (x->out)
				x->out[x->used] = x->in[at];
			x->used++;
			at++;
			break;
		}
	}
	return true;
}

/* Goes on to the next way; false after the last one. */
static bool expand_next(struct expand *x)
{
	while (x->choices > 0) {
		if (++x->chosen[x->choices - 1] < x->offered[x->choices - 1])
			return true;
		x->choices--;
	}
	return false;
}

static bool is_globstar(const struct glob_token *t, size_t count)
{
	return count == 2 && t[0].type == GLOB_STAR && t[1].type == GLOB_STAR;
}

/* The tokens as text when all of them are bytes. */
static int tokens_text(struct arena *a, const struct glob_token *t, size_t count, struct str *out,
		       struct err *e)
{
	char *text = arena_alloc(a, count + 1, e);

	if (!text)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		text[i] = (char)t[i].byte;
	*out = (struct str){ text, count };
	return 0;
}

static int part_init(struct arena *a, const struct glob_token *t, size_t count, struct part *out,
		     struct err *e)
{
	size_t others = 0;

	for (size_t i = 0; i < count; i++)
		others += t[i].type != GLOB_BYTE;
	out->kind = PART_TOKENS;
	out->tokens = t;
	out->token_count = count;
	if (others == 0) {
		out->kind = PART_LITERAL;
		return tokens_text(a, t, count, &out->text, e);
	}
	if (others == 1 && t[0].type == GLOB_STAR) {
		out->kind = PART_SUFFIX;
		return tokens_text(a, t + 1, count - 1, &out->text, e);
	}
	if (others == 1 && t[count - 1].type == GLOB_STAR) {
		out->kind = PART_PREFIX;
		return tokens_text(a, t, count - 1, &out->text, e);
	}
	return 0;
}

/* The components of one way. Its shape is out->head_count > 0 or floats; false: it has none. */
static int shape_init(struct arena *a, const struct glob_token *t, size_t count, struct shape *out,
		      bool *fits, struct err *e)
{
	struct part *parts;
	size_t slashes = 0, used = 0, end;
	struct shape s = { 0 };

	for (size_t i = 0; i < count; i++)
		slashes += t[i].type == GLOB_SLASH;
	parts = arena_array(a, slashes + 1, sizeof(*parts), e);
	if (!parts)
		return err_result(e);
	*fits = true;
	for (size_t at = 0; at < count; at = end + 1) {
		for (end = at; end < count && t[end].type != GLOB_SLASH; end++)
			;
		if (is_globstar(t + at, end - at)) {
			s.below = s.floats && used > s.head_count;
			if (!s.floats)
				s.head_count = used;
			s.floats = true;
			continue;
		}
		if (s.below) { /* a third run of fixed components */
			*fits = false;
			return 0;
		}
		if (part_init(a, t + at, end - at, &parts[used++], e) < 0)
			return err_result(e);
	}
	if (!s.floats)
		s.head_count = used;
	s.head = parts;
	s.tail = parts + s.head_count;
	s.tail_count = used - s.head_count;
	s.is_name = s.head_count == 0 && s.floats && s.tail_count == 1 && !s.below;
	*out = s;
	return 0;
}

/* How many ways and tokens there are; false when they are too many. */
static bool count_ways(const struct glob_tokens *t, size_t *ways, size_t *tokens)
{
	struct expand x = { .in = t->list };

	*ways = 0;
	do {
		if ((*ways)++ == MAX_SHAPES || !expand_one(&x))
			return false;
	} while (expand_next(&x));
	*tokens = x.used;
	return true;
}

/* The shapes of all ways; none when they are too many or one does not fit. */
static int find_shapes(struct arena *a, const struct glob_tokens *t, struct glob *g, struct err *e)
{
	struct expand x = { .in = t->list };
	struct shape *shapes;
	size_t count = 0, ways, tokens;

	if (!count_ways(t, &ways, &tokens))
		return 0;
	shapes = arena_array(a, ways, sizeof(*shapes), e);
	if (!shapes)
		return err_result(e);
	x.out = arena_array(a, tokens, sizeof(*x.out), e);
	if (!x.out)
		return err_result(e);
	do {
		size_t begin = x.used;
		bool fits = false;

		if (!expand_one(&x))
			return 0;
		if (shape_init(a, x.out + begin, x.used - begin, &shapes[count], &fits, e) < 0)
			return err_result(e);
		if (!fits)
			return 0;
		/* The way that is empty matches the empty path only: has_empty knows. */
		count += x.used > begin;
	} while (expand_next(&x));
	g->shapes = shapes;
	g->shape_count = count;
	return 0;
}

/* Folded text has no capitals of ASCII. */
static void fold_classes(struct glob_tokens *tokens)
{
	for (size_t i = 0; i < tokens->class_count; i++)
		for (unsigned char c = 'A'; c <= 'Z'; c++)
			if (glob_class_has(&tokens->classes[i], c))
				tokens->classes[i].words[(c | 0x20) >> 6] |= UINT64_C(1)
									     << ((c | 0x20) & 63);
}

static const struct glob *parse(struct arena *a, struct str pattern, bool folds, struct err *e)
{
	struct glob *g = ARENA_NEW(a, struct glob, e);
	struct glob_tokens tokens;

	if (!g || glob_tokenize(a, pattern, &tokens, e) < 0)
		return NULL;
	if (folds)
		fold_classes(&tokens);
	g->folds = folds;
	g->classes = tokens.classes;
	g->nfa = glob_nfa_new(a, &tokens, e);
	if (!g->nfa)
		return NULL;
	g->has_empty = glob_nfa_has_empty(g->nfa);
	if (find_shapes(a, &tokens, g, e) < 0)
		return NULL;
	return g;
}

const struct glob *glob_parse(struct arena *a, struct str pattern, struct err *e)
{
	return parse(a, pattern, false, e);
}

const struct glob *glob_parse_folded(struct arena *a, struct str pattern, struct err *e)
{
	struct str folded;

	return fold_copy(a, pattern, &folded, e) < 0 ? NULL : parse(a, folded, true, e);
}

/* Matching */

static bool token_has(const struct glob *g, const struct glob_token *t, char c)
{
	if (t->type == GLOB_BYTE)
		return t->byte == (unsigned char)c;
	return t->type == GLOB_ANY ||
	       (t->type == GLOB_CLASS && glob_class_has(&g->classes[t->link], (unsigned char)c));
}

/*
 * One component with stars in the middle. Only the last star seen needs another
 * try, with one byte more: what an earlier one could take, it can take as well.
 */
static bool tokens_match(const struct glob *g, const struct part *part, struct str name)
{
	size_t at = 0, token = 0;
	size_t star = SIZE_MAX, star_at = 0;

	/* Most names differ at once. */
	if (name.len && part->tokens[0].type == GLOB_BYTE &&
	    part->tokens[0].byte != (unsigned char)name.p[0])
		return false;
	while (at < name.len) {
		if (token < part->token_count && part->tokens[token].type == GLOB_STAR) {
			star = token++;
			star_at = at;
		} else if (token < part->token_count &&
			   token_has(g, &part->tokens[token], name.p[at])) {
			token++;
			at++;
		} else if (star != SIZE_MAX) {
			token = star + 1;
			at = ++star_at;
		} else {
			return false;
		}
	}
	while (token < part->token_count && part->tokens[token].type == GLOB_STAR)
		token++;
	return token == part->token_count;
}

static inline bool part_match(const struct glob *g, const struct part *part, struct str name)
{
	switch (part->kind) {
	case PART_LITERAL:
		return str_eq(name, part->text);
	case PART_PREFIX:
		return str_has_prefix(name, part->text);
	case PART_SUFFIX:
		return str_has_suffix(name, part->text);
	case PART_TOKENS:
	default:
		return tokens_match(g, part, name);
	}
}

/* The component that starts at `at`. */
static inline struct str component(struct str path, size_t at)
{
	size_t end = at;

	/* Components are short: a loop is faster than memchr(). */
	while (end < path.len && path.p[end] != '/')
		end++;
	return (struct str){ path.p + at, end - at };
}

/* Past the path: no component follows. */
#define NO_MORE SIZE_MAX

/* Where the component behind `name`, which starts at `at`, starts. */
static inline size_t next_component(struct str path, size_t at, struct str name)
{
	at += name.len;
	return at == path.len ? NO_MORE : at + 1;
}

/*
 * Whether the components from `*at` on match `parts`. Moves `*at` to the start
 * of the component behind them, or to NO_MORE.
 */
static bool parts_match(const struct glob *g, const struct part *parts, size_t count,
			struct str path, size_t *at)
{
	size_t here = *at;

	for (size_t i = 0; i < count; i++) {
		struct str name;

		if (here == NO_MORE)
			return false;
		name = component(path, here);
		if (!part_match(g, &parts[i], name))
			return false;
		here = next_component(path, here, name);
	}
	*at = here;
	return true;
}

/*
 * The next place from `*at` on, counted in `*depth`, where the tail (not empty)
 * matches: moves both to the component behind the one that it starts with, and
 * `*behind` to the one behind all of it. False when there is none.
 */
static bool find_tail(const struct glob *g, const struct shape *s, struct str path, size_t *at,
		      int *depth, size_t *behind)
{
	while (*at != NO_MORE) {
		struct str name = component(path, *at);

		*at = next_component(path, *at, name);
		++*depth;
		if (!part_match(g, &s->tail[0], name))
			continue;
		*behind = *at;
		if (parts_match(g, s->tail + 1, s->tail_count - 1, path, behind))
			return true;
	}
	return false;
}

static int count_components(struct str path, size_t at)
{
	int count = 1;

	if (at == NO_MORE)
		return 0;
	for (; at < path.len; at++)
		count += path.p[at] == '/';
	return count;
}

/* The number of components up to the last that `part` matches; -1: none. */
static int name_deepest(const struct glob *g, const struct part *part, struct str path)
{
	int deepest = -1;
	size_t at = 0;

	for (int depth = 1; at != NO_MORE; depth++) {
		struct str name = component(path, at);

		if (part_match(g, part, name))
			deepest = depth;
		at = next_component(path, at, name);
	}
	return deepest;
}

/* For a path that is not empty. */
static int shape_deepest(const struct glob *g, const struct shape *s, struct str path)
{
	int depth = (int)s->head_count;
	int deepest = -1;
	size_t at = 0, behind;

	if (s->is_name)
		return name_deepest(g, s->tail, path);
	if (!parts_match(g, s->head, s->head_count, path, &at))
		return -1;
	if (!s->floats)
		return depth;
	if (s->tail_count == 0)
		return depth + count_components(path, at);
	while (find_tail(g, s, path, &at, &depth, &behind)) {
		deepest = depth + (int)s->tail_count - 1;
		if (s->below)
			return deepest + count_components(path, behind);
	}
	return deepest;
}

/* Where the last `count` components start; NO_MORE when fewer come from `from` on. */
static size_t last_components(struct str path, size_t from, size_t count)
{
	size_t at = path.len + 1;

	for (; count > 0; count--) {
		if (from == NO_MORE || at <= from)
			return NO_MORE;
		for (at--; at > from && path.p[at - 1] != '/'; at--)
			;
	}
	return at;
}

static bool shape_match(const struct glob *g, const struct shape *s, struct str path)
{
	size_t at = 0, behind;
	int depth = 0;

	if (!parts_match(g, s->head, s->head_count, path, &at))
		return false;
	if (!s->floats)
		return at == NO_MORE;
	if (s->tail_count == 0)
		return true;
	if (s->below)
		return find_tail(g, s, path, &at, &depth, &behind);
	at = last_components(path, at, s->tail_count);
	return parts_match(g, s->tail, s->tail_count, path, &at);
}

static bool shape_may_match_below(const struct glob *g, const struct shape *s, struct str path)
{
	size_t at = path.len ? 0 : NO_MORE;

	for (size_t i = 0; i < s->head_count; i++) {
		if (at == NO_MORE)
			return true;
		if (!parts_match(g, &s->head[i], 1, path, &at))
			return false;
	}
	return s->floats;
}

static bool match(const struct glob *g, struct str path)
{
	struct str name;

	if (path.len == 0)
		return g->has_empty;
	if (g->shape_count == 0)
		return glob_nfa_match(g->nfa, path);
	name = str_from(path, last_components(path, 0, 1));
	for (size_t i = 0; i < g->shape_count; i++) {
		const struct shape *s = &g->shapes[i];

		/* What most globs are, tried on every name of a tree. */
		if (s->is_name ? part_match(g, s->tail, name) : shape_match(g, s, path))
			return true;
	}
	return false;
}

static int match_deepest(const struct glob *g, struct str path)
{
	int deepest = g->has_empty ? 0 : -1;

	if (path.len == 0)
		return deepest;
	if (g->shape_count == 0)
		return glob_nfa_match_deepest(g->nfa, path);
	for (size_t i = 0; i < g->shape_count; i++) {
		int depth = shape_deepest(g, &g->shapes[i], path);

		deepest = MAX_OF(deepest, depth);
	}
	return deepest;
}

static bool may_match_below(const struct glob *g, struct str path)
{
	if (g->shape_count == 0)
		return glob_nfa_may_match_below(g->nfa, path);
	for (size_t i = 0; i < g->shape_count; i++)
		if (shape_may_match_below(g, &g->shapes[i], path))
			return true;
	return false;
}

bool glob_match(const struct glob *g, struct str path)
{
	UNINITIALIZED char room[FOLD_ROOM];

	return match(g, g->folds ? fold_in(path, room) : path);
}

int glob_match_deepest(const struct glob *g, struct str path)
{
	UNINITIALIZED char room[FOLD_ROOM];

	return match_deepest(g, g->folds ? fold_in(path, room) : path);
}

bool glob_may_match_below(const struct glob *g, struct str path)
{
	UNINITIALIZED char room[FOLD_ROOM];

	return may_match_below(g, g->folds ? fold_in(path, room) : path);
}

/* `floats`: they are tried from each component on, and there may be one for each byte. */
static void add_parts_cost(struct glob_cost *cost, const struct part *parts, size_t count,
			   bool floats)
{
	for (size_t i = 0; i < count; i++) {
		const struct part *part = &parts[i];
		uint64_t tokens = part->kind == PART_TOKENS ? part->token_count : 1;

		/* After a star, each byte may be tried as the start of the rest. */
		if (floats || part->kind == PART_TOKENS)
			cost->byte += tokens;
		else
			cost->each += tokens;
	}
}

struct glob_cost glob_get_cost(const struct glob *g)
{
	enum { TRY = 40, STEP_OF_STATE = 5 };
	struct glob_cost cost = { .each = TRY, .byte = 1 }; /* to find where the name starts */

	if (g->shape_count == 0)
		cost.byte += STEP_OF_STATE * glob_nfa_count(g->nfa);
	for (size_t i = 0; i < g->shape_count; i++) {
		const struct shape *s = &g->shapes[i];

		cost.each += 4;
		add_parts_cost(&cost, s->head, s->head_count, false);
		add_parts_cost(&cost, s->tail, s->tail_count, s->floats && !s->is_name);
	}
	return cost;
}

const struct glob_nfa *glob_get_nfa(const struct glob *g)
{
	return g->nfa;
}

bool glob_is_simple(const struct glob *g)
{
	return g->shape_count > 0;
}

/* A table: each byte of every path of a policy is asked about. */
static bool is_special(char c)
{
	static const bool table[256] = {
		['*'] = true, ['?'] = true, ['['] = true, ['{'] = true, ['\\'] = true
	};

	return table[(unsigned char)c];
}

bool glob_is_special(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (is_special(text.p[i]))
			return true;
	return false;
}

size_t glob_literal_prefix(struct str pattern)
{
	size_t slash = 0;

	for (size_t i = 0; i < pattern.len; i++) {
		if (is_special(pattern.p[i]))
			return slash;
		if (pattern.p[i] == '/')
			slash = i + 1;
	}
	return pattern.len;
}
