/* SPDX-License-Identifier: MIT */
/*
 * What every Linux sandbox does last, whatever made its walls: the first process
 * in it hides what it holds, gives up what it could do, for itself and for the
 * command, tells the parent, and starts the command.
 *
 *	prepare.c	the parent's side: the job, and failures in words
 *	stdio.c		what the standard streams may be
 *	network_child.c	a network in which every address is the sandbox's own
 *	lock_child.c	capabilities, Landlock, seccomp: what can't be undone
 *	child.c		the rest
 *
 * The files *child.c run between clone and exec in what may be a threaded
 * program: raw system calls on what the job holds, no allocation, no locale, no
 * stdio. A failure is a stage, a number and an errno in an init_message.
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
#include "os/words.h"

/*
 * What the process was doing; one line each: name, what could not be done. A
 * backend's own stages follow, from INNER_STAGE_COUNT on.
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

/* Steps of INNER_LIMITS that are no failure of a call. */
enum { INNER_NOT_COUNTED = 10, INNER_COUNTED_ELSEWHERE };

/*
 * Landlock, as data. It knows no "narrower inside wider": the rules are the outer
 * lines. What is not there, or hidden, is passed over: a rule only opens.
 */
enum landlock_access {
	LANDLOCK_MAY_LIST, /* listing directories, nothing else */
	LANDLOCK_MAY_LOOK, /* reading, listing, executing */
	LANDLOCK_MAY_READ, /* likewise, and what a device is asked, where the devices are chosen anyway */
	LANDLOCK_MAY_USE,   /* also writing to what is there */
	LANDLOCK_MAY_WRITE, /* all */
};

struct landlock_rule {
	const char *path;
	enum landlock_access kind;
	bool is_made; /* for this run: not what the host has there */
	/* P8, for walls that nothing stands before: it has to be that inode, and to be there. */
	bool is_checked;
	uint64_t device, inode;
};

struct landlock_rules {
	uint32_t abi;	  /* of the kernel; 0: none */
	bool scopes_only; /* files are left alone: Landlock would forbid all mounts */
	bool shows_root;  /* the host's "/" is what is seen as "/" */
	/* Ports, and sockets that were bound outside, as far as the ABI has rights for them. */
	bool refuses_network;
	VEC(struct landlock_rule) rules;
};

/* A network of its own: what of struct launch_network is needed inside, and what came of it. */
struct inner_network {
	bool is_managed;
	uint16_t host_ports[LAUNCH_MAX_HOST_PORTS];
	size_t host_port_count;
	uint32_t name_servers[LAUNCH_MAX_NAME_SERVERS]; /* of struct launch; not when it is managed */
	size_t name_server_count;

	/* Set inside: inner_network_sockets() of IPv4, and as many of IPv6 where there is that. */
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
	 * A file that was opened for reading, and that the command may not write, is
	 * opened again inside: else it could be opened for writing by /proc/self/fd/0,
	 * which leads to the host's mount of it. One that is for appending, and can be read, is
	 * opened again for appending alone: INNER_OWN_DESCRIPTORS is where.
	 */
	const char *reopened[3];
	struct filter filter;
	bool has_no_mounts; /* of its own: there is nothing to open a stream again by */
	bool has_writable;  /* the command may write somewhere on the host */
	bool asks_connect;
	bool has_listener;   /* something is asked of the parent */
	bool needs_listener; /* something that the command must not have unasked */
	/* Which files of the caller's the command gets; of those that are only for appending. */
	struct streams streams;
	bool has_own_network;
	struct inner_network network;
	bool waits; /* for INIT_START */
	struct landlock_rules landlock;
	struct command_limits limits;
	bool limits_processes;
	struct os_words own_words; /* of this program: wiped inside */
	int channel;		   /* the sandbox's end */
	int host;		   /* a pidfd: the run ends with this process */

	/* Set inside, on the way. */
	struct rlimit open_files; /* as they were */
	struct command_signals signals;
	int root; /* O_PATH: what is "/" for the command */
	int unix_diag;
	int ruleset; /* Landlock's, -1: none */
};

/* That come with INIT_READY: root, unix_diag, the listener, three streams, sockets. */
enum { INNER_MAX_FDS = 6 + SANDBOX_MAX_SOCKETS };

/* How many sockets a managed network has for each family, and which the `i`-th is. */
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
};

/* The one place that decides what the system-call filter contains. Pure. */
struct filter_options filter_options_for(const struct plan *plan, const struct filter_facts *facts)
	NONNULL;

/*
 * Fills in `job`, the filter included, except for `channel`, `walls` and `reopened`. Expects
 * `has_no_mounts`, `has_writable`, `has_own_network`, `landlock.abi` and `streams` to be set.
 * ERR_LIMIT, ERR_POLICY, ERR_NOMEM.
 */
int inner_prepare_command(struct arena *a, const struct launch *in, struct inner_job *job,
			  struct err *e) MUST_CHECK NONNULL;

/* inner_check_stdio(), inner_find_streams() and the above; expects `walls` to be complete. */
int inner_prepare(struct arena *a, const struct launch *in, struct inner_job *job, struct err *e)
	MUST_CHECK NONNULL;

/*
 * stdio.c: sets `reopened`. ERR_POLICY for a standard stream through which the command could
 * get around the policy; ERR_SYS.
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
 * Waits for the first message. The descriptors of inner_tell_ready() go to `s`
 * when it is INIT_READY; else the caller words `m`.
 */
int inner_wait_ready(const struct inner_job *job, struct sandbox *s, struct init_message *m,
		     struct err *e) MUST_CHECK NONNULL;

/* To `in->warn`: what a sandbox that stands does less well than elsewhere. */
void inner_say_lacks(const struct launch *in, const struct sandbox *s) NONNULL;

/* For the stages above. */
int inner_word_failure(const struct inner_job *job, const struct init_message *m, struct err *e)
	NONNULL;

/* The command's group gets the terminal before the command can touch it. */
void inner_hand_over_terminal(const struct launch *in, pid_t group) NONNULL;

/* For a launch that failed: ends the first process, if there is one, and takes the terminal back. */
void inner_undo(const struct launch *in, struct sandbox *s) NONNULL;

/* ---- Inside ---------------------------------------------------------------------- */

/* Reports and ends the process. */
_Noreturn void inner_fail(const struct inner_job *job, uint32_t stage, size_t index);

/* Allows as many descriptors as may be; inner_become_command() sets the limit back. */
void inner_raise_open_files(struct inner_job *job);

/* Once the command runs: closes every descriptor but `channel` and `host`. */
void inner_keep_ties(struct inner_job *job);

/*
 * SECURITY: a copy of the caller can be seen from inside. Nothing may be read from
 * it (not dumpable), and its words and environment, which the kernel shows
 * nevertheless, are wiped.
 */
void inner_hide_self(const struct inner_job *job);

/*
 * In a network namespace that is new: the loopback interface, and when it is managed the
 * routes and listeners. Needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE.
 */
void inner_make_network(struct inner_job *job);
/* Of that, where a loopback interface is up already: what name_servers asks for. */
void inner_hear_names(struct inner_job *job);

void inner_drop_capabilities(const struct inner_job *job);

/*
 * Landlock in two steps: the rules when all is in its place, then the wall for this process.
 * The rules can be made outside as well; false: `why` is a failure to be worded.
 */
bool inner_make_ruleset(struct inner_job *job, struct init_message *why);
void inner_prepare_landlock(struct inner_job *job);
void inner_enter_landlock(struct inner_job *job);

/*
 * From here on this process can signal itself and those that it starts, wherever these go, and
 * nobody else. False: it can signal others, too (before ABI 6).
 */
bool inner_scope_signals(const struct inner_job *job);

int inner_lock_filter(const struct inner_job *job); /* the listener, or -1 */

/* What is to be opened again, before there is a filter that asks. */
void inner_reopen_streams(struct inner_job *job);

/*
 * Hands `root`, `unix_diag`, the listener and what was opened again to the parent, and
 * waits for it when it `waits`.
 */
void inner_tell_ready(struct inner_job *job, int listener);

/* Returns when it is executed, or has said why not. `signals` has to be set. */
pid_t inner_start_command(struct inner_job *job);

/* The same in this very process, which becomes the command. */
_Noreturn void inner_become_command(struct inner_job *job);
