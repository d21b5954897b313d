/* SPDX-License-Identifier: MIT */
/*
 * Which files make the configuration (P1), and which files are Cordon's own
 * (P25). Reads them; what they say is the business of policy/.
 */
#include <errno.h>

#include "base/name_tree.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/os.h"

static const char default_system_dir[] = "/etc/cordon";

/* A variable of Windows that holds a path; "" if it does not. */
static int find_windows(struct inputs *in, const char *name, struct str *out, struct err *e)
{
	const char *value = os_environment_find(in->environment, name);

	*out = STR_EMPTY;
	if (!value || !value[0])
		return 0;
	if (view_path(in->a, PLACES_WINDOWS, STR_EMPTY, str_of(value), out, e) < 0)
		return err_wrap(e, "%%%s%%", name);
	return 0;
}

int inputs_find_absolute(struct inputs *in, const char *name, struct str *out, struct err *e)
{
	const char *value = os_environment_find(in->environment, name);

	if (in->places.system == PLACES_WINDOWS)
		return find_windows(in, name, out, e);
	*out = STR_EMPTY;
	if (!value || value[0] != '/')
		return 0;
	if (path_plain(in->a, STR("/"), str_of(value), out, e) < 0)
		return err_wrap(e, "$%s", name);
	return 0;
}

/* $XDG_x, or its default below home; relative values are ignored, as XDG says. */
static int find_xdg(struct inputs *in, const char *name, struct str below_home, struct str below,
		    struct str *out, struct err *e)
{
	struct str base;

	*out = STR_EMPTY;
	if (inputs_find_absolute(in, name, &base, e) < 0)
		return err_result(e);
	if (!base.len && !in->places.home.len)
		return 0;
	if (!base.len && path_join(in->a, in->places.home, below_home, &base, e) < 0)
		return err_result(e);
	return path_join(in->a, base, below, out, e);
}

static int find_below_home(struct inputs *in, struct str below, struct str *out, struct err *e)
{
	*out = STR_EMPTY;
	return in->places.home.len ? path_join(in->a, in->places.home, below, out, e) : 0;
}

int inputs_absolute(struct arena *a, const char *path, struct str *out, struct err *e)
{
	struct str whole = str_of(path);
	struct str dir;
	size_t name_at;

	if (inputs_own_system() == PLACES_WINDOWS &&
	    (os_working_directory(a, &dir, e) < 0 ||
	     view_path(a, PLACES_WINDOWS, dir, whole, &whole, e) < 0))
		return err_result(e);
	name_at = whole.len;
	while (name_at > 0 && whole.p[name_at - 1] != '/')
		name_at--;
	if (name_at == 0)
		dir = STR(".");
	else
		dir = str_first(whole, name_at);
	if (whole.len == name_at || str_is(str_from(whole, name_at), ".") ||
	    str_is(str_from(whole, name_at), ".."))
		return os_canonical_directory(a, whole, out, e);
	if (os_canonical_directory(a, dir, &dir, e) < 0)
		return err_result(e);
	return path_join(a, dir, str_from(whole, name_at), out, e);
}

/* Relative to the process, as every path of the options is. It need not exist. */
static int find_system_dir(struct inputs *in, struct err *e)
{
	const bool is_windows = in->places.system == PLACES_WINDOWS;
	const char *given = in->options->system_directory;
	struct str dir = str_of(given ? given : default_system_dir);
	struct str base = STR("/");

	if (is_windows && !given) {
		struct str data = in->places.minimal[in->places.minimal_count - 1];

		return path_join(in->a, data, STR("cordon"), &in->system_dir, e);
	}

	if (!path_is_absolute(dir) && os_working_directory(in->a, &base, e) < 0)
		return err_result(e);
	return path_plain(in->a, base, dir, &in->system_dir, e);
}

/* A variable that is set to nothing says nothing. */
static const char *find_set(const struct inputs *in, const char *name)
{
	const char *value = os_environment_find(in->environment, name);

	return value && value[0] ? value : NULL;
}

static int find_session(struct inputs *in, struct err *e)
{
	const char *name = in->options->session;

	if (!name)
		name = find_set(in, "CORDON_SESSION");
	if (name && !name[0])
		return FAIL_CAUSE(e, CAUSE_SESSION_NAME, "the name of the session is empty");
	return arena_copy(in->a, name ? str_of(name) : STR_EMPTY, &in->session, e);
}

static int find_tmpdir(struct inputs *in, struct err *e)
{
	const bool is_windows = in->places.system == PLACES_WINDOWS;
	char real[PATH_MAX_BYTES];

	if (in->view) {
		in->places.tmpdir = in->view->tmpdir;
		return 0;
	}
	if (inputs_find_absolute(in, is_windows ? "TEMP" : "TMPDIR", &in->places.tmpdir, e) < 0)
		return err_result(e);
	/* Windows itself writes it with a short name (8.3) when the user's is long. */
	if (!is_windows || !os_real_path(in->places.tmpdir.p, real))
		return 0;
	return arena_copy(in->a, str_of(real), &in->places.tmpdir, e);
}

/* Where the configuration and the state are. */
struct own_place {
	const char *xdg, *windows;	      /* the variable that names the base */
	struct str below_home, below_profile; /* without it, the base is there */
	struct str below;
};
static const struct own_place user_place = { "XDG_CONFIG_HOME", "APPDATA", STR_INIT(".config"),
					     STR_INIT("AppData/Roaming"),
					     STR_INIT("cordon/config.toml") };
static const struct own_place state_place = { "XDG_STATE_HOME", "LOCALAPPDATA",
					      STR_INIT(".local/state"), STR_INIT("AppData/Local"),
					      STR_INIT("cordon") };

/* `plain`: where it is without the variable. */
static int find_own(struct inputs *in, const struct own_place *place, struct str *out,
		    struct str *plain, struct err *e)
{
	const bool is_windows = in->places.system == PLACES_WINDOWS;
	struct str base = STR_EMPTY;

	*plain = STR_EMPTY;
	if (find_below_home(in, is_windows ? place->below_profile : place->below_home, plain, e) <
		    0 ||
	    (plain->len && path_join(in->a, *plain, place->below, plain, e) < 0))
		return err_result(e);
	if (!is_windows)
		return find_xdg(in, place->xdg, place->below_home, place->below, out, e);
	*out = *plain;
	if (find_windows(in, place->windows, &base, e) < 0)
		return err_result(e);
	return base.len ? path_join(in->a, base, place->below, out, e) : 0;
}

/* What :minimal stands for on Windows. */
static int find_minimal(struct inputs *in, struct err *e)
{
	static const char *const variables[] = { "SystemRoot", "ProgramFiles", "ProgramFiles(x86)",
						 "ProgramData" };
	struct str *minimal = arena_array(in->a, COUNT_OF(variables), sizeof(*minimal), e);

	if (!minimal)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		if (find_windows(in, variables[i], &minimal[i], e) < 0)
			return err_result(e);
		if (!minimal[i].len)
			minimal[i] = str_of(places_minimal_windows[i]);
	}
	in->places.minimal = minimal;
	in->places.minimal_count = COUNT_OF(variables);
	return 0;
}

static int find_program(struct inputs *in, struct err *e)
{
	if (!in->view)
		return os_program_path(in->a, &in->program, e);
	in->program = in->view->program;
	return 0;
}

int inputs_find(struct inputs *in, struct err *e)
{
	const struct cordon_load_options *o = in->options;

	if (inputs_read_view(in, e) < 0)
		return err_result(e);
	in->environment = o->environment ? o->environment : os_environment();
	if (in->view)
		in->environment = in->view->environment;
	if (inputs_find_directory(in, o->directory, &in->directory, e) < 0)
		return err_result(e);
	in->places.cwd = in->directory.path;
	if (inputs_find_home(in, e) < 0 || find_tmpdir(in, e) < 0 ||
	    find_own(in, &user_place, &in->default_user_file, &in->plain_user_file, e) < 0 ||
	    find_own(in, &state_place, &in->state_dir, &in->plain_state_dir, e) < 0 ||
	    (in->places.system == PLACES_WINDOWS && find_minimal(in, e) < 0) ||
	    find_system_dir(in, e) < 0 || find_program(in, e) < 0)
		return err_result(e);
	return find_session(in, e);
}

/* The name that messages show: no file name can forge a line or a colour. */
static int show_name(struct arena *a, struct str path, const char **out, struct err *e)
{
	scoped_buf shown = BUF_INIT(64 << 10);
	struct str copy;

	if (utf8_count_plain(path) == path.len) {
		if (arena_copy(a, path, &copy, e) < 0)
			return err_result(e);
		*out = copy.p;
		return 0;
	}
	utf8_add_shown(&shown, path);
	if (buf_check(&shown, e) < 0 || arena_copy(a, buf_str(&shown), &copy, e) < 0)
		return err_result(e);
	*out = copy.p;
	return 0;
}

/* --config-file is this host's, also where another one is imagined. */
static int read_named(struct inputs *in, struct str path, struct source *out, struct err *e)
{
	struct os_seen seen = { .is_there = false };

	if (show_name(in->a, path, &out->file, e) < 0 ||
	    os_read_file(in->texts, path, CONFIG_MAX_BYTES, &out->text, &seen, e) < 0)
		return err_result(e);
	out->is_present = seen.is_there;
	out->has_other_names = seen.has_other_names;
	return 0;
}

static int read_source(struct inputs *in, struct str path, struct source *out, struct err *e)
{
	out->is_windows = in->places.system == PLACES_WINDOWS;
	if (!in->view)
		return read_named(in, path, out, e);
	if (show_name(in->a, path, &out->file, e) < 0)
		return err_result(e);
	return inputs_view_file(in, path, STR_EMPTY, out, e);
}

int inputs_read_stdin(struct arena *texts, struct source *out, struct err *e)
{
	if (os_read_input(texts, CONFIG_MAX_BYTES, &out->text, e) < 0)
		return err_result(e);
	out->file = "<stdin>";
	out->is_present = true;
	return 0;
}

static int read_user_layer(struct inputs *in, struct err *e)
{
	const char *file = in->options->config_file;

	if (!file) {
		in->user_file = in->default_user_file;
		if (!in->user_file.len || read_source(in, in->user_file, &in->config.user, e) == 0)
			return 0;
		/* As after a change of the user that left the environment as it was. */
		if (e->os_error == EACCES)
			return err_wrap(e, "HOME or XDG_CONFIG_HOME may belong to another user");
		return err_result(e);
	}
	if (!file[0])
		return FAIL(e, ERR_ARGUMENT, "the name of the configuration file is empty");
	/* It is only judged, never enforced; so there is no file to protect. */
	in->config.user.is_windows = in->places.system == PLACES_WINDOWS;
	if (in->may_read_input && strcmp(file, "-") == 0)
		return inputs_read_stdin(in->texts, &in->config.user, e);
	if (read_named(in, str_of(file), &in->config.user, e) < 0)
		return err_result(e);
	if (!in->config.user.is_present)
		return FAIL_CAUSE(e, CAUSE_CONFIG_NOT_FOUND,
				  "there is no file '%s'; 'cordon init %s' creates one",
				  in->config.user.file, in->config.user.file);
	/* It is no file of an imagined host, so there is nothing to protect there. */
	return in->view ? 0 : inputs_absolute(in->a, file, &in->user_file, e);
}

static int read_overrides(struct inputs *in, struct err *e)
{
	const struct cordon_load_options *o = in->options;
	struct str *overrides = arena_array(in->a, o->override_count, sizeof(*overrides), e);

	if (!overrides)
		return err_result(e);
	for (size_t i = 0; i < o->override_count; i++)
		if (arena_copy(in->a, str_of(o->overrides[i]), &overrides[i], e) < 0)
			return err_result(e);
	in->config.overrides = overrides;
	in->config.override_count = o->override_count;
	in->config.is_windows = in->places.system == PLACES_WINDOWS;
	return 0;
}

int inputs_read(struct inputs *in, struct err *e)
{
	struct str system_file;
	struct str requirements_file;

	if (path_join(in->a, in->system_dir, STR("config.toml"), &system_file, e) < 0 ||
	    path_join(in->a, in->system_dir, STR("requirements.toml"), &requirements_file, e) < 0 ||
	    read_source(in, system_file, &in->config.system, e) < 0 ||
	    read_source(in, requirements_file, &in->config.requirements, e) < 0 ||
	    read_user_layer(in, e) < 0 || read_overrides(in, e) < 0)
		return err_result(e);
	in->config.env_profile = find_set(in, "CORDON_PROFILE");
	in->config.env_mode = find_set(in, "CORDON_MODE");
	return 0;
}

/* ---- Projects --------------------------------------------------------------------- */

/* What a search of the roots has found so far. */
struct root_search {
	struct name_node *known; /* by path */
	struct found_roots *found;
};

static int read_project(const struct inputs *in, struct str dir, project_list *projects,
			struct err *e)
{
	static const struct str below = STR_INIT(".cordon/config.toml");
	struct project found = { .dir = dir,
				 .source.is_windows = in->places.system == PLACES_WINDOWS };
	struct os_seen seen = { .is_there = false };
	struct project *project;
	struct str path;

	for (size_t i = 0; i < projects->count; i++)
		if (str_eq(projects->items[i].dir, dir))
			return 0;
	if (path_join(in->a, dir, below, &path, e) < 0 ||
	    show_name(in->a, path, &found.source.file, e) < 0)
		return err_result(e);
	if (in->view && inputs_view_file(in, path, dir, &found.source, e) < 0)
		return err_result(e);
	if (!in->view) {
		if (os_read_file_beneath(in->texts, dir, below, CONFIG_MAX_BYTES,
					 &found.source.text, &seen, e) < 0)
			return err_result(e);
		found.source.is_present = seen.is_there;
		found.source.has_other_names = seen.has_other_names;
	}
	if (!found.source.is_present)
		return 0;
	project = VEC_PUSH(in->a, projects, e);
	if (!project)
		return err_result(e);
	*project = found;
	return 0;
}

/* The directory that a root leads to; with the path "" when there is none. */
static int find_root(const struct inputs *in, struct str path, struct directory *out, struct err *e)
{
	if (inputs_find_directory(in, path.p, out, e) == 0)
		return 0;
	if (e->code != ERR_SYS ||
	    (e->os_error != ENOENT && e->os_error != ENOTDIR && e->os_error != EACCES))
		return err_result(e);
	err_clear(e); /* no root, no project; plan/ notes the missing root */
	*out = (struct directory){ .path = STR_EMPTY };
	return 0;
}

static int add_root(const struct inputs *in, struct str path, struct root_search *search,
		    struct err *e)
{
	struct found_roots *found = search->found;
	struct directory *directory;
	struct name_node *node;
	struct str *root;

	if (name_tree_find(search->known, path))
		return 0;
	node = ARENA_NEW(in->a, struct name_node, e);
	root = VEC_PUSH(in->a, &found->paths, e);
	directory = VEC_PUSH(in->a, &found->directories, e);
	if (!node || !root || !directory)
		return err_result(e);
	*root = path;
	*directory = (struct directory){ .path = path };
	node->name = path;
	name_tree_add(&search->known, node);
	/* The workspace comes first, and is canonical. */
	if (found->paths.count > 1 && find_root(in, path, directory, e) < 0)
		return err_result(e);
	return directory->path.len ? read_project(in, directory->path, &found->projects, e) : 0;
}

int inputs_read_project(const struct inputs *in, project_list *projects, struct err *e)
{
	return read_project(in, in->places.cwd, projects, e);
}

int inputs_read_projects(const struct inputs *in, const struct places *places,
			 const struct profile_doc *doc, struct found_roots *out, struct err *e)
{
	struct root_search search = { .found = out };
	const struct root *configured;
	struct str more;
	size_t count;

	if (add_root(in, places_workspace(places), &search, e) < 0 ||
	    profile_doc_roots(in->a, doc, &configured, &count, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct str path;

		if (places_root(in->a, places, &configured[i], &path, e) < 0)
			return err_result(e);
		if (path.len && add_root(in, path, &search, e) < 0)
			return err_result(e);
	}
	if (!in->run || !in->run->root.len)
		return 0;
	if (arena_copy(in->a, in->run->root, &more, e) < 0)
		return err_result(e);
	return add_root(in, more, &search, e);
}

/* ---- Cordon's own files ------------------------------------------------------------- */

static int add_own(const struct inputs *in, own_list *own, struct str path, enum access access,
		   const char *what, struct err *e)
{
	struct own_file *file;

	if (!path.len)
		return 0;
	file = VEC_PUSH(in->a, own, e);
	if (!file)
		return err_result(e);
	*file = (struct own_file){ .path = path, .access = access, .what = what };
	return 0;
}

/*
 * The whole directory, because approvals.toml is replaced in it during runs; a mount on the file
 * itself would not outlive that. The file as well: it may be a link to somewhere else.
 */
static int add_user_file(const struct inputs *in, own_list *own, struct str file, struct err *e)
{
	if (!file.len)
		return 0;
	if (add_own(in, own, path_parent(file), ACCESS_READ, "your configuration", e) < 0)
		return err_result(e);
	return add_own(in, own, file, ACCESS_READ, "your configuration", e);
}

static int add_state(const struct inputs *in, own_list *own, struct str dir, struct err *e)
{
	struct str secrets = STR_EMPTY;

	if (dir.len && path_join(in->a, dir, STR("secrets"), &secrets, e) < 0)
		return err_result(e);
	if (add_own(in, own, dir, ACCESS_READ, "Cordon's state", e) < 0)
		return err_result(e);
	return add_own(in, own, secrets, ACCESS_DENY, "session secrets", e);
}

int inputs_own_decider(const struct inputs *in, own_list *own, struct err *e)
{
	return in->run ? add_own(in, own, in->run->decider, ACCESS_READ, "who decides (--ask)", e)
		       : 0;
}

/* SECURITY: what makes the roots writable, and what is granted, does not open this one. */
static int add_read_only_root(const struct inputs *in, own_list *own, struct err *e)
{
	struct str path;

	if (!in->run || !in->run->root_is_read_only)
		return 0;
	if (arena_copy(in->a, in->run->root, &path, e) < 0)
		return err_result(e);
	return add_own(in, own, path, ACCESS_READ, "a project that was opened to be read", e);
}

int inputs_own_files(const struct inputs *in, own_list *own, struct err *e)
{
	/*
	 * SECURITY: the user's file at its default place is protected even when another
	 * one is read. XDG_* may point elsewhere for this run alone, so the places that
	 * hold without it are protected as well: they make the next run's policy.
	 */
	if (add_user_file(in, own, in->default_user_file, e) < 0 ||
	    (!str_eq(in->plain_user_file, in->default_user_file) &&
	     add_user_file(in, own, in->plain_user_file, e) < 0) ||
	    (in->options->config_file &&
	     add_own(in, own, in->user_file, ACCESS_READ, "the configuration in use", e) < 0) ||
	    add_own(in, own, in->system_dir, ACCESS_READ, "the configuration of the system", e) <
		    0 ||
	    add_state(in, own, in->state_dir, e) < 0 ||
	    (!str_eq(in->plain_state_dir, in->state_dir) &&
	     add_state(in, own, in->plain_state_dir, e) < 0) ||
	    add_own(in, own, in->program, ACCESS_READ, "the program that enforces", e) < 0 ||
	    inputs_own_decider(in, own, e) < 0 || add_read_only_root(in, own, e) < 0)
		return err_result(e);
	return 0;
}
