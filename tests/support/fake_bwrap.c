/* SPDX-License-Identifier: MIT */
/*
 * A bwrap that is another version than this host's, or none at all. What it does stands
 * in the file beside it, PROGRAM.conf: the first word is the kind, then lines "OPTION
 * OPERANDS" with all the options that this version has. PROGRAM.ran is made when it runs.
 *
 *  version	refuses options that it has not, and leaves the work to the real one. Options
 *		that the real one has not are put into its words.
 *  hangs garbage floods crashes
 *		whatever it is asked.
 *  then-hangs then-says-yes then-says-no then-runs
 *		answers --help like a version and then does nothing, ends well, ends as
 *		where there are no namespaces, or runs the command without any sandbox.
 *  then-works-hard
 *		for seconds, and is a version then.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_WORDS = 200000,
	MAX_OPTIONS = 100,
	MAX_BYTES = 8 << 20,
};

struct option {
	char name[40];
	int operands;
};

static struct option options[MAX_OPTIONS];
static int option_count;
static char kind[40];

static const char *words[MAX_WORDS];
static int word_count;

static void fail(const char *text, const char *what)
{
	(void)fprintf(stderr, "bwrap: %s%s\n", text, what);
	exit(1);
}

static void add(const char *word)
{
	if (word_count >= MAX_WORDS - 1)
		fail("too many words", "");
	words[word_count++] = word;
}

static void read_conf(void)
{
	char path[4096], ran[4200];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 10);
	FILE *f;

	if (n <= 0)
		fail("where am I?", "");
	path[n] = '\0';
	(void)snprintf(ran, sizeof(ran), "%s.ran", path);
	f = fopen(ran, "w");
	if (f)
		(void)fclose(f);
	memcpy(path + n, ".conf", 6);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%39s", kind) != 1)
		fail("no ", path);
	/* NOLINTNEXTLINE(cert-err34-c): the numbers are a test's own. */
	while (option_count < MAX_OPTIONS && fscanf(f, "%39s %d", options[option_count].name,
						    &options[option_count].operands) == 2)
		option_count++;
	(void)fclose(f);
}

static const struct option *find(const char *name)
{
	for (int i = 0; i < option_count; i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	fail("Unknown option ", name);
	return NULL;
}

static int is_asked_for_help(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "--help") == 0;
}

static int print_help(void)
{
	(void)printf("usage: bwrap [OPTIONS...] [--] COMMAND [ARGS...]\n\n");
	for (int i = 0; i < option_count; i++)
		(void)printf("    %-28s Something\n", options[i].name);
	return 0;
}

/* The words in a descriptor, each closed by a zero byte. */
static void add_from(int fd, void (*take)(char **, int))
{
	static char *found[MAX_WORDS];
	char *text = malloc(MAX_BYTES);
	size_t len = 0;
	ssize_t n;
	int count = 0;

	while (text && len < MAX_BYTES && (n = read(fd, text + len, MAX_BYTES - len)) > 0)
		len += (size_t)n;
	for (size_t at = 0; text && at < len && count < MAX_WORDS; at += strlen(text + at) + 1)
		found[count++] = text + at;
	take(found, count);
}

static char *argv0;
static char **command;

/* Checks every option, and puts what the real one has not into its words. */
static void take_options(char **argv, int argc)
{
	int i = 0;

	while (i < argc && strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i], "--") != 0) {
		const struct option *o = find(argv[i]);
		char *by_path = NULL;

		if (i + o->operands >= argc)
			fail("operands are missing after ", argv[i]);
		if (strcmp(o->name, "--args") == 0) {
			add_from((int)strtol(argv[i + 1], NULL, 10), take_options);
		} else if (strcmp(o->name, "--argv0") == 0) {
			argv0 = argv[i + 1];
		} else if (strstr(o->name, "bind-fd")) {
			if (asprintf(&by_path, "/proc/self/fd/%s", argv[i + 1]) < 0)
				fail("no memory", "");
			add(strncmp(o->name, "--ro", 4) == 0 ? "--ro-bind" : "--bind");
			add(by_path);
			add(argv[i + 2]);
		} else {
			for (int n = 0; n <= o->operands; n++)
				add(argv[i + n]);
		}
		i += 1 + o->operands;
	}
	if (i < argc && strcmp(argv[i], "--") == 0)
		i++;
	if (i < argc)
		command = argv + i;
}

static int run_real(char **argv, int argc)
{
	add("/usr/bin/bwrap");
	take_options(argv + 1, argc - 1);
	if (!command)
		fail("no command", "");
	if (strcmp(kind, "then-runs") == 0) {
		execv(command[0], command);
		fail("can't run ", command[0]);
	}
	add("--");
	if (argv0) {
		add("/bin/bash");
		add("-c");
		add("exec -a \"$0\" \"$@\"");
		add(argv0);
	}
	for (char **word = command; *word; word++)
		add(*word);
	words[word_count] = NULL;
	execv(words[0], (char *const *)(uintptr_t)words);
	fail("can't run ", words[0]);
	return 1;
}

/* As on a host that has much to do. */
static void work_hard(void)
{
	time_t end = time(NULL) + 3;

	while (time(NULL) < end)
		;
}

int main(int argc, char **argv)
{
	read_conf();
	if (strcmp(kind, "hangs") == 0)
		for (;;)
			pause();
	if (strcmp(kind, "crashes") == 0)
		(void)raise(SIGSEGV);
	if (strcmp(kind, "garbage") == 0)
		return puts("hello") < 0;
	while (strcmp(kind, "floods") == 0)
		(void)puts("    --args --argv0 --bind --ro-bind");
	if (is_asked_for_help(argc, argv))
		return print_help();
	if (strcmp(kind, "then-hangs") == 0)
		for (;;)
			pause();
	if (strcmp(kind, "then-works-hard") == 0)
		work_hard();
	if (strcmp(kind, "then-says-yes") == 0)
		return 0;
	if (strcmp(kind, "then-says-no") == 0)
		fail("No permissions to create a new namespace, likely because the kernel does not "
		     "allow non-privileged user namespaces.",
		     "");
	return run_real(argv, argc);
}
