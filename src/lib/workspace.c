/* SPDX-License-Identifier: MIT */
/*
 * Which directory is the workspace: --workspace, CORDON_WORKSPACE, what the profile says,
 * or the working directory.
 */
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"
#include "plan/repo.h"

/*
 * SECURITY: the directory itself first, then its path: whoever can rename it could else
 * have another one compiled for (load.c compares).
 */
int inputs_find_directory(const struct inputs *in, const char *named, struct directory *out,
			  struct err *e)
{
	struct arena *a = in->a;
	struct os_file file;
	struct str path = STR(".");

	if (in->view)
		return inputs_view_directory(in, named, out, e);
	if (named && arena_printf(a, &path, e, "%s/.", named) < 0)
		return err_result(e);
	if (os_look(path, &file, e) < 0)
		return err_result(e);
	out->device = file.device;
	out->inode = file.inode;
	return named ? os_canonical_directory(a, str_of(named), &out->path, e)
		     : os_working_directory(a, &out->path, e);
}

/* By the caller, for whatever profile. */
static const char *find_named(const struct inputs *in, const char **by, struct err *e)
{
	const char *value = in->options->workspace;

	*by = "--workspace";
	if (value)
		return value;
	*by = "CORDON_WORKSPACE";
	value = os_environment_find(in->environment, "CORDON_WORKSPACE");
	if (!value || !value[0])
		return NULL;
	/* It is for many commands, which are in different directories. */
	if (value[0] != '/' && in->places.system != PLACES_WINDOWS)
		(void)FAIL(e, ERR_ARGUMENT, "the path must be absolute");
	return value;
}

/* As the profile has it; "" is the working directory. */
static int find_repo(const struct inputs *in, struct places *places, struct workspace *out,
		     struct err *e)
{
	struct repo repo;
	char shown[256];

	if (inputs_find_homes(in, places, e) < 0 ||
	    repo_find(in->a, in->host, places, &repo, e) < 0)
		return err_result(e);
	if (!repo.top.len)
		return 0;
	if (!repo.distrusted) {
		out->directory = (struct directory){ repo.top, repo.device, repo.inode };
		return 0;
	}
	return arena_printf(in->a, &out->warning, e,
			    "the repository %s %s; using the working directory as the workspace "
			    "(--workspace chooses another)",
			    utf8_show(repo.top, shown, sizeof(shown)), repo.distrusted);
}

int inputs_workspace(const struct inputs *in, const struct profile_doc *doc, struct places *places,
		     struct workspace *out, struct err *e)
{
	const char *by;
	const char *named = find_named(in, &by, e);
	bool is_repo = false;

	*out = (struct workspace){ .directory = in->directory, .warning = STR_EMPTY };
	if (named && (e->code || inputs_find_directory(in, named, &out->directory, e) < 0))
		return err_wrap(e, "%s", by);
	if (!named && profile_doc_is_repo(doc, &is_repo, e) < 0)
		return err_result(e);
	if (!named && is_repo && find_repo(in, places, out, e) < 0)
		return err_result(e);
	out->is_chosen = named || is_repo;
	places->workspace = out->directory.path;
	return 0;
}

int inputs_hint_at_repo(const struct inputs *in, const struct plan *plan, struct str *out,
			struct err *e)
{
	const struct places *places = &plan->places;
	char top[256], workspace[256];
	struct repo repo;

	*out = STR_EMPTY;
	if (plan->is_unsandboxed || plan->policy->profile->git != GIT_COMMIT ||
	    plan_resolve(plan, places->cwd).access != ACCESS_WRITE)
		return 0;
	if (repo_find(in->a, in->host, places, &repo, e) < 0)
		return err_result(e);
	if (!repo.top.len || repo.distrusted || plan_resolve(plan, repo.top).access == ACCESS_WRITE)
		return 0;
	return arena_printf(in->a, out, e,
			    "git can't commit here: the workspace is %s, but the repository is %s; "
			    "use --workspace %s, or set workspace = \"repo\" in the profile",
			    utf8_show(places->cwd, workspace, sizeof(workspace)),
			    utf8_show(repo.top, top, sizeof(top)), top);
}
