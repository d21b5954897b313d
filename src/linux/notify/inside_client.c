/* SPDX-License-Identifier: MIT */
/* See inside_client.h. */
#include "linux/notify/inside_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "linux/notify/caller_words.h"
#include "linux/notify/connector.h"
#include "os/fd.h"
#include "os/fd_pass.h"

enum {
	READS_AT_ONCE = 4,	   /* before others have their turn */
	CLOSE_AFTER_MS = 50,	   /* many at once: each time is a fork */
	PARSE_MAX_BYTES = 8 << 20, /* of one message's tree */
	TAKE_BYTES = 4 * 4096,	   /* for the paths of streams */
};

/* ---- The end ------------------------------------------------------------------------------ */

/*
 * Whether nothing is left in the socket that closing it would close. SECURITY: the last close of a
 * descriptor that a client has sent may block (SO_LINGER).
 */
static bool is_drained(int socket)
{
	char byte;

	return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void forget_frame(struct inside_client *c)
{
	mem_free(c->body);
	c->body = NULL;
	c->head_got = c->size = c->got = 0;
}

void inside_client_end(struct inside_client *c)
{
	struct loop *loop;

	if (c->state == CLIENT_NONE || c->state == CLIENT_ENDED)
		return;
	loop = c->owner->engine->loop;
	loop_remove(loop, &c->socket);
	loop_remove(loop, &c->process);
	fd_close(&c->process.fd);
	forget_frame(c);
	mem_free(c->answer);
	c->answer = NULL;
	c->request = 0;
	c->is_served = false;
	if (is_drained(c->socket.fd)) {
		fd_close(&c->socket.fd);
		c->state = CLIENT_NONE;
		return;
	}
	(void)shutdown(c->socket.fd, SHUT_RDWR);
	c->state = CLIENT_ENDED;
	if (c->owner->closing.at_ms == 0)
		loop_set_timer(loop, &c->owner->closing, loop_now() + CLOSE_AFTER_MS);
}

int inside_client_take_left(struct inside_client *c)
{
	int left = c->state == CLIENT_ENDED ? c->socket.fd : -1;

	if (left >= 0) {
		c->socket.fd = -1;
		c->state = CLIENT_NONE;
	}
	return left;
}

/* Nobody waits for the answer any more. */
static void leave(struct inside_client *c)
{
	const struct inside_events *events = c->owner->events;
	uint64_t id = c->request;
	bool was_waiting = c->state == CLIENT_WAITS || c->is_served;

	inside_client_end(c);
	if (was_waiting)
		events->unrequest(events->user, id);
}

/* What it has sent is no message. */
static void break_off(struct inside_client *c)
{
	c->owner->counts.broken++;
	leave(c);
}

/* ---- Answering ------------------------------------------------------------------------------ */

static void wait_for(struct inside_client *c, enum client_state state, uint32_t events)
{
	struct err ignored = ERR_INIT;

	c->state = state;
	if (loop_change(c->owner->engine->loop, &c->socket, events, &ignored) < 0)
		leave(c);
}

static void write_some(struct inside_client *c)
{
	while (c->answered < c->answer_size) {
		ssize_t n = fd_pass_tell(c->socket.fd, c->answer + c->answered,
					 c->answer_size - c->answered, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			leave(c);
			return;
		}
		if (n < 0) {
			if (c->state != CLIENT_ANSWERS)
				wait_for(c, CLIENT_ANSWERS, LOOP_OUT);
			return;
		}
		c->answered += (size_t)n;
	}
	mem_free(c->answer);
	c->answer = NULL;
	wait_for(c, CLIENT_READS, LOOP_IN);
}

static const char too_long[] = "{\"type\": \"error\", \"message\": \"the answer is too long\"}";

/* Behind what is not written yet: the first answer to an ESCALATE may still be. */
void inside_client_answer(struct inside_client *c, struct str json, bool goes_on)
{
	size_t left = c->answer ? c->answer_size - c->answered : 0;
	struct err ignored = ERR_INIT;
	char *both;

	if (json.len > INSIDE_MESSAGE_MAX)
		json = str_of(too_long);
	both = mem_new(left + INSIDE_LENGTH_BYTES + json.len, &ignored);
	if (!both) {
		leave(c);
		return;
	}
	if (left)
		memcpy(both, c->answer + c->answered, left);
	inside_write_length((unsigned char *)both + left, json.len);
	memcpy(both + left + INSIDE_LENGTH_BYTES, json.p, json.len);
	mem_free(c->answer);
	c->answer = both;
	c->answered = 0;
	c->answer_size = left + INSIDE_LENGTH_BYTES + json.len;
	c->is_served = goes_on;
	if (!goes_on)
		c->request = 0;
	write_some(c);
}

static void answer_error(struct inside_client *c, const char *why)
{
	scoped_buf text = BUF_INIT(1024);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_begin_object(&w);
	json_key(&w, "type");
	json_add_text(&w, "error");
	json_key(&w, "message");
	json_add_text(&w, why);
	json_end_object(&w);
	inside_client_answer(c, text.failed == ERR_OK ? buf_str(&text) : str_of(too_long), false);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool is_alive(const struct inside_client *c)
{
	struct pollfd process = { .fd = c->process.fd, .events = POLLIN };

	return poll(&process, 1, 0) == 0;
}

static struct inside_request make_request(struct inside_client *c, const struct inside_message *m,
					  const struct caller_words *words, struct str subject)
{
	return (struct inside_request){
		.id = ++c->owner->last_request,
		.kind = m->kind,
		.subject = subject,
		.named = m->subject,
		.run = m->run,
		.reason = m->reason,
		.program = words->program,
		.pid = c->inner_pid,
		.argv = words->words,
		.argv_count = words->count,
		.cwd = words->cwd,
		.command = m->command,
		.command_count = m->command_count,
		.file = m->file,
		.is_optional = m->is_optional,
	};
}

/* Whether it could be told. */
static bool tell(struct inside_client *c, const struct inside_request *request)
{
	const struct inside_events *events = c->owner->events;

	c->request = request->id;
	c->owner->counts.requests++;
	wait_for(c, CLIENT_WAITS, 0);
	if (c->state != CLIENT_WAITS)
		return false;
	events->request(events->user, request);
	return true;
}

static void ask(struct inside_client *c, const struct inside_message *m,
		const struct caller_words *words, struct str subject)
{
	const struct inside_request request = make_request(c, m, words, subject);

	(void)tell(c, &request);
}

static void ask_to_escalate(struct inside_client *c, const struct inside_message *m,
			    const struct caller_words *words)
{
	UNINITIALIZED char paths[TAKE_BYTES];
	struct inside_request request = make_request(c, m, words, m->command[0]);
	struct inside_taken taken;

	if (!words->cwd.len)
		request.refused = "its directory is not known";
	else if (inside_take_streams(c->owner->sandbox, c->process.fd, c->pid, paths, sizeof(paths),
				     &taken, &request.refused))
		request.taken = &taken;
	if (!is_alive(c))
		leave(c);
	else if (tell(c, &request))
		return;
	if (request.taken)
		connector_close_all(
			(int[]){ taken.stdio[0], taken.stdio[1], taken.stdio[2], taken.cwd }, 4);
}

/* For the command that runs outside. */
static void pass_signal(const struct inside_client *c, const struct inside_message *m)
{
	const struct inside_events *events = c->owner->events;
	const struct inside_request request = { .id = c->request,
						.kind = INSIDE_SIGNAL,
						.signal = m->signal };

	events->request(events->user, &request);
}

static void ask_for_path(struct inside_client *c, const struct inside_message *m,
			 const struct caller_words *words)
{
	UNINITIALIZED char path[2 * PATH_MAX_BYTES];
	int n = inside_find_path(c->owner->sandbox, m->subject, path, sizeof(path));

	if (n == -EINVAL)
		answer_error(c, "the path is not absolute");
	else if (n < 0)
		answer_error(c, "the path leads nowhere");
	else
		ask(c, m, words, (struct str){ path, (size_t)n });
}

static void take_words(struct inside_client *c, const struct inside_message *m)
{
	UNINITIALIZED struct caller_words words;

	if (c->is_served != (m->kind == INSIDE_SIGNAL)) {
		break_off(c);
		return;
	}
	if (c->is_served) {
		pass_signal(c, m);
		return;
	}
	caller_read_words(c->pid, &words);
	/* If the process has ended, nothing of what was read may be its own. */
	if (!is_alive(c))
		leave(c);
	else if (m->kind == INSIDE_WRITE || m->kind == INSIDE_UNIX_SOCKET)
		ask_for_path(c, m, &words);
	else if (m->kind == INSIDE_ESCALATE)
		ask_to_escalate(c, m, &words);
	else
		ask(c, m, &words, m->subject);
}

/* A whole frame has come. Its bytes live until all is done with them, whatever becomes of `c`. */
static void take_message(struct inside_client *c)
{
	scoped_arena a = ARENA_INIT(PARSE_MAX_BYTES);
	const struct str text = { c->body, c->size };
	struct inside_message m;
	struct err e = ERR_INIT;

	c->body = NULL;
	forget_frame(c);
	if (inside_parse(&a, text, &m, &e) < 0)
		break_off(c);
	else
		take_words(c, &m);
	mem_free((void *)(uintptr_t)text.p);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/*
 * Whether the part that was looked at comes from the process that has connected, and brings no
 * descriptors: for those there is no room.
 */
static bool check_sender(const struct inside_client *c, const struct msghdr *message,
			 const struct cmsghdr *header)
{
	struct ucred who;

	if (message->msg_flags & MSG_CTRUNC || message->msg_controllen < CMSG_LEN(sizeof(who)) ||
	    header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(who)))
		return false;
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	return who.pid == c->pid;
}

/*
 * The length of the next part; 0: the end; -1: errno is set, EPROTO for what may not come.
 * SECURITY: descriptors that are received without room for them are closed by the kernel in this
 * thread, and that may block. So each part is only looked at first (MSG_PEEK): what is closed then
 * are copies of what stays in the socket, which another process closes.
 */
static ssize_t look(const struct inside_client *c, struct iovec *part)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .room = { 0 } };
	struct msghdr message = { .msg_iov = part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(c->socket.fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n <= 0 || check_sender(c, &message, &control.header))
		return n;
	errno = EPROTO;
	return -1;
}

/* Takes what was looked at. */
static ssize_t take(const struct inside_client *c, struct iovec *part, size_t size)
{
	struct iovec wanted = { part->iov_base, size };
	struct msghdr message = { .msg_iov = &wanted, .msg_iovlen = 1 };

	return recvmsg(c->socket.fd, &message, MSG_DONTWAIT);
}

/* The next part of the frame that is missing. */
static struct iovec missing_part(struct inside_client *c)
{
	if (c->head_got < sizeof(c->head))
		return (struct iovec){ c->head + c->head_got, sizeof(c->head) - c->head_got };
	return (struct iovec){ c->body + c->got, c->size - c->got };
}

/* False: no such frame may be sent. */
static bool begin_body(struct inside_client *c)
{
	struct err ignored = ERR_INIT;

	c->size = inside_read_length(c->head);
	c->body = c->size ? mem_new(c->size, &ignored) : NULL;
	return c->body != NULL;
}

/* 1: a part was read; 0: there is none now, or the connection has ended. */
static int read_part(struct inside_client *c)
{
	struct iovec part = missing_part(c);
	ssize_t n = look(c, &part);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0 && take(c, &part, (size_t)n) != n)
		n = -1;
	if (n == 0)
		leave(c);
	else if (n < 0)
		break_off(c);
	if (n <= 0)
		return 0;
	if (c->head_got == sizeof(c->head)) {
		c->got += (size_t)n;
		return 1;
	}
	c->head_got += (size_t)n;
	if (c->head_got < sizeof(c->head) || begin_body(c))
		return 1;
	break_off(c);
	return 0;
}

static int socket_is_ready(void *user, uint32_t events, struct err *e)
{
	struct inside_client *c = user;

	(void)e;
	if (c->state == CLIENT_ANSWERS && events & LOOP_OUT) {
		write_some(c);
		return 0;
	}
	if (events & LOOP_GONE) {
		leave(c);
		return 0;
	}
	for (int i = 0; i < READS_AT_ONCE && c->state == CLIENT_READS; i++) {
		if (!read_part(c))
			return 0;
		if (c->size && c->got == c->size)
			take_message(c);
	}
	return 0;
}

/* Another process may hold the socket, but none other may use it. */
static int process_is_gone(void *user, uint32_t events, struct err *e)
{
	(void)events;
	(void)e;
	leave(user);
	return 0;
}

int inside_client_start(struct inside_client *c, int socket, int pidfd, struct err *e)
{
	struct loop *loop = c->owner->engine->loop;

	c->socket = (struct watcher){ .fd = socket, .ready = socket_is_ready, .user = c };
	c->process = (struct watcher){ .fd = pidfd, .ready = process_is_gone, .user = c };
	c->state = CLIENT_READS;
	if (loop_add(loop, &c->socket, LOOP_IN, e) < 0 ||
	    loop_add(loop, &c->process, LOOP_IN, e) < 0) {
		inside_client_end(c);
		return err_result(e);
	}
	return 0;
}
