/* SPDX-License-Identifier: MIT */
/*
 * See name_sources.h. The servers are those of the adapters that are up, of the lowest metric first. Those with an address
 * of one link alone are left out.
 */
#include "os/name_sources.h"

#include "base/arena.h"
#include "base/buf.h"
#include "os/windows/api.h"
#include "os/windows/net.h"
#include "os/windows/text.h"

#include <iphlpapi.h>

enum { ASK_AGAIN_MS = 2000, MOST_BYTES = 1 << 20 };

enum os_change os_read_hosts(struct os_version *seen, char *out, size_t room, size_t *len)
{
	wchar_t system[MAX_PATH];
	char path[4 * MAX_PATH + 32];
	UINT n = GetSystemDirectoryW(system, MAX_PATH);
	int bytes = 0;

	if (n > 0 && n < MAX_PATH)
		bytes = WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, system, -1, path,
					    4 * MAX_PATH, NULL, NULL);
	if (bytes <= 0)
		return OS_SAME;
	(void)snprintf(path + bytes - 1, 32, "\\drivers\\etc\\hosts");
	return os_read_changed(path, seen, out, room, len);
}

/* ---- The servers ---------------------------------------------------------------------------------------- */

static const IP_ADAPTER_ADDRESSES *find_adapters(struct arena *a)
{
	const ULONG flags = GAA_FLAG_SKIP_UNICAST | GAA_FLAG_SKIP_ANYCAST |
			    GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_FRIENDLY_NAME;
	ULONG bytes = 16 << 10, error = ERROR_BUFFER_OVERFLOW;
	struct err e = ERR_INIT;
	void *room = NULL;

	/* There may be more of them each time. */
	for (int i = 0; i < 4 && error == ERROR_BUFFER_OVERFLOW; i++) {
		room = arena_alloc(a, bytes, &e);
		if (!room)
			return NULL;
		error = GetAdaptersAddresses(AF_UNSPEC, flags, NULL, room, &bytes);
	}
	return error == ERROR_SUCCESS ? room : NULL;
}

static void add_server(struct buf *text, const SOCKADDR *address)
{
	static const unsigned char site_local[2] = { 0xfe, 0xc0 }, link_local[2] = { 0xfe, 0x80 };
	char shown[INET6_ADDRSTRLEN];
	const void *bytes;

	if (address->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
	else if (address->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	else
		return;
	/* The site-local ones are what Windows names where there is none. */
	if (address->sa_family == AF_INET6 && (memcmp(bytes, site_local, sizeof(site_local)) == 0 ||
					       memcmp(bytes, link_local, sizeof(link_local)) == 0))
		return;
	if (inet_ntop(address->sa_family, bytes, shown, sizeof(shown)))
		buf_printf(text, "nameserver %s\n", shown);
}

/* The domain that is searched is the first one's: of several lines the last would count. */
static void add_adapter(struct buf *text, const IP_ADAPTER_ADDRESSES *adapter, bool is_first)
{
	char suffix[256];

	for (const IP_ADAPTER_DNS_SERVER_ADDRESS *s = adapter->FirstDnsServerAddress; s;
	     s = s->Next)
		add_server(text, s->Address.lpSockaddr);
	if (is_first && adapter->DnsSuffix && adapter->DnsSuffix[0] &&
	    WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, adapter->DnsSuffix, -1, suffix,
				sizeof(suffix), NULL, NULL) > 0)
		buf_printf(text, "search %s\n", suffix);
}

static ULONG metric_of(const IP_ADAPTER_ADDRESSES *adapter)
{
	return MIN_OF(adapter->Ipv4Metric, adapter->Ipv6Metric);
}

/* Of those that come after `last` in the order of their metric and place. */
static const IP_ADAPTER_ADDRESSES *next_adapter(const IP_ADAPTER_ADDRESSES *all,
						const IP_ADAPTER_ADDRESSES *last)
{
	const IP_ADAPTER_ADDRESSES *best = NULL;
	bool is_behind = false;

	for (const IP_ADAPTER_ADDRESSES *i = all; i; i = i->Next) {
		ULONG metric = metric_of(i), after = last ? metric_of(last) : 0;

		if (i == last) {
			is_behind = true;
			continue;
		}
		if (i->OperStatus != IfOperStatusUp || !i->FirstDnsServerAddress)
			continue;
		if (last && (metric < after || (metric == after && !is_behind)))
			continue;
		if (!best || metric < metric_of(best))
			best = i;
	}
	return best;
}

static uint64_t hash(struct str text)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < text.len; i++)
		sum = (sum ^ (unsigned char)text.p[i]) * 0x100000001b3u;
	return sum | 1;
}

/* In `seen` are a hash of the text, and when it was asked for: that takes long. */
enum os_change os_read_name_servers(struct os_version *seen, char *out, size_t room, size_t *len)
{
	scoped_arena a = ARENA_INIT(MOST_BYTES);
	int64_t now = (int64_t)GetTickCount64();
	char bytes[4096];
	struct buf text = BUF_OVER(bytes);
	const IP_ADAPTER_ADDRESSES *all, *adapter = NULL;

	if ((seen->inode && now - seen->seconds < ASK_AGAIN_MS) || net_start() < 0)
		return OS_SAME;
	all = find_adapters(&a);
	if (!all)
		return OS_SAME;
	seen->seconds = now;
	while ((adapter = next_adapter(all, adapter)))
		add_adapter(&text, adapter, text.len == 0);
	/* What has no room is left out. */
	text.failed = ERR_OK;
	if (hash(buf_str(&text)) == seen->inode)
		return OS_SAME;
	seen->inode = hash(buf_str(&text));
	*len = MIN_OF(text.len, room);
	memcpy(out, bytes, *len);
	return OS_NEW;
}
