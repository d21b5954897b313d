/* SPDX-License-Identifier: MIT */
/*
 * What the host says about names in its files: which servers to ask (resolv.conf) and
 * which names need none (hosts). Both are read before the proxy locks itself and again
 * when they have changed; one that can't be read any more counts as it last was.
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
	char zone[CONF_ZONE_BYTES]; /* of a link-local address: the interface; "" else */
};

struct resolv_conf {
	size_t server_count, search_count;
	struct name_server servers[CONF_MAX_SERVERS];
	char search[CONF_MAX_SEARCH][CONF_DOMAIN_BYTES]; /* lower case, no dot behind */
	uint32_t ndots, timeout_ms, attempts;
	bool rotates, uses_tcp;
};

/* As resolv.conf(5); lines that say nothing of use are passed over. Without a server: loopback. */
void resolv_conf_read(struct str text, struct resolv_conf *out) NONNULL;

/* ---- hosts_file.c ------------------------------------------------------------------- */

/* The addresses that hosts(5) has for `name` (in lower case); how many, at most `room`. */
size_t hosts_find(struct str text, struct str name, struct ip *out, size_t room) NONNULL;

/*
 * Of most names that a file does not have this says so without a look at all of it: there are
 * lists of a hundred thousand, and each connection asks. The key is set before the first text.
 */
enum { HOSTS_FILTER_BITS = 1 << 21 };
struct hosts_filter {
	struct hash_key key;
	bool is_used; /* a short text is read as fast */
	uint64_t bits[HOSTS_FILTER_BITS / 64];
};
void hosts_filter_set(struct hosts_filter *f, struct str text) NONNULL;
bool hosts_filter_passes(const struct hosts_filter *f, struct str name) NONNULL;

/* Goes through the names that it has for an address: { .text = the file, .line = STR_EMPTY }. */
struct hosts_names {
	struct str text, line; /* what is left of each */
};
bool hosts_next_name(struct hosts_names *names, const struct ip *ip, struct str *out) NONNULL;

/* ---- name_file.c: a file that may change -------------------------------------------- */

struct name_file {
	const char *path;
	char *text; /* mapped */
	size_t len, room;
	struct os_version seen;
};

/* Maps its room and reads it. One that is not there is empty. ERR_NOMEM. */
int name_file_make(struct name_file *f, const char *path, size_t room, struct err *e)
	MUST_CHECK NONNULL;
void name_file_done(struct name_file *f) NONNULL;

/* Reads it again if it is another one than before: true. Cut at a whole line at `room`. */
bool name_file_look(struct name_file *f) NONNULL;

static inline struct str name_file_text(const struct name_file *f)
{
	return (struct str){ f->text, f->len };
}

/* The next of the words of a line, which moves on; "" at its end, or before a comment. */
struct str name_file_word(struct str *line) NONNULL;
/* The next line of a text, which moves on. False: there is none. */
bool name_file_line(struct str *text, struct str *line) NONNULL;
