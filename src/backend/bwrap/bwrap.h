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
 * bwrap knows paths alone, and looks each of them up anew. Who swaps a directory
 * for a link between the plan and the mount could have something else shown, or
 * nothing covered. So nothing that bwrap did is believed: before it gives anything
 * up the inner stage looks at each place without following a link, and compares
 * device, inode, file system, whether it is the root of a mount, and whether it
 * can be written to, with what the plan wants there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/bwrap/lower.h"
#include "backend/bwrap/probe.h"
#include "backend/inner/inner.h"

/* Behind those of inner.h. */
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
	int fd; /* O_PATH: what was looked at is what is run */
	struct str path;
	struct bwrap_identity identity;
};

/*
 * `path_list` is PATH. Those that are passed over are said through `in->warn`, or
 * named in the refusal. ERR_WEAKER when there is none.
 */
int bwrap_find(struct arena *a, const struct launch *in, const char *path_list,
	       struct bwrap_program *out, struct err *e) MUST_CHECK;

/* Why a file, or a directory on the way to it, could be changed by others; NULL: it can't. */
const char *bwrap_distrust_path(const char *path, char *where, size_t room) MUST_CHECK;

/*
 * The program cordon: this one, whatever it is called, or in a host program of libcordon what
 * $CORDON_PROGRAM names, else the installed one. ERR_WEAKER when others could change that.
 */
int bwrap_find_cordon(struct arena *a, struct str *out, bool *is_this, struct err *e)
	MUST_CHECK NONNULL;

/* The same as what is to be the inner stage, which the command must not change either. */
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
	int *fds; /* become 0, 1, 2, ...; behind them `program` once more */
	size_t count;
	int life;    /* the helper's end of a socket; the run ends with the other one */
	int bwrap;   /* its pidfd, where it runs already; -1: the helper starts it */
	pid_t group; /* that it is in then: its own number */
};

/*
 * bwrap itself, in a process group of its own: os_vfork()'s body, in a process that may have it,
 * and then PID 1, for a child.
 */
_Noreturn void bwrap_become(const struct bwrap_spawn *spawn);

/*
 * The helper: kills all of them when the run is over, or when bwrap was killed before: that may
 * leave a process behind that waits for a word for ever. Where the run is a host program's, which
 * never meets a process of its runs, it starts bwrap and takes over PID 1 from it; the process
 * group of all but PID 1 has the helper's number then. Else it ends with bwrap.
 *
 * It is told two things by its `life`: PID 1, and that PID 1 stands: then bwrap, which would
 * do nothing but wait, is not needed any more.
 */
enum bwrap_word {
	BWRAP_WORD_FIRST, /* who PID 1 is: its pidfd comes with the word */
	BWRAP_WORD_END,	  /* it stands: bwrap is ended */
};
_Noreturn void bwrap_helper(const struct bwrap_spawn *spawn, int host);

/* ---- job.c ------------------------------------------------------------------------ */

/* What has to lie at a place in the end. */
enum bwrap_place_kind {
	PLACE_SELF, /* what was there when the plan was made */
	PLACE_LINK, /* likewise, a link: the inner stage keeps it in its place */
	PLACE_MADE, /* something made for this run */
	PLACE_MASK, /* that also can't be read */
};

struct bwrap_place {
	const char *path;
	uint32_t kind; /* enum bwrap_place_kind */
	uint32_t is_checked, is_read_only, may_be_missing;
	uint64_t device, inode;
};

/* With INIT_GO: the parent could not compare the namespaces, PID 1 has to. */
enum { BWRAP_GO_LOOK = 1 };

enum { BWRAP_NAMESPACE_COUNT = 7 };
extern const char *const bwrap_namespaces[BWRAP_NAMESPACE_COUNT];

struct bwrap_job {
	struct inner_job inner;
	VEC(struct bwrap_place) places;
	/* The host's, that the stage must not be in; 0: it may. */
	uint64_t namespaces[BWRAP_NAMESPACE_COUNT];
	bool ignores_children;
	bool has_own_proc;
	bool is_masked_later; /* PID 1 says that it stands, and waits, before it looks */
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
