/* SPDX-License-Identifier: MIT */
/* What came of a run. */
#include "audit/audit.h"
#include "base/mem.h"
#include "lib/run.h"

cordon_result *result_new(struct err *e)
{
	cordon_result *r = mem_new(sizeof(*r), e);

	if (!r)
		return NULL;
	r->arena = (struct arena)ARENA_INIT(RUN_MAX_BYTES);
	r->callbacks.events.fd = -1;
	return r;
}

void cordon_result_free(cordon_result *result)
{
	if (!result)
		return;
	cordon_report_free(result->report);
	if (result->session)
		session_done(result->session);
	events_close(&result->callbacks.events);
	arena_done(&result->callbacks.lasting_arena);
	cordon_policy_free(result->policy);
	outside_free(result->outside);
	arena_done(&result->arena);
	mem_free(result);
}

int cordon_result_status(const cordon_result *result)
{
	return result_outcome(result)->status;
}

int cordon_result_signal(const cordon_result *result)
{
	return result_outcome(result)->signal;
}

const char *cordon_result_exec_error(const cordon_result *result)
{
	const struct outcome *o = result_outcome(result);

	return o->exec_error ? o->exec_text.p : NULL;
}

int cordon_result_timed_out(const cordon_result *result)
{
	return result_outcome(result)->timed_out;
}

int cordon_result_cancelled(const cordon_result *result)
{
	return result_outcome(result)->was_cancelled;
}

int cordon_result_had_terminal(const cordon_result *result)
{
	return result_outcome(result)->had_terminal;
}

static const struct captured *find_captured(const cordon_result *result, uint32_t stream)
{
	if (stream != CORDON_STREAM_STDOUT && stream != CORDON_STREAM_STDERR)
		return NULL;
	return &result_outcome(result)->captured[stream - 1];
}

const char *cordon_result_output(const cordon_result *result, uint32_t stream, size_t *length)
{
	const struct captured *captured = find_captured(result, stream);
	struct str bytes = captured ? buf_str(&captured->bytes) : STR_EMPTY;

	if (length)
		*length = bytes.len;
	return bytes.p;
}

int cordon_result_truncated(const cordon_result *result, uint32_t stream)
{
	const struct captured *captured = find_captured(result, stream);

	return captured && captured->is_truncated;
}

const char *cordon_result_backend(const cordon_result *result)
{
	return result_outcome(result)->backend->name;
}

uint64_t cordon_result_warning_count(const cordon_result *result)
{
	return result->callbacks.warnings.count;
}

const char *cordon_result_warning(const cordon_result *result, uint64_t index)
{
	return index < result->callbacks.warnings.count ? result->callbacks.warnings.items[index].p
							: NULL;
}

uint64_t cordon_result_denial_count(const cordon_result *result)
{
	return result_outcome(result)->denials.total;
}

/* What a run left for git is looked for when someone wants to read it. */
static int look_at_git(cordon_result *result, struct err *e)
{
	struct outcome *o = session_outcome(result->session);

	if (o->has_looked || !o->is_sandboxed)
		return 0;
	o->has_looked = true;
	return git_look(&result->arena, result->policy->plan, session_opened(result->session),
			o->started, &o->git, e);
}

/* A run without an audit log gets its id when someone wants to read it. */
int result_find_run_id(cordon_result *result, struct err *e)
{
	struct outcome *o = session_outcome(result->session);

	return o->run_id.len ? 0 : audit_new_run(&result->arena, &o->run_id, e);
}

static void find_ways(cordon_result *result)
{
	outcome_find_ways(&result->arena, session_outcome(result->session),
			  &result->policy->plan_inputs, result->policy->plan, DENIALS_WITH_EDITS);
}

cordon_report *cordon_result_report(cordon_result *result)
{
	struct err ignored = ERR_INIT;
	cordon_report *report;

	if (result->report)
		return result->report;
	if (look_at_git(result, &ignored) < 0 || result_find_run_id(result, &ignored) < 0)
		return NULL;
	find_ways(result);
	report = report_new(&ignored);
	if (!report)
		return NULL;
	report->policy = load_share(result->policy);
	report->home = result->policy->plan_inputs.places.home;
	report->data = result;
	report->print_text = run_print_text;
	report->schema = "run/1";
	report->describe = run_print_json;
	result->report = report;
	return report;
}
