/* SPDX-License-Identifier: MIT */
/* Finds out who listens on this host from the kernel's lists, without connecting to anybody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/str.h"

/* Whether a program listens on that TCP port, on loopback or on every address. */
bool os_listens(const struct ip *loopback, uint16_t port) NONNULL;

/* Pure: searches the text of /proc/net/tcp or tcp6, or its first lines. */
bool os_listens_in(struct str text, bool is_v4, uint16_t port) PURE;
