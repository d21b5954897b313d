/* SPDX-License-Identifier: MIT */
/* cordon_doctor() in a host program, which is not cordon and does not offer itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

static int steps;

static void count_step(void *user, const char *text)
{
	CHECK(user == &steps);
	CHECK(text[0] != '\0');
	steps++;
}

static struct cordon_load_options nobody(void)
{
	static const char *const environment[] = { "HOME=/nonexistent", NULL };
	struct cordon_load_options load = { .size = sizeof(load) };

	load.environment = environment;
	load.system_directory = "/nonexistent";
	return load;
}

TEST(the_probe_is_the_program_that_is_named)
{
	struct cordon_load_options load = nobody();
	struct cordon_doctor_options options = { .size = sizeof(options) };
	cordon_report *report = NULL;
	const char *json;

	options.load = &load;
	options.program = getenv("CORDON");
	options.on_step = count_step;
	options.user = &steps;
	REQUIRE(options.program);
	REQUIRE(cordon_doctor(&options, &report, NULL) == 0);
	CHECK_INT((long long)cordon_report_error_count(report), 0);
	json = cordon_report_json(report);
	REQUIRE(json);
	CHECK(strstr(json, "\"name\": \"fs_carve\",\n          \"state\": \"held\"") != NULL);
	CHECK(strstr(json, "\"broken\"") == NULL && strstr(json, "\"untested\"") == NULL);
	CHECK(strstr(cordon_report_text(report, 0), "can be enforced here, by native") != NULL);
	CHECK(steps >= 4);
	cordon_report_free(report);
}

/* SECURITY: it would be run without a sandbox, too. */
TEST(a_host_program_is_never_taken_for_the_probe)
{
	struct cordon_load_options load = nobody();
	struct cordon_doctor_options options = { .size = sizeof(options) };
	cordon_report *report = NULL;
	const char *json;

	options.load = &load;
	REQUIRE(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	(void)setenv("CORDON_PROGRAM", "/nonexistent/cordon", 1);
	REQUIRE(cordon_doctor(&options, &report, NULL) == 0);
	json = cordon_report_json(report);
	REQUIRE(json);
	CHECK(strstr(json, "\"id\": \"no_probe\"") != NULL);
	CHECK(strstr(json, "/nonexistent") != NULL && strstr(json, "\"held\": []") != NULL);
	/* What it is about is tried all the same. */
	CHECK(strstr(json, "\"enforced\": true") != NULL);
	CHECK_INT((long long)cordon_report_error_count(report), 0);
	/* And the host program's own descriptors are left alone. */
	CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	cordon_report_free(report);
	(void)unsetenv("CORDON_PROGRAM");
}

/* This one does not call cordon_inner_main(), and says nothing when it is asked. */
TEST(a_program_that_is_no_probe_is_told_by_its_silence)
{
	struct cordon_load_options load = nobody();
	struct cordon_doctor_options options = { .size = sizeof(options) };
	cordon_report *report = NULL;

	options.load = &load;
	options.program = "/bin/true";
	REQUIRE(cordon_doctor(&options, &report, NULL) == 0);
	CHECK(strstr(cordon_report_json(report), "cordon_inner_main()") != NULL);
	CHECK(strstr(cordon_report_json(report), "\"held\": []") != NULL);
	cordon_report_free(report);
}

TEST(a_configuration_that_is_no_good_is_in_the_report)
{
	struct cordon_load_options load = nobody();
	struct cordon_doctor_options options = { .size = sizeof(options) };
	cordon_report *report = NULL;

	load.profile = "nosuch";
	options.load = &load;
	options.program = getenv("CORDON");
	REQUIRE(cordon_doctor(&options, &report, NULL) == 0);
	CHECK_INT((long long)cordon_report_error_count(report), 1);
	CHECK(strstr(cordon_report_json(report), "nosuch") != NULL);
	cordon_report_free(report);
}

TEST(what_is_asked_wrongly_is_refused)
{
	struct cordon_doctor_options options = { .size = sizeof(options) };
	cordon_report *report = NULL;
	cordon_error *error = NULL;

	CHECK_INT(cordon_doctor(&options, NULL, &error), -CORDON_E_ARGUMENT);
	cordon_error_free(error);
	options.flags = 1U << 20;
	CHECK_INT(cordon_doctor(&options, &report, NULL), -CORDON_E_ARGUMENT);
	options.flags = 0;
	options.size = 5;
	CHECK_INT(cordon_doctor(&options, &report, NULL), -CORDON_E_ARGUMENT);
	CHECK(report == NULL);
}

/* Only one that Cordon has started again is anything else. */
TEST(an_ordinary_start_is_none_of_cordons)
{
	char name[] = "/usr/bin/host", word[] = "cordon-doctor-probe";
	char *ordinary[] = { name, word, NULL };
	char *none[] = { NULL };

	CHECK_INT(cordon_inner_main(2, ordinary), -1);
	CHECK_INT(cordon_inner_main(0, none), -1);
}

TEST(why_nothing_was_executed_is_in_the_result)
{
	struct ask ask;
	cordon_result *result;

	EACH_BACKEND(backend)
	{
		ask_script(&ask, backend, "");
		ask.words[0] = "no\033such";
		ask.words[1] = NULL;
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_INT(cordon_result_status(result), 127);
		REQUIRE(cordon_result_exec_error(result));
		CHECK(strstr(cordon_result_exec_error(result), "was not found in PATH") != NULL);
		CHECK(strchr(cordon_result_exec_error(result), '\033') == NULL);
		cordon_result_free(result);
		ask_script(&ask, backend, "exit 127");
		result = run_it(&ask);
		REQUIRE(result);
		CHECK(cordon_result_exec_error(result) == NULL);
		cordon_result_free(result);
	}
}
