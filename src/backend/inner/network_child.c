/* SPDX-License-Identifier: MIT */
/*
 * The network of a sandbox, from inside: a namespace that nothing leads out of.
 *
 * When it is managed, every address is its own, so that whatever a program connects to
 * somebody can listen there: "local default dev lo". Rules lead there for TCP and for
 * datagrams to and from port 53; all other packets find no route, which is an error at
 * once (ENETUNREACH) and not silence. IPv4 sends from an address only when the table of
 * local ones has it, so the route has to be in that one, and the rule that asks it first,
 * whatever the packet, has to go. IPv6 does not care, and has a table of its own for it.
 *
 * When there is no network, the name servers of the host are addresses of its own, one route
 * each: who asks for a name is heard, and told at once that there is none.
 *
 * A backend may have another process at work in the same memory: an error that is no
 * failure is not taken from errno.
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
	LOOPBACK = 1, /* the number of the interface in every namespace */
	TABLE_6 = 128,
	LOCAL_RULE = 0,	  /* the kernel's own, that is always there */
	FIRST_RULE = 100, /* behind that, and before those for the rest */
	BACKLOG = 4096,
};

/* ---- Routes --------------------------------------------------------------------- */

/* What was asked for, as the number of a message. */
enum step {
	STEP_LINK = 1,
	STEP_ROUTE_4,
	STEP_RULE_4,
	STEP_ROUTE_6,
	STEP_RULE_6,
	STEP_NAMES,
	STEP_LAST, /* added to that of the last message, which is answered in any case */
};

/* Messages that go to the kernel at once. */
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
	/* There is room for twice what is ever added. */
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
	/* It is there. */
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

/* Loopback is the namespace's own without it. */
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

/* `ports` is FRA_DPORT_RANGE or FRA_SPORT_RANGE, of port 53; 0: any. */
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

/* 127.0.0.0/8 for all, and no more the whole table for all. */
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
 * SECURITY: nothing here can open a way out, there is none. A kernel without routing by
 * rules puts the route into its one table: then datagrams have one, too.
 */
static void take_result(struct inner_job *job, uint32_t step, int os_error)
{
	bool is_rule = step == STEP_RULE_4 || step == STEP_RULE_6;

	if (os_error == 0)
		return;
	/* Names are not heard of then, and that is all; the same one twice is none lost. */
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
		errno = os_error;
		inner_fail(job, INNER_NETWORK, step);
	}
}

/* Each message that failed is answered, and the last one. */
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
		    answer.head.nlmsg_type != NLMSG_ERROR) {
			errno = n < 0 ? (int)-n : EPROTO;
			inner_fail(job, INNER_NETWORK, 0);
		}
		step = answer.head.nlmsg_seq;
		take_result(job, step % STEP_LAST, -answer.result.error);
	} while (step < STEP_LAST);
}

static void send_all(struct inner_job *job, struct batch *b)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		inner_fail(job, INNER_NETWORK, 0);
	b->last->nlmsg_flags |= NLM_F_ACK;
	b->last->nlmsg_seq += STEP_LAST;
	if (write(fd, b->bytes, b->len) != (ssize_t)b->len)
		inner_fail(job, INNER_NETWORK, 0);
	take_results(job, fd);
	close(fd);
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

/* Names are asked of every address, all else is on loopback. */
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
	/* So that a server of the command's own may have the port on another address. */
	set_option(job, fd, SOL_SOCKET, SO_REUSEADDR);
	if (family == AF_INET6)
		set_option(job, fd, IPPROTO_IPV6, IPV6_V6ONLY);
	/* Who asks a name server wants to hear from the one that was asked. */
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

/* 0 or -errno; then none of the family is there. */
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

/* As many as can be had. */
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
	if (r < 0) {
		errno = -r;
		inner_fail(job, INNER_LISTENERS, 1);
	}
	if (!(n->lacks & SANDBOX_LACKS_IPV6) && listen_all(job, AF_INET6) < 0)
		n->lacks |= SANDBOX_LACKS_IPV6;
}
