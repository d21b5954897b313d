/* SPDX-License-Identifier: MIT */
/* See outer_sandbox.h. */
#include "os/outer_sandbox.h"

#include <stddef.h>
#include <string.h>

#include "base/str.h"
#include "os/os.h"

#define OF_CODEX                                                                             \
	"leave the command to it, or have cordon in its place: sandbox_mode = "              \
	"\"danger-full-access\" in codex's config.toml and cordon around each command that " \
	"codex runs, or run codex itself in cordon with --sandbox danger-full-access"
#define OF_CLAUDE                                                                           \
	"leave the command to it, or have cordon in its place: \"sandbox\": {\"enabled\": " \
	"false} in Claude Code's settings and cordon around each command "                  \
	"(CLAUDE_CODE_SHELL_PREFIX), or run Claude Code itself in cordon"

/* Cordon sets the first one too, together with CORDON_SANDBOX. */
static const struct os_outer_sandbox marked[] = {
	{ "codex's sandbox", "CODEX_SANDBOX_NETWORK_DISABLED", OF_CODEX },
	{ "codex's sandbox", "CODEX_SANDBOX", OF_CODEX },
	{ "Claude Code's sandbox (sandbox-runtime)", "SANDBOX_RUNTIME", OF_CLAUDE },
};

static bool is_set(const char *const *environment, const char *name)
{
	const char *value = os_environment_find(environment, name);

	return value && *value;
}

const struct os_outer_sandbox *os_outer_sandbox_recognise(const char *const *environment,
							  bool is_confined)
{
	const char *own = os_environment_find(environment, "CORDON_SANDBOX");

	if (!is_confined || (own && strcmp(own, "none") != 0))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(marked); i++)
		if (is_set(environment, marked[i].mark))
			return &marked[i];
	return NULL;
}
