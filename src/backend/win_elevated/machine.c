/* SPDX-License-Identifier: MIT */
/* See machine.h: makes what has to be there, and takes it away. Each step may be the last one. */
#include "backend/win_elevated/machine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct doing {
	struct arena *a;
	const struct machine *m;
	uint16_t open_port;
	struct machine_look look; /* what there is; looked at again after accounts were made */
	machine_steps *done;	  /* what was done, */
	bool is_locked;
};

/* Notes a step that was done. */
static int note(struct doing *d, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int note(struct doing *d, struct err *e, const char *fmt, ...)
{
	struct str *step = VEC_PUSH(d->a, d->done, e);
	char text[160];
	va_list args;

	if (!step)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return arena_copy(d->a, str_of(text), step, e);
}

/* ---- Before anything is changed --------------------------------------------------------------------- */

static int check_names(const struct machine_look *look, struct err *e)
{
	for (size_t i = 0; i < look->items.count; i++) {
		const struct machine_item *item = &look->items.items[i];

		if (item->state != MACHINE_FOREIGN)
			continue;
		(void)FAIL_CAUSE(e, CAUSE_NAME_TAKEN,
				 "%s %.*s is there already, and is not Cordon's", item->kind,
				 STR_ARG(item->name));
		err_add_line(e, "nothing was changed; rename or remove it");
		return err_result(e);
	}
	return 0;
}

static int check_known(const struct machine_look *look, struct err *e)
{
	for (size_t i = 0; i < look->items.count; i++) {
		const struct machine_item *item = &look->items.items[i];

		if (item->state == MACHINE_UNKNOWN)
			return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
					  "%s %.*s can't be looked at: %.*s", item->kind,
					  STR_ARG(item->name), STR_ARG(item->detail));
	}
	return 0;
}

static int begin(struct doing *d, const uint16_t *open_port, struct err *e)
{
	const struct machine *m = d->m;

	if (m->check(m->state, e) < 0)
		return err_result(e);
	if (!m->is_administrator(m->state)) {
		(void)FAIL_CAUSE(e, CAUSE_NEEDS_ADMINISTRATOR,
				 "only an administrator can change accounts and filters");
		err_add_line(e, "run it in a terminal that was opened with 'Run as administrator'");
		return err_result(e);
	}
	if (machine_look(d->a, m, open_port, &d->look, e) < 0)
		return err_result(e);
	return check_known(&d->look, e);
}

static int take_lock(struct doing *d, struct err *e)
{
	if (d->m->lock(d->m->state, e) < 0)
		return err_result(e);
	d->is_locked = true;
	return 0;
}

/* SECURITY: first of all. From now on nobody can start anything as these accounts. */
static int remove_secrets(struct doing *d, struct err *e)
{
	bool is_there = false;
	struct str text = STR_EMPTY;

	if (d->m->read_file(d->m->state, MACHINE_SECRETS, d->a, &is_there, &text, e) < 0)
		return err_result(e);
	if (!is_there)
		return 0;
	return d->m->remove_file(d->m->state, MACHINE_SECRETS, e) < 0
		       ? err_result(e)
		       : note(d, e, "removed the file with the passwords");
}

/* ---- Setting up ------------------------------------------------------------------------------------------ */

static int ensure_directory(struct doing *d, struct err *e)
{
	bool is_there = false, is_closed = false;

	if (d->m->look_directory(d->m->state, &is_there, &is_closed, e) < 0)
		return err_result(e);
	if (is_there && is_closed)
		return 0;
	return d->m->make_directory(d->m->state, e) < 0 ? err_result(e)
							: note(d, e, "made its directory");
}

/*
 * SECURITY: what runs of another user have opened to the group is in access lists that only his journals name. A new
 * group has another SID, for which they say nothing.
 */
static int drop_group(struct doing *d, struct err *e)
{
	char user[MACHINE_SID_BYTES];

	if (d->m->find_user(d->m->state, user, e) < 0)
		return err_result(e);
	if (!d->look.group.exists || (d->look.owner.len && str_is(d->look.owner, user)))
		return 0;
	d->look.group.exists = false;
	return d->m->remove_group(d->m->state, e) < 0
		       ? err_result(e)
		       : note(d, e, "removed the group %s, which was another user's",
			      machine_group_name);
}

static int ensure_group(struct doing *d, struct err *e)
{
	if (drop_group(d, e) < 0)
		return err_result(e);
	if (d->look.group.exists)
		return 0;
	return d->m->add_group(d->m->state, e) < 0
		       ? err_result(e)
		       : note(d, e, "made the group %s", machine_group_name);
}

static int ensure_exists(struct doing *d, enum machine_account which, const char *password,
			 struct err *e)
{
	const char *name = machine_account_names[which];

	if (d->look.accounts[which].exists)
		return d->m->set_password(d->m->state, which, password, e) < 0
			       ? err_result(e)
			       : note(d, e, "gave the account %s a new password", name);
	return d->m->add_account(d->m->state, which, password, e) < 0
		       ? err_result(e)
		       : note(d, e, "made the account %s", name);
}

static int ensure_rights(struct doing *d, enum machine_account which, struct err *e)
{
	bool are_denied = false;

	if (d->m->look_rights(d->m->state, which, &are_denied, e) < 0)
		return err_result(e);
	if (are_denied)
		return 0;
	return d->m->deny_rights(d->m->state, which, true, e) < 0
		       ? err_result(e)
		       : note(d, e, "denied %s every logon but by Cordon",
			      machine_account_names[which]);
}

static int ensure_account(struct doing *d, enum machine_account which, const char *password,
			  struct err *e)
{
	const struct machine *m = d->m;
	const char *name = machine_account_names[which];
	struct account_seen seen;

	if (ensure_exists(d, which, password, e) < 0 ||
	    m->look_account(m->state, which, &seen, e) < 0)
		return err_result(e);
	/* Wine says that it has made one. */
	if (!seen.exists || !seen.is_ours || !seen.sid[0])
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				  "the system says that the account %s was made, and has none",
				  name);
	if (!seen.is_usual && m->set_usual(m->state, which, e) < 0)
		return err_result(e);
	if (!seen.is_in_group && m->add_member(m->state, which, false, e) < 0)
		return err_result(e);
	if (!seen.is_in_users && m->add_member(m->state, which, true, e) < 0)
		return err_result(e);
	if (!seen.is_hidden && m->set_hidden(m->state, which, true, e) < 0)
		return err_result(e);
	return ensure_rights(d, which, e);
}

static int ensure_rules(struct doing *d, const struct machine_blocks *wanted,
			const struct machine_users *users, struct err *e)
{
	const struct machine *m = d->m;

	for (size_t i = 0; i < wanted->rule_count; i++) {
		const struct windows_block *rule = &wanted->rules[i];
		struct str text;

		if (machine_rule_text(d->a, rule, users, &text, e) < 0)
			return err_result(e);
		if (machine_has_block(&d->look.rules, rule->name, text))
			continue;
		if (m->remove_rules(m->state, rule->name, e) < 0 ||
		    m->add_rule(m->state, rule, users, e) < 0 ||
		    note(d, e, "added the firewall rule %.*s", STR_ARG(rule->name)) < 0)
			return err_result(e);
	}
	for (size_t i = 0; i < d->look.rules.count; i++) {
		struct str name = d->look.rules.items[i].name;
		bool is_wanted = false;

		for (size_t k = 0; k < wanted->rule_count; k++)
			is_wanted = is_wanted || str_eq(wanted->rules[k].name, name);
		if (!is_wanted && m->remove_rules(m->state, name, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int ensure_filters(struct doing *d, const struct machine_blocks *wanted,
			  const struct machine_users *users, struct err *e)
{
	const block_list *seen = &d->look.filters;
	bool are_equal = seen->count == wanted->filter_count;

	for (size_t i = 0; are_equal && i < wanted->filter_count; i++) {
		struct str text;

		if (machine_filter_text(d->a, &wanted->filters[i], users, &text, e) < 0)
			return err_result(e);
		are_equal = machine_has_block(seen, wanted->filters[i].name, text);
	}
	if (are_equal)
		return 0;
	return d->m->set_filters(d->m->state, wanted->filters, wanted->filter_count, users, e) < 0
		       ? err_result(e)
		       : note(d, e, "set %zu filters", wanted->filter_count);
}

static int ensure_blocks(struct doing *d, struct err *e)
{
	struct machine_blocks wanted;
	struct machine_users users;

	if (machine_look(d->a, d->m, &d->open_port, &d->look, e) < 0 ||
	    check_known(&d->look, e) < 0 ||
	    machine_list_blocks(d->a, d->open_port, &wanted, e) < 0 ||
	    machine_find_users(d->a, d->look.accounts[ACCOUNT_OFFLINE].sid, &users, e) < 0)
		return err_result(e);
	/* SECURITY: the filters first, so that a rule may be replaced behind them. */
	return ensure_filters(d, &wanted, &users, e) < 0 ? err_result(e)
							 : ensure_rules(d, &wanted, &users, e);
}

/* All but the files, which come last, has to be as it should. */
static int check_made(struct doing *d, bool with_files, struct err *e)
{
	if (machine_look(d->a, d->m, &d->open_port, &d->look, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < d->look.items.count; i++) {
		const struct machine_item *item = &d->look.items.items[i];

		if (item->state == MACHINE_OK || (!with_files && strcmp(item->kind, "file") == 0))
			continue;
		(void)FAIL_CAUSE(
			e, CAUSE_WITHOUT_EFFECT,
			"the system took the settings, and %s %.*s is not as it was set (%s)",
			item->kind, STR_ARG(item->name), machine_state_names[item->state]);
		if (item->detail.len)
			err_add_line(e, "%.*s", STR_ARG(item->detail));
		return err_result(e);
	}
	return 0;
}

static int write_files(struct doing *d, struct machine_secret secrets[ACCOUNT_COUNT], struct err *e)
{
	const struct machine *m = d->m;
	char user[MACHINE_SID_BYTES];
	struct str mark, text, closed;
	int r;

	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		memcpy(secrets[i].sid, d->look.accounts[i].sid, sizeof(secrets[i].sid));
		if (m->check_logon(m->state, (enum machine_account)i, secrets[i].password,
				   secrets[i].sid, e) < 0)
			return err_result(e);
	}
	if (m->find_user(m->state, user, e) < 0 ||
	    machine_print_mark(d->a, d->open_port, user, &mark, e) < 0 ||
	    m->write_file(m->state, MACHINE_MARK, mark, e) < 0 ||
	    machine_print_secrets(d->a, secrets, &text, e) < 0)
		return err_result(e);
	r = m->protect(m->state, d->a, text, &closed, e);
	machine_wipe((char *)(uintptr_t)text.p, text.len);
	return r < 0 || m->write_file(m->state, MACHINE_SECRETS, closed, e) < 0
		       ? err_result(e)
		       : note(d, e, "wrote the passwords, for this user alone");
}

static int do_all(struct doing *d, struct machine_secret secrets[ACCOUNT_COUNT], struct err *e)
{
	if (begin(d, &d->open_port, e) < 0 || check_names(&d->look, e) < 0 ||
	    ensure_directory(d, e) < 0 || take_lock(d, e) < 0 || remove_secrets(d, e) < 0 ||
	    ensure_group(d, e) < 0)
		return err_result(e);
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (machine_make_password(d->m, secrets[i].password, e) < 0 ||
		    ensure_account(d, (enum machine_account)i, secrets[i].password, e) < 0)
			return err_result(e);
	if (ensure_blocks(d, e) < 0 || check_made(d, false, e) < 0 ||
	    write_files(d, secrets, e) < 0)
		return err_result(e);
	if (check_made(d, true, e) == 0)
		return 0;
	/* SECURITY: nothing may be started with what is not whole. */
	(void)d->m->remove_file(d->m->state, MACHINE_SECRETS, &(struct err)ERR_INIT);
	return err_result(e);
}

int machine_do(struct arena *a, const struct machine *m, uint16_t open_port, machine_steps *done,
	       struct err *e)
{
	struct doing d = { .a = a, .m = m, .open_port = open_port, .done = done };
	struct machine_secret secrets[ACCOUNT_COUNT];
	int r = do_all(&d, secrets, e);

	machine_wipe(secrets, sizeof(secrets));
	if (d.is_locked)
		m->unlock(m->state);
	return r;
}

/* ---- Taking it away ---------------------------------------------------------------------------------------- */

/* What stands beside an account goes first: once it is gone, nothing says what its SID was. */
static int remove_account(struct doing *d, enum machine_account which, struct err *e)
{
	const struct machine *m = d->m;
	const struct account_seen *seen = &d->look.accounts[which];
	bool are_denied = false;

	if (seen->exists && !seen->is_ours)
		return 0;
	if (seen->is_hidden && m->set_hidden(m->state, which, false, e) < 0)
		return err_result(e);
	if (!seen->exists)
		return 0;
	if (m->look_rights(m->state, which, &are_denied, e) < 0 ||
	    (are_denied && m->deny_rights(m->state, which, false, e) < 0) ||
	    m->remove_account(m->state, which, e) < 0)
		return err_result(e);
	return note(d, e, "removed the account %s", machine_account_names[which]);
}

static int remove_blocks(struct doing *d, struct err *e)
{
	const struct machine *m = d->m;
	const struct machine_users nobody = { .sddl = STR_EMPTY };

	for (size_t i = 0; i < d->look.rules.count; i++)
		if (m->remove_rules(m->state, d->look.rules.items[i].name, e) < 0)
			return err_result(e);
	if (d->look.rules.count &&
	    note(d, e, "removed %zu firewall rules", d->look.rules.count) < 0)
		return err_result(e);
	if (m->set_filters(m->state, NULL, 0, &nobody, e) < 0)
		return err_result(e);
	return d->look.filters.count ? note(d, e, "removed %zu filters", d->look.filters.count) : 0;
}

static int remove_directory(struct doing *d, struct err *e)
{
	const struct machine *m = d->m;
	bool is_there = false, is_closed = false;
	struct str text = STR_EMPTY;

	if (m->read_file(m->state, MACHINE_MARK, d->a, &is_there, &text, e) < 0 ||
	    (is_there && m->remove_file(m->state, MACHINE_MARK, e) < 0) ||
	    m->look_directory(m->state, &is_there, &is_closed, e) < 0)
		return err_result(e);
	if (!is_there)
		return 0;
	if (d->is_locked)
		m->unlock(m->state);
	d->is_locked = false;
	return m->remove_directory(m->state, e) < 0 ? err_result(e)
						    : note(d, e, "removed its directory");
}

static int check_gone(struct doing *d, struct err *e)
{
	if (machine_look(d->a, d->m, NULL, &d->look, e) < 0 || check_known(&d->look, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < d->look.items.count; i++) {
		const struct machine_item *item = &d->look.items.items[i];

		if (item->state != MACHINE_MISSING && item->state != MACHINE_FOREIGN)
			return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
					  "%s %.*s was removed, and is still there", item->kind,
					  STR_ARG(item->name));
	}
	return 0;
}

static int clean(struct doing *d, struct err *e)
{
	struct machine_cleaned cleaned = { .held = 0 };

	if (d->m->clean(d->m->state, d->a, &cleaned, e) < 0)
		return err_result(e);
	if (cleaned.changed + cleaned.removed &&
	    note(d, e, "took entries out of %llu access lists, removed %llu placeholders",
		 (unsigned long long)cleaned.changed, (unsigned long long)cleaned.removed) < 0)
		return err_result(e);
	if (cleaned.held)
		return FAIL_CAUSE(e, CAUSE_RUNS_GO_ON,
				  "%llu access lists have entries that a run needs which goes on",
				  (unsigned long long)cleaned.held);
	return 0;
}

int machine_clean(struct arena *a, const struct machine *m, machine_steps *done, struct err *e)
{
	struct doing d = { .a = a, .m = m, .done = done };

	return m->check(m->state, e) < 0 ? err_result(e) : clean(&d, e);
}

static int undo_all(struct doing *d, struct err *e)
{
	bool is_there = false, is_closed = false;

	if (begin(d, NULL, e) < 0 ||
	    d->m->look_directory(d->m->state, &is_there, &is_closed, e) < 0)
		return err_result(e);
	/* Where there is none, nothing can run with it. */
	if ((is_there && take_lock(d, e) < 0) || remove_secrets(d, e) < 0)
		return err_result(e);
	/* While the accounts are there: without them nothing says whose an entry is. */
	if (clean(d, e) < 0)
		return err_result(e);
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (remove_account(d, (enum machine_account)i, e) < 0)
			return err_result(e);
	if (d->look.group.exists && d->look.group.is_ours) {
		if (d->m->remove_group(d->m->state, e) < 0 ||
		    note(d, e, "removed the group %s", machine_group_name) < 0)
			return err_result(e);
	}
	if (remove_blocks(d, e) < 0 || remove_directory(d, e) < 0)
		return err_result(e);
	return check_gone(d, e);
}

int machine_undo(struct arena *a, const struct machine *m, machine_steps *done, struct err *e)
{
	struct doing d = { .a = a, .m = m, .done = done };
	int r = undo_all(&d, e);

	if (d.is_locked)
		m->unlock(m->state);
	return r;
}

/* ---- What that would be -------------------------------------------------------------------------------------- */

static const char *find_verb(const struct machine_item *item, bool undoes)
{
	const bool is_there = item->state == MACHINE_OK || item->state == MACHINE_DIFFERS;
	const bool is_account = strcmp(item->kind, "account") == 0;

	if (undoes)
		return is_there ? "remove" : NULL;
	if (item->state == MACHINE_MISSING)
		return "make";
	if (item->state == MACHINE_DIFFERS)
		return "mend";
	if (item->state == MACHINE_OK && is_account)
		return "give a new password to";
	return item->state == MACHINE_OK && str_is(item->name, "passwords") ? "replace" : NULL;
}

int machine_plan(struct arena *a, const struct machine_look *look, bool undoes, machine_steps *out,
		 struct err *e)
{
	for (size_t i = 0; i < look->items.count; i++) {
		const struct machine_item *item = &look->items.items[i];
		const char *verb = find_verb(item, undoes);
		struct str *step = verb ? VEC_PUSH(a, out, e) : NULL;

		if (!verb)
			continue;
		if (!step || arena_printf(a, step, e, "%s the %s %.*s", verb, item->kind,
					  STR_ARG(item->name)) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- For a run ---------------------------------------------------------------------------------------------- */

static int read_secrets(struct arena *a, const struct machine *m,
			struct machine_secret out[ACCOUNT_COUNT], struct err *e)
{
	bool is_there = false;
	struct str closed, text;

	if (m->read_file(m->state, MACHINE_SECRETS, a, &is_there, &closed, e) < 0)
		return err_result(e);
	if (!is_there)
		return FAIL_CAUSE(e, CAUSE_NOT_SET_UP, "there are no accounts for commands here");
	if (m->unprotect(m->state, a, closed, &text, e) < 0)
		return err_result(e);
	return machine_parse_secrets(a, text, out, e);
}

int machine_check_hidden(const struct machine *m, struct err *e)
{
	scoped_arena a = ARENA_INIT((size_t)4 * MACHINE_FILE_MAX_BYTES);
	bool is_there = false;
	struct str text = STR_EMPTY;

	if (m->read_file(m->state, MACHINE_SECRETS, &a, &is_there, &text, e) < 0) {
		/* Another user's: what this user may not open, his commands may not either. */
		if (e->code != ERR_SYS || e->os_error != EACCES)
			return err_result(e);
		err_clear(e);
		return 0;
	}
	if (!is_there)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
			 "a command that runs as this user could open the passwords of Cordon's "
			 "accounts");
	err_add_line(e, "use the win_elevated backend, or 'cordon windows uninstall'");
	return err_result(e);
}

int machine_read_secrets(const struct machine *m, struct machine_secret out[ACCOUNT_COUNT],
			 struct err *e)
{
	_Alignas(16) char room[64 << 10];
	struct arena own;
	int r;

	arena_over(&own, room, sizeof(room));
	r = read_secrets(&own, m, out, e);
	machine_wipe(room, sizeof(room));
	if (r < 0)
		err_add_line(e, "'cordon windows status' says what is there; whoever ran 'cordon "
				"windows setup' last can run commands");
	return r;
}
