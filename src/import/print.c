/* SPDX-License-Identifier: MIT */
/* A profile from resolved rules: a line for each, with the place that it comes from. */
#include "base/toml.h"
#include "base/utf8.h"
#include "import/rules.h"

enum { TEXT_MAX_BYTES = 8 << 20, COMMENT_MAX_BYTES = 200 };

struct line {
	struct key_text key;
	enum { LINE_DENY, LINE_READ, LINE_WRITE } access; /* the lesser wins */
	const struct path_rule *rule;			  /* NULL: what holds anyway */
};

typedef VEC(struct line) line_list;

/* Nothing in `text` ends the line, and nobody reads something else than is there. */
void comment_add(struct buf *b, struct str text)
{
	struct str cut = str_first(text, COMMENT_MAX_BYTES);

	/* Not in the middle of a character. */
	while (cut.len < text.len && cut.len > 0 && (text.p[cut.len] & 0xc0) == 0x80)
		cut.len--;
	utf8_add_shown(b, cut);
	if (cut.len < text.len)
		buf_add_text(b, "...");
}

void comment_add_origin(struct buf *b, struct origin origin)
{
	if (!origin.file)
		return;
	comment_add(b, str_of(origin.file));
	buf_printf(b, ":%u", (unsigned)origin.line);
}

void comment_add_head(struct buf *b, const struct rules *r)
{
	buf_printf(b,
		   "# Made by 'cordon import %s'. Each line says where it comes from. Nothing here "
		   "opens a file or a\n# host that the original closes; docs/migrating.md has what "
		   "that means.\n",
		   r->tool);
	if (r->has_commands)
		buf_add_text(b,
			     "# The exception: rules for commands and MCP tools are not carried "
			     "over, so a command that one of\n# them denies, or asks about, runs "
			     "here, with what the lines below let it touch.\n");
	if (r->out->directory.len) {
		buf_add_text(b, "#\n# It is for commands that are started in ");
		comment_add(b, r->out->directory);
		buf_add_text(b, ":\n# there it is known that what a rule closes is not in what "
				"another opens.\n");
	}
}

void comment_add_notes(struct buf *b, const struct imported *im)
{
	if (!im->notes.count)
		return;
	buf_add_text(b, "#\n# Not carried over, or not as it was:\n");
	for (size_t i = 0; i < im->notes.count; i++) {
		const struct import_note *note = &im->notes.items[i];

		buf_add_text(b, "#   ");
		comment_add_origin(b, note->origin);
		buf_add_text(b, note->origin.file ? ": " : "");
		comment_add(b, note->text);
		buf_add_char(b, '\n');
	}
}

static int add_line(struct rules *r, line_list *lines, struct line line, struct err *e)
{
	struct line *added;

	for (size_t i = 0; i < lines->count; i++) {
		struct line *other = &lines->items[i];

		if (!str_eq(other->key.table, line.key.table) ||
		    !str_eq(other->key.key, line.key.key))
			continue;
		if (line.access < other->access)
			*other = line;
		return 0;
	}
	added = VEC_PUSH(r->a, lines, e);
	if (!added)
		return err_result(e);
	*added = line;
	return 0;
}

static int add_rule(struct rules *r, line_list *lines, const struct path_rule *p, struct err *e)
{
	struct line line = { .rule = p };

	if (p->is_gone) {
		if (p->origin.file && p->why && !p->is_needless)
			return rules_note(r, p->origin, e, "\"%.*s\": %s", STR_ARG(p->text),
					  p->why);
		return 0;
	}
	line.access = p->kind == RULE_WRITE				 ? LINE_WRITE
		      : p->kind == RULE_READ || p->kind == RULE_NO_WRITE ? LINE_READ
									 : LINE_DENY;
	if (key_text(r->a, p->base, p->path, p->glob, &line.key, e) < 0)
		return err_wrap_place(e, p->origin);
	if (utf8_check(line.key.key) < line.key.key.len)
		return FAIL_AT(e, ERR_POLICY, p->origin,
			       "'%.*s' is not UTF-8, so no key can name it", STR_ARG(line.key.key));
	return add_line(r, lines, line, e);
}

static void print_line(struct buf *b, const struct rules *r, const struct line *line)
{
	static const char *const names[] = { "deny", "read", "write" };

	toml_add_key(b, line->key.key);
	buf_printf(b, " = \"%s\" # ", names[line->access]);
	if (!line->rule) {
		comment_add_origin(b, r->reads_origin);
		buf_add_text(b, r->reads_little ? " only what programs need to start"
						: "what nothing else speaks of can be read");
	} else if (!line->rule->origin.file && line->rule->kind == RULE_NOTHING &&
		   r->keeps_git_open) {
		/* rules_add_mandatory() */
		buf_printf(b, "%s closes these for writing; a pattern closes reading, too",
			   r->tool);
	} else if (!line->rule->origin.file) {
		buf_printf(b, "what %s does by itself", r->tool);
	} else {
		comment_add_origin(b, line->rule->origin);
		buf_add_char(b, ' ');
		comment_add(b, line->rule->text);
	}
	buf_add_char(b, '\n');
}

static void print_tables(struct buf *b, const struct rules *r, const line_list *lines)
{
	bool has_relative = false;

	buf_printf(b, "\n[permissions.%s.filesystem]\n", r->tool);
	for (size_t i = 0; i < lines->count; i++) {
		if (!lines->items[i].key.table.len)
			print_line(b, r, &lines->items[i]);
		else
			has_relative = true;
	}
	if (!has_relative)
		return;
	buf_printf(b, "\n[permissions.%s.filesystem.\":workspace_roots\"]\n", r->tool);
	for (size_t i = 0; i < lines->count; i++)
		if (lines->items[i].key.table.len)
			print_line(b, r, &lines->items[i]);
}

static void print_needless(struct buf *b, const struct rules *r)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *p = &r->paths.items[i];

		if (!p->is_needless || !p->origin.file)
			continue;
		buf_add_text(b, "# no line for ");
		comment_add_origin(b, p->origin);
		buf_add_char(b, ' ');
		comment_add(b, p->text);
		buf_printf(b, ": %s\n", p->why);
	}
}

static int print_paths(struct rules *r, struct buf *b, line_list *lines, struct err *e)
{
	struct line first = { .access = LINE_READ };

	first.key.table = STR_EMPTY;
	first.key.key = r->reads_little ? STR(":minimal") : STR(":root");
	if (add_line(r, lines, first, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < r->paths.count; i++)
		if (add_rule(r, lines, &r->paths.items[i], e) < 0)
			return err_result(e);
	print_tables(b, r, lines);
	print_needless(b, r);
	return 0;
}

/* ---- The network ------------------------------------------------------------ */

static bool is_denied(const struct rules *r, const struct host_rule *allow)
{
	for (size_t i = 0; i < r->hosts.count; i++)
		if (!r->hosts.items[i].is_allow &&
		    domain_is_within(&allow->domain, &r->hosts.items[i].domain))
			return true;
	return false;
}

static bool is_denied_port(const struct rules *r, uint32_t port)
{
	for (size_t i = 0; i < r->hosts.count; i++) {
		const struct host_rule *h = &r->hosts.items[i];

		if (!h->is_allow && h->domain.kind == DOMAIN_ANY && port >= h->domain.port_first &&
		    port <= h->domain.port_last)
			return true;
	}
	return false;
}

struct host_line {
	struct str key;
	const struct host_rule *rule;
};
typedef VEC(struct host_line) host_list;

static int add_host_line(struct rules *r, host_list *lines, struct str key,
			 const struct host_rule *rule, struct err *e)
{
	struct host_line *added;

	for (size_t i = 0; i < lines->count; i++)
		if (str_eq(lines->items[i].key, key))
			return 0;
	added = VEC_PUSH(r->a, lines, e);
	if (!added)
		return err_result(e);
	*added = (struct host_line){ key, rule };
	return 0;
}

/* What remains of the ports when "*:22" is denied, which no key can say. */
static int add_ports(struct rules *r, host_list *lines, const struct host_rule *h, struct err *e)
{
	uint32_t first = MAX_OF(h->domain.port_first, 1), last = h->domain.port_last;

	while (first <= last) {
		struct domain some;
		uint32_t end = first;

		if (is_denied_port(r, first)) {
			first++;
			continue;
		}
		while (end < last && !is_denied_port(r, end + 1))
			end++;
		if (domain_limit_ports(r->a, &h->domain, (uint16_t)first, (uint16_t)end, &some, e) <
			    0 ||
		    add_host_line(r, lines, some.text, h, e) < 0)
			return err_result(e);
		first = end + 1;
	}
	return 0;
}

static int find_hosts(struct rules *r, host_list *lines, size_t *allowed, struct err *e)
{
	/* Denies first: of two lines with one key the first stays. */
	for (size_t i = 0; i < r->hosts.count; i++) {
		const struct host_rule *h = &r->hosts.items[i];

		if (!h->is_allow && h->domain.kind != DOMAIN_ANY &&
		    add_host_line(r, lines, h->domain.text, h, e) < 0)
			return err_result(e);
	}
	*allowed = lines->count;
	for (size_t i = 0; i < r->hosts.count; i++) {
		const struct host_rule *h = &r->hosts.items[i];
		int n = 0;

		if (!h->is_allow || is_denied(r, h))
			continue;
		n = r->has_denied_port ? add_ports(r, lines, h, e)
				       : add_host_line(r, lines, h->domain.text, h, e);
		if (n < 0)
			return n;
	}
	*allowed = lines->count - *allowed;
	return 0;
}

/* Hosts that a file allows, and a deny of all of them takes back. */
static int note_hosts_off(struct rules *r, struct err *e)
{
	for (size_t i = 0; r->network_is_off && i < r->hosts.count; i++) {
		const struct host_rule *h = &r->hosts.items[i];

		if (h->is_allow &&
		    rules_note(r, h->origin, e,
			       "the host \"%.*s\" is left out: the network is off, "
			       "because %s:%u denies \"%.*s\"",
			       STR_ARG(h->text), r->off_origin.file, (unsigned)r->off_origin.line,
			       STR_ARG(r->off_text)) < 0)
			return err_result(e);
	}
	return 0;
}

static void print_off(struct buf *b, const struct rules *r)
{
	buf_add_text(b, "enabled = false # ");
	if (!r->network_is_off) {
		buf_add_text(b, "no host is allowed\n");
		return;
	}
	buf_add_text(b, "off, because ");
	comment_add_origin(b, r->off_origin);
	buf_add_text(b, " denies ");
	comment_add(b, r->off_text);
	buf_add_char(b, '\n');
}

static int print_network(struct rules *r, struct buf *b, struct err *e)
{
	host_list lines = { 0 };
	size_t allowed = 0;

	if (note_hosts_off(r, e) < 0 ||
	    (!r->network_is_off && find_hosts(r, &lines, &allowed, e) < 0))
		return err_result(e);
	buf_printf(b, "\n[permissions.%s.network]\n", r->tool);
	if (!allowed) {
		print_off(b, r);
		return 0;
	}
	buf_printf(b, "enabled = true\n\n[permissions.%s.network.domains]\n", r->tool);
	for (size_t i = 0; i < lines.count; i++) {
		const struct host_rule *h = lines.items[i].rule;

		toml_add_key(b, lines.items[i].key);
		buf_printf(b, " = \"%s\" # ", h->is_allow ? "allow" : "deny");
		comment_add_origin(b, h->origin);
		buf_add_char(b, ' ');
		comment_add(b, h->text);
		buf_add_char(b, '\n');
	}
	return 0;
}

/* ---- All together ----------------------------------------------------------- */

static void print_environment(const struct rules *r, struct buf *b)
{
	if (!r->withheld.count && !r->temporary.len)
		return;
	buf_printf(b, "\n[permissions.%s.environment]\n", r->tool);
	if (r->temporary.len) {
		buf_add_text(b, "set = { TMPDIR = ");
		toml_add_string(b, r->temporary);
		buf_printf(b, " } # as %s does\n", r->tool);
	}
	if (!r->withheld.count)
		return;
	buf_add_text(b, "exclude = [\n");
	for (size_t i = 0; i < r->withheld.count; i++) {
		buf_add_char(b, '\t');
		toml_add_string(b, r->withheld.items[i].name);
		buf_add_text(b, ", # ");
		comment_add_origin(b, r->withheld.items[i].origin);
		buf_add_char(b, '\n');
	}
	buf_add_text(b, "]\n");
}

/* P10: what srt leaves open in a repository, which here is a choice. */
static void print_git(const struct rules *r, struct buf *b)
{
	if (r->keeps_git_open)
		buf_printf(b, "# git = \"commit\" # commits work then, as they do under %s\n",
			   r->tool);
}

int rules_print(struct rules *r, struct err *e)
{
	scoped_buf body = BUF_INIT(TEXT_MAX_BYTES), text = BUF_INIT(TEXT_MAX_BYTES);
	line_list lines = { 0 };

	r->out->profile = str_of(r->tool);
	if (r->is_anchored)
		r->out->directory = r->host->directory;
	if (print_paths(r, &body, &lines, e) < 0 || print_network(r, &body, e) < 0)
		return err_result(e);
	print_environment(r, &body);
	comment_add_head(&text, r);
	comment_add_notes(&text, r->out);
	buf_printf(&text, "\ndefault_permissions = \"%s\"\n\n[permissions.%s]\n", r->tool, r->tool);
	buf_printf(&text, "description = \"imported from %s\"\n", r->tool);
	print_git(r, &text);
	buf_add(&text, buf_str(&body));
	if (buf_check(&body, e) < 0 || buf_check(&text, e) < 0)
		return err_result(e);
	return arena_copy(r->a, buf_str(&text), &r->out->text, e);
}
