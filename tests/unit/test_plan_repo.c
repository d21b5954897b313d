/* SPDX-License-Identifier: MIT */
/* The repository around the working directory (plan/repo.c). */
#include "test.h"

#include "fake_host.h"
#include "plan/repo.h"

static const char files[] =
	"d /src/repo/.git/objects\nf /src/repo/.git/HEAD\nd /src/repo/a/b/c\n"
	/* A pointer, a link, and what is no repository. */
	"f /src/repo/sub/.git = gitdir: x\nd /src/repo/sub/in\n"
	"l /src/repo/linked/.git -> /elsewhere\nd /src/repo/linked/in\n"
	"d /src/repo/empty/.git\nd /src/repo/empty/in\n"
	"p /src/repo/held/.git\nd /src/repo/held/in\n"
	"o /src/repo/odd/.git\nd /src/repo/odd/in\n"
	/* Where anybody could have put one. */
	"s /tmp\nf /tmp/.git/HEAD\nd /tmp/x/y\nf /var/tmp/.git/HEAD\nd /var/tmp/x\n"
	"s /shared\nf /shared/.git/HEAD\nd /shared/x\n"
	"a /theirs\nf /theirs/.git/HEAD\nd /theirs/x\n"
	"d /mixed/x\na /mixed/.git\nf /mixed/.git/HEAD\n"
	"f /own/tmp/.git/HEAD\nd /own/tmp/x\nd /real\nl /tmp-link -> /real\nf /real/.git/HEAD\nd "
	"/real/x\n"
	/* Homes, and above them. */
	"f /home/me/.git/HEAD\nd /home/me/project\nf /home/.git/HEAD\nd /home/you/x\n"
	"f /home/you/.git/HEAD\nf /.git/HEAD\nd /plain/x\n";

static const struct str homes[] = { STR_INIT("/home/you") };

static struct repo found_from(const char *cwd, const char *tmpdir)
{
	static struct arena a = ARENA_INIT(1 << 20);
	struct places places = { .cwd = str_of(cwd),
				 .home = STR("/home/me"),
				 .tmpdir = str_of(tmpdir),
				 .homes = homes,
				 .home_count = 1 };
	struct repo repo = { .top = STR_EMPTY };
	struct err e = ERR_INIT;
	scoped_fake_host h;

	arena_done(&a);
	fake_host_init(&h, files);
	CHECK_INT(repo_find(&a, &h.host, &places, &repo, &e), 0);
	return repo;
}

static bool is_top(const char *cwd, const char *top)
{
	struct repo repo = found_from(cwd, "");

	return str_is(repo.top, top) && !repo.distrusted;
}

TEST(the_innermost_repository_counts)
{
	CHECK(is_top("/src/repo", "/src/repo"));
	CHECK(is_top("/src/repo/a/b/c", "/src/repo"));
	CHECK(is_top("/src/repo/.git/objects", "/src/repo"));
	CHECK(is_top("/src/repo/sub/in", "/src/repo/sub"));
	CHECK(is_top("/src/repo/linked/in", "/src/repo/linked"));
	CHECK(found_from("/src/repo/a", "").inode != 0);
}

TEST(names_that_git_would_skip_are_skipped)
{
	CHECK(is_top("/src/repo/empty/in", "/src/repo"));
	CHECK(is_top("/src/repo/held/in", "/src/repo"));
	CHECK(is_top("/src/repo/odd/in", "/src/repo"));
	CHECK(is_top("/src", ""));
	CHECK(is_top("/plain/x", ""));
}

TEST(a_home_and_what_is_above_it_are_no_top)
{
	CHECK(is_top("/home/me/project", ""));
	CHECK(is_top("/home/me", ""));
	CHECK(is_top("/home/you/x", ""));
	CHECK(is_top("/home", ""));
	CHECK(is_top("/", ""));
}

TEST(temporary_directories_are_no_top)
{
	CHECK(is_top("/tmp/x/y", ""));
	CHECK(is_top("/var/tmp/x", ""));
	CHECK(str_is(found_from("/own/tmp/x", "").top, "/own/tmp"));
	CHECK(!found_from("/own/tmp/x", "/own/tmp").top.len);
	CHECK(!found_from("/real/x", "/tmp-link").top.len);
	CHECK(found_from("/real/x", "").top.len);
}

TEST(a_git_that_others_could_have_planted_is_not_trusted)
{
	CHECK(found_from("/shared/x", "").distrusted);
	CHECK(found_from("/theirs/x", "").distrusted);
	CHECK(found_from("/mixed/x", "").distrusted);
	CHECK(!found_from("/src/repo/a", "").distrusted);
}
