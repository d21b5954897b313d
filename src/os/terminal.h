/* SPDX-License-Identifier: MIT */
/*
 * Job control. The command is in a process group of its own, because one in ours
 * could kill all of us with kill(0). So the terminal has to be handed to it and
 * taken back, and a stop of the command has to become a stop of this process, as
 * a shell does it for its jobs.
 */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/macros.h"

/* The attributes of a terminal. Only the system knows what is inside. */
struct terminal_attributes {
	alignas(8) unsigned char bytes[128];
};

struct terminal {
	int fd; /* the controlling terminal; -1: there is none */
	bool owns_fd;
	pid_t own_group;     /* of this process */
	bool was_given;	     /* to the command's group */
	bool has_attributes; /* as they were before the run */
	struct terminal_attributes attributes;
	char path[64]; /* "" when not known */
};

#define TERMINAL_NONE                       \
	{                                   \
		.fd = -1, .owns_fd = false, \
	}

/* Finds the controlling terminal, if there is one. */
void terminal_find(struct terminal *t) NONNULL;

/* Whether the process group of this process is the one in the foreground. */
bool terminal_is_ours(const struct terminal *t) NONNULL;

/*
 * Whether a command with this standard output gets the terminal at once. In a pipeline another
 * process, such as a pager, may want it too; then the command gets the terminal when it is stopped
 * for want of it. If nothing can be stopped, as in a command substitution of bash, it gets it now.
 */
bool terminal_is_given_at_once(const struct terminal *t, int output) NONNULL;

/* The backend is about to hand it to the command. */
void terminal_will_give(struct terminal *t) NONNULL;

/*
 * The command's group was stopped by `number`: stops this process in the same
 * way, and returns when both are to go on. The caller tells the command's group.
 */
void terminal_stop(struct terminal *t, pid_t group, int number, bool is_typed) NONNULL;

/*
 * The part of it that concerns this process alone; `is_typed`: all of its job. For a command with
 * a terminal of its own (session/relay.h).
 */
void terminal_stop_self(int number, bool is_typed);

/* The end of the run. `was_killed`: nobody put the terminal's attributes back. */
void terminal_done(struct terminal *t, pid_t group, bool was_killed) NONNULL;
