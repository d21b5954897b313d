/* SPDX-License-Identifier: MIT */
/* See domain.h. */
#include "policy/domain.h"

#include <stdio.h>

#include "base/utf8.h"

#define FORMS                                                                       \
	"the forms are example.com, *.example.com, **.example.com, *, an address, " \
	"or a block such as 10.0.0.0/8; each may have a :port or :from-to, "        \
	"IPv6 then in brackets"

static void set_ports(struct domain *d, uint16_t first, uint16_t last)
{
	/* Every port, however it is said, is said in one way. */
	d->port_first = first == 1 && last == UINT16_MAX ? 0 : first;
	d->port_last = last;
}

/* "443" or "8000-8999". */
static int parse_ports(struct str text, struct domain *d, struct err *e)
{
	size_t dash = str_find(text, '-');
	uint16_t first, last;

	if (str_is(text, "*"))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "leave the port out for all of them");
	if (str_find(text, ',') < text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "write one entry for each port, or a range :from-to");
	if (!hostname_port_number(str_first(text, dash), &first))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a port is a number from 1 to 65535");
	last = first;
	if (dash < text.len && !hostname_port_number(str_from(text, dash + 1), &last))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a port is a number from 1 to 65535");
	if (first > last)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "the first port is above the last");
	set_ports(d, first, last);
	return 0;
}

/* "10.0.0.1/8": a block but for the bits behind its length, which are cleared in `*out`. */
static bool clear_bits(struct str text, struct ip *out, unsigned *length)
{
	size_t slash = str_find(text, '/');
	uint16_t number;
	unsigned bits;

	if (slash == text.len || !ip_parse(str_first(text, slash), out) ||
	    !hostname_port_number(str_from(text, slash + 1), &number))
		return false;
	bits = number + (ip_is_v4(out) ? 96U : 0U);
	if (bits > 128)
		return false;
	for (unsigned i = bits; i < 128; i++)
		out->bytes[i / 8] &= (uint8_t) ~(0x80U >> (i % 8));
	*length = number;
	return true;
}

static int fail_bits(const struct ip *first, unsigned length, struct err *e)
{
	char text[128];
	struct buf b = BUF_OVER(text);

	ip_print(&b, first);
	if (buf_check(&b, e) < 0)
		return err_result(e);
	return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "bits are set behind /%u; did you mean %.*s/%u?",
			  length, STR_ARG(buf_str(&b)), length);
}

static int parse_block(struct str text, struct domain *d, struct err *e)
{
	unsigned length;
	struct ip ip;

	d->kind = DOMAIN_BLOCK;
	if (ip_block_parse(text, &d->block))
		return 0;
	if (clear_bits(text, &ip, &length))
		return fail_bits(&ip, length, e);
	if (str_find(text, '%') < text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "an address here has no zone");
	if (str_find(text, '/') < text.len &&
	    !ip_parse(str_first(text, str_find(text, '/')), &ip) && str_find(text, ':') == text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "write the host only: rules do not see paths");
	if (str_find(text, '/') < text.len)
		return FAIL_CAUSE(
			e, CAUSE_HOST_SYNTAX,
			"not an address block: the address must be whole, the length in range, "
			"and no bit set behind it; " FORMS);
	return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "not an address; " FORMS);
}

static int parse_bracketed(struct str text, struct domain *d, struct err *e)
{
	if (text.p[text.len - 1] != ']' || str_find(text, ':') == text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "brackets are for an IPv6 address or block, [...]:port");
	return parse_block(str_from(str_first(text, text.len - 1), 1), d, e);
}

static int parse_pattern(struct arena *a, struct str text, struct domain *d, struct err *e)
{
	struct ip ip;

	if (str_has_prefix(text, STR("[")))
		return parse_bracketed(text, d, e);
	if (str_find(text, ':') < text.len || str_find(text, '/') < text.len || ip_parse(text, &ip))
		return parse_block(text, d, e);
	if (str_is(text, "*")) {
		d->kind = DOMAIN_ANY;
		return 0;
	}
	d->kind = DOMAIN_EXACT;
	if (str_has_prefix(text, STR("**."))) {
		d->kind = DOMAIN_BOTH;
		text = str_from(text, 3);
	} else if (str_has_prefix(text, STR("*."))) {
		d->kind = DOMAIN_SUBDOMAINS;
		text = str_from(text, 2);
	}
	if (str_find(text, '*') < text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a '*' can only be the whole first label; " FORMS);
	return hostname_parse_name(a, text, &d->name, e);
}

static void print_block(struct buf *b, const struct domain *d, bool bracket)
{
	bool v4 = d->block.bits >= 96 && ip_is_v4(&d->block.first);

	bracket = bracket && !v4;
	if (bracket)
		buf_add_char(b, '[');
	ip_print(b, &d->block.first);
	if (d->block.bits < 128)
		buf_printf(b, "/%d", d->block.bits - (v4 ? 96 : 0));
	if (bracket)
		buf_add_char(b, ']');
}

static int print(struct arena *a, struct domain *d, struct err *e)
{
	static const char *const stars[] = {
		[DOMAIN_EXACT] = "", [DOMAIN_SUBDOMAINS] = "*.", [DOMAIN_BOTH] = "**.",
		[DOMAIN_ANY] = "*",  [DOMAIN_BLOCK] = "",
	};
	char text[512];
	struct buf b = BUF_OVER(text);
	bool ports = d->port_first > 0;

	buf_add_text(&b, stars[d->kind]);
	if (d->kind == DOMAIN_BLOCK)
		print_block(&b, d, ports);
	else
		buf_add(&b, d->name);
	if (ports)
		buf_printf(&b, ":%u", (unsigned)d->port_first);
	if (ports && d->port_first != d->port_last)
		buf_printf(&b, "-%u", (unsigned)d->port_last);
	if (buf_check(&b, e) < 0)
		return err_result(e);
	return arena_copy(a, buf_str(&b), &d->text, e);
}

int domain_parse_plain(struct arena *a, struct str text, struct domain *out, struct err *e)
{
	struct domain d = { .name = STR_EMPTY, .port_first = 0, .port_last = UINT16_MAX };
	size_t port = hostname_port_offset(text);

	if (domain_scheme_end(text) < text.len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "write the host only, not a URL");
	if (text.len == 0)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "it is empty; " FORMS);
	if (parse_pattern(a, str_first(text, port), &d, e) < 0 ||
	    (port < text.len && parse_ports(str_from(text, port + 1), &d, e) < 0) ||
	    print(a, &d, e) < 0)
		return err_result(e);
	*out = d;
	return 0;
}

/* What is wrong with a pattern that is a name need not name it again. */
static const char *without_name(const char *why, const char *shown)
{
	char name[192];
	int len = snprintf(name, sizeof(name), "host name '%s': ", shown);

	return strncmp(why, name, (size_t)len) == 0 ? why + len : why;
}

int domain_parse(struct arena *a, struct str text, struct domain *out, struct err *e)
{
	char shown[128], why[sizeof(e->text)], hint[256] = "";
	struct buf b = BUF_OVER(hint);

	if (domain_parse_plain(a, text, out, e) == 0)
		return 0;
	if (e->code != ERR_SYNTAX)
		return err_result(e);
	domain_add_hint(&b, text);
	(void)snprintf(why, sizeof(why), "%s", e->text);
	(void)utf8_show(text, shown, sizeof(shown));
	return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "domain pattern '%s': %s%s", shown,
			  without_name(why, shown), b.failed == ERR_OK ? hint : "");
}

int domain_limit_ports(struct arena *a, const struct domain *d, uint16_t first, uint16_t last,
		       struct domain *out, struct err *e)
{
	struct domain limited = *d;

	set_ports(&limited, first, last);
	if (print(a, &limited, e) < 0)
		return err_result(e);
	*out = limited;
	return 0;
}

struct domain domain_of_host(const struct hostname *host, uint16_t port)
{
	return (struct domain){
		.kind = host->is_ip ? DOMAIN_BLOCK : DOMAIN_EXACT,
		.name = host->name,
		.block = { .first = host->ip, .bits = 128 },
		.port_first = port,
		.port_last = port ? port : UINT16_MAX,
		.text = host->name,
	};
}

static bool is_name(const struct domain *d)
{
	return d->kind == DOMAIN_EXACT || d->kind == DOMAIN_SUBDOMAINS || d->kind == DOMAIN_BOTH;
}

/* Whether `name` is `parent` with at least one label before it. */
static bool is_below(struct str name, struct str parent)
{
	return name.len > parent.len + 1 && str_has_suffix(name, parent) &&
	       name.p[name.len - parent.len - 1] == '.';
}

bool domain_is_host_within(const struct domain *inner, const struct domain *outer)
{
	switch (outer->kind) {
	case DOMAIN_EXACT:
		return inner->kind == DOMAIN_EXACT && str_eq(inner->name, outer->name);
	case DOMAIN_SUBDOMAINS:
		return is_name(inner) &&
		       (is_below(inner->name, outer->name) ||
			(inner->kind == DOMAIN_SUBDOMAINS && str_eq(inner->name, outer->name)));
	case DOMAIN_BOTH:
		return is_name(inner) &&
		       (is_below(inner->name, outer->name) || str_eq(inner->name, outer->name));
	case DOMAIN_ANY:
		/*
		 * SECURITY: the private guard of P13 rests on '*' not covering such an
		 * address. Of wider blocks it can't be told which part is public.
		 */
		return inner->kind != DOMAIN_BLOCK ||
		       (inner->block.bits == 128 && ip_is_public(&inner->block.first));
	case DOMAIN_BLOCK:
		return inner->kind == DOMAIN_BLOCK && inner->block.bits >= outer->block.bits &&
		       ip_block_has(&outer->block, &inner->block.first);
	}
	return false;
}

bool domain_is_within(const struct domain *inner, const struct domain *outer)
{
	return inner->port_first >= outer->port_first && inner->port_last <= outer->port_last &&
	       domain_is_host_within(inner, outer);
}
