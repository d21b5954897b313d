/* SPDX-License-Identifier: MIT */
/* What sandbox-exec is started with (backend/seatbelt/command.c). */
#include "backend/seatbelt/seatbelt.h"

#include "test.h"

enum { LIMIT_BYTES = 8 << 20 };

TEST(only_roots_own_regular_file_is_the_tool)
{
	CHECK(!seatbelt_find_fault(true, 0, 0755));
	CHECK(!seatbelt_find_fault(true, 0, 04711));
	CHECK(seatbelt_find_fault(false, 0, 0755) != NULL); /* a link, or a directory */
	CHECK(seatbelt_find_fault(true, 501, 0755) != NULL);
	CHECK(seatbelt_find_fault(true, 0, 0775) != NULL);
	CHECK(seatbelt_find_fault(true, 0, 0757) != NULL);
	CHECK(seatbelt_find_fault(true, 0, 0644) != NULL);
}

struct made {
	struct arena a;
	struct err e;
	const char *const *argv;
	int r;
};

static void make(struct made *m, const char *const *words, const char *const *environment,
		 const struct seatbelt *s)
{
	const struct launch in = { .argv = words, .environment = environment };

	*m = (struct made){ .a = ARENA_INIT(LIMIT_BYTES), .e = ERR_INIT };
	m->r = seatbelt_make_argv(&m->a, &in, s, "/bin/prog", &m->argv, &m->e);
}

static const char *const no_environment[] = { NULL };

/* No byte of a path or a word is looked at, so none can be more than itself. */
TEST(paths_and_words_go_as_they_are)
{
	static const char *const words[] = { "prog", "-D", "--", "a\"b(c);\n", NULL };
	struct seatbelt_param one = { .name = STR_INIT("P0"), .value = STR_INIT("/w/\"(x);\n=\\") };
	struct seatbelt_param other = { .name = STR_INIT("P1"), .value = STR_INIT("/w/--") };
	const struct seatbelt_param *items[] = { &one, &other };
	struct seatbelt s = { .profile = STR_INIT("(version 1)") };
	static const char *const wanted[] = { SEATBELT_TOOL,	     "-p",	   "(version 1)",
					      "-DP0=/w/\"(x);\n=\\", "-DP1=/w/--", "--",
					      "/bin/prog",	     "-D",	   "--",
					      "a\"b(c);\n" };
	struct made m;

	s.params.items = items;
	s.params.count = s.params.room = COUNT_OF(items);
	make(&m, words, no_environment, &s);
	REQUIRE(m.r == 0);
	for (size_t i = 0; i < COUNT_OF(wanted); i++)
		CHECK_STR(m.argv[i], wanted[i]);
	CHECK(m.argv[COUNT_OF(wanted)] == NULL);
	arena_done(&m.a);
}

/* SECURITY: a rule about a part of a path would be about another one. */
TEST(a_long_path_goes_whole)
{
	static const char *const words[] = { "prog", NULL };
	char path[1001], wanted[1100];
	struct seatbelt_param one = { .name = STR_INIT("P0"), .value = { path, 1000 } };
	const struct seatbelt_param *items[] = { &one };
	struct seatbelt s = { .profile = STR_INIT("(version 1)") };
	struct made m;

	memset(path, 'x', 1000);
	path[0] = '/';
	path[1000] = '\0';
	(void)snprintf(wanted, sizeof(wanted), "-DP0=%s", path);
	s.params.items = items;
	s.params.count = s.params.room = 1;
	make(&m, words, no_environment, &s);
	REQUIRE(m.r == 0);
	CHECK_STR(m.argv[3], wanted);
	arena_done(&m.a);
}

/* A word of that many bytes beside the profile, or a variable; whether it is taken. */
static bool takes(size_t bytes, bool is_variable)
{
	struct seatbelt s = { .profile = STR_INIT("(version 1)") };
	char *text = malloc(bytes + 1);
	const char *const words[] = { "prog", is_variable ? NULL : text, NULL };
	const char *const environment[] = { is_variable ? text : NULL, NULL };
	struct made m;

	if (!text)
		return false;
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	make(&m, words, environment, &s);
	if (m.r < 0)
		CHECK_INT(m.e.cause, CAUSE_BACKEND_UNSUITED);
	arena_done(&m.a);
	free(text);
	return m.r == 0;
}

TEST(what_execve_would_not_take_is_refused_before)
{
	for (int variable = 0; variable < 2; variable++) {
		CHECK(takes(1, variable));
		CHECK(takes(SEATBELT_MAX_BYTES - 200, variable));
		CHECK(!takes(SEATBELT_MAX_BYTES, variable));
		CHECK(!takes(4 << 20, variable));
	}
}
