/* SPDX-License-Identifier: MIT */
/*
 * Tools inside a sandbox of Cordon, which can't make another: worker and commands run in the one that is around
 * them, and its supervisor is asked for more.
 *
 * SECURITY: the file tools judge by the policy of this session as everywhere, and the kernel holds them to that of
 * the sandbox around: whichever is narrower counts. A command is held to the latter alone, so it is run only
 * where both are the same (session/outer.c).
 */
#include "session/outer.h"
#include "backend/inside.h"
#include "base/json.h"
#include "os/fd.h"
#include "os/local_socket.h"
#include "report/request.h"
#include "tools/box.h"

int box_find_outer(struct toolbox *box, struct err *e)
{
	struct outer outer;

	if (box->run.backend && strcmp(box->run.backend, backend_outer.name) != 0)
		return 0;
	if (outer_find(&box->arena, &outer, e) < 0)
		return err_result(e);
	box->is_outer = outer.is_there;
	box->outer_backend = outer.backend;
	box->outer_profile = outer.profile;
	if (box->is_outer)
		box->run.backend = backend_outer.name;
	return 0;
}

/* ---- Asking ---------------------------------------------------------------------------------------- */

static void write_question(struct buf *out, const struct toolbox_call *call, struct str path)
{
	struct json_writer w = JSON_LINE_INIT(out);
	char reason[128];
	struct buf text = BUF_OVER(reason);

	buf_printf(&text, "the tool %s of cordon mcp", call->request.tool->name);
	json_begin_object(&w);
	json_key(&w, "type");
	json_add_text(&w, "request");
	json_key(&w, "kind");
	json_add_text(&w, "write");
	request_add_text(&w, "subject", path);
	request_add_reason(&w, text.p);
	json_end_object(&w);
}

/* No grant, or none that can be used: a deny. */
static struct answer read_answer(const struct json *root)
{
	const struct json *grant = json_find(root, "grant");
	struct answer answer = { .by = "outer", .scope = SCOPE_RUN };

	if (!value_bool(root, "granted") || !grant || grant->type != JSON_OBJECT ||
	    !str_is(value_str(grant, "kind"), "write") ||
	    !str_has_prefix(value_str(grant, "path"), STR("/")))
		return answer;
	answer.is_allow = true;
	answer.grant = (struct grant){ .kind = ASK_WRITE,
				       .subject = value_str(grant, "path"),
				       .is_dir = value_bool(grant, "dir") };
	return answer;
}

static int answer_is_there(void *user, uint32_t events, struct err *e)
{
	struct toolbox_call *call = user;
	scoped_buf text = BUF_INIT(REQUEST_MESSAGE_MAX);
	struct answer answer = { .by = "outer" };
	struct err ignored = ERR_INIT; /* then it is denied */
	const struct json *root;
	int r = local_socket_hear(call->watcher.fd, &text);

	(void)events;
	(void)e;
	box_leave_outer(call);
	if (r == 0 && request_read(&call->arena, buf_str(&text), &root, &ignored) == 0)
		answer = read_answer(root);
	asking_take(call->box, call, &answer);
	return 0;
}

bool box_ask_outer(struct toolbox_call *call, struct str path)
{
	scoped_buf question = BUF_INIT(REQUEST_MESSAGE_MAX);
	struct err ignored = ERR_INIT;
	int fd;

	write_question(&question, call, path);
	if (buf_check(&question, &ignored) < 0)
		return false;
	fd = local_socket_reach(INSIDE_SOCKET);
	if (fd < 0)
		return false;
	call->watcher = (struct watcher){ .fd = fd, .ready = answer_is_there, .user = call };
	if (local_socket_say(fd, buf_str(&question)) < 0 ||
	    loop_add(call->box->loop, &call->watcher, LOOP_IN, &ignored) < 0) {
		fd_close(&call->watcher.fd);
		return false;
	}
	call->state = CALL_ASKS;
	return true;
}

void box_leave_outer(struct toolbox_call *call)
{
	loop_remove(call->box->loop, &call->watcher);
	fd_close(&call->watcher.fd);
}

/* ---- What it has refused ----------------------------------------------------------------------------- */

void box_add_outer_refusals(struct toolbox_call *call, struct buf *out)
{
	scoped_buf lines = BUF_INIT(REQUEST_MESSAGE_MAX);
	struct err ignored = ERR_INIT; /* it is advice */
	struct str rest, line;

	if (request_refused(&call->arena, &lines, &ignored) < 0)
		return;
	for (rest = buf_str(&lines); str_next_line(&rest, &line);)
		if (line.len)
			buf_printf(out, "\n[refused: %.*s]", STR_ARG(line));
}
