/* SPDX-License-Identifier: MIT */
/* Tests of proxy/open_records.c: what lasts is told of before it has ended, and counted once. */
#include "proxy_fixture.h"

static bool receive_record(struct proxy_message *m)
{
	while (receive(m))
		if (m->kind == PROXY_RECORD)
			return true;
	return false;
}

TEST(what_lasts_is_told_of_before_it_has_ended)
{
	uint64_t began = loop_now();
	struct proxy_message m;
	int client, behind, brief, behind_brief;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	CHECK(SENDS(client, "EHLO\r\n"));
	CHECK(RECEIVES(behind, "EHLO\r\n"));
	REQUIRE(receive_record(&m));
	CHECK(loop_now() - began >= 900);
	CHECK(m.record.is_open);
	CHECK_INT(m.record.connection, 1);
	CHECK_INT(m.record.reason, PROXY_ALLOWED);
	CHECK_STR(m.record.host, "127.0.0.1");
	CHECK_STR(m.record.rule, "127.0.0.1");
	CHECK_INT(m.record.port, server_port);
	/* Nothing is counted twice. */
	CHECK(m.record.count == 0 && m.record.bytes_up == 0 && m.record.bytes_down == 0);
	/* Only once; beside it what is brief has one record alone. */
	REQUIRE(open_tunnel(&brief, &behind_brief));
	(void)close(brief);
	(void)close(behind_brief);
	REQUIRE(receive_record(&m));
	CHECK(m.record.connection == 0 && !m.record.is_open);
	CHECK_INT(m.record.count, 1);
	(void)close(client);
	(void)close(behind);
	REQUIRE(receive_record(&m));
	CHECK(!m.record.is_open);
	CHECK_INT(m.record.connection, 1);
	CHECK_INT(m.record.count, 1);
	CHECK_INT(m.record.bytes_up, 6);
	stop();
	CHECK_INT(record_count, 0);
}

/* Each is told of, whoever reads slowly. */
TEST(of_many_that_last_each_is_told)
{
	enum { TUNNELS = 1500 };
	const struct rlimit many = { .rlim_cur = 4UL * TUNNELS, .rlim_max = 4UL * TUNNELS };
	static int clients[TUNNELS], behind[TUNNELS];
	static bool is_told[TUNNELS + 1];
	struct rlimit before;
	struct proxy_message m;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	if (setrlimit(RLIMIT_NOFILE, &many) < 0)
		SKIP("too few descriptors");
	REQUIRE(start(LOCAL));
	for (size_t i = 0; i < TUNNELS; i++)
		REQUIRE(open_tunnel(&clients[i], &behind[i]));
	(void)usleep(1500000);
	for (size_t i = 0; i < TUNNELS; i++) {
		REQUIRE(receive_record(&m));
		REQUIRE(m.record.is_open && m.record.connection <= TUNNELS);
		CHECK(!is_told[m.record.connection]);
		is_told[m.record.connection] = true;
	}
	for (size_t i = 0; i < TUNNELS; i++) {
		(void)close(clients[i]);
		(void)close(behind[i]);
	}
	stop();
	CHECK(has_told_all);
	CHECK_INT(record_count, TUNNELS);
	CHECK(last_record.connection != 0);
	(void)setrlimit(RLIMIT_NOFILE, &before);
}

TEST(what_was_open_may_be_refused_after_all)
{
	uint8_t hello[600];
	size_t size;
	struct proxy_message m;
	int client, behind;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	REQUIRE(receive_record(&m));
	CHECK(m.record.is_open);
	CHECK_STR(m.record.host, "127.0.0.1");
	size = make_hello(hello, "evil.test");
	CHECK(send_all(client, hello, size));
	REQUIRE(receive_record(&m));
	CHECK_INT(m.record.reason, PROXY_DENIED_HELLO);
	CHECK_INT(m.record.connection, 1);
	CHECK_INT(m.record.count, 1);
	CHECK_STR(m.record.host, "evil.test");
	(void)close(client);
	(void)close(behind);
	stop();
	CHECK_INT(record_count, 0);
}
