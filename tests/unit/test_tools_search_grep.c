/* SPDX-License-Identifier: MIT */
/* What search_files finds in random files, compared with `grep -E`, and with ripgrep if there is one. */
#include <sys/stat.h>
#include <unistd.h>

#include "../support/tool_answer.h"
#include "base/buf.h"

enum { TREES = 12, PATTERNS = 12, FILES = 12, MAX_HITS = 2000, HIT_BYTES = 80, TEXT_BYTES = 400 };

#define PICK(list, seed) ((list)[test_random(seed) % (sizeof(list) / sizeof((list)[0]))])

static const char *const letters[] = { "a", "b",  "c",	      "A", "B",	       "_",   " ",
				       "1", "\t", "\xc3\xa9", "-", "\xc3\x89", "\xff" };
static const char *const directories[] = { "", "d/", "d/e/", "f/" };

/* What has one meaning for all three. */
static const char *const atoms[] = {
	"a", "b",    "c",    "A",	"_",   "-",   " ",	     "1",   ".",   ".",
	"é", "[ab]", "[^a]", "[a-c1é]", "\\w", "\\W", "[[:digit:]]", "\\.", "\\s",
};
/* What grep does not know, or takes for something else. */
static const char *const rust_atoms[] = {
	"\\d",	"\\pL",	 "(?i:a)",   "(?-u:\\w)", "[\\w&&[^b]]", "[[:alpha:]]", "\\x61",
	"\\PL", "\\S+?", "(?s:.)*?", "\\D",	  "[a-z--b]",	 "(?:a|bb)",
};
static const char *const places[] = { "^", "$", "\\b", "\\<", "\\>" };
static const char *const rust_places[] = { "^", "$", "\\b", "\\B" };
static const char *const repeats[] = { "*", "+", "?", "{2}", "{1,2}", "{2,}" };

static void append(char *out, const char *text)
{
	(void)strncat(out, text, TEXT_BYTES - strlen(out) - 1);
}

/* What is compared with. */
struct other {
	const char *command;
	bool is_rust;
	/* Of texts with stray bytes: grep takes some for a part of the word beside them. */
	bool knows_words;
};

static void make_pattern(char *out, const struct other *o, int depth, uint64_t *seed)
{
	for (size_t n = 1 + test_random(seed) % 3; n > 0; n--) {
		/* grep goes wrong with places that are repeated. */
		if (test_random(seed) % 8 == 0 && (o->is_rust || depth == 0)) {
			append(out, o->is_rust	     ? PICK(rust_places, seed)
				    : o->knows_words ? PICK(places, seed)
						     : "^");
			continue;
		}
		if (depth < 2 && test_random(seed) % 4 == 0) {
			append(out, "(");
			make_pattern(out, o, depth + 1, seed);
			append(out, test_random(seed) % 2 ? "|" : "");
			make_pattern(out, o, depth + 1, seed);
			append(out, ")");
		} else {
			append(out, o->is_rust && test_random(seed) % 2 ? PICK(rust_atoms, seed)
									: PICK(atoms, seed));
		}
		if (test_random(seed) % 3 == 0)
			append(out, PICK(repeats, seed));
	}
}

static const char *pick_letter(const struct other *o, uint64_t *seed)
{
	size_t count = sizeof(letters) / sizeof(letters[0]) - (o->knows_words && !o->is_rust);

	return letters[test_random(seed) % count];
}

static void make_files(const struct other *o, uint64_t *seed)
{
	REQUIRE(system("rm -rf t && mkdir -p t/d/e t/f") == 0);
	for (int i = 0; i < FILES; i++) {
		char name[64];
		FILE *f;

		(void)snprintf(name, sizeof(name), "t/%s%d", PICK(directories, seed), i);
		f = fopen(name, "w");
		REQUIRE(f != NULL);
		for (size_t lines = test_random(seed) % 12; lines > 0; lines--) {
			for (size_t n = test_random(seed) % 9; n > 0; n--)
				(void)fputs(pick_letter(o, seed), f);
			/*
			 * A last line without its end, now and then. Of an empty match there
			 * ripgrep 13 does not print the column.
			 */
			(void)fputs(lines > 1 || o->is_rust || test_random(seed) % 2 ? "\n" : "x",
				    f);
		}
		REQUIRE(fclose(f) == 0);
	}
}

/* "PATH:LINE" or "PATH:LINE:COLUMN", sorted. */
struct hits {
	char items[MAX_HITS][HIT_BYTES];
	size_t count;
};

static int compare_hits(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void sort_hits(struct hits *h)
{
	qsort(h->items, h->count, HIT_BYTES, compare_hits);
}

static void find_ours(const char *pattern, bool ignores_case, bool has_column, struct hits *out)
{
	struct answer a SCOPED(answer_done);
	scoped_buf arguments = BUF_INIT(1 << 16);
	struct json_writer w = JSON_LINE_INIT(&arguments);
	const struct json *items;

	json_begin_object(&w);
	json_key(&w, "path");
	json_add_text(&w, "t");
	json_key(&w, "pattern");
	json_add_text(&w, pattern);
	json_key(&w, "limit");
	json_add_int(&w, MAX_HITS);
	json_key(&w, "ignore_case");
	json_add_bool(&w, ignores_case);
	json_end_object(&w);
	out->count = 0;
	run(tool_search_files, arguments.p, &a);
	items = items_of(&a, "matches");
	if (!CHECK(!a.is_error && items)) {
		printf("# %s: %s\n", pattern, a.text);
		return;
	}
	for (size_t i = 0; i < items->array.count; i++) {
		const struct json *hit = &items->array.items[i];
		char column[32] = "";

		if (has_column)
			(void)snprintf(column, sizeof(column), ":%d",
				       (int)json_find(hit, "column")->integer);
		(void)snprintf(out->items[out->count++], HIT_BYTES, "%.*s:%d%s",
			       STR_ARG(json_find(hit, "path")->string),
			       (int)json_find(hit, "line")->integer, column);
	}
	sort_hits(out);
}

/* What a program prints: "./PATH", NUL, "LINE:" or "LINE:COLUMN:", the line. */
static bool find_theirs(const char *command, bool has_column, struct hits *out)
{
	static char answer[MAX_HITS * 120];
	FILE *f = popen(command, "r");
	size_t len, at = 0;

	out->count = 0;
	if (!f)
		return false;
	len = fread(answer, 1, sizeof(answer) - 1, f);
	answer[len] = '\0';
	/* 1: it found nothing. */
	if (WEXITSTATUS(pclose(f)) > 1)
		return false;
	while (at < len && out->count < MAX_HITS) {
		const char *path = answer + at;
		const char *rest = path + strlen(path) + 1;
		int n = (int)strcspn(rest, ":");

		if (has_column)
			n += 1 + (int)strcspn(rest + n + 1, ":");
		path += strncmp(path, "./", 2) == 0 ? 2 : 0;
		(void)snprintf(out->items[out->count++], HIT_BYTES, "%s:%.*s", path, n, rest);
		at = (size_t)(rest - answer) + strcspn(rest, "\n") + 1;
	}
	sort_hits(out);
	return true;
}

static void show(const char *whose, const struct hits *h, const struct hits *other)
{
	for (size_t i = 0; i < h->count; i++) {
		const char *hit = h->items[i];
		int path = (int)strcspn(hit, ":");
		char command[2 * HIT_BYTES];

		if (bsearch(hit, other->items, other->count, HIT_BYTES, compare_hits))
			continue;
		printf("#   only %s: %s: ", whose, hit);
		(void)fflush(stdout);
		(void)snprintf(command, sizeof(command), "sed -n %dp t/%.*s | cat -A",
			       atoi(hit + path + 1), path, hit);
		(void)!system(command);
	}
}

static bool check_pattern(const char *pattern, const struct other *o, bool ignores_case)
{
	static struct hits ours, theirs;
	char words[400];
	bool is_same;

	scratch_put("pattern", pattern);
	(void)snprintf(words, sizeof(words), "cd t && %s%s .", o->command,
		       ignores_case ? " -i" : "");
	if (!CHECK(find_theirs(words, o->is_rust, &theirs))) {
		printf("# %s: %s\n", words, pattern);
		return false;
	}
	find_ours(pattern, ignores_case, o->is_rust, &ours);
	is_same = ours.count == theirs.count;
	for (size_t i = 0; i < ours.count && is_same; i++)
		is_same = strcmp(ours.items[i], theirs.items[i]) == 0;
	if (is_same)
		return CHECK(true);
	printf("# the pattern is %s%s\n", pattern, ignores_case ? ", case ignored" : "");
	show("here", &ours, &theirs);
	show("there", &theirs, &ours);
	return CHECK(false);
}

static void compare_with(struct other o)
{
	uint64_t seed = test_seed();

	for (size_t tree = 0; tree < test_cases(TREES); tree++) {
		o.knows_words = o.is_rust || tree % 2;
		make_files(&o, &seed);
		for (int i = 0; i < PATTERNS; i++) {
			char pattern[TEXT_BYTES] = "";

			make_pattern(pattern, &o, 0, &seed);
			if (test_random(&seed) % 4 == 0) {
				append(pattern, "|");
				make_pattern(pattern, &o, 0, &seed);
			}
			if (!check_pattern(pattern, &o, test_random(&seed) % 4 == 0))
				return;
		}
	}
}

TEST(finds_the_lines_that_grep_finds)
{
	(void)setenv("LC_ALL", "C.UTF-8", 1);
	if (system("echo x | grep -aE '\\<x' >/dev/null 2>&1") != 0)
		SKIP("there is no grep of GNU");
	compare_with((struct other){ .command = "grep -raEnZ -f ../pattern" });
}

TEST(finds_the_lines_and_columns_that_ripgrep_finds)
{
	if (system("rg --version >/dev/null 2>&1") != 0)
		SKIP("there is no ripgrep");
	compare_with((struct other){
		.command = "rg --no-config --no-ignore --hidden --no-heading --color never -j1 -a "
			   "-n --column --null -f ../pattern",
		.is_rust = true });
}
