/* SPDX-License-Identifier: MIT */
/*
 * What every match of a pattern contains: the longest run of single characters that no choice and
 * no repetition interrupts. A search looks for that first.
 */
#include "base/regex_internal.h"
#include "base/utf8.h"

struct needles {
	struct scan_needle now, best;
	bool is_exact; /* so far the tree is the needle and nothing else */
};

static void end_run(struct needles *n)
{
	if (n->now.len > n->best.len)
		n->best = n->now;
	n->now.len = 0;
}

/* Whether the set is one character, or the two cases of a letter of ASCII. */
static bool get_bytes(const struct regex_set *set, char bytes[4], size_t *len, unsigned char *fold)
{
	const struct regex_range *r = set->items;

	*fold = 0;
	if (set->count == 1 && r[0].first == r[0].last)
		return utf8_put(r[0].first, bytes, len);
	if (set->count != 2 || r[0].first != r[0].last || r[1].first != r[1].last ||
	    r[0].first < 'A' || r[0].first > 'Z' || r[1].first != r[0].first + 32)
		return false;
	bytes[0] = (char)r[1].first;
	*len = 1;
	*fold = 32;
	return true;
}

static void add_set(struct needles *n, const struct regex_set *set)
{
	char bytes[4];
	unsigned char fold;
	size_t len;

	if (!get_bytes(set, bytes, &len, &fold)) {
		n->is_exact = false;
		end_run(n);
		return;
	}
	if (n->now.len + len > SCAN_MAX_BYTES) {
		n->is_exact = false;
		end_run(n);
	}
	for (size_t i = 0; i < len; i++) {
		n->now.bytes[n->now.len] = (unsigned char)bytes[i];
		n->now.fold[n->now.len++] = fold;
	}
}

static void add_node(struct needles *n, const struct regex_node *node)
{
	switch ((enum regex_kind)node->kind) {
	case REGEX_SET:
		add_set(n, node->set);
		break;
	case REGEX_CAT:
		for (const struct regex_node *child = node->first; child; child = child->next)
			add_node(n, child);
		break;
	case REGEX_REPEAT:
		n->is_exact = false;
		if (node->min > 0)
			add_node(n, node->first);
		end_run(n);
		break;
	case REGEX_LOOK:
		n->is_exact = false;
		break;
	case REGEX_ALT:
	case REGEX_ACCEPT:
		n->is_exact = false;
		end_run(n);
		break;
	case REGEX_EMPTY:
	default:
		break;
	}
}

void regex_find_needle(const struct regex_tree *tree, struct regex *out)
{
	struct needles n = { .is_exact = true };

	add_node(&n, tree->root);
	end_run(&n);
	if (!n.best.len)
		return;
	out->needle = n.best;
	out->is_needle = n.is_exact;
	scan_needle_init(&out->needle);
}
