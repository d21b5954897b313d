/* SPDX-License-Identifier: MIT */
/* Starting processes: exact words, the environment, what is inherited, what is refused. */
#include "child.h"

#include <shellapi.h>

enum { MAX_WORDS = 8, MAX_UNITS = 24, TEXT = 64 << 10 };

/* Characters that quoting is about, and some that it is not. */
static wchar_t random_unit(uint64_t *seed)
{
	static const wchar_t special[] = L"\\\\\\\\\"\"\" \t  'a^%&|<>()!=;,\n\x00e9\x4e2d*?/-";
	uint64_t n = test_random(seed);

	if (n % 16 == 0)
		return (wchar_t)(1 + (n >> 8) % 0xD7FF);
	return special[(n >> 8) % (COUNT_OF(special) - 1)];
}

struct words {
	wchar_t wide[MAX_WORDS][MAX_UNITS + 1];
	char narrow[MAX_WORDS][4 * MAX_UNITS + 1];
	const char *argv[MAX_WORDS + 1];
	int count;
};

static void make_words(struct words *w, uint64_t *seed)
{
	w->count = 1 + (int)(test_random(seed) % MAX_WORDS);
	for (int i = 0; i < w->count; i++) {
		size_t len = test_random(seed) % (MAX_UNITS + 1);

		for (size_t k = 0; k < len; k++) {
			wchar_t c = random_unit(seed);

			/* A program's own name has no quotes. */
			w->wide[i][k] = i == 0 && c == L'"' ? L'x' : c;
		}
		w->wide[i][len] = L'\0';
		if (narrow_text(w->wide[i], len, w->narrow[i], sizeof(w->narrow[i])) < 0)
			w->narrow[i][0] = '\0';
		w->argv[i] = w->narrow[i];
	}
	w->argv[w->count] = NULL;
}

static bool comes_back(const struct words *w)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	wchar_t *line = NULL, **read;
	int count = 0;
	bool is_same;

	if (process_command_line(&a, w->argv, &line, &e) < 0)
		return false;
	read = CommandLineToArgvW(line, &count);
	is_same = read && count == w->count;
	for (int i = 0; is_same && i < count; i++)
		is_same = wcscmp(read[i], w->wide[i]) == 0;
	if (!is_same)
		printf("# the line was: %ls\n", line);
	(void)LocalFree(read);
	return is_same;
}

TEST(random_words_come_back_from_CommandLineToArgvW)
{
	uint64_t seed = test_seed();
	size_t wrong = 0, cases = test_cases(10000);

	for (size_t i = 0; i < cases; i++) {
		struct words w;

		make_words(&w, &seed);
		wrong += !comes_back(&w);
	}
	CHECK_INT(wrong, 0);
}

TEST(a_quote_in_the_name_of_a_program_is_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const char *const with[] = { "a\"b", NULL }, *const without[] = { "a b", "c\"d", NULL };
	struct err e = ERR_INIT;
	wchar_t *line;

	CHECK_INT(process_command_line(&a, with, &line, &e), -ERR_SYNTAX);
	err_clear(&e);
	CHECK_INT(process_command_line(&a, without, &line, &e), 0);
	CHECK(wcscmp(line, L"\"a b\" \"c\\\"d\"") == 0);
}

static void print_hex(const char *word, char *out)
{
	wchar_t wide[256];
	int n = wide_text(str_of(word), wide, COUNT_OF(wide));

	for (int i = 0; i < n; i++)
		out += snprintf(out, 5, "%04x", wide[i]);
	*out++ = '\n';
	*out = '\0';
}

TEST(a_child_sees_exactly_its_words)
{
	static const char *const argv[] = {
		"name of its own",
		"argv",
		"",
		"a b",
		"\\",
		"\\\\",
		"a\\\"b",
		"\"",
		"c:\\d e\\",
		"^%PATH%&",
		"\xc3\xa9\xe4\xb8\xad",
		"\xf0\x9f\x98\x80",
		"\xed\xa0\x80",
		"*",
		"@file",
		NULL,
	};
	char text[TEXT], want[TEXT] = "";
	char *at = want;

	CHECK_INT(run_words(program_of("PROBE"), argv, text, sizeof(text)), 0);
	for (size_t i = 0; argv[i]; i++) {
		print_hex(argv[i], at);
		at += strlen(at);
	}
	/* Its C library ends lines in another way. */
	for (char *from = text, *to = text; (*to = *from); from++)
		to += *from != '\r';
	CHECK_STR(text, want);
}

TEST(exit_statuses_come_back_whole)
{
	static const struct {
		const char *word;
		uint32_t status;
	} cases[] = { { "0", 0 },
		      { "1", 1 },
		      { "ff", 255 },
		      { "100", 256 },
		      { "103", 259 },
		      { "12345678", 0x12345678 },
		      { "c0000005", 0xC0000005 } };
	char text[64];

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *const argv[] = { "probe", "exit", cases[i].word, NULL };

		CHECK_INT(run_words(program_of("PROBE"), argv, text, sizeof(text)),
			  cases[i].status);
	}
}

TEST(the_environment_is_what_was_given_and_the_last_of_a_name_counts)
{
	/* Without SystemRoot few programs of Windows start. */
	const char *root = os_environment_find(os_environment(), "SystemRoot");
	char variable[512], text[256];
	const char *const environment[] = { "zebra=1",	  variable,    "Mark=theirs",
					    "\xc3\xa9=2", "MARK=ours", NULL };
	const char *const ask[][4] = { { "probe", "env", "mark", NULL },
				       { "probe", "env", "ZEBRA", NULL },
				       { "probe", "env", "PATH", NULL } };
	const char *const want[] = { "ours", "1", "(unset)" };

	(void)snprintf(variable, sizeof(variable), "SystemRoot=%s", root ? root : "C:\\windows");
	for (size_t i = 0; i < COUNT_OF(ask); i++) {
		struct process_start how = { .program = program_of("PROBE"),
					     .argv = ask[i],
					     .environment = environment };
		struct child c;

		REQUIRE(child_start(&how, &c));
		CHECK_INT(child_finish(&c, text, sizeof(text)), 0);
		text[strcspn(text, "\r\n")] = '\0';
		CHECK_STR(text, want[i]);
	}
}

TEST(a_name_is_once_in_the_environment_also_beyond_ascii)
{
	const char *const environment[] = { "\xc3\xa9=theirs", "b=1", "\xc3\x89=ours", NULL };
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	wchar_t *block;

	REQUIRE(process_environment(&a, environment, &block, &e) == 0);
	CHECK(wcscmp(block, L"b=1") == 0);
	block += wcslen(block) + 1;
	CHECK(wcscmp(block, L"\u00c9=ours") == 0);
	CHECK(block[wcslen(block) + 1] == L'\0');
}

static void check_inherits(bool by_list, const char *want)
{
	SECURITY_ATTRIBUTES rights = { .nLength = sizeof(rights), .bInheritHandle = TRUE };
	HANDLE event = CreateEventW(&rights, TRUE, FALSE, NULL);
	char number[32], text[64];
	const char *const argv[] = { "probe", "open", number, NULL };

	(void)snprintf(number, sizeof(number), "%llx", (unsigned long long)(uintptr_t)event);
	if (by_list) {
		CHECK_INT(run_words(program_of("PROBE"), argv, text, sizeof(text)), 0);
	} else {
		/* The control: CreateProcess() as others call it hands over what can be inherited. */
		scoped_arena a = ARENA_INIT(1 << 20);
		STARTUPINFOW how = { .cb = sizeof(how), .dwFlags = STARTF_USESTDHANDLES };
		PROCESS_INFORMATION made;
		struct err e = ERR_INIT;
		struct child c = { .process = PROCESS_NONE };
		wchar_t program[WIDE_PATH], *line;
		int theirs;

		REQUIRE(pipe_ends(true, &c.out, &theirs) == 0);
		(void)SetHandleInformation(handle_get(theirs), HANDLE_FLAG_INHERIT,
					   HANDLE_FLAG_INHERIT);
		how.hStdOutput = handle_get(theirs);
		REQUIRE(process_command_line(&a, argv, &line, &e) == 0 &&
			wide_plain_path(str_of(program_of("PROBE")), program) > 0);
		REQUIRE(CreateProcessW(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &how,
				       &made));
		c.process = (struct process){ made.hProcess, made.hThread, made.dwProcessId };
		handle_close(theirs);
		CHECK_INT(child_finish(&c, text, sizeof(text)), 0);
	}
	text[strcspn(text, "\r\n")] = '\0';
	CHECK_STR(text, want);
	(void)CloseHandle(event);
}

TEST(an_inheritable_handle_that_is_not_listed_is_not_inherited)
{
	check_inherits(true, "closed");
	check_inherits(false, "open");
}

TEST(a_descriptor_of_ours_can_not_be_inherited)
{
	int ours, theirs;
	DWORD flags = HANDLE_FLAG_INHERIT;

	REQUIRE(pipe_ends(false, &ours, &theirs) == 0);
	CHECK(GetHandleInformation(handle_get(ours), &flags) && !(flags & HANDLE_FLAG_INHERIT));
	CHECK(GetHandleInformation(handle_get(theirs), &flags) && !(flags & HANDLE_FLAG_INHERIT));
	handle_close(ours);
	handle_close(theirs);
}

TEST(what_is_written_to_a_pipe_comes_out_of_the_child)
{
	static const char *const argv[] = { "probe", "cat", NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv };
	struct child c;
	int ours, theirs;
	char text[64];

	REQUIRE(pipe_ends(false, &ours, &theirs) == 0);
	how.stdio[0] = theirs;
	REQUIRE(child_start(&how, &c));
	handle_close(theirs);
	CHECK_INT(pipe_write(ours, "a few bytes", 11), 11);
	(void)WaitForSingleObject(handle_wait(ours, true), 10000);
	handle_close(ours);
	CHECK_INT(child_finish(&c, text, sizeof(text)), 0);
	CHECK_STR(text, "a few bytes");
}

TEST(more_than_a_pipe_holds_comes_whole)
{
	static char text[1 << 20];
	static const char *const argv[] = { "probe", "many", "1000000", NULL };

	CHECK_INT(run_words(program_of("PROBE"), argv, text, sizeof(text)), 0);
	CHECK_INT(strlen(text), 1000000);
}

TEST(batch_files_are_refused_whatever_stands_behind_their_name)
{
	static const char *const batch[] = { "C:\\a.bat",  "/C:/A.CMD",	    "/C:/a.bat.",
					     "/C:/a.bat ", "/C:/a.cmd . .", "C:\\a.bat::$DATA",
					     "a.BAT:x" };
	static const char *const others[] = { "C:\\a.exe", "/C:/bat", "/C:/a.bat/b.exe", "a.batx",
					      "cmd" };
	const char *const argv[] = { "a", NULL };
	struct process_start how = { .argv = argv, .stdio = { -1, -1, -1 } };
	struct process p;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < COUNT_OF(batch); i++)
		CHECK(process_is_batch(str_of(batch[i])));
	for (size_t i = 0; i < COUNT_OF(others); i++)
		CHECK(!process_is_batch(str_of(others[i])));
	how.program = batch[0];
	CHECK_INT(process_start(&how, &p, &e), -ERR_POLICY);
}

TEST(a_program_that_is_not_there_is_ENOENT)
{
	const char *const argv[] = { "a", NULL };
	struct process_start how = { .program = "C:\\nothing\\here.exe",
				     .argv = argv,
				     .stdio = { -1, -1, -1 } };
	struct process p;
	struct err e = ERR_INIT;

	CHECK_INT(process_start(&how, &p, &e), -ERR_SYS);
	CHECK_INT(e.os_error, ENOENT);
}

TEST(one_that_waits_does_nothing_before_it_may)
{
	static const char *const argv[] = { "probe", "exit", "7", NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv, .waits = true };
	struct child c;
	struct err e = ERR_INIT;
	uint32_t status;
	char text[16];

	REQUIRE(child_start(&how, &c));
	CHECK_INT(WaitForSingleObject(c.process.handle, 300), WAIT_TIMEOUT);
	CHECK(!process_status(c.process.handle, &status));
	CHECK_INT(process_resume(&c.process, &e), 0);
	CHECK_INT(child_finish(&c, text, sizeof(text)), 7);
}
