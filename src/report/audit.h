/* SPDX-License-Identifier: MIT */
/* The audit log as it is shown; see cordon.h. */
#pragma once

#include "audit/audit.h"
#include "base/buf.h"
#include "cordon.h"

/* One that was there at the first look, to be shown in its turn. */
struct audit_kept {
	uint64_t time_ms;
	struct str line;
	struct str run; /* of what has two lines, with its number; the rest has none */
	int64_t connection;
	bool is_open, is_ended;
};

struct cordon_audit {
	struct arena arena;	     /* lives as long as this */
	struct arena entry;	     /* of the last one */
	struct audit_reader *reader; /* NULL: there is only a log of approvals */
	struct str run;		     /* "": all */
	struct str approvals; /* the log of approvals; "": a file was named, which has none */
	bool run_is_there, run_may_come;
	struct arena lines;
	VEC(struct audit_kept) kept;
	uint32_t *order; /* of those; NULL before the first look */
	size_t shown;
	uint64_t since_ms;
	bool only_denied;
	struct buf out, warning;
	uint64_t broken;
};

/*
 * The next entry that is asked for: 1, or 0 when there is none now. What is there at the first
 * look comes in the order of time, and what has ended as one entry: of what is open only
 * that whose end is not in the log. ERR_NOTFOUND: there is none of the run that was asked for.
 */
int audit_next_entry(struct cordon_audit *audit, struct audit_entry *out, struct err *e)
	MUST_CHECK NONNULL;

/* 0, 1, ... as many as `count`, and as much room again, for sort_numbers(). */
uint32_t *audit_numbers(struct arena *a, size_t count, struct err *e) MUST_CHECK NONNULL;

/* ---- audit_approvals.c ---------------------------------------------------------------- */

struct audit_answers {
	struct str kind, by;
	bool is_allow;
	uint64_t count;
};

struct audit_tool {
	struct str name;
	struct audit_tool_sums sums;
};

/* The log of approvals, added up. */
struct audit_asked {
	uint64_t lines, broken, runs, allowed, denied, rejected;
	uint64_t escalated, not_escalated; /* commands that were to be run outside */
	VEC(struct audit_answers) answers;
	VEC(struct audit_tool) tools;
	struct audit_run_sums sums;
};

/* All zeros when there is no such log. ERR_SYS, ERR_NOMEM, ERR_LIMIT. */
int audit_add_up_asked(struct arena *a, struct cordon_audit *audit, struct audit_asked *out,
		       struct err *e) MUST_CHECK NONNULL;
struct page;
struct json_writer;
void audit_print_asked(struct page *p, const struct audit_asked *asked) NONNULL;
/* "approvals", "tools" */
void audit_json_asked(struct json_writer *w, const struct audit_asked *asked) NONNULL;
void audit_print_metrics(struct buf *out, const struct audit_asked *asked,
			 const int64_t decisions[AUDIT_INVALID + 1]) NONNULL;

/* "1.2 kB" */
void audit_add_bytes(struct buf *b, int64_t bytes) NONNULL;

/* "unlisted", "denied by "*.com" (file:5)", … */
void audit_add_reason(struct buf *b, const struct audit_entry *entry) NONNULL;

/* "host:443", IPv6 in brackets. */
void audit_add_target(struct buf *b, struct str host, int64_t port) NONNULL;
