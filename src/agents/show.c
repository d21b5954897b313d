/* SPDX-License-Identifier: MIT */
/*
 * What cordon_setup() says. The lines of files are for the person at the terminal alone: settings have keys
 * in them, so JSON names only what is set.
 */
#include "agents/diff.h"
#include "agents/setup.h"
#include "base/path.h"
#include "os/os.h"

static const char *const action_names[] = {
	[SETUP_LIST] = "list",	 [SETUP_PLAN] = "plan", [SETUP_DO] = "setup",
	[SETUP_CHECK] = "check", [SETUP_UNDO] = "undo", [SETUP_PROVE] = "inside",
};

static bool is_covered(const struct setup *s)
{
	return (s->action == SETUP_CHECK || s->action == SETUP_DO) && s->proof.is_there &&
	       !s->problems.count && !s->way->gap;
}

static bool is_proven(const struct setup *s)
{
	return s->proof.is_there && !s->problems.count;
}

/* ---- Text ----------------------------------------------------------------------------------------- */

/* A tab is none that could move anything on a terminal. */
static void print_line(struct page *p, struct str line)
{
	while (line.len) {
		size_t at = str_find(line, '\t');

		page_str(p, str_first(line, at));
		if (at < line.len)
			page_text(p, "    ");
		line = str_from(line, at + 1);
	}
	page_line(p);
}

static void print_diff(struct page *p, struct arena *a, const struct change *c)
{
	struct err e = ERR_INIT;
	struct diff diff;

	if (diff_find(a, c->was.text, c->removes ? STR_EMPTY : c->text, &diff, &e) < 0) {
		page_text(p, "  (too long to be shown)\n");
		return;
	}
	for (size_t i = 0; i < diff.count; i++) {
		const struct diff_line *line = &diff.items[i];

		if (line->mark == '@') {
			page_style(p, STYLE_FAINT, "  ...");
			page_line(p);
			continue;
		}
		page_style(p,
			   line->mark == '+'   ? STYLE_GOOD
			   : line->mark == '-' ? STYLE_BAD
					       : STYLE_PLAIN,
			   "  %c ", line->mark);
		print_line(p, line->text);
	}
}

/* Which files were changed; false: none. */
static bool print_made(struct page *p, const struct setup *s)
{
	bool has_any = false;

	for (size_t i = 0; i < s->made.count; i++) {
		const struct change *c = &s->made.items[i];

		if (!change_is_needed(c))
			continue;
		has_any = true;
		page_text(p, c->removes ? "removed " : c->was.is_there ? "changed " : "created ");
		page_str(p, c->was.path);
		page_line(p);
	}
	return has_any;
}

static bool print_changes(struct page *p, const struct setup *s)
{
	bool has_any = false;

	for (size_t i = 0; i < s->changes.count; i++) {
		const struct change *c = &s->changes.items[i];

		if (!change_is_needed(c))
			continue;
		has_any = true;
		page_style(p, STYLE_TITLE, "%s",
			   c->removes	     ? "remove "
			   : c->was.is_there ? "change "
					     : "create ");
		page_str(p, c->was.path);
		page_line(p);
		if (!p->is_brief)
			print_diff(p, s->a, c);
	}
	return has_any;
}

/* Whether a shell finds what lies in the directory. */
static bool is_in_path(const struct setup *s, struct str directory)
{
	const char *path = os_environment_find(s->in.environment, "PATH");
	struct str rest = str_of(path ? path : "");

	while (rest.len) {
		struct str one = str_first(rest, str_find(rest, ':'));

		rest = str_from(rest, one.len + 1);
		while (one.len > 1 && one.p[one.len - 1] == '/')
			one.len--;
		if (str_eq(one, directory))
			return true;
	}
	return false;
}

/* A script that the shell does not find. */
static void print_path(struct page *p, const struct setup *s)
{
	struct setup *mine = (struct setup *)(uintptr_t)s;
	struct err ignored = ERR_INIT;
	struct str script, directory;

	if (setup_find_place(mine, s->way->pieces[0].place, &script, &ignored) < 0)
		return;
	directory = path_parent(script);
	if (is_in_path(s, directory))
		return;
	page_style(p, STYLE_CAREFUL, "note: ");
	page_str(p, directory);
	page_text(p, " is not in PATH; start ");
	page_word(p, script);
	page_text(p, ", or add this to the startup file of your shell: export PATH=");
	page_word(p, directory);
	page_text(p, ":\"$PATH\"\n");
}

static void print_way(struct page *p, const struct setup *s)
{
	/* Nobody is invited to what was not proven. */
	if (s->way->start && (is_proven(s) || (s->action != SETUP_CHECK && !s->is_done))) {
		page_printf(
			p, "start it with '%s' from now on; commands of '%s' alone run as before\n",
			s->way->start, s->agent->program);
		print_path(p, s);
	}
	if (s->way->gap) {
		page_style(p, STYLE_CAREFUL, "not covered: ");
		page_printf(p, "%s\n", s->way->gap);
	}
	if (s->way->limit)
		page_printf(p, "note: %s\n", s->way->limit);
}

/* ", set up (user, project, not proven)"; false: a part of it can't be seen. */
static bool print_scopes(struct page *p, struct setup *s, const struct agent *agent)
{
	bool sees_all = true;
	size_t count = 0;

	for (size_t i = 0; i < SCOPE_COUNT; i++) {
		struct err ignored = ERR_INIT;
		enum setup_state is;

		if (setup_find_out(s, agent, (enum agent_scope)i, &is, &ignored) < 0)
			sees_all = false;
		else if (is != SETUP_NOT)
			page_printf(p, "%s%s%s", count++ ? ", " : ", set up (",
				    agent_scope_names[i],
				    is == SETUP_UNPROVEN ? ", not proven" : "");
	}
	page_text(p, count ? ")" : ", not set up");
	return sees_all;
}

static void print_list(struct page *p, const struct setup *const_setup)
{
	struct setup *s = (struct setup *)(uintptr_t)const_setup;
	bool sees_all = true;
	size_t found = 0;

	for (size_t i = 0; i < agent_count; i++) {
		struct err ignored = ERR_INIT;
		struct str program;

		page_printf(p, "%-10s", agents[i].name);
		if (setup_find_program(s, agents[i].program, &program, &ignored) == 0 &&
		    program.len) {
			found++;
			page_str(p, program);
		} else {
			page_printf(p, "no '%s' in PATH", agents[i].program);
		}
		sees_all &= print_scopes(p, s, &agents[i]);
		page_line(p);
	}
	if (!sees_all)
		page_text(p, "\nonly root can see what is set up for the system\n");
	if (!found) {
		const char *path = os_environment_find(s->in.environment, "PATH");

		page_text(p, "\nno agent was found in ");
		page_str(p, str_of(path && path[0] ? path : "an empty PATH"));
		page_line(p);
	} else
		page_text(p, "\n'cordon setup AGENT --dry-run' shows what would be changed\n");
}

static void print_proof(struct page *p, const struct setup *s)
{
	if (!s->proof.is_there) {
		page_text(p, "outside: no supervisor of Cordon's answers\n");
		return;
	}
	page_text(p, "inside: run ");
	page_str(p, s->proof.run);
	page_text(p, ", profile ");
	page_str(p, s->proof.profile);
	page_text(p, ", backend ");
	page_str(p, s->proof.backend);
	page_line(p);
}

static void print_title(struct page *p, enum style style, const char *word, const struct setup *s)
{
	page_style(p, style, "%s", word);
	page_printf(p, ": %s (%s)\n", s->agent->title, agent_scope_names[s->scope]);
}

/* The words that have the same scope again. */
static void print_command(struct page *p, const struct setup *s, const char *option)
{
	page_printf(p, "'cordon setup %s%s%s%s'", s->agent->name,
		    s->scope == SCOPE_USER ? "" : " --",
		    s->scope == SCOPE_USER ? "" : agent_scope_names[s->scope], option);
}

static void print_check(struct page *p, const struct setup *s)
{
	for (size_t i = 0; i < s->problems.count; i++) {
		page_style(p, STYLE_BAD, "problem: ");
		page_str(p, s->problems.items[i]);
		page_line(p);
	}
	print_way(p, s);
	if (s->proof.is_there) {
		page_style(p, STYLE_GOOD, "proven: ");
		page_text(p, "a command that went the way of its shell is ");
		print_proof(p, s);
	}
	if (is_covered(s))
		page_printf(p, "ok: the commands of %s run in Cordon%s%s%s\n", s->agent->title,
			    s->way->start ? " when it is started with '" : "",
			    s->way->start ? s->way->start : "", s->way->start ? "'" : "");
}

/* Of --check. */
static void print_answer(struct page *p, const struct setup *s)
{
	if (s->is_set_up) {
		print_check(p, s);
		return;
	}
	print_title(p, STYLE_BAD, "not set up", s);
	if (p->is_brief)
		return;
	print_command(p, s, s->way->gap ? " --partial" : "");
	page_text(p, " sets it up\n");
}

/* Of what was done, or undone. */
static void print_end(struct page *p, const struct setup *s)
{
	if (s->action == SETUP_UNDO) {
		if (s->is_set_up)
			print_title(p, STYLE_GOOD, "undone", s);
		else
			print_title(p, STYLE_CAREFUL, "not set up", s);
		if (!p->is_brief)
			(void)print_made(p, s);
		return;
	}
	print_title(p, is_proven(s) ? STYLE_GOOD : STYLE_BAD, is_proven(s) ? "done" : "not proven",
		    s);
	if (p->is_brief)
		return;
	if (!print_made(p, s))
		page_text(p, "nothing was changed: it was set up already\n");
	print_check(p, s);
	if (is_proven(s))
		return;
	print_command(p, s, " --undo");
	page_text(p, " puts back what was there\n");
}

void setup_print(struct page *p, const void *data)
{
	const struct setup *s = data;
	bool has_changes;

	if (s->action == SETUP_LIST) {
		print_list(p, s);
		return;
	}
	if (s->action == SETUP_PROVE) {
		print_proof(p, s);
		return;
	}
	if (s->action == SETUP_CHECK) {
		print_answer(p, s);
		return;
	}
	if (s->is_done) {
		print_end(p, s);
		return;
	}
	if (s->is_refused) {
		page_text(p, "nothing was changed\n");
		return;
	}
	has_changes = print_changes(p, s);
	if (!has_changes)
		page_text(p, "nothing has to be changed\n");
	else if (s->way && !p->is_brief)
		print_way(p, s);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void describe_changes(struct json_writer *w, const struct setup *s)
{
	const struct change_list *list = s->is_done ? &s->made : &s->changes;

	json_key(w, "changes");
	json_begin_array(w);
	for (size_t i = 0; i < list->count && s->action != SETUP_CHECK; i++) {
		const struct change *c = &list->items[i];

		if (!change_is_needed(c))
			continue;
		json_begin_object(w);
		json_str(w, "file", c->was.path);
		json_text(w, "change",
			  c->removes	    ? "remove"
			  : c->was.is_there ? "change"
					    : "create");
		json_str_or_null(w, "sets", c->sets);
		json_end_object(w);
	}
	json_end_array(w);
}

static void describe_scopes(struct json_writer *w, struct setup *s, const struct agent *agent,
			    const char *name, bool is_unproven)
{
	json_key(w, name);
	json_begin_array(w);
	for (size_t i = 0; i < SCOPE_COUNT; i++) {
		struct err ignored = ERR_INIT;
		enum setup_state is;

		if (setup_find_out(s, agent, (enum agent_scope)i, &is, &ignored) == 0 &&
		    (is_unproven ? is == SETUP_UNPROVEN : is != SETUP_NOT))
			json_add_text(w, agent_scope_names[i]);
	}
	json_end_array(w);
}

static void describe_agents(struct json_writer *w, const struct setup *const_setup)
{
	struct setup *s = (struct setup *)(uintptr_t)const_setup;

	json_key(w, "agents");
	json_begin_array(w);
	for (size_t i = 0; i < agent_count && s->action == SETUP_LIST; i++) {
		struct str program = STR_EMPTY;
		struct err e = ERR_INIT;

		if (setup_find_program(s, agents[i].program, &program, &e) < 0)
			json_fail(w, e.code);
		json_begin_object(w);
		json_text(w, "name", agents[i].name);
		json_text(w, "program", agents[i].program);
		json_str_or_null(w, "found", program);
		describe_scopes(w, s, &agents[i], "set_up", false);
		describe_scopes(w, s, &agents[i], "unproven", true);
		json_end_object(w);
	}
	json_end_array(w);
}

void setup_describe(struct json_writer *w, const void *data)
{
	const struct setup *s = data;
	const struct outer *proof = &s->proof;

	json_begin_object(w);
	json_text(w, "action", action_names[s->action]);
	json_text(w, "agent", s->agent ? s->agent->name : NULL);
	json_text(w, "scope", s->agent ? agent_scope_names[s->scope] : NULL);
	json_bool(w, "was_set_up", s->is_set_up);
	json_bool(w, "done", s->is_done);
	json_bool(w, "covered", is_covered(s));
	json_text(w, "start", s->way ? s->way->start : NULL);
	json_text(w, "gap", s->way ? s->way->gap : NULL);
	json_text(w, "limit", s->way ? s->way->limit : NULL);
	describe_changes(w, s);
	json_strs(w, "problems", s->problems.items, s->problems.count);
	describe_agents(w, s);
	json_key(w, "proof");
	if (proof->is_there) {
		json_begin_object(w);
		json_str(w, "run", proof->run);
		json_str(w, "profile", proof->profile);
		json_str(w, "backend", proof->backend);
		json_end_object(w);
	} else {
		json_add_null(w);
	}
	json_end_object(w);
}
