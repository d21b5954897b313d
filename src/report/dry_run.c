/* SPDX-License-Identifier: MIT */
/* cordon_dry_run(): what a run would do. */
#include "audit/audit.h"
#include "base/path.h"
#include "lib/run.h"
#include "plan/net.h"
#include "report/explain.h"
#include "report/rules.h"

struct rehearsed {
	const cordon_policy *policy; /* the report keeps it */
	const char *const *argv;
	struct callbacks callbacks;
	struct rehearsal rehearsal;
	struct session_request in; /* its ports */
	struct str audit_file;	   /* "" when nothing would be logged */
	str_list steps;
	size_t made_count;	  /* what would be made, whose steps come first */
	size_t placeholder_count; /* theirs follow */
};

/* ---- The network ------------------------------------------------------------------------ */

static bool is_managed(const struct rehearsed *x)
{
	return run_has_managed(&(struct run_subject){ x->policy, &x->rehearsal.outcome, x->argv });
}

static void add_address(struct buf *b, const struct publication *p)
{
	bool v4 = ip_is_v4(&p->address);

	buf_add_text(b, v4 ? "" : "[");
	ip_print(b, &p->address);
	buf_add_text(b, v4 ? "" : "]");
}

static void print_ports(struct page *p, const struct session_request *in)
{
	if (in->host_port_count || in->published_count)
		page_style(p, STYLE_TITLE, "\nports\n");
	for (size_t i = 0; i < in->host_port_count; i++)
		page_printf(p, "  %u of the sandbox's loopback is this host's\n",
			    (unsigned)in->host_ports[i]);
	for (size_t i = 0; i < in->published_count; i++) {
		page_text(p, "  ");
		add_address(p->out, &in->published[i]);
		page_printf(p, ":%u of this host is %u of the sandbox's loopback\n",
			    (unsigned)in->published[i].host_port, (unsigned)in->published[i].port);
	}
}

static void print_network(struct page *p, const struct rehearsed *x)
{
	if (!is_managed(x))
		return;
	page_style(p, STYLE_TITLE, "\nhosts\n");
	explain_print_rules(p, x->policy->policy);
	page_text(p, "  what no rule allows is refused");
	page_text(p, net_is_limited(x->policy->plan->net) ? "; GET, HEAD and OPTIONS only, no TLS\n"
							  : "\n");
	print_ports(p, &x->in);
	page_style(p, STYLE_TITLE, "\naudit log\n");
	page_text(p, "  ");
	page_str(p, x->audit_file.len
			    ? x->audit_file
			    : STR("none, without a home directory: --audit FILE names one"));
	page_line(p);
}

static void json_ports(struct json_writer *w, const struct session_request *in)
{
	json_key(w, "host_ports");
	json_begin_array(w);
	for (size_t i = 0; i < in->host_port_count; i++)
		json_add_int(w, in->host_ports[i]);
	json_end_array(w);
	json_key(w, "published");
	json_begin_array(w);
	for (size_t i = 0; i < in->published_count; i++) {
		char text[64];
		struct buf b = BUF_OVER(text);

		ip_print(&b, &in->published[i].address);
		json_begin_object(w);
		json_str(w, "address", buf_str(&b));
		json_int(w, "host_port", in->published[i].host_port);
		json_int(w, "port", in->published[i].port);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_network(struct json_writer *w, const struct rehearsed *x)
{
	json_key(w, "managed");
	if (!is_managed(x)) {
		json_add_null(w);
		return;
	}
	json_begin_object(w);
	json_bool(w, "limited", net_is_limited(x->policy->plan->net));
	explain_json_rules(w, x->policy->policy);
	json_ports(w, &x->in);
	json_str_or_null(w, "audit_file", x->audit_file);
	json_end_object(w);
}

/* ---- The placeholders ------------------------------------------------------------------- */

static const char *placeholder_word(const struct placeholder *made)
{
	return made->kind == PLACEHOLDER_DIR	? "an empty directory"
	       : made->kind == PLACEHOLDER_FILE ? "a file"
						: "a socket";
}

/* One list for those of one kind in one directory, which stand one behind the other. */
static bool is_listed_with(const struct placeholder *made, const struct placeholder *before)
{
	return made->kind == before->kind &&
	       str_eq(path_parent(made->path), path_parent(before->path));
}

static void print_placeholders(struct page *p, const struct rehearsed *x)
{
	enum { WIDTH = 100, INDENT = 4 };
	const struct placeholder *all = x->policy->plan->placeholders.items;
	size_t column = 0;

	for (size_t i = 0; i < x->placeholder_count; i++) {
		struct str name = path_name(all[i].path);

		if (i == 0 || !is_listed_with(&all[i], &all[i - 1])) {
			page_printf(p, "%s  keep missing in ", i ? "\n" : "");
			page_str(p, path_parent(all[i].path));
			page_printf(p, ", by %s of that name", placeholder_word(&all[i]));
			column = WIDTH;
		}
		if (column + 1 + name.len > WIDTH) {
			page_printf(p, "\n%*s", INDENT - 1, "");
			column = INDENT - 1;
		}
		page_text(p, " ");
		page_str(p, name);
		column += 1 + name.len;
	}
	if (x->placeholder_count)
		page_line(p);
}

/* ---- All of it -------------------------------------------------------------------------- */

static void print_made(struct page *p, const struct rehearsed *x)
{
	if (x->made_count)
		page_style(p, STYLE_TITLE, "\nbefore the start it would\n");
	for (size_t i = 0; i < x->made_count; i++) {
		page_text(p, "  ");
		page_str(p, x->steps.items[i]);
		page_line(p);
	}
}

static void print_text(struct page *p, const void *data)
{
	const struct rehearsed *x = data;
	const struct run_subject subject = { x->policy, &x->rehearsal.outcome, x->argv };

	if (!p->is_brief) {
		run_print_subject(p, &subject);
		print_network(p, x);
		print_made(p, x);
		page_style(p, STYLE_TITLE, "\nit would be tried as\n");
		for (size_t i = 0; x->rehearsal.programs[i]; i++) {
			page_text(p, "  ");
			page_str(p, str_of(x->rehearsal.programs[i]));
			page_line(p);
		}
		page_style(p, STYLE_TITLE,
			   "\nthe backend would, if this host lets it (cordon doctor tries)\n");
	}
	if (!p->is_brief)
		print_placeholders(p, x);
	for (size_t i = p->is_brief ? 0 : x->made_count + x->placeholder_count; i < x->steps.count;
	     i++) {
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
	json_network(w, x);
	json_key(w, "programs");
	json_begin_array(w);
	for (size_t i = 0; x->rehearsal.programs[i]; i++)
		json_add_str(w, str_of(x->rehearsal.programs[i]));
	json_end_array(w);
	json_strs(w, "steps", x->steps.items, x->steps.count);
	json_strs(w, "warnings", x->callbacks.warnings.items, x->callbacks.warnings.count);
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
		    arena_printf(a, line, e, "hold by %s %.*s  (%.*s)", placeholder_word(made),
				 STR_ARG(made->path), STR_ARG(rule_label(made->rule))) < 0)
			return err_result(e);
	}
	x->placeholder_count = count;
	return 0;
}

static int add_made(struct arena *a, struct rehearsed *x, const struct asked *asked, struct err *e)
{
	for (size_t i = 0; i < asked->make_count; i++) {
		const struct imagined *made = &asked->makes[i];
		struct str *line = VEC_PUSH(a, &x->steps, e);

		if (!line || arena_printf(a, line, e, "create %s %.*s",
					  made->is_file ? "the file" : "the directory",
					  STR_ARG(made->path)) < 0)
			return err_result(e);
	}
	x->made_count = asked->make_count;
	return 0;
}

static int split_steps(struct arena *a, struct rehearsed *x, const struct asked *asked,
		       struct err *e)
{
	struct str rest;

	if (add_made(a, x, asked, e) < 0 || add_placeholders(a, x, e) < 0)
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

/* Where the log would be; a run without a home needs --audit, and says so. */
static int find_log(struct arena *a, struct rehearsed *x, struct err *e)
{
	x->audit_file = x->in.audit_file;
	if (!is_managed(x) || x->audit_file.len || !x->in.state_directory.len)
		return 0;
	return audit_default_path(a, x->in.state_directory, &x->audit_file, e);
}

static int rehearse(cordon_report *report, struct asked *asked, struct err *e)
{
	struct arena *a = &report->arena;
	struct rehearsed *x = ARENA_NEW(a, struct rehearsed, e);
	int status;

	if (!x || asked_agent(a, asked, true, e) < 0 ||
	    copy_words(a, asked->run.command, &x->argv, e) < 0)
		return err_result(e);
	report->policy = callbacks_load(&x->callbacks, a, asked, true, e);
	if (!report->policy || asked_check_agent(a, asked, report->policy, e) < 0 ||
	    asked_session(a, asked, report->policy, &x->in, e) < 0)
		return err_result(e);
	x->policy = report->policy;
	x->in.argv = x->argv;
	if (asked_shell(a, asked, report->policy, &x->in, e) < 0)
		return err_result(e);
	x->argv = x->in.argv;
	callbacks_attach(&x->callbacks, &x->in);
	x->rehearsal.steps = (struct buf)BUF_INIT(REPORT_MAX_BYTES);
	status = session_rehearse(a, &x->in, &x->rehearsal, e);
	if (status == 0)
		status = split_steps(a, x, asked, e);
	if (status == 0)
		status = find_log(a, x, e);
	buf_done(&x->rehearsal.steps);
	report->home = report->policy->plan_inputs.places.home;
	report->data = x;
	report->print_text = print_text;
	report->schema = "dry-run/1";
	report->describe = print_json;
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
