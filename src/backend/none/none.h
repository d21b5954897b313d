/* SPDX-License-Identifier: MIT */
/*
 * No sandbox (P17): the command with its environment, its limits and a process
 * group of its own, and nothing else. It gives no guarantee, and backend_next() never
 * chooses it: the caller has to name it.
 *
 * Between this process and the command stands a *monitor*, which speaks the
 * protocol of linux/init/init.h, so that a run works the same with and without a
 * sandbox. It leads the command's process group, waits for the command, and kills
 * the group when it is told to, when the channel ends, or when the parent ends.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/command_child.h"

/* All that the monitor and the command need, made ready by the parent. */
struct none_job {
	int channel;
	int other_end; /* of it, the parent's */
	int host;      /* a pidfd of the parent: the run ends with it */
	int directory; /* O_PATH */
	/*
	 * Another run has it run (launch.escalated_in): it has a session of its own, without a terminal, and no
	 * descriptors but the streams. Nothing that it has started, in whatever process
	 * group, goes on without it. Without a pid namespace that is by looking for it: who kills the
	 * monitor with SIGKILL kills the command with it, but not what that has started.
	 */
	bool is_escalated;
	int stdio[3];
	struct command_words words;
	struct command_limits limits;
};

/*
 * The life of the monitor, none_child.c. It runs after a clone without exec in
 * what may be a threaded program: async-signal-safe calls only, all signals blocked.
 */
_Noreturn void none_monitor(const struct none_job *job);
