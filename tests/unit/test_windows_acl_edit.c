/* SPDX-License-Identifier: MIT */
/* Edits of access lists, against what Windows makes of a list (acl_memory.h). */
#include "acl_memory.h"
#include "backend/windows/acl_edit.h"
#include "backend/windows/sid.h"
#include "test.h"

static const char system_sid[] = "S-1-5-18", users[] = "S-1-5-32-545", me[] = "S-1-5-21-1-2-3-1001";
static struct arena arena = ARENA_INIT(64 << 20);
static struct err error = ERR_INIT;

static const char *capability(unsigned number)
{
	unsigned char digest[SHA256_BYTES] = { (unsigned char)number };
	struct str text = STR_EMPTY;

	CHECK(sid_of_capability(&arena, digest, &text, &error) == 0);
	return text.p;
}

static struct str sid_bytes(const char *text)
{
	struct str bytes = STR_EMPTY;

	CHECK(sid_parse(&arena, str_of(text), &bytes, &error) == 0);
	return bytes;
}

/* A list of one entry each, "type flags mask sid" as bytes by hand. */
struct builder {
	char bytes[4096];
	size_t length, count;
};

static void begin(struct builder *b)
{
	*b = (struct builder){ .length = 8 };
}

static void add(struct builder *b, int type, int flags, uint32_t mask, const char *sid)
{
	struct str bytes = sid_bytes(sid);
	size_t size = 8 + bytes.len;
	char *at = b->bytes + b->length;

	at[0] = (char)type;
	at[1] = (char)flags;
	at[2] = (char)size;
	at[3] = 0;
	for (int i = 0; i < 4; i++)
		at[4 + i] = (char)(mask >> 8 * i);
	memcpy(at + 8, bytes.p, bytes.len);
	b->length += size;
	b->count++;
}

static struct str end(struct builder *b)
{
	b->bytes[0] = 2;
	b->bytes[2] = (char)b->length;
	b->bytes[3] = (char)(b->length >> 8);
	b->bytes[4] = (char)b->count;
	return (struct str){ b->bytes, b->length };
}

static struct acl_ace deny(const char *sid, uint8_t flags)
{
	return (struct acl_ace){ .sid = sid_bytes(sid),
				 .mask = acl_mask(true, WINDOWS_WRITE),
				 .flags = flags,
				 .is_deny = true };
}

static struct acl_ace allow(const char *sid, uint8_t flags)
{
	return (struct acl_ace){ .sid = sid_bytes(sid),
				 .mask = acl_mask(false, WINDOWS_WRITE),
				 .flags = flags };
}

static bool is(struct str list, struct builder *expected)
{
	return str_eq(list, end(expected));
}

TEST(a_sid_is_the_same_as_text_and_as_bytes)
{
	static const char *const texts[] = { "S-1-0",
					     "S-1-5",
					     "S-1--5",
					     "S-1-5-",
					     "S-1-05-18",
					     "S-2-5-18",
					     "S-1-5-4294967296",
					     "S-1-5-18 ",
					     "",
					     "x",
					     "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16" };
	static const char admins[] = { 1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0 };
	struct str text = STR_EMPTY, bytes = STR_EMPTY;

	CHECK(str_eq(sid_bytes("S-1-5-32-544"), (struct str){ admins, sizeof(admins) }));
	CHECK(sid_print(&arena, sid_bytes(me), &text, &error) == 0 && str_is(text, me));
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		CHECK(sid_parse(&arena, str_of(texts[i]), &bytes, &error) == -ERR_SYNTAX);
		err_clear(&error);
	}
	CHECK(sid_length((struct str){ admins, sizeof(admins) - 1 }) == 0);
}

TEST(a_capability_has_a_form_that_no_account_has)
{
	struct str one = sid_bytes(capability(1));

	CHECK(sid_is_capability(one) && !str_eq(one, sid_bytes(capability(2))));
	CHECK(str_is(str_first(str_of(capability(1)), 9), "S-1-5-21-"));
	CHECK_INT(one.p[1], 8); /* an account of a domain has five numbers */
	CHECK(!sid_is_capability(sid_bytes(me)) && !sid_is_capability(sid_bytes(users)));
	CHECK(!sid_is_capability(str_first(one, one.len - 4)));
	for (size_t at = 0; at < 16; at++) { /* 128 bits of the digest count */
		unsigned char digest[SHA256_BYTES] = { 1 };
		struct str text = STR_EMPTY;

		digest[at] ^= 0x80;
		CHECK(sid_of_capability(&arena, digest, &text, &error) == 0);
		CHECK(!str_is(text, capability(1)));
	}
	for (size_t at = 0; at < 24; at++) {
		char other[SID_MAX_BYTES];

		memcpy(other, one.p, one.len);
		other[at] ^= 1;
		CHECK(!sid_is_capability((struct str){ other, one.len }));
	}
}

TEST(ours_go_where_the_canonical_order_wants_them)
{
	const char *cap = capability(1);
	struct acl_ace aces[] = { allow(cap, 3), deny(cap, 3), deny(cap, 0x13), allow(cap, 0x13) };
	struct acl_addition in = { .aces = aces, .count = COUNT_OF(aces) };
	uint32_t write = acl_mask(false, WINDOWS_WRITE), no = acl_mask(true, WINDOWS_WRITE);
	struct builder before, after;
	struct str list;

	begin(&before);
	add(&before, 1, 0, 2, users);
	add(&before, 0, 0, 1, me);
	add(&before, 1, 0x10, 4, users);
	add(&before, 0, 0x10, 1, system_sid);
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) == 0);
	begin(&after);
	add(&after, 1, 3, no, cap);
	add(&after, 1, 0, 2, users);
	add(&after, 0, 3, write, cap);
	add(&after, 0, 0, 1, me);
	add(&after, 1, 0x13, no, cap);
	add(&after, 1, 0x10, 4, users); /* a deny of somebody else's stays ahead of our allow */
	add(&after, 0, 0x13, write, cap);
	add(&after, 0, 0x10, 1, system_sid);
	CHECK(is(list, &after));
	CHECK(acl_has_all(list, aces, COUNT_OF(aces)));
}

TEST(what_is_there_already_is_not_added_again)
{
	const char *cap = capability(1);
	struct acl_ace aces[] = { deny(cap, 3), allow(cap, 3) };
	struct acl_addition in = { .aces = aces, .count = 2 };
	struct str once = STR_EMPTY, twice = STR_EMPTY;
	struct builder before;

	begin(&before);
	add(&before, 0, 0, 1, me);
	CHECK(!acl_has_all(end(&before), aces, 2));
	REQUIRE(acl_add(&arena, end(&before), &in, &once, &error) == 0);
	CHECK(acl_add(&arena, once, &in, &twice, &error) == 0 && str_eq(once, twice));
	CHECK(!str_eq(once, end(&before)));
}

TEST(an_entry_with_other_rights_or_flags_is_another)
{
	const char *cap = capability(1);
	struct acl_ace one = deny(cap, 3), fewer = one, own = one;
	struct acl_addition in = { .aces = &one, .count = 1 };
	struct builder before;
	struct str list = STR_EMPTY;

	fewer.mask &= ~0x10000u; /* DELETE */
	own.flags = 0;
	begin(&before);
	add(&before, 1, 3, fewer.mask, cap);
	add(&before, 1, 0, one.mask, cap);
	CHECK(acl_has_all(end(&before), &fewer, 1) && acl_has_all(end(&before), &own, 1));
	CHECK(!acl_has_all(end(&before), &one, 1));
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) == 0);
	CHECK(acl_has_all(list, &one, 1) && acl_has_all(list, &fewer, 1));
}

TEST(what_could_mean_something_else_is_refused)
{
	struct acl_ace ours = deny(capability(1), 3);
	struct acl_addition in = { .aces = &ours, .count = 1 };
	struct builder before;
	struct str list = STR_EMPTY;

	CHECK(acl_add(&arena, STR_EMPTY, &in, &list, &error) == -ERR_WEAKER); /* a NULL DACL */
	CHECK_INT(error.cause, CAUSE_ACL_UNUSUAL);
	err_clear(&error);
	begin(&before);
	add(&before, 0, 0, 1, me);
	add(&before, 1, 0, 1, users); /* a deny behind an allow */
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) < 0);
	CHECK_INT(error.cause, CAUSE_ACL_UNUSUAL);
	err_clear(&error);
	begin(&before);
	add(&before, 0, 0x10, 1, me);
	add(&before, 0, 0, 1, users); /* its own behind what it inherits */
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) < 0);
	err_clear(&error);
	begin(&before);
	add(&before, 17, 0, 1, me); /* a kind that belongs elsewhere */
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) < 0);
	err_clear(&error);
	begin(&before); /* nobody may do anything; the same with ours */
	CHECK(acl_add(&arena, end(&before), &in, &list, &error) == 0);
}

TEST(a_list_that_would_not_fit_is_refused)
{
	static char bytes[65532];
	struct acl_ace ours = deny(capability(1), 3);
	struct acl_addition in = { .aces = &ours, .count = 1 };
	struct str list = { bytes, sizeof(bytes) };
	const size_t entry = 16380;

	memset(bytes, 0, sizeof(bytes));
	bytes[0] = 2;
	bytes[2] = (char)(sizeof(bytes) & 255);
	bytes[3] = (char)(sizeof(bytes) >> 8);
	bytes[4] = 4;
	for (size_t i = 0; i < 4; i++) {
		char *at = bytes + 8 + i * entry;

		at[2] = (char)(entry & 255);
		at[3] = (char)(entry >> 8);
		at[8] = 1;
	}
	CHECK(!acl_names_any(list, &ours.sid, 1));
	CHECK(acl_add(&arena, list, &in, &list, &error) == -ERR_LIMIT);
	err_clear(&error);
}

/* ---- By chance ---------------------------------------------------------------------------------------- */

/* A list in canonical order, of some of these SIDs; the first three are not ours. */
static void make_list(struct builder *b, const char *const *sids, size_t count, uint64_t *state)
{
	begin(b);
	for (int rank = 0; rank < 4; rank++)
		for (uint64_t n = test_random(state) % 4; n > 0; n--) {
			int flags = rank < 2 ? 0 : 0x10;
			int type = rank < 2 ? !rank : (int)(test_random(state) % 2);

			add(b, type, flags | (int)(test_random(state) % 4),
			    (uint32_t)test_random(state) & 0x1f01ff,
			    sids[test_random(state) % count]);
		}
}

static void to_model(struct str list, struct memory_acl *out)
{
	size_t at = 8;

	*out = (struct memory_acl){ .count = 0 };
	while (at < list.len) {
		struct str text = STR_EMPTY;
		uint32_t mask = 0;

		for (int i = 4; i-- > 0;)
			mask = mask << 8 | (unsigned char)list.p[at + 4 + (size_t)i];
		CHECK(sid_print(&arena, str_from(list, at + 8), &text, &error) == 0);
		memory_add_ace(out, (uint8_t)list.p[at], (uint8_t)list.p[at + 1], mask, text.p);
		at += (unsigned char)list.p[at + 2];
	}
}

/* Whoever has none of our SIDs gets the same as before. */
static bool is_same_to_others(struct str before, struct str after, const char *const *others)
{
	struct memory_acl a, b;

	to_model(before, &a);
	to_model(after, &b);
	for (unsigned who = 0; who < 8; who++)
		for (uint32_t right = 1; right < 0x200000; right <<= 1) {
			const char *sids[3];
			size_t n = 0;

			for (unsigned i = 0; i < 3; i++)
				if (who >> i & 1)
					sids[n++] = others[i];
			if (memory_allows(&a, sids, n, right) != memory_allows(&b, sids, n, right))
				return false;
		}
	return true;
}

/* What is denied to one of ours stays denied to it, whoever else it is. */
static bool denies_hold(struct str after, const struct acl_ace *aces, size_t count,
			const char *const *sids)
{
	struct memory_acl list;

	to_model(after, &list);
	for (size_t i = 0; i < count; i++)
		for (uint32_t right = 1; right < 0x200000; right <<= 1) {
			const char *who[] = { sids[3], sids[4], sids[0] };

			if (aces[i].is_deny && !(aces[i].flags & 0x10) && (aces[i].mask & right) &&
			    str_eq(aces[i].sid, sid_bytes(sids[3])) &&
			    memory_allows(&list, who, 3, right))
				return false;
		}
	return true;
}

TEST(any_list_keeps_what_it_had_and_loses_exactly_ours)
{
	const char *sids[] = { system_sid, users, me, capability(1), capability(2) };
	struct str ours[] = { sid_bytes(sids[3]), sid_bytes(sids[4]) };
	uint64_t state = test_seed();
	size_t cases = test_cases(3000);
	struct arena lasting = arena; /* with these SIDs; what a case needs is freed with it */

	arena = (struct arena)ARENA_INIT(64 << 20);
	for (size_t i = 0; i < cases; i++) {
		struct acl_ace aces[6];
		struct acl_addition in = { .aces = aces, .own = ours, .own_count = 2 };
		struct str after = STR_EMPTY, gone = STR_EMPTY;
		struct builder before;
		bool ok;

		make_list(&before, sids, 3, &state);
		in.count = test_random(&state) % COUNT_OF(aces);
		for (size_t j = 0; j < in.count; j++) {
			const char *sid = sids[3 + test_random(&state) % 2];
			uint8_t flags = (uint8_t)(test_random(&state) % 2 ? 3 : 0x13);

			aces[j] = test_random(&state) % 2 ? deny(sid, flags) : allow(sid, flags);
		}
		ok = acl_add(&arena, end(&before), &in, &after, &error) == 0 &&
		     acl_has_all(after, aces, in.count) &&
		     acl_names_any(after, ours, 2) == (in.count > 0) &&
		     is_same_to_others(end(&before), after, sids) &&
		     denies_hold(after, aces, in.count, sids) &&
		     acl_remove(&arena, after, ours, 2, &gone, &error) == 0 &&
		     str_eq(gone, end(&before)) && !acl_names_any(gone, ours, 2);
		CHECK(ok);
		if (!ok) {
			printf("# case %zu\n", i);
			break;
		}
		arena_done(&arena);
	}
	arena_done(&arena);
	arena = lasting;
}

TEST(the_rights_are_those_that_windows_names)
{
	/* winnt.h: FILE_GENERIC_READ | FILE_GENERIC_EXECUTE, with FILE_GENERIC_WRITE | DELETE */
	CHECK_INT(acl_mask(false, WINDOWS_READ), 0x120089 | 0x1200a0);
	CHECK_INT(acl_mask(false, WINDOWS_WRITE), 0x120089 | 0x1200a0 | 0x120116 | 0x10000);
	CHECK_INT(acl_mask(true, WINDOWS_READ), 0x1 | 0x8 | 0x20);
	CHECK_INT(acl_mask(true, WINDOWS_WRITE),
		  0x2 | 0x4 | 0x10 | 0x100 | 0x10000 | 0x40 | 0x40000 | 0x80000);
	CHECK_INT(acl_mask(true, WINDOWS_DELETE), 0x10000);
	CHECK((acl_mask(false, WINDOWS_WRITE) & 0x40) == 0); /* FILE_DELETE_CHILD */
	arena_done(&arena);
}
