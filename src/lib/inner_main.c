/* SPDX-License-Identifier: MIT */
/* What Cordon starts its own program again for. */
#include "cordon.h"
#include "lib/doctor_probe.h"

#include <string.h>

static const struct {
	const char *name; /* the last component of argv[0] */
	int (*run)(int argc, char **argv);
} inner[] = {
	{ PROBE_NAME, doctor_probe_main },
};

int cordon_inner_main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
		if (strcmp(name, inner[i].name) == 0)
			return inner[i].run(argc, argv);
	return -1;
}
