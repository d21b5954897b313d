/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the proxy's process share. It has one thread and one loop, and allocates
 * nothing: each kind of object has a pool that is mapped at the start. When a pool is empty, work
 * waits, or is refused and the client told.
 *
 *	client		an accepted connection. Its *protocol* is at first the one that finds out
 *			what the client speaks (client/client.c), then HTTP, SOCKS or a tunnel.
 *	exchange	one decision and its outcome: target, judgement, record. A client has one
 *			during a request, and none between requests. At its end the record goes
 *			to the parent.
 *	block		a buffer of pending bytes. An idle connection holds none.
 */
#pragma once

#include "os/loop.h"
#include "os/pipe.h"
#include "proxy/decide.h"
#include "proxy/dial/dial.h"
#include "proxy/dns/sandbox_dns.h"
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
	BLOCK_BYTES = 64 * 1024 - 16, /* a whole number of pages, with its header */
	BLOCK_MAX = 2048,	      /* 128 MiB at most */
	TOKEN_BYTES = 128,
	MAX_LISTENERS = 256,
	FINISH_DIAL_MS = 1000, /* for a server that something was sent to before the end */
};

/* Pending bytes: [start, end) of `bytes`. */
struct block {
	struct block *next; /* for the holder's use */
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
	/* while it waits to be sent, or in the list of open ones */
	struct exchange *next, *previous;
	struct client *client; /* while it is in the list of open ones; else NULL */
	uint64_t open_ms;      /* when it was opened, on loop_now() */
	struct ip peer;	       /* the connection's source, to find its process */
	uint16_t peer_port;    /* 0: the process is known, or can't be found out */
	uint16_t host_port;    /* that the peer connected to; 0: none */
	uint64_t hash;	       /* of a refusal: equal refusals have the same */
	struct target target;
	struct judgement judgement;
	struct proxy_record record;
	uint64_t began_ms; /* on loop_now() */
	uint64_t send_ms;  /* not before */
	bool is_final;	   /* `record.reason` stands */
};

enum judged { JUDGED_ALLOWED, JUDGED_REFUSED, JUDGED_LATER };

/*
 * Begins the client's next exchange. False: too many records wait for the parent. Then read nothing
 * more; protocol->resume() is called when there is room again.
 */
bool exchange_begin(struct client *c, enum proxy_protocol protocol) MUST_CHECK NONNULL;

/* Sets a target that is an address. */
void exchange_set_address(struct exchange *x, const struct ip *ip, uint16_t port) NONNULL;

/*
 * Checks `c->exchange->target`, which the caller has filled in (P13). JUDGED_LATER: the user is
 * asked, and protocol->judged() follows. Refused: `exchange->judgement` and the record say why.
 */
enum judged exchange_judge(struct client *c) MUST_CHECK NONNULL;

/*
 * Dials the target, which was allowed; protocol->dialled() follows, never from within. False: no
 * dial is free, and the record has PROXY_FAILED_RESOURCES.
 */
bool exchange_dial(struct client *c) MUST_CHECK NONNULL;

/* Dials an address that no rule applies to; takes over `fd`. */
bool exchange_dial_address(struct client *c, int fd, const struct ip *ip, uint16_t port)
	MUST_CHECK NONNULL;

/* Sets how it ended; only the first call counts. */
void exchange_set_reason(struct exchange *x, enum proxy_reason reason, int os_error) NONNULL;

/* Fills in the arguments of refusal_answer() and the like. */
struct refusal exchange_refusal(const struct exchange *x) NONNULL;

/* Sends the record to the parent. The client then has no exchange. Fine if there is none. */
void exchange_finish(struct client *c) NONNULL;

/* ---- A connection ------------------------------------------------------------------- */

/* What a client does next. After a call that ended the client, return at once. */
struct protocol {
	void (*ready)(struct client *c, uint32_t events); /* of its own descriptor */
	void (*judged)(struct client *c, bool is_allowed);
	void (*dialled)(struct client *c, const struct dial_result *result); /* owns result->fd */
	void (*resume)(struct client *c); /* after exchange_begin() returned false */
	/* its deadline has passed: ends the client, or sets another */
	void (*expired)(struct client *c);
	void (*ended)(struct client *c); /* frees what belongs to the protocol; may be NULL */
};

struct client {
	struct server *server;
	const struct protocol *protocol;
	struct watcher watcher; /* its fd is the connection; -1 after it was handed over */
	uint32_t events;	/* that are waited for now */
	struct client *next, *previous;
	uint64_t deadline_ms; /* 0: none */
	uint8_t role;	      /* of the listener: enum proxy_role */
	bool is_waiting;      /* for room */
	uint16_t port;	      /* of the listener */
	uint16_t peer_port;
	int32_t pid; /* as seen inside; 0: not known (yet) */
	char program[PROXY_PROGRAM_BYTES];
	struct ip peer;
	struct client *same_peer; /* in the table of attribution.c */

	struct exchange *exchange; /* or NULL */
	struct dial *dial;
	struct question *question;
	union { /* of the protocol */
		struct http *http;
		struct tunnel *tunnel;
		struct block *block; /* while the protocol is unknown, and of SOCKS */
	};
	uint32_t state; /* for the protocol's use */
};

/*
 * Waits for LOOP_IN and LOOP_OUT; for LOOP_GONE alone: only until it closes; 0: not even that.
 * False: the client has ended.
 */
bool client_wait(struct client *c, uint32_t events) NONNULL;

/* Precise to a second. 0: none. */
void client_set_deadline(struct client *c, uint32_t in_ms) NONNULL;

/* Closes the connection and frees all that belongs to it. Finishes its exchange as it is. */
void client_end(struct client *c) NONNULL;

/* The same, with a reset (RST) instead of a FIN. */
void client_reset(struct client *c) NONNULL;

/*
 * Closes so that the peer can still read the last answer: reads and drops for a moment what the
 * peer goes on to send. A reset would make the peer lose the answer.
 */
void client_end_gently(struct client *c) NONNULL;

/* Switches to protocol `p`, with state 0. */
void client_speak(struct client *c, const struct protocol *p) NONNULL;

extern const struct protocol protocol_first_byte; /* client/client.c */
extern const struct protocol protocol_socks;   /* client/socks.c: `c->block` has the first bytes */
extern const struct protocol protocol_address; /* client/address.c */
extern const struct protocol protocol_forward; /* client/forward.c */
extern const struct protocol protocol_tunnel;

/*
 * http/client.c: takes a connection from its first byte on. It takes over `c->block`, which has
 * what was read already, perhaps less than a head. http_make() runs at the start, the rest in the
 * proxy. Only http/ knows `struct http`.
 */
extern const struct protocol protocol_http;
int http_make(struct http_pool **out, uint32_t connections, struct err *e) MUST_CHECK NONNULL;
void http_begin(struct client *c, struct block *read) NONNULL;

/* PROXY_FINISH: forwards what was sent from inside; nobody waits for an answer. */
void http_finish(struct client *c) NONNULL;
/* Time is up: resets, so that the server sees that the request is incomplete. */
void http_cut(struct client *c) NONNULL;

/* ---- client/tunnel.c ---------------------------------------------------------------- */

/*
 * Copies bytes both ways between the client and `fd` (taken over) until both have closed, then
 * finishes the client's exchange, which must exist. First sends `to_client` ("200 Connection
 * established"; not counted as payload) and `to_server`, which was read from the client already (at
 * most BLOCK_BYTES). If the client begins with a TLS ClientHello, checks its server name (P13). The
 * blocks stay the caller's. The caller must check limited mode (P14) with exchange_may_tunnel().
 */
void tunnel_start(struct client *c, int fd, struct str to_client, struct str to_server) NONNULL;

/* PROXY_FINISH: ends the tunnel, unless bytes from inside may still come. */
void tunnel_finish(struct client *c) NONNULL;
void tunnel_cut(struct client *c) NONNULL; /* resets both ends, so that they see it as incomplete */

/* Reads what is left, so that a close sends what is queued: unread bytes would make it a reset. */
void stream_throw_away(struct server *s, int fd) NONNULL;

/* P14: whether a tunnel is allowed. False: the record has PROXY_DENIED_TUNNEL. */
bool exchange_may_tunnel(struct client *c) MUST_CHECK NONNULL;

/* ---- client/pipes.c: for streams, whose bytes need not come into this process ------- */

enum { PIPE_BYTES = 1 << 20 };

/* False: there are no more; copy instead. */
bool pipe_take(struct pipes *all, struct pipe *out) MUST_CHECK NONNULL;
/* Closes a pipe with bytes in it, since nobody else can use it. Fine if there is none. */
void pipe_give(struct pipes *all, struct pipe *p, bool is_empty) NONNULL;

/* ---- open_records.c: records of connections that are still open --------------------- */

struct open_records {
	struct exchange *first, *last; /* those without a record, oldest first */
	struct timer timer;
	uint64_t told;
};

/* From now on bytes may flow between the client and a server, for `c->exchange`. */
void open_records_add(struct client *c) NONNULL;
/* From now on none flow. Fine if none did. */
void open_records_remove(struct server *s, struct exchange *x) NONNULL;

/* ---- The server --------------------------------------------------------------------- */

struct outbox;	  /* records and answers that wait for the parent */
struct questions; /* that the parent has to answer */
struct attributions;
struct on_demand; /* listeners at addresses that programs connect to */

struct server {
	struct loop loop;
	int channel;
	struct watcher orders, parent; /* the channel; the pidfd of the parent */
	struct timer tick;	       /* for the first deadline of a client */
	struct proxy_limits limits;
	struct rules *rules;
	struct dialer *dialer;
	struct sandbox_dns *sandbox_dns;
	struct http_pool *http;
	struct pool clients, exchanges, blocks, tunnels;
	struct client *first_client; /* all of them */
	struct outbox *outbox;
	struct open_records open_records;
	struct questions *questions;
	struct attributions *attributions;
	struct on_demand *on_demand;
	struct pipes *pipes;
	struct listener *listeners; /* MAX_LISTENERS */
	uint32_t waiting;	    /* clients, for room */
	bool is_accepting;
	bool is_finishing; /* every process inside has ended: only forward what was sent */
	bool is_ending;
	char token[TOKEN_BYTES]; /* "": none is asked for */
	char *scratch;		 /* BLOCK_BYTES, for use within one call */
	struct err failure;	 /* for failures that end a client and not the proxy */
};

/* NULL if there is none: refuse with PROXY_FAILED_RESOURCES, or wait. */
struct block *block_take(struct server *s) NONNULL;
void block_give(struct server *s, struct block **b) NONNULL; /* fine when it is NULL */

/* Compares in constant time, so that the time tells nothing about the token. */
bool server_is_token(const struct server *s, struct str token) NONNULL;
static inline bool server_has_token(const struct server *s)
{
	return s->token[0] != '\0';
}

/* ---- Between the parts of the core -------------------------------------------------- */

/* server.c: the whole life of the process. If something can't be made, it says so and exits. */
/* In the process that proxy_spawn() made; one that was forked must not allocate. */
_Noreturn void server_run(const struct proxy_options *options, const struct rule_place *place,
			  int channel, pid_t parent) NONNULL;
void server_set_accepting(struct server *s, bool is_accepting) NONNULL;

/* Sets how much the kernel may buffer for a client and its server. Call before bytes flow. */
void server_limit_buffers(struct server *s, int client, int server) NONNULL;

/* Changes what a watcher waits for, which `*now` remembers; 0 removes it. False: that failed. */
bool server_wait(struct server *s, struct watcher *w, uint32_t *now, uint32_t events)
	MUST_CHECK NONNULL;

/* client/client.c. Takes over `fd`; NULL: it was closed. */
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
/* Sends the record as "open". False if there is no room now. */
bool exchange_tell_open(struct exchange *x) MUST_CHECK NONNULL;
enum decision exchange_look(struct server *s, struct exchange *x) NONNULL; /* judges the target */
bool exchange_allows_tunnel(struct server *s, struct exchange *x) MUST_CHECK NONNULL;
/*
 * Checks the server name that the client sends in TLS. False: it is not allowed, and is now the
 * target.
 */
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
/* Queues an answer. False if there is no room. */
bool outbox_post(struct server *s, const struct proxy_message *m) NONNULL;
/* Whether there is room for the answers to orders that are still unread. */
bool outbox_takes_orders(const struct server *s) NONNULL;
int outbox_flush(struct server *s, struct err *e) MUST_CHECK NONNULL;
/* At the end: sends all that is left, and waits for room. False: not all could be sent. */
bool outbox_drain(struct server *s) MUST_CHECK NONNULL;

/* attribution.c: which process holds the other end of a connection. */
int attributions_make(struct attributions **out, struct err *e) MUST_CHECK NONNULL;
/* Of a client: whether its process will be told, and the host port that it is for; 0: none. */
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
/* An unbound socket of the sandbox, or -1: then asks for more, and protocol->resume() follows. */
int on_demand_socket(struct server *s, bool is_v4) NONNULL;
void forward_begin(struct client *c) NONNULL;
/* protocol->ready() and ->dialled() for a client that must stay silent until it is connected. */
void forward_ready(struct client *c, uint32_t events) NONNULL;
void forward_dialled(struct client *c, const struct dial_result *result) NONNULL;

/* client/tunnel.c */
size_t tunnel_bytes(void);
int pipes_make(struct pipes **out, struct err *e) MUST_CHECK NONNULL;

enum { LOCK_CHANNEL = 0 }; /* its number from then on, where the process was forked */
/*
 * lock.c: what the process gives up. 0 or -errno; `*at` names the step that failed. `*channel` becomes
 * its number from then on, also on failure.
 */
int lock_begin(int *channel, const char **at) NONNULL; /* descriptors, limits, rights */
int lock_finish(const char **at) NONNULL;	       /* files and system calls */
