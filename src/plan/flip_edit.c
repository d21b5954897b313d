/* SPDX-License-Identifier: MIT */
/* Copies of policies, and edits in words and in TOML; see flip_edit.h. */
#include "plan/flip_edit.h"

#include "base/buf.h"

enum { FLIP_MAX_TEXT = 64 << 10 };

/* ---- Copies ------------------------------------------------------------- */

struct policy *flip_copy(struct flipper *f, const struct policy *p)
{
	struct policy *copy = ARENA_NEW(f->a, struct policy, f->e);
	struct profile *profile = ARENA_NEW(f->a, struct profile, f->e);
	struct layer *layers = arena_array(f->a, p->layers.count, sizeof(*layers), f->e);

	if (!copy || !profile || !layers)
		return NULL;
	*profile = *p->profile;
	memcpy(layers, p->layers.items, p->layers.count * sizeof(*layers));
	*copy = *p;
	copy->profile = profile;
	copy->layers.items = layers;
	copy->layers.room = p->layers.count;
	return copy;
}

struct policy *flip_copy_fs(struct flipper *f, const struct policy *p, size_t layer)
{
	struct policy *copy = flip_copy(f, p);
	const fs_entries *from = &p->layers.items[layer].fs;
	struct fs_entry *items = arena_array(f->a, from->count + 1, sizeof(*items), f->e);

	if (!copy || !items)
		return NULL;
	if (from->count)
		memcpy(items, from->items, from->count * sizeof(*items));
	copy->layers.items[layer].fs.items = items;
	copy->layers.items[layer].fs.room = from->count + 1;
	return copy;
}

struct policy *flip_copy_rules(struct flipper *f, const struct policy *p, size_t layer)
{
	struct policy *copy = flip_copy(f, p);
	const struct net_rules *from = &p->layers.items[layer].net;
	struct net_rule *items = arena_array(f->a, from->rules.count + 1, sizeof(*items), f->e);

	if (!copy || !items)
		return NULL;
	if (from->rules.count)
		memcpy(items, from->rules.items, from->rules.count * sizeof(*items));
	copy->layers.items[layer].net.rules.items = items;
	copy->layers.items[layer].net.rules.room = from->rules.count + 1;
	return copy;
}

/* ---- Where things are said ---------------------------------------------- */

bool flip_same_origin(const struct origin *a, const struct origin *b)
{
	return a->file && b->file && strcmp(a->file, b->file) == 0 && a->line == b->line &&
	       a->column == b->column;
}

static bool is_on_command_line(const struct origin *origin)
{
	return origin->file && origin->file[0] == '-';
}

bool flip_is_trusted(const struct flipper *f, const struct origin *origin)
{
	for (size_t i = 0; origin->file && i < f->policy->trusted.count; i++)
		if (str_is(f->policy->trusted.items[i].name, origin->file))
			return true;
	return false;
}

bool flip_is_ours(const struct flipper *f, const struct origin *origin)
{
	return origin->file && !is_on_command_line(origin) && !flip_is_trusted(f, origin);
}

bool flip_is_in_file(const struct origin *origin)
{
	return origin->file && !is_on_command_line(origin) && strcmp(origin->file, "built-in") != 0;
}

int flip_place(struct flipper *f, const struct origin *origin, struct str *out)
{
	if (!origin->file)
		return arena_printf(f->a, out, f->e, "a rule that nobody wrote");
	if (!flip_is_in_file(origin))
		return arena_copy(f->a, str_of(origin->file), out, f->e);
	return arena_printf(f->a, out, f->e, "%s:%u", origin->file, origin->line);
}

int flip_explain_trusted(struct flipper *f, struct str place)
{
	return arena_printf(f->a, &f->flip.why_not, f->e,
			    "%.*s, of a trusted project, decides here, and your configuration does "
			    "not win over it; change it there, and trust the changed file anew "
			    "(P2)",
			    STR_ARG(place));
}

/* ---- Edits -------------------------------------------------------------- */

int flip_key(struct flipper *f, struct str text, struct str *out)
{
	scoped_buf b = BUF_INIT(FLIP_MAX_TEXT);

	toml_add_key(&b, text);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

int flip_string(struct flipper *f, struct str text, struct str *out)
{
	scoped_buf b = BUF_INIT(FLIP_MAX_TEXT);

	toml_add_string(&b, text);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

static bool is_built_in(const struct profile *p)
{
	return str_has_prefix(p->name, STR(":"));
}

/* The profile to edit: the one in force, or one to be made. */
static void add_profile_table(struct buf *b, const struct profile *p)
{
	scoped_buf own = BUF_INIT(FLIP_MAX_TEXT);

	if (is_built_in(p)) {
		buf_add_text(&own, "my-");
		buf_add(&own, str_from(p->name, 1));
	} else {
		buf_add(&own, p->name);
	}
	buf_add_text(b, "permissions.");
	toml_add_key(b, buf_str(&own));
	if (own.failed != ERR_OK)
		b->failed = own.failed;
}

static int name_table(struct flipper *f, size_t layer, const char *table, struct str *out)
{
	scoped_buf b = BUF_INIT(FLIP_MAX_TEXT);

	if (layer == 0) {
		add_profile_table(&b, f->policy->profile);
		if (*table)
			buf_add_char(&b, '.');
	}
	buf_add_text(&b, table);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

/* The file in which a new line for that layer belongs: a project has just one. */
static struct str name_file(struct flipper *f, size_t layer)
{
	const struct layer *l = &f->policy->layers.items[layer];
	const struct origin *origin = &f->policy->profile->origin;

	if (layer > 0)
		origin = l->fs.count ? &l->fs.items[0].origin : &l->net.access_origin;
	return flip_is_in_file(origin) ? str_of(origin->file) : STR_EMPTY;
}

int flip_record(struct flipper *f, size_t layer, const char *table, const struct origin *at,
		struct str key, struct str value)
{
	struct flip_edit edit = { .key = key, .value = value };

	if (f->flip.edit_count == FLIP_MAX_EDITS)
		return FAIL(f->e, ERR_INTERNAL, "more than %d edits", FLIP_MAX_EDITS);
	if (name_table(f, layer, table, &edit.table) < 0)
		return err_result(f->e);
	if (at && flip_is_in_file(at)) {
		edit.file = str_of(at->file);
		edit.line = at->line;
	} else {
		edit.file = name_file(f, layer);
	}
	if (layer == 0 && is_built_in(f->policy->profile))
		f->flip.needs_own_profile = true;
	f->flip.edits[f->flip.edit_count++] = edit;
	return 0;
}

/* ---- Words and TOML ----------------------------------------------------- */

static void add_file(struct buf *b, struct str file)
{
	if (file.len)
		buf_add(b, file);
	else
		buf_add_text(b, "your configuration");
}

static void describe(struct buf *b, const struct flip_edit *edit)
{
	bool is_removal = edit->value.len == 0;

	if (is_removal)
		buf_add_text(b, "take out ");
	else
		buf_add_text(b, edit->line ? "change to " : "add ");
	buf_add(b, edit->key);
	if (!is_removal) {
		buf_add_text(b, " = ");
		buf_add(b, edit->value);
	}
	if (edit->is_wide)
		buf_add_text(b, " (for all that it stands for)");
	if (edit->line) {
		buf_add_text(b, " at ");
		add_file(b, edit->file);
		buf_printf(b, ":%u", edit->line);
	} else {
		buf_add_text(b, " to [");
		buf_add(b, edit->table);
		buf_add_text(b, "] in ");
		add_file(b, edit->file);
	}
}

/* As one word of a shell: within '...' nothing but ' itself is special. */
static void add_quoted(struct buf *b, struct str path)
{
	buf_add_char(b, '\'');
	for (size_t i = 0; i < path.len; i++) {
		if (path.p[i] == '\'')
			buf_add_text(b, "'\\'");
		buf_add_char(b, path.p[i]);
	}
	buf_add_char(b, '\'');
}

static bool is_plain_word(struct str path)
{
	for (size_t i = 0; i < path.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+",
			    path.p[i]))
			return false;
	return true;
}

static void describe_path(struct buf *b, const struct flipper *f)
{
	buf_add_text(b, "create it first (mkdir -p ");
	if (is_plain_word(f->flip.needs_path))
		buf_add(b, f->flip.needs_path);
	else
		add_quoted(b, f->flip.needs_path);
	buf_add_text(b, f->flip.edit_count ? "), then " : ")");
	if (f->said_by.len) {
		buf_add_text(b, f->flip.edit_count ? "" : "; ");
		buf_add(b, f->said_by);
		buf_add_text(b, " is left out until then (P11)");
		buf_add_text(b, f->flip.edit_count ? "; also " : "");
	}
}

static void describe_all(struct buf *b, const struct flipper *f)
{
	if (f->flip.needs_path.len)
		describe_path(b, f);
	else if (f->flip.edit_count == 0)
		buf_add_text(b, "nothing has to change");
	if (f->flip.needs_own_profile) {
		buf_add_text(b, "make a profile of your own that extends ");
		toml_add_string(b, f->policy->profile->name);
		buf_add_text(b, " (which is built in), and ");
	}
	for (size_t i = 0; i < f->flip.edit_count; i++) {
		if (i > 0)
			buf_add_text(b, i + 1 < f->flip.edit_count ? ", " : ", and ");
		describe(b, &f->flip.edits[i]);
	}
}

static void add_place(struct buf *b, const struct flip_edit *edit)
{
	buf_add_text(b, "# ");
	add_file(b, edit->file);
	if (edit->line)
		buf_printf(b, ":%u%s", edit->line, edit->value.len ? "" : ", to be taken out:\n# ");
	if (edit->value.len)
		buf_add_char(b, '\n');
	else
		buf_add(b, edit->key);
}

static void add_edit(struct buf *b, const struct flip_edit *edit, struct str *table,
		     struct str *file)
{
	if (edit->line || !str_eq(*file, edit->file))
		add_place(b, edit);
	*file = edit->file;
	if (edit->value.len) {
		if (!str_eq(*table, edit->table))
			buf_printf(b, "[%.*s]\n", (int)edit->table.len, edit->table.p);
		*table = edit->table;
		buf_add(b, edit->key);
		buf_add_text(b, " = ");
		buf_add(b, edit->value);
	}
	buf_add_char(b, '\n');
}

static bool is_same_table(const struct flip_edit *a, const struct flip_edit *b)
{
	return str_eq(a->table, b->table) && str_eq(a->file, b->file);
}

/* All edits of one table, if the i-th is the first of them: a table can't be opened twice. */
static void add_table(struct buf *b, const struct flip *flip, size_t i, struct str *table,
		      struct str *file)
{
	const struct flip_edit *edits = flip->edits;

	for (size_t k = 0; k < i; k++)
		if (is_same_table(&edits[k], &edits[i]))
			return;
	for (size_t k = i; k < flip->edit_count; k++)
		if (is_same_table(&edits[k], &edits[i]))
			add_edit(b, &edits[k], table, file);
}

/* A new profile's own table, which is opened anyway; the profile's other tables; a project's. */
static unsigned order(const struct flip_edit *edit, struct str own)
{
	if (str_eq(edit->table, own))
		return 0;
	return str_has_prefix(edit->table, STR("permissions.")) ? 1 : 2;
}

static void add_toml(struct buf *b, const struct flipper *f)
{
	const struct flip *flip = &f->flip;
	scoped_buf own = BUF_INIT(FLIP_MAX_TEXT);
	struct str table = STR_EMPTY, file = STR_EMPTY;

	if (flip->needs_own_profile) {
		add_profile_table(&own, f->policy->profile);
		table = buf_str(&own);
		buf_printf(b, "[%.*s]\nextends = ", (int)table.len, table.p);
		toml_add_string(b, f->policy->profile->name);
		buf_add_char(b, '\n');
	}
	for (unsigned turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < flip->edit_count; i++)
			if (order(&flip->edits[i], buf_str(&own)) == turn)
				add_table(b, flip, i, &table, &file);
	if (own.failed != ERR_OK)
		b->failed = own.failed;
}

static int choose_own_profile(struct flipper *f)
{
	scoped_buf b = BUF_INIT(FLIP_MAX_TEXT);

	buf_add_text(&b, "default_permissions = ");
	buf_add_text(&b, "\"my-");
	buf_add(&b, str_from(f->policy->profile->name, 1));
	buf_add_text(&b, "\"\n");
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), &f->flip.toml_top, f->e);
}

int flip_finish(struct flipper *f)
{
	scoped_buf text = BUF_INIT(FLIP_MAX_TEXT);
	scoped_buf toml = BUF_INIT(FLIP_MAX_TEXT);

	describe_all(&text, f);
	add_toml(&toml, f);
	if (buf_check(&text, f->e) < 0 || buf_check(&toml, f->e) < 0 ||
	    arena_copy(f->a, buf_str(&text), &f->flip.text, f->e) < 0 ||
	    arena_copy(f->a, buf_str(&toml), &f->flip.toml, f->e) < 0)
		return err_result(f->e);
	if (f->flip.needs_own_profile && choose_own_profile(f) < 0)
		return err_result(f->e);
	f->flip.is_possible = true;
	return 0;
}
