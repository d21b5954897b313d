/* SPDX-License-Identifier: MIT */
/* cordon windows: what commands need on Windows, made, shown and removed. */
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_windows[] =
	"Makes what the backend win_elevated needs on Windows: two accounts that only commands "
	"have,\n"
	"their group, firewall rules and filters for one of them. setup makes it, or mends it, "
	"and\n"
	"changes the passwords; status lists what is there, what is missing and what differs;\n"
	"cleanup takes the entries of earlier runs out of access lists; uninstall removes all of "
	"it\n"
	"and nothing else. setup and uninstall need an administrator, show what they change, and\n"
	"ask. Whatever they were stopped at, the same command goes on from there.";

/* On stderr, as stdout is for the answer. */
static int ask_person(void *user, const char *text)
{
	const struct args *args = user;
	char answer[16];

	if (args_have(args, OPT_YES))
		return 1;
	if (args_have(args, OPT_JSON) || !is_terminal(STREAM_INPUT) || !is_terminal(STREAM_ERROR)) {
		complain_usage(args, "there is nobody to ask; add --yes");
		return 0;
	}
	(void)fprintf(stderr, "%sDo that? [y/N] ", text);
	return fgets(answer, sizeof(answer), stdin) &&
	       (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
}

/* 0: it is not valid. */
static uint64_t parse_port(const char *text)
{
	uint64_t port = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && port <= UINT16_MAX; at++)
		port = port * 10 + (uint64_t)(*at - '0');
	return *at == '\0' && at > text && port <= UINT16_MAX ? port : 0;
}

int cmd_windows(const struct args *args)
{
	struct args *asker = (struct args *)(uintptr_t)args;
	struct cordon_windows_options wanted = {
		.size = sizeof(wanted),
		.action = args->operand,
		.flags = args_have(args, OPT_DRY_RUN) ? CORDON_WINDOWS_DRY_RUN : 0,
		.confirm = ask_person,
		.user = asker,
	};
	const char *port = args_text(args, OPT_PROXY_PORT);
	cordon_report *report;
	cordon_error *error;

	if (port) {
		wanted.proxy_port = parse_port(port);
		if (!wanted.proxy_port) {
			complain_usage(args, "--proxy-port '%s' is no port; use 1 to 65535", port);
			return EXIT_CORDON;
		}
	}
	if (cordon_windows(&wanted, &report, &error) < 0)
		return finish_error(args, error);
	return finish_answer(args, report, EXIT_NO);
}
