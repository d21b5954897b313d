/* SPDX-License-Identifier: MIT */
/* Attempts at the bytes of files: every way to read or change them, and inherited descriptors. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int write_mark(int fd)
{
	return outcome(write(fd, "EVIL", 4));
}

static int try_read(char **a)
{
	char text[2048];
	ssize_t length = read(must_open(a[0], O_RDONLY | O_NONBLOCK), text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	say("%s", text);
	return 0;
}

/* Looks for a text in a file with NUL bytes, as /proc/PID/environ is one. */
static int try_grep(char **a)
{
	static char text[1 << 20];
	int fd = must_open(a[0], O_RDONLY);
	size_t length = 0, size = strlen(a[1]);
	ssize_t got;

	while ((got = read(fd, text + length, sizeof(text) - length)) > 0)
		length += (size_t)got;
	if (got < 0)
		return -errno;
	return memmem(text, length, a[1], size) != NULL ? 0 : -ENODATA;
}

/* Only opens: for files in which no byte may be changed, not even for a control. */
static int try_open_read(char **a)
{
	return outcome(open(a[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static int try_open_write(char **a)
{
	return outcome(open(a[0], O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static int try_write(char **a)
{
	return write_mark(must_open(a[0], O_WRONLY));
}

static int try_append(char **a)
{
	return write_mark(must_open(a[0], O_WRONLY | O_APPEND));
}

static int try_open_trunc(char **a)
{
	return outcome(open(a[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

static int try_openat2_trunc(char **a)
{
	struct open_how how = { .flags = O_RDONLY | O_TRUNC | O_CLOEXEC };

	return outcome(syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how)));
}

static int try_pwritev2(char **a)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t) "EVIL", .iov_len = 4 };

	return outcome(syscall(SYS_pwritev2, must_open(a[0], O_RDWR), &part, 1, 0, 0, 0));
}

static int try_openat2_write(char **a)
{
	struct open_how how = { .flags = O_WRONLY };
	long fd = syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how));

	return fd < 0 ? -errno : write_mark((int)fd);
}

static int try_write_at(char **a)
{
	int fd = openat(must_open(a[0], O_PATH | O_DIRECTORY), a[1], O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : write_mark(fd);
}

static int try_truncate(char **a)
{
	return outcome(truncate(a[0], 1));
}

static int try_ftruncate(char **a)
{
	return outcome(ftruncate(must_open(a[0], O_RDWR), 1));
}

static int try_fallocate(char **a)
{
	return outcome(fallocate(must_open(a[0], O_RDWR), 0, 0, 100));
}

static int try_punch(char **a)
{
	return outcome(fallocate(must_open(a[0], O_RDWR),
				 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
}

static int try_mmap(char **a)
{
	char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, must_open(a[0], O_RDWR), 0);

	if (map == MAP_FAILED)
		return -errno;
	memcpy(map, "EVIL", 4);
	return outcome(msync(map, 4, MS_SYNC));
}

/* A descriptor for reading, opened again for writing by its name in /proc. */
static int try_reopen(char **a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", must_open(a[0], O_RDONLY));
	return write_mark(must_open(path, O_WRONLY));
}

static int try_reopen_path(char **a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", must_open(a[0], O_PATH));
	return write_mark(must_open(path, O_RDWR));
}

static int try_splice(char **a)
{
	int ends[2], to = must_open(a[0], O_WRONLY);

	if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], "EVIL", 4) != 4)
		return -errno;
	return outcome(splice(ends[0], NULL, to, NULL, 4, 0));
}

static int try_sendfile(char **a)
{
	int to = must_open(a[0], O_WRONLY);

	return outcome(sendfile(to, must_open(a[1], O_RDONLY), NULL, 4));
}

static int try_copy_file_range(char **a)
{
	int to = must_open(a[0], O_WRONLY);

	return outcome(copy_file_range(must_open(a[1], O_RDONLY), NULL, to, NULL, 4, 0));
}

static int try_clone_file(char **a)
{
	int to = must_open(a[0], O_WRONLY);

	return outcome(ioctl(to, FICLONE, must_open(a[1], O_RDONLY)));
}

/* ---- io_uring: the smallest ring that can open and write -------------------- */

struct ring {
	int fd;
	unsigned char *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
};

static int ring_start(struct ring *r)
{
	size_t sq_size, cq_size;

	memset(&r->params, 0, sizeof(r->params));
	r->fd = (int)syscall(SYS_io_uring_setup, 4, &r->params);
	if (r->fd < 0)
		return -errno;
	sq_size = r->params.sq_off.array + r->params.sq_entries * sizeof(uint32_t);
	cq_size = r->params.cq_off.cqes + r->params.cq_entries * sizeof(struct io_uring_cqe);
	r->sq = mmap(NULL, sq_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		     IORING_OFF_SQ_RING);
	r->cq = mmap(NULL, cq_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		     IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, r->params.sq_entries * sizeof(struct io_uring_sqe),
		       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	if (r->sq == MAP_FAILED || r->cq == MAP_FAILED || (void *)r->sqes == MAP_FAILED)
		return -errno;
	return 0;
}

static int ring_do(struct ring *r, const struct io_uring_sqe *sqe)
{
	uint32_t *tail = (uint32_t *)(void *)(r->sq + r->params.sq_off.tail);
	uint32_t mask = *(uint32_t *)(void *)(r->sq + r->params.sq_off.ring_mask);
	uint32_t *array = (uint32_t *)(void *)(r->sq + r->params.sq_off.array);
	uint32_t *head = (uint32_t *)(void *)(r->cq + r->params.cq_off.head);
	struct io_uring_cqe *cqes = (struct io_uring_cqe *)(void *)(r->cq + r->params.cq_off.cqes);
	int result;

	r->sqes[*tail & mask] = *sqe;
	array[*tail & mask] = *tail & mask;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	mask = *(uint32_t *)(void *)(r->cq + r->params.cq_off.ring_mask);
	result = cqes[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static int try_io_uring(char **a)
{
	struct io_uring_sqe open_it = { .opcode = IORING_OP_OPENAT,
					.fd = AT_FDCWD,
					.addr = (uint64_t)(uintptr_t)a[0],
					.open_flags = O_WRONLY };
	struct io_uring_sqe write_it = { .opcode = IORING_OP_WRITE,
					 .addr = (uint64_t)(uintptr_t) "EVIL",
					 .len = 4 };
	struct ring ring;
	int result = ring_start(&ring);

	if (result < 0)
		return result;
	result = ring_do(&ring, &open_it);
	if (result < 0)
		return result;
	write_it.fd = result;
	result = ring_do(&ring, &write_it);
	return result < 0 ? result : 0;
}

static int try_io_uring_setup(char **a)
{
	struct ring ring;

	(void)a;
	return ring_start(&ring);
}

/* ---- Inherited descriptors -------------------------------------------------- */

static int try_fds(char **a)
{
	(void)a;
	say("%s", open_at_start());
	return 0;
}

static int try_fd_write(char **a)
{
	return write_mark((int)number(a[0]));
}

static int try_fd_create_at(char **a)
{
	return outcome(
		openat((int)number(a[0]), a[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

static int try_fd_send(char **a)
{
	return outcome(send((int)number(a[0]), "EVIL", 4, MSG_NOSIGNAL));
}

/* A connected socket that was handed in: let go of its peer and aimed at another. */
static int try_fd_reconnect(char **a)
{
	int fd = (int)number(a[0]);
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	struct sockaddr_in other = { .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)number(a[1])) };

	other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)connect(fd, &nobody, sizeof(nobody));
	return outcome(connect(fd, (struct sockaddr *)&other, sizeof(other)));
}

/* The same, to wait for others on the host. */
static int try_fd_listen(char **a)
{
	int fd = (int)number(a[0]);
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	(void)connect(fd, &nobody, sizeof(nobody));
	return outcome(listen(fd, 1));
}

/* Standard input, output or error, opened again for writing. */
static int try_fd_reopen(char **a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%ld", number(a[0]));
	return write_mark(must_open(path, O_WRONLY));
}

/* Whether who reads from it waits. */
static int try_fd_blocks(char **a)
{
	int flags = fcntl((int)number(a[0]), F_GETFL);

	if (flags < 0)
		return -errno;
	return flags & O_NONBLOCK ? -EAGAIN : 0;
}

/* Of a directory that is standard input: up and out of it. */
static int try_fd_read_at(char **a)
{
	int fd = openat((int)number(a[0]), a[1], O_RDONLY | O_CLOEXEC);
	char text[256];
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	say("%s", text);
	return 0;
}

const struct attempt data_attempts[] = {
	{ "read", 1, try_read },
	{ "grep", 2, try_grep },
	{ "open-read", 1, try_open_read },
	{ "open-write", 1, try_open_write },
	{ "write", 1, try_write },
	{ "append", 1, try_append },
	{ "open-trunc", 1, try_open_trunc },
	{ "openat2-trunc", 1, try_openat2_trunc },
	{ "pwritev2", 1, try_pwritev2 },
	{ "openat2-write", 1, try_openat2_write },
	{ "write-at", 2, try_write_at },
	{ "truncate", 1, try_truncate },
	{ "ftruncate", 1, try_ftruncate },
	{ "fallocate", 1, try_fallocate },
	{ "punch", 1, try_punch },
	{ "mmap", 1, try_mmap },
	{ "reopen", 1, try_reopen },
	{ "reopen-path", 1, try_reopen_path },
	{ "splice", 1, try_splice },
	{ "sendfile", 2, try_sendfile },
	{ "copy-file-range", 2, try_copy_file_range },
	{ "clone-file", 2, try_clone_file },
	{ "io-uring", 1, try_io_uring },
	{ "io-uring-setup", 0, try_io_uring_setup },
	{ "fds", 0, try_fds },
	{ "fd-write", 1, try_fd_write },
	{ "fd-create-at", 2, try_fd_create_at },
	{ "fd-send", 1, try_fd_send },
	{ "fd-reconnect", 2, try_fd_reconnect },
	{ "fd-listen", 1, try_fd_listen },
	{ "fd-reopen", 1, try_fd_reopen },
	{ "fd-read-at", 2, try_fd_read_at },
	{ "fd-blocks", 1, try_fd_blocks },
	{ NULL, 0, NULL },
};
