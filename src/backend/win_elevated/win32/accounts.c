/* SPDX-License-Identifier: MIT */
/*
 * See win32.h. SECURITY: an account is there only if its name leads to a SID: Wine's NetUserAdd() says that it made
 * one, its NetUserGetInfo() finds it, and there is none.
 */
#include "backend/win_elevated/win32/win32.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

#include <lm.h>
#include <ntsecapi.h>

static const wchar_t user_list[] =
	L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Winlogon\\SpecialAccounts\\UserList";

/*
 * Not the interactive logon: CreateProcessWithLogonW() is one (its documentation asks for the right to
 * log on locally). What keeps people out is that nobody knows the password.
 */
static const wchar_t *const denied_rights[] = { L"SeDenyNetworkLogonRight",
						L"SeDenyBatchLogonRight",
						L"SeDenyServiceLogonRight",
						L"SeDenyRemoteInteractiveLogonRight" };

enum {
	USUAL_FLAGS = UF_SCRIPT | UF_NORMAL_ACCOUNT | UF_DONT_EXPIRE_PASSWD | UF_PASSWD_CANT_CHANGE
};

void win32_name(const char *name, wchar_t out[WIN32_NAME])
{
	size_t i = 0;

	for (; name[i] && i + 1 < WIN32_NAME; i++)
		out[i] = (wchar_t)(unsigned char)name[i];
	out[i] = L'\0';
}

bool win32_sid_text(void *sid, char out[MACHINE_SID_BYTES])
{
	wchar_t *text = NULL;
	bool is_fine;

	if (!IsValidSid(sid) || !ConvertSidToStringSidW(sid, &text))
		return false;
	is_fine = narrow_text(text, wcslen(text), out, MACHINE_SID_BYTES) >= 0;
	LocalFree(text);
	return is_fine;
}

/* ---- SIDs and names ------------------------------------------------------------------------------ */

struct sid_room {
	_Alignas(8) unsigned char bytes[SECURITY_MAX_SID_SIZE];
};

/* Of this machine, never of a domain. False in *is_there: nothing has the name. */
static int find_sid(const wchar_t *name, struct sid_room *sid, bool *is_there, struct err *e)
{
	wchar_t full[MAX_COMPUTERNAME_LENGTH + WIN32_NAME + 2], domain[256];
	DWORD length = MAX_COMPUTERNAME_LENGTH + 1, room = sizeof(sid->bytes);
	DWORD domain_room = COUNT_OF(domain);
	SID_NAME_USE use;

	if (!GetComputerNameW(full, &length))
		return FAIL_WINDOWS(e, GetLastError(), "this computer's name is not known");
	full[length] = L'\\';
	for (size_t i = 0;; i++) {
		full[length + 1 + i] = name[i];
		if (!name[i])
			break;
	}
	*is_there = LookupAccountNameW(NULL, full, sid->bytes, &room, domain, &domain_room, &use);
	if (!*is_there && GetLastError() != ERROR_NONE_MAPPED)
		return FAIL_WINDOWS(e, GetLastError(), "an account can't be looked up");
	return 0;
}

/* The group Users, whatever it is called in this language. */
static int find_users_name(wchar_t out[256], struct err *e)
{
	struct sid_room sid;
	DWORD room = sizeof(sid.bytes), length = 256, domain_room = 256;
	wchar_t domain[256];
	SID_NAME_USE use;

	if (!CreateWellKnownSid(WinBuiltinUsersSid, NULL, sid.bytes, &room) ||
	    !LookupAccountSidW(NULL, sid.bytes, out, &length, domain, &domain_room, &use))
		return FAIL_WINDOWS(e, GetLastError(), "the group Users can't be looked up");
	return 0;
}

static bool is_comment(const wchar_t *text)
{
	size_t i = 0;

	for (; text && machine_comment[i]; i++)
		if (text[i] != (wchar_t)machine_comment[i])
			return false;
	return text && !text[i];
}

static void copy_comment(wchar_t out[64])
{
	for (size_t i = 0; i < 64; i++) {
		out[i] = (wchar_t)(unsigned char)machine_comment[i];
		if (!machine_comment[i])
			break;
	}
}

/* ---- The group ------------------------------------------------------------------------------------- */

int win32_look_group(void *state, struct group_seen *out, struct err *e)
{
	LOCALGROUP_INFO_1 *info = NULL;
	wchar_t name[WIN32_NAME];
	struct sid_room sid;
	NET_API_STATUS r;

	(void)state;
	*out = (struct group_seen){ .exists = false };
	win32_name(machine_group_name, name);
	if (find_sid(name, &sid, &out->exists, e) < 0)
		return err_result(e);
	if (!out->exists)
		return 0;
	if (!win32_sid_text(sid.bytes, out->sid))
		return FAIL_WINDOWS(e, ERROR_INVALID_SID, "the group's SID is not valid");
	r = NetLocalGroupGetInfo(NULL, name, 1, (LPBYTE *)&info);
	/* An account, not a group, has the name. */
	if (r == NERR_GroupNotFound || r == ERROR_NO_SUCH_ALIAS)
		return 0;
	if (r != NERR_Success || !info)
		return FAIL_WINDOWS(e, r, "the group can't be looked at");
	out->is_ours = is_comment(info->lgrpi1_comment);
	NetApiBufferFree(info);
	return 0;
}

int win32_add_group(void *state, struct err *e)
{
	wchar_t name[WIN32_NAME], comment[64];
	LOCALGROUP_INFO_1 info = { .lgrpi1_name = name, .lgrpi1_comment = comment };
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_group_name, name);
	copy_comment(comment);
	r = NetLocalGroupAdd(NULL, 1, (LPBYTE)&info, NULL);
	return r == NERR_Success ? 0 : FAIL_WINDOWS(e, r, "can't make the group");
}

int win32_remove_group(void *state, struct err *e)
{
	wchar_t name[WIN32_NAME];
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_group_name, name);
	r = NetLocalGroupDel(NULL, name);
	return r == NERR_Success ? 0 : FAIL_WINDOWS(e, r, "can't remove the group");
}

/* ---- An account -------------------------------------------------------------------------------------- */

static int look_groups(const wchar_t *name, struct account_seen *out, struct err *e)
{
	LOCALGROUP_USERS_INFO_0 *groups = NULL;
	wchar_t ours[WIN32_NAME], users[256];
	DWORD count = 0, total = 0;
	NET_API_STATUS r;

	win32_name(machine_group_name, ours);
	if (find_users_name(users, e) < 0)
		return err_result(e);
	r = NetUserGetLocalGroups(NULL, name, 0, LG_INCLUDE_INDIRECT, (LPBYTE *)&groups,
				  MAX_PREFERRED_LENGTH, &count, &total);
	if (r != NERR_Success)
		return FAIL_WINDOWS(e, r, "the groups of an account can't be listed");
	for (DWORD i = 0; i < count; i++) {
		const wchar_t *group = groups[i].lgrui0_name;

		if (_wcsicmp(group, ours) == 0)
			out->is_in_group = true;
		else if (_wcsicmp(group, users) == 0)
			out->is_in_users = true;
		else
			out->is_in_others = true;
	}
	NetApiBufferFree(groups);
	return 0;
}

static bool is_hidden(const wchar_t *name)
{
	DWORD value = 1, size = sizeof(value);

	return RegGetValueW(HKEY_LOCAL_MACHINE, user_list, name,
			    RRF_RT_REG_DWORD | RRF_SUBKEY_WOW6464KEY, NULL, &value,
			    &size) == ERROR_SUCCESS &&
	       value == 0;
}

int win32_look_account(void *state, enum machine_account which, struct account_seen *out,
		       struct err *e)
{
	USER_INFO_4 *info = NULL;
	wchar_t name[WIN32_NAME];
	struct sid_room sid;
	NET_API_STATUS r;
	bool is_same;

	(void)state;
	win32_name(machine_account_names[which], name);
	*out = (struct account_seen){ .is_hidden = is_hidden(name) };
	if (find_sid(name, &sid, &out->exists, e) < 0)
		return err_result(e);
	if (!out->exists)
		return 0;
	if (!win32_sid_text(sid.bytes, out->sid))
		return FAIL_WINDOWS(e, ERROR_INVALID_SID, "an account's SID is not valid");
	r = NetUserGetInfo(NULL, name, 4, (LPBYTE *)&info);
	/* A group, not an account, has the name. */
	if (r == NERR_UserNotFound)
		return 0;
	if (r != NERR_Success || !info)
		return FAIL_WINDOWS(e, r, "an account can't be looked at");
	is_same = info->usri4_user_sid && EqualSid(info->usri4_user_sid, sid.bytes);
	out->is_ours = is_same && is_comment(info->usri4_comment);
	out->is_usual = (info->usri4_flags & USUAL_FLAGS) == USUAL_FLAGS &&
			!(info->usri4_flags & (UF_ACCOUNTDISABLE | UF_LOCKOUT)) &&
			info->usri4_acct_expires == TIMEQ_FOREVER;
	NetApiBufferFree(info);
	return look_groups(name, out, e);
}

int win32_add_account(void *state, enum machine_account which, const char *password, struct err *e)
{
	wchar_t name[WIN32_NAME], comment[64], wide[MACHINE_PASSWORD_BYTES];
	USER_INFO_1 info = { .usri1_name = name,
			     .usri1_password = wide,
			     .usri1_priv = USER_PRIV_USER,
			     .usri1_comment = comment,
			     .usri1_flags = USUAL_FLAGS };
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_account_names[which], name);
	copy_comment(comment);
	if (wide_text(str_of(password), wide, COUNT_OF(wide)) < 0)
		return FAIL(e, ERR_INTERNAL, "a password is not text");
	r = NetUserAdd(NULL, 1, (LPBYTE)&info, NULL);
	SecureZeroMemory(wide, sizeof(wide));
	return r == NERR_Success ? 0
				 : FAIL_WINDOWS(e, r, "can't make the account %s",
						machine_account_names[which]);
}

int win32_set_password(void *state, enum machine_account which, const char *password, struct err *e)
{
	wchar_t name[WIN32_NAME], wide[MACHINE_PASSWORD_BYTES];
	USER_INFO_1003 info = { .usri1003_password = wide };
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_account_names[which], name);
	if (wide_text(str_of(password), wide, COUNT_OF(wide)) < 0)
		return FAIL(e, ERR_INTERNAL, "a password is not text");
	r = NetUserSetInfo(NULL, name, 1003, (LPBYTE)&info, NULL);
	SecureZeroMemory(wide, sizeof(wide));
	return r == NERR_Success ? 0
				 : FAIL_WINDOWS(e, r, "can't change the password of %s",
						machine_account_names[which]);
}

int win32_set_usual(void *state, enum machine_account which, struct err *e)
{
	USER_INFO_1008 flags = { .usri1008_flags = USUAL_FLAGS };
	USER_INFO_1017 expires = { .usri1017_acct_expires = TIMEQ_FOREVER };
	wchar_t name[WIN32_NAME];
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_account_names[which], name);
	r = NetUserSetInfo(NULL, name, 1008, (LPBYTE)&flags, NULL);
	if (r == NERR_Success)
		r = NetUserSetInfo(NULL, name, 1017, (LPBYTE)&expires, NULL);
	return r == NERR_Success ? 0
				 : FAIL_WINDOWS(e, r, "can't change the account %s",
						machine_account_names[which]);
}

int win32_add_member(void *state, enum machine_account which, bool of_users, struct err *e)
{
	wchar_t name[WIN32_NAME], group[256];
	LOCALGROUP_MEMBERS_INFO_0 member;
	struct sid_room sid;
	NET_API_STATUS r;
	bool is_there;

	(void)state;
	win32_name(machine_account_names[which], name);
	if (of_users ? find_users_name(group, e) < 0 : (win32_name(machine_group_name, group), 0))
		return err_result(e);
	if (find_sid(name, &sid, &is_there, e) < 0)
		return err_result(e);
	if (!is_there)
		return FAIL(e, ERR_SYS, "there is no account %s", machine_account_names[which]);
	member.lgrmi0_sid = sid.bytes;
	r = NetLocalGroupAddMembers(NULL, group, 0, (LPBYTE)&member, 1);
	return r == NERR_Success || r == ERROR_MEMBER_IN_ALIAS
		       ? 0
		       : FAIL_WINDOWS(e, r, "can't add %s to a group",
				      machine_account_names[which]);
}

int win32_set_hidden(void *state, enum machine_account which, bool hides, struct err *e)
{
	const DWORD zero = 0;
	wchar_t name[WIN32_NAME];
	HKEY key = NULL;
	LSTATUS r;

	(void)state;
	win32_name(machine_account_names[which], name);
	r = RegCreateKeyExW(HKEY_LOCAL_MACHINE, user_list, 0, NULL, 0,
			    KEY_SET_VALUE | KEY_WOW64_64KEY, NULL, &key, NULL);
	if (r == ERROR_SUCCESS) {
		r = hides ? RegSetValueExW(key, name, 0, REG_DWORD, (const BYTE *)&zero,
					   sizeof(zero))
			  : RegDeleteValueW(key, name);
		RegCloseKey(key);
	}
	return r == ERROR_SUCCESS || (!hides && r == ERROR_FILE_NOT_FOUND)
		       ? 0
		       : FAIL_WINDOWS(e, (DWORD)r, "can't change what the logon screen shows");
}

int win32_remove_account(void *state, enum machine_account which, struct err *e)
{
	wchar_t name[WIN32_NAME];
	NET_API_STATUS r;

	(void)state;
	win32_name(machine_account_names[which], name);
	r = NetUserDel(NULL, name);
	return r == NERR_Success ? 0
				 : FAIL_WINDOWS(e, r, "can't remove the account %s",
						machine_account_names[which]);
}

/* ---- Rights ------------------------------------------------------------------------------------------- */

static int open_policy(enum machine_account which, ACCESS_MASK access, LSA_HANDLE *out,
		       struct sid_room *sid, struct err *e)
{
	LSA_OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes) };
	wchar_t name[WIN32_NAME];
	bool is_there;
	NTSTATUS r;

	win32_name(machine_account_names[which], name);
	if (find_sid(name, sid, &is_there, e) < 0)
		return err_result(e);
	if (!is_there)
		return FAIL(e, ERR_SYS, "there is no account %s", machine_account_names[which]);
	r = LsaOpenPolicy(NULL, &attributes, access, out);
	return r == 0 ? 0
		      : FAIL_WINDOWS(e, LsaNtStatusToWinError(r),
				     "the rights of accounts can't be opened");
}

static bool has_right(const LSA_UNICODE_STRING *rights, ULONG count, const wchar_t *right)
{
	for (ULONG i = 0; i < count; i++)
		if (rights[i].Length / sizeof(wchar_t) == wcslen(right) &&
		    wcsncmp(rights[i].Buffer, right, wcslen(right)) == 0)
			return true;
	return false;
}

int win32_look_rights(void *state, enum machine_account which, bool *are_denied, struct err *e)
{
	LSA_UNICODE_STRING *rights = NULL;
	LSA_HANDLE policy = NULL;
	struct sid_room sid;
	ULONG count = 0;
	DWORD code;

	(void)state;
	if (open_policy(which, POLICY_LOOKUP_NAMES | POLICY_VIEW_LOCAL_INFORMATION, &policy, &sid,
			e) < 0)
		return err_result(e);
	code = LsaNtStatusToWinError(LsaEnumerateAccountRights(policy, sid.bytes, &rights, &count));
	LsaClose(policy);
	*are_denied = false;
	if (code == ERROR_FILE_NOT_FOUND)
		return 0;
	if (code != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, code, "the rights of %s can't be listed",
				    machine_account_names[which]);
	*are_denied = true;
	for (size_t i = 0; i < COUNT_OF(denied_rights); i++)
		*are_denied = *are_denied && has_right(rights, count, denied_rights[i]);
	LsaFreeMemory(rights);
	return 0;
}

int win32_deny_rights(void *state, enum machine_account which, bool denies, struct err *e)
{
	LSA_UNICODE_STRING rights[COUNT_OF(denied_rights)];
	LSA_HANDLE policy = NULL;
	struct sid_room sid;
	NTSTATUS r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rights); i++) {
		const USHORT bytes = (USHORT)(wcslen(denied_rights[i]) * sizeof(wchar_t));

		rights[i] =
			(LSA_UNICODE_STRING){ .Length = bytes,
					      .MaximumLength = bytes,
					      .Buffer = (wchar_t *)(uintptr_t)denied_rights[i] };
	}
	if (open_policy(which, POLICY_LOOKUP_NAMES | POLICY_CREATE_ACCOUNT, &policy, &sid, e) < 0)
		return err_result(e);
	r = denies ? LsaAddAccountRights(policy, sid.bytes, rights, COUNT_OF(rights))
		   : LsaRemoveAccountRights(policy, sid.bytes, TRUE, NULL, 0);
	LsaClose(policy);
	return r == 0 ? 0
		      : FAIL_WINDOWS(e, LsaNtStatusToWinError(r), "can't change the rights of %s",
				     machine_account_names[which]);
}

/* ---- Logging on -------------------------------------------------------------------------------------------- */

static bool is_token_of(HANDLE token, const char *sid)
{
	_Alignas(8) unsigned char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	const TOKEN_USER *user = (const void *)room;
	char text[MACHINE_SID_BYTES];
	DWORD size;

	return GetTokenInformation(token, TokenUser, room, sizeof(room), &size) &&
	       win32_sid_text(user->User.Sid, text) && strcmp(text, sid) == 0;
}

/* SECURITY: Wine's LogonUserW() takes any name and password, and gives something that is no token. */
int win32_check_logon(void *state, enum machine_account which, const char *password,
		      const char *sid, struct err *e)
{
	wchar_t name[WIN32_NAME], wide[MACHINE_PASSWORD_BYTES];
	HANDLE token = NULL;
	bool is_his;
	DWORD code;

	(void)state;
	win32_name(machine_account_names[which], name);
	if (wide_text(str_of(password), wide, COUNT_OF(wide)) < 0)
		return FAIL(e, ERR_INTERNAL, "a password is not text");
	code = LogonUserW(name, L".", wide, LOGON32_LOGON_INTERACTIVE, LOGON32_PROVIDER_DEFAULT,
			  &token)
		       ? ERROR_SUCCESS
		       : GetLastError();
	SecureZeroMemory(wide, sizeof(wide));
	if (code != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, code, "the account %s can't log on",
				    machine_account_names[which]);
	is_his = is_token_of(token, sid);
	CloseHandle(token);
	return is_his ? 0
		      : FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				   "the system lets %s log on, and its token is not that account's",
				   machine_account_names[which]);
}
