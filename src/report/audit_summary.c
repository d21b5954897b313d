/* SPDX-License-Identifier: MIT */
/* cordon_audit_summary(): the entries of an audit log, added up for each host. */
#include "base/sort.h"
#include "lib/lib.h"
#include "report/audit.h"
#include "report/report.h"

enum { PROGRAMS_SHOWN = 4, REFUSALS_SHOWN = 8 };

/* Why something was refused, and how often. */
struct refused {
	struct audit_entry entry; /* its reason, code and rule */
	int64_t count;
};

struct met {
	struct str name;
	int64_t port;
	int64_t counts[AUDIT_INVALID + 1];
	int64_t open; /* how many of the allowed have no end in the log */
	int64_t bytes_up, bytes_down;
	struct str first, last; /* times */
	struct str programs[PROGRAMS_SHOWN];
	size_t program_count;
	bool has_more_programs;
	struct refused refused[REFUSALS_SHOWN];
	size_t refused_count;
	bool has_more_refused;
};

struct summary {
	VEC(struct audit_entry) entries;
	VEC(struct met) hosts;
	struct met total;
	int64_t entry_count, broken;
	struct audit_asked asked;
};

/* ---- Adding up ------------------------------------------------------------------------ */

/* Copies what the summary shows. */
static int keep_entry(struct arena *a, struct summary *s, const struct audit_entry *x,
		      struct err *e)
{
	struct audit_entry kept = *x, *place;
	struct str *texts[] = { &kept.host, &kept.program, &kept.reason, &kept.code,
				&kept.rule, &kept.file,	   &kept.time };

	kept.text = STR_EMPTY;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (arena_copy(a, *texts[i], texts[i], e) < 0)
			return err_result(e);
	place = VEC_PUSH(a, &s->entries, e);
	if (!place)
		return err_result(e);
	*place = kept;
	return 0;
}

static int order_entries(const void *context, uint32_t a, uint32_t b)
{
	const struct audit_entry *entries = context;
	int c = str_cmp(entries[a].host, entries[b].host);

	if (c)
		return c;
	return (entries[a].port > entries[b].port) - (entries[a].port < entries[b].port);
}

/* The numbers come from a file, so the sum may overflow. */
static void add_number(int64_t *sum, int64_t n)
{
	*sum = n > INT64_MAX - *sum ? INT64_MAX : *sum + n;
}

static void add_program(struct met *h, struct str program)
{
	for (size_t i = 0; i < h->program_count; i++)
		if (str_eq(h->programs[i], program))
			return;
	if (program.len == 0)
		return;
	if (h->program_count == PROGRAMS_SHOWN)
		h->has_more_programs = true;
	else
		h->programs[h->program_count++] = program;
}

static void add_refused(struct met *h, const struct audit_entry *x)
{
	if (x->decision == AUDIT_ALLOW)
		return;
	for (size_t i = 0; i < h->refused_count; i++) {
		struct audit_entry *known = &h->refused[i].entry;

		if (str_eq(known->reason, x->reason) && str_eq(known->rule, x->rule)) {
			add_number(&h->refused[i].count, x->count);
			return;
		}
	}
	if (h->refused_count == REFUSALS_SHOWN)
		h->has_more_refused = true;
	else
		h->refused[h->refused_count++] = (struct refused){ *x, x->count };
}

static void add_to(struct met *h, const struct audit_entry *x)
{
	/* An entry of a start is here only if the log has no entry of the end. */
	add_number(&h->counts[x->decision], x->is_open ? 1 : x->count);
	add_number(&h->open, x->is_open);
	add_number(&h->bytes_up, x->bytes_up);
	add_number(&h->bytes_down, x->bytes_down);
	if (h->first.len == 0 || str_cmp(x->time, h->first) < 0)
		h->first = x->time;
	if (h->last.len == 0 || str_cmp(x->time, h->last) > 0)
		h->last = x->time;
	add_program(h, x->program);
	add_refused(h, x);
}

static int64_t bytes_of(const struct met *h)
{
	int64_t sum = h->bytes_up;

	add_number(&sum, h->bytes_down);
	return sum;
}

/* Hosts with the most bytes first, then those with the most denials. */
static int order_hosts(const void *context, uint32_t a, uint32_t b)
{
	const struct met *hosts = context;
	const struct met *x = &hosts[a], *y = &hosts[b];

	if (bytes_of(x) != bytes_of(y))
		return bytes_of(x) > bytes_of(y) ? -1 : 1;
	if (x->counts[AUDIT_DENY] != y->counts[AUDIT_DENY])
		return x->counts[AUDIT_DENY] > y->counts[AUDIT_DENY] ? -1 : 1;
	return 0;
}

static int add_up(struct arena *a, struct summary *s, struct err *e)
{
	size_t count = s->entries.count;
	uint32_t *numbers = audit_numbers(a, count, e);
	struct met *h = NULL;

	if (!numbers)
		return err_result(e);
	sort_numbers(numbers, numbers + count, count, order_entries, s->entries.items);
	for (size_t i = 0; i < count; i++) {
		const struct audit_entry *x = &s->entries.items[numbers[i]];

		if (!h || !str_eq(h->name, x->host) || h->port != x->port) {
			h = VEC_PUSH(a, &s->hosts, e);
			if (!h)
				return err_result(e);
			h->name = x->host;
			h->port = x->port;
		}
		add_to(h, x);
		add_to(&s->total, x);
	}
	return 0;
}

static int sort_hosts(struct arena *a, struct summary *s, struct err *e)
{
	size_t count = s->hosts.count;
	uint32_t *numbers = audit_numbers(a, count, e);
	struct met *sorted = arena_array(a, count + 1, sizeof(*sorted), e);

	if (!numbers || !sorted)
		return err_result(e);
	sort_numbers(numbers, numbers + count, count, order_hosts, s->hosts.items);
	for (size_t i = 0; i < count; i++)
		sorted[i] = s->hosts.items[numbers[i]];
	s->hosts.items = sorted;
	return 0;
}

/* ---- Text ---------------------------------------------------------------------------- */

enum { WIDTH_HOST = 34, WIDTH_NUMBER = 8, WIDTH_BYTES = 9 };

static void add_bytes(struct page *p, int64_t bytes)
{
	char text[32];
	struct buf b = BUF_OVER(text);

	audit_add_bytes(&b, bytes);
	page_printf(p, "  %*s", WIDTH_BYTES, text);
}

static void add_counts(struct page *p, const struct met *h)
{
	int64_t failed = h->counts[AUDIT_FAILED];

	add_number(&failed, h->counts[AUDIT_INVALID]);
	page_printf(p, "  %*lld", WIDTH_NUMBER, (long long)h->counts[AUDIT_ALLOW]);
	page_style(p, h->counts[AUDIT_DENY] ? STYLE_BAD : STYLE_PLAIN, "  %*lld", WIDTH_NUMBER,
		   (long long)h->counts[AUDIT_DENY]);
	page_printf(p, "  %*lld", WIDTH_NUMBER, (long long)failed);
	add_bytes(p, h->bytes_up);
	add_bytes(p, h->bytes_down);
}

static void add_programs(struct page *p, const struct met *h)
{
	for (size_t i = 0; i < h->program_count; i++) {
		page_text(p, i ? ", " : "  ");
		page_str(p, h->programs[i]);
	}
	if (h->has_more_programs)
		page_text(p, ", ...");
}

static void add_refusals(struct page *p, const struct met *h)
{
	for (size_t i = 0; i < h->refused_count; i++) {
		const struct refused *r = &h->refused[i];

		page_printf(p, "    %lld %s: ", (long long)r->count,
			    audit_decision_name(r->entry.decision));
		audit_add_reason(p->out, &r->entry);
		page_line(p);
	}
	if (h->has_more_refused)
		page_text(p, "    and more for other reasons\n");
}

static void add_open(struct page *p, const struct met *h)
{
	if (h->open)
		page_printf(p, "    %lld open: the log does not say how %s ended\n",
			    (long long)h->open, h->open == 1 ? "it" : "them");
}

static void add_host(struct page *p, const struct met *h)
{
	char text[1200];
	struct buf b = BUF_OVER(text);

	audit_add_target(&b, h->name, h->port);
	if (p->is_brief) {
		page_str(p, buf_str(&b));
		page_line(p);
		return;
	}
	page_column(p, buf_str(&b), WIDTH_HOST);
	add_counts(p, h);
	add_programs(p, h);
	page_line(p);
	add_refusals(p, h);
	add_open(p, h);
}

static void print_text(struct page *p, const void *data)
{
	const struct summary *s = data;

	if (s->hosts.count == 0) {
		page_text(p, p->is_brief || s->asked.lines || s->asked.tools.count
				     ? ""
				     : "no matching entries\n");
		audit_print_asked(p, &s->asked);
		return;
	}
	if (!p->is_brief) {
		page_style(p, STYLE_TITLE, "%-*s  %*s  %*s  %*s  %*s  %*s  %s", WIDTH_HOST, "HOST",
			   WIDTH_NUMBER, "ALLOWED", WIDTH_NUMBER, "DENIED", WIDTH_NUMBER, "FAILED",
			   WIDTH_BYTES, "UP", WIDTH_BYTES, "DOWN", "PROGRAMS");
		page_line(p);
	}
	for (size_t i = 0; i < s->hosts.count; i++)
		add_host(p, &s->hosts.items[i]);
	if (p->is_brief)
		return;
	page_printf(p, "%-*s", WIDTH_HOST, "all together");
	add_counts(p, &s->total);
	page_line(p);
	audit_print_asked(p, &s->asked);
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void json_counts(struct json_writer *w, const struct met *h)
{
	json_int(w, "allowed", h->counts[AUDIT_ALLOW]);
	json_int(w, "denied", h->counts[AUDIT_DENY]);
	json_int(w, "failed", h->counts[AUDIT_FAILED]);
	json_int(w, "invalid", h->counts[AUDIT_INVALID]);
	json_int(w, "open", h->open);
	json_int(w, "bytes_up", h->bytes_up);
	json_int(w, "bytes_down", h->bytes_down);
	json_str_or_null(w, "first", h->first);
	json_str_or_null(w, "last", h->last);
}

static void json_refused(struct json_writer *w, const struct refused *r)
{
	json_begin_object(w);
	json_text(w, "decision", audit_decision_name(r->entry.decision));
	json_str(w, "reason", r->entry.reason);
	json_str_or_null(w, "code", r->entry.code);
	json_str_or_null(w, "rule", r->entry.rule);
	json_str_or_null(w, "file", r->entry.file);
	json_int_or_null(w, "line", r->entry.line);
	json_int(w, "count", r->count);
	json_end_object(w);
}

static void json_host(struct json_writer *w, const struct met *h)
{
	json_begin_object(w);
	json_str_or_null(w, "host", h->name);
	json_int_or_null(w, "port", h->port);
	json_counts(w, h);
	json_strs(w, "programs", h->programs, h->program_count);
	json_bool(w, "more_programs", h->has_more_programs);
	json_key(w, "refused");
	json_begin_array(w);
	for (size_t i = 0; i < h->refused_count; i++)
		json_refused(w, &h->refused[i]);
	json_end_array(w);
	json_bool(w, "more_refused", h->has_more_refused);
	json_end_object(w);
}

static void print_json(struct json_writer *w, const void *data)
{
	const struct summary *s = data;

	json_begin_object(w);
	json_int(w, "entries", s->entry_count);
	json_int(w, "broken", s->broken);
	json_key(w, "hosts");
	json_begin_array(w);
	for (size_t i = 0; i < s->hosts.count; i++)
		json_host(w, &s->hosts.items[i]);
	json_end_array(w);
	json_key(w, "total");
	json_begin_object(w);
	json_counts(w, &s->total);
	json_end_object(w);
	audit_json_asked(w, &s->asked);
	json_end_object(w);
}

/* ---- Both ---------------------------------------------------------------------------- */

static int summarise(cordon_report *report, cordon_audit *audit, struct err *e)
{
	struct summary *s = ARENA_NEW(&report->arena, struct summary, e);
	struct audit_entry x;
	int r;

	if (!s)
		return err_result(e);
	while ((r = audit_next_entry(audit, &x, e)) == 1) {
		if (keep_entry(&report->arena, s, &x, e) < 0)
			return err_result(e);
		s->entry_count++;
	}
	if (r < 0 || add_up(&report->arena, s, e) < 0 || sort_hosts(&report->arena, s, e) < 0 ||
	    audit_add_up_asked(&report->arena, audit, &s->asked, e) < 0)
		return err_result(e);
	s->broken = (int64_t)audit->broken;
	report->data = s;
	report->print_text = print_text;
	report->schema = "audit-summary/1";
	report->describe = print_json;
	return 0;
}

int cordon_audit_summary(cordon_audit *audit, cordon_report **report, cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_report *r = NULL;

	if (!report)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_audit_summary needs a place for the report");
	else
		r = report_new(&e);
	if (!r)
		return error_give(&e, error);
	if (summarise(r, audit, &e) < 0) {
		cordon_report_free(r);
		return error_give(&e, error);
	}
	*report = r;
	return 0;
}

int cordon_audit_metrics(cordon_audit *audit, const char **text, cordon_error **error)
{
	scoped_arena a = ARENA_INIT(REPORT_MAX_BYTES);
	int64_t decisions[AUDIT_INVALID + 1] = { 0 };
	struct audit_asked asked;
	struct err e = ERR_INIT;
	struct audit_entry x;
	int r;

	while ((r = audit_next_entry(audit, &x, &e)) == 1)
		add_number(&decisions[x.decision], x.is_open ? 1 : x.count);
	buf_clear(&audit->out);
	if (r == 0 && audit_add_up_asked(&a, audit, &asked, &e) == 0)
		audit_print_metrics(&audit->out, &asked, decisions);
	if (e.code != ERR_OK || buf_check(&audit->out, &e) < 0)
		return error_give(&e, error);
	*text = audit->out.p;
	return 0;
}
