/* SPDX-License-Identifier: MIT */
/*
 * Attempts at a managed network: ways past the proxy, and changes of the network itself.
 * Addresses are those of documentation, which are nobody's; in-world makes a network in
 * which all of them have servers, so that a control needs no wire.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 }; /* what is lost, and not refused, takes minutes */

union address {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

static socklen_t fill(union address *out, const char *host, const char *port)
{
	uint16_t number_of = htons((uint16_t)number(port));

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &out->in4.sin_addr) == 1) {
		out->in4.sin_family = AF_INET;
		out->in4.sin_port = number_of;
		return sizeof(out->in4);
	}
	out->in6.sin6_family = AF_INET6;
	out->in6.sin6_port = number_of;
	return inet_pton(AF_INET6, host, &out->in6.sin6_addr) == 1 ? sizeof(out->in6) : 0;
}

static int open_for(const char *host, int type, int protocol)
{
	union address a;

	(void)fill(&a, host, "0");
	return socket(a.any.sa_family, type | SOCK_CLOEXEC, protocol);
}

static int connect_fd(int fd, const char *host, const char *port)
{
	union address a;
	socklen_t size = fill(&a, host, port);

	return outcome(connect(fd, &a.any, size));
}

/* ---- Connecting ----------------------------------------------------------------- */

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The rest, when it is done soon; ETIMEDOUT when it takes longer than a refusal should. */
static int try_at_once(char **a)
{
	int64_t start = now_ms();
	int result = run_attempt(a);

	return now_ms() - start > PATIENCE_MS ? -ETIMEDOUT : result;
}

/* A socket that blocks. */
static int try_tcp_block(char **a)
{
	int fd = open_for(a[0], SOCK_STREAM, 0);

	return fd < 0 ? -errno : connect_fd(fd, a[0], a[1]);
}

/* connect() does nothing yet; the first bytes do. */
static int try_tcp_fastopen_connect(char **a)
{
	int fd = open_for(a[0], SOCK_STREAM, 0), on = 1, result;

	if (fd < 0 ||
	    setsockopt(fd, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, &on, sizeof(on)) < 0)
		return -errno;
	result = connect_fd(fd, a[0], a[1]);
	return result < 0 ? result : outcome(send(fd, "EVIL", 4, MSG_NOSIGNAL));
}

/* To one, to nobody, and to another. */
static int try_tcp_again(char **a)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	int fd = open_for(a[0], SOCK_STREAM, 0), result;

	if (fd < 0)
		return -errno;
	result = connect_fd(fd, a[0], a[1]);
	if (result < 0 || connect(fd, &nobody, sizeof(nobody)) < 0)
		return -EDOM;
	return connect_fd(fd, a[2], a[3]);
}

static int try_tcp_by_device(char **a)
{
	int fd = open_for(a[1], SOCK_STREAM, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, a[0], (socklen_t)strlen(a[0]) + 1) < 0)
		return -errno;
	return connect_fd(fd, a[1], a[2]);
}

/* By way of a[0] to a[1]: loose source routing. EINPROGRESS: it is on its way. */
static int try_tcp_by_way_of(char **a)
{
	uint8_t option[12] = { 1 /* no operation */, 131 /* LSRR */, 11, 4 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (inet_pton(AF_INET, a[0], option + 4) != 1 || inet_pton(AF_INET, a[1], option + 8) != 1)
		return -EDOM;
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_OPTIONS, option, sizeof(option)) < 0)
		return -errno;
	return connect_fd(fd, a[1], a[2]);
}

/* a: from, to, port. */
static int try_tcp_from(char **a)
{
	union address own;
	socklen_t size = fill(&own, a[0], "0");
	int fd = open_for(a[1], SOCK_STREAM, 0), on = 1;

	(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	if (fd < 0 || bind(fd, &own.any, size) < 0)
		return -errno;
	return connect_fd(fd, a[1], a[2]);
}

/* ---- Datagrams ------------------------------------------------------------------ */

static int try_udp_send(char **a)
{
	union address to;
	socklen_t size = fill(&to, a[0], a[1]);
	int fd = open_for(a[0], SOCK_DGRAM, 0), on = 1;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
	return outcome(sendto(fd, "EVIL", 4, 0, &to.any, size));
}

static int try_udp_connect(char **a)
{
	int fd = open_for(a[0], SOCK_DGRAM, 0);

	return fd < 0 ? -errno : connect_fd(fd, a[0], a[1]);
}

static int try_udp_sendmsg(char **a)
{
	union address to;
	struct iovec part = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct mmsghdr message = { .msg_hdr = {
					   .msg_name = &to, .msg_iov = &part, .msg_iovlen = 1 } };
	int fd = open_for(a[0], SOCK_DGRAM, 0);

	message.msg_hdr.msg_namelen = fill(&to, a[0], a[1]);
	return fd < 0 ? -errno : outcome(sendmmsg(fd, &message, 1, 0));
}

static int try_ping(char **a)
{
	union address to;
	socklen_t size = fill(&to, a[0], "0");
	bool is_v4 = to.any.sa_family == AF_INET;
	uint8_t echo[8] = { is_v4 ? ICMP_ECHO : 128 };
	int fd = open_for(a[0], SOCK_DGRAM, is_v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	return fd < 0 ? -errno : outcome(sendto(fd, echo, sizeof(echo), 0, &to.any, size));
}

/* Asks the server a[0] for the address of the name a[1]; says the code of the answer. */
static int try_ask_name(char **a)
{
	uint8_t query[512] = { 0x12, 0x34, 1, 0, 0, 1 }, answer[512];
	size_t length = 12;
	union address to;
	socklen_t size = fill(&to, a[0], "53");
	struct pollfd wait = { .fd = open_for(a[0], SOCK_DGRAM, 0), .events = POLLIN };
	ssize_t n;

	for (const char *at = a[1]; *at != '\0' && length < 300;) {
		size_t label = strcspn(at, ".");

		query[length++] = (uint8_t)label;
		memcpy(query + length, at, label);
		length += label;
		at += label + (at[label] == '.');
	}
	memcpy(query + length, "\0\0\1\0\1", 5);
	if (wait.fd < 0 || sendto(wait.fd, query, length + 5, 0, &to.any, size) < 0)
		return -errno;
	if (poll(&wait, 1, 20000) != 1)
		return -ETIMEDOUT;
	n = recv(wait.fd, answer, sizeof(answer), 0);
	if (n < 12 || answer[0] != 0x12 || answer[1] != 0x34)
		return n < 0 ? -errno : -EDOM;
	say("%d", answer[3] & 15);
	return 0;
}

/* ---- Servers of its own --------------------------------------------------------- */

static int listen_on(const char *host, const char *port)
{
	union address a;
	socklen_t size = fill(&a, host, port);
	int fd = open_for(host, SOCK_STREAM, 0), on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	if (fd < 0 || bind(fd, &a.any, size) < 0 || listen(fd, 8) < 0)
		return -errno;
	return fd;
}

static int try_listen(char **a)
{
	int fd = listen_on(a[0], a[1]);

	return fd < 0 ? fd : 0;
}

/* A server at a[0], port a[2], and a client that connects to a[1]: says "own" when they meet. */
static int try_serve(char **a)
{
	struct pollfd wait = { .fd = listen_on(a[0], a[2]), .events = POLLIN };
	int client = open_for(a[1], SOCK_STREAM, 0), result;

	if (wait.fd < 0)
		return wait.fd;
	result = connect_fd(client, a[1], a[2]);
	if (result == 0)
		say("%s", poll(&wait, 1, 2000) == 1 ? "own" : "other");
	return result;
}

/* The port is used to go out first, and then by a server of its own. */
static int try_serve_after(char **a)
{
	int fd = open_for(a[0], SOCK_STREAM, 0);

	(void)connect_fd(fd, a[0], a[1]);
	(void)close(fd);
	return try_serve((char *[]){ (char[]){ "0.0.0.0" }, (char[]){ "127.0.0.1" }, a[1] });
}

/* ---- Through the proxy ---------------------------------------------------------- */

/* CONNECT a[0]:a[1]; EACCES when it is refused by policy, else by its status. */
static int try_proxy_connect(char **a)
{
	char text[600];
	struct pollfd wait = { .fd = open_for("127.0.0.1", SOCK_STREAM, 0), .events = POLLIN };
	int result = connect_fd(wait.fd, "127.0.0.1", "3128"), status = 0;
	ssize_t n;

	if (result < 0)
		return result;
	(void)snprintf(text, sizeof(text), "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", a[0],
		       a[1], a[0], a[1]);
	if (send(wait.fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return -errno;
	if (poll(&wait, 1, 20000) != 1)
		return -ETIMEDOUT;
	n = recv(wait.fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	text[n] = '\0';
	/* NOLINTNEXTLINE(cert-err34-c): it is compared with what is expected. */
	if (sscanf(text, "HTTP/1.1 %d", &status) != 1)
		return -EDOM;
	if (status == 200)
		return 0;
	return status == 403 ? -EACCES : -ECONNREFUSED;
}

/* ---- Changes of the network ------------------------------------------------------- */

/* One message of netlink; its result. */
static int ask_kernel(uint16_t type, uint16_t flags, const void *body, size_t bytes)
{
	struct {
		struct nlmsghdr head;
		char body[128];
	} request = { .head = { .nlmsg_type = type,
				.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags) } };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr result;
		char rest[256];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	memcpy(request.body, body, bytes);
	request.head.nlmsg_len = (uint32_t)(sizeof(request.head) + bytes);
	if (fd < 0 || send(fd, &request, request.head.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)sizeof(answer.head))
		return -errno;
	(void)close(fd);
	return answer.head.nlmsg_type == NLMSG_ERROR ? answer.result.error : -EDOM;
}

struct route_message {
	struct rtmsg route;
	struct rtattr head;
	uint32_t device;
};

static struct route_message make_route(uint8_t family)
{
	return (struct route_message){ .route = { .rtm_family = family,
						  .rtm_table = RT_TABLE_LOCAL,
						  .rtm_protocol = RTPROT_STATIC,
						  .rtm_scope = RT_SCOPE_HOST,
						  .rtm_type = RTN_LOCAL },
				       .head = { .rta_len = 8, .rta_type = RTA_OIF },
				       .device = 1 };
}

static int try_route_add(char **a)
{
	struct route_message m = make_route(strcmp(a[0], "6") == 0 ? AF_INET6 : AF_INET);

	m.route.rtm_table = 77;
	return ask_kernel(RTM_NEWROUTE, NLM_F_CREATE, &m, sizeof(m));
}

static int try_rule_add(char **a)
{
	/* struct fib_rule_hdr: all packets, to the main table. */
	const uint8_t rule[12] = {
		strcmp(a[0], "6") == 0 ? AF_INET6 : AF_INET, 0, 0, 0, 254, 0, 0, 1
	};

	return ask_kernel(RTM_NEWRULE, NLM_F_CREATE, rule, sizeof(rule));
}

static int try_link_add(char **a)
{
	struct {
		struct ifinfomsg link;
		struct rtattr info, kind;
		char name[8];
	} m = { .info = { .rta_len = 16, .rta_type = IFLA_LINKINFO },
		.kind = { .rta_len = 12, .rta_type = 1 /* IFLA_INFO_KIND */ } };

	(void)snprintf(m.name, sizeof(m.name), "%s", a[0]);
	return ask_kernel(RTM_NEWLINK, NLM_F_CREATE, &m, sizeof(m));
}

static int try_link_down(char **a)
{
	const struct ifinfomsg m = { .ifi_index = 1, .ifi_change = IFF_UP };

	(void)a;
	return ask_kernel(RTM_NEWLINK, 0, &m, sizeof(m));
}

static int try_ioctl_down(char **a)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)a;
	return fd < 0 ? -errno : outcome(ioctl(fd, SIOCSIFFLAGS, &request));
}

static int try_transparent(char **a)
{
	int fd = open_for(a[0], SOCK_STREAM, 0), on = 1;
	bool is_v4 = strchr(a[0], ':') == NULL;

	return outcome(setsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
				  is_v4 ? IP_TRANSPARENT : 75 /* IPV6_TRANSPARENT */, &on,
				  sizeof(on)));
}

/* ---- A network with servers at every address --------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	(void)close(fd);
	return ok;
}

static bool enter_world(void)
{
	unsigned uid = getuid(), gid = getgid();
	const struct ifinfomsg up = { .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct route_message in4 = make_route(AF_INET), in6 = make_route(AF_INET6);
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	(void)write_file("/proc/self/setgroups", "deny");
	if (!write_file("/proc/self/uid_map", map))
		return false;
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map) &&
	       write_file("/proc/sys/net/ipv4/ping_group_range", "0 0") &&
	       ask_kernel(RTM_NEWLINK, 0, &up, sizeof(up)) == 0 &&
	       ask_kernel(RTM_NEWROUTE, NLM_F_CREATE, &in4, sizeof(in4)) == 0 &&
	       ask_kernel(RTM_NEWROUTE, NLM_F_CREATE, &in6, sizeof(in6)) == 0;
}

/* Accepts for ever, of both families. */
static _Noreturn void serve_world(int told)
{
	int fd = listen_on("::", "8443");

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!write(told, fd >= 0 ? "y" : "n", 1);
	for (;;)
		(void)close(accept(fd, NULL, NULL));
}

static int try_in_world(char **a)
{
	int told[2];
	char byte = 0;
	pid_t child;
	int result;

	if (!enter_world() || pipe(told) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		serve_world(told[1]);
	if (read(told[0], &byte, 1) != 1 || byte != 'y')
		return -EDOM;
	result = run_attempt(a);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	return result;
}

const struct attempt network_attempts[] = {
	{ "at-once", -1, try_at_once },
	{ "in-world", -1, try_in_world },
	{ "tcp-block", 2, try_tcp_block },
	{ "tcp-fastopen-connect", 2, try_tcp_fastopen_connect },
	{ "tcp-again", 4, try_tcp_again },
	{ "tcp-by-device", 3, try_tcp_by_device },
	{ "tcp-by-way-of", 3, try_tcp_by_way_of },
	{ "tcp-from", 3, try_tcp_from },
	{ "udp-send", 2, try_udp_send },
	{ "udp-connect", 2, try_udp_connect },
	{ "udp-sendmsg", 2, try_udp_sendmsg },
	{ "ping", 1, try_ping },
	{ "ask-name", 2, try_ask_name },
	{ "listen", 2, try_listen },
	{ "serve", 3, try_serve },
	{ "serve-after", 2, try_serve_after },
	{ "proxy-connect", 2, try_proxy_connect },
	{ "route-add", 1, try_route_add },
	{ "rule-add", 1, try_rule_add },
	{ "link-add", 1, try_link_add },
	{ "link-down", 0, try_link_down },
	{ "ioctl-down", 0, try_ioctl_down },
	{ "transparent", 1, try_transparent },
	{ NULL, 0, NULL },
};
