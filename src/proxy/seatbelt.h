/* SPDX-License-Identifier: MIT */
/* macOS: what the proxy keeps when it gives up its rights. Pure, so that it is tested everywhere. */
#pragma once

/*
 * A profile of Seatbelt. SECURITY: the proxy reads untrusted bytes; one that was taken over can use the
 * network, as its work is, and the descriptors that it has, and nothing else: no program, no file but
 * the two that name resolution reads, no service of the system, no other process.
 */
extern const char proxy_profile[];
