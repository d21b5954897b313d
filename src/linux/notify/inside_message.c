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

static int decode_base64(struct arena *a, struct str text, struct str *out, struct err *e)
{
	char *room = arena_array(a, text.len + 1, 1, e);
	size_t len;

	if (!room)
		return err_result(e);
	if (!base64_decode(text, room, text.len, &len))
		return refuse(e, "a member is no base64");
	*out = (struct str){ room, len };
	return 0;
}

static int take_base64(struct arena *a, const struct json *value, struct str *out, struct err *e)
{
	struct str text;

	if (value->type != JSON_STRING)
		return refuse(e, "a member is no string");
	if (decode_base64(a, value->string, &text, e) < 0 || check_text(text, e) < 0)
		return err_result(e);
	*out = text;
	return 0;
}

/* ---- Messages ------------------------------------------------------------------------------- */

enum message_type { TYPE_HELLO, TYPE_REQUEST, TYPE_ESCALATE, TYPE_SIGNAL, TYPE_REFUSED };

static int find_type(const struct json *message, enum message_type *out, struct err *e)
{
	static const char *const types[] = { [TYPE_HELLO] = "hello",
					     [TYPE_REQUEST] = "request",
					     [TYPE_ESCALATE] = "escalate",
					     [TYPE_SIGNAL] = "signal",
					     [TYPE_REFUSED] = "refused" };
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

/* One of its words may be long, and all of them fit into a frame. */
static int take_command(struct arena *a, const struct json *value, bool is_base64,
			struct inside_message *out, struct err *e)
{
	size_t count = value->type == JSON_ARRAY ? value->array.count : 0;
	struct str *words;

	if (count == 0 || count > INSIDE_MAX_WORDS)
		return FAIL(e, ERR_LIMIT, "a command has 1 to %d words", INSIDE_MAX_WORDS);
	words = arena_array(a, count, sizeof(*words), e);
	if (!words)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		const struct json *word = &value->array.items[i];

		if (word->type != JSON_STRING)
			return refuse(e, "a word of the command is no string");
		if (is_base64 && decode_base64(a, word->string, &words[i], e) < 0)
			return err_result(e);
		if (!is_base64)
			words[i] = word->string;
		if (str_has_nul(words[i]))
			return refuse(e, "a word of the command has a NUL in it");
	}
	out->command = words;
	out->command_count = count;
	return 0;
}

static int take_of_escalation(struct arena *a, const struct json_member *m,
			      struct inside_message *out, struct err *e)
{
	if (str_is(m->name, "argv") && !out->command)
		return take_command(a, &m->value, false, out, e);
	if (str_is(m->name, "argv_base64") && !out->command)
		return take_command(a, &m->value, true, out, e);
	if (str_is(m->name, "file") && !out->file.len)
		return take_text(&m->value, &out->file, e);
	if (str_is(m->name, "file_base64") && !out->file.len)
		return take_base64(a, &m->value, &out->file, e);
	if (str_is(m->name, "optional") && m->value.type == JSON_BOOL) {
		out->is_optional = m->value.boolean;
		return 0;
	}
	return refuse(e, "the message has an unknown member");
}

static int take_signal(const struct json *value, int *out, struct err *e)
{
	enum { MOST = 64 };

	if (value->type != JSON_INT || value->integer < 1 || value->integer > MOST)
		return refuse(e, "there is no such signal");
	*out = (int)value->integer;
	return 0;
}

static int take_member(struct arena *a, enum message_type type, const struct json_member *m,
		       struct inside_message *out, struct err *e)
{
	bool is_request = type == TYPE_REQUEST;

	if (str_is(m->name, "type"))
		return 0;
	if (str_is(m->name, "signal") && type == TYPE_SIGNAL)
		return take_signal(&m->value, &out->signal, e);
	if (str_is(m->name, "run"))
		return take_text(&m->value, &out->run, e);
	if (str_is(m->name, "reason") && (is_request || type == TYPE_ESCALATE))
		return take_text(&m->value, &out->reason, e);
	if (type == TYPE_ESCALATE)
		return take_of_escalation(a, m, out, e);
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
	if (type == TYPE_ESCALATE && (!read.command || !read.command[0].len))
		return refuse(e, "there is no command to run");
	if (type == TYPE_SIGNAL && !read.signal)
		return refuse(e, "there is no such signal");
	if (type == TYPE_ESCALATE || type == TYPE_SIGNAL)
		read.kind = type == TYPE_SIGNAL ? INSIDE_SIGNAL : INSIDE_ESCALATE;
	if (type == TYPE_REFUSED)
		read.kind = INSIDE_REFUSED;
	*out = read;
	return 0;
}
