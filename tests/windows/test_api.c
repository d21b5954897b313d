/* SPDX-License-Identifier: MIT */
/* A program that uses the library: what a command prints and how it ends is a result. */
#include "child.h"

#include "cordon.h"

static cordon_result *run(const char *const *words, uint64_t flags, int64_t timeout_ms)
{
	const char *argv[16] = { program_of("PROBE") };
	struct cordon_run_options options = { .size = sizeof(options),
					      .command = argv,
					      .backend = "none",
					      .timeout_ms = (uint64_t)timeout_ms,
					      .flags = flags | CORDON_RUN_QUIET };
	cordon_result *result = NULL;
	cordon_error *error = NULL;

	for (size_t n = 1; words[n - 1] && n < 15; n++)
		argv[n] = words[n - 1];
	if (cordon_run(NULL, &options, &result, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
		return NULL;
	}
	return result;
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(output_is_captured_stream_by_stream)
{
	cordon_result *r = run(WORDS("say", "hello"), CORDON_RUN_CAPTURE, 0);
	size_t length = 0;

	REQUIRE(r);
	CHECK_INT(cordon_result_status(r), 0);
	CHECK(strncmp(cordon_result_output(r, 1, &length), "hello", 5) == 0);
	CHECK(strncmp(cordon_result_output(r, 2, &length), "err", 3) == 0);
	cordon_result_free(r);
}

TEST(a_lot_of_output_comes_whole)
{
	cordon_result *r = run(WORDS("many", "3000000"), CORDON_RUN_CAPTURE, 0);
	size_t length = 0;

	REQUIRE(r);
	(void)cordon_result_output(r, 1, &length);
	CHECK_INT(length, 3000000);
	cordon_result_free(r);
}

TEST(a_status_is_a_number_of_32_bits)
{
	cordon_result *r = run(WORDS("exit", "12345678"), CORDON_RUN_CAPTURE, 0);

	REQUIRE(r);
	CHECK_INT((uint32_t)cordon_result_status(r), 0x12345678);
	cordon_result_free(r);
}

TEST(a_captured_run_ends_at_its_time_limit)
{
	uint64_t begun = GetTickCount64();
	cordon_result *r = run(WORDS("sleep", "60000"), CORDON_RUN_CAPTURE, 500);

	REQUIRE(r);
	CHECK_INT(cordon_result_status(r), 124);
	CHECK(GetTickCount64() - begun < 20000);
	cordon_result_free(r);
}
