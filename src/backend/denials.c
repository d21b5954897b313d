/* SPDX-License-Identifier: MIT */
/* Keeps what was refused, each once. */
#include "backend/denials.h"

#include "os/loop.h"

static const struct {
	const char *name, *meaning;
	enum operation_change change;
} operations[] = {
#define OPERATION_ROW(id, name, meaning, change) { name, meaning, CHANGE_##change },
	OPERATIONS(OPERATION_ROW)
#undef OPERATION_ROW
};

const char *operation_name(enum operation operation)
{
	return operations[operation].name;
}

const char *operation_meaning(enum operation operation)
{
	return operations[operation].meaning;
}

enum operation_change operation_change(enum operation operation)
{
	return operations[operation].change;
}

void denials_init(struct denials *d)
{
	*d = (struct denials){
		.arena = ARENA_INIT(DENIALS_MAX_BYTES),
		.started_ms = loop_now(),
	};
}

void denials_done(struct denials *d)
{
	arena_done(&d->arena);
	d->items.items = NULL;
	d->items.count = d->items.room = 0;
}

/* Who tried it makes no difference. */
static struct denial *find_equal(const struct denials *d, const struct denial *denial)
{
	for (size_t i = 0; i < d->items.count; i++) {
		struct denial *known = &d->items.items[i];

		if (known->kind == denial->kind && known->operation == denial->operation &&
		    known->by == denial->by && str_eq(known->subject, denial->subject) &&
		    str_eq(known->rule, denial->rule))
			return known;
	}
	return NULL;
}

static int copy_texts(struct arena *a, struct denial *denial, struct err *e)
{
	struct str file = str_of(denial->origin.file ? denial->origin.file : "");

	if (arena_copy(a, file, &file, e) < 0)
		return err_result(e);
	denial->origin.file = file.len ? file.p : NULL;
	if (arena_copy(a, denial->subject, &denial->subject, e) < 0 ||
	    arena_copy(a, denial->named, &denial->named, e) < 0 ||
	    arena_copy(a, denial->opens, &denial->opens, e) < 0 ||
	    arena_copy(a, denial->executable, &denial->executable, e) < 0 ||
	    arena_copy(a, denial->value, &denial->value, e) < 0 ||
	    arena_copy(a, denial->rule, &denial->rule, e) < 0 ||
	    arena_copy(a, denial->way_out, &denial->way_out, e) < 0 ||
	    arena_copy(a, denial->program, &denial->program, e) < 0)
		return err_result(e);
	return 0;
}

/* The new item, or NULL when there is no room for it. */
static struct denial *keep(struct denials *d, const struct denial *denial)
{
	struct err e = ERR_INIT;
	struct denial copy = *denial;
	struct denial *added;

	if (d->items.count >= DENIALS_MAX || copy_texts(&d->arena, &copy, &e) < 0)
		return NULL;
	added = VEC_PUSH(&d->arena, &d->items, &e);
	if (added)
		*added = copy;
	return added;
}

void denials_add(struct denials *d, const struct denial *denial)
{
	uint64_t now = loop_now() - d->started_ms;
	struct denial *known = find_equal(d, denial);
	uint64_t times = denial->count ? denial->count : 1;

	d->total += times;
	if (known) {
		known->count += times;
		known->last_ms = now;
		return;
	}
	known = keep(d, denial);
	if (!known) {
		d->unlisted += times;
		return;
	}
	known->count = times;
	known->first_ms = known->last_ms = now;
	if (d->on_denial)
		d->on_denial(d->user, known);
}
