/* SPDX-License-Identifier: MIT */
/* As much of JSON Schema as table.c uses. */
#include "tools/check.h"

#include <stdio.h>

enum { SCHEMA_MAX_BYTES = 1 << 20 };

static bool has_type(const struct json *value, const struct json *type)
{
	if (str_is(type->string, "string"))
		return value->type == JSON_STRING;
	if (str_is(type->string, "boolean"))
		return value->type == JSON_BOOL;
	if (str_is(type->string, "integer"))
		return value->type == JSON_INT;
	if (str_is(type->string, "array"))
		return value->type == JSON_ARRAY;
	return value->type == JSON_OBJECT;
}

static bool is_one_of(const struct json *value, const struct json *list)
{
	for (size_t i = 0; i < list->array.count; i++)
		if (str_eq(value->string, list->array.items[i].string))
			return true;
	return false;
}

static bool fits(const struct json *value, const struct json *schema)
{
	const struct json *type = json_find(schema, "type"), *any = json_find(schema, "anyOf");
	const struct json *list = json_find(schema, "enum"), *items = json_find(schema, "items");
	const struct json *least = json_find(schema, "minimum");
	const struct json *fewest = json_find(schema, "minItems");

	for (size_t i = 0; any && i < any->array.count; i++)
		if (fits(value, &any->array.items[i]))
			return true;
	if (any || (type && !has_type(value, type)) || (list && !is_one_of(value, list)) ||
	    (least && value->integer < least->integer) ||
	    (fewest && (int64_t)value->array.count < fewest->integer))
		return false;
	for (size_t i = 0; items && i < value->array.count; i++)
		if (!fits(&value->array.items[i], items))
			return false;
	return true;
}

static bool is_missing(const struct json *arguments, struct str name)
{
	for (size_t i = 0; i < arguments->object.count; i++)
		if (str_eq(arguments->object.items[i].name, name))
			return false;
	return true;
}

static const struct json *find_member(const struct json *object, struct str name)
{
	for (size_t i = 0; i < object->object.count; i++)
		if (str_eq(object->object.items[i].name, name))
			return &object->object.items[i].value;
	return NULL;
}

static bool refuse(const char *what, struct str name, char *why, size_t room)
{
	(void)snprintf(why, room, "the argument '%.*s' %s", STR_ARG(name), what);
	return false;
}

bool check_arguments(const struct tool *tool, const struct json *arguments, char *why, size_t room)
{
	scoped_arena a = ARENA_INIT(SCHEMA_MAX_BYTES);
	struct err e = ERR_INIT;
	const struct json *schema = json_parse(&a, str_of(tool->input_schema), &e);
	const struct json *properties = schema ? json_find(schema, "properties") : NULL;
	const struct json *required = schema ? json_find(schema, "required") : NULL;

	if (!properties || arguments->type != JSON_OBJECT) {
		(void)snprintf(why, room, "the arguments have to be an object");
		return false;
	}
	for (size_t i = 0; i < arguments->object.count; i++) {
		const struct json_member *given = &arguments->object.items[i];
		const struct json *known = find_member(properties, given->name);

		if (!known)
			return refuse("is not known", given->name, why, room);
		if (!fits(&given->value, known))
			return refuse("has the wrong type or value", given->name, why, room);
	}
	for (size_t i = 0; required && i < required->array.count; i++)
		if (is_missing(arguments, required->array.items[i].string))
			return refuse("is missing", required->array.items[i].string, why, room);
	return true;
}
