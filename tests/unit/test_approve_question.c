/* SPDX-License-Identifier: MIT */
/* A request in words, and the answer that was typed. */
#include "approve/question.h"

#include "base/utf8.h"

#include "test.h"

static struct ask make_ask(void)
{
	static const struct str argv[] = { STR_INIT("install"), STR_INIT("a tool") };

	return (struct ask){
		.id = 1,
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
		.origin = { .file = "/etc/c.toml", .line = 7 },
		.reason = STR("it is needed"),
		.offers = { { .grant = { ASK_WRITE, STR("/opt/x/bin/tool"), false },
			      .scopes = SCOPE_BIT(SCOPE_ONCE) },
			    { .grant = { ASK_WRITE, STR("/opt/x/bin"), true },
			      .scopes = SCOPE_BIT(SCOPE_RUN) | SCOPE_BIT(SCOPE_ALWAYS) |
					SCOPE_BIT(SCOPE_MINUTES) } },
		.offer_count = 2,
	};
}

static void show_entry(void *user, const struct grant *grant, struct buf *out)
{
	(void)user;
	buf_add_text(out, "the entry for ");
	buf_add(out, grant->subject);
}

static const char *show(struct buf *out, const struct ask *ask, size_t columns, size_t rows)
{
	const struct question_look look = {
		.columns = columns, .rows = rows, .left_ms = 119001, .show_entry = show_entry
	};

	buf_clear(out);
	question_add(out, ask, &look);
	buf_add_char(out, '\0');
	CHECK_INT(out->failed, ERR_OK);
	return out->p;
}

/* No line is wider than the window, and nothing but text and ends of lines is there. */
static void check_lines(const struct buf *out, size_t columns)
{
	struct str rest = { out->p, out->len - 1 }, line;
	size_t count = 0;

	for (; str_next_line(&rest, &line); count++) {
		uint32_t c;

		CHECK(utf8_shown_width(line) <= columns);
		for (size_t at = 0; at < line.len;) {
			if (!utf8_next(line, &at, &c)) {
				CHECK(false);
				break;
			}
			CHECK(!utf8_is_control(c) && !utf8_is_invisible(c));
		}
	}
	CHECK(count <= QUESTION_MAX_LINES);
}

TEST(a_question_says_all_that_is_asked)
{
	scoped_buf out = BUF_INIT(64 << 10);
	const struct ask ask = make_ask();
	const char *text = show(&out, &ask, 100, 40);

	CHECK(strstr(text, "/usr/bin/install (process 12)"));
	CHECK(strstr(text, "wants to create\n    /opt/x/bin/tool\n"));
	CHECK(strstr(text, "named: bin/tool\n"));
	CHECK(strstr(text, "refused by: \":root\" = \"read\" (/etc/c.toml:7)\n"));
	CHECK(strstr(text, "command: install 'a tool'\n"));
	CHECK(strstr(text, "directory: /opt/x\n"));
	CHECK(strstr(text, "the command says: it is needed\n"));
	CHECK(strstr(text, "1: write to /opt/x/bin/tool\n    once\n"));
	CHECK(strstr(text, "2: write to /opt/x/bin and all below it\n    minutes:N run always\n"));
	CHECK(strstr(text, "always: the entry for /opt/x/bin\n"));
	CHECK(strstr(show(&out, &ask, 400, 40), "Denied if not answered in 120s.\n"));
	text = show(&out, &ask, 100, 40);
	CHECK(strstr(text, "\"2 run\""));
	check_lines(&out, 100);
}

static const char *const hostile[] = {
	"\x1b[2J\x1b]0;x\a",
	"a\r\nAnswer with one of those words",
	"\xc2\x9b"
	"31m",
	"\xe2\x80\xae"
	"drow\xe2\x81\xa6\xe2\x80\xa8",
	"a\xe2\x80\x8b"
	"b\xef\xbb\xbf\xe2\x81\xa0\xc2\xad\xe3\x85\xa4",
	"\xff\xfe\xc0\x80\xe2\x80",
	"\xf3\xa0\x81\x81\xf3\xa0\x84\x80",
};

TEST(what_a_terminal_obeys_and_what_has_no_shape_is_visible)
{
	scoped_buf out = BUF_INIT(64 << 10);

	for (size_t i = 0; i < COUNT_OF(hostile); i++) {
		struct ask ask = make_ask();
		const struct str text = str_of(hostile[i]);
		const struct str argv[] = { text, text };

		ask.subject = ask.named = ask.program = ask.cwd = ask.rule = ask.reason = text;
		ask.offers[0].grant.subject = ask.offers[1].grant.subject = text;
		ask.argv = argv;
		for (size_t columns = 20; columns < 120; columns += 33) {
			(void)show(&out, &ask, columns, 10);
			check_lines(&out, columns);
		}
		CHECK(strstr(out.p, "\\x") || strstr(out.p, "\\u{"));
	}
}

TEST(long_names_are_cut_in_the_middle)
{
	scoped_buf out = BUF_INIT(256 << 10);
	struct ask ask = make_ask();
	char name[4096];

	memset(name, 'm', sizeof(name));
	memcpy(name, "/begin/", 7);
	memcpy(name + sizeof(name) - 4, "/end", 4);
	ask.subject = (struct str){ name, sizeof(name) };
	ask.offers[1].grant.subject = ask.subject;
	for (size_t columns = 20; columns < 200; columns += 7) {
		const char *text = show(&out, &ask, columns, 24);

		CHECK(strstr(text, "    /begin/"));
		CHECK(strstr(text, "[...]"));
		/* Its end may be on two lines of a narrow window. */
		CHECK(columns < 60 || strstr(text, "/end\n"));
		check_lines(&out, columns);
	}
	CHECK(out.len < 6000);
}

TEST(ten_thousand_words_take_few_lines)
{
	enum { WORDS = 10000 };
	static struct str words[WORDS];
	scoped_buf out = BUF_INIT(256 << 10);
	struct ask ask = make_ask();

	for (size_t i = 0; i < WORDS; i++)
		words[i] = STR("word");
	ask.argv = words;
	ask.argv_count = WORDS;
	CHECK(strstr(show(&out, &ask, 80, 24), "and 9968 more words"));
	check_lines(&out, 80);
}

TEST(wide_characters_take_two_columns)
{
	scoped_buf out = BUF_INIT(64 << 10);
	struct ask ask = make_ask();
	char name[300];
	struct str rest, line;

	for (size_t i = 0; i < sizeof(name); i += 3)
		memcpy(name + i, "\xe6\x96\x87", 3);
	ask.subject = (struct str){ name, sizeof(name) };
	(void)show(&out, &ask, 41, 40);
	rest = (struct str){ out.p, out.len - 1 };
	while (str_next_line(&rest, &line))
		/* Each of them has three bytes. */
		if (line.len > 10 && line.p[4] == '\xe6')
			CHECK(2 * line.len <= 3 * 41 + 12);
}

static bool parse(const char *line, struct answer *out)
{
	static struct ask ask;
	scoped_buf why = BUF_INIT(1024);
	bool is_answer;

	ask = make_ask();
	is_answer = question_parse(str_of(line), &ask, out, &why);
	CHECK(is_answer == (why.len == 0));
	return is_answer;
}

TEST(one_word_answers)
{
	struct answer answer;

	REQUIRE(parse("once", &answer));
	CHECK(answer.is_allow && answer.scope == SCOPE_ONCE && !answer.grant.is_dir);
	REQUIRE(parse("  run ", &answer));
	CHECK(answer.is_allow && answer.scope == SCOPE_RUN && answer.grant.is_dir);
	REQUIRE(parse("2 always", &answer));
	CHECK(answer.is_allow && answer.scope == SCOPE_ALWAYS && answer.grant.is_dir);
	REQUIRE(parse("deny", &answer));
	CHECK(!answer.is_allow && !answer.denies_rest);
	REQUIRE(parse("denyall", &answer));
	CHECK(!answer.is_allow && answer.denies_rest);
}

TEST(upper_case_answers_as_well)
{
	struct answer answer;

	REQUIRE(parse("Run", &answer));
	CHECK(answer.is_allow && answer.scope == SCOPE_RUN);
	REQUIRE(parse("2 ALWAYS", &answer));
	CHECK(answer.is_allow && answer.scope == SCOPE_ALWAYS);
	REQUIRE(parse("DenyAll", &answer));
	CHECK(!answer.is_allow && answer.denies_rest);
}

TEST(a_line_that_answers_nothing_is_told_why)
{
	static const struct {
		const char *line, *why;
	} cases[] = {
		{ "3 run", "there is no offer 3" },
		{ "0 run", "there is no such offer" },
		{ "2 once", "offer 2 can't be had \"once\"" },
		{ "1 run", "offer 1 can't be had \"run\"" },
		{ "session", "there is no session: start with --session NAME" },
		{ "yes", "that is no answer; write once, minutes:N, run, always, deny or denyall" },
		{ "2", "that is no answer; write once, minutes:N, run, always, deny or denyall" },
	};
	const struct ask ask = make_ask();

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_buf why = BUF_INIT(1024);
		struct answer answer;

		CHECK(!question_parse(str_of(cases[i].line), &ask, &answer, &why));
		CHECK(str_is(buf_str(&why), cases[i].why));
	}
}

TEST(minutes_are_offered_and_answered_with_their_number)
{
	static const char *const wrong[] = { "minutes",	    "minutes:",	  "minutes:0",
					     "minutes:010", "minutes 5",  "minutes:10081",
					     "minutes:5x",  "1 minutes:5" };
	scoped_buf said = BUF_INIT(1024);
	const struct ask ask = make_ask();
	struct answer answer;

	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		scoped_buf why = BUF_INIT(1024);

		CHECK(!question_parse(str_of(wrong[i]), &ask, &answer, &why) && why.len > 0);
	}
	REQUIRE(question_parse(STR("2 Minutes:10080"), &ask, &answer, &said));
	CHECK(answer.is_allow && answer.scope == SCOPE_MINUTES && answer.minutes == 10080);
	REQUIRE(question_parse(STR("minutes:5"), &ask, &answer, &said));
	CHECK(str_is(answer.grant.subject, "/opt/x/bin") && answer.minutes == 5);
	question_add_outcome(&said, &answer);
	CHECK(str_is(buf_str(&said), "cordon: allowed, for 5 minutes\n"));
}

TEST(what_is_built_in_has_no_line_and_no_rule_refuses_nothing)
{
	scoped_buf out = BUF_INIT(64 << 10);
	struct ask ask = make_ask();

	ask.origin = (struct origin){ .file = "built-in", .line = 10 };
	CHECK(strstr(show(&out, &ask, 100, 40), "refused by: \":root\" = \"read\" (built-in)\n"));
	ask.origin = (struct origin){ .file = NULL };
	ask.rule = STR("no rule allows it");
	CHECK(strstr(show(&out, &ask, 100, 40), "\nno rule allows it\n"));
}

TEST(nothing_else_answers)
{
	static const char *const lines[] = {
		"",	    " ",       "y",	    "yes",    "runn",	   "ru",       "run run",
		"run 2",    "2",       "2 ",	    "0 run",  "3 run",	   "9999 run", "1 run",
		"session",  "minutes", "minutes 5", "2 deny", "2 denyall", "-1 run",   "2run",
		"run;deny", "allow",   "02run",	    "run\t",  "\x1b[A",	   "2 once",
	};
	struct answer answer;

	for (size_t i = 0; i < COUNT_OF(lines); i++)
		if (parse(lines[i], &answer)) {
			fprintf(stderr, "# '%s'\n", lines[i]);
			CHECK(false);
		}
	CHECK(parse("once", &answer));
}
