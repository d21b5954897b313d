/* SPDX-License-Identifier: MIT */
/* See pty.h: ptys, and the devices behind terminals. */
#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PTY_MAJOR = 136 }; /* of the ends that programs have */

static int open_slave(int master)
{
	const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
	int fd = ioctl(master, TIOCGPTPEER, flags);
	char path[64];

	if (fd >= 0)
		return fd;
	/* Before Linux 4.13. */
	return ptsname_r(master, path, sizeof(path)) == 0 ? open(path, flags) : -1;
}

int os_pty_open(struct os_pty *out)
{
	const int unlocked = 0;
	struct os_pty pty = OS_PTY_NONE;
	int code;

	pty.master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (pty.master < 0)
		return -errno;
	if (ioctl(pty.master, TIOCSPTLCK, &unlocked) == 0)
		pty.slave = open_slave(pty.master);
	code = pty.slave < 0 ? errno : 0;
	/* In a container it may be of a devpts that is mounted elsewhere. */
	if (!code && ttyname_r(pty.slave, pty.path, sizeof(pty.path)) != 0)
		code = ENXIO;
	if (code) {
		os_pty_close(&pty);
		return -code;
	}
	*out = pty;
	return 0;
}

bool os_tty_is(int fd, int terminal)
{
	unsigned here, there;

	/* The raw call: the C libraries differ in the type of a request. */
	return syscall(SYS_ioctl, fd, TIOCGDEV, &here) == 0 &&
	       syscall(SYS_ioctl, terminal, TIOCGDEV, &there) == 0 && here == there;
}

static bool find_device(int terminal, dev_t *out)
{
	unsigned packed;

	if (syscall(SYS_ioctl, terminal, TIOCGDEV, &packed) < 0)
		return false;
	/* As the kernel packs it: 12 bits of the major number amid 20 of the minor one. */
	*out = makedev(packed >> 8 & 0xfff, (packed & 0xff) | (packed >> 12 & 0xfff00));
	return true;
}

int os_tty_open_lock(int terminal, const char *path)
{
	char own[32];
	struct stat st;
	dev_t device;
	int fd;

	if (!find_device(terminal, &device))
		return -ENOTTY;
	if (major(device) == PTY_MAJOR) {
		(void)snprintf(own, sizeof(own), "/dev/pts/%u", minor(device));
		path = own;
	}
	fd = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == device)
		return fd;
	(void)close(fd);
	return -ENOENT;
}
