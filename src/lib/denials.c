/* SPDX-License-Identifier: MIT */
/* What was refused during a run, as cordon.h has it. */
#include "base/utf8.h"
#include "lib/run.h"

static const char *text_or_null(struct str text)
{
	return text.len ? text.p : NULL;
}

static int show(struct arena *a, struct str text, const char **out, struct err *e)
{
	scoped_buf shown = BUF_INIT(DENIAL_MAX_BYTES);
	struct str copy;

	utf8_add_shown(&shown, text);
	if (buf_check(&shown, e) < 0 || arena_copy(a, buf_str(&shown), &copy, e) < 0)
		return err_result(e);
	*out = text_or_null(copy);
	return 0;
}

int denial_fill(struct arena *a, const struct advice_context *in, const struct denial *denial,
		struct cordon_denial *out, struct err *e)
{
	struct origin origin = denial_origin(denial);
	scoped_buf rule = BUF_INIT(DENIAL_MAX_BYTES), advice = BUF_INIT(DENIAL_MAX_BYTES);
	struct cordon_denial x = {
		.size = sizeof(x),
		.kind = denial_kind_name(denial->kind),
		.operation = operation_name(denial->operation),
		.subject = denial->subject.p,
		.named = text_or_null(denial->named),
		.rule_file = origin.file,
		.rule_line = origin.line,
		.executable = text_or_null(denial->executable),
		.pid = denial->pid > 0 ? (uint64_t)denial->pid : 0,
		.os_error = denial->os_error,
		.count = denial->count,
		.first_ms = denial->first_ms,
		.last_ms = denial->last_ms,
		.is_guess = denial->is_guess,
	};

	denial_add_rule(&rule, denial);
	denial_add_advice(&advice, in, denial);
	if (buf_check(&advice, e) < 0 || show(a, buf_str(&advice), &x.advice, e) < 0 ||
	    buf_check(&rule, e) < 0 || show(a, buf_str(&rule), &x.rule, e) < 0 ||
	    show(a, denial->program, &x.program, e) < 0)
		return err_result(e);
	*out = x;
	return 0;
}

static int fill_all(cordon_result *result, struct err *e)
{
	const struct outcome *o = result_outcome(result);
	const struct advice_context in = { .plan = result->policy->plan,
					   .plan_inputs = &result->policy->plan_inputs,
					   .can_ask = o->approvals.was_asking };
	const struct denials *d = &o->denials;
	struct cordon_denial *all = arena_array(&result->arena, d->items.count, sizeof(*all), e);

	if (!all)
		return err_result(e);
	for (size_t i = 0; i < d->items.count; i++)
		if (denial_fill(&result->arena, &in, &d->items.items[i], &all[i], e) < 0)
			return err_result(e);
	result->denials = all;
	return 0;
}

const struct cordon_denial *cordon_result_denial(cordon_result *result, uint64_t index)
{
	struct err ignored = ERR_INIT;

	if (index >= result_outcome(result)->denials.items.count ||
	    (!result->denials && fill_all(result, &ignored) < 0))
		return NULL;
	return &result->denials[index];
}
