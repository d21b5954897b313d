/* SPDX-License-Identifier: MIT */
/* See pty.h: what is the same on every system. */
#include "os/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "os/fd.h"

_Static_assert(sizeof(struct termios) <= sizeof(((struct terminal_attributes *)NULL)->bytes),
	       "no room for them");

/* ---- The pty ------------------------------------------------------------------------------ */

void os_pty_close(struct os_pty *pty)
{
	fd_close(&pty->master);
	fd_close(&pty->slave);
}

/* ---- Any terminal -------------------------------------------------------------------------- */

int os_tty_open(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool os_tty_lock(int lock, bool alone)
{
	return flock(lock, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
}

void os_tty_unlock(int lock)
{
	(void)flock(lock, LOCK_UN);
}

bool os_tty_get_size(int terminal, struct os_tty_size *out)
{
	struct winsize size;

	if (ioctl(terminal, TIOCGWINSZ, &size) < 0)
		return false;
	*out = (struct os_tty_size){ size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel };
	return true;
}

void os_tty_set_size(int terminal, const struct os_tty_size *size)
{
	const struct winsize wanted = { size->rows, size->columns, size->width, size->height };

	(void)ioctl(terminal, TIOCSWINSZ, &wanted);
}

/* What a process in the background does with its terminal would stop it. */
struct blocked {
	sigset_t before;
};

static void block(struct blocked *b)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGTTIN);
	pthread_sigmask(SIG_BLOCK, &set, &b->before);
}

static void restore(const struct blocked *b)
{
	int code = errno;

	pthread_sigmask(SIG_SETMASK, &b->before, NULL);
	errno = code;
}

int os_tty_get(int terminal, struct terminal_attributes *out)
{
	struct termios attributes;

	if (tcgetattr(terminal, &attributes) < 0)
		return -errno;
	memset(out, 0, sizeof(*out));
	memcpy(out->bytes, &attributes, sizeof(attributes));
	return 0;
}

static struct termios unpack(const struct terminal_attributes *a)
{
	struct termios out;

	memcpy(&out, a->bytes, sizeof(out));
	return out;
}

int os_tty_set(int terminal, const struct terminal_attributes *attributes)
{
	const struct termios wanted = unpack(attributes);
	struct blocked blocked;
	int r;

	block(&blocked);
	do
		r = tcsetattr(terminal, TCSANOW, &wanted);
	while (r < 0 && errno == EINTR);
	restore(&blocked);
	return r < 0 ? -errno : 0;
}

void os_tty_make_raw(struct terminal_attributes *attributes)
{
	struct termios t = unpack(attributes);

	t.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | INPCK | ISTRIP | INLCR | IGNCR | ICRNL |
				 IXON | IXOFF);
	t.c_oflag &= ~(tcflag_t)OPOST;
	t.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	memcpy(attributes->bytes, &t, sizeof(t));
}

bool os_tty_are_equal(const struct terminal_attributes *a, const struct terminal_attributes *b)
{
	const struct termios x = unpack(a), y = unpack(b);

	return x.c_iflag == y.c_iflag && x.c_oflag == y.c_oflag && x.c_cflag == y.c_cflag &&
	       x.c_lflag == y.c_lflag && memcmp(x.c_cc, y.c_cc, sizeof(x.c_cc)) == 0;
}

bool os_tty_is_stop_key(const struct terminal_attributes *attributes, char byte)
{
	const struct termios t = unpack(attributes);

	return (t.c_lflag & ISIG) && t.c_cc[VSUSP] != _POSIX_VDISABLE &&
	       t.c_cc[VSUSP] == (cc_t)byte;
}

ssize_t os_tty_read(int terminal, void *data, size_t room)
{
	struct blocked blocked;
	ssize_t n;

	block(&blocked);
	do
		n = read(terminal, data, room);
	while (n < 0 && errno == EINTR);
	restore(&blocked);
	return n < 0 ? -errno : n;
}

ssize_t os_tty_write(int terminal, const void *data, size_t bytes)
{
	struct blocked blocked;
	ssize_t n;

	block(&blocked);
	do
		n = write(terminal, data, bytes);
	while (n < 0 && errno == EINTR);
	restore(&blocked);
	return n < 0 ? -errno : n;
}

bool os_tty_discard(int terminal)
{
	struct pollfd input = { .fd = terminal, .events = POLLIN };
	bool has_some = poll(&input, 1, 0) == 1 && input.revents == POLLIN;
	struct blocked blocked;

	block(&blocked);
	(void)tcflush(terminal, TCIFLUSH);
	restore(&blocked);
	return has_some;
}
