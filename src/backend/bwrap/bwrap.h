/* SPDX-License-Identifier: MIT */
/*
 * The bwrap backend: bubblewrap makes the namespaces and the mounts, for hosts
 * where it may and this program may not.
 *
 *	find.c		the first bwrap on PATH that can be trusted
 *	probe.c		what it can do, asked once and kept
 *	lower.c		mount operations -> its arguments (pure)
 *	launch.c	the parent's side, with prepare.c for the job and spawn.c for
 *			bwrap's descriptors
 *	spawn_child.c	bwrap until its exec, and the helper that ends it
 *	job.c		what the inner stage has to do, as bytes, and back
 *	stage.c		the inner stage: this program again, as PID 1 of the sandbox
 *
 * bwrap works with paths, and looks each of them up again. An attacker who swaps a directory for a
 * link between the plan and the mount could make it show something else, or leave something
 * uncovered. So the inner stage verifies what bwrap did, before it drops its privileges: it opens
 * each place without following a link, and compares device, inode, file system, whether it is the
 * root of a mount, and whether it is writable with what the plan wants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/bwrap/lower.h"
#include "backend/bwrap/probe.h"
#include "backend/inner/inner.h"

/* The stages after those of inner.h. */
#define BWRAP_STAGES(X)                                            \
	X(JOB, "understand what it was told")                      \
	X(NAMESPACES, "find itself in namespaces of its own")      \
	X(PRIVATE, "keep mounts of the host from appearing later") \
	X(DEVICES, "make the devices of the host read-only")       \
	X(NETWORK, "look at its network")                          \
	X(PROC, "find a /proc of its own")                         \
	X(PLACE, "find the place of")                              \
	X(CHANGED, "find what the policy was compiled for at")     \
	X(UNCOVERED, "find the mount that belongs onto")           \
	X(LINK, "keep the link in its place:")                     \
	X(WRITABLE, "find read-only")

enum bwrap_stage {
	BWRAP_BEFORE_FIRST = INNER_STAGE_COUNT - 1,
#define BWRAP_STAGE_ENUM(name, text) BWRAP_##name,
	BWRAP_STAGES(BWRAP_STAGE_ENUM)
#undef BWRAP_STAGE_ENUM
};

/* ---- find.c ---------------------------------------------------------------------- */

struct bwrap_program {
	int fd; /* O_PATH: the file that was checked is the one that is executed */
	struct str path;
	struct bwrap_identity identity;
};

/*
 * `path_list` is PATH. Names those that it rejects through `in->warn`, or in the error. ERR_WEAKER if
 * none is left.
 */
int bwrap_find(struct arena *a, const struct launch *in, const char *path_list,
	       struct bwrap_program *out, struct err *e) MUST_CHECK;

/*
 * Finds the program cordon: this one, whatever its name; in a host program of libcordon the one that
 * $CORDON_PROGRAM names, or the installed one. ERR_WEAKER if others could change it.
 */
int bwrap_find_cordon(struct arena *a, struct str *out, bool *is_this, struct err *e)
	MUST_CHECK NONNULL;

/* Opens it as the inner stage, which the command must not be able to change either. */
int bwrap_find_stage(struct arena *a, const struct launch *in, int *fd, struct err *e)
	MUST_CHECK NONNULL;

/* ---- spawn_child.c ---------------------------------------------------------------- */

/* Where bwrap and the inner stage find their descriptors. */
enum bwrap_fd {
	BWRAP_FD_NULL_IN,
	BWRAP_FD_NULL_OUT,
	BWRAP_FD_ERRORS,
	BWRAP_FD_ARGS,
	BWRAP_FD_INFO,
	BWRAP_FD_BLOCK,
	BWRAP_FD_JOB,
	BWRAP_FD_CHANNEL,
	BWRAP_FD_STAGE,
	BWRAP_FD_STDIO, /* three */
	BWRAP_FD_GATE = BWRAP_FD_STDIO + 3,
	BWRAP_FD_HOST,
	BWRAP_FD_DATA,
};

struct bwrap_spawn {
	int program; /* O_PATH */
	const char *const *argv;
	int *fds;     /* `count` of them become 0, 1, 2, ...; fds[count] is `program` once more */
	size_t count; /* without that one */
	int life;     /* the helper's end of a socket; the run ends when the other end closes */
	int bwrap;    /* its pidfd, if it runs already; -1: the helper starts it */
	pid_t group;  /* bwrap's own group, if it runs already */
};

/*
 * Executes bwrap in its own process group: the body of os_vfork(), for a process that may have bwrap,
 * and later PID 1, as its child.
 */
_Noreturn void bwrap_become(const struct bwrap_spawn *spawn);

/*
 * The helper kills bwrap and everything that it started when the run is over, and also if somebody
 * kills bwrap early, which can leave a process that waits for bwrap for ever. For a host program,
 * which must never see children of its runs, the helper starts bwrap itself and adopts PID 1; then
 * all of them but PID 1 are in the helper's process group. Otherwise the helper ends with bwrap.
 *
 * It gets two messages on `life`: PID 1's pidfd, and that PID 1 runs, so that bwrap, which would
 * only wait, can be killed.
 */
enum bwrap_word {
	BWRAP_WORD_FIRST, /* PID 1's pidfd comes with it */
	BWRAP_WORD_END,	  /* PID 1 runs: kill bwrap */
};
_Noreturn void bwrap_helper(const struct bwrap_spawn *spawn, int host);

/* ---- job.c ------------------------------------------------------------------------ */

/* What the inner stage has to find at a place. */
enum bwrap_place_kind {
	PLACE_SELF, /* the inode that the plan was made from */
	PLACE_LINK, /* the same, a link: the inner stage mounts it onto itself */
	PLACE_MADE, /* something made for this run */
	PLACE_MASK, /* the same, and unreadable */
};

struct bwrap_place {
	const char *path;
	uint32_t kind; /* enum bwrap_place_kind */
	uint32_t is_checked, is_read_only, may_be_missing;
	uint64_t device, inode;
};

/* With INIT_GO: the parent could not compare the namespaces, so PID 1 has to. */
enum { BWRAP_GO_LOOK = 1 };

enum { BWRAP_NAMESPACE_COUNT = 7 };
extern const char *const bwrap_namespaces[BWRAP_NAMESPACE_COUNT];

struct bwrap_job {
	struct inner_job inner;
	VEC(struct bwrap_place) places;
	/* The host's namespaces, which the stage must not be in; 0: it may be. */
	uint64_t namespaces[BWRAP_NAMESPACE_COUNT];
	bool ignores_children;
	bool has_own_proc;
	bool is_masked_later; /* the parent makes masks before PID 1 checks the places */
};

/* ERR_LIMIT, ERR_NOMEM. */
int bwrap_job_pack(const struct bwrap_job *job, struct buf *out, struct err *e) MUST_CHECK NONNULL;

/*
 * `bytes` is changed and has to outlive the job. ERR_SYNTAX for anything that is not
 * exactly what bwrap_job_pack() writes.
 */
int bwrap_job_unpack(struct arena *a, char *bytes, size_t count, struct bwrap_job *out,
		     struct err *e) MUST_CHECK NONNULL;

extern const struct backend backend_bwrap;
