/* SPDX-License-Identifier: MIT */
/*
 * decide COMMAND [WORD...]: runs a command that has no network but what the user allows,
 * host by host, when it is asked for.
 *
 *	cc decide.c $(pkg-config --cflags --libs cordon) -o decide
 *	./decide curl https://example.com/
 */
#include <cordon.h>

#include <stdio.h>

/* On the thread that runs it. A program with a window would return CORDON_DECISION_ASK, and
 * call cordon_decide() when the user has answered. */
static uint32_t ask_user(void *user, const struct cordon_host_request *request)
{
	char answer[16];

	(void)user;
	(void)fprintf(stderr, "decide: may %s reach %s, port %u? [y/N] ",
		      request->program ? request->program : "the command", request->host,
		      (unsigned)request->port);
	if (!fgets(answer, sizeof(answer), stdin))
		return CORDON_DECISION_DENY;
	return answer[0] == 'y' ? CORDON_DECISION_ALLOW : CORDON_DECISION_DENY;
}

int main(int argc, char **argv)
{
	struct cordon_load_options load = { .size = sizeof(load) };
	struct cordon_run_options options = { .size = sizeof(options) };
	cordon_result *result;
	cordon_error *error;
	int status;

	if (argc < 2) {
		(void)fputs("usage: decide COMMAND [WORD...]\n", stderr);
		return 2;
	}
	load.mode = "read-only";
	load.network = "managed";
	options.load = &load;
	options.command = (const char *const *)(argv + 1);
	options.decide_host = ask_user;
	options.flags = CORDON_RUN_NO_STDIN;
	if (cordon_run(NULL, &options, &result, &error) < 0) {
		(void)fprintf(stderr, "decide: %s\n", cordon_error_text(error));
		cordon_error_free(error);
		return 125;
	}
	status = cordon_result_status(result);
	cordon_result_free(result);
	return status;
}
