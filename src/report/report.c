/* SPDX-License-Identifier: MIT */
/* See report.h. */
#include "report/report.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "base/windows_path.h"
#include "lib/lib.h"

cordon_report *report_new(struct err *e)
{
	cordon_report *report = mem_new(sizeof(*report), e);

	if (!report)
		return NULL;
	report->arena = (struct arena)ARENA_INIT(POLICY_MAX_BYTES);
	report->values = (struct arena)ARENA_INIT(POLICY_MAX_BYTES);
	report->text = (struct buf)BUF_INIT(REPORT_MAX_BYTES);
	report->json = (struct buf)BUF_INIT(REPORT_MAX_BYTES);
	return report;
}

void cordon_report_free(cordon_report *report)
{
	if (!report)
		return;
	arena_done(&report->values);
	arena_done(&report->arena);
	buf_done(&report->text);
	buf_done(&report->json);
	cordon_policy_free(report->policy);
	mem_free(report);
}

uint64_t cordon_report_error_count(const cordon_report *report)
{
	return report->error_count;
}

static bool is_windows(const cordon_report *report)
{
	return report->policy && report->policy->inputs.places.system == PLACES_WINDOWS;
}

/* Paths as people write them there, in place. */
static int show_windows(struct arena *a, struct json *value, struct err *e)
{
	switch (value->type) {
	case JSON_STRING:
		return windows_show(a, value->string, &value->string, e);
	case JSON_ARRAY:
		for (size_t i = 0; i < value->array.count; i++)
			if (show_windows(a, &value->array.items[i], e) < 0)
				return err_result(e);
		return 0;
	case JSON_OBJECT:
		for (size_t i = 0; i < value->object.count; i++)
			if (show_windows(a, &value->object.items[i].value, e) < 0)
				return err_result(e);
		return 0;
	case JSON_NULL:
	case JSON_BOOL:
	case JSON_INT:
	case JSON_REAL:
		break;
	}
	return 0;
}

/* Describes the data, once. NULL: out of memory. */
static const struct json *find_root(cordon_report *report)
{
	struct json_tree tree = { .a = &report->values, .e = ERR_INIT };
	struct json_writer w = JSON_TREE_INIT(&tree);
	struct err ignored = ERR_INIT;
	struct json *root;

	if (report->root)
		return report->root;
	report->describe(&w, report->data);
	root = ARENA_NEW(&report->values, struct json, &ignored);
	if (tree.e.code != ERR_OK || !root) {
		arena_done(&report->values);
		return NULL;
	}
	*root = tree.root;
	if (is_windows(report) && show_windows(&report->values, root, &ignored) < 0)
		return NULL;
	report->root = root;
	return root;
}

const char *cordon_report_text(cordon_report *report, uint32_t flags)
{
	struct page page = { .out = &report->text,
			     .home = report->home,
			     .is_windows = is_windows(report),
			     .is_coloured = (flags & CORDON_TEXT_COLOUR) != 0,
			     .is_brief = (flags & CORDON_TEXT_BRIEF) != 0 };
	const struct json *root = NULL;
	struct err ignored = ERR_INIT;

	buf_clear(&report->text);
	buf_add_text(&report->text, "");
	if (page.is_brief && report->brief) {
		page_text(&page, report->brief);
		page_line(&page);
	} else if (report->render) {
		root = find_root(report);
		if (!root)
			return NULL;
		report->render(&page, root);
	} else {
		report->print_text(&page, report->data);
	}
	return buf_check(&report->text, &ignored) < 0 ? NULL : report->text.p;
}

const char *cordon_report_json(cordon_report *report)
{
	struct json_writer w = JSON_WRITER_INIT(&report->json);
	const struct json *root = find_root(report);
	struct err ignored = ERR_INIT;

	buf_clear(&report->json);
	if (!root)
		return NULL;
	json_begin_object(&w);
	json_text(&w, "schema", report->schema);
	json_text(&w, "version", CORDON_VERSION);
	json_add_members(&w, root);
	json_end_object(&w);
	return buf_check(&report->json, &ignored) < 0 ? NULL : report->json.p;
}

/* ---- Text --------------------------------------------------------------------- */

static const char *style_start(enum style style)
{
	switch (style) {
	case STYLE_GOOD:
		return "\033[32m";
	case STYLE_BAD:
		return "\033[31m";
	case STYLE_CAREFUL:
		return "\033[33m";
	case STYLE_TITLE:
		return "\033[1m";
	case STYLE_FAINT:
		return "\033[2m";
	case STYLE_PLAIN:
		break;
	}
	return "";
}

void page_style(struct page *p, enum style style, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (p->is_coloured)
		buf_add_text(p->out, style_start(style));
	buf_add_text(p->out, text);
	if (p->is_coloured && style != STYLE_PLAIN)
		buf_add_text(p->out, "\033[0m");
}

void page_text(struct page *p, const char *text)
{
	buf_add_text(p->out, text);
}

void page_printf(struct page *p, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	buf_add_text(p->out, text);
}

void page_line(struct page *p)
{
	buf_add_char(p->out, '\n');
}

/* As people write it there, if it is a path of Windows. */
static struct str find_form(const struct page *p, struct str s, struct arena *a)
{
	struct err e = ERR_INIT;
	struct str form = s;

	if (p->is_windows && windows_show(a, s, &form, &e) < 0)
		p->out->failed = e.code;
	return form;
}

void page_str(struct page *p, struct str s)
{
	scoped_arena a = ARENA_INIT(REPORT_MAX_BYTES);

	utf8_add_shown(p->out, find_form(p, s, &a));
}

void page_word(struct page *p, struct str word)
{
	scoped_buf spelled = BUF_INIT(REPORT_MAX_BYTES);

	shell_add_word(&spelled, word);
	if (spelled.failed != ERR_OK)
		p->out->failed = spelled.failed;
	page_str(p, buf_str(&spelled));
}

void page_column(struct page *p, struct str s, size_t width)
{
	scoped_arena a = ARENA_INIT(REPORT_MAX_BYTES);

	s = find_form(p, s, &a);
	utf8_add_shown(p->out, s);
	for (size_t used = utf8_shown_width(s); used < width; used++)
		buf_add_char(p->out, ' ');
}

void page_access(struct page *p, enum access access)
{
	static const enum style styles[] = {
		[ACCESS_DENY] = STYLE_BAD,
		[ACCESS_READ] = STYLE_CAREFUL,
		[ACCESS_WRITE] = STYLE_GOOD,
	};

	page_style(p, styles[access], "%-5s", access_name(access));
}

void page_place(struct page *p, struct str file, int64_t line)
{
	bool is_built_in = str_is(file, "built-in");

	if (!file.len)
		return;
	if (p->is_coloured)
		buf_add_text(p->out, style_start(STYLE_FAINT));
	if (p->home.len > 1 && str_has_prefix(file, p->home) && file.p[p->home.len] == '/') {
		page_text(p, "~");
		file = str_from(file, p->home.len);
	}
	page_str(p, file);
	/* The built-in layer is a text that nobody can open: its lines say nothing. */
	if (line && !is_built_in)
		page_printf(p, ":%lld", (long long)line);
	if (p->is_coloured)
		buf_add_text(p->out, "\033[0m");
}

void page_origin(struct page *p, const struct origin *origin)
{
	page_place(p, str_of(origin->file ? origin->file : ""), origin->line);
}

/* ---- Values ------------------------------------------------------------------- */

struct str value_str(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_STRING ? value->string : STR_EMPTY;
}

int64_t value_int(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_INT ? value->integer : 0;
}

bool value_bool(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_BOOL && value->boolean;
}

size_t value_count(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_ARRAY ? value->array.count : 0;
}

const struct json *value_item(const struct json *object, const char *name, size_t i)
{
	return &json_find(object, name)->array.items[i];
}

/* ---- JSON --------------------------------------------------------------------- */

void json_str(struct json_writer *w, const char *key, struct str value)
{
	json_key(w, key);
	json_add_str(w, value);
}

void json_text(struct json_writer *w, const char *key, const char *value)
{
	json_key(w, key);
	if (value)
		json_add_text(w, value);
	else
		json_add_null(w);
}

void json_str_or_null(struct json_writer *w, const char *key, struct str value)
{
	json_key(w, key);
	if (value.len)
		json_add_str(w, value);
	else
		json_add_null(w);
}

void json_strs(struct json_writer *w, const char *key, const struct str *items, size_t count)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < count; i++)
		json_add_str(w, items[i]);
	json_end_array(w);
}

void json_bool(struct json_writer *w, const char *key, bool value)
{
	json_key(w, key);
	json_add_bool(w, value);
}

void json_int(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	json_add_int(w, value);
}

void json_number(struct json_writer *w, const char *key, uint64_t value)
{
	json_int(w, key, (int64_t)MIN_OF(value, (uint64_t)INT64_MAX));
}

void json_int_or_null(struct json_writer *w, const char *key, int64_t value)
{
	json_key(w, key);
	if (value)
		json_add_int(w, value);
	else
		json_add_null(w);
}

void json_origin(struct json_writer *w, const struct origin *origin)
{
	bool has_line = origin->file && origin->line;

	json_text(w, "file", origin->file);
	json_int_or_null(w, "line", has_line ? origin->line : 0);
	json_int_or_null(w, "column", has_line ? origin->column : 0);
}
