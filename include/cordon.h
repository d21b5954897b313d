/* SPDX-License-Identifier: MIT */
/*
 * libcordon: what a policy allows, and why.
 *
 * A program loads a policy once and queries it as often as it likes:
 *
 *	struct cordon_load_options options = { .size = sizeof(options) };
 *	cordon_policy *policy;
 *	cordon_error *error;
 *	uint32_t access;
 *
 *	options.profile = ":workspace";
 *	if (cordon_policy_load(&options, &policy, &error) < 0)
 *		return complain(cordon_error_text(error));
 *	if (cordon_policy_access(policy, "src/main.c", 10, 0, &access, &error) == 0)
 *		may_write = access == CORDON_ACCESS_WRITE;
 *	cordon_policy_free(policy);
 *
 * Conventions
 *
 *   Return values. 0, or a negative CORDON_E_*. On failure no result is written,
 *   and *error, if `error` is not NULL, is an object that says what failed, why
 *   and what to do; the caller frees it with cordon_error_free(). On success
 *   *error is not changed.
 *
 *   Strings. Texts are UTF-8. Paths are bytes. Arguments are borrowed for the
 *   call; returned strings belong to the object they came from and live as long.
 *   A `length` counts bytes; a string with a length needs no terminating NUL.
 *
 *   Threads. There is no global state. A policy never changes once it is loaded:
 *   any number of threads may query it at the same time. Every other object is
 *   for one thread at a time.
 *
 *   The process. No function prints, exits, changes the working directory or the
 *   environment, or installs signal handlers. Reading the environment of the
 *   process (cordon_load_options.environment NULL) must not race with setenv().
 *
 *   Option structs. The first member is the size, set by the caller with sizeof.
 *   Later versions append members, all 8 bytes wide. A library newer than its
 *   caller treats the missing ones as 0; a library older than its caller fails
 *   (CORDON_E_ARGUMENT) if a member that it does not know is not 0.
 */
#ifndef CORDON_H
#define CORDON_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(CORDON_BUILD)
#define CORDON_API __declspec(dllexport)
#elif defined(__GNUC__)
#define CORDON_API __attribute__((visibility("default")))
#else
#define CORDON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when functions or members are added; the soname changes when one is removed. */
#define CORDON_ABI_VERSION 1

/* The CORDON_ABI_VERSION of the library in use. */
CORDON_API uint32_t cordon_abi_version(void);

/* "0.1.0" */
CORDON_API const char *cordon_version(void);

/* ---- Errors --------------------------------------------------------------- */

enum {
	CORDON_OK = 0,
	CORDON_E_NOMEM = 1,	/* out of memory */
	CORDON_E_SYNTAX = 2,	/* malformed TOML, path, host, … */
	CORDON_E_POLICY = 3,	/* well formed, but not a valid policy */
	CORDON_E_LIMIT = 4,	/* too large or too deeply nested */
	CORDON_E_SYS = 5,	/* the operating system refused */
	CORDON_E_WEAKER = 6,	/* this host can't enforce what the policy asks */
	CORDON_E_INTERNAL = 7,	/* a bug in libcordon */
	CORDON_E_ARGUMENT = 8,	/* a bug in, or a mistake of, the caller */
	CORDON_E_NOTFOUND = 9,	/* no such file, profile, … */
	CORDON_E_CANCELLED = 10 /* on_progress cancelled the call */
};

typedef struct cordon_error cordon_error;

/*
 * Makes an error of the caller's own, to be shown like the library's; it names no file. `text` is
 * copied, with control characters escaped. Never NULL.
 */
CORDON_API cordon_error *cordon_error_new(uint32_t code, const char *text);

/* The same with a cause of docs/causes.md, which determines the code; "internal" for unknown ones. */
CORDON_API cordon_error *cordon_error_new_cause(const char *cause, const char *text);

CORDON_API void cordon_error_free(cordon_error *error); /* NULL is fine */

/* CORDON_E_* */
CORDON_API uint32_t cordon_error_code(const cordon_error *error);

/*
 * Which failure it is, as a word that stays the same: "namespaces_forbidden", "unknown_key". Each
 * cause belongs to one code; docs/causes.md lists them. Later versions may add some.
 */
CORDON_API const char *cordon_error_cause(const cordon_error *error);

/*
 * For people. Begins with "FILE:LINE:COLUMN: " if a place in a file is wrong. The first line
 * says what failed; indented lines below it may say what is missing and what to do.
 */
CORDON_API const char *cordon_error_text(const cordon_error *error);

/*
 * {"schema", "version", "error": {"code", "cause", "message", "details", "file", "line",
 * "column"}}; the last three may be null. The message is the first line of the text, the details are the lines below it.
 */
CORDON_API const char *cordon_error_json(cordon_error *error);

/* ---- Policies ------------------------------------------------------------- */

/*
 * Called for each warning while a policy is loaded, on the loading thread.
 * `text` is one line, valid until the callback returns. One that starts with
 * "note: " is a fact to know, and nothing is wrong. The callback must not call
 * libcordon for the policy being loaded.
 */
typedef void cordon_warning_fn(void *user, const char *text);

/*
 * Called from time to time, at most about twenty times a second, while directories are searched for
 * names that a glob denies; in a large tree that takes seconds. It is called on the thread that
 * waits. `directory` is the one being searched, escaped for display, valid until the callback
 * returns. A return value other than 0 ends the call with CORDON_E_CANCELLED: nothing was run, and
 * nothing is left behind. The callback must not call libcordon for the same object.
 */
typedef int cordon_progress_fn(void *user, const char *directory);

enum {
	/*
	 * The policy is loaded for its rules about hosts only: a home directory is not refused as
	 * a writable workspace. Runs ignore this flag.
	 */
	CORDON_LOAD_HOSTS_ONLY = 1,

	/* cordon_approvals(): only what is always allowed, and nothing that sessions allow. */
	CORDON_LOAD_ALWAYS_ONLY = 2
};

/* Relative paths in it are relative to the working directory of the process. */
struct cordon_load_options {
	uint64_t size; /* sizeof(struct cordon_load_options) */

	/* The working directory. NULL: that of the process. */
	const char *directory;

	/*
	 * Read instead of the user's configuration; must exist. NULL: the default,
	 * $XDG_CONFIG_HOME/cordon/config.toml, which need not exist.
	 */
	const char *config_file;

	/* The directory of the system's config.toml and requirements.toml. NULL: /etc/cordon. */
	const char *system_directory;

	/* The profile in force, or the mode; not both. NULL: what the configuration says. */
	const char *profile;
	const char *mode; /* "read-only", "workspace-write", "danger-full-access" */

	/* "key=value", a dotted key; the highest layer, later ones win. */
	const char *const *overrides;
	uint64_t override_count;

	/*
	 * "NAME=value" strings, terminated by NULL: where HOME, TMPDIR,
	 * XDG_CONFIG_HOME, XDG_STATE_HOME, CORDON_PROFILE, CORDON_MODE, CORDON_SESSION and
	 * CORDON_WORKSPACE are looked up. NULL: the environment of the process.
	 */
	const char *const *environment;

	cordon_warning_fn *on_warning; /* may be NULL */
	void *user;		       /* passed to on_warning and on_progress */

	/* Paths, not globs, that are added to the entries of the profile in force. */
	const char *const *add_read;
	uint64_t add_read_count;
	const char *const *add_write;
	uint64_t add_write_count;
	const char *const *deny;
	uint64_t deny_count;

	/*
	 * Overrides the profile's network. "off" and "full" replace everything that the profile
	 * says about it; "managed" uses the profile's rules for hosts, even if its own network is
	 * off or full. NULL: what the profile says.
	 */
	const char *network;

	/*
	 * Rules for hosts that are added to those of the profile in force: "example.com",
	 * "*.example.com:443", "10.0.0.0/8", … They make the network managed; with "off" and
	 * "full" that is CORDON_E_ARGUMENT. A deny alone does not turn on a network that is off.
	 */
	const char *const *allow_hosts;
	uint64_t allow_host_count;
	const char *const *deny_hosts;
	uint64_t deny_host_count;

	cordon_progress_fn *on_progress; /* may be NULL; also while a run is started */

	uint64_t flags; /* CORDON_LOAD_* */

	/*
	 * The workspace, whatever the working directory is. NULL: $CORDON_WORKSPACE, an
	 * absolute path, or else what the profile says, or else the working directory.
	 */
	const char *workspace;

	/*
	 * Protected names (".vscode", ".mcp.json", …) that this policy allows to be changed.
	 * CORDON_E_POLICY for ".git", ".cordon" and names that are not protected.
	 */
	const char *const *unprotect;
	uint64_t unprotect_count;

	/*
	 * Paths of unix sockets of the host that the command may connect to, besides those of the
	 * profile. They make a network that is off managed; with "off" that is CORDON_E_ARGUMENT.
	 */
	const char *const *allow_sockets;
	uint64_t allow_socket_count;

	/*
	 * The session whose grants count, and to which a run adds: 1 to 64 of A-Z a-z 0-9 . _ -, not
	 * beginning with a dot. NULL: $CORDON_SESSION, or none.
	 */
	const char *session;

	/*
	 * The system that the policy is for: "linux" (or "landlock"; also NULL), "macos" (or
	 * "seatbelt"), "windows". For another one than this the policy only answers questions.
	 */
	const char *platform;

	/*
	 * A JSON file that describes a host of that platform: its places and files are asked
	 * instead of this host's. cordon(1) describes it. NULL: this host.
	 */
	const char *host_view;
};

typedef struct cordon_policy cordon_policy;

/*
 * Reads the configuration, decides which profile is in force and what it means
 * for the files of this host. `options` may be NULL: all defaults.
 * CORDON_E_SYNTAX, _POLICY, _LIMIT, _NOTFOUND, _SYS, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_policy_load(const struct cordon_load_options *options, cordon_policy **policy,
				  cordon_error **error);

/* Reports made from it may live on. NULL is fine. */
CORDON_API void cordon_policy_free(cordon_policy *policy);

/* Ordered: each includes the ones before it. */
enum {
	CORDON_ACCESS_DENY = 0,
	CORDON_ACCESS_READ = 1, /* execute included */
	CORDON_ACCESS_WRITE = 2
};

enum {
	/*
	 * The path is absolute and contains no links, "." or "..": no file is looked
	 * up, and the answer takes no system call.
	 */
	CORDON_PATH_CANONICAL = 1
};

/*
 * Which access the policy allows to `path`. A relative path begins at the working directory of the
 * policy. Links are followed as the kernel would; the part that does not exist is taken as it is
 * written. `flags`: CORDON_PATH_*.
 * CORDON_E_SYNTAX (a NUL), _LIMIT, _POLICY (a loop of links), _SYS, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_policy_access(const cordon_policy *policy, const char *path, size_t length,
				    uint32_t flags, uint32_t *access, cordon_error **error);

enum {
	CORDON_DECISION_DENY = 0,
	CORDON_DECISION_ASK = 1, /* only if the configuration names something that can be asked */
	CORDON_DECISION_ALLOW = 2
};

/*
 * Whether `host`, a name or an address, may be reached. Nothing is resolved.
 * `port` 0: not known. Then a deny of any port counts, and an allow only if it is
 * for every port, so that the answer holds for whichever port is used.
 * CORDON_E_SYNTAX, _LIMIT, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_policy_host(const cordon_policy *policy, const char *host, size_t length,
				  uint32_t port, uint32_t *decision, cordon_error **error);

/* ---- Reports --------------------------------------------------------------- */

/* An answer with its reasons, for people and for programs. */
typedef struct cordon_report cordon_report;

CORDON_API void cordon_report_free(cordon_report *report); /* NULL is fine */

enum {
	CORDON_TEXT_COLOUR = 1, /* escape sequences for a terminal */
	CORDON_TEXT_BRIEF = 2	/* the bare answer, for scripts */
};

/*
 * The report for people; control characters in paths and names are escaped.
 * Valid until the next call for the same report. NULL if out of memory.
 */
CORDON_API const char *cordon_report_text(cordon_report *report, uint32_t flags);

/* One JSON value and a newline. Bytes that are not UTF-8 appear as U+DC80..U+DCFF. NULL as above. */
CORDON_API const char *cordon_report_json(cordon_report *report);

/*
 * How many errors the report contains. Only reports of cordon_check() and cordon_doctor() contain
 * any; those of cordon_why_path() and cordon_why_host() contain one if the answer is no: access is
 * denied, or is less than was asked for.
 */
CORDON_API uint64_t cordon_report_error_count(const cordon_report *report);

enum {
	CORDON_ASK_READ = 1, /* answer yes or no: may it be read? */
	CORDON_ASK_WRITE = 2
};

/*
 * Why a path has the access that it has: the deciding rule, those that lost,
 * and the smallest edit that would change the answer. A leading "~" is the home
 * directory. `ask`: 0 or one CORDON_ASK_*. Codes as cordon_policy_access().
 */
CORDON_API int cordon_why_path(const cordon_policy *policy, const char *path, size_t length,
			       uint32_t ask, cordon_report **report, cordon_error **error);

/* The same for "HOST" or "HOST:PORT". Codes as cordon_policy_host(). */
CORDON_API int cordon_why_host(const cordon_policy *policy, const char *host, size_t length,
			       cordon_report **report, cordon_error **error);

/*
 * What was approved for later runs: all of it, or those ids, or, with options->session, what is of that
 * session. Of `options`, which may be NULL, only the environment and the session count. Files that can't
 * be used are named in the report, each as an error, if no session and no id is named. The begin of an id
 * is enough, if no other begins so.
 * CORDON_E_NOTFOUND for an id or a session that there is not; else codes as cordon_policy_load().
 */
CORDON_API int cordon_approvals(const struct cordon_load_options *options, const char *const *ids,
				uint64_t id_count, cordon_report **report, cordon_error **error);

/*
 * Ends them; the report has what it ended. Without ids: all of options->session, or, if that is NULL, of
 * CORDON_SESSION, or, without that, all that was approved for always. The begin of an id needs four
 * characters. If an id does not exist, nothing is ended.
 */
CORDON_API int cordon_approvals_end(const struct cordon_load_options *options,
				    const char *const *ids, uint64_t id_count,
				    cordon_report **report, cordon_error **error);

/* What a process inside a sandbox can ask for. */
enum {
	CORDON_REQUEST_WRITE = 1, /* a path: it and what is below it */
	CORDON_REQUEST_HOST = 2,  /* "NAME" or "NAME:PORT" */
	CORDON_REQUEST_SOCKET = 3 /* the path of a unix socket */
};

/*
 * Asks the sandbox that this process runs in to allow more, and waits for the answer, which may be a
 * person's. `reason` is for that person, and may be NULL. The report's error count is 0 if it is granted,
 * and 1 if not. CORDON_E_NOTFOUND outside of a sandbox, _ARGUMENT for what is no path or host.
 */
CORDON_API int cordon_request(uint32_t kind, const char *subject, const char *reason,
			      cordon_report **report, cordon_error **error);

enum {
	/* A shell asks about each command: one that nobody speaks of is its own to execute. */
	CORDON_ESCALATE_OPTIONAL = 1
};

struct cordon_escalate_options {
	uint64_t size;		    /* sizeof(struct cordon_escalate_options) */
	const char *const *command; /* terminated by NULL; not empty */
	const char *file;	    /* what is to be executed; NULL: what the first word names */
	const char *reason;	    /* for the person who decides; may be NULL */
	uint64_t flags;		    /* CORDON_ESCALATE_* */
	int64_t signals; /* a descriptor: each byte from it is a signal to pass on; -1: none */
};

/*
 * Has a command run outside of the sandbox that this process runs in, with its standard streams and its
 * directory (docs/approvals.md), and waits until it has ended. `*status` is then the command's, 128+n if
 * signal n killed it, and `*report` NULL. Denied: `*report` says why, and has an error. With OPTIONAL both
 * may be left: `*status` -1 and `*report` NULL mean that the caller has to execute it.
 * CORDON_E_NOTFOUND outside of a sandbox, _ARGUMENT, _LIMIT (too long, too many), _SYS, _NOMEM.
 */
CORDON_API int cordon_escalate(const struct cordon_escalate_options *options, int *status,
			       cordon_report **report, cordon_error **error);

/*
 * What the policy means on a platform: "linux" (or "landlock"), "macos" (or
 * "seatbelt"), "windows"; NULL is this one. CORDON_E_ARGUMENT for others, and
 * _SYNTAX, _POLICY, _LIMIT, _SYS, _NOMEM: it looks at the host again.
 */
CORDON_API int cordon_explain(const cordon_policy *policy, const char *platform,
			      cordon_report **report, cordon_error **error);

/*
 * All profiles, or with `name` that one as TOML with everything that it inherits;
 * on_warning then gets the warnings about that profile. Codes as
 * cordon_policy_load().
 */
CORDON_API int cordon_profiles(const struct cordon_load_options *options, const char *name,
			       cordon_report **report, cordon_error **error);

/*
 * Checks the configuration and every profile in it. Here, and for no other call,
 * the config_file "-" is the standard input. The report lists errors, including
 * files that can't be read, and warnings; on_warning is not called. The call
 * itself fails only if it can't find out where to look
 * (CORDON_E_SYS, _LIMIT: the directory, $HOME, …), and for _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_check(const struct cordon_load_options *options, cordon_report **report,
			    cordon_error **error);

enum {
	CORDON_PATCH_ATOMIC = 1, /* all files or none */
	CORDON_PATCH_DRY_RUN = 2 /* says what would be done */
};

/*
 * Applies a patch in the format of apply_patch ("*** Begin Patch") under the policy that `load`
 * selects, in its directory; in a sandbox of Cordon's under that of the sandbox. Only regular files are
 * changed, none in a ".git", and each has its old or its new content at any time. Without
 * CORDON_PATCH_ATOMIC files stay changed when a later one fails; the error names them.
 * CORDON_E_SYNTAX, _NOTFOUND (a file, or lines of it), _POLICY, _LIMIT, _SYS, _NOMEM, _ARGUMENT; else
 * as cordon_policy_load().
 */
CORDON_API int cordon_apply_patch(const struct cordon_load_options *load, const char *patch,
				  size_t length, uint32_t flags, cordon_report **report,
				  cordon_error **error);

/*
 * Checks that `file` ("-": the standard input) is valid TOML 1.0; the error says what is wrong.
 * CORDON_E_SYNTAX, _LIMIT, _NOTFOUND, _POLICY (no regular file), _SYS, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_check_syntax(const char *file, cordon_report **report, cordon_error **error);

/* A commented configuration to start from. */
CORDON_API const char *cordon_starter_config(void);

enum {
	CORDON_INIT_REPLACE = 1 /* an existing file is replaced */
};

/*
 * Writes the starter configuration to `file`; NULL: the user's configuration
 * file. An existing file is CORDON_E_ARGUMENT and is not changed; also
 * CORDON_E_SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_init(const struct cordon_load_options *options, const char *file,
			   uint32_t flags, cordon_report **report, cordon_error **error);

enum {
	CORDON_IMPORT_REPLACE = 1 /* an existing file is replaced */
};

struct cordon_import_options {
	uint64_t size; /* sizeof(struct cordon_import_options) */

	/* The working directory and the home, and who is warned of what is not carried over; NULL: all
	 * defaults. */
	const struct cordon_load_options *load;

	const char *agent;	  /* "claude", "codex", "gemini", "opencode", "srt" */
	const char *const *files; /* layers, the lowest first, terminated by NULL */
	const char *output;	  /* is written; NULL: the text of the report is the policy */
	uint64_t flags;		  /* CORDON_IMPORT_* */
};

/*
 * The permissions of another tool as a policy, which never allows more. docs/migrating.md.
 * CORDON_E_SYNTAX, _POLICY (the tool would refuse the file, or what it denies can't be said), _NOTFOUND,
 * _ARGUMENT (also: the output exists), _SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_import(const struct cordon_import_options *options, cordon_report **report,
			     cordon_error **error);

enum {
	CORDON_DOCTOR_CLEAN = 1 /* remove what killed runs left behind, and list it */
};

typedef void cordon_step_fn(void *user, const char *text);

struct cordon_doctor_options {
	uint64_t size; /* sizeof(struct cordon_doctor_options) */

	/* Which default profile to try, and where to clean; NULL: all defaults. */
	const struct cordon_load_options *load;

	uint64_t flags; /* CORDON_DOCTOR_* */

	/* The absolute path of a program that calls cordon_inner_main(). It is run inside the
	 * sandboxes, and once without one. NULL: the program `cordon`: this one if that is its
	 * name, or $CORDON_PROGRAM, or the installed one. */
	const char *program;

	cordon_step_fn *on_step; /* called before each attempt; may be NULL */
	void *user;		 /* passed to on_step */
};

/*
 * Which guarantees each backend gives on this host, tested by running a probe in a sandbox of each,
 * and how to fix what is missing. The report contains an error if the default profile can't be
 * enforced here. `options` may be NULL.
 * CORDON_E_ARGUMENT, _LIMIT, _SYS, _NOMEM.
 */
CORDON_API int cordon_doctor(const struct cordon_doctor_options *options, cordon_report **report,
			     cordon_error **error);

/* ---- Beneath an agent --------------------------------------------------------- */

enum {
	CORDON_SETUP_SYSTEM = 1,  /* for all users, instead of this one */
	CORDON_SETUP_PROJECT = 2, /* for the project in the working directory */
	CORDON_SETUP_PARTIAL = 4, /* also what does not cover every command */
	CORDON_SETUP_DRY_RUN = 8, /* change nothing */
	CORDON_SETUP_CHECK = 16,  /* is Cordon there? The report has an error if not */
	CORDON_SETUP_UNDO = 32,	  /* put everything back */
	CORDON_SETUP_INSIDE = 64  /* is this process in a sandbox of Cordon's? Likewise */
};

/* Shows `text` to a person, who says whether it is to be done: not 0. */
typedef int cordon_confirm_fn(void *user, const char *text);

struct cordon_setup_options {
	uint64_t size; /* sizeof(struct cordon_setup_options) */

	/* Whose configuration, and which working directory; NULL: all defaults. */
	const struct cordon_load_options *load;

	const char *agent; /* "claude", ...; NULL: the report lists the agents */
	uint64_t flags;	   /* CORDON_SETUP_* */

	cordon_confirm_fn *confirm; /* asked once before anything is changed; NULL: yes */
	void *user;		    /* passed to it */
};

/*
 * Puts Cordon beneath the shell of a coding agent by settings or a script that starts it, checks that it is
 * there, or takes it away again. Settings keep every byte but what is set. A file that another program
 * changes meanwhile, or has changed before an undo, is cause "file_changed", and left as it is.
 * CORDON_E_ARGUMENT, _NOTFOUND (the agent, or a program), _POLICY, _SYNTAX (settings that can't be read),
 * _SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_setup(const struct cordon_setup_options *options, cordon_report **report,
			    cordon_error **error);

/*
 * What the hook of a coding agent answers ("claude", "gemini", "opencode", "qwen"). `input` is what the agent writes to
 * it: a call of a tool that is about to be made, or was. The report's text is what the agent is to read, perhaps
 * nothing: a refusal or a question about files that the policy does not allow, or what was refused to commands
 * of cordon-sh. It never allows, and never changes a call. The report has an error if the call is not to be made
 * as it is. SECURITY: an error of this function has to block the call as well.
 * Of `options`, which may be NULL, the directory does not count. CORDON_E_SYNTAX, _ARGUMENT, and as
 * cordon_policy_load().
 */
CORDON_API int cordon_hook(const struct cordon_load_options *options, const char *agent,
			   const char *input, size_t length, cordon_report **report,
			   cordon_error **error);

/*
 * The coding agents that may run inside as a whole (CORDON_RUN_AGENT), and which are in PATH. `options` may be
 * NULL. CORDON_E_ARGUMENT, _SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_agents(const struct cordon_load_options *options, cordon_report **report,
			     cordon_error **error);

/* ---- Windows ------------------------------------------------------------------- */

enum {
	CORDON_WINDOWS_DRY_RUN = 1 /* say what would be done, and do nothing */
};

/*
 * The accounts, firewall rules and filters that the backend win_elevated needs on a machine: "setup" makes
 * them or mends what is there, "status" looks at them, "uninstall" takes away all of them, and "cleanup" only the
 * entries that runs have left in access lists. The report's text is for people; its error count is 0 if it was done, or all is
 * there. On other systems CORDON_E_WEAKER with cause "other_platform". Else CORDON_E_ARGUMENT; CORDON_E_POLICY with
 * cause "needs_administrator", "name_taken" or "runs_go_on"; CORDON_E_WEAKER with cause "without_effect":
 * the system took a setting and does not have it. Then what was done so far stays, no run can begin, and calling it again
 * goes on from there. _SYS, _LIMIT, _NOMEM.
 */
struct cordon_windows_options {
	uint64_t size; /* sizeof(struct cordon_windows_options) */

	const char *action; /* "setup", "status", "cleanup", "uninstall" */
	uint64_t flags;	    /* CORDON_WINDOWS_* */
	/* Of "setup": the port of the loopback that the account without a network may connect to; 0: none. */
	uint64_t proxy_port;

	cordon_confirm_fn *confirm; /* asked once before anything is changed; NULL: yes */
	void *user;		    /* passed to it */
};
CORDON_API int cordon_windows(const struct cordon_windows_options *options, cordon_report **report,
			      cordon_error **error);

/* ---- The audit log ---------------------------------------------------------- */

enum {
	CORDON_AUDIT_DENIED = 1, /* only what the policy denied */
	CORDON_AUDIT_FOLLOW = 2	 /* the log need not have entries of `run` yet */
};

struct cordon_audit_options {
	uint64_t size; /* sizeof(struct cordon_audit_options) */

	/* Whose state directory the log is in; NULL: all defaults. */
	const struct cordon_load_options *load;

	const char *file; /* NULL: the log of all runs */
	const char *run; /* only this run: its id, or the part after the last '-' of it; or "last" */
	const char *since; /* "2026-01-02" or "2026-01-02T03:04:05Z"; NULL: from the start */
	uint64_t since_ms; /* the same in milliseconds since 1970; 0: see `since` */
	uint64_t flags;	   /* CORDON_AUDIT_* */
};

/* A log that is being read. */
typedef struct cordon_audit cordon_audit;

/* `options` may be NULL. CORDON_E_NOTFOUND: there is no log; _SYNTAX, _SYS, _ARGUMENT, _NOMEM. */
CORDON_API int cordon_audit_open(const struct cordon_audit_options *options, cordon_audit **audit,
				 cordon_error **error);
CORDON_API void cordon_audit_free(cordon_audit *audit); /* NULL is fine */

/* The heading for the lines of cordon_audit_next(). `flags`: CORDON_TEXT_COLOUR. */
CORDON_API const char *cordon_audit_heading(cordon_audit *audit, uint32_t flags);

enum {
	CORDON_AUDIT_JSON = 4 /* the entry as it is in the log, beside CORDON_TEXT_* */
};

/*
 * Returns 1 and the next entry, a line with its newline, or 0 if there is none now. Entries come in
 * the order in which they began; later calls return what was written since, as it was written. A
 * connection that had ended by the first call is one entry. `*line` is valid until the next call.
 * Invalid lines are skipped, and counted for cordon_audit_warning(). CORDON_E_NOTFOUND: the log has
 * no entry of the requested run.
 */
CORDON_API int cordon_audit_next(cordon_audit *audit, uint32_t flags, const char **line,
				 cordon_error **error);

/*
 * Sums up all remaining entries by host: which programs connected, how many bytes, what was denied.
 * CORDON_E_NOTFOUND as above.
 */
CORDON_API int cordon_audit_summary(cordon_audit *audit, cordon_report **report,
				    cordon_error **error);

/*
 * Sums of all remaining entries, and of the log of approvals, as Prometheus has them: "cordon_…" and
 * a number on each line. Valid until the next call for the same log. Codes as cordon_audit_next().
 */
CORDON_API int cordon_audit_metrics(cordon_audit *audit, const char **text, cordon_error **error);

/* How many lines so far were invalid, and where the first is; NULL: none. */
CORDON_API const char *cordon_audit_warning(cordon_audit *audit);

/* ---- The proxy alone ---------------------------------------------------------- */

struct cordon_proxy_options {
	uint64_t size; /* sizeof(struct cordon_proxy_options) */

	/* "ADDRESS:PORT"; port 0: any free one. NULL: 127.0.0.1:0. Addresses other than
	 * loopback need a token. */
	const char *listen;

	const char *audit; /* decisions are logged to this file; NULL: they are not logged */

	/* Every client has to send this as the password of its proxy authentication: 16 to
	 * 127 printable characters. NULL: no password is needed. */
	const char *token;

	/* Where HTTPS_PROXY and similar variables are looked up; the proxy connects through the
	 * proxies that they name. NULL: the environment of the process. */
	const char *const *environment;
};

/* The filtering proxy of a managed network, for programs that Cordon does not run. */
typedef struct cordon_proxy cordon_proxy;

/*
 * Starts the proxy in a process of its own; it accepts connections when this returns. `options` may
 * be NULL. On Windows that process is not confined, and main() has to begin with
 * cordon_inner_main(); else CORDON_E_WEAKER.
 * CORDON_E_POLICY: the network of the policy is not managed; _ARGUMENT, _SYNTAX (`listen`),
 * _SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_proxy_start(const cordon_policy *policy,
				  const struct cordon_proxy_options *options, cordon_proxy **proxy,
				  cordon_error **error);

/* "127.0.0.1:40123"; HTTP and SOCKS5 use the same port. */
CORDON_API const char *cordon_proxy_address(const cordon_proxy *proxy);

/* Readable when cordon_proxy_poll() has something to do. On Windows -1: poll with a time. */
CORDON_API int cordon_proxy_descriptor(const cordon_proxy *proxy);

/*
 * Writes the log; waits at most `timeout_ms` (-1: for ever, 0: not at all) for something to
 * do. The caller has to call this as long as the proxy is used, because the proxy waits until its
 * log is written. CORDON_E_SYS: the log can't be written, or the proxy has ended; then stop it.
 */
CORDON_API int cordon_proxy_poll(cordon_proxy *proxy, int timeout_ms, cordon_error **error);

/*
 * Replaces the rules: a new process serves with the rules of `policy` on the same address, and the
 * connections of the old process are closed. On failure the old rules stay, and the error says so;
 * if it does not, cordon_proxy_poll() fails too. Codes as cordon_proxy_start().
 */
CORDON_API int cordon_proxy_reload(cordon_proxy *proxy, const cordon_policy *policy,
				   cordon_error **error);

/* Stops and frees the proxy, also on failure (CORDON_E_SYS: the log). NULL is fine. */
CORDON_API int cordon_proxy_stop(cordon_proxy *proxy, cordon_error **error);

/*
 * To be called first in main(). Cordon may start this program again as a helper, which argv[0] says.
 * Then this function does the helper's work and returns the status to exit with; otherwise it
 * returns -1. The program `cordon` calls it. A program that calls it does not need an installed
 * `cordon` for cordon_doctor().
 */
CORDON_API int cordon_inner_main(int argc, char **argv);

/* ---- Running commands ------------------------------------------------------ */

/*
 * A command is run so that it can touch only what the policy allows, or it is not
 * run at all. A status other than 0 is a result, not an error: an error says why
 * Cordon could not run the command as requested.
 *
 *	struct cordon_load_options load = { .size = sizeof(load) };
 *	struct cordon_run_options options = { .size = sizeof(options) };
 *	const char *const argv[] = { "make", "check", NULL };
 *	cordon_result *result;
 *
 *	load.mode = "workspace-write";
 *	options.load = &load;
 *	options.command = argv;
 *	options.flags = CORDON_RUN_CAPTURE;
 *	if (cordon_run(NULL, &options, &result, &error) < 0)
 *		return complain(cordon_error_text(error));
 *	printf("%d\n%s", (int)cordon_result_status(result), cordon_result_output(result, 1, NULL));
 *	cordon_result_free(result);
 */

enum {
	/* Keep stdout and stderr for the result, up to capture_limit each. */
	CORDON_RUN_CAPTURE = 1,
	/* With CAPTURE or on_output: also write them to this process's own stdout and stderr. */
	CORDON_RUN_MIRROR = 2,
	/*
	 * Job control, for a program that its user runs as a command, like the CLI: the command
	 * gets the terminal, and when the command is stopped (Ctrl-Z), this process stops too.
	 * Without this flag a command that reads the terminal is stopped until it times out; a
	 * warning says so.
	 * Only with this flag can this process notice the processes of its runs: the first of a
	 * sandbox, and bwrap, may be ordinary children (SIGCHLD, waitpid()), which this process
	 * must not reap, and it becomes the reaper of orphans below it (PR_SET_CHILD_SUBREAPER).
	 * A run that the first thread has started ends with that thread.
	 */
	CORDON_RUN_FOREGROUND = 4,
	CORDON_RUN_QUIET = 8,	  /* no warnings that list the denials */
	CORDON_RUN_NO_STDIN = 16, /* the command's stdin is empty, not inherited */
	CORDON_RUN_TRACE = 32,	  /* on_trace gets every path and decision */
	/*
	 * The command is a shell: the shell that the configuration names replaces its first word
	 * (if that begins with a dash, it is a login shell), and SHELL names it. A run without a
	 * sandbox is refused, whatever layer, variable or option requests it.
	 */
	CORDON_RUN_SHELL = 64,
	/*
	 * Name refused reads and executions too, where this host can, which makes every open slower;
	 * and list the denials in warnings also if the command succeeds.
	 */
	CORDON_RUN_LOG_DENIALS = 128,
	/*
	 * Where no path can be opened while the command runs: ask when it has failed, and if
	 * something was granted, run it once more with that; a warning says so. The result is that of
	 * the second run, which has another cordon_run_descriptor().
	 */
	CORDON_RUN_RETRY = 256,

	/*
	 * Each refused access is told at once by a warning of one line that a model can act on: what, why,
	 * whom to ask. Not while the command has the terminal.
	 */
	CORDON_RUN_TELL_DENIALS = 512,
	/*
	 * The command is a coding agent, inside as a whole: its first word names one of those that
	 * cordon_agents() lists, and stands for its program in PATH. Unless `profile` names another
	 * one, the profile is ":agent-NAME"; missing directories that the agent saves its state in
	 * are made. CORDON_E_NOTFOUND with cause "agent_not_found".
	 */
	CORDON_RUN_AGENT = 1024
};

enum { CORDON_STREAM_STDOUT = 1, CORDON_STREAM_STDERR = 2 };

typedef struct cordon cordon; /* defaults for many runs; may be shared by threads */
typedef struct cordon_run_handle cordon_run_handle; /* one run; one thread at a time */
typedef struct cordon_result cordon_result;

/*
 * Called on the thread that polls a run or waits for it. The callbacks may use other runs; they may
 * signal and cancel their own run and add rules for hosts to it, but polling it or waiting for it is
 * CORDON_E_ARGUMENT.
 */
typedef void cordon_output_fn(void *user, uint32_t stream, const char *bytes, size_t length);
typedef void cordon_trace_fn(void *user, const char *text);
typedef void cordon_done_fn(void *user, const cordon_result *result);

/* A connection that the policy neither allows nor denies. Texts are valid until the callback returns. */
struct cordon_host_request {
	uint64_t size;	  /* sizeof(struct cordon_host_request), of the library in use */
	uint64_t id;	  /* for cordon_decide() */
	const char *host; /* in normal form: lower case, A-labels; or an address */
	uint64_t port;
	const char *protocol; /* "http", "connect", "socks", "address" */
	const char *method;   /* of an HTTP request; NULL if unknown */
	const char *program;  /* that connects, as the kernel names it; NULL if unknown */
	uint64_t pid;	      /* its pid in the sandbox; 0 if unknown */
};

/*
 * Returns CORDON_DECISION_ALLOW or _DENY for this connection only; or _ASK: the answer comes later,
 * by cordon_decide(), and the connection waits for it, at most a minute. Without an answer it is
 * denied.
 */
typedef uint32_t cordon_decide_fn(void *user, const struct cordon_host_request *request);

/*
 * An attempt that was refused. What is not known is NULL or 0. `subject`, `named` and `executable`
 * may hold any bytes: escape them before you show them.
 */
struct cordon_denial {
	uint64_t size;	       /* sizeof(struct cordon_denial), of the library in use */
	const char *kind;      /* "path", "host", "unix_socket" */
	const char *operation; /* "open-write", "create", "mkdir", "rename", "read", "connect", … */
	const char *subject;   /* the path as it resolved, "HOST:PORT", the socket */
	const char *named;     /* the path as the program wrote it */
	const char *rule;      /* that refuses it, in words */
	const char *rule_file;	    /* where the rule is written: a file, an option, "built-in" */
	uint64_t rule_line;	    /* of that file */
	const char *program;	    /* as the kernel names it, escaped */
	const char *executable;	    /* its path in the sandbox */
	uint64_t pid;		    /* in the sandbox, of the first that tried */
	int64_t os_error;	    /* the errno that the program got */
	uint64_t count;		    /* how often */
	uint64_t first_ms, last_ms; /* when, since the start of the run */
	/* 1: the attempt was not seen; it was concluded from what the command wrote (CORDON_RUN_CAPTURE). */
	uint64_t is_guess;
	/*
	 * The same in one line that a model can act on: what, why, and whom to ask. Names in it are short
	 * JSON strings, and it shows nothing that the policy hides.
	 */
	const char *advice;
};

/*
 * Called for each attempt that is refused, at once and before the command continues where that is
 * possible; equal attempts that follow are only counted. Texts are valid until the callback returns.
 */
typedef void cordon_denial_fn(void *user, const struct cordon_denial *denial);

/* How long a grant lasts, as bits of cordon_grant.scopes. */
enum {
	CORDON_SCOPE_ONCE = 1, /* this one call */
	CORDON_SCOPE_RUN = 2,
	CORDON_SCOPE_SESSION = 4,
	CORDON_SCOPE_MINUTES = 8,
	CORDON_SCOPE_ALWAYS = 16
};

/* What may be granted, or is granted; docs/approvals.md. */
struct cordon_grant {
	const char *kind;      /* "write", "connect", "unix_socket", "escalate" */
	const char *subject;   /* the path, or "HOST[:PORT]"; any bytes; of "escalate" "" */
	uint64_t is_directory; /* of "write": everything below it as well */
	uint64_t scopes;       /* of an offer: CORDON_SCOPE_* */
};

/*
 * An attempt that the policy refuses and that nothing denies: it may be granted. What is not known is
 * NULL or 0. All texts but `kind`, `operation` and `rule` may hold any bytes, and the command chooses
 * most of them: escape them before you show them, and decide by the offers alone.
 */
struct cordon_ask_request {
	uint64_t size;	       /* sizeof(struct cordon_ask_request), of the library in use */
	uint64_t id;	       /* for cordon_answer() */
	const char *kind;      /* like that of a grant */
	const char *operation; /* as of a denial; of "escalate" "exec" */
	const char *subject;
	const char *named;	 /* the path as the program wrote it */
	const char *program;	 /* its path in the sandbox */
	uint64_t pid;		 /* in the sandbox */
	const char *const *argv; /* terminated by NULL; NULL: not known */
	const char *cwd;
	const char *rule; /* that refuses it, in words */
	const char *rule_file;
	uint64_t rule_line;
	const char *reason;		   /* what the command says */
	const struct cordon_grant *offers; /* narrowest first */
	uint64_t offer_count;		   /* at least 1 */
	uint64_t deadline_ms;		   /* then it is denied; 0: at once */
};

struct cordon_answer {
	uint64_t size;	   /* sizeof(struct cordon_answer) */
	uint64_t decision; /* CORDON_DECISION_* */
	/* Of an allow: "once", "run", "session", "minutes:N", "always"; NULL: "run". */
	const char *scope;
	/* Of an allow: one of the offers, or something within one; NULL: the narrowest offer. */
	const struct cordon_grant *grant;
	const char *message;  /* for the command; may be NULL */
	uint64_t denies_rest; /* 1: every later request of this run is denied as well */
};

/*
 * Called for a request while its caller inside the sandbox waits; everything is valid until the
 * callback returns. It fills in `answer`, which is a deny: CORDON_DECISION_ASK means that the
 * answer comes later, by cordon_answer().
 */
typedef void cordon_ask_fn(void *user, const struct cordon_ask_request *request,
			   struct cordon_answer *answer);

/* Nobody waits for the answer to request `id` any more: its caller was killed, or it is too late. */
typedef void cordon_withdraw_fn(void *user, uint64_t id);

struct cordon_run_options {
	uint64_t size; /* sizeof(struct cordon_run_options) */

	/* Which policy: directory, profile, mode, overrides, …; NULL: all defaults. */
	const struct cordon_load_options *load;

	/* Terminated by NULL; looked up in PATH like execvp(). Must not be empty. */
	const char *const *command;

	/* "linux" (or "landlock"), "macos" (or "seatbelt"), "windows"; NULL is this one.
	 * Any other than this host's is refused: CORDON_E_WEAKER. */
	const char *platform;

	/* "native", "bwrap", "landlock", "none"; NULL: the first that can enforce the policy */
	const char *backend;
	const char *sandbox; /* "auto", "require", "forbid"; NULL: auto */

	/* The command's environment before secrets are withheld and Cordon's variables set;
	 * "NAME=value", terminated by NULL. NULL: the environment of the process. */
	const char *const *environment;
	/* "NAME=value" sets, "NAME" passes on a variable that is withheld; terminated by NULL. */
	const char *const *set_environment;

	uint64_t timeout_ms; /* 0: none; if the policy has a limit too, the shorter one applies */
	uint64_t capture_limit; /* bytes of each stream; 0: 16 MiB */
	uint64_t flags;		/* CORDON_RUN_* */

	/* Guarantees whose loss is accepted, terminated by NULL; may be NULL. */
	const char *const *accept_missing;

	/* The program that cordon_request_argv() names; NULL: "cordon". */
	const char *binary;

	cordon_output_fn *on_output; /* all may be NULL */
	cordon_trace_fn *on_trace;
	cordon_done_fn *on_done; /* once, before cordon_wait() returns the result */
	void *run_user;		 /* passed to these three */

	/* Features to switch on and off: "NAME" is the same as the override "features.NAME=true"
	 * (or false), and wins over those of `load`. Terminated by NULL; may be NULL. */
	const char *const *enable;
	const char *const *disable;

	/*
	 * "[ADDRESS:]OUT:PORT", terminated by NULL: exposes the sandbox's PORT as port OUT of this
	 * host, by default on its loopback only. Needs a managed network, and turns a network that
	 * is off into one.
	 */
	const char *const *publish;
	/* "PORT": makes the host's PORT reachable inside, as 127.0.0.1:PORT and [::1]:PORT. */
	const char *const *host_ports;
	/*
	 * Network decisions are logged to this file, each as a line of JSON. NULL: the log of all
	 * runs in the state directory. The command must not be able to write there.
	 */
	const char *audit_file;
	/* Called for hosts that the policy neither allows nor denies; NULL: they are denied. */
	cordon_decide_fn *decide_host; /* gets run_user */

	/*
	 * A loaded policy for this run; NULL: the policy is loaded from `load`. No configuration
	 * file is read again, but the run looks at the files of the host as they are when it
	 * starts, like any other run. It fails with CORDON_E_POLICY when another directory has
	 * taken the place of the policy's working directory or workspace.
	 *
	 * Of `load` only the callbacks may be set, and `enable` and `disable` must be NULL; else
	 * CORDON_E_ARGUMENT, as for a policy loaded with CORDON_LOAD_HOSTS_ONLY. --publish and
	 * --host-port need a policy whose network is managed. The policy may be freed when
	 * cordon_start() or cordon_new() has returned.
	 */
	const cordon_policy *policy;

	cordon_denial_fn *on_denial; /* may be NULL; gets run_user */

	/*
	 * The number of a descriptor above 2, or a file: gets a line of JSON when the command has
	 * started, for each denial at once, and when the run is over. The descriptor becomes
	 * close-on-exec. Lines are added to a file that exists; the command must not be able to
	 * write there. A reader that does not read stops the run.
	 */
	const char *events;

	/*
	 * Who is asked about what the policy refuses and nothing denies: "tty", "cmd:PROGRAM",
	 * "fd:N", "socket:PATH" or "off"; NULL: on_ask, or nobody. What is granted counts at once,
	 * and the call that was refused goes on. A network that is off because nothing has turned it
	 * on becomes managed, with no host allowed.
	 */
	const char *ask;
	uint64_t ask_timeout_ms;	 /* after which a request is denied; 0: two minutes */
	cordon_ask_fn *on_ask;		 /* may be NULL, and is without `ask`; gets run_user */
	cordon_withdraw_fn *on_withdraw; /* may be NULL */
};

/*
 * Defaults for many runs: a member of a request, and of its `load`, that is NULL
 * or 0 is taken from `defaults`, which is copied, lists included. Profile and mode
 * count as one, and so do backend and sandbox: a request that sets either gets
 * neither from the defaults.
 * CORDON_E_ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_new(const struct cordon_run_options *defaults, cordon **handle,
			  cordon_error **error);
CORDON_API void cordon_free(cordon *handle); /* NULL is fine; not while a call uses it */

/*
 * Runs the command until it ends. `handle` may be NULL. Codes as cordon_policy_load(),
 * and CORDON_E_WEAKER if this host can't enforce the policy.
 */
CORDON_API int cordon_run(const cordon *handle, const struct cordon_run_options *request,
			  cordon_result **result, cordon_error **error);

/* The same in steps: the command is running when cordon_start() returns. */
CORDON_API int cordon_start(const cordon *handle, const struct cordon_run_options *request,
			    cordon_run_handle **run, cordon_error **error);

/* Readable when cordon_poll() has something to do; -1: poll it from time to time. */
CORDON_API int cordon_run_descriptor(const cordon_run_handle *run);

/*
 * Handles pending events, waiting at most `timeout_ms` (-1: for ever) for the first. Returns 1 if the
 * run has ended, else 0. It answers some system calls of the command, so the command makes no
 * progress unless this is called.
 */
CORDON_API int cordon_poll(cordon_run_handle *run, int timeout_ms, cordon_error **error);

/*
 * Sends a signal to the command; -N sends N to its whole process group, as a
 * terminal does. CORDON_E_ARGUMENT when it has ended or the number is none, CORDON_E_SYS when
 * too many signals wait for a sandbox that is stopped.
 */
CORDON_API int cordon_signal(cordon_run_handle *run, int signal_number, cordon_error **error);

/*
 * Adds a rule for hosts to a running command with a managed network, from the next connection on. A
 * deny of the policy overrides an allow. There is room for 1024 rules of each kind: a further allow
 * causes a warning, a further deny ends the run.
 * CORDON_E_SYNTAX, CORDON_E_ARGUMENT if the network is not managed or the run is over,
 * CORDON_E_SYS.
 */
CORDON_API int cordon_allow_host(cordon_run_handle *run, const char *pattern, cordon_error **error);
CORDON_API int cordon_deny_host(cordon_run_handle *run, const char *pattern, cordon_error **error);

/*
 * Answers a request for which decide_host returned _ASK: CORDON_DECISION_ALLOW or _DENY. If the
 * client has given up meanwhile, nothing happens. CORDON_E_ARGUMENT, CORDON_E_SYS.
 */
CORDON_API int cordon_decide(cordon_run_handle *run, uint64_t id, uint32_t decision,
			     cordon_error **error);

/*
 * Answers a request for which on_ask left CORDON_DECISION_ASK. An answer that is late, or wider than
 * every offer, changes nothing and is audited. CORDON_E_ARGUMENT: it is malformed, or nobody asks.
 */
CORDON_API int cordon_answer(cordon_run_handle *run, uint64_t id,
			     const struct cordon_answer *answer, cordon_error **error);

/*
 * Takes a grant of a running command back: what it opened is refused from now on, and asked about
 * again. What has files open there goes on writing to them until it closes them; a warning names it.
 * CORDON_E_ARGUMENT, CORDON_E_SYS.
 */
CORDON_API int cordon_revoke(cordon_run_handle *run, const struct cordon_grant *grant,
			     cordon_error **error);

/* Kills everything in the sandbox at once; cordon_wait() still has to be called. */
CORDON_API void cordon_cancel(cordon_run_handle *run);

/* Polls until the run ends, returns the result and frees the run. */
CORDON_API int cordon_wait(cordon_run_handle *run, cordon_result **result, cordon_error **error);

CORDON_API void cordon_result_free(cordon_result *result); /* NULL is fine */

/*
 * The command's status; 128+n if signal n killed it, 124 if it timed out, 126 or 127 if it could not
 * be executed or found. Never 125: then the call fails instead.
 */
CORDON_API int cordon_result_status(const cordon_result *result);
CORDON_API int cordon_result_signal(const cordon_result *result); /* that killed it, or 0 */
/* Why the command could not be executed (126, 127), in words; NULL if it was executed. */
CORDON_API const char *cordon_result_exec_error(const cordon_result *result);
CORDON_API int cordon_result_timed_out(const cordon_result *result);
CORDON_API int cordon_result_cancelled(const cordon_result *result);
/*
 * Whether the command had the terminal (CORDON_RUN_FOREGROUND). If so, a signal from
 * the keyboard that killed the command did not reach this process.
 */
CORDON_API int cordon_result_had_terminal(const cordon_result *result);
/* What was captured of CORDON_STREAM_*, with a terminating NUL. */
CORDON_API const char *cordon_result_output(const cordon_result *result, uint32_t stream,
					    size_t *length);
CORDON_API int cordon_result_truncated(const cordon_result *result, uint32_t stream);
/* "native", "bwrap", "landlock", "none". */
CORDON_API const char *cordon_result_backend(const cordon_result *result);
CORDON_API uint64_t cordon_result_warning_count(const cordon_result *result);
CORDON_API const char *cordon_result_warning(const cordon_result *result, uint64_t index);
/* How many attempts are known to have been refused; equal ones count each. */
CORDON_API uint64_t cordon_result_denial_count(const cordon_result *result);
/*
 * What was refused, each different attempt once, in the order of the first; at most 1000. NULL behind
 * the last, and if out of memory. Lives as long as the result.
 */
CORDON_API const struct cordon_denial *cordon_result_denial(cordon_result *result, uint64_t index);
/* The report of the run; belongs to the result and is freed with it. NULL if out of memory. */
CORDON_API cordon_report *cordon_result_report(cordon_result *result);

/* What a run would do, without running it (--dry-run). Codes as cordon_run(). */
CORDON_API int cordon_dry_run(const cordon *handle, const struct cordon_run_options *request,
			      cordon_report **report, cordon_error **error);

/*
 * The arguments of a `cordon run` that does the same as the request in a separate process, terminated
 * by NULL; free them with cordon_argv_free(). The result depends only on the arguments of this call.
 * The caller has to provide what no argument can express: the environment, where the output goes,
 * and the callbacks.
 * CORDON_E_ARGUMENT (an empty command, …), _NOMEM.
 */
CORDON_API int cordon_request_argv(const cordon *handle, const struct cordon_run_options *request,
				   char ***argv, cordon_error **error);
CORDON_API void cordon_argv_free(char **argv); /* NULL is fine */

/* ---- The tools of an agent --------------------------------------------------- */

/*
 * A session of file tools and commands under one policy; docs/file-tools.md has the tools, their
 * arguments and answers. The work on files is done by a process in a sandbox of that policy, so this
 * process opens nothing of a project. One thread at a time.
 */
typedef struct cordon_session cordon_session;
typedef struct cordon_tool_result cordon_tool_result;

struct cordon_session_options {
	uint64_t size; /* sizeof(struct cordon_session_options) */

	/* Which policy, and how commands are run; its load->directory is the first project. NULL: all
	 * defaults. The command, the streams, and who is asked do not count. */
	const struct cordon_run_options *run;

	/* Further projects, terminated by NULL; each has the access that the policy gives. */
	const char *const *roots;

	cordon_warning_fn *on_log;   /* for people; may be NULL */
	cordon_output_fn *on_output; /* output of a command as it comes; may be NULL */
	/*
	 * Asked about what the policy refuses and nothing denies; NULL: nobody is. CORDON_DECISION_ASK
	 * is a deny.
	 */
	cordon_ask_fn *on_ask;
	void *user; /* passed to these three */

	/*
	 * What neither tools nor commands may change in any project: paths below it (".env",
	 * "deploy/keys"), no globs, terminated by NULL; they need not exist. `.git` is among them anyway, unless
	 * the profile opens it. May be NULL.
	 */
	const char *const *read_only;
};

/* Codes as cordon_start(). `options` may be NULL. */
CORDON_API int cordon_session_new(const struct cordon_session_options *options,
				  cordon_session **session, cordon_error **error);
/* Ends everything that it started. NULL is fine. */
CORDON_API void cordon_session_free(cordon_session *session);

/*
 * Opens a project more. It has the same policy with one workspace root more, which is read-only unless the
 * policy lets it be written, and its own project file; the others stay as they are.
 * CORDON_E_POLICY: the policy does not allow reading it; codes as cordon_policy_load().
 */
CORDON_API int cordon_scope_add(cordon_session *session, const char *path, cordon_error **error);

/*
 * The policy of the project that `path` (absolute) lies in, else of the first: for
 * cordon_policy_access() and cordon_why_path(). Lives as long as the session.
 */
CORDON_API const cordon_policy *cordon_session_policy(const cordon_session *session,
						      const char *path);

enum {
	CORDON_OPEN_READ = 0,
	CORDON_OPEN_WRITE = 1, /* reading and writing; the file exists */
	CORDON_OPEN_CREATE = 2 /* the same; a missing file is made, and the directories above it */
};

/*
 * Opens a regular file as the tools do: in the sandbox, by a path that no link, ".." or swapped directory leads
 * elsewhere, never a file with a second name (a hard link) for writing. `path` is UTF-8; a relative one begins
 * at the first project. Who is asked is options->on_ask. What is written is there at once; to replace a file in one
 * step use write_file. *fd is the caller's, close-on-exec, at the beginning of the file.
 * CORDON_E_POLICY: the policy, a guard of the tools or the host's permissions forbid it, or it is no regular
 * file; _NOTFOUND; _SYS: it was replaced meanwhile; _SYNTAX (no path), _ARGUMENT, _NOMEM, else as cordon_start().
 */
CORDON_API int cordon_open(cordon_session *session, const char *path, uint32_t how, intptr_t *fd,
			   cordon_error **error);

/*
 * What may be done with a path, which need not exist: {"path", "access": "deny" | "read" | "write", "rule",
 * "edit", "guard"?, "grant"}. `edit` says whether the edit tools change it; if only a guard of theirs keeps
 * them from it, `guard` says which. `grant` is what would have to be opened for writing; "": nothing could.
 * Codes as cordon_tool_call(); a path that can't be one is a refusal.
 */
CORDON_API int cordon_scope_check(cordon_session *session, const char *path,
				  cordon_tool_result **result, cordon_error **error);

/* The tools, as a JSON array: name, description, inputSchema, outputSchema, annotations. */
CORDON_API const char *cordon_tools_json(cordon_session *session);

/*
 * Calls a tool and waits for its answer. A refusal is an answer. `arguments` is a JSON object; NULL: {}.
 * CORDON_E_ARGUMENT: there is no such tool; CORDON_E_SYNTAX: the arguments are no JSON; CORDON_E_NOMEM.
 */
CORDON_API int cordon_tool_call(cordon_session *session, const char *tool, const char *arguments,
				cordon_tool_result **result, cordon_error **error);
CORDON_API void cordon_tool_result_free(cordon_tool_result *result); /* NULL is fine */
/* For the model. */
CORDON_API const char *cordon_tool_result_text(const cordon_tool_result *result, size_t *length);
/* A JSON object; of a refusal it has "error": {"kind", "message", …}. */
CORDON_API const char *cordon_tool_result_json(const cordon_tool_result *result);
CORDON_API int cordon_tool_result_is_error(const cordon_tool_result *result);

/* ---- A server for agents ------------------------------------------------------------------ */

struct cordon_mcp_options {
	uint64_t size; /* sizeof(struct cordon_mcp_options) */

	/*
	 * Which policy, and how commands are run: as for cordon_start(), of which the command, its
	 * streams, callbacks and who is asked do not count. NULL: all defaults.
	 */
	const struct cordon_run_options *run;
	/* Directories that are projects as well, terminated by NULL; may be NULL. */
	const char *const *roots;

	/* With `has_descriptors` the client is at these; else at standard input and output. */
	uint64_t has_descriptors;
	uint64_t input, output;

	cordon_warning_fn *on_log; /* a line for people; may be NULL */
	void *user;

	/* Bool: also the tool `approve`, for --permission-prompt-tool of Claude (docs/mcp.md). */
	uint64_t approve_tool;
};

/* Tools for files and commands, over the Model Context Protocol; docs/mcp.md. */
typedef struct cordon_mcp cordon_mcp;

/*
 * Loads the policy and begins to serve. The descriptors stay the caller's, and must not be used until
 * cordon_mcp_stop().
 * Codes as cordon_start().
 */
CORDON_API int cordon_mcp_start(const struct cordon_mcp_options *options, cordon_mcp **server,
				cordon_error **error);

/* Readable when cordon_mcp_poll() has something to do. */
CORDON_API int cordon_mcp_descriptor(const cordon_mcp *server);

/*
 * Serves; waits at most `timeout_ms` (-1: for ever, 0: not at all) for something to do. 1: the client
 * has ended, and there is nothing left to do. CORDON_E_SYS, _LIMIT (the client does not read its
 * answers), _NOMEM: it can't go on.
 */
CORDON_API int cordon_mcp_poll(cordon_mcp *server, int timeout_ms, cordon_error **error);

/* Ends everything that was started for the client, and frees the server. NULL is fine. */
CORDON_API void cordon_mcp_stop(cordon_mcp *server);

#ifdef __cplusplus
}
#endif

#endif
