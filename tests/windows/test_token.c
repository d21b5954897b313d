/* SPDX-License-Identifier: MIT */
/*
 * Restricted tokens on a real system. Where they don't restrict (Wine), none may be given out; where they do, files are
 * opened with them.
 */
#include "os/windows/api.h"

#include "../unit/test.h"
#include "backend/windows/sid.h"
#include "backend/windows/token.h"
#include "os/windows/text.h"

static struct arena arena = ARENA_INIT(16 << 20);
static struct err error = ERR_INIT;

static struct str capability(void)
{
	const unsigned char digest[SHA256_BYTES] = { 9 };
	struct str text = STR_EMPTY, sid = STR_EMPTY;

	CHECK(sid_of_capability(&arena, digest, &text, &error) == 0);
	CHECK(sid_parse(&arena, text, &sid, &error) == 0);
	return sid;
}

/* Asked of the system itself, as nothing of Cordon's does it. */
static bool restricts(struct str sid)
{
	SID_AND_ATTRIBUTES one = { .Sid = (PSID)(uintptr_t)sid.p };
	HANDLE base, token;
	bool is_restricted;

	CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &base));
	CHECK(CreateRestrictedToken(base, WRITE_RESTRICTED, 0, NULL, 0, NULL, 1, &one, &token));
	is_restricted = IsTokenRestricted(token);
	CloseHandle(token);
	CloseHandle(base);
	return is_restricted;
}

static struct str temporary(void)
{
	wchar_t path[MAX_PATH];
	char text[PATH_MAX_BYTES];
	DWORD length = GetTempPathW(MAX_PATH, path);
	struct str out = STR_EMPTY;

	CHECK(narrow_path(path, length, text) > 0);
	CHECK(arena_copy(&arena, str_of(text), &out, &error) == 0);
	return out.len && out.p[out.len - 1] == '/' ? str_first(out, out.len - 1) : out;
}

TEST(a_token_restricts_or_is_refused)
{
	struct str sid = capability();
	const struct token_request request = { .restricting = &sid, .count = 1 };
	const bool is_real = restricts(sid);
	void *token = NULL;
	int r = token_new(&arena, &request, &token, &error);

	printf("# restricting SIDs %s here\n", is_real ? "restrict" : "do nothing");
	if (!is_real) {
		CHECK_INT(r, -ERR_WEAKER);
		CHECK_INT(error.cause, CAUSE_WITHOUT_EFFECT);
		CHECK(token == NULL);
		err_clear(&error);
		return;
	}
	CHECK(r == 0 && IsTokenRestricted(token));
	CloseHandle(token);
}

/* The trial by itself: the unrestricted token of this process has to fail it, on every system. */
TEST(a_token_that_may_write_what_its_account_may_fails_the_trial)
{
	const struct windows_acl_request none = { .count = 0 };
	struct token_trial trial = { .directory = temporary(),
				     .capability = capability(),
				     .request = &none };

	CHECK(OpenProcessToken(GetCurrentProcess(), TOKEN_DUPLICATE | TOKEN_QUERY, &trial.token));
	CHECK_INT(token_try(&trial, &error), -ERR_WEAKER);
	CHECK_INT(error.cause, CAUSE_WITHOUT_EFFECT);
	printf("# %s\n", error.text);
	err_clear(&error);
	CloseHandle(trial.token);
}

/* Also with a place that the policy closes. */
TEST(a_token_that_restricts_passes_the_trial)
{
	struct str sid = capability();
	const struct token_request request = { .restricting = &sid, .count = 1 };
	const struct windows_acl_ace ace = { .sid = sid, .is_deny = true, .access = WINDOWS_WRITE };
	const struct windows_acl_place place = { .path = temporary(), .aces = &ace, .count = 1 };
	const struct windows_acl_request places = { .places = &place, .count = 1 };
	struct token_trial trial = { .directory = temporary(),
				     .capability = sid,
				     .request = &places };
	void *token = NULL;

	if (!restricts(sid))
		SKIP("restricting SIDs do nothing here, so no token gets as far");
	CHECK(token_new(&arena, &request, &token, &error) == 0);
	trial.token = token;
	/* The temporary directory is the user's alone, so it is closed to the token. */
	CHECK_INT(token_try(&trial, &error), 0);
	CloseHandle(token);
}
