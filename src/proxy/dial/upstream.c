/* SPDX-License-Identifier: MIT */
/* Reads the upstream proxies from the environment. See upstream.h. */
#include "proxy/dial/upstream.h"

#include <string.h>

#include "os/os.h"

/* ---- The proxies ----------------------------------------------------------------------- */

static int hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes "%40" to "@". False if it does not fit, or contains a NUL. */
static bool decode(struct str text, char out[UPSTREAM_SECRET_BYTES])
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		int c = (unsigned char)text.p[i];

		if (c == '%') {
			int high = i + 2 < text.len ? hex_value(text.p[i + 1]) : -1;
			int low = i + 2 < text.len ? hex_value(text.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = high << 4 | low;
			i += 2;
		}
		if (c == '\0' || len + 1 >= UPSTREAM_SECRET_BYTES)
			return false;
		out[len++] = (char)c;
	}
	out[len] = '\0';
	return true;
}

static bool take_prefix(struct str *text, struct str prefix)
{
	if (text->len < prefix.len)
		return false;
	for (size_t i = 0; i < prefix.len; i++)
		if (ascii_lower(text->p[i]) != prefix.p[i])
			return false;
	*text = str_from(*text, prefix.len);
	return true;
}

static int read_scheme(struct upstream *u, struct str *text, uint16_t *port, struct err *e)
{
	static const struct {
		struct str prefix;
		bool is_socks;
		uint16_t port;
	} known[] = {
		{ STR_INIT("http://"), false, 80 },
		{ STR_INIT("socks5://"), true, 1080 },
		{ STR_INIT("socks5h://"), true, 1080 },
		{ STR_INIT("socks://"), true, 1080 },
	};

	*port = 80;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (take_prefix(text, known[i].prefix)) {
			u->is_socks = known[i].is_socks;
			*port = known[i].port;
			return 0;
		}
	for (size_t i = 0; i + 2 < text->len; i++)
		if (memcmp(text->p + i, "://", 3) == 0)
			return FAIL(e, ERR_SYNTAX,
				    "only http:// and socks5:// can be spoken to; unset the "
				    "variable, or say network.allow_upstream_proxy = false");
	return 0;
}

static int read_login(struct upstream *u, struct str login, struct err *e)
{
	size_t colon = str_find(login, ':');

	u->has_login = true;
	if (!decode(str_first(login, colon), u->user) ||
	    !decode(str_from(login, colon + 1), u->password))
		return FAIL(e, ERR_SYNTAX, "its user or password can't be read");
	return 0;
}

/*
 * SECURITY: name the variable and not its value, which may hold a password that would end up in
 * logs.
 */
static int read_url(struct upstream *u, struct str text, struct err *e)
{
	uint16_t port;
	struct str host;
	size_t at, colon;
	char why[256];

	if (read_scheme(u, &text, &port, e) < 0)
		return err_result(e);
	text = str_first(text, str_find(text, '/'));
	for (at = text.len; at > 0 && text.p[at - 1] != '@';)
		at--;
	if (at > 0 && read_login(u, str_first(text, at - 1), e) < 0)
		return err_result(e);
	text = str_from(text, at);
	colon = hostname_port_offset(text);
	host = str_first(text, colon);
	if (colon < text.len && !hostname_port_number(str_from(text, colon + 1), &port))
		return FAIL(e, ERR_SYNTAX, "its port is not a port number");
	/* A password that contains '@' or '/' ends up here. */
	if (!target_parse(&u->where, host, port, why, sizeof(why)))
		return FAIL(e, ERR_SYNTAX, "its host is no name and no address");
	return 0;
}

/* `name` is the lower-case one; afterwards the one that has the value. */
static const char *find_either(const char *const *environment, const char **name, const char *upper)
{
	const char *value = os_environment_find(environment, *name);

	if (!value || !*value) {
		value = os_environment_find(environment, upper);
		*name = upper;
	}
	return value && *value ? value : NULL;
}

static int read_proxy(struct upstream *u, const char *const *environment, const char *name,
		      const char *upper, struct err *e)
{
	const char *value = find_either(environment, &name, upper);

	if (!value) {
		name = "all_proxy";
		value = find_either(environment, &name, "ALL_PROXY");
	}
	if (value && read_url(u, str_of(value), e) < 0)
		return err_wrap(e, "the upstream proxy in %s", name);
	return 0;
}

/* ---- NO_PROXY -------------------------------------------------------------------------- */

/* A block of addresses, or the name without its leading dots and stars. */
static bool read_host(struct upstream_exception *x, struct str text)
{
	struct target t;
	char why[128];

	if (str_is(text, "*")) {
		x->is_any = true;
		return true;
	}
	if (ip_block_parse(text, &x->block)) {
		x->is_block = true;
		return true;
	}
	if (take_prefix(&text, STR("*.")) || take_prefix(&text, STR(".")))
		x->is_below_only = true;
	if (!target_parse(&t, text, 0, why, sizeof(why)))
		return false;
	if (t.is_ip) {
		x->is_block = true;
		x->block = (struct ip_block){ .first = t.ip, .bits = 128 };
	}
	memcpy(x->name, t.name, sizeof(x->name));
	return true;
}

/* Skips a word that means nothing, as other programs do. It makes no host direct. */
static int add_exception(struct upstreams *u, struct str word, struct err *e)
{
	struct upstream_exception *x = &u->exceptions[u->exception_count];
	size_t colon = hostname_port_offset(word);

	if (u->exception_count == UPSTREAM_MAX_EXCEPTIONS)
		return FAIL(e, ERR_LIMIT, "no_proxy has more than %d words",
			    UPSTREAM_MAX_EXCEPTIONS);
	*x = (struct upstream_exception){ .port = 0 };
	if (colon < word.len && hostname_port_number(str_from(word, colon + 1), &x->port))
		word = str_first(word, colon);
	if (read_host(x, word))
		u->exception_count++;
	return 0;
}

static int read_exceptions(struct upstreams *u, const char *value, struct err *e)
{
	struct str rest = str_of(value ? value : "");

	while (rest.len > 0) {
		size_t end = 0;

		while (end < rest.len && !strchr(", \t\n", rest.p[end]))
			end++;
		if (end > 0 && add_exception(u, str_first(rest, end), e) < 0)
			return err_result(e);
		rest = str_from(rest, end + 1);
	}
	return 0;
}

int upstreams_read(struct upstreams *out, const char *const *environment, struct err *e)
{
	const char *name = "no_proxy";

	*out = (struct upstreams){ .exception_count = 0 };
	if (read_proxy(&out->http, environment, "http_proxy", "HTTP_PROXY", e) < 0 ||
	    read_proxy(&out->other, environment, "https_proxy", "HTTPS_PROXY", e) < 0)
		return err_result(e);
	return read_exceptions(out, find_either(environment, &name, "NO_PROXY"), e);
}

/* ---- Which one ------------------------------------------------------------------------- */

static bool is_below(struct str name, struct str domain)
{
	return name.len > domain.len + 1 && str_has_suffix(name, domain) &&
	       name.p[name.len - domain.len - 1] == '.';
}

static bool excepts(const struct upstream_exception *x, const struct target *t,
		    const struct ip *addresses, size_t count)
{
	struct str name = str_of(t->name), domain = str_of(x->name);

	if (x->port && x->port != t->port)
		return false;
	if (x->is_any)
		return true;
	if (x->is_block) {
		for (size_t i = 0; i < count; i++)
			if (ip_block_has(&x->block, &addresses[i]))
				return true;
		return false;
	}
	return is_below(name, domain) || (!x->is_below_only && str_eq(name, domain));
}

const struct upstream *upstreams_find(const struct upstreams *u, const struct target *target,
				      const struct ip *addresses, size_t count)
{
	const struct upstream *found = target->port == 80 ? &u->http : &u->other;

	if (found->where.port == 0)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!ip_is_public(&addresses[i]))
			return NULL;
	for (size_t i = 0; i < u->exception_count; i++)
		if (excepts(&u->exceptions[i], target, addresses, count))
			return NULL;
	return found;
}
