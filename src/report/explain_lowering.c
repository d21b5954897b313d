/* SPDX-License-Identifier: MIT */
/* What a policy becomes on another system; on macOS the profile that sandbox-exec would get. */
#include "backend/seatbelt/seatbelt.h"
#include "plan/net.h"
#include "proxy/seatbelt.h"
#include "report/explain.h"

enum { DEFAULT_PROXY_PORT = 3128 };

int explain_find_lowering(struct arena *a, struct explanation *x, struct err *e)
{
	const struct view *view = x->policy->inputs.view;
	const uint16_t proxy_port = view ? view->proxy_port : DEFAULT_PROXY_PORT;
	struct seatbelt *lowered;

	if (x->policy->plan->is_unsandboxed)
		return 0;
	if (strcmp(x->platform, "windows") == 0)
		return explain_find_windows(a, x, e);
	if (strcmp(x->platform, "macos") != 0)
		return 0;
	lowered = ARENA_NEW(a, struct seatbelt, e);
	if (!lowered || seatbelt_lower(a, x->policy->plan, proxy_port, lowered, e) < 0)
		return err_result(e);
	x->seatbelt = lowered;
	return 0;
}

static bool is_managed(const struct explanation *x)
{
	return net_mode(x->policy->plan->net) == NET_MANAGED;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void explain_json_missing(struct json_writer *w, guarantee_set missing)
{
	json_key(w, "missing");
	json_begin_array(w);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (missing & GUARANTEE_BIT(g))
			json_add_text(w, guarantee_name((enum guarantee)g));
	json_end_array(w);
}

void explain_json_refusal(struct json_writer *w, enum guarantee g, struct str reason)
{
	json_key(w, "refusal");
	json_begin_object(w);
	json_text(w, "guarantee", guarantee_name(g));
	json_str(w, "reason", reason);
	json_end_object(w);
}

static void json_argv(struct json_writer *w, const struct seatbelt *s)
{
	json_key(w, "argv");
	json_begin_array(w);
	json_add_text(w, "/usr/bin/sandbox-exec");
	json_add_text(w, "-p");
	json_add_str(w, s->profile);
	for (size_t i = 0; i < s->params.count; i++) {
		scoped_buf text = BUF_INIT(16384);

		buf_printf(&text, "-D%s=", s->params.items[i]->name.p);
		buf_add(&text, s->params.items[i]->value);
		if (text.failed)
			json_fail(w, text.failed);
		json_add_str(w, buf_str(&text));
	}
	json_add_text(w, "--");
	json_end_array(w);
}

static void json_seatbelt(struct json_writer *w, const struct seatbelt *s, bool is_managed)
{
	json_begin_object(w);
	json_text(w, "backend", "seatbelt");
	if (s->is_refused) {
		explain_json_refusal(w, s->refused, s->reason);
	} else {
		explain_json_missing(w, s->missing);
		json_str(w, "profile", s->profile);
		json_key(w, "params");
		json_begin_object(w);
		for (size_t i = 0; i < s->params.count; i++)
			json_str(w, s->params.items[i]->name.p, s->params.items[i]->value);
		json_end_object(w);
		json_argv(w, s);
		if (is_managed)
			json_text(w, "proxy_profile", proxy_profile);
	}
	json_end_object(w);
}

void explain_json_lowering(struct json_writer *w, const struct explanation *x)
{
	json_key(w, "lowering");
	if (x->seatbelt)
		json_seatbelt(w, x->seatbelt, is_managed(x));
	else if (x->windows)
		explain_json_windows(w, x->windows);
	else
		json_add_null(w);
}

/* ---- Text ------------------------------------------------------------------------------------- */

static void print_lines(struct page *p, struct str text)
{
	while (text.len) {
		struct str line = str_first(text, str_find(text, '\n'));

		page_text(p, "  ");
		page_str(p, line);
		page_text(p, "\n");
		text = str_from(text, MIN_OF(line.len + 1, text.len));
	}
}

static void print_missing(struct page *p, const struct explanation *x)
{
	page_text(p, "\nneeded, and not given by a profile: each has to be accepted by its name\n");
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (x->seatbelt->missing & GUARANTEE_BIT(g))
			page_printf(p, "  %-12s %s\n", guarantee_name((enum guarantee)g),
				    seatbelt_why((enum guarantee)g));
}

void explain_print_lowering(struct page *p, const struct explanation *x)
{
	const struct seatbelt *s = x->seatbelt;

	if (x->windows)
		explain_print_windows(p, x);
	if (!s)
		return;
	if (s->is_refused) {
		page_printf(
			p, "\nno profile of macOS can say this (%s): ", guarantee_name(s->refused));
		page_str(p, s->reason);
		page_text(p, "\n");
		return;
	}
	if (s->missing)
		print_missing(p, x);
	explain_print_profile(p, s);
	if (!is_managed(x))
		return;
	page_text(p, "\nthe profile of the proxy; a run picks its port (above) when it starts\n");
	print_lines(p, str_of(proxy_profile));
}
