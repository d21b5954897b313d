/* SPDX-License-Identifier: MIT */
/* Decides about the sandbox's connect() calls, and has them made; see unix_connect.h. */
#include "linux/notify/unix_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hostname.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "linux/notify/caller.h"
#include "linux/notify/connector.h"
#include "linux/notify/connectors.h"
#include "linux/notify/destination.h"
#include "linux/notify/rights.h"
#include "linux/notify/unix_bound.h"
#include "linux/notify/unix_lookup.h"
#include "os/fd.h"
#include "os/listens.h"

/* Newer than some C libraries; the number is that of all the architectures here. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum {
	WAY_OUT_MAX_BYTES = 8 << 10,
	MAX_ERRNO_TOLD = 511, /* the kernel uses greater numbers only internally */
	KNOWN_CALLERS = 64,
	REFUSED_PORTS = 64,
	KNOWN_FOR_MS = 20, /* the kernel does not reuse a pid so soon */
	/* Each has two descriptors of this process; the others are refused. */
	MAX_HELD = 160,
};

/* A connection that somebody is asked about. */
struct held_connect {
	struct held_connect *next;
	struct engine_call call;
	struct stat st; /* of the socket file; the attempt keeps it open */
	struct socket_verdict verdict;
	char named[sizeof(struct sockaddr_un)]; /* the path as the caller wrote it */
	bool is_offered;			/* hold() has not returned yet */
	bool is_answered;
	enum connect_release how;
	size_t path_len;
	char path[];
};

/* A cache of a thread's pid and name inside: reading /proc takes longer than a connect(). */
struct known_caller {
	int32_t pid, inner;
	char program[CALLER_NAME_BYTES];
	uint64_t until_ms;
};

struct unix_connect {
	struct engine *engine;
	const struct sandbox *sandbox;
	const struct unix_sockets *sockets;
	const struct connect_proxy *proxy; /* NULL: not managed */
	struct denials *denials;
	struct unix_bound bound;
	struct connectors connectors;
	struct known_caller known[KNOWN_CALLERS];
	uint16_t refused_ports[REFUSED_PORTS]; /* on loopback, already checked */
	size_t refused_count;
	struct known_caller asks_for_names; /* the last caller that connected to a name server */
	const struct connect_asker *asker;  /* NULL: nobody is asked */
	struct held_connect *held;
	size_t held_count;
	struct inside *inside; /* NULL: nobody inside can ask */
	bool hears_names;
};

/* ---- Denials -------------------------------------------------------------------- */

/* Who tries; `name` has to live as long as the denial. */
static void identify(const struct unix_connect *u, const struct engine_call *call,
		     struct denial *denial, char name[CALLER_NAME_BYTES])
{
	struct caller_status status;

	caller_read_name(call->pid, name);
	if (caller_read_status(call->pid, &status))
		denial->pid = status.inner_process;
	/* The caller has ended, so the pid may be another's. */
	if (!engine_is_waiting(u->engine, call->id)) {
		denial->pid = 0;
		name[0] = '\0';
	}
	denial->program = str_of(name);
}

static void add_denial(struct unix_connect *u, const struct attempt *t, struct denial *denial)
{
	char name[CALLER_NAME_BYTES];

	identify(u, &t->call, denial, name);
	denials_add(u->denials, denial);
}

static struct str rule_text(enum socket_reason reason)
{
	static const char *const texts[] = {
		[SOCKET_ALLOWED] = "",
		[SOCKET_NETWORK_OFF] = "the network is off",
		[SOCKET_DENIED] = "the policy denies this socket",
		[SOCKET_REPLACED] = "not the socket that was there when the run started",
		[SOCKET_UNNAMED] = "the policy does not name this socket",
	};

	return str_of(texts[reason]);
}

/* The option that would allow it for a run; "" if none would. */
static void describe_way_out(const struct socket_verdict *verdict, struct str path, struct buf *out)
{
	if (verdict->is_final || utf8_check(path) != path.len ||
	    (verdict->reason != SOCKET_NETWORK_OFF && verdict->reason != SOCKET_UNNAMED))
		return;
	buf_add_text(out, "--allow-socket ");
	shell_add_word(out, path);
}

static struct denial describe_path(const struct socket_verdict *verdict, struct str path,
				   const char *named, struct buf *way_out)
{
	struct denial denial = { .kind = DENIAL_UNIX_SOCKET,
				 .operation = OPERATION_UNIX_CONNECT,
				 .subject = path,
				 .named = str_of(named),
				 .os_error = EACCES,
				 .rule = rule_text(verdict->reason) };

	describe_way_out(verdict, path, way_out);
	denial.origin = verdict->origin;
	denial.way_out = way_out->failed == ERR_OK ? buf_str(way_out) : STR_EMPTY;
	denial.value = path;
	denial.option = denial.way_out.len ? "--allow-socket" : NULL;
	return denial;
}

static void deny_path(struct unix_connect *u, const struct attempt *t,
		      const struct socket_verdict *verdict, struct str path)
{
	scoped_buf way_out = BUF_INIT(WAY_OUT_MAX_BYTES);
	struct denial denial = describe_path(verdict, path, t->address.path.sun_path, &way_out);

	add_denial(u, t, &denial);
}

static void deny_socket(struct unix_connect *u, const struct attempt *t, const char *what,
			const char *rule)
{
	struct denial denial = {
		.kind = DENIAL_UNIX_SOCKET,
		.operation = OPERATION_UNIX_CONNECT,
		.rule = str_of(rule),
		.way_out = STR_EMPTY,
	};
	char subject[64];

	(void)snprintf(subject, sizeof(subject), "%s %d", what, (int)t->call.args[0]);
	denial.subject = str_of(subject);
	add_denial(u, t, &denial);
}

/* ---- Which network a socket belongs to ----------------------------------------------------------- */

/* 0, or -errno where the kernel (before 5.14) has no such number. */
static int get_network(int socket, uint64_t *out)
{
	socklen_t size = sizeof(*out);

	return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, out, &size) < 0 ? -errno : 0;
}

static bool stat_network(int socket, struct stat *out)
{
	scoped_fd ns = ioctl(socket, SIOCGSKNS);

	return ns >= 0 && fstat(ns, out) == 0;
}

/*
 * SECURITY: a socket reaches the network namespace that it was made in. The command's standard input
 * may be a socket of the host's, through which it could otherwise reach the host's network.
 */
static bool is_of_sandbox(const struct unix_connect *u, int socket)
{
	uint64_t its = 0, ours = 1;
	struct stat theirs, here;

	if (!u->sandbox->has_own_network)
		return true;
	if (get_network(u->bound.diag, &ours) == 0)
		return get_network(socket, &its) == 0 && its == ours;
	return stat_network(u->bound.diag, &here) && stat_network(socket, &theirs) &&
	       here.st_dev == theirs.st_dev && here.st_ino == theirs.st_ino;
}

/* ---- Paths ------------------------------------------------------------------------ */

/* The inode's path, for the denial and for rules that cover all sockets. */
static struct str read_place(int fd, char out[PATH_MAX_BYTES])
{
	char link[CALLER_PATH_BYTES];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = readlink(link, out, PATH_MAX_BYTES);
	return (struct str){ out, n < 0 ? 0 : (size_t)n };
}

/* Looks up the caller's path with the caller's rights. 0 or -errno. */
static int find_target(const struct unix_connect *u, struct attempt *t)
{
	struct lookup lookup;
	struct rights rights;
	int r = lookup_init(&lookup, u->engine, &t->call, t->address.path.sun_path);

	if (r == 0)
		r = rights_drop(&rights);
	if (r == 0) {
		t->target = lookup_find(&lookup);
		rights_restore(&rights);
		r = t->target < 0 ? t->target : 0;
	}
	lookup_done(&lookup);
	return r;
}

static int find_if_bound(int target)
{
	struct rights rights;
	int r = rights_drop(&rights);

	if (r == 0) {
		r = unix_bound_anywhere(target);
		rights_restore(&rights);
	}
	return r;
}

static enum unix_bound_where find_where(struct unix_connect *u, const struct attempt *t,
					const struct stat *st)
{
	if (u->bound.diag < 0)
		return BOUND_ELSEWHERE;
	/* PID 1 is not dumpable, so an ordinary user can't read its /proc entries. */
	if (!u->bound.inside.is_tree)
		u->bound.inside.pid = t->call.pid;
	return unix_bound_find(&u->bound, t->target, st);
}

/* SECURITY: the owner of the socket is unknown, so treat it as the host's. */
static int deny_unknown_owner(struct unix_connect *u, const struct attempt *t, struct str path)
{
	struct denial denial = {
		.kind = DENIAL_UNIX_SOCKET,
		.operation = OPERATION_UNIX_CONNECT,
		.subject = path,
		.rule = STR("the sandbox has too many processes and descriptors to find out whose "
			    "socket it is"),
		.way_out = STR_EMPTY,
	};

	add_denial(u, t, &denial);
	return -EACCES;
}

/* ---- Asking (P18) ----------------------------------------------------------------------- */

/* Only what no entry speaks of. A network that is off was turned off, or nobody is asked. */
static bool may_ask(const struct unix_connect *u, const struct socket_verdict *verdict)
{
	return u->asker && verdict->reason == SOCKET_UNNAMED && !verdict->is_final &&
	       u->held_count < MAX_HELD;
}

static struct held_connect *remember(struct unix_connect *u, const struct attempt *t,
				     const struct socket_verdict *verdict, const struct stat *st,
				     struct str path)
{
	struct err ignored = ERR_INIT;
	struct held_connect *held = mem_new(sizeof(*held) + path.len + 1, &ignored);

	if (!held)
		return NULL;
	held->call = t->call;
	held->st = *st;
	held->verdict = *verdict;
	held->path_len = path.len;
	memcpy(held->path, path.p, path.len);
	(void)snprintf(held->named, sizeof(held->named), "%s", t->address.path.sun_path);
	held->next = u->held;
	u->held = held;
	u->held_count++;
	return held;
}

static void forget_held(struct unix_connect *u, struct held_connect *held)
{
	struct held_connect **at = &u->held;

	while (*at != held)
		at = &(*at)->next;
	*at = held->next;
	u->held_count--;
	mem_free(held);
}

static struct held_connect *find_held(const struct unix_connect *u, uint64_t id)
{
	struct held_connect *held = u->held;

	while (held && held->call.id != id)
		held = held->next;
	return held;
}

static void deny_held(struct unix_connect *u, const struct held_connect *held,
		      const struct socket_verdict *verdict)
{
	scoped_buf way_out = BUF_INIT(WAY_OUT_MAX_BYTES);
	struct denial denial = describe_path(verdict, (struct str){ held->path, held->path_len },
					     held->named, &way_out);
	char name[CALLER_NAME_BYTES];

	identify(u, &held->call, &denial, name);
	denials_add(u->denials, &denial);
}

/* Forgets it. 0 when it may be made now, else -errno. */
static int settle(struct unix_connect *u, struct held_connect *held)
{
	struct socket_verdict verdict = held->verdict;
	bool may_go = held->how == CONNECT_ONCE;

	/* SECURITY: an answer can't lift what a rule denies, and is about this inode alone. */
	if (held->how == CONNECT_GO_ON) {
		verdict = unix_sockets_decide(u->sockets, &held->st,
					      (struct str){ held->path, held->path_len });
		may_go = verdict.reason == SOCKET_ALLOWED;
	}
	/* A refusal is recorded by who was asked. */
	if (!may_go && held->how != CONNECT_REFUSE)
		deny_held(u, held, &verdict);
	forget_held(u, held);
	return may_go ? 0 : -EACCES;
}

/* 0 when it may be made, or waits for an answer; else -errno. */
static int ask_about(struct unix_connect *u, struct attempt *t,
		     const struct socket_verdict *verdict, const struct stat *st, struct str path)
{
	struct held_connect *held = remember(u, t, verdict, st, path);
	scoped_buf way_out = BUF_INIT(WAY_OUT_MAX_BYTES);
	char name[CALLER_NAME_BYTES];
	struct denial denial;
	bool is_held;

	if (!held) {
		deny_path(u, t, verdict, path);
		return -EACCES;
	}
	denial = describe_path(verdict, path, t->address.path.sun_path, &way_out);
	identify(u, &t->call, &denial, name);
	held->is_offered = true;
	is_held = u->asker->hold(u->asker->user, &t->call, &denial);
	held->is_offered = false;
	if (is_held && !held->is_answered) {
		t->waits_for_answer = true;
		return 0;
	}
	if (is_held)
		return settle(u, held);
	forget_held(u, held);
	deny_path(u, t, verdict, path);
	return -EACCES;
}

void unix_connect_ask(struct unix_connect *u, const struct connect_asker *asker)
{
	u->asker = asker;
}

bool unix_connect_release(struct unix_connect *u, uint64_t id, enum connect_release how)
{
	struct held_connect *held = find_held(u, id);

	if (!held || held->is_answered)
		return false;
	held->how = how;
	if (held->is_offered) {
		held->is_answered = true;
	} else if (engine_is_waiting(u->engine, id)) {
		connectors_release(&u->connectors, id, settle(u, held));
	} else {
		forget_held(u, held);
		connectors_release(&u->connectors, id, -ESRCH);
	}
	return true;
}

static void on_left(void *user, const struct attempt *t)
{
	struct unix_connect *u = user;
	struct held_connect *held = find_held(u, t->call.id);

	if (!held)
		return;
	forget_held(u, held);
	if (u->asker->unhold)
		u->asker->unhold(u->asker->user, t->call.id);
}

/* ---- Which sockets may be reached ---------------------------------------------------------- */

/* 0 when the inode may be connected to, or somebody is asked; else -errno. */
static int check_path(struct unix_connect *u, struct attempt *t)
{
	UNINITIALIZED char place[PATH_MAX_BYTES];
	struct socket_verdict verdict;
	enum unix_bound_where where;
	struct str path;
	struct stat st;
	int r = find_target(u, t);

	if (r < 0)
		return r;
	if (fstat(t->target, &st) < 0)
		return -errno;
	/* Not a socket: let the kernel refuse it. */
	if (!S_ISSOCK(st.st_mode))
		return 0;
	path = read_place(t->target, place);
	verdict = unix_sockets_decide(u->sockets, &st, path);
	if (verdict.reason == SOCKET_ALLOWED)
		return 0;
	where = find_where(u, t, &st);
	if (where == BOUND_INSIDE)
		return 0;
	r = find_if_bound(t->target);
	if (r <= 0)
		return r < 0 ? r : -ECONNREFUSED;
	/* A process inside may have bound it since the first search. */
	if (where == BOUND_ELSEWHERE)
		where = find_where(u, t, &st);
	if (where == BOUND_INSIDE)
		return 0;
	if (where == BOUND_UNTOLD)
		return deny_unknown_owner(u, t, path);
	if (may_ask(u, &verdict))
		return ask_about(u, t, &verdict, &st, path);
	deny_path(u, t, &verdict, path);
	return -EACCES;
}

/*
 * SECURITY: without a network of its own only a path identifies a server. An abstract name could
 * belong to a server of the host by the time it is used.
 */
static int check_on_host(struct unix_connect *u, struct attempt *t)
{
	if (t->domain == AF_NETLINK)
		return attempt_check_netlink(t);
	if (t->domain == AF_UNIX && t->type != SOCK_DGRAM && attempt_has_path(t))
		return check_path(u, t);
	deny_socket(u, t, "socket", "the sandbox has no network of its own to connect in");
	return -EACCES;
}

/* ---- The caller ------------------------------------------------------------------------------ */

static const struct known_caller *identify_caller(struct unix_connect *u, const struct attempt *t)
{
	static const struct known_caller nobody;
	struct known_caller *known = &u->known[(uint32_t)t->call.pid % KNOWN_CALLERS];
	uint64_t now = loop_now();
	struct caller_status status;

	if (known->pid == t->call.pid && now < known->until_ms)
		return known;
	*known = (struct known_caller){ .pid = t->call.pid, .until_ms = now + KNOWN_FOR_MS };
	caller_read_name(t->call.pid, known->program);
	if (caller_read_status(t->call.pid, &status))
		known->inner = status.inner_process;
	if (engine_is_waiting(u->engine, t->call.id))
		return known;
	known->until_ms = 0;
	return &nobody;
}

/* ---- No network ----------------------------------------------------------------------- */

static void describe_address(const struct destination *d, struct buf *subject)
{
	buf_add_text(subject, ip_is_v4(&d->ip) ? "" : "[");
	ip_print(subject, &d->ip);
	buf_printf(subject, ip_is_v4(&d->ip) ? ":%u" : "]:%u", (unsigned)d->port);
}

/* A lookup shows only the name server's address, not the name. */
static bool describe_off(const struct destination *d, struct buf *subject, struct buf *way_out)
{
	bool is_lookup = d->port == DESTINATION_NAMES_PORT;

	/* A name server on loopback is the host's: no process inside may bind that port. */
	if (d->port == 0 || (!is_lookup && !destination_is_outside(d)))
		return false;
	buf_add_text(way_out, "--allow-host ");
	if (is_lookup) {
		buf_add_text(subject, "name server ");
		ip_print(subject, &d->ip);
		buf_add_text(way_out, "NAME");
		return true;
	}
	describe_address(d, subject);
	buf_add(way_out, buf_str(subject));
	return true;
}

/* `host` is the destination, a name or an address. */
static void deny_host(struct unix_connect *u, const struct hostname *host, uint16_t port,
		      struct denial denial, const struct known_caller *caller)
{
	struct net_verdict verdict = net_resolve(u->sockets->plan->net, host, port);

	denial.kind = DENIAL_HOST;
	denial.rule = rule_text(SOCKET_NETWORK_OFF);
	if (verdict.reason == NET_REASON_OFF)
		denial.origin = verdict.origin;
	if (verdict.reason != NET_REASON_OFF || verdict.layer > 0) {
		denial.way_out = STR_EMPTY;
		denial.option = NULL;
	}
	denial.program = str_of(caller->program);
	denial.pid = caller->inner;
	denials_add(u->denials, &denial);
}

/* Only records the denial: without a route, the kernel refuses the call. */
static void note_off(struct unix_connect *u, const struct attempt *t)
{
	char subject_text[80], way_text[100];
	struct buf subject = BUF_OVER(subject_text), way_out = BUF_OVER(way_text);
	const struct known_caller *caller;
	struct destination d;

	if (net_mode(u->sockets->plan->net) != NET_OFF ||
	    !destination_parse(&t->address.storage, t->size, &d) ||
	    !describe_off(&d, &subject, &way_out))
		return;
	caller = identify_caller(u, t);
	/* The name, which is reported when the query comes, says more than the server. */
	if (u->hears_names && d.port == DESTINATION_NAMES_PORT && t->type == SOCK_DGRAM) {
		u->asks_for_names = *caller;
		return;
	}
	deny_host(
		u, &(struct hostname){ .is_ip = true, .ip = d.ip }, d.port,
		(struct denial){ .subject = buf_str(&subject),
				 .way_out = buf_str(&way_out),
				 /* The name that was looked up is unknown here. */
				 .option = d.port == DESTINATION_NAMES_PORT ? NULL : "--allow-host",
				 .value = buf_str(&subject) },
		caller);
}

void unix_connect_hear_names(struct unix_connect *u)
{
	u->hears_names = true;
}

void unix_connect_note_name(struct unix_connect *u, struct str name)
{
	scoped_arena a = ARENA_INIT(4096);
	struct hostname host = { .is_ip = false };
	struct err ignored = ERR_INIT;
	char way_text[300];
	struct buf way_out = BUF_OVER(way_text);

	/* Skip what is no valid host name: no option could allow it. */
	if (hostname_parse_name(&a, name, &host.name, &ignored) < 0)
		return;
	buf_printf(&way_out, "--allow-host %.*s", STR_ALL(host.name));
	deny_host(u, &host, 0,
		  (struct denial){ .operation = OPERATION_LOOKUP,
				   .subject = host.name,
				   .way_out = buf_str(&way_out),
				   .option = "--allow-host",
				   .value = host.name },
		  &u->asks_for_names);
}

/* ---- A managed network --------------------------------------------------------------- */

static bool tell_proxy(struct unix_connect *u, const struct attempt *t, struct proxy_order *order)
{
	const struct known_caller *caller = identify_caller(u, t);

	_Static_assert(sizeof(order->program) == sizeof(caller->program), "a name fits");
	order->pid = caller->inner;
	memcpy(order->program, caller->program, sizeof(order->program));
	return u->proxy->send(u->proxy->user, order);
}

static bool ask_proxy(struct unix_connect *u, const struct attempt *t, const struct destination *d)
{
	struct proxy_order order = {
		.kind = PROXY_WILL_CONNECT, .id = t->call.id, .address = d->ip, .port = d->port
	};

	return tell_proxy(u, t, &order);
}

/* The host's port that it connects to (--host-port); 0: none. */
static uint16_t find_host_port(const struct unix_connect *u, const struct attempt *t)
{
	struct destination d;

	if (t->type != SOCK_STREAM || !destination_parse(&t->address.storage, t->size, &d) ||
	    destination_is_outside(&d))
		return 0;
	for (size_t i = 0; i < u->proxy->host_port_count; i++)
		if (u->proxy->host_ports[i] == d.port)
			return d.port;
	return 0;
}

static int check_managed(struct unix_connect *u, struct attempt *t)
{
	struct destination d;

	switch (destination_find(t, &d)) {
	case DESTINATION_PROXY:
		t->is_told = true;
		return 0;
	case DESTINATION_ASKED:
		t->waits_for_proxy = ask_proxy(u, t, &d);
		return t->waits_for_proxy ? 0 : -ENETUNREACH;
	case DESTINATION_UNREACHABLE:
		return -ENETUNREACH;
	case DESTINATION_FREE:
		break;
	}
	t->is_told = find_host_port(u, t) != 0;
	return 0;
}

/* SECURITY: treat an answer that is no valid errno as a refusal. */
void unix_connect_answer(struct unix_connect *u, uint64_t id, int os_error)
{
	bool is_known = os_error >= 0 && os_error <= MAX_ERRNO_TOLD;

	connectors_release(&u->connectors, id, is_known ? -os_error : -EACCES);
}

/*
 * The sandbox's loopback refused a connection. If a server of the host listens on that port, the
 * command probably meant that one, so report it. This reads the kernel's list of listeners, and
 * connects to nobody.
 */
static void on_refused(void *user, const struct attempt *t)
{
	struct unix_connect *u = user;
	char subject_text[80], way_text[40], port[8];
	struct buf subject = BUF_OVER(subject_text), way_out = BUF_OVER(way_text);
	const struct known_caller *caller;
	struct destination d;

	if (u->sandbox->has_no_namespaces || t->type != SOCK_STREAM ||
	    !destination_parse(&t->address.storage, t->size, &d) || destination_is_outside(&d) ||
	    (u->proxy && find_host_port(u, t)))
		return;
	for (size_t i = 0; i < u->refused_count; i++)
		if (u->refused_ports[i] == d.port)
			return;
	if (u->refused_count == COUNT_OF(u->refused_ports))
		return;
	u->refused_ports[u->refused_count++] = d.port;
	if (!os_listens(&d.ip, d.port))
		return;
	describe_address(&d, &subject);
	buf_printf(&way_out, "--host-port %u", (unsigned)d.port);
	(void)snprintf(port, sizeof(port), "%u", (unsigned)d.port);
	caller = identify_caller(u, t);
	denials_add(u->denials,
		    &(struct denial){ .kind = DENIAL_HOST,
				      .subject = buf_str(&subject),
				      .rule = STR("the sandbox has a loopback of its own"),
				      .way_out = buf_str(&way_out),
				      .option = "--host-port",
				      .value = str_of(port),
				      .program = str_of(caller->program),
				      .pid = caller->inner });
}

static void on_made(void *user, const struct attempt *t, const struct connector_result *result)
{
	struct unix_connect *u = user;
	struct proxy_order order = { .kind = PROXY_HAS_CONNECTED,
				     .host_port = find_host_port(u, t) };
	struct destination source;

	if (!destination_parse(&result->source, result->source_size, &source))
		return;
	order.address = source.ip;
	order.port = source.port;
	/* If this fails, only the program's name is missing in the audit log. */
	(void)tell_proxy(u, t, &order);
}

/* ---- All ------------------------------------------------------------------------------ */

static int check_attempt(struct unix_connect *u, struct attempt *t)
{
	if (!is_of_sandbox(u, t->socket)) {
		deny_socket(u, t, "inherited socket",
			    "the sandbox may use an inherited socket, but not connect it anew");
		return -EACCES;
	}
	if (u->sandbox->has_no_namespaces)
		return check_on_host(u, t);
	switch (t->domain) {
	case AF_INET:
	case AF_INET6:
		if (u->proxy)
			return check_managed(u, t);
		note_off(u, t);
		return 0;
	case AF_NETLINK:
		return attempt_check_netlink(t);
	case AF_UNIX:
		if (t->type == SOCK_DGRAM) {
			deny_socket(u, t, "inherited socket",
				    "a unix datagram socket could reach the host");
			return -EACCES;
		}
		return attempt_has_path(t) ? check_path(u, t) : 0;
	default:
		/* SECURITY: families that ignore network namespaces (vsock) would reach the host. */
		return -EACCES;
	}
}

/* ---- The handler ------------------------------------------------------------------ */

static enum engine_answer on_connect(void *user, struct engine *engine,
				     const struct engine_call *call, int64_t *value)
{
	struct unix_connect *u = user;
	struct attempt t;
	int r;

	if (u->inside && inside_is_meant(u->inside, call))
		return inside_connect(u->inside, call, value);
	/* SECURITY: the filter would allow all others, and notifies of them only for the sake of that. */
	if (net_mode(u->sockets->plan->net) == NET_FULL)
		return ENGINE_CONTINUE;
	r = connectors_make_room(&u->connectors);
	if (r < 0) {
		*value = r;
		return ENGINE_RETURN;
	}
	r = attempt_init(&t, engine, call);
	if (t.socket < 0) {
		*value = r;
		return ENGINE_RETURN;
	}
	if (r == 0)
		r = check_attempt(u, &t);
	/* Refused calls as well: closing the socket here could block. */
	connectors_take(&u->connectors, &t, r);
	return ENGINE_LATER;
}

void unix_connect_serve(struct unix_connect *u, struct inside *inside)
{
	u->inside = inside;
}

struct unix_connect *unix_connect_start(struct arena *a, struct engine *engine,
					const struct sandbox *sandbox,
					const struct unix_sockets *sockets,
					const struct connect_proxy *proxy, struct denials *denials,
					struct err *e)
{
	struct unix_connect *u;
	struct engine_handler handler = { .number = SYS_connect, .call = on_connect };

	if (sandbox->has_own_network && sandbox->unix_diag < 0)
		return FAIL_NULL(e, ERR_INTERNAL, "a sandbox without its sock_diag socket");
	u = ARENA_NEW(a, struct unix_connect, e);
	if (!u)
		return NULL;
	*u = (struct unix_connect){
		.engine = engine,
		.sandbox = sandbox,
		.sockets = sockets,
		.proxy = proxy,
		.denials = denials,
		.bound = { .diag = sandbox->unix_diag,
			   .inside = { .pid = sandbox->pid,
				       .is_tree = sandbox->has_no_namespaces } },
	};
	if (connectors_init(&u->connectors, a, engine, e) < 0)
		return NULL;
	u->connectors.made = on_made;
	u->connectors.refused = on_refused;
	u->connectors.left = on_left;
	u->connectors.user = u;
	handler.user = u;
	engine_handle(engine, &handler);
	return u;
}

void unix_connect_stop(struct unix_connect *u)
{
	connectors_done(&u->connectors);
	while (u->held)
		forget_held(u, u->held);
}
