/* SPDX-License-Identifier: MIT */
/* See hostname.h. */
#include "base/hostname.h"

#include "base/idna.h"
#include "base/utf8.h"

enum {
	NAME_MAX_BYTES = 253, /* RFC 1035, 2.3.4: 255 on the wire, which is 253 in text */
};

/* What is wrong, with the name before it. */
static int wrap(struct err *e, struct str text)
{
	char shown[128];

	return err_wrap(e, "host name '%s'", utf8_show(text, shown, sizeof(shown)));
}

/*
 * Whether programs may read the name as an IPv4 address: its last label is a
 * number, decimal or in C's hexadecimal (the rule of the WHATWG URL standard,
 * "ends in a number"). inet_aton takes 127.1, 0x7f.1 and 2130706433 alike.
 */
static bool ends_in_number(struct str label)
{
	bool digits = true;

	for (size_t i = 0; i < label.len; i++)
		digits &= ascii_is_digit(label.p[i]);
	if (digits)
		return true;
	if (!str_has_prefix(label, STR("0x")))
		return false;
	for (size_t i = 2; i < label.len; i++)
		if (!ascii_is_digit(label.p[i]) && !(label.p[i] >= 'a' && label.p[i] <= 'f'))
			return false;
	return true;
}

struct name_text {
	char text[NAME_MAX_BYTES];
	size_t len;
	struct str last; /* label */
};

static int add_label(struct name_text *n, const struct idna_label *label, struct err *e)
{
	size_t dot = n->len > 0;

	if (label->len + dot > sizeof(n->text) - n->len)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a host name has at most %d bytes",
				  NAME_MAX_BYTES);
	if (dot)
		n->text[n->len++] = '.';
	memcpy(n->text + n->len, label->text, label->len);
	n->last = (struct str){ n->text + n->len, label->len };
	n->len += label->len;
	return 0;
}

/* Label by label into `n`. */
static int parse_labels(struct str text, struct name_text *n, struct err *e)
{
	bool any_rtl = false, all_ok = true;
	size_t dot;

	for (;; text = str_from(text, dot + 1)) {
		struct idna_label label;

		dot = str_find(text, '.');
		if (idna_label_parse(str_first(text, dot), &label, e) < 0 ||
		    add_label(n, &label, e) < 0)
			return err_result(e);
		any_rtl |= label.rtl;
		all_ok &= label.bidi_ok;
		if (dot == text.len)
			break;
	}
	if (any_rtl && !all_ok)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "the name mixes writing directions (RFC 5893)");
	if (ends_in_number(n->last))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX,
				  "a name can't end in a number; "
				  "an IPv4 address is four plain decimal numbers");
	return 0;
}

static int parse_name(struct arena *a, struct str text, struct str *out, struct err *e)
{
	struct name_text n = { .len = 0 };

	if (text.len == 0)
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a host name is empty");
	if (text.len > 1 && text.p[text.len - 1] == '.')
		text.len--;
	if (parse_labels(text, &n, e) < 0)
		return err_result(e);
	return arena_copy(a, (struct str){ n.text, n.len }, out, e);
}

int hostname_parse_name(struct arena *a, struct str text, struct str *out, struct err *e)
{
	struct ip ip;

	if (ip_parse(text, &ip)) {
		FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "an address is not a host name");
		return wrap(e, text);
	}
	if (parse_name(a, text, out, e) < 0)
		return wrap(e, text);
	return 0;
}

static int set_ip(struct arena *a, const struct ip *ip, struct hostname *out, struct err *e)
{
	struct hostname host = { .is_ip = true, .ip = *ip };
	char text[64];
	struct buf b = BUF_OVER(text);

	ip_print(&b, ip);
	if (buf_check(&b, e) < 0 || arena_copy(a, buf_str(&b), &host.name, e) < 0)
		return err_result(e);
	*out = host;
	return 0;
}

/* An IPv6 address with or without a zone (RFC 4007, section 11), without brackets. */
static int parse_v6(struct arena *a, struct str text, struct hostname *out, struct err *e)
{
	size_t zone = str_find(text, '%');
	struct str address = str_first(text, zone);
	struct ip ip;

	if (zone + 1 == text.len || str_find(address, ':') == address.len ||
	    !ip_parse(address, &ip))
		return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "not an IPv6 address");
	for (size_t i = zone; i < text.len; i++)
		if ((unsigned char)text.p[i] <= ' ' || (unsigned char)text.p[i] >= 0x7f)
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "the zone is not plain text");
	return set_ip(a, &ip, out, e);
}

static int parse_host(struct arena *a, struct str text, struct hostname *out, struct err *e)
{
	struct hostname host = { .is_ip = false };
	struct ip ip;

	if (str_has_prefix(text, STR("["))) {
		if (text.p[text.len - 1] != ']')
			return FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "the bracket is not closed");
		return parse_v6(a, str_from(str_first(text, text.len - 1), 1), out, e);
	}
	if (str_find(text, ':') < text.len)
		return parse_v6(a, text, out, e);
	if (ip_parse(text, &ip))
		return set_ip(a, &ip, out, e);
	if (parse_name(a, text, &host.name, e) < 0)
		return err_result(e);
	*out = host;
	return 0;
}

int hostname_parse(struct arena *a, struct str text, struct hostname *out, struct err *e)
{
	if (parse_host(a, text, out, e) < 0)
		return wrap(e, text);
	return 0;
}

bool hostname_port_number(struct str text, uint16_t *out)
{
	unsigned n = 0;

	if (text.len == 0 || text.len > 5 || text.p[0] == '0')
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		n = n * 10 + (unsigned)(text.p[i] - '0');
	}
	if (n > UINT16_MAX)
		return false;
	*out = (uint16_t)n;
	return true;
}

bool hostname_is_localhost(struct str name)
{
	return str_is(name, "localhost") || str_has_suffix(name, STR(".localhost"));
}

size_t hostname_port_offset(struct str text)
{
	size_t colon = str_find(text, ':');

	if (str_has_prefix(text, STR("["))) {
		size_t behind = str_find(text, ']') + 1;

		return behind < text.len && text.p[behind] == ':' ? behind : text.len;
	}
	/* Two colons are an IPv6 address without brackets, and those have no port. */
	if (colon < text.len && str_find(str_from(text, colon + 1), ':') < text.len - colon - 1)
		return text.len;
	return colon;
}

int hostname_parse_port(struct arena *a, struct str text, struct hostname *out, uint16_t *port,
			struct err *e)
{
	size_t at = hostname_port_offset(text);
	struct hostname host;
	uint16_t number = 0;

	if (at < text.len && !hostname_port_number(str_from(text, at + 1), &number)) {
		FAIL_CAUSE(e, CAUSE_HOST_SYNTAX, "a port is a number from 1 to 65535");
		return wrap(e, text);
	}
	if (parse_host(a, str_first(text, at), &host, e) < 0)
		return wrap(e, text);
	*out = host;
	*port = number;
	return 0;
}
