/* SPDX-License-Identifier: MIT */
/* See elicit.h. */
#include "mcp/elicit.h"

#include "base/utf8.h"

enum { MESSAGE_BYTES = 16 << 10, SHOWN_SUBJECT = 1024, SHOWN_WORDS = 512 };

/* ---- Asking ---------------------------------------------------------------------------------- */

/* With everything escaped that could pass for something else; cut to `most` bytes. */
static void add_shown(struct buf *b, const char *text, size_t most)
{
	struct str s = str_of(text);

	utf8_add_shown(b, str_first(s, most));
	if (s.len > most)
		buf_add_text(b, "...");
}

static const char *verb(const char *kind)
{
	static const char *const verbs[][2] = {
		{ "write", "write to" },
		{ "connect", "connect to" },
		{ "unix_socket", "connect to the socket" },
		{ "escalate", "run outside the sandbox" },
	};

	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (kind && strcmp(kind, verbs[i][0]) == 0)
			return verbs[i][1];
	return kind ? kind : "do this";
}

static void add_command(struct buf *b, const char *const *argv)
{
	struct buf words = BUF_INIT(SHOWN_WORDS);

	for (; argv && *argv; argv++) {
		buf_add_text(&words, words.len ? " " : "");
		utf8_add_shown(&words, str_of(*argv));
	}
	/* What did not fit is left out as a whole word; the subject is what counts. */
	if (words.len)
		buf_printf(b, "\nCommand: %.*s%s", STR_ARG(buf_str(&words)),
			   words.failed == ERR_OK && words.len <= 200 ? "" : "...");
	buf_done(&words);
}

static void add_message(struct buf *b, const struct cordon_ask_request *ask)
{
	/* SECURITY: in quotes, so that no name can go on like a sentence. */
	buf_add_text(b, "Cordon: '");
	add_shown(b, ask->program ? ask->program : "the tool", SHOWN_WORDS);
	buf_printf(b, "' wants to %s '", verb(ask->kind));
	add_shown(b, ask->subject ? ask->subject : "", SHOWN_SUBJECT);
	buf_add_text(b, "'\nThe policy does not allow it");
	if (ask->rule && ask->rule[0]) {
		buf_add_text(b, ": ");
		add_shown(b, ask->rule, SHOWN_WORDS);
	}
	add_command(b, ask->argv);
	if (ask->reason && ask->reason[0]) {
		buf_add_text(b, "\nThe command says: ");
		add_shown(b, ask->reason, SHOWN_WORDS);
	}
}

static bool has_value(const struct elicit *q, struct str value)
{
	for (size_t i = 0; i < q->choice_count; i++)
		if (str_eq(q->choices[i].value, value))
			return true;
	return false;
}

static int copy_grant(struct arena *a, const struct cordon_grant *in, struct cordon_grant *out,
		      struct err *e)
{
	struct str kind, subject;

	if (arena_copy(a, str_of(in->kind ? in->kind : ""), &kind, e) < 0 ||
	    arena_copy(a, str_of(in->subject ? in->subject : ""), &subject, e) < 0)
		return err_result(e);
	*out = *in;
	out->kind = kind.p;
	out->subject = subject.p;
	return 0;
}

/* How long, as a value and in words; from the shortest on. */
static const struct duration {
	uint64_t scope;
	const char *name, *words, *tool_words;
} durations[] = {
	{ CORDON_SCOPE_ONCE, "once", "this one call", "this one call" },
	{ CORDON_SCOPE_RUN, "run", "until this command ends", "until this server ends" },
	{ CORDON_SCOPE_SESSION, "session", "every call of this session, until revoked",
	  "every call of this session, until revoked" },
};

/* The values of the narrowest offer are plain; others say what they are about. */
static int add_choice(struct arena *a, const struct cordon_grant *offer, bool is_narrowest,
		      bool of_command, const struct duration *d, struct elicit *q, struct err *e)
{
	scoped_buf value = BUF_INIT(MESSAGE_BYTES);
	scoped_buf title = BUF_INIT(MESSAGE_BYTES);
	struct elicit_choice *c = &q->choices[q->choice_count];
	const char *subject = offer->subject ? offer->subject : "";
	const char *below = offer->is_directory ? " and everything below it" : "";

	buf_add_text(&value, d->name);
	if (!is_narrowest) {
		buf_add_text(&value, ": ");
		add_shown(&value, subject, ELICIT_MAX_SUBJECT);
	}
	buf_printf(&title, "Allow to %s '", verb(offer->kind));
	add_shown(&title, subject, SHOWN_SUBJECT);
	buf_printf(&title, "'%s: %s", below, of_command ? d->words : d->tool_words);
	if (buf_check(&value, e) < 0 || buf_check(&title, e) < 0)
		return err_result(e);
	if (has_value(q, buf_str(&value)))
		return 0;
	if (arena_copy(a, buf_str(&value), &c->value, e) < 0 ||
	    arena_copy(a, buf_str(&title), &c->title, e) < 0 ||
	    copy_grant(a, offer, &c->grant, e) < 0)
		return err_result(e);
	c->scope = d->name;
	q->choice_count++;
	return 0;
}

static int add_choices(struct arena *a, const struct cordon_ask_request *ask, bool of_command,
		       struct elicit *q, struct err *e)
{
	q->choices[0] = (struct elicit_choice){ .value = STR("deny"), .title = STR("Deny") };
	q->choice_count = 1;
	for (uint64_t i = 0; i < ask->offer_count; i++) {
		for (size_t d = 0; d < COUNT_OF(durations); d++) {
			if (!(ask->offers[i].scopes & durations[d].scope) ||
			    q->choice_count == ELICIT_MAX_CHOICES)
				continue;
			if (add_choice(a, &ask->offers[i], i == 0, of_command, &durations[d], q,
				       e) < 0)
				return err_result(e);
		}
	}
	return 0;
}

int elicit_make(struct arena *a, const struct cordon_ask_request *ask, bool of_command,
		struct elicit *out, struct err *e)
{
	scoped_buf text = BUF_INIT(MESSAGE_BYTES);
	struct elicit q = { .choice_count = 0 };

	add_message(&text, ask);
	if (buf_check(&text, e) < 0 || arena_copy(a, buf_str(&text), &q.message, e) < 0 ||
	    add_choices(a, ask, of_command, &q, e) < 0)
		return err_result(e);
	*out = q;
	return 0;
}

void elicit_print(const struct elicit *q, bool has_mode, struct json_writer *w)
{
	json_begin_object(w);
	if (has_mode) {
		json_key(w, "mode");
		json_add_text(w, "form");
	}
	json_key(w, "message");
	json_add_str(w, q->message);
	json_key(w, "requestedSchema");
	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, "object");
	json_key(w, "properties");
	json_begin_object(w);
	json_key(w, "decision");
	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, "string");
	json_key(w, "title");
	json_add_text(w, "Decision");
	json_key(w, "enum");
	json_begin_array(w);
	for (size_t i = 0; i < q->choice_count; i++)
		json_add_str(w, q->choices[i].value);
	json_end_array(w);
	json_key(w, "enumNames");
	json_begin_array(w);
	for (size_t i = 0; i < q->choice_count; i++)
		json_add_str(w, q->choices[i].title);
	json_end_array(w);
	json_end_object(w);
	json_end_object(w);
	json_key(w, "required");
	json_begin_array(w);
	json_add_text(w, "decision");
	json_end_array(w);
	json_end_object(w);
	json_end_object(w);
}

/* ---- Being answered -------------------------------------------------------------------------- */

static bool is_text(const struct json *value, const char *text)
{
	return value && value->type == JSON_STRING && str_is(value->string, text);
}

static const struct elicit_choice *find_choice(const struct elicit *q, const struct json *result)
{
	const struct json *content = json_find(result, "content");
	const struct json *decision = content ? json_find(content, "decision") : NULL;

	if (!is_text(json_find(result, "action"), "accept") || !decision ||
	    decision->type != JSON_STRING)
		return NULL;
	for (size_t i = 0; i < q->choice_count; i++)
		if (str_eq(q->choices[i].value, decision->string))
			return &q->choices[i];
	return NULL;
}

void elicit_read(const struct elicit *q, const struct json *result, struct cordon_answer *out)
{
	const struct elicit_choice *c = result ? find_choice(q, result) : NULL;

	*out = (struct cordon_answer){ .size = sizeof(*out), .decision = CORDON_DECISION_DENY };
	if (c && c->scope) {
		out->decision = CORDON_DECISION_ALLOW;
		out->scope = c->scope;
		out->grant = &c->grant;
	} else if (!result) {
		out->message = "the client could not ask";
	} else if (is_text(json_find(result, "action"), "cancel")) {
		out->message = "the question was closed without an answer";
	} else if (is_text(json_find(result, "action"), "accept") && !c) {
		out->message = "the client accepted without a decision";
	}
}
