/* SPDX-License-Identifier: MIT */
/* A request as the words of a command line. Pure: looks at nothing but its arguments. */
#include <stdio.h>

#include "base/mem.h"
#include "base/shell.h"
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

static void add_option(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	add(words, option);
	add(words, value);
}

static void add_list(struct words *words, const char *option, const char *const *list,
		     uint64_t count)
{
	for (size_t i = 0; i < count; i++)
		add_option(words, option, list[i]);
}

static void add_words(struct words *words, const char *option, const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		add_option(words, option, list[i]);
}

static void add_load(struct words *words, const struct cordon_load_options *load)
{
	add_option(words, "--mode", load->mode);
	add_option(words, "--profile", load->profile);
	add_option(words, "-C", load->directory);
	add_option(words, "--workspace", load->workspace);
	add_option(words, "--config-file", load->config_file);
	add_list(words, "--config", load->overrides, load->override_count);
}

static void add_access(struct words *words, const struct cordon_load_options *load)
{
	add_option(words, "--network", load->network);
	add_list(words, "--add-read", load->add_read, load->add_read_count);
	add_list(words, "--add-write", load->add_write, load->add_write_count);
	add_list(words, "--deny", load->deny, load->deny_count);
	add_list(words, "--unprotect", load->unprotect, load->unprotect_count);
	add_list(words, "--allow-host", load->allow_hosts, load->allow_host_count);
	add_list(words, "--deny-host", load->deny_hosts, load->deny_host_count);
	add_list(words, "--allow-socket", load->allow_sockets, load->allow_socket_count);
}

static void add_policy(struct words *words, const struct asked *asked)
{
	add_load(words, &asked->load);
	add_words(words, "--enable", asked->run.enable);
	add_words(words, "--disable", asked->run.disable);
	add_access(words, &asked->load);
}

int asked_policy_words(const struct asked *asked, struct buf *out, struct err *e)
{
	struct words words = { .a = ARENA_INIT(RUN_MAX_BYTES), .e = e };

	add_policy(&words, asked);
	for (size_t i = 0; i < words.list.count; i++) {
		buf_add_char(out, ' ');
		shell_add_word(out, str_of(words.list.items[i]));
	}
	arena_done(&words.a);
	return words.has_failed ? err_result(e) : 0;
}

static void add_timeout(struct words *words, uint64_t timeout_ms)
{
	struct str text;

	if (!timeout_ms || words->has_failed)
		return;
	if (arena_printf(&words->a, &text, words->e, "%llums", (unsigned long long)timeout_ms) < 0)
		words->has_failed = true;
	else
		add_option(words, "--timeout", text.p);
}

static void add_all(struct words *words, const struct asked *asked)
{
	const struct cordon_run_options *run = &asked->run;

	add(words, run->binary ? run->binary : "cordon");
	add(words, "run");
	add_option(words, "--platform", run->platform);
	add_policy(words, asked);
	add_option(words, "--backend", run->backend);
	add_option(words, "--sandbox", run->sandbox);
	add_words(words, "--accept-missing", run->accept_missing);
	add_words(words, "--publish", run->publish);
	add_words(words, "--host-port", run->host_ports);
	add_option(words, "--audit", run->audit_file);
	add_timeout(words, run->timeout_ms);
	add_words(words, "--env", run->set_environment);
	if (run->flags & CORDON_RUN_QUIET)
		add(words, "--quiet");
	if (run->flags & CORDON_RUN_TRACE)
		add(words, "--trace");
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
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_request_argv needs a place for the words");
	} else if (asked_read(handle, request, &asked, &e) == 0) {
		/* No option says it, and without it another policy might hold. */
		if (asked.load.system_directory)
			(void)FAIL(&e, ERR_ARGUMENT, "system_directory can't be said in words");
		else if (asked.run.flags & CORDON_RUN_SHELL)
			(void)FAIL(&e, ERR_ARGUMENT, "CORDON_RUN_SHELL can't be said in words");
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
