/* SPDX-License-Identifier: MIT */
/*
 * A pattern, a newline, a text. Whatever both are: no crash, no long search, and a match that the
 * search for lines agrees with.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/regex.h"

enum { LIMIT_BYTES = 16 << 20, MAX_ASKED = 50 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static int ask(void *user, struct err *e)
{
	return --*(int *)user <= 0 ? FAIL(e, ERR_CANCELLED, "long") : 0;
}

/* Every line that regex_find() finds something in is one that regex_find_line() finds. */
static void check_lines(struct regex_matcher *m, struct str text)
{
	struct regex_span line, span;
	struct err e = ERR_INIT;
	size_t next = 0;

	for (size_t from = 0; from < text.len;) {
		size_t end = from + str_find(str_from(text, from), '\n');

		if (regex_find(m, text, from, end, &span, &e) < 0)
			return;
		demand(!span.is_found ||
		       (span.begin >= from && span.begin <= span.end && span.end <= end));
		if (next <= from) {
			if (regex_find_line(m, text, from, &line, &e) < 0)
				return;
			next = line.is_found ? line.end + 1 : SIZE_MAX;
			demand(!line.is_found || (line.begin >= from && line.end <= text.len));
		}
		demand(span.is_found == (next == end + 1));
		from = end + 1;
	}
}

/* A match is the first one from its own beginning on as well, and none begins before it. */
static void check_span(struct regex_matcher *m, struct str text, const struct regex_span *span)
{
	struct regex_span again;
	struct err e = ERR_INIT;

	if (!span->is_found)
		return;
	demand(span->begin <= span->end && span->end <= text.len);
	if (regex_find(m, text, span->begin, text.len, &again, &e) == 0)
		demand(again.is_found && again.begin == span->begin && again.end == span->end);
	if (regex_find(m, text, 0, span->begin, &again, &e) == 0)
		demand(!again.is_found || again.begin == span->begin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct str pattern = str_first(input, str_find(input, '\n'));
	struct str text = str_from(input, pattern.len + 1);
	int left = MAX_ASKED;
	struct regex_watch watch = { ask, &left };
	clock_t began = clock();

	/* All flags with each input would be slow; its length chooses. */
	for (unsigned flags = size % 4; flags < 8; flags += 4) {
		scoped_arena a = ARENA_INIT(LIMIT_BYTES);
		struct err e = ERR_INIT;
		const struct regex *re = regex_parse(&a, pattern, flags, &e);
		struct regex_matcher *m = re ? regex_matcher_new(re, &watch, &e) : NULL;
		struct regex_span span;

		if (!m) {
			demand(e.cause == CAUSE_REGEX_SYNTAX || e.cause == CAUSE_REGEX_LIMIT);
			continue;
		}
		if (flags & REGEX_LINES)
			check_lines(m, text);
		else if (regex_find(m, text, 0, text.len, &span, &e) == 0)
			check_span(m, text, &span);
		regex_matcher_free(m);
	}
	demand(clock() - began < 20 * CLOCKS_PER_SEC);
	return 0;
}
