/* SPDX-License-Identifier: MIT */
/* What Cordon starts its own program again for. */
#include "backend/bwrap/stage.h"
#include "cordon.h"
#include "doctor/probe.h"
#include "os/arguments.h"
#include "tools/worker.h"

#include <string.h>

#define STARTED_BY_NUMBER "/proc/self/fd/"

static const struct {
	const char *name; /* the last component of argv[0] */
	int (*run)(int argc, char **argv);
} inner[] = {
	{ PROBE_NAME, doctor_probe_main },
	{ BWRAP_STAGE_NAME, bwrap_stage_main },
	{ WORKER_NAME, tools_worker_main },
};

int cordon_inner_main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	os_note_arguments(argv);
	/* A bwrap without --argv0 can only say what it executes. */
	if (argc > 1 && strncmp(argv[0], STARTED_BY_NUMBER, sizeof(STARTED_BY_NUMBER) - 1) == 0)
		name = argv[1];

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
		if (strcmp(name, inner[i].name) == 0)
			return inner[i].run(argc, argv);
	return -1;
}
