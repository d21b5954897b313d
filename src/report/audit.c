/* SPDX-License-Identifier: MIT */
/* cordon_audit_*(): the audit log for people and programs, line by line. */
#include "report/audit.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "report/report.h"

enum {
	ENTRY_BYTES = 1 << 18, /* of one, parsed */
	OUT_BYTES = 1 << 16,   /* of one, printed */
	LOG_BYTES = 1 << 20,   /* of what lives as long as the handle */
	WIDTH_RUN = 8,
	LINES_BYTES = 1 << 30, /* of lines to sort; rotation keeps logs far smaller */
};

/* ---- Pieces --------------------------------------------------------------------- */

void audit_add_bytes(struct buf *b, int64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double size = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		buf_printf(b, "%lld B", (long long)bytes);
		return;
	}
	for (; size >= 999.95 && unit + 1 < COUNT_OF(units); unit++)
		size /= 1000;
	buf_printf(b, "%.1f %s", size, units[unit]);
}

void audit_add_target(struct buf *b, struct str host, int64_t port)
{
	bool brackets = port && str_find(host, ':') < host.len;

	if (brackets)
		buf_add_char(b, '[');
	utf8_add_shown(b, host.len ? host : STR("-"));
	if (brackets)
		buf_add_char(b, ']');
	if (port)
		buf_printf(b, ":%lld", (long long)port);
}

/* Explains a reason; NULL if the reason explains itself or is unknown. */
static const char *find_meaning(struct str reason)
{
	static const struct {
		const char *reason, *meaning;
	} known[] = {
		{ "unlisted", "no rule allows it" },
		{ "private", "not a public address, and no rule names it" },
		{ "asked", "the decider was asked and did not allow it" },
		{ "method", "only GET, HEAD and OPTIONS are allowed" },
		{ "tunnel", "the proxy can't see what is inside" },
		{ "server-name", "the server name in the TLS hello is not allowed" },
		{ "lookup", "the name has no address (DNS)" },
		{ "refused", "nothing listens there" },
		{ "unreachable", "no route to the host" },
		{ "timeout", "timed out" },
		{ "upstream", "the upstream proxy did not connect" },
		{ "response", "the response is not valid HTTP" },
		{ "resources", "the proxy was at its limit, or the command listens on that port" },
		{ "bad-request", "malformed request" },
		{ "bad-token", "no token, or a wrong one" },
	};

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (str_is(reason, known[i].reason))
			return known[i].meaning;
	return NULL;
}

void audit_add_reason(struct buf *b, const struct audit_entry *entry)
{
	const char *meaning = find_meaning(entry->reason);

	utf8_add_shown(b, entry->reason);
	if (meaning)
		buf_printf(b, ": %s", meaning);
	if (entry->rule.len) {
		/* A pattern in quotes; a line of a file (mode = "limited") has its own. */
		const char *quote = str_find(entry->rule, '"') < entry->rule.len ? "" : "\"";

		/* A failed connection was allowed by its rule. */
		if (entry->decision == AUDIT_FAILED)
			buf_add_text(b, ", allowed by ");
		else
			buf_add_text(b, meaning ? ", by " : " by ");
		buf_add_text(b, quote);
		utf8_add_shown(b, entry->rule);
		buf_add_text(b, quote);
	}
	if (entry->file.len == 0)
		return;
	buf_add_text(b, " (");
	utf8_add_shown(b, entry->file);
	if (entry->line)
		buf_printf(b, ":%lld", (long long)entry->line);
	buf_add_char(b, ')');
}

/* ---- Entries ---------------------------------------------------------------------- */

static void note_broken(struct cordon_audit *audit, const struct err *why)
{
	char file[512];

	if (audit->broken++ > 0)
		return;
	buf_clear(&audit->warning);
	buf_printf(&audit->warning, "%s:%llu: %s",
		   utf8_show(audit_reader_file(audit->reader), file, sizeof(file)),
		   (unsigned long long)audit_reader_line(audit->reader), why->text);
}

/* The first half of an id is enough to tell runs apart. */
static struct str short_run(struct str run)
{
	return str_first(run, WIDTH_RUN);
}

static bool is_wanted(struct cordon_audit *audit, const struct audit_entry *x)
{
	bool is_of_run = audit->run.len == 0 || str_eq(audit->run, x->run) ||
			 str_eq(audit->run, short_run(x->run));

	audit->run_is_there |= is_of_run;
	return is_of_run && (!audit->only_denied || x->decision == AUDIT_DENY) &&
	       x->time_ms >= audit->since_ms;
}

/* In the order of the file. */
static int read_entry(struct cordon_audit *audit, struct audit_entry *out, struct err *e)
{
	struct str line;
	int r;

	if (!audit->reader)
		return 0;
	while ((r = audit_reader_next(audit->reader, &line, e)) == 1) {
		struct err why = ERR_INIT;

		arena_done(&audit->entry);
		if (audit_parse(&audit->entry, line, out, &why) < 0)
			note_broken(audit, &why);
		else if (is_wanted(audit, out))
			return 1;
	}
	return r;
}

static int check_run(const struct cordon_audit *audit, struct err *e)
{
	char shown[128];

	if (audit->run.len == 0 || audit->run_is_there || audit->run_may_come)
		return 0;
	return FAIL(
		e, ERR_NOTFOUND,
		"the log has no entry of a run '%s'; --run last is the last run, and each entry "
		"names its run",
		utf8_show(audit->run, shown, sizeof(shown)));
}

/* ---- Sorting ------------------------------------------------------------------------ */

uint32_t *audit_numbers(struct arena *a, size_t count, struct err *e)
{
	uint32_t *numbers;

	if (count > UINT32_MAX / 4)
		return FAIL_NULL(e, ERR_LIMIT, "the log has too many entries");
	numbers = arena_array(a, 2 * count + 1, sizeof(*numbers), e);
	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = (uint32_t)i;
	return numbers;
}

static int by_time(const void *context, uint32_t a, uint32_t b)
{
	const struct audit_kept *kept = context;

	return (kept[a].time_ms > kept[b].time_ms) - (kept[a].time_ms < kept[b].time_ms);
}

/* Groups the lines of each connection; the sort keeps their order. */
static int by_connection(const void *context, uint32_t a, uint32_t b)
{
	const struct audit_kept *kept = context;
	int c = str_cmp(kept[a].run, kept[b].run);

	if (c)
		return c;
	return (kept[a].connection > kept[b].connection) -
	       (kept[a].connection < kept[b].connection);
}

/* Drops the entry of a connection's start if the log has its end. */
static void drop_ended(struct cordon_audit *audit, uint32_t *numbers)
{
	struct audit_kept *kept = audit->kept.items;
	size_t count = audit->kept.count, left = 0;

	sort_numbers(numbers, numbers + count, count, by_connection, kept);
	for (size_t i = 0; i + 1 < count; i++) {
		struct audit_kept *x = &kept[numbers[i]];

		if (x->is_open && by_connection(kept, numbers[i], numbers[i + 1]) == 0)
			x->is_ended = true;
	}
	for (size_t i = 0; i < count; i++)
		if (!kept[i].is_ended)
			kept[left++] = kept[i];
	audit->kept.count = left;
}

static int keep(struct cordon_audit *audit, const struct audit_entry *x, struct err *e)
{
	struct audit_kept *kept = VEC_PUSH(&audit->lines, &audit->kept, e);

	if (!kept)
		return err_result(e);
	*kept = (struct audit_kept){ .time_ms = x->time_ms,
				     .connection = x->connection,
				     .is_open = x->is_open && x->connection };
	if (arena_copy(&audit->lines, x->text, &kept->line, e) < 0 ||
	    (x->connection && arena_copy(&audit->lines, x->run, &kept->run, e) < 0))
		return err_result(e);
	return 0;
}

static uint32_t *number_kept(struct cordon_audit *audit, struct err *e)
{
	return audit_numbers(&audit->lines, audit->kept.count, e);
}

/* A line is written when a connection ends, so lines are not in the order of their times. */
static int gather(struct cordon_audit *audit, struct err *e)
{
	struct audit_entry x;
	uint32_t *numbers;
	int r;

	while ((r = read_entry(audit, &x, e)) == 1)
		if (keep(audit, &x, e) < 0)
			return err_result(e);
	if (r < 0)
		return r;
	numbers = number_kept(audit, e);
	if (!numbers)
		return err_result(e);
	drop_ended(audit, numbers);
	numbers = number_kept(audit, e);
	if (!numbers)
		return err_result(e);
	sort_numbers(numbers, numbers + audit->kept.count, audit->kept.count, by_time,
		     audit->kept.items);
	audit->order = numbers;
	return check_run(audit, e);
}

int audit_next_entry(struct cordon_audit *audit, struct audit_entry *out, struct err *e)
{
	if (!audit->order && gather(audit, e) < 0)
		return err_result(e);
	if (audit->shown == audit->kept.count)
		return read_entry(audit, out, e);
	arena_done(&audit->entry);
	if (audit_parse(&audit->entry, audit->kept.items[audit->order[audit->shown++]].line, out,
			e) < 0)
		return err_result(e);
	return 1;
}

/* ---- Opening ------------------------------------------------------------------------ */

static int find_file(struct cordon_audit *audit, const struct cordon_audit_options *options,
		     struct str *out, struct err *e)
{
	struct cordon_load_options load;
	struct inputs in = { .a = &audit->arena, .texts = &audit->arena, .options = &load };

	if (options->file) {
		*out = str_of(options->file);
		return 0;
	}
	if (options_read(options->load, &load, e) < 0 || inputs_find(&in, e) < 0 ||
	    audit_approvals_path(&audit->arena, in.state_dir, &audit->approvals, e) < 0)
		return err_result(e);
	return audit_default_path(&audit->arena, in.state_dir, out, e);
}

/* The run of the last valid entry. */
static int find_last_run(struct cordon_audit *audit, struct str path, struct err *e)
{
	char last[256] = "";
	struct audit_entry x;
	int r;

	if (audit_reader_open(&audit->arena, path, &audit->reader, e) < 0)
		return err_result(e);
	while ((r = read_entry(audit, &x, e)) == 1) {
		size_t len = MIN_OF(x.run.len, sizeof(last) - 1);

		memcpy(last, x.run.p, len);
		last[len] = '\0';
	}
	audit_reader_close(audit->reader);
	audit->reader = NULL;
	audit->broken = 0;
	buf_clear(&audit->warning);
	return r < 0 ? r : arena_copy(&audit->arena, str_of(last), &audit->run, e);
}

static bool has_approvals(const struct cordon_audit *audit)
{
	struct audit_reader *reader = NULL;
	scoped_arena a = ARENA_INIT(LOG_BYTES);
	struct err ignored = ERR_INIT;

	if (!audit->approvals.len || audit_reader_open(&a, audit->approvals, &reader, &ignored) < 0)
		return false;
	audit_reader_close(reader);
	return true;
}

static int open_log(struct cordon_audit *audit, const struct cordon_audit_options *options,
		    struct err *e)
{
	struct str path;
	char shown[64];

	if (options->flags & ~(uint64_t)(CORDON_AUDIT_DENIED | CORDON_AUDIT_FOLLOW))
		return FAIL(e, ERR_ARGUMENT, "cordon_audit_open does not know one of these flags");
	audit->since_ms = options->since_ms;
	if (options->since && !audit_parse_time(str_of(options->since), &audit->since_ms))
		return FAIL(e, ERR_SYNTAX,
			    "'%s' is not a time; write 2026-01-02, 2026-01-02T03:04:05Z, or an "
			    "age: 90s, 10m, 2h",
			    utf8_show(str_of(options->since), shown, sizeof(shown)));
	if (find_file(audit, options, &path, e) < 0)
		return err_result(e);
	if (options->run && str_is(str_of(options->run), "last")) {
		if (find_last_run(audit, path, e) < 0)
			return err_result(e);
	} else if (options->run &&
		   arena_copy(&audit->arena, str_of(options->run), &audit->run, e) < 0) {
		return err_result(e);
	}
	audit->only_denied = (options->flags & CORDON_AUDIT_DENIED) != 0;
	audit->run_may_come = (options->flags & CORDON_AUDIT_FOLLOW) != 0;
	audit->run_is_there = false;
	if (audit_reader_open(&audit->arena, path, &audit->reader, e) == 0)
		return 0;
	/* Runs that asked, and had no managed network. */
	if (e->cause != CAUSE_LOG_NOT_FOUND || !has_approvals(audit))
		return err_result(e);
	err_clear(e);
	audit->reader = NULL;
	return 0;
}

int cordon_audit_open(const struct cordon_audit_options *options, cordon_audit **audit,
		      cordon_error **error)
{
	struct cordon_audit_options own;
	struct err e = ERR_INIT;
	cordon_audit *a = NULL;

	if (!audit)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_audit_open needs a place for the log");
	else if (options_read_audit(options, &own, &e) == 0)
		a = mem_new(sizeof(*a), &e);
	if (!a)
		return error_give(&e, error);
	a->arena = (struct arena)ARENA_INIT(LOG_BYTES);
	a->entry = (struct arena)ARENA_INIT(ENTRY_BYTES);
	a->lines = (struct arena)ARENA_INIT(LINES_BYTES);
	a->out = (struct buf)BUF_INIT(OUT_BYTES);
	a->warning = (struct buf)BUF_INIT(OUT_BYTES);
	if (open_log(a, &own, &e) < 0) {
		cordon_audit_free(a);
		return error_give(&e, error);
	}
	*audit = a;
	return 0;
}

void cordon_audit_free(cordon_audit *audit)
{
	if (!audit)
		return;
	if (audit->reader)
		audit_reader_close(audit->reader);
	arena_done(&audit->arena);
	arena_done(&audit->entry);
	arena_done(&audit->lines);
	buf_done(&audit->out);
	buf_done(&audit->warning);
	mem_free(audit);
}

const char *cordon_audit_warning(cordon_audit *audit)
{
	char first[1024];

	if (audit->broken == 0)
		return NULL;
	(void)utf8_show(buf_str(&audit->warning), first, sizeof(first));
	buf_clear(&audit->out);
	buf_printf(&audit->out, "%llu %s not %s and left out; the first is %s",
		   (unsigned long long)audit->broken,
		   audit->broken == 1 ? "line of the log is" : "lines of the log are",
		   audit->broken == 1 ? "an entry" : "entries", first);
	return audit->out.failed == ERR_OK ? audit->out.p : NULL;
}

/* ---- Lines ---------------------------------------------------------------------------- */

enum {
	WIDTH_PROGRAM = 18,
	WIDTH_PROTOCOL = 9,
	WIDTH_METHOD = 7,
	WIDTH_TARGET = 34,
	WIDTH_BYTES = 9
};

static struct page page_of(cordon_audit *audit, uint32_t flags)
{
	return (struct page){ .out = &audit->out,
			      .home = STR_EMPTY,
			      .is_coloured = (flags & CORDON_TEXT_COLOUR) != 0,
			      .is_brief = (flags & CORDON_TEXT_BRIEF) != 0 };
}

const char *cordon_audit_heading(cordon_audit *audit, uint32_t flags)
{
	struct page p = page_of(audit, flags);

	buf_clear(&audit->out);
	page_style(&p, STYLE_TITLE, "%-19s  %-*s  %-7s  %-*s  %-*s  %-*s  %-*s  %*s  %*s  %s",
		   "TIME (UTC)", WIDTH_RUN, "RUN", "", WIDTH_PROGRAM, "PROGRAM", WIDTH_PROTOCOL,
		   "BY", WIDTH_METHOD, "METHOD", WIDTH_TARGET, "HOST", WIDTH_BYTES, "UP",
		   WIDTH_BYTES, "DOWN", "WHY");
	page_line(&p);
	return audit->out.failed == ERR_OK ? audit->out.p : "";
}

static void add_time(struct page *p, struct str time)
{
	char text[20];

	/* "2026-01-02T03:04:05.678Z", as it was parsed. */
	(void)snprintf(text, sizeof(text), "%.10s %.8s", time.p, time.p + 11);
	page_style(p, STYLE_FAINT, "%s", text);
}

static enum style style_of(enum audit_decision decision)
{
	if (decision == AUDIT_ALLOW)
		return STYLE_GOOD;
	return decision == AUDIT_DENY ? STYLE_BAD : STYLE_CAREFUL;
}

/* Adds `b` as a column. */
static void add_cell(struct page *p, const struct buf *b, size_t width)
{
	page_text(p, "  ");
	page_column(p, buf_str(b), width);
}

static void add_who(struct page *p, const struct audit_entry *x)
{
	char text[128];
	struct buf b = BUF_OVER(text);

	utf8_add_shown(&b, x->program.len ? x->program : STR("-"));
	if (x->pid)
		buf_printf(&b, "[%lld]", (long long)x->pid);
	add_cell(p, &b, WIDTH_PROGRAM);
}

static void add_amount(struct page *p, int64_t bytes)
{
	char text[32];
	struct buf b = BUF_OVER(text);

	if (bytes)
		audit_add_bytes(&b, bytes);
	else
		buf_add_char(&b, '-');
	page_printf(p, "  %*s", WIDTH_BYTES, text);
}

static void add_why(struct page *p, const struct audit_entry *x)
{
	page_text(p, "  ");
	audit_add_reason(p->out, x);
	if (x->address.len && !str_eq(x->address, x->host)) {
		page_text(p, " ");
		page_str(p, x->address);
	}
	if (x->count > 1)
		page_printf(p, " (%lld times)", (long long)x->count);
	if (x->is_open)
		page_text(p, " (open)");
}

static void add_entry(struct page *p, const struct audit_entry *x)
{
	char text[1200];
	struct buf target = BUF_OVER(text);

	add_time(p, x->time);
	page_text(p, "  ");
	page_column(p, x->run.len ? short_run(x->run) : STR("-"), WIDTH_RUN);
	page_text(p, "  ");
	page_style(p, style_of(x->decision), "%-7s", audit_decision_name(x->decision));
	add_who(p, x);
	page_text(p, "  ");
	page_column(p, x->protocol, WIDTH_PROTOCOL);
	page_text(p, "  ");
	page_column(p, x->method.len ? x->method : STR("-"), WIDTH_METHOD);
	audit_add_target(&target, x->host, x->port);
	add_cell(p, &target, WIDTH_TARGET);
	add_amount(p, x->bytes_up);
	add_amount(p, x->bytes_down);
	add_why(p, x);
	page_line(p);
}

int cordon_audit_next(cordon_audit *audit, uint32_t flags, const char **line, cordon_error **error)
{
	struct page p = page_of(audit, flags);
	struct err e = ERR_INIT;
	struct audit_entry x;
	int r = audit_next_entry(audit, &x, &e);

	if (r == 0)
		return 0;
	buf_clear(&audit->out);
	if (r == 1 && (flags & CORDON_AUDIT_JSON)) {
		/* Escaped already: what is not would not be an entry of ours, but shown all the same. */
		utf8_add_shown(&audit->out, x.text);
		page_line(&p);
	} else if (r == 1) {
		add_entry(&p, &x);
	}
	if (r < 0 || buf_check(&audit->out, &e) < 0)
		return error_give(&e, error);
	*line = audit->out.p;
	return 1;
}
