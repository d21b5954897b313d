/* SPDX-License-Identifier: MIT */
/*
 * The program, end to end. With --backend none nothing is confined; what is asked is that a run is a run: words, streams,
 * statuses, time, life and death.
 */
#include "child.h"

enum { TEXT = 64 << 10, MAX_WORDS = 32 };

static char text[TEXT];

/* No sandbox, and no warning about that. */
static const char *const none[] = { "run", "--quiet", "--backend", "none" };

/* cordon WORDS..., up to a NULL. */
static uint32_t cordon(const char *const *words)
{
	const char *argv[MAX_WORDS] = { "cordon" };
	size_t n = 1;

	for (; words[n - 1] && n < MAX_WORDS - 1; n++)
		argv[n] = words[n - 1];
	return run_words(program_of("CORDON"), argv, text, sizeof(text));
}

/* cordon run --backend none -- probe WORDS... */
static size_t fill_run(const char **argv, const char *const *options, const char *const *words)
{
	size_t n = 0;

	argv[n++] = "cordon";
	for (size_t i = 0; i < COUNT_OF(none); i++)
		argv[n++] = none[i];
	for (; options && *options; options++)
		argv[n++] = *options;
	argv[n++] = "--";
	argv[n++] = program_of("PROBE");
	for (; *words; words++)
		argv[n++] = *words;
	argv[n] = NULL;
	return n;
}

static uint32_t run_probe(const char *const *options, const char *const *words)
{
	const char *argv[MAX_WORDS];

	(void)fill_run(argv, options, words);
	return run_words(program_of("CORDON"), argv, text, sizeof(text));
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void trim(void)
{
	char *to = text;

	for (char *from = text; *from; from++)
		if (*from != '\r')
			*to++ = *from;
	*to = '\0';
}

TEST(the_version_and_help_are_printed)
{
	CHECK_INT(cordon(WORDS("--version")), 0);
	CHECK(strncmp(text, "cordon ", 7) == 0);
	CHECK_INT(cordon(WORDS("--help")), 0);
	CHECK(strstr(text, "cordon run"));
	CHECK_INT(cordon(WORDS("no-such-command")), 125);
}

TEST(a_command_gets_its_words_and_its_output_comes_out)
{
	CHECK_INT(run_probe(NULL, WORDS("say", "a \"b\" c\\")), 0);
	trim();
	CHECK(strstr(text, "a \"b\" c\\\n"));
	CHECK(strstr(text, "err\n"));
}

TEST(statuses_are_the_commands_own)
{
	static const struct {
		const char *word;
		uint32_t status;
	} cases[] = { { "0", 0 },
		      { "1", 1 },
		      { "ff", 255 },
		      { "100", 256 },
		      { "12345678", 0x12345678 },
		      { "c000013a", 0xC000013A } };

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(run_probe(NULL, WORDS("exit", cases[i].word)), cases[i].status);
	CHECK_INT(run_probe(NULL, WORDS("crash")), 0xC0000005);
}

TEST(what_is_not_there_is_127_and_batch_files_are_refused)
{
	CHECK_INT(cordon(WORDS("run", "--quiet", "--backend", "none", "--", "no-such-program")),
		  127);
	CHECK_INT(cordon(WORDS("run", "--quiet", "--backend", "none", "--", "C:\\windows\\no.bat")),
		  127);
}

TEST(a_command_is_found_in_PATH_with_and_without_its_suffix)
{
	CHECK_INT(cordon(WORDS("run", "--quiet", "--backend", "none", "--", "cmd", "/c", "exit",
			       "3")),
		  3);
	CHECK_INT(cordon(WORDS("run", "--quiet", "--backend", "none", "--", "cmd.exe", "/c", "exit",
			       "4")),
		  4);
}

TEST(standard_input_goes_to_the_command)
{
	const char *argv[MAX_WORDS];
	struct process_start how = { .program = program_of("CORDON"), .argv = argv };
	struct child c;
	int ours, theirs;

	(void)fill_run(argv, NULL, WORDS("cat"));
	REQUIRE(pipe_ends(false, &ours, &theirs) == 0);
	how.stdio[0] = theirs;
	REQUIRE(child_start(&how, &c));
	handle_close(theirs);
	CHECK_INT(pipe_write(ours, "through and through", 19), 19);
	(void)WaitForSingleObject(handle_wait(ours, true), 10000);
	handle_close(ours);
	CHECK_INT(child_finish(&c, text, sizeof(text)), 0);
	CHECK(strncmp(text, "through and through", 19) == 0);
}

TEST(the_time_limit_ends_the_command)
{
	uint64_t begun = GetTickCount64();

	CHECK_INT(run_probe(WORDS("--timeout", "700ms"), WORDS("sleep", "60000")), 124);
	CHECK(GetTickCount64() - begun < 20000);
	CHECK_INT(run_probe(WORDS("--timeout", "60s"), WORDS("exit", "5")), 5);
}

static HANDLE make_event(char name[64])
{
	static int number;
	wchar_t wide[64];

	(void)snprintf(name, 64, "cordon-cli-%lu-%d", GetCurrentProcessId(), ++number);
	return wide_text(str_of(name), wide, 64) < 0 ? NULL : CreateEventW(NULL, TRUE, FALSE, wide);
}

/* Starts cordon in a job that only counts. */
static bool start_counted(const char *const *words, const struct job *job, struct child *c)
{
	const char *argv[MAX_WORDS];
	void *jobs[] = { job->handle, NULL };
	struct process_start how = { .program = program_of("CORDON"), .argv = argv, .jobs = jobs };

	(void)fill_run(argv, NULL, words);
	return child_start(&how, c);
}

static bool is_empty_soon(const struct job *job)
{
	for (int i = 0; i < 500 && job_count(job) != 0; i++)
		Sleep(10);
	return job_count(job) == 0;
}

TEST(all_that_a_command_has_started_ends_with_it)
{
	struct job job;
	struct err e = ERR_INIT;
	struct child c;
	char name[64];
	HANDLE event = make_event(name);

	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e) == 0);
	REQUIRE(start_counted(WORDS("leave", name), &job, &c));
	CHECK_INT(child_finish(&c, text, sizeof(text)), 0);
	CHECK(is_empty_soon(&job));
	job_done(&job);
	(void)CloseHandle(event);
}

TEST(all_ends_when_cordon_is_killed)
{
	struct job job;
	struct err e = ERR_INIT;
	struct child c;
	char name[64];
	HANDLE event = make_event(name);

	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e) == 0);
	REQUIRE(start_counted(WORDS("spawn", name), &job, &c));
	REQUIRE(WaitForSingleObject(event, 30000) == WAIT_OBJECT_0);
	/* cordon and three generations. */
	CHECK(job_count(&job) >= 4);
	CHECK(TerminateProcess(c.process.handle, 99));
	CHECK(is_empty_soon(&job));
	CHECK_INT(child_finish(&c, text, sizeof(text)), 99);
	job_done(&job);
	(void)CloseHandle(event);
}

/* Whoever has not asked for the preview, and Wine, get no sandbox. */
TEST(a_sandbox_that_can_not_be_had_is_refused_by_name)
{
	CHECK_INT(cordon(WORDS("run", "--", "cmd", "/c", "exit", "0")), 125);
	CHECK(strstr(text, "win_token") || strstr(text, "win_elevated"));
	CHECK_INT(cordon(WORDS("run", "--backend", "win_token", "--", "cmd", "/c", "exit", "0")),
		  125);
	CHECK_INT(cordon(WORDS("doctor")), 125);
	CHECK(strstr(text, "not built for Windows"));
}

TEST(the_answers_are_about_this_host)
{
	CHECK_INT(cordon(WORDS("check")), 0);
	CHECK_INT(cordon(WORDS("profiles")), 0);
	CHECK(strstr(text, ":workspace"));
	CHECK_INT(cordon(WORDS("explain", "--json")), 0);
	CHECK(strstr(text, "\"schema\""));
	/* What a run would do: :workspace hides nothing, so its entries are all there. */
	CHECK_INT(cordon(WORDS("explain", "--mode", "workspace-write")), 0);
	CHECK(strstr(text, "does here, with features.windows_preview"));
	CHECK(strstr(text, "deny      write"));
	CHECK_INT(cordon(WORDS("explain", "--mode", "workspace-write", "--deny", "~\\AppData")), 0);
	CHECK(strstr(text, "can't hold this (fs_read): not everything may be read"));
	CHECK_INT(cordon(WORDS("why", "--read", "C:\\windows\\system32")), 0);
	CHECK_INT(cordon(WORDS("why", "--write", "C:\\windows\\system32\\x")), 1);
	/* Names that differ in case are one. */
	CHECK_INT(cordon(WORDS("why", "--write", "c:\\WINDOWS\\x")), 1);
	CHECK_INT(cordon(WORDS("why", "--read", "\\\\server\\share")), 125);
	CHECK_INT(cordon(WORDS("why", "--read", "C:\\NOSUCH~1\\x")), 125);
}

TEST(denies_hold_for_each_spelling)
{
	CHECK_INT(cordon(WORDS("why", "--deny", "C:\\windows\\system32", "--read",
			       "c:\\Windows\\SYSTEM32\\cmd.exe")),
		  1);
	CHECK_INT(cordon(WORDS("why", "--deny", "C:\\windows\\system32", "--read",
			       "C:\\windows\\win.ini")),
		  0);
	CHECK_INT(cordon(WORDS("why", "--deny", "~\\AppData", "--read", "~\\AppData\\x")), 1);
	CHECK_INT(cordon(WORDS("why", "--deny", "C:\\windows\\win.ini", "--read",
			       "C:\\windows\\win.ini::$DATA")),
		  1);
}
