/* SPDX-License-Identifier: MIT */
/* Whether two JSON values are the same, members in the same order. */
#pragma once

#include "base/json.h"
#include "base/real.h"

static inline bool same_json(const struct json *a, const struct json *b);

static inline bool same_json_array(const struct json *a, const struct json *b)
{
	if (a->array.count != b->array.count)
		return false;
	for (size_t i = 0; i < a->array.count; i++)
		if (!same_json(&a->array.items[i], &b->array.items[i]))
			return false;
	return true;
}

static inline bool same_json_object(const struct json *a, const struct json *b)
{
	if (a->object.count != b->object.count)
		return false;
	for (size_t i = 0; i < a->object.count; i++) {
		const struct json_member *left = &a->object.items[i];
		const struct json_member *right = &b->object.items[i];

		if (!str_eq(left->name, right->name) || !same_json(&left->value, &right->value))
			return false;
	}
	return true;
}

static inline bool same_json(const struct json *a, const struct json *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_INT:
		return a->integer == b->integer;
	case JSON_REAL:
		return real_is_same(a->real, b->real); /* -0 too */
	case JSON_STRING:
		return str_eq(a->string, b->string);
	case JSON_ARRAY:
		return same_json_array(a, b);
	case JSON_OBJECT:
		return same_json_object(a, b);
	}
	return false;
}
