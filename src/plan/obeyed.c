/* SPDX-License-Identifier: MIT */
/* See obeyed.h. */
#include "plan/obeyed.h"

#include "base/path.h"
#include "policy/metadata.h"

/* ---- Names ----------------------------------------------------------------------------------- */

/* Whether `name` begins with `dir` as its first component, and has another. */
static bool begins_with(struct str name, struct str dir)
{
	return name.len > dir.len && path_is_under(name, dir);
}

/* `rest`: the path from one component on. */
static bool is_name(struct str rest, struct str name, bool is_dir)
{
	return path_is_under(rest, name) || (is_dir && begins_with(name, rest));
}

static bool is_open(const struct profile *profile, const char *name)
{
	if (str_is(STR(".git"), name))
		return profile->git == GIT_WRITE;
	return names_have(&profile->unprotect, str_of(name));
}

static bool find_name(const struct profile *profile, struct str rest, bool is_dir, struct str *out)
{
	for (size_t i = 0; i < profile->protect.count; i++) {
		*out = profile->protect.items[i].name;
		if (is_name(rest, *out, is_dir))
			return true;
	}
	for (size_t i = 0; i < metadata_name_count; i++) {
		*out = str_of(metadata_names[i].name);
		if (is_name(rest, *out, is_dir) && !is_open(profile, metadata_names[i].name))
			return true;
	}
	return false;
}

void obeyed_name(const struct profile *profile, struct str path, bool is_dir, struct obeyed *out)
{
	struct str component, name;
	size_t at = 0;

	*out = (struct obeyed){ .path = STR_EMPTY };
	while (path_next(path, &at, &component)) {
		size_t before = at - component.len;

		if (!find_name(profile, str_from(path, before), is_dir, &name))
			continue;
		out->path = str_first(path, MIN_OF(path.len, before + name.len));
		out->why = "it is protected metadata";
		return;
	}
}

/* ---- Git directories ------------------------------------------------------------------------- */

/* A link counts as what it should lead to, and what can't be seen as what it may be. */
static int has(struct arena *a, const struct host *host, struct str dir, const char *name,
	       enum host_type wanted, bool *out, struct err *e)
{
	struct host_file file;
	struct str path;

	if (path_join(a, dir, str_of(name), &path, e) < 0 ||
	    host->look(host->user, path, &file, e) < 0)
		return err_result(e);
	*out = file.type == wanted || file.type == HOST_LINK || file.type == HOST_HIDDEN;
	return 0;
}

/* As git_is_dir() says, but what is closed ends nothing, and most are none for want of HEAD. */
static int is_git_dir(struct arena *a, const struct host *host, struct str dir, bool *out,
		      struct err *e)
{
	bool has_objects, has_refs;

	if (has(a, host, dir, "HEAD", HOST_FILE, out, e) < 0)
		return err_result(e);
	if (!*out)
		return 0;
	if (has(a, host, dir, "commondir", HOST_FILE, out, e) < 0 ||
	    has(a, host, dir, "objects", HOST_DIR, &has_objects, e) < 0 ||
	    has(a, host, dir, "refs", HOST_DIR, &has_refs, e) < 0)
		return err_result(e);
	*out |= has_objects && has_refs;
	return 0;
}

int obeyed_git_dir(struct arena *a, const struct host *host, const struct profile *profile,
		   struct str path, struct obeyed *out, struct err *e)
{
	bool is_one = false;

	*out = (struct obeyed){ .path = STR_EMPTY };
	for (; profile->git != GIT_WRITE && path.len > 1; path = path_parent(path)) {
		if (is_git_dir(a, host, path, &is_one, e) < 0)
			return err_result(e);
		if (!is_one)
			continue;
		*out = (struct obeyed){ path, "it is in a git directory" };
		return 0;
	}
	return 0;
}
