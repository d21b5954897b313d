/* SPDX-License-Identifier: MIT */
/* The inner stage of the bwrap backend, for main(). */
#pragma once

/* What it is called by, as argv[0] or, where bwrap has no --argv0, as argv[1]. */
#define BWRAP_STAGE_NAME "cordon-linux-sandbox"

/* Returns only when it was not started by Cordon: the status to end with. */
int bwrap_stage_main(int argc, char **argv);
