/* SPDX-License-Identifier: MIT */
/* What sandbox_dns.c (names and addresses) and sandbox_dns_server.c (questions) share. */
#pragma once

#include "proxy/dns/message.h"
#include "proxy/dns/sandbox_dns.h"
#include "proxy/keyed_hash.h"
#include "proxy/pool.h"

enum { STAND_IN_SOCKETS = 8 };

struct stand_in_connection;

/* A socket that queries come to. */
struct stand_in_socket {
	struct stand_ins *stand_ins;
	struct watcher watcher; /* fd -1: none */
	bool is_stream;
};

struct stand_ins {
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
	struct stand_in_socket sockets[STAND_IN_SOCKETS];
	struct pool questions, connections;
	struct stand_in_connection *first;
	struct timer timer;
};

/* Finds or adds the name. False: the table is full. */
bool stand_in_give(struct stand_ins *s, struct str name, uint32_t *index) MUST_CHECK NONNULL;
struct ip stand_in_address(const struct stand_ins *s, uint32_t index, bool is_v6) NONNULL;
/* The name that an address stands for, or NULL. */
const char *stand_in_name(const struct stand_ins *s, const struct ip *ip) NONNULL;

int stand_in_server_make(struct stand_ins *s, struct err *e) MUST_CHECK NONNULL;
void stand_in_server_done(struct stand_ins *s) NONNULL;
