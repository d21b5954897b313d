/* SPDX-License-Identifier: MIT */
/*
 * libcordon: what a policy allows, and why.
 *
 * A program loads a policy once and asks it as often as it likes:
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
 *   and *error, when `error` is not NULL, is an object that says what, why and
 *   what to do; the caller frees it with cordon_error_free(). On success *error
 *   is left alone.
 *
 *   Strings. Texts are UTF-8. Paths are bytes. What goes in is borrowed for the
 *   call; what comes out belongs to the object it came from and lives as long.
 *   A `length` counts bytes; nothing needs a NUL behind it where one is given.
 *
 *   Threads. There is no global state. A policy never changes once it is loaded:
 *   any number of threads may ask it at the same time. Every other object is for
 *   one thread at a time.
 *
 *   The process. No function prints, exits, changes the working directory or the
 *   environment, or installs signal handlers. Reading the environment of the
 *   process (cordon_load_options.environment NULL) must not race with setenv().
 *
 *   Option structs. The first member is the size, set by the caller with sizeof.
 *   Later versions append members, all 8 bytes wide. A library newer than its
 *   caller takes the missing ones as 0; a library older than its caller refuses
 *   (CORDON_E_ARGUMENT) when a member that it does not know is not 0.
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

/* Grows when functions or members are added; the soname changes when any goes. */
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
	CORDON_E_LIMIT = 4,	/* larger or deeper than anything sensible */
	CORDON_E_SYS = 5,	/* the operating system refused */
	CORDON_E_WEAKER = 6,	/* this host can't enforce what the policy asks */
	CORDON_E_INTERNAL = 7,	/* a bug in libcordon */
	CORDON_E_ARGUMENT = 8,	/* a bug in, or a mistake of, the caller */
	CORDON_E_NOTFOUND = 9,	/* no such file, profile, … */
	CORDON_E_CANCELLED = 10 /* the caller did not want to wait any longer */
};

typedef struct cordon_error cordon_error;

/*
 * An error of the caller's own, to be shown like the library's; it has no place
 * in a file. `text` is copied; control characters in it are escaped. Never NULL.
 */
CORDON_API cordon_error *cordon_error_new(uint32_t code, const char *text);

/* The same for one of the causes in docs/causes.md, which also says the code; "internal" for others. */
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
 * For people. Begins with "FILE:LINE:COLUMN: " when a place in a file is at fault. The first line
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
 * `text` is one line, gone when the call returns. It must not call libcordon
 * for the policy being loaded.
 */
typedef void cordon_warning_fn(void *user, const char *text);

/*
 * Called now and then, never more than some twenty times a second, while directories
 * are searched for names that a glob denies: in a large tree that takes seconds. On
 * the thread that waits; `directory` is the one whose turn it is, fit to be shown,
 * gone when the call returns. Anything but 0 ends the work with CORDON_E_CANCELLED:
 * nothing was run, and nothing is left. It must not call libcordon for the same object.
 */
typedef int cordon_progress_fn(void *user, const char *directory);

enum {
	/*
	 * For its rules about hosts: a workspace that is a home, and would be writable, is not
	 * refused. A run takes no notice of it.
	 */
	CORDON_LOAD_HOSTS_ONLY = 1
};

/* Relative paths in it are relative to the working directory of the process. */
struct cordon_load_options {
	uint64_t size; /* sizeof(struct cordon_load_options) */

	/* The working directory, whose policy is asked for. NULL: that of the process. */
	const char *directory;

	/*
	 * Read in place of the user's configuration; must exist. NULL: the default
	 * place, $XDG_CONFIG_HOME/cordon/config.toml, which need not.
	 */
	const char *config_file;

	/* Where config.toml and requirements.toml of the system are. NULL: /etc/cordon. */
	const char *system_directory;

	/* The profile in force, or the mode; not both. NULL: what the configuration says. */
	const char *profile;
	const char *mode; /* "read-only", "workspace-write", "danger-full-access" */

	/* "key=value", a dotted key; the highest layer, later ones win. */
	const char *const *overrides;
	uint64_t override_count;

	/*
	 * "NAME=value" strings, NULL behind the last: where HOME, TMPDIR,
	 * XDG_CONFIG_HOME, XDG_STATE_HOME, CORDON_PROFILE, CORDON_MODE and
	 * CORDON_WORKSPACE are looked up. NULL: the environment of the process.
	 */
	const char *const *environment;

	cordon_warning_fn *on_warning; /* may be NULL */
	void *user;		       /* handed to on_warning and on_progress */

	/* Paths, taken literally, that the profile in force gets as entries besides its own. */
	const char *const *add_read;
	uint64_t add_read_count;
	const char *const *add_write;
	uint64_t add_write_count;
	const char *const *deny;
	uint64_t deny_count;

	/*
	 * "off", "full": in place of what the profile says. "managed": by the profile's rules
	 * for hosts, whatever its network is otherwise. NULL: what the profile says.
	 */
	const char *network;

	/*
	 * Hosts that the profile in force allows and denies besides its own: "example.com",
	 * "*.example.com:443", "10.0.0.0/8", … They make the network managed; with "off" and
	 * "full" that is CORDON_E_ARGUMENT. A deny alone leaves a network off that is.
	 */
	const char *const *allow_hosts;
	uint64_t allow_host_count;
	const char *const *deny_hosts;
	uint64_t deny_host_count;

	cordon_progress_fn *on_progress; /* may be NULL; also while a run is started */

	uint64_t flags; /* CORDON_LOAD_* */

	/*
	 * The workspace, whatever the working directory is. NULL: $CORDON_WORKSPACE, an
	 * absolute path; without that what the profile says, else the working directory.
	 */
	const char *workspace;

	/*
	 * Names that are protected in every writable root (".vscode", ".mcp.json", ...) and are
	 * not to be for this policy. CORDON_E_POLICY for ".git", ".cordon" and what is none.
	 */
	const char *const *unprotect;
	uint64_t unprotect_count;

	/*
	 * Unix sockets of the host that may be connected to besides the profile's own: paths. They
	 * make a network managed that is off; with "off" that is CORDON_E_ARGUMENT.
	 */
	const char *const *allow_sockets;
	uint64_t allow_socket_count;
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
	 * The path is absolute, without links, "." or ".." in it: nothing is looked
	 * up, the answer takes no system call.
	 */
	CORDON_PATH_CANONICAL = 1
};

/*
 * What may be done with `path`. A relative one is taken from the working
 * directory of the policy; links are followed as the kernel would, a missing
 * rest is taken as it is written. `flags`: CORDON_PATH_*.
 * CORDON_E_SYNTAX (a NUL), _LIMIT, _POLICY (a loop of links), _SYS, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_policy_access(const cordon_policy *policy, const char *path, size_t length,
				    uint32_t flags, uint32_t *access, cordon_error **error);

enum {
	CORDON_DECISION_DENY = 0,
	CORDON_DECISION_ASK = 1, /* only where something was configured that can be asked */
	CORDON_DECISION_ALLOW = 2
};

/*
 * Whether `host`, a name or an address, may be reached. Nothing is resolved.
 * `port` 0: not known. A deny of any port then counts, an allow only when it is
 * for every port, so that the answer holds whichever port it turns out to be.
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
 * Valid until the next call for the same report. NULL when memory is out.
 */
CORDON_API const char *cordon_report_text(cordon_report *report, uint32_t flags);

/* One JSON value and a newline. Bytes that are not UTF-8 appear as U+DC80..U+DCFF. NULL likewise. */
CORDON_API const char *cordon_report_json(cordon_report *report);

/*
 * How many errors it holds; only those of cordon_check() and cordon_doctor() may hold any, and
 * those of cordon_why_path() and cordon_why_host() one, when the answer is no: denied, or less
 * than was asked for.
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
 * What the policy means on a platform: "linux" (or "landlock"), "macos" (or
 * "seatbelt"), "windows"; NULL is this one. CORDON_E_ARGUMENT for others, and
 * _SYNTAX, _POLICY, _LIMIT, _SYS, _NOMEM: it looks at the host again.
 */
CORDON_API int cordon_explain(const cordon_policy *policy, const char *platform,
			      cordon_report **report, cordon_error **error);

/*
 * All profiles, or with `name` one of them as the TOML that it amounts to;
 * on_warning then hears what there is to say about that one. Codes as
 * cordon_policy_load().
 */
CORDON_API int cordon_profiles(const struct cordon_load_options *options, const char *name,
			       cordon_report **report, cordon_error **error);

/*
 * Checks the configuration and every profile in it. Here, and for no other call,
 * the config_file "-" is the standard input. What is wrong with it, files
 * that can't be read included, is in the report; warnings too, and on_warning is
 * not called. The call itself fails only when it can't tell where to look
 * (CORDON_E_SYS, _LIMIT: the directory, $HOME, …), and for _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_check(const struct cordon_load_options *options, cordon_report **report,
			    cordon_error **error);

/*
 * Whether `file` ("-": the standard input) is TOML 1.0; what is wrong is the error.
 * CORDON_E_SYNTAX, _LIMIT, _NOTFOUND, _POLICY (no regular file), _SYS, _ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_check_syntax(const char *file, cordon_report **report, cordon_error **error);

/* A commented configuration to start from. */
CORDON_API const char *cordon_starter_config(void);

enum {
	CORDON_INIT_REPLACE = 1 /* an existing file is replaced */
};

/*
 * Writes the starter configuration to `file`; NULL is the place of the user's
 * own. An existing file is CORDON_E_ARGUMENT and stays as it is; besides
 * CORDON_E_SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_init(const struct cordon_load_options *options, const char *file,
			   uint32_t flags, cordon_report **report, cordon_error **error);

enum {
	CORDON_DOCTOR_CLEAN = 1 /* remove what runs that died have left behind, and say what */
};

typedef void cordon_step_fn(void *user, const char *text);

struct cordon_doctor_options {
	uint64_t size; /* sizeof(struct cordon_doctor_options) */

	/* Whose default profile is tried, and where to clean; NULL: all defaults. */
	const struct cordon_load_options *load;

	uint64_t flags; /* CORDON_DOCTOR_* */

	/* A program, by its absolute path, that calls cordon_inner_main(): it is run inside
	 * the sandboxes, and once without one. NULL: the program `cordon`, which is this one
	 * when it is called so, or $CORDON_PROGRAM, or the installed one. */
	const char *program;

	cordon_step_fn *on_step; /* told what is about to be tried; may be NULL */
	void *user;		 /* handed to on_step */
};

/*
 * What this host gives, for each backend and guarantee, found out by running a probe
 * in a sandbox of each; and what would fix what is missing. The report holds an error
 * when the default profile can't be enforced here. `options` may be NULL.
 * CORDON_E_ARGUMENT, _LIMIT, _SYS, _NOMEM.
 */
CORDON_API int cordon_doctor(const struct cordon_doctor_options *options, cordon_report **report,
			     cordon_error **error);

/* ---- The audit log ---------------------------------------------------------- */

enum {
	CORDON_AUDIT_DENIED = 1, /* only what policy refused */
	CORDON_AUDIT_FOLLOW = 2	 /* a run that is not there may still come */
};

struct cordon_audit_options {
	uint64_t size; /* sizeof(struct cordon_audit_options) */

	/* Whose state directory the log is in; NULL: all defaults. */
	const struct cordon_load_options *load;

	const char *file; /* NULL: the log that runs write when they are not told otherwise */
	const char *run; /* only of this: its name, or what is behind the last '-' of it; or "last" */
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

/* What stands above the lines of cordon_audit_next(). `flags`: CORDON_TEXT_COLOUR. */
CORDON_API const char *cordon_audit_heading(cordon_audit *audit, uint32_t flags);

enum {
	CORDON_AUDIT_JSON = 4 /* the entry as it is in the log, beside CORDON_TEXT_* */
};

/*
 * The next entry as a line with its newline, what began first comes first: 1, or 0 when there
 * is none now; asked again later, what was written since, as it was written. What was open and
 * has ended by the first call is one entry. `*line` is valid until the next call. Lines that are
 * no entries are passed over, and counted for cordon_audit_warning(). CORDON_E_NOTFOUND: there is
 * no entry of the run that was asked for.
 */
CORDON_API int cordon_audit_next(cordon_audit *audit, uint32_t flags, const char **line,
				 cordon_error **error);

/*
 * All entries from here on, by host: who talked to whom, how much, what was refused.
 * CORDON_E_NOTFOUND as above.
 */
CORDON_API int cordon_audit_summary(cordon_audit *audit, cordon_report **report,
				    cordon_error **error);

/* How many lines so far were none of the log's, and where the first is; NULL: none. */
CORDON_API const char *cordon_audit_warning(cordon_audit *audit);

/* ---- The proxy alone ---------------------------------------------------------- */

struct cordon_proxy_options {
	uint64_t size; /* sizeof(struct cordon_proxy_options) */

	/* "ADDRESS:PORT", port 0: any. NULL: 127.0.0.1:0. Other addresses than those of
	 * loopback only with a token. */
	const char *listen;

	const char *audit; /* a file that decisions are logged to; NULL: none */

	/* What every client has to show, as the password of its proxy authentication: 16 to
	 * 127 printable characters. NULL: nothing. */
	const char *token;

	/* Where HTTPS_PROXY and the like are looked up, through which it then dials. NULL: the
	 * environment of the process. */
	const char *const *environment;
};

/* The filtering proxy of a managed network, for programs that Cordon does not run. */
typedef struct cordon_proxy cordon_proxy;

/*
 * Starts it, in a process of its own; it serves when this returns. `options` may be NULL.
 * CORDON_E_POLICY: the network of the policy is not managed; _ARGUMENT, _SYNTAX (`listen`),
 * _SYS, _LIMIT, _NOMEM.
 */
CORDON_API int cordon_proxy_start(const cordon_policy *policy,
				  const struct cordon_proxy_options *options, cordon_proxy **proxy,
				  cordon_error **error);

/* "127.0.0.1:40123": HTTP and SOCKS5 are spoken at the same port. */
CORDON_API const char *cordon_proxy_address(const cordon_proxy *proxy);

/* Readable when cordon_proxy_poll() has something to do. */
CORDON_API int cordon_proxy_descriptor(const cordon_proxy *proxy);

/*
 * Writes the log; waits at most `timeout_ms` (-1: for ever, 0: not at all) for something to
 * do. Has to be called as long as the proxy is used: it waits for its log to be written.
 * CORDON_E_SYS: the log can't be written, or the proxy has ended; then it has to be stopped.
 */
CORDON_API int cordon_proxy_poll(cordon_proxy *proxy, int timeout_ms, cordon_error **error);

/*
 * Other rules, at the same address: a new process serves by them, and the connections of
 * the one before are ended. On failure all stays as it was, as the text says; else
 * cordon_proxy_poll() fails too. Codes as cordon_proxy_start().
 */
CORDON_API int cordon_proxy_reload(cordon_proxy *proxy, const cordon_policy *policy,
				   cordon_error **error);

/* Ends it and frees it, also on failure (CORDON_E_SYS: the log). NULL is fine. */
CORDON_API int cordon_proxy_stop(cordon_proxy *proxy, cordon_error **error);

/*
 * For main(), before anything else: does what Cordon starts this program again for
 * (argv[0] says so), and gives the status to end with; or -1: it was not started
 * for that. The program `cordon` does so. A program that does it too needs no other
 * one for what can't be done without a start of its own (cordon_doctor()).
 */
CORDON_API int cordon_inner_main(int argc, char **argv);

/* ---- Running commands ------------------------------------------------------ */

/*
 * A command is run so that it can touch only what the policy allows, or it is not
 * run at all. A status that is not 0 is a result, not an error: an error is what
 * kept Cordon from running the command as asked.
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
	/* With CAPTURE or on_output: also pass them on to this process's own ones. */
	CORDON_RUN_MIRROR = 2,
	/*
	 * Job control, for a program that is its user's command itself, like the CLI:
	 * the terminal is handed to the command, and when the command is stopped (Ctrl-Z),
	 * this process stops too. Without it a command that wants the terminal is stopped
	 * until it times out; a warning says so.
	 * With it, and only with it, this process may meet those of its runs: the first of a
	 * sandbox, and bwrap, may be children like any other (SIGCHLD, waitpid()), which are
	 * not this process's to reap, and from then on orphans below it fall to it
	 * (PR_SET_CHILD_SUBREAPER). A run that its first thread has started ends with that thread.
	 */
	CORDON_RUN_FOREGROUND = 4,
	CORDON_RUN_QUIET = 8,	  /* no sum of denials among the warnings */
	CORDON_RUN_NO_STDIN = 16, /* the command's stdin is empty; else it is the own one */
	CORDON_RUN_TRACE = 32,	  /* on_trace is told of every path and decision */
	/*
	 * The command is a shell's: the shell that the configuration names takes the place of
	 * its first word (a dash before that one makes it a login shell), and SHELL is
	 * that. Without a sandbox it is refused, whatever layer,
	 * variable or option asks for that.
	 */
	CORDON_RUN_SHELL = 64
};

enum { CORDON_STREAM_STDOUT = 1, CORDON_STREAM_STDERR = 2 };

typedef struct cordon cordon; /* defaults for many runs; may be shared by threads */
typedef struct cordon_run_handle cordon_run_handle; /* one run; one thread at a time */
typedef struct cordon_result cordon_result;

/*
 * Called while a run is polled or waited for, on that thread. They may use other runs, and of
 * their own signal, cancel and add rules for hosts; to poll it or to wait for it is CORDON_E_ARGUMENT.
 */
typedef void cordon_output_fn(void *user, uint32_t stream, const char *bytes, size_t length);
typedef void cordon_trace_fn(void *user, const char *text);
typedef void cordon_done_fn(void *user, const cordon_result *result);

/* A connection that the policy neither allows nor denies. Texts are gone when the call returns. */
struct cordon_host_request {
	uint64_t size;	  /* sizeof(struct cordon_host_request), of the library in use */
	uint64_t id;	  /* for cordon_decide() */
	const char *host; /* in normal form: lower case, A-labels; or an address */
	uint64_t port;
	const char *protocol; /* "http", "connect", "socks", "address" */
	const char *method;   /* of an HTTP request; NULL when it was not seen */
	const char *program;  /* that asks, as the kernel knows it; NULL when it can't be told */
	uint64_t pid;	      /* of it, inside; 0 likewise */
};

/*
 * Decides on it: CORDON_DECISION_ALLOW or _DENY, for this connection alone; or _ASK: the
 * answer comes later, by cordon_decide(), and the connection waits until then, at most a
 * minute. Without an answer it is denied.
 */
typedef uint32_t cordon_decide_fn(void *user, const struct cordon_host_request *request);

struct cordon_run_options {
	uint64_t size; /* sizeof(struct cordon_run_options) */

	/* Which policy: directory, profile, mode, overrides, …; NULL: all defaults. */
	const struct cordon_load_options *load;

	/* NULL behind the last word; looked up in PATH like execvp(). Must not be empty. */
	const char *const *command;

	/* "linux" (or "landlock"), "macos" (or "seatbelt"), "windows"; NULL is this one.
	 * Any other than this host's is refused: CORDON_E_WEAKER. */
	const char *platform;

	/* "native", "bwrap", "landlock", "none"; NULL: the first that gives what is needed here */
	const char *backend;
	const char *sandbox; /* "auto", "require", "forbid" (P17); NULL: auto */

	/* The command's environment before P21; "NAME=value", NULL behind the last.
	 * NULL: the environment of the process. */
	const char *const *environment;
	/* "NAME=value" sets, "NAME" passes one on that would be withheld; NULL behind the last. */
	const char *const *set_environment;

	uint64_t timeout_ms;	/* 0: none; the policy's limit counts as well */
	uint64_t capture_limit; /* bytes of each stream; 0: 16 MiB */
	uint64_t flags;		/* CORDON_RUN_* */

	/* Guarantees whose loss is accepted (P16), NULL behind the last; may be NULL. */
	const char *const *accept_missing;

	/* The program that cordon_request_argv() names; NULL: "cordon". */
	const char *binary;

	cordon_output_fn *on_output; /* all may be NULL */
	cordon_trace_fn *on_trace;
	cordon_done_fn *on_done; /* once, when the result is there, before wait returns it */
	void *run_user;		 /* handed to the three */

	/* Features switched on and off: "NAME" is "features.NAME=true" (false) as an override,
	 * above those of `load`. NULL behind the last; may be NULL. */
	const char *const *enable;
	const char *const *disable;

	/*
	 * "[ADDRESS:]PORT:PORT", NULL behind the last: what connects to the first port of this
	 * host, by default on its loopback alone, reaches the second one on the loopback of
	 * the sandbox. For a managed network, and makes one of a network that is off.
	 */
	const char *const *publish;
	/* "PORT", likewise: the sandbox's 127.0.0.1:PORT and [::1]:PORT are the host's. */
	const char *const *host_ports;
	/*
	 * Where each decision on the network is logged, as a line of JSON. NULL: the log of all
	 * runs in the state directory. The command must not be able to write there.
	 */
	const char *audit_file;
	/* Asked about what the policy neither allows nor denies; NULL: that is denied. */
	cordon_decide_fn *decide_host; /* handed run_user */

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
};

/*
 * Defaults for many runs: a member of a request, and of its `load`, that is NULL
 * or 0 is taken from `defaults`, which is copied, lists included. Profile and mode
 * count as one, and so do backend and sandbox: who asks for either gets neither from
 * the defaults.
 * CORDON_E_ARGUMENT, _NOMEM.
 */
CORDON_API int cordon_new(const struct cordon_run_options *defaults, cordon **handle,
			  cordon_error **error);
CORDON_API void cordon_free(cordon *handle); /* NULL is fine; not while a call uses it */

/*
 * Runs to the end. `handle` may be NULL. Codes as cordon_policy_load(), and
 * CORDON_E_WEAKER when this host can't enforce the policy.
 */
CORDON_API int cordon_run(const cordon *handle, const struct cordon_run_options *request,
			  cordon_result **result, cordon_error **error);

/* The same in steps: the command runs when cordon_start() has returned. */
CORDON_API int cordon_start(const cordon *handle, const struct cordon_run_options *request,
			    cordon_run_handle **run, cordon_error **error);

/* Readable when cordon_poll() has something to do; -1: poll it from time to time. */
CORDON_API int cordon_run_descriptor(const cordon_run_handle *run);

/*
 * Does what there is to do, waiting at most `timeout_ms` (-1: for ever) for
 * something. 1 when the run has ended, 0 when not yet. Some calls of the command
 * are answered here: a run that nobody polls may stand still.
 */
CORDON_API int cordon_poll(cordon_run_handle *run, int timeout_ms, cordon_error **error);

/*
 * Sends a signal to the command; -N sends N to its whole process group, as a
 * terminal does. CORDON_E_ARGUMENT when it has ended or the number is none, CORDON_E_SYS when
 * too many signals wait for a sandbox that is stopped.
 */
CORDON_API int cordon_signal(cordon_run_handle *run, int signal_number, cordon_error **error);

/*
 * A rule for hosts more, for a managed network and as long as the run goes: counts from
 * the next connection on. A deny of the policy holds against an allow. There is room for 1024
 * of each kind: an allow beyond is a warning, a deny beyond ends the run.
 * CORDON_E_SYNTAX, CORDON_E_ARGUMENT when the network is not managed or the run is over,
 * CORDON_E_SYS.
 */
CORDON_API int cordon_allow_host(cordon_run_handle *run, const char *pattern, cordon_error **error);
CORDON_API int cordon_deny_host(cordon_run_handle *run, const char *pattern, cordon_error **error);

/*
 * The answer to a request that decide_host has left open: CORDON_DECISION_ALLOW or _DENY.
 * One that was given up meanwhile takes no harm. CORDON_E_ARGUMENT, CORDON_E_SYS.
 */
CORDON_API int cordon_decide(cordon_run_handle *run, uint64_t id, uint32_t decision,
			     cordon_error **error);

/* Ends everything in the sandbox at once; the result is still to be waited for. */
CORDON_API void cordon_cancel(cordon_run_handle *run);

/* Polls to the end, gives the result and frees the run. */
CORDON_API int cordon_wait(cordon_run_handle *run, cordon_result **result, cordon_error **error);

CORDON_API void cordon_result_free(cordon_result *result); /* NULL is fine */

/* As P24 has it: the command's own, 128+n, 124 timed out, 126, 127; 125 never: that is an error. */
CORDON_API int cordon_result_status(const cordon_result *result);
CORDON_API int cordon_result_signal(const cordon_result *result); /* that killed it, or 0 */
/* Why the command could not be executed (126, 127), in words; NULL when it was. */
CORDON_API const char *cordon_result_exec_error(const cordon_result *result);
CORDON_API int cordon_result_timed_out(const cordon_result *result);
CORDON_API int cordon_result_cancelled(const cordon_result *result);
/*
 * Whether the command had the terminal (CORDON_RUN_FOREGROUND): a signal from the
 * keyboard that killed it did then not reach this process.
 */
CORDON_API int cordon_result_had_terminal(const cordon_result *result);
/* What was captured of CORDON_STREAM_*, a NUL behind it. */
CORDON_API const char *cordon_result_output(const cordon_result *result, uint32_t stream,
					    size_t *length);
CORDON_API int cordon_result_truncated(const cordon_result *result, uint32_t stream);
/* "native", "bwrap", "landlock", "none". */
CORDON_API const char *cordon_result_backend(const cordon_result *result);
CORDON_API uint64_t cordon_result_warning_count(const cordon_result *result);
CORDON_API const char *cordon_result_warning(const cordon_result *result, uint64_t index);
/* How many attempts are known to have been refused; by name in the report. */
CORDON_API uint64_t cordon_result_denial_count(const cordon_result *result);
/* The whole run; lives as long as the result and is freed with it. NULL when memory is out. */
CORDON_API cordon_report *cordon_result_report(cordon_result *result);

/* What a run would do, without running it (--dry-run). Codes as cordon_run(). */
CORDON_API int cordon_dry_run(const cordon *handle, const struct cordon_run_options *request,
			      cordon_report **report, cordon_error **error);

/*
 * The words of a `cordon run` that does the same as the request out of process,
 * NULL behind the last; free with cordon_argv_free(). Looks at nothing but its
 * arguments. What no word can say is left to who starts it: the environment that
 * it is started with, where its output goes, and the callbacks.
 * CORDON_E_ARGUMENT (an empty command, …), _NOMEM.
 */
CORDON_API int cordon_request_argv(const cordon *handle, const struct cordon_run_options *request,
				   char ***argv, cordon_error **error);
CORDON_API void cordon_argv_free(char **argv); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
