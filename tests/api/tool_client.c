/* SPDX-License-Identifier: MIT */
/*
 * For e2e/tools.py: calls tools. tool_client DIRECTORY PROFILE|MODE [ROOT...]; each line of its input is
 * "TOOL JSON", each line of its output the answer: "ok JSON" or "refused JSON". "!once" as a tool makes every
 * question be answered with yes, for this session. A line of the log goes to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cordon.h"

static int says_yes;

static void log_line(void *user, const char *text)
{
	(void)user;
	(void)fprintf(stderr, "log: %s\n", text);
}

static void ask(void *user, const struct cordon_ask_request *request, struct cordon_answer *answer)
{
	(void)user;
	(void)fprintf(stderr, "asked: %s %s\n", request->kind, request->subject);
	answer->decision = says_yes ? CORDON_DECISION_ALLOW : CORDON_DECISION_DENY;
	answer->scope = "run";
}

static int complain(cordon_error *error)
{
	(void)printf("error %s\n", cordon_error_json(error));
	(void)fflush(stdout);
	cordon_error_free(error);
	return 1;
}

static void call(cordon_session *session, char *line)
{
	char *blank = strchr(line, ' ');
	cordon_tool_result *result;
	cordon_error *error = NULL;

	if (blank)
		*blank = '\0';
	if (strcmp(line, "!yes") == 0 || strcmp(line, "!no") == 0) {
		says_yes = line[1] == 'y';
		(void)printf("ok {}\n");
	} else if (strcmp(line, "!add") == 0) {
		if (cordon_scope_add(session, blank + 1, &error) < 0)
			(void)complain(error);
		else
			(void)printf("ok {}\n");
	} else if (cordon_tool_call(session, line, blank ? blank + 1 : NULL, &result, &error) < 0) {
		(void)complain(error);
	} else {
		(void)printf("%s %s", cordon_tool_result_is_error(result) ? "refused" : "ok",
			     cordon_tool_result_json(result));
		cordon_tool_result_free(result);
	}
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct cordon_load_options load = { .size = sizeof(load) };
	struct cordon_run_options run = { .size = sizeof(run), .load = &load };
	struct cordon_session_options options = {
		.size = sizeof(options), .run = &run, .on_log = log_line, .on_ask = ask
	};
	static const char *const command[] = { "tools", NULL };
	cordon_session *session;
	cordon_error *error = NULL;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (argc < 3)
		return 2;
	load.directory = argv[1];
	load.config_file = argv[2];
	run.command = command;
	run.backend = getenv("TOOLS_BACKEND");
	options.roots = (const char *const *)argv + 3;
	if (cordon_session_new(&options, &session, &error) < 0)
		return complain(error);
	while ((n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		call(session, line);
	}
	free(line);
	cordon_session_free(session);
	return 0;
}
