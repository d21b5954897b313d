/* SPDX-License-Identifier: MIT */
/*
 * A restricted token of the user's own (windows/windows.h). It takes what the modes can say, with more
 * that is read-only: everything can be read, and the writable roots are those of workspace-write.
 */
#include "backend/windows/near.h"
#include "backend/windows/windows.h"
#include "base/path.h"
#include "plan/net.h"

const struct windows_guarantee win_token_guarantees[GUARANTEE_COUNT] = {
	[G_FS_WRITE] = { false,
			 "nobody has shown that the second check of a WRITE_RESTRICTED token "
			 "covers "
			 "deleting where the directory above gives the user FILE_DELETE_CHILD, so "
			 "the user's own files may be deleted" },
	[G_FS_READ] = { false, "a WRITE_RESTRICTED token may read what the user may, whatever is "
			       "denied to "
			       "its SIDs" },
	[G_FS_CARVE] = { true, "what is read-only has an entry that denies writing to the root's "
			       "capability" },
	[G_FS_REOPEN] = { false, "an access list can't open again what one above it closes for "
				 "what is made there later" },
	[G_PROTECT_MISSING] = { true, "a missing path is made first, and then closed" },
	[G_DENY_FUTURE] = { false, "an access list belongs to a file that is there" },
	[G_NET_OFF] = { false, "a token does not restrict the network" },
	[G_NET_MANAGED] = { false, "a token does not restrict the network" },
	[G_IPC] = { false, "named objects of the session are shared with the host" },
	[G_PROC] = { false, "the user's other processes can be seen" },
	[G_KERNEL] = { false, "a token restricts no system call as such" },
	[G_LIMITS] = { true, "the job limits memory and processes" },
	[G_TREE_DEATH] = { true, "the job ends with Cordon, and nothing leaves it" },
};

static int check_reads(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->plan;

	for (size_t i = 0; i < plan->needs.count; i++)
		if (plan->needs.items[i].guarantee == G_FS_READ)
			return windows_refuse(
				l, G_FS_READ, e,
				"%.*s, and a restricted token may read what the user may",
				STR_ARG(plan->needs.items[i].because));
	return 0;
}

static bool is_root_of_mode(const struct plan *plan, struct str tmpdir, struct str path)
{
	for (size_t i = 0; i < plan->places.root_count; i++)
		if (str_eq(plan->places.roots[i], path))
			return true;
	return tmpdir.len > 0 && str_eq(tmpdir, path);
}

/* Of workspace-write: the workspace roots, and the temporary directory. Of read-only: none. */
static int check_roots(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->plan;
	const struct plan_inputs in = { .places = plan->places, .host = plan->host };
	struct located tmpdir = { .path = STR_EMPTY };
	bool has_workspace = l->roots.count == 0;

	if (plan->places.tmpdir.len && plan_locate(l->a, &in, plan->places.tmpdir, &tmpdir, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < l->roots.count; i++) {
		struct str path = l->roots.items[i].path;

		has_workspace = has_workspace ||
				path_is_under(places_workspace(&plan->places), path);
		if (!is_root_of_mode(plan, tmpdir.path, path))
			return windows_refuse(l, G_FS_WRITE, e,
					      "%.*s is writable, which is no root of the mode "
					      "workspace-write",
					      STR_ARG(path));
	}
	if (!has_workspace)
		return windows_refuse(l, G_FS_WRITE, e,
				      "%.*s is writable and the workspace is not, as in no mode",
				      STR_ARG(l->roots.items[0].path));
	return 0;
}

int win_token_lower(struct arena *a, const struct plan *plan, uint16_t proxy_port,
		    struct windows_lowering *out, struct err *e)
{
	struct lowering l;
	int r;

	(void)proxy_port;
	lowering_init(&l, a, plan, "win_token", win_token_guarantees, out);
	r = windows_check_policy(&l, e) < 0 || check_reads(&l, e) < 0 ||
			    windows_find_acl(&l, e) < 0 || check_roots(&l, e) < 0 ||
			    windows_add_process(&l, e) < 0
		    ? err_result(e)
		    : 0;
	return lowering_end(&l, r, e);
}

int win_token_lower_here(struct arena *a, const struct plan *plan, struct windows_lowering *out,
			 struct err *e)
{
	return windows_lower_near(a, plan, win_token_lower, out, e);
}
