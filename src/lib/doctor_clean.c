/* SPDX-License-Identifier: MIT */
/* What runs that died, and what is there no more, have left behind. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/bwrap/probe.h"
#include "lib/doctor.h"
#include "os/fd.h"
#include "os/os.h"

static bool has_path(const path_list *paths, struct str path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (str_eq(paths->items[i], path))
			return true;
	return false;
}

static int add_path(struct arena *a, path_list *to, struct str path, struct err *e)
{
	struct str *added;

	if (has_path(to, path))
		return 0;
	added = VEC_PUSH(a, to, e);
	return added ? arena_copy(a, path, added, e) : err_result(e);
}

static int add_paths(struct arena *a, path_list *to, const str_list *from, struct err *e)
{
	for (size_t i = 0; i < from->count; i++)
		if (add_path(a, to, from->items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- Placeholders ----------------------------------------------------------------------------- */

/* For one profile: another wants placeholders elsewhere. */
static int clean_for(struct arena *a, const struct cordon_load_options *options,
		     const char *profile, struct diagnosis *d, struct err *e)
{
	struct cordon_load_options load = *options;
	struct cleaning cleaning = { .was_cut = false };
	cordon_policy *policy;
	int status;

	load.on_warning = NULL;
	if (profile) {
		load.profile = profile;
		load.mode = NULL;
	}
	policy = load_new(&load, e);
	if (!policy)
		return err_result(e);
	/* The roots are looked through once. */
	status = session_clean(a, policy->plan, policy->plan_inputs.places.roots,
			       profile ? 0 : policy->plan_inputs.places.root_count, &cleaning, e);
	cordon_policy_free(policy);
	if (status < 0 || add_paths(a, &d->removed, &cleaning.removed, e) < 0 ||
	    add_paths(a, &d->kept, &cleaning.kept, e) < 0)
		return err_result(e);
	d->clean_was_cut |= cleaning.was_cut;
	return 0;
}

/* ---- What is known about a bwrap --------------------------------------------------------------- */

/* The third line is the program that it is about. */
static bool is_stale(struct str text)
{
	struct bwrap_identity identity;
	uint32_t features;
	char path[PATH_MAX_BYTES];
	struct stat st;
	struct str rest = text;

	for (int i = 0; i < 2; i++)
		rest = str_from(rest, str_find(rest, '\n') + 1);
	rest = str_first(rest, str_find(rest, '\n'));
	if (rest.len >= sizeof(path) || str_has_nul(rest))
		return true;
	memcpy(path, rest.p, rest.len);
	path[rest.len] = '\0';
	if (stat(path, &st) < 0)
		return true;
	identity = bwrap_identity(&st);
	return !bwrap_cache_parse(text, rest, &identity, &features);
}

static bool is_own(int fd, mode_t type)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type &&
	       st.st_uid == geteuid();
}

/* SECURITY: by way of a link that another user or a command has left it could be any "bwrap". */
static bool remove_stale(const char *directory)
{
	static const char name[] = "bwrap";
	scoped_fd dir = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char text[PATH_MAX_BYTES + 512];
	scoped_fd fd = -1;
	struct str all;
	ssize_t n;

	if (!is_own(dir, S_IFDIR))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	n = is_own(fd, S_IFREG) ? read(fd, text, sizeof(text)) : -1;
	all = (struct str){ text, n > 0 ? (size_t)n : 0 };
	return n >= 0 && is_stale(all) && unlinkat(dir, name, 0) == 0;
}

static int clean_cache(struct arena *a, struct diagnosis *d, struct err *e)
{
	const char *base = os_environment_find(os_environment(), "XDG_CACHE_HOME");
	const char *home = os_environment_find(os_environment(), "HOME");
	struct str directory, file;

	if (!base && !home)
		return 0;
	if (arena_printf(a, &directory, e, "%s%s/cordon", base ? base : home,
			 base ? "" : "/.cache") < 0 ||
	    arena_printf(a, &file, e, "%s/bwrap", directory.p) < 0)
		return err_result(e);
	if (directory.p[0] != '/' || !remove_stale(directory.p))
		return 0;
	return add_path(a, &d->removed, file, e);
}

int doctor_clean(struct arena *a, const struct cordon_load_options *load, struct diagnosis *d,
		 struct err *e)
{
	d->has_cleaned = true;
	if (clean_for(a, load, NULL, d, e) < 0 || clean_for(a, load, ":workspace", d, e) < 0 ||
	    clean_cache(a, d, e) < 0)
		return err_result(e);
	return room_clean(a, &d->removed, e);
}
