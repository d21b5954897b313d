/* SPDX-License-Identifier: MIT */
/*
 * Inside the proxy's process: what its parts share. One thread, one loop. Nothing here
 * allocates: each kind of thing comes out of a pool that was mapped at the start and
 * whose memory is touched only as far as it is used; when a pool is empty the work waits
 * or is refused, and the client is told.
 *
 *	client		a connection that was accepted. It speaks a *protocol*, at first the
 *			one that finds out which (client/client.c), then HTTP, SOCKS, …, a tunnel.
 *	exchange	one decision and what became of it: target, judgement, record. A
 *			client has one while a request is under way, and none between
 *			requests. When it is finished its record is sent to the parent.
 *	block		bytes that are pending. A connection that is idle holds none.
 */
#pragma once

#include "os/loop.h"
#include "os/pipe.h"
#include "proxy/decide.h"
#include "proxy/dial/dial.h"
#include "proxy/dns/stand_in.h"
#include "proxy/pool.h"
#include "proxy/proxy.h"

struct client;
struct exchange;
struct http;
struct http_pool;
struct tunnel;
struct question;
struct pipes;

enum {
	BLOCK_BYTES = 64 * 1024 - 16, /* with its head a whole number of pages */
	BLOCK_MAX = 2048,	      /* 128 MiB of them at the worst */
	TOKEN_BYTES = 128,
	MAX_LISTENERS = 256,
	FINISH_DIAL_MS = 1000, /* for a server that something was sent to before the end */
};

/* Bytes that wait: [start, end) of `bytes`. */
struct block {
	struct block *next; /* free for whoever holds it */
	uint32_t start, end;
	char bytes[BLOCK_BYTES];
};

struct listener {
	struct server *server;
	struct watcher watcher;
	uint8_t role; /* enum proxy_role; 0: unused */
	uint16_t port;
};

/* ---- One decision ------------------------------------------------------------------- */

struct exchange {
	struct exchange *next, *previous; /* while it waits to be sent, or is among the lasting */
	struct client *client;		  /* in the second case; else NULL */
	uint64_t open_ms;		  /* since when it is, on loop_now() */
	struct ip peer;			  /* whose connection it is, for the attribution */
	uint16_t peer_port;		  /* 0: it is known, or can't be told */
	uint16_t host_port;		  /* that the peer has connected to; 0: none */
	uint64_t hash;			  /* of a refusal: of what equal ones have in common */
	struct target target;
	struct judgement judgement;
	struct proxy_record record;
	uint64_t began_ms; /* on loop_now() */
	uint64_t send_ms;  /* not before */
	bool is_final;	   /* `record.reason` stands */
};

enum judged { JUDGED_ALLOWED, JUDGED_REFUSED, JUDGED_LATER };

/*
 * Begins the client's next exchange. False: too many records wait for the parent. Then
 * read nothing more: protocol->resume() is called when there is room again.
 */
bool exchange_begin(struct client *c, enum proxy_protocol protocol) MUST_CHECK NONNULL;

/* A target that is an address. */
void exchange_set_address(struct exchange *x, const struct ip *ip, uint16_t port) NONNULL;

/*
 * P13 for `c->exchange->target`, which the caller has filled in. JUDGED_LATER: somebody is
 * asked; protocol->judged() follows. Refused: `exchange->judgement` and the record say why.
 */
enum judged exchange_judge(struct client *c) MUST_CHECK NONNULL;

/*
 * Dials the target, which was allowed; protocol->dialled() follows, never from within.
 * False: it can't be begun, the record has PROXY_FAILED_RESOURCES.
 */
bool exchange_dial(struct client *c) MUST_CHECK NONNULL;

/* The same for an address that no rule is asked about; `fd` is taken over. */
bool exchange_dial_address(struct client *c, int fd, const struct ip *ip, uint16_t port)
	MUST_CHECK NONNULL;

/* Sets how it ended; the first time counts. */
void exchange_set_reason(struct exchange *x, enum proxy_reason reason, int os_error) NONNULL;

/* What refusal_answer() and the like take, out of what the exchange knows. */
struct refusal exchange_refusal(const struct exchange *x) NONNULL;

/* Its record goes to the parent, and the client has none. Fine when there is none. */
void exchange_finish(struct client *c) NONNULL;

/* ---- A connection ------------------------------------------------------------------- */

/* What a client does next. Whoever has ended the client returns at once. */
struct protocol {
	void (*ready)(struct client *c, uint32_t events); /* of its own descriptor */
	void (*judged)(struct client *c, bool is_allowed);
	void (*dialled)(struct client *c, const struct dial_result *result); /* owns result->fd */
	void (*resume)(struct client *c);  /* after exchange_begin() had said no */
	void (*expired)(struct client *c); /* its deadline; ends it, or sets another */
	void (*ended)(struct client *c);   /* gives back what is the protocol's own; may be NULL */
};

struct client {
	struct server *server;
	const struct protocol *protocol;
	struct watcher watcher; /* its fd is the connection, -1 when it was given away */
	uint32_t events;	/* that are waited for now */
	struct client *next, *previous;
	uint64_t deadline_ms; /* 0: none */
	uint8_t role;	      /* of the listener: enum proxy_role */
	bool is_waiting;      /* for room */
	uint16_t port;	      /* of the listener */
	uint16_t peer_port;
	int32_t pid; /* inside; 0: not known (yet) */
	char program[PROXY_PROGRAM_BYTES];
	struct ip peer;
	struct client *same_peer; /* in the table by which attributions are found */

	struct exchange *exchange; /* or NULL */
	struct dial *dial;
	struct question *question;
	union { /* of the protocol */
		struct http *http;
		struct tunnel *tunnel;
		struct block *block; /* while it is found out, and of SOCKS */
	};
	uint32_t state; /* of the protocol, free to use */
};

/*
 * Waits for these: LOOP_IN, LOOP_OUT; LOOP_GONE alone: only for its end; 0: not even for that.
 * False: the client is ended.
 */
bool client_wait(struct client *c, uint32_t events) NONNULL;

/* At least the accuracy of a second. 0: none. */
void client_set_deadline(struct client *c, uint32_t in_ms) NONNULL;

/* Closes the connection and all that belongs to it; an exchange is finished with what it has. */
void client_end(struct client *c) NONNULL;

/* The same, with RST instead of FIN. */
void client_reset(struct client *c) NONNULL;

/*
 * Closes after a last answer in a way that the peer can still read it: what it goes on to send is
 * read and thrown away for a moment (a RST would take the answer with it).
 */
void client_end_gently(struct client *c) NONNULL;

/* As protocol `p` from now on; state is 0. */
void client_speak(struct client *c, const struct protocol *p) NONNULL;

extern const struct protocol protocol_first_byte; /* client/client.c */
extern const struct protocol protocol_socks;   /* client/socks.c: `c->block` has the first bytes */
extern const struct protocol protocol_address; /* client/address.c */
extern const struct protocol protocol_forward; /* client/forward.c */
extern const struct protocol protocol_tunnel;

/*
 * http/client.c: from the first byte on. `c->block` (which it owns) has what was read
 * already; when that is whole head or not is its affair. http_make() at the start, the
 * rest in the proxy; `struct http` is its own.
 */
extern const struct protocol protocol_http;
int http_make(struct http_pool **out, uint32_t connections, struct err *e) MUST_CHECK NONNULL;
void http_begin(struct client *c, struct block *read) NONNULL;

/* PROXY_FINISH: what was sent from inside still goes on; nobody waits for an answer. */
void http_finish(struct client *c) NONNULL;
/* Time is up: the server sees that it has not got all. */
void http_cut(struct client *c) NONNULL;

/* ---- client/tunnel.c ---------------------------------------------------------------- */

/*
 * Bytes both ways between the client and `fd` (taken over), until both have ended; then the
 * client's exchange, which must be there, is finished. First `to_client` is sent ("200
 * Connection established"; not counted as payload) and `to_server`, which was read from the
 * client already (at most BLOCK_BYTES). If the client begins with a TLS hello its
 * server name is judged (P13). The caller's blocks stay the caller's.
 * Limited mode (P14) is the caller's to refuse: exchange_may_tunnel().
 */
void tunnel_start(struct client *c, int fd, struct str to_client, struct str to_server) NONNULL;

/* PROXY_FINISH: ends it, unless bytes from inside may still be on their way. */
void tunnel_finish(struct client *c) NONNULL;
void tunnel_cut(struct client *c) NONNULL; /* both ends see that it has not ended by itself */

/* So that a close sends what is queued: bytes that nobody has read would make it a reset. */
void stream_throw_away(struct server *s, int fd) NONNULL;

/* P14: an opaque tunnel is allowed. False: the record has PROXY_DENIED_TUNNEL. */
bool exchange_may_tunnel(struct client *c) MUST_CHECK NONNULL;

/* ---- client/pipes.c: for streams, whose bytes need not come into this process ------- */

enum { PIPE_BYTES = 1 << 20 };

/* False: there are no more; copy instead. */
bool pipe_take(struct pipes *all, struct pipe *out) MUST_CHECK NONNULL;
/* One with bytes in it is of no use to anybody else. Fine when there is none. */
void pipe_give(struct pipes *all, struct pipe *p, bool is_empty) NONNULL;

/* ---- lasting.c: what is to be told of before its end -------------------------------- */

struct lasting {
	struct exchange *first, *last; /* not told of yet, the oldest first */
	struct timer timer;
	uint64_t told;
};

/* From now on bytes may go between the client and a server, for `c->exchange`. */
void lasting_begin(struct client *c) NONNULL;
/* And now no more. Fine when it was not so. */
void lasting_end(struct server *s, struct exchange *x) NONNULL;

/* ---- The server --------------------------------------------------------------------- */

struct outbox;	  /* records and answers that wait for the parent */
struct questions; /* that the parent has to answer */
struct attributions;
struct on_demand; /* listeners at addresses that are connected to */

struct server {
	struct loop loop;
	int channel;
	struct watcher orders, parent; /* the channel; the pidfd of the parent */
	struct timer tick;	       /* for the first deadline of a client */
	struct proxy_limits limits;
	struct rules *rules;
	struct dialer *dialer;
	struct stand_ins *stand_ins;
	struct http_pool *http;
	struct pool clients, exchanges, blocks, tunnels;
	struct client *first_client; /* all of them */
	struct outbox *outbox;
	struct lasting lasting;
	struct questions *questions;
	struct attributions *attributions;
	struct on_demand *on_demand;
	struct pipes *pipes;
	struct listener *listeners; /* MAX_LISTENERS */
	uint32_t waiting;	    /* clients, for room */
	bool is_accepting;
	bool is_finishing; /* nobody is inside any more: only what was sent is passed on */
	bool is_ending;
	char token[TOKEN_BYTES]; /* "": none is asked for */
	char *scratch;		 /* BLOCK_BYTES, for the length of one call */
	struct err failure;	 /* for calls whose failure ends a client, not the proxy */
};

/* NULL when there is none: refuse with PROXY_FAILED_RESOURCES, or wait. */
struct block *block_take(struct server *s) NONNULL;
void block_give(struct server *s, struct block **b) NONNULL; /* fine when it is NULL */

/* In a time that does not tell how much of it is right. */
bool server_is_token(const struct server *s, struct str token) NONNULL;
static inline bool server_has_token(const struct server *s)
{
	return s->token[0] != '\0';
}

/* ---- Between the parts of the core -------------------------------------------------- */

/* server.c: the whole of the process's life. What can't be made is told, and ends it. */
/* In the forked process, in which nothing may be allocated. */
_Noreturn void server_run(const struct proxy_options *options, const struct rule_place *place,
			  int channel, pid_t parent) NONNULL;
void server_set_accepting(struct server *s, bool is_accepting) NONNULL;

/*
 * Of a client and the server that it now has, before bytes go between them: how much of what
 * nobody reads the kernel may keep for them.
 */
void server_limit_buffers(struct server *s, int client, int server) NONNULL;

/* What a watcher waits for, which `*now` remembers; 0: it is removed. False: it can't. */
bool server_wait(struct server *s, struct watcher *w, uint32_t *now, uint32_t events)
	MUST_CHECK NONNULL;

/* client/client.c. `fd` is taken over; NULL: it is closed. */
struct client *client_begin(struct server *s, int fd, const struct ip *peer, uint16_t peer_port,
			    const struct protocol *p) NONNULL;
int clients_check_deadlines(void *user, struct err *e);
void clients_resume(struct server *s) NONNULL;
void client_set_waiting(struct client *c) NONNULL; /* until protocol->resume() */

/* exchange.c */
struct exchange *exchange_take(struct server *s, enum proxy_protocol protocol) NONNULL;
void exchange_note_target(struct exchange *x) NONNULL;		  /* in the record */
void exchange_note_judgement(struct exchange *x) NONNULL;	  /* the same */
void exchange_send(struct server *s, struct exchange *x) NONNULL; /* it is gone then */
/* As one that is open: false when there is no room for that now. */
bool exchange_tell_open(struct exchange *x) MUST_CHECK NONNULL;
enum decision exchange_look(struct server *s, struct exchange *x) NONNULL; /* judges the target */
bool exchange_allows_tunnel(struct server *s, struct exchange *x) MUST_CHECK NONNULL;
/* The name that the client tells the server: false when it is not allowed, and then it is the target. */
bool exchange_look_again(struct server *s, struct exchange *x, const struct target *named)
	MUST_CHECK NONNULL;
int questions_make(struct questions **out, struct err *e) MUST_CHECK NONNULL;
bool question_ask(struct client *c) MUST_CHECK NONNULL;
void question_drop(struct client *c) NONNULL;
void question_answer(struct server *s, uint64_t id, bool is_allowed) NONNULL;

/* outbox.c */
int outbox_make(struct outbox **out, struct err *e) MUST_CHECK NONNULL;
bool outbox_has_room(const struct server *s) NONNULL;
void outbox_add(struct server *s, struct exchange *x) NONNULL;
/* An answer: false when there is no room for it. */
bool outbox_post(struct server *s, const struct proxy_message *m) NONNULL;
/* Room for the answers of orders that are still to be read. */
bool outbox_takes_orders(const struct server *s) NONNULL;
int outbox_flush(struct server *s, struct err *e) MUST_CHECK NONNULL;
/* At the end: all that is left, waiting for room. False: not all of it could be told. */
bool outbox_drain(struct server *s) MUST_CHECK NONNULL;

/* attribution.c: who holds the other end of a connection. */
int attributions_make(struct attributions **out, struct err *e) MUST_CHECK NONNULL;
/* Of a client: whether anybody tells, and the port of the host's that it is for; 0: none. */
static inline bool attribution_can_come(const struct client *c)
{
	return c->role == PROXY_MIXED || c->role == PROXY_HOST_PORT;
}
static inline uint16_t attribution_host_port(const struct client *c)
{
	return c->role == PROXY_HOST_PORT ? c->port : 0;
}
void attribution_add(struct server *s, const struct proxy_order *o) NONNULL;
void attribution_join(struct client *c) NONNULL;
void attribution_leave(struct client *c) NONNULL;
void attribution_find(struct server *s, struct exchange *x) NONNULL;

/* client/address.c, client/forward.c */
int on_demand_make(struct on_demand **out, struct err *e) MUST_CHECK NONNULL;
void on_demand_order(struct server *s, const struct proxy_order *o) NONNULL; /* WILL_CONNECT */
void on_demand_retry(struct server *s) NONNULL;			   /* those that have waited */
void on_demand_take(struct server *s, bool is_v4, int fd) NONNULL; /* for the stock */
void on_demand_none(struct server *s, bool is_v4) NONNULL;	   /* there are none to be had */
void on_demand_accept(struct server *s) NONNULL;		   /* all that have connected */
/* An unbound socket of the sandbox, or -1: more are asked for, protocol->resume() follows. */
int on_demand_socket(struct server *s, bool is_v4) NONNULL;
void forward_begin(struct client *c) NONNULL;
/* For who says nothing before it is connected: protocol->ready() and ->dialled(). */
void forward_ready(struct client *c, uint32_t events) NONNULL;
void forward_dialled(struct client *c, const struct dial_result *result) NONNULL;

/* client/tunnel.c */
size_t tunnel_bytes(void);
int pipes_make(struct pipes **out, struct err *e) MUST_CHECK NONNULL;

enum { LOCK_CHANNEL = 0 }; /* its number from then on */
/* lock.c: what the process gives up. 0 or -errno, `*at` says at what. */
int lock_begin(int channel, const char **at) NONNULL; /* descriptors, limits, rights */
int lock_finish(const char **at) NONNULL;	      /* files and system calls */
