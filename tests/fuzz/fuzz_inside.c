/* SPDX-License-Identifier: MIT */
/*
 * What a process inside writes to the socket of `cordon request`: whatever it is, a message that is taken
 * is within its bounds, and one that is refused says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "linux/notify/inside_message.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_text(struct str text)
{
	demand(text.len <= INSIDE_TEXT_MAX && !str_has_nul(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	unsigned char head[INSIDE_LENGTH_BYTES] = { 0 };
	struct inside_message m;
	struct err e = ERR_INIT;
	size_t length;

	memcpy(head, data, MIN_OF(size, sizeof(head)));
	length = inside_read_length(head);
	demand(length <= INSIDE_MESSAGE_MAX);
	if (length) {
		unsigned char again[INSIDE_LENGTH_BYTES];

		inside_write_length(again, length);
		demand(memcmp(again, head, sizeof(head)) == 0);
	}
	if (inside_parse(&a, (struct str){ (const char *)data, size }, &m, &e) < 0) {
		demand(e.text[0] != '\0');
		return 0;
	}
	check_text(m.run);
	check_text(m.reason);
	check_text(m.subject);
	check_text(m.file);
	demand((m.kind == INSIDE_WRITE || m.kind == INSIDE_CONNECT ||
		m.kind == INSIDE_UNIX_SOCKET) == (m.subject.len != 0));
	demand((m.kind == INSIDE_ESCALATE) == (m.command_count != 0));
	demand(m.command_count <= INSIDE_MAX_WORDS);
	for (size_t i = 0; i < m.command_count; i++)
		demand(!str_has_nul(m.command[i]));
	demand((m.kind == INSIDE_SIGNAL) == (m.signal != 0) && m.signal >= 0 && m.signal <= 64);
	return 0;
}
