/* SPDX-License-Identifier: MIT */
/* The answer of `why` as text, rendered from its tree: of a path, a socket or a host. */
#include "base/utf8.h"
#include "report/rules.h"
#include "report/suggestion.h"

static bool is(const struct json *object, const char *name, const char *value)
{
	return str_is(value_str(object, name), value);
}

static enum style answer_style(struct str answer)
{
	if (str_is(answer, "deny"))
		return STYLE_BAD;
	return str_is(answer, "allow") || str_is(answer, "write") ? STYLE_GOOD : STYLE_CAREFUL;
}

/* "deny", "read", "write", "allow" or "ask", five columns wide. */
static void add_answer(struct page *p, const struct json *object)
{
	struct str answer = value_str(object, "access");

	if (!answer.len)
		answer = value_str(object, "decision");
	page_style(p, answer_style(answer), "%-5.*s", STR_ARG(answer));
}

static void add_rule(struct page *p, const struct json *rule, size_t width)
{
	struct str note = value_str(rule, "note");

	page_text(p, "  ");
	add_answer(p, rule);
	page_text(p, "  ");
	page_column(p, value_str(rule, "key"), width);
	page_text(p, "  ");
	page_str(p, note);
	page_text(p, note.len && value_str(rule, "file").len ? "  " : "");
	page_place(p, value_str(rule, "file"), value_int(rule, "line"));
	page_line(p);
}

/* The rule that decided, and those that it won over. */
static void add_rules(struct page *p, const struct json *rule, const struct json *root,
		      size_t lost_count)
{
	size_t width = utf8_shown_width(value_str(rule, "key"));

	for (size_t i = 0; i < lost_count; i++)
		width = MAX_OF(width,
			       utf8_shown_width(value_str(value_item(root, "lost", i), "key")));
	page_style(p, STYLE_TITLE, "\ndecided by\n");
	add_rule(p, rule, width);
	if (lost_count)
		page_style(p, STYLE_TITLE, "over\n");
	for (size_t i = 0; i < lost_count; i++)
		add_rule(p, value_item(root, "lost", i), width);
}

/* ---- Suggestions ------------------------------------------------------------------------ */

/* Each line of `toml` on a line of its own, indented so that it stands out. */
static void add_toml(struct page *p, struct str toml)
{
	while (toml.len) {
		struct str line = str_first(toml, str_find(toml, '\n'));

		page_text(p, line.len ? "    " : "");
		page_str(p, line);
		page_line(p);
		toml = str_from(toml, line.len + 1);
	}
}

static void add_suggestion(struct page *p, const struct json *suggestion)
{
	struct str toml = value_str(suggestion, "toml"), top = value_str(suggestion, "toml_top");

	page_text(p, is(suggestion, "scope", "run") ? "  for one run: " : "  ");
	page_str(p, value_str(suggestion, "text"));
	page_line(p);
	if (toml.len || top.len)
		page_line(p);
	if (top.len) {
		add_toml(p, top);
		page_line(p);
	}
	add_toml(p, toml);
}

static const char *suggestion_title(const struct json *root)
{
	if (is(root, "wanted", "allow"))
		return "to allow it\n";
	if (is(root, "wanted", "deny"))
		return "to deny it\n";
	if (is(root, "wanted", "read"))
		return is(root, "access", "write") ? "to make it read-only\n"
						   : "to make it readable\n";
	/* Where nothing makes it readable alone, the suggestion gives more. */
	return is(root, "access", "deny") && !is(root, "question", "write")
		       ? "to make it readable, and writable\n"
		       : "to make it writable\n";
}

static void add_suggestions(struct page *p, const struct json *root)
{
	size_t count = value_count(root, "suggestions");
	struct str why_not = value_str(root, "why_not");

	page_style(p, STYLE_TITLE, "%s", suggestion_title(root));
	for (size_t i = 0; i < count; i++) {
		/* No rule applies to a run's loopback. */
		if (i == 1 && value_bool(root, "loopback"))
			page_text(p, "  for 'cordon proxy' alone, which is no run:\n");
		add_suggestion(p, value_item(root, "suggestions", i));
	}
	if (why_not.len) {
		page_text(p, "  can't be changed: ");
		page_str(p, why_not);
		page_line(p);
	}
}

/* ---- Answers ---------------------------------------------------------------------------- */

static const char *path_answer(const struct json *root)
{
	if (is(root, "access", "deny"))
		return "no, it is denied: ";
	if (!value_bool(root, "answer"))
		return "no, it may only be read: ";
	return is(root, "question", "write") ? "yes, it may be written: " : "yes, it may be read: ";
}

static void add_path(struct page *p, const struct json *root, bool is_socket)
{
	struct str link = value_str(root, "via_link"), inside = value_str(root, "inside");

	if (value_str(root, "question").len) {
		page_style(p, value_bool(root, "answer") ? STYLE_GOOD : STYLE_BAD, "%s",
			   path_answer(root));
	} else {
		add_answer(p, root);
		page_text(p, "  ");
	}
	page_str(p, value_str(root, "path"));
	page_line(p);
	if (link.len || value_bool(root, "crossed_links")) {
		page_text(p, link.len ? "  reached through the link "
				      : "  reached through a link in ");
		page_str(p, link.len ? link : value_str(root, "asked"));
		page_line(p);
	}
	if (is(root, "type", "missing"))
		page_text(p, "  it does not exist\n");
	if (is(root, "type", "hidden"))
		page_text(p, "  it is in a directory that you may not search\n");
	if (inside.len) {
		page_text(p, "  ");
		page_str(p, inside);
		page_line(p);
	}
	if (is_socket)
		page_text(p, "  it is a socket: to connect to it, the network has to allow it as "
			     "well\n");
}

static void render_path(struct page *p, const struct json *root)
{
	const struct json *socket = json_find(root, "connect");
	bool is_socket = socket->type == JSON_OBJECT;

	/* Unless the question is about the file, it is whether a command may connect. */
	if (is_socket && !value_str(root, "question").len && !is(root, "access", "deny")) {
		add_answer(p, socket);
		page_text(p, "  connecting to ");
		page_str(p, value_str(root, "path"));
		page_printf(
			p,
			"\n  it is a socket; as a file it may be %s, which opens no connection\n",
			is(root, "access", "write") ? "written" : "read");
		add_rules(p, socket, root, 0);
	} else {
		add_path(p, root, is_socket && !is(socket, "decision", "allow"));
		add_rules(p, json_find(root, "rule"), root, value_count(root, "lost"));
	}
}

static void render_host(struct page *p, const struct json *root)
{
	add_answer(p, root);
	page_text(p, "  host ");
	page_str(p, value_str(root, "host"));
	if (value_int(root, "port"))
		page_printf(p, " port %lld", (long long)value_int(root, "port"));
	page_line(p);
	if (value_bool(root, "is_file_too")) {
		page_text(p, "       a file of this name is here: 'cordon why ./");
		page_str(p, value_str(root, "asked"));
		page_text(p, "' asks about it\n");
	}
	/* The answer is for all ports at once; for one of them it may be another. */
	for (size_t i = 0; i < value_count(root, "ports"); i++) {
		const struct json *rule = value_item(root, "ports", i);

		page_text(p, i ? ", " : "       on all ports; some have rules of their own: ");
		page_str(p, value_str(rule, "decision"));
		page_text(p, " ");
		page_str(p, value_str(rule, "pattern"));
	}
	if (value_count(root, "ports"))
		page_line(p);
	if (value_str(root, "caveat").len) {
		page_text(p, "       ");
		page_str(p, value_str(root, "caveat"));
		page_line(p);
	}
	add_rules(p, json_find(root, "rule"), root, value_count(root, "lost"));
}

void why_render(struct page *p, const struct json *root)
{
	if (is(root, "kind", "host"))
		render_host(p, root);
	else
		render_path(p, root);
	add_suggestions(p, root);
}
