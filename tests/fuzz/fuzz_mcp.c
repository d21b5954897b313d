/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what a client of MCP sends. Whatever comes, the server sends whole messages, each of
 * one line, and goes on: a request at the end is answered. Calls are asked about, answered and
 * left alone by turns, and the bytes come in pieces.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../support/mcp_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct cordon_grant offers[] = {
	{ .kind = "write", .subject = "/w/f", .scopes = CORDON_SCOPE_ONCE | CORDON_SCOPE_SESSION },
	{ .kind = "write", .subject = "/w", .is_directory = 1, .scopes = CORDON_SCOPE_ALWAYS },
};

static const struct cordon_ask_request question = {
	.size = sizeof(question),
	.id = 7,
	.kind = "write",
	.operation = "create",
	.subject = "/w/f",
	.offers = offers,
	.offer_count = COUNT_OF(offers),
};

static const struct tool_result result = {
	.text = STR_INIT("text\nof \"two\" lines"),
	.structured = STR_INIT("{\"a\":1}"),
};

static void finish(struct mcp_fake *f, size_t i)
{
	struct mcp_host_call *c = &f->calls[i % MCP_HOST_CALLS];

	if (!c->call || c->is_cancelled)
		return;
	mcp_call_done(c->call, &result);
	c->call = NULL;
}

static void answered(struct mcp_fake *f, uint64_t id)
{
	if (id == question.id && f->call_count)
		finish(f, f->call_count - 1);
}

/* What becomes of a call depends on its number alone, so that an input always does the same. */
static void play(struct mcp_fake *f, size_t *seen)
{
	for (; *seen < f->call_count; (*seen)++) {
		struct mcp_host_call *c = &f->calls[*seen % MCP_HOST_CALLS];

		if (c->is_cancelled)
			continue;
		mcp_call_output(c->call, 1, STR("out\xff"));
		mcp_call_progress(c->call, 3, 9, STR("on"));
		if (c->asks && *seen % 2 == 0)
			mcp_call_ask(c->call, &question);
		else if (*seen % 3)
			finish(f, *seen);
	}
	f->now_ms += 1000;
	if (f->now_ms % 7000 == 0)
		mcp_tick(f->m);
}

static void check(const struct mcp_fake *f)
{
	if (f->is_broken || f->longest > 10 << 20)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char last[] =
		"\n{\"jsonrpc\":\"2.0\",\"id\":\"the last\",\"method\":\"server/discover\"}\n";
	struct mcp_fake *f = malloc(sizeof(*f));
	struct err e = ERR_INIT;
	size_t seen = 0, before;

	if (!f || mcp_fake_init(f, &e) < 0)
		abort();
	f->answered = answered;
	for (size_t at = 0; at < size;) {
		size_t piece = MIN_OF(size - at, (size_t)1 + (at * 7 + size) % 200);

		mcp_feed(f->m, (struct str){ (const char *)data + at, piece });
		play(f, &seen);
		at += piece;
	}
	before = f->sent_bytes;
	mcp_feed(f->m, STR_EMPTY);
	mcp_feed(f->m, (struct str){ last, sizeof(last) - 1 });
	mcp_feed_end(f->m);
	check(f);
	if (f->sent_bytes == before)
		abort();
	mcp_fake_done(f);
	free(f);
	return 0;
}
