/* SPDX-License-Identifier: MIT */
/* The search of execvp(), as a list: it is made outside and walked inside the sandbox. */
#include "session/session.h"

/* What execvp() takes when there is no PATH. */
static const char default_path[] = "/usr/local/bin:/bin:/usr/bin";

typedef VEC(const char *) candidates;

static int add(struct arena *a, candidates *list, const char *text, struct err *e)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	const char **place = VEC_PUSH(a, list, e);

	if (!place)
		return err_result(e);
	*place = text;
	return 0;
}

int program_candidates(struct arena *a, const char *name, const char *path, const char *const **out,
		       struct err *e)
{
	struct str rest = str_of(path ? path : default_path);
	candidates list = { .items = NULL };

	if (name[0] == '\0' || str_find(str_of(name), '/') < strlen(name)) {
		if (add(a, &list, name, e) < 0)
			return err_result(e);
		rest.p = NULL;
	}
	while (rest.p) {
		struct str dir = str_first(rest, str_find(rest, ':'));
		struct str file;

		/* An empty one is the working directory. */
		if (arena_printf(a, &file, e, "%.*s%s%s", (int)dir.len, dir.p, dir.len ? "/" : "",
				 name) < 0 ||
		    add(a, &list, file.p, e) < 0)
			return err_result(e);
		rest = dir.len < rest.len ? str_from(rest, dir.len + 1) : (struct str){ NULL, 0 };
	}
	if (add(a, &list, NULL, e) < 0)
		return err_result(e);
	*out = list.items;
	return 0;
}
