/* SPDX-License-Identifier: MIT */
/* One connect() that the supervisor makes for its caller. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "linux/notify/engine.h"

struct attempt {
	struct engine_call call;
	int socket; /* the caller's */
	int target; /* O_PATH of the socket file; -1: the address is used as it is */
	int domain, type;
	bool has_time_limit;   /* SO_SNDTIMEO */
	bool waits_for_proxy;  /* which decides whether it may be made */
	bool waits_for_answer; /* somebody is asked whether it may be made (P18) */
	bool is_told;	       /* tell the proxy when it was made, and from which address */
	union {
		struct sockaddr any;
		struct sockaddr_un path;
		struct sockaddr_storage storage;
	} address;
	socklen_t size;
};

#define ATTEMPT_NONE                       \
	{                                  \
		.socket = -1, .target = -1 \
	}

/* Takes the socket and copies the address. 0 or -errno as the kernel would have it. */
int attempt_init(struct attempt *t, const struct engine *engine, const struct engine_call *call)
	MUST_CHECK NONNULL;
/*
 * SECURITY: closing the last descriptor of the caller's socket can block for as long as the caller
 * likes (SO_LINGER). Call this only while another process holds the socket, too.
 */
void attempt_done(struct attempt *t) NONNULL;

/* Whether the address is the path of a unix socket, which then is a C string. */
bool attempt_has_path(struct attempt *t) NONNULL;

/* 0, or -errno when the address is one that the command could not connect to itself. */
int attempt_check_netlink(const struct attempt *t) MUST_CHECK NONNULL;
