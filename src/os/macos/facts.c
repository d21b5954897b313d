/* SPDX-License-Identifier: MIT */
/* What macOS says of this process and of others. */
#include <crt_externs.h>
#include <errno.h>
#include <libproc.h>
#include <stdio.h>
#include <string.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "os/arguments.h"
#include "os/outer_sandbox.h"
#include "os/posix/native.h"
#include "os/posix/path.h"

/* Of libSystem; no header declares it. 1: the process is in a sandbox of Seatbelt. */
int sandbox_check(pid_t pid, const char *operation, int type, ...);

const char os_system_name[] = "macos";

const char *const *os_environment(void)
{
	return (const char *const *)*_NSGetEnviron();
}

static bool look_at(pid_t pid, struct proc_bsdinfo *out)
{
	return proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, out, (int)sizeof(*out)) == (int)sizeof(*out);
}

pid_t os_parent_of(pid_t pid)
{
	struct proc_bsdinfo info;

	return look_at(pid, &info) ? (pid_t)info.pbi_ppid : 0;
}

bool native_read_start(pid_t pid, char name[NATIVE_NAME_BYTES], pid_t *parent,
		       unsigned long long *start)
{
	struct proc_bsdinfo info;

	if (!look_at(pid, &info))
		return false;
	(void)snprintf(name, NATIVE_NAME_BYTES, "%s", info.pbi_comm);
	*parent = (pid_t)info.pbi_ppid;
	*start = info.pbi_start_tvsec * 1000000 + info.pbi_start_tvusec;
	return true;
}

/* The kernel counts the threads of a process that run or want to. */
bool os_all_sleep(pid_t pid, int depth)
{
	pid_t children[64];
	struct proc_taskinfo task;
	int bytes, count;

	if (proc_pidinfo(pid, PROC_PIDTASKINFO, 0, &task, (int)sizeof(task)) == (int)sizeof(task) &&
	    task.pti_numrunning > 0)
		return false;
	if (depth <= 0)
		return true;
	bytes = proc_listchildpids(pid, children, (int)sizeof(children));
	count = bytes < 0 ? 0 : bytes < (int)COUNT_OF(children) ? bytes : (int)COUNT_OF(children);
	for (int i = 0; i < count; i++)
		if (!os_all_sleep(children[i], depth - 1))
			return false;
	return true;
}

int os_program_path(struct arena *a, struct str *out, struct err *e)
{
	char path[PROC_PIDPATHINFO_MAXSIZE];
	int n = proc_pidpath(getpid(), path, sizeof(path));

	if (n <= 0 && errno == ENOENT)
		return arena_copy(a, STR_EMPTY, out, e);
	/* SECURITY: without it Cordon can't protect its own program from the command (P25). */
	if (n <= 0)
		return FAIL_SYS(e, errno, "can't tell where this program is");
	return arena_copy(a, (struct str){ path, (size_t)n }, out, e);
}

bool os_is_filtered(void)
{
	return sandbox_check(getpid(), NULL, 0) != 0;
}

bool native_is_confined(void)
{
	return os_is_filtered();
}

struct str os_kernel_release(char *room, size_t size)
{
	size_t bytes = size;

	room[0] = '\0';
	if (sysctlbyname("kern.osrelease", room, &bytes, NULL, 0) < 0)
		room[0] = '\0';
	return str_of(room);
}

const char *os_outer_container(void)
{
	return NULL;
}

const struct os_outer_sandbox *os_outer_sandbox_find(void)
{
	static const struct os_outer_sandbox unknown = {
		"a sandbox of Seatbelt", "sandbox_check()",
		"sandbox-exec does not nest: run cordon outside of it"
	};
	const struct os_outer_sandbox *found;

	if (!native_is_confined())
		return NULL;
	found = os_outer_sandbox_recognise(os_environment(), true);
	return found ? found : &unknown;
}

/* Nothing shows a process's arguments to a command in the sandbox through files here. */
void os_note_arguments(char **argv)
{
	(void)argv;
}

int os_find_arguments(struct os_arguments *out)
{
	*out = (struct os_arguments){ NULL, 0 };
	return -EINVAL;
}

/* sandbox-exec starts the command itself: nothing of Cordon's is inside. */
bool os_can_be_inner(void)
{
	return false;
}
