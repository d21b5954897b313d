/* SPDX-License-Identifier: MIT */
/* What this host gives; see doctor.h. */
#include "doctor/doctor.h"

#include "doctor/native.h"

struct visit {
	struct arena *a;
	const struct cordon_doctor_options *options;
	struct cordon_load_options load;
	struct diagnosis *d;
	cordon_policy *usual; /* what a run would have; NULL where none can be made, because of: */
	struct err why_none;
	struct doctor_room room;
};

static void tell(const struct visit *v, const char *text)
{
	if (v->options->on_step)
		v->options->on_step(v->options->user, text);
}

/* ---- Trying --------------------------------------------------------------------------------- */

/*
 * SECURITY: the control runs it without a sandbox, so it must be one that is known to
 * be Cordon's, and that nobody else could have changed.
 */
static int find_program(const struct visit *v, const char **out, struct err *e)
{
	*out = v->options->program;
	if (*out && (*out)[0] != '/')
		return FAIL(e, ERR_SYS, "the program for the probe has no absolute path");
	if (*out)
		return 0;
	return native_find_probe(v->a, out, e) < 0
		       ? err_wrap(e, "nothing can be tried without the probe")
		       : 0;
}

/* Without a room nothing can be tried, and that is a finding. */
static int open_room(struct visit *v, struct err *e)
{
	struct err why = ERR_INIT;
	const char *program;

	v->d->room_reason = (struct reason)REASON_NONE;
	v->d->has_program = find_program(v, &program, &why) == 0;
	if (v->d->has_program && room_open(v->a, program, &v->room, &why) == 0)
		return 0;
	if (why.code == ERR_NOMEM) {
		*e = why;
		return err_result(e);
	}
	return reason_keep(v->a, &why, &v->d->room_reason, e);
}

/*
 * SECURITY: no bwrap is started that a run would pass over, and only a policy tells
 * which those are.
 */
static struct reason find_obstacle(const struct visit *v, const struct backend *backend)
{
	if (!v->room.directory)
		return v->d->room_reason;
	if (native_needs_policy(backend) && !v->usual)
		return (struct reason){ v->why_none.cause,
					STR("there is no policy, which is needed to tell which "
					    "bwrap can be trusted") };
	return (struct reason)REASON_NONE;
}

static int examine_one(struct visit *v, const struct backend *backend, struct err *e)
{
	struct examined *x = VEC_PUSH(v->a, &v->d->backends, e);
	struct reason obstacle = find_obstacle(v, backend);
	char step[64];

	if (!x)
		return err_result(e);
	(void)snprintf(step, sizeof(step), "trying the backend %s", backend->name);
	tell(v, step);
	if (!obstacle.text.len)
		return doctor_examine(v->a, &v->room, &v->d->control, backend, x, e);
	*x = (struct examined){ .backend = backend, .reason = obstacle };
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		x->checks[g] = (struct checked){ .verdict = VERDICT_UNTESTED, .reason = obstacle };
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

/* ---- All of it ----------------------------------------------------------------------------------- */

static void load_usual(struct visit *v)
{
	struct cordon_load_options own = v->load;

	/* What this host can enforce has nothing to do with where that is asked. */
	const struct run_needs needs = { .allows_home = true };

	own.on_warning = NULL;
	v->usual = load_new(&own, &needs, &v->why_none);
}

static int visit(struct visit *v, struct err *e)
{
	struct diagnosis *d = v->d;
	int status;

	if (v->options->flags & CORDON_DOCTOR_CLEAN) {
		tell(v, "looking for what dead runs have left behind");
		if (doctor_clean(v->a, &v->load, d, e) < 0)
			return err_result(e);
	}
	tell(v, "looking at the kernel");
	load_usual(v);
	if (doctor_look(v->a, &d->host, e) < 0 || open_room(v, e) < 0)
		return err_result(e);
	v->room.usual = v->usual;
	d->host.has_preview = v->usual &&
			      settings_have_feature(&v->usual->policy->settings, "macos_preview");
	status = examine_all(v, e);
	room_close(&v->room);
	if (status < 0)
		return err_result(e);
	tell(v, "trying the default profile");
	if (doctor_try_default(v->a, v->usual, &v->why_none, &d->usual, e) < 0)
		return err_result(e);
	tell(v, "checking what is set up for agents");
	if (agents_check(v->a, &v->load, &d->agents, e) < 0)
		return err_result(e);
	return doctor_advise(v->a, d, e);
}

static int examine(cordon_report *report, const struct cordon_doctor_options *options,
		   struct err *e)
{
	struct visit v = { .a = &report->arena,
			   .options = options,
			   .d = ARENA_NEW(&report->arena, struct diagnosis, e),
			   .why_none = ERR_INIT,
			   .room = ROOM_NONE };
	int status = v.d ? options_read(options->load, &v.load, e) : -1;

	if (status == 0)
		status = visit(&v, e);
	cordon_policy_free(v.usual);
	if (status < 0)
		return err_result(e);
	report->error_count = v.d->usual.is_enforced ? 0 : 1;
	report->data = v.d;
	report->print_text = doctor_print_text;
	report->schema = "doctor/1";
	report->describe = doctor_print_json;
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
