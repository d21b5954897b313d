/* SPDX-License-Identifier: MIT */
/* See fold.h. The tables are Unicode's; Hangul is computed as the standard says. */
#include "base/fold.h"

#include "base/fold_table.h"
#include "base/utf8.h"

enum {
	HANGUL_FIRST = 0xAC00,
	HANGUL_COUNT = 11172,
	HANGUL_L = 0x1100,
	HANGUL_V = 0x1161,
	HANGUL_T = 0x11A7,
	HANGUL_V_COUNT = 21,
	HANGUL_T_COUNT = 28,
	MARKS_MAX = 64, /* in a row that are put in order; more are left as they are */
};

static const struct fold_row *find_row(uint32_t c)
{
	size_t low = 0, high = fold_row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fold_rows[middle].c == c)
			return &fold_rows[middle];
		if (fold_rows[middle].c < c)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static uint8_t find_class(uint32_t c)
{
	size_t low = 0, high = fold_marks_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c < fold_marks[middle].first)
			high = middle;
		else if (c > fold_marks[middle].last)
			low = middle + 1;
		else
			return fold_marks[middle].combining;
	}
	return 0;
}

static void add_char(struct buf *out, uint32_t c)
{
	char bytes[4];
	size_t len;

	if (utf8_put(c, bytes, &len))
		buf_add(out, (struct str){ bytes, len });
}

static void add_hangul(struct buf *out, uint32_t c)
{
	uint32_t n = c - HANGUL_FIRST;

	add_char(out, HANGUL_L + n / (HANGUL_V_COUNT * HANGUL_T_COUNT));
	add_char(out, HANGUL_V + n / HANGUL_T_COUNT % HANGUL_V_COUNT);
	if (n % HANGUL_T_COUNT)
		add_char(out, HANGUL_T + n % HANGUL_T_COUNT);
}

/* A run of marks, sorted by class; equal classes keep their order. */
static void put_marks(struct str run, char *out)
{
	struct mark {
		uint32_t c;
		uint8_t class;
	} marks[MARKS_MAX];
	size_t count = 0, at = 0;

	while (at < run.len && count < MARKS_MAX) {
		struct mark mark = { .class = 0 };
		size_t i = count++;

		if (!utf8_next(run, &at, &mark.c))
			return;
		mark.class = find_class(mark.c);
		for (; i > 0 && marks[i - 1].class > mark.class; i--)
			marks[i] = marks[i - 1];
		marks[i] = mark;
	}
	for (size_t i = 0; i < count; i++) {
		char bytes[4];
		size_t len;

		if (!utf8_put(marks[i].c, bytes, &len))
			return;
		memcpy(out, bytes, len);
		out += len;
	}
}

/* Canonical order of the marks in what was added from `from` on. */
static void order_marks(struct buf *out, size_t from)
{
	struct str text = buf_str(out);
	size_t at = from;

	while (at < text.len) {
		size_t start = at, end = at;
		size_t count = 0;
		uint32_t c;

		while (end < text.len && utf8_next(text, &at, &c) && find_class(c)) {
			end = at;
			count++;
		}
		if (count > 1 && count <= MARKS_MAX)
			put_marks(str_first(str_from(text, start), end - start), out->p + start);
		if (at == start) /* a stray byte */
			at++;
	}
}

static bool is_ascii(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

static void add_ascii(struct buf *out, struct str s)
{
	size_t from = out->len;

	buf_add(out, s);
	if (out->failed)
		return;
	for (size_t i = from; i < out->len; i++)
		if (out->p[i] >= 'A' && out->p[i] <= 'Z')
			out->p[i] = (char)(out->p[i] | 0x20);
}

void fold_add(struct buf *out, struct str s)
{
	size_t from = out->len;
	size_t at = 0;

	if (is_ascii(s)) {
		add_ascii(out, s);
		return;
	}
	while (at < s.len) {
		const struct fold_row *row;
		size_t start = at;
		uint32_t c;

		if (!utf8_next(s, &at, &c)) {
			buf_add_char(out, s.p[start]);
			at = start + 1;
			continue;
		}
		row = find_row(c);
		if (c >= HANGUL_FIRST && c < HANGUL_FIRST + HANGUL_COUNT)
			add_hangul(out, c);
		else if (row)
			buf_add(out, (struct str){ fold_bytes + row->at, row->len });
		else
			buf_add(out, str_first(str_from(s, start), at - start));
	}
	if (!out->failed)
		order_marks(out, from);
}

struct str fold_in(struct str s, char room[FOLD_ROOM])
{
	struct buf text = { .p = room, .room = FOLD_ROOM, .max = FOLD_ROOM - 1 };

	fold_add(&text, s);
	return text.failed ? s : buf_str(&text);
}

int fold_copy(struct arena *a, struct str s, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(s.len * FOLD_GROWTH + 1);

	fold_add(&text, s);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

bool fold_is_mark(struct str s, size_t at)
{
	uint32_t c;

	return utf8_next(s, &at, &c) && find_class(c) != 0;
}

void fold_list(unsigned char first, void (*each)(void *arg, uint32_t c, struct str folded),
	       void *arg)
{
	for (size_t i = 0; i < fold_row_count; i++) {
		struct str folded = { fold_bytes + fold_rows[i].at, fold_rows[i].len };

		if ((unsigned char)folded.p[0] == first)
			each(arg, fold_rows[i].c, folded);
	}
}
