/* SPDX-License-Identifier: MIT */
/*
 * What Cordon starts its own program again for. sandbox-exec has the path of the program as its argv[0], so the name
 * is the next word; no subcommand is called so.
 */
#include "cordon.h"
#include "doctor/probe.h"
#include "os/arguments.h"
#include "tools/worker.h"

#include <string.h>

int cordon_inner_main(int argc, char **argv)
{
	os_note_arguments(argv);
	if (argc == 2 && strcmp(argv[1], WORKER_NAME) == 0)
		return tools_worker_main(argc, argv);
	return argc > 2 && strcmp(argv[1], PROBE_NAME) == 0 ? doctor_probe_main(argc, argv) : -1;
}
