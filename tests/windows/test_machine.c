/* SPDX-License-Identifier: MIT */
/*
 * The machine that this is (win_elevated/win32). Under Wine, which says that it made an account, a rule or a filter and
 * made none, setup has to refuse; that is what is tested there, and that passwords are kept as they should.
 * On a real Windows nothing is changed: see scripts/qa-windows.ps1.
 */
#include "../unit/test.h"
#include "backend/win_elevated/machine.h"
#include "cordon.h"

#include <windows.h>

static bool is_wine(void)
{
	HMODULE ntdll = GetModuleHandleA("ntdll.dll");

	return ntdll && GetProcAddress(ntdll, "wine_get_version");
}

#define OPEN(m)                                \
	scoped_arena a = ARENA_INIT(16 << 20); \
	struct err e = ERR_INIT;               \
	struct machine m;                      \
	REQUIRE(machine_open(&a, &m, &e) == 0)

static void print_failure(const struct err *e)
{
	char text[2048];

	printf("# %s\n", err_print(e, text, sizeof(text)));
}

TEST(passwords_are_protected_and_come_back)
{
	OPEN(m);
	struct str closed, plain;

	REQUIRE(m.protect(m.state, &a, STR("secret of an account"), &closed, &e) == 0);
	for (size_t i = 0; i + 6 <= closed.len; i++)
		CHECK(memcmp(closed.p + i, "secret", 6) != 0);
	REQUIRE(m.unprotect(m.state, &a, closed, &plain, &e) == 0);
	CHECK(str_is(plain, "secret of an account"));
	machine_close(&m);
}

TEST(changed_passwords_do_not_come_back)
{
	OPEN(m);
	struct str closed, plain;

	REQUIRE(m.protect(m.state, &a, STR("secret"), &closed, &e) == 0);
	((char *)(uintptr_t)closed.p)[closed.len - 4] ^= 1;
	CHECK(m.unprotect(m.state, &a, closed, &plain, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NOT_SET_UP);
	machine_close(&m);
}

TEST(random_numbers_differ)
{
	OPEN(m);
	unsigned char one[32] = { 0 }, other[32] = { 0 };

	CHECK_INT(m.draw(m.state, one, sizeof(one), &e), 0);
	CHECK_INT(m.draw(m.state, other, sizeof(other), &e), 0);
	CHECK(memcmp(one, other, sizeof(one)) != 0);
	machine_close(&m);
}

TEST(the_user_has_a_sid)
{
	OPEN(m);
	char sid[MACHINE_SID_BYTES];

	CHECK_INT(m.find_user(m.state, sid, &e), 0);
	CHECK(strncmp(sid, "S-1-5-", 6) == 0);
	machine_close(&m);
}

TEST(what_is_not_there_is_not_set_up)
{
	OPEN(m);
	struct machine_look look;

	REQUIRE(machine_look(&a, &m, NULL, &look, &e) == 0);
	CHECK(!look.is_set_up);
	CHECK(!look.accounts[ACCOUNT_OFFLINE].exists && !look.accounts[ACCOUNT_ONLINE].exists);
	CHECK(machine_refuse(&look, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NOT_SET_UP);
	for (size_t i = 0; i < look.items.count; i++)
		printf("# %s %s: %s %s\n", look.items.items[i].kind, look.items.items[i].name.p,
		       machine_state_names[look.items.items[i].state],
		       look.items.items[i].detail.p);
	machine_close(&m);
}

TEST(an_account_that_wine_only_claims_to_make_is_refused)
{
	OPEN(m);
	struct account_seen seen;

	if (!is_wine())
		SKIP("this is a real Windows, which is not changed here");
	CHECK_INT(m.add_account(m.state, ACCOUNT_OFFLINE, "Some-Password-1", &e), 0);
	CHECK_INT(m.look_account(m.state, ACCOUNT_OFFLINE, &seen, &e), 0);
	CHECK(!seen.exists);
	machine_close(&m);
}

TEST(a_logon_that_wine_only_claims_is_refused)
{
	OPEN(m);

	if (!is_wine())
		SKIP("this is a real Windows, which is not changed here");
	CHECK(m.check_logon(m.state, ACCOUNT_OFFLINE, "any", "S-1-5-21-1-2-3-1001", &e) < 0);
	print_failure(&e);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	machine_close(&m);
}

TEST(status_is_a_report_with_all_items)
{
	const struct cordon_windows_options options = { .size = sizeof(options),
							.action = "status" };
	cordon_report *report = NULL;
	const char *json;

	REQUIRE(cordon_windows(&options, &report, NULL) == 0);
	json = cordon_report_json(report);
	REQUIRE(json != NULL);
	CHECK(strstr(json, "\"schema\": \"windows/1\"") && strstr(json, "\"action\": \"status\""));
	CHECK(strstr(json, "\"CordonOffline\"") && strstr(json, "\"set_up\": false"));
	CHECK(strstr(cordon_report_text(report, 0), "not set up") != NULL);
	cordon_report_free(report);
}

TEST(setup_refuses_under_wine_and_leaves_no_passwords)
{
	OPEN(m);
	machine_steps steps = { .items = NULL };
	struct machine_secret secrets[ACCOUNT_COUNT];

	if (!is_wine())
		SKIP("this is a real Windows, which is not changed here");
	CHECK(machine_do(&a, &m, 0, &steps, &e) < 0);
	print_failure(&e);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	err_clear(&e);
	CHECK(machine_read_secrets(&m, secrets, &e) < 0);
	CHECK_INT(e.cause, CAUSE_NOT_SET_UP);
	machine_close(&m);
}
