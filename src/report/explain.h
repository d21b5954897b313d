/* SPDX-License-Identifier: MIT */
/* What cordon_explain() found. explain_text.c and explain_json.c print it by the table of keys. */
#pragma once

#include "backend/backend.h"
#include "lib/lib.h"
#include "policy/keys.h"
#include "report/report.h"

struct explanation {
	const struct cordon_policy *policy;
	const char *platform;	     /* "linux", "macos", "windows" */
	const char *const *backends; /* to try there, in order; ends in NULL */
	bool round_trips;	     /* P19 */
	struct mode mode;
	struct str why_not;
	VEC(struct note) without_effect; /* entries that have no effect here */
	const struct backend *backend;	 /* the first that gives every guarantee, or NULL */
	/* What it is on macOS, on Windows; NULL elsewhere, and without a sandbox. */
	const struct seatbelt *seatbelt;
	const struct windows_lowering *windows;
};

/* The guarantees that the policy needs, does not accept as missing, and `backend` lacks. */
guarantee_set explain_lack(const struct explanation *x, const struct backend *backend);
/* Without those that the policy accepts as missing. */
guarantee_set explain_refused(const struct explanation *x, guarantee_set missing);

/* explain_lowering.c: what the policy becomes on another system. */
int explain_find_lowering(struct arena *a, struct explanation *x, struct err *e) MUST_CHECK NONNULL;
void explain_print_lowering(struct page *p, const struct explanation *x);
struct seatbelt;
void explain_print_profile(struct page *p, const struct seatbelt *s) NONNULL;
void explain_json_lowering(struct json_writer *w, const struct explanation *x);
void explain_json_missing(struct json_writer *w, guarantee_set missing);
void explain_json_refusal(struct json_writer *w, enum guarantee g, struct str reason);
/* explain_windows.c */
int explain_find_windows(struct arena *a, struct explanation *x, struct err *e) MUST_CHECK NONNULL;
void explain_print_windows(struct page *p, const struct explanation *x);
void explain_json_windows(struct json_writer *w, const struct windows_lowering *windows);

/* The rules for hosts and sockets of all layers, each with its file and line. */
void explain_print_rules(struct page *p, const struct policy *policy);
void explain_json_rules(struct json_writer *w, const struct policy *policy);

void explain_print_text(struct page *p, const void *data);
void explain_print_json(struct json_writer *w, const void *data);

/*
 * For each key of policy/keys.h that has functions of its own. In a table on one line, such as
 * `environment`, the text is a part of that line.
 */
#define OWN_KEY(id, name)                                                      \
	void explain_text_##name(struct page *p, const struct explanation *x); \
	void explain_json_##name(struct json_writer *w, const struct explanation *x);
POLICY_KEYS(KEY_IF_OWN)
#undef OWN_KEY

/*
 * The profile as `x` explains it: its network narrowed by the other layers. Its rules for hosts and
 * sockets are its own.
 */
struct profile explain_effective(const struct explanation *x);

/* "off", "full", "managed" */
const char *net_access_name(enum net_access access);
