/* SPDX-License-Identifier: MIT */
/* HTTP's CONNECT and SOCKS5 (RFC 1928, 1929), from the client's side. See upstream.h. */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "os/socket.h"
#include "proxy/dial/upstream.h"

enum talk_state {
	HTTP_REQUEST,
	HTTP_STATUS, /* "HTTP/1.1 200", and then the rest of the head */
	HTTP_HEAD,
	SOCKS_GREETING,
	SOCKS_METHOD,
	SOCKS_LOGIN,
	SOCKS_LOGIN_REPLY,
	SOCKS_REQUEST,
	SOCKS_REPLY,
	SOCKS_BOUND, /* the bound address, which is ignored */
};

enum { STATUS_LINE_BYTES = 12, SOCKS_VERSION = 5, METHOD_NONE = 0, METHOD_LOGIN = 2 };

/* ---- What is sent ---------------------------------------------------------------------- */

static void add_login(struct buf *b, const struct upstream *u)
{
	char plain[2 * UPSTREAM_SECRET_BYTES + 1];
	struct buf text = BUF_OVER(plain);

	buf_printf(&text, "%s:%s", u->user, u->password);
	buf_add_text(b, "Proxy-Authorization: Basic ");
	base64_add(b, buf_str(&text));
	buf_add_text(b, "\r\n");
}

static void add_authority(struct buf *b, const struct upstream_talk *t)
{
	buf_add_text(b, ip_is_v4(&t->ip) ? "" : "[");
	ip_print(b, &t->ip);
	buf_printf(b, "%s:%u", ip_is_v4(&t->ip) ? "" : "]", t->port);
}

static void write_connect(struct upstream_talk *t)
{
	struct buf b = BUF_OVER(t->bytes);

	buf_add_text(&b, "CONNECT ");
	add_authority(&b, t);
	buf_add_text(&b, " HTTP/1.1\r\nHost: ");
	add_authority(&b, t);
	buf_add_text(&b, "\r\n");
	if (t->upstream->has_login)
		add_login(&b, t->upstream);
	buf_add_text(&b, "\r\n");
	/* Two secrets of 255 bytes are 684 bytes in base64, which fit. */
	t->to_send = b.failed ? 0 : b.len;
}

static void put(struct upstream_talk *t, const void *bytes, size_t len)
{
	memcpy(t->bytes + t->to_send, bytes, len);
	t->to_send += len;
}

static void put_byte(struct upstream_talk *t, size_t value)
{
	t->bytes[t->to_send++] = (char)value;
}

static void write_greeting(struct upstream_talk *t)
{
	put_byte(t, SOCKS_VERSION);
	put_byte(t, t->upstream->has_login ? 2 : 1);
	put_byte(t, METHOD_NONE);
	if (t->upstream->has_login)
		put_byte(t, METHOD_LOGIN);
}

static void write_socks_login(struct upstream_talk *t)
{
	const struct upstream *u = t->upstream;

	put_byte(t, 1);
	put_byte(t, strlen(u->user));
	put(t, u->user, strlen(u->user));
	put_byte(t, strlen(u->password));
	put(t, u->password, strlen(u->password));
}

static void write_socks_request(struct upstream_talk *t)
{
	bool is_v4 = ip_is_v4(&t->ip);

	put_byte(t, SOCKS_VERSION);
	put_byte(t, 1); /* CONNECT */
	put_byte(t, 0);
	put_byte(t, is_v4 ? 1 : 4);
	put(t, t->ip.bytes + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
	put_byte(t, t->port >> 8);
	put_byte(t, t->port & 0xff);
}

static void begin_sending(struct upstream_talk *t, enum talk_state state)
{
	t->state = (uint8_t)state;
	t->sent = t->to_send = 0;
	if (state == HTTP_REQUEST)
		write_connect(t);
	else if (state == SOCKS_GREETING)
		write_greeting(t);
	else if (state == SOCKS_LOGIN)
		write_socks_login(t);
	else
		write_socks_request(t);
}

static void begin_reading(struct upstream_talk *t, enum talk_state state, size_t expected)
{
	t->state = (uint8_t)state;
	t->got = 0;
	t->expected = expected;
}

void upstream_talk_begin(struct upstream_talk *t, const struct upstream *u, const struct ip *ip,
			 uint16_t port)
{
	t->upstream = u;
	t->ip = *ip;
	t->port = port;
	t->matched = 0;
	begin_sending(t, u->is_socks ? SOCKS_GREETING : HTTP_REQUEST);
}

/* ---- What comes back ------------------------------------------------------------------- */

static enum upstream_step refuse(int *os_error, int why)
{
	*os_error = why;
	return UPSTREAM_REFUSED;
}

static int status_of(const struct upstream_talk *t)
{
	const char *p = t->bytes;

	if (memcmp(p, "HTTP/1.", 7) != 0 || p[8] != ' ')
		return -1;
	for (size_t i = 9; i < STATUS_LINE_BYTES; i++)
		if (!ascii_is_digit(p[i]))
			return -1;
	return (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
}

/* How many of these bytes belong to the head: all, or those up to the end of its empty line. */
static size_t count_head(struct upstream_talk *t, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];

		/* LF or CR LF, twice in a row. */
		if (c == '\n')
			t->matched++;
		else if (c != '\r')
			t->matched = 0;
		if (t->matched == 2)
			return i + 1;
	}
	return len;
}

/* Peeks before it reads, because the bytes after the head are the server's. 0: more is needed. */
static enum upstream_step read_head(struct upstream_talk *t, int fd, int *os_error)
{
	for (;;) {
		char *rest = t->bytes + STATUS_LINE_BYTES;
		ssize_t seen = socket_peek(fd, rest, sizeof(t->bytes) - STATUS_LINE_BYTES);
		size_t taken;

		if (seen < 0 && (errno == EAGAIN || errno == EINTR))
			return UPSTREAM_WAITS;
		if (seen <= 0)
			return refuse(os_error, seen < 0 ? errno : ECONNRESET);
		taken = count_head(t, rest, (size_t)seen);
		if (socket_receive(fd, rest, taken) != (ssize_t)taken)
			return refuse(os_error, EPROTO);
		t->got += taken;
		if (t->matched == 2)
			return UPSTREAM_CONNECTED;
		if (t->got > UPSTREAM_ANSWER_BYTES)
			return refuse(os_error, EPROTO);
	}
}

/* RFC 1928, 6. */
static int socks_error(uint8_t reply)
{
	static const int errors[] = { EIO,	    EIO,	  EACCES,
				      ENETUNREACH,  EHOSTUNREACH, ECONNREFUSED,
				      EHOSTUNREACH, EOPNOTSUPP,	  EAFNOSUPPORT };

	return reply < COUNT_OF(errors) ? errors[reply] : EPROTO;
}

static enum upstream_step take_method(struct upstream_talk *t, int *os_error)
{
	uint8_t method = (uint8_t)t->bytes[1];

	if (t->bytes[0] != SOCKS_VERSION)
		return refuse(os_error, EPROTO);
	if (method == METHOD_NONE)
		begin_sending(t, SOCKS_REQUEST);
	else if (method == METHOD_LOGIN && t->upstream->has_login)
		begin_sending(t, SOCKS_LOGIN);
	else
		return refuse(os_error, EACCES);
	return UPSTREAM_SENDS;
}

/*
 * The reply's first five bytes. The fifth is the length of a name, or the first byte of an address.
 */
static enum upstream_step take_reply(struct upstream_talk *t, int *os_error)
{
	size_t address;

	if (t->bytes[0] != SOCKS_VERSION)
		return refuse(os_error, EPROTO);
	if (t->bytes[1] != 0)
		return refuse(os_error, socks_error((uint8_t)t->bytes[1]));
	if (t->bytes[3] == 1)
		address = 3;
	else if (t->bytes[3] == 4)
		address = 15;
	else if (t->bytes[3] == 3)
		address = (uint8_t)t->bytes[4];
	else
		return refuse(os_error, EPROTO);
	begin_reading(t, SOCKS_BOUND, address + 2);
	return UPSTREAM_WAITS;
}

/* A message of known length is complete. WAITS or SENDS: go on. */
static enum upstream_step take_message(struct upstream_talk *t, int fd, int *os_error)
{
	int status;

	switch ((enum talk_state)t->state) {
	case HTTP_STATUS:
		status = status_of(t);
		if (status < 200 || status > 299)
			return refuse(os_error, status < 200 ? EPROTO : status);
		t->state = HTTP_HEAD;
		return read_head(t, fd, os_error);
	case SOCKS_METHOD:
		return take_method(t, os_error);
	case SOCKS_LOGIN_REPLY:
		if (t->bytes[1] != 0)
			return refuse(os_error, EACCES);
		begin_sending(t, SOCKS_REQUEST);
		return UPSTREAM_SENDS;
	case SOCKS_REPLY:
		return take_reply(t, os_error);
	case SOCKS_BOUND:
		return UPSTREAM_CONNECTED;
	case HTTP_REQUEST:
	case HTTP_HEAD:
	case SOCKS_GREETING:
	case SOCKS_LOGIN:
	case SOCKS_REQUEST:
		break;
	}
	return refuse(os_error, EPROTO);
}

static bool is_sending(const struct upstream_talk *t)
{
	return t->state == HTTP_REQUEST || t->state == SOCKS_GREETING || t->state == SOCKS_LOGIN ||
	       t->state == SOCKS_REQUEST;
}

static void read_answer_to(struct upstream_talk *t)
{
	if (t->state == HTTP_REQUEST)
		begin_reading(t, HTTP_STATUS, STATUS_LINE_BYTES);
	else if (t->state == SOCKS_GREETING)
		begin_reading(t, SOCKS_METHOD, 2);
	else if (t->state == SOCKS_LOGIN)
		begin_reading(t, SOCKS_LOGIN_REPLY, 2);
	else
		begin_reading(t, SOCKS_REPLY, 5);
}

static enum upstream_step send_some(struct upstream_talk *t, int fd, int *os_error)
{
	while (t->sent < t->to_send) {
		ssize_t n = socket_send(fd, t->bytes + t->sent, t->to_send - t->sent);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return UPSTREAM_SENDS;
		if (n < 0)
			return refuse(os_error, errno);
		t->sent += (size_t)n;
	}
	read_answer_to(t);
	return UPSTREAM_WAITS;
}

static enum upstream_step read_some(struct upstream_talk *t, int fd, int *os_error)
{
	while (t->got < t->expected) {
		ssize_t n = socket_receive(fd, t->bytes + t->got, t->expected - t->got);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return UPSTREAM_WAITS;
		if (n <= 0)
			return refuse(os_error, n < 0 ? errno : ECONNRESET);
		t->got += (size_t)n;
	}
	return take_message(t, fd, os_error);
}

enum upstream_step upstream_talk_step(struct upstream_talk *t, int fd, int *os_error)
{
	for (;;) {
		uint8_t before = t->state;
		enum upstream_step step;

		if (is_sending(t))
			step = send_some(t, fd, os_error);
		else if (t->state == HTTP_HEAD)
			step = read_head(t, fd, os_error);
		else
			step = read_some(t, fd, os_error);
		/* The state did not change, so it can't continue now. */
		if (step == UPSTREAM_CONNECTED || step == UPSTREAM_REFUSED || t->state == before ||
		    t->state == HTTP_HEAD)
			return step;
	}
}
