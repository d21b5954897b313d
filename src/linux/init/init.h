/* SPDX-License-Identifier: MIT */
/*
 * PID 1 of a sandbox: reaps, passes signals on, tells how the command fares, and
 * ends when the run does. When it ends, the kernel ends all that is left in the
 * pid namespace (tree_death).
 *
 * It speaks with the supervising process over the *channel*, a SOCK_SEQPACKET
 * pair, in fixed structs. The end of the channel is the end of the run, and so is
 * that of the supervising process, its *host*, of which it has a pidfd: what that
 * one has forked may have a copy of the channel. Nothing that happens to it leaves
 * the sandbox alive.
 *
 * Everything here runs between clone and exec: async-signal-safe, no allocation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From the sandbox. */
enum init_message_kind {
	INIT_FAILED = 1, /* the set-up: `stage`, `index` and `os_error` say where */
	INIT_READY,	 /* set up; descriptors come with it (struct sandbox in backend.h) */
	INIT_EXEC_FAILED, /* the command: `os_error`, `index`, `value` are struct command_failure's */
	INIT_STOPPED,	  /* the command was stopped by signal `value` */
	INIT_CONTINUED,
	INIT_SOCKETS_MADE, /* `value` as in the order; the sockets come with it, or `os_error` */
	INIT_ENDED, /* the command's wait status is `value`; all that is left is killed now */
};

struct init_message {
	uint32_t kind;
	uint32_t stage;
	uint32_t index;
	int32_t os_error;
	int32_t value;
	uint32_t is_typed; /* of INIT_STOPPED: by the terminal, and not by another process */
	uint32_t is_alone; /* of INIT_ENDED: nobody else is left, and PID 1 does nothing but end */
	uint64_t user_us, system_us, max_rss_kib; /* of INIT_ENDED: all that was reaped */
};

/* To the sandbox. */
enum init_order_kind {
	INIT_MAPPED = 1,      /* identities are mapped: for a backend that makes something as one */
	INIT_GO,	      /* the terminal is handed over, and nothing else stands against it */
	INIT_START,	      /* execute the command: only when INIT_READY was to be answered */
	INIT_SIGNAL,	      /* send `value` to the command */
	INIT_SIGNAL_GROUP,    /* send it to the command's process group */
	INIT_SIGNAL_ALL,      /* send it to all in the sandbox; without one, as INIT_SIGNAL_GROUP */
	INIT_END_WITH_PARENT, /* end the run when the parent of PID 1 ends, by the kernel's hand */
	INIT_END_LATER,	   /* end the run after `after_ms`, should nobody have ended it by then */
	INIT_MAKE_SOCKETS, /* for the proxy: PROXY_SOCKETS_AT_ONCE of the family 4 or 6, `value` */
	INIT_KILL,	   /* end the run now */
};

struct init_order {
	uint32_t kind;
	int32_t value;
	uint64_t after_ms; /* of INIT_END_LATER */
};

/* Waits for an order of that kind; false when something else came, or the end of channel or host. */
bool init_wait(int channel, int host, enum init_order_kind kind, struct init_order *order);

/* The rest of the life of PID 1. All signals have to be blocked already. */
_Noreturn void init_run(int channel, int host, pid_t command);

/*
 * The same where there is no pid namespace: a *monitor*, the leader of the
 * command's group and the reaper of all orphans below it. It kills all below it
 * before it ends, or, when its signals reach others as well, what it can find;
 * should it be killed itself, nobody does (no tree_death).
 */
_Noreturn void init_run_without_namespace(int channel, int host, pid_t command,
					  bool reaches_only_below);
