/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a patch, and as the file that it changes: what is before the first NUL, if there is
 * one. What is refused must say why; a change may neither lose the file's other lines nor add bytes
 * that are neither in the patch nor in the file.
 */
#include <stdint.h>
#include <stdlib.h>

#include "patch/patch.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
	if (e->code == ERR_OK || e->code == ERR_INTERNAL || !e->text[0])
		abort();
}

static size_t count_text(struct str s)
{
	size_t count = 0;

	for (size_t i = 0; i < s.len; i++)
		count += s.p[i] != '\n' && s.p[i] != '\r';
	return count;
}

/* The bytes of the lines that a chunk removes, and adds, without their ends. */
static void count_changes(const struct patch_chunk *chunk, size_t *removed, size_t *added)
{
	struct str body = chunk->body, line;

	while (patch_next_line(&body, &line)) {
		if (line.len && line.p[0] == '-')
			*removed += count_text(str_from(line, 1));
		else
			*added += count_text(str_from(line, 1));
	}
}

static void check_update(const struct patch *patch, const struct patch_hunk *hunk, struct str file,
			 struct str result)
{
	size_t removed = 0, added = 0, before = count_text(file), after = count_text(result);
	bool is_pure = true;

	for (size_t i = 0; i < hunk->chunk_count; i++) {
		const struct patch_chunk *chunk = &patch->chunks.items[hunk->first_chunk + i];

		count_changes(chunk, &removed, &added);
		is_pure = is_pure && chunk->old_count == 0;
	}
	/* Lines that are only added leave all that was there in front of them. */
	if (is_pure && (!str_has_prefix(result, file) || after != before + added))
		abort();
	if (after > before + added)
		abort();
	if (result.len && result.p[result.len - 1] != '\n' && result.p[result.len - 1] != '\r' &&
	    !str_eq(result, STR("\xEF\xBB\xBF")))
		abort();
}

static void check_hunk(const struct patch *patch, const struct patch_hunk *hunk, struct str file)
{
	scoped_buf out = BUF_INIT(LIMIT_BYTES);
	struct patch_allowance allowance = PATCH_ALLOWANCE_INIT;
	struct err e = ERR_INIT;

	if (!hunk->path.len || str_has_nul(hunk->path) || str_has_nul(hunk->to))
		abort();
	if (hunk->kind == PATCH_ADD) {
		if (patch_add_text(hunk, &out, &e) < 0)
			check_error(&e);
	} else if (hunk->kind == PATCH_UPDATE) {
		if (!hunk->chunk_count)
			abort();
		if (patch_update_text(patch, hunk, file, &allowance, &out, &e) < 0)
			check_error(&e);
		else
			check_update(patch, hunk, file, buf_str(&out));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct str file = str_first(text, str_find(text, '\0'));
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
	struct err e = ERR_INIT;
	struct patch patch;

	if (file.len < text.len)
		text = str_from(text, file.len + 1);
	if (patch_parse(&a, text, &patch, &e) < 0) {
		check_error(&e);
		return 0;
	}
	for (size_t i = 0; i < patch.hunks.count; i++)
		check_hunk(&patch, &patch.hunks.items[i], file);
	return 0;
}
