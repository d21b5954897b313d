/* SPDX-License-Identifier: MIT
 * The smallest user of an installed libcordon: a command that may not write, and doesn't. */
#include <cordon.h>
#include <stdio.h>

int main(void)
{
	const char *const command[] = { "sh", "-c", "! echo >/tmp/made-by-use-library", NULL };
	struct cordon_load_options load = { .size = sizeof(load), .mode = "read-only" };
	struct cordon_run_options request = {
		.size = sizeof(request), .load = &load, .command = command
	};
	cordon_error *error = NULL;
	cordon_result *result = NULL;
	int status = 1;

	printf("libcordon %s\n", cordon_version());
	if (cordon_run(NULL, &request, &result, &error) == 0)
		status = (int)cordon_result_status(result);
	else
		fprintf(stderr, "%s\n", cordon_error_text(error));
	cordon_result_free(result);
	cordon_error_free(error);
	return status;
}
