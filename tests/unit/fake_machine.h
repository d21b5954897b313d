/* SPDX-License-Identifier: MIT */
/*
 * A machine in memory (win_elevated/machine.h). It can be killed at any call, before or after its effect, and any
 * function can say that it worked and do nothing, as Wine does.
 */
#pragma once

#include <errno.h>
#include <stdio.h>

#include "backend/win_elevated/machine.h"

enum { FAKE_MAX_BLOCKS = 64, FAKE_MAX_TEXT = 4096 };

struct fake_account {
	bool exists, is_ours, is_usual, in_group, in_users, in_others, rights_denied, is_hidden;
	char password[MACHINE_PASSWORD_BYTES];
	unsigned sid; /* each account that is made has another */
};

struct fake_block {
	char name[80];
	char text[FAKE_MAX_TEXT];
};

struct fake_blocks {
	struct fake_block items[FAKE_MAX_BLOCKS];
	size_t count;
};

struct fake_file {
	bool exists;
	char bytes[2048];
	size_t len;
};

/* What stays when a process dies. */
struct fake_disk {
	struct fake_account accounts[ACCOUNT_COUNT];
	bool group_exists, group_is_ours;
	struct fake_blocks rules, filters;
	bool has_directory, is_closed;
	struct fake_file files[MACHINE_FILE_COUNT];
	unsigned sids, groups; /* that were made */
	unsigned entries;      /* in access lists */
	unsigned others;       /* what is not Cordon's, and has to stay as it is */
};

enum fake_death { DIES_BEFORE, DIES_AFTER };

struct fake {
	struct fake_disk disk;
	bool is_user;	 /* no administrator */
	bool runs_go_on; /* a run holds the lock */
	bool is_locked;
	const char *lies;  /* the function that says it worked */
	const char *blind; /* the function that fails, */
	bool denies;	   /* because access is denied */
	size_t calls;	   /* that change something */
	size_t dies_at;	   /* the call with this number; 0: none */
	enum fake_death death;
	bool is_dead;
	unsigned char random;
};

static int fake_dead(struct err *e)
{
	return FAIL(e, ERR_SYS, "the process was killed");
}

/* Whether the call has its effect; `*r` is what it returns. */
static bool fake_acts(struct fake *f, const char *name, int *r, struct err *e)
{
	*r = 0;
	if (f->is_dead || (f->blind && strcmp(f->blind, name) == 0)) {
		*r = f->is_dead ? fake_dead(e) : FAIL(e, ERR_SYS, "access is denied");
		return false;
	}
	f->calls++;
	if (f->calls == f->dies_at) {
		f->is_dead = true;
		*r = fake_dead(e);
		return f->death == DIES_AFTER;
	}
	return !f->lies || strcmp(f->lies, name) != 0;
}

static int fake_looks(struct fake *f, const char *name, struct err *e)
{
	if (f->is_dead)
		return fake_dead(e);
	if (!f->blind || strcmp(f->blind, name) != 0)
		return 0;
	return f->denies ? FAIL_SYS(e, EACCES, "it is another user's")
			 : FAIL(e, ERR_SYS, "it can't be looked at");
}

#define FAKE_ACTS(name)                 \
	struct fake *f = state;         \
	int r;                          \
	if (!fake_acts(f, name, &r, e)) \
		return r;

static int fake_check(void *state, struct err *e)
{
	return fake_looks(state, "check", e);
}

static bool fake_is_administrator(void *state)
{
	return !((struct fake *)state)->is_user;
}

static int fake_find_user(void *state, char out[MACHINE_SID_BYTES], struct err *e)
{
	(void)snprintf(out, MACHINE_SID_BYTES, "S-1-5-21-1-2-3-1001");
	return fake_looks(state, "find_user", e);
}

static int fake_lock(void *state, struct err *e)
{
	struct fake *f = state;

	if (fake_looks(f, "lock", e) < 0)
		return err_result(e);
	if (f->runs_go_on)
		return FAIL_CAUSE(e, CAUSE_RUNS_GO_ON, "a run goes on");
	f->is_locked = true;
	return 0;
}

static void fake_unlock(void *state)
{
	((struct fake *)state)->is_locked = false;
}

static int fake_random(void *state, void *out, size_t bytes, struct err *e)
{
	struct fake *f = state;
	unsigned char *at = out;

	while (bytes-- > 0)
		*at++ = f->random++;
	return fake_looks(f, "random", e);
}

static int fake_look_group(void *state, struct group_seen *out, struct err *e)
{
	const struct fake_disk *d = &((struct fake *)state)->disk;

	*out = (struct group_seen){ .exists = d->group_exists, .is_ours = d->group_is_ours };
	(void)snprintf(out->sid, sizeof(out->sid), "S-1-5-21-9-9-9-2000");
	return fake_looks(state, "look_group", e);
}

static int fake_add_group(void *state, struct err *e)
{
	FAKE_ACTS("add_group")
	f->disk.group_exists = f->disk.group_is_ours = true;
	f->disk.groups++;
	return r;
}

static int fake_remove_group(void *state, struct err *e)
{
	FAKE_ACTS("remove_group")
	f->disk.group_exists = false;
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		f->disk.accounts[i].in_group = false;
	return r;
}

static void fake_sid(const struct fake_account *account, char out[MACHINE_SID_BYTES])
{
	(void)snprintf(out, MACHINE_SID_BYTES, "S-1-5-21-9-9-9-%u", account->sid);
}

static int fake_look_account(void *state, enum machine_account which, struct account_seen *out,
			     struct err *e)
{
	const struct fake_account *one = &((struct fake *)state)->disk.accounts[which];

	*out = (struct account_seen){ .exists = one->exists,
				      .is_ours = one->is_ours,
				      .is_usual = one->is_usual,
				      .is_in_group = one->in_group,
				      .is_in_users = one->in_users,
				      .is_in_others = one->in_others,
				      .is_hidden = one->is_hidden };
	if (one->exists)
		fake_sid(one, out->sid);
	return fake_looks(state, "look_account", e);
}

static int fake_add_account(void *state, enum machine_account which, const char *password,
			    struct err *e)
{
	FAKE_ACTS("add_account")
	struct fake_account *one = &f->disk.accounts[which];

	*one = (struct fake_account){ .exists = true,
				      .is_ours = true,
				      .is_usual = true,
				      .is_hidden = one->is_hidden,
				      .sid = 3000 + f->disk.sids++ };
	(void)snprintf(one->password, sizeof(one->password), "%s", password);
	return r;
}

static int fake_set_password(void *state, enum machine_account which, const char *password,
			     struct err *e)
{
	FAKE_ACTS("set_password")
	(void)snprintf(f->disk.accounts[which].password, MACHINE_PASSWORD_BYTES, "%s", password);
	return r;
}

static int fake_set_usual(void *state, enum machine_account which, struct err *e)
{
	FAKE_ACTS("set_usual")
	f->disk.accounts[which].is_usual = true;
	return r;
}

static int fake_add_member(void *state, enum machine_account which, bool of_users, struct err *e)
{
	FAKE_ACTS("add_member")
	*(of_users ? &f->disk.accounts[which].in_users : &f->disk.accounts[which].in_group) = true;
	return r;
}

static int fake_look_rights(void *state, enum machine_account which, bool *are_denied,
			    struct err *e)
{
	*are_denied = ((struct fake *)state)->disk.accounts[which].rights_denied;
	return fake_looks(state, "look_rights", e);
}

static int fake_deny_rights(void *state, enum machine_account which, bool denies, struct err *e)
{
	FAKE_ACTS("deny_rights")
	f->disk.accounts[which].rights_denied = denies;
	return r;
}

static int fake_set_hidden(void *state, enum machine_account which, bool hides, struct err *e)
{
	FAKE_ACTS("set_hidden")
	f->disk.accounts[which].is_hidden = hides;
	return r;
}

static int fake_remove_account(void *state, enum machine_account which, struct err *e)
{
	FAKE_ACTS("remove_account")
	/* The rights and the logon screen know accounts by SID and name, and keep them. */
	f->disk.others += f->disk.accounts[which].rights_denied;
	f->disk.accounts[which] =
		(struct fake_account){ .is_hidden = f->disk.accounts[which].is_hidden };
	return r;
}

static int fake_check_logon(void *state, enum machine_account which, const char *password,
			    const char *sid, struct err *e)
{
	const struct fake_account *one = &((struct fake *)state)->disk.accounts[which];
	char own[MACHINE_SID_BYTES];

	fake_sid(one, own);
	if (fake_looks(state, "check_logon", e) < 0)
		return err_result(e);
	if (!one->exists || strcmp(own, sid) != 0 || strcmp(one->password, password) != 0)
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT, "no such account can log on");
	return 0;
}

static int fake_list(const struct fake_blocks *blocks, struct arena *a, block_list *out,
		     struct err *e)
{
	*out = (block_list){ .items = NULL };
	for (size_t i = 0; i < blocks->count; i++) {
		struct block_text *one = VEC_PUSH(a, out, e);

		if (!one || arena_copy(a, str_of(blocks->items[i].name), &one->name, e) < 0 ||
		    arena_copy(a, str_of(blocks->items[i].text), &one->text, e) < 0)
			return err_result(e);
	}
	return 0;
}

static void fake_put(struct fake_blocks *blocks, struct str name, struct str text)
{
	struct fake_block *one = &blocks->items[blocks->count++];

	*one = (struct fake_block){ .name = "" };
	(void)snprintf(one->name, sizeof(one->name), "%.*s", (int)name.len, name.p);
	(void)snprintf(one->text, sizeof(one->text), "%.*s", (int)text.len, text.p);
}

static int fake_list_rules(void *state, struct arena *a, block_list *out, struct err *e)
{
	if (fake_looks(state, "list_rules", e) < 0)
		return err_result(e);
	return fake_list(&((struct fake *)state)->disk.rules, a, out, e);
}

static int fake_add_rule(void *state, const struct windows_block *rule,
			 const struct machine_users *users, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str text;
	FAKE_ACTS("add_rule")

	if (machine_rule_text(&a, rule, users, &text, e) < 0)
		return err_result(e);
	fake_put(&f->disk.rules, rule->name, text);
	return r;
}

static int fake_remove_rules(void *state, struct str name, struct err *e)
{
	size_t kept = 0;
	FAKE_ACTS("remove_rules")

	for (size_t i = 0; i < f->disk.rules.count; i++)
		if (!str_is(name, f->disk.rules.items[i].name))
			f->disk.rules.items[kept++] = f->disk.rules.items[i];
	f->disk.rules.count = kept;
	return r;
}

static int fake_list_filters(void *state, struct arena *a, block_list *out, struct err *e)
{
	if (fake_looks(state, "list_filters", e) < 0)
		return err_result(e);
	return fake_list(&((struct fake *)state)->disk.filters, a, out, e);
}

static int fake_set_filters(void *state, const struct windows_block *filters, size_t count,
			    const struct machine_users *users, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	FAKE_ACTS("set_filters")

	f->disk.filters.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct str text;

		if (machine_filter_text(&a, &filters[i], users, &text, e) < 0)
			return err_result(e);
		fake_put(&f->disk.filters, filters[i].name, text);
	}
	return r;
}

static int fake_look_directory(void *state, bool *is_there, bool *is_closed, struct err *e)
{
	*is_there = ((struct fake *)state)->disk.has_directory;
	*is_closed = ((struct fake *)state)->disk.is_closed;
	return fake_looks(state, "look_directory", e);
}

static int fake_make_directory(void *state, struct err *e)
{
	FAKE_ACTS("make_directory")
	f->disk.has_directory = f->disk.is_closed = true;
	return r;
}

static int fake_remove_directory(void *state, struct err *e)
{
	FAKE_ACTS("remove_directory")
	f->disk.has_directory = f->disk.is_closed = false;
	return r;
}

static int fake_read_file(void *state, enum machine_file file, struct arena *a, bool *is_there,
			  struct str *out, struct err *e)
{
	const struct fake_file *one = &((struct fake *)state)->disk.files[file];

	if (fake_looks(state, "read_file", e) < 0)
		return err_result(e);
	*is_there = one->exists;
	return arena_copy(a, (struct str){ one->bytes, one->len }, out, e);
}

static int fake_write_file(void *state, enum machine_file file, struct str bytes, struct err *e)
{
	FAKE_ACTS(file == MACHINE_SECRETS ? "write_secrets" : "write_mark")
	f->disk.files[file].exists = true;
	f->disk.files[file].len = bytes.len;
	memcpy(f->disk.files[file].bytes, bytes.p, bytes.len);
	return r;
}

static int fake_remove_file(void *state, enum machine_file file, struct err *e)
{
	FAKE_ACTS("remove_file")
	f->disk.files[file] = (struct fake_file){ .exists = false };
	return r;
}

static int fake_clean(void *state, struct arena *a, struct machine_cleaned *out, struct err *e)
{
	FAKE_ACTS("clean")
	(void)a;
	out->held = f->runs_go_on ? f->disk.entries : 0;
	out->changed = f->disk.entries - out->held;
	f->disk.entries = (unsigned)out->held;
	return r;
}

static int fake_protect(void *state, struct arena *a, struct str in, struct str *out, struct err *e)
{
	return fake_looks(state, "protect", e) < 0 ? err_result(e) : arena_copy(a, in, out, e);
}

static int fake_unprotect(void *state, struct arena *a, struct str in, struct str *out,
			  struct err *e)
{
	return fake_looks(state, "unprotect", e) < 0 ? err_result(e) : arena_copy(a, in, out, e);
}

static struct machine fake_machine(struct fake *f)
{
	return (struct machine){ .state = f,
				 .check = fake_check,
				 .is_administrator = fake_is_administrator,
				 .find_user = fake_find_user,
				 .lock = fake_lock,
				 .unlock = fake_unlock,
				 .draw = fake_random,
				 .look_group = fake_look_group,
				 .add_group = fake_add_group,
				 .remove_group = fake_remove_group,
				 .look_account = fake_look_account,
				 .add_account = fake_add_account,
				 .set_password = fake_set_password,
				 .set_usual = fake_set_usual,
				 .add_member = fake_add_member,
				 .look_rights = fake_look_rights,
				 .deny_rights = fake_deny_rights,
				 .set_hidden = fake_set_hidden,
				 .remove_account = fake_remove_account,
				 .check_logon = fake_check_logon,
				 .list_rules = fake_list_rules,
				 .add_rule = fake_add_rule,
				 .remove_rules = fake_remove_rules,
				 .list_filters = fake_list_filters,
				 .set_filters = fake_set_filters,
				 .look_directory = fake_look_directory,
				 .make_directory = fake_make_directory,
				 .remove_directory = fake_remove_directory,
				 .read_file = fake_read_file,
				 .write_file = fake_write_file,
				 .remove_file = fake_remove_file,
				 .clean = fake_clean,
				 .protect = fake_protect,
				 .unprotect = fake_unprotect };
}
