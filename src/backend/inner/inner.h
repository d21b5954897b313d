/* SPDX-License-Identifier: MIT */
/*
 * The last steps of every Linux sandbox, whichever backend made it: its first process hides the
 * caller's memory, gives up its privileges for itself and for the command, reports to the
 * parent, and starts the command.
 *
 *	prepare.c	the parent's side: the job, and the text of failures
 *	filter.c	what the system-call filter contains
 *	stdio.c		which standard streams are refused, and which are opened again
 *	network_child.c	a network in which every address is the sandbox's own
 *	lock_child.c	capabilities, Landlock, seccomp: what can't be undone
 *	child.c		the rest
 *
 * The files *child.c run between clone and exec in what may be a threaded program: they make raw
 * system calls on what the job holds, and use no allocation, no locale and no stdio. They report
 * a failure as a stage, a number and an errno in an init_message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/command_child.h"
#include "filter/filter.h"
#include "linux/init/init.h"
#include "linux/init/sandbox.h"
#include "linux/placeholder/placeholder.h"
#include "os/arguments.h"

/*
 * What the process was doing when it failed: name, what completes "can't". A backend's own stages
 * have the numbers from INNER_STAGE_COUNT on.
 */
#define INNER_STAGES(X)                                                                 \
	X(DIRECTORY, "enter the working directory: it is not readable for the command") \
	X(GROUP, "make a process group")                                                \
	X(LIMITS, "set limits")                                                         \
	X(NETWORK, "set up its network")                                                \
	X(LISTENERS, "listen for the proxy in its network")                             \
	X(CAPABILITIES, "drop the capabilities")                                        \
	X(LANDLOCK, "set up Landlock")                                                  \
	X(CHANGED, "find what the policy was compiled for at")                          \
	X(FILTER, "install the system-call filter")                                     \
	X(STREAM, "open the file of a standard stream again")                           \
	X(TELL, "hand over to the parent process")                                      \
	X(FORK, "start a process")

enum inner_stage {
#define INNER_STAGE_ENUM(name, text) INNER_##name,
	INNER_STAGES(INNER_STAGE_ENUM)
#undef INNER_STAGE_ENUM
		INNER_STAGE_COUNT,
};

/* Steps of INNER_LIMITS that are not a failed call. */
enum { INNER_NOT_COUNTED = 10, INNER_COUNTED_ELSEWHERE };

/*
 * Landlock rules, as data. A rule grants access to a whole subtree, and no rule can take access
 * away inside it. Paths that are missing or hidden are skipped: that grants less, never more.
 */
enum landlock_access {
	LANDLOCK_MAY_LIST, /* list directories */
	LANDLOCK_MAY_LOOK, /* and read and execute files */
	LANDLOCK_MAY_READ, /* and ioctl() on devices: only where the sandbox has its own /dev */
	LANDLOCK_MAY_USE,  /* and write to files that exist */
	/*
	 * READ, and all changes of names, which the mounts forbid where nothing was granted meanwhile.
	 * SECURITY: not opening files for writing. No mount keeps anyone from writing to a FIFO.
	 */
	LANDLOCK_MAY_ARRANGE,
	LANDLOCK_MAY_WRITE, /* and create, rename and remove */
};

struct landlock_rule {
	const char *path;
	enum landlock_access kind;
	bool is_made; /* made for this run: not what the host has there */
	/* P8, where no mount has checked it: the path must exist and be that inode. */
	bool is_checked;
	uint64_t device, inode;
};

struct landlock_rules {
	uint32_t abi;	  /* of the kernel; 0: none */
	bool scopes_only; /* no rules for files: with those Landlock forbids all mounts */
	bool shows_root;  /* the command sees the host's "/" as "/" */
	/* Refuses ports, and sockets that were bound outside, as far as the ABI can. */
	bool refuses_network;
	VEC(struct landlock_rule) rules;
};

/* The sandbox's own network: what of struct launch_network is needed inside, and the result. */
struct inner_network {
	bool is_managed;
	uint16_t host_ports[LAUNCH_MAX_HOST_PORTS];
	size_t host_port_count;
	uint32_t name_servers[LAUNCH_MAX_NAME_SERVERS]; /* of struct launch; not when it is managed */
	size_t name_server_count;

	/* Set inside: inner_network_sockets() for IPv4, and as many for IPv6 if the host has it. */
	int sockets[SANDBOX_MAX_SOCKETS];
	size_t socket_count;
	uint32_t lacks; /* enum sandbox_lack */
};

#define INNER_OWN_DESCRIPTORS "/proc/self/fd"

struct inner_job {
	struct command_words words;
	const char *directory;
	int stdio[3];
	/*
	 * The path by which a stream is opened again inside; NULL: the stream stays. A file that
	 * was opened for reading, and that the command may not write, is opened again through
	 * the sandbox's own mount: through /proc/self/fd/0 the command could otherwise open the
	 * host's mount of it for writing. A stream that appends to a file and can also read it
	 * is opened again for appending only; its path is INNER_OWN_DESCRIPTORS.
	 */
	const char *reopened[3];
	/* By which the command's own terminal is found inside; NULL: it has none. */
	const char *own_terminal;
	bool starts_behind;  /* in the background of it */
	bool leaves_session; /* and so /dev/tty: it is another run's */
	struct filter filter;
	bool has_no_mounts; /* of its own, through which a stream could be opened again */
	bool has_writable;  /* the command may write somewhere on the host */
	bool asks_connect;
	bool has_listener;   /* the filter asks the parent about some calls */
	bool needs_listener; /* about some that must not be allowed without asking */
	/* The caller's files that the command gets as streams. */
	struct streams streams;
	bool has_own_network;
	struct inner_network network;
	bool waits; /* for INIT_START before it executes the command */
	struct landlock_rules landlock;
	struct command_limits limits;
	bool limits_processes;
	struct os_arguments own_words; /* this program's arguments and environment: wiped inside */
	int channel;		       /* the sandbox's end */
	int host;		       /* a pidfd of the supervisor: the run ends with it */

	/* Set inside. */
	struct rlimit open_files; /* the limit before it was raised */
	struct command_signals signals;
	int root; /* O_PATH: the command's "/" */
	int unix_diag;
	int terminal; /* the command's own, -1: none */
	int ruleset;  /* Landlock's, -1: none */
};

/* The descriptors sent with INIT_READY: root, unix_diag, the listener, three streams, sockets. */
enum { INNER_MAX_FDS = 6 + SANDBOX_MAX_SOCKETS };

/* How many sockets a managed network has for each address family, and what the `i`-th is for. */
static inline size_t inner_network_sockets(const struct inner_network *n)
{
	return n->is_managed ? 3 + n->host_port_count : 0;
}
static inline struct sandbox_socket inner_network_socket(const struct inner_network *n, size_t i)
{
	switch (i) {
	case 0:
		return (struct sandbox_socket){ PROXY_MIXED, LAUNCH_PROXY_PORT, -1 };
	case 1:
		return (struct sandbox_socket){ PROXY_NAMES_UDP, LAUNCH_NAMES_PORT, -1 };
	case 2:
		return (struct sandbox_socket){ PROXY_NAMES_TCP, LAUNCH_NAMES_PORT, -1 };
	default:
		return (struct sandbox_socket){ PROXY_HOST_PORT, n->host_ports[i - 3], -1 };
	}
}

/* ---- The parent ---------------------------------------------------------------- */

/* Why there is no Landlock here, and what to do about it. */
struct landlock_absence {
	enum cause cause;
	const char *why, *fix;
};

/* `abi` is from os_landlock_abi(); NULL: there is one. */
const struct landlock_absence *inner_find_absence(int abi);

/*
 * Sets `landlock.abi`. ERR_WEAKER if this kernel's Landlock can't do what no mount can do: a read-only
 * mount does not keep anyone from writing to a fifo, and with the host's network the host's
 * abstract sockets are in reach.
 */
int inner_check_landlock(const struct launch *in, struct inner_job *job, struct err *e)
	MUST_CHECK NONNULL;

/* What the filter depends on beside the plan. */
struct filter_facts {
	bool has_no_mounts;	  /* of its own: Landlock and the filter stand in for them */
	bool has_writable;	  /* the command may write somewhere on the host */
	uint32_t landlock_abi;	  /* of the kernel */
	enum stream_kind streams; /* the strictest of the three */
	enum naming naming;	  /* never NAMING_AUTO */
};

/* The one place that decides what the system-call filter contains. Pure. */
struct filter_options filter_options_for(const struct plan *plan, const struct filter_facts *facts)
	NONNULL;

/*
 * Fills in `job`, the filter included, except for `channel`, `landlock` and `reopened`. Expects
 * `has_no_mounts`, `has_writable`, `has_own_network`, `landlock.abi` and `streams` to be set.
 * ERR_LIMIT, ERR_POLICY, ERR_NOMEM.
 */
int inner_prepare_command(struct arena *a, const struct launch *in, struct inner_job *job,
			  struct err *e) MUST_CHECK NONNULL;

/* inner_check_stdio(), inner_find_streams() and the above; expects `landlock` to be complete. */
int inner_prepare(struct arena *a, const struct launch *in, struct inner_job *job, struct err *e)
	MUST_CHECK NONNULL;

/*
 * stdio.c: sets `reopened`. CAUSE_STREAM_REFUSED for a standard stream through which the command
 * could bypass the policy; ERR_SYS.
 */
int inner_check_stdio(struct arena *a, const struct launch *in, struct inner_job *job,
		      struct err *e) MUST_CHECK NONNULL;

/*
 * Sets `streams`; with mounts call inner_check_stdio() first. ERR_POLICY for a stream whose file
 * can't be kept from the command; ERR_SYS.
 */
int inner_find_streams(const struct launch *in, struct inner_job *job, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Waits for the first message. If it is INIT_READY, stores the descriptors of inner_tell_ready() in
 * `s`; otherwise the caller turns `m` into an error.
 */
int inner_wait_ready(const struct inner_job *job, struct sandbox *s, struct init_message *m,
		     struct err *e) MUST_CHECK NONNULL;

/* Warns through `in->warn` about what this kernel lets the sandbox do less well. */
void inner_say_lacks(const struct launch *in, const struct sandbox *s) NONNULL;

/* P8: `path` is not what the plan was made from. */
int inner_fail_changed(struct str path, struct err *e) NONNULL;

/* Turns a failure in one of the stages above into an error. */
int inner_word_failure(const struct inner_job *job, const struct init_message *m, struct err *e)
	NONNULL;

/* Makes the command's group the terminal's foreground group, before the command runs. */
void inner_hand_over_terminal(const struct launch *in, pid_t group) NONNULL;

/* After a failed launch: kills the first process, if there is one, and takes the terminal back. */
void inner_undo(const struct launch *in, struct sandbox *s) NONNULL;

/* ---- Inside ---------------------------------------------------------------------- */

/* Reports and ends the process; with errno, or where another process shares that, with `os_error`. */
_Noreturn void inner_fail(const struct inner_job *job, uint32_t stage, size_t index);
_Noreturn void inner_fail_with(const struct inner_job *job, uint32_t stage, size_t index,
			       int os_error);

/* Raises the limit of open files for the set-up; inner_become_command() restores it. */
void inner_raise_open_files(struct inner_job *job);

/*
 * SECURITY: without a group of its own, kill(0) by the command would hit the caller's. A session as
 * well if the command has a terminal of its own.
 */
void inner_leave_group(const struct inner_job *job);

/* Opens that terminal; then it becomes the controlling one of this session. */
void inner_open_terminal(struct inner_job *job);
void inner_take_terminal(const struct inner_job *job);

/* Once the command runs: closes every descriptor but `channel`, `host` and `terminal`. */
void inner_keep_ties(struct inner_job *job);

/*
 * SECURITY: this process is a copy of the caller, and the command can see it. Without this the
 * command could read the caller's memory (hence not dumpable), and its arguments and environment,
 * tokens included, from /proc, which shows them even so (hence wiped).
 */
void inner_hide_self(const struct inner_job *job);

/*
 * Sets up a new network namespace: the loopback interface and, if the network is managed, routes
 * and listeners. Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE.
 */
void inner_make_network(struct inner_job *job);
/* The part of it for `name_servers`, where the loopback interface is up already. */
void inner_hear_names(struct inner_job *job);

void inner_drop_capabilities(const struct inner_job *job);

/*
 * Landlock in two steps: first the ruleset, when all mounts are in place, then this process enters
 * it. inner_make_ruleset() can also run outside; when it returns false, `why` is the failure.
 */
bool inner_make_ruleset(struct inner_job *job, struct init_message *why);
void inner_prepare_landlock(struct inner_job *job);
void inner_enter_landlock(struct inner_job *job);

/*
 * From here on this process can signal only itself and its descendants. False: it can still signal
 * others (before ABI 6).
 */
bool inner_scope_signals(const struct inner_job *job);

int inner_lock_filter(const struct inner_job *job); /* the listener, or -1 */

/* Opens streams again. Call it before the filter is installed, which would ask about the open. */
void inner_reopen_streams(struct inner_job *job);

/*
 * Sends `root`, `unix_diag`, the listener and the streams that were opened again to the parent,
 * and waits for INIT_START if `waits` is set.
 */
void inner_tell_ready(struct inner_job *job, int listener);

/* Returns when the command was executed, or has reported why not. Expects `signals` to be set. */
pid_t inner_start_command(struct inner_job *job);

/* Executes the command in this process. */
_Noreturn void inner_become_command(struct inner_job *job);
