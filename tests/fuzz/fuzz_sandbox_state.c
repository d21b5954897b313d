/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what codex says of its sandbox. What is accepted can only narrow: it answers for every path, or
 * for none, and its entries are plain paths. What is refused says why.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/path.h"
#include "policy/sandbox_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_plain(struct arena *a, struct str path)
{
	struct err e = ERR_INIT;
	struct str plain;

	return path_plain(a, STR("/"), path, &plain, &e) == 0 && str_eq(plain, path);
}

static void check_layer(struct arena *a, const struct layer *layer, bool takes_away)
{
	bool has_root = layer->fs.count == 0;

	for (size_t i = 0; i < layer->fs.count; i++) {
		const struct fs_entry *entry = &layer->fs.items[i];

		if (entry->anchor != FS_ABSOLUTE || !is_plain(a, entry->path) ||
		    (entry->glob.len && (entry->access != ACCESS_DENY || !entry->matcher)))
			abort();
		has_root |= !entry->glob.len && str_is(entry->path, "/");
	}
	if (!has_root || layer->kind != LAYER_CALL ||
	    layer->has_net != (layer->net.access == NET_OFF) ||
	    takes_away != (layer->fs.count > 0 || layer->has_net))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_arena a = ARENA_INIT(64 << 20);
	struct err e = ERR_INIT;
	const struct json *state = json_parse(&a, (struct str){ (const char *)data, size }, &e);
	struct layer layer;
	bool takes_away;

	if (!state)
		return 0;
	if (sandbox_state_read(&a, state, &layer, &takes_away, &e) == 0)
		check_layer(&a, &layer, takes_away);
	else if (e.code == ERR_OK || !e.text[0])
		abort();
	return 0;
}
