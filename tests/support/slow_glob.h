/* SPDX-License-Identifier: MIT */
/*
 * Globs as glob.h explains them, word by word and slowly: all alternatives are
 * written out, each pattern and the path are cut into components, and two
 * recursive functions compare them. For short inputs only.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	SLOW_MAX = 64,		 /* bytes of a pattern or path */
	SLOW_MAX_PATTERNS = 4096 /* after choosing alternatives */
};

/* A piece of the pattern text that counts as one: 'x' or '\x', '*', '?', '[...]', a brace. */
struct slow_unit {
	char type; /* 'c' a byte, '*', '?', '[', '/', '{', '}', ',' */
	char c;
	unsigned char from, to; /* of a class, within its brackets */
};

struct slow_pattern {
	struct slow_unit u[SLOW_MAX];
	size_t n;
};

struct slow_glob {
	const char *text;
	struct slow_pattern p[SLOW_MAX_PATTERNS];
	size_t n;
	bool too_many;
};

/* The offset of the ']' of the class that starts at `i`, or 0. */
static size_t slow_class_end(const char *s, size_t len, size_t i)
{
	size_t first = i + 1;

	if (first < len && (s[first] == '!' || s[first] == '^'))
		first++;
	for (size_t k = first; k < len && s[k] != '/'; k++) {
		if (s[k] == ']' && k > first)
			return k;
		if (s[k] == '\\') {
			k++;
			if (k < len && s[k] == '/')
				return 0;
		}
	}
	return 0;
}

/* False for a lone backslash at the end. */
static bool slow_cut(const char *s, size_t len, struct slow_pattern *out)
{
	out->n = 0;
	for (size_t i = 0; i < len; i++) {
		struct slow_unit *u = &out->u[out->n++];
		size_t end = s[i] == '[' ? slow_class_end(s, len, i) : 0;

		*u = (struct slow_unit){ .type = 'c', .c = s[i] };
		if (end) {
			*u = (struct slow_unit){ .type = '[',
						 .from = (unsigned char)(i + 1),
						 .to = (unsigned char)end };
			i = end;
		} else if (s[i] == '\\') {
			if (++i == len)
				return false;
			u->c = s[i];
			u->type = s[i] == '/' ? '/' : 'c';
		} else if (memchr("*?/{},", s[i], 6)) {
			u->type = s[i];
		}
	}
	return true;
}

/* The close of the group at `open`, or 0. */
static size_t slow_close(const struct slow_pattern *p, size_t open)
{
	int depth = 0;

	for (size_t i = open; i < p->n; i++) {
		depth += (p->u[i].type == '{') - (p->u[i].type == '}');
		if (depth == 0)
			return i;
	}
	return 0;
}

static void slow_expand(struct slow_glob *g, const struct slow_pattern *p)
{
	struct slow_pattern with;
	size_t open = 0, close = 0, start;
	int depth = 0;

	if (g->too_many)
		return;
	for (; open < p->n && !close; open++)
		if (p->u[open].type == '{')
			close = slow_close(p, open);
	if (!close) {
		if (g->n == SLOW_MAX_PATTERNS)
			g->too_many = true;
		else
			g->p[g->n++] = *p;
		return;
	}
	start = open; /* behind the brace */
	for (size_t i = open; i <= close; i++) {
		bool ends = i == close || (p->u[i].type == ',' && depth == 0);

		depth += (p->u[i].type == '{') - (p->u[i].type == '}');
		if (!ends)
			continue;
		with.n = 0;
		for (size_t k = 0; k < open - 1; k++)
			with.u[with.n++] = p->u[k];
		for (size_t k = start; k < i; k++)
			with.u[with.n++] = p->u[k];
		for (size_t k = close + 1; k < p->n; k++)
			with.u[with.n++] = p->u[k];
		slow_expand(g, &with);
		start = i + 1;
	}
}

/* The end of the component that starts at `i`. */
static size_t slow_part_end(const struct slow_pattern *p, size_t i)
{
	while (i < p->n && p->u[i].type != '/')
		i++;
	return i;
}

static bool slow_has_empty_component(const struct slow_pattern *p)
{
	if (p->n == 0)
		return false;
	for (size_t i = 0;; i++) {
		size_t end = slow_part_end(p, i);

		if (end == i)
			return true;
		if (end == p->n)
			return false;
		i = end;
	}
}

/* False for a pattern that is an error. `text` is kept. */
static bool slow_parse(const char *text, size_t len, struct slow_glob *g)
{
	struct slow_pattern p;

	g->text = text;
	g->n = 0;
	g->too_many = false;
	if (!slow_cut(text, len, &p))
		return false;
	slow_expand(g, &p);
	for (size_t i = 0; i < g->n; i++)
		if (slow_has_empty_component(&g->p[i]))
			return false;
	return true;
}

static bool slow_class_has(const char *s, size_t from, size_t to, unsigned char c)
{
	bool negated = s[from] == '!' || s[from] == '^';
	bool found = false;

	if (c == '/')
		return false;
	for (size_t i = from + negated; i < to; i++) {
		unsigned char low, high;

		i += s[i] == '\\';
		low = high = (unsigned char)s[i];
		if (i + 2 < to && s[i + 1] == '-') {
			i += 2;
			i += s[i] == '\\';
			high = (unsigned char)s[i];
		}
		found |= low <= c && c <= high;
	}
	return found != negated;
}

/* One component: units u[i..end) against the bytes s[0..len). */
static bool slow_part(const struct slow_glob *g, const struct slow_unit *u, size_t n, const char *s,
		      size_t len)
{
	if (n == 0)
		return len == 0;
	if (u->type == '*') {
		for (size_t k = 0; k <= len; k++)
			if (slow_part(g, u + 1, n - 1, s + k, len - k))
				return true;
		return false;
	}
	if (len == 0)
		return false;
	if (u->type == '[') {
		if (!slow_class_has(g->text, u->from, u->to, (unsigned char)*s))
			return false;
	} else if (u->type != '?' && u->c != *s) {
		return false;
	}
	return slow_part(g, u + 1, n - 1, s + 1, len - 1);
}

struct slow_path {
	const char *at[SLOW_MAX + 1];
	size_t len[SLOW_MAX + 1];
	size_t n;
};

static void slow_split(const char *s, size_t len, struct slow_path *out)
{
	out->n = 0;
	if (len == 0)
		return;
	for (size_t i = 0;; i++) {
		size_t end = i;

		while (end < len && s[end] != '/')
			end++;
		out->at[out->n] = s + i;
		out->len[out->n++] = end - i;
		if (end == len)
			return;
		i = end;
	}
}

/* The components of the pattern from `i` on against those of the path from `k` to `n`. */
static bool slow_parts(const struct slow_glob *g, const struct slow_pattern *p, size_t i,
		       const struct slow_path *path, size_t k, size_t n)
{
	size_t end;

	if (i > p->n || p->n == 0)
		return k == n;
	end = slow_part_end(p, i);
	if (end == i + 2 && p->u[i].type == '*' && p->u[i + 1].type == '*') {
		for (size_t next = k; next <= n; next++)
			if (slow_parts(g, p, end + 1, path, next, n))
				return true;
		return false;
	}
	return k < n && slow_part(g, &p->u[i], end - i, path->at[k], path->len[k]) &&
	       slow_parts(g, p, end + 1, path, k + 1, n);
}

/* Whether the first `n` components match. */
static bool slow_match_first(const struct slow_glob *g, const struct slow_path *path, size_t n)
{
	for (size_t i = 0; i < g->n; i++)
		if (slow_parts(g, &g->p[i], 0, path, 0, n))
			return true;
	return false;
}

static int slow_deepest(const struct slow_glob *g, const struct slow_path *path)
{
	for (size_t n = path->n + 1; n-- > 0;)
		if (slow_match_first(g, path, n))
			return (int)n;
	return -1;
}
