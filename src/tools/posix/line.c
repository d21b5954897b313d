/* SPDX-License-Identifier: MIT */
/*
 * The worker of a project: started like every run, in a sandbox of the same policy, with a socket as its
 * standard input. When it ends while calls wait, it is started once more for them.
 *
 * When the policy has changed, another worker takes its place. The one before ends as soon as the edits that it
 * has begun are answered: begun once more, an edit would not find what it has changed already.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/kernel_file.h"
#include "os/posix/native.h"
#include "tools/box.h"
#include "tools/posix/native.h"
#include "tools/worker.h"

enum {
	LINE_MAX_BYTES = 256 << 20,
	READ_ROOM = 64 << 10,
	LINE_BUFFER_BYTES = 256 << 20,
	ANSWER_TREE_BYTES = 256 << 20,
};

struct line {
	struct tool_project *project;
	struct line *older; /* of the same project; these take no calls any more */
	bool is_busy;	    /* don't free it: somebody below uses it */
	struct arena arena;
	cordon_policy *policy; /* with what is granted now */
	struct session *session;
	int fd;
	struct watcher socket, run;
	bool wants_out;
	int passed; /* a descriptor that came with what is in `in`; -1: none */
	struct buf in, out;
	size_t sent;
	struct str last_words; /* of the session */
};

const struct cordon_policy *line_policy(const struct tool_project *project)
{
	return project->line ? project->line->policy : NULL;
}

/* ---- The session's words --------------------------------------------------------------------------- */

static void session_warns(void *user, struct str text)
{
	const struct line *line = user;

	box_log(line->project->box, "%.*s", (int)MIN_OF(text.len, (size_t)2000), text.p);
}

static void session_traces(void *user, struct str text)
{
	(void)user;
	(void)text;
}

static void session_outputs(void *user, int stream, struct str bytes)
{
	(void)stream;
	session_warns(user, bytes);
}

/* ---- Its end ------------------------------------------------------------------------------------------ */

static void line_free(struct line *line)
{
	struct loop *loop = line->project->box->loop;
	struct line **at = &line->project->line;

	if (*at != line)
		at = &line->project->old_lines;
	while (*at != line)
		at = &(*at)->older;
	*at = line->older;
	loop_remove(loop, &line->socket);
	loop_remove(loop, &line->run);
	fd_done(&line->fd);
	fd_done(&line->passed);
	if (line->session)
		session_done(line->session);
	cordon_policy_free(line->policy);
	buf_done(&line->in);
	buf_done(&line->out);
	arena_done(&line->arena);
	mem_free(line);
}

static bool waits_for(const struct toolbox_call *call, const struct line *line)
{
	return call->state == CALL_SENT && call->line == line;
}

static struct toolbox_call *find_waiting(const struct line *line)
{
	struct toolbox_call *call = line->project->box->calls;

	while (call && !waits_for(call, line))
		call = call->next;
	return call;
}

static void send_later(struct toolbox_call *call)
{
	call->state = CALL_NEW;
	call->line = NULL;
	loop_set_next_step(call->box->loop, &call->box->later);
}

/* Its calls are tried once more, by a new worker. */
static void lose(struct line *line, const char *why)
{
	struct toolbox *box = line->project->box;
	struct toolbox_call *call;

	box_log(box, "the worker of the file tools has ended: %s", why);
	box->restarts++;
	line->is_busy = true;
	while ((call = find_waiting(line))) {
		if (call->was_retried) {
			call->state = CALL_RUNS;
			box_refuse(call, REFUSAL_CONFLICT,
				   "the sandbox of the file tools has ended twice during this "
				   "call; the file is as it was, or as it was to be");
		} else {
			call->was_retried = true;
			send_later(call);
		}
	}
	line_free(line);
}

static void end_if_idle(struct line *line)
{
	if (line != line->project->line && !line->is_busy && !find_waiting(line))
		line_free(line);
}

void line_end(struct tool_project *project)
{
	struct line *line = project->line;

	if (!line)
		return;
	project->line = NULL;
	line->older = project->old_lines;
	project->old_lines = line;
	for (struct toolbox_call *c = project->box->calls; c; c = c->next)
		if (waits_for(c, line) && c->request.tool->is_read_only)
			send_later(c);
	end_if_idle(line);
}

void line_free_all(struct tool_project *project)
{
	if (project->line)
		line_free(project->line);
	while (project->old_lines)
		line_free(project->old_lines);
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static int flush(struct line *line, struct err *e)
{
	struct loop *loop = line->project->box->loop;

	while (line->sent < line->out.len) {
		ssize_t n = send(line->fd, line->out.p + line->sent, line->out.len - line->sent,
				 MSG_DONTWAIT | native_no_signal);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		line->sent += (size_t)n;
	}
	if (line->sent == line->out.len) {
		line->sent = 0;
		buf_clear(&line->out);
	}
	if (line->wants_out == (line->out.len > 0))
		return 0;
	line->wants_out = line->out.len > 0;
	return loop_change(loop, &line->socket, line->wants_out ? LOOP_IN | LOOP_OUT : LOOP_IN, e);
}

static int tell(struct line *line, enum wire_kind kind, uint32_t call, const struct str *parts,
		size_t count, struct err *e)
{
	unsigned char head[WIRE_HEAD_BYTES];
	size_t length = 0;

	for (size_t i = 0; i < count; i++)
		length += parts[i].len;
	wire_put_head(head, (struct wire_head){ (uint32_t)length, (uint8_t)kind, call });
	buf_add(&line->out, (struct str){ (const char *)head, sizeof(head) });
	for (size_t i = 0; i < count; i++)
		buf_add(&line->out, parts[i]);
	return buf_check(&line->out, e) < 0 ? err_result(e) : flush(line, e);
}

static struct toolbox_call *find_call(struct line *line, uint32_t number)
{
	for (struct toolbox_call *c = line->project->box->calls; c; c = c->next)
		if (c->number == number && waits_for(c, line))
			return c;
	return NULL;
}

static uint64_t get64(const char *p)
{
	const unsigned char *at = (const unsigned char *)p;

	return wire_get32(at) | (uint64_t)wire_get32(at + 4) << 32;
}

static bool is_text(struct str s)
{
	return !str_has_nul(s) && utf8_check(s) == s.len;
}

/* One line, and an object: what is more would be taken for messages of the server. */
static bool is_json_line(struct str s)
{
	scoped_arena a = ARENA_INIT(ANSWER_TREE_BYTES);
	struct err ignored = ERR_INIT;
	const struct json *value;

	if (str_has_suffix(s, STR("\n")))
		s.len--;
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.p[i] < 0x20)
			return false;
	value = json_parse_paths(&a, s, &ignored);
	return value && value->type == JSON_OBJECT;
}

static void take_progress(const struct toolbox_call *call, struct str payload)
{
	struct str message = str_from(payload, 16);
	uint64_t done, total;

	if (!call->request.progress || payload.len < 16 || !is_text(message))
		return;
	done = get64(payload.p);
	total = get64(payload.p + 8);
	if (done <= INT64_MAX && total <= INT64_MAX)
		call->request.progress(call->request.user, done, total, message);
}

/*
 * SECURITY: whatever a worker that was taken over passes, the host program gets a regular file, of those that
 * the sandbox lets it open.
 */
static bool is_file(int fd, bool writes)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !tools_is_for_names(flags) &&
	       (flags & O_ACCMODE) == (writes ? O_RDWR : O_RDONLY) && fstat(fd, &st) == 0 &&
	       S_ISREG(st.st_mode) && !os_is_of_kernel(fd);
}

/* False: there should be a descriptor, and there is none. */
static bool take_passed(const struct toolbox_call *call, int *passed)
{
	const struct json *access = json_find(call->arguments, "access");

	if (!access || !is_file(*passed, !str_is(access->string, "read")))
		return false;
	if (call->request.opened) {
		call->request.opened(call->request.user, *passed);
		*passed = -1;
	}
	return true;
}

static void take_result(struct toolbox_call *call, struct str payload)
{
	scoped_fd passed = call->line->passed;
	bool opens = call->request.tool->id == TOOL_OPEN_FILE;
	struct tool_result result;
	size_t text;

	call->line->passed = -1;
	call->state = CALL_RUNS;
	if (payload.len < 5 ||
	    (text = wire_get32((const unsigned char *)payload.p + 1)) > payload.len - 5) {
		box_refuse(call, REFUSAL_CONFLICT, "the worker gave an answer that is none");
		return;
	}
	result.is_error = payload.p[0] != 0;
	result.text = str_first(str_from(payload, 5), text);
	result.structured = str_from(payload, 5 + text);
	if (is_text(result.text) && is_json_line(result.structured) &&
	    (!opens || result.is_error || take_passed(call, &passed)))
		box_take(call, &result);
	else
		box_refuse(call, REFUSAL_CONFLICT, "the worker gave an answer that is none");
}

/*
 * SECURITY: it comes from inside, where a hostile file may have taken the worker over: a number of no call, or a
 * length that is too large, changes nothing, and what is no text or no JSON goes no further.
 */
static void take_message(struct line *line, struct wire_head head, struct str payload)
{
	struct toolbox_call *call = find_call(line, head.call);

	if (!call)
		return;
	if (head.kind == WIRE_PROGRESS) {
		take_progress(call, payload);
	} else if (head.kind == WIRE_RESULT) {
		take_result(call, payload);
	} else if (head.kind == WIRE_FAILED) {
		call->state = CALL_RUNS;
		box_refuse(call, REFUSAL_CONFLICT, "the tool failed: %.*s", STR_ARG(payload));
	}
}

/* What is complete is taken out of it before a callback does something with it. */
static bool take_next(struct line *line, struct err *e)
{
	struct str rest = buf_str(&line->in);
	scoped_buf message = BUF_INIT((size_t)2 * WIRE_ANSWER_MAX_BYTES);
	scoped_buf left = BUF_INIT(LINE_BUFFER_BYTES);
	struct wire_head head;
	size_t whole;

	if (rest.len < WIRE_HEAD_BYTES)
		return false;
	head = wire_get_head((const unsigned char *)rest.p);
	whole = (size_t)head.length + WIRE_HEAD_BYTES;
	if (head.length > WIRE_ANSWER_MAX_BYTES) {
		(void)FAIL(e, ERR_LIMIT, "its message is too long");
		return false;
	}
	if (rest.len < whole)
		return false;
	buf_add(&message, str_first(rest, whole));
	if (rest.len > whole)
		buf_add(&left, str_from(rest, whole));
	buf_clear(&line->in);
	buf_add(&line->in, buf_str(&left));
	if (message.failed != ERR_OK || line->in.failed != ERR_OK) {
		(void)FAIL(e, ERR_NOMEM, "out of memory");
		return false;
	}
	take_message(line, head, str_from(buf_str(&message), WIRE_HEAD_BYTES));
	return true;
}

static int socket_is_ready(void *user, uint32_t events, struct err *e)
{
	struct line *line = user;
	struct err why = ERR_INIT;
	char block[READ_ROOM];
	ssize_t n;

	(void)e;
	if ((events & LOOP_OUT) && flush(line, &why) < 0) {
		lose(line, why.text);
		return 0;
	}
	n = tools_receive(line->fd, block, sizeof(block), &line->passed);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		lose(line, n < 0 && errno == EPROTO ? "it passes more than one descriptor"
						    : "it has closed its socket");
		return 0;
	}
	buf_add(&line->in, (struct str){ block, (size_t)n });
	line->is_busy = true;
	while (take_next(line, &why))
		;
	line->is_busy = false;
	if (why.code != ERR_OK)
		lose(line, why.text);
	else
		end_if_idle(line);
	return 0;
}

static int run_is_ready(void *user, uint32_t events, struct err *e)
{
	struct line *line = user;
	struct err why = ERR_INIT;
	int r = session_step(line->session, 0, &why);

	(void)events;
	(void)e;
	if (r < 0)
		lose(line, why.text);
	else if (r > 0)
		lose(line, session_outcome(line->session)->exec_error
				   ? session_outcome(line->session)->exec_text.p
				   : "the sandbox is over");
	return 0;
}

/* ---- Its start ------------------------------------------------------------------------------------------ */

static int load(struct line *line, struct err *e)
{
	const struct toolbox *box = line->project->box;
	struct grant *grants = arena_array(&line->arena, box->grants.count + 1, sizeof(*grants), e);
	const struct cordon_load_options options = { .size = sizeof(options) };
	struct run_needs needs = { .asks = true, .grants = grants };

	if (!grants)
		return err_result(e);
	for (size_t i = 0; i < box->grants.count; i++)
		if (box->grants.items[i].grant.kind == ASK_WRITE)
			grants[needs.grant_count++] = box->grants.items[i].grant;
	line->policy = load_again(line->project->policy, &options, &needs, e);
	return line->policy ? 0 : err_result(e);
}

static int launch(struct line *line, int input, struct err *e)
{
	struct session_request in;
	struct str program;

	if (tools_find_worker(&line->arena, &program, e) < 0)
		return err_wrap(e, "the worker of the file tools");
	if (asked_session(&line->arena, &line->project->asked, line->policy, &in, e) < 0)
		return err_result(e);
	in.argv = tools_worker_argv;
	in.program = program.p;
	in.input = input;
	in.has_no_stdin = false;
	in.hands_out = true;
	in.is_quiet = true;
	in.judges_itself = true;
	in.timeout_ms = 0;
	in.user = line;
	in.warn = session_warns;
	in.trace = session_traces;
	in.output = session_outputs;
	return session_start(&line->arena, &in, &line->session, e);
}

/* The first is that of relative paths. The others are guarded in the same way, whichever worker is asked. */
static int fill_roots(struct arena *a, const struct tool_project *first, struct scope *out,
		      struct err *e)
{
	const struct tool_project *p = first;

	while (p) {
		struct scope_root *root = VEC_PUSH(a, &out->roots, e);

		if (!root)
			return err_result(e);
		*root = (struct scope_root){ .path = p->path,
					     .device = p->device,
					     .inode = p->inode,
					     .is_read_only = p->is_read_only };
		p = p == first ? first->box->projects : p->next;
		if (p == first)
			p = p->next;
	}
	return 0;
}

static int send_scope(struct line *line, struct err *e)
{
	const struct plan *plan = line->policy->plan;
	const struct outcome *o = session_outcome(line->session);
	scoped_arena a = ARENA_INIT(SCOPE_MAX_BYTES);
	scoped_buf bytes = BUF_INIT(SCOPE_MAX_BYTES);
	struct scope scope = { .plan = plan, .home = plan->places.home };
	struct str part;

	scope.folds = plan->host->folds;
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++)
		scope.private_tmp[i] = plan->policy->profile->tmp_is_private
					       ? places_tmp(&plan->places, i)
					       : STR_EMPTY;
	if (fill_roots(&a, line->project, &scope, e) < 0 ||
	    scope_set_guard(&a, &line->policy->policy->settings, &scope, e) < 0 ||
	    box_print_sandbox(&a, line->project, o->is_sandboxed ? o->backend->name : "none",
			      &scope.sandbox, e) < 0)
		return err_result(e);
	scope_print(&bytes, &scope);
	if (buf_check(&bytes, e) < 0)
		return err_result(e);
	part = buf_str(&bytes);
	return tell(line, WIRE_SCOPE, 0, &part, 1, e);
}

/* SECURITY: one that can't be told would not know which project is read-only. */
void line_tell_roots(struct tool_project *project)
{
	struct err ignored = ERR_INIT;

	if (project->line && send_scope(project->line, &ignored) < 0)
		line_end(project);
}

static int begin(struct line *line, struct err *e)
{
	struct loop *loop = line->project->box->loop;
	int ends[2], r;

	if (load(line, e) < 0)
		return err_result(e);
	r = tools_make_line(ends);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a socket for the worker");
	line->fd = ends[0];
	r = launch(line, ends[1], e);
	fd_done(&ends[1]);
	if (r < 0)
		return r;
	line->socket = (struct watcher){ .fd = line->fd, .ready = socket_is_ready, .user = line };
	line->run = (struct watcher){ .fd = session_descriptor(line->session),
				      .ready = run_is_ready,
				      .user = line };
	if (loop_add(loop, &line->run, LOOP_IN, e) < 0 ||
	    loop_add(loop, &line->socket, LOOP_IN, e) < 0)
		return err_result(e);
	return send_scope(line, e);
}

static int line_begin(struct tool_project *p, struct err *e)
{
	struct line *line = mem_new(sizeof(*line), e);

	if (!line)
		return err_result(e);
	*line = (struct line){ .project = p,
			       .arena = ARENA_INIT(LINE_MAX_BYTES),
			       .fd = -1,
			       .passed = -1,
			       .in = BUF_INIT(LINE_BUFFER_BYTES),
			       .out = BUF_INIT(LINE_BUFFER_BYTES) };
	p->line = line;
	if (begin(line, e) < 0) {
		line_free(line);
		return err_result(e);
	}
	return 0;
}

int line_send(struct toolbox_call *call, struct err *e)
{
	struct tool_project *p = call->project;
	char tool = (char)call->sent_as;
	const struct str parts[] = { { &tool, 1 }, buf_str(&call->text) };

	if (!p->line && line_begin(p, e) < 0)
		return err_result(e);
	call->state = CALL_SENT;
	call->line = p->line;
	return tell(p->line, WIRE_CALL, call->number, parts, COUNT_OF(parts), e);
}

void line_cancel(struct toolbox_call *call)
{
	struct err ignored = ERR_INIT;

	(void)!tell(call->line, WIRE_CANCEL, call->number, NULL, 0, &ignored);
	call->state = CALL_RUNS;
	end_if_idle(call->line);
}
