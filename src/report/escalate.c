/* SPDX-License-Identifier: MIT */
/*
 * cordon_escalate(): has the supervisor of the sandbox that this process is in run a command outside. The
 * supervisor takes the streams and the directory of this process by itself.
 */
#include "backend/inside.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/local_socket.h"
#include "report/request.h"

/* ---- The question ---------------------------------------------------------------------------- */

static bool is_text(const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (utf8_check(str_of(words[i])) != strlen(words[i]))
			return false;
	return true;
}

static void add_words(struct json_writer *w, const char *const *words)
{
	bool is_plain = is_text(words);

	json_key(w, is_plain ? "argv" : "argv_base64");
	json_begin_array(w);
	for (size_t i = 0; words[i]; i++) {
		scoped_buf encoded = BUF_INIT(REQUEST_MESSAGE_MAX);

		if (!is_plain)
			base64_add(&encoded, str_of(words[i]));
		json_add_str(w, is_plain ? str_of(words[i]) : buf_str(&encoded));
	}
	json_end_array(w);
}

static void write_question(struct buf *out, const struct cordon_escalate_options *o)
{
	struct json_writer w = JSON_LINE_INIT(out);

	json_begin_object(&w);
	json_key(&w, "type");
	json_add_text(&w, "escalate");
	add_words(&w, o->command);
	if (o->file)
		request_add_text(&w, "file", str_of(o->file));
	if (o->flags & CORDON_ESCALATE_OPTIONAL) {
		json_key(&w, "optional");
		json_add_bool(&w, true);
	}
	request_add_reason(&w, o->reason);
	json_end_object(&w);
}

/* ---- While it runs ----------------------------------------------------------------------------- */

static int pass_signal(int fd, unsigned char number)
{
	char text[64];
	struct buf line = BUF_OVER(text);

	buf_printf(&line, "{\"type\": \"signal\", \"signal\": %u}", (unsigned)number);
	return local_socket_say(fd, buf_str(&line));
}

static int64_t value_number(const struct json *o, const char *name)
{
	const struct json *v = json_find(o, name);

	return v && v->type == JSON_INT ? v->integer : -1;
}

static int await_end(struct arena *a, int fd, const struct cordon_escalate_options *o, int *status,
		     struct err *e)
{
	scoped_buf text = BUF_INIT(REQUEST_MESSAGE_MAX);
	int signals = (int)o->signals;
	const struct json *answer;
	unsigned char byte;
	int r;

	while ((r = local_socket_await(fd, signals, &byte)) == 1) {
		if (!byte)
			signals = -1;
		/* It may have ended. */
		else if (pass_signal(fd, byte) < 0)
			break;
	}
	if (r >= 0)
		r = local_socket_hear(fd, &text);
	/* It has run, and the caller must not take this for a command that has not. */
	if (r < 0 || request_read(a, buf_str(&text), &answer, e) < 0 ||
	    !str_is(value_str(answer, "type"), "exit")) {
		err_clear(e);
		return FAIL_CAUSE(e, CAUSE_ESCALATION_LOST,
				  "the supervisor broke off before it said how the command ended");
	}
	*status = (int)value_number(answer, "status");
	return 0;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* 1: it is denied, as the report says. */
static int escalate(cordon_report *r, const struct cordon_escalate_options *o, int *status,
		    struct err *e)
{
	scoped_buf question = BUF_INIT(REQUEST_MESSAGE_MAX), text = BUF_INIT(REQUEST_MESSAGE_MAX);
	const struct json *answer;
	struct str action;
	scoped_fd fd = -1;
	int talked;

	write_question(&question, o);
	if (buf_check(&question, e) < 0)
		return err_result(e);
	fd = local_socket_reach(INSIDE_SOCKET);
	talked = fd < 0 ? fd : local_socket_say(fd, buf_str(&question));
	if (talked == 0)
		talked = local_socket_hear(fd, &text);
	if (talked < 0)
		return request_fail_talk(talked, e);
	if (request_read(&r->arena, buf_str(&text), &answer, e) < 0)
		return err_result(e);
	action = value_str(answer, "action");
	if (str_is(action, "escalate"))
		return await_end(&r->arena, fd, o, status, e);
	*status = -1;
	if (str_is(action, "run") && o->flags & CORDON_ESCALATE_OPTIONAL)
		return 0;
	request_fill_report(r, answer);
	return 1;
}

static int read_options(const struct cordon_escalate_options *in,
			struct cordon_escalate_options *out, struct err *e)
{
	if (!in || in->size != sizeof(*in) || !in->command || !in->command[0] ||
	    !in->command[0][0] || in->flags & ~(uint64_t)CORDON_ESCALATE_OPTIONAL ||
	    in->signals < -1 || in->signals > INT32_MAX)
		return FAIL(e, ERR_ARGUMENT, "cordon_escalate was called without a command");
	*out = *in;
	return 0;
}

int cordon_escalate(const struct cordon_escalate_options *options, int *status,
		    cordon_report **report, cordon_error **error)
{
	struct cordon_escalate_options own;
	struct err e = ERR_INIT;
	cordon_report *r = NULL;
	int ended;

	if (!status || !report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_escalate: status or report is NULL");
	else if (read_options(options, &own, &e) == 0)
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	ended = escalate(r, &own, status, &e);
	*report = ended == 1 ? r : NULL;
	if (ended != 1)
		cordon_report_free(r);
	return ended < 0 ? error_give(&e, error) : 0;
}
