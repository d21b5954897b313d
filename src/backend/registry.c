/* SPDX-License-Identifier: MIT */
/* The backends that are built in. */
#include "backend/backend.h"
#include "backend/bwrap/bwrap.h"
#include "backend/landlock/landlock.h"
#include "backend/native/native.h"
#include "backend/none/none.h"

const struct backend *const backends[] = { &backend_native, &backend_bwrap, &backend_landlock,
					   NULL };

const names *backend_order(const struct settings *settings)
{
	return &settings->linux_backends;
}

const struct backend *backend_find(struct str name)
{
	for (size_t i = 0; backends[i]; i++)
		if (str_is(name, backends[i]->name))
			return backends[i];
	return str_is(name, backend_none.name) ? &backend_none : NULL;
}
