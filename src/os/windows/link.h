/* SPDX-License-Identifier: MIT */
/* Reparse points: symbolic links, junctions, and what else hides behind a name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "os/os.h"

/* Whether it stands for something that is no file: a socket, an alias of an app, a file of WSL's. */
bool link_is_special(uint32_t tag) PURE;

/* The type by the attributes of a directory's entry. */
enum os_type look_type(uint32_t attributes, uint32_t tag);
