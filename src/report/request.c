/* SPDX-License-Identifier: MIT */
/*
 * cordon_request(): asks the supervisor of the sandbox that this process is in. What it answers is
 * shown; the kernel enforces the policy all the same.
 */
#include <errno.h>
#include <string.h>

#include "backend/inside.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/local_socket.h"
#include "os/os.h"
#include "report/request.h"
#include "session/outer.h"

enum { MESSAGE_MAX = 64 << 10 };

/* ---- The question ---------------------------------------------------------------------------- */

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case CORDON_REQUEST_WRITE:
		return "write";
	case CORDON_REQUEST_HOST:
		return "connect";
	case CORDON_REQUEST_SOCKET:
		return "unix_socket";
	default:
		return NULL;
	}
}

/* SECURITY: ".." is left to the supervisor: what it means depends on the links on the way. */
static int find_subject(struct arena *a, uint32_t kind, const char *text, struct str *out,
			struct err *e)
{
	struct str directory;

	*out = str_of(text);
	if (kind == CORDON_REQUEST_HOST || text[0] == '/')
		return 0;
	return os_working_directory(a, &directory, e) < 0
		       ? err_result(e)
		       : arena_printf(a, out, e, "%.*s/%s", STR_ALL(directory), text);
}

void request_add_text(struct json_writer *w, const char *name, struct str text)
{
	char other[64];
	struct buf key = BUF_OVER(other);
	scoped_buf encoded = BUF_INIT(MESSAGE_MAX);

	if (utf8_check(text) == text.len) {
		json_key(w, name);
		json_add_str(w, text);
		return;
	}
	buf_printf(&key, "%s_base64", name);
	base64_add(&encoded, text);
	json_key(w, other);
	json_add_str(w, buf_str(&encoded));
}

/* A reason is for people: what is no text in it is shown as such. */
void request_add_reason(struct json_writer *w, const char *reason)
{
	scoped_buf shown = BUF_INIT(MESSAGE_MAX);
	struct str text = str_of(reason ? reason : "");

	if (!text.len)
		return;
	if (utf8_check(text) == text.len)
		buf_add(&shown, text);
	else
		utf8_add_shown(&shown, text);
	json_key(w, "reason");
	json_add_str(w, buf_str(&shown));
}

static void write_question(struct buf *out, uint32_t kind, struct str subject, const char *reason)
{
	struct json_writer w = JSON_LINE_INIT(out);

	json_begin_object(&w);
	json_key(&w, "type");
	json_add_text(&w, "request");
	json_key(&w, "kind");
	json_add_text(&w, kind_name(kind));
	request_add_text(&w, "subject", subject);
	request_add_reason(&w, reason);
	json_end_object(&w);
}

/* ---- The answer ------------------------------------------------------------------------------ */

int request_fail_talk(int r, struct err *e)
{
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ECONNREFUSED) {
		(void)FAIL_CAUSE(e, CAUSE_NOBODY_ASKED, "there is nobody to ask here");
		err_add_line(e, "asking works in a sandbox of 'cordon run'");
		return err_result(e);
	}
	return outer_fail_talk(r, e);
}

static void describe(struct json_writer *w, const void *data)
{
	const struct json *answer = data;
	const struct json *grant = json_find(answer, "grant");

	json_begin_object(w);
	json_bool(w, "granted", value_bool(answer, "granted"));
	json_str_or_null(w, "by", value_str(answer, "by"));
	json_str_or_null(w, "scope", value_str(answer, "scope"));
	json_str_or_null(w, "message", value_str(answer, "message"));
	json_key(w, "grant");
	if (grant && grant->type == JSON_OBJECT)
		json_add_value(w, grant);
	else
		json_add_null(w);
	json_key(w, "suggestions");
	json_begin_array(w);
	for (size_t i = 0; i < value_count(answer, "suggestions"); i++)
		json_add_value(w, value_item(answer, "suggestions", i));
	json_end_array(w);
	json_end_object(w);
}

static void render(struct page *p, const struct json *root)
{
	struct str message = value_str(root, "message"), scope = value_str(root, "scope");
	bool is_granted = value_bool(root, "granted");

	page_style(p, is_granted ? STYLE_GOOD : STYLE_BAD, "%s", is_granted ? "granted" : "denied");
	if (is_granted && scope.len) {
		page_text(p, " (");
		page_str(p, scope);
		page_text(p, ")");
	}
	if (message.len) {
		page_text(p, ": ");
		page_str(p, message);
	}
	page_line(p);
	if (p->is_brief)
		return;
	for (size_t i = 0; i < value_count(root, "suggestions"); i++) {
		struct str what = value_str(value_item(root, "suggestions", i), "scope");
		struct str rest, line;

		page_text(p, str_is(what, "run") ? "to allow it in another run: "
						 : "to allow it, write into your configuration:\n");
		for (rest = value_str(value_item(root, "suggestions", i), "text");
		     str_next_line(&rest, &line);) {
			page_str(p, line);
			page_line(p);
		}
	}
}

int request_read(struct arena *a, struct str text, const struct json **out, struct err *e)
{
	const struct json *answer;
	struct str copy;
	char shown[256];

	if (arena_copy(a, text, &copy, e) < 0)
		return err_result(e);
	answer = json_parse(a, copy, e);
	if (!answer)
		return err_wrap(e, "the answer of the supervisor");
	if (str_is(value_str(answer, "type"), "error"))
		return FAIL(e, ERR_ARGUMENT, "%s",
			    utf8_show(value_str(answer, "message"), shown, sizeof(shown)));
	*out = answer;
	return 0;
}

int request_refused(struct arena *a, struct buf *lines, struct err *e)
{
	scoped_buf answer = BUF_INIT(MESSAGE_MAX);
	const struct json *root;
	int r = local_socket_talk(INSIDE_SOCKET, STR("{\"type\": \"refused\"}"), &answer);

	if (r < 0)
		return request_fail_talk(r, e);
	if (request_read(a, buf_str(&answer), &root, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < value_count(root, "lines"); i++) {
		const struct json *line = value_item(root, "lines", i);

		if (line->type != JSON_STRING)
			return FAIL(e, ERR_INTERNAL, "the supervisor of the sandbox broke off");
		buf_add(lines, line->string);
		buf_add_char(lines, '\n');
	}
	return buf_check(lines, e);
}

void request_fill_report(cordon_report *r, const struct json *answer)
{
	r->data = answer;
	r->error_count = !value_bool(answer, "granted");
	r->schema = "request/1";
	r->describe = describe;
	r->render = render;
}

static int take_answer(cordon_report *r, struct str text, struct err *e)
{
	const struct json *answer;

	if (request_read(&r->arena, text, &answer, e) < 0)
		return err_result(e);
	request_fill_report(r, answer);
	return 0;
}

static int ask(cordon_report *r, uint32_t kind, const char *subject, const char *reason,
	       struct err *e)
{
	scoped_buf question = BUF_INIT(MESSAGE_MAX), answer = BUF_INIT(MESSAGE_MAX);
	struct str path;
	int status;

	if (find_subject(&r->arena, kind, subject, &path, e) < 0)
		return err_result(e);
	write_question(&question, kind, path, reason);
	if (buf_check(&question, e) < 0)
		return err_result(e);
	status = local_socket_talk(INSIDE_SOCKET, buf_str(&question), &answer);
	return status < 0 ? request_fail_talk(status, e) : take_answer(r, buf_str(&answer), e);
}

int cordon_request(uint32_t kind, const char *subject, const char *reason, cordon_report **report,
		   cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!report || !subject || !subject[0] || !kind_name(kind))
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_request was called without a kind or a subject");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (ask(r, kind, subject, reason, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}
