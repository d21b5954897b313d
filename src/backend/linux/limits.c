/* SPDX-License-Identifier: MIT */
/* P23: limits on the whole of a run that need a control group. */
#include "backend/linux/supervisor.h"
#include "backend/mounts/mounts.h"

static bool are_wanted(const struct supervisor *s, const struct supervisor_attempt *attempt)
{
	return s->in.is_sandboxed && (attempt->given & GUARANTEE_BIT(G_LIMITS)) &&
	       !(attempt->lost & GUARANTEE_BIT(G_LIMITS));
}

int limits_prepare(struct supervisor *s, const struct supervisor_attempt *attempt, struct err *e)
{
	struct os_cgroup_limits wanted = mounts_group_limits(s->in.plan);
	char place[OS_CGROUP_BYTES];

	if (!are_wanted(s, attempt) || s->group.dir >= 0 || (!wanted.memory && !wanted.tasks))
		return 0;
	if (!os_cgroup_find(&wanted, place))
		return FAIL(e, ERR_SYS, "the control groups of this process have changed");
	return os_cgroup_make(place, &wanted, &s->group, e);
}

uint64_t limits_processes(const struct supervisor *s, const struct supervisor_attempt *attempt)
{
	uint64_t most = s->in.plan->policy->profile->limits.value[LIMIT_PROCESSES];

	return are_wanted(s, attempt) && !mounts_group_limits(s->in.plan).tasks ? most : 0;
}

/* SECURITY: before the command is executed, so that all of it is in the group. */
int limits_begin(struct supervisor *s, struct err *e)
{
	int r = s->group.dir < 0 ? 0 : os_cgroup_enter(&s->group, s->sandbox.pid);

	return r < 0 ? FAIL_SYS(e, -r, "can't put the sandbox into its control group") : 0;
}

/* May be called again, when the group is gone and nobody can be asked any more. */
void limits_end(struct supervisor *s)
{
	s->result.ran_out_of_memory |= s->group.dir >= 0 && os_cgroup_ran_out(&s->group);
	os_cgroup_remove(&s->group);
}
