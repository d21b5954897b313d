/* SPDX-License-Identifier: MIT */
/* See terminal_filter.h. */
#include "session/terminal_filter.h"

#include "base/utf8.h"

enum state {
	AT_REST,
	IN_C2, /* the first byte of a control character C1 in UTF-8, perhaps */
	IN_ESCAPE,
	IN_INTERMEDIATE,
	IN_SEQUENCE,
	IN_COMMAND, /* before the end of its number */
	IN_COMMAND_ESCAPE,
	IN_DEVICE, /* a device control string, before its final byte */
	IN_PALETTE,
	IN_DROPPED, /* a string */
};

/* ---- What is left out --------------------------------------------------------------------------- */

enum { ANY = 1, MAX_NUMBER = 0xFFFF, PALETTE_DIGITS = 7 };

enum which { ALL, THESE, BUT_THESE /* the first number */ };

/* Control sequences, by their final byte, their prefix and their intermediate byte. */
static const struct dropped {
	const char *finals;
	char prefix, intermediate;
	enum which which;
	uint8_t numbers[10]; /* 0: the end */
} dropped[] = {
	/* What follows goes to a printer, and not to the screen. */
	{ "i", ANY, 0, ALL, { 0 } },
	/* Moves, shrinks or hides the window, or types its title, which the command chose; reports of
	   sizes, and keeping titles, are harmless. */
	{ "t", ANY, 0, BUT_THESE, { 11, 13, 14, 15, 16, 18, 19, 22, 23 } },
	/* Lines and columns of the window. */
	{ "|", ANY, '$', ALL, { 0 } },
	{ "|", ANY, '*', ALL, { 0 } },
	/* VT52 and Tektronix understand no sequence that would be a way back; right to left. */
	{ "hl", '?', 0, THESE, { 2, 34, 38 } },
	/* Another level of emulation knows less. */
	{ "p", ANY, '"', ALL, { 0 } },
	/* Locks the keyboard; shows control characters. */
	{ "hl", 0, 0, THESE, { 2, 3 } },
	/* What follows goes to the status line. */
	{ "}~", ANY, '$', ALL, { 0 } },
	/* Colours that are kept, and come back. */
	{ "PQ", ANY, '#', ALL, { 0 } },
	/* The colours that "as at first" stands for: DECAC, consoles of Linux and BSD. */
	{ "|}", ANY, ',', ALL, { 0 } },
	{ "]", ANY, 0, ALL, { 0 } },
	{ "FGHIJK", '=', 0, ALL, { 0 } },
};

/*
 * Operating system commands that pass: titles, colours (which are reset before a question), the
 * directory, links, notes and progress, the clipboard, marks of prompts. SECURITY: others set fonts,
 * pictures, profiles, an encoding or colours by other names (21, 50, 701, 1337).
 */
static const struct range {
	uint16_t from, to;
} passed_commands[] = {
	{ 0, 2 },   { 4, 5 },	  { 7, 9 },	{ 10, 19 },   { 22, 22 },   { 52, 52 },
	{ 99, 99 }, { 104, 105 }, { 110, 119 }, { 133, 133 }, { 633, 633 }, { 777, 777 },
};

struct shape {
	char prefix, intermediate, final;
};

static bool is_final(char c)
{
	return c >= '@' && c <= '~';
}

static bool is_of_row(const struct dropped *row, uint32_t number)
{
	for (size_t i = 0; i < COUNT_OF(row->numbers) && row->numbers[i]; i++)
		if (row->numbers[i] == number)
			return true;
	/* Who knows what a terminal makes of it. */
	return row->which == THESE && number > MAX_NUMBER;
}

/* `text` begins behind the "["; control characters within it are no part of it. */
static bool has_number(struct str text, const struct dropped *row)
{
	uint32_t number = 0;
	bool is_first = true;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (ascii_is_digit(c)) {
			number =
				MIN_OF(number * 10 + (uint32_t)(c - '0'), (uint32_t)MAX_NUMBER + 1);
		} else if (c == ';' || c == ':' || is_final(c)) {
			if (is_of_row(row, number))
				return true;
			if (is_first && row->which == BUT_THESE)
				return false;
			is_first = false;
			number = 0;
		}
	}
	return false;
}

static struct shape find_shape(struct str text)
{
	struct shape shape = { 0 };

	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (c >= '<' && c <= '?')
			shape.prefix = c;
		else if (c >= ' ' && c <= '/')
			shape.intermediate = c;
		else if (is_final(c))
			shape.final = c;
	}
	return shape;
}

static bool is_dropped_sequence(struct str text)
{
	struct shape shape = find_shape(text);

	for (size_t i = 0; i < COUNT_OF(dropped); i++) {
		const struct dropped *row = &dropped[i];

		if (!strchr(row->finals, shape.final) || row->intermediate != shape.intermediate ||
		    (row->prefix != ANY && row->prefix != shape.prefix))
			continue;
		if (row->which == ALL || has_number(text, row) == (row->which == THESE))
			return true;
	}
	return false;
}

static bool is_dropped_command(uint32_t number)
{
	for (size_t i = 0; i < COUNT_OF(passed_commands); i++)
		if (number >= passed_commands[i].from && number <= passed_commands[i].to)
			return false;
	return true;
}

/*
 * Pictures (sixel), queries, and what tmux passes on, which is looked at as well. SECURITY: others
 * define keys and characters, or hold the screen.
 */
static bool is_dropped_device(struct str text)
{
	struct shape shape = find_shape(text);

	if (shape.final == 't')
		return text.len != 1;
	return shape.final != 'q' || shape.prefix ||
	       (shape.intermediate && shape.intermediate != '$' && shape.intermediate != '+');
}

/* Double height shows half of a line; other encodings hide how control characters are written. */
static bool is_dropped_escape(char first, char final)
{
	if (first == '#')
		return final == '3' || final == '4' || final == '6';
	if (first == '%')
		return final != 'G' && final != '8';
	/* Replies would begin with a control character of one byte. */
	if (first == ' ')
		return final == 'G';
	/* Text that is protected from being erased. */
	return !first && (final == 'V' || final == 'W');
}

/* The same as control characters of one byte, which programs do not use. */
static bool is_dropped_c1(unsigned char c)
{
	return c == 0x90 || (c >= 0x96 && c <= 0x98) || c == 0x9B || (c >= 0x9D && c <= 0x9F);
}

/* ---- The parser ----------------------------------------------------------------------------------- */

void filter_init(struct terminal_filter *f)
{
	*f = (struct terminal_filter){ .state = AT_REST };
}

static void go(struct terminal_filter *f, enum state state)
{
	f->state = (int)state;
	f->more = 0;
	f->held_bytes = 0;
	f->is_too_long = false;
	f->first = 0;
	f->number = 0;
}

static void hold(struct terminal_filter *f, char c)
{
	if (f->held_bytes < sizeof(f->held))
		f->held[f->held_bytes++] = c;
	else
		f->is_too_long = true;
}

static void begin(struct terminal_filter *f, enum state state, char c)
{
	go(f, state);
	hold(f, c);
}

/* What is held is whole. */
static void finish(struct terminal_filter *f, bool is_dropped, struct buf *out)
{
	if (!is_dropped && !f->is_too_long)
		buf_add(out, (struct str){ f->held, f->held_bytes });
	go(f, AT_REST);
}

/* Behind "ESC [" or the like, before which more ESC may be. */
static struct str body(const struct terminal_filter *f, char begun)
{
	struct str held = { f->held, f->held_bytes };

	return str_from(held, MIN_OF(str_find(held, begun) + 1, held.len));
}

/* Each takes a byte; false: it has to be taken again in the new state. */
static bool take_plain(struct terminal_filter *f, char c, struct buf *out)
{
	unsigned char byte = (unsigned char)c;
	bool is_in_character = f->more > 0 && (byte & 0xC0) == 0x80;

	f->more = is_in_character ? f->more - 1 : 0;
	if (byte == 0xC2) {
		begin(f, IN_C2, c);
		return true;
	}
	if (!is_in_character && is_dropped_c1(byte))
		return true;
	if (byte >= 0xC3 && byte <= 0xF4)
		f->more = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
	buf_add_char(out, c);
	return true;
}

static bool take_c2(struct terminal_filter *f, char c, struct buf *out)
{
	unsigned char byte = (unsigned char)c;
	bool is_character = (byte & 0xC0) == 0x80;

	/* Alone it could be the first half of one after what is left out. */
	hold(f, c);
	finish(f, !is_character || is_dropped_c1(byte), out);
	return is_character;
}

static bool take_escape(struct terminal_filter *f, char c, struct buf *out)
{
	hold(f, c);
	if (c == '[')
		f->state = IN_SEQUENCE;
	else if (c == ']')
		f->state = IN_COMMAND;
	else if (c == 'P')
		f->state = IN_DEVICE;
	else if (c == 'X' || c == '^' || c == '_')
		go(f, IN_DROPPED);
	else if (c >= ' ' && c <= '/') {
		f->first = c;
		f->state = IN_INTERMEDIATE;
	} else {
		finish(f, is_dropped_escape(0, c), out);
	}
	return true;
}

static bool take_intermediate(struct terminal_filter *f, char c, struct buf *out)
{
	bool is_alone = f->held_bytes && f->held[f->held_bytes - 1] == f->first;

	hold(f, c);
	if (c >= '0')
		finish(f, is_dropped_escape(f->first, is_alone ? c : 0), out);
	return true;
}

static bool take_sequence(struct terminal_filter *f, char c, struct buf *out)
{
	hold(f, c);
	if (c >= '@')
		finish(f, is_dropped_sequence(body(f, '[')), out);
	return true;
}

static bool take_command(struct terminal_filter *f, char c, struct buf *out)
{
	bool has_digits = body(f, ']').len > 0;
	bool is_dropped;

	if (ascii_is_digit(c)) {
		f->number = MIN_OF(f->number * 10 + (uint32_t)(c - '0'), (uint32_t)MAX_NUMBER);
		hold(f, c);
		return true;
	}
	if (!has_digits && c == 'P') {
		/* The console of Linux: a colour has no end but its last digit. */
		go(f, IN_PALETTE);
		f->more = PALETTE_DIGITS;
		return true;
	}
	if (!has_digits && c == 'R') {
		hold(f, c);
		finish(f, false, out);
		return true;
	}
	is_dropped = !has_digits || (c != ';' && c != '\a') || is_dropped_command(f->number);
	if (is_dropped) {
		go(f, IN_DROPPED);
		return false;
	}
	hold(f, c);
	finish(f, false, out);
	return true;
}

static bool take_command_escape(struct terminal_filter *f, char c, struct buf *out)
{
	/* Without its ESC. */
	bool has_digits = body(f, ']').len > 1;

	hold(f, c);
	finish(f, !has_digits || is_dropped_command(f->number), out);
	return true;
}

static bool take_device(struct terminal_filter *f, char c, struct buf *out)
{
	if (c < ' ' || c > '~') {
		go(f, IN_DROPPED);
		return false;
	}
	hold(f, c);
	if (c < '@')
		return true;
	if (f->is_too_long || is_dropped_device(body(f, 'P')))
		go(f, IN_DROPPED);
	else
		finish(f, false, out);
	return true;
}

static bool take_palette(struct terminal_filter *f, char c, struct buf *out)
{
	bool is_digit = ascii_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');

	(void)out;
	if (!is_digit || --f->more == 0)
		go(f, AT_REST);
	return is_digit;
}

static bool take_dropped(struct terminal_filter *f, char c, struct buf *out)
{
	unsigned char byte = (unsigned char)c;

	(void)out;
	if (c == '\a' || (f->more && byte == 0x9C))
		go(f, AT_REST);
	f->more = byte == 0xC2;
	return true;
}

static bool (*const takers[])(struct terminal_filter *, char, struct buf *) = {
	[AT_REST] = take_plain,
	[IN_C2] = take_c2,
	[IN_ESCAPE] = take_escape,
	[IN_INTERMEDIATE] = take_intermediate,
	[IN_SEQUENCE] = take_sequence,
	[IN_COMMAND] = take_command,
	[IN_COMMAND_ESCAPE] = take_command_escape,
	[IN_DEVICE] = take_device,
	[IN_PALETTE] = take_palette,
	[IN_DROPPED] = take_dropped,
};

/* It ends every sequence, and begins one: "ESC \" is the end of a string. */
static void take_esc(struct terminal_filter *f, char c)
{
	if (f->state == IN_COMMAND) {
		hold(f, c);
		f->state = IN_COMMAND_ESCAPE;
	} else if (f->state == IN_ESCAPE && !f->is_too_long) {
		/* As tmux gets it, to be passed on. */
		hold(f, c);
	} else {
		begin(f, IN_ESCAPE, c);
	}
}

static void take(struct terminal_filter *f, char c, struct buf *out)
{
	unsigned char byte = (unsigned char)c;
	bool is_short;

	if (f->state == IN_COMMAND_ESCAPE && c != '\\')
		begin(f, IN_ESCAPE, '\x1b');
	is_short = f->state == IN_ESCAPE || f->state == IN_INTERMEDIATE || f->state == IN_SEQUENCE;
	if (c == '\x1b') {
		take_esc(f, c);
		return;
	}
	if (c == '\x18' || c == '\x1a') {
		go(f, AT_REST);
		buf_add_char(out, c);
		return;
	}
	/* Control characters act within a sequence, and are no part of it. */
	if (is_short && (byte < ' ' || byte == 0x7F)) {
		hold(f, c);
		return;
	}
	if (is_short && byte >= 0x80)
		go(f, AT_REST);
	while (!takers[f->state](f, c, out))
		;
}

void filter_pass(struct terminal_filter *f, struct str bytes, struct buf *out)
{
	while (bytes.len) {
		bool is_text = f->state == AT_REST && !f->more;
		size_t plain = is_text ? utf8_count_plain(bytes) : 0;

		if (plain)
			buf_add(out, str_first(bytes, plain));
		else
			take(f, bytes.p[0], out);
		bytes = str_from(bytes, MAX_OF(plain, (size_t)1));
	}
}
