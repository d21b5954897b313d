/* SPDX-License-Identifier: MIT */
/*
 * What would change an answer: an option for one run, or edits of a configuration file. In JSON
 * every suggestion has the same shape, in the report of a run, in `why` and in `doctor`:
 *
 *	{"scope": "run", "argv": ["--allow-host", "registry.example"], "edits": [], "text": "..."}
 *
 * The scope "run" is an option of `cordon run`, "config" the configuration, and "host" a command
 * or a setting of this host. `argv` is empty where no words can be given as they are.
 */
#pragma once

#include "plan/suggest.h"
#include "report/report.h"

/*
 * The edit that would change an answer. Trying edits means making plans, which
 * takes longer than the answer itself, so it is looked for when it is printed.
 */
struct lazy_change {
	struct arena *a;
	bool is_known;
	uint32_t wanted; /* what it leads to, when that differs from what was asked for */
	struct change change;
};

/*
 * Takes the result of the search. A failure becomes its `why_not`;
 * but NULL when memory is out, which is no answer.
 */
const struct change *lazy_change_set(struct lazy_change *lazy, int status, const struct err *e)
	NONNULL;

/* why_text.c: the text of why/1. */
void why_render(struct page *p, const struct json *root);

/* "wanted", the other answer, and "why_not", null when a suggestion leads to it. NULL: out of memory. */
void json_wanted(struct json_writer *w, const struct change *change, const char *wanted);

/* One of "suggestions", which the caller has begun. Nothing when it is not possible. */
void json_config_suggestion(struct json_writer *w, const struct change *change);

struct suggestion {
	const char *scope;
	const char *const *argv; /* ends with NULL; may be NULL */
	struct str text;
};
void json_suggestion(struct json_writer *w, const struct suggestion *s) NONNULL;
