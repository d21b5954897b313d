/* SPDX-License-Identifier: MIT */
/* Tests of backend/denials.c. */
#include "backend/denials.h"

#include <unistd.h>

#include "test.h"

static struct denial denial_of(const char *subject)
{
	return (struct denial){ .kind = DENIAL_UNIX_SOCKET,
				.subject = str_of(subject),
				.rule = STR("the network is off"),
				.way_out = STR("x = 1"),
				.program = STR("curl"),
				.pid = 7 };
}

static size_t told;

static void on_denial(void *user, struct denial *denial)
{
	CHECK_STR(denial->subject.p, user);
	told++;
}

TEST(equal_denials_are_counted_not_repeated)
{
	struct denials d;
	struct denial other = denial_of("/run/a.sock");

	denials_init(&d);
	for (int i = 0; i < 3; i++) {
		struct denial denial = denial_of("/run/a.sock");

		denial.pid = 7 + i;
		denials_add(&d, &denial);
	}
	other.rule = STR("the policy does not name this socket");
	denials_add(&d, &other);
	other = denial_of("/run/b.sock");
	denials_add(&d, &other);
	CHECK_INT(d.total, 5);
	CHECK_INT(d.unlisted, 0);
	CHECK_INT(d.items.count, 3);
	CHECK_INT(d.items.items[0].count, 3);
	CHECK_INT(d.items.items[0].pid, 7);
	CHECK_INT(d.items.items[1].count, 1);
	denials_done(&d);
}

TEST(texts_are_copied_and_times_run_from_the_start)
{
	char subject[] = "/run/a.sock";
	struct denials d;
	struct denial denial = denial_of(subject);

	denials_init(&d);
	denials_add(&d, &denial);
	subject[1] = 'X';
	CHECK_STR(d.items.items[0].subject.p, "/run/a.sock");
	CHECK_STR(d.items.items[0].program.p, "curl");
	CHECK_STR(d.items.items[0].way_out.p, "x = 1");
	CHECK(d.items.items[0].first_ms < 10000);
	(void)usleep(20000);
	denial = denial_of("/run/a.sock");
	denials_add(&d, &denial);
	CHECK(d.items.items[0].last_ms >= d.items.items[0].first_ms + 15);
	denials_done(&d);
}

TEST(each_new_one_is_told_once)
{
	static char expected[] = "/run/a.sock";
	struct denial denial = denial_of("/run/a.sock");
	struct denials d;

	denials_init(&d);
	d.on_denial = on_denial;
	d.user = expected;
	denials_add(&d, &denial);
	denials_add(&d, &denial);
	CHECK_INT(told, 1);
	denials_done(&d);
}

TEST(a_flood_loses_detail_and_never_the_count)
{
	struct denials d;

	denials_init(&d);
	for (int i = 0; i < DENIALS_MAX + 500; i++) {
		char subject[32];
		struct denial denial;

		(void)snprintf(subject, sizeof(subject), "/run/%d", i);
		denial = denial_of(subject);
		denials_add(&d, &denial);
	}
	CHECK_INT(d.total, DENIALS_MAX + 500);
	CHECK_INT(d.items.count, DENIALS_MAX);
	CHECK_INT(d.unlisted, 500);
	denials_done(&d);
}

TEST(long_texts_end_at_the_bound_in_bytes)
{
	static char subject[4096];
	struct denials d;

	denials_init(&d);
	for (int i = 0; i < 500; i++) {
		struct denial denial;

		memset(subject, 'a', sizeof(subject) - 1);
		(void)snprintf(subject, 8, "/%06d", i);
		subject[7] = 'b';
		denial = denial_of(subject);
		denials_add(&d, &denial);
	}
	CHECK_INT(d.total, 500);
	CHECK(d.items.count > 100 && d.items.count < 260);
	CHECK_INT(d.items.count + d.unlisted, 500);
	CHECK(d.arena.used_bytes <= DENIALS_MAX_BYTES);
	denials_done(&d);
}
