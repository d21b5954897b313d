/* SPDX-License-Identifier: MIT */
/*
 * See win32.h. SECURITY: a rule counts only as Cordon made it: a program, a service, an interface or an address of
 * this machine that somebody has added would leave the rest open. Rules are of no use where the firewall is
 * off or its local rules do not apply, so that is looked at too. Wine takes rules and has none.
 */
#define COBJMACROS /* INetFwRules_Add() and the like */

#include "backend/win_elevated/win32/win32.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

#include <netfw.h>
#include <oleauto.h>

/* {E2B3C97F-6AE1-41AC-817A-F6F92166D7DD}, {2C5BC43E-3369-4C33-AB0C-BE9469677AF4}: netfw.h, not in mingw-w64's libuuid. */
static const CLSID policy_class = {
	0xe2b3c97f, 0x6ae1, 0x41ac, { 0x81, 0x7a, 0xf6, 0xf9, 0x21, 0x66, 0xd7, 0xdd }
};
static const CLSID rule_class = {
	0x2c5bc43e, 0x3369, 0x4c33, { 0xab, 0x0c, 0xbe, 0x94, 0x69, 0x67, 0x7a, 0xf4 }
};
/* INetFwPolicy2, INetFwRule3, IEnumVARIANT */
static const IID policy_id = {
	0x98325047, 0xc671, 0x4174, { 0x8d, 0x81, 0xde, 0xfc, 0xd3, 0xf0, 0x31, 0x86 }
};
static const IID rule_id = {
	0xb21563ff, 0xd696, 0x4222, { 0xab, 0x46, 0x4e, 0x89, 0xb7, 0x3a, 0xb3, 0x4a }
};
static const IID enum_id = { 0x00020404, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

enum { ICMP_V4 = 1, TCP = 6, UDP = 17, ICMP_V6 = 58, ANY = 256 };
enum { ALL_PROFILES = NET_FW_PROFILE2_DOMAIN | NET_FW_PROFILE2_PRIVATE | NET_FW_PROFILE2_PUBLIC };

#define FAIL_COM(e, result, ...) FAIL_WINDOWS((e), (uint32_t)(result), __VA_ARGS__)

static int open_policy(struct win32_machine *m, INetFwPolicy2 **out, struct err *e)
{
	HRESULT r;

	if (!m->has_com) {
		r = CoInitializeEx(NULL, COINIT_APARTMENTTHREADED | COINIT_DISABLE_OLE1DDE);
		if (FAILED(r) && r != RPC_E_CHANGED_MODE)
			return FAIL_COM(e, r, "COM can't be used");
		m->has_com = SUCCEEDED(r);
	}
	r = CoCreateInstance(&policy_class, NULL, CLSCTX_INPROC_SERVER, &policy_id, (void **)out);
	return SUCCEEDED(r) ? 0 : FAIL_COM(e, r, "the firewall can't be reached");
}

/* Whether rules have an effect at all. */
static int check_effect(INetFwPolicy2 *policy, struct err *e)
{
	static const NET_FW_PROFILE_TYPE2 profiles[] = { NET_FW_PROFILE2_DOMAIN,
							 NET_FW_PROFILE2_PRIVATE,
							 NET_FW_PROFILE2_PUBLIC };
	NET_FW_MODIFY_STATE state = NET_FW_MODIFY_STATE_OK;
	HRESULT r = INetFwPolicy2_get_LocalPolicyModifyState(policy, &state);

	if (FAILED(r))
		return FAIL_COM(e, r, "whether the firewall's rules apply is not known");
	if (state != NET_FW_MODIFY_STATE_OK)
		return FAIL_CAUSE(
			e, CAUSE_WITHOUT_EFFECT,
			"a policy of this machine keeps local rules of the firewall from applying");
	for (size_t i = 0; i < COUNT_OF(profiles); i++) {
		VARIANT_BOOL is_on = VARIANT_FALSE;

		r = INetFwPolicy2_get_FirewallEnabled(policy, profiles[i], &is_on);
		if (FAILED(r))
			return FAIL_COM(e, r, "whether the firewall is on is not known");
		if (!is_on)
			return FAIL_CAUSE(e, CAUSE_WITHOUT_EFFECT,
					  "the firewall is off for a kind of network");
	}
	return 0;
}

/* ---- One rule ------------------------------------------------------------------------------------- */

static bool is_default(BSTR text)
{
	const bool is = !text || !text[0] || wcscmp(text, L"*") == 0 || _wcsicmp(text, L"All") == 0;

	SysFreeString(text);
	return is;
}

static bool has_text(INetFwRule3 *rule,
		     HRESULT(STDMETHODCALLTYPE *get)(INetFwRule3 *rule, BSTR *out))
{
	BSTR text = NULL;

	return FAILED(get(rule, &text)) || !is_default(text);
}

/* Something narrows it, or it does not block what is sent, everywhere. */
static bool is_narrowed(INetFwRule3 *rule)
{
	NET_FW_RULE_DIRECTION direction = NET_FW_RULE_DIR_IN;
	NET_FW_ACTION action = NET_FW_ACTION_ALLOW;
	VARIANT_BOOL is_on = VARIANT_FALSE;
	const INetFwRule3Vtbl *v = rule->lpVtbl;
	LONG profiles = 0;
	VARIANT interfaces;
	bool has_interfaces;

	VariantInit(&interfaces);
	has_interfaces = FAILED(v->get_Interfaces(rule, &interfaces)) ||
			 (interfaces.vt != VT_EMPTY && interfaces.vt != VT_NULL);
	VariantClear(&interfaces);
	if (FAILED(v->get_Direction(rule, &direction)) || FAILED(v->get_Action(rule, &action)) ||
	    FAILED(v->get_Enabled(rule, &is_on)) || FAILED(v->get_Profiles(rule, &profiles)))
		return true;
	return has_interfaces || direction != NET_FW_RULE_DIR_OUT ||
	       action != NET_FW_ACTION_BLOCK || !is_on ||
	       (profiles & ALL_PROFILES) != ALL_PROFILES ||
	       has_text(rule, v->get_ApplicationName) || has_text(rule, v->get_ServiceName) ||
	       has_text(rule, v->get_LocalAddresses) || has_text(rule, v->get_LocalPorts) ||
	       has_text(rule, v->get_InterfaceTypes) || has_text(rule, v->get_IcmpTypesAndCodes) ||
	       has_text(rule, v->get_LocalAppPackageId) || has_text(rule, v->get_LocalUserOwner) ||
	       has_text(rule, v->get_RemoteUserAuthorizedList) ||
	       has_text(rule, v->get_RemoteMachineAuthorizedList);
}

/* "a,b" as a list. "*" and "" have none. */
static int split(struct arena *a, BSTR text, struct str **out, size_t *count, struct err *e)
{
	struct str all = STR_EMPTY;
	size_t room = 2, n = 0;

	*count = 0;
	if (text && wcscmp(text, L"*") != 0 && narrow_copy(a, text, wcslen(text), &all, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < all.len; i++)
		room += all.p[i] == ',';
	*out = arena_array(a, room, sizeof(**out), e);
	if (!*out)
		return err_result(e);
	while (all.len) {
		(*out)[n] = str_first(all, str_find(all, ','));
		all = str_from(all, (*out)[n++].len + 1);
	}
	*count = n;
	return 0;
}

static void set_protocol(struct windows_block *block, LONG protocol)
{
	block->protocol = protocol == TCP ? "tcp" : protocol == UDP ? "udp" : "other";
	if (protocol == ANY)
		block->protocol = "any";
	if (protocol == ICMP_V4 || protocol == ICMP_V6) {
		block->protocol = "icmp";
		block->family = protocol == ICMP_V4 ? 4 : 6;
	}
}

static int read_users(struct arena *a, INetFwRule3 *rule, struct str *out, struct err *e)
{
	PSECURITY_DESCRIPTOR descriptor = NULL;
	BSTR text = NULL;
	int r = 0;

	if (FAILED(INetFwRule3_get_LocalUserAuthorizedList(rule, &text)) || !text)
		return 0;
	if (ConvertStringSecurityDescriptorToSecurityDescriptorW(text, SDDL_REVISION_1, &descriptor,
								 NULL))
		r = win32_sddl(a, descriptor, out, e);
	LocalFree(descriptor);
	SysFreeString(text);
	return r;
}

static int read_rule(struct arena *a, INetFwRule3 *rule, struct str *out, struct err *e)
{
	struct windows_block block = { .protocol = "other" };
	struct machine_users users = { .sddl = STR_EMPTY };
	struct str *remote = NULL, *ports = NULL;
	BSTR remote_text = NULL, ports_text = NULL;
	LONG protocol = 0;
	int r;

	if (is_narrowed(rule) || FAILED(INetFwRule3_get_Protocol(rule, &protocol)) ||
	    FAILED(INetFwRule3_get_RemoteAddresses(rule, &remote_text)) ||
	    FAILED(INetFwRule3_get_RemotePorts(rule, &ports_text))) {
		SysFreeString(remote_text);
		*out = STR("a rule that Cordon does not make");
		return 0;
	}
	set_protocol(&block, protocol);
	r = split(a, remote_text, &remote, &block.remote_count, e) < 0 ||
			    split(a, ports_text, &ports, &block.port_count, e) < 0 ||
			    read_users(a, rule, &users.sddl, e) < 0
		    ? err_result(e)
		    : 0;
	SysFreeString(remote_text);
	SysFreeString(ports_text);
	if (r < 0)
		return r;
	block.remote = remote;
	block.ports = ports;
	if (machine_rule_text(a, &block, &users, out, e) == 0)
		return 0;
	if (e->code != ERR_SYNTAX)
		return err_result(e);
	err_clear(e);
	*out = STR("a rule with addresses that Cordon does not write");
	return 0;
}

/* ---- All of them -------------------------------------------------------------------------------------- */

static bool is_ours(INetFwRule3 *rule)
{
	BSTR group = NULL;
	wchar_t ours[WIN32_NAME];
	bool is;

	win32_name(machine_rule_group, ours);
	is = SUCCEEDED(INetFwRule3_get_Grouping(rule, &group)) && group && wcscmp(group, ours) == 0;
	SysFreeString(group);
	return is;
}

static int add_seen(struct arena *a, INetFwRule3 *rule, block_list *out, struct err *e)
{
	struct block_text *one;
	BSTR name = NULL;
	int r;

	if (!is_ours(rule))
		return 0;
	one = VEC_PUSH(a, out, e);
	if (!one)
		return err_result(e);
	if (FAILED(INetFwRule3_get_Name(rule, &name)) || !name)
		return FAIL(e, ERR_SYS, "a rule of the firewall has no name");
	r = narrow_copy(a, name, wcslen(name), &one->name, e) < 0
		    ? err_result(e)
		    : read_rule(a, rule, &one->text, e);
	SysFreeString(name);
	return r;
}

static int list_all(INetFwRules *rules, struct arena *a, block_list *out, struct err *e)
{
	IUnknown *unknown = NULL;
	IEnumVARIANT *list = NULL;
	HRESULT r = INetFwRules_get__NewEnum(rules, &unknown);
	int result = 0;

	if (SUCCEEDED(r)) {
		r = IUnknown_QueryInterface(unknown, &enum_id, (void **)&list);
		IUnknown_Release(unknown);
	}
	if (FAILED(r))
		return FAIL_COM(e, r, "the firewall's rules can't be listed");
	while (result == 0) {
		INetFwRule3 *rule = NULL;
		VARIANT item;

		VariantInit(&item);
		r = IEnumVARIANT_Next(list, 1, &item, NULL);
		if (r != S_OK)
			break;
		if (item.vt == VT_DISPATCH && item.pdispVal &&
		    SUCCEEDED(IDispatch_QueryInterface(item.pdispVal, &rule_id, (void **)&rule))) {
			result = add_seen(a, rule, out, e);
			INetFwRule3_Release(rule);
		}
		VariantClear(&item);
	}
	IEnumVARIANT_Release(list);
	return result == 0 && FAILED(r) ? FAIL_COM(e, r, "the firewall's rules can't be listed")
					: result;
}

static int open_rules(struct win32_machine *m, bool checks, INetFwRules **out, struct err *e)
{
	INetFwPolicy2 *policy = NULL;
	HRESULT r;

	if (open_policy(m, &policy, e) < 0)
		return err_result(e);
	if (checks && check_effect(policy, e) < 0) {
		INetFwPolicy2_Release(policy);
		return err_result(e);
	}
	r = INetFwPolicy2_get_Rules(policy, out);
	INetFwPolicy2_Release(policy);
	return SUCCEEDED(r) ? 0 : FAIL_COM(e, r, "the firewall's rules can't be opened");
}

int win32_list_rules(void *state, struct arena *a, block_list *out, struct err *e)
{
	INetFwRules *rules = NULL;
	int r;

	*out = (block_list){ .items = NULL };
	if (open_rules(state, true, &rules, e) < 0)
		return err_result(e);
	r = list_all(rules, a, out, e);
	INetFwRules_Release(rules);
	return r;
}

/* ---- Changing ------------------------------------------------------------------------------------------ */

/* One property; a text that can't be made is a failure. */
static HRESULT put(INetFwRule3 *rule, HRESULT(STDMETHODCALLTYPE *set)(INetFwRule3 *rule, BSTR text),
		   const wchar_t *text)
{
	BSTR copy = SysAllocString(text);
	HRESULT r = copy ? set(rule, copy) : E_OUTOFMEMORY;

	SysFreeString(copy);
	return r;
}

static int join(struct arena *a, const struct str *items, size_t count, wchar_t **out,
		struct err *e)
{
	scoped_buf text = BUF_INIT(64 << 10);

	for (size_t i = 0; i < count; i++) {
		buf_add_text(&text, i ? "," : "");
		buf_add(&text, items[i]);
	}
	return buf_check(&text, e) < 0 ? err_result(e) : wide_copy(a, buf_str(&text), out, e);
}

static LONG protocol_number(const struct windows_block *rule)
{
	if (strcmp(rule->protocol, "tcp") == 0)
		return TCP;
	if (strcmp(rule->protocol, "udp") == 0)
		return UDP;
	if (strcmp(rule->protocol, "icmp") == 0)
		return rule->family == 4 ? ICMP_V4 : ICMP_V6;
	return ANY;
}

struct rule_texts {
	wchar_t *name, *remote, *ports, *users;
};

/* The protocol comes before the ports, which it has to have. */
static HRESULT fill(INetFwRule3 *rule, const struct windows_block *block,
		    const struct rule_texts *texts)
{
	const INetFwRule3Vtbl *v = rule->lpVtbl;
	wchar_t group[WIN32_NAME];
	HRESULT r = put(rule, v->put_Name, texts->name);

	win32_name(machine_rule_group, group);
	if (SUCCEEDED(r))
		r = put(rule, v->put_Grouping, group);
	if (SUCCEEDED(r))
		r = v->put_Direction(rule, NET_FW_RULE_DIR_OUT);
	if (SUCCEEDED(r))
		r = v->put_Action(rule, NET_FW_ACTION_BLOCK);
	if (SUCCEEDED(r))
		r = v->put_Profiles(rule, NET_FW_PROFILE2_ALL);
	if (SUCCEEDED(r))
		r = v->put_Protocol(rule, protocol_number(block));
	if (SUCCEEDED(r) && block->remote_count)
		r = put(rule, v->put_RemoteAddresses, texts->remote);
	if (SUCCEEDED(r) && block->port_count)
		r = put(rule, v->put_RemotePorts, texts->ports);
	if (SUCCEEDED(r))
		r = put(rule, v->put_LocalUserAuthorizedList, texts->users);
	return SUCCEEDED(r) ? v->put_Enabled(rule, VARIANT_TRUE) : r;
}

int win32_add_rule(void *state, const struct windows_block *block,
		   const struct machine_users *users, struct err *e)
{
	struct win32_machine *m = state;
	INetFwRules *rules = NULL;
	INetFwRule3 *rule = NULL;
	struct rule_texts texts;
	HRESULT r;

	if (wide_copy(m->a, block->name, &texts.name, e) < 0 ||
	    wide_copy(m->a, users->sddl, &texts.users, e) < 0 ||
	    join(m->a, block->remote, block->remote_count, &texts.remote, e) < 0 ||
	    join(m->a, block->ports, block->port_count, &texts.ports, e) < 0 ||
	    open_rules(m, false, &rules, e) < 0)
		return err_result(e);
	r = CoCreateInstance(&rule_class, NULL, CLSCTX_INPROC_SERVER, &rule_id, (void **)&rule);
	if (SUCCEEDED(r))
		r = fill(rule, block, &texts);
	if (SUCCEEDED(r))
		r = INetFwRules_Add(rules, (INetFwRule *)rule);
	if (rule)
		INetFwRule3_Release(rule);
	INetFwRules_Release(rules);
	return SUCCEEDED(r)
		       ? 0
		       : FAIL_COM(e, r, "can't add the firewall rule %.*s", STR_ARG(block->name));
}

static size_t count_name(const block_list *list, struct str name)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += str_eq(list->items[i].name, name);
	return count;
}

/* Remove() takes away one rule of that name. The names are Cordon's own, so as often as Cordon has one of it. */
int win32_remove_rules(void *state, struct str name, struct err *e)
{
	struct win32_machine *m = state;
	INetFwRules *rules = NULL;
	block_list seen = { .items = NULL };
	wchar_t *wide;
	HRESULT r = S_OK;
	BSTR text;

	if (wide_copy(m->a, name, &wide, e) < 0 || open_rules(m, false, &rules, e) < 0)
		return err_result(e);
	if (list_all(rules, m->a, &seen, e) < 0) {
		INetFwRules_Release(rules);
		return err_result(e);
	}
	text = SysAllocString(wide);
	for (size_t i = count_name(&seen, name); text && SUCCEEDED(r) && i > 0; i--)
		r = INetFwRules_Remove(rules, text);
	SysFreeString(text);
	INetFwRules_Release(rules);
	if (!text)
		return FAIL(e, ERR_NOMEM, "out of memory");
	return SUCCEEDED(r) ? 0
			    : FAIL_COM(e, r, "can't remove the firewall rule %.*s", STR_ARG(name));
}
