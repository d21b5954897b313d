/* SPDX-License-Identifier: MIT */
/*
 * A decider that is a program: started once for each request, which is one line on its standard
 * input; its answer is one line on its standard output, and counts when it has ended with status 0.
 * Anything else denies the request. It gets no shell, no descriptors, and an environment of four
 * variables.
 */
#include <errno.h>

#include "approve/decide.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/program.h"
#include "os/streams.h"

enum {
	SHOWN_BYTES = 256,
	START_BYTES = 4096,   /* of a file, to find its interpreter: more than a kernel reads */
	MAX_INTERPRETERS = 5, /* as many as the kernel follows */
	STOP_MS = 1000,
	SIGNAL_STATUS = 128, /* see os_reap() */
	/* Of its answer: a line, its newline, and one byte that is too many. */
	ANSWER_ROOM = MESSAGE_MAX_ANSWER + 2,
};

/* A request that no program has been started for yet. */
struct waiting {
	struct waiting *next;
	uint64_t id;
	size_t bytes;
	char line[];
};

/* A program that runs. */
struct slot {
	struct cmd *cmd;
	uint64_t id;
	struct watcher output;
	struct watcher ended; /* readable when it has ended, with all of its group */
	char *answer;	      /* ANSWER_ROOM bytes */
	size_t bytes;
	bool is_used;
	bool is_dropped; /* nobody waits for the answer */
};

struct cmd {
	struct decide_base base;
	struct os_program program; /* all but its standard streams */
	int errors;
	struct slot slots[DECIDER_MAX_PROGRAMS];
	struct waiting *first, **last;
	size_t waiting_bytes;
	bool is_starting; /* see start_all() */
	bool is_over;
	decide_places places;
};

static int is_readable(void *user, uint32_t events, struct err *e);
static int has_ended(void *user, uint32_t events, struct err *e);

/* ---- One program ---------------------------------------------------------------------------- */

/* The audit log gets the reason; the command hears only that there was no answer. */
static void refuse(const struct cmd *c, uint64_t id, const char *why)
{
	broker_reject(c->base.broker, id, why);
	decide_refuse(&c->base, id, "the program that decides gave no answer");
}

static void close_output(struct slot *s)
{
	loop_remove(s->cmd->base.loop, &s->output);
	fd_close(&s->output.fd);
}

static void close_slot(struct slot *s)
{
	close_output(s);
	loop_remove(s->cmd->base.loop, &s->ended);
	fd_close(&s->ended.fd);
	s->is_used = false;
}

/* 0 or -errno. The program has its ends of both streams afterwards, and nobody else has. */
static int start_program(struct slot *s, const struct waiting *request)
{
	struct os_program program = s->cmd->program;
	scoped_fd nothing = os_is_open(s->cmd->errors) ? -1 : os_open_null();
	scoped_fd line = os_open_text(request->line, request->bytes);
	int answers = -1, output = -1, helper = -1, r;

	if (line < 0)
		return line;
	r = os_open_output(&answers, &output);
	if (r < 0)
		return r;
	program.stdio[0] = line;
	program.stdio[1] = output;
	program.stdio[2] = nothing >= 0 ? nothing : s->cmd->errors;
	r = os_program_start(&program, &helper);
	fd_close(&output);
	if (r < 0) {
		fd_close(&answers);
		return r;
	}
	s->output = (struct watcher){ .fd = answers, .ready = is_readable, .user = s };
	s->ended = (struct watcher){ .fd = helper, .ready = has_ended, .user = s };
	return 0;
}

static void start(struct slot *s, const struct waiting *request)
{
	struct cmd *c = s->cmd;
	struct err e = ERR_INIT;
	int r = start_program(s, request);

	if (r < 0) {
		(void)FAIL_START(&e, -r, "it can't be started");
		refuse(c, request->id, e.text);
		return;
	}
	s->id = request->id;
	s->bytes = 0;
	s->is_used = true;
	s->is_dropped = false;
	if (loop_add(c->base.loop, &s->output, LOOP_IN, &e) == 0 &&
	    loop_add(c->base.loop, &s->ended, LOOP_IN, &e) == 0)
		return;
	os_program_kill(s->ended.fd);
	(void)os_reap(s->ended.fd);
	close_slot(s);
	refuse(c, request->id, e.text);
}

/* ---- Requests ------------------------------------------------------------------------------- */

static struct slot *find_free(struct cmd *c)
{
	for (size_t i = 0; i < COUNT_OF(c->slots); i++)
		if (!c->slots[i].is_used)
			return &c->slots[i];
	return NULL;
}

static struct waiting *take_at(struct cmd *c, struct waiting **at)
{
	struct waiting *taken = *at;

	*at = taken->next;
	if (!*at)
		c->last = at;
	c->waiting_bytes -= taken->bytes;
	return taken;
}

/*
 * Starts as many programs as may run. One that can't be started is an answer, which may lead to the
 * next request: this loop then takes it, and not a call from within.
 */
static void start_all(struct cmd *c)
{
	struct slot *s;

	if (c->is_starting)
		return;
	c->is_starting = true;
	while (!c->is_over && c->first && (s = find_free(c))) {
		struct waiting *request = take_at(c, &c->first);

		start(s, request);
		mem_free(request);
	}
	c->is_starting = false;
}

static bool add_waiting(struct cmd *c, uint64_t id, struct str line)
{
	struct err ignored = ERR_INIT;
	struct waiting *request;

	if (line.len > DECIDER_MAX_UNSENT - c->waiting_bytes)
		return false;
	request = mem_new(sizeof(*request) + line.len, &ignored);
	if (!request)
		return false;
	request->id = id;
	request->bytes = line.len;
	memcpy(request->line, line.p, line.len);
	*c->last = request;
	c->last = &request->next;
	c->waiting_bytes += line.len;
	return true;
}

static bool ask(void *self, const struct ask *request, uint64_t deadline_ms)
{
	struct cmd *c = self;
	scoped_buf line = BUF_INIT(DECIDER_MAX_UNSENT);

	if (c->is_over)
		return false;
	message_add_request(&line, c->base.run, request, deadline_ms);
	if (line.failed == ERR_OK && add_waiting(c, request->id, buf_str(&line)))
		start_all(c);
	else
		decide_refuse(&c->base, request->id, "too many requests wait for who decides");
	return true;
}

static void withdraw(void *self, uint64_t id)
{
	struct cmd *c = self;

	for (struct waiting **at = &c->first; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			mem_free(take_at(c, at));
			return;
		}
	for (size_t i = 0; i < COUNT_OF(c->slots); i++) {
		struct slot *s = &c->slots[i];

		if (!s->is_used || s->id != id || s->is_dropped)
			continue;
		s->is_dropped = true;
		close_output(s);
		os_program_kill(s->ended.fd);
	}
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* Reads what is there. One byte too many is enough to see that it is too much. */
static void read_some(struct slot *s)
{
	ssize_t n = 0;

	while (s->bytes < ANSWER_ROOM &&
	       (n = os_read_output(s->output.fd, s->answer + s->bytes, ANSWER_ROOM - s->bytes)) > 0)
		s->bytes += (size_t)n;
	if (n == -EAGAIN)
		return;
	if (s->bytes == ANSWER_ROOM)
		os_program_kill(s->ended.fd);
	close_output(s);
}

static int is_readable(void *user, uint32_t events, struct err *e)
{
	(void)events;
	(void)e;
	read_some(user);
	return 0;
}

/* Why it failed, for who wrote it. */
static const char *word_failure(const struct slot *s, int status, char text[SHOWN_BYTES])
{
	/* A shell that does not find a program ends with the same status. */
	if (status == OS_PROGRAM_NOT_EXECUTED && !s->cmd->program.is_script)
		return "it could not be executed; a script needs a first line such as #!/bin/sh";
	if (status > SIGNAL_STATUS)
		(void)snprintf(text, SHOWN_BYTES, "it was killed by signal %d",
			       status - SIGNAL_STATUS);
	else
		(void)snprintf(text, SHOWN_BYTES, "it ended with status %d", status);
	return text;
}

/* Why what a program has left is no answer; NULL: it is `*line`. */
static const char *find_line(const struct slot *s, int status, struct str *line,
			     char text[SHOWN_BYTES])
{
	struct str all = { s->answer, s->bytes };

	*line = str_first(all, str_find(all, '\n'));
	if (line->len > MESSAGE_MAX_ANSWER || s->bytes == ANSWER_ROOM)
		return "it answered with more than 64 KiB";
	if (status != 0)
		return word_failure(s, status, text);
	if (line->len == 0)
		return "it ended without an answer";
	if (line->len + 1 < all.len)
		return "it answered with more than one line";
	return NULL;
}

static void judge(struct slot *s, int status)
{
	struct cmd *c = s->cmd;
	char text[SHOWN_BYTES];
	struct str line;
	const char *why;

	if (s->is_dropped)
		return;
	why = find_line(s, status, &line, text);
	if (why) {
		refuse(c, s->id, why);
		return;
	}
	decide_take_line(&c->base, line, s->id);
	/* It has nothing more to say, so an answer that does not fit is one too. */
	if (!c->is_over && broker_is_asked(c->base.broker, s->id))
		decide_refuse(&c->base, s->id,
			      "the answer of the program that decides does not fit");
}

/* What the program left behind may still hold its output: what has come until now counts. */
static int has_ended(void *user, uint32_t events, struct err *e)
{
	struct slot *s = user;
	struct cmd *c = s->cmd;

	(void)events;
	(void)e;
	if (s->output.fd >= 0)
		read_some(s);
	judge(s, os_reap(s->ended.fd));
	if (c->is_over)
		return 0;
	close_slot(s);
	start_all(c);
	return 0;
}

/* ---- The end -------------------------------------------------------------------------------- */

/* Kills what runs, and waits a moment so that nothing of it is left. */
static void stop(void *self)
{
	struct cmd *c = self;
	uint64_t end_ms = loop_now() + STOP_MS;

	c->is_over = true;
	while (c->first)
		mem_free(take_at(c, &c->first));
	for (size_t i = 0; i < COUNT_OF(c->slots); i++)
		if (c->slots[i].is_used)
			os_program_kill(c->slots[i].ended.fd);
	for (size_t i = 0; i < COUNT_OF(c->slots); i++) {
		struct slot *s = &c->slots[i];
		uint64_t now = loop_now();

		if (!s->is_used)
			continue;
		/* A process that the kernel does not let end is left to it. */
		if (!os_await_child(-1, s->ended.fd, now < end_ms ? (int)(end_ms - now) : 0))
			(void)os_reap(s->ended.fd);
		close_slot(s);
	}
	fd_close(&c->program.file);
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* The interpreter that a "#!" names; false: there is none. */
static bool find_interpreter(const char *head, struct str *out)
{
	size_t at = 2;

	if (head[0] != '#' || head[1] != '!')
		return false;
	while (head[at] == ' ' || head[at] == '\t')
		at++;
	out->p = head + at;
	while (!strchr(" \t\n", head[at]))
		at++;
	out->len = (size_t)(head + at - out->p);
	return true;
}

/*
 * SECURITY: whoever can change the interpreter decides as well. What an interpreter loads is not
 * looked at: for that it has no more than its own defaults and the four variables.
 */
static int check_interpreters(struct arena *a, const struct plan *plan,
			      const char head[START_BYTES], decide_places *places, struct err *e)
{
	char text[START_BYTES], real[PATH_MAX_BYTES], shown[SHOWN_BYTES];
	struct str named;

	memcpy(text, head, sizeof(text));
	for (int i = 0; find_interpreter(text, &named); i++) {
		scoped_fd file = -1;

		text[named.p + named.len - text] = '\0';
		(void)utf8_show(named, shown, sizeof(shown));
		if (i >= MAX_INTERPRETERS || !path_is_absolute(named) ||
		    !os_real_path(named.p, real))
			return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
					  "--ask cmd: its interpreter '%s' can't be used", shown);
		/* The kernel looks for it each time. */
		if (decide_check_way(a, plan, named, "its interpreter ", places, e) < 0)
			return err_result(e);
		file = os_program_open(real, text, sizeof(text));
		if (file < 0)
			return FAIL_SYS_CAUSE(e, CAUSE_DECIDER_UNUSABLE, -file,
					      "--ask cmd: can't use its interpreter '%s'", shown);
	}
	return 0;
}

static bool has_place(const decide_places *places, struct str path)
{
	for (size_t i = 0; i < places->count; i++)
		if (str_eq(places->items[i], path))
			return true;
	return false;
}

/* Without what the command may write, and without the working directory. No link is left. */
static int add_directories(struct arena *a, const struct plan *plan, struct str list,
			   struct buf *out, decide_places *places, struct err *e)
{
	while (list.len) {
		struct str dir = str_first(list, str_find(list, ':')), name, real;
		char room[PATH_MAX_BYTES];
		struct str *added;

		list = str_from(list, dir.len + 1);
		if (arena_copy(a, dir, &name, e) < 0)
			return err_result(e);
		if (!path_is_absolute(dir) || !os_real_path(name.p, room))
			continue;
		real = str_of(room);
		if (str_find(real, ':') < real.len || has_place(places, real) ||
		    plan_may_replace(plan, real, os_may_write))
			continue;
		buf_add_text(out, out->len ? ":" : "");
		buf_add(out, real);
		added = VEC_PUSH(a, places, e);
		if (!added || arena_copy(a, real, added, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int clean_path(struct arena *a, const struct plan *plan, const char *list, struct str *out,
		      decide_places *places, struct err *e)
{
	scoped_buf clean = BUF_INIT(1 << 20);

	if (add_directories(a, plan, str_of(list ? list : ""), &clean, places, e) < 0 ||
	    (!clean.len &&
	     add_directories(a, plan, STR("/usr/local/bin:/usr/bin:/bin"), &clean, places, e) < 0))
		return err_result(e);
	/* An empty one would mean the working directory. */
	if (!clean.len)
		buf_add_text(&clean, "/dev/null");
	return buf_check(&clean, e) < 0 ? err_result(e)
					: arena_printf(a, out, e, "PATH=%s", clean.p);
}

static int make_environment(struct arena *a, const struct decider_setup *setup,
			    const char *const **out, decide_places *places, struct err *e)
{
	static const char *const passed[] = { "HOME", "LANG", "TERM" };
	const char **list = arena_array(a, COUNT_OF(passed) + 2, sizeof(*list), e);
	struct str text;
	size_t count = 0;

	if (!list || clean_path(a, setup->plan, os_environment_find(setup->environment, "PATH"),
				&text, places, e) < 0)
		return err_result(e);
	list[count++] = text.p;
	for (size_t i = 0; i < COUNT_OF(passed); i++) {
		const char *value = os_environment_find(setup->environment, passed[i]);

		if (!value)
			continue;
		if (arena_printf(a, &text, e, "%s=%s", passed[i], value) < 0)
			return err_result(e);
		list[count++] = text.p;
	}
	*out = list;
	return 0;
}

static int open_program(struct arena *a, const struct plan *plan, struct str path,
			struct os_program *out, decide_places *places, struct err *e)
{
	char head[START_BYTES], shown[SHOWN_BYTES];
	int fd;

	if (decide_check_way(a, plan, path, "the program ", places, e) < 0)
		return err_result(e);
	fd = os_program_open(path.p, head, sizeof(head));
	if (fd < 0)
		return FAIL_SYS_CAUSE(e, CAUSE_DECIDER_UNUSABLE, -fd,
				      "--ask cmd:%s: can't execute it",
				      utf8_show(path, shown, sizeof(shown)));
	if (check_interpreters(a, plan, head, places, e) < 0) {
		fd_close(&fd);
		return err_result(e);
	}
	out->file = fd;
	out->is_script = head[0] == '#' && head[1] == '!';
	return 0;
}

int decider_clean_path(struct arena *a, const struct plan *plan, const char *list, struct str *out,
		       struct err *e)
{
	decide_places places = { .items = NULL };

	return clean_path(a, plan, list, out, &places, e);
}

int decider_check_program(struct arena *a, const struct plan *plan, struct str path,
			  decide_places *places, struct err *e)
{
	char real[PATH_MAX_BYTES];
	struct os_program program;

	/* SECURITY: both the links on the way and where they lead to. */
	if (decide_check_way(a, plan, path, "the program ", places, e) < 0)
		return err_result(e);
	if (!os_real_path(path.p, real))
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE, "there is no such program");
	if (open_program(a, plan, str_of(real), &program, places, e) < 0)
		return err_result(e);
	fd_close(&program.file);
	return 0;
}

int decide_cmd_open(struct arena *a, const struct ask_option *option,
		    const struct decider_setup *setup, struct decider *out, struct err *e)
{
	struct cmd *c = ARENA_NEW(a, struct cmd, e);
	const char **argv = arena_array(a, 2, sizeof(*argv), e);

	if (!c || !argv)
		return err_result(e);
	argv[0] = option->path.p;
	c->base = (struct decide_base){
		.by = "cmd", .run = setup->run, .loop = setup->loop, .broker = setup->broker
	};
	c->program.argv = argv;
	c->errors = setup->errors;
	c->last = &c->first;
	for (size_t i = 0; i < COUNT_OF(c->slots); i++) {
		struct slot *s = &c->slots[i];

		*s = (struct slot){ .cmd = c, .output = { .fd = -1 }, .ended = { .fd = -1 } };
		s->answer = arena_alloc(a, ANSWER_ROOM, e);
		if (!s->answer)
			return err_result(e);
	}
	if (make_environment(a, setup, &c->program.environment, &c->places, e) < 0 ||
	    open_program(a, setup->plan, option->path, &c->program, &c->places, e) < 0)
		return err_result(e);
	*out = (struct decider){ .by = c->base.by,
				 .ask = ask,
				 .withdraw = withdraw,
				 .stop = stop,
				 .self = c,
				 .places = c->places.items,
				 .place_count = c->places.count };
	return 0;
}
