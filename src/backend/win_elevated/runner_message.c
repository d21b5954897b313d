/* SPDX-License-Identifier: MIT */
/* See runner_message.h. */
#include "backend/win_elevated/runner_message.h"

/* ---- Writing ------------------------------------------------------------------------------------ */

static void add_number(struct buf *b, uint64_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		buf_add_char(b, (char)(unsigned char)(number >> 8 * i));
}

static void add_text(struct buf *b, const char *text)
{
	struct str s = str_of(text ? text : "");

	add_number(b, s.len, 4);
	buf_add(b, s);
}

static void add_list(struct buf *b, const struct runner_list *list)
{
	add_number(b, list->count, 4);
	for (size_t i = 0; i < list->count; i++)
		add_text(b, list->items[i]);
}

static void add_start(struct buf *b, const struct runner_start *start)
{
	add_text(b, start->directory);
	add_list(b, &start->programs);
	add_list(b, &start->argv);
	add_list(b, &start->environment);
	add_list(b, &start->sids);
	for (size_t i = 0; i < COUNT_OF(start->stdio); i++)
		add_number(b, start->stdio[i], 8);
	add_list(b, &start->canaries);
	add_number(b, start->closed_v4, 4);
	add_number(b, start->closed_v6, 4);
}

static void add_body(struct buf *b, const struct runner_message *m)
{
	switch (m->type) {
	case RUNNER_START:
		add_start(b, &m->start);
		break;
	case RUNNER_HELLO:
		add_number(b, m->process, 4);
		break;
	case RUNNER_STARTED:
		add_number(b, m->process, 4);
		add_number(b, m->handle, 8);
		add_number(b, m->thread, 8);
		break;
	case RUNNER_FAILED:
		add_number(b, (uint64_t)m->stage, 4);
		add_number(b, m->os_error, 4);
		add_number(b, m->index, 4);
		add_text(b, m->text);
		break;
	}
}

int runner_print(const struct runner_message *m, struct buf *out, struct err *e)
{
	scoped_buf body = BUF_INIT(RUNNER_MAX_BYTES - 4);
	const struct runner_start *start = &m->start;

	if (m->type == RUNNER_START &&
	    (start->argv.count > RUNNER_MAX_WORDS || !start->argv.count ||
	     start->programs.count > RUNNER_MAX_WORDS ||
	     start->environment.count > RUNNER_MAX_WORDS || start->sids.count > RUNNER_MAX_SIDS))
		return FAIL(e, ERR_LIMIT, "a command has 1 to %d words and at most %d variables",
			    RUNNER_MAX_WORDS, RUNNER_MAX_WORDS);
	add_body(&body, m);
	if (buf_check(&body, e) < 0)
		return err_result(e);
	add_number(out, body.len + 4, 4);
	add_number(out, RUNNER_VERSION, 2);
	add_number(out, (uint64_t)m->type, 2);
	buf_add(out, buf_str(&body));
	return buf_check(out, e);
}

/* ---- Reading -------------------------------------------------------------------------------------- */

/* What is left of a body. A failure sticks. */
struct reading {
	struct arena *a;
	struct str rest;
	struct err *e;
};

static void refuse(struct reading *r, const char *why)
{
	if (r->e->code == ERR_OK)
		(void)FAIL(r->e, ERR_SYNTAX, "a message of the runner is not valid: %s", why);
}

static uint64_t number_of(struct str bytes, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++)
		number |= (uint64_t)(unsigned char)bytes.p[i] << 8 * i;
	return number;
}

static uint64_t take_number(struct reading *r, size_t bytes)
{
	uint64_t number;

	if (r->e->code != ERR_OK || r->rest.len < bytes) {
		refuse(r, "it ends too early");
		return 0;
	}
	number = number_of(r->rest, bytes);
	r->rest = str_from(r->rest, bytes);
	return number;
}

/* Borrowed. Text of Windows may have surrogates that stand alone, so it need not be UTF-8. */
static struct str take_bytes(struct reading *r)
{
	const uint64_t len = take_number(r, 4);
	struct str text;

	if (r->e->code != ERR_OK)
		return STR_EMPTY;
	if (len > r->rest.len) {
		refuse(r, "it ends too early");
		return STR_EMPTY;
	}
	text = str_first(r->rest, (size_t)len);
	r->rest = str_from(r->rest, (size_t)len);
	if (str_has_nul(text)) {
		refuse(r, "a text has a NUL");
		return STR_EMPTY;
	}
	return text;
}

static const char *take_text(struct reading *r)
{
	struct str text = take_bytes(r), copy;

	if (r->e->code != ERR_OK || arena_copy(r->a, text, &copy, r->e) < 0)
		return "";
	return copy.p;
}

static void take_list(struct reading *r, size_t max, struct runner_list *out)
{
	const uint64_t count = take_number(r, 4);

	*out = (struct runner_list){ .items = NULL };
	if (r->e->code != ERR_OK)
		return;
	/* Each takes four bytes at least, so a short message can't ask for much memory. */
	if (count > max || count > r->rest.len / 4) {
		refuse(r, "a list is too long");
		return;
	}
	out->items = arena_array(r->a, (size_t)count + 1, sizeof(*out->items), r->e);
	for (size_t i = 0; out->items && i < count && r->e->code == ERR_OK; i++)
		out->items[i] = take_text(r);
	out->count = (size_t)count;
}

static void take_start(struct reading *r, struct runner_start *out)
{
	out->directory = take_text(r);
	take_list(r, RUNNER_MAX_WORDS, &out->programs);
	take_list(r, RUNNER_MAX_WORDS, &out->argv);
	take_list(r, RUNNER_MAX_WORDS, &out->environment);
	take_list(r, RUNNER_MAX_SIDS, &out->sids);
	for (size_t i = 0; i < COUNT_OF(out->stdio); i++)
		out->stdio[i] = take_number(r, 8);
	take_list(r, RUNNER_CANARIES, &out->canaries);
	out->closed_v4 = (uint32_t)take_number(r, 4);
	out->closed_v6 = (uint32_t)take_number(r, 4);
	if (r->e->code != ERR_OK)
		return;
	if (!out->argv.count || !out->programs.count || !out->directory[0])
		refuse(r, "it has no command");
	if (out->canaries.count != RUNNER_CANARIES)
		refuse(r, "it has nothing to be tried");
	/* SECURITY: a token that nothing restricts is not what anybody asks for. */
	if (!out->sids.count)
		refuse(r, "nothing restricts its token");
	if (out->closed_v4 > UINT16_MAX || out->closed_v6 > UINT16_MAX)
		refuse(r, "a port is too large");
}

static void take_failed(struct reading *r, struct runner_message *out)
{
	const uint64_t stage = take_number(r, 4);
	struct str text;

	out->os_error = (uint32_t)take_number(r, 4);
	out->index = (uint32_t)take_number(r, 4);
	text = take_bytes(r);
	if (r->e->code == ERR_OK && (stage == 0 || stage >= RUNNER_STAGE_COUNT))
		refuse(r, "what failed is not known");
	if (r->e->code == ERR_OK && text.len >= sizeof(out->text))
		refuse(r, "a text is too long");
	if (r->e->code != ERR_OK)
		return;
	out->stage = (enum runner_stage)stage;
	memcpy(out->text, text.p, text.len);
	out->text[text.len] = '\0';
}

static void take_body(struct reading *r, uint64_t type, struct runner_message *out)
{
	switch (type) {
	case RUNNER_START:
		take_start(r, &out->start);
		break;
	case RUNNER_HELLO:
		out->process = (uint32_t)take_number(r, 4);
		break;
	case RUNNER_STARTED:
		out->process = (uint32_t)take_number(r, 4);
		out->handle = take_number(r, 8);
		out->thread = take_number(r, 8);
		break;
	case RUNNER_FAILED:
		take_failed(r, out);
		break;
	default:
		refuse(r, "its type is not known");
		return;
	}
	out->type = (enum runner_type)type;
	if (r->rest.len)
		refuse(r, "there is something behind it");
}

int runner_parse(struct arena *a, struct str bytes, struct runner_message *out, size_t *used,
		 struct err *e)
{
	struct runner_message message = { .process = 0 };
	struct reading r = { .a = a, .e = e };
	uint64_t length;

	*used = 0;
	if (bytes.len < 4)
		return 0;
	length = number_of(bytes, 4);
	if (length < RUNNER_HEADER_BYTES - 4 || length > RUNNER_MAX_BYTES - 4)
		return FAIL(e, ERR_LIMIT, "a message of the runner has %llu bytes",
			    (unsigned long long)length);
	/* Before all of it is there, so that nobody waits for what can't be read anyway. */
	if (bytes.len >= RUNNER_HEADER_BYTES && number_of(str_from(bytes, 4), 2) != RUNNER_VERSION)
		return FAIL(e, ERR_SYNTAX, "the runner is another version of Cordon");
	if (bytes.len - 4 < length)
		return 0;
	r.rest = str_first(str_from(bytes, RUNNER_HEADER_BYTES),
			   (size_t)length - (RUNNER_HEADER_BYTES - 4));
	take_body(&r, number_of(str_from(bytes, 6), 2), &message);
	if (e->code != ERR_OK)
		return err_result(e);
	*out = message;
	*used = (size_t)length + 4;
	return 0;
}

bool runner_is_order(enum runner_type type)
{
	return type == RUNNER_START;
}
