/* SPDX-License-Identifier: MIT */
/* See socks5.h. */
#include "proxy/client/socks5.h"

enum { CONNECT = 1, ATYP_V4 = 1, ATYP_NAME = 3, ATYP_V6 = 4, MORE = 0, MALFORMED = -1 };

static uint8_t byte_at(struct str in, size_t at)
{
	return (uint8_t)in.p[at];
}

int socks5_parse_greeting(struct str in, struct socks5_greeting *out)
{
	size_t count;

	if (in.len > 0 && byte_at(in, 0) != SOCKS5_VERSION)
		return MALFORMED;
	if (in.len < 2)
		return MORE;
	count = byte_at(in, 1);
	if (in.len < 2 + count)
		return MORE;
	*out = (struct socks5_greeting){ .offers_no_auth = false };
	for (size_t i = 0; i < count; i++) {
		out->offers_no_auth |= byte_at(in, 2 + i) == SOCKS5_NO_AUTH;
		out->offers_password |= byte_at(in, 2 + i) == SOCKS5_PASSWORD;
	}
	return (int)(2 + count);
}

enum socks5_method socks5_choose(const struct socks5_greeting *g, bool needs_token)
{
	if (!needs_token && g->offers_no_auth)
		return SOCKS5_NO_AUTH;
	return g->offers_password ? SOCKS5_PASSWORD : SOCKS5_NO_METHOD;
}

int socks5_parse_auth(struct str in, struct socks5_auth *out)
{
	size_t user, password;

	if (in.len > 0 && byte_at(in, 0) != 1)
		return MALFORMED;
	if (in.len < 2)
		return MORE;
	user = byte_at(in, 1);
	if (in.len < 3 + user)
		return MORE;
	password = byte_at(in, 2 + user);
	if (in.len < 3 + user + password)
		return MORE;
	out->user = str_first(str_from(in, 2), user);
	out->password = str_first(str_from(in, 3 + user), password);
	return (int)(3 + user + password);
}

/* The length of the address after its type; 0 if it is not known yet. */
static size_t address_bytes(struct str in)
{
	switch (byte_at(in, 3)) {
	case ATYP_V4:
		return 4;
	case ATYP_V6:
		return 16;
	default:
		return in.len > 4 ? 1U + byte_at(in, 4) : 0;
	}
}

static void set_address(struct str in, size_t len, struct socks5_request *out)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	const char *address = in.p + 4;

	out->name = STR_EMPTY;
	out->is_ip = byte_at(in, 3) != ATYP_NAME;
	if (!out->is_ip) {
		out->name = (struct str){ address + 1, len - 1 };
		return;
	}
	memcpy(out->ip.bytes, mapped, sizeof(mapped));
	memcpy(out->ip.bytes + 16 - len, address, len);
}

static bool is_known_address(uint8_t kind)
{
	return kind == ATYP_V4 || kind == ATYP_NAME || kind == ATYP_V6;
}

int socks5_parse_request(struct str in, struct socks5_request *out)
{
	static const struct socks5_request none = { .refused = SOCKS5_FAILURE };
	size_t len;

	*out = none;
	out->name = STR_EMPTY;
	if ((in.len > 0 && byte_at(in, 0) != SOCKS5_VERSION) || (in.len > 2 && byte_at(in, 2) != 0))
		return MALFORMED;
	if (in.len < 4)
		return MORE;
	if (!is_known_address(byte_at(in, 3))) {
		/* The length is unknown, so nobody can tell where the request ends. */
		out->refused = SOCKS5_BAD_ADDRESS;
		return MALFORMED;
	}
	len = address_bytes(in);
	if (len == 0 || in.len < 4 + len + 2)
		return MORE;
	set_address(in, len, out);
	out->port = (uint16_t)(byte_at(in, 4 + len) << 8 | byte_at(in, 5 + len));
	if (byte_at(in, 1) != CONNECT)
		out->refused = SOCKS5_BAD_COMMAND;
	else if (out->port == 0 || (!out->is_ip && out->name.len == 0))
		out->refused = SOCKS5_FAILURE;
	else
		out->refused = SOCKS5_DONE;
	return (int)(6 + len);
}

size_t socks5_put_reply(uint8_t reply, const struct ip *bound, uint16_t port,
			uint8_t out[SOCKS5_REPLY_BYTES])
{
	bool v6 = bound && !ip_is_v4(bound);
	size_t len = v6 ? 16 : 4;

	out[0] = SOCKS5_VERSION;
	out[1] = reply;
	out[2] = 0;
	out[3] = v6 ? ATYP_V6 : ATYP_V4;
	if (bound)
		memcpy(out + 4, bound->bytes + 16 - len, len);
	else
		memset(out + 4, 0, len);
	out[4 + len] = (uint8_t)(port >> 8);
	out[5 + len] = (uint8_t)port;
	return 6 + len;
}
