/* SPDX-License-Identifier: MIT */
/* See terminal_modes.h. The sequences are those of ECMA-48, DEC and xterm (ctlseqs). */
#include "session/terminal_modes.h"

#include "base/utf8.h"

#define ESC "\x1b"
#define CSI ESC "["

enum state { AT_REST, IN_ESCAPE, IN_CHARSET, IN_SEQUENCE, IN_STRING, IN_STRING_ESCAPE };

/*
 * Private modes of DEC and xterm, and as numbers from ANSI on those of ECMA-48. What is
 * `always` reset could hide a question; the others change what the keys send.
 */
enum { ANSI = 1 << 16 };

static const struct mode {
	uint32_t number;
	bool is_on_at_first, always;
} modes[] = {
	{ 1, false, false },	{ 5, false, true },	   { 6, false, false },
	{ 7, true, true },	{ 9, false, false },	   { 25, true, true },
	{ 45, false, false },	{ 66, false, false },	   { 69, false, true },
	{ 1000, false, false }, { 1001, false, false },	   { 1002, false, false },
	{ 1003, false, false }, { 1004, false, false },	   { 1005, false, false },
	{ 1006, false, false }, { 1015, false, false },	   { 1016, false, false },
	{ 2004, false, false }, { 2026, false, true },	   { 2031, false, false },
	{ 2048, false, false }, { ANSI | 4, false, true }, { ANSI | 20, false, false },
};
_Static_assert(COUNT_OF(modes) <= 32, "as many as bits");

/* What makes colours the terminal's own again. */
static const int colours[] = { 104, 105, 110, 111, 112, 117, 119 };

void modes_init(struct terminal_modes *m)
{
	*m = (struct terminal_modes){ .is_at_line_start = true, .osc = -1 };
}

static void reset(struct terminal_modes *m)
{
	m->changed = m->screen = m->top = m->bottom = m->other_keys = m->key_protocol = 0;
	m->is_shifted = false;
	m->charsets[0] = m->charsets[1] = 0;
	m->style_bytes = 0;
}

/* ---- Sequences ------------------------------------------------------------------------------ */

enum { MAX_NUMBERS = 16, MAX_NUMBER = 99999 };

struct sequence {
	char prefix;	   /* '?', '>', '<', '=' or 0 */
	char intermediate; /* the last one; 0: none */
	char final;
	uint32_t numbers[MAX_NUMBERS];
	size_t count; /* at least 1: a missing number is 0 */
};

/* `text` is all of it, from the first number or prefix to the final byte. */
static void read_sequence(struct str text, struct sequence *out)
{
	*out = (struct sequence){ .count = 1 };
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (ascii_is_digit(c) && out->count <= MAX_NUMBERS) {
			uint32_t *number = &out->numbers[out->count - 1];

			*number = MIN_OF(*number * 10 + (uint32_t)(c - '0'), (uint32_t)MAX_NUMBER);
		} else if (c == ';' || c == ':') {
			out->count++;
		} else if (c >= '<' && c <= '?') {
			out->prefix = c;
		} else if (c >= ' ' && c <= '/') {
			out->intermediate = c;
		} else if (c >= '@') {
			out->final = c;
		}
	}
	out->count = MIN_OF(out->count, (size_t)MAX_NUMBERS);
}

static void set_mode(struct terminal_modes *m, uint32_t number, bool is_on)
{
	if (number == 47 || number == 1047 || number == 1049)
		m->screen = is_on ? number : 0;
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		if (modes[i].number == number && is_on != modes[i].is_on_at_first)
			m->changed |= UINT32_C(1) << i;
		else if (modes[i].number == number)
			m->changed &= ~(UINT32_C(1) << i);
}

static void set_modes(struct terminal_modes *m, const struct sequence *s)
{
	for (size_t i = 0; i < s->count; i++)
		set_mode(m, s->prefix == '?' ? s->numbers[i] : s->numbers[i] | ANSI,
			 s->final == 'h');
}

/* The sequences since the last reset are kept as they are, to be sent again. */
static void add_style(struct terminal_modes *m, struct str text, const struct sequence *s)
{
	if (s->numbers[0] == 0)
		m->style_bytes = 0;
	if (s->count == 1 && s->numbers[0] == 0)
		return;
	if (m->style_bytes + text.len > sizeof(m->style))
		return;
	memcpy(m->style + m->style_bytes, text.p, text.len);
	m->style_bytes += text.len;
}

static void set_keys(struct terminal_modes *m, const struct sequence *s)
{
	if (s->prefix == '>' && s->final == 'm' && s->numbers[0] == 4)
		m->other_keys = s->count > 1 ? s->numbers[1] : 0;
	if (s->final != 'u')
		return;
	if (s->prefix == '>' || s->prefix == '=')
		m->key_protocol = 1;
}

/* `text` begins behind the "[". */
static void take_sequence(struct terminal_modes *m, struct str text)
{
	struct sequence s;

	read_sequence(text, &s);
	if (s.intermediate == '!' && s.final == 'p') {
		uint32_t screen = m->screen;

		reset(m);
		m->screen = screen;
	}
	if (s.intermediate)
		return;
	if ((s.final == 'h' || s.final == 'l') && (!s.prefix || s.prefix == '?'))
		set_modes(m, &s);
	else if (s.final == 'm' && !s.prefix)
		add_style(m, text, &s);
	else if (s.prefix == '>' || s.prefix == '=')
		set_keys(m, &s);
	else if (s.final == 'r' && !s.prefix) {
		m->top = s.numbers[0];
		m->bottom = s.count > 1 ? s.numbers[1] : 0;
	}
}

/* ---- The parser ----------------------------------------------------------------------------- */

static void rest(struct terminal_modes *m)
{
	m->state = AT_REST;
	m->more = 0;
	m->partial_bytes = 0;
	m->is_too_long = false;
}

static void begin(struct terminal_modes *m, enum state state, char byte)
{
	rest(m);
	m->state = (int)state;
	m->partial[m->partial_bytes++] = byte;
}

static void take_escape(struct terminal_modes *m, char c)
{
	if (c == '[')
		m->state = IN_SEQUENCE;
	else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_')
		m->state = IN_STRING;
	else if (c >= ' ' && c <= '/')
		m->state = IN_CHARSET;
	else {
		if (c == 'c')
			reset(m);
		else if (c == '=' || c == '>')
			set_mode(m, 66, c == '=');
		rest(m);
	}
}

static void take_charset(struct terminal_modes *m, char c)
{
	char which = m->partial_bytes > 1 ? m->partial[1] : 0;

	if (c < '0')
		return;
	if (which == '(' || which == ')')
		m->charsets[which == ')'] = c == 'B' ? 0 : c;
	rest(m);
}

/* At rest: text, a control character, or the begin of something. */
static void take_plain(struct terminal_modes *m, char byte)
{
	unsigned char c = (unsigned char)byte;

	if (m->more > 0) {
		/* C1 as two bytes: C2 9B is "ESC [". */
		bool is_c1 = (unsigned char)m->partial[0] == 0xC2 && c < 0xA0;

		if (is_c1 && (c == 0x9B || c == 0x9D || c == 0x90 || c == 0x98 || c >= 0x9E)) {
			m->state = c == 0x9B ? IN_SEQUENCE : IN_STRING;
			m->more = 0;
		} else if ((c & 0xC0) != 0x80 || --m->more == 0) {
			rest(m);
		}
		m->is_at_line_start = false;
		return;
	}
	if (c >= 0xC2 && c <= 0xF4) {
		begin(m, AT_REST, byte);
		m->more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
	} else if (c == 0x0E || c == 0x0F) {
		m->is_shifted = c == 0x0E;
	} else if (c == '\n' || c == '\r') {
		m->is_at_line_start = true;
	} else if (c >= ' ') {
		m->is_at_line_start = false;
	}
}

static void keep(struct terminal_modes *m, char byte)
{
	if (m->partial_bytes < sizeof(m->partial))
		m->partial[m->partial_bytes++] = byte;
	else
		m->is_too_long = true;
}

static void take_rest(struct terminal_modes *m, char c)
{
	/* Behind "ESC [", or C2 9B. */
	const size_t skipped = 2;

	if (m->state == IN_SEQUENCE && c >= '@' && c <= '~') {
		if (!m->is_too_long && m->partial_bytes >= skipped)
			take_sequence(
				m, str_from((struct str){ m->partial, m->partial_bytes }, skipped));
		rest(m);
	} else if (m->state == IN_STRING && c == '\a') {
		rest(m);
	}
}

static void watch_commands(struct terminal_modes *m, char c)
{
	if ((c == ']' && m->last == '\x1b') || (unsigned char)c == 0x9D)
		m->osc = 0;
	else if (m->osc >= 0 && ascii_is_digit(c) && m->osc < 1000)
		m->osc = m->osc * 10 + (c - '0');
	else if (m->osc >= 0) {
		m->has_link |= m->osc == 8;
		m->has_colours |= m->osc == 4 || m->osc == 5 || (m->osc >= 10 && m->osc <= 19);
		m->osc = -1;
	}
	m->last = c;
}

static void take(struct terminal_modes *m, char c)
{
	watch_commands(m, c);
	if (c == '\x18' || c == '\x1a') {
		rest(m);
		return;
	}
	if (c == '\x1b') {
		/* It ends every sequence, and begins one: "ESC \" is the end of a string. */
		begin(m, IN_ESCAPE, c);
		return;
	}
	if (m->state == AT_REST) {
		bool had_begun = m->more > 0;

		if (had_begun)
			keep(m, c);
		take_plain(m, c);
		return;
	}
	keep(m, c);
	if (m->state == IN_ESCAPE)
		take_escape(m, c);
	else if (m->state == IN_CHARSET)
		take_charset(m, c);
	else
		take_rest(m, c);
}

void modes_feed(struct terminal_modes *m, struct str bytes)
{
	while (bytes.len) {
		bool is_text = m->state == AT_REST && !m->more && m->osc < 0;
		size_t plain = is_text ? utf8_count_plain(bytes) : 0;

		/* Most of it is text, which changes nothing else. */
		if (plain) {
			m->is_at_line_start = false;
			m->last = bytes.p[plain - 1];
		} else {
			take(m, bytes.p[0]);
		}
		bytes = str_from(bytes, MAX_OF(plain, (size_t)1));
	}
}

bool modes_is_at_rest(const struct terminal_modes *m)
{
	return m->state == AT_REST && m->more == 0;
}

bool modes_is_skipping(const struct terminal_modes *m)
{
	return !modes_is_at_rest(m) && m->is_too_long;
}

/* ---- Plain, and back --------------------------------------------------------------------------- */

static void add_mode(struct buf *out, uint32_t number, bool is_on)
{
	buf_printf(out, CSI "%s%u%c", number & ANSI ? "" : "?", number & ~(uint32_t)ANSI,
		   is_on ? 'h' : 'l');
}

void modes_add_plain(const struct terminal_modes *m, struct buf *out)
{
	if (!modes_is_at_rest(m))
		buf_add_text(out, "\x18");
	/* Ends a string of which nothing is known here. */
	buf_add_text(out, ESC "\\");
	if (m->screen)
		add_mode(out, m->screen, false);
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		if (modes[i].always || (m->changed & UINT32_C(1) << i))
			add_mode(out, modes[i].number, modes[i].is_on_at_first);
	if (m->key_protocol)
		buf_add_text(out, CSI ">0u");
	if (m->other_keys)
		buf_add_text(out, CSI ">4;0m");
	if (m->has_link)
		buf_add_text(out, ESC "]8;;" ESC "\\");
	for (size_t i = 0; i < COUNT_OF(colours) && m->has_colours; i++)
		buf_printf(out, ESC "]%d" ESC "\\", colours[i]);
	/* All of the window scrolls; that alone would move the cursor. The first character set. */
	buf_add_text(out, ESC "7" CSI "r" ESC "8"
			      "\x0f" ESC "(B" CSI "0m");
	buf_add_text(out, m->is_at_line_start && !m->screen ? "\r" : "\r\n");
	buf_add_text(out, CSI "J");
}

void modes_add_back(const struct terminal_modes *m, struct buf *out)
{
	buf_add_text(out, CSI "0m");
	if (m->key_protocol)
		buf_add_text(out, CSI "<u");
	if (m->screen)
		add_mode(out, m->screen, true);
	if (m->top || m->bottom)
		buf_printf(out, ESC "7" CSI "%u;%ur" ESC "8", MAX_OF(m->top, 1U), m->bottom);
	for (size_t i = 0; i < COUNT_OF(modes); i++)
		if (m->changed & UINT32_C(1) << i)
			add_mode(out, modes[i].number, !modes[i].is_on_at_first);
	if (m->other_keys)
		buf_printf(out, CSI ">4;%um", m->other_keys);
	for (int i = 0; i < 2; i++)
		if (m->charsets[i])
			buf_printf(out, ESC "%c%c", i ? ')' : '(', m->charsets[i]);
	if (m->is_shifted)
		buf_add_char(out, '\x0e');
	/* Each is kept from behind its "ESC [" to its end. */
	for (size_t from = 0, i = 0; i < m->style_bytes; i++)
		if (m->style[i] == 'm') {
			buf_add_text(out, CSI);
			buf_add(out, (struct str){ m->style + from, i + 1 - from });
			from = i + 1;
		}
	if (!modes_is_at_rest(m) && !m->is_too_long)
		buf_add(out, (struct str){ m->partial, m->partial_bytes });
}
