/* SPDX-License-Identifier: MIT */
/*
 * Why something failed, for programs: the code of an error says which kind of failure it is, its
 * cause says which failure. The text of an error is for people, and nothing in this tree reads it
 * to decide anything.
 *
 * The names are part of the interface (`--json`, cordon_error_cause(), docs/causes.md): add, never
 * rename. The numbers are internal.
 */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/*
 * X(identifier, number, name of the code, name of its cause, meaning)
 *
 * The codes. The numbers are those of CORDON_E_* in cordon.h: append, never renumber. Each code
 * has a cause of its own, for failures that nobody needs to tell apart.
 */
#define ERR_CODES(X)                                                                               \
	X(OK, 0, "ok", "none", "Nothing failed.")                                                  \
	X(NOMEM, 1, "nomem", "out_of_memory", "There was not enough memory.")                      \
	X(SYNTAX, 2, "syntax", "syntax", "The input is malformed.")                                \
	X(POLICY, 3, "policy", "policy",                                                           \
	  "The policy is not valid, or does not allow the request.")                               \
	X(LIMIT, 4, "limit", "limit", "The input exceeds a fixed limit of Cordon's.")              \
	X(SYS, 5, "sys", "system_call", "A call of the operating system failed.")                  \
	X(WEAKER, 6, "weaker", "not_enforceable", "This host can't enforce what the policy asks.") \
	X(INTERNAL, 7, "internal", "internal", "Cordon has a bug. Please report it.")              \
	X(ARGUMENT, 8, "argument", "argument", "An option or argument is not valid.")              \
	X(NOTFOUND, 9, "notfound", "not_found", "Something that was named does not exist.")        \
	X(CANCELLED, 10, "cancelled", "cancelled", "The caller cancelled the operation.")

/* X(identifier, code, name, meaning) */
#define CAUSES(X)                                                                                  \
	/* What the host lacks or forbids. */                                                      \
	X(NAMESPACES_FORBIDDEN, WEAKER, "namespaces_forbidden",                                    \
	  "The kernel, or a container around this process, does not allow namespaces.")            \
	X(NAMESPACES_OFF, WEAKER, "namespaces_off", "A sysctl of this host turns namespaces off.") \
	X(NAMESPACES_EXHAUSTED, WEAKER, "namespaces_exhausted",                                    \
	  "There are too many namespaces, or they are nested too deep.")                           \
	X(NAMESPACES_UNSUPPORTED, WEAKER, "namespaces_unsupported",                                \
	  "The kernel was built without one of the kinds of namespaces.")                          \
	X(NAMESPACE_RIGHTS, WEAKER, "namespace_rights",                                            \
	  "The namespaces were made, but this process lacks rights in them.")                      \
	X(APPARMOR_USERNS, WEAKER, "apparmor_userns",                                              \
	  "AppArmor restricts user namespaces to the programs that a profile names.")              \
	X(APPARMOR_PROFILE, WEAKER, "apparmor_profile",                                            \
	  "An AppArmor profile confines this process and forbids namespaces or mounts.")           \
	X(PROC_MOUNT_REFUSED, WEAKER, "proc_mount_refused",                                        \
	  "The kernel does not allow a new /proc to be mounted, as in a container that masks it.") \
	X(PROC_FOREIGN, WEAKER, "proc_foreign",                                                    \
	  "The mounted /proc belongs to another pid namespace.")                                   \
	X(PROC_READ_ONLY, WEAKER, "proc_read_only", "/proc is mounted read-only.")                 \
	X(KERNEL_TOO_OLD, WEAKER, "kernel_too_old",                                                \
	  "The kernel, or a container around this process, lacks a system call.")                  \
	X(LANDLOCK_MISSING, WEAKER, "landlock_missing",                                            \
	  "The kernel has no Landlock, or something around this process hides it.")                \
	X(LANDLOCK_OFF, WEAKER, "landlock_off", "Landlock was turned off at boot.")                \
	X(LANDLOCK_OLD, WEAKER, "landlock_old",                                                    \
	  "The kernel's Landlock is too old for the policy.")                                      \
	X(BWRAP_MISSING, WEAKER, "bwrap_missing", "There is no bwrap on PATH.")                    \
	X(BWRAP_UNTRUSTED, WEAKER, "bwrap_untrusted",                                              \
	  "Every bwrap on PATH was rejected, because others or the command could change it.")      \
	X(BWRAP_UNUSABLE, WEAKER, "bwrap_unusable",                                                \
	  "bwrap is too old, hangs, or does not behave like bubblewrap.")                          \
	X(BWRAP_FAILED, WEAKER, "bwrap_failed", "bwrap could not make its sandbox.")               \
	X(PROGRAM_UNUSABLE, WEAKER, "program_unusable",                                            \
	  "The program cordon, which the bwrap backend starts inside, was not found or can't be "  \
	  "trusted.")                                                                              \
	X(INSIDE_CORDON, WEAKER, "inside_cordon",                                                  \
	  "This process already runs in a Cordon sandbox.")                                        \
	X(OUTER_POLICY, WEAKER, "outer_policy",                                                    \
	  "The sandbox around this process has another policy, workspace, home or $TMPDIR than "   \
	  "the run would have.")                                                                   \
	X(INSIDE_SANDBOX, WEAKER, "inside_sandbox",                                                \
	  "This process already runs in a sandbox of another program.")                            \
	X(NOBODY_ASKED, NOTFOUND, "nobody_asked",                                                  \
	  "This process is in no sandbox of Cordon's that answers requests.")                      \
	X(ESCALATION_LOST, INTERNAL, "escalation_lost",                                            \
	  "How a command ended that was run outside of the sandbox is not known.")                 \
	X(WSL1, WEAKER, "wsl1", "The host is WSL1, which is not a Linux kernel.")                  \
	X(OTHER_PLATFORM, WEAKER, "other_platform",                                                \
	  "The request is for another operating system.")                                          \
	X(NOT_SET_UP, WEAKER, "not_set_up",                                                        \
	  "The accounts and filters that commands need on Windows are not there, or not as they "  \
	  "should be.")                                                                            \
	X(HOST_THREADS, WEAKER, "host_threads",                                                    \
	  "The program that uses the library has threads, which this system does not allow here.") \
	/* What the backends lack for this policy. */                                              \
	X(GUARANTEE_MISSING, WEAKER, "guarantee_missing",                                          \
	  "No backend gives every guarantee that the policy needs.")                               \
	X(LIMITS_UNENFORCEABLE, WEAKER, "limits_unenforceable",                                    \
	  "This host can't enforce the memory or process limits of the profile.")                  \
	X(PREVIEW, WEAKER, "preview",                                                              \
	  "The backend is a preview, which the user has not switched on.")                         \
	X(BACKEND_UNSUITED, WEAKER, "backend_unsuited", "The backend can't express this policy.")  \
	X(BACKEND_UNAVAILABLE, WEAKER, "backend_unavailable",                                      \
	  "The backend is not part of this version of Cordon.")                                    \
	X(ACL_UNUSUAL, WEAKER, "acl_unusual",                                                      \
	  "The access list of a file is missing, malformed or not in canonical order, so what is " \
	  "added to it could mean something else.")                                                \
	X(ACL_CLOSED, SYS, "acl_closed",                                                           \
	  "The user may not read or change the access list of a file.")                            \
	X(WITHOUT_EFFECT, WEAKER, "without_effect",                                                \
	  "The system accepted a setting that confines the command, and does not apply it.")       \
	X(SANDBOX_REQUIRED, WEAKER, "sandbox_required",                                            \
	  "The run would have no sandbox, and the caller requires one.")                           \
	X(NO_SANDBOX, WEAKER, "no_sandbox", "The profile has no sandbox.")                         \
	X(UNTESTABLE, WEAKER, "untestable", "A guarantee can't be tested on this host.")           \
	X(GUARANTEE_BROKEN, WEAKER, "guarantee_broken",                                            \
	  "A test got around a guarantee that the backend claims to give.")                        \
	/* What the policy says. */                                                                \
	X(TOML_SYNTAX, SYNTAX, "toml_syntax", "A configuration file is not valid TOML.")           \
	X(HOST_SYNTAX, SYNTAX, "host_syntax", "A host name, address or pattern is malformed.")     \
	X(GLOB_SYNTAX, SYNTAX, "glob_syntax", "A glob is malformed.")                              \
	X(GLOB_LIMIT, LIMIT, "glob_limit",                                                         \
	  "A glob is too long, there are too many, or finding what they match would take too "     \
	  "long.")                                                                                 \
	X(REGEX_SYNTAX, SYNTAX, "regex_syntax", "A regular expression is malformed.")              \
	X(REGEX_LIMIT, LIMIT, "regex_limit",                                                       \
	  "A regular expression is too long, too deep or needs too many states.")                  \
	X(GIT_LIMIT, LIMIT, "git_limit",                                                           \
	  "A git repository is too large, too deep or too complex to be protected.")               \
	X(PATH_LIMIT, LIMIT, "path_limit", "A path is longer than a kernel accepts.")              \
	X(UNKNOWN_KEY, POLICY, "unknown_key",                                                      \
	  "A configuration file has a key that does not exist.")                                   \
	X(WRONG_TYPE, POLICY, "wrong_type", "A key has a value of the wrong type.")                \
	X(BAD_VALUE, POLICY, "bad_value", "A key has a value that is not allowed.")                \
	X(DUPLICATE_KEY, POLICY, "duplicate_key", "A key is given twice.")                         \
	X(KEY_NOT_ALLOWED_HERE, POLICY, "key_not_allowed_here",                                    \
	  "A file sets a key that only another file may set.")                                     \
	X(BAD_PATH, POLICY, "bad_path", "A path in a configuration file is malformed.")            \
	X(BASE_PROFILE_UNKNOWN, POLICY, "base_profile_unknown",                                    \
	  "A configuration file names a profile that does not exist.")                             \
	X(REQUIREMENTS, POLICY, "requirements", "The requirements of this host forbid it.")        \
	X(NO_SANDBOX_FOR_RULE, POLICY, "no_sandbox_for_rule",                                      \
	  "A rule can't be enforced, because the profile runs without a sandbox.")                 \
	X(HOME_AS_WORKSPACE, POLICY, "home_as_workspace",                                          \
	  "The workspace is, or contains, a home directory.")                                      \
	X(HOME_UNKNOWN, POLICY, "home_unknown", "The home directory is not known.")                \
	X(FILE_UNTRUSTED, POLICY, "file_untrusted",                                                \
	  "A file has the wrong owner, permissions or type.")                                      \
	X(FILE_CHANGED, POLICY, "file_changed",                                                    \
	  "Another program changed a file that Cordon was to replace or put back.")                \
	X(LINK_LOOP, POLICY, "link_loop", "A path leads through too many symbolic links.")         \
	X(PATH_LOCKED, POLICY, "path_locked",                                                      \
	  "A directory that must be searched is closed to its own user.")                          \
	X(PATH_CHANGED, POLICY, "path_changed",                                                    \
	  "A path is no longer what the policy was compiled from.")                                \
	X(PLACEHOLDER, POLICY, "placeholder", "A placeholder for a missing path can't be made.")   \
	X(PROTECTION_LOST, POLICY, "protection_lost",                                              \
	  "Another program removed what protected a path, so the run was ended.")                  \
	X(STREAM_REFUSED, POLICY, "stream_refused",                                                \
	  "Standard input, output or error is something that the policy denies.")                  \
	X(DECIDER_UNTRUSTED, POLICY, "decider_untrusted",                                          \
	  "The command, or another user, could change who decides about its requests.")            \
	X(NO_TERMINAL, POLICY, "no_terminal",                                                      \
	  "There is no terminal at which questions could be asked.")                               \
	X(AGENT_WRITABLE, POLICY, "agent_writable",                                                \
	  "A command could replace the program of the agent.")                                     \
	X(COMMAND_DENIED, POLICY, "command_denied", "The policy denies the command's program.")    \
	X(APPROVALS_DAMAGED, POLICY, "approvals_damaged",                                          \
	  "A file with approvals is not complete, or not valid.")                                  \
	X(APPROVALS_NEWER, POLICY, "approvals_newer",                                              \
	  "A file with approvals was written by a newer version of Cordon.")                       \
	X(APPROVAL_TOO_WIDE, POLICY, "approval_too_wide",                                          \
	  "An approval opens a home directory, something above one, protected metadata, or "       \
	  "Cordon's own files.")                                                                   \
	X(NEEDS_ADMINISTRATOR, POLICY, "needs_administrator",                                      \
	  "Only an administrator may do this.")                                                    \
	X(NAME_TAKEN, POLICY, "name_taken",                                                        \
	  "An account or a group that is not Cordon's has the name of one of Cordon's.")           \
	X(RUNS_GO_ON, POLICY, "runs_go_on",                                                        \
	  "This can't be changed while commands run in a sandbox.")                                \
	/* What this process or user has run out of. */                                            \
	X(PROCESS_LIMIT, SYS, "process_limit", "No more processes may be started.")                \
	X(OPEN_FILES, SYS, "open_files", "No more files may be opened.")                           \
	X(FILE_SIZE, SYS, "file_size", "The file size limit does not allow a file.")               \
	X(WATCH_LIMIT, SYS, "watch_limit", "The user has no inotify watches left.")                \
	X(LANDLOCK_DEPTH, SYS, "landlock_depth",                                                   \
	  "Landlock confines this process as often as the kernel allows.")                         \
	X(SANDBOX_KILLED, SYS, "sandbox_killed", "A process of the sandbox was killed.")           \
	X(PROXY_ENDED, SYS, "proxy_ended", "The network proxy ended.")                             \
	X(FILE_UNREADABLE, SYS, "file_unreadable", "A file can't be read.")                        \
	X(COMMAND_NOT_EXECUTABLE, SYS, "command_not_executable",                                   \
	  "The command was found but can't be executed.")                                          \
	/* What was named. */                                                                      \
	X(COMMAND_NOT_FOUND, NOTFOUND, "command_not_found", "The command was not found.")          \
	X(UNKNOWN_PROFILE, NOTFOUND, "unknown_profile", "There is no profile of this name.")       \
	X(CONFIG_NOT_FOUND, NOTFOUND, "config_not_found", "There is no such configuration file.")  \
	X(SHELL_NOT_FOUND, NOTFOUND, "shell_not_found", "There is no shell to run a script with.") \
	X(AGENT_NOT_FOUND, NOTFOUND, "agent_not_found",                                            \
	  "There is no program of this agent in PATH.")                                            \
	X(LOG_NOT_FOUND, NOTFOUND, "log_not_found",                                                \
	  "There is no audit log, or no such run in it.")                                          \
	X(UNKNOWN_APPROVAL, NOTFOUND, "unknown_approval",                                          \
	  "There is no approval with this id, or no session of this name.")                        \
	X(SESSION_NAME, ARGUMENT, "session_name", "This can't be the name of a session.")          \
	X(DECIDER_UNUSABLE, NOTFOUND, "decider_unusable",                                          \
	  "The program or socket that --ask names is not there, or can't be used.")                \
	X(UNKNOWN_BACKEND, ARGUMENT, "unknown_backend", "There is no backend of this name.")       \
	X(UNKNOWN_GUARANTEE, ARGUMENT, "unknown_guarantee", "There is no guarantee of this name.") \
	X(UNKNOWN_PLATFORM, ARGUMENT, "unknown_platform", "There is no platform of this name.")    \
	X(HOST_VIEW, ARGUMENT, "host_view",                                                        \
	  "The file of --host-view describes no host, or another one is needed.")                  \
	X(OPTION_CONFLICT, ARGUMENT, "option_conflict", "Two options contradict each other.")      \
	X(OPTION_USELESS, ARGUMENT, "option_useless", "An option would have no effect.")           \
	X(NO_COMMAND, ARGUMENT, "no_command", "There is no command to run.")                       \
	X(RUN_ENDED, ARGUMENT, "run_ended", "The run has already ended.")                          \
	/* Patches and files. */                                                                   \
	X(PATCH_SYNTAX, SYNTAX, "patch_syntax", "A patch is malformed, or changes nothing.")       \
	X(PATCH_LIMIT, LIMIT, "patch_limit",                                                       \
	  "A patch, or a file that it changes, is too large or would take too long.")              \
	X(PATCH_MISMATCH, NOTFOUND, "patch_mismatch",                                              \
	  "A file does not have the lines that a patch changes.")                                  \
	X(LIBRARY_TOO_OLD, ARGUMENT, "library_too_old",                                            \
	  "The caller sets an option that this version of libcordon does not have.")

enum err_code {
#define ERR_CODE(id, number, name, cause, meaning) ERR_##id = (number),
	ERR_CODES(ERR_CODE)
#undef ERR_CODE
};

enum cause {
/* The generic cause of a code has the number of that code. */
#define CAUSE_OF_CODE(id, number, name, cause, meaning) CAUSE_##id = (number),
	ERR_CODES(CAUSE_OF_CODE)
#undef CAUSE_OF_CODE
#define CAUSE_ID(id, code, name, meaning) CAUSE_##id,
		CAUSES(CAUSE_ID)
#undef CAUSE_ID
			CAUSE_COUNT
};

/* The code of each cause, for FAIL_CAUSE(): CODE_OF_CAUSE_NOMEM is ERR_NOMEM. */
enum {
#define CODE_OF_CODE(id, number, name, cause, meaning) CODE_OF_CAUSE_##id = ERR_##id,
	ERR_CODES(CODE_OF_CODE)
#undef CODE_OF_CODE
#define CODE_OF_ID(id, code, name, meaning) CODE_OF_CAUSE_##id = ERR_##code,
		CAUSES(CODE_OF_ID)
#undef CODE_OF_ID
};

/* For an unknown number they answer as for ERR_INTERNAL. */
enum err_code cause_code(enum cause cause);
enum cause cause_of_code(enum err_code code);
const char *cause_name(enum cause cause) RETURNS_NONNULL;
const char *cause_meaning(enum cause cause) RETURNS_NONNULL;
const char *err_code_name(enum err_code code) RETURNS_NONNULL;
