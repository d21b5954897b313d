/* SPDX-License-Identifier: MIT */
/*
 * What the process gives up before it reads the first untrusted byte; see linux/lock.c.
 *
 * lock_begin(): descriptors, the terminal, and the arguments and environment of the program that it was
 * forked from. lock_finish(): all that a profile of Seatbelt can deny (seatbelt.h). Compiling a profile
 * allocates, which is sound in a forked process only because the program had no other thread
 * (os_may_fork()); OpenSSH's sshd has confined its forked half in this way for years.
 */
#include <crt_externs.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "proxy/seatbelt.h"
#include "proxy/server.h"

enum { WORDS_BYTES = 1 << 20 };

/* Of libSystem; no header of the system's declares it. 0, or -1 and a text. */
int sandbox_init_with_parameters(const char *profile, uint64_t flags,
				 const char *const parameters[], char **error);

static bool keep_only_channel(int *channel)
{
	int was = *channel;

	*channel = LOCK_CHANNEL;
	if (was != LOCK_CHANNEL && dup2(was, LOCK_CHANNEL) < 0)
		return false;
	return os_close_all_but((int[]){ LOCK_CHANNEL }, 1);
}

/* Those that lie where the kernel put them: from the first argument on, within what execve() takes. */
static void wipe_words(char **words, uintptr_t first)
{
	for (; *words; words++)
		if ((uintptr_t)*words - first < WORDS_BYTES)
			memset(*words, 0, strlen(*words));
}

static bool set_limits(void)
{
	const struct rlimit none = { .rlim_cur = 0 };
	struct rlimit files;

	if (setrlimit(RLIMIT_CORE, &none) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return false;
	files.rlim_cur = fd_limit();
	return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

int lock_begin(int *channel, const char **at)
{
	char **words = *_NSGetArgv();

	(void)setsid();
	*at = "close what is not its own";
	if (!keep_only_channel(channel))
		return -errno;
	/* What ps shows of this process, and nobody in it needs any more. */
	if (words[0]) {
		wipe_words(*_NSGetEnviron(), (uintptr_t)words[0]);
		wipe_words(words, (uintptr_t)words[0]);
	}
	*at = "set its limits";
	return chdir("/") < 0 || !set_limits() ? -errno : 0;
}

/* What the profile does not allow and everybody else may do. */
static bool may_read_root(void)
{
	int fd = open("/", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	fd_close(&fd);
	return true;
}

int lock_finish(const char **at)
{
	char *text = NULL;

	*at = "confine itself";
	if (!may_read_root())
		return -EACCES;
	if (sandbox_init_with_parameters(proxy_profile, 0, (const char *const[]){ NULL }, &text) !=
	    0)
		return -EPERM;
	/* SECURITY: a profile that was taken and does nothing is none. */
	*at = "confine itself: its profile has no effect";
	return may_read_root() ? -EPERM : 0;
}
