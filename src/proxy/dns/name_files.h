/* SPDX-License-Identifier: MIT */
/*
 * The host's files about names: resolv.conf names the DNS servers, hosts has names that need none.
 * The proxy reads both before it locks itself, and again when they have changed. If one becomes
 * unreadable, its last content stays in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ip.h"
#include "base/str.h"
#include "os/changed_file.h"
#include "proxy/keyed_hash.h"

/* ---- resolv_conf.c ------------------------------------------------------------------ */

enum { CONF_MAX_SERVERS = 3, CONF_MAX_SEARCH = 8, CONF_ZONE_BYTES = 16, CONF_DOMAIN_BYTES = 254 };

struct name_server {
	struct ip ip;
	char zone[CONF_ZONE_BYTES]; /* the interface of a link-local address; else "" */
};

struct resolv_conf {
	size_t server_count, search_count;
	struct name_server servers[CONF_MAX_SERVERS];
	char search[CONF_MAX_SEARCH][CONF_DOMAIN_BYTES]; /* lower case, without a dot at the end */
	uint32_t ndots, timeout_ms, attempts;
	bool rotates, uses_tcp;
};

/* See resolv.conf(5); skips lines that it does not use. If no server is named: loopback. */
void resolv_conf_read(struct str text, struct resolv_conf *out) NONNULL;

/* ---- hosts_file.c ------------------------------------------------------------------- */

/* Finds the addresses that hosts(5) has for `name` (lower case). How many, at most `room`. */
size_t hosts_find(struct str text, struct str name, struct ip *out, size_t room) NONNULL;

/*
 * A Bloom filter: for most names that the file does not have, it says so without a search. Some
 * hosts files have a hundred thousand names, and each connection asks. Set the key before the first
 * text.
 */
enum { HOSTS_FILTER_BITS = 1 << 21 };
struct hosts_filter {
	struct hash_key key;
	bool is_used; /* false for a short text, which is searched as fast */
	uint64_t bits[HOSTS_FILTER_BITS / 64];
};
void hosts_filter_set(struct hosts_filter *f, struct str text) NONNULL;
bool hosts_filter_passes(const struct hosts_filter *f, struct str name) NONNULL;

/* Iterates over the names of an address; start with { .text = the file, .line = STR_EMPTY }. */
struct hosts_names {
	struct str text, line; /* what is left of each */
};
bool hosts_next_name(struct hosts_names *names, const struct ip *ip, struct str *out) NONNULL;

/* ---- name_file.c: a file that may change -------------------------------------------- */

typedef enum os_change name_file_read(struct os_version *seen, char *out, size_t room, size_t *len);

struct name_file {
	const char *path;    /* NULL: the system's */
	name_file_read *own; /* which this reads then */
	char *text;	     /* mapped */
	size_t len, room;
	struct os_version seen;
};

/* Maps its memory and reads the file. A missing file counts as empty. ERR_NOMEM. */
int name_file_make(struct name_file *f, const char *path, name_file_read *own, size_t room,
		   struct err *e) MUST_CHECK;
void name_file_done(struct name_file *f) NONNULL;

/* Reads the file again if it has changed: true. A file over `room` is cut after a whole line. */
bool name_file_look(struct name_file *f) NONNULL;

static inline struct str name_file_text(const struct name_file *f)
{
	return (struct str){ f->text, f->len };
}

/* Takes the next word of a line; "" at its end, or before a comment. */
struct str name_file_word(struct str *line) NONNULL;
/* Takes the next line of a text. False: there is none. */
bool name_file_line(struct str *text, struct str *line) NONNULL;
