/* SPDX-License-Identifier: MIT */
/*
 * A command between its fork and its exec, the same for every backend of this
 * system. Async-signal-safe calls only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "base/arena.h"
#include "policy/policy.h"

enum { COMMAND_MAX_LIMITS = 4 };

struct command_limits {
	struct {
		int resource;
		struct rlimit limit;
	} items[COMMAND_MAX_LIMITS];
	size_t count;
};

struct command_words {
	char **argv;
	char **shell_argv; /* "sh", room for a file, and the rest: for what is no program */
	char **programs;
	char **environment;
};

/*
 * Before the fork. Copies: what a process was given as its words can be seen by
 * others, and may be wiped.
 */
int command_copy_words(struct arena *a, const struct launch *in, struct command_words *out,
		       struct err *e) MUST_CHECK NONNULL;

/*
 * Before the fork: the limits of P23 that need no control group, as far as the present ones go.
 * `processes` is the limit of all in the user namespace, Cordon's own included; 0: there is none.
 */
struct command_limits command_limits(const struct limits *limits, uint64_t processes);

/*
 * The command ignores the signals that the caller ignores (nohup). For SIGCHLD that is what the
 * caller had before Cordon changed it.
 */
struct command_signals {
	bool ignores_children;
};

/*
 * For who starts the command and waits for it, with all signals blocked: no handler of the
 * caller's is left, for the command neither, and the command's end is heard of.
 */
struct command_signals command_take_signals(void);

/* Both: true, or errno is set. */
bool command_set_limits(const struct command_limits *limits);
bool command_place_stdio(const int stdio[3]); /* as 0, 1, 2, however they are numbered now */

/*
 * A terminal of the command's own; true, or errno is set. The first for the leader of the session,
 * the second for the command (-1: nothing), which gets a group of its own there: the terminal stops
 * no group without a parent in the same session.
 */
bool command_control_terminal(int terminal);
bool command_enter_terminal(int terminal, bool stays_behind);

/* In the command, last: what command_take_signals() has found, and nothing is blocked. */
void command_reset_signals(struct command_signals before);

#define COMMAND_NO_PROGRAM UINT32_MAX

/* As execvp() does it over `programs`, but what is nowhere is ENOENT. */
struct command_failure command_execute(const struct command_words *words);
