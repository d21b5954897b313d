/* SPDX-License-Identifier: MIT */
/*
 * Single ports that the user asked for by number: host ports that the command may reach
 * (--host-port), and ports of the command that the host may reach (--publish). No rule applies to
 * them.
 */
#include "proxy/server.h"

static const struct ip loopback = { { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };

void forward_begin(struct client *c)
{
	bool is_published = c->role == PROXY_PUBLISHED;
	int fd = -1; /* on the host: the dialer makes one */

	if (!c->exchange &&
	    !exchange_begin(c, is_published ? PROXY_BY_PUBLISHED : PROXY_BY_HOST_PORT)) {
		(void)client_wait(c, LOOP_GONE);
		return;
	}
	exchange_set_address(c->exchange, &loopback, c->port);
	if (is_published)
		fd = on_demand_socket(c->server, true);
	if (fd < 0 && is_published) {
		client_set_waiting(c);	 /* for a socket of the sandbox's network */
		if (c->deadline_ms == 0) /* of a retry the time counts from the first attempt */
			client_set_deadline(c, c->server->limits.dial_ms);
		(void)client_wait(c, LOOP_GONE);
	} else if (!exchange_dial_address(c, fd, &loopback, c->port)) {
		client_reset(c);
	} else {
		client_set_deadline(c, 0);
		(void)client_wait(c, LOOP_GONE);
	}
}

void forward_ready(struct client *c, uint32_t events)
{
	if (events & LOOP_GONE)
		client_end(c);
}

void forward_dialled(struct client *c, const struct dial_result *result)
{
	if (result->fd < 0)
		client_reset(c);
	else
		tunnel_start(c, result->fd, STR_EMPTY, STR_EMPTY);
}

static void expired(struct client *c)
{
	exchange_set_reason(c->exchange, PROXY_FAILED_RESOURCES, 0);
	client_reset(c);
}

const struct protocol protocol_forward = {
	.ready = forward_ready,
	.dialled = forward_dialled,
	.resume = forward_begin,
	.expired = expired,
};
