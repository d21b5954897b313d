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

static struct toml *parse(struct arena *a, const struct buf *all, struct err *e)
{
	struct str kept;

	/* What is parsed refers to the text. */
	if (buf_check(all, e) < 0 || arena_copy(a, buf_str(all), &kept, e) < 0)
		return NULL;
	return toml_parse(a, "built-in", kept, e);
}

struct toml *builtin_parse(struct arena *a, struct err *e)
{
	scoped_buf all = BUF_INIT(TEXT_MAX_BYTES);

	buf_add(&all, (struct str){ text, sizeof(text) - 1 });
	agent_profiles_write(&all);
	return parse(a, &all, e);
}

int builtin_complete(struct arena *a, struct str name, struct toml *profile, struct err *e)
{
	const struct agent_profile *agent = agent_profile_of(name);
	scoped_buf all = BUF_INIT(TEXT_MAX_BYTES);
	const struct toml *top;

	if (!agent)
		return 0;
	agent_profile_write(&all, agent);
	top = parse(a, &all, e);
	if (!top)
		return err_result(e);
	*profile = toml_find(top, "permissions")->table.items[0].value;
	return 0;
}
