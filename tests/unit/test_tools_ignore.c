/* SPDX-License-Identifier: MIT */
/* What git ignores, by example and, with random files and patterns, as git itself says. */
#include "tools/ignore.h"

#include <sys/stat.h>
#include <unistd.h>

#include "../support/tool_answer.h"
#include "base/buf.h"
#include "tools/walk.h"

enum { LIMIT_BYTES = 64 << 20, ROUNDS = 50, MAX_PATHS = 200, TEXT_BYTES = 600 };

/* 'y', 'n' (by a '!') or '-'. */
static char ask(const char *rules, const char *path)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	struct ignore_rules r = IGNORE_NONE;
	enum ignore_answer answer = IGNORE_SILENT;
	size_t len = strlen(path);
	bool is_directory = path[len - 1] == '/';

	if (ignore_rules_init(&a, str_of(rules), NULL, &r, &e) < 0 ||
	    ignore_rules_ask(&r, (struct str){ path, len - is_directory }, is_directory, &answer,
			     &e) < 0)
		return '!';
	ignore_rules_done(&r);
	return "-yn"[answer];
}

TEST(patterns_mean_what_gitignore_says)
{
	CHECK_INT(ask("*.o\n", "x.o"), 'y');
	CHECK_INT(ask("*.o\n", "a/b/x.o"), 'y');
	CHECK_INT(ask("*.o\n", "x.c"), '-');
	CHECK_INT(ask("*.o\n!keep.o\n", "keep.o"), 'n');
	CHECK_INT(ask("!keep.o\n*.o\n", "keep.o"), 'y');
	CHECK_INT(ask("/x\n", "x"), 'y');
	CHECK_INT(ask("/x\n", "a/x"), '-');
	CHECK_INT(ask("a/x\n", "a/x"), 'y');
	CHECK_INT(ask("a/x\n", "b/a/x"), '-');
	CHECK_INT(ask("build/\n", "build/"), 'y');
	CHECK_INT(ask("build/\n", "build"), '-');
	CHECK_INT(ask("build/\n", "a/build/"), 'y');
	CHECK_INT(ask("**/x\n", "a/b/x"), 'y');
	CHECK_INT(ask("**/x\n", "x"), 'y');
	CHECK_INT(ask("a/**\n", "a/"), '-');
	CHECK_INT(ask("a/**\n", "a/b/"), 'y');
	CHECK_INT(ask("a/**/b\n", "a/b"), 'y');
	CHECK_INT(ask("a/**/b\n", "a/x/y/b"), 'y');
	CHECK_INT(ask("a/*/b\n", "a/x/y/b"), '-');
	CHECK_INT(ask("[ab][!c][[:digit:]]\n", "ax1"), 'y');
	CHECK_INT(ask("[ab][!c][[:digit:]]\n", "ac1"), '-');
	CHECK_INT(ask("\\#x\n#y\n", "#x"), 'y');
	CHECK_INT(ask("\\!x\n", "!x"), 'y');
	CHECK_INT(ask("x  \n", "x"), 'y');
	CHECK_INT(ask("x\\ \n", "x "), 'y');
	CHECK_INT(ask("x\r\n", "x"), 'y');
	CHECK_INT(ask("\xef\xbb\xbfx\n", "x"), 'y');
	CHECK_INT(ask("x", "x"), 'y');
	CHECK_INT(ask("[\nx\\\n", "["), '-');
	CHECK_INT(ask("?\n", "\xc3\xa9"), '-');
}

TEST(a_hostile_file_is_read_in_bounded_time)
{
	scoped_buf b = BUF_INIT(2 << 20);
	clock_t began = clock();

	while (b.len < (256 << 10))
		buf_add_text(&b, "*a*b*c*d*e*f*g*/**/*h*i*\n");
	buf_add_text(&b, "x\n");
	CHECK_INT(ask(b.p, "abcdefghabcdefghabcdefgh/abcdefgh/x"), 'y');
	CHECK(clock() - began < 20 * CLOCKS_PER_SEC);
	buf_clear(&b);
	while (b.len <= IGNORE_MAX_BYTES)
		buf_add_text(&b, "abc\n");
	CHECK_INT(ask(b.p, "abc"), '!');
}

/* ---- As git says --------------------------------------------------------------------------------- */

static const char *const file_names[] = { "a", "b", "ab", "a.c", "b c", "[a]", "a\\", "\xc3\xa9" };
static const char *const pieces[] = {
	"a",	       "b",	 "ab",	 ".c",	      "*",    "**",  "?",     "/",
	"/",	       "[ab]",	 "[!a]", "**/",	      "/**",  "\\a", "[a-b]", "[^b-]",
	"[[:alpha:]]", " ",	 "\\ ",	 "[",	      "]",    "\\",  "*.c",   "[[:space:]]",
	"[]a]",	       "[\\]a]", "\xc3", "[[:foo:]]", "[[a]", "[a-", "***",   "\\/",
};
#define PICK(list, seed) ((list)[test_random(seed) % (sizeof(list) / sizeof((list)[0]))])

struct paths {
	char items[MAX_PATHS][64];
	size_t count;
};

static void make_tree(struct paths *p, char *path, size_t len, int depth, uint64_t *seed)
{
	for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]) && p->count < MAX_PATHS;
	     i++) {
		size_t more;

		if (depth > 0 && test_random(seed) % 2)
			continue;
		more = len + (size_t)snprintf(path + len, 60 - len, "%s%s", len ? "/" : "",
					      file_names[i]);
		(void)snprintf(p->items[p->count++], sizeof(p->items[0]), "%s", path);
		if (depth < 3 && test_random(seed) % 3) {
			CHECK_INT(mkdir(path, 0700), 0);
			make_tree(p, path, more, depth + 1, seed);
		} else {
			FILE *f = fopen(path, "w");

			if (f)
				(void)fclose(f);
		}
		path[len] = '\0';
	}
}

static void write_rules(const char *path, uint64_t *seed)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	for (size_t lines = test_random(seed) % 6; lines > 0; lines--) {
		(void)fputs(test_random(seed) % 4 == 0 ? "!" : "", f);
		for (size_t n = 1 + test_random(seed) % 5; n > 0; n--)
			(void)fputs(PICK(pieces, seed), f);
		(void)fputs(test_random(seed) % 4 == 0 ? "/" : "", f);
		(void)fputs(test_random(seed) % 9 == 0 ? "\r\n" : "\n", f);
	}
	(void)fclose(f);
}

/* One byte for each path: 'y' where git ignores it. */
static bool ask_git(const struct paths *p, char *out)
{
	static char answer[MAX_PATHS * 64];
	FILE *f = fopen(".git/paths", "w");
	size_t at = 0, len;

	if (!f)
		return false;
	for (size_t i = 0; i < p->count; i++)
		(void)fwrite(p->items[i], 1, strlen(p->items[i]) + 1, f);
	(void)fclose(f);
	f = popen("git -c core.excludesFile= check-ignore --no-index --stdin -z <.git/paths", "r");
	if (!f)
		return false;
	len = fread(answer, 1, sizeof(answer), f);
	(void)pclose(f);
	for (size_t i = 0; i < p->count; i++) {
		out[i] = at < len && strcmp(answer + at, p->items[i]) == 0 ? 'y' : '-';
		if (out[i] == 'y')
			at += strlen(answer + at) + 1;
	}
	return at == len;
}

/* Whether the files that list_files gives are those that git would add. */
static bool check_list(void)
{
	static char listed[MAX_PATHS * 2 * 80];
	struct answer a SCOPED(answer_done);
	const struct json *entries;
	size_t len, files = 0, wanted = 0, missing = 0;
	FILE *f = popen("git -c core.excludesFile= ls-files -o --exclude-standard -z", "r");

	if (!CHECK(f != NULL))
		return false;
	len = fread(listed, 1, sizeof(listed), f);
	(void)pclose(f);
	run(tool_list_files, "{}", &a);
	entries = items_of(&a, "entries");
	if (!CHECK(entries && len < sizeof(listed)))
		return false;
	for (size_t i = 0; i < entries->array.count; i++)
		files += !str_is(json_find(&entries->array.items[i], "type")->string, "directory");
	for (size_t at = 0; at < len; at += strlen(listed + at) + 1, wanted++) {
		bool is_found = false;

		for (size_t i = 0; i < entries->array.count && !is_found; i++)
			is_found = str_is(json_find(&entries->array.items[i], "path")->string,
					  listed + at);
		if (!is_found)
			printf("# git lists %s\n", listed + at);
		missing += !is_found;
	}
	return CHECK(missing == 0) & CHECK_INT(files, wanted);
}

static void show_rules(void)
{
	(void)fflush(stdout);
	(void)!system("for f in .git/info/exclude $(find . -name .gitignore); do echo \"# $f:\"; "
		      "cat -A $f | sed 's/^/#   /'; done");
}

static bool check_round(const struct paths *p, const char *root, uint64_t *seed)
{
	static char wanted[MAX_PATHS], path[4200];
	bool is_same = true;

	write_rules(".gitignore", seed);
	write_rules(".git/info/exclude", seed);
	for (size_t i = 0; i < p->count; i++) {
		(void)snprintf(path, sizeof(path), "%s/.gitignore", p->items[i]);
		(void)unlink(path);
		if (test_random(seed) % 4 == 0)
			write_rules(path, seed);
	}
	if (!CHECK(ask_git(p, wanted)))
		return false;
	for (size_t i = 0; i < p->count && is_same; i++) {
		scoped_arena a = ARENA_INIT(LIMIT_BYTES);
		struct err e = ERR_INIT;
		struct scope scope;
		bool is_ignored = false;

		(void)snprintf(path, sizeof(path), "%s/%s", root, p->items[i]);
		CHECK_INT(scope_init_alone(&a, str_of(root), &scope, &e), 0);
		CHECK_INT(walk_is_ignored(&a, &scope, str_of(path), &is_ignored, &e), 0);
		is_same = is_ignored == (wanted[i] == 'y');
		if (!is_same)
			printf("# %s: git says %c\n", p->items[i], wanted[i]);
	}
	is_same = CHECK(is_same) && check_list();
	if (!is_same)
		show_rules();
	return is_same;
}

TEST(ignores_what_git_check_ignore_says)
{
	static struct paths p;
	char root[4096], path[64] = "";
	uint64_t seed = test_seed();

	if (system("git --version >/dev/null 2>&1") != 0)
		SKIP("git is missing");
	REQUIRE(realpath(scratch_top, root) != NULL);
	REQUIRE(system("git init -q . && mkdir -p .git/info") == 0);
	make_tree(&p, path, 0, 0, &seed);
	for (size_t i = 0; i < test_cases(ROUNDS) && check_round(&p, root, &seed); i++)
		;
}

/* What `git add -f` made git track is no longer ignored. */
TEST(a_tracked_file_is_not_ignored)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;
	struct scope scope;
	char root[4096], path[4200];
	bool is_ignored = false;

	if (system("git --version >/dev/null 2>&1") != 0)
		SKIP("git is missing");
	REQUIRE(mkdir("tracked", 0700) == 0 && realpath("tracked", root) != NULL);
	REQUIRE(system("cd tracked && git init -q . && echo '*.o' >.gitignore && touch x.o y.o && "
		       "git add -f x.o") == 0);
	REQUIRE(scope_init_alone(&a, str_of(root), &scope, &e) == 0);
	(void)snprintf(path, sizeof(path), "%s/y.o", root);
	CHECK_INT(walk_is_ignored(&a, &scope, str_of(path), &is_ignored, &e), 0);
	CHECK(is_ignored);
	(void)snprintf(path, sizeof(path), "%s/x.o", root);
	CHECK_INT(walk_is_ignored(&a, &scope, str_of(path), &is_ignored, &e), 0);
	CHECK(!is_ignored);
	(void)snprintf(path, sizeof(path), "%s/new.o", root);
	CHECK_INT(walk_is_ignored(&a, &scope, str_of(path), &is_ignored, &e), 0);
	CHECK(is_ignored);
}
