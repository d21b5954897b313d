/* SPDX-License-Identifier: MIT */
/* Tests of src/os/windows/fd_pass.c, with both ends in this process, and of name_sources.c. */
#include <errno.h>

#include "../unit/test.h"

#include "base/ip.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/name_sources.h"
#include "os/socket.h"
#include "os/windows/api.h"
#include "os/windows/fd_pass.h"
#include "os/windows/handle.h"

enum { MANY = 4000, BYTES = 1500 };

static int ends[2];

static bool begin(void)
{
	return fd_pass_open(ends, FD_PASS_NO_WAIT) == 0;
}

static void end(void)
{
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

static ssize_t hear(void *data, size_t room)
{
	ssize_t n;

	do
		n = socket_wait(ends[1], false, 10000) ? fd_pass_hear(ends[1], data, room) : -1;
	while (n < 0 && errno == EAGAIN);
	return n;
}

TEST(messages_keep_their_bounds_and_order)
{
	char text[16];

	REQUIRE(begin());
	errno = 0;
	CHECK_INT(fd_pass_hear(ends[1], text, sizeof(text)), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_INT(fd_pass_tell(ends[0], "one", 3, FD_PASS_NO_WAIT), 3);
	CHECK_INT(fd_pass_tell(ends[0], "three", 5, FD_PASS_NO_WAIT), 5);
	CHECK_INT(hear(text, sizeof(text)), 3);
	CHECK(memcmp(text, "one", 3) == 0);
	/* The whole length, though there is no room for it. */
	CHECK_INT(hear(text, 2), 5);
	CHECK_INT(fd_pass_tell(ends[0], "x", 1, FD_PASS_NO_WAIT), 1);
	CHECK_INT(hear(text, sizeof(text)), 1);
	CHECK_INT(text[0], 'x');
	fd_close(&ends[0]);
	CHECK_INT(hear(text, sizeof(text)), 0);
	end();
}

static DWORD WINAPI send_many(void *unused)
{
	char text[BYTES];
	int sent = 0;

	(void)unused;
	while (sent < MANY) {
		memset(text, sent % 251, sizeof(text));
		if (fd_pass_tell(ends[0], text, sizeof(text), FD_PASS_NO_WAIT) == BYTES)
			sent++;
		else if (errno == EAGAIN)
			(void)socket_wait(ends[0], true, 1000);
		else
			break;
	}
	return (DWORD)sent;
}

TEST(a_full_channel_loses_and_mixes_nothing)
{
	char text[BYTES];
	DWORD sent = 0;
	HANDLE thread;
	int right = 0;

	REQUIRE(begin());
	thread = CreateThread(NULL, 0, send_many, NULL, 0, NULL);
	REQUIRE(thread);
	Sleep(500);
	for (int i = 0; i < MANY; i++)
		right += hear(text, sizeof(text)) == BYTES && text[0] == (char)(i % 251) &&
			 memcmp(text, text + 1, BYTES - 1) == 0;
	CHECK_INT(right, MANY);
	(void)WaitForSingleObject(thread, 30000);
	(void)GetExitCodeThread(thread, &sent);
	CHECK_INT(sent, MANY);
	(void)CloseHandle(thread);
	end();
}

TEST(a_socket_goes_along_and_works_there)
{
	const struct os_address any = { .ip.bytes = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } };
	int listener = socket_open_listener(&any, false, 4), fds[4], client, server;
	struct os_address at;
	size_t count = COUNT_OF(fds);
	char text[8] = "";

	REQUIRE(begin() && listener >= 0 && socket_get_address(listener, &at) == 0);
	/* Nobody knows yet which process it would be for. */
	CHECK_INT(fd_pass_send(ends[0], (char[]){ "take" }, 4, &listener, 1, 0), -ENOTCONN);
	fd_pass_set_process(ends[0], GetCurrentProcessId());
	CHECK_INT(fd_pass_send(ends[0], (char[]){ "take" }, 4, &listener, 1, 0), 0);
	CHECK(socket_wait(ends[1], false, 10000));
	CHECK_INT(fd_pass_receive(ends[1], text, sizeof(text), fds, &count), 4);
	REQUIRE(count == 1);
	handle_close(listener);
	client = socket_open(true, true);
	(void)!socket_connect(client, &at);
	CHECK(socket_wait(fds[0], false, 10000));
	server = socket_accept(fds[0], NULL);
	CHECK(server >= 0 && socket_wait(client, true, 10000));
	CHECK_INT(socket_send(client, "hello", 5), 5);
	CHECK(socket_wait(server, false, 10000));
	CHECK_INT(socket_receive(server, text, sizeof(text)), 5);
	handle_close(client);
	handle_close(server);
	handle_close(fds[0]);
	end();
}

/* The one that hears may be told to expect anything by a proxy that was taken over. */
TEST(sockets_that_nobody_asked_for_and_frames_too_large_are_refused)
{
	static const uint32_t large[2] = { 1 << 20, 0 }, sockets[2] = { 0, 1 << 20 };
	char text[8];
	int listener;

	for (int i = 0; i < 2; i++) {
		REQUIRE(begin());
		CHECK_INT(socket_send(ends[0], i ? large : sockets, 8), 8);
		CHECK_INT(hear(text, sizeof(text)), -1);
		CHECK_INT(errno, EBADMSG);
		end();
	}
	REQUIRE(begin());
	listener = socket_open(true, true);
	fd_pass_set_process(ends[0], GetCurrentProcessId());
	CHECK_INT(fd_pass_send(ends[0], (char[]){ "x" }, 1, &listener, 1, 0), 0);
	CHECK_INT(hear(text, sizeof(text)), -1);
	CHECK_INT(errno, EBADMSG);
	handle_close(listener);
	end();
}

TEST(name_servers_are_told_once_and_are_addresses)
{
	static char text[8192];
	struct os_version seen = { .inode = 0 };
	size_t len = 0, at = 0;

	REQUIRE(os_read_name_servers(&seen, text, sizeof(text), &len) == OS_NEW);
	CHECK_INT(os_read_name_servers(&seen, text, sizeof(text), &len), OS_SAME);
	while (at < len) {
		struct str rest = { text + at, len - at };
		struct str line = str_first(rest, str_find(rest, '\n'));
		struct ip ip;

		CHECK(line.len < rest.len);
		if (str_has_prefix(line, STR("nameserver ")))
			CHECK(ip_parse(str_from(line, 11), &ip));
		else
			CHECK(str_has_prefix(line, STR("search ")));
		at += line.len + 1;
	}
	printf("# %.*s", (int)len, text);
}
