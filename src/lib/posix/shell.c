/* SPDX-License-Identifier: MIT */
/*
 * CORDON_RUN_SHELL: the command is a shell's, which one the configuration says. It is for
 * programs that want a shell of their own (cordon-sh), and so never runs without a sandbox,
 * whatever the configuration or the environment says (session/ holds it to that).
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "lib/run.h"
#include "os/os.h"

static const char *const usual_shells[] = {
	"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash",
	"/bin/sh",
};

#define OWN_NAME "cordon-sh"

/* What keeps `path` from being the shell; NULL: nothing does. */
static const char *find_fault(const char *path)
{
	struct stat file, own;
	char real[PATH_MAX_BYTES];
	const char *name;

	if (stat(path, &file) < 0 || !realpath(path, real))
		return "it does not exist";
	if (!S_ISREG(file.st_mode) || access(path, X_OK) < 0)
		return "it is not executable";
	/* It would start itself, again and again. */
	name = strrchr(real, '/');
	if ((name && strcmp(name + 1, OWN_NAME) == 0) ||
	    (stat("/proc/self/exe", &own) == 0 && own.st_dev == file.st_dev &&
	     own.st_ino == file.st_ino))
		return "it is " OWN_NAME " itself";
	return NULL;
}

static int find_shell(const struct settings *settings, const char **out, struct err *e)
{
	const struct named *wanted = &settings->shell;
	const char *why;
	char shown[256];

	if (!wanted->name.len) {
		for (size_t i = 0; i < COUNT_OF(usual_shells); i++)
			if (!find_fault(usual_shells[i])) {
				*out = usual_shells[i];
				return 0;
			}
		return FAIL_CAUSE(e, CAUSE_SHELL_NOT_FOUND,
				  "neither bash nor /bin/sh was found; set the shell in your "
				  "configuration: shell = \"/path\"");
	}
	*out = wanted->name.p;
	why = find_fault(*out);
	if (!why)
		return 0;
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, wanted->origin, "can't use the shell '%s': %s",
			     utf8_show(wanted->name, shown, sizeof(shown)), why);
}

/* The variable set, whatever else is. */
static int set_variable(struct arena *a, const char *shell, struct session_request *in,
			struct err *e)
{
	size_t count = count_words(in->more_environment);
	const char **list = arena_array(a, count + 2, sizeof(*list), e);
	struct str variable;

	if (!list || arena_printf(a, &variable, e, "SHELL=%s", shell) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		list[i] = in->more_environment[i];
	list[count] = variable.p;
	in->more_environment = list;
	return 0;
}

/* As login(1) says it: by a dash before the name. */
static int set_words(struct arena *a, const char *shell, struct session_request *in, struct err *e)
{
	bool is_login = in->argv[0][0] == '-';
	const char **list = arena_array(a, count_words(in->argv) + 2, sizeof(*list), e);
	size_t count = 0;

	if (!list)
		return err_result(e);
	list[count++] = shell;
	if (is_login)
		list[count++] = "-l";
	for (size_t i = 1; in->argv[i]; i++)
		list[count++] = in->argv[i];
	in->argv = list;
	return 0;
}

int asked_shell(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		struct session_request *in, struct err *e)
{
	const char *shell;

	if (!(asked->run.flags & CORDON_RUN_SHELL))
		return 0;
	in->needs_sandbox = true;
	if (find_shell(&policy->policy->settings, &shell, e) < 0 ||
	    set_variable(a, shell, in, e) < 0 || set_words(a, shell, in, e) < 0)
		return err_result(e);
	return 0;
}
