/* SPDX-License-Identifier: MIT */
/*
 * What a process inside asks for by itself (`cordon request`, P18): whether the policy grants it already,
 * whether anybody can be asked, and the answer as JSON.
 *
 * SECURITY: all of a request but its process and its canonical path is what the process says. It is
 * shown, and decides nothing.
 */
#pragma once

#include "backend/inside.h"
#include "session/session.h"

enum { REQUESTS_MAX = 64 }; /* each client has one, and there are no more clients */

struct requests {
	uint64_t suggested;	    /* how often it was looked for what would allow something */
	uint64_t minute_began_ms;   /* of the count that follows */
	uint64_t asked_this_minute; /* of the broker */
	size_t refused_given;	    /* of the denials: those that a process inside was told of */
	struct requested {
		uint64_t id;  /* 0: free */
		uint64_t ask; /* the broker's; 0: not known yet */
	} asked[REQUESTS_MAX];
};

/* For struct supervisor_events; `user` is the session. */
void requests_take(void *user, const struct inside_request *request) NONNULL;
void requests_leave(void *user, uint64_t id) NONNULL;
