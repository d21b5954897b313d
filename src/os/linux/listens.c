/* SPDX-License-Identifier: MIT */
/* See listens.h. */
#include "os/listens.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/fd.h"

enum { LIST_MAX_BYTES = 1 << 20 };

static bool next_line(struct str *text, struct str *out)
{
	size_t end = str_find(*text, '\n');

	/* The last may be cut. */
	if (end == text->len)
		return false;
	*out = str_first(*text, end);
	*text = str_from(*text, end + 1);
	return true;
}

static struct str take_word(struct str *line)
{
	struct str word;

	while (line->len && line->p[0] == ' ')
		*line = str_from(*line, 1);
	word = str_first(*line, str_find(*line, ' '));
	*line = str_from(*line, word.len);
	return word;
}

/* The kernel prints addresses as words in the host's byte order, so reversed on most machines. */
static bool is_here(struct str address, bool is_v4)
{
	static const char *const v4[] = { "00000000", "0100007F", "7F000001" };
	static const char *const v6[] = { "00000000000000000000000000000000",
					  "00000000000000000000000001000000",
					  "00000000000000000000000000000001" };

	for (size_t i = 0; i < COUNT_OF(v4); i++)
		if (str_is(address, is_v4 ? v4[i] : v6[i]))
			return true;
	return false;
}

/* "   0: 0100007F:1538 00000000:0000 0A ..." */
static bool line_listens(struct str line, bool is_v4, uint16_t port)
{
	struct str local, state;
	char digits[8];
	size_t colon;

	(void)take_word(&line);
	local = take_word(&line);
	(void)take_word(&line);
	state = take_word(&line);
	colon = str_find(local, ':');
	if (!str_is(state, "0A") || colon == local.len)
		return false;
	(void)snprintf(digits, sizeof(digits), "%04X", (unsigned)port);
	return str_is(str_from(local, colon + 1), digits) &&
	       is_here(str_first(local, colon), is_v4);
}

bool os_listens_in(struct str text, bool is_v4, uint16_t port)
{
	struct str line;

	while (next_line(&text, &line))
		if (line_listens(line, is_v4, port))
			return true;
	return false;
}

static bool is_listed(const char *path, bool is_v4, uint16_t port)
{
	scoped_buf text = BUF_INIT(LIST_MAX_BYTES);
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	char part[16384];
	ssize_t n;

	while (fd >= 0 && text.failed == ERR_OK && (n = read(fd, part, sizeof(part))) > 0)
		buf_add(&text, (struct str){ part, (size_t)n });
	return os_listens_in(buf_str(&text), is_v4, port);
}

bool os_listens(const struct ip *loopback, uint16_t port)
{
	/* A listener on every IPv6 address mostly accepts IPv4 too. */
	return (ip_is_v4(loopback) && is_listed("/proc/thread-self/net/tcp", true, port)) ||
	       is_listed("/proc/thread-self/net/tcp6", false, port);
}
