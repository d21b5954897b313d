/* SPDX-License-Identifier: MIT */
/*
 * cordon_setup(): puts Cordon beneath the shell of a coding agent, says whether it is there, and takes it away
 * again. All is worked out before anything is changed, and nothing is changed without a yes.
 */
#include "agents/setup.h"

#include <stdio.h>

#include "agents/checked.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "os/os.h"

#define SHOWN(s)   utf8_show((s), (char[512]){ 0 }, 512)
#define SHELL_NAME "cordon-sh"

enum {
	SCOPES = CORDON_SETUP_SYSTEM | CORDON_SETUP_PROJECT,
	ACTIONS = CORDON_SETUP_DRY_RUN | CORDON_SETUP_CHECK | CORDON_SETUP_UNDO |
		  CORDON_SETUP_INSIDE,
};

/* ---- Places --------------------------------------------------------------------------------------- */

/*
 * SECURITY: these names are written into scripts and settings of other programs, each with quoting rules of its
 * own; and Claude splits its prefix at blanks. So no byte that any of them knows may be in one.
 */
static int check_name(struct str path, const char *what, struct err *e)
{
	for (size_t i = 0; i < path.len; i++) {
		char c = path.p[i];

		if (!ascii_is_alpha(c) && !ascii_is_digit(c) && !strchr("/._+-@", c))
			return FAIL(e, ERR_ARGUMENT,
				    "%s, '%s', has a character in its path that settings of agents "
				    "can't have",
				    what, SHOWN(path));
	}
	return 0;
}

static int find_shell(struct setup *s, struct err *e)
{
	struct str directory = path_parent(s->in.program);
	char real[PATH_MAX_BYTES];

	if (!s->in.program.len)
		return FAIL(e, ERR_NOTFOUND, "the file of the running program was removed");
	if (path_join(s->a, directory, STR(SHELL_NAME), &s->places.shell, e) < 0)
		return err_result(e);
	s->places.cordon = s->in.program;
	if (os_real_path(s->places.shell.p, real) && str_is(s->in.program, real))
		return check_name(s->places.shell, SHELL_NAME, e) < 0
			       ? err_result(e)
			       : check_name(s->places.cordon, "the program", e);
	(void)FAIL(e, ERR_NOTFOUND, "'%s' is not there, or another program",
		   SHOWN(s->places.shell));
	err_add_line(e, "install Cordon with 'make install', or make it a link to cordon");
	return err_result(e);
}

/* For what only the agent of this scope is to find. */
static int find_private(struct setup *s, struct err *e)
{
	struct str below;

	if (s->scope == SCOPE_SYSTEM)
		return arena_printf(s->a, &s->places.private, e, "/usr/local/lib/cordon/%s",
				    s->agent->name);
	if (arena_printf(s->a, &below, e, "setup/%s", s->agent->name) < 0 ||
	    path_join(s->a, s->in.state_dir, below, &s->places.private, e) < 0)
		return err_result(e);
	return check_name(s->places.private, "the state directory", e);
}

static int find_journal(struct setup *s, const struct agent *agent, enum agent_scope scope,
			struct str *out, struct err *e)
{
	char hash[SHA256_HEX_BYTES] = "";
	struct str below;

	if (scope == SCOPE_PROJECT)
		sha256_hex(s->places.project, hash);
	if (arena_printf(s->a, &below, e, "setup/%s-%s%s%.16s.json", agent->name,
			 agent_scope_names[scope], hash[0] ? "-" : "", hash) < 0)
		return err_result(e);
	return path_join(s->a, scope == SCOPE_SYSTEM ? STR("/var/lib/cordon") : s->in.state_dir,
			 below, out, e);
}

int setup_find_out(struct setup *s, const struct agent *agent, enum agent_scope scope,
		   enum setup_state *out, struct err *e)
{
	struct err unread = ERR_INIT;
	struct journal journal;
	struct os_file is;
	struct str path;

	if (find_journal(s, agent, scope, &path, e) < 0 || os_look(path, &is, e) < 0)
		return err_result(e);
	*out = is.type == OS_MISSING ? SETUP_NOT : SETUP_THERE;
	if (*out == SETUP_THERE &&
	    (journal_read(s->a, path, &journal, &unread) < 0 || journal.is_unproven))
		*out = SETUP_UNPROVEN;
	return 0;
}

static int find_places(struct setup *s, struct err *e)
{
	if (inputs_find(&s->in, e) < 0)
		return err_result(e);
	s->places.home = s->in.places.home;
	s->places.project = s->in.directory.path;
	if (!s->places.home.len)
		return FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN, "the home directory is not known");
	if (!s->agent)
		return 0;
	return find_private(s, e) < 0 || find_journal(s, s->agent, s->scope, &s->journal, e) < 0
		       ? err_result(e)
		       : 0;
}

int setup_find_program(struct setup *s, const char *name, struct str *out, struct err *e)
{
	return program_find(s->a, os_environment_find(s->in.environment, "PATH"), name, out, e);
}

/* ---- What is asked for ------------------------------------------------------------------------------ */

static int find_agent(struct setup *s, struct err *e)
{
	const char *known[AGENT_MAX], *meant;
	const char *name = s->options->agent;

	s->agent = name ? agent_find(name) : NULL;
	if (!name || s->agent)
		return 0;
	for (size_t i = 0; i < agent_count; i++)
		known[i] = agents[i].name;
	meant = nearest_name(str_of(name), known, agent_count);
	(void)FAIL(e, ERR_ARGUMENT, "there is no agent '%s'%s%s%s", SHOWN(str_of(name)),
		   meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	err_add_line(e, "'cordon setup' lists those that Cordon knows");
	return err_result(e);
}

static bool is_dry(const struct setup *s)
{
	return (s->options->flags & CORDON_SETUP_DRY_RUN) != 0;
}

static int fail_nameless(const struct setup *s, struct err *e)
{
	const char *option = s->action == SETUP_CHECK  ? "--check"
			     : s->action == SETUP_UNDO ? "--undo"
						       : "--dry-run";

	(void)FAIL(e, ERR_ARGUMENT, "%s needs the name of an agent", option);
	err_add_line(e, "for example 'cordon setup claude %s'; 'cordon setup' lists the agents",
		     option);
	return err_result(e);
}

static int find_action(struct setup *s, struct err *e)
{
	const uint64_t flags = s->options->flags, actions = flags & ACTIONS;

	if (flags & ~(uint64_t)(SCOPES | ACTIONS | CORDON_SETUP_PARTIAL))
		return FAIL(e, ERR_ARGUMENT, "cordon_setup: a flag is not known");
	if ((flags & SCOPES) == SCOPES)
		return FAIL(e, ERR_ARGUMENT,
			    "only one of --system, --user and --project can be used");
	if (actions & (actions - 1) && actions != (CORDON_SETUP_DRY_RUN | CORDON_SETUP_UNDO))
		return FAIL(e, ERR_ARGUMENT,
			    "only one of --dry-run, --check, --undo and --inside can be used");
	s->scope = flags & CORDON_SETUP_SYSTEM	  ? SCOPE_SYSTEM
		   : flags & CORDON_SETUP_PROJECT ? SCOPE_PROJECT
						  : SCOPE_USER;
	s->action = actions & CORDON_SETUP_UNDO	      ? SETUP_UNDO
		    : actions == CORDON_SETUP_DRY_RUN ? SETUP_PLAN
		    : actions == CORDON_SETUP_CHECK   ? SETUP_CHECK
		    : actions == CORDON_SETUP_INSIDE  ? SETUP_PROVE
		    : s->options->agent		      ? SETUP_DO
						      : SETUP_LIST;
	if (s->action == SETUP_PROVE && s->options->agent)
		return FAIL(e, ERR_ARGUMENT, "--inside takes no agent");
	if (s->action != SETUP_PROVE && s->action != SETUP_LIST && !s->options->agent)
		return fail_nameless(s, e);
	if (s->scope == SCOPE_SYSTEM && !os_is_root() &&
	    (s->action == SETUP_DO || (s->action == SETUP_UNDO && !is_dry(s))))
		return FAIL_CAUSE(e, CAUSE_NEEDS_ADMINISTRATOR,
				  "--system changes files of all users; run it as root");
	return find_agent(s, e);
}

static int fail_way(struct setup *s, bool is_partial, struct err *e)
{
	const struct agent_way *other = agent_find_way(s->agent, s->scope, !is_partial);
	const char *scope = agent_scope_names[s->scope];
	char scopes[64] = "";
	size_t len = 0;

	(void)FAIL(e, ERR_ARGUMENT, "'%s' can't be set up %s for a %s", s->agent->name,
		   is_partial ? "in part" : "in full", scope);
	if (other && !is_partial) {
		err_add_line(e, "it can be set up in part, but then %s", other->gap);
		err_add_line(e, "if that is enough, add --partial");
	} else if (other) {
		err_add_line(e, "it can be set up in full: leave out --partial");
	}
	for (size_t i = 0; i < SCOPE_COUNT; i++)
		if (i != s->scope && agent_find_way(s->agent, (enum agent_scope)i, false))
			len += (size_t)snprintf(scopes + len, sizeof(scopes) - len, "%s--%s",
						len ? " or " : "", agent_scope_names[i]);
	if (len)
		err_add_line(e, "it can be set up in full with %s", scopes);
	return err_result(e);
}

static int fail_missing(struct setup *s, struct err *e)
{
	const char *path = os_environment_find(s->in.environment, "PATH");

	(void)FAIL(e, ERR_NOTFOUND, "%s was not found: there is no program '%s' in PATH",
		   s->agent->title, s->agent->program);
	err_add_line(e, "looked in %s", SHOWN(str_of(path ? path : "")));
	return err_result(e);
}

/* Whether the journal says that a piece of the way was put somewhere. */
static int is_way_done(struct setup *s, const struct agent_way *way, const struct journal *journal,
		       bool *out, struct err *e)
{
	*out = false;
	for (size_t i = 0; i < AGENT_MAX_PIECES && way->pieces[i].kind != PIECE_NONE; i++) {
		char real[PATH_MAX_BYTES] = "";
		struct str path;

		if (setup_find_place(s, way->pieces[i].place, &path, e) < 0)
			return err_result(e);
		(void)os_real_path(path.p, real);
		for (size_t k = 0; k < journal->entries.count; k++)
			*out |= str_eq(journal->entries.items[k].path, path) ||
				str_is(journal->entries.items[k].path, real);
	}
	return 0;
}

/* Of a scope with two ways, the one that was set up; who has set up both may say which. */
static int find_way_done(struct setup *s, bool is_partial, struct err *e)
{
	const struct agent_way *wanted = agent_find_way(s->agent, s->scope, is_partial);
	const struct agent_way *other = agent_find_way(s->agent, s->scope, !is_partial);
	struct err unread = ERR_INIT; /* who can't read it has the wanted one checked */
	struct journal journal;
	bool has_wanted, has_other;

	s->way = wanted ? wanted : other;
	if (!wanted || !other || journal_read(s->a, s->journal, &journal, &unread) < 0)
		return 0;
	if (is_way_done(s, wanted, &journal, &has_wanted, e) < 0 ||
	    is_way_done(s, other, &journal, &has_other, e) < 0)
		return err_result(e);
	s->way = has_other && !has_wanted ? other : wanted;
	return 0;
}

static int find_way(struct setup *s, struct err *e)
{
	bool is_partial = (s->options->flags & CORDON_SETUP_PARTIAL) != 0;
	struct str program;

	s->way = agent_find_way(s->agent, s->scope, is_partial);
	if (s->action == SETUP_CHECK && find_way_done(s, is_partial, e) < 0)
		return err_result(e);
	if (!s->way)
		return fail_way(s, is_partial, e);
	if (find_shell(s, e) < 0 || setup_find_program(s, s->agent->program, &program, e) < 0)
		return err_result(e);
	return program.len ? 0 : fail_missing(s, e);
}

/* ---- Doing it ----------------------------------------------------------------------------------------- */

/* Without a journal it is set up if any of its pieces is there; who can't look believes that it is. */
static bool is_set_up(struct setup *s)
{
	struct err ignored = ERR_INIT;
	enum setup_state is;

	if (setup_find_out(s, s->agent, s->scope, &is, &ignored) < 0 || is != SETUP_NOT)
		return true;
	for (size_t i = 0; i < s->changes.count; i++)
		if (!change_is_needed(&s->changes.items[i]) && !s->changes.items[i].may_stay)
			return true;
	return false;
}

static bool is_needed(const struct setup *s)
{
	for (size_t i = 0; i < s->changes.count; i++)
		if (change_is_needed(&s->changes.items[i]))
			return true;
	return false;
}

/* Shows it, and asks. */
static int confirm(struct setup *s, bool *out, struct err *e)
{
	scoped_buf text = BUF_INIT(REPORT_MAX_BYTES);
	struct page page = { .out = &text, .home = s->places.home };

	setup_print(&page, s);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	*out = !s->options->confirm || s->options->confirm(s->options->user, text.p) != 0;
	s->is_refused = !*out;
	return 0;
}

static int apply(struct setup *s, struct err *e)
{
	for (size_t i = 0; i < s->changes.count; i++)
		if (change_apply(&s->changes.items[i], e) < 0)
			return err_result(e);
	s->made = s->changes;
	s->is_done = true;
	return 0;
}

/* The list of agents says of one whether it was ever proven. */
static int check_and_note(struct setup *s, struct err *e)
{
	struct journal journal;
	bool is_proven;

	if (setup_check(s, e) < 0 || journal_read(s->a, s->journal, &journal, e) < 0)
		return err_result(e);
	is_proven = s->proof.is_there && !s->problems.count;
	if (!journal.file.is_there || journal.is_unproven == !is_proven)
		return 0;
	journal.is_unproven = !is_proven;
	return journal_write(s->a, &journal, e);
}

static int plan_and_check(struct setup *s, struct err *e)
{
	s->changes = (struct change_list){ .items = NULL };
	return setup_plan(s, e) < 0 ? err_result(e) : check_and_note(s, e);
}

/* The probe of what was never set up would prove nothing that anybody has to be told. */
static int check(struct setup *s, struct err *e)
{
	if (setup_plan(s, e) < 0)
		return err_result(e);
	s->is_set_up = is_set_up(s);
	return s->is_set_up ? setup_check(s, e) : 0;
}

static int set_up(struct setup *s, struct err *e)
{
	struct journal journal;
	bool is_wanted = true;

	if (setup_plan(s, e) < 0)
		return err_result(e);
	s->is_set_up = is_set_up(s);
	if (s->action == SETUP_PLAN)
		return 0;
	if (!is_needed(s)) {
		s->is_done = true;
		return check_and_note(s, e);
	}
	if (confirm(s, &is_wanted, e) < 0)
		return err_result(e);
	if (!is_wanted)
		return 0;
	if (journal_read(s->a, s->journal, &journal, e) < 0 ||
	    journal_add(s->a, &journal, &s->changes, e) < 0)
		return err_result(e);
	journal.is_unproven = true;
	if (journal_write(s->a, &journal, e) < 0 || apply(s, e) < 0)
		return err_result(e);
	return plan_and_check(s, e);
}

static int undo(struct setup *s, struct err *e)
{
	struct journal journal;
	bool is_wanted = true;

	if (journal_read(s->a, s->journal, &journal, e) < 0)
		return err_result(e);
	s->is_set_up = journal.file.is_there;
	if (is_dry(s))
		return setup_plan_undo(s, &journal, e);
	for (size_t i = 0; i < journal.entries.count; i++)
		os_settings_drop_leftover(journal.entries.items[i].path);
	if (!journal.file.is_there) {
		os_settings_drop_leftover(s->journal);
		os_settings_drop_directory(path_parent(s->journal));
		s->is_done = true;
		return 0;
	}
	if (setup_plan_undo(s, &journal, e) < 0 || confirm(s, &is_wanted, e) < 0)
		return err_result(e);
	if (!is_wanted)
		return 0;
	return apply(s, e) < 0 || journal_remove(&journal, e) < 0 ? err_result(e) : 0;
}

static int act(struct setup *s, struct err *e)
{
	if (find_action(s, e) < 0)
		return err_result(e);
	if (s->action == SETUP_PROVE)
		return outer_find(s->a, &s->proof, e);
	if (find_places(s, e) < 0)
		return err_result(e);
	if (s->action == SETUP_LIST)
		return 0;
	if (s->action == SETUP_UNDO)
		return undo(s, e);
	if (find_way(s, e) < 0)
		return err_result(e);
	return s->action == SETUP_CHECK ? check(s, e) : set_up(s, e);
}

/* Whether the answer is no. */
static bool is_no(const struct setup *s)
{
	if (s->action == SETUP_PROVE)
		return !s->proof.is_there;
	if (s->action == SETUP_CHECK)
		return s->problems.count > 0 || s->way->gap || !s->proof.is_there;
	if (s->action == SETUP_DO)
		return !s->is_done || s->problems.count > 0 || !s->proof.is_there;
	return s->action == SETUP_UNDO && !s->is_done && !is_dry(s);
}

/* ---- For the doctor ----------------------------------------------------------------------------------- */

static int check_done(struct setup *s, struct err *e)
{
	struct str program;

	if (find_shell(s, e) < 0 || setup_find_program(s, s->agent->program, &program, e) < 0)
		return err_result(e);
	if (!program.len)
		return fail_missing(s, e);
	if (find_way_done(s, false, e) < 0)
		return err_result(e);
	if (!s->way)
		return FAIL(e, ERR_INTERNAL, "there is no way to set it up");
	return setup_plan(s, e) < 0 ? err_result(e) : setup_check(s, e);
}

static int add_checked(struct setup *s, agent_checked_list *out, struct err *e)
{
	struct agent_checked *checked = VEC_PUSH(s->a, out, e);
	struct err why = ERR_INIT;
	struct str *problem;
	int r;

	if (!checked)
		return err_result(e);
	r = check_done(s, &why);
	*checked = (struct agent_checked){ .name = s->agent->name,
					   .title = s->agent->title,
					   .scope = agent_scope_names[s->scope],
					   .gap = s->way ? s->way->gap : NULL,
					   .is_proven = s->proof.is_there };
	for (size_t i = 0; i < s->problems.count; i++) {
		problem = VEC_PUSH(s->a, &checked->problems, e);
		if (!problem)
			return err_result(e);
		*problem = s->problems.items[i];
	}
	if (r == 0)
		return 0;
	problem = VEC_PUSH(s->a, &checked->problems, e);
	return problem ? arena_copy(s->a, str_of(why.text), problem, e) : err_result(e);
}

int agents_check(struct arena *a, const struct cordon_load_options *load, agent_checked_list *out,
		 struct err *e)
{
	for (size_t i = 0; i < agent_count * SCOPE_COUNT; i++) {
		struct cordon_setup_options *options = ARENA_NEW(a, struct cordon_setup_options, e);
		struct setup *s = ARENA_NEW(a, struct setup, e);
		struct err unseen = ERR_INIT;
		enum setup_state is;

		if (!options || !s)
			return err_result(e);
		s->a = a;
		s->options = options;
		s->in = (struct inputs){ .a = a, .texts = a, .options = load };
		s->action = SETUP_CHECK;
		s->agent = &agents[i / SCOPE_COUNT];
		s->scope = (enum agent_scope)(i % SCOPE_COUNT);
		s->stays_out = s->scope != SCOPE_PROJECT;
		if (find_places(s, &unseen) < 0 ||
		    setup_find_out(s, s->agent, s->scope, &is, &unseen) < 0 || is == SETUP_NOT)
			continue;
		if (add_checked(s, out, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int make(cordon_report *r, const struct cordon_setup_options *options,
		const struct cordon_load_options *load, struct err *e)
{
	struct setup *s = ARENA_NEW(&r->arena, struct setup, e);
	struct cordon_setup_options *kept = ARENA_NEW(&r->arena, struct cordon_setup_options, e);

	if (!s || !kept)
		return err_result(e);
	*kept = *options;
	s->a = &r->arena;
	s->options = kept;
	s->in = (struct inputs){ .a = &r->arena, .texts = &r->arena, .options = load };
	if (act(s, e) < 0)
		return err_result(e);
	r->data = s;
	r->home = s->places.home;
	r->error_count = is_no(s);
	r->schema = "setup/1";
	r->describe = setup_describe;
	r->print_text = setup_print;
	return 0;
}

int cordon_setup(const struct cordon_setup_options *options, cordon_report **report,
		 cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_setup_options own;
	struct cordon_load_options load;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_setup: report is NULL");
	else if (options_read_setup(options, &own, &e) == 0 &&
		 options_read(own.load, &load, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (make(r, &own, &load, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
