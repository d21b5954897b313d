/* SPDX-License-Identifier: MIT */
/*
 * The audit log: JSON lines, one for each decision of a run, in the state directory, which
 * no sandbox may write to (P25). What lasts has a line more, while it is open: whoever is
 * killed has told of it.
 *
 *	posix/write.c	lines, rotation; several runs may write at once
 *	place.c		where a log is
 *	record.c	a decision of the proxy as a line, and a line as an entry again
 *	approval.c	requests and answers (P18) as lines of a log of their own
 *	posix/read.c	the lines of a log and of what was rotated away, for `cordon audit`
 *
 * What comes from inside (hosts, methods, program names) is escaped: no entry can be
 * forged, and no terminal be spoken to.
 *
 * On disk: FILE, FILE.1 (the one before) to FILE.5, and FILE.lock, which whoever writes or
 * rotates holds for that long. The lock is a file of its own that nobody may read: else a
 * sandbox, which may read the log, could hold it and so stop every run of this user.
 */
#pragma once

#include <stdint.h>

#include "approve/approve.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "proxy/channel.h"

struct audit;

enum {
	AUDIT_FILE_BYTES = 8 << 20,
	AUDIT_FILES_KEPT = 5,	 /* besides the one that is written */
	AUDIT_LINE_BYTES = 8192, /* of one line at most */
};

/* "STATE/audit/network.jsonl"; ERR_ARGUMENT when there is no state directory. */
int audit_default_path(struct arena *a, struct str state_directory, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Opens the log at `path` ("": the default below `state_directory`), making what is
 * missing for its owner alone. `run` is the id of the run in each line; "" makes one.
 * ERR_SYS: a log that can't be written is a failure, not a warning. ERR_POLICY: what lies
 * there is no file of this user's alone.
 */
int audit_open(struct arena *a, struct str path, struct str state_directory, struct str run,
	       struct audit **out, struct err *e) MUST_CHECK NONNULL;

/* An id for a run: 16 random hex digits. ERR_SYS, ERR_NOMEM. */
int audit_new_run(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* One decision of the proxy. ERR_SYS when it could not be written. */
int audit_add(struct audit *audit, const struct proxy_record *record, struct err *e)
	MUST_CHECK NONNULL;

/* A line of another kind, with its newline. */
int audit_add_line(struct audit *audit, struct str line, struct err *e) MUST_CHECK NONNULL;

/* The id of the run, for the report; and the file. */
struct str audit_run(const struct audit *audit) NONNULL;
struct str audit_path(const struct audit *audit) NONNULL;
void audit_close(struct audit *audit);

/* ---- approval.c ------------------------------------------------------------- */

/* "STATE/audit/approvals.jsonl"; ERR_ARGUMENT when there is no state directory. */
int audit_approvals_path(struct arena *a, struct str state_directory, struct str *out,
			 struct err *e) MUST_CHECK NONNULL;

/* Whose lines they are. */
struct audit_approvals {
	struct str run, session; /* the session may be "" */
};

/* What a run with approvals came to, at its end. */
#define AUDIT_RUN_SUMS(X)      \
	X(denials_path)        \
	X(denials_host)        \
	X(denials_unix_socket) \
	X(requests)            \
	X(allowed)             \
	X(denied) X(cache_hits) X(cache_misses) X(limited) X(late) X(wrong) X(held_ms) X(status)

struct audit_run_sums {
#define AUDIT_SUM_MEMBER(name) uint64_t name;
	AUDIT_RUN_SUMS(AUDIT_SUM_MEMBER)
#undef AUDIT_SUM_MEMBER
};

/* ERR_SYS when it could not be written. Long texts are cut. */
int audit_add_answer(struct audit *audit, const struct audit_approvals *of, const struct ask *ask,
		     const struct answer *answer, struct err *e) MUST_CHECK NONNULL;
int audit_add_rejected(struct audit *audit, const struct audit_approvals *of, uint64_t id,
		       const char *why, struct err *e) MUST_CHECK NONNULL;
int audit_add_run(struct audit *audit, const struct audit_approvals *of,
		  const struct audit_run_sums *sums, struct err *e) MUST_CHECK NONNULL;

/* A command that was to be run outside, before it is; or, with `has_ended`, when it is over. */
struct audit_escalation {
	uint64_t id;
	const char *by;
	bool is_allow, has_ended;
	int status;
	const char *const *argv;
	struct str program, profile, cwd, reason, message;
	struct origin rule; /* .file NULL: there is none */
};
int audit_add_escalation(struct audit *audit, const struct audit_approvals *of,
			 const struct audit_escalation *x, struct err *e) MUST_CHECK NONNULL;

/*
 * What the calls of one tool came to in a session of tools, at its end: hits were done, misses failed
 * for another reason than the policy.
 */
#define AUDIT_TOOL_SUMS(X) \
	X(calls)           \
	X(hits) X(misses) X(denials) X(elevations_asked) X(elevations_granted)

struct audit_tool_sums {
#define AUDIT_SUM_MEMBER(name) uint64_t name;
	AUDIT_TOOL_SUMS(AUDIT_SUM_MEMBER)
#undef AUDIT_SUM_MEMBER
};
int audit_add_tool(struct audit *audit, const struct audit_approvals *of, const char *tool,
		   const struct audit_tool_sums *sums, struct err *e) MUST_CHECK NONNULL;

/* A line as it is read: "answer", "rejected", "escalation", "escalated", "run" or "tool". */
struct audit_approval {
	struct str text, time, run, event, kind, by, tool;
	uint64_t time_ms;
	bool is_allow;
	struct audit_run_sums sums;	  /* of "run" */
	struct audit_tool_sums tool_sums; /* of "tool" */
};
int audit_parse_approval(struct arena *a, struct str line, struct audit_approval *out,
			 struct err *e) MUST_CHECK NONNULL;

/* ---- record.c --------------------------------------------------------------- */

/* The line, with its newline. */
void audit_print(struct buf *out, struct str run, const struct proxy_record *record) NONNULL;

/* The member "time", since 1970 in UTC. */
struct json_writer;
void audit_add_time(struct json_writer *w, uint64_t ms) NONNULL;

/* What a decision came to, in one word. */
enum audit_decision {
	AUDIT_ALLOW,
	AUDIT_DENY,
	AUDIT_FAILED,  /* allowed, but the network did not give it */
	AUDIT_INVALID, /* the client's fault */
};
const char *audit_decision_name(enum audit_decision d) RETURNS_NONNULL;

/* A line as it is read; texts may be "" and numbers 0 where nothing was known. */
struct audit_entry {
	struct str text; /* the line itself, without its newline */
	uint64_t time_ms;
	struct str time, run, program, protocol, host, address, method, reason, code, rule, file;
	enum audit_decision decision;
	int64_t pid, port, line, bytes_up, bytes_down, duration_ms, count;
	int64_t connection; /* of what has two lines, else 0 */
	bool is_open;	    /* the first of them: it counts nothing */
};

/* ERR_SYNTAX: no entry of this log. The strings are in `a`, or in `line`. */
int audit_parse(struct arena *a, struct str line, struct audit_entry *out, struct err *e)
	MUST_CHECK NONNULL;

/* "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05Z" or "2026-01-02" -> milliseconds since 1970. */
bool audit_parse_time(struct str text, uint64_t *out) NONNULL;

/* ---- read.c ----------------------------------------------------------------- */

/*
 * The lines of a log, oldest first, from what was rotated away to the last one that is
 * whole; asked again, those that came since, whatever was rotated meanwhile.
 */
struct audit_reader;

/* ERR_NOTFOUND when there is no log. */
int audit_reader_open(struct arena *a, struct str path, struct audit_reader **out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * 1 with a line (good until the next call), without its newline; 0 when there is none now.
 * A line over AUDIT_LINE_BYTES comes cut, and so does not parse.
 */
int audit_reader_next(struct audit_reader *r, struct str *line, struct err *e) MUST_CHECK NONNULL;

/* The file that the last line was in (until the next call), and its number there, from 1. */
struct str audit_reader_file(struct audit_reader *r) NONNULL;
uint64_t audit_reader_line(const struct audit_reader *r) NONNULL;
void audit_reader_close(struct audit_reader *r);
