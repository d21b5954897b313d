/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file with approvals, of a session if the first byte is odd. What is accepted is within
 * what an approval may be, and written again it is the same; what is refused says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "approve/store.h"
#include "base/path.h"
#include "policy/domain.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store empty(bool is_session)
{
	return (struct store){ .file.path = STR("/fuzz"),
			       .session = is_session ? STR("work") : STR_EMPTY };
}

static void check_grant(struct arena *a, const struct store *store, const struct stored_grant *g)
{
	struct err e = ERR_INIT;
	struct domain domain;
	struct str plain;

	if (!g->id.len || !g->profile.len || !g->by.len || g->date.len < 20 ||
	    (store->session.len != 0) != (g->policy.len != 0) || g->grant.kind == ASK_ESCALATE)
		abort();
	if (g->grant.kind == ASK_CONNECT) {
		if (domain_parse(a, g->grant.subject, &domain, &e) < 0 ||
		    (domain.kind != DOMAIN_EXACT && domain.kind != DOMAIN_BLOCK))
			abort();
	} else if (path_plain(a, STR("/"), g->grant.subject, &plain, &e) < 0 ||
		   !str_eq(plain, g->grant.subject) || plain.len < 2) {
		abort();
	}
}

static bool is_same(const struct stored_grant *a, const struct stored_grant *b)
{
	return str_eq(a->id, b->id) && a->grant.kind == b->grant.kind &&
	       a->grant.is_dir == b->grant.is_dir && str_eq(a->grant.subject, b->grant.subject) &&
	       str_eq(a->profile, b->profile) && str_eq(a->workspace, b->workspace) &&
	       str_eq(a->policy, b->policy) && str_eq(a->date, b->date) && str_eq(a->by, b->by);
}

static void check_again(struct arena *a, const struct store *store)
{
	struct store again = empty(store->session.len != 0);
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;

	store_print(&text, store);
	if (buf_check(&text, &e) < 0)
		return;
	if (store_parse(a, &again, buf_str(&text), &e) < 0) {
		if (e.code != ERR_LIMIT && e.code != ERR_NOMEM)
			abort();
		return;
	}
	if (again.grants.count != store->grants.count)
		abort();
	for (size_t i = 0; i < store->grants.count; i++)
		if (!is_same(&store->grants.items[i], &again.grants.items[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct store store = empty(size && data[0] % 2);
	struct err e = ERR_INIT;

	if (store_parse(&a, &store, text, &e) < 0) {
		if (e.code == ERR_OK || e.code == ERR_INTERNAL || e.text[0] == '\0')
			abort();
		return 0;
	}
	for (size_t i = 0; i < store.grants.count; i++)
		check_grant(&a, &store, &store.grants.items[i]);
	check_again(&a, &store);
	return 0;
}
