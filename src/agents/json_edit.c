/* SPDX-License-Identifier: MIT */
/*
 * See json_edit.h. What is edited is the text itself; to find the place in it, a copy of the same length is
 * read in which spaces stand for comments. Afterwards the new text is parsed and compared with the old one,
 * so a mistake here is a refusal, not a damaged file.
 */
#include "agents/json_edit.h"

#include "base/utf8.h"

enum { EDIT_MAX_BYTES = 4 << 20, INDENT_MAX_BYTES = 64 << 10 };

/* ---- JSONC ------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Behind the string that begins at `at`; the end of the text if it is not closed. */
static size_t skip_string(struct str text, size_t at)
{
	for (at++; at < text.len && text.p[at] != '"'; at++)
		if (text.p[at] == '\\')
			at++;
	return MIN_OF(at + 1, text.len);
}

/* Behind the comment that begins at `at`, the newline of a line's not included; `at`: there is none. */
static size_t skip_comment(struct str text, size_t at)
{
	struct str rest = str_from(text, at);

	if (str_has_prefix(rest, STR("//")))
		return at + str_find(rest, '\n');
	if (!str_has_prefix(rest, STR("/*")))
		return at;
	for (size_t i = 2; i + 1 < rest.len; i++)
		if (rest.p[i] == '*' && rest.p[i + 1] == '/')
			return at + i + 2;
	return at;
}

static void blank_comments(char *text, size_t len, bool keeps_lines)
{
	const struct str whole = { text, len };
	size_t at = 0;

	if (str_has_prefix(whole, STR("\xef\xbb\xbf")))
		memset(text, ' ', 3);
	while (at < len) {
		size_t end = skip_comment(whole, at);

		if (text[at] == '"') {
			at = skip_string(whole, at);
			continue;
		}
		for (size_t i = at; i < end; i++)
			if (!keeps_lines || text[i] != '\n')
				text[i] = ' ';
		at = MAX_OF(end, at + 1);
	}
}

/* Of a text without comments. */
static void blank_trailing_commas(char *text, size_t len)
{
	const struct str whole = { text, len };
	size_t comma = len; /* the last byte that is no blank is one, there */
	char before = '{';  /* the byte before that */

	for (size_t at = 0; at < len;) {
		char c = text[at];

		if ((c == '}' || c == ']') && comma < len)
			text[comma] = ' ';
		if (c == '"') {
			comma = len;
			before = c;
			at = skip_string(whole, at);
			continue;
		}
		if (!is_blank(c)) {
			/* One that follows no value is an error of the text. */
			comma = c == ',' && !strchr("{[,", before) ? at : len;
			before = c;
		}
		at++;
	}
}

/* A copy of the same length without comments. */
static int without_comments(struct arena *a, struct str text, bool keeps_lines, char **out,
			    struct err *e)
{
	char *copy = arena_alloc(a, text.len + 1, e);

	if (!copy)
		return err_result(e);
	memcpy(copy, text.p, text.len);
	blank_comments(copy, text.len, keeps_lines);
	*out = copy;
	return 0;
}

static bool is_all_blank(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!is_blank(text.p[i]))
			return false;
	return true;
}

const struct json *jsonc_parse(struct arena *a, struct str text, struct err *e)
{
	char *copy;

	if (text.len > EDIT_MAX_BYTES) {
		(void)FAIL(e, ERR_LIMIT, "it is longer than %d bytes", EDIT_MAX_BYTES);
		return NULL;
	}
	if (without_comments(a, text, true, &copy, e) < 0)
		return NULL;
	blank_trailing_commas(copy, text.len);
	if (is_all_blank((struct str){ copy, text.len }))
		return json_parse(a, STR("{}"), e);
	return json_parse(a, (struct str){ copy, text.len }, e);
}

int jsonc_find_extras(struct arena *a, struct str text, unsigned *out, struct err *e)
{
	char *copy, *bare;

	if (without_comments(a, text, true, &copy, e) < 0 ||
	    without_comments(a, text, true, &bare, e) < 0)
		return err_result(e);
	blank_trailing_commas(bare, text.len);
	/* A mark of the byte order is none of both. */
	*out = 0;
	for (size_t i = str_has_prefix(text, STR("\xef\xbb\xbf")) ? 3 : 0; i < text.len; i++) {
		if (copy[i] != text.p[i])
			*out |= JSONC_COMMENTS;
		if (bare[i] != copy[i])
			*out |= JSONC_COMMAS;
	}
	return 0;
}

const struct json *jsonc_find(const struct json *root, const char *const *names, size_t count)
{
	const struct json *at = root;

	for (size_t i = 0; at && i < count; i++)
		at = json_find(at, names[i]);
	return at;
}

/* ---- Finding the place -------------------------------------------------------------------------- */

/* The bytes of a text that is known to be valid, without comments; trailing commas are there. */
struct scan {
	struct str text;
	struct arena *a;
	struct err *e;
};

static size_t skip_blanks(const struct scan *s, size_t at)
{
	while (at < s->text.len && is_blank(s->text.p[at]))
		at++;
	return at;
}

static char at_byte(const struct scan *s, size_t at)
{
	return at < s->text.len ? s->text.p[at] : '\0';
}

/* Behind the value that begins at `at`. */
static size_t skip_value(const struct scan *s, size_t at)
{
	size_t depth = 0;

	do {
		char c = at_byte(s, at);

		if (c == '"') {
			at = skip_string(s->text, at);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		at++;
		if (depth == 0 && c != '}' && c != ']')
			while (at < s->text.len && !strchr(" \t\r\n,]}", s->text.p[at]))
				at++;
	} while (depth > 0 && at < s->text.len);
	return at;
}

struct member {
	size_t name, value, end; /* where each begins; `end` is behind the value */
};

static int is_named(const struct scan *s, const struct member *m, const char *name, bool *out)
{
	size_t end = skip_string(s->text, m->name);
	const struct json *found =
		json_parse(s->a, (struct str){ s->text.p + m->name, end - m->name }, s->e);

	if (!found)
		return err_result(s->e);
	*out = found->type == JSON_STRING && str_is(found->string, name);
	return 0;
}

/* 1: `*out` is the member `name` of the object at `object`; 0: there is none, and it is the last, if any. */
static int find_member(const struct scan *s, size_t object, const char *name, struct member *out)
{
	size_t at = skip_blanks(s, object + 1);
	bool is_it = false;

	*out = (struct member){ .name = 0 };
	while (at_byte(s, at) == '"' && !is_it) {
		out->name = at;
		out->value = skip_blanks(s, skip_blanks(s, skip_string(s->text, at)) + 1);
		out->end = skip_value(s, out->value);
		if (is_named(s, out, name, &is_it) < 0)
			return err_result(s->e);
		at = skip_blanks(s, out->end);
		if (at_byte(s, at) == ',')
			at = skip_blanks(s, at + 1);
	}
	return is_it;
}

/* ---- Layout --------------------------------------------------------------------------------------- */

/* The blanks that the line of `at` begins with. */
static struct str indent_of(struct str text, size_t at)
{
	size_t start = at, end;

	while (start > 0 && text.p[start - 1] != '\n')
		start--;
	for (end = start; end < text.len && (text.p[end] == ' ' || text.p[end] == '\t');)
		end++;
	return (struct str){ text.p + start, end - start };
}

static bool begins_line(struct str text, size_t at)
{
	struct str indent = indent_of(text, at);

	return indent.p + indent.len == text.p + at;
}

struct layout {
	const char *newline;
	struct str unit; /* what each level is indented by */
};

/* As the outermost object has it. */
static void find_layout(const struct scan *s, size_t root, struct layout *out)
{
	size_t first = skip_blanks(s, root + 1);
	size_t newline = str_find(s->text, '\n');

	*out = (struct layout){ .newline = "\n", .unit = STR("  ") };
	if (newline > 0 && newline < s->text.len && s->text.p[newline - 1] == '\r')
		out->newline = "\r\n";
	if (first < s->text.len && begins_line(s->text, first) && indent_of(s->text, first).len)
		out->unit = indent_of(s->text, first);
}

static void add_break(struct buf *b, const struct layout *layout, struct str indent, size_t more)
{
	buf_add_text(b, layout->newline);
	buf_add(b, indent);
	for (size_t i = 0; i < more; i++)
		buf_add(b, layout->unit);
}

/* "a": { "b": value }, each in a line of its own, or all in one. */
static void add_members(struct buf *b, const struct layout *layout, struct str indent,
			const char *const *names, size_t count, struct str value)
{
	for (size_t i = 0; i < count; i++) {
		utf8_add_quoted(b, str_of(names[i]), false);
		buf_add_text(b, ": ");
		if (i + 1 < count) {
			buf_add_char(b, '{');
			if (layout)
				add_break(b, layout, indent, i + 1);
		}
	}
	buf_add(b, value);
	for (size_t i = count; i-- > 1;) {
		if (layout)
			add_break(b, layout, indent, i - 1);
		buf_add_char(b, '}');
	}
}

/* ---- Editing ---------------------------------------------------------------------------------------- */

struct edit {
	struct scan scan;
	struct str text;
	struct layout layout;
	const char *const *names;
	size_t count;
	struct str value;
	struct buf *out;
};

static void copy_until(struct edit *d, size_t from, size_t to)
{
	buf_add(d->out, (struct str){ d->text.p + from, to - from });
}

/* Into an object without members. */
static int fill_object(struct edit *d, size_t object, const char *const *names, size_t count)
{
	struct str indent = indent_of(d->text, object);
	size_t end = skip_blanks(&d->scan, object + 1); /* of comments too */
	size_t rest = object + 1;
	scoped_buf inner = BUF_INIT(INDENT_MAX_BYTES);

	buf_add(&inner, indent);
	buf_add(&inner, d->layout.unit);
	if (buf_check(&inner, d->scan.e) < 0)
		return err_result(d->scan.e);
	copy_until(d, 0, object + 1);
	add_break(d->out, &d->layout, indent, 1);
	add_members(d->out, &d->layout, buf_str(&inner), names, count, d->value);
	if (is_all_blank((struct str){ d->text.p + rest, end - rest }))
		rest = end;
	if (rest == end)
		add_break(d->out, &d->layout, indent, 0);
	copy_until(d, rest, d->text.len);
	return 0;
}

/* The end of the line of `at` if only comments follow there; else `at`. */
static size_t find_line_end(const struct edit *d, size_t at)
{
	size_t end = at;

	while (end < d->text.len && is_blank(d->scan.text.p[end]) && d->scan.text.p[end] != '\n')
		end++;
	if (end == d->text.len || d->scan.text.p[end] != '\n')
		return at;
	return end > at && d->text.p[end - 1] == '\r' ? end - 1 : end;
}

/* Behind `last`, the last member of its object. */
static void append(struct edit *d, const struct member *last, const char *const *names,
		   size_t count)
{
	size_t comma = skip_blanks(&d->scan, last->end);
	bool has_comma = at_byte(&d->scan, comma) == ',';
	size_t at = has_comma ? comma + 1 : last->end;
	size_t line_end = find_line_end(d, at);
	bool has_lines = begins_line(d->text, last->name);

	copy_until(d, 0, at);
	if (!has_comma)
		buf_add_char(d->out, ',');
	if (!has_lines) {
		buf_add_char(d->out, ' ');
		add_members(d->out, NULL, STR_EMPTY, names, count, d->value);
		copy_until(d, at, d->text.len);
		return;
	}
	copy_until(d, at, line_end);
	add_break(d->out, &d->layout, indent_of(d->text, last->name), 0);
	add_members(d->out, &d->layout, indent_of(d->text, last->name), names, count, d->value);
	copy_until(d, line_end, d->text.len);
}

/* A text that holds no value yet. */
static void begin_text(struct edit *d)
{
	buf_add(d->out, d->text);
	if (d->text.len && d->text.p[d->text.len - 1] != '\n')
		buf_add_text(d->out, d->layout.newline);
	buf_add_char(d->out, '{');
	add_break(d->out, &d->layout, STR_EMPTY, 1);
	add_members(d->out, &d->layout, d->layout.unit, d->names, d->count, d->value);
	buf_add_text(d->out, d->layout.newline);
	buf_add_char(d->out, '}');
	buf_add_text(d->out, d->layout.newline);
}

static int edit(struct edit *d)
{
	size_t object = skip_blanks(&d->scan, 0);
	struct member m;

	find_layout(&d->scan, object, &d->layout);
	if (object == d->text.len) {
		begin_text(d);
		return 0;
	}
	for (size_t i = 0;; i++) {
		int found = find_member(&d->scan, object, d->names[i], &m);

		if (found < 0)
			return found;
		if (!found && m.end == 0)
			return fill_object(d, object, d->names + i, d->count - i);
		if (!found) {
			append(d, &m, d->names + i, d->count - i);
			return 0;
		}
		if (i + 1 == d->count)
			break;
		object = m.value;
	}
	copy_until(d, 0, m.value);
	buf_add(d->out, d->value);
	copy_until(d, m.end, d->text.len);
	return 0;
}

/* ---- Checking ---------------------------------------------------------------------------------------- */

static int print(struct arena *a, const struct json *value, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(2 * EDIT_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_add_value(&w, value);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

static int has_value(struct arena *a, const struct json *root, const struct edit *d, bool *out,
		     struct err *e)
{
	const struct json *is = jsonc_find(root, d->names, d->count);
	const struct json *wanted = json_parse(a, d->value, e);
	struct str left, right;

	*out = false;
	if (!wanted)
		return err_result(e);
	if (!is)
		return 0;
	if (print(a, is, &left, e) < 0 || print(a, wanted, &right, e) < 0)
		return err_result(e);
	*out = str_eq(left, right);
	return 0;
}

/* Every name on the way has to be an object, or missing. */
static int check_way(const struct json *root, const struct edit *d, struct err *e)
{
	for (size_t i = 0; root && i < d->count; i++) {
		if (root->type != JSON_OBJECT)
			return i == 0 ? FAIL(e, ERR_POLICY, "it is not a JSON object")
				      : FAIL(e, ERR_POLICY, "\"%s\" is not an object there",
					     d->names[i - 1]);
		root = json_find(root, d->names[i]);
	}
	return 0;
}

/*
 * Whether both are the same but for the member that was set. `i` names of the way lie behind; what is below
 * the last of them is not compared.
 */
static bool is_same_beside(struct arena *a, const struct json *was, const struct json *is,
			   const struct edit *d, size_t i, struct err *e)
{
	size_t at = 0;

	for (size_t k = 0; k < is->object.count; k++) {
		const struct json_member *new = &is->object.items[k];
		const struct json_member *old = at < was->object.count ? &was->object.items[at]
								       : NULL;
		bool is_on_way = str_is(new->name, d->names[i]);
		struct str left, right;

		if (is_on_way && (!old || !str_eq(old->name, new->name)))
			continue; /* it was added */
		if (!old || !str_eq(old->name, new->name))
			return false;
		at++;
		if (is_on_way && i + 1 == d->count)
			continue;
		if (is_on_way && !is_same_beside(a, &old->value, &new->value, d, i + 1, e))
			return false;
		if (!is_on_way && (print(a, &old->value, &left, e) < 0 ||
				   print(a, &new->value, &right, e) < 0 || !str_eq(left, right)))
			return false;
	}
	return at == was->object.count;
}

static int check(struct arena *a, const struct json *was, const struct edit *d, struct err *e)
{
	const struct json *is = jsonc_parse(a, buf_str(d->out), e);
	bool has = false;

	if (!is || has_value(a, is, d, &has, e) < 0)
		return err_wrap(e, "the edit would damage it");
	if (!has || !is_same_beside(a, was, is, d, 0, e))
		return FAIL(e, ERR_INTERNAL, "the edit would damage it");
	return 0;
}

int json_edit_set(struct arena *a, struct str text, const char *const *names, size_t count,
		  struct str value, struct str *out, struct err *e)
{
	const struct json *was = jsonc_parse(a, text, e);
	scoped_buf edited = BUF_INIT(2 * EDIT_MAX_BYTES);
	struct edit d = {
		.text = text, .names = names, .count = count, .value = value, .out = &edited
	};
	bool has;
	char *bare;

	if (!was || check_way(was, &d, e) < 0 || has_value(a, was, &d, &has, e) < 0)
		return err_result(e);
	if (has) {
		*out = text;
		return 0;
	}
	if (without_comments(a, text, false, &bare, e) < 0)
		return err_result(e);
	d.scan = (struct scan){ .text = { bare, text.len }, .a = a, .e = e };
	if (edit(&d) < 0 || buf_check(&edited, e) < 0 || check(a, was, &d, e) < 0)
		return err_result(e);
	return arena_copy(a, buf_str(&edited), out, e);
}

/* ---- Taking out --------------------------------------------------------------------------------------- */

/* The line that [*from, *to) is in if it is all that is there; else the blanks behind it, if it has its comma. */
static void widen(struct str text, bool has_comma, size_t *from, size_t *to)
{
	size_t end = *to, line;

	while (end < text.len && (text.p[end] == ' ' || text.p[end] == '\t'))
		end++;
	line = end < text.len && text.p[end] == '\r' ? end + 1 : end;
	if (begins_line(text, *from) && line < text.len && text.p[line] == '\n') {
		*from -= indent_of(text, *from).len;
		*to = line + 1;
	} else if (has_comma) {
		*to = end;
	}
}

static bool is_one_line_blank(struct str text, size_t from, size_t to)
{
	const struct str part = { text.p + from, to - from };

	return is_all_blank(part) && str_find(part, '\n') == part.len;
}

/* The member, and the comma that is one too many then; comments between them stay. */
static void take_out(struct edit *d, const struct member *m)
{
	const struct str bare = d->scan.text;
	size_t next = skip_blanks(&d->scan, m->end), before = m->name;
	size_t from = m->name, to = m->end;
	bool has_next = at_byte(&d->scan, next) == ',';

	while (before > 0 && is_blank(bare.p[before - 1]))
		before--;
	if (has_next && is_one_line_blank(d->text, to, next)) {
		to = next + 1;
		widen(d->text, true, &from, &to);
		copy_until(d, 0, from);
	} else if (has_next) {
		copy_until(d, 0, from);
		copy_until(d, to, next);
		to = next + 1;
	} else if (before > 0 && bare.p[before - 1] == ',') {
		copy_until(d, 0, before - 1);
		if (is_one_line_blank(d->text, before, from)) {
			from = before;
		} else {
			widen(d->text, false, &from, &to);
		}
		copy_until(d, before, from);
	} else {
		widen(d->text, false, &from, &to);
		copy_until(d, 0, from);
	}
	copy_until(d, to, d->text.len);
}

/* Those of the objects that setting made are taken out with the member, unless something else is in them now. */
static int find_outermost(struct edit *d, const struct json *was, struct member *out)
{
	size_t object = skip_blanks(&d->scan, 0), count = 0;
	struct member m;

	for (size_t i = 0; i < d->count; i++) {
		int found = find_member(&d->scan, object, d->names[i], &m);
		const struct json *here =
			found == 1
				? jsonc_parse(d->scan.a,
					      (struct str){ d->text.p + m.value, m.end - m.value },
					      d->scan.e)
				: NULL;
		bool has_others;

		if (!here)
			return found == 0 ? FAIL(d->scan.e, ERR_INTERNAL, "the member is not found")
					  : err_result(d->scan.e);
		has_others =
			jsonc_find(was, d->names, i + 1) ||
			(i + 1 < d->count && (here->object.count > 1 ||
					      memcmp(d->text.p + m.value, d->scan.text.p + m.value,
						     m.end - m.value) != 0));
		if (has_others)
			count = 0;
		else if (count == 0)
			count = i + 1;
		if (count == i + 1)
			*out = m;
		object = m.value;
	}
	d->count = count;
	return count ? 0 : FAIL(d->scan.e, ERR_INTERNAL, "the member was there before");
}

static int take_out_safely(struct edit *d, const struct json *was, const struct json *is,
			   struct str *out)
{
	struct err *e = d->scan.e;
	struct member m = { 0 };
	const struct json *then;

	if (find_outermost(d, was, &m) < 0)
		return err_result(e);
	take_out(d, &m);
	if (buf_check(d->out, e) < 0)
		return err_result(e);
	then = jsonc_parse(d->scan.a, buf_str(d->out), e);
	if (!then)
		return err_wrap(e, "the edit would damage it");
	if (jsonc_find(then, d->names, d->count) || !is_same_beside(d->scan.a, then, is, d, 0, e))
		return FAIL(e, ERR_INTERNAL, "the edit would damage it");
	return arena_copy(d->scan.a, buf_str(d->out), out, e);
}

int json_edit_undo(struct arena *a, struct str text, struct str was, const char *const *names,
		   size_t count, struct str value, struct str *out, struct err *e)
{
	const struct json *is = jsonc_parse(a, text, e), *old = is ? jsonc_parse(a, was, e) : NULL;
	const struct json *there = is ? jsonc_find(is, names, count) : NULL;
	const struct json *before = old ? jsonc_find(old, names, count) : NULL;
	scoped_buf edited = BUF_INIT(2 * EDIT_MAX_BYTES);
	struct edit d = {
		.text = text, .names = names, .count = count, .value = value, .out = &edited
	};
	struct str left, right = STR_EMPTY;
	bool is_ours;
	char *bare;

	if (!old || (there && print(a, there, &left, e) < 0) ||
	    (before && print(a, before, &right, e) < 0) || has_value(a, is, &d, &is_ours, e) < 0)
		return err_result(e);
	*out = text;
	if (!there || (before && str_eq(left, right)))
		return 0;
	if (!is_ours)
		return FAIL(e, ERR_POLICY, "it has another value");
	if (before) {
		right.len -= right.len && right.p[right.len - 1] == '\n'; /* print() ends a line */
		return json_edit_set(a, text, names, count, right, out, e);
	}
	if (without_comments(a, text, false, &bare, e) < 0)
		return err_result(e);
	d.scan = (struct scan){ .text = { bare, text.len }, .a = a, .e = e };
	return take_out_safely(&d, old, is, out);
}
