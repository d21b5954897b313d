/* SPDX-License-Identifier: MIT */
/* See machine.h: systems that are no Windows. */
#include "backend/win_elevated/machine.h"

int machine_open(struct arena *a, struct machine *out, struct err *e)
{
	(void)a;
	(void)out;
	return FAIL_CAUSE(
		e, CAUSE_OTHER_PLATFORM,
		"'cordon windows' is for Windows; this system needs no accounts and filters");
}

void machine_close(struct machine *m)
{
	(void)m;
}
