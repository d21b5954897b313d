/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a TOML document and as a --config override. What is accepted must
 * survive printing; what is refused must say where and why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "../support/same_toml.h"
#include "base/toml.h"
#include "base/utf8.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct err *e)
{
	if (e->code == ERR_OK || e->code == ERR_INTERNAL || e->text[0] == '\0')
		abort();
	if (!str_has_prefix(str_of(e->text), STR("fuzz:")))
		abort();
	/* What the input holds must not reach a terminal raw. */
	for (const char *c = e->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			abort();
}

static void check_document(struct arena *a, const struct toml *document)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	const struct toml *again;

	toml_print(&text, document);
	if (buf_check(&text, &e) < 0)
		return;
	again = toml_parse(a, "fuzz", buf_str(&text), &e);
	if (!again && e.code != ERR_LIMIT)
		abort();
	if (again && !same_toml(document, again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	const struct toml *document = toml_parse(&a, "fuzz", text, &e);

	if (document)
		check_document(&a, document);
	else
		check_error(&e);
	err_clear(&e);
	document = toml_parse_override(&a, "fuzz", text, &e);
	if (document)
		check_document(&a, document);
	else
		check_error(&e);
	return 0;
}
