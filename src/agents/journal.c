/* SPDX-License-Identifier: MIT */
/*
 * The journal of `cordon setup`: JSON, a file for each agent and scope. It is written before any other file is
 * changed, so a process that is killed leaves nothing that --undo doesn't know.
 */
#include <errno.h>

#include "agents/change.h"
#include "base/base64.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "os/os.h"
#include "report/report.h"

#define SHOWN(s) utf8_show((s), (char[512]){ 0 }, 512)

struct change *change_find(const struct change_list *list, struct str path)
{
	for (size_t i = 0; i < list->count; i++)
		if (str_eq(list->items[i].was.path, path))
			return &list->items[i];
	return NULL;
}

bool change_is_needed(const struct change *c)
{
	return c->removes ? c->was.is_there : !c->was.is_there || !str_eq(c->text, c->was.text);
}

static uint32_t directory_mode(const struct change *c)
{
	return c->mode & 0055 ? 0755 : 0700;
}

int change_apply(const struct change *c, struct err *e)
{
	struct str path = path_parent(c->was.path), name;
	size_t at = 0;

	if (!change_is_needed(c))
		return 0;
	if (c->removes)
		return os_settings_remove(&c->was, e);
	while (path_next(path, &at, &name)) {
		struct str directory = str_first(path, at);
		struct os_file is;

		if (os_look(directory, &is, e) < 0 ||
		    (is.type == OS_MISSING &&
		     os_settings_make_directory(directory, directory_mode(c), e) < 0))
			return err_result(e);
	}
	return os_settings_replace(&c->was, c->text, c->mode, e);
}

/* ---- Reading ------------------------------------------------------------------------------------- */

static int fail_damaged(const struct journal *j, struct err *e)
{
	(void)FAIL(e, ERR_SYNTAX, "the journal '%s' is damaged", SHOWN(j->file.path));
	err_add_line(e, "what it says of the files before setup is base64 in \"was\"");
	return err_result(e);
}

static int read_entry(struct arena *a, struct journal *j, const struct json *from, struct err *e)
{
	struct entry *entry = VEC_PUSH(a, &j->entries, e);
	struct str encoded = value_str(from, "was");
	size_t hashes = value_count(from, "made");
	char *text = arena_alloc(a, encoded.len + 1, e);

	if (!entry || !text)
		return err_result(e);
	entry->path = value_str(from, "path");
	entry->was_there = value_bool(from, "was_there");
	entry->may_stay = value_bool(from, "may_stay");
	entry->mode = (uint32_t)value_int(from, "mode") & 07777;
	entry->text.p = text;
	if (!path_is_absolute(entry->path) || hashes == 0 || hashes > COUNT_OF(entry->made) ||
	    !base64_decode(encoded, text, encoded.len, &entry->text.len))
		return fail_damaged(j, e);
	for (size_t i = 0; i < hashes; i++) {
		const struct json *hash = value_item(from, "made", i);

		if (hash->type != JSON_STRING || hash->string.len != SHA256_HEX_BYTES - 1)
			return fail_damaged(j, e);
		entry->made[i] = hash->string;
	}
	return 0;
}

int journal_read(struct arena *a, struct str path, struct journal *out, struct err *e)
{
	const struct json *root;
	struct journal j = { .entries = { .items = NULL } };

	if (os_settings_read(a, path, false, JOURNAL_MAX_BYTES, &j.file, e) < 0)
		return err_result(e);
	if (j.file.is_there) {
		root = json_parse_paths(a, j.file.text, e);
		if (!root || value_int(root, "version") != 1)
			return fail_damaged(&j, e);
		j.is_unproven = value_bool(root, "unproven");
		for (size_t i = 0; i < value_count(root, "files"); i++)
			if (read_entry(a, &j, value_item(root, "files", i), e) < 0)
				return err_result(e);
		for (size_t i = 0; i < value_count(root, "directories"); i++) {
			const struct json *one = value_item(root, "directories", i);
			struct str *directory = VEC_PUSH(a, &j.directories, e);

			if (!directory)
				return err_result(e);
			if (one->type != JSON_STRING || !path_is_absolute(one->string))
				return fail_damaged(&j, e);
			*directory = one->string;
		}
	}
	*out = j;
	return 0;
}

/* ---- Adding ---------------------------------------------------------------------------------------- */

static int add_hash(struct arena *a, struct entry *entry, struct str text, struct err *e)
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex(text, hex);
	if (str_is(entry->made[0], hex))
		return 0;
	memmove(entry->made + 1, entry->made, sizeof(entry->made) - sizeof(entry->made[0]));
	return arena_copy(a, str_of(hex), &entry->made[0], e);
}

bool journal_made(const struct entry *entry, struct str text)
{
	char hex[SHA256_HEX_BYTES];

	sha256_hex(text, hex);
	for (size_t i = 0; i < COUNT_OF(entry->made); i++)
		if (str_is(entry->made[i], hex))
			return true;
	return false;
}

static struct entry *find_entry(const struct journal *j, struct str path)
{
	for (size_t i = 0; i < j->entries.count; i++)
		if (str_eq(j->entries.items[i].path, path))
			return &j->entries.items[i];
	return NULL;
}

static int add_entry(struct arena *a, struct journal *j, const struct change *c, struct err *e)
{
	struct entry *entry = find_entry(j, c->was.path);
	bool is_ours = entry && c->was.is_there && journal_made(entry, c->was.text);

	if (!entry)
		entry = VEC_PUSH(a, &j->entries, e);
	if (!entry)
		return err_result(e);
	/* What somebody else wrote since is what an undo has to bring back. */
	if (!is_ours)
		*entry = (struct entry){ .path = c->was.path,
					 .was_there = c->was.is_there,
					 .may_stay = c->may_stay,
					 .mode = c->was.mode,
					 .text = c->was.text };
	return add_hash(a, entry, c->text, e);
}

static bool has_directory(const struct journal *j, struct str path)
{
	for (size_t i = 0; i < j->directories.count; i++)
		if (str_eq(j->directories.items[i], path))
			return true;
	return false;
}

static int add_directories(struct arena *a, struct journal *j, struct str path, struct err *e)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		struct str directory = str_first(path, at);
		struct os_file is;
		struct str *added;

		if (os_look(directory, &is, e) < 0)
			return err_result(e);
		if (is.type != OS_MISSING || has_directory(j, directory))
			continue;
		added = VEC_PUSH(a, &j->directories, e);
		if (!added)
			return err_result(e);
		*added = directory;
	}
	return 0;
}

int journal_add(struct arena *a, struct journal *j, const struct change_list *list, struct err *e)
{
	if (add_directories(a, j, path_parent(j->file.path), e) < 0)
		return err_result(e);
	for (size_t i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];

		if (change_is_needed(c) && (add_entry(a, j, c, e) < 0 ||
					    add_directories(a, j, path_parent(c->was.path), e) < 0))
			return err_result(e);
	}
	return 0;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void write_entry(struct json_writer *w, const struct entry *entry)
{
	scoped_buf encoded = BUF_INIT(2 * CHANGE_MAX_BYTES);

	base64_add(&encoded, entry->text);
	if (encoded.failed)
		json_fail(w, encoded.failed);
	json_begin_object(w);
	json_str(w, "path", entry->path);
	json_bool(w, "was_there", entry->was_there);
	json_bool(w, "may_stay", entry->may_stay);
	json_int(w, "mode", entry->mode);
	json_str(w, "was", buf_str(&encoded));
	json_key(w, "made");
	json_begin_array(w);
	for (size_t i = 0; i < COUNT_OF(entry->made) && entry->made[i].len; i++)
		json_add_str(w, entry->made[i]);
	json_end_array(w);
	json_end_object(w);
}

static int print(struct arena *a, const struct journal *j, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(JOURNAL_MAX_BYTES);
	struct json_writer w = JSON_WRITER_INIT(&text);

	json_begin_object(&w);
	json_int(&w, "version", 1);
	json_bool(&w, "unproven", j->is_unproven);
	json_key(&w, "files");
	json_begin_array(&w);
	for (size_t i = 0; i < j->entries.count; i++)
		write_entry(&w, &j->entries.items[i]);
	json_end_array(&w);
	json_strs(&w, "directories", j->directories.items, j->directories.count);
	json_end_object(&w);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}

int journal_write(struct arena *a, struct journal *j, struct err *e)
{
	struct change c = { .was = j->file, .mode = 0600 };

	if (print(a, j, &c.text, e) < 0 || change_apply(&c, e) < 0)
		return err_wrap(e, "the journal");
	return 0;
}

int journal_remove(const struct journal *j, struct err *e)
{
	if (j->file.is_there && os_settings_remove(&j->file, e) < 0)
		return err_wrap(e, "the journal");
	for (size_t i = j->directories.count; i-- > 0;)
		os_settings_drop_directory(j->directories.items[i]);
	return 0;
}
