/* SPDX-License-Identifier: MIT */
/*
 * What the host looks names up with, as hosts(5) and resolv.conf(5) say it: those files, or a text of that form that is
 * made of what the system knows. Both are as os_read_changed(), and are called before each look-up.
 */
#pragma once

#include "os/changed_file.h"

enum os_change os_read_hosts(struct os_version *seen, char *out, size_t room, size_t *len)
	MUST_CHECK NONNULL;
enum os_change os_read_name_servers(struct os_version *seen, char *out, size_t room, size_t *len)
	MUST_CHECK NONNULL;
