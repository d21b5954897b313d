/* SPDX-License-Identifier: MIT */
/* See acl_apply.h: before and during a run. */
#include "backend/windows/acl_journal.h"
#include "backend/windows/acl_walk.h"
#include "base/path.h"
#include "base/windows_path.h"

struct windows_acl_run {
	struct arena *a;
	const struct acl_system *system;
	struct acl_journal journal;
	acl_records records;
	VEC(struct str) sids; /* of the request */
};

static int fail_at(struct arena *a, struct str path, struct err *e)
{
	struct str shown = path;

	return windows_show(a, path, &shown, e) < 0 ? err_result(e)
						    : err_wrap(e, "%.*s", STR_ARG(shown));
}

/* ---- The journal -------------------------------------------------------------------------------- */

static int collect_sids(struct windows_acl_run *run, const struct windows_acl_request *in,
			struct err *e)
{
	for (size_t i = 0; i < in->count; i++)
		for (size_t j = 0; j < in->places[i].count; j++) {
			struct str sid = in->places[i].aces[j].sid, *place;
			bool is_known = false;

			for (size_t k = 0; k < run->sids.count; k++)
				is_known = is_known || str_eq(run->sids.items[k], sid);
			if (is_known)
				continue;
			place = VEC_PUSH(run->a, &run->sids, e);
			if (!place)
				return err_result(e);
			*place = sid;
		}
	return 0;
}

/* Whether the records are of an earlier run with the same policy: about these SIDs and no others. */
static bool is_same_policy(const struct windows_acl_run *run, const acl_records *records)
{
	struct acl_record mine = { .path = STR_EMPTY };
	bool has_any = false;

	mine.sids.items = run->sids.items;
	mine.sids.count = run->sids.count;
	for (size_t i = 0; i < records->count; i++)
		for (size_t j = 0; j < records->items[i].sids.count; j++) {
			if (!acl_has_sid(&mine, records->items[i].sids.items[j]))
				return false;
			has_any = true;
		}
	return has_any;
}

/* A journal that no run has any more, or a new one, so that there are not more of them than were needed at once. */
static int take_journal(struct windows_acl_run *run, struct acl_journals *all, struct err *e)
{
	size_t removed = 0;

	for (size_t i = 0; i < all->items.count; i++) {
		struct acl_held_journal *held = &all->items.items[i];

		if (!held->journal.handle)
			continue;
		if (acl_remove_made(all, &held->records, &removed, e) < 0)
			return err_result(e);
		if (!run->journal.handle && is_same_policy(run, &held->records)) {
			run->journal = held->journal;
			run->records = held->records;
			held->journal.handle = NULL;
		}
	}
	if (run->journal.handle)
		return 0;
	return run->system->journal_new(run->system->user, run->a, &run->journal, e);
}

static bool is_recorded(const struct windows_acl_run *run, const struct acl_record *record)
{
	for (size_t i = 0; i < run->records.count; i++) {
		const struct acl_record *known = &run->records.items[i];
		bool has_all = true;

		if (known->kind != record->kind || !str_eq(known->path, record->path) ||
		    memcmp(known->id, record->id, ACL_ID_BYTES) != 0)
			continue;
		for (size_t j = 0; j < record->sids.count; j++)
			has_all = has_all && acl_has_sid(known, record->sids.items[j]);
		if (has_all)
			return true;
	}
	return false;
}

/* SECURITY: on the disk before what it announces is done. */
static int record(struct windows_acl_run *run, const struct acl_record *what, struct err *e)
{
	scoped_buf text = BUF_INIT(ACL_JOURNAL_MAX_BYTES);
	struct acl_record *place;

	if (what->kind == ACL_OBJECT && is_recorded(run, what))
		return 0;
	place = VEC_PUSH(run->a, &run->records, e);
	if (!place || acl_record_print(what, &text, e) < 0)
		return err_result(e);
	*place = *what;
	return run->system->journal_add(run->system->user, &run->journal, buf_str(&text), e);
}

/* ---- One object ---------------------------------------------------------------------------------- */

/* Makes what is missing on the way to it, too. */
static int make_missing(struct windows_acl_run *run, const struct windows_acl_place *place,
			struct err *e)
{
	const struct acl_system *system = run->system;
	struct str name;
	size_t at = 0;

	while (path_next(place->path, &at, &name)) {
		struct acl_record made = { .kind = ACL_MADE, .path = str_first(place->path, at) };
		struct acl_object object = { .handle = NULL };
		bool is_last = at >= place->path.len;

		if (system->open(system->user, made.path, &object, e) < 0)
			return err_result(e);
		if (object.handle) {
			system->close(system->user, &object);
			continue;
		}
		if (record(run, &made, e) < 0 ||
		    system->make(system->user, made.path, !is_last || !place->is_made_as_file, e) <
			    0)
			return err_result(e);
	}
	return 0;
}

static int open_place(struct windows_acl_run *run, const struct windows_acl_place *place,
		      struct acl_object *out, bool *was_made, struct err *e)
{
	const struct acl_system *system = run->system;

	if (system->open(system->user, place->path, out, e) < 0)
		return err_result(e);
	*was_made = !out->handle;
	if (out->handle)
		return 0;
	if (make_missing(run, place, e) < 0 || system->open(system->user, place->path, out, e) < 0)
		return err_result(e);
	return out->handle ? 0 : FAIL_CAUSE(e, CAUSE_FILE_CHANGED, "it was removed meanwhile");
}

/* The entries of a place as its own list has them. */
static int list_aces(struct arena *a, const struct windows_acl_place *place, bool is_dir,
		     struct acl_ace **out, struct err *e)
{
	struct acl_ace *aces = arena_array(a, place->count + 1, sizeof(*aces), e);

	if (!aces)
		return err_result(e);
	for (size_t i = 0; i < place->count; i++) {
		const struct windows_acl_ace *ace = &place->aces[i];
		const bool passes_on = ace->inherits && is_dir;

		aces[i] = (struct acl_ace){ .sid = ace->sid,
					    .mask = acl_mask(ace->is_deny, ace->access),
					    .flags = passes_on ? ACL_TO_FILES | ACL_TO_DIRS : 0,
					    .is_deny = ace->is_deny };
	}
	*out = aces;
	return 0;
}

/*
 * It was there already. If an earlier run has made something at that path, and this is not it, it must not go at
 * the end as if it were.
 */
static int keep(struct windows_acl_run *run, const struct acl_record *object, struct err *e)
{
	const struct acl_record kept = { .kind = ACL_KEPT, .path = object->path };
	bool was_made = false;

	for (size_t i = 0; i < run->records.count; i++) {
		const struct acl_record *known = &run->records.items[i];

		if (!str_eq(known->path, object->path))
			continue;
		if (known->kind == ACL_OBJECT && memcmp(known->id, object->id, ACL_ID_BYTES) == 0)
			return 0;
		was_made = known->kind == ACL_MADE || (was_made && known->kind != ACL_KEPT);
	}
	return was_made ? record(run, &kept, e) : 0;
}

static int apply_open(struct windows_acl_run *run, const struct windows_acl_place *place,
		      const struct acl_object *object, bool was_made, struct err *e)
{
	struct acl_record intent = { .path = place->path };
	struct acl_walk walk = { .system = run->system,
				 .own = run->sids.items,
				 .own_count = run->sids.count };
	struct acl_ace *aces;

	memcpy(intent.id, object->id, ACL_ID_BYTES);
	for (size_t i = 0; i < place->count; i++) {
		struct str *sid;

		if (acl_has_sid(&intent, place->aces[i].sid))
			continue;
		sid = VEC_PUSH(run->a, &intent.sids, e);
		if (!sid)
			return err_result(e);
		*sid = place->aces[i].sid;
	}
	if (!was_made && keep(run, &intent, e) < 0)
		return err_result(e);
	if (record(run, &intent, e) < 0 ||
	    list_aces(run->a, place, object->is_dir && !object->is_link, &aces, e) < 0)
		return err_result(e);
	return acl_walk_add(&walk, object, aces, place->count, e);
}

static int apply_place(struct windows_acl_run *run, const struct windows_acl_place *place,
		       struct err *e)
{
	struct acl_object object = { .handle = NULL };
	bool was_made;
	int r;

	if (open_place(run, place, &object, &was_made, e) < 0)
		return fail_at(run->a, place->path, e);
	r = apply_open(run, place, &object, was_made, e);
	run->system->close(run->system->user, &object);
	return r < 0 ? fail_at(run->a, place->path, e) : 0;
}

/* ---- A run ---------------------------------------------------------------------------------------- */

static int apply_all(struct windows_acl_run *run, const struct windows_acl_request *in,
		     struct err *e)
{
	struct acl_journals all;
	int r;

	if (acl_journals_open(run->a, run->system, &all, e) < 0)
		return err_result(e);
	r = take_journal(run, &all, e);
	acl_journals_close(&all);
	for (size_t i = 0; r == 0 && i < in->count; i++)
		r = apply_place(run, &in->places[i], e);
	return r;
}

static int check_place(struct windows_acl_run *run, const struct windows_acl_place *place,
		       struct err *e)
{
	const struct acl_system *system = run->system;
	scoped_arena scratch = ARENA_INIT(ACL_SCRATCH_BYTES);
	struct acl_object object = { .handle = NULL };
	struct acl_list list = { .bytes = STR_EMPTY };
	struct acl_ace *aces;
	int r;

	if (system->open(system->user, place->path, &object, e) < 0)
		return err_result(e);
	if (!object.handle)
		return FAIL_CAUSE(e, CAUSE_FILE_CHANGED, "it was removed meanwhile");
	r = list_aces(&scratch, place, object.is_dir && !object.is_link, &aces, e);
	if (r == 0)
		r = system->read_acl(system->user, &object, &scratch, &list, e);
	if (r == 0 && !acl_has_all(list.bytes, aces, place->count))
		r = FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
			       "its access list does not have the entries that were added to it");
	system->close(system->user, &object);
	return r;
}

int windows_acl_check(struct windows_acl_run *run, const struct windows_acl_request *in,
		      struct err *e)
{
	for (size_t i = 0; i < in->count; i++)
		if (check_place(run, &in->places[i], e) < 0)
			return fail_at(run->a, in->places[i].path, e);
	return 0;
}

/* Of this run, and of those that ended without it. */
static int remove_all_made(struct windows_acl_run *run, struct err *e)
{
	struct acl_journals all;
	size_t removed = 0;
	int r;

	/* The journal of this run has to be taken like the others: nothing goes on that needs it. */
	run->system->journal_close(run->system->user, &run->journal);
	if (acl_journals_open(run->a, run->system, &all, e) < 0)
		return err_result(e);
	r = 0;
	for (size_t i = 0; r == 0 && i < all.items.count; i++) {
		struct acl_held_journal *held = &all.items.items[i];

		if (!held->journal.handle)
			continue;
		r = acl_remove_made(&all, &held->records, &removed, e);
		if (r == 0 && held->records.count == 0)
			r = run->system->journal_remove(run->system->user, &held->journal, e);
	}
	acl_journals_close(&all);
	return r;
}

int windows_acl_end(struct windows_acl_run *run, struct err *e)
{
	const struct acl_system *system = run->system;
	int r = system->lock(system->user, e);

	if (r == 0) {
		r = remove_all_made(run, e);
		system->unlock(system->user);
	}
	if (run->journal.handle)
		system->journal_close(system->user, &run->journal);
	return r;
}

/* What was made for a run that was refused goes at once. The error is that of the refusal. */
static void give_up(struct windows_acl_run *run)
{
	struct err ignored = ERR_INIT;

	if (windows_acl_end(run, &ignored) < 0)
		err_clear(&ignored);
}

int windows_acl_apply(struct arena *a, const struct acl_system *system,
		      const struct windows_acl_request *in, struct windows_acl_run **out,
		      struct err *e)
{
	struct windows_acl_run *run = ARENA_NEW(a, struct windows_acl_run, e);
	int r;

	if (!run)
		return err_result(e);
	run->a = a;
	run->system = system;
	if (collect_sids(run, in, e) < 0 || system->lock(system->user, e) < 0)
		return err_result(e);
	r = apply_all(run, in, e);
	system->unlock(system->user);
	if (r == 0)
		r = windows_acl_check(run, in, e);
	if (r == 0)
		*out = run;
	else if (run->journal.handle)
		give_up(run);
	return r;
}
