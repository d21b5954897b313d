/* SPDX-License-Identifier: MIT */
/* See acl_memory.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_memory.h"
#include "backend/windows/sid.h"
#include "base/path.h"

enum { DENY = 1, INHERITED = 0x10, TO_FILES = 1, TO_DIRS = 2, NOT_FURTHER = 4, ONLY_BELOW = 8 };

/* ---- Lists ---------------------------------------------------------------------------------------- */

void memory_add_ace(struct memory_acl *acl, uint8_t type, uint8_t flags, uint32_t mask,
		    const char *sid)
{
	struct memory_ace *ace = &acl->aces[acl->count++];

	if (acl->count > MEMORY_ACES)
		abort();
	*ace = (struct memory_ace){ .type = type, .flags = flags, .mask = mask };
	(void)snprintf(ace->sid, sizeof(ace->sid), "%s", sid);
}

bool memory_allows(const struct memory_acl *acl, const char *const *sids, size_t count,
		   uint32_t mask)
{
	for (size_t i = 0; i < acl->count && mask; i++) {
		const struct memory_ace *ace = &acl->aces[i];
		bool is_mine = false;

		for (size_t j = 0; j < count; j++)
			is_mine = is_mine || strcmp(ace->sid, sids[j]) == 0;
		if (!is_mine || (ace->flags & ONLY_BELOW))
			continue;
		if (ace->type == DENY && (ace->mask & mask))
			return false;
		if (ace->type != DENY)
			mask &= ~ace->mask;
	}
	return mask == 0;
}

/* What Windows gives to something new: the entries of the directory in their order. */
static void inherit(struct memory_acl *acl, const struct memory_acl *from, bool is_dir)
{
	const uint8_t wanted = is_dir ? TO_DIRS : TO_FILES;

	for (size_t i = 0; i < from->count; i++) {
		const struct memory_ace *ace = &from->aces[i];
		uint8_t flags = INHERITED;

		if (!(ace->flags & wanted))
			continue;
		if (is_dir && !(ace->flags & NOT_FURTHER))
			flags |= ace->flags & (TO_FILES | TO_DIRS);
		memory_add_ace(acl, ace->type, flags, ace->mask, ace->sid);
	}
}

static void put(char *p, uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (char)(unsigned char)(value >> 8 * i);
}

static uint32_t get(const char *p, int bytes)
{
	uint32_t value = 0;

	for (int i = bytes; i-- > 0;)
		value = value << 8 | (unsigned char)p[i];
	return value;
}

static int print_acl(struct arena *a, const struct memory_acl *acl, struct str *out, struct err *e)
{
	char *bytes = arena_alloc(a, 8 + acl->count * 80, e);
	size_t at = 8;

	if (!bytes)
		return err_result(e);
	for (size_t i = 0; i < acl->count; i++) {
		const struct memory_ace *ace = &acl->aces[i];
		struct str sid;

		if (sid_parse(a, str_of(ace->sid), &sid, e) < 0)
			return err_result(e);
		bytes[at] = (char)ace->type;
		bytes[at + 1] = (char)ace->flags;
		put(bytes + at + 2, (uint32_t)(8 + sid.len), 2);
		put(bytes + at + 4, ace->mask, 4);
		memcpy(bytes + at + 8, sid.p, sid.len);
		at += 8 + sid.len;
	}
	bytes[0] = 2;
	put(bytes + 2, (uint32_t)at, 2);
	put(bytes + 4, (uint32_t)acl->count, 2);
	*out = (struct str){ bytes, at };
	return 0;
}

static int parse_acl(struct str bytes, struct memory_acl *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	size_t at = 8, count = get(bytes.p + 4, 2);

	out->count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *ace = bytes.p + at;
		struct str text;

		if (sid_print(&a, str_from(bytes, at + 8), &text, e) < 0)
			return err_result(e);
		memory_add_ace(out, (uint8_t)ace[0], (uint8_t)ace[1], get(ace + 4, 4), text.p);
		at += get(ace + 2, 2);
	}
	return 0;
}

/* ---- Objects -------------------------------------------------------------------------------------- */

void memory_init(struct memory_machine *m)
{
	memset(m, 0, sizeof(*m));
	m->count = 1;
	m->objects[0].is_dir = true;
}

static int find_in(const struct memory_machine *m, int dir, struct str name)
{
	for (int i = 1; i < m->count; i++)
		if (m->objects[i].parent == dir && str_is(name, m->objects[i].name))
			return i;
	return -1;
}

int memory_find(const struct memory_machine *m, const char *path)
{
	struct str name, all = str_of(path);
	size_t at = 0;
	int found = 0;

	while (found >= 0 && path_next(all, &at, &name))
		found = find_in(m, found, name);
	return found;
}

static int add(struct memory_machine *m, int dir, struct str name, bool is_dir)
{
	struct memory_object *made = &m->objects[m->count];

	if (m->count == MEMORY_OBJECTS || name.len >= MEMORY_NAME)
		abort();
	*made = (struct memory_object){ .parent = dir, .is_dir = is_dir };
	memcpy(made->name, name.p, name.len);
	inherit(&made->acl, &m->objects[dir].acl, is_dir);
	return m->count++;
}

int memory_make(struct memory_machine *m, const char *path, bool is_dir)
{
	struct str name, all = str_of(path);
	size_t at = 0;
	int found = 0;

	while (path_next(all, &at, &name)) {
		int next = find_in(m, found, name);

		found = next >= 0 ? next : add(m, found, name, at < all.len || is_dir);
	}
	return found;
}

void memory_move(struct memory_machine *m, int object, int to, const char *name)
{
	m->objects[object].parent = to;
	(void)snprintf(m->objects[object].name, MEMORY_NAME, "%s", name);
}

const char *memory_path(const struct memory_machine *m, int object, char room[1024])
{
	char *at = room + 1023;

	*at = '\0';
	for (; object > 0; object = m->objects[object].parent) {
		size_t length = strlen(m->objects[object].name);

		at -= length;
		memcpy(at, m->objects[object].name, length);
		*--at = '/';
	}
	return at;
}

/* ---- Processes ------------------------------------------------------------------------------------ */

void memory_kill(struct memory_process *p)
{
	struct memory_machine *m = p->machine;

	p->is_dead = true;
	if (m->locked_by == p)
		m->locked_by = NULL;
	for (int i = 0; i < MEMORY_JOURNALS; i++)
		if (m->journals[i].holder == p)
			m->journals[i].holder = NULL;
}

/* Each call of a process begins with this. */
static int step(struct memory_process *p, struct err *e)
{
	if (!p->is_dead && ++p->steps == p->dies_at)
		memory_kill(p);
	return p->is_dead ? FAIL(e, ERR_CANCELLED, "killed") : 0;
}

static int lock(void *user, struct err *e)
{
	struct memory_process *p = user;

	if (step(p, e) < 0)
		return err_result(e);
	if (p->machine->locked_by)
		return FAIL(e, ERR_SYS, "locked");
	p->machine->locked_by = p;
	return 0;
}

static void unlock(void *user)
{
	struct memory_process *p = user;

	if (p->machine->locked_by == p)
		p->machine->locked_by = NULL;
}

static void set_object(const struct memory_process *p, int index, struct acl_object *out)
{
	const struct memory_object *object = &p->machine->objects[index];

	*out = (struct acl_object){ .handle = (void *)(uintptr_t)object,
				    .is_dir = object->is_dir,
				    .is_link = object->is_link };
	memcpy(out->id, &index, sizeof(index));
}

static int index_of(const struct memory_process *p, const struct acl_object *object)
{
	return (int)((const struct memory_object *)object->handle - p->machine->objects);
}

static int open_in(void *user, const struct acl_object *dir, struct str name,
		   struct acl_object *out, struct err *e)
{
	struct memory_process *p = user;
	int found;

	if (step(p, e) < 0)
		return err_result(e);
	found = find_in(p->machine, index_of(p, dir), name);
	*out = (struct acl_object){ .handle = NULL };
	if (found >= 0)
		set_object(p, found, out);
	return 0;
}

static int open_path(void *user, struct str path, struct acl_object *out, struct err *e)
{
	struct memory_process *p = user;
	struct str name;
	size_t at = 0;
	int found = 0;

	if (step(p, e) < 0)
		return err_result(e);
	*out = (struct acl_object){ .handle = NULL };
	while (path_next(path, &at, &name)) {
		if (p->machine->objects[found].is_link)
			return FAIL_CAUSE(e, CAUSE_FILE_CHANGED, "a link");
		found = find_in(p->machine, found, name);
		if (found < 0)
			return 0;
	}
	set_object(p, found, out);
	return 0;
}

static int open_id(void *user, struct str path, const unsigned char *id, struct acl_object *out,
		   struct err *e)
{
	struct memory_process *p = user;
	int index;

	(void)path;
	if (step(p, e) < 0)
		return err_result(e);
	memcpy(&index, id, sizeof(index));
	*out = (struct acl_object){ .handle = NULL };
	if (index > 0 && index < p->machine->count && p->machine->objects[index].parent >= 0)
		set_object(p, index, out);
	return 0;
}

static void close_object(void *user, struct acl_object *object)
{
	(void)user;
	object->handle = NULL;
}

static int make(void *user, struct str path, bool is_dir, struct err *e)
{
	struct memory_process *p = user;
	struct acl_object dir;

	if (open_path(user, path_parent(path), &dir, e) < 0)
		return err_result(e);
	if (!dir.handle || find_in(p->machine, index_of(p, &dir), path_name(path)) >= 0)
		return FAIL(e, ERR_SYS, "there is something");
	(void)add(p->machine, index_of(p, &dir), path_name(path), is_dir);
	return 0;
}

static int look_empty(void *user, const struct acl_object *object, bool *is_empty, struct err *e)
{
	struct memory_process *p = user;
	int index = index_of(p, object);

	if (step(p, e) < 0)
		return err_result(e);
	*is_empty = !p->machine->objects[index].has_content;
	for (int i = 1; i < p->machine->count; i++)
		*is_empty = *is_empty && p->machine->objects[i].parent != index;
	return 0;
}

static int discard(void *user, const struct acl_object *object, struct err *e)
{
	struct memory_process *p = user;

	if (step(p, e) < 0)
		return err_result(e);
	p->machine->objects[index_of(p, object)].parent = -1;
	return 0;
}

static int list(void *user, const struct acl_object *dir,
		int (*each)(void *arg, struct str name, struct err *e), void *arg, struct err *e)
{
	struct memory_process *p = user;
	int index = index_of(p, dir);

	if (step(p, e) < 0)
		return err_result(e);
	for (int i = 1; i < p->machine->count; i++)
		if (p->machine->objects[i].parent == index &&
		    each(arg, str_of(p->machine->objects[i].name), e) < 0)
			return err_result(e);
	return 0;
}

static int read_acl(void *user, const struct acl_object *object, struct arena *a,
		    struct acl_list *out, struct err *e)
{
	struct memory_process *p = user;
	const struct memory_object *at = &p->machine->objects[index_of(p, object)];

	if (step(p, e) < 0)
		return err_result(e);
	if (at->is_closed)
		return FAIL_CAUSE(e, CAUSE_ACL_CLOSED, "closed");
	*out = (struct acl_list){ .is_protected = at->acl.is_protected };
	return print_acl(a, &at->acl, &out->bytes, e);
}

static int write_acl(void *user, const struct acl_object *object, const struct acl_list *list_,
		     struct err *e)
{
	struct memory_process *p = user;
	struct memory_acl *acl = &p->machine->objects[index_of(p, object)].acl;

	if (step(p, e) < 0)
		return err_result(e);
	if (p->machine->locked_by != p)
		abort();
	if (p->machine->forgets)
		return 0;
	if (parse_acl(list_->bytes, acl, e) < 0)
		return err_result(e);
	if (p->machine->reorders && acl->count > 1) {
		struct memory_ace first = acl->aces[0];

		acl->aces[0] = acl->aces[acl->count - 1];
		acl->aces[acl->count - 1] = first;
	}
	return 0;
}

/* ---- Journals ------------------------------------------------------------------------------------- */

static struct memory_journal *find_journal(const struct memory_process *p, struct str name)
{
	for (int i = 0; i < MEMORY_JOURNALS; i++)
		if (p->machine->journals[i].exists && str_is(name, p->machine->journals[i].name))
			return &p->machine->journals[i];
	abort();
}

static int journal_new(void *user, struct arena *a, struct acl_journal *out, struct err *e)
{
	struct memory_process *p = user;

	if (step(p, e) < 0)
		return err_result(e);
	for (int i = 0; i < MEMORY_JOURNALS; i++) {
		struct memory_journal *journal = &p->machine->journals[i];

		if (journal->exists)
			continue;
		*journal = (struct memory_journal){ .exists = true, .holder = p };
		(void)snprintf(journal->name, MEMORY_NAME, "run-%d", i);
		out->handle = journal;
		return arena_copy(a, str_of(journal->name), &out->name, e);
	}
	abort();
}

static int journal_take(void *user, struct str name, struct acl_journal *out, struct err *e)
{
	struct memory_process *p = user;
	struct memory_journal *journal;

	if (step(p, e) < 0)
		return err_result(e);
	journal = find_journal(p, name);
	*out = (struct acl_journal){ .name = name, .handle = journal->holder ? NULL : journal };
	if (out->handle)
		journal->holder = p;
	return 0;
}

static void append(struct memory_journal *journal, struct str text)
{
	if (journal->length + text.len > MEMORY_JOURNAL)
		abort();
	memcpy(journal->text + journal->length, text.p, text.len);
	journal->length += text.len;
}

static int journal_add(void *user, const struct acl_journal *j, struct str text, struct err *e)
{
	struct memory_process *p = user;
	struct memory_journal *journal = j->handle;
	bool was_dead = p->is_dead;

	if (step(p, e) < 0) {
		if (!was_dead)
			append(journal, str_first(text, text.len / 2));
		return err_result(e);
	}
	append(journal, text);
	return 0;
}

static int journal_read(void *user, struct str name, struct buf *out, struct err *e)
{
	struct memory_process *p = user;
	const struct memory_journal *journal;

	if (step(p, e) < 0)
		return err_result(e);
	journal = find_journal(p, name);
	buf_add(out, (struct str){ journal->text, journal->length });
	return buf_check(out, e);
}

static int journal_remove(void *user, const struct acl_journal *j, struct err *e)
{
	struct memory_journal *journal = j->handle;

	if (step(user, e) < 0)
		return err_result(e);
	journal->exists = false;
	return 0;
}

static void journal_close(void *user, struct acl_journal *j)
{
	struct memory_journal *journal = j->handle;

	if (journal->holder == user)
		journal->holder = NULL;
	j->handle = NULL;
}

static int journal_list(void *user, int (*each)(void *arg, struct str name, struct err *e),
			void *arg, struct err *e)
{
	struct memory_process *p = user;

	if (step(p, e) < 0)
		return err_result(e);
	for (int i = 0; i < MEMORY_JOURNALS; i++)
		if (p->machine->journals[i].exists &&
		    each(arg, str_of(p->machine->journals[i].name), e) < 0)
			return err_result(e);
	return 0;
}

void memory_start(struct memory_process *p, struct memory_machine *m, long dies_at)
{
	*p = (struct memory_process){ .machine = m, .dies_at = dies_at };
	p->system = (struct acl_system){ .user = p,
					 .lock = lock,
					 .unlock = unlock,
					 .open = open_path,
					 .open_in = open_in,
					 .open_id = open_id,
					 .close = close_object,
					 .make = make,
					 .look_empty = look_empty,
					 .discard = discard,
					 .list = list,
					 .read_acl = read_acl,
					 .write_acl = write_acl,
					 .journal_new = journal_new,
					 .journal_take = journal_take,
					 .journal_add = journal_add,
					 .journal_read = journal_read,
					 .journal_remove = journal_remove,
					 .journal_close = journal_close,
					 .journal_list = journal_list };
}
