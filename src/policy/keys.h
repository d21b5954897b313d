/* SPDX-License-Identifier: MIT */
/*
 * The keys of a configuration, in one table. The schema check, decoding, printing, comparing, what
 * `cordon explain` shows, and the list in cordon-policy(5) and docs/policy-keys.md all go by it.
 *
 * A new key of an existing kind is a row here and its field in policy.h. By its kind it is
 * then checked, decoded, printed, compared and explained. A key of the kind OWN also needs five
 * functions, by the name that the row gives: key_decode_NAME(), key_print_NAME() and
 * key_equal_NAME() in policy/, explain_text_NAME() and explain_json_NAME() in report/.
 * Without them it does not compile.
 *
 * X(id, table, name, kind, (arguments of the kind), files that may hold it, how it narrows,
 *   meaning)
 *
 *	BOOL (struct, field, default)		true or false
 *	CHOICE (struct, field, word...)		one of the words; the first is the default
 *	CHOICE_AT (struct, field, origin, word...)  the same, and `origin` is where it was set
 *	STRING (struct, field)
 *	NAMES (struct, field, check)		a list; check() says what a name may be
 *	WORDS (struct, field, words)		a list of words out of an array, none twice
 *	PATTERNS (field)			a list of globs for the names of variables
 *	LIMIT (LIMIT_x, TIME | BYTES | COUNT)	a number, with or without a unit
 *	SUBTABLE (table)			a table with rows of its own
 *	OWN (type, name)			functions, as above
 *	SETTING (type, name)			the same for what is not part of a profile,
 *						and so neither printed nor compared
 *	LOADED (type)				decides what is loaded: read in config.c and layer.c
 *	IGNORED (type, why)			accepted with a warning
 *	REFUSED (type, why)			an error, unless it is false
 *
 * How the value of a project's file or of the requirements narrows that of the profile. A row that
 * such a file may hold and that says NEVER does not compile; test_plan_narrowing takes each
 * of the others to the plan.
 *
 *	NEVER		no file that narrows may hold it
 *	FALSE		a BOOL: false wins
 *	LATER		a CHOICE: the later word wins
 *	LOWER		a LIMIT: the lower one wins
 *	UNION		NAMES: those of all files, so every name must take something away
 *	ROWS		a table: its rows say it
 *	OWN		plan/ asks each layer: index.c for files, net.c for hosts and sockets.
 *			`allow` is checked in compile.c.
 *	NO_VALUE	it has no value: it is ignored or refused
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define POLICY_KEYS(X)                                                                             \
	X(DEFAULT_PERMISSIONS, TOP, "default_permissions", LOADED, (STRING), IN_CONFIG, NEVER,     \
	  "The profile in force, unless an option or the environment names one.")                  \
	X(PERMISSIONS, TOP, "permissions", LOADED, (TABLE), IN_CONFIG, NEVER,                      \
	  "The profiles, by name.")                                                                \
	X(TRUST, TOP, "trust", LOADED, (TABLE), IN_USER, NEVER,                                    \
	  "Directories whose project file may also widen, each with the digest of that file.")     \
	X(FEATURES, TOP, "features", SETTING, (TABLE, features), IN_CONFIG, NEVER,                 \
	  "Switches, by name, true or false.")                                                     \
	X(LINUX, TOP, "linux", SUBTABLE, (LINUX), IN_CONFIG, NEVER, "Settings for Linux alone.")   \
	X(UNAVAILABLE, TOP, "unavailable", CHOICE_AT,                                              \
	  (settings, unavailable, unavailable_origin, "refuse", "passthrough"), IN_USER, NEVER,    \
	  "What a run does where no backend works: refuse, or run without a sandbox.")             \
	X(ACCEPT_MISSING, TOP, "accept_missing", WORDS,                                            \
	  (settings, accept_missing, guarantee_names), IN_USER, NEVER,                             \
	  "The guarantees that a run may do without.")                                             \
	X(SHELL, TOP, "shell", SETTING, (STRING, shell), IN_CONFIG, NEVER,                         \
	  "The shell that cordon-sh runs, an absolute path.")                                      \
	X(APPROVE, TOP, "approve", SETTING, (ARRAY, approve), IN_USER, NEVER,                      \
	  "Requests that are answered without asking, each a table [[approve]].")                  \
	X(EXEC, TOP, "exec", SETTING, (ARRAY, exec), IN_USER, NEVER,                               \
	  "Commands that may be run outside of the sandbox, each a table [[exec]].")               \
	X(FILES, TOP, "files", SUBTABLE, (FILES), IN_USER, NEVER,                                  \
	  "What the file tools may change, of what the policy lets them write.")                   \
	X(FILES_IGNORED, FILES, "ignored", CHOICE,                                                 \
	  (settings, files_take_ignored, "deny", "allow"), IN_USER, NEVER,                         \
	  "Whether they change what git ignores and what :secrets names.")                         \
	X(FILES_WRITABLE, FILES, "writable", NAMES, (settings, files_writable, writable_check),    \
	  IN_USER, NEVER,                                                                          \
	  "Globs below a project; where there are some, they change nothing else.")                \
	X(BACKENDS, LINUX, "backends", WORDS, (settings, linux_backends, backend_names),           \
	  IN_CONFIG, NEVER,                                                                        \
	  "The backends to try, in this order; by default native, bwrap, landlock.")               \
                                                                                                   \
	X(ALLOW, PROFILE, "allow", LOADED, (ARRAY), IN_REQUIREMENTS, OWN,                          \
	  "What else the requirements permit: none, accept_missing, always, escalate.")            \
	X(DESCRIPTION, PROFILE, "description", STRING, (profile, description),                     \
	  IN_CONFIG | NOT_INHERITED, NEVER, "One line for people.")                                \
	X(EXTENDS, PROFILE, "extends", LOADED, (STRING), IN_CONFIG | NOT_INHERITED, NEVER,         \
	  "The profile whose keys this one inherits.")                                             \
	X(WORKSPACE, PROFILE, "workspace", CHOICE, (profile, workspace_is_repo, "cwd", "repo"),    \
	  IN_CONFIG, NEVER, "The workspace: the working directory, or the repository around it.")  \
	X(WORKSPACE_ROOTS, PROFILE, "workspace_roots", OWN, (TABLE, workspace_roots), IN_CONFIG,   \
	  NEVER, "Further directories that belong to the workspace.")                              \
	X(FILESYSTEM, PROFILE, "filesystem", OWN, (TABLE, filesystem), IN_EVERY_FILE, OWN,         \
	  "Which paths a command may read and write.")                                             \
	X(NETWORK, PROFILE, "network", OWN, (TABLE, network), IN_EVERY_FILE, ROWS,                 \
	  "Which hosts and sockets a command may reach.")                                          \
	X(ENVIRONMENT, PROFILE, "environment", SUBTABLE, (ENVIRONMENT), IN_CONFIG, NEVER,          \
	  "Which variables a command gets.")                                                       \
	X(LIMITS, PROFILE, "limits", SUBTABLE, (LIMITS), IN_EVERY_FILE, ROWS,                      \
	  "How much of the host's resources a command may use.")                                   \
	X(GIT, PROFILE, "git", CHOICE_AT, (profile, git, git_origin, "read", "commit", "write"),   \
	  IN_CONFIG, NEVER, "What a command may do to the workspace's .git.")                      \
	X(NESTED, PROFILE, "nested", CHOICE, (profile, nested_is_open, "protect", "report"),       \
	  IN_CONFIG, NEVER, "Whether other repositories in the workspace are protected too.")      \
	X(TMP, PROFILE, "tmp", CHOICE, (profile, tmp_is_private, "shared", "private"), IN_CONFIG,  \
	  NEVER, "Whether a run has a /tmp of its own.")                                           \
	X(GLOBS, PROFILE, "globs", CHOICE, (profile, globs_are_strict, "default", "strict"),       \
	  IN_CONFIG, NEVER, "strict: a name that a glob denies can't be created either.")          \
	X(DENIALS, PROFILE, "denials", CHOICE, (profile, denials, "auto", "writes", "all", "off"), \
	  IN_CONFIG, NEVER,                                                                        \
	  "Which refused accesses to files are named. auto: writes, on Linux 6.6 and later.")      \
	X(TELL_DENIALS, PROFILE, "tell_denials", CHOICE,                                           \
	  (profile, tell_denials, "auto", "on", "off"), IN_CONFIG, NEVER,                          \
	  "Whether each is told at once, in a line for a model. auto: by cordon-sh.")              \
	X(PROTECT, PROFILE, "protect", NAMES, (profile, protect, protect_check), IN_EVERY_FILE,    \
	  UNION, "Further names that stay read-only directly below what is writable.")             \
	X(UNPROTECT, PROFILE, "unprotect", NAMES, (profile, unprotect, unprotect_check),           \
	  IN_CONFIG, NEVER, "Names that are protected by default and shall not be.")               \
	X(ISOLATION, PROFILE, "isolation", SUBTABLE, (ISOLATION), IN_CONFIG, NEVER,                \
	  "What of the host a command is kept apart from.")                                        \
                                                                                                   \
	X(ENABLED, NETWORK, "enabled", LOADED, (BOOLEAN), IN_EVERY_FILE, OWN,                      \
	  "false: no network. true alone: every host. true with another key: what is allowed.")    \
	X(MODE, NETWORK, "mode", CHOICE_AT,                                                        \
	  (profile, net.is_limited, net.limited_origin, "full", "limited"), IN_EVERY_FILE, LATER,  \
	  "limited: only GET, HEAD and OPTIONS, over plain HTTP.")                                 \
	X(ALLOW_LOCAL_BINDING, NETWORK, "allow_local_binding", BOOL,                               \
	  (profile, net.allows_local_binding, false), IN_EVERY_FILE, FALSE,                        \
	  "Whether a command may listen where it shares the host's network.")                      \
	X(ALLOW_UPSTREAM_PROXY, NETWORK, "allow_upstream_proxy", BOOL,                             \
	  (profile, net.allows_upstream_proxy, true), IN_EVERY_FILE, FALSE,                        \
	  "Whether Cordon's proxy may use the proxy that the environment names.")                  \
	X(DOMAINS, NETWORK, "domains", OWN, (TABLE, domains), IN_EVERY_FILE, OWN,                  \
	  "Hosts, each with allow or deny.")                                                       \
	X(UNIX_SOCKETS, NETWORK, "unix_sockets", OWN, (TABLE, unix_sockets), IN_EVERY_FILE, OWN,   \
	  "Paths of sockets, each with allow or deny.")                                            \
	X(PROXY_URL, NETWORK, "proxy_url", IGNORED,                                                \
	  (STRING, "the proxy chooses its own address inside the sandbox"), IN_EVERY_FILE,         \
	  NO_VALUE, "Ignored: a key of Codex.")                                                    \
	X(SOCKS_URL, NETWORK, "socks_url", IGNORED,                                                \
	  (STRING, "the proxy chooses its own address inside the sandbox"), IN_EVERY_FILE,         \
	  NO_VALUE, "Ignored: a key of Codex.")                                                    \
	X(ENABLE_SOCKS5, NETWORK, "enable_socks5", IGNORED,                                        \
	  (BOOLEAN, "the proxy always speaks SOCKS5"), IN_EVERY_FILE, NO_VALUE,                    \
	  "Ignored: a key of Codex.")                                                              \
	X(ENABLE_SOCKS5_UDP, NETWORK, "enable_socks5_udp", IGNORED,                                \
	  (BOOLEAN, "the proxy never forwards UDP"), IN_EVERY_FILE, NO_VALUE,                      \
	  "Ignored: a key of Codex.")                                                              \
	X(NON_LOOPBACK_PROXY, NETWORK, "dangerously_allow_non_loopback_proxy", REFUSED,            \
	  (BOOLEAN, "it would open more than any rule can close; allow hosts or sockets by name"), \
	  IN_EVERY_FILE, NO_VALUE, "Refused when true: a key of Codex.")                           \
	X(ALL_UNIX_SOCKETS, NETWORK, "dangerously_allow_all_unix_sockets", REFUSED,                \
	  (BOOLEAN, "it would open more than any rule can close; allow hosts or sockets by name"), \
	  IN_EVERY_FILE, NO_VALUE, "Refused when true: a key of Codex.")                           \
	X(PLAINTEXT_CREDENTIALS, NETWORK, "dangerously_allow_plaintext_credential_injection",      \
	  REFUSED,                                                                                 \
	  (BOOLEAN, "it would open more than any rule can close; allow hosts or sockets by name"), \
	  IN_EVERY_FILE, NO_VALUE, "Refused when true: a key of Codex.")                           \
	X(MITM, NETWORK, "mitm", REFUSED,                                                          \
	  (ANY, "Cordon does not look into TLS, and without its hooks the profile would allow "    \
		"more than it says; deny those hosts in 'network.domains'"),                       \
	  IN_EVERY_FILE, NO_VALUE, "Refused: a key of Codex.")                                     \
                                                                                                   \
	X(INHERIT, ENVIRONMENT, "inherit", CHOICE, (profile, env.inherit, "all", "core", "none"),  \
	  IN_CONFIG, NEVER,                                                                        \
	  "Which variables a command inherits, apart from those that look secret.")                \
	X(EXCLUDE, ENVIRONMENT, "exclude", PATTERNS, (env.exclude), IN_CONFIG, NEVER,              \
	  "Globs for names that a command does not get.")                                          \
	X(INCLUDE, ENVIRONMENT, "include", PATTERNS, (env.include), IN_CONFIG, NEVER,              \
	  "Globs for names that a command gets, also if they look secret.")                        \
	X(SET, ENVIRONMENT, "set", OWN, (TABLE, set), IN_CONFIG, NEVER,                            \
	  "Variables to set, by name.")                                                            \
                                                                                                   \
	X(TIMEOUT, LIMITS, "timeout", LIMIT, (LIMIT_TIMEOUT, TIME), IN_EVERY_FILE, LOWER,          \
	  "How long a run may take.")                                                              \
	X(MEMORY, LIMITS, "memory", LIMIT, (LIMIT_MEMORY, BYTES), IN_EVERY_FILE, LOWER,            \
	  "How much memory all its processes may use together.")                                   \
	X(PROCESSES, LIMITS, "processes", LIMIT, (LIMIT_PROCESSES, COUNT), IN_EVERY_FILE, LOWER,   \
	  "How many processes and threads may exist at once.")                                     \
	X(FILE_SIZE, LIMITS, "file_size", LIMIT, (LIMIT_FILE_SIZE, BYTES), IN_EVERY_FILE, LOWER,   \
	  "How large a file that it writes may grow.")                                             \
	X(OPEN_FILES, LIMITS, "open_files", LIMIT, (LIMIT_OPEN_FILES, COUNT), IN_EVERY_FILE,       \
	  LOWER, "How many files each process may have open.")                                     \
	X(CPU_TIME, LIMITS, "cpu_time", LIMIT, (LIMIT_CPU_TIME, TIME), IN_EVERY_FILE, LOWER,       \
	  "How much processor time each process may use.")                                         \
                                                                                                   \
	X(IPC, ISOLATION, "ipc", BOOL, (profile, isolates_ipc, true), IN_CONFIG, NEVER,            \
	  "Whether the host's shared memory and abstract sockets are out of reach.")               \
	X(PROC, ISOLATION, "proc", BOOL, (profile, isolates_proc, true), IN_CONFIG, NEVER,         \
	  "Whether the host's processes are out of reach.")                                        \
	X(USERNS, ISOLATION, "userns", BOOL, (profile, allows_userns, false), IN_CONFIG, NEVER,    \
	  "Whether a command may create user namespaces.")

/*
 * POLICY_KEYS(KEY_IF_OWN) is OWN_KEY(id, name) for each row of the kind OWN or SETTING, where
 * `name` is that of its functions.
 */
#define KEY_IF_OWN(id, table, key, kind, arguments, ...) KEY_IF_OWN_##kind(id, arguments)
#define KEY_IF_OWN_OWN(id, arguments)			 KEY_CALL_OWN(id, KEY_SECOND arguments)
#define KEY_IF_OWN_SETTING(id, arguments)		 KEY_CALL_OWN(id, KEY_SECOND arguments)
#define KEY_CALL_OWN(id, name)				 OWN_KEY(id, name)
#define KEY_SECOND(type, name)				 name
#define KEY_IF_OWN_BOOL(...)
#define KEY_IF_OWN_CHOICE(...)
#define KEY_IF_OWN_CHOICE_AT(...)
#define KEY_IF_OWN_STRING(...)
#define KEY_IF_OWN_NAMES(...)
#define KEY_IF_OWN_WORDS(...)
#define KEY_IF_OWN_PATTERNS(...)
#define KEY_IF_OWN_LIMIT(...)
#define KEY_IF_OWN_SUBTABLE(...)
#define KEY_IF_OWN_LOADED(...)
#define KEY_IF_OWN_IGNORED(...)
#define KEY_IF_OWN_REFUSED(...)

enum key_id {
#define KEY_ID(id, ...) KEY_##id,
	POLICY_KEYS(KEY_ID)
#undef KEY_ID
		KEY_COUNT,
};

enum key_table {
	KEYS_TOP,
	KEYS_LINUX,
	KEYS_FILES,
	KEYS_PROFILE, /* also the top level of a project's file and of the requirements */
	KEYS_NETWORK,
	KEYS_ENVIRONMENT,
	KEYS_LIMITS,
	KEYS_ISOLATION,
};

enum key_kind {
	KIND_BOOL,
	KIND_CHOICE,
	KIND_STRING,
	KIND_NAMES,
	KIND_WORDS,
	KIND_PATTERNS,
	KIND_LIMIT,
	KIND_SUBTABLE,
	KIND_OWN,
	KIND_SETTING,
	KIND_LOADED,
	KIND_IGNORED,
	KIND_REFUSED,
};

/* Whose file may hold a key (P2, P16). */
enum key_files {
	IN_BUILTIN = 1 << 0,
	IN_SYSTEM = 1 << 1,
	IN_USER = 1 << 2, /* also the command line: it is the user's own */
	IN_PROJECT = 1 << 3,
	IN_REQUIREMENTS = 1 << 4,
	IN_CONFIG = IN_BUILTIN | IN_SYSTEM | IN_USER,
	IN_EVERY_FILE = IN_CONFIG | IN_PROJECT | IN_REQUIREMENTS,
	NOT_INHERITED = 1 << 5, /* from the profile that `extends` names */
};

/* How it narrows, see above. */
enum key_meet {
	MEET_NEVER,
	MEET_FALSE,
	MEET_LATER,
	MEET_LOWER,
	MEET_UNION,
	MEET_ROWS,
	MEET_OWN,
	MEET_NO_VALUE,
};

enum limit_unit { UNIT_COUNT, UNIT_TIME, UNIT_BYTES };

struct arena;
struct decode;
struct err;
struct origin;
struct print;
struct profile;
struct settings;
struct toml;

/* What a key of the kind OWN or SETTING brings. */
typedef int key_decode_fn(const struct decode *d, const struct toml *value, void *base,
			  struct err *e);
typedef void key_print_fn(const struct print *p, const struct profile *profile);
typedef bool key_equal_fn(struct arena *a, const struct profile *x, const struct profile *y);
typedef int name_check_fn(struct str name, struct origin origin, struct err *e);

struct key {
	const char *name, *meaning;
	enum key_table table;
	enum key_kind kind;
	int files; /* enum key_files */
	enum key_meet meet;
	int types;		  /* 1 << enum toml_type */
	size_t offset, size;	  /* of its field, in struct profile or struct settings */
	size_t origin;		  /* offset of its struct origin; 0 is none */
	bool is_true;		  /* the default of a bool */
	const char *const *words; /* NULL-terminated, of a choice or a list of words */
	enum limit_unit unit;
	enum key_table subtable;
	const char *why; /* it is ignored or refused */
	name_check_fn *check;
	key_decode_fn *decode;
	key_print_fn *print;
	key_equal_fn *equal;
};

extern const struct key policy_keys[KEY_COUNT];

/* The key of that name in that table, or NULL. */
const struct key *key_find(enum key_table table, struct str name);

/* The name in full, "network.mode"; "" before the keys of a profile and the top level. */
const char *key_table_prefix(enum key_table table);

/* The field of a key in `base`, the struct that its row names. */
const void *key_field(const struct key *k, const void *base);

/* The value of a bool, or the number of the word of a choice. */
unsigned key_value(const struct key *k, const void *base);
void key_set(const struct key *k, void *base, unsigned value);

/* The word for that value: "true", "commit". */
const char *key_word(const struct key *k, const void *base);

/*
 * Narrows the field of a key of a profile by that of a file that can only narrow. Does nothing for
 * a key that has no field, or that no such file may hold.
 */
int key_meet(struct arena *a, const struct key *k, struct profile *into, const struct profile *by,
	     struct err *e);

/* The same for all keys of one table. */
int keys_meet(struct arena *a, enum key_table table, struct profile *into, const struct profile *by,
	      struct err *e);

/* Whether key_meet() by this field could change a profile. */
bool key_takes_away(const struct key *k, const struct profile *by);

/* Whether it is a bool, choice, string, list or limit that has its default. */
bool key_is_default(const struct key *k, const void *base);

/* Whether its field is in struct settings; else it is in struct profile. */
bool key_is_setting(const struct key *k);

/* Set the fields of all bools that are true by default; the others' default is 0. */
void keys_init_profile(struct profile *p);

/* Set the fields of a file that narrows so that none of them takes anything away. */
void keys_init_narrowing(struct profile *p);
void keys_init_settings(struct settings *s);
