/* SPDX-License-Identifier: MIT */
/* Tries what each guarantee forbids; see probe.h. */
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "doctor/doctor.h"
#include "os/fd.h"
#include "os/os.h"
#include "policy/guarantee.h"

enum { SAID_MAX_BYTES = 4096, KEYCTL_GET_ID = 0, SESSION_KEYRING = -3 };

/*
 * SECURITY: a sandboxed command of the same user may be able to write to this directory, and the
 * probe also runs without a sandbox. So it follows no link and does not block. -1 with errno.
 */
static int open_above(const struct probe_facts *f, const char *name, const char **last)
{
	scoped_fd top = open(f->directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return top < 0 ? -1 : room_open_above(top, name, last);
}

static int open_below(const struct probe_facts *f, const char *name, int flags)
{
	const char *last;
	scoped_fd above = open_above(f, name, &last);

	return above < 0 ? -1
			 : openat(above, last, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* 0 or errno. */
static int try_open(const struct probe_facts *f, const char *name, int flags)
{
	int fd = open_below(f, name, flags);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* ---- Files ------------------------------------------------------------------------------- */

static int try_work(const struct probe_facts *f)
{
	const char *last;
	scoped_fd above = open_above(f, "work/made", &last);
	int error = try_open(f, "work/made", O_WRONLY | O_CREAT | O_EXCL);

	if (error == 0 && unlinkat(above, last, 0) < 0)
		error = errno;
	return error;
}

static int try_fs_write(const struct probe_facts *f)
{
	return try_open(f, "outside", O_WRONLY);
}

static int try_fs_read(const struct probe_facts *f)
{
	return try_open(f, "denied/file", O_RDONLY);
}

static int try_fs_carve(const struct probe_facts *f)
{
	return try_open(f, "work/carved", O_WRONLY);
}

static int try_fs_reopen(const struct probe_facts *f)
{
	return try_open(f, "denied/open/file", O_RDONLY);
}

static int try_protect_missing(const struct probe_facts *f)
{
	const char *last;
	scoped_fd above = open_above(f, "work/missing", &last);
	int error = 0;

	if (above < 0)
		return errno;
	if (mkdirat(above, last, 0700) < 0 || unlinkat(above, last, AT_REMOVEDIR) < 0)
		error = errno;
	/* A placeholder there has to deny writing, too. */
	return error == EEXIST ? try_open(f, "work/missing/made", O_WRONLY | O_CREAT | O_EXCL)
			       : error;
}

/* ---- Network and neighbours ---------------------------------------------------------------- */

static int try_connect(int family, const void *address, socklen_t bytes)
{
	const struct timeval patience = { .tv_usec = 500000 };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, address, bytes) < 0)
		error = errno;
	close(fd);
	return error;
}

static int try_net_off(const struct probe_facts *f)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)f->port),
					.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };

	return try_connect(AF_INET, &to, sizeof(to));
}

/* Whether the proxy, if there is one, opens a tunnel to the port. 0: it does. */
static int try_tunnel(long port)
{
	const struct timeval patience = { .tv_sec = 2 };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(3128),
					.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[128];
	ssize_t n = -1;
	int len = snprintf(text, sizeof(text),
			   "CONNECT 127.0.0.1:%ld HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n\r\n", port,
			   port);

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
	    send(fd, text, (size_t)len, MSG_NOSIGNAL) == len)
		n = recv(fd, text, sizeof(text), 0);
	close(fd);
	return n >= 12 && memcmp(text, "HTTP/1.1 200", 12) == 0 ? 0 : EACCES;
}

/* Connects to a port that no rule allows, directly and through the proxy. */
static int try_net_managed(const struct probe_facts *f)
{
	return try_net_off(f) == 0 ? 0 : try_tunnel(f->port);
}

/* The guarantee fails if either attempt succeeds. */
static int try_ipc(const struct probe_facts *f)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct shmid_ds about;
	size_t len = strlen(f->socket);

	if (shmctl((int)f->memory, IPC_STAT, &about) == 0)
		return 0;
	if (len + 1 > sizeof(to.sun_path))
		return ENAMETOOLONG;
	memcpy(to.sun_path + 1, f->socket, len);
	return try_connect(AF_UNIX, &to,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

void probe_born(long pid, char *out, size_t room)
{
	enum { FIELD = 22 };
	char path[64], text[1024];
	const char *at;
	size_t len;

	out[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (os_read_small(path, text, sizeof(text)) <= 0)
		return;
	/* Field 3 follows the last ')': the name may hold any character. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < FIELD; field++)
		at = strchr(at + 1, ' ');
	len = at ? strspn(at + 1, "0123456789") : 0;
	if (at && len < room)
		(void)snprintf(out, room, "%.*s", (int)len, at + 1);
}

static int try_proc(const struct probe_facts *f)
{
	char born[32];

	probe_born(f->pid, born, sizeof(born));
	/* In a pid namespace the pid may be another process. */
	if (born[0])
		return strcmp(born, f->born) == 0 ? 0 : ESRCH;
	return kill((pid_t)f->pid, 0) < 0 ? errno : 0;
}

/* ---- Kernel and death ----------------------------------------------------------------------- */

/* System calls that a filter refuses; the kernel itself would fail them with another errno. */
static int try_kernel(const struct probe_facts *f)
{
	(void)f;
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0 || errno == EFAULT || errno == EINVAL)
		return 0;
	if (syscall(SYS_keyctl, KEYCTL_GET_ID, SESSION_KEYRING, 0, 0, 0) >= 0 || errno == ENOKEY)
		return 0;
	return errno;
}

static _Noreturn void stay(const struct probe_facts *f, int tell)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	int fd = open_below(f, "work/" PROBE_LEFT_FILE, O_RDWR | O_CREAT);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_EX) < 0 || write(tell, "", 1) != 1)
		_exit(1);
	/* Close everything whose end the doctor waits for. */
	(void)syscall(SYS_close_range, 0U, (unsigned)fd - 1, 0U);
	for (int ms = 0; ms < PROBE_LEFT_MS && fstat(fd, &st) == 0 && st.st_nlink > 0; ms += 5)
		(void)nanosleep(&pause, NULL);
	_exit(0);
}

/* Leaves a process behind, in a process group and session of its own. */
static int try_tree_death(const struct probe_facts *f)
{
	int ends[2];
	char byte;
	pid_t pid;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return errno;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		(void)setsid();
		if (fork() == 0)
			stay(f, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	n = pid < 0 ? -1 : read(ends[0], &byte, 1);
	close(ends[0]);
	/* 0: it was started. The doctor checks whether it still lives. */
	return n == 1 ? 0 : EAGAIN;
}

/* ---- All of it ----------------------------------------------------------------------------- */

static int (*const attempts[GUARANTEE_COUNT])(const struct probe_facts *f) = {
	[G_FS_WRITE] = try_fs_write,
	[G_FS_READ] = try_fs_read,
	[G_FS_CARVE] = try_fs_carve,
	[G_FS_REOPEN] = try_fs_reopen,
	[G_PROTECT_MISSING] = try_protect_missing,
	[G_NET_OFF] = try_net_off,
	[G_NET_MANAGED] = try_net_managed,
	[G_IPC] = try_ipc,
	[G_PROC] = try_proc,
	[G_KERNEL] = try_kernel,
	[G_TREE_DEATH] = try_tree_death,
};

static void try_named(const struct probe_facts *f, const char *name, struct buf *out)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (attempts[g] && strcmp(name, guarantee_name((enum guarantee)g)) == 0)
			buf_printf(out, "%s %d\n", name, attempts[g](f));
	/* Without a network namespace, this would ask a proxy of the host. */
	if (strcmp(name, guarantee_name(G_NET_MANAGED)) == 0 && try_net_off(f) != 0)
		buf_printf(out, PROBE_OPEN " %d\n", try_tunnel(f->open_port));
}

int doctor_probe_main(int argc, char **argv)
{
	scoped_buf said = BUF_INIT(SAID_MAX_BYTES);
	struct probe_facts facts;

	if (argc <= PROBE_FACT_COUNT)
		return 125;
	facts = (struct probe_facts){ .directory = argv[1],
				      .port = strtol(argv[2], NULL, 10),
				      .open_port = strtol(argv[3], NULL, 10),
				      .socket = argv[4],
				      .memory = strtol(argv[5], NULL, 10),
				      .pid = strtol(argv[6], NULL, 10),
				      .born = argv[7] };
	buf_add_text(&said, PROBE_GREETING "\n");
	buf_printf(&said, PROBE_WORK " %d\n", try_work(&facts));
	for (int i = 1 + PROBE_FACT_COUNT; i < argc; i++)
		try_named(&facts, argv[i], &said);
	buf_add_text(&said, "end 0\n");
	return said.failed == ERR_OK && write(STDOUT_FILENO, said.p, said.len) == (ssize_t)said.len
		       ? 0
		       : 125;
}
