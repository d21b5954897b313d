/* SPDX-License-Identifier: MIT */
/*
 * A profile of sandbox-exec for people: with the paths in the place of its parameters, and with a path or glob in
 * the place of each regex that is every spelling of one. --json has its very text.
 */
#include "backend/seatbelt/seatbelt.h"
#include "report/explain.h"

enum { READABLE_MAX_BYTES = 64 << 10 };

static bool take(struct str *text, struct str word)
{
	if (!str_has_prefix(*text, word))
		return false;
	*text = str_from(*text, word.len);
	return true;
}

/* "[xX]": a letter in either case. */
static bool take_letter(struct str *text, struct buf *out)
{
	if (text->len < 4 || text->p[0] != '[' || text->p[3] != ']' ||
	    (text->p[1] ^ text->p[2]) != ('a' ^ 'A'))
		return false;
	buf_add_char(out, text->p[1]);
	*text = str_from(*text, 4);
	return true;
}

static void add_readable(struct buf *out, struct str regex);

/* "(one|other)": what folds to the first; "(one)": a part of a glob. */
static bool take_group(struct str *text, struct buf *out)
{
	size_t depth = 0, first = 0, end = 0;

	if (text->len == 0 || text->p[0] != '(')
		return false;
	for (; end < text->len; end++) {
		char c = text->p[end];

		if (c == '\\')
			end++;
		else if (c == '(')
			depth++;
		else if (c == '|' && depth == 1 && !first)
			first = end;
		else if (c == ')' && --depth == 0)
			break;
	}
	if (end >= text->len)
		return false;
	add_readable(out, str_from(str_first(*text, first ? first : end), 1));
	*text = str_from(*text, end + 1);
	return true;
}

static void add_readable(struct buf *out, struct str regex)
{
	while (regex.len) {
		if (take(&regex, STR("(/[^/]+)*/")))
			buf_add_text(out, "/**/");
		else if (take(&regex, STR("[^/]*")) || take(&regex, STR("[^/]+")))
			buf_add_char(out, '*');
		else if (take(&regex, STR("[^/]")))
			buf_add_char(out, '?');
		else if (take_letter(&regex, out) || take_group(&regex, out))
			continue;
		else {
			(void)take(&regex, STR("\\"));
			buf_add(out, str_first(regex, 1));
			regex = str_from(regex, 1);
		}
	}
}

static const struct seatbelt_param *find_param(const struct seatbelt *s, struct str name)
{
	for (size_t i = 0; i < s->params.count; i++)
		if (str_eq(s->params.items[i]->name, name))
			return s->params.items[i];
	return NULL;
}

/* (param "NAME") as the path. */
static bool print_param(struct page *p, const struct seatbelt *s, struct str *line)
{
	struct str rest = *line, name;
	const struct seatbelt_param *param;

	if (!take(&rest, STR("(param \"")))
		return false;
	name = str_first(rest, str_find(rest, '"'));
	param = find_param(s, name);
	rest = str_from(rest, name.len);
	if (!param || !take(&rest, STR("\")")))
		return false;
	page_str(p, param->value);
	*line = rest;
	return true;
}

/* regex #"^…$" of a path and what is below it. */
static bool print_regex(struct page *p, struct str *line)
{
	static const char below[] = "(/[^/]+)*$";
	scoped_buf text = BUF_INIT(READABLE_MAX_BYTES);
	struct str rest = *line, regex;

	if (!take(&rest, STR("(regex #\"^/")))
		return false;
	regex = str_first(rest, str_find(rest, '"'));
	rest = str_from(rest, regex.len);
	if (!str_has_suffix(regex, str_of(below)) || !take(&rest, STR("\")")))
		return false;
	add_readable(&text, str_first(regex, regex.len - (sizeof(below) - 1)));
	if (text.failed)
		return false;
	page_text(p, "(like /");
	page_str(p, buf_str(&text));
	page_text(p, ")");
	*line = rest;
	return true;
}

static void print_line(struct page *p, const struct seatbelt *s, struct str line)
{
	page_text(p, "  ");
	while (line.len) {
		size_t plain = str_find(line, '(');

		page_str(p, str_first(line, plain));
		line = str_from(line, plain);
		if (!line.len || print_param(p, s, &line) || print_regex(p, &line))
			continue;
		page_text(p, "(");
		line = str_from(line, 1);
	}
	page_text(p, "\n");
}

void explain_print_profile(struct page *p, const struct seatbelt *s)
{
	struct str text = s->profile;

	page_text(p, "\nthe profile that /usr/bin/sandbox-exec would get, with paths in the place "
		     "of parameters;\n"
		     "'like' is a regex for every spelling of that path or glob; --json has the "
		     "exact text\n");
	while (text.len) {
		struct str line = str_first(text, str_find(text, '\n'));

		print_line(p, s, line);
		text = str_from(text, MIN_OF(line.len + 1, text.len));
	}
}
