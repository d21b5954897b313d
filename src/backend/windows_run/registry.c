/* SPDX-License-Identifier: MIT */
/* The backends of Windows. */
#include "backend/windows_run/windows_run.h"

const struct backend *const backends[] = { &backend_win_elevated, &backend_win_token, NULL };

const struct backend *backend_find(struct str name)
{
	for (size_t i = 0; backends[i]; i++)
		if (str_is(name, backends[i]->name))
			return backends[i];
	return str_is(name, backend_none.name) ? &backend_none : NULL;
}

const names *backend_order(const struct settings *settings)
{
	static struct named both[] = { { .name = STR_INIT("win_elevated") },
				       { .name = STR_INIT("win_token") } };
	static const names order = { .items = both, .count = COUNT_OF(both) };

	(void)settings;
	return &order;
}
