/* SPDX-License-Identifier: MIT */
/* The agents that may run inside as a whole: what the table promises of itself. */
#include "policy/agent.h"

#include "base/path.h"
#include "policy/places.h"
#include "test.h"

static bool is_below(const char *path, const char *directory)
{
	return path_is_under(str_of(path + 1), str_of(directory + 1)) &&
	       strcmp(path, directory) != 0;
}

/* The one of that kind that the path lies in. */
static const struct agent_file *find_around(const struct agent_profile *p, const char *path,
					    enum agent_file_kind kind)
{
	for (const struct agent_file *f = p->files; f->path; f++)
		if (f->kind == kind && is_below(path, f->path))
			return f;
	return NULL;
}

static bool has_path(const struct agent_profile *p, struct str path)
{
	for (const struct agent_file *f = p->files; f->path; f++)
		if (str_is(path, f->path))
			return true;
	return false;
}

TEST(the_table_keeps_its_own_rules)
{
	for (size_t i = 0; i < agent_profile_count; i++) {
		const struct agent_profile *p = &agent_profiles[i];

		for (const struct agent_file *f = p->files; f->path; f++) {
			CHECK(str_has_prefix(str_of(f->path), STR("~/.")) && f->reason[0]);
			CHECK((strstr(f->path, "/*") != NULL) == (f->kind == AGENT_EACH));
			for (const struct agent_file *g = f + 1; g->path; g++)
				CHECK(strcmp(f->path, g->path) != 0);
		}
		for (const struct agent_host *h = p->hosts; h->pattern; h++)
			CHECK(h->reason[0]);
	}
}

/* A list of what is closed lacks the next name that an agent comes to obey. */
TEST(a_state_is_read_only_as_a_whole)
{
	for (size_t i = 0; i < agent_profile_count; i++) {
		const struct agent_profile *p = &agent_profiles[i];
		size_t states = 0;

		for (const struct agent_file *f = p->files; f->path; f++) {
			states += f->kind == AGENT_STATE;
			if (f->kind == AGENT_STATE || f->kind == AGENT_READ)
				CHECK(!agent_file_is_saved(f) &&
				      !find_around(p, f->path, AGENT_SAVED));
			if (agent_file_is_saved(f) && find_around(p, f->path, AGENT_STATE))
				CHECK(!find_around(p, f->path, AGENT_SAVED));
			/* What else is read-only narrows something that is not. */
			if (f->kind == AGENT_OBEYED || f->kind == AGENT_EACH)
				CHECK(find_around(p, f->path, AGENT_SAVED) != NULL);
		}
		CHECK(states > 0);
	}
}

/* Else its own sign-in would be closed to it, or open to be written though it is more than that. */
TEST(every_secret_in_the_state_is_decided)
{
	char path[256];

	for (size_t i = 0; i < agent_profile_count; i++)
		for (size_t k = 0; places_secret_paths[k]; k++) {
			(void)snprintf(path, sizeof(path), "~/%s", places_secret_paths[k]);
			if (find_around(&agent_profiles[i], path, AGENT_STATE))
				CHECK(has_path(&agent_profiles[i], str_of(path)));
		}
}

/* What stands below something that is missing would take its place. */
TEST(what_holds_something_obeyed_is_made_before)
{
	for (size_t i = 0; i < agent_profile_count; i++)
		for (const struct agent_file *f = agent_profiles[i].files; f->path; f++)
			if (f->kind == AGENT_OBEYED)
				CHECK(has_path(&agent_profiles[i], path_parent(str_of(f->path))));
}

TEST(agents_and_their_files_are_found_by_name)
{
	CHECK(agent_profile_find(STR("codex")) == agent_profile_of(STR(":agent-codex")));
	CHECK(agent_profile_find(STR("codex")) != NULL);
	CHECK(!agent_profile_find(STR("cod")) && !agent_profile_of(STR("codex")) &&
	      !agent_profile_of(STR(":agent")) && !agent_profile_of(STR(":agent-")));
	CHECK(agent_file_find(STR("~/.codex/sessions"))->kind == AGENT_SAVED);
	CHECK(!agent_file_find(STR("~/.codex/config")) && !agent_file_find(STR("~/.npmrc")) &&
	      !agent_file_find(STR("/home/me/.codex/sessions")));
}

TEST(the_innermost_file_around_a_path_is_found)
{
	const struct agent_profile *gemini = agent_profile_find(STR("gemini"));

	CHECK(agent_file_around(NULL, STR(".codex"))->kind == AGENT_STATE);
	CHECK(agent_file_around(NULL, STR(".codex/rules/x"))->kind == AGENT_STATE);
	CHECK(agent_file_around(NULL, STR(".codex/sessions/a/b"))->kind == AGENT_SAVED);
	CHECK(!agent_file_around(gemini, STR(".codex/sessions")));
	CHECK(agent_file_around(gemini, STR(".cache/.gemini/tmp/one/x"))->kind == AGENT_SAVED);
	CHECK(agent_file_around(gemini, STR(".cache/.gemini/tmp/one/memory/x"))->kind ==
	      AGENT_EACH);
	CHECK(agent_file_around(gemini, STR(".cache/.gemini/tmp/bin/rg"))->kind == AGENT_OBEYED);
	CHECK(!agent_file_around(NULL, STR("")) && !agent_file_around(NULL, STR(".codexx")));
}
