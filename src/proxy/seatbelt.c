/* SPDX-License-Identifier: MIT */
/* See seatbelt.h. Each line has its reason; there is no deny but the first, as in a command's profile. */
#include "proxy/seatbelt.h"

const char proxy_profile[] =
	"(version 1)\n"
	"(deny default)\n"
	"; servers, and the resolver's; its rules decide which\n"
	"(allow network-outbound (remote ip \"*:*\"))\n"
	"; the listeners that it is given, which are bound already, and answers of name servers\n"
	"(allow network-inbound (local ip \"*:*\"))\n"
	"; the resolver asks from a port of its own choice\n"
	"(allow network-bind (local ip \"*:*\"))\n"
	"; the files of the resolver, by their real paths; links have to be looked up\n"
	"(allow file-read*\n"
	"  (literal \"/private/etc/hosts\") (literal \"/private/etc/resolv.conf\")\n"
	"  (literal \"/private/var/run/resolv.conf\"))\n"
	"(allow file-read-metadata (literal \"/etc\") (literal \"/var\"))\n";
