/* SPDX-License-Identifier: MIT */
/* Where a command is looked for. */
#include "session/session.h"
#include "test.h"

static const char *candidates(const char *name, const char *path)
{
	static char line[512];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const char *const *list;
	size_t used = 0;

	line[0] = '\0';
	if (program_candidates(&a, name, path, &list, &e) < 0)
		return "(failed)";
	for (size_t i = 0; list[i]; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "",
					 list[i]);
	return line;
}

TEST(a_name_is_looked_for_in_the_path)
{
	CHECK_STR(candidates("ls", "/usr/bin:/bin"), "/usr/bin/ls /bin/ls");
	CHECK_STR(candidates("ls", "bin"), "bin/ls");
}

TEST(an_empty_component_is_the_working_directory)
{
	CHECK_STR(candidates("ls", ":/bin"), "ls /bin/ls");
	CHECK_STR(candidates("ls", "/bin:"), "/bin/ls ls");
	CHECK_STR(candidates("ls", "/a::/b"), "/a/ls ls /b/ls");
	CHECK_STR(candidates("ls", ""), "ls");
}

TEST(a_name_with_a_slash_is_a_file)
{
	CHECK_STR(candidates("./ls", "/bin"), "./ls");
	CHECK_STR(candidates("/bin/ls", "/usr"), "/bin/ls");
	CHECK_STR(candidates("a/", "/usr"), "a/");
}

TEST(without_a_path_there_is_a_usual_one)
{
	CHECK_STR(candidates("ls", NULL), "/usr/local/bin/ls /bin/ls /usr/bin/ls");
}
