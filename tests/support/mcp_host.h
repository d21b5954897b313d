/* SPDX-License-Identifier: MIT */
/*
 * A host of mcp/mcp.h that does nothing of its own: a test sees what was sent, decides what becomes of
 * each call, and moves the clock. Sent lines are kept parsed.
 */
#pragma once

#include <string.h>

#include "base/json.h"
#include "mcp/mcp.h"

enum { MCP_HOST_CALLS = 128, MCP_HOST_LINES = 512 };

struct mcp_host_call {
	struct mcp_call *call;
	const struct tool *tool;
	bool asks, is_cancelled, has_state;
	char arguments[256];
};

struct mcp_fake {
	struct mcp *m;
	struct arena arena;
	const struct json *lines[MCP_HOST_LINES];
	size_t line_count, read; /* how many, and how many of them the test has looked at */
	size_t sent_bytes, longest;
	bool is_broken; /* something was sent that is no message */
	struct mcp_host_call calls[MCP_HOST_CALLS];
	size_t call_count;
	uint64_t now_ms;
	char digest[SHA256_HEX_BYTES];
	struct {
		uint64_t id, decision;
		char by[100], scope[20], subject[200], message[200];
	} answers[64];
	size_t answer_count;
	char roots[8][200];
	size_t root_count;
	bool fails_start, is_behind;
	/* Called when an answer is given; may tell more of the call. */
	void (*answered)(struct mcp_fake *f, uint64_t id);
};

static void mcp_fake_send(void *user, struct str line)
{
	struct mcp_fake *f = user;
	struct err e = ERR_INIT;
	const struct json *value;

	f->sent_bytes += line.len;
	f->longest = MAX_OF(f->longest, line.len);
	/* One line, whatever is in it. */
	if (!line.len || str_find(line, '\n') != line.len - 1)
		f->is_broken = true;
	if (f->line_count == MCP_HOST_LINES)
		return;
	value = json_parse(&f->arena, line, &e);
	if (!value)
		f->is_broken = true;
	f->lines[f->line_count++] = value;
}

static bool mcp_fake_is_behind(void *user)
{
	const struct mcp_fake *f = user;

	return f->is_behind;
}

static void mcp_fake_log(void *user, const char *text)
{
	(void)user;
	(void)text;
}

static uint64_t mcp_fake_now(void *user)
{
	const struct mcp_fake *f = user;

	return f->now_ms;
}

static int mcp_fake_start(void *user, struct mcp_call *call, const struct mcp_start *what,
			  void **work, struct err *e)
{
	struct mcp_fake *f = user;
	struct mcp_host_call *c = &f->calls[f->call_count % MCP_HOST_CALLS];
	struct buf text = BUF_OVER(c->arguments);
	struct json_writer w = JSON_LINE_INIT(&text);

	if (f->fails_start)
		return FAIL(e, ERR_NOMEM, "out of memory");
	*c = (struct mcp_host_call){ .call = call,
				     .tool = what->tool,
				     .asks = what->asks,
				     .has_state = what->sandbox_state != NULL };
	if (what->arguments)
		json_add_value(&w, what->arguments);
	f->call_count++;
	*work = c;
	return 0;
}

static void mcp_fake_cancel(void *user, void *work)
{
	struct mcp_host_call *c = work;

	(void)user;
	c->is_cancelled = true;
}

static void mcp_fake_keep(char *out, size_t size, const char *text)
{
	size_t len = text ? MIN_OF(strlen(text), size - 1) : 0;

	if (len)
		memcpy(out, text, len);
	out[len] = '\0';
}

static void mcp_fake_answer(void *user, uint64_t id, const char *by,
			    const struct cordon_answer *answer)
{
	struct mcp_fake *f = user;
	size_t i = f->answer_count++ % COUNT_OF(f->answers);

	f->answers[i].id = id;
	f->answers[i].decision = answer->decision;
	mcp_fake_keep(f->answers[i].by, sizeof(f->answers[i].by), by);
	mcp_fake_keep(f->answers[i].scope, sizeof(f->answers[i].scope), answer->scope);
	mcp_fake_keep(f->answers[i].message, sizeof(f->answers[i].message), answer->message);
	mcp_fake_keep(f->answers[i].subject, sizeof(f->answers[i].subject),
		      answer->grant ? answer->grant->subject : NULL);
	if (f->answered)
		f->answered(f, id);
}

static void mcp_fake_root(void *user, const char *path)
{
	struct mcp_fake *f = user;

	mcp_fake_keep(f->roots[f->root_count++ % COUNT_OF(f->roots)], sizeof(f->roots[0]), path);
}

static const char *mcp_fake_digest(void *user)
{
	const struct mcp_fake *f = user;

	return f->digest;
}

static void mcp_fake_policy(void *user, struct buf *out)
{
	(void)user;
	buf_add_text(out, "{\"profile\":\"dev\"}");
}

static void mcp_fake_denials(void *user, struct buf *out)
{
	(void)user;
	buf_add_text(out, "[]");
}

/* 0, or -ERR_NOMEM. */
static int mcp_fake_init(struct mcp_fake *f, struct err *e)
{
	const struct mcp_host host = {
		.user = f,
		.send = mcp_fake_send,
		.is_behind = mcp_fake_is_behind,
		.log = mcp_fake_log,
		.now_ms = mcp_fake_now,
		.start = mcp_fake_start,
		.cancel = mcp_fake_cancel,
		.answer = mcp_fake_answer,
		.add_root = mcp_fake_root,
		.digest = mcp_fake_digest,
		.print_policy = mcp_fake_policy,
		.print_denials = mcp_fake_denials,
	};
	const struct ticket_key key = { .bytes = "not very secret" };

	*f = (struct mcp_fake){ .arena = ARENA_INIT(256 << 20), .now_ms = 1000 };
	mcp_fake_keep(f->digest, sizeof(f->digest), "d1");
	return mcp_new(&host, &key, &f->m, e);
}

static void mcp_fake_done(struct mcp_fake *f)
{
	mcp_free(f->m);
	arena_done(&f->arena);
}
