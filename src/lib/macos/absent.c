/* SPDX-License-Identifier: MIT */
/* What libcordon does not have on macOS in this version: the doctor. */
#include "lib/lib.h"

static int refuse(const char *what, cordon_error **error)
{
	struct err e = ERR_INIT;

	(void)FAIL_CAUSE(&e, CAUSE_OTHER_PLATFORM, "%s not built for macOS in this version", what);
	return error_give(&e, error);
}

int cordon_doctor(const struct cordon_doctor_options *options, cordon_report **report,
		  cordon_error **error)
{
	(void)options;
	(void)report;
	return refuse("the doctor is", error);
}
