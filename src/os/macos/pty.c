/* SPDX-License-Identifier: MIT */
/* See pty.h: ptys, and the devices behind terminals. */
#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "os/fd.h"

static bool set_up(int fd, int status)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, status) == 0;
}

int os_pty_open(struct os_pty *out)
{
	struct os_pty pty = OS_PTY_NONE;

	pty.master = posix_openpt(O_RDWR | O_NOCTTY);
	if (pty.master < 0)
		return -errno;
	if (set_up(pty.master, O_RDWR | O_NONBLOCK) && grantpt(pty.master) == 0 &&
	    unlockpt(pty.master) == 0 && ptsname_r(pty.master, pty.path, sizeof(pty.path)) == 0) {
		pty.slave = open(pty.path, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (pty.slave >= 0) {
			*out = pty;
			return 0;
		}
	}
	{
		int code = errno;

		os_pty_close(&pty);
		return -code;
	}
}

/* A terminal belongs to one session at most, and tcgetsid() knows no other than this process's own. */
bool os_tty_is(int fd, int terminal)
{
	pid_t session = tcgetsid(fd);

	return session > 0 && session == tcgetsid(terminal);
}

int os_tty_open_lock(int terminal, const char *path)
{
	struct proc_bsdinfo own;
	char name[64], device[80];
	struct stat st;
	int fd;

	if (tcgetsid(terminal) > 0 &&
	    proc_pidinfo(getpid(), PROC_PIDTBSDINFO, 0, &own, (int)sizeof(own)) ==
		    (int)sizeof(own) &&
	    devname_r((dev_t)own.e_tdev, S_IFCHR, name, (int)sizeof(name))) {
		(void)snprintf(device, sizeof(device), "/dev/%s", name);
		path = device;
	} else {
		own.e_tdev = 0;
	}
	fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    (own.e_tdev == 0 || st.st_rdev == (dev_t)own.e_tdev))
		return fd;
	fd_close(&fd);
	return -ENOENT;
}
