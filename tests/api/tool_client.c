/* SPDX-License-Identifier: MIT */
/*
 * For e2e/tools.py: calls tools. tool_client DIRECTORY PROFILE|MODE [ROOT...]; each line of its input is
 * "TOOL JSON", each line of its output the answer: "ok JSON" or "refused JSON". "!once" as a tool makes every
 * question be answered with yes, for this session or "!yes SCOPE". "!open read|write|create PATH" opens a file, writes "host"
 * at its beginning unless it is for reading, and says what it begins with; "!check PATH" is
 * cordon_scope_check(). A line of the log goes to stderr.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cordon.h"

static int says_yes;
static char scope[32] = "run";

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
	answer->scope = scope;
}

static int complain(cordon_error *error)
{
	(void)printf("error {\"cause\": \"%s\"}\n", cordon_error_cause(error));
	(void)fprintf(stderr, "error: %s\n", cordon_error_text(error));
	(void)fflush(stdout);
	cordon_error_free(error);
	return 1;
}

static void give(cordon_tool_result *result)
{
	(void)printf("%s %s", cordon_tool_result_is_error(result) ? "refused" : "ok",
		     cordon_tool_result_json(result));
	cordon_tool_result_free(result);
}

static void open_file(cordon_session *session, char *words)
{
	static const char *const ways[] = { "read", "write", "create" };
	char *path = strchr(words, ' ');
	cordon_error *error = NULL;
	char text[65] = "";
	uint32_t how = 0;
	intptr_t fd;
	ssize_t n;

	*path++ = '\0';
	while (how < 2 && strcmp(words, ways[how]) != 0)
		how++;
	if (cordon_open(session, path, how, &fd, &error) < 0) {
		(void)complain(error);
		return;
	}
	if (how != CORDON_OPEN_READ && pwrite((int)fd, "host", 4, 0) != 4)
		(void)fprintf(stderr, "can't write\n");
	n = read((int)fd, text, sizeof(text) - 1);
	(void)printf("ok {\"bytes\": %zd, \"text\": \"%.4s\", \"cloexec\": %s}\n", n, text,
		     fcntl((int)fd, F_GETFD) & FD_CLOEXEC ? "true" : "false");
	(void)close((int)fd);
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
		(void)snprintf(scope, sizeof(scope), "%s", blank ? blank + 1 : "run");
		(void)printf("ok {}\n");
	} else if (strcmp(line, "!add") == 0) {
		if (cordon_scope_add(session, blank + 1, &error) < 0)
			(void)complain(error);
		else
			(void)printf("ok {}\n");
	} else if (strcmp(line, "!open") == 0) {
		open_file(session, blank + 1);
	} else if (strcmp(line, "!check") == 0) {
		if (cordon_scope_check(session, blank + 1, &result, &error) < 0)
			(void)complain(error);
		else
			give(result);
	} else if (cordon_tool_call(session, line, blank ? blank + 1 : NULL, &result, &error) < 0) {
		(void)complain(error);
	} else {
		give(result);
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
	static const char *const read_only[] = { ".env", "deploy/keys", NULL };
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
	if (getenv("TOOLS_READ_ONLY"))
		options.read_only = read_only;
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
