/* SPDX-License-Identifier: MIT */
/* No sandbox (P17): the command with its environment, in a job that ends with this process. */
#include <errno.h>

#include "backend/windows_run/windows_run.h"

static const char *why_not(enum guarantee g)
{
	(void)g;
	return "it is no sandbox";
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	(void)a;
	(void)in;
	buf_add_text(out, "run the command as it is, in a job that ends with cordon\n");
	return buf_check(out, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	const char *limit = limit_of_processes(&in->plan->policy->profile->limits);

	(void)a;
	/* These hold without a sandbox too (P23). */
	if (limit)
		return FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				  "limits.%s is not built for Windows in this version", limit);
	return windows_start(&(struct start){ .launch = in,
					      .programs = in->programs,
					      .argv = in->argv,
					      .os_error = ENOENT,
					      .limits = { .ends_with_us = true } },
			     out, e);
}

static guarantee_set gives(const struct plan *plan)
{
	(void)plan;
	return 0;
}

/* Nothing inside a sandbox can ask here which one is around it, so nothing gets this far. */
static int refuse(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	(void)a;
	(void)in;
	(void)out;
	return FAIL(e, ERR_POLICY, "there is no backend 'outer' on Windows");
}

const struct backend backend_outer = {
	.name = "outer", .gives = gives, .why_not = why_not, .describe = describe, .launch = refuse
};

const struct backend backend_none = {
	.name = "none", .gives = gives, .why_not = why_not, .describe = describe, .launch = launch
};
