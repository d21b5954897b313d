/* SPDX-License-Identifier: MIT */
/*
 * Policy in the proxy: P13 and P14 for a host, an address, a method, in the words that
 * the client, the report and the audit show. Rules may be added while it runs.
 */
#pragma once

#include "base/arena.h"
#include "base/hostname.h"
#include "plan/net.h"
#include "plan/plan.h"
#include "proxy/channel.h"

/* A host with room for its own name: what a connection keeps. */
struct target {
	bool is_ip;
	struct ip ip; /* when is_ip */
	uint16_t port;
	char name[PROXY_HOST_BYTES]; /* normal form, NUL behind it */
};

struct hostname target_host(const struct target *t) NONNULL;
bool target_is_same(const struct target *a, const struct target *b) NONNULL PURE;

/* Reads "host" in any of its spellings. False when it is none (`why` in one line). */
bool target_parse(struct target *out, struct str host, uint16_t port, char *why, size_t why_bytes)
	MUST_CHECK NONNULL;

/* Where one more rule would stand in a file, fit to be shown. */
enum { RULE_PLACE_BYTES = 1024 };
struct rule_place {
	char prefix[RULE_PLACE_BYTES]; /* of its key; "": none */
	char words[RULE_PLACE_BYTES];  /* that follow it; "": there is no such file */
};

/* Before the fork: it allocates. ERR_NOMEM, ERR_LIMIT. */
int rule_place_find(struct rule_place *out, const struct policy *policy, struct err *e)
	MUST_CHECK NONNULL;

struct rules;

/* All that it will ever need is mapped, nothing allocated. ERR_NOMEM, ERR_LIMIT, ERR_SYNTAX. */
int rules_make(struct rules **out, const struct plan *plan, const struct rule_place *place,
	       bool has_decider, struct err *e) MUST_CHECK NONNULL;
void rules_done(struct rules *r) NONNULL;

/* Counts from the next question on; verdicts that were given stay valid. ERR_SYNTAX, ERR_LIMIT. */
int rules_add(struct rules *r, bool is_allow, struct str pattern, struct err *e) MUST_CHECK NONNULL;

/* How many were added: what was judged at another number may be judged otherwise now. */
size_t rules_added(const struct rules *r) NONNULL PURE;

enum { PROXY_PROFILE_BYTES = 64 };

struct judgement {
	enum decision decision;
	enum proxy_reason reason;	/* PROXY_ALLOWED, PROXY_DENIED_*; of ASK: DENIED_UNLISTED */
	const struct rule_place *place; /* of the rules' own; NULL: unknown */
	char rule[PROXY_RULE_BYTES];
	char rule_file[PROXY_FILE_BYTES];
	uint32_t rule_line;
	char profile[PROXY_PROFILE_BYTES]; /* whose rules these are */
};

void rules_judge(const struct rules *r, const struct target *t, struct judgement *out) NONNULL;

/* P13's second look, at the address about to be dialled. */
void rules_judge_address(const struct rules *r, const struct ip *ip, uint16_t port,
			 struct judgement *out) NONNULL;

/*
 * Whether some port of that name may be reached: then it may be looked up. Not when somebody
 * would have to be asked first: the look-up alone would tell the name to the world.
 */
bool rules_may_look_up(const struct rules *r, const struct target *t) NONNULL;

/*
 * P14. The judgement is DENIED_METHOD, or DENIED_TUNNEL for the method "" (a tunnel that
 * can't be looked into), with the line that says "limited".
 */
void rules_judge_method(const struct rules *r, struct str method, struct judgement *out) NONNULL;
bool rules_pass_method(const struct rules *r, struct str method) NONNULL;
bool rules_are_limited(const struct rules *r) NONNULL;

/* ---- refusal.c: what the client is told --------------------------------------------- */

struct refusal {
	enum proxy_reason reason;
	int os_error;
	const struct target *target;	   /* NULL when there is none (yet) */
	const struct judgement *judgement; /* NULL: none */
	const struct ip *address;	   /* that the second look refused; NULL: none */
	struct str method;
	struct str detail; /* of a bad request: what is wrong with it; "" else */
	unsigned status;   /* that HTTP has for just that; 0: refusal_status() */
};

/* "blocked-by-allowlist", …: the header x-proxy-error, and the same word in JSON. */
const char *refusal_code(enum proxy_reason reason) RETURNS_NONNULL;
unsigned refusal_status(enum proxy_reason reason);     /* 403, 502, 504, 400, 407, 503 */
uint8_t refusal_socks_reply(enum proxy_reason reason); /* RFC 1928: 2 for policy, 4, 5, 6, 1 */
int refusal_errno(enum proxy_reason reason);	       /* what connect() fails with */

/* What refusal_text() and refusal_answer() need at most; with less they are cut, or fail. */
enum { REFUSAL_TEXT_BYTES = 1536, REFUSAL_ANSWER_BYTES = 8192 };

/* Its parts: what and why, without "blocked:"; and what would allow it, "" when nothing does. */
void refusal_why(const struct refusal *r, struct buf *out) NONNULL;
void refusal_way(const struct refusal *r, struct buf *out) NONNULL;

/* Whether --allow-host alone allows it, with the value that is added to `out`. */
bool refusal_allow_host(const struct refusal *r, struct buf *out) NONNULL;

/* One line without a newline: what, why, and how to allow it. Cut to fit. */
void refusal_text(const struct refusal *r, struct buf *out) NONNULL;

/*
 * A whole answer, head and body: JSON when `wants_json` (the Accept header prefers it, or
 * there is none), else text. `is_head`: without the body. `closes`: says so.
 */
void refusal_answer(const struct refusal *r, bool wants_json, bool is_head, bool closes,
		    struct buf *out) NONNULL;
