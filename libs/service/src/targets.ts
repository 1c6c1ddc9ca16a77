/**
 * Which addresses may be reached for apps, whoever wrote them down: public ones, and the private hosts that the operator allows.
 * Tools, model endpoints and webhooks all connect by what is made here, and by nothing else.
 *
 * T1 What counts is checked where a connection is made: the literal (which asks no DNS) and every address that a name resolves to, at
 *    that very moment. So neither another spelling, nor a redirect, nor a name that changes its mind gets around it.
 * T2 Of what a name resolves to, only what may be reached is connected to.
 */
import { lookup as dnsLookup } from 'node:dns';
import { Socket, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

/** Metadata services that have public addresses. */
const forbiddenAddresses = new Set(['168.63.129.16']);
/** All of IPv6 that is given out (RFC 4291). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

export type Targets = {
  /** A sentence on why a URL may not be requested, or undefined. Does no I/O, so names pass: they are checked when they are resolved. */
  problemOf(url: URL): string | undefined;
  /** The same for a host alone. */
  problemOfHost(host: string): string | undefined;
  /** Whether the operator allows a host by name, private or not. */
  isNamed(host: string): boolean;
  /** For the `connect` option of undici's agents. What may not be reached fails with `TargetNotAllowedError`. */
  connector(options?: buildConnector.BuildOptions): buildConnector.connector;
  /** For the `stream` option of `pg`: a socket that connects the same way. */
  createSocket(): Socket;
};

/** What connections to addresses fail with that may not be reached, also as the cause of what a client throws. */
export class TargetNotAllowedError extends Error {
  override readonly name = 'TargetNotAllowedError';
}

/** `allowedHosts` are names or addresses, as they stand in URLs. `resolve` is for tests. */
export function createTargets(allowedHosts: readonly string[], resolve: typeof dnsLookup = dnsLookup): Targets {
  const allowed = new Set(allowedHosts.map(bare));
  const isNamed = (host: string) => allowed.has(bare(host));
  const mayReach = (address: string) => isPublic(address) || isNamed(address);

  const problemOfHost = (text: string): string | undefined => {
    const host = bare(text);
    const isAllowed = isNamed(host) || (ipaddr.isValid(host) ? isPublic(host) : !/(^|\.)localhost$/.test(host));
    return isAllowed ? undefined : notAllowed(host);
  };
  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const reachable = isNamed(hostname) ? addresses : addresses.filter(({ address }) => mayReach(address));
      const [first] = reachable;
      if (!first) return callback(new TargetNotAllowedError(notAllowed(bare(hostname))), '');
      if (options.all) return callback(null, reachable);
      return callback(null, first.address, first.family);
    });
  };

  return {
    problemOf(url) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:')
        return `The address has the scheme ${url.protocol}, which is not http or https.`;
      if (url.username !== '' || url.password !== '') return 'The address holds a user name or password.';
      return problemOfHost(url.hostname);
    },
    problemOfHost,
    isNamed,
    connector(options = {}) {
      const connect = buildConnector({ ...options, lookup });
      return (target, callback) => {
        const problem = problemOfHost(target.hostname);
        if (problem === undefined) connect(target, callback);
        else callback(new TargetNotAllowedError(problem), null);
      };
    },
    createSocket: () => new GuardedSocket({ lookup, problemOfHost }),
  };
}

type Guard = { lookup: LookupFunction; problemOfHost(host: string): string | undefined };

/** A socket for clients that connect it themselves, by port and host. */
class GuardedSocket extends Socket {
  readonly #guard: Guard;

  constructor(guard: Guard) {
    super();
    this.#guard = guard;
  }

  override connect(port: unknown, host?: unknown): this {
    const isAddress = typeof port !== 'object' && typeof host === 'string';
    const problem = isAddress ? this.#guard.problemOfHost(host) : 'Only a port of a host may be reached.';
    if (isAddress && problem === undefined)
      return super.connect({ port: Number(port), host, lookup: this.#guard.lookup });
    return this.destroy(new TargetNotAllowedError(problem));
  }
}

function notAllowed(host: string): string {
  return `The address ${host} is private or reserved; PAWL_ALLOW_PRIVATE_HOSTS can allow it.`;
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
  const isGlobal = address.kind() === 'ipv4' || address.match(globalUnicast);
  return isGlobal && address.range() === 'unicast' && !forbiddenAddresses.has(address.toString());
}
