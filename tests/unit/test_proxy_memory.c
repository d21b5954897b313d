/* SPDX-License-Identifier: MIT */
/*
 * The proxy is forked, perhaps from a program with threads: one of them may have held a lock of
 * malloc() at that moment, and nobody gives it back in the child. So here is mem.h once more, and
 * it has memory for the process of the test alone.
 */
#include "base/mem.h"

#include <stdlib.h>

#include "proxy_fixture.h"

static pid_t own;

__attribute__((constructor)) static void remember(void)
{
	own = getpid();
}

void *mem_new(size_t size, struct err *e)
{
	if (getpid() != own)
		return FAIL_NULL(e, ERR_NOMEM, "%zu bytes were wanted behind the fork", size);
	return calloc(1, size ? size : 1);
}

int mem_resize(void **block, size_t size, struct err *e)
{
	if (getpid() != own)
		return FAIL(e, ERR_NOMEM, "%zu bytes were wanted behind the fork", size);
	*block = realloc(*block, size ? size : 1);
	return 0;
}

void mem_free(void *block)
{
	free(block);
}

TEST(nothing_is_allocated_behind_the_fork)
{
	struct proxy_order add = { .kind = PROXY_ADD_RULE, .is_allow = true, .text = "b.test" };
	struct proxy_message m;
	int client, behind;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	(void)close(client);
	(void)close(behind);
	client = connect_to(proxy_port);
	CHECK(SENDS(client, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"));
	CHECK(RECEIVES(client, "HTTP/1.1 403 "));
	(void)close(client);
	CHECK_INT(proxy_send(&proxy, &add, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_RULE_ADDED, &m));
	CHECK_INT(m.os_error, 0);
	stop();
	CHECK(has_told_all);
}
