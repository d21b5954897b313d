/* SPDX-License-Identifier: MIT */
/* The tools write_file, replace_in_file and delete_file. */
#include "base/utf8.h"
#include "tools/replace.h"
#include "tools/text.h"

/* ---- What both edits have ------------------------------------------------------------------------ */

static int decode(struct call *call, const struct edit *x, struct text *out, struct err *e)
{
	bool is_binary;

	*out = (struct text){ .utf8 = STR_EMPTY };
	if (x->at.fd < 0)
		return 0;
	if (text_decode(call->a, x->content, out, &is_binary, e) < 0)
		return err_result(e);
	if (is_binary)
		return call_refuse(call, REFUSAL_BINARY, "'%.*s' is no text, so it is not changed",
				   STR_ARG(x->at.path));
	return 0;
}

static void add_str(struct json_writer *w, const char *name, struct str s)
{
	json_key(w, name);
	json_add_str(w, s);
}

static void add_flag(struct json_writer *w, const char *name, bool flag)
{
	json_key(w, name);
	json_add_bool(w, flag);
}

static void add_edited(struct call *call, const struct edit *x, const struct text *text,
		       struct str bytes, bool is_changed)
{
	struct json_writer *w = &call->json;
	char version[EDIT_VERSION_BYTES];

	edit_version(&x->at.facts, bytes, version);
	add_str(w, "path", x->at.path);
	add_str(w, "version", str_of(version));
	add_flag(w, "created", x->made_file);
	add_flag(w, "changed", is_changed);
	json_key(w, "bytes");
	json_add_int(w, (int64_t)bytes.len);
	add_str(w, "encoding", str_of(text_encoding_name(text->encoding)));
	add_str(w, "eol", str_of(text_eol_name(text_find_eol(text->utf8))));
	add_flag(w, "atomic", !x->in_place);
	utf8_add_shown(&call->text, x->at.path);
	buf_printf(&call->text, ": %s, %zu bytes",
		   !is_changed	  ? "nothing to change"
		   : x->made_file ? "created"
				  : "changed",
		   bytes.len);
	if (x->in_place)
		buf_add_text(&call->text, ", in place: it could not be replaced in one step");
}

/* Encodes, writes, and says so. */
static int put(struct call *call, struct edit *x, const struct text *text, struct err *e)
{
	struct str bytes;
	uint32_t bad;
	bool is_changed;

	if (text_encode(call->a, text, &bytes, &bad, e) < 0)
		return err_result(e);
	if (bad)
		return call_refuse(call, REFUSAL_INVALID,
				   "the file is %s, which can't hold U+%04X there; nothing was "
				   "written",
				   text_encoding_name(text->encoding), (unsigned)bad);
	if (bytes.len > EDIT_MAX_BYTES)
		return call_refuse(call, REFUSAL_TOO_LARGE, "a file may have %d MiB",
				   EDIT_MAX_BYTES >> 20);
	is_changed = x->at.fd < 0 || !str_eq(bytes, x->content);
	if (is_changed && (edit_stage(x, bytes, e) < 0 || edit_commit(x, e) < 0))
		return call_result(call, e);
	add_edited(call, x, text, bytes, is_changed);
	return 0;
}

/* ---- write_file ---------------------------------------------------------------------------------- */

static int choose_eol(struct call *call, struct str wanted, const struct text *old,
		      struct text *text, struct err *e)
{
	enum text_eol eol = old->eol;

	if (str_is(wanted, "lf"))
		eol = TEXT_LF;
	else if (str_is(wanted, "crlf"))
		eol = TEXT_CRLF;
	else if (wanted.len && !str_is(wanted, "keep"))
		return call_refuse(call, REFUSAL_INVALID, "eol is keep, lf or crlf");
	if (eol != TEXT_LF && eol != TEXT_CRLF)
		return 0;
	return text_set_eol(call->a, text->utf8, eol, &text->utf8, e);
}

int tool_write_file(struct call *call, struct err *e)
{
	scoped_edit x = EDIT_NONE;
	struct str path = STR_EMPTY, content = STR_EMPTY, version = STR_EMPTY, eol = STR_EMPTY;
	struct text text, old;

	if (call_get_str(call, "path", &path) < 0 || call_get_str(call, "content", &content) < 0 ||
	    call_get_str(call, "if_version", &version) < 0 || call_get_str(call, "eol", &eol) < 0 ||
	    edit_begin(call, path, version, &x, e) < 0 || decode(call, &x, &old, e) < 0)
		return call_result(call, e);
	text = old;
	text.utf8 = content;
	if (choose_eol(call, eol, &old, &text, e) < 0 || put(call, &x, &text, e) < 0)
		return call_result(call, e);
	return 0;
}

/* ---- replace_in_file ------------------------------------------------------------------------------- */

typedef VEC(struct str) span_list;

static int add_span(struct call *call, span_list *list, struct str span, struct err *e)
{
	struct str *item = VEC_PUSH(call->a, list, e);

	if (!item)
		return err_result(e);
	*item = span;
	return 0;
}

static size_t find_text(struct str s, struct str wanted)
{
	size_t at = 0;

	while (s.len - at >= wanted.len) {
		size_t skip = str_find(str_from(s, at), wanted.p[0]);

		if (s.len - at - skip < wanted.len)
			break;
		at += skip;
		if (memcmp(s.p + at, wanted.p, wanted.len) == 0)
			return at;
		at++;
	}
	return s.len;
}

static int find_exact(struct call *call, struct str text, struct str old, span_list *out,
		      struct err *e)
{
	struct str rest = text;

	while (rest.len) {
		size_t at = find_text(rest, old);

		if (at == rest.len)
			break;
		if (add_span(call, out, (struct str){ rest.p + at, old.len }, e) < 0)
			return err_result(e);
		rest = str_from(rest, at + old.len);
	}
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct str trim(struct str s)
{
	while (s.len && is_blank(s.p[0]))
		s = str_from(s, 1);
	while (s.len && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

/* Runs of blanks are one, and those at both ends do not count. */
static bool lines_alike(struct str a, struct str b)
{
	size_t i = 0, j = 0;

	a = trim(a);
	b = trim(b);
	while (i < a.len && j < b.len) {
		if (is_blank(a.p[i]) && is_blank(b.p[j])) {
			while (i < a.len && is_blank(a.p[i]))
				i++;
			while (j < b.len && is_blank(b.p[j]))
				j++;
		} else if (a.p[i++] != b.p[j++]) {
			return false;
		}
	}
	return i == a.len && j == b.len;
}

static int split_lines(struct call *call, struct str text, span_list *out, struct err *e)
{
	struct str line;

	while (str_next_line(&text, &line))
		if (add_span(call, out, line, e) < 0)
			return err_result(e);
	return 0;
}

static bool lines_match(const span_list *text, size_t at, const span_list *old)
{
	for (size_t i = 0; i < old->count; i++)
		if (!lines_alike(text->items[at + i], old->items[i]))
			return false;
	return true;
}

/* Whole lines that differ from those wanted in white space alone. */
static int find_alike(struct call *call, struct str text, struct str old, span_list *out,
		      struct err *e)
{
	span_list lines = { .items = NULL }, wanted = { .items = NULL };
	bool has_end = old.p[old.len - 1] == '\n';

	if (split_lines(call, text, &lines, e) < 0 || split_lines(call, old, &wanted, e) < 0)
		return err_result(e);
	if (!trim(wanted.items[0]).len)
		return 0;
	for (size_t i = 0; i + wanted.count <= lines.count;) {
		const char *from = lines.items[i].p;
		struct str last;
		size_t len;

		if (!lines_match(&lines, i, &wanted)) {
			i++;
			continue;
		}
		last = lines.items[i + wanted.count - 1];
		len = (size_t)(last.p + last.len - from);
		if (has_end)
			len += last.p + last.len < text.p + text.len;
		else if (last.len && last.p[last.len - 1] == '\r')
			len--;
		if (add_span(call, out, (struct str){ from, len }, e) < 0)
			return err_result(e);
		i += wanted.count;
	}
	return 0;
}

static int refuse_no_match(struct call *call, struct str text, struct str old)
{
	struct str rest = text, line, first = str_first(old, str_find(old, '\n'));
	size_t number = 0;

	while (str_next_line(&rest, &line)) {
		number++;
		if (trim(first).len && lines_alike(line, first))
			return call_refuse(call, REFUSAL_INVALID,
					   "'old' does not occur: its first line is like line "
					   "%zu, but what follows differs",
					   number);
	}
	return call_refuse(call, REFUSAL_INVALID,
			   "'old' does not occur, and no line is like its first; read the file "
			   "again");
}

static int join(struct call *call, struct str text, const span_list *spans, struct str new,
		struct str *out, struct err *e)
{
	scoped_buf whole = BUF_INIT((size_t)2 * EDIT_MAX_BYTES);
	const char *at = text.p;

	for (size_t i = 0; i < spans->count; i++) {
		struct str span = spans->items[i];

		buf_add(&whole, (struct str){ at, (size_t)(span.p - at) });
		buf_add(&whole, new);
		at = span.p + span.len;
	}
	buf_add(&whole, (struct str){ at, (size_t)(text.p + text.len - at) });
	if (whole.failed == ERR_LIMIT)
		return call_refuse(call, REFUSAL_TOO_LARGE, "a file may have %d MiB",
				   EDIT_MAX_BYTES >> 20);
	return buf_check(&whole, e) < 0 ? err_result(e)
					: arena_copy(call->a, buf_str(&whole), out, e);
}

struct replacement {
	struct str old, new;
	bool all;
	span_list spans;
	bool is_exact;
};

static int find_spans(struct call *call, struct str text, struct replacement *r, struct err *e)
{
	if (find_exact(call, text, r->old, &r->spans, e) < 0)
		return err_result(e);
	r->is_exact = r->spans.count > 0;
	if (!r->is_exact && find_alike(call, text, r->old, &r->spans, e) < 0)
		return err_result(e);
	if (!r->spans.count)
		return refuse_no_match(call, text, r->old);
	if (r->spans.count > 1 && !r->all)
		return call_refuse(call, REFUSAL_INVALID,
				   "'old' occurs %zu times; give more of what is around it, or "
				   "all = true",
				   r->spans.count);
	return 0;
}

/* The caller need not know which line endings the file has. */
static int adapt_eol(struct call *call, const struct text *text, struct replacement *r,
		     struct err *e)
{
	if (text->eol != TEXT_LF && text->eol != TEXT_CRLF)
		return 0;
	if (text_set_eol(call->a, r->old, text->eol, &r->old, e) < 0)
		return err_result(e);
	return text_set_eol(call->a, r->new, text->eol, &r->new, e);
}

static int replace(struct call *call, struct edit *x, struct replacement *r, struct err *e)
{
	struct text text;

	if (decode(call, x, &text, e) < 0 || adapt_eol(call, &text, r, e) < 0 ||
	    find_spans(call, text.utf8, r, e) < 0 ||
	    join(call, text.utf8, &r->spans, r->new, &text.utf8, e) < 0 ||
	    put(call, x, &text, e) < 0)
		return call_result(call, e);
	json_key(&call->json, "replaced");
	json_add_int(&call->json, (int64_t)r->spans.count);
	add_str(&call->json, "matched", r->is_exact ? STR("exact") : STR("whitespace"));
	return 0;
}

int tool_replace_in_file(struct call *call, struct err *e)
{
	scoped_edit x = EDIT_NONE;
	struct str path = STR_EMPTY, version = STR_EMPTY;
	struct replacement r = { .old = STR_EMPTY, .new = STR_EMPTY };

	if (call_get_str(call, "path", &path) < 0 || call_get_str(call, "old", &r.old) < 0 ||
	    call_get_str(call, "new", &r.new) < 0 || call_get_bool(call, "all", &r.all) < 0 ||
	    call_get_str(call, "if_version", &version) < 0)
		return CALL_REFUSED;
	if (!r.old.len)
		return call_refuse(call, REFUSAL_INVALID, "'old' is empty");
	if (edit_begin(call, path, version, &x, e) < 0)
		return call_result(call, e);
	if (x.at.fd < 0)
		return call_refuse(call, REFUSAL_NOT_FOUND, "there is no '%.*s'",
				   STR_ARG(x.at.path));
	return replace(call, &x, &r, e);
}

/* ---- delete_file --------------------------------------------------------------------------------- */

int tool_delete_file(struct call *call, struct err *e)
{
	scoped_edit x = EDIT_NONE;
	struct str path = STR_EMPTY, version = STR_EMPTY;

	if (call_get_str(call, "path", &path) < 0 ||
	    call_get_str(call, "if_version", &version) < 0 ||
	    edit_begin(call, path, version, &x, e) < 0 || edit_stage_delete(&x, e) < 0 ||
	    edit_commit(&x, e) < 0)
		return call_result(call, e);
	add_str(&call->json, "path", x.at.path);
	utf8_add_shown(&call->text, x.at.path);
	buf_add_text(&call->text, ": deleted");
	return 0;
}
