/* SPDX-License-Identifier: MIT */
/*
 * The lowest layer (P1): the built-in profiles (P4), as TOML like every other layer. The text is
 * normalized already, so that a run need not check it. A test of config.h checks it. What belongs to
 * coding agents is in agent.c.
 */
#include "base/buf.h"
#include "policy/agent.h"
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

enum { TEXT_MAX_BYTES = 64 << 10 };

struct toml *builtin_parse(struct arena *a, struct err *e)
{
	scoped_buf all = BUF_INIT(TEXT_MAX_BYTES);
	struct str kept;

	buf_add(&all, (struct str){ text, sizeof(text) - 1 });
	agent_profiles_write(&all);
	/* What is parsed refers to the text. */
	if (buf_check(&all, e) < 0 || arena_copy(a, buf_str(&all), &kept, e) < 0)
		return NULL;
	return toml_parse(a, "built-in", kept, e);
}
