/* SPDX-License-Identifier: MIT */
/* cordon request: a command in a sandbox asks for more than it may. */
#include "cli/cli.h"

const char about_request[] =
	"Asks whether the sandbox that this command runs in may be widened: by writing PATH and\n"
	"what is below it (--write), by connecting to HOST, with a port or with all (--host), or\n"
	"to the unix socket PATH (--socket). Who is asked decides 'cordon run --ask'; without it\n"
	"the answer is no, with what would allow it. Exit status: 0 granted, 1 denied, 125 error.";

/* 0: none, or more than one, of which the user was told. */
static uint32_t find_kind(const struct args *args)
{
	const bool is_write = args_have(args, OPT_WRITE), is_host = args_have(args, OPT_HOST);
	const bool is_socket = args_have(args, OPT_SOCKET);

	if (is_write + is_host + is_socket != 1 || !args->operand || !args->operand[0]) {
		complain_usage(args, "'cordon request' needs one of --write PATH, --host "
				     "NAME[:PORT] and --socket PATH");
		return 0;
	}
	if (is_write)
		return CORDON_REQUEST_WRITE;
	return is_host ? CORDON_REQUEST_HOST : CORDON_REQUEST_SOCKET;
}

int cmd_request(const struct args *args)
{
	uint32_t kind = find_kind(args);
	cordon_report *report;
	cordon_error *error;

	if (!kind)
		return EXIT_CORDON;
	if (cordon_request(kind, args->operand, args_text(args, OPT_REASON), &report, &error) < 0)
		return finish_error(args, error);
	return finish_answer(args, report, EXIT_NO);
}
