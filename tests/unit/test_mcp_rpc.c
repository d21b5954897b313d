/* SPDX-License-Identifier: MIT */
#include "mcp/rpc.h"

#include "test.h"

static struct arena arena = ARENA_INIT(16 << 20);

static bool reads(const char *text, struct rpc_message *m, struct rpc_problem *p)
{
	struct err e = ERR_INIT;
	const struct json *value = json_parse(&arena, str_of(text), &e);

	return CHECK(value != NULL) && rpc_read(value, m, p);
}

TEST(requests_notifications_and_responses_are_told_apart)
{
	struct rpc_message m;
	struct rpc_problem p;

	REQUIRE(reads("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\",\"params\":{\"a\":1}}", &m,
		      &p));
	CHECK_INT(m.kind, RPC_REQUEST);
	CHECK_INT(m.id.number, 5);
	CHECK(str_is(m.method, "x") && rpc_param(m.params, "a") && !rpc_param(m.params, "b"));
	REQUIRE(reads("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", &m, &p));
	CHECK_INT(m.kind, RPC_NOTIFICATION);
	CHECK(!m.params && !rpc_param(m.params, "a"));
	REQUIRE(reads("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}", &m, &p));
	CHECK_INT(m.kind, RPC_RESPONSE);
	CHECK(m.result != NULL);
	REQUIRE(reads("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":1}}", &m, &p));
	CHECK(m.kind == RPC_RESPONSE && !m.result);
	arena_done(&arena);
}

TEST(what_is_no_message_is_refused_under_its_id)
{
	static const struct {
		const char *text;
		int code;
		bool has_id;
	} cases[] = {
		{ "5", RPC_INVALID, false },
		{ "{}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", RPC_INVALID, true },
		{ "{\"jsonrpc\":2,\"id\":1,\"method\":\"x\"}", RPC_INVALID, true },
		{ "{\"id\":1,\"method\":\"x\"}", RPC_INVALID, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", RPC_INVALID, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", RPC_PARAMS,
		  true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rpc_message m;
		struct rpc_problem p;

		CHECK(!reads(cases[i].text, &m, &p));
		CHECK_INT(p.code, cases[i].code);
		CHECK_INT(p.id.kind != RPC_ID_NONE, cases[i].has_id);
	}
	arena_done(&arena);
}

TEST(an_error_has_an_id_or_none_but_never_null)
{
	struct rpc_problem p = { .code = RPC_PARSE, .text = "a \"text\"\nof two lines" };
	scoped_buf out = BUF_INIT(4096);

	rpc_add_error(&out, &p);
	CHECK_STR(out.p, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"a "
			 "\\\"text\\\"\\nof two lines\"}}\n");
	buf_clear(&out);
	p = (struct rpc_problem){ .code = RPC_PARAMS,
				  .text = "t",
				  .id = { RPC_ID_TEXT, 0, STR("i") } };
	rpc_add_error(&out, &p);
	CHECK_STR(out.p, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"error\":{\"code\":-32602,\"message\":"
			 "\"t\"}}\n");
}
