/* SPDX-License-Identifier: MIT */
/*
 * CORDON_RUN_AGENT: the command is a coding agent, inside as a whole (policy/agent.h). Its own profile, its own
 * options and variables; what it saves its state in is made where it is missing.
 */
#include <errno.h>

#include "base/nearest.h"
#include "base/path.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "os/os.h"
#include "os/program.h"
#include "policy/agent.h"

#define SHOWN(s) utf8_show((s), (char[512]){ 0 }, 512)

/* ---- Which agent, and where it is ------------------------------------------------------------------------ */

int program_find(struct arena *a, const char *path, const char *name, struct str *out,
		 struct err *e)
{
	struct str rest = str_of(path ? path : "");

	*out = STR_EMPTY;
	while (rest.len) {
		struct str directory = str_first(rest, str_find(rest, ':')), file;

		rest = str_from(rest, directory.len + 1);
		if (!path_is_absolute(directory))
			continue;
		if (arena_printf(a, &file, e, "%.*s/%s", (int)directory.len, directory.p, name) < 0)
			return err_result(e);
		if (os_is_executable(file.p)) {
			*out = file;
			return 0;
		}
	}
	return 0;
}

static int fail_unknown(const char *name, struct err *e)
{
	const char *known[16], *meant;
	size_t count = 0;

	for (; count < agent_profile_count && count < COUNT_OF(known); count++)
		known[count] = agent_profiles[count].name;
	meant = nearest_name(str_of(name), known, count);
	(void)FAIL(e, ERR_ARGUMENT, "there is no agent '%s'%s%s%s", SHOWN(str_of(name)),
		   meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	err_add_line(e, "'cordon agent' lists those that Cordon knows; to run another one inside: "
			"cordon run -P :agent -- PROGRAM");
	return err_result(e);
}

struct agent_start {
	struct arena *a;
	struct asked *asked;
	struct inputs in;
	const struct agent_profile *agent;
	struct str program;
	bool is_trial; /* nothing is made, but kept in `makes` */
	VEC(struct imagined) makes;
};

static int find_program(struct agent_start *l, struct err *e)
{
	const char *path = os_environment_find(l->in.environment, "PATH");

	if (program_find(l->a, path, l->agent->program, &l->program, e) < 0)
		return err_result(e);
	if (l->program.len)
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_AGENT_NOT_FOUND,
			 "%s was not found: there is no program '%s' in PATH", l->agent->title,
			 l->agent->program);
	err_add_line(e, "looked in %s", SHOWN(str_of(path ? path : "")));
	return err_result(e);
}

/* ---- What it is started with ------------------------------------------------------------------------------ */

static int fail_moved(const struct agent_start *l, const struct agent_move *m, const char *value,
		      struct err *e)
{
	if (!m->usual)
		return FAIL(e, ERR_ARGUMENT,
			    "$%s is set, and %s is started with one of Cordon's: write yours "
			    "to a file, and unset it",
			    m->variable, l->agent->title);
	(void)FAIL(e, ERR_ARGUMENT,
		   "$%s is '%s', and the profile :agent-%s knows only what is in %s", m->variable,
		   SHOWN(str_of(value)), l->agent->name, m->usual);
	err_add_line(e,
		     "unset %s; or make a profile that knows that directory, and use "
		     "'cordon run -P'",
		     m->variable);
	return err_result(e);
}

/* SECURITY: elsewhere nothing of what it obeys would be read-only. */
static int check_move(const struct agent_start *l, const struct agent_move *m, const char *value,
		      struct err *e)
{
	struct str usual;

	if (!value || !value[0])
		return 0;
	if (!m->usual)
		return fail_moved(l, m, value, e);
	if (arena_printf(l->a, &usual, e, "%s%s", l->in.places.home.p, m->usual + 1) < 0)
		return err_result(e);
	return str_is(usual, value) ? 0 : fail_moved(l, m, value, e);
}

/* What sets a variable inside counts for more than what it is outside. */
static const struct agent_move home_move = { "HOME", "~" };

static int check_set(const struct agent_start *l, struct str name, const char *value, struct err *e)
{
	for (const struct agent_move *m = l->agent->moves; m->variable; m++)
		if (variable_is(name, str_of(m->variable), os_variables_fold))
			return check_move(l, m, value, e);
	return variable_is(name, str_of(home_move.variable), os_variables_fold)
		       ? check_move(l, &home_move, value, e)
		       : 0;
}

static int check_moves(const struct agent_start *l, struct err *e)
{
	const char *const *set = l->asked->run.set_environment;

	for (const struct agent_move *m = l->agent->moves; m->variable; m++)
		if (check_move(l, m, os_environment_find(l->in.environment, m->variable), e) < 0)
			return err_result(e);
	for (; set && *set; set++) {
		struct str name = str_first(str_of(*set), str_find(str_of(*set), '='));

		if ((*set)[name.len] && check_set(l, name, *set + name.len + 1, e) < 0)
			return err_wrap(e, "--env");
	}
	return 0;
}

static int check_environment(const struct agent_start *l, const struct environment *env,
			     struct err *e)
{
	for (size_t i = 0; i < env->set.count; i++) {
		const struct env_value *set = &env->set.items[i];

		if (check_set(l, set->name, set->value.p, e) < 0)
			return err_wrap(e, "environment.set");
	}
	return 0;
}

static int choose_profile(struct agent_start *l, struct err *e)
{
	struct cordon_load_options *load = &l->asked->load;
	struct str name;

	if (load->mode)
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "a mode (--mode, --full-auto) and an agent can't be used "
				  "together: it has a "
				  "profile of its own, :agent-%s, which -P can replace",
				  l->agent->name);
	if (load->profile)
		return 0;
	if (arena_printf(l->a, &name, e, ":agent-%s", l->agent->name) < 0)
		return err_result(e);
	load->profile = name.p;
	return 0;
}

static size_t add_words(const char **to, size_t count, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		to[count++] = words[i];
	return count;
}

static bool has_word(const char *const *words, const char *wanted)
{
	size_t length = wanted ? strlen(wanted) : 0;

	for (size_t i = 0; wanted && words[i]; i++)
		if (strncmp(words[i], wanted, length) == 0 &&
		    (words[i][length] == '\0' || words[i][length] == '='))
			return true;
	return false;
}

/* NAME=~/x, with the home for the tilde. */
static int add_variables(const struct agent_start *l, const char **to, struct err *e)
{
	const char *const *variables = l->agent->variables;

	for (size_t i = 0; variables[i]; i++) {
		struct str all = str_of(variables[i]),
			   name = str_first(all, str_find(all, '=') + 1);
		struct str set;

		to[i] = variables[i];
		if (!str_has_prefix(str_from(all, name.len), STR("~/")))
			continue;
		if (arena_printf(l->a, &set, e, "%.*s%s%s", STR_ALL(name), l->in.places.home.p,
				 all.p + name.len + 1) < 0)
			return err_result(e);
		to[i] = set.p;
	}
	return 0;
}

/* Its own words and variables come first, so that those of the caller win. */
static int set_words(struct agent_start *l, struct err *e)
{
	struct cordon_run_options *run = &l->asked->run;
	const char *const *given = run->command + 1;
	const bool has_own = !has_word(given, l->agent->unless);
	const char **words = arena_array(
		l->a, count_words(given) + count_words(l->agent->words) + 2, sizeof(*words), e);
	const char **variables = arena_array(
		l->a, count_words(run->set_environment) + count_words(l->agent->variables) + 1,
		sizeof(*variables), e);
	size_t count = 0;

	if (!words || !variables)
		return err_result(e);
	words[count++] = l->program.p;
	if (has_own)
		count = add_words(words, count, l->agent->words);
	(void)add_words(words, count, given);
	run->command = words;
	if (add_variables(l, variables, e) < 0)
		return err_result(e);
	(void)add_words(variables, count_words(l->agent->variables), run->set_environment);
	run->set_environment = variables;
	return 0;
}

/* `are_callers`: the words that switch it off are left out, as the caller has some of that kind. */
static void say_sandbox(const struct agent_start *l, bool are_callers)
{
	const struct cordon_load_options *load = &l->asked->load;
	char text[512];

	if (!load->on_warning || !l->agent->has_sandbox)
		return;
	if (are_callers)
		(void)snprintf(text, sizeof(text),
			       "%s's own sandbox can't run inside Cordon's: switch it off in your "
			       "%s",
			       l->agent->title, l->agent->unless);
	else
		(void)snprintf(text, sizeof(text),
			       "note: %s's own sandbox is off: it can't run inside Cordon's",
			       l->agent->title);
	load->on_warning(load->user, text);
}

/* ---- What it saves its state in ----------------------------------------------------------------------------- */

static int find_below_home(const struct agent_start *l, const char *path, struct str *out,
			   struct err *e)
{
	return path_join(l->a, l->in.places.home, str_of(path + 2), out, e);
}

/* Where the nearest that is there leads, and the rest below it. */
static int find_future(struct arena *a, struct str path, struct str *out, struct err *e)
{
	struct str above = path, copy;
	char found[PATH_MAX_BYTES];

	do {
		above = path_parent(above);
		if (arena_copy(a, above, &copy, e) < 0)
			return err_result(e);
	} while (!os_real_path(copy.p, found) && above.len > 1);
	return arena_copy(a, str_of(found), &copy, e) < 0
		       ? err_result(e)
		       : path_join(a, copy, path_below(path, above), out, e);
}

static int note_missing(struct agent_start *l, struct str path, bool is_file, struct err *e)
{
	struct imagined *added;
	struct os_file file;
	struct str future;

	if (os_look(path, &file, e) < 0)
		return err_result(e);
	if (file.type != OS_MISSING)
		return 0;
	if (find_future(l->a, path, &future, e) < 0 || !(added = VEC_PUSH(l->a, &l->makes, e)))
		return err_result(e);
	*added = (struct imagined){ .path = future, .is_file = is_file };
	return 0;
}

/* Both are for their owner alone, as agents make them. */
static int make_directory(struct agent_start *l, const char *path, struct err *e)
{
	struct str directory, inner;

	if (find_below_home(l, path, &directory, e) < 0 ||
	    path_join(l->a, directory, STR("x"), &inner, e) < 0)
		return err_result(e);
	return l->is_trial ? note_missing(l, directory, false, e) : os_make_parents(inner, e);
}

static int make_file(struct agent_start *l, const char *path, const char *text, struct err *e)
{
	struct str place;
	struct os_file file;

	if (find_below_home(l, path, &place, e) < 0 || os_look(place, &file, e) < 0)
		return err_result(e);
	if (l->is_trial)
		return note_missing(l, place, true, e);
	if (file.type != OS_MISSING || os_create_file(place, str_of(text), false, e) == 0)
		return 0;
	if (e->code != ERR_SYS || e->os_error != EEXIST)
		return err_result(e);
	err_clear(e);
	return 0;
}

/* What is writable has to be there: the directory around it is read-only. */
static int make_state(struct agent_start *l, const struct agent_file *f, struct err *e)
{
	switch (f->kind) {
	case AGENT_STATE:
	case AGENT_SAVED:
		return make_directory(l, f->path, e);
	case AGENT_SAVED_FILE:
		return make_file(l, f->path, "", e);
	case AGENT_CREDENTIAL:
	case AGENT_READ:
	case AGENT_OBEYED:
	case AGENT_EACH:
		return 0;
	}
	return 0;
}

static int make_states(struct agent_start *l, struct err *e)
{
	for (const struct agent_file *f = l->agent->files; f->path; f++)
		if (make_state(l, f, e) < 0)
			return err_wrap(e, "the state of %s", l->agent->title);
	if (l->agent->first_file && make_file(l, l->agent->first_file, l->agent->first_text, e) < 0)
		return err_wrap(e, "the state of %s", l->agent->title);
	return 0;
}

/* ---- What it obeys in each project ------------------------------------------------------------------------ */

typedef VEC(const char *) path_texts;

struct scan {
	struct agent_start *l;
	struct str above; /* "~/.claude/projects" */
	struct str inner; /* what to look for in each directory there */
	path_texts found;
};

/* Has it an entry of its own? */
static bool is_known(const struct scan *s, struct str name)
{
	for (const struct agent_file *f = s->l->agent->files; f->path; f++) {
		struct str path = str_of(f->path);

		if (str_has_prefix(path, s->above) && path.p[s->above.len] == '/' &&
		    str_eq(str_from(path, s->above.len + 1), name))
			return true;
	}
	return false;
}

static int add_found(struct scan *s, struct str path, struct err *e)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	const char **place = VEC_PUSH(s->l->a, &s->found, e);

	if (!place)
		return err_result(e);
	*place = path.p;
	return 0;
}

/* Missing ones are made, or a command would. Where they can't be made, a command can't either. */
static int look_at_project(void *arg, struct str name, enum os_type type, struct err *e)
{
	struct scan *s = arg;
	struct str directory, path, inner;
	struct os_file file;

	if (type != OS_DIR || is_known(s, name))
		return 0;
	if (find_below_home(s->l, s->above.p, &directory, e) < 0 ||
	    path_join(s->l->a, directory, name, &path, e) < 0 ||
	    (s->inner.len && path_join(s->l->a, path, s->inner, &path, e) < 0) ||
	    path_join(s->l->a, path, STR("x"), &inner, e) < 0)
		return err_result(e);
	if (os_look(path, &file, e) < 0)
		return err_result(e);
	if (s->l->is_trial && file.type == OS_MISSING)
		return note_missing(s->l, path, false, e) < 0 ? err_result(e)
							      : add_found(s, path, e);
	if (!s->l->is_trial && os_make_parents(inner, e) < 0) {
		if (e->code != ERR_SYS || (e->os_error != EACCES && e->os_error != EROFS))
			return err_wrap(e, "the state of %s", s->l->agent->title);
		err_clear(e);
	}
	if (os_look(path, &file, e) < 0)
		return err_result(e);
	return file.type == OS_DIR || file.type == OS_LINK ? add_found(s, path, e) : 0;
}

/* Of "~/x/ * /y" looks for y in each directory of x; without a y it is that directory itself. */
static int look_in_each(struct scan *s, const char *pattern, struct err *e)
{
	struct str all = str_of(pattern), path;
	size_t star = str_find(all, '*');

	if (arena_copy(s->l->a, str_first(all, star - 1), &s->above, e) < 0 ||
	    find_below_home(s->l, s->above.p, &path, e) < 0)
		return err_result(e);
	s->inner = str_from(str_from(all, star + 1), 1);
	if (os_list(path, look_at_project, s, e) == 0)
		return 0;
	if (e->code != ERR_SYS || e->os_error != ENOENT)
		return err_result(e);
	err_clear(e);
	return 0;
}

static int add_reads(struct agent_start *l, const struct scan *s, struct err *e)
{
	struct cordon_load_options *load = &l->asked->load;
	const char **list;

	if (!s->found.count)
		return 0;
	list = arena_array(l->a, load->add_read_count + s->found.count, sizeof(*list), e);
	if (!list)
		return err_result(e);
	for (size_t i = 0; i < load->add_read_count; i++)
		list[i] = load->add_read[i];
	for (size_t i = 0; i < s->found.count; i++)
		list[load->add_read_count + i] = s->found.items[i];
	load->add_read = list;
	load->add_read_count += s->found.count;
	return 0;
}

/*
 * SECURITY: what an agent obeys in a directory that it saves in. These lie in directories that have any name, and an
 * entry with a '*' can only deny (P6).
 */
static int keep_obeyed(struct agent_start *l, struct err *e)
{
	struct scan s = { .l = l };

	for (const struct agent_file *f = l->agent->files; f->path; f++)
		if (f->kind == AGENT_EACH && look_in_each(&s, f->path, e) < 0)
			return err_result(e);
	return add_reads(l, &s, e);
}

/* ---- First whether it may start, then what it needs ----------------------------------------------------------- */

/* With the policy as it would be. Nobody is asked or told: that is for the run. */
static int judge(struct agent_start *l, struct err *e)
{
	struct asked trial = *l->asked;
	struct callbacks silent;
	cordon_policy *policy;
	int status;

	trial.run.load = &trial.load;
	trial.run.ask = NULL;
	trial.run.on_ask = NULL;
	trial.run.ask_timeout_ms = 0;
	trial.run.flags &= ~(uint64_t)CORDON_RUN_RETRY;
	trial.load.on_warning = NULL;
	trial.load.on_progress = NULL;
	policy = callbacks_load(&silent, l->a, &trial, true, e);
	status = policy ? asked_check_agent(l->a, &trial, policy, e) : err_result(e);
	cordon_policy_free(policy);
	return status;
}

static int prepare(struct agent_start *l, bool is_rehearsal, struct err *e)
{
	struct asked *asked = l->asked;
	const struct cordon_load_options before = asked->load;

	l->is_trial = true;
	if (make_states(l, e) < 0 || keep_obeyed(l, e) < 0)
		return err_result(e);
	asked->makes = l->makes.items;
	asked->make_count = l->makes.count;
	if (is_rehearsal || (l->makes.count && judge(l, e) < 0))
		return is_rehearsal ? 0 : err_result(e);
	asked->makes = NULL;
	asked->make_count = 0;
	asked->load = before;
	l->is_trial = false;
	return make_states(l, e) < 0 ? err_result(e) : keep_obeyed(l, e);
}

/* ---- All of it ---------------------------------------------------------------------------------------------- */

int asked_agent(struct arena *a, struct asked *asked, bool is_rehearsal, struct err *e)
{
	struct agent_start l = { .a = a,
				 .asked = asked,
				 .in = { .a = a, .texts = a, .options = &asked->load },
				 .agent = NULL };
	bool are_callers;

	asked->agent = NULL;
	asked->makes = NULL;
	asked->make_count = 0;
	if (!(asked->run.flags & CORDON_RUN_AGENT))
		return 0;
	if (asked->run.flags & CORDON_RUN_SHELL || asked->run.policy)
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "CORDON_RUN_AGENT can't be used with %s",
				  asked->run.policy ? "a loaded policy" : "CORDON_RUN_SHELL");
	l.agent = agent_profile_find(str_of(asked->run.command[0]));
	asked->agent = l.agent;
	if (!l.agent)
		return fail_unknown(asked->run.command[0], e);
	if (choose_profile(&l, e) < 0 || inputs_find(&l.in, e) < 0 || find_program(&l, e) < 0)
		return err_result(e);
	if (!l.in.places.home.len)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN, "the home directory is not known");
	are_callers = has_word(asked->run.command + 1, l.agent->unless);
	if (check_moves(&l, e) < 0 || set_words(&l, e) < 0 || prepare(&l, is_rehearsal, e) < 0)
		return err_result(e);
	say_sandbox(&l, are_callers);
	return 0;
}

static int check_program(struct arena *a, const char *program, const cordon_policy *policy,
			 struct err *e)
{
	char real[PATH_MAX_BYTES];
	struct str found;

	if (policy->plan->is_unsandboxed)
		return 0;
	if (arena_copy(a, str_of(os_real_path(program, real) ? real : program), &found, e) < 0)
		return err_result(e);
	if (!plan_may_replace(policy->plan, found, os_may_write) &&
	    !plan_may_replace(policy->plan, str_of(program), os_may_write))
		return 0;
	(void)FAIL_CAUSE(
		e, CAUSE_AGENT_WRITABLE,
		"the program '%s' lies in what the policy lets a command write, so a command "
		"could change what is started next time",
		SHOWN(found));
	err_add_line(e, "install the agent elsewhere, or deny the command to write there");
	return err_result(e);
}

/* ---- What an option or a grant opens of it -------------------------------------------------------------------- */

/* What it obeys, and lies in or around the path that a rule opens; NULL. */
static int find_opened(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		       const struct rule *rule, const struct agent_file **out, struct err *e)
{
	*out = NULL;
	for (const struct agent_file *f = asked->agent->files; f->path; f++) {
		struct located found;
		struct str path;

		if (agent_file_is_saved(f) || f->kind == AGENT_EACH)
			continue;
		if (path_join(a, policy->plan_inputs.places.home, str_of(f->path + 2), &path, e) <
			    0 ||
		    load_locate(a, policy, path, &found, e) < 0)
			return err_result(e);
		if (path_is_under(found.path, rule->path) ||
		    (f->kind == AGENT_STATE && path_is_under(rule->path, found.path)))
			*out = f;
		/* An entry below it may close it again, as those of the profile do. */
		if (*out && path_is_under(found.path, rule->path) &&
		    plan_resolve(policy->plan, found.path).rule != rule)
			*out = NULL;
		if (*out)
			return 0;
	}
	return 0;
}

static bool is_saved_anyway(const struct asked *asked, const cordon_policy *policy, struct str path)
{
	struct str home = policy->plan_inputs.places.home;
	const struct agent_file *file =
		path_is_under(path, home) ? agent_file_around(asked->agent, path_below(path, home))
					  : NULL;

	return file && agent_file_is_saved(file);
}

/* Once: what is open is open. A line of a profile is there to stay, and was meant. */
static int warn_opened(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		       struct err *e)
{
	const struct plan *plan = policy->plan;

	for (size_t i = 0; i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];
		const bool is_option = rule->kind == RULE_ENTRY && rule->origin.file &&
				       rule->origin.file[0] == '-';
		const struct agent_file *file;
		struct str text;

		if (rule->access != ACCESS_WRITE || (!is_option && rule->kind != RULE_GRANT) ||
		    plan_resolve(plan, rule->path).access != ACCESS_WRITE ||
		    is_saved_anyway(asked, policy, rule->path))
			continue;
		if (find_opened(a, asked, policy, rule, &file, e) < 0)
			return err_result(e);
		if (!file)
			continue;
		if (arena_printf(a, &text, e,
				 "%s%.*s lets commands change what %s obeys the next time, in %s "
				 "(docs/agents.md)",
				 is_option ? "" : "the grant of ", STR_ARG(rule->key),
				 asked->agent->title, file->path) < 0)
			return err_result(e);
		return load_warn(&asked->load, rule->origin, text, e);
	}
	return 0;
}

int asked_check_agent(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		      struct err *e)
{
	struct agent_start l = { .a = a };

	if (!asked->agent)
		return 0;
	l.agent = asked->agent;
	l.in.places.home = policy->plan_inputs.places.home;
	if (check_environment(&l, &policy->plan->policy->profile->env, e) < 0)
		return err_result(e);
	return check_program(a, asked->run.command[0], policy, e) < 0
		       ? err_result(e)
		       : warn_opened(a, asked, policy, e);
}
