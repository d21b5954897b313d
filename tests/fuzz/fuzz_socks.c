/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a SOCKS client: greeting, authentication if it was chosen, request. Each
 * parser must give the same answer for a message whatever has come behind it, ask for
 * more for every shorter beginning, and stay within its bound.
 */
#include <stdlib.h>

#include "proxy/client/socks5.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

struct heard {
	struct socks5_greeting greeting;
	struct socks5_auth auth;
	struct socks5_request request;
};

static int read_greeting(struct str in, struct heard *h)
{
	return socks5_parse_greeting(in, &h->greeting);
}

static int read_auth(struct str in, struct heard *h)
{
	return socks5_parse_auth(in, &h->auth);
}

static int read_request(struct str in, struct heard *h)
{
	return socks5_parse_request(in, &h->request);
}

/* What is a message once is never taken back, and nothing is decided before its end. */
static int check(int (*parse)(struct str in, struct heard *h), struct str in, size_t most,
		 struct heard *h)
{
	int whole = parse(in, h);

	demand(whole >= -1 && whole <= (int)most && whole <= (int)in.len);
	demand(whole != 0 || in.len < most);
	for (size_t i = 0; i < MIN_OF(in.len, most); i++) {
		struct heard early;
		int part = parse(str_first(in, i), &early);

		if (whole > 0)
			demand((size_t)whole <= i ? part == whole : part == 0);
		else
			demand(part == 0 || part == whole);
	}
	return parse(in, h);
}

static bool is_inside(struct str part, struct str whole)
{
	return part.len == 0 || (part.p >= whole.p && part.p + part.len <= whole.p + whole.len);
}

static void check_request(const struct socks5_request *r, struct str in)
{
	uint8_t reply[SOCKS5_REPLY_BYTES];
	struct socks5_request again;
	size_t len = socks5_put_reply(SOCKS5_DONE, r->is_ip ? &r->ip : NULL, r->port, reply);

	demand(is_inside(r->name, in) && r->name.len <= 255);
	demand(r->refused != SOCKS5_DONE || (r->port != 0 && (r->is_ip || r->name.len > 0)));
	/* A reply has the form of a request; as one it names the same address. */
	reply[1] = 1;
	demand(len <= sizeof(reply));
	demand(socks5_parse_request((struct str){ (const char *)reply, len }, &again) == (int)len);
	demand(again.is_ip && again.port == r->port);
	demand(!r->is_ip || memcmp(&again.ip, &r->ip, sizeof(r->ip)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct heard h = { .greeting = { .offers_no_auth = false } };
	enum socks5_method method;
	int taken = check(read_greeting, in, SOCKS5_GREETING_BYTES, &h);

	if (taken <= 0)
		return 0;
	demand(socks5_choose(&h.greeting, true) != SOCKS5_NO_AUTH);
	method = socks5_choose(&h.greeting, false);
	in = str_from(in, (size_t)taken);
	if (method == SOCKS5_NO_METHOD)
		return 0;
	if (method == SOCKS5_PASSWORD) {
		taken = check(read_auth, in, SOCKS5_AUTH_BYTES, &h);
		if (taken <= 0)
			return 0;
		demand(is_inside(h.auth.user, in) && is_inside(h.auth.password, in));
		in = str_from(in, (size_t)taken);
	}
	taken = check(read_request, in, SOCKS5_REQUEST_BYTES, &h);
	if (taken > 0)
		check_request(&h.request, in);
	else
		demand(h.request.refused != SOCKS5_DONE);
	return 0;
}
