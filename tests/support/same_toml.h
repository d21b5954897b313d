/* SPDX-License-Identifier: MIT */
/*
 * Whether two TOML values are the same, whatever the order of the members. A
 * header, so that fuzzers and tools can use it without linking the support code.
 */
#pragma once

#include "base/real.h"
#include "base/toml.h"

static inline bool same_toml(const struct toml *a, const struct toml *b);

static inline const struct toml *same_toml_find(const struct toml *table, struct str name)
{
	for (size_t i = 0; i < table->table.count; i++)
		if (str_eq(table->table.items[i].name, name))
			return &table->table.items[i].value;
	return NULL;
}

static inline bool same_toml_table(const struct toml *a, const struct toml *b)
{
	if (a->table.count != b->table.count)
		return false;
	for (size_t i = 0; i < a->table.count; i++) {
		const struct toml_member *member = &a->table.items[i];
		const struct toml *other = &b->table.items[i].value;

		/* Mostly the order is the same, which keeps large tables fast. */
		if (!str_eq(b->table.items[i].name, member->name))
			other = same_toml_find(b, member->name);
		if (!other || !same_toml(&member->value, other))
			return false;
	}
	return true;
}

static inline bool same_toml_array(const struct toml *a, const struct toml *b)
{
	if (a->array.count != b->array.count)
		return false;
	for (size_t i = 0; i < a->array.count; i++)
		if (!same_toml(&a->array.items[i], &b->array.items[i]))
			return false;
	return true;
}

static inline bool same_toml_datetime(const struct toml_datetime *a, const struct toml_datetime *b)
{
	return a->year == b->year && a->month == b->month && a->day == b->day &&
	       a->hour == b->hour && a->minute == b->minute && a->second == b->second &&
	       a->nanosecond == b->nanosecond && a->offset_minutes == b->offset_minutes;
}

static inline bool same_toml(const struct toml *a, const struct toml *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case TOML_STRING:
		return str_eq(a->string, b->string);
	case TOML_INTEGER:
		return a->integer == b->integer;
	case TOML_FLOAT:
		return real_is_same(a->real, b->real); /* nan and -0 too */
	case TOML_BOOLEAN:
		return a->boolean == b->boolean;
	case TOML_OFFSET_DATETIME:
	case TOML_LOCAL_DATETIME:
	case TOML_LOCAL_DATE:
	case TOML_LOCAL_TIME:
		return same_toml_datetime(&a->datetime, &b->datetime);
	case TOML_ARRAY:
		return same_toml_array(a, b);
	case TOML_TABLE:
		return same_toml_table(a, b);
	}
	return false;
}
