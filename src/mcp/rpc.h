/* SPDX-License-Identifier: MIT */
/*
 * JSON-RPC 2.0 as MCP uses it: what a message is, and how answers are written. Pure.
 *
 * What official clients refuse decides the details (docs/mcp.md): no member beside those of the
 * protocol, no null in the place of what is not there. So an error that belongs to no request has no
 * id at all, though JSON-RPC asks for null.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002, /* before 2026-07-28 */
	RPC_BUSY = -32000,
	RPC_VERSION = -32022, /* since 2026-07-28 */
};

/* Of an answer that is sent, newline included; official clients end the connection at longer ones. */
enum { RPC_MAX_ANSWER = 10 << 20 };

enum { RPC_MAX_ID = 1024 };

struct rpc_id {
	enum { RPC_ID_NONE, RPC_ID_NUMBER, RPC_ID_TEXT } kind;
	int64_t number;
	struct str text;
};

bool rpc_id_equal(const struct rpc_id *a, const struct rpc_id *b) NONNULL;

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

/* Borrowed from the parsed value. */
struct rpc_message {
	enum rpc_kind kind;
	struct rpc_id id; /* of a notification: none */
	struct str method;
	const struct json *params; /* an object, or NULL */
	const struct json *result; /* of a response; NULL: it is an error */
};

/* Why a message or request is refused. */
struct rpc_problem {
	enum rpc_code code;
	struct rpc_id id; /* if that can be told */
	char text[256];
};

/* False: it is none. */
bool rpc_read(const struct json *value, struct rpc_message *out, struct rpc_problem *problem)
	MUST_CHECK NONNULL;

/* A member of `params`; NULL: not there, or `params` is NULL. */
const struct json *rpc_param(const struct json *params, const char *name)
	__attribute__((nonnull(2)));

/* ---- Writing --------------------------------------------------------------------------------- */

/* A value that can be an id or a progress token, and others. */
void rpc_add_id(struct json_writer *w, const struct rpc_id *id) NONNULL;

/*
 * A text of any bytes, and JSON that json.h has written in one line. Its escapes for stray bytes are halves of
 * surrogate pairs, at which strict clients drop the connection: these get U+FFFD.
 */
void rpc_add_text(struct json_writer *w, struct str text) NONNULL;
void rpc_add_json(struct json_writer *w, struct str json) NONNULL;

/* {"jsonrpc": "2.0", and the id, unless there is none */
void rpc_begin(struct json_writer *w, const struct rpc_id *id) __attribute__((nonnull(1)));

/* The whole of an error, as a line. */
void rpc_add_error(struct buf *out, const struct rpc_problem *problem) NONNULL;
