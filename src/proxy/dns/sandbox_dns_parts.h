/* SPDX-License-Identifier: MIT */
/* What sandbox_dns.c (names and addresses) and sandbox_dns_server.c (questions) share. */
#pragma once

#include "proxy/dns/message.h"
#include "proxy/dns/sandbox_dns.h"
#include "proxy/keyed_hash.h"
#include "proxy/pool.h"

enum { SANDBOX_DNS_SOCKETS = 8 };

struct sandbox_dns_connection;

/* A socket that queries come to. */
struct sandbox_dns_socket {
	struct sandbox_dns *sandbox_dns;
	struct watcher watcher; /* fd -1: none */
	bool is_stream;
};

struct sandbox_dns {
	const struct rules *rules;
	struct dialer *dialer;
	struct loop *loop;
	struct hash_key key;
	struct ip first_v6; /* the block; no name has this first address */
	uint32_t count;
	char *names;	 /* DNS_NAME_BYTES each */
	uint32_t *slots; /* hash table of name numbers from 1; 0: empty */
	void (*is_full)(void *user, const struct target *name);
	void *user;

	size_t socket_count;
	struct sandbox_dns_socket sockets[SANDBOX_DNS_SOCKETS];
	struct pool questions, connections;
	struct sandbox_dns_connection *first;
	struct timer timer;
};

/* Finds or adds the name. False: the table is full. */
bool sandbox_dns_give(struct sandbox_dns *s, struct str name, uint32_t *index) MUST_CHECK NONNULL;
struct ip sandbox_dns_address(const struct sandbox_dns *s, uint32_t index, bool is_v6) NONNULL;
/* The name that an address stands for, or NULL. */
const char *sandbox_dns_name(const struct sandbox_dns *s, const struct ip *ip) NONNULL;

int sandbox_dns_server_make(struct sandbox_dns *s, struct err *e) MUST_CHECK NONNULL;
void sandbox_dns_server_done(struct sandbox_dns *s) NONNULL;
