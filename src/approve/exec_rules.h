/* SPDX-License-Identifier: MIT */
/*
 * [[exec]] of the user's configuration: which commands may be run outside of the sandbox when a command
 * in it asks for that (`cordon escalate`). A rule names the whole command and the directory. Pure, but
 * for what finds a program.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "policy/policy.h"

struct plan_inputs;
struct exec_rules;

/* A command as it is asked for. */
struct exec_command {
	struct str program; /* canonical: what its first word was found to be */
	const struct str *argv;
	size_t argv_count;
	struct str cwd; /* canonical */
};

/* Where the program `name` is, canonical, in `a`; "": nowhere that counts. ERR_NOMEM. */
struct exec_finder {
	int (*find)(void *user, struct arena *a, struct str name, struct str *out, struct err *e);
	void *user;
};

struct exec_ruling {
	const struct exec_rule *rule; /* NULL: no rule is about this command */
	/* Without one: a rule that is about this command in another directory, or NULL. */
	const struct exec_rule *elsewhere;
};

/*
 * The rules that hold for the profile in force. `roots`: the canonical workspace roots. ERR_NOMEM,
 * ERR_SYS, ERR_POLICY: a directory in a rule leads in a loop of links; or its home is not known.
 */
int exec_rules_new(struct arena *a, const struct plan_inputs *in, const struct str *roots,
		   size_t root_count, const struct exec_rules **out, struct err *e) MUST_CHECK
	__attribute__((nonnull(1, 2, 5, 6)));

/*
 * Whether a rule may be about a command whose program `name` names: by its words alone, so that nothing has to be
 * looked for on the disk. `argv[0]` does not count.
 */
bool exec_rules_may_name(const struct exec_rules *r, struct str name, const struct str *argv,
			 size_t count) NONNULL;

/* A deny wins over an ask, an ask over an allow; of equal ones the first in the file. */
int exec_rules_judge(const struct exec_rules *r, const struct exec_command *command,
		     const struct exec_finder *finder, struct exec_ruling *out, struct err *e)
	MUST_CHECK NONNULL;
