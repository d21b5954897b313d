/* SPDX-License-Identifier: MIT */
/* A request as the words of a command line. Pure: looks at nothing but its arguments. */
#include <stdio.h>

#include "base/mem.h"
#include "base/shell.h"
#include "lib/command_line.h"
#include "lib/run.h"

struct words {
	struct arena a;
	VEC(const char *) list;
	struct err *e;
	bool has_failed;
};

static void add(struct words *words, const char *word)
{
	const char **place;

	if (words->has_failed)
		return;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	place = VEC_PUSH(&words->a, &words->list, words->e);
	if (place)
		*place = word;
	else
		words->has_failed = true;
}

static void add_option(struct words *words, const char *name, const char *value)
{
	struct str option;

	if (words->has_failed)
		return;
	if (arena_printf(&words->a, &option, words->e, "--%s", name) < 0) {
		words->has_failed = true;
		return;
	}
	add(words, option.p);
	if (value)
		add(words, value);
}

static void add_time(struct words *words, const char *name, uint64_t ms)
{
	struct str text;

	if (!ms || words->has_failed)
		return;
	if (arena_printf(&words->a, &text, words->e, "%llums", (unsigned long long)ms) < 0)
		words->has_failed = true;
	else
		add_option(words, name, text.p);
}

static void add_value(struct words *words, const struct option *option, const void *place)
{
	const char *const *text = place;
	const char *const *const *all = place;
	const uint64_t *number = place;
	struct option_list list;

	switch (option->value.kind) {
	case VALUE_TEXT:
		if (*text)
			add_option(words, option->name, *text);
		break;
	case VALUE_LIST:
		memcpy(&list, place, sizeof(list));
		for (size_t i = 0; i < list.count; i++)
			add_option(words, option->name, list.items[i]);
		break;
	case VALUE_WORDS:
	case VALUE_FEATURE:
		for (size_t i = 0; *all && (*all)[i]; i++)
			add_option(words, option->name, (*all)[i]);
		break;
	case VALUE_TIME:
		add_time(words, option->name, *number);
		break;
	case VALUE_FLAG:
		if (*number & option->value.flag)
			add_option(words, option->name, NULL);
		break;
	case VALUE_COPIED:
	case VALUE_OWN_TEXT:
	case VALUE_OWN_WORDS:
	case VALUE_OWN_SWITCH:
		break;
	}
}

/* The options that `command` takes, except flags when they are not to be among them. */
static void add_options(struct words *words, const struct asked *asked, uint32_t command,
			bool has_flags)
{
	struct asked all = *asked;

	for (size_t i = 0; i < OPTION_COUNT; i++)
		if ((options[i].commands & command) &&
		    (has_flags || options[i].value.kind != VALUE_FLAG))
			add_value(words, &options[i],
				  option_member(&options[i].value, &all.load, &all.run));
}

int asked_policy_words(const struct asked *asked, struct buf *out, struct err *e)
{
	struct words words = { .a = ARENA_INIT(RUN_MAX_BYTES), .e = e };

	add_options(&words, asked, ONLY(WHY), false);
	for (size_t i = 0; i < words.list.count; i++) {
		buf_add_char(out, ' ');
		shell_add_word(out, str_of(words.list.items[i]));
	}
	arena_done(&words.a);
	return words.has_failed ? err_result(e) : 0;
}

static void add_all(struct words *words, const struct asked *asked)
{
	const struct cordon_run_options *run = &asked->run;

	add(words, run->binary ? run->binary : "cordon");
	add(words, run->flags & CORDON_RUN_AGENT ? "agent" : "run");
	add_options(words, asked, ONLY(RUN), true);
	add(words, "--");
	for (size_t i = 0; run->command[i]; i++)
		add(words, run->command[i]);
}

/* One block: the pointers, then the texts. */
static char **copy_out(const struct words *words, struct err *e)
{
	size_t bytes = (words->list.count + 1) * sizeof(char *);
	char **argv;
	char *text;

	for (size_t i = 0; i < words->list.count; i++)
		bytes += strlen(words->list.items[i]) + 1;
	argv = mem_new(bytes, e);
	if (!argv)
		return NULL;
	text = (char *)(argv + words->list.count + 1);
	for (size_t i = 0; i < words->list.count; i++) {
		size_t length = strlen(words->list.items[i]) + 1;

		memcpy(text, words->list.items[i], length);
		argv[i] = text;
		text += length;
	}
	return argv;
}

int cordon_request_argv(const cordon *handle, const struct cordon_run_options *request,
			char ***argv, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct words words = { .a = ARENA_INIT(RUN_MAX_BYTES), .e = &e };
	struct asked asked;
	char **copy = NULL;

	if (!argv) {
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_request_argv: argv is NULL");
	} else if (asked_read(handle, request, &asked, &e) == 0) {
		/* Without them the command line might run under another policy. */
		if (asked.load.system_directory)
			(void)FAIL(&e, ERR_ARGUMENT, "no option stands for system_directory");
		else if (asked.run.policy)
			(void)FAIL(&e, ERR_ARGUMENT, "no option stands for a loaded policy");
		else if (asked.run.flags & CORDON_RUN_SHELL)
			(void)FAIL(&e, ERR_ARGUMENT, "no option stands for CORDON_RUN_SHELL");
		else
			add_all(&words, &asked);
		if (e.code == ERR_OK)
			copy = copy_out(&words, &e);
	}
	arena_done(&words.a);
	if (!copy)
		return error_give(&e, error);
	*argv = copy;
	return 0;
}

void cordon_argv_free(char **argv)
{
	mem_free(argv);
}
