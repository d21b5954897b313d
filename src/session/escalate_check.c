/* SPDX-License-Identifier: MIT */
/*
 * What a command that is to be run outside may be: its program, its directory, its streams, and which of the
 * caller's variables it does not get. See escalate.h.
 *
 * SECURITY: what the asking command may write, or could write at some time of this run, it may have
 * planted something in. A question may take minutes, and a grant may open a path meanwhile: all of
 * this is asked again when the answer has come.
 */
#include "approve/deciders.h"
#include "approve/offers.h"
#include "base/path.h"
#include "os/os.h"
#include "os/program.h"
#include "session/command_words.h"
#include "session/run.h"

/* ---- What the command may write ------------------------------------------------------------------ */

static bool may_replace(const struct session *s, struct str path)
{
	return plan_may_replace(live_plan(s), path, os_may_write) || live_was_open(s, path);
}

/* ---- The program ---------------------------------------------------------------------------------- */

/*
 * The program is looked for with the PATH of who started the run. It is made anew each time, because a grant may
 * have opened a directory of it.
 */
static int find_path(const struct session *s, struct arena *a, struct str *out, struct err *e)
{
	const char *list = os_environment_find(s->in.environment, "PATH");
	scoped_buf kept = BUF_INIT(1 << 20);
	struct str clean, rest;

	if (decider_clean_path(a, live_plan(s), list, &clean, e) < 0)
		return err_result(e);
	buf_add_text(&kept, "PATH=");
	for (rest = str_from(clean, strlen("PATH=")); rest.len;) {
		struct str dir = str_first(rest, str_find(rest, ':'));

		rest = str_from(rest, MIN_OF(dir.len + 1, rest.len));
		if (live_was_open(s, dir))
			continue;
		buf_add_text(&kept, kept.len > strlen("PATH=") ? ":" : "");
		buf_add(&kept, dir);
	}
	/* An empty one would mean the working directory. */
	if (kept.len == strlen("PATH="))
		buf_add_text(&kept, "/dev/null");
	return buf_check(&kept, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&kept), out, e);
}

/* The program that a word names: the way to it, and where that leads. False: there is none. */
static bool find_program(struct arena *a, struct str path_list, struct str name, struct str *way,
			 char real[PATH_MAX_BYTES])
{
	struct err ignored = ERR_INIT;

	if (path_is_absolute(name)) {
		*way = name;
		return os_real_path(name.p, real) && os_is_executable(real);
	}
	if (!name.len || str_find(name, '/') < name.len)
		return false;
	while (path_list.len) {
		struct str dir = str_first(path_list, str_find(path_list, ':'));

		path_list = str_from(path_list, MIN_OF(dir.len + 1, path_list.len));
		if (arena_printf(a, way, &ignored, "%.*s/%.*s", STR_ALL(dir), STR_ALL(name)) == 0 &&
		    os_real_path(way->p, real) && os_is_executable(real))
			return true;
	}
	return false;
}

static struct str searched(const struct escalation *x)
{
	return str_from(str_of(x->path), strlen("PATH="));
}

int escalation_find_program(void *user, struct arena *a, struct str name, struct str *out,
			    struct err *e)
{
	const struct escalation *x = user;
	char real[PATH_MAX_BYTES];
	struct str way;

	*out = STR_EMPTY;
	return find_program(a, searched(x), name, &way, real) ? arena_copy(a, str_of(real), out, e)
							      : 0;
}

static bool was_open(const struct session *s, const decide_places *places)
{
	for (size_t i = 0; i < places->count; i++)
		if (live_was_open(s, places->items[i]))
			return true;
	return false;
}

static const char no_memory[] = "there is no memory left";

const char *escalation_check_program(struct escalation *x)
{
	decide_places places = { .items = NULL };
	char real[PATH_MAX_BYTES];
	struct err e = ERR_INIT;
	struct str way, copy;

	if (find_path(x->s, &x->arena, &copy, &e) < 0)
		return no_memory;
	x->path = copy.p;
	/* What the kernel names there is this process's own, not the command's. */
	if (!find_program(&x->arena, searched(x), str_of(x->argv[0]), &way, real) ||
	    offers_is_kernel_path(way) || offers_is_kernel_path(str_of(real)))
		return "there is no such program outside of what the command may write";
	if (decider_check_program(&x->arena, live_plan(x->s), way, &places, &e) < 0 ||
	    was_open(x->s, &places))
		return "the command or another user may change the program, or what it is run by";
	if (x->program && !str_is(str_of(real), x->program))
		return "the program has been replaced meanwhile";
	if (arena_copy(&x->arena, str_of(real), &copy, &e) < 0)
		return no_memory;
	x->program = copy.p;
	return NULL;
}

/* ---- The directory ---------------------------------------------------------------------------------- */

static bool is_root(const struct session *s, struct str path, const struct inside_taken *taken)
{
	for (size_t i = 0; i < s->escalations.root_count; i++) {
		const struct escalation_root *root = &s->escalations.roots[i];

		if (str_eq(root->path, path))
			return root->device == taken->device && root->inode == taken->inode;
	}
	return false;
}

bool escalation_keeps_narrower(const struct session *s)
{
	const guarantee_set kept = GUARANTEE_BIT(G_FS_CARVE) | GUARANTEE_BIT(G_PROTECT_MISSING);

	return !(s->outcome.lost & kept);
}

/*
 * Whether git would obey what the command can write into a repository at `path`; -1: no memory.
 * SECURITY: where the backend can't keep narrower or missing paths (landlock), what the plan says of .git in a
 * writable directory is not so.
 */
static int opens_git(const struct session *s, struct str path)
{
	const struct plan *plan = live_plan(s);
	scoped_arena a = ARENA_INIT(64 << 10);
	struct err ignored = ERR_INIT;
	struct str config, hooks;

	if (!escalation_keeps_narrower(s) && plan_resolve(plan, path).access == ACCESS_WRITE)
		return true;
	if (path_join(&a, path, STR(".git/config"), &config, &ignored) < 0 ||
	    path_join(&a, path, STR(".git/hooks"), &hooks, &ignored) < 0)
		return -1;
	return plan_resolve(plan, config).access == ACCESS_WRITE ||
	       plan_resolve(plan, hooks).access == ACCESS_WRITE;
}

/*
 * Git looks for a repository in the directories above as well. Those of a temporary directory have no
 * protection (P9): git is to stop below the nearest in which the command may have made one.
 */
static const char *find_git_ceiling(struct escalation *x)
{
	struct str at = x->taken.path, copy;
	struct err ignored = ERR_INIT;

	x->git_ceiling = NULL;
	while (at.len > 1) {
		int opens;

		at = path_parent(at);
		opens = opens_git(x->s, at);
		if (opens < 0 || (opens && arena_copy(&x->arena, at, &copy, &ignored) < 0))
			return no_memory;
		if (!opens)
			continue;
		if (str_find(at, ':') < at.len)
			return "the command may make a git repository in a directory above this "
			       "one";
		x->git_ceiling = copy.p;
		return NULL;
	}
	return NULL;
}

/*
 * SECURITY: programs obey what they find in it (git the configuration of a
 * repository). So it is one that the command can't write to, or a workspace root, whose metadata P9 keeps;
 * not one below, where the command may have made a repository.
 */
static const char *check_directory(struct escalation *x)
{
	const struct session *s = x->s;
	int opens;

	if (may_replace(s, x->taken.path) && !is_root(s, x->taken.path, &x->taken))
		return "the command may write to this directory, so it has to be run in a "
		       "workspace root, or in one that is read-only";
	opens = opens_git(s, x->taken.path);
	if (opens < 0)
		return no_memory;
	if (opens)
		return "the command may write the configuration or hooks of git here, and so "
		       "choose what is run";
	return find_git_ceiling(x);
}

/* ---- Streams ---------------------------------------------------------------------------------------- */

static const char *check_streams(const struct escalation *x)
{
	for (size_t i = 0; i < COUNT_OF(x->taken.reopens); i++)
		if (x->taken.reopens[i].len &&
		    plan_resolve(live_plan(x->s), x->taken.reopens[i]).access != ACCESS_WRITE)
			return "a standard stream is a file that the command may only read; pass "
			       "it through a pipe";
	return NULL;
}

/* ---- Variables -------------------------------------------------------------------------------------- */

/* How a variable says where a program finds code that it runs. */
enum code_kind {
	CODE_LIST,    /* paths; an empty or relative one is below the working directory */
	CODE_TEXT,    /* a command or options (command_words.h) */
	CODE_OPTIONS, /* of an interpreter, which may load code by a mere name */
	CODE_SETTINGS, /* paths, without which it would do the same to something else (a cluster, an account) */
};

static const struct code_variable {
	const char *name;
	enum code_kind kind;
} code_variables[] = {
	{ "HOME", CODE_SETTINGS },
	{ "XDG_CONFIG_HOME", CODE_SETTINGS },
	{ "XDG_CONFIG_DIRS", CODE_SETTINGS },
	{ "GNUPGHOME", CODE_SETTINGS },
	{ "KUBECONFIG", CODE_SETTINGS },
	{ "DOCKER_CONFIG", CODE_SETTINGS },
	{ "AWS_CONFIG_FILE", CODE_SETTINGS },
	{ "AWS_SHARED_CREDENTIALS_FILE", CODE_SETTINGS },
	{ "CLOUDSDK_CONFIG", CODE_SETTINGS },
	{ "NPM_CONFIG_USERCONFIG", CODE_SETTINGS },
	{ "npm_config_userconfig", CODE_SETTINGS },
	{ "PIP_CONFIG_FILE", CODE_SETTINGS },
	{ "CARGO_HOME", CODE_SETTINGS },
	{ "RUSTUP_HOME", CODE_SETTINGS },
	{ "GOENV", CODE_SETTINGS },
	{ "GOROOT", CODE_SETTINGS },
	{ "JAVA_HOME", CODE_SETTINGS },
	{ "GRADLE_USER_HOME", CODE_SETTINGS },
	{ "KRB5_CONFIG", CODE_SETTINGS },
	{ "CURL_HOME", CODE_SETTINGS },
	{ "HGRCPATH", CODE_SETTINGS },
	{ "XDG_DATA_HOME", CODE_LIST },
	{ "XDG_DATA_DIRS", CODE_LIST },
	{ "SHELL", CODE_LIST },
	{ "MAKEFILES", CODE_LIST },
	{ "INPUTRC", CODE_LIST },
	{ "TERMINFO", CODE_LIST },
	{ "LOCPATH", CODE_LIST },
	{ "SASL_PATH", CODE_LIST },
	{ "GIO_EXTRA_MODULES", CODE_LIST },
	{ "GTK_PATH", CODE_LIST },
	{ "QT_PLUGIN_PATH", CODE_LIST },
	{ "TCLLIBPATH", CODE_LIST },
	{ "BUNDLE_GEMFILE", CODE_LIST },
	{ "PHPRC", CODE_LIST },
	{ "PHP_INI_SCAN_DIR", CODE_LIST },
	{ "PYTHONSTARTUP", CODE_LIST },
	{ "MAKEFLAGS", CODE_TEXT },
	{ "GNUMAKEFLAGS", CODE_TEXT },
	{ "GOFLAGS", CODE_TEXT },
	{ "RUSTC", CODE_TEXT },
	{ "RUSTC_WRAPPER", CODE_TEXT },
	{ "CC", CODE_TEXT },
	{ "CXX", CODE_TEXT },
	{ "MAVEN_OPTS", CODE_TEXT },
	{ "GRADLE_OPTS", CODE_TEXT },
	{ "JAVA_OPTS", CODE_TEXT },
	{ "LUA_INIT", CODE_TEXT },
	{ "BROWSER", CODE_TEXT },
	{ "MANPAGER", CODE_TEXT },
	{ "LESSCLOSE", CODE_TEXT },
	{ "SUDO_ASKPASS", CODE_TEXT },
	{ "SVN_SSH", CODE_TEXT },
	{ "GIT_CONFIG_PARAMETERS", CODE_OPTIONS },
	{ "LD_LIBRARY_PATH", CODE_LIST },
	{ "LD_PRELOAD", CODE_LIST },
	{ "LD_AUDIT", CODE_LIST },
	{ "GCONV_PATH", CODE_LIST },
	{ "OPENSSL_CONF", CODE_LIST },
	{ "OPENSSL_MODULES", CODE_LIST },
	{ "OPENSSL_ENGINES", CODE_LIST },
	{ "BASH_ENV", CODE_LIST },
	{ "ENV", CODE_LIST },
	{ "ZDOTDIR", CODE_LIST },
	{ "PYTHONPATH", CODE_LIST },
	{ "PYTHONHOME", CODE_LIST },
	{ "PYTHONUSERBASE", CODE_LIST },
	{ "PERL5LIB", CODE_LIST },
	{ "PERLLIB", CODE_LIST },
	{ "PERL5OPT", CODE_OPTIONS },
	{ "RUBYLIB", CODE_LIST },
	{ "RUBYOPT", CODE_OPTIONS },
	{ "GEM_HOME", CODE_LIST },
	{ "GEM_PATH", CODE_LIST },
	{ "NODE_PATH", CODE_LIST },
	{ "NODE_OPTIONS", CODE_OPTIONS },
	{ "CLASSPATH", CODE_LIST },
	{ "_JAVA_OPTIONS", CODE_TEXT },
	{ "JAVA_TOOL_OPTIONS", CODE_TEXT },
	{ "JDK_JAVA_OPTIONS", CODE_TEXT },
	{ "LUA_PATH", CODE_TEXT },
	{ "LUA_CPATH", CODE_TEXT },
	{ "GIT_DIR", CODE_LIST },
	{ "GIT_COMMON_DIR", CODE_LIST },
	{ "GIT_EXEC_PATH", CODE_LIST },
	{ "GIT_TEMPLATE_DIR", CODE_LIST },
	{ "GIT_CONFIG_GLOBAL", CODE_LIST },
	{ "GIT_CONFIG_SYSTEM", CODE_LIST },
	{ "GIT_SSH", CODE_TEXT },
	{ "GIT_SSH_COMMAND", CODE_TEXT },
	{ "GIT_ASKPASS", CODE_TEXT },
	{ "GIT_PROXY_COMMAND", CODE_TEXT },
	{ "GIT_EXTERNAL_DIFF", CODE_TEXT },
	{ "GIT_EDITOR", CODE_TEXT },
	{ "GIT_SEQUENCE_EDITOR", CODE_TEXT },
	{ "GIT_PAGER", CODE_TEXT },
	{ "SSH_ASKPASS", CODE_TEXT },
	{ "RSYNC_RSH", CODE_TEXT },
	{ "EDITOR", CODE_TEXT },
	{ "VISUAL", CODE_TEXT },
	{ "PAGER", CODE_TEXT },
	{ "LESSOPEN", CODE_TEXT },
};

/* Whether the command may write where it leads; what can't be found out may lead there. */
static bool leads_astray(const struct session *s, struct arena *a, struct str path)
{
	const char *home = os_environment_find(s->in.environment, "HOME");
	char real[PATH_MAX_BYTES];
	struct err ignored = ERR_INIT;

	if (str_is(path, "/dev/null"))
		return false;
	if (home && str_has_prefix(path, STR("~/")) &&
	    arena_printf(a, &path, &ignored, "%s%.*s", home, STR_ALL(str_from(path, 1))) < 0)
		return true;
	/* What is missing may be made later. */
	return !path_is_absolute(path) || path_plain(a, STR("/"), path, &path, &ignored) < 0 ||
	       may_replace(s, path) || (os_real_path(path.p, real) && may_replace(s, str_of(real)));
}

static bool has_bad_path(const struct session *s, struct arena *a, struct str list)
{
	for (;;) {
		struct str part = str_first(list, str_find(list, ':'));

		if (leads_astray(s, a, part))
			return true;
		if (part.len == list.len)
			return false;
		list = str_from(list, part.len + 1);
	}
}

struct word_judge {
	const struct session *s;
	struct arena *a;
};

static int judge_word(void *arg, struct str word, bool is_clear)
{
	const struct word_judge *judge = arg;

	return !is_clear || leads_astray(judge->s, judge->a, word);
}

static bool has_bad_word(const struct session *s, struct arena *a, struct str text)
{
	struct word_judge judge = { .s = s, .a = a };

	return command_words_each(text, judge_word, &judge) != 0;
}

static bool is_bad(const struct session *s, struct arena *a, enum code_kind kind, struct str value)
{
	if (!value.len)
		return false;
	if (kind == CODE_LIST || kind == CODE_SETTINGS)
		return has_bad_path(s, a, value);
	return kind == CODE_OPTIONS || has_bad_word(s, a, value);
}

/* Whether an entry of the environment sets the variable to what the command may write. */
static bool is_set_badly(const struct session *s, struct arena *a, const char *const *environment,
			 const struct code_variable *variable)
{
	size_t len = strlen(variable->name);

	for (size_t i = 0; environment && environment[i]; i++)
		if (strncmp(environment[i], variable->name, len) == 0 &&
		    environment[i][len] == '=' &&
		    is_bad(s, a, variable->kind, str_of(environment[i] + len + 1)))
			return true;
	return false;
}

/* With a terminal these are set anew (lib/escalate.c), and what is withheld can't be set. */
static bool is_replaced(const struct escalation *x, const char *name)
{
	return x->taken.has_terminal &&
	       (strcmp(name, "PAGER") == 0 || strcmp(name, "GIT_PAGER") == 0);
}

/* NULL: the others may be passed on; else why it is not run. */
static const char *find_withheld(struct escalation *x)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	const struct session *s = x->s;
	struct err ignored = ERR_INIT;
	struct str text;
	size_t count = 0;

	x->withheld = arena_array(&x->arena, COUNT_OF(code_variables) + 1, sizeof(*x->withheld),
				  &ignored);
	if (!x->withheld)
		return no_memory;
	for (size_t i = 0; i < COUNT_OF(code_variables); i++) {
		const struct code_variable *variable = &code_variables[i];

		if (is_replaced(x, variable->name) ||
		    (!is_set_badly(s, &a, s->in.environment, variable) &&
		     !is_set_badly(s, &a, s->in.more_environment, variable)))
			continue;
		x->withheld[count++] = variable->name;
		if (variable->kind == CODE_SETTINGS)
			return arena_printf(&x->arena, &text, &ignored,
					    "%s leads to what the command may write, and programs "
					    "obey what is in it",
					    variable->name) < 0
				       ? no_memory
				       : text.p;
	}
	return NULL;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

/* Which of what the user may allow is allowed at all (P1). NULL: it is. */
static const char *check_required(const struct escalation *x)
{
	uint32_t allow = x->s->in.plan->policy->settings.allow;

	if (!(allow & ALLOW_ESCALATE))
		return "the requirements of this machine do not allow it";
	if (!escalation_is_unsandboxed(x))
		return NULL;
	if (!(allow & ALLOW_NONE))
		return "the requirements of this machine do not allow to run without a sandbox";
	return x->s->in.needs_sandbox ? "a run of cordon-sh never runs anything without a sandbox"
				      : NULL;
}

const char *escalation_check(struct escalation *x)
{
	const char *why = check_required(x);

	if (!why)
		why = check_streams(x);
	if (!why)
		why = check_directory(x);
	if (!why)
		why = find_withheld(x);
	return why ? why : escalation_check_git(x);
}
