/* SPDX-License-Identifier: MIT */
/* An explanation as JSON; the same facts as the text, in the same order. */
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

static void json_profile(struct json_writer *w, const struct explanation *x)
{
	const struct policy *policy = x->policy->policy;

	json_key(w, "profile");
	json_begin_object(w);
	json_str(w, "name", policy->profile->name);
	json_str(w, "description", policy->profile->description);
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
	json_strs(w, "workspace_roots", x->policy->plan->places.roots,
		  x->policy->plan->places.root_count);
	json_mode(w, x);
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

static void json_net_layer(struct json_writer *w, const struct layer *layer)
{
	for (size_t i = 0; i < layer->net.rules.count; i++) {
		const struct net_rule *rule = &layer->net.rules.items[i];

		json_begin_object(w);
		json_text(w, "decision", rule->is_allow ? "allow" : "deny");
		json_str(w, "pattern", rule->domain.text);
		json_str(w, "layer", layer->name);
		json_origin(w, &rule->origin);
		json_end_object(w);
	}
}

void explain_json_domains(struct json_writer *w, const struct policy *policy)
{
	json_key(w, "domains");
	json_begin_array(w);
	for (size_t i = 0; i < policy->layers.count; i++)
		json_net_layer(w, &policy->layers.items[i]);
	json_end_array(w);
}

static void json_network(struct json_writer *w, const struct explanation *x)
{
	const struct policy *policy = x->policy->policy;
	const struct net *net = x->policy->plan->net;

	json_key(w, "network");
	json_begin_object(w);
	json_text(w, "access", net_access_name(net_mode(net)));
	json_bool(w, "limited", net_is_limited(net));
	explain_json_domains(w, policy);
	json_key(w, "unix_sockets");
	json_begin_array(w);
	for (size_t i = 0; i < policy->layers.count; i++) {
		const struct net_rules *rules = &policy->layers.items[i].net;

		for (size_t j = 0; j < rules->sockets.count; j++) {
			json_begin_object(w);
			json_str(w, "path", rules->sockets.items[j].path);
			json_bool(w, "below_home", rules->sockets.items[j].below_home);
			json_bool(w, "allow", rules->sockets.items[j].is_allow);
			json_origin(w, &rules->sockets.items[j].origin);
			json_end_object(w);
		}
	}
	json_end_array(w);
	json_end_object(w);
}

static void json_patterns(struct json_writer *w, const char *key, const struct env_pattern *items,
			  size_t count)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < count; i++)
		json_add_str(w, items[i].text);
	json_end_array(w);
}

static void json_settings(struct json_writer *w, const struct profile *profile)
{
	json_key(w, "environment");
	json_begin_object(w);
	json_text(w, "inherit", env_inherit_name(profile->env.inherit));
	json_patterns(w, "exclude", profile->env.exclude.items, profile->env.exclude.count);
	json_patterns(w, "include", profile->env.include.items, profile->env.include.count);
	json_key(w, "set"); /* names only: values may be secrets (P21) */
	json_begin_array(w);
	for (size_t i = 0; i < profile->env.set.count; i++)
		json_add_str(w, profile->env.set.items[i].name);
	json_end_array(w);
	json_end_object(w);
	json_key(w, "limits");
	json_begin_object(w);
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (profile->limits.value[i])
			json_int(w, limit_name((enum limit)i),
				 (int64_t)MIN_OF(profile->limits.value[i], (uint64_t)INT64_MAX));
	json_end_object(w);
	json_text(w, "git", git_access_name(profile->git));
	json_text(w, "nested", profile->nested_is_open ? "report" : "protect");
	json_text(w, "tmp", profile->tmp_is_private ? "private" : "shared");
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
	json_files(w, x->policy->plan);
	json_held(w, x->policy->plan);
	json_network(w, x);
	json_settings(w, x->policy->policy->profile);
	json_needs(w, x->policy->plan);
	json_text(w, "platform", x->platform);
	json_key(w, "backends");
	json_begin_array(w);
	for (size_t i = 0; x->backends[i]; i++)
		json_add_text(w, x->backends[i]);
	json_end_array(w);
	json_backend(w, x);
	json_notes(w, x->policy, true);
	json_notes(w, x->policy, false);
	json_key(w, "vain");
	json_begin_array(w);
	for (size_t i = 0; i < x->vain.count; i++) {
		json_begin_object(w);
		json_str(w, "message", x->vain.items[i].text);
		json_origin(w, &x->vain.items[i].origin);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}
