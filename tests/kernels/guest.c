/* SPDX-License-Identifier: MIT */
/*
 * What the guest needs besides the probe and a shell:
 *
 *	guest as ID COMMAND...		runs COMMAND as this user and group, and no other
 *	guest neighbour PATH NAME PORT	a process outside of every sandbox: it listens on
 *					a unix socket, an abstract one and the loopback, has
 *					System V memory by the key PORT, and stays
 *	guest landlock			the ABI of Landlock, or the error
 */
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 99;
}

static int run_as(char **argv)
{
	unsigned id = (unsigned)strtoul(argv[0], NULL, 10);

	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0)
		return fail("guest: as");
	execvp(argv[1], argv + 1);
	return fail(argv[1]);
}

static int listen_unix(const char *name, size_t hidden)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path + hidden, name, length);
	length += offsetof(struct sockaddr_un, sun_path) + hidden;
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, (socklen_t)length) < 0)
		return -1;
	return listen(fd, 100) < 0 ? -1 : fd;
}

static int listen_loopback(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return listen(fd, 100) < 0 ? -1 : fd;
}

static int be_neighbour(char **argv)
{
	int port = (int)strtol(argv[2], NULL, 10);
	struct pollfd fds[] = { { .fd = listen_unix(argv[0], 0), .events = POLLIN },
				{ .fd = listen_unix(argv[1], 1), .events = POLLIN },
				{ .fd = listen_loopback(port), .events = POLLIN } };

	if (fds[0].fd < 0 || fds[1].fd < 0 || fds[2].fd < 0 ||
	    shmget(port, 4096, IPC_CREAT | 0600) < 0)
		return fail("guest: neighbour");
	puts("ready");
	(void)fflush(stdout);
	/* What connects is kept: who was refused later would look as if nobody had listened. */
	while (poll(fds, 3, -1) >= 0 || errno == EINTR)
		for (int i = 0; i < 3; i++)
			if (fds[i].revents && accept(fds[i].fd, NULL, NULL) < 0)
				return fail("guest: accept");
	return fail("guest: poll");
}

static int tell_landlock(void)
{
	long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1 /* its version */);

	if (abi >= 0)
		printf("%ld\n", abi);
	else
		puts(errno == ENOSYS ? "ENOSYS" : errno == EOPNOTSUPP ? "EOPNOTSUPP" : "error");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && strcmp(argv[1], "as") == 0)
		return run_as(argv + 2);
	if (argc == 5 && strcmp(argv[1], "neighbour") == 0)
		return be_neighbour(argv + 2);
	if (argc == 2 && strcmp(argv[1], "landlock") == 0)
		return tell_landlock();
	return 99;
}
