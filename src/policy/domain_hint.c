/* SPDX-License-Identifier: MIT */
/*
 * Guesses what somebody meant by text that is no host pattern (P13): a URL, a list, an ssh address,
 * a pattern of another program. The guess only becomes part of the error message. It is a valid
 * pattern: it is parsed first. Allocates nothing, since the proxy parses patterns too.
 */
#include "policy/domain.h"

#include "base/utf8.h"

enum { MEANT_BYTES = 320, PARSE_BYTES = 4096 };

static bool is_pattern(struct str text)
{
	_Alignas(max_align_t) unsigned char block[PARSE_BYTES];
	struct err ignored = ERR_INIT;
	struct domain d;
	struct arena a;

	arena_over(&a, block, sizeof(block));
	return domain_parse_plain(&a, text, &d, &ignored) == 0;
}

static bool offer(struct buf *out, const struct buf *meant, const char *what)
{
	if (meant->failed != ERR_OK || !meant->len || !is_pattern(buf_str(meant)))
		return false;
	buf_printf(out, "; did you mean '%.*s'%s?", STR_ARG(buf_str(meant)), what);
	return true;
}

/* Up to the first of `ends`. */
static struct str up_to(struct str text, const char *ends)
{
	for (; *ends; ends++)
		text = str_first(text, str_find(text, *ends));
	return text;
}

size_t domain_scheme_end(struct str text)
{
	for (size_t i = 0; i + 2 < text.len; i++)
		if (memcmp(text.p + i, "://", 3) == 0)
			return i;
	return text.len;
}

static const char *find_port(struct str service)
{
	static const struct {
		const char *name, *port;
	} known[] = {
		{ "http", "80" }, { "https", "443" }, { "ws", "80" },	 { "wss", "443" },
		{ "ssh", "22" },  { "git", "9418" },  { "ftp", "21" },	 { "smtp", "25" },
		{ "dns", "53" },  { "imaps", "993" }, { "ldap", "389" },
	};

	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (str_is(service, known[i].name))
			return known[i].port;
	return NULL;
}

/* What follows the last '@' of `text`, which is part of a URL or an ssh address. */
static struct str skip_user(struct str text)
{
	size_t at;

	while ((at = str_find(text, '@')) < text.len)
		text = str_from(text, at + 1);
	return text;
}

static bool hint_url(struct buf *out, struct str text)
{
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);
	size_t scheme = domain_scheme_end(text);
	const char *port = find_port(str_first(text, scheme));
	struct str host;

	if (scheme == text.len)
		return false;
	host = skip_user(up_to(str_from(text, scheme + 3), "/?#"));
	buf_add(&meant, host);
	if (port && hostname_port_offset(host) == host.len)
		buf_printf(&meant, ":%s", port);
	return offer(out, &meant, "");
}

/* "git@host:me/project": a path follows the colon. */
static bool hint_user(struct buf *out, struct str text)
{
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);

	if (str_find(text, '@') == text.len)
		return false;
	buf_add(&meant, up_to(skip_user(text), ":/"));
	buf_add_text(&meant, ":22");
	return offer(out, &meant, " (ssh)");
}

static bool hint_list(struct buf *out, struct str text)
{
	static const char separators[] = ",; |";
	struct str first = up_to(text, separators);
	struct str rest = str_from(text, MIN_OF(first.len + 1, text.len));

	if (!rest.len || !is_pattern(first))
		return false;
	/* The parser of ports has messages of its own. */
	if (ascii_is_digit(rest.p[0]) && hostname_port_offset(first) < first.len)
		return false;
	buf_add_text(out, "; each host is an entry, or an option, of its own");
	return true;
}

static bool hint_stars(struct buf *out, struct str text)
{
	struct str rest = text;
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);

	while (rest.len && (rest.p[0] == '*' || rest.p[0] == '.'))
		rest = str_from(rest, 1);
	if (rest.len == text.len)
		return false;
	if (!rest.len || rest.p[0] == ':') {
		buf_add_char(&meant, '*');
		buf_add(&meant, rest);
		return offer(out, &meant, ", every public host");
	}
	/* Nobody means a whole top-level domain. */
	if (str_find(rest, '.') == rest.len)
		return false;
	buf_add_text(&meant, "**.");
	buf_add(&meant, rest);
	return offer(out, &meant, ", which is that and all below it");
}

/* "10.1.*.*" */
static bool hint_block(struct buf *out, struct str text)
{
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);
	unsigned labels = 0, known = 0;

	for (; text.len && labels < 4; labels++) {
		struct str label = up_to(text, ".");

		text = str_from(text, MIN_OF(label.len + 1, text.len));
		if (!str_is(label, "*") && known < labels)
			return false;
		known += !str_is(label, "*");
		buf_printf(&meant, "%s%.*s", labels ? "." : "",
			   STR_ALL(str_is(label, "*") ? STR("0") : label));
	}
	if (text.len || known == 0 || known == 4)
		return false;
	for (; labels < 4; labels++)
		buf_add_text(&meant, ".0");
	buf_printf(&meant, "/%u", 8 * known);
	return offer(out, &meant, "");
}

static bool hint_deny(struct buf *out, struct str text)
{
	struct str rest = str_from(text, 1);

	if (text.p[0] != '!' || !is_pattern(rest))
		return false;
	buf_printf(out, "; to deny it: --deny-host %.*s, or \"%.*s\" = \"deny\"", STR_ARG(rest),
		   STR_ARG(rest));
	return true;
}

/* Ports in the syntax of other programs: "https", "80..90", "80:90", "80-", "443/tcp". */
static bool hint_ports(struct buf *out, struct str text)
{
	struct str host = str_first(text, str_find(text, ':'));
	struct str ports = str_from(text, MIN_OF(host.len + 1, text.len));
	struct str first = up_to(ports, "-.:/");
	struct str last = str_from(ports, first.len);
	const char *port = find_port(first);
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);

	if (!ports.len)
		return false;
	while (last.len && !ascii_is_digit(last.p[0]) && last.p[0] != '/')
		last = str_from(last, 1);
	buf_add(&meant, host.len ? host : STR("*"));
	buf_add_char(&meant, ':');
	buf_add(&meant, port ? str_of(port) : first);
	if (last.len && last.p[0] != '/')
		buf_printf(&meant, "-%.*s", STR_ALL(last));
	else if (ports.p[ports.len - 1] == '-')
		buf_add_text(&meant, "-65535");
	return offer(out, &meant, host.len ? "" : ", every public host");
}

static bool hint_path(struct buf *out, struct str text)
{
	char room[MEANT_BYTES];
	struct buf meant = BUF_OVER(room);

	if (str_find(text, '/') == text.len)
		return false;
	buf_add(&meant, up_to(text, "/"));
	return offer(out, &meant, "");
}

void domain_add_hint(struct buf *out, struct str text)
{
	static bool (*const hints[])(struct buf * out, struct str text) = {
		hint_url,  hint_user, hint_list,  hint_block,
		hint_deny, hint_path, hint_stars, hint_ports,
	};
	/* Only text of the characters that patterns and URLs have gets a hint. */
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.p[i] < ' ' || (unsigned char)text.p[i] > '~')
			return;
	for (size_t i = 0; text.len && i < COUNT_OF(hints); i++)
		if (hints[i](out, text))
			return;
}
