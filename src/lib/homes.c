/* SPDX-License-Identifier: MIT */
/* Where people live on this host: $HOME and the system's list of users. */
#include "lib/lib.h"
#include "os/os.h"

static const char users_file[] = "/etc/passwd";

/* ---- The home ------------------------------------------------------------------------ */

struct home_search {
	struct arena *a;
	uint64_t uid;
	struct str found;
};

static int find_own(void *arg, uint64_t uid, struct str home, struct err *e)
{
	struct home_search *search = arg;

	if (uid != search->uid || !path_is_absolute(home))
		return 0;
	return path_plain(search->a, STR("/"), home, &search->found, e) < 0 ? err_result(e) : 1;
}

int inputs_find_home(struct inputs *in, struct err *e)
{
	struct home_search search = { .a = in->a, .uid = os_user(), .found = STR_EMPTY };

	if (in->view) {
		in->places.home = in->view->home;
		return 0;
	}
	if (inputs_find_absolute(in, in->places.system == PLACES_WINDOWS ? "USERPROFILE" : "HOME",
				 &in->places.home, e) < 0)
		return err_result(e);
	if (in->places.home.len)
		return 0;
	if (os_list_users(str_of(users_file), find_own, &search, e) < 0)
		return err_wrap(e,
				"can't find the home directory, and HOME is not an absolute path");
	in->places.home = search.found;
	return 0;
}

/* ---- All homes ------------------------------------------------------------------------- */

struct homes_search {
	struct arena *a;
	path_list homes;
	uint64_t uid;
	bool is_root;
};

static int add_home(void *arg, uint64_t uid, struct str home, struct err *e)
{
	struct homes_search *search = arg;
	struct str plain;
	struct str *added;

	if (!path_is_absolute(home) ||
	    (uid != search->uid && !(search->is_root && places_is_persons(uid, home))))
		return 0;
	/* One that no kernel would find is nobody's. */
	if (path_plain(search->a, STR("/"), home, &plain, e) < 0) {
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		return 0;
	}
	added = VEC_PUSH(search->a, &search->homes, e);
	if (!added)
		return err_result(e);
	*added = plain;
	return 0;
}

int inputs_find_homes(const struct inputs *in, struct places *out, struct err *e)
{
	struct homes_search search = { .a = in->a, .uid = os_user(), .is_root = os_is_root() };

	/* An imagined host has one user. */
	if (!in->view && os_list_users(str_of(users_file), add_home, &search, e) < 0)
		return err_wrap(e, "can't find out whether the workspace is a home directory");
	out->homes = search.homes.items;
	out->home_count = search.homes.count;
	return 0;
}
