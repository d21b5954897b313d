/* SPDX-License-Identifier: MIT */
/*
 * Whether Cordon is beneath an agent: what setup has put there, what could override it, and a command that goes
 * the agent's way. SECURITY: that the command is inside is proven by the answer of the supervisor alone: a
 * variable says what somebody has set.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agents/json_edit.h"
#include "agents/setup.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/program.h"
#include "os/streams.h"

#define SHOWN(s) utf8_show((s), (char[512]){ 0 }, 512)

enum {
	OUTPUT_MAX_BYTES = 1 << 20,
	PROBE_PATIENCE_MS = 60000,
};

/* ---- Problems -------------------------------------------------------------------------------------- */

static int add_problem(struct setup *s, struct err *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int add_problem(struct setup *s, struct err *e, const char *fmt, ...)
{
	struct str *problem = VEC_PUSH(s->a, &s->problems, e);
	char text[2048];
	va_list args;

	if (!problem)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return arena_copy(s->a, str_of(text), problem, e);
}

static int check_pieces(struct setup *s, struct err *e)
{
	for (size_t i = 0; i < s->changes.count; i++) {
		const struct change *c = &s->changes.items[i];

		if (c->mode == 0755 && c->was.is_there && !(c->was.mode & 0100) &&
		    add_problem(s, e, "'%s' is not executable", SHOWN(c->was.path)) < 0)
			return err_result(e);
		if (!change_is_needed(c) || c->may_stay)
			continue;
		if (add_problem(s, e,
				c->was.is_there ? "'%s' is not as 'cordon setup' makes it"
						: "'%s' is missing",
				SHOWN(c->was.path)) < 0)
			return err_result(e);
	}
	return 0;
}

/* The value that the way sets: a rival with the same one does no harm. */
static bool is_ours(const struct setup *s, const struct json *value)
{
	for (size_t i = 0; i < AGENT_MAX_PIECES && s->way->pieces[i].kind == PIECE_JSON; i++) {
		scoped_buf wanted = BUF_INIT(PATH_MAX_BYTES);
		scoped_buf found = BUF_INIT(CHANGE_MAX_BYTES);
		const struct agent_piece *piece = &s->way->pieces[i];

		piece->write(&wanted, &s->places);
		if (value->type == JSON_STRING)
			utf8_add_quoted(&found, value->string, false);
		if (found.len && str_eq(buf_str(&wanted), buf_str(&found)))
			return true;
	}
	return false;
}

static bool is_harmless(const struct setup *s, const struct agent_rival *rival,
			const struct json *value)
{
	switch (rival->kind) {
	case RIVAL_SHELL:
		return is_ours(s, value);
	case RIVAL_ON:
	case RIVAL_OFF:
		return value->type == JSON_BOOL && value->boolean == (rival->kind == RIVAL_ON);
	case RIVAL_NONE:
		return value->type == JSON_ARRAY && !value->array.count;
	}
	return false;
}

static bool registers_hooks(const struct setup *s)
{
	for (size_t i = 0; i < AGENT_MAX_PIECES; i++)
		if (s->way->pieces[i].kind == PIECE_FILE)
			return true;
	return false;
}

/* What can't be read counts as well: the agent may read it in another way. */
static int check_rival(struct setup *s, const struct agent_rival *rival, struct err *e)
{
	struct err unread = ERR_INIT;
	const struct json *root = NULL, *value;
	struct str path, text;
	struct os_seen seen;
	size_t count = 0;

	while (count < COUNT_OF(rival->names) && rival->names[count])
		count++;
	if (rival->rank <= s->way->rank || (rival->kind != RIVAL_SHELL && !registers_hooks(s)))
		return 0;
	if (setup_find_place(s, rival->place, &path, e) < 0)
		return err_result(e);
	if (os_read_file(s->a, path, CHANGE_MAX_BYTES, &text, &seen, &unread) == 0) {
		if (!seen.is_there)
			return 0;
		root = jsonc_parse(s->a, text, &unread);
	}
	if (!root)
		return add_problem(s, e, "'%s' can't be looked at: %s", SHOWN(path), unread.text);
	value = jsonc_find(root, rival->names, count);
	if (!value || is_harmless(s, rival, value))
		return 0;
	if (rival->kind != RIVAL_SHELL)
		return add_problem(s, e, "'%s' turns hooks off by \"%s\"", SHOWN(path),
				   rival->names[count - 1]);
	return add_problem(s, e, "'%s' overrides it with its own \"%s\"", SHOWN(path),
			   rival->names[count - 1]);
}

/* Who sets it means to have a sandbox by it, and has none. */
static int check_variable(struct setup *s, struct err *e)
{
	const char *name = s->agent->variable;
	const char *value = name ? os_environment_find(s->in.environment, name) : NULL;
	struct str rest = str_of(value ? value : "");

	if (!rest.len)
		return 0;
	for (; rest.len; rest = str_from(rest, 1))
		if (str_has_prefix(rest, str_of(s->agent->word)))
			return 0;
	return add_problem(s, e, "%s ignores the variable %s, because '%s' has no \"%s\" in it",
			   s->agent->title, name, SHOWN(str_of(value)), s->agent->word);
}

/* ---- The probe ----------------------------------------------------------------------------------------- */

/* All that it prints, until it ends. */
static int read_all(int fd, int helper, struct buf *out)
{
	char part[4096];

	for (;;) {
		ssize_t n = os_read_output(fd, part, sizeof(part));

		if (n > 0)
			buf_add(out, (struct str){ part, (size_t)n });
		else if (n == 0)
			return 0;
		else if (n != -EAGAIN)
			return (int)n;
		else if (!os_await_child(fd, helper, PROBE_PATIENCE_MS))
			return 0;
		else if (os_count_output(fd) == 0 && n == -EAGAIN)
			return -ETIMEDOUT;
	}
}

static int run_script(const char *const *argv, const char *const *environment, struct buf *out,
		      struct err *e)
{
	struct os_program program = { .argv = argv, .environment = environment };
	scoped_fd nothing = os_open_null(), output = -1, write_end = -1, file = -1, helper = -1;
	char start[8], real[PATH_MAX_BYTES];
	int r;

	if (!os_real_path("/bin/sh", real))
		return FAIL(e, ERR_NOTFOUND, "there is no /bin/sh");
	file = os_program_open(real, start, sizeof(start));
	if (file < 0 || nothing < 0)
		return FAIL_SYS(e, file < 0 ? -file : -nothing, "can't start /bin/sh");
	r = os_open_output(&output, &write_end);
	program.file = file;
	program.stdio[0] = nothing;
	program.stdio[1] = program.stdio[2] = write_end;
	if (r == 0)
		r = os_program_start(&program, &helper);
	if (r < 0)
		return FAIL_START(e, -r, "can't start /bin/sh");
	fd_close(&write_end);
	r = read_all(output, helper, out);
	os_program_kill(helper);
	(void)os_reap(helper);
	return r < 0 && r != -ETIMEDOUT ? FAIL_SYS(e, -r, "can't read what the probe prints") : 0;
}

/* Behind `word` up to one of the bytes that no name has; false: it is not there. */
static bool take_behind(struct str text, struct str word, struct str *out)
{
	for (; text.len >= word.len; text = str_from(text, 1)) {
		size_t len = 0;

		if (!str_has_prefix(text, word))
			continue;
		text = str_from(text, word.len);
		while (len < text.len && !strchr(",\"\\ \r\n", text.p[len]))
			len++;
		*out = str_first(text, len);
		return len > 0;
	}
	return false;
}

/* As setup_print() prints it for --inside, perhaps within JSON. */
static bool take_proof(struct str text, struct outer *out)
{
	out->is_there = take_behind(text, STR("inside: run "), &out->run) &&
			take_behind(text, STR(", profile "), &out->profile) &&
			take_behind(text, STR(", backend "), &out->backend);
	return out->is_there;
}

/* Its directory is made and removed here: the script may be killed. */
static const char prelude[] =
	"[ -z \"$0\" ] || cd \"$0\" || exit 125\n"
	"set -- \"$1\" \"$2\" \"$3\" \"$4\" \"$(mktemp -d)\" \"$5\" || exit 125\n"
	"[ -d \"$5\" ] || exit 125\n"
	"trap 'rm -rf \"$5\"' EXIT\n"
	"[ -n \"$0\" ] || cd \"$5\" || exit 125\n";

static int find_start(struct setup *s, struct str *out, struct err *e)
{
	if (!s->way->start)
		return setup_find_program(s, s->agent->program, out, e);
	return setup_find_place(s, s->way->pieces[0].place, out, e);
}

/* What it prints, with the words that agents.h names. */
static int run_probe(struct setup *s, const char *probe, struct str *out, struct err *e)
{
	scoped_buf output = BUF_INIT(OUTPUT_MAX_BYTES);
	struct str start, script, command;

	if (find_start(s, &start, e) < 0 ||
	    arena_printf(s->a, &script, e, "%s%s", prelude, probe) < 0 ||
	    arena_printf(s->a, &command, e, "%.*s setup --inside", (int)s->places.cordon.len,
			 s->places.cordon.p) < 0)
		return err_result(e);
	{
		const char *const argv[] = { "sh",
					     "-c",
					     script.p,
					     s->stays_out ? "" : s->places.project.p,
					     start.p,
					     command.p,
					     s->places.shell.p,
					     s->places.private.p,
					     s->places.cordon.p,
					     NULL };

		if (run_script(argv, s->in.environment, &output, e) < 0)
			return err_result(e);
	}
	return arena_copy(s->a, buf_str(&output), out, e);
}

static bool names_error(struct str line)
{
	for (; line.len; line = str_from(line, 1))
		if (str_has_prefix(line, STR("Error: ")))
			return true;
	return false;
}

/* The last line that names an error, as a trace may follow it; else the last in which something stands. */
static struct str find_last_line(struct str text)
{
	struct str last = STR_EMPTY, line;
	bool has_error = false;

	while (text.len) {
		line = str_first(text, str_find(text, '\n'));
		text = str_from(text, line.len + 1);
		while (line.len && strchr(" \t\r", line.p[line.len - 1]))
			line.len--;
		if (!line.len || (has_error && !names_error(line)))
			continue;
		last = line;
		has_error |= names_error(line);
	}
	return str_first(last, MIN_OF(last.len, (size_t)400));
}

/* Of "failed: STATUS" and what the agent has printed. */
static int add_failure(struct setup *s, struct str text, struct err *e)
{
	struct str status = str_first(text, str_find(text, '\n'));
	struct str why = find_last_line(str_from(text, status.len + 1));

	if (why.len)
		return add_problem(s, e, "Cordon could not start %s: %s", s->agent->title,
				   SHOWN(why));
	return add_problem(s, e,
			   "Cordon could not start %s: it said nothing, and its status was %s",
			   s->agent->title, SHOWN(status));
}

static int probe_shell(struct setup *s, bool *starts, struct err *e)
{
	struct str text, rest;

	if (run_probe(s, s->way->probe, &text, e) < 0)
		return err_result(e);
	*starts = !str_has_prefix(text, STR("failed: "));
	if (!*starts)
		return add_failure(s, str_from(text, strlen("failed: ")), e);
	if (take_proof(text, &s->proof))
		return 0;
	if (take_behind(text, STR("outside: "), &rest))
		return add_problem(s, e, "a command that went the way of %s's shell ran outside",
				   s->agent->title);
	rest = find_last_line(text);
	return add_problem(s, e, "a command that went the way of %s's shell did not answer%s%s",
			   s->agent->title, rest.len ? ": " : "", SHOWN(rest));
}

/* Agents say nothing of a hook that they pass over. */
static int probe_hooks(struct setup *s, struct err *e)
{
	struct str text;

	if (!s->way->hooks_probe)
		return 0;
	if (run_probe(s, s->way->hooks_probe, &text, e) < 0)
		return err_result(e);
	if (str_is(text, "called\n"))
		return 0;
	return add_problem(
		s, e, "%s does not call Cordon's hooks here, so nothing judges its own file tools",
		s->agent->title);
}

int setup_check(struct setup *s, struct err *e)
{
	bool starts;

	if (check_pieces(s, e) < 0 || check_variable(s, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < AGENT_MAX_RIVALS && s->agent->rivals[i].place; i++)
		if (check_rival(s, &s->agent->rivals[i], e) < 0)
			return err_result(e);
	if (probe_shell(s, &starts, e) < 0)
		return err_result(e);
	return starts ? probe_hooks(s, e) : 0;
}
