/* SPDX-License-Identifier: MIT */
/*
 * The lowest layer (P1): the built-in profiles (P4), as TOML like every other layer. The text is
 * normalized already, so that a run need not check it. A test of config.h checks it.
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
