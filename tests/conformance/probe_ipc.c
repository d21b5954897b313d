/* SPDX-License-Identifier: MIT */
/* Attempts at memory, queues and keys that are shared by name, not through files. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try_shm(char **a)
{
	return outcome(shmget((key_t)number(a[0]), 0, 0));
}

static int try_shm_new(char **a)
{
	int id = shmget((key_t)number(a[0]), 4096, IPC_CREAT | IPC_EXCL | 0600);

	return id < 0 ? -errno : outcome(shmctl(id, IPC_RMID, NULL));
}

static int try_shm_id(char **a)
{
	void *at = shmat((int)number(a[0]), NULL, SHM_RDONLY);

	return at == (void *)-1 ? -errno : 0;
}

static int try_msg(char **a)
{
	return outcome(msgget((key_t)number(a[0]), 0));
}

static int try_msg_new(char **a)
{
	int id = msgget((key_t)number(a[0]), IPC_CREAT | IPC_EXCL | 0600);

	return id < 0 ? -errno : outcome(msgctl(id, IPC_RMID, NULL));
}

static int try_sem(char **a)
{
	return outcome(semget((key_t)number(a[0]), 0, 0));
}

static int try_sem_new(char **a)
{
	int id = semget((key_t)number(a[0]), 1, IPC_CREAT | IPC_EXCL | 0600);

	return id < 0 ? -errno : outcome(semctl(id, 0, IPC_RMID));
}

/* For a driver: makes the objects of this key and prints the id of the memory. */
static int try_ipc_make(char **a)
{
	key_t key = (key_t)number(a[0]);
	int id = shmget(key, 4096, IPC_CREAT | 0600);

	if (id < 0 || msgget(key, IPC_CREAT | 0600) < 0 || semget(key, 1, IPC_CREAT | 0600) < 0)
		return -errno;
	say("%d", id);
	return 0;
}

static int try_ipc_remove(char **a)
{
	key_t key = (key_t)number(a[0]);

	(void)shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
	(void)msgctl(msgget(key, 0), IPC_RMID, NULL);
	(void)semctl(semget(key, 0, 0), 0, IPC_RMID);
	return 0;
}

static int try_mq(char **a)
{
	return outcome(mq_open(a[0], O_RDONLY));
}

static int try_mq_make(char **a)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };

	return outcome(mq_open(a[0], O_RDWR | O_CREAT | O_EXCL, 0600, &attr));
}

static int try_mq_remove(char **a)
{
	return outcome(mq_unlink(a[0]));
}

static int try_posix_shm(char **a)
{
	return outcome(shm_open(a[0], O_RDONLY, 0));
}

static int try_posix_shm_make(char **a)
{
	return outcome(shm_open(a[0], O_RDWR | O_CREAT | O_EXCL, 0600));
}

static int try_posix_shm_remove(char **a)
{
	return outcome(shm_unlink(a[0]));
}

static int try_add_key(char **a)
{
	return outcome(syscall(SYS_add_key, "user", a[0], "x", 1, KEY_SPEC_PROCESS_KEYRING));
}

static int try_keyctl(char **a)
{
	(void)a;
	return outcome(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1));
}

/* A key that does not exist: ENOKEY where keys are looked for at all. */
static int try_request_key(char **a)
{
	return outcome(syscall(SYS_request_key, "user", a[0], NULL, 0));
}

const struct attempt ipc_attempts[] = {
	{ "shm", 1, try_shm },
	{ "shm-new", 1, try_shm_new },
	{ "shm-id", 1, try_shm_id },
	{ "msg", 1, try_msg },
	{ "msg-new", 1, try_msg_new },
	{ "sem", 1, try_sem },
	{ "sem-new", 1, try_sem_new },
	{ "ipc-make", 1, try_ipc_make },
	{ "ipc-remove", 1, try_ipc_remove },
	{ "mq", 1, try_mq },
	{ "mq-make", 1, try_mq_make },
	{ "mq-remove", 1, try_mq_remove },
	{ "posix-shm", 1, try_posix_shm },
	{ "posix-shm-make", 1, try_posix_shm_make },
	{ "posix-shm-remove", 1, try_posix_shm_remove },
	{ "add-key", 1, try_add_key },
	{ "keyctl", 0, try_keyctl },
	{ "request-key", 1, try_request_key },
	{ NULL, 0, NULL },
};
