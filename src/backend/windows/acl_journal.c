/* SPDX-License-Identifier: MIT */
/* See acl_journal.h. */
#include "backend/windows/acl_journal.h"
#include "backend/windows/sid.h"
#include "base/path.h"

enum { DIGEST_DIGITS = 16, LIST_BYTES = 8 << 20 };

static const char digits[] = "0123456789abcdef";
static const char *const kinds[] = {
	[ACL_OBJECT] = "object", [ACL_MADE] = "made", [ACL_KEPT] = "kept"
};

/* ---- Writing ------------------------------------------------------------------------------------ */

static void add_hex(struct buf *out, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++) {
		buf_add_char(out, digits[at[i] >> 4]);
		buf_add_char(out, digits[at[i] & 15]);
	}
}

static bool is_plain(unsigned char c)
{
	return c > ' ' && c != '%' && c != 0x7f;
}

static void add_path(struct buf *out, struct str path)
{
	for (size_t i = 0; i < path.len; i++) {
		if (is_plain((unsigned char)path.p[i])) {
			buf_add_char(out, path.p[i]);
			continue;
		}
		buf_add_char(out, '%');
		add_hex(out, path.p + i, 1);
	}
}

static int add_sids(struct buf *out, const struct acl_record *record, struct err *e)
{
	for (size_t i = 0; i < record->sids.count; i++) {
		scoped_arena scratch = ARENA_INIT(4096);
		struct str text;

		if (sid_print(&scratch, record->sids.items[i], &text, e) < 0)
			return err_result(e);
		if (i)
			buf_add_char(out, ',');
		buf_add(out, text);
	}
	return 0;
}

int acl_record_print(const struct acl_record *record, struct buf *out, struct err *e)
{
	scoped_buf line = BUF_INIT(LIST_BYTES);
	char hex[SHA256_HEX_BYTES];

	buf_add_text(&line, kinds[record->kind]);
	buf_add_char(&line, ' ');
	if (record->kind == ACL_OBJECT) {
		add_hex(&line, record->id, ACL_ID_BYTES);
		buf_add_char(&line, ' ');
		if (add_sids(&line, record, e) < 0)
			return err_result(e);
		buf_add_char(&line, ' ');
	}
	add_path(&line, record->path);
	if (buf_check(&line, e) < 0)
		return err_result(e);
	sha256_hex(buf_str(&line), hex);
	/* What is in front may be a line that was torn. */
	buf_add_char(out, '\n');
	buf_add(out, (struct str){ hex, DIGEST_DIGITS });
	buf_add_char(out, ' ');
	buf_add(out, buf_str(&line));
	buf_add_char(out, '\n');
	return buf_check(out, e);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int value_of(char c)
{
	const char *at = c ? memchr(digits, c, 16) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* False: these are not `count` bytes in hexadecimal. */
static bool read_hex(struct str text, unsigned char *out, size_t count)
{
	if (text.len != 2 * count)
		return false;
	for (size_t i = 0; i < count; i++) {
		int high = value_of(text.p[2 * i]), low = value_of(text.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static bool read_path(struct arena *a, struct str text, struct str *out, struct err *e)
{
	char *bytes = arena_alloc(a, text.len + 1, e);
	size_t length = 0;

	for (size_t i = 0; bytes && i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '%') {
			if (!read_hex(str_first(str_from(text, i + 1), 2), &c, 1))
				return false;
			i += 2;
		}
		bytes[length++] = (char)c;
	}
	*out = (struct str){ bytes ? bytes : "", length };
	return bytes && path_is_absolute(*out) && !str_has_nul(*out);
}

static bool read_sids(struct arena *a, struct str text, struct acl_record *out, struct err *e)
{
	while (text.len) {
		struct str one = str_first(text, str_find(text, ','));
		struct str *sid = VEC_PUSH(a, &out->sids, e);

		if (!sid || sid_parse(a, one, sid, e) < 0)
			return false;
		text = str_from(text, one.len + 1);
	}
	return out->sids.count > 0;
}

/* False: torn, or no record; then `e` tells whether memory ran out. */
static bool read_line(struct arena *a, struct str line, struct acl_record *out, struct err *e)
{
	char hex[SHA256_HEX_BYTES];
	struct str digest = str_take_word(&line);
	struct str word;
	size_t kind = 0;

	sha256_hex(line, hex);
	if (!str_eq(digest, (struct str){ hex, DIGEST_DIGITS }))
		return false;
	*out = (struct acl_record){ .path = STR_EMPTY };
	word = str_take_word(&line);
	while (kind < COUNT_OF(kinds) && !str_is(word, kinds[kind]))
		kind++;
	if (kind == COUNT_OF(kinds))
		return false;
	out->kind = (enum acl_record_kind)kind;
	if (out->kind == ACL_OBJECT && (!read_hex(str_take_word(&line), out->id, ACL_ID_BYTES) ||
					!read_sids(a, str_take_word(&line), out, e)))
		return false;
	return read_path(a, line, &out->path, e);
}

int acl_journal_parse(struct arena *a, struct str text, acl_records *out, struct err *e)
{
	struct str line;

	while (str_next_line(&text, &line)) {
		struct acl_record record, *place;

		if (!read_line(a, line, &record, e)) {
			if (e->code && e->code != ERR_SYNTAX)
				return err_result(e);
			err_clear(e);
			continue;
		}
		place = VEC_PUSH(a, out, e);
		if (!place)
			return err_result(e);
		*place = record;
	}
	return 0;
}

int acl_journal_load(struct arena *a, const struct acl_system *system, struct str name,
		     acl_records *out, struct err *e)
{
	scoped_buf text = BUF_INIT(ACL_JOURNAL_MAX_BYTES);

	if (system->journal_read(system->user, name, &text, e) < 0)
		return err_result(e);
	return acl_journal_parse(a, buf_str(&text), out, e);
}

bool acl_has_sid(const struct acl_record *record, struct str sid)
{
	for (size_t i = 0; i < record->sids.count; i++)
		if (str_eq(record->sids.items[i], sid))
			return true;
	return false;
}

/* ---- Journals of all runs ----------------------------------------------------------------------- */

struct opening {
	struct arena *a;
	struct acl_journals *all;
};

static int open_one(void *arg, struct str name, struct err *e)
{
	struct opening *opening = arg;
	const struct acl_system *system = opening->all->system;
	struct acl_held_journal *place = VEC_PUSH(opening->a, &opening->all->items, e);

	if (!place || arena_copy(opening->a, name, &place->journal.name, e) < 0)
		return err_result(e);
	if (system->journal_take(system->user, place->journal.name, &place->journal, e) < 0)
		return err_result(e);
	return acl_journal_load(opening->a, system, place->journal.name, &place->records, e);
}

int acl_journals_open(struct arena *a, const struct acl_system *system, struct acl_journals *out,
		      struct err *e)
{
	struct opening opening = { .a = a, .all = out };

	*out = (struct acl_journals){ .system = system };
	if (system->journal_list(system->user, open_one, &opening, e) == 0)
		return 0;
	acl_journals_close(out);
	return err_result(e);
}

void acl_journals_close(struct acl_journals *all)
{
	for (size_t i = 0; i < all->items.count; i++)
		if (all->items.items[i].journal.handle)
			all->system->journal_close(all->system->user, &all->items.items[i].journal);
}

bool acl_journals_hold_sid(const struct acl_journals *all, struct str sid)
{
	for (size_t i = 0; i < all->items.count; i++) {
		const struct acl_held_journal *journal = &all->items.items[i];

		for (size_t j = 0; !journal->journal.handle && j < journal->records.count; j++)
			if (acl_has_sid(&journal->records.items[j], sid))
				return true;
	}
	return false;
}

bool acl_journals_hold_path(const struct acl_journals *all, struct str path)
{
	for (size_t i = 0; i < all->items.count; i++) {
		const struct acl_held_journal *journal = &all->items.items[i];

		for (size_t j = 0; !journal->journal.handle && j < journal->records.count; j++)
			if (path_is_under(journal->records.items[j].path, path))
				return true;
	}
	return false;
}

/* ---- What was made ------------------------------------------------------------------------------- */

/* Whether it is what was made: by its identity, where the journal has got to know that. */
static bool is_made_one(const acl_records *records, const struct acl_record *made,
			const struct acl_object *object)
{
	bool is_known = false;

	for (size_t i = 0; i < records->count; i++) {
		const struct acl_record *record = &records->items[i];

		if (record->kind != ACL_OBJECT || !str_eq(record->path, made->path))
			continue;
		if (memcmp(record->id, object->id, ACL_ID_BYTES) == 0)
			return true;
		is_known = true;
	}
	return !is_known;
}

/* Whether the record says that something was made, and no later one that this is over. */
static bool is_ours(const acl_records *records, size_t index)
{
	for (size_t i = index + 1; i < records->count; i++)
		if (records->items[i].kind == ACL_KEPT &&
		    str_eq(records->items[i].path, records->items[index].path))
			return false;
	return records->items[index].kind == ACL_MADE;
}

bool acl_journals_hold_made(const struct acl_journals *all, const acl_records *records)
{
	for (size_t i = 0; i < records->count; i++)
		if (is_ours(records, i) && acl_journals_hold_path(all, records->items[i].path))
			return true;
	return false;
}

static int remove_one(const struct acl_journals *all, const acl_records *records,
		      const struct acl_record *made, size_t *removed, struct err *e)
{
	const struct acl_system *system = all->system;
	struct acl_object object = { .handle = NULL };
	bool is_empty = false;
	int r = 0;

	if (acl_journals_hold_path(all, made->path))
		return 0;
	if (system->open(system->user, made->path, &object, e) < 0) {
		/* Something else is there by now. */
		if (e->cause != CAUSE_FILE_CHANGED)
			return err_result(e);
		err_clear(e);
	}
	if (!object.handle)
		return 0;
	if (!object.is_link && is_made_one(records, made, &object))
		r = system->look_empty(system->user, &object, &is_empty, e);
	if (r == 0 && is_empty) {
		r = system->discard(system->user, &object, e);
		*removed += r == 0;
	}
	system->close(system->user, &object);
	return r;
}

int acl_remove_made(const struct acl_journals *all, const acl_records *records, size_t *removed,
		    struct err *e)
{
	/* What is below was made later. */
	for (size_t i = records->count; i-- > 0;)
		if (is_ours(records, i) &&
		    remove_one(all, records, &records->items[i], removed, e) < 0)
			return err_result(e);
	return 0;
}
