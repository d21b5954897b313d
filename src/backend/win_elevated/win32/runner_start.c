/* SPDX-License-Identifier: MIT */
/* See runner.h: the side of the user. */
#include "backend/win_elevated/win32/runner.h"
#include "backend/win_elevated/win32/win32.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/text.h"

#include <errno.h>

enum { CONNECT_MS = 15000, ANSWER_MS = 60000, NAME = 64 };

struct talk {
	const struct runner_request *in;
	struct arena *a;
	char name[NAME];
	int orders, answers;   /* descriptors of our ends */
	struct process runner; /* its handle is NULL: none */
	struct trial trial;
	struct buf heard;
	uint64_t deadline;
};

/* ---- The pipes ------------------------------------------------------------------------------------ */

static int listen_at(struct talk *t, const char *suffix, bool we_read, int *fd, struct err *e)
{
	wchar_t path[NAME + 32], *sddl = NULL;
	struct str list;
	int r;

	/* SECURITY: the user and that account, and nobody else, not even its other logons' groups. */
	if (arena_printf(t->a, &list, e, "D:P(A;;GA;;;%s)(A;;0x12019b;;;%s)", t->in->user,
			 t->in->secret->sid) < 0 ||
	    wide_copy(t->a, list, &sddl, e) < 0)
		return err_result(e);
	if (swprintf(path, COUNT_OF(path), L"\\\\.\\pipe\\%hs-%hs", t->name, suffix) < 0)
		return FAIL(e, ERR_LIMIT, "the name of a pipe is too long");
	r = pipe_listen(path, sddl, we_read, fd);
	return r < 0 ? FAIL_SYS(e, -r, "can't make a pipe for the runner") : 0;
}

static int make_pipes(struct talk *t, struct err *e)
{
	unsigned long long random[2];

	if (BCryptGenRandom(NULL, (UCHAR *)random, sizeof(random),
			    BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
		return FAIL(e, ERR_SYS, "there are no random numbers");
	(void)snprintf(t->name, sizeof(t->name), "cordon-runner-%llx%llx", random[0], random[1]);
	return listen_at(t, "orders", false, &t->orders, e) < 0
		       ? err_result(e)
		       : listen_at(t, "answers", true, &t->answers, e);
}

/* Until the pipe may be ready, the runner has ended, or time is over. */
static int await(struct talk *t, int fd, bool for_writing, struct err *e)
{
	HANDLE handles[] = { handle_wait(fd, for_writing), t->runner.handle };
	const uint64_t now = GetTickCount64();
	DWORD r;

	if (now >= t->deadline)
		return FAIL_SYS(e, ETIMEDOUT, "the runner does not answer");
	r = WaitForMultipleObjects(2, handles, FALSE, (DWORD)(t->deadline - now));
	if (r == WAIT_OBJECT_0 || r == WAIT_TIMEOUT)
		return 0;
	if (r != WAIT_OBJECT_0 + 1)
		return FAIL_WINDOWS(e, GetLastError(), "the runner can't be waited for");
	/* It may have said why. */
	if (!for_writing && pipe_count(fd) > 0)
		return 0;
	return FAIL(e, ERR_SYS, "the runner has ended");
}

static int say(struct talk *t, const struct runner_message *m, struct err *e)
{
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	size_t at = 0;

	if (runner_print(m, &text, e) < 0)
		return err_result(e);
	while (at < text.len) {
		long long n = pipe_write(t->orders, text.p + at, text.len - at);

		if (n > 0)
			at += (size_t)n;
		else if (n != -EAGAIN)
			return FAIL_SYS(e, n ? (int)-n : EPIPE, "the runner does not listen");
		else if (await(t, t->orders, true, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int hear(struct talk *t, struct runner_message *out, struct err *e)
{
	size_t used = 0;

	for (;;) {
		char bytes[4096];
		long long n;

		if (runner_parse(t->a, buf_str(&t->heard), out, &used, e) < 0)
			return err_result(e);
		if (used)
			break;
		n = pipe_read(t->answers, bytes, sizeof(bytes));
		if (n > 0)
			buf_add(&t->heard, (struct str){ bytes, (size_t)n });
		else if (n != -EAGAIN)
			return FAIL_SYS(e, n ? (int)-n : EPIPE, "the runner has ended");
		else if (await(t, t->answers, false, e) < 0)
			return err_result(e);
		if (buf_check(&t->heard, e) < 0)
			return err_result(e);
	}
	/* It says one thing at a time. */
	if (runner_is_order(out->type) || used != t->heard.len)
		return FAIL(e, ERR_SYNTAX, "the runner says something else than was expected");
	buf_clear(&t->heard);
	return 0;
}

/* ---- The runner ------------------------------------------------------------------------------------- */

/* As words: neither has a quote, and the name has no blank. */
static int make_command_line(struct talk *t, wchar_t **program, wchar_t **line, struct err *e)
{
	const char *const argv[] = { t->in->program, RUNNER_NAME, t->name, NULL };
	wchar_t path[WIDE_PATH];

	if (wide_plain_path(str_of(t->in->program), path) < 0)
		return FAIL_SYS(e, errno, "the path of this program can't be used");
	*program = arena_array(t->a, wcslen(path) + 1, sizeof(**program), e);
	if (!*program)
		return err_result(e);
	memcpy(*program, path, (wcslen(path) + 1) * sizeof(*path));
	return process_command_line(t->a, argv, line, e);
}

/* No environment of the user's, and no profile. */
static DWORD log_on(struct talk *t, wchar_t *program, wchar_t *line)
{
	STARTUPINFOW how = { .cb = sizeof(how),
			     .dwFlags = STARTF_USESHOWWINDOW,
			     .wShowWindow = SW_HIDE };
	PROCESS_INFORMATION made = { .hProcess = NULL };
	wchar_t name[WIN32_NAME], password[MACHINE_PASSWORD_BYTES], system[MAX_PATH];
	DWORD code;

	win32_name(machine_account_names[t->in->account], name);
	if (wide_text(str_of(t->in->secret->password), password, COUNT_OF(password)) < 0)
		return ERROR_INVALID_PASSWORD;
	if (!GetSystemDirectoryW(system, COUNT_OF(system)))
		return GetLastError();
	code = CreateProcessWithLogonW(name, L".", password, 0, program, line,
				       CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT |
					       CREATE_NEW_CONSOLE,
				       NULL, system, &how, &made)
		       ? ERROR_SUCCESS
		       : GetLastError();
	SecureZeroMemory(password, sizeof(password));
	/* Wine may say that it has started one. */
	if (code == ERROR_SUCCESS && !made.hProcess)
		return ERROR_CALL_NOT_IMPLEMENTED;
	if (code == ERROR_SUCCESS)
		t->runner = (struct process){ .handle = made.hProcess,
					      .thread = made.hThread,
					      .id = made.dwProcessId };
	return code;
}

static int start_suspended(struct talk *t, struct err *e)
{
	wchar_t *program, *line;
	DWORD code;

	if (make_command_line(t, &program, &line, e) < 0)
		return err_result(e);
	code = t->in->start ? t->in->start(program, line, &t->runner) : log_on(t, program, line);
	if (code == ERROR_SUCCESS)
		return 0;
	(void)FAIL_WINDOWS(e, code, "can't start the runner as %s",
			   machine_account_names[t->in->account]);
	if (code == ERROR_ACCESS_DENIED)
		err_add_line(e, "the program has to be where all users may execute it");
	if (code == ERROR_LOGON_FAILURE)
		err_add_line(e, "'cordon windows setup' gives the account a new password");
	return err_result(e);
}

static int start_runner(struct talk *t, struct err *e)
{
	if (start_suspended(t, e) < 0 || job_add(t->in->job, t->runner.handle, e) < 0)
		return err_result(e);
	if (ResumeThread(t->runner.thread) == (DWORD)-1)
		return FAIL_WINDOWS(e, GetLastError(), "the runner can't be resumed");
	return 0;
}

/* ---- Who it is --------------------------------------------------------------------------------------- */

static int check_end(struct talk *t, int fd, bool for_writing, struct err *e)
{
	uint32_t client;

	while (!(client = pipe_client(fd)))
		if (await(t, fd, for_writing, e) < 0)
			return err_result(e);
	return client == t->runner.id
		       ? 0
		       : FAIL(e, ERR_SYS, "another process than the runner has opened its pipe");
}

/* Its account, as the system tells it of the pipe. Only after something was read from it. */
static int check_account(struct talk *t, struct err *e)
{
	_Alignas(8) unsigned char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	const TOKEN_USER *user = (const void *)room;
	char sid[MACHINE_SID_BYTES] = "";
	HANDLE token = NULL;
	DWORD size;

	if (!ImpersonateNamedPipeClient(handle_get(t->answers)))
		return FAIL_WINDOWS(e, GetLastError(), "who the runner is can't be told");
	if (OpenThreadToken(GetCurrentThread(), TOKEN_QUERY, TRUE, &token)) {
		if (!GetTokenInformation(token, TokenUser, room, sizeof(room), &size) ||
		    !win32_sid_text(user->User.Sid, sid))
			sid[0] = '\0';
		CloseHandle(token);
	}
	/* Else this thread could open nothing: it would act as somebody whom it may only identify. */
	if (!RevertToSelf() && !SetThreadToken(NULL, NULL))
		return FAIL_WINDOWS(e, GetLastError(), "this thread can't become itself again");
	return strcmp(sid, t->in->secret->sid) == 0
		       ? 0
		       : FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
				    "the runner was started as %s, and runs as another account",
				    machine_account_names[t->in->account]);
}

static int meet(struct talk *t, struct err *e)
{
	struct runner_message m;

	t->deadline = GetTickCount64() + CONNECT_MS;
	if (check_end(t, t->answers, false, e) < 0 || check_end(t, t->orders, true, e) < 0 ||
	    hear(t, &m, e) < 0)
		return err_result(e);
	if (m.type != RUNNER_HELLO || m.process != t->runner.id)
		return FAIL(e, ERR_SYNTAX, "the runner says something else than was expected");
	return check_account(t, e);
}

/* ---- The command ----------------------------------------------------------------------------------------- */

static int give_streams(struct talk *t, struct runner_start *start, struct err *e)
{
	for (int i = 0; i < 3; i++) {
		HANDLE own = t->in->stdio[i] >= 0 ? handle_get(t->in->stdio[i]) : NULL,
		       given = NULL;

		if (t->in->stdio[i] < 0)
			continue;
		if (handle_kind(t->in->stdio[i]) == HANDLE_CONSOLE) {
			(void)FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
					 "a command of another account can't use this console");
			err_add_line(e, "redirect its input and output to files or pipes");
			return err_result(e);
		}
		if (!own || !DuplicateHandle(GetCurrentProcess(), own, t->runner.handle, &given, 0,
					     FALSE, DUPLICATE_SAME_ACCESS))
			return FAIL_WINDOWS(e, GetLastError(),
					    "a stream can't be given to the command");
		start->stdio[i] = (uintptr_t)given;
	}
	return 0;
}

static struct runner_list list_of(const char *const *items)
{
	struct runner_list list = { .items = (const char **)(uintptr_t)items };

	while (items && items[list.count])
		list.count++;
	return list;
}

static int order(struct talk *t, struct err *e)
{
	const struct runner_request *in = t->in;
	struct runner_message m = { .type = RUNNER_START };
	const char **sids = arena_array(t->a, in->sid_count + 1, sizeof(*sids), e);

	if (!sids)
		return err_result(e);
	for (size_t i = 0; i < in->sid_count; i++)
		sids[i] = in->sids[i].p;
	m.start = (struct runner_start){ .directory = in->directory,
					 .programs = list_of(in->programs),
					 .argv = list_of(in->argv),
					 .environment = list_of(in->environment),
					 .sids = { sids, in->sid_count },
					 .canaries = t->trial.canaries,
					 .closed_v4 = t->trial.ports[0],
					 .closed_v6 = t->trial.ports[1] };
	return give_streams(t, &m.start, e) < 0 ? err_result(e) : say(t, &m, e);
}

/* SECURITY: in our job, or it would outlive us. */
static int take_command(struct talk *t, const struct runner_message *m, struct process *out,
			struct err *e)
{
	HANDLE process = NULL, thread = NULL;
	BOOL is_in_job = FALSE;

	if (DuplicateHandle(t->runner.handle, (HANDLE)(uintptr_t)m->handle, GetCurrentProcess(),
			    &process, 0, FALSE, DUPLICATE_SAME_ACCESS) &&
	    DuplicateHandle(t->runner.handle, (HANDLE)(uintptr_t)m->thread, GetCurrentProcess(),
			    &thread, 0, FALSE, DUPLICATE_SAME_ACCESS) &&
	    GetProcessId(process) == m->process && GetProcessIdOfThread(thread) == m->process &&
	    IsProcessInJob(process, t->in->job->handle, &is_in_job) && is_in_job) {
		*out = (struct process){ .handle = process, .thread = thread, .id = m->process };
		return 0;
	}
	if (process)
		CloseHandle(process);
	if (thread)
		CloseHandle(thread);
	return FAIL_CAUSE(
		e, CAUSE_WITHOUT_EFFECT,
		"the command of the runner is not the process that it names, or not in the job");
}

static int fail_as_told(const struct runner_message *m, struct err *e)
{
	const char *text = m->text[0] ? m->text : "the runner has failed";

	if (m->stage == RUNNER_STAGE_TOKEN || m->stage == RUNNER_STAGE_CHECK)
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT, "%s", text);
	return FAIL(e, ERR_SYS, "%s", text);
}

static int converse(struct talk *t, struct process *out, struct runner_failure *failure,
		    struct err *e)
{
	struct runner_message m;

	if (make_pipes(t, e) < 0 || start_runner(t, e) < 0 || meet(t, e) < 0)
		return err_result(e);
	t->deadline = GetTickCount64() + ANSWER_MS;
	if (order(t, e) < 0 || hear(t, &m, e) < 0)
		return err_result(e);
	*failure = (struct runner_failure){ .is_command = false };
	if (m.type == RUNNER_STARTED)
		return take_command(t, &m, out, e);
	if (m.type != RUNNER_FAILED)
		return FAIL(e, ERR_SYNTAX, "the runner says something else than was expected");
	if (m.stage != RUNNER_STAGE_COMMAND || !m.os_error)
		return fail_as_told(&m, e);
	*failure = (struct runner_failure){ .is_command = true,
					    .os_error = (int)m.os_error,
					    .index = m.index };
	return 0;
}

/*
 * The end of the pipes is what it waits for. SECURITY: it is gone before the command runs, so nothing that is not restricted
 * runs beside that.
 */
static void end_runner(struct talk *t)
{
	enum { END_MS = 5000 };

	if (!t->runner.handle)
		return;
	if (WaitForSingleObject(t->runner.handle, END_MS) != WAIT_OBJECT_0) {
		(void)TerminateProcess(t->runner.handle, 1);
		(void)WaitForSingleObject(t->runner.handle, INFINITE);
	}
	CloseHandle(t->runner.handle);
	CloseHandle(t->runner.thread);
}

int runner_start_command(struct arena *a, const struct runner_request *in, struct process *out,
			 struct runner_failure *failure, struct err *e)
{
	struct talk t = {
		.in = in, .a = a, .orders = -1, .answers = -1, .heard = BUF_INIT(RUNNER_MAX_BYTES)
	};
	int r;

	if (trial_begin(a, in->user, in->secret->sid, in->capability, !in->is_offline, &t.trial,
			e) < 0)
		return err_result(e);
	r = converse(&t, out, failure, e);
	trial_end(&t.trial);
	if (r < 0 && t.runner.handle)
		(void)TerminateProcess(t.runner.handle, 1);
	if (t.orders >= 0)
		handle_close(t.orders);
	if (t.answers >= 0)
		handle_close(t.answers);
	end_runner(&t);
	buf_done(&t.heard);
	return r;
}
