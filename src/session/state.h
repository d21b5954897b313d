/* SPDX-License-Identifier: MIT */
/*
 * The states of a run, and what leads from one to the next. state.c has the table; a run is
 * always in exactly one of them.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

enum run_state {
	RUN_NONE,
	RUN_STARTS,	/* nothing runs yet */
	RUN_RUNS,	/* the command runs */
	RUN_TERMINATES, /* it timed out, and was asked to end */
	RUN_KILLED,	/* this session has killed it, and it is not dead yet */
	RUN_ENDED,	/* the command has ended; what it left running is being killed */
	RUN_DEAD,	/* nothing in the sandbox runs any more */
	RUN_DRAINS,	/* nor is supervised; its output is still to be passed on */
	RUN_GIVES_UP,	/* on the rest of the output: nobody reads it */
	RUN_OVER,
	RUN_STATE_COUNT,
};

enum run_event {
	RUN_STARTED,
	RUN_TIME_IS_UP, /* the time limit, and each time the patience after it */
	RUN_KILL,
	RUN_COMMAND_ENDED,
	RUN_ALL_DEAD,
	RUN_LET_GO, /* supervision has ended */
	RUN_FINISHED,
	RUN_EVENT_COUNT,
};

enum run_step {
	RUN_MOVED,   /* to the next state, which may be the same */
	RUN_IGNORED, /* it may come in this state, which stays, and means nothing there */
	RUN_IMPOSSIBLE, /* it can't come in this state, which stays: what is believed of the run is wrong */
};
enum run_step run_move(enum run_state *state, enum run_event event) MUST_CHECK;

/* Whether the command itself may still run. */
bool run_has_command(enum run_state state);
/* Whether anything in the sandbox may still run. */
bool run_is_alive(enum run_state state);
