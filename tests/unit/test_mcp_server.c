/* SPDX-License-Identifier: MIT */
/* The protocol against a host that does nothing of its own (tests/support/mcp_host.h). */
#include "../support/mcp_host.h"

#include "test.h"

#define META(capabilities)                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"new\"},"             \
	"\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define ELICITS "{\"elicitation\":{}}"

static struct mcp_fake *fake(void)
{
	static struct mcp_fake f;
	struct err e = ERR_INIT;

	CHECK_INT(mcp_fake_init(&f, &e), 0);
	return &f;
}

static void feed(struct mcp_fake *f, const char *text)
{
	mcp_feed(f->m, str_of(text));
	mcp_feed(f->m, STR("\n"));
	CHECK(!f->is_broken);
}

/* The next line that was sent; NULL: there is none. */
static const struct json *next(struct mcp_fake *f)
{
	return f->read < f->line_count ? f->lines[f->read++] : NULL;
}

/* A member by its path, "result/tools/0/name". */
static const struct json *find(const struct json *value, const char *path)
{
	struct str rest = str_of(path);

	while (value && rest.len) {
		struct str part = str_first(rest, str_find(rest, '/'));
		char name[100];

		rest = str_from(rest, part.len + 1);
		(void)snprintf(name, sizeof(name), "%.*s", STR_ARG(part));
		if (value->type == JSON_ARRAY) {
			size_t i = (size_t)atoi(name);

			value = i < value->array.count ? &value->array.items[i] : NULL;
		} else {
			value = json_find(value, name);
		}
	}
	return value;
}

static const char *text(const struct json *value, const char *path)
{
	const struct json *found = value ? find(value, path) : NULL;
	static char out[4][2000];
	static size_t turn;
	char *place = out[turn++ % 4];

	(void)snprintf(place, sizeof(out[0]), "%s", found ? "?" : "none");
	if (found && found->type == JSON_STRING)
		(void)snprintf(place, sizeof(out[0]), "%.*s", (int)found->string.len,
			       found->string.p);
	else if (found && found->type == JSON_INT)
		(void)snprintf(place, sizeof(out[0]), "%lld", (long long)found->integer);
	return place;
}

#define CHECK_ERROR(f, id_, code_)                                       \
	do {                                                             \
		const struct json *answer_ = next(f);                    \
		CHECK_STR(text(answer_, "id"), (id_));                   \
		CHECK_STR(text(answer_, "error/code"), (code_));         \
		CHECK(answer_ &&find(answer_, "error/message") != NULL); \
	} while (0)

static void initialize(struct mcp_fake *f, const char *version, const char *capabilities)
{
	char line[500];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		       "\"protocolVersion\":\"%s\",\"capabilities\":%s,\"clientInfo\":{\"name\":"
		       "\"tester\",\"version\":\"1\"}}}",
		       version, capabilities);
	feed(f, line);
	CHECK_STR(text(next(f), "result/serverInfo/name"), "cordon");
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static const struct tool_result done = {
	.text = STR_INIT("it is done"),
	.structured = STR_INIT("{\"done\":true}"),
};

static const struct cordon_grant offers[] = {
	{ .kind = "write", .subject = "/w/f", .scopes = CORDON_SCOPE_ONCE | CORDON_SCOPE_SESSION },
};

static void ask(struct mcp_fake *f, size_t call, uint64_t id)
{
	const struct cordon_ask_request question = {
		.size = sizeof(question),
		.id = id,
		.kind = "write",
		.subject = "/w/f",
		.offers = offers,
		.offer_count = 1,
	};

	mcp_call_ask(f->calls[call].call, &question);
}

#define CALL(id, ...)                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
	"\"name\":\"write_file\",\"arguments\":{\"path\":\"f\"}" __VA_ARGS__ "}}"

/* ---- Eras and versions ---------------------------------------------------------------------------- */

TEST(each_version_of_the_session_era_is_spoken)
{
	static const char *const versions[][2] = {
		{ "2024-11-05", "2024-11-05" }, { "2025-03-26", "2025-03-26" },
		{ "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
		{ "2026-07-28", "2025-11-25" }, { "2099-01-01", "2025-11-25" },
		{ "", "2025-11-25" },
	};

	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct mcp_fake *f = fake();
		char line[300];
		const struct json *answer;

		(void)snprintf(line, sizeof(line),
			       "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\","
			       "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
			       versions[i][0]);
		feed(f, line);
		answer = next(f);
		CHECK_STR(text(answer, "id"), "i");
		CHECK_STR(text(answer, "result/protocolVersion"), versions[i][1]);
		CHECK(find(answer, "result/capabilities/tools") != NULL);
		CHECK(!find(answer, "result/resultType"));
		mcp_fake_done(f);
	}
}

TEST(a_tool_has_what_its_version_knows)
{
	static const struct {
		const char *version;
		bool has_annotations, has_output_schema;
	} cases[] = { { "2024-11-05", false, false },
		      { "2025-03-26", true, false },
		      { "2025-06-18", true, true } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mcp_fake *f = fake();
		const struct json *answer;

		initialize(f, cases[i].version, "{}");
		feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		answer = next(f);
		CHECK_INT(find(answer, "result/tools")->array.count, TOOL_COUNT);
		for (size_t t = 0; t < TOOL_COUNT; t++) {
			const struct json *tool = &find(answer, "result/tools")->array.items[t];

			CHECK_STR(text(tool, "inputSchema/type"), "object");
			CHECK_INT(find(tool, "annotations") != NULL, cases[i].has_annotations);
			CHECK_INT(find(tool, "outputSchema") != NULL, cases[i].has_output_schema);
		}
		CHECK(!find(answer, "result/nextCursor"));
		feed(f, CALL("2"));
		mcp_call_done(f->calls[0].call, &done);
		answer = next(f);
		CHECK_INT(find(answer, "result/structuredContent") != NULL,
			  cases[i].has_output_schema);
		CHECK(!find(answer, "result/isError"));
		mcp_fake_done(f);
	}
}

TEST(before_initialize_there_is_ping_and_nothing_else)
{
	struct mcp_fake *f = fake();

	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	CHECK_ERROR(f, "1", "-32600");
	feed(f, CALL("2"));
	CHECK_ERROR(f, "2", "-32600");
	CHECK_INT(f->call_count, 0);
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
	CHECK(find(next(f), "result") != NULL);
	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("4"));
	CHECK_INT(f->call_count, 1);
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}}}");
	CHECK_ERROR(f, "5", "-32600");
	mcp_fake_done(f);
}

TEST(wrong_types_of_initialize_are_refused_and_it_can_be_sent_again)
{
	struct mcp_fake *f = fake();

	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}");
	CHECK_ERROR(f, "1", "-32602");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":1}}");
	CHECK_ERROR(f, "2", "-32602");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-11-25\",\"capabilities\":[]}}");
	CHECK_ERROR(f, "3", "-32602");
	initialize(f, "2025-11-25", "{}");
	mcp_fake_done(f);
}

TEST(the_stateless_era_needs_no_session)
{
	struct mcp_fake *f = fake();
	const struct json *answer;

	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META(
			"{}") "}}");
	answer = next(f);
	CHECK_STR(text(answer, "result/resultType"), "complete");
	CHECK_STR(text(answer, "result/supportedVersions/0"), "2026-07-28");
	CHECK_STR(text(answer, "result/cacheScope"), "private");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META(
			"{}") "}}");
	answer = next(f);
	CHECK_STR(text(answer, "result/resultType"), "complete");
	CHECK(find(answer, "result/ttlMs") != NULL);
	feed(f, CALL("3", "," META("{}")));
	REQUIRE(f->call_count == 1);
	CHECK(!f->calls[0].asks);
	mcp_call_done(f->calls[0].call, &done);
	answer = next(f);
	CHECK_STR(text(answer, "id"), "3");
	CHECK_STR(text(answer, "result/resultType"), "complete");
	CHECK_STR(text(answer, "result/content/0/text"), "it is done");
	/* What that era does not know. */
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{" META("{}") "}}");
	CHECK_ERROR(f, "4", "-32601");
	mcp_fake_done(f);
}

TEST(a_stateless_request_without_what_it_needs_is_refused)
{
	struct mcp_fake *f = fake();
	const struct json *answer;

	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
	CHECK_ERROR(f, "1", "-32602");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
	answer = next(f);
	CHECK_STR(text(answer, "error/code"), "-32022");
	CHECK_STR(text(answer, "error/data/supported/0"), "2026-07-28");
	CHECK_STR(text(answer, "error/data/requested"), "2027-01-01");
	feed(f,
	     "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":5}}");
	CHECK_ERROR(f, "3", "-32602");
	mcp_fake_done(f);
}

/* ---- Bad input ------------------------------------------------------------------------------------ */

TEST(a_version_of_megabytes_is_refused_in_one_line)
{
	enum { SIZE = 4 << 20 };
	struct mcp_fake *f = fake();
	char *line = malloc(SIZE + 1000), *end;

	REQUIRE(line);
	end = line + sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
				   "\"params\":{\"_meta\":{"
				   "\"io.modelcontextprotocol/clientCapabilities\":{},"
				   "\"io.modelcontextprotocol/protocolVersion\":\"");
	/* Two bytes each, and six in JSON as it is written. */
	for (size_t i = 0; i < SIZE / 2; i++, end += 2)
		memcpy(end, "\xc2\x85", 2);
	(void)sprintf(end, "\"}}}");
	feed(f, line);
	CHECK_ERROR(f, "1", "-32022");
	CHECK(!f->is_broken && f->longest < 10000);
	free(line);
	mcp_fake_done(f);
}

TEST(what_is_no_message_gets_an_error_and_the_server_goes_on)
{
	static const struct {
		const char *line, *id, *code;
	} cases[] = {
		{ "nonsense", "none", "-32700" },
		{ "{", "none", "-32700" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"id\":7,", "7", "-32700" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":\"u\"}", "u", "-32700" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"method\":\"y\",\"id\":8}", "8",
		  "-32700" },
		{ "\"text\"", "none", "-32600" },
		{ "[]", "none", "-32600" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "none", "-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"no/such\"}", "9", "-32601" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/subscribe\"}", "9",
		  "-32601" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/"
		  "list\",\"params\":{\"cursor\":\"a\"}}",
		  "9", "-32602" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\"}", "9", "-32602" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":\"rm\"}}",
		  "9", "-32602" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":"
		  "\"read_file\",\"arguments\":[]}}",
		  "9", "-32602" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/read\"}", "9", "-32602" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/read\",\"params\":{\"uri\":"
		  "\"cordon://x\"}}",
		  "9", "-32002" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"logging/"
		  "setLevel\",\"params\":{\"level\":"
		  "\"loud\"}}",
		  "9", "-32602" },
	};
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		feed(f, cases[i].line);
		CHECK_ERROR(f, cases[i].id, cases[i].code);
		feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
		CHECK(find(next(f), "result") != NULL);
	}
	CHECK_INT(f->call_count, 0);
	mcp_fake_done(f);
}

TEST(nesting_and_size_have_limits_that_are_told_with_the_id)
{
	struct mcp_fake *f = fake();
	enum { DEEP = 100000, LONG = 11 << 20 };
	char *line = malloc(LONG + 200);

	REQUIRE(line);
	initialize(f, "2025-11-25", "{}");
	(void)strcpy(line, "{\"id\":5,\"method\":\"x\",\"jsonrpc\":\"2.0\",\"params\":");
	memset(line + strlen(line), '[', DEEP);
	line[DEEP] = '\0';
	feed(f, line);
	CHECK_ERROR(f, "5", "-32600");
	memset(line, 'a', LONG);
	memcpy(line, "{\"method\":\"x\",\"params\":{\"p\":\"", 29);
	(void)strcpy(line + LONG, "\"},\"jsonrpc\":\"2.0\",\"id\":6}");
	feed(f, line);
	CHECK_ERROR(f, "6", "-32600");
	/* A tree of which each leaf is two bytes. */
	for (size_t i = 0; i < 9 << 20; i += 2)
		memcpy(line + i, "0,", 2);
	memcpy(line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"p\":  [", 54);
	(void)strcpy(line + (9 << 20), "0]}}");
	feed(f, line);
	CHECK_ERROR(f, "7", "-32600");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	CHECK(find(next(f), "result") != NULL);
	free(line);
	mcp_fake_done(f);
}

TEST(a_broken_message_does_not_answer_a_call_that_runs)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("5"));
	feed(f, "{\"method\":\"x\",\"id\":5,");
	CHECK_ERROR(f, "none", "-32700");
	mcp_call_done(f->calls[0].call, &done);
	CHECK_STR(text(next(f), "id"), "5");
	mcp_fake_done(f);
}

/* ---- Calls ---------------------------------------------------------------------------------------- */

TEST(calls_run_side_by_side_and_end_in_any_order)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1"));
	feed(f, CALL("\"1\""));
	feed(f, CALL("2"));
	CHECK_INT(mcp_waiting(f->m), 3);
	feed(f, CALL("2"));
	CHECK_ERROR(f, "none", "-32600");
	mcp_call_done(f->calls[2].call, &done);
	CHECK_STR(text(next(f), "id"), "2");
	mcp_call_done(f->calls[0].call, &done);
	CHECK_INT(find(next(f), "id")->type, JSON_INT);
	mcp_call_done(f->calls[1].call, &done);
	CHECK_INT(find(next(f), "id")->type, JSON_STRING);
	CHECK_INT(mcp_waiting(f->m), 0);
	mcp_fake_done(f);
}

#define STATE(name, value) "\"codex/sandbox-state" name "\":" value

TEST(the_sandbox_of_codex_goes_with_its_calls)
{
	struct mcp_fake *f = fake();
	const struct json *answer;

	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}");
	answer = next(f);
	REQUIRE(find(answer, "result/capabilities/experimental") != NULL);
	CHECK(json_find(find(answer, "result/capabilities/experimental"), "codex/sandbox-state") !=
	      NULL);
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	feed(f, CALL("1"));
	feed(f, CALL("2", ",\"_meta\":{" STATE("", "{\"a\":1}") "}"));
	feed(f, CALL("3", ",\"_meta\":{" STATE("-meta", "{\"a\":1}") "}"));
	feed(f,
	     CALL("4", ",\"_meta\":{" STATE("", "{\"a\":1}") "," STATE("-meta", "{\"a\":1}") "}"));
	CHECK_INT(f->call_count, 4);
	CHECK(!f->calls[0].has_state && f->calls[1].has_state && f->calls[2].has_state &&
	      f->calls[3].has_state);
	feed(f,
	     CALL("5", ",\"_meta\":{" STATE("", "{\"a\":1}") "," STATE("-meta", "{\"a\":2}") "}"));
	CHECK_ERROR(f, "5", "-32602");
	CHECK_INT(f->call_count, 4);
	mcp_fake_done(f);
}

TEST(a_codex_that_tells_it_apart_from_the_calls_gets_none_done)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-06-18", "{}");
	feed(f, CALL("1"));
	CHECK_INT(f->call_count, 1);
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"codex/sandbox-state/"
		"update\",\"params\":{}}");
	CHECK_ERROR(f, "2", "-32601");
	feed(f, CALL("3"));
	CHECK_ERROR(f, "3", "-32600");
	feed(f, CALL("4", ",\"_meta\":{" STATE("", "{}") "}"));
	CHECK_INT(f->call_count, 2);
	mcp_fake_done(f);
}

TEST(too_many_calls_are_refused_until_one_ends)
{
	struct mcp_fake *f = fake();
	char line[300];

	initialize(f, "2025-11-25", "{}");
	for (int i = 1; i <= MCP_MAX_CALLS; i++) {
		(void)snprintf(line, sizeof(line), CALL("%d"), i);
		feed(f, line);
	}
	CHECK(!next(f));
	feed(f, CALL("1000"));
	CHECK_ERROR(f, "1000", "-32000");
	mcp_call_done(f->calls[7].call, &done);
	CHECK_STR(text(next(f), "id"), "8");
	feed(f, CALL("1001"));
	CHECK(!next(f));
	mcp_fake_done(f);
}

TEST(a_call_that_is_cancelled_is_ended_and_not_answered)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1"));
	feed(f, CALL("2"));
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":1}}");
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":\"2\"}}");
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
	CHECK(f->calls[0].is_cancelled);
	CHECK(!f->calls[1].is_cancelled);
	CHECK(!next(f));
	mcp_fake_done(f);
	CHECK(f->calls[1].is_cancelled);
}

TEST(a_host_that_can_not_start_a_call_is_an_internal_error)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	f->fails_start = true;
	feed(f, CALL("1"));
	CHECK_ERROR(f, "1", "-32603");
	CHECK_INT(mcp_waiting(f->m), 0);
	mcp_fake_done(f);
}

TEST(progress_grows_and_goes_to_those_who_want_it)
{
	struct mcp_fake *f = fake();
	const struct json *told;

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1"));
	mcp_call_output(f->calls[0].call, 1, STR("not wanted"));
	CHECK(!next(f));
	feed(f, CALL("2", ",\"_meta\":{\"progressToken\":\"t\"}"));
	mcp_call_output(f->calls[1].call, 1, STR("abc"));
	told = next(f);
	CHECK_STR(text(told, "method"), "notifications/progress");
	CHECK_STR(text(told, "params/progressToken"), "t");
	CHECK_STR(text(told, "params/progress"), "3");
	CHECK_STR(text(told, "params/message"), "abc");
	CHECK(!find(told, "params/total"));
	f->now_ms += 1000;
	mcp_call_progress(f->calls[1].call, 3, 10, STR_EMPTY);
	CHECK(!next(f));
	f->now_ms += 1000;
	mcp_call_progress(f->calls[1].call, 5, 10, STR_EMPTY);
	told = next(f);
	CHECK_STR(text(told, "params/total"), "10");
	CHECK(!find(told, "params/message"));
	mcp_fake_done(f);
}

TEST(much_output_is_told_in_few_messages_and_its_end_is_not_lost)
{
	struct mcp_fake *f = fake();
	enum { PIECES = 10000, PIECE = 1000 };
	static char piece[PIECE];
	size_t before, count = 0;
	const struct json *told, *last = NULL;

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1", ",\"_meta\":{\"progressToken\":1}"));
	before = f->sent_bytes;
	memset(piece, '\1', sizeof(piece));
	for (int i = 0; i < PIECES; i++) {
		mcp_call_output(f->calls[0].call, 1, (struct str){ piece, sizeof(piece) });
		f->now_ms += i % 10 == 0; /* a second in all */
	}
	mcp_call_output(f->calls[0].call, 2, STR("the end"));
	while ((told = next(f)) != NULL)
		count++;
	CHECK(count >= 2 && count <= 12);
	CHECK(f->sent_bytes - before < 1 << 20);
	CHECK(mcp_next_ms(f->m) > f->now_ms);
	/* Whoever does not keep up is told later. */
	f->is_behind = true;
	f->now_ms = mcp_next_ms(f->m);
	mcp_tick(f->m);
	CHECK(!next(f) && mcp_next_ms(f->m) > f->now_ms);
	f->is_behind = false;
	f->now_ms = mcp_next_ms(f->m);
	mcp_tick(f->m);
	last = next(f);
	CHECK_STR(text(last, "params/progress"), "10000007");
	CHECK(last && str_has_suffix(find(last, "params/message")->string, STR("the end")));
	CHECK_INT(mcp_next_ms(f->m), 0);
	mcp_fake_done(f);
}

TEST(a_command_does_not_speak_to_the_terminal_of_who_sees_its_progress)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1", ",\"_meta\":{\"progressToken\":1}"));
	mcp_call_output(f->calls[0].call, 1, STR("a\tb\n\033[2J\r\xff\xc3\xa9"));
	CHECK_STR(text(next(f), "params/message"), "a\tb\n\\x1b[2J\\x0d\\xff\xc3\xa9");
	mcp_fake_done(f);
}

TEST(an_answer_over_ten_mebibytes_becomes_a_refusal)
{
	struct mcp_fake *f = fake();
	enum { SIZE = 6 << 20 };
	char *big = malloc(SIZE);
	struct tool_result result = { .text = { big, SIZE }, .structured = STR_INIT("{}") };
	const struct json *answer;

	REQUIRE(big);
	initialize(f, "2025-11-25", "{}");
	memset(big, 'a', SIZE);
	feed(f, CALL("1"));
	mcp_call_done(f->calls[0].call, &result);
	CHECK_INT(find(next(f), "result/content/0/text")->string.len, SIZE);
	/* Each takes six bytes in JSON. */
	memset(big, '\1', SIZE);
	feed(f, CALL("2"));
	mcp_call_done(f->calls[1].call, &result);
	answer = next(f);
	CHECK_STR(text(answer, "id"), "2");
	CHECK_STR(text(answer, "result/structuredContent/error/kind"), "too_large");
	CHECK(find(answer, "result/isError") != NULL);
	CHECK(f->longest <= 10 << 20);
	free(big);
	mcp_fake_done(f);
}

TEST(what_is_not_utf8_is_sent_as_utf8)
{
	const struct tool_result result = {
		.text = STR_INIT("a\xff"),
		.structured = STR_INIT("{\"path\":\"\\udc80 \\\\udc81\"}\n"),
	};
	struct mcp_fake *f = fake();
	const struct json *answer;

	initialize(f, "2025-11-25", "{}");
	feed(f, CALL("1"));
	mcp_call_done(f->calls[0].call, &result);
	answer = next(f);
	CHECK_STR(text(answer, "result/content/0/text"), "a\xef\xbf\xbd");
	CHECK_STR(text(answer, "result/structuredContent/path"), "\xef\xbf\xbd \\udc81");
	mcp_fake_done(f);
}

/* ---- Batches -------------------------------------------------------------------------------------- */

TEST(a_batch_is_answered_as_one_when_all_of_it_is)
{
	struct mcp_fake *f = fake();
	const struct json *answer;

	initialize(f, "2025-03-26", "{}");
	feed(f, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}," CALL(
			"2") "," CALL("3") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":5}]");
	CHECK(!next(f));
	mcp_call_done(f->calls[1].call, &done);
	CHECK(!next(f));
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":2}}");
	answer = next(f);
	REQUIRE(answer && answer->type == JSON_ARRAY);
	CHECK_INT(answer->array.count, 3);
	CHECK_STR(text(answer, "0/id"), "1");
	CHECK_STR(text(answer, "1/id"), "4");
	CHECK_STR(text(answer, "2/id"), "3");
	/* Of notifications alone there is no answer. */
	feed(f, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]");
	CHECK(!next(f));
	mcp_fake_done(f);
}

TEST(other_versions_have_no_batches)
{
	static const char *const versions[] = { "2024-11-05", "2025-06-18", "2025-11-25" };

	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct mcp_fake *f = fake();

		initialize(f, versions[i], "{}");
		feed(f, "[" CALL("1") "]");
		CHECK_ERROR(f, "none", "-32600");
		CHECK_INT(f->call_count, 0);
		mcp_fake_done(f);
	}
}

/* ---- Roots ---------------------------------------------------------------------------------------- */

TEST(roots_of_the_client_are_asked_for_and_an_empty_list_changes_nothing)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-11-25", "{\"roots\":{\"listChanged\":true}}");
	CHECK_STR(text(next(f), "method"), "roots/list");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
	CHECK_INT(f->root_count, 0);
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
	CHECK_STR(text(next(f), "id"), "2");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"roots\":[{\"uri\":\"file:///a%20b\"},"
		"{\"uri\":5},5,{\"uri\":\"https://x/\"},{\"uri\":\"file:///c\"}]}}");
	CHECK_INT(f->root_count, 2);
	CHECK_STR(f->roots[0], "/a b");
	CHECK_STR(f->roots[1], "/c");
	/* Nobody asked. */
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"roots\":[{\"uri\":\"file:///d\"}]}}");
	CHECK_INT(f->root_count, 2);
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"\"}}");
	CHECK(!next(f));
	mcp_fake_done(f);
}

/* ---- Questions ------------------------------------------------------------------------------------ */

TEST(a_question_is_a_request_to_the_client_and_the_call_goes_on)
{
	struct mcp_fake *f = fake();
	const struct json *asked;

	initialize(f, "2025-11-25", ELICITS);
	feed(f, CALL("1"));
	CHECK(f->calls[0].asks);
	ask(f, 0, 40);
	asked = next(f);
	CHECK_STR(text(asked, "method"), "elicitation/create");
	CHECK_STR(text(asked, "params/mode"), "form");
	CHECK_STR(text(asked, "params/requestedSchema/properties/decision/enum/1"), "once");
	CHECK_STR(text(asked, "params/requestedSchema/properties/decision/enum/2"), "session");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{"
		"\"decision\":\"session\"}}}");
	REQUIRE(f->answer_count == 1);
	CHECK_INT(f->answers[0].id, 40);
	CHECK_INT(f->answers[0].decision, CORDON_DECISION_ALLOW);
	CHECK_STR(f->answers[0].scope, "session");
	CHECK_STR(f->answers[0].by, "client tester");
	/* Once. */
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{"
		"\"decision\":\"session\"}}}");
	CHECK_INT(f->answer_count, 1);
	mcp_call_done(f->calls[0].call, &done);
	CHECK_STR(text(next(f), "id"), "1");
	mcp_fake_done(f);
}

TEST(an_error_in_the_place_of_an_answer_denies)
{
	struct mcp_fake *f = fake();

	initialize(f, "2025-06-18", ELICITS);
	feed(f, CALL("1"));
	ask(f, 0, 40);
	CHECK(!find(next(f), "params/mode"));
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
	REQUIRE(f->answer_count == 1);
	CHECK_INT(f->answers[0].decision, CORDON_DECISION_DENY);
	mcp_fake_done(f);
}

TEST(clients_that_can_not_be_asked_are_not_asked)
{
	static const char *const cases[][2] = {
		{ "2025-11-25", "{}" },
		{ "2025-11-25", "{\"elicitation\":{\"url\":{}}}" },
		{ "2025-11-25", "{\"elicitation\":true}" },
		{ "2025-03-26", ELICITS },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mcp_fake *f = fake();

		initialize(f, cases[i][0], cases[i][1]);
		feed(f, CALL("1"));
		CHECK(!f->calls[0].asks);
		mcp_fake_done(f);
	}
}

TEST(what_nobody_waits_for_is_withdrawn_in_the_client)
{
	struct mcp_fake *f = fake();
	const struct json *told;

	initialize(f, "2025-11-25", ELICITS);
	feed(f, CALL("1"));
	ask(f, 0, 40);
	(void)next(f);
	mcp_call_withdraw(f->calls[0].call, 40);
	told = next(f);
	CHECK_STR(text(told, "method"), "notifications/cancelled");
	CHECK_STR(text(told, "params/requestId"), "1");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\",\"content\":{"
		"\"decision\":\"once\"}}}");
	CHECK_INT(f->answer_count, 0);
	/* The same when the call is cancelled. */
	ask(f, 0, 41);
	(void)next(f);
	feed(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		"\"requestId\":1}}");
	CHECK_STR(text(next(f), "params/requestId"), "2");
	mcp_fake_done(f);
}

static void end_call(struct mcp_fake *f, uint64_t id)
{
	(void)id;
	mcp_call_done(f->calls[0].call, &done);
}

TEST(a_call_may_end_while_it_is_answered)
{
	struct mcp_fake *f = fake();

	f->answered = end_call;
	initialize(f, "2025-11-25", ELICITS);
	feed(f, CALL("1"));
	ask(f, 0, 40);
	(void)next(f);
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"decline\"}}");
	CHECK_STR(text(next(f), "result/content/0/text"), "it is done");
	CHECK_INT(mcp_waiting(f->m), 0);
	mcp_fake_done(f);
}

/* ---- Questions that leave with an answer ------------------------------------------------------------ */

/* The ticket of the answer that asks. */
static const char *take_ticket(struct mcp_fake *f, char out[TICKET_BYTES])
{
	const struct json *answer = next(f);

	CHECK_STR(text(answer, "result/resultType"), "input_required");
	CHECK_STR(text(answer, "result/inputRequests/q40/method"), "elicitation/create");
	(void)snprintf(out, TICKET_BYTES, "%s", text(answer, "result/requestState"));
	return out;
}

static void repeat(struct mcp_fake *f, const char *id, const char *tool, const char *path,
		   const char *ticket)
{
	char line[1000];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{"
		"\"name\":\"%s\",\"arguments\":{\"path\":\"%s\"},\"requestState\":\"%s\","
		"\"inputResponses\":{\"q40\":{\"action\":\"accept\",\"content\":{\"decision\":"
		"\"once\"}}}," META(ELICITS) "}}",
		id, tool, path, ticket);
	feed(f, line);
}

static struct mcp_fake *parked(char ticket[TICKET_BYTES])
{
	struct mcp_fake *f = fake();

	feed(f, CALL("1", "," META(ELICITS)));
	ask(f, 0, 40);
	(void)take_ticket(f, ticket);
	CHECK_INT(mcp_waiting(f->m), 0);
	return f;
}

TEST(a_parked_call_goes_on_with_the_answer)
{
	char ticket[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);

	repeat(f, "2", "write_file", "f", ticket);
	CHECK_INT(f->call_count, 1);
	REQUIRE(f->answer_count == 1);
	CHECK_INT(f->answers[0].id, 40);
	CHECK_INT(f->answers[0].decision, CORDON_DECISION_ALLOW);
	CHECK_STR(f->answers[0].by, "client new");
	CHECK(!next(f));
	mcp_call_done(f->calls[0].call, &done);
	CHECK_STR(text(next(f), "id"), "2");
	/* Accepted once: the same again is a call of its own. */
	repeat(f, "3", "write_file", "f", ticket);
	CHECK_INT(f->call_count, 2);
	CHECK_INT(f->answer_count, 1);
	mcp_fake_done(f);
}

TEST(a_ticket_does_not_count_for_anything_else)
{
	static const struct {
		const char *tool, *path, *change;
	} cases[] = {
		{ "delete_file", "f", NULL },
		{ "write_file", "g", NULL },
		{ "write_file", "f",
		  "c1.1.9999999.0000000000000000000000000000000000000000000000000"
		  "000000000000000" },
		{ "write_file", "f", "" },
		{ "write_file", "f", "c1.2" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char ticket[TICKET_BYTES];
		struct mcp_fake *f = parked(ticket);

		repeat(f, "2", cases[i].tool, cases[i].path,
		       cases[i].change ? cases[i].change : ticket);
		CHECK_INT(f->answer_count, 0);
		CHECK_INT(f->call_count, 2); /* a new one, that asks again */
		/* And the right one still counts. */
		repeat(f, "3", "write_file", "f", ticket);
		CHECK_INT(f->answer_count, 1);
		mcp_fake_done(f);
	}
}

TEST(a_policy_that_changed_meanwhile_is_asked_about_again)
{
	char ticket[TICKET_BYTES], again[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);

	(void)snprintf(f->digest, sizeof(f->digest), "d2");
	repeat(f, "2", "write_file", "f", ticket);
	CHECK_INT(f->answer_count, 0);
	CHECK_INT(f->call_count, 1); /* the same call */
	(void)take_ticket(f, again);
	CHECK(strcmp(ticket, again) != 0);
	repeat(f, "3", "write_file", "f", ticket);
	CHECK_INT(f->answer_count, 0);
	repeat(f, "4", "write_file", "f", again);
	CHECK_INT(f->answer_count, 1);
	mcp_fake_done(f);
}

TEST(a_parked_call_that_ended_is_told_of_when_it_is_asked_for)
{
	char ticket[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);

	mcp_call_withdraw(f->calls[0].call, 40);
	mcp_call_done(f->calls[0].call, &done);
	CHECK(!next(f));
	repeat(f, "2", "write_file", "f", ticket);
	CHECK_INT(f->answer_count, 0);
	CHECK_STR(text(next(f), "result/content/0/text"), "it is done");
	mcp_fake_done(f);
}

TEST(a_parked_call_is_ended_when_nobody_comes)
{
	char ticket[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);

	CHECK(mcp_next_ms(f->m) > f->now_ms);
	f->now_ms = mcp_next_ms(f->m) - 1;
	mcp_tick(f->m);
	CHECK(!f->calls[0].is_cancelled);
	f->now_ms++;
	mcp_tick(f->m);
	CHECK(f->calls[0].is_cancelled);
	CHECK_INT(mcp_next_ms(f->m), 0);
	repeat(f, "2", "write_file", "f", ticket);
	CHECK_INT(f->call_count, 2);
	mcp_fake_done(f);
}

TEST(parked_calls_make_room_and_the_oldest_goes_first)
{
	char ticket[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);

	for (size_t i = 1; i < MCP_MAX_PARKED; i++) {
		feed(f, CALL("1", "," META(ELICITS)));
		ask(f, i, 40);
		CHECK(next(f) != NULL);
	}
	CHECK(!f->calls[0].is_cancelled);
	feed(f, CALL("1", "," META(ELICITS)));
	CHECK(f->calls[0].is_cancelled);
	CHECK(!f->calls[1].is_cancelled);
	mcp_fake_done(f);
}

TEST(an_answer_without_a_decision_denies_and_one_that_is_missing_asks_again)
{
	char ticket[TICKET_BYTES];
	struct mcp_fake *f = parked(ticket);
	char line[1000];

	(void)snprintf(line, sizeof(line),
		       CALL("2", ",\"requestState\":\"%s\",\"inputResponses\":{}," META(ELICITS)),
		       ticket);
	feed(f, line);
	CHECK_INT(f->answer_count, 0);
	(void)take_ticket(f, ticket);
	(void)snprintf(line, sizeof(line),
		       CALL("3", ",\"requestState\":\"%s\",\"inputResponses\":{\"q40\":{\"action\":"
				 "\"accept\"}}," META(ELICITS)),
		       ticket);
	feed(f, line);
	REQUIRE(f->answer_count == 1);
	CHECK_INT(f->answers[0].decision, CORDON_DECISION_DENY);
	mcp_fake_done(f);
}

/* ---- The rest ------------------------------------------------------------------------------------- */

TEST(resources_say_what_the_host_says)
{
	struct mcp_fake *f = fake();
	const struct json *answer;

	initialize(f, "2025-11-25", "{}");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	answer = next(f);
	CHECK_STR(text(answer, "result/resources/0/uri"), "cordon://policy");
	CHECK_STR(text(answer, "result/resources/1/uri"), "cordon://denials");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":"
		"\"cordon://policy\"}}");
	CHECK_STR(text(next(f), "result/contents/0/text"), "{\"profile\":\"dev\"}");
	mcp_fake_done(f);
}

TEST(warnings_go_to_those_who_want_them)
{
	struct mcp_fake *f = fake();

	mcp_tell(f->m, "nobody is there");
	initialize(f, "2025-11-25", "{}");
	mcp_tell(f->m, "told");
	CHECK_STR(text(next(f), "params/data"), "told");
	feed(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{"
		"\"level\":\"error\"}}");
	CHECK(find(next(f), "result") != NULL);
	mcp_tell(f->m, "not told");
	CHECK(!next(f));
	mcp_fake_done(f);
}

TEST(a_last_message_without_an_end_counts)
{
	struct mcp_fake *f = fake();

	mcp_feed(f->m, STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"));
	CHECK(!next(f));
	mcp_feed_end(f->m);
	CHECK(find(next(f), "result") != NULL);
	mcp_feed_end(f->m);
	CHECK(!next(f));
	mcp_fake_done(f);
}
