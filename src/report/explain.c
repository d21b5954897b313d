/* SPDX-License-Identifier: MIT */
/* cordon_explain(): what a policy means on this host, for one platform. */
#include "report/explain.h"

#include "os/os.h"
#include "plan/net.h"

/*
 * Linux has its order in the configuration (linux.backends); the other systems
 * have one, the stronger one first.
 */
static const char *const macos_backends[] = { "seatbelt", NULL };
static const char *const windows_backends[] = { "win_elevated", "win_token", NULL };
static const char *const elevated_alone[] = { "win_elevated", NULL };

static const struct {
	const char *name;
	const char *platform;
	const char *const *backends; /* NULL: linux.backends */
} platforms[] = {
	{ "linux", "linux", NULL },
	{ "landlock", "linux", NULL },
	{ "macos", "macos", macos_backends },
	{ "seatbelt", "macos", macos_backends },
	{ "windows", "windows", windows_backends },
	{ "win_elevated", "windows", elevated_alone },
	{ "win_token", "windows", &windows_backends[1] },
};

static int find_linux_backends(struct arena *a, const struct settings *settings,
			       const char *const **out, struct err *e)
{
	size_t count = settings->linux_backends.count;
	const char **list = arena_array(a, count + 1, sizeof(*list), e);

	if (!list)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct str copy;

		if (arena_copy(a, settings->linux_backends.items[i].name, &copy, e) < 0)
			return err_result(e);
		list[i] = copy.p;
	}
	*out = list;
	return 0;
}

static int find_platform(struct arena *a, struct explanation *x, const char *name, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(platforms); i++) {
		if (strcmp(platforms[i].name, name) != 0)
			continue;
		x->platform = platforms[i].platform;
		x->backends = platforms[i].backends;
		if (x->backends)
			return 0;
		return find_linux_backends(a, &x->policy->policy->settings, &x->backends, e);
	}
	return FAIL_CAUSE(e, CAUSE_UNKNOWN_PLATFORM,
			  "there is no platform '%s'; the platforms are linux (or landlock), macos "
			  "(or seatbelt) and windows",
			  name);
}

guarantee_set explain_refused(const struct explanation *x, guarantee_set missing)
{
	const names *accepted = &x->policy->policy->settings.accept_missing;
	guarantee_set lack = missing;

	for (int g = 0; g < GUARANTEE_COUNT; g++)
		for (size_t i = 0; i < accepted->count; i++)
			if (str_is(accepted->items[i].name, guarantee_name((enum guarantee)g)))
				lack &= ~GUARANTEE_BIT(g);
	return lack;
}

guarantee_set explain_lack(const struct explanation *x, const struct backend *backend)
{
	return explain_refused(x, x->policy->plan->needs_set & ~backend->gives(x->policy->plan));
}

static const struct backend *find_backend(const struct explanation *x)
{
	if (x->policy->policy->profile->is_unsandboxed)
		return NULL;
	for (size_t i = 0; x->backends[i]; i++) {
		const struct backend *backend = backend_find(str_of(x->backends[i]));

		if (backend && explain_lack(x, backend) == 0)
			return backend;
	}
	return NULL;
}

enum { WITHOUT_EFFECT_MAX = 100 }; /* nobody reads more of them */

static int find_without_effect(struct arena *a, struct explanation *x, struct err *e)
{
	const struct plan *plan = x->policy->plan;

	for (size_t i = 0; i < plan->rules.count && x->without_effect.count < WITHOUT_EFFECT_MAX;
	     i++) {
		const struct rule *rule = &plan->rules.items[i];
		struct note *note;
		struct str why;

		/* Options were checked when they were read. */
		if (!rule->origin.line)
			continue;
		if (plan_explain_redundant(a, plan, rule, &why, e) < 0)
			return err_result(e);
		if (!why.len)
			continue;
		note = VEC_PUSH(a, &x->without_effect, e);
		if (!note || arena_printf(a, &note->text, e, "the entry \"%.*s\" %.*s",
					  STR_ARG(rule->key), STR_ARG(why)) < 0)
			return err_result(e);
		note->origin = rule->origin;
	}
	return 0;
}

static int explain(cordon_report *report, const cordon_policy *policy, const char *platform,
		   struct err *e)
{
	struct arena *a = &report->arena;
	struct explanation *x = ARENA_NEW(a, struct explanation, e);

	if (!x)
		return err_result(e);
	x->policy = policy;
	if (find_platform(a, x, platform ? platform : os_system_name, e) < 0 ||
	    plan_round_trips(a, &policy->plan_inputs, policy->plan, &x->round_trips, &x->mode,
			     &x->why_not, e) < 0 ||
	    find_without_effect(a, x, e) < 0 || explain_find_lowering(a, x, e) < 0)
		return err_result(e);
	x->backend = find_backend(x);
	report->policy = load_share(policy);
	report->home = policy->plan_inputs.places.home;
	report->data = x;
	report->print_text = explain_print_text;
	report->schema = "explain/1";
	report->describe = explain_print_json;
	return 0;
}

int cordon_explain(const cordon_policy *policy, const char *platform, cordon_report **report,
		   cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!policy || !report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_explain was called with a NULL");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (explain(r, policy, platform, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}

const char *net_access_name(enum net_access access)
{
	static const char *const texts[] = {
		[NET_OFF] = "off",
		[NET_FULL] = "full",
		[NET_MANAGED] = "managed",
	};

	return texts[access];
}

struct profile explain_effective(const struct explanation *x)
{
	struct profile met = *x->policy->policy->profile;

	met.net = *net_narrowed(x->policy->plan->net);
	return met;
}
