/* SPDX-License-Identifier: MIT */
/* What the deciders of deciders.h share; nobody else includes this. */
#pragma once

#include "approve/broker.h"
#include "approve/deciders.h"
#include "base/arena.h"

/* The first member of each decider's own struct. */
struct decide_base {
	const char *by;
	const struct message_run *run;
	struct loop *loop;
	struct broker *broker;
};

int decide_cmd_open(struct arena *a, const struct ask_option *option,
		    const struct decider_setup *setup, struct decider *out, struct err *e)
	MUST_CHECK NONNULL;
int decide_lines_open(struct arena *a, const struct ask_option *option,
		      const struct decider_setup *setup, struct decider *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Refuses what the command could change under the plan; `others`: or another user. `what` is "" or
 * says which part of the decider `path` is. CAUSE_DECIDER_UNTRUSTED.
 */
int decide_check_place(const struct plan *plan, struct str path, bool others, const char *what,
		       struct err *e) MUST_CHECK NONNULL;

/*
 * The same for what is found by its name each time: where `path` (absolute) leads, and each link on the
 * way there. Adds them to `places`, last where it leads.
 */
int decide_check_way(struct arena *a, const struct plan *plan, struct str path, const char *what,
		     decide_places *places, struct err *e) MUST_CHECK NONNULL;

/* Gives the broker what a line says; `only` is the id that it may answer, 0: any. */
void decide_take_line(const struct decide_base *base, struct str line, uint64_t only) NONNULL;

/* The answer no, from the decider itself and not from who is behind it. */
void decide_refuse(const struct decide_base *base, uint64_t id, const char *message) NONNULL;
