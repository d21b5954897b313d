/* SPDX-License-Identifier: MIT */
/*
 * --retry: where no path can be opened while the command runs, it is run once more with what somebody
 * has granted after it failed. The second run asks nobody, and the result is its own.
 */
#include "base/shell.h"
#include "lib/run.h"

static const char *find_option(const struct grant *grant)
{
	switch (grant->kind) {
	case ASK_WRITE:
		return "--add-write";
	case ASK_CONNECT:
		return "--allow-host";
	case ASK_UNIX_SOCKET:
		return "--allow-socket";
	case ASK_ESCALATE:
		break;
	}
	return NULL;
}

static void tell(cordon_result *r, const struct live_grant *granted, size_t count)
{
	scoped_buf line = BUF_INIT(64 << 10);

	buf_add_text(&line, "the command failed; it is run once more, with what was granted:");
	for (size_t i = 0; i < count; i++) {
		const char *option = find_option(&granted[i].grant);

		if (!option)
			continue;
		buf_printf(&line, " %s ", option);
		shell_add_word(&line, granted[i].grant.subject);
	}
	if (line.failed == ERR_OK)
		r->again.warn(r->again.user, buf_str(&line));
}

static cordon_policy *load_wider(cordon_result *r, const struct live_grant *granted, size_t count,
				 struct err *e)
{
	const struct cordon_load_options options = { .size = sizeof(options) };
	struct grant *grants = arena_array(&r->arena, count, sizeof(*grants), e);
	const struct run_needs needs = { .asks = true, .grants = grants, .grant_count = count };

	if (!grants)
		return NULL;
	for (size_t i = 0; i < count; i++)
		grants[i] = granted[i].grant;
	return load_again(r->policy, &options, &needs, e);
}

static int begin(cordon_result *r, cordon_policy *policy, struct err *e)
{
	struct session_request in = r->again;
	struct outcome *first = session_outcome(r->session);
	const struct approval_sums asked = first->approvals;
	struct session *second = NULL;

	in.plan = policy->plan;
	in.plan_inputs = &policy->plan_inputs;
	in.host = &policy->host;
	in.directory = policy->plan_inputs.places.cwd.p;
	in.approvals = NULL;
	in.asks_after = false;
	in.run_id = first->run_id;
	in.told_losses = first->lost;
	if (session_start(&r->arena, &in, &second, e) < 0)
		return err_wrap(e, "--retry");
	session_outcome(second)->approvals = asked;
	session_done(r->session);
	cordon_policy_free(r->policy);
	r->session = second;
	r->policy = policy;
	return 0;
}

int retry_keep(cordon_result *r, const struct session_request *in, struct err *e)
{
	struct str backend;

	if (!in->asks_after)
		return 0;
	r->again = *in;
	if (copy_words(&r->arena, in->environment, &r->again.environment, e) < 0 ||
	    (in->more_environment &&
	     copy_words(&r->arena, in->more_environment, &r->again.more_environment, e) < 0))
		return err_result(e);
	if (!in->backend)
		return 0;
	if (arena_copy(&r->arena, str_of(in->backend), &backend, e) < 0)
		return err_result(e);
	r->again.backend = backend.p;
	return 0;
}

int retry_begin(cordon_result *r, struct err *e)
{
	const struct live_grant *granted;
	cordon_policy *policy;
	size_t count;

	granted = session_granted(r->session, &count);
	if (!r->again.asks_after || !count)
		return 0;
	r->again.asks_after = false;
	tell(r, granted, count);
	policy = load_wider(r, granted, count, e);
	if (!policy)
		return err_result(e);
	if (begin(r, policy, e) < 0) {
		cordon_policy_free(policy);
		return err_result(e);
	}
	return 1;
}
