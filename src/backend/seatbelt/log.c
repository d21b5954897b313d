/* SPDX-License-Identifier: MIT */
/* See log.h. */
#include "backend/seatbelt/log.h"

#include <errno.h>

#include "base/json.h"
#include "base/path.h"
#include "plan/net.h"

/* ---- The message ---------------------------------------------------------------------------------- */

/* A decimal number at the start of `*rest`, which it is taken off. False: none, or too large a one. */
static bool take_number(struct str *rest, uint64_t most, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	for (; i < rest->len && ascii_is_digit(rest->p[i]); i++) {
		*out = *out * 10 + (uint64_t)(rest->p[i] - '0');
		if (*out > most)
			return false;
	}
	*rest = str_from(*rest, i);
	return i > 0;
}

static bool take_text(struct str *rest, struct str text)
{
	if (!str_has_prefix(*rest, text))
		return false;
	*rest = str_from(*rest, text.len);
	return true;
}

/* "3 duplicate reports for " */
static uint64_t take_count(struct str *message)
{
	struct str rest = *message;
	uint64_t count;

	if (!take_number(&rest, UINT32_MAX, &count) ||
	    !(take_text(&rest, STR(" duplicate report for ")) ||
	      take_text(&rest, STR(" duplicate reports for "))))
		return 1;
	*message = rest;
	return count;
}

static struct str take_operation(struct str *rest)
{
	size_t i = 0;

	while (i < rest->len && (ascii_is_alpha(rest->p[i]) || ascii_is_digit(rest->p[i]) ||
				 rest->p[i] == '-' || rest->p[i] == '*'))
		i++;
	return str_first(*rest, i);
}

/* From the parenthesis on: "(PID) deny(1) OPERATION SUBJECT". */
static bool read_behind_name(struct str rest, struct seatbelt_refusal *out)
{
	uint64_t pid, ignored;

	if (!take_text(&rest, STR("(")) || !take_number(&rest, INT32_MAX, &pid) || pid == 0 ||
	    !take_text(&rest, STR(") deny")))
		return false;
	if (take_text(&rest, STR("(")) &&
	    !(take_number(&rest, UINT32_MAX, &ignored) && take_text(&rest, STR(")"))))
		return false;
	if (!take_text(&rest, STR(" ")))
		return false;
	out->pid = (int32_t)pid;
	out->operation = take_operation(&rest);
	rest = str_from(rest, out->operation.len);
	if (!out->operation.len || (rest.len && rest.p[0] != ' '))
		return false;
	/* All that follows: whatever is in a path belongs to it. */
	out->subject = str_from(rest, rest.len ? 1 : 0);
	return true;
}

static enum seatbelt_line read_message(struct str message, struct seatbelt_refusal *out)
{
	struct seatbelt_refusal found = { .count = take_count(&message) };
	size_t readings = 0;

	if (!take_text(&message, STR("Sandbox: ")))
		return SEATBELT_OTHER;
	/* SECURITY: a name may look like all that follows it, and a path like a name with all that. */
	for (size_t i = 0; i <= SEATBELT_NAME_BYTES && i < message.len; i++) {
		if (!read_behind_name(str_from(message, i), &found))
			continue;
		found.program = str_first(message, i);
		*out = found;
		readings++;
	}
	return readings == 1 ? SEATBELT_REFUSAL : SEATBELT_UNCLEAR;
}

/* ---- The line ---------------------------------------------------------------------------------------- */

static struct str text_of(const struct json *entry, const char *name)
{
	const struct json *value = json_find(entry, name);

	return value && value->type == JSON_STRING ? value->string : STR_EMPTY;
}

/* SECURITY: any process can log any text, but not as the kernel's extension. */
static bool is_of_kernel(const struct json *entry)
{
	const struct json *pid = json_find(entry, "processID");

	return pid && pid->type == JSON_INT && pid->integer == 0 &&
	       str_has_suffix(text_of(entry, "senderImagePath"), STR("/Sandbox"));
}

enum seatbelt_line seatbelt_read_line(struct arena *a, struct str line,
				      struct seatbelt_refusal *out)
{
	struct err ignored = ERR_INIT;
	const struct json *entry;

	/* What the tool itself says stands on lines that are no objects. */
	if (!line.len || line.p[0] != '{')
		return SEATBELT_OTHER;
	if (line.len > SEATBELT_LINE_BYTES)
		return SEATBELT_UNCLEAR;
	entry = json_parse_paths(a, line, &ignored);
	if (!entry)
		return SEATBELT_UNCLEAR;
	return is_of_kernel(entry) ? read_message(text_of(entry, "eventMessage"), out)
				   : SEATBELT_OTHER;
}

/* ---- As a denial -------------------------------------------------------------------------------------- */

/* The first that matches; one that ends in '*' stands for all that begin so. */
static const struct {
	const char *name;
	enum operation operation;
} file_operations[] = {
	{ "file-read*", OPERATION_READ },	   { "file-test-existence", OPERATION_READ },
	{ "file-map-executable", OPERATION_READ }, { "process-exec*", OPERATION_EXEC },
	{ "file-link", OPERATION_LINK },	   { "file-clone", OPERATION_CREATE },
	{ "file-write-create", OPERATION_CREATE }, { "file-write-unlink", OPERATION_UNLINK },
	{ "file-write-mode", OPERATION_CHMOD },	   { "file-write-acl", OPERATION_CHMOD },
	{ "file-write-setugid", OPERATION_CHMOD }, { "file-write-owner", OPERATION_CHOWN },
	{ "file-write-times", OPERATION_UTIME },   { "file-write-xattr", OPERATION_XATTR },
	{ "file-write-flags", OPERATION_XATTR },   { "file-write*", OPERATION_OPEN_WRITE },
};

static bool find_operation(struct str name, enum operation *out)
{
	for (size_t i = 0; i < COUNT_OF(file_operations); i++) {
		struct str known = str_of(file_operations[i].name);
		bool is_open = known.p[known.len - 1] == '*';

		if (is_open ? !str_has_prefix(name, str_first(known, known.len - 1))
			    : !str_eq(name, known))
			continue;
		*out = file_operations[i].operation;
		return true;
	}
	return false;
}

/* As the kernel writes it: whole, and without "." or empty parts, as the plan wants it. */
static bool is_path(struct str subject)
{
	struct str rest = subject;

	if (!subject.len || subject.len >= PATH_MAX_BYTES || subject.p[0] != '/' ||
	    str_has_nul(subject))
		return false;
	while (rest.len > 1) {
		struct str part = str_from(rest, 1);

		part = str_first(part, str_find(part, '/'));
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
		rest = str_from(rest, 1 + part.len);
	}
	return rest.len == 0 || subject.len == 1;
}

static bool needs_write(enum operation operation)
{
	return operation != OPERATION_READ && operation != OPERATION_EXEC;
}

/* What the policy allows there, and a profile can't. */
static struct str find_other_reason(enum operation operation)
{
	if (operation == OPERATION_LINK)
		return STR("there are no hard links in a sandbox of macOS");
	if (operation == OPERATION_UNLINK)
		return STR("a rule is about this path or one below it, so its name stays");
	return STR("the sandbox of macOS does not allow it");
}

static void fill_path(const struct plan *plan, struct denial *d)
{
	struct verdict v = plan_resolve(plan, d->subject);
	bool is_allowed = needs_write(d->operation) ? v.access == ACCESS_WRITE
						    : v.access != ACCESS_DENY;

	d->kind = DENIAL_PATH;
	d->opens = d->operation == OPERATION_CREATE || d->operation == OPERATION_LINK
			   ? path_parent(d->subject)
			   : d->subject;
	if (is_allowed) {
		d->rule = find_other_reason(d->operation);
		d->opens = STR_EMPTY;
		return;
	}
	d->by = v.rule;
	d->origin = v.rule->origin;
}

static bool fill_socket(const struct plan *plan, struct denial *d)
{
	struct net_verdict v = net_resolve_socket(plan->net, d->subject, plan->places.home);

	d->kind = DENIAL_UNIX_SOCKET;
	d->operation = OPERATION_UNIX_CONNECT;
	d->origin = v.origin;
	d->rule = v.decision == DECISION_DENY && v.reason == NET_REASON_RULE
			  ? STR("a rule denies it")
			  : STR("no rule allows it");
	return true;
}

static bool fill_host(const struct plan *plan, struct denial *d)
{
	d->kind = DENIAL_HOST;
	d->operation = OPERATION_CONNECT;
	switch (net_mode(plan->net)) {
	case NET_OFF:
		d->rule = STR("the network is off");
		return true;
	case NET_MANAGED:
		d->rule =
			STR("only the proxy can be connected to, and the program does not use it");
		return true;
	case NET_FULL:
		break;
	}
	d->rule = STR("the sandbox of macOS does not allow it");
	return true;
}

bool seatbelt_find_denial(const struct plan *plan, const struct seatbelt_refusal *refusal,
			  struct denial *out)
{
	struct str subject = refusal->subject;
	bool is_outbound = str_is(refusal->operation, "network-outbound");
	struct denial d = { .subject = subject,
			    .program = refusal->program,
			    .pid = refusal->pid,
			    .os_error = EPERM,
			    .count = refusal->count };

	if (is_outbound && is_path(subject)) {
		*out = d;
		return fill_socket(plan, out);
	}
	if (is_outbound && subject.len) {
		(void)take_text(&d.subject, STR("remote:"));
		*out = d;
		return fill_host(plan, out);
	}
	if (!find_operation(refusal->operation, &d.operation) || !is_path(subject))
		return false;
	fill_path(plan, &d);
	*out = d;
	return true;
}
