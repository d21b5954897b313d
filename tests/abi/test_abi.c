/* SPDX-License-Identifier: MIT */
/*
 * The library as a host program meets it: linked to libcordon, knowing nothing
 * but cordon.h. Callers older and newer than the library; ownership; threads.
 */
#include <cordon.h>

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/test.h"

/* A made-up environment, so that nothing of this machine's configuration counts. */
static const char *const environment[] = { "HOME=/nonexistent", NULL };

static struct cordon_load_options make_options(void)
{
	struct cordon_load_options options = { .size = sizeof(options) };

	options.directory = "/usr";
	options.system_directory = "/nonexistent";
	options.environment = environment;
	return options;
}

static int load_code(const struct cordon_load_options *options)
{
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;
	int status = cordon_policy_load(options, &policy, &error);

	CHECK((status == 0) == (policy != NULL));
	CHECK((status == 0) == (error == NULL));
	if (error)
		CHECK_INT(cordon_error_code(error), -status);
	cordon_policy_free(policy);
	cordon_error_free(error);
	return status;
}

TEST(versions_agree)
{
	CHECK_INT(cordon_abi_version(), CORDON_ABI_VERSION);
	CHECK(strlen(cordon_version()) >= 5);
}

TEST(every_member_is_eight_bytes_wide)
{
	CHECK_INT(sizeof(struct cordon_load_options) % 8, 0);
	CHECK_INT(offsetof(struct cordon_load_options, directory), 8);
	CHECK_INT(offsetof(struct cordon_load_options, override_count), 56);
	CHECK_INT(offsetof(struct cordon_load_options, network), 136);
	CHECK_INT(offsetof(struct cordon_load_options, on_progress), 176);
	CHECK_INT(offsetof(struct cordon_load_options, workspace), 192);
	CHECK_INT(offsetof(struct cordon_load_options, unprotect_count), 208);
	CHECK_INT(offsetof(struct cordon_load_options, allow_socket_count), 224);
	CHECK_INT(offsetof(struct cordon_load_options, session), 232);
	CHECK_INT(offsetof(struct cordon_load_options, host_view) + 8,
		  sizeof(struct cordon_load_options));
	CHECK_INT(sizeof(struct cordon_run_options) % 8, 0);
	CHECK_INT(offsetof(struct cordon_run_options, flags), 80);
	CHECK_INT(offsetof(struct cordon_run_options, disable), 144);
	CHECK_INT(offsetof(struct cordon_run_options, decide_host), 176);
	CHECK_INT(offsetof(struct cordon_run_options, policy), 184);
	CHECK_INT(offsetof(struct cordon_run_options, on_denial), 192);
	CHECK_INT(offsetof(struct cordon_run_options, events), 200);
	CHECK_INT(offsetof(struct cordon_run_options, on_withdraw) + 8,
		  sizeof(struct cordon_run_options));
	CHECK_INT(offsetof(struct cordon_denial, is_guess), 120);
	CHECK_INT(offsetof(struct cordon_denial, advice) + 8, sizeof(struct cordon_denial));
	CHECK_INT(sizeof(struct cordon_host_request) % 8, 0);
}

TEST(an_older_and_shorter_struct_is_taken)
{
	struct cordon_load_options options = make_options();

	/* A caller that knows nothing behind `profile`. */
	options.mode = "no such mode";
	CHECK_INT(load_code(&options), -CORDON_E_POLICY);
	options.size = offsetof(struct cordon_load_options, mode);
	CHECK_INT(load_code(&options), 0);
}

TEST(a_newer_and_longer_struct_is_taken_when_its_tail_is_zero)
{
	struct {
		struct cordon_load_options known;
		uint64_t unknown[4];
	} options = { .known = make_options() };

	options.known.size = sizeof(options);
	CHECK_INT(load_code(&options.known), 0);
	options.unknown[3] = 1;
	CHECK_INT(load_code(&options.known), -CORDON_E_ARGUMENT);
	options.unknown[3] = 0;
	options.unknown[0] = UINT64_C(1) << 63;
	CHECK_INT(load_code(&options.known), -CORDON_E_ARGUMENT);
}

TEST(a_size_that_can_not_be_is_refused)
{
	static const uint64_t sizes[] = { 0, 1, 7, 9, 63, 4097, UINT64_MAX };
	struct cordon_load_options options = make_options();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		options.size = sizes[i];
		CHECK_INT(load_code(&options), -CORDON_E_ARGUMENT);
	}
}

TEST(a_failure_writes_no_result_and_needs_no_error)
{
	struct cordon_load_options options = make_options();
	cordon_policy *policy = (cordon_policy *)&options;
	cordon_report *report = (cordon_report *)&options;

	options.profile = "nothing";
	CHECK_INT(cordon_policy_load(&options, &policy, NULL), -CORDON_E_NOTFOUND);
	CHECK(policy == (cordon_policy *)&options);
	CHECK_INT(cordon_check_syntax("/nonexistent", &report, NULL), -CORDON_E_NOTFOUND);
	CHECK(report == (cordon_report *)&options);
	CHECK_INT(cordon_policy_load(&options, NULL, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_check_syntax(NULL, &report, NULL), -CORDON_E_ARGUMENT);
	cordon_policy_free(NULL);
	cordon_report_free(NULL);
	cordon_error_free(NULL);
}

TEST(answers_need_no_nul_behind_them)
{
	struct cordon_load_options options = make_options();
	cordon_policy *policy = NULL;
	uint32_t access = 9;
	uint32_t decision = 9;

	options.profile = ":read-only";
	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	CHECK_INT(cordon_policy_access(policy, "/etc/xyz", 4, 0, &access, NULL), 0);
	CHECK_INT(access, CORDON_ACCESS_READ);
	CHECK_INT(cordon_policy_access(policy, "/etc", 4, CORDON_PATH_CANONICAL, &access, NULL), 0);
	CHECK_INT(access, CORDON_ACCESS_READ);
	CHECK_INT(cordon_policy_host(policy, "example.com:x", 11, 443, &decision, NULL), 0);
	CHECK_INT(decision, CORDON_DECISION_DENY);
	CHECK_INT(cordon_policy_access(policy, "a\0b", 3, 0, &access, NULL), -CORDON_E_SYNTAX);
	CHECK_INT(cordon_policy_host(policy, "a\0b", 3, 0, &decision, NULL), -CORDON_E_SYNTAX);
	CHECK_INT(cordon_policy_host(policy, "a", 1, 65536, &decision, NULL), -CORDON_E_ARGUMENT);
	cordon_policy_free(policy);
}

TEST(a_path_that_is_not_canonical_is_refused_where_it_must_be)
{
	static const char *const paths[] = { "etc", "/etc/", "//etc", "/./etc", "/a/../etc", "" };
	struct cordon_load_options options = make_options();
	cordon_policy *policy = NULL;
	uint32_t access = 9;

	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		CHECK_INT(cordon_policy_access(policy, paths[i], strlen(paths[i]),
					       CORDON_PATH_CANONICAL, &access, NULL),
			  -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_policy_access(policy, "/", 1, 2, &access, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(access, 9);
	cordon_policy_free(policy);
}

TEST(the_options_may_go_once_the_policy_is_loaded)
{
	char directory[] = "/usr";
	char profile[] = ":workspace";
	char override[] = "features.x=true";
	const char *overrides[] = { override };
	struct cordon_load_options options = make_options();
	cordon_policy *policy = NULL;
	cordon_report *report = NULL;

	options.directory = directory;
	options.profile = profile;
	options.overrides = overrides;
	options.override_count = 1;
	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	memset(directory, 'x', sizeof(directory));
	memset(profile, 'x', sizeof(profile));
	memset(override, 'x', sizeof(override));
	memset(&options, 0xff, sizeof(options));
	REQUIRE(cordon_explain(policy, NULL, &report, NULL) == 0);
	CHECK(strstr(cordon_report_json(report), "\":workspace\"") != NULL);
	CHECK(strstr(cordon_report_text(report, 0), "xxx") == NULL);
	cordon_report_free(report);
	REQUIRE(cordon_why_path(policy, "/etc", 4, 0, &report, NULL) == 0);
	CHECK(strstr(cordon_report_text(report, CORDON_TEXT_BRIEF), "read\n") != NULL);
	cordon_report_free(report);
	cordon_policy_free(policy);
}

static void count_warning(void *user, const char *text)
{
	int *count = user;

	CHECK(strchr(text, '\n') == NULL);
	(*count)++;
}

TEST(warnings_reach_the_callback)
{
	const char *overrides[] = { "permissions.x.filesystem.\":nothing\"=read",
				    "permissions.x.filesystem.\":root\"=read" };
	struct cordon_load_options options = make_options();
	cordon_policy *policy = NULL;
	cordon_report *report = NULL;
	int count = 0;

	options.overrides = overrides;
	options.override_count = 2;
	options.profile = "x";
	options.on_warning = count_warning;
	options.user = &count;
	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	CHECK_INT(count, 1);
	cordon_policy_free(policy);
	options.profile = NULL;
	REQUIRE(cordon_profiles(&options, "x", &report, NULL) == 0);
	CHECK_INT(count, 2);
	cordon_report_free(report);
}

/* Asks with nothing left but the reports. */
static void check_survivors(cordon_report *const *reports, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK(strstr(cordon_report_json(reports[i]), "\":workspace\"") != NULL);
		CHECK(cordon_report_text(reports[i], 0) != NULL);
	}
}

TEST(a_report_may_outlive_its_policy)
{
	struct cordon_load_options options = make_options();
	cordon_report *reports[3] = { NULL };
	cordon_policy *policy = NULL;

	options.profile = ":workspace";
	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	CHECK_INT(cordon_explain(policy, NULL, &reports[0], NULL), 0);
	CHECK_INT(cordon_why_path(policy, "/etc", 4, 0, &reports[1], NULL), 0);
	CHECK_INT(cordon_why_host(policy, "a.example", 9, &reports[2], NULL), 0);
	cordon_policy_free(policy);
	check_survivors(reports, 3);
	cordon_report_free(reports[1]);
	cordon_report_free(reports[0]);
	check_survivors(&reports[2], 1);
	cordon_report_free(reports[2]);
}

TEST(the_directory_of_the_system_is_relative_to_the_process)
{
	struct cordon_load_options options = make_options();
	char top[] = "/var/tmp/cordon-abi-XXXXXX";
	cordon_report *report = NULL;
	FILE *file;

	REQUIRE(mkdtemp(top) && chdir(top) == 0 && mkdir("system", 0700) == 0);
	file = fopen("system/config.toml", "w");
	REQUIRE(file && fputs("unknown = 1\n", file) >= 0 && fclose(file) == 0);
	options.system_directory = "system";
	CHECK_INT(cordon_check(&options, &report, NULL), 0);
	CHECK_INT(report ? cordon_report_error_count(report) : 0, 1);
	cordon_report_free(report);
	CHECK(unlink("system/config.toml") == 0 && rmdir("system") == 0 && rmdir(top) == 0 &&
	      chdir("/") == 0);
}

TEST(what_can_not_be_read_is_in_the_report_of_a_check)
{
	static const char *const files[] = { "/nonexistent/x.toml", "/usr" };

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct cordon_load_options options = make_options();
		cordon_report *report = NULL;

		options.config_file = files[i];
		CHECK_INT(cordon_check(&options, &report, NULL), 0);
		CHECK_INT(report ? cordon_report_error_count(report) : 0, 1);
		cordon_report_free(report);
	}
}

TEST(an_error_of_the_callers_own_looks_like_ours)
{
	cordon_error *error = cordon_error_new(CORDON_E_ARGUMENT, "file:3:4: not \"this\"\n");

	CHECK_INT(cordon_error_code(error), CORDON_E_ARGUMENT);
	CHECK(strchr(cordon_error_text(error), '\n') == NULL);
	/* What looks like a place in it is the caller's text all the same. */
	CHECK(strstr(cordon_error_json(error), "\"line\": null") != NULL);
	CHECK(strstr(cordon_error_json(error), "file:3:4: not \\\"this\\\"") != NULL);
	cordon_error_free(error);
}

static void *ask_often(void *user)
{
	static const char path[] = "/etc/../etc/passwd";
	const cordon_policy *policy = user;
	uintptr_t wrong = 0;

	for (int i = 0; i < 200; i++) {
		cordon_report *report = NULL;
		uint32_t access = 9;

		wrong += cordon_policy_access(policy, path, sizeof(path) - 1, 0, &access, NULL) <
				 0 ||
			 access != CORDON_ACCESS_READ;
		if (cordon_why_path(policy, path, sizeof(path) - 1, 0, &report, NULL) < 0)
			wrong++;
		else
			wrong += !strstr(cordon_report_json(report), "\"access\": \"read\"");
		cordon_report_free(report);
	}
	return (void *)wrong;
}

TEST(many_threads_may_ask_one_policy)
{
	struct cordon_load_options options = make_options();
	cordon_policy *policy = NULL;
	pthread_t threads[8];

	options.profile = ":workspace";
	REQUIRE(cordon_policy_load(&options, &policy, NULL) == 0);
	for (size_t i = 0; i < 8; i++)
		REQUIRE(pthread_create(&threads[i], NULL, ask_often, policy) == 0);
	for (size_t i = 0; i < 8; i++) {
		void *wrong = NULL;

		REQUIRE(pthread_join(threads[i], &wrong) == 0);
		CHECK_INT((uintptr_t)wrong, 0);
	}
	cordon_policy_free(policy);
}
