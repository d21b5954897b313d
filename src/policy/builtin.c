/* SPDX-License-Identifier: MIT */
/*
 * The lowest layer (P1): the built-in profiles of P4, as text like any other layer's, but
 * in normal form already: every run reads it, and what never changes need not be checked
 * each time. The test of config.h does so.
 */
#include "policy/config.h"

const char builtin_full_access[] = ":danger-full-access";

static const char text[] =
	"[permissions.':read-only']\n"
	"description = 'read everything, write nothing, no network'\n"
	"filesystem = { ':root' = { '.' = 'read' } }\n"
	"network = { enabled = false }\n"
	"\n"
	"[permissions.':workspace']\n"
	"description = 'write in the workspace roots and in temporary directories, "
	"no network'\n"
	"network = { enabled = false }\n"
	"[permissions.':workspace'.filesystem]\n"
	"':root' = { '.' = 'read' }\n"
	"':workspace_roots' = { '.' = 'write' }\n"
	"':slash_tmp' = { '.' = 'write' }\n"
	"':tmpdir' = { '.' = 'write' }\n"
	"\n"
	"[permissions.':danger-full-access']\n"
	"description = 'everything, without any sandbox'\n"
	"filesystem = { ':root' = { '.' = 'write' } }\n"
	"network = { enabled = true }\n";

struct toml *builtin_parse(struct arena *a, struct err *e)
{
	return toml_parse(a, "built-in", (struct str){ text, sizeof(text) - 1 }, e);
}
