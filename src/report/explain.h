/* SPDX-License-Identifier: MIT */
/* What cordon_explain() found; explain_text.c and explain_json.c word it, and parts for others. */
#pragma once

#include "backend/backend.h"
#include "lib/lib.h"
#include "report/report.h"

struct explanation {
	const struct cordon_policy *policy;
	const char *platform;	     /* "linux", "macos", "windows" */
	const char *const *backends; /* that would be tried there, in order; NULL behind the last */
	bool round_trips;	     /* P19 */
	struct mode mode;
	struct str why_not;
	VEC(struct note) vain;	       /* entries of files that change nothing here */
	const struct backend *backend; /* the first of them that gives what is needed, or NULL */
};

/* What `backend` does not give of what is needed and may not be done without. */
guarantee_set explain_lack(const struct explanation *x, const struct backend *backend);

/* The rules for hosts and sockets of all layers, each with its place. */
void explain_print_rules(struct page *p, const struct policy *policy);
void explain_json_domains(struct json_writer *w, const struct policy *policy);

void explain_print_text(struct page *p, const void *data);
void explain_print_json(struct json_writer *w, const void *data);

/* "off", "full", "managed" */
const char *net_access_name(enum net_access access);
const char *git_access_name(enum git_access access);
const char *env_inherit_name(enum env_inherit inherit);
