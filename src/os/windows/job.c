/* SPDX-License-Identifier: MIT */
/* See job.h. */
#include "os/windows/job.h"

#include "os/windows/api.h"
#include "os/windows/error.h"

enum {
	UI = JOB_OBJECT_UILIMIT_DESKTOP | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
	     JOB_OBJECT_UILIMIT_EXITWINDOWS | JOB_OBJECT_UILIMIT_GLOBALATOMS |
	     JOB_OBJECT_UILIMIT_HANDLES | JOB_OBJECT_UILIMIT_READCLIPBOARD |
	     JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS | JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
	TICKS_PER_MS = 10000, /* of 100 ns */
};

static JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits_as_asked(const struct job_limits *in)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION out = { .JobMemoryLimit = (SIZE_T)in->memory_bytes };

	out.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
	if (in->ends_with_us)
		out.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
	if (in->memory_bytes)
		out.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
	if (in->processes) {
		out.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
		out.BasicLimitInformation.ActiveProcessLimit = in->processes;
	}
	return out;
}

static bool set(HANDLE job, JOBOBJECTINFOCLASS what, void *value, size_t bytes)
{
	return SetInformationJobObject(job, what, value, (DWORD)bytes);
}

static bool get(HANDLE job, JOBOBJECTINFOCLASS what, void *value, size_t bytes)
{
	return QueryInformationJobObject(job, what, value, (DWORD)bytes, NULL);
}

static int fail_weaker(const char *what, struct err *e)
{
	return FAIL(
		e, ERR_WEAKER,
		"Windows took the limits of a job, but %s is not in force when it is read back; "
		"Wine is known for that",
		what);
}

/* SECURITY: trusts nothing that was not read back. */
static int check(HANDLE job, const struct job_limits *in,
		 const JOBOBJECT_EXTENDED_LIMIT_INFORMATION *asked, struct err *e)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION is = { .JobMemoryLimit = 0 };
	JOBOBJECT_BASIC_UI_RESTRICTIONS ui = { .UIRestrictionsClass = 0 };
	DWORD missing,
		breakaway = JOB_OBJECT_LIMIT_BREAKAWAY_OK | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;

	if (!get(job, JobObjectExtendedLimitInformation, &is, sizeof(is)))
		return FAIL_WINDOWS(e, GetLastError(), "can't read the limits of a job");
	if (is.BasicLimitInformation.LimitFlags & breakaway)
		return fail_weaker("that no process can leave it", e);
	missing = asked->BasicLimitInformation.LimitFlags & ~is.BasicLimitInformation.LimitFlags;
	if ((in->memory_bytes && is.JobMemoryLimit > asked->JobMemoryLimit) ||
	    missing & JOB_OBJECT_LIMIT_JOB_MEMORY)
		return fail_weaker("that of memory", e);
	if ((in->processes && is.BasicLimitInformation.ActiveProcessLimit > in->processes) ||
	    missing & JOB_OBJECT_LIMIT_ACTIVE_PROCESS)
		return fail_weaker("that of processes", e);
	if (in->restricts_ui && (!get(job, JobObjectBasicUIRestrictions, &ui, sizeof(ui)) ||
				 (ui.UIRestrictionsClass & UI) != UI))
		return fail_weaker("that of the clipboard and of windows", e);
	return 0;
}

static int set_limits(HANDLE job, const struct job_limits *in, struct err *e)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION asked = limits_as_asked(in);
	JOBOBJECT_BASIC_UI_RESTRICTIONS ui = { .UIRestrictionsClass = UI };

	if (!set(job, JobObjectExtendedLimitInformation, &asked, sizeof(asked)) ||
	    (in->restricts_ui && !set(job, JobObjectBasicUIRestrictions, &ui, sizeof(ui))))
		return FAIL_WINDOWS(e, GetLastError(), "can't set the limits of a job");
	return check(job, in, &asked, e);
}

int job_new(const struct job_limits *limits, struct job *out, struct err *e)
{
	struct job job = JOB_NONE;
	JOBOBJECT_ASSOCIATE_COMPLETION_PORT port;
	int r;

	job.handle = CreateJobObjectW(NULL, NULL);
	if (!job.handle)
		return FAIL_WINDOWS(e, GetLastError(), "can't make a job");
	job.port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
	port = (JOBOBJECT_ASSOCIATE_COMPLETION_PORT){ .CompletionKey = job.handle,
						      .CompletionPort = job.port };
	if (!job.port ||
	    !set(job.handle, JobObjectAssociateCompletionPortInformation, &port, sizeof(port)))
		r = FAIL_WINDOWS(e, GetLastError(), "can't make a job");
	else
		r = set_limits(job.handle, limits, e);
	if (r < 0) {
		job_done(&job);
		return r;
	}
	*out = job;
	return 0;
}

void job_done(struct job *job)
{
	if (job->handle)
		(void)CloseHandle(job->handle);
	if (job->port)
		(void)CloseHandle(job->port);
	*job = (struct job)JOB_NONE;
}

int job_add(const struct job *job, void *process, struct err *e)
{
	if (!AssignProcessToJobObject(job->handle, process))
		return FAIL_WINDOWS(e, GetLastError(), "can't put a process into a job");
	return 0;
}

void job_kill(const struct job *job, uint32_t status)
{
	if (job->handle)
		(void)TerminateJobObject(job->handle, status);
}

static enum job_event event_of(DWORD message)
{
	switch (message) {
	case JOB_OBJECT_MSG_ACTIVE_PROCESS_ZERO:
		return JOB_EMPTY;
	case JOB_OBJECT_MSG_JOB_MEMORY_LIMIT:
	case JOB_OBJECT_MSG_PROCESS_MEMORY_LIMIT:
		return JOB_MEMORY;
	case JOB_OBJECT_MSG_ACTIVE_PROCESS_LIMIT:
		return JOB_PROCESSES;
	default:
		return JOB_NOTHING;
	}
}

enum job_event job_wait(const struct job *job, uint32_t timeout_ms)
{
	ULONGLONG until = GetTickCount64() + timeout_ms;
	enum job_event found = JOB_NOTHING;
	DWORD left = timeout_ms;

	while (found == JOB_NOTHING) {
		DWORD message;
		ULONG_PTR key;
		OVERLAPPED *process;
		ULONGLONG now;

		if (!GetQueuedCompletionStatus(job->port, &message, &key, &process, left))
			break;
		found = event_of(message);
		now = GetTickCount64();
		left = timeout_ms == INFINITE ? INFINITE : until > now ? (DWORD)(until - now) : 0;
	}
	return found;
}

uint32_t job_count(const struct job *job)
{
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION is = { .ActiveProcesses = 0 };

	return get(job->handle, JobObjectBasicAccountingInformation, &is, sizeof(is))
		       ? is.ActiveProcesses
		       : UINT32_MAX;
}

bool job_get_usage(const struct job *job, struct job_usage *out)
{
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION is = { .ActiveProcesses = 0 };
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION memory = { .JobMemoryLimit = 0 };

	if (!get(job->handle, JobObjectBasicAccountingInformation, &is, sizeof(is)) ||
	    !get(job->handle, JobObjectExtendedLimitInformation, &memory, sizeof(memory)))
		return false;
	*out = (struct job_usage){
		.cpu_ms = (uint64_t)(is.TotalUserTime.QuadPart + is.TotalKernelTime.QuadPart) /
			  TICKS_PER_MS,
		.peak_kib = memory.PeakJobMemoryUsed / 1024,
		.started = is.TotalProcesses,
	};
	return true;
}
