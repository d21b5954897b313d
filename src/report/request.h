/* SPDX-License-Identifier: MIT */
/* What cordon_request() and cordon_escalate() share: how a process inside talks to its supervisor. */
#pragma once

#include "base/json.h"
#include "lib/lib.h"
#include "report/report.h"

enum { REQUEST_MESSAGE_MAX = 64 << 10 };

/* The member NAME, or NAME_base64 for what is no UTF-8. */
void request_add_text(struct json_writer *w, const char *name, struct str text) NONNULL;
/* Nothing, if it is NULL or empty. */
void request_add_reason(struct json_writer *w, const char *reason) __attribute__((nonnull(1)));
/* Why nobody answers: `r` is -errno. */
int request_fail_talk(int r, struct err *e) MUST_CHECK NONNULL;
/* An answer, in the arena; ERR_ARGUMENT for one that is an error. */
int request_read(struct arena *a, struct str text, const struct json **out, struct err *e)
	MUST_CHECK NONNULL;
/* What was refused to this sandbox, or the earlier ones of the same agent, and nobody was told: lines. */
int request_refused(struct arena *a, struct buf *lines, struct err *e) MUST_CHECK NONNULL;
/* A report of it, which says whether it was granted and what would allow it. */
void request_fill_report(cordon_report *r, const struct json *answer) NONNULL;
