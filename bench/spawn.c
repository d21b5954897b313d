/* SPDX-License-Identifier: MIT */
/*
 * Times whole programs against each other, in turns: absolute times mean
 * nothing on a shared machine, ratios within one run do.
 *
 *	spawn [-a] [-n AT_ONCE] ROUNDS COMMAND [ARG...] [--- COMMAND [ARG...]]...
 *
 * Each round starts every command once (AT_ONCE times, at the same time), in
 * another order each time, and waits for it. One JSON line a
 * command: minimum, median and 90th percentile in microseconds from before the
 * first spawn to after the last wait, and what one more run shows that is
 * traced to its end: the peak resident memory of the program itself (getrusage
 * would count the memory that the child shared with this program before exec),
 * and how many programs were executed and how many processes there were in all
 * that it started. -1 where the traced run did not end as the timed ones did:
 * a set-id program has no rights when it is traced. With -a, the times of all
 * rounds in their order instead of that run.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 32, ROUNDS_MAX = 100000, AT_ONCE_MAX = 1000 };

struct timed {
	char **argv;
	double *microseconds;
	long peak_kib, execs, processes;
};

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- Timing -------------------------------------------------------------- */

/* Output is thrown away. */
static int start(const struct timed *c, const posix_spawn_file_actions_t *quiet, pid_t *pid)
{
	int r = posix_spawn(pid, c->argv[0], quiet, NULL, c->argv, environ);

	if (r != 0)
		(void)fprintf(stderr, "spawn: %s: %s\n", c->argv[0], strerror(r));
	return r == 0 ? 0 : -1;
}

/* -1 when it did not end with 0. */
static int await(const struct timed *c, pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	(void)fprintf(stderr, "spawn: %s ended with status 0x%x\n", c->argv[0], (unsigned)status);
	return -1;
}

static int run_once(const struct timed *c, size_t at_once, const posix_spawn_file_actions_t *quiet,
		    double *out)
{
	static pid_t pids[AT_ONCE_MAX];
	double begin = now_us();
	size_t started = 0;
	int r = 0;

	while (started < at_once && r == 0) {
		r = start(c, quiet, &pids[started]);
		if (r == 0)
			started++;
	}
	for (size_t i = 0; i < started; i++)
		if (await(c, pids[i]) < 0)
			r = -1;
	*out = now_us() - begin;
	return r;
}

/* ---- Looking at one run -------------------------------------------------- */

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

/* Starts a command that stops at its first instruction. */
static pid_t start_traced(const struct timed *c)
{
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
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC |
			   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE) != 0)
		return -1;
	(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	return pid;
}

/* One stop of one process; gives the signal that it has to be continued with. */
static int note_stop(struct timed *c, pid_t pid, pid_t first, int status)
{
	switch (status >> 16) {
	case PTRACE_EVENT_EXEC:
		c->execs++;
		return 0;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		c->processes++;
		return 0;
	case PTRACE_EVENT_EXIT:
		if (pid == first)
			c->peak_kib = read_peak(pid);
		return 0;
	default:
		/* New tracees begin with SIGSTOP. */
		return WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
	}
}

static void trace(struct timed *c)
{
	pid_t first = start_traced(c), pid;
	int status, ending = -1;

	c->execs = c->processes = 1;
	while (first > 0 && (pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			/* A pointer-sized signal number is how ptrace() takes it. */
			uintptr_t with = (uintptr_t)note_stop(c, pid, first, status);

			(void)ptrace(PTRACE_CONT, pid, NULL, with);
		} else if (pid == first) {
			ending = status;
		}
	}
	if (ending != 0)
		c->peak_kib = c->execs = c->processes = -1;
}

/* ---- Main ---------------------------------------------------------------- */

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
		if (strcmp(*argv, "---") == 0)
			return 0;
		commands[count++].argv = argv++;
		while (*argv && strcmp(*argv, "---") != 0)
			argv++;
		if (*argv)
			*argv++ = NULL;
	}
	return *argv ? 0 : count;
}

static void print_all(const struct timed *c, size_t rounds)
{
	(void)printf("{\"command\": \"%s\", \"rounds\": %zu, \"all_us\": [", c->argv[0], rounds);
	for (size_t i = 0; i < rounds; i++)
		(void)printf("%s%.1f", i == 0 ? "" : ", ", c->microseconds[i]);
	(void)printf("]}\n");
}

static void print_summary(const struct timed *c, size_t rounds)
{
	double *t = c->microseconds;

	qsort(t, rounds, sizeof(*t), by_value);
	(void)printf("{\"command\": \"%s\", \"rounds\": %zu, \"min_us\": %.1f, "
		     "\"median_us\": %.1f, \"p90_us\": %.1f, \"peak_kib\": %ld, "
		     "\"execs\": %ld, \"processes\": %ld}\n",
		     c->argv[0], rounds, t[0], t[rounds / 2], t[rounds * 9 / 10], c->peak_kib,
		     c->execs, c->processes);
}

/* Another order each round, the same in each run: what runs after a heavy one is slower. */
static void shuffle(size_t *order, size_t count, uint64_t *state)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t other, kept = order[i];

		*state = *state * 6364136223846793005u + 1442695040888963407u;
		other = (size_t)(*state >> 33) % (i + 1);
		order[i] = order[other];
		order[other] = kept;
	}
}

static int measure(struct timed *commands, size_t count, size_t rounds, size_t at_once)
{
	posix_spawn_file_actions_t quiet;
	size_t order[COMMANDS_MAX];
	uint64_t state = 1;

	if (posix_spawn_file_actions_init(&quiet) != 0 ||
	    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		order[i] = i;
		commands[i].microseconds = calloc(rounds, sizeof(double));
		if (!commands[i].microseconds)
			return -1;
	}
	for (size_t round = 0; round < rounds; round++) {
		shuffle(order, count, &state);
		for (size_t k = 0; k < count; k++) {
			struct timed *c = &commands[order[k]];

			if (run_once(c, at_once, &quiet, &c->microseconds[round]) < 0)
				return -1;
		}
	}
	(void)posix_spawn_file_actions_destroy(&quiet);
	return 0;
}

int main(int argc, char **argv)
{
	static struct timed commands[COMMANDS_MAX];
	size_t at_once = 1, rounds, count;
	bool is_all = argc > 1 && strcmp(argv[1], "-a") == 0;

	argv += is_all ? 2 : 1;
	if (argv[0] && argv[1] && strcmp(argv[0], "-n") == 0) {
		at_once = strtoul(argv[1], NULL, 10);
		argv += 2;
	}
	rounds = argv[0] ? strtoul(argv[0], NULL, 10) : 0;
	count = argv[0] ? split_commands(argv + 1, commands) : 0;
	if (rounds == 0 || rounds > ROUNDS_MAX || count == 0 || at_once == 0 ||
	    at_once > AT_ONCE_MAX) {
		(void)fprintf(stderr, "usage: spawn [-a] [-n AT_ONCE] ROUNDS COMMAND [ARG...] "
				      "[--- COMMAND...]...\n");
		return 2;
	}
	if (measure(commands, count, rounds, at_once) < 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		if (is_all) {
			print_all(&commands[i], rounds);
		} else {
			trace(&commands[i]);
			print_summary(&commands[i], rounds);
		}
		free(commands[i].microseconds);
	}
	return 0;
}
