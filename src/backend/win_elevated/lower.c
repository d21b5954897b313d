/* SPDX-License-Identifier: MIT */
/*
 * Two accounts that only commands run as (windows/windows.h), both in the group `group`: `online`, and `offline`
 * for a network that is off or managed. They may read what Users may, and what the plan adds; what it denies
 * is denied to the group. Their token is restricted as well, so that they write nowhere else.
 */
#include "backend/windows/near.h"
#include "backend/windows/windows.h"
#include "plan/net.h"

const struct windows_guarantee win_elevated_guarantees[GUARANTEE_COUNT] = {
	[G_FS_WRITE] = { true, "what is written has to be allowed to the account and to a "
			       "capability, which only the writable roots have" },
	[G_FS_READ] = { true, "what is denied is denied to the group of the accounts" },
	[G_FS_CARVE] = { true, "what is narrower has entries of its own, which deny" },
	[G_FS_REOPEN] = { true,
			  "what may be read inside what may not has an entry of its own; what "
			  "may be written inside what is read-only in a root is refused" },
	[G_PROTECT_MISSING] = { true, "a missing path is made first, and then closed" },
	[G_DENY_FUTURE] = { false, "an access list belongs to a file that is there" },
	[G_NET_OFF] = { true, "firewall rules and WFP filters block the account offline" },
	[G_NET_MANAGED] = { true, "they leave it the proxy's port of the loopback alone" },
	[G_IPC] = { false, "named objects of the session are shared with the host" },
	[G_PROC] = { false, "the host's processes can be seen" },
	[G_KERNEL] = { false, "an account restricts no system call as such" },
	[G_LIMITS] = { true, "the job limits memory and processes" },
	[G_TREE_DEATH] = { true, "the job ends with Cordon, and nothing leaves it" },
};

int win_elevated_lower(struct arena *a, const struct plan *plan, uint16_t proxy_port,
		       struct windows_lowering *out, struct err *e)
{
	struct lowering l;
	int r;

	lowering_init(&l, a, plan, "win_elevated", win_elevated_guarantees, out);
	l.has_accounts = true;
	r = windows_check_policy(&l, e) < 0 || windows_find_acl(&l, e) < 0 ||
			    windows_add_filters(&l, proxy_port, e) < 0 ||
			    windows_add_process(&l, e) < 0
		    ? err_result(e)
		    : 0;
	return lowering_end(&l, r, e);
}

const char *win_elevated_unbuilt(enum guarantee g)
{
	if (g == G_FS_READ)
		return "closing files for reading is not built in this version";
	if (g == G_NET_MANAGED)
		return "a proxy for an account of its own is not built in this version";
	return NULL;
}

/* To close a disk for reading, every object on it whose list inherits nothing would have to be found. */
static bool find_unbuilt(const struct plan *plan, enum guarantee *out)
{
	const bool hides = plan->needs_set & GUARANTEE_BIT(G_FS_READ);

	*out = hides ? G_FS_READ : G_NET_MANAGED;
	return hides || net_mode(plan->net) == NET_MANAGED;
}

int win_elevated_lower_here(struct arena *a, const struct plan *plan, struct windows_lowering *out,
			    struct err *e)
{
	struct lowering l;
	enum guarantee g;

	if (!find_unbuilt(plan, &g))
		return windows_lower_near(a, plan, win_elevated_lower, out, e);
	lowering_init(&l, a, plan, "win_elevated", win_elevated_guarantees, out);
	return lowering_end(&l,
			    windows_refuse(&l, g, e, "%s%s",
					   g == G_FS_READ ? "not everything may be read, and " : "",
					   win_elevated_unbuilt(g)),
			    e);
}
