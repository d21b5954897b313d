/* SPDX-License-Identifier: MIT */
/*
 * cordon_check(): everything that can be found wrong with a configuration in one
 * go. Loading stops at the first error; so when the whole does not load, all its
 * errors are looked for, and when it does, every profile is compiled.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "base/name_tree.h"
#include "lib/lib.h"
#include "os/os.h"
#include "policy/errors.h"
#include "report/report.h"

struct problem {
	struct origin origin;
	struct str message; /* NUL-terminated */
};

/* Each once, however many profiles share it. */
struct problems {
	VEC(struct problem) list;
	struct name_node *known; /* by place and message */
};

struct check {
	struct arena *a;
	struct inputs *in;
	struct problems errors;
	struct problems warnings;
	VEC(struct str) files;	  /* those that are there, each once */
	VEC(struct str) profiles; /* the user's own */
	struct str in_force;
	bool is_base; /* others extend the profile that is checked now */
};

static int add_problem(struct check *c, struct problems *problems, struct problem problem,
		       struct err *e)
{
	const struct origin *origin = &problem.origin;
	struct problem *added;
	struct name_node *node;
	struct str key;

	if (arena_printf(c->a, &key, e, "%s:%" PRIu32 ":%" PRIu32 ": %s",
			 origin->file ? origin->file : "", origin->line, origin->column,
			 problem.message.p) < 0)
		return err_result(e);
	if (name_tree_find(problems->known, key))
		return 0;
	node = ARENA_NEW(c->a, struct name_node, e);
	added = VEC_PUSH(c->a, &problems->list, e);
	if (!node || !added)
		return err_result(e);
	node->name = key;
	name_tree_add(&problems->known, node);
	*added = problem;
	return 0;
}

static int add_error(struct check *c, const struct err *found, struct err *e)
{
	struct problem problem = { .origin = { .line = found->place.line,
					       .column = found->place.column } };
	struct str file;

	if (found->code == ERR_NOMEM)
		return FAIL(e, ERR_NOMEM, "%s", found->text);
	if (arena_copy(c->a, err_file(found), &file, e) < 0 ||
	    arena_copy(c->a, err_message(found), &problem.message, e) < 0)
		return err_result(e);
	problem.origin.file = file.len ? file.p : NULL;
	return add_problem(c, &c->errors, problem, e);
}

static int add_warning(struct check *c, const struct note *note, struct err *e)
{
	struct problem problem = { .origin = note->origin, .message = note->text };

	return add_problem(c, &c->warnings, problem, e);
}

static int add_file(struct check *c, const struct source *source, struct err *e)
{
	struct str *file;

	if (!source->is_present)
		return 0;
	for (size_t i = 0; i < c->files.count; i++)
		if (str_is(c->files.items[i], source->file))
			return 0;
	file = VEC_PUSH(c->a, &c->files, e);
	if (!file)
		return err_result(e);
	*file = str_of(source->file);
	return 0;
}

static int sink_error(void *user, const struct err *found, struct err *e)
{
	return add_error(user, found, e);
}

/* What was read of the projects before it went wrong, and all that is wrong with them. */
static int check_projects(struct check *c, const project_list *projects, bool is_good,
			  struct err *e)
{
	const struct error_sink sink = { .add = sink_error, .user = c };

	for (size_t i = 0; i < projects->count; i++) {
		const struct source *source = &projects->items[i].source;

		if (add_file(c, source, e) < 0 ||
		    (!is_good && project_find_errors(source, &sink, e) < 0))
			return err_result(e);
	}
	return 0;
}

static bool is_accepted(const struct settings *settings, const char *guarantee)
{
	for (size_t i = 0; i < settings->accept_missing.count; i++)
		if (str_is(settings->accept_missing.items[i].name, guarantee))
			return true;
	return false;
}

/* What a run would be refused for here, whichever backend it has; why not is the doctor's. */
static int check_needs(struct check *c, const struct cordon_policy *policy, struct err *e)
{
	guarantee_set given = 0;

	for (size_t i = 0; backends[i]; i++)
		given |= backends[i]->gives(policy->plan);
	for (size_t i = 0; i < policy->plan->needs.count; i++) {
		const struct need *need = &policy->plan->needs.items[i];
		const char *name = guarantee_name(need->guarantee);
		struct problem problem = { .origin = { .file = NULL } };

		if ((given & GUARANTEE_BIT(need->guarantee)) ||
		    is_accepted(&policy->policy->settings, name))
			continue;
		if (need->rule)
			problem.origin = need->rule->origin;
		if (arena_printf(c->a, &problem.message, e,
				 "the profile '%.*s' needs %s (%.*s), which no backend gives "
				 "here: 'cordon run' refuses it",
				 STR_ARG(policy->policy->profile->name), name,
				 STR_ARG(need->because)) < 0 ||
		    add_problem(c, &c->warnings, problem, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Who means so is not told at each run; who has forgotten 'enabled' asks here. */
static int check_network(struct check *c, const struct profile *profile, struct err *e)
{
	const struct net_rules *net = &profile->net;
	struct problem problem;

	if (net->access != NET_OFF || !net->access_is_set || !net->access_origin.line)
		return 0;
	for (size_t i = 0; i < net->rules.count; i++) {
		const struct net_rule *rule = &net->rules.items[i];

		if (!rule->is_allow || !rule->origin.file ||
		    strcmp(rule->origin.file, net->access_origin.file) != 0)
			continue;
		problem.origin = rule->origin;
		if (arena_printf(
			    c->a, &problem.message, e,
			    "the profile '%.*s' allows hosts, but its network is off: 'enabled' "
			    "is false on line %u",
			    STR_ARG(profile->name), (unsigned)net->access_origin.line) < 0)
			return err_result(e);
		return add_problem(c, &c->warnings, problem, e);
	}
	return 0;
}

/* Whether `path` or something in it may be read. */
static bool opens_any(const struct plan *plan, struct str path)
{
	if (plan_resolve(plan, path).access >= ACCESS_READ)
		return true;
	for (size_t i = 0; i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];

		if ((rule->kind == RULE_ENTRY || rule->kind == RULE_GRANT) &&
		    rule->access >= ACCESS_READ && path_is_under(rule->path, path) &&
		    plan_resolve(plan, rule->path).access >= ACCESS_READ)
			return true;
	}
	return false;
}

/*
 * A profile that extends nothing begins with nothing. Whoever forgets that finds out only when no
 * command starts. A profile for one static program of the workspace may mean it so: a warning.
 */
static int check_start(struct check *c, const struct cordon_policy *policy, struct err *e)
{
	const struct profile *profile = policy->policy->profile;
	struct problem problem = { .origin = profile->origin };
	bool opens_nothing = !opens_any(policy->plan, STR("/"));

	for (size_t i = 0; !opens_nothing && places_minimal[i]; i++)
		if (opens_any(policy->plan, str_of(places_minimal[i])))
			return 0;
	if (arena_printf(c->a, &problem.message, e,
			 "the profile '%.*s' lets %s: add extends = \":read-only\" to it%s",
			 STR_ARG(profile->name),
			 opens_nothing ? "nothing be read, so no command can start"
				       : "no program of this host be read, nor its libraries, "
					 "so hardly any command can start",
			 opens_nothing ? "" : ", or \":minimal\" = \"read\" to its filesystem") < 0)
		return err_result(e);
	return add_problem(c, &c->warnings, problem, e);
}

static int check_profile(struct check *c, const struct config *config, const char *name,
			 struct err *e)
{
	struct cordon_policy policy = { .arena = ARENA_INIT(0) };
	struct err found = ERR_INIT;
	bool is_good = load_policy(c->in, config, name, &policy, &found) == 0;

	if (check_projects(c, &policy.roots.projects, is_good, e) < 0)
		return err_result(e);
	if (!is_good)
		return add_error(c, &found, e);
	if (!name)
		c->in_force = policy.policy->profile->name;
	for (size_t i = 0; i < policy.notes.count; i++)
		if (policy.notes.items[i].is_warning &&
		    add_warning(c, &policy.notes.items[i], e) < 0)
			return err_result(e);
	if (check_network(c, policy.policy->profile, e) < 0 ||
	    (!c->is_base && check_start(c, &policy, e) < 0))
		return err_result(e);
	return check_needs(c, &policy, e);
}

static bool is_extended(const profile_names *all, struct str name)
{
	for (size_t i = 0; i < all->count; i++)
		if (str_eq(all->items[i].extends, name))
			return true;
	return false;
}

static int check_profiles(struct check *c, const struct config *config, struct err *e)
{
	profile_names all = { .items = NULL };
	struct err found = ERR_INIT;

	/* The one in force first: its problems matter most. */
	if (check_profile(c, config, NULL, e) < 0)
		return err_result(e);
	if (config_profiles(c->a, config, &all, &found) < 0)
		return add_error(c, &found, e);
	for (size_t i = 0; i < all.count; i++) {
		struct str *name;
		struct str copy;

		if (all.items[i].name.len && all.items[i].name.p[0] == ':')
			continue;
		name = VEC_PUSH(c->a, &c->profiles, e);
		if (!name || arena_copy(c->a, all.items[i].name, &copy, e) < 0)
			return err_result(e);
		*name = copy;
		c->is_base = is_extended(&all, copy);
		if (!str_eq(copy, c->in_force) && check_profile(c, config, copy.p, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Which profile is in force nobody can tell; that its project is here, one can. */
static int check_project_here(struct check *c, struct err *e)
{
	project_list projects = { .items = NULL };
	struct err found = ERR_INIT;

	if (inputs_read_project(c->in, &projects, &found) < 0)
		return add_error(c, &found, e);
	return check_projects(c, &projects, false, e);
}

static int check_all(struct check *c, struct err *e)
{
	const struct error_sink sink = { .add = sink_error, .user = c };
	const struct config_inputs *all = &c->in->config;
	struct err found = ERR_INIT;
	const struct config *config;

	if (inputs_find(c->in, e) < 0)
		return err_result(e);
	if (inputs_read(c->in, &found) < 0)
		return add_error(c, &found, e);
	if (add_file(c, &all->system, e) < 0 || add_file(c, &all->user, e) < 0 ||
	    add_file(c, &all->requirements, e) < 0)
		return err_result(e);
	config = config_load(c->a, all, &found);
	if (config)
		return check_profiles(c, config, e);
	if (add_error(c, &found, e) < 0 || config_find_errors(all, &sink, e) < 0)
		return err_result(e);
	return check_project_here(c, e);
}

/* By file, then by place; what has no file comes first. */
static int compare_problems(const void *left, const void *right)
{
	const struct origin *a = &((const struct problem *)left)->origin;
	const struct origin *b = &((const struct problem *)right)->origin;
	int r = strcmp(a->file ? a->file : "", b->file ? b->file : "");

	if (r == 0 && a->line != b->line)
		r = a->line < b->line ? -1 : 1;
	if (r == 0 && a->column != b->column)
		r = a->column < b->column ? -1 : 1;
	return r;
}

static void sort_problems(struct problems *problems)
{
	if (problems->list.count > 1)
		qsort(problems->list.items, problems->list.count, sizeof(*problems->list.items),
		      compare_problems);
}

/* ---- Wording ------------------------------------------------------------------------ */

static void print_problems(struct page *p, const struct json *root, const char *name,
			   enum style style, const char *kind)
{
	for (size_t i = 0; i < value_count(root, name); i++) {
		const struct json *problem = value_item(root, name, i);
		struct str file = value_str(problem, "file");
		long long line = value_int(problem, "line");

		page_style(p, style, "%s", kind);
		page_text(p, ": ");
		page_str(p, file);
		if (line)
			page_printf(p, ":%lld:%lld", line, (long long)value_int(problem, "column"));
		page_text(p, file.len ? ": " : "");
		page_str(p, value_str(problem, "message"));
		page_line(p);
	}
}

static void print_count(struct page *p, size_t count, const char *what)
{
	page_printf(p, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

static void render(struct page *p, const struct json *root)
{
	size_t files = value_count(root, "files");
	size_t warnings = value_count(root, "warnings");

	print_problems(p, root, "errors", STYLE_BAD, "error");
	if (p->is_brief)
		return;
	print_problems(p, root, "warnings", STYLE_CAREFUL, "warning");
	if (value_bool(root, "ok")) {
		page_style(p, STYLE_GOOD, "ok");
		page_text(p, ": ");
		print_count(p, files, "file");
		page_text(p, ", ");
		print_count(p, value_count(root, "profiles"), "profile");
		page_text(p, " of your own, '");
		page_str(p, value_str(root, "in_force"));
		page_text(p, "' is in force");
	} else {
		print_count(p, value_count(root, "errors"), "error");
	}
	if (warnings) {
		page_text(p, ", ");
		print_count(p, warnings, "warning");
	}
	page_line(p);
	for (size_t i = 0; i < files; i++) {
		page_text(p, "  ");
		page_str(p, value_item(root, "files", i)->string);
		page_line(p);
	}
	if (!files && value_bool(root, "ok"))
		page_text(p, "  there is no configuration file; 'cordon init' writes one\n");
}

static void json_problems(struct json_writer *w, const char *key, const struct problems *problems)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < problems->list.count; i++) {
		json_begin_object(w);
		json_str(w, "message", problems->list.items[i].message);
		json_origin(w, &problems->list.items[i].origin);
		json_end_object(w);
	}
	json_end_array(w);
}

static void describe(struct json_writer *w, const void *data)
{
	const struct check *c = data;

	json_begin_object(w);
	json_bool(w, "ok", c->errors.list.count == 0);
	json_strs(w, "files", c->files.items, c->files.count);
	json_strs(w, "profiles", c->profiles.items, c->profiles.count);
	json_str_or_null(w, "in_force", c->in_force);
	json_problems(w, "errors", &c->errors);
	json_problems(w, "warnings", &c->warnings);
	json_end_object(w);
}

static int run_check(cordon_report *report, const struct cordon_load_options *options,
		     struct err *e)
{
	scoped_arena texts = ARENA_INIT(TEXTS_MAX_BYTES);
	struct inputs in = {
		.a = &report->arena, .texts = &texts, .options = options, .may_read_input = true
	};
	/* A configuration is not wrong because it is judged at home. */
	const struct run_needs needs = { .allows_home = true };
	struct check *c = ARENA_NEW(&report->arena, struct check, e);

	if (!c)
		return err_result(e);
	c->a = &report->arena;
	in.run = &needs;
	c->in = &in;
	c->in_force = STR_EMPTY;
	if (check_all(c, e) < 0)
		return err_result(e);
	c->in = NULL;
	sort_problems(&c->errors);
	report->error_count = c->errors.list.count;
	report->data = c;
	report->render = render;
	report->schema = "check/1";
	report->describe = describe;
	return 0;
}

int cordon_check(const struct cordon_load_options *options, cordon_report **report,
		 cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_check needs a place for the report");
	else if (options_read(options, &own, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (run_check(r, &own, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
