/* SPDX-License-Identifier: MIT */
/*
 * The process that does the work of the file tools, in a sandbox of the session's policy: this program
 * again, under another name (inner_main.c). Its standard input is a socket to the process outside, over
 * which messages go both ways, each behind a struct wire_head:
 *
 *	to it	SCOPE	what scope_print() wrote; counts for the calls that follow
 *		CALL	a byte, the number of the tool; then its arguments as JSON
 *		CANCEL	nobody wants the answer any more
 *	from it	RESULT	a byte, whether it is refused; 4 bytes, the length of the text; the text; the JSON;
 *			of open_file also a descriptor, with the first byte of the message
 *		PROGRESS	8 bytes done, 8 bytes total; then a text
 *		FAILED	a text: why there is no answer
 *
 * What is slow is done by a process that the worker forks, so that it delays nothing else. The sandbox
 * ends with the worker, and the worker with the socket.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define WORKER_NAME "cordon-tools"

enum wire_kind { WIRE_SCOPE = 1, WIRE_CALL, WIRE_CANCEL, WIRE_RESULT, WIRE_PROGRESS, WIRE_FAILED };

enum {
	WIRE_HEAD_BYTES = 9,
	WIRE_MAX_BYTES = 80 << 20,
	WIRE_ANSWER_MAX_BYTES = 10 << 20, /* from the worker: tool.h limits an answer */
};

/* 4 bytes length of what follows the head, a byte the kind, 4 bytes the call; all little endian. */
struct wire_head {
	uint32_t length;
	uint8_t kind;
	uint32_t call;
};

static inline void wire_put32(unsigned char *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> 8 * i);
}

static inline uint32_t wire_get32(const unsigned char *from)
{
	uint32_t n = 0;

	for (int i = 3; i >= 0; i--)
		n = n << 8 | from[i];
	return n;
}

static inline void wire_put_head(unsigned char to[WIRE_HEAD_BYTES], struct wire_head head)
{
	wire_put32(to, head.length);
	to[4] = head.kind;
	wire_put32(to + 5, head.call);
}

static inline struct wire_head wire_get_head(const unsigned char from[WIRE_HEAD_BYTES])
{
	return (struct wire_head){ .length = wire_get32(from),
				   .kind = from[4],
				   .call = wire_get32(from + 5) };
}

int tools_worker_main(int argc, char **argv);
