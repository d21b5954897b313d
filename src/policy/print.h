/* SPDX-License-Identifier: MIT */
/* For the keys that print and compare themselves; see keys.h. Internal to policy/. */
#pragma once

#include "policy/keys.h"
#include "policy/policy.h"

/* The text, and scratch memory for what is put together on the way. */
struct print {
	struct buf *b;
	struct arena *a;
	struct str name; /* of the profile */
};

key_print_fn key_print_workspace_roots;
key_print_fn key_print_filesystem;
key_print_fn key_print_network;
key_print_fn key_print_domains;
key_print_fn key_print_unix_sockets;
key_print_fn key_print_set;

key_equal_fn key_equal_workspace_roots;
key_equal_fn key_equal_filesystem;
key_equal_fn key_equal_network;
key_equal_fn key_equal_domains;
key_equal_fn key_equal_unix_sockets;
key_equal_fn key_equal_set;
