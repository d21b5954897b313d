/* SPDX-License-Identifier: MIT */
/* See token.h. */
#include "os/windows/api.h"

#include "backend/windows/sid.h"
#include "backend/windows/token.h"
#include "os/windows/error.h"

enum {
	BASE_RIGHTS = TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ASSIGN_PRIMARY | TOKEN_ADJUST_DEFAULT |
		      TOKEN_ADJUST_PRIVILEGES,
	FLAGS = DISABLE_MAX_PRIVILEGE | LUA_TOKEN | WRITE_RESTRICTED,
	MAX_RESTRICTING = 1024,
};

struct making {
	struct arena *a;
	const struct token_request *in;
	HANDLE base, token;
	SID_AND_ATTRIBUTES *restricting;
	DWORD count;
	PSID user;
};

/* ---- What a token is ------------------------------------------------------------------------------- */

static void *query(struct arena *a, HANDLE token, TOKEN_INFORMATION_CLASS what, struct err *e)
{
	DWORD needed = 0;
	void *out;

	(void)GetTokenInformation(token, what, NULL, 0, &needed);
	out = arena_alloc(a, (size_t)needed + sizeof(TOKEN_GROUPS), e);
	if (out && !GetTokenInformation(token, what, out, needed, &needed)) {
		(void)FAIL_WINDOWS(e, GetLastError(), "can't look at a token");
		return NULL;
	}
	return out;
}

/* The SID of this logon; the desktop, the window station and the console are open to it. */
static int find_logon(struct making *m, PSID *out, struct err *e)
{
	const TOKEN_GROUPS *groups = query(m->a, m->base, TokenGroups, e);

	if (!groups)
		return err_result(e);
	for (DWORD i = 0; i < groups->GroupCount; i++)
		if ((groups->Groups[i].Attributes & SE_GROUP_LOGON_ID) == SE_GROUP_LOGON_ID) {
			*out = groups->Groups[i].Sid;
			return 0;
		}
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
			  "the token of this process has no logon SID, as that of a service has "
			  "none");
}

/* ---- Making it --------------------------------------------------------------------------------------- */

static int list_restricting(struct making *m, struct err *e)
{
	PSID logon;

	if (m->in->count >= MAX_RESTRICTING)
		return FAIL(e, ERR_LIMIT, "there are more than %d writable roots", MAX_RESTRICTING);
	m->restricting = arena_array(m->a, m->in->count + 1, sizeof(*m->restricting), e);
	if (!m->restricting || find_logon(m, &logon, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < m->in->count; i++)
		m->restricting[m->count++].Sid = (PSID)(uintptr_t)m->in->restricting[i].p;
	m->restricting[m->count++].Sid = logon;
	return 0;
}

/*
 * Whoever may use what the command makes. SECURITY: never Everyone, Users or Administrators, and not the
 * logon SID, the last of the restricting ones: every other run of this logon has it too, and could open this
 * run's processes.
 */
static int set_default_list(struct making *m, struct err *e)
{
	static const char system_sid[] = { 1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0 };
	const size_t size =
		sizeof(ACL) + (m->count + 1) * (sizeof(ACCESS_ALLOWED_ACE) + SID_MAX_BYTES);
	TOKEN_DEFAULT_DACL list = { .DefaultDacl = arena_alloc(m->a, size, e) };

	if (!list.DefaultDacl)
		return err_result(e);
	if (!InitializeAcl(list.DefaultDacl, (DWORD)size, ACL_REVISION) ||
	    !AddAccessAllowedAce(list.DefaultDacl, ACL_REVISION, GENERIC_ALL, m->user) ||
	    !AddAccessAllowedAce(list.DefaultDacl, ACL_REVISION, GENERIC_ALL,
				 (PSID)(uintptr_t)system_sid))
		return FAIL_WINDOWS(e, GetLastError(), "can't make the default access list");
	for (DWORD i = 0; i + 1 < m->count; i++)
		if (!AddAccessAllowedAce(list.DefaultDacl, ACL_REVISION, GENERIC_ALL,
					 m->restricting[i].Sid))
			return FAIL_WINDOWS(e, GetLastError(),
					    "can't make the default access list");
	return SetTokenInformation(m->token, TokenDefaultDacl, &list, sizeof(list))
		       ? 0
		       : FAIL_WINDOWS(e, GetLastError(), "can't set the default access list");
}

/* ---- Reading it back --------------------------------------------------------------------------------- */

static int fail_effect(struct err *e, const char *what)
{
	(void)FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
			 "the restricted token does not restrict (fs_write): %s", what);
	err_add_line(e, "this system accepts what Cordon sets and does not apply it, as Wine does; "
			"nothing was run");
	return err_result(e);
}

static bool has_sid(const TOKEN_GROUPS *groups, PSID sid)
{
	for (DWORD i = 0; i < groups->GroupCount; i++)
		if (EqualSid(groups->Groups[i].Sid, sid))
			return true;
	return false;
}

static bool is_asked_for(const struct making *m, PSID sid)
{
	for (DWORD i = 0; i < m->count; i++)
		if (EqualSid(m->restricting[i].Sid, sid))
			return true;
	return false;
}

/* SECURITY: exactly these: another one would let the command write where that one may. */
static int check_restricting(struct making *m, struct err *e)
{
	const TOKEN_GROUPS *found;

	if (!IsTokenRestricted(m->token))
		return fail_effect(e, "it has no restricting SIDs");
	found = query(m->a, m->token, TokenRestrictedSids, e);
	if (!found)
		return err_result(e);
	for (DWORD i = 0; i < m->count; i++)
		if (!has_sid(found, m->restricting[i].Sid))
			return fail_effect(e, "a restricting SID is missing");
	for (DWORD i = 0; i < found->GroupCount; i++)
		if (!is_asked_for(m, found->Groups[i].Sid))
			return fail_effect(e, "it has a restricting SID that nobody asked for");
	return 0;
}

static int check_privileges(struct making *m, struct err *e)
{
	const TOKEN_PRIVILEGES *found = query(m->a, m->token, TokenPrivileges, e);
	LUID traverse;

	if (!found)
		return err_result(e);
	if (!LookupPrivilegeValueW(NULL, L"SeChangeNotifyPrivilege", &traverse))
		return FAIL_WINDOWS(e, GetLastError(), "can't look up a privilege");
	for (DWORD i = 0; i < found->PrivilegeCount; i++)
		if (found->Privileges[i].Luid.LowPart != traverse.LowPart ||
		    found->Privileges[i].Luid.HighPart != traverse.HighPart)
			return fail_effect(e, "it has privileges left");
	return 0;
}

/* LUA_TOKEN: what belongs to administrators is closed to it, also if Cordon runs as one. */
static int check_groups(struct making *m, struct err *e)
{
	const TOKEN_GROUPS *found = query(m->a, m->token, TokenGroups, e);
	char room[SID_MAX_BYTES];
	DWORD size = sizeof(room);

	if (!found)
		return err_result(e);
	if (!CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, room, &size))
		return FAIL_WINDOWS(e, GetLastError(), "can't make a SID");
	for (DWORD i = 0; i < found->GroupCount; i++)
		if (EqualSid(found->Groups[i].Sid, room) &&
		    !(found->Groups[i].Attributes & SE_GROUP_USE_FOR_DENY_ONLY))
			return fail_effect(e, "it belongs to the administrators");
	return 0;
}

static int check_default_list(struct making *m, struct err *e)
{
	const TOKEN_DEFAULT_DACL *found = query(m->a, m->token, TokenDefaultDacl, e);

	if (!found)
		return err_result(e);
	if (!found->DefaultDacl || found->DefaultDacl->AceCount != m->count + 1)
		return fail_effect(e, "what it makes would be open to others");
	return 0;
}

static int make(struct making *m, struct err *e)
{
	const TOKEN_USER *user = query(m->a, m->base, TokenUser, e);

	if (!user || list_restricting(m, e) < 0)
		return err_result(e);
	m->user = user->User.Sid;
	if (!CreateRestrictedToken(m->base, FLAGS, 0, NULL, 0, NULL, m->count, m->restricting,
				   &m->token))
		return FAIL_WINDOWS(e, GetLastError(), "can't make a restricted token");
	if (set_default_list(m, e) < 0 || check_restricting(m, e) < 0 ||
	    check_privileges(m, e) < 0 || check_groups(m, e) < 0 || check_default_list(m, e) < 0)
		return err_result(e);
	return 0;
}

int token_new(struct arena *a, const struct token_request *in, void **out, struct err *e)
{
	struct making m = { .a = a, .in = in, .base = in->base };
	int r;

	if (!m.base && !OpenProcessToken(GetCurrentProcess(), BASE_RIGHTS, &m.base))
		return FAIL_WINDOWS(e, GetLastError(), "can't open the token of this process");
	r = make(&m, e);
	if (!in->base)
		CloseHandle(m.base);
	if (r == 0)
		*out = m.token;
	else if (m.token)
		CloseHandle(m.token);
	return r;
}
