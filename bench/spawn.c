/* SPDX-License-Identifier: MIT */
/*
 * Times whole programs against each other, in turns: absolute times mean
 * nothing on a shared machine, ratios within one run do.
 *
 *	spawn ROUNDS COMMAND [ARG...] [-- COMMAND [ARG...]]...
 *
 * Each round starts every command once, beginning with another one each time,
 * and waits for it. One JSON line a command: minimum, median and 90th
 * percentile in microseconds from before the spawn to after the wait, and the
 * peak resident memory, from one more run that is stopped at its exit: getrusage
 * would count the memory that the child shared with this program before exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 16, ROUNDS_MAX = 100000 };

struct timed {
	char **argv;
	double *microseconds;
	long peak_kib;
};

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Starts one command with its output thrown away; false when it did not end with 0. */
static int run_once(struct timed *c, const posix_spawn_file_actions_t *quiet, double *out)
{
	double begin = now_us();
	pid_t pid;
	int status;
	int r = posix_spawn(&pid, c->argv[0], quiet, NULL, c->argv, environ);

	if (r != 0) {
		(void)fprintf(stderr, "spawn: %s: %s\n", c->argv[0], strerror(r));
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	*out = now_us() - begin;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		(void)fprintf(stderr, "spawn: %s ended with status 0x%x\n", c->argv[0],
			      (unsigned)status);
		return -1;
	}
	return 0;
}

/* "VmHWM:  1234 kB" of a stopped process; -1 when it can't be read. */
static long read_peak(pid_t pid)
{
	char line[256];
	long kib = -1;
	FILE *f;

	(void)snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

static long measure_peak(struct timed *c)
{
	long kib = -1;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		if (dup2(null, 1) == 1 && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			(void)execv(c->argv[0], c->argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
	(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	if (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		kib = read_peak(pid);
		(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
		(void)waitpid(pid, &status, 0);
	}
	return kib;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* How many there are; 0 when one of them is empty. */
static size_t split_commands(char **argv, struct timed *commands)
{
	size_t count = 0;

	while (*argv && count < COMMANDS_MAX) {
		if (strcmp(*argv, "--") == 0)
			return 0;
		commands[count++].argv = argv++;
		while (*argv && strcmp(*argv, "--") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
	return count;
}

int main(int argc, char **argv)
{
	static struct timed commands[COMMANDS_MAX];
	posix_spawn_file_actions_t quiet;
	size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	size_t count = argc > 2 ? split_commands(argv + 2, commands) : 0;

	if (rounds == 0 || rounds > ROUNDS_MAX || count == 0) {
		(void)fprintf(stderr, "usage: spawn ROUNDS COMMAND [ARG...] [-- COMMAND...]...\n");
		return 2;
	}
	if (posix_spawn_file_actions_init(&quiet) != 0 ||
	    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) != 0)
		return 2;
	for (size_t i = 0; i < count; i++) {
		commands[i].microseconds = calloc(rounds, sizeof(double));
		if (!commands[i].microseconds)
			return 2;
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t k = 0; k < count; k++) {
			struct timed *c = &commands[(round + k) % count];

			if (run_once(c, &quiet, &c->microseconds[round]) < 0)
				return 1;
		}
	for (size_t i = 0; i < count; i++) {
		double *t = commands[i].microseconds;

		commands[i].peak_kib = measure_peak(&commands[i]);
		qsort(t, rounds, sizeof(*t), by_value);
		(void)printf("{\"command\": \"%s\", \"rounds\": %zu, \"min_us\": %.1f, "
			     "\"median_us\": %.1f, \"p90_us\": %.1f, \"peak_kib\": %ld}\n",
			     commands[i].argv[0], rounds, t[0], t[rounds / 2], t[rounds * 9 / 10],
			     commands[i].peak_kib);
		free(t);
	}
	(void)posix_spawn_file_actions_destroy(&quiet);
	return 0;
}
