/* SPDX-License-Identifier: MIT */
/*
 * See os/child.h. Windows can't copy a process: who wants a helper is refused, and says what it can't do then. Of
 * processes that were started otherwise (process.h) a HANDLE_PROCESS is what a pidfd is elsewhere.
 */
#include "os/child.h"

#include <errno.h>

#include "os/socket.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/process.h"

pid_t os_fork_helper(const struct os_helper *helper, int *pidfd)
{
	(void)helper;
	*pidfd = -1;
	errno = ENOSYS;
	return -1;
}

pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd)
{
	(void)flags;
	(void)body;
	(void)arg;
	*pidfd = -1;
	errno = ENOSYS;
	return -1;
}

bool os_may_fork(void)
{
	return false;
}

/* The parent lives when it is asked: it waits for this process to begin. */
int os_open_parent(pid_t parent)
{
	HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)parent);

	return handle ? handle_add(HANDLE_PROCESS, handle) : error_set(GetLastError());
}

/* Nothing is cancelled in a copy that there is not. */
void os_disable_cancel(void)
{
}

int os_open_self(void)
{
	HANDLE own;

	if (!DuplicateHandle(GetCurrentProcess(), GetCurrentProcess(), GetCurrentProcess(), &own, 0,
			     FALSE, DUPLICATE_SAME_ACCESS))
		return error_set(GetLastError());
	return handle_add(HANDLE_PROCESS, own);
}

static bool is_process(int pidfd)
{
	return handle_kind(pidfd) == HANDLE_PROCESS;
}

void os_kill(int pidfd, int number)
{
	(void)number;
	os_end(pidfd);
}

void os_end(int pidfd)
{
	enum { KILLED = 128 + 9 };

	if (is_process(pidfd))
		(void)TerminateProcess(handle_get(pidfd), KILLED);
}

int os_reap(int pidfd)
{
	uint32_t status;

	if (!is_process(pidfd) ||
	    WaitForSingleObject(handle_get(pidfd), INFINITE) != WAIT_OBJECT_0 ||
	    !process_status(handle_get(pidfd), &status))
		return -1;
	return (int)status;
}

/* Nothing waits for a socket and a process at once: the process is looked at now and then. */
bool os_await_child(int channel, int pidfd, int timeout_ms)
{
	enum { LOOK_MS = 20 };
	bool has_ended = false, is_ready;

	do {
		is_ready = socket_wait(channel, false, MIN_OF(timeout_ms, (int)LOOK_MS));
		if (is_ready || has_ended)
			return is_ready;
		has_ended = !is_process(pidfd) ||
			    WaitForSingleObject(handle_get(pidfd), 0) == WAIT_OBJECT_0;
		timeout_ms -= MIN_OF(timeout_ms, (int)LOOK_MS);
	} while (timeout_ms > 0 || has_ended);
	return true;
}

bool os_await_parent(int channel, int parent)
{
	(void)channel;
	(void)parent;
	return false;
}

void os_exit(int status)
{
	ExitProcess((UINT)status);
}

pid_t os_own_pid(void)
{
	return (pid_t)GetCurrentProcessId();
}
