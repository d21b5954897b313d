/* SPDX-License-Identifier: MIT */
/* list_files and search_files over real trees, hostile ones among them. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/scratch.h"
#include "base/buf.h"
#include "test.h"
#include "tools/walk.h"

enum { LIMIT_BYTES = 256 << 20 };

/* What a tool gave for these arguments, in the scratch directory. */
struct answer {
	struct arena a;
	bool is_error;
	struct json *json;
	char *text;
};

static void answer_done(struct answer *a)
{
	arena_done(&a->a);
}

static void run(tool_fn *tool, const char *arguments, struct answer *out)
{
	struct tool_result result;
	struct err e = ERR_INIT;
	struct scope scope;
	struct call call;
	char root[4096];

	*out = (struct answer){ .a = ARENA_INIT(LIMIT_BYTES) };
	REQUIRE(realpath(scratch_top, root) != NULL);
	REQUIRE(scope_init_alone(&out->a, str_of(root), &scope, &e) == 0);
	call_init(&call, &out->a, &scope, json_parse(&out->a, str_of(arguments), &e));
	if (CHECK(call_finish(&call, tool(&call, &e), &result, &e) == 0)) {
		struct str text;

		out->is_error = result.is_error;
		out->json = json_parse(&out->a, result.structured, &e);
		CHECK(arena_copy(&out->a, result.text, &text, &e) == 0);
		out->text = (char *)(uintptr_t)text.p;
	}
	call_done(&call);
}

/* The member `name` of each item of the array `list`, with a space behind each. */
static const char *all(const struct answer *a, const char *list, const char *name)
{
	static char out[4096];
	const struct json *items = a->json ? json_find(a->json, list) : NULL;
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; items && i < items->array.count; i++) {
		const struct json *member = json_find(&items->array.items[i], name);

		if (member && member->type == JSON_STRING)
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%.*s ",
						STR_ARG(member->string));
		else if (member)
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%lld ",
						(long long)member->integer);
	}
	return out;
}

static int64_t number(const struct answer *a, const char *name)
{
	const struct json *member = a->json ? json_find(a->json, name) : NULL;

	if (!member)
		return -1;
	return member->type == JSON_BOOL ? member->boolean : member->integer;
}

static const char *kind(const struct answer *a)
{
	static char out[64];
	const struct json *error = a->json ? json_find(a->json, "error") : NULL;
	const struct json *found = error ? json_find(error, "kind") : NULL;

	(void)snprintf(out, sizeof(out), "%.*s", found ? (int)found->string.len : 0,
		       found ? found->string.p : "");
	return out;
}

static void make_files(void)
{
	static bool is_made;

	if (is_made)
		return;
	is_made = true;
	CHECK_INT(mkdir("p", 0700) | mkdir("p/src", 0700) | mkdir("p/build", 0700) |
			  mkdir("p/.git", 0700) | mkdir("p/.git/info", 0700),
		  0);
	scratch_put("p/.gitignore", "build/\n*.log\n!keep.log\n");
	scratch_put("p/.git/info/exclude", "private\n");
	scratch_put("p/.git/config", "needle\n");
	scratch_put("p/src/a.c", "int a;\nint needle;\nint b;\n");
	scratch_put("p/src/b.py", "Needle = 1\nx = 'caf\xc3\xa9'\n");
	scratch_put("p/build/out.c", "needle\n");
	scratch_put("p/x.log", "needle\n");
	scratch_put("p/keep.log", "a needle\r\n");
	scratch_put("p/private", "needle\n");
	CHECK_INT(symlink("/etc", "p/link") | symlink("..", "p/src/loop") | mkfifo("p/fifo", 0600),
		  0);
}

TEST(lists_what_git_does_not_ignore)
{
	struct answer a SCOPED(answer_done);

	make_files();
	run(tool_list_files, "{\"path\":\"p\"}", &a);
	CHECK_STR(all(&a, "entries", "path"),
		  ".gitignore fifo keep.log link src src/a.c src/b.py src/loop ");
	CHECK_STR(all(&a, "entries", "type"), "file other file link directory file file link ");
	CHECK_INT(number(&a, "count"), 8);
	CHECK_INT(number(&a, "hidden"), 3);
	CHECK_INT(number(&a, "truncated"), 0);
}

TEST(lists_what_git_ignores_when_asked_to)
{
	struct answer a SCOPED(answer_done);

	make_files();
	run(tool_list_files, "{\"path\":\"p\",\"ignored\":true,\"depth\":1}", &a);
	CHECK_STR(all(&a, "entries", "path"),
		  ".gitignore build fifo keep.log link private src x.log ");
}

TEST(a_list_of_a_subdirectory_obeys_the_rules_above_it)
{
	struct answer a SCOPED(answer_done);

	make_files();
	scratch_put("p/src/y.log", "");
	run(tool_list_files, "{\"path\":\"p/src\"}", &a);
	CHECK_STR(all(&a, "entries", "path"), "a.c b.py loop ");
	CHECK_INT(unlink("p/src/y.log"), 0);
}

TEST(a_file_or_nothing_can_not_be_listed)
{
	struct answer a SCOPED(answer_done), b SCOPED(answer_done);

	make_files();
	run(tool_list_files, "{\"path\":\"p/src/a.c\"}", &a);
	CHECK(a.is_error);
	run(tool_list_files, "{\"path\":\"p/nothing\"}", &b);
	CHECK_STR(kind(&b), "not_found");
}

TEST(searches_files_that_are_listed)
{
	struct answer a SCOPED(answer_done);

	make_files();
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\"}", &a);
	CHECK(!a.is_error);
	CHECK_STR(all(&a, "matches", "path"), "keep.log src/a.c ");
	CHECK_STR(all(&a, "matches", "line"), "1 2 ");
	CHECK_STR(all(&a, "matches", "column"), "3 5 ");
	CHECK_STR(all(&a, "matches", "text"), "a needle int needle; ");
	CHECK_INT(number(&a, "files_searched"), 4);
}

TEST(search_takes_a_glob_case_context_and_a_limit)
{
	struct answer a SCOPED(answer_done), b SCOPED(answer_done), c SCOPED(answer_done),
		d SCOPED(answer_done);

	make_files();
	run(tool_search_files,
	    "{\"path\":\"p\",\"pattern\":\"NEEDLE\",\"ignore_case\":true,\"glob\":\"*.{py,c}\"}",
	    &a);
	CHECK_STR(all(&a, "matches", "path"), "src/a.c src/b.py ");
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\",\"glob\":\"!*.c\"}", &b);
	CHECK_STR(all(&b, "matches", "path"), "keep.log ");
	run(tool_search_files, "{\"path\":\"p/src/a.c\",\"pattern\":\"needle\",\"context\":1}", &c);
	CHECK_INT(number(&c, "count"), 1);
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"int\",\"limit\":2}", &d);
	CHECK_INT(number(&d, "count"), 2);
	CHECK_INT(number(&d, "truncated"), 1);
}

TEST(a_wrong_pattern_or_glob_is_invalid)
{
	struct answer a SCOPED(answer_done), b SCOPED(answer_done), c SCOPED(answer_done);

	make_files();
	run(tool_search_files, "{\"pattern\":\"(\"}", &a);
	CHECK_STR(kind(&a), "invalid");
	run(tool_search_files, "{\"pattern\":\"(a)\\\\1\"}", &b);
	CHECK_STR(kind(&b), "invalid");
	run(tool_search_files, "{\"pattern\":\"a\",\"glob\":\"a\\\\\"}", &c);
	CHECK_STR(kind(&c), "invalid");
}

TEST(a_binary_file_is_left_out_and_bytes_that_are_no_text_are_replaced)
{
	struct answer a SCOPED(answer_done);
	FILE *f = fopen("binary", "w");

	REQUIRE(f && fwrite("needle\0x", 1, 8, f) == 8 && fclose(f) == 0);
	CHECK_INT(mkdir("q", 0700) | rename("binary", "q/binary"), 0);
	scratch_put("q/latin", "caf\xe9 needle\n");
	run(tool_search_files, "{\"path\":\"q\",\"pattern\":\"needle\"}", &a);
	CHECK_STR(all(&a, "matches", "text"), "caf\xef\xbf\xbd needle ");
}

TEST(a_search_that_takes_too_long_ends_and_says_so)
{
	struct answer a SCOPED(answer_done);
	static char text[1 << 20];
	FILE *f = fopen("long", "w");

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "ab"[(i * 2654435761u >> 13) & 1];
	REQUIRE(f && fwrite(text, 1, sizeof(text), f) == sizeof(text) && fclose(f) == 0);
	run(tool_search_files, "{\"path\":\"long\",\"pattern\":\"[ab]*a[ab]{4900}c\"}", &a);
	CHECK_STR(kind(&a), "timeout");
}

TEST(a_deep_tree_ends_at_its_limit)
{
	struct answer a SCOPED(answer_done);

	for (int i = 0; i < 300; i++)
		REQUIRE(mkdir("d", 0700) == 0 && chdir("d") == 0);
	REQUIRE(chdir(scratch_top) == 0);
	run(tool_list_files, "{\"path\":\"d\"}", &a);
	CHECK(!a.is_error);
	CHECK_INT(number(&a, "count"), WALK_MAX_DEPTH);
}

/* Exchanges a directory and a link to one outside, again and again, until it is killed. */
static pid_t start_swapping(void)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	for (;;)
		(void)syscall(SYS_renameat2, AT_FDCWD, "race/in/x", AT_FDCWD, "race/y",
			      RENAME_EXCHANGE);
}

/* The control: whether who opens the path by its name gets outside now. */
static bool is_outside_now(void)
{
	char text[32] = "";
	FILE *f = fopen("race/in/x/deep/f", "r");

	if (!f)
		return false;
	(void)!fgets(text, sizeof(text), f);
	(void)fclose(f);
	return text[0] == 'o';
}

TEST(a_directory_that_becomes_a_link_leads_nowhere)
{
	size_t found = 0, tries = 0, outside = 0;
	time_t end;
	pid_t child;

	REQUIRE((mkdir("race", 0700) | mkdir("race/in", 0700) | mkdir("race/in/x", 0700) |
		 mkdir("race/in/x/deep", 0700) | mkdir("outside", 0700) |
		 mkdir("outside/deep", 0700)) == 0);
	scratch_put("race/in/x/deep/f", "inside needle\n");
	scratch_put("outside/deep/f", "outside needle\n");
	REQUIRE(symlink("../../outside", "race/y") == 0);
	if (syscall(SYS_renameat2, AT_FDCWD, "race/in/x", AT_FDCWD, "race/y", RENAME_EXCHANGE) != 0)
		SKIP("this file system can't exchange two names");
	child = start_swapping();
	REQUIRE(child > 0);
	for (end = time(NULL) + 3; time(NULL) < end; tries++) {
		struct answer a SCOPED(answer_done);
		const char *text;

		run(tool_search_files, "{\"path\":\"race/in\",\"pattern\":\"needle\"}", &a);
		text = all(&a, "matches", "text");
		found += strcmp(text, "inside needle ") == 0;
		outside += is_outside_now();
		CHECK(*text == '\0' || strcmp(text, "inside needle ") == 0);
	}
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	printf("# %zu of %zu searches found the file, %zu opens by name got outside\n", found,
	       tries, outside);
	CHECK(found > 0 && outside > 0);
}

TEST(a_huge_ignore_file_is_passed_over_with_a_note)
{
	struct answer a SCOPED(answer_done);
	const struct json *notes;
	FILE *f;

	REQUIRE(mkdir("huge", 0700) == 0);
	scratch_put("huge/x", "");
	f = fopen("huge/.gitignore", "w");
	REQUIRE(f != NULL);
	for (int i = 0; i < (1 << 20); i++)
		(void)fputs("x\n", f);
	REQUIRE(fclose(f) == 0);
	run(tool_list_files, "{\"path\":\"huge\"}", &a);
	CHECK(!a.is_error);
	CHECK_STR(all(&a, "entries", "path"), ".gitignore x ");
	notes = a.json ? json_find(a.json, "notes") : NULL;
	CHECK(notes && notes->array.count == 1);
}
