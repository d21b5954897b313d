/* SPDX-License-Identifier: MIT */
/* See diff.h: the longest common subsequence, of what is left when both ends are cut off. */
#include "agents/diff.h"

enum {
	CONTEXT = 2,
	/* More than that is shown as removed and added whole. */
	MAX_CELLS = 4 << 20,
};

struct lines {
	struct str *items;
	size_t count, room;
};

static int split(struct arena *a, struct str text, struct lines *out, struct err *e)
{
	while (text.len) {
		size_t len = str_find(text, '\n');
		struct str *line = VEC_PUSH(a, out, e);

		if (!line)
			return err_result(e);
		/* With its newline: a last line without one is another line. */
		*line = str_first(text, len + 1);
		text = str_from(text, len + 1);
	}
	return 0;
}

static int add(struct arena *a, struct diff *out, char mark, struct str text, struct err *e)
{
	struct diff_line *line = VEC_PUSH(a, out, e);

	if (!line)
		return err_result(e);
	if (str_has_suffix(text, STR("\n")))
		text = str_first(text, text.len - 1);
	*line = (struct diff_line){ mark, text };
	return 0;
}

/* All lines, with their marks. */
static int compare(struct arena *a, const struct lines *old, const struct lines *new,
		   struct diff *out, struct err *e)
{
	size_t n = old->count, m = new->count, i = 0, k = 0;
	size_t columns = m + 1;
	uint16_t *common = NULL; /* [i][k]: how many lines from there on */

	if (n < UINT16_MAX && m < UINT16_MAX && (n + 1) * columns <= MAX_CELLS) {
		common = arena_array(a, (n + 1) * columns, sizeof(*common), e);
		if (!common)
			return err_result(e);
	}
	for (size_t r = common ? n : 0; r-- > 0;)
		for (size_t c = m; c-- > 0;)
			common[r * columns + c] =
				str_eq(old->items[r], new->items[c])
					? (uint16_t)(common[(r + 1) * columns + c + 1] + 1)
					: MAX_OF(common[(r + 1) * columns + c],
						 common[r * columns + c + 1]);
	while (i < n || k < m) {
		bool is_same = common && i < n && k < m && str_eq(old->items[i], new->items[k]);
		bool removes = i < n &&
			       (k == m || !common ||
				common[(i + 1) * columns + k] >= common[i * columns + k + 1]);
		struct str line = is_same || removes ? old->items[i] : new->items[k];

		if (add(a, out, is_same ? ' ' : removes ? '-' : '+', line, e) < 0)
			return err_result(e);
		i += is_same || removes;
		k += is_same || !removes;
	}
	return 0;
}

static bool is_near_change(const struct diff *all, size_t at)
{
	size_t from = at < CONTEXT ? 0 : at - CONTEXT;

	for (size_t i = from; i < all->count && i <= at + CONTEXT; i++)
		if (all->items[i].mark != ' ')
			return true;
	return false;
}

int diff_find(struct arena *a, struct str old, struct str new, struct diff *out, struct err *e)
{
	struct lines left = { .items = NULL }, right = { .items = NULL };
	struct diff all = { .items = NULL };
	bool was_shown = true;

	*out = (struct diff){ .items = NULL };
	if (split(a, old, &left, e) < 0 || split(a, new, &right, e) < 0 ||
	    compare(a, &left, &right, &all, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < all.count; i++) {
		bool is_shown = is_near_change(&all, i);

		if (is_shown && !was_shown && add(a, out, '@', STR_EMPTY, e) < 0)
			return err_result(e);
		if (is_shown && add(a, out, all.items[i].mark, all.items[i].text, e) < 0)
			return err_result(e);
		was_shown = is_shown;
	}
	return 0;
}
