/* SPDX-License-Identifier: MIT */
/* resolv.conf(5). See name_files.h. */
#include <string.h>

#include "proxy/dns/name_files.h"

enum {
	NDOTS_DEFAULT = 1,
	NDOTS_MOST = 15,
	TIMEOUT_DEFAULT_S = 5,
	TIMEOUT_MOST_S = 30,
	ATTEMPTS_DEFAULT = 2,
	ATTEMPTS_MOST = 5,
};

static void add_server(struct resolv_conf *c, struct str word)
{
	size_t percent = str_find(word, '%');
	struct str zone = str_from(word, percent + 1);
	struct name_server *s = &c->servers[c->server_count];

	if (c->server_count == CONF_MAX_SERVERS || zone.len >= sizeof(s->zone) ||
	    !ip_parse(str_first(word, percent), &s->ip))
		return;
	memset(s->zone, 0, sizeof(s->zone));
	memcpy(s->zone, zone.p, zone.len);
	c->server_count++;
}

/* "search" and "domain": the last line of either kind wins. */
static void set_search(struct resolv_conf *c, struct str line)
{
	c->search_count = 0;
	while (c->search_count < CONF_MAX_SEARCH) {
		struct str word = name_file_word(&line);
		char *out = c->search[c->search_count];

		if (word.len == 0)
			return;
		if (word.p[word.len - 1] == '.')
			word.len--;
		if (word.len == 0 || word.len >= CONF_DOMAIN_BYTES)
			continue;
		for (size_t i = 0; i < word.len; i++)
			out[i] = ascii_lower(word.p[i]);
		out[word.len] = '\0';
		c->search_count++;
	}
}

static bool read_number(struct str option, struct str name, uint32_t most, uint32_t *out)
{
	struct str digits = str_from(option, name.len);
	uint32_t value = 0;

	if (!str_has_prefix(option, name) || digits.len == 0 || digits.len > 6)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (!ascii_is_digit(digits.p[i]))
			return false;
		value = value * 10 + (uint32_t)(digits.p[i] - '0');
	}
	*out = MIN_OF(value, most);
	return true;
}

static void read_options(struct resolv_conf *c, struct str line)
{
	for (;;) {
		struct str word = name_file_word(&line);
		uint32_t value;

		if (word.len == 0)
			return;
		if (read_number(word, STR("ndots:"), NDOTS_MOST, &value))
			c->ndots = value;
		else if (read_number(word, STR("timeout:"), TIMEOUT_MOST_S, &value))
			c->timeout_ms = MAX_OF(value, 1u) * 1000;
		else if (read_number(word, STR("attempts:"), ATTEMPTS_MOST, &value))
			c->attempts = MAX_OF(value, 1u);
		else if (str_is(word, "rotate"))
			c->rotates = true;
		else if (str_is(word, "use-vc"))
			c->uses_tcp = true;
	}
}

void resolv_conf_read(struct str text, struct resolv_conf *out)
{
	struct str line;

	*out = (struct resolv_conf){ .ndots = NDOTS_DEFAULT,
				     .timeout_ms = TIMEOUT_DEFAULT_S * 1000,
				     .attempts = ATTEMPTS_DEFAULT };
	while (name_file_line(&text, &line)) {
		struct str key;

		if (line.len > 0 && (line.p[0] == ';' || line.p[0] == '#'))
			continue;
		key = name_file_word(&line);
		if (str_is(key, "nameserver"))
			add_server(out, name_file_word(&line));
		else if (str_is(key, "search") || str_is(key, "domain"))
			set_search(out, line);
		else if (str_is(key, "options"))
			read_options(out, line);
	}
	if (out->server_count == 0)
		add_server(out, STR("127.0.0.1"));
}
