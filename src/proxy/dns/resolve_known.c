/* SPDX-License-Identifier: MIT */
/* What is known without a query: files, the cache, the search list. See resolve.h. */
#include <string.h>

#include "base/hostname.h"
#include "proxy/dns/resolve_parts.h"

enum { CACHE_PLACES = 4 }; /* where an entry may be */

/* ---- What is known --------------------------------------------------------------------- */

static struct cached *cache_place(struct resolver *r, struct str name, size_t i)
{
	return &r->cache[(keyed_hash(&r->key, name) + i) % CACHE_ENTRIES];
}

/* Answers of other servers do not count for the new ones. */
void resolver_look_at_conf(struct resolver *r)
{
	if (!name_file_look(&r->conf_file))
		return;
	resolv_conf_read(name_file_text(&r->conf_file), &r->conf);
	r->conf_number++;
	for (size_t i = 0; i < CACHE_ENTRIES; i++)
		if (r->cache[i].until_ms)
			r->cache[i].until_ms = 0;
}

static bool find_cached(struct resolver *r, struct str name, struct found_addresses *out)
{
	uint64_t now = loop_now();

	resolver_look_at_conf(r);
	for (size_t i = 0; i < CACHE_PLACES; i++) {
		const struct cached *c = cache_place(r, name, i);

		if (c->until_ms > now && str_is(name, c->name)) {
			*out = c->found;
			return true;
		}
	}
	return false;
}

void resolver_keep(struct resolver *r, struct str name, const struct found_addresses *found,
		   uint64_t for_ms)
{
	struct cached *place = NULL;

	for (size_t i = 0; i < CACHE_PLACES; i++) {
		struct cached *c = cache_place(r, name, i);

		if (c->until_ms && str_is(name, c->name)) {
			place = c;
			break;
		}
		if (!place || c->until_ms < place->until_ms)
			place = c;
	}
	place->until_ms = loop_now() + for_ms;
	place->found = *found;
	memcpy(place->name, name.p, name.len);
	place->name[name.len] = '\0';
}

static void set_loopback(struct found_addresses *out)
{
	*out = (struct found_addresses){ .result = LOOKUP_FOUND, .count = 2 };
	(void)ip_parse(STR("::1"), &out->addresses[0]);
	(void)ip_parse(STR("127.0.0.1"), &out->addresses[1]);
}

struct str resolver_hosts(struct resolver *r)
{
	if (name_file_look(&r->hosts_file))
		hosts_filter_set(r->hosts_filter, name_file_text(&r->hosts_file));
	return name_file_text(&r->hosts_file);
}

static bool find_in_hosts(struct resolver *r, struct str name, struct found_addresses *out)
{
	struct str text = resolver_hosts(r);

	if (!hosts_filter_passes(r->hosts_filter, name))
		return false;
	out->result = LOOKUP_FOUND;
	out->count = hosts_find(text, name, out->addresses, COUNT_OF(out->addresses));
	return out->count > 0;
}

bool resolver_knows(struct resolver *r, struct str name, struct found_addresses *out)
{
	if (hostname_is_localhost(name)) {
		set_loopback(out);
		return true;
	}
	return find_in_hosts(r, name, out) || find_cached(r, name, out);
}

/* ---- The search list ------------------------------------------------------------------- */

/* Appends domain `i` of the search list to the name. False if that is too long. */
static bool add_domain(const struct resolv_conf *conf, struct str name, size_t i,
		       char out[DNS_NAME_BYTES])
{
	struct str domain = str_of(conf->search[i]);
	uint8_t wire[DNS_NAME_BYTES];

	if (name.len + 1 + domain.len >= CONF_DOMAIN_BYTES || dns_write_name(wire, domain) == 0)
		return false;
	memcpy(out, name.p, name.len);
	out[name.len] = '.';
	memcpy(out + name.len + 1, domain.p, domain.len);
	out[name.len + 1 + domain.len] = '\0';
	return true;
}

static bool is_short(const struct resolv_conf *conf, struct str name)
{
	size_t dots = 0;

	for (size_t i = 0; i < name.len; i++)
		dots += name.p[i] == '.';
	return dots < conf->ndots;
}

bool resolver_candidate(const struct resolver *r, struct str name, size_t *number,
			char out[DNS_NAME_BYTES])
{
	size_t domains = is_short(&r->conf, name) ? r->conf.search_count : 0;

	for (; *number < domains; (*number)++)
		if (add_domain(&r->conf, name, *number, out))
			return true;
	if (*number > domains)
		return false;
	memcpy(out, name.p, name.len);
	out[name.len] = '\0';
	return true;
}

/* The name without a domain of the search list, or the whole name if it has none. */
static struct str without_domain(const struct resolv_conf *conf, struct str name)
{
	for (size_t i = 0; i < conf->search_count; i++) {
		struct str domain = str_of(conf->search[i]);

		if (name.len > domain.len + 1 && str_has_suffix(name, domain) &&
		    name.p[name.len - domain.len - 1] == '.')
			return str_first(name, name.len - domain.len - 1);
	}
	return name;
}

bool resolver_each_searched(const struct resolver *r, struct str name,
			    bool (*next)(void *user, struct str name), void *user)
{
	struct str host = without_domain(&r->conf, name);
	char candidate[DNS_NAME_BYTES];

	/* The resolver looks up a name with many dots only as it is. */
	if (host.len == name.len && !is_short(&r->conf, name))
		return false;
	if (next(user, host))
		return true;
	for (size_t i = 0; i < r->conf.search_count; i++)
		if (add_domain(&r->conf, host, i, candidate) && next(user, str_of(candidate)))
			return true;
	return false;
}
