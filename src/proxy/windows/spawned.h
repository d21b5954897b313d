/* SPDX-License-Identifier: MIT */
/* The proxy's process on Windows: this program, started again. */
#pragma once

/* The second and last word of its command line. No subcommand is called so. */
#define SPAWNED_NAME "cordon-proxy"

/* What it does; its exit status. */
int spawned_main(void);
