/* SPDX-License-Identifier: MIT */
/*
 * The command line as data: every command and every option, once. From these tables come the
 * parsing of the program (cli/), its help, the defaults of a handle and the copies that it keeps,
 * cordon_request_argv() and the list of options that a hint repeats; and, through
 * scripts/options, the lists in completions/. cordon(1) is written by hand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cordon.h"

/*
 * X(identifier, name, operands, how many operands, what completes them, summary)
 *
 * cmd_NAME() and about_NAME[] are in cli/cmd_*.c. What is typed is the name, or, where that can't be an
 * identifier, the second word of its COMMAND_WORD_NAME.
 */
#define COMMANDS(X)                                                                                \
	X(RUN, run, "[--] COMMAND [ARG...]", OPERANDS_ARE_A_COMMAND, "command",                    \
	  "run a command that can touch only what is allowed")                                     \
	X(SANDBOX, sandbox, "[--] COMMAND [ARG...]", OPERANDS_ARE_A_COMMAND, "command",            \
	  "same as run")                                                                           \
	X(INIT, init, "[FILE]", 1, "files", "write a commented starter configuration")             \
	X(CHECK, check, "[FILE]", 1, "files", "list the errors in a configuration")                \
	X(PROFILES, profiles, "[NAME]", 1, "profiles", "list the profiles, or show one")           \
	X(WHY, why, "PATH|HOST[:PORT]", 1, "files",                                                \
	  "say what is allowed for a path or host, and why")                                       \
	X(EXPLAIN, explain, "", 0, "", "show what the policy means here")                          \
	X(DOCTOR, doctor, "", 0, "", "show what this host can enforce")                            \
	X(AUDIT, audit, "[FILE]", 1, "files", "show the log of network decisions")                 \
	X(APPROVALS, approvals, "list|show|revoke|clear [ID...]", 65, "list show revoke clear",    \
	  "show and end what was approved for later runs")                                         \
	X(REQUEST, request, "PATH|HOST[:PORT]", 1, "files", "ask for more, from inside a sandbox") \
	X(APPLY_PATCH, apply_patch, "[PATCH]", 1, "", "change files as a patch says")              \
	X(ESCALATE, escalate, "[--] COMMAND [ARG...]", OPERANDS_ARE_A_COMMAND, "command",          \
	  "have a command run outside, from inside a sandbox")                                     \
	X(SETUP, setup, "[AGENT]", 1, "claude codex copilot gemini opencode pi qwen",              \
	  "put Cordon beneath a coding agent")                                                     \
	X(HOOK, hook, "AGENT", 1, "claude gemini opencode qwen",                                   \
	  "answer a hook of a coding agent")                                                       \
	X(IMPORT, import, "claude|codex|gemini|opencode|srt FILE...", 64, "files",                 \
	  "make a policy of another tool's permissions")                                           \
	X(AGENT, agent, "[NAME [--] [ARG...]]", OPERANDS_ARE_A_COMMAND,                            \
	  "claude codex copilot gemini opencode pi qwen", "run a coding agent inside as a whole")  \
	X(WINDOWS, windows, "setup|status|cleanup|uninstall", 1, "setup status cleanup uninstall", \
	  "make or remove what commands need on Windows")                                          \
	X(MCP, mcp, "", 0, "", "serve files and commands to an agent, over MCP")                   \
	X(PROXY, proxy, "", 0, "", "run the filtering proxy for programs outside a sandbox")       \
	X(HELP, help, "[COMMAND]", 1, "commands", "show help for cordon, or for one command")      \
	X(VERSION, version, "", 0, "", "show the version")

#define COMMAND_WORD_apply_patch unused, "apply-patch"
#define COMMAND_WORD(name)	 COMMAND_SECOND(COMMAND_WORD_##name, #name, unused)
#define COMMAND_SECOND(...)	 COMMAND_PICK(__VA_ARGS__)
#define COMMAND_PICK(a, b, ...)	 b

/* The first operand and all words after it are the command to run. */
#define OPERANDS_ARE_A_COMMAND UINT32_MAX

/* X(identifier, title): the groups of options, by what a person wants to do. */
#define OPTION_GROUPS(X)                        \
	X(POLICY, "Choose a policy")            \
	X(ALLOW, "Allow more")                  \
	X(DENY, "Allow less")                   \
	X(NETWORK, "Network")                   \
	X(ENFORCE, "Choose how it is enforced") \
	X(ASK, "Ask what is refused")           \
	X(RUN, "Run the command")               \
	X(COMMAND, "Options of this command")   \
	X(OUTPUT, "Output and help")

/* Which commands take an option. */
#define ONLY(command) (UINT32_C(1) << COMMAND_##command)
#define FOR_RUN	      (ONLY(RUN) | ONLY(SANDBOX) | ONLY(AGENT))
/* What decides which policy is in force: a question takes the same options as a run. */
#define FOR_QUESTIONS (FOR_RUN | ONLY(WHY) | ONLY(EXPLAIN) | ONLY(APPLY_PATCH))
#define FOR_POLICY    (FOR_QUESTIONS | ONLY(MCP) | ONLY(HOOK))
#define FOR_HOSTS     (FOR_POLICY | ONLY(PROXY))
#define FOR_CONFIG    (FOR_HOSTS | ONLY(CHECK) | ONLY(PROFILES) | ONLY(DOCTOR))
#define FOR_LISTS     (ONLY(PROXY) | ONLY(CHECK) | ONLY(PROFILES) | ONLY(DOCTOR) | ONLY(INIT))
#define FOR_KEPT      (ONLY(AUDIT) | ONLY(APPROVALS) | ONLY(SETUP) | ONLY(IMPORT) | ONLY(WINDOWS))
#define FOR_INSIDE    (ONLY(REQUEST) | ONLY(ESCALATE))
/* Not MCP: the answers of a server are JSON of its own. */
#define FOR_JSON   (FOR_QUESTIONS | FOR_LISTS | FOR_KEPT | FOR_INSIDE | ONLY(HOOK))
#define FOR_OUTPUT (FOR_JSON | ONLY(MCP))
#define FOR_ALL	   UINT32_MAX
#define FOR_NONE   UINT32_C(0) /* before any command */

/*
 * X(identifier, group, commands, value, letter, name, value's name, completion, help)
 *
 * A group stands together, in the order in which help lists it. The letter is 0 and the name NULL
 * when there is none. Where the value goes:
 *
 *	TEXT(in, member)	one text of cordon_load_options or cordon_run_options
 *	LIST(in, member)	texts; their count is the member after it
 *	WORDS(in, member)	texts, NULL behind the last
 *	FEATURE(in, member)	likewise; the program makes overrides of them
 *	TIME(in, member)	milliseconds
 *	FLAG(in, flag)		a bit of `flags`
 *	OWN_TEXT, OWN_WORDS, OWN_SWITCH	the program's own: args_text(), args_words(), args_have()
 *
 * Completion is "files", "directories", "profiles", "hosts", "variables", "guarantees", the
 * words to choose from, or "".
 */
#define OPTIONS(X)                                                                                 \
	X(PROFILE, POLICY, FOR_CONFIG, TEXT(load, profile), 'P', "profile", "NAME", "profiles",    \
	  "use the profile NAME")                                                                  \
	X(MODE, POLICY, FOR_CONFIG, TEXT(load, mode), 0, "mode", "MODE",                           \
	  "read-only workspace-write danger-full-access",                                          \
	  "read-only, workspace-write or danger-full-access")                                      \
	X(FULL_AUTO, POLICY, FOR_POLICY, OWN_SWITCH, 0, "full-auto", NULL, "",                     \
	  "same as --mode workspace-write --network off")                                          \
	X(DIRECTORY, POLICY, FOR_CONFIG | ONLY(SETUP) | ONLY(IMPORT), TEXT(load, directory), 'C',  \
	  "cd", "DIR", "directories", "use DIR as the working directory")                          \
	X(WORKSPACE, POLICY, FOR_CONFIG, TEXT(load, workspace), 0, "workspace", "DIR",             \
	  "directories", "use DIR as the workspace")                                               \
	X(CONFIG_FILE, POLICY, FOR_CONFIG, TEXT(load, config_file), 0, "config-file", "FILE",      \
	  "files", "read FILE instead of your configuration")                                      \
	X(CONFIG, POLICY, FOR_CONFIG, LIST(load, overrides), 'c', "config", "KEY=VALUE", "",       \
	  "override a key of the configuration")                                                   \
	X(ENABLE, POLICY, FOR_CONFIG, FEATURE(run, enable), 0, "enable", "FEATURE", "",            \
	  "set features.FEATURE to true")                                                          \
	X(DISABLE, POLICY, FOR_CONFIG, FEATURE(run, disable), 0, "disable", "FEATURE", "",         \
	  "set features.FEATURE to false")                                                         \
	X(ADD_READ, ALLOW, FOR_POLICY, LIST(load, add_read), 0, "add-read", "PATH", "files",       \
	  "allow reading PATH")                                                                    \
	X(ADD_WRITE, ALLOW, FOR_POLICY, LIST(load, add_write), 0, "add-write", "PATH", "files",    \
	  "allow reading and writing PATH")                                                        \
	X(UNPROTECT, ALLOW, FOR_POLICY, LIST(load, unprotect), 0, "unprotect", "NAME", "",         \
	  "allow changes to the protected NAME")                                                   \
	X(SESSION, ALLOW, FOR_POLICY | ONLY(APPROVALS), TEXT(load, session), 0, "session", "NAME", \
	  "", "use and keep the grants of the session NAME")                                       \
	X(DENY, DENY, FOR_POLICY, LIST(load, deny), 0, "deny", "PATH", "files",                    \
	  "deny all access to PATH")                                                               \
	X(NETWORK, NETWORK, FOR_HOSTS, TEXT(load, network), 0, "network", "WHICH",                 \
	  "off managed full", "override the profile's network: off, managed or full")              \
	X(ALLOW_HOST, NETWORK, FOR_HOSTS, LIST(load, allow_hosts), 0, "allow-host", "PATTERN",     \
	  "hosts", "allow connections to matching hosts")                                          \
	X(DENY_HOST, NETWORK, FOR_HOSTS, LIST(load, deny_hosts), 0, "deny-host", "PATTERN",        \
	  "hosts", "deny connections to matching hosts")                                           \
	X(ALLOW_SOCKET, NETWORK, FOR_POLICY, LIST(load, allow_sockets), 0, "allow-socket", "PATH", \
	  "files", "allow connections to the unix socket PATH")                                    \
	X(PUBLISH, NETWORK, FOR_RUN, WORDS(run, publish), 0, "publish", "[ADDR:]OUT:PORT", "",     \
	  "expose sandbox PORT as host port OUT")                                                  \
	X(HOST_PORT, NETWORK, FOR_RUN, WORDS(run, host_ports), 0, "host-port", "PORT", "",         \
	  "make the host's PORT reachable inside")                                                 \
	X(AUDIT, NETWORK, FOR_RUN | ONLY(PROXY), TEXT(run, audit_file), 0, "audit", "FILE",        \
	  "files", "log network decisions to FILE")                                                \
	X(LISTEN, NETWORK, ONLY(PROXY), OWN_TEXT, 0, "listen", "ADDR:PORT", "",                    \
	  "listen on ADDR:PORT (default 127.0.0.1:0)")                                             \
	X(TOKEN_FILE, NETWORK, ONLY(PROXY), OWN_TEXT, 0, "token-file", "FILE", "files",            \
	  "require the token in FILE from every client")                                           \
	X(TOKEN_ENV, NETWORK, ONLY(PROXY), OWN_TEXT, 0, "token-env", "NAME", "variables",          \
	  "require the token in the variable NAME")                                                \
	X(BACKEND, ENFORCE, FOR_RUN | ONLY(MCP) | ONLY(EXPLAIN), TEXT(run, backend), 0, "backend", \
	  "NAME", "native bwrap landlock outer none",                                              \
	  "native, bwrap or landlock; outer; none means no sandbox")                               \
	X(SANDBOX, ENFORCE, FOR_RUN, TEXT(run, sandbox), 0, "sandbox", "WHEN",                     \
	  "auto require forbid", "auto, require (accept no loss) or forbid (no sandbox)")          \
	X(ACCEPT_MISSING, ENFORCE, FOR_RUN, WORDS(run, accept_missing), 0, "accept-missing",       \
	  "NAME", "guarantees", "run even without the guarantee NAME")                             \
	X(PLATFORM, ENFORCE, FOR_RUN | ONLY(EXPLAIN) | ONLY(WHY), TEXT(run, platform), 0,          \
	  "platform", "NAME", "linux landlock macos seatbelt windows",                             \
	  "linux, macos or windows instead of this system")                                        \
	X(HOST_VIEW, ENFORCE, ONLY(EXPLAIN) | ONLY(WHY), TEXT(load, host_view), 0, "host-view",    \
	  "FILE", "files", "answer for the host that FILE describes")                              \
	X(ASK, ASK, FOR_RUN, TEXT(run, ask), 0, "ask", "HOW", "tty cmd: fd: socket: off",          \
	  "ask about what is refused: tty, cmd:PROG, fd:N, socket:PATH")                           \
	X(ASK_TIMEOUT, ASK, FOR_RUN, TIME(run, ask_timeout_ms), 0, "ask-timeout", "TIME", "",      \
	  "deny what is not answered within TIME (default 2m)")                                    \
	X(RETRY, ASK, FOR_RUN, FLAG(run, CORDON_RUN_RETRY), 0, "retry", NULL, "",                  \
	  "run once more with what was granted, where it can't go on")                             \
	X(TIMEOUT, RUN, FOR_RUN, TIME(run, timeout_ms), 0, "timeout", "TIME", "",                  \
	  "kill the command after TIME: 90, 250ms, 5m, 1h")                                        \
	X(ENV, RUN, FOR_RUN, WORDS(run, set_environment), 0, "env", "NAME[=VALUE]", "variables",   \
	  "set NAME, or pass on a withheld one")                                                   \
	X(DRY_RUN, RUN, FOR_RUN | ONLY(APPLY_PATCH) | ONLY(SETUP) | ONLY(WINDOWS), OWN_SWITCH, 0,  \
	  "dry-run", NULL, "", "show what would be done, and do nothing")                          \
	X(REPORT, RUN, FOR_RUN, OWN_TEXT, 0, "report", "FILE", "files",                            \
	  "write a JSON report to FILE; '-' is stdout")                                            \
	X(LOG_DENIALS, RUN, FOR_RUN, FLAG(run, CORDON_RUN_LOG_DENIALS), 0, "log-denials", NULL,    \
	  "", "list all that was refused, reads too")                                              \
	X(TELL_DENIALS, RUN, FOR_RUN, FLAG(run, CORDON_RUN_TELL_DENIALS), 0, "tell-denials", NULL, \
	  "", "tell what is refused at once, for a model to read")                                 \
	X(EVENTS, RUN, FOR_RUN, TEXT(run, events), 0, "events", "FD|FILE", "files",                \
	  "write a JSON line for each event to FD or FILE")                                        \
	X(TRACE, RUN, FOR_RUN, FLAG(run, CORDON_RUN_TRACE), 0, "trace", NULL, "",                  \
	  "print every path and decision to stderr")                                               \
	X(READ, COMMAND, ONLY(WHY), OWN_SWITCH, 0, "read", NULL, "",                               \
	  "answer yes or no: may it be read?")                                                     \
	X(WRITE, COMMAND, ONLY(WHY) | ONLY(REQUEST), OWN_SWITCH, 0, "write", NULL, "",             \
	  "ask about writing; why answers yes or no")                                              \
	X(PATH, COMMAND, ONLY(WHY), OWN_SWITCH, 0, "path", NULL, "",                               \
	  "treat the operand as a path")                                                           \
	X(HOST, COMMAND, ONLY(WHY) | ONLY(REQUEST), OWN_SWITCH, 0, "host", NULL, "",               \
	  "treat the operand as a host")                                                           \
	X(SOCKET, COMMAND, ONLY(REQUEST), OWN_SWITCH, 0, "socket", NULL, "",                       \
	  "treat the operand as a unix socket")                                                    \
	X(REASON, COMMAND, FOR_INSIDE, OWN_TEXT, 0, "reason", "TEXT", "",                          \
	  "say why, for the person who decides")                                                   \
	X(ATOMIC, COMMAND, ONLY(APPLY_PATCH), OWN_SWITCH, 0, "atomic", NULL, "",                   \
	  "change all files or none")                                                              \
	X(SYNTAX_ONLY, COMMAND, ONLY(CHECK), OWN_SWITCH, 0, "syntax-only", NULL, "",               \
	  "check only that FILE is valid TOML 1.0")                                                \
	X(OUTPUT, COMMAND, ONLY(IMPORT), OWN_TEXT, 'o', "output", "FILE", "files",                 \
	  "write to FILE instead of stdout")                                                       \
	X(FORCE, COMMAND, ONLY(INIT) | ONLY(IMPORT), OWN_SWITCH, 0, "force", NULL, "",             \
	  "replace an existing file")                                                              \
	X(CLEAN, COMMAND, ONLY(DOCTOR), OWN_SWITCH, 0, "clean", NULL, "",                          \
	  "remove what killed runs left behind")                                                   \
	X(FOLLOW, COMMAND, ONLY(AUDIT), OWN_SWITCH, 0, "follow", NULL, "",                         \
	  "keep printing entries as they are written")                                             \
	X(SUMMARY, COMMAND, ONLY(AUDIT), OWN_SWITCH, 0, "summary", NULL, "",                       \
	  "print totals for each host")                                                            \
	X(METRICS, COMMAND, ONLY(AUDIT), OWN_SWITCH, 0, "metrics", NULL, "",                       \
	  "print sums for Prometheus")                                                             \
	X(RUN, COMMAND, ONLY(AUDIT), OWN_TEXT, 0, "run", "ID", "last",                             \
	  "show only the run ID; 'last' is the last one")                                          \
	X(DENIED, COMMAND, ONLY(AUDIT), OWN_SWITCH, 0, "denied", NULL, "",                         \
	  "show only what the policy denied")                                                      \
	X(SINCE, COMMAND, ONLY(AUDIT), OWN_TEXT, 0, "since", "TIME", "",                           \
	  "start at TIME: 90s, 10m or 2h ago, or a date")                                          \
	X(ROOT, COMMAND, ONLY(MCP), OWN_WORDS, 0, "root", "DIR", "directories",                    \
	  "open the project DIR as well")                                                          \
	X(APPROVE_TOOL, COMMAND, ONLY(MCP), OWN_SWITCH, 0, "approve-tool", NULL, "",               \
	  "list the tool 'approve', which answers for Claude")                                     \
	X(SYSTEM, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "system", NULL, "",                         \
	  "for all users of this system")                                                          \
	X(USER, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "user", NULL, "",                             \
	  "for this user (the default)")                                                           \
	X(PROJECT, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "project", NULL, "",                       \
	  "for the project in the working directory")                                              \
	X(PARTIAL, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "partial", NULL, "",                       \
	  "be content with what does not cover every command")                                     \
	X(SETUP_CHECK, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "check", NULL, "",                     \
	  "answer yes or no: do the agent's commands run in Cordon?")                              \
	X(UNDO, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "undo", NULL, "",                             \
	  "put back every file as it was")                                                         \
	X(INSIDE, COMMAND, ONLY(SETUP), OWN_SWITCH, 0, "inside", NULL, "",                         \
	  "answer yes or no: is this process in a sandbox of Cordon?")                             \
	X(PROXY_PORT, COMMAND, ONLY(WINDOWS), OWN_TEXT, 0, "proxy-port", "PORT", "",               \
	  "leave PORT of the loopback open for a proxy")                                           \
	X(YES, COMMAND, ONLY(APPROVALS) | ONLY(SETUP) | ONLY(WINDOWS), OWN_SWITCH, 0, "yes", NULL, \
	  "", "do it without being asked")                                                         \
	X(JSON, OUTPUT, FOR_JSON, OWN_SWITCH, 0, "json", NULL, "", "print JSON, also for errors")  \
	X(QUIET, OUTPUT, FOR_OUTPUT, FLAG(run, CORDON_RUN_QUIET), 'q', "quiet", NULL, "",          \
	  "print only the answer, no warnings or advice")                                          \
	X(HELP_SHORT, OUTPUT, FOR_ALL, OWN_SWITCH, 'h', NULL, NULL, "", "print a short help")      \
	X(HELP, OUTPUT, FOR_ALL, OWN_SWITCH, 0, "help", NULL, "", "print the full help")           \
	X(VERSION, OUTPUT, FOR_NONE, OWN_SWITCH, 'V', "version", NULL, "", "print the version")

/* X(value): the members of both structs that no option sets. VALUE is copied as it is. */
#define API_MEMBERS(X)                  \
	X(TEXT(load, system_directory)) \
	X(TEXT(load, platform))         \
	X(WORDS(load, environment))     \
	X(VALUE(load, on_warning))      \
	X(VALUE(load, user))            \
	X(VALUE(load, on_progress))     \
	X(VALUE(load, flags))           \
	X(WORDS(run, command))          \
	X(WORDS(run, environment))      \
	X(VALUE(run, capture_limit))    \
	X(VALUE(run, flags))            \
	X(TEXT(run, binary))            \
	X(VALUE(run, on_output))        \
	X(VALUE(run, on_trace))         \
	X(VALUE(run, on_done))          \
	X(VALUE(run, run_user))         \
	X(VALUE(run, decide_host))      \
	X(VALUE(run, policy))           \
	X(VALUE(run, on_denial))        \
	X(VALUE(run, on_ask))           \
	X(VALUE(run, on_withdraw))

enum command_id {
#define COMMAND_ID(id, name, operands, max, completion, summary) COMMAND_##id,
	COMMANDS(COMMAND_ID)
#undef COMMAND_ID
		COMMAND_COUNT
};

enum option_group {
#define GROUP_ID(id, title) GROUP_##id,
	OPTION_GROUPS(GROUP_ID)
#undef GROUP_ID
};

enum option_id {
#define OPTION_ID(id, group, commands, value, letter, name, arg, completion, help) OPT_##id,
	OPTIONS(OPTION_ID)
#undef OPTION_ID
		OPTION_COUNT
};

enum value_kind {
	VALUE_TEXT,
	VALUE_LIST,
	VALUE_WORDS,
	VALUE_FEATURE,
	VALUE_TIME,
	VALUE_FLAG,
	VALUE_COPIED,	/* of the library alone: a number, a function, a pointer */
	VALUE_OWN_TEXT, /* of the program alone */
	VALUE_OWN_WORDS,
	VALUE_OWN_SWITCH,
};

enum option_struct { IN_load, IN_run };

/* Where the value of an option is kept, and how. */
struct option_value {
	enum value_kind kind;
	enum option_struct in;
	size_t offset;	    /* of the member; of a flag, that of `flags` */
	uint64_t flag;	    /* the bit, of VALUE_FLAG */
	const char *member; /* its name; NULL: none */
};

struct option {
	enum option_group group;
	uint32_t commands; /* ONLY() of those that take it */
	struct option_value value;
	char letter;
	const char *name; /* without the dashes */
	const char *argument;
	const char *help;
};

extern const struct option options[OPTION_COUNT];

/* All members of both structs but `size` and `load`, those without an option included. */
extern const struct option_value option_members[];
extern const size_t option_member_count;

/* A VALUE_LIST: two members of the struct. */
struct option_list {
	const char *const *items;
	uint64_t count;
};

/* A member of one of the two structs: a text, a struct option_list, ... */
static inline void *option_member(const struct option_value *value,
				  struct cordon_load_options *load, struct cordon_run_options *run)
{
	return (char *)(value->in == IN_load ? (void *)load : (void *)run) + value->offset;
}
