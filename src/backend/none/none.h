/* SPDX-License-Identifier: MIT */
/*
 * No sandbox (P17): the command with its environment, its limits and a process
 * group of its own, and nothing else. It gives no guarantee and is never chosen
 * by backend_next(): only who asks for it by name gets it.
 *
 * Between this process and the command stands a *monitor*, which speaks the
 * protocol of linux/init/init.h, so that a run goes the same way with and without
 * a sandbox. It is the leader of the command's group, waits for the command, and
 * kills the group when it is told to or when the channel ends.
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
	int directory; /* O_PATH */
	int stdio[3];
	struct command_words words;
	struct command_limits limits;
};

/*
 * The life of the monitor, none_child.c. It runs after a clone without exec in
 * what may be a threaded program: async-signal-safe calls only, all signals blocked.
 */
_Noreturn void none_monitor(const struct none_job *job);
