/* SPDX-License-Identifier: MIT */
/* What this host gives; see doctor.h. */
#include "lib/doctor.h"

#include "lib/doctor_probe.h"
#include "os/os.h"

struct visit {
	struct arena *a;
	const struct cordon_doctor_options *options;
	struct cordon_load_options load;
	struct diagnosis *d;
	struct doctor_room room;
};

static void tell(const struct visit *v, const char *text)
{
	if (v->options->on_step)
		v->options->on_step(v->options->user, text);
}

/* ---- Trying --------------------------------------------------------------------------------- */

static int find_program(const struct visit *v, const char **out, struct err *e)
{
	struct str path;

	*out = v->options->program;
	if (*out)
		return 0;
	if (os_program_path(v->a, &path, e) < 0)
		return err_result(e);
	if (!path.len)
		return FAIL(e, ERR_SYS, "this program was removed or replaced while it runs");
	*out = path.p;
	return 0;
}

/* Without a room nothing can be tried, and that is a finding. */
static int open_room(struct visit *v, struct err *e)
{
	struct err why = ERR_INIT;
	const char *program;

	v->d->room_reason = STR_EMPTY;
	if (find_program(v, &program, &why) == 0 && room_open(v->a, program, &v->room, &why) == 0)
		return 0;
	if (why.code == ERR_NOMEM) {
		*e = why;
		return err_result(e);
	}
	return arena_copy(v->a, str_of(why.text), &v->d->room_reason, e);
}

static int examine_one(struct visit *v, const struct backend *backend, struct err *e)
{
	struct examined *x = VEC_PUSH(v->a, &v->d->backends, e);
	char step[64];

	if (!x)
		return err_result(e);
	(void)snprintf(step, sizeof(step), "trying the backend %s", backend->name);
	tell(v, step);
	if (v->room.directory)
		return doctor_examine(v->a, &v->room, &v->d->control, backend, x, e);
	*x = (struct examined){ .backend = backend, .reason = v->d->room_reason };
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		x->checks[g] = (struct checked){ .verdict = VERDICT_UNTESTED,
						 .reason = v->d->room_reason };
	return 0;
}

static int examine_all(struct visit *v, struct err *e)
{
	struct diagnosis *d = v->d;

	d->control.reason = d->room_reason;
	if (v->room.directory) {
		tell(v, "trying the probe without a sandbox");
		if (doctor_control(v->a, &v->room, &d->control, e) < 0)
			return err_result(e);
	}
	for (size_t i = 0; backends[i]; i++)
		if (examine_one(v, backends[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < d->backends.count; i++) {
		if (!d->backends.items[i].works)
			continue;
		tell(v, "asking git");
		return doctor_ask_git(v->a, &v->room, d->backends.items[i].backend, &d->host, e);
	}
	return 0;
}

/* ---- Cleaning ---------------------------------------------------------------------------------- */

static bool has_path(const path_list *paths, struct str path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (str_eq(paths->items[i], path))
			return true;
	return false;
}

static int add_paths(struct arena *a, path_list *to, const str_list *from, struct err *e)
{
	for (size_t i = 0; i < from->count; i++) {
		struct str *added;

		if (has_path(to, from->items[i]))
			continue;
		added = VEC_PUSH(a, to, e);
		if (!added)
			return err_result(e);
		*added = from->items[i];
	}
	return 0;
}

/* For one profile: another wants placeholders elsewhere. */
static int clean_for(struct visit *v, const char *profile, bool looks_below, struct err *e)
{
	struct cordon_load_options load = v->load;
	struct cleaning cleaning = { .was_cut = false };
	cordon_policy *policy;
	int status;

	load.on_warning = NULL;
	if (profile) {
		load.profile = profile;
		load.mode = NULL;
	}
	policy = load_new(&load, e);
	if (!policy)
		return err_result(e);
	status = session_clean(v->a, policy->plan, policy->plan_inputs.places.roots,
			       looks_below ? policy->plan_inputs.places.root_count : 0, &cleaning,
			       e);
	cordon_policy_free(policy);
	if (status < 0 || add_paths(v->a, &v->d->removed, &cleaning.removed, e) < 0 ||
	    add_paths(v->a, &v->d->kept, &cleaning.kept, e) < 0)
		return err_result(e);
	v->d->clean_was_cut |= cleaning.was_cut;
	return 0;
}

static int clean(struct visit *v, struct err *e)
{
	tell(v, "looking for what dead runs have left behind");
	v->d->has_cleaned = true;
	if (clean_for(v, NULL, true, e) < 0 || clean_for(v, ":workspace", false, e) < 0)
		return err_result(e);
	return room_clean(v->a, &v->d->removed, e);
}

/* ---- All of it ----------------------------------------------------------------------------------- */

static int visit(struct visit *v, struct err *e)
{
	struct diagnosis *d = v->d;
	int status;

	if ((v->options->flags & CORDON_DOCTOR_CLEAN) && clean(v, e) < 0)
		return err_result(e);
	tell(v, "looking at the kernel");
	if (doctor_look(v->a, &d->host, e) < 0 || open_room(v, e) < 0)
		return err_result(e);
	status = examine_all(v, e);
	room_close(&v->room);
	if (status < 0)
		return err_result(e);
	tell(v, "trying the default profile");
	if (doctor_try_default(v->a, &v->load, &d->usual, e) < 0)
		return err_result(e);
	return doctor_advise(v->a, d, e);
}

static int examine(cordon_report *report, const struct cordon_doctor_options *options,
		   struct err *e)
{
	struct visit v = { .a = &report->arena,
			   .options = options,
			   .d = ARENA_NEW(&report->arena, struct diagnosis, e),
			   .room = { .lock = -1, .tcp = -1, .local = -1, .memory = -1 } };

	if (!v.d || options_read(options->load, &v.load, e) < 0 || visit(&v, e) < 0)
		return err_result(e);
	report->error_count = v.d->usual.is_enforced ? 0 : 1;
	report->data = v.d;
	report->print_text = doctor_print_text;
	report->print_json = doctor_print_json;
	return 0;
}

int cordon_doctor(const struct cordon_doctor_options *options, cordon_report **report,
		  cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_doctor_options own;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_doctor needs a place for the report");
	else if (options_read_doctor(options, &own, &e) == 0 &&
		 (own.flags & ~(uint64_t)CORDON_DOCTOR_CLEAN) != 0)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_doctor does not know one of these flags");
	else if (e.code == ERR_OK)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (examine(r, &own, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
