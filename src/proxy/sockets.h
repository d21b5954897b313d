/* SPDX-License-Identifier: MIT */
/* Addresses and options of sockets, as the proxy needs them. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/ip.h"
#include "base/macros.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

void address_read(const union address *a, struct ip *ip, uint16_t *port) NONNULL;

/* The length of what was written. */
socklen_t address_write(union address *a, const struct ip *ip, uint16_t port) NONNULL;

/* Non-blocking, close-on-exec; or -errno. */
int socket_accept(int listener, union address *from) NONNULL;

/* No delay for small messages, and dead peers are noticed. */
void socket_prepare(int fd);

/*
 * The same for one whose peers can only be on this machine. The host's way to avoid congestion
 * may keep a pace for the sake of a network (BBR does), and where there is none that takes
 * time and nothing else.
 */
void socket_prepare_local(int fd);

/* The kernel keeps no more than about that for it each way, instead of as much as it likes. */
void socket_limit_buffers(int fd, uint32_t bytes);

/* Whether it is of the network that this process is in. True when that can't be told. */
bool socket_is_of_host(int fd);
