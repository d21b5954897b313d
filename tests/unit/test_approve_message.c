/* SPDX-License-Identifier: MIT */
/* Requests and answers as lines of JSON. */
#include "approve/message.h"
#include "base/json.h"
#include "test.h"

static struct ask sample(struct str *argv)
{
	argv[0] = STR("install");
	argv[1] = STR("tool");
	return (struct ask){
		.id = 7,
		.kind = ASK_WRITE,
		.operation = OPERATION_CREATE,
		.subject = STR("/opt/x/bin/tool"),
		.named = STR("bin/tool"),
		.program = STR("/usr/bin/install"),
		.pid = 12,
		.argv = argv,
		.argv_count = 2,
		.cwd = STR("/opt/x"),
		.rule = STR("\":root\" = \"read\""),
		.origin = { .file = "built-in" },
		.reason = STR_EMPTY,
		.offers = { { .grant = { .kind = ASK_WRITE,
					 .subject = STR("/opt/x/bin"),
					 .is_dir = true },
			      .scopes = SCOPE_BIT(SCOPE_RUN) | SCOPE_BIT(SCOPE_ALWAYS) } },
		.offer_count = 1,
	};
}

static const char *print(struct buf *b, const struct ask *ask)
{
	const struct message_run run = { .run = STR("0f5c"), .session = STR_EMPTY };

	message_add_request(b, &run, ask, 120000);
	return b->failed ? "failed" : b->p;
}

TEST(a_request_is_one_line)
{
	scoped_buf b = BUF_INIT(1 << 20);
	struct str argv[2];
	struct ask ask = sample(argv);

	CHECK_STR(print(&b, &ask),
		  "{\"v\":1,\"type\":\"request\",\"id\":7,\"run\":\"0f5c\",\"session\":null,"
		  "\"kind\":\"write\",\"operation\":\"create\",\"subject\":\"/opt/x/bin/tool\","
		  "\"named\":\"bin/tool\",\"program\":\"/usr/bin/install\",\"pid\":12,"
		  "\"argv\":[\"install\",\"tool\"],\"cwd\":\"/opt/x\","
		  "\"rule\":{\"text\":\"\\\":root\\\" = \\\"read\\\"\",\"file\":\"built-in\","
		  "\"line\":null},\"reason\":null,\"offers\":[{\"grant\":{\"kind\":\"write\","
		  "\"path\":\"/opt/x/bin\",\"dir\":true},\"scopes\":[\"run\",\"always\"]}],"
		  "\"deadline_ms\":120000}\n");
}

TEST(a_name_that_is_not_utf_8_comes_as_base64_too)
{
	scoped_buf b = BUF_INIT(1 << 20);
	struct str argv[2];
	struct ask ask = sample(argv);
	const char *text;

	ask.subject = STR("/opt/\xff");
	ask.offers[0].grant.subject = STR("/opt/\xff");
	argv[1] = STR("\xff");
	text = print(&b, &ask);
	CHECK(strstr(text, "\"subject\":\"/opt/\\udcff\",\"subject_base64\":\"L29wdC//\"") != NULL);
	CHECK(strstr(text, "\"path\":\"/opt/\\udcff\",\"path_base64\":\"L29wdC//\"") != NULL);
	CHECK(strstr(text, "\"argv_base64\":[null,\"/w==\"]") != NULL);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

TEST(a_line_end_in_a_name_does_not_end_the_line)
{
	scoped_buf b = BUF_INIT(1 << 20);
	struct str argv[2];
	struct ask ask = sample(argv);
	const char *text;

	ask.subject = STR("/opt/a\n{\"id\":7}\r\033[2J");
	text = print(&b, &ask);
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
	CHECK(!strchr(text, '\033') && !strchr(text, '\r'));
}

TEST(a_request_without_room_fails)
{
	scoped_buf b = BUF_INIT(64);
	struct str argv[2];
	struct ask ask = sample(argv);

	CHECK_STR(print(&b, &ask), "failed");
}

TEST(a_withdrawn_request_is_told)
{
	scoped_buf b = BUF_INIT(1 << 10);

	message_add_withdrawn(&b, 7);
	CHECK_STR(b.p, "{\"v\":1,\"type\":\"withdrawn\",\"id\":7}\n");
}

/* "allow run /x dir", "deny rest 'message'", "allow minutes:5 narrowest", or "7: why" */
static const char *parse(struct arena *a, struct str line)
{
	struct answer answer;
	struct err e = ERR_INIT;
	struct str text;
	uint64_t id;
	int r;

	if (message_parse_answer(a, line, &id, &answer, &e) < 0) {
		r = arena_printf(a, &text, &e, "%u: %s", (unsigned)id, e.text);
	} else if (!answer.is_allow) {
		r = arena_printf(a, &text, &e, "%u deny%s '%.*s'", (unsigned)id,
				 answer.denies_rest ? " rest" : "", STR_ARG(answer.message));
	} else {
		r = arena_printf(a, &text, &e, "%u allow %s:%u %s %.*s%s", (unsigned)id,
				 grant_scope_name(answer.scope), (unsigned)answer.minutes,
				 answer.is_narrowest ? "narrowest"
						     : ask_kind_name(answer.grant.kind),
				 STR_ARG(answer.grant.subject), answer.grant.is_dir ? " dir" : "");
	}
	return r < 0 ? "" : text.p;
}

#define CHECK_PARSE(line, want)                           \
	do {                                              \
		scoped_arena a_ = ARENA_INIT(1 << 20);    \
		CHECK_STR(parse(&a_, STR(line)), (want)); \
	} while (0)

TEST(answers_are_read)
{
	CHECK_PARSE("{\"id\": 7, \"decision\": \"allow\"}\n", "7 allow run:0 narrowest ");
	CHECK_PARSE("{\"id\": 7, \"decision\": \"allow\", \"scope\": \"session\", \"grant\": "
		    "{\"kind\": \"write\", \"path\": \"/opt/x\", \"dir\": true}}",
		    "7 allow session:0 write /opt/x dir");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"grant\":{\"kind\":\"write\","
		    "\"path_base64\":\"L29wdC//\",\"dir\":false}}",
		    "7 allow run:0 write /opt/\xff");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"scope\":\"minutes:10080\"}",
		    "7 allow minutes:10080 narrowest ");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"grant\":{\"kind\":\"connect\","
		    "\"host\":\"Example.COM:443\"}}",
		    "7 allow run:0 connect example.com:443");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"grant\":{\"kind\":\"connect\","
		    "\"host\":\"[2606:4700:0::1]:443\"}}",
		    "7 allow run:0 connect [2606:4700::1]:443");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"grant\":{\"kind\":\"unix_socket\","
		    "\"path\":\"/run/x\"}}",
		    "7 allow run:0 unix_socket /run/x");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"grant\":{\"kind\":\"escalate\"}}",
		    "7 allow run:0 escalate ");
	CHECK_PARSE("{\"id\":7,\"decision\":\"deny\",\"message\":\"no\",\"rest\":true}",
		    "7 deny rest 'no'");
}

TEST(what_is_no_answer_is_refused_with_a_reason)
{
	CHECK_PARSE("", "0: 1:1: expected a value, found the end of the text");
	CHECK_PARSE("[7]", "0: an answer is an object");
	CHECK_PARSE("{\"decision\": \"allow\"}", "0: 'id' is missing");
	CHECK_PARSE("{\"id\":0,\"decision\":\"deny\"}", "0: 'id' is no number from 1 on");
	CHECK_PARSE("{\"id\":-7,\"decision\":\"deny\"}", "0: 'id' is no number from 1 on");
	CHECK_PARSE("{\"id\":7.0,\"decision\":\"deny\"}", "0: 'id' is no number from 1 on");
	CHECK_PARSE("{\"id\":\"7\",\"decision\":\"deny\"}", "0: 'id' is no number from 1 on");
	CHECK_PARSE("{\"id\":7}", "7: 'decision' is missing");
	CHECK_PARSE("{\"id\":7,\"decision\":true}", "7: 'decision' is no string");
	CHECK_PARSE("{\"id\":7,\"decision\":\"Allow\"}", "7: there is no decision 'Allow'");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"scop\":1}",
		    "7: an answer has no member 'scop'");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"scope\":\"forever\"}",
		    "7: there is no scope 'forever'");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"scope\":null}", "7: 'scope' is no string");
	CHECK_PARSE("{\"id\":7,\"decision\":\"deny\",\"scope\":\"run\"}",
		    "7: only an answer \"allow\" may have 'scope' or 'grant'");
	CHECK_PARSE("{\"id\":7,\"decision\":\"allow\",\"rest\":false}",
		    "7: 'rest' belongs to a deny");
	CHECK_PARSE("{\"id\":7,\"decision\":\"deny\",\"rest\":1}",
		    "7: 'rest' is neither true nor false");
	CHECK_PARSE("{\"id\":7,\"decision\":\"deny\",\"message\":7}", "7: 'message' is no string");
}

TEST(minutes_are_a_plain_number_of_their_range)
{
	static const char *const wrong[] = { "minutes",	    "minutes:",		 "minutes:0",
					     "minutes:01",  "minutes:10081",	 "minutes:99999",
					     "minutes:+1",  "minutes:1 ",	 "minutes: 1",
					     "minutes:1.5", "minutes:4294967297" };

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct err e = ERR_INIT;
		struct str line;

		REQUIRE(arena_printf(&a, &line, &e,
				     "{\"id\":7,\"decision\":\"allow\",\"scope\":\"%s\"}",
				     wrong[i]) == 0);
		CHECK_STR(parse(&a, line), "7: minutes are written as minutes:N, from 1 to 10080");
	}
}

TEST(grants_are_read_strictly)
{
#define ALLOW "{\"id\":7,\"decision\":\"allow\",\"grant\":"
	CHECK_PARSE(ALLOW "\"/x\"}", "7: 'grant' is no object");
	CHECK_PARSE(ALLOW "null}", "7: 'grant' is no object");
	CHECK_PARSE(ALLOW "{}}", "7: 'kind' is missing");
	CHECK_PARSE(ALLOW "{\"kind\":\"read\"}}", "7: there is no kind 'read'");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"/x\"}}", "7: 'dir' is missing");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"dir\":true}}", "7: 'path' is missing");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"/x\",\"dir\":1}}",
		    "7: 'dir' is neither true nor false");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"/x/../y\",\"dir\":true}}",
		    "7: '/x/../y' is no plain absolute path");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"x\",\"dir\":true}}",
		    "7: 'x' is no plain absolute path");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"/x\",\"dir\":true,\"host\":\"a\"}}",
		    "7: this grant has no member 'host'");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path\":\"/x\",\"path_base64\":\"L3g=\","
			  "\"dir\":true}}",
		    "7: 'path_base64' stands in the place of 'path'");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path_base64\":\"!\",\"dir\":true}}",
		    "7: 'path_base64' is no path in base64");
	CHECK_PARSE(ALLOW "{\"kind\":\"write\",\"path_base64\":\"L3gA\",\"dir\":true}}",
		    "7: '/x\\x00' is no plain absolute path");
	CHECK_PARSE(ALLOW "{\"kind\":\"unix_socket\",\"path\":\"/x\",\"dir\":true}}",
		    "7: this grant has no member 'dir'");
}

TEST(no_line_is_read_that_a_json_parser_could_read_in_two_ways)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	static const char with_nul[] = "{\"id\":7,\"decision\":\"deny\",\"message\":\"a\0b\"}";
	const char *text = parse(&a, (struct str){ with_nul, sizeof(with_nul) - 1 });

	CHECK(text[0] == '0' && text[1] == ':');
	CHECK(strstr(parse(&a, STR("{\"id\":7,\"id\":8,\"decision\":\"deny\"}")), "0: ") != NULL);
	CHECK(strstr(parse(&a, STR("{\"id\":7,\"decision\":\"deny\"} {}")), "0: ") != NULL);
	CHECK(strstr(parse(&a, STR("{\"id\":7,\"decision\":\"deny\",\"message\":\"\\u0000\"}")),
		     "0: ") != NULL);
	CHECK(strstr(parse(&a, STR("{\"id\":7,\"decision\":\"deny\",\"message\":\"\xff\"}")),
		     "0: ") != NULL);
	CHECK(strstr(parse(&a, STR("{\"id\":9223372036854775808,\"decision\":\"deny\"}")), "0: ") !=
	      NULL);
}

TEST(a_line_of_more_than_64_kib_is_refused)
{
	static char line[MESSAGE_MAX_ANSWER + 2];
	scoped_arena a = ARENA_INIT(1 << 20);
	static const char answer[] = "{\"id\":7,\"decision\":\"deny\"}";

	memset(line, ' ', sizeof(line));
	memcpy(line, answer, sizeof(answer) - 1);
	line[MESSAGE_MAX_ANSWER] = '\n';
	CHECK_STR(parse(&a, (struct str){ line, MESSAGE_MAX_ANSWER + 1 }), "7 deny ''");
	line[MESSAGE_MAX_ANSWER] = ' ';
	CHECK_STR(parse(&a, (struct str){ line, MESSAGE_MAX_ANSWER + 1 }),
		  "0: the line is longer than 64 KiB");
}
