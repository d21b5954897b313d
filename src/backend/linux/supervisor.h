/* SPDX-License-Identifier: MIT */
/*
 * The inside of struct supervisor (backend.h) on Linux: PID 1 or a monitor at the other end of a
 * channel (linux/init/), the engine that answers system calls (linux/notify/), and what is held
 * and watched on the host (linux/placeholder/). The same for every backend of this system.
 *
 *	supervisor.c	makes, starts and ends it
 *	events.c	what PID 1 and the processes that look after it say
 *	limits.c	the control group
 *	naming.c	which refused accesses can be named here
 *	asking.c	what the command asks for: sockets of the host, and requests
 *	live.c		calls that are held, or performed by the opener
 *	grants.c	paths that are opened and closed while the command runs
 *	names.c		names that are looked up while the network is off
 *	clean.c		what runs that were killed have left behind
 */
#pragma once

#include "backend/backend.h"
#include "linux/init/init.h"
#include "linux/init/sandbox.h"
#include "linux/live/graft.h"
#include "linux/live/opener.h"
#include "linux/notify/engine.h"
#include "linux/notify/holds.h"
#include "linux/notify/naming.h"
#include "linux/notify/unix_connect.h"
#include "linux/notify/unix_sockets.h"
#include "linux/placeholder/guard.h"
#include "linux/placeholder/masker.h"
#include "linux/placeholder/warden.h"
#include "linux/placeholder/watch.h"
#include "os/cgroup.h"
#include "proxy/dns/name_files.h"

enum { SPARE_COUNT = 3 };

/* A path that was opened while the command runs. It is kept until the end, also when it was closed. */
struct grafted {
	struct supervisor *supervisor;
	struct str path;
	uint32_t number;
	enum grant_state {
		GRANT_NONE, /* it does not stand yet */
		GRANT_OPEN,
		GRANT_DORMANT, /* given back, but another grant covers it */
		GRANT_CLOSING, /* covered; somebody still writes to it */
		GRANT_CLOSED,
	} state;
	VEC(struct str) pins; /* what is writable with it, on mounts of their own */
	uint64_t mount;	      /* the id of its mount, as /proc shows it */
	struct placeholders held;
	struct warden warden;
	struct watcher warden_gone;
	struct narrowed_list narrowed;
	struct guarded guarded;
};

struct live {
	struct naming_performer performer;
	const struct plan *plan; /* with all grants */
	VEC(struct grafted *) grants;
	struct masker own; /* if there is no watch that has one */
	struct watcher own_gone;
	struct opener opener;
	struct timer closing; /* tries again to make mounts read-only */
	struct timer broken;  /* ends the run */
};
#define LIVE_NONE                                                                   \
	{                                                                           \
		.own = MASKER_NONE, .own_gone = { .fd = -1 }, .opener = OPENER_NONE \
	}

struct supervisor {
	struct arena *a;
	struct supervisor_request in;
	struct sandbox sandbox;
	struct placeholders held;
	bool has_held; /* placeholders, should the plan want any */
	struct warden warden;
	struct guard guard;
	struct unix_sockets sockets;
	struct engine engine;
	struct connect_proxy proxy;
	bool is_managed;	       /* the network */
	struct unix_connect *connects; /* NULL: connect() is not asked about */
	struct namer *namer;	       /* NULL: refused accesses to files are not noticed */
	struct holds *holds;	       /* NULL: no call is held */
	struct live live;
	bool can_open; /* paths */
	struct connect_asker asker;
	struct inside_events inside_events;
	struct inside *inside; /* NULL: no process inside can ask */
	struct watch *watch;   /* NULL: nothing is watched */

	struct watcher channel;	    /* PID 1 speaks */
	struct watcher gone;	    /* PID 1 is no more */
	struct watcher warden_gone; /* the process that cleans up is no more */
	struct watcher helper_gone; /* the process that would end PID 1 is no more */
	bool ends_with_parent; /* PID 1, by the kernel: this process is a command, like the CLI */

	struct names {
		bool are_wanted;
		struct resolv_conf conf;
		struct names_socket {
			struct watcher watcher;
			struct supervisor *supervisor;
		} sockets[LAUNCH_MAX_NAME_SERVERS];
		size_t count;
	} names;
	struct os_cgroup group; /* of limits */
	int spare[SPARE_COUNT]; /* descriptors that supervising will need */
	bool has_told_gone;
	bool is_let_go;
	int dying; /* pidfd of PID 1 once nothing is left to do for it; -1: none */
	struct supervision result;
};

/* ---- supervisor.c ------------------------------------------------------------------------- */

/* Sends PID 1 an order; false: it has ended (errno). */
bool supervisor_order(const struct supervisor *s, enum init_order_kind kind, int value) NONNULL;

/*
 * SECURITY: somebody may have stopped PID 1, and then it does not notice that its channel was
 * closed. So the kernel ends it with this process. A monitor would leave the rest behind.
 */
int supervisor_tie_to_parent(const struct supervisor *s, struct err *e) MUST_CHECK NONNULL;

/* ---- events.c ------------------------------------------------------------------------------ */

void events_init(struct supervisor *s) NONNULL;
int events_attach(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;
void events_detach(struct supervisor *s) NONNULL;

/* ---- naming.c ------------------------------------------------------------------------------ */

/*
 * Never NAMING_AUTO. Warns if what the user asked for can't be had. ERR_WEAKER: calls have to be
 * noticed so that they can be held, and can't be.
 */
int supervisor_choose_naming(const struct supervisor *s, enum naming *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- asking.c ------------------------------------------------------------------------------ */

/* After unix_connect_start() and live_start(). */
int asking_start(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;
/* Before live_stop(). */
void asking_stop(struct supervisor *s) NONNULL;
/* What has come from PID 1; `count` 0: it can't make one. */
void asking_take_pair(struct supervisor *s, const int *fds, size_t count) NONNULL;

/* ---- live.c: calls that are held, and those that the opener performs -------------------------- */

/* Whether paths are to be opened while the command runs, if the backend can. */
bool live_may_open(const struct supervisor *s) NONNULL;
/* NULL: nothing can be granted. */
const struct naming_performer *live_performer(const struct supervisor *s) NONNULL;
/* After the engine was started, if the request says `holds`. */
int live_start(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;
void live_stop(struct supervisor *s) NONNULL;
void live_reap(struct supervisor *s) NONNULL;
/* What the opener has done. */
void live_take_result(void *user, const struct opener_order *order, int result, int fd)
	__attribute__((nonnull(1, 2)));

/* ---- grants.c: paths that are opened and closed ----------------------------------------------- */

void grants_init(struct supervisor *s) NONNULL;
void grants_stop(struct supervisor *s) NONNULL;
void grants_reap(struct supervisor *s) NONNULL;
/* They are started when the first is needed. ERR_SYS. */
int grants_use_masker(struct supervisor *s, struct masker **out, struct err *e) MUST_CHECK NONNULL;
int grants_use_opener(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;

/* ---- names.c ------------------------------------------------------------------------------- */

/* Which name servers the backend is to listen for inside. */
void names_prepare(struct supervisor *s, bool network_is_off, struct launch *out) NONNULL;
int names_begin(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;
void names_end(struct supervisor *s) NONNULL;

/* ---- limits.c: what needs a control group (P23) ---------------------------------------------- */

/* Makes it, where one is needed. ERR_SYS: then the command must not run. */
int limits_prepare(struct supervisor *s, const struct supervisor_attempt *attempt, struct err *e)
	MUST_CHECK NONNULL;
/* What the backend has to hold by itself: 0 when there is no limit, or the group holds it. */
uint64_t limits_processes(const struct supervisor *s, const struct supervisor_attempt *attempt)
	NONNULL;
int limits_begin(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;
void limits_end(struct supervisor *s) NONNULL;
