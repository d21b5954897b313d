/* SPDX-License-Identifier: MIT */
/*
 * What a process is started with, as text: see process.h. The rules of quoting are those of CommandLineToArgvW() and of the C
 * library, which agree on what is made here: backslashes count only before a quote, and no quote is ever doubled.
 */
#include "base/sort.h"
#include "os/windows/api.h"
#include "os/windows/process.h"
#include "os/windows/text.h"

enum { MAX_LINE = 32766 };

struct line {
	wchar_t *text;
	size_t len;
	bool is_full;
};

static void add(struct line *l, wchar_t c, size_t count)
{
	if (count > (size_t)MAX_LINE - l->len) {
		l->is_full = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		l->text[l->len++] = c;
}

/* argv[0] ends at the next quote, whatever stands before it. */
static int add_program(struct line *l, const wchar_t *word, struct err *e)
{
	if (wcschr(word, L'"'))
		return FAIL(e, ERR_SYNTAX, "the name of a program has a '\"' in it");
	add(l, L'"', 1);
	for (; *word; word++)
		add(l, *word, 1);
	add(l, L'"', 1);
	return 0;
}

/* Words without these need no quotes; they are read as they are. */
static bool is_plain(const wchar_t *word)
{
	return *word && !wcspbrk(word, L" \t\n\v\r\"");
}

static void add_word(struct line *l, const wchar_t *word)
{
	size_t backslashes = 0;

	add(l, L' ', 1);
	if (is_plain(word)) {
		for (; *word; word++)
			add(l, *word, 1);
		return;
	}
	add(l, L'"', 1);
	for (; *word; word++) {
		/* 2n + 1 before a quote are n and the quote; before anything else they are themselves. */
		if (*word == L'"')
			add(l, L'\\', backslashes + 1);
		backslashes = *word == L'\\' ? backslashes + 1 : 0;
		add(l, *word, 1);
	}
	add(l, L'\\', backslashes);
	add(l, L'"', 1);
}

int process_command_line(struct arena *a, const char *const *argv, wchar_t **out, struct err *e)
{
	struct line l = { .text = arena_array(a, MAX_LINE + 1, sizeof(wchar_t), e) };
	wchar_t *word;

	if (!l.text)
		return err_result(e);
	for (size_t i = 0; argv[i]; i++) {
		if (wide_copy(a, str_of(argv[i]), &word, e) < 0)
			return err_result(e);
		if (i == 0 && add_program(&l, word, e) < 0)
			return err_result(e);
		if (i > 0)
			add_word(&l, word);
	}
	if (l.is_full)
		return FAIL_CAUSE(e, CAUSE_LIMIT,
				  "the command is longer than the %d characters that Windows takes",
				  MAX_LINE);
	*out = l.text;
	return 0;
}

/* ---- The environment ------------------------------------------------------------------------------------- */

struct variable {
	const wchar_t *text;
	size_t name; /* its length */
};

/* A name may begin with '=', as those have in which cmd.exe keeps the directories of drives. */
static size_t name_length(const wchar_t *text)
{
	const wchar_t *end = *text ? wcschr(text + 1, L'=') : NULL;

	return end ? (size_t)(end - text) : 0;
}

/* As Windows compares them: towupper() goes by the locale, and knows ASCII alone in most. */
static int compare_names(const struct variable *a, const struct variable *b)
{
	return CompareStringOrdinal(a->text, (int)a->name, b->text, (int)b->name, TRUE) -
	       CSTR_EQUAL;
}

static int compare(const void *context, uint32_t a, uint32_t b)
{
	const struct variable *all = context;

	return compare_names(&all[a], &all[b]);
}

static int read_variables(struct arena *a, const char *const *environment, struct variable *out,
			  size_t *total, struct err *e)
{
	for (size_t i = 0; environment[i]; i++) {
		wchar_t *text;

		if (wide_copy(a, str_of(environment[i]), &text, e) < 0)
			return err_result(e);
		out[i] = (struct variable){ .text = text, .name = name_length(text) };
		if (out[i].name == 0)
			return FAIL(e, ERR_SYNTAX, "a variable of the environment has no name");
		*total += wcslen(text) + 1;
	}
	return 0;
}

/* The arena has cleared what ends the block: two NULs also for an empty one. */
static wchar_t *write_block(struct arena *a, const struct variable *all, const uint32_t *order,
			    size_t total, struct err *e)
{
	wchar_t *block = arena_array(a, total + 2, sizeof(*block), e), *at = block;

	for (size_t i = 0; block && order[i] != UINT32_MAX; i++) {
		size_t len = wcslen(all[order[i]].text) + 1;

		if (order[i + 1] != UINT32_MAX &&
		    compare_names(&all[order[i]], &all[order[i + 1]]) == 0)
			continue;
		wmemcpy(at, all[order[i]].text, len);
		at += len;
	}
	return block;
}

int process_environment(struct arena *a, const char *const *environment, wchar_t **out,
			struct err *e)
{
	struct variable *all;
	uint32_t *order;
	size_t count = 0, total = 0;
	wchar_t *block;

	while (environment[count])
		count++;
	all = arena_array(a, count + 1, sizeof(*all), e);
	if (!all || read_variables(a, environment, all, &total, e) < 0)
		return err_result(e);
	order = arena_array(a, 2 * (count + 1), sizeof(*order), e);
	if (!order)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	order[count] = UINT32_MAX;
	/* It is stable: of two of one name the last stays last. */
	sort_numbers(order, order + count + 1, count, compare, all);
	block = write_block(a, all, order, total, e);
	if (!block)
		return err_result(e);
	*out = block;
	return 0;
}

/* ---- Batch files ------------------------------------------------------------------------------------------- */

static bool ends_in(struct str name, const char *end)
{
	size_t len = strlen(end);

	if (name.len < len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (ascii_lower(name.p[name.len - len + i]) != end[i])
			return false;
	return true;
}

bool process_is_batch(struct str program)
{
	size_t start = program.len;
	struct str name;

	while (start > 0 && program.p[start - 1] != '/' && program.p[start - 1] != '\\')
		start--;
	name = str_from(program, start);
	/* A stream of it counts for the file; the ':' of a drive stands at its second place. */
	if (str_find(str_from(name, 2), ':') < name.len)
		name = str_first(name, 2 + str_find(str_from(name, 2), ':'));
	while (name.len && (name.p[name.len - 1] == '.' || name.p[name.len - 1] == ' '))
		name.len--;
	return ends_in(name, ".bat") || ends_in(name, ".cmd");
}
