/* SPDX-License-Identifier: MIT */
/* What Cordon starts its own program again for: to be the runner of an account, or the proxy. No subcommand is called so. */
#include "backend/win_elevated/runner_message.h"
#include "cordon.h"
#include "os/arguments.h"
#include "proxy/windows/spawned.h"

#include <string.h>

int cordon_inner_main(int argc, char **argv)
{
	os_note_arguments(argv);
	if (argc == 2 && strcmp(argv[1], SPAWNED_NAME) == 0)
		return spawned_main();
	return argc >= 2 && strcmp(argv[1], RUNNER_NAME) == 0 ? runner_main(argc, argv) : -1;
}
