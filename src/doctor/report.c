/* SPDX-License-Identifier: MIT */
/* What the doctor found, for people and for programs. The keys are part of the interface. */
#include <errno.h>

#include "doctor/doctor.h"
#include "report/suggestion.h"

enum { FIELD_WIDTH = 16, LINE_WIDTH = 96 };

/* ---- For people -------------------------------------------------------------------------- */

static void field(struct page *p, const char *name)
{
	page_text(p, "  ");
	page_printf(p, "%-*s", FIELD_WIDTH, name);
}

static void title(struct page *p, const char *text)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "%s", text);
	page_line(p);
}

/* Words, broken into lines of at most LINE_WIDTH that begin in column `indent`. */
static void wrapped(struct page *p, size_t indent, struct str text)
{
	size_t column = indent;

	while (text.len) {
		struct str word = str_first(text, str_find(text, ' '));

		if (column > indent && column + 1 + word.len > LINE_WIDTH) {
			page_line(p);
			page_printf(p, "%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			page_text(p, " ");
			column++;
		}
		page_str(p, word);
		column += word.len;
		text = str_from(text, word.len + 1);
	}
	page_line(p);
}

static void print_namespaces(struct page *p, const struct host_facts *h)
{
	field(p, "namespaces");
	if (h->max_user_namespaces >= 0)
		page_printf(p, "at most %lld user namespaces", (long long)h->max_user_namespaces);
	else
		page_text(p, "the number of user namespaces is not known");
	if (h->userns_clone == 0)
		page_style(p, STYLE_CAREFUL, ", not for ordinary users");
	if (h->apparmor_userns == 1)
		page_style(p, STYLE_CAREFUL, ", restricted by AppArmor");
	if (h->is_proc_covered)
		page_style(p, STYLE_CAREFUL, ", /proc is partly covered");
	page_line(p);
	if (h->apparmor_label.len) {
		field(p, "AppArmor");
		page_str(p, h->apparmor_label);
		page_line(p);
	}
}

static void print_landlock(struct page *p, const struct host_facts *h)
{
	field(p, "Landlock");
	if (h->landlock_abi > 0)
		page_printf(p, "ABI %lld\n", (long long)h->landlock_abi);
	else
		page_style(p, STYLE_BAD, "%s\n",
			   h->landlock_error == EOPNOTSUPP ? "turned off at boot"
			   : h->landlock_error == ENOSYS   ? "not in this kernel"
							   : "not available");
}

static void print_seccomp(struct page *p, const struct host_facts *h)
{
	field(p, "seccomp");
	page_text(p, h->has_filter ? "filters" : "no filters");
	page_text(p, h->has_notify ? ", notifications" : ", no notifications");
	page_text(p, h->has_wait_killable ? ", killable waits" : ", no killable waits");
	page_line(p);
}

static void print_sockets(struct page *p, const struct host_facts *h)
{
	field(p, "unix sockets");
	page_text(p, h->lists_sockets ? "listed by the kernel\n" : "not listed by the kernel\n");
}

static void print_host(struct page *p, const struct host_facts *h)
{
	page_style(p, STYLE_TITLE, "host");
	page_line(p);
	field(p, "kernel");
	page_str(p, h->release);
	page_text(p, " ");
	page_str(p, h->machine);
	if (h->wsl)
		page_printf(p, ", WSL%d", h->wsl);
	page_line(p);
	field(p, "user");
	page_text(p, h->is_root ? "root\n" : "ordinary\n");
	print_namespaces(p, h);
	print_landlock(p, h);
	print_seccomp(p, h);
	print_sockets(p, h);
	field(p, "cgroup v2");
	if (h->has_cgroup2) {
		page_str(p, h->cgroup);
		page_text(p, h->is_cgroup_ours ? ", writable" : ", not writable");
	} else {
		page_text(p, "none");
	}
	page_line(p);
}

static const char *verdict_name(enum probed verdict)
{
	static const char *const texts[] = { [VERDICT_HELD] = "held",
					     [VERDICT_BROKEN] = "broken",
					     [VERDICT_LACKING] = "lacking",
					     [VERDICT_UNTESTED] = "untested" };

	return texts[verdict];
}

static enum style verdict_style(enum probed verdict)
{
	switch (verdict) {
	case VERDICT_HELD:
		return STYLE_GOOD;
	case VERDICT_BROKEN:
		return STYLE_BAD;
	case VERDICT_LACKING:
	case VERDICT_UNTESTED:
		break;
	}
	return STYLE_CAREFUL;
}

static void print_check(struct page *p, enum guarantee g, const struct checked *c)
{
	const char *attempt = doctor_attempt(g);

	field(p, guarantee_name(g));
	page_style(p, verdict_style(c->verdict), "%-9s", verdict_name(c->verdict));
	if (c->verdict != VERDICT_HELD)
		wrapped(p, 2 + FIELD_WIDTH + 9, c->reason.text);
	else
		page_printf(p, "tried inside and outside: %s\n", attempt ? attempt : "");
}

/* Nothing was tried, so nothing is known; told from what does not work. */
static const char *describe_failure(const struct examined *x)
{
	return x->checks[0].verdict == VERDICT_UNTESTED ? "was not tried" : "does not work here";
}

static void print_backend(struct page *p, const struct examined *x)
{
	page_line(p);
	page_style(p, STYLE_TITLE, "backend %s  ", x->backend->name);
	if (x->works) {
		page_style(p, STYLE_GOOD, "works");
		page_printf(p, "  (%llu.%llu ms with the probe)\n",
			    (unsigned long long)(x->duration_us / 1000),
			    (unsigned long long)(x->duration_us % 1000 / 100));
	} else {
		page_style(p, STYLE_BAD, "%s", describe_failure(x));
		page_text(p, "\n  ");
		wrapped(p, 2, x->reason.text);
		return;
	}
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		print_check(p, (enum guarantee)g, &x->checks[g]);
}

static void print_advice(struct page *p, const struct diagnosis *d)
{
	if (d->advice.count)
		title(p, "advice");
	for (size_t i = 0; i < d->advice.count; i++) {
		const struct advice *advice = &d->advice.items[i];

		page_text(p, "  ");
		page_style(p, advice->is_needed ? STYLE_BAD : STYLE_CAREFUL, "%-9s",
			   advice->is_needed ? "needed" : "better");
		wrapped(p, 11, advice->what);
		page_printf(p, "%11s", "");
		page_style(p, STYLE_FAINT, "fix: ");
		wrapped(p, 16, advice->fix);
	}
}

static void print_cleaned(struct page *p, const struct diagnosis *d)
{
	if (!d->has_cleaned)
		return;
	title(p, "cleaned");
	for (size_t i = 0; i < d->removed.count; i++) {
		page_text(p, "  removed  ");
		page_str(p, d->removed.items[i]);
		page_line(p);
	}
	for (size_t i = 0; i < d->kept.count; i++) {
		page_text(p, "  in use   ");
		page_str(p, d->kept.items[i]);
		page_line(p);
	}
	if (!d->removed.count)
		page_text(p, "  nothing was left behind\n");
	if (d->clean_is_incomplete)
		page_text(p, "  not everything could be searched: there may be more\n");
}

static void print_usual(struct page *p, const struct tried_default *u)
{
	page_line(p);
	if (!u->profile.len) {
		page_style(p, STYLE_BAD, "No policy can be made: ");
		wrapped(p, 0, u->reason.text);
		return;
	}
	page_text(p, "The profile '");
	page_str(p, u->profile);
	if (u->is_enforced) {
		page_style(p, STYLE_GOOD, "' can be enforced here");
		page_printf(p, ", by %s", u->backend);
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			if (u->lost & GUARANTEE_BIT(g))
				page_style(p, STYLE_CAREFUL, ", without %s (accepted)",
					   guarantee_name((enum guarantee)g));
		page_text(p, ".\n");
		return;
	}
	page_style(p, STYLE_BAD, "' can't be enforced here");
	page_text(p, ":\n  ");
	wrapped(p, 2, u->reason.text);
}

void doctor_print_text(struct page *p, const void *data)
{
	const struct diagnosis *d = data;

	if (p->is_brief) {
		page_text(p, d->usual.is_enforced ? d->usual.backend : "none");
		page_line(p);
		return;
	}
	print_host(p, &d->host);
	for (size_t i = 0; i < d->backends.count; i++)
		print_backend(p, &d->backends.items[i]);
	print_advice(p, d);
	print_cleaned(p, d);
	print_usual(p, &d->usual);
}

/* ---- For programs --------------------------------------------------------------------------- */

static void json_guarantees(struct json_writer *w, const char *key, guarantee_set set)
{
	json_key(w, key);
	json_begin_array(w);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (set & GUARANTEE_BIT(g))
			json_add_text(w, guarantee_name((enum guarantee)g));
	json_end_array(w);
}

/* "" is null. */
static void json_maybe(struct json_writer *w, const char *key, struct str value)
{
	if (value.len)
		json_str(w, key, value);
	else
		json_text(w, key, NULL);
}

static void json_reason(struct json_writer *w, const struct reason *reason)
{
	json_text(w, "cause", reason->cause == CAUSE_OK ? NULL : cause_name(reason->cause));
	json_maybe(w, "reason", reason->text);
}

/* FACT_UNKNOWN is null. */
static void json_switch(struct json_writer *w, const char *key, int64_t value)
{
	if (value == FACT_UNKNOWN)
		json_text(w, key, NULL);
	else
		json_bool(w, key, value != 0);
}

static void json_namespaces(struct json_writer *w, const struct host_facts *h)
{
	json_key(w, "namespaces");
	json_begin_object(w);
	if (h->max_user_namespaces == FACT_UNKNOWN)
		json_text(w, "max_user", NULL);
	else
		json_int(w, "max_user", h->max_user_namespaces);
	json_switch(w, "unprivileged_clone", h->userns_clone);
	json_switch(w, "apparmor_restricts", h->apparmor_userns);
	json_str_or_null(w, "apparmor_profile", h->apparmor_label);
	json_bool(w, "proc_covered", h->is_proc_covered);
	json_end_object(w);
}

static const char *landlock_error(const struct host_facts *h)
{
	if (h->landlock_abi > 0)
		return NULL;
	return h->landlock_error == ENOSYS	 ? "ENOSYS"
	       : h->landlock_error == EOPNOTSUPP ? "EOPNOTSUPP"
						 : "other";
}

static void json_host(struct json_writer *w, const struct host_facts *h)
{
	json_key(w, "host");
	json_begin_object(w);
	json_str(w, "kernel", h->release);
	json_str(w, "machine", h->machine);
	json_int_or_null(w, "wsl", h->wsl);
	json_bool(w, "root", h->is_root);
	json_bool(w, "nested", h->is_nested);
	json_text(w, "around", h->around ? h->around->name : NULL);
	json_bool(w, "proc", h->has_proc);
	if (h->open_files == FACT_UNKNOWN)
		json_text(w, "open_files", NULL);
	else
		json_int(w, "open_files", h->open_files);
	json_namespaces(w, h);
	json_key(w, "landlock");
	json_begin_object(w);
	json_int(w, "abi", h->landlock_abi);
	json_text(w, "error", landlock_error(h));
	json_maybe(w, "lsm", h->lsm);
	json_end_object(w);
	json_key(w, "seccomp");
	json_begin_object(w);
	json_bool(w, "filter", h->has_filter);
	json_bool(w, "notify", h->has_notify);
	json_bool(w, "wait_killable", h->has_wait_killable);
	json_end_object(w);
	json_bool(w, "lists_unix_sockets", h->lists_sockets);
	json_key(w, "cgroup");
	json_begin_object(w);
	json_maybe(w, "path", h->cgroup);
	json_maybe(w, "controllers", h->cgroup_controllers);
	json_bool(w, "ours", h->is_cgroup_ours);
	json_end_object(w);
	json_key(w, "git");
	json_begin_object(w);
	json_bool(w, "found", h->has_git);
	json_maybe(w, "bare_repository", h->bare_repository);
	json_end_object(w);
	json_end_object(w);
}

static void json_check(struct json_writer *w, enum guarantee g, const struct checked *c)
{
	json_begin_object(w);
	json_text(w, "name", guarantee_name(g));
	json_text(w, "state", verdict_name(c->verdict));
	json_text(w, "probe", doctor_attempt(g));
	json_reason(w, &c->reason);
	json_end_object(w);
}

static void json_backends(struct json_writer *w, const struct diagnosis *d)
{
	json_key(w, "backends");
	json_begin_array(w);
	for (size_t i = 0; i < d->backends.count; i++) {
		const struct examined *x = &d->backends.items[i];

		json_begin_object(w);
		json_text(w, "name", x->backend->name);
		json_bool(w, "works", x->works);
		json_reason(w, &x->reason);
		json_int(w, "duration_us", (int64_t)x->duration_us);
		json_guarantees(w, "held", x->held);
		json_key(w, "guarantees");
		json_begin_array(w);
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			json_check(w, (enum guarantee)g, &x->checks[g]);
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_usual(struct json_writer *w, const struct tried_default *u)
{
	json_key(w, "default");
	json_begin_object(w);
	json_maybe(w, "profile", u->profile);
	json_bool(w, "enforced", u->is_enforced);
	json_text(w, "backend", u->backend);
	json_reason(w, &u->reason);
	json_guarantees(w, "needed", u->needed);
	json_guarantees(w, "lost", u->lost);
	json_end_object(w);
}

void doctor_print_json(struct json_writer *w, const void *data)
{
	const struct diagnosis *d = data;

	json_begin_object(w);
	json_bool(w, "ok", d->usual.is_enforced);
	json_usual(w, &d->usual);
	json_host(w, &d->host);
	json_backends(w, d);
	json_key(w, "advice");
	json_begin_array(w);
	for (size_t i = 0; i < d->advice.count; i++) {
		json_begin_object(w);
		json_text(w, "id", d->advice.items[i].id);
		json_bool(w, "needed", d->advice.items[i].is_needed);
		json_str(w, "what", d->advice.items[i].what);
		json_key(w, "suggestions");
		json_begin_array(w);
		json_suggestion(w, &(struct suggestion){ .scope = "host",
							 .argv = d->advice.items[i].argv,
							 .text = d->advice.items[i].fix });
		json_end_array(w);
		json_end_object(w);
	}
	json_end_array(w);
	json_key(w, "cleaned");
	if (d->has_cleaned) {
		json_begin_object(w);
		json_strs(w, "removed", d->removed.items, d->removed.count);
		json_strs(w, "in_use", d->kept.items, d->kept.count);
		json_bool(w, "incomplete", d->clean_is_incomplete);
		json_end_object(w);
	} else {
		json_add_null(w);
	}
	json_end_object(w);
}
