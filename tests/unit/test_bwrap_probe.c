/* SPDX-License-Identifier: MIT */
/* What a bwrap can do (backend/bwrap/probe.c): recorded texts, and programs that are none. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "backend/bwrap/probe.h"
#include "bwrap_help.h"
#include "scratch.h"

static const struct bwrap_identity some = {
	.device = 1, .inode = 2, .mtime_ns = 3000000004, .bytes = 5
};

TEST(versions_with_all_that_is_needed_are_taken)
{
	for (size_t i = 0; i < COUNT_OF(bwrap_helps); i++) {
		uint32_t features = bwrap_features_parse(str_of(bwrap_helps[i].text));
		struct err e = ERR_INIT;
		int r = bwrap_features_check(features, STR("/usr/bin/bwrap"), &e);

		if ((r == 0) != bwrap_helps[i].is_enough)
			printf("# %s\n", bwrap_helps[i].version);
		CHECK((r == 0) == bwrap_helps[i].is_enough);
		if (r < 0) {
			CHECK_INT(e.code, ERR_WEAKER);
			CHECK(strstr(e.text, "'/usr/bin/bwrap'") && strstr(e.text, " --perms"));
		}
	}
}

static uint32_t features_of(const char *version)
{
	for (size_t i = 0; i < COUNT_OF(bwrap_helps); i++)
		if (strcmp(bwrap_helps[i].version, version) == 0)
			return bwrap_features_parse(str_of(bwrap_helps[i].text));
	return 0;
}

TEST(what_only_some_have_is_told_apart)
{
	const uint32_t argv0 = BWRAP_FEATURE_BIT(BWRAP_HAS_ARGV0);
	const uint32_t by_fd = BWRAP_FEATURE_BIT(BWRAP_HAS_BIND_FD);

	CHECK_INT(features_of("0.8.0") & (argv0 | by_fd), 0);
	CHECK_INT(features_of("0.8.0-2+deb12u1") & (argv0 | by_fd), by_fd);
	CHECK_INT(features_of("0.11.1") & (argv0 | by_fd), argv0 | by_fd);
}

TEST(an_option_is_one_where_it_begins_a_line)
{
	CHECK_INT(bwrap_features_parse(STR("see --args, --perms\n")), 0);
	CHECK_INT(bwrap_features_parse(STR("    --args-of-old FD\n")), 0);
	CHECK_INT(bwrap_features_parse(STR("--args")), BWRAP_FEATURE_BIT(BWRAP_HAS_ARGS));
	CHECK_INT(bwrap_features_parse(STR_EMPTY), 0);
}

/* A script is no program that can be started by descriptor, so a binary does it for it. */
static int ask(const char *script, struct err *e)
{
	static char name[] = "bwrap";
	uint32_t features = 0;
	int fd, r;

	scratch_put(name, script);
	if (chmod(name, 0755) < 0)
		return 0;
	fd = open(name, O_PATH);
	r = bwrap_ask(fd, STR("./bwrap"), &features, e);
	close(fd);
	return r;
}

static int ask_program(const char *path, struct err *e)
{
	uint32_t features = 0;
	int fd = open(path, O_PATH | O_CLOEXEC);
	int r = bwrap_ask(fd, str_of(path), &features, e);

	close(fd);
	return r;
}

TEST(what_is_none_is_refused_by_name)
{
	struct err e = ERR_INIT;

	CHECK_INT(ask_program("/bin/true", &e), -ERR_WEAKER);
	CHECK(strstr(e.text, "'/bin/true'") && strstr(e.text, "does not answer"));
	e = (struct err)ERR_INIT;
	CHECK_INT(ask("#!/bin/sh\nexec sleep 60\n", &e), -ERR_WEAKER);
	CHECK(strstr(e.text, "'./bwrap'"));
}

TEST(the_cache_is_of_one_file_and_understood_whole)
{
	const struct bwrap_identity other = {
		.device = 1, .inode = 2, .mtime_ns = 3000000005, .bytes = 5
	};
	scoped_buf text = BUF_INIT(4096);
	uint32_t features = features_of("0.11.1"), got = 0;
	struct str path = STR("/usr/bin/bwrap");

	bwrap_cache_print(path, &some, features, &text);
	CHECK(bwrap_cache_parse(buf_str(&text), path, &some, &got));
	CHECK_INT(got, features);
	CHECK(!bwrap_cache_parse(buf_str(&text), path, &other, &got));
	CHECK(!bwrap_cache_parse(buf_str(&text), STR("/usr/local/bin/bwrap"), &some, &got));
	CHECK(!bwrap_cache_parse(str_first(buf_str(&text), text.len - 1), path, &some, &got));
	buf_add_char(&text, 'x');
	CHECK(!bwrap_cache_parse(buf_str(&text), path, &some, &got));
	CHECK(!bwrap_cache_parse(STR_EMPTY, path, &some, &got));
}

TEST(a_cache_that_claims_too_little_is_none)
{
	scoped_buf text = BUF_INIT(4096);
	uint32_t got = 0;

	bwrap_cache_print(STR("/b"), &some, features_of("0.4.1"), &text);
	CHECK(!bwrap_cache_parse(buf_str(&text), STR("/b"), &some, &got));
}
