/* SPDX-License-Identifier: MIT */
/*
 * A machine in memory with objects that have access lists, journals and processes, for the code that edits lists on
 * Windows (backend/windows/acl_apply.h). A process can be killed before any of its calls; what it held is free then,
 * and what it was about to write into a journal is there by half. What is made inherits as Windows does it.
 */
#pragma once

#include <stdbool.h>

#include "backend/windows/acl_apply.h"

enum { SID_TEXT = 128 };

enum {
	MEMORY_OBJECTS = 256,
	MEMORY_NAME = 64,
	MEMORY_ACES = 24,
	MEMORY_JOURNALS = 16,
	MEMORY_JOURNAL = 1 << 16,
};

/* An entry, read by itself and not by what is tested. */
struct memory_ace {
	uint8_t type, flags;
	uint32_t mask;
	char sid[SID_TEXT];
};

struct memory_acl {
	struct memory_ace aces[MEMORY_ACES];
	size_t count;
	bool is_protected;
};

struct memory_object {
	char name[MEMORY_NAME];
	int parent; /* index; -1: it is gone; the root is its own */
	bool is_dir, is_link, has_content;
	bool is_closed; /* its list can't be read */
	struct memory_acl acl;
};

struct memory_process;

struct memory_journal {
	bool exists;
	char name[MEMORY_NAME];
	char text[MEMORY_JOURNAL];
	size_t length;
	const struct memory_process *holder;
};

struct memory_machine {
	struct memory_object objects[MEMORY_OBJECTS]; /* the first is the root */
	int count;
	struct memory_journal journals[MEMORY_JOURNALS];
	const struct memory_process *locked_by;
	bool forgets;  /* lists that are written are not kept, as by Wine */
	bool reorders; /* they are kept in another order */
};

struct memory_process {
	struct memory_machine *machine;
	long steps;   /* calls so far */
	long dies_at; /* 0: never */
	bool is_dead;
	struct acl_system system;
};

void memory_init(struct memory_machine *m);
void memory_start(struct memory_process *p, struct memory_machine *m, long dies_at);
/* It is killed now. */
void memory_kill(struct memory_process *p);

/* Something made from outside, with what is above it. It inherits. Returns its number. */
int memory_make(struct memory_machine *m, const char *path, bool is_dir);
/* -1: nothing. */
int memory_find(const struct memory_machine *m, const char *path);
void memory_move(struct memory_machine *m, int object, int to, const char *name);
/* The path of an object in `room`. */
const char *memory_path(const struct memory_machine *m, int object, char room[1024]);

void memory_add_ace(struct memory_acl *acl, uint8_t type, uint8_t flags, uint32_t mask,
		    const char *sid);

/*
 * Whether a token with these SIDs gets all of `mask`, by the list in its order (the walk of the kernel).
 */
bool memory_allows(const struct memory_acl *acl, const char *const *sids, size_t count,
		   uint32_t mask);
