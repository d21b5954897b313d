/* SPDX-License-Identifier: MIT */
/* The table of a run's states. */
#include "session/state.h"

#include "test.h"

static enum run_state go(enum run_state state, const enum run_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		CHECK(run_move(&state, events[i]) == RUN_MOVED);
	return state;
}
#define GO(state, ...)                                     \
	go(state, (const enum run_event[]){ __VA_ARGS__ }, \
	   sizeof((const enum run_event[]){ __VA_ARGS__ }) / sizeof(enum run_event))

TEST(a_run_goes_from_its_start_to_its_end)
{
	CHECK(GO(RUN_STARTS, RUN_STARTED, RUN_COMMAND_ENDED, RUN_ALL_DEAD, RUN_LET_GO,
		 RUN_FINISHED) == RUN_OVER);
	CHECK(GO(RUN_STARTS, RUN_STARTED, RUN_ALL_DEAD) == RUN_DEAD);
}

TEST(one_that_times_out_is_asked_and_then_killed)
{
	CHECK(GO(RUN_RUNS, RUN_TIME_IS_UP) == RUN_TERMINATES);
	CHECK(GO(RUN_RUNS, RUN_TIME_IS_UP, RUN_TIME_IS_UP) == RUN_KILLED);
	CHECK(GO(RUN_RUNS, RUN_TIME_IS_UP, RUN_TIME_IS_UP, RUN_TIME_IS_UP) == RUN_KILLED);
	CHECK(GO(RUN_RUNS, RUN_TIME_IS_UP, RUN_COMMAND_ENDED) == RUN_ENDED);
	CHECK(GO(RUN_ENDED, RUN_TIME_IS_UP, RUN_ALL_DEAD) == RUN_DEAD);
	CHECK(GO(RUN_DRAINS, RUN_TIME_IS_UP, RUN_FINISHED) == RUN_OVER);
}

TEST(one_that_failed_to_start_is_over)
{
	CHECK(GO(RUN_STARTS, RUN_LET_GO, RUN_FINISHED) == RUN_OVER);
	CHECK(GO(RUN_STARTS, RUN_KILL, RUN_LET_GO, RUN_FINISHED) == RUN_OVER);
}

/* By state, then by event: m is moved, . ignored, ! impossible. */
static const char *const steps[RUN_STATE_COUNT] = {
	[RUN_NONE] = "!!!!!!!",	      [RUN_STARTS] = "m!m!!m!", [RUN_RUNS] = "!mmmmm!",
	[RUN_TERMINATES] = "!mmmmm!", [RUN_KILLED] = "!m.mmm!", [RUN_ENDED] = "!m.!mm!",
	[RUN_DEAD] = "!.!!!m!",	      [RUN_DRAINS] = "!m!!!.m", [RUN_GIVES_UP] = "!.!!!.m",
	[RUN_OVER] = "!!!!!..",
};

TEST(each_event_leads_on_or_is_ignored_or_impossible_in_each_state)
{
	for (int i = 0; i < RUN_STATE_COUNT; i++) {
		CHECK_INT(strlen(steps[i]), RUN_EVENT_COUNT);
		for (int k = 0; k < RUN_EVENT_COUNT; k++) {
			enum run_state state = (enum run_state)i;
			char step = "m.!"[run_move(&state, (enum run_event)k)];

			CHECK_INT(step, steps[i][k]);
			CHECK(step == 'm' ? state > RUN_STARTS && state < RUN_STATE_COUNT
					  : state == (enum run_state)i);
		}
	}
}

TEST(what_was_let_go_is_not_let_go_again)
{
	for (int i = RUN_STARTS; i < RUN_STATE_COUNT; i++) {
		enum run_state state = (enum run_state)i;

		CHECK((run_move(&state, RUN_LET_GO) == RUN_MOVED) == (i < RUN_DRAINS));
		CHECK(run_move(&state, RUN_LET_GO) == RUN_IGNORED);
	}
}

TEST(nothing_runs_after_the_end)
{
	CHECK(!run_is_alive(RUN_OVER) && !run_is_alive(RUN_DEAD) && run_is_alive(RUN_ENDED));
	CHECK(!run_has_command(RUN_ENDED) && run_has_command(RUN_KILLED));
}
