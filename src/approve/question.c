/* SPDX-License-Identifier: MIT */
/* See question.h. */
#include "approve/question.h"

#include "base/shell.h"
#include "base/utf8.h"

enum {
	MAX_WORDS = 32,	       /* of the command */
	WORDS_BYTES = 4096,    /* of them */
	COMMAND_COLUMNS = 320, /* of a command that is shown whole: its lines fit in any window */
	COMMAND_LINES = 48,
	INDENT = 4,
	LONG_LINES = 3, /* that one name may take */
};

/* ---- Names in a bounded number of lines ------------------------------------------------------- */

/* Wide characters take two columns (East Asian Width W and F, roughly). */
static size_t width_of(uint32_t c)
{
	static const uint32_t wide[][2] = {
		{ 0x1100, 0x115F },   { 0x2E80, 0xA4CF },   { 0xA960, 0xA97F },
		{ 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE30, 0xFE6F },
		{ 0xFF01, 0xFF60 },   { 0xFFE0, 0xFFE6 },   { 0x16FE0, 0x18DFF },
		{ 0x1AFF0, 0x1B2FF }, { 0x1F000, 0x1FAFF }, { 0x20000, 0x3FFFD },
	};

	for (size_t i = 0; c >= wide[0][0] && i < COUNT_OF(wide); i++)
		if (c >= wide[i][0] && c <= wide[i][1])
			return 2;
	return 1;
}

/* The next character as it is shown, and how many columns it takes. */
static struct str next_shown(struct str s, size_t *at, char escaped[16], size_t *width)
{
	size_t from = *at, again = *at;
	struct str shown = utf8_next_shown(s, at, escaped);
	uint32_t c = 0;

	*width = shown.p == escaped || !utf8_next(s, &again, &c) ? shown.len : width_of(c);
	return *at > from ? shown : STR_EMPTY;
}

static size_t columns_of(struct str s)
{
	char escaped[16];
	size_t sum = 0;

	for (size_t at = 0, width = 0; at < s.len; sum += width)
		(void)next_shown(s, &at, escaped, &width);
	return sum;
}

struct lines {
	struct buf *out;
	size_t columns, indent;
	size_t used; /* of the last line */
};

static void put(struct lines *l, struct str shown, size_t width)
{
	if (l->used + width > l->columns && l->used > l->indent) {
		buf_add_char(l->out, '\n');
		for (l->used = 0; l->used < l->indent; l->used++)
			buf_add_char(l->out, ' ');
	}
	buf_add(l->out, shown);
	l->used += width;
}

/* From where the line is now on; cut in the middle so that it takes at most `max` lines. */
static void add_name(struct lines *l, struct str name, size_t max)
{
	const struct str dots = STR("[...]");
	size_t each = l->columns - l->indent;
	size_t first = l->columns > l->used ? l->columns - l->used : 1;
	/* A wide or an escaped character may not fit at the end of each line. */
	size_t room = first + (max - 1) * (each > 8 ? each - 7 : 1);
	size_t all = columns_of(name);
	size_t head = room > 2 * dots.len ? (room - dots.len) / 2 : room;
	char escaped[16];
	bool is_cut = false;

	for (size_t at = 0, seen = 0, width = 0; at < name.len; seen += width) {
		struct str shown = next_shown(name, &at, escaped, &width);

		if (all <= room || seen + width <= head || all - seen <= head - 1)
			put(l, shown, width);
		else if (!is_cut)
			put(l, dots, dots.len);
		is_cut |= all > room && seen + width > head;
	}
}

/* ---- The question ------------------------------------------------------------------------------ */

struct page {
	struct buf *out;
	const struct question_look *look;
	size_t max; /* lines of one name */
};

static void set_style(const struct page *p, const char *style)
{
	if (p->look->has_colour)
		buf_printf(p->out, "\033[%sm", style);
}

static struct lines begin_line(const struct page *p, const char *label)
{
	struct lines l = { .out = p->out, .columns = p->look->columns - 1, .indent = INDENT };
	struct str text = str_of(label);

	if (l.columns <= 2 * l.indent)
		l.indent = 1;
	put(&l, text, text.len);
	return l;
}

static void end_line(struct lines *l)
{
	buf_add_char(l->out, '\n');
}

/* Nothing if there is no value. */
static void add_field(const struct page *p, const char *label, struct str value)
{
	struct lines l;

	if (!value.len)
		return;
	l = begin_line(p, label);
	add_name(&l, value, p->max);
	end_line(&l);
}

/* Text of Cordon's own, wrapped at blanks. */
static void add_wrapped(struct lines *l, const char *text)
{
	struct str rest = str_of(text);

	while (rest.len) {
		struct str word = str_take_word(&rest);

		put(l, word, word.len);
		if (l->used < l->columns && rest.len) {
			buf_add_char(l->out, ' ');
			l->used++;
		}
	}
}

static void add_text(const struct page *p, const char *text)
{
	struct lines l = begin_line(p, "");

	add_wrapped(&l, text);
	end_line(&l);
}

static const char *meaning_of(const struct ask *ask)
{
	static const char *const words[] = {
#define ASK_KIND_WORDS(id, name, meaning) [ASK_##id] = (meaning),
		ASK_KINDS(ASK_KIND_WORDS)
#undef ASK_KIND_WORDS
	};

	return ask->kind == ASK_WRITE ? operation_meaning(ask->operation) : words[ask->kind];
}

static void add_title(const struct page *p, const struct ask *ask)
{
	struct lines l;
	char number[32];

	set_style(p, "1;33");
	add_text(p, "cordon: may this be done?");
	set_style(p, "0");
	l = begin_line(p, "");
	add_name(&l, ask->program.len ? ask->program : STR("a program"), p->max);
	if (ask->pid) {
		(void)snprintf(number, sizeof(number), " (process %d)", ask->pid);
		add_wrapped(&l, number);
	}
	end_line(&l);
	l = begin_line(p, "wants to ");
	add_wrapped(&l, meaning_of(ask));
	if (ask->subject.len) {
		buf_add_text(p->out, "\n");
		l.used = 0;
		put(&l, STR("    "), l.indent);
		set_style(p, "1");
		add_name(&l, ask->subject, LONG_LINES);
		set_style(p, "0");
	}
	end_line(&l);
}

static void add_rule(const struct page *p, const struct ask *ask)
{
	scoped_buf text = BUF_INIT((size_t)16 << 10);

	if (!ask->rule.len)
		return;
	buf_add(&text, str_first(ask->rule, WORDS_BYTES));
	/* The lines of what is built in are in no file that anybody has. */
	if (ask->origin.file && ask->origin.line && strcmp(ask->origin.file, "built-in") != 0)
		buf_printf(&text, " (%s:%u)", ask->origin.file, ask->origin.line);
	else if (ask->origin.file)
		buf_printf(&text, " (%s)", ask->origin.file);
	add_field(p, str_has_prefix(ask->rule, STR("no ")) ? "" : "refused by: ", buf_str(&text));
}

/* How many of them. */
static size_t join_words(struct buf *out, const struct ask *ask)
{
	size_t i = 0;

	for (; i < ask->argv_count && i < MAX_WORDS && out->len < WORDS_BYTES; i++) {
		if (i)
			buf_add_char(out, ' ');
		shell_add_word(out, str_first(ask->argv[i], WORDS_BYTES));
	}
	return i;
}

bool question_shows_command(const struct ask *ask)
{
	scoped_buf text = BUF_INIT((size_t)64 << 10);

	return join_words(&text, ask) == ask->argv_count && text.failed == ERR_OK &&
	       columns_of(buf_str(&text)) <= COMMAND_COLUMNS;
}

static void add_words(const struct page *p, const struct ask *ask)
{
	scoped_buf text = BUF_INIT((size_t)64 << 10);
	struct page whole = *p;
	size_t i = join_words(&text, ask);

	if (ask->kind == ASK_ESCALATE)
		whole.max = COMMAND_LINES;
	add_field(&whole, "command: ", buf_str(&text));
	if (i < ask->argv_count) {
		char more[64];

		(void)snprintf(more, sizeof(more), "    and %zu more words", ask->argv_count - i);
		add_text(p, more);
	}
}

/* The words of them, each behind a blank. */
static void list_scopes(struct buf *out, scope_set scopes, const char *after)
{
	static const enum grant_scope order[] = { SCOPE_ONCE, SCOPE_MINUTES, SCOPE_RUN,
						  SCOPE_SESSION, SCOPE_ALWAYS };

	for (size_t i = 0; i < COUNT_OF(order); i++)
		if (scopes & SCOPE_BIT(order[i]))
			buf_printf(out, " %s%s%s", grant_scope_name(order[i]),
				   order[i] == SCOPE_MINUTES ? ":N" : "", after);
}

static void add_scopes(const struct page *p, scope_set scopes)
{
	scoped_buf text = BUF_INIT(256);

	buf_add_text(&text, "   ");
	list_scopes(&text, scopes, "");
	buf_add_char(&text, '\0');
	if (text.failed == ERR_OK)
		add_text(p, text.p);
}

static void add_entry(const struct page *p, const struct offer *offer)
{
	scoped_buf entry = BUF_INIT((size_t)32 << 10);
	struct str rest, line;
	bool is_first = true;

	if (!(offer->scopes & SCOPE_BIT(SCOPE_ALWAYS)) || !p->look->show_entry)
		return;
	p->look->show_entry(p->look->user, &offer->grant, &entry);
	rest = buf_str(&entry);
	for (int i = 0; i < LONG_LINES && str_next_line(&rest, &line); i++) {
		add_field(p, is_first ? "    always: " : "    ", line);
		is_first = false;
	}
}

static void add_offer(const struct page *p, const struct ask *ask, size_t i)
{
	const struct grant *grant = &ask->offers[i].grant;
	struct lines l;
	char number[8];

	(void)snprintf(number, sizeof(number), "%zu: ", i + 1);
	l = begin_line(p, number);
	if (grant->kind == ASK_WRITE)
		add_wrapped(&l, "write to");
	else if (grant->kind == ASK_ESCALATE)
		add_wrapped(&l, "run it outside the sandbox");
	else
		add_wrapped(&l, "connect to");
	put(&l, STR(" "), 1);
	add_name(&l, grant->subject, p->max);
	if (grant->kind == ASK_WRITE && grant->is_dir)
		add_wrapped(&l, " and all below it");
	end_line(&l);
	add_scopes(p, ask->offers[i].scopes);
	add_entry(p, &ask->offers[i]);
}

void question_add(struct buf *out, const struct ask *ask, const struct question_look *look)
{
	/* A small window shows less of each name, not fewer of them. */
	const struct page p = { .out = out, .look = look, .max = look->rows < 24 ? 1 : 2 };
	char text[320];

	add_title(&p, ask);
	if (!str_eq(ask->named, ask->subject))
		add_field(&p, "named: ", ask->named);
	add_rule(&p, ask);
	add_words(&p, ask);
	add_field(&p, "directory: ", ask->cwd);
	add_field(&p, "the command says: ", ask->reason);
	for (size_t i = 0; i < ask->offer_count && i < ASK_MAX_OFFERS; i++)
		add_offer(&p, ask, i);
	(void)snprintf(text, sizeof(text),
		       "Answer with a word above, or deny, or denyall (deny everything from now "
		       "on).%s Denied if not answered in %llus.",
		       ask->offer_count > 1 ? " If several offers have the word, the first is "
					      "meant; put a number before it for another: "
					      "\"2 run\"."
					    : "",
		       (unsigned long long)((look->left_ms + 999) / 1000));
	add_text(&p, text);
}

/* ---- The answer -------------------------------------------------------------------------------- */

static struct str trim(struct str s)
{
	while (s.len && s.p[0] == ' ')
		s = str_from(s, 1);
	while (s.len && s.p[s.len - 1] == ' ')
		s.len--;
	return s;
}

/* A number of one or two digits and blanks, if there is one; 0: there is none. */
static size_t take_number(struct str *line)
{
	size_t value = 0, i = 0;

	while (i < line->len && i < 3 && ascii_is_digit(line->p[i]))
		value = value * 10 + (size_t)(line->p[i++] - '0');
	if (i == 0 || i >= line->len || line->p[i] != ' ')
		return 0;
	*line = trim(str_from(*line, i));
	return value ? value : SIZE_MAX;
}

/* The narrowest that can be had so. */
static const struct offer *find_offer(const struct ask *ask, enum grant_scope scope)
{
	for (size_t i = 0; i < ask->offer_count; i++)
		if (ask->offers[i].scopes & SCOPE_BIT(scope))
			return &ask->offers[i];
	return NULL;
}

static bool has_scope(const struct ask *ask, enum grant_scope scope)
{
	return find_offer(ask, scope) != NULL;
}

/* Why that scope of that offer (0: of any) can't be had. */
static void explain_scope(const struct ask *ask, size_t number, enum grant_scope scope,
			  struct buf *why)
{
	/* What lasts as long as a run would be had for a session too, if there were one. */
	if (scope == SCOPE_SESSION && !has_scope(ask, scope) && has_scope(ask, SCOPE_RUN))
		buf_add_text(why, "there is no session: start with --session NAME");
	else if (number)
		buf_printf(why, "offer %zu can't be had \"%s\"", number, grant_scope_name(scope));
	else
		buf_printf(why, "no offer can be had \"%s\"", grant_scope_name(scope));
}

void question_explain(const struct ask *ask, struct buf *why)
{
	scope_set scopes = 0;

	for (size_t i = 0; i < ask->offer_count; i++)
		scopes |= ask->offers[i].scopes;
	buf_add_text(why, "that is no answer; write");
	list_scopes(why, scopes, ",");
	buf_add_text(why, " deny or denyall");
}

/* In lower case; "": it is too long for an answer. */
static struct str lower(struct str line, char room[QUESTION_MAX_ANSWER])
{
	if (line.len > QUESTION_MAX_ANSWER)
		return STR_EMPTY;
	for (size_t i = 0; i < line.len; i++)
		room[i] = ascii_lower(line.p[i]);
	return (struct str){ room, line.len };
}

bool question_parse(struct str line, const struct ask *ask, struct answer *out, struct buf *why)
{
	char room[QUESTION_MAX_ANSWER];
	struct str word = lower(trim(line), room);
	size_t number = take_number(&word);
	const struct offer *offer;
	enum grant_scope scope;
	uint32_t minutes;

	if (!number && (str_is(word, "deny") || str_is(word, "denyall"))) {
		*out = (struct answer){ .denies_rest = str_is(word, "denyall"),
					.message = STR_EMPTY,
					.by = "tty" };
		return true;
	}
	if (!grant_lasting_parse(word, &scope, &minutes)) {
		if (str_has_prefix(word, STR("minutes")))
			buf_printf(why, "write the number of minutes so: minutes:10 (1 to %d)",
				   ASK_MAX_MINUTES);
		else
			question_explain(ask, why);
		return false;
	}
	if (number > ask->offer_count || !ask->offer_count) {
		if (number && number < SIZE_MAX)
			buf_printf(why, "there is no offer %zu", number);
		else
			buf_add_text(why, "there is no such offer");
		return false;
	}
	offer = number ? &ask->offers[number - 1] : find_offer(ask, scope);
	if (!offer || !(offer->scopes & SCOPE_BIT(scope))) {
		explain_scope(ask, number, scope, why);
		return false;
	}
	*out = (struct answer){ .is_allow = true,
				.scope = scope,
				.minutes = minutes,
				.grant = offer->grant,
				.message = STR_EMPTY,
				.by = "tty" };
	return true;
}

void question_add_outcome(struct buf *out, const struct answer *answer)
{
	static const char *const words[] = {
#define SCOPE_WORDS(id, name, meaning) [SCOPE_##id] = (meaning),
		GRANT_SCOPES(SCOPE_WORDS)
#undef SCOPE_WORDS
	};

	if (answer->is_allow && answer->scope == SCOPE_MINUTES)
		buf_printf(out, "cordon: allowed, for %u minute%s\n", (unsigned)answer->minutes,
			   answer->minutes == 1 ? "" : "s");
	else if (answer->is_allow)
		buf_printf(out, "cordon: allowed, %s\n", words[answer->scope]);
	else
		buf_printf(out, "cordon: denied%s\n",
			   answer->denies_rest ? ", like all that comes in this run" : "");
}
