/* SPDX-License-Identifier: MIT */
/* See name_sources.h. */
#include "os/name_sources.h"

enum os_change os_read_hosts(struct os_version *seen, char *out, size_t room, size_t *len)
{
	return os_read_changed("/etc/hosts", seen, out, room, len);
}

enum os_change os_read_name_servers(struct os_version *seen, char *out, size_t room, size_t *len)
{
	return os_read_changed("/etc/resolv.conf", seen, out, room, len);
}
