/* SPDX-License-Identifier: MIT */
/* SOCKS5: greeting, perhaps a password, a request; then a tunnel. */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/client/socks5.h"
#include "proxy/server.h"

/* In c->state. */
enum { GREETING, PASSWORD, REQUEST, DECIDING, DIALLING };

/*
 * A SOCKS answer is a few bytes, the first on the connection: the socket's buffer has room for it.
 */
static bool answer(struct client *c, const void *bytes, size_t size)
{
	ssize_t n = socket_send(c->watcher.fd, bytes, size);

	if (n == (ssize_t)size)
		return true;
	client_end(c);
	return false;
}

static struct str got(const struct client *c)
{
	const struct block *b = c->block;

	return (struct str){ b->bytes + b->start, b->end - b->start };
}

static void refuse(struct client *c, uint8_t reply)
{
	uint8_t bytes[SOCKS5_REPLY_BYTES];
	size_t size = socks5_put_reply(reply, NULL, 0, bytes);

	exchange_finish(c);
	if (answer(c, bytes, size))
		client_end_gently(c);
}

static void refuse_as_recorded(struct client *c)
{
	refuse(c, refusal_socks_reply(c->exchange->record.reason));
}

/* SOCKS has no answer to a malformed message. */
static void refuse_nonsense(struct client *c)
{
	if (exchange_begin(c, PROXY_BY_SOCKS))
		exchange_set_reason(c->exchange, PROXY_BAD_REQUEST, 0);
	client_end(c);
}

/* ---- What the client says ---------------------------------------------------------------------- */

/* Each returns how many bytes its message had, 0 to wait for more, or -1 if it ended the client. */

static int take_greeting(struct client *c)
{
	struct socks5_greeting greeting;
	int n = socks5_parse_greeting(got(c), &greeting);
	enum socks5_method method;

	if (n == 0)
		return 0;
	if (n < 0) {
		refuse_nonsense(c);
		return -1;
	}
	method = socks5_choose(&greeting, server_has_token(c->server));
	if (!answer(c, (uint8_t[]){ SOCKS5_VERSION, (uint8_t)method }, 2))
		return -1;
	if (method == SOCKS5_NO_METHOD) {
		if (exchange_begin(c, PROXY_BY_SOCKS))
			exchange_set_reason(c->exchange, PROXY_BAD_TOKEN, 0);
		client_end_gently(c);
		return -1;
	}
	c->state = method == SOCKS5_PASSWORD ? PASSWORD : REQUEST;
	return n;
}

static int take_password(struct client *c)
{
	struct socks5_auth auth;
	int n = socks5_parse_auth(got(c), &auth);
	bool is_right;

	if (n == 0)
		return 0;
	if (n < 0) {
		refuse_nonsense(c);
		return -1;
	}
	is_right = !server_has_token(c->server) || server_is_token(c->server, auth.password);
	if (!answer(c, (uint8_t[]){ 1, is_right ? 0 : 1 }, 2))
		return -1;
	if (!is_right) {
		if (exchange_begin(c, PROXY_BY_SOCKS))
			exchange_set_reason(c->exchange, PROXY_BAD_TOKEN, 0);
		client_end_gently(c);
		return -1;
	}
	c->state = REQUEST;
	return n;
}

static bool set_target(struct exchange *x, const struct socks5_request *r)
{
	char why[128];

	if (!r->is_ip)
		return target_parse(&x->target, r->name, r->port, why, sizeof(why));
	exchange_set_address(x, &r->ip, r->port);
	return true;
}

static void dial_or_refuse(struct client *c, bool is_allowed)
{
	if (!is_allowed || !exchange_may_tunnel(c) || !exchange_dial(c)) {
		refuse_as_recorded(c);
		return;
	}
	c->state = DIALLING;
	client_set_deadline(c, 0); /* a dial has its own */
	(void)client_wait(c, LOOP_IN);
}

static void judge(struct client *c)
{
	enum judged judged = exchange_judge(c);

	c->state = DECIDING;
	if (judged == JUDGED_LATER)
		(void)client_wait(c, LOOP_GONE);
	else
		dial_or_refuse(c, judged == JUDGED_ALLOWED);
}

static int take_request(struct client *c)
{
	struct socks5_request request;
	int n = socks5_parse_request(got(c), &request);

	if (n == 0)
		return 0;
	if (!exchange_begin(c, PROXY_BY_SOCKS)) {
		/* The message is read again when there is room. */
		(void)client_wait(c, LOOP_GONE);
		return -1;
	}
	if (n < 0 || request.refused != SOCKS5_DONE || !set_target(c->exchange, &request)) {
		exchange_set_reason(c->exchange, PROXY_BAD_REQUEST, 0);
		refuse(c, request.refused != SOCKS5_DONE ? (uint8_t)request.refused
							 : (uint8_t)SOCKS5_FAILURE);
		return -1;
	}
	c->block->start += (uint32_t)n;
	judge(c);
	return -1;
}

static void take_messages(struct client *c)
{
	static int (*const take[])(struct client * c) = {
		[GREETING] = take_greeting,
		[PASSWORD] = take_password,
		[REQUEST] = take_request,
	};

	/* Every refusal must get a record. */
	if (!outbox_has_room(c->server)) {
		client_set_waiting(c);
		(void)client_wait(c, LOOP_GONE);
		return;
	}
	for (;;) {
		int n = take[c->state](c);

		if (n < 0)
			return;
		if (n == 0)
			break;
		c->block->start += (uint32_t)n;
	}
	/* A connection that waits for the client's next message holds no block. */
	if (c->block->start == c->block->end)
		block_give(c->server, &c->block);
	(void)client_wait(c, LOOP_IN);
}

/* True with new bytes. */
static bool read_more(struct client *c)
{
	struct block *b = c->block ? c->block : block_take(c->server);
	ssize_t n;

	if (!b) {
		client_end(c);
		return false;
	}
	c->block = b;
	/* Every message is shorter than a block, so there is room for the rest of this one. */
	if (b->start > 0) {
		memmove(b->bytes, b->bytes + b->start, b->end - b->start);
		b->end -= b->start;
		b->start = 0;
	}
	n = socket_receive(c->watcher.fd, b->bytes + b->end, BLOCK_BYTES - b->end);
	if (n > 0) {
		b->end += (uint32_t)n;
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (b->start == b->end)
			block_give(c->server, &c->block);
		return false;
	}
	client_end(c);
	return false;
}

/* ---- The protocol -------------------------------------------------------------------------------- */

static void ready(struct client *c, uint32_t events)
{
	/* Called without events right after the first byte, when the block has data already. */
	if (c->state >= DECIDING || c->is_waiting) {
		/*
		 * Few clients send more before they are answered; only then is another read worth a
		 * system call.
		 */
		if (events & LOOP_GONE)
			client_end(c);
		else
			(void)client_wait(c, LOOP_GONE);
		return;
	}
	if (events == 0 || read_more(c))
		take_messages(c);
}

static void dialled(struct client *c, const struct dial_result *result)
{
	struct server *s = c->server;
	uint8_t bytes[SOCKS5_REPLY_BYTES];
	struct block *rest = c->block;
	size_t size;

	if (result->fd < 0) {
		refuse_as_recorded(c);
		return;
	}
	size = socks5_put_reply(SOCKS5_DONE, NULL, 0, bytes);
	/* Take the block from the client before tunnel_start(), which may end the client. */
	c->block = NULL;
	tunnel_start(c, result->fd, (struct str){ (char *)bytes, size },
		     rest ? (struct str){ rest->bytes + rest->start, rest->end - rest->start }
			  : STR_EMPTY);
	block_give(s, &rest);
}

static void ended(struct client *c)
{
	block_give(c->server, &c->block);
}

const struct protocol protocol_socks = {
	.ready = ready,
	.judged = dial_or_refuse,
	.dialled = dialled,
	.resume = take_messages,
	.expired = client_end,
	.ended = ended,
};
