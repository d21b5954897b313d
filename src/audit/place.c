/* SPDX-License-Identifier: MIT */
/* Where logs are, and the ids of runs; see audit.h. */
#include "audit/audit.h"
#include "base/path.h"
#include "os/random.h"

int audit_default_path(struct arena *a, struct str state_directory, struct str *out, struct err *e)
{
	if (state_directory.len == 0)
		return FAIL(e, ERR_ARGUMENT,
			    "there is no home directory to keep the audit log in; name a file for "
			    "it with --audit");
	return path_join(a, state_directory, STR("audit/network.jsonl"), out, e);
}

int audit_approvals_path(struct arena *a, struct str state_directory, struct str *out,
			 struct err *e)
{
	if (state_directory.len == 0)
		return FAIL(e, ERR_ARGUMENT,
			    "there is no home directory to keep the log of approvals in");
	return path_join(a, state_directory, STR("audit/approvals.jsonl"), out, e);
}

int audit_new_run(struct arena *a, struct str *out, struct err *e)
{
	uint64_t random = 0;
	int r = os_random(&random, sizeof(random));

	if (r < 0)
		return FAIL_SYS(e, -r, "can't make an id for the run");
	return arena_printf(a, out, e, "%016llx", (unsigned long long)random);
}
