/* SPDX-License-Identifier: MIT */
/* See machine.h: what is there, compared with what has to be. Changes nothing. */
#include "backend/win_elevated/machine.h"
#include "base/utf8.h"

const char *const machine_state_names[MACHINE_STATE_COUNT] = { [MACHINE_OK] = "ok",
							       [MACHINE_MISSING] = "missing",
							       [MACHINE_DIFFERS] = "differs",
							       [MACHINE_FOREIGN] = "foreign",
							       [MACHINE_UNKNOWN] = "unknown" };

struct looking {
	struct arena *a;
	const struct machine *m;
	struct machine_look *out;
	bool has_any; /* something of Cordon's */
};

static int add_item(struct looking *l, const char *kind, struct str name, enum machine_state state,
		    const char *detail, struct err *e)
{
	struct machine_item *item = VEC_PUSH(l->a, &l->out->items, e);

	if (!item)
		return err_result(e);
	item->kind = kind;
	item->state = state;
	l->has_any = l->has_any || state == MACHINE_OK || state == MACHINE_DIFFERS;
	return arena_copy(l->a, name, &item->name, e) < 0
		       ? err_result(e)
		       : arena_copy(l->a, str_of(detail), &item->detail, e);
}

/* A failed look is an answer: it is not known. */
static int add_unknown(struct looking *l, const char *kind, struct str name, struct err *e)
{
	char why[512];

	if (e->code == ERR_NOMEM || e->code == ERR_LIMIT)
		return err_result(e);
	(void)utf8_show(err_line(e, 0), why, sizeof(why));
	err_clear(e);
	return add_item(l, kind, name, MACHINE_UNKNOWN, why, e);
}

/* ---- The directory and its files ------------------------------------------------------------------ */

static int look_directory(struct looking *l, struct err *e)
{
	bool is_there = false, is_closed = false;

	if (l->m->look_directory(l->m->state, &is_there, &is_closed, e) < 0)
		return add_unknown(l, "directory", STR("windows"), e);
	if (!is_there)
		return add_item(l, "directory", STR("windows"), MACHINE_MISSING, "", e);
	return add_item(l, "directory", STR("windows"), is_closed ? MACHINE_OK : MACHINE_DIFFERS,
			is_closed ? "" : "others can change what is in it", e);
}

static int look_mark(struct looking *l, const uint16_t *wanted, struct err *e)
{
	struct machine_look *out = l->out;
	bool is_there = false;
	struct str text = STR_EMPTY;

	out->open_port = wanted ? *wanted : 0;
	if (l->m->read_file(l->m->state, MACHINE_MARK, l->a, &is_there, &text, e) < 0)
		return add_unknown(l, "file", STR("setup"), e);
	if (!is_there)
		return add_item(l, "file", STR("setup"), MACHINE_MISSING, "", e);
	if (!machine_parse_mark(l->a, text, &out->open_port, &out->owner))
		return add_item(l, "file", STR("setup"), MACHINE_DIFFERS, "it is not valid", e);
	if (wanted && *wanted != out->open_port) {
		out->open_port = *wanted;
		return add_item(l, "file", STR("setup"), MACHINE_DIFFERS,
				"another port of the loopback is open", e);
	}
	return add_item(l, "file", STR("setup"), MACHINE_OK, "", e);
}

static int look_secrets(struct looking *l, struct err *e)
{
	bool is_there = false;
	struct str text = STR_EMPTY;

	if (l->m->read_file(l->m->state, MACHINE_SECRETS, l->a, &is_there, &text, e) < 0)
		return add_unknown(l, "file", STR("passwords"), e);
	return add_item(l, "file", STR("passwords"), is_there ? MACHINE_OK : MACHINE_MISSING, "",
			e);
}

/* ---- Accounts ---------------------------------------------------------------------------------------- */

static int look_group(struct looking *l, struct err *e)
{
	struct group_seen *group = &l->out->group;
	struct str name = str_of(machine_group_name);

	if (l->m->look_group(l->m->state, group, e) < 0)
		return add_unknown(l, "group", name, e);
	if (!group->exists)
		return add_item(l, "group", name, MACHINE_MISSING, "", e);
	return add_item(l, "group", name, group->is_ours ? MACHINE_OK : MACHINE_FOREIGN,
			group->is_ours ? "" : "a group of this name is not Cordon's", e);
}

static int look_rights(struct looking *l, enum machine_account which, struct err *e)
{
	struct str name = str_of(machine_account_names[which]);
	bool are_denied = false;

	if (!l->out->accounts[which].exists)
		return add_item(l, "rights", name, MACHINE_MISSING, "", e);
	if (l->m->look_rights(l->m->state, which, &are_denied, e) < 0)
		return add_unknown(l, "rights", name, e);
	return add_item(l, "rights", name, are_denied ? MACHINE_OK : MACHINE_MISSING,
			are_denied ? "" : "it may log on over the network", e);
}

static const char *find_difference(const struct account_seen *seen)
{
	/* SECURITY: another group may open to the command what the policy does not. */
	if (seen->is_in_others)
		return "it is in other groups, too";
	if (!seen->is_in_group || !seen->is_in_users)
		return "it is not in its groups";
	if (!seen->is_usual)
		return "it is disabled, or it or its password can expire or be changed";
	return seen->is_hidden ? NULL : "it is shown at logon";
}

static int look_account(struct looking *l, enum machine_account which, struct err *e)
{
	struct account_seen *seen = &l->out->accounts[which];
	struct str name = str_of(machine_account_names[which]);
	const char *difference;

	if (l->m->look_account(l->m->state, which, seen, e) < 0)
		return add_unknown(l, "account", name, e);
	if (!seen->exists)
		return add_item(
			l, "account", name, seen->is_hidden ? MACHINE_DIFFERS : MACHINE_MISSING,
			seen->is_hidden ? "it is missing, but named for the logon screen" : "", e);
	if (!seen->is_ours)
		return add_item(l, "account", name, MACHINE_FOREIGN,
				"an account of this name is not Cordon's", e);
	difference = find_difference(seen);
	if (add_item(l, "account", name, difference ? MACHINE_DIFFERS : MACHINE_OK,
		     difference ? difference : "", e) < 0)
		return err_result(e);
	return look_rights(l, which, e);
}

/* ---- Rules and filters --------------------------------------------------------------------------------- */

static size_t count_name(const block_list *list, struct str name, struct str text, bool *is_equal)
{
	size_t count = 0;

	*is_equal = false;
	for (size_t i = 0; i < list->count; i++) {
		if (!str_eq(list->items[i].name, name))
			continue;
		count++;
		*is_equal = str_eq(list->items[i].text, text);
	}
	return count;
}

bool machine_has_block(const block_list *list, struct str name, struct str text)
{
	bool is_equal;

	return count_name(list, name, text, &is_equal) == 1 && is_equal;
}

typedef int block_text_fn(struct arena *a, const struct windows_block *block,
			  const struct machine_users *users, struct str *out, struct err *e);

static bool is_wanted(const struct windows_block *wanted, size_t count, struct str name)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(wanted[i].name, name))
			return true;
	return false;
}

static int compare_blocks(struct looking *l, const char *kind, const block_list *seen,
			  const struct windows_block *wanted, size_t count, block_text_fn *print,
			  struct err *e)
{
	const char *sid = l->out->accounts[ACCOUNT_OFFLINE].sid;
	struct machine_users users;
	bool is_equal;

	if (machine_find_users(l->a, sid, &users, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct str text;
		size_t times;

		if (print(l->a, &wanted[i], &users, &text, e) < 0)
			return err_result(e);
		times = count_name(seen, wanted[i].name, text, &is_equal);
		if (add_item(l, kind, wanted[i].name,
			     times == 0		      ? MACHINE_MISSING
			     : times == 1 && is_equal ? MACHINE_OK
						      : MACHINE_DIFFERS,
			     times > 1		       ? "it is there more than once"
			     : times == 1 && !is_equal ? "it is another one"
						       : "",
			     e) < 0)
			return err_result(e);
	}
	for (size_t i = 0; i < seen->count; i++)
		if (!is_wanted(wanted, count, seen->items[i].name) &&
		    add_item(l, kind, seen->items[i].name, MACHINE_DIFFERS,
			     "it should not be there", e) < 0)
			return err_result(e);
	return 0;
}

static int look_blocks(struct looking *l, struct err *e)
{
	struct machine_look *out = l->out;
	struct machine_blocks wanted;

	if (machine_list_blocks(l->a, out->open_port, &wanted, e) < 0)
		return err_result(e);
	if (l->m->list_rules(l->m->state, l->a, &out->rules, e) < 0
		    ? add_unknown(l, "rule", STR("cordon_offline"), e) < 0
		    : compare_blocks(l, "rule", &out->rules, wanted.rules, wanted.rule_count,
				     machine_rule_text, e) < 0)
		return err_result(e);
	if (l->m->list_filters(l->m->state, l->a, &out->filters, e) < 0)
		return add_unknown(l, "filter", STR("cordon_wfp"), e);
	return compare_blocks(l, "filter", &out->filters, wanted.filters, wanted.filter_count,
			      machine_filter_text, e);
}

/* ---- All of it ------------------------------------------------------------------------------------------- */

int machine_look(struct arena *a, const struct machine *m, const uint16_t *open_port,
		 struct machine_look *out, struct err *e)
{
	struct looking l = { .a = a, .m = m, .out = out };

	*out = (struct machine_look){ .owner = STR_EMPTY };
	if (look_directory(&l, e) < 0 || look_mark(&l, open_port, e) < 0 || look_group(&l, e) < 0)
		return err_result(e);
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (look_account(&l, (enum machine_account)i, e) < 0)
			return err_result(e);
	if (look_blocks(&l, e) < 0 || look_secrets(&l, e) < 0)
		return err_result(e);
	out->is_set_up = true;
	out->is_clean = !l.has_any;
	for (size_t i = 0; i < out->items.count; i++) {
		out->is_set_up = out->is_set_up && out->items.items[i].state == MACHINE_OK;
		out->is_clean = out->is_clean && out->items.items[i].state != MACHINE_UNKNOWN;
	}
	return 0;
}

/* Rights that only administrators can look at keep others from nothing that a policy says. */
static bool is_in_the_way(const struct machine_item *item)
{
	return item->state != MACHINE_OK &&
	       !(item->state == MACHINE_UNKNOWN && strcmp(item->kind, "rights") == 0);
}

int machine_refuse(const struct machine_look *look, struct err *e)
{
	enum { MAX_NAMED = 8 };
	size_t count = 0;

	for (size_t i = 0; i < look->items.count; i++)
		count += is_in_the_way(&look->items.items[i]);
	if (!count)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_NOT_SET_UP,
			 "the accounts and filters of Cordon are not as they should be here");
	for (size_t i = 0, named = 0; i < look->items.count && named < MAX_NAMED; i++) {
		const struct machine_item *item = &look->items.items[i];

		if (!is_in_the_way(item))
			continue;
		named++;
		err_add_line(e, "%s %.*s: %s%s%.*s", item->kind, STR_ARG(item->name),
			     machine_state_names[item->state], item->detail.len ? ", " : "",
			     STR_ARG(item->detail));
	}
	err_add_line(e, "an administrator can mend it: 'cordon windows setup'; 'cordon windows "
			"status' shows all");
	return err_result(e);
}
