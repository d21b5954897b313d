/* SPDX-License-Identifier: MIT */
/*
 * A domain pattern, a newline, a host with or without a port. What is accepted
 * has a normal form that is accepted again and means the same; what is refused
 * says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/hostname.h"
#include "base/idna.h"
#include "policy/domain.h"

enum { LIMIT_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_error(const struct err *e)
{
	demand(e->code == ERR_SYNTAX);
	demand(e->text[0] != '\0');
	/* What the input holds must not reach a terminal raw. */
	for (const char *c = e->text; *c; c++)
		demand((unsigned char)*c >= 0x20 && *c != 0x7F);
}

static bool same_host(const struct hostname *a, const struct hostname *b)
{
	return a->is_ip == b->is_ip && str_eq(a->name, b->name) &&
	       (!a->is_ip || memcmp(&a->ip, &b->ip, sizeof(a->ip)) == 0);
}

/* Lower case and ASCII, so that comparing bytes compares hosts. */
static void check_normal(struct str name)
{
	demand(name.len > 0 && name.len <= 253);
	for (size_t i = 0; i < name.len; i++)
		demand(name.p[i] > ' ' && name.p[i] < 0x7f && (name.p[i] < 'A' || name.p[i] > 'Z'));
}

static bool parse_host(struct arena *a, struct str text, struct hostname *out, uint16_t *port)
{
	struct err e = ERR_INIT;
	struct hostname again;
	struct str name;

	if (hostname_parse_port(a, text, out, port, &e) < 0) {
		check_error(&e);
		return false;
	}
	check_normal(out->name);
	demand(hostname_parse(a, out->name, &again, &e) == 0);
	demand(same_host(out, &again));
	demand((hostname_parse_name(a, out->name, &name, &e) == 0) == !out->is_ip);
	return true;
}

static bool parse_domain(struct arena *a, struct str text, struct domain *out)
{
	struct err e = ERR_INIT;
	struct domain again;

	if (domain_parse(a, text, out, &e) < 0) {
		check_error(&e);
		return false;
	}
	check_normal(out->text);
	demand(domain_parse(a, out->text, &again, &e) == 0);
	demand(str_eq(out->text, again.text) && str_eq(out->name, again.name));
	demand(out->kind == again.kind && out->port_first == again.port_first &&
	       out->port_last == again.port_last);
	demand(memcmp(&out->block, &again.block, sizeof(again.block)) == 0);
	return true;
}

/* What holds for every pattern and host, whatever they are. */
static void check_covers(struct arena *a, const struct domain *d, const struct hostname *host,
			 uint16_t port)
{
	struct domain asked = domain_of_host(host, port), any_port = domain_of_host(host, 0);
	bool covers = domain_is_within(&asked, d);
	struct err e = ERR_INIT;
	struct domain itself;

	demand(covers || !domain_is_within(&any_port, d));
	demand(!covers || port == 0 || (port >= d->port_first && port <= d->port_last));
	demand(!covers || d->kind == DOMAIN_ANY || (d->kind == DOMAIN_BLOCK) == host->is_ip);
	demand(!covers || d->kind != DOMAIN_ANY || !host->is_ip || ip_is_public(&host->ip));
	/* A host is a pattern that covers itself on every port. */
	demand(domain_parse(a, host->name, &itself, &e) == 0);
	demand(domain_is_within(&asked, &itself) && domain_is_within(&any_port, &itself));
}

/* Whatever decodes must encode to what decodes the same. */
static void check_punycode(struct str text)
{
	uint32_t c[IDNA_MAX_LABEL], again[IDNA_MAX_LABEL];
	char encoded[1024];
	size_t count, len, count_again;

	if (!punycode_decode(text, c, COUNT_OF(c), &count))
		return;
	demand(punycode_encode(c, count, encoded, sizeof(encoded), &len));
	demand(punycode_decode((struct str){ encoded, len }, again, COUNT_OF(again), &count_again));
	demand(count == count_again && memcmp(c, again, count * sizeof(*c)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct str pattern = str_first(input, str_find(input, '\n'));
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct hostname host;
	struct domain d;
	uint16_t port = 0;
	bool has_host = parse_host(&a, str_from(input, pattern.len + 1), &host, &port);

	if (parse_domain(&a, pattern, &d) && has_host)
		check_covers(&a, &d, &host, port);
	check_punycode(pattern);
	return 0;
}
