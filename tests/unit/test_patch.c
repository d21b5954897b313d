/* SPDX-License-Identifier: MIT */
#include "patch/lines.h"
#include "patch/parse.h"
#include "patch/patch.h"
#include "test.h"

enum { ROOM_BYTES = 1 << 20 };

/* What the first hunk of the patch, an update, makes of `text`; NULL with an error. */
static const char *update(const char *patch_text, const char *text, struct buf *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
	struct patch_allowance allowance = PATCH_ALLOWANCE_INIT;
	struct patch patch;

	err_clear(e);
	buf_clear(out);
	if (patch_parse(&a, str_of(patch_text), &patch, e) < 0 ||
	    patch_update_text(&patch, patch.hunks.items, str_of(text), &allowance, out, e) < 0)
		return NULL;
	return buf_str(out).p;
}

/* With the lines of an update alone. */
static const char *change(const char *body, const char *text, struct buf *out, struct err *e)
{
	scoped_buf patch = BUF_INIT(ROOM_BYTES);

	buf_printf(&patch, "*** Begin Patch\n*** Update File: f\n%s*** End Patch\n", body);
	return update(buf_str(&patch).p, text, out, e);
}

static bool becomes(const char *body, const char *text, const char *want)
{
	scoped_buf out = BUF_INIT(ROOM_BYTES);
	struct err e = ERR_INIT;
	const char *got = change(body, text, &out, &e);
	bool ok = got && strcmp(got, want) == 0;

	if (!ok)
		printf("#   '%s'\n#   to '%s' gave '%s' (%s), want '%s'\n", body, text,
		       got ? got : "an error", e.text, want);
	return ok;
}

static bool is_missed(const char *body, const char *text)
{
	scoped_buf out = BUF_INIT(ROOM_BYTES);
	struct err e = ERR_INIT;

	return !change(body, text, &out, &e) && e.cause == CAUSE_PATCH_MISMATCH && !out.len;
}

/* The line that the error names, 0 if none; -1 when the patch is accepted. */
static int refused_line(const char *text)
{
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
	struct err e = ERR_INIT;
	struct patch patch;
	const char *place;

	if (patch_parse(&a, str_of(text), &patch, &e) == 0)
		return -1;
	if (e.cause != CAUSE_PATCH_SYNTAX)
		return -2;
	place = strstr(e.text, "hunk on line ");
	return place ? atoi(place + strlen("hunk on line ")) : 0;
}

TEST(every_kind_of_hunk_is_read)
{
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
	scoped_buf out = BUF_INIT(ROOM_BYTES);
	struct err e = ERR_INIT;
	struct patch p;

	REQUIRE(patch_parse(&a,
			    STR("*** Begin Patch\n*** Add File: a b\n+one\n+\n+two\n*** Delete "
				"File: d\n"
				"*** Update File: u\n*** Move to: m\n@@ def f():\n-x\n+y\n@@\n z\n"
				"*** End of File\n*** End Patch\n"),
			    &p, &e) == 0);
	REQUIRE(p.hunks.count == 3 && p.chunks.count == 2);
	CHECK(p.hunks.items[0].kind == PATCH_ADD && str_is(p.hunks.items[0].path, "a b"));
	CHECK(p.hunks.items[1].kind == PATCH_DELETE && str_is(p.hunks.items[1].path, "d"));
	CHECK(p.hunks.items[2].kind == PATCH_UPDATE && str_is(p.hunks.items[2].path, "u"));
	CHECK(str_is(p.hunks.items[2].to, "m"));
	CHECK(p.chunks.items[0].has_context && str_is(p.chunks.items[0].context, "def f():"));
	CHECK(!p.chunks.items[0].is_at_end && p.chunks.items[1].is_at_end);
	CHECK_INT(p.hunks.items[2].place.line, 7);
	CHECK_INT(p.chunks.items[1].place.line, 12);
	CHECK_INT(p.chunks.items[1].place.chunk, 2);
	CHECK(patch_add_text(p.hunks.items, &out, &e) == 0);
	CHECK_STR(buf_str(&out).p, "one\n\ntwo\n");
}

TEST(lenient_forms_are_read_as_the_strict_one)
{
	static const char *const forms[] = {
		"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch",
		"\n\n  *** Begin Patch  \n  *** Update File: f  \n@@  \n-a\n+b\n *** End Patch "
		"\n\n",
		"*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n",
		"<<EOF\n*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\nEOF\n",
		"<<'EOF'\n*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\nEOF",
		"<<\"EOF\"\n*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\n EOF\n",
		"*** Begin Patch\n*** Environment ID: x\n*** Update File: f\n-a\n+b\n*** End Patch",
		"*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End of File\n\n\n*** End Patch",
	};
	struct err e = ERR_INIT;

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		scoped_buf out = BUF_INIT(ROOM_BYTES);

		CHECK_STR(update(forms[i], "a\n", &out, &e), "b\n");
	}
}

TEST(a_malformed_patch_is_refused_with_its_line)
{
	static const struct {
		const char *text;
		int line;
	} cases[] = {
		{ "", 0 },
		{ "bad", 0 },
		{ "*** Begin Patch\n*** Delete File: f", 0 },
		{ "*** Begin Patch\n*** End Patch", 0 },
		{ "*** Begin Patch\n*** Delete File: f\n*** End Patch\n*** End Patch", 0 },
		{ "<<OTHER\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nEOF", 0 },
		{ "<<EOF\n*** Begin Patch\n*** Delete File: f\n*** End Patch\nOTHER", 0 },
		{ "*** Begin Patch\n*** Environment ID:  \n*** Delete File: f\n*** End Patch", 0 },
		{ "*** Begin Patch\n*** Frobnicate File: f\n*** End Patch", 2 },
		{ "*** Begin Patch\n*** Add File:\n*** End Patch", 2 },
		{ "*** Begin Patch\n*** Add File: f\nno plus\n*** End Patch", 3 },
		{ "*** Begin Patch\n*** Delete File: f\n+more\n*** End Patch", 3 },
		{ "*** Begin Patch\n*** Update File: f\n*** End Patch", 2 },
		{ "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch", 2 },
		{ "*** Begin Patch\n*** Update File: f\n*** Delete File: g\n*** End Patch", 2 },
		{ "*** Begin Patch\n*** Update File: f\n@@\n*** End Patch", 4 },
		{ "*** Begin Patch\n*** Update File: f\n@@\n@@\n-a\n*** End Patch", 4 },
		{ "*** Begin Patch\n*** Update File: f\n@@\n*** End of File\n*** End Patch", 4 },
		{ "*** Begin Patch\n*** Update File: f\n@@\nbad\n*** End Patch", 4 },
		{ "*** Begin Patch\n*** Update File: f\n-a\nbad\n*** End Patch", 4 },
		{ "*** Begin Patch\n*** Update File: f\n-a\n*** End of File\n+b\n*** End Patch",
		  5 },
	};
	struct err e = ERR_INIT;
	struct patch patch;
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		int line = refused_line(cases[i].text);

		if (!CHECK_INT(line, cases[i].line))
			printf("#   %s\n", cases[i].text);
	}
	CHECK(patch_parse(&a, STR("*** Begin Patch\n*** Delete File: a\0b\n*** End Patch"), &patch,
			  &e) < 0);
	CHECK_INT(e.cause, CAUSE_PATCH_SYNTAX);
	CHECK(patch_parse(&a, STR("*** Begin Patch\n*** Delete File: \xff\n*** End Patch"), &patch,
			  &e) < 0);
	CHECK_INT(e.cause, CAUSE_PATCH_SYNTAX);
}

TEST(indented_marks_in_an_update_are_context)
{
	CHECK(becomes(" *** Delete File: g\n-a\n+b\n", "*** Delete File: g\na\n",
		      "*** Delete File: g\nb\n"));
}

TEST(chunks_change_their_lines_in_order)
{
	CHECK(becomes("@@\n-b\n+B\n@@\n-d\n+D\n", "a\nb\nc\nd\n", "a\nB\nc\nD\n"));
	CHECK(becomes("@@\n-x\n+1\n@@\n-x\n+2\n", "x\nx\nx\n", "1\n2\nx\n"));
	CHECK(becomes("@@\n a\n-b\n c\n", "a\nb\nc\n", "a\nc\n"));
	CHECK(becomes("@@\n-a\n-b\n+b\n+b\n+a\n", "a\nb\n", "b\nb\na\n"));
	CHECK(becomes("@@\n-a\n", "a\n", ""));
	CHECK(becomes("@@ def g\n-x\n+y\n", "def f\nx\ndef g\nx\n", "def f\nx\ndef g\ny\n"));
	CHECK(becomes("@@\n-a\n+A\n\n-b\n+B\n", "a\n\nb\n", "A\n\nB\n"));
	CHECK(is_missed("@@\n-d\n+D\n@@\n-b\n+B\n", "a\nb\nc\nd\n"));
	CHECK(is_missed("@@ def h\n-x\n+y\n", "def f\nx\n"));
	CHECK(is_missed("@@\n-a\n-b\n-c\n", "a\nb\n"));
	CHECK(is_missed("@@\n-a\n", ""));
}

TEST(lines_without_a_place_go_to_the_end)
{
	CHECK(becomes("@@\n+b\n+c\n", "a\n", "a\nb\nc\n"));
	CHECK(becomes("@@\n+b\n", "", "b\n"));
	CHECK(becomes("@@\n+b\n", "a", "a\nb\n"));
	CHECK(becomes("@@\n+c\n@@\n-a\n+A\n", "a\nb\n", "A\nb\nc\n"));
	CHECK(becomes("@@ a\n+c\n", "a\nb\n", "a\nb\nc\n"));
}

TEST(an_end_of_file_chunk_matches_the_last_lines_alone)
{
	CHECK(becomes("@@\n-a\n+b\n*** End of File\n", "a\nx\na\n", "a\nx\nb\n"));
	CHECK(is_missed("@@\n-a\n+b\n*** End of File\n", "a\nx\n"));
	CHECK(is_missed("@@\n-a\n+1\n@@\n-a\n+2\n*** End of File\n", "a\n"));
}

TEST(the_strictest_match_counts)
{
	CHECK(becomes("@@\n-a\n+b\n", " a\na \na\n", " a\na \nb\n"));
	CHECK(becomes("@@\n-a\n+b\n", " a\na \n", " a\nb\n"));
	CHECK(becomes("@@\n-  a\n+b\n", "\ta\t\n", "b\n"));
	CHECK(becomes("@@\n-x - 'y' \"z\"\n+b\n",
		      "x\xC2\xA0\xE2\x80\x94 \xE2\x80\x98y\xE2\x80\x99 \xE2\x80\x9Cz\xE2\x80\x9D\n",
		      "b\n"));
	/* White space at the end of a line is any of Unicode's. */
	CHECK(becomes("@@\n-a\n+b\n", "a\xE3\x80\x80\n", "b\n"));
	CHECK(is_missed("@@\n-a\n+b\n", "a\xE3\x80\n"));
	/* A context line that differs stays as it is in the file. */
	CHECK(becomes("@@\n a\n-b\n+c\n", "\ta \nb\n", "\ta \nc\n"));
}

TEST(an_empty_last_line_may_stand_for_the_end_of_the_file)
{
	CHECK(becomes("@@\n-a\n-\n+b\n+\n", "x\na\n", "x\nb\n"));
	CHECK(becomes("@@\n a\n-b\n+c\n\n", "a\nb\n", "a\nc\n"));
	CHECK(becomes("@@\n\n+a\n", "x\n", "\na\nx\n"));
	CHECK(becomes("@@\n\n-\n", "a\n\nb\n", "a\nb\n") || is_missed("@@\n\n-\n", "a\n\nb\n"));
}

TEST(line_ends_are_kept)
{
	CHECK(becomes("@@\n-one\n+ONE\n two\n+x\n three\n", "one\r\ntwo\r\nthree\r\n",
		      "ONE\r\ntwo\r\nx\r\nthree\r\n"));
	CHECK(becomes("@@\n one\n two\n-three\n+T\n four\n", "one\r\ntwo\rthree\nfour\r\n",
		      "one\r\ntwo\rT\r\nfour\r\n"));
	CHECK(becomes("@@\n-one\n+uno\n", "one\rtwo\r", "uno\rtwo\r"));
	CHECK(becomes("@@\n-one\n+ONE\n", "one\r\ntwo", "ONE\r\ntwo\r\n"));
	CHECK(becomes("@@\n-same\n same\n", "same\r\nsame\n", "same\n"));
	CHECK(becomes("@@\n+new\n", "a\r\n\r\n", "a\r\n\r\nnew\r\n"));
	CHECK(becomes("@@\n-no\n+yes\n", "no", "yes\n"));
}

TEST(a_bom_and_bytes_that_are_not_text_stay)
{
	CHECK(becomes("@@\n-a\n+b\n",
		      "\xEF\xBB\xBF"
		      "a\n",
		      "\xEF\xBB\xBF"
		      "b\n"));
	CHECK(becomes("@@\n+b\n", "\xEF\xBB\xBF",
		      "\xEF\xBB\xBF"
		      "b\n"));
	CHECK(becomes("@@\n-a\n+b\n", "\xE9\xFF\na\n", "\xE9\xFF\nb\n"));
}

TEST(an_error_names_file_chunk_hunk_and_line)
{
	scoped_buf out = BUF_INIT(ROOM_BYTES);
	struct err e = ERR_INIT;

	REQUIRE(!update("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n@@\n-c\n*** End Patch",
			"a\n", &out, &e));
	CHECK(strstr(e.text, "Failed to find expected lines in f:; c") != NULL);
	CHECK(strstr(e.text, "chunk 2 of hunk 1, at line 6 of the patch") != NULL);
	REQUIRE(!update("*** Begin Patch\n*** Update File: f\n@@ g\n-a\n*** End Patch", "a\n", &out,
			&e));
	CHECK(strstr(e.text, "Failed to find context 'g' in f; ") != NULL);
	CHECK(strstr(e.text, "chunk 1 of hunk 1, at line 3 of the patch") != NULL);
}

/* ---- An oracle ------------------------------------------------------------- */

/* In the order of its letters: "abc" is three lines. */
static const char *const words[] = { "a", "a ", " a", "", "-", "\xE2\x80\x93", " ", "b" };

static bool words_match(size_t a, size_t b, int match)
{
	static const int trimmed_end[] = { 0, 0, 2, 3, 4, 5, 3, 7 };
	static const int trimmed[] = { 0, 0, 0, 3, 4, 5, 3, 7 };
	static const int folded[] = { 0, 0, 0, 3, 4, 4, 3, 7 };

	switch (match) {
	case MATCH_EXACT:
		return a == b;
	case MATCH_TRIMMED_END:
		return trimmed_end[a] == trimmed_end[b];
	case MATCH_TRIMMED:
		return trimmed[a] == trimmed[b];
	default:
		return folded[a] == folded[b];
	}
}

static size_t find_slowly(const size_t *file, size_t n, const size_t *block, size_t m, size_t from,
			  bool is_at_end)
{
	if (m == 0)
		return from;
	if (is_at_end && m <= n)
		from = MAX_OF(from, n - m);
	for (int match = 0; match < MATCH_COUNT; match++) {
		for (size_t at = from; at + m <= n; at++) {
			size_t same = 0;

			while (same < m && words_match(file[at + same], block[same], match))
				same++;
			if (same == m)
				return at;
		}
	}
	return n + 1;
}

TEST(blocks_are_found_where_a_slow_search_finds_them)
{
	uint64_t seed = test_seed();

	for (int round = 0; round < (int)test_cases(200000); round++) {
		scoped_arena a = ARENA_INIT(ROOM_BYTES);
		char text_room[256];
		struct buf text = BUF_OVER(text_room);
		struct patch_allowance allowance = PATCH_ALLOWANCE_INIT;
		struct err e = ERR_INIT;
		struct lines lines;
		struct str block_lines[4];
		size_t file[12], block[4], n = test_random(&seed) % 12;
		size_t m = test_random(&seed) % 4, from = test_random(&seed) % (n + 1), got, want;
		size_t kinds = 1 + test_random(&seed) % COUNT_OF(words);
		bool is_at_end = test_random(&seed) % 4 == 0;

		for (size_t i = 0; i < n; i++) {
			file[i] = test_random(&seed) % kinds;
			buf_printf(&text, "%s\n", words[file[i]]);
		}
		for (size_t i = 0; i < m; i++) {
			block[i] = test_random(&seed) % kinds;
			block_lines[i] = str_of(words[block[i]]);
		}
		REQUIRE(lines_init(&lines, &a, buf_str(&text), &allowance, &e) == 0);
		REQUIRE(lines.count == n);
		REQUIRE(lines_find(&lines, (struct block){ block_lines, m }, from, is_at_end, &got,
				   &e) == 0);
		want = find_slowly(file, n, block, m, from, is_at_end);
		if (got != want) {
			CHECK_INT(got, want);
			return;
		}
	}
	CHECK(true);
}

TEST(white_space_is_trimmed_at_whole_characters)
{
	CHECK(str_is(patch_trim(STR(" \t\xC2\xA0x\xE3\x80\x80\xE2\x80\xA8\r\n")), "x"));
	CHECK(str_is(patch_trim(STR("\xE3\x80")), "\xE3\x80"));
	CHECK(str_is(patch_trim(STR("\x85 x \x80\x80")), "\x85 x \x80\x80"));
	CHECK(str_is(patch_trim(STR(" \xC2\x85\xE1\x9A\x80")), ""));
}

/* ---- Sizes ----------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

TEST(a_patch_of_too_many_hunks_or_bytes_is_refused)
{
	scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
	scoped_buf text = BUF_INIT(PATCH_MAX_BYTES * 2);
	struct err e = ERR_INIT;
	struct patch patch;

	buf_add_text(&text, "*** Begin Patch\n");
	for (int i = 0; i < PATCH_MAX_HUNKS; i++)
		buf_printf(&text, "*** Delete File: %d\n", i);
	buf_add_text(&text, "*** End Patch");
	REQUIRE(patch_parse(&a, buf_str(&text), &patch, &e) == 0);
	CHECK_INT(patch.hunks.count, PATCH_MAX_HUNKS);
	text.len -= strlen("*** End Patch");
	buf_add_text(&text, "*** Delete File: one more\n*** End Patch");
	REQUIRE(patch_parse(&a, buf_str(&text), &patch, &e) < 0);
	CHECK_INT(e.cause, CAUSE_PATCH_LIMIT);
	buf_clear(&text);
	buf_add_text(&text, "*** Begin Patch\n*** Add File: f\n");
	while (text.len <= PATCH_MAX_BYTES)
		buf_add_text(&text, "+0123456789012345678901234567890123456789\n");
	buf_add_text(&text, "*** End Patch");
	REQUIRE(patch_parse(&a, buf_str(&text), &patch, &e) < 0);
	CHECK_INT(e.cause, CAUSE_PATCH_LIMIT);
}

/* Both are as large as they may be, and made so that a simple search compares everything. */
TEST(hostile_patches_take_bounded_time)
{
	static const struct {
		const char *line, *last; /* of the file */
		const char *chunk;
		int lines, chunks;
	} cases[] = {
		/* Only the last kind of comparison finds anything. */
		{ "  a\xE2\x80\x93\n", "", "@@\n-a-\n+b\n", 1000000, 99999 },
		/* All lines are equal, and the block is not there. */
		{ "a\n", "", "@@\n-a\n-a\n-a\n-a\n-b\n", 1000000, 1 },
		{ "a\n", "b\n", "@@\n-a\n-a\n-a\n-a\n-b\n-b\n", 1000000, 1 },
		{ "a\n", "", "@@\n-a\n+a\n", 1000000, 99999 },
		/* Each chunk looks for a context that is at the end. */
		{ "a\nb\n", "c\n", "@@ a\n b\n+x\n", 500000, 99999 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_buf file = BUF_INIT(PATCH_MAX_FILE_BYTES);
		scoped_buf text = BUF_INIT(PATCH_MAX_BYTES);
		scoped_buf out = BUF_INIT(2 * PATCH_MAX_FILE_BYTES);
		scoped_arena a = ARENA_INIT(PATCH_PARSE_ARENA_BYTES);
		struct patch_allowance allowance = PATCH_ALLOWANCE_INIT;
		struct err e = ERR_INIT;
		struct patch patch;
		double start;
		int result;

		for (int n = 0; n < cases[i].lines; n++)
			buf_add_text(&file, cases[i].line);
		buf_add_text(&file, cases[i].last);
		buf_add_text(&text, "*** Begin Patch\n*** Update File: f\n");
		for (int n = 0; n < cases[i].chunks; n++)
			buf_add_text(&text, cases[i].chunk);
		buf_add_text(&text, "*** End Patch\n");
		start = seconds();
		REQUIRE(patch_parse(&a, buf_str(&text), &patch, &e) == 0);
		result = patch_update_text(&patch, patch.hunks.items, buf_str(&file), &allowance,
					   &out, &e);
		CHECK(result == 0 || e.cause == CAUSE_PATCH_LIMIT ||
		      e.cause == CAUSE_PATCH_MISMATCH);
		if (!CHECK(seconds() - start < 20))
			printf("#   case %zu took %.1f s\n", i, seconds() - start);
		printf("# case %zu: %.2f s, %d\n", i, seconds() - start, result);
	}
}
