/* SPDX-License-Identifier: MIT */
/*
 * A pattern, a newline, a path. The short ways, the automaton and, for small
 * inputs, the slow matcher must agree; nothing may take long.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "../support/slow_glob.h"
#include "base/arena.h"
#include "base/glob.h"
#include "base/glob_internal.h"

/* The slow matcher tries everything: more stars than this would take forever. */
enum { SLOW_PATTERN = 24, SLOW_PATH = 16, LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_error(const struct err *e)
{
	demand(e->code == ERR_SYNTAX || e->code == ERR_LIMIT);
	demand(e->text[0] != '\0');
}

/* What both ways say; the time of a match is bounded by the product of the lengths. */
static void check_match(const struct glob *g, struct str path)
{
	const struct glob_nfa *nfa = glob_get_nfa(g);
	int deepest = glob_match_deepest(g, path);

	demand(glob_match(g, path) == glob_nfa_match(nfa, path));
	demand(deepest == glob_nfa_match_deepest(nfa, path));
	demand(glob_may_match_below(g, path) == glob_nfa_may_match_below(nfa, path));
	demand(!glob_match(g, path) || deepest >= 0);
}

static void check_slow(const struct glob *g, struct str pattern, struct str path)
{
	static struct slow_glob slow;
	struct slow_path parts;
	bool ok = slow_parse(pattern.p, pattern.len, &slow);
	int deepest;

	if (slow.too_many)
		return;
	demand(ok == (g != NULL));
	if (!g || path.len > SLOW_PATH)
		return;
	slow_split(path.p, path.len, &parts);
	deepest = slow_deepest(&slow, &parts);
	demand(glob_match_deepest(g, path) == deepest);
	demand(glob_match(g, path) == (deepest == (int)parts.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct str pattern = str_first(input, str_find(input, '\n'));
	struct str path = str_from(input, pattern.len + 1);
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	const struct glob *g;
	clock_t began = clock();

	g = glob_parse(&a, pattern, &e);
	if (!g)
		check_error(&e);
	else
		check_match(g, path);
	demand(clock() - began < 5 * CLOCKS_PER_SEC);
	if (pattern.len <= SLOW_PATTERN && !str_has_nul(pattern))
		check_slow(g, pattern, path);
	demand(glob_literal_prefix(pattern) <= pattern.len);
	demand(!glob_is_special(str_first(pattern, glob_literal_prefix(pattern))));
	return 0;
}
