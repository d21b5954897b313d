/* SPDX-License-Identifier: MIT */
/*
 * The names that P9 protects directly under every writable root: what a program on
 * this machine obeys by itself, before anybody decides to run this project's code.
 * What people run on purpose (a Makefile, package.json, workflows, .envrc behind
 * direnv's consent) is not among them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "base/str.h"

enum metadata_kind { METADATA_DIR, METADATA_FILE };

/*
 * What stands at a missing name while a run lasts (P11): what the program that the
 * name belongs to takes for nothing, on the host, too.
 */
enum metadata_stand_in {
	/* Git dies of anything else; agents and editors list it, and may fill it meanwhile. */
	STAND_IN_DIR,
	/* What git does not see and a look for a directory passes over. */
	STAND_IN_SOCKET,
};

struct metadata_name {
	const char *name; /* one component, or two; of two the first may be missing, and made */
	enum metadata_kind kind;
	enum metadata_stand_in stand_in;
	const char *reason; /* who obeys it: "git runs its hooks and what its config names" */
};

extern const struct metadata_name metadata_names[];
extern const size_t metadata_name_count;
enum { METADATA_MAX_NAMES = 64 };

/* What is not protected, but reported when a run changed it: who obeys it has people's consent. */
struct metadata_reported {
	const char *name;
	const char *reason;
};

extern const struct metadata_reported metadata_reported[];
extern const size_t metadata_reported_count;

/* NULL: none. */
const struct metadata_name *metadata_find(struct str name);

/* Cordon's own, which nothing but an entry for it opens. */
#define METADATA_OWN ".cordon"
