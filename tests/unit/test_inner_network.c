/* SPDX-License-Identifier: MIT */
/*
 * Tests of backend/inner/network_child.c: in a managed network every address is the
 * sandbox's own for TCP, names are asked of any server, and all else is an error at once.
 */
#include <arpa/inet.h>
#include <poll.h>

#include "backend/inner/inner.h"
#include "cage.h"
#include "test.h"

/* Documentation addresses: nobody's. */
#define ANY_4 "203.0.113.7"
#define ANY_6 "2001:db8::7"

static struct inner_job job;

static int make_managed(void)
{
	job = (struct inner_job){ .channel = -1,
				  .network = { .is_managed = true,
					       .host_ports = { 5432, 6379 },
					       .host_port_count = 2 } };
	inner_make_network(&job);
	return 0;
}

/* ---- Addresses ------------------------------------------------------------------ */

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
	} to;
	socklen_t size;
};

static struct address at(const char *host, uint16_t port)
{
	struct address a = { .size = sizeof(a.to.in4) };

	if (inet_pton(AF_INET, host, &a.to.in4.sin_addr) == 1) {
		a.to.in4.sin_family = AF_INET;
		a.to.in4.sin_port = htons(port);
		return a;
	}
	a = (struct address){ .size = sizeof(a.to.in6) };
	a.to.in6.sin6_family = AF_INET6;
	a.to.in6.sin6_port = htons(port);
	if (inet_pton(AF_INET6, host, &a.to.in6.sin6_addr) != 1)
		a.size = 0;
	return a;
}

static bool is_at(const struct address *a, const char *host, uint16_t port)
{
	struct address b = at(host, port);

	if (a->to.any.sa_family != b.to.any.sa_family)
		return false;
	if (a->to.any.sa_family == AF_INET)
		return a->to.in4.sin_port == b.to.in4.sin_port &&
		       a->to.in4.sin_addr.s_addr == b.to.in4.sin_addr.s_addr;
	return a->to.in6.sin6_port == b.to.in6.sin6_port &&
	       memcmp(&a->to.in6.sin6_addr, &b.to.in6.sin6_addr, 16) == 0;
}

static struct address own_end(int fd)
{
	struct address a = { .size = sizeof(a.to) };

	(void)getsockname(fd, &a.to.any, &a.size);
	return a;
}

static int make_socket(const char *host, int type, int protocol)
{
	return socket(at(host, 0).to.any.sa_family, type | SOCK_CLOEXEC, protocol);
}

/* 0 or -errno. */
static int connect_at(const char *host, uint16_t port, int type)
{
	struct address a = at(host, port);
	int fd = make_socket(host, type, 0);
	int r = connect(fd, &a.to.any, a.size) < 0 ? -errno : 0;

	close(fd);
	return r;
}

static int send_to(int fd, const char *host, uint16_t port)
{
	struct address a = at(host, port);

	return sendto(fd, "x", 1, 0, &a.to.any, a.size) < 0 ? -errno : 0;
}

static int bind_at(const char *host, uint16_t port, bool is_free)
{
	struct address a = at(host, port);
	int fd = make_socket(host, SOCK_STREAM, 0);
	int on = 1, r;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (is_free && a.to.any.sa_family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	else if (is_free)
		(void)setsockopt(fd, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, &on, sizeof(on));
	if (bind(fd, &a.to.any, a.size) == 0 && listen(fd, 8) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

/* ---- TCP ------------------------------------------------------------------------ */

static int reach_listener(const char *host, uint16_t port)
{
	struct address a = at(host, port), seen;
	int listener = bind_at(host, port, true);
	int fd = make_socket(host, SOCK_STREAM, 0), other;

	INSIDE(listener >= 0);
	INSIDE(connect(fd, &a.to.any, a.size) == 0);
	other = accept(listener, NULL, NULL);
	INSIDE(other >= 0);
	seen = own_end(other);
	INSIDE(is_at(&seen, host, port));
	close(other);
	close(fd);
	close(listener);
	return 0;
}

static int every_address_is_local(void)
{
	INSIDE(connect_at(ANY_4, 443, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at(ANY_6, 443, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at("::ffff:203.0.113.7", 443, SOCK_STREAM) == -ECONNREFUSED);
	/* To be bound, an address of IPv6 has to be asked for. */
	INSIDE(close(bind_at(ANY_4, 8443, false)) == 0);
	INSIDE(bind_at(ANY_6, 8443, false) == -EADDRNOTAVAIL);
	return reach_listener(ANY_4, 8443) || reach_listener(ANY_6, 8443) ||
	       reach_listener("198.18.0.1", 8443) || reach_listener("fd00::1", 8443);
}

static int nothing_is_reached(void)
{
	INSIDE(connect_at(ANY_4, 443, SOCK_STREAM) == -ENETUNREACH);
	INSIDE(connect_at(ANY_6, 443, SOCK_STREAM) == -ENETUNREACH);
	return 0;
}

static int run_inside(int (*inside)(void), int (*before)(void))
{
	const struct cage_options o = { .inside = inside,
					.with_capabilities = before,
					.is_free = true };
	struct err e = ERR_INIT;
	struct cage cage;
	struct loop loop;
	int status;

	if (!cage_start(&cage, &o) || loop_init(&loop, &e) < 0)
		return -1;
	cage_go(&cage);
	status = cage_wait(&cage, &loop);
	loop_done(&loop);
	cage_done(&cage);
	return status;
}

TEST(whatever_tcp_connects_to_is_in_the_sandbox)
{
	CHECK_INT(run_inside(nothing_is_reached, NULL), 0);
	CHECK_INT(run_inside(every_address_is_local, make_managed), 0);
}

/* ---- The proxy's sockets ----------------------------------------------------------- */

/* A connection to `host`, `port` comes to the `i`-th socket and to no other. */
static int comes_to(size_t i, const char *host, uint16_t port)
{
	struct pollfd wait[SANDBOX_MAX_SOCKETS];
	size_t count = job.network.socket_count;
	int other;

	INSIDE(connect_at(host, port, SOCK_STREAM) == 0);
	for (size_t k = 0; k < count; k++)
		wait[k] = (struct pollfd){ .fd = job.network.sockets[k], .events = POLLIN };
	INSIDE(poll(wait, count, 1000) == 1 && wait[i].revents);
	other = accept(job.network.sockets[i], NULL, NULL);
	INSIDE(other >= 0);
	close(other);
	return 0;
}

static int sockets_are_there(void)
{
	INSIDE(job.network.lacks == 0);
	INSIDE(job.network.socket_count == 10);
	INSIDE(inner_network_socket(&job.network, 3).role == PROXY_HOST_PORT);
	INSIDE(inner_network_socket(&job.network, 4).port == 6379);
	if (comes_to(0, "127.0.0.1", LAUNCH_PROXY_PORT) || comes_to(5, "::1", LAUNCH_PROXY_PORT) ||
	    comes_to(2, "127.0.0.1", 53) || comes_to(2, ANY_4, 53) || comes_to(7, ANY_6, 53) ||
	    comes_to(3, "127.0.0.1", 5432) || comes_to(9, "::1", 6379))
		return 1;
	/* Not at every address. */
	INSIDE(connect_at("127.0.0.2", LAUNCH_PROXY_PORT, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at(ANY_4, LAUNCH_PROXY_PORT, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at("127.0.0.2", 5432, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at(ANY_6, 5432, SOCK_STREAM) == -ECONNREFUSED);
	/* Low ports and those that are taken are not for the command. */
	INSIDE(bind_at("127.0.0.2", 53, false) == -EACCES);
	INSIDE(bind_at("127.0.0.1", LAUNCH_PROXY_PORT, false) == -EADDRINUSE);
	INSIDE(bind_at("0.0.0.0", LAUNCH_PROXY_PORT, false) == -EADDRINUSE);
	INSIDE(close(bind_at("127.0.0.2", LAUNCH_PROXY_PORT, false)) == 0);
	return 0;
}

TEST(the_proxys_sockets_listen_where_they_should_and_nowhere_else)
{
	CHECK_INT(run_inside(sockets_are_there, make_managed), 0);
}

/* ---- Datagrams ------------------------------------------------------------------- */

/* What comes to the names' socket `i` is answered from the address that was asked. */
static int names_answer(size_t i, const char *host)
{
	char control[256], byte = 0;
	struct address from, seen = { .size = sizeof(seen.to) };
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_name = &from.to,
			    .msg_namelen = sizeof(from.to),
			    .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int fd = make_socket(host, SOCK_DGRAM, 0);
	int server = job.network.sockets[i];

	INSIDE(send_to(fd, host, 53) == 0);
	INSIDE(recvmsg(server, &m, 0) == 1 && byte == 'x');
	INSIDE(CMSG_FIRSTHDR(&m) != NULL);
	/* The same control message says from where to send. */
	INSIDE(sendmsg(server, &m, 0) == 1);
	INSIDE(recvfrom(fd, &byte, 1, 0, &seen.to.any, &seen.size) == 1);
	INSIDE(is_at(&seen, host, 53));
	close(fd);
	return 0;
}

static int errors_come_at_once(void)
{
	int in4 = make_socket(ANY_4, SOCK_DGRAM, 0), in6 = make_socket(ANY_6, SOCK_DGRAM, 0);

	INSIDE(send_to(in4, ANY_4, 443) == -ENETUNREACH);
	INSIDE(send_to(in6, ANY_6, 443) == -ENETUNREACH);
	INSIDE(send_to(in6, "::ffff:203.0.113.7", 123) == -ENETUNREACH);
	INSIDE(connect_at(ANY_4, 443, SOCK_DGRAM) == -ENETUNREACH);
	INSIDE(connect_at(ANY_6, 443, SOCK_DGRAM) == -ENETUNREACH);
	/* Multicast and broadcast, too. */
	INSIDE(send_to(in4, "224.0.0.251", 5353) == -ENETUNREACH);
	INSIDE(send_to(in6, "ff02::fb", 5353) < 0);
	INSIDE(send_to(in4, "255.255.255.255", 67) < 0);
	/* Its own loopback is as ever. */
	INSIDE(send_to(in4, "127.0.0.1", 443) == 0);
	INSIDE(send_to(in6, "::1", 443) == 0);
	/* Ping: no socket, or no route. */
	INSIDE(make_socket(ANY_4, SOCK_DGRAM, IPPROTO_ICMP) < 0);
	INSIDE(make_socket(ANY_6, SOCK_DGRAM, IPPROTO_ICMPV6) < 0);
	INSIDE(make_socket(ANY_4, SOCK_RAW, IPPROTO_ICMP) < 0);
	close(in4);
	close(in6);
	return names_answer(1, ANY_4) || names_answer(1, "127.0.0.1") || names_answer(6, ANY_6) ||
	       names_answer(6, "::1");
}

TEST(datagrams_are_for_names_and_for_loopback_and_else_an_error)
{
	CHECK_INT(run_inside(errors_come_at_once, make_managed), 0);
}

/* ---- No network -------------------------------------------------------------------- */

static int make_off(void)
{
	job = (struct inner_job){ .channel = -1,
				  .network = { .name_servers = { inet_addr("192.0.2.53"),
								 inet_addr("127.0.0.53"),
								 inet_addr("192.0.2.53") },
					       .name_server_count = 3 } };
	inner_make_network(&job);
	return 0;
}

/* What comes to socket `i` can be answered, from the address that was asked. */
static int is_asked(size_t i, const char *host)
{
	struct address from = { .size = sizeof(from.to) }, seen = { .size = sizeof(seen.to) };
	int fd = make_socket(host, SOCK_DGRAM, 0);
	char byte = 0;

	INSIDE(send_to(fd, host, 53) == 0);
	INSIDE(recvfrom(job.network.sockets[i], &byte, 1, 0, &from.to.any, &from.size) == 1);
	INSIDE(byte == 'x');
	INSIDE(sendto(job.network.sockets[i], "y", 1, 0, &from.to.any, from.size) == 1);
	INSIDE(recvfrom(fd, &byte, 1, 0, &seen.to.any, &seen.size) == 1 && byte == 'y');
	INSIDE(is_at(&seen, host, 53));
	close(fd);
	return 0;
}

static int only_names_are_heard(void)
{
	int fd = make_socket(ANY_4, SOCK_DGRAM, 0);

	/* One of the three is there twice. */
	INSIDE(job.network.socket_count == 2);
	INSIDE(send_to(fd, ANY_4, 53) == -ENETUNREACH);
	INSIDE(connect_at(ANY_4, 53, SOCK_STREAM) == -ENETUNREACH);
	INSIDE(connect_at("192.0.2.54", 443, SOCK_STREAM) == -ENETUNREACH);
	INSIDE(connect_at("192.0.2.53", 443, SOCK_STREAM) == -ECONNREFUSED);
	close(fd);
	return nothing_is_reached() || is_asked(0, "192.0.2.53") || is_asked(1, "127.0.0.53");
}

TEST(without_a_network_the_name_servers_are_in_the_sandbox_and_nothing_else_is)
{
	CHECK_INT(run_inside(only_names_are_heard, make_off), 0);
}

/* ---- Kernels with less ----------------------------------------------------------- */

/* As with ipv6.disable=1: there are no such sockets. */
static int refuse_ipv6(void)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT_OF(insns), .filter = insns };

	INSIDE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	INSIDE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
	return make_managed();
}

/* As with net.ipv6.conf.all.disable_ipv6=1: no interface has it. */
static int disable_ipv6(void)
{
	INSIDE(cage_write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1") == 0);
	return make_managed();
}

static int ipv4_is_all_there_is(void)
{
	int fd = make_socket(ANY_4, SOCK_DGRAM, 0);

	INSIDE(job.network.lacks == SANDBOX_LACKS_IPV6);
	INSIDE(job.network.socket_count == 5);
	INSIDE(connect_at(ANY_4, 443, SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(connect_at(ANY_6, 443, SOCK_STREAM) < 0);
	INSIDE(connect_at(ANY_6, 443, SOCK_STREAM) != -ECONNREFUSED);
	INSIDE(send_to(fd, ANY_4, 443) == -ENETUNREACH);
	return comes_to(0, "127.0.0.1", LAUNCH_PROXY_PORT) || comes_to(2, ANY_4, 53) ||
	       names_answer(1, ANY_4) || reach_listener("198.18.0.1", 8443);
}

TEST(without_ipv6_there_is_ipv4_and_it_is_said)
{
	CHECK_INT(run_inside(ipv4_is_all_there_is, refuse_ipv6), 0);
	CHECK_INT(run_inside(ipv4_is_all_there_is, disable_ipv6), 0);
}
