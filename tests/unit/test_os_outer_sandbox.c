/* SPDX-License-Identifier: MIT */
/* Tests of os/outer_sandbox.h. */
#include "os/outer_sandbox.h"

#include "test.h"

static const char *name_of(const char *one, const char *two, bool is_confined)
{
	const char *const environment[] = { "PATH=/bin", one, two, NULL };
	const struct os_outer_sandbox *found = os_outer_sandbox_recognise(environment, is_confined);

	return found ? found->name : "";
}

TEST(a_sandbox_is_known_by_its_mark_and_by_what_the_kernel_says)
{
	CHECK(strstr(name_of("CODEX_SANDBOX_NETWORK_DISABLED=1", NULL, true), "codex"));
	CHECK(strstr(name_of("CODEX_SANDBOX=seatbelt", NULL, true), "codex"));
	CHECK(strstr(name_of("SANDBOX_RUNTIME=1", NULL, true), "Claude"));
	/* A variable alone may have been set by anybody, and a filter alone by anything. */
	CHECK_STR(name_of("CODEX_SANDBOX_NETWORK_DISABLED=1", NULL, false), "");
	CHECK_STR(name_of("SANDBOX_RUNTIME=1", NULL, false), "");
	CHECK_STR(name_of(NULL, NULL, true), "");
	CHECK_STR(name_of("SANDBOX_RUNTIME=", NULL, true), "");
}

TEST(cordon_sets_codex_s_mark_too_and_is_not_taken_for_it)
{
	CHECK_STR(name_of("CODEX_SANDBOX_NETWORK_DISABLED=1", "CORDON_SANDBOX=native", true), "");
	/* Which says that there is no sandbox of Cordon's. */
	CHECK(strstr(name_of("CODEX_SANDBOX_NETWORK_DISABLED=1", "CORDON_SANDBOX=none", true),
		     "codex"));
}
