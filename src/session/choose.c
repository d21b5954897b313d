/* SPDX-License-Identifier: MIT */
/* P16, P17, P21, P22: which backend, with which losses, in which environment. */
#include <sys/prctl.h>

#include "os/os.h"
#include "plan/net.h"
#include "session/run.h"

/* What makes a run one without a sandbox; NULL: nothing does. */
static const char *find_reason(const struct session_request *in)
{
	if (in->plan->is_unsandboxed)
		return "the profile ':danger-full-access' has none";
	if (in->wish == WISH_FORBID)
		return "--sandbox forbid";
	if (in->backend && strcmp(in->backend, backend_find(STR("none"))->name) == 0)
		return "--backend none";
	return NULL;
}

static int check_wishes(const struct session_request *in, const char *reason, struct err *e)
{
	bool asks_none = in->backend && strcmp(in->backend, "none") == 0;

	if (in->wish == WISH_FORBID && in->backend && !asks_none)
		return FAIL(e, ERR_ARGUMENT,
			    "--sandbox forbid and --backend %s contradict each other", in->backend);
	if (in->plan->is_unsandboxed && in->backend && !asks_none)
		return FAIL(e, ERR_ARGUMENT,
			    "the profile ':danger-full-access' has no sandbox, so --backend %s "
			    "could enforce nothing; choose another profile",
			    in->backend);
	if (reason && in->wish == WISH_REQUIRE)
		return FAIL(e, ERR_WEAKER,
			    "--sandbox require, but there would be no sandbox (%s); choose another "
			    "profile or backend",
			    reason);
	if (reason && !(in->plan->policy->settings.allow & ALLOW_NONE))
		return FAIL(e, ERR_POLICY,
			    "the requirements do not allow to run without a sandbox (%s); have "
			    "\"none\" added to 'allow' in requirements.toml",
			    reason);
	return 0;
}

static int find_accepted(const struct session_request *in, guarantee_set *out, struct err *e)
{
	const struct settings *settings = &in->plan->policy->settings;

	*out = in->accepted;
	if (in->wish == WISH_REQUIRE) {
		if (in->accepted)
			return FAIL(e, ERR_ARGUMENT,
				    "--sandbox require and --accept-missing contradict each other");
		return 0;
	}
	if (in->accepted && !(settings->allow & ALLOW_ACCEPT_MISSING))
		return FAIL(e, ERR_POLICY,
			    "the requirements do not allow --accept-missing; have "
			    "\"accept_missing\" added to 'allow' in requirements.toml");
	for (size_t i = 0; i < settings->accept_missing.count; i++)
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			if (str_is(settings->accept_missing.items[i].name,
				   guarantee_name((enum guarantee)g)))
				*out |= GUARANTEE_BIT(g);
	return 0;
}

/* P16: only where the platform has no backend at all. */
static bool passes_through(const struct session_request *in)
{
	const struct settings *settings = &in->plan->policy->settings;

	return !backends[0] && !in->backend && in->wish == WISH_AUTO &&
	       settings->unavailable == UNAVAILABLE_PASSTHROUGH && (settings->allow & ALLOW_NONE);
}

/*
 * A sandbox of ours makes no namespaces and answers some calls as an old kernel
 * would: what fails first in there depends on the policy, and says little.
 */
static int refuse_nesting(struct err *e)
{
	const char *mark = os_environment_find(os_environment(), "CORDON_SANDBOX");

	if (!mark || strcmp(mark, "none") == 0 || prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2)
		return 0;
	return FAIL(e, ERR_WEAKER,
		    "this is already inside a Cordon sandbox, where another can't be made: run the "
		    "command as it is, it is confined, or with --backend none");
}

static int choose_backend(const struct session_request *in, struct outcome *out, struct err *e)
{
	const char *reason = find_reason(in);
	guarantee_set accepted = 0;

	if (check_wishes(in, reason, e) < 0)
		return err_result(e);
	out->needed = in->plan->needs_set;
	if (!reason && passes_through(in))
		reason = "unavailable = \"passthrough\", and there is no backend here";
	if (reason) {
		out->backend = backend_find(STR("none"));
		session_warn(in, "there is no sandbox (%s): the command can do all that you can",
			     reason);
		return 0;
	}
	if (find_accepted(in, &accepted, e) < 0 ||
	    backend_select(in->plan, &in->plan->policy->settings.linux_backends, in->backend,
			   accepted, &out->backend, &out->lost, e) < 0)
		return err_result(e);
	out->is_sandboxed = true;
	out->given = out->backend->gives;
	return refuse_nesting(e);
}

static void warn_of_losses(const struct session_request *in, const struct outcome *out)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (out->lost & GUARANTEE_BIT(g))
			session_warn(in, "the guarantee %s is not held (%s): its loss was accepted",
				     guarantee_name((enum guarantee)g),
				     guarantee_meaning((enum guarantee)g));
}

static void trace_environment(const struct session_request *in, const struct outcome *out)
{
	if (!in->traces)
		return;
	for (size_t i = 0; i < out->environment.withheld.count; i++)
		session_trace(in, "environment: %.*s is withheld",
			      STR_ARG(out->environment.withheld.items[i]));
	for (size_t i = 0; out->environment.list[i]; i++) {
		struct str entry = str_of(out->environment.list[i]);

		session_trace(in, "environment: %.*s is passed on",
			      STR_ARG(str_first(entry, str_find(entry, '='))));
	}
}

int choose_all(struct arena *a, const struct session_request *in, struct outcome *out,
	       const char *const **programs, struct err *e)
{
	struct environment_request env = { .policy = &in->plan->policy->profile->env,
					   .base = in->environment,
					   .more = in->more_environment };

	if (choose_backend(in, out, e) < 0)
		return err_result(e);
	warn_of_losses(in, out);
	out->network_is_off = out->is_sandboxed && net_mode(in->plan->net) == NET_OFF &&
			      !(out->lost & GUARANTEE_BIT(G_NET_OFF));
	env.backend = out->backend->name;
	env.network_is_off = out->network_is_off;
	env.lost = out->lost;
	env.directory = in->sets_pwd ? in->directory : NULL;
	if (environment_make(a, &env, &out->environment, e) < 0 ||
	    program_candidates(a, in->argv[0], os_environment_find(out->environment.list, "PATH"),
			       programs, e) < 0)
		return err_result(e);
	trace_environment(in, out);
	return 0;
}
