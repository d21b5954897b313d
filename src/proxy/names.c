/* SPDX-License-Identifier: MIT */
/* The names of reasons and protocols in answers, reports and the audit log. */
#include "proxy/channel.h"

#include "base/macros.h"

struct reason_words {
	const char *name, *code;
};

static const struct reason_words reasons[] = {
	[PROXY_ALLOWED] = { "allowed", "" },
	[PROXY_DENIED_RULE] = { "denied", "blocked-by-denylist" },
	[PROXY_DENIED_PRIVATE] = { "private", "blocked-by-private-guard" },
	[PROXY_DENIED_UNLISTED] = { "unlisted", "blocked-by-allowlist" },
	[PROXY_DENIED_ASKED] = { "asked", "blocked-by-decision" },
	[PROXY_DENIED_METHOD] = { "method", "blocked-by-method-policy" },
	[PROXY_DENIED_TUNNEL] = { "tunnel", "blocked-by-tunnel-policy" },
	[PROXY_DENIED_HELLO] = { "server-name", "blocked-by-server-name" },
	[PROXY_FAILED_LOOKUP] = { "lookup", "dns-failure" },
	[PROXY_FAILED_REFUSED] = { "refused", "connection-refused" },
	[PROXY_FAILED_UNREACHABLE] = { "unreachable", "host-unreachable" },
	[PROXY_FAILED_TIMEOUT] = { "timeout", "timeout" },
	[PROXY_FAILED_UPSTREAM] = { "upstream", "upstream-proxy-failure" },
	[PROXY_FAILED_RESPONSE] = { "response", "bad-response" },
	[PROXY_FAILED_RESOURCES] = { "resources", "proxy-limit" },
	[PROXY_BAD_REQUEST] = { "bad-request", "bad-request" },
	[PROXY_BAD_TOKEN] = { "bad-token", "proxy-authentication-required" },
};

static const char *const protocols[] = {
	[PROXY_BY_HTTP] = "http",
	[PROXY_BY_CONNECT] = "connect",
	[PROXY_BY_SOCKS] = "socks5",
	[PROXY_BY_ADDRESS] = "direct",
	[PROXY_BY_NAME] = "dns",
	[PROXY_BY_HOST_PORT] = "host-port",
	[PROXY_BY_PUBLISHED] = "published",
};

const char *proxy_reason_name(uint32_t reason)
{
	return reason < COUNT_OF(reasons) ? reasons[reason].name : "?";
}

const char *proxy_reason_code(uint32_t reason)
{
	return reason < COUNT_OF(reasons) ? reasons[reason].code : "?";
}

const char *proxy_protocol_name(uint32_t protocol)
{
	return protocol < COUNT_OF(protocols) ? protocols[protocol] : "?";
}
