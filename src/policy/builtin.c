/* SPDX-License-Identifier: MIT */
/* The lowest layer (P1): the built-in profiles of P4, as text like any other layer's. */
#include "policy/config.h"

const char builtin_full_access[] = ":danger-full-access";

static const char text[] =
	"[permissions.':read-only']\n"
	"description = 'read everything, write nothing, no network'\n"
	"filesystem = { ':root' = 'read' }\n"
	"network = { enabled = false }\n"
	"\n"
	"[permissions.':workspace']\n"
	"description = 'write in the workspace roots and in temporary directories, "
	"no network'\n"
	"network = { enabled = false }\n"
	"[permissions.':workspace'.filesystem]\n"
	"':root' = 'read'\n"
	"':workspace_roots' = 'write'\n"
	"':slash_tmp' = 'write'\n"
	"':tmpdir' = 'write'\n"
	"\n"
	"[permissions.':danger-full-access']\n"
	"description = 'everything, without any sandbox'\n"
	"filesystem = { ':root' = 'write' }\n"
	"network = { enabled = true }\n";

struct toml *builtin_parse(struct arena *a, struct err *e)
{
	struct toml *top = toml_parse(a, "built-in", (struct str){ text, sizeof(text) - 1 }, e);
	warning_list none = { .items = NULL };

	if (!top || layer_check(a, top, SCHEMA_BUILTIN, &none, e) < 0)
		return NULL;
	return top;
}
