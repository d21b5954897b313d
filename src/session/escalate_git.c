/* SPDX-License-Identifier: MIT */
/*
 * Whether git, run outside for a command in the sandbox, would run what that command can write. Git's own files
 * are kept from the command (P9), but their settings can lead elsewhere: hooks in a directory of the
 * project, an included file of it, a helper. What people run on their own they can look at before; here
 * the command that has written it decides when it is run.
 *
 * SECURITY: the files are read as data, within bounds, and only if the command can't write them. What can't be read or
 * understood is refused.
 */
#include "base/path.h"
#include "os/os.h"
#include "plan/git_text.h"
#include "session/command_words.h"
#include "session/git_index.h"
#include "session/run.h"

enum {
	FILES_MAX = 256,
	SUBMODULES_DEPTH = 4,
	FILE_MAX_BYTES = 1 << 20,
	SCRATCH_BYTES = 16 << 20,
	VARIABLES_MAX = 10000,
	INDEX_MAX_BYTES = 64 << 20
};

struct git_check {
	struct escalation *x;
	struct arena *a;
	struct str top;	 /* the worktree, or the directory of the command */
	struct str home; /* "": unknown */
	struct str file; /* whose settings these are; "": the environment */
	size_t files;
	size_t depth;	    /* of the repositories of indexes */
	bool index_is_open; /* to the command */
	const char *why;    /* not NULL: refused */
};

static const char unknown[] = "what git would run here can't be found out";

/* ---- Where a path leads ------------------------------------------------------------------------------- */

/* A narrower path below a writable one counts as closed, because P8 pins the way to it, if that is kept. */
static bool may_write(const struct session *s, struct str path)
{
	if (live_was_open(s, path))
		return true;
	for (;; path = path_parent(path)) {
		if (plan_resolve(live_plan(s), path).access == ACCESS_WRITE)
			return true;
		if (path.len <= 1 || escalation_keeps_narrower(s))
			return false;
	}
}

static bool is_open_to_command(const struct session *s, struct str path)
{
	char real[PATH_MAX_BYTES];

	return may_write(s, path) || (os_real_path(path.p, real) && may_write(s, str_of(real)));
}

static int refuse(struct git_check *g, const char *headline, struct str name, struct str value)
{
	struct err ignored = ERR_INIT;
	struct str text;

	g->why = arena_printf(&g->x->arena, &text, &ignored,
			      "git would run what the command may write: %s '%.*s'%s%.*s", headline,
			      STR_ARG(name), value.len ? ", " : "", STR_ARG(value)) < 0
			 ? unknown
			 : text.p;
	return 1;
}

static int fail(struct git_check *g)
{
	g->why = unknown;
	return 1;
}

/*
 * What git makes of a path in a setting; "" if it is empty, or relative to nothing. What only git can expand (~user/,
 * %(prefix)/, :(optional)) is refused.
 */
static int find_path(struct git_check *g, struct str base, struct str path, struct str *out)
{
	struct err ignored = ERR_INIT;

	*out = STR_EMPTY;
	if (str_has_prefix(path, STR("~/"))) {
		if (!g->home.len)
			return fail(g);
		base = g->home;
		path = str_from(path, 2);
	}
	if (!path.len)
		return 0;
	if (path.p[0] == '~' || str_has_prefix(path, STR("%(")) || str_has_prefix(path, STR(":(")))
		return fail(g);
	if (!base.len && !path_is_absolute(path))
		return 0;
	return path_plain(g->a, base, path, out, &ignored) < 0 ? fail(g) : 0;
}

/* ---- Settings ------------------------------------------------------------------------------------------ */

/* What git runs, or hands to a shell, because a setting says so. NULL: any name. */
static const struct {
	const char *section, *name;
} commands[] = {
	{ "core", "sshcommand" },
	{ "core", "fsmonitor" },
	{ "core", "editor" },
	{ "core", "pager" },
	{ "core", "askpass" },
	{ "core", "gitproxy" },
	{ "core", "alternaterefscommand" },
	{ "credential", "helper" },
	{ "gpg", "program" },
	{ "gpg", "defaultkeycommand" },
	{ "filter", NULL },
	{ "diff", "external" },
	{ "diff", "command" },
	{ "diff", "textconv" },
	{ "merge", "driver" },
	{ "mergetool", "cmd" },
	{ "mergetool", "path" },
	{ "difftool", "cmd" },
	{ "difftool", "path" },
	{ "sequence", "editor" },
	{ "pager", NULL },
	{ "interactive", "difffilter" },
	{ "uploadpack", "packobjectshook" },
	{ "submodule", "update" },
	{ "remote", "receivepack" },
	{ "remote", "uploadpack" },
	{ "remote", "vcs" },
	{ "trailer", "command" },
	{ "trailer", "cmd" },
	{ "hook", "command" },
	{ "sendemail", "sendmailcmd" },
	{ "sendemail", "smtpserver" },
	{ "sendemail", "tocmd" },
	{ "sendemail", "cccmd" },
	{ "sendemail", "headercmd" },
	{ "imap", "tunnel" },
	{ "gc", "recentobjectshook" },
	{ "browser", "cmd" },
	{ "browser", "path" },
	{ "man", "cmd" },
	{ "man", "path" },
	{ "tar", "command" },
};

/* Paths of directories or files whose contents git runs. */
static const struct {
	const char *section, *name;
	bool is_url; /* one in a directory: the hooks of that repository */
} places[] = {
	{ "core", "hookspath", false },
	{ "init", "templatedir", false },
	{ "remote", "url", true },
	{ "remote", "pushurl", true },
};

static bool is_same_word(struct str a, const char *lower)
{
	if (a.len != strlen(lower))
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.p[i]) != lower[i])
			return false;
	return true;
}

static bool is_named(const struct git_setting *s, const char *section, const char *name)
{
	return git_setting_is_of(s, section) && (!name || is_same_word(s->name, name));
}

static int refuse_setting(struct git_check *g, const struct git_setting *s)
{
	scoped_buf name = BUF_INIT(1024);

	buf_add(&name, s->section);
	buf_add_text(&name, ".");
	buf_add(&name, s->name);
	return name.failed == ERR_OK ? refuse(g, "the setting", buf_str(&name),
					      g->file.len ? g->file : STR("from the environment"))
				     : fail(g);
}

static int check_path(struct git_check *g, const struct git_setting *s, struct str path)
{
	struct str found;

	if (find_path(g, g->top, path, &found))
		return 1;
	return found.len && is_open_to_command(g->x->s, found) ? refuse_setting(g, s) : 0;
}

struct word_check {
	struct git_check *g;
	const struct git_setting *s;
};

static int check_word(void *arg, struct str word, bool is_clear)
{
	const struct word_check *check = arg;

	return is_clear ? check_path(check->g, check->s, word) : refuse_setting(check->g, check->s);
}

/* A command: each word that may be a program, or what it loads. */
static int check_words(struct git_check *g, const struct git_setting *s, struct str text)
{
	struct word_check check = { .g = g, .s = s };

	return command_words_each(text, check_word, &check);
}

/*
 * A repository on this machine: a path, or file://. What is behind NAME:: may be a command (ext::). All else has a
 * colon before the first slash.
 */
static int check_place(struct git_check *g, const struct git_setting *s, struct str path)
{
	size_t colon = str_find(path, ':');

	if (str_has_prefix(path, STR("file://")))
		path = str_from(path, strlen("file://"));
	else if (colon + 1 < path.len && path.p[colon + 1] == ':')
		return check_words(g, s, str_from(path, colon + 2));
	else if (colon < str_find(path, '/'))
		return 0;
	return check_path(g, s, path);
}

static int check_file(struct git_check *g, struct str path);

static int check_include(struct git_check *g, const struct git_setting *s)
{
	struct str base = g->file.len ? path_parent(g->file) : STR_EMPTY;
	struct str path, before = g->file;
	int r;

	if (find_path(g, base, s->value, &path))
		return 1;
	/* A relative one needs a file that it is relative to. */
	if (!path.len)
		return 0;
	if (is_open_to_command(g->x->s, path))
		return refuse_setting(g, s);
	r = check_file(g, path);
	g->file = before;
	return r;
}

/*
 * git = "commit" lets the command write the index, and commits. An entry of theirs may be a repository that the command has
 * made, whose own settings git obeys when it looks into it. A push does so only when it is told to.
 */
static bool looks_into_repositories(const struct escalation *x)
{
	const struct str program = path_name(str_of(x->program));

	if (!str_is(program, "git") || !x->argv[1] || strcmp(x->argv[1], "push") != 0)
		return true;
	/* --recurse-submodules, which may be shortened. */
	for (size_t i = 2; x->argv[i]; i++)
		if (str_has_prefix(str_of(x->argv[i]), STR("--re")))
			return true;
	return false;
}

static bool tells_to_recurse(const struct git_check *g, const struct git_setting *s)
{
	return g->index_is_open &&
	       (is_named(s, "push", "recursesubmodules") || is_named(s, "submodule", "recurse")) &&
	       !is_same_word(s->value, "no") && !is_same_word(s->value, "false");
}

static int visit(void *arg, const struct git_setting *s, struct err *e)
{
	struct git_check *g = arg;

	(void)e;
	if (is_named(s, "include", "path") || is_named(s, "includeif", "path"))
		return check_include(g, s);
	if (tells_to_recurse(g, s))
		return refuse_setting(g, s);
	/* url.BASE.insteadOf */
	if (git_setting_is_of(s, "url"))
		return check_place(g, s, s->subsection);
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (is_named(s, places[i].section, places[i].name))
			return places[i].is_url ? check_place(g, s, s->value)
						: check_path(g, s, s->value);
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (is_named(s, commands[i].section, commands[i].name))
			return check_words(g, s, s->value);
	return 0;
}

/* ---- Files --------------------------------------------------------------------------------------------- */

static int check_text(struct git_check *g, struct str text)
{
	scoped_arena a = ARENA_INIT(SCRATCH_BYTES);
	struct err e = ERR_INIT;
	int r = git_config_each(&a, text, visit, g, &e);

	return r < 0 ? fail(g) : r;
}

static int check_file(struct git_check *g, struct str path)
{
	struct err e = ERR_INIT;
	struct os_seen seen;
	struct str text;

	if (is_open_to_command(g->x->s, path))
		return refuse(g, "the file", path, STR_EMPTY);
	if (g->files++ >= FILES_MAX)
		return refuse(g, "there may be more that", path, STR("includes"));
	/* What git can't read stops it, or does not count. */
	if (os_read_file(g->a, path, FILE_MAX_BYTES, &text, &seen, &e) < 0)
		return e.code == ERR_NOMEM || e.code == ERR_LIMIT
			       ? refuse(g, "too large is", path, STR_EMPTY)
			       : 0;
	g->file = path;
	return seen.is_there ? check_text(g, text) : 0;
}

static int check_below(struct git_check *g, struct str dir, const char *name)
{
	struct err ignored = ERR_INIT;
	struct str path;

	return path_join(g->a, dir, str_of(name), &path, &ignored) < 0 ? fail(g)
								       : check_file(g, path);
}

/* ---- Which files ------------------------------------------------------------------------------------------ */

/* What the command outside has; of several the last counts. */
static const char *find_variable(const struct escalation *x, const char *name)
{
	const char *const *more = x->s->in.more_environment;
	const char *found = NULL;

	for (size_t i = 0; x->withheld[i]; i++)
		if (strcmp(x->withheld[i], name) == 0)
			return NULL;
	for (size_t i = 0; more && more[i]; i++) {
		const char *value =
			os_environment_find((const char *const[]){ more[i], NULL }, name);

		found = value ? value : found;
	}
	return found ? found : os_environment_find(x->s->in.environment, name);
}

static int check_global(struct git_check *g)
{
	const char *global = find_variable(g->x, "GIT_CONFIG_GLOBAL");
	const char *system = find_variable(g->x, "GIT_CONFIG_SYSTEM");
	const char *xdg = find_variable(g->x, "XDG_CONFIG_HOME");

	if (check_file(g, system && *system ? str_of(system) : STR("/etc/gitconfig")))
		return 1;
	if (global)
		return *global ? check_file(g, str_of(global)) : 0;
	if (xdg && *xdg == '/' && check_below(g, str_of(xdg), "git/config"))
		return 1;
	if (!g->home.len)
		return 0;
	return ((!xdg || !*xdg) && check_below(g, g->home, ".config/git/config")) ||
	       check_below(g, g->home, ".gitconfig");
}

static int check_dot_git(struct git_check *g, struct str dot);
static int check_variables(struct git_check *g);

/* ---- The index ----------------------------------------------------------------------------------------- */

/*
 * A repository of its own: git runs itself in it. Where one belongs that is not there, the command may make
 * one.
 */
static int check_submodule(struct git_check *g, struct str name, struct str top)
{
	struct git_check sub = *g;
	struct err ignored = ERR_INIT;
	struct os_file file;
	struct str dot;

	if (path_join(g->a, top, STR(".git"), &dot, &ignored) < 0 ||
	    os_look(dot, &file, &ignored) < 0)
		return fail(g);
	if (file.type == OS_MISSING || file.is_placeholder)
		return 0;
	if (g->depth >= SUBMODULES_DEPTH)
		return refuse(g, "there may be more in the repository", name, STR_EMPTY);
	sub.top = top;
	sub.depth++;
	/* What all repositories obey may be relative to each. */
	if (check_dot_git(&sub, dot) == 0 && check_global(&sub) == 0)
		(void)check_variables(&sub);
	g->files = sub.files;
	g->why = sub.why;
	return g->why != NULL;
}

static int check_entry(void *arg, enum git_index_entry kind, struct str name, struct err *e)
{
	struct git_check *g = arg;
	struct str top, path;

	if (kind != GIT_ENTRY_LINK)
		return 0;
	if (!name.len)
		return refuse(g, "the index has", STR("a repository without a name"), STR_EMPTY);
	if (path_plain(g->a, g->top, name, &top, e) < 0 ||
	    path_join(g->a, top, STR(".git/config"), &path, e) < 0)
		return fail(g);
	return is_open_to_command(g->x->s, path)
		       ? refuse(g, "the index has the repository", name, STR_EMPTY)
		       : check_submodule(g, name, top);
}

/* `shared`: what the index leaves to another file. */
static int check_entries(struct git_check *g, struct str path, struct str *shared)
{
	scoped_arena a = ARENA_INIT(INDEX_MAX_BYTES + (1 << 20));
	struct str text, hash = STR_EMPTY;
	scoped_buf name = BUF_INIT(128);
	struct err e = ERR_INIT;
	struct os_seen seen;
	int r;

	*shared = STR_EMPTY;
	if (os_read_file(&a, path, INDEX_MAX_BYTES, &text, &seen, &e) < 0)
		return refuse(g, "not readable is", path, STR_EMPTY);
	if (!seen.is_there || !text.len)
		return 0;
	r = git_index_look(text, check_entry, g, &hash, &e);
	if (r < 0) /* one that git would not read either */
		return e.code == ERR_SYNTAX ? 0 : fail(g);
	if (r > 0 || !hash.len)
		return r;
	buf_add_text(&name, "sharedindex.");
	for (size_t i = 0; i < hash.len; i++)
		buf_printf(&name, "%02x", (unsigned)(unsigned char)hash.p[i]);
	return name.failed != ERR_OK ||
			       path_join(g->a, path_parent(path), buf_str(&name), shared, &e) < 0
		       ? fail(g)
		       : 0;
}

static int check_index(struct git_check *g, struct str dir)
{
	struct err ignored = ERR_INIT;
	struct str path, shared, none;

	if (path_join(g->a, dir, STR("index"), &path, &ignored) < 0)
		return fail(g);
	g->index_is_open = is_open_to_command(g->x->s, path);
	if (!looks_into_repositories(g->x))
		return 0;
	if (g->index_is_open) {
		g->why = "the command may write git's index here (git = \"commit\"), so only "
			 "'git push' is run, and not with --recurse-submodules";
		return 1;
	}
	return check_entries(g, path, &shared) || (shared.len && check_entries(g, shared, &none));
}

static int check_directory(struct git_check *g, struct str dir)
{
	struct err ignored = ERR_INIT;
	struct str text, path, common = dir, hooks;
	struct os_seen seen;

	if (path_join(g->a, dir, STR("commondir"), &path, &ignored) < 0)
		return fail(g);
	if (os_read_file(g->a, path, FILE_MAX_BYTES, &text, &seen, &ignored) == 0 &&
	    seen.is_there && git_path_parse(text, &path) &&
	    path_plain(g->a, dir, path, &common, &ignored) < 0)
		return fail(g);
	if (path_join(g->a, common, STR("hooks"), &hooks, &ignored) < 0)
		return fail(g);
	if (check_index(g, dir))
		return 1;
	if (is_open_to_command(g->x->s, hooks))
		return refuse(g, "the hooks", hooks, STR_EMPTY);
	return check_below(g, common, "config") || check_below(g, dir, "config.worktree");
}

/* A directory, or a file that names one. */
static int check_dot_git(struct git_check *g, struct str dot)
{
	struct err ignored = ERR_INIT;
	struct str text, path;
	struct os_seen seen;

	if (os_read_file(g->a, dot, FILE_MAX_BYTES, &text, &seen, &ignored) < 0 || !seen.is_there)
		return check_directory(g, dot);
	if (!git_pointer_parse(text, &path))
		return 0;
	return path_plain(g->a, path_parent(dot), path, &path, &ignored) < 0
		       ? fail(g)
		       : check_directory(g, path);
}

/* The repository that git finds from the directory on; its worktree becomes `top`. */
static int check_repository(struct git_check *g)
{
	const char *ceiling = g->x->git_ceiling, *named = find_variable(g->x, "GIT_DIR");
	struct str at = g->x->taken.path, named_path;
	struct err ignored = ERR_INIT;

	if (named && *named)
		return path_plain(g->a, at, str_of(named), &named_path, &ignored) < 0
			       ? fail(g)
			       : check_directory(g, named_path);
	for (;; at = path_parent(at)) {
		struct str dot;
		struct os_file file;

		if (ceiling && str_is(at, ceiling))
			return 0;
		if (path_join(g->a, at, STR(".git"), &dot, &ignored) < 0 ||
		    os_look(dot, &file, &ignored) < 0)
			return fail(g);
		if (file.type == OS_MISSING || file.is_placeholder) {
			if (at.len <= 1)
				return 0;
			continue;
		}
		g->top = at;
		return check_dot_git(g, dot);
	}
}

/* "core.hooksPath" of a variable, with its value. */
static int check_pair(struct git_check *g, struct str key, struct str value)
{
	struct git_setting s = { .section = str_first(key, str_find(key, '.')),
				 .subsection = STR_EMPTY,
				 .value = value };
	struct err ignored = ERR_INIT;
	size_t last = key.len;

	while (last > 0 && key.p[last - 1] != '.')
		last--;
	s.name = str_from(key, last);
	if (last > s.section.len + 1)
		s.subsection =
			str_first(str_from(key, s.section.len + 1), last - s.section.len - 2);
	g->file = STR_EMPTY;
	return visit(g, &s, &ignored);
}

static int check_variables(struct git_check *g)
{
	const char *count = find_variable(g->x, "GIT_CONFIG_COUNT");

	for (size_t i = 0; count && i < VARIABLES_MAX; i++) {
		struct err ignored = ERR_INIT;
		const char *key, *value;
		struct str name;

		if (arena_printf(g->a, &name, &ignored, "GIT_CONFIG_KEY_%zu", i) < 0)
			return fail(g);
		key = find_variable(g->x, name.p);
		if (!key)
			return 0;
		if (arena_printf(g->a, &name, &ignored, "GIT_CONFIG_VALUE_%zu", i) < 0)
			return fail(g);
		value = find_variable(g->x, name.p);
		if (value && check_pair(g, str_of(key), str_of(value)))
			return 1;
	}
	return 0;
}

const char *escalation_check_git(struct escalation *x)
{
	scoped_arena a = ARENA_INIT(SCRATCH_BYTES);
	const char *home = find_variable(x, "HOME");
	struct git_check g = { .x = x,
			       .a = &a,
			       .top = x->taken.path,
			       .home = home && *home == '/' ? str_of(home) : STR_EMPTY };

	/* The repository first, because paths of all files are relative to its worktree. */
	if (check_repository(&g) == 0 && check_global(&g) == 0)
		(void)check_variables(&g);
	return g.why;
}
