/* SPDX-License-Identifier: MIT */
/* What is in a job lives and dies together. */
#include "child.h"

/* An event that the last of three generations sets. */
static HANDLE make_event(char name[64])
{
	static int number;
	wchar_t wide[64];

	(void)snprintf(name, 64, "cordon-test-%lu-%d", GetCurrentProcessId(), ++number);
	return wide_text(str_of(name), wide, 64) < 0 ? NULL : CreateEventW(NULL, TRUE, FALSE, wide);
}

static bool start_family(const struct job *job, const char *what, HANDLE event, const char *name,
			 struct child *c)
{
	const char *const argv[] = { "probe", what, name, NULL };
	void *jobs[] = { job->handle, NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv, .jobs = jobs };

	return child_start(&how, c) && WaitForSingleObject(event, 20000) == WAIT_OBJECT_0;
}

static bool is_empty_soon(const struct job *job)
{
	for (int i = 0; i < 500 && job_count(job) != 0; i++)
		Sleep(10);
	return job_count(job) == 0;
}

TEST(killing_a_job_ends_grandchildren)
{
	struct job job;
	struct err e = ERR_INIT;
	struct child c;
	char name[64], text[16];
	HANDLE event = make_event(name);

	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e) == 0);
	REQUIRE(start_family(&job, "spawn", event, name, &c));
	CHECK_INT(job_count(&job), 3);
	job_kill(&job, 77);
	CHECK_INT(child_finish(&c, text, sizeof(text)), 77);
	CHECK(is_empty_soon(&job));
	CHECK_INT(job_wait(&job, 5000), JOB_EMPTY);
	job_done(&job);
	(void)CloseHandle(event);
}

TEST(closing_the_last_handle_ends_what_a_child_has_left)
{
	struct job job, outer;
	struct err e = ERR_INIT;
	struct child c;
	char name[64], text[16];
	HANDLE event = make_event(name);
	void *jobs[3];
	const char *const argv[] = { "probe", "leave", name, NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv, .jobs = jobs };

	/* The outer one is there to count. */
	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &outer, &e) == 0);
	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e) == 0);
	jobs[0] = outer.handle;
	jobs[1] = job.handle;
	jobs[2] = NULL;
	REQUIRE(child_start(&how, &c));
	REQUIRE(WaitForSingleObject(event, 20000) == WAIT_OBJECT_0);
	(void)WaitForSingleObject(c.process.handle, 20000);
	CHECK_INT(job_count(&outer), 2);
	job_done(&job);
	CHECK(is_empty_soon(&outer));
	(void)child_finish(&c, text, sizeof(text));
	job_done(&outer);
	(void)CloseHandle(event);
}

TEST(a_job_tells_what_was_used)
{
	struct job job;
	struct job_usage usage;
	struct err e = ERR_INIT;
	struct child c;
	void *jobs[2] = { NULL, NULL };
	const char *const argv[] = { "probe", "exit", "0", NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv, .jobs = jobs };
	char text[16];

	REQUIRE(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e) == 0);
	jobs[0] = job.handle;
	REQUIRE(child_start(&how, &c));
	(void)child_finish(&c, text, sizeof(text));
	REQUIRE(job_get_usage(&job, &usage));
	CHECK_INT(usage.started, 1);
	job_done(&job);
}

static bool is_wine(void)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

	return ntdll && GetProcAddress(ntdll, "wine_get_version");
}

/* Wine takes these limits and does nothing: what is read back shows it, and nothing may be run then. */
TEST(a_limit_that_is_not_in_force_is_refused)
{
	struct job job;
	struct err e = ERR_INIT;
	int memory = job_new(&(struct job_limits){ .memory_bytes = 64 << 20 }, &job, &e);

	if (!is_wine())
		SKIP("this Windows enforces the limits of jobs");
	CHECK_INT(memory, -ERR_WEAKER);
	err_clear(&e);
	CHECK_INT(job_new(&(struct job_limits){ .processes = 4 }, &job, &e), -ERR_WEAKER);
	err_clear(&e);
	CHECK_INT(job_new(&(struct job_limits){ .ends_with_us = true }, &job, &e), 0);
	job_done(&job);
}
