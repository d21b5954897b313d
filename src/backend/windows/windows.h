/* SPDX-License-Identifier: MIT */
/*
 * Windows: a plan as a token, edits of access lists (ACLs) and filters. Pure.
 *
 * The command gets a token with restricting SIDs, WRITE_RESTRICTED: what writes has to be allowed twice,
 * to the account and to one of those SIDs. Each writable root has a *capability SID*, made from the
 * root and the digest of the policy, that nothing else in the world has. So what an earlier run with
 * another policy has left in an access list gives nothing.
 *
 * Reading is checked against the account alone. So the backend win_token, which runs as the user, can't
 * keep anything from being read; win_elevated runs as an account of its own, in the group `group`.
 *
 * An entry of an object itself comes before those that it inherits, and what is inherited from the
 * parent before what comes from above that (docs/platforms.md). So each place where the answer of
 * the plan changes gets entries of its own. So does each object whose access list inherits nothing.
 *
 *	windows/acl.c		where the answers change, as entries
 *	windows/net.c		firewall rules and WFP filters
 *	windows/acl_apply.h	the entries in the lists of this machine, and out of them again
 *	windows/addresses.c	lists of addresses, to compare those rules
 *	win_token/lower.c	the restricted token, and what it can't hold
 *	win_elevated/lower.c	the dedicated accounts, and what they can't hold
 */
#pragma once

#include "backend/backend.h"
#include "base/name_tree.h"
#include "plan/plan.h"

/*
 * What entries are about; docs/platforms.md has the rights. None has FILE_DELETE_CHILD: it would undo
 * a deny of deleting further down.
 */
enum windows_access { WINDOWS_READ, WINDOWS_WRITE, WINDOWS_DELETE };

struct windows_ace {
	struct str path, sid;
	bool is_deny;
	enum windows_access access;
	bool inherits;
};

/* A rule of the firewall, or a filter of WFP: blocks what an account sends. */
struct windows_block {
	struct str name;
	const char *protocol; /* "any", "tcp", "udp", "icmp" */
	int family;	      /* of WFP: 4 or 6 */
	const char *layer;    /* of WFP */
	const struct str *remote;
	size_t remote_count;	 /* 0: any */
	const struct str *ports; /* "lo-hi" */
	size_t port_count;	 /* 0: any */
	uint16_t port;		 /* of WFP: a single one; 0: `ports` */
};

/* A capability SID, by its name and as it is. */
struct windows_capability {
	struct str name, sid;
};

/* Whether a guarantee of P16 is held, and by what, or why not. */
struct windows_guarantee {
	bool is_held;
	const char *why;
};

struct windows_lowering {
	const char *backend;
	const struct windows_guarantee *guarantees; /* GUARANTEE_COUNT of them */
	guarantee_set missing;			    /* needed, and not given */
	bool is_refused;
	enum guarantee refused; /* which can't be lowered, */
	struct str reason;	/* and why */
	VEC(struct str) restricting;
	VEC(struct windows_capability) capabilities;
	VEC(struct windows_ace) acl; /* in the order of application */
	const char *identity;	     /* "offline", "online"; NULL: the user */
	VEC(struct windows_block) firewall, wfp;
	VEC(struct str) read_roots; /* `group` may read these and all below */
	VEC(struct str) environment;
	uint64_t memory, processes; /* of the job; 0: no limit */
};

/* `proxy_port`: of the loopback, where the proxy of a managed network listens. */
typedef int windows_lower_fn(struct arena *a, const struct plan *plan, uint16_t proxy_port,
			     struct windows_lowering *out, struct err *e);
windows_lower_fn win_token_lower, win_elevated_lower;

/*
 * The same as a run on this host does it: by the files alone that the plan speaks of (near.h), with the port that the proxy has
 * there. What this version can't apply is refused.
 */
typedef int windows_lower_here_fn(struct arena *a, const struct plan *plan,
				  struct windows_lowering *out, struct err *e);
windows_lower_here_fn win_token_lower_here, win_elevated_lower_here;
/* Why a run does not hold what the lowering would; NULL: it does. */
const char *win_elevated_unbuilt(enum guarantee g);

/* GUARANTEE_COUNT of them. */
extern const struct windows_guarantee win_token_guarantees[], win_elevated_guarantees[];

/*
 * The firewall's rules and the filters alone, as they are when `open_port` of the loopback is the proxy's (0: nothing is
 * open); and the SID that the tokens of commands have for them.
 */
int windows_list_blocks(struct arena *a, uint16_t open_port, struct windows_lowering *out,
			struct err *e) MUST_CHECK NONNULL;
int windows_network_sid(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Lists of addresses, each with what may stand in a rule of the firewall (an address, ADDRESS/BITS,
 * ADDRESS/MASK, FIRST-LAST; words such as "LocalSubnet" are not), as one text that is the same for all lists with the same
 * addresses. ERR_SYNTAX, ERR_NOMEM.
 */
int windows_merge_addresses(struct arena *a, const struct str *items, size_t count, struct str *out,
			    struct err *e) MUST_CHECK NONNULL;

/* ---- Between the files ----------------------------------------------------------------------- */

struct windows_root {
	struct str path, sid;
};

struct lowering {
	struct arena *a;
	const struct plan *plan;
	struct windows_lowering *out;
	bool has_accounts; /* win_elevated */
	VEC(struct windows_root) roots;
	struct name_node *links;	/* that are protected as such, by path */
	struct name_node *pinned;	/* by path */
	struct name_node *emitted;	/* missing paths that have an entry, by path */
	VEC(struct windows_ace) acl[4]; /* in the order in which they are applied */
};

void lowering_init(struct lowering *l, struct arena *a, const struct plan *plan,
		   const char *backend, const struct windows_guarantee *guarantees,
		   struct windows_lowering *out) NONNULL;

/* ERR_WEAKER, with the guarantee noted. lowering_end() makes a result of it. */
int windows_refuse(struct lowering *l, enum guarantee g, struct err *e, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
int lowering_end(struct lowering *l, int r, struct err *e) MUST_CHECK NONNULL;

/* The entries of all objects, the roots, and the capability SIDs with the logon SID. */
int windows_find_acl(struct lowering *l, struct err *e) MUST_CHECK NONNULL;
/* tmp = "private". */
int windows_check_policy(struct lowering *l, struct err *e) MUST_CHECK NONNULL;
/* The environment, and the limits of the job. */
int windows_add_process(struct lowering *l, struct err *e) MUST_CHECK NONNULL;
/* What keeps the account `offline` from the network. */
int windows_add_filters(struct lowering *l, uint16_t proxy_port, struct err *e) MUST_CHECK NONNULL;
