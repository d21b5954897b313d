/* SPDX-License-Identifier: MIT */
/*
 * Grafts: a path of a running sandbox becomes writable, and read-only again. What is mounted is a
 * clone of the sandbox's *own* view, so masks and read-only mounts below it stay. The
 * masker (placeholder/masker.h) carries it out, so that no mask is lost between the clone and
 * its mounting.
 *
 * SECURITY: while a graft is made it is read-only as a whole. What the plan narrows below it is mounted
 * first, and only then do its top and its pins (P8) become writable. So there is no moment at
 * which a protected name could be written.
 *
 * Closing: new accesses by the path have to fail at once, but the kernel makes no mount read-only while a
 * file on it is open for writing. So a read-only clone covers the graft; what is covered becomes
 * read-only when the last writer has closed its file, and until then graft_retry() is called.
 *
 *	graft.c		this process: a transaction of orders, and the answer to it
 *	graft_child.c	the masker's side: async-signal-safe
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"

enum graft_order_kind {
	GRAFT_NONE, /* a mask: masker.c's own */
	GRAFT_SYNC, /* answers when all orders before it are carried out */

	GRAFT_BEGIN,  /* a graft at `path`; `number` is new */
	GRAFT_NARROW, /* mounts what is at `path` read-only */
	GRAFT_PIN,    /* mounts the directory at `path` on itself, as writable as the graft */
	GRAFT_HIDE,   /* there has to be a mask at `path` */
	GRAFT_OPEN,   /* the end of a graft: it becomes writable. Answers */

	GRAFT_COVER,	  /* covers the graft `number`, which was made at `path` */
	GRAFT_SHUT,	  /* what is at `path`, below that graft, becomes read-only as well */
	GRAFT_SHUT_UNDER, /* only below the cover: another grant keeps it open */
	GRAFT_SHUT_IN,	  /* also in the trees of the graft `number`, should they have it */
	GRAFT_CLOSE,	  /* the end of closing: as RETRY. Answers */
	GRAFT_RETRY,	  /* makes the mounts of the graft `number` read-only. Answers */
	GRAFT_DETACH, /* answers with a writable clone of the directory `path`, mounted nowhere */
};

struct graft_order {
	uint32_t kind; /* enum graft_order_kind */
	uint32_t number;
	uint64_t device, inode; /* what has to be there (P8); 0: whatever is */
	uint32_t may_vanish;	/* it is no failure if something else is there by now */
	uint32_t part,
		pin; /* of PIN, SHUT: the graft whose mount it is, and which pin; 0: its top */
	char path[PATH_MAX_BYTES]; /* from the sandbox's root on; of SHUT from the graft on */
};

/* The masker answers to these. */
static inline bool graft_is_answered(uint32_t kind)
{
	return kind == GRAFT_SYNC || kind == GRAFT_OPEN || kind == GRAFT_CLOSE ||
	       kind == GRAFT_RETRY || kind == GRAFT_DETACH;
}

struct graft_answer {
	uint32_t serial; /* counts answers, so that one for which nobody waits any more is dropped */
	int32_t os_error; /* 0: done */
	uint32_t step;	  /* which order of the transaction failed, from 0 */
	uint32_t kind;	  /* its kind; GRAFT_NONE: undoing it has failed, too */
	uint32_t busy;	  /* mounts that can't be read-only yet */
	uint64_t mount;	  /* the id of the graft's top mount */
};

/* How many mounts of a run grafts may make. */
enum {
	GRAFT_MAX_MOUNTS = 512,
	GRAFT_MAX_OPEN = 384, /* the rest is for closing them: if that fails the run has to end */
};

/* ---- In this process ------------------------------------------------------------------------ */

struct masker;

/* Sends one order. ERR_SYS, also when the masker does not take it in time. */
int graft_order(struct masker *m, enum graft_order_kind kind, uint32_t number, struct str path,
		struct err *e) MUST_CHECK NONNULL;
int graft_send(struct masker *m, const struct graft_order *order, struct str path, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Waits for the answer to a transaction; `*fd` is -1, or a descriptor that came with it. ERR_SYS:
 * there was none in time, and SECURITY: what stands is not known.
 */
int graft_wait(struct masker *m, struct graft_answer *out, int *fd, struct err *e)
	MUST_CHECK NONNULL;

/* ---- In the masker --------------------------------------------------------------------------- */

/*
 * Each mount that was ever seen may be somebody's working directory: what is closed has to be closed in all
 * of them, also where another one covers it by now.
 */
enum graft_role {
	GRAFT_TOP,
	GRAFT_A_PIN,   /* becomes writable with the graft */
	GRAFT_BELOW,   /* what the top or a pin was mounted on; that was writable already */
	GRAFT_SEEN,    /* what the path showed when it was covered: another grant's copy */
	GRAFT_A_COVER, /* kept if what another grant keeps open is in it */
	GRAFT_BUSY,    /* has to become read-only */
};

struct graft_mount {
	uint32_t number, pin;
	int fd;
	enum graft_role role;
};

struct grafts {
	int root, channel;
	/* Covers a name; false: it can't. */
	bool (*mask)(void *user, const char *path);
	void *user;
	struct graft_mount mounts[GRAFT_MAX_MOUNTS];
	size_t count;
	/* The transaction. */
	uint32_t number, step, serial;
	int top, seen,
		cover; /* -1: none. `seen` is what the path shows: other grants may cover `top` */
	bool is_gone;  /* somebody on the host has removed what was granted */
	bool keeps_cover; /* something in it stays open */
	struct graft_answer answer;
};

void grafts_init(struct grafts *g, int root, int channel) NONNULL;
/* Carries out an order; false: the answer could not be sent, so nobody waits for it any more. */
bool grafts_follow(struct grafts *g, const struct graft_order *order) MUST_CHECK NONNULL;
