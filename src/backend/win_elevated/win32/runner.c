/* SPDX-License-Identifier: MIT */
/*
 * The runner (runner.h). SECURITY: what runs as this account beside it is restricted, and must not get at this process,
 * which is not: its own access list has the system alone. Nothing is told that was not asked for, and every failure
 * ends it without a command.
 */
#include "backend/win_elevated/win32/runner.h"
#include "backend/win_elevated/win32/win32.h"
#include "backend/windows/sid.h"
#include "backend/windows/token.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/text.h"

#include <errno.h>

enum { RUNNER_FAILURE = 125 };

struct runner {
	struct arena a;
	HANDLE orders, answers;
	struct runner_start start;
	void *token;
	struct process command;
};

/* ---- Talking ----------------------------------------------------------------------------------- */

static HANDLE open_pipe(const char *name, const char *suffix, DWORD access)
{
	wchar_t path[160], wide[96];

	if (wide_text(str_of(name), wide, COUNT_OF(wide)) < 0 || wcschr(wide, L'\\') ||
	    swprintf(path, COUNT_OF(path), L"\\\\.\\pipe\\%ls-%hs", wide, suffix) < 0)
		return INVALID_HANDLE_VALUE;
	/* Who listens may know who this is, and not act as it. */
	return CreateFileW(path, access, 0, NULL, OPEN_EXISTING,
			   SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, NULL);
}

static int say(struct runner *r, const struct runner_message *m, struct err *e)
{
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	size_t at = 0;

	if (runner_print(m, &text, e) < 0)
		return err_result(e);
	while (at < text.len) {
		DWORD n = 0;

		if (!WriteFile(r->answers, text.p + at, (DWORD)(text.len - at), &n, NULL))
			return FAIL_WINDOWS(e, GetLastError(), "cordon does not listen");
		at += n;
	}
	return 0;
}

static int hear(struct runner *r, struct runner_message *out, struct err *e)
{
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	size_t used = 0;

	while (!used) {
		char bytes[4096];
		DWORD n = 0;

		if (!ReadFile(r->orders, bytes, sizeof(bytes), &n, NULL) || n == 0)
			return FAIL_WINDOWS(e, GetLastError(), "cordon says nothing");
		buf_add(&text, (struct str){ bytes, n });
		if (buf_check(&text, e) < 0 ||
		    runner_parse(&r->a, buf_str(&text), out, &used, e) < 0)
			return err_result(e);
	}
	if (!runner_is_order(out->type) || used != text.len)
		return FAIL(e, ERR_SYNTAX, "cordon says something else than was expected");
	return 0;
}

/* What went wrong; then there is nothing else to do. */
static int tell_failure(struct runner *r, enum runner_stage stage, const struct err *e)
{
	struct runner_message m = { .type = RUNNER_FAILED,
				    .stage = stage,
				    .os_error = (uint32_t)e->os_error };
	struct err ignored = ERR_INIT;

	(void)err_print(e, m.text, sizeof(m.text));
	(void)say(r, &m, &ignored);
	return RUNNER_FAILURE;
}

/* ---- What it does ---------------------------------------------------------------------------------- */

/* Also its owner may do nothing: the command's account owns it, too. */
static int close_itself(struct err *e)
{
	static const wchar_t list[] = L"D:P(A;;0x1fffff;;;SY)(A;;0x20000;;;OW)";
	PSECURITY_DESCRIPTOR descriptor = NULL;
	DWORD code;

	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(list, SDDL_REVISION_1,
								  &descriptor, NULL))
		return FAIL_WINDOWS(e, GetLastError(), "the runner can't be closed");
	code = SetKernelObjectSecurity(GetCurrentProcess(), DACL_SECURITY_INFORMATION, descriptor)
		       ? ERROR_SUCCESS
		       : GetLastError();
	LocalFree(descriptor);
	return code == ERROR_SUCCESS ? 0 : FAIL_WINDOWS(e, code, "the runner can't be closed");
}

static int make_token(struct runner *r, struct err *e)
{
	const struct runner_list *texts = &r->start.sids;
	struct str *sids = arena_array(&r->a, texts->count, sizeof(*sids), e);
	BOOL is_in_job = FALSE;

	if (!sids)
		return err_result(e);
	/* The command is in the job because the runner is. */
	if (!IsProcessInJob(GetCurrentProcess(), NULL, &is_in_job) || !is_in_job)
		return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT, "the runner is in no job");
	for (size_t i = 0; i < texts->count; i++)
		if (sid_parse(&r->a, str_of(texts->items[i]), &sids[i], e) < 0)
			return err_result(e);
	return token_new(&r->a,
			 &(struct token_request){ .restricting = sids, .count = texts->count },
			 &r->token, e);
}

static int find_streams(const struct runner *r, int out[3], struct err *e)
{
	for (int i = 0; i < 3; i++) {
		HANDLE h = (HANDLE)(uintptr_t)r->start.stdio[i];

		out[i] = h ? handle_add(HANDLE_FILE, h) : -1;
		if (h && out[i] < 0)
			return FAIL_SYS(e, errno, "a stream of the command can't be used");
	}
	return 0;
}

static int start_command(struct runner *r, uint32_t *index, struct err *e)
{
	const struct runner_list *programs = &r->start.programs;
	struct process_start how = { .argv = r->start.argv.items,
				     .environment = r->start.environment.items,
				     .directory = r->start.directory,
				     .token = r->token,
				     .waits = true };

	if (find_streams(r, how.stdio, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < programs->count; i++) {
		err_clear(e);
		*index = (uint32_t)i;
		how.program = programs->items[i];
		if (process_start(&how, &r->command, e) == 0)
			return 0;
		if (e->code != ERR_SYS || e->os_error != ENOENT)
			break;
	}
	return err_result(e);
}

static int run(struct runner *r)
{
	struct runner_message m = { .type = RUNNER_HELLO, .process = GetCurrentProcessId() };
	struct err e = ERR_INIT;
	char nothing;
	DWORD n;

	if (close_itself(&e) < 0 || say(r, &m, &e) < 0)
		return RUNNER_FAILURE;
	if (hear(r, &m, &e) < 0)
		return tell_failure(r, RUNNER_STAGE_MESSAGE, &e);
	r->start = m.start;
	if (make_token(r, &e) < 0)
		return tell_failure(r, RUNNER_STAGE_TOKEN, &e);
	if (trial_try(r->token, &r->start, &e) < 0)
		return tell_failure(r, RUNNER_STAGE_CHECK, &e);
	m = (struct runner_message){ .type = RUNNER_STARTED };
	if (start_command(r, &m.index, &e) < 0)
		return tell_failure(r, RUNNER_STAGE_COMMAND, &e);
	m.process = r->command.id;
	m.handle = (uintptr_t)r->command.handle;
	m.thread = (uintptr_t)r->command.thread;
	if (say(r, &m, &e) < 0)
		return RUNNER_FAILURE;
	/* Until cordon has the handles, which it says by closing the pipe. */
	return ReadFile(r->orders, &nothing, 1, &n, NULL) ? RUNNER_FAILURE : 0;
}

int runner_main(int argc, char **argv)
{
	struct runner r = { .a = ARENA_INIT((size_t)16 << 20) };
	int status;

	if (argc != 3)
		return RUNNER_FAILURE;
	r.orders = open_pipe(argv[2], "orders", GENERIC_READ);
	r.answers = open_pipe(argv[2], "answers", GENERIC_WRITE | FILE_READ_ATTRIBUTES);
	status = r.orders == INVALID_HANDLE_VALUE || r.answers == INVALID_HANDLE_VALUE
			 ? RUNNER_FAILURE
			 : run(&r);
	/* The command waits for somebody who has its handles; else it must not live. */
	if (status != 0 && r.command.handle)
		(void)TerminateProcess(r.command.handle, RUNNER_FAILURE);
	arena_done(&r.a);
	return status;
}
