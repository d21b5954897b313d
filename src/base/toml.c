/* SPDX-License-Identifier: MIT */
/*
 * TOML documents: keys, tables, and what may be defined where. See toml.h for
 * the contract and toml_parser.h for how the parser is divided.
 *
 * The tree is first built of nodes that can grow, because a table may be added
 * to from several places, and then finished into plain arrays.
 */
#include "base/toml.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/toml_parser.h"
#include "base/utf8.h"

enum { SHOWN_BYTES = 128 }; /* of a key in a message */

int toml_fail(struct toml_parser *p, size_t at, enum err_code code, const char *fmt, ...)
{
	char reason[500];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	err_fail_place(p->e, ERR_HERE, code == ERR_SYNTAX ? CAUSE_TOML_SYNTAX : cause_of_code(code),
		       origin_find(p->file, p->text, at), "%s", reason);
	return err_result(p->e);
}

int toml_fail_depth(struct toml_parser *p, size_t at)
{
	return toml_fail(p, at, ERR_LIMIT, "tables and arrays are nested more than %d levels deep",
			 TOML_MAX_DEPTH);
}

/*
 * The plain character for one that word processors and web pages put in its place; "" for all
 * others.
 */
static const char *find_plain(uint32_t c)
{
	if (c == 0xA0 || c == 0x202F || (c >= 0x2000 && c <= 0x200A) || c == 0x3000)
		return "a plain space";
	if (c == 0x200B || c == 0xFEFF)
		return "nothing there";
	if (c == 0x201C || c == 0x201D || c == 0x201E || c == 0xAB || c == 0xBB)
		return "a plain \"";
	if (c == 0x2018 || c == 0x2019 || c == 0x201A)
		return "a plain '";
	return "";
}

int toml_fail_found(struct toml_parser *p, const char *expected)
{
	const char *plain = "";
	struct str rest = str_from(p->text, p->at);
	char shown[16];
	size_t len = 0;
	uint32_t c;

	if (rest.len == 0)
		return toml_fail(p, p->at, ERR_SYNTAX, "expected %s, found the end of the text",
				 expected);
	if (rest.p[0] == '\n' || str_has_prefix(rest, STR("\r\n")))
		return toml_fail(p, p->at, ERR_SYNTAX, "expected %s, found the end of the line",
				 expected);
	if (utf8_next(rest, &len, &c))
		plain = find_plain(c);
	else
		len = 1;
	if (plain[0])
		return toml_fail(p, p->at, ERR_SYNTAX, "expected %s, found U+%04X; write %s",
				 expected, (unsigned)c, plain);
	return toml_fail(p, p->at, ERR_SYNTAX, "expected %s, found '%s'", expected,
			 utf8_show(str_first(rest, len), shown, sizeof(shown)));
}

char toml_peek(const struct toml_parser *p)
{
	return p->at < p->text.len ? p->text.p[p->at] : '\0';
}

bool toml_has_prefix(const struct toml_parser *p, const char *text)
{
	return str_has_prefix(str_from(p->text, p->at), str_of(text));
}

struct origin toml_here(const struct toml_parser *p)
{
	return (struct origin){ .file = p->file,
				.line = p->line,
				.column = (uint32_t)(p->at - p->line_start) + 1 };
}

void toml_skip_blanks(struct toml_parser *p)
{
	while (toml_peek(p) == ' ' || toml_peek(p) == '\t')
		p->at++;
}

bool toml_skip_newline(struct toml_parser *p)
{
	if (toml_has_prefix(p, "\r\n"))
		p->at++;
	if (toml_peek(p) != '\n')
		return false;
	p->at++;
	p->line++;
	p->line_start = p->at;
	return true;
}

int toml_skip_comment(struct toml_parser *p)
{
	if (toml_peek(p) != '#')
		return 0;
	for (; p->at < p->text.len; p->at++) {
		unsigned char c = (unsigned char)toml_peek(p);

		if (c == '\n' || toml_has_prefix(p, "\r\n"))
			break;
		if ((c < 0x20 && c != '\t') || c == 0x7F)
			return toml_fail(p, p->at, ERR_SYNTAX,
					 "a comment can't hold a control character (0x%02X)",
					 (unsigned)c);
	}
	return 0;
}

int toml_skip_lines(struct toml_parser *p)
{
	do {
		int r;

		toml_skip_blanks(p);
		r = toml_skip_comment(p);
		if (r < 0)
			return r;
	} while (toml_skip_newline(p));
	return 0;
}

static bool is_bare(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || c == '-';
}

int toml_read_part(struct toml_parser *p, struct str *out)
{
	size_t start = p->at;
	char c = toml_peek(p);
	int r;

	if (c == '"' || c == '\'') {
		r = toml_read_string(p, true, out);
	} else {
		while (is_bare(toml_peek(p)))
			p->at++;
		if (p->at == start)
			return toml_fail_found(
				p, "a key (characters other than A-Z a-z 0-9 _ - need quotes)");
		r = arena_copy(p->out, (struct str){ p->text.p + start, p->at - start }, out, p->e);
	}
	toml_skip_blanks(p);
	return r;
}

static struct toml_node *find_child(const struct toml_node *table, struct str name)
{
	return (struct toml_node *)name_tree_find(table->names, name);
}

/* A new last child of `parent`. A [[list]]'s elements have no name. */
static struct toml_node *add_child(struct toml_parser *p, struct toml_node *parent, struct str name,
				   struct origin origin, enum table_kind kind)
{
	struct toml_node *node = ARENA_NEW(p->work, struct toml_node, p->e);

	if (!node)
		return NULL;
	node->kind = kind;
	node->depth = parent->depth + 1;
	node->name_origin = origin;
	node->value.origin = origin;
	node->value.type = kind == TABLE_LIST ? TOML_ARRAY : TOML_TABLE;
	node->by_name.name = name;
	if (parent->kind != TABLE_LIST)
		name_tree_add(&parent->names, &node->by_name);
	if (parent->last)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->count++;
	return node;
}

/* A table or a list, with the depth checked: nothing else can be descended into. */
static struct toml_node *add_table(struct toml_parser *p, struct toml_node *parent, struct str name,
				   struct origin origin, enum table_kind kind)
{
	if (parent->depth >= TOML_MAX_DEPTH) {
		(void)toml_fail_depth(p, p->line_start + origin.column - 1);
		return NULL;
	}
	return add_child(p, parent, name, origin, kind);
}

static struct toml_node *fail_defined(struct toml_parser *p, const struct toml_node *old,
				      struct origin origin, const char *why)
{
	char shown[SHOWN_BYTES];

	(void)toml_fail(p, p->line_start + origin.column - 1, ERR_SYNTAX,
			"key '%s' is already defined at line %u%s",
			utf8_show(old->by_name.name, shown, sizeof(shown)),
			(unsigned)old->name_origin.line, why);
	return NULL;
}

/* The table that a part of a dotted key names; only dotted keys may share one. */
static struct toml_node *enter_dotted(struct toml_parser *p, struct toml_node *table,
				      struct str name, struct origin origin)
{
	struct toml_node *old = find_child(table, name);

	if (!old)
		return add_table(p, table, name, origin, TABLE_DOTTED);
	if (old->kind == TABLE_DOTTED)
		return old;
	if (old->kind == TABLE_NONE)
		return fail_defined(p, old, origin,
				    " as a value, so nothing can be added below it");
	return fail_defined(p, old, origin, " by a [header]; put the line below that header");
}

/* The table that a part of a [header] before the last one names. */
static struct toml_node *enter_header(struct toml_parser *p, struct toml_node *table,
				      struct str name, struct origin origin)
{
	struct toml_node *old = find_child(table, name);

	if (!old)
		return add_table(p, table, name, origin, TABLE_IMPLICIT);
	if (old->kind == TABLE_NONE)
		return fail_defined(p, old, origin,
				    " as a value, so nothing can be added below it");
	return old->kind == TABLE_LIST ? old->last : old;
}

/* The table that [header] opens, `name` being its last part. */
static struct toml_node *define_table(struct toml_parser *p, struct toml_node *table,
				      struct str name, struct origin origin)
{
	struct toml_node *old = find_child(table, name);

	if (!old)
		return add_table(p, table, name, origin, TABLE_HEADER);
	if (old->kind != TABLE_IMPLICIT)
		return fail_defined(p, old, origin,
				    old->kind == TABLE_HEADER ? "; put the two tables together"
							      : "");
	old->kind = TABLE_HEADER;
	old->name_origin = origin;
	old->value.origin = origin;
	return old;
}

/* The same for [[header]]: a new element of the list. */
static struct toml_node *define_element(struct toml_parser *p, struct toml_node *table,
					struct str name, struct origin origin)
{
	struct toml_node *list = find_child(table, name);

	if (!list)
		list = add_table(p, table, name, origin, TABLE_LIST);
	else if (list->kind != TABLE_LIST)
		return fail_defined(p, list, origin, ", and not as an array of tables");
	return list ? add_table(p, list, STR_EMPTY, origin, TABLE_HEADER) : NULL;
}

static int read_header(struct toml_parser *p, struct toml_node *document, struct toml_node **out)
{
	bool is_list = toml_has_prefix(p, "[[");
	const char *close = is_list ? "]]" : "]";
	struct toml_node *table = document;
	struct origin origin = { .line = 0 };
	struct str name = STR_EMPTY;

	p->at += is_list ? 2 : 1;
	for (;;) {
		int r;

		toml_skip_blanks(p);
		origin = toml_here(p);
		r = toml_read_part(p, &name);
		if (r < 0)
			return r;
		if (toml_peek(p) != '.')
			break;
		p->at++;
		table = enter_header(p, table, name, origin);
		if (!table)
			return err_result(p->e);
	}
	if (!toml_has_prefix(p, close))
		return toml_fail_found(p, is_list ? "]] behind the header" : "] behind the header");
	p->at += strlen(close);
	table = is_list ? define_element(p, table, name, origin)
			: define_table(p, table, name, origin);
	if (!table)
		return err_result(p->e);
	*out = table;
	return 0;
}

/* The dotted key up to and with the '=': the table for the value, and its name there. */
static int read_key(struct toml_parser *p, struct toml_node **table, struct str *name,
		    struct origin *origin)
{

	for (;;) {
		int r;

		toml_skip_blanks(p);
		*origin = toml_here(p);
		r = toml_read_part(p, name);
		if (r < 0)
			return r;
		if (toml_peek(p) != '.')
			break;
		p->at++;
		*table = enter_dotted(p, *table, *name, *origin);
		if (!*table)
			return err_result(p->e);
	}
	if (toml_peek(p) != '=')
		return toml_fail_found(p, "= after the key");
	p->at++;
	return 0;
}

/* A place for the value of a key that was just read. */
static struct toml_node *add_member(struct toml_parser *p, struct toml_node *table, struct str name,
				    struct origin origin)
{
	const struct toml_node *old = find_child(table, name);

	if (old)
		return fail_defined(p, old, origin, "");
	return add_child(p, table, name, origin, TABLE_NONE);
}

int toml_read_pair(struct toml_parser *p, struct toml_node *table)
{
	struct origin origin = { .line = 0 };
	struct str name = STR_EMPTY;
	struct toml_node *member;
	int r = read_key(p, &table, &name, &origin);

	if (r < 0)
		return r;
	member = add_member(p, table, name, origin);
	if (!member)
		return err_result(p->e);
	toml_skip_blanks(p);
	return toml_read_value(p, table->depth, &member->value);
}

static int finish_list(struct toml_parser *p, const struct toml_node *node, struct toml *out)
{
	struct toml *items = arena_array(p->out, node->count, sizeof(*items), p->e);
	size_t i = 0;

	if (!items)
		return err_result(p->e);
	for (const struct toml_node *child = node->first; child; child = child->next, i++) {
		int r = toml_finish(p, child, &items[i]);

		if (r < 0)
			return r;
	}
	out->array.items = items;
	out->array.count = node->count;
	return 0;
}

int toml_finish(struct toml_parser *p, const struct toml_node *node, struct toml *out)
{
	struct toml_member *items;
	size_t i = 0;

	*out = node->value;
	if (node->kind == TABLE_NONE)
		return 0;
	if (node->kind == TABLE_LIST)
		return finish_list(p, node, out);
	items = arena_array(p->out, node->count, sizeof(*items), p->e);
	if (!items)
		return err_result(p->e);
	for (const struct toml_node *child = node->first; child; child = child->next, i++) {
		int r = toml_finish(p, child, &items[i].value);

		if (r < 0)
			return r;
		items[i].name = child->by_name.name;
		items[i].name_origin = child->name_origin;
	}
	out->table.items = items;
	out->table.count = node->count;
	out->form = node->kind == TABLE_HEADER	 ? TOML_FORM_HEADER
		    : node->kind == TABLE_DOTTED ? TOML_FORM_DOTTED
						 : TOML_FORM_IMPLICIT;
	return 0;
}

static int read_document(struct toml_parser *p, struct toml_node *document)
{
	struct toml_node *table = document;

	for (;;) {
		int r = toml_skip_lines(p);

		if (r < 0 || p->at == p->text.len)
			return r;
		r = toml_peek(p) == '[' ? read_header(p, document, &table)
					: toml_read_pair(p, table);
		if (r < 0)
			return r;
		toml_skip_blanks(p);
		r = toml_skip_comment(p);
		if (r < 0)
			return r;
		if (p->at < p->text.len && !toml_skip_newline(p))
			return toml_fail_found(p, "the end of the line");
	}
}

/* Checks the whole text once, so that later code need not. */
static int check_bytes(struct toml_parser *p)
{
	size_t bad = utf8_check(p->text);
	size_t nul = str_find(p->text, '\0');

	if (p->text.len >= UINT32_MAX)
		return toml_fail(p, 0, ERR_LIMIT, "the text is larger than 4 GiB");
	if (str_has_prefix(p->text, STR("\xFF\xFE")) || str_has_prefix(p->text, STR("\xFE\xFF")))
		return toml_fail(p, 0, ERR_SYNTAX, "the file is UTF-16; save it as UTF-8");
	if (nul < p->text.len && nul < bad)
		return toml_fail(p, nul, ERR_SYNTAX, "a NUL byte is not allowed");
	if (bad < p->text.len)
		return toml_fail(p, bad, ERR_SYNTAX, "byte 0x%02X is not UTF-8 text",
				 (unsigned)(unsigned char)p->text.p[bad]);
	return 0;
}

/* The document, or NULL with an error that says where, memory running out included. */
static struct toml *finish_document(struct toml_parser *p, int r, const struct toml_node *document)
{
	struct toml *out = NULL;

	if (r == 0)
		out = ARENA_NEW(p->out, struct toml, p->e);
	if (out && toml_finish(p, document, out) < 0)
		out = NULL;
	if (!out)
		(void)err_wrap_place(p->e, toml_here(p));
	return out;
}

static void init_document(const struct toml_parser *p, struct toml_node *document)
{
	*document = (struct toml_node){ .kind = TABLE_HEADER };
	document->value.type = TOML_TABLE;
	document->value.origin = toml_here(p);
}

/* The value as TOML, if all of the text is one; else the text itself. */
static int read_override_value(struct toml_parser *p, uint32_t depth, struct toml *out)
{
	size_t end = p->text.len;
	struct str literal;
	struct toml origin_only;
	size_t start;
	int r;

	toml_skip_blanks(p);
	while (end > p->at && (p->text.p[end - 1] == ' ' || p->text.p[end - 1] == '\t'))
		end--;
	start = p->at;
	literal = (struct str){ p->text.p + start, end - start };
	origin_only = (struct toml){ .origin = toml_here(p), .type = TOML_STRING };
	r = toml_read_value(p, depth, out);
	if (r == 0 && p->at == end)
		return 0;
	/*
	 * Exceeding a limit or running out of memory is a failure; only text that is not TOML is a
	 * literal.
	 */
	if (r < 0 && p->e->code != ERR_SYNTAX)
		return r;
	err_clear(p->e);
	*out = origin_only;
	return arena_copy(p->out, literal, &out->string, p->e);
}

static int read_override(struct toml_parser *p, struct toml_node *document)
{
	struct toml_node *table = document;
	struct origin origin = { .line = 0 };
	struct str name = STR_EMPTY;
	struct toml_node *member;
	int r;

	if (str_find(p->text, '=') == p->text.len)
		return toml_fail(
			p, p->text.len, ERR_SYNTAX,
			"expected KEY=VALUE, such as permissions.dev.network.enabled=true");
	r = read_key(p, &table, &name, &origin);
	if (r < 0)
		return r;
	member = add_member(p, table, name, origin);
	return member ? read_override_value(p, table->depth, &member->value) : err_result(p->e);
}

typedef int (*document_reader)(struct toml_parser *p, struct toml_node *document);

static struct toml *parse(struct arena *a, const char *file, struct str text, document_reader read,
			  struct err *e)
{
	scoped_arena work = ARENA_INIT(a->limit_bytes);
	scoped_buf scratch = BUF_INIT(text.len);
	struct toml_parser p = { .text = text,
				 .line = 1,
				 .file = file,
				 .out = a,
				 .work = &work,
				 .scratch = &scratch,
				 .e = e };
	struct toml_node document;
	int r;

	init_document(&p, &document);
	r = check_bytes(&p);
	if (r == 0)
		r = read(&p, &document);
	return finish_document(&p, r, &document);
}

struct toml *toml_parse(struct arena *a, const char *file, struct str text, struct err *e)
{
	if (str_has_prefix(text, STR("\xEF\xBB\xBF")))
		text = str_from(text, 3);
	return parse(a, file, text, read_document, e);
}

struct toml *toml_parse_override(struct arena *a, const char *file, struct str text, struct err *e)
{
	return parse(a, file, text, read_override, e);
}

const struct toml *toml_find(const struct toml *table, const char *name)
{
	if (table->type != TOML_TABLE)
		return NULL;
	for (size_t i = 0; i < table->table.count; i++)
		if (str_is(table->table.items[i].name, name))
			return &table->table.items[i].value;
	return NULL;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {
		[TOML_STRING] = "string",
		[TOML_INTEGER] = "integer",
		[TOML_FLOAT] = "float",
		[TOML_BOOLEAN] = "boolean",
		[TOML_OFFSET_DATETIME] = "offset date-time",
		[TOML_LOCAL_DATETIME] = "local date-time",
		[TOML_LOCAL_DATE] = "local date",
		[TOML_LOCAL_TIME] = "local time",
		[TOML_ARRAY] = "array",
		[TOML_TABLE] = "table",
	};

	return names[type];
}
