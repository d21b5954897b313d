/* SPDX-License-Identifier: MIT */
/*
 * See runner.h: what has to be denied is tried, beside something that has to be allowed. SECURITY: with the token
 * itself, not by looking at it: a system may say that a token is restricted, and open everything.
 */
#include "backend/win_elevated/win32/runner.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

#include <shlobj.h>

/* FOLDERID_LocalAppData: KnownFolders.h. */
static const GUID local_data = {
	0xf1b32785, 0x6fba, 0x4fcf, { 0x9d, 0x55, 0x7b, 0x8e, 0x7f, 0x15, 0x70, 0x91 }
};

enum { CANARY_CLOSED, CANARY_HIDDEN, CANARY_OPEN };
static const wchar_t *const file_names[RUNNER_CANARIES] = { L"closed", L"hidden", L"open" };

/* ---- The user's side: files ----------------------------------------------------------------------- */

static bool find_path(const struct trial *t, int which, wchar_t out[600])
{
	return swprintf(out, 600, L"%ls\\%ls", t->directory, file_names[which]) > 0;
}

static int make_file(struct arena *a, struct trial *t, int which, struct str list, struct err *e)
{
	SECURITY_ATTRIBUTES attributes = { .nLength = sizeof(attributes) };
	wchar_t path[600], *sddl = NULL;
	struct str text;
	HANDLE h = INVALID_HANDLE_VALUE;
	DWORD code = ERROR_FILENAME_EXCED_RANGE;

	if (wide_copy(a, list, &sddl, e) < 0)
		return err_result(e);
	if (find_path(t, which, path) &&
	    ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    sddl, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL)) {
		h = CreateFileW(path, GENERIC_WRITE, 0, &attributes, CREATE_NEW,
				FILE_ATTRIBUTE_NORMAL, NULL);
		code = GetLastError();
		LocalFree(attributes.lpSecurityDescriptor);
	}
	if (h == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, code, "can't make a file to try the token with");
	CloseHandle(h);
	if (narrow_copy(a, path, wcslen(path), &text, e) < 0)
		return err_result(e);
	t->canaries.items[which] = text.p;
	return 0;
}

static int make_directory(struct trial *t, struct err *e)
{
	wchar_t *base = NULL;
	unsigned long long random[2];
	HRESULT r = SHGetKnownFolderPath(&local_data, KF_FLAG_CREATE, NULL, &base);
	bool fits = SUCCEEDED(r) &&
		    BCryptGenRandom(NULL, (UCHAR *)random, sizeof(random),
				    BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0 &&
		    swprintf(t->directory, COUNT_OF(t->directory), L"%ls\\cordon-trial-%llx%llx",
			     base, random[0], random[1]) > 0;

	CoTaskMemFree(base);
	if (fits && CreateDirectoryW(t->directory, NULL))
		return 0;
	t->directory[0] = L'\0';
	return FAIL_WINDOWS(e, GetLastError(), "can't make a directory to try the token in");
}

static int make_files(struct arena *a, const char *user, const char *account,
		      const char *capability, struct trial *t, struct err *e)
{
	struct str lists[RUNNER_CANARIES];

	t->canaries.count = RUNNER_CANARIES;
	t->canaries.items = arena_array(a, RUNNER_CANARIES + 1, sizeof(*t->canaries.items), e);
	if (!t->canaries.items || make_directory(t, e) < 0 ||
	    arena_printf(a, &lists[CANARY_CLOSED], e, "D:P(A;;FA;;;%s)(A;;FA;;;%s)", user,
			 account) < 0 ||
	    arena_printf(a, &lists[CANARY_HIDDEN], e,
			 "D:P(D;;FR;;;%s)(A;;FA;;;%s)(A;;FA;;;%s)(A;;FA;;;%s)", account, user,
			 account, capability) < 0 ||
	    arena_printf(a, &lists[CANARY_OPEN], e, "D:P(A;;FA;;;%s)(A;;FA;;;%s)(A;;FA;;;%s)", user,
			 account, capability) < 0)
		return err_result(e);
	for (int i = 0; i < RUNNER_CANARIES; i++)
		if (make_file(a, t, i, lists[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- The user's side: sockets ----------------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int make_address(bool is_v6, uint16_t port, union address *out)
{
	memset(out, 0, sizeof(*out));
	if (is_v6) {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_addr = in6addr_loopback;
		out->v6.sin6_port = htons(port);
		return sizeof(out->v6);
	}
	out->v4.sin_family = AF_INET;
	out->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	out->v4.sin_port = htons(port);
	return sizeof(out->v4);
}

/* 0: connected; else the error. */
static int try_connect(bool is_v6, uint16_t port)
{
	union address address;
	int size = make_address(is_v6, port, &address), code;
	SOCKET s = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_TCP);

	if (s == INVALID_SOCKET)
		return WSAGetLastError();
	code = connect(s, &address.any, size) == 0 ? 0 : WSAGetLastError();
	closesocket(s);
	return code;
}

/* The control is this process itself, which nothing keeps from connecting. */
static int listen_at(struct trial *t, bool is_v6, struct err *e)
{
	union address address;
	int size = make_address(is_v6, 0, &address), code;
	SOCKET s = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_TCP);

	if (s == INVALID_SOCKET || bind(s, &address.any, size) != 0) {
		if (s != INVALID_SOCKET)
			closesocket(s);
		/* Only IPv6 may be missing. */
		return is_v6 ? 0 : FAIL_WINDOWS(e, (uint32_t)WSAGetLastError(), "can't listen");
	}
	t->sockets[is_v6] = s;
	if (listen(s, 8) != 0 || getsockname(s, &address.any, &size) != 0)
		return FAIL_WINDOWS(e, (uint32_t)WSAGetLastError(), "can't listen");
	t->ports[is_v6] = ntohs(is_v6 ? address.v6.sin6_port : address.v4.sin_port);
	code = try_connect(is_v6, (uint16_t)t->ports[is_v6]);
	return code ? FAIL_WINDOWS(e, (uint32_t)code, "nobody can connect on the loopback") : 0;
}

static int start_winsock(struct err *e)
{
	WSADATA data;
	int code = WSAStartup(MAKEWORD(2, 2), &data);

	return code ? FAIL_WINDOWS(e, (uint32_t)code, "Winsock can't be used") : 0;
}

int trial_begin(struct arena *a, const char *user, const char *account, const char *capability,
		bool has_network, struct trial *out, struct err *e)
{
	*out = (struct trial){ .sockets = { INVALID_SOCKET, INVALID_SOCKET } };
	if (make_files(a, user, account, capability, out, e) == 0 &&
	    (has_network || (start_winsock(e) == 0 && listen_at(out, false, e) == 0 &&
			     listen_at(out, true, e) == 0)))
		return 0;
	trial_end(out);
	return err_result(e);
}

void trial_end(struct trial *t)
{
	wchar_t path[600];

	for (int i = 0; i < 2; i++)
		if (t->sockets[i] != INVALID_SOCKET)
			closesocket(t->sockets[i]);
	t->sockets[0] = t->sockets[1] = INVALID_SOCKET;
	for (int i = 0; t->directory[0] && i < RUNNER_CANARIES; i++)
		if (find_path(t, i, path))
			(void)DeleteFileW(path);
	if (t->directory[0])
		(void)RemoveDirectoryW(t->directory);
	t->directory[0] = L'\0';
}

/* ---- In the runner ------------------------------------------------------------------------------------- */

static DWORD try_open(const char *path, DWORD access)
{
	wchar_t wide[600];
	HANDLE h;

	if (wide_text(str_of(path), wide, COUNT_OF(wide)) < 0)
		return ERROR_INVALID_NAME;
	h = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
			FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (h == INVALID_HANDLE_VALUE)
		return GetLastError();
	CloseHandle(h);
	return ERROR_SUCCESS;
}

/* Each deny beside an allow: a file that nobody can open proves nothing. */
static int try_files(const struct runner_list *canaries, struct err *e)
{
	static const struct {
		int file;
		DWORD access, expected;
		const char *what;
	} tries[] = {
		{ CANARY_OPEN, GENERIC_WRITE, ERROR_SUCCESS, "a file that it may write is closed" },
		{ CANARY_OPEN, GENERIC_READ, ERROR_SUCCESS, "a file that it may read is closed" },
		{ CANARY_CLOSED, GENERIC_READ, ERROR_SUCCESS, "a file that it may read is closed" },
		{ CANARY_CLOSED, GENERIC_WRITE, ERROR_ACCESS_DENIED,
		  "a file that none of its capabilities may write is open" },
		{ CANARY_HIDDEN, GENERIC_READ, ERROR_ACCESS_DENIED,
		  "a file that its account may not read is open" },
	};

	for (size_t i = 0; i < COUNT_OF(tries); i++) {
		DWORD code = try_open(canaries->items[tries[i].file], tries[i].access);

		if (code != tries[i].expected)
			return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
					  "the token of the command was tried: %s (error %lu)",
					  tries[i].what, code);
	}
	return 0;
}

static int try_network(bool is_v6, uint32_t port, struct err *e)
{
	int code;

	if (!port)
		return 0;
	code = try_connect(is_v6, (uint16_t)port);
	/* What a filter answers. Any other failure would be luck. */
	return code == WSAEACCES
		       ? 0
		       : FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				    "the network of the command was tried: the loopback is "
				    "not closed (error %d)",
				    code);
}

int trial_try(void *token, const struct runner_start *start, struct err *e)
{
	int r;

	if ((start->closed_v4 || start->closed_v6) && start_winsock(e) < 0)
		return err_result(e);
	if (!ImpersonateLoggedOnUser(token))
		return FAIL_WINDOWS(e, GetLastError(), "the token of the command can't be tried");
	r = try_files(&start->canaries, e) < 0 || try_network(false, start->closed_v4, e) < 0 ||
			    try_network(true, start->closed_v6, e) < 0
		    ? err_result(e)
		    : 0;
	if (RevertToSelf())
		return r;
	return r < 0 ? r
		     : FAIL_WINDOWS(e, GetLastError(), "the token of the command can't be left");
}
