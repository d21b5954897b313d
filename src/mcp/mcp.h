/* SPDX-License-Identifier: MIT */
/*
 * A server of the Model Context Protocol, as messages in and messages out: it has no descriptors, no
 * clock and no tools of its own, so all that it does can be tested and fuzzed as it is. Pure.
 *
 *	frame.c, salvage.c	lines, and the id of one that can't be read
 *	rpc.c			JSON-RPC
 *	server.c		what becomes of a message; batches
 *	session.c		eras and versions: initialize, server/discover, what each client can do
 *	methods.c		lists, resources, logging
 *	calls.c			tools/call, side by side; progress, cancellation
 *	asks.c, elicit.c	questions of the broker, in the client
 *	ticket.c		a question that leaves with an answer comes back with the next call
 *	roots.c, uri.c		the client's roots
 *
 * Two eras: up to 2025-11-25 a client says once who it is and what it can do (`initialize`), and is
 * asked by requests of the server. From 2026-07-28 on each request says so itself, and the server asks
 * by answering with a question. A client may use both on one connection.
 *
 * SECURITY: the client is trusted with what its user may do, and no more: whatever it sends, the
 * policy decides. What the model, the project or the command wrote is shown escaped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cordon.h"
#include "mcp/ticket.h"
#include "tools/tool.h"

enum {
	MCP_MAX_CALLS = 64,	/* at once; more are refused, none is queued */
	MCP_MAX_PARKED = 32,	/* of them, whose questions are with the client */
	MCP_MAX_BATCH = 64,	/* messages in one */
	MCP_MAX_QUESTIONS = 16, /* of one call at a time; beyond: denied */
	MCP_PARKED_MS = 10 * 60 * 1000,
};

struct mcp;
struct mcp_call;

struct mcp_start {
	const struct tool *tool;
	const struct json *arguments;	  /* NULL: there are none */
	const struct json *sandbox_state; /* of codex, a ceiling of this call; NULL: there is none */
	bool asks;			  /* the client can be asked */
};

/* What the server is made of; all but `log` must be there. */
struct mcp_host {
	void *user;
	bool approves; /* the tool `approve` is listed */
	/* A whole line, newline included. */
	void (*send)(void *user, struct str line);
	/* Whether the client has yet to read so much that progress has to wait. */
	bool (*is_behind)(void *user);
	/* One line for people. */
	void (*log)(void *user, const char *text);
	uint64_t (*now_ms)(void *user);
	/* Starts a call; what comes of it is told by mcp_call_*(), but not before this has returned. */
	int (*start)(void *user, struct mcp_call *call, const struct mcp_start *what, void **work,
		     struct err *e);
	/* Ends it; nothing is told of it any more. */
	void (*cancel)(void *user, void *work);
	void (*answer)(void *user, uint64_t id, const char *by, const struct cordon_answer *answer);
	/* A root that the client has announced; it opens nothing that the policy does not allow. */
	void (*add_root)(void *user, const char *path);
	const char *(*digest)(void *user); /* of the policy as it is now */
	void (*print_policy)(void *user, struct buf *out);
	void (*print_denials)(void *user, struct buf *out);
};

/* ERR_NOMEM. The key is copied. */
int mcp_new(const struct mcp_host *host, const struct ticket_key *key, struct mcp **out,
	    struct err *e) MUST_CHECK NONNULL;
/* Cancels what still runs. NULL is fine. */
void mcp_free(struct mcp *m);

/* What the client sent, in pieces of any size. */
void mcp_feed(struct mcp *m, struct str bytes) NONNULL;
/* It sends no more: the rest is a message too, if it is a whole one. */
void mcp_feed_end(struct mcp *m) NONNULL;

/* How many calls the client waits for. */
size_t mcp_waiting(const struct mcp *m) NONNULL;

/* Something that people should know, for clients that want to. */
void mcp_tell(struct mcp *m, const char *text) NONNULL;

/* When mcp_tick() has something to do; 0: never. */
uint64_t mcp_next_ms(const struct mcp *m) NONNULL;
void mcp_tick(struct mcp *m) NONNULL;

/* ---- What becomes of a call: `call` is a struct mcp_call ---------------------------------------- */

/* The last of it. */
void mcp_call_done(void *call, const struct tool_result *result) NONNULL;
void mcp_call_output(void *call, int stream, struct str bytes) NONNULL;
void mcp_call_progress(void *call, uint64_t done, uint64_t total, struct str message) NONNULL;
/* Copies what it needs. The answer is host.answer()'s, perhaps before this returns. */
void mcp_call_ask(void *call, const struct cordon_ask_request *ask) NONNULL;
void mcp_call_withdraw(void *call, uint64_t id) NONNULL;

/* Whether its questions leave with an answer: then the client may never come back with theirs. */
bool mcp_call_parks(const struct mcp_call *call) NONNULL;
