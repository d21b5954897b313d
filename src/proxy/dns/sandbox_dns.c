/* SPDX-License-Identifier: MIT */
/*
 * The table of names and the addresses that stand for them. See sandbox_dns.h; sandbox_dns_server.c
 * answers queries from it.
 */
#include "proxy/dns/sandbox_dns.h"

#include <string.h>

#include "proxy/dns/resolve.h"
#include "proxy/dns/sandbox_dns_parts.h"
#include "proxy/pool.h"

enum { SLOTS = 2 * SANDBOX_DNS_MAX_NAMES };

/* 198.18.0.0/15 (RFC 2544), v4-mapped: reserved for benchmarks, so no real network uses it. */
static const uint8_t first_v4[16] = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 0 };

int sandbox_dns_make(struct sandbox_dns **out, const struct rules *rules, struct dialer *dialer,
		     struct err *e)
{
	struct sandbox_dns *s = pool_map(sizeof(*s), e);
	struct hash_key random;

	if (!s)
		return err_result(e);
	s->rules = rules;
	s->dialer = dialer;
	s->names = pool_map((size_t)SANDBOX_DNS_MAX_NAMES * DNS_NAME_BYTES, e);
	s->slots = s->names ? pool_map(SLOTS * sizeof(uint32_t), e) : NULL;
	if (!s->slots || hash_key_make(&s->key, e) < 0 || hash_key_make(&random, e) < 0 ||
	    sandbox_dns_server_make(s, e) < 0) {
		sandbox_dns_done(s);
		return err_result(e);
	}
	/* RFC 4193: 40 random bits, so that no network of the host has the same prefix. */
	memcpy(s->first_v6.bytes, &random, 6);
	s->first_v6.bytes[0] = 0xfd;
	*out = s;
	return 0;
}

void sandbox_dns_done(struct sandbox_dns *s)
{
	sandbox_dns_server_done(s);
	pool_unmap(s->names, (size_t)SANDBOX_DNS_MAX_NAMES * DNS_NAME_BYTES);
	pool_unmap(s->slots, SLOTS * sizeof(uint32_t));
	pool_unmap(s, sizeof(*s));
}

static const char *name_at(const struct sandbox_dns *s, uint32_t index)
{
	return s->names + (size_t)index * DNS_NAME_BYTES;
}

/* The slot that has the name, or where it would go. Half of the slots are always empty. */
static uint32_t *find_slot(const struct sandbox_dns *s, struct str name)
{
	uint64_t at = keyed_hash(&s->key, name);

	while (s->slots[at % SLOTS] && !str_is(name, name_at(s, s->slots[at % SLOTS] - 1)))
		at++;
	return &s->slots[at % SLOTS];
}

bool sandbox_dns_give(struct sandbox_dns *s, struct str name, uint32_t *index)
{
	uint32_t *slot = find_slot(s, name);

	if (!*slot) {
		if (s->count == SANDBOX_DNS_MAX_NAMES)
			return false;
		memcpy(s->names + (size_t)s->count * DNS_NAME_BYTES, name.p, name.len);
		*slot = ++s->count;
	}
	*index = *slot - 1;
	return true;
}

struct ip sandbox_dns_address(const struct sandbox_dns *s, uint32_t index, bool is_v6)
{
	struct ip ip = s->first_v6;
	uint32_t number = index + 1;

	if (!is_v6)
		memcpy(ip.bytes, first_v4, sizeof(first_v4));
	ip.bytes[13] = (uint8_t)(ip.bytes[13] + (number >> 16));
	ip.bytes[14] = (uint8_t)(number >> 8);
	ip.bytes[15] = (uint8_t)number;
	return ip;
}

const char *sandbox_dns_name(const struct sandbox_dns *s, const struct ip *ip)
{
	bool is_v6 = !ip_is_v4(ip);
	uint32_t number = (uint32_t)(ip->bytes[13] - (is_v6 ? 0 : first_v4[13])) << 16 |
			  (uint32_t)ip->bytes[14] << 8 | ip->bytes[15];
	struct ip expected;

	if (number == 0 || number > s->count)
		return NULL;
	expected = sandbox_dns_address(s, number - 1, is_v6);
	return memcmp(expected.bytes, ip->bytes, sizeof(ip->bytes)) == 0 ? name_at(s, number - 1)
									 : NULL;
}

/* The name in the hosts file by which this address is allowed on that port. */
static bool find_in_hosts(const struct sandbox_dns *s, const struct ip *ip, uint16_t port,
			  struct target *out)
{
	struct hosts_names all = { .text = resolver_hosts(dialer_resolver(s->dialer)),
				   .line = STR_EMPTY };
	struct judgement j;
	struct str name;
	char why[64];

	while (hosts_next_name(&all, ip, &name)) {
		struct target t;

		if (!target_parse(&t, name, port, why, sizeof(why)) || t.is_ip)
			continue;
		rules_judge(s->rules, &t, &j);
		if (j.decision == DECISION_ALLOW) {
			*out = t;
			return true;
		}
	}
	return false;
}

void sandbox_dns_find(const struct sandbox_dns *s, const struct ip *ip, uint16_t port,
		      struct target *out)
{
	const char *name = sandbox_dns_name(s, ip);
	struct buf text = BUF_OVER(out->name);
	struct judgement j;

	*out = (struct target){ .is_ip = !name, .ip = *ip, .port = port };
	if (name) {
		memcpy(out->name, name, strlen(name) + 1);
		return;
	}
	ip_print(&text, ip);
	rules_judge(s->rules, out, &j);
	/*
	 * If a rule or the guard of private addresses refuses the address, it refuses it as an
	 * address.
	 */
	if (j.reason == PROXY_DENIED_UNLISTED)
		(void)find_in_hosts(s, ip, port, out);
}

void sandbox_dns_tell(struct sandbox_dns *s, void (*is_full)(void *user, const struct target *name),
		      void *user)
{
	s->is_full = is_full;
	s->user = user;
}
