/* SPDX-License-Identifier: MIT */
/* Searching: runs the automata over texts. See regex.h. */
#include "base/regex.h"

#include "base/regex_dfa.h"
#include "base/utf8.h"

enum { ASK_WORK = 1 << 20 };

struct regex_matcher {
	const struct regex *re;
	struct regex_watch watch;
	struct regex_dfa forward, backward;
	bool has_backward;
	uint64_t scanned, asked; /* work done, in steps or bytes, and when the watch was asked */
};

struct regex_matcher *regex_matcher_new(const struct regex *re, const struct regex_watch *watch,
					struct err *e)
{
	struct regex_matcher *m = mem_new(sizeof(*m), e);

	if (!m)
		return NULL;
	m->re = re;
	if (watch)
		m->watch = *watch;
	if (regex_dfa_init(&m->forward, re, &re->forward, e) == 0)
		return m;
	regex_matcher_free(m);
	return NULL;
}

void regex_matcher_free(struct regex_matcher *m)
{
	if (!m)
		return;
	regex_dfa_done(&m->forward);
	regex_dfa_done(&m->backward);
	mem_free(m);
}

/* Asks the watch when enough was done since. */
static int ask(struct regex_matcher *m, struct err *e)
{
	uint64_t spent = m->scanned + m->forward.spent + m->backward.spent;

	if (!m->watch.ask || spent - m->asked < ASK_WORK)
		return 0;
	m->asked = spent;
	return m->watch.ask(m->watch.user, e);
}

/* ---- Characters ---- */

static uint32_t class_of(const struct regex_classes *c, uint32_t character)
{
	uint32_t page = c->pages[character >> 7];

	if (!(page & REGEX_ARG_BITS))
		return page;
	return c->page_classes[(page & ~REGEX_ARG_BITS) + (character & 127)];
}

/* The class of the character at `*at`, over which it steps. */
static inline uint32_t next_class(const struct regex_classes *c, struct str text, size_t *at)
{
	uint32_t class = c->of_byte[(unsigned char)text.p[*at]];
	uint32_t character;

	if (class != REGEX_NO_CLASS) {
		++*at;
		return class;
	}
	if (utf8_next(text, at, &character))
		return class_of(c, character);
	++*at;
	return c->invalid;
}

/* The class of the character before `*at`, back over which it steps. */
static uint32_t previous_class(const struct regex_classes *c, struct str text, size_t *at)
{
	uint32_t class = c->of_byte[(unsigned char)text.p[*at - 1]];
	size_t from = *at;

	if (class != REGEX_NO_CLASS) {
		--*at;
		return class;
	}
	for (size_t n = 2; n <= 4 && n <= from; n++) {
		size_t end = from - n;
		uint32_t character;

		if (((unsigned char)text.p[end] & 0xc0) == 0x80)
			continue;
		if (!utf8_next(str_first(text, from), &end, &character) || end != from)
			break;
		*at = from - n;
		return class_of(c, character);
	}
	--*at;
	return c->invalid;
}

static unsigned sides_before(const struct regex_classes *c, struct str text, size_t at)
{
	return at == 0 ? REGEX_SIDE_EDGE : c->sides[previous_class(c, text, &at)];
}

static uint32_t class_behind(const struct regex_classes *c, struct str text, size_t at)
{
	return at == text.len ? c->count : next_class(c, text, &at);
}

/* ---- Runs ---- */

struct run {
	bool is_found;
	size_t at; /* where the last match ends */
};

/*
 * Goes through states that are known, until something special comes up: the transition that is
 * so, or UINT32_MAX at `until` (or some way before it, so that the watch is asked).
 */
static inline uint32_t go(const struct regex_dfa *d, struct str text, size_t *at, size_t until,
			  uint32_t *state, uint32_t *class, size_t *before)
{
	const struct regex_classes *c = &d->re->classes;
	const uint32_t *table = d->next;
	size_t columns = d->columns, i = *at;
	uint32_t s = *state;

	while (i < until) {
		size_t start = i;
		uint32_t k = next_class(c, text, &i);
		uint32_t next = table[s * columns + k];

		if (next & REGEX_DFA_MATCH) {
			*before = start;
			*at = i;
			*state = s;
			*class = k;
			return next;
		}
		s = next;
	}
	*at = i;
	*state = s;
	return 0;
}

/*
 * Runs forward from `from` to `until`. With `is_any` it stops when it is clear that there is a match.
 */
static int run_forward(struct regex_matcher *m, struct str text, size_t from, size_t until,
		       bool is_any, struct run *out, struct err *e)
{
	const struct regex_classes *c = &m->re->classes;
	struct regex_dfa *d = &m->forward;
	size_t at = from, before = 0;
	uint32_t state, class = 0, next;

	*out = (struct run){ 0 };
	if (regex_dfa_start(d, sides_before(c, text, from), &state, e) < 0)
		return err_result(e);
	while (at < until) {
		size_t stop = MIN_OF(until, at + ASK_WORK), began = at;

		next = go(d, text, &at, stop, &state, &class, &before);
		m->scanned += at - began;
		if (ask(m, e) < 0)
			return err_result(e);
		if (!next)
			continue;
		if (next == REGEX_DFA_UNKNOWN && regex_dfa_step(d, state, class, &next, e) < 0)
			return err_result(e);
		if (next == REGEX_DFA_DEAD)
			return 0;
		state = next & REGEX_DFA_NUMBER;
		if (!(next & REGEX_DFA_MATCH))
			continue;
		*out = (struct run){ true, before };
		if (is_any)
			return 0;
	}
	class = class_behind(c, text, until);
	next = d->next[state * d->columns + class];
	if (next == REGEX_DFA_UNKNOWN && regex_dfa_step(d, state, class, &next, e) < 0)
		return err_result(e);
	if (next != REGEX_DFA_DEAD && next & REGEX_DFA_MATCH)
		*out = (struct run){ true, until };
	return 0;
}

/* The longest match that ends at `from`, backwards, but not before `until`. */
static int run_backward(struct regex_matcher *m, struct str text, size_t from, size_t until,
			size_t *out, struct err *e)
{
	const struct regex_classes *c = &m->re->classes;
	struct regex_dfa *d = &m->backward;
	size_t at = from;
	uint32_t state;

	if (!m->has_backward && regex_dfa_init(d, m->re, &m->re->backward, e) < 0)
		return err_result(e);
	m->has_backward = true;
	if (regex_dfa_start(d, c->sides[class_behind(c, text, from)], &state, e) < 0)
		return err_result(e);
	*out = from;
	for (;;) {
		size_t before = at;
		uint32_t class = at == 0 ? c->count : previous_class(c, text, &at);
		uint32_t next = d->next[state * d->columns + class];

		m->scanned++;
		if (ask(m, e) < 0 ||
		    (next == REGEX_DFA_UNKNOWN && regex_dfa_step(d, state, class, &next, e) < 0))
			return err_result(e);
		if (next == REGEX_DFA_DEAD)
			return 0;
		if (next & REGEX_DFA_MATCH)
			*out = before;
		if (before <= until)
			return 0;
		state = next & REGEX_DFA_NUMBER;
	}
}

int regex_find(struct regex_matcher *m, struct str text, size_t from, size_t until,
	       struct regex_span *out, struct err *e)
{
	const struct scan_needle *needle = &m->re->needle;
	struct run run;
	size_t begin = 0;

	*out = (struct regex_span){ 0 };
	if (m->re->is_needle) {
		begin = scan_find(needle, str_first(text, until), from);
		if (begin < until)
			*out = (struct regex_span){ true, begin, begin + needle->len };
		return 0;
	}
	if (run_forward(m, text, from, until, false, &run, e) < 0)
		return err_result(e);
	if (!run.is_found)
		return 0;
	if (run_backward(m, text, run.at, from, &begin, e) < 0)
		return err_result(e);
	*out = (struct regex_span){ true, begin, run.at };
	return 0;
}

static void set_line(struct str text, size_t at, struct regex_span *out)
{
	size_t end = scan_byte(text, at, '\n');

	*out = (struct regex_span){ true, scan_back(text, at, '\n'), end };
}

/* The next line that contains what every match does, and then a match. */
static int find_by_needle(struct regex_matcher *m, struct str text, size_t from,
			  struct regex_span *out, struct err *e)
{
	for (;;) {
		/* In parts, so that the watch is asked. */
		size_t part = MIN_OF(text.len, from + ASK_WORK + m->re->needle.len);
		size_t at = scan_find(&m->re->needle, str_first(text, part), from);
		struct run run;

		m->scanned += at - from;
		if (ask(m, e) < 0)
			return err_result(e);
		if (at == part) {
			if (part == text.len)
				return 0;
			from += ASK_WORK;
			continue;
		}
		set_line(text, at, out);
		if (m->re->is_needle)
			return 0;
		if (run_forward(m, text, out->begin, out->end, true, &run, e) < 0)
			return err_result(e);
		if (run.is_found)
			return 0;
		from = MIN_OF(out->end + 1, text.len);
		*out = (struct regex_span){ 0 };
	}
}

int regex_find_line(struct regex_matcher *m, struct str text, size_t from, struct regex_span *out,
		    struct err *e)
{
	struct run run;

	*out = (struct regex_span){ 0 };
	/* Behind the last newline is no line. */
	if (from >= text.len)
		return 0;
	if (m->re->needle.len)
		return find_by_needle(m, text, from, out, e);
	if (run_forward(m, text, from, text.len, true, &run, e) < 0)
		return err_result(e);
	/* An empty match behind the last newline is in no line either. */
	if (run.is_found && !(run.at == text.len && text.p[text.len - 1] == '\n'))
		set_line(text, run.at, out);
	return 0;
}

int regex_which(struct regex_matcher *m, struct str text, int more, int64_t *out, struct err *e)
{
	const struct regex_classes *c = &m->re->classes;
	struct regex_dfa *d = &m->forward;
	uint32_t state;

	*out = -1;
	if (regex_dfa_start(d, REGEX_SIDE_EDGE, &state, e) < 0)
		return err_result(e);
	for (size_t i = 0; i <= text.len + (more >= 0); i++) {
		uint32_t class = i < text.len		      ? c->of_byte[(unsigned char)text.p[i]]
				 : i == text.len && more >= 0 ? c->of_byte[more & 255]
							      : c->count;
		uint32_t next = d->next[state * d->columns + class];

		if (next == REGEX_DFA_UNKNOWN) {
			if (ask(m, e) < 0 || regex_dfa_step(d, state, class, &next, e) < 0)
				return err_result(e);
		}
		if (next == REGEX_DFA_DEAD)
			return 0;
		state = next & REGEX_DFA_NUMBER;
		if (next & REGEX_DFA_MATCH)
			*out = d->states[state].match;
	}
	return 0;
}
