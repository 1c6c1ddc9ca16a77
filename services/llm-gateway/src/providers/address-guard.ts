/**
 * Keeps model calls away from private addresses: loopback, private networks, link-local, cloud metadata.
 * Checked where a connection is made, for literal addresses and for what a name resolves to, so that neither another
 * spelling nor a name that changes its mind gets around it.
 */
import { lookup as lookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const privateRanges: [address: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['168.63.129.16', 32, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
];
/** Of IPv6 only global unicast is public, and of that not what carries an IPv4 address or is set aside. */
const publicV6 = new BlockList();
publicV6.addSubnet('2000::', 3, 'ipv6');
const specialV6 = new BlockList();
for (const [address, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  specialV6.addSubnet(address, prefix, 'ipv6');
}
const privateV4 = new BlockList();
for (const [address, prefix, family] of privateRanges) privateV4.addSubnet(address, prefix, family);

/** A model endpoint at an address that is not allowed. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
  readonly code = 'PAWL_ADDRESS_NOT_ALLOWED';
}

/** Whether an IP address is anything but public. */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 4) return privateV4.check(address, 'ipv4');
  return !publicV6.check(address, 'ipv6') || specialV6.check(address, 'ipv6');
}

/** Throws `AddressError` when a URL's host is a private literal, or `localhost`, and not in the list. */
export function assertAllowedHost(hostname: string, allowedHosts: readonly string[]): void {
  const host = hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  if (allowedHosts.includes(host)) return;
  const isPrivate = isIP(host) !== 0 ? isPrivateAddress(host) : host === 'localhost' || host.endsWith('.localhost');
  if (isPrivate) throw new AddressError(refusal(host));
}

/** A resolver that gives only public addresses, except for hosts in the list. */
export function createGuardedLookup(allowedHosts: readonly string[]): LookupFunction {
  return (hostname, options, callback) => {
    lookupAddress(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 0);
      const isAllowedName = allowedHosts.includes(hostname.toLowerCase());
      const allowed = isAllowedName ? found : found.filter(({ address }) => isAllowed(address, allowedHosts));
      const [first] = allowed;
      if (!first) return callback(new AddressError(refusal(hostname)), '', 0);
      if (options.all) return callback(null, allowed);
      return callback(null, first.address, first.family);
    });
  };
}

function isAllowed(address: string, allowedHosts: readonly string[]): boolean {
  return !isPrivateAddress(address) || allowedHosts.includes(address);
}

function refusal(host: string): string {
  return `${host} is a private address; PAWL_ALLOW_PRIVATE_HOSTS can allow it`;
}
