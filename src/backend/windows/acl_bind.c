/* SPDX-License-Identifier: MIT */
/* See acl_apply.h: from the entries of a lowering to those of objects. */
#include "backend/windows/acl_apply.h"
#include "backend/windows/sid.h"
#include "base/path.h"
#include "base/sort.h"

struct bound {
	struct str path;
	struct windows_acl_ace ace;
};

/* A SID by its name in the lowering. */
static int find_sid(struct arena *a, const struct windows_lowering *in,
		    const struct windows_acl_names *known, struct str name, struct str *out,
		    struct err *e)
{
	for (size_t i = 0; i < in->capabilities.count; i++)
		if (str_eq(in->capabilities.items[i].name, name))
			return sid_parse(a, in->capabilities.items[i].sid, out, e);
	if (!str_is(name, "group") || !known->group.len)
		return FAIL(e, ERR_INTERNAL, "the SID '%.*s' of an entry is not known",
			    STR_ARG(name));
	*out = known->group;
	return 0;
}

/* Parents first; of one object the denies first, else as lowered. */
static int compare(const void *context, uint32_t x, uint32_t y)
{
	const struct bound *all = context, *a = &all[x], *b = &all[y];
	int r = str_cmp(a->path, b->path);

	return r ? r : (int)b->ace.is_deny - (int)a->ace.is_deny;
}

static bool is_file(const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < plan->placeholders.count; i++)
		if (str_eq(plan->placeholders.items[i].path, path))
			return plan->placeholders.items[i].kind != PLACEHOLDER_DIR;
	return false;
}

static int bind_all(struct arena *a, const struct windows_lowering *in,
		    const struct windows_acl_names *known, struct bound **out, size_t *count,
		    struct err *e)
{
	struct bound *all =
		arena_array(a, in->acl.count + in->read_roots.count + 1, sizeof(*all), e);
	size_t n = 0;

	if (!all)
		return err_result(e);
	for (size_t i = 0; i < in->acl.count; i++) {
		const struct windows_ace *ace = &in->acl.items[i];
		struct bound *b = &all[n++];

		b->path = ace->path;
		b->ace = (struct windows_acl_ace){ .is_deny = ace->is_deny,
						   .inherits = ace->inherits,
						   .access = ace->access };
		if (find_sid(a, in, known, ace->sid, &b->ace.sid, e) < 0)
			return err_result(e);
	}
	for (size_t i = 0; i < in->read_roots.count; i++) {
		struct bound *b = &all[n++];

		b->path = in->read_roots.items[i];
		b->ace = (struct windows_acl_ace){ .inherits = true, .access = WINDOWS_READ };
		if (find_sid(a, in, known, STR("group"), &b->ace.sid, e) < 0)
			return err_result(e);
	}
	*out = all;
	*count = n;
	return 0;
}

/* Numbers of `all`, in order. */
static int sort_all(struct arena *a, const struct bound *all, size_t count, uint32_t **out,
		    struct err *e)
{
	uint32_t *numbers = arena_array(a, 2 * count + 1, sizeof(*numbers), e);

	if (!numbers)
		return err_result(e);
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = i;
	sort_numbers(numbers, numbers + count, count, compare, all);
	*out = numbers;
	return 0;
}

int windows_acl_bind(struct arena *a, const struct windows_lowering *in, const struct plan *plan,
		     const struct windows_acl_names *known, struct windows_acl_request *out,
		     struct err *e)
{
	struct windows_acl_place *places;
	struct windows_acl_ace *aces;
	struct bound *all = NULL;
	uint32_t *numbers = NULL;
	size_t count = 0, used = 0;

	if (bind_all(a, in, known, &all, &count, e) < 0 || sort_all(a, all, count, &numbers, e) < 0)
		return err_result(e);
	places = arena_array(a, count + 1, sizeof(*places), e);
	aces = arena_array(a, count + 1, sizeof(*aces), e);
	if (!places || !aces)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		const struct bound *b = &all[numbers[i]];

		aces[i] = b->ace;
		if (!used || !str_eq(places[used - 1].path, b->path))
			places[used++] = (struct windows_acl_place){
				.path = b->path,
				.is_made_as_file = is_file(plan, b->path),
				.aces = &aces[i],
			};
		places[used - 1].count++;
	}
	*out = (struct windows_acl_request){ .places = places, .count = used };
	return 0;
}
