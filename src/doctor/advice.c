/* SPDX-License-Identifier: MIT */
/* What to do about problems that every system may have. Pure: decides by causes and facts alone. */
#include "doctor/native.h"

/* Twice what the hungriest backend and the doctor itself have open. */
enum { ENOUGH_FILES = 64 };

int advice_add(struct arena *a, struct diagnosis *d, const char *id, bool is_needed,
	       const char *what, const char *fix, struct err *e)
{
	struct advice *added = VEC_PUSH(a, &d->advice, e);

	if (!added)
		return err_result(e);
	*added = (struct advice){
		.id = id, .is_needed = is_needed, .what = str_of(what), .fix = str_of(fix)
	};
	return 0;
}

const struct examined *advice_find(const struct diagnosis *d, const char *name)
{
	for (size_t i = 0; i < d->backends.count; i++)
		if (strcmp(d->backends.items[i].backend->name, name) == 0)
			return &d->backends.items[i];
	return NULL;
}

/* With too few descriptors any step may fail, and its error names something else. */
bool advice_has_few_files(const struct diagnosis *d)
{
	return d->host.open_files != FACT_UNKNOWN && d->host.open_files < ENOUGH_FILES;
}

int advice_on_files(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
{
	if (!advice_has_few_files(d))
		return 0;
	return advice_add(a, d, "open_files", is_needed,
			  "this process may open only a few files (ulimit -n)",
			  "ulimit -n 1024, in the shell that cordon is started from", e);
}

int advice_on_trying(struct arena *a, struct diagnosis *d, struct err *e)
{
	if (d->room_reason.text.len && d->has_program)
		return advice_add(a, d, "no_directory", false, d->room_reason.text.p,
				  "set TMPDIR to a directory that can be written", e);
	if (!d->has_program || !d->control.is_there)
		return advice_add(a, d, "no_probe", false,
				  d->has_program ? d->control.reason.text.p : d->room_reason.text.p,
				  "run 'cordon doctor' itself, or name that program", e);
	return 0;
}

int advice_on_git(struct arena *a, struct diagnosis *d, struct err *e)
{
	static const char *const git_command[] = { "git",      "config",
						   "--global", "safe.bareRepository",
						   "explicit", NULL };

	if (d->host.has_git && !str_is(d->host.bare_repository, "explicit")) {
		if (advice_add(a, d, "git_bare_repository", false,
			       "git takes any directory that looks like a bare repository for one, "
			       "also "
			       "one that a command has made in the workspace, and runs what its "
			       "configuration names",
			       "git config --global safe.bareRepository explicit", e) < 0)
			return err_result(e);
		d->advice.items[d->advice.count - 1].argv = git_command;
	}
	return 0;
}
