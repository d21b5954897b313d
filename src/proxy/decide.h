/* SPDX-License-Identifier: MIT */
/*
 * The policy in the proxy: P13 and P14 for a host, an address or a method, and the texts that the
 * client, the report and the audit log show. Rules can be added while it runs.
 */
#pragma once

#include "base/arena.h"
#include "base/hostname.h"
#include "plan/net.h"
#include "plan/plan.h"
#include "proxy/channel.h"

/* A host that owns its name, for a connection to keep. */
struct target {
	bool is_ip;
	struct ip ip; /* when is_ip */
	uint16_t port;
	char name[PROXY_HOST_BYTES]; /* normal form, NUL behind it */
};

struct hostname target_host(const struct target *t) NONNULL;
bool target_is_same(const struct target *a, const struct target *b) NONNULL PURE;

/* Parses a host in any spelling. False: it is not one, and `why` says so in one line. */
bool target_parse(struct target *out, struct str host, uint16_t port, char *why, size_t why_bytes)
	MUST_CHECK NONNULL;

/* Where a user would add a rule: the file, as it can be shown. */
enum { RULE_PLACE_BYTES = 1024 };
struct rule_place {
	char prefix[RULE_PLACE_BYTES]; /* of its key; "": none */
	/* text that follows the file's name; "" if there is no such file */
	char words[RULE_PLACE_BYTES];
};

/* Call before the fork, because it allocates. ERR_NOMEM, ERR_LIMIT. */
int rule_place_find(struct rule_place *out, const struct policy *policy, struct err *e)
	MUST_CHECK NONNULL;

struct rules;

/*
 * Maps all the memory that it will ever need; allocates nothing. ERR_NOMEM, ERR_LIMIT, ERR_SYNTAX.
 */
int rules_make(struct rules **out, const struct plan *plan, const struct rule_place *place,
	       bool has_decider, struct err *e) MUST_CHECK NONNULL;
void rules_done(struct rules *r) NONNULL;

/* Applies from the next question on; earlier verdicts stay valid. ERR_SYNTAX, ERR_LIMIT. */
int rules_add(struct rules *r, bool is_allow, struct str pattern, struct err *e) MUST_CHECK NONNULL;

/* How many rules were added. A verdict from another count may be outdated. */
size_t rules_added(const struct rules *r) NONNULL PURE;

enum { PROXY_PROFILE_BYTES = 64 };

struct judgement {
	enum decision decision;
	enum proxy_reason reason;	/* PROXY_ALLOWED, PROXY_DENIED_*; of ASK: DENIED_UNLISTED */
	const struct rule_place *place; /* in the rules' own memory; NULL: unknown */
	char rule[PROXY_RULE_BYTES];
	char rule_file[PROXY_FILE_BYTES];
	uint32_t rule_line;
	char profile[PROXY_PROFILE_BYTES]; /* whose rules these are */
};

void rules_judge(const struct rules *r, const struct target *t, struct judgement *out) NONNULL;

/* Checks the address that is about to be dialled (P13). */
void rules_judge_address(const struct rules *r, const struct ip *ip, uint16_t port,
			 struct judgement *out) NONNULL;

/*
 * Whether some port of that name is allowed, so that it may be looked up. False if the user would
 * have to be asked first, because the DNS query alone would reveal the name to others.
 */
bool rules_may_look_up(const struct rules *r, const struct target *t) NONNULL;

/*
 * Checks a method (P14). The judgement is DENIED_METHOD, or DENIED_TUNNEL for the method "" (a
 * tunnel, which the proxy can't see into), with the line that says "limited".
 */
void rules_judge_method(const struct rules *r, struct str method, struct judgement *out) NONNULL;
bool rules_pass_method(const struct rules *r, struct str method) NONNULL;
bool rules_are_limited(const struct rules *r) NONNULL;

/* ---- refusal.c: what the client reads ---------------------------------------------- */

struct refusal {
	enum proxy_reason reason;
	int os_error;
	const struct target *target;	   /* NULL if there is none (yet) */
	const struct judgement *judgement; /* NULL: none */
	const struct ip *address;	   /* that rules_judge_address() refused; NULL: none */
	struct str method;
	struct str detail; /* of a bad request: what is wrong with it; else "" */
	unsigned status;   /* a more precise HTTP status; 0: refusal_status() */
};

/* "blocked-by-allowlist", …: the header x-proxy-error, and the same in JSON. */
const char *refusal_code(enum proxy_reason reason) RETURNS_NONNULL;
unsigned refusal_status(enum proxy_reason reason);     /* 403, 502, 504, 400, 407, 503 */
uint8_t refusal_socks_reply(enum proxy_reason reason); /* RFC 1928: 2 for policy, 4, 5, 6, 1 */
int refusal_errno(enum proxy_reason reason);	       /* what connect() fails with */

/* Room for refusal_text() and refusal_answer(); with less the text is cut, or the answer fails. */
enum { REFUSAL_TEXT_BYTES = 1536, REFUSAL_ANSWER_BYTES = 8192 };

/* The parts of the text: what was refused and why; and what would allow it, "" if nothing does. */
void refusal_why(const struct refusal *r, struct buf *out) NONNULL;
void refusal_way(const struct refusal *r, struct buf *out) NONNULL;

/* Whether --allow-host alone would allow it. Appends that option's value to `out`. */
bool refusal_allow_host(const struct refusal *r, struct buf *out) NONNULL;

/* One line without a newline: what was refused, why, and how to allow it. Cut to fit. */
void refusal_text(const struct refusal *r, struct buf *out) NONNULL;

/*
 * A complete answer with head and body. `wants_json`: the client prefers JSON, or has no Accept
 * header; else text. `is_head`: no body. `closes`: adds "Connection: close".
 */
void refusal_answer(const struct refusal *r, bool wants_json, bool is_head, bool closes,
		    struct buf *out) NONNULL;
