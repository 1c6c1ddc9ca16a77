/**
 * Which addresses tools may reach: public ones, and the private hosts that the operator allows by name.
 * Checked twice, because either check alone has a hole: the literal in a URL (a connection to a literal asks no DNS), and
 * every address that a name resolves to, at the very moment of connecting (a name may resolve differently a second time).
 */
import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Metadata services that have public addresses. */
const forbiddenAddresses = new Set(['168.63.129.16']);

export type Targets = {
  /** A sentence on why a URL may not be requested, or undefined. Does no I/O: names are checked when they are resolved. */
  problemOf(url: URL): string | undefined;
  /** The same for a host alone. */
  problemOfLiteral(host: string): string | undefined;
  /** Resolves a host and gives a sentence when one of its addresses may not be reached. */
  problemOfHost(host: string): Promise<string | undefined>;
  /** For the `lookup` option of a connection. Fails with `TargetNotAllowedError`. */
  lookup: LookupFunction;
};

/** What `lookup` fails with, also as the cause of what a client throws. */
export class TargetNotAllowedError extends Error {
  override readonly name = 'TargetNotAllowedError';
}

/** `allowedHosts` are names or addresses in lower case, as they stand in URLs. */
export function createTargets(allowedHosts: readonly string[]): Targets {
  const allowed = new Set(allowedHosts.map(bare));
  const problemOfLiteral = (host: string) =>
    allowed.has(bare(host)) || !ipaddr.isValid(bare(host)) || isPublic(bare(host)) ? undefined : notAllowed(host);

  const lookup: LookupFunction = (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const problem = allowed.has(bare(hostname)) ? undefined : problemOfAddresses(hostname, addresses);
      if (problem !== undefined) return callback(new TargetNotAllowedError(problem), '');
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      return callback(null, first?.address ?? '', first?.family);
    });
  };

  return {
    problemOf(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        return `The address has the scheme ${url.protocol}, which is not http or https.`;
      if (url.username !== '' || url.password !== '') return 'The address holds a user name or password.';
      return problemOfLiteral(url.hostname);
    },
    problemOfLiteral,
    problemOfHost(host) {
      const literal = problemOfLiteral(host);
      if (literal !== undefined || ipaddr.isValid(bare(host))) return Promise.resolve(literal);
      return new Promise((resolve) => {
        // A name that doesn't resolve is left to the connection, which says so.
        lookup(host, { all: true }, (error) =>
          resolve(error instanceof TargetNotAllowedError ? error.message : undefined),
        );
      });
    },
    lookup,
  };
}

function problemOfAddresses(host: string, addresses: readonly LookupAddress[]): string | undefined {
  return addresses.every(({ address }) => isPublic(address)) ? undefined : notAllowed(host);
}

function notAllowed(host: string): string {
  return `The address ${host} is private or reserved, and tools may not reach it.`;
}

/** Without the brackets of an IPv6 literal, the dot of an absolute name, and a zone. */
function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .replace(/%.*/s, '');
}

/** Only global unicast addresses; IPv4 inside IPv6 is judged as IPv4. */
function isPublic(text: string): boolean {
  const address = ipaddr.process(bare(text));
  return address.range() === 'unicast' && !forbiddenAddresses.has(address.toString());
}
