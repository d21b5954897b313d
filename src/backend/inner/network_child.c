/* SPDX-License-Identifier: MIT */
/*
 * Sets up the sandbox's network from inside: a network namespace without any route to the outside.
 *
 * In a managed network every address is local ("local default dev lo"), so that the proxy can
 * listen on whatever a program connects to. Routing rules select this route for TCP, and for UDP to
 * and from port 53. All other packets have no route and fail at once with ENETUNREACH. IPv4 uses
 * a source address only if the table "local" has it. So the route has to be in that table, and the
 * kernel's rule that consults this table for every packet is removed. IPv6 has no such condition,
 * so its route is in a table of its own.
 *
 * Without a network, each name server of the host gets a local route. So a DNS query reaches
 * a socket of the sandbox, which records the name, and the program gets an error at once.
 *
 * Another process may share this memory, errno included. So calls that may fail here without harm
 * are raw calls, which return the error.
 */
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/inner/inner.h"
#include "os/linux/raw_call.h"

enum {
	LOOPBACK = 1, /* the interface's index in every namespace */
	TABLE_6 = 128,
	LOCAL_RULE = 0,	  /* the kernel's own rule for the table "local" */
	FIRST_RULE = 100, /* after that rule, before those for other tables */
	BACKLOG = 4096,
};

/* ---- Routes --------------------------------------------------------------------- */

/* What a message asks for; sent as its sequence number. */
enum step {
	STEP_LINK = 1,
	STEP_ROUTE_4,
	STEP_RULE_4,
	STEP_ROUTE_6,
	STEP_RULE_6,
	STEP_NAMES,
	STEP_LAST, /* added for the last message, which is always acknowledged */
};

/* Netlink messages that are sent in one call. */
struct batch {
	_Alignas(struct nlmsghdr) char bytes[1024];
	size_t len;
	struct nlmsghdr *last;
};

static void *add_room(struct batch *b, size_t bytes)
{
	const size_t alignment = NLMSG_ALIGNTO;
	void *at = b->bytes + b->len;

	b->len += (bytes + alignment - 1) / alignment * alignment;
	/* Can't happen: the buffer is twice as large as all messages. */
	if (b->len > sizeof(b->bytes))
		__builtin_trap();
	return at;
}

static void add_message(struct batch *b, uint32_t step, uint16_t type, const void *body,
			size_t bytes)
{
	b->last = add_room(b, sizeof(*b->last));
	*b->last = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(sizeof(*b->last) + bytes),
				      .nlmsg_type = type,
				      .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL,
				      .nlmsg_seq = step };
	memcpy(add_room(b, bytes), body, bytes);
}

static void add_attribute(struct batch *b, uint16_t type, const void *value, size_t bytes)
{
	struct nlattr *head = add_room(b, sizeof(*head));

	*head = (struct nlattr){ .nla_len = (uint16_t)(sizeof(*head) + bytes), .nla_type = type };
	memcpy(add_room(b, bytes), value, bytes);
	b->last->nlmsg_len = (uint32_t)(b->bytes + b->len - (char *)b->last);
}

static void add_link(struct batch *b)
{
	const struct ifinfomsg up = { .ifi_index = LOOPBACK,
				      .ifi_flags = IFF_UP,
				      .ifi_change = IFF_UP };

	add_message(b, STEP_LINK, RTM_NEWLINK, &up, sizeof(up));
	/* Not NLM_F_CREATE: the interface exists. */
	b->last->nlmsg_flags = NLM_F_REQUEST;
}

static uint8_t table_of(uint8_t family)
{
	return family == AF_INET ? RT_TABLE_LOCAL : TABLE_6;
}

static void add_route(struct batch *b, uint32_t step, uint8_t family)
{
	const struct rtmsg route = { .rtm_family = family,
				     .rtm_table = table_of(family),
				     .rtm_protocol = RTPROT_STATIC,
				     .rtm_scope = RT_SCOPE_HOST,
				     .rtm_type = RTN_LOCAL };
	const uint32_t device = LOOPBACK;

	add_message(b, step, RTM_NEWROUTE, &route, sizeof(route));
	add_attribute(b, RTA_OIF, &device, sizeof(device));
}

/* A name server on loopback needs no route. */
static void add_name_servers(struct batch *b, const struct inner_network *n)
{
	const struct rtmsg route = { .rtm_family = AF_INET,
				     .rtm_dst_len = 32,
				     .rtm_table = RT_TABLE_LOCAL,
				     .rtm_protocol = RTPROT_STATIC,
				     .rtm_scope = RT_SCOPE_HOST,
				     .rtm_type = RTN_LOCAL };
	const uint32_t device = LOOPBACK;

	for (size_t i = 0; i < n->name_server_count; i++) {
		if (ntohl(n->name_servers[i]) >> 24 == IN_LOOPBACKNET)
			continue;
		add_message(b, STEP_NAMES, RTM_NEWROUTE, &route, sizeof(route));
		add_attribute(b, RTA_DST, &n->name_servers[i], sizeof(n->name_servers[i]));
		add_attribute(b, RTA_OIF, &device, sizeof(device));
	}
}

static void add_rule(struct batch *b, uint32_t step, struct fib_rule_hdr rule, uint32_t priority)
{
	rule.table = table_of(rule.family);
	rule.action = FR_ACT_TO_TBL;
	add_message(b, step, RTM_NEWRULE, &rule, sizeof(rule));
	add_attribute(b, FRA_PRIORITY, &priority, sizeof(priority));
}

/* `ports` is FRA_DPORT_RANGE or FRA_SPORT_RANGE, for port 53; 0: all ports. */
static void add_protocol(struct batch *b, uint32_t step, uint8_t family, uint8_t protocol,
			 uint16_t ports)
{
	const struct fib_rule_port_range range = { LAUNCH_NAMES_PORT, LAUNCH_NAMES_PORT };

	add_rule(b, step, (struct fib_rule_hdr){ .family = family }, FIRST_RULE);
	add_attribute(b, FRA_IP_PROTO, &protocol, sizeof(protocol));
	if (ports)
		add_attribute(b, ports, &range, sizeof(range));
}

static void add_protocols(struct batch *b, uint32_t step, uint8_t family)
{
	add_protocol(b, step, family, IPPROTO_TCP, 0);
	add_protocol(b, step, family, IPPROTO_UDP, FRA_DPORT_RANGE);
	add_protocol(b, step, family, IPPROTO_UDP, FRA_SPORT_RANGE);
}

/* All packets may use 127.0.0.0/8 of the table "local", but no longer the whole table. */
static void replace_local(struct batch *b)
{
	const uint32_t loopback = htonl(INADDR_LOOPBACK & IN_CLASSA_NET);

	add_rule(b, STEP_RULE_4, (struct fib_rule_hdr){ .family = AF_INET, .dst_len = 8 },
		 FIRST_RULE);
	add_attribute(b, FRA_DST, &loopback, sizeof(loopback));
	add_rule(b, STEP_RULE_4, (struct fib_rule_hdr){ .family = AF_INET }, LOCAL_RULE);
	b->last->nlmsg_type = RTM_DELRULE;
	b->last->nlmsg_flags = NLM_F_REQUEST;
}

/*
 * SECURITY: a failure here can't open a way out, because the namespace has no other interface. A
 * kernel without routing rules applies the route to all packets, so that UDP has a route, too.
 */
static void take_result(struct inner_job *job, uint32_t step, int os_error)
{
	bool is_rule = step == STEP_RULE_4 || step == STEP_RULE_6;

	if (os_error == 0)
		return;
	/* Then names are only missing from the report. EEXIST: the host lists one server twice. */
	if (step == STEP_NAMES) {
		if (os_error != EEXIST)
			job->network.name_server_count = 0;
		return;
	}
	if (is_rule && os_error == EOPNOTSUPP) {
		job->network.lacks |= SANDBOX_LACKS_RULES;
	} else if (step == STEP_ROUTE_6 || step == STEP_RULE_6) {
		job->network.lacks |= SANDBOX_LACKS_IPV6;
	} else {
		inner_fail_with(job, INNER_NETWORK, step, os_error);
	}
}

/* The kernel answers each message that failed, and the last one. */
static void take_results(struct inner_job *job, int fd)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr result;
		char rest[256]; /* the message itself */
	} answer = { .head = { .nlmsg_len = 0 } };
	uint32_t step;

	do {
		long n = raw_call(SYS_read, fd, (long)&answer, sizeof(answer), 0);

		if (n < (long)(sizeof(answer.head) + sizeof(answer.result)) ||
		    answer.head.nlmsg_type != NLMSG_ERROR)
			inner_fail_with(job, INNER_NETWORK, 0, n < 0 ? (int)-n : EPROTO);
		step = answer.head.nlmsg_seq;
		take_result(job, step % STEP_LAST, -answer.result.error);
	} while (step < STEP_LAST);
}

static void send_all(struct inner_job *job, struct batch *b)
{
	long fd = raw_call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE, 0);
	long n;

	if (fd < 0)
		inner_fail_with(job, INNER_NETWORK, 0, (int)-fd);
	b->last->nlmsg_flags |= NLM_F_ACK;
	b->last->nlmsg_seq += STEP_LAST;
	n = raw_call(SYS_write, fd, (long)b->bytes, (long)b->len, 0);
	if (n != (long)b->len)
		inner_fail_with(job, INNER_NETWORK, 0, n < 0 ? (int)-n : EIO);
	take_results(job, (int)fd);
	(void)raw_call(SYS_close, fd, 0, 0, 0);
}

static void make_routes(struct inner_job *job)
{
	struct batch b = { .len = 0 };

	add_link(&b);
	if (job->network.is_managed) {
		add_route(&b, STEP_ROUTE_4, AF_INET);
		add_protocols(&b, STEP_RULE_4, AF_INET);
		replace_local(&b);
		add_route(&b, STEP_ROUTE_6, AF_INET6);
		add_protocols(&b, STEP_RULE_6, AF_INET6);
	} else {
		add_name_servers(&b, &job->network);
	}
	send_all(job, &b);
}

/* ---- Listeners ------------------------------------------------------------------ */

union address {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

static void set_option(const struct inner_job *job, int fd, int level, int option)
{
	const int on = 1;

	if (setsockopt(fd, level, option, &on, sizeof(on)) < 0)
		inner_fail(job, INNER_LISTENERS, 0);
}

/* DNS is served on every address, everything else on loopback. */
static union address where(int family, const struct sandbox_socket *s)
{
	bool is_anywhere = s->role == PROXY_NAMES_UDP || s->role == PROXY_NAMES_TCP;
	union address a = { .in6 = { .sin6_family = AF_INET6 } };

	if (family == AF_INET6) {
		a.in6.sin6_port = htons(s->port);
		a.in6.sin6_addr.s6_addr[15] = is_anywhere ? 0 : 1;
		return a;
	}
	a.in4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(s->port) };
	a.in4.sin_addr.s_addr = htonl(is_anywhere ? INADDR_ANY : INADDR_LOOPBACK);
	return a;
}

/* Newer than some C libraries. */
#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78
#endif

static void set_options(const struct inner_job *job, int fd, int family, bool is_stream)
{
	/* So that a server of the command can bind this port on another address. */
	set_option(job, fd, SOL_SOCKET, SO_REUSEADDR);
	if (family == AF_INET6)
		set_option(job, fd, IPPROTO_IPV6, IPV6_V6ONLY);
	/* A DNS client accepts an answer only from the address that it asked. */
	if (!is_stream && family == AF_INET6) {
		set_option(job, fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
		set_option(job, fd, IPPROTO_IPV6, IPV6_FREEBIND);
	} else if (!is_stream) {
		set_option(job, fd, IPPROTO_IP, IP_PKTINFO);
	}
}

/* The socket or -errno. */
static int listen_at(const struct inner_job *job, int family, const struct sandbox_socket *s)
{
	bool is_stream = s->role != PROXY_NAMES_UDP;
	union address a = where(family, s);
	int type = (is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = (int)raw_call(SYS_socket, family, type, 0, 0);
	long r;

	if (fd < 0)
		return fd;
	set_options(job, fd, family, is_stream);
	r = raw_call(SYS_bind, fd, (long)&a, family == AF_INET6 ? sizeof(a.in6) : sizeof(a.in4), 0);
	if (r == 0 && is_stream)
		r = raw_call(SYS_listen, fd, BACKLOG, 0, 0);
	if (r == 0)
		return fd;
	close(fd);
	return (int)r;
}

/* 0; or -errno, and no socket of this family is left open. */
static int listen_all(struct inner_job *job, int family)
{
	struct inner_network *n = &job->network;
	size_t before = n->socket_count;

	for (size_t i = 0; i < inner_network_sockets(n); i++) {
		struct sandbox_socket s = inner_network_socket(n, i);
		int fd = listen_at(job, family, &s);

		if (fd < 0) {
			while (n->socket_count > before)
				close(n->sockets[--n->socket_count]);
			return fd;
		}
		n->sockets[n->socket_count++] = fd;
	}
	return 0;
}

/* Skips servers whose socket can't be bound: their names are missing from the report. */
static void listen_for_names(struct inner_network *n)
{
	for (size_t i = 0; i < n->name_server_count; i++) {
		struct sockaddr_in at = { .sin_family = AF_INET,
					  .sin_port = htons(LAUNCH_NAMES_PORT),
					  .sin_addr = { n->name_servers[i] } };
		int fd = (int)raw_call(SYS_socket, AF_INET,
				       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0);

		if (fd < 0)
			return;
		if (raw_call(SYS_bind, fd, (long)&at, sizeof(at), 0) < 0)
			close(fd);
		else
			n->sockets[n->socket_count++] = fd;
	}
}

void inner_hear_names(struct inner_job *job)
{
	struct batch b = { .len = 0 };

	add_name_servers(&b, &job->network);
	if (b.len)
		send_all(job, &b);
	listen_for_names(&job->network);
}

void inner_make_network(struct inner_job *job)
{
	struct inner_network *n = &job->network;
	int r;

	make_routes(job);
	if (!n->is_managed) {
		listen_for_names(n);
		return;
	}
	r = listen_all(job, AF_INET);
	if (r < 0)
		inner_fail_with(job, INNER_LISTENERS, 1, -r);
	if (!(n->lacks & SANDBOX_LACKS_IPV6) && listen_all(job, AF_INET6) < 0)
		n->lacks |= SANDBOX_LACKS_IPV6;
}
