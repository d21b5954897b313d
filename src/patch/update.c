/* SPDX-License-Identifier: MIT */
/* What a hunk makes of the contents of a file. First all places are found, then it is written. */
#include "patch/lines.h"
#include "patch/patch.h"

/* Where the lines of a chunk go. */
struct placement {
	const struct patch_chunk *chunk;
	size_t start;
	/* How many lines there it replaces, and by how many; the rest of the chunk is left out. */
	size_t old_count, new_count;
};

struct update {
	struct lines lines;
	VEC(struct placement) placements;
	size_t from; /* the next chunk is looked for from this line on */
	/* The old lines of a chunk, as many as the file could have. */
	struct str *block;
	size_t block_room;
	const struct patch_hunk *hunk;
};

/* ---- Finding places -------------------------------------------------------- */

static char take_line(struct str *body, struct str *out)
{
	char mark;

	if (!patch_next_line(body, out))
		return 0;
	mark = out->len ? out->p[0] : ' ';
	*out = str_from(*out, 1);
	return mark;
}

/* The old lines of the chunk; and whether its last old, and last new, lines are empty. */
static size_t list_old_lines(struct update *u, const struct patch_chunk *chunk, bool *is_old_blank,
			     bool *is_new_blank)
{
	struct str body = chunk->body, line;
	size_t count = 0;
	char mark;

	*is_old_blank = *is_new_blank = false;
	while ((mark = take_line(&body, &line))) {
		if (mark != '+') {
			if (count < u->block_room)
				u->block[count] = line;
			count++;
			*is_old_blank = !line.len;
		}
		if (mark != '-')
			*is_new_blank = !line.len;
	}
	return count;
}

/* People and programs see the file and the hunk; the headline is what other programs print. */
static int fail_chunk(const struct update *u, const struct patch_chunk *chunk, struct err *e)
{
	err_add_line(e, "this is chunk %u of hunk %u, at line %u of the patch",
		     (unsigned)chunk->place.chunk, (unsigned)chunk->place.hunk,
		     (unsigned)chunk->place.line);
	if (u->from > 0)
		err_add_line(e, "it was looked for from line %zu of the file on", u->from + 1);
	return err_result(e);
}

static int refuse_block(const struct update *u, const struct patch_chunk *chunk, size_t count,
			struct err *e)
{
	enum { SHOWN_LINES = 12 };
	int result = FAIL_CAUSE(e, CAUSE_PATCH_MISMATCH,
				"Failed to find expected lines in %.*s:", STR_ARG(u->hunk->path));

	size_t shown = MIN_OF(MIN_OF(count, u->block_room), SHOWN_LINES);

	for (size_t i = 0; i < shown; i++)
		err_add_line(e, "%.*s", STR_ARG(u->block[i]));
	if (count > shown)
		err_add_line(e, "... and %zu lines more", count - shown);
	return result < 0 ? fail_chunk(u, chunk, e) : result;
}

static int seek_context(struct update *u, const struct patch_chunk *chunk, struct err *e)
{
	struct block block = { &chunk->context, 1 };
	size_t place;
	int result = lines_find(&u->lines, block, u->from, false, &place, e);

	if (result < 0)
		return fail_chunk(u, chunk, e);
	if (!lines_is_found(&u->lines, place)) {
		err_fail_cause(e, ERR_HERE, CAUSE_PATCH_MISMATCH, 0,
			       "Failed to find context '%.*s' in %.*s", STR_ARG(chunk->context),
			       STR_ARG(u->hunk->path));
		return fail_chunk(u, chunk, e);
	}
	u->from = place + 1;
	return 0;
}

static int place_chunk(struct update *u, const struct patch_chunk *chunk, struct err *e)
{
	struct placement *placement, found = { chunk, u->lines.count, 0, chunk->new_count };
	bool is_old_blank, is_new_blank;
	size_t count = list_old_lines(u, chunk, &is_old_blank, &is_new_blank);
	struct block block = { u->block, count };
	int result;

	if (chunk->has_context && seek_context(u, chunk, e) < 0)
		return err_result(e);
	if (count > u->block_room)
		return refuse_block(u, chunk, count, e);
	if (count) {
		result = lines_find(&u->lines, block, u->from, chunk->is_at_end, &found.start, e);
		/* An empty last line may stand for the end of the file's last line. */
		if (result == 0 && !lines_is_found(&u->lines, found.start) && is_old_blank) {
			block.count--;
			found.new_count -= is_new_blank;
			result = lines_find(&u->lines, block, u->from, chunk->is_at_end,
					    &found.start, e);
		}
		if (result < 0)
			return fail_chunk(u, chunk, e);
		if (!lines_is_found(&u->lines, found.start))
			return refuse_block(u, chunk, count, e);
		found.old_count = block.count;
		u->from = found.start + block.count;
	}
	placement = VEC_PUSH(u->lines.a, &u->placements, e);
	if (!placement)
		return err_result(e);
	*placement = found;
	return 0;
}

/* ---- Writing --------------------------------------------------------------- */

/* The lines from `first` to `end` as they are; a line without an end gets one. */
static void copy_lines(const struct update *u, size_t first, size_t end, struct buf *out)
{
	const struct lines *lines = &u->lines;

	if (first >= end)
		return;
	buf_add(out, (struct str){ lines->text.p + lines->starts[first],
				   lines->starts[end] - lines->starts[first] });
	if (end == lines->count && lines_is_cut(lines))
		buf_add(out, lines->ending);
}

static void write_placement(const struct update *u, const struct placement *p, struct buf *out)
{
	struct str body = p->chunk->body, line;
	size_t old_number = 0, new_number = 0;
	char mark;

	while ((mark = take_line(&body, &line))) {
		bool is_old = mark != '+' && old_number < p->old_count;
		bool is_new = mark != '-' && new_number < p->new_count;

		/* The file's own line stays: the patch's may differ in white space. */
		if (mark == ' ' && is_old && is_new) {
			copy_lines(u, p->start + old_number, p->start + old_number + 1, out);
		} else if (is_new) {
			buf_add(out, line);
			buf_add(out, u->lines.ending);
		}
		old_number += mark != '+';
		new_number += mark != '-';
	}
}

/* Placements are in order, but that lines without a place go behind the last line of the file. */
static void write_text(const struct update *u, struct buf *out)
{
	const struct lines *lines = &u->lines;
	size_t next = 0;

	buf_add(out, str_first(lines->text, lines->bom_bytes));
	for (size_t i = 0; i < u->placements.count; i++) {
		const struct placement *p = &u->placements.items[i];

		if (p->start == lines->count)
			continue;
		copy_lines(u, next, p->start, out);
		write_placement(u, p, out);
		next = p->start + p->old_count;
	}
	copy_lines(u, next, lines->count, out);
	for (size_t i = 0; i < u->placements.count; i++) {
		if (u->placements.items[i].start == lines->count)
			write_placement(u, &u->placements.items[i], out);
	}
}

int patch_update_text(const struct patch *patch, const struct patch_hunk *hunk, struct str text,
		      struct patch_allowance *allowance, struct buf *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(PATCH_UPDATE_ARENA_BYTES);
	const struct patch_chunk *chunks = patch->chunks.items + hunk->first_chunk;
	struct update u = { .hunk = hunk };
	size_t most = 1;
	int result = lines_init(&u.lines, &a, text, allowance, e);

	for (size_t i = 0; i < hunk->chunk_count; i++)
		most = MAX_OF(most, chunks[i].old_count);
	u.block_room = MIN_OF(most, u.lines.count + 1);
	u.block = result == 0 ? arena_array(&a, u.block_room, sizeof(*u.block), e) : NULL;
	if (!u.block)
		return err_wrap(e, "Failed to update %.*s", STR_ARG(hunk->path));
	for (size_t i = 0; i < hunk->chunk_count; i++) {
		result = place_chunk(&u, &chunks[i], e);
		if (result < 0)
			return result;
	}
	write_text(&u, out);
	return buf_check(out, e);
}

int patch_add_text(const struct patch_hunk *hunk, struct buf *out, struct err *e)
{
	struct str body = hunk->body, line;

	while (patch_next_line(&body, &line)) {
		buf_add(out, str_from(line, 1));
		buf_add_char(out, '\n');
	}
	return buf_check(out, e);
}
