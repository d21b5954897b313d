/* SPDX-License-Identifier: MIT */
/* See process.h: the call. What is computed without the system is in process_text.c. */
#include "os/windows/process.h"

#include <errno.h>

#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/text.h"

/* mingw-w64 10 has it for newer versions of Windows alone than this is built for. */
enum { ATTRIBUTE_PSEUDOCONSOLE = 22 | PROC_THREAD_ATTRIBUTE_INPUT };
enum { STREAMS = 3, MAX_JOBS = 8, MAX_ATTRIBUTES = 3, MAX_BYTES = 4 << 20 };

/* What has to be undone, and what the attributes point to until the process is there. */
struct making {
	const struct process_start *in;
	HANDLE streams[STREAMS]; /* inheritable copies; NULL: none */
	HANDLE list[STREAMS];
	size_t listed;
	HANDLE jobs[MAX_JOBS];
	size_t job_count;
	LPPROC_THREAD_ATTRIBUTE_LIST attributes;
	wchar_t program[WIDE_PATH], directory[WIDE_PATH];
	wchar_t *line, *environment, *desktop;
};

/* ---- Streams ------------------------------------------------------------------------------------------- */

/*
 * The copies alone can be inherited, and only by who is given this list: the program that we are in may start
 * processes meanwhile that inherit all they can, which is the way of CreateProcess() and can't be told apart.
 */
static int copy_streams(struct making *m, struct err *e)
{
	for (size_t i = 0; i < STREAMS; i++) {
		HANDLE from;

		if (m->in->stdio[i] < 0)
			continue;
		from = handle_get(m->in->stdio[i]);
		if (!from)
			return FAIL_SYS(e, errno, "can't pass on descriptor %d", m->in->stdio[i]);
		if (!DuplicateHandle(GetCurrentProcess(), from, GetCurrentProcess(), &m->streams[i],
				     0, TRUE, DUPLICATE_SAME_ACCESS))
			return FAIL_WINDOWS(e, GetLastError(), "can't pass on descriptor %d",
					    m->in->stdio[i]);
		m->list[m->listed++] = m->streams[i];
	}
	return 0;
}

static void close_streams(struct making *m)
{
	for (size_t i = 0; i < m->listed; i++)
		(void)CloseHandle(m->list[i]);
}

/* ---- Attributes ------------------------------------------------------------------------------------------ */

static int set_attribute(struct making *m, DWORD_PTR what, void *value, size_t bytes, struct err *e)
{
	if (!UpdateProcThreadAttribute(m->attributes, 0, what, value, bytes, NULL, NULL))
		return FAIL_WINDOWS(e, GetLastError(), "can't prepare a process");
	return 0;
}

static int make_attributes(struct arena *a, struct making *m, struct err *e)
{
	SIZE_T bytes = 0;
	LPPROC_THREAD_ATTRIBUTE_LIST made;

	(void)InitializeProcThreadAttributeList(NULL, MAX_ATTRIBUTES, 0, &bytes);
	made = arena_alloc(a, bytes, e);
	if (!made)
		return err_result(e);
	if (!InitializeProcThreadAttributeList(made, MAX_ATTRIBUTES, 0, &bytes))
		return FAIL_WINDOWS(e, GetLastError(), "can't prepare a process");
	m->attributes = made;
	for (void *const *job = m->in->jobs; job && *job; job++) {
		if (m->job_count == MAX_JOBS)
			return FAIL(e, ERR_INTERNAL, "a process in more than %d jobs", MAX_JOBS);
		m->jobs[m->job_count++] = *job;
	}
	/* SECURITY: with an empty list nothing may be inherited either: then the flag is left out. */
	if (m->listed && set_attribute(m, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, m->list,
				       m->listed * sizeof(HANDLE), e) < 0)
		return err_result(e);
	if (m->job_count && set_attribute(m, PROC_THREAD_ATTRIBUTE_JOB_LIST, m->jobs,
					  m->job_count * sizeof(HANDLE), e) < 0)
		return err_result(e);
	/* This attribute is the handle itself. */
	if (m->in->console &&
	    set_attribute(m, ATTRIBUTE_PSEUDOCONSOLE, m->in->console, sizeof(HANDLE), e) < 0)
		return err_result(e);
	return 0;
}

/* ---- The process ------------------------------------------------------------------------------------------ */

static int make_texts(struct arena *a, struct making *m, struct err *e)
{
	const struct process_start *in = m->in;

	if (process_is_batch(str_of(in->program)))
		return FAIL(
			e, ERR_POLICY,
			"'%s' is a batch file: cmd.exe would read its arguments as commands, by "
			"rules that no quoting is safe from; name cmd.exe yourself, as in "
			"cmd /d /c '...'",
			in->program);
	if (wide_plain_path(str_of(in->program), m->program) < 0)
		return FAIL_SYS(e, errno, "can't start '%s'", in->program);
	if (in->directory && wide_plain_path(str_of(in->directory), m->directory) < 0)
		return FAIL_SYS(e, errno, "can't start a process in '%s'", in->directory);
	if (in->desktop && wide_copy(a, str_of(in->desktop), &m->desktop, e) < 0)
		return err_result(e);
	if (process_command_line(a, in->argv, &m->line, e) < 0)
		return err_result(e);
	return in->environment ? process_environment(a, in->environment, &m->environment, e) : 0;
}

static DWORD flags_of(const struct process_start *in)
{
	DWORD flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT;

	if (in->waits)
		flags |= CREATE_SUSPENDED;
	if (in->has_group)
		flags |= CREATE_NEW_PROCESS_GROUP;
	if (in->is_hidden)
		flags |= CREATE_NO_WINDOW;
	return flags;
}

static int start(struct making *m, struct process *out, struct err *e)
{
	const struct process_start *in = m->in;
	STARTUPINFOEXW how = { .StartupInfo = { .cb = sizeof(how) },
			       .lpAttributeList = m->attributes };
	BOOL inherits = m->listed > 0, done;
	PROCESS_INFORMATION made = { .hProcess = NULL };
	wchar_t *directory = in->directory ? m->directory : NULL;

	how.StartupInfo.lpDesktop = m->desktop;
	how.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
	how.StartupInfo.hStdInput = m->streams[0];
	how.StartupInfo.hStdOutput = m->streams[1];
	how.StartupInfo.hStdError = m->streams[2];
	if (in->token)
		done = CreateProcessAsUserW(in->token, m->program, m->line, NULL, NULL, inherits,
					    flags_of(in), m->environment, directory,
					    &how.StartupInfo, &made);
	else
		done = CreateProcessW(m->program, m->line, NULL, NULL, inherits, flags_of(in),
				      m->environment, directory, &how.StartupInfo, &made);
	if (!done)
		return FAIL_WINDOWS(e, GetLastError(), "can't start '%s'", in->program);
	*out = (struct process){ .handle = made.hProcess,
				 .thread = made.hThread,
				 .id = made.dwProcessId };
	return 0;
}

int process_start(const struct process_start *in, struct process *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(MAX_BYTES);
	struct making *m = ARENA_NEW(&a, struct making, e);
	int r;

	if (!m)
		return err_result(e);
	m->in = in;
	r = make_texts(&a, m, e);
	if (r == 0 && !in->console)
		r = copy_streams(m, e);
	if (r == 0)
		r = make_attributes(&a, m, e);
	if (r == 0)
		r = start(m, out, e);
	if (m->attributes)
		DeleteProcThreadAttributeList(m->attributes);
	close_streams(m);
	return r;
}

int process_resume(const struct process *p, struct err *e)
{
	if (ResumeThread(p->thread) == (DWORD)-1)
		return FAIL_WINDOWS(e, GetLastError(), "can't let process %lu run",
				    (unsigned long)p->id);
	return 0;
}

bool process_break(const struct process *p)
{
	return GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, p->id);
}

void process_done(struct process *p)
{
	if (p->thread)
		(void)CloseHandle(p->thread);
	if (p->handle)
		(void)CloseHandle(p->handle);
	*p = (struct process)PROCESS_NONE;
}

bool process_status(void *handle, uint32_t *out)
{
	DWORD status;

	if (WaitForSingleObject(handle, 0) != WAIT_OBJECT_0 || !GetExitCodeProcess(handle, &status))
		return false;
	*out = status;
	return true;
}
