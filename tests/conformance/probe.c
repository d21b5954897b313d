/* SPDX-License-Identifier: MIT */
/* The probe's main program: runs the attempts and prints how each ended. See probe.h. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct attempt *const tables[] = { file_attempts,	  data_attempts,  system_attempts,
						process_attempts, ipc_attempts,	  socket_attempts,
						network_attempts, stream_attempts };

/* Shared with the process of the attempt: no descriptor is needed to tell the outcome. */
struct report {
	bool is_done;
	int outcome;
	size_t length;
	char text[1 << 15];
};
static struct report *report;

static char descriptors[1 << 15];

#define E(number)               \
	{                       \
		number, #number \
	}
static const struct {
	int number;
	const char *name;
} errors[] = {
	E(EPERM),	    E(ENOENT),	   E(ESRCH),	    E(EINTR),	     E(EIO),
	E(ENXIO),	    E(E2BIG),	   E(ENOEXEC),	    E(EBADF),	     E(ECHILD),
	E(EAGAIN),	    E(ENOMEM),	   E(EACCES),	    E(EFAULT),	     E(ENOTBLK),
	E(EBUSY),	    E(EEXIST),	   E(EXDEV),	    E(ENODEV),	     E(ENOTDIR),
	E(EISDIR),	    E(EINVAL),	   E(ENFILE),	    E(EMFILE),	     E(ENOTTY),
	E(ETXTBSY),	    E(EFBIG),	   E(ENOSPC),	    E(ESPIPE),	     E(EROFS),
	E(EMLINK),	    E(EPIPE),	   E(ENAMETOOLONG), E(ENOSYS),	     E(ENOTEMPTY),
	E(ELOOP),	    E(ENODATA),	   E(ENOPKG),	    E(EOVERFLOW),    E(ENOTSOCK),
	E(EDESTADDRREQ),    E(EMSGSIZE),   E(EPROTOTYPE),   E(ENOPROTOOPT),  E(EPROTONOSUPPORT),
	E(ESOCKTNOSUPPORT), E(EOPNOTSUPP), E(EPFNOSUPPORT), E(EAFNOSUPPORT), E(EADDRINUSE),
	E(EADDRNOTAVAIL),   E(ENETDOWN),   E(ENETUNREACH),  E(ECONNRESET),   E(EISCONN),
	E(ENOTCONN),	    E(ETIMEDOUT),  E(ECONNREFUSED), E(EHOSTUNREACH), E(EINPROGRESS),
	E(ESTALE),	    E(EDQUOT),	   E(ENOKEY),	    E(EKEYEXPIRED),  E(EUSERS),
	E(EIDRM),	    E(ENOMSG),	   E(ECONNABORTED), E(EDOM),
};
#undef E

static const char *error_name(int number)
{
	static char other[32];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return errors[i].name;
	(void)snprintf(other, sizeof(other), "E%d", number);
	return other;
}

int outcome(long result)
{
	return result < 0 ? -errno : 0;
}

void say(const char *format, ...)
{
	size_t room = sizeof(report->text) - report->length;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(report->text + report->length, room, format, list);
	va_end(list);
	if (length > 0)
		report->length += (size_t)length < room ? (size_t)length : room - 1;
}

static _Noreturn void end_attempt(int result)
{
	report->outcome = result;
	report->is_done = true;
	_exit(0);
}

long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 0);

	if (end == text || *end != '\0')
		end_attempt(-EDOM);
	return value;
}

int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		end_attempt(-errno);
	return fd;
}

const char *open_at_start(void)
{
	return descriptors;
}

static void note_descriptors(void)
{
	size_t length = 0;

	for (int fd = 3; fd < 5000; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && length < sizeof(descriptors) - 16)
			length += (size_t)sprintf(descriptors + length, "%d ", fd);
}

int run_attempt(char **args)
{
	int given = 0;

	while (args[given + 1] != NULL)
		given++;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct attempt *a = tables[t]; a->name != NULL; a++) {
			if (strcmp(a->name, args[0]) == 0)
				return a->count < 0 || given == a->count ? a->run(args + 1) : -EDOM;
		}
	}
	(void)fprintf(stderr, "probe: unknown attempt '%s'\n", args[0]);
	return -EDOM;
}

int run_attempt_apart(char **args)
{
	pid_t child;
	int result;

	report->is_done = false;
	child = fork();
	if (child == 0)
		end_attempt(run_attempt(args));
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		return -errno;
	result = report->is_done ? report->outcome : -EINTR;
	report->is_done = false;
	return result;
}

static void print_outcome(int status)
{
	if (WIFSIGNALED(status)) {
		printf("signal %d\n", WTERMSIG(status));
	} else if (!report->is_done) {
		printf("exit %d\n", WEXITSTATUS(status));
	} else if (report->outcome < 0) {
		printf("%s\n", error_name(-report->outcome));
	} else {
		printf(report->length > 0 ? "OK " : "OK");
		for (size_t i = 0; i < report->length; i++) {
			unsigned char c = (unsigned char)report->text[i];

			if (c >= ' ' && c < 0x7f && c != '\\')
				putchar(c);
			else
				printf("\\x%02x", c);
		}
		putchar('\n');
	}
	(void)fflush(stdout);
}

static void try(char **args)
{
	int status = 0;
	pid_t child;

	memset(report, 0, sizeof(*report));
	child = fork();
	if (child == 0) {
		end_attempt(run_attempt(args));
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("probe: fork");
		exit(99);
	}
	print_outcome(status);
}

/*
 * Starts a program on a kernel that seems to have no Landlock: does what mounts
 * alone have to hold still hold?
 */
static int run_without_landlock(char **argv)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 444 /* landlock_create_ruleset */, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 446 /* landlock_restrict_self */, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(insns) / sizeof(insns[0]), insns };

	if (argv[0] == NULL || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 || execv(argv[0], argv) < 0)
		perror("probe: without Landlock");
	return 99;
}

int main(int argc, char **argv)
{
	int first = 1;

	if (argc > 1 && strcmp(argv[1], "--without-landlock") == 0)
		return run_without_landlock(argv + 2);

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "fds") == 0)
			note_descriptors();
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED || argc < 2) {
		(void)fprintf(stderr, "usage: probe ATTEMPT ARG... [';' ATTEMPT ARG...]...\n");
		return 99;
	}
	for (int i = 1; i <= argc; i++) {
		if (i < argc && strcmp(argv[i], ";") != 0)
			continue;
		argv[i] = NULL;
		if (i > first)
			try(argv + first);
		first = i + 1;
	}
	return 0;
}
