/* SPDX-License-Identifier: MIT */
/* Building a tree of values with the calls that write JSON; see json.h. */
#include "base/json.h"

/* An object or an array that is not complete yet. */
struct json_frame {
	struct json_frame *above;
	struct str name; /* its own, in the one above */
	enum json_type type;
	VEC(struct json_member) items; /* those of an array have no name */
};

static void put(struct json_tree *t, struct json value)
{
	struct json_member *added;

	if (t->e.code != ERR_OK)
		return;
	if (!t->top) {
		t->root = value;
		return;
	}
	added = VEC_PUSH(t->a, &t->top->items, &t->e);
	if (!added)
		return;
	added->name = t->name;
	added->value = value;
}

void json_tree_begin(struct json_tree *t, enum json_type type)
{
	struct json_frame *frame;

	if (t->e.code != ERR_OK)
		return;
	frame = ARENA_NEW(t->a, struct json_frame, &t->e);
	if (!frame)
		return;
	frame->above = t->top;
	frame->name = t->name;
	frame->type = type;
	t->top = frame;
}

void json_tree_end(struct json_tree *t)
{
	struct json_frame *frame = t->top;
	struct json value = { .type = JSON_NULL };

	if (t->e.code != ERR_OK || !frame)
		return;
	value.type = frame->type;
	if (frame->type == JSON_OBJECT) {
		value.object.items = frame->items.items;
		value.object.count = frame->items.count;
	} else {
		value.array.count = frame->items.count;
		value.array.items =
			arena_array(t->a, frame->items.count + 1, sizeof(struct json), &t->e);
		if (!value.array.items)
			return;
		for (size_t i = 0; i < frame->items.count; i++)
			value.array.items[i] = frame->items.items[i].value;
	}
	t->top = frame->above;
	t->name = frame->name;
	put(t, value);
}

void json_tree_name(struct json_tree *t, struct str name)
{
	if (t->e.code == ERR_OK)
		(void)!arena_copy(t->a, name, &t->name, &t->e);
}

void json_tree_add(struct json_tree *t, struct json value)
{
	struct str copy;

	if (value.type == JSON_STRING && t->e.code == ERR_OK) {
		if (arena_copy(t->a, value.string, &copy, &t->e) < 0)
			return;
		value.string = copy;
	}
	put(t, value);
}
