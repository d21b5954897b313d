/* SPDX-License-Identifier: MIT */
/* The backends of macOS. */
#include "backend/backend.h"
#include "backend/macos/macos.h"

const struct backend *const backends[] = { &backend_seatbelt, NULL };

const struct backend *backend_find(struct str name)
{
	if (str_is(name, backend_seatbelt.name))
		return &backend_seatbelt;
	return str_is(name, backend_none.name) ? &backend_none : NULL;
}

const names *backend_order(const struct settings *settings)
{
	static struct named seatbelt = { .name = STR_INIT("seatbelt") };
	static const names order = { .items = &seatbelt, .count = 1 };

	(void)settings;
	return &order;
}
