/* SPDX-License-Identifier: MIT */
/* See acl_edit.h. */
#include "backend/windows/acl_edit.h"
#include "backend/windows/sid.h"

enum { HEAD_BYTES = 8, ENTRY_HEAD_BYTES = 4, MASK_BYTES = 4, MIN_ENTRY_BYTES = 8 };

/* What the type of an entry does; [MS-DTYP] 2.4.4.1. */
enum effect { EFFECT_UNKNOWN, EFFECT_ALLOW, EFFECT_DENY };
enum { TYPE_ALLOW = 0, TYPE_DENY = 1, TYPE_ALLOW_CALLBACK = 9, TYPE_DENY_CALLBACK = 10 };

struct entry {
	struct str bytes;
	enum effect effect;
	uint8_t type, flags;
	uint32_t mask;
	struct str sid; /* "": of an object, or of an unknown kind */
};
typedef VEC(struct entry) entries;

static uint32_t get16(const char *p)
{
	return (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8;
}

static uint32_t get32(const char *p)
{
	return get16(p) | get16(p + 2) << 16;
}

static void put16(char *p, size_t value)
{
	p[0] = (char)(unsigned char)value;
	p[1] = (char)(unsigned char)(value >> 8);
}

static enum effect effect_of(uint8_t type)
{
	static const enum effect effects[] = {
		[0] = EFFECT_ALLOW, [1] = EFFECT_DENY,	[5] = EFFECT_ALLOW,  [6] = EFFECT_DENY,
		[9] = EFFECT_ALLOW, [10] = EFFECT_DENY, [11] = EFFECT_ALLOW, [12] = EFFECT_DENY
	};

	return type < COUNT_OF(effects) ? effects[type] : EFFECT_UNKNOWN;
}

static bool has_sid(uint8_t type)
{
	return type == TYPE_ALLOW || type == TYPE_DENY || type == TYPE_ALLOW_CALLBACK ||
	       type == TYPE_DENY_CALLBACK;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

/* False: it is malformed. Moves `*at` behind it. */
static bool read_entry(struct str list, size_t *at, struct entry *out)
{
	struct str rest = str_from(list, *at);
	size_t size;

	if (rest.len < MIN_ENTRY_BYTES)
		return false;
	size = get16(rest.p + 2);
	if (size < MIN_ENTRY_BYTES || size % 4 || size > rest.len)
		return false;
	*out = (struct entry){ .bytes = str_first(rest, size),
			       .type = (uint8_t)rest.p[0],
			       .flags = (uint8_t)rest.p[1],
			       .mask = get32(rest.p + ENTRY_HEAD_BYTES),
			       .sid = STR_EMPTY };
	out->effect = effect_of(out->type);
	*at += size;
	if (!has_sid(out->type))
		return true;
	out->sid = str_from(out->bytes, ENTRY_HEAD_BYTES + MASK_BYTES);
	out->sid = str_first(out->sid, sid_length(out->sid));
	return out->sid.len > 0;
}

/* How many entries there are; false: this is no list. What lies behind the last one is unused room. */
static bool read_head(struct str *list, size_t *count)
{
	size_t size;

	if (list->len < HEAD_BYTES || list->p[0] < 2 || list->p[0] > 4)
		return false;
	size = get16(list->p + 2);
	*count = get16(list->p + 4);
	if (size < HEAD_BYTES || size % 4 || size > list->len)
		return false;
	*list = str_first(*list, size);
	return true;
}

/* Goes through a list; `each` returns false to stop. False: malformed, or stopped. */
static bool read_list(struct str list, bool (*each)(void *arg, const struct entry *entry),
		      void *arg)
{
	size_t at = HEAD_BYTES, count;
	struct entry entry;

	if (!read_head(&list, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!read_entry(list, &at, &entry) || !each(arg, &entry))
			return false;
	return true;
}

/* Where an entry belongs: ranks may not fall. What is inherited keeps the order it has. */
static int rank_of(const struct entry *entry)
{
	if (entry->flags & ACL_INHERITED)
		return 2;
	return entry->effect == EFFECT_DENY ? 0 : 1;
}

struct order {
	int rank;
};

static bool is_in_order(void *arg, const struct entry *entry)
{
	struct order *order = arg;
	int rank = rank_of(entry);

	if (entry->effect == EFFECT_UNKNOWN || rank < order->rank)
		return false;
	order->rank = rank;
	return true;
}

static bool is_canonical(struct str list)
{
	struct order order = { .rank = 0 };

	return read_list(list, is_in_order, &order);
}

struct keep {
	struct arena *a;
	entries *out;
	struct err *e;
};

static bool keep_entry(void *arg, const struct entry *entry)
{
	struct keep *keep = arg;
	struct entry *place = VEC_PUSH(keep->a, keep->out, keep->e);

	if (place)
		*place = *entry;
	return place != NULL;
}

static int fail_malformed(struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_ACL_UNUSUAL, "its access list is malformed");
}

static int parse(struct arena *a, struct str list, entries *out, struct err *e)
{
	struct keep keep = { .a = a, .out = out, .e = e };

	if (read_list(list, keep_entry, &keep))
		return 0;
	return e->code ? err_result(e) : fail_malformed(e);
}

/* ---- Writing ------------------------------------------------------------------------------------ */

static int print(struct arena *a, uint8_t revision, const entries *all, struct str *out,
		 struct err *e)
{
	size_t size = HEAD_BYTES, at = HEAD_BYTES;
	char *bytes;

	for (size_t i = 0; i < all->count; i++)
		size += all->items[i].bytes.len;
	if (size > ACL_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "its access list would have %zu bytes, and %d fit", size,
			    ACL_MAX_BYTES);
	bytes = arena_alloc(a, size, e);
	if (!bytes)
		return err_result(e);
	bytes[0] = (char)revision;
	put16(bytes + 2, size);
	put16(bytes + 4, all->count);
	for (size_t i = 0; i < all->count; i++) {
		memcpy(bytes + at, all->items[i].bytes.p, all->items[i].bytes.len);
		at += all->items[i].bytes.len;
	}
	*out = (struct str){ bytes, size };
	return 0;
}

static int make_entry(struct arena *a, const struct acl_ace *ace, struct entry *out, struct err *e)
{
	size_t size = ENTRY_HEAD_BYTES + MASK_BYTES + ace->sid.len;
	char *bytes = arena_alloc(a, size, e);

	if (!bytes)
		return err_result(e);
	*out = (struct entry){ .bytes = { bytes, size },
			       .type = ace->is_deny ? TYPE_DENY : TYPE_ALLOW,
			       .effect = ace->is_deny ? EFFECT_DENY : EFFECT_ALLOW,
			       .flags = ace->flags,
			       .mask = ace->mask };
	bytes[0] = (char)out->type;
	bytes[1] = (char)out->flags;
	put16(bytes + 2, size);
	put16(bytes + 4, ace->mask & UINT16_MAX);
	put16(bytes + 6, ace->mask >> 16);
	memcpy(bytes + ENTRY_HEAD_BYTES + MASK_BYTES, ace->sid.p, ace->sid.len);
	out->sid = str_from(out->bytes, ENTRY_HEAD_BYTES + MASK_BYTES);
	return 0;
}

/* ---- Ours ---------------------------------------------------------------------------------------- */

static bool is_same(const struct entry *entry, const struct acl_ace *ace)
{
	return entry->type == (ace->is_deny ? TYPE_DENY : TYPE_ALLOW) && entry->mask == ace->mask &&
	       entry->flags == ace->flags && str_eq(entry->sid, ace->sid);
}

static bool is_one_of(struct str sid, const struct str *sids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(sid, sids[i]))
			return true;
	return false;
}

/*
 * Where a new entry goes. A deny comes before all that it could be undone by. What an object inherits from near
 * comes before what it inherits from far, and is added later, so ours go to the front.
 *
 * SECURITY: an allow stays behind each deny of somebody else's of the same rank, wherever that was inherited from.
 */
static size_t place_for(const entries *all, const struct acl_addition *in,
			const struct acl_ace *ace)
{
	size_t at = 0;

	while ((ace->flags & ACL_INHERITED) && at < all->count &&
	       !(all->items[at].flags & ACL_INHERITED))
		at++;
	if (ace->is_deny)
		return at;
	for (size_t i = at; i < all->count; i++) {
		const struct entry *entry = &all->items[i];

		if ((entry->flags & ACL_INHERITED) != (ace->flags & ACL_INHERITED))
			break;
		if (entry->effect == EFFECT_DENY &&
		    (!(ace->flags & ACL_INHERITED) ||
		     !is_one_of(entry->sid, in->own, in->own_count)))
			at = i + 1;
	}
	return at;
}

static int insert(struct arena *a, entries *all, size_t at, const struct acl_ace *ace,
		  struct err *e)
{
	struct entry made, *last;

	if (make_entry(a, ace, &made, e) < 0)
		return err_result(e);
	last = VEC_PUSH(a, all, e);
	if (!last)
		return err_result(e);
	memmove(all->items + at + 1, all->items + at, (all->count - 1 - at) * sizeof(*all->items));
	all->items[at] = made;
	return 0;
}

/* The allows, or the denies. The last first, so that at the same place they keep their order. */
static int add_all(struct arena *a, const struct acl_addition *in, bool is_deny, entries *all,
		   struct err *e)
{
	for (size_t i = in->count; i-- > 0;) {
		const struct acl_ace *ace = &in->aces[i];
		bool is_there = ace->is_deny != is_deny;

		for (size_t j = 0; j < all->count; j++)
			is_there = is_there || is_same(&all->items[j], ace);
		if (!is_there && insert(a, all, place_for(all, in, ace), ace, e) < 0)
			return err_result(e);
	}
	return 0;
}

int acl_add(struct arena *a, struct str list, const struct acl_addition *in, struct str *out,
	    struct err *e)
{
	entries all = { .items = NULL };

	if (!list.len)
		return FAIL_CAUSE(e, CAUSE_ACL_UNUSUAL,
				  "it has no access list, so everybody may do everything");
	if (parse(a, list, &all, e) < 0)
		return err_result(e);
	if (!is_canonical(list))
		return FAIL_CAUSE(e, CAUSE_ACL_UNUSUAL,
				  "its access list is not in canonical order, or has entries of a "
				  "kind that is not known");
	/* Denies come to lie before what was added earlier. */
	if (add_all(a, in, false, &all, e) < 0 || add_all(a, in, true, &all, e) < 0)
		return err_result(e);
	return print(a, (uint8_t)list.p[0], &all, out, e);
}

int acl_remove(struct arena *a, struct str list, const struct str *sids, size_t count,
	       struct str *out, struct err *e)
{
	entries all = { .items = NULL }, kept = { .items = NULL };

	if (parse(a, list, &all, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < all.count; i++) {
		struct entry *place;

		if (all.items[i].sid.len && is_one_of(all.items[i].sid, sids, count))
			continue;
		place = VEC_PUSH(a, &kept, e);
		if (!place)
			return err_result(e);
		*place = all.items[i];
	}
	return print(a, (uint8_t)list.p[0], &kept, out, e);
}

/* ---- Questions ------------------------------------------------------------------------------------- */

struct search {
	const struct acl_ace *ace;
	const struct str *sids;
	size_t count;
	bool is_found;
};

static bool look_for_ace(void *arg, const struct entry *entry)
{
	struct search *search = arg;

	search->is_found = search->is_found || is_same(entry, search->ace);
	return true;
}

static bool look_for_sid(void *arg, const struct entry *entry)
{
	struct search *search = arg;

	if (entry->sid.len && is_one_of(entry->sid, search->sids, search->count))
		search->is_found = true;
	return true;
}

bool acl_has_all(struct str list, const struct acl_ace *aces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct search search = { .ace = &aces[i] };

		if (!read_list(list, look_for_ace, &search) || !search.is_found)
			return false;
	}
	return is_canonical(list);
}

bool acl_names_any(struct str list, const struct str *sids, size_t count)
{
	struct search search = { .sids = sids, .count = count };

	return !read_list(list, look_for_sid, &search) || search.is_found;
}

/* ---- What the lowering means ---------------------------------------------------------------------- */

/* The rights of files and directories; [MS-FSCC], winnt.h. */
enum {
	READ_DATA = 0x1,
	WRITE_DATA = 0x2,
	APPEND_DATA = 0x4,
	READ_EA = 0x8,
	WRITE_EA = 0x10,
	EXECUTE = 0x20,
	DELETE_CHILD = 0x40,
	READ_ATTRIBUTES = 0x80,
	WRITE_ATTRIBUTES = 0x100,
	DELETE = 0x10000,
	READ_CONTROL = 0x20000,
	WRITE_DAC = 0x40000,
	WRITE_OWNER = 0x80000,
	SYNCHRONIZE = 0x100000,
	READING = READ_DATA | READ_EA | EXECUTE | READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE,
	CHANGING = WRITE_DATA | APPEND_DATA | WRITE_EA | WRITE_ATTRIBUTES | DELETE,
};

uint32_t acl_mask(bool is_deny, enum windows_access access)
{
	switch (access) {
	case WINDOWS_READ:
		return is_deny ? READ_DATA | READ_EA | EXECUTE : READING;
	case WINDOWS_WRITE:
		/* SECURITY: DELETE_CHILD is never allowed; it would undo a deny further down. */
		return is_deny ? CHANGING | DELETE_CHILD | WRITE_DAC | WRITE_OWNER
			       : READING | CHANGING;
	case WINDOWS_DELETE:
		break;
	}
	return DELETE;
}

struct acl_ace acl_inherit(struct acl_ace ace, bool is_dir)
{
	ace.flags = is_dir ? ACL_TO_FILES | ACL_TO_DIRS | ACL_INHERITED : ACL_INHERITED;
	return ace;
}
