/* SPDX-License-Identifier: MIT */
/* list_files and search_files over real trees, hostile ones among them. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/tool_answer.h"
#include "base/buf.h"
#include "tools/walk.h"

/* The member `name` of each item of the array `list`, with a space behind each. */
static const char *all(const struct answer *a, const char *list, const char *name)
{
	static char out[4096];
	const struct json *items = items_of(a, list);
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

TEST(a_negated_glob_leaves_a_directory_out_with_all_that_is_in_it)
{
	struct answer a SCOPED(answer_done), b SCOPED(answer_done), c SCOPED(answer_done),
		d SCOPED(answer_done);

	make_files();
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\",\"glob\":\"!src\"}", &a);
	CHECK_STR(all(&a, "matches", "path"), "keep.log ");
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\",\"glob\":\"!src/\"}", &b);
	CHECK_STR(all(&b, "matches", "path"), "keep.log ");
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\",\"glob\":\"!keep.log/\"}",
	    &c);
	CHECK_STR(all(&c, "matches", "path"), "keep.log src/a.c ");
	run(tool_search_files, "{\"path\":\"p\",\"pattern\":\"needle\",\"glob\":\"src/*.c\"}", &d);
	CHECK_STR(all(&d, "matches", "path"), "src/a.c ");
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

static void put_bytes(const char *name, const char *bytes, size_t count)
{
	FILE *f = fopen(name, "w");

	CHECK(f && fwrite(bytes, 1, count, f) == count && fclose(f) == 0);
}

TEST(a_file_with_a_byte_order_mark_is_searched_as_it_is_read)
{
	struct answer a SCOPED(answer_done);

	REQUIRE(mkdir("bom", 0700) == 0);
	put_bytes("bom/8", "\xef\xbb\xbfneedle\n", 10);
	put_bytes("bom/be", "\xfe\xff\0n\0e\0e\0d\0l\0e\0\n", 16);
	put_bytes("bom/broken", "\xff\xfen\0e\0e\0d\0l\0e\0\0\xd8", 16);
	put_bytes("bom/le", "\xff\xfe\xe9\0\n\0n\0e\0e\0d\0l\0e\0", 18);
	run(tool_search_files, "{\"path\":\"bom\",\"pattern\":\"^needle$\"}", &a);
	CHECK_STR(all(&a, "matches", "path"), "8 be le ");
	CHECK_STR(all(&a, "matches", "line"), "1 1 2 ");
}

/* The clock of the tools, which the test below puts ahead after some looks at it. */
static int looks_until_later;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static time_t ahead;

	if (looks_until_later && --looks_until_later == 0)
		ahead += 3600;
	if (syscall(SYS_clock_gettime, clock, t) < 0)
		return -1;
	t->tv_sec += ahead;
	return 0;
}

TEST(a_search_that_takes_too_long_ends_and_says_so)
{
	struct answer a SCOPED(answer_done);
	static char text[1 << 20];
	FILE *f = fopen("long", "w");

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "ab"[(i * 2654435761u >> 13) & 1];
	REQUIRE(f && fwrite(text, 1, sizeof(text), f) == sizeof(text) && fclose(f) == 0);
	looks_until_later = 10;
	run(tool_search_files, "{\"path\":\"long\",\"pattern\":\"[ab]*a[ab]{4900}c\"}", &a);
	CHECK_INT(looks_until_later, 0);
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

TEST(names_that_make_a_path_too_long_end_the_way_down)
{
	struct answer a SCOPED(answer_done), b SCOPED(answer_done);
	char name[251];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 20; i++) {
		scratch_put("f", "needle\n");
		REQUIRE(mkdir(name, 0700) == 0 && chdir(name) == 0);
	}
	REQUIRE(chdir(scratch_top) == 0);
	CHECK_INT(rename(name, "long-names"), 0);
	run(tool_list_files, "{\"path\":\"long-names\"}", &a);
	CHECK(!a.is_error && strstr(a.text, "very deep"));
	run(tool_search_files, "{\"path\":\"long-names\",\"pattern\":\"needle\"}", &b);
	CHECK(!b.is_error && number(&b, "count") > 10);
	CHECK_INT(number(&b, "count"), number(&b, "files_searched"));
	CHECK_INT(number(&a, "count"), 2 * number(&b, "count") - 1);
	CHECK_INT(system("rm -rf long-names f"), 0);
}

TEST(a_directory_of_many_names_is_listed_in_order)
{
	enum { NAMES = 4200 };
	struct answer a SCOPED(answer_done);
	const struct json *entries;
	char name[40];

	REQUIRE(mkdir("many", 0700) == 0);
	for (int i = 0; i < NAMES; i++) {
		(void)snprintf(name, sizeof(name), "many/%04d", (i * 7919) % NAMES);
		scratch_put(name, "");
	}
	run(tool_list_files, "{\"path\":\"many\"}", &a);
	entries = items_of(&a, "entries");
	REQUIRE(entries && entries->array.count == NAMES);
	for (int i = 0; i < NAMES; i++) {
		const struct json *path = json_find(&entries->array.items[i], "path");

		(void)snprintf(name, sizeof(name), "%04d", i);
		if (!path || !str_is(path->string, name)) {
			CHECK_STR("another order", name);
			return;
		}
	}
}

/* Makes a file longer and empty, again and again, until it is killed. */
static pid_t start_resizing(const char *name)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	for (int fd = open(name, O_WRONLY);;) {
		(void)!ftruncate(fd, 1 << 20);
		(void)!ftruncate(fd, 0);
		(void)!pwrite(fd, "needle\n", 7, 0);
	}
}

TEST(a_file_that_shrinks_and_grows_meanwhile_ends_no_search)
{
	size_t found = 0;
	pid_t child;

	REQUIRE(mkdir("sizes", 0700) == 0);
	scratch_put("sizes/f", "needle\n");
	child = start_resizing("sizes/f");
	REQUIRE(child > 0);
	for (int i = 0; i < 300; i++) {
		struct answer a SCOPED(answer_done);

		run(tool_search_files, "{\"path\":\"sizes\",\"pattern\":\"^needle\"}", &a);
		if (!CHECK(!a.is_error))
			break;
		found += number(&a, "count") == 1;
	}
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	printf("# %zu of 300 searches found it\n", found);
	scratch_put("sizes/f", "needle\n");
	{
		struct answer a SCOPED(answer_done);

		run(tool_search_files, "{\"path\":\"sizes\",\"pattern\":\"^needle\"}", &a);
		CHECK_INT(number(&a, "count"), 1);
	}
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

/* The rules of a directory are forgotten behind it; those of a whole tree would be too many. */
TEST(many_ignore_files_are_all_obeyed)
{
	enum { DIRECTORIES = 60, LINES = 2000 };
	struct answer a SCOPED(answer_done);
	const struct json *notes;
	char name[64];

	REQUIRE(mkdir("each", 0700) == 0);
	for (int i = 0; i < DIRECTORIES; i++) {
		FILE *f;

		(void)snprintf(name, sizeof(name), "each/%d", i);
		REQUIRE(mkdir(name, 0700) == 0);
		(void)snprintf(name, sizeof(name), "each/%d/.gitignore", i);
		f = fopen(name, "w");
		REQUIRE(f != NULL);
		for (int line = 0; line < LINES; line++)
			(void)fprintf(f, "ignored-%d-*.o\n", line);
		REQUIRE(fclose(f) == 0);
		(void)snprintf(name, sizeof(name), "each/%d/ignored-%d-x.o", i, LINES - 1);
		scratch_put(name, "");
	}
	run(tool_list_files, "{\"path\":\"each\"}", &a);
	CHECK_INT(number(&a, "hidden"), DIRECTORIES);
	CHECK_INT(number(&a, "count"), 2 * DIRECTORIES);
	notes = items_of(&a, "notes");
	CHECK(notes && notes->array.count == 0);
}
