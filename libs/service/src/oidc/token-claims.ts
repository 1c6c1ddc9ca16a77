/** What a verified token says about its bearer: claims → apps, user, scopes. Which claim says what is declared. */
import { objectNameSchema, orgApp, RejectedError, scopeSchema, type RunUser, type Scope } from '@pawl/contracts';

export type Claims = Readonly<Record<string, unknown>>;

/** A claim is named by its whole name, or by a path with dots where claims are nested (`realm_access.roles`). */
export type ClaimMapping = {
  /** The claim with the app, or a list of apps. */
  app: string;
  /** The app of tokens without that claim. */
  appDefault: string | undefined;
  user: string;
  /** All of these together; each a list, or words with spaces between. Words that are no scope of Pawl are left out. */
  scopes: readonly string[];
  /** All of these together. */
  roles: readonly string[];
  /** Scopes that come with a role. */
  scopesOfRole: ReadonlyMap<string, readonly Scope[]>;
};

export type TokenBearer = { apps: string[]; user: Required<RunUser>; scopes: Scope[] };

const userIdMax = 200;
const roleCharsMax = 100;
const rolesMax = 100;

/** Throws `RejectedError` where the claims name no user or no app. */
export function bearerOf(claims: Claims, mapping: ClaimMapping): TokenBearer {
  const id = findClaim(claims, mapping.user);
  if (typeof id !== 'string' || id === '' || id.length > userIdMax) {
    throw new RejectedError('unauthorized', `the token names no user: claim ${mapping.user}`);
  }
  const named = wordsOf(findClaim(claims, mapping.app));
  const apps = named.length === 0 && mapping.appDefault !== undefined ? [mapping.appDefault] : named;
  if (apps.length === 0 || !apps.every(isApp)) {
    throw new RejectedError('forbidden', `the token names no app of Pawl: claim ${mapping.app}`);
  }
  const roles = mapping.roles.flatMap((claim) => wordsOf(findClaim(claims, claim)));
  const words = mapping.scopes.flatMap((claim) => wordsOf(findClaim(claims, claim)));
  const scopes = words.flatMap((word) => scopeSchema.safeParse(word).data ?? []);
  const usable = [...new Set(roles)].filter((role) => role.length <= roleCharsMax).slice(0, rolesMax);
  return {
    apps: [...new Set(apps)],
    user: { id, roles: usable },
    scopes: [...new Set([...scopes, ...roles.flatMap((role) => mapping.scopesOfRole.get(role) ?? [])])],
  };
}

/** What orgs declare belongs to nobody's app. */
function isApp(name: string): boolean {
  return name !== orgApp && objectNameSchema.safeParse(name).success;
}

function findClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** Lists keep their items whole, since names of groups have spaces; of a text each word counts. */
function wordsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '');
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string' && item !== '') : [];
}
