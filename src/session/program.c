/* SPDX-License-Identifier: MIT */
/* The search of execvp(), as a list: it is made outside and walked inside the sandbox. */
#include "os/os.h"
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

/* `name` with each of the suffixes that a program has here; only those of a name without one are added to it. */
static int add_all(struct arena *a, candidates *list, struct str dir, const char *name,
		   struct err *e)
{
	const bool has_suffixes = os_program_suffixes[1] != NULL;
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; os_program_suffixes[i]; i++) {
		struct str file;

		if (has_suffixes && !os_program_suffixes[i][0] && !dot)
			continue;
		if (arena_printf(a, &file, e, "%.*s%s%s%s", (int)dir.len, dir.p, dir.len ? "/" : "",
				 name, os_program_suffixes[i]) < 0 ||
		    add(a, list, file.p, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Whether it says where the file is. */
static bool is_a_path(const char *name)
{
	return name[0] == '\0' || strchr(name, '/') ||
	       (os_path_separator == ';' && (strchr(name, '\\') || strchr(name, ':')));
}

int program_candidates(struct arena *a, const char *name, const char *path, const char *const **out,
		       struct err *e)
{
	/* Windows has no usual one. */
	struct str rest = str_of(path ? path : os_path_separator == ':' ? default_path : "");
	candidates list = { .items = NULL };

	if (is_a_path(name)) {
		if (add_all(a, &list, STR_EMPTY, name, e) < 0)
			return err_result(e);
		rest.p = NULL;
	}
	while (rest.p) {
		struct str dir = str_first(rest, str_find(rest, os_path_separator));

		/* An empty one is the working directory; on Windows it is nothing. */
		if ((dir.len || os_path_separator == ':') && add_all(a, &list, dir, name, e) < 0)
			return err_result(e);
		rest = dir.len < rest.len ? str_from(rest, dir.len + 1) : (struct str){ NULL, 0 };
	}
	if (add(a, &list, NULL, e) < 0)
		return err_result(e);
	*out = list.items;
	return 0;
}
