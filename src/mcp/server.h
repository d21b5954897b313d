/* SPDX-License-Identifier: MIT */
/* What the files of the server share; mcp.h says what each does. */
#pragma once

#include "mcp/elicit.h"
#include "mcp/frame.h"
#include "mcp/mcp.h"
#include "mcp/rpc.h"

/* X(identifier, name): in their order; the last is of the era without a session. */
#define MCP_VERSIONS(X)             \
	X(2024_11_05, "2024-11-05") \
	X(2025_03_26, "2025-03-26") \
	X(2025_06_18, "2025-06-18") \
	X(2025_11_25, "2025-11-25") \
	X(2026_07_28, "2026-07-28")

enum mcp_version {
	MCP_NONE, /* nothing is agreed on yet */
#define MCP_VERSION_ID(id, name) MCP_##id,
	MCP_VERSIONS(MCP_VERSION_ID)
#undef MCP_VERSION_ID
		MCP_VERSION_END
};

const char *mcp_version_name(enum mcp_version version) RETURNS_NONNULL;

/* X(name), from the least on. */
#define MCP_LEVELS(X) \
	X(debug)      \
	X(info)       \
	X(notice)     \
	X(warning)    \
	X(error)      \
	X(critical)   \
	X(alert)      \
	X(emergency)

enum mcp_level {
#define MCP_LEVEL_ID(name) MCP_LEVEL_##name,
	MCP_LEVELS(MCP_LEVEL_ID)
#undef MCP_LEVEL_ID
		MCP_LEVEL_OFF
};

/* MCP_LEVEL_OFF: there is none of that name. */
enum mcp_level mcp_level_find(const struct json *name);

#define MCP_SANDBOX_STATE "codex/sandbox-state"

enum { MCP_BY_BYTES = 80, MCP_MESSAGE_BYTES = 64 << 20, MCP_TAIL_BYTES = 4 << 10 };

/* The answers to several messages that came as one. */
struct batch {
	struct buf out;
	size_t pending;	 /* requests that are not answered */
	bool is_reading; /* more may come */
};

/* Where an answer goes. */
struct addressee {
	struct rpc_id id;
	enum mcp_version version;
	struct batch *batch; /* NULL: it is sent alone */
};

/* A request while it is looked at. */
struct request {
	struct mcp *m;
	struct arena *a; /* of the message */
	const struct rpc_message *message;
	struct addressee to;
	const struct json *meta; /* params._meta, or NULL */
	bool elicits;		 /* its client can be asked */
	enum mcp_level level;	 /* what it wants to be told */
	char by[MCP_BY_BYTES];
};

struct question {
	struct question *next;
	uint64_t id;	  /* the broker's */
	uint64_t request; /* to the client; 0: it is asked by an answer */
	bool is_shown;	  /* went with the answer that the client has */
	struct elicit elicit;
};

/* A tools/call. */
struct mcp_call {
	struct mcp *m;
	struct mcp_call *next;
	struct arena arena;
	struct addressee to;
	struct rpc_id progress; /* its token */
	enum mcp_level level;
	const struct tool *tool;
	char arguments[SHA256_HEX_BYTES];
	char by[MCP_BY_BYTES];
	void *work; /* the host's; NULL: it is over */
	/* Progress: what was told, when more may be told, and how much output was not. */
	uint64_t told, next_told_ms, unseen;
	char tail[MCP_TAIL_BYTES]; /* the end of that */
	size_t tail_bytes;
	struct question *questions;
	bool is_parked; /* the client has an answer that asks; nobody waits for another one */
	bool is_busy;	/* don't free it: somebody below uses it */
	struct ticket ticket;
	char policy[SHA256_HEX_BYTES]; /* when it was parked */
	char asked[SHA256_HEX_BYTES];
	/* What came of it, as long as it can't be told. */
	bool is_done, is_error;
	struct buf text, structured;
};

struct mcp {
	struct mcp_host host;
	struct ticket_key key;
	struct frame frame;
	/* Of the era that begins with `initialize`. */
	enum mcp_version version;
	bool is_ready; /* the client has said so */
	bool elicits, has_roots;
	bool has_told_state; /* of codex's sandbox, as it was done once: apart from the calls */
	enum mcp_level level;
	char by[MCP_BY_BYTES];
	uint64_t roots_request; /* that waits for an answer; 0: none */
	uint64_t last_request, last_ticket;
	struct mcp_call *calls;
	size_t call_count;
};

/* ---- server.c --------------------------------------------------------------------------------- */

/* An answer in the making. */
struct reply {
	struct buf buf;
	struct json_writer w;
};

/* {"jsonrpc", "id", "result": { */
void mcp_reply_begin(struct reply *r, const struct addressee *to) NONNULL;
/* Sends it, or what refuses it if it could not be made. False: it was too long. */
bool mcp_reply_end(struct mcp *m, struct reply *r, const struct addressee *to) NONNULL;

void mcp_refuse(struct mcp *m, const struct addressee *to, enum rpc_code code, const char *fmt, ...)
	PRINTF_LIKE(4, 5) NONNULL;

/* No answer is due any more. */
void mcp_batch_leave(struct mcp *m, struct batch *batch) __attribute__((nonnull(1)));

/* {"jsonrpc", "method", "params": {, and its end, which sends it */
void mcp_notice_begin(struct reply *r, const char *method) NONNULL;
void mcp_notice_end(struct mcp *m, struct reply *r) NONNULL;
/* The same for a request to the client, whose number it gives; `params` are to be written. */
uint64_t mcp_ask_begin(struct mcp *m, struct reply *r, const char *method) NONNULL;
void mcp_ask_end(struct mcp *m, struct reply *r) NONNULL;

/* ---- session.c -------------------------------------------------------------------------------- */

/* Which era and version a request is of, and what its client can do. False: it was refused. */
bool mcp_session_find(struct request *rq) MUST_CHECK NONNULL;
void mcp_session_initialize(struct request *rq) NONNULL;
void mcp_session_discover(struct request *rq) NONNULL;
void mcp_session_begin(struct mcp *m) NONNULL;

/* ---- methods.c -------------------------------------------------------------------------------- */

void mcp_methods_dispatch(struct request *rq) NONNULL;

/* ---- calls.c ---------------------------------------------------------------------------------- */

void mcp_call_begin(struct request *rq) NONNULL;
void mcp_call_cancel(struct mcp *m, const struct json *params) __attribute__((nonnull(1)));
/* Ends it without an answer. */
void mcp_call_drop(struct mcp_call *call) NONNULL;
/* What is kept of it is told. */
void mcp_call_tell(struct mcp_call *call) NONNULL;
bool mcp_call_is_known(const struct mcp *m, const struct rpc_id *id) NONNULL;

/* ---- asks.c ----------------------------------------------------------------------------------- */

/* The call that the request goes on with, if it brings answers for one that waits for them. */
struct mcp_call *mcp_asks_find(const struct request *rq, struct str state, const char *arguments)
	NONNULL;
/* Takes the answers; the call is then told of, asks again, or goes on. */
void mcp_asks_resume(struct mcp_call *call, const struct request *rq) NONNULL;
/* The answer to a request of the server's. False: it was none of these. */
bool mcp_asks_take(struct mcp *m, uint64_t request, const struct json *result)
	__attribute__((nonnull(1)));
void mcp_asks_withdraw_all(struct mcp_call *call) NONNULL;

/* ---- roots.c ---------------------------------------------------------------------------------- */

void mcp_roots_ask(struct mcp *m) NONNULL;
void mcp_roots_take(struct mcp *m, const struct json *result) __attribute__((nonnull(1)));
