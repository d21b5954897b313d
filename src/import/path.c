/* SPDX-License-Identifier: MIT */
/*
 * Paths and globs of other tools, taken apart. A glob that means something else here becomes one that covers
 * more, which is right for a deny; for an allow there is none then.
 */
#include "base/path.h"
#include "base/glob.h"
#include "import/rules.h"

enum { CROSSING_MAX = 3 };

/* What is built up of one path. */
struct parts {
	struct buf literal, glob; /* of components, each with a '/' before it */
	size_t ups;		  /* how often it leaves its base */
	bool has_glob;
	bool is_rough; /* the glob covers more than it says */
	bool is_done;  /* ... and all below that */
};

static void parts_done(struct parts *p)
{
	buf_done(&p->literal);
	buf_done(&p->glob);
}

static void add_part(struct buf *b, struct str part)
{
	if (b->len)
		buf_add_char(b, '/');
	buf_add(b, part);
}

/* The length of a class of letters and digits that means the same everywhere, or 0. */
static size_t class_length(struct str s)
{
	size_t i = 1;

	for (; i < s.len && s.p[i] != ']'; i++) {
		char c = s.p[i];
		bool is_plain = ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || c == '.';

		if (c == '-' && i > 1 && i + 1 < s.len && s.p[i + 1] != ']') {
			bool is_range = s.p[i - 1] <= s.p[i + 1] && s.p[i - 1] != '-';

			if (is_range)
				continue;
		}
		if (!is_plain)
			return 0;
	}
	return i < s.len && i > 1 ? i + 1 : 0;
}

static void add_escaped(struct buf *b, char c)
{
	if (c == '*' || c == '?' || c == '[' || c == '{' || c == '\\' || c == ']' || c == '}' ||
	    c == ',')
		buf_add_char(b, '\\');
	buf_add_char(b, c);
}

/* A component, or a piece of one, with '*', '?' or a class in it. */
static void add_piece(struct parts *p, struct str part, bool begins)
{
	bool is_rough = false;

	if (begins && p->glob.len)
		buf_add_char(&p->glob, '/');
	for (size_t i = 0; i < part.len && !is_rough; i++) {
		size_t class = part.p[i] == '[' ? class_length(str_from(part, i)) : 0;
		char c = part.p[i];

		if (class) {
			struct str set = str_first(str_from(part, i), class);

			/* It may be meant as a name, too. */
			buf_add_char(&p->glob, '{');
			buf_add(&p->glob, set);
			buf_add_char(&p->glob, ',');
			for (size_t k = 0; k < set.len; k++)
				add_escaped(&p->glob, set.p[k]);
			buf_add_char(&p->glob, '}');
			i += class - 1;
		} else if (c == '*' && i + 1 < part.len && part.p[i + 1] == '*') {
			is_rough = true;
		} else if (c == '*') {
			buf_add_char(&p->glob, c);
		} else if (c == '?') {
			/* One character of theirs may be several bytes. */
			buf_add_text(&p->glob, "?*");
			p->is_rough = true;
		} else if (c == '[' || c == '{' || c == '}' || c == '\\') {
			is_rough = true;
		} else {
			add_escaped(&p->glob, c);
		}
	}
	if (is_rough) {
		/* From here on whatever is there. */
		buf_add_char(&p->glob, '*');
		p->is_rough = p->is_done = true;
	}
}

static void add_pattern(struct parts *p, struct str part)
{
	add_piece(p, part, true);
}

/* Where '*' also stands for a '/'. */
static void add_crossing(struct parts *p, struct str part)
{
	size_t stars = 0, from = 0;

	for (size_t i = 0; i < part.len; i++)
		stars += part.p[i] == '*';
	if (part.p[0] == '*' && stars == 1) {
		add_part(&p->glob, STR("**"));
		add_pattern(p, part);
		return;
	}
	if (stars > CROSSING_MAX) {
		p->is_rough = true;
		add_pattern(p, STR("**x"));
		return;
	}
	while (from < part.len && !p->is_done) {
		struct str rest = str_from(part, from);
		struct str piece = str_first(rest, str_find(rest, '*'));

		if (piece.len || !from)
			add_piece(p, piece, from == 0);
		from += piece.len + 1;
		if (from <= part.len && !p->is_done)
			buf_add_text(&p->glob, "{*,*/**/*}");
	}
}

static void leave_last(struct parts *p)
{
	struct str literal = buf_str(&p->literal);
	size_t at = literal.len;

	if (!at) {
		p->ups++;
		return;
	}
	while (at > 0 && literal.p[at - 1] != '/')
		at--;
	p->literal.len = at ? at - 1 : 0;
}

static void add_component(struct parts *p, struct str part, enum rule_syntax syntax)
{
	bool is_special = syntax != SYNTAX_LITERAL &&
			  (str_find(part, '*') < part.len || str_find(part, '?') < part.len ||
			   str_find(part, '[') < part.len || str_find(part, '{') < part.len ||
			   str_find(part, '\\') < part.len);

	if (p->is_done || str_is(part, ".") || !part.len)
		return;
	if (str_is(part, "..") && p->has_glob) {
		/* Above a pattern there may be anything. */
		add_part(&p->glob, STR("**"));
		p->is_rough = p->is_done = true;
	} else if (str_is(part, "..")) {
		leave_last(p);
	} else if (!is_special && !p->has_glob) {
		add_part(&p->literal, part);
	} else {
		p->has_glob = true;
		if (str_is(part, "**") || (syntax == SYNTAX_CROSSING && str_is(part, "*")))
			add_part(&p->glob, STR("**"));
		else if (syntax == SYNTAX_CROSSING)
			add_crossing(p, part);
		else
			add_pattern(p, part);
	}
}

/* "x/" and "**" is the subtree x, as a pattern that ends in more than one of them. */
static void cut_subtree(struct buf *glob)
{
	for (;;) {
		struct str s = buf_str(glob);

		if (str_is(s, "**"))
			glob->len = 0;
		else if (str_has_suffix(s, STR("/**")))
			glob->len -= 3;
		else
			return;
	}
}

static int find_base(struct rules *r, struct parts *p, struct path_rule *rule, struct err *e)
{
	const struct import_host *host = r->host;
	struct str start = rule->base == BASE_HOME ? host->home : host->directory;
	scoped_buf way = BUF_INIT(PATH_MAX_BYTES * 4);

	if (rule->base == BASE_HOME && !host->home.len)
		return FAIL_AT(e, ERR_ARGUMENT, rule->origin,
			       "what '~' means is not known, as $HOME is not set");
	if (rule->base == BASE_ROOT || !p->ups) {
		if (rule->base == BASE_ROOT)
			return path_plain(r->a, STR("/"), buf_str(&p->literal), &rule->path, e);
		return arena_copy(r->a, buf_str(&p->literal), &rule->path, e);
	}
	for (size_t i = 0; i < p->ups; i++)
		buf_add_text(&way, "../");
	buf_add(&way, buf_str(&p->literal));
	if (buf_check(&way, e) < 0 || path_plain(r->a, start, buf_str(&way), &rule->path, e) < 0)
		return err_result(e);
	if (rule->base == BASE_HOME)
		rule->base = BASE_ROOT;
	else
		rule->leaves = true;
	return 0;
}

static const char *kind_name(enum rule_kind kind)
{
	return kind == RULE_WRITE ? "writing" : "reading";
}

static int store(struct rules *r, struct parts *p, struct path_rule *rule, struct err *e)
{
	bool is_allow = rule->kind == RULE_WRITE || rule->kind == RULE_READ;
	struct path_rule *added;

	cut_subtree(&p->glob);
	if (buf_check(&p->literal, e) < 0 || buf_check(&p->glob, e) < 0 ||
	    find_base(r, p, rule, e) < 0 || arena_copy(r->a, buf_str(&p->glob), &rule->glob, e) < 0)
		return err_wrap_place(e, rule->origin);
	if (is_allow && (rule->glob.len || p->is_done))
		return rules_note(r, rule->origin, e,
				  "\"%.*s\" allows %s by a pattern, and here patterns only deny",
				  STR_ARG(rule->text), kind_name(rule->kind));
	if (p->is_rough) {
		int n = rules_note(r, rule->origin, e,
				   "\"%.*s\" means something else here, so more is denied",
				   STR_ARG(rule->text));

		if (n < 0)
			return n;
	}
	added = VEC_PUSH(r->a, &r->paths, e);
	if (!added)
		return err_result(e);
	*added = *rule;
	return 0;
}

int rules_add_path(struct rules *r, enum rule_kind kind, enum rule_base base, struct str path,
		   enum rule_syntax syntax, struct str text, struct origin origin, struct err *e)
{
	struct path_rule rule = { .kind = kind, .base = base, .text = text, .origin = origin };
	SCOPED(parts_done)
	struct parts p = { .literal = BUF_INIT(PATH_MAX_BYTES * 2),
			   .glob = BUF_INIT(GLOB_MAX_BYTES) };
	size_t at = 0;

	if (str_has_nul(path))
		return FAIL_AT(e, ERR_POLICY, origin, "a path can't contain a NUL");
	while (at <= path.len) {
		struct str rest = str_from(path, at);
		struct str part = str_first(rest, str_find(rest, '/'));

		add_component(&p, part, syntax);
		at += part.len + 1;
	}
	return store(r, &p, &rule, e);
}

int rules_add_text(struct rules *r, enum rule_kind kind, struct str text, enum rule_syntax syntax,
		   struct origin origin, struct err *e)
{
	if (str_is(text, "~") || str_has_prefix(text, STR("~/")))
		return rules_add_path(r, kind, BASE_HOME, str_from(text, 1), syntax, text, origin,
				      e);
	return rules_add_path(r, kind, str_has_prefix(text, STR("/")) ? BASE_ROOT : BASE_WORKSPACE,
			      text, syntax, text, origin, e);
}

int key_text(struct arena *a, enum rule_base base, struct str path, struct str glob,
	     struct key_text *out, struct err *e)
{
	struct str escaped;

	out->table = STR_EMPTY;
	if (glob_escape(a, path, &escaped, e) < 0)
		return err_result(e);
	if (base == BASE_ROOT && str_is(path, "/") && !glob.len)
		return arena_copy(a, STR(":root"), &out->key, e);
	if (base == BASE_WORKSPACE) {
		out->table = STR(":workspace_roots");
		if (!path.len && !glob.len)
			out->key = STR(".");
		else if (arena_printf(a, &out->key, e, "%.*s%s%.*s", (int)escaped.len, escaped.p,
				      path.len && glob.len ? "/" : "", (int)glob.len, glob.p) < 0)
			return err_result(e);
		return 0;
	}
	if (base == BASE_HOME)
		return arena_printf(a, &out->key, e, "~%s%.*s%s%.*s", path.len ? "/" : "",
				    (int)escaped.len, escaped.p, glob.len ? "/" : "", (int)glob.len,
				    glob.p);
	return arena_printf(a, &out->key, e, "%.*s%s%.*s", (int)escaped.len, escaped.p,
			    glob.len && !str_is(path, "/") ? "/" : "", (int)glob.len, glob.p);
}
