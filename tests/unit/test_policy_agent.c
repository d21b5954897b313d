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

static const struct agent_file *find_state(const struct agent_profile *p, const char *path)
{
	for (const struct agent_file *f = p->files; f->path; f++)
		if (f->kind == AGENT_STATE && is_below(path, f->path))
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

TEST(what_an_agent_obeys_lies_in_its_state)
{
	for (size_t i = 0; i < agent_profile_count; i++) {
		const struct agent_profile *p = &agent_profiles[i];
		size_t obeyed = 0;

		for (const struct agent_file *f = p->files; f->path; f++) {
			CHECK(str_has_prefix(str_of(f->path), STR("~/.")) && f->reason[0]);
			CHECK((strstr(f->path, "/*") != NULL) == (f->kind == AGENT_EACH));
			obeyed += f->kind >= AGENT_OBEYED_DIR;
			if (f->kind != AGENT_STATE && f->kind != AGENT_READ)
				CHECK(find_state(p, f->path) != NULL);
			for (const struct agent_file *g = f + 1; g->path; g++)
				CHECK(strcmp(f->path, g->path) != 0);
		}
		CHECK(obeyed > 5);
		for (const struct agent_host *h = p->hosts; h->pattern; h++)
			CHECK(h->reason[0]);
	}
}

/* Else its own sign-in would be closed to it, or open to be written though it is more than that. */
TEST(every_secret_in_the_state_is_decided)
{
	char path[256];

	for (size_t i = 0; i < agent_profile_count; i++)
		for (size_t k = 0; places_secret_paths[k]; k++) {
			(void)snprintf(path, sizeof(path), "~/%s", places_secret_paths[k]);
			if (find_state(&agent_profiles[i], path))
				CHECK(has_path(&agent_profiles[i], str_of(path)));
		}
}

/* What stands below something that is missing would take its place. */
TEST(what_holds_something_obeyed_is_made_before)
{
	for (size_t i = 0; i < agent_profile_count; i++)
		for (const struct agent_file *f = agent_profiles[i].files; f->path; f++) {
			const struct agent_file *state = find_state(&agent_profiles[i], f->path);
			struct str above = path_parent(str_of(f->path));

			if (f->kind >= AGENT_OBEYED_DIR && state)
				CHECK(str_is(above, state->path) ||
				      has_path(&agent_profiles[i], above));
		}
}

TEST(agents_and_their_files_are_found_by_name)
{
	CHECK(agent_profile_find(STR("codex")) == agent_profile_of(STR(":agent-codex")));
	CHECK(agent_profile_find(STR("codex")) != NULL);
	CHECK(!agent_profile_find(STR("cod")) && !agent_profile_of(STR("codex")) &&
	      !agent_profile_of(STR(":agent")) && !agent_profile_of(STR(":agent-")));
	CHECK(agent_file_find(STR("~/.codex/config.toml"))->kind == AGENT_OBEYED_TEXT);
	CHECK(!agent_file_find(STR("~/.codex/config")) && !agent_file_find(STR("~/.npmrc")) &&
	      !agent_file_find(STR("/home/me/.codex/config.toml")));
}
