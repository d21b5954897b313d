/* SPDX-License-Identifier: MIT */
/*
 * Cordon's own files (P25) are at most readable in every sandbox, whether they exist or not.
 * Nothing lifts that: a command that could write them could write the next run's policy.
 */
#include "plan/protect.h"

#include "base/path.h"

static int protect_own(struct builder *b, const struct own_file *own, struct err *e)
{
	struct cap cap = {
		.kind = RULE_OWN, .access = own->access, .is_fixed = true, .key = str_of(own->what)
	};
	struct str path;
	int r = path_plain(b->a, STR("/"), own->path, &path, e);

	if (r == 0)
		r = arena_printf(b->a, &cap.note, e, "%s: %s in every sandbox", own->what,
				 own->access == ACCESS_DENY ? "not accessible"
							    : "at most readable");
	return r < 0 ? r : protect_path(b, path, &cap, e);
}

int pass_own_files(struct builder *b, struct err *e)
{
	for (size_t i = 0; i < b->in->own_count; i++) {
		int r = protect_own(b, &b->in->own[i], e);

		if (r < 0)
			return err_wrap(e, "%s", b->in->own[i].what);
	}
	return 0;
}
