/* SPDX-License-Identifier: MIT */
/* Copies of policies, and edits as text and as TOML; see suggest_edit.h. */
#include "plan/suggest_edit.h"

#include "base/buf.h"
#include "base/shell.h"

enum { SUGGEST_MAX_TEXT = 64 << 10 };

/* ---- Copies ------------------------------------------------------------- */

struct policy *suggest_copy(struct suggester *f, const struct policy *p)
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

struct policy *suggest_copy_fs(struct suggester *f, const struct policy *p, size_t layer)
{
	struct policy *copy = suggest_copy(f, p);
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

struct policy *suggest_copy_rules(struct suggester *f, const struct policy *p, size_t layer)
{
	struct policy *copy = suggest_copy(f, p);
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

struct policy *suggest_copy_sockets(struct suggester *f, const struct policy *p, size_t layer)
{
	struct policy *copy = suggest_copy(f, p);
	const struct net_rules *from = &p->layers.items[layer].net;
	struct net_socket *items = arena_array(f->a, from->sockets.count + 1, sizeof(*items), f->e);

	if (!copy || !items)
		return NULL;
	if (from->sockets.count)
		memcpy(items, from->sockets.items, from->sockets.count * sizeof(*items));
	copy->layers.items[layer].net.sockets.items = items;
	copy->layers.items[layer].net.sockets.room = from->sockets.count + 1;
	return copy;
}

int suggest_enable(struct suggester *f, size_t layer)
{
	struct policy *p = suggest_copy(f, f->policy);
	const struct origin *at = NULL;

	if (!p)
		return err_result(f->e);
	/* Change the line if there is one: TOML does not allow a second. */
	if (p->layers.items[layer].net.access_is_set)
		at = &p->layers.items[layer].net.access_origin;
	/* No file can change what an option sets. */
	if (at && !suggest_is_ours(f, at))
		return 0;
	if (suggest_record(f, layer, "network", at, STR("enabled"), STR("true")) < 0)
		return err_result(f->e);
	p->layers.items[layer].net.access = NET_MANAGED;
	f->policy = p;
	return 0;
}

/* ---- Places of rules ---------------------------------------------------- */

bool suggest_same_origin(const struct origin *a, const struct origin *b)
{
	return a->file && b->file && strcmp(a->file, b->file) == 0 && a->line == b->line &&
	       a->column == b->column;
}

static bool is_on_command_line(const struct origin *origin)
{
	return origin->file && origin->file[0] == '-';
}

bool suggest_is_trusted(const struct suggester *f, const struct origin *origin)
{
	for (size_t i = 0; origin->file && i < f->policy->trusted.count; i++)
		if (str_is(f->policy->trusted.items[i].name, origin->file))
			return true;
	return false;
}

static bool is_same_place(const struct origin *a, const struct origin *b)
{
	return b->file && strcmp(a->file, b->file) == 0 && a->line == b->line;
}

bool suggest_is_granted(const struct suggester *f, const struct origin *origin)
{
	const struct policy *p = f->policy;
	bool found = false;

	if (!origin->file)
		return false;
	for (size_t i = 0; i < p->grants.count; i++)
		found |= is_same_place(origin, &p->grants.items[i].origin);
	for (size_t i = 0; i < p->net_grants.count; i++)
		found |= is_same_place(origin, &p->net_grants.items[i].origin);
	for (size_t i = 0; i < p->socket_grants.count; i++)
		found |= is_same_place(origin, &p->socket_grants.items[i].origin);
	return found;
}

int suggest_explain_granted(struct suggester *f, struct str place)
{
	return arena_printf(
		f->a, &f->change.why_not, f->e,
		"it was approved (%.*s): 'cordon approvals list' has its id, and 'cordon "
		"approvals revoke ID' ends it",
		STR_ARG(place));
}

int suggest_explain_fixed(struct suggester *f, size_t layer, struct str place)
{
	bool is_call = f->policy->layers.items[layer].kind == LAYER_CALL;

	return arena_printf(f->a, &f->change.why_not, f->e, "%.*s %s", STR_ARG(place),
			    is_call ? "narrows this call, and only codex can raise it"
				    : "is a requirement that only the administrator of this "
				      "machine can raise");
}

int suggest_explain_net(struct suggester *f, const struct net_verdict *v)
{
	struct str place;

	if (v->reason == NET_REASON_UNSANDBOXED)
		return arena_printf(f->a, &f->change.why_not, f->e,
				    "this profile has no sandbox; choose another one");
	if (suggest_place(f, &v->origin, &place) < 0)
		return err_result(f->e);
	if (layer_is_fixed(&f->policy->layers.items[v->layer]))
		return suggest_explain_fixed(f, v->layer, place);
	if (suggest_is_trusted(f, &v->origin))
		return suggest_explain_trusted(f, place);
	if (suggest_is_granted(f, &v->origin))
		return suggest_explain_granted(f, place);
	return arena_printf(f->a, &f->change.why_not, f->e,
			    "%.*s decides, and no line of a file changes that", STR_ARG(place));
}

bool suggest_is_ours(const struct suggester *f, const struct origin *origin)
{
	return origin->file && !is_on_command_line(origin) && !suggest_is_trusted(f, origin) &&
	       !suggest_is_granted(f, origin);
}

bool suggest_is_in_file(const struct origin *origin)
{
	return origin->file && !is_on_command_line(origin) && strcmp(origin->file, "built-in") != 0;
}

int suggest_place(struct suggester *f, const struct origin *origin, struct str *out)
{
	if (!origin->file)
		return arena_printf(f->a, out, f->e, "a built-in rule");
	if (!suggest_is_in_file(origin))
		return arena_copy(f->a, str_of(origin->file), out, f->e);
	return arena_printf(f->a, out, f->e, "%s:%u", origin->file, origin->line);
}

int suggest_explain_trusted(struct suggester *f, struct str place)
{
	return arena_printf(
		f->a, &f->change.why_not, f->e,
		"%.*s, in a trusted project's file, decides, and your configuration can't "
		"override it; change that line, and trust the changed file again",
		STR_ARG(place));
}

/* ---- Edits -------------------------------------------------------------- */

int suggest_key(struct suggester *f, struct str text, struct str *out)
{
	scoped_buf b = BUF_INIT(SUGGEST_MAX_TEXT);

	toml_add_key(&b, text);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

int suggest_string(struct suggester *f, struct str text, struct str *out)
{
	scoped_buf b = BUF_INIT(SUGGEST_MAX_TEXT);

	toml_add_string(&b, text);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

static bool is_built_in(const struct profile *p)
{
	return str_has_prefix(p->name, STR(":"));
}

static bool has_profile(const struct policy *p, struct str name)
{
	const struct toml *permissions = p->user ? toml_find(p->user, "permissions") : NULL;

	for (size_t i = 0; permissions && i < permissions->table.count; i++)
		if (str_eq(permissions->table.items[i].name, name))
			return true;
	return false;
}

/* The profile to edit: the one in force, or a new one with an unused name. */
static int name_profile(struct suggester *f, struct str *out)
{
	struct str name = f->policy->profile->name;

	if (!is_built_in(f->policy->profile)) {
		*out = name;
		return 0;
	}
	name = str_from(name, 1);
	if (arena_printf(f->a, out, f->e, "my-%.*s", STR_ALL(name)) < 0)
		return err_result(f->e);
	for (unsigned n = 2; has_profile(f->policy, *out); n++)
		if (arena_printf(f->a, out, f->e, "my-%.*s-%u", STR_ALL(name), n) < 0)
			return err_result(f->e);
	return 0;
}

static int name_table(struct suggester *f, size_t layer, const char *table, struct str *out)
{
	scoped_buf b = BUF_INIT(SUGGEST_MAX_TEXT);
	struct str name;

	if (layer == 0) {
		if (name_profile(f, &name) < 0)
			return err_result(f->e);
		buf_add_text(&b, "permissions.");
		toml_add_key(&b, name);
		if (*table)
			buf_add_char(&b, '.');
	}
	buf_add_text(&b, table);
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

/* The file in which a new line for that layer belongs. */
static struct str name_file(struct suggester *f, size_t layer)
{
	const struct layer *l = &f->policy->layers.items[layer];
	const struct origin *origin = &f->policy->profile->origin;

	if (layer > 0)
		origin = l->fs.count ? &l->fs.items[0].origin : &l->net.access_origin;
	if (suggest_is_in_file(origin))
		return str_of(origin->file);
	return f->policy->user ? str_of(f->policy->user->origin.file) : STR_EMPTY;
}

/* Finds where a new line of `table`, a table of a profile or project, belongs. */
static int find_spot(struct suggester *f, size_t layer, const char *table,
		     struct suggest_edit *edit)
{
	struct str steps[4], rest = str_of(table);
	size_t count = 0;

	if (layer == 0) {
		steps[count++] = STR("permissions");
		if (name_profile(f, &steps[count++]) < 0)
			return err_result(f->e);
	}
	while (rest.len && count < COUNT_OF(steps)) {
		size_t end = str_find(rest, '.');

		steps[count++] = str_first(rest, end);
		rest = str_from(rest, MIN_OF(end + 1, rest.len));
	}
	return suggest_find_spot(f, edit->file, steps, count, &edit->spot);
}

/* `edit` has its file, its table and its spot. */
static int describe_place(struct arena *a, const struct suggest_edit *edit, struct str *out,
			  struct err *e)
{
	const struct suggest_spot *spot = &edit->spot;

	switch (spot->kind) {
	case SPOT_NEW:
		return arena_printf(a, out, e, " in [%.*s], a new table of %.*s",
				    STR_ARG(edit->table), STR_ARG(edit->file));
	case SPOT_HEADER:
		return arena_printf(a, out, e, " in [%.*s] at %.*s:%u", STR_ARG(edit->table),
				    STR_ARG(edit->file), spot->line);
	case SPOT_INLINE:
		return arena_printf(a, out, e, " inside %.*s = { ... } at %.*s:%u",
				    STR_ARG(spot->name), STR_ARG(edit->file), spot->line);
	case SPOT_DOTTED:
		break;
	}
	return arena_printf(a, out, e, " below %.*s:%u", STR_ARG(edit->file), spot->line);
}

int plan_place_hosts(struct arena *a, const struct policy *p, struct str *prefix, struct str *place,
		     struct err *e)
{
	static const char table[] = "network.domains";
	struct suggester f = { .a = a, .policy = p, .e = e };
	struct suggest_edit edit = { .table = STR_EMPTY };

	*prefix = *place = STR_EMPTY;
	if (is_built_in(p->profile) || is_on_command_line(&p->profile->net.access_origin))
		return 0;
	edit.file = name_file(&f, 0);
	if (!edit.file.len)
		return 0;
	if (name_table(&f, 0, table, &edit.table) < 0 || find_spot(&f, 0, table, &edit) < 0)
		return err_result(e);
	*prefix = edit.spot.prefix;
	return describe_place(a, &edit, place, e);
}

int suggest_record(struct suggester *f, size_t layer, const char *table, const struct origin *at,
		   struct str key, struct str value)
{
	struct suggest_edit edit = { .key = key, .value = value };

	if (f->change.edit_count == SUGGEST_MAX_EDITS)
		return FAIL(f->e, ERR_INTERNAL, "more than %d edits", SUGGEST_MAX_EDITS);
	if (name_table(f, layer, table, &edit.table) < 0)
		return err_result(f->e);
	if (at && suggest_is_in_file(at)) {
		edit.file = str_of(at->file);
		edit.line = at->line;
	} else {
		edit.file = name_file(f, layer);
		if (find_spot(f, layer, table, &edit) < 0)
			return err_result(f->e);
	}
	if (layer == 0 && is_built_in(f->policy->profile))
		f->change.needs_own_profile = true;
	f->change.edits[f->change.edit_count++] = edit;
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

static void describe_value(struct buf *b, const struct suggest_edit *edit)
{
	buf_add(b, edit->spot.prefix);
	buf_add(b, edit->key);
	if (edit->value.len) {
		buf_add_text(b, " = ");
		buf_add(b, edit->value);
	}
	if (edit->is_wide)
		buf_add_text(b, " (which covers more than this)");
}

static void describe_new(struct buf *b, const struct suggest_edit *edit)
{
	switch (edit->spot.kind) {
	case SPOT_NEW:
		buf_add_text(b, "add ");
		describe_value(b, edit);
		buf_add_text(b, " to [");
		buf_add(b, edit->table);
		buf_add_text(b, "] in ");
		add_file(b, edit->file);
		return;
	case SPOT_HEADER:
		buf_add_text(b, "in [");
		buf_add(b, edit->table);
		buf_add_text(b, "], which begins on line ");
		break;
	case SPOT_INLINE:
		buf_add_text(b, "inside ");
		buf_add(b, edit->spot.name);
		buf_add_text(b, " = { ... } on line ");
		break;
	case SPOT_DOTTED:
		buf_add_text(b, "below line ");
		break;
	}
	buf_printf(b, "%u of ", edit->spot.line);
	add_file(b, edit->file);
	buf_add_text(b, edit->spot.kind == SPOT_INLINE ? ", add: " : ", add the line: ");
	describe_value(b, edit);
}

static void describe(struct buf *b, const struct suggest_edit *edit)
{
	if (!edit->line) {
		describe_new(b, edit);
		return;
	}
	buf_add_text(b, edit->value.len ? "change to " : "take out ");
	describe_value(b, edit);
	buf_add_text(b, " at ");
	add_file(b, edit->file);
	buf_printf(b, ":%u", edit->line);
}

static void describe_path(struct buf *b, const struct suggester *f)
{
	buf_add_text(b, "create it first");
	/* Cordon can't know whether it should be a file. */
	if (f->needs_directory) {
		buf_add_text(b, " (mkdir -p ");
		shell_add_word(b, f->change.needs_path);
		buf_add_char(b, ')');
	}
	buf_add_text(b, f->change.edit_count ? ", then " : "");
	if (f->said_by.len) {
		buf_add_text(b, f->change.edit_count ? "" : "; ");
		buf_add(b, f->said_by);
		buf_add_text(b, " has no effect until then");
		buf_add_text(b, f->change.edit_count ? "; also " : "");
	}
}

static void describe_all(struct buf *b, const struct suggester *f)
{
	if (f->change.needs_path.len)
		describe_path(b, f);
	else if (f->change.edit_count == 0)
		buf_add_text(b, "nothing has to change");
	if (f->change.needs_own_profile) {
		buf_add_text(b, "make a profile of your own that extends ");
		toml_add_string(b, f->policy->profile->name);
		buf_add_text(b, " (which is built in), and ");
	}
	for (size_t i = 0; i < f->change.edit_count; i++) {
		if (i > 0)
			buf_add_text(b, i + 1 < f->change.edit_count ? ", " : ", and ");
		describe(b, &f->change.edits[i]);
	}
}

static void add_edit(struct buf *b, const struct suggest_edit *edit, struct str *table,
		     struct str *file)
{
	if (!str_eq(*file, edit->file)) {
		buf_add_text(b, "# ");
		add_file(b, edit->file);
		buf_add_char(b, '\n');
		*table = STR_EMPTY;
	}
	*file = edit->file;
	if (!str_eq(*table, edit->table))
		buf_printf(b, "[%.*s]\n", (int)edit->table.len, edit->table.p);
	*table = edit->table;
	buf_add(b, edit->key);
	buf_add_text(b, " = ");
	buf_add(b, edit->value);
	buf_add_char(b, '\n');
}

/* Only a new table can be pasted as it is. */
static bool can_be_pasted(const struct suggest_edit *edit)
{
	return !edit->line && edit->spot.kind == SPOT_NEW;
}

static bool is_same_table(const struct suggest_edit *a, const struct suggest_edit *b)
{
	return str_eq(a->table, b->table) && str_eq(a->file, b->file);
}

/* All edits of one table, if the i-th is the first of them: TOML does not allow [table] twice. */
static void add_table(struct buf *b, const struct change *change, size_t i, struct str *table,
		      struct str *file)
{
	const struct suggest_edit *edits = change->edits;

	for (size_t k = 0; k < i; k++)
		if (can_be_pasted(&edits[k]) && is_same_table(&edits[k], &edits[i]))
			return;
	for (size_t k = i; k < change->edit_count; k++)
		if (can_be_pasted(&edits[k]) && is_same_table(&edits[k], &edits[i]))
			add_edit(b, &edits[k], table, file);
}

/* The order: a new profile's own table, the profile's other tables, a project's. */
static unsigned order(const struct suggest_edit *edit, struct str own)
{
	if (str_eq(edit->table, own))
		return 0;
	return str_has_prefix(edit->table, STR("permissions.")) ? 1 : 2;
}

static int add_toml(struct buf *b, struct suggester *f)
{
	const struct change *change = &f->change;
	struct str own = STR_EMPTY, table = STR_EMPTY, file = STR_EMPTY;

	if (change->needs_own_profile) {
		if (name_table(f, 0, "", &own) < 0)
			return err_result(f->e);
		table = own;
		file = name_file(f, 0);
		buf_printf(b, "%s%.*s%s[%.*s]\nextends = ", file.len ? "# " : "", STR_ALL(file),
			   file.len ? "\n" : "", STR_ALL(table));
		toml_add_string(b, f->policy->profile->name);
		buf_add_char(b, '\n');
	}
	for (unsigned turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < change->edit_count; i++)
			if (can_be_pasted(&change->edits[i]) &&
			    order(&change->edits[i], own) == turn)
				add_table(b, change, i, &table, &file);
	return 0;
}

/* Suggests how to select the new profile: change what selects the profile now. */
static int choose_own_profile(struct suggester *f, struct buf *text)
{
	const struct policy *p = f->policy;
	const struct toml *chosen = p->user ? toml_find(p->user, "default_permissions") : NULL;
	struct change *change = &f->change;
	struct str value = STR_EMPTY;

	if (name_profile(f, &change->profile) < 0 || suggest_string(f, change->profile, &value) < 0)
		return err_result(f->e);
	change->chosen_by = p->chosen_by;
	if (p->chosen_by) {
		buf_printf(text, "; and use -P %.*s in place of %s", STR_ARG(change->profile),
			   p->chosen_by);
		if (strcmp(p->chosen_by, "-P") == 0)
			buf_printf(text, " %.*s", STR_ALL(p->profile->name));
		if (strcmp(p->chosen_by, "--mode") == 0)
			buf_add_text(text, " or --full-auto"); /* which stands for one */
		return 0;
	}
	if (!chosen)
		return arena_printf(f->a, &change->toml_top, f->e, "default_permissions = %.*s\n",
				    STR_ALL(value));
	change->edits[change->edit_count] = (struct suggest_edit){
		.file = str_of(chosen->origin.file),
		.line = chosen->origin.line,
		.table = STR_EMPTY,
		.key = STR("default_permissions"),
		.value = value,
	};
	buf_add_text(text, ", and ");
	describe(text, &change->edits[change->edit_count++]);
	return 0;
}

int suggest_finish(struct suggester *f)
{
	scoped_buf text = BUF_INIT(SUGGEST_MAX_TEXT);
	scoped_buf toml = BUF_INIT(SUGGEST_MAX_TEXT);

	describe_all(&text, f);
	if (add_toml(&toml, f) < 0 ||
	    (f->change.needs_own_profile && choose_own_profile(f, &text) < 0))
		return err_result(f->e);
	if (buf_check(&text, f->e) < 0 || buf_check(&toml, f->e) < 0 ||
	    arena_copy(f->a, buf_str(&text), &f->change.text, f->e) < 0 ||
	    arena_copy(f->a, buf_str(&toml), &f->change.toml, f->e) < 0)
		return err_result(f->e);
	f->change.is_possible = true;
	return 0;
}
