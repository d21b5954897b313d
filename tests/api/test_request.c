/* SPDX-License-Identifier: MIT */
/* What a run is asked for: requests, defaults, words, environments, wishes. */
#include "host.h"

/* ---- Words ------------------------------------------------------------------------------- */

/* The words in one line, each in brackets. */
static const char *words_of(const cordon *handle, const struct cordon_run_options *request)
{
	static char line[2048];
	char **argv = NULL;
	cordon_error *error = NULL;
	size_t used = 0;

	line[0] = '\0';
	if (cordon_request_argv(handle, request, &argv, &error) < 0) {
		(void)snprintf(line, sizeof(line), "%s", cordon_error_text(error));
		cordon_error_free(error);
		return line;
	}
	for (size_t i = 0; argv[i] && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "[%s]", argv[i]);
	cordon_argv_free(argv);
	return line;
}

static const char *const list_command[] = { "ls", "-l", "--", "a b", NULL };

TEST(a_request_is_a_command_line)
{
	struct cordon_run_options request = { .size = sizeof(request), .command = list_command };

	CHECK_STR(words_of(NULL, &request), "[cordon][run][--][ls][-l][--][a b]");
	request.binary = "/opt/cordon";
	CHECK_STR(words_of(NULL, &request), "[/opt/cordon][run][--][ls][-l][--][a b]");
}

TEST(every_member_has_its_words)
{
	static const char *const overrides[] = { "features.a=true", "git=\"commit\"" };
	static const char *const reads[] = { "/r" };
	static const char *const writes[] = { "w 1", "w2" };
	static const char *const denies[] = { "-d" };
	static const char *const enable[] = { "x", NULL };
	static const char *const disable[] = { "y", "z", NULL };
	static const char *const accept[] = { "limits", NULL };
	static const char *const set[] = { "A=b c", "GITHUB_TOKEN", NULL };
	struct cordon_load_options load = { .size = sizeof(load),
					    .directory = "dir",
					    .config_file = "c.toml",
					    .mode = "workspace-write",
					    .overrides = overrides,
					    .override_count = 2,
					    .add_read = reads,
					    .add_read_count = 1,
					    .add_write = writes,
					    .add_write_count = 2,
					    .deny = denies,
					    .deny_count = 1,
					    .network = "full",
					    .workspace = "ws",
					    .allow_sockets = writes,
					    .allow_socket_count = 1 };
	struct cordon_run_options request = { .size = sizeof(request),
					      .load = &load,
					      .command = list_command,
					      .platform = "landlock",
					      .backend = "native",
					      .sandbox = "require",
					      .set_environment = set,
					      .timeout_ms = 1500,
					      .flags = CORDON_RUN_QUIET | CORDON_RUN_TRACE |
						       CORDON_RUN_LOG_DENIALS,
					      .events = "e.jsonl",
					      .accept_missing = accept,
					      .enable = enable,
					      .disable = disable };

	CHECK_STR(words_of(NULL, &request),
		  "[cordon][run][--mode][workspace-write][--cd][dir][--workspace][ws]"
		  "[--config-file][c.toml][--config][features.a=true][--config][git=\"commit\"]"
		  "[--enable][x][--disable][y][--disable][z][--add-read][/r]"
		  "[--add-write][w 1][--add-write][w2][--deny][-d][--network][full]"
		  "[--allow-socket][w 1][--backend][native][--sandbox][require]"
		  "[--accept-missing][limits][--platform][landlock][--timeout][1500ms]"
		  "[--env][A=b c][--env][GITHUB_TOKEN][--log-denials][--events][e.jsonl][--trace]"
		  "[--quiet][--][ls][-l][--][a b]");
	load.mode = NULL;
	load.profile = "dev";
	CHECK(strstr(words_of(NULL, &request), "[--profile][dev]") != NULL);
	load.system_directory = "/x";
	CHECK(strstr(words_of(NULL, &request), "no option stands for") != NULL);
}

TEST(an_empty_command_is_refused)
{
	static const char *const none[] = { NULL };
	static const char *const unnamed[] = { "", "x", NULL };
	struct cordon_run_options request = { .size = sizeof(request) };
	cordon_result *result = NULL;
	char **argv = NULL;

	CHECK_INT(cordon_request_argv(NULL, &request, &argv, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_run(NULL, &request, &result, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_run(NULL, NULL, &result, NULL), -CORDON_E_ARGUMENT);
	request.command = none;
	CHECK_INT(cordon_request_argv(NULL, &request, &argv, NULL), -CORDON_E_ARGUMENT);
	request.command = unnamed;
	CHECK_INT(cordon_request_argv(NULL, &request, &argv, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_request_argv(NULL, &request, NULL, NULL), -CORDON_E_ARGUMENT);
	CHECK(argv == NULL && result == NULL);
	cordon_argv_free(NULL);
	cordon_result_free(NULL);
	cordon_free(NULL);
}

/* A program that writes its words down stands for cordon. */
TEST(the_words_arrive_as_they_are)
{
	static const char *const command[] = {
		"printf", "%s\n", "a\nb", "", "$HOME 'x' \"y\"", NULL
	};
	struct cordon_run_options request = { .size = sizeof(request),
					      .command = command,
					      .binary = "./fake" };
	char recorded[256] = "";
	char **argv = NULL;
	FILE *file;
	pid_t pid;
	int status = -1;

	scratch_put("fake", "#!/bin/sh\nprintf '<%s>' \"$@\" >recorded\n");
	REQUIRE(chmod("fake", 0755) == 0);
	REQUIRE(cordon_request_argv(NULL, &request, &argv, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(99);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_INT(status, 0);
	file = fopen("recorded", "r");
	REQUIRE(file);
	CHECK(fread(recorded, 1, sizeof(recorded) - 1, file) > 0);
	CHECK(fclose(file) == 0);
	CHECK_STR(recorded, "<run><--><printf><%s\n><a\nb><><$HOME 'x' \"y\">");
	cordon_argv_free(argv);
}

/* ---- Defaults ------------------------------------------------------------------------------- */

TEST(a_handle_holds_defaults_and_a_request_comes_before_them)
{
	char directory[] = "there";
	char workspace[] = "ws";
	char word[] = "a.b=1";
	const char *overrides[] = { word };
	struct cordon_load_options load = { .size = sizeof(load),
					    .directory = directory,
					    .workspace = workspace,
					    .profile = "dev",
					    .network = "off",
					    .overrides = overrides,
					    .override_count = 1 };
	struct cordon_run_options defaults = {
		.size = sizeof(defaults), .load = &load, .backend = "native", .timeout_ms = 70
	};
	struct cordon_load_options own = { .size = sizeof(own), .mode = "read-only" };
	struct cordon_run_options request = { .size = sizeof(request), .command = list_command };
	cordon *handle = NULL;

	REQUIRE(cordon_new(&defaults, &handle, NULL) == 0);
	/* Copied: what it was made from may go. */
	memset(directory, 'x', sizeof(directory) - 1);
	memset(workspace, 'x', sizeof(workspace) - 1);
	memset(word, 'x', sizeof(word) - 1);
	memset(&load, 0xff, sizeof(load));
	memset(&defaults, 0xff, sizeof(defaults));
	CHECK_STR(words_of(handle, &request),
		  "[cordon][run][--profile][dev][--cd][there][--workspace][ws][--config][a.b=1][--"
		  "network][off]"
		  "[--backend][native][--timeout][70ms][--][ls][-l][--][a b]");
	request.load = &own;
	request.sandbox = "forbid";
	request.timeout_ms = 9;
	CHECK_STR(
		words_of(handle, &request),
		"[cordon][run][--mode][read-only][--cd][there][--workspace][ws][--config][a.b=1][--"
		"network][off]"
		"[--sandbox][forbid][--timeout][9ms][--][ls][-l][--][a b]");
	cordon_free(handle);
	CHECK_INT(cordon_new(NULL, NULL, NULL), -CORDON_E_ARGUMENT);
	REQUIRE(cordon_new(NULL, &handle, NULL) == 0);
	cordon_free(handle);
}

TEST(the_directory_is_the_requests_or_the_handles_or_the_process_own)
{
	struct cordon_load_options load = { .size = sizeof(load), .directory = "of_handle" };
	struct cordon_run_options defaults = { .size = sizeof(defaults), .load = &load };
	const char *const expected[] = { "of_request", "of_handle", "" };
	struct ask ask;
	cordon *handle = NULL;

	REQUIRE(mkdir("of_handle", 0700) == 0 && mkdir("of_request", 0700) == 0);
	REQUIRE(cordon_new(&defaults, &handle, NULL) == 0);
	ask_script(&ask, "none", "pwd; echo $PWD");
	for (int i = 0; i < 3; i++) {
		char said[2 * sizeof(scratch_top) + 64];
		cordon_result *result = NULL;

		ask.load.directory = i == 0 ? "of_request" : NULL;
		REQUIRE(cordon_run(i < 2 ? handle : NULL, &ask.run, &result, NULL) == 0);
		(void)snprintf(said, sizeof(said), "%s%s%s\n%s%s%s\n", scratch_top,
			       expected[i][0] ? "/" : "", expected[i], scratch_top,
			       expected[i][0] ? "/" : "", expected[i]);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), said);
		cordon_result_free(result);
	}
	cordon_free(handle);
}

TEST(structs_of_other_versions_are_taken_or_refused)
{
	struct {
		struct cordon_run_options known;
		uint64_t unknown[2];
	} newer = { .known = { .size = sizeof(newer), .command = list_command } };
	struct cordon_run_options older = { .size = offsetof(struct cordon_run_options, platform),
					    .command = list_command,
					    .platform = "nonsense" };

	CHECK_STR(words_of(NULL, &older), "[cordon][run][--][ls][-l][--][a b]");
	CHECK_STR(words_of(NULL, &newer.known), "[cordon][run][--][ls][-l][--][a b]");
	newer.unknown[1] = 1;
	CHECK(strstr(words_of(NULL, &newer.known), "install a newer one") != NULL);
	older.size = 9;
	CHECK(strstr(words_of(NULL, &older), "cordon_run_options") != NULL);
}

TEST(a_shell_always_has_a_sandbox)
{
	static const char *const script[] = { "x", "-c", "echo $0 $SHELL", NULL };
	struct ask ask;
	cordon_result *result = NULL;
	const char *said;

	ask_script(&ask, "native", "");
	ask.run.command = script;
	ask.run.flags |= CORDON_RUN_SHELL;
	REQUIRE(cordon_run(NULL, &ask.run, &result, NULL) == 0);
	said = cordon_result_output(result, CORDON_STREAM_STDOUT, NULL);
	CHECK(said[0] == '/' && strchr(said, ' ') != NULL);
	cordon_result_free(result);
	ask.load.system_directory = NULL;
	CHECK(strstr(words_of(NULL, &ask.run), "CORDON_RUN_SHELL") != NULL);
	ask.load.system_directory = "/nonexistent";
	ask.run.backend = "none";
	CHECK_INT(cordon_run(NULL, &ask.run, &result, NULL), -CORDON_E_WEAKER);
	ask.run.backend = NULL;
	ask.run.sandbox = "forbid";
	CHECK_INT(cordon_run(NULL, &ask.run, &result, NULL), -CORDON_E_WEAKER);
	ask.run.sandbox = NULL;
	ask.load.mode = "danger-full-access";
	CHECK_INT(cordon_run(NULL, &ask.run, &result, NULL), -CORDON_E_WEAKER);
}

/* ---- Environment (P21, P22) ----------------------------------------------------------------- */

static const char *output_of(const struct ask *ask)
{
	static char kept[1024];
	cordon_result *result = run_it(ask);

	(void)snprintf(kept, sizeof(kept), "%s",
		       result ? cordon_result_output(result, CORDON_STREAM_STDOUT, NULL) : "?");
	cordon_result_free(result);
	return kept;
}

TEST(secrets_stay_out_of_the_environment)
{
	static const char *const passed[] = { "A_TOKEN", "NEW=1", NULL };

	for (size_t i = 0; both_backends[i]; i++) {
		struct ask ask;
		cordon_result *result;
		const char *json;

		ask_script(&ask, both_backends[i], "echo \"$A_TOKEN.$PLAIN.$NEW\"");
		result = run_it(&ask);
		REQUIRE(result);
		CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), ".kept.\n");
		json = cordon_report_json(cordon_result_report(result));
		CHECK(strstr(json, "\"withheld\": 1") && strstr(json, "\"A_TOKEN\""));
		CHECK(!strstr(json, "hunter2"));
		cordon_result_free(result);
		ask.run.set_environment = passed;
		CHECK_STR(output_of(&ask), "hunter2.kept.1\n");
	}
}

TEST(marks_tell_how_it_is_sandboxed)
{
	struct ask ask;

	ask_script(&ask, "native",
		   "echo $CORDON_SANDBOX $CORDON_SANDBOX_NETWORK_DISABLED "
		   "$CODEX_SANDBOX_NETWORK_DISABLED");
	CHECK_STR(output_of(&ask), "native 1 1\n");
	ask.load.network = "full";
	CHECK_STR(output_of(&ask), "native\n");
	ask.run.backend = "none";
	CHECK_STR(output_of(&ask), "none\n");
}

TEST(marks_can_not_be_forged)
{
	static const char *const base[] = { "CORDON_SANDBOX=native", "CORDON_SANDBOX_LOST=x",
					    "PATH=/usr/bin:/bin", NULL };
	static const char *const set[] = { "CORDON_SANDBOX=native", NULL };
	static const char *const empty[] = { "=x", NULL };
	struct ask ask;

	ask_script(&ask, "none", "echo $CORDON_SANDBOX $CORDON_SANDBOX_LOST");
	ask.run.environment = base;
	CHECK_STR(output_of(&ask), "none\n");
	ask.run.set_environment = set;
	CHECK_INT(refusal(&ask, "'CORDON_SANDBOX' can't be set"), CORDON_E_ARGUMENT);
	ask.run.set_environment = empty;
	CHECK_INT(refusal(&ask, "names no variable"), CORDON_E_ARGUMENT);
}

TEST(the_path_of_the_command_finds_it)
{
	static const char *const base[] = { "PATH=/nonexistent:bin_dir::", NULL };
	struct ask ask;

	REQUIRE(mkdir("bin_dir", 0755) == 0);
	scratch_put("bin_dir/tool", "#!/bin/sh\necho from bin_dir\n");
	scratch_put("here", "#!/bin/sh\necho from here\n");
	REQUIRE(chmod("bin_dir/tool", 0755) == 0 && chmod("here", 0755) == 0);
	for (size_t i = 0; both_backends[i]; i++) {
		ask_script(&ask, both_backends[i], "");
		ask.run.environment = base;
		ask.words[0] = "tool";
		CHECK_STR(output_of(&ask), "from bin_dir\n");
		/* An empty component is the working directory. */
		ask.words[0] = "here";
		CHECK_STR(output_of(&ask), "from here\n");
	}
}

/* ---- Paths and the network of the call ------------------------------------------------------- */

TEST(a_call_adds_paths_to_the_profile)
{
	const char *paths[] = { "added" };
	struct ask ask;

	REQUIRE(mkdir("added", 0700) == 0);
	ask_script(&ask, "native", "echo x >added/file && echo written");
	ask.load.mode = "read-only";
	CHECK_STR(output_of(&ask), "");
	ask.load.add_write = paths;
	ask.load.add_write_count = 1;
	CHECK_STR(output_of(&ask), "written\n");
	/* Over what allows it, a deny of the same path wins. */
	ask.load.deny = paths;
	ask.load.deny_count = 1;
	ask.words[2] = "cat added/file || echo refused";
	CHECK_STR(output_of(&ask), "refused\n");
	ask.run.backend = "none";
	CHECK_STR(output_of(&ask), "x\n");
}

TEST(a_deny_that_names_nothing_sure_is_an_error)
{
	const char *paths[] = { "not/there/../x" };
	struct ask ask;

	ask_script(&ask, "native", "true");
	ask.load.deny = paths;
	ask.load.deny_count = 1;
	CHECK_INT(refusal(&ask, "--deny 'not/there/../x'"), CORDON_E_SYS);
	paths[0] = "";
	CHECK_INT(refusal(&ask, "--deny ''"), CORDON_E_ARGUMENT);
	paths[0] = NULL;
	CHECK_INT(refusal(&ask, "an item of 'deny' is NULL"), CORDON_E_ARGUMENT);
	paths[0] = "missing/is/fine";
	CHECK_INT(refusal(&ask, ""), 0);
}

TEST(the_network_is_off_managed_or_full)
{
	struct ask ask;

	ask_script(&ask, "native", "true");
	ask.load.network = "some";
	CHECK_INT(refusal(&ask, "must be off, managed or full"), CORDON_E_ARGUMENT);
}

/* ---- Wishes (P16, P17) ------------------------------------------------------------------------ */

TEST(unsandboxed_is_said_aloud)
{
	struct ask ask;
	cordon_result *result;

	ask_script(&ask, NULL, "echo $CORDON_SANDBOX");
	ask.run.sandbox = "forbid";
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(cordon_result_backend(result), "none");
	CHECK(has_warning(result, "there is no sandbox (--sandbox forbid)"));
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "none\n");
	cordon_result_free(result);
	ask.run.sandbox = NULL;
	ask.load.mode = "danger-full-access";
	result = run_it(&ask);
	REQUIRE(result);
	CHECK(has_warning(result, "':danger-full-access' has none"));
	CHECK_STR(cordon_result_backend(result), "none");
	cordon_result_free(result);
}

TEST(wishes_that_contradict_each_other_are_refused)
{
	static const char *const accept[] = { "limits", NULL };
	static const char *const wrong[] = { "limit", NULL };
	struct ask ask;

	ask_script(&ask, "none", "true");
	ask.run.sandbox = "require";
	CHECK_INT(refusal(&ask, "--sandbox require"), CORDON_E_WEAKER);
	ask.run.backend = "native";
	ask.run.sandbox = "forbid";
	CHECK_INT(refusal(&ask, "option_conflict"), CORDON_E_ARGUMENT);
	ask.run.sandbox = "maybe";
	CHECK_INT(refusal(&ask, "auto, require or forbid"), CORDON_E_ARGUMENT);
	ask.run.sandbox = "require";
	ask.run.accept_missing = accept;
	CHECK_INT(refusal(&ask, "option_conflict"), CORDON_E_ARGUMENT);
	ask.run.sandbox = NULL;
	ask.run.accept_missing = wrong;
	CHECK_INT(refusal(&ask, "did you mean 'limits'?"), CORDON_E_ARGUMENT);
	ask.run.accept_missing = NULL;
	ask.run.backend = "nativ";
	CHECK_INT(refusal(&ask, "unknown_backend"), CORDON_E_ARGUMENT);
	ask.run.backend = "seatbelt";
	CHECK_INT(refusal(&ask, "backend_unavailable"), CORDON_E_WEAKER);
	ask.run.backend = NULL;
	ask.run.platform = "macos";
	CHECK_INT(refusal(&ask, "this host runs linux"), CORDON_E_WEAKER);
	ask.run.platform = "beos";
	CHECK_INT(refusal(&ask, "there is no platform 'beos'"), CORDON_E_ARGUMENT);
	ask.run.platform = "landlock";
	ask.run.flags |= 1 << 20;
	CHECK_INT(refusal(&ask, "unknown flag"), CORDON_E_ARGUMENT);
}

TEST(a_gap_is_refused_by_name_and_may_be_accepted_by_name)
{
	static const char *const accept[] = { "limits", NULL };
	const char *overrides[] = { "permissions.dev.extends=:workspace",
				    "permissions.dev.limits.memory='1G'" };
	struct ask ask;
	cordon_result *result;

	ask_script(&ask, NULL, "echo $CORDON_SANDBOX_LOST");
	ask.load.mode = NULL;
	ask.load.profile = "dev";
	ask.load.overrides = overrides;
	ask.load.override_count = 2;
	CHECK_INT(refusal(&ask, "limits.memory is set"), CORDON_E_WEAKER);
	CHECK_INT(refusal(&ask, "systemd-run"), CORDON_E_WEAKER);
	CHECK_INT(refusal(&ask, "--accept-missing limits"), CORDON_E_WEAKER);
	CHECK_INT(refusal(&ask, "tried native"), CORDON_E_WEAKER);
	ask.run.accept_missing = accept;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "limits\n");
	CHECK(has_warning(result, "the guarantee limits is not enforced"));
	CHECK(strstr(cordon_report_json(cordon_result_report(result)), "\"lost\": [") != NULL);
	cordon_result_free(result);
}

TEST(requirements_may_forbid_to_go_without)
{
	static const char *const accept[] = { "limits", NULL };
	struct ask ask;

	REQUIRE(mkdir("system", 0700) == 0);
	scratch_put("system/requirements.toml", "allow = []\n");
	ask_script(&ask, "none", "true");
	ask.load.system_directory = "system";
	CHECK_INT(refusal(&ask, "requirements"), CORDON_E_POLICY);
	ask.run.backend = NULL;
	ask.run.accept_missing = accept;
	CHECK_INT(refusal(&ask, "requirements"), CORDON_E_POLICY);
	ask.run.accept_missing = NULL;
	CHECK_INT(refusal(&ask, ""), 0);
	scratch_put("system/requirements.toml", "allow = [\"none\"]\n");
	ask.run.backend = "none";
	CHECK_INT(refusal(&ask, ""), 0);
}

/* ---- Warnings, traces, rehearsals ---------------------------------------------------------------- */

static void count_text(void *user, const char *text)
{
	int *count = user;

	CHECK(strchr(text, '\n') == NULL);
	(*count)++;
}

TEST(warnings_and_traces_go_to_the_caller)
{
	const char *overrides[] = { "permissions.x.filesystem.\":nothing\"=read",
				    "permissions.x.filesystem.\":root\"=read" };
	struct ask ask;
	cordon_result *result;
	int warnings = 0;
	int traces = 0;

	ask_script(&ask, "none", "true");
	ask.load.mode = NULL;
	ask.load.profile = "x";
	ask.load.overrides = overrides;
	ask.load.override_count = 2;
	ask.load.on_warning = count_text;
	ask.load.user = &warnings;
	ask.run.on_trace = count_text;
	ask.run.run_user = &traces;
	result = run_it(&ask);
	REQUIRE(result);
	/* One of loading, one of running; both are in the result as well. */
	CHECK_INT(warnings, 2);
	CHECK_INT(cordon_result_warning_count(result), 2);
	CHECK(cordon_result_warning(result, 2) == NULL);
	CHECK_INT(traces, 0);
	cordon_result_free(result);
	ask.run.flags |= CORDON_RUN_TRACE;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK(traces >= 3);
	cordon_result_free(result);
}

TEST(a_rehearsal_runs_nothing)
{
	struct ask ask;
	cordon_report *report = NULL;

	ask_script(&ask, NULL, "touch rehearsed");
	REQUIRE(cordon_dry_run(NULL, &ask.run, &report, NULL) == 0);
	CHECK(strstr(cordon_report_json(report), "\"steps\": [") != NULL);
	CHECK(strstr(cordon_report_json(report), "\"backend\": \"native\"") != NULL);
	CHECK(strstr(cordon_report_text(report, 0), "touch rehearsed") != NULL);
	CHECK(access("rehearsed", F_OK) < 0);
	cordon_report_free(report);
	CHECK_STR(output_of(&ask), "");
	CHECK(access("rehearsed", F_OK) == 0);
	ask.run.backend = "nativ";
	CHECK_INT(cordon_dry_run(NULL, &ask.run, &report, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_dry_run(NULL, &ask.run, NULL, NULL), -CORDON_E_ARGUMENT);
}

TEST(the_report_tells_of_the_run)
{
	static const char *const keys[] = {
		"version",   "command",	    "directory",    "profile",	    "backend",
		"sandboxed", "guarantees",  "network",	    "environment",  "placeholders",
		"protected", "masked",	    "executed",	    "status",	    "signal",
		"timed_out", "cancelled",   "limit",	    "duration_ms",  "cpu_ms",
		"watch",     "max_rss_kib", "landlock_abi", "denial_count", "denials",
		"git",	     "warnings",
	};
	cordon_result *result = run_script("native", "mkdir -p sub && cd sub && "
						     "mkdir .git && exit 7");
	cordon_report *report;

	REQUIRE(result);
	report = cordon_result_report(result);
	CHECK(report && report == cordon_result_report(result));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char key[40];

		(void)snprintf(key, sizeof(key), "\n  \"%s\": ", keys[i]);
		if (!strstr(cordon_report_json(report), key))
			printf("# no %s\n", keys[i]);
		CHECK(strstr(cordon_report_json(report), key) != NULL);
	}
	CHECK(strstr(cordon_report_json(report), "\"status\": 7") != NULL);
	/* P9: a repository that the run made is named. */
	CHECK(strstr(cordon_report_json(report), "/sub/.git\"") != NULL);
	CHECK(strstr(cordon_report_text(report, 0), "/sub/.git") != NULL);
	CHECK_STR(cordon_report_text(report, CORDON_TEXT_BRIEF), "7\n");
	cordon_result_free(result);
}

/* The program itself takes the words that stand for a request. */
TEST(cordon_understands_its_own_words)
{
	static const char *const command[] = { "sh", "-c", "echo $SET >out/said; exit 7", NULL };
	static const char *const writes[] = { "out" };
	static const char *const set[] = { "SET=x y", NULL };
	static const char *const accept[] = { "limits", NULL };
	const char *overrides[] = { "permissions.dev.extends=:read-only",
				    "permissions.dev.limits.memory=1GB" };
	struct cordon_load_options load = { .size = sizeof(load),
					    .directory = ".",
					    .profile = "dev",
					    .overrides = overrides,
					    .override_count = 2,
					    .add_write = writes,
					    .add_write_count = 1,
					    .network = "off" };
	struct cordon_run_options request = { .size = sizeof(request),
					      .load = &load,
					      .command = command,
					      .platform = "linux",
					      .backend = "native",
					      .set_environment = set,
					      .timeout_ms = 20000,
					      .flags = CORDON_RUN_QUIET,
					      .accept_missing = accept,
					      .binary = getenv("CORDON") };
	char **argv = NULL;
	char said[16] = "";
	FILE *file;
	pid_t pid;
	int status = -1;

	if (!request.binary)
		SKIP("CORDON does not name the program");
	REQUIRE(mkdir("out", 0700) == 0);
	REQUIRE(cordon_request_argv(NULL, &request, &argv, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(99);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 7);
	file = fopen("out/said", "r");
	REQUIRE(file);
	CHECK(fgets(said, sizeof(said), file) != NULL);
	CHECK_STR(said, "x y\n");
	CHECK(fclose(file) == 0);
	cordon_argv_free(argv);
}

/* ---- A loaded policy ------------------------------------------------------------------------- */

static cordon_policy *load_policy(const struct ask *ask)
{
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;

	if (cordon_policy_load(&ask->load, &policy, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
	}
	return policy;
}

/* The request with the policy in place of what it was loaded from. */
static void hand_over(struct ask *ask, const cordon_policy *policy)
{
	ask->load = (struct cordon_load_options){ .size = sizeof(ask->load) };
	ask->run.policy = policy;
}

TEST(a_loaded_policy_allows_and_denies_as_if_loaded_again)
{
	static const char *const denied[] = { "denied" };
	static const char script[] =
		"echo x >made && cat made; cat denied; cat later || echo refused";
	static const char *const overrides[] = {
		"permissions.p.extends=\":workspace\"",
		"permissions.p.filesystem={\":workspace_roots\" = { \"*.late\" = \"deny\" }}"
	};
	struct ask ask;
	cordon_policy *policy;
	cordon_result *again;
	cordon_result *loaded;

	scratch_put("denied", "secret");
	scratch_put("later", "x");
	ask_script(&ask, "native", script);
	ask.load.deny = denied;
	ask.load.deny_count = 1;
	policy = load_policy(&ask);
	REQUIRE(policy);
	again = run_it(&ask);
	hand_over(&ask, policy);
	loaded = run_it(&ask);
	cordon_policy_free(policy);
	REQUIRE(again && loaded);
	CHECK_STR(cordon_result_output(loaded, CORDON_STREAM_STDOUT, NULL), "x\nx");
	for (uint32_t stream = 1; stream <= 2; stream++)
		CHECK_STR(cordon_result_output(loaded, stream, NULL),
			  cordon_result_output(again, stream, NULL));
	CHECK_INT(cordon_result_status(loaded), cordon_result_status(again));
	CHECK(cordon_report_json(cordon_result_report(loaded)) != NULL);
	cordon_result_free(again);
	cordon_result_free(loaded);
	/* A name that a glob denies, and that appeared after the policy was loaded. */
	ask_script(&ask, "native", "cat new.late || cat later");
	ask.load.mode = NULL;
	ask.load.mode = NULL;
	ask.load.profile = "p";
	ask.load.overrides = overrides;
	ask.load.override_count = 2;
	policy = load_policy(&ask);
	REQUIRE(policy);
	hand_over(&ask, policy);
	scratch_put("new.late", "secret");
	loaded = run_it(&ask);
	cordon_policy_free(policy);
	REQUIRE(loaded);
	CHECK_STR(cordon_result_output(loaded, CORDON_STREAM_STDOUT, NULL), "x");
	cordon_result_free(loaded);
}

TEST(a_loaded_policy_and_options_that_would_change_it_are_refused)
{
	static const char *const features[] = { "x", NULL };
	static const char *const hosts[] = { "example.org" };
	struct ask ask;
	cordon_policy *policy;
	char **argv = NULL;

	ask_script(&ask, "native", "true");
	policy = load_policy(&ask);
	REQUIRE(policy);
	ask.run.policy = policy;
	CHECK_INT(refusal(&ask, "has a loaded policy"), CORDON_E_ARGUMENT);
	hand_over(&ask, policy);
	ask.load.allow_hosts = hosts;
	ask.load.allow_host_count = 1;
	CHECK_INT(refusal(&ask, "'allow_hosts'"), CORDON_E_ARGUMENT);
	hand_over(&ask, policy);
	ask.run.enable = features;
	CHECK_INT(refusal(&ask, "'enable'"), CORDON_E_ARGUMENT);
	ask.run.enable = NULL;
	ask.load.flags = CORDON_LOAD_HOSTS_ONLY;
	CHECK_INT(refusal(&ask, "'flags'"), CORDON_E_ARGUMENT);
	ask.load.flags = 0;
	CHECK_INT(cordon_request_argv(NULL, &ask.run, &argv, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(refusal(&ask, ""), 0);
	cordon_policy_free(policy);
	ask_script(&ask, "native", "true");
	ask.load.flags = CORDON_LOAD_HOSTS_ONLY;
	policy = load_policy(&ask);
	REQUIRE(policy);
	hand_over(&ask, policy);
	CHECK_INT(refusal(&ask, "CORDON_LOAD_HOSTS_ONLY"), CORDON_E_ARGUMENT);
	cordon_policy_free(policy);
}

TEST(a_loaded_policy_whose_directory_was_replaced_is_refused)
{
	struct cordon_run_options defaults = { .size = sizeof(defaults) };
	struct ask ask;
	cordon *handle = NULL;
	cordon_policy *policy;
	cordon_result *result = NULL;
	cordon_error *error = NULL;

	REQUIRE(mkdir("place", 0700) == 0);
	ask_script(&ask, "native", "pwd");
	ask.load.directory = "place";
	policy = load_policy(&ask);
	REQUIRE(policy);
	hand_over(&ask, NULL);
	defaults.policy = policy;
	REQUIRE(cordon_new(&defaults, &handle, NULL) == 0);
	cordon_policy_free(policy); /* the handle keeps it */
	REQUIRE(cordon_run(handle, &ask.run, &result, NULL) == 0);
	CHECK(strstr(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "/place\n") != NULL);
	cordon_result_free(result);
	REQUIRE(rename("place", "moved") == 0 && mkdir("place", 0700) == 0);
	CHECK_INT(cordon_run(handle, &ask.run, &result, &error), -CORDON_E_POLICY);
	CHECK_STR(cordon_error_cause(error), "path_changed");
	cordon_error_free(error);
	cordon_free(handle);
}

/* Runs with a policy loaded while `before` was what the root "extra" is; then `after` is. */
static void check_replaced_root(const char *before, const char *after)
{
	static const char *const overrides[] = { "permissions.p.extends=\":workspace\"",
						 "permissions.p.workspace_roots.extra=true" };
	struct ask ask;
	cordon_policy *policy;

	ask_script(&ask, "native", "cat extra/secret");
	ask.load.mode = NULL;
	ask.load.profile = "p";
	ask.load.overrides = overrides;
	ask.load.override_count = 2;
	REQUIRE(!before || symlink(before, "extra") == 0);
	policy = load_policy(&ask);
	REQUIRE(policy);
	hand_over(&ask, policy);
	CHECK_INT(refusal(&ask, ""), 0);
	(void)unlink("extra");
	REQUIRE(symlink(after, "extra") == 0);
	CHECK_INT(refusal(&ask, "extra"), CORDON_E_POLICY);
	cordon_policy_free(policy);
	REQUIRE(unlink("extra") == 0);
}

TEST(a_loaded_policy_whose_other_root_was_replaced_is_refused)
{
	REQUIRE(mkdir("one", 0700) == 0 && mkdir("two", 0700) == 0 &&
		mkdir("two/.cordon", 0700) == 0);
	scratch_put("one/secret", "x");
	scratch_put("two/secret", "x");
	scratch_put("two/.cordon/config.toml", "[filesystem]\n\"secret\" = \"deny\"\n");
	check_replaced_root("one", "two");
	check_replaced_root(NULL, "two");
}
