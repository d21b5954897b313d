/* SPDX-License-Identifier: MIT */
/* What a session of tools says of itself. */
#include "tools/box.h"

static void add_text(struct json_writer *w, const char *name, struct str text)
{
	json_key(w, name);
	json_add_str(w, text);
}

static void add_number(struct json_writer *w, const char *name, uint64_t n)
{
	json_key(w, name);
	json_add_int(w, (int64_t)n);
}

static void add_roots(struct json_writer *w, const struct toolbox *box)
{
	json_key(w, "roots");
	json_begin_array(w);
	for (const struct tool_project *p = box->projects; p; p = p->next) {
		json_begin_object(w);
		add_text(w, "path", p->path);
		add_text(w, "access", p->is_read_only ? STR("read") : STR("write"));
		json_end_object(w);
	}
	json_end_array(w);
}

static void add_grants(struct json_writer *w, const struct toolbox *box)
{
	json_key(w, "grants");
	json_begin_array(w);
	for (size_t i = 0; i < box->grants.count; i++) {
		const struct box_grant *g = &box->grants.items[i];

		json_begin_object(w);
		add_text(w, "kind", str_of(ask_kind_name(g->grant.kind)));
		add_text(w, "path", g->grant.subject);
		add_text(w, "scope", str_of(grant_scope_name(g->scope)));
		add_text(w, "by", g->by);
		json_end_object(w);
	}
	json_end_array(w);
}

static void add_counters(struct json_writer *w, const struct toolbox *box)
{
	json_key(w, "counters");
	json_begin_object(w);
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		json_key(w, tools[i].name);
		json_begin_object(w);
#define ADD_COUNT(name) add_number(w, #name, box->counts[i].name);
		AUDIT_TOOL_SUMS(ADD_COUNT)
#undef ADD_COUNT
		json_end_object(w);
	}
	json_end_object(w);
}

void toolbox_print_policy(struct toolbox *box, struct buf *out)
{
	const struct cordon_policy *policy = box->projects->policy;
	struct json_writer w = JSON_LINE_INIT(out);

	json_begin_object(&w);
	add_text(&w, "profile", policy->policy->profile->name);
	add_text(&w, "digest", str_of(toolbox_digest(box)));
	json_key(&w, "enforced");
	json_add_bool(&w, !policy->plan->is_unsandboxed);
	add_roots(&w, box);
	add_grants(&w, box);
	add_counters(&w, box);
	add_number(&w, "worker_restarts", box->restarts);
	add_text(&w, "override",
		 STR("a person can change the policy: in the configuration (cordon explain says "
		     "which file), by the options of cordon mcp (--config-file, -P, --mode), or "
		     "for one path by the edit that 'cordon why PATH --write' shows"));
	json_end_object(&w);
}

void toolbox_print_denials(const struct toolbox *box, struct buf *out)
{
	struct json_writer w = JSON_LINE_INIT(out);

	json_begin_object(&w);
	json_key(&w, "denials");
	json_begin_array(&w);
	for (size_t i = 0; i < box->denials.count; i++) {
		const struct box_denial *d = &box->denials.items[i];

		json_begin_object(&w);
		add_text(&w, "tool", str_of(d->tool));
		add_text(&w, "path", d->path);
		add_text(&w, "rule", d->rule);
		add_number(&w, "count", d->count);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_end_object(&w);
}
