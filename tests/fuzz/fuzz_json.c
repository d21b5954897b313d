/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as JSON. What is accepted must survive writing; what is refused
 * must say where and why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../support/same_json.h"
#include "base/json.h"
#include "base/utf8.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
	if (e->code == ERR_OK || e->code == ERR_INTERNAL || !ascii_is_digit(e->text[0]))
		abort();
	/* What the input holds must not reach a terminal raw. */
	for (const char *c = e->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			abort();
}

/* The writer takes any bytes, and never makes anything that is not UTF-8. */
static void check_string(struct str s)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct json_writer w = JSON_WRITER_INIT(&text);

	json_add_str(&w, s);
	if (utf8_check(buf_str(&text)) != text.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct json_writer w = JSON_WRITER_INIT(&text);
	struct err e = ERR_INIT;
	const struct json *value = json_parse(&a, input, &e);
	const struct json *again;

	check_string(input);
	if (!value) {
		check_error(&e);
		return 0;
	}
	json_add_value(&w, value);
	if (buf_check(&text, &e) < 0)
		return 0;
	again = json_parse(&a, buf_str(&text), &e);
	if (!again && e.code != ERR_LIMIT)
		abort();
	if (again && !same_json(value, again))
		abort();
	return 0;
}
