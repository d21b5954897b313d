/* SPDX-License-Identifier: MIT */
/* What Linux says of this process and of others, mostly in /proc. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "os/outer_sandbox.h"
#include "os/posix/native.h"
#include "os/posix/path.h"

enum { FILTERED = 2 /* SECCOMP_MODE_FILTER */ };

const char os_system_name[] = "linux";

const char *const *os_environment(void)
{
	return (const char *const *)environ;
}

/* False: there is no such process. */
static bool read_stat(pid_t pid, char *state, pid_t *parent)
{
	char path[32], text[512];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (os_read_small(path, text, sizeof(text)) < 0)
		return false;
	/* "PID (NAME) STATE PARENT ...": the name may contain any bytes. */
	at = strrchr(text, ')');
	if (!at || strlen(at) <= 4)
		return false;
	*state = at[2];
	*parent = (pid_t)strtol(at + 4, NULL, 10);
	return true;
}

pid_t os_parent_of(pid_t pid)
{
	pid_t parent;
	char state;

	return read_stat(pid, &state, &parent) ? parent : 0;
}

/* In ticks since the boot. */
bool native_read_start(pid_t pid, char name[NATIVE_NAME_BYTES], pid_t *parent,
		       unsigned long long *start)
{
	enum { FIELDS_TO_START = 18 }; /* from that of the parent on */
	char path[64], text[1024], *from, *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (os_read_small(path, text, sizeof(text)) < 0)
		return false;
	from = strchr(text, '(');
	at = strrchr(text, ')');
	if (!from || !at || at < from || strlen(at) <= 4)
		return false;
	(void)snprintf(name, NATIVE_NAME_BYTES, "%.*s", (int)(at - from - 1), from + 1);
	at += 4;
	*parent = (pid_t)strtol(at, NULL, 10);
	for (int i = 0; at && i < FIELDS_TO_START; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	*start = at ? strtoull(at, NULL, 10) : 0;
	return at != NULL;
}

bool os_all_sleep(pid_t pid, int depth)
{
	char path[64], text[512], state, *at = text, *end;
	pid_t parent, child;

	if (read_stat(pid, &state, &parent) && (state == 'R' || state == 'D'))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (depth <= 0 || os_read_small(path, text, sizeof(text)) < 0)
		return true;
	for (; (child = (pid_t)strtol(at, &end, 10)) > 0 && end != at; at = end)
		if (!os_all_sleep(child, depth - 1))
			return false;
	return true;
}

int os_program_path(struct arena *a, struct str *out, struct err *e)
{
	static const struct str removed = STR_INIT(" (deleted)");
	char path[PATH_MAX_BYTES];
	struct os_file file;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	struct str found;

	/*
	 * SECURITY: fail if the path is unknown. Without it Cordon can't protect its own program
	 * from the command (P25), which could then replace it.
	 */
	if (n < 0)
		return FAIL_SYS(e, errno, "can't tell where this program is (is /proc mounted?)");
	if ((size_t)n == sizeof(path))
		return FAIL(e, ERR_LIMIT, "the path of this program has over %zu bytes",
			    sizeof(path) - 1);
	found = (struct str){ path, (size_t)n };
	if (str_has_suffix(found, removed)) {
		if (os_look(found, &file, e) < 0)
			return err_result(e);
		if (file.type == OS_MISSING)
			found = STR_EMPTY;
	}
	return arena_copy(a, found, out, e);
}

bool os_is_filtered(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == FILTERED;
}

/*
 * SECURITY: a personality can make uname() report 2.6 on any kernel. The file in /proc is slower to
 * read, but always has the true release.
 */
struct str os_kernel_release(char *room, size_t size)
{
	struct utsname system;
	ssize_t n;

	if (uname(&system) == 0 && system.release[0] &&
	    !str_has_prefix(str_of(system.release), STR("2.6."))) {
		(void)snprintf(room, size, "%s", system.release);
		return str_of(room);
	}
	n = os_read_small("/proc/sys/kernel/osrelease", room, size);
	return (struct str){ room, n > 0 ? (size_t)n : 0 };
}

/* ---- Who is around it --------------------------------------------------------------------------- */

static const struct os_outer_sandbox flatpak = {
	"a Flatpak", "/.flatpak-info",
	"run cordon on the host: flatpak-spawn --host cordon, or outside of the Flatpak"
};

bool native_is_confined(void)
{
	return os_is_filtered() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

const char *os_outer_container(void)
{
	if (access("/.dockerenv", F_OK) == 0)
		return "Docker's";
	return access("/run/.containerenv", F_OK) == 0 ? "Podman's" : NULL;
}

const struct os_outer_sandbox *os_outer_sandbox_find(void)
{
	bool is_confined = native_is_confined();

	if (is_confined && access(flatpak.mark, F_OK) == 0)
		return &flatpak;
	return os_outer_sandbox_recognise(os_environment(), is_confined);
}
