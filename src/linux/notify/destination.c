/* SPDX-License-Identifier: MIT */
/* See destination.h. */
#include "linux/notify/destination.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>

/* Up to the scope, which old programs leave out, as the kernel takes it (RFC 2133). */
enum { SHORT_IN6_BYTES = offsetof(struct sockaddr_in6, sin6_scope_id) };

bool destination_parse(const struct sockaddr_storage *address, size_t size, struct destination *out)
{
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;

	if (address->ss_family == AF_INET && size >= sizeof(in4)) {
		memcpy(&in4, address, sizeof(in4));
		*out = (struct destination){ .ip = { { [10] = 0xff, [11] = 0xff } },
					     .port = ntohs(in4.sin_port) };
		memcpy(out->ip.bytes + 12, &in4.sin_addr, 4);
		return true;
	}
	if (address->ss_family == AF_INET6 && size >= SHORT_IN6_BYTES) {
		memcpy(&in6, address, SHORT_IN6_BYTES);
		out->port = ntohs(in6.sin6_port);
		memcpy(out->ip.bytes, &in6.sin6_addr, 16);
		return true;
	}
	return false;
}

/* 127.0.0.0/8, ::1, and the unspecified addresses, which the kernel takes for loopback. */
static bool is_loopback(const struct ip *ip)
{
	static const uint8_t zero[16];

	if (ip_is_v4(ip))
		return ip->bytes[12] == 127 || memcmp(ip->bytes + 12, zero, 4) == 0;
	return memcmp(ip->bytes, zero, 15) == 0 && ip->bytes[15] <= 1;
}

bool destination_is_outside(const struct destination *d)
{
	return !is_loopback(&d->ip);
}

static bool is_proxy(const struct destination *d)
{
	return d->port == DESTINATION_PROXY_PORT &&
	       (!ip_is_v4(&d->ip) || d->ip.bytes[12] == 0 ||
		memcmp(d->ip.bytes + 12, "\x7f\0\0\1", 4) == 0);
}

/*
 * One that is connected, or about to be, gets the kernel's own answer. SECURITY: poll()
 * takes no lock of the socket's, unlike TCP_INFO and getpeername(): another thread of the
 * caller could hold it for as long as its memory takes to come from somewhere slow.
 */
static bool is_new(int socket)
{
	struct pollfd state = { .fd = socket };

	return poll(&state, 1, 0) < 0 || state.revents & POLLHUP;
}

enum destination_way destination_find(const struct attempt *t, struct destination *out)
{
	if (!destination_parse(&t->address.storage, t->size, out))
		return DESTINATION_FREE;
	if (is_loopback(&out->ip))
		return t->type == SOCK_STREAM && is_proxy(out) ? DESTINATION_PROXY
							       : DESTINATION_FREE;
	if (out->port == DESTINATION_NAMES_PORT)
		return DESTINATION_FREE;
	if (t->type != SOCK_STREAM)
		return DESTINATION_UNREACHABLE;
	return is_new(t->socket) ? DESTINATION_ASKED : DESTINATION_FREE;
}
