/* SPDX-License-Identifier: MIT */
/* What has to be changed to put Cordon beneath an agent. Changes nothing. */
#include "agents/json_edit.h"
#include "agents/setup.h"
#include "agents/toml_edit.h"
#include "base/utf8.h"
#include "os/os.h"

#define SHOWN(s) utf8_show((s), (char[512]){ 0 }, 512)

enum { TEXT_MAX_BYTES = 64 << 10 };

int setup_find_place(struct setup *s, const char *place, struct str *out, struct err *e)
{
	struct str below = str_of(place);

	if (place[0] == '/')
		return path_plain(s->a, STR("/"), below, out, e);
	return path_join(s->a,
			 place[0] == '~'   ? s->places.home
			 : place[0] == '.' ? s->places.project
					   : s->places.private,
			 str_from(below, 2), out, e);
}

/* The change of a file, which is looked at when it is first needed. NULL: `e` says why. */
static struct change *find_or_add(struct setup *s, struct str path, bool follows, struct err *e)
{
	struct os_settings was;
	struct change *change;

	if (os_settings_read(s->a, path, follows, CHANGE_MAX_BYTES, &was, e) < 0)
		return NULL;
	change = change_find(&s->changes, was.path);
	if (change)
		return change;
	change = VEC_PUSH(s->a, &s->changes, e);
	if (change)
		*change = (struct change){ .was = was, .text = was.text, .sets = STR_EMPTY };
	return change;
}

static size_t count_names(const struct agent_piece *piece)
{
	size_t count = 0;

	while (count < COUNT_OF(piece->names) && piece->names[count])
		count++;
	return count;
}

/* "env.X, y.z" */
static int add_sets(struct setup *s, struct change *c, const struct agent_piece *piece,
		    size_t count, struct err *e)
{
	scoped_buf b = BUF_INIT(1024);

	buf_add(&b, c->sets);
	if (c->sets.len)
		buf_add_text(&b, ", ");
	for (size_t i = 0; i < count; i++)
		buf_printf(&b, "%s%s", i ? "." : "", piece->names[i]);
	return buf_check(&b, e) < 0 ? err_result(e) : arena_copy(s->a, buf_str(&b), &c->sets, e);
}

static int check_extras(struct setup *s, const struct change *c, struct err *e)
{
	unsigned extras;

	if (jsonc_find_extras(s->a, c->text, &extras, e) < 0)
		return err_result(e);
	extras &= ~s->agent->json_extras;
	if (!extras)
		return 0;
	(void)FAIL(e, ERR_POLICY, "'%s' has %s in it, and %s ignores such a file as a whole",
		   SHOWN(c->was.path),
		   extras & JSONC_COMMENTS ? "comments" : "a comma behind the last item",
		   s->agent->title);
	err_add_line(e, "take them out; until then nothing in it has an effect");
	return err_result(e);
}

/* A file that is replaced keeps its mode, which is not setup's to change. */
static int check_mode(const struct setup *s, const struct change *c, struct err *e)
{
	if (s->action == SETUP_CHECK || !c->was.is_there || c->was.mode & 0100)
		return 0;
	(void)FAIL(e, ERR_POLICY, "'%s' is there, and is not executable", SHOWN(c->was.path));
	err_add_line(e, "remove it, or make it executable with chmod 755");
	return err_result(e);
}

static int plan_piece(struct setup *s, const struct agent_piece *piece, struct err *e)
{
	scoped_buf written = BUF_INIT(TEXT_MAX_BYTES);
	bool is_shared = s->scope == SCOPE_SYSTEM;
	bool is_whole = piece->kind == PIECE_SCRIPT || piece->kind == PIECE_FILE;
	struct str path, value;
	struct change *c;
	size_t count = count_names(piece);
	int r;

	piece->write(&written, &s->places);
	/* A project comes from others, and so do its links. */
	if (buf_check(&written, e) < 0 || arena_copy(s->a, buf_str(&written), &value, e) < 0 ||
	    setup_find_place(s, piece->place, &path, e) < 0)
		return err_result(e);
	c = find_or_add(s, path, s->scope == SCOPE_USER && !is_whole, e);
	if (!c)
		return err_result(e);
	c->mode = piece->kind == PIECE_SCRIPT ? 0755 : is_shared ? 0644 : 0600;
	if (is_whole) {
		c->text = value;
		return piece->kind == PIECE_SCRIPT ? check_mode(s, c, e) : 0;
	}
	if (piece->kind == PIECE_JSON && check_extras(s, c, e) < 0)
		return err_result(e);
	if (piece->kind == PIECE_JSON)
		r = json_edit_set(s->a, c->text, piece->names, count, value, &c->text, e);
	else
		r = toml_edit_set(s->a, "it", c->text, piece->names[0], piece->names[1], value,
				  &c->text, e);
	if (r < 0)
		return err_wrap(e, "'%s' can't be changed", SHOWN(c->was.path));
	return add_sets(s, c, piece, count, e);
}

static const char profile[] = "# Written by 'cordon setup': what the commands of coding agents may "
			      "do. 'cordon check' says\n"
			      "# whether this file is valid, 'cordon explain' what it means; all "
			      "keys are in cordon-policy(5).\n"
			      "default_permissions = \"agent\"\n"
			      "\n"
			      "[permissions.agent]\n"
			      "description = \"work in this directory, no network, no secrets\"\n"
			      "extends = \":workspace\"\n"
			      "# add, commit, branch, checkout, stash, rebase and fetch work; "
			      "hooks and config stay read-only.\n"
			      "git = \"commit\"\n"
			      "\n"
			      "[permissions.agent.filesystem]\n"
			      "\":secrets\" = \"deny\"\n";

/* Without one, commands could write nothing. One that is there is what the person wants. */
static int plan_profile(struct setup *s, struct err *e)
{
	struct str path = s->in.default_user_file;
	struct os_file is;
	struct change *c;

	if (s->scope == SCOPE_SYSTEM &&
	    path_join(s->a, s->in.system_dir, STR("config.toml"), &path, e) < 0)
		return err_result(e);
	if (os_look(path, &is, e) < 0)
		return err_result(e);
	if (is.type != OS_MISSING)
		return 0;
	c = find_or_add(s, path, false, e);
	if (!c)
		return err_result(e);
	c->text = str_of(profile);
	c->mode = s->scope == SCOPE_SYSTEM ? 0644 : 0600;
	c->may_stay = true;
	return 0;
}

int setup_plan(struct setup *s, struct err *e)
{
	for (size_t i = 0; i < AGENT_MAX_PIECES && s->way->pieces[i].kind != PIECE_NONE; i++)
		if (plan_piece(s, &s->way->pieces[i], e) < 0)
			return err_result(e);
	return plan_profile(s, e);
}
