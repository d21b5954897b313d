/* SPDX-License-Identifier: MIT */
/* Which bwrap is trusted (backend/bwrap/find.c), on real files. */
#include "test.h"

#include <sys/stat.h>

#include "backend/bwrap/bwrap.h"
#include "base/path.h"
#include "os/program.h"
#include "plan_lists.h"
#include "scratch.h"

static char said[4096];

static void hear(void *user, const char *text)
{
	(void)user;
	snprintf(said, sizeof(said), "%s", text);
}

/* Where /var/tmp is not as usual, what lies in it is not trusted: the files are below the home directory. */
static char top[4096];

static bool make_top(void)
{
	char where[256];

	if (top[0])
		return true;
	snprintf(top, sizeof(top), "%s/.cordon-test-XXXXXX", getenv("HOME") ? getenv("HOME") : "");
	if (!mkdtemp(top)) {
		top[0] = '\0';
		return false;
	}
	return chdir(top) == 0 && !os_distrust_path(top, where, sizeof(where));
}

__attribute__((destructor)) static void remove_top(void)
{
	if (top[0] && nftw(top, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(top);
}

/* The places are the real ones; what the policy says about them is made up. */
static int find(struct world *w, const char *directory, const char *path_list,
		struct bwrap_program *out)
{
	struct launch in = { .plan = w->plan, .directory = directory, .warn = hear };

	said[0] = '\0';
	w->e = (struct err)ERR_INIT;
	return bwrap_find(&w->a, &in, path_list, out, &w->e);
}

static bool plan(struct world *w, const char *filesystem)
{
	static char text[8192];

	snprintf(text, sizeof(text), "[permissions.dev.filesystem]\n':root' = 'read'\n%s",
		 filesystem);
	w->user = text;
	w->profile = "dev";
	return world_plan(w);
}

static bool make_fake(const char *directory, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bwrap", directory);
	(void)mkdir(directory, 0755);
	scratch_put(path, "#!/bin/true\n");
	return chmod(directory, 0755) == 0 && chmod(path, mode) == 0;
}

/* "NAME1:NAME2", each below `top`, which is 0700 and this user's. */
static const char *list(const char *directories)
{
	static char text[16384];
	struct str rest = str_of(directories);
	size_t len = 0;

	while (rest.len && len < sizeof(text)) {
		struct str name = str_first(rest, str_find(rest, ':'));

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s/%.*s", len ? ":" : "",
					top, STR_ARG(name));
		rest = str_from(rest, name.len + 1);
	}
	return text;
}

/* Whether what comes before "good" on PATH is passed over, and that is said with `why`. */
static void check_passed_over(struct world *w, const char *directory, const char *directories,
			      const char *why)
{
	struct bwrap_program found = { .fd = -1 };
	int r = find(w, directory, list(directories), &found);

	if (r < 0 || !strstr(said, why))
		printf("# %s: %s, not '%s'\n", directories, r < 0 ? w->e.text : said, why);
	CHECK(r == 0 && strstr(said, "was passed over") && strstr(said, why));
	CHECK(r == 0 && str_has_suffix(found.path, STR("/good/bwrap")));
	close(found.fd);
}

TEST(without_any_it_is_said)
{
	char path[256];
	struct bwrap_program found = { .fd = -1 };
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	REQUIRE(plan(&w, ""));
	CHECK_INT(find(&w, "/repo", "/nonexistent::.:relative/bin", &found), -ERR_WEAKER);
	CHECK_INT(w.e.cause, CAUSE_BWRAP_MISSING);
	CHECK(strstr(w.e.text, "install bubblewrap"));
	REQUIRE(make_fake("fake", 0755));
	snprintf(path, sizeof(path), "%s/fake", scratch_top);
	REQUIRE(chmod(path, 0777) == 0);
	CHECK_INT(find(&w, "/repo", path, &found), -ERR_WEAKER);
	CHECK_INT(w.e.cause, CAUSE_BWRAP_UNTRUSTED);
	CHECK(strstr(w.e.text, "/fake/bwrap' was passed over"));
}

TEST(fakes_are_passed_over)
{
	char entry[4200];
	scoped_world w;

	if (!make_top())
		SKIP("nothing below the home directory can be trusted");
	snprintf(entry, sizeof(entry), "d /repo\nd %s/work\n", top);
	world_init(&w, entry, "/repo");
	REQUIRE(plan(&w, ""));
	REQUIRE(make_fake("good", 0755));
	REQUIRE(make_fake("group", 0775) && make_fake("other", 0757) &&
		make_fake("setuid", 04755) && make_fake("not-executable", 0644));
	check_passed_over(&w, "/repo", "group:good", "can be written by others");
	check_passed_over(&w, "/repo", "other:good", "can be written by others");
	check_passed_over(&w, "/repo", "setuid:good", "set-uid");
	if (geteuid() != 0)
		check_passed_over(&w, "/repo", "not-executable:good", "can't be executed");
	REQUIRE(make_fake("open", 0755) && chmod("open", 0777) == 0);
	check_passed_over(&w, "/repo", "open:good", "can be written by others");
	REQUIRE(make_fake("work", 0755));
	snprintf(entry, sizeof(entry), "%s/work", top);
	check_passed_over(&w, entry, "work:good", "in the working directory");
	snprintf(entry, sizeof(entry), "'%s/work' = 'write'\n", top);
	REQUIRE(plan(&w, entry));
	check_passed_over(&w, "/repo", "work:good", "lets the command change it");
	/* Also by a link that lies where it could be changed. */
	REQUIRE(mkdir("links", 0755) == 0 && symlink("../work/bwrap", "links/bwrap") == 0);
	check_passed_over(&w, "/repo", "links:good", "lets the command change it");
}

TEST(the_program_of_a_host_program_may_be_named_by_a_link)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	char link[4200], real[4200];
	struct str found;
	bool is_this = true;

	if (!make_top())
		SKIP("nothing below the home directory can be trusted");
	REQUIRE(make_fake("stage", 0755) && symlink("stage/bwrap", "cordon-link") == 0);
	snprintf(link, sizeof(link), "%s/cordon-link", top);
	snprintf(real, sizeof(real), "%s/stage/bwrap", top);
	REQUIRE(setenv("CORDON_PROGRAM", link, 1) == 0);
	REQUIRE(bwrap_find_cordon(&a, &found, &is_this, &e) == 0);
	CHECK(!is_this);
	CHECK_STR(found.p, real);
	REQUIRE(chmod("stage", 0777) == 0);
	CHECK_INT(bwrap_find_cordon(&a, &found, &is_this, &e), -ERR_WEAKER);
	CHECK(strstr(e.text, "can be written by others") && strstr(e.text, "/stage"));
	(void)unsetenv("CORDON_PROGRAM");
}
