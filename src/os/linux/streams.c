/* SPDX-License-Identifier: MIT */
/* See streams.h: what Linux has calls of its own for. */
#include "os/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/write_signals.h"

/* A pipe that can be written at all takes this much without waiting. */
enum { WRITE_BYTES = 4096 };

/*
 * An executable one may be forbidden on this host (vm.memfd_noexec), and kernels before 6.3 don't know
 * the flag of those that are not.
 */
static int make_memory(void)
{
	enum { CLOEXEC = 1, ALLOW_SEALING = 2, NOEXEC_SEAL = 8 };
	static const char name[] = "cordon-text";
	long fd = syscall(SYS_memfd_create, name, CLOEXEC | ALLOW_SEALING | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_memfd_create, name, CLOEXEC | ALLOW_SEALING);
	return (int)fd;
}

int os_open_text(const void *data, size_t bytes)
{
	const int seals = 0x1 | 0x2 | 0x4 | 0x8; /* F_SEAL_SEAL, SHRINK, GROW, WRITE */
	const int add_seals = 1033;		 /* F_ADD_SEALS */
	struct os_write_signals signals;
	int fd = make_memory(), error = 0;
	size_t done = 0;

	if (fd < 0)
		return -errno;
	/* `ulimit -f` applies to it, too, and would raise SIGXFSZ. */
	os_write_signals_block(&signals);
	while (done < bytes && !error) {
		ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)done);

		error = n < 0 ? errno : n == 0 ? EIO : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	os_write_signals_restore(&signals);
	if (!error && fcntl(fd, add_seals, seals) < 0)
		error = errno;
	if (error)
		fd_close(&fd);
	return error ? -error : fd;
}

ssize_t os_write_some(int fd, const void *data, size_t bytes)
{
	struct iovec all = { (void *)(uintptr_t)data, bytes };
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t n = syscall(SYS_pwritev2, fd, &all, 1, -1L, -1L, RWF_NOWAIT);

	/* As much as there is room for. What is no pipe or socket may know no such flag. */
	if (n >= 0)
		return n;
	if (poll(&room, 1, 0) == 0)
		return -EAGAIN;
	n = write(fd, data, MIN_OF(bytes, (size_t)WRITE_BYTES));
	return n < 0 ? -errno : n;
}
