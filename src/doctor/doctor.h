/* SPDX-License-Identifier: MIT */
/*
 * The doctor: what this host gives, found out by trying it.
 *
 *	doctor.c	in which order, and what came of it
 *	room.c		a directory and sockets for the probe
 *	run.c		runs: the probe in a sandbox of each backend, and without one
 *	probe.c		the probe
 *	clean.c		what dead runs have left behind
 *	advice.c	what would fix what
 *	report.c	all of it in words
 *
 * What each system has of its own is in linux/ and macos/ (native.h).
 */
#pragma once

#include "agents/checked.h"
#include "lib/lib.h"
#include "os/outer_sandbox.h"
#include "report/report.h"
#include "session/session.h"

/* ---- linux/host.c, macos/host.c ------------------------------------------------- */

enum { FACT_UNKNOWN = -1 };

struct host_facts {
	struct str release, machine;
	bool is_root;
	bool is_nested;			       /* inside a sandbox of Cordon's */
	const struct os_outer_sandbox *around; /* inside one of another program's; NULL */
	int64_t open_files;		       /* how many this process may have */
	struct str bare_repository; /* git's safe.bareRepository; "" when it is not set */
	bool has_git;

	/* Linux */
	int wsl;			/* 0, 1, 2 */
	int64_t max_user_namespaces;	/* of this user namespace; FACT_UNKNOWN */
	const struct host_limit *limit; /* backend/host.h: no namespaces of some kind; NULL */
	int64_t userns_clone;		/* a switch of some distributions: 0, 1, FACT_UNKNOWN */
	int64_t apparmor_userns;	/* 1: AppArmor restricts them; 0, FACT_UNKNOWN */
	struct str apparmor_label;	/* of this process, with its mode; "": there is none */
	bool is_proc_covered;		/* mounts below /proc, as containers make them */
	bool is_chroot;			/* as far as can be told */
	bool has_proc;			/* without it nothing works */
	int64_t landlock_abi;		/* 0: none, because of: */
	int landlock_error;
	struct str lsm; /* the list that the kernel was started with; "" when not known */

	bool has_filter, has_notify, has_wait_killable; /* of seccomp */
	bool lists_sockets;				/* unix ones, as sock_diag */

	bool has_cgroup2;
	bool is_cgroup_ours; /* limits could be set */
	struct str cgroup, cgroup_controllers;

	/* macOS */
	struct str sandbox_exec;      /* what is wrong with it; "": nothing */
	int64_t integrity_protection; /* 1: SIP is on as a whole; 0, FACT_UNKNOWN */
	bool has_preview;	      /* features.macos_preview of the usual policy */
};

/* Asks the kernel; nothing is tried, no file is changed. ERR_NOMEM, ERR_LIMIT. */
int doctor_look(struct arena *a, struct host_facts *out, struct err *e) MUST_CHECK NONNULL;

/* From the text of /proc/self/mountinfo: whether anything is mounted below /proc. */
bool doctor_proc_is_covered(struct str mountinfo);

/* From the same: whether "/" is the root of a mount; that of a chroot is mostly none. */
bool doctor_has_root_mount(struct str mountinfo);

/* ---- room.c -------------------------------------------------------------------- */

/* What the probe is shown; see probe.h. */
struct doctor_room {
	const cordon_policy
		*usual; /* that of a run: what it distrusts is not started here; may be NULL */
	const char *directory;	  /* NULL: none could be made */
	const char *program;	  /* that is the probe */
	int lock;		  /* on it, as long as it is used */
	int tcp, open_tcp, local; /* listeners */
	int port, open_port;	  /* a rule of the managed network allows the second */
	char socket[64];	  /* its name (native.h) */
	int memory;
	char born[32];
};

#define ROOM_NONE                                                                 \
	{                                                                         \
		.lock = -1, .tcp = -1, .open_tcp = -1, .local = -1, .memory = -1, \
	}

#define DOCTOR_ROOM_NAME "cordon-doctor."

/* ERR_SYS when no directory can be made anywhere. */
int room_open(struct arena *a, const char *program, struct doctor_room *out, struct err *e)
	MUST_CHECK NONNULL;
void room_close(struct doctor_room *room) NONNULL;

/*
 * The directory of a name below the one that is open as `top`; its last part is `*last`. No link is followed.
 * -1 with errno.
 */
int room_open_above(int top, const char *name, const char **last) MUST_CHECK NONNULL;

/* Whether what the probe left behind in there still lives; it is told to go. */
bool room_has_life(const struct doctor_room *room) NONNULL;

/* Removes rooms that nobody uses any more; their paths are added to `out`. */
int room_clean(struct arena *a, path_list *out, struct err *e) MUST_CHECK NONNULL;

/* ---- run.c --------------------------------------------------------------------- */

/* Why something does not work: a cause for programs, words for people. */
struct reason {
	enum cause cause; /* CAUSE_OK: there is nothing to explain */
	struct str text;
};

#define REASON_NONE                                  \
	{                                            \
		.cause = CAUSE_OK, .text = STR_EMPTY \
	}

/* The cause and the text of an error. ERR_NOMEM, ERR_LIMIT. */
int reason_keep(struct arena *a, const struct err *why, struct reason *out, struct err *e)
	MUST_CHECK NONNULL;

enum probed {
	VERDICT_HELD,
	VERDICT_BROKEN, /* it is claimed, and the probe got through */
	VERDICT_LACKING,
	VERDICT_UNTESTED, /* claimed; it can't be tried here */
};

struct checked {
	enum probed verdict;
	struct reason reason; /* why it is not held, or not tested */
	int os_error;	      /* with which it was refused inside */
};

struct examined {
	const struct backend *backend;
	bool works;	      /* a sandbox was made */
	struct reason reason; /* why not */
	guarantee_set held;
	struct checked checks[GUARANTEE_COUNT];
	uint64_t duration_us;
};

/* What was tried for `g`, in words; NULL: nothing. */
const char *doctor_attempt(enum guarantee g);

/* The same probe without a sandbox: what does not succeed there proves nothing inside. */
struct control {
	bool is_there;
	struct reason reason; /* why not */
	int errors[GUARANTEE_COUNT];
};

int doctor_control(struct arena *a, const struct doctor_room *room, struct control *out,
		   struct err *e) MUST_CHECK NONNULL;
int doctor_examine(struct arena *a, const struct doctor_room *room, const struct control *control,
		   const struct backend *backend, struct examined *out, struct err *e)
	MUST_CHECK NONNULL;

/* The profile that a run without options has. */
struct tried_default {
	struct str profile; /* "" when the configuration is no good */
	bool is_enforced;
	const char *backend;  /* NULL: none */
	struct reason reason; /* why not */
	guarantee_set needed, lost;
};

/* `policy` is NULL where none could be made, and `why` says why; else `why` is empty. */
int doctor_try_default(struct arena *a, const cordon_policy *policy, struct err *why,
		       struct tried_default *out, struct err *e) MUST_CHECK;

/* What git says about safe.bareRepository, asked inside a sandbox. */
int doctor_ask_git(struct arena *a, const struct doctor_room *room, const struct backend *backend,
		   struct host_facts *facts, struct err *e) MUST_CHECK NONNULL;

/* ---- advice.c ------------------------------------------------------------------ */

struct advice {
	const char *id; /* part of the interface */
	bool is_needed; /* else it would be better so */
	struct str what, fix;
	const char *const *argv; /* the command that fixes it; ends with NULL; NULL: none alone */
};
typedef VEC(struct advice) advice_list;

struct diagnosis {
	struct host_facts host;
	struct reason room_reason; /* why nothing could be tried */
	bool has_program;	   /* to try it with */
	struct control control;
	VEC(struct examined) backends;
	struct tried_default usual;
	advice_list advice;
	bool has_cleaned, clean_is_incomplete;
	path_list removed, kept;
	agent_checked_list agents;
};

/* ---- clean.c -------------------------------------------------------------------- */

/* Removes what nothing holds any more, and says what. */
int doctor_clean(struct arena *a, const struct cordon_load_options *load, struct diagnosis *d,
		 struct err *e) MUST_CHECK NONNULL;

/* linux/advice.c, macos/advice.c */
int doctor_advise(struct arena *a, struct diagnosis *d, struct err *e) MUST_CHECK NONNULL;

/* ---- report.c ------------------------------------------------------------------- */

print_text_fn doctor_print_text;
print_json_fn doctor_print_json;
