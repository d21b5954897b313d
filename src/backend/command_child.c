/* SPDX-License-Identifier: MIT */
/* A command between its fork and its exec; see command_child.h. */
#include "backend/command_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Words ------------------------------------------------------------------- */

static int copy_list(struct arena *a, const char *const *list, size_t before, char ***out,
		     struct err *e)
{
	size_t count = 0;
	char **copy;

	while (list[count])
		count++;
	copy = arena_array(a, before + count + 1, sizeof(*copy), e);
	if (!copy)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		size_t bytes = strlen(list[i]) + 1;

		copy[before + i] = arena_alloc(a, bytes, e);
		if (!copy[before + i])
			return err_result(e);
		memcpy(copy[before + i], list[i], bytes);
	}
	*out = copy;
	return 0;
}

int command_copy_words(struct arena *a, const struct launch *in, struct command_words *out,
		       struct err *e)
{
	static char shell[] = "sh";

	if (copy_list(a, in->argv, 0, &out->argv, e) < 0 ||
	    copy_list(a, in->argv, 1, &out->shell_argv, e) < 0 ||
	    copy_list(a, in->programs, 0, &out->programs, e) < 0 ||
	    copy_list(a, in->environment, 0, &out->environment, e) < 0)
		return err_result(e);
	out->shell_argv[0] = shell;
	return 0;
}

/* ---- Limits ------------------------------------------------------------------ */

/* The raw call: the C libraries differ in the type of a resource. */
static long limit_call(int resource, const struct rlimit *now, struct rlimit *before)
{
	return syscall(SYS_prlimit64, 0, resource, now, before);
}

static void add_limit(struct command_limits *out, int resource, uint64_t value, uint64_t slack)
{
	struct rlimit now;

	if (value == 0 || limit_call(resource, NULL, &now) < 0)
		return;
	out->items[out->count].resource = resource;
	out->items[out->count].limit.rlim_cur = MIN_OF((rlim_t)value, now.rlim_max);
	out->items[out->count].limit.rlim_max = MIN_OF((rlim_t)(value + slack), now.rlim_max);
	out->count++;
}

struct command_limits command_limits(const struct limits *limits)
{
	struct command_limits out = { .count = 0 };

	add_limit(&out, RLIMIT_FSIZE, limits->value[LIMIT_FILE_SIZE], 0);
	add_limit(&out, RLIMIT_NOFILE, limits->value[LIMIT_OPEN_FILES], 0);
	/* In whole seconds; the signal that can be named comes before the one that can't. */
	add_limit(&out, RLIMIT_CPU, (limits->value[LIMIT_CPU_TIME] + 999) / 1000, 1);
	return out;
}

bool command_set_limits(const struct command_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		if (limit_call(limits->items[i].resource, &limits->items[i].limit, NULL) < 0)
			return false;
	return true;
}

/* ---- Streams and signals ------------------------------------------------------ */

/* Each is copied out of the way first: one of them may lie where another has to go. */
bool command_place_stdio(const int stdio[3])
{
	int away[3];

	for (int i = 0; i < 3; i++) {
		away[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (away[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(away[i], i) < 0)
			return false;
	return true;
}

/* Who ignores SIGCHLD has no zombies, and so nothing to wait for. */
struct command_signals command_watch_children(void)
{
	struct sigaction before;
	struct command_signals out = { .ignores_children = false };

	if (sigaction(SIGCHLD, NULL, &before) == 0)
		out.ignores_children = before.sa_handler == SIG_IGN;
	signal(SIGCHLD, SIG_DFL);
	return out;
}

void command_reset_signals(struct command_signals before)
{
	sigset_t none;

	/* Handlers are the caller's: none may run before exec does away with them. */
	for (int n = 1; n < NSIG; n++) {
		struct sigaction action;

		if (sigaction(n, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
		    action.sa_handler != SIG_DFL)
			signal(n, SIG_DFL);
	}
	if (before.ignores_children)
		signal(SIGCHLD, SIG_IGN);
	/* What the caller blocks it blocks for itself. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- Exec ----------------------------------------------------------------------- */

/* What execvp() goes on after. */
static bool is_elsewhere(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
	       error == ENODEV || error == ETIMEDOUT;
}

int command_execute(const struct command_words *words)
{
	int error = ENOENT;

	for (size_t i = 0; words->programs[i]; i++) {
		execve(words->programs[i], words->argv, words->environment);
		if (errno == ENOEXEC) {
			words->shell_argv[1] = words->programs[i];
			execve("/bin/sh", words->shell_argv, words->environment);
			return ENOEXEC;
		}
		if (!is_elsewhere(errno))
			return errno;
		if (error != EACCES)
			error = errno;
	}
	return error;
}
