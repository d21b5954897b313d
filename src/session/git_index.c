/* SPDX-License-Identifier: MIT */
/* See git_index.h. The text is hostile: every step stays inside it. */
#include "session/git_index.h"

#include <stdint.h>

enum {
	HEADER_BYTES = 12,
	EXTENSION_BYTES = 8,
	CHANGED_AT = 0, /* the seconds of both times */
	MODIFIED_AT = 8,
	MODE_AT = 24,
	HASH_AT = 40,
	MODE_TYPE = 0170000,
	MODE_GITLINK = 0160000,
	FLAG_EXTENDED = 0x4000,
	FLAGS_ABSENT = 0x6000, /* of the extended ones: "skip-worktree", "intent-to-add" */
	FLAG_LENGTH = 0x0fff,  /* of the name; or all of it, for any that is longer */
	NAME_MAX_BYTES = 4096,
};

struct index_reader {
	struct str text;
	size_t at;
	uint32_t version;
	size_t hash_bytes; /* 20 or 32 */
	char name[NAME_MAX_BYTES];
	size_t name_bytes;
};

static uint32_t read_32(struct str text, size_t at)
{
	const unsigned char *p = (const unsigned char *)text.p + at;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* How many bytes of the last name fall away, as version 4 counts them. */
static bool read_cut(struct index_reader *r, size_t *out)
{
	size_t value = 0;
	unsigned char c;

	if (r->at >= r->text.len)
		return false;
	c = (unsigned char)r->text.p[r->at++];
	value = c & 127;
	while (c & 128) {
		if (r->at >= r->text.len || value > NAME_MAX_BYTES)
			return false;
		c = (unsigned char)r->text.p[r->at++];
		value = ((value + 1) << 7) + (c & 127);
	}
	*out = value;
	return true;
}

/* The name behind an entry; `start` is where the entry began, for its padding. */
static bool read_name(struct index_reader *r, size_t start)
{
	size_t cut = 0;
	size_t kept = 0;
	size_t length;

	if (r->version == 4) {
		if (!read_cut(r, &cut) || cut > r->name_bytes)
			return false;
		kept = r->name_bytes - cut;
	}
	length = str_find(str_from(r->text, r->at), '\0');
	if (length == r->text.len - r->at || kept + length > NAME_MAX_BYTES)
		return false;
	memcpy(r->name + kept, r->text.p + r->at, length);
	r->name_bytes = kept + length;
	r->at += length;
	/* One to eight NULs up to a multiple of eight; version 4 has just one. */
	r->at += r->version == 4 ? 1 : 8 - (r->at - start) % 8;
	return r->at <= r->text.len;
}

struct entry_facts {
	bool is_link;
	bool is_unseen;
};

static bool read_entry(struct index_reader *r, struct entry_facts *out)
{
	size_t start = r->at;
	size_t fixed = HASH_AT + r->hash_bytes + 2;
	uint32_t flags;
	bool is_extended;

	if (r->text.len - r->at < fixed + 2)
		return false;
	flags = read_32(r->text, start + fixed - 2);
	is_extended = (flags >> 16) & FLAG_EXTENDED && r->version >= 3;
	out->is_link = (read_32(r->text, start + MODE_AT) & MODE_TYPE) == MODE_GITLINK;
	out->is_unseen = !out->is_link && read_32(r->text, start + CHANGED_AT) == 0 &&
			 read_32(r->text, start + MODIFIED_AT) == 0 &&
			 !(is_extended && flags & FLAGS_ABSENT);
	flags >>= 16;
	r->at += fixed + (is_extended ? 2 : 0);
	/* With the wrong size of hash this is no length: that tells one from the other. */
	return read_name(r, start) && (flags & FLAG_LENGTH) == MIN_OF(r->name_bytes, FLAG_LENGTH);
}

/* Whether all entries can be read with hashes of that size; calls `each` when it is not NULL. */
static int read_entries(struct index_reader *r, uint32_t count, bool *is_whole,
			git_index_each *each, void *arg, struct err *e)
{
	r->at = HEADER_BYTES;
	r->name_bytes = 0;
	*is_whole = false;
	for (uint32_t i = 0; i < count; i++) {
		struct entry_facts facts;
		int status;

		if (!read_entry(r, &facts))
			return 0;
		if (!each || (!facts.is_link && (!facts.is_unseen || r->name_bytes == 0)))
			continue;
		status = each(arg, facts.is_link ? GIT_ENTRY_LINK : GIT_ENTRY_UNSEEN,
			      (struct str){ r->name, r->name_bytes }, e);
		if (status)
			return status;
	}
	*is_whole = true;
	return 0;
}

/*
 * The extension "link" behind the entries: the hash of the shared index, all NUL
 * when there is none any more, and two bitmaps of which of its entries are gone or
 * replaced. Each extension is a name and a length, then its bytes; the hash of all
 * comes last.
 */
static struct str find_shared(const struct index_reader *r)
{
	static const char none[32];
	size_t end = r->text.len - MIN_OF(r->hash_bytes, r->text.len);
	size_t at = r->at;

	while (at < end && end - at >= EXTENSION_BYTES) {
		struct str name = { r->text.p + at, 4 };
		size_t bytes = read_32(r->text, at + 4);

		at += EXTENSION_BYTES;
		if (bytes > end - at)
			break;
		if (str_is(name, "link") && bytes >= r->hash_bytes) {
			struct str hash = { r->text.p + at, r->hash_bytes };

			return memcmp(hash.p, none, hash.len) == 0 ? STR_EMPTY : hash;
		}
		at += bytes;
	}
	return STR_EMPTY;
}

static int begin(struct index_reader *r, uint32_t *count, struct err *e)
{
	if (r->text.len < HEADER_BYTES || !str_has_prefix(r->text, STR("DIRC")))
		return FAIL(e, ERR_SYNTAX, "this is no index of git");
	r->version = read_32(r->text, 4);
	*count = read_32(r->text, 8);
	if (r->version < 2 || r->version > 4)
		return FAIL(e, ERR_SYNTAX, "this version of the index is not known");
	return 0;
}

/* Whether an entry has the name; false in `*is_whole` with hashes of the wrong size. */
static bool find_name(struct index_reader *r, uint32_t count, struct str name, bool *is_whole)
{
	bool is_found = false;

	r->at = HEADER_BYTES;
	r->name_bytes = 0;
	*is_whole = false;
	for (uint32_t i = 0; i < count; i++) {
		struct entry_facts facts;

		if (!read_entry(r, &facts))
			return false;
		is_found |= str_eq((struct str){ r->name, r->name_bytes }, name);
	}
	*is_whole = true;
	return is_found;
}

int git_index_has(struct str text, struct str name, bool *out, struct err *e)
{
	static const size_t hashes[] = { 20, 32 };
	struct index_reader r = { .text = text };
	uint32_t count;

	if (begin(&r, &count, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(hashes); i++) {
		bool is_whole;

		r.hash_bytes = hashes[i];
		*out = find_name(&r, count, name, &is_whole);
		if (is_whole)
			return 0;
	}
	return FAIL(e, ERR_SYNTAX, "the index ends in the middle of an entry");
}

int git_index_look(struct str text, git_index_each *each, void *arg, struct str *shared,
		   struct err *e)
{
	static const size_t hashes[] = { 20, 32 };
	struct index_reader r = { .text = text };
	uint32_t count;

	*shared = STR_EMPTY;
	if (begin(&r, &count, e) < 0)
		return err_result(e);
	/* The size of a hash is not in the file: the one with which all of it makes sense. */
	for (size_t i = 0; i < COUNT_OF(hashes); i++) {
		bool is_whole;

		r.hash_bytes = hashes[i];
		if (read_entries(&r, count, &is_whole, NULL, NULL, e) < 0)
			return err_result(e);
		if (is_whole) {
			*shared = find_shared(&r);
			return read_entries(&r, count, &is_whole, each, arg, e);
		}
	}
	return FAIL(e, ERR_SYNTAX, "the index ends in the middle of an entry");
}
