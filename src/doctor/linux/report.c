/* SPDX-License-Identifier: MIT */
/* See native.h: what the doctor found of Linux, in words. The keys are part of the interface. */
#include <errno.h>

#include "doctor/native.h"

/* ---- For people -------------------------------------------------------------------------- */

static void print_namespaces(struct page *p, const struct host_facts *h)
{
	report_field(p, "namespaces");
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
		report_field(p, "AppArmor");
		page_str(p, h->apparmor_label);
		page_line(p);
	}
}

static void print_landlock(struct page *p, const struct host_facts *h)
{
	report_field(p, "Landlock");
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
	report_field(p, "seccomp");
	page_text(p, h->has_filter ? "filters" : "no filters");
	page_text(p, h->has_notify ? ", notifications" : ", no notifications");
	page_text(p, h->has_wait_killable ? ", killable waits" : ", no killable waits");
	page_line(p);
}

static void print_sockets(struct page *p, const struct host_facts *h)
{
	report_field(p, "unix sockets");
	page_text(p, h->lists_sockets ? "listed by the kernel\n" : "not listed by the kernel\n");
}

void native_print_host(struct page *p, const struct host_facts *h)
{
	print_namespaces(p, h);
	print_landlock(p, h);
	print_seccomp(p, h);
	print_sockets(p, h);
	report_field(p, "cgroup v2");
	if (h->has_cgroup2) {
		page_str(p, h->cgroup);
		page_text(p, h->is_cgroup_ours ? ", writable" : ", not writable");
	} else {
		page_text(p, "none");
	}
	page_line(p);
}

/* ---- For programs --------------------------------------------------------------------------- */

static void json_namespaces(struct json_writer *w, const struct host_facts *h)
{
	json_key(w, "namespaces");
	json_begin_object(w);
	if (h->max_user_namespaces == FACT_UNKNOWN)
		json_text(w, "max_user", NULL);
	else
		json_int(w, "max_user", h->max_user_namespaces);
	report_switch(w, "unprivileged_clone", h->userns_clone);
	report_switch(w, "apparmor_restricts", h->apparmor_userns);
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

void native_json_host(struct json_writer *w, const struct host_facts *h)
{
	json_int_or_null(w, "wsl", h->wsl);
	json_bool(w, "proc", h->has_proc);
	json_namespaces(w, h);
	json_key(w, "landlock");
	json_begin_object(w);
	json_int(w, "abi", h->landlock_abi);
	json_text(w, "error", landlock_error(h));
	report_maybe(w, "lsm", h->lsm);
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
	report_maybe(w, "path", h->cgroup);
	report_maybe(w, "controllers", h->cgroup_controllers);
	json_bool(w, "ours", h->is_cgroup_ours);
	json_end_object(w);
}
