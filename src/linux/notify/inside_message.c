/* SPDX-License-Identifier: MIT */
/* See inside_message.h. */
#include "linux/notify/inside_message.h"

#include "base/base64.h"
#include "base/json.h"

size_t inside_read_length(const unsigned char bytes[INSIDE_LENGTH_BYTES])
{
	uint32_t length = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			  (uint32_t)bytes[3] << 24;

	return length > INSIDE_MESSAGE_MAX ? 0 : length;
}

void inside_write_length(unsigned char out[INSIDE_LENGTH_BYTES], size_t length)
{
	for (size_t i = 0; i < INSIDE_LENGTH_BYTES; i++)
		out[i] = (unsigned char)(length >> (8 * i));
}

/* ---- Members ------------------------------------------------------------------------------- */

static int refuse(struct err *e, const char *what)
{
	return FAIL(e, ERR_SYNTAX, "%s", what);
}

static int check_text(struct str text, struct err *e)
{
	if (text.len > INSIDE_TEXT_MAX)
		return FAIL(e, ERR_LIMIT, "a text is too long");
	return str_has_nul(text) ? refuse(e, "a text has a NUL in it") : 0;
}

static int take_text(const struct json *value, struct str *out, struct err *e)
{
	if (value->type != JSON_STRING)
		return refuse(e, "a member is no string");
	if (check_text(value->string, e) < 0)
		return err_result(e);
	*out = value->string;
	return 0;
}

static int take_base64(struct arena *a, const struct json *value, struct str *out, struct err *e)
{
	char *room;
	size_t len;

	if (value->type != JSON_STRING)
		return refuse(e, "a member is no string");
	room = arena_array(a, value->string.len + 1, 1, e);
	if (!room)
		return err_result(e);
	if (!base64_decode(value->string, room, value->string.len, &len))
		return refuse(e, "a member is no base64");
	if (check_text((struct str){ room, len }, e) < 0)
		return err_result(e);
	*out = (struct str){ room, len };
	return 0;
}

/* ---- Messages ------------------------------------------------------------------------------- */

enum message_type { TYPE_HELLO, TYPE_REQUEST };

static int find_type(const struct json *message, enum message_type *out, struct err *e)
{
	static const char *const types[] = { [TYPE_HELLO] = "hello", [TYPE_REQUEST] = "request" };
	const struct json *type = json_find(message, "type");

	for (size_t i = 0; type && type->type == JSON_STRING && i < COUNT_OF(types); i++) {
		if (!str_is(type->string, types[i]))
			continue;
		*out = (enum message_type)i;
		return 0;
	}
	return refuse(e, "the type of the message is unknown");
}

static int take_kind(const struct json *value, enum inside_kind *out, struct err *e)
{
	static const struct {
		const char *name;
		enum inside_kind kind;
	} kinds[] = { { "write", INSIDE_WRITE },
		      { "connect", INSIDE_CONNECT },
		      { "unix_socket", INSIDE_UNIX_SOCKET } };

	for (size_t i = 0; value->type == JSON_STRING && i < COUNT_OF(kinds); i++) {
		if (!str_is(value->string, kinds[i].name))
			continue;
		*out = kinds[i].kind;
		return 0;
	}
	return refuse(e, "the kind of the request is unknown");
}

static int take_member(struct arena *a, enum message_type type, const struct json_member *m,
		       struct inside_message *out, struct err *e)
{
	bool is_request = type == TYPE_REQUEST;

	if (str_is(m->name, "type"))
		return 0;
	if (str_is(m->name, "run"))
		return take_text(&m->value, &out->run, e);
	if (str_is(m->name, "reason") && is_request)
		return take_text(&m->value, &out->reason, e);
	if (str_is(m->name, "kind") && is_request)
		return take_kind(&m->value, &out->kind, e);
	if (str_is(m->name, "subject") && is_request && !out->subject.len)
		return take_text(&m->value, &out->subject, e);
	if (str_is(m->name, "subject_base64") && is_request && !out->subject.len)
		return take_base64(a, &m->value, &out->subject, e);
	return refuse(e, "the message has an unknown member");
}

int inside_parse(struct arena *a, struct str text, struct inside_message *out, struct err *e)
{
	const struct json *message = json_parse(a, text, e);
	struct inside_message read = { .kind = INSIDE_HELLO };
	enum message_type type;

	if (!message)
		return err_result(e);
	if (message->type != JSON_OBJECT)
		return refuse(e, "the message is no object");
	if (find_type(message, &type, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < message->object.count; i++)
		if (take_member(a, type, &message->object.items[i], &read, e) < 0)
			return err_result(e);
	if (type == TYPE_REQUEST && (read.kind == INSIDE_HELLO || !read.subject.len))
		return refuse(e, "the request names nothing");
	*out = read;
	return 0;
}
