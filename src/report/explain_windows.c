/* SPDX-License-Identifier: MIT */
/* What a policy becomes on Windows: a token, entries of access lists, filters. Nothing applies them. */
#include "backend/windows/windows.h"
#include "report/explain.h"

static const char *const flags[] = { "DISABLE_MAX_PRIVILEGE", "LUA_TOKEN", "WRITE_RESTRICTED" };

static const char *const access_names[] = {
	[WINDOWS_READ] = "read", [WINDOWS_WRITE] = "write", [WINDOWS_DELETE] = "delete"
};

/*
 * All files of a host are looked at for lists that inherit nothing. An imagined one has few; a disk has millions, and there
 * it is done as a run does it.
 */
static int lower(struct arena *a, const struct explanation *x, const char *backend,
		 struct windows_lowering *out, struct err *e)
{
	const struct plan *plan = x->policy->plan;
	const struct view *view = x->policy->inputs.view;
	const bool is_token = strcmp(backend, "win_token") == 0;

	if (!view)
		return is_token ? win_token_lower_here(a, plan, out, e)
				: win_elevated_lower_here(a, plan, out, e);
	return is_token ? win_token_lower(a, plan, view->proxy_port, out, e)
			: win_elevated_lower(a, plan, view->proxy_port, out, e);
}

/* The first that holds everything; else the first that takes the policy; else the first. */
int explain_find_windows(struct arena *a, struct explanation *x, struct err *e)
{
	const struct windows_lowering *best = NULL;

	for (size_t i = 0; x->backends[i]; i++) {
		struct windows_lowering *lowered = ARENA_NEW(a, struct windows_lowering, e);

		if (!lowered || lower(a, x, x->backends[i], lowered, e) < 0)
			return err_result(e);
		if (!best || (best->is_refused && !lowered->is_refused))
			best = lowered;
		if (lowered->is_refused || explain_refused(x, lowered->missing))
			continue;
		best = lowered;
		break;
	}
	x->windows = best;
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_texts(struct json_writer *w, const char *key, const struct str *items,
		       size_t count)
{
	if (count)
		json_strs(w, key, items, count);
	else
		json_text(w, key, "any");
}

static void json_token(struct json_writer *w, const struct windows_lowering *windows)
{
	json_key(w, "token");
	json_begin_object(w);
	json_strs(w, "restricting", windows->restricting.items, windows->restricting.count);
	json_key(w, "flags");
	json_begin_array(w);
	for (size_t i = 0; i < COUNT_OF(flags); i++)
		json_add_text(w, flags[i]);
	json_end_array(w);
	json_end_object(w);
	json_key(w, "capabilities");
	json_begin_object(w);
	for (size_t i = 0; i < windows->capabilities.count; i++)
		json_str(w, windows->capabilities.items[i].name.p,
			 windows->capabilities.items[i].sid);
	json_end_object(w);
}

static void json_acl(struct json_writer *w, const struct windows_lowering *windows)
{
	json_key(w, "acl");
	json_begin_array(w);
	for (size_t i = 0; i < windows->acl.count; i++) {
		const struct windows_ace *ace = &windows->acl.items[i];

		json_begin_object(w);
		json_str(w, "path", ace->path);
		json_str(w, "sid", ace->sid);
		json_text(w, "type", ace->is_deny ? "deny" : "allow");
		json_text(w, "access", access_names[ace->access]);
		json_bool(w, "inherit", ace->inherits);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_firewall(struct json_writer *w, const struct windows_lowering *windows)
{
	json_key(w, "firewall");
	json_begin_array(w);
	for (size_t i = 0; i < windows->firewall.count; i++) {
		const struct windows_block *rule = &windows->firewall.items[i];

		json_begin_object(w);
		json_str(w, "name", rule->name);
		json_text(w, "direction", "out");
		json_text(w, "action", "block");
		json_text(w, "account", "offline");
		json_text(w, "protocol", rule->protocol);
		json_texts(w, "remote", rule->remote, rule->remote_count);
		json_texts(w, "ports", rule->ports, rule->port_count);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_wfp(struct json_writer *w, const struct windows_lowering *windows)
{
	json_key(w, "wfp");
	json_begin_array(w);
	for (size_t i = 0; i < windows->wfp.count; i++) {
		const struct windows_block *filter = &windows->wfp.items[i];

		json_begin_object(w);
		json_str(w, "name", filter->name);
		json_text(w, "layer", filter->layer);
		json_text(w, "action", "block");
		json_text(w, "account", "offline");
		json_text(w, "protocol", filter->protocol);
		json_int(w, "family", filter->family);
		if (!filter->port) {
			json_texts(w, "ports", filter->ports, filter->port_count);
		} else {
			json_key(w, "ports");
			json_begin_array(w);
			json_add_int(w, filter->port);
			json_end_array(w);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_process(struct json_writer *w, const struct windows_lowering *windows)
{
	json_strs(w, "environment", windows->environment.items, windows->environment.count);
	json_text(w, "desktop", "private");
	json_key(w, "job");
	json_begin_object(w);
	json_bool(w, "kill_on_close", true);
	json_bool(w, "breakaway", false);
	json_int_or_null(w, "memory", (int64_t)windows->memory);
	json_int_or_null(w, "processes", (int64_t)windows->processes);
	json_end_object(w);
}

void explain_json_windows(struct json_writer *w, const struct windows_lowering *windows)
{
	json_begin_object(w);
	json_text(w, "backend", windows->backend);
	if (windows->is_refused) {
		explain_json_refusal(w, windows->refused, windows->reason);
	} else {
		explain_json_missing(w, windows->missing);
		json_token(w, windows);
		json_acl(w, windows);
		json_text(w, "identity", windows->identity);
		json_firewall(w, windows);
		json_wfp(w, windows);
		json_strs(w, "read_roots", windows->read_roots.items, windows->read_roots.count);
		json_process(w, windows);
	}
	json_end_object(w);
}

/* ---- Text ------------------------------------------------------------------------------------- */

static void print_missing(struct page *p, const struct windows_lowering *windows)
{
	page_printf(p, "\nneeded, and not given by %s: each has to be accepted by its name\n",
		    windows->backend);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (windows->missing & GUARANTEE_BIT(g))
			page_printf(p, "  %-12s %s\n", guarantee_name((enum guarantee)g),
				    windows->guarantees[g].why);
}

static void print_filters(struct page *p, const struct windows_lowering *windows)
{
	for (size_t i = 0; i < windows->firewall.count; i++) {
		const struct windows_block *rule = &windows->firewall.items[i];

		page_printf(p, "  firewall  %s: %s to %zu blocks of addresses\n", rule->name.p,
			    rule->protocol, rule->remote_count);
	}
	for (size_t i = 0; i < windows->wfp.count; i++)
		page_printf(p, "  filter    %s\n", windows->wfp.items[i].name.p);
}

void explain_print_windows(struct page *p, const struct explanation *x)
{
	const struct windows_lowering *windows = x->windows;

	if (windows->is_refused) {
		page_printf(p, "\n%s can't hold this (%s): ", windows->backend,
			    guarantee_name(windows->refused));
		page_str(p, windows->reason);
		page_text(p, "\n");
		return;
	}
	if (windows->missing)
		print_missing(p, windows);
	page_printf(p, "\nwhat %s %s\n  account   %s\n", windows->backend,
		    x->policy->inputs.view ? "would do there"
					   : "does here, with features.windows_preview",
		    windows->identity ? windows->identity : "the user's own");
	for (size_t i = 0; i < windows->restricting.count; i++) {
		page_text(p, i ? " + " : "  token     restricted to ");
		page_str(p, windows->restricting.items[i]);
	}
	page_text(p, "\n");
	for (size_t i = 0; i < windows->read_roots.count; i++) {
		page_text(p, "  allow     read   group ");
		page_str(p, windows->read_roots.items[i]);
		page_text(p, "\n");
	}
	for (size_t i = 0; i < windows->acl.count; i++) {
		const struct windows_ace *ace = &windows->acl.items[i];

		page_printf(p, "  %-9s %-6s ", ace->is_deny ? "deny" : "allow",
			    access_names[ace->access]);
		page_str(p, ace->sid);
		page_text(p, " on ");
		page_str(p, ace->path);
		page_text(p, "\n");
	}
	print_filters(p, windows);
}
