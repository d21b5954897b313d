/* SPDX-License-Identifier: MIT */
#include "mcp/ticket.h"

#include "test.h"

static const struct ticket_key key = { .bytes = "a key" };
static const struct ticket_subject subject = { STR_INIT("tool"), STR_INIT("arguments"),
					       STR_INIT("policy"), STR_INIT("questions") };

static void make(char text[TICKET_BYTES])
{
	const struct ticket ticket = { .number = 12, .expires_ms = 345 };
	struct buf b = { .p = text, .room = TICKET_BYTES, .max = TICKET_BYTES - 1 };

	ticket_print(&key, &ticket, &subject, &b);
	CHECK_INT(b.failed, ERR_OK);
}

TEST(a_ticket_comes_back_as_it_was)
{
	char text[TICKET_BYTES];
	struct ticket ticket;

	make(text);
	REQUIRE(ticket_parse(str_of(text), &ticket));
	CHECK_INT(ticket.number, 12);
	CHECK_INT(ticket.expires_ms, 345);
	CHECK(ticket_is_ours(&key, str_of(text), &ticket, &subject));
}

TEST(a_ticket_with_any_byte_changed_is_refused)
{
	char text[TICKET_BYTES];

	make(text);
	for (size_t i = 0; text[i]; i++) {
		struct ticket ticket;
		char before = text[i];

		for (int c = 0; c < 128; c++) {
			text[i] = (char)c;
			if (c == before ||
			    !ticket_parse((struct str){ text, strlen(text) }, &ticket))
				continue;
			CHECK(!ticket_is_ours(&key, str_of(text), &ticket, &subject));
		}
		text[i] = before;
	}
	CHECK_INT(strlen(text), 74);
}

TEST(a_ticket_counts_for_its_subject_and_key_alone)
{
	const struct ticket_key other = { .bytes = "b key" };
	char text[TICKET_BYTES];
	struct ticket ticket;

	make(text);
	REQUIRE(ticket_parse(str_of(text), &ticket));
	CHECK(!ticket_is_ours(&other, str_of(text), &ticket, &subject));
	for (size_t i = 0; i < 4; i++) {
		struct ticket_subject s = subject;
		struct str *parts[] = { &s.tool, &s.arguments, &s.policy, &s.questions };

		*parts[i] = STR("else");
		CHECK(!ticket_is_ours(&key, str_of(text), &ticket, &s));
	}
}

TEST(what_is_no_ticket_is_not_read)
{
	static const char *const bad[] = { "",
					   "c1.",
					   "c1.1.2",
					   "c1.1.2.3",
					   "c2.1.2.",
					   "c1.-1.2.x",
					   "c1.9999999999999999999.1.x" };
	struct ticket ticket;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(!ticket_parse(str_of(bad[i]), &ticket));
}
