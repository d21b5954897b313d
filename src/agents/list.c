/* SPDX-License-Identifier: MIT */
/* cordon_agents(): the coding agents that may run inside as a whole, and which are here. */
#include "lib/lib.h"
#include "os/os.h"
#include "policy/agent.h"
#include "report/report.h"

enum { AGENTS_MAX = 16 };

struct agent_list {
	struct str programs[AGENTS_MAX]; /* as in agent_profiles; "": not here */
	struct str path;		 /* where they were looked for */
};

static void print_list(struct page *p, const void *data)
{
	const struct agent_list *l = data;
	size_t found = 0;

	for (size_t i = 0; i < agent_profile_count; i++) {
		page_printf(p, "%-10s", agent_profiles[i].name);
		found += l->programs[i].len > 0;
		if (l->programs[i].len)
			page_str(p, l->programs[i]);
		else
			page_style(p, STYLE_FAINT, "not here");
		page_line(p);
	}
	if (p->is_brief)
		return;
	if (!found) {
		page_text(p, "\nlooked in ");
		page_str(p, l->path);
		page_line(p);
	}
	page_text(p, "\n'cordon agent NAME' starts one inside; 'cordon explain -P :agent-NAME' "
		     "says what it may do.\n");
}

static void describe(struct json_writer *w, const void *data)
{
	const struct agent_list *l = data;

	json_begin_object(w);
	json_key(w, "agents");
	json_begin_array(w);
	for (size_t i = 0; i < agent_profile_count; i++) {
		json_begin_object(w);
		json_text(w, "name", agent_profiles[i].name);
		json_text(w, "title", agent_profiles[i].title);
		json_text(w, "program", agent_profiles[i].program);
		json_str_or_null(w, "found", l->programs[i]);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

static int make(cordon_report *r, const struct cordon_load_options *options, struct err *e)
{
	struct inputs in = { .a = &r->arena, .texts = &r->arena, .options = options };
	struct agent_list *l = ARENA_NEW(&r->arena, struct agent_list, e);
	const char *path;

	if (!l || inputs_find(&in, e) < 0)
		return err_result(e);
	path = os_environment_find(in.environment, "PATH");
	if (arena_copy(&r->arena, str_of(path ? path : ""), &l->path, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < agent_profile_count && i < AGENTS_MAX; i++)
		if (program_find(&r->arena, path, agent_profiles[i].program, &l->programs[i], e) <
		    0)
			return err_result(e);
	r->data = l;
	r->schema = "agents/1";
	r->describe = describe;
	r->print_text = print_list;
	return 0;
}

int cordon_agents(const struct cordon_load_options *options, cordon_report **report,
		  cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_load_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_agents: report is NULL");
	else if (options_read(options, &own, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (make(r, &own, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
