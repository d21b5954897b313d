/* SPDX-License-Identifier: MIT */
/* See guess.h. */
#include "session/guess.h"

#include <errno.h>

#include "base/path.h"

enum {
	GUESSES_MAX = 20,
	TRIES_MAX = 500,	    /* names that are looked for on the host */
	OUTPUT_MAX_BYTES = 1 << 20, /* its end: there a command says why it failed */
	SCRATCH_MAX_BYTES = 64 << 20,
};

static const struct marker {
	struct str text;
	int os_error;
} markers[] = {
	{ STR_INIT("permission denied"), EACCES },
	{ STR_INIT("operation not permitted"), EPERM },
	{ STR_INIT("read-only file system"), EROFS },
};

struct guessing {
	const struct guess_request *in;
	struct denials *denials;
	int os_error; /* of the line */
	size_t tries, made;
};

/* ---- Whether a path was refused ------------------------------------------------------------ */

static bool is_spelled_out(struct str text)
{
	return str_has_prefix(text, STR("/")) || str_has_prefix(text, STR("./")) ||
	       str_has_prefix(text, STR("../"));
}

static bool has_denial(const struct guessing *g, struct str path)
{
	for (size_t i = 0; i < g->denials->items.count; i++)
		if (str_eq(g->denials->items.items[i].subject, path))
			return true;
	return false;
}

static bool has_write_error(const struct guessing *g)
{
	return (g->os_error == EROFS) == g->in->has_mounts;
}

/* False: the plan refuses nothing there that would give this error, or the host refuses it as well. */
static bool find_operation(const struct guessing *g, const struct located *at,
			   const struct verdict *verdict, enum operation *out)
{
	bool is_missing = at->type == HOST_MISSING;
	bool is_unnamed = g->in->naming == NAMING_OFF;
	struct str place = is_missing ? path_parent(at->path) : at->path;
	scoped_buf name = BUF_INIT((size_t)PATH_MAX_BYTES + 1);

	buf_add(&name, place);
	buf_add_char(&name, '\0');
	if (name.failed != ERR_OK)
		return false;
	if (verdict->access == ACCESS_DENY && !is_missing && g->os_error != EROFS) {
		*out = OPERATION_READ;
		return g->in->host_allows(name.p, false);
	}
	*out = is_missing ? OPERATION_CREATE : OPERATION_OPEN_WRITE;
	return is_unnamed && verdict->access == ACCESS_READ && has_write_error(g) &&
	       g->in->host_allows(name.p, true);
}

/* True: `text` is a path, and what the line says of it is known now. */
static bool try_path(struct guessing *g, struct str text)
{
	scoped_arena a = ARENA_INIT(SCRATCH_MAX_BYTES);
	struct err ignored = ERR_INIT;
	struct located at;
	struct verdict verdict;
	enum operation operation;
	struct str path;

	if (!text.len || text.len >= PATH_MAX_BYTES || str_has_nul(text) || g->tries++ >= TRIES_MAX)
		return false;
	if (path_plain(&a, g->in->directory, text, &path, &ignored) < 0 ||
	    plan_locate(&a, g->in->inputs, path, &at, &ignored) < 0)
		return false;
	/* Any word could be the name of a file that is missing. */
	if (at.type == HOST_MISSING && !is_spelled_out(text))
		return false;
	if (has_denial(g, at.path))
		return true;
	verdict = plan_resolve(g->in->plan, at.path);
	if (!find_operation(g, &at, &verdict, &operation))
		return false;
	denials_add(g->denials,
		    &(struct denial){ .kind = DENIAL_PATH,
				      .operation = operation,
				      .subject = at.path,
				      .named = text,
				      .opens = operation == OPERATION_CREATE ? path_parent(at.path)
									     : at.path,
				      .by = verdict.rule,
				      .origin = verdict.rule->origin,
				      .os_error = g->os_error,
				      .is_guess = true });
	g->made++;
	return true;
}

/* ---- Which path a line names ----------------------------------------------------------------- */

/* Where `word` (in lower case) begins, whatever the case of `text`; its end if it is not there. */
static size_t find_word(struct str text, struct str word)
{
	for (size_t i = 0; i + word.len <= text.len; i++) {
		size_t k = 0;

		while (k < word.len && ascii_lower(text.p[i + k]) == word.p[k])
			k++;
		if (k == word.len)
			return i;
	}
	return text.len;
}

static bool is_among(char c, const char *set)
{
	return c && strchr(set, c);
}

static struct str strip(struct str text, const char *set)
{
	while (text.len && is_among(text.p[0], set))
		text = str_from(text, 1);
	while (text.len && is_among(text.p[text.len - 1], set))
		text.len--;
	return text;
}

/* "PROGRAM: PATH: " */
static bool try_last(struct guessing *g, struct str before)
{
	struct str rest = strip(before, ": ");
	size_t at = rest.len;

	while (at > 1 && !(rest.p[at - 2] == ':' && rest.p[at - 1] == ' '))
		at--;
	return try_path(g, strip(at > 1 ? str_from(rest, at) : rest, "'\"`"));
}

/* What quotes enclose: ASCII's, or those of a UTF-8 locale, which begin with the same two bytes. */
static bool try_quoted(struct guessing *g, struct str text)
{
	static const struct {
		struct str open, close;
	} pairs[] = {
		{ STR_INIT("'"), STR_INIT("'") },
		{ STR_INIT("\""), STR_INIT("\"") },
		{ STR_INIT("`"), STR_INIT("'") },
		{ STR_INIT("\xe2\x80\x98"), STR_INIT("\xe2\x80\x99") },
		{ STR_INIT("\xe2\x80\x9c"), STR_INIT("\xe2\x80\x9d") },
	};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		size_t begin = find_word(text, pairs[i].open);
		struct str rest = str_from(text, MIN_OF(begin + pairs[i].open.len, text.len));
		size_t end = find_word(rest, pairs[i].close);

		if (end < rest.len && try_path(g, str_first(rest, end)))
			return true;
	}
	return false;
}

static bool try_words(struct guessing *g, struct str text)
{
	while (text.len) {
		struct str word = strip(str_take_word(&text), "'\"`,;:()[]");

		if (is_spelled_out(word) && try_path(g, word))
			return true;
	}
	return false;
}

static void look_at_line(struct guessing *g, struct str line)
{
	for (size_t i = 0; i < COUNT_OF(markers); i++) {
		size_t at = find_word(line, markers[i].text);
		struct str before = str_first(line, at);
		struct str after;

		if (at == line.len)
			continue;
		after = str_from(line, at + markers[i].text.len);
		g->os_error = markers[i].os_error;
		if (try_last(g, before) || try_quoted(g, before) || try_quoted(g, after) ||
		    try_words(g, before) || try_words(g, after))
			return;
	}
}

void guess_denials(const struct guess_request *in, struct denials *denials)
{
	struct guessing g = { .in = in, .denials = denials };

	if (in->naming == NAMING_ALL)
		return;
	for (size_t i = 0; i < COUNT_OF(in->outputs); i++) {
		struct str all = in->outputs[i];
		struct str rest = str_from(all, all.len - MIN_OF(all.len, OUTPUT_MAX_BYTES));
		struct str line;

		while (g.made < GUESSES_MAX && g.tries < TRIES_MAX && str_next_line(&rest, &line))
			look_at_line(&g, line);
	}
}
