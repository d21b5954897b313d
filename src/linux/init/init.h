/* SPDX-License-Identifier: MIT */
/*
 * PID 1 of a sandbox: it reaps processes, passes signals on, reports what happens to the command,
 * and ends with the run. When it ends, the kernel kills everything left in the pid namespace
 * (tree_death).
 *
 * It talks to the supervisor over the *channel*, a SOCK_SEQPACKET pair, in fixed structs. The run
 * ends when the channel ends, or when the supervisor, its *host*, ends: it has a pidfd of that,
 * because a process that the host forked may hold a copy of the channel. However PID 1 ends, nothing
 * in the sandbox survives it.
 *
 * Everything here runs between clone and exec: async-signal-safe, no allocation.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From the sandbox. */
enum init_message_kind {
	INIT_FAILED = 1,  /* the set-up failed: `stage`, `index` and `os_error` say where */
	INIT_READY,	  /* set up; the descriptors of struct sandbox come with it */
	INIT_EXEC_FAILED, /* `os_error`, `index`, `value` are those of struct command_failure */
	INIT_STOPPED,	  /* the command was stopped by signal `value` */
	INIT_CONTINUED,
	INIT_SOCKETS_MADE, /* `value` as in the order; the sockets come with it, or `os_error` */
	INIT_PAIR_MADE,	   /* two connected sockets come with it, or `os_error` */
	INIT_LEFT,	   /* the process `value` may not be killed, and goes on */
	INIT_ENDED,	   /* the command's wait status is `value`; everything left is killed now */
};

struct init_message {
	uint32_t kind;
	uint32_t stage;
	uint32_t index;
	int32_t os_error;
	int32_t value;
	uint32_t is_typed; /* INIT_STOPPED: by the terminal, not by another process */
	uint32_t is_alone; /* INIT_ENDED: no other process is left */
	uint64_t user_us, system_us, max_rss_kib; /* INIT_ENDED: of all reaped processes */
};

/* To the sandbox. */
enum init_order_kind {
	INIT_MAPPED = 1,   /* the id maps are written */
	INIT_GO,	   /* the terminal is handed over; finish the set-up */
	INIT_START,	   /* execute the command, if it waits after INIT_READY */
	INIT_SIGNAL,	   /* send `value` to the command */
	INIT_SIGNAL_GROUP, /* send it to the command's process group */
	INIT_SIGNAL_ALL,   /* send it to every process in the sandbox; without one, to the group */
	INIT_END_WITH_PARENT, /* have the kernel kill PID 1 when its parent ends */
	INIT_END_LATER,	      /* end the run after `after_ms` */
	INIT_SET_FRONT, /* the command's terminal: its group in the foreground (1), or behind (0) */
	INIT_MAKE_SOCKETS, /* for the proxy: PROXY_SOCKETS_AT_ONCE of the family 4 or 6, `value` */
	INIT_MAKE_PAIR,	   /* of unix sockets, for a process inside that asks (notify/inside.h) */
	INIT_KILL,	   /* end the run now */
};

struct init_order {
	uint32_t kind;
	int32_t value;
	uint64_t after_ms; /* of INIT_END_LATER */
};

/* Waits for an order of that kind. False: another one came, or the channel or the host ended. */
bool init_wait(int channel, int host, enum init_order_kind kind, struct init_order *order);

/* What PID 1 is left with. All signals must be blocked. */
struct init_ties {
	int channel;
	int host;     /* a pidfd */
	int terminal; /* the command's own; then it leads a group of its own. -1: it has none */
};

/* PID 1 from here to its end. */
_Noreturn void init_run(const struct init_ties *ties, pid_t command);

/*
 * The same without a pid namespace: a *monitor*, which leads the command's group (unless that has a
 * terminal of its own) and adopts all
 * orphans below it. Before it ends it kills everything below it; if its signals would also reach
 * other processes, it kills the descendants that it finds. If somebody kills the monitor itself,
 * its descendants survive (no tree_death).
 */
_Noreturn void init_run_without_namespace(const struct init_ties *ties, pid_t command,
					  bool reaches_only_below);

/*
 * INIT_SET_FRONT: gives the terminal to `*front`, or to this process's group, and notes in `*front`
 * which group had it.
 */
void init_set_front(int terminal, bool is_in_front, pid_t *front);
