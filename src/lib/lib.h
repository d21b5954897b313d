/* SPDX-License-Identifier: MIT */
/*
 * The library: cordon.h over policy/ and plan/. This is where the pure parts
 * meet the host. It decides which files are read (inputs.c), puts the parts
 * together (load.c) and runs commands (run.h). report/ words the answers. It
 * never prints and never exits.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "approve/lasting.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cordon.h"
#include "lib/host.h"
#include "lib/view.h"
#include "plan/plan.h"
#include "policy/policy.h"

enum {
	/* Of one policy with all that it is made from. */
	POLICY_MAX_BYTES = 768 << 20,
	/* Of the texts of all its files, while they are parsed. */
	TEXTS_MAX_BYTES = 128 << 20,
	/* Of one report. */
	REPORT_MAX_BYTES = 256 << 20,
	/* Of what one question needs. */
	ANSWER_MAX_BYTES = 64 << 20,
};

/* ---- error.c, options.c ------------------------------------------------------ */

/* Hands `e` to the caller, when the caller wants it; returns -e->code. */
int error_give(const struct err *e, cordon_error **error);

/* The caller's options, whatever the version it was built with. NULL is all defaults. */
int options_read(const struct cordon_load_options *in, struct cordon_load_options *out,
		 struct err *e) MUST_CHECK;
int options_read_run(const struct cordon_run_options *in, struct cordon_run_options *out,
		     struct err *e) MUST_CHECK;
int options_read_windows(const struct cordon_windows_options *in,
			 struct cordon_windows_options *out, struct err *e) MUST_CHECK;
int options_read_answer(const struct cordon_answer *in, struct cordon_answer *out, struct err *e)
	MUST_CHECK;
int options_read_session(const struct cordon_session_options *in,
			 struct cordon_session_options *out, struct err *e) MUST_CHECK;
int options_read_audit(const struct cordon_audit_options *in, struct cordon_audit_options *out,
		       struct err *e) MUST_CHECK;
int options_read_mcp(const struct cordon_mcp_options *in, struct cordon_mcp_options *out,
		     struct err *e) MUST_CHECK;
int options_read_proxy(const struct cordon_proxy_options *in, struct cordon_proxy_options *out,
		       struct err *e) MUST_CHECK;
int options_read_setup(const struct cordon_setup_options *in, struct cordon_setup_options *out,
		       struct err *e) MUST_CHECK;
int options_read_import(const struct cordon_import_options *in, struct cordon_import_options *out,
			struct err *e) MUST_CHECK;
int options_read_doctor(const struct cordon_doctor_options *in, struct cordon_doctor_options *out,
			struct err *e) MUST_CHECK;

/* ---- inputs.c: what the configuration is read from --------------------------- */

/* What a run wants of its policy besides what the options say. */
struct run_needs {
	const char *port_option;    /* --publish or --host-port, when one was given; NULL: none */
	bool keeps_log;		    /* in the state directory, when the network is managed */
	bool asks;		    /* somebody is asked about what is refused */
	const struct grant *grants; /* that this run has besides those that last */
	size_t grant_count;
	struct str decider; /* the program or socket that decides; "": none */
	bool allows_home;   /* nothing is run in the workspace, be it a home (P5) */
	/* One root more than the profile has, a canonical path; "": none. It counts for load_new(). */
	struct str root;
	bool root_is_read_only;	      /* whatever the policy says */
	const struct imagined *makes; /* as if these were there; copied by nobody */
	size_t make_count;
	const struct layer *ceiling; /* of load_again(): one layer more, that narrows; NULL: none */
};

/* A directory and its path: that it is still the one can be told later. */
struct directory {
	struct str path; /* canonical */
	uint64_t device, inode;
};

struct inputs {
	struct arena *a;
	struct arena *texts; /* of the files; may go once the policy is compiled */
	const struct cordon_load_options *options;
	bool may_read_input;	     /* whether "-" as the user's file is the standard input */
	const struct run_needs *run; /* NULL: it is not for a run */
	const char *const *environment;
	const struct view *view;    /* an imagined host; NULL: this one */
	const struct host *host;    /* its files as they are now */
	struct places places;	    /* without the workspace, other roots, other people's homes */
	struct directory directory; /* what the caller stands in, or named: places.cwd is its path */
	struct config_inputs config;
	struct str default_user_file; /* "" when there is no home */
	struct str user_file; /* the one read: default_user_file or --config-file, absolute */
	struct str system_dir;
	struct str state_dir; /* "" when there is no home */
	/* Where both would be without XDG_*; "" when there is no home. */
	struct str plain_user_file;
	struct str plain_state_dir;
	struct str session; /* its name; "" when there is none */
	struct str program;
};

/* Finds the places: working directory, home, the files. Reads nothing but /etc/passwd. */
int inputs_find(struct inputs *in, struct err *e) MUST_CHECK NONNULL;

/* The value of a variable when it is an absolute path, plain; else "". */
int inputs_find_absolute(struct inputs *in, const char *name, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* homes.c: places.home, "" when it is not known. */
int inputs_find_home(struct inputs *in, struct err *e) MUST_CHECK NONNULL;

/* homes.c: out->homes: of this user as the list of users has it; for root also other people's. */
int inputs_find_homes(const struct inputs *in, struct places *out, struct err *e)
	MUST_CHECK NONNULL;

/* Reads the layers. */
int inputs_read(struct inputs *in, struct err *e) MUST_CHECK NONNULL;

typedef VEC(struct project) project_list;
typedef VEC(struct str) path_list;
typedef VEC(struct directory) directory_list;

/* The workspace roots of a profile, the workspace first, and the project files in them (P1). */
struct found_roots {
	path_list paths;	    /* as the profile names them */
	directory_list directories; /* where each led; the path is "" where nothing was */
	project_list projects;
};
int inputs_read_projects(const struct inputs *in, const struct places *places,
			 const struct profile_doc *doc, struct found_roots *out, struct err *e)
	MUST_CHECK NONNULL;

/* The project file of the working directory alone: for who knows of no profile. */
int inputs_read_project(const struct inputs *in, project_list *projects, struct err *e)
	MUST_CHECK NONNULL;

/* --add-read, --network, --allow-host, …, or the members that they stand for. */
int inputs_additions(const struct inputs *in, struct additions *out, struct err *e)
	MUST_CHECK NONNULL;

typedef VEC(struct own_file) own_list;

/* Cordon's own files (P25). */
int inputs_own_files(const struct inputs *in, own_list *own, struct err *e) MUST_CHECK NONNULL;
/* One of them: who decides in this run. */
int inputs_own_decider(const struct inputs *in, own_list *own, struct err *e) MUST_CHECK NONNULL;

/* A configuration from the standard input, named so in messages. */
int inputs_read_stdin(struct arena *texts, struct source *out, struct err *e) MUST_CHECK NONNULL;

/* view_inputs.c: what is read from an imagined host. --host-view itself, when it is given: */
/* This host. */
enum places_system inputs_own_system(void);
/* By one of its names; NULL is this host. CAUSE_UNKNOWN_PLATFORM. */
int inputs_find_system(const char *name, enum places_system *out, struct err *e) MUST_CHECK
	__attribute__((nonnull(2, 3)));
int inputs_read_view(struct inputs *in, struct err *e) MUST_CHECK NONNULL;
/* What is found from the host: `path` may be relative to the working directory. */
int inputs_locate(const struct inputs *in, struct str path, struct located *out, struct err *e)
	MUST_CHECK NONNULL;
int inputs_view_directory(const struct inputs *in, const char *named, struct directory *out,
			  struct err *e) MUST_CHECK;
/* A regular file of it, links followed; `below` "" or a directory that it must lie below. */
int inputs_view_file(const struct inputs *in, struct str path, struct str below, struct source *out,
		     struct err *e) MUST_CHECK NONNULL;

/* A path from the command line, as the kernel would find it, its last component aside. */
int inputs_absolute(struct arena *a, const char *path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- agent.c ----------------------------------------------------------------- */

/* The program in the absolute directories of `path`, as PATH has them; "": it is not there. */
int program_find(struct arena *a, const char *path, const char *name, struct str *out,
		 struct err *e) MUST_CHECK;

/* ---- workspace.c: where a run works ------------------------------------------ */

/* NULL is the working directory. */
int inputs_find_directory(const struct inputs *in, const char *named, struct directory *out,
			  struct err *e) MUST_CHECK;

struct workspace {
	struct directory directory;
	bool is_chosen;	    /* someone said which it is */
	struct str warning; /* or "" */
};

/* Finds it for a profile; sets places->workspace, and places->homes when that takes to know them. */
int inputs_workspace(const struct inputs *in, const struct profile_doc *doc, struct places *places,
		     struct workspace *out, struct err *e) MUST_CHECK NONNULL;

/* What is to be said where git can't commit because its repository is not the workspace; or "". */
int inputs_hint_at_repo(const struct inputs *in, const struct plan *plan, struct str *out,
			struct err *e) MUST_CHECK NONNULL;

/* ---- approvals.c: grants that outlive a run --------------------------------------- */

/*
 * Reads approvals.toml and the session's file, and adds what counts to the grants of `policy` (which
 * has none). `notes` gets what is to be said about the rest.
 */
typedef VEC(struct note) note_list;
int approvals_load(const struct inputs *in, struct str workspace, struct policy *policy,
		   struct lasting *out, note_list *notes, struct err *e) MUST_CHECK NONNULL;

/* One grant, which counts only as long as there is what it was given for. */
int approvals_grant(struct arena *a, struct policy *policy, const struct stored_grant *stored,
		    struct err *e) MUST_CHECK NONNULL;

/* CAUSE_APPROVAL_TOO_WIDE: one of the grants opens a home, metadata (P9) or a file of Cordon's. */
int approvals_check(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/* ---- progress.c ---------------------------------------------------------------- */

/* Not more often than is of use to a caller. Must stay where it is. */
struct teller {
	struct progress progress;
	cordon_progress_fn *on_progress; /* may be NULL */
	void *user;
	uint64_t told_ms;
};
void teller_init(struct teller *teller, cordon_progress_fn *on_progress, void *user);

/* ---- load.c ------------------------------------------------------------------- */

struct cordon_policy {
	struct cordon_policy *self; /* for load_share(), which is given a const one */
	atomic_uint users;	    /* the caller, and every report made from it */
	struct arena arena;
	struct inputs inputs;
	const struct config *config;
	const struct policy *policy;
	struct host_view view;
	struct host host;		/* through `view`: what the plan was made from */
	struct plan_inputs plan_inputs; /* with `host` */
	const struct plan *plan;
	struct found_roots roots;
	struct directory workspace;
	struct cordon_policy *base; /* what `config` and `policy` belong to; NULL: this one */
	struct lasting lasting;	    /* the grants from before the run, and where new ones go */
	note_list notes;	    /* of the policy, then of the plan */
};

/* Compiles the profile `name` (NULL: the one in force) as far as it goes. */
int load_policy(struct inputs *in, const struct config *config, const char *profile,
		struct cordon_policy *out, struct err *e) MUST_CHECK;

/*
 * cordon_policy_load() for options that options_read() has read. `run` is NULL when it is
 * not for a run.
 */
cordon_policy *load_new(const struct cordon_load_options *options, const struct run_needs *run,
			struct err *e) MUST_CHECK;

/*
 * The same policy for the files of the host as they are now, for a run. Of `options` only the
 * callbacks count. CAUSE_PATH_CHANGED: a directory of it was replaced since it was loaded.
 */
cordon_policy *load_again(const cordon_policy *policy, const struct cordon_load_options *options,
			  const struct run_needs *run, struct err *e) MUST_CHECK NONNULL;

/* Keeps it alive until one more cordon_policy_free(). */
cordon_policy *load_share(const cordon_policy *policy) NONNULL;

/* Tells the caller of a warning, when it wants to know. */
int load_warn(const struct cordon_load_options *o, struct origin origin, struct str text,
	      struct err *e) MUST_CHECK NONNULL;

/* Where a path asked about leads now, not when the policy was loaded. */
int load_locate(struct arena *a, const struct cordon_policy *p, struct str path,
		struct located *out, struct err *e) MUST_CHECK NONNULL;

/* Where it leads a command: not through a link that the policy hides. */
int load_reach(struct arena *a, const struct cordon_policy *p, struct str path, struct located *out,
	       struct err *e) MUST_CHECK NONNULL;

/* A "~" at the start of `path` is the home directory. */
int load_subject(struct arena *a, const struct cordon_policy *p, struct str path, struct str *out,
		 struct err *e) MUST_CHECK NONNULL;

/* ---- init.c -------------------------------------------------------------------- */

/*
 * A new configuration file; with `replaces` in place of one that is there, but not of a link, which nobody means to lose.
 * ERR_ARGUMENT, ERR_SYS.
 */
int config_write(struct str path, struct str text, bool replaces, struct err *e) MUST_CHECK NONNULL;

/* ---- starter.c ----------------------------------------------------------------- */

extern const char starter_config[];
