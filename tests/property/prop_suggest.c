/* SPDX-License-Identifier: MIT */
/*
 * Suggested edits work: each is made in the text, as a person would, the text is
 * read again, and the answer has to be the wanted one. A path that has to be
 * created first is created.
 */
#include "../unit/test.h"
#include "base/path.h"
#include "gen.h"
#include "plan/suggest.h"

enum { TEXT_BYTES = 1 << 16 };

struct texts {
	struct buf user, project, scratch;
};

#define TEXTS_INIT                                                             \
	{                                                                      \
		.user = BUF_INIT(TEXT_BYTES), .project = BUF_INIT(TEXT_BYTES), \
		.scratch = BUF_INIT(TEXT_BYTES)                                \
	}

static void texts_done(struct texts *t)
{
	buf_done(&t->user);
	buf_done(&t->project);
	buf_done(&t->scratch);
}

/* ---- Editing as a person would ------------------------------------------ */

/* Puts what was written to `scratch` in the place of `text`. */
static void take_scratch(struct texts *t, struct buf *text)
{
	buf_clear(text);
	buf_add(text, buf_str(&t->scratch));
	buf_clear(&t->scratch);
}

/* The line `key = value`, or an empty one, so that the other lines keep their numbers. */
static void add_line(struct buf *b, const struct suggest_edit *edit)
{
	if (edit->value.len)
		buf_printf(b, "%s = %s", edit->key.p, edit->value.p);
	buf_add_char(b, '\n');
}

static void replace_line(struct texts *t, struct buf *text, const struct suggest_edit *edit)
{
	struct str rest = buf_str(text);

	for (uint32_t line = 1; rest.len; line++) {
		size_t end = MIN_OF(str_find(rest, '\n') + 1, rest.len);

		if (line == edit->line)
			add_line(&t->scratch, edit);
		else
			buf_add(&t->scratch, str_first(rest, end));
		rest = str_from(rest, end);
	}
	take_scratch(t, text);
}

/* A new line in its table; where the table says `enabled` already, that is what is changed. */
static void insert_line(struct gen *g, struct texts *t, struct buf *text,
			const struct suggest_edit *edit)
{
	char header[512], line[1024];
	const char *old = strstr(buf_str(text).p, "enabled = false\n");

	(void)snprintf(header, sizeof(header), "[%s]\n", edit->table.p);
	(void)snprintf(line, sizeof(line), "%s = %s\n", edit->key.p, edit->value.p);
	if (old && strcmp(edit->key.p, "enabled") == 0) {
		size_t at = (size_t)(old - buf_str(text).p);

		buf_add(&t->scratch, str_first(buf_str(text), at));
		buf_add_text(&t->scratch, line);
		buf_add_text(&t->scratch, old + strlen("enabled = false\n"));
	} else {
		g->b = &t->scratch;
		gen_insert(g, buf_str(text), header, line);
	}
	take_scratch(t, text);
}

static struct buf *text_of(struct texts *t, const struct suggest_edit *edit)
{
	return strcmp(edit->file.p, "project.toml") == 0 ? &t->project : &t->user;
}

static void edit_texts(struct gen *g, struct texts *t, const struct change *change)
{
	for (size_t i = 0; i < change->edit_count; i++)
		if (change->edits[i].line)
			replace_line(t, text_of(t, &change->edits[i]), &change->edits[i]);
	for (size_t i = 0; i < change->edit_count; i++)
		if (!change->edits[i].line &&
		    !(change->needs_own_profile && text_of(t, &change->edits[i]) == &t->user))
			insert_line(g, t, text_of(t, &change->edits[i]), &change->edits[i]);
	if (change->needs_own_profile) {
		const char *project = strstr(change->toml.p, "# project.toml");
		size_t len = project ? (size_t)(project - change->toml.p) : change->toml.len;

		buf_clear(&t->user);
		buf_add(&t->user, change->toml_top);
		buf_add(&t->user, str_first(change->toml, len));
	}
}

/* ---- Cases -------------------------------------------------------------- */

struct question {
	const char *path, *host; /* one of them */
	enum access access;
	enum decision decision;
};

static struct question gen_question(struct gen *g)
{
	struct question q = {
		.access = (enum access)(gen_next(g) % 3),
		.decision = gen_chance(g, 2) ? DECISION_ALLOW : DECISION_DENY,
	};

	if (gen_chance(g, 3))
		q.host = gen_pick(g, gen_hosts);
	else
		q.path = gen_pick(g, gen_paths);
	return q;
}

static bool ask(struct world *w, const struct question *q, struct change *out)
{
	struct hostname host;
	uint16_t port;

	if (q->path)
		return plan_suggest_path(&w->a, &w->in, w->plan, str_of(q->path), q->access, out,
					 &w->e) == 0;
	return q->host && hostname_parse_port(&w->a, str_of(q->host), &host, &port, &w->e) == 0 &&
	       plan_suggest_host(&w->a, &w->in, w->plan, &host, port, q->decision, out, &w->e) == 0;
}

static bool is_answered(struct world *w, const struct question *q)
{
	return q->path ? world_access(w, q->path) == q->access
		       : world_host(w, q->host).decision == q->decision;
}

static void gen_texts(struct gen *g, struct texts *t, struct world *w)
{
	buf_clear(&t->user);
	buf_clear(&t->project);
	w->profile = NULL;
	if (gen_chance(g, 6)) {
		w->profile = gen_chance(g, 2) ? ":workspace" : ":read-only";
	} else {
		g->b = &t->user;
		gen_profile(g);
	}
	if (gen_chance(g, 2)) {
		g->b = &t->project;
		gen_narrowing(g);
	}
	w->user = buf_str(&t->user).p;
	w->project = buf_str(&t->project).p;
}

/* Names that the change leaves to the reader of the texts, for a report. */
static void print_case(size_t n, const struct question *q, const struct world *w,
		       const struct change *change)
{
	printf("# case %zu: %s should become %s\n", n, q->path ? q->path : q->host,
	       q->path ? access_name(q->access) : decision_name(q->decision));
	test_print_str("user   ", w->user);
	test_print_str("project", w->project);
	test_print_str("text   ", change->text.p);
	test_print_str("toml   ", change->toml.p);
}

static void create(struct world *w, struct str path)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "d %.*s\n", (int)path.len, path.p);
	fake_host_add(&w->host, line);
}

/* Takes away what create() made in `edited`: from the first part on that `w` does not have. */
static void remove_created(const struct world *w, struct world *edited, struct str path)
{
	char prefix[512];
	size_t at = 0;
	struct str name;

	while (path_next(path, &at, &name)) {
		struct err e = ERR_INIT;
		struct host_file file;

		if (w->host.host.look(w->host.host.user, str_first(path, at), &file, &e) < 0)
			exit(99);
		if (file.type != HOST_MISSING)
			continue;
		(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)at, path.p);
		fake_host_remove(&edited->host, prefix);
		return;
	}
}

/* Whether a new line opens a directory above the path that has to be created. */
static bool is_wide(const struct change *change)
{
	for (size_t i = 0; change->needs_path.len && i < change->edit_count; i++) {
		const struct suggest_edit *edit = &change->edits[i];
		struct str key = edit->key;

		if (edit->line || key.len < 3 || key.p[0] != '"' || key.p[1] != '/')
			continue;
		key = str_first(str_from(key, 1), key.len - 2);
		if (!str_eq(key, change->needs_path) && path_is_under(change->needs_path, key))
			return true;
	}
	return false;
}

/* One case; false ends the test. */
static bool try_case(struct gen *g, size_t n, struct texts *t, struct world *w,
		     struct world *edited, size_t *changed)
{
	struct question q = gen_question(g);
	struct change change;
	bool works;

	gen_texts(g, t, w);
	if (!world_plan(w))
		return true;
	if (!ask(w, &q, &change))
		return test_check(false, __FILE__, __LINE__, w->e.text);
	if (!change.is_possible)
		return test_check(change.why_not.len > 0 && change.edit_count == 0, __FILE__,
				  __LINE__, "an impossible change says why");
	if (change.edit_count == 0 && !change.needs_path.len)
		return test_check(is_answered(w, &q), __FILE__, __LINE__, "nothing has to change");
	++*changed;
	edit_texts(g, t, &change);
	edited->user = buf_str(&t->user).p;
	edited->project = buf_str(&t->project).p;
	edited->profile = change.needs_own_profile ? change.profile.p : w->profile;
	/* gen_world() has no link that leads below a missing path, so it is removed whole. */
	if (change.needs_path.len)
		create(edited, change.needs_path);
	works = !is_wide(&change) && world_plan(edited) && is_answered(edited, &q);
	if (change.needs_path.len)
		remove_created(w, edited, change.needs_path);
	if (!works) {
		printf("# %s\n", edited->plan ? "another answer" : edited->e.text);
		print_case(n, &q, edited, &change);
	}
	return test_check(works, __FILE__, __LINE__, "the edit changes the answer");
}

TEST(suggested_edits_change_the_answer)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), changed = 0;
	SCOPED(texts_done) struct texts t = TEXTS_INIT;
	scoped_world w;
	scoped_world edited;

	gen_world(&w);
	gen_world(&edited);
	for (size_t n = 0; n < cases; n++)
		if (!try_case(&g, n, &t, &w, &edited, &changed))
			return;
	printf("# %zu of %zu cases were edited\n", changed, cases);
	CHECK(changed > cases / 4);
}
