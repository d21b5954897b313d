/* SPDX-License-Identifier: MIT */
/* See salvage.h. It knows strings and brackets, and nothing else of JSON. */
#include "mcp/salvage.h"

void salvage_init(struct salvage *s)
{
	*s = (struct salvage){ .depth = 0 };
}

static void take_id_byte(struct salvage *s, char c)
{
	if (s->id_bytes < sizeof(s->id))
		s->id[s->id_bytes] = c;
	s->id_bytes++;
}

static void begin_string(struct salvage *s)
{
	s->in_string = true;
	if (s->depth == 1 && !s->in_value)
		s->key_bytes = 0;
	if (s->takes_id)
		take_id_byte(s, '"');
}

static void feed_string(struct salvage *s, char c)
{
	bool ends = c == '"' && !s->is_escaped;

	s->is_escaped = c == '\\' && !s->is_escaped;
	s->in_string = !ends;
	if (s->takes_id) {
		take_id_byte(s, c);
	} else if (s->depth == 1 && !s->in_value && !ends) {
		if (s->key_bytes < sizeof(s->key))
			s->key[s->key_bytes] = c;
		s->key_bytes++;
	}
}

static struct str key(const struct salvage *s)
{
	return (struct str){ s->key, s->key_bytes <= sizeof(s->key) ? s->key_bytes : 0 };
}

static void begin_value(struct salvage *s)
{
	s->in_value = true;
	s->has_method = s->has_method || str_is(key(s), "method");
	s->takes_id = str_is(key(s), "id");
	if (s->takes_id) {
		s->ids++;
		s->id_bytes = 0;
	}
}

static void end_value(struct salvage *s)
{
	s->in_value = false;
	s->takes_id = false;
}

static void feed_plain(struct salvage *s, char c)
{
	if (c == '{' || c == '[') {
		s->is_none = s->is_none || (s->depth == 0 && c == '[');
		s->depth++;
	} else if (c == '}' || c == ']') {
		if (s->depth == 1)
			end_value(s);
		if (s->depth > 0)
			s->depth--;
	} else if (s->depth == 1 && c == ':' && !s->in_value) {
		begin_value(s);
		return;
	} else if (s->depth == 1 && c == ',') {
		end_value(s);
	}
	if (s->takes_id && c != ' ' && c != '\t' && c != '\r')
		take_id_byte(s, c);
}

void salvage_feed(struct salvage *s, struct str bytes)
{
	for (size_t i = 0; i < bytes.len && !s->is_none; i++) {
		char c = bytes.p[i];

		if (s->in_string)
			feed_string(s, c);
		else if (c == '"')
			begin_string(s);
		else
			feed_plain(s, c);
	}
}

static bool is_plain_number(struct str id)
{
	size_t sign = id.len && id.p[0] == '-';

	for (size_t i = sign; i < id.len; i++)
		if (!ascii_is_digit(id.p[i]))
			return false;
	/* Not more than an integer has that is read exactly, and no zero before it. */
	return id.len > sign && id.len <= 18 && (id.p[sign] != '0' || id.len == sign + 1);
}

/* Nothing in it that would have to be escaped, or read. */
static bool is_plain_string(struct str id)
{
	if (id.len < 2 || id.p[0] != '"' || id.p[id.len - 1] != '"')
		return false;
	for (size_t i = 1; i < id.len - 1; i++)
		if (id.p[i] < ' ' || id.p[i] > '~' || id.p[i] == '"' || id.p[i] == '\\')
			return false;
	return true;
}

struct str salvage_id(const struct salvage *s)
{
	struct str id = { s->id, s->id_bytes };

	if (s->is_none || !s->has_method || s->ids != 1 || s->id_bytes > sizeof(s->id))
		return STR_EMPTY;
	return is_plain_number(id) || is_plain_string(id) ? id : STR_EMPTY;
}
