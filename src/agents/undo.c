/* SPDX-License-Identifier: MIT */
/*
 * What has to be changed to take away what `cordon setup` has done. A file that is as setup left it becomes what it
 * was, byte for byte; of one that was changed since, only what setup has set is taken out. Changes nothing.
 */
#include <stdio.h>

#include "agents/json_edit.h"
#include "agents/setup.h"
#include "agents/toml_edit.h"
#include "base/utf8.h"
#include "os/os.h"

#define SHOWN(s) utf8_show((s), (char[512]){ 0 }, 512)

enum { VALUE_MAX_BYTES = 64 << 10 };

static bool is_key(const struct agent_piece *piece)
{
	return piece->kind == PIECE_JSON || piece->kind == PIECE_TOML;
}

/* A link that the person has made leads to the file that the journal names. */
static int is_in(struct setup *s, const struct agent_piece *piece, struct str file, bool *out,
		 struct err *e)
{
	char real[PATH_MAX_BYTES];
	struct str path;

	if (setup_find_place(s, piece->place, &path, e) < 0)
		return err_result(e);
	*out = str_eq(path, file) ||
	       (is_key(piece) && os_real_path(path.p, real) && str_is(file, real));
	return 0;
}

static int undo_key(struct setup *s, const struct entry *entry, const struct agent_piece *piece,
		    struct change *c, struct err *e)
{
	scoped_buf written = BUF_INIT(VALUE_MAX_BYTES);
	struct str value;
	size_t count = 0;

	while (count < COUNT_OF(piece->names) && piece->names[count])
		count++;
	piece->write(&written, &s->places);
	if (buf_check(&written, e) < 0 || arena_copy(s->a, buf_str(&written), &value, e) < 0)
		return err_result(e);
	if (piece->kind == PIECE_JSON)
		return json_edit_undo(s->a, c->text, entry->text, piece->names, count, value,
				      &c->text, e);
	return toml_edit_undo(s->a, c->text, entry->text, piece->names[0], piece->names[1], value,
			      &c->text, e);
}

static int fail_key(const struct entry *entry, const struct agent_piece *piece, struct err *e)
{
	char why[sizeof(e->text)], name[128] = "";

	if (e->code != ERR_POLICY && e->code != ERR_SYNTAX)
		return err_result(e);
	(void)snprintf(why, sizeof(why), "%s", e->text);
	for (size_t i = 0, len = 0; i < COUNT_OF(piece->names) && piece->names[i]; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s", i ? "." : "",
					piece->names[i]);
	err_clear(e);
	(void)FAIL_CAUSE(e, CAUSE_FILE_CHANGED,
			 "'%s' was changed since setup, and \"%s\" can't be taken out of it: %s",
			 SHOWN(entry->path), name, why);
	err_add_line(e, "nothing was undone; take \"%s\" out of it by hand, and undo again", name);
	return err_result(e);
}

/* Each key that a way of this scope sets in the file; `*out`: there is one. */
static int undo_keys(struct setup *s, const struct entry *entry, struct change *c, bool *out,
		     struct err *e)
{
	*out = false;
	for (size_t i = 0; i < (size_t)AGENT_MAX_WAYS * AGENT_MAX_PIECES; i++) {
		const struct agent_way *way = &s->agent->ways[i / AGENT_MAX_PIECES];
		const struct agent_piece *piece = &way->pieces[i % AGENT_MAX_PIECES];
		bool is_there;

		if (!(way->scopes >> s->scope & 1) || !is_key(piece))
			continue;
		if (is_in(s, piece, entry->path, &is_there, e) < 0)
			return err_result(e);
		if (!is_there)
			continue;
		*out = true;
		if (undo_key(s, entry, piece, c, e) < 0)
			return fail_key(entry, piece, e);
	}
	return 0;
}

/* Nothing, or an empty object. */
static bool is_empty(struct str text)
{
	char left[3] = "";
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++)
		if (!strchr(" \t\r\n", text.p[i])) {
			if (len == 2)
				return false;
			left[len++] = text.p[i];
		}
	return len == 0 || strcmp(left, "{}") == 0;
}

static int fail_changed(const struct entry *entry, struct err *e)
{
	(void)FAIL_CAUSE(e, CAUSE_FILE_CHANGED,
			 "'%s' was changed since setup, and is left as it is", SHOWN(entry->path));
	err_add_line(e, "nothing was undone; remove that file, or put back what setup has put "
			"there, and undo again");
	return err_result(e);
}

/* What was removed is back if it was a file of its own, as nothing can be lost; of settings it counts as undone. */
static int undo_missing(struct setup *s, const struct entry *entry, struct change *c, struct err *e)
{
	for (size_t i = 0; i < (size_t)AGENT_MAX_WAYS * AGENT_MAX_PIECES; i++) {
		const struct agent_piece *piece =
			&s->agent->ways[i / AGENT_MAX_PIECES].pieces[i % AGENT_MAX_PIECES];
		bool is_there = false;

		if (piece->kind != PIECE_NONE && !is_key(piece) &&
		    is_in(s, piece, entry->path, &is_there, e) < 0)
			return err_result(e);
		if (is_there)
			return 0;
	}
	c->removes = true;
	return 0;
}

static int undo_entry(struct setup *s, const struct entry *entry, struct change *out, struct err *e)
{
	bool has_keys;

	*out = (struct change){ .mode = entry->mode, .sets = STR_EMPTY };
	if (os_settings_read(s->a, entry->path, false, CHANGE_MAX_BYTES, &out->was, e) < 0)
		return err_result(e);
	out->text = entry->text;
	out->removes = !entry->was_there;
	if (!change_is_needed(out) || (out->was.is_there && journal_made(entry, out->was.text)))
		return 0;
	out->removes = !out->was.is_there;
	if (entry->may_stay) {
		out->text = out->was.text;
		return 0;
	}
	if (!out->was.is_there) {
		out->removes = false;
		return undo_missing(s, entry, out, e);
	}
	out->text = out->was.text;
	if (undo_keys(s, entry, out, &has_keys, e) < 0)
		return err_result(e);
	if (!has_keys)
		return fail_changed(entry, e);
	out->removes = !entry->was_there && change_is_needed(out) && is_empty(out->text);
	return 0;
}

int setup_plan_undo(struct setup *s, const struct journal *j, struct err *e)
{
	s->places.cordon = s->in.program;
	for (size_t i = j->entries.count; i-- > 0;) {
		struct change *c = VEC_PUSH(s->a, &s->changes, e);

		if (!c || undo_entry(s, &j->entries.items[i], c, e) < 0)
			return err_result(e);
	}
	return 0;
}
