/* SPDX-License-Identifier: MIT */
/*
 * See windows.h: what keeps the account `offline` from the network. The firewall's rules know addresses:
 * they block everything beyond the loopback, and on it all but the proxy's port. WFP's filters are
 * below the firewall, which an administrator may have turned off; they also stop what is no
 * connection: ICMP, listening, and names that services look up on the account's behalf.
 */
#include <stdarg.h>
#include <stdio.h>

#include "backend/windows/sid.h"
#include "backend/windows/windows.h"
#include "plan/net.h"

typedef VEC(struct str) text_list;

static int add_text(struct lowering *l, text_list *list, struct err *e, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

static int add_text(struct lowering *l, text_list *list, struct err *e, const char *fmt, ...)
{
	struct str *place = VEC_PUSH(l->a, list, e);
	char text[64];
	va_list args;

	if (!place)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return arena_copy(l->a, str_of(text), place, e);
}

/* The blocks that together are every address but those of the loopback, 127.0.0.0/8 and ::/127. */
static int list_remote(struct lowering *l, text_list *out, struct err *e)
{
	static const char *const v4[] = { "0.0.0.0/2",	 "64.0.0.0/3",	"96.0.0.0/4",
					  "112.0.0.0/5", "120.0.0.0/6", "124.0.0.0/7",
					  "126.0.0.0/8", "128.0.0.0/1" };

	for (size_t i = 0; i < COUNT_OF(v4); i++)
		if (add_text(l, out, e, "%s", v4[i]) < 0)
			return err_result(e);
	/* ::2/127, ::4/126, …, 8000::/1 */
	for (unsigned bit = 1; bit < 128; bit++) {
		const unsigned zeros = bit / 16; /* groups behind the one that is not 0 */
		const unsigned value = 1u << bit % 16;
		char behind[] = ":0:0:0:0:0:0:0";

		behind[(size_t)2 * zeros] = '\0';
		if (zeros == 7 ? add_text(l, out, e, "%x::/%u", value, 128 - bit) < 0
			       : add_text(l, out, e, "::%x%s/%u", value, behind, 128 - bit) < 0)
			return err_result(e);
	}
	return 0;
}

static int list_loopback(struct lowering *l, text_list *out, struct err *e)
{
	return add_text(l, out, e, "127.0.0.0/8") < 0 ? err_result(e)
						      : add_text(l, out, e, "::/127");
}

/* All ports but that of the proxy; with 0, which is none, the list stays empty: any. */
static int list_ports(struct lowering *l, uint16_t proxy_port, text_list *out, struct err *e)
{
	if (proxy_port > 1 && add_text(l, out, e, "1-%u", proxy_port - 1u) < 0)
		return err_result(e);
	if (proxy_port > 0 && proxy_port < UINT16_MAX &&
	    add_text(l, out, e, "%u-%u", proxy_port + 1u, (unsigned)UINT16_MAX) < 0)
		return err_result(e);
	return 0;
}

static int add_rule(struct lowering *l, const char *name, const char *protocol,
		    const text_list *remote, const text_list *ports, struct err *e)
{
	struct windows_block *rule = VEC_PUSH(l->a, &l->out->firewall, e);

	if (!rule)
		return err_result(e);
	*rule = (struct windows_block){ .name = str_of(name),
					.protocol = protocol,
					.remote = remote->items,
					.remote_count = remote->count,
					.ports = ports->items,
					.port_count = ports->count };
	return 0;
}

static int add_rules(struct lowering *l, uint16_t proxy_port, struct err *e)
{
	text_list remote = { .items = NULL };
	text_list local = { .items = NULL };
	text_list ports = { .items = NULL };
	const text_list any = { .items = NULL };

	if (list_remote(l, &remote, e) < 0 || list_loopback(l, &local, e) < 0 ||
	    list_ports(l, proxy_port, &ports, e) < 0)
		return err_result(e);
	if (add_rule(l, "cordon_offline_block_remote", "any", &remote, &any, e) < 0 ||
	    add_rule(l, "cordon_offline_block_loopback_udp", "udp", &local, &any, e) < 0 ||
	    add_rule(l, "cordon_offline_block_loopback_icmp", "icmp", &local, &any, e) < 0)
		return err_result(e);
	return add_rule(l, "cordon_offline_block_loopback_tcp", "tcp", &local, &ports, e);
}

/* ---- WFP --------------------------------------------------------------------------------------- */

static const char connect_layer[] = "connect", bind_layer[] = "resource_assignment",
		  listen_layer[] = "listen", accept_layer[] = "accept";

static int add_filter(struct lowering *l, const char *layer, const char *protocol, int family,
		      const text_list *ports, const char *what, struct err *e)
{
	struct windows_block *filter = VEC_PUSH(l->a, &l->out->wfp, e);

	if (!filter)
		return err_result(e);
	*filter = (struct windows_block){ .protocol = protocol,
					  .family = family,
					  .layer = layer,
					  .ports = ports->items,
					  .port_count = ports->count };
	return arena_printf(l->a, &filter->name, e, "cordon_wfp_%s_%s_v%d", layer, what, family);
}

/*
 * Names, and shares of files: services of the system look up and open these for whoever asks, so they
 * are named by themselves.
 */
static int add_services(struct lowering *l, uint16_t proxy_port, int family, struct err *e)
{
	static const struct {
		uint16_t port;
		const char *name;
	} services[] = { { 53, "dns" }, { 853, "dns_tls" }, { 445, "smb" }, { 139, "netbios" } };
	const text_list none = { .items = NULL };

	for (size_t i = 0; i < COUNT_OF(services); i++) {
		if (services[i].port == proxy_port)
			continue;
		if (add_filter(l, connect_layer, "any", family, &none, services[i].name, e) < 0)
			return err_result(e);
		l->out->wfp.items[l->out->wfp.count - 1].port = services[i].port;
	}
	return 0;
}

static int add_family(struct lowering *l, uint16_t proxy_port, int family, struct err *e)
{
	const text_list any = { .items = NULL };
	text_list ports = { .items = NULL };
	const bool is_off = proxy_port == 0;

	if (list_ports(l, proxy_port, &ports, e) < 0)
		return err_result(e);
	if (is_off ? add_filter(l, connect_layer, "any", family, &any, "all", e) < 0
		   : add_filter(l, connect_layer, "tcp", family, &ports, "tcp", e) < 0)
		return err_result(e);
	if (add_filter(l, connect_layer, "udp", family, &any, "udp", e) < 0 ||
	    add_filter(l, connect_layer, "icmp", family, &any, "icmp", e) < 0 ||
	    add_filter(l, bind_layer, "icmp", family, &any, "icmp", e) < 0 ||
	    add_filter(l, listen_layer, "tcp", family, &any, "tcp", e) < 0 ||
	    add_filter(l, accept_layer, "any", family, &any, "all", e) < 0)
		return err_result(e);
	return add_services(l, proxy_port, family, e);
}

int windows_list_blocks(struct arena *a, uint16_t open_port, struct windows_lowering *out,
			struct err *e)
{
	struct lowering l = { .a = a, .out = out };

	if (add_rules(&l, open_port, e) < 0 || add_family(&l, open_port, 4, e) < 0)
		return err_result(e);
	return add_family(&l, open_port, 6, e);
}

/*
 * SECURITY: who a filter is for is checked as an access of the socket's token, and a restricted token has to pass
 * that twice. So the command's has this SID, which the filters name beside the account; without it
 * a filter might not be for the command at all. No access list of a file has it.
 */
int windows_network_sid(struct arena *a, struct str *out, struct err *e)
{
	unsigned char hash[SHA256_BYTES];

	sha256(STR("cordon network"), hash);
	return sid_of_capability(a, hash, out, e);
}

static int add_network_sid(struct lowering *l, struct err *e)
{
	struct windows_capability *capability = VEC_PUSH(l->a, &l->out->capabilities, e);
	struct str *restricting = VEC_PUSH(l->a, &l->out->restricting, e);

	if (!capability || !restricting)
		return err_result(e);
	*restricting = capability->name = STR("cap:network");
	return windows_network_sid(l->a, &capability->sid, e);
}

int windows_add_filters(struct lowering *l, uint16_t proxy_port, struct err *e)
{
	const struct net *net = l->plan->net;
	const bool is_managed = net_mode(net) == NET_MANAGED && !net_is_for_asking(net);
	const uint16_t open = is_managed ? proxy_port : 0;

	l->out->identity = net_mode(net) == NET_FULL ? "online" : "offline";
	if (net_mode(net) == NET_FULL)
		return 0;
	return add_network_sid(l, e) < 0 ? err_result(e)
					 : windows_list_blocks(l->a, open, l->out, e);
}
