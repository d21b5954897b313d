/* SPDX-License-Identifier: MIT */
/*
 * Policies: from text to the effective policy. Pure; rules P1-P5, P16-P19,
 * P21, P23.
 *
 * The steps:
 *
 *	texts of the layers --config_load()--> struct config
 *		Every layer is TOML, also the built-in one. Each is checked alone
 *		(so that an error names its file), then system, user and command
 *		line are merged key by key; the higher layer wins. Each value
 *		keeps its file:line.
 *
 *	struct config --config_select()--> struct profile_doc
 *		Chooses the profile, follows `extends`, and merges parents below
 *		children. The result names the workspace roots, and so the
 *		project files that the caller has to read.
 *
 *	struct profile_doc + project files --policy_compile()--> struct policy
 *		A policy is a *stack*: the profile at the bottom, and above it
 *		narrowing layers, each of which can only lower what lies below. The
 *		answer for a path is the least of all layers (P1's meet); a path
 *		that a narrowing layer does not cover is left as it is. So "a
 *		project may only narrow" holds by construction, and meet is
 *		commutative, associative and idempotent because min is. A trusted
 *		project (P2) is not a narrowing layer: its tables are merged into
 *		the profile.
 *
 * Paths in here are as written: symbolic (":tmpdir") or lexical. plan/ resolves them
 * on this host.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/glob.h"
#include "base/str.h"
#include "base/toml.h"
#include "policy/domain.h"

/* Ordered: the lesser of two is the narrower. */
enum access { ACCESS_DENY, ACCESS_READ, ACCESS_WRITE };

/* "deny", "read", "write" */
const char *access_name(enum access access) RETURNS_NONNULL;

/* ---- Filesystem (P5) ---------------------------------------------------- */

enum fs_anchor {
	FS_ABSOLUTE,
	FS_HOME,
	FS_ROOT,
	FS_MINIMAL,
	FS_WORKSPACE_ROOTS,
	FS_TMPDIR,
	FS_SLASH_TMP,
	FS_SECRETS,
};

/* The layer of P1 that an entry of the profile comes from, the lowest first. */
enum fs_layer {
	FS_LAYER_BUILT_IN,
	FS_LAYER_SYSTEM,
	FS_LAYER_USER,
	FS_LAYER_OPTION,
	FS_LAYER_PROJECT
};

/* Where a grant counts that was given for what was there (lib/approvals.c); else it is left out. */
enum fs_only {
	FS_ANYTHING,
	FS_ONLY_DIR,	/* a directory that no link leads to */
	FS_ONLY_NO_DIR, /* likewise, and anything else than one */
};

struct fs_entry {
	enum fs_anchor anchor;
	struct str path;	    /* FS_ABSOLUTE: plain; else below the anchor, "" is itself */
	struct str glob;	    /* pattern below `path`, "" when there is none */
	const struct glob *matcher; /* of `glob`; NULL when there is none */
	enum access access;
	enum fs_layer layer; /* set by policy_compile(), of the profile layer alone */
	enum fs_only only;   /* of a grant */
	struct str key;	     /* as written, for people: ":workspace_roots" or "/x → sub" */
	struct origin origin;
};

typedef VEC(struct fs_entry) fs_entries;

/* ---- Network (P12-P15) -------------------------------------------------- */

enum net_access { NET_OFF, NET_FULL, NET_MANAGED };

struct net_rule {
	struct domain domain;
	bool is_allow;
	struct origin origin;
};

struct net_socket {
	struct str path; /* plain, or below home when it was written with ~ */
	bool below_home;
	bool is_allow;
	struct origin origin;
};

struct net_rules {
	enum net_access access;
	struct origin access_origin; /* of `enabled`, or of the table if that has none */
	bool access_is_set;	     /* `enabled` is set, or an option sets it */
	bool is_limited;	     /* P14 */
	struct origin limited_origin;
	bool allows_local_binding;  /* default false; in a narrowing layer true */
	bool allows_upstream_proxy; /* default true */
	VEC(struct net_rule) rules;
	VEC(struct net_socket) sockets;
};

/* ---- The other keys of a profile ---------------------------------------- */

enum git_access { GIT_READ, GIT_COMMIT, GIT_WRITE };

struct named {
	struct str name;
	struct origin origin;
};

typedef VEC(struct named) names;

bool names_have(const names *list, struct str name) NONNULL;

/* Adds the names, then sorts all and drops those that are there twice. */
int names_unite(struct arena *a, names *all, const names *more, struct err *e) MUST_CHECK NONNULL;

struct root {
	enum fs_anchor anchor; /* FS_ABSOLUTE, FS_HOME, or FS_WORKSPACE_ROOTS: below the cwd */
	struct str path;
	struct origin origin;
};

enum env_inherit { ENV_ALL, ENV_CORE, ENV_NONE };

struct env_pattern {
	struct str text;
	const struct glob *matcher;
	struct origin origin;
};

typedef VEC(struct env_pattern) env_patterns;

struct env_value {
	struct str name, value;
	struct origin origin;
};

struct environment { /* P21 */
	enum env_inherit inherit;
	env_patterns exclude;
	env_patterns include;
	VEC(struct env_value) set;
};

/*
 * Whether two names are those of one variable. `names_fold`: names that differ in case alone are, as
 * on Windows.
 */
bool variable_is(struct str name, struct str other, bool names_fold) PURE;

/* `start` is ASCII. */
static inline bool variable_begins(struct str name, struct str start, bool names_fold)
{
	return name.len >= start.len && variable_is(str_first(name, start.len), start, names_fold);
}

/* Whether the command inherits a variable of that name. */
bool environment_passes(const struct environment *env, struct str name, bool names_fold) NONNULL;

enum limit {
	LIMIT_TIMEOUT, /* milliseconds */
	LIMIT_MEMORY,  /* bytes */
	LIMIT_PROCESSES,
	LIMIT_FILE_SIZE, /* bytes */
	LIMIT_OPEN_FILES,
	LIMIT_CPU_TIME, /* milliseconds */
	LIMIT_COUNT,
};

struct limits { /* P23; 0 is no limit */
	uint64_t value[LIMIT_COUNT];
	struct origin origin[LIMIT_COUNT];
};

/* "timeout", …, the key in `limits`. */
const char *limit_name(enum limit limit) RETURNS_NONNULL;

/* The key of one that is set and is for each process by itself, or NULL: in this version only Linux has these. */
const char *limit_of_processes(const struct limits *limits) NONNULL;

/* Which refused accesses to files are noticed and named; the order of the key's words. */
enum naming {
	NAMING_AUTO,   /* writes, where the kernel makes that cheap */
	NAMING_WRITES, /* also what creates, removes or changes names and metadata */
	NAMING_ALL,    /* reading and executing as well, which every open() then pays for */
	NAMING_OFF,
};

/* Whether what is refused is told at once, in a line for a model. */
enum telling { TELL_AUTO, TELL_ON, TELL_OFF };

struct profile {
	struct str name;
	struct str description;
	struct origin origin;
	fs_entries fs;
	struct net_rules net;
	VEC(struct root) roots; /* besides the working directory: those set to true */
	bool workspace_is_repo; /* default: the working directory */
	enum git_access git;
	struct origin git_origin;
	names protect;	 /* besides the names of P9 */
	names unprotect; /* of those names */
	bool tmp_is_private;
	bool globs_are_strict;
	bool nested_is_open; /* nested = "report": repositories in the workspace (P9) */
	enum naming denials;
	enum telling tell_denials;
	bool isolates_ipc, isolates_proc; /* default true */
	bool allows_userns;		  /* default false */
	struct environment env;
	struct limits limits;
	bool is_unsandboxed; /* :danger-full-access and nothing else */
};

/* ---- Configuration (P1-P4) ---------------------------------------------- */

/* A layer's text. `file` names it in messages; `text.p` NUL-free or an error. */
struct source {
	const char *file;
	struct str text;
	bool is_present;
	bool has_other_names; /* hard links: protecting this name does not protect the file */
	bool is_windows;      /* its paths are written as on Windows */
};

struct config_inputs {
	struct source system;	     /* /etc/cordon/config.toml */
	struct source user;	     /* ~/.config/cordon/config.toml or --config-file */
	struct source requirements;  /* /etc/cordon/requirements.toml: the requirements */
	const char *env_profile;     /* CORDON_PROFILE or NULL */
	const char *env_mode;	     /* CORDON_MODE or NULL */
	const struct str *overrides; /* "key=value" from --config, --enable, --disable, in order */
	size_t override_count;
	bool is_windows; /* so are the paths in these */
};

enum {
	CONFIG_MAX_BYTES = 16 << 20, /* of one layer's text */
};

struct config; /* merged, checked */

/* ERR_SYNTAX (TOML, domains), ERR_POLICY (P3, P4), ERR_LIMIT, ERR_NOMEM; file:line:column first. */
const struct config *config_load(struct arena *a, const struct config_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/* All profiles, the built-in ones first. */
struct profile_name {
	struct str name, description;
	struct str extends; /* "" when it extends none */
	struct origin origin;
	bool is_default;
};
typedef VEC(struct profile_name) profile_names;
int config_profiles(struct arena *a, const struct config *c, profile_names *out, struct err *e)
	MUST_CHECK NONNULL;

/* Only the user layer and the command line may set it. */
enum unavailable { UNAVAILABLE_REFUSE, UNAVAILABLE_PASSTHROUGH };

/* What the requirements' `allow` names; all bits are set if there are no requirements. */
enum {
	ALLOW_NONE =
		1 << 0, /* --backend none, --sandbox forbid, passthrough, :danger-full-access */
	ALLOW_ACCEPT_MISSING = 1 << 1,
	ALLOW_ALWAYS = 1 << 2, /* grants with scope "always" */
	ALLOW_ESCALATE = 1 << 3,
};

/* [[approve]]: requests (P18) that the user has answered beforehand. The later answer wins. */
enum approve_subject { APPROVE_WRITE, APPROVE_HOST, APPROVE_SOCKET };
enum approve_answer { APPROVE_ALLOW, APPROVE_ASK, APPROVE_DENY };
enum approve_scope { APPROVE_RUN, APPROVE_ONCE, APPROVE_SESSION };

struct approve_rule {
	enum approve_subject subject;
	struct str text;	    /* the pattern as written */
	bool below_home;	    /* of a path: it was written with ~ */
	struct str path;	    /* plain, or below home */
	const struct glob *matcher; /* of names below `path`; NULL: `path` and all below it */
	struct domain domain;	    /* APPROVE_HOST */
	enum approve_answer answer;
	enum approve_scope scope; /* of an allow */
	struct named profile;	  /* "": in every profile */
	struct origin origin;
};

/* [[exec]]: commands that may be run outside of this sandbox, when one in it asks (P18). */
enum exec_decision { EXEC_ALLOW, EXEC_ASK, EXEC_DENY }; /* the later wins */

struct exec_rule {
	VEC(struct str) argv; /* the whole command, the program first */
	bool takes_more;      /* "...": any arguments may follow */
	enum exec_decision decision;
	struct named run; /* the profile that it gets; "" of a deny */
	bool has_cwd;	  /* else: a workspace root */
	bool cwd_below_home;
	struct str cwd;	      /* plain, or below home */
	struct named profile; /* "": in every profile */
	struct origin origin;
};

/* Whether what it allows runs without a sandbox. A profile can't stand for that one (P4). */
bool exec_rule_is_unsandboxed(const struct exec_rule *rule) NONNULL;
/* "allow", "ask", "deny" */
const char *exec_decision_name(enum exec_decision decision) RETURNS_NONNULL;

/* "write", "allow", "run", … */
const char *approve_subject_name(enum approve_subject subject) RETURNS_NONNULL;
const char *approve_answer_name(enum approve_answer answer) RETURNS_NONNULL;
const char *approve_scope_name(enum approve_scope scope) RETURNS_NONNULL;

struct settings {
	names linux_backends; /* in order; default native, bwrap, landlock */
	enum unavailable unavailable;
	struct origin unavailable_origin;
	names accept_missing; /* names of guarantees */
	struct named shell;   /* of cordon-sh, absolute; "": the usual one */
	bool files_take_ignored;
	names files_writable; /* globs; none: everything */
	VEC(struct approve_rule) approve;
	VEC(struct exec_rule) exec;
	VEC(struct feature {
		struct str name;
		bool is_on;
		struct origin origin;
	}) features;
	uint32_t allow; /* ALLOW_* */
};

/* Whether it is switched on; not for what could be a typo, which is warned of. */
bool settings_have_feature(const struct settings *settings, const char *name) NONNULL;

/* Modes (P19). */
enum mode_kind { MODE_READ_ONLY, MODE_WORKSPACE_WRITE, MODE_FULL_ACCESS };

struct mode {
	enum mode_kind kind;
	bool network_access;
	bool exclude_tmpdir_env_var;
	bool exclude_slash_tmp;
	VEC(struct str) writable_roots; /* plain paths */
};

/* "read-only", "workspace-write", "danger-full-access"; false for anything else. */
bool mode_kind_parse(struct str text, enum mode_kind *out) NONNULL;
const char *mode_kind_name(enum mode_kind kind) RETURNS_NONNULL;
/* The built-in profile that it starts from. */
const char *mode_kind_profile(enum mode_kind kind) RETURNS_NONNULL;

/* The profile that a mode stands for. */
struct profile *mode_profile(struct arena *a, const struct mode *m, struct err *e)
	MUST_CHECK NONNULL;

/* What the command line or the caller of the API chose. */
struct selection {
	const char *profile;  /* -P NAME, or NULL */
	const char *mode;     /* --mode, or NULL; both at once is an error */
	const char *fallback; /* if nothing names one: ":read-only" */
};

struct profile_doc; /* the merged table of the profile in force */

const struct profile_doc *config_select(struct arena *a, const struct config *c,
					const struct selection *s, struct err *e)
	MUST_CHECK NONNULL;

/* Whether the workspace is to be the repository around the working directory. */
int profile_doc_is_repo(const struct profile_doc *doc, bool *out, struct err *e) MUST_CHECK NONNULL;

/* The roots that the profile configures, before any project file is read. */
int profile_doc_roots(struct arena *a, const struct profile_doc *doc, const struct root **out,
		      size_t *count, struct err *e) MUST_CHECK NONNULL;

/* ---- The effective policy ----------------------------------------------- */

enum layer_kind {
	LAYER_PROFILE,	    /* a path that it does not cover is denied */
	LAYER_PROJECT,	    /* narrows; it does not change a path that it does not cover */
	LAYER_REQUIREMENTS, /* narrows */
	LAYER_CALL,	    /* narrows; of one call of a tool (sandbox_state.h) */
};

struct layer {
	enum layer_kind kind;
	bool has_net;	   /* a narrowing layer without `network` does not change it */
	struct str name;   /* "profile dev", "project /repo", "requirements" */
	struct str dir;	   /* of a project */
	struct str digest; /* of its file, as [trust] has it */
	fs_entries fs;
	/*
	 * Of a narrowing layer: NET_OFF if it sets enabled = false, NET_MANAGED if it
	 * denies hosts or sockets or sets mode = "limited", else NET_FULL. Its allows
	 * have no effect.
	 */
	struct net_rules net;
};

/* No file of the user's raises what it takes away. */
static inline bool layer_is_fixed(const struct layer *layer)
{
	return layer->kind == LAYER_REQUIREMENTS || layer->kind == LAYER_CALL;
}

struct warning {
	struct origin origin; /* .file NULL when there is none */
	struct str text;
};

typedef VEC(struct warning) warning_list;

struct policy {
	const struct profile *profile; /* its keys that are not layers are already narrowed */
	VEC(struct layer) layers;      /* [0] is the profile */
	fs_entries grants;	       /* P18: raise, but never over a deny at or below */
	VEC(struct net_rule) net_grants;
	VEC(struct net_socket) socket_grants; /* canonical paths */
	/* P2: trusted projects, whose tables are part of the profile; `name` is the file. */
	names trusted;
	/* For suggested edits: the files as written, and what chose the profile. */
	VEC(const struct toml *) texts;
	const struct toml *user; /* of the texts; NULL when there is none */
	const char *chosen_by;	 /* "-P", "CORDON_MODE", …; NULL: a file, or nothing did */
	struct settings settings;
	warning_list warnings;
};

/*
 * Whether the policy's entries for files are exactly those of the mode's profile. If the workspace
 * roots are the same too, both give the same plan.
 */
bool mode_is_exact(const struct mode *m, const struct policy *q) NONNULL;

/* A project file, `<dir>/.cordon/config.toml`; `dir` plain and canonical. */
struct project {
	struct str dir;
	struct source source;
	/* Set by policy_compile(): */
	struct str digest; /* as [trust] has it: "sha256:…" */
	bool is_trusted;   /* the user layer lists it with this digest */
};

/*
 * What the command line adds to the profile in force. It becomes part of the
 * profile layer, so projects and the requirements still narrow it.
 */
struct additions {
	const struct fs_entry *entries; /* --add-read, --add-write, --deny */
	size_t entry_count;
	const struct named *unprotect; /* --unprotect */
	size_t unprotect_count;
	bool says_network;
	/*
	 * --network: off and full replace the profile's network, rules included. managed
	 * keeps the profile's rules.
	 */
	enum net_access network;
	struct origin network_origin;
	/*
	 * --allow-host, --deny-host make the network managed (P12). If the profile's network was
	 * off, its own allows have no effect and its denies count; a deny alone opens nothing.
	 */
	const struct host_addition {
		struct str pattern; /* as written */
		bool is_allow;
		struct origin origin;
	} * hosts;
	size_t host_count;
	/* --allow-socket makes a network that is off managed; a full one needs no rule. */
	const struct socket_addition {
		struct str path; /* plain */
		struct origin origin;
	} * sockets;
	size_t socket_count;
	/* --publish, --host-port: make a network that is off managed; .file NULL: not given. */
	struct origin port_origin;
	/* --ask: makes a network managed that is off because nobody has said so; .file NULL: not given. */
	struct origin ask_origin;
};

/*
 * ERR_SYNTAX, ERR_POLICY (P2, P3, P16 when the requirements forbids it), ERR_LIMIT,
 * ERR_NOMEM. `projects` and `additions` may be NULL when there are none.
 */
struct policy *policy_compile(struct arena *a, const struct config *c,
			      const struct profile_doc *doc, struct project *projects,
			      size_t project_count, const struct additions *additions,
			      struct err *e) MUST_CHECK;

/*
 * "sha256:…" of the policy without its grants, in normal form. It does not depend on --ask, which
 * makes a network managed that would be off.
 */
int policy_digest(struct arena *a, const struct policy *p, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same, but it depends on --ask where that lets what is allowed through without a question. */
int policy_digest_exact(struct arena *a, const struct policy *p, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- Additional permissions (P18) --------------------------------------- */

/* What a command asks for, or what someone granted. Literal paths only. */
struct permissions {
	VEC(struct permission {
		struct str path;    /* plain */
		enum access access; /* read or write */
	}) paths;
	VEC(struct domain) hosts;
	VEC(struct str) sockets; /* canonical paths of the host's unix sockets */
	bool network;		 /* the whole network; no unix socket */
};

/* requested ∩ granted: for each path and host the lesser of both, and the sockets of both. */
int permissions_intersect(struct arena *a, const struct permissions *requested,
			  const struct permissions *granted, struct permissions *out, struct err *e)
	MUST_CHECK NONNULL;

/* Adds them to the policy as grants; `origin` says who granted ("approved by …"). */
int policy_grant(struct arena *a, struct policy *p, const struct permissions *granted,
		 struct origin origin, struct err *e) MUST_CHECK NONNULL;

/* ---- Printing ----------------------------------------------------------- */

/*
 * `[permissions.NAME]` as TOML that compiles to an equal profile. The name of a
 * built-in profile is written without its ':', because only Cordon may define
 * such. Two things can't be written as TOML and become comments: that a profile
 * has no sandbox, and paths of the command line that are not UTF-8.
 */
void profile_print(struct buf *b, const struct profile *p) NONNULL;

/*
 * Equal in everything but name, origins and the order of entries; of entries for
 * one path only the one that P7 prefers counts. False also if memory runs out.
 */
bool profile_equal(const struct profile *a, const struct profile *b) NONNULL;

/*
 * The entries by anchor, path and glob, without those that lose a tie of P7 (deny
 * over write over read). For printing and comparing.
 */
int fs_entries_sorted(struct arena *a, const fs_entries *entries, const struct fs_entry ***out,
		      size_t *count, struct err *e) MUST_CHECK NONNULL;
