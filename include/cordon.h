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
	CORDON_E_NOMEM = 1,    /* out of memory */
	CORDON_E_SYNTAX = 2,   /* malformed TOML, path, host, … */
	CORDON_E_POLICY = 3,   /* well formed, but not a valid policy */
	CORDON_E_LIMIT = 4,    /* larger or deeper than anything sensible */
	CORDON_E_SYS = 5,      /* the operating system refused */
	CORDON_E_WEAKER = 6,   /* this host can't enforce what the policy asks */
	CORDON_E_INTERNAL = 7, /* a bug in libcordon */
	CORDON_E_ARGUMENT = 8, /* a bug in, or a mistake of, the caller */
	CORDON_E_NOTFOUND = 9  /* no such file, profile, … */
};

typedef struct cordon_error cordon_error;

/*
 * An error of the caller's own, to be shown like the library's; it has no place
 * in a file. `text` is copied; control characters in it are escaped. Never NULL.
 */
CORDON_API cordon_error *cordon_error_new(uint32_t code, const char *text);

CORDON_API void cordon_error_free(cordon_error *error); /* NULL is fine */

/* CORDON_E_* */
CORDON_API uint32_t cordon_error_code(const cordon_error *error);

/* One line; begins with "FILE:LINE:COLUMN: " when a place in a file is at fault. */
CORDON_API const char *cordon_error_text(const cordon_error *error);

/* {"error": {"code", "message", "file", "line", "column"}}; the last three may be null. */
CORDON_API const char *cordon_error_json(cordon_error *error);

/* ---- Policies ------------------------------------------------------------- */

/*
 * Called for each warning while a policy is loaded, on the loading thread.
 * `text` is one line, gone when the call returns. It must not call libcordon
 * for the policy being loaded.
 */
typedef void cordon_warning_fn(void *user, const char *text);

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
	 * XDG_CONFIG_HOME, XDG_STATE_HOME, CORDON_PROFILE and CORDON_MODE are looked
	 * up. NULL: the environment of the process.
	 */
	const char *const *environment;

	cordon_warning_fn *on_warning; /* may be NULL */
	void *user;		       /* handed to on_warning */
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

/* How many errors it holds; only that of cordon_check() may hold any. */
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

#ifdef __cplusplus
}
#endif

#endif
