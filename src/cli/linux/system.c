/* SPDX-License-Identifier: MIT */
/* See cli/posix/signal_fd.h. */
#include "cli/posix/signal_fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

const int open_directory_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

int signal_fd_open(const sigset_t *set)
{
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool signal_fd_take(int fd, int *number, bool *is_typed)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	*number = (int)info.ssi_signo;
	if (is_typed)
		*is_typed = info.ssi_code == SI_KERNEL;
	return true;
}

void forbid_core(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
}

void wipe(void *memory, size_t bytes)
{
	explicit_bzero(memory, bytes);
}
