/* SPDX-License-Identifier: MIT */
/* No sandbox (P17): the command with its environment and a process group of its own. */
#include <errno.h>

#include "backend/macos/macos.h"

static const char *why_not(enum guarantee g)
{
	(void)g;
	return "it is no sandbox";
}

static int describe(struct arena *a, const struct launch *in, struct buf *out, struct err *e)
{
	(void)a;
	(void)in;
	buf_add_text(out, "run the command as it is, in a process group of its own\n");
	return buf_check(out, e);
}

static int launch(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e)
{
	const char *limit = limit_of_processes(&in->plan->policy->profile->limits);

	(void)a;
	/* These hold without a sandbox too (P23). */
	if (limit)
		return FAIL_CAUSE(e, CAUSE_OTHER_PLATFORM,
				  "limits.%s is not built for macOS in this version", limit);
	return macos_start(&(struct start){ .launch = in,
					    .programs = in->programs,
					    .os_error = ENOENT,
					    .argv = in->argv },
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
	return FAIL(e, ERR_POLICY, "there is no backend 'outer' on macOS");
}

const struct backend backend_outer = {
	.name = "outer", .gives = gives, .why_not = why_not, .describe = describe, .launch = refuse
};

const struct backend backend_none = {
	.name = "none", .gives = gives, .why_not = why_not, .describe = describe, .launch = launch
};
