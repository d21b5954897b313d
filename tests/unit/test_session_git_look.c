/* SPDX-License-Identifier: MIT */
/* What a look after a run finds for git. Real files; git itself where it is there. */
#include <sys/stat.h>
#include <unistd.h>

#include "../support/scratch.h"
#include "session/git_index.h"
#include "session/session.h"
#include "test.h"

/* ---- The index ---------------------------------------------------------------------------- */

static int collect(void *arg, enum git_index_entry kind, struct str name, struct err *e)
{
	struct buf *out = arg;

	buf_printf(out, kind == GIT_ENTRY_LINK ? "[%.*s]" : "(%.*s)", (int)name.len, name.p);
	return buf_check(out, e);
}

static bool has_git(void)
{
	/* NOLINTNEXTLINE(cert-env33-c): a test may run a shell. */
	return system("git --version >/dev/null 2>&1") == 0;
}

static int shell(const char *script)
{
	char line[2048];

	(void)snprintf(
		line, sizeof(line),
		"export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a "
		"GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; (%s) >log 2>&1",
		script);
	/* NOLINTNEXTLINE(cert-env33-c) */
	return system(line);
}

static const char *entries_in(const char *file)
{
	static char kept[256];
	static char text[1 << 16];
	scoped_buf out = BUF_INIT(1024);
	struct err e = ERR_INIT;
	struct str shared;
	FILE *f = fopen(file, "r");
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		(void)fclose(f);
	if (git_index_look((struct str){ text, n }, collect, &out, &shared, &e) < 0)
		return "(failed)";
	(void)snprintf(kept, sizeof(kept), "%.*s%s", (int)out.len, out.p ? out.p : "",
		       shared.len ? "+" : "");
	return kept;
}

TEST(gitlinks_are_found_in_every_kind_of_index)
{
	if (!has_git())
		SKIP("no git");
	REQUIRE(shell("git init -q --object-format=sha1 one && cd one && "
		      "echo x >file && mkdir -p deep/er && echo y >deep/er/file && "
		      "git add file deep && "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,deep/link && "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,zz") == 0);
	CHECK_STR(entries_in("one/.git/index"), "[deep/link][zz]");
	REQUIRE(shell("cd one && git update-index --index-version 4") == 0);
	CHECK_STR(entries_in("one/.git/index"), "[deep/link][zz]");
	REQUIRE(shell("cd one && git update-index --index-version 2 && "
		      "git add -N log; git rm -q --cached -f log; true") == 0);
	CHECK_STR(entries_in("one/.git/index"), "[deep/link][zz]");
	/* An entry that is only intended to be there makes a version 3. */
	REQUIRE(shell("cd one && echo z >aa && git add -N aa") == 0);
	CHECK_STR(entries_in("one/.git/index"), "[deep/link][zz]");
}

TEST(gitlinks_are_found_with_longer_hashes)
{
	if (!has_git() || shell("git init -q --object-format=sha256 two") != 0)
		SKIP("no git with sha256");
	REQUIRE(shell("cd two && echo x >file && git add file && "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890123456789012345678901234,"
		      "sub/link") == 0);
	CHECK_STR(entries_in("two/.git/index"), "[sub/link]");
}

TEST(a_split_index_names_the_shared_one)
{
	if (!has_git())
		SKIP("no git");
	REQUIRE(shell("git init -q split && cd split && echo x >file && git add file && "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,link") == 0);
	CHECK_STR(entries_in("split/.git/index"), "[link]");
	REQUIRE(shell("cd split && git update-index --split-index && ls .git/sharedindex.* && "
		      "cp .git/sharedindex.* shared") == 0);
	CHECK_STR(entries_in("split/.git/index"), "+");
	CHECK_STR(entries_in("split/shared"), "[link]");
	/* One that was a file in the shared index: its name stands there. */
	REQUIRE(shell("cd split && git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,file") == 0);
	CHECK_STR(entries_in("split/.git/index"), "[]+");
	REQUIRE(shell("cd split && git update-index --no-split-index") == 0);
	CHECK_STR(entries_in("split/.git/index"), "[file][link]");
}

TEST(files_that_git_has_not_seen_are_found_in_an_index)
{
	if (!has_git())
		SKIP("no git");
	REQUIRE(shell("git init -q unseen && cd unseen && echo x >gone && echo y >kept && "
		      "git add gone kept && rm gone && "
		      "id=$(git hash-object -w kept) && "
		      "git update-index --add --cacheinfo 100644,$id,sub/new && "
		      "git update-index --add --cacheinfo 100644,$id,sub/sparse && "
		      "git update-index --skip-worktree sub/sparse") == 0);
	CHECK_STR(entries_in("unseen/.git/index"), "(sub/new)");
	REQUIRE(shell("cd unseen && git update-index --index-version 4") == 0);
	CHECK_STR(entries_in("unseen/.git/index"), "(sub/new)");
	REQUIRE(shell("rm -rf unseen") == 0);
}

TEST(an_index_that_is_none_is_refused)
{
	static char text[256] = "DIRC\0\0\0\2\0\0\0\1";
	scoped_buf out = BUF_INIT(1024);
	struct str shared;

	for (size_t n = 0; n < sizeof(text); n++) {
		struct err e = ERR_INIT;

		/* Cut anywhere, or all NUL behind its head: no name in it ever ends up as a link. */
		CHECK(git_index_look((struct str){ text, n }, collect, &out, &shared, &e) <= 0);
	}
	memset(text + 12, 0xff, sizeof(text) - 12);
	for (size_t n = 0; n < sizeof(text); n++) {
		struct err e = ERR_INIT;

		CHECK_INT(git_index_look((struct str){ text, n }, collect, &out, &shared, &e),
			  -ERR_SYNTAX);
	}
	CHECK_INT(out.len, 0);
}

/* ---- The look ------------------------------------------------------------------------------ */

static struct git_findings found;
static str_list opened; /* by grants */
static struct arena found_arena = ARENA_INIT(16 << 20);

static void look(const struct plan *plan, struct timespec since)
{
	struct err e = ERR_INIT;

	arena_done(&found_arena);
	found = (struct git_findings){ .is_incomplete = false };
	CHECK_INT(git_look(&found_arena, plan, &opened, since, &found, &e), 0);
}

static bool has_found(enum git_finding_kind kind, const char *end)
{
	for (size_t i = 0; i < found.items.count; i++)
		if (found.items.items[i].kind == kind &&
		    str_has_suffix(found.items.items[i].path, str_of(end)))
			return true;
	for (size_t i = 0; i < found.items.count; i++)
		printf("#   found %s %s\n", git_finding_name(found.items.items[i].kind),
		       found.items.items[i].path.p);
	return false;
}

/* A moment later than all that was done before it. */
static struct timespec new_moment(void)
{
	const struct timespec pause = { .tv_nsec = 30000000 };
	struct timespec now;

	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return now;
}

TEST(new_repositories_are_found_and_old_ones_are_not)
{
	struct writable_root roots[] = { { .path = { scratch_top, sizeof(scratch_top) - 1 } } };
	struct plan plan = { .roots = { .items = roots, .count = 1 } };
	struct timespec since;

	REQUIRE(shell("mkdir -p old/.git deep/a/b && mkdir -p bare_old/objects bare_old/refs && "
		      "touch bare_old/HEAD") == 0);
	since = new_moment();
	look(&plan, since);
	CHECK_INT(found.items.count, 0);
	REQUIRE(shell("mkdir deep/a/b/.git && mkdir pointer && echo 'gitdir: /x' >pointer/.git && "
		      "mkdir -p bare/objects bare/refs && touch bare/HEAD && "
		      "mkdir none && touch none/HEAD && ln -s /nonexistent linked && "
		      "mkdir by_link && ln -s /nonexistent by_link/.git") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_REPOSITORY, "/deep/a/b/.git"));
	CHECK(has_found(GIT_FOUND_REPOSITORY, "/pointer/.git"));
	CHECK(has_found(GIT_FOUND_REPOSITORY, "/by_link/.git"));
	CHECK(has_found(GIT_FOUND_BARE, "/bare"));
	CHECK_INT(found.items.count, 4);
	CHECK(!found.is_incomplete);
}

TEST(what_a_grant_has_opened_is_looked_through_as_well)
{
	char outside[sizeof(scratch_top) + 32], inside[sizeof(scratch_top) + 32];
	struct writable_root roots[] = { { .path = { inside, 0 } } };
	struct plan plan = { .roots = { .items = roots, .count = 1 } };
	struct str path;
	struct timespec since;

	REQUIRE(shell("mkdir -p granted/in root/in") == 0);
	(void)snprintf(outside, sizeof(outside), "%s/granted", scratch_top);
	(void)snprintf(inside, sizeof(inside), "%s/root", scratch_top);
	roots[0].path.len = strlen(inside);
	since = new_moment();
	REQUIRE(shell("mkdir granted/in/.git root/in/.git") == 0);
	look(&plan, since);
	CHECK_INT(found.items.count, 1);
	path = str_of(outside);
	opened = (str_list){ .items = &path, .count = 1 };
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_REPOSITORY, "/granted/in/.git"));
	CHECK_INT(found.items.count, 2);
	/* A root is looked through once. */
	path = str_of(inside);
	look(&plan, since);
	CHECK_INT(found.items.count, 1);
	opened = (str_list){ .count = 0 };
}

TEST(what_is_planted_in_a_known_repository_is_found)
{
	char git_dir[sizeof(scratch_top) + 32];
	char worktree[sizeof(scratch_top) + 32];
	struct git_dir dirs[1];
	struct plan plan = { .git_dirs = { .items = dirs, .count = 1 } };
	struct timespec since;

	if (!has_git())
		SKIP("no git");
	REQUIRE(shell("git init -q known && cd known && git commit -q --allow-empty -m x") == 0);
	(void)snprintf(git_dir, sizeof(git_dir), "%s/known/.git", scratch_top);
	(void)snprintf(worktree, sizeof(worktree), "%s/known", scratch_top);
	dirs[0] = (struct git_dir){ .path = str_of(git_dir),
				    .common_dir = str_of(git_dir),
				    .worktree = str_of(worktree) };
	since = new_moment();
	REQUIRE(shell("cd known && echo x >f && git add f && git commit -q -m y && "
		      "git checkout -q -b other") == 0);
	look(&plan, since);
	CHECK_INT(found.items.count, 0);
	REQUIRE(shell("cd known && mkdir .git/rebase-merge && echo nonsense >.git/HEAD") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_STATE, "/known/.git/rebase-merge"));
	CHECK(has_found(GIT_FOUND_HEAD, "/known/.git/HEAD"));
	REQUIRE(shell("cd known && rmdir .git/rebase-merge && echo 'ref: refs/heads/x' >.git/HEAD "
		      "&& "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,evil") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_GITLINK, "/known/evil"));
	CHECK_INT(found.items.count, 1);
	REQUIRE(shell("cd known && git update-index --split-index") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_GITLINK, "/known/evil"));
	REQUIRE(shell("cd known && git update-index --no-split-index && git rm -q --cached evil && "
		      "git update-index --split-index && "
		      "git update-index --add --cacheinfo 160000,"
		      "1234567890123456789012345678901234567890,f") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_GITLINK, "/known/.git/index"));
	CHECK_INT(found.items.count, 1);
	CHECK(!found.is_incomplete);
	REQUIRE(shell("rm known/.git/sharedindex.*") == 0);
	look(&plan, since);
	CHECK(found.is_incomplete);
	arena_done(&found_arena);
}

TEST(git_directories_made_where_git_keeps_them_are_found)
{
	char paths[2][sizeof(scratch_top) + 64];
	struct git_dir dirs[2];
	struct plan plan = { .git_dirs = { .items = dirs, .count = COUNT_OF(dirs) } };
	struct timespec since;

	REQUIRE(shell("mkdir -p keeps/modules/lib/refs keeps/modules/lib/objects && "
		      "touch keeps/modules/lib/HEAD") == 0);
	(void)snprintf(paths[0], sizeof(paths[0]), "%s/keeps", scratch_top);
	(void)snprintf(paths[1], sizeof(paths[1]), "%s/keeps/modules/lib", scratch_top);
	for (size_t i = 0; i < COUNT_OF(dirs); i++)
		dirs[i] = (struct git_dir){ str_of(paths[i]), str_of(paths[i]), STR_EMPTY, false };
	since = new_moment();
	REQUIRE(shell("touch keeps/modules/lib/index keeps/modules/lib/refs/x; mkdir keeps/logs;"
		      "touch keeps/modules/none") == 0);
	look(&plan, since);
	CHECK_INT(found.items.count, 0);
	REQUIRE(shell("mkdir -p keeps/modules/a/b/refs keeps/modules/a/b/objects keeps/worktrees/w "
		      "keeps/modules/lib/modules/c && touch keeps/modules/a/b/HEAD && "
		      "cd keeps && touch worktrees/w/HEAD worktrees/w/commondir "
		      "modules/lib/modules/c/HEAD modules/lib/modules/c/commondir") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_BARE, "/keeps/modules/a/b"));
	CHECK(has_found(GIT_FOUND_BARE, "/keeps/worktrees/w"));
	CHECK(has_found(GIT_FOUND_BARE, "/keeps/modules/lib/modules/c"));
	CHECK_INT(found.items.count, 3);
	arena_done(&found_arena);
}

static size_t count_kind(enum git_finding_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < found.items.count; i++)
		count += found.items.items[i].kind == kind;
	return count;
}

TEST(what_git_obeys_is_compared_where_nothing_protected_it)
{
	struct writable_root roots[] = { { .path = { scratch_top, sizeof(scratch_top) - 1 } } };
	struct plan plan = { .roots = { .items = roots, .count = 1 } };
	struct timespec since;

	REQUIRE(shell("for d in far/a/.git far/bare far/a/.git/modules/m; do mkdir -p "
		      "$d/objects/info "
		      "$d/refs $d/hooks; touch $d/HEAD $d/config $d/hooks/pre-commit; done") == 0);
	since = new_moment();
	REQUIRE(shell("touch far/a/file far/a/.git/index.lock far/a/.git/refs/x "
		      "far/a/.git/objects/o") == 0);
	look(&plan, since);
	CHECK_INT(count_kind(GIT_FOUND_PART), 0);
	/* Written over, so that no directory changes. */
	since = new_moment();
	REQUIRE(shell("echo evil >far/a/.git/hooks/pre-commit; echo evil >>far/a/.git/config;"
		      "echo /x >far/bare/objects/info/alternates; echo evil >far/bare/config;"
		      "echo evil >far/a/.git/modules/m/config") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_PART, "/far/a/.git/hooks/pre-commit"));
	CHECK(has_found(GIT_FOUND_PART, "/far/a/.git/config"));
	CHECK(has_found(GIT_FOUND_PART, "/far/a/.git/modules/m/config"));
	CHECK(has_found(GIT_FOUND_PART, "/far/bare/config"));
	CHECK(has_found(GIT_FOUND_PART, "/far/bare/objects/info/alternates"));
	CHECK_INT(found.items.count, 5);
	since = new_moment();
	REQUIRE(shell("touch far/a/.git/hooks/post-commit; touch far/bare/commondir") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_PART, "/far/a/.git/hooks"));
	CHECK(has_found(GIT_FOUND_PART, "/far/bare/commondir"));
	CHECK(has_found(GIT_FOUND_BARE, "/far/bare"));
	REQUIRE(shell("rm -rf far") == 0);
	arena_done(&found_arena);
}

TEST(a_protected_nested_repository_is_compared_too)
{
	char path[sizeof(scratch_top) + 64];
	struct writable_root roots[] = { { .path = { scratch_top, sizeof(scratch_top) - 1 } } };
	struct git_dir dirs[1];
	struct plan plan = { .roots = { .items = roots, .count = 1 },
			     .git_dirs = { .items = dirs, .count = 1 } };
	struct timespec since;

	REQUIRE(shell("mkdir -p near/.git/objects near/.git/refs near/.git/hooks; "
		      "echo 'ref: refs/heads/main' >near/.git/HEAD; touch near/.git/config") == 0);
	(void)snprintf(path, sizeof(path), "%s/near/.git", scratch_top);
	dirs[0] = (struct git_dir){ str_of(path), str_of(path), STR_EMPTY, true };
	since = new_moment();
	REQUIRE(shell("touch near/.git/index near/.git/refs/x") == 0);
	look(&plan, since);
	CHECK_INT(found.items.count, 0);
	REQUIRE(shell("echo x >near/.git/new && mv near/.git/new near/.git/config") == 0);
	look(&plan, since);
	CHECK(has_found(GIT_FOUND_PART, "/near/.git/config"));
	CHECK_INT(found.items.count, 1);
	REQUIRE(shell("rm -rf near") == 0);
	arena_done(&found_arena);
}

TEST(what_the_run_closed_is_said_and_the_rest_is_looked_at)
{
	struct writable_root roots[] = { { .path = { scratch_top, sizeof(scratch_top) - 1 } } };
	struct plan plan = { .roots = { .items = roots, .count = 1 } };
	struct timespec since = new_moment();

	if (geteuid() == 0)
		SKIP("nothing is closed to root");
	REQUIRE(shell("mkdir -p shut/a/.git open/b/c/.git && chmod 0 shut") == 0);
	look(&plan, since);
	CHECK(found.is_incomplete);
	CHECK(has_found(GIT_FOUND_REPOSITORY, "/open/b/c/.git"));
	REQUIRE(shell("chmod 700 shut; rm -rf shut open") == 0);
	arena_done(&found_arena);
}
