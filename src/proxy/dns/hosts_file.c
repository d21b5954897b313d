/* SPDX-License-Identifier: MIT */
/* hosts(5): an address and its names on each line. See name_files.h. */
#include <string.h>

#include "proxy/dns/name_files.h"

enum { SHORT_BYTES = 16 << 10 };

static bool is_same_name(struct str word, struct str name)
{
	if (word.len == name.len + 1 && word.p[name.len] == '.')
		word.len--;
	if (word.len != name.len)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (ascii_lower(word.p[i]) != name.p[i])
			return false;
	return true;
}

static bool has_name(struct str line, struct str name)
{
	for (;;) {
		struct str word = name_file_word(&line);

		if (word.len == 0)
			return false;
		if (is_same_name(word, name))
			return true;
	}
}

size_t hosts_find(struct str text, struct str name, struct ip *out, size_t room)
{
	struct str line;
	size_t count = 0;

	while (count < room && name_file_line(&text, &line)) {
		struct str address = name_file_word(&line);
		struct ip ip;

		/* Skips an address with a zone: it can't be reached without its interface. */
		if (has_name(line, name) && ip_parse(address, &ip))
			out[count++] = ip;
	}
	return count;
}

/* ---- The filter ---------------------------------------------------------------------------- */

/* Two bits for each name, from one hash. */
static size_t place(uint64_t hash, unsigned i)
{
	return (size_t)(hash >> (i * 32)) % HOSTS_FILTER_BITS;
}

static void add_to_filter(struct hosts_filter *f, struct str word)
{
	char lower[256];
	uint64_t hash;

	if (word.len > 1 && word.p[word.len - 1] == '.')
		word.len--;
	if (word.len > sizeof(lower))
		return; /* no name is as long */
	for (size_t i = 0; i < word.len; i++)
		lower[i] = ascii_lower(word.p[i]);
	hash = keyed_hash(&f->key, (struct str){ lower, word.len });
	for (unsigned i = 0; i < 2; i++)
		f->bits[place(hash, i) / 64] |= UINT64_C(1) << place(hash, i) % 64;
}

void hosts_filter_set(struct hosts_filter *f, struct str text)
{
	struct str line, word;

	f->is_used = text.len > SHORT_BYTES;
	if (!f->is_used)
		return;
	memset(f->bits, 0, sizeof(f->bits));
	while (name_file_line(&text, &line)) {
		(void)name_file_word(&line); /* its address */
		while ((word = name_file_word(&line)).len > 0)
			add_to_filter(f, word);
	}
}

bool hosts_filter_passes(const struct hosts_filter *f, struct str name)
{
	uint64_t hash;

	if (!f->is_used)
		return true;
	hash = keyed_hash(&f->key, name);
	for (unsigned i = 0; i < 2; i++)
		if (!(f->bits[place(hash, i) / 64] >> place(hash, i) % 64 & 1))
			return false;
	return true;
}

bool hosts_next_name(struct hosts_names *names, const struct ip *ip, struct str *out)
{
	for (;;) {
		struct str address;
		struct ip found;

		*out = name_file_word(&names->line);
		if (out->len > 0)
			return true;
		if (!name_file_line(&names->text, &names->line))
			return false;
		address = name_file_word(&names->line);
		if (!ip_parse(address, &found) || memcmp(&found, ip, sizeof(found)) != 0)
			names->line = STR_EMPTY;
	}
}
