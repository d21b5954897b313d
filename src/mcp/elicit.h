/* SPDX-License-Identifier: MIT */
/*
 * A question of the broker as an elicitation in the client, and what was chosen there. Pure.
 *
 * SECURITY: who answers there may be a person, a hook, or a model that reviews. So `always` is never
 * offered, nothing is chosen beforehand, and an answer that does not name a choice is a deny.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"
#include "cordon.h"

enum { ELICIT_MAX_CHOICES = 8, ELICIT_MAX_SUBJECT = 4096 };

struct elicit_choice {
	struct str value;  /* what the client sends */
	struct str title;  /* for people */
	const char *scope; /* of an allow; NULL: it is the deny */
	struct cordon_grant grant;
};

struct elicit {
	struct str message;
	struct elicit_choice choices[ELICIT_MAX_CHOICES]; /* the deny first */
	size_t choice_count;
};

/*
 * Copies what it needs. `of_command`: a command asks, and "run" ends with it; a grant to a file tool
 * lasts as long as the server. ERR_NOMEM, ERR_LIMIT.
 */
int elicit_make(struct arena *a, const struct cordon_ask_request *ask, bool of_command,
		struct elicit *out, struct err *e) MUST_CHECK NONNULL;

/* The params of elicitation/create, an object; `has_mode` where the revision knows modes. */
void elicit_print(const struct elicit *q, bool has_mode, struct json_writer *w) NONNULL;

/*
 * `result` is what the client answered, NULL if that was an error. Borrows from `q`. Whatever is not
 * an accept with one of the values is a deny.
 */
void elicit_read(const struct elicit *q, const struct json *result, struct cordon_answer *out)
	__attribute__((nonnull(1, 3)));
