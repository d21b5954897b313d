/* SPDX-License-Identifier: MIT */
/* See git_text.h. Works on text only. */
#include "plan/git_text.h"

const char *const git_parts[GIT_PART_COUNT] = {
	"config", "config.worktree", "commondir", "gitdir", "objects/info/alternates", "hooks",
};

static struct str trim_end(struct str s)
{
	while (s.len > 0 && (s.p[s.len - 1] == '\n' || s.p[s.len - 1] == '\r'))
		s.len--;
	return s;
}

bool git_path_parse(struct str text, struct str *path)
{
	struct str found = trim_end(text);

	if (found.len == 0 || str_has_nul(found))
		return false;
	*path = found;
	return true;
}

bool git_pointer_parse(struct str text, struct str *path)
{
	struct str mark = STR("gitdir: ");

	return str_has_prefix(text, mark) && git_path_parse(str_from(text, mark.len), path);
}

static bool is_same_word(struct str a, const char *lower)
{
	if (a.len != strlen(lower))
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.p[i]) != lower[i])
			return false;
	return true;
}

bool git_setting_is_of(const struct git_setting *s, const char *section)
{
	return is_same_word(s->section, section);
}

bool git_setting_is(const struct git_setting *s, const char *section, const char *name)
{
	return s->subsection.len == 0 && is_same_word(s->section, section) &&
	       is_same_word(s->name, name);
}

struct reader {
	struct str text;
	size_t at;
	char *value, *subsection; /* each has room for the whole text, and is reused */
};

/* The next character: '\n' for "\r\n", and 0 at the end, however often it is called there. */
static char peek(const struct reader *r)
{
	struct str rest = str_from(r->text, r->at);

	if (rest.len == 0)
		return '\0';
	return rest.len > 1 && rest.p[0] == '\r' && rest.p[1] == '\n' ? '\n' : rest.p[0];
}

static bool is_end(const struct reader *r)
{
	return r->at >= r->text.len;
}

static char next(struct reader *r)
{
	char c = peek(r);

	if (!is_end(r))
		r->at += r->text.p[r->at] != c ? 2 : 1;
	return c;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_word(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '-';
}

static void skip_blanks(struct reader *r)
{
	while (!is_end(r) && is_blank(peek(r)))
		(void)next(r);
}

static void skip_line(struct reader *r)
{
	while (!is_end(r) && next(r) != '\n')
		;
}

static struct str read_word(struct reader *r, bool with_dots)
{
	size_t from = r->at;

	while (!is_end(r) && (is_word(peek(r)) || (with_dots && peek(r) == '.')))
		r->at++;
	return (struct str){ r->text.p + from, r->at - from };
}

/* Reads what follows the opening quote of [section "…"]. */
static void read_subsection(struct reader *r, struct git_setting *s)
{
	size_t len = 0;

	while (!is_end(r) && peek(r) != '"' && peek(r) != '\n') {
		char c = next(r);

		if (c == '\\' && !is_end(r) && peek(r) != '\n')
			c = next(r);
		r->subsection[len++] = c;
	}
	if (peek(r) == '"')
		(void)next(r);
	s->subsection = (struct str){ r->subsection, len };
}

/* Reads what follows '['. "[a.b]" is an old way to write [a "b"]. */
static void read_section(struct reader *r, struct git_setting *s)
{
	size_t dot;

	s->subsection = STR_EMPTY;
	s->section = read_word(r, true);
	dot = str_find(s->section, '.');
	if (dot < s->section.len) {
		s->subsection = str_from(s->section, dot + 1);
		s->section = str_first(s->section, dot);
	}
	skip_blanks(r);
	if (peek(r) == '"') {
		(void)next(r);
		read_subsection(r, s);
	}
	if (peek(r) == ']')
		(void)next(r);
	else
		skip_line(r);
}

static char unescaped(char c)
{
	switch (c) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	default:
		return c;
	}
}

/*
 * Reads up to the end of the line: quotes, comments and continued lines as git treats them.
 * Unquoted blanks at the start and the end of the value do not count.
 */
static size_t read_value(struct reader *r)
{
	char *out = r->value;
	bool is_quoted = false;
	size_t len = 0;
	size_t kept = 0; /* length without the blanks at the end */

	while (!is_end(r) && peek(r) != '\n') {
		char c = next(r);

		if (!is_quoted && (c == '#' || c == ';')) {
			while (!is_end(r) && peek(r) != '\n')
				(void)next(r);
		} else if (!is_quoted && is_blank(c)) {
			if (len > 0)
				out[len++] = c;
		} else {
			bool is_escape = c == '\\';
			bool is_nothing = is_escape && (is_end(r) || peek(r) == '\n');

			if (is_escape)
				c = unescaped(next(r));
			else if (c == '"')
				is_quoted = !is_quoted;
			if (!is_nothing && (is_escape || c != '"'))
				out[len++] = c;
			kept = len;
		}
	}
	return kept;
}

/* Reads a name, and its value if it has one. */
static bool read_setting(struct reader *r, struct git_setting *s)
{
	s->name = read_word(r, false);
	if (s->name.len == 0) {
		skip_line(r);
		return false;
	}
	skip_blanks(r);
	s->value = STR_EMPTY;
	if (peek(r) == '=') {
		(void)next(r);
		s->value = (struct str){ r->value, read_value(r) };
	}
	skip_line(r);
	return true;
}

int git_config_each(struct arena *a, struct str text,
		    int (*each)(void *arg, const struct git_setting *s, struct err *e), void *arg,
		    struct err *e)
{
	struct str mark = STR("\xef\xbb\xbf"); /* git accepts a byte order mark */
	struct reader r = { .text = text, .at = str_has_prefix(text, mark) ? mark.len : 0 };
	struct git_setting s = { .section = STR_EMPTY, .subsection = STR_EMPTY };
	int result = 0;

	r.value = arena_alloc(a, text.len + 1, e);
	r.subsection = r.value ? arena_alloc(a, text.len + 1, e) : NULL;
	if (!r.subsection)
		return err_result(e);
	while (result == 0 && !is_end(&r)) {
		char c = peek(&r);

		if (c == '\n' || is_blank(c)) {
			(void)next(&r);
		} else if (c == '#' || c == ';') {
			skip_line(&r);
		} else if (c == '[') {
			(void)next(&r);
			read_section(&r, &s);
		} else if (read_setting(&r, &s)) {
			result = each(arg, &s, e);
		}
	}
	return result;
}
