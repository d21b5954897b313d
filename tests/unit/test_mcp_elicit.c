/* SPDX-License-Identifier: MIT */
#include "mcp/elicit.h"

#include "test.h"

static struct arena arena = ARENA_INIT(16 << 20);

static const struct cordon_grant offers[] = {
	{ .kind = "write",
	  .subject = "/w/f",
	  .scopes = CORDON_SCOPE_ONCE | CORDON_SCOPE_RUN | CORDON_SCOPE_SESSION |
		    CORDON_SCOPE_MINUTES | CORDON_SCOPE_ALWAYS },
	{ .kind = "write",
	  .subject = "/w",
	  .is_directory = 1,
	  .scopes = CORDON_SCOPE_SESSION | CORDON_SCOPE_ALWAYS },
};

static struct cordon_ask_request ask = {
	.size = sizeof(ask),
	.id = 5,
	.kind = "write",
	.subject = "/w/f",
	.program = "/bin/\x1b[2Jcp",
	.rule = "\":root\" = \"read\"",
	.reason = "line\nforged",
	.offers = offers,
	.offer_count = COUNT_OF(offers),
};

static const struct json *print(const struct elicit *q)
{
	scoped_buf out = BUF_INIT(1 << 20);
	struct json_writer w = JSON_LINE_INIT(&out);
	struct err e = ERR_INIT;
	const struct json *value;

	elicit_print(q, false, &w);
	value = json_parse(&arena, buf_str(&out), &e);
	CHECK(value != NULL);
	return value;
}

static struct cordon_answer answer(const struct elicit *q, const char *result)
{
	struct cordon_answer out;
	struct err e = ERR_INIT;

	elicit_read(q, result ? json_parse(&arena, str_of(result), &e) : NULL, &out);
	return out;
}

TEST(one_field_is_required_and_nothing_is_chosen_beforehand)
{
	const struct json *params, *schema, *decision, *choices;
	struct err e = ERR_INIT;
	struct elicit q;

	REQUIRE(elicit_make(&arena, &ask, true, &q, &e) == 0);
	params = print(&q);
	schema = json_find(params, "requestedSchema");
	CHECK(!json_find(params, "mode"));
	CHECK_INT(json_find(schema, "required")->array.count, 1);
	CHECK_INT(json_find(schema, "properties")->object.count, 1);
	decision = json_find(json_find(schema, "properties"), "decision");
	CHECK(decision && !json_find(decision, "default"));
	choices = json_find(decision, "enum");
	REQUIRE(choices && choices->array.count == 5);
	CHECK_INT(json_find(decision, "enumNames")->array.count, 5);
	CHECK(str_is(choices->array.items[0].string, "deny"));
	CHECK(str_is(choices->array.items[3].string, "session"));
	CHECK(str_is(choices->array.items[4].string, "session: /w"));
	/* Neither always nor minutes. */
	for (size_t i = 0; i < q.choice_count; i++)
		CHECK(!q.choices[i].scope || (strcmp(q.choices[i].scope, "always") != 0 &&
					      strcmp(q.choices[i].scope, "minutes") != 0));
	arena_done(&arena);
}

TEST(run_says_what_has_to_end)
{
	static const char *const ends[] = { "until this server ends", "until this command ends" };
	struct err e = ERR_INIT;
	struct elicit q;

	for (size_t of_command = 0; of_command < COUNT_OF(ends); of_command++) {
		REQUIRE(elicit_make(&arena, &ask, of_command != 0, &q, &e) == 0);
		CHECK_STR(q.choices[2].scope, "run");
		CHECK(str_has_suffix(q.choices[2].title, str_of(ends[of_command])));
	}
	arena_done(&arena);
}

TEST(what_the_command_chose_is_shown_escaped)
{
	struct err e = ERR_INIT;
	struct elicit q;

	REQUIRE(elicit_make(&arena, &ask, true, &q, &e) == 0);
	CHECK(str_find(q.message, '\x1b') == q.message.len);
	for (size_t i = 0; i < q.message.len; i++)
		CHECK(q.message.p[i] != '\n' || q.message.p[i + 1] == 'T');
	arena_done(&arena);
}

TEST(an_accept_with_a_choice_allows_exactly_that)
{
	struct err e = ERR_INIT;
	struct cordon_answer got;
	struct elicit q;

	REQUIRE(elicit_make(&arena, &ask, true, &q, &e) == 0);
	got = answer(&q, "{\"action\":\"accept\",\"content\":{\"decision\":\"once\"}}");
	CHECK_INT(got.decision, CORDON_DECISION_ALLOW);
	CHECK_STR(got.scope, "once");
	CHECK_STR(got.grant->subject, "/w/f");
	got = answer(&q, "{\"action\":\"accept\",\"content\":{\"decision\":\"session: /w\"}}");
	CHECK_STR(got.scope, "session");
	CHECK_STR(got.grant->subject, "/w");
	CHECK_INT(got.grant->is_directory, 1);
	arena_done(&arena);
}

TEST(anything_else_denies)
{
	static const char *const denials[] = {
		"{}",
		"[]",
		"{\"action\":\"accept\"}",
		"{\"action\":\"accept\",\"content\":{}}",
		"{\"action\":\"accept\",\"content\":\"once\"}",
		"{\"action\":\"accept\",\"content\":{\"decision\":\"deny\"}}",
		"{\"action\":\"accept\",\"content\":{\"decision\":\"always\"}}",
		"{\"action\":\"accept\",\"content\":{\"decision\":\"Once\"}}",
		"{\"action\":\"accept\",\"content\":{\"decision\":true}}",
		"{\"action\":\"accept\",\"content\":{\"decision\":[\"once\"]}}",
		"{\"action\":\"decline\",\"content\":{\"decision\":\"once\"}}",
		"{\"action\":\"cancel\",\"content\":{\"decision\":\"once\"}}",
		"{\"action\":1,\"content\":{\"decision\":\"once\"}}",
		"{\"content\":{\"decision\":\"once\"}}",
		NULL,
	};
	struct err e = ERR_INIT;
	struct elicit q;

	REQUIRE(elicit_make(&arena, &ask, true, &q, &e) == 0);
	for (size_t i = 0; i < COUNT_OF(denials); i++)
		CHECK_INT(answer(&q, denials[i]).decision, CORDON_DECISION_DENY);
	arena_done(&arena);
}

TEST(offers_that_can_not_be_had_are_not_offered)
{
	struct cordon_ask_request bare = ask;
	struct err e = ERR_INIT;
	struct elicit q;

	bare.offer_count = 0;
	REQUIRE(elicit_make(&arena, &bare, true, &q, &e) == 0);
	CHECK_INT(q.choice_count, 1);
	CHECK_INT(
		answer(&q, "{\"action\":\"accept\",\"content\":{\"decision\":\"once\"}}").decision,
		CORDON_DECISION_DENY);
	arena_done(&arena);
}
