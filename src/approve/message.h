/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers as lines of JSON: version 1 of the protocol in docs/approvals.md, with
 * schemas/approval-request-1.json and schemas/approval-answer-1.json.
 */
#pragma once

#include "approve/approve.h"
#include "base/buf.h"

enum {
	MESSAGE_VERSION = 1,
	MESSAGE_MAX_ANSWER = 64 << 10, /* of a line, without its end */
};

/* What is the same in all requests of a run. */
struct message_run {
	struct str run;
	struct str session; /* "": it has none */
};

/* Adds one line, with its end. */
void message_add_request(struct buf *out, const struct message_run *run, const struct ask *ask,
			 uint64_t deadline_ms) NONNULL;
void message_add_withdrawn(struct buf *out, uint64_t id) NONNULL;

/* The value of "grant"; the other members of an answer are for its printer. */
struct json_writer;
void message_add_grant(struct json_writer *w, const struct grant *grant) NONNULL;

/*
 * Reads one line, with or without its end. ERR_SYNTAX, ERR_LIMIT, ERR_NOMEM: the text says why it is
 * no answer, and `*id` is that of the request all the same, or 0 if it can't be told. The answer's
 * strings are in the arena; `by` is not set.
 */
int message_parse_answer(struct arena *a, struct str line, uint64_t *id, struct answer *out,
			 struct err *e) MUST_CHECK NONNULL;
