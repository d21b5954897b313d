/* SPDX-License-Identifier: MIT */
/*
 * Approvals (P18): whether something that the policy refuses may happen after all.
 *
 *	approve.h	requests, grants and answers, which all parts share
 *	broker.c	what becomes of a request: rules, earlier answers, the decider, deadlines
 *	offers.c	which grants would be enough for an attempt; pure
 *	rules.c		[[approve]] of the user's configuration; pure
 *	exec_rules.c	[[exec]] of it: commands that may be run outside; pure
 *	history.c	what was asked, denied and granted in this run, for the broker
 *	message.c	requests and answers as lines of JSON; pure
 *	store.c		the grants that outlive a run: sessions/NAME and approvals.toml
 *	decide_*.c	who is asked: a program, a descriptor, a socket, the terminal, the caller
 *
 * docs/approvals.md says what each message means. Nothing here opens anything: the session makes a
 * grant live (supervisor_open_path() and others), and only then lets the call go on.
 *
 * SECURITY: what comes from inside the sandbox (names, argv, cwd, reason) is shown, never believed. An
 * answer is taken only for a request that still waits, only once, and only for a grant that
 * lies within one of its offers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/denials.h"
#include "base/arena.h"
#include "base/hostname.h"
#include "base/str.h"

/* X(identifier, name, what is asked for, in words) */
#define ASK_KINDS(X)                                           \
	X(WRITE, "write", "write to")                          \
	X(CONNECT, "connect", "connect to")                    \
	X(UNIX_SOCKET, "unix_socket", "connect to the socket") \
	X(ESCALATE, "escalate", "run outside the sandbox")

enum ask_kind {
#define ASK_KIND_ID(id, name, words) ASK_##id,
	ASK_KINDS(ASK_KIND_ID)
#undef ASK_KIND_ID
};

/* How long a grant lasts. X(identifier, name, in words) */
#define GRANT_SCOPES(X)                                                        \
	X(ONCE, "once", "this one call")                                       \
	X(RUN, "run", "until this command ends")                               \
	X(SESSION, "session", "every run of this session here, until revoked") \
	X(MINUTES, "minutes", "for some minutes")                              \
	X(ALWAYS, "always", "always, written to approvals.toml")

enum grant_scope {
#define GRANT_SCOPE_ID(id, name, words) SCOPE_##id,
	GRANT_SCOPES(GRANT_SCOPE_ID)
#undef GRANT_SCOPE_ID
};

#define SCOPE_BIT(scope) (UINT32_C(1) << (scope))
typedef uint32_t scope_set;

/* What is granted; nothing wider than what it names. */
struct grant {
	enum ask_kind kind;
	/*
	 * WRITE: a canonical path, and everything below it if it is a directory. UNIX_SOCKET: the
	 * canonical path of the socket. CONNECT: a host in normal form, with ":PORT" unless every
	 * port is meant ("[::1]:443" for IPv6), as a key of `domains`. ESCALATE: "", the request's
	 * argv is what is granted.
	 */
	struct str subject;
	bool is_dir; /* WRITE */
};

struct offer {
	struct grant grant;
	scope_set scopes; /* that can be had for it */
};

enum { ASK_MAX_MINUTES = 7 * 24 * 60 };
enum { ASK_MAX_OFFERS = 8, ASK_MAX_ARGV = 256, ASK_MAX_BYTES = 256 << 10 };

/* A request. All strings are borrowed; the broker copies what it keeps. */
struct ask {
	uint64_t id; /* chosen by who asks, not 0, never used twice in a run */
	enum ask_kind kind;
	enum operation operation;
	struct str subject; /* as it resolved */
	struct str named;   /* as the program wrote it; "": not known */
	struct str program; /* its path in the sandbox; "": not known */
	int32_t pid;	    /* in the sandbox; 0: not known */
	const struct str *argv;
	size_t argv_count;
	struct str cwd;			     /* "": not known */
	struct str rule;		     /* that refuses it, in words */
	struct origin origin;		     /* where that is written */
	struct str reason;		     /* what the command says; "" */
	struct offer offers[ASK_MAX_OFFERS]; /* narrowest first */
	size_t offer_count;
	size_t least_depth; /* of WRITE: a grant with fewer components does not reach it */
	bool is_alone;	    /* never asked together with an equal request */
};

struct answer {
	bool is_allow;
	enum grant_scope scope; /* of an allow */
	uint32_t minutes;	/* of SCOPE_MINUTES, 1 to a week */
	struct grant grant;	/* of an allow: within one of the offers; borrowed */
	bool is_narrowest; /* `grant` is not set: the narrowest offer that has the scope is meant */
	bool denies_rest;  /* "deny all": every later request of this run as well */
	struct str message; /* for the command, from who decided; "" */
	bool is_unusable;   /* a deny, because the decider gave no answer that could be used */
	const char *by;	    /* "rule", "cache", "tty", "cmd", "fd", "socket", "callback", "limit",
				   "deadline", "nobody" */
};

const char *ask_kind_name(enum ask_kind kind) RETURNS_NONNULL;
const char *grant_scope_name(enum grant_scope scope) RETURNS_NONNULL;
const char *ask_kind_words(enum ask_kind kind) RETURNS_NONNULL;
const char *grant_scope_words(enum grant_scope scope) RETURNS_NONNULL;
/* False: there is none of that name. */
bool ask_kind_parse(struct str name, enum ask_kind *out) MUST_CHECK NONNULL;
bool grant_scope_parse(struct str name, enum grant_scope *out) MUST_CHECK NONNULL;
/* The name of a scope, or "minutes:N" with N from 1 to ASK_MAX_MINUTES; else `*minutes` is 0. */
bool grant_lasting_parse(struct str text, enum grant_scope *out, uint32_t *minutes)
	MUST_CHECK NONNULL;

/*
 * Whether `wide` covers all that `narrow` does. Paths are compared by components. ESCALATE: whoever
 * compares has to compare the argv of the requests as well.
 */
bool grant_covers(const struct grant *wide, const struct grant *narrow) NONNULL;

/*
 * Whether it is written as struct grant says: a plain path, a host with a port that is one. Nothing
 * is looked up: whether a path is canonical, and is a directory, has to be seen when it is opened.
 */
bool grant_is_well_formed(const struct grant *grant) NONNULL;

/* A grant of that host, in its one spelling; port 0: of every port. */
int grant_of_host(struct arena *a, const struct hostname *host, uint16_t port, struct grant *out,
		  struct err *e) MUST_CHECK NONNULL;

/* ---- Who decides --------------------------------------------------------------------------- */

struct broker;

/*
 * One decider for each run. ask() begins to ask and returns at once; the answer comes through
 * broker_decide(), perhaps before ask() returns. It may have many requests in flight, or queue them.
 * False: nobody can be asked any more; then and later every request that would be asked is denied.
 * `ask` is good until ask() returns, or broker_decide() was called for it; the deadline is from now.
 */
struct decider {
	const char *by;
	bool (*ask)(void *self, const struct ask *ask, uint64_t deadline_ms);
	/* Nobody waits for the answer any more. */
	void (*withdraw)(void *self, uint64_t id);
	void (*stop)(void *self);
	void *self;
	/* SECURITY: who could write there would decide. No grant may cover it as long as the run goes on. */
	const struct str *places;
	size_t place_count;
};
