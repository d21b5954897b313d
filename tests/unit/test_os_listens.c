/* SPDX-License-Identifier: MIT */
/* Tests of os/listens.h. */
#include "os/listens.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

#define HEAD "  sl  local_address rem_address   st tx_queue\n"

TEST(a_list_of_the_kernel_says_who_listens)
{
	struct str v4 = STR(HEAD "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000\n"
				 "   1: 00000000:0050 00000000:0000 0A 00000000:00000000\n"
				 "   2: 0100007F:1F90 0100007F:9C40 01 00000000:00000000\n"
				 "   3: 0A00000A:0016 00000000:0000 0A 00000000:00000000\n");
	struct str v6 = STR(HEAD "   0: 00000000000000000000000001000000:1538 "
				 "00000000000000000000000000000000:0000 0A\n");

	CHECK(os_listens_in(v4, true, 5432) && os_listens_in(v4, true, 80));
	CHECK(!os_listens_in(v4, true, 8080)); /* connected */
	CHECK(!os_listens_in(v4, true, 22));   /* at another address */
	CHECK(!os_listens_in(v4, true, 5433) && !os_listens_in(v4, false, 5432));
	CHECK(os_listens_in(v6, false, 5432) && !os_listens_in(v6, true, 5432));
	CHECK(!os_listens_in(STR(""), true, 80) && !os_listens_in(STR("x"), true, 80));
	/* Whatever it is cut to, it is read. */
	for (size_t n = 0; n < v4.len; n++)
		(void)os_listens_in(str_first(v4, n), true, 5432);
}

TEST(this_host_is_asked)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ip loopback;

	REQUIRE(ip_parse(STR("127.0.0.1"), &loopback));
	REQUIRE(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0);
	REQUIRE(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
	CHECK(!os_listens(&loopback, ntohs(at.sin_port)));
	REQUIRE(listen(fd, 1) == 0);
	CHECK(os_listens(&loopback, ntohs(at.sin_port)));
	close(fd);
}
