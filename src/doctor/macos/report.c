/* SPDX-License-Identifier: MIT */
/* See native.h: what the doctor found of macOS, in words. The keys are part of the interface. */
#include "doctor/native.h"

void native_print_host(struct page *p, const struct host_facts *h)
{
	report_field(p, "sandbox-exec");
	if (h->sandbox_exec.len)
		page_style(p, STYLE_BAD, "%.*s\n", STR_ARG(h->sandbox_exec));
	else
		page_text(p, "root's own\n");
	report_field(p, "SIP");
	if (h->integrity_protection == FACT_UNKNOWN)
		page_text(p, "not known\n");
	else if (h->integrity_protection)
		page_text(p, "on\n");
	else
		page_style(p, STYLE_CAREFUL, "off, at least in part\n");
	report_field(p, "preview");
	page_text(p, h->has_preview ? "agreed to\n" : "not agreed to\n");
}

void native_json_host(struct json_writer *w, const struct host_facts *h)
{
	json_key(w, "seatbelt");
	json_begin_object(w);
	report_maybe(w, "tool_fault", h->sandbox_exec);
	report_switch(w, "integrity_protection", h->integrity_protection);
	json_bool(w, "preview", h->has_preview);
	json_end_object(w);
}
