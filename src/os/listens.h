/* SPDX-License-Identifier: MIT */
/* Who listens on this host, as the kernel lists it: nobody is connected to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/str.h"

/* Whether a program listens at that port of TCP, of loopback or of every address. */
bool os_listens(const struct ip *loopback, uint16_t port) NONNULL;

/* Pure, of the text of /proc/net/tcp, or tcp6; or of the first lines of it. */
bool os_listens_in(struct str text, bool is_v4, uint16_t port) PURE;
