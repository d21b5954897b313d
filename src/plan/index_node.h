/* SPDX-License-Identifier: MIT */
/* Shared by index_build.c and index.c; nothing else includes this. */
#pragma once

#include "plan/index.h"

#define INDEX_NONE UINT32_MAX

struct node {
	const char *label; /* the components from the parent to here, no slash at either end */
	uint32_t label_len;
	uint32_t path_len;    /* of the whole path, 0 for "/" */
	uint32_t depth;	      /* components of the whole path */
	uint32_t parent;      /* the root's is itself */
	uint32_t first_child; /* children are adjacent, in order */
	uint32_t child_count;
	uint32_t skip;		  /* leading bytes that the labels of all children share */
	uint32_t place;		  /* INDEX_NONE: only a fork, no rule has this path */
	uint32_t first_effective; /* the rules here that can decide, in index.effective */
	uint32_t effective_count;
	uint32_t glob_count;	/* the last rules of the place */
	uint32_t glob_node;	/* the nearest node upwards, itself included, that has globs */
	uint32_t lifts;		/* the most that an entry here lifts of ":secrets" (P7) */
	uint32_t write_depth;	/* of the deepest explicit write entry on the way, plus 1; or 0 */
	struct verdict verdict; /* here and below, where no glob matches and there is no child */
};

struct index {
	const struct rule *rules; /* the rules that it was built from */
	/* their paths as they are compared; NULL where the host's names do not fold */
	const struct str *folded;
	bool has_table; /* that form is upcase_in()'s, else fold_in()'s */
	/* of the same rules by their folded forms, which narrows besides; NULL: none */
	const struct index *also;
	size_t rule_count;
	uint32_t layer_count;
	uint32_t place_count;
	struct rule fallback;	  /* for a path that no entry covers */
	const struct node *nodes; /* [0] is "/" */
	const uint64_t *keys;	  /* of nodes: see index_key() */
	/* Positions in `rules`: */
	const uint32_t *sorted;	      /* by path; of one path the globs last */
	const uint32_t *effective;    /* see struct node */
	const uint32_t *places;	      /* the first rule of each distinct path */
	const uint32_t *place_starts; /* in `sorted`; place_count + 1 of them */
};

/* The path of a rule as the index compares it. */
static inline struct str index_path(const struct index *x, uint32_t rule)
{
	return x->folded ? x->folded[rule] : x->rules[rule].path;
}

/*
 * Up to eight bytes of the first component of `label`, from `skip` on, as a number that sorts in
 * the same order. Siblings are searched by it; `label` may be longer.
 */
static inline uint64_t index_key(const char *label, size_t len, size_t skip)
{
	uint64_t key = 0;
	size_t i = skip;

	for (; i < len && i < skip + 8 && label[i] != '/'; i++)
		key = key << 8 | (unsigned char)label[i];
	return i == skip ? 0 : key << (8 * (skip + 8 - i));
}

/*
 * What the rules from `node` upwards say about `path`, computed step by step as plan.h describes.
 * It is slow, but handles globs and any number of layers.
 */
struct verdict index_tally(const struct index *x, const struct node *node, struct str path,
			   bool with_globs, uint32_t layers) NONNULL;
