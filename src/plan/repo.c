/* SPDX-License-Identifier: MIT */
/*
 * Finds the top of the git work tree that contains a directory (P4: workspace = "repo"), by names
 * alone, going up from there: git is not run, and no file is read that it would obey.
 *
 * SECURITY: someone who can create a .git somewhere above must not decide what the next run may
 * write. What an earlier run planted lies inside what that run could write, and the innermost .git
 * counts, so it can only make the workspace smaller. Elsewhere the .git must belong to the user, in
 * a directory that belongs to the user and is not world-writable. Temporary directories, homes,
 * directories above a home, and directories on another file system are never the top.
 */
#include "plan/repo.h"

#include "base/path.h"
#include "plan/builder.h"
#include "plan/homes.h"

/* Whether git would accept `path`, a .git, as a repository, as far as names tell. */
static int is_repository(struct arena *a, const struct host *host, struct str path,
			 struct host_file *file, bool *out, struct err *e)
{
	struct host_file head;
	struct str name;

	*out = false;
	if (host->look(host->user, path, file, e) < 0)
		return err_result(e);
	if (file->type != HOST_DIR) {
		*out = file->type == HOST_FILE || file->type == HOST_LINK;
		return 0;
	}
	if (path_join(a, path, STR("HEAD"), &name, e) < 0 ||
	    host->look(host->user, name, &head, e) < 0)
		return err_result(e);
	*out = head.type != HOST_MISSING;
	return 0;
}

/* Whether it is a directory for everybody's files, or a home. */
static int is_never_top(struct arena *a, const struct host *host, const struct places *places,
			struct str dir, bool *out, struct err *e)
{
	const struct str temporary[] = { STR("/tmp"), STR("/var/tmp"), places->tmpdir };
	struct home_match match;

	*out = true;
	if (dir.len == 1 || (places->system == PLACES_WINDOWS && path_depth(dir) == 1))
		return 0;
	for (size_t i = 0; i < COUNT_OF(temporary); i++) {
		struct canon canon = { .path = STR_EMPTY };

		if (temporary[i].len &&
		    canon_resolve(a, host, temporary[i], true, &canon, NULL, e) < 0) {
			if (e->code != ERR_POLICY)
				return err_result(e);
			err_clear(e); /* a loop of links */
		}
		if (str_eq(canon.path, dir))
			return 0;
	}
	if (homes_match(a, host, places, dir, &match, e) < 0)
		return err_result(e);
	*out = match.home.len > 0;
	return 0;
}

static const char *distrust(const struct host_file *dir, const struct host_file *git)
{
	if (dir->is_others || git->is_others)
		return "belongs to another user";
	return dir->is_open ? "can be written by everybody" : NULL;
}

int repo_find(struct arena *a, const struct host *host, const struct places *places,
	      struct repo *out, struct err *e)
{
	struct host_file start;

	*out = (struct repo){ .top = STR_EMPTY };
	if (host->look(host->user, places->cwd, &start, e) < 0)
		return err_result(e);
	for (struct str dir = places->cwd;; dir = path_parent(dir)) {
		struct host_file file, git;
		struct str name;
		bool is_end, is_found;

		if (host->look(host->user, dir, &file, e) < 0 ||
		    is_never_top(a, host, places, dir, &is_end, e) < 0)
			return err_result(e);
		if (is_end || file.type != HOST_DIR || file.device != start.device)
			return 0;
		if (path_join(a, dir, STR(".git"), &name, e) < 0 ||
		    is_repository(a, host, name, &git, &is_found, e) < 0)
			return err_result(e);
		if (is_found) {
			*out = (struct repo){ .top = dir,
					      .device = file.device,
					      .inode = file.inode,
					      .distrusted = distrust(&file, &git) };
			return 0;
		}
	}
}
