/* SPDX-License-Identifier: MIT */
/* What the tests of runs share: a host program that knows nothing but cordon.h. */
#pragma once

#include <cordon.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/scratch.h"
#include "../unit/test.h"

/* With and without a sandbox a run looks the same to the host. */
static const char *const both_backends[] = { "none", "native", NULL };
/* `name` is declared here. NOLINTBEGIN(bugprone-macro-parentheses) */
#define EACH_BACKEND(name) \
	for (const char *const *each = both_backends, *name = *each; *each; name = *++each)
/* NOLINTEND(bugprone-macro-parentheses) */

struct ask {
	struct cordon_load_options load;
	struct cordon_run_options run;
	const char *words[8];
};

/* A shell script in the working directory, with nothing of this machine's configuration. */
__attribute__((unused)) static void ask_script(struct ask *ask, const char *backend,
					       const char *script)
{
	static const char *const environment[] = { "HOME=/nonexistent", NULL };
	static const char *const path[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "A_TOKEN=hunter2",
					    "PLAIN=kept", NULL };

	*ask = (struct ask){ .load = { .size = sizeof(ask->load) },
			     .run = { .size = sizeof(ask->run) },
			     .words = { "/bin/sh", "-c", script, NULL } };
	ask->load.mode = "workspace-write";
	ask->load.system_directory = "/nonexistent";
	ask->load.environment = environment;
	ask->run.load = &ask->load;
	ask->run.command = ask->words;
	ask->run.environment = path;
	ask->run.backend = backend;
	ask->run.flags = CORDON_RUN_CAPTURE | CORDON_RUN_NO_STDIN;
}

/* NULL, and said, when it failed. */
__attribute__((unused)) static cordon_result *run_it(const struct ask *ask)
{
	cordon_result *result = NULL;
	cordon_error *error = NULL;

	if (cordon_run(NULL, &ask->run, &result, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
		return NULL;
	}
	return result;
}

__attribute__((unused)) static cordon_result *run_script(const char *backend, const char *script)
{
	struct ask ask;

	ask_script(&ask, backend, script);
	return run_it(&ask);
}

/* The positive code, 0 when it ran. `says` is the name of the cause, or a part of the text. */
__attribute__((unused)) static int refusal(const struct ask *ask, const char *says)
{
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	int status = cordon_run(NULL, &ask->run, &result, &error);

	if (error) {
		bool is_so = strcmp(cordon_error_cause(error), says) == 0 ||
			     strstr(cordon_error_text(error), says);

		if (!is_so)
			printf("# got %s\n", cordon_error_cause(error));
		CHECK(is_so);
	}
	cordon_error_free(error);
	cordon_result_free(result);
	return -status;
}

__attribute__((unused)) static bool has_warning(const cordon_result *result, const char *text)
{
	for (uint64_t i = 0; i < cordon_result_warning_count(result); i++)
		if (strstr(cordon_result_warning(result, i), text))
			return true;
	for (uint64_t i = 0; i < cordon_result_warning_count(result); i++)
		printf("#   warning: %s\n", cordon_result_warning(result, i));
	return false;
}

__attribute__((unused)) static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

__attribute__((unused)) static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
