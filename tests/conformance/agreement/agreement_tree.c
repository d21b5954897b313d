/* SPDX-License-Identifier: MIT */
/* Random trees of real files; see agreement.h. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agreement.h"
#include "base/path.h"

enum {
	TREE_BYTES = 64 << 20,
	MAX_DEPTH = 5,
	MAX_MADE = 130,
	SOMEBODY = 61000, /* and some more: a user of its own has its own limits */
	SOMEBODIES = 4000,
};

/* ".env" and "*.key" are what globs speak of, "mine" what is protected, the rest git's and ours. */
static const char *const names[] = { "a",    "b",      "c",	"docs",	      "src",	  ".env",
				     "mine", "README", "x.key", "with space", "\xff\xfe", "refs" };
static const char *const absent[] = { "new",	".git",	     ".codex", ".agents", ".cordon",
				      ".env",	"mine",	     "docs",   "refs",	  "objects",
				      "HEAD",	"commondir", "a",      "hooks",	  "config.worktree",
				      "gitdir", "x.key" };

uint64_t tree_random(struct tree *t)
{
	uint64_t z = t->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

bool tree_chance(struct tree *t, unsigned one_in)
{
	return tree_random(t) % one_in == 0;
}

size_t tree_below(struct tree *t, size_t limit)
{
	return (size_t)(tree_random(t) % limit);
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(99);
}

static struct str join(struct tree *t, struct str dir, const char *name)
{
	struct err e = ERR_INIT;
	struct str path;

	if (path_join(&t->a, dir, str_of(name), &path, &e) < 0)
		fail("memory");
	return path;
}

struct str tree_path(struct tree *t, const char *name)
{
	return join(t, t->top, name);
}

static struct spot *add_spot(struct tree *t, char kind, struct str path)
{
	struct err e = ERR_INIT;
	struct spot *spot = VEC_PUSH(&t->a, &t->spots, &e);

	if (!spot)
		fail("memory");
	*spot = (struct spot){ .kind = kind, .path = path, .target = STR_EMPTY };
	return spot;
}

static bool is_there(struct str path)
{
	struct stat st;

	return lstat(path.p, &st) == 0;
}

/* ---- Making ------------------------------------------------------------------- */

static void give(struct tree *t, struct str path, mode_t mode)
{
	if (t->uid != geteuid() && lchown(path.p, t->uid, t->uid) < 0)
		fail(path.p);
	if (mode && chmod(path.p, mode) < 0)
		fail(path.p);
	t->made++;
}

static struct str make_dir(struct tree *t, struct str dir, const char *name)
{
	struct str path = join(t, dir, name);

	if (mkdir(path.p, 0777) < 0)
		fail(path.p);
	give(t, path, 0777);
	add_spot(t, KIND_DIR, path);
	return path;
}

static void make_fifo(struct tree *t, struct str dir, const char *name)
{
	struct str path = join(t, dir, name);

	if (mkfifo(path.p, 0666) < 0)
		fail(path.p);
	give(t, path, 0666);
	add_spot(t, KIND_OTHER, path);
}

/* A file that holds `text`; NULL: its own path. */
static struct str make_file(struct tree *t, struct str dir, const char *name, const char *text)
{
	struct str path = join(t, dir, name);
	FILE *f = fopen(path.p, "w");

	if (!f || fputs(text ? text : path.p, f) < 0 || fclose(f) != 0)
		fail(path.p);
	give(t, path, 0666);
	add_spot(t, text ? KIND_OTHER : KIND_FILE, path);
	return path;
}

static void make_link(struct tree *t, struct str dir, const char *name, const char *text)
{
	struct str path = join(t, dir, name);

	if (symlink(text, path.p) < 0)
		fail(path.p);
	give(t, path, 0);
	add_spot(t, KIND_LINK, path);
}

/*
 * Follows `rest` from the canonical directory `at` as the kernel would and notes
 * the links; false for what is missing or a loop.
 */
static bool follow(struct tree *t, struct spot *spot, struct str at, struct str rest,
		   struct str *out, int *left)
{
	struct err e = ERR_INIT;
	struct str name;
	size_t pos = 0;

	while (path_next(rest, &pos, &name)) {
		struct str next, copy;
		char text[PATH_MAX_BYTES];
		ssize_t n;

		if (str_is(name, ".."))
			at = path_parent(at);
		if (str_is(name, ".") || str_is(name, ".."))
			continue;
		if (arena_copy(&t->a, name, &copy, &e) < 0)
			fail("memory");
		next = join(t, at, copy.p);
		if (!is_there(next))
			return false;
		n = readlink(next.p, text, sizeof(text));
		if (n > 0) {
			struct str *met = VEC_PUSH(&t->a, &spot->others, &e);

			if (!met ||
			    arena_copy(&t->a, (struct str){ text, (size_t)n }, &copy, &e) < 0)
				fail("memory");
			*met = next;
			if (--*left < 0 ||
			    !follow(t, spot, text[0] == '/' ? STR("/") : at, copy, &next, left))
				return false;
		}
		at = next;
	}
	*out = at;
	return true;
}

static void find_targets(struct tree *t)
{
	for (size_t i = 0; i < t->spots.count; i++) {
		struct spot *spot = &t->spots.items[i];
		int left = 40;

		if (spot->kind == KIND_LINK &&
		    !follow(t, spot, STR("/"), spot->path, &spot->target, &left))
			spot->target = STR_EMPTY;
	}
}

static struct str make_git_dir(struct tree *t, struct str dir, const char *name)
{
	struct str git = make_dir(t, dir, name);
	struct str objects = make_dir(t, git, "objects");
	struct str info = make_dir(t, objects, "info");

	make_file(t, git, "HEAD", "ref: refs/heads/main\n");
	make_file(t, git, "config", "[core]\n\tbare = false\n");
	make_file(t, make_dir(t, git, "hooks"), "pre-commit", "#!/bin/sh\n");
	make_dir(t, make_dir(t, git, "refs"), "heads");
	if (tree_chance(t, 2))
		make_file(t, info, "alternates", "\n");
	if (tree_chance(t, 2))
		make_file(t, git, "index", NULL);
	return git;
}

static void make_pointer(struct tree *t, struct str dir, struct str git)
{
	char text[PATH_MAX_BYTES + 20];

	(void)snprintf(text, sizeof(text), "gitdir: %s\n", git.p);
	make_file(t, dir, ".git", text);
}

static void make_submodule(struct tree *t, struct str worktree, struct str git)
{
	struct str own = make_git_dir(t, make_dir(t, git, "modules"), "sub");

	make_pointer(t, make_dir(t, worktree, "sub"), own);
}

static void make_worktree(struct tree *t, struct str elsewhere, struct str git)
{
	struct str own = make_dir(t, make_dir(t, git, "worktrees"), "linked");
	struct str linked = make_dir(t, elsewhere, "linked");
	char text[PATH_MAX_BYTES + 20];

	(void)snprintf(text, sizeof(text), "%s/.git\n", linked.p);
	make_file(t, own, "gitdir", text);
	make_file(t, own, "commondir", "../..\n");
	make_file(t, own, "HEAD", "ref: refs/heads/linked\n");
	make_pointer(t, linked, own);
}

/*
 * A `.git` for a directory that has none: a repository, or a pointer or a link to
 * one that lies elsewhere; sometimes with a submodule or a linked worktree.
 */
static void make_repository(struct tree *t, struct str dir, struct str elsewhere)
{
	size_t n = tree_below(t, 6);
	bool is_own = n > 1;
	struct str git;
	char name[30];

	if (is_there(join(t, dir, ".git")))
		return;
	(void)snprintf(name, sizeof(name), "store%zu", tree_below(t, 1000000));
	git = make_git_dir(t, is_own ? dir : elsewhere, is_own ? ".git" : name);
	if (n == 0)
		make_pointer(t, dir, git);
	else if (n == 1)
		make_link(t, dir, ".git", git.p);
	if (tree_chance(t, 4) && !is_there(join(t, dir, "sub")))
		make_submodule(t, dir, git);
	if (tree_chance(t, 4) && !str_eq(dir, elsewhere) && !is_there(join(t, elsewhere, "linked")))
		make_worktree(t, elsewhere, git);
}

static void make_random_link(struct tree *t, struct str dir, const char *name)
{
	const struct spot *spot = &t->spots.items[tree_below(t, t->spots.count)];
	char text[PATH_MAX_BYTES + 10];

	switch (tree_below(t, 8)) {
	case 0:
		make_link(t, dir, name, "nowhere/at/all");
		return;
	case 1:
		make_link(t, dir, name, name); /* a loop */
		return;
	case 2:
		make_link(t, dir, name, "..");
		return;
	default:
		/* A glob that matches the link would deny the probe itself. */
		if (path_is_under(spot->path, tree_path(t, "bin")))
			spot = &t->spots.items[t->spots.count - 1];
		if (spot->kind == KIND_LINK && tree_chance(t, 2))
			(void)snprintf(text, sizeof(text), "%s", path_name(spot->path).p);
		else
			(void)snprintf(text, sizeof(text), "%s", spot->path.p);
		make_link(t, dir, name, text);
	}
}

static void grow(struct tree *t, struct str dir, int depth)
{
	size_t children = 2 + tree_below(t, 4);

	for (size_t i = 0; i < children && t->made < MAX_MADE; i++) {
		size_t n = tree_below(t, COUNT_OF(names));

		if (is_there(join(t, dir, names[n])))
			continue;
		switch (tree_below(t, 20)) {
		case 0:
		case 1:
			make_random_link(t, dir, names[n]);
			break;
		case 2:
			make_fifo(t, dir, names[n]);
			break;
		case 3:
		case 4:
		case 5:
		case 6:
		case 7:
		case 8:
			make_file(t, dir, names[n], NULL);
			break;
		default:
			if (depth == MAX_DEPTH)
				make_file(t, dir, names[n], NULL);
			else
				grow(t, make_dir(t, dir, names[n]), depth + 1);
		}
	}
	if (depth > 0 && tree_chance(t, 10) && t->made < MAX_MADE)
		make_repository(t, dir, tree_path(t, "other"));
}

/* A file system of its own, and a file that lies on another, as far as this user may. */
static void make_mounts(struct tree *t, struct str dir)
{
	struct str top, file;

	if (!t->may_mount)
		return;
	top = make_dir(t, dir, "mounted");
	if (mount("tmpfs", top.p, "tmpfs", 0, "size=1m,mode=0777") < 0)
		fail(top.p);
	grow(t, top, 3);
	file = make_file(t, top, "below", NULL);
	make_dir(t, make_dir(t, top, "deep"), "er");
	if (mount(file.p, file.p, NULL, MS_BIND, NULL) < 0)
		fail(file.p);
	make_file(t, dir, "beside", NULL);
}

static const char *const narrowing[] = {
	"[filesystem]\n':workspace_roots' = 'read'\n",
	"[filesystem]\n':workspace_roots' = { 'a' = 'read', 'b' = 'deny' }\n",
	"protect = ['src']\n[filesystem]\n':workspace_roots' = { '**/x.key' = 'deny' }\n",
};

static void make_all(struct tree *t)
{
	struct str other = make_dir(t, t->top, "other");
	struct str home = make_dir(t, t->top, "home");
	struct str ws = make_dir(t, t->top, "ws");

	make_file(t, home, "x", NULL);
	make_file(t, make_dir(t, home, ".ssh"), "id", NULL);
	grow(t, home, 4);
	make_file(t, make_dir(t, t->top, "tmp"), "x", NULL);
	grow(t, other, 1);
	if (tree_chance(t, 3))
		make_repository(t, other, home);
	if (tree_chance(t, 2))
		make_mounts(t, tree_chance(t, 2) ? ws : other);
	grow(t, ws, 0);
	grow(t, ws, 2 * (t->made > 60));
	if (!tree_chance(t, 3))
		make_repository(t, ws, other);
	if (tree_chance(t, 3))
		make_file(t, make_dir(t, ws, ".codex"), "x", NULL);
	else if (tree_chance(t, 3))
		make_link(t, ws, ".codex", other.p);
	t->is_narrowed = tree_chance(t, 4);
	if (t->is_narrowed)
		make_file(t, make_dir(t, ws, ".cordon"), "config.toml",
			  narrowing[tree_below(t, COUNT_OF(narrowing))]);
}

/* ---- What is not there, and what is not ours ---------------------------------------- */

static void add_absent(struct tree *t, struct str dir, const char *name)
{
	struct str path = join(t, dir, name);

	if (!is_there(path))
		add_spot(t, KIND_MISSING, path);
}

static void add_all_absent(struct tree *t)
{
	size_t count = t->spots.count;

	for (size_t i = 0; i < count; i++) {
		struct spot spot = t->spots.items[i];
		bool is_root = path_depth(spot.path) == path_depth(t->top) + 1;

		if (spot.kind != KIND_DIR)
			continue;
		for (size_t k = 0; k < COUNT_OF(absent); k++)
			if (is_root || tree_chance(t, 5))
				add_absent(t, spot.path, absent[k]);
	}
}

static void add_foreign(struct tree *t)
{
	static const char *const paths[] = {
		"/",	"/etc",	 "/etc/passwd", "/usr",	    "/usr/bin",
		"/var", "/home", "/tmp",	"/var/tmp", "/usr/lib"
	};

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		struct stat st;

		if (lstat(paths[i], &st) == 0 && !S_ISLNK(st.st_mode))
			add_spot(t, S_ISDIR(st.st_mode) ? KIND_DIR : KIND_OTHER, str_of(paths[i]))
				->is_foreign = true;
	}
	add_spot(t, KIND_DIR, t->top);
}

static void copy_probe(struct tree *t, const char *probe)
{
	struct str path = join(t, make_dir(t, t->top, "bin"), "probe");
	char bytes[1 << 16];
	FILE *from = fopen(probe, "r"), *to = fopen(path.p, "w");
	size_t n;

	if (!from || !to)
		fail(probe);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		if (fwrite(bytes, 1, n, to) != n)
			fail(path.p);
	(void)fclose(from);
	if (fclose(to) != 0)
		fail(path.p);
	give(t, path, 0755);
	add_spot(t, KIND_OTHER, path);
}

/* Root's mounts are made where nobody else sees them, and end with the test. */
static bool may_mount(void)
{
	static int may = -1;

	if (may < 0)
		may = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return may;
}

bool tree_make(struct tree *t, uint64_t seed, const char *probe)
{
	struct str config_dir;
	char outer[PATH_MAX_BYTES];
	mode_t mask = umask(0);
	struct err e = ERR_INIT;

	*t = (struct tree){ .a = ARENA_INIT(TREE_BYTES), .state = seed };
	t->uid = geteuid();
	if (t->uid == 0 && seed % 2)
		t->uid = SOMEBODY + (uid_t)getpid() % SOMEBODIES;
	t->is_in_tmp = seed / 2 % 2;
	t->may_mount = may_mount();
	(void)snprintf(t->outer, sizeof(t->outer), "%s/cordon-agree-XXXXXX",
		       t->is_in_tmp ? "/tmp" : "/var/tmp");
	if (!mkdtemp(t->outer) || chmod(t->outer, 0777) < 0 || !realpath(t->outer, outer) ||
	    arena_printf(&t->a, &t->top, &e, "%s/t", outer) < 0 || mkdir(t->top.p, 0777) < 0) {
		umask(mask);
		return false;
	}
	give(t, t->top, 0777);
	if (t->uid != geteuid() && lchown(t->outer, t->uid, t->uid) < 0)
		fail(t->outer);
	config_dir = make_dir(t, t->top, "conf");
	t->config = make_file(t, config_dir, "config.toml", "\n");
	copy_probe(t, probe);
	make_all(t);
	find_targets(t);
	add_all_absent(t);
	add_foreign(t);
	umask(mask);
	return true;
}

/* ---- Looking again, removing ---------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tree_remove(struct tree *t)
{
	for (size_t i = t->spots.count; t->may_mount && i-- > 0;)
		if (strcmp(path_name(t->spots.items[i].path).p, "below") == 0 ||
		    strcmp(path_name(t->spots.items[i].path).p, "mounted") == 0)
			(void)umount2(t->spots.items[i].path.p, MNT_DETACH | UMOUNT_NOFOLLOW);
	if (nftw(t->outer, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(t->outer);
	arena_done(&t->a);
}

static struct tree *looked_at; /* nftw() hands nothing on */
static size_t seen, strange;

static int look_at_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	seen++;
	for (size_t i = 0; i < looked_at->spots.count; i++)
		if (looked_at->spots.items[i].kind != KIND_MISSING &&
		    str_is(looked_at->spots.items[i].path, path))
			return 0;
	printf("# left behind: %s\n", path);
	strange++;
	return 0;
}

size_t tree_changes(struct tree *t)
{
	looked_at = t;
	seen = strange = 0;
	if (nftw(t->top.p, look_at_one, 16, FTW_PHYS) != 0)
		perror(t->top.p);
	if (seen - strange != t->made) {
		printf("# %zu names were made, %zu of them are there\n", t->made, seen - strange);
		strange++;
	}
	return strange;
}
