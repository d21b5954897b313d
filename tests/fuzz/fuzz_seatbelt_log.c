/* SPDX-License-Identifier: MIT */
/*
 * Lines of macOS's log. As they are: what is read of them keeps the bounds. And as the kernel would write
 * them of a program and a path that a command has chosen: they are read as they were meant, or not at all.
 */
#include <stdlib.h>

#include "backend/seatbelt/log.h"
#include "base/json.h"
#include "base/utf8.h"

enum { PID = 4711, SCRATCH = 1 << 20 };

static const char operation[] = "file-read-data";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void read_as_it_is(struct str line)
{
	scoped_arena a = ARENA_INIT(SCRATCH);
	struct seatbelt_refusal r;

	if (seatbelt_read_line(&a, line, &r) != SEATBELT_REFUSAL)
		return;
	demand(r.pid > 0 && r.count <= UINT32_MAX && r.operation.len > 0);
	demand(r.program.len <= SEATBELT_NAME_BYTES && r.subject.len < line.len);
}

/* The first line is the program's name, the rest the path. */
static void write_and_read(struct str input)
{
	scoped_arena a = ARENA_INIT(SCRATCH);
	scoped_buf message = BUF_INIT(SCRATCH), line = BUF_INIT(SCRATCH);
	struct json_writer w = JSON_LINE_INIT(&line);
	struct str program = str_first(input, str_find(input, '\n'));
	struct str subject = str_from(input, MIN_OF(program.len + 1, input.len));
	struct seatbelt_refusal r;
	enum seatbelt_line kind;

	program = str_first(program, SEATBELT_NAME_BYTES);
	if (str_has_nul(input))
		return;
	buf_add_text(&message, "Sandbox: ");
	buf_add(&message, program);
	buf_printf(&message, "(%d) deny(1) %s ", PID, operation);
	buf_add(&message, subject);
	json_begin_object(&w);
	json_key(&w, "eventMessage");
	json_add_str(&w, buf_str(&message));
	json_key(&w, "processID");
	json_add_int(&w, 0);
	json_key(&w, "senderImagePath");
	json_add_text(&w, "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox");
	json_end_object(&w);
	demand(!message.failed && !line.failed);
	kind = seatbelt_read_line(&a, str_first(buf_str(&line), line.len - 1), &r);
	demand(kind != SEATBELT_OTHER);
	if (kind == SEATBELT_UNCLEAR)
		return;
	demand(r.pid == PID && r.count == 1 && str_eq(r.program, program));
	demand(str_eq(r.operation, str_of(operation)) && str_eq(r.subject, subject));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };

	if (size > 4096)
		return 0;
	read_as_it_is(input);
	write_and_read(input);
	return 0;
}
