/* SPDX-License-Identifier: MIT */
/* cordon_windows(): what the backend win_elevated needs on a machine, made, looked at or taken away. */
#include "backend/win_elevated/machine.h"
#include "lib/lib.h"
#include "report/report.h"

enum action { ACTION_SETUP, ACTION_STATUS, ACTION_CLEANUP, ACTION_UNINSTALL, ACTION_COUNT };

static const char *const action_names[ACTION_COUNT] = { "setup", "status", "cleanup", "uninstall" };

struct made {
	struct arena *a;
	struct cordon_windows_options options;
	enum action action;
	struct machine machine;
	struct machine_look look; /* as it was; of "status" and a plan */
	bool is_administrator;
	bool is_done;	     /* what was asked for was done, or is so */
	machine_steps steps; /* that were done, or would be */
};

/* ---- What is said ------------------------------------------------------------------------------- */

static void describe(struct json_writer *w, const void *data)
{
	const struct made *made = data;

	json_begin_object(w);
	json_text(w, "action", action_names[made->action]);
	json_bool(w, "dry_run", made->options.flags & CORDON_WINDOWS_DRY_RUN);
	json_bool(w, "administrator", made->is_administrator);
	json_bool(w, "done", made->is_done);
	json_bool(w, "set_up", made->look.is_set_up);
	json_int_or_null(w, "proxy_port", made->look.open_port);
	json_str_or_null(w, "owner", made->look.owner);
	json_strs(w, "steps", made->steps.items, made->steps.count);
	json_key(w, "items");
	json_begin_array(w);
	for (size_t i = 0; i < made->look.items.count; i++) {
		const struct machine_item *item = &made->look.items.items[i];

		json_begin_object(w);
		json_text(w, "kind", item->kind);
		json_str(w, "name", item->name);
		json_text(w, "state", machine_state_names[item->state]);
		json_str_or_null(w, "detail", item->detail);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

static void render_items(struct page *p, const struct json *root)
{
	for (size_t i = 0; i < value_count(root, "items"); i++) {
		const struct json *item = value_item(root, "items", i);
		struct str state = value_str(item, "state");

		page_text(p, "  ");
		page_column(p, value_str(item, "kind"), 10);
		page_column(p, value_str(item, "name"), 40);
		page_style(p,
			   str_is(state, "ok")	      ? STYLE_GOOD
			   : str_is(state, "unknown") ? STYLE_CAREFUL
						      : STYLE_BAD,
			   "%.*s", STR_ARG(state));
		if (value_str(item, "detail").len) {
			page_text(p, "  ");
			page_str(p, value_str(item, "detail"));
		}
		page_line(p);
	}
}

static void render_status(struct page *p, const struct json *root)
{
	const bool is_set_up = value_bool(root, "set_up");

	page_style(p, is_set_up ? STYLE_GOOD : STYLE_BAD, "%s",
		   is_set_up ? "set up" : "not set up");
	if (value_int(root, "proxy_port"))
		page_printf(p, ", port %d of the loopback is open",
			    (int)value_int(root, "proxy_port"));
	page_line(p);
	if (!p->is_brief)
		render_items(p, root);
}

static void render(struct page *p, const struct json *root)
{
	const bool is_plan = value_bool(root, "dry_run");

	if (str_is(value_str(root, "action"), "status")) {
		render_status(p, root);
		return;
	}
	for (size_t i = 0; i < value_count(root, "steps"); i++) {
		page_text(p, is_plan ? "would " : "");
		page_str(p, value_item(root, "steps", i)->string);
		page_line(p);
	}
	if (!value_count(root, "steps"))
		page_text(p, is_plan ? "nothing would be changed\n" : "there was nothing to do\n");
	if (is_plan && !value_bool(root, "administrator"))
		page_text(p, "only an administrator can do this\n");
	if (!is_plan)
		page_style(p, value_bool(root, "done") ? STYLE_GOOD : STYLE_CAREFUL, "%s\n",
			   value_bool(root, "done") ? "done" : "nothing was changed");
}

/* ---- What is done --------------------------------------------------------------------------------- */

static int find_action(struct made *made, struct err *e)
{
	const char *name = made->options.action;

	for (int i = 0; name && i < ACTION_COUNT; i++)
		if (strcmp(name, action_names[i]) == 0) {
			made->action = (enum action)i;
			return 0;
		}
	return FAIL(e, ERR_ARGUMENT,
		    "say what is to be done: cordon windows setup, status, cleanup or uninstall");
}

static int check_options(const struct made *made, struct err *e)
{
	if (made->options.flags & ~(uint64_t)CORDON_WINDOWS_DRY_RUN)
		return FAIL(e, ERR_ARGUMENT, "cordon_windows: a flag is not known");
	if (made->options.proxy_port > UINT16_MAX)
		return FAIL(e, ERR_ARGUMENT, "the port of a proxy is 1 to 65535");
	if (made->options.proxy_port && made->action != ACTION_SETUP)
		return FAIL_CAUSE(
			e, CAUSE_OPTION_USELESS,
			"a port of a proxy has an effect in 'cordon windows setup' alone");
	return 0;
}

/* What would be done. */
static int plan(struct made *made, struct err *e)
{
	const uint16_t port = (uint16_t)made->options.proxy_port;
	const bool sets_up = made->action == ACTION_SETUP;

	if (machine_look(made->a, &made->machine, sets_up ? &port : NULL, &made->look, e) < 0)
		return err_result(e);
	if (made->action == ACTION_CLEANUP) {
		struct str *step = VEC_PUSH(made->a, &made->steps, e);

		if (!step)
			return err_result(e);
		*step = STR("take Cordon's entries out of access lists");
		return 0;
	}
	return machine_plan(made->a, &made->look, !sets_up, &made->steps, e);
}

static bool is_confirmed(struct made *made, struct err *e)
{
	scoped_buf text = BUF_INIT(64 << 10);

	if (!made->options.confirm || !made->steps.count)
		return true;
	for (size_t i = 0; i < made->steps.count; i++)
		buf_printf(&text, "  %.*s\n", STR_ARG(made->steps.items[i]));
	return buf_check(&text, e) == 0 &&
	       made->options.confirm(made->options.user, buf_str(&text).p);
}

static int change(struct made *made, struct err *e)
{
	const uint16_t port = (uint16_t)made->options.proxy_port;
	const struct machine *m = &made->machine;

	/* Before anybody is asked. Cleanup changes what the user may change anyway. */
	if (!made->is_administrator && made->action != ACTION_CLEANUP) {
		(void)FAIL_CAUSE(e, CAUSE_NEEDS_ADMINISTRATOR,
				 "only an administrator can change accounts and filters");
		err_add_line(e, "run it in a terminal that was opened with 'Run as administrator'; "
				"--dry-run shows what it would do");
		return err_result(e);
	}
	if (!is_confirmed(made, e))
		return e->code == ERR_OK ? 0 : err_result(e);
	made->steps.count = 0;
	if ((made->action == ACTION_SETUP	? machine_do(made->a, m, port, &made->steps, e)
	     : made->action == ACTION_UNINSTALL ? machine_undo(made->a, m, &made->steps, e)
						: machine_clean(made->a, m, &made->steps, e)) < 0)
		return err_result(e);
	made->is_done = true;
	return machine_look(made->a, m, NULL, &made->look, e);
}

static int act(struct made *made, struct err *e)
{
	made->is_administrator = made->machine.is_administrator(made->machine.state);
	if (made->action == ACTION_STATUS) {
		if (machine_look(made->a, &made->machine, NULL, &made->look, e) < 0)
			return err_result(e);
		made->is_done = made->look.is_set_up;
		return 0;
	}
	if (plan(made, e) < 0)
		return err_result(e);
	if (!(made->options.flags & CORDON_WINDOWS_DRY_RUN))
		return change(made, e);
	made->is_done = true;
	return 0;
}

static int make(cordon_report *r, const struct cordon_windows_options *options, struct err *e)
{
	struct made *made = ARENA_NEW(&r->arena, struct made, e);
	int result;

	if (!made)
		return err_result(e);
	made->a = &r->arena;
	made->options = *options;
	if (find_action(made, e) < 0 || check_options(made, e) < 0 ||
	    machine_open(made->a, &made->machine, e) < 0)
		return err_result(e);
	result = act(made, e);
	machine_close(&made->machine);
	if (result < 0)
		return err_result(e);
	r->data = made;
	r->error_count = !made->is_done;
	r->schema = "windows/1";
	r->describe = describe;
	r->render = render;
	return 0;
}

int cordon_windows(const struct cordon_windows_options *options, cordon_report **report,
		   cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_windows_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_windows: report is NULL");
	else if (options_read_windows(options, &own, &e) == 0)
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
