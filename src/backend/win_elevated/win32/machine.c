/* SPDX-License-Identifier: MIT */
/*
 * See win32.h. What Cordon keeps is in a directory of its own in %ProgramData%, found without the environment. Every user
 * may make directories there, so one that is not closed, or not an administrator's, is not trusted, and
 * setup takes it over.
 */
#include "backend/win_elevated/win32/win32.h"
#include "backend/windows/acl_apply.h"
#include "base/path.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

#include <aclapi.h>
#include <dpapi.h>
#include <shlobj.h>

/* Read by all, changed by administrators alone; files that are made in it too. */
static const wchar_t directory_sddl[] =
	L"O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
static const char directory_text[] =
	"O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
static const wchar_t *const file_names[MACHINE_FILE_COUNT] = {
	[MACHINE_MARK] = L"setup.json", [MACHINE_SECRETS] = L"passwords"
};
static const char entropy_text[] = "cordon windows accounts 1";

/* FOLDERID_ProgramData, FOLDERID_LocalAppData: KnownFolders.h. */
static const GUID program_data = {
	0x62ab5d82, 0xfdc1, 0x4dc3, { 0xa9, 0xdd, 0x07, 0x0d, 0x1d, 0x49, 0x5d, 0x97 }
};
static const GUID local_data = {
	0xf1b32785, 0x6fba, 0x4fcf, { 0x9d, 0x55, 0x7b, 0x8e, 0x7f, 0x15, 0x70, 0x91 }
};

enum { WIDE = 600 };

/* ---- Texts ---------------------------------------------------------------------------------------- */

static bool join(wchar_t out[WIDE], const wchar_t *directory, const wchar_t *name)
{
	const size_t a = wcslen(directory), b = wcslen(name);

	if (a + b + 2 > WIDE)
		return false;
	memcpy(out, directory, a * sizeof(*out));
	out[a] = L'\\';
	memcpy(out + a + 1, name, (b + 1) * sizeof(*out));
	return true;
}

int win32_sddl(struct arena *a, void *descriptor, struct str *out, struct err *e)
{
	enum {
		ALL = OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION |
		      DACL_SECURITY_INFORMATION
	};
	wchar_t *text = NULL;
	int r;

	if (!IsValidSecurityDescriptor(descriptor) ||
	    !ConvertSecurityDescriptorToStringSecurityDescriptorW(descriptor, SDDL_REVISION_1, ALL,
								  &text, NULL))
		return FAIL_WINDOWS(e, GetLastError(), "a security descriptor can't be read");
	r = narrow_copy(a, text, wcslen(text), out, e);
	LocalFree(text);
	return r;
}

static int make_descriptor(const wchar_t *sddl, PSECURITY_DESCRIPTOR *out, struct err *e)
{
	return ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, SDDL_REVISION_1, out,
								    NULL)
		       ? 0
		       : FAIL_WINDOWS(e, GetLastError(), "an access list can't be made");
}

/* ---- Who this is ------------------------------------------------------------------------------------- */

static int check(void *state, struct err *e)
{
	OSVERSIONINFOEXW info = { .dwOSVersionInfoSize = sizeof(info),
				  .wProductType = VER_NT_DOMAIN_CONTROLLER };

	(void)state;
	if (!VerifyVersionInfoW(&info, VER_PRODUCT_TYPE,
				VerSetConditionMask(0, VER_PRODUCT_TYPE, VER_EQUAL)))
		return 0;
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
			  "this is a domain controller, which has no accounts of its own");
}

static bool is_administrator(void *state)
{
	unsigned char sid[SECURITY_MAX_SID_SIZE];
	DWORD size = sizeof(sid);
	BOOL is = FALSE;

	(void)state;
	return CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, sid, &size) &&
	       CheckTokenMembership(NULL, sid, &is) && is;
}

static int find_user(void *state, char out[MACHINE_SID_BYTES], struct err *e)
{
	_Alignas(8) unsigned char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	const TOKEN_USER *user = (const void *)room;
	HANDLE token = NULL;
	DWORD size = 0;
	bool is_found;

	(void)state;
	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return FAIL_WINDOWS(e, GetLastError(), "the user is not known");
	is_found = GetTokenInformation(token, TokenUser, room, sizeof(room), &size) &&
		   win32_sid_text(user->User.Sid, out);
	CloseHandle(token);
	return is_found ? 0 : FAIL_WINDOWS(e, ERROR_INVALID_SID, "the user is not known");
}

static int draw(void *state, void *out, size_t bytes, struct err *e)
{
	(void)state;
	return BCryptGenRandom(NULL, out, (ULONG)bytes, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0
		       ? 0
		       : FAIL(e, ERR_SYS, "there are no random numbers");
}

/* ---- The directory --------------------------------------------------------------------------------------- */

/* SECURITY: not through a link, and the thing itself is asked, not its path. */
static HANDLE open_directory(const wchar_t *path, DWORD access)
{
	HANDLE h = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
			       OPEN_EXISTING,
			       FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	BY_HANDLE_FILE_INFORMATION info;

	if (h == INVALID_HANDLE_VALUE)
		return h;
	if (GetFileInformationByHandle(h, &info) &&
	    (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) &&
	    !(info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
		return h;
	CloseHandle(h);
	SetLastError(ERROR_DIRECTORY);
	return INVALID_HANDLE_VALUE;
}

static bool is_gone(DWORD code)
{
	return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
}

static int look_directory(void *state, bool *is_there, bool *is_closed, struct err *e)
{
	struct win32_machine *m = state;
	HANDLE h = open_directory(m->directory, READ_CONTROL | FILE_READ_ATTRIBUTES);
	PSECURITY_DESCRIPTOR descriptor = NULL;
	struct str text;
	DWORD r;

	*is_there = *is_closed = false;
	if (h == INVALID_HANDLE_VALUE)
		return is_gone(GetLastError()) ? 0
					       : FAIL_WINDOWS(e, GetLastError(),
							      "Cordon's directory can't be opened");
	r = GetSecurityInfo(h, SE_FILE_OBJECT,
			    OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION |
				    DACL_SECURITY_INFORMATION,
			    NULL, NULL, NULL, NULL, &descriptor);
	CloseHandle(h);
	if (r != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, r, "the access list of Cordon's directory can't be read");
	*is_there = true;
	if (win32_sddl(m->a, descriptor, &text, e) < 0) {
		LocalFree(descriptor);
		return err_result(e);
	}
	LocalFree(descriptor);
	*is_closed = str_is(text, directory_text);
	return 0;
}

static int take_over(const wchar_t *path, PSECURITY_DESCRIPTOR descriptor, struct err *e)
{
	enum {
		ALL = OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION |
		      DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION
	};
	HANDLE h = open_directory(path, WRITE_OWNER | WRITE_DAC | READ_CONTROL);
	DWORD code;

	if (h == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "Cordon's directory can't be taken over");
	code = SetKernelObjectSecurity(h, ALL, descriptor) ? ERROR_SUCCESS : GetLastError();
	CloseHandle(h);
	return code == ERROR_SUCCESS ? 0
				     : FAIL_WINDOWS(e, code, "Cordon's directory can't be closed");
}

static int make_directory(void *state, struct err *e)
{
	struct win32_machine *m = state;
	SECURITY_ATTRIBUTES attributes = { .nLength = sizeof(attributes) };
	PSECURITY_DESCRIPTOR descriptor = NULL;
	int r = 0;

	if (make_descriptor(directory_sddl, &descriptor, e) < 0)
		return err_result(e);
	attributes.lpSecurityDescriptor = descriptor;
	if (!CreateDirectoryW(m->directory, &attributes))
		r = GetLastError() == ERROR_ALREADY_EXISTS
			    ? take_over(m->directory, descriptor, e)
			    : FAIL_WINDOWS(e, GetLastError(), "can't make Cordon's directory");
	LocalFree(descriptor);
	return r;
}

static int remove_directory(void *state, struct err *e)
{
	struct win32_machine *m = state;
	wchar_t path[WIDE];

	if (!join(path, m->directory, L"lock"))
		return FAIL(e, ERR_LIMIT, "a path is too long");
	if (!DeleteFileW(path) && !is_gone(GetLastError()))
		return FAIL_WINDOWS(e, GetLastError(), "can't remove the lock");
	if (RemoveDirectoryW(m->directory) || is_gone(GetLastError()))
		return 0;
	return FAIL_WINDOWS(e, GetLastError(), "can't remove Cordon's directory");
}

/* ---- The lock ----------------------------------------------------------------------------------------------- */

void *win32_lock(const wchar_t *directory, bool is_run, struct err *e)
{
	wchar_t path[WIDE];
	OVERLAPPED at = { .Offset = 0 };
	HANDLE h;
	DWORD code;

	if (!join(path, directory, L"lock")) {
		(void)FAIL(e, ERR_LIMIT, "a path is too long");
		return NULL;
	}
	h = CreateFileW(path, is_run ? GENERIC_READ : GENERIC_READ | GENERIC_WRITE,
			FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			is_run ? OPEN_EXISTING : OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (h == INVALID_HANDLE_VALUE) {
		(void)FAIL_WINDOWS(e, GetLastError(),
				   "the lock of Cordon's accounts can't be opened");
		return NULL;
	}
	if (LockFileEx(h, LOCKFILE_FAIL_IMMEDIATELY | LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at))
		return h;
	code = GetLastError();
	CloseHandle(h);
	if (code != ERROR_LOCK_VIOLATION && code != ERROR_IO_PENDING) {
		(void)FAIL_WINDOWS(e, code, "Cordon's accounts can't be locked");
		return NULL;
	}
	(void)FAIL_CAUSE(
		e, CAUSE_RUNS_GO_ON,
		is_run ? "another command runs as Cordon's accounts, or they are being changed"
		       : "commands are running as Cordon's accounts");
	return NULL;
}

static int lock(void *state, struct err *e)
{
	struct win32_machine *m = state;

	m->lock = win32_lock(m->directory, false, e);
	return m->lock ? 0 : err_result(e);
}

static void unlock(void *state)
{
	struct win32_machine *m = state;

	if (m->lock)
		CloseHandle(m->lock);
	m->lock = NULL;
}

/* ---- The files ------------------------------------------------------------------------------------------------ */

static int read_file(void *state, enum machine_file file, struct arena *a, bool *is_there,
		     struct str *out, struct err *e)
{
	struct win32_machine *m = state;
	char *bytes = arena_alloc(a, MACHINE_FILE_MAX_BYTES, e);
	wchar_t path[WIDE];
	DWORD n = 0, code;
	HANDLE h;

	*is_there = false;
	*out = STR_EMPTY;
	if (!bytes)
		return err_result(e);
	if (!join(path, m->directory, file_names[file]))
		return FAIL(e, ERR_LIMIT, "a path is too long");
	h = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
			OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return is_gone(GetLastError()) ? 0
					       : FAIL_WINDOWS(e, GetLastError(),
							      "a file of Cordon's can't be opened");
	code = ReadFile(h, bytes, MACHINE_FILE_MAX_BYTES - 1, &n, NULL) ? ERROR_SUCCESS
									: GetLastError();
	CloseHandle(h);
	if (code != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, code, "a file of Cordon's can't be read");
	*is_there = true;
	*out = (struct str){ bytes, n };
	return 0;
}

/* Of the passwords: administrators, the system, and this user. */
static int find_file_list(struct win32_machine *m, enum machine_file file,
			  PSECURITY_DESCRIPTOR *out, struct err *e)
{
	char user[MACHINE_SID_BYTES];
	struct str text;
	wchar_t *sddl;

	if (file == MACHINE_MARK)
		return make_descriptor(L"O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;BU)", out, e);
	if (find_user(m, user, e) < 0 ||
	    arena_printf(m->a, &text, e, "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;%s)", user) <
		    0 ||
	    wide_copy(m->a, text, &sddl, e) < 0)
		return err_result(e);
	return make_descriptor(sddl, out, e);
}

static int write_new(const wchar_t *path, PSECURITY_DESCRIPTOR descriptor, struct str bytes,
		     struct err *e)
{
	SECURITY_ATTRIBUTES attributes = { .nLength = sizeof(attributes),
					   .lpSecurityDescriptor = descriptor };
	DWORD n = 0, code;
	HANDLE h;

	if (!DeleteFileW(path) && !is_gone(GetLastError()))
		return FAIL_WINDOWS(e, GetLastError(), "a file of Cordon's can't be replaced");
	h = CreateFileW(path, GENERIC_WRITE, 0, &attributes, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
			NULL);
	if (h == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't make a file of Cordon's");
	code = WriteFile(h, bytes.p, (DWORD)bytes.len, &n, NULL) && FlushFileBuffers(h)
		       ? ERROR_SUCCESS
		       : GetLastError();
	CloseHandle(h);
	return code == ERROR_SUCCESS && n == bytes.len
		       ? 0
		       : FAIL_WINDOWS(e, code, "can't write a file of Cordon's");
}

static int write_file(void *state, enum machine_file file, struct str bytes, struct err *e)
{
	struct win32_machine *m = state;
	wchar_t path[WIDE], next[WIDE];
	PSECURITY_DESCRIPTOR descriptor = NULL;
	int r;

	if (!join(path, m->directory, file_names[file]) || !join(next, m->directory, L"next"))
		return FAIL(e, ERR_LIMIT, "a path is too long");
	if (find_file_list(m, file, &descriptor, e) < 0)
		return err_result(e);
	r = write_new(next, descriptor, bytes, e);
	LocalFree(descriptor);
	if (r < 0)
		return r;
	return MoveFileExW(next, path, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
		       ? 0
		       : FAIL_WINDOWS(e, GetLastError(),
				      "can't put a file of Cordon's in its place");
}

static int remove_file(void *state, enum machine_file file, struct err *e)
{
	struct win32_machine *m = state;
	wchar_t path[WIDE], next[WIDE];

	if (!join(path, m->directory, file_names[file]) || !join(next, m->directory, L"next"))
		return FAIL(e, ERR_LIMIT, "a path is too long");
	if ((!DeleteFileW(next) && !is_gone(GetLastError())) ||
	    (!DeleteFileW(path) && !is_gone(GetLastError())))
		return FAIL_WINDOWS(e, GetLastError(), "can't remove a file of Cordon's");
	return 0;
}

static DATA_BLOB blob_of(struct str text)
{
	return (DATA_BLOB){ .cbData = (DWORD)text.len, .pbData = (BYTE *)(uintptr_t)text.p };
}

static int copy_blob(struct arena *a, DATA_BLOB *blob, struct str *out, struct err *e)
{
	int r = arena_copy(a, (struct str){ (const char *)blob->pbData, blob->cbData }, out, e);

	SecureZeroMemory(blob->pbData, blob->cbData);
	LocalFree(blob->pbData);
	return r;
}

static int protect(void *state, struct arena *a, struct str in, struct str *out, struct err *e)
{
	DATA_BLOB plain = blob_of(in), entropy = blob_of(str_of(entropy_text)), closed;

	(void)state;
	if (!CryptProtectData(&plain, L"Cordon", &entropy, NULL, NULL, CRYPTPROTECT_UI_FORBIDDEN,
			      &closed))
		return FAIL_WINDOWS(e, GetLastError(), "the passwords can't be protected");
	return copy_blob(a, &closed, out, e);
}

static int unprotect(void *state, struct arena *a, struct str in, struct str *out, struct err *e)
{
	DATA_BLOB closed = blob_of(in), entropy = blob_of(str_of(entropy_text)), plain;

	(void)state;
	if (!CryptUnprotectData(&closed, NULL, &entropy, NULL, NULL, CRYPTPROTECT_UI_FORBIDDEN,
				&plain))
		return FAIL_CAUSE(
			e, CAUSE_NOT_SET_UP,
			"the passwords of Cordon's accounts are another user's, or damaged");
	return copy_blob(a, &plain, out, e);
}

/* ---- Access lists ------------------------------------------------------------------------------------------------ */

static int clean(void *state, struct arena *a, struct machine_cleaned *out, struct err *e)
{
	struct windows_acl_cleanup cleaned = { .held = 0 };
	struct acl_system system;
	wchar_t *wide = NULL, path[WIDE];
	char directory[PATH_MAX_BYTES];
	HRESULT r = SHGetKnownFolderPath(&local_data, KF_FLAG_DONT_VERIFY, NULL, &wide);
	bool is_found = SUCCEEDED(r) && join(path, wide, L"cordon") &&
			narrow_path(path, wcslen(path), directory) >= 0;

	(void)state;
	CoTaskMemFree(wide);
	if (!is_found)
		return FAIL_WINDOWS(e, (uint32_t)r, "the directory of Cordon's state is not known");
	if (acl_system_open(a, str_of(directory), &system, e) < 0 ||
	    windows_acl_cleanup(a, &system, &cleaned, e) < 0)
		return err_result(e);
	*out = (struct machine_cleaned){ .changed = cleaned.changed,
					 .removed = cleaned.removed,
					 .held = cleaned.held };
	return 0;
}

/* ---- The table ------------------------------------------------------------------------------------------------------ */

int machine_open(struct arena *a, struct machine *out, struct err *e)
{
	struct win32_machine *m = ARENA_NEW(a, struct win32_machine, e);
	wchar_t *wide = NULL, path[WIDE];
	HRESULT r;
	bool fits;

	if (!m)
		return err_result(e);
	r = SHGetKnownFolderPath(&program_data, KF_FLAG_DONT_VERIFY, NULL, &wide);
	fits = SUCCEEDED(r) && join(path, wide, L"cordon-accounts") &&
	       wcslen(path) < COUNT_OF(m->directory);
	CoTaskMemFree(wide);
	if (!fits)
		return FAIL_WINDOWS(e, (uint32_t)r, "the directory ProgramData is not known");
	m->a = a;
	memcpy(m->directory, path, (wcslen(path) + 1) * sizeof(path[0]));
	*out = (struct machine){ .state = m,
				 .check = check,
				 .is_administrator = is_administrator,
				 .find_user = find_user,
				 .lock = lock,
				 .unlock = unlock,
				 .draw = draw,
				 .look_group = win32_look_group,
				 .add_group = win32_add_group,
				 .remove_group = win32_remove_group,
				 .look_account = win32_look_account,
				 .add_account = win32_add_account,
				 .set_password = win32_set_password,
				 .set_usual = win32_set_usual,
				 .add_member = win32_add_member,
				 .look_rights = win32_look_rights,
				 .deny_rights = win32_deny_rights,
				 .set_hidden = win32_set_hidden,
				 .remove_account = win32_remove_account,
				 .check_logon = win32_check_logon,
				 .list_rules = win32_list_rules,
				 .add_rule = win32_add_rule,
				 .remove_rules = win32_remove_rules,
				 .list_filters = win32_list_filters,
				 .set_filters = win32_set_filters,
				 .look_directory = look_directory,
				 .make_directory = make_directory,
				 .remove_directory = remove_directory,
				 .read_file = read_file,
				 .write_file = write_file,
				 .remove_file = remove_file,
				 .clean = clean,
				 .protect = protect,
				 .unprotect = unprotect };
	return 0;
}

void machine_close(struct machine *machine)
{
	struct win32_machine *m = machine->state;

	unlock(m);
	if (m->has_com)
		CoUninitialize();
}
