/* SPDX-License-Identifier: MIT */
/*
 * See resolve.h. A *search* looks up one name for everybody who waits for it. It tries the
 * candidates that the search list makes of the name. Each candidate has two *asks*, one for each
 * family. An ask tries the servers on its own: UDP, TCP if needed, and the next server if one is
 * silent or fails.
 */
#include <string.h>

#include "os/name_sources.h"
#include "proxy/dns/resolve_parts.h"

enum {
	MAX_SEARCHES = 100, /* with two sockets each, for which server.c reserves descriptors */
	TCP_AT_ONCE = 32,
	HOSTS_BYTES = 4 << 20,
	CONF_BYTES = 64 << 10,
	LEAST_KEPT_MS = 1000,
	MOST_KEPT_MS = 60000,
	NOTHING_KEPT_MS = 2000, /* that there is nothing */
};

static int run_timer(void *user, struct err *e);

/* ---- Made and ended -------------------------------------------------------------------- */

static int map_all(struct resolver *r, uint32_t most, struct err *e)
{
	if (hash_key_make(&r->key, e) < 0 ||
	    pool_make(&r->searches, sizeof(struct search), MAX_SEARCHES, e) < 0 ||
	    pool_make(&r->lookups, sizeof(struct lookup), most, e) < 0 ||
	    pool_make(&r->streams, sizeof(struct stream), TCP_AT_ONCE, e) < 0)
		return err_result(e);
	r->cache = pool_map(CACHE_ENTRIES * sizeof(struct cached), e);
	r->scratch = r->cache ? pool_map(DNS_MESSAGE_BYTES, e) : NULL;
	r->hosts_filter = r->scratch ? pool_map(sizeof(*r->hosts_filter), e) : NULL;
	if (!r->hosts_filter)
		return err_result(e);
	r->hosts_filter->key = r->key;
	return 0;
}

int resolver_make(struct resolver **out, const struct resolver_sources *sources, uint32_t most,
		  struct err *e)
{
	struct resolver *r = pool_map(sizeof(*r), e);

	if (!r)
		return err_result(e);
	r->port = sources->port;
	r->timer = (struct timer){ .due = run_timer, .user = r };
	if (map_all(r, most, e) < 0 ||
	    name_file_make(&r->conf_file, sources->resolv_conf, os_read_name_servers, CONF_BYTES,
			   e) < 0 ||
	    name_file_make(&r->hosts_file, sources->hosts, os_read_hosts, HOSTS_BYTES, e) < 0) {
		resolver_done(r);
		return err_result(e);
	}
	hosts_filter_set(r->hosts_filter, name_file_text(&r->hosts_file));
	resolv_conf_read(name_file_text(&r->conf_file), &r->conf);
	resolver_find_zones(r);
	*out = r;
	return 0;
}

void resolver_done(struct resolver *r)
{
	for (struct search *s = r->first; s; s = s->next)
		for (size_t i = 0; i < COUNT_OF(s->asks); i++)
			ask_stop(&s->asks[i]);
	if (r->loop)
		loop_drop_timer(r->loop, &r->timer);
	name_file_done(&r->conf_file);
	name_file_done(&r->hosts_file);
	pool_done(&r->searches);
	pool_done(&r->lookups);
	pool_done(&r->streams);
	pool_unmap(r->cache, CACHE_ENTRIES * sizeof(struct cached));
	pool_unmap(r->scratch, DNS_MESSAGE_BYTES);
	pool_unmap(r->hosts_filter, sizeof(*r->hosts_filter));
	pool_unmap(r, sizeof(*r));
}

int resolver_run(struct resolver *r, struct loop *loop, struct err *e)
{
	r->loop = loop;
	return loop_prepare_timers(loop, e);
}

void resolver_wake_by(struct resolver *r, uint64_t at_ms)
{
	if (r->timer.at_ms == 0 || at_ms < r->timer.at_ms)
		loop_set_timer(r->loop, &r->timer, at_ms);
}

/* ---- A search -------------------------------------------------------------------------- */

static bool set_candidate(struct search *s)
{
	return resolver_candidate(s->resolver, str_of(s->name), &s->candidate_number, s->candidate);
}

/* Neither ask ends from within; else the search could end before the other ask has begun. */
static void ask_candidate(struct search *s)
{
	s->give_up_ms = 0;
	ask_begin(&s->asks[0], s, DNS_AAAA);
	ask_begin(&s->asks[1], s, DNS_A);
}

static void end_search(struct search *s, const struct found_addresses *found)
{
	struct resolver *r = s->resolver;
	struct lookup *l;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		ask_stop(&s->asks[i]);
	/* Remove it from the list first, because a callback may look up the same name again. */
	if (s->previous)
		s->previous->next = s->next;
	else
		r->first = s->next;
	if (s->next)
		s->next->previous = s->previous;
	while ((l = s->waiting)) {
		void (*done)(void *, const struct found_addresses *) = l->done;
		void *user = l->user;

		s->waiting = l->next;
		pool_give(&r->lookups, l);
		done(user, found);
	}
	pool_give(&r->searches, s);
}

/* If resolv.conf has changed since, the answer goes to those who wait but is not cached. */
static void keep(const struct search *s, const struct found_addresses *found, uint64_t for_ms)
{
	if (s->conf_number == s->resolver->conf_number)
		resolver_keep(s->resolver, str_of(s->name), found, for_ms);
}

static void end_with_addresses(struct search *s)
{
	struct found_addresses found = { .result = LOOKUP_FOUND };
	uint64_t ttl_ms = MOST_KEPT_MS;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		const struct dns_answer *a = &s->asks[i].answer;

		for (size_t k = 0; k < a->count; k++)
			found.addresses[found.count++] = a->addresses[k];
		/* If only one family answered, keep that result only for a short time. */
		if (a->code == DNS_SERVER_FAILURE)
			ttl_ms = LEAST_KEPT_MS;
		else if (a->count > 0)
			ttl_ms = MIN_OF(ttl_ms, (uint64_t)a->ttl * 1000);
	}
	keep(s, &found, MAX_OF(ttl_ms, (uint64_t)LEAST_KEPT_MS));
	end_search(s, &found);
}

static void end_without(struct search *s, enum lookup_result result)
{
	struct found_addresses found = { .result = result };

	if (result != LOOKUP_FAILED)
		keep(s, &found, NOTHING_KEPT_MS);
	end_search(s, &found);
}

static bool is_done(const struct ask *a)
{
	return a->state == ASK_DONE;
}

static bool has_code(const struct search *s, uint16_t code)
{
	return (is_done(&s->asks[0]) && s->asks[0].answer.code == code) ||
	       (is_done(&s->asks[1]) && s->asks[1].answer.code == code);
}

/*
 * Call after an ask has ended: ends the search, tries the next candidate, or waits for the other
 * ask.
 */
void search_conclude(struct search *s)
{
	bool is_missing = has_code(s, DNS_NO_SUCH_NAME);

	/* If a name does not exist, it does not exist for either family. */
	if (!is_missing && !(is_done(&s->asks[0]) && is_done(&s->asks[1])))
		return;
	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		ask_stop(&s->asks[i]);
		if (!is_done(&s->asks[i]))
			s->asks[i].answer = (struct dns_answer){ .code = DNS_NO_SUCH_NAME };
		s->asks[i].state = ASK_DONE;
	}
	if (s->asks[0].answer.count + s->asks[1].answer.count > 0) {
		end_with_addresses(s);
		return;
	}
	if (!is_missing && has_code(s, DNS_SERVER_FAILURE)) {
		end_without(s, LOOKUP_FAILED);
		return;
	}
	s->has_no_address |= !is_missing;
	s->candidate_number++;
	if (set_candidate(s))
		ask_candidate(s);
	else
		end_without(s, s->has_no_address ? LOOKUP_NO_ADDRESS : LOOKUP_NO_SUCH_NAME);
}

/* The last ask to end may also end the search. */
static void run_search(struct search *s, uint64_t now)
{
	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		struct ask *a = &s->asks[i];
		bool is_last = is_done(&s->asks[1 - i]);

		if (is_done(a))
			continue;
		if (s->give_up_ms && s->give_up_ms <= now)
			ask_finish(a, &ask_unanswered);
		else if (a->deadline_ms <= now)
			ask_next_server(a);
		else
			continue;
		if (is_last)
			return;
	}
}

static uint64_t first_deadline(const struct search *s)
{
	uint64_t first = s->give_up_ms ? s->give_up_ms : UINT64_MAX;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		if (!is_done(&s->asks[i]))
			first = MIN_OF(first, s->asks[i].deadline_ms);
	return first;
}

static int run_timer(void *user, struct err *e)
{
	struct resolver *r = user;
	uint64_t now = loop_now(), first = UINT64_MAX;

	(void)e;
	/*
	 * A callback may start another search, which is inserted at the front and not visited here.
	 */
	for (struct search *s = r->first, *next; s; s = next) {
		next = s->next;
		run_search(s, now);
	}
	for (const struct search *s = r->first; s; s = s->next)
		first = MIN_OF(first, first_deadline(s));
	if (first != UINT64_MAX)
		resolver_wake_by(r, first);
	return 0;
}

/* ---- Those who wait -------------------------------------------------------------------- */

static struct search *find_search(struct resolver *r, struct str name)
{
	struct search *s = r->first;

	resolver_look_at_conf(r);
	while (s && (s->conf_number != r->conf_number || !str_is(name, s->name)))
		s = s->next;
	return s;
}

static struct search *begin_search(struct resolver *r, struct str name)
{
	struct search *s = pool_take(&r->searches);

	if (!s)
		return NULL;
	*s = (struct search){ .resolver = r, .next = r->first, .conf_number = r->conf_number };
	memcpy(s->name, name.p, name.len);
	if (r->conf.rotates)
		s->first_server = r->turn++;
	if (r->first)
		r->first->previous = s;
	r->first = s;
	(void)set_candidate(s);
	ask_candidate(s);
	return s;
}

struct lookup *resolver_look_up(struct resolver *r, struct str name,
				void (*done)(void *user, const struct found_addresses *found),
				void *user)
{
	struct search *s;
	struct lookup *l;

	if (name.len >= CONF_DOMAIN_BYTES)
		return NULL;
	l = pool_take(&r->lookups);
	if (!l)
		return NULL;
	s = find_search(r, name);
	if (!s)
		s = begin_search(r, name);
	if (!s) {
		pool_give(&r->lookups, l);
		return NULL;
	}
	*l = (struct lookup){ .search = s, .next = s->waiting, .done = done, .user = user };
	s->waiting = l;
	return l;
}

/* The search continues, so that its answer is cached for the next who asks. */
void lookup_cancel(struct lookup *l)
{
	struct lookup **at = &l->search->waiting;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pool_give(&l->search->resolver->lookups, l);
}
