/* SPDX-License-Identifier: MIT */
/*
 * From a path to a descriptor, and changing a file, without a sandbox: what the tools themselves refuse, while another
 * process swaps what lies on the way. Built for each system's way (src/tools/linux/, src/tools/macos/).
 */
#include "tools/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/scratch.h"
#include "base/path.h"
#include "os/fd.h"
#include "test.h"
#include "tools/replace.h"

enum { LIMIT_BYTES = 16 << 20, TRIES = 4000, EXCHANGE = 2, PATHS = 3000 };

/* A call by itself, on a scope of one directory without a policy: what is outside of it is a violation. */
struct one_call {
	struct arena a;
	struct scope scope;
	struct call call;
	struct err e;
};

static const struct json no_arguments = { .type = JSON_OBJECT };

static bool one_begin(struct one_call *c, const char *root)
{
	c->a = (struct arena)ARENA_INIT(LIMIT_BYTES);
	c->e = (struct err)ERR_INIT;
	if (scope_init_alone(&c->a, str_of(root), &c->scope, &c->e) < 0)
		return false;
	call_init(&c->call, &c->a, &c->scope, &no_arguments);
	return true;
}

static void one_end(struct one_call *c)
{
	call_done(&c->call);
	arena_done(&c->a);
}

static const char *root_of(const char *name)
{
	static char root[PATH_MAX];
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", scratch_top, name);
	return realpath(path, root);
}

static bool holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(found, 1, sizeof(found) - 1, f) : 0;

	if (f)
		(void)fclose(f);
	return f && n == strlen(text) && strcmp(found, text) == 0;
}

/* What came of a call: 'k' fine, or the first letter of the refusal; '!' failed. */
static char outcome(const struct one_call *c, int r)
{
	return r == 0 ? 'k' : r == CALL_REFUSED ? tool_refusal_name(c->call.refusal.kind)[0] : '!';
}

static char read_it(const char *root, const char *path, char *text, size_t room)
{
	struct one_call c;
	scoped_opened o = OPENED_NONE;
	struct str content;
	char answer = '!';
	int r;

	text[0] = '\0';
	if (!one_begin(&c, root))
		return answer;
	r = open_path(&c.call, str_of(path), OPEN_READ, &o, &c.e);
	if (r == 0)
		r = open_read_all(&c.call, &o, room - 1, &content, &c.e);
	if (r == 0) {
		memcpy(text, content.p, content.len);
		text[content.len] = '\0';
	}
	answer = outcome(&c, r);
	one_end(&c);
	return answer;
}

static char write_it(const char *root, const char *path, const char *text)
{
	struct one_call c;
	char answer = '!';

	if (!one_begin(&c, root))
		return answer;
	{
		scoped_edit x = EDIT_NONE;
		int r = edit_begin(&c.call, str_of(path), STR_EMPTY, &x, &c.e);

		if (r == 0)
			r = edit_stage(&x, str_of(text), &c.e);
		if (r == 0)
			r = edit_commit(&x, &c.e);
		answer = outcome(&c, r);
	}
	one_end(&c);
	return answer;
}

/* ---- Swapped -------------------------------------------------------------------------------------- */

static pid_t swap_for_ever(const char *one, const char *other)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, EXCHANGE);
	return pid;
}

static void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* A read, a write and a new file by `inside`, while `one` and `other` change places. */
static void attack(const char *one, const char *other, const char *file, const char *new_file)
{
	char text[64];
	unsigned seen[128] = { 0 };
	pid_t swapper = swap_for_ever(one, other);

	for (int i = 0; i < TRIES; i++) {
		seen[(unsigned char)read_it(root_of("r"), file, text, sizeof(text))]++;
		if (!CHECK(strcmp(text, "outside") != 0))
			break;
		seen[(unsigned char)write_it(root_of("r"), file, "inside")]++;
		seen[(unsigned char)write_it(root_of("r"), new_file, "inside")]++;
	}
	stop(swapper);
	CHECK(holds("out/f", "outside"));
	CHECK(access("out/n", F_OK) < 0);
	CHECK(seen['k'] > 10);
	CHECK(seen['v'] > 10);
	CHECK_INT(seen['!'], 0);
	printf("# %u fine, %u violations, %u conflicts, %u not found\n", seen['k'], seen['v'],
	       seen['c'], seen['n']);
}

static bool make_trees(void)
{
	return system("rm -rf r out && mkdir -p r/d/e out/e && printf inside >r/d/f && "
		      "printf inside >r/d/e/f && printf outside >out/f && printf outside "
		      ">out/e/f") == 0;
}

TEST(a_directory_that_is_swapped_for_a_link_leads_nowhere)
{
	REQUIRE(make_trees() && symlink("../out", "r/l") == 0);
	attack("r/d", "r/l", "d/f", "d/n");
}

TEST(a_directory_further_up_that_is_swapped_for_a_link_leads_nowhere)
{
	REQUIRE(make_trees() && symlink("../out", "r/l") == 0);
	attack("r/d", "r/l", "d/e/f", "d/e/n");
	CHECK(holds("out/e/f", "outside"));
	CHECK(access("out/e/n", F_OK) < 0);
}

TEST(a_file_that_is_swapped_for_a_link_is_not_followed)
{
	REQUIRE(make_trees() && symlink("../../out/f", "r/d/l") == 0);
	attack("r/d/f", "r/d/l", "d/f", "d/f");
}

TEST(a_missing_directory_is_not_made_through_a_link_that_comes_in_its_way)
{
	REQUIRE(make_trees() && symlink("../out", "r/l") == 0);
	attack("r/d", "r/l", "d/e/f", "d/x/y/n");
	CHECK(access("out/x", F_OK) < 0);
}

/* ---- Where a path leads --------------------------------------------------------------------------------- */

static void add_random_name(char *path, size_t room, uint64_t *seed)
{
	static const char *const words[] = { "a", "b", "l0", "l1", "l2", "l3", "..", ".", "f", "" };
	size_t len = strlen(path);

	(void)snprintf(path + len, room - len, "%s%s", len ? "/" : "",
		       words[test_random(seed) % COUNT_OF(words)]);
}

static void make_random_links(uint64_t *seed)
{
	for (int i = 0; i < 4; i++) {
		char name[32], target[128] = "";

		(void)snprintf(name, sizeof(name), "w/%sl%d", test_random(seed) % 2 ? "a/" : "", i);
		if (test_random(seed) % 3 == 0)
			(void)snprintf(target, sizeof(target), "%s/w", scratch_top);
		for (uint64_t n = test_random(seed) % 3 + 1; n; n--)
			add_random_name(target, sizeof(target), seed);
		(void)!symlink(target[0] ? target : ".", name);
	}
}

/* Whatever the links are: what is there is found where the kernel finds it. */
TEST(a_path_leads_where_the_kernel_says)
{
	uint64_t seed = test_seed();
	size_t found = 0, missing = 0;

	for (size_t i = 0; i < test_cases(PATHS); i++) {
		struct one_call c;
		struct str path;
		char asked[128] = "", joined[PATH_MAX], real[PATH_MAX];
		int r;

		if (i % 50 == 0) {
			REQUIRE(system("rm -rf w && mkdir -p w/a/b/a w/b && : >w/a/f && : "
				       ">w/b/f") == 0);
			make_random_links(&seed);
		}
		for (uint64_t n = test_random(&seed) % 5 + 1; n; n--)
			add_random_name(asked, sizeof(asked), &seed);
		if (!asked[0])
			continue;
		(void)snprintf(joined, sizeof(joined), "w/%s", asked);
		REQUIRE(one_begin(&c, root_of("w")));
		r = open_find(&c.call, str_of(asked), &path, &c.e);
		if (realpath(joined, real)) {
			found++;
			CHECK_INT(r, 0);
			if (r == 0 && !CHECK(str_is(path, real)))
				printf("# '%s' is %s, not %.*s\n", asked, real, STR_ARG(path));
		} else {
			missing++;
			CHECK(r == 0 || (r == CALL_REFUSED && errno == ELOOP) ||
			      c.call.refusal.is_set);
		}
		one_end(&c);
	}
	CHECK(found > 100 && missing > 100);
}

TEST(what_a_tool_can_do_nothing_with_is_refused)
{
	char text[64];
	const char *root;

	REQUIRE(make_trees() && mkfifo("r/pipe", 0600) == 0 && symlink("x", "r/x") == 0);
	root = root_of("r");
	CHECK_INT(read_it(root, "d/f", text, sizeof(text)), 'k');
	CHECK_INT(read_it(root, "pipe", text, sizeof(text)), 'i');
	CHECK_INT(write_it(root, "pipe", "x"), 'i');
	CHECK_INT(read_it(root, "d", text, sizeof(text)), 'i');
	CHECK_INT(write_it(root, "d", "x"), 'i');
	CHECK_INT(read_it(root, "x", text, sizeof(text)), 'i');
	CHECK_INT(read_it(root, "d/none", text, sizeof(text)), 'n');
	CHECK_INT(read_it(root, "d/f/g", text, sizeof(text)), 'n');
	CHECK_INT(write_it(root, "d/f/g", "x"), 'n');
	CHECK_INT(read_it(root, "d/../d/f", text, sizeof(text)), 'k');
	CHECK_INT(read_it(root, "d/f/../f", text, sizeof(text)), 'n');
	CHECK_INT(read_it(root, "../out/f", text, sizeof(text)), 'v');
	CHECK_INT(write_it(root, "../out/f", "x"), 'v');
	CHECK_INT(write_it(root, "", "x"), 'i');
	CHECK_INT(write_it(root, "new/er/f", "x"), 'k');
	CHECK(holds("r/new/er/f", "x"));
}

/* ---- Names that fold --------------------------------------------------------------------------------------- */

/* As the worker gets it: the rules as bytes, and whether names fold. */
static enum access access_of(bool folds, const char *asked)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	scoped_buf bytes = BUF_INIT(SCOPE_MAX_BYTES);
	struct err e = ERR_INIT;
	struct rule rules[] = {
		{ .kind = RULE_ENTRY, .access = ACCESS_WRITE, .path = STR_INIT("/w") },
		{ .kind = RULE_ENTRY, .access = ACCESS_DENY, .path = STR_INIT("/w/Secret") },
		{ .kind = RULE_GLOB,
		  .access = ACCESS_DENY,
		  .path = STR_INIT("/w"),
		  .glob = STR_INIT("**/*.Key") },
	};
	struct profile profile = { .is_unsandboxed = false };
	struct policy policy = { .profile = &profile };
	struct plan plan = { .policy = &policy };
	struct scope scope = { .folds = folds }, got;

	plan.rules.items = rules;
	plan.rules.count = plan.rules.room = COUNT_OF(rules);
	scope.plan = &plan;
	for (size_t i = 0; i < COUNT_OF(rules); i++)
		rules[i].is_explicit = true;
	scope_print(&bytes, &scope);
	if (!CHECK_INT(scope_parse(&a, buf_str(&bytes), &got, &e), 0))
		return ACCESS_DENY;
	return scope_access(&got, str_of(asked));
}

TEST(where_names_fold_a_deny_counts_for_every_spelling)
{
	CHECK_INT(access_of(false, "/w/f"), ACCESS_WRITE);
	CHECK_INT(access_of(false, "/w/Secret/f"), ACCESS_DENY);
	CHECK_INT(access_of(false, "/w/secret/f"), ACCESS_WRITE);
	CHECK_INT(access_of(false, "/w/a.key"), ACCESS_WRITE);
	CHECK_INT(access_of(true, "/w/f"), ACCESS_WRITE);
	CHECK_INT(access_of(true, "/w/Secret/f"), ACCESS_DENY);
	CHECK_INT(access_of(true, "/w/secret/f"), ACCESS_DENY);
	CHECK_INT(access_of(true, "/W/\xc5\xbf"
				  "ecret"),
		  ACCESS_DENY);
	CHECK_INT(access_of(true, "/w/a.\xe2\x84\xaa"
				  "EY"),
		  ACCESS_DENY);
}
