/* SPDX-License-Identifier: MIT */
/*
 * The client of the network bench: one process, epoll, any number of connections.
 *
 *	net_load WHAT WAY TO TARGET CONNECTIONS AMOUNT
 *
 *	WHAT	requests	one after the other on each connection, AMOUNT milliseconds
 *		connects	a new connection for each request, AMOUNT milliseconds
 *		download	one request for AMOUNT bytes on each connection
 *		idle		opens them all, says so, and waits for the end of stdin
 *	WAY	direct, http (absolute-form), connect (a tunnel), socks (the same)
 *	TO	address:port that is connected to, or "env": the proxy that $HTTP_PROXY
 *		names, with its user and password
 *	TARGET	address:port that is meant
 *
 * One JSON line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCK_BYTES = 256 * 1024,
	EVENTS = 256,
	SAMPLES = 1 << 20,
	SMALL = 512,
	PATIENCE_MS = 20000
};

enum what { REQUESTS, CONNECTS, DOWNLOAD, IDLE };
enum way { DIRECT, HTTP, CONNECT, SOCKS };
enum state { CONNECTING, GREETING, TUNNELLING, ANSWER_HEAD, ANSWER_BODY, RESTING };

struct connection {
	int fd;
	enum state state;
	size_t got;    /* of the head */
	uint64_t left; /* of the body */
	double began_us;
	char head[2048];
};

static enum what what;
static enum way way;
static struct sockaddr_in to, target;
static char target_text[64];
static char authorization[512];
static uint64_t amount;
static struct connection *connections;
static size_t connection_count, resting, done_downloads;
static uint64_t done, bytes;
static double begin_us, end_us;
static float samples[SAMPLES];
static int poll_fd;
static char block[BLOCK_BYTES];

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void fail(const char *text, const char *detail)
{
	(void)fprintf(stderr, "net_load: %s: %s\n", text, detail);
	exit(1);
}

static void put(struct connection *c, const void *data, size_t size)
{
	if (send(c->fd, data, size, MSG_NOSIGNAL) != (ssize_t)size)
		fail("send", strerror(errno));
}

/* ---- One connection ------------------------------------------------------------ */

static void begin_connection(struct connection *c)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.ptr = c };
	int one = 1;

	c->began_us = now_us();
	c->state = CONNECTING;
	c->got = 0;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		fail("socket", strerror(errno));
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(c->fd, (const struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
		fail("connect", strerror(errno));
	if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, c->fd, &event) < 0)
		fail("epoll_ctl", strerror(errno));
}

static void begin_request(struct connection *c)
{
	char out[1024];
	uint64_t size = what == DOWNLOAD ? amount : SMALL;
	int len = snprintf(out, sizeof out, "GET %s%s/%llu HTTP/1.1\r\nHost: %s\r\n%s%s\r\n",
			   way == HTTP ? "http://" : "", way == HTTP ? target_text : "",
			   (unsigned long long)size, target_text, way == HTTP ? authorization : "",
			   what == CONNECTS ? "Connection: close\r\n" : "");

	if (what != CONNECTS)
		c->began_us = now_us();
	c->state = ANSWER_HEAD;
	c->got = 0;
	put(c, out, (size_t)len);
}

static void begin_use(struct connection *c)
{
	if (what == IDLE) {
		c->state = RESTING;
		resting++;
		return;
	}
	begin_request(c);
}

static void greet(struct connection *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	int error = 0;
	socklen_t len = sizeof error;
	char out[512];

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error)
		fail("connect", strerror(error));
	(void)epoll_ctl(poll_fd, EPOLL_CTL_MOD, c->fd, &event);
	if (way == CONNECT) {
		c->state = TUNNELLING;
		put(c, out,
		    (size_t)snprintf(out, sizeof out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
				     target_text, target_text, authorization));
	} else if (way == SOCKS) {
		c->state = GREETING;
		put(c, "\5\1\0", 3);
	} else {
		begin_use(c);
	}
}

static void ask_socks(struct connection *c)
{
	char out[10] = { 5, 1, 0, 1 };

	memcpy(out + 4, &target.sin_addr, 4);
	memcpy(out + 8, &target.sin_port, 2);
	c->state = TUNNELLING;
	c->got = 0;
	put(c, out, sizeof out);
}

static void end_request(struct connection *c)
{
	if (done < SAMPLES)
		samples[done] = (float)(now_us() - c->began_us);
	done++;
	if (what == DOWNLOAD) {
		c->state = RESTING;
		done_downloads++;
	} else if (what == CONNECTS) {
		(void)close(c->fd);
		begin_connection(c);
	} else {
		begin_request(c);
	}
}

/* What is behind the head belongs to the body. */
static void read_answer_head(struct connection *c, const char *end)
{
	const char *length = strcasestr(c->head, "\r\nContent-Length:");
	uint64_t behind = c->got - (size_t)(end - c->head);

	if (strncmp(c->head + strlen("HTTP/1.1 "), "200", 3) != 0 || !length)
		fail("answer", c->head);
	c->left = strtoull(length + strlen("\r\nContent-Length:"), NULL, 10);
	bytes += behind;
	c->left -= behind;
	c->state = ANSWER_BODY;
	if (c->left == 0)
		end_request(c);
}

static void read_head(struct connection *c)
{
	ssize_t got = recv(c->fd, c->head + c->got, sizeof c->head - 1 - c->got, 0);
	char *end;

	if (got <= 0)
		fail("head", got == 0 ? "closed" : strerror(errno));
	c->got += (size_t)got;
	c->head[c->got] = '\0';
	if (c->state == GREETING) {
		if (c->got >= 2)
			ask_socks(c);
		return;
	}
	if (c->state == TUNNELLING && way == SOCKS) {
		if (c->got >= 10 && c->head[1] != 0)
			fail("socks", "refused");
		if (c->got >= 10)
			begin_use(c);
		return;
	}
	end = strstr(c->head, "\r\n\r\n");
	if (!end)
		return;
	if (c->state == ANSWER_HEAD) {
		read_answer_head(c, end + 4);
		return;
	}
	if (strncmp(c->head + strlen("HTTP/1.1 "), "200", 3) != 0)
		fail("tunnel", c->head);
	begin_use(c);
}

static void read_body(struct connection *c)
{
	ssize_t got = recv(c->fd, block, c->left < BLOCK_BYTES ? (size_t)c->left : BLOCK_BYTES, 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0)
		fail("body", got == 0 ? "closed" : strerror(errno));
	bytes += (uint64_t)got;
	c->left -= (uint64_t)got;
	if (c->left == 0)
		end_request(c);
}

static void take(struct connection *c)
{
	switch (c->state) {
	case CONNECTING:
		greet(c);
		break;
	case GREETING:
	case TUNNELLING:
	case ANSWER_HEAD:
		read_head(c);
		break;
	case ANSWER_BODY:
		read_body(c);
		break;
	case RESTING:
		if (recv(c->fd, block, sizeof block, 0) == 0)
			fail("idle", "closed");
		break;
	}
}

/* ---- All of it ----------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void report(void)
{
	size_t count = done < SAMPLES ? (size_t)done : SAMPLES;
	double seconds = (end_us - begin_us) / 1e6;

	qsort(samples, count, sizeof *samples, compare);
	(void)printf("{\"seconds\": %.6f, \"done\": %llu, \"bytes\": %llu, \"per_second\": %.1f,"
		     " \"bytes_per_second\": %.0f, \"median_us\": %.2f, \"p99_us\": %.2f}\n",
		     seconds, (unsigned long long)done, (unsigned long long)bytes,
		     (double)done / seconds, (double)bytes / seconds,
		     count ? (double)samples[count / 2] : 0.0,
		     count ? (double)samples[count * 99 / 100] : 0.0);
}

static bool is_over(void)
{
	if (what == DOWNLOAD)
		return done_downloads == connection_count;
	if (what == IDLE)
		return resting == connection_count;
	return now_us() - begin_us >= (double)amount * 1000;
}

/* Not all at once: what is measured is not the length of a queue. */
static void open_more(size_t *opened)
{
	size_t at_once = what == IDLE ? resting + 64 : connection_count;

	while (*opened < connection_count && *opened < at_once)
		begin_connection(&connections[(*opened)++]);
}

static void run(void)
{
	struct epoll_event events[EVENTS];
	size_t opened = 0;

	begin_us = now_us();
	while (!is_over()) {
		int count;

		open_more(&opened);
		count = epoll_wait(poll_fd, events, EVENTS, PATIENCE_MS);
		if (count == 0)
			fail("waiting", "nothing comes any more");
		for (int i = 0; i < count; i++)
			take(events[i].data.ptr);
	}
	end_us = now_us();
}

static int find(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	fail("usage", word);
	return 0;
}

static void parse_address(const char *text, struct sockaddr_in *out)
{
	char address[64];
	unsigned port;

	/* NOLINTNEXTLINE(cert-err34-c): bench/run gives the number. */
	if (sscanf(text, "%63[0-9.]:%u", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &out->sin_addr) != 1)
		fail("address", text);
	out->sin_family = AF_INET;
	out->sin_port = htons((uint16_t)port);
}

static void encode(const char *in, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		unsigned char a = (unsigned char)in[i],
			      b = i + 1 < len ? (unsigned char)in[i + 1] : 0,
			      c = i + 2 < len ? (unsigned char)in[i + 2] : 0;

		*out++ = digits[a >> 2];
		*out++ = digits[(a & 3) << 4 | b >> 4];
		*out++ = i + 1 < len ? digits[(b & 15) << 2 | c >> 6] : '=';
		*out++ = i + 2 < len ? digits[c & 63] : '=';
	}
	*out = '\0';
}

/* "%3D" and its like, in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		char digits[3] = { text[0] == '%' ? text[1] : '\0', text[1] ? text[2] : '\0' };

		if (digits[0] && digits[1]) {
			*out++ = (char)strtol(digits, NULL, 16);
			text += 2;
		} else {
			*out++ = *text;
		}
	}
	*out = '\0';
}

/* http://[user:password@]host:port[/] */
static void parse_environment(void)
{
	const char *text = getenv("HTTP_PROXY"), *at, *host;
	char encoded[384], address[64], user[256];

	if (!text || strncmp(text, "http://", 7) != 0)
		fail("HTTP_PROXY", text ? text : "is not set");
	text += strlen("http://");
	at = strrchr(text, '@');
	host = at ? at + 1 : text;
	if (at && (size_t)(at - text) < sizeof user) {
		(void)snprintf(user, sizeof user, "%.*s", (int)(at - text), text);
		unescape(user);
		encode(user, strlen(user), encoded);
		(void)snprintf(authorization, sizeof authorization,
			       "Proxy-Authorization: Basic %s\r\n", encoded);
	}
	(void)snprintf(address, sizeof address, "%s%s",
		       strncmp(host, "localhost", 9) == 0 ? "127.0.0.1" : "",
		       host + (strncmp(host, "localhost", 9) == 0 ? 9 : 0));
	parse_address(address, &to);
}

int main(int argc, char **argv)
{
	static const char *const whats[] = { "requests", "connects", "download", "idle" };
	static const char *const ways[] = { "direct", "http", "connect", "socks" };
	struct rlimit files;

	if (argc != 7)
		fail("usage", "net_load WHAT WAY TO TARGET CONNECTIONS AMOUNT");
	what = (enum what)find(argv[1], whats, 4);
	way = (enum way)find(argv[2], ways, 4);
	if (strcmp(argv[3], "env") == 0)
		parse_environment();
	else
		parse_address(argv[3], &to);
	parse_address(argv[4], &target);
	(void)snprintf(target_text, sizeof target_text, "%s", argv[4]);
	connection_count = strtoul(argv[5], NULL, 10);
	amount = strtoull(argv[6], NULL, 10);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	connections = calloc(connection_count, sizeof *connections);
	if (poll_fd < 0 || !connections)
		fail("start", strerror(errno));
	run();
	report();
	(void)fflush(stdout);
	if (what == IDLE)
		(void)getchar();
	return 0;
}
