/* SPDX-License-Identifier: MIT */
/*
 * The messages between the proxy and the process that started it: fixed structs over a
 * SOCK_SEQPACKET pair. When the channel closes, the proxy ends. Some messages carry descriptors;
 * their comments say which.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/macros.h"

enum {
	PROXY_HOST_BYTES = 256,	  /* a name and its NUL, or the text of an address */
	PROXY_RULE_BYTES = 320,	  /* a pattern with its ports */
	PROXY_FILE_BYTES = 512,	  /* of an origin's file; a longer path keeps its end */
	PROXY_METHOD_BYTES = 24,  /* cut when it is longer */
	PROXY_PROGRAM_BYTES = 16, /* comm */
	PROXY_SOCKETS_AT_ONCE = 16,
};

/* What the descriptors of PROXY_TAKE are for. */
enum proxy_role {
	PROXY_MIXED = 1, /* HTTP and SOCKS5, told apart by the first byte */
	PROXY_NAMES_UDP, /* the resolver of the sandbox, port 53 on every address */
	PROXY_NAMES_TCP,
	PROXY_HOST_PORT, /* inside: connections go on to `port` on the host's loopback */
	PROXY_PUBLISHED, /* on the host: connections go on to `port` on the sandbox's loopback */
	PROXY_SOCKETS_4, /* unbound TCP sockets of the sandbox's network, to listen and dial with */
	PROXY_SOCKETS_6,
};

/* ---- To the proxy ------------------------------------------------------------------- */

enum proxy_order_kind {
	/* carries descriptors for `role` and `port`; none if there are none to be had */
	PROXY_TAKE = 1,
	/*
	 * A program inside is about to connect to `address`, `port`, which is not loopback. The
	 * proxy answers with PROXY_MAY_CONNECT, once it listens there or with an error.
	 */
	PROXY_WILL_CONNECT,
	/*
	 * Which process made the connection from `address`, `port` to PROXY_MIXED or a
	 * PROXY_HOST_PORT.
	 */
	PROXY_HAS_CONNECTED,
	PROXY_ADD_RULE, /* `text` is a host pattern (P13); it applies from the next request on */
	PROXY_DECIDE,	/* the answer to PROXY_ASKS `id` */
	/*
	 * Every process inside has ended. The proxy still forwards what they had sent, as the
	 * kernel would, sends the records that are open, and ends.
	 */
	PROXY_FINISH,
	/* No order comes any more: it sends its last records and ends. */
	PROXY_STOP,
};

struct proxy_order {
	uint32_t kind;
	uint32_t role; /* enum proxy_role */
	uint64_t id;
	struct ip address;
	uint16_t port;
	uint16_t host_port; /* of HAS_CONNECTED: the port it connected to; 0: PROXY_MIXED */
	bool is_allow;	    /* of ADD_RULE and DECIDE */
	int32_t pid;	    /* of WILL_CONNECT and HAS_CONNECTED: as seen inside; 0: unknown */
	char program[PROXY_PROGRAM_BYTES];
	char text[PROXY_RULE_BYTES];
};

/* ---- From the proxy ----------------------------------------------------------------- */

enum proxy_message_kind {
	PROXY_READY = 1,     /* locked, and serving */
	PROXY_FAILED,	     /* the proxy could not start: `os_error`; `text` names the step */
	PROXY_MAY_CONNECT,   /* `os_error` is 0, or what connect() fails with */
	PROXY_WANTS_SOCKETS, /* asks for PROXY_SOCKETS_AT_ONCE sockets of `role` */
	PROXY_ASKS,	     /* no rule matches: PROXY_DECIDE answers */
	PROXY_RECORD,	     /* a decision, see struct proxy_record */
	/* answers PROXY_ADD_RULE `id`; on failure `os_error` is EINVAL and `text` says why */
	PROXY_RULE_ADDED,
};

enum proxy_protocol {
	PROXY_BY_HTTP,	  /* a request that the proxy forwards */
	PROXY_BY_CONNECT, /* an HTTP tunnel */
	PROXY_BY_SOCKS,
	PROXY_BY_ADDRESS, /* a program that does not use a proxy */
	PROXY_BY_NAME,	  /* a look-up alone */
	PROXY_BY_HOST_PORT,
	PROXY_BY_PUBLISHED,
};

/*
 * How a request ended. The first group is a denial by policy, which the run's report shows. The
 * second is a failure of the network, the third a fault of the client.
 */
enum proxy_reason {
	PROXY_ALLOWED = 0,
	PROXY_DENIED_RULE, /* a deny rule */
	/* the guard of private addresses refused the host, or the address it resolved to */
	PROXY_DENIED_PRIVATE,
	PROXY_DENIED_UNLISTED, /* no rule allows it */
	PROXY_DENIED_ASKED,    /* the user was asked and said no, or did not answer */
	PROXY_DENIED_METHOD,   /* P14: this method */
	PROXY_DENIED_TUNNEL,   /* P14: methods are limited, and the proxy can't see into a tunnel */
	PROXY_DENIED_HELLO,    /* P13: no rule allows the server name of the TLS ClientHello */

	PROXY_FAILED_LOOKUP, /* the name has no address, or no DNS server answers */
	PROXY_FAILED_REFUSED,
	PROXY_FAILED_UNREACHABLE,
	PROXY_FAILED_TIMEOUT,
	PROXY_FAILED_UPSTREAM,	/* the upstream proxy refused */
	PROXY_FAILED_RESPONSE,	/* the server's answer is not valid HTTP */
	PROXY_FAILED_RESOURCES, /* the proxy has reached one of its own limits */

	/* malformed, ambiguous (request smuggling), or with a Host that does not match */
	PROXY_BAD_REQUEST,
	PROXY_BAD_TOKEN, /* no token, or a wrong one */
};

static inline bool proxy_is_denial(uint32_t reason)
{
	return reason >= PROXY_DENIED_RULE && reason <= PROXY_DENIED_HELLO;
}

/* names.c. They return "?" for an unknown number, because the numbers come over a channel. */
const char *proxy_reason_name(uint32_t reason) RETURNS_NONNULL; /* "allowed", "unlisted", … */
const char *proxy_reason_code(uint32_t reason)
	RETURNS_NONNULL; /* "blocked-by-allowlist", "dns-failure", …; "" when allowed */
const char *proxy_protocol_name(uint32_t protocol) RETURNS_NONNULL; /* "http", "connect", … */

/*
 * One decision. The proxy may count equal decisions in one record: those that follow each other on
 * a connection, and equal refusals.
 *
 * A connection that lasts has two records with the same `connection`: one as "open" after about a
 * second, and one at its end. The first counts nothing and has no bytes, so that sums over records
 * are right.
 */
struct proxy_record {
	uint64_t started_ms; /* real time, since 1970 */
	uint64_t duration_ms;
	uint64_t count;
	uint64_t bytes_up, bytes_down; /* payload from the client, and to it */
	uint8_t protocol;	       /* enum proxy_protocol */
	uint8_t reason;		       /* enum proxy_reason */
	bool has_address;
	uint16_t port;
	struct ip address; /* dialled, or refused */
	int32_t os_error;  /* of FAILED_*, 0: none */
	int32_t pid;	   /* as seen inside; 0: unknown */
	uint32_t rule_line;
	uint64_t connection; /* of a connection that has two records: its number, from 1; else 0 */
	bool is_open;	     /* the first of the two */
	char program[PROXY_PROGRAM_BYTES];
	char host[PROXY_HOST_BYTES];	 /* normalised, as the rules saw it */
	char method[PROXY_METHOD_BYTES]; /* "" when it was not seen */
	char rule[PROXY_RULE_BYTES];	 /* the pattern that decided; "" if none did */
	char rule_file[PROXY_FILE_BYTES];
};

struct proxy_message {
	uint32_t kind;
	uint32_t role;
	uint64_t id;
	int32_t os_error;
	bool is_allow; /* of RULE_ADDED: whether the rule is an allow */
	union {
		char text[PROXY_RULE_BYTES];
		struct proxy_record record; /* of RECORD and ASKS */
	};
};
