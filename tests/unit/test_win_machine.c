/* SPDX-License-Identifier: MIT */
/* What `cordon windows` makes and takes away, on a machine in memory: killed at every call, and lied to. */
#include "fake_machine.h"
#include "test.h"

enum { PORT = 3128 };

/* ---- Shorthands --------------------------------------------------------------------------------- */

static int set_up(struct fake *f, uint16_t port, struct err *e)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	struct machine m = fake_machine(f);
	machine_steps steps = { .items = NULL };

	return machine_do(&a, &m, port, &steps, e);
}

static int undo(struct fake *f, struct err *e)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	struct machine m = fake_machine(f);
	machine_steps steps = { .items = NULL };

	return machine_undo(&a, &m, &steps, e);
}

static void look(struct fake *f, bool *is_set_up, bool *is_clean, struct err *refusal)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	struct machine m = fake_machine(f);
	struct machine_look seen;
	struct err e = ERR_INIT;

	err_clear(refusal);
	if (machine_look(&a, &m, NULL, &seen, &e) < 0) {
		*is_set_up = *is_clean = false;
		return;
	}
	*is_set_up = seen.is_set_up;
	*is_clean = seen.is_clean;
	if (machine_refuse(&seen, refusal) == 0)
		CHECK_INT(refusal->code, ERR_OK);
}

static bool is_set_up(struct fake *f)
{
	bool yes, clean;
	struct err refusal = ERR_INIT;

	look(f, &yes, &clean, &refusal);
	return yes && refusal.code == ERR_OK;
}

static bool is_clean(struct fake *f)
{
	bool yes, clean;
	struct err refusal = ERR_INIT;

	look(f, &yes, &clean, &refusal);
	return clean && !yes;
}

/* Whether a run could begin: it can open the passwords, and each logs on to its account. */
static bool can_run(struct fake *f)
{
	struct machine m = fake_machine(f);
	struct machine_secret secrets[ACCOUNT_COUNT];
	struct err e = ERR_INIT;

	if (machine_read_secrets(&m, secrets, &e) < 0)
		return false;
	for (int i = 0; i < ACCOUNT_COUNT; i++)
		if (m.check_logon(m.state, (enum machine_account)i, secrets[i].password,
				  secrets[i].sid, &e) < 0)
			return false;
	return true;
}

static struct fake *new_fake(void)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->disk.others = 7;
	return f;
}

static struct fake *new_set_up(uint16_t port)
{
	struct fake *f = new_fake();
	struct err e = ERR_INIT;

	CHECK_INT(set_up(f, port, &e), 0);
	return f;
}

static void revive(struct fake *f)
{
	f->is_dead = f->is_locked = false;
	f->calls = f->dies_at = 0;
}

/* ---- Setting up, and taking it away ---------------------------------------------------------------- */

TEST(setup_makes_all_and_status_says_so)
{
	struct fake *f = new_fake();
	struct err e = ERR_INIT;

	CHECK(is_clean(f) && !is_set_up(f) && !can_run(f));
	CHECK_INT(set_up(f, PORT, &e), 0);
	CHECK(is_set_up(f) && !is_clean(f) && can_run(f));
	CHECK_INT(f->disk.rules.count, 5);
	CHECK_INT(f->disk.filters.count, 20);
	CHECK(!f->is_locked);
	free(f);
}

TEST(setup_again_changes_the_passwords_and_nothing_else)
{
	struct fake *f = new_set_up(0);
	const struct fake_disk was = f->disk;
	struct err e = ERR_INIT;

	CHECK_INT(set_up(f, 0, &e), 0);
	CHECK(is_set_up(f));
	for (int i = 0; i < ACCOUNT_COUNT; i++) {
		CHECK(strcmp(f->disk.accounts[i].password, was.accounts[i].password) != 0);
		CHECK_INT(strlen(f->disk.accounts[i].password), 44);
		CHECK_INT(f->disk.accounts[i].sid, was.accounts[i].sid);
	}
	CHECK(memcmp(&f->disk.rules, &was.rules, sizeof(was.rules)) == 0);
	CHECK(memcmp(&f->disk.filters, &was.filters, sizeof(was.filters)) == 0);
	free(f);
}

TEST(uninstall_leaves_what_was_there_before)
{
	struct fake *f = new_set_up(PORT);
	struct err e = ERR_INIT;

	CHECK_INT(undo(f, &e), 0);
	CHECK(is_clean(f));
	CHECK_INT(f->disk.others, 7);
	CHECK(!f->disk.has_directory && !f->disk.group_exists);
	CHECK_INT(f->disk.rules.count + f->disk.filters.count, 0);
	CHECK_INT(undo(f, &e), 0);
	free(f);
}

TEST(uninstall_and_cleanup_take_entries_out_of_access_lists)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct fake *f = new_set_up(PORT);
	struct machine m = fake_machine(f);
	machine_steps steps = { .items = NULL };
	struct err e = ERR_INIT;

	f->disk.entries = 3;
	f->runs_go_on = true;
	CHECK(machine_clean(&a, &m, &steps, &e) < 0);
	CHECK_INT(e.cause, CAUSE_RUNS_GO_ON);
	CHECK_INT(f->disk.entries, 3);
	f->runs_go_on = false;
	CHECK_INT(machine_clean(&a, &m, &steps, &e), 0);
	CHECK_INT(f->disk.entries, 0);
	CHECK(is_set_up(f));
	f->disk.entries = 2;
	CHECK_INT(undo(f, &e), 0);
	CHECK_INT(f->disk.entries, 0);
	free(f);
}

TEST(another_port_changes_rules_and_filters)
{
	struct fake *f = new_set_up(0);
	const struct fake_disk was = f->disk;
	struct err e = ERR_INIT;

	CHECK_INT(set_up(f, PORT, &e), 0);
	CHECK(is_set_up(f));
	CHECK(memcmp(&f->disk.filters, &was.filters, sizeof(was.filters)) != 0);
	CHECK_INT(set_up(f, 0, &e), 0);
	CHECK(memcmp(&f->disk.filters, &was.filters, sizeof(was.filters)) == 0);
	free(f);
}

TEST(what_was_changed_by_hand_is_noticed_and_mended)
{
	for (int what = 0; what < 10; what++) {
		struct fake *f = new_set_up(PORT);
		struct fake_disk *d = &f->disk;
		struct err e = ERR_INIT;

		CHECK(is_set_up(f));
		switch (what) {
		case 0:
			d->rules.count--;
			break;
		case 1:
			d->filters.count--;
			break;
		case 2:
			d->filters.items[3].text[0] ^= 1;
			break;
		case 3:
			d->rules.items[1].text[0] ^= 1;
			break;
		case 4: /* a second rule of one name */
			d->rules.items[d->rules.count++] = d->rules.items[0];
			break;
		case 5:
			fake_put(&d->filters, STR("cordon_wfp_other"), STR("x"));
			break;
		case 6:
			d->accounts[ACCOUNT_OFFLINE].in_group = false;
			break;
		case 7:
			d->accounts[ACCOUNT_ONLINE].rights_denied = false;
			break;
		case 8:
			d->accounts[ACCOUNT_ONLINE].is_usual = false;
			break;
		default:
			d->is_closed = false;
		}
		CHECK(!is_set_up(f) && !is_clean(f));
		CHECK_INT(set_up(f, PORT, &e), 0);
		CHECK(is_set_up(f));
		free(f);
	}
}

TEST(an_account_in_another_group_is_refused)
{
	struct fake *f = new_set_up(0);
	struct err e = ERR_INIT;

	f->disk.accounts[ACCOUNT_ONLINE].in_others = true;
	CHECK(!is_set_up(f));
	CHECK(set_up(f, 0, &e) < 0);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	CHECK(!can_run(f));
	free(f);
}

/* ---- What is not Cordon's ----------------------------------------------------------------------------- */

TEST(an_account_of_somebody_elses_is_not_touched)
{
	struct fake *f = new_fake();
	struct fake_disk was;
	struct err e = ERR_INIT;

	f->disk.accounts[ACCOUNT_ONLINE] =
		(struct fake_account){ .exists = true, .sid = 5, .password = "theirs" };
	was = f->disk;
	CHECK(set_up(f, 0, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NAME_TAKEN);
	CHECK(memcmp(&f->disk, &was, sizeof(was)) == 0);
	err_clear(&e);
	CHECK_INT(undo(f, &e), 0);
	CHECK(memcmp(&f->disk, &was, sizeof(was)) == 0);
	free(f);
}

TEST(a_group_of_somebody_elses_is_not_touched)
{
	struct fake *f = new_fake();
	struct err e = ERR_INIT;

	f->disk.group_exists = true;
	CHECK(set_up(f, 0, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NAME_TAKEN);
	CHECK(f->disk.group_exists && !f->disk.accounts[0].exists);
	free(f);
}

TEST(another_user_gets_another_group)
{
	struct fake *f = new_set_up(0);
	struct fake_file *mark = &f->disk.files[MACHINE_MARK];
	const unsigned groups = f->disk.groups;
	char *user = strstr(mark->bytes, "-1001");
	struct err e = ERR_INIT;

	CHECK_INT(set_up(f, 0, &e), 0);
	CHECK_INT(f->disk.groups, groups);
	REQUIRE(user != NULL);
	user[4] = '2';
	CHECK_INT(set_up(f, 0, &e), 0);
	CHECK_INT(f->disk.groups, groups + 1);
	CHECK(is_set_up(f));
	free(f);
}

TEST(a_user_changes_nothing_and_is_told)
{
	struct fake *f = new_fake();
	struct err e = ERR_INIT;

	f->is_user = true;
	CHECK(set_up(f, 0, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NEEDS_ADMINISTRATOR);
	CHECK(undo(f, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NEEDS_ADMINISTRATOR);
	CHECK_INT(f->calls, 0);
	free(f);
}

TEST(nothing_changes_while_a_run_goes_on)
{
	struct fake *f = new_set_up(0);
	const struct fake_disk was = f->disk;
	struct err e = ERR_INIT;

	f->runs_go_on = true;
	CHECK(set_up(f, PORT, &e) < 0);
	CHECK_INT(e.cause, CAUSE_RUNS_GO_ON);
	CHECK(undo(f, &e) < 0);
	CHECK_INT(e.cause, CAUSE_RUNS_GO_ON);
	CHECK(memcmp(&f->disk, &was, sizeof(was)) == 0);
	f->runs_go_on = false;
	err_clear(&e);
	CHECK_INT(undo(f, &e), 0);
	free(f);
}

/* ---- Killed at every call -------------------------------------------------------------------------------- */

/* SECURITY: passwords that work are there only with everything else. */
static void check_whole(struct fake *f, const char *what, size_t at)
{
	if (!can_run(f) || is_set_up(f))
		return;
	printf("# %s, killed at %zu: commands could run with what is not whole\n", what, at);
	CHECK(false);
}

enum from { FROM_NOTHING, FROM_SET_UP, FROM_OTHER_PORT, FROM_COUNT };

static struct fake *begin_from(enum from from)
{
	if (from == FROM_NOTHING)
		return new_fake();
	return new_set_up(from == FROM_SET_UP ? PORT : 0);
}

/* How many calls it takes when it is not killed. */
static size_t count_calls(enum from from, int (*act)(struct fake *f, struct err *e))
{
	struct fake *f = begin_from(from);
	struct err e = ERR_INIT;
	size_t calls;

	revive(f);
	CHECK_INT(act(f, &e), 0);
	calls = f->calls;
	free(f);
	return calls;
}

static int set_up_port(struct fake *f, struct err *e)
{
	return set_up(f, PORT, e);
}

static void kill_everywhere(enum from from, int (*act)(struct fake *f, struct err *e),
			    const char *what)
{
	const size_t calls = count_calls(from, act);

	CHECK(calls > 0 || (from == FROM_NOTHING && act == undo));
	for (size_t n = 2; n < 2 * (calls + 1); n++) {
		struct fake *f = begin_from(from);
		struct fake *copy;
		struct err e = ERR_INIT;

		revive(f);
		f->dies_at = n / 2;
		f->death = n % 2 ? DIES_AFTER : DIES_BEFORE;
		CHECK(act(f, &e) < 0 && f->is_dead);
		revive(f);
		check_whole(f, what, n / 2);
		copy = new_fake();
		*copy = *f;
		err_clear(&e);
		CHECK_INT(set_up(f, PORT, &e), 0);
		CHECK(is_set_up(f) && can_run(f));
		err_clear(&e);
		CHECK_INT(undo(copy, &e), 0);
		CHECK(is_clean(copy));
		CHECK_INT(copy->disk.others, 7);
		free(copy);
		free(f);
	}
	printf("# %s: killed at each of %zu calls, before and after\n", what, calls);
}

TEST(setup_killed_at_every_call_is_finished_or_undone_by_the_next)
{
	kill_everywhere(FROM_NOTHING, set_up_port, "setup of a new machine");
	kill_everywhere(FROM_SET_UP, set_up_port, "setup once more");
	kill_everywhere(FROM_OTHER_PORT, set_up_port, "setup with another port");
}

TEST(uninstall_killed_at_every_call_is_finished_by_the_next)
{
	kill_everywhere(FROM_SET_UP, undo, "uninstall");
}

/* ---- Lied to ------------------------------------------------------------------------------------------------ */

TEST(what_only_claims_to_work_is_refused)
{
	static const char *const makers[] = { "add_group",     "add_account",	"add_member",
					      "deny_rights",   "set_hidden",	"add_rule",
					      "set_filters",   "write_secrets", "write_mark",
					      "make_directory" };

	for (size_t i = 0; i < COUNT_OF(makers); i++) {
		struct fake *f = new_fake();
		struct err e = ERR_INIT;

		f->lies = makers[i];
		if (!CHECK(set_up(f, PORT, &e) < 0) || !CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT))
			printf("# %s\n", makers[i]);
		CHECK(!can_run(f));
		f->lies = NULL;
		err_clear(&e);
		CHECK_INT(set_up(f, PORT, &e), 0);
		free(f);
	}
}

TEST(a_password_that_was_not_set_is_refused)
{
	struct fake *f = new_set_up(0);
	struct err e = ERR_INIT;

	f->lies = "set_password";
	CHECK(set_up(f, 0, &e) < 0);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	CHECK(!can_run(f));
	free(f);
}

TEST(what_only_claims_to_be_removed_is_told)
{
	static const char *const removers[] = {
		"remove_group", "remove_account", "remove_rules",
		"set_filters",	"remove_file",	  "remove_directory"
	};

	for (size_t i = 0; i < COUNT_OF(removers); i++) {
		struct fake *f = new_set_up(PORT);
		struct err e = ERR_INIT;

		f->lies = removers[i];
		if (!CHECK(undo(f, &e) < 0) || !CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT))
			printf("# %s\n", removers[i]);
		f->lies = NULL;
		err_clear(&e);
		CHECK_INT(undo(f, &e), 0);
		free(f);
	}
}

TEST(what_can_not_be_looked_at_is_not_taken_for_missing)
{
	static const char *const looks[] = { "look_account", "look_group",     "list_rules",
					     "list_filters", "look_directory", "read_file" };

	for (size_t i = 0; i < COUNT_OF(looks); i++) {
		struct fake *f = new_set_up(PORT);
		const struct fake_disk was = f->disk;
		struct err e = ERR_INIT;

		f->blind = looks[i];
		CHECK(!is_set_up(f) && !is_clean(f));
		CHECK(set_up(f, PORT, &e) < 0);
		err_clear(&e);
		CHECK(undo(f, &e) < 0);
		CHECK(memcmp(&f->disk, &was, sizeof(was)) == 0);
		free(f);
	}
}

TEST(a_user_need_not_see_the_rights_to_run)
{
	struct fake *f = new_set_up(PORT);
	bool yes, clean;
	struct err refusal = ERR_INIT;

	f->blind = "look_rights";
	look(f, &yes, &clean, &refusal);
	CHECK(!yes && refusal.code == ERR_OK);
	f->blind = "list_filters";
	look(f, &yes, &clean, &refusal);
	CHECK_INT(refusal.cause, CAUSE_NOT_SET_UP);
	free(f);
}

/* ---- Files and passwords ----------------------------------------------------------------------------------------- */

TEST(damaged_files_are_refused)
{
	static const char *const texts[] = {
		"",   "{}",
		"[]", "{\"version\": 2}",
		"x",  "{\"version\": 1, \"offline\": {}, \"online\": {}}"
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct fake *f = new_set_up(PORT);
		struct fake_file *secrets = &f->disk.files[MACHINE_SECRETS];
		struct fake_file *mark = &f->disk.files[MACHINE_MARK];
		const struct fake_file was = *secrets;

		CHECK(can_run(f) && is_set_up(f));
		secrets->len = strlen(texts[i]);
		memcpy(secrets->bytes, texts[i], secrets->len);
		CHECK(!can_run(f));
		*secrets = was;
		mark->len = strlen(texts[i]);
		memcpy(mark->bytes, texts[i], mark->len);
		CHECK(!is_set_up(f));
		free(f);
	}
}

TEST(passwords_that_a_command_of_the_user_could_open_are_told)
{
	struct fake *f = new_fake();
	struct machine m = fake_machine(f);
	struct err e = ERR_INIT;

	CHECK_INT(machine_check_hidden(&m, &e), 0);
	CHECK_INT(set_up(f, 0, &e), 0);
	CHECK(machine_check_hidden(&m, &e) < 0);
	CHECK_INT(e.cause, CAUSE_BACKEND_UNSUITED);
	err_clear(&e);
	/* That they can't be read for another reason than that they are another user's says nothing. */
	f->blind = "read_file";
	CHECK(machine_check_hidden(&m, &e) < 0);
	err_clear(&e);
	f->denies = true;
	CHECK_INT(machine_check_hidden(&m, &e), 0);
	free(f);
}

TEST(a_plan_says_what_would_be_done)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	struct fake *f = new_fake();
	struct machine m = fake_machine(f);
	struct machine_look seen;
	machine_steps steps = { .items = NULL };
	struct err e = ERR_INIT;

	REQUIRE(machine_look(&a, &m, NULL, &seen, &e) == 0);
	REQUIRE(machine_plan(&a, &seen, false, &steps, &e) == 0);
	CHECK(steps.count > 25);
	CHECK(str_is(steps.items[0], "make the directory windows"));
	steps.count = 0;
	REQUIRE(machine_plan(&a, &seen, true, &steps, &e) == 0);
	CHECK_INT(steps.count, 0);
	CHECK_INT(f->calls, 0);
	free(f);
}
