/* SPDX-License-Identifier: MIT */
/*
 * An ignore file, a NUL, a path (a directory, with '/' at its end). Whatever the file holds: it is read,
 * or over a limit, a path gets the same answer again, and git says the same of it.
 */
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/ignore.h"

enum {
	LIMIT_BYTES = 64 << 20,
	PATH_MAX_PARTS = 4,
	PART_MAX_BYTES = 60,
	/* git's own matcher takes time that is exponential in them. */
	MAX_STARS = 4,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

/* ---- git ----------------------------------------------------------------------------------------- */

static struct {
	bool is_tried, is_there;
	pid_t pid;
	FILE *ask, *answers;
	unsigned count; /* of directories that were made */
	char top[40];
} git;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_all(const char *path)
{
	demand(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void end_git(void)
{
	if (git.ask)
		(void)fclose(git.ask);
	if (git.answers)
		(void)fclose(git.answers);
	if (git.pid > 0)
		(void)waitpid(git.pid, NULL, 0);
	remove_all(git.top);
}

static void become_git(const int *ask, const int *answers)
{
	demand(dup2(ask[0], 0) == 0 && dup2(answers[1], 1) == 1);
	(void)close(ask[0]);
	(void)close(ask[1]);
	(void)close(answers[0]);
	(void)close(answers[1]);
	demand(chdir(git.top) == 0);
	(void)execlp("git", "git", "-c", "core.excludesFile=", "check-ignore", "--no-index",
		     "--stdin", "-z", "-v", "-n", NULL);
	_exit(127);
}

/* One process answers for all inputs; each has a directory of its own, because git remembers. */
static void start_git(void)
{
	int ask[2], answers[2];
	char command[100];

	git.is_tried = true;
	(void)setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	(void)setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	(void)snprintf(git.top, sizeof(git.top), "/var/tmp/cordon-fuzz-XXXXXX");
	demand(mkdtemp(git.top) != NULL);
	(void)atexit(end_git);
	(void)snprintf(command, sizeof(command), "git init -q %s >/dev/null 2>&1", git.top);
	if (system(command) != 0) {
		printf("# git is missing, so nothing is compared with it\n");
		return;
	}
	demand(pipe(ask) == 0 && pipe(answers) == 0);
	(void)fflush(stdout);
	git.pid = fork();
	demand(git.pid >= 0);
	if (git.pid == 0)
		become_git(ask, answers);
	(void)close(ask[0]);
	(void)close(answers[1]);
	git.ask = fdopen(ask[1], "w");
	git.answers = fdopen(answers[0], "r");
	demand(git.ask && git.answers);
	git.is_there = true;
}

/* Reads up to a NUL; only the first byte counts. */
static int read_field(void)
{
	int first = getc(git.answers), c = first;

	while (c > 0)
		c = getc(git.answers);
	demand(c == '\0');
	return first;
}

/* The directories on the way to a path, and what is there. */
static void make_path(char *path, size_t below, bool is_directory)
{
	for (char *at = path + below; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	if (is_directory) {
		demand(mkdir(path, 0700) == 0);
	} else {
		FILE *f = fopen(path, "w");

		demand(f && fclose(f) == 0);
	}
}

static enum ignore_answer ask_git(struct str text, struct str path, bool is_directory)
{
	char top[64], file[80], whole[500];
	int pattern, below;
	FILE *f;

	below = snprintf(top, sizeof(top), "%s/%u", git.top, ++git.count);
	(void)snprintf(file, sizeof(file), "%s/.gitignore", top);
	(void)snprintf(whole, sizeof(whole), "%s/%.*s", top, STR_ARG(path));
	demand(mkdir(top, 0700) == 0);
	f = fopen(file, "w");
	demand(f && fwrite(text.p, 1, text.len, f) == text.len && fclose(f) == 0);
	make_path(whole, (size_t)below + 1, is_directory);
	(void)fprintf(git.ask, "%u/%.*s", git.count, STR_ARG(path));
	demand(putc('\0', git.ask) == '\0' && fflush(git.ask) == 0);
	/* The file, the line, the pattern, the path. */
	(void)read_field();
	(void)read_field();
	pattern = read_field();
	(void)read_field();
	remove_all(top);
	return pattern == '\0' ? IGNORE_SILENT : pattern == '!' ? IGNORE_NO : IGNORE_YES;
}

/* Whether there can be such a file, and git is not busy with it for ages. */
static bool is_for_git(struct str text, struct str path)
{
	size_t parts = 0, stars = 0;

	for (struct str rest = path; parts == 0 || rest.len; parts++) {
		struct str part = str_first(rest, str_find(rest, '/'));

		if (!part.len || part.len > PART_MAX_BYTES || part.p[0] == '.' ||
		    parts == PATH_MAX_PARTS || (part.len < rest.len && part.len + 1 == rest.len))
			return false;
		rest = str_from(rest, part.len + 1);
	}
	for (size_t i = 0; i < text.len && stars <= MAX_STARS; i++)
		stars = text.p[i] == '\n' ? 0 : stars + (text.p[i] == '*');
	return stars <= MAX_STARS;
}

/* ---- Ours ---------------------------------------------------------------------------------------- */

/* As who walks a tree asks: not below a directory that is ignored. */
static enum ignore_answer ask_ours(const struct ignore_rules *rules, struct str path,
				   bool is_directory)
{
	enum ignore_answer answer = IGNORE_SILENT;
	struct err e = ERR_INIT;

	for (size_t end = 0; end < path.len && answer != IGNORE_YES; end++) {
		end += str_find(str_from(path, end), '/');
		demand(ignore_rules_ask(rules, str_first(path, end), end < path.len || is_directory,
					&answer, &e) == 0);
	}
	return answer;
}

static void check_path(struct str text, const struct ignore_rules *rules, struct str path)
{
	bool is_directory = path.len && path.p[path.len - 1] == '/';
	enum ignore_answer answer;

	path.len -= is_directory;
	answer = ask_ours(rules, path, is_directory);
	demand(answer == ask_ours(rules, path, is_directory));
	if (!git.is_tried)
		start_git();
	if (!git.is_there || !is_for_git(text, path))
		return;
	if (answer != ask_git(text, path, is_directory)) {
		printf("# %.*s\n# %.*s%s: here %d\n", STR_ARG(text), STR_ARG(path),
		       is_directory ? "/" : "", (int)answer);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct str text = str_first(input, str_find(input, '\0'));
	struct str path = str_from(input, text.len + 1);
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct ignore_rules rules = IGNORE_NONE;
	struct err e = ERR_INIT;
	clock_t began = clock();

	if (ignore_rules_init(&a, text, NULL, &rules, &e) < 0) {
		demand(e.code == ERR_LIMIT);
		return 0;
	}
	check_path(text, &rules, str_first(path, str_find(path, '\0')));
	ignore_rules_done(&rules);
	demand(clock() - began < 10 * CLOCKS_PER_SEC);
	return 0;
}
