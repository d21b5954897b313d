/* SPDX-License-Identifier: MIT */
/* P16, P17, P21, P22: which backend, with which losses, in which environment. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#include "os/around.h"
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
	if (in->backend && strcmp(in->backend, backend_none.name) == 0)
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
		return FAIL_CAUSE(
			e, CAUSE_SANDBOX_REQUIRED,
			"--sandbox require, but there would be no sandbox (%s); choose another "
			"profile or backend",
			reason);
	if (reason && in->needs_sandbox)
		return FAIL_CAUSE(
			e, CAUSE_SANDBOX_REQUIRED,
			"there would be no sandbox (%s), and this shell never runs without "
			"one; choose another profile (CORDON_PROFILE, CORDON_MODE, "
			"default_permissions)",
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

	return !in->needs_sandbox && !backends[0] && !in->backend && in->wish == WISH_AUTO &&
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
	return FAIL_CAUSE(
		e, CAUSE_INSIDE_CORDON,
		"this is already inside a Cordon sandbox, where another can't be made: run the "
		"command as it is, it is confined, or with --backend none");
}

/*
 * SECURITY: WSL1 takes many calls that it does not follow. A personality makes uname()
 * say 2.6 whatever the kernel is; the file, which takes longer, is not changed by it.
 */
static int refuse_wsl1(struct err *e)
{
	char text[256];
	struct utsname system;
	struct str release = STR_EMPTY;

	if (uname(&system) == 0)
		release = str_of(system.release);
	if (!release.len || str_has_prefix(release, STR("2.6."))) {
		ssize_t n = os_read_small("/proc/sys/kernel/osrelease", text, sizeof(text));

		release = (struct str){ text, n > 0 ? (size_t)n : 0 };
	}
	if (!backend_is_wsl1(release))
		return 0;
	return FAIL_CAUSE(
		e, CAUSE_WSL1,
		"this is WSL1, which is no Linux kernel and has no sandbox: convert it to WSL2 "
		"(in Windows: wsl --set-version DISTRIBUTION 2), or run without one, with "
		"--backend none");
}

int choose_begin(struct arena *a, const struct session_request *in, struct choice *out,
		 struct outcome *o, struct err *e)
{
	const char *reason = find_reason(in);
	guarantee_set accepted = 0;

	*out = (struct choice){ .in = in };
	if (check_wishes(in, reason, e) < 0)
		return err_result(e);
	o->needed = in->plan->needs_set;
	if (!reason && passes_through(in))
		reason = "unavailable = \"passthrough\", and there is no backend here";
	if (reason) {
		session_warn(in, "there is no sandbox (%s): the command can do all that you can",
			     reason);
		return 0;
	}
	o->is_sandboxed = true;
	if (find_accepted(in, &accepted, e) < 0 ||
	    backend_begin(a, in->plan, &in->plan->policy->settings.linux_backends, in->backend,
			  accepted, &out->search, e) < 0)
		return err_result(e);
	if (in->wish == WISH_REQUIRE)
		out->search.accepts_no_more = "--sandbox require";
	else if (!(in->plan->policy->settings.allow & ALLOW_ACCEPT_MISSING))
		out->search.accepts_no_more = "the requirements of this host";
	return 0;
}

/* Whether one of them would have done, if only it had been let. */
static bool was_kept_from_it(const struct choice *c)
{
	for (size_t i = 0; i < c->search.attempts.count; i++)
		if (!c->search.attempts.items[i].lacks && !c->search.attempts.items[i].is_unknown)
			return true;
	return false;
}

/* Where another program's sandbox is the cause: which one it is, and what to do about it. */
static int blame_sandbox_around(const struct choice *c, struct err *e)
{
	const struct os_around *around = os_around_find();
	bool is_refused = e->code == ERR_SYS && (e->os_error == 0 || e->os_error == EPERM ||
						 e->os_error == EACCES || e->os_error == ENOSYS);

	if (!around || !(is_refused || (e->code == ERR_WEAKER && was_kept_from_it(c))))
		return err_result(e);
	if (e->code == ERR_WEAKER)
		e->cause = CAUSE_INSIDE_SANDBOX;
	return err_wrap(e, "%s is around this process (%s), and no other can be made in it; %s",
			around->name, around->mark, around->way_out);
}

static int find_backend(struct choice *c, struct outcome *o, struct err *e)
{
	bool is_first = c->search.next == 0;

	if (!o->is_sandboxed) {
		o->backend = &backend_none;
		return 0;
	}
	if (backend_next(&c->search, &o->backend, &o->lost, e) < 0)
		return blame_sandbox_around(c, e);
	o->given = o->backend->gives(c->in->plan);
	o->passed_over = c->search.attempts.items;
	o->passed_over_count = c->search.attempts.count;
	if (is_first && (refuse_nesting(e) < 0 || refuse_wsl1(e) < 0))
		return err_result(e);
	return 0;
}

int choose_pass_over(struct choice *c, const struct outcome *o, struct err *e)
{
	if (!o->is_sandboxed)
		return err_result(e);
	if (e->code != ERR_WEAKER)
		return blame_sandbox_around(c, e);
	session_trace(c->in, "%s; another backend is tried", e->text);
	return backend_fell_short(&c->search, o->backend, e);
}

static void warn_of_losses(struct choice *c, const struct outcome *o)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (o->lost & ~c->warned & GUARANTEE_BIT(g))
			session_warn(c->in,
				     "the guarantee %s is not held (%s): its loss was accepted%s",
				     guarantee_name((enum guarantee)g),
				     guarantee_meaning((enum guarantee)g),
				     g == G_NET_MANAGED && o->network_is_off
					     ? "; there is no network at all instead"
					     : "");
	c->warned |= o->lost;
}

/* A backend that can close the network does so too where it can't manage it. */
static bool is_network_off(const struct session_request *in, const struct outcome *o)
{
	switch (net_mode(in->plan->net)) {
	case NET_OFF:
		return !(o->lost & GUARANTEE_BIT(G_NET_OFF));
	case NET_MANAGED:
		return (o->lost & GUARANTEE_BIT(G_NET_MANAGED)) &&
		       (o->given & GUARANTEE_BIT(G_NET_OFF));
	case NET_FULL:
		break;
	}
	return false;
}

bool choose_is_managed(const struct session_request *in, const struct outcome *o)
{
	return o->is_sandboxed && net_mode(in->plan->net) == NET_MANAGED &&
	       !(o->lost & GUARANTEE_BIT(G_NET_MANAGED));
}

void choose_settle(struct choice *c, struct outcome *o, guarantee_set lost)
{
	scoped_buf reasons = BUF_INIT(64 << 10);
	struct err e = ERR_INIT;

	o->lost |= lost;
	o->given &= ~lost;
	warn_of_losses(c, o);
	if (!c->search.attempts.count)
		return;
	backend_say_attempts(&c->search, &reasons);
	session_warn(c->in, "using %s; earlier backends failed: %s", o->backend->name,
		     buf_check(&reasons, &e) < 0 ? "no memory to say why" : buf_str(&reasons).p);
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

		session_trace(in, "environment: %.*s is %s",
			      STR_ARG(str_first(entry, str_find(entry, '='))),
			      i < out->environment.inherited ? "passed on" : "set");
	}
}

static int make_environment(struct arena *a, const struct choice *c, struct outcome *o,
			    struct err *e)
{
	const struct session_request *in = c->in;
	const struct environment_request env = { .policy = &in->plan->policy->profile->env,
						 .base = in->environment,
						 .more = in->more_environment,
						 .backend = o->backend->name,
						 .network_is_off = o->network_is_off,
						 .network_is_managed = choose_is_managed(in, o),
						 .lost = o->lost,
						 .directory = in->sets_pwd ? in->directory : NULL };

	o->environment = (struct child_environment){ .list = NULL };
	return environment_make(a, &env, &o->environment, e);
}

int choose_lose(struct arena *a, const struct choice *c, struct outcome *o, guarantee_set lost,
		struct err *e)
{
	o->lost |= lost;
	return make_environment(a, c, o, e);
}

int choose_next(struct arena *a, struct choice *c, struct outcome *o, const char *const **programs,
		struct err *e)
{
	const struct session_request *in = c->in;

	if (find_backend(c, o, e) < 0)
		return err_result(e);
	o->network_is_off = o->is_sandboxed && is_network_off(in, o);
	warn_of_losses(c, o);
	if (make_environment(a, c, o, e) < 0 ||
	    program_candidates(a, in->program ? in->program : in->argv[0],
			       os_environment_find(o->environment.list, "PATH"), programs, e) < 0)
		return err_result(e);
	trace_environment(in, o);
	return 0;
}
