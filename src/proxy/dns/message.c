/* SPDX-License-Identifier: MIT */
/* See message.h. Every read is checked against the message's length. */
#include "proxy/dns/message.h"

#include <string.h>

enum {
	HEAD_BYTES = 12,
	WIRE_NAME_BYTES = 255,
	LABEL_BYTES = 63,
	CLASS_IN = 1,
	MAX_RECORDS = 512, /* of an answer; later ones are ignored */
	MAX_ALIASES = 16,
	EDNS_BYTES = 1232, /* the size that queries announce: no larger answer comes */

	FLAG_RESPONSE = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_TRUNCATED = 0x0200,
	FLAG_WANTS_RECURSION = 0x0100,
	FLAG_HAS_RECURSION = 0x0080,
	FLAG_CODE = 0x000f,
};

/* A message that is being read, and the position in it. */
struct reader {
	const uint8_t *p;
	size_t len;
	size_t at;
};

static bool read_16(struct reader *r, uint16_t *out)
{
	if (r->len - r->at < 2)
		return false;
	*out = (uint16_t)(r->p[r->at] << 8 | r->p[r->at + 1]);
	r->at += 2;
	return true;
}

static bool read_32(struct reader *r, uint32_t *out)
{
	uint16_t high, low;

	if (!read_16(r, &high) || !read_16(r, &low))
		return false;
	*out = (uint32_t)high << 16 | low;
	return true;
}

static void put_16(uint8_t *out, size_t *at, uint16_t value)
{
	out[(*at)++] = (uint8_t)(value >> 8);
	out[(*at)++] = (uint8_t)value;
}

static void put_32(uint8_t *out, size_t *at, uint32_t value)
{
	put_16(out, at, (uint16_t)(value >> 16));
	put_16(out, at, (uint16_t)value);
}

/* ---- Names ----------------------------------------------------------------------------- */

struct name {
	bool is_odd;
	size_t len;
	char text[DNS_NAME_BYTES];
};

static void add_label(struct name *n, const uint8_t *label, size_t len)
{
	if (n->len > 0)
		n->text[n->len++] = '.';
	for (size_t i = 0; i < len; i++) {
		char c = ascii_lower((char)label[i]);

		n->is_odd |= c <= ' ' || c >= 0x7f || c == '.' || c == '\\';
		n->text[n->len++] = c;
	}
}

/*
 * A pointer must lead to before the beginning of the piece that it ends. So each piece lies before
 * the last one, and the loop ends.
 */
static bool read_name(struct reader *r, bool may_point, struct name *out)
{
	size_t at = r->at, piece = r->at, wire_bytes = 1, behind = 0;

	*out = (struct name){ .is_odd = false };
	for (;;) {
		uint8_t n;

		if (at >= r->len)
			return false;
		n = r->p[at++];
		if (n == 0)
			break;
		if (n <= LABEL_BYTES) {
			wire_bytes += 1u + n;
			if (n > r->len - at || wire_bytes > WIRE_NAME_BYTES)
				return false;
			add_label(out, r->p + at, n);
			at += n;
			continue;
		}
		if (n < 0xc0 || !may_point || at >= r->len)
			return false;
		if (!behind)
			behind = at + 1;
		at = (size_t)(n & 0x3f) << 8 | r->p[at];
		if (at >= piece)
			return false;
		piece = at;
	}
	out->text[out->is_odd ? 0 : out->len] = '\0';
	r->at = behind ? behind : at;
	return true;
}

static bool is_name(const struct name *n, struct str text)
{
	return !n->is_odd && str_eq((struct str){ n->text, n->len }, text);
}

size_t dns_write_name(uint8_t *out, struct str name)
{
	size_t at = 0;

	while (name.len > 0) {
		struct str label = str_first(name, str_find(name, '.'));

		if (label.len == 0 || label.len > LABEL_BYTES ||
		    at + 1 + label.len + 1 > WIRE_NAME_BYTES)
			return 0;
		out[at++] = (uint8_t)label.len;
		memcpy(out + at, label.p, label.len);
		at += label.len;
		if (label.len + 1 == name.len)
			return 0; /* a dot behind it */
		name = str_from(name, label.len + 1);
	}
	out[at++] = 0;
	return at == 1 ? 0 : at;
}

/* ---- Asking ---------------------------------------------------------------------------- */

size_t dns_write_question(uint8_t *out, uint16_t id, struct str name, uint16_t type)
{
	size_t at = 0, name_bytes;

	put_16(out, &at, id);
	put_16(out, &at, FLAG_WANTS_RECURSION);
	put_16(out, &at, 1);
	memset(out + at, 0, 6);
	at += 6;
	name_bytes = dns_write_name(out + at, name);
	if (!name_bytes)
		return 0;
	at += name_bytes;
	put_16(out, &at, type);
	put_16(out, &at, CLASS_IN);
	return at;
}

struct head {
	uint16_t id, flags, questions, answers, authorities, additionals;
};

static bool read_head(struct reader *r, struct head *out)
{
	return read_16(r, &out->id) && read_16(r, &out->flags) && read_16(r, &out->questions) &&
	       read_16(r, &out->answers) && read_16(r, &out->authorities) &&
	       read_16(r, &out->additionals);
}

struct record {
	struct name owner;
	uint16_t type, class;
	uint32_t ttl;
	/* at its first byte; `len` is its end; names may point back into the message */
	struct reader data;
};

static bool read_record(struct reader *r, struct record *out)
{
	uint16_t data_bytes;

	if (!read_name(r, true, &out->owner) || !read_16(r, &out->type) ||
	    !read_16(r, &out->class) || !read_32(r, &out->ttl) || !read_16(r, &data_bytes) ||
	    data_bytes > r->len - r->at)
		return false;
	out->data = (struct reader){ r->p, r->at + data_bytes, r->at };
	r->at += data_bytes;
	return true;
}

static bool add_address(struct dns_answer *a, const struct record *r)
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	size_t bytes = r->data.len - r->data.at;
	struct ip ip;

	if (bytes != (r->type == DNS_A ? 4 : 16))
		return false;
	memcpy(ip.bytes, v4_mapped, sizeof(v4_mapped));
	memcpy(ip.bytes + (16 - bytes), r->data.p + r->data.at, bytes);
	if (a->count < DNS_MAX_ADDRESSES)
		a->addresses[a->count++] = ip;
	return true;
}

/* RFC 2181, 8: a value with the highest bit set counts as 0. */
static void lower_ttl(struct dns_answer *a, uint32_t ttl)
{
	a->ttl = MIN_OF(a->ttl, ttl > INT32_MAX ? 0 : ttl);
}

/*
 * Adds the addresses of `name`, or finds what it is an alias of (1). 0: nothing more; -1:
 * malformed.
 */
static int read_owned(struct reader r, size_t count, uint16_t type, const struct name *name,
		      struct dns_answer *out, struct name *alias)
{
	bool has_alias = false;

	for (size_t i = 0; i < MIN_OF(count, (size_t)MAX_RECORDS); i++) {
		struct record record;

		if (!read_record(&r, &record))
			return -1;
		if (record.class != CLASS_IN ||
		    !is_name(&record.owner, (struct str){ name->text, name->len }))
			continue;
		if (record.type == type) {
			if (!add_address(out, &record))
				return -1;
			lower_ttl(out, record.ttl);
		} else if (record.type == DNS_CNAME && !has_alias) {
			if (!read_name(&record.data, true, alias))
				return -1;
			lower_ttl(out, record.ttl);
			has_alias = true;
		}
	}
	return has_alias && out->count == 0;
}

static bool read_addresses(struct reader r, size_t count, uint16_t type, const struct name *asked,
			   struct dns_answer *out)
{
	struct name name = *asked, alias;

	for (size_t i = 0; i <= MAX_ALIASES; i++) {
		int more = read_owned(r, count, type, &name, out, &alias);

		if (more <= 0)
			return more == 0;
		if (alias.is_odd)
			return true;
		name = alias;
	}
	return false;
}

bool dns_read_answer(const uint8_t *message, size_t len, uint16_t id, struct str name,
		     uint16_t type, struct dns_answer *out)
{
	struct reader r = { message, len, 0 };
	struct head head;
	struct name asked;
	uint16_t asked_type, asked_class;

	if (!read_head(&r, &head) || head.id != id || !(head.flags & FLAG_RESPONSE) ||
	    head.flags & FLAG_OPCODE || head.questions != 1 || !read_name(&r, false, &asked) ||
	    !is_name(&asked, name) || !read_16(&r, &asked_type) || asked_type != type ||
	    !read_16(&r, &asked_class) || asked_class != CLASS_IN)
		return false;
	*out = (struct dns_answer){ .code = head.flags & FLAG_CODE,
				    .is_truncated = head.flags & FLAG_TRUNCATED,
				    .ttl = INT32_MAX };
	if (out->is_truncated || out->code != DNS_FINE)
		return true;
	if (!read_addresses(r, head.answers, type, &asked, out)) {
		out->code = DNS_SERVER_FAILURE;
		out->count = 0;
	}
	return true;
}

/* ---- Answering ------------------------------------------------------------------------- */

/* A query may end with an EDNS record. Others (TSIG, …) are ignored. */
static int read_edns(struct reader *r, const struct head *head, struct dns_query *out)
{
	for (size_t i = 0; i < head->additionals; i++) {
		struct record record;

		if (!read_record(r, &record))
			return DNS_FORMAT_ERROR;
		if (record.type != DNS_OPT)
			continue;
		if (out->has_edns || record.owner.len > 0)
			return DNS_FORMAT_ERROR;
		out->has_edns = true;
		if ((record.ttl >> 16 & 0xff) != 0)
			return DNS_BAD_VERSION;
	}
	return DNS_FINE;
}

static bool read_question(struct reader *r, struct dns_query *out, uint16_t *class)
{
	size_t start = r->at;
	struct name name;

	if (!read_name(r, false, &name) || !read_16(r, &out->type) || !read_16(r, class))
		return false;
	out->is_odd = name.is_odd || name.len == 0;
	memcpy(out->name, name.text, name.len + 1);
	if (out->is_odd)
		out->name[0] = '\0';
	out->question_bytes = r->at - start;
	memcpy(out->question, r->p + start, out->question_bytes);
	return true;
}

int dns_read_query(const uint8_t *message, size_t len, struct dns_query *out)
{
	struct reader r = { message, len, 0 };
	struct head head;
	uint16_t class;
	int code;

	*out = (struct dns_query){ .id = 0 };
	/* Never answer an answer; else two resolvers could send each other messages for ever. */
	if (!read_head(&r, &head) || head.flags & FLAG_RESPONSE)
		return -1;
	out->id = head.id;
	out->wants_recursion = head.flags & FLAG_WANTS_RECURSION;
	if (head.flags & FLAG_OPCODE)
		return DNS_NOT_IMPLEMENTED;
	if (head.questions != 1 || head.answers || head.authorities ||
	    !read_question(&r, out, &class))
		return DNS_FORMAT_ERROR;
	code = read_edns(&r, &head, out);
	if (code == DNS_FINE && class != CLASS_IN)
		return DNS_REFUSED;
	return code;
}

static void put_edns(uint8_t *out, size_t *at, enum dns_code code)
{
	out[(*at)++] = 0;
	put_16(out, at, DNS_OPT);
	put_16(out, at, EDNS_BYTES);
	put_32(out, at, (uint32_t)code >> 4 << 24);
	put_16(out, at, 0);
}

size_t dns_write_reply(uint8_t *out, const struct dns_query *q, enum dns_code code, uint32_t ttl,
		       const uint8_t *data, size_t data_bytes)
{
	size_t at = 0;

	put_16(out, &at, q->id);
	put_16(out, &at,
	       (uint16_t)(FLAG_RESPONSE | FLAG_HAS_RECURSION |
			  (q->wants_recursion ? FLAG_WANTS_RECURSION : 0) | (code & FLAG_CODE)));
	put_16(out, &at, q->question_bytes > 0);
	put_16(out, &at, data_bytes > 0);
	put_16(out, &at, 0);
	put_16(out, &at, q->has_edns);
	memcpy(out + at, q->question, q->question_bytes);
	at += q->question_bytes;
	if (data_bytes > 0) {
		put_16(out, &at, 0xc000 | HEAD_BYTES);
		put_16(out, &at, q->type);
		put_16(out, &at, CLASS_IN);
		put_32(out, &at, ttl);
		put_16(out, &at, (uint16_t)data_bytes);
		memcpy(out + at, data, data_bytes);
		at += data_bytes;
	}
	if (q->has_edns)
		put_edns(out, &at, code);
	return at;
}

/* ---- Names for addresses --------------------------------------------------------------- */

static bool read_reverse_4(struct str name, struct ip *out)
{
	char text[16];
	size_t len = 0;

	/* Takes the labels in turn; ip_parse() checks whether they make an address. */
	while (name.len > 0) {
		size_t dot = name.len;

		while (dot > 0 && name.p[dot - 1] != '.')
			dot--;
		if (len + 1 + name.len - dot > sizeof(text))
			return false;
		if (len > 0)
			text[len++] = '.';
		memcpy(text + len, name.p + dot, name.len - dot);
		len += name.len - dot;
		name = str_first(name, dot > 0 ? dot - 1 : 0);
	}
	return ip_parse((struct str){ text, len }, out);
}

static int hex_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_reverse_6(struct str name, struct ip *out)
{
	if (name.len != 63)
		return false;
	*out = (struct ip){ .bytes = { 0 } };
	for (size_t i = 0; i < 32; i++) {
		int digit = hex_digit(name.p[2 * i]);

		if (digit < 0 || (i < 31 && name.p[2 * i + 1] != '.'))
			return false;
		out->bytes[15 - i / 2] |= (uint8_t)(digit << (i % 2 * 4));
	}
	return true;
}

bool dns_read_reverse(struct str name, struct ip *out)
{
	static const struct str v4 = STR_INIT(".in-addr.arpa"), v6 = STR_INIT(".ip6.arpa");

	if (str_has_suffix(name, v4))
		return read_reverse_4(str_first(name, name.len - v4.len), out);
	if (str_has_suffix(name, v6))
		return read_reverse_6(str_first(name, name.len - v6.len), out);
	return false;
}
