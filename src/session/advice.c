/* SPDX-License-Identifier: MIT */
/*
 * What was refused, for a model: one line that says what, why, and whom to ask for more.
 *
 * SECURITY: names come from the command, and the reader obeys text. So each is a JSON string, short and of
 * visible characters, and nothing else here comes from the command. What the policy hides is named only as
 * the program itself wrote it, and without the rule: the line is no way to learn what is there.
 */
#include "base/utf8.h"
#include "plan/words.h"
#include "session/session.h"

enum { TEXT_MAX_BYTES = 64 << 10, PAIR = 0x10000 };

/* ---- Names ------------------------------------------------------------------------------- */

/* One character of a JSON string, or a byte that is none. */
static void add_escaped(struct buf *out, struct str name, size_t *at)
{
	size_t from = *at;
	uint32_t c;

	if (!utf8_next(name, at, &c)) {
		(*at)++;
		buf_printf(out, "\\udc%02x", (unsigned)(unsigned char)name.p[from]);
	} else if (c == '"' || c == '\\') {
		buf_printf(out, "\\%c", (int)c);
	} else if (!utf8_is_control(c) && !utf8_is_invisible(c)) {
		buf_add(out, (struct str){ name.p + from, *at - from });
	} else if (c < PAIR) {
		buf_printf(out, "\\u%04x", (unsigned)c);
	} else {
		buf_printf(out, "\\u%04x\\u%04x", 0xD800 + (unsigned)((c - PAIR) >> 10),
			   0xDC00 + (unsigned)((c - PAIR) & 0x3FF));
	}
}

void advice_add_name(struct buf *out, struct str name)
{
	char text[ADVICE_NAME_BYTES + 1], next[16];
	struct buf shown = BUF_OVER(text);
	bool is_cut = false;

	for (size_t at = 0; at < name.len && !is_cut;) {
		struct buf one = BUF_OVER(next);

		add_escaped(&one, name, &at);
		is_cut = shown.len + one.len > ADVICE_NAME_BYTES;
		if (!is_cut)
			buf_add(&shown, buf_str(&one));
	}
	buf_add_char(out, '"');
	buf_add(out, buf_str(&shown));
	buf_add_text(out, is_cut ? "\"..." : "\"");
}

/* Whether a shell, too, takes it for one word and nothing else when it is in quotes. */
static bool is_plain_word(struct str name)
{
	static const char others[] = "/._-+@:,=%";

	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) &&
		    (c == '\0' || !strchr(others, c)))
			return false;
	}
	return name.len > 0 && name.len <= ADVICE_NAME_BYTES && name.p[0] != '-';
}

/* ---- Whom to ask --------------------------------------------------------------------------- */

static void add_request(struct buf *out, const struct advice_context *in, const char *option,
			struct str name)
{
	if (!in->can_ask || !is_plain_word(name))
		return;
	buf_printf(out, ", or: cordon request %s ", option);
	advice_add_name(out, name);
	buf_add_text(out, " --reason WHY");
}

/* What no grant of a path lifts, or should. */
static const char *find_refusal(const struct advice_context *in, const struct rule *rule)
{
	if (rule_keeps_agent(rule, in->plan_inputs->places.home))
		return "it stays read-only, so that a command can't change what the agent obeys: "
		       "do without it, or tell the user";
	switch (rule->kind) {
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_MISSING:
		return "that name is protected: ask the user to make this change";
	case RULE_OWN:
		return "that belongs to Cordon: ask the user to make this change";
	case RULE_ENTRY:
	case RULE_GRANT:
		return rule->layer == 0 ? NULL
					: "only the user can change that policy: do without it, or "
					  "tell the user";
	case RULE_GLOB:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		break;
	}
	return "do without it, or tell the user";
}

static const struct rule *find_rule(const struct advice_context *in, const struct denial *denial)
{
	return denial->by ? denial->by : plan_resolve(in->plan, denial->subject).rule;
}

static void advise_path(struct buf *out, const struct advice_context *in,
			const struct denial *denial)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const char *refusal = find_refusal(in, find_rule(in, denial));
	struct str opens;

	if (denial_access(denial) != ACCESS_WRITE)
		refusal = "do without it, or tell the user";
	if (refusal) {
		buf_add_text(out, refusal);
		return;
	}
	opens = denial_opens(&a, in->plan_inputs, in->plan, denial);
	if (!opens.len)
		opens = denial->subject;
	buf_add_text(out, "ask the user to allow writes to ");
	advice_add_name(out, opens);
	add_request(out, in, "--write", opens);
}

static void advise_other(struct buf *out, const struct advice_context *in,
			 const struct denial *denial)
{
	bool is_host = denial->kind == DENIAL_HOST;
	struct str name = is_host && denial->value.len ? denial->value : denial->subject;

	if (is_host ? !denial->option || strcmp(denial->option, "--allow-host") != 0
		    : !denial->way_out.len) {
		buf_add_text(out, "do without it, or tell the user");
		return;
	}
	buf_printf(out, "ask the user to allow connections to ");
	advice_add_name(out, name);
	add_request(out, in, is_host ? "--host" : "--socket", name);
}

/* ---- The line ------------------------------------------------------------------------------- */

static bool is_hidden(const struct advice_context *in, const struct denial *denial)
{
	return denial->kind == DENIAL_PATH &&
	       plan_resolve(in->plan, denial->subject).access == ACCESS_DENY;
}

bool denial_can_be_allowed(const struct advice_context *in, const struct denial *denial)
{
	return denial->kind == DENIAL_PATH && denial_access(denial) == ACCESS_WRITE &&
	       !is_hidden(in, denial) && !find_refusal(in, find_rule(in, denial));
}

static void add_why(struct buf *out, const struct denial *denial)
{
	scoped_buf rule = BUF_INIT(TEXT_MAX_BYTES);

	denial_add_rule(&rule, denial);
	buf_add_text(out, ", because of ");
	advice_add_name(out, buf_str(&rule));
}

void denial_add_advice(struct buf *out, const struct advice_context *in,
		       const struct denial *denial)
{
	bool hides = is_hidden(in, denial);

	if (denial->program.len)
		advice_add_name(out, denial->program);
	else
		buf_add_text(out, "the command");
	buf_printf(out, " was %snot allowed to %s ", denial->is_guess ? "probably " : "",
		   operation_meaning(denial->operation));
	if (hides && !denial->named.len)
		buf_add_text(out, "a path");
	else
		advice_add_name(out, hides ? denial->named : denial->subject);
	if (!hides)
		add_why(out, denial);
	buf_add_text(out, "; ");
	if (denial->is_decided)
		buf_add_text(out, "this was asked about and not allowed: do without it");
	else if (hides)
		buf_add_text(out, "the policy denies it: do without it, or tell the user");
	else if (denial->kind == DENIAL_PATH)
		advise_path(out, in, denial);
	else
		advise_other(out, in, denial);
}
