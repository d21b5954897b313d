/* SPDX-License-Identifier: MIT */
/* What the doctor needs of each system beside the backends: linux/, macos/. Nobody else includes this. */
#pragma once

#include "doctor/doctor.h"
#include "doctor/probe.h"

/* The program that is the probe. ERR_SYS. */
int native_find_probe(struct arena *a, const char **out, struct err *e) MUST_CHECK NONNULL;
/* Whether only a policy tells if this backend's programs can be trusted. */
bool native_needs_policy(const struct backend *backend) NONNULL;
/* The configuration under which the probe is run; "": none. */
extern const char native_probe_config[];

/*
 * Opens `name` below the directory that is open as `top`, as openat() does; no link is followed, and directories on the way
 * need not be readable. -1 with errno.
 */
int native_open_below(int top, const char *name, int flags) MUST_CHECK NONNULL;
/* The same for a directory alone, in which names are made and removed. */
int native_open_directory_below(int top, const char *name) MUST_CHECK NONNULL;

/* What is tried for a guarantee that means another thing on each system: 0 or errno; NULL: nothing. */
typedef int attempt_fn(const struct probe_facts *f);
attempt_fn *native_attempt(enum guarantee g);
/* A socket of the host for native_attempt(); -1: none. `name` is how the probe finds it. */
int native_listen_local(const struct doctor_room *room, char *name, size_t room_bytes) NONNULL;

/* Shared memory of the host for the same; -1: none. */
int native_make_memory(void);
void native_free_memory(int memory);

/* What is kept about programs that are gone: removed, and added to d->removed. */
int native_clean_cache(struct arena *a, struct diagnosis *d, struct err *e) MUST_CHECK NONNULL;

void native_print_host(struct page *p, const struct host_facts *h) NONNULL;
/* Members of the object "host". */
void native_json_host(struct json_writer *w, const struct host_facts *h) NONNULL;

/* ---- For native_print_host() and native_json_host(), report.c --------------------------------------- */

void report_field(struct page *p, const char *name) NONNULL;
void report_maybe(struct json_writer *w, const char *key, struct str value)
	NONNULL; /* "" is null */
void report_switch(struct json_writer *w, const char *key, int64_t value)
	NONNULL; /* FACT_UNKNOWN is null */

/* ---- For native_clean_cache(), clean.c ---------------------------------------------------------------- */

/* Once. */
int clean_add(struct arena *a, path_list *to, struct str path, struct err *e) MUST_CHECK NONNULL;

/* ---- For doctor_advise(), advice.c ------------------------------------------------------------------- */

int advice_add(struct arena *a, struct diagnosis *d, const char *id, bool is_needed,
	       const char *what, const char *fix, struct err *e) MUST_CHECK NONNULL;
const struct examined *advice_find(const struct diagnosis *d, const char *name) NONNULL;
/* With too few descriptors any step may fail, and its error names something else. */
bool advice_has_few_files(const struct diagnosis *d) NONNULL;
/* About these, about the probe, and about git. */
int advice_on_files(struct arena *a, struct diagnosis *d, bool is_needed, struct err *e)
	MUST_CHECK NONNULL;
int advice_on_trying(struct arena *a, struct diagnosis *d, struct err *e) MUST_CHECK NONNULL;
int advice_on_git(struct arena *a, struct diagnosis *d, struct err *e) MUST_CHECK NONNULL;
