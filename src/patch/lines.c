/* SPDX-License-Identifier: MIT */
/*
 * See lines.h. A block is looked for at the places of that of its lines which the file has least
 * often: mostly none or one. So a search costs about as much as the block is long, not as the file
 * is. Text made to defeat that (many equal lines, equal hashes) uses up the allowance.
 */
#include "patch/lines.h"
#include "base/utf8.h"
#include "patch/parse.h"

int patch_spend(struct patch_allowance *allowance, uint64_t units, struct err *e)
{
	if (units > allowance->left)
		return FAIL_CAUSE(e, CAUSE_PATCH_LIMIT,
				  "Finding the places of all changes would take too long");
	allowance->left -= units;
	return 0;
}

/* ---- Splitting ------------------------------------------------------------- */

/* The length of the line end at `at`, or 0. */
static size_t end_bytes(struct str text, size_t at)
{
	if (text.p[at] == '\n')
		return 1;
	if (text.p[at] != '\r')
		return 0;
	return at + 1 < text.len && text.p[at + 1] == '\n' ? 2 : 1;
}

/* Where the line that starts at `at` ends; `*end` is its end's length, 0 at the end of the text. */
static size_t find_end(struct str text, size_t at, size_t *end)
{
	*end = 0;
	while (at < text.len && !(*end = end_bytes(text, at)))
		at++;
	return at;
}

static size_t count_lines(struct str text, size_t from)
{
	size_t count = 0, end;

	for (size_t at = from; at < text.len; at += end, count++)
		at = find_end(text, at, &end);
	return count;
}

int lines_init(struct lines *lines, struct arena *a, struct str text,
	       struct patch_allowance *allowance, struct err *e)
{
	size_t at, end, count;
	int result = patch_spend(allowance, text.len + 1, e);

	if (result < 0)
		return result;
	*lines = (struct lines){ .a = a, .allowance = allowance, .text = text };
	lines->bom_bytes = str_has_prefix(text, STR("\xEF\xBB\xBF")) ? 3 : 0;
	lines->ending = STR("\n");
	count = count_lines(text, lines->bom_bytes);
	if (text.len > PATCH_MAX_FILE_BYTES || count > PATCH_MAX_FILE_LINES)
		return FAIL_CAUSE(e, CAUSE_PATCH_LIMIT,
				  "The file has %zu bytes and %zu lines; the most are %d and %d",
				  text.len, count, PATCH_MAX_FILE_BYTES, PATCH_MAX_FILE_LINES);
	lines->starts = arena_array(a, count + 1, sizeof(*lines->starts), e);
	if (!lines->starts)
		return err_result(e);
	for (at = lines->bom_bytes; at < text.len; at += end) {
		lines->starts[lines->count++] = (uint32_t)at;
		at = find_end(text, at, &end);
		if (lines->count == 1 && end)
			lines->ending = (struct str){ text.p + at, end };
	}
	lines->starts[lines->count] = (uint32_t)text.len;
	return 0;
}

struct str lines_get(const struct lines *lines, size_t number)
{
	struct str s = { lines->text.p + lines->starts[number],
			 lines->starts[number + 1] - lines->starts[number] };

	if (s.len > 0 && s.p[s.len - 1] == '\n')
		s.len -= s.len > 1 && s.p[s.len - 2] == '\r' ? 2 : 1;
	else if (s.len > 0 && s.p[s.len - 1] == '\r')
		s.len--;
	return s;
}

bool lines_is_cut(const struct lines *lines)
{
	struct str text = str_from(lines->text, lines->bom_bytes);

	return text.len > 0 && text.p[text.len - 1] != '\n' && text.p[text.len - 1] != '\r';
}

/* ---- Comparing ------------------------------------------------------------- */

static uint32_t fold(uint32_t c)
{
	if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212)
		return '-';
	if (c >= 0x2018 && c <= 0x201B)
		return '\'';
	if (c >= 0x201C && c <= 0x201F)
		return '"';
	if (c == 0xA0 || (c >= 0x2002 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000)
		return ' ';
	return c;
}

/* A byte that is not UTF-8 equals only itself. */
static uint32_t next_folded(struct str s, size_t *at)
{
	uint32_t c;

	if ((unsigned char)s.p[*at] < 0x80)
		return (unsigned char)s.p[(*at)++];
	if (utf8_next(s, at, &c))
		return fold(c);
	return 0x110000u + (unsigned char)s.p[(*at)++];
}

/* The part of a line that counts. */
static struct str compared_part(struct str line, enum line_match match)
{
	if (match == MATCH_EXACT)
		return line;
	return match == MATCH_TRIMMED_END ? patch_trim_end(line) : patch_trim(line);
}

static bool is_same(struct str a, struct str b, enum line_match match)
{
	size_t i = 0, j = 0;

	a = compared_part(a, match);
	b = compared_part(b, match);
	if (match != MATCH_FOLDED)
		return str_eq(a, b);
	while (i < a.len && j < b.len) {
		if (next_folded(a, &i) != next_folded(b, &j))
			return false;
	}
	return i == a.len && j == b.len;
}

/* FNV-1a, mixed at the end because the low bits select the bucket. */
static uint32_t hash_line(struct str line, enum line_match match)
{
	uint64_t hash = 0xcbf29ce484222325u;
	struct str s = compared_part(line, match);

	if (match == MATCH_FOLDED) {
		for (size_t at = 0; at < s.len;)
			hash = (hash ^ next_folded(s, &at)) * 0x100000001b3u;
	} else {
		for (size_t at = 0; at < s.len; at++)
			hash = (hash ^ (unsigned char)s.p[at]) * 0x100000001b3u;
	}
	return (uint32_t)(hash ^ (hash >> 32));
}

/* ---- The index ------------------------------------------------------------- */

static uint32_t mask_for(size_t count)
{
	uint32_t size = 16;

	while (size < count)
		size *= 2;
	return size - 1;
}

static int build_index(struct lines *lines, enum line_match match, struct err *e)
{
	struct line_index *index = &lines->indexes[match];
	uint32_t mask = mask_for(lines->count);
	uint32_t *starts, *positions, *hashes;
	int result = patch_spend(lines->allowance, lines->text.len + mask, e);

	if (result < 0)
		return result;
	starts = arena_array(lines->a, (size_t)mask + 2, sizeof(*starts), e);
	positions = starts ? arena_array(lines->a, lines->count + 1, sizeof(*positions), e) : NULL;
	hashes = positions ? arena_array(lines->a, lines->count + 1, sizeof(*hashes), e) : NULL;
	if (!hashes)
		return err_result(e);
	for (size_t i = 0; i < lines->count; i++) {
		hashes[i] = hash_line(lines_get(lines, i), match);
		starts[(hashes[i] & mask) + 1]++;
	}
	for (size_t i = 0; i <= mask; i++)
		starts[i + 1] += starts[i];
	/* Filling moves each start to the next bucket's; shifting back restores them. */
	for (size_t i = 0; i < lines->count; i++)
		positions[starts[hashes[i] & mask]++] = (uint32_t)i;
	for (size_t i = (size_t)mask + 1; i > 0; i--)
		starts[i] = starts[i - 1];
	starts[0] = 0;
	*index = (struct line_index){ hashes, positions, starts, mask };
	return 0;
}

/* The first of the positions from `first` to `end` that is not before `line`. */
static size_t skip_before(const struct line_index *index, size_t first, size_t end, size_t line)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (index->positions[middle] < line)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* ---- Finding --------------------------------------------------------------- */

struct search {
	struct lines *lines;
	struct block block;
	size_t from;
	enum line_match match;
};

static int is_at(const struct search *s, size_t place, bool *out, struct err *e)
{
	*out = false;
	for (size_t i = 0; i < s->block.count; i++) {
		struct str line = lines_get(s->lines, place + i);
		int result = patch_spend(s->lines->allowance, 1 + line.len / 32, e);

		if (result < 0)
			return result;
		if (!is_same(line, s->block.lines[i], s->match))
			return 0;
	}
	*out = true;
	return 0;
}

/* The line of the block that the file has least often. */
static size_t find_rarest(const struct search *s, uint32_t *hash, size_t *first, size_t *end)
{
	const struct line_index *index = &s->lines->indexes[s->match];
	size_t best = 0;

	*first = 0;
	*end = SIZE_MAX;
	for (size_t i = 0; i<s->block.count && * end> * first; i++) {
		uint32_t h = hash_line(s->block.lines[i], s->match);
		size_t start = index->starts[h & index->mask];
		size_t stop = index->starts[(h & index->mask) + 1];

		if (stop - start >= *end - *first)
			continue;
		best = i;
		*hash = h;
		*first = start;
		*end = stop;
	}
	return best;
}

static int find_matching(const struct search *s, size_t *out, struct err *e)
{
	struct lines *lines = s->lines;
	const struct line_index *index = &lines->indexes[s->match];
	size_t first, end, rarest;
	uint32_t hash = 0;
	bool is_here;
	int result = index->hashes ? 0 : build_index(lines, s->match, e);

	if (result == 0)
		result = patch_spend(lines->allowance, s->block.count, e);
	if (result < 0)
		return result;
	rarest = find_rarest(s, &hash, &first, &end);
	for (first = skip_before(index, first, end, s->from + rarest); first < end; first++) {
		size_t place = index->positions[first] - rarest;

		if (place + s->block.count > lines->count)
			break;
		result = patch_spend(lines->allowance, 1, e);
		if (result == 0 && index->hashes[place + rarest] == hash)
			result = is_at(s, place, &is_here, e);
		else
			is_here = false;
		if (result < 0)
			return result;
		if (is_here) {
			*out = place;
			return 0;
		}
	}
	*out = lines->count + 1;
	return 0;
}

int lines_find(struct lines *lines, struct block block, size_t from, bool is_at_end, size_t *out,
	       struct err *e)
{
	struct search s = { .lines = lines, .block = block, .from = from };
	size_t found = block.count ? lines->count + 1 : from;

	if (block.count == 0 || block.count > lines->count) {
		*out = found;
		return 0;
	}
	if (is_at_end)
		s.from = MAX_OF(from, lines->count - block.count);
	for (int match = MATCH_EXACT; match < MATCH_COUNT; match++) {
		int result;

		s.match = (enum line_match)match;
		result = find_matching(&s, &found, e);
		if (result < 0)
			return result;
		if (lines_is_found(lines, found))
			break;
	}
	*out = found;
	return 0;
}
