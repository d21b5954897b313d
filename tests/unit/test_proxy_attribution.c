/* SPDX-License-Identifier: MIT */
/* Tests of proxy/attribution.c: whose a connection is. */
#include "proxy_fixture.h"

TEST(who_connected_is_told_before_or_after)
{
	struct proxy_order who = { .kind = PROXY_HAS_CONNECTED,
				   .pid = 42,
				   .program = "curl",
				   .address = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } } };
	struct sockaddr_in own = { .sin_port = 0 };
	socklen_t size = sizeof(own);
	struct proxy_message m;
	int fd;

	REQUIRE(start(LOCAL));
	for (int is_after = 0; is_after < 2; is_after++) {
		fd = connect_to(proxy_port);
		REQUIRE(fd >= 0 && getsockname(fd, (struct sockaddr *)&own, &size) == 0);
		who.port = ntohs(own.sin_port);
		if (!is_after)
			CHECK_INT(proxy_send(&proxy, &who, NULL, 0), 0);
		CHECK_INT(ask_socks(fd, 0x08080808, (uint16_t)(80 + is_after)), 2);
		if (is_after)
			CHECK_INT(proxy_send(&proxy, &who, NULL, 0), 0);
		REQUIRE(receive_kind(PROXY_RECORD, &m));
		CHECK_INT(m.record.pid, 42);
		CHECK_STR(m.record.program, "curl");
		(void)close(fd);
	}
	stop();
}

/* From one port there may be a connection to each of them. */
TEST(who_connected_to_a_port_of_the_hosts_is_told)
{
	struct proxy_order who = { .kind = PROXY_HAS_CONNECTED,
				   .address = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } } };
	struct sockaddr_in own = { .sin_port = 0 };
	socklen_t size = sizeof(own);
	struct proxy_message m;
	uint16_t port;
	int inside = listen_on(&port), client, behind;

	REQUIRE(start(LOCAL));
	fcntl(inside, F_SETFL, O_NONBLOCK);
	REQUIRE(hand_over(PROXY_HOST_PORT, server_port, inside));
	client = connect_to(port);
	behind = accept_one();
	REQUIRE(behind >= 0 && getsockname(client, (struct sockaddr *)&own, &size) == 0);
	who.port = ntohs(own.sin_port);
	for (int i = 0; i < 3; i++) {
		who.host_port = i == 0 ? server_port : i == 1 ? 0 : (uint16_t)(server_port ^ 1);
		who.pid = 42 + i;
		(void)snprintf(who.program, sizeof(who.program), "program-%d", i);
		CHECK_INT(proxy_send(&proxy, &who, NULL, 0), 0);
	}
	(void)close(client);
	(void)close(behind);
	REQUIRE(receive_kind(PROXY_RECORD, &m));
	CHECK_INT(m.record.protocol, PROXY_BY_HOST_PORT);
	CHECK_INT(m.record.pid, 42);
	CHECK_STR(m.record.program, "program-0");
	(void)close(inside);
	stop();
}
