/* SPDX-License-Identifier: MIT */
/* Runs, from start to result. */
#include "lib/run.h"

#include <pthread.h>

#include "base/mem.h"

struct cordon_run_handle {
	cordon_result *result;
	bool is_over;
	bool is_polled; /* now: it is one of the caller's own functions that calls */
};

struct session *run_session(const cordon_run_handle *run)
{
	return run->result->session;
}

/*
 * SECURITY: the directory that was judged is the one that the policy was made for, and the program is not
 * looked for again.
 */
static int follow_order(const cordon_policy *policy, const struct escalation_order *order,
			struct session_request *in, struct err *e)
{
	const struct directory *directory = &policy->inputs.directory;

	if (directory->device != order->device || directory->inode != order->inode ||
	    !str_is(directory->path, order->directory))
		return FAIL_CAUSE(e, CAUSE_PATH_CHANGED, "the directory has been replaced");
	in->program = order->program;
	in->escalated = order;
	return 0;
}

/* A command that is run outside has nothing run outside itself. */
static int find_outside(cordon_result *r, const struct asked *asked,
			const struct escalation_order *order, struct err *e)
{
	return order ? 0 : outside_prepare(asked, &r->outside, e);
}

static int start(cordon_result *r, struct asked *asked, const struct escalation_order *order,
		 struct err *e)
{
	struct session_request in;

	if (asked_agent(&r->arena, asked, false, e) < 0)
		return err_result(e);
	/* The caller's words are gone when this returns, and are still to be spoken of. */
	if (copy_words(&r->arena, asked->run.command, &r->argv, e) < 0 ||
	    find_outside(r, asked, order, e) < 0)
		return err_result(e);
	r->policy = callbacks_load(&r->callbacks, &r->arena, asked, false, e);
	if (!r->policy || asked_check_agent(&r->arena, asked, r->policy, e) < 0 ||
	    asked_session(&r->arena, asked, r->policy, &in, e) < 0)
		return err_result(e);
	in.argv = r->argv;
	if (asked_shell(&r->arena, asked, r->policy, &in, e) < 0)
		return err_result(e);
	r->argv = in.argv;
	if (asked_approvals(&r->arena, asked, r->policy, &r->callbacks, &in, e) < 0)
		return err_result(e);
	if (events_open(&r->arena, r->policy, asked->run.events, &r->callbacks.events, e) < 0)
		return err_result(e);
	callbacks_attach(&r->callbacks, &in);
	outside_attach(r->outside, &r->callbacks, r->policy, &in);
	if (order && follow_order(r->policy, order, &in, e) < 0)
		return err_result(e);
	if (retry_keep(r, &in, e) < 0)
		return err_result(e);
	return session_start(&r->arena, &in, &r->session, e);
}

/* The command runs, but nothing is heard of it before the first step. */
static int tell_start(cordon_result *r, struct err *e)
{
	if (r->callbacks.events.fd < 0)
		return 0;
	if (result_find_run_id(r, e) < 0)
		return err_result(e);
	r->callbacks.run_id = result_outcome(r)->run_id;
	events_tell_start(&r->callbacks.events, r);
	return 0;
}

static int start_run(const cordon *handle, const struct cordon_run_options *request,
		     const struct escalation_order *order, cordon_run_handle **run, struct err *e)
{
	struct asked asked;
	cordon_run_handle *made = NULL;

	if (asked_read(handle, request, &asked, e) < 0 || !(made = mem_new(sizeof(*made), e)))
		return err_result(e);
	made->result = result_new(e);
	if (!made->result || start(made->result, &asked, order, e) < 0 ||
	    tell_start(made->result, e) < 0) {
		cordon_result_free(made->result);
		mem_free(made);
		return err_result(e);
	}
	*run = made;
	return 0;
}

int run_start_outside(const cordon *handle, const struct cordon_run_options *request,
		      const struct escalation_order *order, cordon_run_handle **run, struct err *e)
{
	return start_run(handle, request, order, run, e);
}

int cordon_start(const cordon *handle, const struct cordon_run_options *request,
		 cordon_run_handle **run, cordon_error **error)
{
	struct err e = ERR_INIT;

	if (!run)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_start: run is NULL");
	else if (start_run(handle, request, NULL, run, &e) == 0)
		return 0;
	return error_give(&e, error);
}

int cordon_run_descriptor(const cordon_run_handle *run)
{
	return run->is_over ? -1 : session_descriptor(run->result->session);
}

static int refuse_nested(struct err *e)
{
	return FAIL(e, ERR_ARGUMENT, "a callback of a run can't poll or wait for that run");
}

static void stop_polling(void *arg)
{
	cordon_run_handle *run = arg;

	run->is_polled = false;
}

static int step(cordon_run_handle *run, int timeout_ms, struct err *e)
{
	cordon_result *r = run->result;
	int status = session_step(r->session, timeout_ms, e);

	if (status > 0) {
		int again = retry_begin(r, e);

		status = again < 0 ? again : !again;
		if (again > 0)
			events_tell_start(&r->callbacks.events, r);
	}
	if (status != 0)
		events_tell_end(&r->callbacks.events, r, status < 0 ? e : NULL);
	if (status > 0) {
		run->is_over = true;
		if (r->callbacks.run.on_done)
			r->callbacks.run.on_done(r->callbacks.run.run_user, r);
	}
	return status;
}

static int poll_once(cordon_run_handle *run, int timeout_ms, struct err *e)
{
	int status;

	if (run->is_polled)
		return refuse_nested(e);
	if (run->is_over)
		return 1;
	run->is_polled = true;
	/* A thread may be cancelled in it: then another one ends the run. */
	pthread_cleanup_push(stop_polling, run);
	status = step(run, timeout_ms, e);
	pthread_cleanup_pop(1);
	return status;
}

int cordon_poll(cordon_run_handle *run, int timeout_ms, cordon_error **error)
{
	struct err e = ERR_INIT;
	int status = poll_once(run, timeout_ms, &e);

	return status < 0 ? error_give(&e, error) : status;
}

int cordon_signal(cordon_run_handle *run, int signal_number, cordon_error **error)
{
	struct err e = ERR_INIT;

	if (session_signal(run->result->session, signal_number, &e) < 0)
		return error_give(&e, error);
	return 0;
}

static int add_host(cordon_run_handle *run, const char *pattern, bool is_allow,
		    cordon_error **error)
{
	struct err e = ERR_INIT;

	if (!pattern)
		(void)FAIL(&e, ERR_ARGUMENT, "the pattern is NULL");
	else if (session_add_host(run->result->session, str_of(pattern), is_allow, &e) == 0)
		return 0;
	return error_give(&e, error);
}

int cordon_allow_host(cordon_run_handle *run, const char *pattern, cordon_error **error)
{
	return add_host(run, pattern, true, error);
}

int cordon_deny_host(cordon_run_handle *run, const char *pattern, cordon_error **error)
{
	return add_host(run, pattern, false, error);
}

int cordon_decide(cordon_run_handle *run, uint64_t id, uint32_t decision, cordon_error **error)
{
	struct err e = ERR_INIT;

	if (decision != CORDON_DECISION_ALLOW && decision != CORDON_DECISION_DENY)
		(void)FAIL(&e, ERR_ARGUMENT,
			   "the decision must be CORDON_DECISION_ALLOW or CORDON_DECISION_DENY");
	else if (session_decide(run->result->session, id, decision == CORDON_DECISION_ALLOW, &e) ==
		 0)
		return 0;
	return error_give(&e, error);
}

void cordon_cancel(cordon_run_handle *run)
{
	session_cancel(run->result->session);
}

int cordon_wait(cordon_run_handle *run, cordon_result **result, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_result *r = run->result;
	int status;

	if (run->is_polled) {
		(void)refuse_nested(&e);
		return error_give(&e, error);
	}
	do
		status = poll_once(run, -1, &e);
	while (status == 0);
	mem_free(run);
	if (status < 0) {
		cordon_result_free(r);
		return error_give(&e, error);
	}
	if (result)
		*result = r;
	else
		cordon_result_free(r);
	return 0;
}

int cordon_run(const cordon *handle, const struct cordon_run_options *request,
	       cordon_result **result, cordon_error **error)
{
	cordon_run_handle *run = NULL;
	int status = cordon_start(handle, request, &run, error);

	return status < 0 || !run ? status : cordon_wait(run, result, error);
}
