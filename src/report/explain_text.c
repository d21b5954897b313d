/* SPDX-License-Identifier: MIT */
/* Prints an explanation as text for people. */
#include "base/path.h"
#include "base/utf8.h"
#include "plan/net.h"
#include "policy/metadata.h"
#include "report/explain.h"
#include "report/rules.h"

enum {
	FIELD_WIDTH = 12,
	PATH_WIDTH_MAX = 48,
	HELD_WIDTH = 88,
	ALIKE_MAX = 3,	  /* lines of one entry to show; the others are counted */
	ALIKE_REACH = 64, /* how far back to look for them: a plan may have 100,000 */
};

static void field(struct page *p, const char *name)
{
	page_style(p, STYLE_TITLE, "%-*s ", FIELD_WIDTH - 1, name);
}

/* Only if it differs from the working directory. */
static void print_workspace(struct page *p, const struct places *places)
{
	if (str_eq(places_workspace(places), places->cwd))
		return;
	field(p, "workspace");
	page_str(p, places_workspace(places));
	page_line(p);
}

static void title(struct page *p, const char *text)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "%s", text);
	page_line(p);
}

/* A column as wide as its widest text, within reason. */
static size_t fit(size_t width, struct str s)
{
	return MIN_OF(MAX_OF(width, utf8_shown_width(s)), (size_t)PATH_WIDTH_MAX);
}

static void print_profile(struct page *p, const struct explanation *x)
{
	const struct profile *profile = x->policy->policy->profile;

	field(p, "profile");
	page_str(p, profile->name);
	page_text(p, "  ");
	page_origin(p, &profile->origin);
	page_line(p);
	if (profile->description.len) {
		field(p, "");
		page_str(p, profile->description);
		page_line(p);
	}
	if (profile->is_unsandboxed) {
		field(p, "");
		page_style(p, STYLE_BAD, "no sandbox: the command can do everything that you can");
		page_line(p);
	}
	for (size_t i = 0; i < x->policy->policy->trusted.count; i++) {
		field(p, i == 0 ? "widened by" : "");
		page_text(p, "the trusted project ");
		page_origin(p, &x->policy->policy->trusted.items[i].origin);
		page_line(p);
	}
	for (size_t i = 1; i < x->policy->policy->layers.count; i++) {
		field(p, i == 1 ? "narrowed by" : "");
		page_str(p, x->policy->policy->layers.items[i].name);
		page_line(p);
	}
	field(p, "directory");
	page_str(p, x->policy->plan_inputs.places.cwd);
	page_line(p);
	print_workspace(p, &x->policy->plan_inputs.places);
}

static void print_mode(struct page *p, const struct explanation *x)
{
	field(p, "mode");
	if (x->round_trips) {
		page_printf(p, "%s%s, the same answers", mode_kind_name(x->mode.kind),
			    x->mode.network_access ? " with network" : "");
	} else {
		page_text(p, "none (no mode has the same rules)");
	}
	page_line(p);
}

static void print_region(struct page *p, const struct region *region, size_t width,
			 size_t label_width)
{
	page_text(p, p->is_brief ? "" : "  ");
	page_access(p, region->access);
	page_text(p, "  ");
	page_column(p, region->path, width);
	if (!p->is_brief) {
		page_text(p, "  ");
		page_column(p, rule_label(region->rule), label_width);
		page_text(p, "  ");
		page_rule_reason(p, region->rule);
	}
	page_line(p);
}

/* A missing name of P9's table: these are listed together, by directory. */
static bool is_held_name(const struct rule *rule, struct str path)
{
	return rule->kind == RULE_PROTECTED && !rule->origin.file && metadata_find(rule->key) &&
	       str_eq(rule->path, path);
}

static bool is_listed_below(const struct plan *plan, size_t at)
{
	const struct region *region = &plan->regions.items[at];

	return region->type == HOST_MISSING && is_held_name(region->rule, region->path);
}

/* How many of the regions before this one come from the same entry. */
static size_t count_alike(const struct plan *plan, size_t at)
{
	const struct rule *rule = plan->regions.items[at].rule;
	size_t count = 0;

	for (size_t i = at > ALIKE_REACH ? at - ALIKE_REACH : 0; i < at; i++)
		count += rule_is_alike(plan->regions.items[i].rule, rule);
	return count;
}

/*
 * An entry like :secrets stands for dozens of paths. The first few show what it does, so the text
 * leaves the others out; --json lists all.
 */
static void print_regions(struct page *p, const struct explanation *x)
{
	const struct plan *plan = x->policy->plan;
	size_t width = 0;
	size_t label_width = 0;
	size_t left_out = 0;

	for (size_t i = 0; i < plan->regions.count && !p->is_brief; i++) {
		if (is_listed_below(plan, i))
			continue;
		width = fit(width, plan->regions.items[i].path);
		label_width = fit(label_width, rule_label(plan->regions.items[i].rule));
	}
	if (!p->is_brief)
		title(p, "files: the deepest line that covers a path counts");
	for (size_t i = 0; i < plan->regions.count; i++) {
		if (is_listed_below(plan, i))
			continue;
		if (count_alike(plan, i) >= ALIKE_MAX)
			left_out++;
		else
			print_region(p, &plan->regions.items[i], width, label_width);
	}
	if (left_out && !p->is_brief)
		page_printf(p, "  and %zu more like these; --json lists all\n", left_out);
}

static void print_globs(struct page *p, const struct plan *plan)
{
	bool has_any = false;

	for (size_t i = 0; i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];

		if (rule->kind != RULE_GLOB)
			continue;
		if (!has_any)
			title(p, "names denied wherever they appear");
		has_any = true;
		page_text(p, "  ");
		page_str(p, rule->path);
		page_text(p, rule->path.len > 1 ? "/" : "");
		page_str(p, rule->glob);
		page_text(p, "  ");
		page_origin(p, &rule->origin);
		page_line(p);
	}
	for (size_t i = 0; i < plan->masked.count; i++) {
		if (i == 0)
			title(p, "of these there are now");
		page_text(p, "  ");
		page_str(p, plan->masked.items[i].path);
		page_line(p);
	}
}

/* The names of the table that are missing in one directory, from number `first` on. */
static void print_held_names(struct page *p, const struct plan *plan, size_t first)
{
	struct str above = path_parent(plan->placeholders.items[first].path);
	size_t width = HELD_WIDTH;

	page_text(p, "  names that other programs act on ('cordon profiles :workspace' says why), "
		     "in ");
	page_str(p, above);
	for (size_t i = first; i < plan->placeholders.count; i++) {
		const struct placeholder *placeholder = &plan->placeholders.items[i];
		struct str name = path_name(placeholder->path);

		if (!is_held_name(placeholder->rule, placeholder->path) ||
		    !str_eq(path_parent(placeholder->path), above))
			continue;
		if (width + name.len >= HELD_WIDTH) {
			page_text(p, "\n    ");
			width = 0;
		}
		width += name.len + 2;
		page_text(p, "  ");
		page_str(p, name);
	}
	page_line(p);
}

/* Whether an earlier one was printed together with this one. */
static bool was_printed(const struct plan *plan, size_t at)
{
	struct str above = path_parent(plan->placeholders.items[at].path);

	for (size_t i = 0; i < at; i++)
		if (is_held_name(plan->placeholders.items[i].rule,
				 plan->placeholders.items[i].path) &&
		    str_eq(path_parent(plan->placeholders.items[i].path), above))
			return true;
	return false;
}

static void print_placeholders(struct page *p, const struct plan *plan)
{
	size_t left_out = 0;

	for (size_t i = 0; i < plan->placeholders.count; i++) {
		const struct placeholder *placeholder = &plan->placeholders.items[i];
		size_t alike = 0;

		if (i == 0)
			title(p, "missing, and can't be created");
		if (is_held_name(placeholder->rule, placeholder->path)) {
			if (!was_printed(plan, i))
				print_held_names(p, plan, i);
			continue;
		}
		for (size_t j = i > ALIKE_REACH ? i - ALIKE_REACH : 0; j < i; j++)
			alike += str_eq(plan->placeholders.items[j].rule->key,
					placeholder->rule->key);
		if (alike >= ALIKE_MAX) {
			left_out++;
			continue;
		}
		page_text(p, "  ");
		page_str(p, placeholder->path);
		page_text(p, "  because of ");
		page_str(p, rule_label(placeholder->rule));
		page_line(p);
	}
	if (left_out)
		page_printf(p, "  and %zu more like these; --json lists all\n", left_out);
}

static void print_held(struct page *p, const struct plan *plan)
{
	print_placeholders(p, plan);
	for (size_t i = 0; i < plan->links.count; i++) {
		if (i == 0)
			title(p, "links, protected together with their targets");
		page_text(p, "  ");
		page_str(p, plan->links.items[i].path);
		page_text(p, " -> ");
		page_str(p, plan->links.items[i].target);
		page_line(p);
	}
	for (size_t i = 0; i < plan->pins.count; i++) {
		if (i == 0)
			title(p, "pinned: can't be renamed");
		page_text(p, "  ");
		page_str(p, plan->pins.items[i].path);
		page_text(p, "  because of ");
		page_str(p, plan->pins.items[i].because);
		page_line(p);
	}
}

static void print_rule_start(struct page *p, bool is_allow)
{
	page_text(p, "  ");
	page_style(p, is_allow ? STYLE_GOOD : STYLE_BAD, "%-5s", is_allow ? "allow" : "deny");
}

static void print_host_rule(struct page *p, const struct net_rule *rule)
{
	print_rule_start(p, rule->is_allow);
	page_text(p, "  ");
	page_column(p, rule->domain.text, 32);
	page_text(p, "  ");
	page_origin(p, &rule->origin);
	page_line(p);
}

static void print_socket_rule(struct page *p, const struct net_socket *socket)
{
	print_rule_start(p, socket->is_allow);
	page_text(p, socket->below_home ? "  socket ~/" : "  socket ");
	page_str(p, socket->path);
	page_text(p, "  ");
	page_origin(p, &socket->origin);
	page_line(p);
}

void explain_print_rules(struct page *p, const struct policy *policy)
{
	for (size_t i = 0; i < policy->layers.count; i++) {
		const struct net_rules *net = &policy->layers.items[i].net;

		if (!policy->layers.items[i].has_net && i > 0)
			continue;
		for (size_t j = 0; j < net->rules.count; j++)
			print_host_rule(p, &net->rules.items[j]);
		for (size_t j = 0; j < net->sockets.count; j++)
			print_socket_rule(p, &net->sockets.items[j]);
	}
	for (size_t i = 0; i < policy->net_grants.count; i++)
		print_host_rule(p, &policy->net_grants.items[i]);
	for (size_t i = 0; i < policy->socket_grants.count; i++)
		print_socket_rule(p, &policy->socket_grants.items[i]);
}

/* ---- The keys ------------------------------------------------------------ */

void explain_text_workspace_roots(struct page *p, const struct explanation *x)
{
	for (size_t i = 1; i < x->policy->plan->places.root_count; i++) {
		field(p, i == 1 ? "also root" : "");
		page_str(p, x->policy->plan->places.roots[i]);
		page_line(p);
	}
}

void explain_text_filesystem(struct page *p, const struct explanation *x)
{
	print_regions(p, x);
	print_globs(p, x->policy->plan);
	print_held(p, x->policy->plan);
	page_line(p);
}

/* With explain_text_unix_sockets(): both are listed layer by layer. */
void explain_text_domains(struct page *p, const struct explanation *x)
{
	if (net_mode(x->policy->plan->net) == NET_MANAGED)
		explain_print_rules(p, x->policy->policy);
}

void explain_text_unix_sockets(struct page *p, const struct explanation *x)
{
	(void)p;
	(void)x;
}

void explain_text_set(struct page *p, const struct explanation *x)
{
	const struct environment *env = &x->policy->policy->profile->env;

	for (size_t i = 0; i < env->set.count; i++) {
		page_text(p, i ? " " : ", set ");
		page_str(p, env->set.items[i].name);
	}
	if (env->inherit != ENV_NONE)
		page_text(p, "; names that look like secrets are withheld");
}

void explain_text_features(struct page *p, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	for (size_t i = 0; i < settings->features.count; i++) {
		field(p, i ? "" : "features");
		page_str(p, settings->features.items[i].name);
		page_text(p, settings->features.items[i].is_on ? " true\n" : " false\n");
	}
}

void explain_text_approve(struct page *p, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	for (size_t i = 0; i < settings->approve.count; i++) {
		const struct approve_rule *rule = &settings->approve.items[i];

		field(p, i ? "" : "approve");
		page_text(p, approve_answer_name(rule->answer));
		page_text(p, " ");
		page_text(p, approve_subject_name(rule->subject));
		page_text(p, " ");
		page_str(p, rule->text);
		if (rule->answer == APPROVE_ALLOW) {
			page_text(p, ", ");
			page_text(p, approve_scope_name(rule->scope));
		}
		if (rule->profile.name.len) {
			page_text(p, ", in profile ");
			page_str(p, rule->profile.name);
		}
		page_text(p, "  ");
		page_origin(p, &rule->origin);
		page_line(p);
	}
}

void explain_text_exec(struct page *p, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	for (size_t i = 0; i < settings->exec.count; i++) {
		const struct exec_rule *rule = &settings->exec.items[i];

		field(p, i ? "" : "exec");
		page_text(p, exec_decision_name(rule->decision));
		for (size_t k = 0; k < rule->argv.count; k++) {
			page_text(p, " ");
			page_str(p, rule->argv.items[k]);
		}
		page_text(p, rule->takes_more ? " ..." : "");
		if (rule->run.name.len) {
			page_text(p, ", run in profile ");
			page_str(p, rule->run.name);
		}
		if (rule->profile.name.len) {
			page_text(p, ", in profile ");
			page_str(p, rule->profile.name);
		}
		page_text(p, "  ");
		page_origin(p, &rule->origin);
		page_line(p);
	}
}

void explain_text_shell(struct page *p, const struct explanation *x)
{
	const struct named *shell = &x->policy->policy->settings.shell;

	if (!shell->name.len)
		return;
	field(p, "shell");
	page_str(p, shell->name);
	page_line(p);
}

static void print_limit(struct page *p, enum limit_unit unit, uint64_t value)
{
	static const char *const units[] = { "", " KiB", " MiB", " GiB", " TiB" };
	size_t scale = 0;

	switch (unit) {
	case UNIT_TIME:
		if (value % 1000 == 0)
			page_printf(p, "%llu s", (unsigned long long)(value / 1000));
		else
			page_printf(p, "%llu ms", (unsigned long long)value);
		return;
	case UNIT_BYTES:
		while (value && value % 1024 == 0 && scale + 1 < COUNT_OF(units)) {
			value /= 1024;
			scale++;
		}
		break;
	case UNIT_COUNT:
		break;
	}
	page_printf(p, "%llu%s", (unsigned long long)value, units[scale]);
}

static void print_value(struct page *p, const struct key *k, const void *base)
{
	const void *value = key_field(k, base);
	const names *list = value;
	const env_patterns *patterns = value;

	switch (k->kind) {
	case KIND_BOOL:
	case KIND_CHOICE:
		page_text(p, key_word(k, base));
		break;
	case KIND_STRING:
		page_str(p, *(const struct str *)value);
		break;
	case KIND_NAMES:
	case KIND_WORDS:
		for (size_t i = 0; i < list->count; i++) {
			page_text(p, i ? " " : "");
			page_str(p, list->items[i].name);
		}
		break;
	case KIND_PATTERNS:
		for (size_t i = 0; i < patterns->count; i++) {
			page_text(p, i ? " " : "");
			page_str(p, patterns->items[i].text);
		}
		break;
	case KIND_LIMIT:
		print_limit(p, k->unit, *(const uint64_t *)value);
		break;
	case KIND_SUBTABLE:
	case KIND_OWN:
	case KIND_SETTING:
	case KIND_LOADED:
	case KIND_IGNORED:
	case KIND_REFUSED:
		break;
	}
}

/* A bool or a choice of a profile is shown always, everything else only if it was set. */
static bool is_shown(const struct key *k, const void *base)
{
	switch (k->kind) {
	case KIND_BOOL:
	case KIND_CHOICE:
		return !key_is_setting(k) || !key_is_default(k, base);
	case KIND_STRING:
	case KIND_NAMES:
	case KIND_WORDS:
	case KIND_PATTERNS:
	case KIND_LIMIT:
		return !key_is_default(k, base);
	case KIND_SUBTABLE:
	case KIND_OWN:
	case KIND_SETTING:
	case KIND_LOADED:
	case KIND_IGNORED:
	case KIND_REFUSED:
		break;
	}
	return false;
}

static void (*const own_texts[KEY_COUNT])(struct page *, const struct explanation *) = {
#define OWN_KEY(id, name) [KEY_##id] = explain_text_##name,
	POLICY_KEYS(KEY_IF_OWN)
#undef OWN_KEY
};

/* A table of keys on one line. */
static void print_subtable(struct page *p, const struct explanation *x, enum key_table which,
			   const void *base)
{
	bool has_any = false;

	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != which)
			continue;
		if (own_texts[i])
			own_texts[i](p, x);
		if (!is_shown(k, base))
			continue;
		page_printf(p, "%s%s ", has_any ? ", " : "", k->name);
		print_value(p, k, base);
		has_any = true;
	}
	page_text(p, has_any ? "\n" : "none\n");
}

/* These are part of what print_profile() and print_platform() print. */
static bool is_shown_elsewhere(const struct key *k)
{
	return k == &policy_keys[KEY_DESCRIPTION] || k == &policy_keys[KEY_WORKSPACE] ||
	       k == &policy_keys[KEY_LINUX];
}

static void print_key(struct page *p, const struct key *k, const void *base)
{
	field(p, k->name);
	print_value(p, k, base);
	if (k->origin) {
		page_text(p, "  ");
		page_origin(p,
			    (const struct origin *)(const void *)((const char *)base + k->origin));
	}
	page_line(p);
}

/* Every key of a table, each with a line of its own. */
static void print_keys(struct page *p, const struct explanation *x, enum key_table which,
		       const void *base)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != which || is_shown_elsewhere(k))
			continue;
		if (own_texts[i]) {
			own_texts[i](p, x);
		} else if (k->kind == KIND_SUBTABLE) {
			field(p, k->name);
			print_subtable(p, x, k->subtable, base);
		} else if (is_shown(k, base)) {
			print_key(p, k, base);
		}
	}
}

void explain_text_network(struct page *p, const struct explanation *x)
{
	static const char *const meanings[] = {
		[NET_OFF] = "off: no host, no loopback of the host, no sockets from outside",
		[NET_FULL] = "full: every host",
		[NET_MANAGED] = "managed: through the proxy, and only what is allowed",
	};
	const struct profile effective = explain_effective(x);
	const struct net *net = x->policy->plan->net;

	field(p, "network");
	page_text(p, meanings[net_mode(net)]);
	page_text(p, net_is_limited(net) ? "; GET, HEAD and OPTIONS only, no TLS" : "");
	page_text(p, "  ");
	page_origin(p, &x->policy->policy->profile->net.access_origin);
	page_line(p);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != KEYS_NETWORK)
			continue;
		if (own_texts[i]) {
			own_texts[i](p, x);
		} else if (is_shown(k, &effective) && !key_is_default(k, &effective)) {
			page_printf(p, "  %s ", k->name);
			print_value(p, k, &effective);
			page_line(p);
		}
	}
}

static void print_needs(struct page *p, const struct explanation *x)
{
	const struct plan *plan = x->policy->plan;

	title(p, "guarantees that the policy needs from a backend");
	for (size_t i = 0; i < plan->needs.count; i++) {
		const struct need *need = &plan->needs.items[i];

		page_printf(p, "  %-16s %s\n", guarantee_name(need->guarantee),
			    guarantee_meaning(need->guarantee));
		page_printf(p, "  %-16s ", "");
		page_style(p, STYLE_FAINT, "because ");
		page_str(p, need->because);
		if (need->rule && need->rule->origin.file) {
			page_text(p, "  ");
			page_origin(p, &need->rule->origin);
		}
		page_line(p);
	}
	if (!plan->needs.count)
		page_text(p, "  none\n");
}

static void print_lack(struct page *p, const struct backend *backend, guarantee_set lack)
{
	const char *separator = "can't give ";

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if ((lack & GUARANTEE_BIT(g)) == 0)
			continue;
		page_printf(p, "%s%s (%s)", separator, guarantee_name((enum guarantee)g),
			    backend->why_not((enum guarantee)g));
		separator = ", ";
	}
}

static void print_backend(struct page *p, const struct explanation *x, const char *name)
{
	const struct backend *backend = backend_find(str_of(name));

	page_str(p, str_of(name));
	page_text(p, ": ");
	if (!backend && x->seatbelt)
		page_text(p, "a preview, in the program for macOS; below is what it can't give");
	else if (!backend)
		page_text(p, "not in this version");
	else if (explain_lack(x, backend))
		print_lack(p, backend, explain_lack(x, backend));
	else if (x->policy->plan->needs_set & ~backend->gives(x->policy->plan))
		page_text(p, "gives every guarantee but those in accept_missing; rules that need "
			     "those are not enforced");
	else
		page_style(p, STYLE_GOOD, "gives all that is needed, if the host allows it");
	page_line(p);
}

static void print_platform(struct page *p, const struct explanation *x)
{
	page_line(p);
	field(p, "platform");
	page_text(p, x->platform);
	page_line(p);
	for (size_t i = 0; x->backends[i]; i++) {
		field(p, i ? "" : "backends");
		print_backend(p, x, x->backends[i]);
	}
	if (x->backend || x->policy->policy->profile->is_unsandboxed)
		return;
	field(p, "");
	page_style(p, STYLE_CAREFUL,
		   "none of them can enforce this policy: 'cordon run' would refuse");
	page_line(p);
}

static void print_note(struct page *p, const struct note *note)
{
	page_text(p, "  ");
	if (note->is_warning) {
		page_style(p, STYLE_CAREFUL, "warning");
		page_text(p, ": ");
	}
	page_str(p, note->text);
	page_text(p, note->origin.file ? "  " : "");
	page_origin(p, &note->origin);
	page_line(p);
}

static void print_notes(struct page *p, const struct explanation *x)
{
	const struct cordon_policy *policy = x->policy;

	if (policy->notes.count || x->without_effect.count)
		title(p, "notes");
	for (size_t i = 0; i < policy->notes.count; i++)
		print_note(p, &policy->notes.items[i]);
	for (size_t i = 0; i < x->without_effect.count; i++)
		print_note(p, &x->without_effect.items[i]);
}

void explain_print_text(struct page *p, const void *data)
{
	const struct explanation *x = data;

	if (p->is_brief) {
		print_regions(p, x);
		return;
	}
	print_profile(p, x);
	print_mode(p, x);
	print_keys(p, x, KEYS_PROFILE, x->policy->policy->profile);
	print_keys(p, x, KEYS_TOP, &x->policy->policy->settings);
	print_needs(p, x);
	print_platform(p, x);
	explain_print_lowering(p, x);
	print_notes(p, x);
}
