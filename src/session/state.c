/* SPDX-License-Identifier: MIT */
/* See state.h. */
#include "session/state.h"

/* For an event that may come in a state and changes nothing. */
enum { STAYS = RUN_STATE_COUNT };

/* What is not in the table can't happen. */
static const int next[RUN_STATE_COUNT][RUN_EVENT_COUNT] = {
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
			 [RUN_KILL] = STAYS,
			 [RUN_COMMAND_ENDED] = RUN_ENDED,
			 [RUN_ALL_DEAD] = RUN_DEAD,
			 [RUN_LET_GO] = RUN_DRAINS },
	[RUN_ENDED] = { [RUN_TIME_IS_UP] = RUN_ENDED,
			[RUN_KILL] = STAYS,
			[RUN_ALL_DEAD] = RUN_DEAD,
			[RUN_LET_GO] = RUN_DRAINS },
	/* The time may be up in the same step in which all died. */
	[RUN_DEAD] = { [RUN_TIME_IS_UP] = STAYS, [RUN_LET_GO] = RUN_DRAINS },
	[RUN_DRAINS] = { [RUN_TIME_IS_UP] = RUN_GIVES_UP,
			 [RUN_LET_GO] = STAYS,
			 [RUN_FINISHED] = RUN_OVER },
	[RUN_GIVES_UP] = { [RUN_TIME_IS_UP] = STAYS, [RUN_LET_GO] = STAYS, [RUN_FINISHED] = RUN_OVER },
	/* What fails after the end is finished once more. */
	[RUN_OVER] = { [RUN_LET_GO] = STAYS, [RUN_FINISHED] = STAYS },
};

enum run_step run_move(enum run_state *state, enum run_event event)
{
	int to = next[*state][event];

	if (to == RUN_NONE)
		return RUN_IMPOSSIBLE;
	if (to == STAYS)
		return RUN_IGNORED;
	*state = (enum run_state)to;
	return RUN_MOVED;
}

bool run_has_command(enum run_state state)
{
	return state == RUN_RUNS || state == RUN_TERMINATES || state == RUN_KILLED;
}

bool run_is_alive(enum run_state state)
{
	return run_has_command(state) || state == RUN_ENDED;
}
