/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an access list, or as a journal. What entries are added to has them, in order, and is the same bytes
 * without them; a malformed list gets none and loses none. A record is read again as it was.
 */
#include <stdint.h>
#include <stdlib.h>

#include "backend/windows/acl_journal.h"
#include "backend/windows/sid.h"

enum { LIMIT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

/* As it is written when nothing is removed: without the unused room behind its entries. */
static bool is_same(struct str list, struct str other)
{
	return other.len <= list.len && list.p[0] == other.p[0] &&
	       memcmp(list.p + 4, other.p + 4, 2) == 0 &&
	       memcmp(list.p + 8, other.p + 8, other.len - 8) == 0;
}

static void check_list(struct arena *a, struct str list, const struct acl_ace *aces, size_t count)
{
	const struct acl_addition in = {
		.aces = aces, .count = count, .own = &aces[0].sid, .own_count = 1
	};
	const bool had_ours = acl_names_any(list, &aces[0].sid, 1);
	struct str with = STR_EMPTY, without = STR_EMPTY;
	struct err e = ERR_INIT;

	if (acl_add(a, list, &in, &with, &e) < 0) {
		demand(e.cause == CAUSE_ACL_UNUSUAL || e.code == ERR_LIMIT);
		err_clear(&e);
		if (acl_remove(a, list, &aces[0].sid, 1, &without, &e) < 0)
			demand(had_ours && !acl_has_all(list, aces, 0));
		return;
	}
	demand(acl_has_all(with, aces, count));
	demand(acl_remove(a, with, &aces[0].sid, 1, &without, &e) == 0);
	demand(!acl_names_any(without, &aces[0].sid, 1));
	demand(had_ours || is_same(list, without));
}

static void check_journal(struct arena *a, struct str text)
{
	acl_records records = { .items = NULL }, again = { .items = NULL };
	struct buf printed = BUF_INIT(LIMIT_BYTES);
	struct err e = ERR_INIT;

	demand(acl_journal_parse(a, text, &records, &e) == 0);
	for (size_t i = 0; i < records.count; i++)
		demand(acl_record_print(&records.items[i], &printed, &e) == 0);
	demand(acl_journal_parse(a, buf_str(&printed), &again, &e) == 0);
	demand(again.count == records.count);
	for (size_t i = 0; i < records.count; i++)
		demand(again.items[i].kind == records.items[i].kind &&
		       str_eq(again.items[i].path, records.items[i].path) &&
		       again.items[i].sids.count == records.items[i].sids.count);
	buf_done(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned char digest[SHA256_BYTES] = { 1 };
	struct arena a = ARENA_INIT(LIMIT_BYTES);
	struct str bytes = { (const char *)data, size }, text = STR_EMPTY, sid = STR_EMPTY;
	struct err e = ERR_INIT;
	struct acl_ace aces[3];

	demand(sid_of_capability(&a, digest, &text, &e) == 0);
	demand(sid_parse(&a, text, &sid, &e) == 0 && sid_is_capability(sid));
	for (size_t i = 0; i < COUNT_OF(aces); i++)
		aces[i] = (struct acl_ace){ .sid = sid,
					    .mask = acl_mask(i != 1, WINDOWS_WRITE),
					    .flags = (uint8_t)(i == 2 ? 0x13 : 3),
					    .is_deny = i != 1 };
	check_list(&a, bytes, aces, COUNT_OF(aces));
	check_journal(&a, bytes);
	(void)sid_length(bytes);
	if (sid_parse(&a, bytes, &sid, &e) == 0)
		demand(sid_print(&a, sid, &text, &e) == 0 && str_eq(text, bytes));
	arena_done(&a);
	return 0;
}
