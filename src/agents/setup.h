/* SPDX-License-Identifier: MIT */
/* What the parts of cordon_setup() share. */
#pragma once

#include "agents/agents.h"
#include "agents/change.h"
#include "lib/lib.h"
#include "report/report.h"
#include "session/outer.h"

enum setup_action { SETUP_LIST, SETUP_PLAN, SETUP_DO, SETUP_CHECK, SETUP_UNDO, SETUP_PROVE };

struct setup {
	struct arena *a;
	const struct cordon_setup_options *options;
	struct inputs in;
	struct agent_places places;
	enum setup_action action;
	enum agent_scope scope;
	const struct agent *agent;   /* NULL: none was named */
	const struct agent_way *way; /* NULL for SETUP_LIST, SETUP_UNDO and SETUP_PROVE */
	struct str journal;	     /* its path */
	struct change_list changes;
	struct change_list made; /* what was changed, when it is done */
	VEC(struct str) problems;
	bool is_set_up; /* before this call: what it has put somewhere is there, or may be */
	bool is_done, is_refused;
	bool stays_out; /* agents are not started in the project, which could name what they run */
	struct outer proof;
};

/* The absolute form of a place of the table. */
int setup_find_place(struct setup *s, const char *place, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* The program in PATH; "": it is not there. */
int setup_find_program(struct setup *s, const char *name, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

enum setup_state { SETUP_NOT, SETUP_UNPROVEN, SETUP_THERE };

/* Whether `agent` is set up for the scope, as far as its journal says. */
int setup_find_out(struct setup *s, const struct agent *agent, enum agent_scope scope,
		   enum setup_state *out, struct err *e) MUST_CHECK NONNULL;

/* plan.c: what has to be changed for the way. */
int setup_plan(struct setup *s, struct err *e) MUST_CHECK NONNULL;

/* undo.c: the changes that undo what the journal says. CAUSE_FILE_CHANGED: somebody has to take out what is named. */
int setup_plan_undo(struct setup *s, const struct journal *j, struct err *e) MUST_CHECK NONNULL;

/* check.c: fills `problems` and `proof`; of a plan that was made. */
int setup_check(struct setup *s, struct err *e) MUST_CHECK NONNULL;

/* show.c */
void setup_print(struct page *page, const void *data);
void setup_describe(struct json_writer *w, const void *data);
