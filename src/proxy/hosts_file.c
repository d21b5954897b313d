/* SPDX-License-Identifier: MIT */
/* hosts(5): an address and its names on each line. See name_files.h. */
#include <string.h>

#include "proxy/name_files.h"

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

		/* A zone says which link, and the address is not reached without it. */
		if (has_name(line, name) && ip_parse(address, &ip))
			out[count++] = ip;
	}
	return count;
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
