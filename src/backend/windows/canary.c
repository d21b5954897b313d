/* SPDX-License-Identifier: MIT */
/* See token.h: files are opened by a thread that has the token. */
#include "os/windows/api.h"

#include <errno.h>

#include "backend/windows/sid.h"
#include "backend/windows/token.h"
#include "base/path.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

enum {
	SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
	AS_ITSELF = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS,
};

/* ---- With the token ---------------------------------------------------------------------------------- */

enum answer { ALLOWED, DENIED, FAILED };

struct attempt {
	HANDLE token;
	const wchar_t *path;
	DWORD rights;
	enum answer answer;
};

static DWORD WINAPI attempt_open(void *arg)
{
	struct attempt *attempt = arg;
	HANDLE handle;

	if (!SetThreadToken(NULL, attempt->token))
		return 0;
	handle = CreateFileW(attempt->path, attempt->rights, SHARE_ALL, NULL, OPEN_EXISTING,
			     AS_ITSELF, NULL);
	if (handle != INVALID_HANDLE_VALUE) {
		attempt->answer = ALLOWED;
		CloseHandle(handle);
	} else if (GetLastError() == ERROR_ACCESS_DENIED) {
		attempt->answer = DENIED;
	}
	return 0;
}

/* SECURITY: in a thread of its own, which ends with the token: no thread of the caller's ever has it. */
static enum answer open_with(HANDLE token, const wchar_t *path, DWORD rights)
{
	struct attempt attempt = {
		.token = token, .path = path, .rights = rights, .answer = FAILED
	};
	HANDLE thread = CreateThread(NULL, 0, attempt_open, &attempt, 0, NULL);

	if (!thread)
		return FAILED;
	if (WaitForSingleObject(thread, INFINITE) != WAIT_OBJECT_0)
		attempt.answer = FAILED;
	CloseHandle(thread);
	return attempt.answer;
}

static int expect(HANDLE token, const wchar_t *path, DWORD rights, enum answer wanted,
		  const char *what, struct err *e)
{
	enum answer found = open_with(token, path, rights);

	if (found == wanted)
		return 0;
	if (found == FAILED)
		return FAIL(e, ERR_SYS, "can't try the restricted token: %s", what);
	return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT, "the restricted token %s %s",
			  found == ALLOWED ? "may, and must not," : "may not, and should,", what);
}

/* ---- Files that are made for this ---------------------------------------------------------------------- */

static HANDLE make_canary(const wchar_t *path, PSECURITY_DESCRIPTOR list)
{
	SECURITY_ATTRIBUTES attributes = { .nLength = sizeof(attributes),
					   .lpSecurityDescriptor = list };

	return CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, SHARE_ALL, &attributes,
			   CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE, NULL);
}

static int path_of_canary(const struct token_trial *in, wchar_t out[WIDE_PATH], struct err *e)
{
	char text[PATH_MAX_BYTES];
	struct buf path = BUF_OVER(text);
	unsigned long long random;

	if (BCryptGenRandom(NULL, (unsigned char *)&random, sizeof(random),
			    BCRYPT_USE_SYSTEM_PREFERRED_RNG) < 0)
		return FAIL(e, ERR_SYS, "the system gives no random numbers");
	buf_add(&path, in->directory);
	buf_printf(&path, "/canary-%016llx", random);
	if (buf_check(&path, e) < 0)
		return err_result(e);
	return wide_path(buf_str(&path), out) < 0 ? FAIL_SYS(e, errno, "can't make a canary file")
						  : 0;
}

/* With `is_open` the capability may write it; the account may in either case. */
static int try_canary(const struct token_trial *in, HANDLE token, bool is_open, struct err *e)
{
	char room[512];
	struct buf sddl = BUF_OVER(room);
	scoped_arena a = ARENA_INIT(8192);
	wchar_t path[WIDE_PATH], *text;
	PSECURITY_DESCRIPTOR list;
	struct str sid;
	HANDLE canary;
	int r;

	if (sid_print(&a, in->capability, &sid, e) < 0 || path_of_canary(in, path, e) < 0)
		return err_result(e);
	buf_printf(&sddl, "D:P(A;;FA;;;AU)(A;;FA;;;SY)%s", is_open ? "(A;;FA;;;" : "");
	if (is_open) {
		buf_add(&sddl, sid);
		buf_add_char(&sddl, ')');
	}
	if (buf_check(&sddl, e) < 0 || wide_copy(&a, buf_str(&sddl), &text, e) < 0)
		return err_result(e);
	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &list,
								  NULL))
		return FAIL_WINDOWS(e, GetLastError(), "can't make a canary's access list");
	canary = make_canary(path, list);
	LocalFree(list);
	if (canary == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't make a canary file");
	r = expect(token, path, FILE_READ_DATA, ALLOWED, "read what its account may read", e);
	if (r == 0)
		r = expect(token, path, FILE_WRITE_DATA, is_open ? ALLOWED : DENIED,
			   is_open ? "write what its capability may write"
				   : "write what only its account may write (fs_write)",
			   e);
	if (r == 0)
		r = expect(token, path, WRITE_DAC, is_open ? ALLOWED : DENIED,
			   "change the access list of a file (fs_write)", e);
	CloseHandle(canary);
	return r;
}

/* ---- The places of the policy ---------------------------------------------------------------------------- */

static bool denies_write(const struct windows_acl_place *place)
{
	for (size_t i = 0; i < place->count; i++)
		if (place->aces[i].is_deny && place->aces[i].access == WINDOWS_WRITE)
			return true;
	return false;
}

static bool denies_delete(const struct windows_acl_place *place)
{
	for (size_t i = 0; i < place->count; i++)
		if (place->aces[i].is_deny && place->aces[i].access == WINDOWS_DELETE)
			return true;
	return false;
}

static int try_place(HANDLE token, const struct windows_acl_place *place, struct err *e)
{
	/* Each by itself: one that is denied would hide that another is not. */
	static const DWORD rights[] = { FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_WRITE_ATTRIBUTES,
					DELETE,		 WRITE_DAC,	   WRITE_OWNER };
	wchar_t path[WIDE_PATH];
	int r = 0;

	if (wide_path(place->path, path) < 0)
		return FAIL_SYS(e, errno, "can't open it");
	for (size_t i = 0; r == 0 && denies_write(place) && i < COUNT_OF(rights); i++)
		r = expect(token, path, rights[i], DENIED,
			   "change what the policy closes (fs_carve)", e);
	if (r == 0 && denies_delete(place))
		r = expect(token, path, DELETE, DENIED,
			   "move what has to keep its place (fs_carve)", e);
	return r < 0 ? err_wrap(e, "%.*s", STR_ARG(place->path)) : 0;
}

int token_try(const struct token_trial *in, struct err *e)
{
	HANDLE token;
	int r;

	if (!DuplicateTokenEx(in->token, TOKEN_QUERY | TOKEN_IMPERSONATE, NULL,
			      SecurityImpersonation, TokenImpersonation, &token))
		return FAIL_WINDOWS(e, GetLastError(), "can't try the restricted token");
	r = try_canary(in, token, false, e);
	if (r == 0)
		r = try_canary(in, token, true, e);
	for (size_t i = 0; r == 0 && i < in->request->count; i++)
		r = try_place(token, &in->request->places[i], e);
	CloseHandle(token);
	return r;
}
