/* SPDX-License-Identifier: MIT */
/*
 * Shared by resolve.c (searches and who waits for them), resolve_ask.c (one query to the servers)
 * and resolve_known.c (files, cache, search list).
 */
#pragma once

#include "os/loop.h"
#include "proxy/dns/message.h"
#include "proxy/dns/name_files.h"
#include "proxy/dns/resolve.h"
#include "proxy/keyed_hash.h"
#include "proxy/pool.h"

enum { CACHE_ENTRIES = 1024 }; /* a power of two */

/* An answer over TCP. */
struct stream {
	size_t done;
	uint8_t bytes[2 + DNS_MESSAGE_BYTES];
};

enum ask_state { ASK_DATAGRAM, ASK_CONNECTING, ASK_STREAM, ASK_PAUSED, ASK_DONE };

struct ask {
	struct search *search;
	enum ask_state state;
	uint16_t type, id;
	uint32_t tries; /* that have failed */
	uint32_t strays;
	uint64_t deadline_ms; /* when to try the next server */
	struct watcher watcher;
	struct stream *stream;
	struct dns_answer answer; /* of ASK_DONE; DNS_SERVER_FAILURE if no server could answer */
};

struct search {
	struct resolver *resolver;
	struct search *next, *previous;
	struct lookup *waiting;
	uint32_t first_server;
	uint32_t conf_number; /* see struct resolver */
	size_t candidate_number;
	bool has_no_address; /* a candidate exists but has no address */
	uint64_t give_up_ms; /* 0: not before all servers were tried */
	struct ask asks[2];
	char name[DNS_NAME_BYTES];
	char candidate[DNS_NAME_BYTES];
};

struct lookup {
	struct search *search;
	struct lookup *next;
	void (*done)(void *user, const struct found_addresses *found);
	void *user;
};

struct cached {
	uint64_t until_ms; /* 0: empty */
	char name[DNS_NAME_BYTES];
	struct found_addresses found;
};

/* The number of an interface that resolv.conf names. */
struct zone {
	char name[CONF_ZONE_BYTES];
	uint32_t index;
};

struct resolver {
	struct loop *loop;
	struct timer timer;
	uint16_t port;
	uint32_t turn; /* of "rotate" */
	struct name_file conf_file, hosts_file;
	struct resolv_conf conf;
	uint32_t conf_number;		     /* changes each time resolv.conf is read */
	struct zone zones[CONF_MAX_SERVERS]; /* of the servers at the start */
	struct hash_key key;
	struct pool searches, lookups, streams;
	struct search *first;
	struct hosts_filter *hosts_filter;
	struct cached *cache; /* CACHE_ENTRIES */
	uint8_t *scratch;     /* a datagram */
};

/* ---- resolve.c ---------------------------------------------------------------------- */

/* An ask has ended. This may end the search, and free it. */
void search_conclude(struct search *s) NONNULL;
void resolver_wake_by(struct resolver *r, uint64_t at_ms) NONNULL;

/* ---- resolve_ask.c ------------------------------------------------------------------ */

/* Call before lock_finish(): afterwards the filter forbids to ask for an interface's number. */
void resolver_find_zones(struct resolver *r) NONNULL;

/*
 * Asks for `s->candidate`, beginning with the first server. Calls search_conclude() at its end,
 * never from within.
 */
void ask_begin(struct ask *a, struct search *s, uint16_t type) NONNULL;
void ask_next_server(struct ask *a) NONNULL; /* ends the ask if there is none */
void ask_finish(struct ask *a, const struct dns_answer *answer) NONNULL;
void ask_stop(struct ask *a) NONNULL;
extern const struct dns_answer ask_unanswered; /* nobody could say */

/* ---- resolve_known.c ---------------------------------------------------------------- */

/* The cache. */
void resolver_keep(struct resolver *r, struct str name, const struct found_addresses *found,
		   uint64_t for_ms) NONNULL;

/* Rereads resolv.conf if it has changed. */
void resolver_look_at_conf(struct resolver *r) NONNULL;

/*
 * The candidate to look up in place of `name`. `*number` moves on over those that do not apply.
 * False: there are no more.
 */
bool resolver_candidate(const struct resolver *r, struct str name, size_t *number,
			char out[DNS_NAME_BYTES]) MUST_CHECK NONNULL;
