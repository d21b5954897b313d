/* SPDX-License-Identifier: MIT */
/*
 * The deciders that are programs: one that is started for each request (decide_cmd.c), and those
 * that are there already, at the other end of a socket (decide_lines.c).
 *
 *	--ask ...		ask_parse()
 *	before the plan		ask_find(): the path of a program or socket, which becomes one of
 *				Cordon's own files (P25), so that no grant ever covers it
 *	before the launch	decider_open(): trusted? then opened, or connected
 *	at the end		decider.stop(); may be called again
 *
 * SECURITY: neither the command nor another user may be able to change who decides. So a program or
 * socket is refused if it, or a directory above it, may be written by one of them; it is opened or
 * connected once, before the command starts, and never looked for again. What a program finds by name
 * each time, its interpreters and the directories of its PATH, was out of reach at the start; that it
 * stays so is the business of whoever grants: decider.places.
 */
#pragma once

#include "approve/approve.h"
#include "approve/message.h"
#include "base/arena.h"
#include "base/err.h"
#include "os/loop.h"
#include "plan/plan.h"

enum {
	DECIDER_MAX_PROGRAMS = 8,      /* that run at once; more requests wait */
	DECIDER_MAX_UNSENT = 16 << 20, /* bytes of requests that wait; beyond it: denied */
	DECIDER_CONNECT_MS = 5000,
};

/* What a program is found by, and what runs it. */
typedef VEC(struct str) decide_places;

enum decider_kind {
	DECIDER_NONE,
	DECIDER_TTY,
	DECIDER_PROGRAM,
	DECIDER_DESCRIPTOR,
	DECIDER_SOCKET
};

/* What --ask names. */
struct ask_option {
	enum decider_kind kind;
	struct str text; /* the program or socket as it is written; borrowed */
	int fd;
	struct str path; /* of a program or socket, canonical; from ask_find() */
};

/* "tty", "cmd:PROGRAM", "fd:N", "socket:PATH" or "off". ERR_ARGUMENT. */
int ask_parse(const char *text, struct ask_option *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Finds the program, absolute or in `path_list` (PATH, may be NULL), or the socket; nothing for the
 * others. CAUSE_DECIDER_UNUSABLE.
 */
int ask_find(struct arena *a, struct ask_option *option, const char *path_list, struct err *e)
	MUST_CHECK __attribute__((nonnull(1, 2, 4)));

struct decider_setup {
	struct loop *loop;     /* until stop() */
	struct broker *broker; /* to which the answers go */
	const struct plan *plan;
	const struct message_run *run; /* for the messages; lives as long as the decider */
	/* The caller's; a program gets PATH, HOME, LANG and TERM of it. */
	const char *const *environment;
	int errors; /* where a program's standard error goes; the caller keeps it open */
};

/*
 * For DECIDER_PROGRAM, DECIDER_DESCRIPTOR and DECIDER_SOCKET. The decider lives in the arena. ERR_ARGUMENT,
 * CAUSE_DECIDER_UNTRUSTED, CAUSE_DECIDER_UNUSABLE.
 */
int decider_open(struct arena *a, const struct ask_option *option,
		 const struct decider_setup *setup, struct decider *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * For another program that is run outside (`cordon escalate`): whether the command or another
 * user could change `path` (absolute), a link on the way to it, what that leads to, or an interpreter that
 * its "#!" names. Adds all of these to `places`. CAUSE_DECIDER_UNTRUSTED, CAUSE_DECIDER_UNUSABLE.
 */
int decider_check_program(struct arena *a, const struct plan *plan, struct str path,
			  decide_places *places, struct err *e) MUST_CHECK NONNULL;
/* "PATH=…" with the directories of `list` (may be NULL) that the command can't write to. */
int decider_clean_path(struct arena *a, const struct plan *plan, const char *list, struct str *out,
		       struct err *e) MUST_CHECK __attribute__((nonnull(1, 2, 4, 5)));
