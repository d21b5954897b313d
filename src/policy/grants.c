/* SPDX-License-Identifier: MIT */
/*
 * Additional permissions (P18). A set of permissions allows what any of its items
 * allows, so the meet of two sets is the meet of every pair: min distributes over
 * max. Nothing here can take anything away.
 */
#include <stdlib.h>

#include "base/path.h"
#include "policy/policy.h"
#include "policy/schema.h"

typedef VEC(struct permission) permission_list;

static int compare_paths(const void *left, const void *right)
{
	const struct permission *a = left;
	const struct permission *b = right;
	int c = path_cmp(a->path, b->path);

	return c ? c : (int)b->access - (int)a->access;
}

/* Sorts, and drops what an item above it, or the same path, already gives. */
static int simplify(struct arena *a, const struct permission *items, size_t count,
		    permission_list *out, struct err *e)
{
	struct permission *sorted = arena_array(a, count + 1, sizeof(*sorted), e);
	size_t *above = arena_array(a, count + 1, sizeof(*above), e); /* the open directories */
	size_t depth = 0;
	size_t kept = 0;

	if (!sorted || !above)
		return err_result(e);
	if (count)
		memcpy(sorted, items, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_paths);
	for (size_t i = 0; i < count; i++) {
		while (depth > 0 && !path_is_under(sorted[i].path, sorted[above[depth - 1]].path))
			depth--;
		/* Access only grows on the way down, so the innermost tells for all. */
		if (depth > 0 && sorted[above[depth - 1]].access >= sorted[i].access)
			continue;
		sorted[kept] = sorted[i];
		above[depth++] = kept++;
	}
	out->items = sorted;
	out->count = kept;
	out->room = count + 1;
	return 0;
}

/* The subtree that both speak of; false when there is none. */
static bool meet_paths(const struct permission *r, const struct permission *g,
		       struct permission *out)
{
	if (path_is_under(r->path, g->path))
		out->path = r->path;
	else if (path_is_under(g->path, r->path))
		out->path = g->path;
	else
		return false;
	out->access = MIN_OF(r->access, g->access);
	return true;
}

static int intersect_paths(struct arena *a, const struct permissions *requested,
			   const struct permissions *granted, permission_list *out, struct err *e)
{
	permission_list wanted = { 0 };
	permission_list given = { 0 };
	permission_list both = { 0 };
	int r = simplify(a, requested->paths.items, requested->paths.count, &wanted, e);

	if (r == 0)
		r = simplify(a, granted->paths.items, granted->paths.count, &given, e);
	for (size_t i = 0; r == 0 && i < wanted.count; i++) {
		for (size_t j = 0; j < given.count; j++) {
			struct permission meet;
			struct permission *added;

			if (!meet_paths(&wanted.items[i], &given.items[j], &meet))
				continue;
			added = VEC_PUSH(a, &both, e);
			if (!added)
				return err_result(e);
			*added = meet;
		}
	}
	return r < 0 ? r : simplify(a, both.items, both.count, out, e);
}

static int add_host(struct arena *a, struct permissions *out, const struct domain *host,
		    struct err *e)
{
	struct domain *added = VEC_PUSH(a, &out->hosts, e);

	if (!added)
		return err_result(e);
	*added = *host;
	return 0;
}

static int intersect_pair(struct arena *a, const struct domain *r, const struct domain *g,
			  struct permissions *out, struct err *e)
{
	uint16_t first = MAX_OF(r->port_first, g->port_first);
	uint16_t last = MIN_OF(r->port_last, g->port_last);
	bool is_narrower = domain_is_host_within(r, g);
	struct domain meet;
	int result;

	if (first > last || (!is_narrower && !domain_is_host_within(g, r)))
		return 0;
	result = domain_limit_ports(a, is_narrower ? r : g, first, last, &meet, e);
	return result < 0 ? result : add_host(a, out, &meet, e);
}

static int intersect_hosts(struct arena *a, const struct permissions *requested,
			   const struct permissions *granted, struct permissions *out,
			   struct err *e)
{
	int r = 0;

	/* A grant of the whole network includes every host, and the reverse. */
	for (size_t i = 0; granted->network && i < requested->hosts.count && r == 0; i++)
		r = add_host(a, out, &requested->hosts.items[i], e);
	for (size_t i = 0; requested->network && i < granted->hosts.count && r == 0; i++)
		r = add_host(a, out, &granted->hosts.items[i], e);
	for (size_t i = 0; i < requested->hosts.count && r == 0; i++)
		for (size_t j = 0; j < granted->hosts.count && r == 0; j++)
			r = intersect_pair(a, &requested->hosts.items[i], &granted->hosts.items[j],
					   out, e);
	return r;
}

static int intersect_sockets(struct arena *a, const struct permissions *requested,
			     const struct permissions *granted, struct permissions *out,
			     struct err *e)
{
	for (size_t i = 0; i < requested->sockets.count; i++) {
		struct str path = requested->sockets.items[i];
		struct str *added;
		size_t k = 0;

		while (k < granted->sockets.count && !str_eq(granted->sockets.items[k], path))
			k++;
		if (k == granted->sockets.count)
			continue;
		added = VEC_PUSH(a, &out->sockets, e);
		if (!added)
			return err_result(e);
		*added = path;
	}
	return 0;
}

int permissions_intersect(struct arena *a, const struct permissions *requested,
			  const struct permissions *granted, struct permissions *out, struct err *e)
{
	struct permissions both = { .network = requested->network && granted->network };
	permission_list paths = { 0 };
	int r = intersect_paths(a, requested, granted, &paths, e);

	if (r == 0)
		r = intersect_hosts(a, requested, granted, &both, e);
	if (r == 0)
		r = intersect_sockets(a, requested, granted, &both, e);
	if (r < 0)
		return r;
	both.paths.items = paths.items;
	both.paths.count = paths.count;
	both.paths.room = paths.room;
	*out = both;
	return 0;
}

static int grant_path(struct arena *a, struct policy *p, const struct permission *permission,
		      struct origin origin, struct err *e)
{
	struct fs_entry *added;

	if (!path_is_absolute(permission->path) || permission->access == ACCESS_DENY)
		return FAIL(e, ERR_ARGUMENT,
			    "'%s' can't be granted: a grant is read or write access "
			    "to an absolute path",
			    SHOWN(permission->path));
	added = VEC_PUSH(a, &p->grants, e);
	if (!added)
		return err_result(e);
	*added = (struct fs_entry){ .anchor = FS_ABSOLUTE,
				    .path = permission->path,
				    .glob = STR_EMPTY,
				    .access = permission->access,
				    .key = permission->path,
				    .origin = origin };
	return 0;
}

static int grant_host(struct arena *a, struct policy *p, const struct domain *host,
		      struct origin origin, struct err *e)
{
	struct net_rule *added = VEC_PUSH(a, &p->net_grants, e);

	if (!added)
		return err_result(e);
	*added = (struct net_rule){ .domain = *host, .is_allow = true, .origin = origin };
	return 0;
}

static int grant_socket(struct arena *a, struct policy *p, struct str path, struct origin origin,
			struct err *e)
{
	struct net_socket *added;

	if (!path_is_absolute(path))
		return FAIL(e, ERR_ARGUMENT,
			    "'%s' can't be granted: a socket is named by its absolute path",
			    SHOWN(path));
	added = VEC_PUSH(a, &p->socket_grants, e);
	if (!added)
		return err_result(e);
	*added = (struct net_socket){ .path = path, .is_allow = true, .origin = origin };
	return 0;
}

int policy_grant(struct arena *a, struct policy *p, const struct permissions *granted,
		 struct origin origin, struct err *e)
{
	size_t paths = p->grants.count;
	size_t hosts = p->net_grants.count;
	size_t sockets = p->socket_grants.count;
	int r = 0;

	for (size_t i = 0; i < granted->paths.count && r == 0; i++)
		r = grant_path(a, p, &granted->paths.items[i], origin, e);
	for (size_t i = 0; i < granted->hosts.count && r == 0; i++)
		r = grant_host(a, p, &granted->hosts.items[i], origin, e);
	for (size_t i = 0; i < granted->sockets.count && r == 0; i++)
		r = grant_socket(a, p, granted->sockets.items[i], origin, e);
	if (r == 0 && granted->network) {
		struct domain any;

		r = domain_parse(a, STR("*"), &any, e);
		if (r == 0)
			r = grant_host(a, p, &any, origin, e);
	}
	if (r < 0) { /* all of it or nothing */
		p->grants.count = paths;
		p->net_grants.count = hosts;
		p->socket_grants.count = sockets;
	}
	return r;
}
