/* SPDX-License-Identifier: MIT */
/*
 * See errors.h. The functions that check a file stop at the first error. To find all errors, a table
 * that fails is split: each member is checked as if it were the only one, and each member that
 * fails is split in turn.
 */
#include "policy/errors.h"

#include "policy/config.h"

enum {
	DEPTH_MAX = 5,	    /* permissions, a profile, filesystem, a key, a subpath */
	FAILURES_MAX = 500, /* nobody reads more */
	TRY_MAX_BYTES = 256 << 20,
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_REQUIREMENTS, ROLE_PROJECT };

struct finder {
	const struct error_sink *sink;
	enum role role;
	size_t failures;
	const struct toml_member
		*chain[DEPTH_MAX]; /* what is checked: each table holds only the next */
};

static int check_role(struct arena *a, struct toml *top, enum role role, struct err *e)
{
	warning_list ignored = { .items = NULL };

	switch (role) {
	case ROLE_SYSTEM:
		return layer_check(a, top, IN_SYSTEM, &ignored, e);
	case ROLE_USER:
		return layer_check(a, top, IN_USER, &ignored, e);
	case ROLE_REQUIREMENTS:
		return layer_check_narrowing(a, top, IN_REQUIREMENTS, "the requirements", &ignored,
					     e);
	case ROLE_PROJECT:
		return layer_check_narrowing(a, top, IN_PROJECT, project_where, &ignored, e);
	}
	return FAIL(e, ERR_INTERNAL, "a layer without a role");
}

/* Copies the tables, since checking normalizes them. */
static int copy_table(struct arena *a, const struct toml *from, struct toml *out, struct err *e)
{
	struct toml_member *items;

	*out = *from;
	if (from->type != TOML_TABLE)
		return 0;
	items = arena_array(a, from->table.count + 1, sizeof(*items), e);
	if (!items)
		return err_result(e);
	for (size_t i = 0; i < from->table.count; i++) {
		items[i] = from->table.items[i];
		if (copy_table(a, &from->table.items[i].value, &items[i].value, e) < 0)
			return err_result(e);
	}
	out->table.items = items;
	return 0;
}

/* A document of the chain up to `depth` with all of its last member. */
static int make_alone(struct arena *a, const struct finder *f, size_t depth, struct toml *out,
		      struct err *e)
{
	struct toml inner;

	if (copy_table(a, &f->chain[depth]->value, &inner, e) < 0)
		return err_result(e);
	for (size_t i = depth + 1; i-- > 0;) {
		struct toml_member *only = ARENA_NEW(a, struct toml_member, e);

		if (!only)
			return err_result(e);
		*only = *f->chain[i];
		only->value = inner;
		inner = i > 0 ? f->chain[i - 1]->value : (struct toml){ .type = TOML_TABLE };
		inner.table.items = only;
		inner.table.count = 1;
	}
	*out = inner;
	return 0;
}

static bool is_at(const struct err *found, const struct origin *origin)
{
	return found->place.line == origin->line && found->place.column == origin->column;
}

static int tell(struct finder *f, const struct err *found, struct err *e)
{
	f->failures++;
	return f->sink->add(f->sink->user, found, e);
}

/* `*goes_on`: there may be more errors in the last member of the chain. */
static int try_alone(struct finder *f, size_t depth, bool *goes_on, struct err *e)
{
	scoped_arena a = ARENA_INIT(TRY_MAX_BYTES);
	const struct toml_member *last = f->chain[depth];
	struct err found = ERR_INIT;
	struct toml top;

	*goes_on = false;
	if (make_alone(&a, f, depth, &top, e) < 0)
		return err_result(e);
	if (check_role(&a, &top, f->role, &found) == 0)
		return 0;
	/* If the key itself is wrong, errors below it mean nothing. */
	*goes_on = (last->value.type == TOML_TABLE || last->value.type == TOML_ARRAY) &&
		   !is_at(&found, &last->name_origin);
	return tell(f, &found, e);
}

/* The last member of the chain is an array: checks each item as if it were the only one. */
static int try_items(struct finder *f, size_t depth, struct err *e)
{
	const struct toml_member *whole = f->chain[depth];
	struct toml_member alone = *whole;
	bool goes_on;
	int r = 0;

	alone.value.array.count = 1;
	f->chain[depth] = &alone;
	for (size_t i = 0; r == 0 && i < whole->value.array.count && f->failures < FAILURES_MAX;
	     i++) {
		alone.value.array.items = &whole->value.array.items[i];
		r = try_alone(f, depth, &goes_on, e);
	}
	f->chain[depth] = whole;
	return r;
}

/* Level by level, as deep as tables may nest. */
static int take_apart(struct finder *f, const struct toml *top, struct err *e)
{
	const struct toml *tables[DEPTH_MAX] = { top };
	size_t next[DEPTH_MAX] = { 0 };
	size_t depth = 0;

	for (;;) {
		bool goes_on;

		if (f->failures >= FAILURES_MAX)
			return 0;
		if (next[depth] == tables[depth]->table.count) {
			if (depth == 0)
				return 0;
			depth--;
			continue;
		}
		f->chain[depth] = &tables[depth]->table.items[next[depth]++];
		if (try_alone(f, depth, &goes_on, e) < 0)
			return err_result(e);
		if (goes_on && f->chain[depth]->value.type == TOML_ARRAY) {
			if (try_items(f, depth, e) < 0)
				return err_result(e);
			continue;
		}
		if (!goes_on || depth + 1 == DEPTH_MAX)
			continue;
		tables[depth + 1] = &f->chain[depth]->value;
		next[++depth] = 0;
	}
}

static int search_source(const struct source *source, enum role role, const struct error_sink *sink,
			 struct err *e)
{
	scoped_arena a = ARENA_INIT(TRY_MAX_BYTES);
	struct finder f = { .sink = sink, .role = role };
	struct err found = ERR_INIT;
	const struct toml *top;
	struct toml whole;

	if (!source->is_present)
		return 0;
	top = layer_parse(&a, source, &found);
	if (top && copy_table(&a, top, &whole, e) < 0)
		return err_result(e);
	if (top && check_role(&a, &whole, role, &found) == 0)
		return 0;
	if (tell(&f, &found, e) < 0)
		return err_result(e);
	return top ? take_apart(&f, top, e) : 0;
}

static int search_overrides(const struct config_inputs *in, const struct error_sink *sink,
			    struct err *e)
{
	for (size_t i = 0; i < in->override_count; i++) {
		scoped_arena a = ARENA_INIT(TRY_MAX_BYTES);
		struct finder f = { .sink = sink };
		struct err found = ERR_INIT;
		struct toml *top = config_parse_override(&a, in, i, &found);

		if (top && check_role(&a, top, ROLE_USER, &found) == 0)
			continue;
		if (tell(&f, &found, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* An unknown profile may be one of a file that is no valid TOML. */
static int search_names(const struct config_inputs *in, const struct error_sink *sink,
			struct err *e)
{
	scoped_arena a = ARENA_INIT(TRY_MAX_BYTES);
	struct finder f = { .sink = sink };
	struct err found = ERR_INIT;
	struct config *c = config_merge_names(&a, in, &found);

	if (!c)
		return found.code == ERR_SYNTAX ? 0 : tell(&f, &found, e);
	for (size_t i = 0; i < c->profile_count && f.failures < FAILURES_MAX; i++) {
		err_clear(&found);
		if (config_check_parents(&a, c, c->profiles[i]->name, &found) < 0 &&
		    tell(&f, &found, e) < 0)
			return err_result(e);
	}
	err_clear(&found);
	return config_check_default(&a, c, &found) < 0 ? tell(&f, &found, e) : 0;
}

int config_find_errors(const struct config_inputs *in, const struct error_sink *sink, struct err *e)
{
	if (search_source(&in->system, ROLE_SYSTEM, sink, e) < 0 ||
	    search_source(&in->user, ROLE_USER, sink, e) < 0 ||
	    search_source(&in->requirements, ROLE_REQUIREMENTS, sink, e) < 0 ||
	    search_overrides(in, sink, e) < 0)
		return err_result(e);
	return search_names(in, sink, e);
}

int project_find_errors(const struct source *source, const struct error_sink *sink, struct err *e)
{
	return search_source(source, ROLE_PROJECT, sink, e);
}
