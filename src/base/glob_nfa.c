/* SPDX-License-Identifier: MIT */
/*
 * The automaton that matches any glob in time bounded by pattern times path,
 * without allocating.
 *
 * A state is a token together with what the pattern component that it stands in
 * looks like so far: the two stars that make a "**" may come out of different
 * alternatives ("{*,x}*"), so whether a star is half of a "**" depends on the
 * way that led to it. A pattern without braces has one state for each token.
 *
 * States are numbered in the order of the tokens, and steps that read nothing
 * only lead forward: one ascending pass over the set of states follows them all.
 */
#include "base/glob.h"
#include "base/glob_internal.h"

/* What the pattern component holds before a token. */
enum before {
	BEFORE_START, /* nothing, and no slash before it either */
	BEFORE_SLASH, /* nothing, a slash before it */
	BEFORE_STAR,  /* one star */
	BEFORE_TWO,   /* two stars: "**" if a slash or the end comes now */
	BEFORE_OTHER,
	BEFORE_COUNT,
};

enum op {
	OP_BYTE,
	OP_ANY,
	OP_CLASS,
	OP_STAR, /* stays on any byte but '/'; goes on without reading */
	OP_SLASH,
	OP_GLOBSTAR, /* the slash after "**": stays on any byte, goes on after a '/' */
	OP_FORK,     /* goes on to `edge_count` alternatives without reading */
	OP_END,
	OP_REST, /* the end after "**": takes all that is left */
};

enum {
	MAX_STATES = 5120, /* one for each byte of the longest pattern, and some for braces */
	MAX_WORDS = MAX_STATES / 64,
};

struct state {
	uint8_t op; /* enum op */
	uint8_t byte;
	uint16_t class;
	uint16_t next;	     /* the state after this token */
	uint16_t edge_count; /* of OP_FORK */
	uint32_t edge_first;
};

struct glob_nfa {
	const struct state *states;
	const uint16_t *edges;
	const struct glob_class *classes;
	/* Sets of states: */
	const uint64_t *silent; /* they may go on without reading */
	const uint64_t *reads;	/* they go on after some byte */
	const uint64_t *stays;	/* they remain after any byte but '/' */
	const uint64_t *holds;	/* they remain after a '/' too */
	const uint64_t *final;	/* a path may end in them */
	size_t count;		/* of states */
	size_t words;
	bool has_empty;
};

static void bit_set(uint64_t *set, size_t i)
{
	set[i >> 6] |= (uint64_t)1 << (i & 63);
}

/* Building */

struct build {
	const struct glob_tokens *tokens;
	uint8_t *seen;	 /* for each token, the set of enum before with which it is reached */
	uint16_t *first; /* for each token, its first state */
	struct state *states;
	uint16_t *edges;
	size_t edge_count;
	uint64_t *silent, *reads, *stays, *holds, *final;
	bool *idle; /* for each state: what comes from here on may match no component at all */
};

static enum before before_next(const struct glob_token *token, enum before before)
{
	switch ((enum glob_token_type)token->type) {
	case GLOB_SLASH:
		return BEFORE_SLASH;
	case GLOB_STAR:
		if (before == BEFORE_START || before == BEFORE_SLASH)
			return BEFORE_STAR;
		return before == BEFORE_STAR ? BEFORE_TWO : BEFORE_OTHER;
	case GLOB_BYTE:
	case GLOB_ANY:
	case GLOB_CLASS:
		return BEFORE_OTHER;
	case GLOB_OPEN:
	case GLOB_COMMA:
	case GLOB_CLOSE:
	case GLOB_END:
	default:
		return before;
	}
}

/* Where the end of the alternative that the comma at `at` closes leads to. */
static size_t group_end(const struct glob_tokens *t, size_t at)
{
	while (t->list[at].type != GLOB_CLOSE)
		at = t->list[at].link;
	return at;
}

/* The commas point at the close itself from here on: walking the chain would be quadratic. */
static void find_ways(struct build *b, uint16_t *close)
{
	const struct glob_tokens *t = b->tokens;

	for (size_t at = 0; at < t->count; at++) {
		size_t end;

		if (t->list[at].type != GLOB_OPEN)
			continue;
		end = group_end(t, at);
		for (size_t i = at; i != end; i = t->list[i].link)
			close[i] = (uint16_t)end;
	}
	b->seen[0] = 1 << BEFORE_START;
	for (size_t at = 0; at + 1 < t->count; at++) {
		const struct glob_token *token = &t->list[at];

		if (token->type == GLOB_COMMA) {
			b->seen[close[at]] |= b->seen[at];
			continue;
		}
		for (enum before before = BEFORE_START; before < BEFORE_COUNT; before++)
			if (b->seen[at] >> before & 1)
				b->seen[at + 1] |= (uint8_t)(1U << before_next(token, before));
		if (token->type != GLOB_OPEN)
			continue;
		for (size_t i = token->link; t->list[i].type == GLOB_COMMA; i = t->list[i].link)
			b->seen[i + 1] |= b->seen[at];
	}
}

static int check_components(const struct build *b, struct err *e)
{
	const struct glob_tokens *t = b->tokens;

	for (size_t at = 0; at < t->count; at++) {
		bool bad = false;

		if (t->list[at].type == GLOB_SLASH)
			bad = b->seen[at] & (1 << BEFORE_START | 1 << BEFORE_SLASH);
		else if (t->list[at].type == GLOB_END)
			bad = b->seen[at] & 1 << BEFORE_SLASH;
		if (bad)
			return FAIL_CAUSE(
				e, CAUSE_GLOB_SYNTAX,
				"the pattern has an empty component: a '/' at its start or end, "
				"or two in a row, perhaps by an empty alternative");
	}
	return 0;
}

static uint16_t state_of(const struct build *b, size_t at, enum before before)
{
	unsigned lower = b->seen[at] & ((1U << before) - 1U);

	return (uint16_t)(b->first[at] + (unsigned)__builtin_popcount(lower));
}

static void add_edges(struct build *b, struct state *s, size_t at, enum before before)
{
	const struct glob_tokens *t = b->tokens;

	s->op = OP_FORK;
	s->edge_first = (uint32_t)b->edge_count;
	b->edges[b->edge_count++] = state_of(b, at + 1, before);
	if (t->list[at].type == GLOB_OPEN)
		for (size_t i = t->list[at].link; t->list[i].type == GLOB_COMMA;
		     i = t->list[i].link)
			b->edges[b->edge_count++] = state_of(b, i + 1, before);
	s->edge_count = (uint16_t)(b->edge_count - s->edge_first);
}

static void fill_state(struct build *b, size_t at, enum before before, const uint16_t *close)
{
	const struct glob_token *token = &b->tokens->list[at];
	uint16_t number = state_of(b, at, before);
	struct state *s = &b->states[number];

	s->byte = token->byte;
	switch ((enum glob_token_type)token->type) {
	case GLOB_BYTE:
		s->op = OP_BYTE;
		break;
	case GLOB_ANY:
		s->op = OP_ANY;
		break;
	case GLOB_CLASS:
		s->op = OP_CLASS;
		s->class = token->link;
		break;
	case GLOB_STAR:
		s->op = OP_STAR;
		break;
	case GLOB_SLASH:
		s->op = before == BEFORE_TWO ? OP_GLOBSTAR : OP_SLASH;
		break;
	case GLOB_COMMA: /* only ends an alternative: its states lead behind the group */
		s->op = OP_FORK;
		s->edge_first = (uint32_t)b->edge_count;
		s->edge_count = 1;
		b->edges[b->edge_count++] = state_of(b, close[at], before);
		return;
	case GLOB_OPEN:
	case GLOB_CLOSE:
		add_edges(b, s, at, before);
		return;
	case GLOB_END:
	default:
		/* The empty pattern is a dead end: it matches the empty path only, see has_empty. */
		if (before == BEFORE_START)
			s->op = OP_FORK;
		else
			s->op = before == BEFORE_TWO ? OP_REST : OP_END;
		return;
	}
	s->next = state_of(b, at + 1, before_next(token, before));
}

static void mark_state(struct build *b, size_t i)
{
	const struct state *s = &b->states[i];

	switch ((enum op)s->op) {
	case OP_STAR:
		b->idle[i] = b->idle[s->next];
		bit_set(b->silent, i);
		bit_set(b->stays, i);
		break;
	case OP_FORK:
		for (size_t k = 0; k < s->edge_count; k++)
			b->idle[i] |= b->idle[b->edges[s->edge_first + k]];
		bit_set(b->silent, i);
		break;
	case OP_GLOBSTAR:
		b->idle[i] = b->idle[s->next];
		bit_set(b->silent, i);
		bit_set(b->reads, i);
		bit_set(b->stays, i);
		bit_set(b->holds, i);
		if (b->idle[s->next])
			bit_set(b->final, i);
		break;
	case OP_SLASH: /* "a" matches "a/" followed by what may be no component */
		bit_set(b->reads, i);
		if (b->idle[s->next])
			bit_set(b->final, i);
		break;
	case OP_REST:
		b->idle[i] = true;
		bit_set(b->stays, i);
		bit_set(b->holds, i);
		bit_set(b->final, i);
		break;
	case OP_END:
		bit_set(b->final, i);
		break;
	case OP_BYTE:
	case OP_ANY:
	case OP_CLASS:
	default:
		bit_set(b->reads, i);
		break;
	}
}

/* Numbers the states; 0 when they are too many. */
static size_t number_states(struct build *b, size_t *edges)
{
	const struct glob_tokens *t = b->tokens;
	size_t count = 0;

	*edges = 0;
	for (size_t at = 0; at < t->count; at++) {
		size_t here = (size_t)__builtin_popcount(b->seen[at]);
		uint8_t type = t->list[at].type;

		b->first[at] = (uint16_t)count;
		count += here;
		if (count > MAX_STATES)
			return 0;
		/* A comma's own edges, and those that lead over it from the opening brace. */
		if (type == GLOB_OPEN || type == GLOB_CLOSE)
			*edges += here;
		else if (type == GLOB_COMMA)
			*edges += here + BEFORE_COUNT;
	}
	return count;
}

const struct glob_nfa *glob_nfa_new(struct arena *a, const struct glob_tokens *t, struct err *e)
{
	struct glob_nfa *n = ARENA_NEW(a, struct glob_nfa, e);
	uint16_t *close = arena_array(a, t->count * 2, sizeof(*close), e);
	struct build b = { .tokens = t, .seen = arena_alloc(a, t->count, e) };
	size_t count, edges;

	if (!n || !close || !b.seen)
		return NULL;
	b.first = close + t->count;
	find_ways(&b, close);
	if (check_components(&b, e) < 0)
		return NULL;
	count = number_states(&b, &edges);
	if (count == 0) {
		(void)FAIL_CAUSE(e, CAUSE_GLOB_LIMIT, "the pattern has too many alternatives");
		return NULL;
	}
	n->count = count;
	n->words = (count + 63) / 64;
	b.states = arena_array(a, count, sizeof(*b.states), e);
	b.edges = arena_array(a, edges, sizeof(*b.edges), e);
	b.idle = arena_array(a, count, sizeof(*b.idle), e);
	b.silent = arena_array(a, 5 * n->words, sizeof(*b.silent), e);
	if (!b.states || !b.edges || !b.idle || !b.silent)
		return NULL;
	b.reads = b.silent + n->words;
	b.stays = b.reads + n->words;
	b.holds = b.stays + n->words;
	b.final = b.holds + n->words;
	for (size_t at = 0; at < t->count; at++)
		for (enum before before = BEFORE_START; before < BEFORE_COUNT; before++)
			if (b.seen[at] >> before & 1)
				fill_state(&b, at, before, close);
	/* Backwards, so that what a state leads to is known before the state. */
	for (size_t i = count; i-- > 0;)
		mark_state(&b, i);

	n->states = b.states;
	n->edges = b.edges;
	n->classes = t->classes;
	n->silent = b.silent;
	n->reads = b.reads;
	n->stays = b.stays;
	n->holds = b.holds;
	n->final = b.final;
	/* The last token with nothing before it: all of the pattern may be empty. */
	n->has_empty = b.idle[0] || (b.seen[t->count - 1] & 1 << BEFORE_START);
	return n;
}

/* Running */

/* Follows the steps that read nothing. `fresh`: a component of the path starts here. */
static void follow(const struct glob_nfa *n, uint64_t *set, bool fresh)
{
	for (size_t w = 0; w < n->words; w++) {
		uint64_t done = 0, todo;

		while ((todo = set[w] & n->silent[w] & ~done)) {
			size_t bit = (size_t)__builtin_ctzll(todo);
			const struct state *s = &n->states[w * 64 + bit];

			done |= (uint64_t)1 << bit;
			if (s->op == OP_STAR || (s->op == OP_GLOBSTAR && fresh))
				bit_set(set, s->next);
			else if (s->op == OP_FORK)
				for (size_t k = 0; k < s->edge_count; k++)
					bit_set(set, n->edges[s->edge_first + k]);
		}
	}
}

static bool state_reads(const struct glob_nfa *n, const struct state *s, unsigned char c)
{
	switch ((enum op)s->op) {
	case OP_BYTE:
		return c == s->byte;
	case OP_ANY:
		return c != '/';
	case OP_CLASS:
		return glob_class_has(&n->classes[s->class], c);
	case OP_SLASH:
	case OP_GLOBSTAR:
		return c == '/';
	case OP_STAR:
	case OP_REST:
	case OP_FORK:
	case OP_END:
	default:
		return false;
	}
}

/* The states after reading `c`, with all that follows silently; false when there are none. */
static bool read_byte(const struct glob_nfa *n, const uint64_t *from, unsigned char c, uint64_t *to)
{
	const uint64_t *remain = c == '/' ? n->holds : n->stays;
	uint64_t any = 0;

	for (size_t w = 0; w < n->words; w++)
		to[w] = from[w] & remain[w];
	for (size_t w = 0; w < n->words; w++)
		for (uint64_t left = from[w] & n->reads[w]; left; left &= left - 1) {
			const struct state *s = &n->states[w * 64 + (size_t)__builtin_ctzll(left)];

			if (state_reads(n, s, c))
				bit_set(to, s->next);
		}
	follow(n, to, c == '/');
	for (size_t w = 0; w < n->words; w++)
		any |= to[w];
	return any != 0;
}

static bool is_final(const struct glob_nfa *n, const uint64_t *set)
{
	uint64_t any = 0;

	for (size_t w = 0; w < n->words; w++)
		any |= set[w] & n->final[w];
	return any != 0;
}

static void start(const struct glob_nfa *n, uint64_t *set)
{
	memset(set, 0, n->words * sizeof(*set));
	bit_set(set, 0);
	follow(n, set, true);
}

size_t glob_nfa_count(const struct glob_nfa *n)
{
	return n->count;
}

bool glob_nfa_has_empty(const struct glob_nfa *n)
{
	return n->has_empty;
}

bool glob_nfa_match(const struct glob_nfa *n, struct str path)
{
	uint64_t sets[2][MAX_WORDS];

	if (path.len == 0)
		return n->has_empty;
	start(n, sets[0]);
	for (size_t i = 0; i < path.len; i++)
		if (!read_byte(n, sets[i & 1], (unsigned char)path.p[i], sets[~i & 1]))
			return false;
	return is_final(n, sets[path.len & 1]);
}

int glob_nfa_match_deepest(const struct glob_nfa *n, struct str path)
{
	uint64_t sets[2][MAX_WORDS];
	int deepest = n->has_empty ? 0 : -1;
	int depth = 1;

	if (path.len == 0)
		return deepest;
	start(n, sets[0]);
	for (size_t i = 0;; i++) {
		if (i == path.len || path.p[i] == '/') {
			if (is_final(n, sets[i & 1]))
				deepest = depth;
			depth++;
		}
		if (i == path.len ||
		    !read_byte(n, sets[i & 1], (unsigned char)path.p[i], sets[~i & 1]))
			return deepest;
	}
}

bool glob_nfa_may_match_below(const struct glob_nfa *n, struct str path)
{
	uint64_t sets[2][MAX_WORDS];
	size_t now = path.len & 1;

	start(n, sets[0]);
	for (size_t i = 0; i < path.len; i++)
		if (!read_byte(n, sets[i & 1], (unsigned char)path.p[i], sets[~i & 1]))
			return false;
	if (path.len > 0) {
		if (!read_byte(n, sets[now], '/', sets[!now]))
			return false;
		now = !now;
	}
	/* A state that only ends, or only leads on, reads no name. */
	for (size_t w = 0; w < n->words; w++)
		if (sets[now][w] & (n->reads[w] | n->stays[w]))
			return true;
	return false;
}
