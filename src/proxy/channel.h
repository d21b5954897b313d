/* SPDX-License-Identifier: MIT */
/*
 * What the proxy and the process that started it say to each other, over a
 * SOCK_SEQPACKET pair, in fixed structs. The end of the channel is the end of the
 * proxy. Descriptors come with the messages that say so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/macros.h"

enum {
	PROXY_HOST_BYTES = 256,	  /* a name and its NUL; an address in its text */
	PROXY_RULE_BYTES = 320,	  /* a pattern with its ports */
	PROXY_FILE_BYTES = 512,	  /* of an origin; its end when it is longer */
	PROXY_METHOD_BYTES = 24,  /* cut when it is longer */
	PROXY_PROGRAM_BYTES = 16, /* comm */
	PROXY_SOCKETS_AT_ONCE = 16,
};

/* What a listening socket, or a stock of sockets, is for. */
enum proxy_role {
	PROXY_MIXED = 1, /* HTTP and SOCKS5, told apart by the first byte */
	PROXY_NAMES_UDP, /* the resolver of the sandbox, port 53 on every address */
	PROXY_NAMES_TCP,
	PROXY_HOST_PORT, /* inside: what comes is connected to the host's loopback, `port` */
	PROXY_PUBLISHED, /* on the host: what comes is connected to the sandbox's loopback, `port` */
	PROXY_SOCKETS_4, /* unbound TCP sockets of the sandbox's network, to listen and dial with */
	PROXY_SOCKETS_6,
};

/* ---- To the proxy ------------------------------------------------------------------- */

enum proxy_order_kind {
	PROXY_TAKE = 1, /* descriptors for `role` and `port` come with it; none: none can be had */
	/*
	 * A program inside is about to connect to `address`, `port`, which is not loopback.
	 * Answered by PROXY_MAY_CONNECT once somebody listens there, or with why not.
	 */
	PROXY_WILL_CONNECT,
	/* Who has the connection from `address`, `port` to PROXY_MIXED, or to a PROXY_HOST_PORT. */
	PROXY_HAS_CONNECTED,
	PROXY_ADD_RULE, /* `text` is a pattern of P13; counts from the next request on */
	PROXY_DECIDE,	/* the answer to PROXY_ASKS `id` */
	/*
	 * All that was inside is dead. What it had sent is passed on, as the kernel would have
	 * done; then the proxy sends the records that are open, and ends.
	 */
	PROXY_FINISH,
};

struct proxy_order {
	uint32_t kind;
	uint32_t role; /* enum proxy_role */
	uint64_t id;
	struct ip address;
	uint16_t port;
	uint16_t host_port; /* of HAS_CONNECTED: the one that was connected to; 0: PROXY_MIXED */
	bool is_allow;	    /* of ADD_RULE and DECIDE */
	int32_t pid;	    /* of WILL_CONNECT and HAS_CONNECTED: inside; 0 when it can't be told */
	char program[PROXY_PROGRAM_BYTES];
	char text[PROXY_RULE_BYTES];
};

/* ---- From the proxy ----------------------------------------------------------------- */

enum proxy_message_kind {
	PROXY_READY = 1,     /* locked, and serving */
	PROXY_FAILED,	     /* could not get there: `os_error`, `text` says at what */
	PROXY_MAY_CONNECT,   /* `os_error` 0, or what connect() is to fail with */
	PROXY_WANTS_SOCKETS, /* of `role`; PROXY_SOCKETS_AT_ONCE of them */
	PROXY_ASKS,	     /* neither allowed nor denied: answered by PROXY_DECIDE */
	PROXY_RECORD,	     /* a decision, see struct proxy_record */
	PROXY_RULE_ADDED,    /* the answer to PROXY_ADD_RULE `id`; `os_error` EINVAL and `text` */
};

enum proxy_protocol {
	PROXY_BY_HTTP,	  /* a request that is passed on */
	PROXY_BY_CONNECT, /* an HTTP tunnel */
	PROXY_BY_SOCKS,
	PROXY_BY_ADDRESS, /* a program that knows nothing of proxies */
	PROXY_BY_NAME,	  /* a look-up alone */
	PROXY_BY_HOST_PORT,
	PROXY_BY_PUBLISHED,
};

/*
 * Why it ended as it did. The first group is policy and is a denial of the run; the
 * second is the network's answer; the third the client's fault.
 */
enum proxy_reason {
	PROXY_ALLOWED = 0,
	PROXY_DENIED_RULE,     /* a deny rule */
	PROXY_DENIED_PRIVATE,  /* the private guard, for the host or for the address dialled */
	PROXY_DENIED_UNLISTED, /* no rule allows it */
	PROXY_DENIED_ASKED,    /* somebody was asked and said no, or did not answer */
	PROXY_DENIED_METHOD,   /* P14: this method */
	PROXY_DENIED_TUNNEL,   /* P14: can't be looked into */
	PROXY_DENIED_HELLO,    /* P13: the server name in the TLS hello */

	PROXY_FAILED_LOOKUP, /* the name has no address, or its servers do not answer */
	PROXY_FAILED_REFUSED,
	PROXY_FAILED_UNREACHABLE,
	PROXY_FAILED_TIMEOUT,
	PROXY_FAILED_UPSTREAM,	/* the upstream proxy said no */
	PROXY_FAILED_RESPONSE,	/* what the server sent is no HTTP */
	PROXY_FAILED_RESOURCES, /* a limit of the proxy itself */

	PROXY_BAD_REQUEST, /* malformed, smuggling, Host that does not match */
	PROXY_BAD_TOKEN,   /* no token, or a wrong one */
};

static inline bool proxy_is_denial(uint32_t reason)
{
	return reason >= PROXY_DENIED_RULE && reason <= PROXY_DENIED_HELLO;
}

/* words.c. "?" for what is none: these numbers come over a channel. */
const char *proxy_reason_name(uint32_t reason) RETURNS_NONNULL; /* "allowed", "unlisted", … */
const char *proxy_reason_code(uint32_t reason)
	RETURNS_NONNULL; /* "blocked-by-allowlist", "dns-failure", …; "" when allowed */
const char *proxy_protocol_name(uint32_t protocol) RETURNS_NONNULL; /* "http", "connect", … */

/*
 * One decision. Equal ones that follow each other on a connection, and equal refusals,
 * may be counted together.
 *
 * What lasts is told of twice: as open, when it has for about a second, and at its end, with the
 * same `connection`. The first of the two counts nothing and has no bytes, so that sums are right.
 */
struct proxy_record {
	uint64_t started_ms; /* real time, since 1970 */
	uint64_t duration_ms;
	uint64_t count;
	uint64_t bytes_up, bytes_down; /* of payload: from and to the client */
	uint8_t protocol;	       /* enum proxy_protocol */
	uint8_t reason;		       /* enum proxy_reason */
	bool has_address;
	uint16_t port;
	struct ip address; /* dialled, or refused */
	int32_t os_error;  /* of FAILED_*, 0: none */
	int32_t pid;	   /* inside; 0 when it can't be told */
	uint32_t rule_line;
	uint64_t connection; /* of what is told of twice: from 1, for each proxy; else 0 */
	bool is_open;	     /* the first of the two */
	char program[PROXY_PROGRAM_BYTES];
	char host[PROXY_HOST_BYTES];	 /* as judged: in its normal form */
	char method[PROXY_METHOD_BYTES]; /* "" when it was not seen */
	char rule[PROXY_RULE_BYTES];	 /* the pattern that decided, "" without one */
	char rule_file[PROXY_FILE_BYTES];
};

struct proxy_message {
	uint32_t kind;
	uint32_t role;
	uint64_t id;
	int32_t os_error;
	bool is_allow; /* of RULE_ADDED: which of the two it was */
	union {
		char text[PROXY_RULE_BYTES];
		struct proxy_record record; /* of RECORD and ASKS */
	};
};
