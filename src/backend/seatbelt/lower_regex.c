/* SPDX-License-Identifier: MIT */
/*
 * Regexes. SECURITY: no `.`, no escape in a class, no {n,m}: nobody knows what they mean in SBPL. A
 * class never holds ] [ ^ - or a backslash; what would be one is an alternative of its own.
 */
#include "backend/seatbelt/seatbelt.h"

#include "base/fold.h"
#include "base/path.h"
#include "base/utf8.h"

enum { MAX_ALTERNATIVES = 4096, MAX_TANGLE = 6 };

static const char end_regex[] = "(/[^/]+)*$";

void regex_add_literal(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		if (memchr("^$.*+?|()[]{}\\", bytes.p[i], 14))
			buf_add_char(out, '\\');
		buf_add_char(out, bytes.p[i]);
	}
}

/* #"…" keeps backslashes; whether a quote can be in it nobody knows. */
void sbpl_add_string(struct buf *out, struct str text, bool is_regex)
{
	bool is_plain = is_regex && utf8_check(text) == text.len;

	for (size_t i = 0; i < text.len; i++)
		is_plain = is_plain && text.p[i] != '"' && (unsigned char)text.p[i] >= ' ' &&
			   text.p[i] != 0x7F;
	buf_add_text(out, is_plain ? "#\"" : "\"");
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (is_plain)
			buf_add_char(out, (char)c);
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < ' ' || c >= 0x7F)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add_char(out, (char)c);
	}
	buf_add_char(out, '"');
}

/* ---- Spellings --------------------------------------------------------------------------------- */

struct collecting {
	struct arena *a;
	struct spellings *s;
	struct err *e;
	bool has_failed;
};

static size_t char_len(struct str text, size_t at)
{
	size_t end = at;
	uint32_t c;

	return utf8_next(text, &end, &c) ? end - at : 1;
}

static int add_spelling(struct arena *a, spelling_list *list, struct str raw, struct str folded,
			struct err *e)
{
	struct spelling *spelling = VEC_PUSH(a, list, e);

	if (!spelling)
		return err_result(e);
	*spelling = (struct spelling){ raw, folded };
	return 0;
}

static void collect(void *arg, uint32_t c, struct str folded)
{
	struct collecting *k = arg;
	struct str raw;
	char bytes[4];
	size_t len;

	if (k->has_failed || !utf8_put(c, bytes, &len))
		return;
	if (arena_copy(k->a, (struct str){ bytes, len }, &raw, k->e) < 0 ||
	    add_spelling(k->a, &k->s->by_first[(unsigned char)folded.p[0]], raw, folded, k->e) <
		    0 ||
	    (char_len(folded, 0) < folded.len &&
	     add_spelling(k->a, &k->s->longer, raw, folded, k->e) < 0))
		k->has_failed = true;
}

int spellings_init(struct arena *a, struct spellings *s, struct err *e)
{
	struct collecting k = { .a = a, .s = s, .e = e };

	*s = (struct spellings){ .longer = { .items = NULL } };
	for (unsigned first = 0; first < 256; first++)
		fold_list((unsigned char)first, collect, &k);
	return k.has_failed ? err_result(e) : 0;
}

/* Two marks on one letter may stand in another order in a name; regexes can't say that. */
static bool has_two_marks(struct str text)
{
	size_t marks = 0;

	for (size_t at = 0; at < text.len; at += char_len(text, at)) {
		marks = fold_is_mark(text, at) ? marks + 1 : 0;
		if (marks > 1)
			return true;
	}
	return false;
}

/* A syllable of Hangul, for the two or three parts at `at`; its length in parts, or 0. */
static size_t find_hangul(struct str text, size_t at, bool with_final, char out[4])
{
	uint32_t part[3] = { 0, 0, 0 };
	size_t end = at, len;

	for (size_t i = 0; i < (with_final ? 3U : 2U); i++)
		if (!utf8_next(text, &end, &part[i]))
			return 0;
	if (part[0] < 0x1100 || part[0] > 0x1112 || part[1] < 0x1161 || part[1] > 0x1175 ||
	    (with_final && (part[2] < 0x11A8 || part[2] > 0x11C2)))
		return 0;
	if (!utf8_put(0xAC00 + ((part[0] - 0x1100) * 21 + part[1] - 0x1161) * 28 +
			      (with_final ? part[2] - 0x11A7 : 0),
		      out, &len))
		return 0;
	return end - at;
}

/* Steps through what a name may have at `at` of a folded text; the length that it stands for. */
static size_t next_option(const struct spellings *s, struct str text, size_t at, size_t *state,
			  struct str *raw, char room[4])
{
	const spelling_list *list = &s->by_first[(unsigned char)text.p[at]];

	if (*state == 0) {
		(*state)++;
		*raw = str_first(str_from(text, at), char_len(text, at));
		return raw->len;
	}
	for (; *state <= 2;) {
		size_t len = find_hangul(text, at, *state == 2, room);

		(*state)++;
		if (len) {
			*raw = (struct str){ room, 3 };
			return len;
		}
	}
	while (*state - 3 < list->count) {
		const struct spelling *spelling = &list->items[*state - 3];

		(*state)++;
		if (str_has_prefix(str_from(text, at), spelling->folded)) {
			*raw = spelling->raw;
			return spelling->folded.len;
		}
	}
	return 0;
}

/* Where the text can be cut so that no spelling reaches over the cut. */
static size_t find_cut(const struct spellings *s, struct str text, size_t start)
{
	size_t end = start + char_len(text, start);

	for (size_t at = start; at < end; at += char_len(text, at)) {
		struct str raw;
		char room[4];
		size_t state = 0, len;

		while ((len = next_option(s, text, at, &state, &raw, room)) > 0)
			end = MAX_OF(end, at + len);
	}
	return end;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MAX_TANGLE deep. */
static void add_ways(struct buf *out, const struct spellings *s, struct str text, size_t at,
		     struct buf *way, bool *is_first)
{
	struct str raw;
	char room[4];
	size_t state = 0, len, start = way->len;

	if (at == text.len) {
		if (!*is_first)
			buf_add_char(out, '|');
		*is_first = false;
		buf_add(out, buf_str(way));
		return;
	}
	while ((len = next_option(s, text, at, &state, &raw, room)) > 0) {
		regex_add_literal(way, raw);
		add_ways(out, s, text, at + len, way, is_first);
		way->len = start;
	}
}

/* More than anyone has in a name: any of the spellings, in any number and order. */
static void add_tangle(struct buf *out, const struct spellings *s, struct str text)
{
	bool is_first = true;

	buf_add_char(out, '(');
	for (size_t at = 0; at < text.len; at += char_len(text, at)) {
		struct str raw;
		char room[4];
		size_t state = 0;

		while (next_option(s, text, at, &state, &raw, room) > 0) {
			buf_add_text(out, is_first ? "" : "|");
			regex_add_literal(out, raw);
			is_first = false;
		}
	}
	buf_add_text(out, ")+");
}

static size_t count_chars(struct str text)
{
	size_t count = 0;

	for (size_t at = 0; at < text.len; at += char_len(text, at))
		count++;
	return count;
}

/* "[aA]" where that is all, else "(k|K|K)". */
static void add_part(struct buf *out, const struct spellings *s, struct str part, struct buf *way)
{
	scoped_buf ways = BUF_INIT(SEATBELT_MAX_REGEX);
	bool is_first = true;

	add_ways(&ways, s, part, 0, way, &is_first);
	if (ways.failed)
		out->failed = out->failed ? out->failed : ways.failed;
	else if (part.len == 1 && ways.len == 3 && (part.p[0] >= 'a' && part.p[0] <= 'z'))
		buf_printf(out, "[%c%c]", ways.p[0], ways.p[2]);
	else
		buf_printf(out, "(%.*s)", STR_ALL(buf_str(&ways)));
}

bool regex_add_folded(struct buf *out, const struct spellings *s, struct str folded)
{
	scoped_buf way = BUF_INIT(4096);

	for (size_t at = 0; at < folded.len;) {
		size_t end = find_cut(s, folded, at);
		struct str part = str_first(str_from(folded, at), end - at);

		at = end;
		if (part.len == 1 && !s->by_first[(unsigned char)part.p[0]].count) {
			regex_add_literal(out, part);
		} else if (count_chars(part) > MAX_TANGLE) {
			add_tangle(out, s, part);
		} else {
			add_part(out, s, part, &way);
		}
	}
	if (way.failed && !out->failed)
		out->failed = way.failed;
	return !has_two_marks(folded);
}

/* ---- Globs: choosing alternatives ---------------------------------------------------------------- */

struct choosing {
	struct arena *a;
	const struct rule *rule;
	const struct glob_class *classes;
	glob_list *out;
	size_t ways;
};

static struct glob_token *join(struct arena *a, const struct glob_token *t, const size_t cuts[4],
			       struct err *e)
{
	size_t first = cuts[0], from = cuts[1], to = cuts[2], rest = cuts[3], end = rest;
	struct glob_token *list;

	while (t[end].type != GLOB_END)
		end++;
	list = arena_array(a, first + (to - from) + (end - rest) + 1, sizeof(*list), e);
	if (!list)
		return NULL;
	memcpy(list, t, first * sizeof(*t));
	memcpy(list + first, t + from, (to - from) * sizeof(*t));
	memcpy(list + first + (to - from), t + rest, (end - rest + 1) * sizeof(*t));
	return list;
}

/* NOLINTNEXTLINE(misc-no-recursion): each step removes one group. */
static int choose(struct choosing *c, const struct glob_token *t, struct err *e)
{
	size_t open = 0, close, depth = 0, from;
	struct seatbelt_glob *g;

	while (t[open].type != GLOB_END && t[open].type != GLOB_OPEN)
		open++;
	if (t[open].type == GLOB_END) {
		if (c->ways++ == MAX_ALTERNATIVES)
			return FAIL(e, ERR_LIMIT, "the glob '%.*s' has too many alternatives",
				    STR_ARG(c->rule->key));
		g = VEC_PUSH(c->a, c->out, e);
		if (!g)
			return err_result(e);
		*g = (struct seatbelt_glob){
			.rule = c->rule, .start = STR_EMPTY, .tokens = t, .classes = c->classes
		};
		return 0;
	}
	for (close = open; t[close].type != GLOB_END; close++) {
		depth += t[close].type == GLOB_OPEN;
		depth -= t[close].type == GLOB_CLOSE;
		if (depth == 0)
			break;
	}
	from = open + 1;
	for (size_t i = open; i <= close; i++) {
		const struct glob_token *chosen;

		depth += t[i].type == GLOB_OPEN;
		depth -= t[i].type == GLOB_CLOSE;
		if (!((t[i].type == GLOB_COMMA && depth == 1) || i == close))
			continue;
		chosen = join(c->a, t, (const size_t[]){ open, from, i, close + 1 }, e);
		if (!chosen || choose(c, chosen, e) < 0)
			return err_result(e);
		from = i + 1;
	}
	return 0;
}

static void fold_classes(struct glob_tokens *tokens)
{
	for (size_t i = 0; i < tokens->class_count; i++)
		for (unsigned char c = 'A'; c <= 'Z'; c++)
			if (glob_class_has(&tokens->classes[i], c))
				tokens->classes[i].words[(c | 0x20) >> 6] |= UINT64_C(1)
									     << ((c | 0x20) & 63);
}

int regex_expand(struct arena *a, const struct rule *rule, bool folds, glob_list *out,
		 struct err *e)
{
	struct choosing c = { .a = a, .rule = rule, .out = out };
	struct str pattern = rule->glob;
	struct glob_tokens tokens;

	if ((folds && fold_copy(a, pattern, &pattern, e) < 0) ||
	    glob_tokenize(a, pattern, &tokens, e) < 0)
		return err_result(e);
	if (folds)
		fold_classes(&tokens);
	c.classes = tokens.classes;
	return choose(&c, tokens.list, e);
}

/* ---- Globs: what is left of one below a directory ------------------------------------------------- */

/* The token behind the component at `at`. */
static size_t component_end(const struct glob_token *t, size_t at)
{
	while (t[at].type != GLOB_SLASH && t[at].type != GLOB_END)
		at++;
	return at;
}

static bool is_deep(const struct glob_token *t, size_t at)
{
	return component_end(t, at) == at + 2 && t[at].type == GLOB_STAR &&
	       t[at + 1].type == GLOB_STAR;
}

static size_t next_component(const struct glob_token *t, size_t at)
{
	at = component_end(t, at);
	return t[at].type == GLOB_SLASH ? at + 1 : at;
}

static bool token_matches(const struct seatbelt_glob *g, const struct glob_token *t, char c)
{
	if (t->type == GLOB_BYTE)
		return t->byte == (unsigned char)c;
	return t->type == GLOB_ANY ||
	       (t->type == GLOB_CLASS && glob_class_has(&g->classes[t->link], (unsigned char)c));
}

/* One component, by trying the last star again with one byte more. */
static bool component_matches(const struct seatbelt_glob *g, size_t at, struct str name)
{
	const struct glob_token *t = g->tokens;
	size_t end = component_end(t, at), i = 0, star = SIZE_MAX, mark = 0;

	while (i < name.len) {
		if (at < end && t[at].type == GLOB_STAR) {
			star = at++;
			mark = i;
		} else if (at < end && token_matches(g, &t[at], name.p[i])) {
			at++;
			i++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			i = ++mark;
		} else {
			return false;
		}
	}
	while (at < end && t[at].type == GLOB_STAR)
		at++;
	return at == end;
}

/* Sets of positions in the tokens: of components that may come next. */
struct states {
	bool *on;
	size_t count;
};

static void close_states(const struct glob_token *t, struct states *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->on[i] && t[i].type != GLOB_END && is_deep(t, i))
			s->on[next_component(t, i)] = true;
}

static int step_states(struct arena *a, const struct seatbelt_glob *g, struct states *s,
		       struct str name, struct err *e)
{
	struct states next = { arena_array(a, s->count, sizeof(bool), e), s->count };

	if (!next.on)
		return err_result(e);
	for (size_t i = 0; i < s->count; i++) {
		if (!s->on[i] || g->tokens[i].type == GLOB_END)
			continue;
		if (is_deep(g->tokens, i))
			next.on[i] = true;
		else if (component_matches(g, i, name))
			next.on[next_component(g->tokens, i)] = true;
	}
	close_states(g->tokens, &next);
	*s = next;
	return 0;
}

/* ---- Globs as regexes ------------------------------------------------------------------------------ */

static void add_byte(struct buf *out, unsigned char c)
{
	regex_add_literal(out, (struct str){ (const char *)&c, 1 });
}

static bool is_special(unsigned c)
{
	return c == ']' || c == '[' || c == '^' || c == '-' || c == '\\';
}

/* The members of a class from 1 to 255, specials aside. */
static void add_ranges(struct buf *out, const struct glob_class *class, bool members)
{
	for (unsigned c = 1; c < 256; c++) {
		unsigned last = c;

		if (c == '/' || is_special(c) || glob_class_has(class, (unsigned char)c) != members)
			continue;
		while (last + 1 < 256 && last + 1 != '/' && !is_special(last + 1) &&
		       glob_class_has(class, (unsigned char)(last + 1)) == members)
			last++;
		buf_add_char(out, (char)c);
		if (last > c + 1)
			buf_add_char(out, '-');
		if (last > c)
			buf_add_char(out, (char)last);
		c = last;
	}
}

static void add_class(struct buf *out, const struct glob_class *class, bool folds)
{
	scoped_buf ranges = BUF_INIT(1024);
	bool excludes_special = false, has_any = false;
	unsigned count = 0;

	for (unsigned c = 1; c < 256; c++) {
		count += glob_class_has(class, (unsigned char)c);
		excludes_special = excludes_special ||
				   (is_special(c) && !glob_class_has(class, (unsigned char)c));
	}
	buf_add_char(out, '(');
	if (count > 128 && !excludes_special) {
		add_ranges(&ranges, class, false);
		buf_printf(out, "[^/");
		buf_add(out, buf_str(&ranges));
		buf_add_char(out, ']');
		has_any = true;
	} else {
		add_ranges(&ranges, class, true);
		if (ranges.len) {
			buf_add_char(out, '[');
			buf_add(out, buf_str(&ranges));
			buf_add_char(out, ']');
			has_any = true;
		}
		for (unsigned c = 1; c < 256; c++)
			if (is_special(c) && glob_class_has(class, (unsigned char)c)) {
				buf_add_text(out, has_any ? "|" : "");
				add_byte(out, (unsigned char)c);
				has_any = true;
			}
	}
	if (folds) { /* capitals, and the two others that fold to one byte */
		for (unsigned c = 'a'; c <= 'z'; c++)
			if (glob_class_has(class, (unsigned char)c)) {
				buf_add_char(out, '|');
				buf_add_char(out, (char)(c & ~0x20U));
			}
		buf_add_text(out, glob_class_has(class, 's') ? "|\xC5\xBF" : "");
		buf_add_text(out, glob_class_has(class, 'k') ? "|\xE2\x84\xAA" : "");
	}
	/* A class without members matches nothing. */
	buf_add_text(out, has_any ? ")" : "/)");
}

/* Beside a star, a character that folds to more than one may stand for a part of both. */
static void add_beside_stars(struct buf *out, const struct spellings *s, struct str text,
			     bool after_star, bool before_star)
{
	regex_add_folded(out, s, text);
	for (size_t i = 0; after_star && i < s->longer.count; i++) {
		const struct spelling *x = &s->longer.items[i];

		for (size_t k = char_len(x->folded, 0); k < x->folded.len;
		     k += char_len(x->folded, k))
			if (str_has_prefix(text, str_from(x->folded, k))) {
				buf_add_char(out, '|');
				regex_add_literal(out, x->raw);
				regex_add_folded(out, s, str_from(text, x->folded.len - k));
			}
	}
	for (size_t i = 0; before_star && i < s->longer.count; i++) {
		const struct spelling *x = &s->longer.items[i];

		for (size_t k = char_len(x->folded, 0); k < x->folded.len;
		     k += char_len(x->folded, k))
			if (str_has_suffix(text, str_first(x->folded, k))) {
				buf_add_char(out, '|');
				regex_add_folded(out, s, str_first(text, text.len - k));
				regex_add_literal(out, x->raw);
			}
	}
}

/* A run of plain bytes from token `at` on; the token behind it. */
static size_t add_run(struct buf *out, const struct glob_token *t, size_t at,
		      const struct spellings *s)
{
	scoped_buf run = BUF_INIT(8192);
	bool after_star = at > 0 && t[at - 1].type == GLOB_STAR;
	bool before_star;

	for (; t[at].type == GLOB_BYTE; at++)
		buf_add_char(&run, (char)t[at].byte);
	before_star = t[at].type == GLOB_STAR;
	if (!s) {
		regex_add_literal(out, buf_str(&run));
	} else if (after_star || before_star) {
		buf_add_char(out, '(');
		add_beside_stars(out, s, buf_str(&run), after_star, before_star);
		buf_add_char(out, ')');
	} else {
		(void)regex_add_folded(out, s, buf_str(&run));
	}
	if (run.failed && !out->failed)
		out->failed = run.failed;
	return at;
}

static void add_component(struct buf *out, const struct seatbelt_glob *g, size_t at,
			  const struct spellings *s)
{
	const struct glob_token *t = g->tokens;
	size_t end = component_end(t, at);

	while (at < end) {
		switch (t[at].type) {
		case GLOB_BYTE:
			at = add_run(out, t, at, s);
			continue;
		case GLOB_STAR:
			buf_add_text(out, "[^/]*");
			break;
		case GLOB_ANY:
			buf_add_text(out, s ? "([^/]|\xC5\xBF|\xE2\x84\xAA)" : "[^/]");
			break;
		default:
			add_class(out, &g->classes[t[at].link], s != NULL);
			break;
		}
		at++;
	}
}

static bool is_all_deep(const struct glob_token *t, size_t at)
{
	for (; t[at].type != GLOB_END; at = next_component(t, at))
		if (!is_deep(t, at))
			return false;
	return true;
}

/* A star alone needs a byte: no component is empty. */
static bool is_star(const struct glob_token *t, size_t at)
{
	return component_end(t, at) == at + 1 && t[at].type == GLOB_STAR;
}

/* From the token `at` on, below `dir`. `is_strict`: not `dir` itself. */
static void write_rest(struct buf *text, const struct seatbelt_glob *g, const struct spellings *s,
		       struct str dir, size_t at, bool is_strict)
{
	const struct glob_token *t = g->tokens;

	buf_add_char(text, '^');
	if (is_strict)
		regex_add_literal(text, dir.len == 1 ? STR_EMPTY : dir);
	else
		buf_add(text, g->start);
	if (is_all_deep(t, at)) {
		/* All below it; and where the glob starts below the area, that too. */
		buf_add_text(text, is_strict ? "/[^/]+" : "");
	} else {
		for (; t[at].type != GLOB_END; at = next_component(t, at)) {
			if (is_deep(t, at)) {
				buf_add_text(text, "(/[^/]+)*");
				continue;
			}
			buf_add_char(text, '/');
			if (is_star(t, at))
				buf_add_text(text, "[^/]+");
			else
				add_component(text, g, at, s);
		}
	}
	buf_add_text(text, end_regex);
}

static int add_rest(struct arena *a, struct buf *text, regex_list *out, struct err *e)
{
	struct str *regex = VEC_PUSH(a, out, e);

	if (!regex || buf_check(text, e) < 0)
		return err_result(e);
	return arena_copy(a, buf_str(text), regex, e);
}

int regex_add_glob(struct arena *a, const struct seatbelt_glob *g, const struct spellings *s,
		   struct str dir, regex_list *out, struct err *e)
{
	struct str start = g->rule->path, below, name;
	struct states states = { .count = 1 };
	scoped_buf text = BUF_INIT(SEATBELT_MAX_REGEX);
	size_t at = 0;

	if (path_is_under(start, dir) && !str_eq(start, dir)) {
		write_rest(&text, g, s, start, 0, false);
		return add_rest(a, &text, out, e);
	}
	if (!path_is_under(dir, start))
		return 0;
	while (g->tokens[states.count - 1].type != GLOB_END)
		states.count++;
	states.on = arena_array(a, states.count, sizeof(bool), e);
	if (!states.on)
		return err_result(e);
	states.on[0] = true;
	close_states(g->tokens, &states);
	below = path_below(dir, start);
	if (s && fold_copy(a, below, &below, e) < 0)
		return err_result(e);
	while (path_next(below, &at, &name))
		if (step_states(a, g, &states, name, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < states.count; i++) {
		if (!states.on[i] || g->tokens[i].type == GLOB_END)
			continue;
		buf_clear(&text);
		write_rest(&text, g, s, dir, i, true);
		if (add_rest(a, &text, out, e) < 0)
			return err_result(e);
	}
	return 0;
}
