/* SPDX-License-Identifier: MIT */
/*
 * The runner (win_elevated/win32/runner.h), started as this user, because Wine has no accounts. What it says crosses real
 * pipes. Where the system does not restrict a token, as Wine does not, nothing may be started: that is what is
 * tested there.
 */
#include "../unit/test.h"
#include "backend/win_elevated/win32/runner.h"
#include "backend/win_elevated/win32/win32.h"
#include "os/windows/api.h"
#include "os/windows/text.h"

static bool is_intruded; /* somebody else opens the pipe first */
static bool is_silent;	 /* the runner is another program, which says nothing */

/* This program is its own runner. */
__attribute__((constructor)) static void be_the_runner(void)
{
	if (__argc >= 2 && strcmp(__argv[1], RUNNER_NAME) == 0)
		exit(runner_main(__argc, __argv));
	if (__argc == 2 && strcmp(__argv[1], "end") == 0)
		exit(0);
}

static void intrude(const wchar_t *line)
{
	const wchar_t *name = wcsrchr(line, L' ');
	wchar_t path[160];

	if (name && swprintf(path, COUNT_OF(path), L"\\\\.\\pipe\\%ls-answers", name + 1) > 0)
		CHECK(CreateFileW(path, GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL) !=
		      INVALID_HANDLE_VALUE);
}

static uint32_t start_as_this_user(wchar_t *program, wchar_t *line, struct process *out)
{
	STARTUPINFOW how = { .cb = sizeof(how) };
	PROCESS_INFORMATION made;
	wchar_t other[700];

	if (is_intruded)
		intrude(line);
	swprintf(other, COUNT_OF(other), L"\"%ls\" end", program);
	if (!CreateProcessW(program, is_silent ? other : line, NULL, NULL, FALSE, CREATE_SUSPENDED,
			    NULL, NULL, &how, &made))
		return GetLastError();
	*out = (struct process){ .handle = made.hProcess,
				 .thread = made.hThread,
				 .id = made.dwProcessId };
	return 0;
}

struct world {
	struct arena a;
	struct machine machine;
	struct machine_secret secret;
	struct job job;
	char program[1024];
	struct runner_request request;
};

static const char *const argv[] = { "cmd", "/c", "exit 7", NULL };
static const char *const programs[] = { "C:\\windows\\system32\\cmd.exe", NULL };
static const char *const environment[] = { "SystemRoot=C:\\windows", NULL };
static const struct str sids[] = { STR_INIT("S-1-5-21-1-2-3-4") };

static bool begin(struct world *w)
{
	static char user[MACHINE_SID_BYTES];
	const struct job_limits limits = { .ends_with_us = true };
	struct err e = ERR_INIT;
	wchar_t path[512];
	DWORD n = GetModuleFileNameW(NULL, path, COUNT_OF(path));

	*w = (struct world){ .a = ARENA_INIT(16 << 20), .job = JOB_NONE };
	if (!CHECK(machine_open(&w->a, &w->machine, &e) == 0) ||
	    !CHECK(w->machine.find_user(w->machine.state, user, &e) == 0) ||
	    !CHECK(job_new(&limits, &w->job, &e) == 0) ||
	    !CHECK(narrow_text(path, n, w->program, sizeof(w->program)) > 0))
		return false;
	snprintf(w->secret.sid, sizeof(w->secret.sid), "%s", user);
	w->request = (struct runner_request){ .secret = &w->secret,
					      .user = user,
					      .program = w->program,
					      .job = &w->job,
					      .programs = programs,
					      .argv = argv,
					      .environment = environment,
					      .directory = "C:\\windows",
					      .stdio = { -1, -1, -1 },
					      .sids = sids,
					      .sid_count = 1,
					      .capability = sids[0].p,
					      .start = start_as_this_user };
	return true;
}

static void end(struct world *w)
{
	job_done(&w->job);
	machine_close(&w->machine);
	arena_done(&w->a);
}

static int start(struct world *w, struct err *e)
{
	struct process command = PROCESS_NONE;
	struct runner_failure failure;
	int r = runner_start_command(&w->a, &w->request, &command, &failure, e);
	char text[2048];

	if (r < 0)
		printf("# %s\n", err_print(e, text, sizeof(text)));
	process_done(&command);
	return r;
}

static bool is_wine(void)
{
	HMODULE ntdll = GetModuleHandleA("ntdll.dll");

	return ntdll && GetProcAddress(ntdll, "wine_get_version");
}

TEST(where_no_token_is_restricted_no_command_is_started)
{
	struct world w;
	struct err e = ERR_INIT;

	if (!is_wine())
		SKIP("this is a real Windows, which restricts tokens");
	REQUIRE(begin(&w));
	CHECK(start(&w, &e) < 0);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	CHECK_INT(job_count(&w.job), 0);
	end(&w);
}

TEST(another_process_at_the_pipe_is_refused)
{
	struct world w;
	struct err e = ERR_INIT;

	REQUIRE(begin(&w));
	is_intruded = true;
	CHECK(start(&w, &e) < 0);
	is_intruded = false;
	CHECK(e.cause != CAUSE_WITHOUT_EFFECT);
	CHECK_INT(job_count(&w.job), 0);
	end(&w);
}

TEST(a_runner_that_ends_is_noticed_at_once)
{
	const uint64_t began = GetTickCount64();
	struct world w;
	struct err e = ERR_INIT;

	REQUIRE(begin(&w));
	is_silent = true;
	CHECK(start(&w, &e) < 0);
	is_silent = false;
	CHECK(GetTickCount64() - began < 10000);
	CHECK_INT(job_count(&w.job), 0);
	end(&w);
}

TEST(a_runner_of_another_account_is_refused)
{
	struct world w;
	struct err e = ERR_INIT;

	REQUIRE(begin(&w));
	snprintf(w.secret.sid, sizeof(w.secret.sid), "S-1-5-21-9-9-9-9");
	CHECK(start(&w, &e) < 0);
	CHECK_INT(job_count(&w.job), 0);
	end(&w);
}

TEST(an_account_that_is_not_there_starts_nothing)
{
	struct world w;
	struct err e = ERR_INIT;

	if (!is_wine())
		SKIP("this is a real Windows, where the account may be there");
	REQUIRE(begin(&w));
	w.request.start = NULL;
	CHECK(start(&w, &e) < 0);
	CHECK_INT(job_count(&w.job), 0);
	end(&w);
}

/* ---- What is tried with a token ------------------------------------------------------------------ */

TEST(a_token_that_opens_everything_is_found_out)
{
	struct world w;
	struct trial trial;
	struct runner_start what = { .directory = "" };
	struct err e = ERR_INIT;
	HANDLE token = NULL;

	REQUIRE(begin(&w));
	REQUIRE(OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &token));
	REQUIRE(trial_begin(&w.a, w.secret.sid, "S-1-1-0", sids[0].p, false, &trial, &e) == 0);
	CHECK(trial.ports[0] != 0);
	what.canaries = trial.canaries;
	what.closed_v4 = trial.ports[0];
	CHECK(trial_try(token, &what, &e) < 0);
	CHECK_INT(e.cause, CAUSE_WITHOUT_EFFECT);
	trial_end(&trial);
	CHECK(GetFileAttributesA(what.canaries.items[0]) == INVALID_FILE_ATTRIBUTES);
	CloseHandle(token);
	end(&w);
}
