/* SPDX-License-Identifier: MIT */
/* See deciders.h: what --ask names, who may be trusted, and what an answer says. */
#include "approve/deciders.h"

#include "approve/decide.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/os.h"
#include "os/program.h"

enum { SHOWN_BYTES = 256, ANSWER_MAX_BYTES = 1 << 20, FD_MAX = 1 << 20 };
enum { MAX_LINKS = 40 }; /* that the kernel follows for one path */

/* ---- --ask ---------------------------------------------------------------------------------- */

static int parse_descriptor(struct str text, struct ask_option *out, struct err *e)
{
	char shown[SHOWN_BYTES];
	int number = 0;

	for (size_t i = 0; i < text.len && number <= FD_MAX; i++)
		number = ascii_is_digit(text.p[i]) ? number * 10 + (text.p[i] - '0') : FD_MAX + 1;
	if (!text.len || number > FD_MAX)
		return FAIL(e, ERR_ARGUMENT, "--ask fd: needs the number of a descriptor, not '%s'",
			    utf8_show(text, shown, sizeof(shown)));
	if (number <= 2)
		return FAIL(e, ERR_ARGUMENT,
			    "--ask fd:%d: the command has the standard streams itself; use a "
			    "descriptor above 2",
			    number);
	out->fd = number;
	return 0;
}

static int parse_program(struct str text, struct ask_option *out, struct err *e)
{
	char shown[SHOWN_BYTES];

	if (!text.len)
		return FAIL(e, ERR_ARGUMENT, "--ask cmd: needs a program");
	if (!path_is_absolute(text) && str_find(text, '/') < text.len)
		return FAIL(e, ERR_ARGUMENT,
			    "--ask cmd:%s: the program needs an absolute path, or a name that is "
			    "on PATH",
			    utf8_show(text, shown, sizeof(shown)));
	out->text = text;
	return 0;
}

static int parse_socket(struct str text, struct ask_option *out, struct err *e)
{
	char shown[SHOWN_BYTES];

	if (!path_is_absolute(text))
		return FAIL(e, ERR_ARGUMENT, "--ask socket: needs an absolute path, not '%s'",
			    utf8_show(text, shown, sizeof(shown)));
	out->text = text;
	return 0;
}

int ask_parse(const char *text, struct ask_option *out, struct err *e)
{
	static const struct {
		const char *prefix;
		enum decider_kind kind;
		int (*parse)(struct str text, struct ask_option *out, struct err *e);
	} forms[] = {
		{ "off", DECIDER_NONE, NULL },
		{ "tty", DECIDER_TTY, NULL },
		{ "cmd:", DECIDER_PROGRAM, parse_program },
		{ "fd:", DECIDER_DESCRIPTOR, parse_descriptor },
		{ "socket:", DECIDER_SOCKET, parse_socket },
	};
	struct str given = str_of(text);
	char shown[SHOWN_BYTES];

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct str prefix = str_of(forms[i].prefix);
		struct ask_option found = {
			.kind = forms[i].kind, .text = STR_EMPTY, .fd = -1, .path = STR_EMPTY
		};

		if (forms[i].parse ? !str_has_prefix(given, prefix) : !str_eq(given, prefix))
			continue;
		if (forms[i].parse && forms[i].parse(str_from(given, prefix.len), &found, e) < 0)
			return err_result(e);
		*out = found;
		return 0;
	}
	return FAIL(e, ERR_ARGUMENT,
		    "--ask must be tty, cmd:PROGRAM, fd:N, socket:PATH or off, not '%s'",
		    utf8_show(given, shown, sizeof(shown)));
}

/* ---- Where it is ------------------------------------------------------------------------------ */

/* As execvp() searches, but never in the working directory, which "" and "." mean. */
static bool find_on_path(const char *name, const char *path_list, char real[PATH_MAX_BYTES])
{
	struct str rest = str_of(path_list ? path_list : "/usr/local/bin:/usr/bin:/bin");

	for (;;) {
		struct str dir = str_first(rest, str_find(rest, ':'));
		char space[PATH_MAX_BYTES];
		struct buf file = BUF_OVER(space);

		buf_add(&file, dir);
		buf_add_char(&file, '/');
		buf_add_text(&file, name);
		if (path_is_absolute(dir) && file.failed == ERR_OK && os_is_executable(space) &&
		    os_real_path(space, real))
			return true;
		if (dir.len == rest.len)
			return false;
		rest = str_from(rest, dir.len + 1);
	}
}

int ask_find(struct arena *a, struct ask_option *option, const char *path_list, struct err *e)
{
	bool is_program = option->kind == DECIDER_PROGRAM;
	char real[PATH_MAX_BYTES], shown[SHOWN_BYTES];
	struct str name;

	if (!is_program && option->kind != DECIDER_SOCKET)
		return 0;
	if (arena_copy(a, option->text, &name, e) < 0)
		return err_result(e);
	(void)utf8_show(name, shown, sizeof(shown));
	if (!path_is_absolute(name)) {
		if (!find_on_path(name.p, path_list, real))
			return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
					  "--ask cmd:%s: there is no such program on PATH", shown);
	} else if (!os_real_path(name.p, real)) {
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
				  is_program ? "--ask cmd:%s: there is no such program"
					     : "--ask socket:%s: there is no such socket; start "
					       "the server before the command",
				  shown);
	}
	return arena_copy(a, str_of(real), &option->path, e);
}

/* ---- Trust ---------------------------------------------------------------------------------- */

int decide_check_place(const struct plan *plan, struct str path, bool others, const char *what,
		       struct err *e)
{
	char shown[SHOWN_BYTES], where[SHOWN_BYTES] = "", name[PATH_MAX_BYTES];
	const char *why = NULL;

	(void)utf8_show(path, shown, sizeof(shown));
	if (path.len >= sizeof(name) || plan_may_replace(plan, path, os_may_write)) {
		(void)FAIL_CAUSE(e, CAUSE_DECIDER_UNTRUSTED,
				 "--ask: %s'%s' can't decide, because the command may change it",
				 what, shown);
		err_add_line(e, "it has to lie outside of everything that the policy lets the "
				"command write");
		return err_result(e);
	}
	memcpy(name, path.p, path.len);
	name[path.len] = '\0';
	if (others)
		why = os_distrust_path(name, where, sizeof(where));
	if (why)
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNTRUSTED,
				  "--ask: %s'%s' can't decide, because '%s' %s", what, shown, where,
				  why);
	return 0;
}

/* A link with the directories above it; its own permissions say nothing. */
static int check_link(const struct plan *plan, struct str link, const char *what, struct err *e)
{
	if (decide_check_place(plan, link, false, what, e) < 0)
		return err_result(e);
	return decide_check_place(plan, path_parent(link), true, what, e);
}

static int add_place(struct arena *a, struct str path, decide_places *places, struct err *e)
{
	struct str *added = VEC_PUSH(a, places, e);

	if (!added)
		return err_result(e);
	*added = path;
	return 0;
}

/* From the link at `*at`: `*rest` becomes its text with what is left behind it. */
static int follow(struct arena *a, struct str link, struct str left, struct str *at,
		  struct str *rest, struct err *e)
{
	scoped_buf text = BUF_INIT(PATH_MAX_BYTES);

	if (os_read_link(link, &text, e) < 0)
		return err_result(e);
	if (path_is_absolute(buf_str(&text)))
		*at = STR("/");
	return arena_printf(a, rest, e, "%.*s/%.*s", STR_ALL(buf_str(&text)), STR_ALL(left));
}

int decide_check_way(struct arena *a, const struct plan *plan, struct str path, const char *what,
		     decide_places *places, struct err *e)
{
	struct str at = STR("/"), rest = path, name, next;
	struct os_file file;
	size_t done = 0;

	for (int links = 0; path_next(rest, &done, &name);) {
		if (str_is(name, "."))
			continue;
		if (str_is(name, "..")) {
			at = path_parent(at);
			continue;
		}
		if (path_join(a, at, name, &next, e) < 0 || os_look(next, &file, e) < 0)
			return err_result(e);
		if (file.type != OS_LINK) {
			at = next;
			continue;
		}
		if (++links > MAX_LINKS)
			return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
					  "--ask: %sis behind too many links", what);
		if (check_link(plan, next, what, e) < 0 || add_place(a, next, places, e) < 0 ||
		    follow(a, next, str_from(rest, done), &at, &rest, e) < 0)
			return err_result(e);
		done = 0;
	}
	if (decide_check_place(plan, at, true, what, e) < 0)
		return err_result(e);
	return add_place(a, at, places, e);
}

/* ---- Opening -------------------------------------------------------------------------------- */

int decider_open(struct arena *a, const struct ask_option *option,
		 const struct decider_setup *setup, struct decider *out, struct err *e)
{
	switch (option->kind) {
	case DECIDER_PROGRAM:
		return decide_cmd_open(a, option, setup, out, e);
	case DECIDER_DESCRIPTOR:
	case DECIDER_SOCKET:
		return decide_lines_open(a, option, setup, out, e);
	case DECIDER_NONE:
	case DECIDER_TTY:
		break;
	}
	return FAIL(e, ERR_INTERNAL, "this decider is no program");
}

/* ---- Answers -------------------------------------------------------------------------------- */

void decide_take_line(const struct decide_base *base, struct str line, uint64_t only)
{
	scoped_arena a = ARENA_INIT(ANSWER_MAX_BYTES);
	struct err e = ERR_INIT;
	struct answer answer;
	uint64_t id = only;

	if (message_parse_answer(&a, line, &id, &answer, &e) < 0)
		broker_reject(base->broker, only ? only : id, e.text);
	/* SECURITY: a program answers what it was asked, not what another one was. */
	else if (only && id != only)
		broker_reject(base->broker, only, "the answer is for another request");
	else
		broker_decide(base->broker, id, &answer, loop_now());
}

void decide_refuse(const struct decide_base *base, uint64_t id, const char *message)
{
	const struct answer no = { .message = str_of(message),
				   .is_unusable = true,
				   .by = base->by };

	broker_decide(base->broker, id, &no, loop_now());
}
