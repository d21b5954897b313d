/* SPDX-License-Identifier: MIT */
/*
 * run MODE COMMAND [WORD...]: runs a command through libcordon, shows its output
 * as it comes, and says what came of it.
 *
 *	cc run.c $(pkg-config --cflags --libs cordon) -o run
 *	./run workspace-write make check
 */
#include <cordon.h>

#include <stdio.h>

static void show_output(void *user, uint32_t stream, const char *bytes, size_t length)
{
	(void)user;
	(void)fwrite(bytes, 1, length, stream == CORDON_STREAM_STDOUT ? stdout : stderr);
}

static void show_warning(void *user, const char *text)
{
	(void)user;
	(void)fprintf(stderr, "run: warning: %s\n", text);
}

int main(int argc, char **argv)
{
	struct cordon_load_options load = { .size = sizeof(load) };
	struct cordon_run_options options = { .size = sizeof(options) };
	cordon_result *result;
	cordon_error *error;
	int status;

	if (argc < 3) {
		(void)fputs("usage: run MODE COMMAND [WORD...]\n", stderr);
		return 2;
	}
	load.mode = argv[1];
	load.on_warning = show_warning;
	options.load = &load;
	options.command = (const char *const *)(argv + 2);
	options.on_output = show_output;
	options.flags = CORDON_RUN_NO_STDIN;
	options.timeout_ms = 60000;
	if (cordon_run(NULL, &options, &result, &error) < 0) {
		(void)fprintf(stderr, "run: %s\n", cordon_error_text(error));
		cordon_error_free(error);
		return 125;
	}
	status = cordon_result_status(result);
	(void)fprintf(stderr, "run: status %d, backend %s, %llu refused\n", status,
		      cordon_result_backend(result),
		      (unsigned long long)cordon_result_denial_count(result));
	cordon_result_free(result);
	return status;
}
