/* SPDX-License-Identifier: MIT */
/* Where a new line can be added to a file so that it stays valid TOML; see suggest_edit.h. */
#include "base/buf.h"
#include "plan/suggest_edit.h"

static const struct toml *find_text(const struct policy *p, struct str file)
{
	for (size_t i = 0; i < p->texts.count; i++)
		if (p->texts.items[i]->origin.file && str_is(file, p->texts.items[i]->origin.file))
			return p->texts.items[i];
	return NULL;
}

static const struct toml *find_table(const struct toml *table, struct str name)
{
	for (size_t i = 0; i < table->table.count; i++)
		if (str_eq(table->table.items[i].name, name) &&
		    table->table.items[i].value.type == TOML_TABLE)
			return &table->table.items[i].value;
	return NULL;
}

static int join_names(struct suggester *f, const struct str *steps, size_t count, struct str *out)
{
	scoped_buf b = BUF_INIT(4096);

	for (size_t i = 0; i < count; i++) {
		toml_add_key(&b, steps[i]);
		buf_add_char(&b, '.');
	}
	return buf_check(&b, f->e) < 0 ? err_result(f->e)
				       : arena_copy(f->a, buf_str(&b), out, f->e);
}

/*
 * TOML does not allow [x] twice, but allows it after [x.y], which only implies x. It does not allow
 * [x] or [x.y] for a table that is written inside {} or with dotted keys.
 */
int suggest_find_spot(struct suggester *f, struct str file, const struct str *steps, size_t count,
		      struct suggest_spot *out)
{
	const struct toml *table = find_text(f->policy, file);
	size_t from = 0; /* the steps from here on become part of the key */

	*out = (struct suggest_spot){ .kind = SPOT_NEW, .name = STR_EMPTY, .prefix = STR_EMPTY };
	for (size_t i = 0; table && i < count; i++) {
		table = find_table(table, steps[i]);
		if (!table)
			break;
		if (table->form == TOML_FORM_INLINE) {
			*out = (struct suggest_spot){ .kind = SPOT_INLINE };
			from = i + 1;
		} else if (table->form == TOML_FORM_DOTTED && out->kind == SPOT_NEW) {
			*out = (struct suggest_spot){ .kind = SPOT_DOTTED };
			from = i;
		} else if (table->form == TOML_FORM_HEADER && i + 1 == count) {
			*out = (struct suggest_spot){ .kind = SPOT_HEADER };
			from = count;
		}
		if (table->form != TOML_FORM_IMPLICIT)
			out->line = table->origin.line;
	}
	if (out->kind == SPOT_NEW) {
		out->line = 0;
		return 0;
	}
	if (out->kind == SPOT_INLINE && suggest_key(f, steps[from - 1], &out->name) < 0)
		return err_result(f->e);
	return join_names(f, steps + from, count - from, &out->prefix);
}
