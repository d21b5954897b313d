/* SPDX-License-Identifier: MIT */
/* cordon_dry_run(): what a run would do. */
#include "lib/rules.h"
#include "lib/run.h"

struct rehearsed {
	const cordon_policy *policy; /* the report keeps it */
	const char *const *argv;
	struct voice voice;
	struct rehearsal rehearsal;
	str_list steps;
};

static void print_text(struct page *p, const void *data)
{
	const struct rehearsed *x = data;
	const struct run_subject subject = { x->policy, &x->rehearsal.outcome, x->argv };

	if (!p->is_brief) {
		run_print_subject(p, &subject);
		page_style(p, STYLE_TITLE, "\nit would be tried as\n");
		for (size_t i = 0; x->rehearsal.programs[i]; i++) {
			page_text(p, "  ");
			page_str(p, str_of(x->rehearsal.programs[i]));
			page_line(p);
		}
		page_style(p, STYLE_TITLE, "\nthe backend would\n");
	}
	for (size_t i = 0; i < x->steps.count; i++) {
		page_text(p, p->is_brief ? "" : "  ");
		page_str(p, x->steps.items[i]);
		page_line(p);
	}
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct rehearsed *x = data;
	const struct run_subject subject = { x->policy, &x->rehearsal.outcome, x->argv };

	json_begin_object(w);
	run_json_subject(w, &subject);
	json_key(w, "programs");
	json_begin_array(w);
	for (size_t i = 0; x->rehearsal.programs[i]; i++)
		json_add_str(w, str_of(x->rehearsal.programs[i]));
	json_end_array(w);
	json_strs(w, "steps", x->steps.items, x->steps.count);
	json_strs(w, "warnings", x->voice.warnings.items, x->voice.warnings.count);
	json_end_object(w);
}

/* What is made on the host before anything else, for as long as it runs (P11). */
static int add_placeholders(struct arena *a, struct rehearsed *x, struct err *e)
{
	const struct run_subject subject = { x->policy, &x->rehearsal.outcome, x->argv };
	size_t count = run_placeholder_count(&subject);

	for (size_t i = 0; i < count; i++) {
		const struct placeholder *made = &x->policy->plan->placeholders.items[i];
		struct str *line = VEC_PUSH(a, &x->steps, e);

		if (!line ||
		    arena_printf(a, line, e, "hold by %s %.*s  (%.*s)",
				 made->kind == PLACEHOLDER_DIR ? "an empty directory" : "a file",
				 STR_ARG(made->path), STR_ARG(rule_label(made->rule))) < 0)
			return err_result(e);
	}
	return 0;
}

static int split_steps(struct arena *a, struct rehearsed *x, struct err *e)
{
	struct str rest;

	if (add_placeholders(a, x, e) < 0)
		return err_result(e);
	if (arena_copy(a, buf_str(&x->rehearsal.steps), &rest, e) < 0)
		return err_result(e);
	while (rest.len) {
		struct str *line = VEC_PUSH(a, &x->steps, e);

		if (!line)
			return err_result(e);
		*line = str_first(rest, str_find(rest, '\n'));
		rest = str_from(rest, line->len + 1);
	}
	return 0;
}

static int rehearse(cordon_report *report, struct asked *asked, struct err *e)
{
	struct arena *a = &report->arena;
	struct rehearsed *x = ARENA_NEW(a, struct rehearsed, e);
	struct session_request in;
	int status;

	if (!x || copy_words(a, asked->run.command, &x->argv, e) < 0)
		return err_result(e);
	report->policy = voice_load(&x->voice, a, asked, true, e);
	if (!report->policy || asked_session(a, asked, report->policy, &in, e) < 0)
		return err_result(e);
	x->policy = report->policy;
	in.argv = x->argv;
	voice_attach(&x->voice, &in);
	x->rehearsal.steps = (struct buf)BUF_INIT(REPORT_MAX_BYTES);
	status = session_rehearse(a, &in, &x->rehearsal, e);
	if (status == 0)
		status = split_steps(a, x, e);
	buf_done(&x->rehearsal.steps);
	report->home = report->policy->plan_inputs.places.home;
	report->data = x;
	report->print_text = print_text;
	report->print_json = print_json;
	return status;
}

int cordon_dry_run(const cordon *handle, const struct cordon_run_options *request,
		   cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct asked asked;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_dry_run needs a place for the report");
	else if (asked_read(handle, request, &asked, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (rehearse(r, &asked, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
