/* SPDX-License-Identifier: MIT */
/*
 * What resolve.c (searches, and who waits for them), resolve_ask.c (one question to the
 * servers) and resolve_known.c (files, cache, search list) share.
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
	uint64_t deadline_ms; /* then the next server has its turn */
	struct watcher watcher;
	struct stream *stream;
	struct dns_answer answer; /* of ASK_DONE; DNS_SERVER_FAILURE when nobody could say */
};

struct search {
	struct resolver *resolver;
	struct search *next, *previous;
	struct lookup *waiting;
	uint32_t first_server;
	uint32_t conf_number; /* see struct resolver */
	size_t candidate_number;
	bool has_no_address; /* a candidate exists, without an address */
	uint64_t give_up_ms; /* 0: not before the servers are through */
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

/* An interface, by what resolv.conf calls it. */
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
	uint32_t conf_number;		     /* another one for each that was read */
	struct zone zones[CONF_MAX_SERVERS]; /* of the servers at the start */
	struct hash_key key;
	struct pool searches, lookups, streams;
	struct search *first;
	struct hosts_filter *hosts_filter;
	struct cached *cache; /* CACHE_ENTRIES */
	uint8_t *scratch;     /* a datagram */
};

/* ---- resolve.c ---------------------------------------------------------------------- */

/* An ask has ended: perhaps the end of the search, and then that one is gone. */
void search_conclude(struct search *s) NONNULL;
void resolver_wake_by(struct resolver *r, uint64_t at_ms) NONNULL;

/* ---- resolve_ask.c ------------------------------------------------------------------ */

/* Before the lock, which leaves no way to ask for the number of an interface. */
void resolver_find_zones(struct resolver *r) NONNULL;

/* For `s->candidate`, from the first server on. It ends with search_conclude(), never from within. */
void ask_begin(struct ask *a, struct search *s, uint16_t type) NONNULL;
void ask_next_server(struct ask *a) NONNULL; /* the end, when there is none */
void ask_finish(struct ask *a, const struct dns_answer *answer) NONNULL;
void ask_stop(struct ask *a) NONNULL;
extern const struct dns_answer ask_unanswered; /* nobody could say */

/* ---- resolve_known.c ---------------------------------------------------------------- */

/* What was found, for as long as it may be believed. */
void resolver_keep(struct resolver *r, struct str name, const struct found_addresses *found,
		   uint64_t for_ms) NONNULL;

/* The servers as the file names them now. */
void resolver_look_at_conf(struct resolver *r) NONNULL;

/*
 * What is asked for in the place of `name`: by the number of the candidate, which moves on over
 * those that are none. False: there are no more.
 */
bool resolver_candidate(const struct resolver *r, struct str name, size_t *number,
			char out[DNS_NAME_BYTES]) MUST_CHECK NONNULL;
