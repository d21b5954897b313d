/* SPDX-License-Identifier: MIT */
/* See native.h: what Linux keeps from a command beside files and the network. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "doctor/native.h"
#include "os/os.h"

enum { KEYCTL_GET_ID = 0, SESSION_KEYRING = -3 };

/* ---- Neighbours ------------------------------------------------------------------------------ */

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
	return probe_connect(AF_UNIX, &to,
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
	int fd = probe_open(f, "work/" PROBE_LEFT_FILE, O_RDWR | O_CREAT);
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

attempt_fn *native_attempt(enum guarantee g)
{
	static attempt_fn *const attempts[GUARANTEE_COUNT] = {
		[G_IPC] = try_ipc,
		[G_PROC] = try_proc,
		[G_KERNEL] = try_kernel,
		[G_TREE_DEATH] = try_tree_death,
	};

	return attempts[g];
}
