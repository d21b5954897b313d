/* SPDX-License-Identifier: MIT */
/* P16, P17, P21, P22: which backend, with which losses, in which environment. */
#include <errno.h>

#include "os/os.h"
#include "os/outer_sandbox.h"
#include "plan/net.h"
#include "session/outer.h"
#include "session/run.h"

/* Why the run has no sandbox; NULL: it has one. */
static const char *find_no_sandbox(const struct session_request *in)
{
	if (in->plan->is_unsandboxed)
		return "the profile ':danger-full-access' has none";
	if (in->sandbox_mode == SANDBOX_FORBID)
		return "--sandbox forbid";
	if (in->backend && strcmp(in->backend, backend_none.name) == 0)
		return "--backend none";
	return NULL;
}

static int check_wishes(const struct session_request *in, const char *reason, struct err *e)
{
	bool asks_none = in->backend && strcmp(in->backend, "none") == 0;

	if (in->sandbox_mode == SANDBOX_FORBID && in->backend && !asks_none)
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "--sandbox forbid and --backend %s contradict each other",
				  in->backend);
	if (in->plan->is_unsandboxed && in->backend && !asks_none) {
		(void)FAIL_CAUSE(e, CAUSE_OPTION_USELESS,
				 "the profile ':danger-full-access' has no sandbox, so --backend "
				 "%s has no effect",
				 in->backend);
		err_add_line(e, "choose another profile");
	} else if (reason && in->sandbox_mode == SANDBOX_REQUIRE) {
		(void)FAIL_CAUSE(e, CAUSE_SANDBOX_REQUIRED,
				 "--sandbox require, but there would be no sandbox (%s)", reason);
		err_add_line(e, "choose another profile or backend");
	} else if (reason && in->needs_sandbox) {
		(void)FAIL_CAUSE(e, CAUSE_SANDBOX_REQUIRED,
				 "there would be no sandbox (%s), and this shell never runs "
				 "without one",
				 reason);
		err_add_line(e, "choose another profile: CORDON_PROFILE, CORDON_MODE or "
				"default_permissions");
	} else if (reason && !(in->plan->policy->settings.allow & ALLOW_NONE)) {
		(void)FAIL_CAUSE(e, CAUSE_REQUIREMENTS,
				 "the requirements do not allow a run without a sandbox (%s)",
				 reason);
		err_add_line(e, "the administrator can add \"none\" to 'allow' in "
				"requirements.toml");
	}
	return e->code == ERR_OK ? 0 : err_result(e);
}

static int find_accepted(const struct session_request *in, guarantee_set *out, struct err *e)
{
	const struct settings *settings = &in->plan->policy->settings;

	*out = in->accepted;
	if (in->sandbox_mode == SANDBOX_REQUIRE) {
		if (in->accepted)
			return FAIL_CAUSE(
				e, CAUSE_OPTION_CONFLICT,
				"--sandbox require and --accept-missing contradict each other");
		return 0;
	}
	if (in->accepted && !(settings->allow & ALLOW_ACCEPT_MISSING)) {
		(void)FAIL_CAUSE(e, CAUSE_REQUIREMENTS,
				 "the requirements do not allow --accept-missing");
		err_add_line(e, "the administrator can add \"accept_missing\" to 'allow' in "
				"requirements.toml");
		return err_result(e);
	}
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

	return !in->needs_sandbox && !backends[0] && !in->backend &&
	       in->sandbox_mode == SANDBOX_AUTO &&
	       settings->unavailable == UNAVAILABLE_PASSTHROUGH && (settings->allow & ALLOW_NONE);
}

/* The mark alone says nothing: anybody can set a variable. */
bool session_is_inside(void)
{
	const char *mark = os_environment_find(os_environment(), "CORDON_SANDBOX");

	return mark && strcmp(mark, "none") != 0 && os_is_filtered();
}

/*
 * Inside a Cordon sandbox no namespaces can be made, and some calls fail as on an old kernel. Which
 * call fails first depends on the policy, so its error would not explain the cause.
 */
static int refuse_nesting(const struct session_request *in, struct err *e)
{
	if (!session_is_inside())
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_INSIDE_CORDON,
			 "this process already runs in a Cordon sandbox, and can't make another");
	err_add_line(e, "run the command without cordon: it is confined already");
	if (!in->needs_sandbox)
		err_add_line(e, "or use --backend outer, for the sandbox that it is in");
	return err_result(e);
}

/* SECURITY: WSL1 accepts many calls without enforcing them. */
static int refuse_wsl1(const struct session_request *in, struct err *e)
{
	char text[256];
	struct str release = os_kernel_release(text, sizeof(text));

	if (!backend_is_wsl1(release))
		return 0;
	(void)FAIL_CAUSE(e, CAUSE_WSL1, "this is WSL1, which can't enforce a sandbox");
	err_add_line(e, "convert it to WSL2, in Windows: wsl --set-version DISTRIBUTION 2");
	if (!in->needs_sandbox)
		err_add_line(e, "or run without a sandbox: --backend none");
	return err_result(e);
}

int choose_begin(struct arena *a, const struct session_request *in, struct choice *out,
		 struct outcome *o, struct err *e)
{
	const struct settings *settings = &in->plan->policy->settings;
	const char *reason = find_no_sandbox(in);
	guarantee_set accepted = 0;

	*out = (struct choice){ .in = in };
	o->needed = in->plan->needs_set;
	if (in->backend && strcmp(in->backend, backend_outer.name) == 0 && !reason)
		return outer_enter(a, in, &out->outer, e);
	if (check_wishes(in, reason, e) < 0)
		return err_result(e);
	if (!reason && passes_through(in))
		reason = "unavailable = \"passthrough\", and this system has no backend";
	if (reason) {
		session_warn(in,
			     "there is no sandbox (%s): the command can do everything that you can",
			     reason);
		return 0;
	}
	o->is_sandboxed = true;
	if (find_accepted(in, &accepted, e) < 0 ||
	    backend_begin(a, in->plan, backend_order(settings), in->backend, accepted, &out->search,
			  e) < 0)
		return err_result(e);
	out->search.names_no_options = in->needs_sandbox;
	if (in->sandbox_mode == SANDBOX_REQUIRE)
		out->search.accepts_no_more = "--sandbox require";
	else if (!(in->plan->policy->settings.allow & ALLOW_ACCEPT_MISSING))
		out->search.accepts_no_more = "the requirements of this host";
	return 0;
}

/* Whether a backend that gives every guarantee failed on this host. */
static bool was_hindered(const struct choice *c)
{
	for (size_t i = 0; i < c->search.attempts.count; i++)
		if (!c->search.attempts.items[i].lacks && !c->search.attempts.items[i].is_unknown)
			return true;
	return false;
}

/* If another program's sandbox is the cause, says which one it is and what to do about it. */
static int blame_sandbox_around(const struct choice *c, struct err *e)
{
	const struct os_outer_sandbox *around = os_outer_sandbox_find();
	bool is_refused = e->code == ERR_SYS && (e->os_error == 0 || e->os_error == EPERM ||
						 e->os_error == EACCES || e->os_error == ENOSYS);

	if (!around || !(is_refused || (e->code == ERR_WEAKER && was_hindered(c))))
		return err_result(e);
	if (e->code == ERR_WEAKER)
		e->cause = CAUSE_INSIDE_SANDBOX;
	(void)err_wrap(e, "this process runs in a sandbox of %s (%s)", around->name, around->mark);
	err_add_line(e, "%s", around->way_out);
	return err_result(e);
}

static int find_backend(struct choice *c, struct outcome *o, struct err *e)
{
	bool is_first = c->search.next == 0;

	if (!o->is_sandboxed) {
		o->backend = c->outer.len ? &backend_outer : &backend_none;
		return 0;
	}
	if (backend_next(&c->search, &o->backend, &o->lost, e) < 0)
		return blame_sandbox_around(c, e);
	o->given = o->backend->gives(c->in->plan);
	o->passed_over = c->search.attempts.items;
	o->passed_over_count = c->search.attempts.count;
	if (is_first && (refuse_nesting(c->in, e) < 0 || refuse_wsl1(c->in, e) < 0))
		return err_result(e);
	return 0;
}

int choose_pass_over(struct choice *c, const struct outcome *o, struct err *e)
{
	if (!o->is_sandboxed)
		return err_result(e);
	if (e->code != ERR_WEAKER)
		return blame_sandbox_around(c, e);
	session_trace(c->in, "%s; trying the next backend", e->text);
	return backend_fell_short(&c->search, o->backend, e);
}

static void warn_of_losses(struct choice *c, const struct outcome *o)
{
	const guarantee_set told = c->warned | c->in->told_losses;

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (o->lost & ~told & GUARANTEE_BIT(g))
			session_warn(
				c->in,
				"the guarantee %s is not enforced (%s): its loss was accepted%s",
				guarantee_name((enum guarantee)g),
				guarantee_meaning((enum guarantee)g),
				g == G_NET_MANAGED && o->network_is_off
					? "; the network is off instead"
					: "");
	c->warned |= o->lost;
}

/* A backend that can't manage the network turns it off, if it can do that. */
static bool is_network_off(const struct session_request *in, const struct outcome *o)
{
	switch (net_mode(in->plan->net)) {
	case NET_OFF:
		return !(o->lost & GUARANTEE_BIT(G_NET_OFF));
	case NET_MANAGED:
		return !(o->given & GUARANTEE_BIT(G_NET_MANAGED)) &&
		       (o->given & GUARANTEE_BIT(G_NET_OFF));
	case NET_FULL:
		break;
	}
	return false;
}

bool choose_is_managed(const struct session_request *in, const struct outcome *o)
{
	return o->is_sandboxed && net_mode(in->plan->net) == NET_MANAGED &&
	       (o->given & GUARANTEE_BIT(G_NET_MANAGED));
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

/* With the host's network connect() is noticed only where changes of files are (filter_options_for()). */
static bool can_ask(const struct session_request *in, const struct outcome *o)
{
	return supervisor_takes_requests && o->is_sandboxed &&
	       (net_mode(in->plan->net) != NET_FULL || o->naming_asked != NAMING_OFF);
}

#define MARK_OFF     "CORDON_SANDBOX_NETWORK_DISABLED", "1"
#define MARK_MANAGED "CORDON_SANDBOX_NETWORK", "managed"

/* What the sandbox around this process has told it; it is told on, and decides nothing. */
static bool has_mark(const char *const *environment, const char *name, const char *value)
{
	const char *is = os_environment_find(environment, name);

	return is && strcmp(is, value) == 0;
}

/* The environment names it, so it has to be there before. */
static int open_entrance(const struct choice *c, const struct outcome *o, struct err *e)
{
	if (!c->entrance || c->entrance->port || !o->backend->shares_network ||
	    !choose_is_managed(c->in, o))
		return 0;
	if (c->in->host_port_count || c->in->published_count) {
		(void)FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				 "the %s backend has no ports of the host in a managed network: "
				 "such connections would not pass through the proxy",
				 o->backend->name);
		err_add_line(e, "leave out --host-port and --publish");
		return err_result(e);
	}
	return entrance_open(c->entrance, e);
}

static int make_environment(struct arena *a, const struct choice *c, struct outcome *o,
			    struct err *e)
{
	const struct session_request *in = c->in;
	const char *const *base = in->environment;
	bool is_outer = c->outer.len > 0;
	const struct environment_request env = {
		.policy = &in->plan->policy->profile->env,
		.base = in->environment,
		.more = in->more_environment,
		.names_fold = os_variables_fold,
		.backend = is_outer ? c->outer.p : o->backend->name,
		.network_is_off = is_outer ? has_mark(base, MARK_OFF) : o->network_is_off,
		.network_is_managed = is_outer ? has_mark(base, MARK_MANAGED)
					       : choose_is_managed(in, o),
		.entrance = c->entrance && c->entrance->port && o->backend->shares_network
				    ? c->entrance
				    : NULL,
		.may_listen = net_allows_local_binding(in->plan->net),
		.can_ask = is_outer || can_ask(in, o),
		.withheld = in->escalated ? in->escalated->withheld : NULL,
		.lost = o->lost,
		.directory = in->sets_pwd ? in->directory : NULL
	};

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
	if (o->network_is_off && in->approvals && net_mode(in->plan->net) == NET_MANAGED &&
	    !(o->lost & GUARANTEE_BIT(G_NET_MANAGED)))
		session_warn(in,
			     "the %s backend can't manage the network: it is off, and no host "
			     "can be asked about",
			     o->backend->name);
	warn_of_losses(c, o);
	if (open_entrance(c, o, e) < 0 || make_environment(a, c, o, e) < 0 ||
	    program_candidates(a, in->program ? in->program : in->argv[0],
			       os_environment_find(o->environment.list, "PATH"), programs, e) < 0)
		return err_result(e);
	trace_environment(in, o);
	return 0;
}
