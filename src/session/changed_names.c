/* SPDX-License-Identifier: MIT */
/*
 * P9: what a run has changed, or made, that other programs take up later and that nothing
 * keeps from it: words that agents obey, hooks that a tool has to be installed for, and
 * names in a directory that was missing when the run began. A look at a list of names in
 * each writable root; what lies deeper git_look.c finds where it looks through the tree.
 *
 * SECURITY: the files are the command's. None is opened, no link is followed.
 */
#include "base/path.h"
#include "os/os.h"
#include "os/times.h"
#include "policy/metadata.h"
#include "session/session.h"

enum { NAMES_MAX_ROOTS = 32 };

static bool is_placeholder(struct str path)
{
	struct err ignored = ERR_INIT;
	struct os_file file = { .type = OS_MISSING };

	return os_look(path, &file, &ignored) == 0 && file.is_placeholder;
}

struct names_look {
	struct arena *a;
	const struct plan *plan;
	struct timespec started;
	changed_name_list *out;
};

static int look_at_name(struct names_look *l, struct str root, const char *name, const char *reason,
			struct err *e)
{
	struct changed_name *found;
	struct os_times times;
	struct str path;

	if (path_join(l->a, root, str_of(name), &path, e) < 0)
		return err_result(e);
	if (!os_look_times(path.p, &times) || !os_is_since(times.change, l->started) ||
	    plan_resolve(l->plan, path).access != ACCESS_WRITE || is_placeholder(path))
		return 0;
	found = VEC_PUSH(l->a, l->out, e);
	if (!found)
		return err_result(e);
	*found = (struct changed_name){ .path = path,
					.reason = reason,
					.is_new = !times.has_birth ||
						  os_is_since(times.birth, l->started) };
	return 0;
}

static int look_into_root(struct names_look *l, struct str root, struct err *e)
{
	const names *open = &l->plan->policy->profile->unprotect;

	for (size_t i = 0; i < metadata_reported_count; i++)
		if (look_at_name(l, root, metadata_reported[i].name, metadata_reported[i].reason,
				 e) < 0)
			return err_result(e);
	/* What was unprotected is meant to be changed. */
	for (size_t i = 0; i < metadata_name_count; i++)
		if (strchr(metadata_names[i].name, '/') &&
		    !names_have(open, str_of(metadata_names[i].name)) &&
		    look_at_name(l, root, metadata_names[i].name, metadata_names[i].reason, e) < 0)
			return err_result(e);
	return 0;
}

int changed_names_look(struct arena *a, const struct plan *plan, struct timespec started,
		       changed_name_list *out, struct err *e)
{
	struct names_look l = { .a = a, .plan = plan, .started = started, .out = out };

	for (size_t i = 0; i < plan->roots.count && i < NAMES_MAX_ROOTS; i++)
		if (look_into_root(&l, plan->roots.items[i].path, e) < 0)
			return err_result(e);
	return 0;
}
