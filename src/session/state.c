/* SPDX-License-Identifier: MIT */
/* See state.h. */
#include "session/state.h"

/* What is not in the table has no meaning there. */
static const enum run_state next[RUN_STATE_COUNT][RUN_EVENT_COUNT] = {
	[RUN_STARTS] = { [RUN_STARTED] = RUN_RUNS, [RUN_KILL] = RUN_KILLED, [RUN_LET_GO] = RUN_DRAINS },
	[RUN_RUNS] = { [RUN_TIME_IS_UP] = RUN_TERMINATES,
		       [RUN_KILL] = RUN_KILLED,
		       [RUN_COMMAND_ENDED] = RUN_ENDED,
		       [RUN_ALL_DEAD] = RUN_DEAD,
		       [RUN_LET_GO] = RUN_DRAINS },
	[RUN_TERMINATES] = { [RUN_TIME_IS_UP] = RUN_KILLED,
			     [RUN_KILL] = RUN_KILLED,
			     [RUN_COMMAND_ENDED] = RUN_ENDED,
			     [RUN_ALL_DEAD] = RUN_DEAD,
			     [RUN_LET_GO] = RUN_DRAINS },
	/* Until nothing runs any more it is killed again each time. */
	[RUN_KILLED] = { [RUN_TIME_IS_UP] = RUN_KILLED,
			 [RUN_COMMAND_ENDED] = RUN_ENDED,
			 [RUN_ALL_DEAD] = RUN_DEAD,
			 [RUN_LET_GO] = RUN_DRAINS },
	[RUN_ENDED] = { [RUN_TIME_IS_UP] = RUN_ENDED,
			[RUN_ALL_DEAD] = RUN_DEAD,
			[RUN_LET_GO] = RUN_DRAINS },
	[RUN_DEAD] = { [RUN_LET_GO] = RUN_DRAINS },
	[RUN_DRAINS] = { [RUN_TIME_IS_UP] = RUN_GIVES_UP, [RUN_FINISHED] = RUN_OVER },
	[RUN_GIVES_UP] = { [RUN_FINISHED] = RUN_OVER },
};

bool run_move(enum run_state *state, enum run_event event)
{
	enum run_state to = next[*state][event];

	if (to == RUN_NONE)
		return false;
	*state = to;
	return true;
}

bool run_has_command(enum run_state state)
{
	return state == RUN_RUNS || state == RUN_TERMINATES || state == RUN_KILLED;
}

bool run_is_alive(enum run_state state)
{
	return run_has_command(state) || state == RUN_ENDED;
}
