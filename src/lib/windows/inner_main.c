/* SPDX-License-Identifier: MIT */
/* Nothing of Cordon's is started again inside a sandbox of Windows. */
#include "cordon.h"

int cordon_inner_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return -1;
}
