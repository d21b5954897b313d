/* SPDX-License-Identifier: MIT */
/* See worker.h. */
#include "tools/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "os/fd.h"
#include "os/posix/native.h"
#include "tools/call.h"
#include "tools/posix/native.h"

enum { LINE = 0, MAX_CHILDREN = 32, FRAME_ROOM = 64 << 10 };

/* A slow call in a process of its own, and what came of its pipe so far. */
struct child {
	pid_t pid; /* 0: none */
	int pipe;
	uint32_t call;
	bool has_answered;
	struct buf bytes;
};

struct worker {
	struct arena scope_arena;
	struct scope scope;
	bool has_scope;
	struct child children[MAX_CHILDREN];
	int out; /* where answers go: the line, or a child's pipe */
	bool is_child;
	uint32_t call;
};

static tool_fn *const functions[TOOL_ALL] = {
	[TOOL_READ_FILE] = tool_read_file,
	[TOOL_WRITE_FILE] = tool_write_file,
	[TOOL_REPLACE_IN_FILE] = tool_replace_in_file,
	[TOOL_DELETE_FILE] = tool_delete_file,
	[TOOL_LIST_FILES] = tool_list_files,
	[TOOL_SEARCH_FILES] = tool_search_files,
	[TOOL_APPLY_PATCH] = tool_apply_patch,
	[TOOL_OPEN_FILE] = tool_open_file,
	[TOOL_CHECK_PATH] = tool_check_path,
};

/* ---- Messages ---------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

static bool read_all(int fd, void *bytes, size_t length)
{
	char *at = bytes;

	while (length) {
		ssize_t n = read(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		length -= (size_t)n;
	}
	return true;
}

/* A descriptor goes with the first byte. */
static bool send_first(int fd, const char *byte, int passed)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec part = { (char *)(uintptr_t)byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };
	ssize_t n;

	memcpy(CMSG_DATA(&control.head), &passed, sizeof(passed));
	do
		n = sendmsg(fd, &message, native_no_signal);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* One write for what is short: it wakes the other side once. `passed` -1: no descriptor. */
static bool send_message(int fd, struct wire_head head, int passed, const struct str *parts,
			 size_t count)
{
	unsigned char bytes[WIRE_HEAD_BYTES];
	scoped_buf whole = BUF_INIT(WIRE_MAX_BYTES);
	size_t first = passed >= 0;

	for (size_t i = 0; i < count; i++)
		head.length += (uint32_t)parts[i].len;
	wire_put_head(bytes, head);
	buf_add(&whole, (struct str){ (const char *)bytes, sizeof(bytes) });
	for (size_t i = 0; i < count; i++)
		buf_add(&whole, parts[i]);
	return whole.failed == ERR_OK && (!first || send_first(fd, whole.p, passed)) &&
	       write_all(fd, whole.p + first, whole.len - first);
}

static bool send_parts(int fd, enum wire_kind kind, uint32_t call, const struct str *parts,
		       size_t count)
{
	return send_message(fd, (struct wire_head){ 0, (uint8_t)kind, call }, -1, parts, count);
}

static bool send_result(const struct worker *w, const struct tool_result *result, int passed)
{
	unsigned char facts[5] = { result->is_error };
	const struct str parts[] = { { (const char *)facts, sizeof(facts) },
				     result->text,
				     result->structured };

	wire_put32(facts + 1, (uint32_t)result->text.len);
	return send_message(w->out, (struct wire_head){ 0, WIRE_RESULT, w->call }, passed, parts,
			    COUNT_OF(parts));
}

static bool send_failure(int fd, uint32_t call, const char *text)
{
	const struct str part = str_of(text);

	return send_parts(fd, WIRE_FAILED, call, &part, 1);
}

static void put64(unsigned char *to, uint64_t n)
{
	wire_put32(to, (uint32_t)n);
	wire_put32(to + 4, (uint32_t)(n >> 32));
}

static void send_progress(void *user, uint64_t done, uint64_t total, struct str message)
{
	const struct worker *w = user;
	unsigned char numbers[16];
	const struct str parts[] = { { (const char *)numbers, sizeof(numbers) }, message };

	put64(numbers, done);
	put64(numbers + 8, total);
	(void)send_parts(w->out, WIRE_PROGRESS, w->call, parts, COUNT_OF(parts));
}

/* ---- Calls --------------------------------------------------------------------------------------- */

static struct child *find_room(struct worker *w)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (!w->children[i].pid)
			return &w->children[i];
	return NULL;
}

static int work(struct worker *w, struct arena *a, enum tool_id tool, struct str arguments,
		struct call *call, struct tool_result *result, struct err *e)
{
	const struct json *parsed = json_parse(a, arguments, e);
	int r;

	if (!parsed)
		return err_result(e);
	call_init(call, a, &w->scope, parsed);
	call->user = w;
	call->tool = tools[tool].name;
	call->progress = send_progress;
	call->must_not_wait = !w->is_child && find_room(w);
	r = functions[tool](call, e);
	/* A limit of one call is the caller's business, and not the end of anything. */
	if (r < 0 && !call->refusal.is_set && e->code == ERR_LIMIT)
		r = call_refuse(call, REFUSAL_TOO_LARGE, "%s", e->text);
	else if (r < 0 && !call->refusal.is_set && e->code == ERR_SYS)
		r = call_refuse(call, REFUSAL_CONFLICT, "%s", e->text);
	return call_finish(call, r, result, e);
}

enum answered { ANSWER_SENT, ANSWER_LATER, ANSWER_BROKEN };

/* LATER: it would have to wait, and nothing was done. BROKEN: the line is. */
static enum answered answer(struct worker *w, enum tool_id tool, struct str arguments)
{
	scoped_arena a = ARENA_INIT(CALL_MAX_BYTES);
	struct tool_result result;
	struct call call = { .a = &a, .passed = -1 };
	struct err e = ERR_INIT;
	int r = work(w, &a, tool, arguments, &call, &result, &e);
	bool is_later = call.would_wait;
	bool is_sent = is_later || (r == 0 ? send_result(w, &result, call.passed)
					   : send_failure(w->out, w->call, e.text));

	fd_done(&call.passed);
	call_done(&call);
	return is_later ? ANSWER_LATER : is_sent ? ANSWER_SENT : ANSWER_BROKEN;
}

static void be_child(struct worker *w, int pipe, enum tool_id tool, struct str arguments)
{
	tools_die_with_parent();
	fd_done(&(int){ LINE });
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (w->children[i].pid)
			fd_done(&w->children[i].pipe);
	w->out = pipe;
	w->is_child = true;
	_exit(answer(w, tool, arguments) == ANSWER_SENT ? 0 : 1);
}

/* False: there is no room for another process; then it is done here. */
static bool fork_call(struct worker *w, enum tool_id tool, struct str arguments)
{
	struct child *child = find_room(w);
	int ends[2];
	pid_t pid;

	if (!child || pipe(ends) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		fd_done(&ends[0]);
		be_child(w, ends[1], tool, arguments);
	}
	fd_done(&ends[1]);
	if (pid < 0) {
		fd_done(&ends[0]);
		return false;
	}
	*child = (struct child){
		.pid = pid, .pipe = ends[0], .call = w->call, .bytes = BUF_INIT(WIRE_MAX_BYTES)
	};
	return true;
}

static bool take_call(struct worker *w, struct str payload)
{
	unsigned tool = payload.len ? (unsigned char)payload.p[0] : TOOL_ALL;
	struct str arguments = str_from(payload, 1);

	if (tool >= TOOL_ALL || !functions[tool] || !w->has_scope)
		return send_failure(LINE, w->call, "the worker does not know this tool");
	if (tools[tool].is_slow && fork_call(w, (enum tool_id)tool, arguments))
		return true;
	switch (answer(w, (enum tool_id)tool, arguments)) {
	case ANSWER_SENT:
		return true;
	case ANSWER_LATER:
		return fork_call(w, (enum tool_id)tool, arguments) ||
		       send_failure(LINE, w->call, "there is no process for it");
	case ANSWER_BROKEN:
		break;
	}
	return false;
}

static void end_child(struct child *child)
{
	int status;

	(void)kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	fd_done(&child->pipe);
	buf_done(&child->bytes);
	child->pid = 0;
}

static void cancel_call(struct worker *w, uint32_t call)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (w->children[i].pid && w->children[i].call == call)
			end_child(&w->children[i]);
}

static bool take_scope(struct worker *w, struct str payload)
{
	struct err e = ERR_INIT;

	arena_done(&w->scope_arena);
	w->scope_arena = (struct arena)ARENA_INIT((size_t)8 * SCOPE_MAX_BYTES);
	w->has_scope = scope_parse(&w->scope_arena, payload, &w->scope, &e) == 0;
	return w->has_scope;
}

static bool take_message(struct worker *w)
{
	unsigned char bytes[WIRE_HEAD_BYTES];
	struct wire_head head;
	struct err e = ERR_INIT;
	char *payload;
	bool is_fine;

	if (!read_all(LINE, bytes, sizeof(bytes)))
		return false;
	head = wire_get_head(bytes);
	if (head.length > WIRE_MAX_BYTES || !(payload = mem_new((size_t)head.length + 1, &e)))
		return false;
	w->out = LINE;
	w->call = head.call;
	is_fine = read_all(LINE, payload, head.length);
	if (is_fine && head.kind == WIRE_SCOPE)
		is_fine = take_scope(w, (struct str){ payload, head.length });
	else if (is_fine && head.kind == WIRE_CALL)
		is_fine = take_call(w, (struct str){ payload, head.length });
	else if (is_fine && head.kind == WIRE_CANCEL)
		cancel_call(w, head.call);
	mem_free(payload);
	return is_fine;
}

/* ---- Children --------------------------------------------------------------------------------------- */

/* Passes on what is complete. */
static bool pass_on(struct child *child)
{
	struct str rest = buf_str(&child->bytes);
	scoped_buf left = BUF_INIT(WIRE_MAX_BYTES);
	bool is_fine = true;

	while (is_fine && rest.len >= WIRE_HEAD_BYTES) {
		struct wire_head head = wire_get_head((const unsigned char *)rest.p);
		size_t whole = (size_t)head.length + WIRE_HEAD_BYTES;

		if (head.length > WIRE_MAX_BYTES || rest.len < whole)
			break;
		child->has_answered |= head.kind != WIRE_PROGRESS;
		is_fine = write_all(LINE, rest.p, whole);
		rest = str_from(rest, whole);
	}
	if (rest.len == child->bytes.len)
		return is_fine;
	buf_add(&left, rest);
	buf_clear(&child->bytes);
	buf_add(&child->bytes, buf_str(&left));
	return is_fine;
}

static bool read_child(struct child *child)
{
	char block[FRAME_ROOM];
	ssize_t n = read(child->pipe, block, sizeof(block));

	if (n < 0 && errno == EINTR)
		return true;
	if (n > 0) {
		buf_add(&child->bytes, (struct str){ block, (size_t)n });
		if (child->bytes.failed == ERR_OK)
			return pass_on(child);
	}
	if (!child->has_answered &&
	    !send_failure(LINE, child->call, "the process that worked for this call has ended"))
		return false;
	end_child(child);
	return true;
}

static bool wait_and_work(struct worker *w)
{
	struct pollfd ready[1 + MAX_CHILDREN] = { { .fd = LINE, .events = POLLIN } };

	for (size_t i = 0; i < MAX_CHILDREN; i++)
		ready[1 + i] = (struct pollfd){ .fd = w->children[i].pid ? w->children[i].pipe : -1,
						.events = POLLIN };
	if (poll(ready, COUNT_OF(ready), -1) < 0)
		return errno == EINTR;
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (ready[1 + i].revents && !read_child(&w->children[i]))
			return false;
	return !ready[0].revents || take_message(w);
}

int tools_worker_main(int argc, char **argv)
{
	static struct worker w;

	(void)argc;
	(void)argv;
	(void)signal(SIGPIPE, SIG_IGN);
	while (wait_and_work(&w))
		;
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (w.children[i].pid)
			end_child(&w.children[i]);
	return 0;
}
