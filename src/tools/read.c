/* SPDX-License-Identifier: MIT */
/* The tool read_file. */
#include "tools/open.h"
#include "tools/replace.h"
#include "tools/text.h"

enum {
	DEFAULT_LINES = 2000,
	/* Of one answer: JSON makes some characters six times as long, and it holds the text twice. */
	READ_MAX_BYTES = 512 << 10,
};

struct part {
	struct str text;
	uint64_t first, count, total; /* lines */
	bool is_cut;		      /* there is more behind it */
	bool is_too_long;	      /* its first line alone is */
};

static struct part find_part(struct str text, uint64_t first, uint64_t limit)
{
	struct part p = { .first = first, .text = STR_EMPTY };
	struct str rest = text;
	size_t start = 0, at = 0;

	while (rest.len) {
		size_t len = MIN_OF(str_find(rest, '\n') + 1, rest.len);

		p.total++;
		if (p.total == first)
			start = at;
		if (p.total >= first && p.count < limit && !p.is_cut) {
			if (at + len - start > READ_MAX_BYTES) {
				p.is_cut = true;
				p.is_too_long = p.count == 0;
			} else {
				p.count++;
				p.text = (struct str){ text.p + start, at + len - start };
			}
		}
		at += len;
		rest = str_from(rest, len);
	}
	p.is_cut = p.count > 0 && first + p.count - 1 < p.total;
	return p;
}

static void add_member(struct json_writer *w, const char *name, uint64_t n)
{
	json_key(w, name);
	json_add_int(w, (int64_t)n);
}

static void add_answer(struct call *call, const struct opened *o, const struct text *text,
		       const struct part *p, struct str bytes)
{
	struct json_writer *w = &call->json;
	bool has_end = !text->utf8.len || text->utf8.p[text->utf8.len - 1] == '\n';
	char version[EDIT_VERSION_BYTES];

	edit_version(&o->facts, bytes, version);
	json_key(w, "path");
	json_add_str(w, o->path);
	json_key(w, "content");
	json_add_str(w, p->text);
	json_key(w, "version");
	json_add_text(w, version);
	json_key(w, "encoding");
	json_add_text(w, text_encoding_name(text->encoding));
	json_key(w, "bom");
	json_add_bool(w, text->has_bom);
	json_key(w, "eol");
	json_add_text(w, text_eol_name(text->eol));
	add_member(w, "first_line", p->first);
	add_member(w, "line_count", p->count);
	add_member(w, "total_lines", p->total);
	add_member(w, "bytes", bytes.len);
	json_key(w, "final_newline");
	json_add_bool(w, has_end);
	json_key(w, "truncated");
	json_add_bool(w, p->is_cut);
	if (p->is_cut)
		add_member(w, "next_offset", p->first + p->count);
	buf_add(&call->text, p->text);
	if (p->is_cut)
		buf_printf(&call->text, "\n[lines %llu to %llu of %llu; go on with offset %llu]",
			   (unsigned long long)p->first,
			   (unsigned long long)(p->first + p->count - 1),
			   (unsigned long long)p->total, (unsigned long long)(p->first + p->count));
	else if (!has_end)
		buf_add_text(&call->text, "\n[no newline at the end of the file]");
	if (text->encoding != TEXT_UTF8)
		buf_printf(&call->text, "\n[encoding: %s]", text_encoding_name(text->encoding));
}

int tool_read_file(struct call *call, struct err *e)
{
	scoped_opened o = OPENED_NONE;
	struct str path = STR_EMPTY, bytes;
	int64_t offset = 1, limit = DEFAULT_LINES;
	struct text text;
	struct part p;
	bool is_binary;

	if (call_get_str(call, "path", &path) < 0 ||
	    call_get_int(call, "offset", 1, INT64_MAX, &offset) < 0 ||
	    call_get_int(call, "limit", 1, INT64_MAX, &limit) < 0 ||
	    open_path(call, path, OPEN_READ, &o, e) < 0 ||
	    open_read_all(call, &o, EDIT_MAX_BYTES, &bytes, e) < 0 ||
	    text_decode(call->a, bytes, &text, &is_binary, e) < 0)
		return call_result(call, e);
	if (is_binary)
		return call_refuse(call, REFUSAL_BINARY, "'%.*s' is no text: %zu bytes",
				   STR_ARG(o.path), bytes.len);
	p = find_part(text.utf8, (uint64_t)offset, (uint64_t)limit);
	if (p.is_too_long)
		return call_refuse(call, REFUSAL_TOO_LARGE,
				   "line %lld alone is longer than %d bytes", (long long)offset,
				   READ_MAX_BYTES);
	if (p.total && (uint64_t)offset > p.total)
		return call_refuse(call, REFUSAL_INVALID, "the file has %llu lines",
				   (unsigned long long)p.total);
	add_answer(call, &o, &text, &p, bytes);
	return 0;
}
