/* SPDX-License-Identifier: MIT */
/*
 * mount operations -> the arguments of bwrap. Pure.
 *
 * bwrap takes what it binds from the host's own tree, whatever it has mounted so
 * far, and where it binds it follows what it has mounted: so parents before
 * children, and what has to be read-only in the end is made so at the end.
 */
#pragma once

#include "backend/bwrap/probe.h"
#include "backend/bwrap/stage.h"
#include "backend/mounts/lower.h"

/* What a descriptor that goes with the arguments has to be. */
enum bwrap_data_kind {
	BWRAP_DATA_NOTHING,    /* empty */
	BWRAP_DATA_IGNORE_ALL, /* the text of a .gitignore */
	BWRAP_DATA_PLACE,      /* what `op` shows, O_PATH */
};

struct bwrap_data {
	enum bwrap_data_kind kind;
	const struct mount_op *op;
};

/* Of the host and the request, beside the plan. */
struct bwrap_facts {
	uint32_t features;
	bool is_root;
	bool has_own_network, has_own_ipc;
	bool has_mqueue;	   /* the kernel has that file system */
	bool has_own_proc;	   /* false: the host's is shown, read-only */
	const char *terminal_path; /* NULL: none */
	int info_fd, block_fd;
	int first_data_fd;
	/* What is a mount already looks masked to who masks from outside. May be NULL: none is. */
	bool (*is_mount)(const char *path);
};

enum {
	BWRAP_MAX_WORDS = 8900, /* bwrap stops at 9000 */
	/* Of more, all are made from outside: the time of bwrap grows with their square. */
	BWRAP_MAX_MASKS = 8,
	BWRAP_MAX_PLACES = 256, /* that are handed over as descriptors */
};

struct bwrap_words {
	VEC(const char *) list;
	VEC(struct bwrap_data) data; /* the n-th goes in as first_data_fd + n */
	VEC(const char *) late;	     /* to be masked from outside */
};

/* ERR_WEAKER: bwrap can't express it, by name. */
int lower_bwrap(struct arena *a, const struct launch *in, const struct mounts *mounts,
		const struct bwrap_facts *facts, struct bwrap_words *out, struct err *e)
	MUST_CHECK NONNULL;
