/* SPDX-License-Identifier: MIT */
/* See acl_apply.h: after runs. */
#include "backend/windows/acl_journal.h"
#include "backend/windows/acl_walk.h"
#include "backend/windows/sid.h"
#include "base/path.h"

struct acl_cleaning {
	struct arena *a;
	const struct acl_journals *all;
	VEC(struct str) free, held; /* SIDs of one journal: of no run, and of runs that go on */
	struct windows_acl_cleanup *out;
};

/* ---- What there is ---------------------------------------------------------------------------------- */

static int list_records(struct arena *a, const struct acl_journals *all,
			const struct acl_held_journal *journal,
			int (*each)(void *arg, const struct windows_acl_record *record,
				    struct err *e),
			void *arg, struct err *e)
{
	for (size_t i = 0; i < journal->records.count; i++) {
		const struct acl_record *record = &journal->records.items[i];

		for (size_t j = 0; j < record->sids.count; j++) {
			struct str sid = record->sids.items[j];
			struct windows_acl_record shown = {
				.path = record->path, .is_held = acl_journals_hold_sid(all, sid)
			};

			if (sid_print(a, sid, &shown.sid, e) < 0 || each(arg, &shown, e) < 0)
				return err_result(e);
		}
	}
	return 0;
}

int windows_acl_list(struct arena *a, const struct acl_system *system,
		     int (*each)(void *arg, const struct windows_acl_record *record, struct err *e),
		     void *arg, struct err *e)
{
	struct acl_journals all;
	int r;

	/* While a journal is taken here it looks like that of a run. */
	if (system->lock(system->user, e) < 0)
		return err_result(e);
	r = acl_journals_open(a, system, &all, e);
	if (r == 0) {
		for (size_t i = 0; r == 0 && i < all.items.count; i++)
			r = list_records(a, &all, &all.items.items[i], each, arg, e);
		acl_journals_close(&all);
	}
	system->unlock(system->user);
	return r;
}

/* ---- One journal -------------------------------------------------------------------------------------- */

static int add_sid(struct acl_cleaning *c, struct str sid, struct err *e)
{
	struct str *place;

	for (size_t i = 0; i < c->free.count; i++)
		if (str_eq(c->free.items[i], sid))
			return 0;
	for (size_t i = 0; i < c->held.count; i++)
		if (str_eq(c->held.items[i], sid))
			return 0;
	place = acl_journals_hold_sid(c->all, sid) ? VEC_PUSH(c->a, &c->held, e)
						   : VEC_PUSH(c->a, &c->free, e);
	if (!place)
		return err_result(e);
	*place = sid;
	return 0;
}

static int sort_sids(struct acl_cleaning *c, const acl_records *records, struct err *e)
{
	c->free.count = c->held.count = 0;
	for (size_t i = 0; i < records->count; i++) {
		const struct acl_record *record = &records->items[i];

		for (size_t j = 0; j < record->sids.count; j++)
			if (add_sid(c, record->sids.items[j], e) < 0)
				return err_result(e);
	}
	return 0;
}

/* The object of a record: at its path, or wherever it has gone. No handle: nowhere. */
static int find_object(const struct acl_system *system, const struct acl_record *record,
		       struct acl_object *out, struct err *e)
{
	if (system->open(system->user, record->path, out, e) < 0) {
		if (e->cause != CAUSE_FILE_CHANGED)
			return err_result(e);
		err_clear(e);
	}
	if (out->handle && memcmp(out->id, record->id, ACL_ID_BYTES) == 0)
		return 0;
	if (out->handle)
		system->close(system->user, out);
	*out = (struct acl_object){ .handle = NULL };
	return system->open_id(system->user, record->path, record->id, out, e);
}

static int clean_record(struct acl_cleaning *c, const struct acl_record *record, struct err *e)
{
	const struct acl_system *system = c->all->system;
	struct acl_walk walk = { .system = system,
				 .own = c->free.items,
				 .own_count = c->free.count };
	struct acl_object object = { .handle = NULL };
	int r;

	if (find_object(system, record, &object, e) < 0)
		return err_wrap(e, "%.*s", STR_ARG(record->path));
	if (!object.handle) {
		c->out->lost++;
		return 0;
	}
	r = acl_walk_remove(&walk, &object, e);
	system->close(system->user, &object);
	c->out->changed += walk.changed;
	return r < 0 ? err_wrap(e, "%.*s", STR_ARG(record->path)) : 0;
}

/* Whether an earlier record was about the same object: all SIDs of the journal were taken out then. */
static bool is_done(const acl_records *records, size_t index)
{
	const struct acl_record *record = &records->items[index];

	for (size_t i = 0; i < index; i++)
		if (records->items[i].kind == ACL_OBJECT &&
		    str_eq(records->items[i].path, record->path) &&
		    memcmp(records->items[i].id, record->id, ACL_ID_BYTES) == 0)
			return true;
	return false;
}

static int clean_journal(struct acl_cleaning *c, struct acl_held_journal *held, struct err *e)
{
	const struct acl_system *system = c->all->system;
	const acl_records *records = &held->records;
	struct err first = ERR_INIT;

	if (sort_sids(c, records, e) < 0)
		return err_result(e);
	for (size_t i = 0; c->free.count && i < records->count; i++) {
		if (records->items[i].kind != ACL_OBJECT || is_done(records, i))
			continue;
		/* The others are no less worth it. */
		if (clean_record(c, &records->items[i], e) < 0 && !first.code)
			first = *e;
		err_clear(e);
	}
	if (acl_remove_made(c->all, records, &c->out->removed, e) < 0 && !first.code)
		first = *e;
	err_clear(e);
	if (first.code) {
		*e = first;
		return err_result(e);
	}
	c->out->held += c->held.count;
	return c->held.count || acl_journals_hold_made(c->all, records)
		       ? 0
		       : system->journal_remove(system->user, &held->journal, e);
}

static int clean_all(struct acl_cleaning *c, struct acl_journals *all, struct err *e)
{
	struct err first = ERR_INIT;

	for (size_t i = 0; i < all->items.count; i++) {
		struct acl_held_journal *held = &all->items.items[i];

		if (!held->journal.handle)
			continue;
		if (clean_journal(c, held, e) < 0 && !first.code)
			first = *e;
		err_clear(e);
	}
	*e = first;
	return e->code ? err_result(e) : 0;
}

int windows_acl_cleanup(struct arena *a, const struct acl_system *system,
			struct windows_acl_cleanup *out, struct err *e)
{
	struct acl_journals all;
	struct acl_cleaning c = { .a = a, .all = &all, .out = out };
	int r;

	*out = (struct windows_acl_cleanup){ .changed = 0 };
	if (system->lock(system->user, e) < 0)
		return err_result(e);
	r = acl_journals_open(a, system, &all, e);
	if (r == 0) {
		r = clean_all(&c, &all, e);
		acl_journals_close(&all);
	}
	system->unlock(system->user);
	return r;
}
