/* SPDX-License-Identifier: MIT */
/*
 * The digest of a plan: of its policy, and of what the symbolic keys stand for.
 *
 * SECURITY: two plans with one digest allow the same, but for grants. A policy alone does not say that, as one
 * of two workspaces may be written by one of two equal policies.
 */
#include "base/sha256.h"
#include "plan/plan.h"

enum { PLACES_MAX_BYTES = 1 << 20 };

/* The length keeps two paths from looking like two others. */
static void add_place(struct buf *text, struct str path)
{
	buf_printf(text, "%zu ", path.len);
	buf_add(text, path);
	buf_add_char(text, '\n');
}

int plan_digest(struct arena *a, const struct plan *p, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(PLACES_MAX_BYTES);
	char hex[SHA256_HEX_BYTES];
	struct str policy;

	if (policy_digest_exact(a, p->policy, &policy, e) < 0)
		return err_result(e);
	add_place(&text, policy);
	add_place(&text, places_workspace(&p->places));
	add_place(&text, p->places.home);
	add_place(&text, p->places.tmpdir);
	for (size_t i = 0; i < p->places.root_count; i++)
		add_place(&text, p->places.roots[i]);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	sha256_hex(buf_str(&text), hex);
	return arena_printf(a, out, e, "sha256:%s", hex);
}
