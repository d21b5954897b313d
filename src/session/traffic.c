/* SPDX-License-Identifier: MIT */
/* The decisions of the proxy, summed up for the report, and as denials and failures of the run. */
#include <errno.h>

#include "base/utf8.h"
#include "proxy/decide.h"
#include "session/network.h"

void traffic_init(struct traffic *t)
{
	*t = (struct traffic){ .arena = ARENA_INIT(TRAFFIC_MAX_BYTES), .first_failure = STR_EMPTY };
}

void traffic_done(struct traffic *t)
{
	arena_done(&t->arena);
	t->hosts.items = NULL;
	t->hosts.count = t->hosts.room = 0;
	t->first_failure = STR_EMPTY;
}

static bool is_same(const struct traffic_host *host, const struct proxy_record *record)
{
	return host->port == record->port && str_is(host->name, record->host);
}

static struct traffic_host *find_host(struct traffic *t, const struct proxy_record *record)
{
	struct err e = ERR_INIT;
	struct traffic_host *added;
	struct str name;

	/* A program speaks to one host for a while. */
	if (t->last < t->hosts.count && is_same(&t->hosts.items[t->last], record))
		return &t->hosts.items[t->last];
	for (size_t i = 0; i < t->hosts.count; i++)
		if (is_same(&t->hosts.items[i], record))
			return &t->hosts.items[t->last = i];
	if (t->hosts.count >= TRAFFIC_MAX_HOSTS ||
	    arena_copy(&t->arena, str_of(record->host), &name, &e) < 0)
		return NULL;
	added = VEC_PUSH(&t->arena, &t->hosts, &e);
	if (!added)
		return NULL;
	*added = (struct traffic_host){ .name = name, .port = record->port };
	t->last = t->hosts.count - 1;
	return added;
}

static void count(struct traffic_sums *sums, const struct proxy_record *record)
{
	uint64_t times = record->count ? record->count : 1;

	if (record->reason == PROXY_ALLOWED)
		sums->allowed += times;
	else if (proxy_is_denial(record->reason))
		sums->denied += times;
	else
		sums->failed += times;
	sums->bytes_up += record->bytes_up;
	sums->bytes_down += record->bytes_down;
}

void traffic_add(struct traffic *t, const struct proxy_record *record)
{
	struct traffic_host *host = find_host(t, record);

	count(&t->sums, record);
	if (!host) {
		t->unlisted += record->count ? record->count : 1;
		return;
	}
	count(&host->sums, record);
	if (record->reason != PROXY_ALLOWED)
		host->reason = record->reason;
}

/* ---- Denials --------------------------------------------------------------------------- */

static void fill_judgement(struct judgement *out, const struct proxy_record *record)
{
	*out = (struct judgement){ .decision = DECISION_DENY,
				   .reason = record->reason,
				   .rule_line = record->rule_line };
	memcpy(out->rule, record->rule, sizeof(out->rule));
	memcpy(out->rule_file, record->rule_file, sizeof(out->rule_file));
}

static void add_subject(struct buf *b, const struct target *t)
{
	bool has_brackets = t->port && t->is_ip && !ip_is_v4(&t->ip);

	buf_printf(b, has_brackets ? "[%s]" : "%s", t->name);
	if (t->port)
		buf_printf(b, ":%u", (unsigned)t->port);
}

/* What refusal.c makes words of. */
struct told {
	struct target target;
	struct judgement judgement;
	struct refusal refusal;
};

static void fill_told(struct told *out, const struct proxy_record *record)
{
	struct target *target = &out->target;
	char ignored[1];

	out->refusal = (struct refusal){ .reason = record->reason,
					 .os_error = record->os_error,
					 .target = target,
					 .judgement = &out->judgement,
					 .method = str_of(record->method) };
	if (!target_parse(target, str_of(record->host), record->port, ignored, sizeof(ignored))) {
		*target = (struct target){ .port = record->port };
		memcpy(target->name, record->host, sizeof(target->name));
	}
	fill_judgement(&out->judgement, record);
	/* The name of a hello is not looked up: the address is that of the target. */
	if (record->has_address && !target->is_ip && record->reason != PROXY_DENIED_HELLO)
		out->refusal.address = &record->address;
}

/* Of a connect() that the supervisor refused; what comes by a proxy's protocol has none. */
static int error_of(const struct proxy_record *record)
{
	bool is_connect = record->protocol == PROXY_BY_ADDRESS &&
			  record->reason != PROXY_DENIED_HELLO;

	return is_connect ? EACCES : 0;
}

void traffic_deny(struct denials *denials, const struct proxy_record *record)
{
	char subject_text[PROXY_HOST_BYTES + 16];
	char rule_text[REFUSAL_TEXT_BYTES];
	char way_text[REFUSAL_TEXT_BYTES];
	char value_text[PROXY_HOST_BYTES + 16];
	struct buf value = BUF_OVER(value_text);
	struct buf subject = BUF_OVER(subject_text);
	struct buf rule = BUF_OVER(rule_text);
	struct buf way = BUF_OVER(way_text);
	struct told told;
	bool can_be_allowed;

	fill_told(&told, record);
	add_subject(&subject, &told.target);
	refusal_way(&told.refusal, &way);
	can_be_allowed = refusal_allow_host(&told.refusal, &value);
	told.judgement.rule_file[0] = '\0'; /* the origin has it */
	refusal_why(&told.refusal, &rule);
	denials_add(denials,
		    &(struct denial){
			    .kind = DENIAL_HOST,
			    .operation = record->port ? OPERATION_CONNECT : OPERATION_LOOKUP,
			    .subject = buf_str(&subject),
			    .rule = buf_str(&rule),
			    .origin = { .file = record->rule_file, .line = record->rule_line },
			    .is_guarded = record->reason == PROXY_DENIED_PRIVATE &&
					  told.refusal.address != NULL,
			    .way_out = buf_str(&way),
			    .option = can_be_allowed ? "--allow-host" : NULL,
			    .value = buf_str(&value),
			    .program = str_of(record->program),
			    .pid = record->pid,
			    .os_error = error_of(record),
			    .count = record->count });
}

void traffic_fail(struct traffic *t, const struct proxy_record *record, struct buf *words)
{
	struct err ignored = ERR_INIT;
	struct told told;

	fill_told(&told, record);
	refusal_why(&told.refusal, words);
	if (!t->first_failure.len)
		(void)!arena_copy(&t->arena, buf_str(words), &t->first_failure, &ignored);
}
