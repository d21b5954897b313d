/* SPDX-License-Identifier: MIT */
/*
 * Every short domain pattern against every short host (P13). The slow answer
 * works on the texts alone: it splits names at dots, writes addresses as bits,
 * and knows the public ones of the few used here by heart.
 */
#include "policy/domain.h"

#include "../unit/test.h"

enum { MAX_TEXTS = 4096, TEXT_ROOM = 48 };

struct texts {
	char list[MAX_TEXTS][TEXT_ROOM];
	size_t count;
};

static void add_text(struct texts *t, const char *prefix, const char *text)
{
	if (t->count < MAX_TEXTS)
		(void)snprintf(t->list[t->count++], TEXT_ROOM, "%s%s", prefix, text);
}

/* All names of up to `max` labels "a" and "b". */
static void add_names(struct texts *t, const char *prefix, unsigned max)
{
	for (unsigned labels = 1; labels <= max; labels++)
		for (unsigned bits = 0; bits < 1U << labels; bits++) {
			char name[TEXT_ROOM] = "";

			for (size_t i = 0; i < labels; i++) {
				name[2 * i] = bits >> i & 1 ? 'b' : 'a';
				name[2 * i + 1] = i + 1 < labels ? '.' : '\0';
			}
			add_text(t, prefix, name);
		}
}

/* Addresses: the text, the bits, and whether anyone on the internet may have it. */
static const struct {
	const char *text, *family_and_hex;
	bool is_public;
} addresses[] = {
	{ "10.0.0.1", "4:0a000001", false },
	{ "10.128.0.0", "4:0a800000", false },
	{ "8.8.8.8", "4:08080808", true },
	{ "11.0.0.1", "4:0b000001", true },
	{ "127.0.0.1", "4:7f000001", false },
	{ "0.0.0.0", "4:00000000", false },
	{ "255.255.255.255", "4:ffffffff", false },
	{ "::ffff:8.8.8.8", "4:08080808", true },
	{ "::ffff:10.0.0.1", "4:0a000001", false },
	{ "::", "6:00000000000000000000000000000000", false },
	{ "::1", "6:00000000000000000000000000000001", false },
	{ "2606:4700::1", "6:26064700000000000000000000000001", true },
	{ "2606:4700::8:0:0:1", "6:26064700000000000008000000000001", true },
	{ "fd00::1", "6:fd000000000000000000000000000001", false },
	{ "64:ff9b::808:808", "6:0064ff9b000000000000000008080808", true },
	{ "64:ff9b::a00:1", "6:0064ff9b00000000000000000a000001", false },
};

/* Blocks: as written, and the bits that count. */
static const struct {
	const char *text;
	const char *family_and_hex;
	unsigned bits;
} blocks[] = {
	{ "10.0.0.0/8", "4:0a000000", 8 },
	{ "10.0.0.0/9", "4:0a000000", 9 },
	{ "8.0.0.0/5", "4:08000000", 5 },
	{ "0.0.0.0/0", "4:00000000", 0 },
	{ "10.0.0.1", "4:0a000001", 32 },
	{ "8.8.8.8/32", "4:08080808", 32 },
	{ "0.0.0.0/1", "4:00000000", 1 },
	{ "128.0.0.0/1", "4:80000000", 1 },
	{ "::/0", "6:00000000000000000000000000000000", 0 },
	{ "::/127", "6:00000000000000000000000000000000", 127 },
	{ "::1", "6:00000000000000000000000000000001", 128 },
	{ "2606:4700::/32", "6:26064700000000000000000000000000", 32 },
	{ "2606:4700::/77", "6:26064700000000000000000000000000", 77 },
	{ "2606:4700::/76", "6:26064700000000000000000000000000", 76 },
	{ "fc00::/7", "6:fc000000000000000000000000000000", 7 },
	{ "::ffff:10.0.0.0/104", "4:0a000000", 8 },
	{ "::ffff:0:0/96", "4:00000000", 0 },
};

static bool bit_of(const char *hex, unsigned n)
{
	char digit[2] = { hex[n / 4], '\0' };

	return strtoul(digit, NULL, 16) >> (3 - n % 4) & 1;
}

static bool slow_in_block(size_t block, size_t address)
{
	const char *b = blocks[block].family_and_hex, *a = addresses[address].family_and_hex;

	if (b[0] != a[0])
		return false;
	for (unsigned i = 0; i < blocks[block].bits; i++)
		if (bit_of(b + 2, i) != bit_of(a + 2, i))
			return false;
	return true;
}

/* `pattern` has its stars and no port. */
static bool slow_name(const char *pattern, const char *host)
{
	const char *base = pattern + strspn(pattern, "*");
	size_t stars = (size_t)(base - pattern);
	char with_dot[TEXT_ROOM + 2];
	const char *end;

	if (stars == 1 && *base == '\0')
		return true;
	if (stars == 0)
		return strcmp(base, host) == 0;
	/* ".a.b" at the end of ".x.a.b": below it or, for two stars, it. */
	(void)snprintf(with_dot, sizeof(with_dot), ".%s", host);
	if (strlen(base) > strlen(with_dot))
		return false;
	end = with_dot + strlen(with_dot) - strlen(base);
	return strcmp(end, base) == 0 && (stars == 2 || end != with_dot);
}

static const struct {
	const char *text;
	unsigned first, last;
	bool all;
} port_forms[] = {
	{ "", 0, 65535, true },	       { ":443", 443, 443, false },
	{ ":80-443", 80, 443, false }, { ":1-65535", 1, 65535, true },
	{ ":1-2", 1, 2, false },       { ":65535", 65535, 65535, false },
};
static const uint16_t ports[] = { 0, 1, 2, 3, 79, 80, 443, 444, 65534, 65535 };

static bool slow_port(size_t form, uint16_t port)
{
	if (port == 0)
		return port_forms[form].all;
	return port >= port_forms[form].first && port <= port_forms[form].last;
}

static size_t compared, wrong;

static void compare(const struct domain *d, const char *host_text, const struct hostname *host,
		    size_t form, bool want)
{
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		struct domain asked = domain_of_host(host, ports[i]);
		bool got = domain_is_within(&asked, d);

		compared++;
		if (got == (want && slow_port(form, ports[i])))
			continue;
		if (wrong++ < 10)
			printf("# %.*s and %s port %u: got %d\n", STR_ARG(d->text), host_text,
			       (unsigned)ports[i], got);
	}
}

/* A pattern's normal form must be a pattern that says the same, and its own normal form. */
static bool parse_twice(struct arena *a, const char *text, struct domain *out)
{
	struct err e = ERR_INIT;
	struct domain again;

	if (domain_parse(a, str_of(text), out, &e) < 0 ||
	    domain_parse(a, out->text, &again, &e) < 0) {
		printf("# '%s': %s\n", text, e.text);
		return false;
	}
	return str_eq(out->text, again.text) && out->kind == again.kind &&
	       str_eq(out->name, again.name) && out->port_first == again.port_first &&
	       out->port_last == again.port_last &&
	       memcmp(&out->block, &again.block, sizeof(again.block)) == 0;
}

static void try_pattern(const struct texts *names, const char *pattern, size_t block, size_t form)
{
	scoped_arena a = ARENA_INIT(4U << 20);
	struct err e = ERR_INIT;
	char text[TEXT_ROOM * 2];
	bool is_block = block < COUNT_OF(blocks);
	bool bracket = is_block && strchr(pattern, ':') && port_forms[form].text[0];
	struct domain d;

	(void)snprintf(text, sizeof(text), "%s%s%s%s", bracket ? "[" : "", pattern,
		       bracket ? "]" : "", port_forms[form].text);
	REQUIRE(parse_twice(&a, text, &d));
	for (size_t i = 0; i < names->count; i++) {
		struct hostname host = { .name = str_of(names->list[i]) };

		compare(&d, names->list[i], &host, form,
			!is_block && slow_name(pattern, names->list[i]));
	}
	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		bool any = strcmp(pattern, "*") == 0;
		struct hostname host;

		REQUIRE(hostname_parse(&a, str_of(addresses[i].text), &host, &e) == 0);
		compare(&d, addresses[i].text, &host, form,
			is_block ? slow_in_block(block, i) : any && addresses[i].is_public);
	}
}

TEST(all_short_patterns_and_hosts)
{
	static struct texts patterns, hosts;

	add_names(&patterns, "", 3);
	add_names(&patterns, "*.", 3);
	add_names(&patterns, "**.", 3);
	add_text(&patterns, "", "*");
	add_names(&hosts, "", 5);
	add_text(&hosts, "", "aa.b");
	add_text(&hosts, "", "ba.a");
	for (size_t form = 0; form < COUNT_OF(port_forms); form++) {
		for (size_t i = 0; i < patterns.count; i++)
			try_pattern(&hosts, patterns.list[i], SIZE_MAX, form);
		for (size_t i = 0; i < COUNT_OF(blocks); i++)
			try_pattern(&hosts, blocks[i].text, i, form);
	}
	CHECK_INT(wrong, 0);
	printf("# %zu patterns, %zu hosts, %zu comparisons\n",
	       (patterns.count + COUNT_OF(blocks)) * COUNT_OF(port_forms),
	       hosts.count + COUNT_OF(addresses), compared);
}

/* Every text of up to five of these characters is a pattern whose normal form is stable, or refused. */
TEST(every_short_text_is_refused_with_a_reason_or_stable)
{
	static const char letters[] = "a1*.:-/[]";
	size_t accepted = 0, refused = 0;

	for (size_t len = 0; len <= 5; len++)
		for (size_t n = 0;; n++) {
			scoped_arena a = ARENA_INIT(1U << 16);
			struct err e = ERR_INIT;
			char text[8] = "";
			struct domain d;
			size_t rest = n;

			for (size_t i = 0; i < len; i++, rest /= sizeof(letters) - 1)
				text[i] = letters[rest % (sizeof(letters) - 1)];
			if (rest)
				break;
			if (domain_parse(&a, str_of(text), &d, &e) == 0) {
				accepted++;
				CHECK(parse_twice(&a, text, &d));
			} else {
				refused++;
				CHECK(e.code == ERR_SYNTAX && e.text[0]);
			}
		}
	printf("# %zu accepted, %zu refused\n", accepted, refused);
}
