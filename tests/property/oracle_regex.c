/* SPDX-License-Identifier: MIT */
/*
 * Random regular expressions against a matcher that tries everything, in the order in which Perl
 * would. It works on the tree that the pattern was written from, so it shares nothing with the parser.
 */
#include "../unit/test.h"
#include "base/arena.h"
#include "base/regex.h"

enum {
	CASES = 12000,
	MAX_NODES = 40,
	MAX_TEXT = 10,
	LIMIT_BYTES = 16 << 20,
	MAX_WORK = 200000,
};

/* The characters of the texts, the last one no character at all. */
static const char *const letters[] = {
	"a", "b", "A", "_", " ", "\n", "\xc3\xa9", "\xc3\x89", "\xff"
};
enum { NEWLINE = 5, INVALID = 8, LETTERS = 9 };

enum kind { SET, LOOK, CAT, ALT, REPEAT };

struct node {
	enum kind kind;
	unsigned set; /* a bit for each of `letters` */
	char look;
	int min, max; /* -1: no maximum */
	bool is_lazy;
	struct node *left, *right;
};

struct pattern {
	struct node nodes[MAX_NODES];
	size_t count;
	char text[2000];
	bool has_empty_round; /* a repetition of what may be empty: who wins is not defined */
	bool is_multiline, is_caseless;
};

static const struct {
	const char *text;
	unsigned set;
} sets[] = {
	{ "a", 1 },	   { "b", 2 },
	{ "A", 4 },	   { "\xc3\xa9", 64 },
	{ ".", 255 - 32 }, { "[^a]", 255 - 1 },
	{ "[ab]", 3 },	   { "\\w", 1 + 2 + 4 + 8 + 64 + 128 },
	{ "\\s", 48 },	   { "[a-b\\n]", 35 },
	{ "\\W", 48 },	   { "(?s:.)", 255 },
	{ "\\x{e9}", 64 }, { "(?-u:\\w)", 15 },
	{ "\\pL", 199 },   { "[\\w&&[^b]]", 205 },
};

static bool may_be_empty(const struct node *n)
{
	switch (n->kind) {
	case SET:
		return false;
	case LOOK:
		return true;
	case CAT:
		return may_be_empty(n->left) && may_be_empty(n->right);
	case ALT:
		return may_be_empty(n->left) || may_be_empty(n->right);
	case REPEAT:
	default:
		return n->min == 0 || may_be_empty(n->left);
	}
}

static void append(struct pattern *p, const char *text)
{
	(void)strncat(p->text, text, sizeof(p->text) - strlen(p->text) - 1);
}

static struct node *make(struct pattern *p, uint64_t *seed, int depth)
{
	struct node *n = &p->nodes[p->count++];
	unsigned choice =
		(unsigned)(test_random(seed) % (depth > 4 || p->count > MAX_NODES - 9 ? 4 : 10));
	char counts[40];

	memset(n, 0, sizeof(*n));
	if (choice < 3) {
		size_t i = test_random(seed) % (sizeof(sets) / sizeof(sets[0]));

		n->kind = SET;
		n->set = sets[i].set;
		append(p, sets[i].text);
		/* With (?i) 'a' is also 'A', and so on. */
		if (p->is_caseless && i != 5 && i != 15) {
			n->set |= n->set & 5 ? 5 : 0;
			n->set |= n->set & 192 ? 192 : 0;
		} else if (p->is_caseless) {
			n->set = i == 5 ? 255 - 5 : 205;
		}
	} else if (choice == 3) {
		static const char *const looks[] = { "^",   "$",   "\\b", "\\B",
						     "\\A", "\\z", "\\<", "\\>" };
		size_t i = test_random(seed) % 8;

		n->kind = LOOK;
		n->look = "^$bBAz<>"[i];
		append(p, looks[i]);
	} else if (choice < 7) {
		n->kind = choice < 6 ? CAT : ALT;
		append(p, n->kind == CAT ? "(?:" : "(");
		n->left = make(p, seed, depth + 1);
		append(p, n->kind == CAT ? "" : "|");
		n->right = make(p, seed, depth + 1);
		append(p, ")");
	} else {
		n->kind = REPEAT;
		append(p, "(?:");
		n->left = make(p, seed, depth + 1);
		n->min = (int)(test_random(seed) % 3);
		n->max = test_random(seed) % 2 ? -1 : n->min + (int)(test_random(seed) % 3);
		n->is_lazy = test_random(seed) % 2;
		if (n->max < 0)
			(void)snprintf(counts, sizeof(counts), "){%d,}%s", n->min,
				       n->is_lazy ? "?" : "");
		else
			(void)snprintf(counts, sizeof(counts), "){%d,%d}%s", n->min, n->max,
				       n->is_lazy ? "?" : "");
		append(p, counts);
		p->has_empty_round |= may_be_empty(n->left);
	}
	return n;
}

/* ---- The slow matcher ---- */

struct rest { /* what has to match behind */
	const struct node *node;
	int rounds; /* of a REPEAT: those done, and where the last began */
	int began;
	const struct rest *next;
};

struct slow {
	const int *text;
	int length, work;
	bool is_multiline;
	int end;
};

static bool is_word(const struct slow *s, int at)
{
	return at >= 0 && at < s->length &&
	       (s->text[at] < 4 || s->text[at] == 6 || s->text[at] == 7);
}

static bool is_place(const struct slow *s, char look, int at)
{
	bool left = is_word(s, at - 1), right = is_word(s, at);

	switch (look) {
	case '^':
		return at == 0 || (s->is_multiline && s->text[at - 1] == NEWLINE);
	case '$':
		return at == s->length || (s->is_multiline && s->text[at] == NEWLINE);
	case 'b':
		return left != right;
	case 'B':
		return left == right;
	case 'A':
		return at == 0;
	case 'z':
		return at == s->length;
	case '<':
		return !left && right;
	default:
		return left && !right;
	}
}

static bool match(struct slow *s, const struct node *n, int at, const struct rest *next);

static bool go_on(struct slow *s, int at, const struct rest *next);

static bool repeat(struct slow *s, const struct rest *r, int at)
{
	const struct node *n = r->node;
	bool may_stop = r->rounds >= n->min;
	bool may_go = (n->max < 0 || r->rounds < n->max) &&
		      !(r->rounds > n->min && r->began == at && n->max < 0);
	struct rest more = { n, r->rounds + 1, at, r->next };

	if (n->is_lazy && may_stop && go_on(s, at, r->next))
		return true;
	if (may_go && match(s, n->left, at, &more))
		return true;
	return !n->is_lazy && may_stop && go_on(s, at, r->next);
}

static bool go_on(struct slow *s, int at, const struct rest *next)
{
	if (++s->work > MAX_WORK)
		return false;
	if (!next) {
		s->end = at;
		return true;
	}
	if (next->rounds >= 0)
		return repeat(s, next, at);
	return match(s, next->node, at, next->next);
}

static bool match(struct slow *s, const struct node *n, int at, const struct rest *next)
{
	struct rest r = { n, 0, -1, next };

	switch (n->kind) {
	case SET:
		return at < s->length && n->set >> s->text[at] & 1 && go_on(s, at + 1, next);
	case LOOK:
		return is_place(s, n->look, at) && go_on(s, at, next);
	case CAT:
		r.node = n->right;
		r.rounds = -1;
		return match(s, n->left, at, &r);
	case ALT:
		return match(s, n->left, at, next) || match(s, n->right, at, next);
	case REPEAT:
	default:
		return repeat(s, &r, at);
	}
}

static bool check_text(struct pattern *p, const struct node *root, struct regex_matcher *m,
		       uint64_t *seed)
{
	int chosen[MAX_TEXT], length = (int)(test_random(seed) % MAX_TEXT), begin = 0;
	size_t offsets[MAX_TEXT + 1] = { 0 };
	char bytes[3 * MAX_TEXT] = "";
	struct slow s = { chosen, length, 0, p->is_multiline, -1 };
	struct regex_span span = { 0 };
	struct err e = ERR_INIT;
	bool is_found = false;

	for (int i = 0; i < length; i++) {
		const char *letter = letters[chosen[i] = (int)(test_random(seed) % LETTERS)];

		offsets[i + 1] = offsets[i] + strlen(letter);
		memcpy(bytes + offsets[i], letter, strlen(letter));
	}
	for (; begin <= length && !is_found; begin += !is_found)
		is_found = match(&s, root, begin, NULL);
	if (s.work > MAX_WORK)
		return true;
	if (!CHECK(regex_find(m, (struct str){ bytes, offsets[length] }, 0, offsets[length], &span,
			      &e) == 0))
		return false;
	if (span.is_found == is_found &&
	    (!is_found ||
	     (span.begin == offsets[begin] && (p->has_empty_round || span.end == offsets[s.end]))))
		return true;
	printf("# pattern %s\n# text (%d):", p->text, length);
	for (int i = 0; i < length; i++)
		printf(" %d", chosen[i]);
	printf("\n# want %d %zu..%zu, got %d %zu..%zu\n", is_found, is_found ? offsets[begin] : 0,
	       is_found ? offsets[s.end] : 0, span.is_found, span.begin, span.end);
	return CHECK(false);
}

TEST(finds_what_trying_everything_finds)
{
	static struct pattern p;
	uint64_t seed = test_seed();
	size_t cases = test_cases(CASES);

	for (size_t i = 0; i < cases; i++) {
		scoped_arena a = ARENA_INIT(LIMIT_BYTES);
		struct err e = ERR_INIT;
		const struct regex *re;
		struct regex_matcher *m;
		const struct node *root;
		bool is_ok = true;

		memset(&p, 0, sizeof(p));
		p.is_multiline = test_random(&seed) % 2;
		p.is_caseless = test_random(&seed) % 3 == 0;
		append(&p, p.is_multiline ? "(?m)" : "");
		root = make(&p, &seed, 0);
		if (strlen(p.text) > sizeof(p.text) - 100)
			continue;
		re = regex_parse(&a, str_of(p.text), p.is_caseless ? REGEX_IGNORE_CASE : 0, &e);
		if (!CHECK(re != NULL)) {
			printf("# %s: %s\n", p.text, e.text);
			return;
		}
		m = regex_matcher_new(re, NULL, &e);
		REQUIRE(m != NULL);
		for (int k = 0; k < 12 && is_ok; k++)
			is_ok = check_text(&p, root, m, &seed);
		regex_matcher_free(m);
		if (!is_ok)
			return;
	}
}
