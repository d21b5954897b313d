/* SPDX-License-Identifier: MIT */
/* Prints an explanation as JSON: what the text shows, in the same order. */
#include "plan/net.h"
#include "report/explain.h"
#include "report/rules.h"

static void json_mode(struct json_writer *w, const struct explanation *x)
{
	json_key(w, "mode");
	if (!x->round_trips) {
		json_add_null(w);
		json_str(w, "mode_why_not", x->why_not);
		return;
	}
	json_begin_object(w);
	json_text(w, "name", mode_kind_name(x->mode.kind));
	json_bool(w, "network_access", x->mode.network_access);
	json_bool(w, "exclude_tmpdir_env_var", x->mode.exclude_tmpdir_env_var);
	json_bool(w, "exclude_slash_tmp", x->mode.exclude_slash_tmp);
	json_strs(w, "writable_roots", x->mode.writable_roots.items, x->mode.writable_roots.count);
	json_end_object(w);
}

static void json_files(struct json_writer *w, const struct plan *plan)
{
	json_key(w, "files");
	json_begin_array(w);
	for (size_t i = 0; i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];

		json_begin_object(w);
		json_str(w, "path", region->path);
		json_text(w, "access", access_name(region->access));
		json_text(w, "type", host_type_name(region->type));
		json_key(w, "rule");
		json_rule(w, plan, region->rule);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "denied_names");
	json_begin_array(w);
	for (size_t i = 0; i < plan->rules.count; i++)
		if (plan->rules.items[i].kind == RULE_GLOB)
			json_rule(w, plan, &plan->rules.items[i]);
	json_end_array(w);
	json_key(w, "masked");
	json_begin_array(w);
	for (size_t i = 0; i < plan->masked.count; i++)
		json_add_str(w, plan->masked.items[i].path);
	json_end_array(w);
}

static void json_held(struct json_writer *w, const struct plan *plan)
{
	json_key(w, "placeholders");
	json_begin_array(w);
	for (size_t i = 0; i < plan->placeholders.count; i++) {
		const struct placeholder *placeholder = &plan->placeholders.items[i];

		json_begin_object(w);
		json_str(w, "path", placeholder->path);
		json_text(w, "type",
			  placeholder->kind == PLACEHOLDER_DIR	  ? "directory"
			  : placeholder->kind == PLACEHOLDER_FILE ? "file"
								  : "socket");
		json_key(w, "rule");
		json_rule(w, plan, placeholder->rule);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "links");
	json_begin_array(w);
	for (size_t i = 0; i < plan->links.count; i++) {
		json_begin_object(w);
		json_str(w, "path", plan->links.items[i].path);
		json_str(w, "target", plan->links.items[i].target);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "pins");
	json_begin_array(w);
	for (size_t i = 0; i < plan->pins.count; i++) {
		json_begin_object(w);
		json_str(w, "path", plan->pins.items[i].path);
		json_str(w, "because", plan->pins.items[i].because);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_net_rule(struct json_writer *w, const struct net_rule *rule, struct str layer)
{
	json_begin_object(w);
	json_text(w, "decision", rule->is_allow ? "allow" : "deny");
	json_str(w, "pattern", rule->domain.text);
	json_str(w, "layer", layer);
	json_origin(w, &rule->origin);
	json_end_object(w);
}

static void json_socket(struct json_writer *w, const struct net_socket *socket)
{
	json_begin_object(w);
	json_str(w, "path", socket->path);
	json_bool(w, "below_home", socket->below_home);
	json_bool(w, "allow", socket->is_allow);
	json_origin(w, &socket->origin);
	json_end_object(w);
}

void explain_json_rules(struct json_writer *w, const struct policy *policy)
{
	json_key(w, "domains");
	json_begin_array(w);
	for (size_t i = 0; i < policy->layers.count; i++) {
		const struct layer *layer = &policy->layers.items[i];

		for (size_t j = 0; j < layer->net.rules.count; j++)
			json_net_rule(w, &layer->net.rules.items[j], layer->name);
	}
	for (size_t i = 0; i < policy->net_grants.count; i++)
		json_net_rule(w, &policy->net_grants.items[i], STR("approvals"));
	json_end_array(w);
}

/* ---- The keys ------------------------------------------------------------ */

void explain_json_workspace_roots(struct json_writer *w, const struct explanation *x)
{
	json_strs(w, "workspace_roots", x->policy->plan->places.roots,
		  x->policy->plan->places.root_count);
}

void explain_json_filesystem(struct json_writer *w, const struct explanation *x)
{
	json_files(w, x->policy->plan);
	json_held(w, x->policy->plan);
}

void explain_json_domains(struct json_writer *w, const struct explanation *x)
{
	explain_json_rules(w, x->policy->policy);
}

void explain_json_unix_sockets(struct json_writer *w, const struct explanation *x)
{
	const struct policy *policy = x->policy->policy;

	json_key(w, "unix_sockets");
	json_begin_array(w);
	for (size_t i = 0; i < policy->layers.count; i++) {
		const struct net_rules *rules = &policy->layers.items[i].net;

		for (size_t j = 0; j < rules->sockets.count; j++)
			json_socket(w, &rules->sockets.items[j]);
	}
	for (size_t i = 0; i < policy->socket_grants.count; i++)
		json_socket(w, &policy->socket_grants.items[i]);
	json_end_array(w);
}

/* Names only: values may be secrets (P21). */
void explain_json_set(struct json_writer *w, const struct explanation *x)
{
	const struct environment *env = &x->policy->policy->profile->env;

	json_key(w, "set");
	json_begin_array(w);
	for (size_t i = 0; i < env->set.count; i++)
		json_add_str(w, env->set.items[i].name);
	json_end_array(w);
}

void explain_json_features(struct json_writer *w, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	json_key(w, "features");
	json_begin_array(w);
	for (size_t i = 0; i < settings->features.count; i++) {
		json_begin_object(w);
		json_str(w, "name", settings->features.items[i].name);
		json_bool(w, "on", settings->features.items[i].is_on);
		json_origin(w, &settings->features.items[i].origin);
		json_end_object(w);
	}
	json_end_array(w);
}

void explain_json_approve(struct json_writer *w, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	json_key(w, "approve");
	json_begin_array(w);
	for (size_t i = 0; i < settings->approve.count; i++) {
		const struct approve_rule *rule = &settings->approve.items[i];

		json_begin_object(w);
		json_str(w, approve_subject_name(rule->subject), rule->text);
		json_str(w, "answer", str_of(approve_answer_name(rule->answer)));
		if (rule->answer == APPROVE_ALLOW)
			json_str(w, "scope", str_of(approve_scope_name(rule->scope)));
		json_str_or_null(w, "profile", rule->profile.name);
		json_origin(w, &rule->origin);
		json_end_object(w);
	}
	json_end_array(w);
}

void explain_json_exec(struct json_writer *w, const struct explanation *x)
{
	const struct settings *settings = &x->policy->policy->settings;

	json_key(w, "exec");
	json_begin_array(w);
	for (size_t i = 0; i < settings->exec.count; i++) {
		const struct exec_rule *rule = &settings->exec.items[i];

		json_begin_object(w);
		json_key(w, "argv");
		json_begin_array(w);
		for (size_t k = 0; k < rule->argv.count; k++)
			json_add_str(w, rule->argv.items[k]);
		json_end_array(w);
		json_bool(w, "takes_more", rule->takes_more);
		json_str(w, "decision", str_of(exec_decision_name(rule->decision)));
		json_str_or_null(w, "run", rule->run.name);
		json_str_or_null(w, "cwd", rule->cwd);
		json_str_or_null(w, "profile", rule->profile.name);
		json_origin(w, &rule->origin);
		json_end_object(w);
	}
	json_end_array(w);
}

void explain_json_shell(struct json_writer *w, const struct explanation *x)
{
	json_str_or_null(w, "shell", x->policy->policy->settings.shell.name);
}

static void json_names(struct json_writer *w, const char *key, const names *list)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_add_str(w, list->items[i].name);
	json_end_array(w);
}

static void json_patterns(struct json_writer *w, const char *key, const env_patterns *list)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_add_str(w, list->items[i].text);
	json_end_array(w);
}

static void json_one(struct json_writer *w, const struct key *k, const void *base)
{
	const void *field = key_field(k, base);

	switch (k->kind) {
	case KIND_BOOL:
		json_bool(w, k->name, key_value(k, base));
		break;
	case KIND_CHOICE:
		json_text(w, k->name, key_word(k, base));
		break;
	case KIND_STRING:
		json_str(w, k->name, *(const struct str *)field);
		break;
	case KIND_NAMES:
	case KIND_WORDS:
		json_names(w, k->name, field);
		break;
	case KIND_PATTERNS:
		json_patterns(w, k->name, field);
		break;
	case KIND_LIMIT:
		if (!key_is_default(k, base))
			json_int(w, k->name,
				 (int64_t)MIN_OF(*(const uint64_t *)field, (uint64_t)INT64_MAX));
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

/* Part of "profile": "workspace" itself is a path. */
static bool is_of_profile(const struct key *k)
{
	return k == &policy_keys[KEY_DESCRIPTION] || k == &policy_keys[KEY_WORKSPACE];
}

/* Every key of a table. NOLINTNEXTLINE(misc-no-recursion): a subtable has no subtables. */
static void json_keys(struct json_writer *w, const struct explanation *x, enum key_table which,
		      const void *base)
{
	static void (*const own[KEY_COUNT])(struct json_writer *, const struct explanation *) = {
#define OWN_KEY(id, name) [KEY_##id] = explain_json_##name,
		POLICY_KEYS(KEY_IF_OWN)
#undef OWN_KEY
	};

	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != which || is_of_profile(k))
			continue;
		if (own[i])
			own[i](w, x);
		else if (k->kind != KIND_SUBTABLE)
			json_one(w, k, base);
		else {
			json_key(w, k->name);
			json_begin_object(w);
			json_keys(w, x, k->subtable, base);
			json_end_object(w);
		}
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): no key of `network` is `network`. */
void explain_json_network(struct json_writer *w, const struct explanation *x)
{
	const struct profile effective = explain_effective(x);

	json_key(w, "network");
	json_begin_object(w);
	json_text(w, "access", net_access_name(net_mode(x->policy->plan->net)));
	json_bool(w, "limited", net_is_limited(x->policy->plan->net));
	json_keys(w, x, KEYS_NETWORK, &effective);
	json_end_object(w);
}

static void json_profile(struct json_writer *w, const struct explanation *x)
{
	const struct policy *policy = x->policy->policy;

	json_key(w, "profile");
	json_begin_object(w);
	json_str(w, "name", policy->profile->name);
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (is_of_profile(&policy_keys[i]))
			json_one(w, &policy_keys[i], policy->profile);
	json_bool(w, "sandboxed", !policy->profile->is_unsandboxed);
	json_origin(w, &policy->profile->origin);
	json_end_object(w);
	json_key(w, "layers");
	json_begin_array(w);
	for (size_t i = 0; i < policy->layers.count; i++)
		json_add_str(w, policy->layers.items[i].name);
	json_end_array(w);
	json_key(w, "trusted");
	json_begin_array(w);
	for (size_t i = 0; i < policy->trusted.count; i++)
		json_add_str(w, policy->trusted.items[i].name);
	json_end_array(w);
	json_str(w, "directory", x->policy->plan_inputs.places.cwd);
	json_str(w, "workspace", places_workspace(&x->policy->plan_inputs.places));
	json_mode(w, x);
}

static void json_needs(struct json_writer *w, const struct plan *plan)
{
	json_key(w, "guarantees");
	json_begin_array(w);
	for (size_t i = 0; i < plan->needs.count; i++) {
		const struct need *need = &plan->needs.items[i];

		json_begin_object(w);
		json_text(w, "name", guarantee_name(need->guarantee));
		json_text(w, "meaning", guarantee_meaning(need->guarantee));
		json_str(w, "because", need->because);
		json_key(w, "rule");
		if (need->rule)
			json_rule(w, plan, need->rule);
		else
			json_add_null(w);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_backend(struct json_writer *w, const struct explanation *x)
{
	json_text(w, "backend", x->backend ? x->backend->name : NULL);
	json_bool(w, "enforced", x->backend != NULL);
	json_key(w, "lacking");
	json_begin_array(w);
	for (size_t i = 0; x->backends[i]; i++) {
		const struct backend *backend = backend_find(str_of(x->backends[i]));
		guarantee_set lack = backend ? explain_lack(x, backend) : 0;

		for (int g = 0; g < GUARANTEE_COUNT; g++) {
			if ((lack & GUARANTEE_BIT(g)) == 0)
				continue;
			json_begin_object(w);
			json_text(w, "backend", backend->name);
			json_text(w, "guarantee", guarantee_name((enum guarantee)g));
			json_text(w, "why", backend->why_not((enum guarantee)g));
			json_end_object(w);
		}
	}
	json_end_array(w);
}

void explain_print_json(struct json_writer *w, const void *data)
{
	const struct explanation *x = data;

	json_begin_object(w);
	json_profile(w, x);
	json_keys(w, x, KEYS_PROFILE, x->policy->policy->profile);
	json_key(w, "settings");
	json_begin_object(w);
	json_keys(w, x, KEYS_TOP, &x->policy->policy->settings);
	json_end_object(w);
	json_needs(w, x->policy->plan);
	json_text(w, "platform", x->platform);
	json_key(w, "backends");
	json_begin_array(w);
	for (size_t i = 0; x->backends[i]; i++)
		json_add_text(w, x->backends[i]);
	json_end_array(w);
	json_backend(w, x);
	explain_json_lowering(w, x);
	json_notes(w, x->policy, true);
	json_notes(w, x->policy, false);
	json_key(w, "without_effect");
	json_begin_array(w);
	for (size_t i = 0; i < x->without_effect.count; i++) {
		json_begin_object(w);
		json_str(w, "message", x->without_effect.items[i].text);
		json_origin(w, &x->without_effect.items[i].origin);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}
