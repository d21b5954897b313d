/* SPDX-License-Identifier: MIT */
/* A sandbox that stands: what a backend hands to those who look after it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "linux/notify/stream.h"
#include "policy/guarantee.h"
#include "proxy/channel.h"

/*
 * A path where the command has less than around it, because of a mount on it. The
 * kernel takes that mount away when the host removes what it lies on or renames
 * something over it.
 */
struct narrowed {
	const char *path;
	bool may_go; /* git takes it away while it is used outside (P10): it may be missing */
};
struct narrowed_list {
	const struct narrowed *items;
	size_t count;
};

/* A socket that was made in the sandbox's network, for the proxy. */
struct sandbox_socket {
	enum proxy_role role;
	uint16_t port;
	int fd;
};
enum { SANDBOX_MAX_SOCKETS = 54 };

/* What a managed network is without on this kernel: less is reached, or told later. */
enum sandbox_lack {
	SANDBOX_LACKS_IPV6 = 1 << 0,
	SANDBOX_LACKS_RULES = 1 << 1,	 /* of routing: datagrams are lost, not refused */
	SANDBOX_LACKS_LISTENER = 1 << 2, /* set-group-ID can't be asked for; nothing else is */
};

/* A command that runs. The descriptors are this process's, close-on-exec. */
struct sandbox {
	pid_t pid; /* of PID 1, in this process's namespace; also the command's group */
	int pidfd;
	int channel;	       /* linux/init/init.h */
	int listener;	       /* of seccomp notifications; -1: none is asked for */
	int unix_diag;	       /* netlink socket of the sandbox's network namespace, -1: host's */
	int root;	       /* O_PATH on the sandbox's "/" */
	int reopened[3];       /* standard streams that the command has anew; -1: the caller's */
	int user_ns, mount_ns; /* for masks that come later (P6); -1 when there are no globs */
	uint32_t landlock_abi; /* 0: Landlock restricts no files */
	struct narrowed_list narrowed; /* where a guard has to look; paths are the arena's */
	bool has_own_network;
	/* A managed network: to be handed to the proxy, in order; closed by sandbox_done(). */
	struct sandbox_socket sockets[SANDBOX_MAX_SOCKETS];
	size_t socket_count;
	uint32_t network_lacks; /* enum sandbox_lack */
	bool waits;		/* the command is executed after sandbox_start() */
	/* A process that ends PID 1 should this one not, and what keeps it going; -1: none. */
	int helper, helper_life;
	int starter; /* a child of this process that started PID 1; ended by the helper. -1 */
	bool helper_leaves; /* long before: PID 1 is a child of this process then */
	guarantee_set lost; /* what the backend gives elsewhere, but not on this host */
	/*
	 * Without namespaces: what is inside is what descends from `pid`, which has to be
	 * told to end (killed, it would leave the rest behind); the network is the host's
	 * and is not to be used; and changes of metadata below `writable` are asked for.
	 */
	bool has_no_namespaces;
	const char *const *writable;		  /* closed by NULL; NULL: there is nothing */
	uint64_t terminal_device, terminal_inode; /* a pty of the command's own; 0: it has none */
	struct streams streams;			  /* which files of the caller's it has */
};

/* Lets the command be executed, when it waits for that. ERR_SYS. */
int sandbox_start(struct sandbox *s, struct err *e) MUST_CHECK NONNULL;

/* For who finds that the helper has ended. Whether it was to, and not killed. */
bool sandbox_helper_left(struct sandbox *s) NONNULL;

/* Waits for PID 1, which has been killed or ends by itself; `first` is its pidfd. */
void sandbox_reap(const struct sandbox *s, int first) NONNULL;

/* When all in it is dead, or about to be: closes what is open, and so tells the helper to end. */
void sandbox_close(struct sandbox *s) NONNULL;

/* The same, and waits for the helper. */
void sandbox_done(struct sandbox *s) NONNULL;
#define SANDBOX_NONE                                                                     \
	{                                                                                \
		.pidfd = -1, .channel = -1, .listener = -1, .unix_diag = -1, .root = -1, \
		.reopened = { -1, -1, -1 }, .user_ns = -1, .mount_ns = -1, .helper = -1, \
		.helper_life = -1, .starter = -1                                         \
	}
